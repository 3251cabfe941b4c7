/*-------------------------------------------------------------------------
 *
 * codec.c
 *	  Test and benchmark of compact_text's codecs, outside of a server.
 *
 * codec.pl builds this program with the sanitizers of the compiler, so that
 * any access out of bounds ends the program.  The tests allocate each buffer
 * for the codec with exactly the size that they pass to the codec.
 *
 *	compact_types_codec check		the tables, and the tags of trained ones
 *	compact_types_codec fuzz SEED CASES
 *	compact_types_codec bench FILE...	(built with -O2, without sanitizers)
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  t/compact_types/codec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "codec_common.h"
#include "codec_server.h"
#include "compact_text.h"
#include "compact_text_dictionary.h"

#undef printf
#undef fprintf

#define MAX_LENGTH	COMPACT_TEXT_DICT_MAX_LENGTH

static const char *const dict_names[] = {"latin", "cjk", "cyrillic"};

/* --- the reference: a simple, slow codec to compare results with --- */

#define HASH_SIZE	32768

typedef struct Reference
{
	const CompactTextDict *dict;
	int			heads[HASH_SIZE];	/* code + 1 */
	int			nexts[COMPACT_TEXT_NUM_SYMBOLS];
} Reference;

static Reference references[COMPACT_TEXT_NUM_DICTS];

static uint32
reference_hash(const uint8 *str, int len)
{
	uint32		hash = 2166136261u;

	for (int i = 0; i < len; i++)
		hash = (hash ^ str[i]) * 16777619u;
	return (hash ^ hash >> 15) % HASH_SIZE;
}

static int
reference_find(const Reference *ref, const uint8 *str, int len)
{
	for (int entry = ref->heads[reference_hash(str, len)]; entry != 0; entry = ref->nexts[entry - 1])
	{
		int			code = entry - 1;

		if (ref->dict->lengths[code] == len && memcmp(ref->dict->symbols[code], str, len) == 0)
			return code;
	}
	return -1;
}

static void
reference_init(int which)
{
	Reference  *ref = &references[which];

	ref->dict = compact_text_dict(which);
	for (int code = 0; code < COMPACT_TEXT_NUM_SYMBOLS; code++)
	{
		uint32		hash = reference_hash(ref->dict->symbols[code], ref->dict->lengths[code]);

		ref->nexts[code] = ref->heads[hash];
		ref->heads[hash] = code + 1;
	}
}

static int
put_code(uint8 *out, int code)
{
	if (code < 208)
	{
		out[0] = code;
		return 1;
	}
	out[0] = 208 + (code - 208) / 256;
	out[1] = (code - 208) % 256;
	return 2;
}

/* Encode by the documented rule, which no later release may change. */
static int
reference_encode(const Reference *ref, const uint8 *str, int len, uint8 *out)
{
	static int	cost[MAX_LENGTH + 1];
	static int	choice[MAX_LENGTH];
	int			outlen = 0;

	cost[len] = 0;
	for (int pos = len - 1; pos >= 0; pos--)
	{
		/*
		 * A code replaces the earlier choice only if it is cheaper, so try the
		 * preferred codes first.
		 */
		cost[pos] = PG_INT32_MAX;
		for (int n = Min(8, len - pos); n > 0; n--)
		{
			int			code = reference_find(ref, str + pos, n);

			if (code >= 0 && (code < 208 ? 1 : 2) + cost[pos + n] < cost[pos])
			{
				cost[pos] = (code < 208 ? 1 : 2) + cost[pos + n];
				choice[pos] = code;
			}
		}
		if (2 + cost[pos + 1] < cost[pos])
		{
			cost[pos] = 2 + cost[pos + 1];
			choice[pos] = -1;
		}
	}
	for (int pos = 0; pos < len;)
	{
		if (choice[pos] < 0)
		{
			out[outlen++] = 255;
			out[outlen++] = str[pos++];
		}
		else
		{
			outlen += put_code(out + outlen, choice[pos]);
			pos += ref->dict->lengths[choice[pos]];
		}
	}
	if (outlen != cost[0])
		fail("the reference is wrong");
	return outlen;
}

/*
 * Encode with the longest symbol at every position, to compare the resulting
 * size with the codec's.
 */
