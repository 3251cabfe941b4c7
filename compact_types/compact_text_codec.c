/*-------------------------------------------------------------------------
 *
 * compact_text_codec.c
 *	  Encoding of the variable-length strings of type compact_text.
 *
 * A value's payload is the string itself, or a tag and an encoded form of the
 * string.  Tags are control characters that a string hardly ever starts with,
 * in any server encoding.  A string that does start with a tag is stored
 * behind a zero byte.  So a string that no codec makes shorter takes no more
 * space than the string itself, except for this zero byte.
 *
 * The same string always gives the same bytes, on any machine: equality, hash
 * joins, deduplication in btree indexes and foreign keys rely on it.  So these
 * rules define the form of a string:
 *
 *	1. A string of more than 2000 bytes is stored as it is.
 *	2. If all characters of a string are in one of the sets of sixteen
 *	   characters, they are packed in four bits each, with the first such set,
 *	   unless rule 6 makes the string shorter.
 *	3. A UUID in lower case is packed in 16 bytes.
 *	4. If all characters of a string are in the set of 64 characters, they are
 *	   packed in six bits each, unless rule 5 makes the string shorter.
 *	5. Any other string is encoded with the dictionary of its script
 *	   (choose_dictionary()).  A string of rule 4 is encoded with the Latin
 *	   dictionary too.  If packing makes the string shorter, the dictionary is
 *	   tried only if the beginning of the string is promising
 *	   (compact_text_dict_is_promising()).
 *	6. A string of rule 2 is encoded with the Latin dictionary too, if at least
 *	   three quarters of its bytes equal the byte before them.
 *	7. A packed or encoded form is used only if it is shorter than the string
 *	   stored as it is.  The form with a dictionary is used only if it is also
 *	   shorter than the packed form.
 *
 * These rules may never change.  The dictionaries and the way to parse with
 * them (compact_text_dictionary.c) may never change either.  A string with two
 * forms would be two different values: equality compares the forms, and does
 * not even read them if their lengths differ.  It would not suffice to let
 * equality decode the values, because a B-tree index with deduplication treats
 * values with different bytes as different values, so an existing index would
 * become corrupt.  Therefore this type never gets another dictionary, codec or
 * tag, not even for strings that are stored as they are.  A better dictionary
 * needs a new type: ALTER TABLE ... TYPE then encodes all values again, and
 * builds the indexes again.  The types trained_textN are such types.  Each has
 * one more dictionary, and one more rule (compact_trained.c).  This file
 * decodes and compares their values as well.
 *
 * The form depends only on the bytes of the string and on the encoding of the
 * database, which never changes: the dictionaries of East Asian and Cyrillic
 * text are used only in UTF-8 databases.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_text_codec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compact_text.h"
#include "compact_text_dictionary.h"
#include "compact_trained.h"
#include "compact_trained_symbols.h"

/*
 * The tags.  A set of sixteen characters has two tags: one for an even number
 * of characters and one for an odd number.  With an odd number, only half of
 * the last byte is used.  The six-bit form also has two tags, because the last
 * six bits of its last byte may hold no character.
 */
#define TAG_RAW				0x00
#define TAG_NIBBLE			0x01	/* 01 to 08: set * 2 + odd */
#define TAG_NIBBLE_LAST		0x08
#define TAG_SIXBIT			0x0E	/* 0E, 0F: last character is missing */
#define TAG_UUID			0x10
#define TAG_DICTIONARY		0x11	/* 11 to 13, by number of the dictionary */
#define TAG_DICTIONARY_LAST 0x13
#define TAG_TRAINED			0x14	/* 14 to 1F: only in types trained_textN */
#define IS_TRAINED(byte) \
	((byte) >= TAG_TRAINED && (byte) <= 0x1F)
#define IS_DICTIONARY(byte) \
	((byte) >= TAG_DICTIONARY && (byte) <= TAG_DICTIONARY_LAST)

