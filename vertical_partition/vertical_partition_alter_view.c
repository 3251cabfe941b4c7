/*-------------------------------------------------------------------------
 *
 * vertical_partition_alter_view.c
 *	  Adapt the view of a split table to altered columns of its parts.
 *
 * The view's rule depends on the columns of the parts, so the server would
 * refuse to drop such a column or to change its type.  Before the parts are
 * altered, the view is recreated without the dropped columns, and the rule loses
 * its dependencies on columns that get another type.  Afterwards, the rule is
 * stored again, with the new columns and types.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_alter_view.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/toast_compression.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_rewrite.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/extension.h"
#include "commands/tablecmds.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_collate.h"
#include "parser/parse_node.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteDefine.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteSupport.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "vertical_partition.h"
#include "vertical_partition_alter.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_ddl.h"
#include "vertical_partition_key.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_lookup.h"
#include "vertical_partition_place.h"

PG_FUNCTION_INFO_V1(vp_query_without);

/* Return the OID of the view's rewrite rule. */
static Oid
rule_of(Oid view)
{
	return get_rewrite_oid(view, ViewSelectRuleName, false);
}

/* Return true if the object is a default or a constraint of the view itself. */
static bool
is_of_view(const ObjectAddress *object, Oid view)
{
	HeapTuple	tuple;
	bool		result;

	if (object->classId == AttrDefaultRelationId)
		return GetAttrDefaultColumnAddress(object->objectId).objectId == view;
	if (object->classId != ConstraintRelationId)
		return false;
	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(object->objectId));
	result = HeapTupleIsValid(tuple) && ((Form_pg_constraint) GETSTRUCT(tuple))->conrelid == view;
	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return result;
}

/*
 * Raise an error if an object outside the view depends on the view's column.
 */
static void
check_dependents(const VpAlter *alter, const char *name)
{
	AttrNumber	attnum = get_attnum(alter->ddl->view, name);
	Relation	catalog = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[3];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(alter->ddl->view));
	ScanKeyInit(&keys[2], Anum_pg_depend_refobjsubid, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(attnum));
	scan = systable_beginscan(catalog, DependReferenceIndexId, true, NULL, lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);
		ObjectAddress object = {form->classid, form->objid, form->objsubid};

		/* the default and the key of the view are recreated */
		if (is_of_view(&object, alter->ddl->view))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot alter type of a column used by a view or rule"),
				 errdetail(COMPAT_DEPENDS_ON_COLUMN, getObjectDescription(&object, false), name)));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

/*
 * Raise an error if an object outside the view depends on a column that gets
 * another type, or if a table has a column of the view's row type.
 */
static void
check_retyped(const VpAlter *alter)
{
	Relation	rel = relation_open(alter->ddl->view, NoLock);
	ListCell   *lc;

	foreach(lc, alter->retyped)
		check_dependents(alter, (const char *) lfirst(lc));
	if (alter->retyped != NIL)
		find_composite_type_dependencies(rel->rd_rel->reltype, rel, NULL);
	relation_close(rel, NoLock);
}

/*
 * Remove the dependency of the view's rule on a column of a part.
 * vp_remake_view() adds it again.
 */
static void
release_column(Oid rule, Oid part, AttrNumber attnum)
{
	Relation	catalog = table_open(DependRelationId, RowExclusiveLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(RewriteRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(rule));
	scan = systable_beginscan(catalog, DependDependerIndexId, true, NULL, lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);

		if (form->refclassid == RelationRelationId && form->refobjid == part && form->refobjsubid == attnum)
			CatalogTupleDelete(catalog, &tuple->t_self);
	}
	systable_endscan(scan);
	table_close(catalog, RowExclusiveLock);
}

/*
 * Return true if a column of the primary key's index gets another type, which recreates
 * the index.
 */
static bool
remakes_key(const VpAlter *alter)
{
	Oid			hot = alter->ddl->layout.hot;
	ListCell   *lc;

	foreach(lc, alter->retyped)
	{
		const char *name = (const char *) lfirst(lc);

		if ((vp_places_of(alter, name) & VP_IN_HOT) && vp_key_uses(hot, get_attnum(hot, name)))
			return true;
	}
	return false;
}

