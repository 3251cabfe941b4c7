/*-------------------------------------------------------------------------
 *
 * compact_advise_view.c
 *	  Examine the uses of columns whose types are to change, in views, CHECK
 *	  constraints and statistics objects.
 *
 * These objects are created again from their text, in which the names of
 * operators and functions then refer to the operators and functions of the new
 * types.  An expression that shows, compares or counts a column has the same
 * result as before.  Arithmetic on a narrower integer or a decimal may have
 * another result: its type is int4, int8 or numeric, whatever the type was
 * before, and int4 may overflow where int8 did not.  So every other use of such a
 * column counts as a blocker, even where the type of the result happens to
 * stay the same.  An explicit cast in the text avoids the blocker.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_advise_view.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "compact_advise.h"
#include "compact_types_compat.h"

/* Subqueries nested more deeply are not examined. */
#define MAX_SUBQUERY_DEPTH	20

/*
 * A column of a table or view that is a converted column, or shows such a
 * column.
 */
typedef struct ViewColumn
{
	Oid			relid;
	AttrNumber	attnum;
	int			column;			/* index in the advice */
} ViewColumn;

typedef struct ViewWalk
{
	Advice	   *advice;
	List	   *columns;		/* of ViewColumn * */
	List	   *queries;		/* queries around the node, innermost first */
	const char *user;			/* the object, as messages name it */
} ViewWalk;

static bool walk_expression(Node *node, void *context);
static int	output_column(ViewWalk *walk, Query *query, AttrNumber resno,
						  List *queries, int depth);

/* Return the index of the converted column that this column shows, or -1. */
static int
find_column(List *columns, Oid relid, AttrNumber attnum)
{
	ListCell   *lc;

	foreach(lc, columns)
	{
		ViewColumn *column = lfirst(lc);

		if (column->relid == relid && column->attnum == attnum)
			return column->column;
	}

	return -1;
}

/*
 * Return the index of the converted column that the Var shows, or -1.  A Var
 * can be an alias of an expression, for example a column of a join with USING
 * or a grouping column.  In this case, set *expression to this expression, and
 * *expression_in to the queries around this expression.
 */
static int
var_column(ViewWalk *walk, Var *var, List *queries, int depth,
		   Node **expression, List **expression_in)
{
	List	   *level = list_copy_tail(queries, var->varlevelsup);
	Query	   *query = linitial_node(Query, level);
	RangeTblEntry *rte = rt_fetch(var->varno, query->rtable);
	Node	   *alias = NULL;

	if (rte->rtekind == RTE_RELATION)
		return find_column(walk->columns, rte->relid, var->varattno);
	if (var->varattno <= 0 || depth > MAX_SUBQUERY_DEPTH)
		return -1;

	if (rte->rtekind == RTE_SUBQUERY)
		return output_column(walk, rte->subquery, var->varattno,
							 lcons(rte->subquery, level), depth + 1);
	if (rte->rtekind == RTE_CTE)
	{
		ListCell   *lc;

		level = list_copy_tail(level, rte->ctelevelsup);
		query = linitial_node(Query, level);
		foreach(lc, query->cteList)
		{
			CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

			if (strcmp(cte->ctename, rte->ctename) == 0 && IsA(cte->ctequery, Query))
				return output_column(walk, (Query *) cte->ctequery, var->varattno,
									 lcons(cte->ctequery, level), depth + 1);
		}
		return -1;
	}
	if (rte->rtekind == RTE_JOIN)
		alias = (Node *) list_nth(rte->joinaliasvars, var->varattno - 1);
	else
		alias = compat_group_expression(rte, var->varattno);

	if (alias && IsA(alias, Var))
		return var_column(walk, (Var *) alias, level, depth + 1, expression, expression_in);
	if (expression)
	{
		*expression = alias;
		*expression_in = level;
	}

	return -1;
}

/*
 * Return the index of the converted column that a column of the query's result
 * shows, or -1.  For a set operation, examine the column in each of the
 * combined queries.
 */
static int
output_column(ViewWalk *walk, Query *query, AttrNumber resno, List *queries, int depth)
{
	ListCell   *lc;

	if (query->setOperations)
	{
		foreach(lc, query->rtable)
		{
			RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
			int			column;

			if (rte->rtekind != RTE_SUBQUERY || depth > MAX_SUBQUERY_DEPTH)
				continue;
			column = output_column(walk, rte->subquery, resno,
								   lcons(rte->subquery, list_copy(queries)), depth + 1);
			if (column >= 0)
				return column;
		}
		return -1;
	}
	foreach(lc, query->targetList)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);

		if (entry->resno == resno)
			return IsA(entry->expr, Var) ?
				var_column(walk, (Var *) entry->expr, queries, depth, NULL, NULL) : -1;
	}

	return -1;
}

