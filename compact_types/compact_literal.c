/*-------------------------------------------------------------------------
 *
 * compact_literal.c
 *	  Comparisons of the narrow scalar types with literals, with parameters
 *	  without a type, and with values of the same type.
 *
 * If a narrow type T had an operator T = T, the parser would give a literal
 * that is compared with a T the type T.  The literal would be rounded or
 * refused, and the comparison would give a wrong result.  So the operators of
 * a type with itself have names that no query uses, for example #=# instead of
 * =.  The operator classes contain these operators.  In queries, operators
 * with other types take the place of these operators.  This file calls these
 * other types stand-ins:
 *
 * - integer_literal, numeric_literal, timestamp_literal, timestamptz_literal:
 *	 types of the string category, which the parser prefers for an operand
 *	 without a type.  Their values have the same storage, input and output as
 *	 values of int8, numeric and so on.
 * - integer_operand, numeric_operand, timestamp_operand: preferred types of
 *	 the category of T, with implicit casts from T.  The right side of T = T is
 *	 converted to one of them.  Without them, the parser could not choose
 *	 between T = int8 and int8 = T.
 *
 * No operators named =, < and so on compare a decimal type with numeric.  A
 * numeric or an integer that is compared with a decimal is converted: to
 * numeric_operand on the right side, to numeric_left on the left side.
 * numeric and the integer types have implicit casts to both.  An operator
 * numeric = d, for a decimal d, would not work: coalesce(d, 0) needs an
 * implicit cast from integer to the type of d.  If both this cast and the
 * operator numeric = d existed, the comparison numeric = int4 would be
 * ambiguous.  numeric_left = d never takes precedence over core's numeric =
 * numeric.
 *
 * The planner removes the stand-ins: it calls the support function in this
 * file for each function of an operator with a stand-in.  The support function
 * replaces the operator by the operator of the narrow type with itself, or by
 * the operator with the wide type (int8, numeric, timestamp or timestamptz).
 * Indexes, joins, partitions and statistics work with these two operators.
 * The planner does not call the support function for ANY, row comparisons and
 * IS DISTINCT FROM.  For these expressions, the operators with stand-ins are
 * members of the operator families.  The arithmetic operators of the narrow
 * integers use stand-ins in the same way.  For example, if stock is a narrow
 * integer, stock - '300' is an int4.
 *
 * seconds4tz has no operand type.  timestamptz itself is the preferred type of
 * its category, so the parser takes the operator seconds4tz = timestamptz for
 * a comparison of seconds4tz with itself.  The parser could not choose between
 * this operator and an operator timestamptz = seconds4tz, so the latter
 * operator is named #=#.  If a query compares timestamptz = seconds4tz, it
 * uses core's operator timestamptz = timestamptz, after a cast.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_literal.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "parser/parse_coerce.h"
#include "parser/parse_node.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compact_scalar.h"

/* operators by the suffix of their functions' names */
static const struct
{
	const char *suffix;
	const char *name;
	bool		comparison;
}			operators[] = {
	{"_lt", "<", true},
	{"_le", "<=", true},
	{"_eq", "=", true},
	{"_ge", ">=", true},
	{"_gt", ">", true},
	{"_ne", "<>", true},
	{"_pl", "+", false},
	{"_mi", "-", false},
	{"_mul", "*", false},
	{"_div", "/", false},
	{"_mod", "%", false}
};

/* last part of the stand-ins' names */
const char *const compact_stand_in_roles[] = {"literal", "operand", "left"};

const WideTwin compact_wide_twins[N_WIDE_TWINS] = {
	{"int8", INT8OID, "integer", 'N', false, "int8", false, "IMMUTABLE",
	"compact_int8_int8", true, "hashint8", "hashint8extended"},
	{"numeric", NUMERICOID, "numeric", 'N', true, "numeric_", true, "IMMUTABLE",
	"numeric", false, "hash_numeric", "hash_numeric_extended"},
	{"timestamp", TIMESTAMPOID, "timestamp", 'D', false, "timestamp_", true, "STABLE",
	"timestamp", false, "timestamp_hash", "timestamp_hash_extended"},
	{"timestamptz", TIMESTAMPTZOID, "timestamptz", 0, false, "timestamptz_", true, "STABLE",
	"timestamp", false, "timestamp_hash", "timestamp_hash_extended"}
};

