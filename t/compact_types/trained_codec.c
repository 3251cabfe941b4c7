/*-------------------------------------------------------------------------
 *
 * trained_codec.c
 *	  Test of the codec with trained symbol tables and of its training, outside
 *	  of a server.
 *
 * codec.pl builds this program with the sanitizers of the compiler, so that
 * any access out of bounds ends the program.  The tests allocate each buffer
 * for the codec with exactly the size that they pass to the codec.
 *
 *	trained_codec golden			encodings and tables that may never change
 *	trained_codec fuzz SEED CASES	strings, garbage and mutated tables
 *	trained_codec train SEED CASES	training
 *	trained_codec nasty SEED		tables whose trie is as large as possible
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  t/compact_types/trained_codec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "codec_common.h"
#include "codec_server.h"
#include "compact_trained_codec.h"

#undef printf

/*
 * The limits of the format.  They are not those of the codec's header, because
 * they may never change.
 */
#define MAX_LENGTH		2000
#define MAX_SYMBOL		64
#define MAX_SYMBOLS		16384
#define MAX_ENCODED		(2 * MAX_LENGTH)
#define MAX_GARBAGE		200

/* Most bytes that a codec may allocate while it builds its trie. */
#define MAX_CODEC_BYTES	(96 * 1024 * 1024)

/* --- the reference: a simple, slow codec to compare results with --- */

/* A symbol table, read from its stored form. */
typedef struct Reference
{
	bool		with_runs;
	char		alphabet[64];	/* of the runs */
	int			one_byte_codes;
	int			nsymbols;
	TestSymbol	symbols[MAX_SYMBOLS];	/* by code */
	int			heads[256];		/* first code + 1 by the first byte */
	int			nexts[MAX_SYMBOLS]; /* next code + 1 with the same first byte */
} Reference;

static Reference reference;

/*
 * Read a stored table into the reference.  Return NULL, or why the table is
 * invalid.
 */
static const char *
reference_read(const uint8 *table, Size len)
{
	static TestSymbol sorted[MAX_SYMBOLS];
	Reference  *ref = &reference;
	int			first_two_byte_code;
	int			header = 4;
	const uint8 *symbol;
	uint32		crc;

	if (len < 8)
		return "it is shorter than its header and its CRC";
	if (table[0] != 1 && table[0] != 2)
		return "its version is not 1 or 2";
	ref->with_runs = table[0] == 2;
	crc = ~crc32c(0xFFFFFFFF, table, len - 4);
	for (int i = 0; i < 4; i++)
	{
		if (table[len - 4 + i] != (crc >> (8 * i) & 0xFF))
			return "its CRC is wrong";
	}
	ref->one_byte_codes = table[1];
	ref->nsymbols = table[2] + 256 * table[3];
	if (ref->nsymbols > MAX_SYMBOLS)
		return "it has more symbols than any table";
	if (ref->with_runs && ref->one_byte_codes == 255)
		return "it has no byte for runs";
	if (ref->nsymbols > ref->one_byte_codes +
		((ref->with_runs ? 254 : 255) - ref->one_byte_codes) * 256)
		return "it has more symbols than codes";
	if (ref->with_runs)
		header = 6;
	if (len - 4 < header + ref->nsymbols)
		return "it ends within the lengths";
	if (ref->with_runs)
	{
		memcpy(ref->alphabet, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 62);
		for (int i = 0; i < 2; i++)
		{
			int			last = table[4 + i];

			if (last < '!' || last > '~' || memchr(ref->alphabet, last, 62 + i))
				return "no alphabet has these last characters";
			ref->alphabet[62 + i] = last;
		}
	}
	symbol = table + header + ref->nsymbols;
	for (int code = 0; code < ref->nsymbols; code++)
	{
		int			symbol_len = table[header + code];

		if (symbol_len < 1 || symbol_len > MAX_SYMBOL)
			return "it has a length that no symbol has";
		if (table + len - 4 - symbol < symbol_len)
			return "it ends within the symbols";
		ref->symbols[code].len = symbol_len;
		memcpy(ref->symbols[code].bytes, symbol, symbol_len);
		symbol += symbol_len;
	}
	if (symbol != table + len - 4)
		return "there is something behind the symbols";

	first_two_byte_code = Min(ref->one_byte_codes, ref->nsymbols);
	for (int code = 1; code < ref->nsymbols; code++)
	{
		const TestSymbol *a = &ref->symbols[code - 1];
		const TestSymbol *b = &ref->symbols[code];

		if (code != first_two_byte_code &&
			compare_strings(a->bytes, a->len, b->bytes, b->len) >= 0)
			return "its symbols are not in order";
	}
	memcpy(sorted, ref->symbols, ref->nsymbols * sizeof(TestSymbol));
	if (sort_symbols(sorted, ref->nsymbols) != ref->nsymbols)
		return "a one-byte code and a two-byte code have the same symbol";

	memset(ref->heads, 0, sizeof(ref->heads));
	for (int code = 0; code < ref->nsymbols; code++)
	{
		int			first = ref->symbols[code].bytes[0];

		ref->nexts[code] = ref->heads[first];
		ref->heads[first] = code + 1;
	}
	return NULL;
}

/* Append a code to the encoded string.  Return the number of bytes. */
static int
put_code(int code, uint8 *out)
{
	int			number = code - reference.one_byte_codes;

	if (number < 0)
	{
		out[0] = code;
		return 1;
	}
	out[0] = reference.one_byte_codes + number / 256;
	out[1] = number % 256;
	return 2;
}

/* Return the value of the character in runs, or -1 if it is in no run. */
static int
run_value(uint8 character)
{
	const char *found = memchr(reference.alphabet, character, 64);

	return found ? found - reference.alphabet : -1;
}

/* Return true if a run can begin with these characters. */
static bool
is_group(const uint8 *str, int len)
{
	if (!reference.with_runs || len < 4)
		return false;
	for (int i = 0; i < 4; i++)
	{
		if (run_value(str[i]) < 0)
			return false;
	}
	return true;
}

/* Append a run to the encoded string.  Return the number of bytes. */
static int
put_groups(const uint8 *str, int groups, uint8 *out)
{
	out[0] = 254;
	out[1] = groups - 1;
	for (int bit = 0; bit < 24 * groups; bit++)
	{
		uint8	   *byte = &out[2 + bit / 8];

		*byte = *byte << 1 | (run_value(str[bit / 6]) >> (5 - bit % 6) & 1);
	}
	return 2 + 3 * groups;
}

/*
 * Encode by the documented rule, which no later release may change.  Pretend
 * that the table does not have the symbol of the code without (-1: it has all
 * symbols).
 */
