/*-------------------------------------------------------------------------
 *
 * vertical_partition_compat.h
 *	  Differences between the supported PostgreSQL major versions.
 *
 * No other file of the extension checks PG_VERSION_NUM.  Differences that concern
 * other extensions as well are in bundle_compat.h.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_compat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VERTICAL_PARTITION_COMPAT_H
#define VERTICAL_PARTITION_COMPAT_H

#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "commands/tablecmds.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "optimizer/planner.h"
#include "parser/parse_relation.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"

#include "bundle_compat.h"

/*
 * The server defines pg_fallthrough since 19, because a comment no longer
 * marks a fall-through.
 */
#if PG_VERSION_NUM < 190000
#define pg_fallthrough	__attribute__((fallthrough))
#endif

/* Since 19, a tuple descriptor needs this call before a slot can use it. */
#if PG_VERSION_NUM < 190000
#define TupleDescFinalize(desc) ((void) 0)
#endif

/* Since 18, a hook lets EXPLAIN print properties of a plan. */
#if PG_VERSION_NUM >= 180000
#include "commands/explain.h"
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#define COMPAT_HAS_EXPLAIN_PER_PLAN
#endif

/* The server's detail message for a column that cannot be altered */
#if PG_VERSION_NUM >= 190000
#define COMPAT_DEPENDS_ON_COLUMN	"%s depends on column \"%s\"."
#else
#define COMPAT_DEPENDS_ON_COLUMN	"%s depends on column \"%s\""
#endif

/*
 * After an update, do indexes need a new entry?  Do only summarizing indexes
 * need one?
 */
#if PG_VERSION_NUM >= 160000
#define COMPAT_UPDATES_INDEXES(update)	((update) != TU_None)
#define COMPAT_ONLY_SUMMARIZING(update)	((update) == TU_Summarizing)
#else
#define COMPAT_UPDATES_INDEXES(update)	(update)
#define COMPAT_ONLY_SUMMARIZING(update)	false
#endif

/* Since 17, views with triggers can be the target of MERGE. */
#if PG_VERSION_NUM >= 170000
#define COMPAT_MERGE_VIEW
#endif

/* Wrapper of find_option(); return NULL if the setting does not exist. */
static inline struct config_generic *
compat_find_option(const char *name)
{
#if PG_VERSION_NUM >= 160000
	return find_option(name, false, true, 0);
#else
	struct config_generic **options = get_guc_variables();

	for (int i = 0; i < GetNumConfigOptions(); i++)
	{
		if (strcmp(options[i]->name, name) == 0)
			return options[i];
	}
	return NULL;
#endif
}

/*
 * Return the fields of a setting of type string.  Before 19, the generic record is the
 * first field of that struct.
 */
static inline struct config_string *
compat_string_option(struct config_generic *record)
{
#if PG_VERSION_NUM >= 190000
	return &record->_string;
#else
	return (struct config_string *) record;
#endif
}

/*
 * Return a NOT NULL constraint for a new column, as the parser would build it.  The
 * column is like column attnum of table relid.  Since 18, the constraint takes the name
 * of that column's constraint.
 */
static inline Constraint *
compat_not_null(Oid relid, AttrNumber attnum, char *column)
{
#if PG_VERSION_NUM >= 180000
	Constraint *constraint = makeNotNullConstraint(makeString(column));
	HeapTuple	tuple = findNotNullConstraintAttnum(relid, attnum);

	if (HeapTupleIsValid(tuple))
		constraint->conname = pstrdup(NameStr(((Form_pg_constraint) GETSTRUCT(tuple))->conname));
	return constraint;
#else
	Constraint *constraint = makeNode(Constraint);

	(void) relid;
	(void) attnum;
	(void) column;
	constraint->contype = CONSTR_NOTNULL;
	constraint->location = -1;
	return constraint;
#endif
}

/* Return true unless the foreign key is NOT ENFORCED, which is new in 18. */
static inline bool
compat_is_enforced(Form_pg_constraint constraint)
{
#if PG_VERSION_NUM >= 180000
	return constraint->conenforced;
#else
	(void) constraint;
	return true;
#endif
}

