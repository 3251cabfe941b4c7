/*-------------------------------------------------------------------------
 *
 * compact_pattern_ddl.c
 *	  Create the pattern-matching operators of a string type.
 *
 * The left operand has the string type, the right operand has the type text.
 * No other type has an implicit cast to our types.  So these operators are
 * candidates only if the left operand is a value of the string type.  The
 * parser still gives a literal on the left side the type text, because text is
 * the preferred type of the category.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_pattern_ddl.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compact_ddl.h"

typedef struct PatternOperator
{
	const char *suffix;			/* of the function's name */
	const char *name;
	const char *negator;		/* or NULL */
	const char *support;		/* support function without _support, or NULL */
	const char *restrict_join;	/* prefix of both selectivity estimators */
} PatternOperator;

static const PatternOperator pattern_operators[] = {
	{"like", "~~", "!~~", "like", "like"},
	{"nlike", "!~~", "~~", NULL, "nlike"},
	{"iclike", "~~*", "!~~*", "iclike", "iclike"},
	{"icnlike", "!~~*", "~~*", NULL, "icnlike"},
	{"regexeq", "~", "!~", "regexeq", "regexeq"},
	{"regexne", "!~", "~", NULL, "regexne"},
	{"icregexeq", "~*", "!~*", "icregexeq", "icregexeq"},
	{"icregexne", "!~*", "~*", NULL, "icregexne"},
	{"starts_with", "^@", NULL, "starts_with", "prefix"}
};

/*
 * Create the operators of the string type.  The names of its C functions begin
 * with symbol.  Core's join estimators do not examine the types of the
 * operands, so the operators use core's join estimators.  Core's restriction
 * estimators examine these types, so the operators use restriction estimators
 * of compact_types.
 */
void
compact_ddl_create_pattern_operators(const TypeDdl *ddl, const char *symbol)
{
	char	   *args = psprintf("%s, text", ddl->type);

	for (int i = 0; i < (int) lengthof(pattern_operators); i++)
	{
		const PatternOperator *op = &pattern_operators[i];
		const char *attributes = "IMMUTABLE";
		const char *negator = "";

		if (op->support != NULL)
			attributes = psprintf("IMMUTABLE SUPPORT %s.%s_support",
								  ddl->schema, op->support);
		if (op->negator != NULL)
			negator = psprintf(" NEGATOR = OPERATOR(%s.%s),",
							   ddl->opschema, op->negator);
		compact_ddl_create_function(ddl, psprintf("%s_%s", ddl->name, op->suffix), args,
									"bool", psprintf("%s_%s", symbol, op->suffix),
									attributes);
		compact_ddl_execute("CREATE OPERATOR %s.%s (FUNCTION = %s.%s_%s, LEFTARG = %s, RIGHTARG = text,%s"
							" RESTRICT = %s.%ssel, JOIN = pg_catalog.%sjoinsel)",
							ddl->opschema, op->name, ddl->schema, ddl->name, op->suffix,
							ddl->type, negator, ddl->schema, op->restrict_join,
							op->restrict_join);
	}
}
