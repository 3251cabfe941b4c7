/*-------------------------------------------------------------------------
 *
 * vertical_partition_ddl.c
 *	  DDL on split views and their parts.
 *
 * A command on the view that concerns the parts is executed on the parts,
 * too.  A command on a part is refused if it would break the split table.
 * After other commands on a part, the triggers of the part are adapted to the
 * change.  The utility hook calls vp_before_ddl() and vp_after_ddl() around
 * each such command.  Sessions that have not loaded the library do not call
 * this code.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_ddl.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/tablecmds.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "vertical_partition.h"
#include "vertical_partition_alter.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_ddl.h"
#include "vertical_partition_key.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_lookup.h"
#include "vertical_partition_place.h"

/*
 * Run a query of the extension that reads the catalogs by SQL.  Raise an
 * error if the query would see the catalogs as of the start of the
 * transaction, because the command would then undo later changes by other
 * sessions.
 */
void
vp_call_helper(const VpDdl *ddl, const char *query)
{
	vp_need_latest_snapshot(ddl);
	vp_call(query);
}

/*
 * Raise an error unless each query of the transaction sees what other
 * transactions have committed.
 */
void
vp_need_latest_snapshot(const VpDdl *ddl)
{
	if (!IsolationUsesXactSnapshot())
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot execute this command on split table \"%s\" in a %s transaction", get_rel_name(ddl->view),
					XactIsoLevel == XACT_SERIALIZABLE ? "SERIALIZABLE" : "REPEATABLE READ"),
			 errdetail("Changes of the table that were committed after its snapshot was taken would be lost."),
			 errhint("Use READ COMMITTED.")));
}

/* Return the qualified name of a relation, quoted for messages and hints. */
char *
vp_qualified_name(Oid relid)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid));
}

/* Return the first subcommand of that type, or NULL. */
AlterTableCmd *
vp_find_command(AlterTableStmt *stmt, AlterTableType type)
{
	ListCell   *lc;

	foreach(lc, stmt->cmds)
	{
		AlterTableCmd *cmd = (AlterTableCmd *) lfirst(lc);

		if (cmd->subtype == type)
			return cmd;
	}
	return NULL;
}

/*-------------------------------------------------------------------------
 * ALTER ... OWNER
 *-------------------------------------------------------------------------
 */

/* Raise an error if the command gives a part alone to another owner. */
static void
refuse_owner(VpDdl *ddl, AlterTableCmd *cmd)
{
	if (get_rolespec_oid(cmd->newowner, true) == ddl->owner)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot change the owner of table \"%s\", a part of a split table", get_rel_name(ddl->part)),
			 errdetail("The view of a split table and both its parts must have one owner."),
			 errhint("Use ALTER VIEW %s OWNER TO, which changes the owner of the parts as well.", vp_qualified_name(ddl->view))));
}

/*
 * Give the parts to the new owner of the view.  Change only parts that belong
 * to the view's previous owner, because anybody can create a view of other
 * users' tables that looks like a split view.
 */
static void
carry_owner(VpDdl *ddl)
{
	Oid			parts[2] = {ddl->layout.hot, ddl->layout.cold};
	Oid			owner;

	CommandCounterIncrement();
	owner = vp_relation_owner(ddl->view);
	for (int i = 0; i < 2; i++)
	{
		if (OidIsValid(owner) && owner != ddl->owner && vp_relation_owner(parts[i]) == ddl->owner)
			ATExecChangeOwner(parts[i], owner, false, AccessExclusiveLock);
	}
	CommandCounterIncrement();
}

/*-------------------------------------------------------------------------
 * Inheritance
 *-------------------------------------------------------------------------
 */

/*
 * Raise an error if the table is a part of a split table.  A part cannot be
 * in an inheritance tree: its guard trigger does not fire for writes through
 * the parent.
 */
static void
refuse_part(RangeVar *name)
{
	VpDdl	   *ddl = vp_find_split(name);

	if (ddl && OidIsValid(ddl->part))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\", a part of a split table, cannot inherit or be inherited from", get_rel_name(ddl->part)),
				 errhint("Call vertical_partition.merge('%s') first.", vp_qualified_name(ddl->view))));
}

