/*-------------------------------------------------------------------------
 *
 * vertical_partition_rewrite.c
 *	  Run statements that use no cold columns on the hot part alone.
 *
 * A planner hook works on the rewritten query, in which split views have been
 * replaced by their definitions:
 *
 * - If the query uses no cold column of a split view, remove the view's join.
 *   Without the hook, the planner removes such a join only if the cold part
 *   has a unique index on its columns in the join condition, and if the query
 *   does not lock rows.  With row pointers, there is no such index.
 *
 * - An UPDATE that reads and sets hot columns only becomes an UPDATE of the hot
 *   part, as with an automatically updatable view.
 *
 * - For the columns of ON CONFLICT, the view has no unique indexes.  So find
 *   the indexes of the hot part that have these columns.  Remove the columns
 *   from the query before planning, because the planner would raise an error.
 *   Put the indexes into the plan afterwards.
 *
 * The hook changes the Query that it gets.  This is allowed, because the
 * planner changes the Query, too, and its callers expect this.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_rewrite.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "vertical_partition.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_layout.h"

/* Columns that a query uses of the relations in its range table */
typedef struct ColumnUse
{
	Query	   *query;
	int			sublevels_up;
	Bitmapset **columns;		/* by range table index; member 0: whole row */
} ColumnUse;

/* Context for replacing columns of a split view by columns of the hot part */
typedef struct HotColumns
{
	const VpLayout *layout;
	int			target;			/* the view as target of the statement */
	int			source;			/* the view in FROM, or 0 */
	int			sublevels_up;
	AttrNumber	cold;			/* a column that is not in the hot part */
	bool		failed;
} HotColumns;

/* The indexes inferred by an INSERT ... ON CONFLICT on a split view */
typedef struct Arbiter
{
	Oid			view;
	List	   *indexes;
} Arbiter;

/* Set by the first call of the hook after the library was loaded */
bool		vp_planner_hooked = false;

static planner_hook_type vp_next_planner_hook = NULL;

static Query *vp_rewrite_query(Query *query, Bitmapset *outputs, bool all_outputs);

/*
 * Return true if the query is the definition of a split view.  Do cheap tests
 * first, because most queries are not such a definition.
 */
static bool
vp_is_split(Query *query, VpLayout *layout)
{
	return query->jointree && query->jointree->quals && IsA(query->jointree->quals, FuncExpr) &&
		list_length(((FuncExpr *) query->jointree->quals)->args) == 3 &&
		vp_query_layout(query, layout);
}

/* Return true if there is a split view anywhere in the tree. */
static bool
contains_split_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		VpLayout	layout;

		if (vp_is_split((Query *) node, &layout))
			return true;
		return query_tree_walker((Query *) node, contains_split_walker, context,
								 QTW_IGNORE_JOINALIASES);
	}
	return expression_tree_walker(node, contains_split_walker, context);
}

/*-------------------------------------------------------------------------
 * Columns that a query uses
 *-------------------------------------------------------------------------
 */

static bool
column_use_walker(Node *node, ColumnUse *use)
{
	if (node == NULL)
		return false;

	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;
		RangeTblEntry *rte;

		if (var->varlevelsup != (Index) use->sublevels_up ||
			(int) var->varno < 1 || (int) var->varno > list_length(use->query->rtable))
			return false;
		rte = rt_fetch(var->varno, use->query->rtable);
		if (rte->rtekind == RTE_JOIN)
		{
			/*
			 * a column of the query's own join stands for columns of the
			 * join's inputs
			 */
			int			sublevels_up = use->sublevels_up;
			bool		known = var->varattno > 0 && var->varattno <= list_length(rte->joinaliasvars);

			use->sublevels_up = 0;
			column_use_walker(known ? list_nth(rte->joinaliasvars, var->varattno - 1) :
							  (Node *) rte->joinaliasvars, use);
			use->sublevels_up = sublevels_up;
		}
		else
			use->columns[var->varno] = bms_add_member(use->columns[var->varno], Max(var->varattno, 0));
		return false;
	}
	if (IsA(node, CurrentOfExpr))
	{
		if (use->sublevels_up == 0)
			use->columns[((CurrentOfExpr *) node)->cvarno] =
				bms_add_member(use->columns[((CurrentOfExpr *) node)->cvarno], 0);
		return false;
	}
	if (IsA(node, Query))
	{
		use->sublevels_up++;
		query_tree_walker((Query *) node, column_use_walker, use, 0);
		use->sublevels_up--;
		return false;
	}
	return expression_tree_walker(node, column_use_walker, use);
}

