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

/* Return the number of bytes that two code sequences begin with in common. */
static inline int
common_bytes(const uint8 *a, const uint8 *b, int len)
{
	int			common = 0;

	while (common + 8 <= len && load_word(a + common) == load_word(b + common))
		common += 8;
	while (common < len && a[common] == b[common])
		common++;

	return common;
}

#endif							/* COMPACT_CODEC_WORDS_H */
