/*-------------------------------------------------------------------------
 *
 * compact_revert.c
 *	  Change converted columns back to their former types.
 *
 * convert() records the former type of a column in the table
 * compact_types.conversions, in the transaction that changes the column.
 * These records are called notes.  revert() reads the notes, and changes the
 * types with the same functions as convert().  compact_convert.c explains
 * which code runs as which role.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_revert.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/toast_compression.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compact_convert.h"
#include "compact_ddl.h"
#include "compact_scalar.h"
#include "compact_trained.h"
#include "compact_types_compat.h"

/* Former properties of a column. */
typedef struct OldType
{
	Oid			typid;			/* or InvalidOid */
	int32		typmod;
	char		storage;		/* '\0' for the type's own */
	char		compression;
} OldType;

/*
 * Former types
 */

/*
 * Find the core type that holds every value of the compact type with the same
 * meaning.  Return false if there is none.
 */
static bool
ordinary_type(Oid nspid, Oid typid, int32 typmod, OldType *old)
{
	Oid			element = get_element_type(typid);
	char	   *name;
	const CompactInteger *integer;
	const CompactSeconds *seconds;
	const CompactDecimal *decimals;
	int			width;
	int			scale;

	memset(old, 0, sizeof(OldType));
	old->typmod = -1;
	if (OidIsValid(element))
	{
		if (!ordinary_type(nspid, element, typmod, old))
			return false;
		old->typid = get_array_type(old->typid);
		return OidIsValid(old->typid);
	}
	name = typid < FirstNormalObjectId ? NULL : compact_revert_noted_name(nspid, typid);
	if (name == NULL)
		return false;

	if (strncmp(name, "compact_char", 12) == 0)
	{
		old->typid = BPCHAROID;
		old->typmod = get_typlen(typid) + VARHDRSZ;
	}
	else if (strcmp(name, "compact_text") == 0 || compact_trained_number(name) > 0)
	{
		old->typid = typmod >= 0 ? VARCHAROID : TEXTOID;
		old->typmod = typmod;
	}
	else if (strcmp(name, "uint8") == 0)
	{
		old->typid = NUMERICOID;
		old->typmod = (UINT8_DIGITS << 16) + VARHDRSZ;
	}
	else if ((integer = compact_find_integer(name)) != NULL)
	{
		if (compact_integer_is_narrow(integer))
			old->typid = compact_integers[integer->twin].typid;
	}
	else if ((seconds = compact_find_seconds(name)) != NULL)
	{
		old->typid = seconds->twin;
		old->typmod = 0;
	}
	else if (compact_decimal_parse_name(name, &width, &scale) &&
			 (decimals = compact_decimal_of_width(width)) != NULL)
	{
		/* add one digit, because the type holds some numbers that need it */
		old->typid = NUMERICOID;
		old->typmod = (((decimals->max_scale + 1) << 16) | scale) + VARHDRSZ;
	}

	return OidIsValid(old->typid);
}

/*
 * compact_types.ordinary_type(type regtype, modifier int4) returns text
 *
 * Return the core type that revert() gives a column of this compact type if
 * there is no note on the column.  Return NULL for any other type.
 */
PG_FUNCTION_INFO_V1(compact_types_ordinary_type);
Datum
compact_types_ordinary_type(PG_FUNCTION_ARGS)
{
	OldType		old;

	if (!ordinary_type(get_func_namespace(fcinfo->flinfo->fn_oid), PG_GETARG_OID(0),
					   PG_GETARG_INT32(1), &old))
		PG_RETURN_NULL();

	PG_RETURN_TEXT_P(cstring_to_text(format_type_with_typemod(old.typid, old.typmod)));
}

/*
 * Fill old from the note on the column.  If the note is not for the column's
 * present type, set the column's reason and return false.
 */
