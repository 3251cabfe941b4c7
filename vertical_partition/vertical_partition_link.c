/*-------------------------------------------------------------------------
 *
 * vertical_partition_link.c
 *	  Check that each hot row has a cold row, where that matters.
 *
 * The view of a split table is a left join, so that the planner can omit the
 * cold part if no column of it is used.  But a left join shows a hot row
 * without a cold row with NULLs that nobody has stored.  Such a row is
 * possible only if data is damaged, or if VACUUM FULL or a restore has made
 * pointers invalid.  So the WHERE clause of the view calls linked() with a
 * column of the cold part's key.  linked() raises an error if this column is
 * NULL.  The call would keep the join in the plan, because it uses a cold
 * column.  So the support function of linked() removes the call from queries
 * that use no other cold column.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_link.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_subscription.h"
#include "catalog/pg_subscription_rel.h"
#include "commands/event_trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "vertical_partition.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_layout.h"

PG_FUNCTION_INFO_V1(vp_linked);
PG_FUNCTION_INFO_V1(vp_linked_support);
PG_FUNCTION_INFO_V1(vp_set_row_pointers_of);
PG_FUNCTION_INFO_V1(vp_forget_row_pointers_of);
PG_FUNCTION_INFO_V1(vp_forget_subscribed);

/* The columns of vertical_partition_internal.row_pointers */
#define Anum_row_pointers_cold		1
#define Anum_row_pointers_filenode	2
#define Natts_row_pointers			2

/* Context of cold_use_walker(), which searches a query for uses of the cold part */
typedef struct ColdUse
{
	Query	   *query;
	int			rti;			/* cold part in the query's range table */
	Oid			linked;
	int			sublevels_up;
	bool		joined;			/* has the join of the view been seen? */
} ColdUse;

/* Hint of both errors for invalid pointers */
static const char *const vp_relink_hint =
"Rebuild the pointers with vertical_partition.relink(), as after VACUUM FULL, CLUSTER or a restore of the cold part.";

/* Open the table row_pointers.  Return NULL if there is no such table. */
static Relation
open_row_pointers(LOCKMODE lockmode)
{
	Oid			namespaceid = get_namespace_oid("vertical_partition_internal", true);
	Oid			relid = InvalidOid;

	if (OidIsValid(namespaceid))
		relid = get_relname_relid("row_pointers", namespaceid);
	return OidIsValid(relid) ? table_open(relid, lockmode) : NULL;
}

/*
 * Return the OIDs of the cold parts with valid pointers to their rows.  If
 * "cold" is valid, consider only this part.  The pointers to a part are valid
 * if the part still has the file (relfilenode) that it had when the pointers
 * were made.  If snapshot is NULL, read the rows of row_pointers that are
 * committed now.
 */
