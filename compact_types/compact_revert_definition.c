/*-------------------------------------------------------------------------
 *
 * compact_revert_definition.c
 *	  Former texts of constraints, statistics objects, indexes and views.
 *
 * Definitions.  If a constraint or view calls a function of char(n), the
 * conversion can replace this function by a function of text.  After revert(),
 * the definition would still call the function of text.  And an index can get
 * another operator class or collation.  So if the conversion alters the text of
 * a definition, the former text is recorded in compact_types.definitions.
 * revert() uses the former text only if the definition still has the text that
 * was recorded as the new text.  revert() runs the former text as the owner of
 * the table or view, who must be the recorded owner.
 *
 * Casts.  If a constraint or view compares two columns that are both narrow,
 * its text contains a cast to a stand-in, a type that compact_literal.c
 * explains.  If a constraint or view was created when a column had a compact
 * type, its literals have this type as well.  After revert(), these casts would
 * still be in the text.  Then DROP EXTENSION would fail, or drop the constraint
 * or view with CASCADE.  So revert() removes casts to stand-ins from the text,
 * and replaces casts to the compact type of a column.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_revert_definition.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/ruleutils.h"

#include "compact_convert.h"
#include "compact_ddl.h"
#include "compact_trained.h"
#include "compact_types.h"

/*
 * Casts
 */

static const char *const stand_ins[] = {
	"integer_literal", "numeric_literal", "timestamp_literal", "timestamptz_literal",
	"integer_operand", "numeric_operand", "numeric_left", "timestamp_operand"
};

/* A cast to the type of a column that gets another type */
typedef struct ReplacedCast
{
	bool		of_literals;	/* replace it only behind a literal */
	bool		padded;			/* the literals are filled with blanks */
	char	   *from;			/* "::" and the qualified name */
	char	   *to;				/* the same of the other type */
	char	   *to_limited;		/* the same if a type modifier follows */
	char	   *to_array;		/* the same if it is an array, without [] */
} ReplacedCast;

/* Return the type, or the element type of an array type. */
Oid
compact_element_or_type(Oid typid)
{
	Oid			element = get_element_type(typid);

	return OidIsValid(element) ? element : typid;
}

/* Return true if another column of the table has the type, and keeps it. */
static bool
table_keeps_type(const Advice *advice, const bool *chosen, Oid typid)
{
	for (int i = 0; i < advice->ncolumns; i++)
	{
		if (!chosen[i] && compact_element_or_type(advice->columns[i].att->atttypid) == typid)
			return true;
	}

	return false;
}

/*
 * Return true if the view uses a column of the type that keeps it, directly or
 * through a view that is created again as well.  converted lists the columns
 * that do not.  Add the views that were looked at to *visited.
 */
static bool
uses_kept_type(const Advice *advice, Oid view, List *converted, Oid typid, List **visited)
{
	List	   *lower = NIL;
	ListCell   *lc;

	check_stack_depth();
	compact_advise_query("SELECT a.attrelid, a.attnum FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid"
						 " JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid"
						 " JOIN pg_catalog.pg_type t ON t.oid = a.atttypid"
						 " WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND r.ev_class = %u"
						 " AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid <> r.ev_class"
						 " AND %u IN (t.oid, t.typelem)", view, typid);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Oid			relid = atooid(compact_advise_result(i, 0));
		MemoryContext spicxt;

		if (compact_advise_view_column_shows(converted, relid, atoi(compact_advise_result(i, 1))) >= 0)
			continue;
		if (!list_member_oid(advice->views, relid))
			return true;
		if (list_member_oid(*visited, relid))
			continue;
		spicxt = MemoryContextSwitchTo(advice->cxt);
		lower = lappend_oid(lower, relid);
		*visited = lappend_oid(*visited, relid);
		MemoryContextSwitchTo(spicxt);
	}

	/* an expression of a view that is created again has the type for now */
	foreach(lc, lower)
	{
		if (uses_kept_type(advice, lfirst_oid(lc), converted, typid, visited))
			return true;
	}

	return false;
}

/* Return the same, for a view whose lower views were not looked at yet. */
static bool
view_keeps_type(const Advice *advice, Oid view, List *converted, Oid typid)
{
	List	   *visited = NIL;

	return uses_kept_type(advice, view, converted, typid, &visited);
}

/*
 * Return true if the view, or the table if view is InvalidOid, keeps using the
 * type.  chosen and converted are as in replaced_casts().
 */