/* A CLUSTER command, or since 19 a REPACK command, which includes CLUSTER */
typedef struct CompatCluster
{
	const char *name;			/* name of the command */
	int			kind;			/* a RepackCommand */
	bool		is_repack;
	RangeVar   *table;			/* NULL: all tables */
	List	   *columns;		/* columns for ANALYZE */
	bool		by_index;		/* order rows by an index; without table, only
								 * tables that have been clustered */
	List	   *params;
} CompatCluster;

#if PG_VERSION_NUM >= 190000
#define COMPAT_T_CLUSTER	T_RepackStmt
#else
#define COMPAT_T_CLUSTER	T_ClusterStmt
#endif

static inline CompatCluster
compat_cluster_command(Node *stmt)
{
	CompatCluster command = {0};
#if PG_VERSION_NUM >= 190000
	RepackStmt *repack = castNode(RepackStmt, stmt);

	command.is_repack = repack->command == REPACK_COMMAND_REPACK;
	command.name = command.is_repack ? "REPACK" : "CLUSTER";
	command.kind = repack->command;
	command.table = repack->relation ? repack->relation->relation : NULL;
	command.columns = repack->relation ? repack->relation->va_cols : NIL;
	command.by_index = repack->usingindex;
	command.params = repack->params;
#else
	ClusterStmt *cluster = castNode(ClusterStmt, stmt);

	command.name = "CLUSTER";
	command.table = cluster->relation;
	command.by_index = true;
	command.params = cluster->params;
#endif
	return command;
}

/* Set the table of the command. */
static inline void
compat_set_clustered(Node *stmt, RangeVar *table, List *columns)
{
#if PG_VERSION_NUM >= 190000
	castNode(RepackStmt, stmt)->relation = makeVacuumRelation(table, InvalidOid, columns);
#else
	(void) columns;
	castNode(ClusterStmt, stmt)->relation = table;
#endif
}

/*
 * Return true if the user may cluster the table.  Otherwise, since 17, emit the server's
 * warning if "tell" is true.
 */
static inline bool
compat_may_cluster(const CompatCluster *command, Oid relid, bool tell)
{
#if PG_VERSION_NUM >= 170000
	if (pg_class_aclcheck(relid, GetUserId(), ACL_MAINTAIN) == ACLCHECK_OK)
		return true;
	if (tell)
		ereport(WARNING,
#if PG_VERSION_NUM >= 190000
				(errmsg("permission denied to execute %s on \"%s\", skipping it", command->name, get_rel_name(relid))));
#else
				(errmsg("permission denied to cluster \"%s\", skipping it", get_rel_name(relid))));
#endif
	return false;
#else
	(void) tell;
	return compat_relation_ownercheck(relid, GetUserId());
#endif
}

/*
 * Call cluster_rel() for a table.  If indexid is valid, order the rows by
 * that index, and skip the table if it is no longer clustered on that index.
 * Since 19, indexid may be InvalidOid, which keeps the order of the rows.
 */
static inline void
compat_cluster(const CompatCluster *command, Oid relid, Oid indexid, bool verbose, bool is_top_level)
{
	ClusterParams params = {0};

	params.options = CLUOPT_RECHECK | (OidIsValid(indexid) ? CLUOPT_RECHECK_ISCLUSTERED : 0) |
		(verbose ? CLUOPT_VERBOSE : 0);
#if PG_VERSION_NUM >= 180000
	{
		Relation	rel = try_table_open(relid, AccessExclusiveLock);

		/* cluster_rel() closes the relation */
		if (rel)
#if PG_VERSION_NUM >= 190000
			cluster_rel((RepackCommand) command->kind, rel, indexid, &params, is_top_level);
#else
			cluster_rel(rel, indexid, &params);
#endif
	}
#else
	cluster_rel(relid, indexid, &params);
#endif
}

/*
 * Wrapper of CreateConstraintEntry() for a primary key.  The index may belong to another
 * relation than relid.
 */
