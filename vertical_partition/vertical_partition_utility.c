/*-------------------------------------------------------------------------
 *
 * vertical_partition_utility.c
 *	  Utility commands on split views and their parts.
 *
 * Commands that the server accepts for a table but not for a view are passed
 * on to the parts of a split view: TRUNCATE, VACUUM, ANALYZE, REINDEX and,
 * from 19 on, REPACK.  COPY ... TO becomes the COPY of a query.  LOCK TABLE
 * needs no help: it locks the tables below a view itself.  See
 * vertical_partition_truncate.c for TRUNCATE, and vertical_partition_ddl.c for
 * ALTER TABLE and other DDL.
 *
 * VACUUM FULL, CLUSTER and REPACK move the rows of a table.  These commands
 * are refused for cold parts with pointers to their rows.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_utility.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "vertical_partition.h"
#include "vertical_partition_alter.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_ddl.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_lookup.h"
#include "vertical_partition_redirect.h"

static ProcessUtility_hook_type vp_next_utility_hook = NULL;

/* The view that rows are being copied to */
static Oid	vp_copied_view = InvalidOid;

/*
 * Return true if rows are being copied to this view.  write_row() calls this
 * function.
 */
bool
vp_is_copying(Oid view)
{
	return OidIsValid(view) && view == vp_copied_view;
}

/*
 * Return the name of a part, which replaces the name of the view in a
 * command.
 */
static RangeVar *
part_name(Oid part, const RangeVar *view)
{
	RangeVar   *name = makeRangeVar(get_namespace_name(get_rel_namespace(part)),
									get_rel_name(part), view->location);

	name->inh = view->inh;
	return name;
}

/*-------------------------------------------------------------------------
 * The next hook
 *-------------------------------------------------------------------------
 */

static void
next_utility(PlannedStmt *pstmt, const char *query_string, bool read_only_tree,
			 ProcessUtilityContext context, ParamListInfo params,
			 QueryEnvironment *query_env, DestReceiver *dest, QueryCompletion *qc)
{
	if (vp_next_utility_hook)
		vp_next_utility_hook(pstmt, query_string, read_only_tree, context, params, query_env, dest, qc);
	else
		standard_ProcessUtility(pstmt, query_string, read_only_tree, context, params, query_env, dest, qc);
}

/*
 * Run the two commands that replace a command on a split view.  The server
 * may change both parse trees, because they are copies.
 */
static void
run_on_parts(PlannedStmt *hot, PlannedStmt *cold, const char *query_string,
			 ProcessUtilityContext context, ParamListInfo params,
			 QueryEnvironment *query_env, DestReceiver *dest, QueryCompletion *qc)
{
	MemoryContext context_before = CurrentMemoryContext;
	bool		pushed = false;

	next_utility(hot, query_string, false, context, params, query_env, dest, qc);

	/* some commands end the transaction, and begin another one */
	MemoryContextSwitchTo(context_before);
	if (!ActiveSnapshotSet())
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		pushed = true;
	}
	next_utility(cold, query_string, false, context, params, query_env, dest, qc);
	if (pushed && ActiveSnapshotSet())
		PopActiveSnapshot();
}

/*-------------------------------------------------------------------------
 * VACUUM, ANALYZE, CLUSTER, REPACK and REINDEX
 *-------------------------------------------------------------------------
 */

/* Raise an error if there are valid pointers to the table's rows. */
static void
check_no_pointers(Oid relid, const char *command)
{
	if (!vp_row_pointers_valid(relid))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot execute %s on table \"%s\"", command, get_rel_name(relid)),
			 errdetail("The table is the cold part of a split table, and the hot part has pointers to its rows."),
			 errhint("Call vertical_partition.forget_row_pointers('%s') before, and vertical_partition.relink() afterwards.",
					 quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid)))));
}

/*
 * Return the columns of the list that are in the hot part, or if "cold" is
 * true, in the cold part.  Return their names in this part.
 */
