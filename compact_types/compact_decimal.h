/*-------------------------------------------------------------------------
 *
 * compact_decimal.h
 *	  Declarations that the files of the decimals share.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_decimal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_DECIMAL_H
#define COMPACT_DECIMAL_H

#include "compact_scalar.h"

/* longest output: sign, 19 digits, point, NUL */
#define DECIMAL_OUTPUT_SIZE		24

static inline int64
decimal_value(Datum datum, int width)
{
	return width == 4 ? (int64) DatumGetInt32(datum) : DatumGetInt64(datum);
}

/* compact_decimal.c */
extern Datum compact_decimal_conversion_error(DecimalResult result, const char *str,
											  const char *quote, const char *type,
											  const char *low, const char *high,
											  struct Node *escontext);
extern Datum compact_decimal_hash(uint64 magnitude, int scale);
extern Datum compact_decimal_hash_extended(uint64 magnitude, int scale, uint64 seed);

/* compact_decimal_text.c */
extern DecimalResult compact_decimal_parse_magnitude(const char *str, int scale, bool round_down,
													 bool *negative, uint64 *result, bool *exact);
extern DecimalResult compact_decimal_numeric_magnitude(Numeric num, int scale, bool round_down,
													   bool *negative, uint64 *result, bool *exact);
extern char *compact_decimal_to_string(int64 value, int scale, char *result);
extern DecimalResult compact_decimal_parse_special(const char *str);
extern DecimalResult compact_decimal_parse(const char *str, int scale, bool round_down,
										   int64 *value, bool *exact);
extern DecimalResult compact_decimal_parse_numeric(Numeric num, int scale, bool round_down,
												   int64 *value, bool *exact);

/* compact_decimal_compare.c */
extern int	compact_decimal_compare_numeric(FunctionCallInfo fcinfo, int argno, int width, int scale);
extern int	compact_uint8_compare_numeric(FunctionCallInfo fcinfo, int argno);

/* compact_uint8.c */
extern Numeric compact_uint8_to_numeric_value(uint64 value);

#endif							/* COMPACT_DECIMAL_H */
