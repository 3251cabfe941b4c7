/*-------------------------------------------------------------------------
 *
 * compact_scalar.c
 *	  Integers that are narrower than int4: int1, uint1, uint2, uint3.
 *
 * They have implicit casts to the wider numeric types, and comparison and
 * arithmetic with every integer type.  Arithmetic gives int4, with int8 it
 * gives int8.  A difference or product of two columns must not fail because
 * the columns are narrow; the range is checked when a value is stored.
 * Bitwise operations of a type with itself give that type, because they do not
 * leave its range.  Negation, complement and shifts would leave the range of
 * an unsigned type; they give int4.
 *
 * All work is done in 64 bits, so that one expression serves every pair of
 * types.  A value is passed as fetch_att() makes it from the row:
 * sign-extended, even if the type is unsigned, because some callers compare
 * datums as a whole.  Three bytes cannot be passed by value.  So a uint3 is a
 * pointer to three bytes, the most significant first on every machine.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_scalar.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>
#include <math.h>

#include "common/hashfn.h"
#include "common/int.h"
#include "libpq/pqformat.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/sortsupport.h"

#include "compact_scalar.h"
#include "compact_types_compat.h"

/* for each narrow type: bytes in binary format, converter to abbreviated keys */
#define NARROW_TYPES(M) \
	M(int1, 2, NULL) \
	M(uint1, 2, NULL) \
	M(uint2, 4, NULL) \
	M(uint3, 4, uint3_abbrev_convert)

/* all pairs of integer types for which core has no operators */
#define NARROW_PAIRS(M) \
	M(int1, int1, int4) \
	M(int1, uint1, int4) \
	M(int1, uint2, int4) \
	M(int1, uint3, int4) \
	M(int1, int2, int4) \
	M(int1, int4, int4) \
	M(int1, int8, int8) \
	M(uint1, int1, int4) \
	M(uint1, uint1, int4) \
	M(uint1, uint2, int4) \
	M(uint1, uint3, int4) \
	M(uint1, int2, int4) \
	M(uint1, int4, int4) \
	M(uint1, int8, int8) \
	M(uint2, int1, int4) \
	M(uint2, uint1, int4) \
	M(uint2, uint2, int4) \
	M(uint2, uint3, int4) \
	M(uint2, int2, int4) \
	M(uint2, int4, int4) \
	M(uint2, int8, int8) \
	M(uint3, int1, int4) \
	M(uint3, uint1, int4) \
	M(uint3, uint2, int4) \
	M(uint3, uint3, int4) \
	M(uint3, int2, int4) \
	M(uint3, int4, int4) \
	M(uint3, int8, int8) \
	M(int2, int1, int4) \
	M(int2, uint1, int4) \
	M(int2, uint2, int4) \
	M(int2, uint3, int4) \
	M(int4, int1, int4) \
	M(int4, uint1, int4) \
	M(int4, uint2, int4) \
	M(int4, uint3, int4) \
	M(int8, int1, int8) \
	M(int8, uint1, int8) \
	M(int8, uint2, int8) \
	M(int8, uint3, int8)

#define int1_MIN	PG_INT8_MIN
#define int1_MAX	PG_INT8_MAX
#define uint1_MIN	0
#define uint1_MAX	PG_UINT8_MAX
#define uint2_MIN	0
#define uint2_MAX	PG_UINT16_MAX
#define uint3_MIN	0
#define uint3_MAX	0xFFFFFF
#define int2_MIN	PG_INT16_MIN
#define int2_MAX	PG_INT16_MAX
#define int4_MIN	PG_INT32_MIN
#define int4_MAX	PG_INT32_MAX
#define int8_MIN	PG_INT64_MIN
#define int8_MAX	PG_INT64_MAX

/* names of the types in messages */
#define int1_NAME	"int1"
#define uint1_NAME	"uint1"
#define uint2_NAME	"uint2"
#define uint3_NAME	"uint3"
#define int2_NAME	"smallint"
#define int4_NAME	"integer"
#define int8_NAME	"bigint"

