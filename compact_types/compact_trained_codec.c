/*-------------------------------------------------------------------------
 *
 * compact_trained_codec.c
 *	  Encoding and decoding of strings with a trained symbol table.
 *
 * An encoded string is a sequence of codes.  Each code stands for a symbol of
 * 1 to 64 bytes.  The symbol table says how many one-byte codes there are, say
 * K of them.  A byte from 0 to K - 1 is a code by itself.  A byte from K to
 * 254 forms a code together with the next byte.  The codes are numbered: first
 * the one-byte codes, then the two-byte codes by their first and second byte.
 * There may be fewer symbols than codes; a code without a symbol is malformed.
 * The byte 255 is an escape: the next byte is taken as it is.
 *
 * A symbol table can say that strings have runs, for base64 code and the like.
 * Then the byte 254 begins a run, and no two-byte code, so K is 254 at most.  A
 * run stands for 1 to 256 groups of four characters of an alphabet of 64: the
 * letters A to Z and a to z, the digits, and two characters that the symbol
 * table names.  Their values are 0 to 63 in this order.  The two characters are
 * different, and printable ASCII characters.  The byte after 254 is the number
 * of groups, less one.  Then come three bytes for each group, which are a
 * big-endian number: its highest six bits are the value of the first character,
 * and so on.  A run that is cut off is malformed.
 *
 * The same string must give the same bytes with the same symbol table, on
 * every machine and in every release, since equality of stored values relies
 * on it.  So these rules define the parse: the way to split a string into
 * symbols.  The cost of a suffix of the string is its encoded length.  The
 * costs of all suffixes are computed, beginning with the shortest suffix; the
 * cost of the empty suffix is 0.  The choice at a position is
 *
 *	- the symbol or the escape with the least sum of its own encoded length and
 *	  the cost of the suffix after it;
 *	- if several have the same sum, a symbol rather than the escape;
 *	- if several symbols have the same sum, the longest symbol.
 *
 * If the table has runs, there is a run at each position at which the next four
 * characters are in the alphabet.  Its cost is two bytes, three for each group,
 * and the cost of the suffix after it.  If this cost is less than the sum above,
 * the run is the choice instead.
 *
 * The run at a position begins with the group there.  If there is a run at the
 * position after this group, and it has less than 256 groups, its cost without
 * the two bytes is compared with the cost of the suffix at that position.  If it
 * is not larger, the groups of that run belong to this run as well.  Otherwise
 * this run has one group.
 *
 * No two symbols of a table are equal, so there is only one choice.  These
 * rules may never change for tables of the versions TRAINED_TABLE_VERSION and
 * TRAINED_TABLE_RUNS.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_trained_codec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"
#include "port/pg_crc32c.h"
#include "utils/memutils.h"

#include "compact_codec_words.h"
#include "compact_trained_codec.h"
#include "compact_trained_symbols.h"

/*
 * Each candidate for the choice at a position is one integer.  Its highest
 * bits are the encoded length, the next bits are smaller for a longer symbol,
 * and the lowest bits are the code.  The cost of the suffix after the symbol
 * is an integer of the same form, whose lower bits are zero.  So the
 * candidate with the smallest sum of both integers is the choice by the rules
 * above.
 *
 * An escape costs at least as much as a symbol of the same byte.  So there is
 * one candidate of one byte at a position: the byte's symbol if there is one,
 * and otherwise the escape.  The code of such a candidate is 0 here; it is
 * looked up by the byte.
 */
#define CODE_BITS				14
#define RANK_SHIFT				CODE_BITS
#define COST_SHIFT				(RANK_SHIFT + 6)
#define CODE_MASK				((1 << CODE_BITS) - 1)
#define RANK_MASK				(TRAINED_MAX_SYMBOL - 1)
#define COST_MASK				(~(uint32) 0 << COST_SHIFT)

#define CANDIDATE(cost, len, code) \
	((uint32) (cost) << COST_SHIFT | \
	 (uint32) (TRAINED_MAX_SYMBOL - (len)) << RANK_SHIFT | (uint32) (code))
#define CANDIDATE_RANK(candidate) \
	((int) ((candidate) >> RANK_SHIFT & RANK_MASK))

StaticAssertDecl(TRAINED_MAX_SYMBOLS - 1 <= CODE_MASK, "codes do not fit");
StaticAssertDecl(2 * TRAINED_MAX_LENGTH < 1 << (32 - COST_SHIFT),
				 "costs do not fit");
StaticAssertDecl(TRAINED_MAX_SYMBOL == 64, "ranks do not fit");

/*
 * The matcher is a trie of all symbols, stored as a double array.  The child
 * of a node for a byte is at the node's base plus the byte, if that entry is
 * labeled with the byte: no two nodes have the same base.  A node without
 * children has base 0.  The root is not stored; its children are the first 256
 * entries.
 */
typedef struct TrainedTrieNode
{
	uint32		link;			/* base and label */
	uint32		candidate;		/* of the symbol that ends here, or 0 */
} TrainedTrieNode;

#define LABEL_BITS				9
#define LABEL_MASK				((1 << LABEL_BITS) - 1)
#define NO_LABEL				LABEL_MASK
#define LINK(base, label)		((uint32) (base) << LABEL_BITS | (uint32) (label))

