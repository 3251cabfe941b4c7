/*-------------------------------------------------------------------------
 *
 * compact_advise.h
 *	  Data structures and functions of the advice on a table.
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
#include "utils/array.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/* longer strings are not examined */
#define ADVISE_MAX_STRING	2000

/* Types that a column could get. */
typedef enum AdviseKind
{
	ADVISE_KEEP,
	ADVISE_CHAR,				/* compact_charN */
	ADVISE_TEXT,				/* compact_text */
	ADVISE_INTEGER,				/* a narrower integer */
	ADVISE_DECIMAL,				/* compact_decimal4_S or compact_decimal8_S */
	ADVISE_SECONDS,				/* seconds4, seconds4tz */
	ADVISE_REVERT				/* the former type, see compact_revert.c */
} AdviseKind;

/* An integer column that is the whole primary key of a table. */
typedef struct AdviseKey
{
	NameData	name;
	Oid			relid;
} AdviseKey;

/*
 * What the advice reads from catalogs and does not depend on the table.  A call
 * that looks at all tables reads it once.
 */
typedef struct AdviseCatalog
{
	MemoryContext cxt;			/* holds the lists */
	List	   *available;		/* extensions on the server */
	bool		available_valid;
	AdviseKey  *keys;			/* ordered by name and OID */
	int			nkeys;
	bool		keys_valid;
} AdviseCatalog;

typedef struct AdviseOptions
{
	bool		narrow;			/* include types with a smaller range */
	bool		narrow_keys;	/* include such types for keys */
	bool		fixed_varchar;	/* compact_charN for varchar and text columns
								 * whose strings all have one length */
	bool		round_seconds;	/* include timestamps that may have fractions */
	bool		train;			/* dictionaries will be trained: propose
								 * compact_text also where it saves little */
	bool		train_again;	/* the same for columns that are encoded
								 * already */
	int			sample_pages;	/* read at most so many pages; 0: all */
	bool		predict;		/* simulate the pages */
	bool		whole_views;	/* look for every view that convert() could
								 * not create again */
	bool		only_named;		/* convert the columns below, and no others */
	List	   *columns;		/* names */
	AdviseCatalog *catalog;		/* to share, or NULL */
} AdviseOptions;

/* A proposed type, which its extension may have to create first. */
typedef struct AdviseType
{
	char	   *name;			/* without schema */
	Oid			typid;			/* InvalidOid if it does not exist yet */
	int32		typmod;
	int16		len;
	char		align;
	char		storage;
	char	   *sql;			/* name for statements, without typmod */
	char	   *complete;		/* name with typmod, for ADVISE_REVERT */
	bool		by_extension;	/* CREATE EXTENSION name creates the type */
} AdviseType;

/*
 * Record of which of PostgreSQL's own types fit all strings of a column, see
 * compact_advise_native.c.
 */
typedef struct AdviseNative AdviseNative;

typedef struct AdviseColumn
{
	Form_pg_attribute att;
	bool		is_key;			/* in a primary key or a unique index */
	bool		in_wide_index;	/* in an index of several columns */
	bool		by_value;		/* types passed by reference are blocked */
	bool		has_sequence;	/* serial, identity, or a default that uses a
								 * sequence */
	bool		mutable_default;	/* now(), for example */
	bool		unknown_default;	/* default is not evaluated, because it
									 * calls users' functions */
	bool		default_counts; /* the default changed the statistics below */

	/* statistics of the sampled rows */
	int64		nvalues;		/* number of values that are not NULL */
	int64		min;			/* smallest and greatest integer */
	int64		max;
	int			min_bytes;		/* shortest and longest string */
	int			max_bytes;
	bool		multibyte;
	bool		trailing_blanks;
	bool		unfit;			/* there is a value that no compact type holds */
	AdviseNative *native;		/* of a column of strings */
	int64		bytes_now;		/* sum of the present sizes */
	int64		bytes_before;	/* sums over some rows, as a rewrite would
								 * store the values */
	int64		bytes_after;
	int64		nafter;			/* number of values in these two sums */

	/* proposal */
	AdviseKind	kind;
	AdviseType	type;
	char	   *risk;			/* possible harm to an application */
	bool		by_name;		/* converted only if the user names it */
	FmgrInfo	cast;			/* cast to the type, for ADVISE_TEXT */
	int			cast_nargs;		/* 0 if the cast needs no function */
	bool		only_reordered; /* saves nothing in today's column order */
	char	   *little;			/* why compact_text does not pay without a
								 * dictionary of the column, or NULL */
	char	   *storage;		/* clauses after the type, for ADVISE_REVERT */
	bool		noted;			/* goes back to the type that a note names */
	bool		outdated;		/* no longer has the type it was converted to */
	char	   *old_type;		/* type to report as the former one, or NULL */
	Oid			old_typid;		/* its OID, or InvalidOid */
	const struct CompactTrainedTry *dictionary; /* trained on the column, or
												 * NULL */
	char	   *reason;
	char	   *native_type;	/* advice to use one of PostgreSQL's own
								 * types, or NULL */
	char	   *mentions;		/* functions that name the column, or NULL */
	List	   *dependents;		/* blockers of every proposal, of char * */
	List	   *blockers;		/* all blockers of this proposal */
} AdviseColumn;

/* Pages that the simulated rows of a table fill. */
typedef struct AdvisePages
{
	int64		pages;
	Size		free;			/* free space on the last page */
} AdvisePages;

