/*-------------------------------------------------------------------------
 *
 * vertical_partition_layout.c
 *	  Find the location of the columns of a split view.
 *
 * Only the definition of the view stores how the table is split.  So tables
 * and columns may be renamed, and a dump of the tables and the view is
 * complete.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_layout.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_rewrite.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parse_func.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "vertical_partition.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_layout.h"

PG_FUNCTION_INFO_V1(vp_layout_row);

typedef struct VpCacheEntry
{
	Oid			view;			/* hash key */
	bool		valid;
	bool		split;			/* is it a split view? */
	VpLayout	layout;
	MemoryContext context;		/* context of the layout's arrays */
} VpCacheEntry;

static const char *const vp_method_names[] = {
	"shared_key", "surrogate_key", "row_pointer"
};

static HTAB *vp_cache = NULL;
static Oid	vp_linked = InvalidOid;

/* Return the method's name in SQL. */
const char *
vp_method_name(VpMethod method)
{
	return vp_method_names[method];
}

/*
 * Return the OID of linked(), which the definition of each split view calls.
 * Return InvalidOid if there is no such function.  Ignore a function of that
 * name that does not belong to this library.
 */
Oid
vp_linked_oid(void)
{
	if (!OidIsValid(vp_linked))
	{
		Oid			argtypes[] = {TEXTOID, OIDOID, ANYELEMENTOID};
		Oid			funcid;
		HeapTuple	tuple;

		funcid = LookupFuncName(list_make2(makeString("vertical_partition"), makeString("linked")),
								lengthof(argtypes), argtypes, true);
		if (!OidIsValid(funcid))
			return InvalidOid;
		tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
		if (!HeapTupleIsValid(tuple))
			return InvalidOid;
		if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId)
		{
			bool		isnull;
			Datum		source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);

			if (!isnull && strcmp(TextDatumGetCString(source), "vp_linked") == 0)
				vp_linked = funcid;
		}
		ReleaseSysCache(tuple);
	}
	return vp_linked;
}

/* Return the Var below RelabelType nodes, or NULL for any other node. */
static Var *
vp_strip_var(Node *node)
{
	while (node && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node == NULL || !IsA(node, Var) || ((Var *) node)->varlevelsup != 0)
		return NULL;
	return (Var *) node;
}

/*
 * Read a view's query tree.  Return false if the query is not the definition
 * of a split view.  Otherwise, fill all fields of *layout except view and
 * owner.  Allocate its arrays in CurrentMemoryContext.
 */