/*
 * Return the columns that the query uses of its relations, as an array of
 * sets by range table index.  "outputs" has the query's own output columns
 * that are used, unless all_outputs is true.  Ignore an unused output that is
 * a plain column.  Do not ignore an unused output that is an expression,
 * because it may be evaluated nevertheless.
 */
static Bitmapset **
used_columns(Query *query, Bitmapset *outputs, bool all_outputs)
{
	ColumnUse	use;
	List	   *targetlist = query->targetList;

	use.query = query;
	use.sublevels_up = 0;
	use.columns = palloc0((list_length(query->rtable) + 1) * sizeof(Bitmapset *));

	if (!all_outputs && query->commandType == CMD_SELECT && query->setOperations == NULL)
	{
		ListCell   *lc;

		query->targetList = NIL;
		foreach(lc, targetlist)
		{
			TargetEntry *tle = (TargetEntry *) lfirst(lc);

			if (tle->resjunk || tle->ressortgroupref != 0 || !IsA(tle->expr, Var) ||
				bms_is_member(tle->resno, outputs))
				query->targetList = lappend(query->targetList, tle);
		}
	}
	query_tree_walker(query, column_use_walker, &use, QTW_IGNORE_JOINALIASES);
	query->targetList = targetlist;

	return use.columns;
}

/*-------------------------------------------------------------------------
 * Reading without the cold part
 *-------------------------------------------------------------------------
 */

/*
 * Return true if the permissions on the cold part need no check.  This is so
 * if the view's owner also owns the cold part, and has never changed the
 * privileges on it: then the check cannot fail.  A change of the owner or the
 * privileges also changes the part's row in pg_class, which invalidates saved
 * plans.  (A plan that is not saved, as in SQL functions before 18, keeps the
 * result while its statement runs.)
 */
