/*-------------------------------------------------------------------------
 *
 * compact_advise_order.c
 *	  Search for the order of columns that makes the rows smallest.
 *
 * The sizes of the sampled rows decide which of two orders is better.  The
 * sizes also show which proposals shorten no row, because of alignment;
 * these proposals are withdrawn.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_advise_order.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"

#include "compact_advise.h"
#include "compact_advise_size.h"

/*
 * limits of the search that moves single columns: values per round, rounds,
 * and columns of the table
 */
#define STEP_VALUES			20000000
#define STEP_ROUNDS			10
#define MAX_STEP_COLUMNS	200
/* compact_text must save at least this part of a column's size */
#define MIN_TEXT_SAVING		0.05

/* Return the size of a row's header. */
static inline Size
header_size(const ItemSize *items, int ncolumns, bool has_nulls)
{
	Size		size = SizeofHeapTupleHeader;

	for (int i = 0; i < ncolumns && !has_nulls; i++)
		has_nulls = (items[i] == 0);
	if (has_nulls)
		size += BITMAPLEN(ncolumns);

	return MAXALIGN(size);
}

typedef struct OrderCost
{
	uint64		aligned;		/* sum of row sizes on pages */
	uint64		plain;			/* without MAXALIGN; decides if aligned is
								 * equal */
} OrderCost;

static OrderCost
order_cost(const Advice *advice, const ItemSize *items, int nrows, int skip,
		   const int *order)
{
	OrderCost	cost = {0, 0};

	for (int i = 0; i < nrows; i += skip)
	{
		const ItemSize *row = items + (Size) i * advice->ncolumns;
		Size		size = header_size(row, advice->ncolumns, false) +
			data_size(row, order, advice->ncolumns);

		cost.aligned += MAXALIGN(size);
		cost.plain += size;
	}

	return cost;
}

static bool
cost_less(OrderCost a, OrderCost b)
{
	return a.aligned < b.aligned || (a.aligned == b.aligned && a.plain < b.plain);
}

/*
 * Return the sort key of a column in one of the starting orders.  Columns with
 * equal keys stay in the table's order.
 */
static int
sort_key(const AdviseColumn *column, int align, bool fixed, double nulls, int method)
{
	int			key = fixed ? 16 - align : 32;

	switch (method)
	{
		case 0:					/* columns with NULL behind the others */
			return key + (fixed && nulls > 0 ? 16 : 0);
		case 1:					/* by alignment only */
			return key;
		default:				/* variable length before one byte */
			return fixed && align == 1 ? 33 : key;
	}
}

/*
 * Find the order of columns that makes the rows smallest.  Take the best of
 * several sorted orders.  If refine is true, also move single columns as long
 * as a move makes the rows smaller.
 */
static void
find_order(Advice *advice, const ItemSize *items, int nrows, bool refine)
{
	int			n = advice->ncolumns;
	int		   *best = advice->order;
	int		   *order = palloc(n * sizeof(int));
	int		   *keys = palloc(n * sizeof(int));
	int			skip;
	OrderCost	today;
	OrderCost	cost;
	OrderCost	step_cost;
	bool		better = true;

	for (int i = 0; i < n; i++)
		best[i] = i;
	advice->reordered = false;
	if (nrows == 0)
		return;
	today = cost = order_cost(advice, items, nrows, 1, best);

	for (int method = 0; method < 3; method++)
	{
		OrderCost	new_cost;

		for (int i = 0; i < n; i++)
		{
			AdviseColumn *column = &advice->columns[i];
			bool		converts = compact_advise_converts(advice, column);
			int			len = converts ? column->type.len : column->att->attlen;
			char		align = converts ? column->type.align : column->att->attalign;

			keys[i] = sort_key(column, compact_advise_align_bytes(align), len > 0,
							   1.0 - (double) column->nvalues / advice->sampled_rows,
							   method);
			order[i] = i;
		}
		/* insertion sort, which is stable */
		for (int i = 1; i < n; i++)
		{
			int			moved = order[i];
			int			j = i;

			for (; j > 0 && keys[order[j - 1]] > keys[moved]; j--)
				order[j] = order[j - 1];
			order[j] = moved;
		}
		new_cost = order_cost(advice, items, nrows, 1, order);
		if (cost_less(new_cost, cost))
		{
			cost = new_cost;
			memcpy(best, order, n * sizeof(int));
		}
	}

	/* try every column in every place; this is slow, so take only some rows */
	skip = (int) Min(nrows, (double) n * n * n * nrows / STEP_VALUES + 1);
	step_cost = order_cost(advice, items, nrows, skip, best);
	for (int round = 0; refine && better && round < STEP_ROUNDS && n <= MAX_STEP_COLUMNS; round++)
	{
		better = false;
		for (int from = 0; from < n; from++)
		{
			CHECK_FOR_INTERRUPTS();
			for (int to = 0; to < n; to++)
			{
				OrderCost	new_cost;
				int			moved = best[from];

				if (from == to)
					continue;
				memcpy(order, best, n * sizeof(int));
				if (from < to)
					memmove(&order[from], &order[from + 1], (to - from) * sizeof(int));
				else
					memmove(&order[to + 1], &order[to], (from - to) * sizeof(int));
				order[to] = moved;
				new_cost = order_cost(advice, items, nrows, skip, order);
				if (cost_less(new_cost, step_cost))
				{
					step_cost = new_cost;
					memcpy(best, order, n * sizeof(int));
					better = true;
				}
			}
		}
	}

	/* discard an order that does not make the aligned rows shorter */
	cost = order_cost(advice, items, nrows, 1, best);
	if (cost.aligned >= today.aligned)
	{
		for (int i = 0; i < n; i++)
			best[i] = i;
	}
	else
		advice->reordered = true;
	pfree(order);
	pfree(keys);
}

