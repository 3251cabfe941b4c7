/*-------------------------------------------------------------------------
 *
 * compact_text_dictionary.c
 *	  Encoding and decoding of strings with a static dictionary.
 *
 * An encoded string is a sequence of codes.  A byte from 0 to 207 is a code by
 * itself.  A byte from 208 to 253 forms a code together with the next byte.
 * Each code stands for a symbol of 1 to 8 bytes.  The byte 255 is an escape:
 * the next byte is taken as it is.  254 is not used.
 *
 * The same string must give the same bytes on every machine and in every
 * release, since equality of stored values relies on it.  So these rules
 * define the parse: the way to split a string into symbols.  The cost of a
 * suffix of the string is its encoded length.  The costs of all suffixes are
 * computed, beginning with the shortest suffix; the cost of the empty suffix
 * is 0.  The choice at a position is
 *
 *	- the symbol or the escape with the least sum of its own encoded length and
 *	  the cost of the suffix after it;
 *	- if several have the same sum, a symbol rather than the escape;
 *	- if several symbols have the same sum, the longest symbol.
 *
 * No two symbols of a dictionary are equal, so there is only one choice.
 * These rules and the dictionaries may never change (see
 * compact_text_codec.c).
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_text_dictionary.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "compact_codec_words.h"
#include "compact_text_dictionary.h"

#include "compact_text_dict_latin.h"
#include "compact_text_dict_cjk.h"
#include "compact_text_dict_cyrillic.h"

#define FIRST_TWO_BYTE_CODE		208 /* first byte of the two-byte codes */

/*
 * Each candidate for the choice at a position is one integer.  Its highest
 * bits are the encoded length, the next bits are smaller for a longer symbol,
 * and the lowest bits are the code.  The cost of the suffix after the symbol
 * is an integer of the same form, whose lower bits are zero.  So the
 * candidate with the smallest sum of both integers is the choice by the rules
 * above.
 */
#define CODE_BITS				14
#define RANK_SHIFT				CODE_BITS
#define COST_SHIFT				(RANK_SHIFT + 4)
#define CODE_MASK				((1 << CODE_BITS) - 1)
#define COST_MASK				(~(uint32) 0 << COST_SHIFT)

#define SYMBOL_CANDIDATE(code, len) \
	((uint32) ((code) < COMPACT_TEXT_ONE_BYTE_CODES ? 1 : 2) << COST_SHIFT | \
	 (uint32) (COMPACT_TEXT_MAX_SYMBOL - (len)) << RANK_SHIFT | (uint32) (code))

/* Escapes are numbered as two-byte codes whose first byte is 255. */
#define FIRST_ESCAPE \
	(COMPACT_TEXT_ONE_BYTE_CODES + (255 - FIRST_TWO_BYTE_CODE) * 256)
#define ESCAPE_CANDIDATE(byte) \
	((uint32) 2 << COST_SHIFT | \
	 (uint32) COMPACT_TEXT_MAX_SYMBOL << RANK_SHIFT | \
	 (uint32) (FIRST_ESCAPE + (byte)))

/* Number of bytes of the string that a choice covers. */
#define CHOICE_RANK(choice)		(((choice) & ~COST_MASK) >> RANK_SHIFT)
#define CHOICE_LENGTH(choice) \
	(CHOICE_RANK(choice) == COMPACT_TEXT_MAX_SYMBOL ? 1 : \
	 COMPACT_TEXT_MAX_SYMBOL - CHOICE_RANK(choice))

/*
 * Candidate that means no symbol.  It is larger than any sum with a symbol,
 * and adding a cost to it does not overflow.
 */
#define NO_CANDIDATE			((uint32) 1 << 30)

StaticAssertDecl((2 * (COMPACT_TEXT_DICT_MAX_LENGTH + 1)) < (NO_CANDIDATE >> COST_SHIFT),
				 "costs do not fit");
StaticAssertDecl(FIRST_ESCAPE + 255 <= CODE_MASK, "codes do not fit");

