/*-------------------------------------------------------------------------
 *
 * compact_trained_order.c
 *	  Keys for sorting, made with a trained symbol table.
 *
 * Strings of one column often begin with the same bytes.  Then their first
 * eight bytes, which text uses as an abbreviated key, say little.  A key of
 * this file has several parts.  Each part is a number that stands for a symbol
 * of up to 64 bytes, so the key covers more bytes where the column's strings
 * are alike.
 *
 * The symbols divide the ordered set of all strings into intervals: an
 * interval begins with each symbol, and another one begins behind all strings
 * that begin with the symbol.  The intervals are numbered in their order.  For
 * example, the symbols "h", "http" and "https" make the intervals 1: strings
 * from "h" on, 2: from "http" on, 3: all that begin with "https", 4: others
 * behind them that begin with "http", and 5: others behind them that begin
 * with "h".  All strings of an interval begin with the same longest symbol.
 *
 * The number of a string's interval is the first part of its key.  The rest of
 * the string, behind that symbol, gives the next part in the same way.  The
 * number of the empty string is 0.  The last part may be cut to its highest
 * bits.
 *
 * So if string a sorts before string b, as memcmp() compares them and with a
 * string after its own beginning, the key of a is not greater than that of b.
 * This is the ALM scheme of Antoshenkov ("Dictionary-based order-preserving
 * string compression", VLDB Journal 6, 1997), with keys of a fixed size.
 * Strings with equal keys can be different.
 *
 * Keys are never stored.  All keys that are compared with each other must be
 * made with the same symbol table.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_trained_order.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "compact_codec_words.h"
#include "compact_trained_symbols.h"

/* The symbols of a table, and each single byte that is no symbol of it. */
#define MAX_ORDERED		(TRAINED_MAX_SYMBOLS + 256)

/* No more than two intervals begin for each of them. */
StaticAssertDecl(2 * MAX_ORDERED <= PG_UINT16_MAX, "numbers of intervals do not fit");

/*
 * Most parts of a key: the numbers go from 0 to 256 or more, so a part has nine
 * bits or more.
 */
#define MAX_PARTS		8
#define KEY_BYTES		(MAX_PARTS * TRAINED_MAX_SYMBOL)

/* Return the first eight bytes of a string as a word.  Zeros follow it. */
static inline uint64
head_of(const uint8 *str, int len)
{
	uint8		bytes[8] = {0};

	if (likely(len >= 8))
		return load_word(str);
	memcpy(bytes, str, len);

	return load_word(bytes);
}

/*
 * Set what is known of the symbol at a position when the symbol at position end
 * is the first one that does not begin with it, and pass its length on to its
 * parent.  *number is the number of the next interval.
 * No interval is behind a single byte: the next one begins with the next byte.
 */
static inline void
close_symbol(TrainedOrder *order, int position, int end, int *number)
{
	OrderedSymbol *closed = &order->ordered[position];
	OrderedSymbol *parent = &order->ordered[closed->parent];

	parent->longest = Max(parent->longest, closed->longest);
	closed->end = end;
	if (ENTRY_LENGTH(closed->entry) > 1)
		closed->next_number = (*number)++;
	else
		closed->next_number = *number - 1;
}

/*
 * Make the intervals of a symbol table.  A symbol comes before all symbols
 * that begin with it, so one pass over the symbols in their order sees the
 * intervals in their order.
 */
