/*-------------------------------------------------------------------------
 *
 * toast_policy_compare_size.c
 *	  Predict the size of a row, and of its table, if a column is stored differently.
 *
 * Simulate tp_row_apply(), and then heap_toast_insert_or_update(), with the
 * sizes of a row's values instead of the values.  Put the resulting tuple and
 * chunks into simulated pages.  The other columns of the row take part,
 * starting with their raw sizes, because the space that they leave to each
 * other decides where their values go.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_compare_size.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/itup.h"
#include "access/nbtree.h"
#include "access/toast_internals.h"
#include "access/tupmacs.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "storage/bufpage.h"

#include "toast_policy_compare.h"
#include "toast_policy_compat.h"

/*
 * Smaller values never move out of line, as in
 * toast_tuple_find_biggest_attribute().
 */
#define TP_SMALLEST			MAXALIGN(TOAST_POINTER_SIZE)

/* Header, chunk_id, chunk_seq and length word of a chunk's tuple */
#define TP_CHUNK_OVERHEAD \
	(MAXALIGN(SizeofHeapTupleHeader) + sizeof(Oid) + sizeof(int32) + VARHDRSZ)

/* ztext and zbytea store strings of up to this size raw. */
#define TP_TYPE_MIN_SIZE	64
#define TP_TYPE_HEADER		5
#define TP_TYPE_RAW_HEADER	1

/* Space in an empty page of a heap */
#define TP_PAGE_SPACE		((Size) (BLCKSZ - SizeOfPageHeaderData))

/*
 * Return the bytes that the chunks of a value take in the TOAST table's pages.
 */
static double
tp_chunk_space(int64 size)
{
	int64		full = size / TOAST_MAX_CHUNK_SIZE;
	int64		last = size % TOAST_MAX_CHUNK_SIZE;
	double		result;

	result = (double) full * (MAXALIGN(TP_CHUNK_OVERHEAD + TOAST_MAX_CHUNK_SIZE) + sizeof(ItemIdData));
	if (last > 0)
		result += MAXALIGN(TP_CHUNK_OVERHEAD + last) + sizeof(ItemIdData);

	return result;
}

static int
tp_align_bytes(char align)
{
	switch (align)
	{
		case TYPALIGN_CHAR:
			return 1;
		case TYPALIGN_SHORT:
			return ALIGNOF_SHORT;
		case TYPALIGN_INT:
			return ALIGNOF_INT;
		default:
			return ALIGNOF_DOUBLE;
	}
}

/*
 * Return the size of a raw value in a row.  heap gives the value a short
 * header if the value is small and not of STORAGE PLAIN.
 */
static int32
tp_inline_size(int32 size, char storage)
{
	if (storage != TYPSTORAGE_PLAIN && size + VARHDRSZ_SHORT <= VARATT_SHORT_MAX)
		return size + VARHDRSZ_SHORT;

	return size + VARHDRSZ;
}

static void
tp_read_column(TpSampleColumn *column, Form_pg_attribute att, Datum value)
{
	struct varlena *varlena;

	column->value = value;
	column->storage = TYPSTORAGE_PLAIN;
	column->align = tp_align_bytes(att->attalign);
	if (att->attlen > 0)
		column->raw = att->attlen;
	else if (att->attlen == -2)
		column->raw = strlen(DatumGetCString(value)) + 1;
	if (att->attlen != -1)
		return;

	varlena = (struct varlena *) DatumGetPointer(value);
	column->varlena = true;
	column->storage = att->attstorage;
	column->compression = att->attcompression;
	column->governed = tp_column_is_governed(att);
	column->raw = tp_inline_size((int32) (toast_raw_datum_size(value) - VARHDRSZ),
								 att->attstorage);
	if (VARATT_IS_EXTERNAL_ONDISK(varlena))
	{
		struct varatt_external pointer;

		VARATT_EXTERNAL_GET_POINTER(pointer, varlena);
		column->compressed = -1;
		if ((int32) VARATT_EXTERNAL_GET_EXTSIZE(pointer) < pointer.va_rawsize - VARHDRSZ)
			column->compressed = VARATT_EXTERNAL_GET_EXTSIZE(pointer) + VARHDRSZ;
	}
	else if (VARATT_IS_COMPRESSED(varlena))
		column->compressed = VARSIZE(varlena);

	/*
	 * heap does not compress values of an EXTERNAL column, and leaves a
	 * compressed value as it is.
	 */
	column->fixed = column->compressed > 0 &&
		att->attstorage == TYPSTORAGE_EXTERNAL;
}