static List *
part_columns(const VpLayout *layout, List *names, bool cold)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, names)
	{
		AttrNumber	attnum = get_attnum(layout->view, strVal(lfirst(lc)));

		if (attnum < 1 || attnum > layout->natts)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" of relation \"%s\" does not exist",
							strVal(lfirst(lc)), get_rel_name(layout->view))));
		if (layout->columns[attnum - 1].cold == cold)
			result = lappend(result, makeString(get_attname(cold ? layout->cold : layout->hot,
															layout->columns[attnum - 1].attnum, false)));
	}
	return result;
}

/*
 * Return all tables of the database except the tables with pointers to their
 * rows.  Return NIL if no table has such pointers.
 */
static List *
tables_without_pointers(void)
{
	List	   *result = NIL;
	List	   *left_out = vp_pointed_tables();
	Relation	rel;
	TableScanDesc scan;
	HeapTuple	tuple;

	if (left_out == NIL)
		return NIL;
	rel = table_open(RelationRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		if (form->relkind != RELKIND_RELATION && form->relkind != RELKIND_MATVIEW &&
			form->relkind != RELKIND_PARTITIONED_TABLE)
			continue;
		if (list_member_oid(left_out, form->oid))
			ereport(WARNING,
					(errmsg("skipping VACUUM FULL of \"%s\" --- a split table has pointers to its rows",
							NameStr(form->relname))));
		else
			result = lappend(result, makeVacuumRelation(NULL, form->oid, NIL));
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);

	return result;
}

/*
 * Replace split views by their parts in VACUUM and ANALYZE.  Prevent VACUUM
 * FULL from moving rows that pointers refer to.
 */
static void
redirect_vacuum(VacuumStmt *stmt)
{
	List	   *rels = NIL;
	bool		full = false;
	ListCell   *lc;

	foreach(lc, stmt->options)
	{
		DefElem    *option = (DefElem *) lfirst(lc);

		if (strcmp(option->defname, "full") == 0)
			full = stmt->is_vacuumcmd && defGetBoolean(option);
	}

	foreach(lc, stmt->rels)
	{
		VacuumRelation *rel = (VacuumRelation *) lfirst(lc);
		VpLayout   *layout = OidIsValid(rel->oid) ? NULL : vp_split_view(rel->relation);

		if (layout == NULL)
		{
			rels = lappend(rels, rel);
			if (full && rel->relation)
				check_no_pointers(RangeVarGetRelid(rel->relation, NoLock, true), "VACUUM FULL");
			continue;
		}
		if (full)
			check_no_pointers(layout->cold, "VACUUM FULL");
		for (int cold = 0; cold < 2; cold++)
		{
			List	   *columns = part_columns(layout, rel->va_cols, cold);

			if (rel->va_cols == NIL || columns != NIL)
				rels = lappend(rels, makeVacuumRelation(part_name(cold ? layout->cold : layout->hot, rel->relation),
														InvalidOid, columns));
		}
		UnlockRelationOid(layout->view, AccessShareLock);
	}
	if (full && stmt->rels == NIL)
		rels = tables_without_pointers();
	stmt->rels = rels;
}

/*
 * Return the tables that a CLUSTER or REPACK without a table name processes,
 * each followed by its index.  These are the tables that have been clustered.
 * For REPACK without USING INDEX, return all tables, with InvalidOid as
 * index.  Omit tables that the user may not cluster.  If "tell" is true, emit
 * the server's warning for each of the omitted tables.
 */
static List *
clustered_tables(const CompatCluster *command, MemoryContext context, bool tell)
{
	List	   *result = NIL;
	Relation	rel = table_open(command->by_index ? IndexRelationId : RelationRelationId, AccessShareLock);
	ScanKeyData key;
	TableScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_index_indisclustered, BTEqualStrategyNumber, F_BOOLEQ, BoolGetDatum(true));
	scan = table_beginscan_catalog(rel, command->by_index ? 1 : 0, command->by_index ? &key : NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Oid			relid;
		Oid			index = InvalidOid;
		MemoryContext old;

		if (command->by_index)
		{
			relid = ((Form_pg_index) GETSTRUCT(tuple))->indrelid;
			index = ((Form_pg_index) GETSTRUCT(tuple))->indexrelid;
		}
		else
		{
			Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

			if ((form->relkind != RELKIND_RELATION && form->relkind != RELKIND_MATVIEW) ||
				(form->relpersistence == RELPERSISTENCE_TEMP && !isTempOrTempToastNamespace(form->relnamespace)))
				continue;
			relid = form->oid;
		}
		if (!compat_may_cluster(command, relid, tell))
			continue;
		old = MemoryContextSwitchTo(context);
		result = lappend_oid(lappend_oid(result, relid), index);
		MemoryContextSwitchTo(old);
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);

	return result;
}

