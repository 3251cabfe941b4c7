/*-------------------------------------------------------------------------
 *
 * vertical_partition_row_conflict.c
 *	  INSERT with ON CONFLICT through a split view.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_row_conflict.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "vertical_partition.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_row.h"

/*
 * Raise a serialization failure if the transaction uses one snapshot for all
 * its statements, and this snapshot does not show the conflicting row.
 * Accept a row that this transaction wrote.
 */
static void
vp_check_visible(VpRow *row, VpPart *part, ItemPointer tid)
{
	TupleTableSlot *slot = part->current;

	if (!IsolationUsesXactSnapshot())
		return;
	if (!table_tuple_fetch_row_version(part->rel, tid, SnapshotAny, slot))
		elog(ERROR, "failed to fetch conflicting tuple for ON CONFLICT");
	if (!table_tuple_satisfies_snapshot(part->rel, slot, row->snapshot))
	{
		bool		isnull;
		Datum		xmin = slot_getsysattr(slot, MinTransactionIdAttributeNumber, &isnull);

		if (!TransactionIdIsCurrentTransactionId(DatumGetTransactionId(xmin)))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not serialize access due to concurrent update")));
	}
	ExecClearTuple(slot);
}

/*
 * Lock the hot row that the new row conflicts with.  Return false if the hot
 * row has been changed meanwhile.
 */
