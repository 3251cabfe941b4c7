/*-------------------------------------------------------------------------
 *
 * toast_policy_compare.h
 *	  Interfaces between the files of toast_policy.compare(),
 *	  compare_out_of_line() and advise().
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_compare.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TOAST_POLICY_COMPARE_H
#define TOAST_POLICY_COMPARE_H

#include "common/pg_prng.h"
#include "executor/tuptable.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

#include "toast_policy.h"

/* Part of the server that compresses a column's values */
typedef enum TpMethod
{
	TP_BY_STORAGE,				/* heap, as the column's STORAGE says */
	TP_BY_POLICY,				/* the access method */
	TP_BY_TYPE					/* ztext or zbytea */
} TpMethod;

/* One codec at one level, and its results for the current value */
typedef struct TpTrial
{
	TpCodec		codec;
	int			level;			/* 0 for codecs without levels */
	/* for the current value */
	int32		size;			/* compressed; -1 if not smaller than raw */
	bool		incompressible; /* the policy's probe says so */
	double		probe_us;
	double		compress_us;
	double		decompress_us;
	/* for all values so far, to know when to stop measuring */
	double		budget_us;
	double		spent_us;
	double		timed_us;		/* decompression time so far */
	double		timed_bytes;	/* raw bytes that this time is for */
} TpTrial;

/*
 * A column of a row of the sample.  Sizes are those that the value takes in
 * the row.
 */
typedef struct TpSampleColumn
{
	int32		raw;			/* not compressed; 0 for NULL */
	int32		compressed;		/* 0 if not known, -1 if not smaller than raw */
	int			align;			/* in bytes, for values without a short header */
	char		storage;		/* PLAIN if it cannot be toasted */
	char		compression;
	bool		varlena;
	bool		fixed;			/* compressed already, and stays so */
	bool		governed;		/* in a table of the access method */
	Datum		value;
	/* while the row is laid out */
	int32		size;
	int			size_align;
	bool		tried;
	bool		is_compressed;
	bool		is_external;
	bool		is_moved;		/* out of line for good */
} TpSampleColumn;

/* A row of the sample, whose storage is simulated */
typedef struct TpSampleRow
{
	int			natts;
	int			target;			/* index of the examined column */
	bool		has_toast;
	Size		hoff;
	/* size to which a large row is reduced, without the header */
	Size		limit;
	Size		policy_limit;	/* limit if the examined column is governed */
	Size		heap_limit;		/* limit if it is not */
	/* size from which on values go out of line in small rows, or 0 */
	int			policy_moved;	/* governed values, and the examined one */
	int			heap_moved;		/* those of other columns */
	int32		rawsize;		/* of the examined value, without header */
	TpSampleColumn *columns;
} TpSampleRow;

/* Classes of free space in a page, as in the free space map */
#define TP_SPACE_STEP		(BLCKSZ / 256)
#define TP_SPACE_CLASSES	256

/* How a table's pages are filled */
typedef struct TpSpace
{
	int64		pages;
	Size		free;			/* in the page that is being filled */
	Size		reserve;		/* space that fillfactor leaves free */
	int64		left[TP_SPACE_CLASSES]; /* number of pages by free space */
	/* pages and free if each row goes to the last page, as in a rewrite */
	int64		new_pages;
	Size		new_free;
	/* for a TOAST table */
	double		chunks;
	double		used;			/* bytes in its pages */
} TpSpace;

/* A way to store the column, and its results so far */
typedef struct TpStrategy
{
	const char *name;
	TpMethod	method;
	char		storage;
	TpTrial    *trial;			/* NULL if nothing is compressed */
	bool		current;		/* true if the column is stored so now */
	char	   *blocker;		/* why it cannot be used; NULL if it can */

	TpSpace		heap;
	TpSpace		toast;
	double		inline_bytes;	/* of the column's values */
	double		external_bytes;
	double		externals;
	double		chunks;			/* of the column's values */
	double		toast_used;		/* bytes of these chunks in TOAST pages */
	double		compress_us;
	double		decompress_us;

	/* the result: for the sample, and for the whole table */
	double		sampled_bytes;	/* of the column's values */
	double		table_pages;
	double		new_pages;		/* after the table is rewritten */
	double		read_us;
	double		cost;
} TpStrategy;

