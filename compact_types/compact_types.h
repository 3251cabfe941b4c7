/*-------------------------------------------------------------------------
 *
 * compact_types.h
 *	  Declarations that the files of compact_types share.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_types.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_TYPES_H
#define COMPACT_TYPES_H

#include "fmgr.h"

/* pg_type.typlen is an int16 */
#define COMPACT_CHAR_MAX_LENGTH		PG_INT16_MAX

/* Length of a fixed-length string without its NUL padding. */
static inline int
compact_char_strlen(const char *value, int typlen)
{
	const char *end = memchr(value, '\0', typlen);

	return end ? (int) (end - value) : typlen;
}

extern bool compact_char_collation_is_c(Oid collid, Oid typid);

#endif							/* COMPACT_TYPES_H */