static inline Oid
compat_create_primary_key(const char *name, Oid namespaceid, Oid relid,
						  const int16 *columns, int n, Oid indexid)
{
	return CreateConstraintEntry(name, namespaceid, CONSTRAINT_PRIMARY, false, false,
#if PG_VERSION_NUM >= 180000
								 true,
#endif
								 true, InvalidOid, relid, columns, n, n, InvalidOid, indexid,
								 InvalidOid, NULL, NULL, NULL, NULL, 0, ' ', ' ', NULL, 0, ' ',
								 NULL, NULL, NULL, true, 0, true,
#if PG_VERSION_NUM >= 180000
								 false,
#endif
								 true);
}

/* Wrapper of RelationGetPrimaryKeyIndex() */
static inline Oid
compat_primary_key_index(Relation rel)
{
#if PG_VERSION_NUM >= 180000
	return RelationGetPrimaryKeyIndex(rel, false);
#else
	return RelationGetPrimaryKeyIndex(rel);
#endif
}

/* Wrapper of StoreAttrDefault() for an existing column */
static inline void
compat_store_default(Relation rel, AttrNumber attnum, Node *expr)
{
#if PG_VERSION_NUM >= 180000
	StoreAttrDefault(rel, attnum, expr, true);
#else
	StoreAttrDefault(rel, attnum, expr, true, false);
#endif
}

/*
 * Return true if the subcommand changes the expression of a generated column, which is
 * new in 17.
 */
static inline bool
compat_sets_expression(const AlterTableCmd *cmd)
{
#if PG_VERSION_NUM >= 170000
	return cmd->subtype == AT_SetExpression;
#else
	(void) cmd;
	return false;
#endif
}

/* Return the name of the constraint that ALTER CONSTRAINT changes. */
static inline const char *
compat_altered_constraint(const AlterTableCmd *cmd)
{
#if PG_VERSION_NUM >= 180000
	return ((ATAlterConstraint *) cmd->def)->conname;
#else
	return ((Constraint *) cmd->def)->conname;
#endif
}

/* Return true for NOT NULL as a table constraint, which is new in 18. */
static inline bool
compat_is_table_not_null(const Constraint *constraint)
{
#if PG_VERSION_NUM >= 180000
	return constraint->contype == CONSTR_NOTNULL;
#else
	(void) constraint;
	return false;
#endif
}

/*
 * Return true if CREATE FOREIGN TABLE accepts LIKE, which is new in 18.  In
 * older releases, the parser accepts the clause, and parse analysis rejects
 * it.
 */
static inline bool
compat_foreign_like(void)
{
#if PG_VERSION_NUM >= 180000
	return true;
#else
	return false;
#endif
}

/* Return true for a virtual generated column, which is new in 18. */
static inline bool
compat_is_virtual(const Constraint *constraint)
{
#if PG_VERSION_NUM >= 180000
	return constraint->contype == CONSTR_GENERATED && constraint->generated_kind == ATTRIBUTE_GENERATED_VIRTUAL;
#else
	(void) constraint;
	return false;
#endif
}

/* Add a column of a table to the columns that the query reads. */
static inline void
compat_add_selected(Query *query, RangeTblEntry *rte, AttrNumber attnum)
{
#if PG_VERSION_NUM >= 160000
	RTEPermissionInfo *perminfo = getRTEPermissionInfo(query->rteperminfos, rte);

	perminfo->selectedCols = bms_add_member(perminfo->selectedCols, attnum - FirstLowInvalidHeapAttributeNumber);
#else
	(void) query;
	rte->selectedCols = bms_add_member(rte->selectedCols, attnum - FirstLowInvalidHeapAttributeNumber);
#endif
}

/* Wrapper of ExecCheckIndexConstraints() for a row that is not stored yet */
static inline bool
compat_check_index_constraints(ResultRelInfo *info, TupleTableSlot *slot, EState *estate,
							   ItemPointer conflict, List *arbiters)
{
#if PG_VERSION_NUM >= 180000
	ItemPointerData none;

	ItemPointerSetInvalid(&none);
	return ExecCheckIndexConstraints(info, slot, estate, conflict, &none, arbiters);
#else
	return ExecCheckIndexConstraints(info, slot, estate, conflict, arbiters);
#endif
}

