/*-------------------------------------------------------------------------
 *
 * compact_trgm_ddl.c
 *	  Create the operators and operator classes of trigrams.
 *
 * The operator classes have pg_trgm's operators with a value of the type on the
 * left side and a text on the right side, under the numbers that pg_trgm gives
 * them.  There is also an operator with the value on the right side.  The
 * planner replaces it by the operator of the class, because its function is
 * written in SQL.
 *
 * compact_text has operators of two values, too, which are functions in SQL as
 * well.  If the first value is no column, a support function exchanges the
 * values.  compact_charN has no such operators, because the parser would give a
 * literal the type of the column then, and the literal can be too long for that
 * type.  compact_charN has operators with compact_text instead.  Without these,
 * the parser could not choose between the operators of one of the two types
 * with text.
 *
 * Index support functions have arguments of the indexed type by rule, as
 * amvalidate() demands, although the query is a text.  So the classes do not
 * use the SQL functions of pg_trgm that are declared with text, but functions
 * of their own that call the same C functions.
 *
 * The operators are in pg_catalog.  So an index serves a query with any
 * search_path.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_trgm_ddl.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "compact_ddl.h"
#include "compact_types.h"

/* An operator of pg_trgm.  There is one with the operands exchanged. */
typedef struct TrgmOperator
{
	const char *name;
	const char *exchanged;
	const char *function;
	bool		is_distance;	/* a distance, or a condition */
	int			strategy;		/* number in the classes, or 0; only GiST has
								 * distances */
} TrgmOperator;

static const TrgmOperator trgm_operators[] = {
	{"%", "%", "similarity_op", false, 1},
	{"<%", "%>", "word_similarity_op", false, 0},
	{"%>", "<%", "word_similarity_commutator_op", false, 7},
	{"<<%", "%>>", "strict_word_similarity_op", false, 0},
	{"%>>", "<<%", "strict_word_similarity_commutator_op", false, 9},
	{"<->", "<->", "similarity_dist", true, 2},
	{"<<->", "<->>", "word_similarity_dist_op", true, 0},
	{"<->>", "<<->", "word_similarity_dist_commutator_op", true, 8},
	{"<<<->", "<->>>", "strict_word_similarity_dist_op", true, 0},
	{"<->>>", "<<<->", "strict_word_similarity_dist_commutator_op", true, 10}
};

/* Operators of compact_types that are in the classes as well. */
static const struct
{
	const char *name;
	int			strategy;
}			other_operators[] = {
	{"~~", 3},
	{"~~*", 4},
	{"~", 5},
	{"~*", 6},
	{"=", 11}
};

/* The type that gets the operators and classes. */
typedef struct TrgmType
{
	TypeDdl		ddl;
	TypeDdl		from_trgm;		/* the same, for functions of pg_trgm's
								 * library */
	const char *symbol;			/* start of the names of its C functions */
	const char *stem;			/* as compact_trgm_stem() returns it */
	const char *class_schema;
}			TrgmType;

/* Create the operator of two types, whose function exists. */
static void
create_operator(const TypeDdl *ddl, const TrgmOperator *op, const char *left, const char *right)
{
	compact_ddl_execute("CREATE OPERATOR %s.%s (FUNCTION = %s.%s, LEFTARG = %s, RIGHTARG = %s%s)",
						ddl->opschema, op->name, ddl->schema, op->function, left, right,
						op->is_distance ? "" :
						", RESTRICT = pg_catalog.matchingsel, JOIN = pg_catalog.matchingjoinsel");
}

/*
 * Create the operators of the two types whose function calls another operator.
 */
