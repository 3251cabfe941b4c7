/*-------------------------------------------------------------------------
 *
 * vertical_partition_guard.c
 *	  Triggers of the parts of a split table.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_guard.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "vertical_partition.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_write.h"

PG_FUNCTION_INFO_V1(vp_guard_part);
PG_FUNCTION_INFO_V1(vp_delete_cold);

/*
 * vertical_partition.delete_cold() -- AFTER DELETE row trigger of a hot part
 *
 * Deletes the cold row of a hot row that was deleted by a foreign key's ON
 * DELETE CASCADE.  Does nothing if write_row() has done that.
 */
Datum
vp_delete_cold(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;
	const VpLayout *layout;
	TM_FailureData tmfd;
	VpRow		row;
	Oid			view;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_AFTER(trigdata->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigdata->tg_event) || !TRIGGER_FIRED_BY_DELETE(trigdata->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" must be fired AFTER DELETE, for each row", "delete_cold")));
	view = vp_view_of_part(RelationGetRelid(trigdata->tg_relation));
	layout = OidIsValid(view) ? vp_layout(view) : NULL;
	if (layout == NULL || layout->hot != RelationGetRelid(trigdata->tg_relation))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" is not the hot part of a split table",
						RelationGetRelationName(trigdata->tg_relation)),
				 errhint("The view of a split table and both its parts must have one owner.")));

	memset(&row, 0, sizeof(row));
	vp_copy_layout(&row.layout, layout);
	row.trigdata = trigdata;
	row.snapshot = GetActiveSnapshot();
	row.cid = GetCurrentCommandId(true);
	vp_open_parts(&row, false);
	ExecForceStoreHeapTuple(trigdata->tg_trigtuple, row.hot.current, false);
	if (vp_look_for_cold(&row))
	{
		TM_Result	result = vp_delete_part(&row, &row.cold, &tmfd);

		/* nobody else can have done it without the hot row */
		if (result != TM_Ok && result != TM_SelfModified)
			vp_unexpected(&row.cold, result);
	}
	vp_close_row(&row);
	return PointerGetDatum(NULL);
}

/*
 * vertical_partition.guard_part() -- statement trigger of the parts of a split
 * table
 *
 * Raises an error: what writes to one part alone would leave rows without
 * their other half.
 */
Datum
vp_guard_part(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager", "guard_part")));
	if (TRIGGER_FIRED_BY_TRUNCATE(trigdata->tg_event) &&
		vp_is_truncating(RelationGetRelid(trigdata->tg_relation)))
		return PointerGetDatum(NULL);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot write to table \"%s\", a part of a split table",
					RelationGetRelationName(trigdata->tg_relation)),
			 errhint("Write to the view of the split table.")));
	return PointerGetDatum(NULL);	/* keep compiler quiet */
}
