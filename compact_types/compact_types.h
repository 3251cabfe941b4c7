/*-------------------------------------------------------------------------
 *
 * compact_types.h
 *	  Declarations shared by the files of compact_types.
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
#include "nodes/parsenodes.h"

/* pg_type.typlen is an int16 */
#define COMPACT_CHAR_MAX_LENGTH		PG_INT16_MAX

/* Length of a fixed-length string without its NUL padding. */
static inline int
compact_char_strlen(const char *value, int typlen)
{
	const char *end = memchr(value, '\0', typlen);

	return end ? (int) (end - value) : typlen;
}

/*
 * Macros that define the functions of one pair of types: the functions of the
 * six comparison operators, and btree support function 1.  The files of
 * several types use these macros.
 */
#define COMPARISON_FUNCTION(name, expression, return_result) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		return_result(expression); \
	}

#define COMPARISON_FUNCTIONS(prefix, equal, compare) \
	COMPARISON_FUNCTION(prefix##_eq, (equal), PG_RETURN_BOOL) \
	COMPARISON_FUNCTION(prefix##_ne, !(equal), PG_RETURN_BOOL) \
	COMPARISON_FUNCTION(prefix##_lt, (compare) < 0, PG_RETURN_BOOL) \
	COMPARISON_FUNCTION(prefix##_le, (compare) <= 0, PG_RETURN_BOOL) \
	COMPARISON_FUNCTION(prefix##_gt, (compare) > 0, PG_RETURN_BOOL) \
	COMPARISON_FUNCTION(prefix##_ge, (compare) >= 0, PG_RETURN_BOOL) \
	COMPARISON_FUNCTION(prefix##_cmp, (compare), PG_RETURN_INT32)

/* compact_char.c */
extern text *compact_char_arg_text(FunctionCallInfo fcinfo, int argno);

/* compact_pattern.c */
struct PlannerInfo;				/* avoid including nodes/pathnodes.h here */
extern Node *compact_as_text(struct PlannerInfo *root, Node *expr);

/* compact_types.c */
extern bool compact_collation_is_c(Oid collid, Oid typid);
extern Oid	compact_last_collid;
extern bool compact_last_collate_c;

/*
 * Do what compact_collation_is_c() does, with a cache.  Every comparison of
 * values calls this function, and usually with the same collation as the
 * previous comparison.  The cache stays valid, because the properties of a
 * collation never change.
 */
static inline bool
compact_collation_is_c_cached(Oid collid, Oid typid)
{
	if (likely(collid == compact_last_collid && OidIsValid(collid)))
		return compact_last_collate_c;

	return compact_collation_is_c(collid, typid);
}

/* compact_auto.c */
extern void compact_auto_init(void);

/* compact_guard.c */
extern void compact_guard_init(void);

/* compact_string_kind() recognizes a type by its output function. */
extern Datum compact_char_out(PG_FUNCTION_ARGS);
extern Datum compact_text_out(PG_FUNCTION_ARGS);

/* compact_auto_index.c */
typedef enum CompactStringKind
{
	COMPACT_STRING_NONE,
	COMPACT_STRING_CHAR,		/* compact_charN */
	COMPACT_STRING_TEXT			/* compact_text, trained_textN */
} CompactStringKind;

extern CompactStringKind compact_string_kind(Oid typid);
extern bool compact_is_pattern_class(Oid opclass);
extern char *compact_trgm_stem(Oid typid);
extern Oid	compact_trgm_class(Oid opclass, Oid typid, bool *is_trgm);
extern void compact_auto_index(IndexStmt *stmt);

#endif							/* COMPACT_TYPES_H */
