/*-------------------------------------------------------------------------
 *
 * bgvacuum.c
 *	  Report the work of background vacuum.
 *
 * The server patch counts in shared memory.  The views that show the counters
 * are in an extension, because views of core's own would change the catalogs.
 * With changed catalogs, a data directory could not be moved back and forth
 * between a patched and a stock server.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  bgvacuum_patch/bgvacuum.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "storage/bgvacuum.h"
#include "utils/builtins.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(pg_stat_get_bgvacuum);
PG_FUNCTION_INFO_V1(pg_stat_get_bgvacuum_tables);
PG_FUNCTION_INFO_V1(pg_stat_reset_bgvacuum);

#define BGVACUUM_COLS	19
#define BGVACUUM_TABLES_COLS	20

/*
 * Return a number of bytes as numeric, as in pg_stat_wal; int8 holds only half
 * the range of uint64.
 */
static Datum
bytes_get_datum(uint64 bytes)
{
	return DirectFunctionCall3(numeric_in,
							   CStringGetDatum(psprintf(UINT64_FORMAT, bytes)),
							   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

/*
 * pg_stat_get_bgvacuum() returns record
 *
 * Return the one row of the view pg_stat_bgvacuum.  Anybody may call this
 * function.  The function reports the counters at the moment of the call, so
 * two calls in one transaction can differ.
 */
Datum
pg_stat_get_bgvacuum(PG_FUNCTION_ARGS)
{
	TupleDesc	tupdesc;
	Datum		values[BGVACUUM_COLS] = {0};
	bool		nulls[BGVACUUM_COLS] = {0};
	BgVacuumStats stats;
	int			i = 0;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE ||
		tupdesc->natts != BGVACUUM_COLS)
		elog(ERROR, "return type must be a row type of %d columns", BGVACUUM_COLS);

	GetBgVacuumStats(&stats);

	values[i++] = Int64GetDatum((int64) stats.rounds);
	values[i++] = Int64GetDatum((int64) stats.candidates);
	values[i++] = Int64GetDatum((int64) stats.pages_pruned);
	values[i++] = Int64GetDatum((int64) stats.tuples_removed);
	values[i++] = Int64GetDatum((int64) stats.items_dead);
	values[i++] = bytes_get_datum(stats.bytes_freed);
	values[i++] = Int64GetDatum((int64) stats.pages_visible);
	values[i++] = Int64GetDatum((int64) stats.pages_frozen);
	values[i++] = Int64GetDatum((int64) stats.pages_published);
	values[i++] = Int64GetDatum((int64) stats.pages_reused);
	values[i++] = Int64GetDatum((int64) stats.pages_lost);
	values[i++] = Int64GetDatum((int64) stats.skipped_unstamped);
	values[i++] = Int64GetDatum((int64) stats.skipped_little);
	values[i++] = Int64GetDatum((int64) stats.skipped_clean);
	values[i++] = Int64GetDatum((int64) stats.skipped_recent);
	values[i++] = Int64GetDatum((int64) stats.skipped_locked);
	values[i++] = Int64GetDatum((int64) stats.skipped_image);
	values[i++] = Int64GetDatum((int64) stats.skipped_multixact);
	values[i++] = TimestampTzGetDatum(stats.stats_reset);
	Assert(i == BGVACUUM_COLS);

	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls)));
}

/*
 * pg_stat_get_bgvacuum_tables() returns setof record
 *
 * Return one row for each table, of any database, whose pages the background
 * writer may change at the moment.  The row has the counters of the work done
 * on this table, and the moving averages by which the background writer
 * decides which work pays.
 */
Datum
pg_stat_get_bgvacuum_tables(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	BgVacuumTableStats stats;
	int			slot = 0;

	InitMaterializedSRF(fcinfo, 0);
	if (rsinfo->setDesc->natts != BGVACUUM_TABLES_COLS)
		elog(ERROR, "return type must be a row type of %d columns", BGVACUUM_TABLES_COLS);

	while ((slot = GetBgVacuumTableStats(slot, &stats)) != 0)
	{
		Datum		values[BGVACUUM_TABLES_COLS] = {0};
		bool		nulls[BGVACUUM_TABLES_COLS] = {0};
		int			i = 0;

		values[i++] = ObjectIdGetDatum(stats.dboid);
		values[i++] = ObjectIdGetDatum(stats.relid);
		values[i++] = Int64GetDatum((int64) stats.stamps);
		values[i++] = Int64GetDatum((int64) stats.pages_pruned);
		values[i++] = bytes_get_datum(stats.bytes_freed);
		values[i++] = Int64GetDatum((int64) stats.pages_visible);
		values[i++] = Int64GetDatum((int64) stats.pages_frozen);
		values[i++] = Int64GetDatum((int64) stats.pages_published);
		values[i++] = Int64GetDatum((int64) stats.pages_reused);
		values[i++] = Float4GetDatum(stats.prune_yield);
		values[i++] = Float4GetDatum(stats.settled_share);
		values[i++] = Float4GetDatum(stats.visible_loss);
		values[i++] = Float4GetDatum(stats.mark_share);
		values[i++] = Float4GetDatum(stats.delete_share);
		values[i++] = Float4GetDatum(stats.reuse_share);
		values[i++] = Float4GetDatum(stats.worth_share);
		values[i++] = BoolGetDatum(stats.pruning);
		values[i++] = BoolGetDatum(stats.marking);
		values[i++] = BoolGetDatum(stats.publishing);
		values[i++] = BoolGetDatum(stats.stamping);
		Assert(i == BGVACUUM_TABLES_COLS);

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}

	return (Datum) 0;
}

/*
 * pg_stat_reset_bgvacuum() returns void
 *
 * Set the counters to zero.  Privileges decide who may call this function: the
 * extension's script revokes it from public.
 */
Datum
pg_stat_reset_bgvacuum(PG_FUNCTION_ARGS)
{
	ResetBgVacuumStats();

	PG_RETURN_VOID();
}
