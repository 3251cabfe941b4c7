/*-------------------------------------------------------------------------
 *
 * heapam_copy.c
 *	  The copying of a table for VACUUM FULL and CLUSTER, with a change to each
 *	  tuple.
 *
 * From PostgreSQL 17.11, src/backend/access/heap/heapam_handler.c, function
 * heapam_relation_copy_for_cluster(): without the code that only system
 * catalogs need, with tp_copy_tuple() and tp_end_copy() in the place of
 * reform_and_rewrite_tuple() and end_heap_rewrite(), and for recompress() with
 * a report of rows for the view toast_policy.progress.  15.20 and 18.6 have the
 * same statements there; 19 has another lock on the page, which this copy has,
 * too.
 *
 * Portions Copyright (c) 1996-2024, PostgreSQL Global Development Group
 * Portions Copyright (c) 1994, Regents of the University of California
 *
 * IDENTIFICATION
 *	  toast_policy/import/heapam_copy.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/rewriteheap.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"

#include "toast_policy.h"
#include "toast_policy_compat.h"

void
tp_copy_table(Relation OldHeap, Relation NewHeap, Relation OldIndex, bool use_sort,
			  TransactionId OldestXmin, TransactionId xid_cutoff,
			  MultiXactId multi_cutoff, double *num_tuples,
			  double *tups_vacuumed, double *tups_recently_dead)
{
	int			natts = RelationGetDescr(NewHeap)->natts;
	Datum	   *values = palloc(natts * sizeof(Datum));
	bool	   *isnull = palloc(natts * sizeof(bool));
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "toast_policy copy",
												  ALLOCSET_DEFAULT_SIZES);
	bool		report = tp_recompressing(OldHeap);
	RewriteState rwstate;
	IndexScanDesc indexScan = NULL;
	TableScanDesc tableScan = NULL;
	HeapScanDesc heapScan = NULL;
	Tuplesortstate *tuplesort = NULL;
	TupleTableSlot *slot;
	BlockNumber prev_cblock = InvalidBlockNumber;
	BlockNumber pages;
	double		rows;
	double		allvisfrac;

	if (report)
	{
		table_relation_estimate_size(OldHeap, NULL, &pages, &rows, &allvisfrac);
		tp_report_rows(0, rows);
	}

	/* Initialize the rewrite operation */
	rwstate = begin_heap_rewrite(OldHeap, NewHeap, OldestXmin, xid_cutoff,
								 multi_cutoff);

	/* Set up sorting if wanted */
	if (use_sort)
		tuplesort = tuplesort_begin_cluster(RelationGetDescr(OldHeap), OldIndex,
											maintenance_work_mem, NULL,
											TUPLESORT_NONE);

	/*
	 * Prepare to scan the OldHeap.  To ensure we see recently-dead tuples
	 * that still need to be copied, we scan with SnapshotAny and use
	 * HeapTupleSatisfiesVacuum for the visibility test.
	 */
	if (OldIndex != NULL && !use_sort)
	{
		const int	ci_index[] = {
			PROGRESS_CLUSTER_PHASE,
			PROGRESS_CLUSTER_INDEX_RELID
		};
		int64		ci_val[2];

		/* Set phase and OIDOldIndex to columns */
		ci_val[0] = PROGRESS_CLUSTER_PHASE_INDEX_SCAN_HEAP;
		ci_val[1] = RelationGetRelid(OldIndex);
		pgstat_progress_update_multi_param(2, ci_index, ci_val);

		indexScan = compat_index_beginscan(OldHeap, OldIndex, SnapshotAny);
		index_rescan(indexScan, NULL, 0, NULL, 0);
	}
	else
	{
		/* In scan-and-sort mode and also VACUUM FULL, set phase */
		pgstat_progress_update_param(PROGRESS_CLUSTER_PHASE,
									 PROGRESS_CLUSTER_PHASE_SEQ_SCAN_HEAP);

		tableScan = compat_beginscan(OldHeap, SnapshotAny);
		heapScan = (HeapScanDesc) tableScan;

		/* Set total heap blocks */
		pgstat_progress_update_param(PROGRESS_CLUSTER_TOTAL_HEAP_BLKS,
									 heapScan->rs_nblocks);
	}

	slot = table_slot_create(OldHeap, NULL);

	/*
	 * Scan through the OldHeap, either in OldIndex order or sequentially;
	 * copy each tuple into the NewHeap, or transiently to the tuplesort
	 * module.  Note that we don't bother sorting dead tuples (they won't get
	 * to the new table anyway).
	 */
	for (;;)
	{
		HeapTuple	tuple;
		Buffer		buf;
		bool		isdead = false;
		MemoryContext caller;

		CHECK_FOR_INTERRUPTS();

		if (indexScan != NULL)
		{
			if (!index_getnext_slot(indexScan, ForwardScanDirection, slot))
				break;

			/* Since we used no scan keys, should never need to recheck */
			if (indexScan->xs_recheck)
				elog(ERROR, "CLUSTER does not support lossy index conditions");
		}
		else
		{
			if (!table_scan_getnextslot(tableScan, ForwardScanDirection, slot))
			{
				/*
				 * If the last pages of the scan were empty, we would go to
				 * the next phase while heap_blks_scanned != heap_blks_total.
				 */
				pgstat_progress_update_param(PROGRESS_CLUSTER_HEAP_BLKS_SCANNED,
											 heapScan->rs_nblocks);
				break;
			}

			/*
			 * Note that heapScan may start at an offset and wrap around, i.e.
			 * rs_startblock may be >0, and rs_cblock may end with a number
			 * below rs_startblock. To prevent showing this wraparound to the
			 * user, we offset rs_cblock by rs_startblock (modulo rs_nblocks).
			 */
			if (prev_cblock != heapScan->rs_cblock)
			{
				pgstat_progress_update_param(PROGRESS_CLUSTER_HEAP_BLKS_SCANNED,
											 (heapScan->rs_cblock +
											  heapScan->rs_nblocks -
											  heapScan->rs_startblock
											  ) % heapScan->rs_nblocks + 1);
				prev_cblock = heapScan->rs_cblock;
			}
		}

		tuple = ExecFetchSlotHeapTuple(slot, false, NULL);
		buf = ((BufferHeapTupleTableSlot *) slot)->buffer;

		/*
		 * rewrite_heap_tuple() looks at the hint bits that the visibility
		 * test sets.  From 19 on, only a stronger lock than a shared one
		 * makes sure that they can be set.  Nobody else wants the page.
		 */
		LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
		switch (HeapTupleSatisfiesVacuum(tuple, OldestXmin, buf))
		{
			case HEAPTUPLE_DEAD:
				isdead = true;
				break;
			case HEAPTUPLE_RECENTLY_DEAD:
				*tups_recently_dead += 1;
				break;
			case HEAPTUPLE_LIVE:
				break;
			case HEAPTUPLE_INSERT_IN_PROGRESS:

				/*
				 * Since we hold exclusive lock on the relation, the only way
				 * to see this is if it was inserted earlier in our own
				 * transaction.
				 */
				if (!TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data)))
					elog(WARNING, "concurrent insert in progress within table \"%s\"",
						 RelationGetRelationName(OldHeap));
				break;
			case HEAPTUPLE_DELETE_IN_PROGRESS:
				if (!TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(tuple->t_data)))
					elog(WARNING, "concurrent delete in progress within table \"%s\"",
						 RelationGetRelationName(OldHeap));
				/* treat as recently dead */
				*tups_recently_dead += 1;
				break;
			default:
				elog(ERROR, "unexpected HeapTupleSatisfiesVacuum result");
				break;
		}
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);

		if (isdead)
		{
			*tups_vacuumed += 1;
			/* heap rewrite module still needs to see it... */
			if (rewrite_heap_dead_tuple(rwstate, tuple))
			{
				/* A previous recently-dead tuple is now known dead */
				*tups_vacuumed += 1;
				*tups_recently_dead -= 1;
			}
			continue;
		}

		*num_tuples += 1;
		if (tuplesort != NULL)
		{
			tuplesort_putheaptuple(tuplesort, tuple);

			/*
			 * In scan-and-sort mode, report increase in number of tuples
			 * scanned
			 */
			pgstat_progress_update_param(PROGRESS_CLUSTER_HEAP_TUPLES_SCANNED,
										 (int64) *num_tuples);
			continue;
		}

		caller = MemoryContextSwitchTo(context);
		tp_copy_tuple(OldHeap, NewHeap, tuple, values, isnull, OldestXmin, rwstate);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(context);

		/*
		 * In indexscan mode and also VACUUM FULL, report increase in number
		 * of tuples scanned and written
		 */
		pgstat_progress_update_param(PROGRESS_CLUSTER_HEAP_TUPLES_SCANNED,
									 (int64) *num_tuples);
		pgstat_progress_update_param(PROGRESS_CLUSTER_HEAP_TUPLES_WRITTEN,
									 (int64) *num_tuples);
		if (report)
			tp_report_rows(*num_tuples, rows);
	}
	if (report)
		tp_report_rows(*num_tuples, *num_tuples);

	if (indexScan != NULL)
		index_endscan(indexScan);
	if (tableScan != NULL)
		table_endscan(tableScan);
	ExecDropSingleTupleTableSlot(slot);

	/*
	 * In scan-and-sort mode, complete the sort, then read out all live tuples
	 * from the tuplestore and write them to the new relation.
	 */
	if (tuplesort != NULL)
	{
		double		n_tuples = 0;

		/* Report that we are now sorting tuples */
		pgstat_progress_update_param(PROGRESS_CLUSTER_PHASE,
									 PROGRESS_CLUSTER_PHASE_SORT_TUPLES);

		tuplesort_performsort(tuplesort);

		/* Report that we are now writing new heap */
		pgstat_progress_update_param(PROGRESS_CLUSTER_PHASE,
									 PROGRESS_CLUSTER_PHASE_WRITE_NEW_HEAP);

		for (;;)
		{
			HeapTuple	tuple;
			MemoryContext caller;

			CHECK_FOR_INTERRUPTS();

			tuple = tuplesort_getheaptuple(tuplesort, true);
			if (tuple == NULL)
				break;

			n_tuples += 1;
			caller = MemoryContextSwitchTo(context);
			tp_copy_tuple(OldHeap, NewHeap, tuple, values, isnull, OldestXmin, rwstate);
			MemoryContextSwitchTo(caller);
			MemoryContextReset(context);
			/* Report n_tuples */
			pgstat_progress_update_param(PROGRESS_CLUSTER_HEAP_TUPLES_WRITTEN,
										 (int64) n_tuples);
		}

		tuplesort_end(tuplesort);
	}

	/* Write out any remaining tuples, and fsync if needed */
	tp_end_copy(OldHeap, NewHeap, rwstate);

	pfree(values);
	pfree(isnull);
	MemoryContextDelete(context);
}
