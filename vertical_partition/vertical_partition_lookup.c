/*-------------------------------------------------------------------------
 *
 * vertical_partition_lookup.c
 *	  Look up and lock the split table that a command names.
 *
 * These functions look up a name before the command has a lock.  Until the
 * lock is granted, another session can replace the view of that name.  So
 * they look up the name again afterwards, or raise an error if the split
 * table has changed.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_lookup.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"

#include "vertical_partition.h"
#include "vertical_partition_alter.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_ddl.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_lookup.h"

/* Number of the lock in the place of a column of the view, which has no such column */
#define NAMES_LOCK	(MaxAttrNumber + 1)

/*
 * Raise an error: the relation has changed since it was looked up without a
 * lock.
 */
void
vp_changed(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("relation \"%s\" was changed by another session", name ? name : "")));
}

/*
 * Lock the view of that name with an AccessShareLock, and return its OID.
 * Return InvalidOid if no view has the name, or if "owned" is true and the
 * user does not own the view.  Look up the name again after waiting for the
 * lock: it can belong to another view then, because DROP COLUMN of a split
 * table recreates the view.
 */
Oid
vp_lock_view(const RangeVar *name, bool owned)
{
	for (;;)
	{
		Oid			view = name ? RangeVarGetRelid(name, NoLock, true) : InvalidOid;

		if (!OidIsValid(view) || get_rel_relkind(view) != RELKIND_VIEW ||
			(owned && !compat_relation_ownercheck(view, GetUserId())))
			return InvalidOid;
		LockRelationOid(view, AccessShareLock);
		if (RangeVarGetRelid(name, NoLock, true) == view && get_rel_relkind(view) == RELKIND_VIEW)
			return view;
		UnlockRelationOid(view, AccessShareLock);
	}
}

/*
 * If the name is that of a split view, lock the view and return a copy of its
 * layout.  Otherwise return NULL.  If no relation has the name, the command
 * itself raises the error.
 */
VpLayout *
vp_split_view(RangeVar *name)
{
	const VpLayout *cached;
	VpLayout   *layout;
	Oid			relid;

	relid = vp_lock_view(name, false);
	if (!OidIsValid(relid))
		return NULL;
	if ((cached = vp_layout(relid)) == NULL)
	{
		UnlockRelationOid(relid, AccessShareLock);
		return NULL;
	}

	layout = palloc(sizeof(VpLayout));
	*layout = *cached;
	layout->columns = palloc(Max(layout->natts, 1) * sizeof(VpColumn));
	memcpy(layout->columns, cached->columns, layout->natts * sizeof(VpColumn));
	return layout;
}

/*
 * Return true if the view has the trigger of a split table, and so does not
 * only look like a split view.
 */
bool
vp_has_trigger(Oid view)
{
	return OidIsValid(get_trigger_oid(view, "vertical_partition_write", true));
}

/*
 * Return true if a command on the view has to be executed on the parts as
 * well.  This requires that one role owns the view and the parts: anybody can
 * create a view of other users' tables that looks like a split view, and a
 * superuser may alter such a view.
 */
bool
vp_carries(const VpDdl *ddl)
{
	return !OidIsValid(ddl->part) && vp_is_whole(ddl);
}

/* Return true if the view is a split table, and one role owns it and its parts. */
bool
vp_is_whole(const VpDdl *ddl)
{
	return vp_has_trigger(ddl->view) &&
		vp_relation_owner(ddl->view) == ddl->owner &&
		vp_relation_owner(ddl->layout.hot) == ddl->owner &&
		vp_relation_owner(ddl->layout.cold) == ddl->owner;
}

/*
 * Return the state of the split table whose view or part has that name.  The
 * name can also belong to an index of a part.  Return NULL if there is no
 * such split table.  If no relation has the name, return NULL as well, and
 * let the command raise the error.
 */
VpDdl *
vp_find_split(RangeVar *name)
{
	Oid			relid = name ? RangeVarGetRelid(name, NoLock, true) : InvalidOid;
	const VpLayout *layout = NULL;
	Oid			view = InvalidOid;
	VpDdl	   *ddl;

	switch (OidIsValid(relid) ? get_rel_relkind(relid) : '\0')
	{
		case RELKIND_VIEW:
			/* do not wait for a lock on a view of another owner */
			relid = view = vp_lock_view(name, true);
			if (!OidIsValid(view))
				return NULL;
			layout = vp_layout(view);
			UnlockRelationOid(view, AccessShareLock);
			break;
		case RELKIND_INDEX:
			relid = IndexGetRelation(relid, true);
			if (!OidIsValid(relid))
				break;
			pg_fallthrough;
		case RELKIND_RELATION:
			if (compat_relation_ownercheck(relid, GetUserId()))
				view = vp_view_of_part(relid);
			layout = OidIsValid(view) ? vp_layout(view) : NULL;
			break;
		default:
			break;
	}
	if (layout == NULL)
		return NULL;
	ddl = palloc0(sizeof(VpDdl));
	ddl->view = view;
	ddl->part = view == relid ? InvalidOid : relid;
	vp_copy_layout(&ddl->layout, layout);
	ddl->owner = ddl->layout.owner;
	return ddl;
}