/* Steps of 64 bases for which find_base() searches among the used entries. */
#define MAX_SEARCH_STEPS		64

/*
 * A trie never has more entries than this.  Fewer than one for each byte of a
 * symbol are used, and find_base() skips no more than that while it searches a
 * base for nodes with one child.  No more nodes than symbols have several
 * children: if all those are put behind the other entries, each of them takes
 * up to 256 more.
 */
#define MAX_TRIE_NODES \
	(TRAINED_MAX_SYMBOLS * (2 * TRAINED_MAX_SYMBOL + 256) + 65536)

StaticAssertDecl(MAX_TRIE_NODES < 1 << (32 - LABEL_BITS), "bases do not fit");

/* A trie that is being built. */
typedef struct TrieBuilder
{
	TrainedTrieNode *nodes;
	uint64	   *free_entries;	/* bit maps */
	uint64	   *free_bases;
	int			allocated;		/* entries, a multiple of 64 */
	int			first_free;		/* no free entry before it is considered */
	int			top;			/* all entries from this one on are free */
} TrieBuilder;

/* A position at which a longer symbol may still be found. */
typedef struct TrainedWalk
{
	uint32		base;			/* of the node, not 0 */
	uint32		pos;			/* within the block */
} TrainedWalk;

/*
 * The string is matched in blocks of this many positions.  The processor can
 * work on that many at a time, and all candidates stay in its first-level
 * cache.
 */
#define BLOCK_SIZE				64

/* Candidates at the positions of a block. */
typedef struct TrainedBlock
{
	/* in ascending order of the length, at least one for each position */
	uint32		candidates[BLOCK_SIZE][TRAINED_MAX_SYMBOL];
	uint32		ncandidates[BLOCK_SIZE];
} TrainedBlock;

/* The choice of a run.  No candidate is that large. */
#define RUN_CHOICE				PG_UINT32_MAX

#define RUN_HEADER				2

/* The runs of a string, by position */
typedef struct TrainedRuns
{
	/* groups of the run there, 0 if there is none, or at the string's end */
	uint16		groups[TRAINED_MAX_LENGTH + 1];
	/* if there is a run: its cost without the two bytes */
	uint16		costs[TRAINED_MAX_LENGTH];
	int			chars;			/* of the alphabet, from the position on */
} TrainedRuns;

StaticAssertDecl(TRAINED_RUN_GROUPS - 1 <= PG_UINT8_MAX, "number of groups does not fit");

/* Return a number that no other codec of this backend has; it is not 0. */
uint64
trained_codec_serial(const TrainedCodec *codec)
{
	return codec->serial;
}

/* Return the number of symbols. */
int
trained_codec_num_symbols(const TrainedCodec *codec)
{
	return codec->num_symbols;
}

/*
 * Compare two symbols as memcmp() would, with a symbol after its own
 * beginning.
 */
static int
compare_symbols(const TrainedCodec *codec, int a, int b)
{
	int			alen = ENTRY_LENGTH(codec->entries[a]);
	int			blen = ENTRY_LENGTH(codec->entries[b]);
	int			result = memcmp(codec->pool + ENTRY_OFFSET(codec->entries[a]),
								codec->pool + ENTRY_OFFSET(codec->entries[b]),
								Min(alen, blen));

	return result != 0 ? result : alen - blen;
}

/*
 * Put all codes in the order of their symbols.  Return false if the symbols of
 * the one-byte codes or of the two-byte codes are not in order, or if two
 * symbols are equal.
 */
static bool
merge_codes(TrainedCodec *codec)
{
	int			n = codec->num_symbols;
	int			split = Min(n, codec->one_byte_codes);
	int			one = 0;
	int			two = split;

	for (int i = 1; i < n; i++)
	{
		if (i != split && compare_symbols(codec, i - 1, i) >= 0)
			return false;
	}

	for (int i = 0; i < n; i++)
	{
		int			order;

		if (one == split)
			order = 1;
		else if (two == n)
			order = -1;
		else
			order = compare_symbols(codec, one, two);
		if (order == 0)
			return false;
		codec->sorted[i] = (order < 0) ? one++ : two++;
	}

	return true;
}

/* Return true if both bytes can be in the alphabet of runs. */
static bool
is_alphabet(const uint8 *bytes)
{
	for (int i = 0; i < TRAINED_TABLE_ALPHABET; i++)
	{
		if (bytes[i] <= ' ' || bytes[i] >= 0x7F ||
			(bytes[i] >= '0' && bytes[i] <= '9') ||
			(bytes[i] >= 'A' && bytes[i] <= 'Z') ||
			(bytes[i] >= 'a' && bytes[i] <= 'z'))
			return false;
	}

	return bytes[0] != bytes[1];
}

/* Set the alphabet of runs.  bytes are its last two characters. */
static void
set_alphabet(TrainedCodec *codec, const uint8 *bytes)
{
	for (int i = 0; i < 26; i++)
	{
		codec->alphabet[i] = 'A' + i;
		codec->alphabet[26 + i] = 'a' + i;
	}
	for (int i = 0; i < 10; i++)
		codec->alphabet[52 + i] = '0' + i;
	memcpy(codec->alphabet + 62, bytes, TRAINED_TABLE_ALPHABET);

	memset(codec->values, -1, sizeof(codec->values));
	for (int i = 0; i < 64; i++)
		codec->values[(uint8) codec->alphabet[i]] = i;
}