static bool
needs_no_check(Query *query, RangeTblEntry *cold)
{
	HeapTuple	tuple;
	bool		result;

	/*
	 * the hook can deny access that privileges allow, for example by security
	 * labels
	 */
	if (ExecutorCheckPerms_hook)
		return false;

	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(cold->relid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", cold->relid);
	result = ((Form_pg_class) GETSTRUCT(tuple))->relowner == compat_check_as_user(query, cold) &&
		heap_attisnull(tuple, Anum_pg_class_relacl, NULL);
	ReleaseSysCache(tuple);

	return result;
}

/*
 * Mark the hot part's entry in the range table: the statement uses it without
 * the cold part.  EXPLAIN looks for this mark, which has to survive in the
 * plan.  After the parser, only the deparsing of a view's definition looks at
 * this field.
 */
static void
mark_hot_only(RangeTblEntry *hot)
{
	hot->inFromCl = false;
}

/*
 * Reduce the definition of a split view to the hot part, with NULL for the
 * cold columns.  The cold part stays in the range table if its permissions
 * have to be checked; otherwise it is removed.  In both cases, a saved
 * statement has the cold part among its relations.  A session that reuses the
 * plan first locks these relations, and receives their invalidations.
 */
static void
drop_cold_part(Query *query, VpLayout *layout)
{
	JoinExpr   *join = (JoinExpr *) linitial(query->jointree->fromlist);
	RangeTblEntry *cold = rt_fetch(layout->cold_rti, query->rtable);
	List	   *rowmarks = NIL;
	ListCell   *lc;

	/*
	 * the join must also be removed from the range table, which is possible
	 * only for the last entry
	 */
	if (join->rtindex != list_length(query->rtable) || cold->securityQuals != NIL)
		return;
	mark_hot_only(rt_fetch(layout->hot_rti, query->rtable));
	query->rtable = list_truncate(query->rtable, join->rtindex - 1);
	query->jointree->fromlist = list_make1(join->larg);
	query->jointree->quals = NULL;

	foreach(lc, query->targetList)
	{
		TargetEntry *tle = (TargetEntry *) lfirst(lc);
		Var		   *var = (Var *) tle->expr;

		if (IsA(var, Var) && (int) var->varno == layout->cold_rti)
			tle->expr = (Expr *) makeNullConst(var->vartype, var->vartypmod, var->varcollid);
	}

	foreach(lc, query->rowMarks)
	{
		if (((RowMarkClause *) lfirst(lc))->rti != (Index) layout->cold_rti)
			rowmarks = lappend(rowmarks, lfirst(lc));
	}
	query->rowMarks = rowmarks;

	if (layout->cold_rti == list_length(query->rtable) && needs_no_check(query, cold) &&
		compat_forget_permissions(query, cold))
		query->rtable = list_truncate(query->rtable, layout->cold_rti - 1);
}

/* Return true if any of these columns, or the whole row, needs the cold part. */
static bool
needs_cold_part(const VpLayout *layout, Bitmapset *columns)
{
	int			attnum = -1;

	while ((attnum = bms_next_member(columns, attnum)) >= 0)
	{
		if (attnum == 0 || attnum > layout->natts || layout->columns[attnum - 1].cold)
			return true;
	}
	return false;
}

/*-------------------------------------------------------------------------
 * UPDATE of the hot part
 *-------------------------------------------------------------------------
 */

/*
 * Return true if the statement uses a column of the view that the hot part
 * does not have, or if it has WHERE CURRENT OF.  Set hot->cold to the number
 * of such a column, or to 0 for the whole row.
 */
static bool
hot_columns_walker(Node *node, HotColumns *hot)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;

		if (var->varlevelsup != (Index) hot->sublevels_up ||
			((int) var->varno != hot->target && (int) var->varno != hot->source))
			return false;
		if (var->varattno > 0 && var->varattno <= hot->layout->natts &&
			!hot->layout->columns[var->varattno - 1].cold)
			return false;
		hot->cold = var->varattno;
		return true;
	}
	if (IsA(node, CurrentOfExpr))
		return true;
	if (IsA(node, Query))
	{
		bool		result;

		hot->sublevels_up++;
		result = query_tree_walker((Query *) node, hot_columns_walker, hot, 0);
		hot->sublevels_up--;
		return result;
	}
	return expression_tree_walker(node, hot_columns_walker, hot);
}

/*
 * Replace the view's columns by columns of the hot part, which has all of
 * them.
 */
static Node *
hot_columns_mutator(Node *node, HotColumns *hot)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) copyObject(node);

		if (var->varlevelsup == (Index) hot->sublevels_up &&
			((int) var->varno == hot->target || (int) var->varno == hot->source))
		{
			var->varno = hot->source;
			var->varattno = hot->layout->columns[var->varattno - 1].attnum;
			var->varnosyn = var->varno;
			var->varattnosyn = var->varattno;
		}
		return (Node *) var;
	}
	if (IsA(node, Query))
	{
		Query	   *result;

		hot->sublevels_up++;
		result = query_tree_mutator((Query *) node, hot_columns_mutator, hot, 0);
		hot->sublevels_up--;
		return (Node *) result;
	}
	return expression_tree_mutator(node, hot_columns_mutator, hot);
}

/* Return true if the view's only trigger is write_row(), and is enabled. */
static bool
has_only_own_trigger(Oid view)
{
	Relation	rel = relation_open(view, NoLock);
	TriggerDesc *triggers = rel->trigdesc;
	bool		result = false;

	if (triggers && triggers->numtriggers == 1 &&
		triggers->triggers[0].tgenabled != TRIGGER_DISABLED)
	{
		FmgrInfo	function;

		fmgr_info(triggers->triggers[0].tgfoid, &function);
		result = function.fn_addr == vp_write_row;
	}
	relation_close(rel, NoLock);

	return result;
}

/*
 * Return true if only the view's trigger can set the column.  These are the
 * columns of the cold part, and the columns of the hot part that link it to
 * the cold part.  The others are generated columns and columns GENERATED
 * ALWAYS AS IDENTITY: the rewriter would have checked their values if the
 * statement named the hot part.
 */
