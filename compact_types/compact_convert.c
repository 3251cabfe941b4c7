/*-------------------------------------------------------------------------
 *
 * compact_convert.c
 *	  Carry out the advice on a table, in one rewrite.
 *
 * compact_types.convert() locks the table, makes the advice from all rows, and
 * looks for everything that ALTER TABLE cannot carry over.  It refuses before
 * it changes anything.  Then one ALTER TABLE changes all columns.  Views that
 * use the columns are dropped before, and created again afterwards.  All
 * properties of a view except its query are compared with the properties
 * before, so that nothing gets lost silently.  Everything is one transaction:
 * any error leaves the table and the views as they were.
 *
 * Whose code.  The caller may be a superuser, while the table belongs to a
 * user who wants to become one.  Therefore each statement that calls functions
 * of the owner of the table or of a view runs as that owner, see ddl_become().
 * Objects that were looked up by name while such code could run are compared
 * by OID afterwards.
 *
 * Progress.  The USING clause of the first column calls
 * compact_types.convert_row(), which counts rows.  The rows are reported as
 * the progress of a CLUSTER command, because the rewrite continues under that
 * command when it reports which indexes it has rebuilt.  The report cannot
 * begin before the first row, since re-creating an index ends the report.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_convert.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "commands/tablecmds.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/backend_progress.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "compact_advise.h"
#include "compact_convert.h"
#include "compact_ddl.h"
#include "compact_types.h"
#include "compact_types_compat.h"

/*
 * Our own slots among the progress parameters.  Neither CLUSTER nor the build
 * of an index writes to them.
 */
#define PROGRESS_CONVERT_ROWS_TOTAL		17
#define PROGRESS_CONVERT_ROWS_DONE		18
#define PROGRESS_CONVERT_MARK			19
#define CONVERT_MARK					0x636f6d70	/* marks us, not CLUSTER */

/* A view on its way from DROP to CREATE */
typedef struct SavedView
{
	Oid			oid;
	Oid			new_oid;
	char	   *name;			/* qualified */
	char	   *create;			/* statement */
	Oid			owner;
	bool		temporary;
	List	   *relations;		/* OIDs of relations that the query uses */
	List	   *functions;		/* OIDs of users' functions that it calls */
	char	   *properties;		/* all except the query, to compare */
	int			ncolumns;
	char	  **types;			/* of the columns; NULL for converted ones */
	char	   *origin;			/* query before its first conversion, or NULL */
	bool		default_acl;	/* no privileges of its own */
	List	   *grants;			/* statements that give privileges back */
	List	   *restore;		/* statements that restore the rest */
} SavedView;

/* The conversion whose rows convert_row() counts, if relid is valid. */
static struct
{
	Oid			relid;
	int64		rows_total;
	int64		rows_done;
}			progress;

/*
 * compact_types.convert_row(anyelement) returns anyelement: its argument
 *
 * Count a row of the conversion that this session carries out.
 */