static int
greedy_encode(const Reference *ref, const uint8 *str, int len, uint8 *out)
{
	int			outlen = 0;

	for (int pos = 0; pos < len;)
	{
		int			code = -1;

		for (int n = Min(8, len - pos); n > 0 && code < 0; n--)
			code = reference_find(ref, str + pos, n);
		if (code < 0)
		{
			out[outlen++] = 255;
			out[outlen++] = str[pos++];
		}
		else
		{
			outlen += put_code(out + outlen, code);
			pos += ref->dict->lengths[code];
		}
	}
	return outlen;
}

static int
reference_decode(const CompactTextDict *dict, const uint8 *in, int inlen, uint8 *out, int outsize)
{
	int			outlen = 0;

	for (int pos = 0; pos < inlen;)
	{
		int			first = in[pos++];
		const uint8 *symbol = dict->symbols[first];
		int			len = first < 208 ? dict->lengths[first] : 1;

		if (first >= 208)
		{
			if (first == 254 || pos >= inlen)
				return -1;
			if (first == 255)
				symbol = &in[pos];

			else
			{
				symbol = dict->symbols[208 + (first - 208) * 256 + in[pos]];

				len = dict->lengths[208 + (first - 208) * 256 + in[pos]];
			}
			pos++;
		}
		if (len > outsize - outlen)
			return -1;
		memcpy(out + outlen, symbol, len);
		outlen += len;
	}
	return outlen;
}

/* --- the tables --- */

static void
check_tables(void)
{
	if (crc32c(0xFFFFFFFF, (const uint8 *) "123456789", 9) != (uint32) ~0xE3069283)
		fail("the CRC of the test is not CRC-32C");

	for (int which = 0; which < COMPACT_TEXT_NUM_DICTS; which++)
	{
		const CompactTextDict *dict = compact_text_dict(which);
		uint32		crc = 0xFFFFFFFF;
		int			counts[9] = {0};

		if (dict->id != which)
			fail("dictionary %s: wrong number", dict_names[which]);
		for (int code = 0; code < COMPACT_TEXT_NUM_SYMBOLS; code++)
		{
			int			len = dict->lengths[code];

			if (len < 1 || len > 8)
				fail("dictionary %s: length %d of code %d", dict_names[which], len, code);
			counts[len]++;
			for (int i = 0; i < 8; i++)
			{
				if ((dict->symbols[code][i] == 0) != (i >= len))
					fail("dictionary %s: symbol of code %d", dict_names[which], code);
			}
			if (reference_find(&references[which], dict->symbols[code], len) != code)
				fail("dictionary %s: symbol of code %d is there twice", dict_names[which], code);
		}
		crc = crc32c(crc, dict->symbols[0], COMPACT_TEXT_NUM_SYMBOLS * 8);
		crc = ~crc32c(crc, dict->lengths, COMPACT_TEXT_NUM_SYMBOLS);
		if (crc != dict->crc)
			fail("dictionary %s: CRC is %08X, not %08X", dict_names[which], crc, dict->crc);
		printf("dictionary %s crc %08X lengths", dict_names[which], crc);
		for (int len = 1; len <= 8; len++)
			printf(" %d", counts[len]);
		printf("\n");
	}
}

/* --- the fuzz --- */

static void
check_encode(int which, const uint8 *data, int len)
{
	const CompactTextDict *dict = compact_text_dict(which);
	static uint8 expected[2 * MAX_LENGTH];
	int			expected_len = reference_encode(&references[which], data, len, expected);
	uint8	   *str = exact_copy(data, len);
	int			slack[] = {0, 0, 1, 7, 40};

	/*
	 * Encode with a limit of the exact size and of some bytes more, and then
	 * with limits that are too low.
	 */
	for (int i = 0; i < 5; i++)
	{
		int			limit = expected_len + slack[i];
		uint8	   *out = malloc(limit);
		int			outlen = compact_text_dict_encode(dict, str, len, out, limit);

		if (outlen != expected_len || memcmp(out, expected, outlen) != 0)
			fail("dictionary %s: string of %d bytes is encoded in %d bytes, not as the reference does in %d",
				 dict_names[which], len, outlen, expected_len);
		free(out);
	}
	for (int limit = expected_len - 1; limit >= 0; limit = limit * random_below(10) / 10 - 1)
	{
		uint8	   *out = malloc(limit);

		if (compact_text_dict_encode(dict, str, len, out, limit) != -1)
			fail("dictionary %s: limit %d is not kept", dict_names[which], limit);
		free(out);
	}
	if (compact_text_dict_encode(dict, str, len, NULL, -1) != -1)
		fail("dictionary %s: a negative limit is not kept", dict_names[which]);

	/*
	 * Decode into buffers of the exact size, of more bytes, and of too few
	 * bytes.
	 */
	{
		uint8	   *in = exact_copy(expected, expected_len);
		int			sizes[] = {len, len + 1, len + 7, len + 8, len + random_below(40), len + 64, len - 1, random_below(len + 1) - 1};

		for (int i = 0; i < 8; i++)
		{
			int			size = Max(sizes[i], 0);
			uint8	   *out = malloc(size);
			int			outlen = compact_text_dict_decode(dict, in, expected_len, out, size);

			if (outlen != (size < len ? -1 : len) || (outlen > 0 && memcmp(out, data, outlen) != 0))
				fail("dictionary %s: string of %d bytes is decoded to %d bytes with room for %d",
					 dict_names[which], len, outlen, size);
			free(out);
		}
		free(in);
	}
	free(str);
}

