/*-------------------------------------------------------------------------
 *
 * compact_sum.c
 *	  The transition state of sum() and avg() of the narrow scalar types.
 *
 * A value is at most 64 bits wide.  So a sum of 128 bits needs neither numeric
 * arithmetic nor an overflow check for each row.  The sum is kept in two
 * halves, because not every compiler has a type of 128 bits.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_sum.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "compact_scalar.h"
#include "compact_types_compat.h"

/* Return the state of a transition function; create it for the first value. */
CompactSum *
compact_sum_transition_state(FunctionCallInfo fcinfo)
{
	MemoryContext aggcontext;

	if (!AggCheckCallContext(fcinfo, &aggcontext))
		elog(ERROR, "aggregate function called in non-aggregate context");
	if (PG_ARGISNULL(0))
		return (CompactSum *) MemoryContextAllocZero(aggcontext, sizeof(CompactSum));

	return (CompactSum *) PG_GETARG_POINTER(0);
}

/* Return the state of an inverse transition function. */
CompactSum *
compact_sum_inverse_state(FunctionCallInfo fcinfo)
{
	/* an inverse transition only removes values that were added before */
	if (PG_ARGISNULL(0) || !AggCheckCallContext(fcinfo, NULL))
		elog(ERROR, "inverse transition function called without a state");

	return (CompactSum *) PG_GETARG_POINTER(0);
}

/* Return the state of a final function, or NULL if there was no value. */
const CompactSum *
compact_sum_final_state(FunctionCallInfo fcinfo)
{
	const CompactSum *sum;

	if (!AggCheckCallContext(fcinfo, NULL))
		elog(ERROR, "aggregate function called in non-aggregate context");
	if (PG_ARGISNULL(0))
		return NULL;
	sum = (const CompactSum *) PG_GETARG_POINTER(0);

	return sum->count == 0 ? NULL : sum;
}

static Numeric
multiply(Numeric a, Numeric b)
{
	return DatumGetNumeric(DirectFunctionCall2(numeric_mul, NumericGetDatum(a),
											   NumericGetDatum(b)));
}

static Numeric
add(Numeric a, Numeric b)
{
	return DatumGetNumeric(DirectFunctionCall2(numeric_add, NumericGetDatum(a),
											   NumericGetDatum(b)));
}

/* Return the sum as a numeric.  The sum counts units of 10^-scale. */
Numeric
compact_sum_numeric(const CompactSum *sum, int scale)
{
	Numeric		two_to_32;
	Numeric		result;

	/* return the sum directly if it fits into 64 bits */
	if (sum->high == ((int64) sum->low < 0 ? -1 : 0))
		return int64_div_fast_to_numeric((int64) sum->low, scale);

	two_to_32 = int64_to_numeric(INT64CONST(1) << 32);
	result = multiply(int64_to_numeric(sum->high), two_to_32);
	result = add(result, int64_to_numeric((int64) (sum->low >> 32)));
	result = multiply(result, two_to_32);
	result = add(result, int64_to_numeric((int64) (sum->low & 0xFFFFFFFF)));

	return multiply(result, int64_div_fast_to_numeric(1, scale));
}

/* Return the average, with as many digits as the average of numerics has. */
Numeric
compact_sum_average(const CompactSum *sum, int scale)
{
	return DatumGetNumeric(DirectFunctionCall2(numeric_div,
											   NumericGetDatum(compact_sum_numeric(sum, scale)),
											   NumericGetDatum(int64_to_numeric(sum->count))));
}

/*
 * compact_sum_combine(internal, internal) returns internal; either argument
 * may be NULL
 */
PG_FUNCTION_INFO_V1(compact_sum_combine);
Datum
compact_sum_combine(PG_FUNCTION_ARGS)
{
	const CompactSum *other = PG_ARGISNULL(1) ? NULL : (CompactSum *) PG_GETARG_POINTER(1);
	CompactSum *sum = compact_sum_transition_state(fcinfo);

	if (other != NULL)
	{
		uint64		low = sum->low + other->low;

		sum->high += other->high + (low < sum->low ? 1 : 0);
		sum->low = low;
		sum->count += other->count;
	}

	PG_RETURN_POINTER(sum);
}

/* compact_sum_serialize(internal) returns bytea */
PG_FUNCTION_INFO_V1(compact_sum_serialize);
Datum
compact_sum_serialize(PG_FUNCTION_ARGS)
{
	const CompactSum *sum;
	StringInfoData buf;

	if (!AggCheckCallContext(fcinfo, NULL))
		elog(ERROR, "aggregate function called in non-aggregate context");
	sum = (const CompactSum *) PG_GETARG_POINTER(0);

	pq_begintypsend(&buf);
	pq_sendint64(&buf, sum->count);
	pq_sendint64(&buf, sum->high);
	pq_sendint64(&buf, sum->low);

	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/*
 * compact_sum_deserialize(bytea, internal) returns internal.  Errors: 08P01
 * for anything but the output of compact_sum_serialize().
 */
PG_FUNCTION_INFO_V1(compact_sum_deserialize);
Datum
compact_sum_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *state;
	CompactSum *sum;
	StringInfoData buf;

	if (!AggCheckCallContext(fcinfo, NULL))
		elog(ERROR, "aggregate function called in non-aggregate context");
	state = PG_GETARG_BYTEA_PP(0);

	initStringInfo(&buf);
	appendBinaryStringInfo(&buf, VARDATA_ANY(state), VARSIZE_ANY_EXHDR(state));
	sum = (CompactSum *) palloc(sizeof(CompactSum));
	sum->count = pq_getmsgint64(&buf);
	sum->high = pq_getmsgint64(&buf);
	sum->low = (uint64) pq_getmsgint64(&buf);
	pq_getmsgend(&buf);
	pfree(buf.data);

	PG_RETURN_POINTER(sum);
}

/*
 * compact_sum_int8(internal) returns int8: the sum of integers.  Errors: 22003
 * for a sum out of range.
 */
PG_FUNCTION_INFO_V1(compact_sum_int8);
Datum
compact_sum_int8(PG_FUNCTION_ARGS)
{
	const CompactSum *sum = compact_sum_final_state(fcinfo);

	if (sum == NULL)
		PG_RETURN_NULL();
	if (sum->high != ((int64) sum->low < 0 ? -1 : 0))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("bigint out of range")));

	PG_RETURN_INT64((int64) sum->low);
}

/*
 * uint4_sum(internal) returns numeric: the sum of integers.  The symbol is
 * compact_sum_numeric_final, because compact_sum_numeric() is the function of
 * the C code.
 */
PG_FUNCTION_INFO_V1(compact_sum_numeric_final);
Datum
compact_sum_numeric_final(PG_FUNCTION_ARGS)
{
	const CompactSum *sum = compact_sum_final_state(fcinfo);

	if (sum == NULL)
		PG_RETURN_NULL();

	PG_RETURN_NUMERIC(compact_sum_numeric(sum, 0));
}

/* compact_sum_avg(internal) returns numeric: the average of integers */
PG_FUNCTION_INFO_V1(compact_sum_avg);
Datum
compact_sum_avg(PG_FUNCTION_ARGS)
{
	const CompactSum *sum = compact_sum_final_state(fcinfo);

	if (sum == NULL)
		PG_RETURN_NULL();

	PG_RETURN_NUMERIC(compact_sum_average(sum, 0));
}
