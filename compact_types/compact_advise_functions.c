/*-------------------------------------------------------------------------
 *
 * compact_advise_functions.c
 *	  The SQL functions advise() and advise_table().
 *
 * Both functions give advice on one table, or on all tables that the caller may
 * read.  If they look at all tables, an error in one table does not end the
 * call: the row of this table has the message as its reason.  Each table is
 * examined in a subtransaction that is rolled back, so that its locks and its
 * memory are free before the next table is opened.  A table that another session
 * has locked is left out: the row says so.  Otherwise, one such table would hold
 * up the advice on all others.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_advise_functions.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/tuplestore.h"

#include "compact_advise.h"
#include "compact_ddl.h"
#include "compact_text.h"
#include "compact_trained.h"
#include "compact_types.h"
#include "compact_types_compat.h"

/* The arguments, of both functions; advise_table() does not have the last one */
enum
{
	ARG_RELATION,
	ARG_COLUMNS,
	ARG_NARROW,
	ARG_NARROW_KEYS,
	ARG_FIXED_VARCHAR,
	ARG_ROUND_SECONDS,
	ARG_SAMPLE_PAGES,
	ARG_TRAIN
};

/* The columns of the result of advise() */
enum
{
	ADVISE_RELATION,
	ADVISE_COLUMN_NAME,
	ADVISE_CURRENT_TYPE,
	ADVISE_PROPOSED_TYPE,
	ADVISE_VALUE_BYTES_NOW,
	ADVISE_VALUE_BYTES_AFTER,
	ADVISE_BYTES_NOW,
	ADVISE_BYTES_AFTER,
	ADVISE_REASON,
	ADVISE_RISK,
	ADVISE_BLOCKERS,
	ADVISE_STATEMENT,
	ADVISE_UNDO,
	ADVISE_NATTS
};

/* The columns of the result of advise_table() */
enum
{
	TABLE_RELATION,
	TABLE_COLUMNS,
	TABLE_ROWS,
	TABLE_ROW_BYTES_NOW,
	TABLE_ROW_BYTES_AFTER,
	TABLE_ROW_BYTES_REORDERED,
	TABLE_HEAP_PAGES,
	TABLE_HEAP_PAGES_NOW,
	TABLE_HEAP_PAGES_AFTER,
	TABLE_HEAP_PAGES_REORDERED,
	TABLE_COLUMN_ORDER,
	TABLE_DEPENDENT_VIEWS,
	TABLE_CREATE_STATEMENT,
	TABLE_BYTES_NOW,
	TABLE_BYTES_AFTER,
	TABLE_REASON,
	TABLE_RISK,
	TABLE_BLOCKERS,
	TABLE_STATEMENT,
	TABLE_UNDO,
	TABLE_NATTS
};

/* A call of one of the functions */
typedef struct AdviseCall
{
	Oid			funcid;			/* the called SQL function */
	AdviseOptions options;
	bool		named;			/* the argument "columns" is not NULL */
	List	   *columns;		/* the names in it */
	ReturnSetInfo *rsinfo;
	void		(*add_rows) (struct AdviseCall *call, Advice *advice);
	int			reason;			/* number of this column of the result */
} AdviseCall;

/*
 * Values of the results
 */

/* Return the name of the type, for display to the caller. */
static char *
displayed_type(const AdviseType *type)
{
	if (OidIsValid(type->typid))
		return format_type_with_typemod(type->typid, type->typmod);

	return type->name;
}

/* Return the name of a type whose number convert() will choose, for display. */
static char *
trained_type(int32 typmod)
{
	return typmod >= (int32) VARHDRSZ ?
		psprintf(COMPACT_TRAINED_PREFIX "N(%d)", typmod - (int32) VARHDRSZ) :
		pstrdup(COMPACT_TRAINED_PREFIX "N");
}

static void
set_text(Datum *values, bool *nulls, int n, const char *string)
{
	nulls[n] = (string == NULL);
	values[n] = string ? CStringGetTextDatum(string) : (Datum) 0;
}

