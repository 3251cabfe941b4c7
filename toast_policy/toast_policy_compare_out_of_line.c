/*-------------------------------------------------------------------------
 *
 * toast_policy_compare_out_of_line.c
 *	  Predict the size of a table whose values go out of line:
 *	  toast_policy.compare_out_of_line().
 *
 * Read random pages, and put each of their rows into several simulated tables:
 * one that has the row as it is, and one for each limit, which has the row as
 * recompress() would store it after enable_out_of_line() with this limit.  Then
 * scale the sizes to the whole table.
 *
 * Nothing here writes, calls users' functions, or uses the search path.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_compare_out_of_line.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "toast_policy_compare.h"
#include "toast_policy_compat.h"

PG_FUNCTION_INFO_V1(tp_compare_out_of_line);

/*
 * Limits to compare, in bytes.  128 is the least that the server accepts.  A
 * value out of line costs about 78 bytes beside its own: the pointer, the
 * chunk's header and line pointer, and an index entry.  160 is twice that, so
 * that no value becomes more than half as large again.
 */
static const int tp_limits[] = {128, 160, 256, 512, 1024};

/* A simulated table */
typedef struct TpPrediction
{
	int			min_bytes;		/* 0 if rows stay as they are */
	TpStrategy	strategy;		/* only its spaces are used */
	double		row_bytes;		/* of all rows, with line pointers */
	double	   *values;			/* out of line, of each named column */
	double	   *saved;			/* bytes that each named column takes less in
								 * the rows */
} TpPrediction;

typedef struct TpPredictions
{
	TpComparison *tables;
	int			ncolumns;		/* named ones */
	AttrNumber **attnums;		/* of each source: numbers of these columns */
	bool	  **governed;		/* of each source, for each attribute */
	int			npredictions;
	TpPrediction *predictions;
	double		rows;
	MemoryContext context;		/* for one row */
} TpPredictions;

/* Return the bytes that a value takes in its row. */
static int
tp_bytes_in_row(Datum value)
{
	const struct varlena *varlena = (const struct varlena *) DatumGetPointer(value);

	return VARATT_IS_EXTERNAL(varlena) ? (int) TOAST_POINTER_SIZE : (int) VARSIZE_ANY(varlena);
}

/* Put a row of the sample into the simulated tables. */
static bool
tp_predict_row(void *arg, int source, TupleTableSlot *slot)
{
	TpPredictions *all = arg;
	Relation	rel = all->tables->sources[source].rel;
	MemoryContext caller = MemoryContextSwitchTo(all->context);
	TpSampleRow row;

	tp_row_read(&row, rel, -1, slot);
	for (int i = 0; i < all->npredictions; i++)
	{
		TpPrediction *prediction = &all->predictions[i];
		TpStrategy *strategy = &prediction->strategy;
		Size		size;

		strategy->heap.reserve = RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR);
		if (prediction->min_bytes == 0)
			size = tp_store_as_is(slot, &strategy->heap, &strategy->toast);
		else
			size = tp_row_store_out_of_line(&row, all->governed[source],
											prediction->min_bytes, strategy);
		prediction->row_bytes += MAXALIGN(size) + sizeof(ItemIdData);
		for (int j = 0; j < all->ncolumns; j++)
		{
			int			index = all->attnums[source][j] - 1;
			int			before;

			if (slot->tts_isnull[index])
				continue;
			before = tp_bytes_in_row(slot->tts_values[index]);
			if (prediction->min_bytes == 0)
				prediction->values[j] +=
					VARATT_IS_EXTERNAL(DatumGetPointer(slot->tts_values[index]));
			else
			{
				prediction->values[j] += row.columns[index].is_external;
				prediction->saved[j] += before - row.columns[index].size;
			}
		}
	}
	all->rows += 1;
	MemoryContextSwitchTo(caller);
	MemoryContextReset(all->context);

	return true;
}

/*
 * Find the named columns in each table with rows, and the columns that the
 * policy would govern there.
 */
static void
tp_find_columns(TpPredictions *all, const Datum *names)
{
	TpComparison *tables = all->tables;

	all->attnums = palloc(Max(tables->nsources, 1) * sizeof(AttrNumber *));
	all->governed = palloc(Max(tables->nsources, 1) * sizeof(bool *));
	for (int i = 0; i < tables->nsources; i++)
	{
		Relation	rel = tables->sources[i].rel;
		int			natts = RelationGetNumberOfAttributes(rel);

		all->attnums[i] = palloc(Max(all->ncolumns, 1) * sizeof(AttrNumber));
		all->governed[i] = palloc(natts * sizeof(bool));
		for (int j = 0; j < natts; j++)
			all->governed[i][j] = tp_column_is_governed(TupleDescAttr(RelationGetDescr(rel), j));
		for (int j = 0; j < all->ncolumns; j++)
		{
			all->attnums[i][j] = tp_check_column(rel, NameStr(*DatumGetName(names[j])));
			all->governed[i][all->attnums[i][j] - 1] = true;
		}
	}
}

/* Return the partitions that were locked for the sample. */
static List *
tp_source_relids(const TpPredictions *all)
{
	const TpComparison *tables = all->tables;
	List	   *result = NIL;

	for (int i = 0; i < tables->nsources; i++)
		if (tables->sources[i].rel != tables->rel)
			result = lappend_oid(result, RelationGetRelid(tables->sources[i].rel));

	return result;
}

/*
 * Make an empty simulated table for the rows as they are, and one for each
 * limit.  If the table has a limit already, only this limit counts, because all
 * columns of a table share it.
 */
