/*-------------------------------------------------------------------------
 *
 * compact_advise.h
 *	  What the advice on a table is made of.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_advise.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_ADVISE_H
#define COMPACT_ADVISE_H

#include "catalog/pg_attribute.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "storage/block.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/* What a column could become. */
typedef enum AdviseKind
{
	ADVISE_KEEP,
	ADVISE_CHAR,				/* compact_charN */
	ADVISE_TEXT,				/* compact_text */
	ADVISE_INTEGER,				/* a narrower integer */
	ADVISE_DECIMAL,				/* compact_decimal4_S or compact_decimal8_S */
	ADVISE_SECONDS,				/* seconds4, seconds4tz */
	ADVISE_REVERT				/* the type that it had, see compact_revert.c */
} AdviseKind;

typedef struct AdviseOptions
{
	bool		narrow;			/* types that refuse what the old one holds */
	bool		narrow_keys;	/* those of keys as well */
	bool		fixed_varchar;	/* varchar and text of constant width */
	bool		round_seconds;	/* timestamps that may have fractions */
	int			sample_pages;	/* at most so many; 0 for all */
	bool		predict;		/* simulate the pages */
} AdviseOptions;

/* A type, which its extension may have to create first. */
typedef struct AdviseType
{
	char	   *name;			/* without schema */
	Oid			typid;			/* or InvalidOid */
	int32		typmod;
	int16		len;
	char		align;
	char		storage;
	char	   *sql;			/* name for statements, without typmod */
	char	   *complete;		/* the same with typmod, for ADVISE_REVERT */
	bool		by_extension;	/* extension of that name, to be created */
} AdviseType;

/* What is known of strings as values of other types, see compact_advise_native.c. */
typedef struct AdviseNative AdviseNative;

typedef struct AdviseColumn
{
	Form_pg_attribute att;
	bool		is_key;			/* in a primary key or a unique index */
	bool		in_wide_index;	/* in an index of several columns */
	bool		by_value;		/* a type that is passed by reference is
								 * blocked */
	bool		has_sequence;	/* serial, identity, or nextval() by hand */
	bool		mutable_default;	/* now(), or the like */
	bool		unknown_default;	/* calls what is not for us to call */
	bool		default_counts; /* it is not like the values */

	/* statistics of the sampled rows */
	int64		nvalues;		/* not null */
	int64		min;			/* integers */
	int64		max;
	int			min_bytes;		/* strings */
	int			max_bytes;
	bool		multibyte;
	bool		trailing_blanks;
	bool		unfit;			/* a value that no compact type holds */
	AdviseNative *native;		/* of a column of strings */
	int64		bytes_now;		/* sums */
	int64		bytes_before;	/* sums of some rows, as they are stored anew */
	int64		bytes_after;
	int64		nafter;			/* values in those sums */

	/* proposal */
	AdviseKind	kind;
	AdviseType	type;
	char	   *risk;			/* what may break an application */
	bool		by_name;		/* converted only if the user names it */
	FmgrInfo	cast;			/* to it, for ADVISE_TEXT */
	int			cast_nargs;		/* 0 if the cast needs no function */
	bool		only_reordered; /* gains nothing in today's order */
	char	   *storage;		/* clauses behind that of the type, for
								 * ADVISE_REVERT */
	bool		outdated;		/* changed since it was converted */
	char	   *reason;
	char	   *native_type;	/* a type of PostgreSQL's own, or NULL */
	char	   *mentions;		/* functions whose source names it, or NULL */
	List	   *dependents;		/* what blocks every proposal, of char * */
	List	   *blockers;		/* all that blocks this one */
} AdviseColumn;

/* Pages that a table of the simulated tuples has. */
typedef struct AdvisePages
{
	int64		pages;
	Size		free;			/* on the last one */
} AdvisePages;