static TrainedOrder *
make_order(TrainedCodec *codec)
{
	int			num_codes = TRAINED_NUM_CODES(codec->one_byte_codes);
	int			max = codec->num_symbols + 256;
	TrainedOrder *order;
	char	   *space;
	int			open[TRAINED_MAX_SYMBOL];	/* the last symbol, and those that
											 * it begins with */
	int			nopen = 0;
	int			n = 0;
	int			number = 1;
	int			next = 0;

	space = MemoryContextAlloc(codec->context, MAXALIGN(sizeof(TrainedOrder)) +
							   max * (sizeof(uint64) + sizeof(OrderedSymbol)) +
							   codec->num_symbols * sizeof(uint16));
	order = (TrainedOrder *) space;
	order->heads = (uint64 *) (space + MAXALIGN(sizeof(TrainedOrder)));
	order->ordered = (OrderedSymbol *) (order->heads + max);
	order->positions = (uint16 *) (order->ordered + max);

	for (int byte = 0; byte < 256; byte++)
	{
		order->starts[byte] = n;

		for (bool first = true;; first = false)
		{
			int			code = next < codec->num_symbols ? codec->sorted[next] : -1;
			OrderedSymbol *added = &order->ordered[n];
			const uint8 *bytes;
			int			len;

			if (code >= 0 && codec->pool[ENTRY_OFFSET(codec->entries[code])] != byte)
				code = -1;
			if (first && (code < 0 || ENTRY_LENGTH(codec->entries[code]) > 1))
				code = num_codes + byte;	/* its escape */
			else if (code < 0)
				break;
			else
			{
				order->positions[code] = n;
				next++;
			}
			added->entry = codec->entries[code];
			bytes = codec->pool + ENTRY_OFFSET(added->entry);
			len = ENTRY_LENGTH(added->entry);
			order->heads[n] = head_of(bytes, len);

			while (nopen > 0)
			{
				OrderedSymbol *last = &order->ordered[open[nopen - 1]];
				int			last_len = ENTRY_LENGTH(last->entry);

				if (last_len < len &&
					memcmp(codec->pool + ENTRY_OFFSET(last->entry), bytes, last_len) == 0)
					break;
				close_symbol(order, open[--nopen], n, &number);
			}
			added->parent = nopen > 0 ? open[nopen - 1] : n;
			added->number = number++;
			added->longest = len;
			open[nopen++] = n++;
		}
	}
	order->starts[256] = n;
	while (nopen > 0)
		close_symbol(order, open[--nopen], n, &number);
	order->part_bits = pg_leftmost_one_pos32(number - 1) + 1;
	Assert(next == codec->num_symbols);

	return order;
}

static inline const TrainedOrder *
get_order(TrainedCodec *codec)
{
	if (unlikely(codec->order == NULL))
		codec->order = make_order(codec);

	return codec->order;
}

/* Return true if the symbol at the position sorts after the string. */
static inline bool
is_after(const TrainedCodec *codec, const TrainedOrder *order, int position,
		 const uint8 *str, int len)
{
	uint32		entry = order->ordered[position].entry;
	int			symbol_len = ENTRY_LENGTH(entry);
	int			result = memcmp(codec->pool + ENTRY_OFFSET(entry), str, Min(symbol_len, len));

	return result > 0 || (result == 0 && symbol_len > len);
}

/*
 * Return the position of the last symbol from first to end - 1 whose first
 * eight bytes are not after head.  The symbol at position first is such a
 * symbol.  There is no branch on the result of a comparison, because it would
 * often be mispredicted.
 */
static inline int
find_head(const TrainedOrder *order, int first, int end, uint64 head)
{
	const uint64 *heads = order->heads;
	int			low = first;
	int			high = end - first;

	while (high > 1)
	{
		int			half = high / 2;

		low += heads[low + half] <= head ? half : 0;
		high -= half;
	}

	return low;
}

/*
 * Return the number of the interval of a string that is not empty, and set
 * *symbol_len to the length of the symbol that the interval's strings begin
 * with.  The symbol at position first is a beginning of the string, and low is
 * what find_head() returns for this symbol, those that begin with it, and the
 * head of the string.
 *
 * Of a longer string, as many bytes as the longest of these symbols has are
 * enough.  Eight bytes are enough if the symbol at position low has other first
 * eight bytes.
 */
