/*-------------------------------------------------------------------------
 *
 * vertical_partition_row_recheck.c
 *	  Find, lock and recheck the row that a statement changes.
 *
 * These functions make concurrent statements on a split view behave as on a
 * table.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_row_recheck.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "parser/parsetree.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "vertical_partition.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_row.h"

/*
 * Return the mode for locking the hot row, which depends on whether a key
 * changes.
 */
static LockTupleMode
vp_lock_mode(VpRow *row)
{
	Bitmapset  *keys;
	LockTupleMode mode = LockTupleNoKeyExclusive;

	if (TRIGGER_FIRED_BY_DELETE(row->trigdata->tg_event))
		return LockTupleExclusive;
	keys = RelationGetIndexAttrBitmap(row->hot.rel, INDEX_ATTR_BITMAP_KEY);
	for (int i = 0; i < row->layout.natts; i++)
	{
		VpColumn   *column = &row->layout.columns[i];

		if (row->changed[i] && !column->cold &&
			bms_is_member(column->attnum - FirstLowInvalidHeapAttributeNumber, keys))
			mode = LockTupleExclusive;
	}
	bms_free(keys);
	return mode;
}

/*
 * Handle a row that was changed by the same statement, or by a function that
 * the statement called.  Raise the error that the server would raise for a
 * table, or return VP_GONE to skip the row.
 */
VpLock
vp_self_modified(VpRow *row, TM_FailureData *tmfd)
{
	if (tmfd->cmax != row->cid)
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
				 TRIGGER_FIRED_BY_DELETE(row->trigdata->tg_event) ?
				 errmsg("tuple to be deleted was already modified by an operation triggered by the current command") :
				 errmsg("tuple to be updated was already modified by an operation triggered by the current command"),
				 errhint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.")));
	if (row->node->operation == CMD_MERGE)
		ereport(ERROR,
				(errcode(ERRCODE_CARDINALITY_VIOLATION),
				 errmsg("%s command cannot affect row a second time", "MERGE"),
				 errhint("Ensure that not more than one source row matches any one target row.")));
	return VP_GONE;
}

/*
 * Handle a row to which another kind of MERGE action applies now, because
 * another transaction has changed the row.  Return if that action does
 * nothing ("nothing" is true).  Otherwise, raise a serialization failure.
 */
static void
vp_merge_unmatched(VpRow *row, bool nothing)
{
	if (!nothing)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update"),
				 errdetail("MERGE on a split table cannot switch to another kind of action.")));
}

/* Return true if MERGE inserts rows that match no row of the view. */
static bool
vp_merge_inserts(VpRow *row)
{
#ifdef COMPAT_MERGE_VIEW
	return row->node->resultRelInfo->ri_MergeActions[MERGE_WHEN_NOT_MATCHED_BY_TARGET] != NIL;
#else
	return false;
#endif
}

/*
 * Lock the hot row with TID *tid.  This locks the whole row, because nobody
 * changes a cold row without a new version of the hot row.  Put the last
 * version of the hot row into hot.current, and its TID into *tid.
 */
VpLock
vp_lock_row(VpRow *row, ItemPointer tid)
{
	bool		fixed = IsolationUsesXactSnapshot();
	TM_FailureData tmfd;

	switch (table_tuple_lock(row->hot.rel, tid, row->snapshot, row->hot.current, row->cid,
							 vp_lock_mode(row), LockWaitBlock,
							 TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS |
							 (fixed ? 0 : TUPLE_LOCK_FLAG_FIND_LAST_VERSION),
							 &tmfd))
	{
		case TM_Ok:
			*tid = row->hot.current->tts_tid;
			return tmfd.traversed ? VP_NEWER : VP_LOCKED;
		case TM_SelfModified:
			return vp_self_modified(row, &tmfd);
		case TM_Updated:
			if (!fixed)
				elog(ERROR, "unexpected table_tuple_lock status");
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not serialize access due to concurrent update")));
			break;
		case TM_Deleted:
			if (fixed)
				ereport(ERROR,
						(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						 errmsg("could not serialize access due to concurrent delete")));
			if (row->node->operation == CMD_MERGE)
				vp_merge_unmatched(row, !vp_merge_inserts(row));
			return VP_GONE;
		case TM_Invisible:
			elog(ERROR, "attempted to lock invisible tuple");
			break;
		default:
			elog(ERROR, "unrecognized table_tuple_lock status");
	}
	return VP_GONE;				/* keep compiler quiet */
}