/*
 * Raise an error if the command makes a part a child, a parent or a partition
 * of a table.
 */
void
vp_refuse_inheritance(Node *stmt)
{
	ListCell   *lc;

	if (!OidIsValid(vp_linked_oid()))
		return;
	if (IsA(stmt, CreateStmt) || IsA(stmt, CreateForeignTableStmt))
	{
		/* CreateForeignTableStmt begins with a CreateStmt */
		foreach(lc, ((CreateStmt *) stmt)->inhRelations)
			refuse_part(lfirst_node(RangeVar, lc));
		return;
	}
	foreach(lc, ((AlterTableStmt *) stmt)->cmds)
	{
		AlterTableCmd *cmd = (AlterTableCmd *) lfirst(lc);

		if (cmd->subtype == AT_AddInherit)
		{
			refuse_part(((AlterTableStmt *) stmt)->relation);
			refuse_part((RangeVar *) cmd->def);
		}
		else if (cmd->subtype == AT_AttachPartition)
			refuse_part(((PartitionCmd *) cmd->def)->name);
	}
}

/*-------------------------------------------------------------------------
 * Foreign keys of parts
 *-------------------------------------------------------------------------
 */

/*
 * Return true if a guard trigger prevents updates of one of these columns of
 * the hot part, because the cold part depends on the column.
 */
static bool
any_guarded(const VpLayout *layout, Datum columns)
{
	Datum	   *attnums;
	int			n;

	deconstruct_array(DatumGetArrayTypeP(columns), INT2OID, sizeof(int16), true, TYPALIGN_SHORT,
					  &attnums, NULL, &n);
	for (int i = 0; i < n; i++)
	{
		AttrNumber	attnum = DatumGetInt16(attnums[i]);

		if (attnum == layout->hot_link)
			return true;
		for (int k = 0; k < layout->nkeys; k++)
		{
			if (attnum == layout->hot_keys[k])
				return true;
		}
	}
	return false;
}

/* Return true if an action of a foreign key is SET NULL or SET DEFAULT. */
static bool
changes_row(char action)
{
	return action == FKCONSTR_ACTION_SETNULL || action == FKCONSTR_ACTION_SETDEFAULT;
}

/*
 * Return the columns of the referencing row that the ON DELETE action would
 * change.  If "update" is true, return the columns that the ON UPDATE action
 * would change.
 */
static Datum
changed_columns(HeapTuple tuple, TupleDesc desc, bool update)
{
	bool		isnull = true;
	Datum		columns = (Datum) 0;

	if (!update)
		columns = heap_getattr(tuple, Anum_pg_constraint_confdelsetcols, desc, &isnull);
	return isnull ? heap_getattr(tuple, Anum_pg_constraint_conkey, desc, &isnull) : columns;
}

/*
 * Raise an error if the foreign key has an action that the parts' guard
 * triggers would reject.  Raise an error for SET DEFAULT as well, since the
 * part does not have the defaults.  Otherwise, return true if ON DELETE
 * deletes rows of the part.
 */
