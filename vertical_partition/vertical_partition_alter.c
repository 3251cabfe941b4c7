/*-------------------------------------------------------------------------
 *
 * vertical_partition_alter.c
 *	  ALTER TABLE and DROP TABLE of a split table.
 *
 * ALTER TABLE of a split view becomes an ALTER TABLE of each part whose
 * columns it names.  Then the view is adapted.  DROP TABLE becomes a DROP of
 * the view and both parts.
 *
 * While a part is altered, it has the view's name, and the view has another
 * name.  So new constraints, indexes and sequences get the same names as on a
 * table that is not split, and messages have the same text.  No other session
 * sees the exchanged names, because the view and both parts are locked.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_alter.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_proc.h"
#include "commands/defrem.h"
#include "commands/event_trigger.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "parser/parse_type.h"
#include "storage/lmgr.h"
#include "tcop/dest.h"
#include "tcop/utility.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "vertical_partition.h"
#include "vertical_partition_alter.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_ddl.h"
#include "vertical_partition_key.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_lookup.h"
#include "vertical_partition_place.h"
#include "vertical_partition_redirect.h"

/*
 * The views that this session is altering, and the part that the innermost
 * ALTER TABLE alters
 */
static List *vp_altered_views = NIL;
static Oid	vp_carrying = InvalidOid;

/* Return true if this session is altering the view. */
bool
vp_is_altering(Oid view)
{
	return list_member_oid(vp_altered_views, view);
}

/* Return true if the relation is the part that is being altered under the view's name. */
bool
vp_is_carrying(Oid relid)
{
	return OidIsValid(relid) && relid == vp_carrying;
}

/*-------------------------------------------------------------------------
 * ALTER TABLE
 *-------------------------------------------------------------------------
 */

/* Context of the user's command, passed on to the commands that replace it */
typedef struct VpCommand
{
	PlannedStmt *pstmt;
	const char *query_string;
	ParamListInfo params;
	QueryEnvironment *query_env;
} VpCommand;

/*
 * Run a utility command that replaces the user's command, alone or with
 * others.
 */
static void
run_utility(const VpCommand *command, Node *stmt, ProcessUtilityContext context)
{
	PlannedStmt *wrapper = makeNode(PlannedStmt);

	wrapper->commandType = CMD_UTILITY;
	wrapper->canSetTag = false;
	wrapper->utilityStmt = stmt;
	wrapper->stmt_location = command->pstmt->stmt_location;
	wrapper->stmt_len = command->pstmt->stmt_len;
	ProcessUtility(wrapper, command->query_string, false, context,
				   command->params, command->query_env, None_Receiver, NULL);
	CommandCounterIncrement();
}

/*
 * Run an ALTER TABLE with these subcommands.  If "carrying" is valid, it is the part that
 * is being altered under the view's name.
 */
static void
run_alter(const VpCommand *command, const AlterTableStmt *stmt, Oid relid, Oid carrying, List *cmds)
{
	AlterTableStmt *new = makeNode(AlterTableStmt);
	Oid			saved = vp_carrying;

	new->relation = makeRangeVar(get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid), stmt->relation->location);
	new->relation->inh = stmt->relation->inh;
	new->cmds = copyObject(cmds);
	new->objtype = OBJECT_TABLE;
	(void) vp_redirect_references((Node *) new->cmds, InvalidOid, NULL);
	PG_TRY();
	{
		vp_carrying = carrying;
		run_utility(command, (Node *) new, PROCESS_UTILITY_SUBCOMMAND);
	}
	PG_FINALLY();
	{
		vp_carrying = saved;
	}
	PG_END_TRY();
}

static void
rename_to(Oid relid, const char *name)
{
	RenameRelationInternal(relid, name, true, false);
	CommandCounterIncrement();
}

