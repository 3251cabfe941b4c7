/*-------------------------------------------------------------------------
 *
 * compact_string_ddl.c
 *	  Create the operators, classes and casts of a string type.
 *
 * The operator families contain the operators of all pairs of the string type,
 * text and bpchar, as amvalidate() requires.  The operators for pairs of text
 * and bpchar are created once, with names that no query uses.  Core has no
 * operators of text with bpchar.  Core's operators of text with text, and of
 * bpchar with bpchar, must not be members of our families (see
 * compact_ddl_create_core_comparison()).
 *
 * varchar must not have operators with the names that queries use.  Core has
 * no operators of two varchars, so the parser would resolve "varchar = unknown
 * literal" to "varchar = compact type", and such a condition could not use an
 * index on a varchar column.  In a query a varchar is converted to text, as it
 * is in core.  A foreign key, however, looks for operators of varchar itself
 * in the operator family of the referenced key.  So the families also have
 * operators of varchar, under the names that no query uses.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_string_ddl.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/extension.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "compact_ddl.h"

/* The other string types, and core's comparison function of each. */
typedef struct StringType
{
	const char *name;
	const char *cmp_function;
} StringType;

static const StringType string_types[] = {
	{"text", "pg_catalog.bttextcmp"},
	{"bpchar", "pg_catalog.bpcharcmp"},
	{"varchar", NULL}
};

/*
 * Number of types at the start of string_types[] whose operators have the
 * names that queries use.
 */
#define NUM_QUERIED_TYPES	2

/*
 * Add the family members for all pairs of the other string types to the lists.
 */
static void
append_string_pairs(StringInfo btree, StringInfo hash, const char *schema)
{
	for (int i = 0; i < (int) lengthof(string_types); i++)
	{
		for (int j = 0; j < (int) lengthof(string_types); j++)
		{
			const char *left = string_types[i].name;
			const char *right = string_types[j].name;

			compact_ddl_append_pair(btree, hash, schema, "#", left, right,
									i == j && string_types[i].cmp_function != NULL ?
									string_types[i].cmp_function :
									psprintf("%s.%s_%s_cmp", schema, left, right));
		}
	}
	appendStringInfoString(btree,
						   "FUNCTION 2 (text, text) pg_catalog.bttextsortsupport(internal),"
						   " FUNCTION 2 (varchar, varchar) pg_catalog.bttextsortsupport(internal),"
						   " FUNCTION 2 (bpchar, bpchar) pg_catalog.bpchar_sortsupport(internal)");
	appendStringInfo(hash,
					 "FUNCTION 1 (text, text) pg_catalog.hashtext(text),"
					 " FUNCTION 2 (text, text) pg_catalog.hashtextextended(text, int8),"
					 " FUNCTION 1 (varchar, varchar) %s.varchar_hash(varchar),"
					 " FUNCTION 2 (varchar, varchar) %s.varchar_hash_extended(varchar, int8),"
					 " FUNCTION 1 (bpchar, bpchar) pg_catalog.hashbpchar(bpchar),"
					 " FUNCTION 2 (bpchar, bpchar) pg_catalog.hashbpcharextended(bpchar, int8)",
					 schema, schema);
}

