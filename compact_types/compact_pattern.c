/*-------------------------------------------------------------------------
 *
 * compact_pattern.c
 *	  LIKE, regular expressions and ^@ for the string types.
 *
 * The operators compare as text's operators do: they convert the value and
 * call core's function.  Core also derives index conditions and a selectivity
 * estimate from a pattern.  Core's support functions know only text.  So this
 * file calls them with a text in place of the value, and with text's btree
 * family in place of the index's family.  Then this file translates each
 * condition that they return into the same condition on our type: the
 * operator of our type has the same btree strategy as core's operator.
 *
 * An index for patterns has the collation C.  Such an index serves "=" as
 * well, because only identical strings are equal in every collation that our
 * types accept.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_pattern.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/namespace.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"
#include "utils/varlena.h"

#include "compact_text.h"
#include "compact_types.h"
#include "compact_types_compat.h"

/*
 * A kind of pattern: core's function of text, and the support function of that
 * function.
 */
typedef struct PatternKind
{
	const char *operator_name;
	Oid			text_funcid;
	PGFunction	text_support;
} PatternKind;

static const PatternKind pattern_like = {"~~", F_TEXTLIKE, textlike_support};
static const PatternKind pattern_iclike = {"~~*", F_TEXTICLIKE, texticlike_support};
static const PatternKind pattern_regexeq = {"~", F_TEXTREGEXEQ, textregexeq_support};
static const PatternKind pattern_icregexeq = {"~*", F_TEXTICREGEXEQ, texticregexeq_support};
static const PatternKind pattern_starts_with = {"^@", F_STARTS_WITH, text_starts_with_support};

/*
 * The operators' functions.  Each takes a value of the type and a text, uses
 * the call's collation and returns bool.  Errors are those of core's function
 * of text: an invalid pattern (22025, 2201B), or a nondeterministic collation
 * where core does not accept one.
 */
#define PATTERN_FUNCTION(name, text_function, value_text) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		text	   *value = (value_text); \
		Datum		result; \
\
		result = DirectFunctionCall2Coll(text_function, PG_GET_COLLATION(), \
										 PointerGetDatum(value), \
										 PG_GETARG_DATUM(1)); \
		pfree(value); \
		return result; \
	}

/*
 * Define these functions for one type, except for LIKE.  value_text makes a
 * text from argument 0.
 */