static void
check_decode(int which, const uint8 *data, int inlen, int outsize)
{
	const CompactTextDict *dict = compact_text_dict(which);
	static uint8 expected[16 * MAX_LENGTH];
	int			expected_len = reference_decode(dict, data, inlen, expected, outsize);
	uint8	   *in = exact_copy(data, inlen);
	uint8	   *out = malloc(outsize);
	int			outlen = compact_text_dict_decode(dict, in, inlen, out, outsize);

	if (outlen != expected_len || (outlen > 0 && memcmp(out, expected, outlen) != 0))
		fail("dictionary %s: %d bytes are decoded to %d bytes, not to %d",
			 dict_names[which], inlen, outlen, expected_len);
	free(out);

	/*
	 * Decode in parts, into buffers that have exactly the size that a part
	 * needs.
	 */
	if (expected_len >= 0 || outsize >= 8 * inlen)
	{
		int			inpos = 0;
		int			total = 0;
		int			part = 0;

		while (inpos < inlen)
		{
			int			wanted = 1 + random_below(40);

			out = malloc(wanted + COMPACT_TEXT_MAX_SYMBOL);
			part = compact_text_dict_decode_some(dict, in, inlen, &inpos, out, wanted);
			if (part < 0)
				break;
			if (part > wanted + COMPACT_TEXT_MAX_SYMBOL ||
				(part < wanted && inpos < inlen) ||
				(expected_len >= 0 &&
				 (total + part > expected_len || memcmp(out, expected + total, part) != 0)))
				fail("dictionary %s: a part of %d bytes is decoded to other bytes", dict_names[which], inlen);
			total += part;
			free(out);
		}
		if (part < 0)
			free(out);
		if ((part < 0) != (expected_len < 0) || (expected_len >= 0 && total != expected_len))
			fail("dictionary %s: %d bytes are decoded to %d bytes in parts, not to %d",
				 dict_names[which], inlen, part < 0 ? part : total, expected_len);
	}
	free(in);
}

/*
 * Decode a value that may be damaged.  Return NULL if decoding raises an
 * error.
 */
static CompactTextString *
decode_value(struct varlena *value)
{
	CompactTextString *volatile string = malloc(sizeof(CompactTextString));

	error_expected = true;
	if (setjmp(error_target) == 0)
		compact_text_decode(value, string);
	else
	{
		free(string);
		string = NULL;
	}

	/* decode again into a new text, and compare the result */
	if (setjmp(error_target) == 0)
	{
		text	   *copy = compact_text_to_text(value);

		if (string == NULL || string->len != (int) VARSIZE(copy) - VARHDRSZ ||
			memcmp(VARDATA(copy), string->data, string->len) != 0)
			fail("a value has two texts");
		pfree(copy);
	}
	else if (string != NULL)
		fail("a value has no text");
	error_expected = false;
	return string;
}

/*
 * Compare two values that may be damaged.  If both have a string, they must
 * compare like their strings.  Otherwise the comparison may raise an error.
 */
static void
check_order(struct varlena *a, struct varlena *b)
{
	CompactTextString *astring = decode_value(a);
	CompactTextString *bstring = decode_value(b);
	volatile bool failed = true;
	volatile int result = 0;

	error_expected = true;
	if (setjmp(error_target) == 0)
	{
		result = compact_text_compare_c(a, b);
		failed = false;
	}
	error_expected = false;
	if (astring != NULL && bstring != NULL)
	{
		if (failed)
			fail("values with strings cannot be compared");
		if (sign(result) != sign(compare_strings((const uint8 *) astring->data, astring->len,
												 (const uint8 *) bstring->data, bstring->len)))
			fail("values of strings of %d and %d bytes are in the wrong order",
				 astring->len, bstring->len);
	}
	free(astring);
	free(bstring);
}