/* Create the btree and hash operator classes, and fill their families. */
static void
create_classes(const TypeDdl *ddl, const char *symbol)
{
	const char *schema = ddl->schema;
	const char *opschema = ddl->opschema;
	const char *type = ddl->type;
	const char *name = ddl->name;
	StringInfoData btree;
	StringInfoData hash;

	compact_ddl_create_function(ddl, psprintf("%s_sortsupport", name), "internal", "void",
								psprintf("%s_sortsupport", symbol), "IMMUTABLE");
	compact_ddl_create_hash_functions(ddl, symbol);

	compact_ddl_execute("CREATE OPERATOR FAMILY %s.%s_ops USING btree", schema, name);
	compact_ddl_execute("CREATE OPERATOR CLASS %s.%s_ops DEFAULT FOR TYPE %s USING btree FAMILY %s.%s_ops AS"
						" OPERATOR 1 %s.<, OPERATOR 2 %s.<=, OPERATOR 3 %s.=,"
						" OPERATOR 4 %s.>=, OPERATOR 5 %s.>,"
						" FUNCTION 1 %s.%s_cmp(%s, %s), FUNCTION 2 %s.%s_sortsupport(internal),"
						" FUNCTION 4 pg_catalog.btvarstrequalimage(oid)",
						schema, name, type, schema, name,
						opschema, opschema, opschema, opschema, opschema,
						schema, name, type, type, schema, name);
	compact_ddl_execute("CREATE OPERATOR FAMILY %s.%s_ops USING hash", schema, name);
	compact_ddl_create_hash_class(ddl, psprintf("%s_ops", name));

	initStringInfo(&btree);
	initStringInfo(&hash);
	for (int i = 0; i < (int) lengthof(string_types); i++)
	{
		const char *other = string_types[i].name;
		const char *mark = i < NUM_QUERIED_TYPES ? "" : "#";

		compact_ddl_append_pair(&btree, &hash, opschema, mark, type, other,
								psprintf("%s.%s_%s_cmp", schema, name, other));
		compact_ddl_append_pair(&btree, &hash, opschema, mark, other, type,
								psprintf("%s.%s_%s_cmp", schema, other, name));
	}
	append_string_pairs(&btree, &hash, schema);
	compact_ddl_execute("ALTER OPERATOR FAMILY %s.%s_ops USING btree ADD %s",
						schema, name, btree.data);
	compact_ddl_execute("ALTER OPERATOR FAMILY %s.%s_ops USING hash ADD %s",
						schema, name, hash.data);
}

/*
 * Create the BRIN operator classes.  The minmax class also compares with
 * constants of the other types.  The bloom class cannot: it hashes a constant
 * with the hash function of the column's type.
 */
static void
create_brin_classes(const TypeDdl *ddl)
{
	const char *schema = ddl->schema;
	const char *opschema = ddl->opschema;
	const char *type = ddl->type;
	const char *name = ddl->name;
	StringInfoData members;

	initStringInfo(&members);
	compact_ddl_append_brin(&members, opschema, "", type, type);
	for (int i = 0; i < NUM_QUERIED_TYPES; i++)
		compact_ddl_append_brin(&members, opschema, "", type, string_types[i].name);

	compact_ddl_execute("CREATE OPERATOR FAMILY %s.%s_minmax_ops USING brin", schema, name);
	compact_ddl_create_minmax_class(ddl, psprintf("%s_minmax_ops", name), &members);
	compact_ddl_execute("CREATE OPERATOR FAMILY %s.%s_bloom_ops USING brin", schema, name);
	compact_ddl_execute("CREATE OPERATOR CLASS %s.%s_bloom_ops FOR TYPE %s USING brin"
						" FAMILY %s.%s_bloom_ops AS OPERATOR 1 %s.=,"
						" FUNCTION 1 pg_catalog.brin_bloom_opcinfo(internal),"
						" FUNCTION 2 pg_catalog.brin_bloom_add_value(internal, internal, internal, internal),"
						" FUNCTION 3 pg_catalog.brin_bloom_consistent(internal, internal, internal, int4),"
						" FUNCTION 4 pg_catalog.brin_bloom_union(internal, internal, internal),"
						" FUNCTION 5 pg_catalog.brin_bloom_options(internal),"
						" FUNCTION 11 %s.%s_hash(%s)",
						schema, name, type, schema, name, opschema, schema, name, type);
}