/*
 * Withdraw the proposals that do not make whole rows shorter.  Search for the
 * best order of columns, and mark the proposals that make rows shorter only in
 * that order.
 */
void
compact_advise_choose(Advice *advice, SizeSample *sample)
{
	int			n = advice->ncolumns;
	int			nrows = sample->nrows;
	Size		count = (Size) nrows * n;
	int		   *today = palloc(n * sizeof(int));
	ItemSize   *items = MemoryContextAllocHuge(CurrentMemoryContext,
											   Max(count, 1) * sizeof(ItemSize));
	bool		dropped;

	for (int i = 0; i < n; i++)
	{
		AdviseColumn *column = &advice->columns[i];

		today[i] = i;
		if (column->kind == ADVISE_TEXT && column->nafter > 0)
		{
			double		before = column->bytes_before;

			if (column->bytes_after > before)
				compact_advise_keep_text(advice, column, "compact_text would be larger than compressed text");
			else if (column->bytes_after > (1.0 - MIN_TEXT_SAVING) * before)
				compact_advise_keep_text(advice, column,
										 psprintf("compact_text would save only %.1f %% of the column",
												  100.0 * (1.0 - column->bytes_after / before)));
		}
	}

	do
	{
		int			useless = -1;
		double		least = 0;
		OrderCost	all_today;
		OrderCost	all_best;

		dropped = false;
		for (Size k = 0; k < count; k++)
			items[k] = compact_advise_converts(advice, &advice->columns[k % n]) ?
				sample->after[k] : sample->now[k];
		find_order(advice, items, nrows, false);
		all_today = order_cost(advice, items, nrows, 1, today);
		all_best = order_cost(advice, items, nrows, 1, advice->order);
		/* withdraw only one: two proposals may save space only together */
		for (int i = 0; i < n && n <= MAX_STEP_COLUMNS; i++)
		{
			AdviseColumn *column = &advice->columns[i];
			uint64		without;
			double		saved;

			/* keep compact_charN and decimals, which are also faster */
			if (!compact_advise_converts(advice, column) ||
				column->kind == ADVISE_CHAR || column->kind == ADVISE_DECIMAL ||
				column->little)
				continue;
			CHECK_FOR_INTERRUPTS();
			for (int r = 0; r < nrows; r++)
				items[(Size) r * n + i] = sample->now[(Size) r * n + i];
			without = order_cost(advice, items, nrows, 1, today).aligned;
			column->only_reordered = (without <= all_today.aligned);
			saved = (double) order_cost(advice, items, nrows, 1, advice->order).aligned -
				(double) all_best.aligned;
			for (int r = 0; r < nrows; r++)
				items[(Size) r * n + i] = sample->after[(Size) r * n + i];
			if (column->only_reordered && saved <= 0 &&
				(useless < 0 || saved < least))
			{
				useless = i;
				least = saved;
			}
		}
		if (useless >= 0)
		{
			AdviseColumn *column = &advice->columns[useless];
			char	   *reason = psprintf("%s would not shorten the rows, because of alignment%s",
										  column->type.name,
										  column->kind == ADVISE_TEXT ? " or TOAST" : "");

			if (column->kind == ADVISE_TEXT)
				compact_advise_keep_text(advice, column, reason);
			else
				compact_advise_keep(column, reason);
			dropped = true;
		}
	} while (dropped);
	find_order(advice, items, nrows, true);

	for (int i = 0; i < n; i++)
	{
		AdviseColumn *column = &advice->columns[i];

		if (column->kind != ADVISE_KEEP && column->only_reordered)
			column->reason = psprintf("%s; shortens rows only in the best column order",
									  column->reason);
	}
	pfree(items);
	pfree(today);
}