/*
 * The matcher is a trie of all symbols, stored as a double array.  The child
 * of a node for a byte is at the node's base plus the byte, if that entry's
 * parent is the node.  A node without children has base 0.  With base 0, the
 * entry for any byte belongs to the root or to no node, so no child is found.
 */
typedef struct CompactTextTrieNode
{
	uint16		base;
	uint16		parent;
	uint32		candidate;		/* of the symbol that ends here, if any */
} CompactTextTrieNode;

#define TRIE_ROOT				0
#define TRIE_ROOT_BASE			1
#define TRIE_NO_PARENT			PG_UINT16_MAX
#define TRIE_MAX_NODES			PG_UINT16_MAX

/*
 * Number of words of the map of the array's free entries, used while a trie is
 * built.
 */
#define TRIE_MAP_WORDS			(65536 / 64 + 8)

/* A position at which a longer symbol may still be found. */
typedef struct CompactTextWalk
{
	uint16		pos;			/* within the block */
	uint16		node;
	uint16		base;			/* of the node */
} CompactTextWalk;

/*
 * The string is matched in blocks of this many positions.  The processor can
 * work on that many at a time, and all candidates stay in its first-level
 * cache.
 */
#define BLOCK_SIZE				64

/*
 * Stop the compiler if a dictionary was generated again with other symbols:
 * its CRC differs then.
 */
StaticAssertDecl(COMPACT_TEXT_DICT_LATIN_CRC == 0x51879BB5 &&
				 COMPACT_TEXT_DICT_CJK_CRC == 0x8DB5677B &&
				 COMPACT_TEXT_DICT_CYRILLIC_CRC == 0x95A03868,
				 "another dictionary needs a new type, see the head of compact_text_codec.c");

static const CompactTextDict dicts[COMPACT_TEXT_NUM_DICTS] = {
	{
		COMPACT_TEXT_DICT_LATIN, COMPACT_TEXT_DICT_LATIN_CRC,
		compact_text_dict_latin_symbols, compact_text_dict_latin_lengths
	},
	{
		COMPACT_TEXT_DICT_CJK, COMPACT_TEXT_DICT_CJK_CRC,
		compact_text_dict_cjk_symbols, compact_text_dict_cjk_lengths
	},
	{
		COMPACT_TEXT_DICT_CYRILLIC, COMPACT_TEXT_DICT_CYRILLIC_CRC,
		compact_text_dict_cyrillic_symbols, compact_text_dict_cyrillic_lengths
	}
};

/* Tries of the dictionaries that this process has used for encoding. */
static const CompactTextTrieNode *tries[COMPACT_TEXT_NUM_DICTS];
static MemoryContext trie_context = NULL;

/* Return the dictionary of that number, COMPACT_TEXT_DICT_x. */
const CompactTextDict *
compact_text_dict(int which)
{
	Assert(which >= 0 && which < COMPACT_TEXT_NUM_DICTS);

	return &dicts[which];
}

/*
 * Sort the codes by their symbols: run one counting sort for each byte
 * position, starting with the last byte.
 */
static void
sort_symbols(const CompactTextDict *dict, uint16 *sorted, uint16 *scratch)
{
	for (int i = 0; i < COMPACT_TEXT_NUM_SYMBOLS; i++)
		sorted[i] = i;

	/* the number of sorts is even, so the result ends up in sorted */
	for (int byte = COMPACT_TEXT_MAX_SYMBOL - 1; byte >= 0; byte--)
	{
		int			start[257] = {0};
		uint16	   *swap = sorted;

		for (int i = 0; i < COMPACT_TEXT_NUM_SYMBOLS; i++)
			start[dict->symbols[i][byte] + 1]++;
		for (int i = 0; i < 256; i++)
			start[i + 1] += start[i];
		for (int i = 0; i < COMPACT_TEXT_NUM_SYMBOLS; i++)
			scratch[start[dict->symbols[sorted[i]][byte]]++] = sorted[i];
		sorted = scratch;
		scratch = swap;
	}
}

/*
 * Find the lowest base for which the entries of all children are free.
 * Examine 64 bases at a time.
 */