/*
 * IS_TAG() is true for the tags and for some bytes that no codec uses as a
 * tag.  A string that starts with any of these bytes is stored behind a zero
 * byte.  This rule may never change, either.
 */
#define IS_TAG(byte) \
	((byte) <= 0x08 || ((byte) >= 0x0E && (byte) <= 0x1F))

/*
 * A tag of a trained symbol table contains its number, if the number is small.
 * Otherwise the tag and the next byte contain the number.
 */
#define TRAINED_SHORT_TAGS	8
#define TRAINED_TAG_BYTES(tag) \
	((tag) < TAG_TRAINED + TRAINED_SHORT_TAGS ? 1 : 2)

StaticAssertDecl(COMPACT_TRAINED_MAX_NUMBER ==
				 TRAINED_SHORT_TAGS + (0x20 - TAG_TRAINED - TRAINED_SHORT_TAGS) * 256,
				 "numbers do not match the tags");

#define NUM_NIBBLE_SETS		4
#define SIXBIT_SET			NUM_NIBBLE_SETS
#define NUM_SETS			(NUM_NIBBLE_SETS + 1)

#define UUID_LENGTH			36
#define UUID_BYTES			16

StaticAssertDecl(COMPACT_TEXT_MAX_ENCODED <= COMPACT_TEXT_DICT_MAX_LENGTH,
				 "the dictionary encoder takes shorter strings only");
StaticAssertDecl(COMPACT_TEXT_NUM_DICTS == 3 &&
				 TAG_DICTIONARY_LAST == TAG_DICTIONARY + COMPACT_TEXT_NUM_DICTS - 1,
				 "a further dictionary needs a new type, see the head of this file");

/* Number of bytes that a comparison decodes at a time. */
#define COMPARED_PART		16

#define NIBBLE_PAYLOAD(len) (1 + ((len) + 1) / 2)
#define SIXBIT_PAYLOAD(len) (1 + ((len) * 6 + 7) / 8)

static const char *const nibble_sets[NUM_NIBBLE_SETS] = {
	"0123456789 -.:+/",
	"0123456789-:TZ.+",
	"0123456789abcdef",
	"0123456789ABCDEF"
};

static const char sixbit_set[] =
"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 -";

/*
 * Position of a byte in each set, and the sets that contain the byte; filled
 * at first use.
 */
static uint8 positions[NUM_SETS][256];
static uint8 membership[256];
static bool tables_made = false;

static void
make_tables(void)
{
	for (int set = 0; set < NUM_SETS; set++)
	{
		const char *chars = set == SIXBIT_SET ? sixbit_set : nibble_sets[set];

		for (int i = 0; chars[i] != '\0'; i++)
		{
			positions[set][(uint8) chars[i]] = i;
			membership[(uint8) chars[i]] |= 1 << set;
		}
	}
	tables_made = true;
}

pg_noreturn static void corrupted(const char *detail);

static void
corrupted(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("invalid value of type compact_text"),
			 errdetail_internal("%s", detail)));
}

/* Encoding.  Each function writes the bytes after the tag. */

static void
pack_nibbles(const uint8 *str, int len, const uint8 *position, uint8 *out)
{
	int			i;

	for (i = 0; i + 1 < len; i += 2)
		*out++ = position[str[i]] << 4 | position[str[i + 1]];
	if (i < len)
		*out = position[str[i]] << 4;
}

static void
pack_sixbit(const uint8 *str, int len, uint8 *out)
{
	const uint8 *position = positions[SIXBIT_SET];
	uint32		bits;
	int			i;

	for (i = 0; i + 4 <= len; i += 4)
	{
		bits = position[str[i]] << 18 | position[str[i + 1]] << 12 |
			position[str[i + 2]] << 6 | position[str[i + 3]];
		*out++ = bits >> 16;
		*out++ = bits >> 8;
		*out++ = bits;
	}
	if (i == len)
		return;

	bits = position[str[i]] << 18;
	if (i + 1 < len)
		bits |= position[str[i + 1]] << 12;
	if (i + 2 < len)
		bits |= position[str[i + 2]] << 6;
	*out++ = bits >> 16;
	if (i + 1 < len)
		*out++ = bits >> 8;
	if (i + 2 < len)
		*out++ = bits;
}