typedef struct Advice
{
	Relation	rel;
	AdviseOptions options;
	MemoryContext cxt;			/* holds all parts of the advice */
	Oid			nspid;			/* schema of the functions of compact_types */
	char	   *type_schema;	/* schema of the types of compact_types */
	AdviseCatalog *catalog;

	List	   *prepare;		/* statements to run before ALTER TABLE */
	List	   *complete;		/* statements to run after ALTER TABLE */

	/* the next fields are for revert(); convert() uses only definitions */
	bool		reverts;
	List	   *constraints;	/* clauses that drop constraints to re-create */
	List	   *validate;		/* statements to run last, with the caller's
								 * search_path */
	List	   *referencing;	/* OIDs of tables that reference this table */
	List	   *definitions;	/* of Definition *, see compact_convert.h */

	List	   *views;			/* OIDs of views that are created again */
	List	   *former_views;	/* of SavedView *: what convert() has reverted
								 * to train columns again */

	int			ncolumns;		/* without dropped columns */
	AdviseColumn *columns;
	List	   *blockers;		/* blockers of the whole table */

	BlockNumber nblocks;
	BlockNumber sampled_blocks;
	int64		sampled_rows;
	int64		updates;		/* number of updated rows, from statistics */
	List	   *checks;			/* CHECK constraints, as an implicit AND */
	bool		checks_valid;
	bool		has_dropped;	/* there are dropped columns, which are null
								 * in a rewritten row */

	int		   *order;			/* best order, as indexes of columns */
	bool		reordered;		/* the order differs from today's */
	AdvisePages now;
	AdvisePages after;
	AdvisePages best;
} Advice;

/* Return true if the advice converts this column. */
static inline bool
compact_advise_converts(const Advice *advice, const AdviseColumn *column)
{
	return column->kind != ADVISE_KEEP && !column->by_name && column->blockers == NIL &&
		advice->blockers == NIL;
}

/* Return the precision in the type modifier of a numeric. */
static inline int
compact_advise_numeric_precision(int32 typmod)
{
	return ((typmod - (int32) VARHDRSZ) >> 16) & 0xffff;
}

/* Return the scale in the type modifier of a numeric: a signed number of 11 bits. */
static inline int
compact_advise_numeric_scale(int32 typmod)
{
	return (((typmod - (int32) VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
}

/* compact_advise.c */
extern void compact_advise_refuse_null(FunctionCallInfo fcinfo, const char *function,
									   int nullable);
extern List *compact_advise_column_names(ArrayType *names);
extern AttrNumber compact_advise_attnum(Oid relid, const char *column);
extern AdviseColumn *compact_advise_find_column(const Advice *advice, const char *name);
extern AdviseCatalog *compact_advise_catalog_make(void);
extern Advice *compact_advise_make(Oid relid, const AdviseOptions *options, Oid funcid,
								   LOCKMODE lockmode);

/* compact_advise_rows.c */
extern bool compact_advise_calls_users_functions(Node *node);
extern void compact_advise_look_at_defaults(Advice *advice);

/* compact_advise_propose.c */
extern void compact_advise_add_risk(AdviseColumn *column, const char *risk);
extern void compact_advise_propose(Advice *advice);
extern bool compact_advise_is_wide_integer(const AdviseColumn *column);
extern void compact_advise_keep(AdviseColumn *column, char *reason);
extern void compact_advise_keep_text(const Advice *advice, AdviseColumn *column, char *reason);

/* compact_advise_statement.c */
extern char *compact_advise_column_clause(const AdviseColumn *column);
extern char *compact_advise_storage_clauses(const AdviseColumn *column, const char *separator);
extern char *compact_advise_convert_statement(const Advice *advice, List *columns,
											  bool train);
extern char *compact_advise_revert_statement(const Advice *advice, List *columns);
extern char *compact_advise_create_statement(const Advice *advice);

/* compact_advise_native.c */
extern AdviseNative *compact_advise_native_make(void);
extern void compact_advise_native_look(AdviseNative *native, const char *str, int len);
extern void compact_advise_native_rule_out(AdviseNative *native);
extern char *compact_advise_native_type(Advice *advice, const AdviseColumn *column);

/* compact_advise_range.c */
extern bool compact_advise_range_is_proven(Advice *advice, const AdviseColumn *column, int64 min, int64 max);
extern bool compact_advise_looks_like_coordinate(const AdviseColumn *column);
extern char *compact_advise_never_narrow(Advice *advice, const AdviseColumn *column);
extern bool compact_advise_room_for_updates(const AdviseColumn *column, int64 updates, int64 min, int64 max);

/* compact_advise_depend.c */
extern bool compact_advise_keep_plans(void);
extern void compact_advise_forget_plans(void);
extern void compact_advise_connect(Advice *advice);
extern void compact_advise_query(const char *format,...) pg_attribute_printf(1, 2);
extern char *compact_advise_result(int row, int col);
extern List *compact_advise_result_list(const Advice *advice);
extern bool compact_advise_find_type(const Advice *advice, const char *name, AdviseType *type);
extern void compact_advise_add_blocker(Advice *advice, int attnum, const char *what);
extern void compact_advise_find_blockers(Advice *advice);
extern void compact_advise_find_mentions(Advice *advice);
extern bool compact_advise_recreates_index(Relation index, Oid opclass,
										   const AdviseColumn *column, char **needs);
extern void compact_advise_check_indexes(Advice *advice);
extern List *compact_advise_dependent_views(const Advice *advice, const char *attnums,
											bool *too_deep);
extern List *compact_advise_unrestorable(const Advice *advice, List *views);

/* compact_advise_view.c */
extern void compact_advise_look_at_expressions(Advice *advice);
extern List *compact_advise_look_at_views(Advice *advice, List *views, const bool *chosen);
extern List *compact_advise_foreign_constants(const Advice *advice, List *views);
extern int	compact_advise_view_column_shows(List *columns, Oid view, AttrNumber attnum);

#endif							/* COMPACT_ADVISE_H */