static void
create_derived_operators(const TypeDdl *ddl, const char *left, const char *right)
{
	bool		exchange = strcmp(left, "text") == 0;
	char	   *support = exchange ? "" : psprintf(" SUPPORT %s.trgm_support", ddl->schema);

	for (int i = 0; i < (int) lengthof(trgm_operators); i++)
	{
		const TrgmOperator *op = &trgm_operators[i];

		compact_ddl_execute("CREATE FUNCTION %s.%s(%s, %s) RETURNS %s LANGUAGE sql"
							" %s STRICT PARALLEL SAFE%s RETURN %s OPERATOR(%s.%s) %s",
							ddl->schema, op->function, left, right,
							op->is_distance ? "float4" : "bool",
							op->is_distance ? "IMMUTABLE" : "STABLE", support,
							exchange ? "$2" : "$1", ddl->opschema,
							exchange ? op->exchanged : op->name,
							exchange ? "$1" : "$2::text");
		create_operator(ddl, op, left, right);
	}
}

/*
 * Create the operators of the type.  compact_text is the name of that type, or
 * NULL if the operators are those of compact_text itself.
 */
static void
create_operators(const TrgmType * trgm, const char *compact_text)
{
	const TypeDdl *ddl = &trgm->ddl;

	for (int i = 0; i < (int) lengthof(trgm_operators); i++)
	{
		const TrgmOperator *op = &trgm_operators[i];

		/* a condition depends on a setting of pg_trgm */
		compact_ddl_create_function(ddl, op->function, psprintf("%s, text", ddl->type),
									op->is_distance ? "float4" : "bool",
									psprintf("%s_%s", trgm->symbol, op->function),
									op->is_distance ? "IMMUTABLE" : "STABLE");
		create_operator(ddl, op, ddl->type, "text");
	}
	if (compact_text == NULL)
		compact_ddl_create_function(ddl, "trgm_support", "internal", "internal",
									"compact_types_trgm_support", "IMMUTABLE");
	create_derived_operators(ddl, "text", ddl->type);
	if (compact_text == NULL)
		create_derived_operators(ddl, ddl->type, ddl->type);
	else
	{
		create_derived_operators(ddl, ddl->type, compact_text);
		create_derived_operators(ddl, compact_text, ddl->type);
	}
}

/* Return the operators of a class as a list for CREATE OPERATOR CLASS. */
static char *
class_operators(const TypeDdl *ddl, bool distances)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < (int) lengthof(trgm_operators); i++)
	{
		const TrgmOperator *op = &trgm_operators[i];

		if (op->strategy == 0 || (op->is_distance && !distances))
			continue;
		appendStringInfo(&buf, "OPERATOR %d %s.%s (%s, text)%s, ",
						 op->strategy, ddl->opschema, op->name, ddl->type,
						 op->is_distance ? " FOR ORDER BY pg_catalog.float_ops" : "");
	}
	for (int i = 0; i < (int) lengthof(other_operators); i++)
		appendStringInfo(&buf, "OPERATOR %d %s.%s (%s, text), ", other_operators[i].strategy,
						 ddl->opschema, other_operators[i].name, ddl->type);

	return buf.data;
}

static void
create_comment(const TrgmType * trgm, const char *method)
{
	compact_ddl_execute("COMMENT ON OPERATOR CLASS %s.%s_%s_trgm_ops USING %s IS"
						" '%s_trgm_ops for columns of type %s'",
						trgm->class_schema, method, trgm->stem, method, method, trgm->ddl.name);
}