static int
reference_encode(const uint8 *str, int len, int without, uint8 *out)
{
	static int	costs[MAX_LENGTH + 1];
	static int	choices[MAX_LENGTH];
	static int	groups[MAX_LENGTH + 4]; /* of the run at each position */
	int			outlen = 0;

	costs[len] = 0;
	memset(groups, 0, sizeof(groups));
	for (int pos = len - 1; pos >= 0; pos--)
	{
		int			longest = 0;
		int			run = 0;	/* bytes of its groups, and of what follows */

		/* a symbol is preferred to the escape, and the longest to the others */
		costs[pos] = 2 + costs[pos + 1];
		choices[pos] = -1;
		for (int entry = reference.heads[str[pos]]; entry != 0;
			 entry = reference.nexts[entry - 1])
		{
			int			code = entry - 1;
			const TestSymbol *symbol = &reference.symbols[code];
			int			cost;

			if (code == without || symbol->len > len - pos ||
				memcmp(symbol->bytes, str + pos, symbol->len) != 0)
				continue;
			cost = (code < reference.one_byte_codes ? 1 : 2) + costs[pos + symbol->len];
			if (cost < costs[pos] || (cost == costs[pos] && symbol->len > longest))
			{
				costs[pos] = cost;
				choices[pos] = code;
				longest = symbol->len;
			}
		}
		if (!is_group(str + pos, len - pos))
			continue;
		groups[pos] = 1;
		run = 3 + costs[pos + 4];
		if (groups[pos + 4] > 0 && groups[pos + 4] < 256)
		{
			int			more = 1 + groups[pos + 4];
			int			longer = 3 * more + costs[pos + 4 * more];

			if (longer <= run)
			{
				groups[pos] = more;
				run = longer;
			}
		}
		if (2 + run < costs[pos])
		{
			costs[pos] = 2 + run;
			choices[pos] = -2;
		}
	}
	for (int pos = 0; pos < len;)
	{
		if (choices[pos] == -2)
		{
			outlen += put_groups(str + pos, groups[pos], out + outlen);
			pos += 4 * groups[pos];
		}
		else if (choices[pos] < 0)
		{
			out[outlen++] = 255;
			out[outlen++] = str[pos++];
		}
		else
		{
			outlen += put_code(choices[pos], out + outlen);
			pos += reference.symbols[choices[pos]].len;
		}
	}
	if (outlen != costs[0])
		fail("the reference is wrong");
	return outlen;
}

/* Decode.  Return the length, or -1 if the input is malformed or does not fit. */
static int
reference_decode(const uint8 *in, int inlen, uint8 *out, int outsize)
{
	int			outlen = 0;

	for (int pos = 0; pos < inlen;)
	{
		int			code = in[pos++];
		const uint8 *bytes;
		int			len;

		if (code == 254 && reference.with_runs)
		{
			int			chars = pos < inlen ? 4 * (in[pos++] + 1) : 0;

			if (chars == 0 || inlen - pos < chars / 4 * 3 || outsize - outlen < chars)
				return -1;
			for (int bit = 0; bit < 6 * chars; bit += 6)
			{
				int			value = (in[pos + bit / 8] << 8 |
									 (bit % 8 > 2 ? in[pos + bit / 8 + 1] : 0)) >> (10 - bit % 8);

				out[outlen++] = reference.alphabet[value & 63];
			}
			pos += chars / 4 * 3;
			continue;
		}
		if (code >= reference.one_byte_codes)
		{
			if (pos == inlen)
				return -1;
			if (code != 255)
				code = reference.one_byte_codes +
					(code - reference.one_byte_codes) * 256 + in[pos];
			else
				code = -1;
			pos++;
		}
		if (code >= reference.nsymbols)
			return -1;
		bytes = code < 0 ? &in[pos - 1] : reference.symbols[code].bytes;
		len = code < 0 ? 1 : reference.symbols[code].len;
		if (len > outsize - outlen)
			return -1;
		memcpy(out + outlen, bytes, len);
		outlen += len;
	}
	return outlen;
}

/* --- loading --- */

/* What belongs to the loaded table. */
static MemoryContext codec_context;

/*
 * Load a table.  It must be loaded if it is valid, and rejected with a
 * sentence if it is not.  Return NULL in the second case.
 */
static TrainedCodec *
check_load(const uint8 *table, Size len)
{
	const char *wrong = reference_read(table, len);
	uint8	   *copy = exact_copy(table, len);
	const char *detail = NULL;
	TrainedCodec *codec;

	codec_context = AllocSetContextCreate(TopMemoryContext, "codec",
										  ALLOCSET_DEFAULT_SIZES);
	codec = trained_codec_load(copy, len, codec_context, &detail);
	free(copy);
	if (codec != NULL)
	{
		if (wrong != NULL)
			fail("a table is loaded, but %s", wrong);
		if (trained_codec_num_symbols(codec) != reference.nsymbols)
			fail("a table has %d symbols, not %d", trained_codec_num_symbols(codec),
				 reference.nsymbols);
		return codec;
	}

	if (wrong == NULL)
		fail("a valid table is rejected: %s", detail);
	if (detail == NULL || !(detail[0] >= 'A' && detail[0] <= 'Z') ||
		detail[strlen(detail) - 1] != '.')
		fail("no sentence says why a table is rejected, but %s", wrong);
	MemoryContextDelete(codec_context);
	return NULL;
}

/* A table must be rejected for that reason. */
static void
check_rejected(const char *reason, uint8 *table, Size len)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "codec",
												  ALLOCSET_DEFAULT_SIZES);
	uint8	   *copy = exact_copy(table, len);
	const char *detail = NULL;

	if (trained_codec_load(copy, len, context, &detail) != NULL)
		fail("a table is loaded that has to be rejected: %s", reason);
	if (detail == NULL || strcmp(detail, reason) != 0)
		fail("a table is rejected for a wrong reason: %s, not: %s",
			 detail != NULL ? detail : "none", reason);
	free(copy);
	MemoryContextDelete(context);
}

/* --- strings --- */

/*
 * Check the encoding of a string with each limit, or with some of the limits
 * if there are many.
 */
static void
check_encode(TrainedCodec *codec, const uint8 *data, int len)
{
	static uint8 expected[MAX_ENCODED];
	int			expected_len = reference_encode(data, len, -1, expected);
	uint8	   *str = exact_copy(data, len);
	int			limit = expected_len + 3;

	while (limit >= -1)
	{
		uint8	   *out = malloc(Max(limit, 0));
		int			outlen = trained_codec_encode(codec, str, len, out, limit);

		if (limit < expected_len && outlen != -1)
			fail("limit %d is not kept, a string of %d bytes takes %d", limit, len, outlen);
		if (limit >= expected_len &&
			(outlen != expected_len || memcmp(out, expected, outlen) != 0))
			fail("string of %d bytes is encoded in %d bytes with limit %d, not as the reference does in %d",
				 len, outlen, limit, expected_len);
		free(out);
		if (limit > 60 && limit < expected_len - 1)
			limit -= random_below(limit);
		limit--;
	}
	free(str);
}

/* Check the decoding of any bytes into a buffer of that size. */
static void
check_decode(const TrainedCodec *codec, const uint8 *data, int inlen, int outsize)
{
	static uint8 expected[MAX_SYMBOL * MAX_ENCODED];
	int			expected_len = reference_decode(data, inlen, expected, outsize);
	uint8	   *in = exact_copy(data, inlen);
	uint8	   *out = malloc(outsize);
	int			outlen = trained_codec_decode(codec, in, inlen, out, outsize);

	if (outlen != expected_len || (outlen > 0 && memcmp(out, expected, outlen) != 0))
		fail("%d bytes are decoded to %d bytes with room for %d, not to %d",
			 inlen, outlen, outsize, expected_len);
	free(in);
	free(out);
}