/* Return true if the command has the option, and it is on. */
static bool
has_option(const CompatCluster *command, const char *name)
{
	ListCell   *lc;
	bool		result = false;

	foreach(lc, command->params)
	{
		DefElem    *option = (DefElem *) lfirst(lc);

		if (strcmp(option->defname, name) == 0)
			result |= defGetBoolean(option);
	}
	return result;
}

/*
 * Execute CLUSTER or REPACK without a table name, each table in its own
 * transaction, as the server does.  Skip tables with pointers to their rows.
 * If there are no such tables, return false, and let the server execute the
 * command.
 */
static bool
cluster_database(const CompatCluster *command, bool is_top_level)
{
	List	   *pointed = vp_pointed_tables();
	List	   *tables;
	MemoryContext context;
	ListCell   *lc;
	bool		left_out = false;

	if (pointed == NIL)
		return false;

	/* the server rejects options that require a table name */
	if (command->is_repack && (has_option(command, "analyze") || has_option(command, "analyse") ||
							   has_option(command, "concurrently")))
		return false;

	context = AllocSetContextCreate(PortalContext, "vertical_partition CLUSTER", ALLOCSET_SMALL_SIZES);
	tables = clustered_tables(command, context, false);
	for (int i = 0; i < list_length(tables); i += 2)
		left_out |= list_member_oid(pointed, list_nth_oid(tables, i));
	if (!left_out)
	{
		MemoryContextDelete(context);
		return false;
	}
	(void) clustered_tables(command, context, true);

	foreach(lc, command->params)
	{
		DefElem    *option = (DefElem *) lfirst(lc);

		if (strcmp(option->defname, "verbose") != 0 &&
			!(command->is_repack && (strcmp(option->defname, "analyze") == 0 ||
									 strcmp(option->defname, "analyse") == 0 ||
									 strcmp(option->defname, "concurrently") == 0)))
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR),
					 errmsg("unrecognized %s option \"%s\"", command->name, option->defname)));
	}
	PreventCommandDuringRecovery(command->name);
	PreventInTransactionBlock(is_top_level, command->name);
	for (int i = 0; i < list_length(tables); i += 2)
	{
		Oid			relid = list_nth_oid(tables, i);

		if (!list_member_oid(pointed, relid))
			continue;
		ereport(WARNING,
				(errmsg("skipping %s of \"%s\" --- a split table has pointers to its rows",
						command->name, get_rel_name(relid))));
		lfirst_oid(list_nth_cell(tables, i)) = InvalidOid;
	}

	PopActiveSnapshot();
	CommitTransactionCommand();
	for (int i = 0; i < list_length(tables); i += 2)
	{
		if (!OidIsValid(list_nth_oid(tables, i)))
			continue;
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		/* the table may have been split meanwhile */
		if (!vp_row_pointers_valid(list_nth_oid(tables, i)))
			compat_cluster(command, list_nth_oid(tables, i), list_nth_oid(tables, i + 1),
						   has_option(command, "verbose"), is_top_level);
		PopActiveSnapshot();
		CommitTransactionCommand();
	}
	StartTransactionCommand();
	MemoryContextDelete(context);

	return true;
}

/*
 * Execute CLUSTER or REPACK.  Return false if the server has to execute the
 * command.
 *
 * For a split table, refuse USING INDEX, because both parts would need the
 * same order, but an index belongs to one part only.  Refuse CONCURRENTLY,
 * because it waits for older transactions to end.  So it would wait for the
 * command's own transaction, which has processed the other part.
 */