/*
 * Remove the dependencies of the view's rule on columns of the parts that get
 * another type.  The rule keeps its dependencies on all other columns.  These
 * prevent user code that the command runs, for example in USING, from
 * altering those columns.
 *
 * If the command recreates the index of the view's primary key, remove this
 * key, and set *had_key to whether there was one.
 */
void
vp_release_parts(VpAlter *alter, bool *had_key)
{
	Oid			view = alter->ddl->view;
	const VpLayout *layout = &alter->ddl->layout;
	ListCell   *lc;

	check_retyped(alter);

	/*
	 * call guard_keys() before removing the key: it recreates a trigger of
	 * the hot part, which can add the key again
	 */
	if (alter->key_retyped)
		vp_call_helper(alter->ddl, psprintf("SELECT vertical_partition_internal.guard_keys(%u, false)", view));
	if (remakes_key(alter))
		*had_key = vp_remove_key(view);
	foreach(lc, alter->retyped)
	{
		const char *name = (const char *) lfirst(lc);
		int			places = vp_places_of(alter, name);

		if (places & VP_IN_HOT)
			release_column(rule_of(view), layout->hot, get_attnum(layout->hot, name));
		if (places & VP_IN_COLD)
			release_column(rule_of(view), layout->cold, get_attnum(layout->cold, name));
	}
	CommandCounterIncrement();
}

/* Give a column of the view the type of the part's column. */
static void
retype_column(Oid view, AttrNumber shown, Oid part, AttrNumber attnum)
{
	Relation	catalog = table_open(AttributeRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy2(ATTNUM, ObjectIdGetDatum(view), Int16GetDatum(shown));
	HeapTuple	source = SearchSysCache2(ATTNUM, ObjectIdGetDatum(part), Int16GetDatum(attnum));
	Form_pg_attribute to;
	Form_pg_attribute from;
	Relation	depend;
	ScanKeyData keys[3];
	SysScanDesc scan;
	HeapTuple	old;
	ObjectAddress column = {RelationRelationId, view, shown};
	ObjectAddress type = {TypeRelationId, InvalidOid, 0};
	ObjectAddress collation = {CollationRelationId, InvalidOid, 0};

	if (!HeapTupleIsValid(tuple) || !HeapTupleIsValid(source))
		elog(ERROR, "cache lookup failed for attribute %d of relation %u", shown, view);
	to = (Form_pg_attribute) GETSTRUCT(tuple);
	from = (Form_pg_attribute) GETSTRUCT(source);
	type.objectId = to->atttypid = from->atttypid;
	to->atttypmod = from->atttypmod;
	collation.objectId = to->attcollation = from->attcollation;
	to->attndims = from->attndims;
	to->attlen = from->attlen;
	to->attbyval = from->attbyval;
	to->attalign = from->attalign;
	to->attstorage = get_typstorage(from->atttypid);
	to->attcompression = InvalidCompressionMethod;
	CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	ReleaseSysCache(source);
	heap_freetuple(tuple);
	table_close(catalog, RowExclusiveLock);

	/* the column depends on its type and collation only */
	depend = table_open(DependRelationId, RowExclusiveLock);
	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(view));
	ScanKeyInit(&keys[2], Anum_pg_depend_objsubid, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(shown));
	scan = systable_beginscan(depend, DependDependerIndexId, true, NULL, lengthof(keys), keys);
	while (HeapTupleIsValid(old = systable_getnext(scan)))
		CatalogTupleDelete(depend, &old->t_self);
	systable_endscan(scan);
	table_close(depend, RowExclusiveLock);
	recordDependencyOn(&column, &type, DEPENDENCY_NORMAL);
	if (OidIsValid(collation.objectId) && collation.objectId != DEFAULT_COLLATION_OID)
		recordDependencyOn(&column, &collation, DEPENDENCY_NORMAL);
	CommandCounterIncrement();
}

/* Give the Vars of the view's query the new types of the parts' columns. */
static bool
retype_vars(Node *node, const VpAlter *alter)
{
	const VpLayout *layout = &alter->ddl->layout;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;

		if (var->varattno > 0 && (var->varno == layout->hot_rti || var->varno == layout->cold_rti))
		{
			Oid			part = var->varno == layout->hot_rti ? layout->hot : layout->cold;

			if (vp_has_name(alter->retyped, get_attname(part, var->varattno, false)))
				get_atttypetypmodcoll(part, var->varattno, &var->vartype, &var->vartypmod, &var->varcollid);
		}
		return false;
	}
	return expression_tree_walker(node, retype_vars, (void *) alter);
}