/* A string must come back from a buffer with as much space, and with less. */
static void
check_round_trip(TrainedCodec *codec, const uint8 *str, int len)
{
	static uint8 encoded[MAX_ENCODED];
	static uint8 decoded[MAX_LENGTH];
	int			encoded_len;

	check_encode(codec, str, len);
	encoded_len = trained_codec_encode(codec, str, len, encoded, sizeof(encoded));
	if (reference_decode(encoded, encoded_len, decoded, len) != len ||
		memcmp(decoded, str, len) != 0)
		fail("a string of %d bytes does not come back", len);
	check_decode(codec, encoded, encoded_len, len);
	check_decode(codec, encoded, encoded_len, len + random_below(2 * MAX_SYMBOL));
	check_decode(codec, encoded, encoded_len, len + MAX_SYMBOL);
	check_decode(codec, encoded, encoded_len, MAX_LENGTH + MAX_SYMBOL);
	check_decode(codec, encoded, encoded_len, random_below(len + 1));
	if (len > 0)
		check_decode(codec, encoded, encoded_len, len - 1);
}

/*
 * Return the key of a string as compact_trained_order.c defines it.  The
 * number of a string's interval is that of the boundaries up to the string:
 * one before each symbol, and one after the last string that begins with a
 * symbol of more than one byte.
 */
static uint64
reference_key(const uint8 *str, int len)
{
	uint64		key = 0;
	int			free_bits = 64;
	int			part_bits = 0;
	int			most = 256;		/* a symbol for each single byte */

	for (int i = 0; i < reference.nsymbols; i++)
		most += reference.symbols[i].len > 1 ? 2 : 0;
	while (most >> part_bits != 0)
		part_bits++;

	while (len > 0 && free_bits > 0)
	{
		int			number = 1 + str[0];
		int			longest = 1;

		for (int i = 0; i < reference.nsymbols; i++)
		{
			const TestSymbol *symbol = &reference.symbols[i];
			int			order = compare_strings(symbol->bytes, symbol->len, str, len);
			bool		begins = symbol->len <= len && memcmp(symbol->bytes, str, symbol->len) == 0;

			if (symbol->len > 1)
				number += (order <= 0) + (order < 0 && !begins);
			if (begins)
				longest = Max(longest, symbol->len);
		}
		free_bits -= part_bits;
		key |= free_bits >= 0 ? (uint64) number << free_bits : (uint64) number >> -free_bits;
		str += longest;
		len -= longest;
	}
	return key;
}

/*
 * Return the key of a code sequence and of its string, which must be the same.
 * If expected is true, it must be the key of the reference.
 */
static uint64
check_key(TrainedCodec *codec, const uint8 *in, int inlen, const uint8 *str, int len, bool expected)
{
	uint8	   *copy = exact_copy(str, len);
	uint64		key = trained_codec_key(codec, copy, len);
	uint64		of_codes;

	if (!trained_codec_key_of_codes(codec, in, inlen, &of_codes))
		fail("a valid sequence of %d bytes has no key", inlen);
	if (of_codes != key)
		fail("the key of %d bytes differs from that of their string", inlen);
	if (expected && key != reference_key(str, len))
		fail("the key of a string of %d bytes is wrong", len);
	free(copy);
	return key;
}

/*
 * Compare two sequences of codes.  If both have a string, they must compare
 * like their strings, and so must their keys, unless these are equal.
 */
static void
check_compare(TrainedCodec *codec, const uint8 *a, int alen, const uint8 *b, int blen)
{
	static uint8 astring[MAX_SYMBOL * MAX_ENCODED];
	static uint8 bstring[MAX_SYMBOL * MAX_ENCODED];
	int			astring_len = reference_decode(a, alen, astring, sizeof(astring));
	int			bstring_len = reference_decode(b, blen, bstring, sizeof(bstring));
	uint8	   *acopy = exact_copy(a, alen);
	uint8	   *bcopy = exact_copy(b, blen);
	int			result = 0;
	int			reverse = 0;
	uint64		akey = 0;
	uint64		bkey = 0;
	bool		valid = trained_codec_compare(codec, acopy, alen, bcopy, blen, &result);

	if (trained_codec_compare(codec, bcopy, blen, acopy, alen, &reverse) != valid ||
		(valid && sign(result) != -sign(reverse)))
		fail("the result of a comparison depends on the order of its operands");
	if (astring_len >= 0 && bstring_len >= 0)
	{
		if (!valid)
			fail("two valid sequences of %d and %d bytes cannot be compared", alen, blen);
		if (sign(result) != sign(compare_strings(astring, astring_len, bstring, bstring_len)))
			fail("strings of %d and %d bytes are in the wrong order", astring_len, bstring_len);
	}

	/* the reference takes long if there are many symbols */
	if (astring_len >= 0)
		akey = check_key(codec, acopy, alen, astring, astring_len,
						 random_below(1 + reference.nsymbols / 50) == 0);
	else
		(void) trained_codec_key_of_codes(codec, acopy, alen, &akey);
	if (bstring_len >= 0)
		bkey = check_key(codec, bcopy, blen, bstring, bstring_len, false);
	if (astring_len >= 0 && bstring_len >= 0 && akey != bkey && (akey > bkey) != (result > 0))
		fail("keys of strings of %d and %d bytes are in the wrong order", astring_len, bstring_len);
	free(acopy);
	free(bcopy);
}

/* Check a random byte sequence, and one with a common beginning. */
static void
check_garbage(TrainedCodec *codec)
{
	uint8		a[MAX_GARBAGE];
	uint8		b[MAX_GARBAGE];
	int			alen = random_below(random_below(2) ? 12 : MAX_GARBAGE);
	int			blen = random_below(3) ? alen : random_below(alen + 1);
	int			two_byte_codes = reference.nsymbols - reference.one_byte_codes;

	/* make many sequences in which most codes have symbols */
	for (int i = 0; i < alen; i++)
	{
		if (two_byte_codes > 0 && random_below(2))
			a[i] = reference.one_byte_codes + random_below(two_byte_codes / 256 + 1);
		else if (random_below(8) == 0)
			a[i] = 255 - random_below(2);
		else if (i > 0 && a[i - 1] == 254)
			a[i] = random_below(random_below(10) ? 5 : 256);
		else
			a[i] = random_below(random_below(4) ? Max(reference.one_byte_codes, 1) : 256);
	}
	memcpy(b, a, blen);
	for (int change = random_below(3); blen > 0 && change > 0; change--)
		b[random_below(blen)] = random_below(256);
	while (blen < MAX_GARBAGE && random_below(4))
		b[blen++] = random_below(256);

	check_decode(codec, a, alen, MAX_SYMBOL * alen);
	check_decode(codec, a, alen, MAX_LENGTH + MAX_SYMBOL);
	check_decode(codec, b, blen, MAX_LENGTH + MAX_SYMBOL);
	check_decode(codec, a, alen, random_below(random_below(2) ? 40 : MAX_SYMBOL * alen + 1));
	check_decode(codec, b, blen, random_below(MAX_SYMBOL * blen + MAX_SYMBOL + 1));
	check_compare(codec, a, alen, b, blen);
}