static Datum
text_array(List *strings)
{
	Datum	   *elems = palloc((list_length(strings) + 1) * sizeof(Datum));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, strings)
		elems[n++] = CStringGetTextDatum(lfirst(lc));

	return PointerGetDatum(construct_array(elems, n, TEXTOID, -1, false, TYPALIGN_INT));
}

static Datum
name_array(List *strings)
{
	Datum	   *elems = palloc((list_length(strings) + 1) * sizeof(Datum));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, strings)
		elems[n++] = DirectFunctionCall1(namein, CStringGetDatum(lfirst(lc)));

	return PointerGetDatum(construct_array(elems, n, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR));
}

/* Return the pages of the table, divided by the pages that were read. */
static double
sample_scale(const Advice *advice)
{
	return advice->sampled_blocks > 0 ? (double) advice->nblocks / advice->sampled_blocks : 1.0;
}

/*
 * One table
 */

/* Return true if the owner of the table may read it, as a training does. */
static bool
owner_reads(Relation rel)
{
	Oid			owner = rel->rd_rel->relowner;

	return compat_has_privilege(NamespaceRelationId, RelationGetNamespace(rel), owner, ACL_USAGE) &&
		pg_class_aclcheck(RelationGetRelid(rel), owner, ACL_SELECT) == ACLCHECK_OK;
}

/*
 * Train a dictionary on a column of strings, and propose it if it saves more
 * than it takes.
 */
static void
train(Advice *advice, AdviseColumn *column)
{
	bool		encoded = compact_string_kind(column->att->atttypid) == COMPACT_STRING_TEXT;
	CompactTrainedTry *dictionary;
	char	   *reason = encoded ? "encoded already" : column->little ? column->little : column->reason;

	if (column->kind != ADVISE_TEXT)
		return;

	dictionary = palloc_object(CompactTrainedTry);
	if (!owner_reads(advice->rel))
		reason = psprintf("%s; no dictionary was measured, because the owner of the table may not read it", reason);
	else if (!compact_trained_try(advice->rel, column->att->attnum, dictionary))
		reason = psprintf("%s; a dictionary of %zu bytes would save %.0f bytes%s", reason,
						  dictionary->len, dictionary->saved,
						  column->little && !encoded ? "" : " more");
	else
	{
		column->dictionary = dictionary;
		column->reason = psprintf("a dictionary of %zu bytes encodes the values%s", dictionary->len,
								  encoded ? "; the table is rewritten twice" :
								  psprintf(", which would take %.1f bytes in compact_text", dictionary->compact_text));
		if (column->mentions)
			column->reason = psprintf("%s; look at what names the column: %s", column->reason, column->mentions);
		compact_advise_add_risk(column, "everybody can read strings of the dictionary; a column with another dictionary can be compared only after a cast");
		if (dictionary->number == 0)
			compact_advise_add_blocker(advice, column->att->attnum,
									   "all types trained_textN that are installed on the server exist in this database");
		else if (!compat_has_privilege(DatabaseRelationId, MyDatabaseId, GetUserId(), ACL_CREATE))
			compact_advise_add_blocker(advice, column->att->attnum,
									   "the type needs the privilege CREATE on the database");
		return;
	}
	if (column->little || encoded)
		compact_advise_keep(column, reason);
	column->reason = reason;
}

