/*-------------------------------------------------------------------------
 *
 * toast_policy_am.c
 *	  The table access method toast_policy: heap, with governed values
 *	  compressed before heap gets the row.
 *
 * A governed column is a column whose values the policy compresses (see
 * toast_policy_rule.c).  The access method is a copy of heap's callbacks,
 * except for the callbacks that write rows.  These callbacks make a second
 * slot with the values that the policy has compressed, let heap store this
 * slot, and copy the new row's address into the caller's slot.  If values of
 * small rows go out of line, these callbacks also steer heap's toaster (see
 * toast_policy_out_of_line.c).  Pages, tuples and WAL are heap's own.  Nothing
 * on disk refers to the access method, except the table's row in pg_class.
 *
 * In the two callbacks that build indexes, heap refuses to scan a table of
 * another access method.  While these two callbacks run, the relation's cache
 * entry points to heap's callbacks.  amcheck also reads the pg_class row in
 * the cache entry, so that row names heap, too, while amcheck runs.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_am.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "utils/inval.h"
#include "utils/memutils.h"

#include "toast_policy.h"
#include "toast_policy_compat.h"

PG_FUNCTION_INFO_V1(tp_handler);

/* heap's callbacks, and the access method's */
static const TableAmRoutine *tp_heap_am;
static TableAmRoutine tp_am;

/* A relation that temporarily looks like a table of heap */
typedef struct TpDisguise
{
	Relation	rel;
	Oid			amoid;			/* its access method; InvalidOid if the
								 * pg_class row in the entry is unchanged */
	struct TpDisguise *outer;
} TpDisguise;

static TpDisguise *tp_disguises = NULL;

static MemoryContext tp_row_context = NULL;

#define TP_ROW_BLOCK_SIZE	(32 * 1024) /* bytes */

/*
 * Apply the policy to a row.  Return a slot with the row that heap shall
 * store, in the memory that tp_begin_row() has made.  Return NULL if heap
 * shall store the row as it is.  Set *plan to the plan of the row.
 */
static TupleTableSlot *
tp_make_slot(Relation rel, TupleTableSlot *slot, TpOccasion occasion,
			 TpRowPlan *plan)
{
	MemoryContext caller = MemoryContextSwitchTo(tp_row_context);
	TupleDesc	desc = RelationGetDescr(rel);
	TupleTableSlot *result = NULL;
	Datum	   *values = palloc(desc->natts * sizeof(Datum));

	/*
	 * Fetching values can rebuild the relation's cache entry.  The entry
	 * keeps a descriptor that nobody else has pinned, and frees it at the end
	 * of the transaction, even if somebody pins it later.
	 */
	PinTupleDesc(desc);
	slot_getallattrs(slot);
	memcpy(values, slot->tts_values, desc->natts * sizeof(Datum));
	if (tp_row_apply(rel, values, slot->tts_isnull, occasion, plan) ||
		plan->moved != NULL)
	{
		HeapTuple	tuple = heap_form_tuple(desc, values, slot->tts_isnull);

		/* let heap call the toaster */
		if (plan->moved != NULL)
			tuple->t_data->t_infomask |= HEAP_HASEXTERNAL;

		/*
		 * Give the slot its own tuple, because tp_finish_slot() reads the
		 * tuple's header.
		 */
		result = MakeSingleTupleTableSlot(desc, &TTSOpsHeapTuple);
		ExecStoreHeapTuple(tuple, result, true);
		result->tts_tableOid = slot->tts_tableOid;
	}
	ReleaseTupleDesc(desc);
	MemoryContextSwitchTo(caller);

	return result;
}

/*
 * Copy heap's information about the row into the caller's slot, and drop the
 * slot that heap has stored.
 *
 * heap writes the transaction and the command into the header of the tuple
 * that it gets.  RETURNING xmin, for example, reads the transaction in that
 * header.
 */