/*
 * Check the value of a string.  Decoding must return the string.  A second
 * encoding must return the same value.  The value must not be larger than the
 * string, except for one byte if the string begins with certain control
 * characters.  Values must compare like their strings.
 */
static void
check_value(const uint8 *data, int len, const uint8 *other, int other_len)
{
	char	   *str = (char *) exact_copy(data, len);
	char	   *other_str = (char *) exact_copy(other, other_len);
	struct varlena *value = compact_text_encode(str, len);
	struct varlena *again = compact_text_encode(str, len);
	struct varlena *other_value = compact_text_encode(other_str, other_len);
	bool		guarded = len > 0 && (data[0] < 9 || (data[0] >= 14 && data[0] < 32));
	CompactTextString *string = decode_value(value);
	int			expected = compare_strings(data, len, other, other_len);

	if (string == NULL || string->len != len || memcmp(string->data, data, len) != 0)
		fail("value of a string of %d bytes does not come back, codec %s",
			 len, compact_text_codec_name(value));
	if ((int) VARSIZE(value) > VARHDRSZ + len + guarded)
		fail("value of a string of %d bytes is larger", len);
	if (VARSIZE(value) != VARSIZE(again) || memcmp(value, again, VARSIZE(value)) != 0)
		fail("string of %d bytes has two values", len);
	if (sign(compact_text_compare_c(value, other_value)) != sign(expected) ||
		sign(compact_text_compare_c(other_value, value)) != -sign(expected))
		fail("strings of %d and %d bytes are in the wrong order", len, other_len);
	free(string);

	/* decoding a damaged value returns a string or raises an error */
	for (int i = random_below(4); i >= 0 && VARSIZE(again) > VARHDRSZ; i--)
		((uint8 *) VARDATA(again))[random_below(VARSIZE(again) - VARHDRSZ)] = random_below(random_below(2) ? 256 : 32);
	check_order(again, value);

	/*
	 * Decode random bytes of any length.  This also returns a string or raises
	 * an error.
	 */
	pfree(again);
	len = random_below(random_below(2) ? 40 : 3000);
	again = malloc(VARHDRSZ + len);
	SET_VARSIZE(again, VARHDRSZ + len);
	for (int i = 0; i < len; i++)
		VARDATA(again)[i] = i == 0 ? random_below(32) : random_below(3) ? random_below(208) : 0;
	free(decode_value(again));

	pfree(value);
	free(again);
	pfree(other_value);
	free(str);
	free(other_str);
}

/* --- values with a trained symbol table --- */

/*
 * Make symbol tables from symbols of the dictionaries.  Each type trained_textN
 * gets one of them.  One of the tables has runs.
 */
static void
make_trained_codecs(void)
{
	static TestSymbol symbols[2208];
	TrainedCodec *codecs[COMPACT_TEXT_NUM_DICTS];

	for (int which = 0; which < COMPACT_TEXT_NUM_DICTS; which++)
	{
		const CompactTextDict *dict = compact_text_dict(which);
		const char *detail;
		uint8	   *table;
		Size		len;

		for (int code = 0; code < (int) lengthof(symbols); code++)
		{
			symbols[code].len = dict->lengths[code];
			memcpy(symbols[code].bytes, dict->symbols[code], dict->lengths[code]);
		}
		sort_symbols(symbols, 208);
		sort_symbols(symbols + 208, lengthof(symbols) - 208);
		table = make_runs_table(symbols, lengthof(symbols), 208, which == 1 ? "+/" : NULL, &len);
		codecs[which] = trained_codec_load(table, len, TopMemoryContext, &detail);
		if (codecs[which] == NULL)
			fail("symbol table of dictionary %s is not loaded: %s", dict_names[which], detail);
		free(table);
	}
	for (int number = 1; number <= COMPACT_TRAINED_MAX_NUMBER; number++)
		trained_codecs[number] = codecs[number % COMPACT_TEXT_NUM_DICTS];
}

/* Make a value of type trained_textN from a string of 1 to MAX_LENGTH bytes. */
static struct varlena *
make_trained_value(int number, const uint8 *data, int len)
{
	static uint8 payload[2 + 2 * MAX_LENGTH];
	int			size = compact_text_put_trained_tag(number, payload);
	struct varlena *value;

	size += trained_codec_encode(trained_codecs[number], data, len, payload + size,
								 2 * MAX_LENGTH);
	value = malloc(VARHDRSZ + size);
	SET_VARSIZE(value, VARHDRSZ + size);
	memcpy(VARDATA(value), payload, size);
	return value;
}

