/*-------------------------------------------------------------------------
 *
 * compact_decimal.c
 *	  Decimals of a fixed scale in four or eight bytes: compact_decimal4_S and
 *	  compact_decimal8_S.
 *
 * A value is an integer that counts units of 10^-S.  A decimal has the
 * semantics of numeric(p,S): a value with more digits is rounded half away
 * from zero, and output has S digits after the point.  There is no NaN and no
 * infinity.  Only comparisons and aggregates are done on the integer.  All
 * other operations are done in numeric, to which there is an implicit cast,
 * because arithmetic on the integers could overflow where arithmetic on
 * numeric does not.
 *
 * The scale is part of the type, so it takes no space in the row.  A macro
 * makes the functions for one scale; they are stubs that call common code with
 * the scale.  The C symbol of an SQL function determines the scale.  So the
 * function needs no catalog lookup to find the scale, and a user cannot call
 * the function with another scale.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_decimal.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "common/int.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/sortsupport.h"

#include "compact_decimal.h"
#include "compact_types_compat.h"

/* maximum number of base-10000 digits of the numeric that equals a decimal */
#define DECIMAL_MAX_NDIGITS		10

static const int64 powers_of_ten[] = {
	INT64CONST(1),
	INT64CONST(10),
	INT64CONST(100),
	INT64CONST(1000),
	INT64CONST(10000),
	INT64CONST(100000),
	INT64CONST(1000000),
	INT64CONST(10000000),
	INT64CONST(100000000),
	INT64CONST(1000000000),
	INT64CONST(10000000000),
	INT64CONST(100000000000),
	INT64CONST(1000000000000),
	INT64CONST(10000000000000),
	INT64CONST(100000000000000),
	INT64CONST(1000000000000000),
	INT64CONST(10000000000000000),
	INT64CONST(100000000000000000),
	INT64CONST(1000000000000000000)
};

static inline Datum
decimal_datum(int64 value, int width)
{
	return width == 4 ? Int32GetDatum((int32) value) : Int64GetDatum(value);
}

static inline int64
decimal_max(int width)
{
	return width == 4 ? PG_INT32_MAX : PG_INT64_MAX;
}

static inline int64
decimal_min(int width)
{
	return -decimal_max(width) - 1;
}

static inline bool
decimal_in_range(int64 value, int width)
{
	return value >= decimal_min(width) && value <= decimal_max(width);
}

/*
 * Raise the error of a conversion to a type that holds values from low to high.
 * str is the input, or the value in a cast; quote is put around str.
 */
Datum
compact_decimal_conversion_error(DecimalResult result, const char *str, const char *quote,
								 const char *type, const char *low, const char *high,
								 struct Node *escontext)
{
	switch (result)
	{
		case DECIMAL_NAN:
		case DECIMAL_INFINITY:
			ereturn(escontext, (Datum) 0,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot convert %s to type %s",
							result == DECIMAL_NAN ? "NaN" : "infinity", type),
					 compact_range_hint("numeric")));
		case DECIMAL_SYNTAX:
			ereturn(escontext, (Datum) 0,
					(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					 errmsg("invalid input syntax for type %s: \"%s\"",
							type, str)));
		default:
			ereturn(escontext, (Datum) 0,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("value %s%s%s is out of range for type %s",
							quote, str, quote, type),
					 errdetail("The type holds values from %s to %s.", low, high),
					 compact_range_hint("numeric")));
	}
}

/* Do this for a decimal type. */
static Datum
conversion_error(DecimalResult result, const char *str, const char *quote,
				 int width, int scale, struct Node *escontext)
{
	char		low[DECIMAL_OUTPUT_SIZE];
	char		high[DECIMAL_OUTPUT_SIZE];

	compact_decimal_to_string(decimal_min(width), scale, low);
	compact_decimal_to_string(decimal_max(width), scale, high);

	return compact_decimal_conversion_error(result, str, quote, compact_decimal_name(width, scale),
											low, high, escontext);
}

static Datum
numeric_to_decimal(Numeric num, int width, int scale, bool *exact)
{
	int64		value;
	DecimalResult result = compact_decimal_parse_numeric(num, scale, false, &value, exact);

	if (result == DECIMAL_OK && !decimal_in_range(value, width))
		result = DECIMAL_RANGE;
	if (unlikely(result != DECIMAL_OK))
		return conversion_error(result, compact_numeric_for_message(num), "", width,
								scale, NULL);

	return decimal_datum(value, width);
}

