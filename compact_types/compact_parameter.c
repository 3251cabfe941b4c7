/*-------------------------------------------------------------------------
 *
 * compact_parameter.c
 *	  Parameters without a type that become parameters of a narrow scalar type.
 *
 * If such a parameter is an operand of an operator, the parser gives the
 * parameter a type that holds every value, see compact_literal.c.  Without an
 * operator, as in d IN ($1, $2) and in coalesce(d, $1), the parser gives the
 * parameter the narrow type, and Bind (the protocol message with the values)
 * calls the input function of the type.  The input function must round a value
 * that is only stored, as numeric(p,s) rounds it.  The function must not round
 * any other value.  So for a value that the type does not hold exactly, the
 * input function examines the text of the statement: is the parameter only
 * assigned to a column of its type, or cast to that type?  The uses of the
 * parameters cannot be recorded when the statement is parsed, because the
 * library may not be loaded before Bind.
 *
 * EXECUTE assigns its arguments to parameters.  Its arguments are treated in
 * the same way.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_parameter.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/prepare.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_node.h"
#include "parser/parse_type.h"
#include "parser/parser.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"

#include "compact_scalar.h"

/* Uses of the parameters of a statement. */
typedef struct ParameterUse
{
	Oid			narrow;			/* type that they got; 0: not known */
	Bitmapset  *stored;			/* locations of ParamRefs that are only stored */
	Bitmapset  *compared;		/* numbers of parameters used otherwise */
} ParameterUse;

/* Kind of a column that a value is assigned to. */
typedef enum TargetKind
{
	TARGET_NARROW,				/* of the type that parameters got */
	TARGET_WIDE,				/* of another type */
	TARGET_UNKNOWN				/* composite, or not found */
} TargetKind;

/*
 * Argument of the error callback of exec_bind_message().  The struct is
 * private to postgres.c, and the same in all releases.
 */
typedef struct BoundParameter
{
	const char *portal_name;
	int			paramno;		/* from 0 */
} BoundParameter;

/* The last bound statement, as the grammar returned it */
static MemoryContext last_context = NULL;
static const char *last_query = NULL;
static List *last_statements = NIL;

/*
 * The compared parameters of that statement.  Each Bind finds them again,
 * because they can change with the catalog.
 */
static TimestampTz last_bind = 0;
static Oid	last_narrow = InvalidOid;
static Bitmapset *last_compared = NULL;

/*
 * The EXECUTE whose arguments are evaluated, and the portal and the error
 * context in which it began.
 */
static ExecuteStmt *current_execute = NULL;
static Portal execute_portal = NULL;
static ErrorContextCallback *execute_error_context = NULL;

static bool parameter_walker(Node *node, ParameterUse *use);

/* Return the type under any domains and arrays. */
static Oid
plain_type(Oid typid)
{
	Oid			element;

	typid = getBaseType(typid);
	element = get_element_type(typid);

	return OidIsValid(element) ? getBaseType(element) : typid;
}

/*
 * Return true if the explicit cast is to the narrow type, and so asks for the
 * rounding.  A cast to another base type gets a value that was already
 * rounded.  There is no cast from the narrow type to a composite type or a
 * range.  So a parameter with such a cast has the composite type or the range
 * type itself.
 */
static bool
is_cast_to(const TypeCast *cast, Oid narrow)
{
	Oid			typid;

	if (!OidIsValid(narrow))
		return true;
	typid = LookupTypeNameOid(NULL, cast->typeName, true);
	if (!OidIsValid(typid))
		return false;
	typid = plain_type(typid);

	return typid == narrow || get_typtype(typid) != TYPTYPE_BASE;
}

/*
 * Return the relation's OID, or 0.  The statement has been analyzed already,
 * so this function need not check privileges.
 */
static Oid
target_relation(const RangeVar *relation)
{
	if (relation->schemaname == NULL)
		return RelnameGetRelid(relation->relname);

	return get_relname_relid(relation->relname,
							 LookupNamespaceNoError(relation->schemaname));
}

static TargetKind
column_kind(Oid relid, AttrNumber attnum, const ParameterUse *use)
{
	Oid			typid;

	if (!OidIsValid(use->narrow))
		return TARGET_NARROW;
	if (!OidIsValid(relid) || attnum == InvalidAttrNumber)
		return TARGET_UNKNOWN;
	typid = get_atttype(relid, attnum);
	if (!OidIsValid(typid))
		return TARGET_UNKNOWN;
	typid = plain_type(typid);
	if (typid == use->narrow)
		return TARGET_NARROW;

	return get_typtype(typid) == TYPTYPE_BASE ? TARGET_WIDE : TARGET_UNKNOWN;
}

