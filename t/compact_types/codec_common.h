/*-------------------------------------------------------------------------
 *
 * codec_common.h
 *	  What the tests of the codecs, codec.c and trained_codec.c, have in
 *	  common.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  t/compact_types/codec_common.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CODEC_COMMON_H
#define CODEC_COMMON_H

/* A symbol of a trained symbol table, or any other short string. */
typedef struct TestSymbol
{
	int			len;
	uint8		bytes[64];
} TestSymbol;

extern void fail(const char *fmt,...) pg_attribute_printf(1, 2);

extern uint64 random_state;
extern uint32 next_random(void);
extern int	random_below(int n);

extern uint8 *exact_copy(const uint8 *data, int len);
extern int	sign(int n);
extern int	compare_strings(const uint8 *a, int alen, const uint8 *b, int blen);
extern uint32 crc32c(uint32 crc, const uint8 *data, size_t len);

extern int	sort_symbols(TestSymbol *symbols, int n);
extern uint8 *make_table(TestSymbol *symbols, int n, int one_byte_codes, Size *len);
extern uint8 *make_runs_table(TestSymbol *symbols, int n, int one_byte_codes, const char *last,
							  Size *len);
extern void set_table_crc(uint8 *table, Size len);

#endif							/* CODEC_COMMON_H */