static void
tp_finish_slot(TupleTableSlot *slot, TupleTableSlot *stored)
{
	slot->tts_tid = stored->tts_tid;
	slot->tts_tableOid = stored->tts_tableOid;

	/*
	 * Change only a tuple that the slot owns: another may be in a shared
	 * buffer.
	 */
	if ((TTS_IS_HEAPTUPLE(slot) || TTS_IS_BUFFERTUPLE(slot)) &&
		TTS_SHOULDFREE(slot) && ((HeapTupleTableSlot *) slot)->tuple != NULL)
	{
		HeapTuple	tuple = ((HeapTupleTableSlot *) slot)->tuple;
		HeapTuple	from = ((HeapTupleTableSlot *) stored)->tuple;
		HeapTupleHeader header = tuple->t_data;

		tuple->t_self = from->t_self;
		tuple->t_tableOid = from->t_tableOid;
		header->t_choice.t_heap = from->t_data->t_choice.t_heap;
		header->t_infomask &= ~HEAP_XACT_MASK;
		header->t_infomask |= from->t_data->t_infomask & HEAP_XACT_MASK;
		header->t_infomask2 &= ~HEAP2_XACT_MASK;
		header->t_infomask2 |= from->t_data->t_infomask2 & HEAP2_XACT_MASK;
	}
	ExecDropSingleTupleTableSlot(stored);
}

/*
 * Make the memory for a row on its way to heap.  The memory context is kept,
 * with a block large enough for most rows, because making a context for each
 * row would take as long as compressing a value that shrinks well.  Memory
 * left over from an error is freed at the end of the transaction, or when the
 * next row begins.
 */
static void
tp_begin_row(void)
{
	if (tp_row_context == NULL)
		tp_row_context = AllocSetContextCreate(TopMemoryContext,
											   "toast_policy row",
											   0, TP_ROW_BLOCK_SIZE,
											   ALLOCSET_DEFAULT_MAXSIZE);
	else
		MemoryContextReset(tp_row_context);
}

/* Free the memory of tp_begin_row(). */
static void
tp_end_row(void)
{
	MemoryContextReset(tp_row_context);
}

/*
 * Return true if values of small rows of the table go out of line, so that the
 * access method must tell heap how to store each row.
 */
static bool
tp_is_steered(Relation rel)
{
	return tp_out_of_line_size(rel) > 0 && tp_governed_count(rel) > 0;
}

/* Insert a row.  If speculative is false, specToken is not used. */
static void
tp_insert_row(Relation rel, TupleTableSlot *slot, CommandId cid,
			  CompatOptions options, BulkInsertState bistate, bool speculative,
			  uint32 specToken)
{
	if (speculative)
		tp_heap_am->tuple_insert_speculative(rel, slot, cid, options, bistate,
											 specToken);
	else
		tp_heap_am->tuple_insert(rel, slot, cid, options, bistate);
}

/* Insert a row whose values go out of line as the plan says. */
static void
tp_insert_steered(Relation rel, TupleTableSlot *slot, const TpRowPlan *plan,
				  CommandId cid, CompatOptions options,
				  BulkInsertState bistate, bool speculative, uint32 specToken)
{
	TpSteering	steering;

	tp_steer(&steering, rel, plan);
	PG_TRY();
	{
		tp_insert_row(rel, slot, cid, options, bistate, speculative, specToken);
	}
	PG_CATCH();
	{
		tp_release(&steering);
		PG_RE_THROW();
	}
	PG_END_TRY();
	tp_release(&steering);
}

/* Apply the policy to a row, and insert it. */
static void
tp_insert(Relation rel, TupleTableSlot *slot, CommandId cid,
		  CompatOptions options, BulkInsertState bistate, bool speculative,
		  uint32 specToken)
{
	TupleTableSlot *stored;
	TpRowPlan	plan = {0};

	if (likely(tp_row_is_small(rel, slot, TP_INSERT)))
	{
		tp_insert_row(rel, slot, cid, options, bistate, speculative, specToken);
		return;
	}

	tp_begin_row();
	stored = tp_make_slot(rel, slot, TP_INSERT, &plan);
	if (tp_is_steered(rel))
		tp_insert_steered(rel, stored ? stored : slot, &plan, cid, options,
						  bistate, speculative, specToken);
	else
		tp_insert_row(rel, stored ? stored : slot, cid, options, bistate,
					  speculative, specToken);
	if (stored)
		tp_finish_slot(slot, stored);
	tp_end_row();
}

static void
tp_tuple_insert(Relation rel, TupleTableSlot *slot, CommandId cid,
				CompatOptions options, BulkInsertState bistate)
{
	tp_insert(rel, slot, cid, options, bistate, false, 0);
}

static void
tp_tuple_insert_speculative(Relation rel, TupleTableSlot *slot, CommandId cid,
							CompatOptions options, BulkInsertState bistate,
							uint32 specToken)
{
	tp_insert(rel, slot, cid, options, bistate, true, specToken);
}

