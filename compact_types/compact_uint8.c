/*-------------------------------------------------------------------------
 *
 * compact_uint8.c
 *	  The unsigned integer of eight bytes, uint8.
 *
 * No integer type of core holds all values of uint8.  So its wide twin is
 * numeric.  uint8 compares and calculates as the decimals do: with numeric.
 * compact_decimal_ddl.c creates the SQL objects of uint8, as it does for a
 * decimal, and uint8 has the same functions as a decimal.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_uint8.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/sortsupport.h"

#include "compact_decimal.h"
#include "compact_types.h"
#include "compact_types_compat.h"

#define TYPE_NAME	"uint8"

/* longest output: 20 digits, NUL */
#define OUTPUT_SIZE		21

static inline uint64
uint8_value(Datum datum)
{
	return (uint64) DatumGetInt64(datum);
}

static inline Datum
uint8_datum(uint64 value)
{
	return Int64GetDatum((int64) value);
}

static Datum
conversion_error(DecimalResult result, const char *str, const char *quote,
				 struct Node *escontext)
{
	return compact_decimal_conversion_error(result, str, quote, TYPE_NAME, "0",
											"18446744073709551615", escontext);
}

/* Return the value as a numeric. */
Numeric
compact_uint8_to_numeric_value(uint64 value)
{
	CompactSum	sum = {1, 0, value};

	return compact_sum_numeric(&sum, 0);
}

static inline Datum
value_numeric(Datum datum)
{
	return NumericGetDatum(compact_uint8_to_numeric_value(uint8_value(datum)));
}

/* Write the digits and a NUL into the buffer of OUTPUT_SIZE bytes, and return the buffer. */
static char *
value_string(Datum datum, char *buffer)
{
	buffer[pg_ulltoa_n(uint8_value(datum), buffer)] = '\0';

	return buffer;
}

/* A negative number that is rounded to zero is in range. */
static DecimalResult
check_sign(DecimalResult result, bool negative, uint64 magnitude)
{
	return result == DECIMAL_OK && negative && magnitude > 0 ? DECIMAL_RANGE : result;
}

static Datum
numeric_to_uint8(Numeric num, bool *exact)
{
	bool		negative;
	uint64		magnitude = 0;
	DecimalResult result = compact_decimal_numeric_magnitude(num, 0, false, &negative, &magnitude,
															 exact);

	result = check_sign(result, negative, magnitude);
	if (unlikely(result != DECIMAL_OK))
		return conversion_error(result, compact_numeric_for_message(num), "", NULL);

	return uint8_datum(magnitude);
}

/* Return true if the numeric is an integer that uint8 holds. */
bool
compact_uint8_holds(Numeric num)
{
	bool		exact = true;
	bool		negative = false;
	uint64		magnitude = 0;
	DecimalResult result = compact_decimal_numeric_magnitude(num, 0, false, &negative, &magnitude,
															 &exact);

	return check_sign(result, negative, magnitude) == DECIMAL_OK && exact;
}

/*
 * Input and output
 */

/*
 * compact_uint8_in(cstring) returns uint8.  Errors: 22P02 for bad syntax, 22003
 * if out of range, 0A000 for NaN and infinity.
 */
PG_FUNCTION_INFO_V1(compact_uint8_in);
Datum
compact_uint8_in(PG_FUNCTION_ARGS)
{
	char	   *str = PG_GETARG_CSTRING(0);
	bool		exact = true;
	bool		negative;
	uint64		magnitude = 0;
	DecimalResult result = compact_decimal_parse_magnitude(str, 0, false, &negative, &magnitude,
														   &exact);

	if (result == DECIMAL_SYNTAX)
	{
		Datum		num;

		result = compact_decimal_parse_special(str);
		if (result == DECIMAL_SYNTAX && compat_parse_numeric(numeric_in, str, &num))
			result = compact_decimal_numeric_magnitude(DatumGetNumeric(num), 0, false, &negative,
													   &magnitude, &exact);
	}
	result = check_sign(result, negative, magnitude);
	if (unlikely(result == DECIMAL_OK && !exact))
		compact_check_inexact(compact_value_use(fcinfo), ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
							  str, TYPE_NAME, "numeric");
	if (unlikely(result != DECIMAL_OK))
		return conversion_error(result, str, "\"", fcinfo->context);

	return uint8_datum(magnitude);
}

/* compact_uint8_out(uint8) returns cstring */
PG_FUNCTION_INFO_V1(compact_uint8_out);
Datum
compact_uint8_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(value_string(PG_GETARG_DATUM(0), palloc(OUTPUT_SIZE)));
}

/*
 * compact_uint8_recv(internal) returns uint8, from numeric's binary format.
 * The errors are those of compact_uint8_in().
 */