PG_FUNCTION_INFO_V1(compact_types_convert_row);
Datum
compact_types_convert_row(PG_FUNCTION_ARGS)
{
	if (OidIsValid(progress.relid))
	{
		if (progress.rows_done++ == 0)
		{
			compat_progress_begin_rewrite(progress.relid);
			pgstat_progress_update_param(PROGRESS_CONVERT_ROWS_TOTAL, progress.rows_total);
			pgstat_progress_update_param(PROGRESS_CONVERT_MARK, CONVERT_MARK);
		}
		pgstat_progress_update_param(PROGRESS_CONVERT_ROWS_DONE, progress.rows_done);
	}
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();

	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/*
 * Read the types of a view's columns, into memory that lives as long as the
 * advice.  Columns that only show a column in the list converted stay NULL.
 */
static char **
view_types(const Advice *advice, Oid view, List *converted, Oid converted_in, int *ncolumns)
{
	char	  **types;
	MemoryContext oldcxt;

	advise_query("SELECT pg_catalog.format('column %%I of type %%s%%s', attname, pg_catalog.format_type(atttypid, atttypmod),"
				 "  ' COLLATE ' || NULLIF(attcollation, 0)::pg_catalog.regcollation)"
				 " FROM pg_catalog.pg_attribute WHERE attrelid = %u AND attnum > 0 ORDER BY attnum", view);
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	*ncolumns = (int) SPI_processed;
	types = palloc0((*ncolumns + 1) * sizeof(char *));
	for (int i = 0; i < *ncolumns; i++)
	{
		if (!advise_view_column_converts(converted, converted_in, i + 1))
			types[i] = pstrdup(advise_result(i, 0));
	}
	MemoryContextSwitchTo(oldcxt);

	return types;
}

/* Return all properties of a view except its query, as one string. */
static char *
view_properties(const Advice *advice, Oid view)
{
	MemoryContext oldcxt;
	char	   *result;

	advise_query(
				 "SELECT pg_catalog.format('%%s %%s %%s %%s %%s %%s', c.relnamespace, c.relname, c.relpersistence, c.relowner,"
				 " (SELECT pg_catalog.array_agg(o ORDER BY o) FROM pg_catalog.unnest(c.reloptions) o),"
				 " pg_catalog.obj_description(c.oid, 'pg_class'))"
				 " || COALESCE((SELECT pg_catalog.array_agg(x ORDER BY x)::text"
				 "  FROM pg_catalog.aclexplode(COALESCE(c.relacl, pg_catalog.acldefault('r', c.relowner))) x), '')"
				 " || COALESCE((SELECT pg_catalog.string_agg(pg_catalog.format('%%s %%s %%s', a.attname,"
				 "  pg_catalog.col_description(c.oid, a.attnum),"
				 "  (SELECT pg_catalog.array_agg(x ORDER BY x) FROM pg_catalog.aclexplode(a.attacl) x)), ',' ORDER BY a.attnum)"
				 "  FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0), '')"
				 " FROM pg_catalog.pg_class c WHERE c.oid = %u", view);
	if (SPI_processed != 1 || advise_result(0, 0) == NULL)
		elog(ERROR, "cache lookup failed for view %u", view);
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	result = pstrdup(advise_result(0, 0));
	MemoryContextSwitchTo(oldcxt);

	return result;
}

/* Return the OIDs in the last query's result, in the advice's memory. */
static List *
result_oids(const Advice *advice)
{
	List	   *result = NIL;
	MemoryContext oldcxt = MemoryContextSwitchTo(advice->cxt);

	for (uint64 i = 0; i < SPI_processed; i++)
		result = lappend_oid(result, atooid(advise_result(i, 0)));
	MemoryContextSwitchTo(oldcxt);

	return result;
}

/* Return the OIDs of the relations that a view's query refers to. */
static List *
view_relations(const Advice *advice, Oid view)
{
	advise_query("SELECT DISTINCT d.refobjid FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid"
				 " WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND r.ev_class = %u"
				 " AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid <> r.ev_class", view);

	return result_oids(advice);
}

/*
 * Return the OIDs of the functions that the view's query calls, directly or by
 * operators.  Leave out functions in schemas where only superusers create any.
 */
static List *
view_functions(const Advice *advice, Oid view)
{
	advise_query("SELECT DISTINCT p.oid FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid"
				 " LEFT JOIN pg_catalog.pg_operator o ON o.oid = d.refobjid"
				 "  AND d.refclassid = 'pg_catalog.pg_operator'::pg_catalog.regclass"
				 " JOIN pg_catalog.pg_proc p ON p.oid = o.oprcode OR p.oid = d.refobjid"
				 "  AND d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass"
				 " WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND r.ev_class = %u"
				 " AND p.pronamespace NOT IN (%u, 'pg_catalog'::pg_catalog.regnamespace)",
				 view, advice->nspid);

	return result_oids(advice);
}

/*
 * Record how to create the view again: the statement that creates it, and the
 * statements that restore its comments and privileges.
 */
static SavedView *
save_view(const Advice *advice, Oid view, List *converted)
{
	SavedView  *saved;
	MemoryContext oldcxt;
	char	   *properties = view_properties(advice, view);
	char	   *create;
	char	   *query;

	advise_query(
				 "SELECT pg_catalog.format('%%I.%%I', n.nspname, c.relname),"
				 " pg_catalog.format('CREATE VIEW %%I.%%I%%s AS ', n.nspname, c.relname,"
				 "  (SELECT ' WITH (' || pg_catalog.string_agg(pg_catalog.format('%%I = %%L', option_name, option_value), ', ') || ')'"
				 "   FROM pg_catalog.pg_options_to_table(c.reloptions))),"
				 " c.relowner, c.relacl IS NULL, c.relpersistence, pg_catalog.pg_get_viewdef(c.oid)"
				 " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
				 " WHERE c.oid = %u", view);
	if (SPI_processed != 1)
		elog(ERROR, "cache lookup failed for view %u", view);
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	saved = palloc0(sizeof(SavedView));
	saved->oid = view;
	saved->properties = properties;
	saved->name = pstrdup(advise_result(0, 0));
	create = pstrdup(advise_result(0, 1));
	query = pstrdup(advise_result(0, 5));
	saved->owner = atooid(advise_result(0, 2));
	saved->default_acl = advise_result(0, 3)[0] == 't';
	saved->temporary = advise_result(0, 4)[0] == RELPERSISTENCE_TEMP;
	MemoryContextSwitchTo(oldcxt);

	saved->origin = revert_view_origin(advice, view, query);
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	if (advice->reverts)
		query = saved->origin ? saved->origin : revert_without_stand_ins(advice, query);
	else if (saved->origin == NULL)
		saved->origin = query;
	saved->create = psprintf("%s%s", create, query);
	MemoryContextSwitchTo(oldcxt);

	advise_query(
				 "SELECT pg_catalog.format('COMMENT ON VIEW %%s IS %%L', %s, pg_catalog.obj_description(%u, 'pg_class'))"
				 " WHERE pg_catalog.obj_description(%u, 'pg_class') IS NOT NULL"
				 " UNION ALL SELECT pg_catalog.format('COMMENT ON COLUMN %%s.%%I IS %%L', %s, attname, pg_catalog.col_description(attrelid, attnum))"
				 " FROM pg_catalog.pg_attribute WHERE attrelid = %u AND attnum > 0"
				 " AND pg_catalog.col_description(attrelid, attnum) IS NOT NULL"
				 " UNION ALL SELECT pg_catalog.format('GRANT %%s (%%I) ON %%s TO %%s%%s', x.privilege_type, a.attname, %s,"
				 "  CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(x.grantee)) END,"
				 "  CASE WHEN x.is_grantable THEN ' WITH GRANT OPTION' END)"
				 " FROM pg_catalog.pg_attribute a, pg_catalog.aclexplode(a.attacl) x WHERE a.attrelid = %u",
				 quote_literal_cstr(saved->name), view, view,
				 quote_literal_cstr(saved->name), view,
				 quote_literal_cstr(saved->name), view);
	saved->restore = advise_result_list(advice);

	advise_query(
				 "SELECT pg_catalog.format('GRANT %%s ON %%s TO %%s%%s', x.privilege_type, %s,"
				 "  CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(x.grantee)) END,"
				 "  CASE WHEN x.is_grantable THEN ' WITH GRANT OPTION' END)"
				 " FROM pg_catalog.pg_class c,"
				 "  pg_catalog.aclexplode(COALESCE(c.relacl, pg_catalog.acldefault('r', c.relowner))) x"
				 " WHERE c.oid = %u",
				 quote_literal_cstr(saved->name), view);
	saved->grants = advise_result_list(advice);
	saved->types = view_types(advice, view, converted, view, &saved->ncolumns);
	saved->relations = view_relations(advice, view);
	saved->functions = view_functions(advice, view);

	return saved;
}

/*
 * Run the statement on the view as its owner.  Creating a view evaluates
 * constants in its query: a literal of an array of a domain calls functions in
 * the domain's CHECK constraints.  A temporary view could not be created in a
 * restricted operation, but it is the caller's own.
 */
static void
execute_as_owner(const SavedView *saved, const char *sql)
{
	ddl_execute_as(saved->owner, !saved->temporary, "%s", sql);
}

/*
 * Check that each view's owner still has the privileges to create the view.
 * Every statement on a view runs as its owner, who had the privileges at the
 * time of creation.  Check before anything changes.
 */
static void
check_view_owners(List *views)
{
	static const struct
	{
		AclMode		mode;
		const char *name;
	}			privileges[] = {
		{ACL_USAGE, "USAGE"},
		{ACL_CREATE, "CREATE"}
	};
	ListCell   *lc;

	foreach(lc, views)
	{
		Oid			view = lfirst_oid(lc);
		HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(view));
		Form_pg_class form;

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for view %u", view);
		form = (Form_pg_class) GETSTRUCT(tuple);
		for (int i = 0; i < (int) lengthof(privileges); i++)
		{
			const char *schema = get_namespace_name(form->relnamespace);
			const char *owner;

			if (form->relpersistence == RELPERSISTENCE_TEMP ||
				compat_has_schema_privilege(form->relnamespace, form->relowner, privileges[i].mode))
				continue;
			owner = GetUserNameFromId(form->relowner, false);
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("view %s cannot be created again by its owner",
							quote_qualified_identifier(schema, NameStr(form->relname))),
					 errdetail("Role \"%s\" has no %s privilege on schema \"%s\".",
							   owner, privileges[i].name, schema),
					 errhint("GRANT %s ON SCHEMA %s TO %s; or drop the view first.",
							 privileges[i].name, quote_identifier(schema), quote_identifier(owner))));
		}
		ReleaseSysCache(tuple);
	}
}