/* Add the row of advise() for the column. */
static void
add_column(const AdviseCall *call, const Advice *advice, const AdviseColumn *column)
{
	Form_pg_attribute att = column->att;
	const CompactTrainedTry *trained = column->dictionary;
	bool		proposed = (column->kind != ADVISE_KEEP);
	List	   *names = list_make1(NameStr(att->attname));
	List	   *blockers = proposed ? list_concat_copy(column->blockers, advice->blockers) :
		column->blockers;
	bool		possible = (proposed && blockers == NIL);
	double		count = column->nvalues * sample_scale(advice);
	double		now = 0;
	double		after = 0;
	Datum		values[ADVISE_NATTS];
	bool		nulls[ADVISE_NATTS] = {0};

	if (column->nvalues > 0)
		now = after = (double) column->bytes_now / column->nvalues;
	if (trained)
		after = Max(now - trained->value_saved, 0);
	else if (proposed && column->nafter > 0)
		after = (double) column->bytes_after / column->nafter;

	values[ADVISE_RELATION] = ObjectIdGetDatum(RelationGetRelid(advice->rel));
	values[ADVISE_COLUMN_NAME] = NameGetDatum(&att->attname);
	set_text(values, nulls, ADVISE_CURRENT_TYPE, format_type_with_typemod(att->atttypid, att->atttypmod));
	set_text(values, nulls, ADVISE_PROPOSED_TYPE,
			 trained ? trained_type(att->atttypmod) :
			 proposed ? displayed_type(&column->type) : NULL);
	values[ADVISE_VALUE_BYTES_NOW] = Float8GetDatum(now);
	values[ADVISE_VALUE_BYTES_AFTER] = Float8GetDatum(after);
	nulls[ADVISE_VALUE_BYTES_NOW] = nulls[ADVISE_VALUE_BYTES_AFTER] = (column->nvalues == 0);
	values[ADVISE_BYTES_NOW] = Int64GetDatum((int64) rint(now * count));
	values[ADVISE_BYTES_AFTER] = Int64GetDatum((int64) rint(after * count) + (trained ? (int64) trained->len : 0));
	set_text(values, nulls, ADVISE_REASON,
			 column->native_type ? psprintf("%s; otherwise: %s", column->native_type, column->reason) :
			 column->reason);
	set_text(values, nulls, ADVISE_RISK, column->risk);
	values[ADVISE_BLOCKERS] = text_array(blockers);
	set_text(values, nulls, ADVISE_STATEMENT,
			 possible ? compact_advise_convert_statement(advice, names, trained != NULL) : NULL);
	set_text(values, nulls, ADVISE_UNDO,
			 possible ? compact_advise_revert_statement(advice, names) : NULL);
	tuplestore_putvalues(call->rsinfo->setResult, call->rsinfo->setDesc, values, nulls);
}

/* Return true if advise() returns a row for the column. */
static bool
is_wanted(const AdviseCall *call, const AdviseColumn *column)
{
	ListCell   *lc;

	foreach(lc, call->columns)
	{
		if (strcmp(NameStr(column->att->attname), lfirst(lc)) == 0)
			return true;
	}

	return !call->named;
}

/* Add the rows of advise(): one for each column, or for each named column. */
static void
add_columns(AdviseCall *call, Advice *advice)
{
	/* an error must not leave the rows of some columns */
	for (int i = 0; i < advice->ncolumns && call->options.train; i++)
	{
		if (is_wanted(call, &advice->columns[i]))
			train(advice, &advice->columns[i]);
	}
	for (int i = 0; i < advice->ncolumns; i++)
	{
		if (is_wanted(call, &advice->columns[i]))
			add_column(call, advice, &advice->columns[i]);
	}
}

/* Append "2 columns get a smaller type", for example. */
static void
append_count(StringInfo buf, int n, const char *one, const char *many)
{
	if (n == 0)
		return;
	if (buf->len > 0)
		appendStringInfoString(buf, "; ");
	if (n == 1)
		appendStringInfoString(buf, one);
	else
		appendStringInfo(buf, many, n);
}

/*
 * Summarize the proposals for the columns: set the names of the columns to
 * convert, the risk, the blockers and the reason.
 */
static void
summarize(const Advice *advice, List **names, char **risk, List **blockers, char **reason)
{
	StringInfoData buf;
	int			nblocked = 0;
	int			nby_name = 0;

	*names = *blockers = NIL;
	*risk = NULL;
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];
		char	   *name = NameStr(column->att->attname);

		if (compact_advise_converts(advice, column))
		{
			*names = lappend(*names, name);
			if (column->risk)
				*risk = *risk ? psprintf("%s; %s: %s", *risk, name, column->risk) :
					psprintf("%s: %s", name, column->risk);
		}
		else if (column->kind == ADVISE_KEEP || (column->by_name && advice->options.only_named))
			continue;
		else if (column->blockers != NIL || advice->blockers != NIL)
			nblocked++;
		else
			nby_name++;
	}
	if (nblocked > 0)
		*blockers = advice->blockers;

	initStringInfo(&buf);
	append_count(&buf, list_length(*names), "1 column gets another type", "%d columns get another type");
	append_count(&buf, nblocked, "1 proposal is blocked", "%d proposals are blocked");
	append_count(&buf, nby_name, "1 proposal has a risk, and is taken only by name or with narrow => true",
				 "%d proposals have a risk, and are taken only by name or with narrow => true");
	*reason = buf.len > 0 ? buf.data : pstrdup("there is no proposal for a column");
}