static void
create_gin_class(const TrgmType * trgm)
{
	const TypeDdl *from_trgm = &trgm->from_trgm;
	const char *schema = trgm->ddl.schema;
	const char *type = trgm->ddl.type;

	compact_ddl_create_function(&trgm->ddl, "gin_extract_value_trgm",
								psprintf("%s, internal", type), "internal",
								psprintf("%s_gin_extract_value_trgm", trgm->symbol), "IMMUTABLE");
	compact_ddl_create_function(from_trgm, "gin_extract_query_trgm",
								psprintf("%s, internal, int2, internal, internal, internal, internal", type),
								"internal", "gin_extract_query_trgm", "IMMUTABLE");
	compact_ddl_create_function(from_trgm, "gin_trgm_consistent",
								psprintf("internal, int2, %s, int4, internal, internal, internal, internal", type),
								"bool", "gin_trgm_consistent", "IMMUTABLE");
	compact_ddl_create_function(from_trgm, "gin_trgm_triconsistent",
								psprintf("internal, int2, %s, int4, internal, internal, internal", type),
								"\"char\"", "gin_trgm_triconsistent", "IMMUTABLE");
	compact_ddl_execute("CREATE OPERATOR CLASS %s.gin_%s_trgm_ops FOR TYPE %s USING gin AS %s"
						"FUNCTION 1 pg_catalog.btint4cmp(int4, int4),"
						" FUNCTION 2 %s.gin_extract_value_trgm(%s, internal),"
						" FUNCTION 3 %s.gin_extract_query_trgm(%s, internal, int2, internal, internal, internal, internal),"
						" FUNCTION 4 %s.gin_trgm_consistent(internal, int2, %s, int4, internal, internal, internal, internal),"
						" FUNCTION 6 %s.gin_trgm_triconsistent(internal, int2, %s, int4, internal, internal, internal),"
						" STORAGE int4",
						trgm->class_schema, trgm->stem, type, class_operators(&trgm->ddl, false),
						schema, type, schema, type, schema, type, schema, type);
	create_comment(trgm, "gin");
}

static void
create_gist_class(const TrgmType * trgm, const char *trgm_schema)
{
	const TypeDdl *from_trgm = &trgm->from_trgm;
	const char *schema = trgm->ddl.schema;
	const char *type = trgm->ddl.type;
	char	   *compress = psprintf("%s_gtrgm_compress", trgm->ddl.name);

	compact_ddl_create_function(from_trgm, "gtrgm_consistent",
								psprintf("internal, %s, int2, oid, internal", type),
								"bool", "gtrgm_consistent", "IMMUTABLE");
	compact_ddl_create_function(from_trgm, "gtrgm_distance",
								psprintf("internal, %s, int2, oid, internal", type),
								"float8", "gtrgm_distance", "IMMUTABLE");
	compact_ddl_create_function(&trgm->ddl, compress, "internal", "internal",
								psprintf("%s_gtrgm_compress", trgm->symbol), "IMMUTABLE");
	compact_ddl_execute("CREATE OPERATOR CLASS %s.gist_%s_trgm_ops FOR TYPE %s USING gist AS %s"
						"FUNCTION 1 %s.gtrgm_consistent(internal, %s, int2, oid, internal),"
						" FUNCTION 2 %s.gtrgm_union(internal, internal),"
						" FUNCTION 3 %s.%s(internal),"
						" FUNCTION 4 %s.gtrgm_decompress(internal),"
						" FUNCTION 5 %s.gtrgm_penalty(internal, internal, internal),"
						" FUNCTION 6 %s.gtrgm_picksplit(internal, internal),"
						" FUNCTION 7 %s.gtrgm_same(%s.gtrgm, %s.gtrgm, internal),"
						" FUNCTION 8 %s.gtrgm_distance(internal, %s, int2, oid, internal),"
						" FUNCTION 10 %s.gtrgm_options(internal),"
						" STORAGE %s.gtrgm",
						trgm->class_schema, trgm->stem, type, class_operators(&trgm->ddl, true),
						schema, type, trgm_schema, schema, compress, trgm_schema, trgm_schema,
						trgm_schema, trgm_schema, trgm_schema, trgm_schema, schema, type,
						trgm_schema, trgm_schema);
	create_comment(trgm, "gist");
}