bool
vp_query_layout(Query *query, VpLayout *layout)
{
	Oid			linked = vp_linked_oid();
	FuncExpr   *marker;
	JoinExpr   *join;
	Const	   *method;
	Var		   *marked_hot,
			   *marked_cold;
	List	   *clauses;
	ListCell   *lc;
	char	   *name;
	RangeTblEntry *hot,
			   *cold;

	memset(layout, 0, sizeof(*layout));
	if (!OidIsValid(linked) || query->commandType != CMD_SELECT ||
		query->jointree == NULL || list_length(query->jointree->fromlist) != 1)
		return false;

	/* the view must show each row of the hot part once, and no other rows */
	if (query->distinctClause != NIL || query->groupClause != NIL || query->groupingSets != NIL ||
		query->havingQual || query->windowClause != NIL || query->sortClause != NIL ||
		query->limitOffset || query->limitCount || query->setOperations ||
		query->hasAggs || query->hasTargetSRFs)
		return false;

	marker = (FuncExpr *) query->jointree->quals;
	join = (JoinExpr *) linitial(query->jointree->fromlist);
	if (marker == NULL || !IsA(marker, FuncExpr) || marker->funcid != linked ||
		!IsA(join, JoinExpr) || join->jointype != JOIN_LEFT ||
		!IsA(join->larg, RangeTblRef) || !IsA(join->rarg, RangeTblRef))
		return false;

	layout->hot_rti = ((RangeTblRef *) join->larg)->rtindex;
	layout->cold_rti = ((RangeTblRef *) join->rarg)->rtindex;
	hot = rt_fetch(layout->hot_rti, query->rtable);
	cold = rt_fetch(layout->cold_rti, query->rtable);
	if (hot->rtekind != RTE_RELATION || cold->rtekind != RTE_RELATION ||
		hot->tablesample || cold->tablesample)
		return false;
	layout->hot = hot->relid;
	layout->cold = cold->relid;

	/* the parts must be two different tables */
	if (layout->hot == layout->cold)
		return false;

	method = (Const *) linitial(marker->args);
	if (!IsA(method, Const) || method->constisnull)
		return false;

	/*
	 * the last two arguments of linked() must be Vars, because ALTER TABLE of
	 * a split table changes only the types of Vars
	 */
	marked_hot = (Var *) lsecond(marker->args);
	marked_cold = (Var *) lthird(marker->args);
	if (query->cteList != NIL || query->hasSubLinks ||
		!IsA(marked_hot, Var) || marked_hot->varno != layout->hot_rti || marked_hot->varattno != TableOidAttributeNumber ||
		!IsA(marked_cold, Var) || marked_cold->varno != layout->cold_rti)
		return false;

	name = TextDatumGetCString(method->constvalue);
	for (layout->method = VP_SHARED_KEY; strcmp(name, vp_method_names[layout->method]) != 0; layout->method++)
	{
		if (layout->method == VP_ROW_POINTER)
			return false;
	}

	/* the columns */
	layout->columns = palloc(Max(list_length(query->targetList), 1) * sizeof(VpColumn));
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = (TargetEntry *) lfirst(lc);
		Var		   *var = (Var *) tle->expr;

		if (tle->resjunk)
			continue;
		if (!IsA(var, Var) || var->varlevelsup != 0 || var->varattno <= 0 ||
			(var->varno != layout->hot_rti && var->varno != layout->cold_rti))
			return false;
		layout->columns[layout->natts].cold = (var->varno == layout->cold_rti);
		layout->columns[layout->natts++].attnum = var->varattno;
	}

	/* the link */
	clauses = make_ands_implicit((Expr *) join->quals);
	layout->hot_keys = palloc(Max(list_length(clauses), 1) * sizeof(AttrNumber));
	layout->cold_keys = palloc(Max(list_length(clauses), 1) * sizeof(AttrNumber));
	layout->key_operators = palloc(Max(list_length(clauses), 1) * sizeof(Oid));
	layout->key_collations = palloc(Max(list_length(clauses), 1) * sizeof(Oid));
	foreach(lc, clauses)
	{
		OpExpr	   *op = (OpExpr *) lfirst(lc);
		Var		   *left,
				   *right,
				   *hot_var,
				   *cold_var;
		Oid			left_type,
					right_type;

		if (!IsA(op, OpExpr) || list_length(op->args) != 2)
			return false;

		/* the columns must still have the operator's input types */
		op_input_types(op->opno, &left_type, &right_type);
		if (!IsBinaryCoercible(exprType(linitial(op->args)), left_type) ||
			!IsBinaryCoercible(exprType(lsecond(op->args)), right_type))
			return false;
		left = vp_strip_var(linitial(op->args));
		right = vp_strip_var(lsecond(op->args));
		if (left == NULL || right == NULL)
			return false;
		hot_var = left->varno == layout->hot_rti ? left : right;
		cold_var = left->varno == layout->hot_rti ? right : left;
		if (hot_var->varno != layout->hot_rti || cold_var->varno != layout->cold_rti)
			return false;

		/*
		 * Anybody can create a view that looks like a split view.  We copy
		 * values from one side of the comparison to the other side, and look
		 * up rows of one side by values of the other side.  So both sides
		 * must have the same type, even if the operator accepts different
		 * types.  We call the operator with the privileges of whoever uses
		 * the view.  So it must be the equality operator of an operator
		 * class, because only a superuser can create an operator class.
		 */
		if (hot_var->varattno <= 0 || hot_var->vartype != cold_var->vartype ||
			get_mergejoin_opfamilies(op->opno) == NIL)
			return false;

		if (layout->method == VP_SURROGATE_KEY ||
			(layout->method == VP_ROW_POINTER && cold_var->varattno == SelfItemPointerAttributeNumber))
		{
			if (layout->hot_link != 0 ||
				hot_var->vartype != (layout->method == VP_SURROGATE_KEY ? INT8OID : TIDOID) ||
				(layout->method == VP_SURROGATE_KEY && cold_var->varattno <= 0))
				return false;
			layout->hot_link = hot_var->varattno;
			layout->cold_link = cold_var->varattno;
		}
		else
		{
			if (cold_var->varattno <= 0 || layout->nkeys >= INDEX_MAX_KEYS)
				return false;
			layout->hot_keys[layout->nkeys] = hot_var->varattno;
			layout->cold_keys[layout->nkeys] = cold_var->varattno;
			layout->key_operators[layout->nkeys] = op->opno;
			layout->key_collations[layout->nkeys++] = op->inputcollid;
		}
	}
	return (layout->method == VP_SURROGATE_KEY || layout->nkeys > 0) &&
		(layout->method == VP_SHARED_KEY || layout->hot_link != 0);
}