/*
 * Return the kinds of the columns that INSERT names, or of all columns if it
 * names none.  The returned list can be shorter than the list of values.  Then
 * the columns of the remaining values are not known.
 */
static List *
inserted_kinds(Oid relid, List *columns, const ParameterUse *use)
{
	List	   *kinds = NIL;
	ListCell   *lc;
	char	   *name;

	foreach(lc, columns)
		kinds = lappend_int(kinds,
							column_kind(relid, get_attnum(relid, lfirst_node(ResTarget, lc)->name),
										use));
	for (AttrNumber attnum = 1;
		 columns == NIL && (name = get_attname(relid, attnum, true)) != NULL; attnum++)
	{
		/* get_attnum() does not find a dropped column */
		if (get_attnum(relid, name) == attnum)
			kinds = lappend_int(kinds, column_kind(relid, attnum, use));
	}

	return kinds;
}

/*
 * Record the parameters that become the value of an expression that is
 * assigned to the column.  It does not matter whether the arguments or the
 * result of such an expression are rounded: the greater of two numbers,
 * rounded, is the greater of the rounded numbers.  A parameter that is the
 * value itself gets the type of the column.  A parameter inside an expression
 * gets the type of the other values in the expression.
 */
static void
note_stored(Node *node, TargetKind kind, bool nested, ParameterUse *use)
{
	List	   *values = NIL;
	ListCell   *lc;

	if (node == NULL)
		return;
	switch (nodeTag(node))
	{
		case T_ParamRef:
			if (kind == TARGET_NARROW || (kind == TARGET_UNKNOWN && !nested))
				use->stored = bms_add_member(use->stored,
											 ((ParamRef *) node)->location);
			return;
		case T_RowExpr:
			/* a row that is assigned to a composite column */
			foreach(lc, ((RowExpr *) node)->args)
				note_stored(lfirst(lc), kind, nested, use);
			return;
		case T_CoalesceExpr:
			values = ((CoalesceExpr *) node)->args;
			break;
		case T_MinMaxExpr:
			values = ((MinMaxExpr *) node)->args;
			break;
		case T_CaseWhen:
			note_stored((Node *) ((CaseWhen *) node)->result, kind, true, use);
			break;
		case T_CaseExpr:
			values = ((CaseExpr *) node)->args;
			note_stored((Node *) ((CaseExpr *) node)->defresult, kind, true, use);
			break;
		default:
			break;
	}
	foreach(lc, values)
		note_stored(lfirst(lc), kind, true, use);
}

/* Record the stored parameters in the assignments of UPDATE. */
static void
note_updated(Oid relid, List *targets, ParameterUse *use)
{
	ListCell   *lc;

	foreach(lc, targets)
	{
		ResTarget  *target = lfirst_node(ResTarget, lc);
		TargetKind	kind = column_kind(relid, get_attnum(relid, target->name), use);
		Node	   *value = target->val;

		/* SET (a, b) = ROW(...): find the value for this column in the row */
		if (value && IsA(value, MultiAssignRef))
		{
			MultiAssignRef *assigned = (MultiAssignRef *) value;
			RowExpr    *row = (RowExpr *) assigned->source;

			value = NULL;
			if (IsA(row, RowExpr) && assigned->colno <= list_length(row->args))
				value = list_nth(row->args, assigned->colno - 1);
		}
		note_stored(value, kind, false, use);
	}
}

/* Record the stored parameters in a row of values. */
static void
note_row(List *values, const List *kinds, bool nested, ParameterUse *use)
{
	ListCell   *lc;
	bool		shifted = !OidIsValid(use->narrow);

	foreach(lc, values)
	{
		Node	   *value = lfirst(lc);
		int			i = foreach_current_index(lc);
		List	   *fields = NIL;

		if (IsA(value, ResTarget))
			value = ((ResTarget *) value)->val;
		if (IsA(value, ColumnRef))
			fields = ((ColumnRef *) value)->fields;
		else if (IsA(value, A_Indirection))
			fields = ((A_Indirection *) value)->indirection;
		/* the column of a value that follows a * is not known */
		if (fields != NIL && IsA(llast(fields), A_Star))
			shifted = true;
		note_stored(value,
					!OidIsValid(use->narrow) ? TARGET_NARROW :
					shifted || i >= list_length(kinds) ? TARGET_UNKNOWN :
					(TargetKind) list_nth_int(kinds, i), nested, use);
	}
}