/* Maximum size of the sample, in rows */
#define TP_MAX_SAMPLE		3000000
/* Of a larger value, only a first part of this size is compressed */
#define TP_MAX_PIECE		(1024 * 1024)
/* The sample ends after each codec has compressed at most this many raw bytes */
#define TP_MAX_EFFORT		(32 * 1024 * 1024)
/* Time for which a codec's speed is measured, in microseconds */
#define TP_MEASURE_US		200000.0

#define TP_MAX_TRIALS		9
#define TP_MAX_STRATEGIES	16

/* A table with rows: the table itself, or a partition */
typedef struct TpSource
{
	Relation	rel;
	AttrNumber	attnum;
	BlockNumber blocks;
} TpSource;

typedef struct TpRowId
{
	int			source;
	ItemPointerData tid;
	int32		rawsize;
} TpRowId;

typedef struct TpComparison
{
	Relation	rel;
	FormData_pg_attribute att;
	TpSource   *sources;
	bool		quiet;			/* give no notice about partitions left out */
	bool		has_toast;		/* does any source have a TOAST table? */
	int			nsources;
	double		blocks;
	double		sampled_blocks;

	/* in the pages that were read: rows with a value, and a sample of them */
	double		seen;
	double		seen_bytes;
	TpRowId    *rows;
	int			nrows;
	int			maxrows;		/* allocated size of the array rows */
	int			keep_rows;		/* number of rows to choose the sample from */
	int			sample_rows;
	double		effort;			/* raw bytes for each codec */
	double		budget_us;		/* time for each codec */
	pg_prng_state random;

	/* rows without a value, as they are stored */
	TpSpace		null_heap;
	TpSpace		null_toast;

	TpTrial		trials[TP_MAX_TRIALS];
	int			ntrials;
	TpStrategy	strategies[TP_MAX_STRATEGIES];
	int			nstrategies;
	double		sampled;
	double		sampled_bytes;
	double		stored_bytes;	/* of the sample's values, as they are stored */
} TpComparison;

/* Function that gets a row of the sample; return false to read no more rows */
typedef bool (*TpSeeRow) (void *arg, int source, TupleTableSlot *slot);

/* toast_policy_compare.c */
extern void tp_check_sample(const char *argument, int size);
extern void tp_check_privileges(Oid relid, const char *column);
extern AttrNumber tp_check_column(Relation rel, const char *name);
extern void tp_open_sources(TpComparison *comparison);
extern TpComparison *tp_measure(Relation rel, AttrNumber attnum, int sample_rows,
								double effort, double budget_us, bool quiet);
extern void tp_end_measure(TpComparison *comparison);
extern const TpStrategy *tp_recommend(const TpComparison *comparison, bool all);
extern char *tp_reason(const TpComparison *comparison, const TpStrategy *strategy,
					   const TpStrategy *recommended);
extern double tp_round(double value);

/* toast_policy_compare_sample.c */
extern void tp_sample(TpComparison *comparison);
extern Size tp_store_as_is(TupleTableSlot *slot, TpSpace *heap, TpSpace *toast);
extern double tp_read_sample(const TpSource *sources, int nsources, double wanted,
							 TpSeeRow see, void *arg);

/* toast_policy_compare_codec.c */
extern void tp_try_codec(TpTrial *trial, const char *source, int32 size,
						 int32 rawsize, char *buffer);

/* toast_policy_compare_size.c */
extern void tp_row_read(TpSampleRow *row, Relation rel, int target,
						TupleTableSlot *slot);
extern void tp_row_store(TpSampleRow *row, TpStrategy *strategy);
extern Size tp_row_store_out_of_line(TpSampleRow *row, const bool *governed, int min_bytes,
									 TpStrategy *strategy);
extern void tp_space_add(TpSpace *space, Size length);
extern void tp_space_add_chunks(TpSpace *space, int64 size);
extern double tp_space_pages(const TpSpace *space, double scale);
extern double tp_space_new_pages(const TpSpace *space, double scale);
extern double tp_toast_index_pages(double chunks);

#endif							/* TOAST_POLICY_COMPARE_H */