static void
create_casts(const TypeDdl *ddl, const char *symbol, const char *make_symbol)
{
	const char *schema = ddl->schema;
	const char *type = ddl->type;
	const char *name = ddl->name;
	const char *typmod_args = ddl->typmod ? ", int4, bool" : "";

	compact_ddl_create_function(ddl, psprintf("%s_text", name), type, "text",
								psprintf("%s_text", symbol), "IMMUTABLE");
	compact_ddl_create_function(ddl, psprintf("%s_bpchar", name), type, "bpchar",
								psprintf("%s_bpchar", symbol), "IMMUTABLE");
	compact_ddl_create_function(ddl, psprintf("text_%s", name), psprintf("text%s", typmod_args),
								type, psprintf("text_%s", make_symbol), "IMMUTABLE");
	compact_ddl_create_function(ddl, psprintf("bpchar_%s", name), psprintf("bpchar%s", typmod_args),
								type, psprintf("bpchar_%s", make_symbol), "IMMUTABLE");

	compact_ddl_execute("CREATE CAST (%s AS text) WITH FUNCTION %s.%s_text(%s) AS IMPLICIT",
						type, schema, name, type);
	compact_ddl_execute("CREATE CAST (%s AS varchar) WITH FUNCTION %s.%s_text(%s) AS IMPLICIT",
						type, schema, name, type);
	compact_ddl_execute("CREATE CAST (%s AS bpchar) WITH FUNCTION %s.%s_bpchar(%s) AS IMPLICIT",
						type, schema, name, type);
	compact_ddl_execute("CREATE CAST (text AS %s) WITH FUNCTION %s.text_%s(text%s) AS ASSIGNMENT",
						type, schema, name, typmod_args);
	compact_ddl_execute("CREATE CAST (varchar AS %s) WITH FUNCTION %s.text_%s(text%s) AS ASSIGNMENT",
						type, schema, name, typmod_args);
	compact_ddl_execute("CREATE CAST (bpchar AS %s) WITH FUNCTION %s.bpchar_%s(bpchar%s) AS ASSIGNMENT",
						type, schema, name, typmod_args);
}

/*
 * Create the operators of two types, one of which is core's type "name".
 * Without these operators, a comparison with a value of the type "name" would
 * be ambiguous.  This type has a cast to text, so one of our operators and one
 * of core's would match equally well.  The planner inlines the bodies of the
 * operators' functions, so that an index can serve the comparison.
 */
static void
create_name_operators(const TypeDdl *ddl, const char *left, const char *right)
{
	static const char *const functions[][2] = {
		{"lt", "<"}, {"le", "<="}, {"eq", "="}, {"ge", ">="}, {"gt", ">"}, {"ne", "<>"}
	};
	bool		name_is_left = strcmp(left, "name") == 0;
	char	   *prefix = name_is_left ? psprintf("name_%s", ddl->name) :
		psprintf("%s_name", ddl->name);

	for (int i = 0; i < (int) lengthof(functions); i++)
		compact_ddl_execute("CREATE FUNCTION %s.%s_%s(%s, %s) RETURNS bool LANGUAGE sql"
							" IMMUTABLE STRICT PARALLEL SAFE RETURN %s OPERATOR(%s.%s) %s",
							ddl->schema, prefix, functions[i][0], left, right,
							name_is_left ? "$1::text" : "$1", ddl->opschema, functions[i][1],
							name_is_left ? "$2" : "$2::text");
	compact_ddl_create_comparison_operators(ddl, left, right, prefix, "", "", "");
}

/*
 * Create the cast to compact_text.  Because the cast is implicit, UNION and
 * CASE find a common type for the two types.  Return the name of compact_text.
 */
char *
compact_ddl_create_compact_text_cast(const TypeDdl *ddl, const char *symbol)
{
	char	   *compact_text = compact_ddl_argument_type(ddl, "compact_text_out");

	compact_ddl_create_function(ddl, psprintf("%s_compact_text", ddl->name),
								psprintf("%s, int4, bool", ddl->type), compact_text,
								symbol, "IMMUTABLE");
	compact_ddl_execute("CREATE CAST (%s AS %s) WITH FUNCTION %s.%s_compact_text(%s, int4, bool) AS IMPLICIT",
						ddl->type, compact_text, ddl->schema, ddl->name, ddl->type);

	return compact_text;
}