/* Alter a part under the name of the view, which has another name meanwhile. */
static void
alter_part(const VpAlter *alter, const VpCommand *command, const AlterTableStmt *stmt, Oid part, List *cmds)
{
	char	   *name;

	if (cmds == NIL)
		return;
	name = get_rel_name(part);
	rename_to(part, alter->name);
	run_alter(command, stmt, part, part, cmds);
	rename_to(part, name);
}

/*
 * Return true if the subcommand drops a named object.  Such subcommands have
 * to run first: other subcommands may reuse the name, or may drop objects
 * that the named object depends on.
 */
static bool
drops_object(const AlterTableCmd *cmd)
{
	return cmd->subtype == AT_DropColumn || cmd->subtype == AT_DropConstraint || cmd->subtype == AT_DropIdentity;
}

/*
 * Return true if the subcommand is one that the server runs in its first pass,
 * see ATPrepCmd().  Those that drop no object belong to it too, because the
 * same command can drop the column.
 */
bool
vp_is_drop(const AlterTableCmd *cmd)
{
	return drops_object(cmd) || cmd->subtype == AT_DropExpression || cmd->subtype == AT_DropNotNull ||
		(cmd->subtype == AT_ColumnDefault && cmd->def == NULL);
}

/*
 * Return the subcommands that drop something if "drops" is true, else all
 * others.
 */
static List *
drops_of(List *cmds, bool drops)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, cmds)
	{
		if (vp_is_drop((AlterTableCmd *) lfirst(lc)) == drops)
			result = lappend(result, lfirst(lc));
	}
	return result;
}

/*
 * Alter both parts.  As for a table that is not split, first run the
 * subcommands that drop objects, in the order of the user's command.  So
 * other subcommands can reuse the names, and a constraint is dropped before
 * the constraint that it depends on.
 */
static void
alter_parts(const VpAlter *alter, const VpCommand *command, const AlterTableStmt *stmt)
{
	const VpLayout *layout = &alter->ddl->layout;
	List	   *run = NIL;
	Oid			part = InvalidOid;
	bool		dropped = false;
	ListCell   *lc;

	/*
	 * the server sorts the subcommands of each part, so the order matters
	 * only if the cold part loses an object and the hot part is altered, too
	 */
	foreach(lc, alter->cold)
		dropped |= drops_object((AlterTableCmd *) lfirst(lc));
	if (!dropped || alter->hot == NIL)
	{
		alter_part(alter, command, stmt, layout->hot, alter->hot);
		alter_part(alter, command, stmt, layout->cold, alter->cold);
		return;
	}
	foreach(lc, stmt->cmds)
	{
		AlterTableCmd *cmd = (AlterTableCmd *) lfirst(lc);
		Oid			owner = list_member_ptr(alter->cold, cmd) ? layout->cold : layout->hot;

		if (!vp_is_drop(cmd) || !(list_member_ptr(alter->cold, cmd) || list_member_ptr(alter->hot, cmd)))
			continue;
		if (owner != part)
		{
			alter_part(alter, command, stmt, part, run);
			run = NIL;
		}
		part = owner;
		run = lappend(run, cmd);
	}
	alter_part(alter, command, stmt, part, run);
	alter_part(alter, command, stmt, layout->hot, drops_of(alter->hot, false));
	alter_part(alter, command, stmt, layout->cold, drops_of(alter->cold, false));
}

/* Return the names of constraints that both parts have. */
static List *
shared_constraints(const VpLayout *layout)
{
	Relation	catalog = table_open(ConstraintRelationId, AccessShareLock);
	List	   *names = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(layout->cold));
	scan = systable_beginscan(catalog, ConstraintRelidTypidNameIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		char	   *name = NameStr(((Form_pg_constraint) GETSTRUCT(tuple))->conname);

		if (OidIsValid(get_relation_constraint_oid(layout->hot, name, true)))
			names = vp_add_name(names, pstrdup(name));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return names;
}

/*
 * Raise an error if the command gave both parts a constraint of one name.  The
 * server chooses a name that is new for one part, but does not know those that
 * the same command gives to constraints of the other.  The parts could not be
 * merged.
 */