/* Add the row of advise_table(). */
static void
add_table(AdviseCall *call, Advice *advice)
{
	Datum		values[TABLE_NATTS];
	bool		nulls[TABLE_NATTS] = {0};
	double		scale = sample_scale(advice);
	double		rows = rint(advice->sampled_rows * scale);
	AdvisePages *pages[] = {&advice->now, &advice->after, &advice->best};
	int64		counts[3];
	List	   *order = NIL;
	List	   *views;
	List	   *view_names = NIL;
	List	   *names;
	List	   *blockers;
	char	   *risk;
	char	   *reason;
	StringInfoData attnums;
	MemoryContext oldcxt;
	ListCell   *lc;
	int			nestlevel;

	for (int i = 0; i < 3; i++)
	{
		double		count = pages[i]->pages;

		/* in a sample, count only the used part of the last page */
		if (scale > 1.0)
			count = ceil((count - (double) pages[i]->free / BLCKSZ) * scale);
		values[TABLE_ROW_BYTES_NOW + i] = Float8GetDatum(rows > 0 ? count * BLCKSZ / rows : 0);
		nulls[TABLE_ROW_BYTES_NOW + i] = (rows == 0);
		counts[i] = (int64) count;
		values[TABLE_HEAP_PAGES_NOW + i] = Int64GetDatum(counts[i]);
	}
	summarize(advice, &names, &risk, &blockers, &reason);
	initStringInfo(&attnums);
	appendStringInfoString(&attnums, "0");
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];

		if (compact_advise_converts(advice, column))
			appendStringInfo(&attnums, ", %d", column->att->attnum);
		order = lappend(order, NameStr(advice->columns[advice->order[i]].att->attname));
	}

	/* with this search_path, the statement qualifies names where necessary */
	SPI_connect();
	nestlevel = compact_ddl_set_gucs();
	compact_ddl_set_deparse_gucs();
	views = compact_advise_dependent_views(advice, attnums.data, NULL);
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	foreach(lc, views)
	{
		/* the view is not locked, so it may have been dropped meanwhile */
		Oid			view = lfirst_oid(lc);
		char	   *name = get_rel_name(view);
		char	   *schema = name != NULL ? get_namespace_name(get_rel_namespace(view)) : NULL;

		if (schema != NULL)
			view_names = lappend(view_names, quote_qualified_identifier(schema, name));
	}
	set_text(values, nulls, TABLE_CREATE_STATEMENT, compact_advise_create_statement(advice));
	MemoryContextSwitchTo(oldcxt);
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	values[TABLE_RELATION] = ObjectIdGetDatum(RelationGetRelid(advice->rel));
	values[TABLE_COLUMNS] = name_array(names);
	values[TABLE_ROWS] = Int64GetDatum((int64) rows);
	values[TABLE_HEAP_PAGES] = Int64GetDatum((int64) advice->nblocks);
	values[TABLE_COLUMN_ORDER] = name_array(order);
	values[TABLE_DEPENDENT_VIEWS] = text_array(view_names);
	values[TABLE_BYTES_NOW] = Int64GetDatum(counts[0] * BLCKSZ);
	values[TABLE_BYTES_AFTER] = Int64GetDatum(counts[1] * BLCKSZ);
	set_text(values, nulls, TABLE_REASON, reason);
	set_text(values, nulls, TABLE_RISK, risk);
	values[TABLE_BLOCKERS] = text_array(blockers);
	set_text(values, nulls, TABLE_STATEMENT,
			 names != NIL ? compact_advise_convert_statement(advice, names, false) : NULL);
	set_text(values, nulls, TABLE_UNDO,
			 names != NIL ? compact_advise_revert_statement(advice, names) : NULL);
	tuplestore_putvalues(call->rsinfo->setResult, call->rsinfo->setDesc, values, nulls);
}