/* --- the fuzz --- */

static int
random_length(void)
{
	switch (random_below(8))
	{
		case 0:
			return random_below(MAX_LENGTH + 1);
		case 1:
			/* return lengths near a multiple of the encoder's block size */
			return 64 * (1 + random_below(5)) - 2 + random_below(5);
		case 2:
			return random_below(10) ? random_below(500) : MAX_LENGTH - random_below(2);
		default:
			return random_below(60);
	}
}

/* A random letter of the alphabet, which has that many. */
static uint8
random_letter(int alphabet)
{
	return alphabet == 256 ? random_below(256) : 'a' + random_below(alphabet);
}

/*
 * Make a string of symbols and of their beginnings, or of letters.  Some
 * strings contain other bytes.
 */
static int
random_string(int alphabet, uint8 *str)
{
	int			len = random_length();
	bool		of_symbols = reference.nsymbols > 0 && random_below(2);
	int			n = 0;

	while (n < len)
	{
		if (of_symbols && random_below(20))
		{
			const TestSymbol *symbol = &reference.symbols[random_below(reference.nsymbols)];
			int			use = random_below(3) ? symbol->len : 1 + random_below(symbol->len);

			use = Min(use, len - n);
			memcpy(str + n, symbol->bytes, use);
			n += use;
		}
		else if (reference.with_runs && random_below(10) == 0)
		{
			int			end = n + random_below(random_below(20) ? 60 : MAX_LENGTH);

			while (n < Min(end, len))
				str[n++] = reference.alphabet[random_below(64)];
		}
		else
			str[n++] = random_letter(random_below(30) ? alphabet : 256);
	}
	return len;
}

/*
 * Make a valid table.  Many symbols begin with other symbols, so that strings
 * can be split in several ways.
 */
static uint8 *
random_table(int alphabet, Size *len)
{
	static TestSymbol symbols[2000];
	static TestSymbol ordered[2000];
	int			n = random_below(random_below(6) ? 60 : lengthof(symbols));
	int			longest = 1 + random_below(random_below(2) ? 6 : MAX_SYMBOL);
	int			one_byte_codes = random_below(256);
	static const char *const alphabets[] = {"+/", "-_", "./", "!~"};
	const char *last = random_below(2) ? alphabets[random_below(lengthof(alphabets))] : NULL;
	int			ones = 0;
	int			twos;
	int			wanted;

	switch (random_below(6))
	{
		case 0:
			one_byte_codes = 0;
			break;
		case 1:
			one_byte_codes = 255;
			break;
		case 2:
			one_byte_codes = random_below(10);
			break;
		default:
			break;
	}
	for (int i = 0; i < n; i++)
	{
		TestSymbol *symbol = &symbols[i];

		symbol->len = 1 + random_below(longest);
		for (int j = 0; j < symbol->len; j++)
			symbol->bytes[j] = random_letter(alphabet);
		if (i > 0 && random_below(2))
		{
			const TestSymbol *other = &symbols[random_below(i)];

			memcpy(symbol->bytes, other->bytes, Min(other->len, symbol->len));
		}
	}
	n = sort_symbols(symbols, n);
	if (last)
		one_byte_codes = Min(one_byte_codes, 254);
	n = Min(n, one_byte_codes + ((last ? 254 : 255) - one_byte_codes) * 256);

	/* choose the symbols of the one-byte codes; both kinds stay in order */
	wanted = Min(n, one_byte_codes);
	twos = wanted;
	for (int i = 0; i < n; i++)
	{
		if (random_below(n - i) < wanted - ones)
			ordered[ones++] = symbols[i];
		else
			ordered[twos++] = symbols[i];
	}
	return make_runs_table(ordered, n, one_byte_codes, last, len);
}

/* Check the strings and garbage of a loaded table. */
static void
check_strings(TrainedCodec *codec, int alphabet, int strings)
{
	static uint8 str[MAX_LENGTH];
	static uint8 other[MAX_LENGTH];
	static uint8 encoded[MAX_ENCODED];
	static uint8 other_encoded[MAX_ENCODED];

	for (int i = 0; i < strings; i++)
	{
		int			len = random_string(alphabet, str);
		int			other_len = random_below(3) ? len : random_below(len + 1);
		int			encoded_len;
		int			other_encoded_len;

		check_round_trip(codec, str, len);

		/* compare with a string that has the same beginning */
		memcpy(other, str, other_len);
		if (other_len > 0 && random_below(4))
			other[random_below(other_len)] = random_letter(alphabet);
		encoded_len = trained_codec_encode(codec, str, len, encoded, MAX_ENCODED);
		other_encoded_len = trained_codec_encode(codec, other, other_len,
												 other_encoded, MAX_ENCODED);
		check_compare(codec, encoded, encoded_len, other_encoded, other_encoded_len);

		/* damage the encoding */
		for (int change = random_below(4); encoded_len > 0 && change > 0; change--)
			encoded[random_below(encoded_len)] = random_below(256);
		encoded_len = random_below(encoded_len + 1);
		check_decode(codec, encoded, encoded_len, random_below(2) ? len : MAX_LENGTH + MAX_SYMBOL);
		check_compare(codec, encoded, encoded_len, other_encoded, other_encoded_len);

		check_garbage(codec);
	}
}

/* Check what the training asks: the cost of a symbol without this symbol. */
static void
check_costs_without(TrainedCodec *codec)
{
	for (int code = 0; code < reference.nsymbols; code += 1 + random_below(20))
	{
		const TestSymbol *symbol = &reference.symbols[code];
		uint8		encoded[2 * MAX_SYMBOL];
		int			expected = reference_encode(symbol->bytes, symbol->len, code, encoded);
		int			cost = trained_codec_cost_without(codec, code);

		if (cost != expected)
			fail("a symbol of %d bytes costs %d bytes without it, not %d",
				 symbol->len, cost, expected);
	}
}

/* Change a table, most often with the right CRC, and load it. */
static void
check_mutated(const uint8 *table, Size len, int alphabet)
{
	Size		new_len = len;
	uint8	   *mutated;
	TrainedCodec *codec;

	if (random_below(4) == 0)
		new_len = random_below(len + 10);
	mutated = malloc(new_len);
	memset(mutated, random_below(256), new_len);
	memcpy(mutated, table, Min(len, new_len));
	for (int change = random_below(3); new_len > 0 && change > 0; change--)
	{
		int			pos = random_below(random_below(2) ? Min(new_len, 8) : new_len);

		mutated[pos] = random_below(2) ? random_below(256) : mutated[pos] + random_below(3) - 1;
	}
	if (new_len >= 4 && random_below(10))
		set_table_crc(mutated, new_len);

	codec = check_load(mutated, new_len);
	if (codec != NULL)
	{
		check_strings(codec, alphabet, 1);
		MemoryContextDelete(codec_context);
	}
	free(mutated);
}

