/*-------------------------------------------------------------------------
 *
 * toast_policy_rule.c
 *	  Choose and compress values of a row before heap gets the row.
 *
 * If a row is too large, heap makes it smaller.  In a first round, heap
 * compresses the EXTENDED columns, the largest value first.  Then it moves
 * values out of line, until the row fits.  heap never compresses EXTERNAL
 * columns, and never changes a value that is already compressed.  So the
 * governed columns, whose values the policy compresses, are EXTERNAL.  This
 * file does the work of heap's first round before heap gets the row.  This
 * file chooses the values that heap would compress if the governed columns
 * were EXTENDED.  It compresses a chosen value if this saves space, and
 * leaves all other values to heap.
 *
 * In a table whose toast_tuple_target says so, governed values also go out of
 * line if the row is small (see toast_policy_out_of_line.c).  This file decides
 * which values go out of line.  If the rest of such a row is still too large,
 * this file does the work of all of heap's rounds, because heap must then move
 * exactly the chosen values.
 *
 * In a row from this file, heap's own first round has less to do.  In two
 * points, heap treats such a row differently from a row that has only EXTENDED
 * columns.  First, heap does not examine a row that has become smaller than
 * TOAST_TUPLE_THRESHOLD, even if the table's toast_tuple_target is lower.
 * Second, heap tries to compress the EXTENDED columns before it moves out of
 * line a value that this file has compressed.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_rule.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/toast_compression.h"
#include "access/toast_internals.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "toast_policy.h"
#include "toast_policy_compat.h"

/*
 * Contents of a relation's rd_amcache: the columns of varying length, and the
 * maximum total size of the other columns.  The relation cache frees this
 * memory with the relation's entry.
 */
typedef struct TpColumn
{
	int16		index;			/* in the descriptor, from 0 */
	bool		governed;
	bool		plain;			/* is its STORAGE PLAIN? */
} TpColumn;

typedef struct TpTable
{
	Size		fixed_size;		/* tuple header and columns of fixed length */
	int			ngoverned;
	int			nvarlena;
	TpColumn	varlena[FLEXIBLE_ARRAY_MEMBER];
} TpTable;

/*
 * Placeholder, of the size of a TOAST pointer, for a value that goes out of
 * line.
 */
typedef union TpPointer
{
	char		data[TOAST_POINTER_SIZE];
	int32		align;
} TpPointer;

/* Treatment of a column of the current row */
typedef enum TpState
{
	TP_IGNORE,					/* not a candidate, or already treated */
	TP_GOVERNED,				/* the policy decides */
	TP_EXTENDED,				/* heap compresses it */
	TP_EXTERNAL					/* heap may only move it out of line */
} TpState;

/*
 * A row on its way to heap.  sized has the expected final values of the row,
 * with a placeholder for each value that goes out of line.
 */
typedef struct TpHeapRow
{
	Relation	rel;
	TupleDesc	desc;
	Datum	   *values;
	const bool *isnull;
	TpState    *state;
	Datum	   *sized;
	Datum	   *origin;			/* pointers to values that have been fetched */
	Datum	   *fetched;		/* the fetched values, or 0 */
	Size		min_moved;		/* size of values that always go out of line;
								 * 0 if there are none */
	bool	   *governed;		/* which columns the policy governs */
	bool	   *moved;			/* which values this file moves out of line */
	bool		hasnull;
	bool		hasexternal;
	bool		changed;
	TpPointer	pointer;
} TpHeapRow;

/*
 * Number of values of a column to compress without a probe, because
 * compression has paid for the column's recent values.
 */
typedef struct TpStreak
{
	Oid			relid;
	AttrNumber	attnum;
	int16		length;			/* values without probe after the last probe */
	int16		skip;			/* number of these that are left */
} TpStreak;

#define TP_STREAKS			64	/* columns that a backend remembers */
#define TP_STREAK_MAX		31

/*
 * Do not probe a value that compression has made smaller by 1/TP_CLEAR_PART.
 */
#define TP_CLEAR_PART		4

/*
 * If the fetched values of a row exceed this total, in bytes, let heap fetch
 * the unchanged values again.
 */