/* Return true if ORDER BY compares values that the query returns. */
static bool
sorts_output(const SelectStmt *select)
{
	ListCell   *lc;

	foreach(lc, select->sortClause)
	{
		Node	   *node = lfirst_node(SortBy, lc)->node;
		ListCell   *target;

		/* ORDER BY names an output column by its number or by its name */
		if (IsA(node, A_Const))
			return true;
		if (!IsA(node, ColumnRef) || list_length(((ColumnRef *) node)->fields) != 1 ||
			!IsA(linitial(((ColumnRef *) node)->fields), String))
			continue;
		foreach(target, select->targetList)
		{
			const char *name = lfirst_node(ResTarget, target)->name;

			if (name && strcmp(name, strVal(linitial(((ColumnRef *) node)->fields))) == 0)
				return true;
		}
	}

	return false;
}

/* Record the stored parameters in the rows that INSERT stores. */
static void
note_inserted(Node *node, const List *kinds, bool nested, ParameterUse *use)
{
	SelectStmt *select = (SelectStmt *) node;
	ListCell   *lc;

	if (node == NULL || !IsA(node, SelectStmt))
		return;
	if (select->op == SETOP_NONE)
	{
		foreach(lc, select->valuesLists)
			note_row(lfirst(lc), kinds, nested, use);
		if (select->distinctClause == NIL && select->groupClause == NIL &&
			!sorts_output(select))
			note_row(select->targetList, kinds, nested, use);
	}
	else if (select->op == SETOP_UNION && select->all && select->sortClause == NIL)
	{
		note_inserted((Node *) select->larg, kinds, true, use);
		note_inserted((Node *) select->rarg, kinds, true, use);
	}
}

static bool
parameter_walker(Node *node, ParameterUse *use)
{
	Oid			relid;
	ListCell   *lc;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_ParamRef:
			if (!bms_is_member(((ParamRef *) node)->location, use->stored))
				use->compared = bms_add_member(use->compared,
											   ((ParamRef *) node)->number);
			return false;
		case T_TypeCast:
			/* an explicit cast to the type asks for the rounding */
			if (((TypeCast *) node)->arg && IsA(((TypeCast *) node)->arg, ParamRef) &&
				is_cast_to((TypeCast *) node, use->narrow))
				return false;
			break;
		case T_InsertStmt:
			{
				InsertStmt *insert = (InsertStmt *) node;

				relid = target_relation(insert->relation);
				note_inserted(insert->selectStmt,
							  inserted_kinds(relid, insert->cols, use), false, use);
				if (insert->onConflictClause)
					note_updated(relid, insert->onConflictClause->targetList, use);
			}
			break;
		case T_UpdateStmt:
			note_updated(target_relation(((UpdateStmt *) node)->relation),
						 ((UpdateStmt *) node)->targetList, use);
			break;
		case T_MergeStmt:
			relid = target_relation(((MergeStmt *) node)->relation);
			foreach(lc, ((MergeStmt *) node)->mergeWhenClauses)
			{
				MergeWhenClause *when = lfirst_node(MergeWhenClause, lc);

				if (when->commandType == CMD_UPDATE)
					note_updated(relid, when->targetList, use);
				else if (when->commandType == CMD_INSERT)
					note_row(when->values, inserted_kinds(relid, when->targetList, use),
							 false, use);
			}
			break;
		default:
			break;
	}

	return raw_expression_tree_walker(node, parameter_walker, use);
}

/*
 * Return the numbers of the parameters that the statement uses for more than
 * storing them.  node is the statement as the grammar returned it.  Assume
 * that the parameters are of the type narrow.
 */
static Bitmapset *
compared_parameters(Node *node, Oid narrow)
{
	ParameterUse use = {narrow, NULL, NULL};

	while (node)
	{
		if (IsA(node, RawStmt))
			node = ((RawStmt *) node)->stmt;
		else if (IsA(node, ExplainStmt))
			node = ((ExplainStmt *) node)->query;
		else if (IsA(node, CreateTableAsStmt))
			node = ((CreateTableAsStmt *) node)->query;
		else if (IsA(node, DeclareCursorStmt))
			node = ((DeclareCursorStmt *) node)->query;
		else
			break;
	}
	if (node && (IsA(node, SelectStmt) || IsA(node, InsertStmt) ||
				 IsA(node, UpdateStmt) || IsA(node, DeleteStmt) ||
				 IsA(node, MergeStmt)))
		(void) parameter_walker(node, &use);

	return use.compared;
}