static inline Numeric
decimal_to_numeric(Datum datum, int width, int scale)
{
	return int64_div_fast_to_numeric(decimal_value(datum, width), scale);
}

/*
 * Input and output
 */

/*
 * decimal_in(cstring) returns the decimal.  Errors: 22P02 for bad syntax, 22003
 * if out of range, 0A000 for NaN and infinity.
 */
static Datum
decimal_in(FunctionCallInfo fcinfo, int width, int scale)
{
	char	   *str = PG_GETARG_CSTRING(0);
	bool		exact = true;
	int64		value;
	DecimalResult result = compact_decimal_parse(str, scale, false, &value, &exact);

	if (result == DECIMAL_SYNTAX)
	{
		Datum		num;

		result = compact_decimal_parse_special(str);
		if (result == DECIMAL_SYNTAX && compat_parse_numeric(numeric_in, str, &num))
			result = compact_decimal_parse_numeric(DatumGetNumeric(num), scale, false, &value, &exact);
	}
	if (result == DECIMAL_OK && !decimal_in_range(value, width))
		result = DECIMAL_RANGE;
	if (unlikely(result == DECIMAL_OK && !exact))
		compact_check_inexact(compact_value_use(fcinfo), ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
							  str, compact_decimal_name(width, scale), "numeric");
	if (unlikely(result != DECIMAL_OK))
		return conversion_error(result, str, "\"", width, scale, fcinfo->context);

	return decimal_datum(value, width);
}

/* decimal_out(decimal) returns cstring, with scale digits after the point */
static Datum
decimal_out(FunctionCallInfo fcinfo, int width, int scale)
{
	PG_RETURN_CSTRING(compact_decimal_to_string(decimal_value(PG_GETARG_DATUM(0), width),
												scale, palloc(DECIMAL_OUTPUT_SIZE)));
}

/*
 * decimal_recv(internal) returns the decimal, from numeric's binary format.
 * The errors are those of decimal_in().
 */
static Datum
decimal_recv(FunctionCallInfo fcinfo, int width, int scale)
{
	Datum		num = DirectFunctionCall3(numeric_recv, PG_GETARG_DATUM(0),
										  ObjectIdGetDatum(InvalidOid),
										  Int32GetDatum(-1));
	bool		exact = true;
	Datum		result = numeric_to_decimal(DatumGetNumeric(num), width, scale, &exact);

	if (unlikely(!exact))
		compact_check_inexact(compact_value_use(fcinfo), ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
							  compact_numeric_for_message(DatumGetNumeric(num)),
							  compact_decimal_name(width, scale), "numeric");

	return result;
}

/* decimal_send(decimal) returns bytea, numeric's binary format */
static Datum
decimal_send(FunctionCallInfo fcinfo, int width, int scale)
{
	return DirectFunctionCall1(numeric_send,
							   NumericGetDatum(decimal_to_numeric(PG_GETARG_DATUM(0),
																  width, scale)));
}

/*
 * Casts.  A cast to a decimal raises error 22003 for a value out of range, and
 * 0A000 for NaN and infinity.  A cast from a decimal to an integer rounds as
 * the cast from numeric does, and raises error 22003 for a value out of range.
 */

/*
 * Round a numeric for a cast to the decimal.  Raise an error if the numeric
 * has too many digits after the point and is an argument of EXECUTE that the
 * statement compares.
 */
static Datum
round_for_cast(FunctionCallInfo fcinfo, Numeric num, int width, int scale)
{
	bool		exact = true;
	Datum		result = numeric_to_decimal(num, width, scale, &exact);

	if (unlikely(!exact) && compact_cast_is_compared(fcinfo))
		compact_check_inexact(VALUE_ARGUMENT, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
							  compact_numeric_for_message(num),
							  compact_decimal_name(width, scale), "numeric");

	return result;
}

static Datum
numeric_cast(FunctionCallInfo fcinfo, int width, int scale)
{
	return round_for_cast(fcinfo, PG_GETARG_NUMERIC(0), width, scale);
}

static Datum
integer_cast(int64 value, int width, int scale)
{
	int64		units;

	if (unlikely(pg_mul_s64_overflow(value, powers_of_ten[scale], &units) ||
				 !decimal_in_range(units, width)))
		return conversion_error(DECIMAL_RANGE, psprintf(INT64_FORMAT, value), "",
								width, scale, NULL);

	return decimal_datum(units, width);
}

