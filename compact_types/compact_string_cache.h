/*-------------------------------------------------------------------------
 *
 * compact_string_cache.h
 *	  Recently encoded strings of one function call after another.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_string_cache.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_STRING_CACHE_H
#define COMPACT_STRING_CACHE_H

#include "compact_trained_codec.h"

typedef struct CompactStringCache CompactStringCache;

extern CompactStringCache *compact_string_cache_create(MemoryContext context);
extern struct varlena *compact_string_cache_encode(CompactStringCache *cache, int number,
												   TrainedCodec *codec,
												   const char *str, int len);

#endif							/* COMPACT_STRING_CACHE_H */
