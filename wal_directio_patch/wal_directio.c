/*-------------------------------------------------------------------------
 *
 * wal_directio.c
 *	  How the server writes WAL: with direct I/O or not, and how much.
 *
 * The server patch keeps it in shared memory, but for what pg_stat_io has: from 18 on,
 * that is how much has been written.  The view over both comes in an extension, because
 * a view of core's own would change the catalogs, and then a data directory could not
 * go back and forth between a patched and a stock server.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  wal_directio_patch/wal_directio.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlogdirect.h"
#include "common/string.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(pg_stat_get_wal_direct);

/*
 * Columns of the function.  17 has six counters more; pg_upgrade brings its
 * definition to 18, where they are null.
 */
#define WAL_DIRECT_COLS		8
#define WAL_DIRECT_COLS_17	14

#if PG_VERSION_NUM < 180000
/* A byte count as pg_stat_wal shows it: int8 ends at half of what uint64 holds. */
static Datum
wd_bytes(uint64 bytes)
{
	char		buf[32];

	snprintf(buf, sizeof(buf), UINT64_FORMAT, bytes);

	return DirectFunctionCall3(numeric_in, CStringGetDatum(buf),
							   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}
#endif

/*
 * A string of the server, NULL if it is empty.  The message of a system call in
 * it is in the encoding of lc_messages, which need not be the database's.
 */
static Datum
wd_text(const char *string, bool *isnull)
{
	*isnull = string[0] == '\0';
	if (*isnull)
		return (Datum) 0;
	if (!pg_verifymbstr(string, strlen(string), true))
		string = pg_clean_ascii(string, 0);

	return CStringGetTextDatum(string);
}

/*
 * pg_stat_get_wal_direct() returns record
 *
 * What the view pg_stat_wal_direct has from shared memory.  Anybody may call it;
 * the counters start at zero whenever the server does.
 */
Datum
pg_stat_get_wal_direct(PG_FUNCTION_ARGS)
{
	TupleDesc	tupdesc;
	Datum		values[WAL_DIRECT_COLS_17] = {0};
	bool		nulls[WAL_DIRECT_COLS_17] = {0};
	XLogDirectStats stats;
	int			i = 0;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE ||
		(tupdesc->natts != WAL_DIRECT_COLS && tupdesc->natts != WAL_DIRECT_COLS_17))
		elog(ERROR, "return type must be a row type of %d or %d columns",
			 WAL_DIRECT_COLS, WAL_DIRECT_COLS_17);

	GetXLogDirectStats(&stats);

	values[i++] = CStringGetTextDatum(stats.direct ? "direct" : "buffered");
	values[i] = wd_text(stats.reason, &nulls[i]);
	i++;
	values[i] = wd_text(stats.filesystem, &nulls[i]);
	i++;
	values[i++] = Int32GetDatum(stats.unit);
	nulls[i] = stats.min_unit == 0;
	values[i++] = Int32GetDatum(stats.min_unit);
	values[i++] = BoolGetDatum(stats.relief);
	if (tupdesc->natts == WAL_DIRECT_COLS_17)
	{
#if PG_VERSION_NUM < 180000
		values[i++] = Int64GetDatum((int64) stats.direct_writes);
		values[i++] = wd_bytes(stats.direct_bytes);
		values[i++] = Int64GetDatum((int64) stats.buffered_writes);
		values[i++] = wd_bytes(stats.buffered_bytes);
		values[i++] = Int64GetDatum((int64) stats.direct_inits);
		values[i++] = Int64GetDatum((int64) stats.buffered_inits);
#else
		while (i < WAL_DIRECT_COLS_17 - 2)
			nulls[i++] = true;
#endif
	}
	values[i++] = Int64GetDatum((int64) stats.relieved_segments);
	values[i++] = TimestampTzGetDatum(stats.stats_since);
	Assert(i == tupdesc->natts);

	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls)));
}