/*
 * Create the view again, as its owner.  Name the view in the report of an
 * error in its query.
 */
static void
create_view(const SavedView *saved)
{
	MemoryContext oldcxt = CurrentMemoryContext;

	PG_TRY();
	{
		execute_as_owner(saved, saved->create);
	}
	PG_CATCH();
	{
		ErrorData  *error;
		int			sqlerrcode = geterrcode();
		int			category = ERRCODE_TO_CATEGORY(sqlerrcode);

		if (category != ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION &&
			category != ERRCODE_DATA_EXCEPTION &&
			category != ERRCODE_FEATURE_NOT_SUPPORTED)
			PG_RE_THROW();
		MemoryContextSwitchTo(oldcxt);
		error = CopyErrorData();
		FlushErrorState();
		if (sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE)
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("view %s cannot be created again by its owner", saved->name),
					 errdetail_internal("%s", error->message),
					 errhint("Grant role \"%s\" what is missing, or drop the view first.",
							 GetUserNameFromId(saved->owner, false))));
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("view %s cannot be created with the new types", saved->name),
				 errdetail_internal("%s", error->message),
				 errhint("Add a cast to the view, or drop it first.")));
	}
	PG_END_TRY();
}

/*
 * Check that the view refers to the same relations as before, or to the
 * re-created views that replace them.  Meanwhile, code of an owner may have
 * put other relations in their places.  Views of other owners would then read
 * these with the privileges of those owners.  Also check that the view calls
 * no function that it did not call before: somebody may have created one for
 * the new types.
 */