/* is it a type of this extension? */
#define int1_NARROW		true
#define uint1_NARROW	true
#define uint2_NARROW	true
#define uint3_NARROW	true
#define int2_NARROW		false
#define int4_NARROW		false
#define int8_NARROW		false

/* datum to value */
#define int1_VALUE(datum)	((int64) (int8) DatumGetChar(datum))
#define uint1_VALUE(datum)	((int64) (uint8) DatumGetChar(datum))
#define uint2_VALUE(datum)	((int64) (uint16) DatumGetInt16(datum))
#define uint3_VALUE(datum)	uint3_value(datum)
#define int2_VALUE(datum)	((int64) DatumGetInt16(datum))
#define int4_VALUE(datum)	((int64) DatumGetInt32(datum))
#define int8_VALUE(datum)	DatumGetInt64(datum)

/* value in range to datum */
#define int1_DATUM(value)	CharGetDatum((char) (value))
#define uint1_DATUM(value)	CharGetDatum((char) (value))
#define uint2_DATUM(value)	Int16GetDatum((int16) (value))
#define uint3_DATUM(value)	uint3_datum(value)
#define int2_DATUM(value)	Int16GetDatum((int16) (value))
#define int4_DATUM(value)	Int32GetDatum((int32) (value))
#define int8_DATUM(value)	Int64GetDatum(value)

static inline int64
uint3_value(Datum datum)
{
	const uint8 *bytes = (const uint8 *) DatumGetPointer(datum);

	return bytes[0] << 16 | bytes[1] << 8 | bytes[2];
}

/* Return the datum of a value in range, allocated in the current context. */
static inline Datum
uint3_datum(int64 value)
{
	uint8	   *bytes = palloc(3);

	bytes[0] = (uint8) (value >> 16);
	bytes[1] = (uint8) (value >> 8);
	bytes[2] = (uint8) value;

	return PointerGetDatum(bytes);
}

/* Raise the error of one of core's types, with core's message. */
static void
out_of_range(const char *type)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("%s out of range", type)));
}

/*
 * Raise the error of a narrow type.  value is the input in quotes, or the
 * value; wide is a type that holds it.
 */
static void
narrow_out_of_range(const char *value, const char *wide, int64 min, int64 max,
					const char *type, struct Node *escontext)
{
	ereturn(escontext,,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("value %s is out of range for type %s", value, type),
			 errdetail("The type holds values from %lld to %lld.",
					   (long long) min, (long long) max),
			 compact_range_hint(wide)));
}

/* Return the type to propose for a value that a narrow type does not hold. */
static const char *
wide_type(int64 value)
{
	return value >= PG_INT32_MIN && value <= PG_INT32_MAX ? "int4" : "int8";
}

/* Return the value, or raise an error if it is out of range. */
static inline int64
check_range(int64 value, int64 min, int64 max, const char *type, bool narrow)
{
	if (unlikely(value < min || value > max))
	{
		if (narrow)
			narrow_out_of_range(psprintf(INT64_FORMAT, value), wide_type(value),
								min, max, type, NULL);
		out_of_range(type);
	}

	return value;
}

#define RETURN_INTEGER(type, value) \
	return type##_DATUM(check_range(value, type##_MIN, type##_MAX, type##_NAME, type##_NARROW))

/*
 * Input and output
 */

/*
 * Parse an integer from min to max.  Leave any notation other than a plain
 * decimal number to core, which knows more notations from 16 on.  Errors go to
 * escontext.
 */
static int64
parse_integer(const char *str, int64 min, int64 max, const char *type,
			  struct Node *escontext)
{
	const char *p = str;
	bool		negative = false;
	bool		overflow = false;
	int64		value = 0;