/* Load random bytes behind a plausible header, with the right CRC. */
static void
check_load_garbage(void)
{
	uint8		table[300];
	int			len = random_below(sizeof(table));

	for (int i = 0; i < len; i++)
		table[i] = random_below(random_below(2) ? 256 : 5);
	if (len >= 4)
	{
		table[0] = random_below(10) ? 1 + random_below(2) : table[0];
		table[3] = random_below(10) ? 0 : table[3];
		set_table_crc(table, len);
	}
	if (check_load(table, len) != NULL)
		MemoryContextDelete(codec_context);
}

static void
fuzz(int cases)
{
	const int	strings = 10;
	Size		before = allocated_now;

	for (int i = 0; i < cases; i += strings)
	{
		int			alphabet = random_below(3) ? 1 + random_below(4) : 256;
		Size		len;
		uint8	   *table = random_table(alphabet, &len);
		TrainedCodec *codec = check_load(table, len);

		if (codec == NULL)
			fail("the table of the test is not valid");
		check_strings(codec, alphabet, strings);
		check_costs_without(codec);
		MemoryContextDelete(codec_context);

		for (int mutation = 0; mutation < 10; mutation++)
			check_mutated(table, len, alphabet);
		for (int garbage = 0; garbage < 10; garbage++)
			check_load_garbage();
		free(table);
	}
	if (allocated_now != before)
		fail("%zd bytes are not freed", (ssize_t) (allocated_now - before));
}

/* --- what may never change --- */

/* Strings, and their encodings in hexadecimal digits. */
typedef struct Golden
{
	const char *str;
	int			len;
	const char *encoded;
} Golden;

#define STRING(literal) literal, sizeof(literal) - 1

#define HYPHENS "----------------------------------------------------------------"

/*
 * A table with five one-byte codes (a, ab, bc, c, "the ") and seven two-byte
 * codes (a zero byte, 64 hyphens, abcd, b, cd, he, th).
 */
static const char golden_table[] =
"01050c00"
"010202010401400401020202"
"61" "6162" "6263" "63" "74686520"
"00"
"2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d"
"2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d"
"61626364" "62" "6364" "6865" "7468"
"ddc1df18";

static const Golden golden_strings[] = {
	{STRING(""), ""},
	{STRING("a"), "00"},
	{STRING("b"), "0503"},
	{STRING("abc"), "0103"},
	{STRING("abcd"), "0502"},
	{STRING("abcdabc"), "05020103"},
	{STRING("the"), "0506ff65"},
	{STRING("the the"), "040506ff65"},
	{STRING("bcd"), "02ff64"},
	{STRING("cab"), "0301"},
	{STRING("\000\377\000"), "0500ffff0500"},
	{STRING(HYPHENS), "0501"},
	{STRING("xabbcz"), "ff780102ff7a"},
	{STRING("theabcthe cdb"), "0506ff6501030405040503"}
};

/*
 * Encodings with a table of 26 one-byte codes (the letters) and 676 two-byte
 * codes (each pair of letters).
 */
static const Golden golden_pairs[] = {
	{STRING("a"), "00"},
	{STRING("aa"), "1a00"},
	{STRING("hello"), "1aba1b290e"},
	{STRING("zz"), "1ca3"},
	{STRING("jv"), "1aff"},
	{STRING("jw"), "1b00"},
	{STRING("tr"), "1bff"},
	{STRING("ts"), "1c00"},
	{STRING("symbol table"), "1bec1b391b77ff201bee1a2504"},
	{STRING("9z"), "ff3919"}
};

/*
 * A table with runs of the alphabet of base64url, one one-byte code ("id=") and
 * two two-byte codes (QUJD, xyz).
 */
static const char golden_runs_table[] =
"02010300" "2d5f" "030403"
"69643d" "51554a44" "78797a"
"99e86ffd";

static const Golden golden_runs[] = {
	{STRING(""), ""},
	{STRING("id="), "00"},
	{STRING("QUJD"), "0100"},
	{STRING("AAA"), "ff41ff41ff41"},
	{STRING("ABCD"), "fe00001083"},
	{STRING("____"), "fe00ffffff"},
	{STRING("9-9-"), "fe00f7ef7e"},
	{STRING("id=ABCDE"), "00ff41fe000420c4"},
	{STRING("ABCDABCD"), "fe01001083001083"},
	{STRING("AAAAQUJD"), "fe000000000100"},
	{STRING("AAAAxyzAAAA"), "fe000000000101fe00000000"},
	{STRING("AAAA/AAAA"), "fe00000000ff2ffe00000000"},
	{STRING("\376\377"), "fffeffff"}
};

/*
 * A table with runs of the alphabet of base64, in which a group WXYZ and the
 * codes of WX and YZ take three bytes each.
 */
static const char golden_tie_table[] =
"02010200" "2b2f" "0202"
"5758" "595a"
"b63707bc";

static const Golden golden_ties[] = {
	{STRING("WXYZ"), "000100"},
	{STRING("CDEFWXYZ"), "fe01083105597619"},
	{STRING("CDEFWXYZWXYZ"), "fe02083105597619597619"},
	{STRING("+/+/WXYZ!"), "fe01fbffbf597619ff21"}
};

/* Convert hexadecimal digits to bytes.  Return the number of bytes. */
static int
from_hex(const char *hex, uint8 *out)
{
	int			len = strlen(hex) / 2;

	for (int i = 0; i < len; i++)
	{
		unsigned int byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			fail("wrong hexadecimal digits in the test");
		out[i] = byte;
	}
	return len;
}

/* Check the encodings of the strings with a table. */
static void
check_golden_strings(const uint8 *table, Size len, const Golden *golden, int n)
{
	TrainedCodec *codec = check_load(table, len);

	if (codec == NULL)
		fail("a table that has to be valid for ever is rejected");
	for (int i = 0; i < n; i++)
	{
		static uint8 encoded[MAX_ENCODED];
		static uint8 expected[MAX_ENCODED];
		int			expected_len = from_hex(golden[i].encoded, expected);
		int			encoded_len = trained_codec_encode(codec, (const uint8 *) golden[i].str,
													   golden[i].len, encoded, MAX_ENCODED);
		char		hex[2 * MAX_ENCODED + 1] = "";

		for (int j = 0; j < encoded_len; j++)
			sprintf(hex + 2 * j, "%02x", encoded[j]);
		if (encoded_len != expected_len || memcmp(encoded, expected, encoded_len) != 0)
			fail("\"%s\" is encoded as %s, not as %s", golden[i].str, hex, golden[i].encoded);
		check_round_trip(codec, (const uint8 *) golden[i].str, golden[i].len);
	}
	MemoryContextDelete(codec_context);
}

/* Set the CRC, and check that the table is rejected for that reason. */
static void
check_rejected_with_crc(const char *reason, uint8 *table, Size len)
{
	set_table_crc(table, len);
	check_rejected(reason, table, len);
	free(table);
}

/* Make n different symbols of two bytes, in order. */
static void
fill_in_order(TestSymbol *symbols, int n)
{
	for (int i = 0; i < n; i++)
	{
		symbols[i].len = 2;
		symbols[i].bytes[0] = i / 256;
		symbols[i].bytes[1] = i % 256;
	}
}

/* A table must be loaded. */
static void
check_accepted(const char *what, uint8 *table, Size len)
{
	if (check_load(table, len) == NULL)
		fail("%s is rejected", what);
	MemoryContextDelete(codec_context);
	free(table);
}

