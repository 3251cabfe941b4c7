/*-------------------------------------------------------------------------
 *
 * bgvacuum.c
 *	  What background vacuum has done.
 *
 * The server patch counts in shared memory.  The view over the counters comes in an
 * extension, because a view of core's own would change the catalogs, and then
 * a data directory could not go back and forth between a patched and a stock server.
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
PG_FUNCTION_INFO_V1(pg_stat_reset_bgvacuum);

#define BGVACUUM_COLS	16

/*
 * pg_stat_get_bgvacuum() returns record
 *
 * The one row of the view pg_stat_bgvacuum.  Anybody may call it.  It reports what
 * the counters are at the moment of the call, also within a transaction.
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
	/* numeric as in pg_stat_wal: int8 ends at half of what uint64 holds */
	values[i++] = DirectFunctionCall3(numeric_in,
									  CStringGetDatum(psprintf(UINT64_FORMAT, stats.bytes_freed)),
									  ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	values[i++] = Int64GetDatum((int64) stats.pages_published);
	values[i++] = Int64GetDatum((int64) stats.pages_reused);
	values[i++] = Int64GetDatum((int64) stats.pages_lost);
	values[i++] = Int64GetDatum((int64) stats.skipped_unstamped);
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
 * pg_stat_reset_bgvacuum() returns void
 *
 * Sets the counters to zero.  Who may call it is a matter of privileges: the
 * extension's script takes it away from public.
 */
Datum
pg_stat_reset_bgvacuum(PG_FUNCTION_ARGS)
{
	ResetBgVacuumStats();

	PG_RETURN_VOID();
}