static int
find_base(const uint64 *map, int first_free, const uint8 *labels, int nlabels)
{
	int			base = Max(TRIE_ROOT_BASE, first_free - labels[0]);

	for (; base + 64 + 255 < TRIE_MAX_NODES; base += 64)
	{
		uint64		fits = ~UINT64CONST(0);

		for (int i = 0; i < nlabels && fits != 0; i++)
			fits &= map_window(map, base + labels[i]);
		if (fits != 0)
			return base + pg_rightmost_one_pos64(fits);
	}

	/* not reached with the existing dictionaries, whatever the input */
	elog(ERROR, "trie of a compact_text dictionary has too many nodes");
	return 0;					/* keep compiler quiet */
}

/*
 * Build the trie, in memory that lives as long as the process.  If the codes
 * are sorted by symbol, the codes below one node are neighbors.  So for each
 * level of the trie, one pass over all codes finds the codes of each node
 * together.
 */
static const CompactTextTrieNode *
build_trie(const CompactTextDict *dict)
{
	CompactTextTrieNode *nodes;
	CompactTextTrieNode *result;
	uint16	   *sorted = palloc(COMPACT_TEXT_NUM_SYMBOLS * sizeof(uint16));
	uint16	   *node_of = palloc(COMPACT_TEXT_NUM_SYMBOLS * sizeof(uint16));
	uint64	   *map = palloc(TRIE_MAP_WORDS * sizeof(uint64));
	int			nnodes = TRIE_ROOT_BASE + 256;
	int			first_free = TRIE_ROOT_BASE;

	sort_symbols(dict, sorted, node_of);

	nodes = palloc(65536 * sizeof(CompactTextTrieNode));
	for (int i = 0; i < 65536; i++)
	{
		nodes[i].base = 0;
		nodes[i].parent = TRIE_NO_PARENT;
		nodes[i].candidate = NO_CANDIDATE;
	}
	memset(map, 0xFF, TRIE_MAP_WORDS * sizeof(uint64));
	map[0] &= ~UINT64CONST(1);	/* the root */

	for (int i = 0; i < COMPACT_TEXT_NUM_SYMBOLS; i++)
		node_of[i] = TRIE_ROOT;

	for (int depth = 0; depth < COMPACT_TEXT_MAX_SYMBOL; depth++)
	{
		int			start = 0;

		while (start < COMPACT_TEXT_NUM_SYMBOLS)
		{
			int			node = node_of[start];
			uint8		labels[256];
			int			nlabels = 0;
			int			base;
			int			end;

			/* skip the symbol that ends at this node: it is sorted first */
			if (dict->lengths[sorted[start]] <= depth)
			{
				start++;
				continue;
			}

			for (end = start;
				 end < COMPACT_TEXT_NUM_SYMBOLS && node_of[end] == node;
				 end++)
			{
				uint8		label = dict->symbols[sorted[end]][depth];

				if (nlabels == 0 || labels[nlabels - 1] != label)
					labels[nlabels++] = label;
			}

			if (node == TRIE_ROOT)
				base = TRIE_ROOT_BASE;
			else
				base = find_base(map, first_free, labels, nlabels);
			nodes[node].base = base;
			nnodes = Max(nnodes, base + 256);

			for (int i = 0; i < nlabels; i++)
			{
				int			child = base + labels[i];

				nodes[child].parent = node;
				map[child / 64] &= ~(UINT64CONST(1) << (child % 64));
			}

			/*
			 * reserve these entries for the root: lookups from leaves read
			 * them
			 */
			if (node == TRIE_ROOT)
			{
				for (int i = base; i < base + 256; i++)
					map[i / 64] &= ~(UINT64CONST(1) << (i % 64));
			}
			while ((map[first_free / 64] & (UINT64CONST(1) << (first_free % 64))) == 0)
				first_free++;

			for (int i = start; i < end; i++)
			{
				int			code = sorted[i];
				int			len = dict->lengths[code];

				node_of[i] = base + dict->symbols[code][depth];
				if (len == depth + 1)
					nodes[node_of[i]].candidate = SYMBOL_CANDIDATE(code, len);
			}
			start = end;
		}
	}

	/* nnodes leaves space for any byte added to any node's base */
	if (trie_context == NULL)
		trie_context = AllocSetContextCreate(TopMemoryContext,
											 "compact_text dictionaries",
											 ALLOCSET_DEFAULT_SIZES);
	result = MemoryContextAlloc(trie_context,
								nnodes * sizeof(CompactTextTrieNode));
	memcpy(result, nodes, nnodes * sizeof(CompactTextTrieNode));
	pfree(nodes);
	pfree(map);
	pfree(node_of);
	pfree(sorted);

	return result;
}