/* Each number must be read from its tag. */
static void
check_trained_numbers(void)
{
	TrainedCodec *codecs[COMPACT_TRAINED_MAX_NUMBER + 1];

	memcpy(codecs, trained_codecs, sizeof(codecs));
	memset(trained_codecs, 0, sizeof(codecs));
	for (int number = 1; number <= COMPACT_TRAINED_MAX_NUMBER; number++)
	{
		struct varlena *value;
		CompactTextString *string;

		trained_codecs[number] = codecs[number];
		value = make_trained_value(number, (const uint8 *) "value", 5);
		string = decode_value(value);
		if (string == NULL || string->len != 5 || memcmp(string->data, "value", 5) != 0)
			fail("type trained_text%d: the value does not come back", number);
		if (strcmp(compact_text_codec_name(value), "trained") != 0)
			fail("type trained_text%d: the codec has another name", number);
		trained_codecs[number] = NULL;
		if (decode_value(value) != NULL)
			fail("type trained_text%d: no error without the symbol table", number);
		free(string);
		free(value);
	}
	memcpy(trained_codecs, codecs, sizeof(codecs));
}

/* Return true if comparing the values raises an error. */
static bool
comparison_fails(struct varlena *a, struct varlena *b)
{
	volatile bool failed = true;

	error_expected = true;
	if (setjmp(error_target) == 0)
	{
		(void) compact_text_compare_c(a, b);
		failed = false;
	}
	error_expected = false;
	return failed;
}

/*
 * A value with nothing but a tag has no string, and a longer string than the
 * longest one is not decoded.
 */
static void
check_trained_limits(void)
{
	static uint8 data[MAX_LENGTH];
	uint8		bare[VARHDRSZ + 2] pg_attribute_aligned(4);
	struct varlena *bare_value = (struct varlena *) bare;
	struct varlena *value;
	struct varlena *longer;
	CompactTextString *string;

	for (int number = 8; number <= 9; number++)
	{
		int			size = VARHDRSZ + compact_text_put_trained_tag(number, bare + VARHDRSZ);

		SET_VARSIZE(bare_value, size);
		value = make_trained_value(number, (const uint8 *) "value", 5);
		if (decode_value(bare_value) != NULL)
			fail("a value with only a tag has a string");

		if (!comparison_fails(bare_value, value) || !comparison_fails(value, bare_value))
			fail("a value with only a tag can be compared");
		free(value);
	}

	/* the last byte of the codes stands for one more byte of the string */
	memset(data, 'e', MAX_LENGTH);
	value = make_trained_value(1, data, MAX_LENGTH);
	string = decode_value(value);
	if (string == NULL || string->len != MAX_LENGTH)
		fail("the longest string does not come back");
	longer = malloc(VARSIZE(value) + 1);
	memcpy(longer, value, VARSIZE(value));
	((uint8 *) longer)[VARSIZE(value)] = ((uint8 *) make_trained_value(1, data, 1))[VARHDRSZ + 1];
	SET_VARSIZE(longer, VARSIZE(value) + 1);
	if (decode_value(longer) != NULL)
		fail("a string above the longest is decoded");
	free(string);
	free(value);
	free(longer);
}

/*
 * Make random bytes with the tag of a trained symbol table, or the value with
 * some other bytes and another length.
 */
static struct varlena *
damaged_trained_value(struct varlena *value)
{
	int			len = random_below(random_below(2) ? 40 : 3000);
	int			kept = 0;
	uint8	   *bytes;
	struct varlena *result;

	if (random_below(2) == 0)
	{
		len = (int) VARSIZE(value) - VARHDRSZ + random_below(8) - 4;
		len = Max(0, len);
		kept = Min(len, (int) VARSIZE(value) - VARHDRSZ);
	}
	result = malloc(VARHDRSZ + len);
	SET_VARSIZE(result, VARHDRSZ + len);
	bytes = (uint8 *) VARDATA(result);
	memcpy(bytes, VARDATA(value), kept);
	for (int i = kept; i < len; i++)
		bytes[i] = random_below(random_below(4) ? 217 : 256);
	for (int change = random_below(4); kept > 0 && change > 0; change--)
		bytes[random_below(len)] = random_below(random_below(4) ? 217 : 256);
	if (len > 0 && (bytes[0] < 0x14 || bytes[0] > 0x1F || random_below(8) == 0))
		bytes[0] = 0x14 + random_below(0x20 - 0x14);
	/* the byte that begins a run */
	if (len > 2 && random_below(4) == 0)
		bytes[1 + random_below(len - 1)] = 254;
	return result;
}