/* Each reason to reject a table. */
static void
check_reasons(const uint8 *table, Size len)
{
	static const char too_short[] = "The symbol table is too short.";
	static const char too_many[] = "The symbol table has too many symbols.";
	static const char wrong_length[] = "A symbol of the symbol table has an invalid length.";
	static const char wrong_size[] = "The size of the symbol table does not match its symbols.";
	static const char not_in_order[] = "The symbols of the symbol table are not in order.";
	static const char wrong_version[] = "The version of the symbol table is not supported.";
	static TestSymbol letters[300];
	TestSymbol	symbols[4] = {{1, "b"}, {2, "bc"}, {1, "a"}, {2, "bd"}};
	uint8	   *wrong;
	Size		wrong_len;

	for (wrong_len = 0; wrong_len < 8; wrong_len++)
	{
		wrong = exact_copy(table, wrong_len);
		check_rejected(too_short, wrong, wrong_len);
		free(wrong);
	}

	/* every changed byte is noticed, and every missing byte */
	for (Size i = 0; i < len; i++)
	{
		static const char wrong_crc[] = "The checksum of the symbol table is wrong.";

		wrong = exact_copy(table, len);
		wrong[i] ^= 1 << random_below(8);
		check_rejected(i == 0 ? wrong_version : wrong_crc, wrong, len);
		free(wrong);
		if (i >= 8)
			check_rejected(wrong_crc, unconstify(uint8 *, table), i);
	}

	for (int version = 0; version < 256; version++)
	{
		if (version == 1 || version == 2)
			continue;
		wrong = exact_copy(table, len);
		wrong[0] = version;
		check_rejected_with_crc(wrong_version, wrong, len);
	}

	/* a table with as many symbols as codes, and with one more */
	fill_in_order(letters, lengthof(letters));
	wrong = make_table(letters, 255, 255, &wrong_len);
	check_accepted("a table with 255 one-byte codes", wrong, wrong_len);
	wrong = make_table(letters, 256, 255, &wrong_len);
	check_rejected_with_crc(too_many, wrong, wrong_len);
	wrong = make_table(letters, 256, 254, &wrong_len);
	check_accepted("a table with 254 one-byte codes and 2 two-byte codes", wrong, wrong_len);

	/* more symbols than any table has */
	wrong = calloc(1, 8 + 2 * (MAX_SYMBOLS + 1));
	wrong[0] = 1;
	wrong[2] = (MAX_SYMBOLS + 1) % 256;
	wrong[3] = (MAX_SYMBOLS + 1) / 256;
	memset(wrong + 4, 1, MAX_SYMBOLS + 1);
	check_rejected_with_crc(too_many, wrong, 8 + 2 * (MAX_SYMBOLS + 1));

	/* the end is within the lengths */
	wrong = exact_copy(table, 8 + 11);
	check_rejected_with_crc(too_short, wrong, 8 + 11);

	for (int symbol_len = 0; symbol_len < 256; symbol_len += symbol_len == 0 ? 65 : 1)
	{
		/* the size is right, so that only the length is wrong */
		Size		size = 8 + 1 + symbol_len;

		wrong = calloc(1, size);
		wrong[0] = 1;
		wrong[2] = 1;
		wrong[4] = symbol_len;
		check_rejected_with_crc(wrong_length, wrong, size);
	}
	wrong = exact_copy(table, len);
	wrong[4]++;
	check_rejected_with_crc(wrong_size, wrong, len);
	wrong = exact_copy(table, len);
	check_rejected_with_crc(wrong_size, wrong, len - 1);
	wrong = realloc(exact_copy(table, len), len + 1);
	check_rejected_with_crc(wrong_size, wrong, len + 1);

	/* a symbol before its beginning, as one-byte codes and two-byte codes */
	wrong = make_table(symbols, 4, 2, &wrong_len);
	check_accepted("a table with symbols in order", wrong, wrong_len);
	wrong = make_table(symbols, 4, 3, &wrong_len);
	check_rejected_with_crc(not_in_order, wrong, wrong_len);
	wrong = make_table(symbols, 4, 1, &wrong_len);
	check_rejected_with_crc(not_in_order, wrong, wrong_len);
	wrong = make_table(symbols, 4, 0, &wrong_len);
	check_rejected_with_crc(not_in_order, wrong, wrong_len);
	symbols[0] = symbols[1];
	symbols[1].len = 1;
	wrong = make_table(symbols, 4, 2, &wrong_len);
	check_rejected_with_crc(not_in_order, wrong, wrong_len);

	/* equal symbols: of one kind, and of both kinds */
	symbols[1] = symbols[0];
	wrong = make_table(symbols, 2, 2, &wrong_len);
	check_rejected_with_crc(not_in_order, wrong, wrong_len);
	wrong = make_table(symbols, 2, 0, &wrong_len);
	check_rejected_with_crc(not_in_order, wrong, wrong_len);
	wrong = make_table(symbols, 2, 1, &wrong_len);
	check_rejected_with_crc(not_in_order, wrong, wrong_len);
}

/* Each reason to reject a table with runs. */
static void
check_reasons_of_runs(const uint8 *table, Size len)
{
	static const char invalid[] = "The alphabet of the symbol table is invalid.";
	static const char too_many[] = "The symbol table has too many symbols.";
	static const char too_short[] = "The symbol table is too short.";
	static const char good[] = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
	static TestSymbol letters[300];
	uint8	   *wrong;
	Size		wrong_len;

	for (int i = 0; i < 256; i++)
	{
		for (int place = 0; place < 2; place++)
		{
			wrong = exact_copy(table, len);
			wrong[4] = wrong[5] = '-';
			wrong[4 + place] = i;
			if (i == 0 || i == '-' || strchr(good, i) == NULL)
				check_rejected_with_crc(invalid, wrong, len);
			else
			{
				set_table_crc(wrong, len);
				if (check_load(wrong, len) == NULL)
					fail("a table with runs of the character %c is rejected", i);
				MemoryContextDelete(codec_context);
				free(wrong);
			}
		}
	}

	/* the byte 254 begins no two-byte code */
	fill_in_order(letters, lengthof(letters));
	wrong = make_runs_table(letters, 254, 254, "+/", &wrong_len);
	check_accepted("a table with runs and 254 one-byte codes", wrong, wrong_len);
	wrong = make_runs_table(letters, 255, 254, "+/", &wrong_len);
	check_rejected_with_crc(too_many, wrong, wrong_len);
	wrong = make_runs_table(letters, 10, 255, "+/", &wrong_len);
	check_rejected_with_crc(too_many, wrong, wrong_len);

	/* the end is within the alphabet, and within the lengths */
	for (wrong_len = 8; wrong_len < 4 + 2 + 3 + 4; wrong_len++)
	{
		wrong = exact_copy(table, wrong_len);
		check_rejected_with_crc(too_short, wrong, wrong_len);
	}
}

