/*-------------------------------------------------------------------------
 *
 * compact_scalar.c
 *	  The narrow integers, as listed in compact_scalar_list.h.
 *
 * The narrow integers have implicit casts to the wider numeric types.  The
 * narrow integers have comparison and arithmetic operators with every integer
 * type.  Arithmetic returns int8 if one operand is int8, or is a narrow type
 * whose values int4 does not hold; otherwise int4.  A difference or product of
 * two columns must not fail because the columns are narrow; the range is
 * checked when a value is stored.  Bitwise operations of a type with itself
 * return that type, because their result is in its range.  The result of a
 * negation, a complement or a shift may be outside the range of an unsigned
 * type, so these operations return the result type of arithmetic.
 *
 * All work is done in 64 bits, so that one expression serves every pair of
 * types.  A datum is sign-extended, as fetch_att() makes it from the row.
 * This applies to unsigned types, too, because some callers compare datums as
 * a whole.  PostgreSQL cannot pass three bytes by value.  So the datum of a
 * value of three bytes is a pointer to these bytes.  The most significant byte
 * comes first on every machine.
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

/*
 * Call M(L, R, result of arithmetic) for all pairs of integer types for which
 * core has no operators.
 *
 * The preprocessor does not expand a macro within its own expansion.  So if a
 * list is nested in the same list, LATER() delays the inner list until the
 * outer list is complete.  EXPAND() then expands the inner list.
 */
#define EMPTY()
#define LATER(macro)	macro EMPTY()
#define EXPAND(...)		__VA_ARGS__
#define NARROW_INTEGERS_LATER()		NARROW_INTEGERS

/* the wider one of two results of arithmetic */
#define WIDER_int4_int4		int4
#define WIDER_int4_int8		int8
#define WIDER_int8_int4		int8
#define WIDER_int8_int8		int8

#define PAIR_WITH_NARROW(right, bytes, min, max, arithmetic, twin, comment, M, left, result) \
	M(left, right, WIDER_##result##_##arithmetic)
#define PAIRS_WITH_CORE(core, bytes, min, max, typid, name, arithmetic, M, narrow, result) \
	M(narrow, core, WIDER_##result##_##arithmetic) \
	M(core, narrow, WIDER_##result##_##arithmetic)
#define PAIRS_OF(left, bytes, min, max, arithmetic, twin, comment, M) \
	LATER(NARROW_INTEGERS_LATER)()(PAIR_WITH_NARROW, M, left, arithmetic) \
	CORE_INTEGERS(PAIRS_WITH_CORE, M, left, arithmetic)
#define NARROW_PAIRS(M) \
	EXPAND(NARROW_INTEGERS(PAIRS_OF, M))

/* T_BYTES: size of the type */
#define INTEGER_BYTES(type, bytes, ...)		type##_BYTES = bytes,

enum
{
	NARROW_INTEGERS(INTEGER_BYTES)
	CORE_INTEGERS(INTEGER_BYTES)
};

/* Convert a datum of a type with the given number of bytes to a value. */
static pg_attribute_always_inline int64
integer_value(Datum datum, int bytes, bool is_signed)
{
	const uint8 *big_endian;

	switch (bytes)
	{
		case 1:
			return is_signed ? (int64) (int8) DatumGetChar(datum) :
				(int64) (uint8) DatumGetChar(datum);
		case 2:
			return is_signed ? (int64) DatumGetInt16(datum) :
				(int64) (uint16) DatumGetInt16(datum);
		case 3:
			big_endian = (const uint8 *) DatumGetPointer(datum);
			if (is_signed)
				return (int8) big_endian[0] * 0x10000 + (big_endian[1] << 8 | big_endian[2]);
			return big_endian[0] << 16 | big_endian[1] << 8 | big_endian[2];
		case 4:
			return is_signed ? (int64) DatumGetInt32(datum) :
				(int64) (uint32) DatumGetInt32(datum);
		default:
			return DatumGetInt64(datum);
	}
}

/*
 * Convert a value in range to a datum of a type with the given number of
 * bytes.  If the type is passed by reference, allocate the bytes in the
 * current memory context.
 */
static pg_attribute_always_inline Datum
integer_datum(int64 value, int bytes)
{
	uint8	   *big_endian;

	switch (bytes)
	{
		case 1:
			return CharGetDatum((char) value);
		case 2:
			return Int16GetDatum((int16) value);
		case 3:
			big_endian = palloc(3);
			big_endian[0] = (uint8) ((uint64) value >> 16);
			big_endian[1] = (uint8) ((uint64) value >> 8);
			big_endian[2] = (uint8) value;
			return PointerGetDatum(big_endian);
		case 4:
			return Int32GetDatum((int32) value);
		default:
			return Int64GetDatum(value);
	}
}

/* Raise the out-of-range error of one of core's types, with core's message. */
static void
out_of_range(const char *type)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("%s out of range", type)));
}