#define TP_MAX_FETCHED		(64 * 1024 * 1024)

/* Return true if the column is generated, and its values are not stored. */
bool
tp_column_is_virtual(Form_pg_attribute att)
{
	return att->attgenerated != '\0' && att->attgenerated != ATTRIBUTE_GENERATED_STORED;
}

/*
 * Return true if the policy governs the column, provided that its table uses
 * the access method.  Columns of ztext and zbytea are never governed, because
 * these types compress their values themselves.
 */
bool
tp_column_is_governed(Form_pg_attribute att)
{
	return !att->attisdropped && att->attlen == -1 &&
		att->attstorage == TYPSTORAGE_EXTERNAL && !tp_column_is_virtual(att) &&
		!tp_is_compressed_type(att->atttypid);
}

/* Return the relation's columns, from its rd_amcache if possible. */
static const TpTable *
tp_get_table(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	TpTable    *table;
	Size		size;

	if (likely(rel->rd_amcache != NULL))
		return rel->rd_amcache;

	size = offsetof(TpTable, varlena) + desc->natts * sizeof(TpColumn);
	table = palloc0(size);
	table->fixed_size = MAXALIGN(SizeofHeapTupleHeader + BITMAPLEN(desc->natts));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		if (att->attlen == -1)
		{
			TpColumn   *column = &table->varlena[table->nvarlena++];

			column->index = i;
			column->governed = tp_column_is_governed(att);
			column->plain = att->attstorage == TYPSTORAGE_PLAIN;
			if (column->governed)
				table->ngoverned++;
		}
		else
			table->fixed_size += att->attlen + MAXIMUM_ALIGNOF - 1;
	}

	/*
	 * Store the result only now, because examining the types may rebuild the
	 * relation's cache entry.
	 */
	Assert(rel->rd_amcache == NULL);
	rel->rd_amcache = MemoryContextAlloc(CacheMemoryContext, size);
	memcpy(rel->rd_amcache, table, size);
	pfree(table);

	return rel->rd_amcache;
}

/* Return the size, in bytes, to which heap reduces a row that is too large. */
static Size
tp_toast_target(Relation rel)
{
	if (tp_out_of_line_size(rel) > 0)
		return TOAST_TUPLE_TARGET;

	return RelationGetToastTupleTarget(rel, (int) TOAST_TUPLE_TARGET);
}

/* Return the number of columns that the policy governs. */
int
tp_governed_count(Relation rel)
{
	return tp_get_table(rel)->ngoverned;
}

/* Return the size, in bytes, that a value not out of line takes in its row. */
static Size
tp_stored_size(const struct varlena *value)
{
	if (VARATT_CAN_MAKE_SHORT(value))
		return VARATT_CONVERTED_SHORT_SIZE(value);

	return VARSIZE_ANY(value);
}

/* Return true if the value is out of line in the relation's own TOAST table. */
static bool
tp_is_own_pointer(Relation rel, const struct varlena *value)
{
	struct varatt_external pointer;

	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return false;
	VARATT_EXTERNAL_GET_POINTER(pointer, value);

	return pointer.va_toastrelid == rel->rd_rel->reltoastrelid;
}

/*
 * Return true if heap will leave the value where it is.  heap fetches all
 * other values that are out of line, and treats them as if they had been in
 * the row.
 *
 * The row's old version is not examined.  So a value that UPDATE copies from
 * another row or column of the table also counts as a value that stays.  heap
 * stores this value in its present form.
 */
static bool
tp_stays_out_of_line(Relation rel, const struct varlena *value,
					 TpOccasion occasion)
{
	return occasion == TP_UPDATE && tp_is_own_pointer(rel, value);
}

/*
 * Return true if the policy judges compressed values like raw ones, which
 * means that it decides anew whether to compress them.
 */
static bool
tp_judges_anew(TpOccasion occasion)
{
	return occasion == TP_RECOMPRESS ||
		(occasion == TP_INSERT && tp_recompress_source);
}

/*
 * Return true if it is certain that the policy has nothing to do for the row.
 * The check is quick for a small row, because most rows are small.
 */