/* Return true if the same values of two rows go out of line. */
static bool
tp_same_plan(const TpRowPlan *a, const TpRowPlan *b, int natts)
{
	if (a->moved == NULL || b->moved == NULL)
		return a->moved == b->moved;

	return memcmp(a->moved, b->moved, natts * sizeof(bool)) == 0;
}

/* Insert rows that have the same plan. */
static void
tp_multi_insert_steered(Relation rel, TupleTableSlot **slots, int nslots,
						const TpRowPlan *plan, CommandId cid,
						CompatOptions options, BulkInsertState bistate)
{
	TpSteering	steering;

	tp_steer(&steering, rel, plan);
	PG_TRY();
	{
		tp_heap_am->multi_insert(rel, slots, nslots, cid, options, bistate);
	}
	PG_CATCH();
	{
		tp_release(&steering);
		PG_RE_THROW();
	}
	PG_END_TRY();
	tp_release(&steering);
}

/*
 * Insert rows of a table whose values go out of line.  Insert consecutive rows
 * with the same plan in one call of heap.
 */
static void
tp_insert_runs(Relation rel, TupleTableSlot **slots, const TpRowPlan *plans,
			   int nslots, CommandId cid, CompatOptions options,
			   BulkInsertState bistate)
{
	int			natts = RelationGetNumberOfAttributes(rel);
	int			end;

	for (int start = 0; start < nslots; start = end)
	{
		for (end = start + 1; end < nslots; end++)
			if (!tp_same_plan(&plans[start], &plans[end], natts))
				break;
		tp_multi_insert_steered(rel, slots + start, end - start, &plans[start],
								cid, options, bistate);
	}
}

static void
tp_multi_insert(Relation rel, TupleTableSlot **slots, int nslots, CommandId cid,
				CompatOptions options, BulkInsertState bistate)
{
	TupleTableSlot **stored = NULL;
	TpRowPlan  *plans = NULL;
	bool		begun = false;

	for (int i = 0; i < nslots; i++)
	{
		TupleTableSlot *slot;
		TpRowPlan	plan = {0};

		if (likely(tp_row_is_small(rel, slots[i], TP_INSERT)))
			continue;
		if (!begun)
		{
			tp_begin_row();
			begun = true;
			if (tp_is_steered(rel))
				plans = MemoryContextAllocZero(tp_row_context, nslots * sizeof(*plans));
		}
		slot = tp_make_slot(rel, slots[i], TP_INSERT, &plan);
		if (plans != NULL)
			plans[i] = plan;
		if (slot == NULL)
			continue;
		if (stored == NULL)
		{
			stored = MemoryContextAlloc(tp_row_context, nslots * sizeof(*stored));
			memcpy(stored, slots, nslots * sizeof(*stored));
		}
		stored[i] = slot;
	}

	if (plans != NULL)
		tp_insert_runs(rel, stored ? stored : slots, plans, nslots, cid,
					   options, bistate);
	else
		tp_heap_am->multi_insert(rel, stored ? stored : slots, nslots, cid,
								 options, bistate);
	for (int i = 0; stored != NULL && i < nslots; i++)
	{
		if (stored[i] != slots[i])
			tp_finish_slot(slots[i], stored[i]);
	}
	if (begun)
		tp_end_row();
}

/* Update a row whose values go out of line as the plan says. */
static TM_Result
tp_update_steered(Relation rel, ItemPointer otid, TupleTableSlot *slot,
				  const TpRowPlan *plan, CommandId cid,
				  COMPAT_UPDATE_OPTIONS_PARAM Snapshot snapshot,
				  Snapshot crosscheck, bool wait, TM_FailureData *tmfd,
				  LockTupleMode *lockmode, CompatUpdateIndexes *update_indexes)
{
	TpSteering	steering;
	volatile TM_Result result = TM_Ok;

	tp_steer(&steering, rel, plan);
	PG_TRY();
	{
		result = tp_heap_am->tuple_update(rel, otid, slot, cid,
										  COMPAT_UPDATE_OPTIONS snapshot,
										  crosscheck, wait, tmfd, lockmode,
										  update_indexes);
	}
	PG_CATCH();
	{
		tp_release(&steering);
		PG_RE_THROW();
	}
	PG_END_TRY();
	tp_release(&steering);

	return result;
}

