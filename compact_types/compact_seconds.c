/*-------------------------------------------------------------------------
 *
 * compact_seconds.c
 *	  Timestamps of full seconds in four bytes: seconds4 and seconds4tz.
 *
 * A value is the unsigned number of seconds since 1970-01-01 00:00:00 (in UTC,
 * for seconds4tz), up to 2106-02-07 06:28:15.  A value of seconds4 means the
 * same as the equal timestamp(0), a value of seconds4tz the same as the equal
 * timestamptz(0).  Neither type has infinite values.
 *
 * Only the comparison of a type with itself is implemented here.  For all
 * other operations, the value is converted from or to a timestamp, so that
 * DateStyle, TimeZone and every notation work as for timestamps.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_seconds.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/sortsupport.h"
#include "utils/timestamp.h"

#include "compact_scalar.h"
#include "compact_types_compat.h"

/* the datum is sign-extended, as fetch_att() makes it from the row */
#define SECONDS_VALUE(datum)	((uint32) DatumGetInt32(datum))
#define SECONDS_DATUM(value)	Int32GetDatum((int32) (value))

#define SECONDS_TYPE(type)		(&compact_seconds[SECONDS_##type])

/* Return the value as a timestamp, with or without time zone. */
static inline Timestamp
seconds_timestamp(Datum datum)
{
	return ((int64) SECONDS_VALUE(datum) - SECONDS_EPOCH_DIFFERENCE) * USECS_PER_SEC;
}

static inline bool
has_fraction(Timestamp timestamp)
{
	return timestamp % USECS_PER_SEC != 0 && !TIMESTAMP_NOT_FINITE(timestamp);
}

/*
 * Round a timestamp to the second as timestamp(0) does: round half a second
 * away from 2000-01-01.  Errors go to escontext.
 */
static Datum
make_seconds(Timestamp timestamp, const CompactSeconds *type, struct Node *escontext)
{
	int64		seconds;

	if (TIMESTAMP_NOT_FINITE(timestamp))
		ereturn(escontext, (Datum) 0,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("type %s has no infinite values", type->name),
				 compact_range_hint(type->wide)));

	if (timestamp >= 0)
		seconds = (timestamp + USECS_PER_SEC / 2) / USECS_PER_SEC;
	else
		seconds = -((-timestamp + USECS_PER_SEC / 2) / USECS_PER_SEC);
	seconds += SECONDS_EPOCH_DIFFERENCE;

	if (!compact_seconds_in_range(seconds))
	{
		PGFunction	output = type->zone ? timestamptz_out : timestamp_out;

		ereturn(escontext, (Datum) 0,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("value %s is out of range for type %s",
						DatumGetCString(DirectFunctionCall1(output, TimestampGetDatum(timestamp))),
						type->name),
				 errdetail("The type holds values from 1970-01-01 00:00:00 to 2106-02-07 06:28:15%s.",
						   type->zone ? " UTC" : ""),
				 compact_range_hint(type->wide)));
	}

	return SECONDS_DATUM(seconds);
}

/*
 * Round a timestamp for a cast to the type.  Raise an error if the timestamp
 * has a fraction of a second and is an argument of EXECUTE that the statement
 * compares.
 */
static Datum
timestamp_cast(FunctionCallInfo fcinfo, Timestamp timestamp, const CompactSeconds *type,
			   PGFunction output)
{
	if (has_fraction(timestamp) && compact_cast_is_compared(fcinfo))
		compact_check_inexact(VALUE_ARGUMENT, ERRCODE_DATETIME_VALUE_OUT_OF_RANGE,
							  DatumGetCString(DirectFunctionCall1(output,
																  TimestampGetDatum(timestamp))),
							  type->name, type->wide);

	return make_seconds(timestamp, type, NULL);
}

/*
 * Return the timestamp as a JSON string, always in ISO 8601 format.  typid
 * tells whether it has a time zone.
 */
static Datum
seconds_json(Datum datum, Oid typid)
{
	char		buf[MAXDATELEN + 3];
	int			len;

	buf[0] = '"';
	JsonEncodeDateTime(buf + 1, TimestampGetDatum(seconds_timestamp(datum)),
					   typid, NULL);
	len = strlen(buf);
	buf[len++] = '"';

	return PointerGetDatum(cstring_to_text_with_len(buf, len));
}

