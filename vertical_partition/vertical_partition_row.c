/*-------------------------------------------------------------------------
 *
 * vertical_partition_row.c
 *	  Read and write the parts of a split table for one row.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_row.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "miscadmin.h"
#include "rewrite/rewriteHandler.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "vertical_partition.h"
#include "vertical_partition_alter.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_row.h"

/*
 * Open one part.  The statement requires a privilege on it, for example
 * UPDATE.  As with an automatically updatable view, the view's owner must have
 * this privilege.  If the view has security_invoker, the user must have it
 * instead.
 */
static void
vp_open_part(VpRow *row, VpPart *part, Oid relid, Index rti, bool speculative)
{
	TriggerEvent event = row->trigdata->tg_event;
	AclMode		mode = TRIGGER_FIRED_BY_INSERT(event) ? ACL_INSERT :
		TRIGGER_FIRED_BY_UPDATE(event) ? ACL_UPDATE : ACL_DELETE;

	/*
	 * in delete_cold(), the trigger's relation is the hot part, not the view
	 */
	Relation	target = row->trigdata->tg_relation;
	Oid			user = target->rd_rel->relkind == RELKIND_VIEW && RelationHasSecurityInvoker(target) ?
		GetUserId() : row->layout.owner;
	TriggerDesc *triggers;

	part->rel = table_open(relid, RowExclusiveLock);
	if (part->rel->rd_rel->relkind != RELKIND_RELATION)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("part \"%s\" of a split table is not an ordinary table",
						RelationGetRelationName(part->rel))));
	if (speculative)
		mode |= ACL_SELECT | ACL_UPDATE;
	if (pg_class_aclmask(relid, user, mode, ACLMASK_ALL) != mode)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(part->rel));

	/*
	 * A write to a part by this library fires no statement triggers of the
	 * part, and applies no rules.  Anybody can create a view that looks like
	 * a split view.  So a privilege on the part is not enough: the view's
	 * owner must own the part.
	 */
	if (!compat_relation_ownercheck(relid, row->layout.owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("owner of view \"%s\" must be owner of table \"%s\"",
						RelationGetRelationName(row->trigdata->tg_relation),
						RelationGetRelationName(part->rel))));
	if (part->rel->rd_rel->relrowsecurity &&
		check_enable_rls(relid, user, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("part \"%s\" of a split table has row-level security that applies to the view's owner",
						RelationGetRelationName(part->rel))));

	part->info = makeNode(ResultRelInfo);
	InitResultRelInfo(part->info, part->rel, rti, NULL, 0);
	triggers = part->info->ri_TrigDesc;
	if (triggers && (triggers->trig_insert_before_row || triggers->trig_update_before_row ||
					 triggers->trig_delete_before_row))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("part \"%s\" of a split table has a row-level BEFORE trigger",
						RelationGetRelationName(part->rel)),
				 errhint("Use a row-level AFTER trigger, or vertical_partition.merge() first.")));
	ExecOpenIndices(part->info, speculative);
	row->estate->es_opened_result_relations = lappend(row->estate->es_opened_result_relations, part->info);

	part->current = MakeSingleTupleTableSlot(RelationGetDescr(part->rel), table_slot_callbacks(part->rel));
	part->slot = MakeSingleTupleTableSlot(RelationGetDescr(part->rel), table_slot_callbacks(part->rel));
}

/* Open both parts for the row.  "speculative" is true for ON CONFLICT. */
void
vp_open_parts(VpRow *row, bool speculative)
{
	Oid			relids[2] = {row->layout.hot, row->layout.cold};
	Bitmapset  *updated[2] = {NULL, NULL};

	/*
	 * during ALTER TABLE, the parts can have other column types than the view
	 */
	if (vp_is_altering(row->layout.view))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot write to split table \"%s\" while it is being altered", get_rel_name(row->layout.view))));

	row->estate = CreateExecutorState();
	row->estate->es_snapshot = row->snapshot;
	row->estate->es_output_cid = row->cid;
	if (row->node && !TRIGGER_FIRED_BY_DELETE(row->trigdata->tg_event))
	{
		/*
		 * the executor needs the updated columns for UPDATE OF triggers, and
		 * for the hint to indexes that the indexed values are unchanged
		 */
		Bitmapset  *columns = ExecGetUpdatedCols(row->node->resultRelInfo, row->node->ps.state);

		for (int i = 0; i < row->layout.natts; i++)
		{
			if (bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, columns))
			{
				VpColumn   *column = &row->layout.columns[i];

				updated[column->cold] =
					bms_add_member(updated[column->cold],
								   column->attnum - FirstLowInvalidHeapAttributeNumber);
			}
		}
	}
	compat_init_range_table(row->estate, 2, relids, updated);
	vp_open_part(row, &row->hot, row->layout.hot, 1, speculative);
	vp_open_part(row, &row->cold, row->layout.cold, 2, speculative);
}