/*
 * Build all tries.  If the postmaster does this, every backend saves the time
 * (about a millisecond for each trie) and most of the memory.
 */
void
compact_text_dict_build_all(void)
{
	for (int i = 0; i < COMPACT_TEXT_NUM_DICTS; i++)
	{
		if (tries[i] == NULL)
			tries[i] = build_trie(&dicts[i]);
	}
}

/*
 * Find the candidates at the positions from start up to (not including) end.
 *
 * Walking down the trie at one position after the other would wait for memory
 * at each step, and for a mispredicted branch at the end of each walk.
 * Instead, all walks take their first step, then the unfinished ones take
 * their second step, and so on.  The steps of different walks are independent,
 * and nothing in the loops depends on where a walk ends.
 */
static inline void
find_candidates(const CompactTextTrieNode *trie, const uint8 *str, int len,
				int start, int end,
				uint32 candidates[][COMPACT_TEXT_MAX_SYMBOL])
{
	CompactTextWalk walks[BLOCK_SIZE + 1];
	int			nwalks = end - start;

	for (int i = 0; i < nwalks; i++)
	{
		int			node = TRIE_ROOT_BASE + str[start + i];

		candidates[i][0] = trie[node].candidate;
		for (int j = 1; j < COMPACT_TEXT_MAX_SYMBOL; j++)
			candidates[i][j] = NO_CANDIDATE;
		walks[i].pos = i;
		walks[i].node = node;
		walks[i].base = trie[node].base;
	}

	for (int depth = 1; depth < COMPACT_TEXT_MAX_SYMBOL; depth++)
	{
		int			kept = 0;

		/* walks are ordered by position: drop those at the string's end */
		while (nwalks > 0 && start + walks[nwalks - 1].pos + depth >= len)
			nwalks--;

		for (int i = 0; i < nwalks; i++)
		{
			CompactTextWalk walk = walks[i];
			int			child = walk.base + str[start + walk.pos + depth];
			CompactTextTrieNode node = trie[child];
			bool		found = (node.parent == walk.node);

			candidates[walk.pos][depth] = found ? node.candidate : NO_CANDIDATE;

			/*
			 * the next walk overwrites this walk, unless this walk continues
			 */
			walks[kept].pos = walk.pos;
			walks[kept].node = child;
			walks[kept].base = node.base;
			kept += found & (node.base != 0);
		}
		nwalks = kept;
	}
}

/*
 * Return true if the dictionary is likely to give a shorter encoding than
 * other ways to pack the string's characters.  Examine consecutive pieces of
 * three bytes at the beginning of the string; at least a quarter of them must
 * begin a symbol.  Few pieces of random letters and digits do so, and most
 * pieces of text do.
 *
 * This function decides the form of stored values, so its result may never
 * change.
 */
bool
compact_text_dict_is_promising(const CompactTextDict *dict, const uint8 *str, int len)
{
	const CompactTextTrieNode *trie = tries[dict->id];
	int			pieces = Min(len, COMPACT_TEXT_PROMISE_LENGTH) / 3;
	int			hits = 0;

	if (unlikely(trie == NULL))
		trie = tries[dict->id] = build_trie(dict);

	for (int i = 0; i < pieces; i++)
	{
		const uint8 *piece = str + 3 * i;
		int			first = TRIE_ROOT_BASE + piece[0];
		int			second = trie[first].base + piece[1];
		int			third = trie[second].base + piece[2];

		hits += (trie[second].parent == first) & (trie[third].parent == second);
	}

	return hits * 4 >= pieces;
}