/*
 * Find the range table entries by which the statement's plan reads the parts
 * of the row, and store the indexes of these entries in scans[].  Return
 * false if there are no such entries.  The plan may read the parts more than
 * once, in any order, through this view or directly.  So look at the old row,
 * which the rewriter has added to the plan: the columns of the old row belong
 * to the entries that we look for.
 */
static bool
vp_find_scans(VpRow *row, Index *scans)
{
	Plan	   *plan = outerPlan(row->node->ps.plan);
	AttrNumber	resno = row->node->resultRelInfo->ri_RowIdAttNo;
	TargetEntry *tle;
	List	   *columns;

	/* follow the old row down to the plan node that computes it */
	for (;;)
	{
		Var		   *var;

		tle = plan ? get_tle_by_resno(plan->targetlist, resno) : NULL;
		if (tle == NULL)
			return false;
		var = (Var *) tle->expr;
		if (!IsA(var, Var))
			break;
		if (var->varno == OUTER_VAR)
			plan = outerPlan(plan);
		else if (var->varno == INNER_VAR)
			plan = innerPlan(plan);
		else
			return false;
		resno = var->varattno;
	}
	if (!IsA(tle->expr, RowExpr))
		return false;
	columns = ((RowExpr *) tle->expr)->args;
	if (list_length(columns) != row->layout.natts)
		return false;

	scans[0] = scans[1] = 0;
	for (int i = 0; i < row->layout.natts; i++)
	{
		Var		   *var = (Var *) list_nth(columns, i);

		if (IsA(var, Var) && scans[row->layout.columns[i].cold] == 0)
			scans[row->layout.columns[i].cold] = var->varnosyn;
	}
	return scans[0] != 0 && scans[1] != 0;
}

/*
 * Find the row marks in the statement's plan that identify the rows of the
 * hot part and of the cold part.  Return false if the view was not merged
 * into the statement.
 */
static bool
vp_find_marks(VpRow *row, ExecAuxRowMark **marks)
{
	Oid			relids[2] = {row->layout.hot, row->layout.cold};
	Index		scans[2];
	ListCell   *lc;

	marks[0] = marks[1] = NULL;
	if (!vp_find_scans(row, scans))
		return false;
	foreach(lc, row->node->mt_epqstate.arowMarks)
	{
		ExecAuxRowMark *mark = (ExecAuxRowMark *) lfirst(lc);

		for (int i = 0; i < 2; i++)
		{
			if (mark->rowmark->rti == scans[i] && mark->rowmark->relid == relids[i] &&
				mark->rowmark->markType == ROW_MARK_REFERENCE)
				marks[i] = mark;
		}
	}
	return marks[0] && marks[1];
}

/* Return true if the view's column belongs to the key that links the parts. */
static bool
vp_is_key(VpRow *row, int column)
{
	for (int i = 0; i < row->layout.nkeys; i++)
	{
		if (!row->layout.columns[column].cold &&
			row->layout.columns[column].attnum == row->layout.hot_keys[i])
			return true;
	}
	return false;
}

/*
 * Fetch the versions of both parts' rows that the statement has seen.  Their
 * TIDs come from the plan.  Compare the fetched rows with the old row, to
 * make sure that we do not write to another row.
 */