static Datum
int2_cast(FunctionCallInfo fcinfo, int width, int scale)
{
	return integer_cast(PG_GETARG_INT16(0), width, scale);
}

static Datum
int4_cast(FunctionCallInfo fcinfo, int width, int scale)
{
	return integer_cast(PG_GETARG_INT32(0), width, scale);
}

static Datum
int8_cast(FunctionCallInfo fcinfo, int width, int scale)
{
	return integer_cast(PG_GETARG_INT64(0), width, scale);
}

/* cast to numeric first, to keep the same digits as a cast to numeric */
static Datum
float4_cast(FunctionCallInfo fcinfo, int width, int scale)
{
	Datum		num = DirectFunctionCall1(float4_numeric, PG_GETARG_DATUM(0));

	return round_for_cast(fcinfo, DatumGetNumeric(num), width, scale);
}

static Datum
float8_cast(FunctionCallInfo fcinfo, int width, int scale)
{
	Datum		num = DirectFunctionCall1(float8_numeric, PG_GETARG_DATUM(0));

	return round_for_cast(fcinfo, DatumGetNumeric(num), width, scale);
}

static Datum
cast_numeric(FunctionCallInfo fcinfo, int width, int scale)
{
	PG_RETURN_NUMERIC(decimal_to_numeric(PG_GETARG_DATUM(0), width, scale));
}

/* Return the value as an integer, rounded half away from zero. */
static int64
decimal_to_integer(Datum datum, int width, int scale)
{
	int64		value = decimal_value(datum, width);
	int64		unit = powers_of_ten[scale];
	int64		result = value / unit;
	int64		rest = value % unit;

	/* unlike 2 * rest, unit - rest cannot overflow */
	if (rest > 0 && rest >= unit - rest)
		result++;
	else if (rest < 0 && -rest >= unit + rest)
		result--;

	return result;
}

static Datum
cast_int2(FunctionCallInfo fcinfo, int width, int scale)
{
	int64		value = decimal_to_integer(PG_GETARG_DATUM(0), width, scale);

	if (value < PG_INT16_MIN || value > PG_INT16_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("smallint out of range")));

	PG_RETURN_INT16((int16) value);
}

static Datum
cast_int4(FunctionCallInfo fcinfo, int width, int scale)
{
	int64		value = decimal_to_integer(PG_GETARG_DATUM(0), width, scale);

	if (value < PG_INT32_MIN || value > PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("integer out of range")));

	PG_RETURN_INT32((int32) value);
}

static Datum
cast_int8(FunctionCallInfo fcinfo, int width, int scale)
{
	PG_RETURN_INT64(decimal_to_integer(PG_GETARG_DATUM(0), width, scale));
}

static Datum
cast_float4(FunctionCallInfo fcinfo, int width, int scale)
{
	return DirectFunctionCall1(numeric_float4,
							   NumericGetDatum(decimal_to_numeric(PG_GETARG_DATUM(0),
																  width, scale)));
}

static Datum
cast_float8(FunctionCallInfo fcinfo, int width, int scale)
{
	int64		value = decimal_value(PG_GETARG_DATUM(0), width);

	/*
	 * float8 holds both numbers exactly, so the quotient is rounded correctly
	 */
	if (value >= -(INT64CONST(1) << 53) && value <= INT64CONST(1) << 53)
		PG_RETURN_FLOAT8((float8) value / (float8) powers_of_ten[scale]);

	return DirectFunctionCall1(numeric_float8,
							   NumericGetDatum(int64_div_fast_to_numeric(value, scale)));
}

/* decimal_json(decimal) returns json: a number, with scale digits after the point */
static Datum
decimal_json(FunctionCallInfo fcinfo, int width, int scale)
{
	char		digits[DECIMAL_OUTPUT_SIZE];

	PG_RETURN_TEXT_P(cstring_to_text(compact_decimal_to_string(decimal_value(PG_GETARG_DATUM(0), width),
															   scale, digits)));
}

/*
 * Hashing
 */

/*
 * Compute the base-10000 digits of the equal numeric, without leading and
 * trailing zeros; hash_numeric() hashes these digits, and no sign.  Return the
 * number of digits, and set *weight to the weight of the first digit, which is
 * an exponent of 10000.
 */