static void
check_references(const Advice *advice, List *views, const SavedView *saved)
{
	List	   *relations = view_relations(advice, saved->new_oid);
	bool		same = (list_length(relations) == list_length(saved->relations));
	ListCell   *lc;

	foreach(lc, relations)
	{
		Oid			relid = lfirst_oid(lc);
		ListCell   *lc2;

		foreach(lc2, views)
		{
			const SavedView *view = (const SavedView *) lfirst(lc2);

			if (view->new_oid == relid)
				relid = view->oid;
		}
		same = same && list_member_oid(saved->relations, relid);
	}
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("view %s would refer to other relations than before", saved->name),
				 errdetail("Relations of these names were put there while the table was converted.")));

	foreach(lc, view_functions(advice, saved->new_oid))
	{
		if (!list_member_oid(saved->functions, lfirst_oid(lc)))
			ereport(ERROR,
					(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					 errmsg("view %s would call other functions than before", saved->name),
					 errdetail("It would call %s.", format_procedure_qualified(lfirst_oid(lc))),
					 errhint("Add a cast to the view, or drop it first.")));
	}
}

/* Create one of the views again, and check that it is the same as before. */
static void
restore_view(const Advice *advice, List *views, SavedView *saved)
{
	ListCell   *lc;
	Oid			view;
	List	   *revoke;
	bool		default_acl;
	char	   *properties;
	int			ncolumns;
	char	  **types;

	create_view(saved);
	advise_query("SELECT pg_catalog.to_regclass(%s)::pg_catalog.oid",
				 quote_literal_cstr(saved->name));
	if (SPI_processed != 1 || advise_result(0, 0) == NULL)
		elog(ERROR, "view %s was not created", saved->name);
	view = saved->new_oid = atooid(advise_result(0, 0));
	check_references(advice, views, saved);

	/* only columns that show a converted column have a new type */
	types = view_types(advice, view, NIL, InvalidOid, &ncolumns);
	for (int i = 0; i < Max(ncolumns, saved->ncolumns); i++)
	{
		if (ncolumns != saved->ncolumns ||
			(saved->types[i] && strcmp(types[i], saved->types[i]) != 0))
			ereport(ERROR,
					(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					 errmsg("view %s would have other types than before", saved->name),
					 ncolumns != saved->ncolumns ? 0 :
					 errdetail("It had %s, and would have %s.", saved->types[i], types[i]),
					 errhint("Add a cast to the view, or drop it first.")));
	}

	/* default privileges may have granted some, to the owner as well */
	advise_query(
				 "SELECT DISTINCT pg_catalog.format('REVOKE ALL ON %%s FROM %%s', %s,"
				 "  CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(x.grantee)) END)"
				 " FROM pg_catalog.pg_class c,"
				 "  pg_catalog.aclexplode(COALESCE(c.relacl, pg_catalog.acldefault('r', c.relowner))) x"
				 " WHERE c.oid = %u",
				 quote_literal_cstr(saved->name), view);
	revoke = advise_result_list(advice);
	advise_query("SELECT relacl IS NULL FROM pg_catalog.pg_class WHERE oid = %u", view);
	default_acl = saved->default_acl && SPI_processed == 1 && advise_result(0, 0)[0] == 't';
	if (!default_acl)
	{
		foreach(lc, revoke)
			execute_as_owner(saved, (char *) lfirst(lc));
		foreach(lc, saved->grants)
			execute_as_owner(saved, (char *) lfirst(lc));
	}
	foreach(lc, saved->restore)
		execute_as_owner(saved, (char *) lfirst(lc));

	properties = view_properties(advice, view);
	if (strcmp(properties, saved->properties) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("view %s could not be created again as it was", saved->name),
				 errdetail("It was: %s; it would be: %s.", saved->properties, properties)));
}

/* Mark the columns to convert: the named ones, or all with a proposal. */
bool *
convert_choose_columns(const Advice *advice, ArrayType *names)
{
	bool	   *chosen = palloc0(advice->ncolumns + 1);
	Datum	   *elems;
	bool	   *nulls;
	int			n;

	if (names == NULL)
	{
		for (int i = 0; i < advice->ncolumns; i++)
			chosen[i] = (advice->columns[i].kind != ADVISE_KEEP && !advice->columns[i].by_name);
		return chosen;
	}

	deconstruct_array(names, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR, &elems, &nulls, &n);
	for (int k = 0; k < n; k++)
	{
		const char *name;
		int			i;

		if (nulls[k])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("the name of a column must not be null")));
		name = NameStr(*DatumGetName(elems[k]));
		for (i = 0; i < advice->ncolumns; i++)
		{
			if (strcmp(NameStr(advice->columns[i].att->attname), name) == 0)
				break;
		}
		if (i == advice->ncolumns)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" of relation \"%s\" does not exist",
							name, RelationGetRelationName(advice->rel))));
		if (advice->columns[i].kind == ADVISE_KEEP && advice->reverts)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("there is no type known that column \"%s\" had", name),
					 errdetail_internal("%s", advice->columns[i].reason)));
		if (advice->columns[i].kind == ADVISE_KEEP)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("there is no compact type to convert column \"%s\" to", name),
					 errdetail("The advice says: %s.", advice->columns[i].reason)));
		chosen[i] = true;
	}

	return chosen;
}