static bool
check_actions(VpDdl *ddl, HeapTuple tuple, TupleDesc desc)
{
	Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);
	bool		refused;

	if (ddl->part == ddl->layout.cold)
		refused = form->confdeltype == FKCONSTR_ACTION_CASCADE || changes_row(form->confdeltype) ||
			form->confupdtype == FKCONSTR_ACTION_CASCADE || changes_row(form->confupdtype);
	else
	{
		refused = (form->confupdtype == FKCONSTR_ACTION_CASCADE || changes_row(form->confupdtype)) &&
			any_guarded(&ddl->layout, changed_columns(tuple, desc, true));
		refused |= changes_row(form->confdeltype) && any_guarded(&ddl->layout, changed_columns(tuple, desc, false));
	}
	if (refused)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("foreign key \"%s\" cannot have actions that change table \"%s\", a part of a split table",
						NameStr(form->conname), get_rel_name(ddl->part)),
				 errdetail("ON DELETE or ON UPDATE would write to this part alone."),
				 errhint("Use NO ACTION or RESTRICT, or call vertical_partition.merge('%s') first.", vp_qualified_name(ddl->view))));

	/*
	 * reject SET DEFAULT even if the column has no default, because it could
	 * get one later
	 */
	if (form->confdeltype == FKCONSTR_ACTION_SETDEFAULT || form->confupdtype == FKCONSTR_ACTION_SETDEFAULT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("foreign key \"%s\" cannot have the action SET DEFAULT on table \"%s\", a part of a split table",
						NameStr(form->conname), get_rel_name(ddl->part)),
				 errdetail("Defaults of a split table belong to its view.  The action would set NULL."),
				 errhint("Use SET NULL, NO ACTION or RESTRICT, or call vertical_partition.merge('%s') first.",
						 vp_qualified_name(ddl->view))));
	return form->confdeltype == FKCONSTR_ACTION_CASCADE;
}

/*
 * Return true if a trigger of the view fires for a change of these columns of
 * the hot part.  The trigger is for the n columns "shown" of the view, or for
 * all columns if n is 0.
 */
static bool
fires_for(const VpLayout *layout, const int16 *shown, int n, Datum columns)
{
	Datum	   *attnums;
	int			nattnums;

	if (n == 0)
		return true;
	deconstruct_array(DatumGetArrayTypeP(columns), INT2OID, sizeof(int16), true, TYPALIGN_SHORT,
					  &attnums, NULL, &nattnums);
	for (int i = 0; i < n; i++)
	{
		const VpColumn *column;

		if (shown[i] < 1 || shown[i] > layout->natts)
			continue;
		column = &layout->columns[shown[i] - 1];
		for (int k = 0; k < nattnums; k++)
		{
			if (!column->cold && column->attnum == DatumGetInt16(attnums[k]))
				return true;
		}
	}
	return false;
}

/*
 * Raise an error if a statement trigger of the view is for events that an
 * action of the foreign key causes.  The trigger would not fire, because the
 * action writes to the hot part.
 */
static void
check_trigger(const VpDdl *ddl, const char *trigger, int16 events, const int16 *shown, int n, HeapTuple tuple, TupleDesc desc)
{
	Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);
	const char *action = NULL;

	if (TRIGGER_FOR_DELETE(events) && form->confdeltype == FKCONSTR_ACTION_CASCADE)
		action = "ON DELETE CASCADE";
	else if (TRIGGER_FOR_UPDATE(events) && changes_row(form->confdeltype) &&
			 fires_for(&ddl->layout, shown, n, changed_columns(tuple, desc, false)))
		action = "ON DELETE SET NULL";
	else if (TRIGGER_FOR_UPDATE(events) &&
			 (form->confupdtype == FKCONSTR_ACTION_CASCADE || changes_row(form->confupdtype)) &&
			 fires_for(&ddl->layout, shown, n, changed_columns(tuple, desc, true)))
		action = form->confupdtype == FKCONSTR_ACTION_CASCADE ? "ON UPDATE CASCADE" : "ON UPDATE SET NULL";
	if (action)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("split table \"%s\" cannot have both trigger \"%s\" and foreign key \"%s\" with %s",
						get_rel_name(ddl->view), trigger, NameStr(form->conname), action),
				 errdetail("The trigger would not fire for changes that the foreign key makes to rows of the table."),
				 errhint("Use NO ACTION or RESTRICT, omit the trigger, or call vertical_partition.merge('%s') first.",
						 vp_qualified_name(ddl->view))));
}

/* Check the foreign key against all statement triggers of the view. */
static void
check_triggers(const VpDdl *ddl, HeapTuple tuple, TupleDesc desc)
{
	Relation	view = relation_open(ddl->view, AccessShareLock);

	for (int i = 0; view->trigdesc != NULL && i < view->trigdesc->numtriggers; i++)
	{
		const Trigger *trigger = &view->trigdesc->triggers[i];

		if (!TRIGGER_FOR_ROW(trigger->tgtype))
			check_trigger(ddl, trigger->tgname, trigger->tgtype, trigger->tgattr, trigger->tgnattr, tuple, desc);
	}
	relation_close(view, AccessShareLock);
}