bool
tp_row_is_small(Relation rel, TupleTableSlot *slot, TpOccasion occasion)
{
	const TpTable *table = tp_get_table(rel);
	Size		limit = TOAST_TUPLE_THRESHOLD;
	Size		size;
	Size		min_moved = 0;
	bool		pointers = false;
	bool		anew = tp_judges_anew(occasion);

	if (table->ngoverned == 0)
		return true;
	if (OidIsValid(rel->rd_rel->reltoastrelid))
		min_moved = tp_out_of_line_size(rel);

	/*
	 * heap does not examine a small tuple without values out of line.  If
	 * compressed values are judged anew, examine the tuple all the same,
	 * because it may be small only because values came compressed.
	 */
	if (!anew && (TTS_IS_HEAPTUPLE(slot) || TTS_IS_BUFFERTUPLE(slot)))
	{
		HeapTuple	tuple = ((HeapTupleTableSlot *) slot)->tuple;

		if (tuple != NULL && !HeapTupleHasExternal(tuple) &&
			tuple->t_len <= (min_moved > 0 ? min_moved : TOAST_TUPLE_THRESHOLD))
			return true;
	}

	slot_getallattrs(slot);
	size = table->fixed_size;
	for (int i = 0; i < table->nvarlena; i++)
	{
		int			index = table->varlena[i].index;
		const struct varlena *value;

		if (slot->tts_isnull[index])
			continue;
		value = (const struct varlena *) DatumGetPointer(slot->tts_values[index]);
		if (VARATT_IS_EXTERNAL(value))
		{
			/*
			 * Any other value out of line is large, or heap must get its
			 * contents.
			 */
			if (!tp_stays_out_of_line(rel, value, occasion) ||
				(min_moved > 0 && table->varlena[i].plain))
				return false;
			pointers = true;
			size += TOAST_POINTER_SIZE;
		}
		else if (table->varlena[i].governed &&
				 ((anew && VARATT_IS_COMPRESSED(value)) ||
				  (min_moved > 0 && tp_stored_size(value) >= min_moved)))
			return false;
		else
			size += VARSIZE_ANY(value) + MAXIMUM_ALIGNOF - 1;
	}

	/*
	 * If a row has values out of line, heap compares the row's size with the
	 * table's toast_tuple_target.
	 */
	if (pointers)
		limit = Min(limit, tp_toast_target(rel));

	return size <= limit;
}

/*
 * Return the codec of a governed column.  Raise an error if it is lz4, and the
 * server was built without lz4.
 */
static TpCodec
tp_column_codec(Form_pg_attribute att)
{
	char		method = att->attcompression;

	if (!CompressionMethodIsValid(method))
		method = default_toast_compression;
	if (method == TOAST_PGLZ_COMPRESSION)
		return TP_PGLZ;
#ifndef USE_LZ4
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("compression method lz4 not supported"),
			 errdetail("This functionality requires the server to be built with lz4 support."),
			 errhint("Use ALTER TABLE ... ALTER COLUMN \"%s\" SET COMPRESSION pglz.",
					 NameStr(att->attname))));
#endif
	return TP_LZ4;
}

/*
 * Prepare one governed value.  Fetch the value if heap would fetch it anyway,
 * and decompress it if compressed values are judged anew.  Return true if the
 * policy is to judge the value.  Set *exact to true if the value has been
 * fetched and still has its stored form.  VACUUM FULL keeps the stored form.
 */
static bool
tp_prepare_value(Relation rel, Datum *datum, TpOccasion occasion, bool *exact)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(*datum);

	if (VARATT_IS_EXTERNAL(value))
	{
		if (tp_stays_out_of_line(rel, value, occasion))
			return false;
		*exact = VARATT_IS_EXTERNAL_ONDISK(value);
		/* make an expanded object or a pointer to memory flat */
		value = detoast_external_attr(value);
	}
	if (VARATT_IS_COMPRESSED(value) && tp_judges_anew(occasion))
	{
		value = detoast_attr(value);
		*exact = false;
	}

	*datum = PointerGetDatum(value);

	return !VARATT_IS_COMPRESSED(value) && occasion != TP_REWRITE;
}

/*
 * Put all values of a row into the form that heap will see, and find out which
 * values the policy is to judge.  Return true if there is such a value.
 */