/*
 * Raise an error unless each Var of the view's query has the type, typmod and
 * collation of its column.  With another type, the executor could use a plain
 * value as a pointer.
 */
static bool
check_vars(Node *node, Query *query)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) && ((Var *) node)->varattno > 0)
	{
		Var		   *var = (Var *) node;
		RangeTblEntry *rte = rt_fetch(var->varno, query->rtable);
		Oid			type = InvalidOid;
		int32		typmod = -1;
		Oid			collation = InvalidOid;
		HeapTuple	tuple;

		if (rte->rtekind == RTE_RELATION)
		{
			tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(rte->relid), Int16GetDatum(var->varattno));
			if (HeapTupleIsValid(tuple))
			{
				Form_pg_attribute att = (Form_pg_attribute) GETSTRUCT(tuple);

				type = att->attisdropped ? InvalidOid : att->atttypid;
				typmod = att->atttypmod;
				collation = att->attcollation;
				ReleaseSysCache(tuple);
			}
		}
		if (var->varlevelsup != 0 || var->vartype != type || var->vartypmod != typmod || var->varcollid != collation)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("columns of a split table were changed while it was being altered")));
		return false;
	}
	return expression_tree_walker(node, check_vars, query);
}

static Node *
without_relabeling(Node *node)
{
	while (node && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node;
}

/*
 * Make the link (the view's join condition) compare keys by the equality
 * operator of their new type.  As in split(), this is the operator of the
 * primary key's index.
 */
static void
retype_link(Query *query, const VpLayout *layout)
{
	JoinExpr   *join = linitial_node(JoinExpr, query->jointree->fromlist);
	ParseState *pstate = make_parsestate(NULL);
	Relation	hot = table_open(layout->hot, NoLock);
	Relation	index;
	Oid			primary = compat_primary_key_index(hot);
	ListCell   *lc;

	if (!OidIsValid(primary))
		elog(ERROR, "table %u has no primary key", layout->hot);
	index = relation_open(primary, AccessShareLock);
	foreach(lc, make_ands_implicit((Expr *) join->quals))
	{
		OpExpr	   *op = lfirst_node(OpExpr, lc);
		Node	   *left = without_relabeling(linitial(op->args));
		Node	   *right = without_relabeling(lsecond(op->args));
		Var		   *var = castNode(Var, ((Var *) left)->varno == layout->hot_rti ? left : right);
		int			column = -1;
		Oid			operator;
		HeapTuple	tuple;
		Node	   *new;

		if (var->varattno == layout->hot_link)
			continue;
		for (int i = 0; i < index->rd_index->indnkeyatts; i++)
		{
			if (index->rd_index->indkey.values[i] == var->varattno)
				column = i;
		}
		operator = column < 0 ? InvalidOid :
			get_opfamily_member(index->rd_opfamily[column], index->rd_opcintype[column], index->rd_opcintype[column],
								BTEqualStrategyNumber);
		tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "table %u has no equality of its key", layout->hot);
		new = (Node *) make_op(pstate,
							   list_make2(makeString(get_namespace_name(((Form_pg_operator) GETSTRUCT(tuple))->oprnamespace)),
										  makeString(pstrdup(NameStr(((Form_pg_operator) GETSTRUCT(tuple))->oprname)))),
							   left, right, NULL, -1);
		ReleaseSysCache(tuple);
		assign_expr_collations(pstate, new);
		*op = *castNode(OpExpr, new);
	}
	assign_expr_collations(pstate, query->jointree->quals);
	relation_close(index, NoLock);
	table_close(hot, NoLock);
	free_parsestate(pstate);
}

/* Search for a Var of a range table entry */
typedef struct VpFindVar
{
	int			rti;
	Var		   *found;
} VpFindVar;

static bool
find_var(Node *node, VpFindVar *find)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) && ((Var *) node)->varno == find->rti && ((Var *) node)->varlevelsup == 0)
	{
		find->found = (Var *) node;
		return true;
	}
	return expression_tree_walker(node, find_var, find);
}