/* Make the advice on the table, and add its rows to the result. */
static void
advise_relation(AdviseCall *call, Oid relid)
{
	Advice	   *advice = compact_advise_make(relid, &call->options, call->funcid, AccessShareLock);
	ListCell   *lc;

	foreach(lc, call->columns)
		(void) compact_advise_find_column(advice, lfirst(lc));
	call->add_rows(call, advice);
	table_close(advice->rel, NoLock);
}

/*
 * All tables
 */

/* Return the OIDs of the tables that the caller may read, and that have the columns. */
static List *
readable_tables(const AdviseCall *call)
{
	MemoryContext cxt = CurrentMemoryContext;
	StringInfoData has_columns;
	List	   *result = NIL;
	ListCell   *lc;
	int			nestlevel;

	initStringInfo(&has_columns);
	foreach(lc, call->columns)
		appendStringInfo(&has_columns, " AND EXISTS (SELECT FROM pg_catalog.pg_attribute a"
						 " WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attname = %s)",
						 quote_literal_cstr(lfirst(lc)));

	SPI_connect();
	nestlevel = compact_ddl_set_gucs();
	compact_advise_query("SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
						 " WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND c.oid >= %u"
						 " AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e"
						 "  WHERE e.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND e.objid = c.oid AND e.deptype = 'e')"
						 " AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')"
						 " AND (pg_catalog.has_table_privilege(c.oid, 'SELECT') OR NOT EXISTS"
						 "  (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
						 "   AND NOT pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')))%s"
						 " ORDER BY n.nspname, c.relname",
						 FirstNormalObjectId, has_columns.data);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Oid			relid = atooid(compact_advise_result(i, 0));
		MemoryContext spicxt = MemoryContextSwitchTo(cxt);

		result = lappend_oid(result, relid);
		MemoryContextSwitchTo(spicxt);
	}
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	return result;
}

/* Return true if an error must end the call, because it is not about the table. */
static bool
concerns_call(const ErrorData *error)
{
	/* a cancel, statement_timeout or a shutdown */
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) ==
		ERRCODE_TO_CATEGORY(ERRCODE_QUERY_CANCELED);
}

/*
 * Add a row to the result for a table without advice.  A table that was dropped
 * a moment ago needs no row.
 */
static void
add_reason(AdviseCall *call, Oid relid, const char *reason)
{
	int			natts = call->rsinfo->setDesc->natts;
	Datum	   *values = palloc0(natts * sizeof(Datum));
	bool	   *nulls = palloc(natts * sizeof(bool));

	if (get_rel_name(relid) == NULL)
		return;
	memset(nulls, true, natts * sizeof(bool));
	values[0] = ObjectIdGetDatum(relid);
	nulls[0] = false;
	set_text(values, nulls, call->reason, reason);
	tuplestore_putvalues(call->rsinfo->setResult, call->rsinfo->setDesc, values, nulls);
}

/*
 * Make the advice on the table in a subtransaction, and roll it back.  If that
 * fails, add a row with the message to the result.
 */
