/*-------------------------------------------------------------------------
 *
 * vertical_partition_row.h
 *	  State of a row that is written through a split view.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_row.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VERTICAL_PARTITION_ROW_H
#define VERTICAL_PARTITION_ROW_H

#include "commands/trigger.h"
#include "nodes/execnodes.h"
#include "vertical_partition_layout.h"

/* One part, opened for writing */
typedef struct VpPart
{
	Relation	rel;
	ResultRelInfo *info;
	TupleTableSlot *current;	/* the row version to be replaced */
	TupleTableSlot *slot;		/* the new row version */
} VpPart;

/* State of the row that the trigger was called for */
typedef struct VpRow
{
	TriggerData *trigdata;
	VpLayout	layout;
	TupleDesc	desc;			/* row type of the view */
	ModifyTableState *node;		/* NULL if not known, for example with COPY */
	EState	   *estate;			/* for this row only */
	Snapshot	snapshot;		/* of the statement */
	CommandId	cid;

	/* the view's columns, old and new */
	Datum	   *old_values;
	bool	   *old_nulls;
	Datum	   *new_values;
	bool	   *new_nulls;
	bool	   *changed;
	bool		cold_changed;	/* must a cold row be written? */
	bool		updating;		/* has an insertion become an update? */
	bool		rechecked;		/* do the values differ from the trigger's? */

	VpPart		hot;
	VpPart		cold;
} VpRow;

/* Result of an attempt to lock the hot row */
typedef enum VpLock
{
	VP_LOCKED,					/* the row is as the statement saw it */
	VP_NEWER,					/* a newer version exists, and is locked */
	VP_GONE						/* nothing is left to do */
} VpLock;

/* vertical_partition_row.c */
extern void vp_open_parts(VpRow *row, bool speculative);
extern void vp_close_row(VpRow *row);
extern void vp_check_generated(VpRow *row);
extern void vp_fill_insert(VpRow *row);
extern void vp_view_row(VpRow *row, TupleTableSlot *hot, TupleTableSlot *cold, Datum *values, bool *nulls);
extern void vp_compare(VpRow *row);
extern void vp_cold_missing(VpRow *row);
extern bool vp_look_for_cold(VpRow *row);
extern void vp_find_cold(VpRow *row, Snapshot snapshot);
extern void vp_prepare_part(VpRow *row, VpPart *part, CmdType operation);
extern TM_Result vp_update_part(VpRow *row, VpPart *part, TM_FailureData *tmfd);
extern void vp_fill_update(VpRow *row, VpPart *part);
extern void vp_unexpected(VpPart *part, TM_Result result);
extern void vp_write_update(VpRow *row);
extern TM_Result vp_delete_part(VpRow *row, VpPart *part, TM_FailureData *tmfd);
extern HeapTuple vp_result(VpRow *row);

/* vertical_partition_row_recheck.c */
extern VpLock vp_self_modified(VpRow *row, TM_FailureData *tmfd);
extern VpLock vp_lock_row(VpRow *row, ItemPointer tid);
extern void vp_fetch_old(VpRow *row);
extern bool vp_recheck(VpRow *row);

/* vertical_partition_row_conflict.c */
extern HeapTuple vp_insert_or_update(VpRow *row);

#endif							/* VERTICAL_PARTITION_ROW_H */
