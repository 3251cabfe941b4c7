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

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "parser/parse_node.h"
#include "utils/numeric.h"
#include "utils/portal.h"

#include "compact_scalar_list.h"

/* indexes of compact_integers[] and compact_seconds[] */
#define INTEGER_NUMBER(type, ...)	INTEGER_##type,
#define SECONDS_NUMBER(type, ...)	SECONDS_##type,

typedef enum IntegerNumber
{
	NARROW_INTEGERS(INTEGER_NUMBER)
	CORE_INTEGERS(INTEGER_NUMBER)
	N_INTEGERS
} IntegerNumber;

typedef enum SecondsNumber
{
	NARROW_SECONDS(SECONDS_NUMBER)
	N_SECONDS
} SecondsNumber;

/*
 * An integer type of this extension or of core.  The wide twin of a narrow
 * type is explained in compact_scalar_list.h.
 */
typedef struct CompactInteger
{
	const char *name;
	Oid			typid;			/* OID in core; InvalidOid: a narrow type */
	int			bytes;
	int64		min;
	int64		max;
	IntegerNumber twin;			/* wide twin of a narrow type */
	IntegerNumber arithmetic;	/* result of arithmetic if an operand is
								 * narrow; of two operands, the greater number
								 * is used */
	const char *comment;		/* of a narrow type */
} CompactInteger;

/* A timestamp of full seconds. */
typedef struct CompactSeconds
{
	const char *name;
	const char *wide;			/* name of the wide twin */
	Oid			twin;			/* OID of the wide twin */
	bool		zone;			/* a point in time, not a local time */
	const char *comment;
} CompactSeconds;

/* The decimals of one width. */
typedef struct CompactDecimal
{
	int			width;			/* in bytes */
	const char *stored;			/* core's type with the same storage */
	char		align;
	int			max_scale;		/* also the greatest precision whose numbers
								 * all fit */
} CompactDecimal;

/* digits of the greatest value of uint8 */
#define UINT8_DIGITS	20

extern const CompactInteger compact_integers[N_INTEGERS];
extern const CompactSeconds compact_seconds[N_SECONDS];

/* PostgreSQL passes integers of three bytes by reference. */
#define INTEGER_BY_REFERENCE(bytes)		((bytes) == 3)

/* Return true if the type belongs to this extension, not to core. */
static inline bool
compact_integer_is_narrow(const CompactInteger *type)
{
	return !OidIsValid(type->typid);
}

static inline bool
compact_integer_is_unsigned(const CompactInteger *type)
{
	return type->min == 0;
}

/* seconds from 1970-01-01 to 2000-01-01, the epoch of timestamps */
#define SECONDS_EPOCH_DIFFERENCE \
	((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY)

/* Return true if the seconds types hold that number of seconds since 1970. */
static inline bool
compact_seconds_in_range(int64 seconds)
{
	return seconds >= 0 && seconds <= PG_UINT32_MAX;
}

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
compact_sum_add_unsigned(CompactSum *sum, uint64 value)
{
	uint64		low = sum->low + value;

	sum->high += low < sum->low ? 1 : 0;
	sum->low = low;
	sum->count++;
}

static inline void
compact_sum_subtract_unsigned(CompactSum *sum, uint64 value)
{
	uint64		low = sum->low - value;

	sum->high -= low > sum->low ? 1 : 0;
	sum->low = low;
	sum->count--;
}

static inline void
compact_sum_add(CompactSum *sum, int64 value)
{
	sum->high += value < 0 ? -1 : 0;
	compact_sum_add_unsigned(sum, (uint64) value);
}

static inline void
compact_sum_subtract(CompactSum *sum, int64 value)
{
	sum->high -= value < 0 ? -1 : 0;
	compact_sum_subtract_unsigned(sum, (uint64) value);
}

/*
 * A wide type, for example numeric.  If a narrow type is compared with a
 * literal, a parameter or another operand, PostgreSQL reads this operand as
 * the wide type.  Types of this extension stand in for the wide type, see
 * compact_literal.c.
 */
typedef struct WideTwin
{
	const char *name;
	Oid			typid;
	const char *kind;			/* first part of the stand-ins' names */
	char		category;		/* category of the operand type; 0: none */
	bool		left;			/* is there a stand-in for the left side? */

	/* for compact_literal_ddl.c */
	const char *function;		/* prefix of core's I/O functions */
	bool		typmod;			/* does the input function accept a typmod? */
	const char *io_attributes;
	const char *comparison;		/* prefix of functions that compare two values */
	bool		own;			/* are the comparison functions ours? */
	const char *hash;			/* core's hash functions */
	const char *hash_extended;
} WideTwin;

#define N_WIDE_TWINS	4

extern const WideTwin compact_wide_twins[N_WIDE_TWINS];
extern const char *const compact_stand_in_roles[];

/*
 * Return the number of stand-ins of the wide type.  Their roles are the first
 * ones in compact_stand_in_roles[].
 */
static inline int
compact_n_stand_ins(const WideTwin *twin)
{
	return twin->category == 0 ? 1 : twin->left ? 3 : 2;
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
	VALUE_STORED,				/* stored, or cast explicitly */
	VALUE_LITERAL,				/* literal of a list, a CASE or the like */
	VALUE_PARAMETER,			/* parameter in such a place, read by Bind */
	VALUE_ARGUMENT				/* argument of EXECUTE, for such a parameter */
} ValueUse;

/*
 * An outer EXECUTE, which is kept here while an inner EXECUTE runs, and is
 * then restored.
 */
typedef struct ExecuteNote
{
	ExecuteStmt *execute;
	Portal		portal;
	ErrorContextCallback *error_context;
} ExecuteNote;

/* compact_scalar_list.c */
extern const CompactInteger *compact_find_integer(const char *name);
extern const CompactSeconds *compact_find_seconds(const char *name);
extern const CompactSeconds *compact_seconds_of_twin(Oid typid);
extern const CompactDecimal *compact_decimal_of_width(int width);
extern const CompactDecimal *compact_decimal_of_precision(int precision);
extern char *compact_decimal_name(int width, int scale);
extern bool compact_decimal_parse_name(const char *name, int *width, int *scale);

/* compact_decimal_text.c */
extern DecimalResult compact_decimal_from_numeric(Numeric num, int scale,
												  int64 *value);
extern char *compact_numeric_for_message(Numeric num);

/* compact_uint8.c */
extern bool compact_uint8_holds(Numeric num);

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
extern Datum compact_sum_numeric_final(PG_FUNCTION_ARGS);
extern Datum compact_sum_avg(PG_FUNCTION_ARGS);
extern Numeric compact_sum_numeric(const CompactSum *sum, int scale);
extern Numeric compact_sum_average(const CompactSum *sum, int scale);

#endif							/* COMPACT_SCALAR_H */
