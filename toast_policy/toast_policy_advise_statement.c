/*-------------------------------------------------------------------------
 *
 * toast_policy_advise_statement.c
 *	  The statements of toast_policy.advise(): those that carry out a proposal,
 *	  and those that take it back.
 *
 * Names in the statements are qualified and quoted.  The statements that take a
 * proposal back restore the STORAGE and COMPRESSION that the column has in the
 * table and in each partition.  The statements can be run in any order for the
 * columns of a table.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_advise_statement.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/toast_compression.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "toast_policy_advise.h"
#include "toast_policy_compat.h"

/* Find the relations that ALTER TABLE must change. */
void
tp_find_places(TpProposal *proposal, Oid relid)
{
	List	   *relids = list_make1_oid(relid);
	const char *name = NameStr(proposal->att->attname);
	ListCell   *cell;

	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		relids = find_all_inheritors(relid, NoLock, NULL);
	proposal->places = palloc0(list_length(relids) * sizeof(TpPlace));
	foreach(cell, relids)
	{
		TpPlace    *place = &proposal->places[proposal->nplaces];
		HeapTuple	tuple = SearchSysCacheAttName(lfirst_oid(cell), name);
		Form_pg_attribute att;

		if (!HeapTupleIsValid(tuple))
			continue;
		att = (Form_pg_attribute) GETSTRUCT(tuple);
		place->relid = lfirst_oid(cell);
		place->relkind = get_rel_relkind(place->relid);
		place->amoid = tp_get_access_method(place->relid);
		place->storage = att->attstorage;
		place->compression = att->attcompression;
		place->low_target = tp_get_low_target(place->relid);
		ReleaseSysCache(tuple);
		if (place->relkind != RELKIND_FOREIGN_TABLE)
			proposal->nplaces++;
	}
}

/* Return true if any relation of the table uses the access method. */
bool
tp_any_own(const TpProposal *proposal)
{
	Oid			own = tp_access_method_oid(false);

	for (int i = 0; i < proposal->nplaces; i++)
		if (proposal->places[i].amoid == own)
			return true;

	return false;
}

static char *
tp_qualified_name(Oid relid)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  get_rel_name(relid));
}

/* Begin a further statement. */
static void
tp_begin_statement(StringInfo statements)
{
	if (statements->len > 0)
		appendStringInfoString(statements, "; ");
}

/* Add the call of a function of the extension, with columns. */
static void
tp_add_call(StringInfo statements, const char *function, Oid relid, List *columns)
{
	ListCell   *cell;

	tp_begin_statement(statements);
	appendStringInfo(statements, "SELECT toast_policy.%s(%s", function,
					 quote_literal_cstr(tp_qualified_name(relid)));
	foreach(cell, columns)
		appendStringInfo(statements, ", %s", quote_literal_cstr(lfirst(cell)));
	appendStringInfoChar(statements, ')');
}

/*
 * Add the SET of a level.  The statements may run in another session, so set a
 * level that this session has, too, unless it is the default.
 */
static void
tp_add_level(StringInfo statements, const TpTrial *trial)
{
	if (trial->codec == TP_LZ4 && (trial->level != 0 || tp_lz4_level != 0))
	{
		tp_begin_statement(statements);
		appendStringInfo(statements, "SET toast_policy.lz4_level = %d", trial->level);
	}
	if (trial->codec == TP_ZSTD && trial->level != TP_ZSTD_DEFAULT_LEVEL)
	{
		tp_begin_statement(statements);
		appendStringInfo(statements, "SET toast_policy.zstd_level = %d", trial->level);
	}
}

static const char *
tp_storage_name(char storage)
{
	switch (storage)
	{
		case TYPSTORAGE_PLAIN:
			return "PLAIN";
		case TYPSTORAGE_EXTERNAL:
			return "EXTERNAL";
		case TYPSTORAGE_MAIN:
			return "MAIN";
		default:
			return "EXTENDED";
	}
}

static const char *
tp_compression_name(char compression)
{
	switch (compression)
	{
		case TOAST_PGLZ_COMPRESSION:
			return "pglz";
		case TOAST_LZ4_COMPRESSION:
			return "lz4";
		default:
			return "default";
	}
}

/* Begin ALTER TABLE for one relation, without its children. */
static void
tp_add_alter(StringInfo statements, Oid relid, bool recurse)
{
	tp_begin_statement(statements);
	appendStringInfo(statements, "ALTER %s %s",
					 get_rel_relkind(relid) == RELKIND_MATVIEW ? "MATERIALIZED VIEW" :
					 !recurse && (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE ||
								  has_subclass(relid)) ? "TABLE ONLY" : "TABLE",
					 tp_qualified_name(relid));
}