/* Close a part.  Keep the lock until the end of the transaction. */
static void
vp_close_part(VpPart *part)
{
	ExecDropSingleTupleTableSlot(part->slot);
	ExecDropSingleTupleTableSlot(part->current);
	ExecCloseIndices(part->info);
	table_close(part->rel, NoLock);
}

/* Close the parts opened by vp_open_parts(), and free the executor state. */
void
vp_close_row(VpRow *row)
{
	vp_close_part(&row->hot);
	vp_close_part(&row->cold);
	ExecResetTupleTable(row->estate->es_tupleTable, false);
	FreeExecutorState(row->estate);
}

/* Raise an error if a value is given for a generated column of the view. */
void
vp_check_generated(VpRow *row)
{
	for (int i = 0; i < row->layout.natts; i++)
	{
		VpColumn   *column = &row->layout.columns[i];
		VpPart	   *part = column->cold ? &row->cold : &row->hot;

		if (TupleDescAttr(RelationGetDescr(part->rel), column->attnum - 1)->attgenerated == '\0')
			continue;
		if (TRIGGER_FIRED_BY_INSERT(row->trigdata->tg_event) && !row->updating ?
			!row->new_nulls[i] : row->changed[i])
			ereport(ERROR,
					(errcode(ERRCODE_GENERATED_ALWAYS),
					 errmsg("cannot assign a value to column \"%s\"",
							NameStr(TupleDescAttr(row->desc, i)->attname)),
					 errdetail("Column \"%s\" is a generated column.",
							   NameStr(TupleDescAttr(row->desc, i)->attname))));
	}
}

/* Return a new key for the cold part.  Raise an error if its column has no default. */
static Datum
vp_surrogate_key(VpRow *row)
{
	Node	   *expr = build_column_default(row->cold.rel, row->layout.cold_link);
	Datum		key;
	bool		isnull = true;

	if (expr)
		key = ExecEvalExprSwitchContext(ExecPrepareExpr((Expr *) expr, row->estate),
										GetPerTupleExprContext(row->estate), &isnull);
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("column \"%s\" of table \"%s\" has lost its default",
						get_attname(row->layout.cold, row->layout.cold_link, false),
						RelationGetRelationName(row->cold.rel)),
				 errhint("The column is the key that links the parts of a split table, and needs a sequence.")));
	return key;
}

/* Fill the parts' slots with a new row, except for the row pointer. */
void
vp_fill_insert(VpRow *row)
{
	TupleTableSlot *hot = row->hot.slot;
	TupleTableSlot *cold = row->cold.slot;

	vp_check_generated(row);
	ExecClearTuple(hot);
	ExecClearTuple(cold);
	memset(hot->tts_isnull, true, hot->tts_tupleDescriptor->natts * sizeof(bool));
	memset(cold->tts_isnull, true, cold->tts_tupleDescriptor->natts * sizeof(bool));
	for (int i = 0; i < row->layout.natts; i++)
	{
		VpColumn   *column = &row->layout.columns[i];
		TupleTableSlot *slot = column->cold ? cold : hot;

		slot->tts_values[column->attnum - 1] = row->new_values[i];
		slot->tts_isnull[column->attnum - 1] = row->new_nulls[i];
	}
	for (int i = 0; i < row->layout.nkeys; i++)
	{
		cold->tts_values[row->layout.cold_keys[i] - 1] = hot->tts_values[row->layout.hot_keys[i] - 1];
		cold->tts_isnull[row->layout.cold_keys[i] - 1] = hot->tts_isnull[row->layout.hot_keys[i] - 1];
	}
	if (row->layout.method == VP_SURROGATE_KEY)
	{
		Datum		key = vp_surrogate_key(row);

		cold->tts_values[row->layout.cold_link - 1] = key;
		cold->tts_isnull[row->layout.cold_link - 1] = false;
		hot->tts_values[row->layout.hot_link - 1] = key;
		hot->tts_isnull[row->layout.hot_link - 1] = false;
	}
	ExecStoreVirtualTuple(hot);
	ExecStoreVirtualTuple(cold);
}