/*
 * Record that the expression computes with the column.  If column is -1, the
 * column is not known, so record this for every column.
 */
static void
computes_with(ViewWalk *walk, int column)
{
	for (int i = 0; i < walk->advice->ncolumns; i++)
	{
		AdviseColumn *used = &walk->advice->columns[i];

		if ((column == i || column < 0) &&
			(used->kind == ADVISE_INTEGER || used->kind == ADVISE_DECIMAL))
			compact_advise_add_blocker(walk->advice, used->att->attnum,
									   psprintf("%s computes with the column", walk->user));
	}
}

static void
walk_in(ViewWalk *walk, Node *node, List *queries)
{
	List	   *save = walk->queries;

	walk->queries = queries;
	(void) walk_expression(node, walk);
	walk->queries = save;
}

/*
 * Walk a node in a place where a converted column alone does no harm, but an
 * expression with such a column may.
 */
static void
walk_plain(ViewWalk *walk, Node *node)
{
	Node	   *expression = NULL;
	List	   *expression_in = NIL;

	if (node == NULL || !IsA(node, Var))
		(void) walk_expression(node, walk);
	else if (var_column(walk, (Var *) node, walk->queries, 0, &expression, &expression_in) < 0 &&
			 expression)
		walk_in(walk, expression, expression_in);
}

/* Walk an argument of a comparison without the implicit casts around it. */
static void
walk_compared(ViewWalk *walk, Node *node)
{
	while (node)
	{
		if (IsA(node, RelabelType))
			node = (Node *) ((RelabelType *) node)->arg;
		else if (IsA(node, FuncExpr) && list_length(((FuncExpr *) node)->args) == 1 &&
				 ((FuncExpr *) node)->funcformat == COERCE_IMPLICIT_CAST)
			node = linitial(((FuncExpr *) node)->args);
		else
			break;
	}
	walk_plain(walk, node);
}

static bool
is_comparison(Node *node)
{
	Oid			opno;

	if (node == NULL)
		return false;
	if (IsA(node, OpExpr) || IsA(node, DistinctExpr))
		opno = ((OpExpr *) node)->opno;
	else if (IsA(node, ScalarArrayOpExpr))
		opno = ((ScalarArrayOpExpr *) node)->opno;
	else
		return false;

	return compat_op_interpretation(opno) != NIL;
}

/* Walk a Var, which may be a whole row that contains a converted column. */
static void
walk_var(ViewWalk *walk, Var *var)
{
	Node	   *expression = NULL;
	List	   *expression_in = NIL;
	int			column;

	if (var->varattno == InvalidAttrNumber)
	{
		Query	   *query = list_nth(walk->queries, var->varlevelsup);
		RangeTblEntry *rte = rt_fetch(var->varno, query->rtable);
		ListCell   *lc;

		if (rte->rtekind == RTE_SUBQUERY || rte->rtekind == RTE_CTE ||
			rte->rtekind == RTE_JOIN)
			computes_with(walk, -1);
		foreach(lc, walk->columns)
		{
			ViewColumn *used = lfirst(lc);

			if (rte->rtekind == RTE_RELATION && used->relid == rte->relid)
				computes_with(walk, used->column);
		}
		return;
	}
	column = var_column(walk, var, walk->queries, 0, &expression, &expression_in);
	if (column >= 0)
		computes_with(walk, column);
	else if (expression)
		walk_in(walk, expression, expression_in);
}

/* Return the query of one side of a set operation. */
static Query *
operand_query(Query *query, Node *operand)
{
	return IsA(operand, RangeTblRef) ?
		rt_fetch(((RangeTblRef *) operand)->rtindex, query->rtable)->subquery : NULL;
}

/*
 * The columns of a recursive query have the types of its non-recursive part.
 * Block a column unless the recursive part merely passes it on, because the
 * types of other expressions in the recursive part do not change.
 */
