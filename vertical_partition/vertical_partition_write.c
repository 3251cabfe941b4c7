/*-------------------------------------------------------------------------
 *
 * vertical_partition_write.c
 *	  Write rows through a split view.
 *
 * write_row() is the INSTEAD OF trigger of split views.  The trigger writes
 * rows by the executor's own functions, so that constraints, indexes, foreign
 * keys and triggers of the parts work as for any table.
 *
 * A view's trigger gets rows as the statement's snapshot shows them, so that
 * a write could overwrite a concurrent update.  Therefore do the same as
 * UPDATE and DELETE of a table: lock the row, and if it has a newer version,
 * evaluate the statement's plan for that version (EvalPlanQual).  To lock a
 * row, lock its hot part.  A cold row is never changed without a new version
 * of the hot row.  So the version of the hot row represents the version of
 * the whole row.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_write.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "parser/parsetree.h"
#include "tcop/pquery.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "vertical_partition.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_row.h"

PG_FUNCTION_INFO_V1(vp_write_row);

/* A running statement that writes to a view by triggers */
typedef struct VpQuery
{
	dlist_node	node;
	EState	   *estate;
	PlanState  *planstate;
	MemoryContextCallback callback;
} VpQuery;

static dlist_head vp_queries = DLIST_STATIC_INIT(vp_queries);
static ExecutorStart_hook_type prev_ExecutorStart = NULL;

/*
 * Memory context callback: forget a statement that has ended or has failed.
 */
static void
vp_query_end(void *arg)
{
	dlist_delete(&((VpQuery *) arg)->node);
}

/* Return true if the node is a ModifyTable that writes to a view. */
static bool
vp_writes_view(PlanState *planstate)
{
	return planstate && IsA(planstate, ModifyTableState) &&
		((ModifyTableState *) planstate)->resultRelInfo->ri_RelationDesc->rd_rel->relkind == RELKIND_VIEW;
}

/*
 * Raise an error if the triggers of the split view do not fire in this
 * session.  Without the triggers, nothing would be written.
 */
void
vp_check_replica_role(Oid view)
{
	if (SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA && vp_layout(view))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot write to view \"%s\" of a split table while \"session_replication_role\" is \"replica\"",
						get_rel_name(view))));
}

/* Call vp_check_replica_role() if the node writes to a view. */
static void
vp_check_node(PlanState *planstate)
{
	if (vp_writes_view(planstate))
		vp_check_replica_role(RelationGetRelid(((ModifyTableState *) planstate)->resultRelInfo->ri_RelationDesc));
}

/*
 * ExecutorStart hook: record the statement, so that write_row() can find the
 * plan node that calls it.
 */
static void
vp_ExecutorStart(QueryDesc *query, int eflags)
{
	bool		wanted;
	ListCell   *lc;

	if (prev_ExecutorStart)
		prev_ExecutorStart(query, eflags);
	else
		standard_ExecutorStart(query, eflags);

	wanted = vp_writes_view(query->planstate);
	foreach(lc, query->estate->es_auxmodifytables)
		wanted = wanted || vp_writes_view((PlanState *) lfirst(lc));
	if (wanted && !(eflags & EXEC_FLAG_EXPLAIN_ONLY))
	{
		VpQuery    *entry;

		vp_check_node(query->planstate);
		foreach(lc, query->estate->es_auxmodifytables)
			vp_check_node((PlanState *) lfirst(lc));

		entry = MemoryContextAlloc(query->estate->es_query_cxt, sizeof(VpQuery));

		entry->estate = query->estate;
		entry->planstate = query->planstate;
		entry->callback.func = vp_query_end;
		entry->callback.arg = entry;
		dlist_push_head(&vp_queries, &entry->node);
		MemoryContextRegisterResetCallback(query->estate->es_query_cxt, &entry->callback);
	}
}

/* Install the hook when the library is loaded. */
void
vp_write_init(void)
{
	prev_ExecutorStart = ExecutorStart_hook;
	ExecutorStart_hook = vp_ExecutorStart;
}

/* Return true if the trigger belongs to this plan node. */
static bool
vp_is_caller(PlanState *planstate, const Trigger *trigger)
{
	TriggerDesc *desc;

	if (!vp_writes_view(planstate))
		return false;
	desc = ((ModifyTableState *) planstate)->resultRelInfo->ri_TrigDesc;

	/* each node has its own copy of the triggers */
	return desc && trigger >= desc->triggers && trigger < desc->triggers + desc->numtriggers;
}