static bool
keeps_type(const Advice *advice, const bool *chosen, Oid view, List *converted, Oid typid)
{
	return OidIsValid(view) ? view_keeps_type(advice, view, converted, typid) :
		table_keeps_type(advice, chosen, typid);
}

/* Return "::" and the name of the type. */
static char *
cast_to(Oid typid, bits16 flags)
{
	return psprintf("::%s", format_type_extended(typid, -1, flags));
}

/* Make a replacement of casts to one type by casts to another one. */
static ReplacedCast *
make_cast(Oid from, char *to)
{
	ReplacedCast *cast = palloc0(sizeof(ReplacedCast));

	cast->from = cast_to(from, FORMAT_TYPE_FORCE_QUALIFY);
	cast->to = cast->to_limited = cast->to_array = to;

	return cast;
}

/*
 * Return true if revert() changes the column.  For the table, chosen marks the
 * columns that change.  For a view, converted lists them.
 */
static bool
changes(const Advice *advice, int i, const bool *chosen, Oid view, List *converted)
{
	const AdviseColumn *column = &advice->columns[i];

	return column->kind == ADVISE_REVERT &&
		(OidIsValid(view) ?
		 compact_advise_view_column_shows(converted, RelationGetRelid(advice->rel), column->att->attnum) >= 0 :
		 chosen[i]);
}

/*
 * Return the casts that revert() replaces in the definition of a view, or of a
 * constraint or statistics object of the table if view is InvalidOid: those to
 * the types of the columns that it changes.  Leave out types that the table or
 * the view keeps using.
 *
 * A cast to a string of variable length can be replaced wherever it is.  A cast
 * to another type may round or cut its operand, so it can be replaced only
 * behind a literal, which is rounded already.
 *
 * A literal of compact_charN is filled with blanks, which a char ignores and a
 * text does not.  So remove them if a column of the type becomes a text.
 *
 * An expression of a trained_textN can have a literal of compact_text.
 */
static List *
replaced_casts(const Advice *advice, const bool *chosen, Oid view, List *converted)
{
	List	   *result = NIL;
	List	   *types = NIL;
	bool		trained = false;

	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];
		Oid			from = compact_element_or_type(column->att->atttypid);
		Oid			to = compact_element_or_type(column->type.typid);
		bool		is_char = compact_string_kind(from) == COMPACT_STRING_CHAR;
		ReplacedCast *cast;

		if (!changes(advice, i, chosen, view, converted) || from < FirstNormalObjectId ||
			list_member_oid(types, from) || keeps_type(advice, chosen, view, converted, from))
			continue;
		for (int j = i + 1; j < advice->ncolumns && is_char && to == BPCHAROID; j++)
		{
			if (changes(advice, j, chosen, view, converted) &&
				compact_element_or_type(advice->columns[j].att->atttypid) == from)
				to = compact_element_or_type(advice->columns[j].type.typid);
		}
		types = lappend_oid(types, from);
		/* an array is not compared with one of another type */
		cast = make_cast(from, cast_to(to, FORMAT_TYPE_TYPEMOD_GIVEN));
		cast->of_literals = is_char || (to != TEXTOID && to != VARCHAROID);
		cast->padded = is_char && to != BPCHAROID;
		/* a literal that is compared with a varchar is a text, too */
		if (to == VARCHAROID)
			cast->to = "::text";
		if (to == TEXTOID)
			cast->to_limited = "::character varying";
		/* a cast from char removes the blanks of the elements */
		if (cast->padded)
			cast->to_array = psprintf("::bpchar[]%s", cast->to_array);
		result = lappend(result, cast);
		trained |= compact_trained_type_number(from) > 0;
	}

	if (trained)
	{
		AdviseType	type;

		if (compact_advise_find_type(advice, "compact_text", &type) &&
			!list_member_oid(types, type.typid) &&
			!keeps_type(advice, chosen, view, converted, type.typid))
		{
			ReplacedCast *cast = make_cast(type.typid, "::text");

			cast->to_limited = "::character varying";
			result = lappend(result, cast);
		}
	}

	return result;
}

/*
 * Set *casts to the casts that convert() replaces in the definition of a view
 * if it trains columns of a trained_textN again: those to this type.  Return
 * false if it is not clear which type should take the place: several columns of
 * the type are trained, or the view uses another one.
 */
