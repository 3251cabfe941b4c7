/*-------------------------------------------------------------------------
 *
 * compact_advise_simulate.c
 *	  Simulate the pages of a table with other types and another order of columns.
 *
 * Rows of the exact sizes fill simulated pages as heap_insert() would do.
 * Long values are compressed and moved out of line as
 * heap_toast_insert_or_update() would do.  Where the size of a converted value
 * depends on the value, the real cast converts it.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_advise_simulate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/toast_internals.h"
#include "catalog/pg_type.h"
#include "utils/rel.h"

#include "compact_advise.h"
#include "compact_advise_size.h"

/*
 * Sizes of rows
 */

/* Cast a value to the column's compact variable-length type. */
static Datum
cast_value(AdviseColumn *column, Datum value)
{
	Oid			collid = column->att->attcollation;

	switch (column->cast_nargs)
	{
		case 0:
			return value;
		case 1:
			return FunctionCall1Coll(&column->cast, collid, value);
		case 2:
			return FunctionCall2Coll(&column->cast, collid, value,
									 Int32GetDatum(column->type.typmod));
		default:
			return FunctionCall3Coll(&column->cast, collid, value,
									 Int32GetDatum(column->type.typmod),
									 BoolGetDatum(true));
	}
}

/* Return true if the value is compressed already. */
static bool
is_compressed(Datum value)
{
	struct varlena *varlena = (struct varlena *) DatumGetPointer(value);

	if (VARATT_IS_EXTERNAL_ONDISK(varlena))
	{
		struct varatt_external pointer;

		VARATT_EXTERNAL_GET_POINTER(pointer, varlena);
		return (int32) VARATT_EXTERNAL_GET_EXTSIZE(pointer) < pointer.va_rawsize - VARHDRSZ;
	}

	return VARATT_IS_COMPRESSED(varlena);
}

/* Compute the item sizes of both versions of a row, before any toasting. */
static void
size_row(Advice *advice, TupleTableSlot *slot, Simulation *sim)
{
	ItemSize   *now = sim->now.items;
	ItemSize   *after = sim->after.items;

	memset(sim->now.compressed, 0, advice->ncolumns * sizeof(int));
	memset(sim->after.compressed, 0, advice->ncolumns * sizeof(int));
	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];
		Form_pg_attribute att = column->att;
		Datum		value = slot->tts_values[att->attnum - 1];
		Datum		new_value = value;

		if (slot->tts_isnull[att->attnum - 1])
		{
			now[i] = after[i] = 0;
			continue;
		}
		now[i] = compact_advise_item_size(value, att->attlen, att->attalign, att->attstorage);
		if (column->kind == ADVISE_KEEP ||
			(!sim->blocked_too && !compact_advise_converts(advice, column)))
			after[i] = now[i];
		else if (column->kind == ADVISE_TEXT)
		{
			new_value = cast_value(column, value);
			after[i] = compact_advise_item_size(new_value, column->type.len, column->type.align,
												column->type.storage);
		}
		else
			after[i] = ITEM (column->type.len, compact_advise_align_bytes(column->type.align));

		sim->now.values[i] = value;
		sim->after.values[i] = new_value;
	}
}

/*
 * Simulation
 */

/* Put a row on the last page or on a new one, as heap_insert() does. */
static void
add_to_pages(AdvisePages *pages, Size size, Size save_free_space)
{
	const Size	nearly_empty = MaxHeapTupleSize -
		(MaxHeapTuplesPerPage / 8 * sizeof(ItemIdData));
	Size		target;

	size = MAXALIGN(size);
	if (size + save_free_space > nearly_empty)
		target = Max(size, nearly_empty);
	else
		target = size + save_free_space;
	if (pages->pages == 0 || pages->free < target + sizeof(ItemIdData))
	{
		pages->pages++;
		pages->free = BLCKSZ - SizeOfPageHeaderData;
	}
	if (pages->free >= size + sizeof(ItemIdData))
		pages->free -= size + sizeof(ItemIdData);
	else
		pages->free = 0;
}

/* Return the size of the value after an attempt to compress it. */
static int
compressed_size(const Advice *advice, const RowVersion *row, int i)
{
	if (row->compressed[i] == 0)
	{
		Datum		value = row->values[i];
		char		method = advice->columns[i].att->attcompression;
		Datum		packed;

		value = PointerGetDatum(detoast_external_attr((struct varlena *) DatumGetPointer(value)));
		packed = toast_compress_datum(value, method);
		row->compressed[i] = DatumGetPointer(packed) ?
			(int) VARSIZE(DatumGetPointer(packed)) : (int) ITEM_SIZE(row->items[i]);
	}

	return row->compressed[i];
}