/* How the name of a second operator of compact_text begins and ends. */
#define TWIN_MARK	"##"

/* Return the attributes of the functions that compare values of string types. */
static const char *
comparison_attributes(const TypeDdl *ddl)
{
	return psprintf("IMMUTABLE LEAKPROOF SUPPORT %s.equal_support", ddl->schema);
}

/*
 * Create a second operator for each comparison of compact_text, in the schema
 * of compact_types and under a name that no query uses.  ddl is that of
 * compact_text.
 *
 * The families of the trained types need these operators.  If they contained
 * the others, the planner would not know which family orders compact_text, see
 * also compact_ddl_create_core_comparison().
 */
void
compact_ddl_create_compact_text_twins(const TypeDdl *ddl)
{
	const char *type = ddl->type;
	TypeDdl		twins = *ddl;

	twins.opschema = ddl->schema;
	compact_ddl_create_comparison_operators(&twins, type, type, ddl->name,
											TWIN_MARK, TWIN_MARK, ", HASHES, MERGES");
	for (int i = 0; i < (int) lengthof(string_types); i++)
	{
		const char *other = string_types[i].name;

		compact_ddl_create_comparison_operators(&twins, type, other,
												psprintf("%s_%s", ddl->name, other),
												TWIN_MARK, TWIN_MARK, ", HASHES, MERGES");
		compact_ddl_create_comparison_operators(&twins, other, type,
												psprintf("%s_%s", other, ddl->name),
												TWIN_MARK, TWIN_MARK, ", HASHES, MERGES");
	}
}

/*
 * Create the operators of a trained type with compact_text, and add them to
 * the type's families, which must have all pairs of their types then.  Without
 * such operators, a comparison would be ambiguous: an operator of the trained
 * type with text and one of text with compact_text would match equally well.
 *
 * "=" is without MERGES, because the planner uses an index for an equality that
 * can be merged only if the index's family contains the operator.  So an index
 * on a column of compact_text serves all comparisons, see equal_support.
 */
void
compact_ddl_add_compact_text(const TypeDdl *ddl, const char *compact_text)
{
	const char *schema = ddl->schema;
	const char *type = ddl->type;
	const char *attributes = comparison_attributes(ddl);
	const char *right = psprintf("%s_compact_text", ddl->name);
	const char *left = psprintf("compact_text_%s", ddl->name);
	StringInfoData btree;
	StringInfoData hash;

	compact_ddl_create_comparison_as(ddl, type, compact_text, right,
									 "trained_text_compact_text", "", "",
									 attributes, ", HASHES");
	compact_ddl_create_comparison_as(ddl, compact_text, type, left,
									 "trained_text_compact_text", "", "",
									 attributes, ", HASHES");

	initStringInfo(&btree);
	initStringInfo(&hash);
	compact_ddl_append_pair(&btree, &hash, ddl->opschema, "", type, compact_text,
							psprintf("%s.%s_cmp", schema, right));
	compact_ddl_append_pair(&btree, &hash, ddl->opschema, "", compact_text, type,
							psprintf("%s.%s_cmp", schema, left));
	compact_ddl_append_pair(&btree, &hash, schema, TWIN_MARK, compact_text, compact_text,
							psprintf("%s.compact_text_cmp", schema));
	for (int i = 0; i < (int) lengthof(string_types); i++)
	{
		const char *other = string_types[i].name;

		compact_ddl_append_pair(&btree, &hash, schema, TWIN_MARK, compact_text, other,
								psprintf("%s.compact_text_%s_cmp", schema, other));
		compact_ddl_append_pair(&btree, &hash, schema, TWIN_MARK, other, compact_text,
								psprintf("%s.%s_compact_text_cmp", schema, other));
	}
	compact_ddl_execute("ALTER OPERATOR FAMILY %s.%s_ops USING btree ADD %s"
						" FUNCTION 2 (%s, %s) %s.compact_text_sortsupport(internal)",
						schema, ddl->name, btree.data, compact_text, compact_text, schema);
	compact_ddl_execute("ALTER OPERATOR FAMILY %s.%s_ops USING hash ADD %s"
						" FUNCTION 1 (%s, %s) %s.compact_text_hash(%s),"
						" FUNCTION 2 (%s, %s) %s.compact_text_hash_extended(%s, int8)",
						schema, ddl->name, hash.data,
						compact_text, compact_text, schema, compact_text,
						compact_text, compact_text, schema, compact_text);
}