static void
check_golden(void)
{
	static TestSymbol pairs[26 + 676];
	uint8		table[sizeof(golden_table)];
	uint8		runs_table[sizeof(golden_runs_table)];
	uint8		expected[2 + 3 + 2 + 3 * 256];
	uint8	   *pair_table;
	uint8		str[MAX_LENGTH + 1];
	uint8		out[2 * (MAX_LENGTH + 1)];
	Size		len = from_hex(golden_table, table);
	TrainedCodec *codec;

	if (crc32c(0xFFFFFFFF, (const uint8 *) "123456789", 9) != (uint32) ~0xE3069283)
		fail("the CRC of the test is not CRC-32C");
	check_golden_strings(table, len, golden_strings, lengthof(golden_strings));
	check_reasons(table, len);

	for (int i = 0; i < 26; i++)
	{
		pairs[i].len = 1;
		pairs[i].bytes[0] = 'a' + i;
	}
	for (int i = 0; i < 676; i++)
	{
		pairs[26 + i].len = 2;
		pairs[26 + i].bytes[0] = 'a' + i / 26;
		pairs[26 + i].bytes[1] = 'a' + i % 26;
	}
	pair_table = make_table(pairs, lengthof(pairs), 26, &len);
	check_golden_strings(pair_table, len, golden_pairs, lengthof(golden_pairs));
	free(pair_table);

	len = from_hex(golden_runs_table, runs_table);
	check_golden_strings(runs_table, len, golden_runs, lengthof(golden_runs));
	check_reasons_of_runs(runs_table, len);

	/* a run of 257 groups is too long, so that of its first group is separate */
	codec = check_load(runs_table, len);
	memset(str, 'A', 4 * 257);
	memset(expected, 0, sizeof(expected));
	memcpy(expected, "\376\0\0\0\0\376\377", 7);
	if (trained_codec_encode(codec, str, 4 * 257, out, sizeof(out)) != sizeof(expected) ||
		memcmp(out, expected, sizeof(expected)) != 0)
		fail("a run of 257 groups is not encoded as 1 and 256 groups");
	check_round_trip(codec, str, 4 * 257);
	check_round_trip(codec, str, MAX_LENGTH);
	MemoryContextDelete(codec_context);

	len = from_hex(golden_tie_table, runs_table);
	check_golden_strings(runs_table, len, golden_ties, lengthof(golden_ties));

	/* this rule does not always find the shortest form: 773 bytes here */
	codec = check_load(runs_table, len);
	for (int i = 0; i < 256; i++)
		memcpy(str + 4 * i, "CDEF", 4);
	memcpy(str + 4 * 256, "WXYZ", 4);
	if (trained_codec_encode(codec, str, 4 * 257, out, sizeof(out)) != 775)
		fail("a run of 257 groups with a tie is not encoded in 775 bytes");
	check_round_trip(codec, str, 4 * 257);
	MemoryContextDelete(codec_context);

	/* lengths that are not encoded, and a table without symbols */
	pair_table = make_table(NULL, 0, 255, &len);
	codec = check_load(pair_table, len);
	memset(str, 'a', sizeof(str));
	if (trained_codec_encode(codec, str, MAX_LENGTH + 1, out, sizeof(out)) != -1 ||
		trained_codec_encode(codec, str, -1, out, sizeof(out)) != -1)
		fail("a string with a wrong length is encoded");
	check_round_trip(codec, str, MAX_LENGTH);
	check_round_trip(codec, str, 0);
	MemoryContextDelete(codec_context);
	free(pair_table);
}

/* --- training --- */

/* The strings of a sample. */
typedef struct Sample
{
	int			n;
	uint8	  **strings;
	int		   *lengths;
} Sample;

static Sample
new_sample(int n)
{
	Sample		sample;

	sample.n = n;
	sample.strings = malloc(n * sizeof(uint8 *));
	sample.lengths = malloc(n * sizeof(int));
	return sample;
}

static void
set_string(Sample *sample, int i, const uint8 *str, int len)
{
	sample->strings[i] = exact_copy(str, len);
	sample->lengths[i] = len;
}

static void
free_sample(Sample *sample)
{
	for (int i = 0; i < sample->n; i++)
		free(sample->strings[i]);
	free(sample->strings);
	free(sample->lengths);
}

/*
 * Make a sample of random strings.  Some have common parts.  Some contain the
 * same part again and again, which no other string contains.  Some are too
 * long for the codec, and some are empty.
 */
static Sample
random_sample(int n)
{
	static uint8 str[MAX_LENGTH + 500];
	static uint8 common[20][40];
	Sample		sample = new_sample(n);

	for (int i = 0; i < (int) lengthof(common); i++)
	{
		for (int j = 0; j < (int) sizeof(common[i]); j++)
			common[i][j] = random_below(256);
	}
	for (int i = 0; i < n; i++)
	{
		int			alphabet = random_below(2) ? 3 : 256;
		int			len = random_below(80);

		if (random_below(20) == 0)
			len = 0;
		else if (random_below(20) == 0)
			len = random_below(sizeof(str));
		for (int j = 0; j < len; j++)
			str[j] = random_letter(alphabet);
		if (random_below(10) == 0)
		{
			len = random_below(10) ? 600 : sizeof(str);
			for (int j = 60; j < len; j++)
				str[j] = str[j - 60];
		}
		else if (random_below(2))
		{
			memcpy(str, common[random_below(lengthof(common))], sizeof(common[0]));
			len = Max(len, (int) sizeof(common[0]));
		}
		set_string(&sample, i, str, len);
	}
	return sample;
}

/* Return how many strings of the sample that are not too long have the symbol. */
static int
count_rows(const Sample *sample, const TestSymbol *symbol)
{
	int			rows = 0;

	for (int i = 0; i < sample->n; i++)
	{
		if (sample->lengths[i] <= MAX_LENGTH &&
			memmem(sample->strings[i], sample->lengths[i], symbol->bytes, symbol->len) != NULL)
			rows++;
	}
	return rows;
}

/*
 * Train a table.  It must be valid and not have too many symbols, and each
 * symbol of more than four bytes must be in min_rows strings.  Return the bytes
 * that the table saves in the strings of the sample that are not too long.
 */
static int
check_training(const Sample *sample, int max_symbols, int min_rows)
{
	Size		before = allocated_now;
	Size		len;
	Size		again_len;
	uint8	   *table;
	uint8	   *again;
	TrainedCodec *codec;
	int			saved = 0;

	table = trained_codec_train((const uint8 *const *) sample->strings, sample->lengths,
								sample->n, max_symbols, min_rows, &len);
	again = trained_codec_train((const uint8 *const *) sample->strings, sample->lengths,
								sample->n, max_symbols, min_rows, &again_len);
	if (len != again_len || memcmp(table, again, len) != 0)
		fail("the same sample gives two tables");

	codec = check_load(table, len);
	if (codec == NULL)
		fail("the trained table is not valid");
	if (reference.nsymbols > Max(max_symbols, 0))
		fail("the trained table has %d symbols, more than %d", reference.nsymbols, max_symbols);
	for (int code = 0; code < reference.nsymbols; code++)
	{
		const TestSymbol *symbol = &reference.symbols[code];
		int			rows = count_rows(sample, symbol);

		if (rows < 1 || (symbol->len > 4 && rows < min_rows))
			fail("a symbol of %d bytes is in %d strings, not in %d", symbol->len, rows, min_rows);
	}
	check_strings(codec, 256, 5);
	for (int i = 0; i < sample->n; i++)
	{
		uint8		encoded[MAX_ENCODED];

		if (sample->lengths[i] <= MAX_LENGTH)
			saved += sample->lengths[i] -
				trained_codec_encode(codec, sample->strings[i], sample->lengths[i],
									 encoded, sizeof(encoded));
	}
	MemoryContextDelete(codec_context);
	pfree(table);
	pfree(again);
	if (allocated_now != before)
		fail("the training does not free %zd bytes", (ssize_t) (allocated_now - before));
	return saved;
}

