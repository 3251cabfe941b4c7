/*-------------------------------------------------------------------------
 *
 * vertical_partition_truncate.c
 *	  TRUNCATE of split views.
 *
 * The server accepts TRUNCATE for a table but not for a view.  For a split
 * view, truncate both parts, together with the other tables that the command
 * names or that CASCADE adds.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_truncate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/heap.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "vertical_partition.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_lookup.h"

/* The parts of the views that are being truncated */
static List *vp_truncated_parts = NIL;

/*
 * Return true if the view of this part is being truncated.  guard_part()
 * calls this function.
 */
bool
vp_is_truncating(Oid part)
{
	return list_member_oid(vp_truncated_parts, part);
}

/* Raise an error unless the user may truncate the relation. */
static void
check_truncate_permission(Oid relid, Oid user)
{
	AclResult	result = pg_class_aclcheck(relid, user, ACL_TRUNCATE);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, get_relkind_objtype(get_rel_relkind(relid)), get_rel_name(relid));
}

/*
 * Return the role that needs the TRUNCATE privilege on the parts.  A check of
 * the user's privilege on the view is not enough, because anybody can create
 * a view of other users' tables that looks like a split view.
 */
static Oid
user_of_parts(Oid view)
{
	Relation	rel = relation_open(view, NoLock);
	Oid			user = RelationHasSecurityInvoker(rel) ? GetUserId() : rel->rd_rel->relowner;

	relation_close(rel, NoLock);

	return user;
}

/* Lock a table that is to be truncated, and add it to the lists. */
static void
add_truncated(Oid relid, List **rels, List **relids, List **logged)
{
	Relation	rel;

	if (list_member_oid(*relids, relid))
		return;
	rel = table_open(relid, AccessExclusiveLock);
	if (rel->rd_rel->relkind != RELKIND_RELATION && rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot truncate relation \"%s\" together with a split table", RelationGetRelationName(rel))));
	if (!allowSystemTableMods && IsSystemRelation(rel))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied: \"%s\" is a system catalog", RelationGetRelationName(rel))));
	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot truncate temporary tables of other sessions")));
	InvokeObjectTruncateHook(relid);
	CheckTableNotInUse(rel, "TRUNCATE");

	*rels = lappend(*rels, rel);
	*relids = lappend_oid(*relids, relid);
	if (RelationIsLogicallyLogged(rel))
		*logged = lappend_oid(*logged, relid);
}

/*
 * Raise an error if this session is using the view.  Between two of its rows,
 * an INSERT has the view open, but neither part.
 */
static void
check_view_not_in_use(Oid view)
{
	Relation	rel = relation_open(view, AccessShareLock);

	CheckTableNotInUse(rel, "TRUNCATE");
	relation_close(rel, NoLock);
}

/*
 * Truncate the relations.  Meanwhile, the guard triggers of the tables in
 * "parts" allow TRUNCATE.
 */
static void
truncate_unguarded(List *rels, List *relids, List *logged, List *parts, TruncateStmt *stmt)
{
	List	   *saved = vp_truncated_parts;

	PG_TRY();
	{
		vp_truncated_parts = list_concat_copy(saved, parts);
		compat_truncate(rels, relids, logged, stmt->behavior, stmt->restart_seqs);
	}
	PG_FINALLY();
	{
		vp_truncated_parts = saved;
	}
	PG_END_TRY();
}

/*
 * Execute a TRUNCATE of tables, at least one of which is a split table.
 * Return false if none of them is a split table.
 *
 * The user needs the privilege to truncate the view.  The view's owner needs
 * the privilege to truncate the parts.  The server's TRUNCATE command would
 * require that the user has the privilege on the parts.  So call the
 * functions that implement this command instead.
 */