/* Return true if a type of that name stands in for the wide type. */
static bool
stands_in(const char *name, const WideTwin *twin)
{
	size_t		len = strlen(twin->kind);

	if (strncmp(name, twin->kind, len) != 0 || name[len] != '_')
		return false;
	for (int role = 0; role < compact_n_stand_ins(twin); role++)
	{
		if (strcmp(name + len + 1, compact_stand_in_roles[role]) == 0)
			return true;
	}

	return false;
}

/* Return the name of the function's operator, or NULL. */
static const char *
operator_name(const char *function, bool *comparison)
{
	const char *suffix = strrchr(function, '_');

	for (int i = 0; suffix && i < (int) lengthof(operators); i++)
	{
		if (strcmp(suffix, operators[i].suffix) == 0)
		{
			*comparison = operators[i].comparison;
			return operators[i].name;
		}
	}

	return NULL;
}

/*
 * If the type is a stand-in, return the wide type for which it stands in.
 * Otherwise return the type itself.  namespace is the schema of compact_types.
 */
static Oid
wide_type(Oid typid, Oid namespace)
{
	HeapTuple	tuple;
	Form_pg_type type;

	if (typid < FirstNormalObjectId)
		return typid;
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(typid));
	if (HeapTupleIsValid(tuple))
	{
		type = (Form_pg_type) GETSTRUCT(tuple);
		for (int i = 0; i < N_WIDE_TWINS; i++)
		{
			if (type->typnamespace == namespace &&
				stands_in(NameStr(type->typname), &compact_wide_twins[i]))
			{
				typid = compact_wide_twins[i].typid;
				break;
			}
		}
		ReleaseSysCache(tuple);
	}

	return typid;
}

/*
 * Find the operator in pg_catalog.  If the type was created outside of an
 * extension, the operator is in the schema of compact_types.
 */
static Oid
find_operator(const char *name, Oid left, Oid right, Oid namespace)
{
	Oid			namespaces[] = {PG_CATALOG_NAMESPACE, namespace};
	Oid			opno = InvalidOid;

	/*
	 * look up the operator by the OID of the schema, because the user may
	 * lack privileges on the schema
	 */
	for (int i = 0; i < (int) lengthof(namespaces) && !OidIsValid(opno); i++)
		opno = GetSysCacheOid4(OPERNAMENSP, Anum_pg_operator_oid,
							   CStringGetDatum(name), ObjectIdGetDatum(left),
							   ObjectIdGetDatum(right),
							   ObjectIdGetDatum(namespaces[i]));

	return opno;
}

/*
 * If the node is an implicit cast to the type, return its argument, else NULL.
 */
static Node *
uncast(Node *node, Oid typid)
{
	FuncExpr   *call = (FuncExpr *) node;
	Node	   *arg;
	Oid			funcid;

	if (!IsA(node, FuncExpr) || list_length(call->args) != 1)
		return NULL;
	arg = linitial(call->args);
	if (find_coercion_pathway(typid, exprType(arg), COERCION_IMPLICIT,
							  &funcid) != COERCION_PATH_FUNC ||
		funcid != call->funcid)
		return NULL;

	return arg;
}

/*
 * Return an expression of the wide type with the same value.  typid is the
 * type of node: the wide type, or a stand-in that is stored like the wide
 * type.
 */
static Node *
make_wide(Node *node, Oid typid, Oid wide)
{
	Node	   *arg;
	Oid			funcid;

	if (typid == wide)
		return node;
	if (IsA(node, Const))
	{
		Const	   *constant = copyObject((Const *) node);

		constant->consttype = wide;
		return (Node *) constant;
	}
	if (IsA(node, RelabelType) && exprType((Node *) ((RelabelType *) node)->arg) == wide)
		return (Node *) ((RelabelType *) node)->arg;
	arg = uncast(node, typid);
	if (arg && find_coercion_pathway(wide, exprType(arg), COERCION_IMPLICIT,
									 &funcid) == COERCION_PATH_FUNC)
		return (Node *) makeFuncExpr(funcid, wide, list_make1(arg), InvalidOid,
									 InvalidOid, COERCE_IMPLICIT_CAST);

	return (Node *) makeRelabelType((Expr *) node, wide, -1, InvalidOid,
									COERCE_IMPLICIT_CAST);
}