/*
 * Drop the objects that DROP TYPE ... CASCADE leaves because they do not
 * depend on the type: the families and the sort support function.  Then the
 * type can be created again.
 */
void
compact_ddl_drop_string_leftovers(const TypeDdl *ddl)
{
	compact_ddl_execute("DROP OPERATOR FAMILY IF EXISTS %s.%s_ops USING btree",
						ddl->schema, ddl->name);
	compact_ddl_execute("DROP OPERATOR FAMILY IF EXISTS %s.%s_ops USING hash",
						ddl->schema, ddl->name);
	compact_ddl_execute("DROP OPERATOR FAMILY IF EXISTS %s.%s_minmax_ops USING brin",
						ddl->schema, ddl->name);
	compact_ddl_execute("DROP OPERATOR FAMILY IF EXISTS %s.%s_bloom_ops USING brin",
						ddl->schema, ddl->name);
	compact_ddl_execute("DROP FUNCTION IF EXISTS %s.%s_sortsupport(internal)",
						ddl->schema, ddl->name);
}

/*
 * Create the operators, operator classes, aggregates and casts of the string
 * type.  The names of its C functions begin with symbol, or with make_symbol
 * if they make a value.
 */
void
compact_ddl_create_string_type_parts(const TypeDdl *ddl, const char *symbol,
									 const char *make_symbol)
{
	const char *name = ddl->name;
	const char *attributes = comparison_attributes(ddl);

	compact_ddl_create_comparison_as(ddl, ddl->type, ddl->type, name, symbol, "", "",
									 attributes, ", HASHES, MERGES");
	for (int i = 0; i < (int) lengthof(string_types); i++)
	{
		const char *other = string_types[i].name;
		const char *mark = i < NUM_QUERIED_TYPES ? "" : "#";
		const char *function_of = i < NUM_QUERIED_TYPES ? other : "text";

		compact_ddl_create_comparison_as(ddl, ddl->type, other,
										 psprintf("%s_%s", name, other),
										 psprintf("%s_%s", symbol, function_of),
										 mark, mark, attributes, ", HASHES, MERGES");
		compact_ddl_create_comparison_as(ddl, other, ddl->type,
										 psprintf("%s_%s", other, name),
										 psprintf("%s_%s", function_of, symbol),
										 mark, mark, attributes, ", HASHES, MERGES");
	}
	create_name_operators(ddl, ddl->type, "name");
	create_name_operators(ddl, "name", ddl->type);
	create_classes(ddl, symbol);
	create_brin_classes(ddl);
	compact_ddl_create_extremes(ddl, symbol);
	compact_ddl_create_pattern_operators(ddl, symbol);
	create_casts(ddl, symbol, make_symbol);
}

/*
 * Return the name of the type whose functions the type uses: text for varchar,
 * otherwise the type itself.
 */
static const char *
as_text(const StringType *type)
{
	return strcmp(type->name, "varchar") == 0 ? "text" : type->name;
}

/*
 * Create the operators of varchar with itself or with text.  The operators
 * call core's functions of text.  Declare the functions again, since a family
 * requires functions of its operators' types.
 */