/*
 * Compute the sizes of a row's values as heap_toast_insert_or_update() would
 * store them.  Set items to the sizes within the row itself.  Set total,
 * unless it is NULL, to the sizes that include the values moved out of line.
 * Return the size of the row.
 */
static Size
store_row(const Advice *advice, const RowVersion *row, const int *order,
		  bool has_nulls, ItemSize *items, ItemSize *total)
{
	int			n = advice->ncolumns;
	Size		header;
	Size		max_size;
	bool	   *compressed;		/* compressed, or not compressible */
	bool		can_externalize = OidIsValid(advice->rel->rd_rel->reltoastrelid);

	/* in today's order, the null bitmap also covers dropped columns */
	header = SizeofHeapTupleHeader;
	for (int i = 0; i < n && !has_nulls; i++)
		has_nulls = (row->items[i] == 0);
	if (has_nulls)
		header += BITMAPLEN(order == advice->order ? n : RelationGetDescr(advice->rel)->natts);
	header = MAXALIGN(header);

	memcpy(items, row->items, n * sizeof(ItemSize));
	if (total)
		memcpy(total, row->items, n * sizeof(ItemSize));
	if (header + data_size(items, order, n) <= TOAST_TUPLE_THRESHOLD)
		return header + data_size(items, order, n);

	compressed = palloc0(n * sizeof(bool));
	for (int round = 1; round <= 4; round++)
	{
		bool		compress = (round == 1 || round == 3);
		bool		main = (round >= 3);

		max_size = (round == 4 ? TOAST_TUPLE_TARGET_MAIN :
					(Size) RelationGetToastTupleTarget(advice->rel, (int) TOAST_TUPLE_TARGET)) - header;
		while (data_size(items, order, n) > max_size && (compress || can_externalize))
		{
			int			biggest = -1;
			Size		biggest_size = MAXALIGN(TOAST_POINTER_SIZE);

			for (int i = 0; i < n; i++)
			{
				char		storage = row->storage[i];

				if (items[i] == 0 || storage == TYPSTORAGE_PLAIN ||
					ITEM_SIZE(items[i]) <= biggest_size)
					continue;
				if (compress && (compressed[i] || is_compressed(row->values[i])))
					continue;
				if (main ? storage != TYPSTORAGE_MAIN :
					(storage != TYPSTORAGE_EXTENDED && storage != TYPSTORAGE_EXTERNAL))
					continue;
				biggest = i;
				biggest_size = ITEM_SIZE(items[i]);
			}
			if (biggest < 0)
				break;
			if (compress)
			{
				compressed[biggest] = true;
				if (row->storage[biggest] != TYPSTORAGE_EXTERNAL)
				{
					int			size = compressed_size(advice, row, biggest);

					if ((Size) size < ITEM_SIZE(items[biggest]))
						items[biggest] = ITEM (size, ALIGNOF_INT);

					if (total)
						total[biggest] = items[biggest];
				}
			}
			if ((round == 1 && ITEM_SIZE(items[biggest]) > max_size && can_externalize) ||
				!compress)
				items[biggest] = ITEM (TOAST_POINTER_SIZE, 1);
		}
	}

	return header + data_size(items, order, n);
}

static Size
stored_size(const Advice *advice, const RowVersion *row, const int *order,
			bool has_nulls)
{
	ItemSize   *items = palloc((advice->ncolumns + 1) * sizeof(ItemSize));

	return store_row(advice, row, order, has_nulls, items, NULL);
}

/* Pass 2: keep the sizes of some rows. */
void
compact_advise_sample_row(Advice *advice, TupleTableSlot *slot, void *arg)
{
	SizeSample *sample = (SizeSample *) arg;
	Simulation *sim = &sample->sim;
	ItemSize   *now = sample->now + (Size) sample->nrows * advice->ncolumns;
	ItemSize   *after = sample->after + (Size) sample->nrows * advice->ncolumns;

	if (sample->seen++ % sample->skip != 0 || sample->nrows == sample->maxrows)
		return;
	size_row(advice, slot, sim);
	store_row(advice, &sim->now, sim->today, advice->has_dropped, now, sample->total);
	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];

		if (now[i] == 0)
			continue;
		column->nafter++;
		column->bytes_before += ITEM_SIZE(sample->total[i]);
	}
	store_row(advice, &sim->after, sim->today, advice->has_dropped, after, sample->total);
	for (int i = 0; i < advice->ncolumns; i++)
		advice->columns[i].bytes_after += ITEM_SIZE(sample->total[i]);
	sample->nrows++;
}