/*
 * Return the numbers of the chosen columns as an SQL list, and set *nchosen to
 * the number of columns.
 */
char *
convert_chosen_attnums(const Advice *advice, const bool *chosen, int *nchosen)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfoString(&buf, "0");
	*nchosen = 0;
	for (int i = 0; i < advice->ncolumns; i++)
	{
		if (!chosen[i])
			continue;
		(*nchosen)++;
		appendStringInfo(&buf, ", %d", advice->columns[i].att->attnum);
	}

	return buf.data;
}

/*
 * Deselect the columns that are blocked, also by a view that could not be
 * created again.  Return one message for each of them.
 */
static List *
skip_blocked(const Advice *advice, bool *chosen)
{
	List	   *result = NIL;

	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];
		List	   *blockers = column->blockers;

		if (!chosen[i])
			continue;
		if (blockers == NIL)
			blockers = advise_unrestorable(advice,
										   advise_dependent_views(advice, psprintf("%d", column->att->attnum), NULL));
		if (blockers == NIL)
			continue;
		chosen[i] = false;
		result = lappend(result, psprintf("column \"%s\" of table \"%s\" is left as it is: %s",
										  NameStr(column->att->attname),
										  RelationGetRelationName(advice->rel),
										  (char *) linitial(blockers)));
	}

	return result;
}

/* Refuse the conversion if anything blocks it. */
static void
refuse(const Advice *advice, const bool *chosen, List *unrestorable,
	   const ConvertOptions *options)
{
	StringInfoData detail;
	ListCell   *lc;

	initStringInfo(&detail);
	foreach(lc, advice->blockers)
		appendStringInfo(&detail, "%s%s", detail.len > 0 ? "\n" : "", (char *) lfirst(lc));
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];

		if (!chosen[i])
			continue;
		foreach(lc, column->blockers)
			appendStringInfo(&detail, "%scolumn %s: %s", detail.len > 0 ? "\n" : "",
							 NameStr(column->att->attname), (char *) lfirst(lc));
	}
	foreach(lc, unrestorable)
		appendStringInfo(&detail, "%s%s", detail.len > 0 ? "\n" : "", (char *) lfirst(lc));
	if (detail.len > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 advice->reverts ?
				 errmsg("cannot revert table \"%s\" because of what depends on it",
						RelationGetRelationName(advice->rel)) :
				 errmsg("cannot convert table \"%s\" because of what depends on it",
						RelationGetRelationName(advice->rel)),
				 errdetail_internal("%s", detail.data),
				 options->table_too ? errhint("Remove what is in the way, or use skip_blocked => true.") :
				 options->all ? errhint("Remove what is in the way, use skip_blocked => true, or name the columns to convert in the argument \"columns\".") :
				 errhint("Remove what is in the way first.")));
}

/*
 * Check that the caller could become the relation's owner by SET ROLE.
 * Statements run as the owner, whose role attributes a member does not
 * inherit.  A member without SET ROLE could have put code on the table that is
 * not the owner's.
 */
static void
check_set_role(Oid relid)
{
	Oid			owner = ddl_relation_owner(relid);

	if (!OidIsValid(owner))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!compat_can_become(GetUserId(), owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be able to SET ROLE \"%s\"", GetUserNameFromId(owner, false))));
}

/*
 * Check that the caller owns the relation and that it is a table.  The caller
 * of this function does so before it takes the lock that excludes everybody.
 */
static void
check_table(Oid relid)
{
	char		relkind = get_rel_relkind(relid);

	if (relkind == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!compat_relation_ownercheck(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(relkind), get_rel_name(relid));
	check_set_role(relid);
	if (relkind != RELKIND_RELATION)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table with rows of its own in a heap", get_rel_name(relid))));
	if (IsCatalogRelationOid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("\"%s\" is a system catalog", get_rel_name(relid))));
}

/*
 * Create the types that do not exist yet, and look up what could not be known
 * without them.
 */
static void
create_types(Advice *advice, const bool *chosen)
{
	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];
		AdviseType	type;

		if (!chosen[i] || OidIsValid(column->type.typid))
			continue;
		if (!advise_find_type(advice, column->type.name, &type) || !OidIsValid(type.typid))
		{
			ddl_execute("CREATE EXTENSION %s SCHEMA %s", column->type.name,
						quote_identifier(advice->type_schema));
			if (!advise_find_type(advice, column->type.name, &type) || !OidIsValid(type.typid))
				elog(ERROR, "extension \"%s\" did not create the type", column->type.name);
		}
		type.typmod = column->type.typmod;
		column->type = type;
	}
}

/*
 * Refuse a type that can be dropped by a user who cannot drop the table.  The
 * columns would be dropped with the type, and the table's owner would lose
 * them.
 */