/*
 * Raise an error if CREATE TRIGGER creates a statement trigger on a split
 * table that would not fire for an action of a foreign key, see
 * check_trigger().  The user need not own the table.
 */
static void
check_new_trigger(const CreateTrigStmt *stmt)
{
	VpDdl	   *ddl = stmt->row ? NULL : vp_find_any_split(stmt->relation);
	Oid			view;
	Oid			hot;
	int16	   *shown;
	int			n = 0;
	Relation	catalog;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	ListCell   *lc;

	/*
	 * the server raises the error for a missing privilege, or for columns
	 * that do not exist
	 */
	if (ddl == NULL || pg_class_aclcheck(ddl->view, GetUserId(), ACL_TRIGGER) != ACLCHECK_OK)
		return;

	/*
	 * a session that adds a foreign key meanwhile waits for this lock, and
	 * then sees the trigger.  CREATE TRIGGER locks the view anyway: lock it
	 * before the part, as other commands do.
	 */
	view = ddl->view;
	hot = ddl->layout.hot;
	vp_prevent_ddl("CREATE TRIGGER");
	LockRelationOid(view, ShareRowExclusiveLock);
	LockRelationOid(hot, ShareUpdateExclusiveLock);
	ddl = vp_find_any_split(stmt->relation);
	if (ddl == NULL || ddl->view != view || ddl->layout.hot != hot)
		vp_changed(stmt->relation->relname);

	shown = palloc((list_length(stmt->columns) + 1) * sizeof(int16));
	foreach(lc, stmt->columns)
		shown[n++] = get_attnum(view, strVal(lfirst(lc)));
	catalog = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(hot));
	scan = systable_beginscan(catalog, ConstraintRelidTypidNameIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (((Form_pg_constraint) GETSTRUCT(tuple))->contype == CONSTRAINT_FOREIGN)
			check_trigger(ddl, stmt->trigname, stmt->events, shown, n, tuple, RelationGetDescr(catalog));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

/*
 * Raise an error for a row-level BEFORE trigger of a part.  Such a trigger
 * could change the key of a row in one part alone, or prevent the write to
 * one part.
 */
static void
refuse_row_trigger(const VpDdl *ddl, const CreateTrigStmt *stmt)
{
	if (stmt->row && stmt->timing == TRIGGER_TYPE_BEFORE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot create row-level BEFORE trigger \"%s\" on part \"%s\" of split table \"%s\"",
						stmt->trigname, get_rel_name(ddl->part), get_rel_name(ddl->view)),
				 errhint("Use a row-level AFTER trigger, or vertical_partition.merge() first.")));
}

/*
 * Return true if the part's guard trigger rejects DELETE.  During a restore,
 * the guard trigger may not exist yet.  Then return false, because it will be
 * restored as it was dumped.
 */
static bool
guard_refuses_delete(Oid part)
{
	Relation	rel = RelationIdGetRelation(part);
	bool		result = false;

	/* this session may not have locked the part, see vp_follow_file() */
	if (!RelationIsValid(rel))
		return false;

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		const Trigger *trigger = &rel->trigdesc->triggers[i];

		if (strcmp(trigger->tgname, "vertical_partition_guard") == 0 && TRIGGER_FOR_DELETE(trigger->tgtype))
			result = true;
	}
	RelationClose(rel);
	return result;
}

/*
 * Adapt the triggers of a part to its foreign keys.  If a foreign key of the
 * hot part deletes rows, the guard trigger has to allow this, and another
 * trigger has to delete the cold rows as well.
 */
