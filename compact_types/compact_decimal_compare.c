/*-------------------------------------------------------------------------
 *
 * compact_decimal_compare.c
 *	  Compare decimals and uint8 with numeric.
 *
 * Usually the numeric is a constant.  So convert the numeric to an integer in
 * units of the decimal, and keep this integer for the next row.
 *
 * An integer of 64 bits with a sign stands for a value of uint8: the value less
 * 2^63.  These integers have the order of the values.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_decimal_compare.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "compact_decimal.h"
#include "compact_types_compat.h"

/* takes the place of the scale of a decimal for uint8 */
#define UNSIGNED_SCALE	(-1)

/* longest numeric that DecimalConstant holds, in bytes */
#define DECIMAL_CONSTANT_SIZE	32

/* number of constants that are kept; a power of two */
#define DECIMAL_CONSTANTS		32

/*
 * The numeric of the last call of a comparison function, as an integer in
 * units of the decimal.  Usually the numeric is a constant.  fn_extra points
 * to this struct.
 */
typedef struct DecimalConstant
{
	int			size;			/* of data; 0: nothing is kept */
	int			scale;			/* of the decimal, or UNSIGNED_SCALE */
	char		data[DECIMAL_CONSTANT_SIZE];	/* the numeric's content */
	int			beyond;			/* < 0: below all decimals; > 0: above all */
	int64		floor;			/* if beyond is 0: greatest integer that is
								 * not above the numeric */
	bool		exact;			/* is the floor the number itself? */
} DecimalConstant;

/*
 * The constants of all function calls.  New calls get these structs in turn.
 * The constants are not allocated in fn_mcxt: an index scan has new FmgrInfos
 * each time it is restarted, in memory that lives as long as the query.  If
 * two calls share one struct, even for different types, they only lose time,
 * because each of them converts its numeric again.
 */
static DecimalConstant decimal_constants[DECIMAL_CONSTANTS];
static unsigned int next_decimal_constant = 0;

/* the limits of int64; no decimal of any scale is beyond them */
static Numeric int64_min_numeric = NULL;
static Numeric int64_max_numeric = NULL;

/* the limits of uint8 */
static Numeric uint8_min_numeric = NULL;
static Numeric uint8_max_numeric = NULL;

static inline int
numeric_compare(Numeric a, Numeric b)
{
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp, NumericGetDatum(a),
											 NumericGetDatum(b)));
}

/*
 * Return a negative number if the numeric is below the integers of 64 bits, a
 * positive one if it is above, otherwise 0.  NaN is above everything, as in
 * numeric.
 */
static int
beyond_64_bits(Numeric num, bool is_unsigned)
{
	if (uint8_max_numeric == NULL)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(TopMemoryContext);

		int64_min_numeric = int64_to_numeric(PG_INT64_MIN);
		int64_max_numeric = int64_to_numeric(PG_INT64_MAX);
		uint8_min_numeric = int64_to_numeric(0);
		uint8_max_numeric = compact_uint8_to_numeric_value(PG_UINT64_MAX);
		MemoryContextSwitchTo(oldcontext);
	}

	if (numeric_compare(num, is_unsigned ? uint8_max_numeric : int64_max_numeric) > 0)
		return 1;

	return numeric_compare(num, is_unsigned ? uint8_min_numeric : int64_min_numeric) < 0 ? -1 : 0;
}

/* Return the integer that stands for a value of uint8. */
static inline int64
unsigned_key(uint64 value)
{
	return (int64) (value ^ (UINT64CONST(1) << 63));
}