static int
decimal_digits(uint64 magnitude, int scale, int16 *digits, int *weight)
{
	uint64		integer = magnitude / powers_of_ten[scale];
	uint64		fraction = magnitude % powers_of_ten[scale];
	int16		all[DECIMAL_MAX_NDIGITS];
	int			ninteger = 0;
	int			n;
	int			first = 0;

	for (uint64 rest = integer; rest > 0; rest /= 10000)
		ninteger++;
	for (int i = ninteger - 1; i >= 0; i--)
	{
		all[i] = integer % 10000;
		integer /= 10000;
	}
	n = ninteger;
	for (int power = scale - 4; fraction > 0; power -= 4)
	{
		if (power >= 0)
		{
			all[n++] = fraction / powers_of_ten[power];
			fraction %= powers_of_ten[power];
		}
		else
		{
			all[n++] = fraction * powers_of_ten[-power];
			fraction = 0;
		}
	}
	while (n > 0 && all[n - 1] == 0)
		n--;
	while (first < n && all[first] == 0)
		first++;

	memcpy(digits, all + first, (n - first) * sizeof(int16));
	*weight = ninteger - 1 - first;

	return n - first;
}

/* Return the hash of a numeric, as int4. */
Datum
compact_decimal_hash(uint64 magnitude, int scale)
{
	int16		digits[DECIMAL_MAX_NDIGITS];
	int			weight;
	int			n = decimal_digits(magnitude, scale, digits, &weight);

	if (n == 0)
		PG_RETURN_UINT32(-1);

	PG_RETURN_UINT32(DatumGetUInt32(hash_any((unsigned char *) digits,
											 n * sizeof(int16))) ^ (uint32) weight);
}

/* Return the hash of a numeric with a seed, as int8. */
Datum
compact_decimal_hash_extended(uint64 magnitude, int scale, uint64 seed)
{
	int16		digits[DECIMAL_MAX_NDIGITS];
	int			weight;
	int			n = decimal_digits(magnitude, scale, digits, &weight);

	if (n == 0)
		return UInt64GetDatum(seed - 1);

	return UInt64GetDatum(DatumGetUInt64(hash_any_extended((unsigned char *) digits,
														   n * sizeof(int16), seed)) ^
						  (uint64) (int64) weight);
}

static inline uint64
decimal_magnitude(Datum datum, int width)
{
	int64		value = decimal_value(datum, width);

	return value < 0 ? -(uint64) value : (uint64) value;
}

/* decimal_hash(decimal) returns int4: the hash of the equal numeric */
static Datum
decimal_hash(FunctionCallInfo fcinfo, int width, int scale)
{
	return compact_decimal_hash(decimal_magnitude(PG_GETARG_DATUM(0), width), scale);
}

/*
 * decimal_hash_extended(decimal, int8) returns int8: hash of the equal numeric
 */
static Datum
decimal_hash_extended(FunctionCallInfo fcinfo, int width, int scale)
{
	return compact_decimal_hash_extended(decimal_magnitude(PG_GETARG_DATUM(0), width), scale,
										 (uint64) PG_GETARG_INT64(1));
}

/*
 * decimal_in_range_numeric(decimal, decimal, numeric, bool, bool) returns
 * bool: true if the window frame of the second decimal, with the offset in the
 * third argument, contains the first decimal
 */
static Datum
decimal_in_range_numeric(FunctionCallInfo fcinfo, int width, int scale)
{
	return DirectFunctionCall5(in_range_numeric_numeric,
							   NumericGetDatum(decimal_to_numeric(PG_GETARG_DATUM(0),
																  width, scale)),
							   NumericGetDatum(decimal_to_numeric(PG_GETARG_DATUM(1),
																  width, scale)),
							   PG_GETARG_DATUM(2),
							   PG_GETARG_DATUM(3),
							   PG_GETARG_DATUM(4));
}

/*
 * Aggregates: decimal_sum(internal) and decimal_avg(internal) return numeric
 */
static Datum
decimal_sum(FunctionCallInfo fcinfo, int width, int scale)
{
	const CompactSum *sum = compact_sum_final_state(fcinfo);

	if (sum == NULL)
		PG_RETURN_NULL();

	PG_RETURN_NUMERIC(compact_sum_numeric(sum, scale));
}

static Datum
decimal_avg(FunctionCallInfo fcinfo, int width, int scale)
{
	const CompactSum *sum = compact_sum_final_state(fcinfo);

	if (sum == NULL)
		PG_RETURN_NULL();

	PG_RETURN_NUMERIC(compact_sum_average(sum, scale));
}

/*
 * The SQL functions of one type: compact_decimalW_S_NAME
 */