void
vp_fetch_old(VpRow *row)
{
	TupleTableSlot *slot = row->node->mt_epqstate.origslot;
	ExecAuxRowMark *marks[2];
	VpPart	   *parts[2] = {&row->hot, &row->cold};

	if (slot == NULL || TupIsNull(slot) || !vp_find_marks(row, marks))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot tell which rows of the parts of view \"%s\" are to be changed",
						RelationGetRelationName(row->trigdata->tg_relation)),
				 errhint("The view must not be a security barrier view.")));
	for (int i = 0; i < 2; i++)
	{
		bool		isnull;
		Datum		tid = ExecGetJunkAttribute(slot, marks[i]->ctidAttNo, &isnull);

		if (isnull)
			vp_cold_missing(row);
		if (!table_tuple_fetch_row_version(parts[i]->rel, (ItemPointer) DatumGetPointer(tid),
										   SnapshotAny, parts[i]->current))
			elog(ERROR, "failed to fetch row of table \"%s\"", RelationGetRelationName(parts[i]->rel));
	}
	for (int i = 0; i < row->layout.natts; i++)
	{
		VpColumn   *column = &row->layout.columns[i];
		Form_pg_attribute att = TupleDescAttr(row->desc, i);
		bool		isnull;
		Datum		value;

		/*
		 * skip columns of variable length, except keys; skip generated
		 * columns, because a virtual generated column has no stored value
		 */
		if ((att->attlen < 0 && !vp_is_key(row, i)) ||
			TupleDescAttr(RelationGetDescr(parts[column->cold]->rel), column->attnum - 1)->attgenerated != '\0')
			continue;
		value = slot_getattr(parts[column->cold]->current, column->attnum, &isnull);
		if (isnull != row->old_nulls[i] ||
			(!isnull && !datum_image_eq(value, row->old_values[i], att->attbyval, att->attlen)))
			elog(ERROR, "row of table \"%s\" is not the one that was read",
				 RelationGetRelationName(parts[column->cold]->rel));
	}
}

/*
 * Take the old values from a slot with a row of the view.  If "new" is not
 * NULL, take the new values from it.
 */
static void
vp_take_slots(VpRow *row, TupleTableSlot *old, TupleTableSlot *new)
{
	slot_getallattrs(old);
	memcpy(row->old_values, old->tts_values, row->layout.natts * sizeof(Datum));
	memcpy(row->old_nulls, old->tts_isnull, row->layout.natts * sizeof(bool));
	if (new)
	{
		slot_getallattrs(new);
		memcpy(row->new_values, new->tts_values, row->layout.natts * sizeof(Datum));
		memcpy(row->new_nulls, new->tts_isnull, row->layout.natts * sizeof(bool));
	}
	row->rechecked = true;
}

/*
 * Choose the MERGE action for a newer version of the row, which is in
 * ri_oldTupleSlot.  Return the new row of that action, or NULL if the action
 * does nothing.
 */
static TupleTableSlot *
vp_recheck_merge(VpRow *row, TupleTableSlot *plan_slot)
{
#ifdef COMPAT_MERGE_VIEW
	ModifyTableState *node = row->node;
	ResultRelInfo *info = node->resultRelInfo;
	ExprContext *econtext = node->ps.ps_ExprContext;
	ListCell   *lc;

	econtext->ecxt_scantuple = info->ri_oldTupleSlot;
	econtext->ecxt_innertuple = plan_slot;
	econtext->ecxt_outertuple = NULL;
	foreach(lc, info->ri_MergeActions[ExecQual(info->ri_MergeJoinCondition, econtext) ?
									  MERGE_WHEN_MATCHED : MERGE_WHEN_NOT_MATCHED_BY_SOURCE])
	{
		MergeActionState *action = (MergeActionState *) lfirst(lc);

		if (!ExecQual(action->mas_whenqual, econtext))
			continue;

		/*
		 * the action must be of the same kind as before, because the
		 * statement's row counts and RETURNING expect this kind
		 */
		if (action->mas_action->commandType != node->mt_merge_action->mas_action->commandType)
		{
			vp_merge_unmatched(row, action->mas_action->commandType == CMD_NOTHING);
			return NULL;
		}
		return action->mas_action->commandType == CMD_UPDATE ?
			ExecProject(action->mas_proj) : info->ri_oldTupleSlot;
	}
#endif
	return NULL;
}