/* Random characters of each alphabet become shorter by runs. */
static void
train_tokens(void)
{
	static const char *const alphabets[] = {"+/", "-_", "./"};
	const int	chars = 40;

	for (int which = 0; which < (int) lengthof(alphabets); which++)
	{
		Sample		sample = new_sample(2000);
		int			saved;

		for (int i = 0; i < sample.n; i++)
		{
			uint8		str[80];
			int			len = sprintf((char *) str, "user %d: ", random_below(1000));

			for (int j = 0; j < chars; j++)
			{
				int			value = random_below(64);

				str[len++] = value < 10 ? '0' + value :
					value < 36 ? 'A' + value - 10 :
					value < 62 ? 'a' + value - 36 : alphabets[which][value - 62];
			}
			set_string(&sample, i, str, len);
		}
		saved = check_training(&sample, 16384, 2);
		if (!reference.with_runs || memcmp(reference.alphabet + 62, alphabets[which], 2) != 0)
			fail("the training does not find the alphabet %s", alphabets[which]);
		if (saved < sample.n * (chars / 4 - 2))
			fail("runs save %d bytes in %d strings", saved, sample.n);
		free_sample(&sample);
	}
}

static void
train(int cases)
{
	static const int max_symbols[] = {16384, 100000, 300, 255, 1};
	static uint8 str[MAX_LENGTH + 1];
	Sample		sample;
	int			total = 0;
	int			saved;

	/* nothing to learn from */
	sample = new_sample(0);
	check_training(&sample, 16384, 1);
	free_sample(&sample);
	sample = new_sample(4);
	set_string(&sample, 0, str, 0);
	for (int i = 1; i < sample.n; i++)
		set_string(&sample, i, str, MAX_LENGTH + 1);
	check_training(&sample, 16384, 1);
	free_sample(&sample);

	for (int i = 0; i < cases; i += 400)
	{
		sample = random_sample(random_below(2) ? 400 : random_below(50));
		check_training(&sample, max_symbols[i / 400 % lengthof(max_symbols)],
					   random_below(6));
		free_sample(&sample);
	}

	/* similar strings become short, and the training can be interrupted */
	sample = new_sample(3000);
	for (int i = 0; i < sample.n; i++)
	{
		int			len = sprintf((char *) str, "https://example.org/user/%d/invoice/%d.html",
								  random_below(1000), random_below(100000));

		set_string(&sample, i, str, len);
		total += len;
	}
	InterruptPending = true;
	interrupt_checks = 0;
	saved = check_training(&sample, 16384, 2);
	InterruptPending = false;
	if (saved < total / 2)
		fail("the training saves %d of %d bytes", saved, total);
	if (reference.with_runs)
		fail("the training uses runs where they save nothing");
	if (interrupt_checks < 2 * sample.n / 1024)
		fail("the training checks for interrupts only %d times", interrupt_checks);
	if (check_training(&sample, 0, 1) > 0)
		fail("a table without symbols saves something");
	free_sample(&sample);
	train_tokens();
}

/* --- tables whose trie is large --- */

/*
 * Build the trie of 16384 symbols of 64 bytes: random ones, symbols that branch
 * off each other anywhere, symbols that branch to bytes that are far apart,
 * and symbols that do so at 14 places, with the same bytes between.
 */
static void
check_nasty(int kind)
{
	static TestSymbol symbols[MAX_SYMBOLS];
	static uint8 str[MAX_LENGTH];
	static uint8 encoded[MAX_ENCODED];
	uint8	   *table;
	Size		len;
	Size		before = allocated_now;
	TrainedCodec *codec;
	int			encoded_len;
	int			n;

	for (int i = 0; i < MAX_SYMBOLS; i++)
	{
		symbols[i].len = MAX_SYMBOL;
		for (int j = 0; j < MAX_SYMBOL; j++)
		{
			uint8	   *byte = &symbols[i].bytes[j];

			if (kind == 0)
				*byte = random_below(256);
			else if (kind == 1)
				*byte = random_below(40) ? 0 : random_below(256);
			else if (kind == 2)
				*byte = random_below(60) ? j : 255 * random_below(2);
			else if (j % 4 == 3 && j / 4 < 14)
				*byte = 255 * (i >> (j / 4) & 1);
			else
				*byte = 128;
		}
	}
	n = sort_symbols(symbols, MAX_SYMBOLS);
	table = make_table(symbols, n, 0, &len);

	allocated_peak = before;
	codec = check_load(table, len);
	for (int i = 0; i < MAX_LENGTH; i++)
		str[i] = symbols[i / MAX_SYMBOL * 500 % n].bytes[i % MAX_SYMBOL];
	encoded_len = trained_codec_encode(codec, str, MAX_LENGTH, encoded, MAX_ENCODED);
	if (allocated_peak - before > MAX_CODEC_BYTES)
		fail("the codec of a table with %d symbols takes %zu bytes", n, allocated_peak - before);
	check_decode(codec, encoded, encoded_len, MAX_LENGTH);
	check_encode(codec, str, 100);
	MemoryContextDelete(codec_context);
	free(table);
}

/*
 * Decode the longest symbols, into buffers that are as large as the string, and
 * larger by up to two symbols.
 */
static void
check_longest(void)
{
	static TestSymbol longest = {MAX_SYMBOL, "long"};
	Size		len;
	uint8	   *table = make_table(&longest, 1, 1, &len);
	TrainedCodec *codec = check_load(table, len);
	uint8		codes[MAX_LENGTH / MAX_SYMBOL] = {0};

	for (int n = 1; n <= (int) sizeof(codes); n++)
	{
		for (int more = 0; more <= 2 * MAX_SYMBOL; more++)
			check_decode(codec, codes, n, n * MAX_SYMBOL + more);
	}
	MemoryContextDelete(codec_context);
	free(table);
}

int
main(int argc, char **argv)
{
	if (argc > 2)
		random_state = strtoull(argv[2], NULL, 10);

	if (argc == 2 && strcmp(argv[1], "golden") == 0)
		check_golden();
	else if (argc == 4 && strcmp(argv[1], "fuzz") == 0)
		fuzz(atoi(argv[3]));
	else if (argc == 4 && strcmp(argv[1], "train") == 0)
		train(atoi(argv[3]));
	else if (argc == 3 && strcmp(argv[1], "nasty") == 0)
	{
		for (int kind = 0; kind < 4; kind++)
			check_nasty(kind);
		check_longest();
	}
	else
		fail("usage: trained_codec golden | fuzz SEED CASES | train SEED CASES | nasty SEED");
	printf("ok\n");
	return 0;
}