static bool
tp_row_prepare(TpHeapRow *row, TpOccasion occasion)
{
	const TpTable *table = tp_get_table(row->rel);
	bool		candidates = false;

	/*
	 * Read *table before any value is fetched: fetching may rebuild the
	 * relation's cache entry, and free *table.
	 */
	for (int i = 0; i < table->nvarlena; i++)
	{
		if (table->varlena[i].governed)
		{
			row->state[table->varlena[i].index] = TP_GOVERNED;
			row->governed[table->varlena[i].index] = true;
		}
	}

	for (int i = 0; i < row->desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(row->desc, i);
		Datum		old = row->values[i];
		struct varlena *value = (struct varlena *) DatumGetPointer(old);
		bool		exact = false;

		row->sized[i] = old;
		if (row->isnull[i])
		{
			row->state[i] = TP_IGNORE;
			row->hasnull = true;
			continue;
		}
		if (att->attlen != -1)
			continue;
		/* heap treats an expanded object as a value in the row */
		if (VARATT_IS_EXTERNAL(value) && !VARATT_IS_EXTERNAL_EXPANDED(value))
			row->hasexternal = true;
		if (row->state[i] == TP_GOVERNED)
		{
			if (!tp_prepare_value(row->rel, &row->values[i], occasion, &exact))
				row->state[i] = TP_IGNORE;
		}
		else
		{
			/*
			 * heap does not leave a value of another column out of line in a
			 * PLAIN column.  If this file moves values, it must know the
			 * value's size.
			 */
			if (VARATT_IS_EXTERNAL(value) &&
				(!tp_stays_out_of_line(row->rel, value, occasion) ||
				 (row->min_moved > 0 && att->attstorage == TYPSTORAGE_PLAIN)))
			{
				exact = VARATT_IS_EXTERNAL_ONDISK(value) &&
					att->attstorage != TYPSTORAGE_PLAIN;
				value = att->attstorage == TYPSTORAGE_PLAIN ?
					detoast_attr(value) : detoast_external_attr(value);
				row->values[i] = PointerGetDatum(value);
			}
			if (VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value))
				row->state[i] = TP_IGNORE;
			else if (att->attstorage == TYPSTORAGE_EXTENDED)
				row->state[i] = TP_EXTENDED;
			else if (att->attstorage == TYPSTORAGE_EXTERNAL)
				row->state[i] = TP_EXTERNAL;
		}
		if (row->values[i] != old)
			row->changed = true;
		if (exact)
		{
			row->origin[i] = old;
			row->fetched[i] = row->values[i];
		}
		row->sized[i] = row->values[i];
		value = (struct varlena *) DatumGetPointer(row->values[i]);
		if (VARATT_IS_EXTERNAL(value))
			row->sized[i] = PointerGetDatum(&row->pointer);
		else if (VARSIZE_ANY(value) <= MAXALIGN(TOAST_POINTER_SIZE))
			row->state[i] = TP_IGNORE;
		candidates |= row->state[i] == TP_GOVERNED;
	}

	return candidates;
}

/* Return the index of the largest value that is not yet examined, or -1. */
static int
tp_row_largest(const TpHeapRow *row)
{
	Size		largest_size = 0;
	int			largest = -1;

	for (int i = 0; i < row->desc->natts; i++)
	{
		Size		size;

		if (row->state[i] == TP_IGNORE)
			continue;
		size = VARSIZE_ANY(DatumGetPointer(row->sized[i]));
		if (size > largest_size)
		{
			largest = i;
			largest_size = size;
		}
	}

	return largest;
}

/* Return the streak of the column, which records its recent values. */
static TpStreak *
tp_get_streak(Oid relid, AttrNumber attnum)
{
	static TpStreak streaks[TP_STREAKS];
	TpStreak   *streak = &streaks[(relid + attnum) % TP_STREAKS];

	if (streak->relid != relid || streak->attnum != attnum)
	{
		memset(streak, 0, sizeof(TpStreak));
		streak->relid = relid;
		streak->attnum = attnum;
	}

	return streak;
}