	while (isspace((unsigned char) *p))
		p++;
	if (*p == '-' || *p == '+')
		negative = (*p++ == '-');
	if (isdigit((unsigned char) *p))
	{
		for (; isdigit((unsigned char) *p); p++)
		{
			if (unlikely(pg_mul_s64_overflow(value, 10, &value) ||
						 pg_add_s64_overflow(value, *p - '0', &value)))
			{
				overflow = true;
				value = 0;
			}
		}
		while (isspace((unsigned char) *p))
			p++;
	}
	else
		value = -1;

	if (*p != '\0' || value < 0)
	{
		if (!compat_parse_int64(str, &value, &overflow))
			ereturn(escontext, 0,
					(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					 errmsg("invalid input syntax for type %s: \"%s\"",
							type, str)));
	}
	else if (negative)
		value = -value;

	if (overflow || value < min || value > max)
	{
		narrow_out_of_range(psprintf("\"%s\"", str),
							overflow ? "numeric" : wide_type(value),
							min, max, type, escontext);
		return 0;
	}

	return value;
}

/*
 * Sorting
 */

/* The abbreviated key of a type that is passed by reference is the number itself. */
static Datum
uint3_abbrev_convert(Datum original, SortSupport ssup)
{
	return Int32GetDatum((int32) uint3_VALUE(original));
}

/* The key distinguishes all values, so abbreviation never needs to be aborted. */
static bool
uint3_abbrev_abort(int memtupcount, SortSupport ssup)
{
	return false;
}

static void
prepare_sort(SortSupport ssup,
			 int (*comparator) (Datum a, Datum b, SortSupport ssup),
			 Datum (*abbrev_convert) (Datum original, SortSupport ssup))
{
	ssup->comparator = comparator;
	if (ssup->abbreviate && abbrev_convert != NULL)
	{
		ssup->comparator = ssup_datum_int32_cmp;
		ssup->abbrev_converter = abbrev_convert;
		ssup->abbrev_abort = uint3_abbrev_abort;
		ssup->abbrev_full_comparator = comparator;
	}
}

/*
 * For each type T:
 *	compact_T_in(cstring) returns T; errors: 22P02 for bad syntax, 22003
 *	compact_T_out(T) returns cstring
 *	compact_T_recv(internal) returns T: the format of int2 or int4; error 22003
 *	compact_T_send(T) returns bytea
 *	compact_T_sortsupport(internal) returns void
 *	compact_T_hash(T) returns int4: the hash of the equal int2, int4, int8
 *	compact_T_hash_extended(T, int8) returns int8
 *	compact_T_in_range(T, T, int8, bool, bool) returns bool; error 22013 for a
 *		negative offset
 *	compact_T_larger(T, T), compact_T_smaller(T, T) return T
 *	compact_T_um(T) returns int4
 *	compact_T_up(T) returns T, the same
 *	compact_T_abs(T) returns int4
 *	compact_T_and(T, T), compact_T_or(T, T), compact_T_xor(T, T) return T
 *	compact_T_not(T) returns int4
 *	compact_T_shl(T, int4), compact_T_shr(T, int4) return int4, as int4 does it
 *	compact_T_sum(int8, T) returns int8: transition function; error 22003
 *	compact_T_accum(internal, T), compact_T_accum_inv(internal, T) return
 *		internal: transition functions
 */