static List *
read_row_pointers(Oid cold, Snapshot snapshot)
{
	List	   *result = NIL;
	Relation	rel = open_row_pointers(AccessShareLock);
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;

	if (rel == NULL)
		return NIL;

	/*
	 * row_pointers has only one row for each split table with row pointers,
	 * so that it needs no index scan
	 */
	ScanKeyInit(&key, Anum_row_pointers_cold, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(cold));
	scan = systable_beginscan(rel, InvalidOid, false, snapshot, OidIsValid(cold) ? 1 : 0, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Oid			part = DatumGetObjectId(heap_getattr(tuple, Anum_row_pointers_cold,
														 RelationGetDescr(rel), &isnull));
		Oid			filenode = DatumGetObjectId(heap_getattr(tuple, Anum_row_pointers_filenode,
															 RelationGetDescr(rel), &isnull));
		HeapTuple	class = SearchSysCache1(RELOID, ObjectIdGetDatum(part));

		if (!HeapTupleIsValid(class))
			continue;			/* the part was dropped */
		if (!isnull && ((Form_pg_class) GETSTRUCT(class))->relfilenode == filenode)
			result = lappend_oid(result, part);
		ReleaseSysCache(class);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	return result;
}

/* Return true if there are pointers to rows of this cold part, and they are valid. */
bool
vp_row_pointers_valid(Oid cold)
{
	return OidIsValid(cold) && read_row_pointers(cold, NULL) != NIL;
}

/* Return the OIDs of all cold parts with valid pointers to their rows. */
List *
vp_pointed_tables(void)
{
	return read_row_pointers(InvalidOid, NULL);
}

/*
 * Record in row_pointers for which file of the cold part the pointers are
 * valid: for its current file if "valid" is true, else for no file.  Do not
 * use an SQL statement, because only a superuser may write to row_pointers by
 * SQL.  The caller has locked the part against other sessions that call this
 * function for the part.  Also remove the rows of dropped parts, unless
 * another session is doing so.
 */
static void
write_row_pointers(Oid cold, bool valid)
{
	Relation	rel = open_row_pointers(RowExclusiveLock);
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			filenode = InvalidOid;

	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation \"%s\" does not exist", "vertical_partition_internal.row_pointers")));
	CommandCounterIncrement();
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(cold));
	if (HeapTupleIsValid(tuple))
	{
		filenode = ((Form_pg_class) GETSTRUCT(tuple))->relfilenode;
		ReleaseSysCache(tuple);
	}

	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Oid			part = DatumGetObjectId(heap_getattr(tuple, Anum_row_pointers_cold,
														 RelationGetDescr(rel), &isnull));

		if (part == cold)
			CatalogTupleDelete(rel, &tuple->t_self);
		else if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(part)))
		{
			TM_FailureData tmfd;

			/* do not wait for another transaction */
			(void) compat_tuple_delete(rel, &tuple->t_self, GetCurrentCommandId(true), GetActiveSnapshot(),
									   false, &tmfd);
		}
	}
	systable_endscan(scan);

	if (valid && OidIsValid(filenode))
	{
		Datum		values[Natts_row_pointers];
		bool		nulls[Natts_row_pointers] = {false};

		values[Anum_row_pointers_cold - 1] = ObjectIdGetDatum(cold);
		values[Anum_row_pointers_filenode - 1] = ObjectIdGetDatum(filenode);
		CatalogTupleInsert(rel, heap_form_tuple(RelationGetDescr(rel), values, nulls));
	}
	table_close(rel, RowExclusiveLock);

	/* invalidate plans that lock rows, see vp_simplify_linked() */
	if (OidIsValid(filenode))
		CacheInvalidateRelcacheByRelid(cold);
	CommandCounterIncrement();
}

/*
 * Return the OIDs of the tables that subscriptions of this database write to.
 * If "relid" is valid, consider only this table.  Ignore subscriptions of
 * other databases: a database that was made from a template has entries of
 * the template's subscriptions, too.
 */
static List *
subscribed_tables(Oid relid)
{
	List	   *result = NIL;
	Relation	rel = table_open(SubscriptionRelRelationId, AccessShareLock);
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_subscription_rel_srrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, SubscriptionRelSrrelidSrsubidIndexId, true, NULL,
							  OidIsValid(relid) ? 1 : 0, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_subscription_rel form = (Form_pg_subscription_rel) GETSTRUCT(tuple);
		HeapTuple	subscription = SearchSysCache1(SUBSCRIPTIONOID, ObjectIdGetDatum(form->srsubid));

		if (!HeapTupleIsValid(subscription))
			continue;
		if (((Form_pg_subscription) GETSTRUCT(subscription))->subdbid == MyDatabaseId)
			result = list_append_unique_oid(result, form->srrelid);
		ReleaseSysCache(subscription);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	return result;
}

static bool
is_subscribed(Oid relid)
{
	return subscribed_tables(relid) != NIL;
}

/*
 * Record that the pointers to the cold part are valid for its current file,
 * unless a subscription writes to the parts.  Rows from a subscription have
 * no pointers, or the pointers of the publisher, which are wrong here.
 * Return true if the pointers are recorded as valid.
 */
bool
vp_set_row_pointers(const VpLayout *layout)
{
	Oid			cold = layout->cold;
	bool		valid = !is_subscribed(layout->hot) && !is_subscribed(cold);

	write_row_pointers(cold, valid);
	return valid;
}

/* Lock the caller's own cold part against other sessions that would record its pointers. */
static void
lock_cold_part(Oid cold)
{
	vp_check_owner(cold);
	LockRelationOid(cold, ShareUpdateExclusiveLock);
	vp_check_owner(cold);
}

