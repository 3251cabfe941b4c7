/*-------------------------------------------------------------------------
 *
 * row_heat_record.c
 *	  Record which rows the scans of statements return.
 *
 * The setting row_heat.sample_rate is the probability that a statement is
 * recorded.  In a statement that is recorded, a function takes the place of the
 * function that returns the next row of a scan.  A session draws a random number
 * of statements that it does not record before the next one, so these cost only
 * the countdown.
 *
 * Between two statements that are recorded, other code has filled the caches of
 * the processor.  So what a statement costs here is the memory that it touches:
 * keep it small, and together.
 *
 * Scans that find a row by an index or by its TID count.  A sequential scan
 * reads each page, wherever the hot rows are, and an index-only scan reads the
 * table only for rows that were changed recently.  A row that a statement
 * updates, deletes or locks is returned by a scan before.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  row_heat/row_heat_record.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "executor/executor.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "row_heat.h"
#include "row_heat_compat.h"

/*
 * Of the rows that a scan returns after the first RH_ALL_ROWS ones, count one
 * of RH_SKIPPED at random, and count it so many times.
 */
#define RH_ALL_ROWS		1000
#define RH_SKIPPED		16

/* Nodes of a plan that are visited: a shared subplan may be reached very often */
#define RH_MAX_NODES	10000

/* A scan of a statement that is recorded; it is in the memory of the statement */
typedef struct RhScan
{
	dlist_node	node;			/* of rh_scans */
	PlanState  *planstate;
	ExecProcNodeMtd proc;		/* returns the next row */
	uint64		rows;			/* rows returned */
	int64		counted;		/* accesses not yet added to the relation */
	int			relation;		/* its number, or -1 before the first row */
	struct RhScan *next;		/* of the statement */
	RhKey		key;
} RhScan;

/* A statement that is recorded */
typedef struct RhStatement
{
	RhScan	   *scans;
	int			visited;		/* nodes */
	MemoryContextCallback callback;
} RhStatement;

/* The scans that are recorded, in lists that a hash of their node chooses */
#define RH_LISTS		256

static dlist_head rh_scans[RH_LISTS];

static double rh_sample_rate = 0.1;

/* Statements before the next one that is recorded, or -1 if not drawn yet */
static int64 rh_countdown = -1;

static ExecutorStart_hook_type rh_next_ExecutorStart = NULL;

/*
 * Return how many statements are not recorded before the next one that is.  Each
 * statement is recorded with the same probability, whatever the others are, so
 * the number has a geometric distribution.
 */
static int64
rh_draw(void)
{
	double		statements;

	if (rh_sample_rate <= 0.0)
		return PG_INT64_MAX;
	if (rh_sample_rate >= 1.0)
		return 0;
	statements = floor(log(1.0 - pg_prng_double(&pg_global_prng_state)) / log1p(-rh_sample_rate));

	return statements < (double) (PG_INT64_MAX / 2) ? (int64) statements : PG_INT64_MAX / 2;
}

/* Return true if this statement is to be recorded. */
static bool
rh_is_sampled(void)
{
	if (rh_countdown < 0)
		rh_countdown = rh_draw();

	return rh_countdown-- == 0;
}

/* GUC assign hook: a number of another rate is not valid any more */
static void
rh_assign_sample_rate(double newval, void *extra)
{
	rh_countdown = -1;
}

/*
 * Return to which half of the heat this transaction adds.  A transaction often
 * uses a row more than once.  If its accesses were in both halves, rows that no
 * other transaction uses would look hot.  Parallel workers belong to the
 * transaction of their leader.
 */
static int
rh_half(void)
{
	PGPROC	   *leader = MyProc->lockGroupLeader != NULL ? MyProc->lockGroupLeader : MyProc;

	return murmurhash32(compat_local_transaction(leader) ^ murmurhash32((uint32) leader->pid)) & 1;
}

/* Return the list that has the scan of this node of a plan. */
static dlist_head *
rh_list(const PlanState *planstate)
{
	return &rh_scans[murmurhash32((uint32) ((uintptr_t) planstate >> 3)) % RH_LISTS];
}

/* Return the scan of this node of a plan. */
static RhScan *
rh_find_scan(const PlanState *planstate)
{
	dlist_iter	iter;

	dlist_foreach(iter, rh_list(planstate))
	{
		RhScan	   *scan = dlist_container(RhScan, node, iter.cur);

		if (scan->planstate == planstate)
			return scan;
	}
	elog(ERROR, "plan node is not known to be recorded");
}