typedef struct Advice
{
	Relation	rel;
	AdviseOptions options;
	MemoryContext cxt;			/* of all that is in here */
	Oid			nspid;			/* schema of the functions of compact_types */
	char	   *type_schema;	/* where its types are */
	List	   *available;		/* extensions on the server, read once */
	bool		available_valid;

	/* of a table that goes back to the types it had */
	bool		reverts;
	List	   *constraints;	/* clauses that drop constraints to make anew */
	List	   *prepare;		/* statements before that, and behind it */
	List	   *complete;
	List	   *validate;		/* by the caller's search_path, at last */
	List	   *referencing;	/* OIDs of tables with foreign keys to it */
	List	   *definitions;	/* of Definition *, see compact_revert.c */

	int			ncolumns;		/* without the dropped ones */
	AdviseColumn *columns;
	List	   *blockers;		/* of the whole table */

	BlockNumber nblocks;
	BlockNumber sampled_blocks;
	int64		sampled_rows;
	int64		updates;		/* of rows, as the statistics counted them */
	List	   *checks;			/* CHECK constraints, as an implicit AND */
	bool		checks_valid;
	bool		has_dropped;	/* or a column that is always null on disk */

	int		   *order;			/* the best one, indexes of columns */
	bool		reordered;		/* differs from today's */
	AdvisePages now;
	AdvisePages after;
	AdvisePages best;
} Advice;

/* Does the advice convert this column? */
static inline bool
advise_converts(const Advice *advice, const AdviseColumn *column)
{
	return column->kind != ADVISE_KEEP && !column->by_name && column->blockers == NIL &&
		advice->blockers == NIL;
}

/* Returns the scale that a numeric's modifier has: a signed number of 11 bits. */
static inline int
advise_numeric_scale(int32 typmod)
{
	return (((typmod - (int32) VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
}

/* compact_advise.c */
extern Advice *advise_make(Oid relid, const AdviseOptions *options, Oid funcid,
						   LOCKMODE lockmode);
extern void advise_append_type(StringInfo buf, const AdviseColumn *column);
extern char *advise_column_clause(const AdviseColumn *column);
extern char *advise_storage_clauses(const AdviseColumn *column, const char *separator);

extern bool advise_calls_users_functions(Node *node);

/* compact_advise_native.c */
extern AdviseNative *advise_native_make(void);
extern void advise_native_look(AdviseNative *native, const char *str, int len);
extern void advise_native_rule_out(AdviseNative *native);
extern char *advise_native_type(Advice *advice, const AdviseColumn *column);

/* compact_advise_range.c */
extern bool advise_range_is_proven(Advice *advice, const AdviseColumn *column, int64 min, int64 max);
extern bool advise_looks_like_coordinate(const AdviseColumn *column);
extern char *advise_never_narrow(Advice *advice, const AdviseColumn *column);
extern bool advise_room_for_updates(const AdviseColumn *column, int64 updates, int64 min, int64 max);

/* compact_advise_depend.c */
extern void advise_connect(Advice *advice);
extern void advise_query(const char *format,...) pg_attribute_printf(1, 2);
extern char *advise_result(int row, int col);
extern List *advise_result_list(const Advice *advice);
extern bool advise_find_type(Advice *advice, const char *name, AdviseType *type);
extern void advise_add_blocker(Advice *advice, int attnum, const char *what);
extern void advise_find_blockers(Advice *advice);
extern void advise_find_mentions(Advice *advice);
extern void advise_check_indexes(Advice *advice);
extern List *advise_dependent_views(const Advice *advice, const char *attnums,
									bool *too_deep);
extern List *advise_unrestorable(const Advice *advice, List *views);

/* compact_advise_view.c */
extern void advise_look_at_expressions(Advice *advice);
extern List *advise_look_at_views(Advice *advice, List *views, const bool *chosen);
extern List *advise_foreign_constants(const Advice *advice, List *views);
extern bool advise_view_column_converts(List *columns, Oid view, AttrNumber attnum);

#endif							/* COMPACT_ADVISE_H */