/* Return the plan node that has called the trigger, or NULL. */
static ModifyTableState *
vp_find_caller(const Trigger *trigger)
{
	dlist_iter	iter;

	dlist_foreach(iter, &vp_queries)
	{
		VpQuery    *query = dlist_container(VpQuery, node, iter.cur);
		ListCell   *lc;

		if (vp_is_caller(query->planstate, trigger))
			return (ModifyTableState *) query->planstate;
		foreach(lc, query->estate->es_auxmodifytables)
		{
			if (vp_is_caller((PlanState *) lfirst(lc), trigger))
				return (ModifyTableState *) lfirst(lc);
		}
	}
	return NULL;
}

/*
 * Raise an error unless the row comes from COPY or a plain INSERT.  If the
 * library was loaded only when the trigger fired, the ExecutorStart hook has
 * not seen the statement.  The statement could have an ON CONFLICT clause,
 * which must not be ignored.
 */
static void
vp_check_caller(Relation view)
{
	PlannedStmt *stmt;
	ModifyTable *node;

	if (vp_is_copying(RelationGetRelid(view)))
		return;
	if (ActivePortal && list_length(ActivePortal->stmts) == 1)
	{
		stmt = linitial_node(PlannedStmt, ActivePortal->stmts);
		if (stmt->commandType == CMD_UTILITY && IsA(stmt->utilityStmt, CopyStmt))
			return;
		node = (ModifyTable *) stmt->planTree;
		if (stmt->commandType == CMD_INSERT && !stmt->hasModifyingCTE && node && IsA(node, ModifyTable) &&
			node->onConflictAction == ONCONFLICT_NONE &&
			rt_fetch(node->nominalRelation, stmt->rtable)->relid == RelationGetRelid(view))
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("library \"%s\" was not loaded when the statement began that writes to view \"%s\" of a split table",
					"vertical_partition", RelationGetRelationName(view)),
			 errhint("Add the library to \"session_preload_libraries\".  In this session, it is loaded now.")));
}

/*
 * Insert the row.  Insert the hot part first with VP_SHARED_KEY, else last,
 * because a row pointer needs the TID of the cold row.
 */
static HeapTuple
vp_insert(VpRow *row)
{
	ModifyTable *plan = row->node ? (ModifyTable *) row->node->ps.plan : NULL;

	if (plan && plan->operation == CMD_INSERT && plan->onConflictAction != ONCONFLICT_NONE)
		return vp_insert_or_update(row);

	vp_open_parts(row, false);
	vp_fill_insert(row);
	if (row->layout.method != VP_SHARED_KEY)
		ExecSimpleRelationInsert(row->cold.info, row->estate, row->cold.slot);
	if (row->layout.method == VP_ROW_POINTER)
	{
		row->hot.slot->tts_values[row->layout.hot_link - 1] = PointerGetDatum(&row->cold.slot->tts_tid);
		row->hot.slot->tts_isnull[row->layout.hot_link - 1] = false;
	}
	ExecSimpleRelationInsert(row->hot.info, row->estate, row->hot.slot);
	if (row->layout.method == VP_SHARED_KEY)
		ExecSimpleRelationInsert(row->cold.info, row->estate, row->cold.slot);
	return vp_result(row);
}

/*
 * Lock the row.  Return false if the row no longer exists, or if its newer
 * version does not satisfy the statement's conditions.
 */
static bool
vp_lock_latest(VpRow *row, ItemPointer tid, bool *newer)
{
	VpLock		lock = vp_lock_row(row, tid);

	*newer = lock == VP_NEWER;
	return lock == VP_LOCKED || (*newer && vp_recheck(row));
}

/* Update the row.  If only hot columns change, the update itself locks the row. */
static HeapTuple
vp_update(VpRow *row)
{
	TM_FailureData tmfd;
	ItemPointerData tid;
	TM_Result	result;
	bool		newer;

	vp_open_parts(row, false);
	vp_fetch_old(row);
	vp_compare(row);
	tid = row->hot.current->tts_tid;

	if (!row->cold_changed)
	{
		vp_check_generated(row);
		vp_fill_update(row, &row->hot);
		ExecStoreVirtualTuple(row->hot.slot);
		result = vp_update_part(row, &row->hot, &tmfd);
		if (result == TM_Ok)
			return vp_result(row);
		if (result == TM_SelfModified)
		{
			(void) vp_self_modified(row, &tmfd);
			return NULL;
		}
		if (result != TM_Updated && result != TM_Deleted)
			vp_unexpected(&row->hot, result);
	}

	if (!vp_lock_latest(row, &tid, &newer))
		return NULL;
	if (newer)
	{
		vp_compare(row);

		/*
		 * the new values for the newer version may change a key, which needs
		 * a stronger lock
		 */
		if (vp_lock_row(row, &tid) != VP_LOCKED)
			elog(ERROR, "row of table \"%s\" is not locked", RelationGetRelationName(row->hot.rel));
	}
	vp_write_update(row);
	return vp_result(row);
}