PG_FUNCTION_INFO_V1(compact_uint8_recv);
Datum
compact_uint8_recv(PG_FUNCTION_ARGS)
{
	Numeric		num = DatumGetNumeric(DirectFunctionCall3(numeric_recv, PG_GETARG_DATUM(0),
														  ObjectIdGetDatum(InvalidOid),
														  Int32GetDatum(-1)));
	bool		exact = true;
	Datum		result = numeric_to_uint8(num, &exact);

	if (unlikely(!exact))
		compact_check_inexact(compact_value_use(fcinfo), ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
							  compact_numeric_for_message(num), TYPE_NAME, "numeric");

	return result;
}

/* compact_uint8_send(uint8) returns bytea, numeric's binary format */
PG_FUNCTION_INFO_V1(compact_uint8_send);
Datum
compact_uint8_send(PG_FUNCTION_ARGS)
{
	return DirectFunctionCall1(numeric_send, value_numeric(PG_GETARG_DATUM(0)));
}

/*
 * Casts.  A cast to uint8 rounds, and raises error 22003 for a value out of
 * range, and 0A000 for NaN and infinity.  A cast from uint8 to an integer
 * raises error 22003 for a value out of range.
 */

/*
 * Round a numeric for a cast.  Raise an error if the numeric has digits after
 * the point and is an argument of EXECUTE that the statement compares.
 */
static Datum
round_for_cast(FunctionCallInfo fcinfo, Numeric num)
{
	bool		exact = true;
	Datum		result = numeric_to_uint8(num, &exact);

	if (unlikely(!exact) && compact_cast_is_compared(fcinfo))
		compact_check_inexact(VALUE_ARGUMENT, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
							  compact_numeric_for_message(num), TYPE_NAME, "numeric");

	return result;
}

static Datum
from_integer(int64 value)
{
	if (unlikely(value < 0))
		return conversion_error(DECIMAL_RANGE, psprintf(INT64_FORMAT, value), "", NULL);

	return uint8_datum((uint64) value);
}

/* compact_uint8_from_T(T) returns uint8, compact_uint8_to_T(uint8) returns T */
#define CAST_FUNCTION(name, result) \
	PG_FUNCTION_INFO_V1(compact_uint8_##name); \
	Datum \
	compact_uint8_##name(PG_FUNCTION_ARGS) \
	{ \
		return (result); \
	}

/* cast to numeric first, to keep the same digits as a cast to numeric */
CAST_FUNCTION(from_float4,
			  round_for_cast(fcinfo, DatumGetNumeric(DirectFunctionCall1(float4_numeric,
																		 PG_GETARG_DATUM(0)))))
CAST_FUNCTION(from_float8,
			  round_for_cast(fcinfo, DatumGetNumeric(DirectFunctionCall1(float8_numeric,
																		 PG_GETARG_DATUM(0)))))
CAST_FUNCTION(from_numeric, round_for_cast(fcinfo, PG_GETARG_NUMERIC(0)))
CAST_FUNCTION(from_int2, from_integer(PG_GETARG_INT16(0)))
CAST_FUNCTION(from_int4, from_integer(PG_GETARG_INT32(0)))
CAST_FUNCTION(from_int8, from_integer(PG_GETARG_INT64(0)))
CAST_FUNCTION(to_numeric, value_numeric(PG_GETARG_DATUM(0)))
CAST_FUNCTION(to_float4, Float4GetDatum((float4) uint8_value(PG_GETARG_DATUM(0))))
CAST_FUNCTION(to_float8, Float8GetDatum((float8) uint8_value(PG_GETARG_DATUM(0))))

/* Return the value, or raise core's error if it is above the greatest one of the type. */
static int64
to_integer(Datum datum, int64 max, const char *type)
{
	uint64		value = uint8_value(datum);

	if (value > (uint64) max)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s out of range", type)));

	return (int64) value;
}

CAST_FUNCTION(to_int2, Int16GetDatum(to_integer(PG_GETARG_DATUM(0), PG_INT16_MAX, "smallint")))
CAST_FUNCTION(to_int4, Int32GetDatum(to_integer(PG_GETARG_DATUM(0), PG_INT32_MAX, "integer")))
CAST_FUNCTION(to_int8, Int64GetDatum(to_integer(PG_GETARG_DATUM(0), PG_INT64_MAX, "bigint")))

/* compact_uint8_to_json(uint8) returns json: a number */
PG_FUNCTION_INFO_V1(compact_uint8_to_json);
Datum
compact_uint8_to_json(PG_FUNCTION_ARGS)
{
	char		buffer[OUTPUT_SIZE];

	PG_RETURN_TEXT_P(cstring_to_text(value_string(PG_GETARG_DATUM(0), buffer)));
}

/*
 * Comparison
 *
 * compact_uint8_NAME(uint8, uint8), compact_uint8_numeric_NAME(uint8, numeric)
 * and numeric_compact_uint8_NAME(numeric, uint8): eq, ne, lt, le, gt and ge
 * return bool, cmp returns int4
 */

static inline int
compare_values(Datum a, Datum b)
{
	uint64		x = uint8_value(a);
	uint64		y = uint8_value(b);

	return (x > y) - (x < y);
}

COMPARISON_FUNCTIONS(compact_uint8,
					 uint8_value(PG_GETARG_DATUM(0)) == uint8_value(PG_GETARG_DATUM(1)),
					 compare_values(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)))