/* Return the number of the parameter for which Bind calls an input function, or 0. */
int
compact_bound_parameter(void)
{
	MemoryContext context = CurrentMemoryContext;
	const char *name = context->ident;
	BoundParameter *parameter;
	Portal		portal;

	/* only Bind evaluates something in a portal that has no query yet */
	if (error_context_stack == NULL || error_context_stack->arg == NULL ||
		name == NULL || debug_query_string == NULL ||
		strcmp(context->name, "PortalContext") != 0)
		return 0;
	portal = GetPortalByName(strcmp(name, "<unnamed>") == 0 ? "" : name);
	if (!PortalIsValid(portal) || portal->portalContext != context ||
		portal->status != PORTAL_NEW || portal->sourceText != NULL)
		return 0;
	parameter = (BoundParameter *) error_context_stack->arg;

	return parameter->portal_name == portal->name ? parameter->paramno + 1 : 0;
}

/*
 * Return true if Bind reads a value for a parameter that the statement uses
 * for more than storing it.  narrow is the parameter's type.  If narrow is
 * InvalidOid, the types of target columns are not examined.
 */
bool
compact_parameter_is_compared(Oid narrow)
{
	int			paramno = compact_bound_parameter();
	TimestampTz bind = GetCurrentStatementStartTimestamp();

	if (paramno == 0)
		return false;
	if (last_query == NULL || strcmp(last_query, debug_query_string) != 0)
	{
		MemoryContext oldcontext;

		if (last_context == NULL)
			last_context = AllocSetContextCreate(TopMemoryContext,
												 "compact_types parameters",
												 ALLOCSET_SMALL_SIZES);
		last_query = NULL;
		last_bind = 0;
		last_compared = NULL;
		MemoryContextReset(last_context);
		oldcontext = MemoryContextSwitchTo(last_context);
		last_statements = raw_parser(debug_query_string, RAW_PARSE_DEFAULT);
		last_query = pstrdup(debug_query_string);
		MemoryContextSwitchTo(oldcontext);
	}
	if (last_bind != bind || last_narrow != narrow)
	{
		Bitmapset  *compared = NULL;
		MemoryContext oldcontext;
		ListCell   *lc;

		foreach(lc, last_statements)
			compared = bms_add_members(compared, compared_parameters(lfirst(lc), narrow));
		last_bind = 0;
		bms_free(last_compared);
		oldcontext = MemoryContextSwitchTo(last_context);
		last_compared = bms_copy(compared);
		MemoryContextSwitchTo(oldcontext);
		last_narrow = narrow;
		last_bind = bind;
	}

	return bms_is_member(paramno, last_compared);
}

/* Return the EXECUTE in a statement, or NULL. */
static ExecuteStmt *
find_execute(Node *node)
{
	while (node)
	{
		if (IsA(node, ExecuteStmt))
			return (ExecuteStmt *) node;
		if (IsA(node, RawStmt))
			node = ((RawStmt *) node)->stmt;
		else if (IsA(node, PlannedStmt))
			node = ((PlannedStmt *) node)->utilityStmt;
		else if (IsA(node, Query))
			node = ((Query *) node)->utilityStmt;
		else if (IsA(node, ExplainStmt))
			node = ((ExplainStmt *) node)->query;
		else if (IsA(node, CreateTableAsStmt))
			node = ((CreateTableAsStmt *) node)->query;
		else
			break;
	}

	return NULL;
}

/*
 * Remember the EXECUTE in the utility statement, if there is one, until
 * compact_execute_end().  Save the EXECUTE that was remembered before in
 * outer.
 */
void
compact_execute_begin(Node *statement, ExecuteNote *outer)
{
	outer->execute = current_execute;
	outer->portal = execute_portal;
	outer->error_context = execute_error_context;
	current_execute = find_execute(statement);
	execute_portal = ActivePortal;
	execute_error_context = error_context_stack;
}

void
compact_execute_end(const ExecuteNote *outer)
{
	current_execute = outer->execute;
	execute_portal = outer->portal;
	execute_error_context = outer->error_context;
}

/*
 * Return the EXECUTE whose arguments are being evaluated, or NULL.  Return
 * NULL if the caller runs in a function that the arguments call, where the
 * error context is another one.  Return NULL also if the caller runs in the
 * plan of the prepared statement, where the active portal is another one.
 */
static ExecuteStmt *
running_execute(void)
{
	if (current_execute && execute_portal == ActivePortal)
		return execute_error_context == error_context_stack ? current_execute : NULL;

	/* the library was loaded after EXECUTE began */
	if (ActivePortal == NULL || ActivePortal->stmts == NIL)
		return NULL;

	return find_execute(linitial(ActivePortal->stmts));
}

