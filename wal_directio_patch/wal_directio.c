/*-------------------------------------------------------------------------
 *
 * wal_directio.c
 *	  Report statistics of WAL that is written with direct I/O.
 *
 * The server patch keeps this information in shared memory, except for the
 * amount of WAL written, which pg_stat_io has from 18 on.  The view that
 * combines both is in an extension, because a view of core's own would change
 * the catalogs.  With changed catalogs, a data directory could not be moved
 * back and forth between a patched and a stock server.
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
 * Number of columns of the function.  In 17, the function has six more
 * counters.  After pg_upgrade from 17 to 18, the function still has its
 * definition of 17, and these counters are null.
 */
#define WAL_DIRECT_COLS		8
#define WAL_DIRECT_COLS_17	14

#if PG_VERSION_NUM < 180000
/*
 * Return a number of bytes as numeric, as in pg_stat_wal; int8 holds only half
 * the range of uint64.
 */
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
 * Return a string of the server, or NULL if it is empty.  The string can
 * contain the message of a system call, in the encoding of lc_messages,
 * which may differ from the encoding of the database.
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
 * Return the columns of the view pg_stat_wal_direct that come from shared
 * memory.  Anybody may call this function.  The counters start at zero when
 * the server starts.
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