static TM_Result
tp_tuple_update(Relation rel, ItemPointer otid, TupleTableSlot *slot,
				CommandId cid, COMPAT_UPDATE_OPTIONS_PARAM Snapshot snapshot,
				Snapshot crosscheck, bool wait, TM_FailureData *tmfd,
				LockTupleMode *lockmode, CompatUpdateIndexes *update_indexes)
{
	bool		small = tp_row_is_small(rel, slot, TP_UPDATE);
	bool		steered = tp_is_steered(rel);
	TupleTableSlot *stored = NULL;
	TpRowPlan	plan = {0};
	TM_Result	result;

	if (likely(small && !steered))
		return tp_heap_am->tuple_update(rel, otid, slot, cid,
										COMPAT_UPDATE_OPTIONS snapshot,
										crosscheck, wait, tmfd, lockmode,
										update_indexes);

	tp_begin_row();
	if (!small)
		stored = tp_make_slot(rel, slot, TP_UPDATE, &plan);
	else if (OidIsValid(rel->rd_rel->reltoastrelid))
	{
		MemoryContext caller = MemoryContextSwitchTo(tp_row_context);

		slot_getallattrs(slot);
		tp_row_keep_pointers(rel, slot, &plan);
		MemoryContextSwitchTo(caller);
	}

	/*
	 * heap calls the toaster even for a small row, if the row or its old
	 * version has values out of line.
	 */
	if (steered)
		result = tp_update_steered(rel, otid, stored ? stored : slot, &plan,
								   cid, COMPAT_UPDATE_OPTIONS snapshot,
								   crosscheck, wait, tmfd, lockmode,
								   update_indexes);
	else
		result = tp_heap_am->tuple_update(rel, otid, stored ? stored : slot, cid,
										  COMPAT_UPDATE_OPTIONS snapshot,
										  crosscheck, wait, tmfd, lockmode,
										  update_indexes);
	if (stored)
		tp_finish_slot(slot, stored);
	tp_end_row();

	return result;
}

/* Change a relation's cache entry as the disguise requires. */
static void
tp_put_on(const TpDisguise *disguise)
{
	disguise->rel->rd_tableam = tp_heap_am;
	if (OidIsValid(disguise->amoid))
		disguise->rel->rd_rel->relam = HEAP_TABLE_AM_OID;
}

/*
 * If the cache entry of a disguised relation is rebuilt, it gets the access
 * method's own callbacks again.  Replace these callbacks again.
 */
static void
tp_relcache_callback(Datum arg, Oid relid)
{
	for (TpDisguise *disguise = tp_disguises; disguise; disguise = disguise->outer)
		if (!OidIsValid(relid) || relid == RelationGetRelid(disguise->rel))
			tp_put_on(disguise);
}

/*
 * A FATAL error ends the session without unwinding the stack.  The list of
 * disguised relations points to variables on the stack, so empty the list.
 */
static void
tp_am_xact_callback(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_ABORT)
	{
		tp_disguises = NULL;
		if (tp_row_context != NULL)
			MemoryContextReset(tp_row_context);
	}
}

/*
 * Make a relation look like a table of heap until tp_undisguise() is called.
 * Code that reads the relation's callbacks sees heap's callbacks.  If
 * in_catalog is true, code that reads the pg_class row in the cache entry sees
 * heap, too.
 */
static void
tp_disguise(TpDisguise *disguise, Relation rel, bool in_catalog)
{
	disguise->rel = rel;
	disguise->amoid = in_catalog ? rel->rd_rel->relam : InvalidOid;
	disguise->outer = tp_disguises;
	tp_disguises = disguise;
	tp_put_on(disguise);
}

static void
tp_undisguise(TpDisguise *disguise)
{
	tp_disguises = disguise->outer;
	disguise->rel->rd_tableam = &tp_am;
	if (OidIsValid(disguise->amoid))
		disguise->rel->rd_rel->relam = disguise->amoid;
	for (TpDisguise *outer = tp_disguises; outer; outer = outer->outer)
		if (outer->rel == disguise->rel)
			tp_put_on(outer);
}

/*
 * Call a function that opens the relation and accepts only tables of heap.
 * The relation must use the access method, and must be open and locked.
 */
void
tp_call_as_heap(Relation rel, void (*function) (void *arg), void *arg)
{
	TpDisguise	disguise;

	tp_disguise(&disguise, rel, true);
	PG_TRY();
	{
		function(arg);
	}
	PG_CATCH();
	{
		tp_undisguise(&disguise);
		PG_RE_THROW();
	}
	PG_END_TRY();
	tp_undisguise(&disguise);
}