/*
 * Check a stored symbol table, and make a codec of it.
 *
 * Return the codec, which is allocated in the context, as everything that
 * belongs to it.  If the table is invalid, return NULL and set *detail to a
 * sentence that says why; then the context may contain parts of the codec.  Any
 * bytes may be given.
 */
TrainedCodec *
trained_codec_load(const uint8 *stored, Size len, MemoryContext context,
				   const char **detail)
{
	static uint64 last_serial = 0;
	TrainedCodec *codec;
	const uint8 *alphabet;
	const uint8 *lengths;
	const uint8 *symbols;
	bool		with_runs;
	Size		rest;
	Size		total = 0;
	uint32		stored_crc;
	pg_crc32c	crc;
	int			one_byte_codes;
	int			num_symbols;
	int			num_codes;
	uint32		offset = 0;

	if (len < TRAINED_TABLE_HEADER + TRAINED_TABLE_CRC)
	{
		*detail = "The symbol table is too short.";
		return NULL;
	}
	with_runs = (stored[0] == TRAINED_TABLE_RUNS);
	if (stored[0] != TRAINED_TABLE_VERSION && !with_runs)
	{
		*detail = "The version of the symbol table is not supported.";
		return NULL;
	}
	rest = len - TRAINED_TABLE_CRC;
	stored_crc = (uint32) stored[rest] |
		(uint32) stored[rest + 1] << 8 |
		(uint32) stored[rest + 2] << 16 |
		(uint32) stored[rest + 3] << 24;
	INIT_CRC32C(crc);
	COMP_CRC32C(crc, stored, rest);
	FIN_CRC32C(crc);
	if (!EQ_CRC32C(crc, stored_crc))
	{
		*detail = "The checksum of the symbol table is wrong.";
		return NULL;
	}
	one_byte_codes = stored[1];
	num_symbols = stored[2] | stored[3] << 8;
	num_codes = TRAINED_NUM_CODES(one_byte_codes);
	if (num_symbols > TRAINED_MAX_SYMBOLS ||
		num_symbols > TRAINED_USABLE_CODES(one_byte_codes, with_runs))
	{
		*detail = "The symbol table has too many symbols.";
		return NULL;
	}
	rest -= TRAINED_TABLE_HEADER;
	alphabet = stored + TRAINED_TABLE_HEADER;
	lengths = alphabet + (with_runs ? TRAINED_TABLE_ALPHABET : 0);
	if (rest < (Size) (lengths - alphabet) + num_symbols)
	{
		*detail = "The symbol table is too short.";
		return NULL;
	}
	if (with_runs && !is_alphabet(alphabet))
	{
		*detail = "The alphabet of the symbol table is invalid.";
		return NULL;
	}
	rest -= (lengths - alphabet) + num_symbols;
	symbols = lengths + num_symbols;
	for (int i = 0; i < num_symbols; i++)
	{
		if (lengths[i] < 1 || lengths[i] > TRAINED_MAX_SYMBOL)
		{
			*detail = "A symbol of the symbol table has an invalid length.";
			return NULL;
		}
		total += lengths[i];
	}
	if (total != rest)
	{
		*detail = "The size of the symbol table does not match its symbols.";
		return NULL;
	}

	codec = MemoryContextAllocZero(context, sizeof(TrainedCodec));
	codec->context = context;
	codec->serial = ++last_serial;
	codec->num_symbols = num_symbols;
	codec->one_byte_codes = one_byte_codes;
	codec->max_length = 1;
	codec->direct = 1;
	codec->with_runs = with_runs;
	if (with_runs)
		set_alphabet(codec, alphabet);
	codec->entries = MemoryContextAllocZero(context,
											(num_codes + 256) * sizeof(uint32));
	codec->sorted = MemoryContextAlloc(context,
									   Max(num_symbols, 1) * sizeof(uint16));

	/* the decoder copies whole words, so it reads beyond the last symbol */
	codec->pool = MemoryContextAllocZero(context,
										 total + 256 + TRAINED_MAX_SYMBOL);
	memcpy(codec->pool, symbols, total);
	for (int i = 0; i < num_symbols; i++)
	{
		codec->entries[i] = ENTRY(offset, lengths[i]);
		codec->max_length = Max(codec->max_length, lengths[i]);
		offset += lengths[i];
	}
	for (int i = 0; i < 256; i++)
	{
		codec->pool[offset] = i;
		codec->entries[num_codes + i] = ENTRY(offset, 1);
		offset++;
	}

	if (!merge_codes(codec))
	{
		*detail = "The symbols of the symbol table are not in order.";
		return NULL;
	}

	return codec;
}

