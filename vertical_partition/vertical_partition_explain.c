/*-------------------------------------------------------------------------
 *
 * vertical_partition_explain.c
 *	  Let EXPLAIN say which split tables a statement uses without the cold
 *	  part.
 *
 * Derive this from the plan, which also works for a plan that a session has
 * saved.  The view of a split table is in the range table of the plan, for
 * its permissions.  The planner hook has marked the hot part where the
 * statement uses it instead of the view, see mark_hot_only().  Look for nodes
 * of the plan that use the hot part with this mark.  The hot part does not
 * count if the statement itself names it, or another view of the user.
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
	bool		read;			/* of the hot part alone */
	bool		update;			/* of the hot part */
	bool		locks;			/* on rows of the hot part alone */
	bool		arbiter;		/* index of the hot part */
} SplitUse;

static explain_per_plan_hook_type next_explain_per_plan = NULL;

/* Return true if this is the hot part, used instead of the view. */
static bool
is_hot_only(const SplitUse *use, Index rti)
{
	RangeTblEntry *rte;

	if (rti < 1 || rti > (Index) list_length(use->stmt->rtable))
		return false;
	rte = rt_fetch(rti, use->stmt->rtable);

	/*
	 * The target of a statement looks marked, too, but has the permissions of
	 * the user.  In the action of a rule, it has those of the rule's owner:
	 * then an UPDATE that names the hot part counts, too, if it also uses the
	 * view.  If the view has security_invoker, the hot part has the
	 * permissions of the user and never counts.
	 */
	return rte->rtekind == RTE_RELATION && rte->relid == use->hot && !rte->inFromCl && rte->perminfoindex != 0 &&
		OidIsValid(getRTEPermissionInfo(use->stmt->permInfos, rte)->checkAsUser);
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
			use->read |= is_hot_only(use, ((const Scan *) plan)->scanrelid);
			break;
		case T_CustomScan:
			use->read |= is_hot_only(use, ((const Scan *) plan)->scanrelid);
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

				if (mark->markType < ROW_MARK_REFERENCE && is_hot_only(use, mark->rti))
					use->locks = true;
			}
			break;
		case T_ModifyTable:
			{
				const ModifyTable *modify = (const ModifyTable *) plan;
				RangeTblEntry *target = rt_fetch(linitial_int(modify->resultRelations), use->stmt->rtable);

				if (modify->operation == CMD_UPDATE && is_hot_only(use, linitial_int(modify->resultRelations)))
					use->update = true;
				if (modify->arbiterIndexes != NIL && target->relid == use->view)
					use->arbiter = true;
			}
			break;
		default:
			break;
	}
	count_uses(plan->lefttree, use);
	count_uses(plan->righttree, use);
}

/* Return the text for a split table in EXPLAIN, or NULL. */
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
	count_uses(stmt->planTree, &use);
	count_list(stmt->subplans, &use);
	if (use.arbiter)
		what = "arbiter index";
	else if (use.update)
		what = "update";
	else if (use.locks)
		what = "row locks";
	else if (use.read)
		what = "read";
	else
		return NULL;
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

		/* with ANALYZE, the statement can have dropped the view */
		if ((rte->rtekind == RTE_RELATION || rte->rtekind == RTE_SUBQUERY) && rte->relkind == RELKIND_VIEW &&
			get_rel_relkind(rte->relid) == RELKIND_VIEW)
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