/*
 * Return the state of the split table of that name, or NULL.  The user need
 * not own the table: this function is for foreign keys and LIKE, which refer
 * to the table, and for CREATE TRIGGER.
 */
VpDdl *
vp_find_any_split(RangeVar *name)
{
	Oid			relid = name ? RangeVarGetRelid(name, NoLock, true) : InvalidOid;
	const VpLayout *layout;
	VpDdl	   *ddl = NULL;

	/* lock a view of another owner only if it belongs to a split table */
	if (!OidIsValid(relid) || !vp_has_trigger(relid))
		return NULL;
	relid = vp_lock_view(name, false);
	if (!OidIsValid(relid))
		return NULL;
	layout = vp_layout(relid);
	if (layout)
	{
		ddl = palloc0(sizeof(VpDdl));
		ddl->view = relid;
		vp_copy_layout(&ddl->layout, layout);
		ddl->owner = ddl->layout.owner;
		if (!vp_carries(ddl))
			ddl = NULL;
	}
	UnlockRelationOid(relid, AccessShareLock);
	return ddl;
}

/*
 * Return the state of the user's split table of that name, or NULL.  Its view
 * stays locked, so that the state does not change until the transaction ends.
 * Raise an error if this session is altering the table at the moment.
 */
VpDdl *
vp_hold_split(RangeVar *name)
{
	Oid			view = vp_lock_view(name, true);
	VpDdl	   *ddl;

	if (!OidIsValid(view))
		return NULL;
	ddl = vp_find_split(name);
	if (ddl == NULL || !vp_carries(ddl))
	{
		UnlockRelationOid(view, AccessShareLock);
		return NULL;
	}
	if (vp_is_altering(ddl->view))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot change split table \"%s\" while it is being altered", get_rel_name(ddl->view))));
	return ddl;
}

/* Read the layout of the view again.  The caller has locked the view. */
void
vp_refresh_split(VpDdl *ddl, Oid view)
{
	const VpLayout *layout;

	CommandCounterIncrement();
	layout = get_rel_relkind(view) == RELKIND_VIEW ? vp_layout(view) : NULL;
	if (layout == NULL)
		vp_changed(get_rel_name(view));
	ddl->view = view;
	vp_copy_layout(&ddl->layout, layout);
	ddl->owner = ddl->layout.owner;
}

/* Raise an error if the command is not possible, before it takes a lock. */
void
vp_prevent_ddl(const char *command)
{
	PreventCommandIfReadOnly(command);
	PreventCommandIfParallelMode(command);
	PreventCommandDuringRecovery(command);
}

/*
 * Lock the view and its parts for a command that changes all of them.  Take
 * these locks together, by lock_all().  Raise an error if the view has got
 * other parts or another owner since it was looked up: while this session
 * waited for the lock, another session can have replaced the view.
 *
 * If hot_readers is true, others may read the view and its hot part.
 */
void
vp_lock_split(VpDdl *ddl, bool hot_readers)
{
	Oid			owner = ddl->owner;
	Oid			hot = ddl->layout.hot;
	Oid			cold = ddl->layout.cold;

	vp_prevent_ddl("ALTER TABLE");
	vp_call(psprintf("SELECT vertical_partition_internal.lock_all('{%u,%u,%u}', %s, false)",
					 ddl->view, ddl->layout.hot, ddl->layout.cold,
					 hot_readers ? "'{f,f,t}'" : "'{t,t,t}'"));
	vp_refresh_split(ddl, ddl->view);
	if (ddl->owner != owner || ddl->layout.hot != hot || ddl->layout.cold != cold || !vp_is_whole(ddl))
		vp_changed(get_rel_name(ddl->view));
}

/*
 * Wait until no other session gives a name to a constraint of the split table.
 * No two constraints of both parts may have the same name, and a command that
 * changes only one part does not lock the other one.  Call this after the
 * command has named the constraint, and then look for its name in both parts:
 * a command that waits for a lock on a part must not hold this lock.
 */
void
vp_lock_constraint_names(const VpDdl *ddl)
{
	LockDatabaseObject(RelationRelationId, ddl->view, NAMES_LOCK, ExclusiveLock);
	CommandCounterIncrement();
}