/* Set *key to the sort key of a value of a type.  Return false after an error. */
static bool
get_key(int number, struct varlena *value, uint64 *key)
{
	volatile bool failed = true;

	error_expected = true;
	if (setjmp(error_target) == 0)
	{
		*key = compact_text_trained_key(number, value);
		failed = false;
	}
	error_expected = false;
	return !failed;
}

/*
 * Check the sort keys, for a type, of two values that may be damaged.  If both
 * have a string, their keys must be ordered like their strings, or be equal.
 * A damaged value has a key if the damage is not read for the key.
 */
static void
check_keys(int number, struct varlena *a, struct varlena *b)
{
	CompactTextString *astring = decode_value(a);
	CompactTextString *bstring = decode_value(b);
	uint64		akey;
	uint64		bkey;
	bool		has_keys = get_key(number, a, &akey);

	has_keys &= get_key(number, b, &bkey);
	if (astring != NULL && bstring != NULL)
	{
		int			order = compare_strings((const uint8 *) astring->data, astring->len,
											(const uint8 *) bstring->data, bstring->len);

		if (!has_keys)
			fail("type trained_text%d: values with strings have no sort keys", number);
		if (akey != bkey && (akey > bkey) != (order > 0))
			fail("type trained_text%d: keys of strings of %d and %d bytes are in the wrong order",
				 number, astring->len, bstring->len);
		if (akey != bkey && order == 0)
			fail("type trained_text%d: one string has two keys", number);
	}
	free(astring);
	free(bstring);
}

/*
 * Check the values that the types trained_textN can have for a string.
 * Decoding must return the string, also if the form is longer than another
 * one.  The values must compare like their strings, whatever forms the values
 * have.  Damaged values have a string, or raise an error.
 */
static void
check_trained_value(const uint8 *data, int len, const uint8 *other, int other_len)
{
	int			number = 1 + random_below(random_below(2) ? 12 : COMPACT_TRAINED_MAX_NUMBER);
	int			other_number = 1 + random_below(COMPACT_TRAINED_MAX_NUMBER);
	struct varlena *value = make_trained_value(number, data, len);
	CompactTextString *string = decode_value(value);
	struct varlena *forms[3];

	if (string == NULL || string->len != len || memcmp(string->data, data, len) != 0)
		fail("value of type trained_text%d with %d bytes does not come back", number, len);
	free(string);

	forms[0] = make_trained_value(number, other, other_len);
	forms[1] = make_trained_value(other_number, other, other_len);
	forms[2] = compact_text_encode((const char *) other, other_len);
	for (int i = 0; i < 3; i++)
	{
		if (sign(compact_text_compare_c(value, forms[i])) !=
			sign(compare_strings(data, len, other, other_len)) ||
			sign(compact_text_compare_c(forms[i], value)) !=
			sign(compare_strings(other, other_len, data, len)))
			fail("type trained_text%d: strings of %d and %d bytes are in the wrong order",
				 number, len, other_len);
		check_keys(number, value, forms[i]);
		check_keys(other_number, forms[i], value);
	}

	for (int i = 0; i < 4; i++)
	{
		struct varlena *damaged = damaged_trained_value(value);
		struct varlena *again = damaged_trained_value(damaged);

		check_order(damaged, value);
		check_order(forms[i % 3], damaged);
		check_order(damaged, again);
		check_keys(number, damaged, value);
		check_keys(number, again, damaged);

		trained_codecs_missing = true;
		if (decode_value(value) != NULL)
			fail("a value has a string without its symbol table");
		if (VARSIZE(damaged) > VARHDRSZ && decode_value(damaged) != NULL)
			fail("a damaged value has a string without its symbol table");
		check_order(damaged, value);
		check_order(damaged, forms[i % 3]);
		check_order(damaged, again);
		trained_codecs_missing = false;
		free(damaged);
		free(again);
	}

	free(value);
	free(forms[0]);
	free(forms[1]);
	pfree(forms[2]);
}