/* Build a row of the view from the rows of its parts. */
void
vp_view_row(VpRow *row, TupleTableSlot *hot, TupleTableSlot *cold, Datum *values, bool *nulls)
{
	slot_getallattrs(hot);
	slot_getallattrs(cold);
	for (int i = 0; i < row->layout.natts; i++)
	{
		VpColumn   *column = &row->layout.columns[i];
		TupleTableSlot *slot = column->cold ? cold : hot;

		values[i] = slot->tts_values[column->attnum - 1];
		nulls[i] = slot->tts_isnull[column->attnum - 1];
	}
}

/* Compare the old and the new row, and record which columns differ. */
void
vp_compare(VpRow *row)
{
	row->cold_changed = false;
	for (int i = 0; i < row->layout.natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(row->desc, i);
		VpColumn   *column = &row->layout.columns[i];

		row->changed[i] = row->old_nulls[i] != row->new_nulls[i] ||
			(!row->old_nulls[i] &&
			 !datum_image_eq(row->old_values[i], row->new_values[i], att->attbyval, att->attlen));
		if (!row->changed[i])
			continue;
		if (column->cold)
			row->cold_changed = true;
		for (int k = 0; k < row->layout.nkeys && !column->cold; k++)
		{
			/* the cold part has a copy of the key */
			if (row->layout.hot_keys[k] == column->attnum)
				row->cold_changed = true;
		}
	}
}

/* Raise an error for a hot row without a cold row. */
void
vp_cold_missing(VpRow *row)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("row of table \"%s\" has no row in \"%s\"",
					RelationGetRelationName(row->hot.rel), RelationGetRelationName(row->cold.rel)),
			 row->layout.method == VP_ROW_POINTER ?
			 errhint("Run vertical_partition.relink() on the view \"%s\".",
					 RelationGetRelationName(row->trigdata->tg_relation)) : 0));
}

/* Return true if the cold row has the key of the hot row. */
static bool
vp_keys_equal(VpRow *row)
{
	for (int i = 0; i < row->layout.nkeys; i++)
	{
		bool		hot_null,
					cold_null;
		Datum		hot = slot_getattr(row->hot.current, row->layout.hot_keys[i], &hot_null);
		Datum		cold = slot_getattr(row->cold.current, row->layout.cold_keys[i], &cold_null);

		if (hot_null || cold_null ||
			!DatumGetBool(OidFunctionCall2Coll(get_opcode(row->layout.key_operators[i]),
											   row->layout.key_collations[i], hot, cold)))
			return false;
	}
	return true;
}

/*
 * Find the cold row that the snapshot shows for the hot row in hot.current,
 * and put it into cold.current.  Return false if there is no cold row.
 */