static bool
find_trained_casts(const Advice *advice, Oid view, List *converted, List **casts)
{
	*casts = NIL;
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];

		if (column->dictionary == NULL || compact_trained_type_number(column->old_typid) == 0)
			continue;
		for (int j = 0; j < i; j++)
		{
			if (advice->columns[j].old_typid == column->old_typid)
				return false;
		}
		if (view_keeps_type(advice, view, converted, column->old_typid))
			return false;
		*casts = lappend(*casts, make_cast(column->old_typid,
										   cast_to(column->type.typid, FORMAT_TYPE_FORCE_QUALIFY)));
	}

	return true;
}

/*
 * Return true if the text that ends before p ends with a literal: a string, or
 * a number in parentheses.
 */
static bool
follows_literal(const char *definition, const char *p)
{
	if (p > definition && p[-1] == '\'')
		return true;
	if (p == definition || *--p != ')')
		return false;
	while (p > definition && strchr("0123456789.-", p[-1]) != NULL)
		p--;

	return p > definition && p[-1] == '(' && p[0] != ')';
}

/* Return what follows the name in the text, or NULL if the text has another name. */
static const char *
after_name(const char *text, const char *name)
{
	Size		len = strlen(name);

	if (strncmp(text, name, len) != 0 || text[len] == '_' || isalnum((unsigned char) text[len]))
		return NULL;

	return text +len;
}

/* Remove the blanks at the end of the literal that the string ends with. */
static void
remove_padding(StringInfo buf)
{
	while (buf->len > 2 && buf->data[buf->len - 1] == '\'' && buf->data[buf->len - 2] == ' ')
	{
		buf->data[--buf->len] = '\0';
		buf->data[buf->len - 1] = '\'';
	}
}

/*
 * Return a copy of the definition without the casts to stand-ins, and with the
 * casts replaced, in the current memory context.  The definition must be
 * deparsed text in which all types of compact_types are qualified with a
 * schema.
 */
static char *
replace_casts(const Advice *advice, const char *definition, List *casts)
{
	StringInfoData buf;
	char	   *prefix = psprintf("::%s.", quote_identifier(get_namespace_name(advice->nspid)));
	const char *p = definition;

	initStringInfo(&buf);
	while (*p)
	{
		const char *rest = NULL;
		ListCell   *lc;

		/* a doubled quote ends a string and starts another */
		if (*p == '\'' || *p == '"')
		{
			char		quote = *p;

			do
			{
				appendStringInfoChar(&buf, *p++);
			} while (*p && *p != quote);
			if (*p)
				appendStringInfoChar(&buf, *p++);
			continue;
		}
		if (advice->reverts && strncmp(p, prefix, strlen(prefix)) == 0)
		{
			for (int i = 0; i < (int) lengthof(stand_ins) && rest == NULL; i++)
				rest = after_name(p + strlen(prefix), stand_ins[i]);
			if (rest && strncmp(rest, "[]", 2) == 0)
				rest += 2;
		}
		foreach(lc, casts)
		{
			const ReplacedCast *cast = (const ReplacedCast *) lfirst(lc);

			if (rest)
				break;
			if (cast->of_literals && !follows_literal(definition, p))
				continue;
			rest = after_name(p, cast->from);
			if (rest == NULL)
				continue;
			if (cast->padded && *rest != '[')
				remove_padding(&buf);
			appendStringInfoString(&buf, *rest == '(' ? cast->to_limited :
								   *rest == '[' ? cast->to_array : cast->to);
		}
		if (rest)
			p = rest;
		else
			appendStringInfoChar(&buf, *p++);
	}

	return buf.data;
}

/*
 * Return a copy of the query of a view without the casts that revert() removes
 * and replaces.  converted lists what is converted, see
 * compact_advise_look_at_views().  If convert() trains columns again, replace
 * casts to their former types, or return NULL if that is not clear.
 */
char *
compact_revert_casts(const Advice *advice, const char *query, Oid view, List *converted)
{
	List	   *casts;

	if (advice->reverts)
		casts = replaced_casts(advice, NULL, view, converted);
	else if (!find_trained_casts(advice, view, converted, &casts))
		return NULL;

	return replace_casts(advice, query, casts);
}

/*
 * Definitions
 */

/*
 * Return true if the text is a single statement of that kind.  A note can have
 * any text.
 */