static void
walk_recursive(ViewWalk *walk, CommonTableExpr *cte, List *queries)
{
	Query	   *query = (Query *) cte->ctequery;
	SetOperationStmt *operation = (SetOperationStmt *) query->setOperations;
	Query	   *first;
	Query	   *second;
	ListCell   *lc;

	if (operation == NULL || !IsA(operation, SetOperationStmt))
		return;
	first = operand_query(query, operation->larg);
	second = operand_query(query, operation->rarg);
	if (first == NULL || second == NULL)
		return;
	queries = lcons(query, list_copy(queries));
	foreach(lc, first->targetList)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);
		TargetEntry *next = get_tle_by_resno(second->targetList, entry->resno);
		int			column;
		Var		   *var;
		RangeTblEntry *rte;

		if (entry->resjunk)
			continue;
		column = output_column(walk, first, entry->resno, lcons(first, list_copy(queries)), 0);
		if (column < 0 || next == NULL)
			continue;
		var = (Var *) next->expr;
		rte = IsA(var, Var) && var->varlevelsup == 0 ? rt_fetch(var->varno, second->rtable) : NULL;
		if (rte == NULL || rte->rtekind != RTE_CTE || !rte->self_reference ||
			var->varattno != entry->resno)
			compact_advise_add_blocker(walk->advice, walk->advice->columns[column].att->attnum,
									   psprintf("%s has the column in a recursive query", walk->user));
	}
}

/* Walk through a view's query, and record columns that it computes with. */
static bool
walk_expression(Node *node, void *context)
{
	ViewWalk   *walk = (ViewWalk *) context;
	ListCell   *lc;

	if (node == NULL)
		return false;
	check_stack_depth();

	switch (nodeTag(node))
	{
		case T_Var:
			walk_var(walk, (Var *) node);
			return false;
		case T_TargetEntry:
			{
				Node	   *expr = (Node *) ((TargetEntry *) node)->expr;

				/* a whole row is more than one column of the result */
				if (IsA(expr, Var) && ((Var *) expr)->varattno == InvalidAttrNumber)
					walk_var(walk, (Var *) expr);
				else
					walk_plain(walk, expr);
				return false;
			}
		case T_Aggref:
			{
				Aggref	   *aggref = (Aggref *) node;

				foreach(lc, aggref->args)
				{
					Node	   *expr = (Node *) lfirst_node(TargetEntry, lc)->expr;

					if (aggref->aggfnoid == F_COUNT_ANY)
						walk_plain(walk, expr);
					else
						(void) walk_expression(expr, walk);
				}
				(void) walk_expression((Node *) aggref->aggdirectargs, walk);
				return walk_expression((Node *) aggref->aggfilter, walk);
			}
		case T_OpExpr:
		case T_DistinctExpr:
			if (!is_comparison(node))
				break;
			foreach(lc, ((OpExpr *) node)->args)
				walk_compared(walk, lfirst(lc));
			return false;
		case T_ScalarArrayOpExpr:
			if (!is_comparison(node))
				break;
			walk_compared(walk, linitial(((ScalarArrayOpExpr *) node)->args));
			return walk_expression(lsecond(((ScalarArrayOpExpr *) node)->args), walk);
		case T_NullTest:
			walk_plain(walk, (Node *) ((NullTest *) node)->arg);
			return false;
		case T_FuncExpr:
			/* an explicit cast fixes the type of the result */
			if (((FuncExpr *) node)->funcformat != COERCE_EXPLICIT_CAST)
				break;
			walk_plain(walk, linitial(((FuncExpr *) node)->args));
			return false;
		case T_CoerceViaIO:
			if (((CoerceViaIO *) node)->coerceformat != COERCE_EXPLICIT_CAST)
				break;
			walk_plain(walk, (Node *) ((CoerceViaIO *) node)->arg);
			return false;
		case T_SubLink:
			{
				SubLink    *link = (SubLink *) node;
				Query	   *query = (Query *) link->subselect;

				/* here, the outer expression uses the subquery's result */
				if (link->subLinkType != EXISTS_SUBLINK &&
					!(link->subLinkType == ANY_SUBLINK && is_comparison(link->testexpr)))
				{
					foreach(lc, query->targetList)
					{
						TargetEntry *entry = lfirst_node(TargetEntry, lc);
						int			column = output_column(walk, query, entry->resno,
														   lcons(query, list_copy(walk->queries)), 0);

						if (!entry->resjunk && column >= 0)
							computes_with(walk, column);
					}
				}
				break;
			}
		case T_Query:
			{
				List	   *save = walk->queries;

				walk->queries = lcons(node, list_copy(walk->queries));
				foreach(lc, ((Query *) node)->cteList)
				{
					CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

					if (cte->cterecursive && IsA(cte->ctequery, Query))
						walk_recursive(walk, cte, walk->queries);
				}
				(void) query_tree_walker((Query *) node, walk_expression, walk,
										 COMPAT_QTW_IGNORE_ALIASES);
				walk->queries = save;
				return false;
			}
		default:
			break;
	}

	return expression_tree_walker(node, walk_expression, walk);
}

