/*-------------------------------------------------------------------------
 *
 * index_align.h
 *	  Declarations shared by the files of the index_align library.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  index_align/index_align.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEX_ALIGN_H
#define INDEX_ALIGN_H

#include "nodes/pg_list.h"
#include "port.h"
#include "storage/dsm.h"
#include "utils/relcache.h"

/*
 * A B-tree index.  The index is not as on a stock server if its pages have
 * another alignment, or if its storage parameter item_alignment is set, or
 * both.
 */
typedef struct IaIndex
{
	Oid			indexid;
	Oid			heapid;
	Oid			owner;
	bool		partitioned;	/* has no pages of its own */
	bool		temp;			/* belongs to this session */
	bool		live;			/* false if DROP CONCURRENTLY is unfinished */
	bool		valid;			/* queries may use it */
	bool		exclusion;		/* of an exclusion constraint */
	bool		leftover;		/* left by a failed REINDEX CONCURRENTLY */
	int			alignment;		/* in bytes, 0 if there are no pages */
	char	   *damage;			/* why the pages could not be read, or NULL */
	char	   *parameter;		/* item_alignment as written, or NULL */
	char	   *name;			/* schema.name, for messages */
	char	   *quoted;			/* the quoted name, for commands */
} IaIndex;

/*
 * True if the index must be rebuilt, false if only its storage parameter must
 * be removed
 */
#define IaNeedsBuild(index) ((index)->damage != NULL || \
							 ((index)->alignment != 0 && \
							  (index)->alignment != MAXIMUM_ALIGNOF))

/* What ia_estimate() knows about an index at another alignment */
typedef struct IaEstimate
{
	double		ratio;			/* its size, as part of that at maximal
								 * alignment */
	bool		hidden;			/* statistics of a column are not used,
								 * because the user may not see them */
	bool		missing;		/* a column has no statistics */
} IaEstimate;

/* Shared memory segment for the worker: magic number, keys, size of the queue */
#define IA_MAGIC		0x1a119a01
#define IA_KEY_JOB		1
#define IA_KEY_SETTINGS	2
#define IA_KEY_QUEUE	3
#define IA_QUEUE_SIZE	16384

typedef struct IaJob
{
	Oid			databaseid;
	Oid			roleid;
	bool		concurrently;
	int			nindexes;
	Oid			indexids[FLEXIBLE_ARRAY_MEMBER];
} IaJob;

/*
 * Messages of the worker, besides error reports.  For each index there is a
 * BEGIN with its name.  After success, DONE follows, with "restored" or
 * "dropped".  After a failure, an error report and FAILED follow; FAILED has
 * the name of an index that the failed command left behind, or an empty one.
 */
#define IA_MSG_BEGIN	'b'
#define IA_MSG_DONE		'd'
#define IA_MSG_FAILED	'f'
#define IA_MSG_END		'x'

/* index_align.c */
extern bool ia_has_parameter(Oid indexid);
extern Relation ia_open(Oid indexid);
extern IaIndex *ia_describe_open(Relation rel);
extern IaIndex *ia_describe(Oid indexid);
extern List *ia_user_btrees(Oid scope);
extern List *ia_collect(Oid scope);
extern int	ia_needed_alignment(Oid indexid, int natts);
extern void ia_warn_of_damage(const IaIndex *index);

/* index_align_estimate.c */
extern bool ia_estimate(Oid indexid, int alignment, double pages, double tuples,
						IaEstimate *estimate);

/* index_align_restore.c */
extern List *ia_commands(const IaIndex *index, bool concurrently);
extern bool ia_skip_leftover(const IaIndex *index);

/* index_align_worker.c */
extern PGDLLEXPORT void ia_worker_main(Datum main_arg);

#endif							/* INDEX_ALIGN_H */