static bool
use_note(const Advice *advice, AdviseColumn *column, const char *old_type,
		 const char *storage, const char *compression, const char *new_type,
		 int32 new_typmod, OldType *old)
{
	Form_pg_attribute att = column->att;
	char	   *name = compact_revert_noted_name(advice->nspid, att->atttypid);

	memset(old, 0, sizeof(OldType));
	if (name == NULL || strcmp(name, new_type) != 0 || att->atttypmod != new_typmod)
	{
		column->reason = psprintf("The column was converted to type %s, but has type %s now.",
								  new_type, format_type_with_typemod(att->atttypid, att->atttypmod));
		return false;
	}
	compat_parse_type(old_type, &old->typid, &old->typmod);
	if (!compact_revert_is_plausible(old->typid, old->typmod, new_type))
		elog(ERROR, "column of type \"%s\" cannot have been of type \"%s\"", new_type, old_type);
	if (storage && strchr("pemx", storage[0]))
		old->storage = storage[0];
	if (compression && strchr("pl", compression[0]))
		old->compression = compression[0];

	return true;
}

/* Return the clauses that restore the storage of the column. */
static char *
storage_clauses(Form_pg_attribute att, const OldType *old)
{
	StringInfoData buf;
	const char *name = quote_identifier(NameStr(att->attname));
	char		storage = old->storage;
	char		compression = old->compression;

	initStringInfo(&buf);
	if (get_typlen(old->typid) != -1)
		return buf.data;
	if (att->attlen == -1)
	{
		/*
		 * convert() has kept both settings, and a user may have changed them
		 * since
		 */
		storage = att->attstorage == get_typstorage(att->atttypid) ? '\0' : att->attstorage;
		compression = att->attcompression;
	}
	if (storage != '\0' && storage != get_typstorage(old->typid))
		appendStringInfo(&buf, ", ALTER COLUMN %s SET STORAGE %s", name,
						 storage == TYPSTORAGE_PLAIN ? "PLAIN" :
						 storage == TYPSTORAGE_EXTERNAL ? "EXTERNAL" :
						 storage == TYPSTORAGE_MAIN ? "MAIN" : "EXTENDED");
	if (CompressionMethodIsValid(compression))
		appendStringInfo(&buf, ", ALTER COLUMN %s SET COMPRESSION %s", name,
						 GetCompressionMethodName(compression));

	return buf.data;
}

/* Propose the former type for the column, if there is a former type. */
static void
go_back(AdviseColumn *column, const OldType *old)
{
	bool		byval;

	memset(&column->type, 0, sizeof(AdviseType));
	if (!OidIsValid(old->typid))
		return;
	column->kind = ADVISE_REVERT;
	column->type.typid = old->typid;
	column->type.typmod = old->typmod;
	get_typlenbyvalalign(old->typid, &column->type.len, &byval, &column->type.align);
	column->type.storage = get_typstorage(old->typid);
	/* this name is for a cast, which must not cut a string */
	column->type.sql = format_type_extended(old->typid, -1, FORMAT_TYPE_TYPEMOD_GIVEN);
	column->type.complete = format_type_extended(old->typid, old->typmod, FORMAT_TYPE_TYPEMOD_GIVEN);
	column->type.name = column->type.complete;
	column->storage = storage_clauses(column->att, old);
}

/*
 * A default that was set after the conversion is a constant of the compact
 * type.  ALTER TABLE would keep this constant and add a cast.  Then the
 * default would depend on the compact type, and would be dropped with the
 * extension.  So set the default again, as a literal.  The caller must have
 * called compact_ddl_set_deparse_gucs().
 */
static void
find_defaults(Advice *advice)
{
	TupleConstr *constr = RelationGetDescr(advice->rel)->constr;
	MemoryContext oldcxt = MemoryContextSwitchTo(advice->cxt);

	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];

		if (column->kind != ADVISE_REVERT || column->att->attgenerated != '\0')
			continue;
		for (int d = 0; constr != NULL && d < constr->num_defval; d++)
		{
			Node	   *expr;
			Oid			typoutput;
			bool		varlena;

			if (constr->defval[d].adnum != column->att->attnum)
				continue;
			expr = strip_implicit_coercions(stringToNode(constr->defval[d].adbin));
			if (!IsA(expr, Const) || ((Const *) expr)->constisnull ||
				((Const *) expr)->consttype != column->att->atttypid)
				continue;
			getTypeOutputInfo(((Const *) expr)->consttype, &typoutput, &varlena);
			column->storage = psprintf("%s, ALTER COLUMN %s SET DEFAULT %s", column->storage,
									   quote_identifier(NameStr(column->att->attname)),
									   quote_literal_cstr(OidOutputFunctionCall(typoutput, ((Const *) expr)->constvalue)));
		}
	}
	MemoryContextSwitchTo(oldcxt);
}