/*
 * Get the sizes of a row of the relation.  target is the index of a column
 * that is not NULL, or -1 if no column is examined alone.  The row's columns
 * are palloc'd, and point into the slot.
 */
void
tp_row_read(TpSampleRow *row, Relation rel, int target, TupleTableSlot *slot)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Size		option = RelationGetToastTupleTarget(rel, (int) TOAST_TUPLE_TARGET);
	Size		heap_target = option;
	bool		own = rel->rd_rel->relam != HEAP_TABLE_AM_OID;
	bool		others = false;
	bool		hasnull = false;

	slot_getallattrs(slot);
	memset(row, 0, sizeof(TpSampleRow));
	row->natts = desc->natts;
	row->target = target;
	row->columns = palloc0(desc->natts * sizeof(TpSampleColumn));
	for (int i = 0; i < desc->natts; i++)
	{
		/* heap does not write the value of a dropped column again */
		if (slot->tts_isnull[i] || TupleDescAttr(desc, i)->attisdropped)
			hasnull = true;
		else
			tp_read_column(&row->columns[i], TupleDescAttr(desc, i),
						   slot->tts_values[i]);
		others |= own && i != target && tp_column_is_governed(TupleDescAttr(desc, i));
	}

	if (target >= 0)
		row->rawsize = (int32) (toast_raw_datum_size(slot->tts_values[target]) - VARHDRSZ);
	row->has_toast = OidIsValid(rel->rd_rel->reltoastrelid) ||
		(target >= 0 && TupleDescAttr(desc, target)->attstorage == TYPSTORAGE_PLAIN);
	row->hoff = SizeofHeapTupleHeader;
	if (hasnull)
		row->hoff += BITMAPLEN(desc->natts);
	row->hoff = MAXALIGN(row->hoff);

	/*
	 * In a table of the access method with governed columns, a low
	 * toast_tuple_target is not for whole rows.  When the last governed
	 * column is disabled, the option is reset.
	 */
	row->policy_moved = row->has_toast ? tp_out_of_line_size(rel) : 0;
	row->policy_limit = (row->policy_moved > 0 ? TOAST_TUPLE_TARGET : option) - row->hoff;
	row->heap_moved = others ? row->policy_moved : 0;
	if (option < TOAST_TUPLE_TARGET &&
		(others ? row->heap_moved > 0 :
		 own && target >= 0 && tp_column_is_governed(TupleDescAttr(desc, target))))
		heap_target = TOAST_TUPLE_TARGET;
	row->heap_limit = heap_target - row->hoff;
	row->limit = row->heap_limit;
}

/* Do the work of heap_compute_data_size(). */
static Size
tp_data_size(const TpSampleRow *row)
{
	Size		size = 0;

	for (int i = 0; i < row->natts; i++)
	{
		const TpSampleColumn *column = &row->columns[i];

		if (column->raw > 0)
			size = TYPEALIGN(column->size_align, size) + column->size;
	}

	return size;
}

/* Set the size in bytes of the column's value, with a header of the given kind. */
static void
tp_set_size(TpSampleColumn *column, int32 size, bool short_header)
{
	column->size = size;
	column->size_align = short_header ? 1 : column->align;
}