static bool
cluster_tables(PlannedStmt *pstmt, const char *query_string, ProcessUtilityContext context,
			   ParamListInfo params, QueryEnvironment *query_env, DestReceiver *dest, QueryCompletion *qc)
{
	CompatCluster command = compat_cluster_command(pstmt->utilityStmt);
	VpLayout   *layout;
	PlannedStmt *hot;
	PlannedStmt *cold;
	const char *what;

	if (command.table == NULL)
		return cluster_database(&command, context == PROCESS_UTILITY_TOPLEVEL);
	layout = command.is_repack ? vp_split_view(command.table) : NULL;
	if (layout == NULL)
	{
		check_no_pointers(RangeVarGetRelid(command.table, NoLock, true), command.name);
		return false;
	}
	what = command.by_index ? "REPACK USING INDEX" :
		has_option(&command, "concurrently") ? "REPACK (CONCURRENTLY)" : NULL;
	if (what)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot execute %s on split table \"%s\"", what, get_rel_name(layout->view)),
				 errhint("Name a part of it, \"%s\" or \"%s\".",
						 get_rel_name(layout->hot), get_rel_name(layout->cold))));
	check_no_pointers(layout->cold, command.name);

	hot = copyObject(pstmt);
	cold = copyObject(pstmt);
	compat_set_clustered(hot->utilityStmt, part_name(layout->hot, command.table),
						 part_columns(layout, command.columns, false));
	compat_set_clustered(cold->utilityStmt, part_name(layout->cold, command.table),
						 part_columns(layout, command.columns, true));
	UnlockRelationOid(layout->view, AccessShareLock);
	run_on_parts(hot, cold, query_string, context, params, query_env, dest, qc);

	return true;
}

/*-------------------------------------------------------------------------
 * The hook
 *-------------------------------------------------------------------------
 */

/*
 * Return the columns for COPY of the view.  "given" is the user's list of
 * columns, or NIL.  Omit generated columns, as COPY of a table does.
 */
static List *
copy_columns(const VpLayout *layout, List *given)
{
	List	   *columns = NIL;
	bool		generated = false;

	for (int i = 0; i < layout->natts; i++)
	{
		char	   *name = get_attname(layout->view, i + 1, false);

		if (get_attgenerated(layout->columns[i].cold ? layout->cold : layout->hot, layout->columns[i].attnum) == '\0')
		{
			columns = lappend(columns, makeString(name));
			continue;
		}
		generated = true;
		if (list_member(given, makeString(name)))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
					 errmsg("column \"%s\" is a generated column", name),
					 errdetail("Generated columns cannot be used in COPY.")));
	}
	return given == NIL && generated ? columns : given;
}

/* Return the query that replaces the view in COPY ... TO. */
static Node *
copy_query(CopyStmt *stmt, List *names)
{
	SelectStmt *select = makeNode(SelectStmt);
	ListCell   *lc;

	select->fromClause = list_make1(stmt->relation);
	if (names == NIL)
		names = list_make1(makeNode(A_Star));
	foreach(lc, names)
	{
		ColumnRef  *column = makeNode(ColumnRef);
		ResTarget  *target = makeNode(ResTarget);

		column->fields = list_make1(lfirst(lc));
		column->location = -1;
		target->val = (Node *) column;
		target->location = -1;
		select->targetList = lappend(select->targetList, target);
	}
	return (Node *) select;
}

/* Run COPY ... FROM, whose target is a view. */
static void
copy_from(Oid view, PlannedStmt *pstmt, const char *query_string, ProcessUtilityContext context,
		  ParamListInfo params, QueryEnvironment *query_env, DestReceiver *dest, QueryCompletion *qc)
{
	Oid			saved = vp_copied_view;

	PG_TRY();
	{
		vp_copied_view = view;
		next_utility(pstmt, query_string, false, context, params, query_env, dest, qc);
	}
	PG_FINALLY();
	{
		vp_copied_view = saved;
	}
	PG_END_TRY();
}

