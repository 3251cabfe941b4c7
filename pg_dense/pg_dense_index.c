/*-------------------------------------------------------------------------
 *
 * pg_dense_index.c
 *	  Model of the size of a B-tree index that is built anew.
 *
 * A tuple has a header of 8 bytes, the key and the included columns, and is
 * rounded up to the alignment of the index.  A tuple with a null has a bitmap,
 * and its columns begin at the next multiple of 8.  Each tuple has a line
 * pointer.  Equal keys share tuples of up to a tenth of a page, where each row
 * takes six bytes, if the index is deduplicated.  A build fills leaf pages up
 * to the fillfactor, and the pages above them up to 70 %.  A build moves the
 * last tuple of a full page to the next page, and leaves its key as the high
 * key.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  pg_dense/pg_dense_index.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/itup.h"
#include "access/nbtree.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "storage/block.h"
#include "storage/bufpage.h"
#include "utils/array.h"

PG_FUNCTION_INFO_V1(pg_dense_btree_bytes);

/* Bytes of a page for tuples and their line pointers, without the one of the high key */
#define PAGE_BYTES \
	(BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(BTPageOpaqueData)) - 2 * sizeof(ItemIdData))

/* A build makes no longer posting list than this. */
#define POSTING_BYTES	(MAXALIGN_DOWN((BLCKSZ * 10 / 100)) - sizeof(ItemIdData))

/* With fewer rows for each key than this, their numbers are spread as by chance. */
#define SPREAD_ROWS		50

/* Sizes that an average is made of, on either side */
#define SIZE_STEPS		16

typedef struct IndexKey
{
	int			natts;
	int		   *lengths;		/* -1 for a varying length */
	int		   *alignments;
	double	   *widths;
	double	   *spreads;		/* standard deviation of the widths */
	double	   *nulls;			/* part of the rows in which the column is
								 * null */
	int			alignment;		/* of the index */
} IndexKey;

/* Return the elements of an array without nulls.  It must have n elements if n >= 0. */
static Datum *
elements(ArrayType *array, Oid type, int typlen, bool byval, char align, int *n)
{
	Datum	   *result;
	bool	   *nulls;
	int			count;

	deconstruct_array(array, type, typlen, byval, align, &result, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("array must not contain nulls")));
	}
	if (*n >= 0 && count != *n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("arrays must have the same number of elements")));
	*n = count;

	return result;
}

static double *
float_elements(ArrayType *array, int *n)
{
	Datum	   *datums = elements(array, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
								  TYPALIGN_DOUBLE, n);
	double	   *result = palloc((*n + 1) * sizeof(double));

	for (int i = 0; i < *n; i++)
		result[i] = Max(DatumGetFloat8(datums[i]), 0);

	return result;
}

static int *
int_elements(ArrayType *array, int *n)
{
	Datum	   *datums = elements(array, INT4OID, sizeof(int32), true, TYPALIGN_INT, n);
	int		   *result = palloc((*n + 1) * sizeof(int));

	for (int i = 0; i < *n; i++)
		result[i] = DatumGetInt32(datums[i]);

	return result;
}

static double
round_up(double bytes, int alignment)
{
	return ceil(bytes / alignment) * alignment;
}

/*
 * Return the average size of a tuple.  If with_nulls, the tuple has a null:
 * each column has the share of nulls that it has among such rows.  Sizes vary
 * around their average as evenly as their standard deviation tells, because
 * the average after rounding up depends on that.
 */
static double
tuple_bytes(const IndexKey *key, bool with_nulls, double complete)
{
	double		bytes = sizeof(IndexTupleData);
	double		variance = 0;
	bool		varies = false;
	bool		any = false;
	double		half;
	double		sum = 0;

	if (with_nulls)
		bytes = MAXALIGN(sizeof(IndexTupleData) + sizeof(IndexAttributeBitMapData));
	for (int i = 0; i < key->natts; i++)
	{
		double		present = with_nulls ? 1 - Min(key->nulls[i] / (1 - complete), 1) : 1;

		if (present < 0.001)
			continue;
		any = true;

		/*
		 * columns of varying length mostly have a short header, and no
		 * alignment
		 */
		if (key->lengths[i] > 0 && present > 0.999 && !varies)
			bytes = round_up(bytes, key->alignments[i]);
		else if (key->lengths[i] > 0 && key->alignments[i] > 1)
			bytes += present * (key->alignments[i] - 1) / 2.0;
		if (key->lengths[i] < 0 || present <= 0.999)
			varies = true;
		bytes += present * key->widths[i];
		variance += present * key->spreads[i] * key->spreads[i] +
			present * (1 - present) * key->widths[i] * key->widths[i];
	}
	if (!any || !varies)
		return round_up(bytes, key->alignment);

	/* the spread of even sizes; an average between two sizes has both */
	half = Max(sqrt(3 * variance), 0.5);
	for (int step = -SIZE_STEPS; step <= SIZE_STEPS; step++)
		sum += round_up(rint(bytes + half * step / SIZE_STEPS), key->alignment);

	return sum / (2 * SIZE_STEPS + 1);
}

/*
 * Return the bytes of the tuples for a key with so many rows, line pointers
 * included, and add to *tuples how many they are.
 */