/*
 * Evaluate the statement for the newer version of the hot row, which is in
 * hot.current and is locked.  UPDATE and DELETE of a table do the same in
 * READ COMMITTED.  Return false if the row no longer qualifies.
 */
bool
vp_recheck(VpRow *row)
{
	EPQState   *epqstate = &row->node->mt_epqstate;
	ResultRelInfo *info = row->node->resultRelInfo;
	ExecAuxRowMark *marks[2];
	VpPart	   *parts[2] = {&row->hot, &row->cold};
	TupleTableSlot *slot;
	bool		isnull;
	Datum		whole;
	MemoryContext old_context;

	vp_find_cold(row, NULL);
	if (!vp_find_marks(row, marks))
		elog(ERROR, "row marks not found");

	/*
	 * create the state in the query's memory context, because it is used for
	 * later rows as well
	 */
	old_context = MemoryContextSwitchTo(row->node->ps.state->es_query_cxt);
	EvalPlanQualBegin(epqstate);
	MemoryContextSwitchTo(old_context);
	for (int i = 0; i < 2; i++)
	{
		Index		rti = marks[i]->rowmark->rti;

		slot = EvalPlanQualSlot(epqstate, parts[i]->rel, rti);
		ExecCopySlot(slot, parts[i]->current);

		/*
		 * ExecCopySlot() does not copy these two fields for a materialized
		 * row
		 */
		slot->tts_tid = parts[i]->current->tts_tid;
		slot->tts_tableOid = parts[i]->current->tts_tableOid;
		epqstate->relsubs_done[rti - 1] = false;

		/*
		 * make the scan use the slot: if there is a row mark, the scan uses
		 * the row of the mark instead
		 */
		epqstate->relsubs_rowmark[rti - 1] = NULL;
	}
	slot = EvalPlanQualNext(epqstate);
	if (!TupIsNull(slot))
		ExecMaterializeSlot(slot);

	/* clear the slots, because they hold buffer pins */
	for (int i = 0; i < 2; i++)
		ExecClearTuple(EvalPlanQualSlot(epqstate, parts[i]->rel, marks[i]->rowmark->rti));
	isnull = TupIsNull(slot);
	whole = isnull ? (Datum) 0 : ExecGetJunkAttribute(slot, info->ri_RowIdAttNo, &isnull);
	if (isnull)
	{
		if (row->node->operation == CMD_MERGE)
			vp_merge_unmatched(row, !vp_merge_inserts(row));
		return false;
	}
	if (TRIGGER_FIRED_BY_UPDATE(row->trigdata->tg_event) || row->node->operation == CMD_MERGE)
	{
		HeapTupleData tuple;

		tuple.t_data = DatumGetHeapTupleHeader(whole);
		tuple.t_len = HeapTupleHeaderGetDatumLength(tuple.t_data);
		ItemPointerSetInvalid(&tuple.t_self);
		tuple.t_tableOid = InvalidOid;
		ExecForceStoreHeapTuple(&tuple, info->ri_oldTupleSlot, false);
		if (row->node->operation == CMD_MERGE)
		{
			slot = vp_recheck_merge(row, slot);
			if (slot == NULL)
				return false;
			vp_take_slots(row, info->ri_oldTupleSlot, slot);
		}
		else
			vp_take_slots(row, info->ri_oldTupleSlot,
						  ExecGetUpdateNewTuple(info, slot, info->ri_oldTupleSlot));
	}
	if (TRIGGER_FIRED_BY_DELETE(row->trigdata->tg_event))
	{
		/* RETURNING is computed from this row */
		row->trigdata->tg_trigtuple->t_data = DatumGetHeapTupleHeader(whole);
		row->trigdata->tg_trigtuple->t_len = HeapTupleHeaderGetDatumLength(row->trigdata->tg_trigtuple->t_data);
	}
	return true;
}