/*
 * Raise the out-of-range error of a narrow type.  value is the text for the
 * message: the input in quotes, or the number.  wide is a type that holds the
 * value; the hint proposes this type.
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

/*
 * Return the type to propose for a value that a narrow type does not hold.
 * The type also holds the values up to max, the greatest one of the narrow
 * type.
 */
static const char *
wide_type(int64 value, int64 max)
{
	return value >= PG_INT32_MIN && Max(value, max) <= PG_INT32_MAX ? "int4" : "int8";
}

/* Return the value, or raise an error if it is out of range. */
static inline int64
check_range(int64 value, int64 min, int64 max, const char *type, bool narrow)
{
	if (unlikely(value < min || value > max))
	{
		if (narrow)
			narrow_out_of_range(psprintf(INT64_FORMAT, value), wide_type(value, max),
								min, max, type, NULL);
		out_of_range(type);
	}

	return value;
}

/*
 * For each integer type T:
 *	T_name(): name in messages
 *	T_value(datum): value of a datum
 *	T_datum(value): datum of a value in range
 *	T_checked(value): datum of any value; error 22003 if it is out of range
 */
#define INTEGER_FUNCTIONS(type, bytes, min, max, name, narrow) \
	static inline const char * \
	type##_name(void) \
	{ \
		return name; \
	} \
	static inline int64 \
	type##_value(Datum datum) \
	{ \
		return integer_value(datum, bytes, (min) < 0); \
	} \
	static inline Datum \
	type##_datum(int64 value) \
	{ \
		return integer_datum(value, bytes); \
	} \
	static inline Datum \
	type##_checked(int64 value) \
	{ \
		return type##_datum(check_range(value, min, max, type##_name(), narrow)); \
	}

/*
 * Stop the compiler at other types, because the functions would not suit them.
 * Wider types would need another hash function, and values that int64 does not
 * hold.  If a type had a smaller range than its bytes hold, the bitwise
 * operators could give a value out of this range.
 */
#define NARROW_INTEGER_FUNCTIONS(type, bytes, min, max, ...) \
	StaticAssertDecl((bytes <= 3 || (bytes == 4 && (min) == 0)) && \
					 ((min) == 0 || (min) == -(INT64CONST(1) << (8 * bytes - 1))) && \
					 (int64) (max) - (min) == (INT64CONST(1) << 8 * bytes) - 1, \
					 #type " does not have the full range of its bytes"); \
	INTEGER_FUNCTIONS(type, bytes, min, max, #type, true)

#define CORE_INTEGER_FUNCTIONS(type, bytes, min, max, typid, name, ...) \
	INTEGER_FUNCTIONS(type, bytes, min, max, name, false)

NARROW_INTEGERS(NARROW_INTEGER_FUNCTIONS)
CORE_INTEGERS(CORE_INTEGER_FUNCTIONS)

/*
 * Input and output
 */

/*
 * Parse an integer from min to max.  Let core parse any notation other than a
 * plain decimal number, because PostgreSQL 16 and later accept more notations,
 * for example 0xff.  Errors go to escontext.
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
							overflow ? "numeric" : wide_type(value, max),
							min, max, type, escontext);
		return 0;
	}

	return value;
}

/*
 * Write the decimal digits of a value of a narrow type with the given number
 * of bytes, and return their number.  The buffer has 12 bytes.
 */
static pg_attribute_always_inline int
integer_out(int64 value, int bytes, char *buffer)
{
	return bytes <= 3 ? pg_ltoa((int32) value, buffer) : pg_lltoa(value, buffer);
}

/* Read an integer in the binary format of a core type with that many bytes. */
static pg_attribute_always_inline int64
receive_integer(StringInfo buf, int bytes)
{
	switch (bytes)
	{
		case 2:
			return (int16) pq_getmsgint(buf, 2);
		case 4:
			return (int32) pq_getmsgint(buf, 4);
		default:
			return pq_getmsgint64(buf);
	}
}

/* Write an integer in that format. */
static pg_attribute_always_inline void
send_integer(StringInfo buf, int64 value, int bytes)
{
	switch (bytes)
	{
		case 2:
			pq_sendint16(buf, (uint16) value);
			break;
		case 4:
			pq_sendint32(buf, (uint32) value);
			break;
		default:
			pq_sendint64(buf, (uint64) value);
	}
}

/*
 * Sorting
 */

/* The abbreviated key distinguishes all values, so abbreviation never needs to be aborted. */
static bool
narrow_abbrev_abort(int memtupcount, SortSupport ssup)
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
		ssup->abbrev_abort = narrow_abbrev_abort;
		ssup->abbrev_full_comparator = comparator;
	}
}

