/*-------------------------------------------------------------------------
 *
 * compact_decimal_text.c
 *	  Read and write decimals as text.
 *
 * In C, a number is an integer that counts units of 10^-scale.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_decimal_text.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "compact_decimal.h"

/* a message shows at most this many digits of a number */
#define MESSAGE_DIGITS	40

/* a larger decimal exponent makes every number zero or out of range */
#define MAX_EXPONENT			100000

/*
 * Write an integer that counts units of 10^-scale, as text, and return result.
 */
char *
compact_decimal_to_string(int64 value, int scale, char *result)
{
	char		digits[DECIMAL_OUTPUT_SIZE];
	uint64		magnitude = value < 0 ? -(uint64) value : (uint64) value;
	int			ndigits = pg_ulltoa_n(magnitude, digits);
	int			nint = ndigits - scale;
	char	   *p = result;

	if (value < 0)
		*p++ = '-';
	if (nint > 0)
	{
		memcpy(p, digits, nint);
		p += nint;
	}
	else
		*p++ = '0';
	if (scale > 0)
	{
		*p++ = '.';
		for (; nint < 0; nint++)
			*p++ = '0';
		memcpy(p, digits + nint, ndigits - nint);
		p += ndigits - nint;
	}
	*p = '\0';

	return result;
}

/*
 * Return which special value of numeric the string is, ignoring white space
 * around it.  Return DECIMAL_SYNTAX if it is none of these.
 */
DecimalResult
compact_decimal_parse_special(const char *str)
{
	DecimalResult result;

	while (isspace((unsigned char) *str))
		str++;
	if (pg_strncasecmp(str, "nan", 3) == 0)
	{
		result = DECIMAL_NAN;
		str += 3;
	}
	else
	{
		if (*str == '-' || *str == '+')
			str++;
		result = DECIMAL_INFINITY;
		if (pg_strncasecmp(str, "infinity", 8) == 0)
			str += 8;
		else if (pg_strncasecmp(str, "inf", 3) == 0)
			str += 3;
		else
			return DECIMAL_SYNTAX;
	}
	while (isspace((unsigned char) *str))
		str++;

	return *str == '\0' ? result : DECIMAL_SYNTAX;
}

/*
 * Read a number with or without exponent as an integer of 10^-scale units: its
 * sign and its magnitude.  If round_down is true, return the greatest integer
 * that is not above the number, otherwise round half away from zero.  Set
 * *exact, unless NULL, to true if the result equals the number.  In case of
 * DECIMAL_RANGE, *negative is set.
 */
DecimalResult
compact_decimal_parse_magnitude(const char *str, int scale, bool round_down, bool *negative,
								uint64 *result, bool *exact)
{
	const char *p = str;
	const char *digits;
	int			nint;			/* digits before the point */
	int			nfraction = 0;	/* digits after the point */
	int			exponent = 0;
	int			keep;			/* number of digits to keep */
	uint64		magnitude = 0;
	bool		inexact = false;
	bool		round_up = false;

	*negative = false;
	while (isspace((unsigned char) *p))
		p++;
	if (*p == '-' || *p == '+')
		*negative = (*p++ == '-');
	digits = p;
	while (isdigit((unsigned char) *p))
		p++;
	nint = p - digits;
	if (*p == '.')
	{
		p++;
		while (isdigit((unsigned char) *p))
		{
			p++;
			nfraction++;
		}
	}
	if (nint + nfraction == 0)
		return DECIMAL_SYNTAX;
	if (*p == 'e' || *p == 'E')
	{
		bool		negative_exponent = false;

		p++;
		if (*p == '-' || *p == '+')
			negative_exponent = (*p++ == '-');
		if (!isdigit((unsigned char) *p))
			return DECIMAL_SYNTAX;
		for (; isdigit((unsigned char) *p); p++)
		{
			if (exponent < MAX_EXPONENT)
				exponent = exponent * 10 + (*p - '0');
		}
		/* the exponent was cut: with many digits, the number would be wrong */
		if (exponent >= MAX_EXPONENT && nint + nfraction >= MAX_EXPONENT / 2)
			return DECIMAL_SYNTAX;
		if (negative_exponent)
			exponent = -exponent;
	}
	while (isspace((unsigned char) *p))
		p++;
	if (*p != '\0')
		return DECIMAL_SYNTAX;

	keep = nint + exponent + scale;
	for (int i = 0; i < nint + nfraction; i++)
	{
		int			digit = digits[i < nint ? i : i + 1] - '0';

		if (i < keep)
		{
			if (magnitude > (PG_UINT64_MAX - digit) / 10)
				return DECIMAL_RANGE;
			magnitude = magnitude * 10 + digit;
		}
		else if (digit != 0)
		{
			if (i == keep && digit >= 5)
				round_up = true;
			inexact = true;
		}
	}
	for (int i = nint + nfraction; i < keep && magnitude != 0; i++)
	{
		if (magnitude > PG_UINT64_MAX / 10)
			return DECIMAL_RANGE;
		magnitude *= 10;
	}

	/* round up if half or more is cut; for the floor, round down */
	if (exact != NULL)
		*exact = !inexact;
	if (round_down)
		round_up = *negative && inexact;
	if (round_up)
	{
		if (magnitude == PG_UINT64_MAX)
			return DECIMAL_RANGE;
		magnitude++;
	}
	*result = magnitude;

	return DECIMAL_OK;
}