static inline int
interval_of(const TrainedCodec *codec, const TrainedOrder *order, int first, int low,
			uint64 head, const uint8 *str, int len, int *symbol_len)
{
	const uint64 *heads = order->heads;
	const OrderedSymbol *found;
	const OrderedSymbol *ended = NULL;	/* a longer one, behind which the
										 * string is */
	int			common;

	/* among longer symbols with the same first bytes, compare all bytes */
	if (unlikely(heads[low] == head && is_after(codec, order, low, str, len)))
	{
		int			high = low;

		low = first;
		while (high - low > 1)
		{
			int			middle = (low + high) / 2;

			if (is_after(codec, order, middle, str, len))
				high = middle;
			else
				low = middle;
		}
	}

	/* go to the longest symbol that the string begins with */
	found = &order->ordered[low];
	common = Min(ENTRY_LENGTH(found->entry), len);
	if (heads[low] != head)
		common = Min(common, leading_equal_bytes(heads[low] ^ head));
	else if (common > 8)
		common = 8 + common_bytes(codec->pool + ENTRY_OFFSET(found->entry) + 8, str + 8,
								  common - 8);
	while (ENTRY_LENGTH(found->entry) > common)
	{
		ended = found;
		found = &order->ordered[found->parent];
	}
	*symbol_len = ENTRY_LENGTH(found->entry);

	return ended ? ended->next_number : found->number;
}

/* Put the number of an interval into the next bits of a key. */
static inline void
add_part(uint64 *key, int *free_bits, int part_bits, uint64 number)
{
	*free_bits -= part_bits;
	if (*free_bits >= 0)
		*key |= number << *free_bits;
	else
		*key |= number >> -*free_bits;
}

/*
 * Return the key of a string of len bytes.  Keys are compared as unsigned
 * numbers.
 */
uint64
trained_codec_key(TrainedCodec *codec, const uint8 *str, int len)
{
	const TrainedOrder *order = get_order(codec);
	uint64		key = 0;
	int			free_bits = 64;

	while (free_bits > 0 && len > 0)
	{
		int			first = order->starts[str[0]];
		uint64		head = head_of(str, len);
		int			low = find_head(order, first, order->starts[str[0] + 1], head);
		int			symbol_len;
		int			number = interval_of(codec, order, first, low, head, str, len, &symbol_len);

		add_part(&key, &free_bits, order->part_bits, number);
		str += symbol_len;
		len -= symbol_len;
	}

	return key;
}

/*
 * The decoded beginning of a code sequence.  A code is decoded only if end is
 * less than KEY_BYTES, and takes up to TRAINED_MAX_SYMBOL bytes.
 */
typedef struct DecodedCodes
{
	int			start;			/* of the bytes that are in no part yet */
	int			end;
	int			ncodes;
	int			next;			/* the first code that begins at start or
								 * later */
	uint8		bytes[KEY_BYTES + TRAINED_MAX_SYMBOL];
	/* where the codes begin, and the positions of their symbols */
	uint16		starts[KEY_BYTES + TRAINED_MAX_SYMBOL];
	uint16		positions[KEY_BYTES + TRAINED_MAX_SYMBOL];
} DecodedCodes;

/*
 * Decode until the string has that many bytes or ends.  Return false if a code
 * that was read is malformed.
 */
static inline bool
decode_until(const TrainedCodec *codec, const TrainedOrder *order, const uint8 *in,
			 int inlen, int *inpos, int end, DecodedCodes *decoded)
{
	Assert(end <= KEY_BYTES);

	while (decoded->end < end && *inpos < inlen)
	{
		int			code = next_code(codec, in, inlen, inpos);
		int			escaped = code - TRAINED_NUM_CODES(codec->one_byte_codes);
		const uint8 *bytes;
		int			len;

		if (code < 0 || ENTRY_LENGTH(codec->entries[code]) == 0)
			return false;
		bytes = codec->pool + ENTRY_OFFSET(codec->entries[code]);
		len = ENTRY_LENGTH(codec->entries[code]);
		memcpy(decoded->bytes + decoded->end, bytes, 16);
		if (unlikely(len > 16))
			memcpy(decoded->bytes + decoded->end + 16, bytes + 16, TRAINED_MAX_SYMBOL - 16);
		decoded->starts[decoded->ncodes] = decoded->end;
		decoded->positions[decoded->ncodes++] =
			escaped >= 0 ? order->starts[escaped] : order->positions[code];
		decoded->end += len;
	}

	return true;
}