/* Return the quoted name of the schema that has the objects of pg_trgm. */
static char *
find_trgm_schema(void)
{
	bool		isnull;

	/* pg_trgm got its newest function in version 1.5 */
	if (SPI_execute("SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension e"
					" JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace"
					" JOIN pg_catalog.pg_proc p ON p.pronamespace = n.oid"
					" WHERE e.extname = 'pg_trgm' AND p.proname = 'gtrgm_options'",
					true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not look up extension \"pg_trgm\"");
	if (SPI_processed == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("version of extension \"pg_trgm\" is older than 1.5"),
				 errhint("Run ALTER EXTENSION pg_trgm UPDATE.")));

	return TextDatumGetCString(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
}

/*
 * compact_types.trgm_support(internal) returns internal: planner support of the
 * operators of two values, neither of which is a text
 */
PG_FUNCTION_INFO_V1(compact_types_trgm_support);
Datum
compact_types_trgm_support(PG_FUNCTION_ARGS)
{
	SupportRequestSimplify *req = (SupportRequestSimplify *) PG_GETARG_POINTER(0);
	char	   *function;
	Node	   *left;
	Node	   *right;
	Node	   *value;

	if (!IsA(req, SupportRequestSimplify))
		PG_RETURN_POINTER(NULL);
	left = linitial(req->fcall->args);
	right = lsecond(req->fcall->args);
	if (contain_var_clause(left) || !contain_var_clause(right))
		PG_RETURN_POINTER(NULL);

	function = get_func_name(req->fcall->funcid);
	value = compact_as_text(req->root, left);
	for (int i = 0; i < (int) lengthof(trgm_operators) && function && value; i++)
	{
		const TrgmOperator *op = &trgm_operators[i];
		Oid			opno;
		OpExpr	   *result;

		if (strcmp(function, op->function) != 0)
			continue;
		opno = OpernameGetOprid(list_make2(makeString("pg_catalog"), makeString(pstrdup(op->exchanged))),
								exprType(right), TEXTOID);
		if (!OidIsValid(opno))
			break;
		result = (OpExpr *) make_opclause(opno, req->fcall->funcresulttype, false, (Expr *) right,
										  (Expr *) value, InvalidOid, req->fcall->inputcollid);
		set_opfuncid(result);
		PG_RETURN_POINTER(result);
	}

	PG_RETURN_POINTER(NULL);
}

/*
 * compact_types.create_trgm() returns void
 * compact_types.create_trgm(length int4) returns void
 *
 * The script of the extension compact_trgm calls the first function to create
 * all objects of the extension.  The script of the extension compact_charN_trgm
 * calls the second one, with N.
 */
PG_FUNCTION_INFO_V1(compact_types_create_trgm);
Datum
compact_types_create_trgm(PG_FUNCTION_ARGS)
{
	TrgmType trgm;
	TypeDdl    *ddl = &trgm.ddl;
	char	   *compact_text;
	bool		is_text = PG_NARGS() == 0;
	int			nestlevel;

	if (!creating_extension)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("create_trgm() can only be called by an extension's script")));

	SPI_connect();
	compact_ddl_init(ddl, fcinfo->flinfo->fn_oid);
	trgm.		class_schema = quote_identifier(get_namespace_name(compact_ddl_creation_schema()));

	nestlevel = compact_ddl_set_gucs();
	compact_text = compact_ddl_argument_type(ddl, "compact_text_out");
	if (is_text)
		strlcpy(ddl->name, "compact_text", NAMEDATALEN);
	else
		snprintf(ddl->name, NAMEDATALEN, "compact_char%d", PG_GETARG_INT32(0));
	ddl->type = compact_ddl_argument_type(ddl, psprintf("%s_out", ddl->name));
	trgm.		symbol = is_text ? "compact_text" : "compact_char";
	trgm.		stem = is_text ? "compact" : ddl->name;
	trgm.		from_trgm = *ddl;
	trgm.		from_trgm.library = "'$libdir/pg_trgm'";

	create_operators(&trgm, is_text ? NULL : compact_text);
	create_gin_class(&trgm);
	create_gist_class(&trgm, find_trgm_schema());
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	PG_RETURN_VOID();
}