static inline bool
is_uuid_hyphen(int i)
{
	return i == 8 || i == 13 || i == 18 || i == 23;
}

/* Return true if the string is a UUID as uuid_out() writes it. */
static bool
is_uuid(const uint8 *str, int len)
{
	if (len != UUID_LENGTH)
		return false;
	for (int i = 0; i < UUID_LENGTH; i++)
	{
		if (is_uuid_hyphen(i) ? str[i] != '-' : (membership[str[i]] & (1 << 2)) == 0)
			return false;
	}

	return true;
}

static void
pack_uuid(const uint8 *str, uint8 *out)
{
	const uint8 *position = positions[2];

	for (int i = 0; i < UUID_LENGTH; i += 2)
	{
		if (is_uuid_hyphen(i))
			i++;
		*out++ = position[str[i]] << 4 | position[str[i + 1]];
	}
}

/*
 * Choose the dictionary for the string, by the scripts that occur in it.  East
 * Asian scripts take precedence.
 */
static int
choose_dictionary(const uint8 *str, int len)
{
	bool		cyrillic = false;

	if (GetDatabaseEncoding() != PG_UTF8)
		return COMPACT_TEXT_DICT_LATIN;
	for (int i = 0; i < len; i++)
	{
		/* E2 begins punctuation, which occurs in every script */
		if (str[i] >= 0xE3 && str[i] <= 0xEF)
			return COMPACT_TEXT_DICT_CJK;
		if (str[i] == 0xD0 || str[i] == 0xD1)
			cyrillic = true;
	}

	return cyrillic ? COMPACT_TEXT_DICT_CYRILLIC : COMPACT_TEXT_DICT_LATIN;
}

/*
 * Return true if most bytes of the string equal the byte before them, as in a
 * line of hyphens or in padding.
 */
static bool
is_repetitive(const uint8 *str, int len)
{
	int			repeated = 0;

	for (int i = 1; i < len; i++)
		repeated += (str[i] == str[i - 1]);

	return repeated * 4 >= len * 3;
}

/*
 * Return a bit mask of the character sets that contain all characters of the
 * string.
 */
static inline uint8
common_sets(const uint8 *str, int len)
{
	uint8		member = (1 << NUM_SETS) - 1;

	if (unlikely(!tables_made))
		make_tables();
	for (int i = 0; i < len && member != 0; i++)
		member &= membership[str[i]];

	return member;
}

/*
 * Encode the string into out, which must have space for len + 1 bytes.  Return
 * the number of bytes, or 0 if no form is shorter than the string stored as it
 * is.
 */