static double
tp_index_build_range_scan(Relation table_rel, Relation index_rel,
						  struct IndexInfo *index_info, bool allow_sync,
						  bool anyvisible, bool progress,
						  BlockNumber start_blockno, BlockNumber numblocks,
						  IndexBuildCallback callback, void *callback_state,
						  TableScanDesc scan)
{
	TpDisguise	disguise;
	volatile double reltuples = 0;

	tp_disguise(&disguise, table_rel, false);
	PG_TRY();
	{
		reltuples = tp_heap_am->index_build_range_scan(table_rel, index_rel,
													   index_info, allow_sync,
													   anyvisible, progress,
													   start_blockno, numblocks,
													   callback, callback_state,
													   scan);
	}
	PG_CATCH();
	{
		tp_undisguise(&disguise);
		PG_RE_THROW();
	}
	PG_END_TRY();
	tp_undisguise(&disguise);

	return reltuples;
}

static void
tp_index_validate_scan(Relation table_rel, Relation index_rel,
					   struct IndexInfo *index_info, Snapshot snapshot,
					   struct ValidateIndexState *state)
{
	TpDisguise	disguise;

	tp_disguise(&disguise, table_rel, false);
	PG_TRY();
	{
		tp_heap_am->index_validate_scan(table_rel, index_rel, index_info,
										snapshot, state);
	}
	PG_CATCH();
	{
		tp_undisguise(&disguise);
		PG_RE_THROW();
	}
	PG_END_TRY();
	tp_undisguise(&disguise);
}

/*
 * VACUUM FULL, CLUSTER and REPACK keep the stored form of values; recompress()
 * decides anew whether to compress them.  heap's callback can keep the stored
 * form, unless values of small rows go out of line.
 */
static void
tp_relation_copy_for_cluster(Relation OldHeap, Relation NewHeap,
							 Relation OldIndex, bool use_sort,
							 TransactionId OldestXmin,
							 COMPAT_COPY_SNAPSHOT_PARAM TransactionId *xid_cutoff,
							 MultiXactId *multi_cutoff,
							 double *num_tuples, double *tups_vacuumed,
							 double *tups_recently_dead)
{
	if (tp_recompressing(OldHeap) || tp_is_steered(OldHeap))
		tp_copy_table(OldHeap, NewHeap, OldIndex, use_sort, OldestXmin,
					  *xid_cutoff, *multi_cutoff, num_tuples, tups_vacuumed,
					  tups_recently_dead);
	else
		tp_heap_am->relation_copy_for_cluster(OldHeap, NewHeap, OldIndex,
											  use_sort, OldestXmin,
											  COMPAT_COPY_SNAPSHOT xid_cutoff,
											  multi_cutoff, num_tuples,
											  tups_vacuumed,
											  tups_recently_dead);
}

/*
 * The TOAST table is a table of heap.  heap's callback would return the access
 * method of the table itself.
 */
static Oid
tp_relation_toast_am(Relation rel)
{
	return HEAP_TABLE_AM_OID;
}

static bool
tp_relation_needs_toast_table(Relation rel)
{
	return tp_heap_am->relation_needs_toast_table(rel) || tp_needs_toast_table(rel);
}

/* Return the access method's callbacks. */
const TableAmRoutine *
tp_access_method(void)
{
	return &tp_am;
}

/*
 * The access method's handler.
 */
Datum
tp_handler(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(&tp_am);
}

/* Called when the library is loaded. */
void
tp_am_init(void)
{
	tp_heap_am = GetHeapamTableAmRoutine();
	tp_am = *tp_heap_am;
	tp_am.tuple_insert = tp_tuple_insert;
	tp_am.tuple_insert_speculative = tp_tuple_insert_speculative;
	tp_am.multi_insert = tp_multi_insert;
	tp_am.tuple_update = tp_tuple_update;
	tp_am.index_build_range_scan = tp_index_build_range_scan;
	tp_am.index_validate_scan = tp_index_validate_scan;
	tp_am.relation_copy_for_cluster = tp_relation_copy_for_cluster;
	tp_am.relation_toast_am = tp_relation_toast_am;
	tp_am.relation_needs_toast_table = tp_relation_needs_toast_table;

	CacheRegisterRelcacheCallback(tp_relcache_callback, (Datum) 0);
	RegisterXactCallback(tp_am_xact_callback, NULL);
}
