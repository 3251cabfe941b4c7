/*-------------------------------------------------------------------------
 *
 * compact_text.h
 *	  Encoding of the variable-length strings of type compact_text.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_text.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_TEXT_H
#define COMPACT_TEXT_H

#include "compact_text_dictionary.h"
#include "compact_trained_codec.h"
#include "compact_types_compat.h"

/* Longer strings are left to TOAST compression, which compresses them better. */
#define COMPACT_TEXT_MAX_ENCODED	2000

/*
 * A string read from a value.  If the value holds the string unencoded, data
 * points into the value itself.  Otherwise data points into decoded, which
 * then is a varlena with the decoded string.
 */
typedef struct CompactTextString
{
	const char *data;
	int			len;			/* in bytes */
	/* with some space at the end, because the decoder writes whole words */
	int32		decoded[(VARHDRSZ + COMPACT_TEXT_MAX_ENCODED +
						 TRAINED_DECODE_SLACK) / sizeof(int32)];
} CompactTextString;

/* compact_text.c */
extern int	compact_text_fit(const char *str, int len, int32 typmod, const char *type,
							 bool is_explicit, struct Node *escontext);
extern int32 compact_text_typmod(struct ArrayType *modifiers, const char *type);
extern struct varlena *compact_text_make(const char *str, int len, int32 typmod,
										 bool is_explicit, struct Node *escontext);

/* compact_text_codec.c */
extern struct varlena *compact_text_encode(const char *str, int len);
extern int	compact_text_packed_length(const char *str, int len);
extern int	compact_text_put_trained_tag(int number, uint8 *out);
extern void compact_text_decode(struct varlena *value, CompactTextString *result);
extern int	compact_text_compare_c(struct varlena *a, struct varlena *b);
extern uint64 compact_text_trained_key(int number, struct varlena *value);
extern text *compact_text_to_text(struct varlena *value);
extern const char *compact_text_codec_name(struct varlena *value);
extern bool compact_text_has_dictionary(struct varlena *value);

/* compact_spgist.c */
struct spgLeafConsistentIn;		/* avoid including access/spgist.h here */
struct spgLeafConsistentOut;
extern bool compact_spgist_leaf_consistent(const struct spgLeafConsistentIn *in,
										   struct spgLeafConsistentOut *out, Oid collation);

#endif							/* COMPACT_TEXT_H */
