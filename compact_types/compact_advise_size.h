/*-------------------------------------------------------------------------
 *
 * compact_advise_size.h
 *	  Sizes of values and rows, as the advice on a table computes them.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_advise_size.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_ADVISE_SIZE_H
#define COMPACT_ADVISE_SIZE_H

#include "executor/tuptable.h"

#include "compact_advise.h"

/*
 * Size and alignment of one value in a row, 0 for NULL.  The size of a row, in
 * any order of its columns, is computed from the sizes and alignments of its
 * values.
 */
typedef uint32 ItemSize;

#define ITEM(size, align)	(((ItemSize) (size) << 4) | (align))
#define ITEM_SIZE(item)		((item) >> 4)
#define ITEM_ALIGN(item)	((item) & 15)

typedef void (*RowCallback) (Advice *advice, TupleTableSlot *slot, void *arg);

/* One version of a row in the simulation. */
typedef struct RowVersion
{
	ItemSize   *items;
	Datum	   *values;
	char	   *storage;		/* attstorage */
	int		   *compressed;		/* compressed sizes; 0: not known yet */
} RowVersion;

typedef struct Simulation
{
	RowVersion	now;
	RowVersion	after;
	int		   *today;			/* today's order of columns */
	bool		blocked_too;	/* convert blocked columns as well */
} Simulation;

/* Sizes of the sampled rows, which serve to find the best order of columns. */
typedef struct SizeSample
{
	int64		skip;			/* take one of every skip rows */
	int64		seen;
	int			nrows;
	int			maxrows;
	ItemSize   *now;			/* nrows x ncolumns, sizes in the row itself */
	ItemSize   *after;
	ItemSize   *total;			/* of one row, including values out of line */
	Simulation	sim;
} SizeSample;

/* Size of a row's data with the columns in the given order. */
static inline Size
data_size(const ItemSize *items, const int *order, int ncolumns)
{
	Size		size = 0;

	for (int i = 0; i < ncolumns; i++)
	{
		ItemSize	item = items[order[i]];

		if (item != 0)
			size = TYPEALIGN(ITEM_ALIGN(item), size) + ITEM_SIZE(item);
	}

	return size;
}

/* compact_advise_rows.c */
extern int	compact_advise_align_bytes(char align);
extern ItemSize compact_advise_item_size(Datum value, int len, char align, char storage);
extern void compact_advise_scan_rows(Advice *advice, int max_pages, RowCallback callback, void *arg);
extern void compact_advise_look_at_row(Advice *advice, TupleTableSlot *slot, void *arg);

/* compact_advise_order.c */
extern void compact_advise_choose(Advice *advice, SizeSample *sample);

/* compact_advise_simulate.c */
extern void compact_advise_init_simulation(Advice *advice, Simulation *sim, bool blocked_too);
extern void compact_advise_sample_row(Advice *advice, TupleTableSlot *slot, void *arg);
extern void compact_advise_simulate(Advice *advice, int max_pages);
extern bool compact_advise_drop_growing_text(Advice *advice, const SizeSample *sample);

#endif							/* COMPACT_ADVISE_SIZE_H */