void
vp_follow_foreign_keys(VpDdl *ddl)
{
	Relation	catalog;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		cascades = false;

	CommandCounterIncrement();
	catalog = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(ddl->part));
	scan = systable_beginscan(catalog, ConstraintRelidTypidNameIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (((Form_pg_constraint) GETSTRUCT(tuple))->contype != CONSTRAINT_FOREIGN)
			continue;
		cascades |= check_actions(ddl, tuple, RelationGetDescr(catalog));
		if (ddl->part == ddl->layout.hot)
			check_triggers(ddl, tuple, RelationGetDescr(catalog));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);

	if (cascades && guard_refuses_delete(ddl->part))
		vp_call_helper(ddl, psprintf("SELECT vertical_partition_internal.let_cascade(%u)", ddl->view));
}

/*-------------------------------------------------------------------------
 * The key of the view
 *-------------------------------------------------------------------------
 */

/*
 * Adapt the primary key of the view.  Call this after the view gets a new
 * definition.  In a restore, call it also after the view's trigger or the hot
 * part's primary key is created.
 */
static void
follow_key(VpDdl *ddl)
{
	CommandCounterIncrement();
	if (ddl->part != ddl->layout.cold && vp_has_trigger(ddl->view))
		vp_follow_key(ddl->view);
}

/* Return true if the list of constraints contains a primary key. */
static bool
has_primary_key(List *constraints)
{
	ListCell   *lc;

	foreach(lc, constraints)
	{
		if (lfirst_node(Constraint, lc)->contype == CONSTR_PRIMARY)
			return true;
	}
	return false;
}

/*
 * Return true if the command can change the primary key of the hot part, so
 * that the view may need another key afterwards.  The view then has to be
 * locked before the part.
 */
static bool
changes_key(const VpDdl *ddl, const Node *stmt)
{
	ListCell   *lc;

	if (ddl->part != ddl->layout.hot || !vp_has_trigger(ddl->view) || !vp_may_have_key(ddl->view))
		return false;
	if (IsA(stmt, RenameStmt))
		return true;
	if (!IsA(stmt, AlterTableStmt))
		return false;
	foreach(lc, ((const AlterTableStmt *) stmt)->cmds)
	{
		const AlterTableCmd *cmd = lfirst_node(AlterTableCmd, lc);

		if (cmd->subtype == AT_AddColumn ? has_primary_key(castNode(ColumnDef, cmd->def)->constraints) :
			cmd->subtype == AT_AddConstraint ? castNode(Constraint, cmd->def)->contype == CONSTR_PRIMARY :
			cmd->subtype == AT_AddIndex || cmd->subtype == AT_AddIndexConstraint ||
			cmd->subtype == AT_DropConstraint || cmd->subtype == AT_DropColumn ||
			cmd->subtype == AT_AlterColumnType)
			return true;
	}
	return false;
}

/* Raise an error if a renamed constraint has the name of one of the other part. */
static void
check_constraint_name(const VpDdl *ddl, const char *name)
{
	Oid			other = ddl->part == ddl->layout.hot ? ddl->layout.cold : ddl->layout.hot;

	vp_lock_constraint_names(ddl);
	if (OidIsValid(get_relation_constraint_oid(other, name, true)))
		vp_duplicate_constraint(get_rel_name(ddl->view), name);
}

/*-------------------------------------------------------------------------
 * ALTER ... RENAME and ALTER ... SET SCHEMA
 *-------------------------------------------------------------------------
 */

/*
 * Return true if the command applies to the parts as well.  ALTER TABLE
 * applies to the parts.  ALTER VIEW does not, because the view's columns may
 * have other names than the columns of the parts.
 */
static bool
renames_parts(const VpDdl *ddl, const Node *stmt)
{
	if (!vp_carries(ddl))
		return false;
	if (IsA(stmt, AlterObjectSchemaStmt))
		return ((const AlterObjectSchemaStmt *) stmt)->objectType == OBJECT_TABLE;
	return ((const RenameStmt *) stmt)->renameType == OBJECT_COLUMN &&
		((const RenameStmt *) stmt)->relationType == OBJECT_TABLE;
}

/* Return true if any column of the parts has another name than in the view. */
bool
vp_names_differ(const VpLayout *layout)
{
	for (int i = 0; i < layout->natts; i++)
	{
		char	   *name = get_attname(layout->view, i + 1, false);

		if (strcmp(name, vp_name_in_part(layout, name, false)) != 0 || strcmp(name, vp_name_in_part(layout, name, true)) != 0)
			return true;
	}
	return false;
}