/*
 * Make a list of ViewColumn * for the chosen columns, or, if chosen is NULL,
 * for those with a proposal.
 */
static List *
converted_columns(const Advice *advice, const bool *chosen)
{
	List	   *result = NIL;

	for (int i = 0; i < advice->ncolumns; i++)
	{
		if (chosen ? chosen[i] : advice->columns[i].kind != ADVISE_KEEP)
		{
			ViewColumn *column = palloc(sizeof(ViewColumn));

			column->relid = RelationGetRelid(advice->rel);
			column->attnum = advice->columns[i].att->attnum;
			column->column = i;
			result = lappend(result, column);
		}
	}

	return result;
}

/*
 * Find the CHECK constraints and statistics objects that compute with columns.
 * Add a blocker to each such column that has a proposal.  After the change,
 * the constraint could refuse a row that is valid today, or ANALYZE could
 * fail.
 */
void
compact_advise_look_at_expressions(Advice *advice)
{
	ViewWalk	walk = {.advice = advice,.columns = converted_columns(advice, NULL)};
	Oid			relid = RelationGetRelid(advice->rel);
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	Query	   *query = makeNode(Query);

	rte->rtekind = RTE_RELATION;
	rte->relid = relid;
	query->rtable = list_make1(rte);
	walk.queries = list_make1(query);

	compact_advise_query("SELECT pg_catalog.pg_describe_object('pg_catalog.pg_constraint'::pg_catalog.regclass, oid, 0),"
						 " conbin::pg_catalog.text FROM pg_catalog.pg_constraint WHERE conrelid = %u AND contype = 'c'"
						 " UNION ALL SELECT pg_catalog.pg_describe_object('pg_catalog.pg_statistic_ext'::pg_catalog.regclass, oid, 0),"
						 " stxexprs::pg_catalog.text FROM pg_catalog.pg_statistic_ext"
						 " WHERE stxrelid = %u AND stxexprs IS NOT NULL ORDER BY 1",
						 relid, relid);
	for (uint64 row = 0; row < SPI_processed; row++)
	{
		walk.user = compact_advise_result(row, 0);
		/* NULL stands for an object that was dropped a moment ago */
		if (walk.user)
			(void) walk_expression(stringToNode(compact_advise_result(row, 1)), &walk);
	}
}

/*
 * Add a blocker to every converted column that one of the views computes with.
 * The views must be in the order of their dependencies.  chosen marks the
 * converted columns; if it is NULL, take the columns with a proposal.  Return
 * a list of these columns and of the view columns that show them, for
 * compact_advise_view_column_converts().
 */
List *
compact_advise_look_at_views(Advice *advice, List *views, const bool *chosen)
{
	ViewWalk	walk = {.advice = advice,.columns = converted_columns(advice, chosen)};
	ListCell   *lc;

	foreach(lc, views)
	{
		Relation	view = try_relation_open(lfirst_oid(lc), AccessShareLock);
		Query	   *query;

		/* the view was just dropped, or replaced by another relation */
		if (view == NULL)
			continue;
		if (view->rd_rel->relkind != RELKIND_VIEW)
		{
			relation_close(view, AccessShareLock);
			continue;
		}
		query = copyObject(get_view_query(view));
		walk.user = psprintf("view %s", RelationGetRelationName(view));
		(void) walk_expression((Node *) query, &walk);
		for (int attno = 1; attno <= RelationGetNumberOfAttributes(view); attno++)
		{
			int			used = output_column(&walk, query, attno, list_make1(query), 0);

			if (used >= 0)
			{
				ViewColumn *column = palloc(sizeof(ViewColumn));

				column->relid = RelationGetRelid(view);
				column->attnum = attno;
				column->column = used;
				walk.columns = lappend(walk.columns, column);
			}
		}
		relation_close(view, AccessShareLock);
	}

	return walk.columns;
}

/*
 * Constants that call functions
 */

struct constant_walk
{
	Oid			owner;			/* owner of the object with the expression */
	Oid			typid;			/* type that was found, or InvalidOid */
};

/*
 * Search the parts of a type for a domain or range type whose owner does not
 * have the privileges of the given owner.  Return the found type, or
 * InvalidOid.
 */
