/*-------------------------------------------------------------------------
 *
 * toast_policy_compare_sample.c
 *	  Select the rows that toast_policy.compare() examines.
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
 *	  toast_policy/toast_policy_compare_sample.c
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

#include "toast_policy_compare.h"
#include "toast_policy_compat.h"

/*
 * A fixed seed, so that repeated calls read the same pages and rows if the
 * table and the sample have the same sizes.
 */
#define TP_SEED				20260721
/* Keep so many times the rows of the sample, to choose from, up to a maximum */
#define TP_KEEP_FACTOR		20
#define TP_MAX_KEEP			100000

/*
 * Put a row, as it is stored, into a simulated table and its TOAST table.
 * Return the size of the tuple.
 */
Size
tp_store_as_is(TupleTableSlot *slot, TpSpace *heap, TpSpace *toast)
{
	HeapTuple	tuple = ((HeapTupleTableSlot *) slot)->tuple;
	TupleDesc	desc = slot->tts_tupleDescriptor;

	tp_space_add(heap, tuple->t_len);
	if (!HeapTupleHasExternal(tuple))
		return tuple->t_len;

	slot_getallattrs(slot);
	for (int i = 0; i < desc->natts; i++)
	{
		struct varatt_external pointer;
		struct varlena *value = (struct varlena *) DatumGetPointer(slot->tts_values[i]);

		if (slot->tts_isnull[i] || TupleDescAttr(desc, i)->attisdropped ||
			TupleDescAttr(desc, i)->attlen != -1 || !VARATT_IS_EXTERNAL_ONDISK(value))
			continue;
		VARATT_EXTERNAL_GET_POINTER(pointer, value);
		tp_space_add_chunks(toast, VARATT_EXTERNAL_GET_EXTSIZE(pointer));
	}

	return tuple->t_len;
}

/*
 * Count a row of the pages that are read, and keep its address if it is
 * selected.
 */
static bool
tp_see_row(void *arg, int source, TupleTableSlot *slot)
{
	TpComparison *comparison = arg;
	bool		isnull;
	Datum		value = slot_getattr(slot, comparison->sources[source].attnum, &isnull);
	int			place = comparison->nrows;
	int32		rawsize;

	if (isnull)
	{
		comparison->null_heap.reserve =
			RelationGetTargetPageFreeSpace(comparison->sources[source].rel,
										   HEAP_DEFAULT_FILLFACTOR);
		(void) tp_store_as_is(slot, &comparison->null_heap, &comparison->null_toast);
		return true;
	}
	rawsize = (int32) (toast_raw_datum_size(value) - VARHDRSZ);
	comparison->seen += 1;
	comparison->seen_bytes += rawsize;

	if (comparison->nrows == comparison->keep_rows)
	{
		double		random = sampler_random_fract(&comparison->random) * comparison->seen;

		if (random >= comparison->nrows)
			return true;
		place = (int) random;
	}
	else
	{
		if (comparison->nrows == comparison->maxrows)
		{
			comparison->maxrows = Min(comparison->maxrows * 2, comparison->keep_rows);
			comparison->rows = repalloc_huge(comparison->rows,
											 (Size) comparison->maxrows * sizeof(TpRowId));
		}
		comparison->nrows++;
	}
	comparison->rows[place].source = source;
	comparison->rows[place].tid = slot->tts_tid;
	comparison->rows[place].rawsize = rawsize;

	return true;
}

/*
 * Read the given number of random pages of a table.  Return false if the
 * function does not want more rows.
 */
static bool
tp_read_source(const TpSource *source, int number, BlockNumber blocks,
			   TpSeeRow see, void *arg)
{
	TableScanDesc scan = NULL;
	TupleTableSlot *slot;
	BlockSamplerData sampler;
	bool		more = true;

	if (blocks == 0)
		return true;
	slot = table_slot_create(source->rel, NULL);
	BlockSampler_Init(&sampler, source->blocks, (int) blocks, TP_SEED + number);
	while (more && BlockSampler_HasMore(&sampler))
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
		while (more && table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
			more = see(arg, number, slot);
	}
	if (scan != NULL)
		table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);

	return more;
}

/*
 * Read random pages of tables, and pass their rows to a function, until it
 * does not want more.  Each table's part of the pages is proportional to its
 * size, so that all rows have the same chance.  Return the number of pages.
 */
double
tp_read_sample(const TpSource *sources, int nsources, double wanted,
			   TpSeeRow see, void *arg)
{
	double		all = 0;
	double		before = 0;
	double		taken = 0;
	double		result = 0;
	bool		more = true;

	for (int i = 0; i < nsources; i++)
		all += sources[i].blocks;
	wanted = Min(wanted, all);
	for (int i = 0; i < nsources && more; i++)
	{
		double		upto;
		double		blocks;

		before += sources[i].blocks;
		upto = all > 0 ? rint(before * wanted / all) : 0;
		blocks = Min(upto - taken, (double) sources[i].blocks);
		more = tp_read_source(&sources[i], i, (BlockNumber) blocks, see, arg);
		result += blocks;
		taken = upto;
	}

	return result;
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
tp_choose_rows(TpComparison *comparison)
{
	if (comparison->nrows > comparison->sample_rows)
	{
		qsort(comparison->rows, comparison->nrows, sizeof(TpRowId), tp_compare_sizes);
		for (int i = 0; i < comparison->sample_rows; i++)
			comparison->rows[i] = comparison->rows[(int) ((i + 0.5) * comparison->nrows / comparison->sample_rows)];
		comparison->nrows = comparison->sample_rows;
	}
	qsort(comparison->rows, comparison->nrows, sizeof(TpRowId), tp_compare_places);

	/*
	 * The measuring may end before the last row: shuffle the rows, so that
	 * the first rows are a sample, too.
	 */
	if (comparison->seen > 0 &&
		comparison->seen_bytes / comparison->seen * comparison->nrows > comparison->effort)
	{
		for (int i = comparison->nrows - 1; i > 0; i--)
		{
			int			other = (int) (sampler_random_fract(&comparison->random) * (i + 1));
			TpRowId		row = comparison->rows[i];

			other = Min(other, i);
			comparison->rows[i] = comparison->rows[other];
			comparison->rows[other] = row;
		}
	}
}

/* Read as many pages as rows are wanted in the sample, and choose the sample. */
void
tp_sample(TpComparison *comparison)
{
	sampler_random_init_state(TP_SEED, &comparison->random);
	comparison->keep_rows = Max(comparison->sample_rows,
								Min(comparison->sample_rows * TP_KEEP_FACTOR, TP_MAX_KEEP));
	comparison->maxrows = Min(comparison->keep_rows, 1000);
	comparison->rows = palloc(comparison->maxrows * sizeof(TpRowId));
	comparison->sampled_blocks =
		tp_read_sample(comparison->sources, comparison->nsources, comparison->sample_rows,
					   tp_see_row, comparison);
	tp_choose_rows(comparison);
}