/* Give the columns of the parts the names that they have in the view. */
void
vp_carry_names(const VpDdl *ddl)
{
	CommandCounterIncrement();
	if (!vp_names_differ(&ddl->layout))
		return;
	vp_call_helper(ddl, psprintf("SELECT vertical_partition_internal.rename_columns(%u)", ddl->view));
	CommandCounterIncrement();
	if (vp_names_differ(&ddl->layout))
		vp_changed(get_rel_name(ddl->view));
}

/* Move the parts to the schema of the view. */
static void
carry_schema(VpDdl *ddl)
{
	Oid			parts[2] = {ddl->layout.hot, ddl->layout.cold};
	Oid			schema;

	CommandCounterIncrement();
	schema = get_rel_namespace(ddl->view);
	for (int i = 0; i < 2; i++)
	{
		if (OidIsValid(schema) && get_rel_namespace(parts[i]) != schema)
			vp_run_statement(psprintf("ALTER TABLE %s SET SCHEMA %s", vp_qualified_name(parts[i]),
									  quote_identifier(get_namespace_name(schema))));
	}
}

/* Return the relfilenode of a table, or InvalidOid if it is gone. */
Oid
vp_file_of(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			result = HeapTupleIsValid(tuple) ? ((Form_pg_class) GETSTRUCT(tuple))->relfilenode : InvalidOid;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return result;
}

/*
 * Set row pointers anew if the command rewrote the cold part: its relfilenode
 * is not "file" any more.  relink() can call code of users, for example in an
 * index.
 *
 * The command did not rewrite the cold part if it names the hot part.  Then
 * do not wait for a lock on the cold part: a parallel pg_restore adds
 * constraints to one part while another of its processes truncates the other
 * part.
 */
void
vp_follow_file(const VpDdl *ddl, Oid file)
{
	Relation	cold;
	bool		rewritten;

	if (ddl->layout.method != VP_ROW_POINTER || ddl->part == ddl->layout.hot ||
		vp_file_of(ddl->layout.cold) == file)
		return;

	/*
	 * The command may have waited until another session rewrote the part.
	 * Another session may even have given the part's name to another table,
	 * so this session may have no lock on the part.
	 */
	cold = RelationIdGetRelation(ddl->layout.cold);
	if (!RelationIsValid(cold))
		return;
	rewritten = compat_has_new_file(cold);
	RelationClose(cold);
	if (rewritten)
		vp_call_function("relink", ddl->view);
}

/*
 * Lock the split table before an ALTER TABLE of the cold part that relink() may
 * have to follow.  relink() itself would wait for its locks while this session
 * has locked the cold part, so there could be a deadlock with any session that
 * writes to the table.
 */
static void
lock_for_rewrite(VpDdl *ddl, AlterTableStmt *stmt)
{
	Oid			part = ddl->part;
	bool		rewrites = false;
	ListCell   *lc;

	if (part != ddl->layout.cold || ddl->layout.method != VP_ROW_POINTER || vp_is_carrying(part))
		return;
	foreach(lc, stmt->cmds)
	{
		const AlterTableCmd *cmd = lfirst_node(AlterTableCmd, lc);

		rewrites |= cmd->subtype == AT_AddColumn || cmd->subtype == AT_AlterColumnType ||
			cmd->subtype == AT_SetLogged || cmd->subtype == AT_SetUnLogged ||
			cmd->subtype == AT_SetTableSpace || cmd->subtype == AT_SetAccessMethod ||
			compat_sets_expression(cmd);
	}
	/* the name can be that of an index */
	if (!rewrites || RangeVarGetRelid(stmt->relation, NoLock, true) != part || !vp_is_whole(ddl))
		return;

	UnlockRelationOid(ddl->view, AccessShareLock);
	vp_lock_split(ddl, true);
	if (RangeVarGetRelid(stmt->relation, NoLock, true) != part)
		vp_changed(stmt->relation->relname);
}