/* Make space for at least that many entries of the trie. */
static void
enlarge_trie(TrieBuilder *builder, int needed)
{
	int			old = builder->allocated;
	int			words;

	if (needed <= old)
		return;
	builder->allocated = (Max(needed, old + old / 2) + 63) / 64 * 64;
	if (needed > MAX_TRIE_NODES)
		elog(ERROR, "trie of a trained symbol table has too many nodes");

	/* map_window() reads one word more */
	words = builder->allocated / 64 + 1;
	if (old == 0)
	{
		builder->nodes = palloc(builder->allocated * sizeof(TrainedTrieNode));
		builder->free_entries = palloc(words * sizeof(uint64));
		builder->free_bases = palloc(words * sizeof(uint64));
	}
	else
	{
		builder->nodes = repalloc(builder->nodes,
								  builder->allocated * sizeof(TrainedTrieNode));
		builder->free_entries = repalloc(builder->free_entries,
										 words * sizeof(uint64));
		builder->free_bases = repalloc(builder->free_bases,
									   words * sizeof(uint64));
	}
	for (int i = old; i < builder->allocated; i++)
	{
		builder->nodes[i].link = LINK(0, NO_LABEL);
		builder->nodes[i].candidate = 0;
	}
	memset(builder->free_entries + old / 64, 0xFF,
		   (words - old / 64) * sizeof(uint64));
	memset(builder->free_bases + old / 64, 0xFF,
		   (words - old / 64) * sizeof(uint64));
}

/* Clear the bit at the position. */
static inline void
map_clear(uint64 *map, int pos)
{
	map[pos / 64] &= ~(UINT64CONST(1) << (pos % 64));
}

/*
 * Find a base that no node has and for which the entries of all children are
 * free: the lowest one, unless the search would take long.  Examine 64 bases
 * at a time.
 *
 * For a single child, the search takes long only if most bases of the free
 * entries that it passes are taken.  Then these entries are given up, and
 * there cannot be more of them than nodes.  Several children are put behind
 * all used entries, where any base fits.
 */
static int
find_base(TrieBuilder *builder, const uint8 *labels, int nlabels)
{
	int			base = Max(1, builder->first_free - labels[0]);

	for (int step = 1;; step++, base += 64)
	{
		uint64		fits;

		if (step % MAX_SEARCH_STEPS == 0)
		{
			if (nlabels > 1)
				base = Max(base, builder->top);
			else
				builder->first_free = Max(builder->first_free, base);
		}
		enlarge_trie(builder, base + 64 + 256);
		fits = map_window(builder->free_bases, base);
		for (int i = 0; i < nlabels && fits != 0; i++)
			fits &= map_window(builder->free_entries, base + labels[i]);
		if (fits != 0)
			return base + pg_rightmost_one_pos64(fits);
	}
}

/*
 * Add the children of a node, whose labels are given.  Return the node's base.
 */
static int
add_children(TrieBuilder *builder, int node, const uint8 *labels, int nlabels)
{
	int			base = find_base(builder, labels, nlabels);

	/* lookups read the entry for any byte */
	enlarge_trie(builder, base + 256);
	builder->nodes[node].link |= LINK(base, 0);
	map_clear(builder->free_bases, base);
	for (int i = 0; i < nlabels; i++)
	{
		int			child = base + labels[i];

		builder->nodes[child].link = LINK(0, labels[i]);
		map_clear(builder->free_entries, child);
	}
	builder->top = Max(builder->top, base + labels[nlabels - 1] + 1);
	while (map_window(builder->free_entries, builder->first_free) == 0)
	{
		builder->first_free += 64;
		enlarge_trie(builder, builder->first_free + 64);
	}
	builder->first_free +=
		pg_rightmost_one_pos64(map_window(builder->free_entries,
										  builder->first_free));

	return base;
}

/*
 * Build the trie, and what else the encoder needs.  If the codes are sorted by
 * symbol, the codes below one node are neighbors.  So for each level of the
 * trie, one pass over the codes finds the codes of each node together.
 */