/*
 * Pass 3: fill the pages of three simulated tables: the present table, the
 * table with the new types, and the same in the best column order.
 */
static void
simulate_row(Advice *advice, TupleTableSlot *slot, void *arg)
{
	Simulation *sim = (Simulation *) arg;
	Size		save = RelationGetTargetPageFreeSpace(advice->rel, HEAP_DEFAULT_FILLFACTOR);

	size_row(advice, slot, sim);
	add_to_pages(&advice->now, stored_size(advice, &sim->now, sim->today, advice->has_dropped), save);
	add_to_pages(&advice->after, stored_size(advice, &sim->after, sim->today, advice->has_dropped), save);
	add_to_pages(&advice->best, stored_size(advice, &sim->after, advice->order, false), save);
}

void
compact_advise_init_simulation(Advice *advice, Simulation *sim, bool blocked_too)
{
	int			n = advice->ncolumns;
	RowVersion *versions[] = {&sim->now, &sim->after};

	for (int v = 0; v < 2; v++)
	{
		versions[v]->items = palloc0((n + 1) * sizeof(ItemSize));
		versions[v]->values = palloc0((n + 1) * sizeof(Datum));
		versions[v]->storage = palloc0(n + 1);
		versions[v]->compressed = palloc0((n + 1) * sizeof(int));
	}
	sim->today = palloc((n + 1) * sizeof(int));
	sim->blocked_too = blocked_too;
	for (int i = 0; i < n; i++)
	{
		AdviseColumn *column = &advice->columns[i];
		bool		converts = blocked_too ? column->kind != ADVISE_KEEP :
			compact_advise_converts(advice, column);

		sim->today[i] = i;
		sim->now.storage[i] = column->att->attlen == -1 ? column->att->attstorage : TYPSTORAGE_PLAIN;
		sim->after.storage[i] = converts ? column->type.storage : sim->now.storage[i];
	}
}

void
compact_advise_simulate(Advice *advice, int max_pages)
{
	Simulation	sim;

	memset(&advice->now, 0, sizeof(AdvisePages));
	memset(&advice->after, 0, sizeof(AdvisePages));
	memset(&advice->best, 0, sizeof(AdvisePages));
	compact_advise_init_simulation(advice, &sim, false);
	compact_advise_scan_rows(advice, max_pages, simulate_row, &sim);
}

/*
 * Withdraw proposals of compact_text if the simulated table grew.  Values of
 * compact_text can be so short that the rows stay below the size at which
 * TOAST begins to work, whereas today's values are compressed or moved out of
 * line.  First withdraw the proposals whose values take more space within the
 * rows.  If there are none, withdraw all proposals of compact_text.
 */
bool
compact_advise_drop_growing_text(Advice *advice, const SizeSample *sample)
{
	bool		found = false;
	char	   *reason = "the table would grow, because TOAST makes its rows shorter than compact_text does";

	/*
	 * a training keeps all proposals, so the table cannot be made smaller
	 * here
	 */
	if (advice->options.train)
	{
		for (int i = 0; i < advice->ncolumns; i++)
		{
			if (advice->columns[i].kind == ADVISE_TEXT)
				compact_advise_keep_text(advice, &advice->columns[i], reason);
		}
		return false;
	}

	for (int all = 0; all <= 1 && !found; all++)
	{
		for (int i = 0; i < advice->ncolumns; i++)
		{
			AdviseColumn *column = &advice->columns[i];
			int64		growth = 0;

			if (column->kind != ADVISE_TEXT || !compact_advise_converts(advice, column))
				continue;
			for (int r = 0; r < sample->nrows && !all; r++)
			{
				Size		k = (Size) r * advice->ncolumns + i;

				growth += (int64) ITEM_SIZE(sample->after[k]) - (int64) ITEM_SIZE(sample->now[k]);
			}
			if (all || growth > 0)
			{
				compact_advise_keep_text(advice, column, reason);
				found = true;
			}
		}
	}

	return found;
}
