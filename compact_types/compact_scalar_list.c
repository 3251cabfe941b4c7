/*-------------------------------------------------------------------------
 *
 * compact_scalar_list.c
 *	  The lists of the narrow scalar types as arrays, and searches in them.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_scalar_list.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "compact_scalar.h"

#define NARROW_INTEGER(type, bytes, min, max, arithmetic, twin, comment, ...) \
	{#type, InvalidOid, bytes, min, max, INTEGER_##twin, INTEGER_##arithmetic, comment},

#define CORE_INTEGER(type, bytes, min, max, typid, name, arithmetic, ...) \
	{#type, typid, bytes, min, max, INTEGER_##type, INTEGER_##arithmetic, NULL},

const CompactInteger compact_integers[N_INTEGERS] = {
	NARROW_INTEGERS(NARROW_INTEGER)
	CORE_INTEGERS(CORE_INTEGER)
};

#define SECONDS(type, wide, typid, zone, comment, ...) \
	{#type, #wide, typid, zone, comment},

const CompactSeconds compact_seconds[N_SECONDS] = {
	NARROW_SECONDS(SECONDS)
};

#define DECIMAL(width, stored, align, max_scale, ...) \
	{width, #stored, align, max_scale},

static const CompactDecimal decimals[] = {
	DECIMAL_WIDTHS(DECIMAL)
};

/* Return the integer type of that name, or NULL. */
const CompactInteger *
compact_find_integer(const char *name)
{
	for (int i = 0; i < N_INTEGERS; i++)
	{
		if (strcmp(compact_integers[i].name, name) == 0)
			return &compact_integers[i];
	}

	return NULL;
}

/* Return the seconds type of that name, or NULL. */
const CompactSeconds *
compact_find_seconds(const char *name)
{
	for (int i = 0; i < N_SECONDS; i++)
	{
		if (strcmp(compact_seconds[i].name, name) == 0)
			return &compact_seconds[i];
	}

	return NULL;
}

/*
 * Return the seconds type whose wide twin has this OID; there must be such a
 * type.
 */
const CompactSeconds *
compact_seconds_of_twin(Oid typid)
{
	for (int i = 0; i < N_SECONDS; i++)
	{
		if (compact_seconds[i].twin == typid)
			return &compact_seconds[i];
	}
	elog(ERROR, "type %u has no narrow twin", typid);
}

/* Return the decimals of that width, or NULL. */
const CompactDecimal *
compact_decimal_of_width(int width)
{
	for (int i = 0; i < (int) lengthof(decimals); i++)
	{
		if (decimals[i].width == width)
			return &decimals[i];
	}

	return NULL;
}

/* Return the narrowest decimals that hold all numbers of the precision, or NULL. */
const CompactDecimal *
compact_decimal_of_precision(int precision)
{
	for (int i = 0; i < (int) lengthof(decimals); i++)
	{
		if (decimals[i].max_scale >= precision)
			return &decimals[i];
	}

	return NULL;
}

char *
compact_decimal_name(int width, int scale)
{
	return psprintf("compact_decimal%d_%d", width, scale);
}

/*
 * Read width and scale from a decimal type's name; return false for other
 * names.
 */
bool
compact_decimal_parse_name(const char *name, int *width, int *scale)
{
	return sscanf(name, "compact_decimal%d_%d", width, scale) == 2;
}