/*
 * vertical_partition_internal.set_row_pointers(cold regclass, valid boolean)
 *		returns boolean
 *
 * Record that the pointers to the rows of a cold part are valid for its
 * current file, or for no file if "valid" is false.  Return false if the
 * pointers are not valid, also because a subscription writes to the parts.
 * Errors: 42501 if the caller does not own the part, 42809 if the table is not
 * the cold part of a split table with row pointers.
 */
Datum
vp_set_row_pointers_of(PG_FUNCTION_ARGS)
{
	Oid			cold = PG_GETARG_OID(0);
	Oid			view;
	const VpLayout *layout;

	PreventCommandIfReadOnly("vertical_partition_internal.set_row_pointers()");
	lock_cold_part(cold);
	view = vp_view_of_part(cold);
	layout = OidIsValid(view) ? vp_layout(view) : NULL;
	if (layout == NULL || layout->method != VP_ROW_POINTER || layout->cold != cold)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not the cold part of a split table with row pointers", get_rel_name(cold))));
	if (PG_GETARG_BOOL(1))
		PG_RETURN_BOOL(vp_set_row_pointers(layout));
	write_row_pointers(cold, false);
	PG_RETURN_BOOL(false);
}

/*
 * vertical_partition.forget_row_pointers(cold regclass) returns void
 *
 * Record that the pointers to the rows of a cold part are no longer valid, so
 * that commands may move its rows.  Errors: 42501 if the caller does not own
 * the part.
 */
Datum
vp_forget_row_pointers_of(PG_FUNCTION_ARGS)
{
	PreventCommandIfReadOnly("vertical_partition.forget_row_pointers()");
	lock_cold_part(PG_GETARG_OID(0));
	write_row_pointers(PG_GETARG_OID(0), false);
	PG_RETURN_VOID();
}

/*
 * vertical_partition_internal.forget_subscribed() returns event_trigger
 *
 * The server calls this function at the end of CREATE and ALTER SUBSCRIPTION,
 * and at the start of ALTER and DROP SUBSCRIPTION.  If a subscription writes
 * to a part of a split table, record that the row pointers of this split
 * table are not valid.  relink() does not record them as valid as long as the
 * subscription has the part.
 */
Datum
vp_forget_subscribed(PG_FUNCTION_ARGS)
{
	ListCell   *lc;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by event trigger manager",
						"vertical_partition_internal.forget_subscribed")));
	foreach(lc, subscribed_tables(InvalidOid))
	{
		Oid			view = vp_view_of_part(lfirst_oid(lc));
		const VpLayout *layout = OidIsValid(view) ? vp_layout(view) : NULL;
		Oid			cold;

		if (layout != NULL && layout->method == VP_ROW_POINTER)
			cold = layout->cold;
		else if (layout == NULL && vp_row_pointers_valid(lfirst_oid(lc)))
			cold = lfirst_oid(lc);	/* a cold part whose view has changed */
		else
			continue;

		/*
		 * Wait for a relink() that runs now and has not seen the
		 * subscription.  A later relink() waits for this transaction.
		 */
		LockRelationOid(cold, ShareUpdateExclusiveLock);
		write_row_pointers(cold, false);
	}
	return PointerGetDatum(NULL);
}

/*
 * vertical_partition.linked(method text, hot oid, cold_key anyelement) returns boolean
 *
 * Return true if the join has found a cold key for a hot row.  Raise an error
 * if cold_key is NULL.  The other arguments are for the error message: the
 * method of the split and its hot part.
 */
Datum
vp_linked(PG_FUNCTION_ARGS)
{
	char	   *hot = NULL;
	bool		pointer;

	if (!PG_ARGISNULL(2))
		PG_RETURN_BOOL(true);

	if (!PG_ARGISNULL(1))
		hot = get_rel_name(PG_GETARG_OID(1));
	pointer = !PG_ARGISNULL(0) &&
		strcmp(text_to_cstring(PG_GETARG_TEXT_PP(0)), vp_method_name(VP_ROW_POINTER)) == 0;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("row of table \"%s\" has no cold row", hot ? hot : "?"),
			 pointer ? errhint("%s", vp_relink_hint) :
			 errdetail("The parts of the split table were changed other than through its view.")));
}