static void
check_types(const Advice *advice, const bool *chosen)
{
	Oid			owner = advice->rel->rd_rel->relowner;

	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];
		char	   *drop = NULL;

		/* types of core are safe */
		if (chosen[i] && column->type.typid >= FirstNormalObjectId)
			drop = ddl_who_could_drop(column->type.typid, owner);
		if (drop)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("type %s is not safe for a column of table \"%s\"",
							format_type_be(column->type.typid), RelationGetRelationName(advice->rel)),
					 errdetail_internal("%s", drop),
					 errhint(DDL_OWNER_HINT)));
	}
}

/*
 * Run the single ALTER TABLE, and report its progress.  Run it as the table's
 * owner, who wrote the functions in CHECK constraints and indexes.  They must
 * not get the privileges of a superuser who converts the table.
 */
static void
alter_table(const Advice *advice, const bool *chosen, Oid relid, Oid owner, const char *table)
{
	StringInfoData sql;
	const char *separator = " ";
	const char *schema = quote_identifier(get_namespace_name(advice->nspid));
	AttrNumber *attnums = palloc0((advice->ncolumns + 1) * sizeof(AttrNumber));
	ListCell   *lc;

	initStringInfo(&sql);
	appendStringInfo(&sql, "ALTER TABLE ONLY %s", table);
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];
		const char *name = quote_identifier(NameStr(column->att->attname));

		if (!chosen[i])
			continue;
		attnums[i] = column->att->attnum;
		appendStringInfo(&sql, "%s%s USING ", separator, advise_column_clause(column));
		if (separator[0] == ' ')
			appendStringInfo(&sql, "%s.convert_row(%s::%s)", schema, name, column->type.sql);
		else
			appendStringInfo(&sql, "%s::%s", name, column->type.sql);
		appendStringInfoString(&sql, column->storage ? column->storage :
							   advise_storage_clauses(column, ", "));
		separator = ", ";
	}
	foreach(lc, advice->constraints)
		appendStringInfo(&sql, ", %s", (char *) lfirst(lc));

	progress.relid = relid;
	progress.rows_total = advice->sampled_rows;
	progress.rows_done = 0;

	PG_TRY();
	{
		ddl_execute_as(owner, true, "%s", sql.data);
	}
	PG_FINALLY();
	{
		progress.relid = InvalidOid;
	}
	PG_END_TRY();
	pgstat_progress_end_command();

	/* the schema is not locked, and may have been renamed */
	for (int i = 0; i < advice->ncolumns; i++)
	{
		if (chosen[i] && get_atttype(relid, attnums[i]) != advice->columns[i].type.typid)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("table %s was renamed at the same time", table),
					 errhint("Try again.")));
	}
}

/*
 * Change the types, and create the views again.  Run the statements with the
 * settings of the current GUC nest level, and leave another level.  Return it.
 */