/*
 * Wrapper of table_tuple_update().  Update the row version that the snapshot
 * shows, and wait for concurrent transactions.
 */
static inline TM_Result
compat_tuple_update(Relation rel, ItemPointer tid, TupleTableSlot *slot, CommandId cid, Snapshot snapshot,
					TM_FailureData *tmfd, LockTupleMode *mode, CompatUpdateIndexes *update)
{
#if PG_VERSION_NUM >= 190000
	return table_tuple_update(rel, tid, slot, cid, 0, snapshot, InvalidSnapshot, true, tmfd, mode, update);
#else
	return table_tuple_update(rel, tid, slot, cid, snapshot, InvalidSnapshot, true, tmfd, mode, update);
#endif
}

/*
 * Wrapper of table_tuple_delete().  Delete the row version that the snapshot
 * shows.
 */
static inline TM_Result
compat_tuple_delete(Relation rel, ItemPointer tid, CommandId cid, Snapshot snapshot, bool wait,
					TM_FailureData *tmfd)
{
#if PG_VERSION_NUM >= 190000
	return table_tuple_delete(rel, tid, cid, 0, snapshot, InvalidSnapshot, wait, tmfd);
#else
	return table_tuple_delete(rel, tid, cid, snapshot, InvalidSnapshot, wait, tmfd, false);
#endif
}

/* ON CONFLICT state of an INSERT; since 19, the action may be DO SELECT. */
#if PG_VERSION_NUM >= 190000
typedef OnConflictActionState CompatConflictState;
#define COMPAT_SELECTS_CONFLICTING(plan)	((plan)->onConflictAction == ONCONFLICT_SELECT)
#else
typedef OnConflictSetState CompatConflictState;
#define COMPAT_SELECTS_CONFLICTING(plan)	false
#endif

/*
 * Set *mode to the lock mode of DO SELECT.  Return false if DO SELECT does
 * not lock the row.
 */
static inline bool
compat_conflict_lock(const CompatConflictState *conflict, LockTupleMode *mode)
{
#if PG_VERSION_NUM >= 190000
	switch (conflict->oc_LockStrength)
	{
		case LCS_NONE:
			return false;
		case LCS_FORKEYSHARE:
			*mode = LockTupleKeyShare;
			break;
		case LCS_FORSHARE:
			*mode = LockTupleShare;
			break;
		case LCS_FORNOKEYUPDATE:
			*mode = LockTupleNoKeyExclusive;
			break;
		case LCS_FORUPDATE:
			*mode = LockTupleExclusive;
			break;
	}
	return true;
#else
	(void) conflict;
	(void) mode;
	return false;
#endif
}

/* Instrumentation of a plan node */
#if PG_VERSION_NUM >= 190000
typedef NodeInstrumentation CompatInstrumentation;
#else
typedef Instrumentation CompatInstrumentation;
#endif

/*
 * The parameter that planner functions have since 19, and the argument to
 * pass
 */
#if PG_VERSION_NUM >= 190000
#define COMPAT_PLANNER_PARAM	, ExplainState *explain
#define COMPAT_PLANNER_ARGUMENT	, explain
#else
#define COMPAT_PLANNER_PARAM
#define COMPAT_PLANNER_ARGUMENT
#endif

/*
 * Give an EState a range table of n tables, with their OIDs in "relids" and the updated
 * columns of each in "updated".
 */
static inline void
compat_init_range_table(EState *estate, int n, const Oid *relids, Bitmapset *const *updated)
{
	List	   *rtable = NIL;
#if PG_VERSION_NUM >= 160000
	List	   *perminfos = NIL;
#endif

	for (int i = 0; i < n; i++)
	{
		RangeTblEntry *rte = makeNode(RangeTblEntry);

		rte->rtekind = RTE_RELATION;
		rte->relid = relids[i];
		rte->relkind = RELKIND_RELATION;
		rte->rellockmode = RowExclusiveLock;
#if PG_VERSION_NUM >= 160000
		addRTEPermissionInfo(&perminfos, rte)->updatedCols = updated[i];
#else
		rte->updatedCols = updated[i];
#endif
		rtable = lappend(rtable, rte);
	}
#if PG_VERSION_NUM >= 180000
	ExecInitRangeTable(estate, rtable, perminfos, bms_add_range(NULL, 1, n));
#elif PG_VERSION_NUM >= 160000
	ExecInitRangeTable(estate, rtable, perminfos);
#else
	ExecInitRangeTable(estate, rtable);
#endif
}