static bool
needs_trigger(const VpLayout *layout, Relation hot, AttrNumber attnum)
{
	Form_pg_attribute attribute;

	if (attnum < 1 || attnum > layout->natts || layout->columns[attnum - 1].cold)
		return true;
	attnum = layout->columns[attnum - 1].attnum;
	if (attnum == layout->hot_link)
		return true;
	for (int i = 0; i < layout->nkeys; i++)
	{
		if (attnum == layout->hot_keys[i])
			return true;
	}
	attribute = TupleDescAttr(RelationGetDescr(hot), attnum - 1);
	return attribute->attgenerated != '\0' || attribute->attidentity == ATTRIBUTE_IDENTITY_ALWAYS;
}

/*
 * Return the UPDATE of a split view as an UPDATE of its hot part, or the statement itself
 * if it must go through the view's trigger.
 */
static Query *
rewrite_update(Query *query)
{
	RangeTblEntry *target = rt_fetch(query->resultRelation, query->rtable);
	TargetEntry *wholerow = NULL;
	RangeTblEntry *source,
			   *hot_rte;
	VpLayout	layout;
	const VpLayout *view_layout;
	HotColumns	hot;
	Bitmapset  *updated = NULL;
	List	   *targetlist = NIL;
	Relation	rel;
	ListCell   *lc;
	int			attnum = -1;
	bool		possible;

	if (target->rtekind != RTE_RELATION || target->relkind != RELKIND_VIEW ||
		query->withCheckOptions != NIL)
		return query;

	/*
	 * for the trigger, the rewriter has added the view's old row as an output
	 */
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = (TargetEntry *) lfirst(lc);

		if (tle->resjunk && tle->resname && strcmp(tle->resname, "wholerow") == 0 &&
			IsA(tle->expr, Var) && ((Var *) tle->expr)->varattno == 0)
			wholerow = tle;
	}
	if (wholerow == NULL)
		return query;
	source = rt_fetch(((Var *) wholerow->expr)->varno, query->rtable);
	if (source->rtekind != RTE_SUBQUERY || source->security_barrier ||
		source->securityQuals != NIL || !vp_is_split(source->subquery, &layout) ||
		source->subquery->rowMarks != NIL)
		return query;
	hot_rte = rt_fetch(layout.hot_rti, source->subquery->rtable);
	view_layout = vp_layout(target->relid);
	if (view_layout == NULL || view_layout->hot != layout.hot ||
		hot_rte->relkind != RELKIND_RELATION || hot_rte->securityQuals != NIL ||
		hot_rte->tablesample != NULL || !has_only_own_trigger(target->relid))
		return query;

	/* columns that the statement sets */
	rel = relation_open(layout.hot, NoLock);
	possible = !rel->rd_rel->relrowsecurity && rel->rd_rules == NULL &&
		!(rel->trigdesc && rel->trigdesc->trig_update_before_row);
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = (TargetEntry *) lfirst(lc);

		if (tle == wholerow)
			continue;
		targetlist = lappend(targetlist, tle);
		if (!tle->resjunk && needs_trigger(&layout, rel, tle->resno))
			possible = false;
	}
	relation_close(rel, NoLock);
	if (!possible)
		return query;

	/* columns that the statement reads */
	memset(&hot, 0, sizeof(hot));
	hot.layout = &layout;
	hot.target = query->resultRelation;
	hot.source = ((Var *) wholerow->expr)->varno;
	query->targetList = targetlist;
	if (query_tree_walker(query, hot_columns_walker, &hot, 0))
	{
		query->targetList = lappend(targetlist, wholerow);
		return query;
	}

	LockRelationOid(layout.hot, RowExclusiveLock);
	query = query_tree_mutator(query, hot_columns_mutator, &hot, 0);
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = (TargetEntry *) lfirst(lc);

		if (!tle->resjunk)
			tle->resno = layout.columns[tle->resno - 1].attnum;
	}

	/*
	 * The user's permissions are checked on the view, which stays in the
	 * range table.  The permissions of the view's owner are checked on the
	 * hot part.
	 */
	target = rt_fetch(hot.target, query->rtable);
	while ((attnum = bms_next_member(compat_updated_columns(query, target), attnum)) >= 0)
	{
		AttrNumber	column = attnum + FirstLowInvalidHeapAttributeNumber;

		if (column > 0)
			updated = bms_add_member(updated, layout.columns[column - 1].attnum -
									 FirstLowInvalidHeapAttributeNumber);
	}
	hot_rte = copyObject(hot_rte);
	hot_rte->rellockmode = RowExclusiveLock;
	mark_hot_only(hot_rte);
	compat_set_update_permissions(query, target, source->subquery, hot_rte, updated);
	lfirst(list_nth_cell(query->rtable, hot.source - 1)) = hot_rte;
	query->resultRelation = hot.source;

	return query;
}