/*
 * Encode a string: use the parse with the least encoded length.  If several
 * have that length, the head of this file defines which of them is used.
 *
 * Return the encoded length, or -1 if that would exceed limit or if the string
 * is longer than COMPACT_TEXT_DICT_MAX_LENGTH.  In this case the contents of
 * out are undefined.  Write no more than limit bytes of out.
 */
int
compact_text_dict_encode(const CompactTextDict *dict, const uint8 *str, int len,
						 uint8 *out, int limit)
{
	const CompactTextTrieNode *trie = tries[dict->id];
	uint32		candidates[BLOCK_SIZE][COMPACT_TEXT_MAX_SYMBOL];
	uint32		choices[COMPACT_TEXT_DICT_MAX_LENGTH];
	uint32		costs[COMPACT_TEXT_DICT_MAX_LENGTH + COMPACT_TEXT_MAX_SYMBOL];
	int			outlen;
	int			outpos = 0;

	if (len > COMPACT_TEXT_DICT_MAX_LENGTH || limit < 0)
		return -1;

	if (unlikely(trie == NULL))
		trie = tries[dict->id] = build_trie(dict);

	/* no symbol reaches beyond the end, but the loop reads the costs there */
	for (int i = 0; i < COMPACT_TEXT_MAX_SYMBOL; i++)
		costs[len + i] = 0;

	for (int start, end = len; end > 0; end = start)
	{
		uint32		least;

		start = Max(0, end - BLOCK_SIZE);
		find_candidates(trie, str, len, start, end, candidates);

		for (int pos = end - 1; pos >= start; pos--)
		{
			const uint32 *candidate = candidates[pos - start];
			const uint32 *behind = &costs[pos + 1];
			uint32		best = behind[0] + ESCAPE_CANDIDATE(str[pos]);

			/* unrolled, so that the compiler uses conditional moves */
			best = Min(best, behind[7] + candidate[7]);
			best = Min(best, behind[6] + candidate[6]);
			best = Min(best, behind[5] + candidate[5]);
			best = Min(best, behind[4] + candidate[4]);
			best = Min(best, behind[3] + candidate[3]);
			best = Min(best, behind[2] + candidate[2]);
			best = Min(best, behind[1] + candidate[1]);
			best = Min(best, behind[0] + candidate[0]);

			choices[pos] = best;
			costs[pos] = best & COST_MASK;
		}

		/*
		 * Give up as soon as the limit is out of reach.  A symbol has at most
		 * eight bytes, so at least one of any eight neighboring positions is
		 * the start of a symbol.  The part of the string before that position
		 * takes at least one encoded byte for every eight bytes.
		 */
		least = costs[start];
		for (int i = 1; i < COMPACT_TEXT_MAX_SYMBOL && start + i <= len; i++)
			least = Min(least, costs[start + i]);
		if ((int) (least >> COST_SHIFT) +
			(start + COMPACT_TEXT_MAX_SYMBOL - 1) / COMPACT_TEXT_MAX_SYMBOL > limit)
			return -1;
	}

	outlen = costs[0] >> COST_SHIFT;
	if (outlen > limit)
		return -1;

	for (int pos = 0; pos < len;)
	{
		uint32		choice = choices[pos];
		uint32		code = choice & CODE_MASK;
		uint32		wide = code - COMPACT_TEXT_ONE_BYTE_CODES;
		bool		two_bytes = (code >= COMPACT_TEXT_ONE_BYTE_CODES);

		/*
		 * write the second byte first, to avoid a branch on the number of
		 * bytes
		 */
		if (likely(outpos + 1 < outlen))
			out[outpos + 1] = wide & 0xFF;
		out[outpos] = two_bytes ? FIRST_TWO_BYTE_CODE + (wide >> 8) : code;
		outpos += 1 + two_bytes;
		pos += CHOICE_LENGTH(choice);
	}
	Assert(outpos == outlen);

	return outlen;
}