/*
 * Replace the call of an operator's function by an operator that indexes and
 * joins know: the operator with the wide type, or the operator of the narrow
 * type with itself.  Return NULL if there is no such operator.
 */
static Node *
simplify_operator(FuncExpr *call)
{
	HeapTuple	tuple;
	Form_pg_proc proc;
	const char *name;
	Oid			namespace;
	Oid			left;
	Oid			right;
	Oid			opno = InvalidOid;
	Node	   *larg;
	Node	   *rarg;
	Node	   *narrow;
	Expr	   *result;
	bool		comparison;

	if (list_length(call->args) != 2)
		return NULL;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(call->funcid));
	if (!HeapTupleIsValid(tuple))
		return NULL;
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	name = operator_name(NameStr(proc->proname), &comparison);
	namespace = proc->pronamespace;
	left = proc->proargtypes.values[0];
	right = proc->proargtypes.values[1];
	ReleaseSysCache(tuple);
	if (name == NULL)
		return NULL;

	larg = linitial(call->args);
	rarg = lsecond(call->args);
	narrow = uncast(rarg, right);
	if (narrow && exprType(narrow) == left)
	{
		opno = find_operator(psprintf("#%s#", name), left, left, namespace);
		rarg = narrow;
	}
	else if (comparison)
	{
		Oid			wide_left = wide_type(left, namespace);
		Oid			wide_right = wide_type(right, namespace);

		/* nothing to replace, because no operand has a stand-in type */
		if (wide_left == left && wide_right == right)
			return NULL;
		opno = find_operator(name, wide_left, wide_right, namespace);
		/* timestamptz has no operator = with seconds4tz, only #=# */
		if (!OidIsValid(opno))
			opno = find_operator(psprintf("#%s#", name), wide_left, wide_right,
								 namespace);
		larg = make_wide(larg, left, wide_left);
		rarg = make_wide(rarg, right, wide_right);
	}
	if (!OidIsValid(opno))
		return NULL;

	result = make_opclause(opno, get_op_rettype(opno), false, (Expr *) larg, (Expr *) rarg,
						   InvalidOid, call->inputcollid);
	((OpExpr *) result)->opfuncid = get_opcode(opno);
	((OpExpr *) result)->location = call->location;

	return (Node *) result;
}

/*
 * compact_types.comparison_support(internal) returns internal: planner support
 * of operators with stand-in types
 */
PG_FUNCTION_INFO_V1(compact_types_comparison_support);
Datum
compact_types_comparison_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	Node	   *result = NULL;

	if (IsA(request, SupportRequestSimplify))
		result = simplify_operator(((SupportRequestSimplify *) request)->fcall);

	PG_RETURN_POINTER(result);
}

/*
 * Return true if the parser is giving the literals in a set operation or in
 * VALUES their common type.  Such a literal is not part of an operator or
 * another expression.  The parser uses the same expression kind when it
 * assigns defaults and arguments of EXECUTE; return false in these cases.
 */
static bool
has_common_type(const ParseState *pstate)
{
	ListCell   *lc;

	/* VALUES in FROM is inside a query; defaults and arguments are not */
	if (pstate->parentParseState != NULL || pstate->p_hasSubLinks)
		return true;
	foreach(lc, pstate->p_rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		/*
		 * This entry is a branch of UNION, which transformSetOperationTree()
		 * has added to the range table.  The query of INSERT ... SELECT is
		 * added too, but its values are assigned.
		 */
		if (rte->rtekind == RTE_SUBQUERY && !rte->inFromCl && pstate->p_target_relation == NULL)
			return true;
	}

	return false;
}

/*
 * Return the use of the value for which an input function is called: a literal
 * that the query does not assign to a column, an argument of EXECUTE that the
 * statement compares, or any other value, which is stored.
 *
 * Rounding such a literal or such an argument may give a wrong result: the
 * parser gives literals in IN lists and CASE the narrow type, and uses no
 * operator with a stand-in.  The parser calls input functions only in
 * coerce_type(), which sets an error callback whose argument leads to the
 * ParseState.  Nothing else calls an input function while this callback is the
 * innermost one.  A value that is stored is rounded, as numeric(p,s) and
 * timestamp(0) round it.
 */