/* Make a string that one of the packing codecs can encode. */
static int
packed_string(uint8 *data, int len)
{
	static const char *const sets[] = {
		"0123456789 -.:+/", "0123456789-:TZ.+", "0123456789abcdef", "0123456789ABCDEF",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 -",
		"0", "\001\002\010\016\037\t\n"
	};
	const char *set = sets[random_below(lengthof(sets))];

	if (random_below(6) == 0)
	{
		for (len = 0; len < 36; len++)
			data[len] = len == 8 || len == 13 || len == 18 || len == 23 ? '-' : sets[2][random_below(16)];
		return len;
	}
	for (int i = 0; i < len; i++)
		data[i] = set[random_below(strlen(set))];
	return len;
}

static int
random_length(int max)
{
	switch (random_below(8))
	{
		case 0:
			return random_below(max + 1);
		case 1:
			return Min(max, random_below(500));
		case 2:
			/* return lengths near a multiple of the encoder's block size */
			return Min(max, 64 * (1 + random_below(4)) - 9 + random_below(18));
		default:
			return Min(max, random_below(60));
	}
}

static void
fuzz(int cases)
{
	static uint8 data[2 * MAX_LENGTH];

	for (int i = 0; i < cases; i++)
	{
		int			which = random_below(COMPACT_TEXT_NUM_DICTS);
		const CompactTextDict *dict = compact_text_dict(which);
		int			len = random_length(MAX_LENGTH);
		int			kind = random_below(5);
		int			range = 1 + random_below(256);
		int			n = 0;

		/*
		 * Make strings of symbols, of beginnings and ends of symbols (which
		 * can be split into symbols in several ways), of symbols of any
		 * dictionary, of a few byte values, or of any bytes.
		 */
		while (n < len)
		{
			int			from = kind == 2 ? random_below(COMPACT_TEXT_NUM_DICTS) : which;
			int			code = random_below(random_below(2) ? 208 : COMPACT_TEXT_NUM_SYMBOLS);
			const uint8 *symbol = compact_text_dict(from)->symbols[code];
			int			symlen = compact_text_dict(from)->lengths[code];

			if (kind >= 3 || random_below(50) == 0)
				data[n++] = kind == 3 ? dict->symbols[random_below(range)][0] : random_below(256);
			else
			{
				int			skip = kind == 1 && random_below(3) == 0 ? random_below(symlen) : 0;
				int			use = kind == 1 && random_below(3) == 0 ? 1 + random_below(symlen - skip) : symlen - skip;

				use = Min(use, len - n);
				memcpy(data + n, symbol +skip, use);
				n += use;
			}
		}
		check_encode(which, data, len);

		{
			static uint8 other[2 * MAX_LENGTH];
			int			other_len;

			database_encoding = random_below(4) == 0 ? PG_LATIN1 : PG_UTF8;
			for (n = 0; n < len; n++)
				data[n] = Max(data[n], 1);

			/* make some strings with a common prefix */
			memcpy(other, data, len);
			other_len = random_below(3) == 0 ? random_below(len + 1) : len;
			if (other_len > 0 && random_below(2) == 0)
				other[random_below(other_len)] = 1 + random_below(255);
			check_value(data, len, other, other_len);
			if (len != 0 && other_len != 0)
				check_trained_value(data, len, other, other_len);
			len = packed_string(data, random_length(MAX_LENGTH + 10));
			check_value(data, len, other, other_len);
			len = Min(len, MAX_LENGTH);
		}

		/* decode damaged encodings, and random bytes */
		if (random_below(2) == 0)
		{
			static uint8 encoded[2 * MAX_LENGTH];

			len = reference_encode(&references[which], data, len, encoded);
			memcpy(data, encoded, len);
			for (int change = random_below(4); len > 0 && change > 0; change--)
				data[random_below(len)] = random_below(3) ? random_below(256) : 254 + random_below(2);
			len = random_below(len + 1);
		}
		else
		{
			len = random_length(2 * MAX_LENGTH);
			for (n = 0; n < len; n++)
				data[n] = random_below(range);
		}
		check_decode(which, data, len, random_below(8 * len + 50));
		check_decode(which, data, len, 8 * len);
		check_decode(which, data, len, 0);
	}

	/*
	 * Encode a string above the maximum length; decode all data of one and two
	 * bytes.
	 */
	for (int which = 0; which < COMPACT_TEXT_NUM_DICTS; which++)
	{
		if (compact_text_dict_encode(compact_text_dict(which), data, MAX_LENGTH + 1, data, 2 * MAX_LENGTH) != -1)
			fail("a string above the longest is encoded");
		check_encode(which, data, 0);
		for (int first = 0; first < 256; first++)
		{
			data[0] = first;
			check_decode(which, data, 1, 8);
			for (int second = 0; second < 256; second++)
			{
				data[1] = second;
				check_decode(which, data, 2, 8 + second % 9);
			}
		}
		memset(data, 1, MAX_LENGTH);
		check_encode(which, data, MAX_LENGTH);
	}
}