static void
tp_set_raw(TpSampleColumn *column)
{
	tp_set_size(column, column->raw, column->varlena &&
				column->storage != TYPSTORAGE_PLAIN &&
				column->raw <= VARATT_SHORT_MAX);
	column->is_compressed = false;
}

static void
tp_set_compressed(TpSampleColumn *column)
{
	tp_set_size(column, column->compressed, false);
	column->is_compressed = true;
}

/* Do the work of toast_tuple_try_compression(). */
static void
tp_try_compression(TpSampleColumn *column)
{
	column->tried = true;
	if (column->compressed == 0)
	{
		Datum		compressed = toast_compress_datum(column->value,
													  column->compression);

		column->compressed = -1;
		if (DatumGetPointer(compressed) != NULL)
		{
			column->compressed = VARSIZE(DatumGetPointer(compressed));
			pfree(DatumGetPointer(compressed));
		}
	}
	if (column->compressed > 0)
		tp_set_compressed(column);
}

/*
 * Do the work of toast_tuple_externalize(): count the chunks, and leave a
 * pointer.
 */
static void
tp_externalize(TpSampleRow *row, int index, TpStrategy *strategy)
{
	TpSampleColumn *column = &row->columns[index];
	int64		size = column->size - (column->size_align == 1 &&
									   column->size <= VARATT_SHORT_MAX ?
									   VARHDRSZ_SHORT : VARHDRSZ);

	tp_space_add_chunks(&strategy->toast, size);
	if (index == row->target)
	{
		strategy->toast_used += tp_chunk_space(size);
		strategy->chunks += TP_CHUNKS(size);
		strategy->external_bytes += size;
		strategy->externals += 1;
	}
	column->is_external = column->is_moved = true;
	tp_set_size(column, TOAST_POINTER_SIZE, true);
}

/* Do the work of toast_tuple_find_biggest_attribute(). */
static int
tp_find_biggest(const TpSampleRow *row, bool for_compression, bool main)
{
	int			biggest = -1;
	int32		biggest_size = TP_SMALLEST;

	for (int i = 0; i < row->natts; i++)
	{
		const TpSampleColumn *column = &row->columns[i];

		if (!column->varlena || column->raw == 0 || column->is_external ||
			column->storage == TYPSTORAGE_PLAIN ||
			(column->storage == TYPSTORAGE_MAIN) != main ||
			(for_compression && (column->tried || column->is_compressed)))
			continue;
		if (column->size > biggest_size)
		{
			biggest = i;
			biggest_size = column->size;
		}
	}

	return biggest;
}

/* Do the work of heap_toast_insert_or_update(). */
static void
tp_toast_row(TpSampleRow *row, TpStrategy *strategy)
{
	int			i;
	Size		limit = row->limit;

	if (row->hoff + tp_data_size(row) <= TOAST_TUPLE_THRESHOLD)
		return;

	while (tp_data_size(row) > limit &&
		   (i = tp_find_biggest(row, true, false)) >= 0)
	{
		if (row->columns[i].storage == TYPSTORAGE_EXTENDED)
		{
			if (i == row->target && strategy->method == TP_BY_STORAGE)
				strategy->compress_us += strategy->trial->compress_us;
			tp_try_compression(&row->columns[i]);
		}
		row->columns[i].tried = true;
		if ((Size) row->columns[i].size > limit && row->has_toast)
			tp_externalize(row, i, strategy);
	}
	while (tp_data_size(row) > limit && row->has_toast &&
		   (i = tp_find_biggest(row, false, false)) >= 0)
		tp_externalize(row, i, strategy);
	while (tp_data_size(row) > limit &&
		   (i = tp_find_biggest(row, true, true)) >= 0)
	{
		if (i == row->target)
			strategy->compress_us += strategy->trial->compress_us;
		tp_try_compression(&row->columns[i]);
	}
	limit = TOAST_TUPLE_TARGET_MAIN - row->hoff;
	while (tp_data_size(row) > limit && row->has_toast &&
		   (i = tp_find_biggest(row, false, true)) >= 0)
		tp_externalize(row, i, strategy);
}