/* Convert a numeric of up to DECIMAL_CONSTANT_SIZE bytes to units of the decimal. */
static void
make_constant(DecimalConstant *constant, struct varlena *datum, int scale)
{
	int			size = VARSIZE_ANY_EXHDR(datum);
	Numeric		num = DatumGetNumeric(PointerGetDatum(datum));
	int64		value = 0;
	uint64		magnitude = 0;
	bool		negative;

	/* after an error, the constant must not be valid */
	constant->size = 0;
	constant->scale = scale;

	/* first check the range: a few bytes can mean a number of 131072 digits */
	constant->beyond = beyond_64_bits(num, scale == UNSIGNED_SCALE);
	if (constant->beyond == 0 && scale == UNSIGNED_SCALE)
	{
		(void) compact_decimal_numeric_magnitude(num, 0, true, &negative, &magnitude,
												 &constant->exact);
		constant->floor = unsigned_key(magnitude);
	}
	else if (constant->beyond == 0)
	{
		if (compact_decimal_parse_numeric(num, scale, true, &value, &constant->exact) == DECIMAL_OK)
			constant->floor = value;
		else
			constant->beyond = value;
	}
	if ((Pointer) num != (Pointer) datum)
		pfree(num);

	memcpy(constant->data, VARDATA_ANY(datum), size);
	constant->size = size;
}

static int
compare_constant(FunctionCallInfo fcinfo, int64 value, struct varlena *datum,
				 int scale)
{
	DecimalConstant local = {0};
	DecimalConstant *constant = &local;

	if (fcinfo->flinfo != NULL)
	{
		if (fcinfo->flinfo->fn_extra == NULL)
			fcinfo->flinfo->fn_extra =
				&decimal_constants[next_decimal_constant++ % DECIMAL_CONSTANTS];
		constant = (DecimalConstant *) fcinfo->flinfo->fn_extra;
	}

	/* a numeric has at least two bytes, so size 0 never matches */
	if (constant->size != (int) VARSIZE_ANY_EXHDR(datum) ||
		constant->scale != scale ||
		memcmp(constant->data, VARDATA_ANY(datum), constant->size) != 0)
		make_constant(constant, datum, scale);

	if (constant->beyond != 0)
		return -constant->beyond;
	if (value != constant->floor)
		return value > constant->floor ? 1 : -1;

	return constant->exact ? 0 : -1;
}

/*
 * Compare the value, as a numeric, with a numeric of any size.  This is fast
 * enough, because only a few digits have to be compared.
 */
static int
compare_long_numeric(Numeric wide, struct varlena *datum)
{
	Numeric		num = DatumGetNumeric(PointerGetDatum(datum));
	int			result = numeric_compare(wide, num);

	pfree(wide);
	if ((Pointer) num != (Pointer) datum)
		pfree(num);

	return result;
}

/*
 * Compare argument argno, a decimal, with the other argument, a numeric.
 */
int
compact_decimal_compare_numeric(FunctionCallInfo fcinfo, int argno, int width, int scale)
{
	int64		value = decimal_value(PG_GETARG_DATUM(argno), width);
	struct varlena *datum = PG_GETARG_VARLENA_PP(1 - argno);
	int			result;

	if (VARSIZE_ANY_EXHDR(datum) <= DECIMAL_CONSTANT_SIZE)
		result = compare_constant(fcinfo, value, datum, scale);
	else
		result = compare_long_numeric(int64_div_fast_to_numeric(value, scale), datum);
	PG_FREE_IF_COPY(datum, 1 - argno);

	return argno == 0 ? result : -result;
}

/* Compare argument argno, a uint8, with the other argument, a numeric. */
int
compact_uint8_compare_numeric(FunctionCallInfo fcinfo, int argno)
{
	uint64		value = (uint64) PG_GETARG_INT64(argno);
	struct varlena *datum = PG_GETARG_VARLENA_PP(1 - argno);
	int			result;

	if (VARSIZE_ANY_EXHDR(datum) <= DECIMAL_CONSTANT_SIZE)
		result = compare_constant(fcinfo, unsigned_key(value), datum, UNSIGNED_SCALE);
	else
		result = compare_long_numeric(compact_uint8_to_numeric_value(value), datum);
	PG_FREE_IF_COPY(datum, 1 - argno);

	return argno == 0 ? result : -result;
}