/*
 * Add ALTER TABLE ... SET STORAGE and SET COMPRESSION for a column of one
 * relation.  storage is 0 if it shall stay; compression is NULL if it shall
 * stay.
 */
static void
tp_add_storage(StringInfo statements, Oid relid, const char *column, char storage,
			   const char *compression)
{
	if (storage == 0 && compression == NULL)
		return;
	tp_add_alter(statements, relid, false);
	if (storage != 0)
		appendStringInfo(statements, " ALTER COLUMN %s SET STORAGE %s",
						 quote_identifier(column), tp_storage_name(storage));
	if (compression != NULL)
		appendStringInfo(statements, "%s ALTER COLUMN %s SET COMPRESSION %s",
						 storage != 0 ? "," : "", quote_identifier(column), compression);
}

/* Return the codec that heap uses for the column of a relation. */
static TpCodec
tp_place_codec(const TpPlace *place)
{
	char		compression = place->compression;

	if (!CompressionMethodIsValid(compression))
		compression = default_toast_compression;

	return compression == TOAST_LZ4_COMPRESSION ? TP_LZ4 : TP_PGLZ;
}

/* Return true if a strategy needs another COMPRESSION. */
static bool
tp_needs_compression(const TpStrategy *strategy, const TpPlace *place)
{
	return strategy->trial != NULL && strategy->method != TP_BY_TYPE &&
		tp_place_codec(place) != strategy->trial->codec;
}

/*
 * Return the qualified and quoted name of a collation.  Do not use
 * generate_collation_name(): it leaves out the schema if the search path of
 * this session has it, but the statement may run with another search path.
 */
static char *
tp_collation_name(Oid collid)
{
	HeapTuple	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collid));
	Form_pg_collation form;
	char	   *result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collid);
	form = (Form_pg_collation) GETSTRUCT(tuple);
	result = quote_qualified_identifier(get_namespace_name(form->collnamespace),
										NameStr(form->collname));
	ReleaseSysCache(tuple);

	return result;
}

/* Add ALTER TABLE ... ALTER COLUMN ... TYPE. */
static void
tp_add_type(StringInfo statements, Oid relid, Form_pg_attribute att, const char *type, Oid typid)
{
	tp_add_alter(statements, relid, true);
	appendStringInfo(statements, " ALTER COLUMN %s TYPE %s",
					 quote_identifier(NameStr(att->attname)), type);
	if (OidIsValid(att->attcollation) && att->attcollation != get_typcollation(typid))
		appendStringInfo(statements, " COLLATE %s", tp_collation_name(att->attcollation));
}

/* Return the OID of ztext or zbytea. */
static Oid
tp_type_oid(const char *name)
{
	Oid			args[] = {CSTRINGOID, OIDOID, INT4OID};
	Oid			input = LookupFuncName(list_make2(makeString("toast_policy"),
												  makeString(psprintf("%s_in", name))),
									   3, args, false);

	return get_func_rettype(input);
}

/* Make the statements for a strategy of the access method. */
static void
tp_make_policy(const TpProposal *proposal, Relation rel, StringInfo statement, StringInfo undo)
{
	const TpTrial *trial = proposal->pick->trial;
	Oid			relid = RelationGetRelid(rel);
	char	   *column = NameStr(proposal->att->attname);
	char		usual = get_typstorage(proposal->att->atttypid);
	Oid			own = tp_access_method_oid(false);
	bool		level = trial->codec == TP_LZ4 && trial->level != tp_lz4_level;
	bool		any_own = tp_any_own(proposal);
	bool		moved = false;

	for (int i = 0; i < proposal->nplaces; i++)
		if (tp_needs_compression(proposal->pick, &proposal->places[i]))
			tp_add_storage(statement, proposal->places[i].relid, column, 0,
						   tp_codec_name(trial->codec));
	if (!proposal->governed)
		tp_add_call(statement, "enable", relid, list_make1(column));
	tp_add_level(statement, trial);
	tp_add_call(statement, "recompress", relid, NIL);

	/*
	 * Give back a table of heap as a whole, if it has other EXTERNAL columns:
	 * as long as the table uses the access method, they are governed.
	 */
	if (!proposal->governed && !any_own)
	{
		List	   *columns = list_make1(column);

		for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
		{
			Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

			if (att->attnum != proposal->att->attnum && tp_column_is_governed(att) &&
				get_typstorage(att->atttypid) != TYPSTORAGE_EXTERNAL)
				columns = lappend(columns, NameStr(att->attname));
		}
		tp_add_call(undo, "disable", relid, columns);
		columns = list_delete_first(columns);
		for (int i = 0; i < proposal->nplaces; i++)
		{
			ListCell   *cell;

			foreach(cell, columns)
				tp_add_storage(undo, proposal->places[i].relid, lfirst(cell),
							   TYPSTORAGE_EXTERNAL, NULL);
		}
	}
	for (int i = 0; i < proposal->nplaces; i++)
	{
		const TpPlace *place = &proposal->places[i];
		bool		mixed = any_own && place->amoid != own &&
			place->relkind != RELKIND_PARTITIONED_TABLE;
		char		after = proposal->governed || (any_own && !mixed) ?
			TYPSTORAGE_EXTERNAL : usual;

		if (!proposal->governed && mixed)
			tp_add_call(undo, "disable", place->relid, list_make1(column));
		tp_add_storage(undo, place->relid, column,
					   place->storage != after ? place->storage : 0,
					   tp_needs_compression(proposal->pick, place) ?
					   tp_compression_name(place->compression) : NULL);
	}
	if (level)
	{
		tp_begin_statement(undo);
		appendStringInfo(undo, "SET toast_policy.lz4_level = %d", tp_lz4_level);
	}

	/* values that went out of line in small rows shall return into their rows */
	for (int i = 0; i < proposal->nplaces; i++)
		moved |= proposal->places[i].amoid == own && proposal->places[i].low_target > 0;
	if (proposal->governed || moved)
		tp_add_call(undo, "recompress", relid, NIL);
}