/*
 * Return true if the rule keeps the compressed form of the current value.  Add
 * the time that the rule takes to the strategy's time.
 */
static bool
tp_rule_compresses(const TpSampleRow *row, TpStrategy *strategy, int32 overhead, int32 room)
{
	const TpTrial *trial = strategy->trial;

	strategy->compress_us += trial->probe_us;
	if (trial->incompressible)
		return false;
	strategy->compress_us += trial->compress_us;

	return trial->size >= 0 &&
		trial->size <= tp_size_limit(row->rawsize, overhead, room);
}

/*
 * Do the work of tp_row_choose(): move governed values of at least min_bytes
 * out of line, unless they are smaller when they are compressed.  governed has
 * an element for each column.  Without it, take the columns that the policy
 * governs, and let the strategy decide about the examined column.
 */
static void
tp_move_values(TpSampleRow *row, const bool *governed, int min_bytes, TpStrategy *strategy)
{
	for (int i = 0; i < row->natts; i++)
	{
		TpSampleColumn *column = &row->columns[i];
		bool		moves = governed != NULL ? governed[i] :
			i == row->target ? strategy->method == TP_BY_POLICY : column->governed;
		int32		overhead = VARHDRSZ_COMPRESSED - VARHDRSZ;
		int32		room = min_bytes - 1 - VARHDRSZ;

		if (!moves || column->raw == 0 || column->size < min_bytes)
			continue;
		if (i == row->target)
		{
			if (tp_rule_compresses(row, strategy, overhead, room))
			{
				column->compressed = strategy->trial->size + VARHDRSZ_COMPRESSED;
				tp_set_compressed(column);
			}
		}
		else if (!column->fixed)
		{
			int32		rawsize = column->raw -
				(column->size_align == 1 ? VARHDRSZ_SHORT : VARHDRSZ);

			tp_try_compression(column);
			if (column->is_compressed &&
				column->compressed - (int32) VARHDRSZ_COMPRESSED >
				tp_size_limit(rawsize, overhead, room))
				tp_set_raw(column);
		}
		if (column->size >= min_bytes)
			tp_externalize(row, i, strategy);
	}
}

/*
 * Do the work of tp_row_apply(), with the examined column as the governed
 * column.
 */
static void
tp_policy_row(TpSampleRow *row, TpStrategy *strategy)
{
	TpSampleColumn *target = &row->columns[row->target];
	bool		governed_done = false;

	if (row->hoff + tp_data_size(row) <= TOAST_TUPLE_THRESHOLD)
		return;

	/*
	 * A value that goes out of line has the size of a pointer only until the
	 * end of this function.
	 */
	for (;;)
	{
		Size		size = tp_data_size(row);
		Size		rest;
		Size		room = 0;
		int			largest = -1;
		int32		largest_size = TP_SMALLEST;
		TpSampleColumn *column;

		if (size <= row->limit)
			break;
		for (int i = 0; i < row->natts; i++)
		{
			column = &row->columns[i];
			if (column->varlena && column->raw > 0 && column->size > largest_size &&
				!column->tried && !column->is_compressed &&
				(column->storage == TYPSTORAGE_EXTENDED ||
				 (i == row->target && !governed_done)))
			{
				largest = i;
				largest_size = column->size;
			}
		}
		if (largest < 0)
			break;

		column = &row->columns[largest];
		rest = size - largest_size;
		if (column == target)
		{
			governed_done = true;
			if (!row->has_toast)
				room = largest_size;
			else if (rest + MAXIMUM_ALIGNOF < row->limit)
				room = row->limit - rest - MAXIMUM_ALIGNOF;
			if (tp_rule_compresses(row, strategy, VARHDRSZ_COMPRESSED - VARHDRSZ,
								   (int32) room - VARHDRSZ))
			{
				column->compressed = strategy->trial->size + VARHDRSZ_COMPRESSED;
				tp_set_compressed(column);
			}
		}
		else
			tp_try_compression(column);
		if (row->has_toast && (Size) column->size > row->limit)
		{
			column->is_external = true;
			tp_set_size(column, TOAST_POINTER_SIZE, true);
		}
	}

	for (int i = 0; i < row->natts; i++)
	{
		TpSampleColumn *column = &row->columns[i];

		if (!column->is_external || column->is_moved)
			continue;
		column->is_external = false;
		if (column->is_compressed)
			tp_set_compressed(column);
		else
			tp_set_raw(column);
	}
}