static void
try_relation(AdviseCall *call, Oid relid)
{
	MemoryContext oldcxt = CurrentMemoryContext;
	ResourceOwner oldowner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;
	volatile bool locked = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(oldcxt);
	PG_TRY();
	{
		locked = ConditionalLockRelationOid(relid, AccessShareLock);
		/* for the locks on indexes and views of the table */
		(void) set_config_option("lock_timeout", "1s", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
		if (locked)
			advise_relation(call, relid);
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

	if (error && concerns_call(error))
		ReThrowError(error);
	if (error && error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
		add_reason(call, relid, "another session has locked an index or a view of the table");
	else if (error)
		add_reason(call, relid, error->message);
	else if (!locked)
		add_reason(call, relid, "another session has locked the table");
}

static void
advise_tables(AdviseCall *call)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "compact_types advice",
											  ALLOCSET_DEFAULT_SIZES);
	List	   *tables = readable_tables(call);
	MemoryContext oldcxt;
	ListCell   *lc;

	call->options.catalog = compact_advise_catalog_make();
	oldcxt = MemoryContextSwitchTo(cxt);
	foreach(lc, tables)
	{
		CHECK_FOR_INTERRUPTS();
		try_relation(call, lfirst_oid(lc));
		MemoryContextReset(cxt);
	}
	MemoryContextSwitchTo(oldcxt);
	MemoryContextDelete(cxt);
}

static void
advise_all(AdviseCall *call)
{
	bool		keeps_plans = compact_advise_keep_plans();

	PG_TRY();
	{
		advise_tables(call);
	}
	PG_FINALLY();
	{
		if (keeps_plans)
			compact_advise_forget_plans();
	}
	PG_END_TRY();
}

/*
 * SQL functions
 */

static void
run(FunctionCallInfo fcinfo, const char *function, AdviseCall *call)
{
	compact_advise_refuse_null(fcinfo, function, (1 << ARG_RELATION) | (1 << ARG_COLUMNS));
	call->named = !PG_ARGISNULL(ARG_COLUMNS);
	if (call->named)
		call->columns = compact_advise_column_names(PG_GETARG_ARRAYTYPE_P(ARG_COLUMNS));
	call->funcid = fcinfo->flinfo->fn_oid;
	call->options.narrow = PG_GETARG_BOOL(ARG_NARROW);
	call->options.narrow_keys = PG_GETARG_BOOL(ARG_NARROW_KEYS);
	call->options.fixed_varchar = PG_GETARG_BOOL(ARG_FIXED_VARCHAR);
	call->options.round_seconds = PG_GETARG_BOOL(ARG_ROUND_SECONDS);
	call->options.sample_pages = PG_GETARG_INT32(ARG_SAMPLE_PAGES);
	call->options.train = call->options.train_again = PG_NARGS() > ARG_TRAIN && PG_GETARG_BOOL(ARG_TRAIN);
	call->options.whole_views = true;
	call->options.only_named = (call->named && call->options.predict);
	call->options.columns = call->columns;
	if (call->options.sample_pages < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"sample_pages\" must not be negative, but is %d", call->options.sample_pages),
				 errhint("Use 0 to read all pages.")));
	InitMaterializedSRF(fcinfo, 0);
	call->rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	if (PG_ARGISNULL(ARG_RELATION))
		advise_all(call);
	else
		advise_relation(call, PG_GETARG_OID(ARG_RELATION));
}

/*
 * compact_types.advise(relation regclass, columns name[], narrow bool,
 * narrow_keys bool, fixed_varchar bool, round_seconds bool, sample_pages int4,
 * train bool) returns setof record
 *
 * Return one row for each column: its present type and size, the proposed type
 * and the size with that type, the reason, the risk, the blockers, and the
 * statements that convert the column and revert it.  NULL in relation stands
 * for all tables that the caller may read, NULL in columns for all columns.
 * With train, train a dictionary on each column of strings, and propose it if
 * it saves more bytes than it takes; create nothing.
 * Errors: 22023 if sample_pages is negative.  If relation is not NULL: 42809 if
 * the relation is not a plain table, 42501 if the caller may not read all of its
 * rows, 42703 if it has no column of a given name.
 */
PG_FUNCTION_INFO_V1(compact_types_advise);
Datum
compact_types_advise(PG_FUNCTION_ARGS)
{
	AdviseCall	call = {.add_rows = add_columns,.reason = ADVISE_REASON};

	run(fcinfo, "compact_types.advise()", &call);

	return (Datum) 0;
}

/*
 * compact_types.advise_table(relation regclass, columns name[], ...) returns
 * setof record
 *
 * Return one row for each table as a whole.  The function has the arguments
 * and errors of advise().  If columns is not NULL, predict the table with these
 * columns converted, and no others.
 */
PG_FUNCTION_INFO_V1(compact_types_advise_table);
Datum
compact_types_advise_table(PG_FUNCTION_ARGS)
{
	AdviseCall	call = {.options.predict = true,.add_rows = add_table,.reason = TABLE_REASON};

	run(fcinfo, "compact_types.advise_table()", &call);

	return (Datum) 0;
}