/*
 * Decode the code in the highest bits of word.  If it is an escape or not a
 * code, go to special.  There is no branch on the number of bytes of the code,
 * because it would often be mispredicted.  The next code waits only for the
 * shifted word.
 */
#define DECODE_ONE() \
do { \
	size_t		pair = word >> 48; \
	size_t		one = word >> 56; \
	size_t		two = pair - FIRST_TWO_BYTE_CODE * 256 + COMPACT_TEXT_ONE_BYTE_CODES; \
	size_t		two_bytes = (pair >= FIRST_TWO_BYTE_CODE * 256); \
	size_t		code = one + ((two - one) & -two_bytes); \
	uint64		shifted = word << 8; \
\
	if (unlikely(code >= COMPACT_TEXT_NUM_SYMBOLS)) \
		goto special; \
	word = (word >= (uint64) FIRST_TWO_BYTE_CODE << 56) ? shifted << 8 : shifted; \
	memcpy(outptr, symbols[code], COMPACT_TEXT_MAX_SYMBOL); \
	outptr += lengths[code]; \
	inptr += 1 + two_bytes; \
} while (0)

/*
 * Decode a string.
 *
 * Return its length, or -1 if the input is malformed or the string does not
 * fit.  Never read beyond the input nor write beyond outsize, whatever the
 * input is.  The bytes of out behind the string are undefined.
 */
int
compact_text_dict_decode(const CompactTextDict *dict, const uint8 *in, int inlen,
						 uint8 *out, int outsize)
{
	const uint8 (*symbols)[COMPACT_TEXT_MAX_SYMBOL] = dict->symbols;
	const uint8 *lengths = dict->lengths;
	const uint8 *inptr = in;
	const uint8 *inend = in + inlen;
	uint8	   *outptr = out;
	uint8	   *outend = out + outsize;

	while (inptr < inend)
	{
		int			first;
		int			index;
		int			len;

		/* Decode four codes, at most eight bytes, from one word. */
		while (inend - inptr >= 8 &&
			   outend - outptr >= 4 * COMPACT_TEXT_MAX_SYMBOL)
		{
			uint64		word = load_word(inptr);

			DECODE_ONE();
			DECODE_ONE();
			DECODE_ONE();
			DECODE_ONE();
		}

		/*
		 * Decode the rest from the last word of the input.  In the word,
		 * zeros follow the rest.  If a code took one of these zeros as its
		 * second byte, inptr is then beyond the end.
		 */
		if (inlen >= 8 && inptr < inend && inend - inptr < 8)
		{
			uint64		word = load_word(inend - 8) << (8 * (8 - (inend - inptr)));

			while (inptr < inend && outend - outptr >= COMPACT_TEXT_MAX_SYMBOL)
				DECODE_ONE();
			if (inptr > inend)
				return -1;
		}

		/* Escapes, errors, and codes near the end of out need care. */
		if (inptr >= inend)
			break;
special:
		first = *inptr++;
		index = first;
		if (first >= FIRST_TWO_BYTE_CODE)
		{
			int			second;

			if (inptr >= inend)
				return -1;
			second = *inptr++;
			if (first == 255)
			{
				if (outptr >= outend)
					return -1;
				*outptr++ = second;
				continue;
			}
			index = (first - FIRST_TWO_BYTE_CODE) * 256 + second +
				COMPACT_TEXT_ONE_BYTE_CODES;
			if (index >= COMPACT_TEXT_NUM_SYMBOLS)
				return -1;
		}
		len = lengths[index];
		if (likely(outend - outptr >= COMPACT_TEXT_MAX_SYMBOL))
			memcpy(outptr, symbols[index], COMPACT_TEXT_MAX_SYMBOL);
		else if (outend - outptr >= len)
			memcpy(outptr, symbols[index], len);
		else
			return -1;
		outptr += len;
	}

	return outptr - out;
}