static void
check_new_constraints(const VpAlter *alter, List *shared_before)
{
	ListCell   *lc;

	foreach(lc, shared_constraints(&alter->ddl->layout))
	{
		char	   *name = (char *) lfirst(lc);

		if (!vp_has_name(shared_before, name))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("constraint \"%s\" for relation \"%s\" already exists", name, alter->name),
					 errdetail("The command would create a constraint of this name on hot columns and another one on cold columns."),
					 errhint("Give each new constraint a name of its own, or create them with one ALTER TABLE each.")));
	}
}

/*
 * Lock the split table for a command that changes the view and its parts.  Raise an error
 * if the table has been replaced since it was looked up: the name may belong to another
 * table then.
 */
static void
lock_named(VpDdl *ddl, RangeVar *name)
{
	vp_lock_split(ddl, false);
	if (RangeVarGetRelid(name, NoLock, true) != ddl->view)
		vp_changed(name->relname);
}

/*
 * Return the number of columns of the parts that the view does not show: the
 * columns that link the parts, and columns that the user has added to a part.
 */
static int
count_hidden(const VpLayout *layout)
{
	Oid			parts[2] = {layout->hot, layout->cold};
	int			hidden = 0;

	for (int part = 0; part < 2; part++)
	{
		Relation	rel = table_open(parts[part], NoLock);

		for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
			hidden += !TupleDescAttr(RelationGetDescr(rel), i)->attisdropped;
		table_close(rel, NoLock);
	}
	return hidden - layout->natts;
}

/* Adapt the triggers of the parts to their foreign keys. */
static void
follow(const VpAlter *alter)
{
	VpDdl		part = *alter->ddl;

	part.part = alter->ddl->layout.hot;
	if (alter->hot != NIL)
		vp_follow_foreign_keys(&part);
	part.part = alter->ddl->layout.cold;
	if (alter->cold != NIL)
		vp_follow_foreign_keys(&part);
}

/* Remove the table name from column references. */
static bool
unqualify(Node *node, void *context)
{
	if (node == NULL || vp_has_no_columns(node))
		return false;
	if (IsA(node, ColumnRef))
	{
		((ColumnRef *) node)->fields = list_make1(llast(((ColumnRef *) node)->fields));
		return false;
	}
	return raw_expression_tree_walker(node, unqualify, context);
}

/*
 * Return true if the function is not immutable.  Each part is altered by its
 * own statement, and a stable function may return different results in two
 * statements.  PostgreSQL's own stable conversions return the same result in
 * both statements.  The caller accepts these conversions, see
 * is_server_conversion(), because there are no immutable conversions for
 * dates and enums.
 */
static bool
is_not_immutable(Oid function, void *context)
{
	return func_volatile(function) != PROVOLATILE_IMMUTABLE;
}

/*
 * Return true if the function is volatile, or if it is not built into
 * PostgreSQL.
 */
static bool
is_other_function(Oid function, void *context)
{
	return func_volatile(function) == PROVOLATILE_VOLATILE || function >= FirstNormalObjectId;
}

/*
 * Return true if the node is a cast, or a conversion that uses the text form
 * of a value.  Return false if one of its functions is volatile, is not built
 * into PostgreSQL, or can call a user-defined cast.
 */
static bool
is_server_conversion(Node *node)
{
	if (IsA(node, FuncExpr))
	{
		FuncExpr   *function = (FuncExpr *) node;

		if ((function->funcformat != COERCE_EXPLICIT_CAST && function->funcformat != COERCE_IMPLICIT_CAST) ||
			exprType((Node *) linitial(function->args)) >= FirstNormalObjectId)
			return false;
	}
	else if (!IsA(node, CoerceViaIO))
		return false;
	return !check_functions_in_node(node, is_other_function, NULL);
}

/*
 * Return true if the planned expression can give different values in the
 * statements for the two parts.  Return true also for node types that are not
 * listed here, because some of these call a user-defined cast.
 */