static int
encode_payload(const uint8 *str, int len, uint8 *out)
{
	int			best = len + (IS_TAG(str[0]) ? 1 : 0);
	uint8		member = common_sets(str, len);
	const CompactTextDict *dict;
	int			dictionary;
	bool		sixbit = false;
	int			payload;

	if (member & ((1 << NUM_NIBBLE_SETS) - 1))
	{
		int			set = 0;

		if (NIBBLE_PAYLOAD(len) >= best)
			return 0;
		if (is_repetitive(str, len))
		{
			payload = compact_text_dict_encode(compact_text_dict(COMPACT_TEXT_DICT_LATIN),
											   str, len, out + 1,
											   NIBBLE_PAYLOAD(len) - 2);
			if (payload >= 0)
			{
				out[0] = TAG_DICTIONARY + COMPACT_TEXT_DICT_LATIN;
				return 1 + payload;
			}
		}
		while ((member & (1 << set)) == 0)
			set++;
		out[0] = TAG_NIBBLE + set * 2 + (len & 1);
		pack_nibbles(str, len, positions[set], out + 1);
		return NIBBLE_PAYLOAD(len);
	}
	if (is_uuid(str, len))
	{
		out[0] = TAG_UUID;
		pack_uuid(str, out + 1);
		return 1 + UUID_BYTES;
	}

	if (member != 0 && SIXBIT_PAYLOAD(len) < best)
	{
		best = SIXBIT_PAYLOAD(len);
		sixbit = true;
	}
	dictionary = member != 0 ? COMPACT_TEXT_DICT_LATIN : choose_dictionary(str, len);

	/*
	 * Encoding spends most of its time on the dictionary's parse.  To save
	 * this time for random characters, as in keys, examine the beginning of
	 * the string first.
	 */
	dict = compact_text_dict(dictionary);
	if (best > 2 && (!sixbit || compact_text_dict_is_promising(dict, str, len)))
	{
		/* one byte less than the best form, and one byte for the tag */
		payload = compact_text_dict_encode(dict, str, len, out + 1, best - 2);
		if (payload >= 0)
		{
			out[0] = TAG_DICTIONARY + dictionary;
			return 1 + payload;
		}
	}

	if (!sixbit)
		return 0;
	out[0] = TAG_SIXBIT + (len % 4 == 3 ? 1 : 0);
	pack_sixbit(str, len, out + 1);

	return best;
}

/*
 * Return the length of the shortest form of the string that needs no
 * dictionary, with its tag.
 */
int
compact_text_packed_length(const char *str, int len)
{
	const uint8 *bytes = (const uint8 *) str;
	int			raw = len + (len > 0 && IS_TAG(bytes[0]) ? 1 : 0);
	uint8		member = common_sets(bytes, len);

	if (member & ((1 << NUM_NIBBLE_SETS) - 1))
		return Min(raw, NIBBLE_PAYLOAD(len));
	if (is_uuid(bytes, len))
		return 1 + UUID_BYTES;
	if (member != 0)
		return Min(raw, SIXBIT_PAYLOAD(len));

	return raw;
}

/*
 * Write the tag of a trained symbol table, 1 or 2 bytes.  Return the number of
 * bytes.
 */
int
compact_text_put_trained_tag(int number, uint8 *out)
{
	Assert(number >= 1 && number <= COMPACT_TRAINED_MAX_NUMBER);

	if (number <= TRAINED_SHORT_TAGS)
	{
		out[0] = TAG_TRAINED + number - 1;
		return 1;
	}
	number -= TRAINED_SHORT_TAGS + 1;
	out[0] = TAG_TRAINED + TRAINED_SHORT_TAGS + number / 256;
	out[1] = number % 256;

	return 2;
}

/*
 * Make a value from len bytes of a valid string, in the current memory
 * context.  The result has a four-byte header.
 */
struct varlena *
compact_text_encode(const char *str, int len)
{
	uint8		encoded[COMPACT_TEXT_MAX_ENCODED + 1];
	struct varlena *result;
	int			payload = 0;
	bool		guard;

	if (len > 0 && len <= COMPACT_TEXT_MAX_ENCODED)
		payload = encode_payload((const uint8 *) str, len, encoded);

	if (payload > 0)
	{
		result = (struct varlena *) palloc(VARHDRSZ + payload);
		SET_VARSIZE(result, VARHDRSZ + payload);
		memcpy(VARDATA(result), encoded, payload);
		return result;
	}

	guard = len > 0 && IS_TAG((uint8) str[0]);
	if ((Size) len + VARHDRSZ + guard > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("value of type compact_text is too long"),
				 errdetail("The value has %d bytes.", len)));
	result = (struct varlena *) palloc(VARHDRSZ + len + guard);
	SET_VARSIZE(result, VARHDRSZ + len + guard);
	if (guard)
		*VARDATA(result) = TAG_RAW;
	memcpy(VARDATA(result) + guard, str, len);

	return result;
}

/*
 * Decoding.  For any input bytes, decoding returns a string or raises an
 * error.  Decoding accepts the codes of a dictionary also where the encoder
 * would not choose them.
 */