/*
 * Give the examined column the form with which the strategy starts, and reset
 * the other columns.
 */
static void
tp_row_start(TpSampleRow *row, TpStrategy *strategy)
{
	TpSampleColumn *target = &row->columns[row->target];
	int32		size = row->rawsize;

	target->storage = strategy->storage;
	target->fixed = false;
	target->compressed = -1;
	if (strategy->method == TP_BY_STORAGE && strategy->trial &&
		strategy->trial->size >= 0 &&
		strategy->trial->size + (int32) VARHDRSZ_COMPRESSED < size - 2)
		target->compressed = strategy->trial->size + VARHDRSZ_COMPRESSED;
	else if (strategy->method == TP_BY_TYPE)
	{
		if (size > TP_TYPE_MIN_SIZE &&
			tp_rule_compresses(row, strategy, TP_TYPE_HEADER, 0))
		{
			size = strategy->trial->size + TP_TYPE_HEADER;
			strategy->decompress_us += strategy->trial->decompress_us;
		}
		else
			size += TP_TYPE_RAW_HEADER;
	}
	target->raw = tp_inline_size(size, target->storage);

	for (int i = 0; i < row->natts; i++)
	{
		TpSampleColumn *column = &row->columns[i];

		column->tried = column->is_compressed = false;
		column->is_external = column->is_moved = false;
		if (column->fixed)
			tp_set_compressed(column);
		else
			tp_set_raw(column);
	}
}

/* Store the row in the strategy's simulated table. */
void
tp_row_store(TpSampleRow *row, TpStrategy *strategy)
{
	TpSampleColumn *target = &row->columns[row->target];
	bool		policy = strategy->method == TP_BY_POLICY;
	int			min_moved = policy ? row->policy_moved : row->heap_moved;

	tp_row_start(row, strategy);
	row->limit = policy ? row->policy_limit : row->heap_limit;
	if (min_moved > 0)
		tp_move_values(row, NULL, min_moved, strategy);
	if (policy)
		tp_policy_row(row, strategy);
	tp_toast_row(row, strategy);
	tp_space_add(&strategy->heap, row->hoff + tp_data_size(row));
	if (!target->is_external)
		strategy->inline_bytes += target->size;
	if (target->is_compressed)
		strategy->decompress_us += strategy->trial->decompress_us;
}

/*
 * Store the row in a simulated table of the access method whose governed values
 * of at least min_bytes go out of line, as tp_row_choose() decides.  governed
 * has an element for each column.  The strategy needs only its spaces.  Return
 * the size of the tuple.
 */
Size
tp_row_store_out_of_line(TpSampleRow *row, const bool *governed, int min_bytes,
						 TpStrategy *strategy)
{
	Size		size;

	row->has_toast = true;
	row->limit = TOAST_TUPLE_TARGET - row->hoff;
	for (int i = 0; i < row->natts; i++)
	{
		TpSampleColumn *column = &row->columns[i];

		column->tried = column->is_compressed = false;
		column->is_external = column->is_moved = false;
		if (governed[i])
			column->storage = TYPSTORAGE_EXTERNAL;
		if (column->fixed)
			tp_set_compressed(column);
		else
			tp_set_raw(column);
	}
	tp_move_values(row, governed, min_bytes, strategy);
	tp_toast_row(row, strategy);
	size = row->hoff + tp_data_size(row);
	tp_space_add(&strategy->heap, size);

	return size;
}