/* Delete the row. */
static HeapTuple
vp_delete(VpRow *row)
{
	TM_FailureData tmfd;
	ItemPointerData tid;
	TM_Result	result;
	bool		newer;

	vp_open_parts(row, false);
	vp_fetch_old(row);
	tid = row->hot.current->tts_tid;
	result = vp_delete_part(row, &row->hot, &tmfd);
	if (result == TM_SelfModified)
	{
		(void) vp_self_modified(row, &tmfd);
		return NULL;
	}
	if (result == TM_Updated || result == TM_Deleted)
	{
		if (!vp_lock_latest(row, &tid, &newer))
			return NULL;
		result = vp_delete_part(row, &row->hot, &tmfd);
	}
	if (result != TM_Ok)
		vp_unexpected(&row->hot, result);
	result = vp_delete_part(row, &row->cold, &tmfd);
	if (result != TM_Ok)
		vp_unexpected(&row->cold, result);
	return row->trigdata->tg_trigtuple;
}

/*
 * vertical_partition.write_row() -- INSTEAD OF row trigger of a split view
 *
 * Write the row to the parts.  Return the row as written, or NULL if there was no row
 * left to write.  Raise the errors that the statement would raise for a table.
 */
Datum
vp_write_row(PG_FUNCTION_ARGS)
{
	VpRow		row;
	HeapTuple	result;
	const VpLayout *layout;
	TriggerData *trigdata = (TriggerData *) fcinfo->context;
	int			natts;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager", "write_row")));
	if (!TRIGGER_FIRED_INSTEAD(trigdata->tg_event) || !TRIGGER_FIRED_FOR_ROW(trigdata->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" must be fired INSTEAD OF, for each row", "write_row")));
	layout = vp_layout(RelationGetRelid(trigdata->tg_relation));
	if (layout == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("view \"%s\" is not the view of a split table",
						RelationGetRelationName(trigdata->tg_relation)),
				 errhint("Restore the definition that vertical_partition.split() made.")));

	memset(&row, 0, sizeof(row));
	vp_copy_layout(&row.layout, layout);
	row.trigdata = trigdata;
	row.desc = RelationGetDescr(trigdata->tg_relation);
	row.node = vp_find_caller(trigdata->tg_trigger);
	if (row.node)
	{
		row.snapshot = row.node->ps.state->es_snapshot;
		row.cid = row.node->ps.state->es_output_cid;
	}
	else
	{
		row.snapshot = GetActiveSnapshot();
		row.cid = GetCurrentCommandId(true);
		if (!TRIGGER_FIRED_BY_INSERT(trigdata->tg_event))
			elog(ERROR, "statement that changes view \"%s\" is not known", RelationGetRelationName(trigdata->tg_relation));
		vp_check_caller(trigdata->tg_relation);
	}

	natts = row.desc->natts;
	if (natts != row.layout.natts)
		elog(ERROR, "view \"%s\" has another number of columns than its definition", RelationGetRelationName(trigdata->tg_relation));
	row.old_values = palloc(natts * sizeof(Datum));
	row.old_nulls = palloc(natts * sizeof(bool));
	row.new_values = palloc(natts * sizeof(Datum));
	row.new_nulls = palloc(natts * sizeof(bool));
	row.changed = palloc0(natts * sizeof(bool));
	if (TRIGGER_FIRED_BY_INSERT(trigdata->tg_event))
		heap_deform_tuple(trigdata->tg_trigtuple, row.desc, row.new_values, row.new_nulls);
	else
		heap_deform_tuple(trigdata->tg_trigtuple, row.desc, row.old_values, row.old_nulls);
	if (TRIGGER_FIRED_BY_UPDATE(trigdata->tg_event))
		heap_deform_tuple(trigdata->tg_newtuple, row.desc, row.new_values, row.new_nulls);

	if (TRIGGER_FIRED_BY_INSERT(trigdata->tg_event))
		result = vp_insert(&row);
	else if (TRIGGER_FIRED_BY_UPDATE(trigdata->tg_event))
		result = vp_update(&row);
	else
		result = vp_delete(&row);

	vp_close_row(&row);
	return PointerGetDatum(result);
}