static bool cold_use_walker(Node *node, ColdUse *use);

/*
 * Return true if the expression is a column of the cold part in this query,
 * with or without RelabelType nodes above it.
 */
static bool
is_cold_var(Node *node, ColdUse *use)
{
	while (node && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node && IsA(node, Var) &&
		((Var *) node)->varno == use->rti &&
		((Var *) node)->varlevelsup == (Index) use->sublevels_up;
}

/*
 * Return true if a column of one of the query's joins stands for a column of
 * the cold part.  Search the expressions of join columns with sublevels_up 0,
 * because they belong to the query's own level.
 */
static bool
join_alias_uses_cold(RangeTblEntry *rte, AttrNumber attnum, ColdUse *use)
{
	int			sublevels_up = use->sublevels_up;
	bool		result;

	use->sublevels_up = 0;
	if (attnum > 0 && attnum <= list_length(rte->joinaliasvars))
		result = cold_use_walker(list_nth(rte->joinaliasvars, attnum - 1), use);
	else
		result = cold_use_walker((Node *) rte->joinaliasvars, use);
	use->sublevels_up = sublevels_up;

	return result;
}

static bool
cold_use_walker(Node *node, ColdUse *use)
{
	if (node == NULL)
		return false;

	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;
		RangeTblEntry *rte;

		if (var->varlevelsup != (Index) use->sublevels_up)
			return false;
		if ((int) var->varno == use->rti)
			return true;
		if ((int) var->varno < 1 || (int) var->varno > list_length(use->query->rtable))
			return false;
		rte = rt_fetch(var->varno, use->query->rtable);
		return rte->rtekind == RTE_JOIN && join_alias_uses_cold(rte, var->varattno, use);
	}
	if (IsA(node, CurrentOfExpr))
		return use->sublevels_up == 0 && (int) ((CurrentOfExpr *) node)->cvarno == use->rti;
	if (IsA(node, FuncExpr))
	{
		FuncExpr   *call = (FuncExpr *) node;

		if (call->funcid == use->linked && list_length(call->args) == 3 &&
			is_cold_var(lthird(call->args), use))
			return false;
	}
	else if (IsA(node, JoinExpr) && use->sublevels_up == 0)
	{
		JoinExpr   *join = (JoinExpr *) node;

		if (join->jointype == JOIN_LEFT && IsA(join->rarg, RangeTblRef) &&
			((RangeTblRef *) join->rarg)->rtindex == use->rti)
		{
			/*
			 * the join's condition does not count as a use of the cold part,
			 * but the left side of the join may use the cold part
			 */
			use->joined = true;
			return cold_use_walker(join->larg, use);
		}
	}
	else if (IsA(node, Query))
	{
		bool		result;

		use->sublevels_up++;
		result = query_tree_walker((Query *) node, cold_use_walker, use, 0);
		use->sublevels_up--;
		return result;
	}
	return expression_tree_walker(node, cold_use_walker, use);
}

/*
 * Return the Var if the expression is a column of a table of this query, else
 * NULL.
 */
static Var *
table_column(Query *query, Node *node)
{
	Var		   *var;

	while (node && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node == NULL || !IsA(node, Var))
		return NULL;
	var = (Var *) node;
	if (var->varlevelsup != 0 || (int) var->varno < 1 || (int) var->varno > list_length(query->rtable) ||
		rt_fetch(var->varno, query->rtable)->rtekind != RTE_RELATION)
		return NULL;

	return var;
}

/*
 * Return the expression that replaces a call of linked(): true, if the query
 * uses no other column of the cold part.
 *
 * If FOR UPDATE locks the cold part, replace the call by IS NOT NULL, which
 * makes the planner use an inner join.  An inner join is necessary because
 * rows of the nullable side of an outer join cannot be locked.  But an inner
 * join silently omits a hot row without a cold row.  So raise an error if row
 * pointers may be wrong.
 *
 * In all cases of doubt, return NULL, which keeps the call.
 */