/* Replacement of the ExecProcNode function of a scan: return the next row, and count it. */
static TupleTableSlot *
rh_scan_row(PlanState *planstate)
{
	RhScan	   *scan = rh_find_scan(planstate);
	TupleTableSlot *slot = scan->proc(planstate);
	TupleTableSlot *row;
	int			accesses = 1;

	if (TupIsNull(slot))
		return slot;

	if (scan->rows++ >= RH_ALL_ROWS)
	{
		if (pg_prng_uint64_range(&pg_global_prng_state, 1, RH_SKIPPED) != 1)
			return slot;
		accesses = RH_SKIPPED;
	}
	if (scan->relation < 0)
	{
		scan->relation = rh_relation_number(scan->key.relid, true);
		if (scan->relation < 0)
			return slot;
	}
	/* after a projection, the row of the table is still in the scan's slot */
	row = ((ScanState *) planstate)->ss_ScanTupleSlot;
	if (!TupIsNull(row))
	{
		rh_count(rh_key_hash(&scan->key, row), scan->relation, &row->tts_tid, rh_half(), accesses);
		scan->counted += accesses;

		/*
		 * heat decays in a long statement, and a cold relation loses its
		 * number
		 */
		if (scan->counted >= RH_ALL_ROWS)
		{
			rh_count_relation(scan->relation, scan->key.relid, scan->counted);
			scan->counted = 0;
			scan->relation = -1;
		}
	}

	return slot;
}

/*
 * Memory context callback: forget the scans of a statement whose memory is
 * freed, and add up their accesses.
 */
static void
rh_forget_statement(void *arg)
{
	RhStatement *statement = arg;

	for (RhScan *scan = statement->scans; scan != NULL; scan = scan->next)
	{
		if (scan->counted > 0)
			rh_count_relation(scan->relation, scan->key.relid, scan->counted);
		dlist_delete(&scan->node);
	}
}

/* Let the scans of a plan count their rows. */
static bool
rh_record_scans(PlanState *planstate, void *context)
{
	RhStatement *statement = context;

	check_stack_depth();
	if (statement->visited++ >= RH_MAX_NODES)
		return true;
	/* several nodes may share a subplan */
	if (planstate->ExecProcNodeReal == rh_scan_row)
		return false;
	switch (nodeTag(planstate))
	{
		case T_IndexScanState:
		case T_BitmapHeapScanState:
		case T_TidScanState:
		case T_TidRangeScanState:
			{
				Relation	rel = ((ScanState *) planstate)->ss_currentRelation;
				RhScan	   *scan;

				if (rel == NULL || !rh_is_recorded(rel))
					break;
				scan = palloc(sizeof(RhScan));
				if (!rh_key_init(&scan->key, rel))
					break;
				scan->planstate = planstate;
				scan->proc = planstate->ExecProcNodeReal;
				scan->rows = 0;
				scan->counted = 0;
				scan->relation = -1;
				dlist_push_head(rh_list(planstate), &scan->node);
				scan->next = statement->scans;
				statement->scans = scan;
				planstate->ExecProcNodeReal = rh_scan_row;
				break;
			}
		default:
			break;
	}

	return planstate_tree_walker(planstate, rh_record_scans, context);
}

/* ExecutorStart hook */
static void
rh_ExecutorStart(QueryDesc *queryDesc, int eflags)
{
	EState	   *estate;
	MemoryContext old;
	RhStatement *statement;

	if (rh_next_ExecutorStart)
		rh_next_ExecutorStart(queryDesc, eflags);
	else
		standard_ExecutorStart(queryDesc, eflags);

	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 || !rh_is_sampled() ||
		queryDesc->planstate == NULL || !rh_counts_attach())
		return;

	rh_counts_tick();
	estate = queryDesc->estate;
	old = MemoryContextSwitchTo(estate->es_query_cxt);
	statement = palloc0(sizeof(RhStatement));
	statement->callback.func = rh_forget_statement;
	statement->callback.arg = statement;
	MemoryContextRegisterResetCallback(estate->es_query_cxt, &statement->callback);
	rh_record_scans(queryDesc->planstate, statement);
	MemoryContextSwitchTo(old);
}

/* Define the setting, and install the hook. */
void
rh_record_init(void)
{
	DefineCustomRealVariable("row_heat.sample_rate",
							 "Fraction of statements whose rows are recorded.",
							 NULL,
							 &rh_sample_rate,
							 0.1, 0.0, 1.0,
							 PGC_SUSET, 0, NULL, rh_assign_sample_rate, NULL);

	rh_next_ExecutorStart = ExecutorStart_hook;
	ExecutorStart_hook = rh_ExecutorStart;
}