/*
 * For each type T and its wide twin W, timestamp or timestamptz:
 *	compact_T_in(cstring) returns T; errors: those of W's input, 22008
 *	compact_T_out(T) returns cstring
 *	compact_T_recv(internal) returns T: W's format; errors 22008
 *	compact_T_send(T) returns bytea
 *	compact_T_in_range(T, T, interval, bool, bool) returns bool
 *	compact_T_sortsupport(internal) returns void
 *	compact_T_hash(T) returns int4, compact_T_hash_extended(T, int8) returns
 *		int8: the hash of the equal W
 *	compact_T_larger(T, T), compact_T_smaller(T, T) return T
 *	compact_cast_T_W(T) returns W
 *	compact_cast_S_T(S) returns T for the types that W has casts from; error
 *		22008 for a value out of range
 *	compact_cast_T_S(T) returns S for the types that W has casts to
 *	compact_cast_T_json(T) returns json
 */
#define SECONDS_FUNCTIONS(type, wide, wide_oid, ...) \
	PG_FUNCTION_INFO_V1(compact_##type##_in); \
	Datum \
	compact_##type##_in(PG_FUNCTION_ARGS) \
	{ \
		Datum		result; \
		if (!compat_input_function_call(wide##_in, PG_GETARG_CSTRING(0), \
										fcinfo->context, &result)) \
			PG_RETURN_NULL(); \
		if (has_fraction(DatumGetTimestamp(result))) \
			compact_check_inexact(compact_value_use(fcinfo), ERRCODE_DATETIME_VALUE_OUT_OF_RANGE, \
								  PG_GETARG_CSTRING(0), #type, #wide); \
		return make_seconds(DatumGetTimestamp(result), SECONDS_TYPE(type), fcinfo->context); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_out); \
	Datum \
	compact_##type##_out(PG_FUNCTION_ARGS) \
	{ \
		return DirectFunctionCall1(wide##_out, \
								   TimestampGetDatum(seconds_timestamp(PG_GETARG_DATUM(0)))); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_recv); \
	Datum \
	compact_##type##_recv(PG_FUNCTION_ARGS) \
	{ \
		Datum		result = DirectFunctionCall3(wide##_recv, PG_GETARG_DATUM(0), \
												 ObjectIdGetDatum(InvalidOid), \
												 Int32GetDatum(-1)); \
		if (has_fraction(DatumGetTimestamp(result))) \
			compact_check_inexact(compact_value_use(fcinfo), ERRCODE_DATETIME_VALUE_OUT_OF_RANGE, \
								  DatumGetCString(DirectFunctionCall1(wide##_out, result)), \
								  #type, #wide); \
		return make_seconds(DatumGetTimestamp(result), SECONDS_TYPE(type), NULL); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_send); \
	Datum \
	compact_##type##_send(PG_FUNCTION_ARGS) \
	{ \
		return DirectFunctionCall1(wide##_send, \
								   TimestampGetDatum(seconds_timestamp(PG_GETARG_DATUM(0)))); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_in_range); \
	Datum \
	compact_##type##_in_range(PG_FUNCTION_ARGS) \
	{ \
		return DirectFunctionCall5(in_range_##wide##_interval, \
								   TimestampGetDatum(seconds_timestamp(PG_GETARG_DATUM(0))), \
								   TimestampGetDatum(seconds_timestamp(PG_GETARG_DATUM(1))), \
								   PG_GETARG_DATUM(2), \
								   PG_GETARG_DATUM(3), \
								   PG_GETARG_DATUM(4)); \
	} \
	CAST_FUNCTION(type, wide, TimestampGetDatum(seconds_timestamp(PG_GETARG_DATUM(0)))) \
	CAST_FUNCTION(type, json, seconds_json(PG_GETARG_DATUM(0), wide_oid)) \
	PG_FUNCTION_INFO_V1(compact_cast_##wide##_##type); \
	Datum \
	compact_cast_##wide##_##type(PG_FUNCTION_ARGS) \
	{ \
		return timestamp_cast(fcinfo, PG_GETARG_TIMESTAMP(0), SECONDS_TYPE(type), wide##_out); \
	} \
	TO_SECONDS(date, type, DirectFunctionCall1(date_##wide, PG_GETARG_DATUM(0))) \
	FROM_SECONDS(type, date, wide##_date) \
	FROM_SECONDS(type, time, wide##_time)

#define CAST_FUNCTION(source, target, result) \
	PG_FUNCTION_INFO_V1(compact_cast_##source##_##target); \
	Datum \
	compact_cast_##source##_##target(PG_FUNCTION_ARGS) \
	{ \
		return result; \
	}

#define TO_SECONDS(source, type, timestamp_datum) \
	CAST_FUNCTION(source, type, \
				  make_seconds(DatumGetTimestamp(timestamp_datum), SECONDS_TYPE(type), NULL))

#define FROM_SECONDS(type, target, function) \
	CAST_FUNCTION(type, target, \
				  DirectFunctionCall1(function, \
									  TimestampGetDatum(seconds_timestamp(PG_GETARG_DATUM(0)))))

NARROW_SECONDS(SECONDS_FUNCTIONS)

/* casts between the types with and without time zone */
CAST_FUNCTION(timestamptz, seconds4,
			  timestamp_cast(fcinfo,
							 DatumGetTimestamp(DirectFunctionCall1(timestamptz_timestamp,
																   PG_GETARG_DATUM(0))),
							 SECONDS_TYPE(seconds4), timestamp_out))
CAST_FUNCTION(timestamp, seconds4tz,
			  timestamp_cast(fcinfo,
							 DatumGetTimestamp(DirectFunctionCall1(timestamp_timestamptz,
																   PG_GETARG_DATUM(0))),
							 SECONDS_TYPE(seconds4tz), timestamptz_out))
FROM_SECONDS(seconds4, timestamptz, timestamp_timestamptz)
FROM_SECONDS(seconds4tz, timestamp, timestamptz_timestamp)
TO_SECONDS(seconds4tz, seconds4,
		   DirectFunctionCall1(timestamptz_timestamp,
							   TimestampTzGetDatum(seconds_timestamp(PG_GETARG_DATUM(0)))))
TO_SECONDS(seconds4, seconds4tz,
		   DirectFunctionCall1(timestamp_timestamptz,
							   TimestampGetDatum(seconds_timestamp(PG_GETARG_DATUM(0)))))

/* Functions that do not depend on the time zone are the same for both types. */
static int
seconds_sort_compare(Datum a, Datum b, SortSupport ssup)
{
	uint32		x = SECONDS_VALUE(a);
	uint32		y = SECONDS_VALUE(b);

	return (x > y) - (x < y);
}

PG_FUNCTION_INFO_V1(compact_seconds_sortsupport);
Datum
compact_seconds_sortsupport(PG_FUNCTION_ARGS)
{
	((SortSupport) PG_GETARG_POINTER(0))->comparator = seconds_sort_compare;

	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(compact_seconds_hash);
Datum
compact_seconds_hash(PG_FUNCTION_ARGS)
{
	return DirectFunctionCall1(hashint8, Int64GetDatum(seconds_timestamp(PG_GETARG_DATUM(0))));
}

PG_FUNCTION_INFO_V1(compact_seconds_hash_extended);
Datum
compact_seconds_hash_extended(PG_FUNCTION_ARGS)
{
	return DirectFunctionCall2(hashint8extended,
							   Int64GetDatum(seconds_timestamp(PG_GETARG_DATUM(0))),
							   PG_GETARG_DATUM(1));
}

/*
 * compact_timestamptz_hash(timestamptz) returns int4: core's hash of the value
 */
PG_FUNCTION_INFO_V1(compact_timestamptz_hash);
Datum
compact_timestamptz_hash(PG_FUNCTION_ARGS)
{
	return hashint8(fcinfo);
}

/*
 * compact_timestamptz_hash_extended(timestamptz, int8) returns int8: core's
 * hash
 */
PG_FUNCTION_INFO_V1(compact_timestamptz_hash_extended);
Datum
compact_timestamptz_hash_extended(PG_FUNCTION_ARGS)
{
	return hashint8extended(fcinfo);
}

PG_FUNCTION_INFO_V1(compact_seconds_larger);
Datum
compact_seconds_larger(PG_FUNCTION_ARGS)
{
	return PG_GETARG_DATUM(SECONDS_VALUE(PG_GETARG_DATUM(0)) >
						   SECONDS_VALUE(PG_GETARG_DATUM(1)) ? 0 : 1);
}

PG_FUNCTION_INFO_V1(compact_seconds_smaller);
Datum
compact_seconds_smaller(PG_FUNCTION_ARGS)
{
	return PG_GETARG_DATUM(SECONDS_VALUE(PG_GETARG_DATUM(0)) <
						   SECONDS_VALUE(PG_GETARG_DATUM(1)) ? 0 : 1);
}

/*
 * Comparison
 */

static inline int
compare_timestamps(Timestamp a, Timestamp b)
{
	return (a > b) - (a < b);
}

static inline int
reverse(int result)
{
	return (result < 0) - (result > 0);
}

/*
 * The names of the macros name the operands: SECONDS is a value of a seconds
 * type, WIDE is a timestamp.
 */
#define ARG(n)			PG_GETARG_DATUM(n)
#define ARG_SECONDS(n)	seconds_timestamp(ARG(n))

#define COMPARE_SECONDS			seconds_sort_compare(ARG(0), ARG(1), NULL)
#define COMPARE_SECONDS_WIDE	compare_timestamps(ARG_SECONDS(0), DatumGetTimestamp(ARG(1)))
#define COMPARE_WIDE_SECONDS	compare_timestamps(DatumGetTimestamp(ARG(0)), ARG_SECONDS(1))

#define COMPARISON_FUNCTION(left, right, name, compare, operation) \
	PG_FUNCTION_INFO_V1(compact_##left##_##right##_##name); \
	Datum \
	compact_##left##_##right##_##name(PG_FUNCTION_ARGS) \
	{ \
		PG_RETURN_BOOL((compare) operation 0); \
	}

/*
 * compact_L_R_eq(L, R) and so on return bool, compact_L_R_cmp(L, R) returns
 * int4, for all pairs of types of the operator family for which core has no
 * operators.
 */
#define COMPARISON_FUNCTIONS(left, right, compare) \
	COMPARISON_FUNCTION(left, right, eq, compare, ==) \
	COMPARISON_FUNCTION(left, right, ne, compare, !=) \
	COMPARISON_FUNCTION(left, right, lt, compare, <) \
	COMPARISON_FUNCTION(left, right, le, compare, <=) \
	COMPARISON_FUNCTION(left, right, gt, compare, >) \
	COMPARISON_FUNCTION(left, right, ge, compare, >=) \
	PG_FUNCTION_INFO_V1(compact_##left##_##right##_cmp); \
	Datum \
	compact_##left##_##right##_cmp(PG_FUNCTION_ARGS) \
	{ \
		PG_RETURN_INT32(compare); \
	}

COMPARISON_FUNCTIONS(seconds4, seconds4, COMPARE_SECONDS)
COMPARISON_FUNCTIONS(seconds4, timestamp, COMPARE_SECONDS_WIDE)
COMPARISON_FUNCTIONS(timestamp, seconds4, COMPARE_WIDE_SECONDS)
COMPARISON_FUNCTIONS(seconds4, date,
					 reverse(date_cmp_timestamp_internal(DatumGetDateADT(ARG(1)), ARG_SECONDS(0))))
COMPARISON_FUNCTIONS(date, seconds4,
					 date_cmp_timestamp_internal(DatumGetDateADT(ARG(0)), ARG_SECONDS(1)))
COMPARISON_FUNCTIONS(seconds4, timestamptz,
					 timestamp_cmp_timestamptz_internal(ARG_SECONDS(0), DatumGetTimestampTz(ARG(1))))
COMPARISON_FUNCTIONS(timestamptz, seconds4,
					 reverse(timestamp_cmp_timestamptz_internal(ARG_SECONDS(1), DatumGetTimestampTz(ARG(0)))))
COMPARISON_FUNCTIONS(seconds4, seconds4tz,
					 timestamp_cmp_timestamptz_internal(ARG_SECONDS(0), ARG_SECONDS(1)))
COMPARISON_FUNCTIONS(seconds4tz, seconds4,
					 reverse(timestamp_cmp_timestamptz_internal(ARG_SECONDS(1), ARG_SECONDS(0))))

COMPARISON_FUNCTIONS(seconds4tz, seconds4tz, COMPARE_SECONDS)
COMPARISON_FUNCTIONS(seconds4tz, timestamptz, COMPARE_SECONDS_WIDE)
COMPARISON_FUNCTIONS(timestamptz, seconds4tz, COMPARE_WIDE_SECONDS)
COMPARISON_FUNCTIONS(seconds4tz, date,
					 reverse(date_cmp_timestamptz_internal(DatumGetDateADT(ARG(1)), ARG_SECONDS(0))))
COMPARISON_FUNCTIONS(date, seconds4tz,
					 date_cmp_timestamptz_internal(DatumGetDateADT(ARG(0)), ARG_SECONDS(1)))
COMPARISON_FUNCTIONS(seconds4tz, timestamp,
					 reverse(timestamp_cmp_timestamptz_internal(DatumGetTimestamp(ARG(1)), ARG_SECONDS(0))))
COMPARISON_FUNCTIONS(timestamp, seconds4tz,
					 timestamp_cmp_timestamptz_internal(DatumGetTimestamp(ARG(0)), ARG_SECONDS(1)))