/*
 * Return the start of the code that the byte at pos belongs to.  A byte below
 * FIRST_TWO_BYTE_CODE always ends a code.  So the bytes after the last such
 * byte before pos are first and second bytes of codes by turns.
 */
static inline int
start_of_code(const uint8 *in, int pos)
{
	int			first = pos;

	while (first > 0 && in[first - 1] >= FIRST_TWO_BYTE_CODE)
		first--;

	return pos - (pos - first) % 2;
}

/*
 * Read the code at *pos, and advance *pos.  Return its symbol as a word with
 * the first byte in the highest position, and set *len to its length, or to 0
 * if the code is malformed.
 */
static inline uint64
next_symbol(const CompactTextDict *dict, const uint8 *in, int inlen, int *pos,
			int *len)
{
	int			code = in[(*pos)++];

	if (code >= FIRST_TWO_BYTE_CODE)
	{
		int			second;

		*len = 0;
		if (*pos >= inlen)
			return 0;
		second = in[(*pos)++];
		if (code == 255)
		{
			*len = 1;
			return (uint64) second << 56;
		}
		code = (code - FIRST_TWO_BYTE_CODE) * 256 + second +
			COMPACT_TEXT_ONE_BYTE_CODES;
		if (code >= COMPACT_TEXT_NUM_SYMBOLS)
			return 0;
	}
	*len = dict->lengths[code];

	return load_word(dict->symbols[code]);
}

/*
 * Compare the strings of two code sequences of a dictionary as memcmp() would,
 * and set *result to a negative number, 0 or a positive number.  A string
 * sorts after its beginning.
 *
 * Skip the codes that both sequences begin with, and compare the symbols of
 * the others.  Return false if a code that was read is malformed.
 */
bool
compact_text_dict_compare(const CompactTextDict *dict, const uint8 *a, int alen,
						  const uint8 *b, int blen, int *result)
{
	int			common = common_bytes(a, b, Min(alen, blen));
	int			apos = start_of_code(a, common);
	int			bpos = apos;
	uint64		aword = 0;		/* bytes of the symbol that are not compared */
	uint64		bword = 0;
	int			aleft = 0;		/* their number */
	int			bleft = 0;

	/* the same bytes mean the same string, even if they are malformed */
	if (common == alen && common == blen)
	{
		*result = 0;
		return true;
	}

	for (;;)
	{
		int			len;
		uint64		differing;

		if (aleft == 0 && apos < alen)
		{
			aword = next_symbol(dict, a, alen, &apos, &aleft);
			if (aleft == 0)
				return false;
		}
		if (bleft == 0 && bpos < blen)
		{
			bword = next_symbol(dict, b, blen, &bpos, &bleft);
			if (bleft == 0)
				return false;
		}
		len = Min(aleft, bleft);
		if (len == 0)
		{
			*result = aleft - bleft;
			return true;
		}
		differing = (aword ^ bword) >> (64 - 8 * len);
		if (differing != 0)
		{
			*result = aword < bword ? -1 : 1;
			return true;
		}
		/* two shifts, because one shift by 64 bits is undefined */
		aword = aword << (8 * len - 1) << 1;
		bword = bword << (8 * len - 1) << 1;
		aleft -= len;
		bleft -= len;
	}
}

/*
 * Decode the next part of a string: from *inpos, until there are wanted bytes
 * or the input ends.  Advance *inpos.  out must have space for wanted bytes
 * and COMPACT_TEXT_MAX_SYMBOL more.
 *
 * Return the number of bytes, or -1 if the input is malformed.
 */
int
compact_text_dict_decode_some(const CompactTextDict *dict, const uint8 *in,
							  int inlen, int *inpos, uint8 *out, int wanted)
{
	int			pos = *inpos;
	int			outpos = 0;

	while (outpos < wanted && pos < inlen)
	{
		int			len;
		uint64		word = pg_hton64(next_symbol(dict, in, inlen, &pos, &len));

		if (len == 0)
			return -1;
		memcpy(out + outpos, &word, COMPACT_TEXT_MAX_SYMBOL);
		outpos += len;
	}
	*inpos = pos;

	return outpos;
}