static bool
vp_look_for_cold_as_of(VpRow *row, Snapshot snapshot)
{
	bool		found;
	bool		isnull;

	if (row->layout.method == VP_ROW_POINTER)
	{
		Datum		pointer = slot_getattr(row->hot.current, row->layout.hot_link, &isnull);

		found = !isnull && ItemPointerIsValid((ItemPointer) DatumGetPointer(pointer)) &&
			ItemPointerGetBlockNumber((ItemPointer) DatumGetPointer(pointer)) < RelationGetNumberOfBlocks(row->cold.rel) &&
			table_tuple_fetch_row_version(row->cold.rel, (ItemPointer) DatumGetPointer(pointer), snapshot, row->cold.current) &&
			vp_keys_equal(row);
	}
	else
	{
		bool		surrogate = (row->layout.method == VP_SURROGATE_KEY);
		int			nkeys = surrogate ? 1 : row->layout.nkeys;
		ScanKeyData keys[INDEX_MAX_KEYS];
		SysScanDesc scan;
		HeapTuple	tuple;

		for (int i = 0; i < nkeys; i++)
		{
			AttrNumber	hot_att = surrogate ? row->layout.hot_link : row->layout.hot_keys[i];
			Datum		value = slot_getattr(row->hot.current, hot_att, &isnull);

			if (isnull)
				return false;
			ScanKeyEntryInitialize(&keys[i], 0, surrogate ? row->layout.cold_link : row->layout.cold_keys[i],
								   BTEqualStrategyNumber, InvalidOid,
								   surrogate ? InvalidOid : row->layout.key_collations[i],
								   surrogate ? F_INT8EQ : get_opcode(row->layout.key_operators[i]), value);
		}
		scan = systable_beginscan(row->cold.rel, compat_primary_key_index(row->cold.rel),
								  true, snapshot, nkeys, keys);
		tuple = systable_getnext(scan);
		found = HeapTupleIsValid(tuple) &&
			table_tuple_fetch_row_version(row->cold.rel, &tuple->t_self, snapshot, row->cold.current);
		systable_endscan(scan);
	}

	/* the slot must outlive the snapshot */
	if (found)
		ExecMaterializeSlot(row->cold.current);
	return found;
}

/*
 * Find the cold row of a hot row that is locked.  Nobody else can change the
 * cold row while the hot row is locked.  So the last version of the cold row
 * is the version that is committed now, or that this transaction has written.
 */
bool
vp_look_for_cold(VpRow *row)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	bool		found = vp_look_for_cold_as_of(row, snapshot);

	UnregisterSnapshot(snapshot);
	return found;
}

/*
 * Find the cold row as the snapshot shows it.  If snapshot is NULL, find the
 * last version of the cold row of a locked hot row.  Raise an error if there
 * is no cold row.
 */
void
vp_find_cold(VpRow *row, Snapshot snapshot)
{
	if (!(snapshot ? vp_look_for_cold_as_of(row, snapshot) : vp_look_for_cold(row)))
		vp_cold_missing(row);
}

/*
 * Compute the generated columns of a part's new row, and check the row
 * against the part's constraints.  "operation" is INSERT or UPDATE.
 */
void
vp_prepare_part(VpRow *row, VpPart *part, CmdType operation)
{
	TupleConstr *constr = RelationGetDescr(part->rel)->constr;

	CheckCmdReplicaIdentity(part->rel, operation);
	if (constr && constr->has_generated_stored)
		ExecComputeStoredGenerated(part->info, row->estate, part->slot, operation);
	if (constr)
		ExecConstraints(part->info, part->slot, row->estate);
}

/*
 * Replace the row in part->current by the new version in part->slot, and
 * update the part's indexes.  Return the result of table_tuple_update(); the
 * row is changed only if this result is TM_Ok.
 */
TM_Result
vp_update_part(VpRow *row, VpPart *part, TM_FailureData *tmfd)
{
	List	   *recheck = NIL;
	LockTupleMode mode;
	CompatUpdateIndexes update;
	TM_Result	result;

	vp_prepare_part(row, part, CMD_UPDATE);
	result = compat_tuple_update(part->rel, &part->current->tts_tid, part->slot, row->cid,
								 row->snapshot, tmfd, &mode, &update);
	if (result != TM_Ok)
		return result;
	if (part->info->ri_NumIndices > 0 && COMPAT_UPDATES_INDEXES(update))
		recheck = compat_insert_index_tuples(part->info, part->slot, row->estate, true, NULL, NIL,
											 COMPAT_ONLY_SUMMARIZING(update));
	ExecARUpdateTriggers(row->estate, part->info, NULL, NULL, &part->current->tts_tid, NULL,
						 part->slot, recheck, NULL, false);
	list_free(recheck);
	return TM_Ok;
}

/*
 * Fill part->slot with the current row and the new values of the changed
 * columns.
 */