static void
build_trie(TrainedCodec *codec)
{
	TrieBuilder builder = {0};
	const uint8 *pool = codec->pool;
	int			first_escape = TRAINED_NUM_CODES(codec->one_byte_codes);
	int			ncodes = codec->num_symbols;
	uint16	   *codes = palloc(Max(ncodes, 1) * sizeof(uint16));
	int		   *node_of = palloc(Max(ncodes, 1) * sizeof(int));
	int			size;
	TrainedTrieNode *trie;

	for (int i = 0; i < 256; i++)
	{
		codec->singles[i] = CANDIDATE(2, 1, 0);
		codec->single_codes[i] = first_escape + i;
	}

	/* a usual size; the arrays grow if needed */
	enlarge_trie(&builder, 2048 + 4 * ncodes);
	builder.first_free = 256;
	builder.top = 256;
	for (int i = 0; i < 256; i++)
		map_clear(builder.free_entries, i);

	/* the nodes of the first byte */
	for (int i = 0; i < ncodes; i++)
	{
		int			code = codec->sorted[i];
		uint8		label = pool[ENTRY_OFFSET(codec->entries[code])];

		codes[i] = code;
		node_of[i] = label;
		builder.nodes[label].link = LINK(0, label);
		if (ENTRY_LENGTH(codec->entries[code]) == 1)
		{
			codec->singles[label] =
				CANDIDATE(code < codec->one_byte_codes ? 1 : 2, 1, 0);
			codec->single_codes[label] = code;
		}
	}

	for (int depth = 1; ncodes > 0; depth++)
	{
		int			kept = 0;
		int			start = 0;

		while (start < ncodes)
		{
			int			node = node_of[start];
			uint8		labels[256];
			int			nlabels = 0;
			int			base;
			int			end;

			/* drop the symbol that ends at this node: it is sorted first */
			if (ENTRY_LENGTH(codec->entries[codes[start]]) <= depth)
			{
				start++;
				continue;
			}

			for (end = start; end < ncodes && node_of[end] == node; end++)
			{
				uint32		entry = codec->entries[codes[end]];
				uint8		label = pool[ENTRY_OFFSET(entry) + depth];

				if (nlabels == 0 || labels[nlabels - 1] != label)
					labels[nlabels++] = label;
			}
			base = add_children(&builder, node, labels, nlabels);

			for (int i = start; i < end; i++)
			{
				int			code = codes[i];
				int			len = ENTRY_LENGTH(codec->entries[code]);
				int			child = base +
					pool[ENTRY_OFFSET(codec->entries[code]) + depth];

				codes[kept] = code;
				node_of[kept] = child;
				kept++;
				if (len == depth + 1)
					builder.nodes[child].candidate =
						CANDIDATE(code < codec->one_byte_codes ? 1 : 2, len,
								  code);
			}
			start = end;
		}
		ncodes = kept;
	}

	/* leave space for any byte added to any node's base */
	size = builder.top + 256;
	enlarge_trie(&builder, size);
	trie = MemoryContextAlloc(codec->context, size * sizeof(TrainedTrieNode));
	memcpy(trie, builder.nodes, size * sizeof(TrainedTrieNode));
	codec->trie = trie;
	pfree(builder.nodes);
	pfree(builder.free_entries);
	pfree(builder.free_bases);
	pfree(node_of);
	pfree(codes);
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
find_candidates(const TrainedCodec *codec, const uint8 *str, int len,
				int start, int end, TrainedBlock *block)
{
	const TrainedTrieNode *trie = codec->trie;
	TrainedWalk walks[BLOCK_SIZE + 1];
	int			nwalks = 0;

	for (int i = 0; i < end - start; i++)
	{
		uint8		byte = str[start + i];
		uint32		base = trie[byte].link >> LABEL_BITS;

		block->candidates[i][0] = codec->singles[byte];
		block->ncandidates[i] = 1;
		walks[nwalks].base = base;
		walks[nwalks].pos = i;
		nwalks += (base != 0);
	}

	for (int depth = 1; nwalks > 0; depth++)
	{
		int			kept = 0;

		/* walks are ordered by position: drop those at the string's end */
		while (nwalks > 0 && start + (int) walks[nwalks - 1].pos + depth >= len)
			nwalks--;

		for (int i = 0; i < nwalks; i++)
		{
			uint32		pos = walks[i].pos;
			uint32		byte = str[start + pos + depth];
			TrainedTrieNode node = trie[walks[i].base + byte];
			bool		found = ((node.link & LABEL_MASK) == byte);
			uint32		base = node.link >> LABEL_BITS;

			/* the next candidate overwrites this one, unless it counts */
			block->candidates[pos][block->ncandidates[pos]] = node.candidate;
			block->ncandidates[pos] += found & (node.candidate != 0);

			/*
			 * the next walk overwrites this walk, unless this walk continues
			 */
			walks[kept].base = base;
			walks[kept].pos = pos;
			kept += found & (base != 0);
		}
		nwalks = kept;
	}
}

/*
 * Find the run at a position.  If it is the choice there, set *choice to
 * RUN_CHOICE, and the cost of the suffix to that of the run.  Before, both are
 * those of the choice without runs.
 */
static inline void
choose_run(const TrainedCodec *codec, TrainedRuns *runs, const uint8 *str, int pos,
		   uint32 *costs, uint32 *choice)
{
	int			next = pos + TRAINED_GROUP_CHARS;
	int			after;
	int			groups = 1;

	runs->groups[pos] = 0;
	runs->chars = codec->values[str[pos]] >= 0 ? runs->chars + 1 : 0;
	if (runs->chars < TRAINED_GROUP_CHARS)
		return;
	after = costs[next] >> COST_SHIFT;
	if (runs->groups[next] > 0 && runs->groups[next] < TRAINED_RUN_GROUPS &&
		runs->costs[next] <= after)
	{
		after = runs->costs[next];
		groups = runs->groups[next] + 1;
	}
	runs->groups[pos] = groups;
	runs->costs[pos] = TRAINED_GROUP_BYTES + after;
	if (RUN_HEADER + runs->costs[pos] < (int) (costs[pos] >> COST_SHIFT))
	{
		costs[pos] = (uint32) (RUN_HEADER + runs->costs[pos]) << COST_SHIFT;
		*choice = RUN_CHOICE;
	}
}

/*
 * Choose for the positions from start up to (not including) end, whose
 * candidates are in the block.  Set the costs of the suffixes and the choices
 * there; the costs of the suffixes after these positions are known, and so are
 * their runs.  If the codec has no runs, runs is NULL.
 */
static inline void
choose_candidates(const TrainedCodec *codec, const uint8 *str,
				  const TrainedBlock *block, int start, int end,
				  uint32 *costs, uint32 *choices, TrainedRuns *runs)
{
	for (int pos = end - 1; pos >= start; pos--)
	{
		const uint32 *candidates = block->candidates[pos - start];
		const uint32 *behind = &costs[pos + TRAINED_MAX_SYMBOL];
		int			ncandidates = block->ncandidates[pos - start];
		uint32		best = PG_UINT32_MAX;

		/* begin with the longest symbol: its cost has been known for long */
		for (int i = ncandidates - 1; i >= 0; i--)
		{
			uint32		candidate = candidates[i];

			candidate += *(behind - CANDIDATE_RANK(candidate));
			best = Min(best, candidate);
		}
		choices[pos] = best;
		costs[pos] = best & COST_MASK;
		if (runs != NULL)
			choose_run(codec, runs, str, pos, costs, &choices[pos]);
	}
}

/* Begin at the end of a string of len bytes. */
static inline void
begin_runs(TrainedRuns *runs, int len)
{
	runs->groups[len] = 0;
	runs->chars = 0;
}

/* Write a run.  Return the number of bytes. */
static int
put_run(const TrainedCodec *codec, const uint8 *str, int groups, uint8 *out)
{
	uint8	   *outptr = out;

	*outptr++ = TRAINED_RUN;
	*outptr++ = groups - 1;
	for (int i = 0; i < groups; i++)
	{
		uint32		bits = 0;

		for (int j = 0; j < TRAINED_GROUP_CHARS; j++)
			bits = bits << 6 | (uint32) codec->values[*str++];
		*outptr++ = bits >> 16;
		*outptr++ = bits >> 8 & 0xFF;
		*outptr++ = bits & 0xFF;
	}

	return outptr - out;
}

/*
 * Encode a string with the parse that the head of this file defines.  Without
 * runs, it has the least encoded length.
 *
 * Return the encoded length, or -1 if that would exceed limit or if the string
 * is longer than TRAINED_MAX_LENGTH.  In this case the contents of out are
 * undefined.  Write no more than limit bytes of out.
 */
int
trained_codec_encode(TrainedCodec *codec, const uint8 *str, int len,
					 uint8 *out, int limit)
{
	TrainedBlock block;
	TrainedRuns all_runs;
	TrainedRuns *runs = codec->with_runs ? &all_runs : NULL;
	uint32		choices[TRAINED_MAX_LENGTH];
	uint32		costs[TRAINED_MAX_LENGTH + TRAINED_MAX_SYMBOL];
	uint32		one_byte_codes = codec->one_byte_codes;
	int			outlen;
	int			outpos = 0;

	if (len < 0 || len > TRAINED_MAX_LENGTH || limit < 0)
		return -1;

	if (unlikely(codec->trie == NULL))
		build_trie(codec);

	costs[len] = 0;
	if (runs != NULL)
		begin_runs(runs, len);
	for (int start, end = len; end > 0; end = start)
	{
		start = Max(0, end - BLOCK_SIZE);
		find_candidates(codec, str, len, start, end, &block);
		if (runs != NULL)
		{
			choose_candidates(codec, str, &block, start, end, costs, choices, runs);
			continue;
		}
		choose_candidates(codec, str, &block, start, end, costs, choices, NULL);

		/*
		 * Give up as soon as the limit is out of reach, if there are no runs,
		 * in which no symbol starts.  At least one of any max_length
		 * neighboring positions is the start of a symbol.  The part of the
		 * string before that position takes at least one encoded byte for
		 * every max_length bytes.
		 */
		if ((int) (costs[start] >> COST_SHIFT) > limit)
		{
			uint32		least = costs[start];

			for (int i = 1; i < codec->max_length && start + i <= len; i++)
				least = Min(least, costs[start + i]);
			if ((int) (least >> COST_SHIFT) +
				(start + codec->max_length - 1) / codec->max_length > limit)
				return -1;
		}
	}

	outlen = costs[0] >> COST_SHIFT;
	if (outlen > limit)
		return -1;

	for (int pos = 0; pos < len;)
	{
		uint32		choice = choices[pos];
		int			symbol_len = TRAINED_MAX_SYMBOL - CANDIDATE_RANK(choice);
		uint32		single = codec->single_codes[str[pos]];
		uint32		code = (symbol_len == 1) ? single : choice & CODE_MASK;
		uint32		wide = code - one_byte_codes;
		bool		two_bytes = (code >= one_byte_codes);

		if (unlikely(choice == RUN_CHOICE))
		{
			outpos += put_run(codec, str + pos, runs->groups[pos], out + outpos);
			pos += runs->groups[pos] * TRAINED_GROUP_CHARS;
			continue;
		}

		/*
		 * write the second byte first, to avoid a branch on the number of
		 * bytes
		 */
		if (likely(outpos + 1 < outlen))
			out[outpos + 1] = wide & 0xFF;
		out[outpos] = two_bytes ? one_byte_codes + (wide >> 8) : code;
		outpos += 1 + two_bytes;
		pos += symbol_len;
	}
	Assert(outpos == outlen);

	return outlen;
}

/*
 * Return the encoded length that the symbol of a code would have if the table
 * did not have this symbol.
 */
int
trained_codec_cost_without(TrainedCodec *codec, int code)
{
	TrainedBlock block;
	TrainedRuns all_runs;
	TrainedRuns *runs = codec->with_runs ? &all_runs : NULL;
	uint32		choices[TRAINED_MAX_SYMBOL];
	uint32		costs[2 * TRAINED_MAX_SYMBOL];
	const uint8 *symbol = codec->pool + ENTRY_OFFSET(codec->entries[code]);
	int			len = ENTRY_LENGTH(codec->entries[code]);

	Assert(code >= 0 && code < codec->num_symbols);
	StaticAssertStmt(TRAINED_MAX_SYMBOL <= BLOCK_SIZE,
					 "a symbol does not fit into a block");

	if (unlikely(codec->trie == NULL))
		build_trie(codec);

	if (len == 1)
		return 2;
	costs[len] = 0;
	if (runs != NULL)
		begin_runs(runs, len);
	find_candidates(codec, symbol, len, 0, len, &block);

	/* the whole symbol is the longest candidate at the first position */
	block.ncandidates[0]--;
	choose_candidates(codec, symbol, &block, 0, len, costs, choices, runs);

	return costs[0] >> COST_SHIFT;
}

/* Load four bytes, the first one into the highest of 32 bits. */
static inline uint64
load_half_word(const uint8 *bytes)
{
	uint32		word;

	memcpy(&word, bytes, sizeof(word));

	return pg_ntoh32(word);
}

/*
 * Load the rest of the input, 1 to 7 bytes from inptr on, into the highest
 * bits of a word.  Zeros follow.
 */
static inline uint64
load_rest(const uint8 *in, const uint8 *inptr, const uint8 *inend)
{
	int			len = inend - inptr;
	uint64		word = 0;

	/* the input before the rest is shifted out */
	if (likely(inend - in >= 8))
		return load_word(inend - 8) << (8 * (8 - len));
	if (len >= 4)
	{
		/* both halves may overlap */
		word = load_half_word(inptr) << 32;
		return word | load_half_word(inend - 4) << (8 * (8 - len));
	}
	for (int i = 0; i < len; i++)
		word |= (uint64) inptr[i] << (56 - 8 * i);

	return word;
}

/*
 * Decode the code or escape in the highest bits of word.  If it is not one, or
 * if there is no space for a word copy, go to special.  There is no branch on
 * the number of bytes of the code, because it would often be mispredicted.
 * The next code waits only for the shifted word.
 */
#define DECODE_ONE() \
do { \
	size_t		pair = word >> 48; \
	size_t		one = word >> 56; \
	size_t		two_bytes = (pair >= first_pair); \
	size_t		code = one + ((pair - pair_offset - one) & -two_bytes); \
	uint32		entry = entries[code]; \
	uint64		shifted = word << 8; \
	int			len = ENTRY_LENGTH(entry); \
	const uint8 *symbol = pool + ENTRY_OFFSET(entry); \
\
	if (unlikely(len == 0 || outend - outptr < TRAINED_MAX_SYMBOL)) \
		goto special; \
	word = two_bytes ? shifted << 8 : shifted; \
	memcpy(outptr, symbol, 16); \
	if (unlikely(len > 16)) \
		memcpy(outptr + 16, symbol + 16, TRAINED_MAX_SYMBOL - 16); \
	outptr += len; \
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
trained_codec_decode(const TrainedCodec *codec, const uint8 *in, int inlen,
					 uint8 *out, int outsize)
{
	const uint32 *entries = codec->entries;
	const uint8 *pool = codec->pool;
	const uint8 *inptr = in;
	const uint8 *inend = in + inlen;
	uint8	   *outptr = out;
	uint8	   *outend = out + outsize;
	size_t		first_pair = codec->one_byte_codes * 256;
	size_t		pair_offset = first_pair - codec->one_byte_codes;

	while (inptr < inend)
	{
		uint64		word;
		uint32		special_entry;
		int			index;
		int			special_len;

		/* Decode four codes, at most eight bytes, from one word. */
		while (inend - inptr >= 8)
		{
			word = load_word(inptr);

			DECODE_ONE();
			DECODE_ONE();
			DECODE_ONE();
			DECODE_ONE();
		}

		/*
		 * Decode the rest.  In the word, zeros follow it.  If a code took one
		 * of these zeros as its second byte, inptr is then beyond the end.
		 */
		if (inptr < inend)
		{
			word = load_rest(in, inptr, inend);

			while (inptr < inend)
				DECODE_ONE();
			if (inptr > inend)
				return -1;
		}
		break;

		/* Errors, runs, and codes near the end of out need care. */
special:
		index = *inptr++;
		if (index == TRAINED_RUN && codec->with_runs)
		{
			int			groups;

			if (inptr >= inend)
				return -1;
			groups = *inptr++ + 1;
			if (inend - inptr < groups * TRAINED_GROUP_BYTES ||
				outend - outptr < groups * TRAINED_GROUP_CHARS)
				return -1;
			for (int i = 0; i < groups; i++)
			{
				unpack_group(codec, inptr, outptr);
				inptr += TRAINED_GROUP_BYTES;
				outptr += TRAINED_GROUP_CHARS;
			}
			continue;
		}
		if (index >= codec->one_byte_codes)
		{
			if (inptr >= inend)
				return -1;
			index = index * 256 + *inptr++ - (int) pair_offset;
		}
		special_entry = entries[index];
		special_len = ENTRY_LENGTH(special_entry);
		if (special_len == 0 || outend - outptr < special_len)
			return -1;
		memcpy(outptr, pool + ENTRY_OFFSET(special_entry), special_len);
		outptr += special_len;
	}

	return outptr - out;
}

/*
 * Return the start of the code that the byte at pos belongs to.  There must be
 * no runs.  A one-byte
 * code always ends a code, also if it is the second byte of one.  So the bytes
 * after the last such byte before pos are first and second bytes of codes by
 * turns.
 */
static inline int
start_of_code(const TrainedCodec *codec, const uint8 *in, int pos)
{
	int			first = pos;

	while (first > 0 && in[first - 1] >= codec->one_byte_codes)
		first--;

	return pos - (pos - first) % 2;
}

/*
 * Read the code at *pos, and advance *pos.  Return its symbol, and set *len to
 * its length, or to 0 if the code is malformed.
 */
static inline const uint8 *
next_symbol(const TrainedCodec *codec, const uint8 *in, int inlen, int *pos,
			int *len)
{
	int			code = next_code(codec, in, inlen, pos);
	uint32		entry = (code < 0) ? 0 : codec->entries[code];

	*len = ENTRY_LENGTH(entry);

	return codec->pool + ENTRY_OFFSET(entry);
}

/*
 * Compare, as trained_codec_compare() does, code sequences that may contain
 * runs.
 */
static bool
compare_pieces(const TrainedCodec *codec, const uint8 *a, int alen,
			   const uint8 *b, int blen, int *result)
{
	TrainedCursor acursor;
	TrainedCursor bcursor;
	const uint8 *apiece = NULL; /* bytes that are not compared */
	const uint8 *bpiece = NULL;
	int			aleft = 0;		/* their number */
	int			bleft = 0;

	begin_pieces(&acursor, a, alen);
	begin_pieces(&bcursor, b, blen);
	for (;;)
	{
		int			len;

		if (aleft == 0)
		{
			apiece = next_piece(codec, &acursor, &aleft);
			if (apiece != NULL && aleft == 0)
				return false;
		}
		if (bleft == 0)
		{
			bpiece = next_piece(codec, &bcursor, &bleft);
			if (bpiece != NULL && bleft == 0)
				return false;
		}
		len = Min(aleft, bleft);
		if (len == 0)
			*result = aleft - bleft;
		else
			*result = memcmp(apiece, bpiece, len);
		if (len == 0 || *result != 0)
			return true;
		apiece += len;
		bpiece += len;
		aleft -= len;
		bleft -= len;
	}
}

/*
 * Compare the strings of two code sequences of a codec as memcmp() would, and
 * set *result to a negative number, 0 or a positive number.  A string sorts
 * after its beginning.
 *
 * Skip the codes that both sequences begin with, if there are no runs, and
 * compare the symbols of the others.  Return false if a code that was read is malformed.
 */
bool
trained_codec_compare(const TrainedCodec *codec, const uint8 *a, int alen,
					  const uint8 *b, int blen, int *result)
{
	int			common = common_bytes(a, b, Min(alen, blen));
	int			apos;
	int			bpos;
	const uint8 *asymbol = NULL;	/* bytes that are not compared */
	const uint8 *bsymbol = NULL;
	int			aleft = 0;		/* their number */
	int			bleft = 0;

	/* the same bytes mean the same string, even if they are malformed */
	if (common == alen && common == blen)
	{
		*result = 0;
		return true;
	}
	if (may_have_runs(codec, a, alen) || may_have_runs(codec, b, blen))
		return compare_pieces(codec, a, alen, b, blen, result);

	apos = bpos = start_of_code(codec, a, common);
	for (;;)
	{
		int			len;
		int			order;

		if (aleft == 0 && apos < alen)
		{
			asymbol = next_symbol(codec, a, alen, &apos, &aleft);
			if (aleft == 0)
				return false;
		}
		if (bleft == 0 && bpos < blen)
		{
			bsymbol = next_symbol(codec, b, blen, &bpos, &bleft);
			if (bleft == 0)
				return false;
		}
		len = Min(aleft, bleft);
		if (len == 0)
		{
			*result = aleft - bleft;
			return true;
		}
		if (likely(len <= 8))
		{
			/* there is space behind the symbols in the pool */
			uint64		aword = load_word(asymbol) >> (64 - 8 * len);
			uint64		bword = load_word(bsymbol) >> (64 - 8 * len);

			order = (aword > bword) - (aword < bword);
		}
		else
			order = memcmp(asymbol, bsymbol, len);
		if (order != 0)
		{
			*result = order;
			return true;
		}
		asymbol += len;
		bsymbol += len;
		aleft -= len;
		bleft -= len;
	}
}