static void
vp_utility(PlannedStmt *pstmt, const char *query_string, bool read_only_tree,
		   ProcessUtilityContext context, ParamListInfo params,
		   QueryEnvironment *query_env, DestReceiver *dest, QueryCompletion *qc)
{
	Node	   *stmt = pstmt->utilityStmt;
	VpLayout   *layout;
	VpDdl	   *ddl;

	switch (nodeTag(stmt))
	{
		case T_TruncateStmt:
			if (!OidIsValid(vp_linked_oid()) || !vp_truncate_split((TruncateStmt *) stmt))
				break;
			return;

		case T_VacuumStmt:
			if (!OidIsValid(vp_linked_oid()))
				break;
			if (read_only_tree)
				pstmt = copyObject(pstmt);
			read_only_tree = false;
			redirect_vacuum((VacuumStmt *) pstmt->utilityStmt);
			break;

		case COMPAT_T_CLUSTER:
			if (OidIsValid(vp_linked_oid()) &&
				cluster_tables(pstmt, query_string, context, params, query_env, dest, qc))
				return;
			break;

		case T_CopyStmt:
			{
				CopyStmt   *copy = (CopyStmt *) stmt;

				if (copy->relation == NULL || !OidIsValid(vp_linked_oid()) ||
					(layout = vp_split_view(copy->relation)) == NULL)
					break;
				pstmt = copyObject(pstmt);
				read_only_tree = false;
				copy = (CopyStmt *) pstmt->utilityStmt;
				if (copy->is_from)
				{
					vp_check_replica_role(layout->view);
					copy->attlist = copy_columns(layout, copy->attlist);
					copy_from(layout->view, pstmt, query_string, context, params, query_env, dest, qc);
					return;
				}
				copy->query = copy_query(copy, copy_columns(layout, copy->attlist));
				copy->relation = NULL;
				copy->attlist = NIL;
				break;
			}

		case T_ReindexStmt:
			{
				ReindexStmt *reindex = (ReindexStmt *) stmt;
				PlannedStmt *cold;

				if (reindex->kind != REINDEX_OBJECT_TABLE || !OidIsValid(vp_linked_oid()) ||
					(layout = vp_split_view(reindex->relation)) == NULL)
					break;
				pstmt = copyObject(pstmt);
				cold = copyObject(pstmt);
				((ReindexStmt *) pstmt->utilityStmt)->relation = part_name(layout->hot, reindex->relation);
				((ReindexStmt *) cold->utilityStmt)->relation = part_name(layout->cold, reindex->relation);
				UnlockRelationOid(layout->view, AccessShareLock);
				run_on_parts(pstmt, cold, query_string, context, params, query_env, dest, qc);
				return;
			}

		case T_CreateStmt:
		case T_CreateForeignTableStmt:
			vp_refuse_inheritance(stmt);
			pg_fallthrough;
		case T_IndexStmt:
		case T_CreateStatsStmt:
		case T_CreateSeqStmt:
		case T_AlterSeqStmt:
		case T_CommentStmt:
			pstmt = vp_redirect_ddl(pstmt);
			break;

		case T_DropStmt:
		case T_AlterTableStmt:
			if (vp_carry_ddl(pstmt, query_string, params, query_env))
				return;
			pg_fallthrough;
		case T_RenameStmt:
		case T_AlterObjectSchemaStmt:
		case T_CreateTrigStmt:
		case T_ViewStmt:
			pstmt = vp_redirect_ddl(pstmt);
			stmt = pstmt->utilityStmt;
			/* copy the parse tree, because the command may change it */
			ddl = vp_before_ddl(stmt);
			stmt = ddl ? copyObject(stmt) : NULL;
			next_utility(pstmt, query_string, read_only_tree, context, params, query_env, dest, qc);
			if (ddl)
				vp_after_ddl(ddl, stmt);
			return;

		default:
			break;
	}

	next_utility(pstmt, query_string, read_only_tree, context, params, query_env, dest, qc);
}

/* Install the hook when the library is loaded. */
void
vp_utility_init(void)
{
	vp_next_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = vp_utility;
}
