/*-------------------------------------------------------------------------
 *
 * compact_text_sort.c
 *	  Sort support of compact_text.
 *
 * text's own sort support does the work, because it knows how to make
 * abbreviated keys under each collation.  A value is decoded once to make its
 * abbreviated key, and again only where two keys are equal.
 *
 * In collation C, the values of a trained type get abbreviated keys that are
 * made with the type's dictionary, see compact_trained_order.c.
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
#include "common/hashfn.h"
#include "fmgr.h"
#include "lib/hyperloglog.h"
#include "utils/lsyscache.h"
#include "utils/sortsupport.h"
#include "utils/varlena.h"

#include "compact_text.h"
#include "compact_trained.h"
#include "compact_types.h"

/*
 * Greatest length, in bytes of the encoded form, of a value that a comparison
 * remembers for the next one.
 */
#define LAST_LENGTH		128

/*
 * Keys that are made with a dictionary are not worth their time if a sort has
 * met no more different keys than FEW_KEYS and more than twice as many
 * different values.  Decide that when it has met LEAST_VALUES.  Count no more
 * values than MOST_VALUES.
 */
#define FEW_KEYS		32
#define LEAST_VALUES	100
#define MOST_VALUES		2000

typedef struct CompactTextSort
{
	SortSupportData text;		/* text's sort support */
	int			(*text_comparator) (Datum x, Datum y, SortSupport ssup);
	CompactTextString string1;
	CompactTextString string2;

	/* encoded form of the value whose string is in string2 */
	char		last[LAST_LENGTH];
	int			last_len;		/* -1 if there is none */

	/* for keys that are made with a dictionary */
	int			number;			/* of the trained type */
	uint8		tag[2];			/* of its values */
	int			tag_bytes;
	int			counted;		/* values */
	hyperLogLogState keys;		/* estimate how many there are */
	hyperLogLogState values;
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

/* Return the value if it is neither compressed nor out of line. */
static inline struct varlena *
ct_packed(Datum value)
{
	struct varlena *result = (struct varlena *) DatumGetPointer(value);

	if (unlikely(VARATT_IS_EXTERNAL(result) || VARATT_IS_COMPRESSED(result)))
		return PG_DETOAST_DATUM_PACKED(value);

	return result;
}

static int
ct_fastcmp_c(Datum x, Datum y, SortSupport ssup)
{
	struct varlena *a = ct_packed(x);
	struct varlena *b = ct_packed(y);
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

/*
 * Return the codes of a value that is encoded with the dictionary of the
 * trained type, and set *len to their length.  Return NULL for other values,
 * and for those that are compressed or out of line.
 */
static inline const uint8 *
ct_codes(const CompactTextSort *state, struct varlena *value, int *len)
{
	const uint8 *bytes;

	if (likely(VARATT_IS_SHORT(value)))
	{
		/* that of a TOAST pointer is negative */
		*len = (int) VARSIZE_SHORT(value) - (int) VARHDRSZ_SHORT;
		bytes = (const uint8 *) VARDATA_SHORT(value);
	}
	else if (VARATT_IS_COMPRESSED(value))
		return NULL;
	else
	{
		*len = VARSIZE(value) - VARHDRSZ;
		bytes = (const uint8 *) VARDATA(value);
	}
	*len -= state->tag_bytes;
	if (*len <= 0 || bytes[0] != state->tag[0] ||
		(state->tag_bytes > 1 && bytes[1] != state->tag[1]))
		return NULL;

	return bytes + state->tag_bytes;
}

/*
 * Compare two values of a trained type as ct_fastcmp_c() does.  Nearly all
 * values are encoded with the type's dictionary.
 */
static int
ct_trained_fastcmp(Datum x, Datum y, SortSupport ssup)
{
	CompactTextSort *state = (CompactTextSort *) ssup->ssup_extra;
	int			alen;
	int			blen;
	const uint8 *a = ct_codes(state, (struct varlena *) DatumGetPointer(x), &alen);
	const uint8 *b = ct_codes(state, (struct varlena *) DatumGetPointer(y), &blen);
	int			result;

	/* ct_fastcmp_c() also raises the error if codes are malformed */
	if (a == NULL || b == NULL ||
		!trained_codec_compare(compact_trained_codec(state->number), a, alen, b, blen, &result))
		return ct_fastcmp_c(x, y, ssup);

	return result;
}

/* Make the key of a value of a trained type. */
static Datum
ct_trained_abbrev_convert(Datum original, SortSupport ssup)
{
	CompactTextSort *state = (CompactTextSort *) ssup->ssup_extra;
	struct varlena *value = ct_packed(original);
	uint64		key = compact_text_trained_key(state->number, value);

	/* a Datum of four bytes holds the first half of the key */
	key >>= 64 - 8 * SIZEOF_DATUM;
	if (state->counted < MOST_VALUES)
	{
		int			len = Min(VARSIZE_ANY_EXHDR(value), COMPACT_TEXT_MAX_ENCODED);

		state->counted++;
		addHyperLogLog(&state->values, hash_bytes((unsigned char *) VARDATA_ANY(value), len));
		addHyperLogLog(&state->keys, murmurhash32((uint32) (key ^ key >> 32)));
	}
	if ((Pointer) value != DatumGetPointer(original))
		pfree(value);

	return (Datum) key;
}

static bool
ct_trained_abbrev_abort(int memtupcount, SortSupport ssup)
{
	CompactTextSort *state = (CompactTextSort *) ssup->ssup_extra;
	double		keys;

	if (memtupcount < LEAST_VALUES)
		return false;
	keys = estimateHyperLogLog(&state->keys);

	return keys <= FEW_KEYS && 2 * keys < estimateHyperLogLog(&state->values);
}

/*
 * compact_text_sortsupport(internal) returns void: btree support function 2,
 * also of the trained types.  The name of such a function contains that of the
 * type.
 */
PG_FUNCTION_INFO_V1(compact_text_sortsupport);
Datum
compact_text_sortsupport(PG_FUNCTION_ARGS)
{
	SortSupport ssup = (SortSupport) PG_GETARG_POINTER(0);
	MemoryContext oldcontext = MemoryContextSwitchTo(ssup->ssup_cxt);
	CompactTextSort *state = palloc0(sizeof(CompactTextSort));
	bool		is_c = compact_collation_is_c(ssup->ssup_collation, InvalidOid);
	int			(*comparator) (Datum x, Datum y, SortSupport ssup) = is_c ? ct_fastcmp_c : ct_fastcmp;

	if (is_c && ssup->abbreviate)
	{
		char	   *name = get_func_name(fcinfo->flinfo->fn_oid);

		state->number = name ? compact_trained_number(name) : 0;
		/* without the dictionary, sort the values that do not need it */
		if (state->number > 0 && !OidIsValid(compact_trained_dictionary(state->number)))
			state->number = 0;
	}
	ssup->ssup_extra = state;
	if (state->number > 0)
	{
		initHyperLogLog(&state->keys, 10);
		initHyperLogLog(&state->values, 10);
		state->tag_bytes = compact_text_put_trained_tag(state->number, state->tag);
		ssup->comparator = ssup_datum_unsigned_cmp;
		ssup->abbrev_converter = ct_trained_abbrev_convert;
		ssup->abbrev_abort = ct_trained_abbrev_abort;
		ssup->abbrev_full_comparator = ct_trained_fastcmp;
		MemoryContextSwitchTo(oldcontext);
		PG_RETURN_VOID();
	}

	state->text.ssup_cxt = ssup->ssup_cxt;
	state->text.ssup_collation = ssup->ssup_collation;
	state->text.abbreviate = ssup->abbreviate;
	varstr_sortsupport(&state->text, TEXTOID, ssup->ssup_collation);

	state->last_len = -1;
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