static bool
differs_by_statement(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_List:
		case T_Var:
		case T_Const:
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_ArrayExpr:
		case T_SubscriptingRef:
		case T_CollateExpr:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_CoerceToDomain:
			break;
		default:
			return true;
	}
	if (check_functions_in_node(node, is_not_immutable, NULL) && !is_server_conversion(node))
		return true;
	return expression_tree_walker(node, differs_by_statement, context);
}

/*
 * Raise an error if USING or a cast could give a key column different values
 * in the two parts.  With different values, the view could join a hot row
 * with the cold row of another row.
 */
static void
check_key_values(const VpAlter *alter)
{
	Oid			cold = alter->ddl->layout.cold;
	ListCell   *lc;

	foreach(lc, alter->cold)
	{
		AlterTableCmd *cmd = (AlterTableCmd *) lfirst(lc);
		ColumnDef  *definition = (ColumnDef *) cmd->def;
		ParseState *pstate;
		Relation	rel;
		Node	   *value;
		Oid			type;
		int32		typmod;

		if (cmd->subtype != AT_AlterColumnType || vp_places_of(alter, cmd->name) != VP_IN_BOTH)
			continue;
		pstate = make_parsestate(NULL);
		rel = table_open(cold, NoLock);
		addNSItemToQuery(pstate, addRangeTableEntryForRelation(pstate, rel, AccessShareLock, NULL, false, true),
						 false, true, true);
		if (definition->raw_default != NULL)
		{
			value = copyObject(definition->raw_default);
			(void) unqualify(value, NULL);
			value = transformExpr(pstate, value, EXPR_KIND_ALTER_COL_TRANSFORM);
		}
		else
			value = colNameToVar(pstate, cmd->name, false, -1);
		typenameTypeIdAndMod(pstate, definition->typeName, &type, &typmod);
		if (value != NULL)
			value = coerce_to_target_type(pstate, value, exprType(value), type, typmod,
										  COERCION_ASSIGNMENT, COERCE_IMPLICIT_CAST, -1);
		if (value != NULL)
			assign_expr_collations(pstate, value);
		table_close(rel, NoLock);
		free_parsestate(pstate);

		/*
		 * ALTER TABLE itself rejects a value that cannot be cast.  Plan the
		 * expression, because only a planned expression contains the default
		 * arguments of functions.
		 */
		if (value != NULL && differs_by_statement((Node *) expression_planner((Expr *) value), NULL))
			vp_refuse(alter, "alter the type of a column of the key by a function that is not immutable");
	}
}

/*
 * Execute an ALTER TABLE that needs the view and the parts locked against all
 * other sessions.  The caller has locked the view and the parts.
 */
static void
alter_all(VpAlter *alter, const VpCommand *command, AlterTableStmt *stmt)
{
	VpDdl	   *ddl = alter->ddl;
	Oid			file = vp_file_of(ddl->layout.cold);
	char	   *name = pstrdup(alter->name);
	bool		had_key = false;
	List	   *saved = vp_altered_views;
	int			hidden = count_hidden(&ddl->layout);
	List	   *shared;

	vp_carry_names(ddl);
	shared = shared_constraints(&ddl->layout);
	if (alter->dropped != NIL)
		vp_refresh_split(ddl, vp_shrink_view(alter));
	check_key_values(alter);
	vp_lend_defaults(alter);
	if (alter->retyped != NIL || alter->dropped != NIL)
		vp_release_parts(alter, &had_key);

	(void) vp_redirect_references((Node *) alter->hot, ddl->layout.hot, alter->name);
	(void) vp_redirect_references((Node *) alter->cold, ddl->layout.cold, alter->name);
	vp_altered_views = lappend_oid(list_copy(saved), ddl->view);
	PG_TRY();
	{
		rename_to(ddl->view, ChooseRelationName("vertical_partition", name, "view", get_rel_namespace(ddl->view), false));
		alter_parts(alter, command, stmt);
		rename_to(ddl->view, name);
	}
	PG_FINALLY();
	{
		vp_altered_views = saved;
	}
	PG_END_TRY();
	check_new_constraints(alter, shared);

	if (alter->added != NIL || alter->retyped != NIL || alter->dropped != NIL)
		vp_remake_view(alter, stmt);
	vp_take_defaults(alter);
	vp_refresh_split(ddl, ddl->view);
	if (!vp_carries(ddl))
		vp_changed(name);

	/*
	 * raise an error if the view lost a column that a part still has, because
	 * nobody could see this column any more
	 */
	if (count_hidden(&ddl->layout) != hidden)
		elog(ERROR, "split table \"%s\" does not show all columns of its parts", name);
	if (had_key)
		vp_restore_key(ddl->view);
	if (alter->key_retyped)
		vp_call_helper(ddl, psprintf("SELECT vertical_partition_internal.guard_keys(%u, true),"
									 " vertical_partition_internal.check_keys(%u)",
									 ddl->view, ddl->view));
	follow(alter);
	vp_follow_file(ddl, file);
}