/*
 * For each type T, whose arithmetic gives A (int4 or int8):
 *	compact_T_in(cstring) returns T; errors: 22P02 for bad syntax, 22003
 *	compact_T_out(T) returns cstring
 *	compact_T_recv(internal) returns T: the format of the wide twin; error 22003
 *	compact_T_send(T) returns bytea
 *	compact_T_sortsupport(internal) returns void
 *	compact_T_hash(T) returns int4: the hash of an equal int2, int4 or int8
 *	compact_T_hash_extended(T, int8) returns int8
 *	compact_T_in_range(T, T, int8, bool, bool) returns bool; error 22013 for a
 *		negative offset
 *	compact_T_larger(T, T), compact_T_smaller(T, T) return T
 *	compact_T_um(T) returns A
 *	compact_T_up(T) returns T: its argument
 *	compact_T_abs(T) returns A
 *	compact_T_and(T, T), compact_T_or(T, T), compact_T_xor(T, T) return T
 *	compact_T_not(T) returns A
 *	compact_T_shl(T, int4), compact_T_shr(T, int4) return A, as for type A
 *	compact_T_sum(int8, T) returns int8: transition function, if A is int4;
 *		error 22003
 *	compact_T_accum(internal, T), compact_T_accum_inv(internal, T) return
 *		internal: transition functions
 */