/*-------------------------------------------------------------------------
 * The whole query
 *-------------------------------------------------------------------------
 */

/* Rewrite the subqueries in expressions. */
static bool
sublink_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink))
	{
		SubLink    *sublink = (SubLink *) node;

		if (IsA(sublink->subselect, Query))
			sublink->subselect = (Node *)
				vp_rewrite_query((Query *) sublink->subselect, NULL,
								 sublink->subLinkType != EXISTS_SUBLINK);
		return sublink_walker(sublink->testexpr, context);
	}
	return expression_tree_walker(node, sublink_walker, context);
}

/*
 * Rewrite a query and all of its subqueries.  "outputs" has the output
 * columns of the query that are used, unless all_outputs is true.  Return the
 * rewritten query.
 */
static Query *
vp_rewrite_query(Query *query, Bitmapset *outputs, bool all_outputs)
{
	Bitmapset **used = NULL;
	ListCell   *lc;
	int			rti = 0;

	check_stack_depth();

	if (query->commandType == CMD_UPDATE)
		query = rewrite_update(query);

	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = (RangeTblEntry *) lfirst(lc);
		VpLayout	layout;

		rti++;
		if (rte->rtekind != RTE_SUBQUERY || rte->subquery == NULL)
			continue;
		if (used == NULL)
			used = used_columns(query, outputs, all_outputs);
		if (!vp_is_split(rte->subquery, &layout))
		{
			/*
			 * no Vars refer to the branches of a set operation such as UNION,
			 * so assume that all their outputs are used
			 */
			rte->subquery = vp_rewrite_query(rte->subquery, used[rti],
											 query->setOperations != NULL ||
											 bms_is_member(0, used[rti]));
		}
		else if (query->setOperations == NULL && !needs_cold_part(&layout, used[rti]))
			drop_cold_part(rte->subquery, &layout);
	}

	foreach(lc, query->cteList)
	{
		CommonTableExpr *cte = (CommonTableExpr *) lfirst(lc);

		if (IsA(cte->ctequery, Query))
			cte->ctequery = (Node *) vp_rewrite_query((Query *) cte->ctequery, NULL, true);
	}

	if (query->hasSubLinks)
		query_tree_walker(query, sublink_walker, NULL,
						  QTW_IGNORE_RT_SUBQUERIES | QTW_IGNORE_CTE_SUBQUERIES);

	return query;
}

/*-------------------------------------------------------------------------
 * INSERT
 *-------------------------------------------------------------------------
 */

/*
 * Process the values for a new row as the server's rewriter does for a table.
 * The rewriter does not know the properties of the columns of a view.  With
 * OVERRIDING USER VALUE, an identity column gets its default.  A value for a
 * generated column is an error.  By now, DEFAULT has been replaced.  In
 * VALUES of several rows, DEFAULT cannot be distinguished from NULL any more,
 * so accept NULL there.
 */
static void
prepare_new_row(Query *query, const VpLayout *layout, List *targetlist, OverridingKind override)
{
	Relation	view = relation_open(layout->view, NoLock);
	ListCell   *lc;

	foreach(lc, targetlist)
	{
		TargetEntry *tle = (TargetEntry *) lfirst(lc);
		const VpColumn *column;
		Oid			part;
		HeapTuple	tuple;
		char		identity;
		char		generated;
		bool		from_values = IsA(tle->expr, Var) && ((Var *) tle->expr)->varlevelsup == 0 &&
			rt_fetch(((Var *) tle->expr)->varno, query->rtable)->rtekind == RTE_VALUES;

		if (tle->resjunk)
			continue;
		column = &layout->columns[tle->resno - 1];
		part = column->cold ? layout->cold : layout->hot;
		tuple = SearchSysCacheAttNum(part, column->attnum);
		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for attribute %d of relation %u", column->attnum, part);
		identity = ((Form_pg_attribute) GETSTRUCT(tuple))->attidentity;
		generated = ((Form_pg_attribute) GETSTRUCT(tuple))->attgenerated;
		ReleaseSysCache(tuple);

		if (generated != '\0' && !from_values)
			ereport(ERROR,
					(errcode(ERRCODE_GENERATED_ALWAYS),
					 errmsg("cannot insert a non-DEFAULT value into column \"%s\"",
							NameStr(TupleDescAttr(RelationGetDescr(view), tle->resno - 1)->attname)),
					 errdetail("Column \"%s\" is a generated column.",
							   NameStr(TupleDescAttr(RelationGetDescr(view), tle->resno - 1)->attname))));
		if (identity != '\0' && override == OVERRIDING_USER_VALUE)
		{
			Node	   *value = build_column_default(view, tle->resno);

			if (value == NULL)
				elog(ERROR, "view %u has no default for identity column %d", layout->view, tle->resno);
			tle->expr = (Expr *) value;
		}
	}
	relation_close(view, NoLock);
}