static bool
is_statement(const char *sql, NodeTag tag)
{
	MemoryContext oldcxt = CurrentMemoryContext;
	volatile bool result = false;

	/* the raw parser holds nothing that would have to be released */
	PG_TRY();
	{
		List	   *statements = raw_parser(sql, RAW_PARSE_DEFAULT);
		Node	   *stmt = list_length(statements) == 1 ? linitial_node(RawStmt, statements)->stmt : NULL;

		result = stmt != NULL && nodeTag(stmt) == tag &&
			(!IsA(stmt, AlterTableStmt) || list_length(((AlterTableStmt *) stmt)->cmds) == 1);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(oldcxt);
		if (geterrcode() != ERRCODE_SYNTAX_ERROR)
			PG_RE_THROW();
		FlushErrorState();
	}
	PG_END_TRY();

	return result;
}

/*
 * The view, or an index of the table, has this text.  Return the text that it
 * had before its first conversion, or NULL.  tag is the kind of statement that
 * the text is.
 */
char *
compact_revert_origin(const Advice *advice, Oid relid, const char *text, NodeTag tag)
{
	const char *schema = quote_identifier(get_namespace_name(advice->nspid));
	char	   *origin;

	compact_advise_query("SELECT old_definition FROM %s.definitions WHERE %s.referenced_table(used) = %u AND new_definition = %s"
						 " AND owner = (SELECT pg_catalog.pg_get_userbyid(relowner) FROM pg_catalog.pg_class WHERE oid = %u) LIMIT 1",
						 schema, schema, relid, quote_literal_cstr(text), relid);

	if (SPI_processed == 0)
		return NULL;
	origin = MemoryContextStrdup(advice->cxt, compact_advise_result(0, 0));

	return is_statement(origin, tag) ? origin : NULL;
}

/* Return true if the text defines a constraint or a statistics object, and no more. */
static bool
is_definition(DefinitionKind kind, const char *text)
{
	return kind == DEFINITION_CONSTRAINT ?
		is_statement(psprintf("ALTER TABLE t ADD %s", text), T_AlterTableStmt) :
		is_statement(text, T_CreateStatsStmt);
}

/* Return true if the text is a query, and no more. */
bool
compact_revert_is_query(const char *text)
{
	return is_statement(text, T_SelectStmt);
}

/*
 * Read the definitions of the table's indexes, except those of constraints.
 * If a note contains the text of an index before the conversion, store that
 * text as the definition's origin.
 */
static void
read_indexes(Advice *advice, Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	List	   *indexes = RelationGetIndexList(rel);
	ListCell   *lc;

	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);
		MemoryContext oldcxt = MemoryContextSwitchTo(advice->cxt);
		Definition *definition = palloc0(sizeof(Definition));

		definition->kind = DEFINITION_INDEX;
		definition->object = compact_convert_index_name(index);
		definition->text = pg_get_indexdef_string(RelationGetRelid(index));
		for (int key = 0; key < index->rd_index->indnkeyatts && definition->attnum == 0; key++)
			definition->attnum = index->rd_index->indkey.values[key];
		MemoryContextSwitchTo(oldcxt);
		if (!OidIsValid(get_index_constraint(RelationGetRelid(index))))
		{
			definition->origin = compact_revert_origin(advice, relid, definition->text, T_IndexStmt);
			oldcxt = MemoryContextSwitchTo(advice->cxt);
			advice->definitions = lappend(advice->definitions, definition);
			MemoryContextSwitchTo(oldcxt);
		}
		index_close(index, NoLock);
	}
	list_free(indexes);
	table_close(rel, NoLock);
}

/*
 * Read the definitions of the table's CHECK constraints, of its statistics
 * objects on expressions and of its indexes.  If a note contains the text of a
 * definition before the conversion, store that text as the definition's origin.
 */