COMPARISON_FUNCTIONS(compact_uint8_numeric,
					 compact_uint8_compare_numeric(fcinfo, 0) == 0,
					 compact_uint8_compare_numeric(fcinfo, 0))
COMPARISON_FUNCTIONS(numeric_compact_uint8,
					 compact_uint8_compare_numeric(fcinfo, 1) == 0,
					 compact_uint8_compare_numeric(fcinfo, 1))

#if SIZEOF_DATUM < 8
static int
uint8_sort_compare(Datum a, Datum b, SortSupport ssup)
{
	return compare_values(a, b);
}
#endif

/*
 * compact_uint8_sortsupport(internal) returns void.  Use core's comparator, for
 * which tuplesort has specialized code.
 */
PG_FUNCTION_INFO_V1(compact_uint8_sortsupport);
Datum
compact_uint8_sortsupport(PG_FUNCTION_ARGS)
{
#if SIZEOF_DATUM >= 8
	((SortSupport) PG_GETARG_POINTER(0))->comparator = ssup_datum_unsigned_cmp;
#else
	((SortSupport) PG_GETARG_POINTER(0))->comparator = uint8_sort_compare;
#endif

	PG_RETURN_VOID();
}

/* compact_uint8_larger(uint8, uint8) returns uint8 */
PG_FUNCTION_INFO_V1(compact_uint8_larger);
Datum
compact_uint8_larger(PG_FUNCTION_ARGS)
{
	return PG_GETARG_DATUM(compare_values(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)) > 0 ? 0 : 1);
}

/* compact_uint8_smaller(uint8, uint8) returns uint8 */
PG_FUNCTION_INFO_V1(compact_uint8_smaller);
Datum
compact_uint8_smaller(PG_FUNCTION_ARGS)
{
	return PG_GETARG_DATUM(compare_values(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)) < 0 ? 0 : 1);
}

/* compact_uint8_hash(uint8) returns int4: the hash of the equal numeric */
PG_FUNCTION_INFO_V1(compact_uint8_hash);
Datum
compact_uint8_hash(PG_FUNCTION_ARGS)
{
	return compact_decimal_hash(uint8_value(PG_GETARG_DATUM(0)), 0);
}

/* compact_uint8_hash_extended(uint8, int8) returns int8 */
PG_FUNCTION_INFO_V1(compact_uint8_hash_extended);
Datum
compact_uint8_hash_extended(PG_FUNCTION_ARGS)
{
	return compact_decimal_hash_extended(uint8_value(PG_GETARG_DATUM(0)), 0,
										 (uint64) PG_GETARG_INT64(1));
}

/*
 * compact_uint8_in_range(uint8, uint8, numeric, bool, bool) returns bool: true
 * if the window frame of the second value, with the offset in the third
 * argument, contains the first value
 */
PG_FUNCTION_INFO_V1(compact_uint8_in_range);
Datum
compact_uint8_in_range(PG_FUNCTION_ARGS)
{
	return DirectFunctionCall5(in_range_numeric_numeric,
							   value_numeric(PG_GETARG_DATUM(0)),
							   value_numeric(PG_GETARG_DATUM(1)),
							   PG_GETARG_DATUM(2), PG_GETARG_DATUM(3), PG_GETARG_DATUM(4));
}

/*
 * Aggregates: compact_uint8_accum and compact_uint8_accum_inv(internal, uint8)
 * return internal; compact_uint8_sum and compact_uint8_avg(internal) return
 * numeric
 */

PG_FUNCTION_INFO_V1(compact_uint8_accum);
Datum
compact_uint8_accum(PG_FUNCTION_ARGS)
{
	CompactSum *sum = compact_sum_transition_state(fcinfo);

	if (!PG_ARGISNULL(1))
		compact_sum_add_unsigned(sum, uint8_value(PG_GETARG_DATUM(1)));

	PG_RETURN_POINTER(sum);
}

PG_FUNCTION_INFO_V1(compact_uint8_accum_inv);
Datum
compact_uint8_accum_inv(PG_FUNCTION_ARGS)
{
	CompactSum *sum = compact_sum_inverse_state(fcinfo);

	if (!PG_ARGISNULL(1))
		compact_sum_subtract_unsigned(sum, uint8_value(PG_GETARG_DATUM(1)));

	PG_RETURN_POINTER(sum);
}

PG_FUNCTION_INFO_V1(compact_uint8_sum);
Datum
compact_uint8_sum(PG_FUNCTION_ARGS)
{
	return compact_sum_numeric_final(fcinfo);
}

PG_FUNCTION_INFO_V1(compact_uint8_avg);
Datum
compact_uint8_avg(PG_FUNCTION_ARGS)
{
	return compact_sum_avg(fcinfo);
}