#define SCALE_FUNCTION(width, scale, name, function) \
	PG_FUNCTION_INFO_V1(compact_decimal##width##_##scale##_##name); \
	Datum \
	compact_decimal##width##_##scale##_##name(PG_FUNCTION_ARGS) \
	{ \
		return function(fcinfo, width, scale); \
	}

/* comparison with numeric; argument argno is the decimal */
#define NUMERIC_FUNCTION(symbol, argno, width, scale, return_result, operation) \
	PG_FUNCTION_INFO_V1(symbol); \
	Datum \
	symbol(PG_FUNCTION_ARGS) \
	{ \
		return_result(compact_decimal_compare_numeric(fcinfo, argno, width, scale) operation); \
	}

#define NUMERIC_FUNCTIONS(symbol, argno, width, scale) \
	NUMERIC_FUNCTION(symbol##_eq, argno, width, scale, PG_RETURN_BOOL, == 0) \
	NUMERIC_FUNCTION(symbol##_ne, argno, width, scale, PG_RETURN_BOOL, != 0) \
	NUMERIC_FUNCTION(symbol##_lt, argno, width, scale, PG_RETURN_BOOL, < 0) \
	NUMERIC_FUNCTION(symbol##_le, argno, width, scale, PG_RETURN_BOOL, <= 0) \
	NUMERIC_FUNCTION(symbol##_gt, argno, width, scale, PG_RETURN_BOOL, > 0) \
	NUMERIC_FUNCTION(symbol##_ge, argno, width, scale, PG_RETURN_BOOL, >= 0) \
	NUMERIC_FUNCTION(symbol##_cmp, argno, width, scale, PG_RETURN_INT32, + 0)

#define SCALE_FUNCTIONS(width, scale) \
	SCALE_FUNCTION(width, scale, in, decimal_in) \
	SCALE_FUNCTION(width, scale, out, decimal_out) \
	SCALE_FUNCTION(width, scale, recv, decimal_recv) \
	SCALE_FUNCTION(width, scale, send, decimal_send) \
	SCALE_FUNCTION(width, scale, from_numeric, numeric_cast) \
	SCALE_FUNCTION(width, scale, from_int2, int2_cast) \
	SCALE_FUNCTION(width, scale, from_int4, int4_cast) \
	SCALE_FUNCTION(width, scale, from_int8, int8_cast) \
	SCALE_FUNCTION(width, scale, from_float4, float4_cast) \
	SCALE_FUNCTION(width, scale, from_float8, float8_cast) \
	SCALE_FUNCTION(width, scale, to_numeric, cast_numeric) \
	SCALE_FUNCTION(width, scale, to_int2, cast_int2) \
	SCALE_FUNCTION(width, scale, to_int4, cast_int4) \
	SCALE_FUNCTION(width, scale, to_int8, cast_int8) \
	SCALE_FUNCTION(width, scale, to_float4, cast_float4) \
	SCALE_FUNCTION(width, scale, to_float8, cast_float8) \
	SCALE_FUNCTION(width, scale, to_json, decimal_json) \
	SCALE_FUNCTION(width, scale, hash, decimal_hash) \
	SCALE_FUNCTION(width, scale, hash_extended, decimal_hash_extended) \
	SCALE_FUNCTION(width, scale, in_range, decimal_in_range_numeric) \
	SCALE_FUNCTION(width, scale, sum, decimal_sum) \
	SCALE_FUNCTION(width, scale, avg, decimal_avg) \
	NUMERIC_FUNCTIONS(compact_decimal##width##_##scale##_numeric, 0, width, scale) \
	NUMERIC_FUNCTIONS(numeric_compact_decimal##width##_##scale, 1, width, scale)

/* SCALES_N: call M(width, scale) for all scales from 0 to N */
#define SCALES_9(M, width) \
	M(width, 0) \
	M(width, 1) \
	M(width, 2) \
	M(width, 3) \
	M(width, 4) \
	M(width, 5) \
	M(width, 6) \
	M(width, 7) \
	M(width, 8) \
	M(width, 9)
#define SCALES_18(M, width) \
	SCALES_9(M, width) \
	M(width, 10) \
	M(width, 11) \
	M(width, 12) \
	M(width, 13) \
	M(width, 14) \
	M(width, 15) \
	M(width, 16) \
	M(width, 17) \
	M(width, 18)

#define ALL_SCALES(width, stored, align, max_scale, ...) \
	StaticAssertDecl(max_scale < lengthof(powers_of_ten), "too few powers of ten"); \
	SCALES_##max_scale(SCALE_FUNCTIONS, width)

DECIMAL_WIDTHS(ALL_SCALES)

/*
 * Functions that do not depend on the scale: compact_decimalW_NAME
 *	eq, ne, lt, le, gt, ge(decimal, decimal) return bool, cmp returns int4
 *	sortsupport(internal) returns void
 *	larger, smaller(decimal, decimal) return the decimal
 *	accum, accum_inv(internal, decimal) return internal: transition functions
 */
#define WIDTH_COMPARISON(width, name, operation) \
	PG_FUNCTION_INFO_V1(compact_decimal##width##_##name); \
	Datum \
	compact_decimal##width##_##name(PG_FUNCTION_ARGS) \
	{ \
		PG_RETURN_BOOL(decimal_value(PG_GETARG_DATUM(0), width) operation \
					   decimal_value(PG_GETARG_DATUM(1), width)); \
	}

#define WIDTH_FUNCTIONS(width, ...) \
	WIDTH_COMPARISON(width, eq, ==) \
	WIDTH_COMPARISON(width, ne, !=) \
	WIDTH_COMPARISON(width, lt, <) \
	WIDTH_COMPARISON(width, le, <=) \
	WIDTH_COMPARISON(width, gt, >) \
	WIDTH_COMPARISON(width, ge, >=) \
	static int \
	decimal##width##_sort_compare(Datum a, Datum b, SortSupport ssup) \
	{ \
		int64		x = decimal_value(a, width); \
		int64		y = decimal_value(b, width); \
		return (x > y) - (x < y); \
	} \
	PG_FUNCTION_INFO_V1(compact_decimal##width##_cmp); \
	Datum \
	compact_decimal##width##_cmp(PG_FUNCTION_ARGS) \
	{ \
		PG_RETURN_INT32(decimal##width##_sort_compare(PG_GETARG_DATUM(0), \
													  PG_GETARG_DATUM(1), NULL)); \
	} \
	PG_FUNCTION_INFO_V1(compact_decimal##width##_larger); \
	Datum \
	compact_decimal##width##_larger(PG_FUNCTION_ARGS) \
	{ \
		return PG_GETARG_DATUM(decimal_value(PG_GETARG_DATUM(0), width) > \
							   decimal_value(PG_GETARG_DATUM(1), width) ? 0 : 1); \
	} \
	PG_FUNCTION_INFO_V1(compact_decimal##width##_smaller); \
	Datum \
	compact_decimal##width##_smaller(PG_FUNCTION_ARGS) \
	{ \
		return PG_GETARG_DATUM(decimal_value(PG_GETARG_DATUM(0), width) < \
							   decimal_value(PG_GETARG_DATUM(1), width) ? 0 : 1); \
	} \
	PG_FUNCTION_INFO_V1(compact_decimal##width##_accum); \
	Datum \
	compact_decimal##width##_accum(PG_FUNCTION_ARGS) \
	{ \
		CompactSum *sum = compact_sum_transition_state(fcinfo); \
		if (!PG_ARGISNULL(1)) \
			compact_sum_add(sum, decimal_value(PG_GETARG_DATUM(1), width)); \
		PG_RETURN_POINTER(sum); \
	} \
	PG_FUNCTION_INFO_V1(compact_decimal##width##_accum_inv); \
	Datum \
	compact_decimal##width##_accum_inv(PG_FUNCTION_ARGS) \
	{ \
		CompactSum *sum = compact_sum_inverse_state(fcinfo); \
		if (!PG_ARGISNULL(1)) \
			compact_sum_subtract(sum, decimal_value(PG_GETARG_DATUM(1), width)); \
		PG_RETURN_POINTER(sum); \
	}

DECIMAL_WIDTHS(WIDTH_FUNCTIONS)

/* use core's sort comparators, for which tuplesort has specialized code */
PG_FUNCTION_INFO_V1(compact_decimal4_sortsupport);
Datum
compact_decimal4_sortsupport(PG_FUNCTION_ARGS)
{
	((SortSupport) PG_GETARG_POINTER(0))->comparator = ssup_datum_int32_cmp;

	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(compact_decimal8_sortsupport);
Datum
compact_decimal8_sortsupport(PG_FUNCTION_ARGS)
{
#if SIZEOF_DATUM >= 8
	((SortSupport) PG_GETARG_POINTER(0))->comparator = ssup_datum_signed_cmp;
#else
	((SortSupport) PG_GETARG_POINTER(0))->comparator = decimal8_sort_compare;
#endif

	PG_RETURN_VOID();
}