static int
unpack_nibbles(const uint8 *in, int inlen, const char *chars, bool odd, char *out)
{
	char	   *begin = out;

	if (inlen < 1 || inlen > (COMPACT_TEXT_MAX_ENCODED + 1) / 2)
		corrupted("Its length does not match its codec.");
	for (int i = 0; i < inlen; i++)
	{
		*out++ = chars[in[i] >> 4];
		*out++ = chars[in[i] & 0x0F];
	}
	if (odd)
	{
		if (in[inlen - 1] & 0x0F)
			corrupted("Unused bits are not zero.");
		out--;
	}

	return out - begin;
}

static int
unpack_sixbit(const uint8 *in, int inlen, bool missing, char *out)
{
	char	   *begin = out;
	uint32		bits;
	int			rest = inlen % 3;

	if (inlen < 1 || inlen > COMPACT_TEXT_MAX_ENCODED * 6 / 8 ||
		(missing && rest != 0))
		corrupted("Its length does not match its codec.");

	for (int i = 0; i + 3 <= inlen; i += 3)
	{
		bits = in[i] << 16 | in[i + 1] << 8 | in[i + 2];
		*out++ = sixbit_set[bits >> 18];
		*out++ = sixbit_set[bits >> 12 & 0x3F];
		*out++ = sixbit_set[bits >> 6 & 0x3F];
		*out++ = sixbit_set[bits & 0x3F];
	}
	if (missing)
	{
		if (in[inlen - 1] & 0x3F)
			corrupted("Unused bits are not zero.");
		out--;
	}
	else if (rest > 0)
	{
		bits = in[inlen - rest] << 16;
		if (rest == 2)
			bits |= in[inlen - 1] << 8;
		if (bits & (rest == 1 ? 0x3FFFF : 0xFFF))
			corrupted("Unused bits are not zero.");
		*out++ = sixbit_set[bits >> 18];
		if (rest == 2)
			*out++ = sixbit_set[bits >> 12 & 0x3F];
	}

	return out - begin;
}

static int
unpack_uuid(const uint8 *in, int inlen, char *out)
{
	static const char hex[] = "0123456789abcdef";

	if (inlen != UUID_BYTES)
		corrupted("Its length does not match its codec.");
	for (int i = 0; i < UUID_LENGTH; i += 2)
	{
		if (is_uuid_hyphen(i))
			out[i++] = '-';
		out[i] = hex[*in >> 4];
		out[i + 1] = hex[*in++ & 0x0F];
	}

	return UUID_LENGTH;
}

/*
 * Return the number of the symbol table of a value with a tag of a trained one.
 * Set *tag_bytes to the length of the tag.
 */
static inline int
trained_number_of(const uint8 *in, int inlen, int *tag_bytes)
{
	*tag_bytes = TRAINED_TAG_BYTES(in[0]);
	if (inlen <= *tag_bytes)
		corrupted("Its length does not match its codec.");
	if (*tag_bytes == 2)
		return TRAINED_SHORT_TAGS + 1 + in[1] +
			(in[0] - TAG_TRAINED - TRAINED_SHORT_TAGS) * 256;

	return in[0] - TAG_TRAINED + 1;
}

/* Return the symbol table of such a value, as trained_number_of() does. */
static inline TrainedCodec *
trained_codec_of(const uint8 *in, int inlen, int *tag_bytes)
{
	return compact_trained_codec(trained_number_of(in, inlen, tag_bytes));
}

/* Decode a value with a tag of a trained symbol table, as decode_tagged() does. */
static inline int
decode_trained(const uint8 *in, int inlen, char *out, int outsize)
{
	int			tag_bytes;
	TrainedCodec *codec = trained_codec_of(in, inlen, &tag_bytes);
	int			len = trained_codec_decode(codec, in + tag_bytes, inlen - tag_bytes,
										   (uint8 *) out, outsize);

	if (len <= 0 || len > COMPACT_TEXT_MAX_ENCODED)
		corrupted("Its code sequence is malformed.");

	return len;
}

