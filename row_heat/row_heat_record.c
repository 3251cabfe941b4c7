/*-------------------------------------------------------------------------
 *
 * row_heat_record.c
 *	  Record which rows the scans of statements return.
 *
 * The settings row_heat.sample_rate decides for each statement whether it is
 * recorded.  In a statement that is recorded, a function takes the place of the
 * function that returns the next row of a scan.  Other statements cost a random
 * number.
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

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
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

/* A scan of a statement that is recorded */
typedef struct RhScan
{
	PlanState  *planstate;		/* the key, must be first */
	ExecProcNodeMtd proc;		/* returns the next row */
	uint64		rows;			/* rows returned */
	int64		counted;		/* accesses not yet added to the relation */
	int			relation;		/* its number, or -1 before the first row */
	RhKey		key;
} RhScan;

/* A statement that is recorded */
typedef struct RhStatement
{
	List	   *scans;			/* of PlanState */
	int			visited;		/* nodes */
	MemoryContextCallback callback;
} RhStatement;

static double rh_sample_rate = 0.1;

static HTAB *rh_scans = NULL;

static ExecutorStart_hook_type rh_next_ExecutorStart = NULL;

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

/* Replacement of the ExecProcNode function of a scan: return the next row, and count it. */
static TupleTableSlot *
rh_scan_row(PlanState *planstate)
{
	RhScan	   *scan = hash_search(rh_scans, &planstate, HASH_FIND, NULL);
	TupleTableSlot *slot;
	TupleTableSlot *row;
	int			accesses = 1;

	if (scan == NULL)
		elog(ERROR, "plan node is not known to be recorded");

	slot = scan->proc(planstate);
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
	ListCell   *lc;

	foreach(lc, statement->scans)
	{
		PlanState  *planstate = lfirst(lc);
		RhScan	   *scan = hash_search(rh_scans, &planstate, HASH_FIND, NULL);

		if (scan == NULL)
			continue;
		if (scan->counted > 0)
			rh_count_relation(scan->relation, scan->key.relid, scan->counted);
		hash_search(rh_scans, &planstate, HASH_REMOVE, NULL);
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
				RhKey		key;

				if (rel != NULL && rh_is_recorded(rel) && rh_key_init(&key, rel))
				{
					RhScan	   *scan;

					/* first, so that an error leaves no scan behind */
					statement->scans = lappend(statement->scans, planstate);
					scan = hash_search(rh_scans, &planstate, HASH_ENTER, NULL);
					scan->proc = planstate->ExecProcNodeReal;
					scan->rows = 0;
					scan->counted = 0;
					scan->relation = -1;
					scan->key = key;
					planstate->ExecProcNodeReal = rh_scan_row;
				}
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

	if (rh_sample_rate <= 0.0 || (eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 ||
		(rh_sample_rate < 1.0 && pg_prng_double(&pg_global_prng_state) >= rh_sample_rate) ||
		queryDesc->planstate == NULL || !rh_counts_attach())
		return;

	rh_counts_tick();
	if (rh_scans == NULL)
	{
		HASHCTL		ctl;

		ctl.keysize = sizeof(PlanState *);
		ctl.entrysize = sizeof(RhScan);
		rh_scans = hash_create("row_heat scans", 32, &ctl, HASH_ELEM | HASH_BLOBS);
	}

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
							 PGC_SUSET, 0, NULL, NULL, NULL);

	rh_next_ExecutorStart = ExecutorStart_hook;
	ExecutorStart_hook = rh_ExecutorStart;
}