/*
 * Return the role whose permissions are checked on a relation.  InvalidOid
 * stands for the current user.
 */
static inline Oid
compat_check_as_user(Query *query, RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	return getRTEPermissionInfo(query->rteperminfos, rte)->checkAsUser;
#else
	(void) query;
	return rte->checkAsUser;
#endif
}

/*
 * Remove the permission info of a relation from the query's list.  Return
 * false, without any change, if it is not the last entry in the list.  Before
 * 16, there is no such list.
 */
static inline bool
compat_forget_permissions(Query *query, RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	if (rte->perminfoindex != (Index) list_length(query->rteperminfos))
		return false;
	query->rteperminfos = list_truncate(query->rteperminfos, rte->perminfoindex - 1);
#else
	(void) query;
	(void) rte;
#endif
	return true;
}

/* Return the columns that the statement sets, according to its permission info. */
static inline Bitmapset *
compat_updated_columns(Query *query, RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	return getRTEPermissionInfo(query->rteperminfos, rte)->updatedCols;
#else
	return rte->updatedCols;
#endif
}

/*
 * Make a table of a view's query the target of an UPDATE of the view.  The
 * view's owner needs the same permissions on the table as the user needs on
 * the view.
 */
static inline void
compat_set_update_permissions(Query *query, RangeTblEntry *view, Query *definition,
							  RangeTblEntry *table, Bitmapset *updated)
{
#if PG_VERSION_NUM >= 160000
	RTEPermissionInfo *old = getRTEPermissionInfo(definition->rteperminfos, table);
	RTEPermissionInfo *perminfo;

	table->perminfoindex = 0;
	perminfo = addRTEPermissionInfo(&query->rteperminfos, table);
	perminfo->requiredPerms = getRTEPermissionInfo(query->rteperminfos, view)->requiredPerms;
	perminfo->checkAsUser = old->checkAsUser;
	perminfo->selectedCols = old->selectedCols;
	perminfo->updatedCols = updated;
#else
	(void) query;
	(void) definition;
	table->requiredPerms = view->requiredPerms;
	table->updatedCols = updated;
#endif
}

/*
 * Get the columns of a relation that a statement reads, according to its permission info.
 * Set *direct to true if the statement names the relation itself, not a view on it.
 * Return false, and no columns, for a child of a relation that the statement names.
 */
static inline bool
compat_selected_columns(RangeTblEntry *rte, struct EState *estate,
						Bitmapset **selected, bool *direct)
{
	*selected = NULL;
#if PG_VERSION_NUM >= 160000
	if (rte->perminfoindex != 0)
	{
		RTEPermissionInfo *perminfo = getRTEPermissionInfo(estate->es_rteperminfos, rte);

		*selected = perminfo->selectedCols;
		*direct = !OidIsValid(perminfo->checkAsUser);
		return true;
	}
#else
	if (rte->requiredPerms != 0)
	{
		*selected = rte->selectedCols;
		*direct = !OidIsValid(rte->checkAsUser);
		return true;
	}
#endif
	*direct = false;
	return false;
}

/*
 * TRUNCATE relations that the caller has opened, and whose permissions it has
 * checked.
 */
static inline void
compat_truncate(List *rels, List *relids, List *logged, DropBehavior behavior, bool restart_seqs)
{
#if PG_VERSION_NUM >= 160000
	ExecuteTruncateGuts(rels, relids, logged, behavior, restart_seqs, false);
#else
	ExecuteTruncateGuts(rels, relids, logged, behavior, restart_seqs);
#endif
}

#endif							/* VERTICAL_PARTITION_COMPAT_H */