#define NARROW_FUNCTIONS(type, bytes, min, max, arithmetic, twin, ...) \
	PG_FUNCTION_INFO_V1(compact_##type##_in); \
	Datum \
	compact_##type##_in(PG_FUNCTION_ARGS) \
	{ \
		return type##_datum(parse_integer(PG_GETARG_CSTRING(0), min, max, \
										  type##_name(), fcinfo->context)); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_out); \
	Datum \
	compact_##type##_out(PG_FUNCTION_ARGS) \
	{ \
		char	   *result = (char *) palloc(12); \
		integer_out(type##_value(PG_GETARG_DATUM(0)), bytes, result); \
		PG_RETURN_CSTRING(result); \
	} \
	StaticAssertDecl((int) twin##_BYTES > (bytes), #type " needs a wider type"); \
	StaticAssertDecl((int) arithmetic##_BYTES > (bytes), \
					 #type " needs a wider type for results of arithmetic"); \
	PG_FUNCTION_INFO_V1(compact_##type##_recv); \
	Datum \
	compact_##type##_recv(PG_FUNCTION_ARGS) \
	{ \
		StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0); \
		return type##_checked(receive_integer(buf, twin##_BYTES)); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_send); \
	Datum \
	compact_##type##_send(PG_FUNCTION_ARGS) \
	{ \
		StringInfoData buf; \
		pq_begintypsend(&buf); \
		send_integer(&buf, type##_value(PG_GETARG_DATUM(0)), twin##_BYTES); \
		PG_RETURN_BYTEA_P(pq_endtypsend(&buf)); \
	} \
	/* do not compare datums: older JIT code does not sign-extend them */ \
	static int \
	type##_sort_compare(Datum a, Datum b, SortSupport ssup) \
	{ \
		int64		left = type##_value(a); \
		int64		right = type##_value(b); \
		return left < right ? -1 : left > right; \
	} \
	/* the abbreviated key of a type that is passed by reference is the value */ \
	static Datum \
	type##_abbrev_convert(Datum original, SortSupport ssup) \
	{ \
		return Int32GetDatum((int32) type##_value(original)); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_sortsupport); \
	Datum \
	compact_##type##_sortsupport(PG_FUNCTION_ARGS) \
	{ \
		prepare_sort((SortSupport) PG_GETARG_POINTER(0), type##_sort_compare, \
					 INTEGER_BY_REFERENCE(bytes) ? type##_abbrev_convert : NULL); \
		PG_RETURN_VOID(); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_hash); \
	Datum \
	compact_##type##_hash(PG_FUNCTION_ARGS) \
	{ \
		return hash_uint32((uint32) type##_value(PG_GETARG_DATUM(0))); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_hash_extended); \
	Datum \
	compact_##type##_hash_extended(PG_FUNCTION_ARGS) \
	{ \
		return hash_uint32_extended((uint32) type##_value(PG_GETARG_DATUM(0)), \
									PG_GETARG_INT64(1)); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_in_range); \
	Datum \
	compact_##type##_in_range(PG_FUNCTION_ARGS) \
	{ \
		return DirectFunctionCall5(in_range_int8_int8, \
								   Int64GetDatum(type##_value(PG_GETARG_DATUM(0))), \
								   Int64GetDatum(type##_value(PG_GETARG_DATUM(1))), \
								   PG_GETARG_DATUM(2), \
								   PG_GETARG_DATUM(3), \
								   PG_GETARG_DATUM(4)); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_larger); \
	Datum \
	compact_##type##_larger(PG_FUNCTION_ARGS) \
	{ \
		return PG_GETARG_DATUM(type##_value(PG_GETARG_DATUM(0)) > \
							   type##_value(PG_GETARG_DATUM(1)) ? 0 : 1); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_smaller); \
	Datum \
	compact_##type##_smaller(PG_FUNCTION_ARGS) \
	{ \
		return PG_GETARG_DATUM(type##_value(PG_GETARG_DATUM(0)) < \
							   type##_value(PG_GETARG_DATUM(1)) ? 0 : 1); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_um); \
	Datum \
	compact_##type##_um(PG_FUNCTION_ARGS) \
	{ \
		return arithmetic##_datum(-type##_value(PG_GETARG_DATUM(0))); \
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
		int64		value = type##_value(PG_GETARG_DATUM(0)); \
		return arithmetic##_datum(value < 0 ? -value : value); \
	} \
	BIT_FUNCTION(type, and, &) \
	BIT_FUNCTION(type, or, |) \
	BIT_FUNCTION(type, xor, ^) \
	PG_FUNCTION_INFO_V1(compact_##type##_not); \
	Datum \
	compact_##type##_not(PG_FUNCTION_ARGS) \
	{ \
		return arithmetic##_datum(~type##_value(PG_GETARG_DATUM(0))); \
	} \
	SHIFT_FUNCTION(type, arithmetic, shl) \
	SHIFT_FUNCTION(type, arithmetic, shr) \
	SUM_FUNCTION_##arithmetic(type) \
	PG_FUNCTION_INFO_V1(compact_##type##_accum); \
	Datum \
	compact_##type##_accum(PG_FUNCTION_ARGS) \
	{ \
		CompactSum *sum = compact_sum_transition_state(fcinfo); \
		if (!PG_ARGISNULL(1)) \
			compact_sum_add(sum, type##_value(PG_GETARG_DATUM(1))); \
		PG_RETURN_POINTER(sum); \
	} \
	PG_FUNCTION_INFO_V1(compact_##type##_accum_inv); \
	Datum \
	compact_##type##_accum_inv(PG_FUNCTION_ARGS) \
	{ \
		CompactSum *sum = compact_sum_inverse_state(fcinfo); \
		if (!PG_ARGISNULL(1)) \
			compact_sum_subtract(sum, type##_value(PG_GETARG_DATUM(1))); \
		PG_RETURN_POINTER(sum); \
	}

/* a bitwise combination of two values of a type is a value of that type */
#define BIT_FUNCTION(type, name, operation) \
	PG_FUNCTION_INFO_V1(compact_##type##_##name); \
	Datum \
	compact_##type##_##name(PG_FUNCTION_ARGS) \
	{ \
		return type##_datum(type##_value(PG_GETARG_DATUM(0)) operation \
							type##_value(PG_GETARG_DATUM(1))); \
	}

#define SUM_FUNCTION_int4(type) \
	PG_FUNCTION_INFO_V1(compact_##type##_sum); \
	Datum \
	compact_##type##_sum(PG_FUNCTION_ARGS) \
	{ \
		return add_to_sum(fcinfo, PG_ARGISNULL(1) ? 0 : type##_value(PG_GETARG_DATUM(1))); \
	}

#define SUM_FUNCTION_int8(type)

#define SHIFT_FUNCTION(type, arithmetic, name) \
	PG_FUNCTION_INFO_V1(compact_##type##_##name); \
	Datum \
	compact_##type##_##name(PG_FUNCTION_ARGS) \
	{ \
		return DirectFunctionCall2(arithmetic##name, \
								   arithmetic##_datum(type##_value(PG_GETARG_DATUM(0))), \
								   PG_GETARG_DATUM(1)); \
	}

/*
 * Transition function of sum().  value is the second argument.  If the second
 * argument is NULL, value has no meaning.
 */
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
		out_of_range(int8_name());

	PG_RETURN_INT64(sum);
}

NARROW_INTEGERS(NARROW_FUNCTIONS)

/*
 * Comparison: compact_L_R_eq(L, R) and so on return bool, compact_L_R_cmp(L, R)
 * returns int4.
 */
#define COMPARE(left, right, operation) \
	(left##_value(PG_GETARG_DATUM(0)) operation right##_value(PG_GETARG_DATUM(1)))

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
	/* the smallest int64 divided by -1 overflows, and some machines trap */
	if (b == -1)
		return integer_mi(0, a, type);

	return a / b;
}

static inline int64
integer_mod(int64 a, int64 b, const char *type)
{
	check_divisor(b);
	/* some machines trap for the smallest int64 modulo -1 */
	if (b == -1)
		return 0;

	return a % b;
}

#define ARITHMETIC_FUNCTION(left, right, result, name) \
	PG_FUNCTION_INFO_V1(compact_##left##_##right##_##name); \
	Datum \
	compact_##left##_##right##_##name(PG_FUNCTION_ARGS) \
	{ \
		return result##_checked(integer_##name(left##_value(PG_GETARG_DATUM(0)), \
											   right##_value(PG_GETARG_DATUM(1)), \
											   result##_name())); \
	}

#define ARITHMETIC_FUNCTIONS(left, right, result) \
	ARITHMETIC_FUNCTION(left, right, result, pl) \
	ARITHMETIC_FUNCTION(left, right, result, mi) \
	ARITHMETIC_FUNCTION(left, right, result, mul) \
	ARITHMETIC_FUNCTION(left, right, result, div) \
	ARITHMETIC_FUNCTION(left, right, result, mod)

NARROW_PAIRS(ARITHMETIC_FUNCTIONS)

/*
 * Arithmetic with integer_literal and integer_operand.  Values of these types
 * are stored as int8, but the result of arithmetic has the same type as with
 * an operand of type int4.
 */
#define literal_value(datum)	int8_value(datum)

#define LITERAL_FUNCTIONS(type, bytes, min, max, arithmetic, ...) \
	ARITHMETIC_FUNCTIONS(type, literal, arithmetic) \
	ARITHMETIC_FUNCTIONS(literal, type, arithmetic)

NARROW_INTEGERS(LITERAL_FUNCTIONS)

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
	/* the number is far out of every narrow range; also refuse NaN */
	if (unlikely(!(fabs(number) < 1e15)))
		narrow_out_of_range(psprintf("%g", number), "numeric", min, max, type, NULL);

	return (int64) rint(number);
}

#define numeric_datum(value)	NumericGetDatum(int64_to_numeric(value))
#define float4_datum(value)		Float4GetDatum((float4) (value))
#define float8_datum(value)		Float8GetDatum((float8) (value))

#define CAST_FUNCTION(source, target, result) \
	PG_FUNCTION_INFO_V1(compact_cast_##source##_##target); \
	Datum \
	compact_cast_##source##_##target(PG_FUNCTION_ARGS) \
	{ \
		return result; \
	}

/* also defines the cast of a type to itself, which no SQL function uses */
#define INTEGER_CAST(source, target, result) \
	CAST_FUNCTION(source, target, target##_checked(source##_value(PG_GETARG_DATUM(0))))

#define OTHER_CASTS(type, bytes, min, max, ...) \
	CAST_FUNCTION(numeric, type, \
				  type##_checked(numeric_value(PG_GETARG_DATUM(0), min, max, type##_name()))) \
	CAST_FUNCTION(float4, type, \
				  type##_checked(float8_value((float8) PG_GETARG_FLOAT4(0), min, max, type##_name()))) \
	CAST_FUNCTION(float8, type, \
				  type##_checked(float8_value(PG_GETARG_FLOAT8(0), min, max, type##_name()))) \
	CAST_FUNCTION(type, numeric, numeric_datum(type##_value(PG_GETARG_DATUM(0)))) \
	CAST_FUNCTION(type, float4, float4_datum(type##_value(PG_GETARG_DATUM(0)))) \
	CAST_FUNCTION(type, float8, float8_datum(type##_value(PG_GETARG_DATUM(0)))) \
	PG_FUNCTION_INFO_V1(compact_cast_##type##_json); \
	Datum \
	compact_cast_##type##_json(PG_FUNCTION_ARGS) \
	{ \
		char		digits[12]; \
		int			len = integer_out(type##_value(PG_GETARG_DATUM(0)), bytes, digits); \
		PG_RETURN_TEXT_P(cstring_to_text_with_len(digits, len)); \
	}

NARROW_PAIRS(INTEGER_CAST)
NARROW_INTEGERS(OTHER_CASTS)