void
vp_fill_update(VpRow *row, VpPart *part)
{
	bool		cold = (part == &row->cold);
	TupleTableSlot *slot = part->slot;
	int			natts = slot->tts_tupleDescriptor->natts;

	ExecClearTuple(slot);
	slot_getallattrs(part->current);
	memcpy(slot->tts_values, part->current->tts_values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, part->current->tts_isnull, natts * sizeof(bool));
	for (int i = 0; i < row->layout.natts; i++)
	{
		VpColumn   *column = &row->layout.columns[i];

		if (row->changed[i] && column->cold == cold)
		{
			slot->tts_values[column->attnum - 1] = row->new_values[i];
			slot->tts_isnull[column->attnum - 1] = row->new_nulls[i];
		}
		for (int k = 0; k < row->layout.nkeys && cold && row->changed[i] && !column->cold; k++)
		{
			if (row->layout.hot_keys[k] == column->attnum)
			{
				slot->tts_values[row->layout.cold_keys[k] - 1] = row->new_values[i];
				slot->tts_isnull[row->layout.cold_keys[k] - 1] = row->new_nulls[i];
			}
		}
	}
}

/* Raise an error for an unexpected status of a row that we have locked. */
void
vp_unexpected(VpPart *part, TM_Result result)
{
	elog(ERROR, "unexpected status %d of row of table \"%s\"", result, RelationGetRelationName(part->rel));
}

/* Write the new version of the row in part->current, which nobody else can change. */
static void
vp_write_part(VpRow *row, VpPart *part)
{
	TM_FailureData tmfd;
	TM_Result	result;

	vp_fill_update(row, part);
	if (part == &row->hot && row->cold_changed && row->layout.method == VP_ROW_POINTER)
	{
		part->slot->tts_values[row->layout.hot_link - 1] = PointerGetDatum(&row->cold.slot->tts_tid);
		part->slot->tts_isnull[row->layout.hot_link - 1] = false;
	}
	ExecStoreVirtualTuple(part->slot);
	result = vp_update_part(row, part, &tmfd);
	if (result != TM_Ok)
		vp_unexpected(part, result);
}

/*
 * Write the new version of the row whose parts are in hot.current and
 * cold.current.  The hot row is locked.  The hot row always gets a new
 * version, since it represents the whole row.
 */
void
vp_write_update(VpRow *row)
{
	vp_check_generated(row);
	if (row->cold_changed && row->layout.method == VP_ROW_POINTER)
		vp_write_part(row, &row->cold);
	vp_write_part(row, &row->hot);

	/*
	 * write the cold part last, so that an error for a key names the hot
	 * part's constraint
	 */
	if (row->cold_changed && row->layout.method != VP_ROW_POINTER)
		vp_write_part(row, &row->cold);
}

/* Delete a row of a part.  Return the result of table_tuple_delete(). */
TM_Result
vp_delete_part(VpRow *row, VpPart *part, TM_FailureData *tmfd)
{
	TM_Result	result;

	CheckCmdReplicaIdentity(part->rel, CMD_DELETE);
	result = compat_tuple_delete(part->rel, &part->current->tts_tid, row->cid, row->snapshot, true, tmfd);
	if (result == TM_Ok)
		ExecARDeleteTriggers(row->estate, part->info, &part->current->tts_tid, NULL, NULL, false);
	return result;
}

/*
 * Return the trigger's result: the row that the trigger was called with, or
 * the row as written if it may differ.
 */
HeapTuple
vp_result(VpRow *row)
{
	TupleConstr *hot = RelationGetDescr(row->hot.rel)->constr;
	TupleConstr *cold = RelationGetDescr(row->cold.rel)->constr;

	if ((hot && hot->has_generated_stored) || (cold && cold->has_generated_stored))
	{
		for (int i = 0; i < row->layout.natts; i++)
		{
			VpColumn   *column = &row->layout.columns[i];
			VpPart	   *part = column->cold ? &row->cold : &row->hot;

			if (TupleDescAttr(RelationGetDescr(part->rel), column->attnum - 1)->attgenerated == '\0')
				continue;

			/*
			 * if the part was not written, its generated columns have not
			 * changed
			 */
			if (TTS_EMPTY(part->slot))
				continue;
			row->new_values[i] = slot_getattr(part->slot, column->attnum, &row->new_nulls[i]);
			row->rechecked = true;
		}
	}
	if (!row->rechecked)
		return TRIGGER_FIRED_BY_INSERT(row->trigdata->tg_event) ?
			row->trigdata->tg_trigtuple : row->trigdata->tg_newtuple;
	return heap_form_tuple(row->desc, row->new_values, row->new_nulls);
}