void
compact_revert_read_definitions(Advice *advice, Oid relid)
{
	const char *schema = quote_identifier(get_namespace_name(advice->nspid));
	char	   *table = quote_literal_cstr(quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
																	  get_rel_name(relid)));
	MemoryContext oldcxt;

	advice->definitions = NIL;
	compact_advise_query("SELECT x.name, x.definition, n.old_definition, x.comment, x.is_constraint,"
						 " (SELECT pg_catalog.min(d.refobjsubid) FROM pg_catalog.pg_depend d WHERE d.classid = x.classid AND d.objid = x.oid"
						 "  AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = %u AND d.refobjsubid > 0)"
						 " FROM (SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass::pg_catalog.oid AS classid, c.oid,"
						 "   pg_catalog.quote_ident(c.conname) AS name, pg_catalog.pg_get_constraintdef(c.oid) AS definition, true AS is_constraint,"
						 "   'COMMENT ON CONSTRAINT ' || pg_catalog.quote_ident(c.conname) || ' ON ' || %s || ' IS ' ||"
						 "   pg_catalog.quote_literal(pg_catalog.obj_description(c.oid, 'pg_constraint')) AS comment"
						 "  FROM pg_catalog.pg_constraint c WHERE c.conrelid = %u AND c.contype = 'c'"
						 "  UNION ALL SELECT 'pg_catalog.pg_statistic_ext'::pg_catalog.regclass, s.oid,"
						 "   pg_catalog.format('%%I.%%I', m.nspname, s.stxname), pg_catalog.pg_get_statisticsobjdef(s.oid), false,"
						 "   'COMMENT ON STATISTICS ' || pg_catalog.format('%%I.%%I', m.nspname, s.stxname) || ' IS ' ||"
						 "   pg_catalog.quote_literal(pg_catalog.obj_description(s.oid, 'pg_statistic_ext'))"
						 "  FROM pg_catalog.pg_statistic_ext s JOIN pg_catalog.pg_namespace m ON m.oid = s.stxnamespace"
						 "  WHERE s.stxrelid = %u AND s.stxexprs IS NOT NULL) x"
						 " LEFT JOIN LATERAL (SELECT old_definition FROM %s.definitions WHERE %s.referenced_table(used) = %u"
						 "  AND new_definition = x.definition AND owner = (SELECT pg_catalog.pg_get_userbyid(relowner) FROM pg_catalog.pg_class WHERE oid = %u)"
						 "  LIMIT 1) n ON true"
						 " WHERE x.definition IS NOT NULL ORDER BY x.is_constraint, x.name",
						 relid, table, relid, relid, schema, schema, relid, relid);
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Definition *definition = palloc0(sizeof(Definition));
		char	   *attnum = compact_advise_result(i, 5);

		definition->object = compact_advise_result(i, 0);
		definition->text = compact_advise_result(i, 1);
		definition->origin = compact_advise_result(i, 2);
		definition->comment = compact_advise_result(i, 3);
		definition->kind = compact_advise_result(i, 4)[0] == 't' ? DEFINITION_CONSTRAINT : DEFINITION_STATISTICS;
		definition->attnum = attnum ? atoi(attnum) : 0;
		if (definition->origin && !is_definition(definition->kind, definition->origin))
			definition->origin = NULL;
		advice->definitions = lappend(advice->definitions, definition);
	}
	MemoryContextSwitchTo(oldcxt);
	read_indexes(advice, relid);
}

/*
 * Record the former and the present text of a constraint, statistics object,
 * index or view.
 */
static void
note_definition(const Advice *advice, Oid relid, AttrNumber attnum,
				const char *origin, const char *text)
{
	const char *schema = quote_identifier(get_namespace_name(advice->nspid));
	const char *owner = GetUserNameFromId(compact_ddl_relation_owner(relid), false);

	compact_revert_write_notes(advice,
							   psprintf("INSERT INTO %s.definitions VALUES (%s.column_reference(%u, %d::int2), %s, %s, %s)",
										schema, schema, relid, attnum, quote_literal_cstr(owner),
										quote_literal_cstr(origin), quote_literal_cstr(text)));
}

/*
 * Return true if the table has a column of a compact type, or if the view has or
 * uses one.  If not, nothing is left to revert.
 */
static bool
uses_compact_types(const Advice *advice, Oid relid)
{
	compact_advise_query("SELECT FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid"
						 " JOIN pg_catalog.pg_type e ON e.oid IN (t.oid, t.typelem) JOIN pg_catalog.pg_proc p ON p.oid = e.typinput"
						 " WHERE p.pronamespace = %u AND a.attnum > 0 AND NOT a.attisdropped AND (a.attrelid = %u"
						 "  OR (a.attrelid, a.attnum) IN (SELECT d.refobjid, d.refobjsubid FROM pg_catalog.pg_depend d"
						 "   JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid WHERE r.ev_class = %u"
						 "   AND d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass"
						 "   AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass)) LIMIT 1",
						 advice->nspid, relid, relid);

	return SPI_processed > 0;
}

/*
 * Record the former text of the definitions whose text the change of types has
 * altered.  The former text comes from an earlier note.  If there is no such
 * note, convert() records the text before the change, and revert() records
 * nothing.
 */