/* Append a column of a part to the columns of the view. */
static void
append_column(Query *query, const VpLayout *layout, bool cold, AttrNumber attnum, char *name)
{
	VpFindVar	find = {cold ? layout->cold_rti : layout->hot_rti, NULL};
	Oid			part = cold ? layout->cold : layout->hot;
	RangeTblEntry *rte = rt_fetch(find.rti, query->rtable);
	Var		   *var;
	TargetEntry *tle;

	/*
	 * copy another Var of the part, because its varnullingrels say that the
	 * join may make it null
	 */
	(void) (expression_tree_walker((Node *) query->targetList, find_var, &find) ||
			find_var(query->jointree->quals, &find));
	if (find.found == NULL)
		elog(ERROR, "view %u shows no column of table %u", layout->view, part);
	var = copyObject(find.found);
	var->varattno = attnum;
	var->varattnosyn = attnum;
	var->location = -1;
	get_atttypetypmodcoll(part, attnum, &var->vartype, &var->vartypmod, &var->varcollid);
	tle = makeTargetEntry((Expr *) var, list_length(query->targetList) + 1, name, false);
	tle->resorigtbl = part;
	tle->resorigcol = attnum;
	query->targetList = lappend(query->targetList, tle);
	compat_add_selected(query, rte, attnum);
}

/* Return true if two layouts have the same columns of the same parts in the same order. */
static bool
is_same_layout(const VpLayout *a, const VpLayout *b)
{
	if (a->hot != b->hot || a->cold != b->cold || a->hot_rti != b->hot_rti || a->cold_rti != b->cold_rti ||
		a->method != b->method || a->natts != b->natts || a->nkeys != b->nkeys ||
		a->hot_link != b->hot_link || a->cold_link != b->cold_link)
		return false;
	for (int i = 0; i < a->natts; i++)
	{
		if (a->columns[i].cold != b->columns[i].cold || a->columns[i].attnum != b->columns[i].attnum)
			return false;
	}
	for (int i = 0; i < a->nkeys; i++)
	{
		if (a->hot_keys[i] != b->hot_keys[i] || a->cold_keys[i] != b->cold_keys[i])
			return false;
	}
	return true;
}

/* Make the view show the new columns and the new types of its parts. */
void
vp_remake_view(VpAlter *alter, AlterTableStmt *stmt)
{
	VpLayout   *layout = &alter->ddl->layout;
	Oid			view = layout->view;
	Relation	rel = relation_open(view, NoLock);
	Query	   *query = copyObject(get_view_query(rel));
	VpLayout	now;
	List	   *cmds = NIL;
	ListCell   *lc;

	relation_close(rel, NoLock);

	/* user code that the command ran can have replaced the view */
	memset(&now, 0, sizeof(now));
	if (!vp_query_layout(query, &now) || !is_same_layout(&now, layout))
		vp_changed(alter->name);
	for (int i = 0; i < layout->natts; i++)
	{
		/* add_generated() must have found all columns that CASCADE dropped */
		if (!SearchSysCacheExistsAttName(layout->columns[i].cold ? layout->cold : layout->hot, get_attname(view, i + 1, false)))
			elog(ERROR, "column \"%s\" of split table \"%s\" is gone", get_attname(view, i + 1, false), alter->name);
	}
	if (alter->retyped != NIL)
	{
		/* user code that the command ran can have created dependent objects */
		check_retyped(alter);
		foreach(lc, alter->retyped)
		{
			AttrNumber	attnum;
			Oid			part = vp_part_of_column(alter, (const char *) lfirst(lc), &attnum);

			retype_column(view, get_attnum(view, (const char *) lfirst(lc)), part, attnum);
		}
		(void) query_tree_walker(query, retype_vars, (void *) alter, 0);
		if (alter->key_retyped)
			retype_link(query, layout);
	}
	foreach(lc, alter->added)
	{
		char	   *name = (char *) lfirst(lc);
		bool		cold = vp_has_name(alter->added_cold, name);
		AttrNumber	attnum = get_attnum(cold ? layout->cold : layout->hot, name);
		AlterTableCmd *cmd = makeNode(AlterTableCmd);
		TargetEntry *tle;

		append_column(query, layout, cold, attnum, name);
		tle = llast_node(TargetEntry, query->targetList);
		cmd->subtype = AT_AddColumnToView;
		cmd->def = (Node *) makeColumnDef(name, exprType((Node *) tle->expr), exprTypmod((Node *) tle->expr),
										  exprCollation((Node *) tle->expr));
		cmds = lappend(cmds, cmd);
	}
	if (cmds != NIL)
	{
		EventTriggerAlterTableStart((Node *) stmt);
		AlterTableInternal(view, cmds, true);
		EventTriggerAlterTableEnd();
		CommandCounterIncrement();
	}

	/*
	 * take the current column names; clear checkAsUser, which was set when
	 * the rule was loaded
	 */
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = (TargetEntry *) lfirst(lc);

		if (!tle->resjunk)
			tle->resname = get_attname(view, tle->resno, false);
	}
	setRuleCheckAsUser((Node *) query, InvalidOid);

	/*
	 * skip the lists of the join's columns: they can contain dropped columns,
	 * which nothing refers to
	 */
	(void) query_tree_walker(query, check_vars, query, QTW_IGNORE_JOINALIASES);
	DefineQueryRewrite(pstrdup(ViewSelectRuleName), view, NULL, CMD_SELECT, true, true, list_make1(query));
	CommandCounterIncrement();
}