static double
key_bytes(double rows, double tuple, int alignment, double *tuples)
{
	double		base = round_up(tuple, alignment);
	double		fits = Max(floor((POSTING_BYTES - base) / sizeof(ItemPointerData)), 1);
	double		bytes;
	double		full = floor(rows / fits);
	double		rest = rows - full * fits;

	if (rows <= 1)
	{
		*tuples += 1;
		return tuple + sizeof(ItemIdData);
	}
	bytes = full * (round_up(base + fits * sizeof(ItemPointerData), alignment) + sizeof(ItemIdData));
	*tuples += full;
	if (rest > 0)
	{
		bytes += (rest <= 1 ? tuple : round_up(base + ceil(rest) * sizeof(ItemPointerData), alignment)) +
			sizeof(ItemIdData);
		*tuples += 1;
	}

	return bytes;
}

/*
 * Return the average bytes for a key with so many rows on average, and add to
 * *tuples their average number.  Keys have at least one row; the numbers above
 * that are spread as those of random rows.
 */
static double
average_key_bytes(double rows, double tuple, int alignment, double *tuples)
{
	double		mean = rows - 1;
	double		p;
	double		bytes = 0;
	double		n = 0;

	if (rows > SPREAD_ROWS || mean <= 0)
		return key_bytes(rows, tuple, alignment, tuples);
	p = exp(-mean);
	for (int extra = 0; extra < 4 * SPREAD_ROWS; extra++)
	{
		double		t = 0;

		if (extra > 0)
			p *= mean / extra;
		bytes += p * key_bytes(1 + extra, tuple, alignment, &t);
		n += p * t;
	}
	*tuples += n;

	return bytes;
}

/*
 * dense_internal.btree_bytes(lengths int4[], alignments int4[],
 * widths float8[], spreads float8[], nulls float8[], alignment int4,
 * fillfactor int4, rows float8, key_rows float8[], key_counts float8[])
 * returns bigint
 *
 * Return the bytes of an index that is built on so many rows.  key_counts[i]
 * keys have key_rows[i] rows each.  If the arrays are empty, each row has a
 * tuple of its own.
 */
Datum
pg_dense_btree_bytes(PG_FUNCTION_ARGS)
{
	IndexKey	key;
	int			fillfactor = PG_GETARG_INT32(6);
	double		rows = PG_GETARG_FLOAT8(7);
	int			nkeys = -1;
	double	   *key_rows = float_elements(PG_GETARG_ARRAYTYPE_P(8), &nkeys);
	double	   *key_counts = float_elements(PG_GETARG_ARRAYTYPE_P(9), &nkeys);
	double		complete = 1;
	double		tuple;
	double		bytes;
	double		tuples;
	double		pages;
	double		level;
	double		per_page;
	double		leaf;
	double		upper;

	key.natts = -1;
	key.lengths = int_elements(PG_GETARG_ARRAYTYPE_P(0), &key.natts);
	key.alignments = int_elements(PG_GETARG_ARRAYTYPE_P(1), &key.natts);
	key.widths = float_elements(PG_GETARG_ARRAYTYPE_P(2), &key.natts);
	key.spreads = float_elements(PG_GETARG_ARRAYTYPE_P(3), &key.natts);
	key.nulls = float_elements(PG_GETARG_ARRAYTYPE_P(4), &key.natts);
	key.alignment = PG_GETARG_INT32(5);
	if (key.alignment < 1 || key.alignment > MAXIMUM_ALIGNOF || fillfactor < 10 || fillfactor > 100)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid alignment or fillfactor")));
	for (int i = 0; i < key.natts; i++)
	{
		key.alignments[i] = Max(key.alignments[i], 1);
		key.nulls[i] = Min(key.nulls[i], 1);
		complete *= 1 - key.nulls[i];
	}
	if (rows < 1)
		PG_RETURN_INT64(BLCKSZ);

	tuple = tuple_bytes(&key, false, complete);
	if (complete < 1)
		tuple = complete * tuple + (1 - complete) * tuple_bytes(&key, true, complete);
	if (nkeys == 0)
	{
		tuples = rows;
		bytes = rows * (tuple + sizeof(ItemIdData));
	}
	else
	{
		tuples = 0;
		bytes = 0;
		for (int i = 0; i < nkeys; i++)
		{
			double		n = 0;

			bytes += key_counts[i] * average_key_bytes(key_rows[i], tuple, key.alignment, &n);
			tuples += key_counts[i] * n;
		}
	}

	/*
	 * Leaf pages.  A build begins a new page when a tuple finds less free
	 * space than the fillfactor leaves, and takes the last tuple along.  The
	 * high key of a page with long posting lists is short, so that they fill
	 * the page whatever the fillfactor.
	 */
	leaf = PAGE_BYTES - BLCKSZ * (100 - fillfactor) / 100;
	per_page = bytes / tuples;
	if (per_page > BLCKSZ / 20)
		pages = tuples / Max(floor(PAGE_BYTES / (POSTING_BYTES + sizeof(ItemIdData))), 1);
	else if (nkeys == 0 && fmod(tuple, key.alignment) == 0)
		pages = tuples / Max(floor(leaf / per_page), 1);
	else
		pages = tuples / Max(leaf / per_page - 0.5, 1);
	pages = Max(ceil(pages), 1);
	if (!(pages < MaxBlockNumber))
		PG_RETURN_NULL();

	/* the levels above, of keys without posting lists, and the metapage */
	level = pages;
	upper = PAGE_BYTES - BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100;
	tuple = Max(round_up(tuple, key.alignment), 8) + sizeof(ItemIdData);
	while (level > 1)
	{
		level = ceil(level / Max(floor(upper / tuple), 2));
		pages += level;
	}

	PG_RETURN_INT64((int64) (pages + 1) * BLCKSZ);
}