static int
change_types(const Advice *advice, const bool *chosen, Oid relid, Oid owner,
			 const char *table, List *saved, bool quiet, int nestlevel)
{
	ListCell   *lc;

	for (int i = list_length(saved) - 1; i >= 0; i--)
	{
		const SavedView *view = (const SavedView *) list_nth(saved, i);

		execute_as_owner(view, psprintf("DROP VIEW %s RESTRICT", view->name));
	}
	foreach(lc, advice->prepare)
		ddl_execute_as(owner, true, "%s", (char *) lfirst(lc));

	/*
	 * Every name in this statement is qualified.  But functions in CHECK
	 * constraints and indexes may rely on the caller's search_path.  ALTER
	 * TABLE re-creates constraints, defaults and indexes from their text.
	 */
	AtEOXact_GUC(true, nestlevel);
	nestlevel = NewGUCNestLevel();
	ddl_set_deparse_gucs();
	if (quiet)
		(void) set_config_option("client_min_messages", "warning", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	alter_table(advice, chosen, relid, owner, table);
	AtEOXact_GUC(true, nestlevel);
	nestlevel = ddl_set_gucs();
	ddl_set_deparse_gucs();
	foreach(lc, advice->complete)
		ddl_execute_as(owner, true, "%s", (char *) lfirst(lc));
	foreach(lc, saved)
		restore_view(advice, saved, lfirst(lc));
	if (advice->validate != NIL)
	{
		AtEOXact_GUC(true, nestlevel);
		nestlevel = NewGUCNestLevel();
		foreach(lc, advice->validate)
			ddl_execute_as(owner, true, "%s", (char *) lfirst(lc));
		AtEOXact_GUC(true, nestlevel);
		nestlevel = ddl_set_gucs();
		ddl_set_deparse_gucs();
	}

	return nestlevel;
}

/* Give the table new and empty files. */
static void
empty_table(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	Oid			toastrelid = rel->rd_rel->reltoastrelid;

	CheckTableNotInUse(rel, "ALTER TABLE");
	compat_new_storage(rel);
	table_close(rel, NoLock);
	if (OidIsValid(toastrelid))
	{
		rel = relation_open(toastrelid, AccessExclusiveLock);
		compat_new_storage(rel);
		relation_close(rel, NoLock);
	}
	CommandCounterIncrement();
	compat_reindex_relation(relid);
	CommandCounterIncrement();
}

/*
 * Do everything in a subtransaction, as if the table were empty, and roll it
 * back.  An error that does not depend on the rows then comes before the first
 * row is moved.  ALTER TABLE and CREATE VIEW know best what they refuse.
 */
static int
rehearse(const Advice *advice, const bool *chosen, Oid relid, Oid owner,
		 const char *table, List *saved, int nestlevel)
{
	MemoryContext oldcxt = CurrentMemoryContext;
	ResourceOwner oldowner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	AtEOXact_GUC(true, nestlevel);
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(oldcxt);
	PG_TRY();
	{
		int			inner = ddl_set_gucs();
		ListCell   *lc;

		ddl_set_deparse_gucs();
		empty_table(relid);
		/* their foreign keys would miss the rows */
		foreach(lc, advice->referencing)
			empty_table(lfirst_oid(lc));
		inner = change_types(advice, chosen, relid, owner, table, saved, true, inner);
		AtEOXact_GUC(true, inner);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(oldcxt);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(oldcxt);
	CurrentResourceOwner = oldowner;
	if (error)
		ReThrowError(error);

	nestlevel = ddl_set_gucs();
	ddl_set_deparse_gucs();

	return nestlevel;
}

/* Add a row to the result; old_type and new_type may be NULL. */
static void
add_result(ReturnSetInfo *rsinfo, const ConvertOptions *options, Oid relid,
		   const char *object, const char *name, const char *old_type,
		   const char *new_type)
{
	Datum		values[5] = {0};
	bool		nulls[5] = {false};
	int			n = 0;

	if (options->table_too)
		values[n++] = ObjectIdGetDatum(relid);
	values[n++] = CStringGetTextDatum(object);
	values[n++] = CStringGetTextDatum(name);
	nulls[n] = (old_type == NULL);
	values[n++] = old_type ? CStringGetTextDatum(old_type) : (Datum) 0;
	nulls[n] = (new_type == NULL);
	values[n++] = new_type ? CStringGetTextDatum(new_type) : (Datum) 0;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * Raise an error if an argument is NULL, or if the transaction cannot change
 * types.  function is the name of the called SQL function.  With has_columns,
 * the second argument may be NULL.
 */
void
convert_check_call(FunctionCallInfo fcinfo, const char *function, bool has_columns)
{
	for (int i = 0; i < PG_NARGS(); i++)
	{
		if (!PG_ARGISNULL(i) || (has_columns && i == 1))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 has_columns ?
				 errmsg("the arguments of the conversion must not be null, but for \"columns\"") :
				 errmsg("the arguments of the conversion must not be null")));
	}
	PreventCommandIfReadOnly(function);

	/*
	 * Rows and catalogs are read as they are now.  The rest of such a
	 * transaction would see another state, and the rewrite would show it rows
	 * that do not exist yet in its snapshot.
	 */
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot run in a transaction of isolation level REPEATABLE READ or SERIALIZABLE", function),
				 errhint("Use READ COMMITTED.")));
}

/* Lock the table if the caller may change it. */
void
convert_lock_table(Oid relid)
{
	check_table(relid);
	LockRelationOid(relid, AccessExclusiveLock);
	check_table(relid);
	ddl_hold_schema_name(get_rel_namespace(relid));
}

/*
 * Change the chosen columns to the types that the advice proposes.  Add a row
 * to the result for each column and for each re-created view.
 * convert_lock_table() must have locked the table of the advice.  The advice
 * has the table open; this function closes it.
 */