/*
 * vertical_partition_internal.query_without(view regclass, columns name[])
 *		returns text
 *
 * Return the query of a split view without some of its columns.  Errors: 42501 if the
 * caller does not own the view, 42809 if it is not the view of a split table.
 */
Datum
vp_query_without(PG_FUNCTION_ARGS)
{
	Oid			view = PG_GETARG_OID(0);
	Datum	   *columns;
	int			n;
	List	   *names = NIL;
	List	   *kept = NIL;
	Relation	rel;
	Query	   *query;
	ListCell   *lc;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR, &columns, NULL, &n);
	for (int i = 0; i < n; i++)
		names = lappend(names, NameStr(*DatumGetName(columns[i])));

	vp_check_owner(view);
	rel = relation_open(view, AccessShareLock);
	if (rel->rd_rel->relkind != RELKIND_VIEW || vp_layout(view) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a split table", RelationGetRelationName(rel))));
	query = copyObject(get_view_query(rel));
	relation_close(rel, NoLock);
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = (TargetEntry *) lfirst(lc);

		tle->resname = get_attname(view, tle->resno, false);
		if (vp_has_name(names, tle->resname))
			continue;
		kept = lappend(kept, tle);
		tle->resno = list_length(kept);
	}
	query->targetList = kept;
	PG_RETURN_TEXT_P(cstring_to_text(pg_get_querydef(query, false)));
}

/* The query that recreates the view, and the view's new OID */
typedef struct ShrinkView
{
	const char *query;
	Oid			result;
} ShrinkView;

static void
call_shrink(void *argument)
{
	ShrinkView *shrink = argument;
	bool		isnull;

	SPI_connect();
	if (SPI_execute(shrink->query, false, 0) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "could not execute \"%s\"", shrink->query);
	shrink->result = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_finish();
}

/* Recreate the view without the columns that are dropped.  Return its new OID. */
Oid
vp_shrink_view(const VpAlter *alter)
{
	StringInfoData query;
	ListCell   *lc;
	ShrinkView	shrink;
	bool		saved = creating_extension;
	bool		had_key = vp_has_key(alter->ddl->view);

	vp_need_latest_snapshot(alter->ddl);
	initStringInfo(&query);
	appendStringInfo(&query, "SELECT vertical_partition_internal.shrink(%u, ARRAY[", alter->ddl->view);
	foreach(lc, alter->dropped)
		appendStringInfo(&query, "%s%s", lc == list_head(alter->dropped) ? "" : ", ", quote_literal_cstr(lfirst(lc)));
	appendStringInfoString(&query, "]::pg_catalog.name[])");

	/*
	 * a view that an extension's script alters is no member of the extension
	 */
	creating_extension = false;
	shrink.query = query.data;
	PG_TRY();
	{
		vp_call_quietly(call_shrink, &shrink);
	}
	PG_FINALLY();
	{
		creating_extension = saved;
	}
	PG_END_TRY();
	if (had_key)
		vp_restore_key(shrink.result);
	return shrink.result;
}