/*
 * Judge one governed value.  room is the largest size with which it remains in
 * its row.  Return the compressed value, or NULL if the value stays raw.
 *
 * The probe costs time, and saves time only if the value cannot be compressed.
 * So if compression has paid for the column's recent values, probe only now
 * and then before the compression.  For the values in between, probe after the
 * compression, but only if the value has not become much smaller.  So the
 * stored form does not depend on the column's earlier values.
 */
static struct varlena *
tp_row_judge_value(TpHeapRow *row, int index, Size room)
{
	Form_pg_attribute att = TupleDescAttr(row->desc, index);
	Oid			relid = RelationGetRelid(row->rel);
	TpStreak   *streak = tp_get_streak(relid, att->attnum);
	TpCodec		codec = tp_column_codec(att);
	struct varlena *value = (struct varlena *) DatumGetPointer(row->values[index]);
	int32		rawsize = VARSIZE_ANY_EXHDR(value);
	bool		may_give_up = tp_may_give_up(codec, tp_lz4_level, rawsize);
	bool		probe = may_give_up && streak->skip == 0;
	struct varlena *compressed;
	TpOutcome	outcome;

	compressed = tp_compress_value(codec, tp_lz4_level, value, (int32) room, probe,
								   &outcome);

	if (compressed != NULL && may_give_up && !probe &&
		(int32) VARSIZE(compressed) > rawsize - rawsize / TP_CLEAR_PART &&
		tp_incompressible(codec, VARDATA_ANY(value), rawsize))
	{
		pfree(compressed);
		compressed = NULL;
		outcome = TP_ABORTED;
	}
	if (compressed == NULL)
		streak->skip = streak->length = 0;
	else if (probe)
	{
		streak->length = Min(2 * streak->length + 1, TP_STREAK_MAX);
		streak->skip = streak->length;
	}
	else if (may_give_up)
		streak->skip--;
	tp_stats_count(relid, outcome, rawsize,
				   compressed != NULL ? (int32) VARSIZE(compressed) - VARHDRSZ : rawsize);

	return compressed;
}

/* Return the size, in bytes, of the header that heap gives to the row. */
static Size
tp_row_header(const TpHeapRow *row)
{
	Size		hoff = SizeofHeapTupleHeader;

	if (row->hasnull)
		hoff += BITMAPLEN(row->desc->natts);

	return MAXALIGN(hoff);
}

/* Return the size, in bytes, of the row's data, as it will be stored. */
static Size
tp_row_size(const TpHeapRow *row)
{
	return heap_compute_data_size(row->desc, row->sized, (bool *) row->isnull);
}

/* Put a compressed value into the row. */
static void
tp_row_replace(TpHeapRow *row, int index, struct varlena *compressed)
{
	row->values[index] = row->sized[index] = PointerGetDatum(compressed);
	row->changed = true;
}

/* Choose a value to go out of line. */
static void
tp_row_move(TpHeapRow *row, int index)
{
	row->sized[index] = PointerGetDatum(&row->pointer);
	row->state[index] = TP_IGNORE;
	row->moved[index] = true;
}

/*
 * Compress the values that heap would compress, the largest first, until the
 * row fits.
 */
static void
tp_row_judge(TpHeapRow *row)
{
	bool		has_toast = OidIsValid(row->rel->rd_rel->reltoastrelid);
	Size		hoff = tp_row_header(row);
	Size		target;
	Size		size = tp_row_size(row);
	int			largest;

	if (!row->hasexternal && hoff + size <= TOAST_TUPLE_THRESHOLD)
		return;

	target = tp_toast_target(row->rel) - hoff;
	while (size > target && (largest = tp_row_largest(row)) >= 0)
	{
		Size		largest_size = VARSIZE_ANY(DatumGetPointer(row->sized[largest]));
		Size		rest = size - largest_size;
		struct varlena *compressed = NULL;

		CHECK_FOR_INTERRUPTS();

		if (row->state[largest] == TP_EXTENDED)
			compressed = (struct varlena *)
				DatumGetPointer(toast_compress_datum(row->values[largest],
													 TupleDescAttr(row->desc, largest)->attcompression));
		else if (row->state[largest] == TP_GOVERNED)
		{
			Size		room = 0;

			/* leave some bytes free for the alignment */
			if (!has_toast)
				room = largest_size;
			else if (rest + MAXIMUM_ALIGNOF < target)
				room = target - rest - MAXIMUM_ALIGNOF;
			compressed = tp_row_judge_value(row, largest, room);
		}
		row->state[largest] = TP_IGNORE;
		if (compressed != NULL)
			tp_row_replace(row, largest, compressed);

		/*
		 * Like heap, move a value that is too large by itself out of line at
		 * once.
		 */
		if (has_toast && VARSIZE_ANY(DatumGetPointer(row->sized[largest])) > target)
			tp_row_move(row, largest);
		size = tp_row_size(row);
	}
}