static void
tp_make_predictions(TpPredictions *all)
{
	TpComparison *tables = all->tables;
	Oid			own = tp_access_method_oid(false);
	int			present = 0;

	for (int i = 0; i < tables->nsources && present == 0; i++)
		if (tables->sources[i].rel->rd_rel->relam == own)
			present = tp_get_low_target(RelationGetRelid(tables->sources[i].rel));
	all->npredictions = 1 + (present > 0 ? 1 : (int) lengthof(tp_limits));
	all->predictions = palloc0(all->npredictions * sizeof(TpPrediction));
	for (int i = 0; i < all->npredictions; i++)
	{
		TpPrediction *prediction = &all->predictions[i];

		if (i > 0)
			prediction->min_bytes = present > 0 ? present : tp_limits[i - 1];
		prediction->values = palloc0(Max(all->ncolumns, 1) * sizeof(double));
		prediction->saved = palloc0(Max(all->ncolumns, 1) * sizeof(double));
	}
}

/* Return an array of numbers that are scaled to the whole table. */
static Datum
tp_scaled_array(const double *numbers, int count, double scale)
{
	Datum	   *elements = palloc(Max(count, 1) * sizeof(Datum));

	for (int i = 0; i < count; i++)
		elements[i] = Int64GetDatum((int64) rint(numbers[i] * scale));

	return PointerGetDatum(construct_array(elements, count, INT8OID, sizeof(int64),
										   FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* Add the row of a simulated table to the result. */
static void
tp_put_prediction(ReturnSetInfo *rsinfo, const TpPredictions *all,
				  const TpPrediction *prediction, double scale)
{
	const TpStrategy *strategy = &prediction->strategy;
	Datum		values[7];
	bool		nulls[7] = {0};
	double		toast = ceil(tp_space_new_pages(&strategy->toast, scale));

	values[0] = Int32GetDatum(prediction->min_bytes);
	nulls[0] = prediction->min_bytes == 0;
	values[1] = tp_scaled_array(prediction->values, all->ncolumns, scale);
	values[2] = tp_scaled_array(prediction->saved, all->ncolumns, scale);
	values[3] = Int64GetDatum((int64) rint(all->rows * scale));
	values[4] = Float8GetDatum(all->rows > 0 ? prediction->row_bytes / all->rows : 0);
	nulls[4] = all->rows == 0;
	values[5] = Int64GetDatum((int64) ceil(tp_space_new_pages(&strategy->heap, scale)) * BLCKSZ);
	if (prediction->min_bytes > 0 || all->tables->has_toast)
		toast += tp_toast_index_pages(strategy->toast.chunks * scale);
	values[6] = Int64GetDatum((int64) toast * BLCKSZ);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Check that the caller may read all of the named columns' values. */
static void
tp_check_columns(Oid relid, const Datum *names, int count)
{
	for (int i = 0; i < count; i++)
		tp_check_privileges(relid, NameStr(*DatumGetName(names[i])));
}

/*
 * toast_policy.compare_out_of_line(relation regclass, columns name[],
 *	   sample_pages int4) returns setof record
 *
 * Return what a table would take after enable_out_of_line() for the columns, and
 * recompress(): a row for each of several values of min_bytes.  The first row,
 * with a NULL there, is about the present rows without free space.  A row has,
 * for each column, the number of values out of line, and the bytes that the
 * column takes less in the rows than now.  It has the number of rows, the
 * average bytes of a row in the table, and the bytes of the table, and of its
 * TOAST table with the index.  All are estimates from up to sample_pages pages.
 * If the table has a limit already, only that one has a row.
 *
 * Errors: 42809 if the relation is not a table or materialized view; 42703 if a
 * column does not exist, 0A000 if it cannot be toasted; 22023 if no column is
 * named, or for a sample_pages out of range; 42501 if the caller may not read
 * all the columns' values.
 */
Datum
tp_compare_out_of_line(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			relid = PG_GETARG_OID(0);
	int			sample_pages = PG_GETARG_INT32(2);
	TpPredictions all = {0};
	List	   *relids;
	ListCell   *cell;
	Datum	   *names;
	Relation	rel;
	double		read;
	double		scale;

	tp_check_sample("sample_pages", sample_pages);
	names = tp_get_names(PG_GETARG_ARRAYTYPE_P(1), &all.ncolumns);
	if (all.ncolumns == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no column was named"),
				 errhint("Name the columns whose values shall go out of line.")));
	tp_check_columns(relid, names, all.ncolumns);
	rel = try_relation_open(relid, AccessShareLock);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	tp_check_kind(rel);
	for (int i = 0; i < all.ncolumns; i++)
		(void) tp_check_column(rel, NameStr(*DatumGetName(names[i])));
	/* the privileges may have changed while we waited for the lock */
	tp_check_columns(relid, names, all.ncolumns);

	InitMaterializedSRF(fcinfo, 0);
	all.tables = palloc0(sizeof(TpComparison));
	all.tables->rel = rel;
	tp_open_sources(all.tables);
	tp_find_columns(&all, names);
	tp_make_predictions(&all);
	all.context = AllocSetContextCreate(CurrentMemoryContext, "toast_policy prediction",
										ALLOCSET_DEFAULT_SIZES);
	read = tp_read_sample(all.tables->sources, all.tables->nsources, sample_pages,
						  tp_predict_row, &all);
	MemoryContextDelete(all.context);
	scale = read > 0 ? all.tables->blocks / read : 0;
	for (int i = 0; i < all.npredictions; i++)
		tp_put_prediction(rsinfo, &all, &all.predictions[i], scale);

	/*
	 * Release the locks, unlike compare(): vertical_partition.advise() calls
	 * this for many tables in one transaction.
	 */
	relids = tp_source_relids(&all);
	tp_end_measure(all.tables);
	foreach(cell, relids)
		UnlockRelationOid(lfirst_oid(cell), AccessShareLock);
	relation_close(rel, AccessShareLock);

	PG_RETURN_NULL();
}
