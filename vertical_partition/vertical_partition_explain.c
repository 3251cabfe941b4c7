/*-------------------------------------------------------------------------
 *
 * vertical_partition_explain.c
 *	  Let EXPLAIN say which split tables a statement uses without the cold
 *	  part.
 *
 * Derive this from the plan, which also works for a plan that a session has
 * saved.  The view of a split table is in the range table of the plan, for
 * its permissions.  Compare how many nodes of the plan use each of its parts.
 * A part that the statement itself names does not count: its permissions are
 * those of the user, and not of the view's owner.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_explain.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "vertical_partition.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_layout.h"

#ifdef COMPAT_HAS_EXPLAIN_PER_PLAN

/* How the nodes of a plan use a split table */
typedef struct SplitUse
{
	const PlannedStmt *stmt;
	Oid			view;
	Oid			hot;
	Oid			cold;
	int			hot_scans;
	int			cold_scans;
	bool		update;			/* of the hot part */
	bool		locks;			/* on rows of the hot part */
	bool		arbiter;		/* index of the hot part */
} SplitUse;

static explain_per_plan_hook_type next_explain_per_plan = NULL;

/* Return the relation of the view's definition that has this index, or InvalidOid. */
static Oid
view_part(const SplitUse *use, Index rti)
{
	RangeTblEntry *rte;

	if (rti < 1 || rti > (Index) list_length(use->stmt->rtable))
		return InvalidOid;
	rte = rt_fetch(rti, use->stmt->rtable);
	if (rte->rtekind != RTE_RELATION || rte->perminfoindex == 0 ||
		!OidIsValid(getRTEPermissionInfo(use->stmt->permInfos, rte)->checkAsUser))
		return InvalidOid;
	return rte->relid;
}

static void count_uses(const Plan *plan, SplitUse *use);

static void
count_list(const List *plans, SplitUse *use)
{
	ListCell   *lc;

	foreach(lc, plans)
		count_uses((const Plan *) lfirst(lc), use);
}

/* Count the nodes of the plan that use the parts. */
static void
count_uses(const Plan *plan, SplitUse *use)
{
	Oid			part = InvalidOid;
	ListCell   *lc;

	if (plan == NULL)
		return;
	check_stack_depth();

	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_SampleScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_TidScan:
		case T_TidRangeScan:
			part = view_part(use, ((const Scan *) plan)->scanrelid);
			break;
		case T_CustomScan:
			part = view_part(use, ((const Scan *) plan)->scanrelid);
			count_list(((const CustomScan *) plan)->custom_plans, use);
			break;
		case T_SubqueryScan:
			count_uses(((const SubqueryScan *) plan)->subplan, use);
			break;
		case T_Append:
			count_list(((const Append *) plan)->appendplans, use);
			break;
		case T_MergeAppend:
			count_list(((const MergeAppend *) plan)->mergeplans, use);
			break;
		case T_LockRows:
			foreach(lc, ((const LockRows *) plan)->rowMarks)
			{
				const PlanRowMark *mark = (const PlanRowMark *) lfirst(lc);

				if (mark->markType < ROW_MARK_REFERENCE && view_part(use, mark->rti) == use->hot)
					use->locks = true;
			}
			break;
		case T_ModifyTable:
			{
				const ModifyTable *modify = (const ModifyTable *) plan;
				RangeTblEntry *target = rt_fetch(linitial_int(modify->resultRelations), use->stmt->rtable);

				if (modify->operation == CMD_UPDATE &&
					view_part(use, linitial_int(modify->resultRelations)) == use->hot)
					use->update = true;
				if (modify->arbiterIndexes != NIL && target->relid == use->view)
					use->arbiter = true;
			}
			break;
		default:
			break;
	}
	if (part == use->hot)
		use->hot_scans++;
	else if (part == use->cold)
		use->cold_scans++;
	count_uses(plan->lefttree, use);
	count_uses(plan->righttree, use);
}

/* Return what to say about a split table, or NULL. */
static char *
describe_use(const PlannedStmt *stmt, Oid view)
{
	const VpLayout *layout = vp_layout(view);
	SplitUse	use = {0};
	const char *what;

	if (layout == NULL)
		return NULL;
	use.stmt = stmt;
	use.view = view;
	use.hot = layout->hot;
	use.cold = layout->cold;
	count_uses(stmt->planTree, &use);
	count_list(stmt->subplans, &use);
	if (use.arbiter)
		what = "arbiter index";
	else if (use.hot_scans <= use.cold_scans)
		return NULL;
	else if (use.update)
		what = "update";
	else if (use.locks)
		what = "row locks";
	else
		what = "read";
	return psprintf("%s (hot part: %s)",
					quote_qualified_identifier(get_namespace_name(get_rel_namespace(view)), get_rel_name(view)), what);
}

/* Hook of EXPLAIN: add a property to the plan. */
static void
explain_per_plan(PlannedStmt *stmt, IntoClause *into, struct ExplainState *es, const char *query_string,
				 ParamListInfo params, QueryEnvironment *query_env)
{
	List	   *views = NIL;
	List	   *uses = NIL;
	ListCell   *lc;

	if (next_explain_per_plan)
		next_explain_per_plan(stmt, into, es, query_string, params, query_env);

	foreach(lc, stmt->rtable)
	{
		RangeTblEntry *rte = (RangeTblEntry *) lfirst(lc);

		if ((rte->rtekind == RTE_RELATION || rte->rtekind == RTE_SUBQUERY) && rte->relkind == RELKIND_VIEW)
			views = list_append_unique_oid(views, rte->relid);
	}
	foreach(lc, views)
	{
		char	   *use = describe_use(stmt, lfirst_oid(lc));

		if (use)
			uses = lappend(uses, use);
	}
	if (uses != NIL)
		ExplainPropertyList("Split Table", uses, es);
}

#endif

/* Install the hook when the library is loaded. */
void
vp_explain_init(void)
{
#ifdef COMPAT_HAS_EXPLAIN_PER_PLAN
	next_explain_per_plan = explain_per_plan_hook;
	explain_per_plan_hook = explain_per_plan;
#endif
}
