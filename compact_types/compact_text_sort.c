/*-------------------------------------------------------------------------
 *
 * compact_text_sort.c
 *	  Sort support of compact_text.
 *
 * text's own sort support does the work, because it knows how to make
 * abbreviated keys under each collation.  A value is decoded once to make its
 * abbreviated key, and again only where two keys are equal.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_text_sort.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/sortsupport.h"
#include "utils/varlena.h"

#include "compact_text.h"
#include "compact_types.h"

/*
 * Greatest length, in bytes of the encoded form, of a value that a comparison
 * remembers for the next one.
 */
#define LAST_LENGTH		128

typedef struct CompactTextSort
{
	SortSupportData text;		/* text's sort support */
	int			(*text_comparator) (Datum x, Datum y, SortSupport ssup);
	CompactTextString string1;
	CompactTextString string2;

	/* the second value of the previous comparison under the C collation */
	union
	{
		int32		align;
		char		bytes[VARHDRSZ + LAST_LENGTH];
	}			last;
	bool		last_decoded;	/* is its string in string2? */
} CompactTextSort;

/*
 * Return the value as a text: the value itself if it holds the string
 * unencoded, otherwise a text decoded into *string.  *copy is set to the
 * memory that the caller must free, or NULL.
 */
static inline Datum
ct_as_text(Datum value, CompactTextString *string, void **copy)
{
	struct varlena *packed = PG_DETOAST_DATUM_PACKED(value);

	*copy = (Pointer) packed != DatumGetPointer(value) ? packed : NULL;
	compact_text_decode(packed, string);
	if (string->data == VARDATA_ANY(packed))
		return PointerGetDatum(packed);
	if (string->data == VARDATA(string->decoded))
		return PointerGetDatum(string->decoded);

	/*
	 * the value is a string stored as it is behind a zero byte: copy the
	 * string
	 */
	packed = (struct varlena *) compact_text_to_text(packed);
	if (*copy != NULL)
		pfree(*copy);
	*copy = packed;

	return PointerGetDatum(packed);
}

static int
ct_fastcmp(Datum x, Datum y, SortSupport ssup)
{
	CompactTextSort *state = (CompactTextSort *) ssup->ssup_extra;
	void	   *copy1;
	void	   *copy2;
	Datum		text1 = ct_as_text(x, &state->string1, &copy1);
	Datum		text2 = ct_as_text(y, &state->string2, &copy2);
	int			result;

	result = state->text_comparator(text1, text2, &state->text);
	if (copy1 != NULL)
		pfree(copy1);
	if (copy2 != NULL)
		pfree(copy2);

	return result;
}

/*
 * Compare under the C collation.  Sorting compares many values with one value,
 * the pivot, one after the other.  So remember the second value.  If the next
 * comparison has the same second value, decode it as a whole.
 */
static int
ct_compare_remembering(struct varlena *a, struct varlena *b, CompactTextSort *state)
{
	struct varlena *last = (struct varlena *) state->last.bytes;
	int			len = VARSIZE_ANY_EXHDR(b);

	if (len > LAST_LENGTH)
		return compact_text_compare_c(a, b);

	if (len == (int) VARSIZE(last) - VARHDRSZ &&
		memcmp(VARDATA(last), VARDATA_ANY(b), len) == 0)
	{
		if (!state->last_decoded)
		{
			compact_text_decode(last, &state->string2);
			state->last_decoded = true;
		}
		return compact_text_compare_string_c(a, &state->string2);
	}

	SET_VARSIZE(last, VARHDRSZ + len);
	memcpy(VARDATA(last), VARDATA_ANY(b), len);
	state->last_decoded = false;

	return compact_text_compare_c(a, b);
}

static int
ct_fastcmp_c(Datum x, Datum y, SortSupport ssup)
{
	struct varlena *a = PG_DETOAST_DATUM_PACKED(x);
	struct varlena *b = PG_DETOAST_DATUM_PACKED(y);
	int			result;

	result = ct_compare_remembering(a, b, (CompactTextSort *) ssup->ssup_extra);
	if ((Pointer) a != DatumGetPointer(x))
		pfree(a);
	if ((Pointer) b != DatumGetPointer(y))
		pfree(b);

	return result;
}

static Datum
ct_abbrev_convert(Datum original, SortSupport ssup)
{
	CompactTextSort *state = (CompactTextSort *) ssup->ssup_extra;
	void	   *copy;
	Datum		str = ct_as_text(original, &state->string1, &copy);
	Datum		result = state->text.abbrev_converter(str, &state->text);

	if (copy != NULL)
		pfree(copy);

	return result;
}

static bool
ct_abbrev_abort(int memtupcount, SortSupport ssup)
{
	CompactTextSort *state = (CompactTextSort *) ssup->ssup_extra;

	return state->text.abbrev_abort(memtupcount, &state->text);
}

/* compact_text_sortsupport(internal) returns void: btree support function 2 */
PG_FUNCTION_INFO_V1(compact_text_sortsupport);
Datum
compact_text_sortsupport(PG_FUNCTION_ARGS)
{
	SortSupport ssup = (SortSupport) PG_GETARG_POINTER(0);
	MemoryContext oldcontext = MemoryContextSwitchTo(ssup->ssup_cxt);
	CompactTextSort *state = palloc0(sizeof(CompactTextSort));
	int			(*comparator) (Datum x, Datum y, SortSupport ssup);

	comparator = compact_collation_is_c(ssup->ssup_collation, InvalidOid) ?
		ct_fastcmp_c : ct_fastcmp;
	state->text.ssup_cxt = ssup->ssup_cxt;
	state->text.ssup_collation = ssup->ssup_collation;
	state->text.abbreviate = ssup->abbreviate;
	varstr_sortsupport(&state->text, TEXTOID, ssup->ssup_collation);

	SET_VARSIZE(state->last.bytes, VARHDRSZ);
	ssup->ssup_extra = state;
	if (state->text.abbrev_converter != NULL)
	{
		state->text_comparator = state->text.abbrev_full_comparator;
		ssup->comparator = state->text.comparator;
		ssup->abbrev_converter = ct_abbrev_convert;
		ssup->abbrev_abort = ct_abbrev_abort;
		ssup->abbrev_full_comparator = comparator;
	}
	else
	{
		state->text_comparator = state->text.comparator;
		ssup->comparator = comparator;
	}

	MemoryContextSwitchTo(oldcontext);

	PG_RETURN_VOID();
}
