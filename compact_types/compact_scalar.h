/*-------------------------------------------------------------------------
 *
 * compact_scalar.h
 *	  Declarations that the files of the narrow scalar types share.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_scalar.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_SCALAR_H
#define COMPACT_SCALAR_H

#include "fmgr.h"
#include "parser/parse_node.h"
#include "utils/numeric.h"
#include "utils/portal.h"

#define DECIMAL4_MAX_SCALE	9
#define DECIMAL8_MAX_SCALE	18

/*
 * Transition state of sum() and avg(): the number of values and their sum in
 * 128 bits, two's complement.  No sum of 64-bit numbers overflows it.
 */
typedef struct CompactSum
{
	int64		count;
	int64		high;
	uint64		low;
} CompactSum;

static inline void
compact_sum_add(CompactSum *sum, int64 value)
{
	uint64		low = sum->low + (uint64) value;

	sum->high += (value < 0 ? -1 : 0) + (low < sum->low ? 1 : 0);
	sum->low = low;
	sum->count++;
}

static inline void
compact_sum_subtract(CompactSum *sum, int64 value)
{
	uint64		low = sum->low - (uint64) value;

	sum->high -= (value < 0 ? -1 : 0) + (low > sum->low ? 1 : 0);
	sum->low = low;
	sum->count--;
}

/* Result of reading a decimal number. */
typedef enum DecimalResult
{
	DECIMAL_OK,
	DECIMAL_SYNTAX,				/* not a plain decimal number */
	DECIMAL_RANGE,
	DECIMAL_NAN,
	DECIMAL_INFINITY
} DecimalResult;

/* Use of the value that is converted to a narrow type. */
typedef enum ValueUse
{
	VALUE_STORED,				/* or cast explicitly */
	VALUE_LITERAL,				/* of a list, a CASE or the like */
	VALUE_PARAMETER,			/* in such a place, read by Bind */
	VALUE_ARGUMENT				/* of EXECUTE, for such a parameter */
} ValueUse;

/* The EXECUTE that was noted before the one that runs. */
typedef struct ExecuteNote
{
	ExecuteStmt *execute;
	Portal		portal;
	ErrorContextCallback *error_context;
} ExecuteNote;

/* compact_decimal_text.c */
extern DecimalResult compact_decimal_from_numeric(Numeric num, int scale,
												  int64 *value);
extern char *compact_numeric_for_message(Numeric num);

/* compact_literal.c */
extern ValueUse compact_value_use(FunctionCallInfo fcinfo);
extern void compact_check_inexact(ValueUse use, int sqlerrcode, const char *str,
								  const char *type, const char *wide);
extern int	compact_range_hint(const char *wide);

/* compact_parameter.c */
extern int	compact_bound_parameter(void);
extern bool compact_parameter_is_compared(Oid narrow);
extern void compact_execute_begin(Node *statement, ExecuteNote *outer);
extern void compact_execute_end(const ExecuteNote *outer);
extern bool compact_execute_argument_is_compared(ParseState *pstate, int location);
extern bool compact_cast_is_compared(FunctionCallInfo fcinfo);

/* compact_sum.c */
extern CompactSum *compact_sum_transition_state(FunctionCallInfo fcinfo);
extern CompactSum *compact_sum_inverse_state(FunctionCallInfo fcinfo);
extern const CompactSum *compact_sum_final_state(FunctionCallInfo fcinfo);
extern Numeric compact_sum_numeric(const CompactSum *sum, int scale);
extern Numeric compact_sum_average(const CompactSum *sum, int scale);

#endif							/* COMPACT_SCALAR_H */
