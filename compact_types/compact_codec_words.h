/*-------------------------------------------------------------------------
 *
 * compact_codec_words.h
 *	  Words of bytes and bits, for the codecs of strings.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_codec_words.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_CODEC_WORDS_H
#define COMPACT_CODEC_WORDS_H

#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"

/* Return the 64 bits of the map that start at the position. */
static inline uint64
map_window(const uint64 *map, int pos)
{
	int			shift = pos % 64;
	uint64		result = map[pos / 64] >> shift;

	if (shift > 0)
		result |= map[pos / 64 + 1] << (64 - shift);

	return result;
}

/* Load eight bytes, the first one into the highest bits. */
static inline uint64
load_word(const uint8 *bytes)
{
	uint64		word;

	memcpy(&word, bytes, sizeof(word));

	return pg_ntoh64(word);
}

/*
 * Return the number of bytes that two words begin with in common, given the
 * difference (XOR) of the words, which is not 0.
 */
static inline int
leading_equal_bytes(uint64 difference)
{
	return (63 - pg_leftmost_one_pos64(difference)) / 8;
}

/* Return the number of bytes that two code sequences begin with in common. */
static inline int
common_bytes(const uint8 *a, const uint8 *b, int len)
{
	int			common = 0;

	for (; common + 8 <= len; common += 8)
	{
		uint64		difference = load_word(a + common) ^ load_word(b + common);

		if (difference != 0)
			return common + leading_equal_bytes(difference);
	}
	if (common < len && len >= 8)
	{
		/* the last word begins with bytes that are known to be equal */
		uint64		difference = load_word(a + len - 8) ^ load_word(b + len - 8);

		return difference == 0 ? len : len - 8 + leading_equal_bytes(difference);
	}
	while (common < len && a[common] == b[common])
		common++;

	return common;
}

#endif							/* COMPACT_CODEC_WORDS_H */
