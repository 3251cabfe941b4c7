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

	/* encoded form of the value whose string is in string2 */
	char		last[LAST_LENGTH];
	int			last_len;		/* -1 if there is none */
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

/*
 * Return the second value of a comparison as a text.  Sorting compares many
 * values with one value, the pivot, one after the other.  So do not decode a
 * second value that is the same as that of the previous comparison.
 */
static inline Datum
ct_second_as_text(Datum value, CompactTextSort *state, void **copy)
{
	struct varlena *packed = (struct varlena *) DatumGetPointer(value);
	Datum		result;
	int			len;

	/* the bytes of a TOAST pointer may be those of another value */
	if (VARATT_IS_EXTERNAL(packed) || VARATT_IS_COMPRESSED(packed))
	{
		state->last_len = -1;
		return ct_as_text(value, &state->string2, copy);
	}

	len = VARSIZE_ANY_EXHDR(packed);
	*copy = NULL;
	if (len == state->last_len && memcmp(VARDATA_ANY(packed), state->last, len) == 0)
		return PointerGetDatum(state->string2.decoded);

	state->last_len = -1;
	result = ct_as_text(value, &state->string2, copy);
	if (len <= LAST_LENGTH && result == PointerGetDatum(state->string2.decoded))
	{
		memcpy(state->last, VARDATA_ANY(packed), len);
		state->last_len = len;
	}

	return result;
}

static int
ct_fastcmp(Datum x, Datum y, SortSupport ssup)
{
	CompactTextSort *state = (CompactTextSort *) ssup->ssup_extra;
	void	   *copy1;
	void	   *copy2;
	Datum		text1 = ct_as_text(x, &state->string1, &copy1);
	Datum		text2 = ct_second_as_text(y, state, &copy2);
	int			result;

	result = state->text_comparator(text1, text2, &state->text);
	if (copy1 != NULL)
		pfree(copy1);
	if (copy2 != NULL)
		pfree(copy2);

	return result;
}

static int
ct_fastcmp_c(Datum x, Datum y, SortSupport ssup)
{
	struct varlena *a = PG_DETOAST_DATUM_PACKED(x);
	struct varlena *b = PG_DETOAST_DATUM_PACKED(y);
	int			result;

	result = compact_text_compare_c(a, b);
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

	state->last_len = -1;
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