/* Space for the decoded form of inlen bytes, with the decoder's slack. */
#define DECODED_SPACE(inlen) \
	(Min((inlen) * COMPACT_TEXT_MAX_SYMBOL, COMPACT_TEXT_MAX_ENCODED) + \
	 COMPACT_TEXT_DECODE_SLACK)

/*
 * Decode the bytes after the tag into out.  out has outsize bytes, at least
 * DECODED_SPACE().  With a trained symbol table, any size is allowed.  Return
 * the length of the string.
 */
static int
decode_tagged(uint8 tag, const uint8 *in, int inlen, char *out, int outsize)
{
	int			len;

	if (tag >= TAG_DICTIONARY && tag <= TAG_DICTIONARY_LAST)
	{
		len = compact_text_dict_decode(compact_text_dict(tag - TAG_DICTIONARY),
									   in, inlen, (uint8 *) out, outsize);
		if (len <= 0 || len > COMPACT_TEXT_MAX_ENCODED)
			corrupted("Its code sequence is malformed.");
		return len;
	}
	if (tag <= TAG_NIBBLE_LAST)
		return unpack_nibbles(in, inlen, nibble_sets[(tag - TAG_NIBBLE) / 2],
							  (tag - TAG_NIBBLE) % 2 != 0, out);
	if (tag < TAG_UUID)
		return unpack_sixbit(in, inlen, tag != TAG_SIXBIT, out);
	if (tag == TAG_UUID)
		return unpack_uuid(in, inlen, out);
	if (tag >= TAG_TRAINED)
		return decode_trained(in - 1, inlen + 1, out, outsize);

	corrupted("Its tag belongs to no codec.");
}

/*
 * Read the string from a value.  The value must not be compressed or out of
 * line; a short header is allowed.  The result is valid as long as both
 * arguments are.
 */
void
compact_text_decode(struct varlena *value, CompactTextString *result)
{
	const uint8 *in = (const uint8 *) VARDATA_ANY(value);
	int			inlen = VARSIZE_ANY_EXHDR(value);

	if (inlen == 0 || !IS_TAG(in[0]))
	{
		result->data = (const char *) in;
		result->len = inlen;
	}
	else if (in[0] == TAG_RAW)
	{
		result->data = (const char *) in + 1;
		result->len = inlen - 1;
	}
	else
	{
		char	   *out = VARDATA(result->decoded);
		int			len = decode_tagged(in[0], in + 1, inlen - 1, out,
										sizeof(result->decoded) - VARHDRSZ);

		SET_VARSIZE(result->decoded, VARHDRSZ + len);
		result->data = out;
		result->len = len;
	}
}

/*
 * A value that is decoded only as far as needed.  A form with a dictionary is
 * decoded part by part, any other form as a whole.
 */
typedef struct StringCursor
{
	const char *data;			/* decoded and not yet compared */
	int			len;
	const CompactTextDict *dict;	/* NULL if nothing is left to decode */
	const uint8 *in;
	int			inlen;
	int			inpos;
	uint8		part[COMPARED_PART + COMPACT_TEXT_MAX_SYMBOL];
} StringCursor;

static inline void
cursor_init(StringCursor *cursor, struct varlena *value, CompactTextString *whole)
{
	const uint8 *in = (const uint8 *) VARDATA_ANY(value);
	int			inlen = VARSIZE_ANY_EXHDR(value);

	if (inlen > 1 && IS_DICTIONARY(in[0]))
	{
		cursor->dict = compact_text_dict(in[0] - TAG_DICTIONARY);
		cursor->in = in + 1;
		cursor->inlen = inlen - 1;
		cursor->inpos = 0;
		cursor->len = 0;
	}
	else
	{
		cursor->dict = NULL;
		compact_text_decode(value, whole);
		cursor->data = whole->data;
		cursor->len = whole->len;
	}
}

