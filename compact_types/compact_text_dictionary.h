/*-------------------------------------------------------------------------
 *
 * compact_text_dictionary.h
 *	  Encoding and decoding of strings with a static dictionary.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_text_dictionary.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_TEXT_DICTIONARY_H
#define COMPACT_TEXT_DICTIONARY_H

/* Longest string, in bytes, that is ever encoded with a dictionary. */
#define COMPACT_TEXT_DICT_MAX_LENGTH	2000

/* Bytes of a string that are examined to decide whether to encode it. */
#define COMPACT_TEXT_PROMISE_LENGTH		48

/* A symbol stands for 1 to 8 bytes of the string. */
#define COMPACT_TEXT_MAX_SYMBOL			8

/*
 * The decoder copies whole words as long as there is that much space after the
 * decoded string.  Without the space it works, but slower.
 */
#define COMPACT_TEXT_DECODE_SLACK		32

/* The dictionaries, as compact_text_dict() numbers them. */
#define COMPACT_TEXT_DICT_LATIN			0	/* Latin script */
#define COMPACT_TEXT_DICT_CJK			1	/* Japanese, Chinese, Korean */
#define COMPACT_TEXT_DICT_CYRILLIC		2	/* Cyrillic script */
#define COMPACT_TEXT_NUM_DICTS			3

/*
 * Codes are numbered: one-byte codes first, then two-byte codes by their
 * first and second byte.
 */
#define COMPACT_TEXT_ONE_BYTE_CODES		208
#define COMPACT_TEXT_NUM_SYMBOLS		(COMPACT_TEXT_ONE_BYTE_CODES + 46 * 256)

typedef struct CompactTextDict
{
	int			id;				/* COMPACT_TEXT_DICT_x */
	uint32		crc;			/* CRC-32C of the symbols, then the lengths */

	/*
	 * indexed by code; symbols are padded with zeros, and contain no zero
	 * byte
	 */
	const uint8 (*symbols)[COMPACT_TEXT_MAX_SYMBOL];
	const uint8 *lengths;
} CompactTextDict;

extern const CompactTextDict *compact_text_dict(int which);
extern void compact_text_dict_build_all(void);
extern bool compact_text_dict_is_promising(const CompactTextDict *dict,
										   const uint8 *str, int len);
extern int	compact_text_dict_encode(const CompactTextDict *dict,
									 const uint8 *str, int len,
									 uint8 *out, int limit);
extern int	compact_text_dict_decode(const CompactTextDict *dict,
									 const uint8 *in, int inlen,
									 uint8 *out, int outsize);
extern bool compact_text_dict_compare(const CompactTextDict *dict,
									  const uint8 *a, int alen,
									  const uint8 *b, int blen, int *result);
extern int	compact_text_dict_decode_some(const CompactTextDict *dict,
										  const uint8 *in, int inlen, int *inpos,
										  uint8 *out, int wanted);

#endif							/* COMPACT_TEXT_DICTIONARY_H */