/*-------------------------------------------------------------------------
 * Functions called by the utility hook
 *-------------------------------------------------------------------------
 */

/*
 * Prepare for a utility command.  Return NULL if the command does not concern
 * a split table.  Otherwise, return the state that vp_after_ddl() needs.
 * Raise an error if the command is refused.
 */
VpDdl *
vp_before_ddl(Node *stmt)
{
	VpDdl	   *ddl = NULL;
	AlterTableCmd *cmd;

	if (!OidIsValid(vp_linked_oid()))
		return NULL;
	switch (nodeTag(stmt))
	{
		case T_AlterTableStmt:
			vp_refuse_inheritance(stmt);
			ddl = vp_find_split(((AlterTableStmt *) stmt)->relation);
			cmd = ddl ? vp_find_command((AlterTableStmt *) stmt, AT_ChangeOwner) : NULL;
			if (cmd && OidIsValid(ddl->part))
				refuse_owner(ddl, cmd);
			else if (cmd && vp_carries(ddl))
				vp_lock_split(ddl, false);
			if (ddl)
				lock_for_rewrite(ddl, (AlterTableStmt *) stmt);
			break;
		case T_CreateTrigStmt:
			check_new_trigger((CreateTrigStmt *) stmt);
			ddl = vp_find_split(((CreateTrigStmt *) stmt)->relation);
			if (ddl && OidIsValid(ddl->part))
				refuse_row_trigger(ddl, (CreateTrigStmt *) stmt);
			break;
		case T_ViewStmt:
			ddl = vp_find_split(((ViewStmt *) stmt)->view);
			break;
		case T_RenameStmt:
			if (((RenameStmt *) stmt)->relation == NULL)
				break;
			ddl = vp_find_split(((RenameStmt *) stmt)->relation);
			if (ddl && renames_parts(ddl, stmt))
			{
				vp_need_latest_snapshot(ddl);
				vp_check_new_name(ddl, ((RenameStmt *) stmt)->newname);
				vp_lock_split(ddl, false);
			}
			break;
		case T_AlterObjectSchemaStmt:
			ddl = vp_find_split(((AlterObjectSchemaStmt *) stmt)->relation);
			if (ddl && renames_parts(ddl, stmt))
				vp_lock_split(ddl, false);
			break;
		default:
			break;
	}
	/* vertical_partition_alter.c does the work of vp_after_ddl() later */
	if (ddl && vp_is_carrying(ddl->part))
		return NULL;
	if (ddl && changes_key(ddl, stmt))
	{
		vp_prevent_ddl("ALTER TABLE");
		LockRelationOid(ddl->view, ShareUpdateExclusiveLock);
	}
	if (ddl)
		ddl->cold_file = vp_file_of(ddl->layout.cold);
	return ddl;
}

/*
 * Complete a utility command after its execution: make the same change to the
 * parts, or adapt the split table to a change of a part.
 */
void
vp_after_ddl(VpDdl *ddl, Node *stmt)
{
	switch (nodeTag(stmt))
	{
		case T_AlterTableStmt:
			if (OidIsValid(ddl->part))
			{
				vp_follow_foreign_keys(ddl);
				if (changes_key(ddl, stmt))
					follow_key(ddl);
				vp_follow_file(ddl, ddl->cold_file);
			}
			else if (vp_find_command((AlterTableStmt *) stmt, AT_ChangeOwner) && vp_has_trigger(ddl->view))
				carry_owner(ddl);
			break;
		case T_RenameStmt:
			if (renames_parts(ddl, stmt))
				vp_carry_names(ddl);
			else if (OidIsValid(ddl->part))
			{
				if (((RenameStmt *) stmt)->renameType == OBJECT_TABCONSTRAINT)
					check_constraint_name(ddl, ((RenameStmt *) stmt)->newname);
				follow_key(ddl);
			}
			break;
		case T_AlterObjectSchemaStmt:
			if (renames_parts(ddl, stmt))
				carry_schema(ddl);
			break;
		case T_CreateTrigStmt:
		case T_ViewStmt:
			follow_key(ddl);
			break;
		default:
			break;
	}
}