void
compact_revert_note_definitions(Advice *advice, Oid relid)
{
	const char *schema = quote_identifier(get_namespace_name(advice->nspid));
	List	   *old = advice->definitions;
	ListCell   *lc;
	ListCell   *lc2;

	compact_revert_read_definitions(advice, relid);
	compact_revert_write_notes(advice, psprintf("DELETE FROM %s.definitions WHERE %s.referenced_table(used) = %u",
												schema, schema, relid));
	if (get_rel_persistence(relid) == RELPERSISTENCE_TEMP || !uses_compact_types(advice, relid))
		return;
	foreach(lc, old)
	{
		Definition *before = (Definition *) lfirst(lc);
		const char *origin = before->origin;

		if (origin == NULL && !advice->reverts)
			origin = before->text;
		foreach(lc2, advice->definitions)
		{
			Definition *after = (Definition *) lfirst(lc2);

			if (origin && after->kind == before->kind &&
				strcmp(after->object, before->object) == 0 &&
				strcmp(after->text, origin) != 0 && after->attnum > 0)
				note_definition(advice, relid, after->attnum, origin, after->text);
		}
	}
}

/*
 * For a view that was created again, record the query that the view had before
 * its first conversion, if this query is known.
 */
void
compact_revert_note_view(const Advice *advice, Oid view, const char *origin)
{
	if (origin == NULL || get_rel_persistence(view) == RELPERSISTENCE_TEMP ||
		!uses_compact_types(advice, view))
		return;
	compact_advise_query("SELECT pg_catalog.pg_get_viewdef(%u)", view);
	if (strcmp(compact_advise_result(0, 0), origin) != 0)
		note_definition(advice, view, 1, origin, compact_advise_result(0, 0));
}

static bool
ends_with(const char *str, const char *suffix)
{
	size_t		len = strlen(str);
	size_t		suffix_len = strlen(suffix);

	return len >= suffix_len && strcmp(str + len - suffix_len, suffix) == 0;
}

/*
 * Collect the statements that re-create constraints and statistics objects
 * whose text has changed or contains casts that revert() removes or replaces.
 * compact_revert_read_definitions() must have read them.  chosen marks the
 * columns that change.
 */
void
compact_revert_recreate_definitions(Advice *advice, const bool *chosen)
{
	MemoryContext oldcxt = MemoryContextSwitchTo(advice->cxt);
	List	   *casts = replaced_casts(advice, chosen, InvalidOid, NIL);
	ListCell   *lc;
	char	   *table;

	table = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(advice->rel)),
									   RelationGetRelationName(advice->rel));
	foreach(lc, advice->definitions)
	{
		Definition *definition = (Definition *) lfirst(lc);
		char	   *text;

		/* compact_convert_recreate_indexes() creates the indexes again */
		if (definition->kind == DEFINITION_INDEX)
			continue;
		if (definition->origin)
		{
			/* another column may be reverted later, and then use this text */
			definition->origin = replace_casts(advice, definition->origin, casts);
			/* a note can have a text in which this makes a second statement */
			if (!is_definition(definition->kind, definition->origin))
				definition->origin = NULL;
		}
		text = definition->origin ? definition->origin :
			replace_casts(advice, definition->text, casts);

		if (strcmp(definition->text, text) == 0)
			continue;
		if (definition->kind == DEFINITION_CONSTRAINT)
		{
			/*
			 * The text contains names without a schema, because it was
			 * deparsed with the deparse settings.  With the caller's
			 * search_path, these names could refer to functions and operators
			 * of another role.  But functions in the constraint may need the
			 * caller's search_path.  So validate the rows in a separate
			 * statement with the caller's search_path.
			 */
			bool		checked = !ends_with(text, " NOT VALID") && !ends_with(text, " NOT ENFORCED");

			advice->constraints = lappend(advice->constraints,
										  psprintf("DROP CONSTRAINT %s", definition->object));
			advice->complete = lappend(advice->complete,
									   psprintf("ALTER TABLE ONLY %s ADD CONSTRAINT %s %s%s", table,
												definition->object, text, checked ? " NOT VALID" : ""));
			if (checked)
				advice->validate = lappend(advice->validate,
										   psprintf("ALTER TABLE ONLY %s VALIDATE CONSTRAINT %s",
													table, definition->object));
		}
		else
		{
			advice->prepare = lappend(advice->prepare, psprintf("DROP STATISTICS %s", definition->object));
			advice->complete = lappend(advice->complete, text);
		}
		if (definition->comment)
			advice->complete = lappend(advice->complete, definition->comment);
	}
	MemoryContextSwitchTo(oldcxt);
}