bool
vp_truncate_split(TruncateStmt *stmt)
{
	List	   *views = NIL;
	List	   *rels = NIL;
	List	   *relids = NIL;
	List	   *logged = NIL;
	List	   *parts = NIL;
	List	   *closure = NIL;
	ListCell   *lc;

	/*
	 * find the split tables that the command names, and those that CASCADE
	 * would add
	 */
	foreach(lc, stmt->relations)
	{
		RangeVar   *name = (RangeVar *) lfirst(lc);
		VpLayout   *layout = vp_split_view(name);

		if (layout)
		{
			views = list_append_unique_oid(views, layout->view);
			closure = list_append_unique_oid(list_append_unique_oid(closure, layout->hot), layout->cold);
		}
		else if (stmt->behavior == DROP_CASCADE)
		{
			Oid			relid = RangeVarGetRelid(name, NoLock, true);

			if (OidIsValid(relid))
				closure = list_append_unique_oid(closure, relid);
		}
	}
	if (stmt->behavior == DROP_CASCADE)
	{
		List	   *found;

		while ((found = heap_truncate_find_FKs(closure)) != NIL)
		{
			closure = list_concat_unique_oid(closure, found);
			foreach(lc, found)
			{
				Oid			view = vp_view_of_part(lfirst_oid(lc));
				const VpLayout *layout;

				if (!OidIsValid(view) || list_member_oid(views, view))
					continue;
				layout = vp_layout(view);
				if (layout == NULL)
					continue;
				views = lappend_oid(views, view);
				closure = list_append_unique_oid(list_append_unique_oid(closure, layout->hot), layout->cold);
				ereport(NOTICE,
						(errmsg("truncate cascades to table \"%s\"", get_rel_name(view))));
			}
		}
	}
	if (views == NIL)
		return false;

	PreventCommandIfReadOnly("TRUNCATE TABLE");
	PreventCommandIfParallelMode("TRUNCATE TABLE");
	PreventCommandDuringRecovery("TRUNCATE TABLE");

	foreach(lc, stmt->relations)
	{
		RangeVar   *name = (RangeVar *) lfirst(lc);
		Oid			relid = RangeVarGetRelid(name, NoLock, false);
		ListCell   *child;

		if (list_member_oid(views, relid))
			continue;
		check_truncate_permission(relid, GetUserId());
		add_truncated(relid, &rels, &relids, &logged);
		if (!name->inh)
		{
			if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
				ereport(ERROR,
						(errcode(ERRCODE_WRONG_OBJECT_TYPE),
						 errmsg("cannot truncate only a partitioned table")));
			continue;
		}
		foreach(child, find_all_inheritors(relid, AccessExclusiveLock, NULL))
		{
			/* skip temporary tables of other sessions, as the server does */
			if (!isOtherTempNamespace(get_rel_namespace(lfirst_oid(child))))
				add_truncated(lfirst_oid(child), &rels, &relids, &logged);
		}
	}
	foreach(lc, views)
	{
		const VpLayout *layout;
		Oid			hot,
					cold,
					user;

		check_truncate_permission(lfirst_oid(lc), GetUserId());
		check_view_not_in_use(lfirst_oid(lc));
		user = user_of_parts(lfirst_oid(lc));
		layout = vp_layout(lfirst_oid(lc));
		if (layout == NULL)
			elog(ERROR, "view %u is not a split one any more", lfirst_oid(lc));
		hot = layout->hot;
		cold = layout->cold;
		check_truncate_permission(hot, user);
		check_truncate_permission(cold, user);
		add_truncated(hot, &rels, &relids, &logged);
		add_truncated(cold, &rels, &relids, &logged);
		parts = lappend_oid(lappend_oid(parts, hot), cold);
	}

	truncate_unguarded(rels, relids, logged, parts, stmt);
	foreach(lc, rels)
		table_close((Relation) lfirst(lc), NoLock);

	foreach(lc, views)
	{
		const VpLayout *layout = vp_layout(lfirst_oid(lc));

		if (layout && layout->method == VP_ROW_POINTER)
			(void) vp_set_row_pointers(layout);
	}
	return true;
}