/* Make bytes available to compare; return false at the end of the string. */
static inline bool
cursor_fill(StringCursor *cursor)
{
	if (cursor->len > 0)
		return true;
	if (cursor->dict == NULL)
		return false;
	cursor->len = compact_text_dict_decode_some(cursor->dict, cursor->in, cursor->inlen,
												&cursor->inpos, cursor->part,
												COMPARED_PART);
	if (cursor->len < 0)
		corrupted("Its code sequence is malformed.");
	cursor->data = (const char *) cursor->part;

	return cursor->len > 0;
}

/* Compare two values that are not encoded with the same dictionary. */
static pg_noinline int
compare_decoded(struct varlena *avalue, struct varlena *bvalue)
{
	CompactTextString awhole;
	CompactTextString bwhole;
	StringCursor a;
	StringCursor b;

	cursor_init(&a, avalue, &awhole);
	cursor_init(&b, bvalue, &bwhole);
	for (;;)
	{
		bool		amore = cursor_fill(&a);
		bool		bmore = cursor_fill(&b);
		int			len;
		int			result;

		if (!amore || !bmore)
			return amore - bmore;
		len = Min(a.len, b.len);
		result = memcmp(a.data, b.data, len);
		if (result != 0)
			return result;
		a.data += len;
		a.len -= len;
		b.data += len;
		b.len -= len;
	}
}

/*
 * Compare two strings as memcmp() would, but decode only up to the first
 * difference.  The values must not be compressed or out of line.  Return a
 * negative number, 0 or a positive number.
 */
int
compact_text_compare_c(struct varlena *a, struct varlena *b)
{
	const uint8 *abytes = (const uint8 *) VARDATA_ANY(a);
	const uint8 *bbytes = (const uint8 *) VARDATA_ANY(b);
	int			alen = VARSIZE_ANY_EXHDR(a);
	int			blen = VARSIZE_ANY_EXHDR(b);

	if (alen > 1 && blen > 1 && abytes[0] == bbytes[0] && IS_DICTIONARY(abytes[0]))
	{
		const CompactTextDict *dict = compact_text_dict(abytes[0] - TAG_DICTIONARY);
		int			result;

		if (!compact_text_dict_compare(dict, abytes + 1, alen - 1,
									   bbytes + 1, blen - 1, &result))
			corrupted("Its code sequence is malformed.");
		return result;
	}

	/* the same bytes mean the same string */
	if (alen == blen && memcmp(abytes, bbytes, alen) == 0)
		return 0;
	if (alen > 1 && blen > 1 && IS_TRAINED(abytes[0]) &&
		memcmp(abytes, bbytes, TRAINED_TAG_BYTES(abytes[0])) == 0)
	{
		int			skip;
		TrainedCodec *codec = trained_codec_of(abytes, alen, &skip);
		int			result;

		if (blen <= skip ||
			!trained_codec_compare(codec, abytes + skip, alen - skip,
								   bbytes + skip, blen - skip, &result))
			corrupted("Its code sequence is malformed.");
		return result;
	}

	return compare_decoded(a, b);
}

/*
 * Return the key of a value of the type trained_textN, with which it is sorted
 * as memcmp() compares the strings.  Values with equal keys can be different.
 * The value must not be compressed or out of line.
 */
uint64
compact_text_trained_key(int number, struct varlena *value)
{
	const uint8 *in = (const uint8 *) VARDATA_ANY(value);
	int			inlen = VARSIZE_ANY_EXHDR(value);
	CompactTextString string;
	int			skip;

	if (inlen > 0 && IS_TRAINED(in[0]) && trained_number_of(in, inlen, &skip) == number)
	{
		uint64		key;

		if (!trained_codec_key_of_codes(compact_trained_codec(number), in + skip, inlen - skip,
										&key))
			corrupted("Its code sequence is malformed.");
		return key;
	}
	compact_text_decode(value, &string);

	return trained_codec_key(compact_trained_codec(number), (const uint8 *) string.data,
							 string.len);
}