static ValueUse
literal_use(void)
{
	static void (*parser_callback) (void *arg) = NULL;
	ParseCallbackState *callback;
	ParseState *pstate;

	if (parser_callback == NULL)
	{
		ParseCallbackState state;

		/* get the address of the parser's callback, which is not exported */
		setup_parser_errposition_callback(&state, NULL, -1);
		parser_callback = error_context_stack->callback;
		cancel_parser_errposition_callback(&state);
	}
	if (error_context_stack == NULL ||
		error_context_stack->callback != parser_callback)
		return VALUE_STORED;
	callback = (ParseCallbackState *) error_context_stack->arg;
	pstate = callback->pstate;
	if (pstate == NULL)
		return VALUE_STORED;

	switch (pstate->p_expr_kind)
	{
		case EXPR_KIND_NONE:
			if (has_common_type(pstate))
				return VALUE_LITERAL;
			if (compact_execute_argument_is_compared(pstate, callback->location))
				return VALUE_ARGUMENT;
			return VALUE_STORED;
		case EXPR_KIND_INSERT_TARGET:
		case EXPR_KIND_UPDATE_TARGET:
		case EXPR_KIND_COLUMN_DEFAULT:
		case EXPR_KIND_FUNCTION_DEFAULT:
		case EXPR_KIND_EXECUTE_PARAMETER:
		case EXPR_KIND_CALL_ARGUMENT:
		case EXPR_KIND_ALTER_COL_TRANSFORM:
			return VALUE_STORED;
		default:
			return VALUE_LITERAL;
	}
}

/*
 * Return the use of the value for which an input function is called.  Call
 * this function only for a value that the narrow type does not hold exactly,
 * because the answer can take long.  fcinfo is the call of the input function,
 * or NULL if the call is not known.
 */
ValueUse
compact_value_use(FunctionCallInfo fcinfo)
{
	ValueUse	use = literal_use();

	if (use == VALUE_STORED && compact_bound_parameter() != 0 &&
		compact_parameter_is_compared(fcinfo && fcinfo->flinfo ?
									  get_func_rettype(fcinfo->flinfo->fn_oid) : InvalidOid))
		use = VALUE_PARAMETER;

	return use;
}

/*
 * Raise an error for a value that a narrow type does not hold exactly.  Do
 * nothing if the value is only stored.
 */
void
compact_check_inexact(ValueUse use, int sqlerrcode, const char *str,
					  const char *type, const char *wide)
{
	if (use == VALUE_STORED)
		return;
	ereport(ERROR,
			(errcode(sqlerrcode),
			 use == VALUE_LITERAL ?
			 errmsg("literal \"%s\" would be rounded to type %s", str, type) :
			 use == VALUE_ARGUMENT ?
			 errmsg("argument \"%s\" of EXECUTE would be rounded to type %s", str, type) :
			 errmsg("value \"%s\" of parameter $%d would be rounded to type %s",
					str, compact_bound_parameter(), type),
			 errdetail("Only a value that is stored in a column is rounded."),
			 use == VALUE_LITERAL ?
			 errhint("Cast the literal to type %s to compare with its exact value.", wide) :
			 errhint("Cast the parameter to type %s in the statement to compare with the exact value.",
					 wide)));
}

/*
 * Add the hint to an error about the range of a narrow type.  Call this
 * function as an argument of ereport().  wide is a type that holds the value.
 */
int
compact_range_hint(const char *wide)
{
	switch (compact_value_use(NULL))
	{
		case VALUE_LITERAL:
			return errhint("Cast the literal to type %s to compare with that value.", wide);
		case VALUE_ARGUMENT:
		case VALUE_PARAMETER:
			return errhint("Cast the parameter to type %s in the statement to compare with that value.",
						   wide);
		case VALUE_STORED:
			break;
	}

	return errhint("Use ALTER TABLE ... ALTER COLUMN ... TYPE %s if the column has to hold such values.",
				   wide);
}