/* Make the statements for a strategy of heap. */
static void
tp_make_storage(const TpProposal *proposal, Relation rel, StringInfo statement, StringInfo undo)
{
	const TpStrategy *pick = proposal->pick;
	Oid			relid = RelationGetRelid(rel);
	char	   *column = NameStr(proposal->att->attname);
	char		usual = get_typstorage(proposal->att->atttypid);

	if (proposal->governed)
	{
		tp_add_call(statement, "disable", relid, list_make1(column));
		tp_add_call(undo, "enable", relid, list_make1(column));
	}
	for (int i = 0; i < proposal->nplaces; i++)
	{
		const TpPlace *place = &proposal->places[i];
		char		before = proposal->governed ? usual : place->storage;
		bool		compression = tp_needs_compression(pick, place);

		tp_add_storage(statement, place->relid, column,
					   before != pick->storage ? pick->storage : 0,
					   compression ? tp_codec_name(pick->trial->codec) : NULL);
		tp_add_storage(undo, place->relid, column,
					   !proposal->governed && before != pick->storage ? before : 0,
					   compression ? tp_compression_name(place->compression) : NULL);
	}
	tp_add_call(statement, "recompress", relid, NIL);
}

/* Make the statements for ztext or zbytea. */
static void
tp_make_type(const TpProposal *proposal, Relation rel, StringInfo statement, StringInfo undo)
{
	const TpStrategy *pick = proposal->pick;
	Form_pg_attribute att = proposal->att;
	Oid			relid = RelationGetRelid(rel);
	char	   *column = NameStr(att->attname);
	Oid			typid = tp_type_oid(pick->name);
	char		usual = get_typstorage(att->atttypid);

	if (proposal->governed)
		tp_add_call(statement, "disable", relid, list_make1(column));
	tp_add_level(statement, pick->trial);
	tp_add_type(statement, relid, att,
				psprintf("%s(%s)", format_type_be_qualified(typid), tp_codec_name(pick->trial->codec)),
				typid);
	tp_add_type(undo, relid, att,
				format_type_extended(att->atttypid, att->atttypmod,
									 FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY),
				att->atttypid);
	if (proposal->governed)
		tp_add_call(undo, "enable", relid, list_make1(column));
	/* the change of the type has reset both */
	for (int i = 0; i < proposal->nplaces; i++)
	{
		const TpPlace *place = &proposal->places[i];
		char		after = proposal->governed ? TYPSTORAGE_EXTERNAL : usual;

		tp_add_storage(undo, place->relid, column,
					   place->storage != after ? place->storage : 0,
					   CompressionMethodIsValid(place->compression) ?
					   tp_compression_name(place->compression) : NULL);
	}
}

/* Make the statements that carry out a proposal, and those that take it back. */
void
tp_make_statements(const TpProposal *proposal, Relation rel, StringInfo statement,
				   StringInfo undo)
{
	switch (proposal->pick->method)
	{
		case TP_BY_POLICY:
			tp_make_policy(proposal, rel, statement, undo);
			break;
		case TP_BY_TYPE:
			tp_make_type(proposal, rel, statement, undo);
			break;
		case TP_BY_STORAGE:
			tp_make_storage(proposal, rel, statement, undo);
			break;
	}
}