/* Process all new rows of an INSERT or MERGE into a split view. */
static void
prepare_new_rows(Query *query)
{
	RangeTblEntry *target;
	const VpLayout *cached;
	VpLayout	layout;
	ListCell   *lc;

	if (query->commandType != CMD_INSERT && query->commandType != CMD_MERGE)
		return;
	target = rt_fetch(query->resultRelation, query->rtable);
	if (target->rtekind != RTE_RELATION || target->relkind != RELKIND_VIEW ||
		(cached = vp_layout(target->relid)) == NULL)
		return;

	/* reading the catalogs can invalidate the cached layout */
	vp_copy_layout(&layout, cached);
	if (query->commandType == CMD_INSERT)
		prepare_new_row(query, &layout, query->targetList, query->override);
	foreach(lc, query->mergeActionList)
	{
		MergeAction *action = (MergeAction *) lfirst(lc);

		if (action->commandType == CMD_INSERT)
			prepare_new_row(query, &layout, action->targetList, action->override);
	}
}

/*-------------------------------------------------------------------------
 * ON CONFLICT
 *-------------------------------------------------------------------------
 */

/*
 * Remove the conflict target from an INSERT into a split view.  Append the
 * indexes that the conflict target infers to *arbiters.
 */
static void
infer_hot_arbiters(Query *query, List **arbiters)
{
	OnConflictExpr *onconflict = query->onConflict;
	RangeTblEntry *target,
			   *rte;
	const VpLayout *cached;
	VpLayout	layout;
	HotColumns	hot;
	PlannerInfo *root;
	Arbiter    *arbiter;
	Relation	rel;

	if (query->commandType != CMD_INSERT || onconflict == NULL)
		return;
	target = rt_fetch(query->resultRelation, query->rtable);
	if (target->rtekind != RTE_RELATION || target->relkind != RELKIND_VIEW ||
		(cached = vp_layout(target->relid)) == NULL)
		return;

	arbiter = palloc0(sizeof(Arbiter));
	arbiter->view = target->relid;
	*arbiters = lappend(*arbiters, arbiter);
	if (onconflict->arbiterElems == NIL && !OidIsValid(onconflict->constraint))
		return;					/* no target: any conflict counts */

	/* opening a relation can invalidate the cached layout */
	vp_copy_layout(&layout, cached);

	memset(&hot, 0, sizeof(hot));
	hot.layout = &layout;
	hot.target = query->resultRelation;
	if (hot_columns_walker((Node *) onconflict->arbiterElems, &hot) ||
		hot_columns_walker(onconflict->arbiterWhere, &hot))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("columns of the cold part cannot be in the conflict target of ON CONFLICT"),
				 hot.cold > 0 ?
				 errdetail("Column \"%s\" of \"%s\" is in the cold part.",
						   get_attname(layout.view, hot.cold, false), get_rel_name(layout.view)) : 0));

	/*
	 * The plan needs an index of the hot part as long as the plan exists.  So
	 * add the hot part to the range table.  Then a session locks it before it
	 * uses the plan, and a change of the part invalidates the plan.
	 */
	rel = relation_open(layout.hot, RowExclusiveLock);
	rte = makeNode(RangeTblEntry);
	rte->rtekind = RTE_RELATION;
	rte->relid = layout.hot;
	rte->relkind = rel->rd_rel->relkind;
	rte->rellockmode = RowExclusiveLock;
	rte->eref = makeAlias(RelationGetRelationName(rel), NIL);
	query->rtable = lappend(query->rtable, rte);

	/*
	 * Infer the indexes as the planner does for a plain table.  If the
	 * conflict target is a constraint, it is the view's primary key.  The
	 * index of this key belongs to the hot part, see
	 * vertical_partition_key.c.
	 */
	hot.source = 1;
	root = makeNode(PlannerInfo);
	root->glob = makeNode(PlannerGlobal);
	root->parse = makeNode(Query);
	root->parse->commandType = CMD_INSERT;
	root->parse->rtable = list_make1(rte);
	root->parse->resultRelation = 1;
	root->parse->onConflict = makeNode(OnConflictExpr);
	root->parse->onConflict->action = onconflict->action;
	root->parse->onConflict->constraint = onconflict->constraint;
	root->parse->onConflict->arbiterElems = (List *)
		eval_const_expressions(root, hot_columns_mutator((Node *) onconflict->arbiterElems, &hot));
	if (onconflict->arbiterWhere)
		root->parse->onConflict->arbiterWhere = (Node *)
			make_ands_implicit(canonicalize_qual((Expr *)
												 eval_const_expressions(root, hot_columns_mutator(onconflict->arbiterWhere, &hot)),
												 false));
	arbiter->indexes = infer_arbiter_indexes(root);
	relation_close(rel, NoLock);

	query->onConflict = onconflict = copyObject(onconflict);
	onconflict->arbiterElems = NIL;
	onconflict->arbiterWhere = NULL;
	onconflict->constraint = InvalidOid;
}

