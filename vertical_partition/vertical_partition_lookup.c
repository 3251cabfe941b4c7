/*-------------------------------------------------------------------------
 *
 * vertical_partition_lookup.c
 *	  Look up and lock the split table that a command names.
 *
 * A name is looked up before the command has a lock.  The view of that name can
 * be replaced until the lock is granted.  So these functions look the name up
 * again, or raise an error if the state has changed.
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

/* Raise an error: the state that was looked up without a lock has changed. */
void
vp_changed(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("relation \"%s\" was changed by another session", name ? name : "")));
}

/*
 * Return the OID of the view of that name, with an AccessShareLock on it.
 * Return InvalidOid if it is not a view, or if "owned" is true and the user
 * does not own it.  DROP COLUMN of a split table recreates the view.  So look
 * the name up again, because it can belong to another view after waiting for
 * the lock.
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
 * Return true if the view belongs to a split table, and does not only look
 * like such a view.
 */
bool
vp_has_trigger(Oid view)
{
	return OidIsValid(get_trigger_oid(view, "vertical_partition_write", true));
}

/*
 * Return true if a command on the view has to be executed on the parts as
 * well.  Anybody can create a view of other users' tables that looks like a
 * split view, and a superuser may alter that view.
 */
bool
vp_carries(const VpDdl *ddl)
{
	return !OidIsValid(ddl->part) && vp_has_trigger(ddl->view) &&
		vp_relation_owner(ddl->view) == ddl->owner &&
		vp_relation_owner(ddl->layout.hot) == ddl->owner &&
		vp_relation_owner(ddl->layout.cold) == ddl->owner;
}

/*
 * Return the state of the split table whose view or part has that name, or
 * NULL if there is none.  If no relation has the name, return NULL as well,
 * and let the command raise the error.
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
 * Return the state of the split table that a foreign key or LIKE refers to, or that a
 * trigger is for, or NULL.  The user need not own the table.
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
 * Return the state of the user's split table of that name, or NULL.  Its view stays
 * locked, so that the state does not change until the transaction ends.  Raise an error
 * if the table is being altered.
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

/*
 * Lock the view and its parts for a command that changes all of them.  lock_all() takes
 * these locks together.  Raise an error if the view has got other parts, or another
 * owner, since it was looked up: a session that waits gets the lock after the session
 * that has replaced the view.
 */
void
vp_lock_split(VpDdl *ddl)
{
	Oid			owner = ddl->owner;
	Oid			hot = ddl->layout.hot;
	Oid			cold = ddl->layout.cold;

	PreventCommandIfReadOnly("ALTER TABLE");
	PreventCommandIfParallelMode("ALTER TABLE");
	PreventCommandDuringRecovery("ALTER TABLE");
	vp_call(psprintf("SELECT vertical_partition_internal.lock_all('{%u,%u,%u}', true, false)",
					 ddl->view, ddl->layout.hot, ddl->layout.cold));
	vp_refresh_split(ddl, ddl->view);
	if (ddl->owner != owner || ddl->layout.hot != hot || ddl->layout.cold != cold || !vp_carries(ddl))
		vp_changed(get_rel_name(ddl->view));
}