#define NARROW_FUNCTIONS(type, wire_bytes, abbrev) \
	PG_FUNCTION_INFO_V1(compact_##type##_in); \
	Datum \
	compact_##type##_in(PG_FUNCTION_ARGS) \
	{ \
		return type##_DATUM(parse_integer(PG_GETARG_CSTRING(0), \
										  type##_MIN, type##_MAX, \
										  type##_NAME, fcinfo->context)); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_out); \
	Datum \
	compact_##type##_out(PG_FUNCTION_ARGS) \
	{ \
		char	   *result = (char *) palloc(12); \
		pg_ltoa((int32) type##_VALUE(PG_GETARG_DATUM(0)), result); \
		PG_RETURN_CSTRING(result); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_recv); \
	Datum \
	compact_##type##_recv(PG_FUNCTION_ARGS) \
	{ \
		StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0); \
		uint32		wire = pq_getmsgint(buf, wire_bytes); \
		int64		value = wire_bytes == 2 ? (int64) (int16) wire : (int64) (int32) wire; \
		RETURN_INTEGER(type, value); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_send); \
	Datum \
	compact_##type##_send(PG_FUNCTION_ARGS) \
	{ \
		StringInfoData buf; \
		pq_begintypsend(&buf); \
		pq_sendint(&buf, (uint32) type##_VALUE(PG_GETARG_DATUM(0)), wire_bytes); \
		PG_RETURN_BYTEA_P(pq_endtypsend(&buf)); \
	} \
	static int \
	type##_sort_compare(Datum a, Datum b, SortSupport ssup) \
	{ \
		return (int) type##_VALUE(a) - (int) type##_VALUE(b); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_sortsupport); \
	Datum \
	compact_##type##_sortsupport(PG_FUNCTION_ARGS) \
	{ \
		prepare_sort((SortSupport) PG_GETARG_POINTER(0), type##_sort_compare, abbrev); \
		PG_RETURN_VOID(); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_hash); \
	Datum \
	compact_##type##_hash(PG_FUNCTION_ARGS) \
	{ \
		return hash_uint32((uint32) type##_VALUE(PG_GETARG_DATUM(0))); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_hash_extended); \
	Datum \
	compact_##type##_hash_extended(PG_FUNCTION_ARGS) \
	{ \
		return hash_uint32_extended((uint32) type##_VALUE(PG_GETARG_DATUM(0)), \
									PG_GETARG_INT64(1)); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_in_range); \
	Datum \
	compact_##type##_in_range(PG_FUNCTION_ARGS) \
	{ \
		return DirectFunctionCall5(in_range_int8_int8, \
								   Int64GetDatum(type##_VALUE(PG_GETARG_DATUM(0))), \
								   Int64GetDatum(type##_VALUE(PG_GETARG_DATUM(1))), \
								   PG_GETARG_DATUM(2), \
								   PG_GETARG_DATUM(3), \
								   PG_GETARG_DATUM(4)); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_larger); \
	Datum \
	compact_##type##_larger(PG_FUNCTION_ARGS) \
	{ \
		return PG_GETARG_DATUM(type##_VALUE(PG_GETARG_DATUM(0)) > \
							   type##_VALUE(PG_GETARG_DATUM(1)) ? 0 : 1); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_smaller); \
	Datum \
	compact_##type##_smaller(PG_FUNCTION_ARGS) \
	{ \
		return PG_GETARG_DATUM(type##_VALUE(PG_GETARG_DATUM(0)) < \
							   type##_VALUE(PG_GETARG_DATUM(1)) ? 0 : 1); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_um); \
	Datum \
	compact_##type##_um(PG_FUNCTION_ARGS) \
	{ \
		PG_RETURN_INT32((int32) -type##_VALUE(PG_GETARG_DATUM(0))); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_up); \
	Datum \
	compact_##type##_up(PG_FUNCTION_ARGS) \
	{ \
		return PG_GETARG_DATUM(0); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_abs); \
	Datum \
	compact_##type##_abs(PG_FUNCTION_ARGS) \
	{ \
		int64		value = type##_VALUE(PG_GETARG_DATUM(0)); \
		PG_RETURN_INT32((int32) (value < 0 ? -value : value)); \
	} \
	BIT_FUNCTION(type, and, &) \
	BIT_FUNCTION(type, or, |) \
	BIT_FUNCTION(type, xor, ^) \
	PG_FUNCTION_INFO_V1(compact_##type##_not); \
	Datum \
	compact_##type##_not(PG_FUNCTION_ARGS) \
	{ \
		PG_RETURN_INT32((int32) ~type##_VALUE(PG_GETARG_DATUM(0))); \
	} \
	SHIFT_FUNCTION(type, shl) \
	SHIFT_FUNCTION(type, shr) \
	PG_FUNCTION_INFO_V1(compact_##type##_sum); \
	Datum \
	compact_##type##_sum(PG_FUNCTION_ARGS) \
	{ \
		return add_to_sum(fcinfo, PG_ARGISNULL(1) ? 0 : type##_VALUE(PG_GETARG_DATUM(1))); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_accum); \
	Datum \
	compact_##type##_accum(PG_FUNCTION_ARGS) \
	{ \
		CompactSum *sum = compact_sum_transition_state(fcinfo); \
		if (!PG_ARGISNULL(1)) \
			compact_sum_add(sum, type##_VALUE(PG_GETARG_DATUM(1))); \
		PG_RETURN_POINTER(sum); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_accum_inv); \
	Datum \
	compact_##type##_accum_inv(PG_FUNCTION_ARGS) \
	{ \
		CompactSum *sum = compact_sum_inverse_state(fcinfo); \
		if (!PG_ARGISNULL(1)) \
			compact_sum_subtract(sum, type##_VALUE(PG_GETARG_DATUM(1))); \
		PG_RETURN_POINTER(sum); \
	}

/* a bitwise combination of two values of a type is a value of that type */
#define BIT_FUNCTION(type, name, operation) \
	PG_FUNCTION_INFO_V1(compact_##type##_##name); \
	Datum \
	compact_##type##_##name(PG_FUNCTION_ARGS) \
	{ \
		return type##_DATUM(type##_VALUE(PG_GETARG_DATUM(0)) operation \
							type##_VALUE(PG_GETARG_DATUM(1))); \
	}

#define SHIFT_FUNCTION(type, name) \
	PG_FUNCTION_INFO_V1(compact_##type##_##name); \
	Datum \
	compact_##type##_##name(PG_FUNCTION_ARGS) \
	{ \
		return DirectFunctionCall2(int4##name, \
								   Int32GetDatum((int32) type##_VALUE(PG_GETARG_DATUM(0))), \
								   PG_GETARG_DATUM(1)); \
	}

/* Transition function of sum().  value is the second argument, unless that is NULL. */
static inline Datum
add_to_sum(FunctionCallInfo fcinfo, int64 value)
{
	int64		sum;

	if (PG_ARGISNULL(0))
	{
		if (PG_ARGISNULL(1))
			PG_RETURN_NULL();
		PG_RETURN_INT64(value);
	}
	if (unlikely(pg_add_s64_overflow(PG_GETARG_INT64(0), value, &sum)))
		out_of_range(int8_NAME);

	PG_RETURN_INT64(sum);
}

NARROW_TYPES(NARROW_FUNCTIONS)

/*
 * Comparison: compact_L_R_eq(L, R) and so on return bool, compact_L_R_cmp(L, R)
 * returns int4.
 */
#define COMPARE(left, right, operation) \
	(left##_VALUE(PG_GETARG_DATUM(0)) operation right##_VALUE(PG_GETARG_DATUM(1)))

#define COMPARISON_FUNCTION(left, right, name, operation) \
	PG_FUNCTION_INFO_V1(compact_##left##_##right##_##name); \
	Datum \
	compact_##left##_##right##_##name(PG_FUNCTION_ARGS) \
	{ \
		PG_RETURN_BOOL(COMPARE(left, right, operation)); \
	}

#define COMPARISON_FUNCTIONS(left, right, result) \
	COMPARISON_FUNCTION(left, right, eq, ==) \
	COMPARISON_FUNCTION(left, right, ne, !=) \
	COMPARISON_FUNCTION(left, right, lt, <) \
	COMPARISON_FUNCTION(left, right, le, <=) \
	COMPARISON_FUNCTION(left, right, gt, >) \
	COMPARISON_FUNCTION(left, right, ge, >=) \
	PG_FUNCTION_INFO_V1(compact_##left##_##right##_cmp); \
	Datum \
	compact_##left##_##right##_cmp(PG_FUNCTION_ARGS) \
	{ \
		PG_RETURN_INT32(COMPARE(left, right, >) - COMPARE(left, right, <)); \
	}

NARROW_PAIRS(COMPARISON_FUNCTIONS)
COMPARISON_FUNCTIONS(int8, int8, int8)

/*
 * Arithmetic: compact_L_R_pl(L, R) and so on return the type that NARROW_PAIRS
 * names.  Errors: 22003 for a result out of range, 22012 for a division by zero.
 */
static inline int64
integer_pl(int64 a, int64 b, const char *type)
{
	int64		result;

	if (unlikely(pg_add_s64_overflow(a, b, &result)))
		out_of_range(type);

	return result;
}

static inline int64
integer_mi(int64 a, int64 b, const char *type)
{
	int64		result;

	if (unlikely(pg_sub_s64_overflow(a, b, &result)))
		out_of_range(type);

	return result;
}

static inline int64
integer_mul(int64 a, int64 b, const char *type)
{
	int64		result;

	if (unlikely(pg_mul_s64_overflow(a, b, &result)))
		out_of_range(type);

	return result;
}

static inline void
check_divisor(int64 b)
{
	if (unlikely(b == 0))
		ereport(ERROR,
				(errcode(ERRCODE_DIVISION_BY_ZERO),
				 errmsg("division by zero")));
}

static inline int64
integer_div(int64 a, int64 b, const char *type)
{
	check_divisor(b);
	/* the smallest number has no counterpart, so the division would trap */
	if (b == -1)
		return integer_mi(0, a, type);

	return a / b;
}

static inline int64
integer_mod(int64 a, int64 b, const char *type)
{
	check_divisor(b);
	/* some machines trap for the smallest number */
	if (b == -1)
		return 0;

	return a % b;
}

#define ARITHMETIC_FUNCTION(left, right, result, name) \
	PG_FUNCTION_INFO_V1(compact_##left##_##right##_##name); \
	Datum \
	compact_##left##_##right##_##name(PG_FUNCTION_ARGS) \
	{ \
		RETURN_INTEGER(result, integer_##name(left##_VALUE(PG_GETARG_DATUM(0)), \
											  right##_VALUE(PG_GETARG_DATUM(1)), \
											  result##_NAME)); \
	}

#define ARITHMETIC_FUNCTIONS(left, right, result) \
	ARITHMETIC_FUNCTION(left, right, result, pl) \
	ARITHMETIC_FUNCTION(left, right, result, mi) \
	ARITHMETIC_FUNCTION(left, right, result, mul) \
	ARITHMETIC_FUNCTION(left, right, result, div) \
	ARITHMETIC_FUNCTION(left, right, result, mod)

NARROW_PAIRS(ARITHMETIC_FUNCTIONS)

/*
 * Arithmetic with integer_literal and integer_operand.  They are stored as
 * int8, but the result is that of arithmetic with int4.
 */
#define literal_VALUE(datum)	int8_VALUE(datum)

#define LITERAL_FUNCTIONS(type, wire_bytes, abbrev) \
	ARITHMETIC_FUNCTIONS(type, literal, int4) \
	ARITHMETIC_FUNCTIONS(literal, type, int4)

NARROW_TYPES(LITERAL_FUNCTIONS)

/*
 * Casts: compact_cast_SOURCE_TARGET(SOURCE) returns TARGET.  A cast to a
 * narrower type raises error 22003 for a value out of range.  It rounds
 * numeric and floating point as a cast to int4 does.  The cast to json gives a
 * number.
 */
static int64
numeric_value(Datum datum, int64 min, int64 max, const char *type)
{
	int64		value = 0;

	switch (compact_decimal_from_numeric(DatumGetNumeric(datum), 0, &value))
	{
		case DECIMAL_OK:
			break;
		case DECIMAL_NAN:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot convert NaN to %s", type)));
			break;
		case DECIMAL_INFINITY:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot convert infinity to %s", type)));
			break;
		default:
			narrow_out_of_range(compact_numeric_for_message(DatumGetNumeric(datum)),
								"numeric", min, max, type, NULL);
	}

	return value;
}

static int64
float8_value(float8 number, int64 min, int64 max, const char *type)
{
	/* far outside of every narrow type; NaN does not pass this test either */
	if (unlikely(!(fabs(number) < 1e15)))
		narrow_out_of_range(psprintf("%g", number), "numeric", min, max, type, NULL);

	return (int64) rint(number);
}

#define numeric_DATUM(value)	NumericGetDatum(int64_to_numeric(value))
#define float4_DATUM(value)		Float4GetDatum((float4) (value))
#define float8_DATUM(value)		Float8GetDatum((float8) (value))

#define CAST_FUNCTION(source, target, value) \
	PG_FUNCTION_INFO_V1(compact_cast_##source##_##target); \
	Datum \
	compact_cast_##source##_##target(PG_FUNCTION_ARGS) \
	{ \
		RETURN_INTEGER(target, value); \
	}

#define NARROWING_CAST(source, target) \
	CAST_FUNCTION(source, target, source##_VALUE(PG_GETARG_DATUM(0)))

#define WIDENING_CAST(source, target) \
	PG_FUNCTION_INFO_V1(compact_cast_##source##_##target); \
	Datum \
	compact_cast_##source##_##target(PG_FUNCTION_ARGS) \
	{ \
		return target##_DATUM(source##_VALUE(PG_GETARG_DATUM(0))); \
	}

#define NARROW_CASTS(type, wire_bytes, abbrev) \
	NARROWING_CAST(int2, type) \
	NARROWING_CAST(int4, type) \
	NARROWING_CAST(int8, type) \
	CAST_FUNCTION(numeric, type, numeric_value(PG_GETARG_DATUM(0), type##_MIN, type##_MAX, type##_NAME)) \
	CAST_FUNCTION(float4, type, float8_value((float8) PG_GETARG_FLOAT4(0), type##_MIN, type##_MAX, type##_NAME)) \
	CAST_FUNCTION(float8, type, float8_value(PG_GETARG_FLOAT8(0), type##_MIN, type##_MAX, type##_NAME)) \
	NARROWING_CAST(type, int2) \
	WIDENING_CAST(type, int4) \
	WIDENING_CAST(type, int8) \
	WIDENING_CAST(type, numeric) \
	WIDENING_CAST(type, float4) \
	WIDENING_CAST(type, float8) \
	PG_FUNCTION_INFO_V1(compact_cast_##type##_json); \
	Datum \
	compact_cast_##type##_json(PG_FUNCTION_ARGS) \
	{ \
		char		digits[12]; \
		int			len = pg_ltoa((int32) type##_VALUE(PG_GETARG_DATUM(0)), digits); \
		PG_RETURN_TEXT_P(cstring_to_text_with_len(digits, len)); \
	}

NARROW_TYPES(NARROW_CASTS)
NARROWING_CAST(int1, uint1)
NARROWING_CAST(int1, uint2)
NARROWING_CAST(int1, uint3)
NARROWING_CAST(uint1, int1)
NARROWING_CAST(uint1, uint2)
NARROWING_CAST(uint1, uint3)
NARROWING_CAST(uint2, int1)
NARROWING_CAST(uint2, uint1)
NARROWING_CAST(uint2, uint3)
NARROWING_CAST(uint3, int1)
NARROWING_CAST(uint3, uint1)
NARROWING_CAST(uint3, uint2)