static void
tell_skipped(const VpAlter *alter)
{
	ListCell   *lc;

	foreach(lc, alter->skipped)
		ereport(NOTICE,
				(errmsg_internal("%s", (char *) lfirst(lc))));
}

/* Execute an ALTER TABLE of a split table, without firing event triggers. */
static void
execute_alter(const VpCommand *command, AlterTableStmt *stmt)
{
	VpDdl	   *ddl = vp_hold_split(stmt->relation);
	VpAlter		alter;
	Relation	view;

	if (ddl == NULL)
		vp_changed(stmt->relation->relname);
	vp_divide_alter(&alter, ddl, stmt);
	if (AlterTableGetLockLevel(stmt->cmds) < AccessExclusiveLock && !alter.names && alter.view == NIL &&
		!vp_names_differ(&ddl->layout))
	{
		List	   *shared = shared_constraints(&ddl->layout);

		if (alter.hot != NIL)
			run_alter(command, stmt, ddl->layout.hot, InvalidOid, alter.hot);
		if (alter.cold != NIL)
			run_alter(command, stmt, ddl->layout.cold, InvalidOid, alter.cold);
		if (vp_find_command(stmt, AT_AddConstraint))
		{
			vp_lock_constraint_names(ddl);
			check_new_constraints(&alter, shared);
		}
		return;
	}
	UnlockRelationOid(ddl->view, AccessShareLock);
	lock_named(ddl, stmt->relation);

	/*
	 * check that this session does not use the view: while an INSERT computes
	 * its next row, it has the view open, but no part
	 */
	view = relation_open(ddl->view, NoLock);
	CheckTableNotInUse(view, "ALTER TABLE");
	relation_close(view, NoLock);
	stmt = copyObject(stmt);
	vp_divide_alter(&alter, ddl, stmt);
	tell_skipped(&alter);
	alter_all(&alter, command, stmt);
	if (alter.view != NIL)
		run_alter(command, stmt, ddl->view, InvalidOid, alter.view);
}

/*
 * Execute an ALTER TABLE of a split table.  Return false if the table is not
 * split, or if the server can execute the command on the view itself.
 *
 * Fire event triggers once for the whole command.  At its end, fire them
 * after the view and the parts have got their names back.
 */
static bool
carry_alter(const VpCommand *command, AlterTableStmt *stmt)
{
	VpDdl	   *ddl = stmt->objtype == OBJECT_TABLE ? vp_hold_split(stmt->relation) : NULL;
	VpAlter		alter;
	bool		triggers;

	if (ddl == NULL)
		return false;
	vp_divide_alter(&alter, ddl, stmt);
	UnlockRelationOid(ddl->view, AccessShareLock);
	if (alter.hot == NIL && alter.cold == NIL)
	{
		if (alter.view == NIL)
		{
			vp_prevent_ddl("ALTER TABLE");
			tell_skipped(&alter);
		}
		return alter.view == NIL;
	}

	triggers = EventTriggerBeginCompleteQuery();
	PG_TRY();
	{
		EventTriggerDDLCommandStart((Node *) stmt);
		execute_alter(command, stmt);
		EventTriggerSQLDrop((Node *) stmt);
		EventTriggerDDLCommandEnd((Node *) stmt);
	}
	PG_FINALLY();
	{
		if (triggers)
			EventTriggerEndCompleteQuery();
	}
	PG_END_TRY();
	return true;
}