/*
 * Choose the governed values that take at least min_moved bytes in the row.
 * First compress them, if this saves space: a value that then takes less stays
 * in the row.  Also choose the values that are out of line and stay there.
 * Return true if any value is chosen.
 *
 * heap keeps the pointer of an unchanged value, whether the value is chosen or
 * not.  But UPDATE may have copied the pointer from another row or column.
 * Then heap fetches the value, and must move it out of line again.
 */
static bool
tp_row_choose(TpHeapRow *row)
{
	Size		min_moved = row->min_moved;
	bool		any = false;

	for (int i = 0; i < row->desc->natts; i++)
	{
		struct varlena *compressed;
		bool		judge = row->state[i] == TP_GOVERNED;

		if (row->isnull[i] || TupleDescAttr(row->desc, i)->attlen != -1)
			continue;
		if (VARATT_IS_EXTERNAL(DatumGetPointer(row->values[i])))
		{
			row->moved[i] = any = true;
			continue;
		}
		if (!row->governed[i] ||
			tp_stored_size((struct varlena *) DatumGetPointer(row->values[i])) < min_moved)
			continue;
		CHECK_FOR_INTERRUPTS();

		row->state[i] = TP_IGNORE;
		if (judge)
		{
			compressed = tp_row_judge_value(row, i, min_moved - 1);
			if (compressed != NULL)
			{
				tp_row_replace(row, i, compressed);
				if (VARSIZE(compressed) < min_moved)
					continue;
			}
		}
		tp_row_move(row, i);
		any = true;
	}

	return any;
}

/*
 * Return the index of the largest value that heap's second round (of_main false)
 * or last two rounds (of_main true) can make smaller, or -1.  If raw is true,
 * return only a value that is not compressed and not yet in *tried.
 */
static int
tp_row_largest_left(const TpHeapRow *row, bool of_main, bool raw, const bool *tried)
{
	Size		largest_size = MAXALIGN(TOAST_POINTER_SIZE);
	int			largest = -1;

	for (int i = 0; i < row->desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(row->desc, i);
		const struct varlena *value = (const struct varlena *) DatumGetPointer(row->sized[i]);

		if (row->isnull[i] || att->attlen != -1 || VARATT_IS_EXTERNAL(value) ||
			att->attstorage == TYPSTORAGE_PLAIN ||
			(att->attstorage == TYPSTORAGE_MAIN) != of_main ||
			(raw && (VARATT_IS_COMPRESSED(value) || tried[i])) ||
			tp_stored_size(value) <= largest_size)
			continue;
		largest = i;
		largest_size = tp_stored_size(value);
	}

	return largest;
}

/*
 * Do the work of heap's second to fourth round for a row that has values that
 * go out of line in any case.  heap cannot do this work, because it would not
 * stop at the chosen values.
 */
static void
tp_row_reduce(TpHeapRow *row)
{
	Size		hoff = tp_row_header(row);
	Size		target = tp_toast_target(row->rel) - hoff;
	bool	   *tried = palloc0(row->desc->natts * sizeof(bool));
	int			largest;

	while (tp_row_size(row) > target &&
		   (largest = tp_row_largest_left(row, false, false, tried)) >= 0)
		tp_row_move(row, largest);
	while (tp_row_size(row) > target &&
		   (largest = tp_row_largest_left(row, true, true, tried)) >= 0)
	{
		Datum		compressed = toast_compress_datum(row->values[largest],
													  TupleDescAttr(row->desc, largest)->attcompression);

		CHECK_FOR_INTERRUPTS();
		tried[largest] = true;
		if (DatumGetPointer(compressed) != NULL)
			tp_row_replace(row, largest, (struct varlena *) DatumGetPointer(compressed));
	}
	target = TOAST_TUPLE_TARGET_MAIN - hoff;
	while (tp_row_size(row) > target &&
		   (largest = tp_row_largest_left(row, true, false, tried)) >= 0)
		tp_row_move(row, largest);
	pfree(tried);
}