void
convert_columns(Advice *advice, bool *chosen, const ConvertOptions *options,
				ReturnSetInfo *rsinfo)
{
	Oid			relid = RelationGetRelid(advice->rel);
	List	   *views;
	bool		too_deep = false;
	List	   *converted = NIL;
	List	   *saved = NIL;
	List	   *skipped = NIL;
	char	   *attnums;
	ListCell   *lc;
	char	   *table;
	int			nestlevel;
	int			nchosen;

	SPI_connect();
	nestlevel = ddl_set_gucs();
	ddl_set_deparse_gucs();
	if (options->skip_blocked)
		skipped = skip_blocked(advice, chosen);
	attnums = convert_chosen_attnums(advice, chosen, &nchosen);
	views = advise_dependent_views(advice, attnums, &too_deep);
	if (nchosen > 0)
		refuse(advice, chosen, advise_unrestorable(advice, views), options);
	foreach(lc, views)
	{
		LockRelationOid(lfirst_oid(lc), AccessExclusiveLock);
		if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(lfirst_oid(lc))))
			ddl_hold_schema_name(get_rel_namespace(lfirst_oid(lc)));
	}
	if (nchosen > 0)
	{
		/* the views may have changed before they were locked */
		List	   *again = advise_dependent_views(advice, attnums, NULL);

		if (!equal(again, views))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("views that use table \"%s\" were changed at the same time",
							RelationGetRelationName(advice->rel)),
					 errhint("Try again.")));
		converted = advise_look_at_views(advice, views, chosen);
		refuse(advice, chosen,
			   list_concat(advise_unrestorable(advice, views),
						   advise_foreign_constants(advice, views)), options);
		check_view_owners(views);
	}

	for (int i = 0; i < advice->ncolumns; i++)
	{
		Form_pg_attribute att = advice->columns[i].att;
		Form_pg_attribute copy = palloc(ATTRIBUTE_FIXED_PART_SIZE);

		/* closing the relation frees its descriptor */
		memcpy(copy, att, ATTRIBUTE_FIXED_PART_SIZE);
		advice->columns[i].att = copy;
	}
	table = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(advice->rel)),
									   RelationGetRelationName(advice->rel));

	if (nchosen == 0)
		table_close(advice->rel, NoLock);
	else
	{
		Oid			owner = advice->rel->rd_rel->relowner;

		create_types(advice, chosen);
		advise_check_indexes(advice);
		if (options->skip_blocked)
			skipped = list_concat(skipped, skip_blocked(advice, chosen));
		refuse(advice, chosen, NIL, options);
		check_types(advice, chosen);
		if (!advice->reverts)
			revert_read_definitions(advice, relid);
		foreach(lc, views)
			saved = lappend(saved, save_view(advice, lfirst_oid(lc), converted));

		/* ALTER TABLE refuses a table that is open elsewhere in this session */
		table_close(advice->rel, NoLock);
		(void) convert_chosen_attnums(advice, chosen, &nchosen);
		if (nchosen > 0)
		{
			nestlevel = rehearse(advice, chosen, relid, owner, table, saved, nestlevel);
			nestlevel = change_types(advice, chosen, relid, owner, table, saved, false, nestlevel);
			if (advice->reverts)
				revert_forget(advice, chosen, relid);
			else
				revert_remember(advice, chosen, relid);
			revert_note_definitions(advice, relid);
			foreach(lc, saved)
				revert_note_view(advice, ((SavedView *) lfirst(lc))->new_oid,
								 ((SavedView *) lfirst(lc))->origin);

			/*
			 * The rewrite dropped the statistics of the changed columns.
			 * Analyze all columns, since a statistics object may cover others
			 * as well.
			 */
			if (options->update_statistics)
				ddl_execute_as(owner, true, "ANALYZE %s", table);
		}
		else
			saved = NIL;
	}

	AtEOXact_GUC(true, nestlevel);
	foreach(lc, skipped)
		ereport(NOTICE,
				(errmsg_internal("%s", (char *) lfirst(lc))));

	for (int i = 0; i < advice->ncolumns; i++)
	{
		Form_pg_attribute att = advice->columns[i].att;

		if (chosen[i])
			add_result(rsinfo, options, relid, "column", NameStr(att->attname),
					   format_type_extended(att->atttypid, att->atttypmod,
											FORMAT_TYPE_TYPEMOD_GIVEN),
					   format_type_with_typemod(advice->columns[i].type.typid,
												advice->columns[i].type.typmod));
	}
	foreach(lc, saved)
		add_result(rsinfo, options, relid, "view", ((SavedView *) lfirst(lc))->name, NULL, NULL);
	SPI_finish();
}

/*
 * compact_types.convert(rel regclass, columns name[], narrow bool,
 * narrow_keys bool, fixed_varchar bool, round_seconds bool, skip_blocked bool,
 * update_statistics bool) returns setof record
 *
 * Change the columns to the types that advise() proposes for all rows of the
 * table, in one rewrite; NULL in columns stands for all columns.  Return a row
 * for each changed column and each re-created view.  Errors: 42501 if the
 * caller does not own the table, 25001 in a transaction of isolation level
 * REPEATABLE READ or SERIALIZABLE, 2BP01 for dependencies that cannot be
 * carried over, 55000 for a column without a proposal; also those of advise()
 * and of ALTER TABLE.
 */
PG_FUNCTION_INFO_V1(compact_types_convert);
Datum
compact_types_convert(PG_FUNCTION_ARGS)
{
	ArrayType  *names = PG_ARGISNULL(1) ? NULL : PG_GETARG_ARRAYTYPE_P(1);
	AdviseOptions options = {0};
	ConvertOptions how = {.all = (names == NULL)};
	Oid			relid;
	Advice	   *advice;
	bool	   *chosen;

	convert_check_call(fcinfo, "compact_types.convert()", true);
	relid = PG_GETARG_OID(0);
	options.narrow = PG_GETARG_BOOL(2);
	options.narrow_keys = PG_GETARG_BOOL(3);
	options.fixed_varchar = PG_GETARG_BOOL(4);
	options.round_seconds = PG_GETARG_BOOL(5);
	how.skip_blocked = PG_GETARG_BOOL(6);
	how.update_statistics = PG_GETARG_BOOL(7);

	convert_lock_table(relid);

	/* include rows that were committed before we got the lock */
	PushActiveSnapshot(GetLatestSnapshot());
	advice = advise_make(relid, &options, fcinfo->flinfo->fn_oid,
						 AccessExclusiveLock);
	PopActiveSnapshot();
	chosen = convert_choose_columns(advice, names);
	InitMaterializedSRF(fcinfo, 0);
	convert_columns(advice, chosen, &how, (ReturnSetInfo *) fcinfo->resultinfo);

	return (Datum) 0;
}