/*
 * Return the number of the parameter whose argument is at the location, or 0.
 */
static int
argument_number(const ExecuteStmt *execute, int location)
{
	ListCell   *lc;

	if (location < 0)
		return 0;
	foreach(lc, execute->params)
	{
		Node	   *argument = lfirst(lc);

		/*
		 * for a literal with a type before it, the parser keeps the location
		 * of the literal, not of the type
		 */
		while (argument && exprLocation(argument) != location)
			argument = IsA(argument, TypeCast) ? ((TypeCast *) argument)->arg : NULL;
		if (argument)
			return foreach_current_index(lc) + 1;
	}

	return 0;
}

/*
 * Return true if the literal at the location is an argument of EXECUTE for a
 * parameter that the prepared statement uses for more than storing it.  pstate
 * must be the ParseState that analyzes the expressions of a statement without
 * a query.
 */
bool
compact_execute_argument_is_compared(ParseState *pstate, int location)
{
	const char *text = pstate->p_sourcetext;
	List	   *statements = NIL;
	ListCell   *lc;

	if (text == NULL)
		return false;
	if (ActivePortal && ActivePortal->sourceText == text)
		statements = ActivePortal->stmts;
	else if (strcasestr(text, "execute"))
		statements = raw_parser(text, RAW_PARSE_DEFAULT);	/* of a function */
	foreach(lc, statements)
	{
		ExecuteStmt *execute = find_execute(lfirst(lc));
		int			paramno = execute ? argument_number(execute, location) : 0;
		PreparedStatement *prepared;

		if (paramno == 0)
			continue;
		prepared = FetchPreparedStatement(execute->name, false);
		if (prepared == NULL || paramno > prepared->plansource->num_params)
			return false;

		return bms_is_member(paramno,
							 compared_parameters((Node *) prepared->plansource->raw_parse_tree,
												 plain_type(prepared->plansource->param_types[paramno - 1])));
	}

	return false;
}

/*
 * Return true if the function is a cast that rounds an argument of EXECUTE for
 * a parameter that the prepared statement uses for more than storing it.
 */
bool
compact_cast_is_compared(FunctionCallInfo fcinfo)
{
	FuncExpr   *call = (FuncExpr *) fcinfo->flinfo->fn_expr;
	ExecuteStmt *execute = running_execute();
	PreparedStatement *prepared;
	Bitmapset  *compared;
	const Oid  *types;
	int			location;
	int			paramno;

	if (call == NULL || !IsA(call, FuncExpr) || execute == NULL)
		return false;
	prepared = FetchPreparedStatement(execute->name, false);
	if (prepared == NULL)
		return false;
	types = prepared->plansource->param_types;
	compared = compared_parameters((Node *) prepared->plansource->raw_parse_tree,
								   call->funcresulttype);
	location = exprLocation(linitial(call->args));
	paramno = argument_number(execute, location);

	/*
	 * an explicit cast to the narrow type asks for the rounding; a cast to
	 * another type does not
	 */
	if (paramno != 0)
	{
		Node	   *argument = list_nth(execute->params, paramno - 1);

		return bms_is_member(paramno, compared) &&
			!(IsA(argument, TypeCast) &&
			  is_cast_to((TypeCast *) argument, call->funcresulttype));
	}

	/*
	 * The value is part of an expression.  The value may belong to any
	 * parameter of the narrow type whose argument is neither a literal nor an
	 * explicit cast to the narrow type.  The planner keeps the locations of
	 * literals only.  If the planner itself evaluates the cast, it is no
	 * longer known that the cast is implicit.  In a function that EXECUTE
	 * calls for its arguments, an error callback is set.
	 */
	if ((execute != current_execute && error_context_stack != NULL) ||
		(location >= 0 && call->funcformat != COERCE_IMPLICIT_CAST))
		return false;
	for (paramno = -1; (paramno = bms_next_member(compared, paramno)) >= 0;)
	{
		Node	   *argument;

		if (paramno > list_length(execute->params) ||
			paramno > prepared->plansource->num_params ||
			plain_type(types[paramno - 1]) != call->funcresulttype)
			continue;
		argument = list_nth(execute->params, paramno - 1);
		if (!IsA(argument, A_Const) &&
			!(IsA(argument, TypeCast) &&
			  is_cast_to((TypeCast *) argument, call->funcresulttype)))
			return true;
	}

	return false;
}