/*
 * Return the location of the columns of a view, or NULL if it is not a split
 * view or not a view at all.  The caller holds a lock on the relation.  The
 * result is valid until invalidation messages are accepted.
 */
const VpLayout *
vp_layout(Oid view)
{
	VpCacheEntry *entry;
	bool		found;

	if (vp_cache == NULL)
	{
		HASHCTL		ctl;

		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(VpCacheEntry);
		vp_cache = hash_create("vertical_partition layouts", 16, &ctl, HASH_ELEM | HASH_BLOBS);
	}

	entry = (VpCacheEntry *) hash_search(vp_cache, &view, HASH_ENTER, &found);
	if (!found)
	{
		entry->valid = false;
		entry->context = NULL;
	}
	if (!entry->valid)
	{
		Relation	rel;
		VpLayout	layout;
		bool		split = false;
		MemoryContext context;

		context = AllocSetContextCreate(CurrentMemoryContext, "vertical_partition layout",
										ALLOCSET_SMALL_SIZES);
		rel = relation_open(view, NoLock);
		if (rel->rd_rel->relkind == RELKIND_VIEW && rel->rd_rules != NULL && rel->rd_rules->numLocks > 0)
		{
			MemoryContext old = MemoryContextSwitchTo(context);

			split = vp_query_layout(get_view_query(rel), &layout);
			layout.view = view;
			layout.owner = rel->rd_rel->relowner;
			MemoryContextSwitchTo(old);
		}
		relation_close(rel, NoLock);

		/*
		 * invalidation messages may have been accepted: look the entry up
		 * again
		 */
		entry = (VpCacheEntry *) hash_search(vp_cache, &view, HASH_ENTER, &found);
		if (found && entry->context)
			MemoryContextDelete(entry->context);
		MemoryContextSetParent(context, CacheMemoryContext);
		entry->context = context;
		entry->split = split;
		if (split)
			entry->layout = layout;
		entry->valid = true;
	}
	return entry->split ? &entry->layout : NULL;
}

/*
 * Return the owner of the relation, or InvalidOid if there is no such
 * relation.
 */
Oid
vp_relation_owner(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

/* Return the relation that a rewrite rule belongs to, or InvalidOid. */
static Oid
vp_relation_of_rule(Oid rule)
{
	Oid			relid = InvalidOid;
	Relation	rewrite = table_open(RewriteRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_rewrite_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(rule));
	scan = systable_beginscan(rewrite, RewriteOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		relid = ((Form_pg_rewrite) GETSTRUCT(tuple))->ev_class;
	systable_endscan(scan);
	table_close(rewrite, AccessShareLock);
	return relid;
}

/*
 * Return true if the relation could be the split view that this table is a
 * part of.  Anybody can create a view of the table that looks like a split
 * view.  But the real split view and the table have the same owner.
 */
static bool
vp_is_owners_view(Oid relid, Oid part)
{
	Oid			owner = vp_relation_owner(relid);

	return OidIsValid(owner) && owner == vp_relation_owner(part) &&
		get_rel_relkind(relid) == RELKIND_VIEW;
}

/*
 * Lock the relation and return true if it is the split view that this table
 * is a part of.  Do not lock a view of another owner: this owner could hold a
 * lock on the view to make us wait.
 */
static bool
vp_lock_view_of(Oid relid, Oid part)
{
	const VpLayout *layout;

	if (!vp_is_owners_view(relid, part))
		return false;
	LockRelationOid(relid, AccessShareLock);
	if (vp_is_owners_view(relid, part) && (layout = vp_layout(relid)) != NULL &&
		(layout->hot == part || layout->cold == part))
		return true;
	UnlockRelationOid(relid, AccessShareLock);
	return false;
}

/*
 * Return the OID of the split view that the table is a part of, or
 * InvalidOid.  The view stays locked until the end of the transaction.
 */
Oid
vp_view_of_part(Oid part)
{
	static Oid	last_part = InvalidOid;
	static Oid	last_view = InvalidOid;
	Relation	depend;
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			rule = InvalidOid;
	Oid			view = InvalidOid;

	/*
	 * remember the last result: ON DELETE CASCADE calls this function for
	 * each row, and the search is slow if other users have created many views
	 * of the part
	 */
	if (part == last_part && vp_lock_view_of(last_view, part))
		return last_view;

	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(part));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, lengthof(keys), keys);
	while (!OidIsValid(view) && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);
		Oid			relid;

		/*
		 * pg_depend has one entry for each column that a rule uses, and the
		 * entries of a rule are consecutive
		 */
		if (form->classid != RewriteRelationId || form->objid == rule)
			continue;
		rule = form->objid;
		relid = vp_relation_of_rule(rule);
		if (OidIsValid(relid) && vp_lock_view_of(relid, part))
			view = relid;
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);

	last_part = part;
	last_view = view;
	return view;
}