static Node *
vp_simplify_linked(PlannerInfo *root, FuncExpr *call)
{
	Query	   *query;
	Var		   *key;
	ColdUse		use;
	ListCell   *lc;

	if (root == NULL || root->parse == NULL || list_length(call->args) != 3)
		return NULL;
	query = root->parse;

	/*
	 * A security barrier view can select from another view, which PostgreSQL
	 * merges into the statement.  If the security barrier view is the target
	 * of the statement, PostgreSQL then loses the conditions of the security
	 * barrier view.  The statement would change rows that these conditions
	 * hide from it.
	 */
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = (RangeTblEntry *) lfirst(lc);

		if (rte->rtekind == RTE_SUBQUERY && rte->subquery == NULL && rte->securityQuals != NIL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot change rows of a split table through a security barrier view"),
					 errdetail("The conditions of the security barrier view would not be applied.")));
	}

	/*
	 * A statement that loads the library is planned without the planner hook.
	 * Do not let the session keep its plan.
	 */
	if (!vp_planner_hooked)
		root->glob->transientPlan = true;

	key = table_column(query, lthird(call->args));
	if (key == NULL)
		return NULL;

	memset(&use, 0, sizeof(use));
	use.query = query;
	use.rti = key->varno;
	use.linked = call->funcid;

	foreach(lc, query->rowMarks)
	{
		Const	   *method = (Const *) linitial(call->args);
		NullTest   *test;

		if (((RowMarkClause *) lfirst(lc))->rti != (Index) use.rti)
			continue;
		if (IsA(method, Const) && !method->constisnull &&
			strcmp(TextDatumGetCString(method->constvalue), vp_method_name(VP_ROW_POINTER)) == 0)
		{
			Oid			cold = rt_fetch(use.rti, query->rtable)->relid;
			Var		   *hot = table_column(query, lsecond(call->args));

			if (is_subscribed(cold) ||
				(hot && is_subscribed(rt_fetch(hot->varno, query->rtable)->relid)))
				ereport(ERROR,
						(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						 errmsg("pointers to rows of table \"%s\" are not valid", get_rel_name(cold)),
						 errdetail("A subscription writes to the parts of the split table."),
						 errhint("After DROP SUBSCRIPTION, rebuild the pointers with vertical_partition.relink().")));
			if (!vp_row_pointers_valid(cold))
				ereport(ERROR,
						(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						 errmsg("pointers to rows of table \"%s\" are not valid", get_rel_name(cold)),
						 errhint("%s", vp_relink_hint)));

			/*
			 * a snapshot that is older than relink() sees rows with pointers
			 * from before relink()
			 */
			if (IsolationUsesXactSnapshot() && read_row_pointers(cold, GetTransactionSnapshot()) == NIL)
				ereport(ERROR,
						(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						 errmsg("could not serialize access due to a concurrent relink() of table \"%s\"",
								get_rel_name(cold))));
		}
		test = makeNode(NullTest);
		test->arg = (Expr *) copyObject(lthird(call->args));
		test->nulltesttype = IS_NOT_NULL;
		/* the fields of a composite value do not matter */
		test->argisrow = false;
		test->location = -1;
		return (Node *) test;
	}

	if (query_tree_walker(query, cold_use_walker, &use, QTW_IGNORE_JOINALIASES) ||
		cold_use_walker((Node *) root->append_rel_list, &use) || !use.joined)
		return NULL;
	return makeBoolConst(true, false);
}

/*
 * vertical_partition_internal.linked_support(internal) returns internal
 *
 * Planner support function of linked().  When a query on a split view is
 * planned, the call of this function also loads the library.  The hooks are
 * active from then on.
 */
Datum
vp_linked_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	Node	   *result = NULL;

	if (IsA(request, SupportRequestSimplify))
	{
		SupportRequestSimplify *simplify = (SupportRequestSimplify *) request;

		result = vp_simplify_linked(simplify->root, simplify->fcall);
	}
	else if (IsA(request, SupportRequestSelectivity))
	{
		((SupportRequestSelectivity *) request)->selectivity = 1.0;
		result = request;
	}
	else if (IsA(request, SupportRequestCost))
	{
		SupportRequestCost *cost = (SupportRequestCost *) request;

		/* linked() does little more than a test for NULL */
		cost->startup = 0;
		cost->per_tuple = 0.1 * cpu_operator_cost;
		result = request;
	}

	PG_RETURN_POINTER(result);
}