/*
 * Put the pointers to unchanged values back into the row, so that heap fetches
 * these values again.  A tuple holds 1 GB at most, but values out of line may
 * be larger in total.  When a command rewrites the table, it needs the
 * pointers, to store a value only once for all versions of a row.
 */
static void
tp_row_put_back(TpHeapRow *row, TpOccasion occasion)
{
	if (occasion != TP_RECOMPRESS && occasion != TP_REWRITE &&
		heap_compute_data_size(row->desc, row->values, (bool *) row->isnull) <= TP_MAX_FETCHED)
		return;

	for (int i = 0; i < row->desc->natts; i++)
	{
		if (row->fetched[i] != (Datum) 0 && row->values[i] == row->fetched[i])
		{
			pfree(DatumGetPointer(row->fetched[i]));
			row->values[i] = row->origin[i];
		}
	}
}

/*
 * Make the plan for a small row that an UPDATE writes: values that are out of
 * line stay there, and no other value goes there.  palloc the plan in the
 * current context.
 */
void
tp_row_keep_pointers(Relation rel, TupleTableSlot *slot, TpRowPlan *plan)
{
	const TpTable *table = tp_get_table(rel);

	plan->moved = NULL;
	for (int i = 0; i < table->nvarlena; i++)
	{
		int			index = table->varlena[i].index;

		if (slot->tts_isnull[index] ||
			!VARATT_IS_EXTERNAL(DatumGetPointer(slot->tts_values[index])))
			continue;
		if (plan->moved == NULL)
			plan->moved = palloc0(RelationGetNumberOfAttributes(rel) * sizeof(bool));
		plan->moved[index] = true;
	}
}

/*
 * Judge the governed values of a row in the order and with the limits that
 * heap_toast_insert_or_update() would use to compress them.  In a table whose
 * governed values go out of line, also choose these values.
 *
 * Replace values by compressed ones, or by flat ones if they were not flat.
 * palloc the new values in the current context, together with temporary data.
 * Return true if any value was replaced.
 *
 * If plan is not NULL, set plan->moved to an array that says which values heap
 * must move out of line, so that it leaves all others where they are.  Set it
 * to NULL if heap decides.
 */
bool
tp_row_apply(Relation rel, Datum *values, const bool *isnull,
			 TpOccasion occasion, TpRowPlan *plan)
{
	TpHeapRow	row = {0};
	int			natts = RelationGetNumberOfAttributes(rel);
	bool		candidates;

	row.rel = rel;
	row.desc = RelationGetDescr(rel);
	row.values = values;
	row.isnull = isnull;
	if (plan != NULL)
	{
		plan->moved = NULL;
		if (OidIsValid(rel->rd_rel->reltoastrelid))
			row.min_moved = tp_out_of_line_size(rel);
	}

	/*
	 * Allocate once for all arrays, because this runs for every row that is
	 * not small.
	 */
	row.sized = palloc0(natts * (3 * sizeof(Datum) + sizeof(TpState) + 2 * sizeof(bool)));
	row.origin = row.sized + natts;
	row.fetched = row.origin + natts;
	row.state = (TpState *) (row.fetched + natts);
	row.governed = (bool *) (row.state + natts);
	row.moved = row.governed + natts;
	SET_VARTAG_1B_E(row.pointer.data, VARTAG_ONDISK);

	candidates = tp_row_prepare(&row, occasion);
	if (row.min_moved > 0 && tp_row_choose(&row))
	{
		row.hasexternal = true;
		tp_row_judge(&row);
		tp_row_reduce(&row);
		plan->moved = row.moved;
	}
	else if (candidates)
		tp_row_judge(&row);
	if (row.changed)
		tp_row_put_back(&row, occasion);

	return row.changed;
}