/*
 * Set *value to the integer with that sign and magnitude, and return the result
 * of reading it.  In case of DECIMAL_RANGE and DECIMAL_INFINITY, *value has the
 * number's sign.
 */
static DecimalResult
make_signed(DecimalResult result, bool negative, uint64 magnitude, int64 *value)
{
	if (result == DECIMAL_OK && magnitude > (uint64) PG_INT64_MAX + (negative ? 1 : 0))
		result = DECIMAL_RANGE;
	if (result == DECIMAL_OK)
		*value = (int64) (negative ? -magnitude : magnitude);
	else if (result == DECIMAL_RANGE || result == DECIMAL_INFINITY)
		*value = negative ? -1 : 1;

	return result;
}

/*
 * Read a number as compact_decimal_parse_magnitude() does, as an integer of 64
 * bits with a sign.
 */
DecimalResult
compact_decimal_parse(const char *str, int scale, bool round_down, int64 *value, bool *exact)
{
	bool		negative;
	uint64		magnitude = 0;
	DecimalResult result = compact_decimal_parse_magnitude(str, scale, round_down, &negative,
														   &magnitude, exact);

	return make_signed(result, negative, magnitude, value);
}

/* Read a numeric as compact_decimal_parse_magnitude() reads a string. */
DecimalResult
compact_decimal_numeric_magnitude(Numeric num, int scale, bool round_down, bool *negative,
								  uint64 *magnitude, bool *exact)
{
	char	   *str;
	DecimalResult result;

	if (numeric_is_nan(num))
		return DECIMAL_NAN;
	str = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(num)));
	if (numeric_is_inf(num))
	{
		*negative = *str == '-';
		result = DECIMAL_INFINITY;
	}
	else
		result = compact_decimal_parse_magnitude(str, scale, round_down, negative, magnitude, exact);
	pfree(str);

	return result;
}

/* Read a numeric as compact_decimal_parse() reads a string. */
DecimalResult
compact_decimal_parse_numeric(Numeric num, int scale, bool round_down, int64 *value, bool *exact)
{
	bool		negative;
	uint64		magnitude = 0;
	DecimalResult result = compact_decimal_numeric_magnitude(num, scale, round_down, &negative,
															 &magnitude, exact);

	return make_signed(result, negative, magnitude, value);
}

/* Round a numeric to an integer of 10^-scale units. */
DecimalResult
compact_decimal_from_numeric(Numeric num, int scale, int64 *value)
{
	return compact_decimal_parse_numeric(num, scale, false, value, NULL);
}

/* Return the number for a message, cut if it has too many digits. */
char *
compact_numeric_for_message(Numeric num)
{
	char	   *str = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(num)));

	if (strlen(str) <= MESSAGE_DIGITS)
		return str;

	return psprintf("%.*s...", MESSAGE_DIGITS, str);
}