/*
 * SQL functions
 */

/*
 * Find the former types of the table's columns, and the blockers: the objects
 * that prevent a change of type.  The caller must have locked the table.
 * Leave the table open.
 */
static Advice *
make_advice(Oid relid, Oid funcid, bool unrecorded)
{
	Advice	   *advice = palloc0(sizeof(Advice));
	TupleDesc	desc;
	const char *schema;
	int			nestlevel;
	MemoryContext oldcxt;

	advice->rel = table_open(relid, NoLock);
	advice->reverts = true;
	advice->cxt = CurrentMemoryContext;
	advice->nspid = get_func_namespace(funcid);
	advice->catalog = compact_advise_catalog_make();
	schema = quote_identifier(get_namespace_name(advice->nspid));
	desc = RelationGetDescr(advice->rel);
	/* no row was read, so progress shows the estimate */
	advice->sampled_rows = (int64) Max(advice->rel->rd_rel->reltuples, 0);
	if (RELATION_IS_OTHER_TEMP(advice->rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	advice->columns = palloc0((desc->natts + 1) * sizeof(AdviseColumn));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		advice->columns[advice->ncolumns].att = att;
		advice->columns[advice->ncolumns].reason = "There is no note on a conversion of this column.";
		advice->ncolumns++;
	}

	SPI_connect();
	nestlevel = compact_ddl_set_gucs();
	compact_advise_query("SELECT %s.referenced_attnum(converted), old_type, old_storage, old_compression, new_type, new_typmod"
						 " FROM %s.conversions WHERE %s.referenced_table(converted) = %u",
						 schema, schema, schema, relid);
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	for (uint64 row = 0; row < SPI_processed; row++)
	{
		for (int i = 0; i < advice->ncolumns; i++)
		{
			AdviseColumn *column = &advice->columns[i];
			OldType		old;

			if (column->att->attnum != atoi(compact_advise_result(row, 0)))
				continue;
			if (use_note(advice, column, compact_advise_result(row, 1), compact_advise_result(row, 2),
						 compact_advise_result(row, 3), compact_advise_result(row, 4),
						 atoi(compact_advise_result(row, 5)), &old))
			{
				go_back(column, &old);
				column->noted = true;
			}
			else
				column->outdated = true;
		}
	}
	for (int i = 0; i < advice->ncolumns && unrecorded; i++)
	{
		AdviseColumn *column = &advice->columns[i];
		OldType		old;

		if (column->kind == ADVISE_KEEP &&
			ordinary_type(advice->nspid, column->att->atttypid, column->att->atttypmod, &old))
			go_back(column, &old);
	}
	MemoryContextSwitchTo(oldcxt);

	compact_advise_find_blockers(advice);
	compact_ddl_set_deparse_gucs();
	compact_revert_read_definitions(advice, relid);
	compact_advise_check_indexes(advice);
	find_defaults(advice);
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	return advice;
}

/*
 * Lock the tables that have foreign keys to columns that change, because
 * rehearse() empties these tables as well.  These tables belong to the owner
 * of the referenced table; a foreign key of another owner's table is a
 * blocker.
 */
static void
lock_referencing(Advice *advice, const bool *chosen)
{
	int			nchosen;
	char	   *attnums = compact_convert_chosen_attnums(advice, chosen, &nchosen);
	MemoryContext oldcxt;
	ListCell   *lc;

	SPI_connect();
	compact_advise_query("SELECT DISTINCT f.conrelid FROM pg_catalog.pg_constraint f JOIN pg_catalog.pg_class r ON r.oid OPERATOR(pg_catalog.=) f.conrelid"
						 " WHERE f.confrelid OPERATOR(pg_catalog.=) %u AND f.conrelid OPERATOR(pg_catalog.<>) f.confrelid"
						 " AND f.contype OPERATOR(pg_catalog.=) 'f' AND f.confkey OPERATOR(pg_catalog.&&) ARRAY[%s]::pg_catalog.int2[]"
						 " AND r.relkind OPERATOR(pg_catalog.=) 'r' AND NOT r.relispartition AND r.relowner OPERATOR(pg_catalog.=) %u ORDER BY 1",
						 RelationGetRelid(advice->rel), attnums, advice->rel->rd_rel->relowner);
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	for (uint64 i = 0; i < SPI_processed; i++)
		advice->referencing = lappend_oid(advice->referencing, atooid(compact_advise_result(i, 0)));
	MemoryContextSwitchTo(oldcxt);
	SPI_finish();
	foreach(lc, advice->referencing)
		LockRelationOid(lfirst_oid(lc), AccessExclusiveLock);
}

static void
revert_table(Oid relid, Oid funcid, ArrayType *names, bool unrecorded,
			 const ConvertOptions *options, ReturnSetInfo *rsinfo)
{
	Advice	   *advice;
	bool	   *chosen;
	bool	   *outdated;
	bool		any = false;
	int			nestlevel;

	compact_convert_lock_table(relid);
	PushActiveSnapshot(GetLatestSnapshot());
	advice = make_advice(relid, funcid, unrecorded);
	chosen = compact_convert_choose_columns(advice, names);
	lock_referencing(advice, chosen);
	PopActiveSnapshot();

	/*
	 * keep columns whose type was changed by hand, and forget their notes, so
	 * that they are not reported again
	 */
	outdated = palloc0(advice->ncolumns + 1);
	for (int i = 0; i < advice->ncolumns && names == NULL; i++)
	{
		const AdviseColumn *column = &advice->columns[i];

		if (!column->outdated)
			continue;
		outdated[i] = any = true;
		ereport(NOTICE,
				(errmsg("column \"%s\" of table \"%s\" no longer has the type that convert() gave it",
						NameStr(column->att->attname), RelationGetRelationName(advice->rel)),
				 errdetail_internal("%s", column->reason)));
	}
	if (any)
	{
		SPI_connect();
		nestlevel = compact_ddl_set_gucs();
		compact_revert_forget(advice, outdated, relid);
		AtEOXact_GUC(true, nestlevel);
		SPI_finish();
	}
	compact_convert_columns(advice, chosen, options, rsinfo);
}

/*
 * Give the named columns ordinary types, so that convert() can convert them
 * with another dictionary.  Add the views that use them, of SavedView *, to
 * *views.  funcid is a function of compact_types.
 */
void
compact_revert_for_training(Oid relid, Oid funcid, ArrayType *names, List **views)
{
	/* the training needs the number of rows, which the rewrite resets */
	ConvertOptions options = {.update_statistics = true,.to_train = views};

	revert_table(relid, funcid, names, true, &options, NULL);
}

/*
 * compact_types.revert(relation regclass, columns name[], unrecorded bool,
 * skip_blocked bool, update_statistics bool) returns setof record
 *
 * Change the columns that convert() has changed back to their former types.
 * If unrecorded is true, also change every other column of a compact type to
 * the core type that holds its values.  NULL in columns stands for all
 * columns.  Return the same rows as convert().  Errors: those of convert(),
 * and 55000 for a named column without a type to change back to.
 */
PG_FUNCTION_INFO_V1(compact_types_revert);
Datum
compact_types_revert(PG_FUNCTION_ARGS)
{
	ArrayType  *names = PG_ARGISNULL(1) ? NULL : PG_GETARG_ARRAYTYPE_P(1);
	ConvertOptions options = {.all = (names == NULL)};

	compact_convert_check_call(fcinfo, "compact_types.revert()", true);
	options.skip_blocked = PG_GETARG_BOOL(3);
	options.update_statistics = PG_GETARG_BOOL(4);

	InitMaterializedSRF(fcinfo, 0);
	revert_table(PG_GETARG_OID(0), fcinfo->flinfo->fn_oid, names, PG_GETARG_BOOL(2),
				 &options, (ReturnSetInfo *) fcinfo->resultinfo);

	return (Datum) 0;
}

/*
 * compact_types.revert_all(unrecorded bool, skip_blocked bool,
 * update_statistics bool) returns setof record
 *
 * Call revert() for each table of the database that has something to revert,
 * and whose owner the caller is or can become by SET ROLE.  Report the tables
 * that are skipped, and the reason.  Return the rows of revert().  The rows
 * of views come last, because more than one table may have caused a view to
 * be created again.
 */
PG_FUNCTION_INFO_V1(compact_types_revert_all);
Datum
compact_types_revert_all(PG_FUNCTION_ARGS)
{
	List	   *views = NIL;
	ConvertOptions options = {.all = true,.views = &views};
	Oid			nspid = get_func_namespace(fcinfo->flinfo->fn_oid);
	const char *schema = quote_identifier(get_namespace_name(nspid));
	MemoryContext oldcxt = CurrentMemoryContext;
	List	   *tables = NIL;
	List	   *others = NIL;
	List	   *kinds = NIL;
	int			nestlevel;
	ListCell   *lc;

	compact_convert_check_call(fcinfo, "compact_types.revert_all()", false);
	options.skip_blocked = PG_GETARG_BOOL(1);
	options.update_statistics = PG_GETARG_BOOL(2);
	InitMaterializedSRF(fcinfo, 0);

	SPI_connect();
	nestlevel = compact_ddl_set_gucs();
	compact_advise_query("SELECT c.oid, c.relowner, c.relkind = 'r' AND NOT c.relispartition AND NOT EXISTS"
						 "  (SELECT FROM pg_catalog.pg_inherits h WHERE c.oid IN (h.inhrelid, h.inhparent))"
						 " FROM pg_catalog.pg_class c WHERE c.relkind IN ('r', 'p', 'm', 'f')"
						 " AND NOT pg_catalog.pg_is_other_temp_schema(c.relnamespace)"
						 " AND (c.oid IN (SELECT %s.referenced_table(converted) FROM %s.conversions)"
						 "  OR %s AND EXISTS (SELECT FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid"
						 "   LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND t.typlen = -1"
						 "   JOIN pg_catalog.pg_proc p ON p.oid IN (t.typinput, e.typinput)"
						 "   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND p.pronamespace = %u"
						 "   AND NOT (c.relname IN ('conversions', 'definitions') AND c.relnamespace = %u)))"
						 " ORDER BY 1",
						 schema, schema, PG_GETARG_BOOL(0) ? "true" : "false", nspid, nspid);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Oid			relid = atooid(compact_advise_result(i, 0));
		char	   *name = get_rel_name(relid);
		MemoryContext spicxt = MemoryContextSwitchTo(oldcxt);

		if (name == NULL)
			 /* dropped a moment ago */ ;
		else if (!compat_can_become(GetUserId(), atooid(compact_advise_result(i, 1))))
			others = lappend(others, pstrdup(name));
		else if (compact_advise_result(i, 2)[0] != 't')
			kinds = lappend(kinds, pstrdup(name));
		else
			tables = lappend_oid(tables, relid);
		MemoryContextSwitchTo(spicxt);
	}
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	foreach(lc, others)
		ereport(NOTICE,
				(errmsg("skipping table \"%s\"", (char *) lfirst(lc)),
				 errdetail("The table belongs to a role that you cannot become by SET ROLE.")));
	foreach(lc, kinds)
		ereport(NOTICE,
				(errmsg("skipping table \"%s\"", (char *) lfirst(lc)),
				 errdetail("The table is partitioned, a partition, part of an inheritance tree, a foreign table or a materialized view."),
				 errhint("Use ALTER TABLE ... ALTER COLUMN ... TYPE, or create the table again.")));
	foreach(lc, tables)
	{
		if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(lfirst_oid(lc))))
			revert_table(lfirst_oid(lc), fcinfo->flinfo->fn_oid, NULL, PG_GETARG_BOOL(0),
						 &options, (ReturnSetInfo *) fcinfo->resultinfo);
	}
	foreach(lc, views)
	{
		if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(lfirst_oid(lc))))
			compact_convert_add_view((ReturnSetInfo *) fcinfo->resultinfo, lfirst_oid(lc));
	}

	return (Datum) 0;
}