static Oid
foreign_type(Oid typid, Oid owner)
{
	HeapTuple	tuple;
	Form_pg_type type;
	Oid			part = InvalidOid;
	Oid			result = InvalidOid;

	if (typid < FirstNormalObjectId)
		return InvalidOid;
	check_stack_depth();

	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(typid));
	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	type = (Form_pg_type) GETSTRUCT(tuple);
	switch (type->typtype)
	{
		case TYPTYPE_DOMAIN:
			part = type->typbasetype;
			break;
		case TYPTYPE_RANGE:
			part = get_range_subtype(typid);
			break;
		case TYPTYPE_MULTIRANGE:
			part = get_multirange_range(typid);
			break;
		case TYPTYPE_BASE:
			part = get_element_type(typid);
			break;
		case TYPTYPE_COMPOSITE:
			{
				TupleDesc	desc = lookup_rowtype_tupdesc_copy(typid, -1);

				for (int i = 0; i < desc->natts && !OidIsValid(result); i++)
				{
					if (!TupleDescAttr(desc, i)->attisdropped)
						result = foreign_type(TupleDescAttr(desc, i)->atttypid, owner);
				}
				FreeTupleDesc(desc);
			}
			break;
		default:
			break;
	}
	if ((type->typtype == TYPTYPE_DOMAIN || type->typtype == TYPTYPE_RANGE) &&
		!has_privs_of_role(type->typowner, owner))
		result = typid;
	ReleaseSysCache(tuple);

	return OidIsValid(result) ? result : foreign_type(part, owner);
}

static bool
find_foreign_constant(Node *node, void *context)
{
	struct constant_walk *walk = (struct constant_walk *) context;

	if (node == NULL)
		return false;
	check_stack_depth();

	if (IsA(node, Const))
	{
		walk->typid = foreign_type(((Const *) node)->consttype, walk->owner);
		return OidIsValid(walk->typid);
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, find_foreign_constant, context, 0);

	return expression_tree_walker(node, find_foreign_constant, context);
}

/*
 * Return descriptions of the objects that contain a constant of a type that
 * another user created.
 *
 * The views and the table's expressions are created again from their text,
 * each as its owner.  This evaluates constants anew, even constants that have
 * been stored as values since the object was created.  The evaluation calls
 * the present CHECK constraints of a domain that is the element type of an
 * array, and functions of a range type.  The object's owner may not want to
 * run this code of the type's owner.
 */
List *
compact_advise_foreign_constants(const Advice *advice, List *views)
{
	List	   *result = NIL;
	Oid			relid = RelationGetRelid(advice->rel);
	ListCell   *lc;

	compact_advise_query("SELECT pg_catalog.pg_describe_object('pg_catalog.pg_constraint'::pg_catalog.regclass, oid, 0),"
						 " conbin::pg_catalog.text FROM pg_catalog.pg_constraint WHERE conrelid = %u AND contype = 'c'"
						 " UNION ALL SELECT pg_catalog.pg_describe_object('pg_catalog.pg_statistic_ext'::pg_catalog.regclass, oid, 0),"
						 " stxexprs::pg_catalog.text FROM pg_catalog.pg_statistic_ext"
						 " WHERE stxrelid = %u AND stxexprs IS NOT NULL"
						 " UNION ALL SELECT pg_catalog.pg_describe_object('pg_catalog.pg_class'::pg_catalog.regclass, indexrelid, 0), x"
						 " FROM pg_catalog.pg_index, pg_catalog.unnest(ARRAY[indexprs::pg_catalog.text, indpred::pg_catalog.text]) x"
						 " WHERE indrelid = %u AND x IS NOT NULL ORDER BY 1",
						 relid, relid, relid);
	for (uint64 row = 0; row < SPI_processed; row++)
	{
		struct constant_walk walk = {.owner = advice->rel->rd_rel->relowner};

		if (find_foreign_constant(stringToNode(compact_advise_result(row, 1)), &walk))
			result = lappend(result, psprintf("%s has a constant of type %s, which another user made",
											  compact_advise_result(row, 0), format_type_be_qualified(walk.typid)));
	}

	foreach(lc, views)
	{
		Relation	view = relation_open(lfirst_oid(lc), AccessShareLock);
		struct constant_walk walk = {.owner = view->rd_rel->relowner};

		if (find_foreign_constant((Node *) get_view_query(view), &walk))
			result = lappend(result, psprintf("view %s has a constant of type %s, which another user made",
											  quote_qualified_identifier(get_namespace_name(RelationGetNamespace(view)),
																		 RelationGetRelationName(view)),
											  format_type_be_qualified(walk.typid)));
		relation_close(view, NoLock);
	}

	return result;
}

/*
 * Return the index of the converted column that the column of the view shows,
 * or -1.
 */
int
compact_advise_view_column_shows(List *columns, Oid view, AttrNumber attnum)
{
	return find_column(columns, view, attnum);
}