/*-------------------------------------------------------------------------
 * DROP TABLE
 *-------------------------------------------------------------------------
 */

/* Return the name of a relation as a list for DROP. */
static List *
name_list(Oid relid)
{
	return list_make2(makeString(get_namespace_name(get_rel_namespace(relid))), makeString(get_rel_name(relid)));
}

/*
 * Execute DROP TABLE of split tables, and of other tables in the same
 * command.  Drop the views first, then the parts and the other tables.
 * Return false if the command names no split table.
 */
static bool
carry_drop(const VpCommand *command, DropStmt *stmt)
{
	DropStmt   *views;
	DropStmt   *tables;
	bool		triggers;
	ListCell   *lc;

	if (stmt->removeType != OBJECT_TABLE)
		return false;
	views = makeNode(DropStmt);
	views->removeType = OBJECT_VIEW;
	views->behavior = stmt->behavior;
	tables = makeNode(DropStmt);
	tables->removeType = OBJECT_TABLE;
	tables->behavior = stmt->behavior;
	tables->missing_ok = stmt->missing_ok;
	foreach(lc, stmt->objects)
	{
		RangeVar   *name = makeRangeVarFromNameList(lfirst_node(List, lc));
		VpDdl	   *ddl = vp_hold_split(name);

		if (ddl == NULL)
		{
			tables->objects = lappend(tables->objects, copyObject(lfirst(lc)));
			continue;
		}
		UnlockRelationOid(ddl->view, AccessShareLock);
		lock_named(ddl, name);
		if (ddl->layout.method == VP_ROW_POINTER)
			vp_call_function("forget_row_pointers", ddl->layout.cold);
		views->objects = lappend(views->objects, name_list(ddl->view));
		tables->objects = lappend(tables->objects, name_list(ddl->layout.hot));
		tables->objects = lappend(tables->objects, name_list(ddl->layout.cold));
	}
	if (views->objects == NIL)
		return false;

	/* event triggers see one command that drops all these relations */
	triggers = EventTriggerBeginCompleteQuery();
	PG_TRY();
	{
		EventTriggerDDLCommandStart((Node *) stmt);
		run_utility(command, (Node *) views, PROCESS_UTILITY_SUBCOMMAND);
		run_utility(command, (Node *) tables, PROCESS_UTILITY_SUBCOMMAND);
		EventTriggerSQLDrop((Node *) stmt);
		EventTriggerDDLCommandEnd((Node *) stmt);
	}
	PG_FINALLY();
	{
		if (triggers)
			EventTriggerEndCompleteQuery();
	}
	PG_END_TRY();
	return true;
}

/*
 * Execute an ALTER TABLE or DROP TABLE that names a split table, and so has
 * to be replaced by several commands.  Return false, without executing it,
 * for any other command.
 */
bool
vp_carry_ddl(PlannedStmt *pstmt, const char *query_string, ParamListInfo params, QueryEnvironment *query_env)
{
	VpCommand	command = {pstmt, query_string, params, query_env};
	Node	   *stmt = pstmt->utilityStmt;

	if (!OidIsValid(vp_linked_oid()))
		return false;
	if (IsA(stmt, AlterTableStmt))
		return carry_alter(&command, (AlterTableStmt *) stmt);
	if (IsA(stmt, DropStmt))
		return carry_drop(&command, (DropStmt *) stmt);
	return false;
}