/*
 * Return a value with a tag of a trained symbol table as a text.
 *
 * Decode a short string directly into the text, if most strings have no more
 * than DIRECT_RATIO bytes for a byte of codes.  This saves the time of a copy,
 * but a string that does not fit is decoded twice.
 */
#define DIRECT_RATIO	4
#define DIRECT_CODES	48
#define DIRECT_MISS		8		/* misses are that much rarer than hits */

static text *
trained_to_text(const uint8 *in, int inlen)
{
	char		string[COMPACT_TEXT_MAX_ENCODED + TRAINED_DECODE_SLACK];
	int			tag_bytes;
	TrainedCodec *codec = trained_codec_of(in, inlen, &tag_bytes);
	int			codes = inlen - tag_bytes;
	int			len;

	if (codes <= DIRECT_CODES && codec->direct > 0)
	{
		int			space = DIRECT_RATIO * codes + TRAINED_DECODE_SLACK;
		text	   *result = (text *) palloc(VARHDRSZ + space);

		len = trained_codec_decode(codec, in + tag_bytes, codes, (uint8 *) VARDATA(result),
								   space);
		if (likely(len > 0))
		{
			SET_VARSIZE(result, VARHDRSZ + len);
			return result;
		}
		pfree(result);
	}

	len = decode_trained(in, inlen, string, sizeof(string));
	if (len > DIRECT_RATIO * codes)
		codec->direct = Max(codec->direct - DIRECT_MISS, -DIRECT_MISS);
	else
		codec->direct = Min(codec->direct + 1, DIRECT_MISS);

	return cstring_to_text_with_len(string, len);
}

/*
 * Return the value as a separate text in the current memory context.  The
 * string is decoded directly into the text, so the allocation may be larger
 * than the text.
 */
text *
compact_text_to_text(struct varlena *value)
{
	const uint8 *in = (const uint8 *) VARDATA_ANY(value);
	int			inlen = VARSIZE_ANY_EXHDR(value);
	int			space;
	text	   *result;

	if (inlen == 0 || !IS_TAG(in[0]))
		return cstring_to_text_with_len((const char *) in, inlen);
	if (in[0] == TAG_RAW)
		return cstring_to_text_with_len((const char *) in + 1, inlen - 1);

	if (IS_TRAINED(in[0]))
		return trained_to_text(in, inlen);

	/* a damaged value can have any length, but its decoded form is limited */
	space = DECODED_SPACE(Min(inlen, COMPACT_TEXT_MAX_ENCODED));
	result = (text *) palloc(VARHDRSZ + space);
	SET_VARSIZE(result, VARHDRSZ +
				decode_tagged(in[0], in + 1, inlen - 1, VARDATA(result), space));

	return result;
}

/*
 * Return true if the value is encoded with a dictionary of compact_text: making
 * it took much longer than making a value of another form.
 */
bool
compact_text_has_dictionary(struct varlena *value)
{
	return VARSIZE_ANY_EXHDR(value) > 0 && IS_DICTIONARY((uint8) *VARDATA_ANY(value));
}

/* Return the name of a value's codec, for users who inspect their data. */
const char *
compact_text_codec_name(struct varlena *value)
{
	static const char *const names[] = {
		"raw", "digits", "digits", "timestamp", "timestamp",
		"hex", "hex", "upper hex", "upper hex"
	};
	static const char *const dictionaries[] = {"latin", "cjk", "cyrillic"};
	uint8		tag = VARSIZE_ANY_EXHDR(value) > 0 ? (uint8) *VARDATA_ANY(value) : 0;

	if (!IS_TAG(tag))
		return "raw";
	if (tag <= TAG_NIBBLE_LAST)
		return names[tag];
	if (tag < TAG_UUID)
		return "six bits";
	if (tag == TAG_UUID)
		return "uuid";
	if (tag <= TAG_DICTIONARY_LAST)
		return dictionaries[tag - TAG_DICTIONARY];
	if (tag >= TAG_TRAINED)
		return "trained";

	return "unknown";
}
