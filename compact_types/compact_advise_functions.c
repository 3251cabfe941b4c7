/*-------------------------------------------------------------------------
 *
 * compact_advise_functions.c
 *	  The SQL functions advise() and advise_table().
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

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "compact_advise.h"
#include "compact_ddl.h"

static void
options_from_args(FunctionCallInfo fcinfo, AdviseOptions *options)
{
	for (int i = 0; i < 6; i++)
	{
		if (PG_ARGISNULL(i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("the arguments of the advice must not be null")));
	}
	options->narrow = PG_GETARG_BOOL(1);
	options->narrow_keys = PG_GETARG_BOOL(2);
	options->fixed_varchar = PG_GETARG_BOOL(3);
	options->sample_pages = PG_GETARG_INT32(4);
	options->round_seconds = PG_GETARG_BOOL(5);
	options->predict = false;
}

/* Return the name of the type, for display to the caller. */
static char *
displayed_type(const AdviseType *type)
{
	if (OidIsValid(type->typid))
		return format_type_with_typemod(type->typid, type->typmod);

	return type->name;
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

/*
 * compact_types.advise(rel regclass, narrow bool, narrow_keys bool,
 * fixed_varchar bool, sample_pages int4, round_seconds bool) returns setof record
 *
 * Return one row for each column: its present type and average size, the
 * proposed type and the average size with that type, the reason, the risk, and
 * the blockers.  Errors: 42809 if the relation is not a plain table, 42501 if
 * the caller may not read all of its rows.
 */
PG_FUNCTION_INFO_V1(compact_types_advise);
Datum
compact_types_advise(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	AdviseOptions options;
	Advice	   *advice;

	options_from_args(fcinfo, &options);
	advice = compact_advise_make(PG_GETARG_OID(0), &options, fcinfo->flinfo->fn_oid,
								 AccessShareLock);
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];
		Form_pg_attribute att = column->att;
		bool		proposed = (column->kind != ADVISE_KEEP);
		Datum		values[9];
		bool		nulls[9] = {0};
		double		now = column->nvalues > 0 ? (double) column->bytes_now / column->nvalues : 0;

		values[0] = Int16GetDatum(att->attnum);
		values[1] = NameGetDatum(&att->attname);
		values[2] = CStringGetTextDatum(format_type_with_typemod(att->atttypid, att->atttypmod));
		values[3] = proposed ? CStringGetTextDatum(displayed_type(&column->type)) : (Datum) 0;
		nulls[3] = !proposed;
		values[4] = Float8GetDatum(now);
		values[5] = Float8GetDatum(proposed && column->nafter > 0 ?
								   (double) column->bytes_after / column->nafter : now);
		nulls[4] = nulls[5] = (column->nvalues == 0);
		values[6] = CStringGetTextDatum(column->native_type ?
										psprintf("%s; otherwise: %s", column->native_type, column->reason) :
										column->reason);
		values[7] = column->risk ? CStringGetTextDatum(column->risk) : (Datum) 0;
		nulls[7] = (column->risk == NULL);
		values[8] = text_array(proposed ? list_concat_copy(column->blockers, advice->blockers) :
							   column->blockers);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	table_close(advice->rel, NoLock);

	return (Datum) 0;
}

/*
 * compact_types.advise_table(rel regclass, ...) returns record
 *
 * Return one row for the table as a whole.  The function has the arguments and
 * errors of advise().
 */
PG_FUNCTION_INFO_V1(compact_types_advise_table);
Datum
compact_types_advise_table(PG_FUNCTION_ARGS)
{
	AdviseOptions options;
	Advice	   *advice;
	TupleDesc	desc;
	Datum		values[12];
	bool		nulls[12] = {0};
	double		scale;
	double		rows;
	AdvisePages *pages[3];
	List	   *order = NIL;
	List	   *view_names = NIL;
	StringInfoData attnums;
	char	   *statement;
	ListCell   *lc;
	int			nestlevel;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	options_from_args(fcinfo, &options);
	options.predict = true;
	advice = compact_advise_make(PG_GETARG_OID(0), &options, fcinfo->flinfo->fn_oid,
								 AccessShareLock);

	pages[0] = &advice->now;
	pages[1] = &advice->after;
	pages[2] = &advice->best;
	scale = advice->sampled_blocks > 0 ? (double) advice->nblocks / advice->sampled_blocks : 1.0;
	rows = rint(advice->sampled_rows * scale);
	values[0] = Int64GetDatum((int64) rows);
	values[4] = Int64GetDatum((int64) advice->nblocks);
	for (int i = 0; i < 3; i++)
	{
		double		count = pages[i]->pages;

		/* in a sample, count only the used part of the last page */
		if (scale > 1.0)
			count = ceil((count - (double) pages[i]->free / BLCKSZ) * scale);
		values[1 + i] = Float8GetDatum(rows > 0 ? count * BLCKSZ / rows : 0);
		nulls[1 + i] = (rows == 0);
		values[5 + i] = Int64GetDatum((int64) count);
	}

	/* with this search_path, the statements qualify names where necessary */
	SPI_connect();
	nestlevel = compact_ddl_set_gucs();
	compact_ddl_set_deparse_gucs();
	initStringInfo(&attnums);
	appendStringInfoString(&attnums, "0");
	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];

		if (compact_advise_converts(advice, column))
			appendStringInfo(&attnums, ", %d", column->att->attnum);
	}
	foreach(lc, compact_advise_dependent_views(advice, attnums.data, NULL))
	{
		Oid			view = lfirst_oid(lc);
		MemoryContext oldcxt = MemoryContextSwitchTo(advice->cxt);

		view_names = lappend(view_names,
							 quote_qualified_identifier(get_namespace_name(get_rel_namespace(view)),
														get_rel_name(view)));
		MemoryContextSwitchTo(oldcxt);
	}
	{
		MemoryContext oldcxt = MemoryContextSwitchTo(advice->cxt);

		statement = compact_advise_alter_statement(advice);
		values[10] = statement ? CStringGetTextDatum(statement) : (Datum) 0;
		nulls[10] = (statement == NULL);
		values[11] = CStringGetTextDatum(compact_advise_create_statement(advice));
		MemoryContextSwitchTo(oldcxt);
	}
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	for (int i = 0; i < advice->ncolumns; i++)
		order = lappend(order, NameStr(advice->columns[advice->order[i]].att->attname));
	values[8] = text_array(order);
	values[9] = text_array(view_names);
	table_close(advice->rel, NoLock);

	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