/*
 * Set *key to the key of the string of a code sequence that may contain runs.
 * Decode its beginning, since the parts of a key cover no more.  Return false
 * if a code that was read is malformed.
 */
static bool
key_of_pieces(TrainedCodec *codec, const uint8 *in, int inlen, uint64 *key)
{
	TrainedCursor cursor;
	uint8		str[KEY_BYTES + TRAINED_MAX_SYMBOL];
	int			len = 0;

	begin_pieces(&cursor, in, inlen);
	while (len < KEY_BYTES)
	{
		int			added;
		const uint8 *piece = next_piece(codec, &cursor, &added);

		if (piece == NULL)
			break;
		if (added == 0)
			return false;
		memcpy(str + len, piece, added);
		len += added;
	}
	*key = trained_codec_key(codec, str, len);

	return true;
}

/*
 * Set *key to the key of the string of a code sequence of the same codec, of
 * which little more is decoded than the key needs.  Return false if a code
 * that was read is malformed.
 */
bool
trained_codec_key_of_codes(TrainedCodec *codec, const uint8 *in, int inlen,
						   uint64 *key)
{
	const TrainedOrder *order = get_order(codec);
	DecodedCodes decoded;
	int			inpos = 0;
	int			free_bits = 64;

	if (may_have_runs(codec, in, inlen))
		return key_of_pieces(codec, in, inlen, key);

	decoded.start = 0;
	decoded.end = 0;
	decoded.ncodes = 0;
	decoded.next = 0;
	*key = 0;
	while (free_bits > 0)
	{
		const uint8 *str = decoded.bytes + decoded.start;
		const OrderedSymbol *shortest;	/* that the string begins with */
		int			lost_bits = order->part_bits - free_bits;	/* of the next part */
		int			position;
		int			number;
		int			symbol_len;

		if (decoded.start == decoded.end)
		{
			if (inpos == inlen)
				break;
			if (!decode_until(codec, order, in, inlen, &inpos, decoded.start + 1, &decoded))
				return false;
		}

		/* take the symbol of the code that begins here, or the first byte */
		while (decoded.next < decoded.ncodes && decoded.starts[decoded.next] < decoded.start)
			decoded.next++;
		if (decoded.next < decoded.ncodes && decoded.starts[decoded.next] == decoded.start)
			position = decoded.positions[decoded.next];
		else
			position = order->starts[str[0]];
		shortest = &order->ordered[position];

		/* longer symbols are looked for only if they make a difference */
		if (shortest->end == position + 1 ||
			(lost_bits > 0 &&
			 shortest->number >> lost_bits == shortest->next_number >> lost_bits))
		{
			number = shortest->number;
			symbol_len = ENTRY_LENGTH(shortest->entry);
		}
		else
		{
			uint64		head;
			int			low;

			if (!decode_until(codec, order, in, inlen, &inpos,
							  decoded.start + Min(shortest->longest, 8), &decoded))
				return false;
			head = head_of(str, decoded.end - decoded.start);
			low = find_head(order, position, shortest->end, head);
			if (shortest->longest > 8 && order->heads[low] == head &&
				!decode_until(codec, order, in, inlen, &inpos,
							  decoded.start + shortest->longest, &decoded))
				return false;
			number = interval_of(codec, order, position, low, head, str,
								 decoded.end - decoded.start, &symbol_len);
		}
		add_part(key, &free_bits, order->part_bits, number);
		decoded.start += symbol_len;
	}

	return true;
}