/* --- the benchmark --- */

static double
clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static void
bench(const char *path)
{
	static const int lengths[] = {24, 100, 400};
	static uint8 text[1 << 20];
	static uint8 encoded[2 << 20];
	static int	starts[(1 << 16) + 1];
	static int	sizes[1 << 16];
	static uint8 out[2 * MAX_LENGTH + COMPACT_TEXT_DECODE_SLACK];
	FILE	   *file = fopen(path, "rb");
	int			total;

	if (file == NULL)
		fail("could not open \"%s\"", path);
	total = fread(text, 1, sizeof(text), file);
	fclose(file);

	/* replace newlines, which values rarely have */
	for (int i = 0; i < total; i++)
	{
		if (text[i] == '\n')
			text[		i] = ' ';
	}

	for (int which = 0; which < COMPACT_TEXT_NUM_DICTS; which++)
	{
		const CompactTextDict *dict = compact_text_dict(which);
		double		built = clock_ns();
		Size		size;

		compact_text_dict_encode(dict, text, 1, out, 2);
		built = clock_ns() - built;
		size = matcher_size;

		for (int l = 0; l < 3; l++)
		{
			int			len = lengths[l];
			int			n = 0;
			double		bytes;
			double		encode = 0;
			double		decode = 0;
			int64		encoded_total = 0;
			int64		greedy_total = 0;

			for (int end = len; end < total && n < (int) lengthof(sizes); end = starts[n] + len)
			{
				while ((text[end] & 0xC0) == 0x80 && end > starts[n] + 1)
					end--;
				starts[++n] = end;
			}
			bytes = starts[n];

			/*
			 * Add up the shortest time of each batch in many rounds, because
			 * other work on the machine interrupts some rounds, but hardly all
			 * rounds.
			 */
			for (int first = 0, last; first < n; first = last)
			{
				double		best_encode = 1e18;
				double		best_decode = 1e18;
				uint8	   *to;

				last = Min(n, first + 65536 / len);
				for (int round = 0; round < 20; round++)
				{
					double		t = clock_ns();

					to = encoded;
					for (int i = first; i < last; i++)
					{
						sizes[i] = compact_text_dict_encode(dict, text +starts[i],
															starts[i + 1] - starts[i], to, 2 * len);
						to += sizes[i];
					}
					best_encode = Min(best_encode, clock_ns() - t);

					t = clock_ns();
					to = encoded;
					for (int i = first; i < last; i++)
					{
						if (compact_text_dict_decode(dict, to, sizes[i], out, len + COMPACT_TEXT_DECODE_SLACK) != starts[i + 1] - starts[i])
							fail("decoding failed");
						to += sizes[i];
					}
					best_decode = Min(best_decode, clock_ns() - t);
				}
				encode += best_encode;
				decode += best_decode;
				encoded_total += to - encoded;
			}
			for (int i = 0; i < n; i++)
				greedy_total += greedy_encode(&references[which], text +starts[i], starts[i + 1] - starts[i], out);
			printf("%s %s %3d bytes: ratio %.3f greedy %.3f encode %5.1f ns/byte decode %6.1f ns %5.2f GB/s matcher %d KB in %.2f ms\n",
				   path, dict_names[which], len, encoded_total / bytes, greedy_total / bytes,
				   encode / bytes, decode / n, bytes / decode, (int) (size / 1024), built / 1e6);
		}
	}
}

int
main(int argc, char **argv)
{
	for (int which = 0; which < COMPACT_TEXT_NUM_DICTS; which++)
		reference_init(which);
	make_trained_codecs();

	if (argc == 2 && strcmp(argv[1], "check") == 0)
	{
		check_tables();
		check_trained_numbers();
		check_trained_limits();
	}
	else if (argc == 4 && strcmp(argv[1], "fuzz") == 0)
	{
		random_state = strtoull(argv[2], NULL, 10);
		fuzz(atoi(argv[3]));
	}
	else if (argc > 2 && strcmp(argv[1], "bench") == 0)
	{
		for (int i = 2; i < argc; i++)
			bench(argv[i]);
	}
	else
		fail("usage: compact_types_codec check | fuzz SEED CASES | bench FILE...");
	printf("ok\n");
	return 0;
}
