/*-------------------------------------------------------------------------
 *
 * compact_trained_symbols.h
 *	  The symbol table of a trained type in memory.
 *
 * This is for the files that encode and decode strings.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_trained_symbols.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_TRAINED_SYMBOLS_H
#define COMPACT_TRAINED_SYMBOLS_H

#include "compact_trained_codec.h"

/*
 * An entry of the decoder's table of all codes and escapes: where the symbol
 * is in the pool, and its length.  It is 0 if there is no symbol.
 */
#define ENTRY(offset, len)		((uint32) (offset) << 7 | (uint32) (len))
#define ENTRY_OFFSET(entry)		((entry) >> 7)
#define ENTRY_LENGTH(entry)		((int) ((entry) & 0x7F))

/* A symbol, or a single byte that is no symbol, among all of them in order. */
typedef struct OrderedSymbol
{
	uint32		entry;			/* where its bytes are, and their number */
	uint16		parent;			/* position of the longest symbol that this
								 * one begins with, or its own */
	uint16		end;			/* position after those that begin with it */
	uint16		number;			/* of the interval that begins with it */
	uint16		next_number;	/* of the first interval behind all strings
								 * that begin with it; of a single byte, the
								 * last interval of these strings */
	uint16		longest;		/* length of the longest of those, or its own */
} OrderedSymbol;

/* The intervals of compact_trained_order.c. */
typedef struct TrainedOrder
{
	int			part_bits;		/* of the number of an interval */
	uint64	   *heads;			/* first eight bytes of each; zeros follow */
	OrderedSymbol *ordered;
	uint16	   *positions;		/* of the symbols, by code */
	uint16		starts[257];	/* position of each single byte, and the end */
} TrainedOrder;

struct TrainedCodec
{
	MemoryContext context;
	uint64		serial;			/* no other codec of this backend has it */
	int			num_symbols;
	int			one_byte_codes;
	int			max_length;		/* of the symbols */
	bool		with_runs;		/* can a string have runs? */
	int			direct;			/* if positive, most strings are so short that
								 * trained_to_text() need not copy them */
	uint32	   *entries;		/* by code, then escapes by byte */
	uint8	   *pool;			/* bytes of the symbols */
	uint16	   *sorted;			/* codes in the order of their symbols */
	char		alphabet[64];	/* of the runs, by value */
	int8		values[256];	/* by character; -1 if it is in no run */

	/* the encoder's part */
	struct TrainedTrieNode *trie;	/* NULL before the first string is encoded */
	uint32		singles[256];	/* candidate for each single byte */
	uint16		single_codes[256];	/* its code, or its escape */

	TrainedOrder *order;		/* NULL before the first sort key is made */
};

/*
 * Read the code at *pos, which is before inlen and no run, and advance *pos.
 * Return the code, or -1 if its second byte is missing.  A code that is returned may have
 * no symbol.
 */
static inline int
next_code(const TrainedCodec *codec, const uint8 *in, int inlen, int *pos)
{
	int			code = in[(*pos)++];

	if (code < codec->one_byte_codes)
		return code;
	if (*pos >= inlen)
		return -1;

	return (code - codec->one_byte_codes) * 256 + in[(*pos)++] + codec->one_byte_codes;
}

/* Write the characters of a group of a run. */
static inline void
unpack_group(const TrainedCodec *codec, const uint8 *in, uint8 *out)
{
	uint32		bits = in[0] << 16 | in[1] << 8 | in[2];

	out[0] = codec->alphabet[bits >> 18];
	out[1] = codec->alphabet[bits >> 12 & 0x3F];
	out[2] = codec->alphabet[bits >> 6 & 0x3F];
	out[3] = codec->alphabet[bits & 0x3F];
}

/* A place in a code sequence that may contain runs */
typedef struct TrainedCursor
{
	const uint8 *in;
	int			inlen;
	int			pos;
	int			groups;			/* of a run, from pos on */
	uint8		chars[TRAINED_GROUP_CHARS];
} TrainedCursor;

static inline void
begin_pieces(TrainedCursor *cursor, const uint8 *in, int inlen)
{
	cursor->in = in;
	cursor->inlen = inlen;
	cursor->pos = 0;
	cursor->groups = 0;
}

/*
 * Return the next part of the string, a symbol or the characters of a group,
 * and set *len to its length.  At the end of the code sequence, return NULL.
 * If the next code is malformed, set *len to 0.  The part is valid until the
 * next call.
 */
static inline const uint8 *
next_piece(const TrainedCodec *codec, TrainedCursor *cursor, int *len)
{
	int			left = cursor->inlen - cursor->pos;
	int			code;

	*len = 0;
	if (cursor->groups == 0 && left == 0)
		return NULL;
	if (cursor->groups == 0 && cursor->in[cursor->pos] == TRAINED_RUN && codec->with_runs)
	{
		int			groups = left > 1 ? cursor->in[cursor->pos + 1] + 1 : 0;

		if (groups == 0 || left - 2 < groups * TRAINED_GROUP_BYTES)
			return cursor->chars;
		cursor->groups = groups;
		cursor->pos += 2;
	}
	if (cursor->groups > 0)
	{
		unpack_group(codec, cursor->in + cursor->pos, cursor->chars);
		cursor->pos += TRAINED_GROUP_BYTES;
		cursor->groups--;
		*len = TRAINED_GROUP_CHARS;
		return cursor->chars;
	}

	code = next_code(codec, cursor->in, cursor->inlen, &cursor->pos);
	if (code < 0)
		return cursor->chars;
	*len = ENTRY_LENGTH(codec->entries[code]);

	return codec->pool + ENTRY_OFFSET(codec->entries[code]);
}

/* Return true if the code sequence may contain a run. */
static inline bool
may_have_runs(const TrainedCodec *codec, const uint8 *in, int inlen)
{
	return codec->with_runs && inlen > 0 && memchr(in, TRAINED_RUN, inlen) != NULL;
}

#endif							/* COMPACT_TRAINED_SYMBOLS_H */