/* Put a tuple into the current page, another page with enough space, or a new one. */
void
tp_space_add(TpSpace *space, Size length)
{
	Size		need = MAXALIGN(length) + sizeof(ItemIdData);
	int			class;

	if (space->pages == 0 || need + space->reserve > space->free)
	{
		if (space->pages > 0)
			space->left[Min(space->free / TP_SPACE_STEP, TP_SPACE_CLASSES - 1)]++;
		class = (need + space->reserve + TP_SPACE_STEP - 1) / TP_SPACE_STEP;
		while (class < TP_SPACE_CLASSES && space->left[class] == 0)
			class++;
		if (class < TP_SPACE_CLASSES)
		{
			space->left[class]--;
			space->free = class * TP_SPACE_STEP;
		}
		else
		{
			space->pages++;
			space->free = TP_PAGE_SPACE;
		}
	}
	/* only a row that is too large for heap does not fit */
	space->free -= Min(need, space->free);

	if (space->new_pages == 0 || need + space->reserve > space->new_free)
	{
		space->new_pages++;
		space->new_free = TP_PAGE_SPACE;
	}
	space->new_free -= Min(need, space->new_free);
}

/* Put the chunks of a value into the pages of a TOAST table. */
void
tp_space_add_chunks(TpSpace *space, int64 size)
{
	int64		pages = 0;

	/*
	 * Add whole pages for a large value, because a loop over its chunks takes
	 * long.
	 */
	if (TP_CHUNKS(size) > 2 * EXTERN_TUPLES_PER_PAGE)
	{
		pages = TP_CHUNKS(size) / EXTERN_TUPLES_PER_PAGE - 1;
		space->pages += pages;
		space->new_pages += pages;
	}
	space->used += tp_chunk_space(size);
	space->chunks += TP_CHUNKS(size);
	size -= pages * EXTERN_TUPLES_PER_PAGE * (int64) TOAST_MAX_CHUNK_SIZE;
	for (; size > 0; size -= TOAST_MAX_CHUNK_SIZE)
		tp_space_add(space, TP_CHUNK_OVERHEAD + (Size) Min(size, (int64) TOAST_MAX_CHUNK_SIZE));
}

/*
 * Return the number of pages of a table that has scale times the rows of the
 * simulated table.
 */
double
tp_space_pages(const TpSpace *space, double scale)
{
	if (space->pages == 0)
		return 0;

	/*
	 * The last page is not full: count only its used part, because the result
	 * is scaled.
	 */
	return (space->pages - (double) space->free / TP_PAGE_SPACE) * scale;
}

/* Do the same for a table that is rewritten, which uses no page again. */
double
tp_space_new_pages(const TpSpace *space, double scale)
{
	if (space->new_pages == 0)
		return 0;

	return (space->new_pages - (double) space->new_free / TP_PAGE_SPACE) * scale;
}

/*
 * Return the number of pages of a TOAST table's index.  Entries come in
 * ascending order, so each page is filled up to the default fillfactor.
 */
double
tp_toast_index_pages(double chunks)
{
	Size		entry = MAXALIGN(sizeof(IndexTupleData) + sizeof(Oid) + sizeof(int32)) +
		sizeof(ItemIdData);
	Size		space = BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(BTPageOpaqueData));
	double		fanout = (space - BLCKSZ * (100 - BTREE_DEFAULT_FILLFACTOR) / 100) / entry;
	double		pages = 1;		/* the metapage */
	double		level = chunks;

	while (level > 0)
	{
		level = ceil(level / fanout);
		pages += level;
		if (level <= 1)
			break;
	}

	return pages;
}
