/*-------------------------------------------------------------------------
 *
 * toast_policy_advise_sample.c
 *	  Select the rows that toast_policy.advise() examines.
 *
 * Random pages are read as ANALYZE does, in a scan of the rows that the
 * snapshot sees.  Rows without a value in the column are counted at once.  For
 * the other rows, enough addresses are kept to choose a sample in which values
 * of each size have the same share as in the table.  The values are fetched
 * only afterwards.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_advise_sample.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/sampling.h"
#include "utils/snapmgr.h"

#include "toast_policy_advise.h"
#include "toast_policy_compat.h"

/*
 * A fixed seed, so that repeated calls read the same pages and rows if the
 * table and the sample have the same sizes.
 */
#define TP_SEED				20260721
/* Keep so many times the rows of the sample, to choose from, up to a maximum */
#define TP_KEEP_FACTOR		20
#define TP_MAX_KEEP			100000

/* Count a row that has no value in the column. */
static void
tp_see_null_row(TpAdvice *advice, TupleTableSlot *slot)
{
	HeapTuple	tuple = ((HeapTupleTableSlot *) slot)->tuple;
	TupleDesc	desc = slot->tts_tupleDescriptor;

	tp_space_add(&advice->null_heap, tuple->t_len);
	if (!HeapTupleHasExternal(tuple))
		return;

	slot_getallattrs(slot);
	for (int i = 0; i < desc->natts; i++)
	{
		struct varatt_external pointer;
		struct varlena *value = (struct varlena *) DatumGetPointer(slot->tts_values[i]);

		if (slot->tts_isnull[i] || TupleDescAttr(desc, i)->attisdropped ||
			TupleDescAttr(desc, i)->attlen != -1 || !VARATT_IS_EXTERNAL_ONDISK(value))
			continue;
		VARATT_EXTERNAL_GET_POINTER(pointer, value);
		tp_space_add_chunks(&advice->null_toast, VARATT_EXTERNAL_GET_EXTSIZE(pointer));
	}
}

/*
 * Count a row of the pages that are read, and keep its address if it is
 * selected.
 */
static void
tp_see_row(TpAdvice *advice, int source, TupleTableSlot *slot)
{
	bool		isnull;
	Datum		value = slot_getattr(slot, advice->sources[source].attnum, &isnull);
	int			place = advice->nrows;
	int32		rawsize;

	if (isnull)
	{
		tp_see_null_row(advice, slot);
		return;
	}
	rawsize = (int32) (toast_raw_datum_size(value) - VARHDRSZ);
	advice->seen += 1;
	advice->seen_bytes += rawsize;

	if (advice->nrows == advice->keep_rows)
	{
		double		random = sampler_random_fract(&advice->random) * advice->seen;

		if (random >= advice->nrows)
			return;
		place = (int) random;
	}
	else
	{
		if (advice->nrows == advice->maxrows)
		{
			advice->maxrows = Min(advice->maxrows * 2, advice->keep_rows);
			advice->rows = repalloc_huge(advice->rows,
										 (Size) advice->maxrows * sizeof(TpRowId));
		}
		advice->nrows++;
	}
	advice->rows[place].source = source;
	advice->rows[place].tid = slot->tts_tid;
	advice->rows[place].rawsize = rawsize;
}

/* Read the given number of random pages of a table. */
static void
tp_sample_source(TpAdvice *advice, int number, BlockNumber blocks)
{
	TpSource   *source = &advice->sources[number];
	TableScanDesc scan = NULL;
	TupleTableSlot *slot;
	BlockSamplerData sampler;

	if (blocks == 0)
		return;
	advice->sampled_blocks += blocks;
	slot = table_slot_create(source->rel, NULL);
	advice->null_heap.reserve =
		RelationGetTargetPageFreeSpace(source->rel, HEAP_DEFAULT_FILLFACTOR);
	BlockSampler_Init(&sampler, source->blocks, (int) blocks, TP_SEED + number);
	while (BlockSampler_HasMore(&sampler))
	{
		BlockNumber block = BlockSampler_Next(&sampler);
		ItemPointerData first;
		ItemPointerData last;

		CHECK_FOR_INTERRUPTS();
		ItemPointerSet(&first, block, FirstOffsetNumber);
		ItemPointerSet(&last, block, MaxOffsetNumber);
		if (scan == NULL)
			scan = compat_beginscan_tidrange(source->rel, GetActiveSnapshot(), &first, &last);
		else
			table_rescan_tidrange(scan, &first, &last);
		while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
			tp_see_row(advice, number, slot);
	}
	if (scan != NULL)
		table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
}

/* qsort() comparator: rows in the order of their pages */
static int
tp_compare_places(const void *left, const void *right)
{
	const TpRowId *a = left;
	const TpRowId *b = right;

	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;

	return ItemPointerCompare(unconstify(ItemPointerData *, &a->tid),
							  unconstify(ItemPointerData *, &b->tid));
}

/* qsort() comparator: rows in the order of their values' sizes */
static int
tp_compare_sizes(const void *left, const void *right)
{
	const TpRowId *a = left;
	const TpRowId *b = right;

	if (a->rawsize != b->rawsize)
		return a->rawsize < b->rawsize ? -1 : 1;

	return tp_compare_places(left, right);
}

/*
 * Sort the kept rows by size, and choose the sample from them at equal
 * intervals.  The result for a value depends mostly on its size, so rare large
 * values must count in proportion to their number.
 */
static void
tp_choose_rows(TpAdvice *advice)
{
	if (advice->nrows > advice->sample_rows)
	{
		qsort(advice->rows, advice->nrows, sizeof(TpRowId), tp_compare_sizes);
		for (int i = 0; i < advice->sample_rows; i++)
			advice->rows[i] = advice->rows[(int) ((i + 0.5) * advice->nrows / advice->sample_rows)];
		advice->nrows = advice->sample_rows;
	}
	qsort(advice->rows, advice->nrows, sizeof(TpRowId), tp_compare_places);

	/*
	 * The measuring may end before the last row: shuffle the rows, so that
	 * the first rows are a sample, too.
	 */
	if (advice->seen > 0 &&
		advice->seen_bytes / advice->seen * advice->nrows > TP_MAX_EFFORT)
	{
		for (int i = advice->nrows - 1; i > 0; i--)
		{
			int			other = (int) (sampler_random_fract(&advice->random) * (i + 1));
			TpRowId		row = advice->rows[i];

			other = Min(other, i);
			advice->rows[i] = advice->rows[other];
			advice->rows[other] = row;
		}
	}
}

/*
 * Read as many pages as rows are wanted in the sample, and choose the sample.
 * Each table's part of the pages is proportional to its size, so that all rows
 * have the same chance.
 */
void
tp_sample(TpAdvice *advice)
{
	double		wanted = Min((double) advice->sample_rows, advice->blocks);
	double		before = 0;
	double		taken = 0;

	sampler_random_init_state(TP_SEED, &advice->random);
	advice->keep_rows = Max(advice->sample_rows,
							Min(advice->sample_rows * TP_KEEP_FACTOR, TP_MAX_KEEP));
	advice->maxrows = Min(advice->keep_rows, 1000);
	advice->rows = palloc(advice->maxrows * sizeof(TpRowId));
	for (int i = 0; i < advice->nsources; i++)
	{
		double		upto;

		before += advice->sources[i].blocks;
		upto = advice->blocks > 0 ? rint(before * wanted / advice->blocks) : 0;
		tp_sample_source(advice, i,
						 (BlockNumber) Min(upto - taken, (double) advice->sources[i].blocks));
		taken = upto;
	}
	tp_choose_rows(advice);
}