static bool
vp_lock_conflicting(VpRow *row, ItemPointer tid, LockTupleMode mode, bool update)
{
	TM_FailureData tmfd;

	switch (table_tuple_lock(row->hot.rel, tid, row->snapshot, row->hot.current, row->cid, mode,
							 LockWaitBlock, 0, &tmfd))
	{
		case TM_Ok:
			return true;
		case TM_Invisible:
			ereport(ERROR,
					(errcode(ERRCODE_CARDINALITY_VIOLATION),
					 errmsg("%s command cannot affect row a second time",
							update ? "ON CONFLICT DO UPDATE" : "ON CONFLICT DO SELECT"),
					 errhint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")));
			break;
		case TM_Updated:
		case TM_Deleted:
			if (IsolationUsesXactSnapshot())
				ereport(ERROR,
						(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						 errmsg("could not serialize access due to concurrent update")));
			ExecClearTuple(row->hot.current);
			return false;
		default:
			elog(ERROR, "unexpected table_tuple_lock status");
	}
	return false;				/* keep compiler quiet */
}

/*
 * Put the parts of the conflicting row into hot.current and cold.current.
 * Return false if the row has been changed meanwhile.
 *
 * DO SELECT may run without a lock on the row, or with a lock that allows
 * updates.  So read both parts with one snapshot, taken after the conflict
 * was found.  This snapshot does not show a row that this command itself has
 * inserted.  Read such a row with SnapshotSelf, which is safe because no
 * other transaction can change its parts.
 */
static bool
vp_read_conflicting(VpRow *row, ItemPointer tid)
{
	TupleTableSlot *slot = row->hot.current;
	Snapshot	snapshot;
	bool		found;
	bool		isnull;
	Datum		xmin;

	if (!table_tuple_fetch_row_version(row->hot.rel, tid, SnapshotAny, slot))
		elog(ERROR, "failed to fetch conflicting tuple for ON CONFLICT");
	xmin = slot_getsysattr(slot, MinTransactionIdAttributeNumber, &isnull);
	if (TransactionIdIsCurrentTransactionId(DatumGetTransactionId(xmin)))
	{
		vp_find_cold(row, SnapshotSelf);
		return true;
	}
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	found = table_tuple_satisfies_snapshot(row->hot.rel, slot, snapshot);
	if (found)
		vp_find_cold(row, snapshot);
	UnregisterSnapshot(snapshot);
	return found;
}

/*
 * Execute DO UPDATE or DO SELECT for the conflicting row.  Return false if
 * the row has been changed meanwhile; the caller then starts again.  Set
 * *result to the row that was written or selected.  Set it to NULL if the
 * WHERE clause excludes the conflicting row.
 */
static bool
vp_meet_conflicting(VpRow *row, ItemPointer tid, HeapTuple *result)
{
	ModifyTableState *node = row->node;
	bool		update = !COMPAT_SELECTS_CONFLICTING((ModifyTable *) node->ps.plan);
	CompatConflictState *conflict = node->resultRelInfo->ri_onConflict;
	ExprContext *econtext = node->ps.ps_ExprContext;
	TupleTableSlot *existing = conflict->oc_Existing;
	TupleTableSlot *excluded;
	TupleTableSlot *new;
	LockTupleMode mode = LockTupleExclusive;
	bool		lock = true;
	int			natts = row->layout.natts;

	if (update)
	{
		/*
		 * choose the lock mode by the columns in SET, because the columns
		 * whose values change are known only later
		 */
		Bitmapset  *keys = RelationGetIndexAttrBitmap(row->hot.rel, INDEX_ATTR_BITMAP_KEY);

		mode = bms_overlap(keys, ExecGetUpdatedCols(row->hot.info, row->estate)) ?
			LockTupleExclusive : LockTupleNoKeyExclusive;
		bms_free(keys);
	}
	else
		lock = compat_conflict_lock(conflict, &mode);
	if (lock && !vp_lock_conflicting(row, tid, mode, update))
		return false;
	vp_check_visible(row, &row->hot, tid);
	if (!vp_read_conflicting(row, tid))
		return false;

	/* the existing row, and the row proposed for insertion */
	ExecClearTuple(existing);
	vp_view_row(row, row->hot.current, row->cold.current, existing->tts_values, existing->tts_isnull);
	ExecStoreVirtualTuple(existing);
	excluded = MakeSingleTupleTableSlot(row->desc, &TTSOpsVirtual);
	memcpy(excluded->tts_values, row->new_values, natts * sizeof(Datum));
	memcpy(excluded->tts_isnull, row->new_nulls, natts * sizeof(bool));
	ExecStoreVirtualTuple(excluded);

	econtext->ecxt_scantuple = existing;
	econtext->ecxt_innertuple = excluded;
	econtext->ecxt_outertuple = NULL;
	*result = NULL;
	if (ExecQual(conflict->oc_WhereClause, econtext))
	{
		if (update)
		{
			new = ExecProject(conflict->oc_ProjInfo);
			slot_getallattrs(new);
			memcpy(row->old_values, existing->tts_values, natts * sizeof(Datum));
			memcpy(row->old_nulls, existing->tts_isnull, natts * sizeof(bool));
			memcpy(row->new_values, new->tts_values, natts * sizeof(Datum));
			memcpy(row->new_nulls, new->tts_isnull, natts * sizeof(bool));
			row->rechecked = true;
			vp_compare(row);
			row->updating = true;
			vp_write_update(row);
			*result = vp_result(row);
		}
		else
			*result = heap_form_tuple(row->desc, existing->tts_values, existing->tts_isnull);
	}

	/*
	 * clear the slots, because they refer to memory that is freed with this
	 * row
	 */
	econtext->ecxt_scantuple = econtext->ecxt_innertuple = NULL;
	ExecClearTuple(existing);
	ExecDropSingleTupleTableSlot(excluded);
	return true;
}

/* Put the cold row's TID into the new row of the hot part. */
static void
vp_set_pointer(VpRow *row)
{
	TupleTableSlot *slot = row->hot.slot;
	int			natts = slot->tts_tupleDescriptor->natts;
	Datum	   *values = palloc0(natts * sizeof(Datum));
	bool	   *nulls = palloc0(natts * sizeof(bool));
	bool	   *replace = palloc0(natts * sizeof(bool));

	values[row->layout.hot_link - 1] = PointerGetDatum(&row->cold.slot->tts_tid);
	replace[row->layout.hot_link - 1] = true;
	ExecForceStoreHeapTuple(heap_modify_tuple(ExecCopySlotHeapTuple(slot), slot->tts_tupleDescriptor,
											  values, nulls, replace),
							slot, true);
	slot->tts_tableOid = RelationGetRelid(row->hot.rel);
}

/*
 * Insert both parts of the row, unless another session has inserted a
 * conflicting row meanwhile.  Insert both parts speculatively, so that both
 * can be aborted together.  Return true if the row was inserted.
 */
static bool
vp_insert_speculatively(VpRow *row, List *arbiters)
{
	uint32		token = SpeculativeInsertionLockAcquire(GetCurrentTransactionId());
	bool		conflict = false;
	List	   *hot_recheck,
			   *cold_recheck = NIL;

	row->cold.slot->tts_tableOid = RelationGetRelid(row->cold.rel);
	table_tuple_insert_speculative(row->cold.rel, row->cold.slot, row->cid, 0, NULL, token);
	if (row->layout.method == VP_ROW_POINTER)
		vp_set_pointer(row);
	table_tuple_insert_speculative(row->hot.rel, row->hot.slot, row->cid, 0, NULL, token);
	hot_recheck = compat_insert_index_tuples(row->hot.info, row->hot.slot, row->estate, false,
											 &conflict, arbiters, false);

	/*
	 * With the hot row in place, no other row can have the cold row's key.  A
	 * conflict on other unique columns of the cold part leads to the ON
	 * CONFLICT action only if the statement has no conflict target.
	 * Otherwise, such a conflict is an error.
	 */
	if (!conflict && row->cold.info->ri_NumIndices > 0)
		cold_recheck = compat_insert_index_tuples(row->cold.info, row->cold.slot, row->estate, false,
												  arbiters == NIL ? &conflict : NULL, NIL, false);
	table_tuple_complete_speculative(row->hot.rel, row->hot.slot, token, !conflict);
	table_tuple_complete_speculative(row->cold.rel, row->cold.slot, token, !conflict);
	SpeculativeInsertionLockRelease(GetCurrentTransactionId());
	if (conflict)
		return false;
	ExecARInsertTriggers(row->estate, row->hot.info, row->hot.slot, hot_recheck, NULL);
	ExecARInsertTriggers(row->estate, row->cold.info, row->cold.slot, cold_recheck, NULL);
	return true;
}

/*
 * Insert the row, or execute the ON CONFLICT action if there is a conflicting
 * row.  Return the row that was written, or that DO SELECT has selected.
 * Return NULL if there is no such row.
 */
HeapTuple
vp_insert_or_update(VpRow *row)
{
	ModifyTable *plan = (ModifyTable *) row->node->ps.plan;
	List	   *arbiters = row->node->resultRelInfo->ri_onConflictArbiterIndexes;
	HeapTuple	result;

	vp_open_parts(row, true);
	vp_fill_insert(row);
	if (row->layout.method == VP_ROW_POINTER)
	{
		/*
		 * use a dummy TID, because NOT NULL is checked before the cold row
		 * has a TID
		 */
		static ItemPointerData nowhere = {{0, 0}, 1};

		row->hot.slot->tts_values[row->layout.hot_link - 1] = PointerGetDatum(&nowhere);
		row->hot.slot->tts_isnull[row->layout.hot_link - 1] = false;
	}
	vp_prepare_part(row, &row->hot, CMD_INSERT);
	vp_prepare_part(row, &row->cold, CMD_INSERT);
	for (;;)
	{
		ItemPointerData tid;

		CHECK_FOR_INTERRUPTS();
		if (compat_check_index_constraints(row->hot.info, row->hot.slot, row->estate, &tid, arbiters))
		{
			if (arbiters == NIL && row->cold.info->ri_NumIndices > 0 &&
				!compat_check_index_constraints(row->cold.info, row->cold.slot, row->estate, &tid, NIL))
			{
				vp_check_visible(row, &row->cold, &tid);
				return NULL;
			}
			if (vp_insert_speculatively(row, arbiters))
				return vp_result(row);
		}
		else if (plan->onConflictAction == ONCONFLICT_NOTHING)
		{
			vp_check_visible(row, &row->hot, &tid);
			return NULL;
		}
		else if (vp_meet_conflicting(row, &tid, &result))
			return result;
	}
}