#define PATTERN_FUNCTIONS(prefix, value_text) \
	PATTERN_FUNCTION(prefix##_iclike, texticlike, value_text) \
	PATTERN_FUNCTION(prefix##_icnlike, texticnlike, value_text) \
	PATTERN_FUNCTION(prefix##_regexeq, textregexeq, value_text) \
	PATTERN_FUNCTION(prefix##_regexne, textregexne, value_text) \
	PATTERN_FUNCTION(prefix##_icregexeq, texticregexeq, value_text) \
	PATTERN_FUNCTION(prefix##_icregexne, texticregexne, value_text) \
	PATTERN_FUNCTION(prefix##_starts_with, text_starts_with, value_text)

PATTERN_FUNCTION(compact_char_like, textlike, compact_char_arg_text(fcinfo, 0))
PATTERN_FUNCTION(compact_char_nlike, textnlike, compact_char_arg_text(fcinfo, 0))
PATTERN_FUNCTIONS(compact_char, compact_char_arg_text(fcinfo, 0))
PATTERN_FUNCTIONS(compact_text, compact_text_to_text(PG_GETARG_VARLENA_PP(0)))

/* Longest pattern, in bytes, that a call remembers for the next one. */
#define MAX_REMEMBERED_PATTERN	64

/* A pattern of LIKE, and what it means. */
typedef struct LikePattern
{
	Oid			collation;
	int			len;			/* of the pattern, -1 if there is none */
	bool		is_search;		/* is it %string%, and nothing else? */
	char		pattern[MAX_REMEMBERED_PATTERN];
} LikePattern;

/*
 * Return true if LIKE only has to look for the bytes between two percent
 * signs.  A byte sequence can match within a character if the encoding is
 * neither UTF-8 nor of one byte a character.  A nondeterministic collation
 * finds other strings too, or is an error.
 */
static bool
is_search(const char *pattern, int len, Oid collation)
{
	if (len < 3 || pattern[0] != '%' || pattern[len - 1] != '%')
		return false;
	for (int i = 1; i < len - 1; i++)
	{
		if (pattern[i] == '%' || pattern[i] == '_' || pattern[i] == '\\')
			return false;
	}

	return (GetDatabaseEncoding() == PG_UTF8 || pg_database_encoding_max_length() == 1) &&
		OidIsValid(collation) && get_collation_isdeterministic(collation);
}

/*
 * Return the pattern of LIKE if it is the search for a string, otherwise NULL.
 * Remember the last pattern: it is the same for each row of most queries.
 */
static inline const LikePattern *
search_pattern(FunctionCallInfo fcinfo, const text *pattern)
{
	int			len = VARSIZE_ANY_EXHDR(pattern);
	LikePattern *last;

	if (fcinfo->flinfo == NULL || len > MAX_REMEMBERED_PATTERN)
		return NULL;
	last = (LikePattern *) fcinfo->flinfo->fn_extra;
	if (last == NULL)
	{
		last = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(LikePattern));
		last->len = -1;
		fcinfo->flinfo->fn_extra = last;
	}
	if (last->len != len || last->collation != PG_GET_COLLATION() ||
		memcmp(last->pattern, VARDATA_ANY(pattern), len) != 0)
	{
		last->is_search = is_search(VARDATA_ANY(pattern), len, PG_GET_COLLATION());
		memcpy(last->pattern, VARDATA_ANY(pattern), len);
		last->collation = PG_GET_COLLATION();
		last->len = len;
	}

	return last->is_search ? last : NULL;
}

/*
 * Return true if the string contains the searched bytes, of which there is at
 * least one.
 */
static inline bool
contains(const char *str, int len, const char *searched, int searched_len)
{
	while (len >= searched_len)
	{
		const char *found = memchr(str, searched[0], len - searched_len + 1);

		if (found == NULL)
			return false;
		if (memcmp(found, searched, searched_len) == 0)
			return true;
		len -= found + 1 - str;
		str = found + 1;
	}

	return false;
}

/* Return true if argument 0, a compact_text, matches the pattern in argument 1. */
static bool
ct_like(FunctionCallInfo fcinfo)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);
	text	   *pattern = PG_GETARG_TEXT_PP(1);
	const LikePattern *search = search_pattern(fcinfo, pattern);
	bool		result;

	if (search != NULL)
	{
		CompactTextString string;

		compact_text_decode(value, &string);
		result = contains(string.data, string.len, search->pattern + 1, search->len - 2);
	}
	else
	{
		text	   *str = compact_text_to_text(value);

		result = DatumGetBool(DirectFunctionCall2Coll(textlike, PG_GET_COLLATION(),
													  PointerGetDatum(str),
													  PointerGetDatum(pattern)));
		pfree(str);
	}
	PG_FREE_IF_COPY(value, 0);
	PG_FREE_IF_COPY(pattern, 1);

	return result;
}

PG_FUNCTION_INFO_V1(compact_text_like);
Datum
compact_text_like(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(ct_like(fcinfo));
}

PG_FUNCTION_INFO_V1(compact_text_nlike);
Datum
compact_text_nlike(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!ct_like(fcinfo));
}

/*
 * Return the conditions on an index that core derives from the pattern for a
 * text column.  The conditions are a list of OpExpr with text's operators;
 * their left operands are dummies.  *lossy is set as core sets it, unless
 * lossy is NULL.
 */
static List *
text_conditions(const PatternKind *kind, Node *pattern, Oid collation,
				Oid indexcollation, bool *lossy)
{
	SupportRequestIndexCondition req;
	Const	   *value = makeNullConst(TEXTOID, -1, DEFAULT_COLLATION_OID);
	List	   *result;

	memset(&req, 0, sizeof(req));
	req.type = T_SupportRequestIndexCondition;
	req.funcid = kind->text_funcid;
	req.node = (Node *) makeFuncExpr(kind->text_funcid, BOOLOID,
									 list_make2(value, pattern), InvalidOid,
									 collation, COERCE_EXPLICIT_CALL);
	req.opfamily = TEXT_BTREE_FAM_OID;
	req.indexcollation = indexcollation;
	req.lossy = true;
	result = (List *) DatumGetPointer(DirectFunctionCall1(kind->text_support,
														  PointerGetDatum(&req)));
	if (lossy != NULL)
		*lossy = req.lossy;

	return result;
}

/* Return the btree strategy of a condition that core made. */
static int
condition_strategy(OpExpr *condition)
{
	return get_op_opfamily_strategy(condition->opno, TEXT_BTREE_FAM_OID);
}

/* Return the constant of the condition with that strategy, or NULL. */
static Const *
condition_constant(List *conditions, int strategy)
{
	ListCell   *lc;

	foreach(lc, conditions)
	{
		OpExpr	   *condition = lfirst_node(OpExpr, lc);

		if (condition_strategy(condition) == strategy)
			return lsecond_node(Const, condition->args);
	}

	return NULL;
}

/*
 * Return the type's operator with text that has the btree strategy, or
 * InvalidOid.
 */
static Oid
operator_of_type(Oid typid, int strategy)
{
	TypeCacheEntry *typcache = lookup_type_cache(typid, TYPECACHE_BTREE_OPFAMILY);

	if (strategy == 0 || !OidIsValid(typcache->btree_opf))
		return InvalidOid;

	return get_opfamily_member(typcache->btree_opf, typid, TEXTOID, strategy);
}

/* Return true if the operator is ^@ of one of our types. */
static bool
is_prefix_operator(Oid opno)
{
	FmgrInfo	function;

	if (!OidIsValid(opno))
		return false;
	fmgr_info(get_opcode(opno), &function);

	return function.fn_addr == compact_text_starts_with ||
		function.fn_addr == compact_char_starts_with;
}

/*
 * Answer SupportRequestIndexCondition: return the list of index conditions, or
 * NULL if the pattern has no fixed prefix or the index cannot serve it.
 */
static Node *
pattern_index_condition(SupportRequestIndexCondition *req, const PatternKind *kind)
{
	List	   *args;
	Oid			collation;
	Node	   *value;
	Oid			prefix_operator;
	List	   *conditions;
	List	   *result = NIL;
	ListCell   *lc;

	/* there are no operators with the pattern on the left */
	if (req->indexarg != 0)
		return NULL;

	if (is_opclause(req->node))
	{
		args = ((OpExpr *) req->node)->args;
		collation = ((OpExpr *) req->node)->inputcollid;
	}
	else if (is_funcclause(req->node))
	{
		args = ((FuncExpr *) req->node)->args;
		collation = ((FuncExpr *) req->node)->inputcollid;
	}
	else
		return NULL;

	/* our comparisons refuse some collations that core accepts */
	if (OidIsValid(req->indexcollation) &&
		!get_collation_isdeterministic(req->indexcollation))
		return NULL;

	value = (Node *) linitial(args);
	conditions = text_conditions(kind, (Node *) lsecond(args), collation,
								 req->indexcollation, &req->lossy);

	/*
	 * An SP-GiST index serves "begins with", in any collation.  Core derives
	 * the prefix from the pattern if the collation of the index is C.
	 */
	prefix_operator = get_opfamily_member(req->opfamily, exprType(value), TEXTOID,
										  RTPrefixStrategyNumber);
	if (is_prefix_operator(prefix_operator) &&
		condition_constant(conditions, BTEqualStrategyNumber) == NULL)
	{
		Const	   *prefix;

		conditions = text_conditions(kind, (Node *) lsecond(args), collation,
									 C_COLLATION_OID, &req->lossy);
		prefix = condition_constant(conditions, BTGreaterEqualStrategyNumber);
		if (prefix == NULL)
			return NULL;
		return (Node *) list_make1(make_opclause(prefix_operator, BOOLOID, false,
												 (Expr *) value, (Expr *) prefix,
												 InvalidOid, req->indexcollation));
	}

	foreach(lc, conditions)
	{
		OpExpr	   *condition = lfirst_node(OpExpr, lc);
		Oid			opno = operator_of_type(exprType(value), condition_strategy(condition));

		/*
		 * Stop at a condition whose operator is not in the index's operator
		 * family, as core does.  The first condition alone is valid too, but
		 * selects more rows.  The second condition, if there is one, is an
		 * upper bound.
		 */
		if (!OidIsValid(opno) || !op_in_opfamily(opno, req->opfamily))
			break;
		result = lappend(result,
						 make_opclause(opno, BOOLOID, false, (Expr *) value,
									   (Expr *) lsecond(condition->args),
									   InvalidOid, condition->inputcollid));
	}

	return (Node *) result;
}

/*
 * Find an upper bound of the strings that begin with prefix, in a collation
 * that may not be C.  Return NULL if none is found.  upper is an upper bound
 * under C.  In another collation, upper can sort below the prefix: ':' follows
 * '9' under C, but precedes '9' in most languages.  Then try the upper bound
 * of a shorter prefix, which is less strict, but is valid more often.
 */
static Const *
upper_bound(Const *prefix, Const *upper, Oid collation)
{
	char	   *str = TextDatumGetCString(prefix->constvalue);
	int			len = strlen(str);
	StringInfoData last;

	initStringInfo(&last);
	appendStringInfo(&last, "%sz", str);
	while (upper != NULL)
	{
		text	   *bound = DatumGetTextPP(upper->constvalue);
		List	   *conditions;
		Const	   *shorter;

		if (varstr_cmp(last.data, last.len, VARDATA_ANY(bound),
					   VARSIZE_ANY_EXHDR(bound), collation) < 0)
			break;

		CHECK_FOR_INTERRUPTS();
		len = len > 0 ? pg_mbcliplen(str, len, len - 1) : 0;
		if (len == 0)
			return NULL;
		shorter = makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
							PointerGetDatum(cstring_to_text_with_len(str, len)),
							false, false);
		conditions = text_conditions(&pattern_starts_with, (Node *) shorter,
									 C_COLLATION_OID, C_COLLATION_OID, NULL);
		upper = condition_constant(conditions, BTLessStrategyNumber);
	}

	return upper;
}

/* Return half of the fraction of the population in one bin of the histogram. */
static double
half_histogram_bin(VariableStatData *vardata)
{
	AttStatsSlot sslot;
	double		result = 0.0;

	if (HeapTupleIsValid(vardata->statsTuple) &&
		get_attstatsslot(&sslot, vardata->statsTuple, STATISTIC_KIND_HISTOGRAM,
						 InvalidOid, ATTSTATSSLOT_VALUES))
	{
		if (sslot.nvalues > 1)
			result = 0.5 / (sslot.nvalues - 1);
		free_attstatsslot(&sslot);
	}

	return result;
}

/*
 * Estimate the fraction of the histogram's population in the range of the
 * conditions.  Return a negative number if there is no histogram.
 */
static double
range_selectivity(PlannerInfo *root, VariableStatData *vardata, Oid collation,
				  Const *lower, Const *upper)
{
	Oid			typid = vardata->vartype;
	Oid			geop = operator_of_type(typid, BTGreaterEqualStrategyNumber);
	Oid			ltop = operator_of_type(typid, BTLessStrategyNumber);
	Oid			eqop = operator_of_type(typid, BTEqualStrategyNumber);
	FmgrInfo	opproc;
	double		above;
	double		selec;
	double		half_bin;

	if (!OidIsValid(geop) || !OidIsValid(ltop) || !OidIsValid(eqop))
		return -1.0;

	fmgr_info(get_opcode(geop), &opproc);
	above = ineq_histogram_selectivity(root, vardata, geop, &opproc, true, true,
									   collation, lower->constvalue,
									   lower->consttype);
	if (above < 0.0)
		return above;

	selec = above;
	upper = upper_bound(lower, upper, collation);
	if (upper != NULL)
	{
		fmgr_info(get_opcode(ltop), &opproc);
		selec += ineq_histogram_selectivity(root, vardata, ltop, &opproc, false,
											false, collation, upper->constvalue,
											upper->consttype) - 1.0;
	}

	/*
	 * Core interpolates within a histogram bin only for its own types.  For
	 * other types core assumes that a bound is in the middle of its bin, so
	 * it estimates a range within a single bin as empty.  Such a range
	 * contains less than one bin: assume half a bin.
	 */
	half_bin = half_histogram_bin(vardata);
	if (above > half_bin / 2 && above < 1.0 - half_bin / 2)
		selec = Max(selec, half_bin);

	/* at least the values equal to the prefix match */
	return Max(selec, var_eq_const(vardata, eqop, collation, lower->constvalue,
								   false, true, false));
}

/*
 * Among the strings that have the pattern's fixed prefix, if there is one,
 * estimate the fraction that matches the rest of the pattern.  For a text
 * expression without statistics, core's estimate is the product of that
 * fraction and a constant for the prefix.  So ask core about such an
 * expression: a function call on the variable for which no index or statistics
 * object can exist.  The function is never called.
 */
static double
rest_selectivity(PlannerInfo *root, const PatternKind *kind, Node *variable,
				 Const *pattern, int varRelid, Oid collation, bool has_prefix)
{
	SupportRequestSelectivity req;
	FuncExpr   *unknown;
	double		selec;

	unknown = makeFuncExpr(F_BTTEXTSORTSUPPORT, TEXTOID, list_make1(variable),
						   DEFAULT_COLLATION_OID, InvalidOid,
						   COERCE_EXPLICIT_CALL);
	memset(&req, 0, sizeof(req));
	req.type = T_SupportRequestSelectivity;
	req.root = root;
	req.funcid = kind->text_funcid;
	req.args = list_make2(unknown, pattern);
	req.inputcollid = collation;
	req.varRelid = varRelid;
	req.jointype = JOIN_INNER;
	(void) DirectFunctionCall1(kind->text_support, PointerGetDatum(&req));

	selec = req.selectivity;
	if (has_prefix)
		selec /= DEFAULT_MATCH_SEL;
	CLAMP_PROBABILITY(selec);

	return selec;
}

/*
 * Estimate the selectivity of a pattern match, as core does for text.  If
 * negate is true, estimate the negation, such as NOT LIKE.  opno is always the
 * operator of the match, such as LIKE.
 *
 * Core's general estimator counts the matches in the most common values and in
 * the histogram.  If the histogram is small, that estimator also uses a
 * default estimate, with a greater weight for a smaller histogram.  This
 * function computes the default estimate.
 */
static double
pattern_selectivity(PlannerInfo *root, const PatternKind *kind, Oid opno,
					List *args, int varRelid, Oid collation, bool negate)
{
	VariableStatData vardata;
	Node	   *other;
	bool		varonleft;
	double		nullfrac = 0.0;
	double		selec = DEFAULT_MATCH_SEL;
	List	   *conditions;
	Const	   *equal;
	Const	   *lower;

	if (!get_restriction_variable(root, args, varRelid,
								  &vardata, &other, &varonleft))
		return negate ? 1.0 - selec : selec;

	/* the operators are strict: a NULL pattern matches no row */
	if (IsA(other, Const) && ((Const *) other)->constisnull)
	{
		ReleaseVariableStats(vardata);
		return 0.0;
	}

	/* operators declared by a user can have any types */
	if (!varonleft || !IsA(other, Const) ||
		((Const *) other)->consttype != TEXTOID)
	{
		ReleaseVariableStats(vardata);
		return negate ? 1.0 - selec : selec;
	}

	if (HeapTupleIsValid(vardata.statsTuple))
		nullfrac = ((Form_pg_statistic) GETSTRUCT(vardata.statsTuple))->stanullfrac;

	/* under C, the conditions include an upper bound */
	conditions = text_conditions(kind, other, collation, C_COLLATION_OID, NULL);
	equal = condition_constant(conditions, BTEqualStrategyNumber);
	lower = condition_constant(conditions, BTGreaterEqualStrategyNumber);

	if (equal != NULL)
	{
		Oid			eqop = operator_of_type(vardata.vartype, BTEqualStrategyNumber);

		if (OidIsValid(eqop))
			selec = var_eq_const(&vardata, eqop, collation, equal->constvalue,
								 false, true, false);
	}
	else
	{
		double		prefix = 1.0;

		if (lower != NULL)
		{
			prefix = range_selectivity(root, &vardata, collation, lower,
									   condition_constant(conditions, BTLessStrategyNumber));
			if (prefix < 0.0)
				prefix = DEFAULT_MATCH_SEL;
		}
		selec = prefix * rest_selectivity(root, kind, (Node *) linitial(args),
										  (Const *) other, varRelid, collation,
										  lower != NULL);
		selec = generic_restriction_selectivity(root, opno, collation, args,
												varRelid, selec);
	}
	ReleaseVariableStats(vardata);

	if (negate)
		selec = 1.0 - selec - nullfrac;
	CLAMP_PROBABILITY(selec);

	return selec;
}

/*
 * Answer SupportRequestSelectivity for a query that calls the operator's
 * function by its name.
 */
static Node *
pattern_function_selectivity(SupportRequestSelectivity *req, const PatternKind *kind)
{
	Oid			opno = InvalidOid;
	Oid		   *argtypes;
	int			nargs;

	(void) get_func_signature(req->funcid, &argtypes, &nargs);
	if (nargs == 2)
		opno = OpernameGetOprid(list_make1(makeString(pstrdup(kind->operator_name))),
								argtypes[0], argtypes[1]);
	if (!OidIsValid(opno) || get_opcode(opno) != req->funcid)
		return NULL;

	if (req->is_join)
		req->selectivity = DEFAULT_MATCH_SEL;
	else
		req->selectivity = pattern_selectivity(req->root, kind, opno, req->args,
											   req->varRelid, req->inputcollid,
											   false);

	return (Node *) req;
}

/*
 * Planner support functions.  Each takes a request node and returns the
 * answer, or NULL.
 */
static Node *
pattern_support(Node *req, const PatternKind *kind)
{
	if (IsA(req, SupportRequestIndexCondition))
		return pattern_index_condition((SupportRequestIndexCondition *) req, kind);
	if (IsA(req, SupportRequestSelectivity))
		return pattern_function_selectivity((SupportRequestSelectivity *) req, kind);

	return NULL;
}

#define PATTERN_SUPPORT(kind) \
	PG_FUNCTION_INFO_V1(compact_types_##kind##_support); \
	Datum \
	compact_types_##kind##_support(PG_FUNCTION_ARGS) \
	{ \
		PG_RETURN_POINTER(pattern_support((Node *) PG_GETARG_POINTER(0), \
										  &pattern_##kind)); \
	}

PATTERN_SUPPORT(like)
PATTERN_SUPPORT(iclike)
PATTERN_SUPPORT(regexeq)
PATTERN_SUPPORT(icregexeq)
PATTERN_SUPPORT(starts_with)

/*
 * Restriction selectivity estimators.  Each takes the planner's state, the
 * operator, its arguments and a range table index, and returns float8.
 */
static double
pattern_restriction(FunctionCallInfo fcinfo, const PatternKind *kind, bool negate)
{
	Oid			opno = PG_GETARG_OID(1);

	if (negate)
	{
		opno = get_negator(opno);
		if (!OidIsValid(opno))
			elog(ERROR, "selectivity estimator of a pattern mismatch called for an operator without a negator");
	}

	return pattern_selectivity((PlannerInfo *) PG_GETARG_POINTER(0), kind, opno,
							   (List *) PG_GETARG_POINTER(2), PG_GETARG_INT32(3),
							   PG_GET_COLLATION(), negate);
}

#define PATTERN_ESTIMATOR(name, kind, negate) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		PG_RETURN_FLOAT8(pattern_restriction(fcinfo, &pattern_##kind, negate)); \
	}

PATTERN_ESTIMATOR(compact_types_likesel, like, false)
PATTERN_ESTIMATOR(compact_types_nlikesel, like, true)
PATTERN_ESTIMATOR(compact_types_iclikesel, iclike, false)
PATTERN_ESTIMATOR(compact_types_icnlikesel, iclike, true)
PATTERN_ESTIMATOR(compact_types_regexeqsel, regexeq, false)
PATTERN_ESTIMATOR(compact_types_regexnesel, regexeq, true)
PATTERN_ESTIMATOR(compact_types_icregexeqsel, icregexeq, false)
PATTERN_ESTIMATOR(compact_types_icregexnesel, icregexeq, true)
PATTERN_ESTIMATOR(compact_types_prefixsel, starts_with, false)

/* Return the expression as text, or NULL if its type has no cast to text. */
Node *
compact_as_text(PlannerInfo *root, Node *expr)
{
	Oid			funcid;

	if (find_coercion_pathway(TEXTOID, exprType(expr), COERCION_IMPLICIT, &funcid) != COERCION_PATH_FUNC)
		return NULL;

	return eval_const_expressions(root,
								  (Node *) makeFuncExpr(funcid, TEXTOID, list_make1(expr),
														exprCollation(expr), exprCollation(expr),
														COERCE_IMPLICIT_CAST));
}

/*
 * Return the btree strategy of a comparison of two types, or 0.  The operator
 * is a member of the family of one of them.
 */
static int
comparison_strategy(Oid opno, Oid type1, Oid type2)
{
	Oid			family1 = lookup_type_cache(type1, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	Oid			family2 = lookup_type_cache(type2, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	int			strategy = OidIsValid(family1) ? get_op_opfamily_strategy(opno, family1) : 0;

	if (strategy == 0 && OidIsValid(family2))
		strategy = get_op_opfamily_strategy(opno, family2);

	return strategy;
}

/*
 * Answer SupportRequestIndexCondition for a comparison, in two cases.  The
 * operator is "=", and the operator class of the index contains it, but the
 * index has another collation.  Return the same condition in the collation of
 * the index.  Or the class does not contain the operator, but contains that of
 * the index's column with text.  Return the condition with that operator.  This
 * is so in a class for trigrams, and if the value is of a trained type and the
 * column is of another type.
 */
static Node *
comparison_index_condition(SupportRequestIndexCondition *req)
{
	OpExpr	   *clause = (OpExpr *) req->node;
	Expr	   *key;
	Node	   *value;
	Oid			key_type;
	Oid			opno;
	int			strategy;

	if (!is_opclause(clause) || list_length(clause->args) != 2 ||
		(req->indexarg != 0 && req->indexarg != 1))
		return NULL;
	if (!OidIsValid(clause->inputcollid) || !OidIsValid(req->indexcollation) ||
		!get_collation_isdeterministic(clause->inputcollid) ||
		!get_collation_isdeterministic(req->indexcollation))
		return NULL;

	key = list_nth(clause->args, req->indexarg);
	key_type = exprType((Node *) key);
	value = list_nth(clause->args, 1 - req->indexarg);
	opno = req->indexarg == 0 ? clause->opno : get_commutator(clause->opno);
	if (!OidIsValid(opno))
		return NULL;
	strategy = comparison_strategy(opno, key_type, exprType(value));
	if (strategy != BTEqualStrategyNumber && clause->inputcollid != req->indexcollation)
		return NULL;
	if (!op_in_opfamily(opno, req->opfamily))
	{
		opno = operator_of_type(key_type, strategy);
		if (!OidIsValid(opno) || !op_in_opfamily(opno, req->opfamily))
			return NULL;
		value = compact_as_text(req->root, value);
		if (value == NULL)
			return NULL;
	}

	req->lossy = false;

	return (Node *) list_make1(make_opclause(opno, BOOLOID, false, key, (Expr *) value,
											 InvalidOid, req->indexcollation));
}

/*
 * compact_types.equal_support(internal) returns internal: planner support of
 * the comparison operators
 */
PG_FUNCTION_INFO_V1(compact_types_equal_support);
Datum
compact_types_equal_support(PG_FUNCTION_ARGS)
{
	Node	   *req = (Node *) PG_GETARG_POINTER(0);

	if (IsA(req, SupportRequestIndexCondition))
		PG_RETURN_POINTER(comparison_index_condition((SupportRequestIndexCondition *) req));

	PG_RETURN_POINTER(NULL);
}