/*
 * Copy a layout with its arrays.  An invalidation may free the arrays of the
 * original.
 */
void
vp_copy_layout(VpLayout *to, const VpLayout *from)
{
	*to = *from;
	to->columns = palloc(from->natts * sizeof(VpColumn));
	memcpy(to->columns, from->columns, from->natts * sizeof(VpColumn));
	if (from->nkeys > 0)
	{
		to->hot_keys = palloc(from->nkeys * sizeof(AttrNumber));
		to->cold_keys = palloc(from->nkeys * sizeof(AttrNumber));
		to->key_operators = palloc(from->nkeys * sizeof(Oid));
		to->key_collations = palloc(from->nkeys * sizeof(Oid));
		memcpy(to->hot_keys, from->hot_keys, from->nkeys * sizeof(AttrNumber));
		memcpy(to->cold_keys, from->cold_keys, from->nkeys * sizeof(AttrNumber));
		memcpy(to->key_operators, from->key_operators, from->nkeys * sizeof(Oid));
		memcpy(to->key_collations, from->key_collations, from->nkeys * sizeof(Oid));
	}
}

/* Relation cache callback: forget the layout of one view, or of all views. */
static void
vp_relcache_callback(Datum arg, Oid relid)
{
	VpCacheEntry *entry;

	if (vp_cache == NULL)
		return;
	if (OidIsValid(relid))
	{
		entry = (VpCacheEntry *) hash_search(vp_cache, &relid, HASH_FIND, NULL);
		if (entry)
			entry->valid = false;
	}
	else
	{
		HASH_SEQ_STATUS status;

		hash_seq_init(&status, vp_cache);
		while ((entry = (VpCacheEntry *) hash_seq_search(&status)) != NULL)
			entry->valid = false;
	}
}

/* System cache callback: a function has changed, and it could be linked(). */
static void
vp_function_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	vp_linked = InvalidOid;
	vp_relcache_callback(arg, InvalidOid);
}

/* Register the callbacks when the library is loaded. */
void
vp_layout_init(void)
{
	CacheRegisterRelcacheCallback(vp_relcache_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(PROCOID, vp_function_callback, (Datum) 0);
}

/* Return the names of n columns of the relation, as a name[] datum. */
static Datum
vp_column_names(Oid relid, const AttrNumber *attnums, int n)
{
	Datum	   *names = palloc(Max(n, 1) * sizeof(Datum));

	for (int i = 0; i < n; i++)
		names[i] = DirectFunctionCall1(namein, CStringGetDatum(get_attname(relid, attnums[i], false)));
	return PointerGetDatum(construct_array(names, n, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR));
}

/*
 * vertical_partition_internal.layout(view regclass) -- layout of a split table
 *
 * Return the parts, the method, the key columns of the link, the view's
 * columns that are in the cold part, the hot part's link column, which the
 * view does not show, and the cold part's copies of the key columns.  All
 * these values are NULL if the relation is not a split view.
 */
Datum
vp_layout_row(PG_FUNCTION_ARGS)
{
	Oid			view = PG_GETARG_OID(0);
	Datum		values[7] = {0};
	bool		nulls[7] = {true, true, true, true, true, true, true};
	TupleDesc	tupdesc;
	const VpLayout *layout;
	Relation	rel;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	rel = try_relation_open(view, AccessShareLock);
	layout = rel ? vp_layout(view) : NULL;
	if (layout)
	{
		AttrNumber *cold = palloc(Max(layout->natts, 1) * sizeof(AttrNumber));
		int			ncold = 0;

		for (int i = 0; i < layout->natts; i++)
		{
			if (layout->columns[i].cold)
				cold[ncold++] = i + 1;
		}
		memset(nulls, 0, sizeof(nulls));
		values[0] = ObjectIdGetDatum(layout->hot);
		values[1] = ObjectIdGetDatum(layout->cold);
		values[2] = CStringGetTextDatum(vp_method_name(layout->method));
		values[3] = vp_column_names(layout->hot, layout->hot_keys, layout->nkeys);
		values[4] = vp_column_names(view, cold, ncold);
		nulls[5] = (layout->hot_link == 0);
		if (!nulls[5])
			values[5] = DirectFunctionCall1(namein, CStringGetDatum(get_attname(layout->hot, layout->hot_link, false)));
		values[6] = vp_column_names(layout->cold, layout->cold_keys, layout->nkeys);
	}
	if (rel)
		relation_close(rel, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls)));
}