/*
 * If the plan node is the INSERT that the first entry of "arbiters" is for,
 * give the node the indexes of this entry.  Return the remaining entries.
 */
static List *
set_arbiters(PlannedStmt *stmt, Plan *plan, List *arbiters)
{
	ModifyTable *node = (ModifyTable *) plan;

	if (plan && IsA(plan, ModifyTable) && node->onConflictAction != ONCONFLICT_NONE && arbiters != NIL)
	{
		Arbiter    *arbiter = (Arbiter *) linitial(arbiters);

		if (rt_fetch(node->nominalRelation, stmt->rtable)->relid == arbiter->view)
		{
			node->arbiterIndexes = arbiter->indexes;
			arbiters = list_delete_first(arbiters);
		}
	}
	return arbiters;
}

/* Planner hook */
static PlannedStmt *
vp_planner(Query *parse, const char *query_string, int cursor_options,
		   ParamListInfo bound_params COMPAT_PLANNER_PARAM)
{
	List	   *arbiters = NIL;
	PlannedStmt *stmt;
	ListCell   *lc;

	vp_planner_hooked = true;
	if (vp_enable_rewrite && contains_split_walker((Node *) parse, NULL))
		parse = vp_rewrite_query(parse, NULL, true);

	/* only the statement itself and the statements in its WITH can insert */
	foreach(lc, parse->cteList)
	{
		Query	   *query = castNode(Query, ((CommonTableExpr *) lfirst(lc))->ctequery);

		prepare_new_rows(query);
		infer_hot_arbiters(query, &arbiters);
	}
	prepare_new_rows(parse);
	infer_hot_arbiters(parse, &arbiters);

	if (vp_next_planner_hook)
		stmt = vp_next_planner_hook(parse, query_string, cursor_options, bound_params COMPAT_PLANNER_ARGUMENT);
	else
		stmt = standard_planner(parse, query_string, cursor_options, bound_params COMPAT_PLANNER_ARGUMENT);

	if (arbiters != NIL)
	{
		/* statements in WITH are planned first, in their order */
		foreach(lc, stmt->subplans)
			arbiters = set_arbiters(stmt, (Plan *) lfirst(lc), arbiters);
		arbiters = set_arbiters(stmt, stmt->planTree, arbiters);
		if (arbiters != NIL)
			elog(ERROR, "could not find the node that inserts into view %u",
				 ((Arbiter *) linitial(arbiters))->view);
	}
	return stmt;
}

/* Install the hook when the library is loaded. */
void
vp_rewrite_init(void)
{
	vp_next_planner_hook = planner_hook;
	planner_hook = vp_planner;
}
