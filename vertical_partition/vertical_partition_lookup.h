/*-------------------------------------------------------------------------
 *
 * vertical_partition_lookup.h
 *	  The split table that a command names.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_lookup.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VERTICAL_PARTITION_LOOKUP_H
#define VERTICAL_PARTITION_LOOKUP_H

#include "nodes/parsenodes.h"

#include "vertical_partition_layout.h"

/* State of the split table before a command is executed */
typedef struct VpDdl
{
	Oid			view;			/* OID of the view */
	Oid			part;			/* OID of the part that the command names, or
								 * InvalidOid */
	Oid			owner;			/* owner of the view before the command */
	VpLayout	layout;			/* layout before the command */
	Oid			cold_file;		/* relfilenode of the cold part before the
								 * command */
} VpDdl;

extern void vp_changed(const char *name);
extern Oid	vp_lock_view(const RangeVar *name, bool owned);
extern VpLayout *vp_split_view(RangeVar *name);
extern bool vp_has_trigger(Oid view);
extern bool vp_carries(const VpDdl *ddl);
extern bool vp_is_whole(const VpDdl *ddl);
extern VpDdl *vp_find_split(RangeVar *name);
extern VpDdl *vp_find_any_split(RangeVar *name);
extern VpDdl *vp_hold_split(RangeVar *name);
extern void vp_refresh_split(VpDdl *ddl, Oid view);
extern void vp_prevent_ddl(const char *command);
extern void vp_lock_split(VpDdl *ddl, bool hot_readers);
extern void vp_lock_constraint_names(const VpDdl *ddl);

#endif							/* VERTICAL_PARTITION_LOOKUP_H */