static void
create_varchar_comparison(const TypeDdl *ddl, const char *left, const char *right)
{
	static const char *const functions[][2] = {
		{"lt", "text_lt"}, {"le", "text_le"}, {"eq", "texteq"}, {"ge", "text_ge"},
		{"gt", "text_gt"}, {"ne", "textne"}, {"cmp", "bttextcmp"}
	};
	TypeDdl		core = *ddl;
	char	   *prefix = psprintf("%s_%s", left, right);

	core.library = NULL;
	for (int i = 0; i < (int) lengthof(functions); i++)
		compact_ddl_create_function(&core, psprintf("%s_%s", prefix, functions[i][0]),
									psprintf("%s, %s", left, right),
									strcmp(functions[i][0], "cmp") == 0 ? "int4" : "bool",
									functions[i][1], "IMMUTABLE LEAKPROOF");
	compact_ddl_create_comparison_operators(ddl, left, right, prefix, "#", "#", ", HASHES, MERGES");
}

/*
 * Create the hash functions of varchar, which call core's functions of text.
 */
static void
create_varchar_hash(const TypeDdl *ddl)
{
	TypeDdl		core = *ddl;

	core.library = NULL;
	compact_ddl_create_function(&core, "varchar_hash", "varchar", "int4", "hashtext", "IMMUTABLE");
	compact_ddl_create_function(&core, "varchar_hash_extended", "varchar, int8", "int8",
								"hashtextextended", "IMMUTABLE");
}

/*
 * compact_types.create_string_operators() returns void
 *
 * The extension's script calls this function.  Create the operators of text
 * with bpchar, and of varchar with text, bpchar and varchar; core does not
 * have these.  Also create a btree and a hash family with all operators of the
 * three types.  These operators compare as the operators of a compact type
 * with these types do: trailing blanks are significant in text and varchar,
 * but not in bpchar.
 */
PG_FUNCTION_INFO_V1(compact_types_create_string_operators);
Datum
compact_types_create_string_operators(PG_FUNCTION_ARGS)
{
	TypeDdl		ddl;
	StringInfoData btree;
	StringInfoData hash;
	int			nestlevel;

	if (!creating_extension)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("create_string_operators() can only be called by an extension's script")));

	compact_ddl_init(&ddl, fcinfo->flinfo->fn_oid);
	ddl.opschema = ddl.schema;
	initStringInfo(&btree);
	initStringInfo(&hash);

	SPI_connect();
	nestlevel = compact_ddl_set_gucs();
	for (int i = 0; i < (int) lengthof(string_types); i++)
	{
		for (int j = 0; j < (int) lengthof(string_types); j++)
		{
			const StringType *left = &string_types[i];
			const StringType *right = &string_types[j];

			if (i == j && left->cmp_function != NULL)
				compact_ddl_create_core_comparison(&ddl, left->name, right->name);
			else if (strcmp(as_text(left), as_text(right)) == 0)
				create_varchar_comparison(&ddl, left->name, right->name);
			else
				compact_ddl_create_comparison(&ddl, left->name, right->name,
											  psprintf("%s_%s", left->name, right->name),
											  psprintf("compact_types_%s_%s", as_text(left), as_text(right)),
											  "#");
		}
	}
	create_varchar_hash(&ddl);
	append_string_pairs(&btree, &hash, ddl.schema);
	compact_ddl_execute("CREATE OPERATOR FAMILY %s.string_ops USING btree", ddl.schema);
	compact_ddl_execute("ALTER OPERATOR FAMILY %s.string_ops USING btree ADD %s",
						ddl.schema, btree.data);
	compact_ddl_execute("CREATE OPERATOR FAMILY %s.string_ops USING hash", ddl.schema);
	compact_ddl_execute("ALTER OPERATOR FAMILY %s.string_ops USING hash ADD %s",
						ddl.schema, hash.data);
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	PG_RETURN_VOID();
}
