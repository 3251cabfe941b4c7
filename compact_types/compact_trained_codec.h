/*-------------------------------------------------------------------------
 *
 * compact_trained_codec.h
 *	  Encoding and decoding of strings with a trained symbol table.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_trained_codec.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_TRAINED_CODEC_H
#define COMPACT_TRAINED_CODEC_H

/* A symbol stands for 1 to 64 bytes of the string. */
#define TRAINED_MAX_SYMBOL		64

/* Most symbols of a table. */
#define TRAINED_MAX_SYMBOLS		16384

/* Longest string, in bytes, that is encoded. */
#define TRAINED_MAX_LENGTH		2000

/*
 * The decoder copies whole words as long as there is that much space after the
 * decoded string.  Without the space it works, but slower.
 */
#define TRAINED_DECODE_SLACK	64

/*
 * A stored symbol table begins with the version, the number of one-byte codes
 * (a byte each) and the number of symbols (two bytes, the lower one first).  In
 * version TRAINED_TABLE_RUNS, then come the two characters of the alphabet of
 * runs that are neither letters nor digits, with the values 62 and 63.  Then
 * come the lengths of all symbols, and then their bytes, both in the order of
 * the codes.  The CRC-32C of all that ends the table, as four bytes from the
 * lowest to the highest.
 *
 * The symbols of the one-byte codes are in ascending order, and so are the
 * symbols of the two-byte codes, compared as memcmp() does, with a symbol
 * after its own beginning.
 */
#define TRAINED_TABLE_VERSION	1
#define TRAINED_TABLE_RUNS		2
#define TRAINED_TABLE_HEADER	4
#define TRAINED_TABLE_ALPHABET	2
#define TRAINED_TABLE_CRC		4

/*
 * The bytes from 0 up to (not including) the number of one-byte codes are
 * one-byte codes; the bytes from there up to 254 begin two-byte codes.  In
 * version TRAINED_TABLE_RUNS, the byte 254 begins a run instead.
 */
#define TRAINED_ESCAPE			255
#define TRAINED_RUN				254
#define TRAINED_NUM_CODES(one_byte_codes) \
	((one_byte_codes) + (TRAINED_ESCAPE - (one_byte_codes)) * 256)

/*
 * Most codes that can have a symbol, with or without runs.  It is negative if no
 * byte is left for runs.
 */
#define TRAINED_USABLE_CODES(one_byte_codes, with_runs) \
	((one_byte_codes) + \
	 (((with_runs) ? TRAINED_RUN : TRAINED_ESCAPE) - (one_byte_codes)) * 256)

/*
 * A run stands for groups of characters of an alphabet of 64.  A group of four
 * characters takes three bytes.
 */
#define TRAINED_GROUP_CHARS		4
#define TRAINED_GROUP_BYTES		3
#define TRAINED_RUN_GROUPS		256

typedef struct TrainedCodec TrainedCodec;

/* compact_trained_codec.c */
extern TrainedCodec *trained_codec_load(const uint8 *stored, Size len,
										MemoryContext context,
										const char **detail);
extern uint64 trained_codec_serial(const TrainedCodec *codec);
extern int	trained_codec_num_symbols(const TrainedCodec *codec);
extern int	trained_codec_encode(TrainedCodec *codec, const uint8 *str, int len,
								 uint8 *out, int limit);
extern int	trained_codec_cost_without(TrainedCodec *codec, int code);
extern int	trained_codec_decode(const TrainedCodec *codec,
								 const uint8 *in, int inlen,
								 uint8 *out, int outsize);
extern bool trained_codec_compare(const TrainedCodec *codec,
								  const uint8 *a, int alen,
								  const uint8 *b, int blen, int *result);

/* compact_trained_order.c */
extern uint64 trained_codec_key(TrainedCodec *codec, const uint8 *str, int len);
extern bool trained_codec_key_of_codes(TrainedCodec *codec, const uint8 *in,
									   int inlen, uint64 *key);

/* compact_trained_train.c */
extern uint8 *trained_codec_train(const uint8 *const *strings,
								  const int *lengths, int n, int max_symbols,
								  int min_rows, Size *stored_len);

#endif							/* COMPACT_TRAINED_CODEC_H */
