/*-------------------------------------------------------------------------
 *
 * compact_scalar_ddl.c
 *	  Create the SQL objects of the narrow scalar types.
 *
 * The extension's scripts call compact_types.create_scalars(), which creates
 * the narrow integers and the narrow types of seconds that
 * compact_scalar_list.h lists.  Each of these two groups shares one B-tree and
 * one BRIN family with the wider types.  Loops create the operators for each
 * pair of types.
 *
 * The script of a later version calls the function again, for the integer
 * types that this version adds.  So create only what is missing: a type that
 * does not exist yet, and the operators and casts for the pairs of types that
 * contain such a type.
 *
 * compact_literal.c explains how literals and T = T are resolved.
 *
 * All casts from core's types to a narrow type are assignment casts.  So no
 * operator created here can be chosen for operands of core's types, and an
 * operator of a core type with itself always takes precedence for a literal of
 * unknown type.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_scalar_ddl.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "compact_ddl.h"
#include "compact_scalar.h"

/* Parts of all scalar types */

/*
 * Create the type with its input and output functions.  For example, the input
 * function has the SQL name TYPE_in and the C symbol SYMBOL_in.  storage is
 * the clause of CREATE TYPE that defines the storage.
 */
void
compact_ddl_create_scalar_type(const TypeDdl *ddl, const char *symbol,
							   const char *storage, char category,
							   const char *io_attributes, const char *comment)
{
	const char *schema = ddl->schema;
	const char *name = ddl->name;

	compact_ddl_execute("CREATE TYPE %s", ddl->type);
	compact_ddl_create_function(ddl, psprintf("%s_in", name), "cstring", ddl->type,
								psprintf("%s_in", symbol), io_attributes);
	compact_ddl_create_function(ddl, psprintf("%s_out", name), ddl->type, "cstring",
								psprintf("%s_out", symbol), io_attributes);
	compact_ddl_create_function(ddl, psprintf("%s_recv", name), "internal", ddl->type,
								psprintf("%s_recv", symbol), "IMMUTABLE");
	compact_ddl_create_function(ddl, psprintf("%s_send", name), ddl->type, "bytea",
								psprintf("%s_send", symbol), "IMMUTABLE");
	compact_ddl_execute("CREATE TYPE %s (INPUT = %s.%s_in, OUTPUT = %s.%s_out,"
						" RECEIVE = %s.%s_recv, SEND = %s.%s_send,"
						" %s, CATEGORY = '%c')",
						ddl->type, schema, name, schema, name, schema, name, schema, name,
						storage, category);
	compact_ddl_execute("COMMENT ON TYPE %s IS %s", ddl->type, quote_literal_cstr(comment));
}

/* Create a function that handles NULL arguments itself. */
void
compact_ddl_create_called_on_null(const TypeDdl *ddl, const char *name,
								  const char *args, const char *result,
								  const char *symbol)
{
	compact_ddl_execute("CREATE FUNCTION %s.%s(%s) RETURNS %s AS %s, '%s' LANGUAGE c"
						" IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE",
						ddl->schema, name, args, result, ddl->library, symbol);
}

/*
 * Create sum() and avg().  final_sum and final_avg are the SQL names of their
 * final functions.  fast_sum, if not NULL, is the transition function of a sum
 * that is kept in an int8.
 */
void
compact_ddl_create_sum(const TypeDdl *ddl, const char *symbol, const char *final_sum,
					   const char *final_avg, const char *fast_sum)
{
	const char *schema = ddl->schema;
	char	   *accum = psprintf("%s.%s_accum", schema, ddl->name);
	char	   *args = psprintf("internal, %s", ddl->type);
	char	   *slow;
	char	   *moving;

	compact_ddl_create_called_on_null(ddl, psprintf("%s_accum", ddl->name), args,
									  "internal", psprintf("%s_accum", symbol));
	compact_ddl_create_called_on_null(ddl, psprintf("%s_accum_inv", ddl->name), args,
									  "internal", psprintf("%s_accum_inv", symbol));

	slow = psprintf("SFUNC = %s, STYPE = internal, SSPACE = 32,"
					" COMBINEFUNC = %s.compact_sum_combine,"
					" SERIALFUNC = %s.compact_sum_serialize,"
					" DESERIALFUNC = %s.compact_sum_deserialize",
					accum, schema, schema, schema);
	moving = psprintf("PARALLEL = SAFE, MSFUNC = %s, MINVFUNC = %s_inv,"
					  " MSTYPE = internal, MSSPACE = 32", accum, accum);

	if (fast_sum != NULL)
		compact_ddl_execute("CREATE AGGREGATE %s.sum(%s) (SFUNC = %s.%s, STYPE = int8,"
							" COMBINEFUNC = pg_catalog.int8pl, %s, MFINALFUNC = %s.%s)",
							ddl->opschema, ddl->type, schema, fast_sum, moving,
							schema, final_sum);
	else
		compact_ddl_execute("CREATE AGGREGATE %s.sum(%s) (%s, FINALFUNC = %s.%s,"
							" %s, MFINALFUNC = %s.%s)",
							ddl->opschema, ddl->type, slow, schema, final_sum, moving,
							schema, final_sum);
	compact_ddl_execute("CREATE AGGREGATE %s.avg(%s) (%s, FINALFUNC = %s.%s,"
						" %s, MFINALFUNC = %s.%s)",
						ddl->opschema, ddl->type, slow, schema, final_avg, moving,
						schema, final_avg);
}

/*
 * Add the members to the operator family.  The list of members may be empty,
 * or end with a comma and a space.
 */
void
compact_ddl_extend_family(const TypeDdl *ddl, const char *family,
						  const char *method, StringInfo members)
{
	if (members->len == 0)
		return;
	if (members->data[members->len - 1] == ' ')
	{
		members->len -= 2;
		members->data[members->len] = '\0';
	}
	compact_ddl_execute("ALTER OPERATOR FAMILY %s.%s USING %s ADD %s",
						ddl->schema, family, method, members->data);
}

/*
 * Create the default operator classes for B-tree, hash and BRIN, in existing
 * operator families: family for B-tree and BRIN, hash_family for hash.  offset
 * is the type of a window frame's offset.
 */
void
compact_ddl_create_scalar_classes(const TypeDdl *ddl, const char *family,
								  const char *symbol, const char *hash_symbol,
								  const char *offset, const char *in_range_attributes,
								  const char *hash_family)
{
	const char *schema = ddl->schema;
	const char *opschema = ddl->opschema;
	const char *type = ddl->type;
	const char *name = ddl->name;
	const char *mark = ddl->mark;
	StringInfoData minmax;

	compact_ddl_create_hash_functions(ddl, hash_symbol);
	compact_ddl_create_function(ddl, psprintf("%s_in_range", name),
								psprintf("%s, %s, %s, bool, bool", type, type, offset),
								"bool", psprintf("%s_in_range", symbol), in_range_attributes);

	compact_ddl_execute("CREATE OPERATOR CLASS %s.%s_ops DEFAULT FOR TYPE %s USING btree FAMILY %s.%s AS"
						" OPERATOR 1 %s.%s<%s, OPERATOR 2 %s.%s<=%s, OPERATOR 3 %s.%s=%s,"
						" OPERATOR 4 %s.%s>=%s, OPERATOR 5 %s.%s>%s,"
						" FUNCTION 1 %s.%s_cmp(%s, %s), FUNCTION 2 %s.%s_sortsupport(internal),"
						" FUNCTION 3 (%s, %s) %s.%s_in_range(%s, %s, %s, bool, bool),"
						" FUNCTION 4 pg_catalog.btequalimage(oid)",
						schema, name, type, schema, family,
						opschema, mark, mark, opschema, mark, mark, opschema, mark, mark,
						opschema, mark, mark, opschema, mark, mark,
						schema, name, type, type, schema, name,
						type, offset, schema, name, type, type, offset);
	compact_ddl_create_hash_class(ddl, hash_family);

	initStringInfo(&minmax);
	compact_ddl_append_brin(&minmax, opschema, mark, type, type);
	compact_ddl_create_minmax_class(ddl, family, &minmax);
}

void
compact_ddl_create_cast(const TypeDdl *ddl, const char *source, const char *target,
						const char *function, const char *symbol,
						const char *attributes, bool implicit)
{
	compact_ddl_create_function(ddl, function, source, target, symbol, attributes);
	compact_ddl_execute("CREATE CAST (%s AS %s) WITH FUNCTION %s.%s(%s) AS %s",
						source, target, ddl->schema, function, source,
						implicit ? "IMPLICIT" : "ASSIGNMENT");
}

/*
 * Create the cast to json.  to_json() and to_jsonb() use it for a type that is
 * not core's; without the cast, they make a string of the output function's
 * result.  The cast is explicit, so that nothing else uses it.
 */
void
compact_ddl_create_json_cast(const TypeDdl *ddl, const char *symbol,
							 const char *attributes)
{
	char	   *function = psprintf("%s_to_json", ddl->name);

	compact_ddl_create_function(ddl, function, ddl->type, "json", symbol, attributes);
	compact_ddl_execute("CREATE CAST (%s AS json) WITH FUNCTION %s.%s(%s)",
						ddl->type, ddl->schema, function, ddl->type);
}

/*
 * Integers
 */

/* other types with casts to a narrow integer, and implicit casts from it */
static const char *const integer_cast_types[] = {"numeric", "float4", "float8"};

static const char *const numeric_stand_ins[] = {"numeric_operand", "numeric_left"};

typedef struct ArithmeticOperator
{
	const char *name;
	const char *suffix;			/* of the function's name */
	bool		commutes;
} ArithmeticOperator;

static const ArithmeticOperator arithmetic_operators[] = {
	{"+", "pl", true},
	{"-", "mi", false},
	{"*", "mul", true},
	{"/", "div", false},
	{"%", "mod", false}
};

/* A prefix operator of a type. */
typedef struct UnaryOperator
{
	const char *name;
	const char *suffix;
	bool		widens;			/* the result is that of arithmetic */
} UnaryOperator;

static const UnaryOperator unary_operators[] = {
	{"-", "um", true},
	{"+", "up", false},
	{"@", "abs", true},
	{"~", "not", true}
};

typedef struct BitOperator
{
	const char *name;
	const char *suffix;
	const char *aggregate;
} BitOperator;

static const BitOperator bit_operators[] = {
	{"&", "and", "bit_and"},
	{"|", "or", "bit_or"},
	{"#", "xor", "bit_xor"}
};

static const ArithmeticOperator shift_operators[] = {
	{"<<", "shl", false},
	{">>", "shr", false}
};

/* Create an operator other than a comparison; left is NULL for a prefix operator. */
static void
create_operator(const TypeDdl *ddl, const char *name, const char *left,
				const char *right, const char *result, const char *function,
				const char *symbol, bool commutes)
{
	compact_ddl_create_function(ddl, function,
								left ? psprintf("%s, %s", left, right) : right,
								result, symbol, "IMMUTABLE");
	compact_ddl_execute("CREATE OPERATOR %s.%s (FUNCTION = %s.%s,%s RIGHTARG = %s%s)",
						ddl->opschema, name, ddl->schema, function,
						left ? psprintf(" LEFTARG = %s,", left) : "", right,
						commutes ? psprintf(", COMMUTATOR = OPERATOR(%s.%s)",
											ddl->opschema, name) : "");
}

/* Return the clause of CREATE TYPE that defines the storage. */
static const char *
integer_storage(const CompactInteger *type)
{
	if (INTEGER_BY_REFERENCE(type->bytes))
		return psprintf("INTERNALLENGTH = %d, ALIGNMENT = char", type->bytes);

	return type->bytes == 1 ? "LIKE = pg_catalog.\"char\"" :
		type->bytes == 2 ? "LIKE = pg_catalog.int2" : "LIKE = pg_catalog.int4";
}

/* Return true if the type is created now.  NULL stands for a core type. */
static bool
is_new(const TypeDdl *ddl)
{
	return ddl != NULL && !ddl->exists;
}

static void
create_integer_pair(TypeDdl *const *ddls, int i, int j)
{
	const CompactInteger *left = &compact_integers[i];
	const CompactInteger *right = &compact_integers[j];
	const TypeDdl *ddl = compact_integer_is_narrow(left) ? ddls[i] : ddls[j];
	const char *ltype = compact_integer_is_narrow(left) ? ddls[i]->type : left->name;
	const char *rtype = compact_integer_is_narrow(right) ? ddls[j]->type : right->name;
	const char *result = compact_integers[Max(left->arithmetic, right->arithmetic)].name;
	char	   *symbol = psprintf("compact_%s_%s", left->name, right->name);
	const char *function = i == j ? left->name :
		psprintf("%s_%s", left->name, right->name);

	compact_ddl_create_comparison(ddl, ltype, rtype, function, symbol,
								  i == j ? ddl->mark : "");
	for (int k = 0; k < (int) lengthof(arithmetic_operators); k++)
	{
		const ArithmeticOperator *op = &arithmetic_operators[k];
		const char *mark = i == j ? ddl->mark : "";

		create_operator(ddl, psprintf("%s%s%s", mark, op->name, mark), ltype, rtype,
						result, psprintf("%s_%s", function, op->suffix),
						psprintf("%s_%s", symbol, op->suffix), op->commutes);
	}
}

/*
 * Create the arithmetic operators of the type with a literal, with a parameter
 * without a type, and with itself; see compact_literal.c.  A literal may
 * exceed the range of the type.
 */
static void
create_literal_arithmetic(const TypeDdl *ddl, const char *result)
{
	const char *name = ddl->name;
	char	   *literal = psprintf("%s.integer_literal", ddl->schema);
	char	   *operand = psprintf("%s.integer_operand", ddl->schema);

	for (int i = 0; i < (int) lengthof(arithmetic_operators); i++)
	{
		const ArithmeticOperator *op = &arithmetic_operators[i];
		char	   *function = psprintf("%s_integer_operand_%s", name, op->suffix);
		char	   *symbol = psprintf("compact_%s_literal_%s", name, op->suffix);

		create_operator(ddl, op->name, ddl->type, literal, result,
						psprintf("%s_integer_literal_%s", name, op->suffix),
						symbol, op->commutes);
		create_operator(ddl, op->name, literal, ddl->type, result,
						psprintf("integer_literal_%s_%s", name, op->suffix),
						psprintf("compact_literal_%s_%s", name, op->suffix),
						op->commutes);
		create_operator(ddl, op->name, ddl->type, operand, result, function,
						symbol, false);
		compact_ddl_execute("ALTER FUNCTION %s.%s(%s, %s) SUPPORT %s.comparison_support",
							ddl->schema, function, ddl->type, operand, ddl->schema);
	}
}

/*
 * Create unary and bitwise operators and functions.  The implicit casts would
 * not suffice: the operators would be ambiguous, or the result would be double
 * precision.
 */
static void
create_integer_operators(const TypeDdl *ddl, const char *symbol, const char *result)
{
	const char *name = ddl->name;
	const char *type = ddl->type;

	for (int i = 0; i < (int) lengthof(unary_operators); i++)
	{
		const UnaryOperator *op = &unary_operators[i];

		create_operator(ddl, op->name, NULL, type, op->widens ? result : type,
						psprintf("%s_%s", name, op->suffix),
						psprintf("%s_%s", symbol, op->suffix), false);
	}
	for (int i = 0; i < (int) lengthof(bit_operators); i++)
	{
		const BitOperator *op = &bit_operators[i];
		char	   *function = psprintf("%s_%s", name, op->suffix);

		create_operator(ddl, op->name, type, type, type, function,
						psprintf("%s_%s", symbol, op->suffix), true);
		compact_ddl_execute("CREATE AGGREGATE %s.%s(%s) (SFUNC = %s.%s, STYPE = %s,"
							" COMBINEFUNC = %s.%s, PARALLEL = SAFE)",
							ddl->opschema, op->aggregate, type, ddl->schema, function,
							type, ddl->schema, function);
	}
	for (int i = 0; i < (int) lengthof(shift_operators); i++)
	{
		const ArithmeticOperator *op = &shift_operators[i];

		create_operator(ddl, op->name, type, "int4", result,
						psprintf("%s_%s", name, op->suffix),
						psprintf("%s_%s", symbol, op->suffix), op->commutes);
	}

	/*
	 * core has functions of these names: create ours in the schema of the
	 * operators
	 */
	compact_ddl_execute("CREATE FUNCTION %s.abs(%s) RETURNS %s AS %s, '%s_abs'"
						" LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE",
						ddl->opschema, type, result, ddl->library, symbol);
	compact_ddl_execute("CREATE FUNCTION %s.mod(%s, %s) RETURNS %s AS %s, '%s_%s_mod'"
						" LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE",
						ddl->opschema, type, type, result, ddl->library, symbol, name);
	compact_ddl_execute("COMMENT ON FUNCTION %s.abs(%s) IS 'absolute value'",
						ddl->opschema, type);
	compact_ddl_execute("COMMENT ON FUNCTION %s.mod(%s, %s) IS 'modulus'",
						ddl->opschema, type, type);
}

/*
 * Create the operators, aggregates and operator classes of one narrow type.
 * All types must already exist.
 */
static void
create_integer_parts(const TypeDdl *ddl, const CompactInteger *integer)
{
	const char *name = ddl->name;
	const char *type = ddl->type;
	char	   *symbol = psprintf("compact_%s", name);
	const char *result = compact_integers[integer->arithmetic].name;

	create_integer_operators(ddl, symbol, result);
	create_literal_arithmetic(ddl, result);
	compact_ddl_create_extremes(ddl, symbol);
	/* like core's sum(), sum up int4 as int8, and int8 as numeric */
	if (integer->arithmetic == INTEGER_int4)
	{
		compact_ddl_create_called_on_null(ddl, psprintf("%s_sum", name),
										  psprintf("int8, %s", type), "int8",
										  psprintf("%s_sum", symbol));
		compact_ddl_create_sum(ddl, symbol, "compact_sum_int8", "compact_sum_avg",
							   psprintf("%s_sum", name));
	}
	else
	{
		char	   *final = psprintf("%s_sum", name);

		compact_ddl_create_called_on_null(ddl, final, "internal", "numeric",
										  "compact_sum_numeric_final");
		compact_ddl_create_sum(ddl, symbol, final, "compact_sum_avg", NULL);
	}

	compact_ddl_create_function(ddl, psprintf("%s_sortsupport", name), "internal", "void",
								psprintf("%s_sortsupport", symbol), "IMMUTABLE");
	compact_ddl_create_scalar_classes(ddl, "integer_ops", symbol, symbol, "int8",
									  "IMMUTABLE", "integer_ops");
}

static void
create_integer_cast(const TypeDdl *ddl, const char *source_name,
					const char *source, const char *target_name,
					const char *target, bool implicit)
{
	compact_ddl_create_cast(ddl, source, target,
							psprintf("%s_to_%s", source_name, target_name),
							psprintf("compact_cast_%s_%s", source_name, target_name),
							"IMMUTABLE", implicit);
}

/*
 * Create the casts of one narrow type, except casts between two types that are
 * not new.
 */
static void
create_integer_casts(TypeDdl *const *ddls, int i)
{
	const TypeDdl *ddl = ddls[i];
	const CompactInteger *type = &compact_integers[i];

	for (int j = 0; j < N_INTEGERS; j++)
	{
		const CompactInteger *other = &compact_integers[j];

		if (i == j || !(is_new(ddl) || is_new(ddls[j])))
			continue;
		if (compact_integer_is_narrow(other))
			create_integer_cast(ddl, ddl->name, ddl->type,
								other->name, ddls[j]->type,
								compact_integer_is_unsigned(type) &&
								compact_integer_is_unsigned(other) && type->max < other->max);
		else
		{
			/* not implicit to a type that can be too small for the value */
			create_integer_cast(ddl, ddl->name, ddl->type, other->name,
								other->name, other->typid != INT2OID &&
								other->max >= type->max);
			create_integer_cast(ddl, other->name, other->name, ddl->name,
								ddl->type, false);
		}
	}
	if (!is_new(ddl))
		return;
	for (int j = 0; j < (int) lengthof(integer_cast_types); j++)
	{
		const char *other = integer_cast_types[j];

		create_integer_cast(ddl, ddl->name, ddl->type, other, other, true);
		create_integer_cast(ddl, other, other, ddl->name, ddl->type, false);
	}
	/* for comparison with a decimal, see compact_literal.c */
	for (int j = 0; j < (int) lengthof(numeric_stand_ins); j++)
		compact_ddl_create_cast(ddl, ddl->type,
								psprintf("%s.%s", ddl->schema, numeric_stand_ins[j]),
								psprintf("%s_to_%s", ddl->name, numeric_stand_ins[j]),
								psprintf("compact_cast_%s_numeric", ddl->name),
								"IMMUTABLE", true);
	compact_ddl_create_json_cast(ddl, psprintf("compact_cast_%s_json", ddl->name), "IMMUTABLE");
}

/* Return the name of core's comparison function for two integer types. */
static const char *
core_integer_cmp(const char *left, const char *right)
{
	if (strcmp(left, right) == 0)
		return psprintf("pg_catalog.bt%scmp", left);

	return psprintf("pg_catalog.btint%s%scmp", left + 3, right + 3);
}

/*
 * Add the created operators and functions to the operator families, which are
 * empty if first is true.
 */
static void
extend_integer_families(TypeDdl *const *ddls, bool first)
{
	const TypeDdl *ddl = ddls[0];
	StringInfoData btree;
	const struct WideTwin *twin = compact_ddl_wide_twin("int8");
	StringInfoData hash;
	StringInfoData brin;

	initStringInfo(&btree);
	initStringInfo(&hash);
	initStringInfo(&brin);
	for (int i = 0; i < N_INTEGERS; i++)
	{
		const CompactInteger *left = &compact_integers[i];
		const char *ltype = compact_integer_is_narrow(left) ? ddls[i]->type : left->name;

		for (int j = 0; j < N_INTEGERS; j++)
		{
			const CompactInteger *right = &compact_integers[j];
			const char *rtype = compact_integer_is_narrow(right) ? ddls[j]->type : right->name;

			if (i == j && compact_integer_is_narrow(left))
				continue;		/* the operator class has these */
			if (compact_integer_is_narrow(left) || compact_integer_is_narrow(right))
			{
				if (!is_new(ddls[i]) && !is_new(ddls[j]))
					continue;
				compact_ddl_append_pair(&btree, &hash, ddl->opschema, "", ltype, rtype,
										psprintf("%s.%s_%s_cmp", ddl->schema,
												 left->name, right->name));
			}
			else if (first)
			{
				compact_ddl_create_core_comparison(ddl, ltype, rtype);
				compact_ddl_append_pair(&btree, &hash, ddl->schema, "#", ltype, rtype,
										core_integer_cmp(ltype, rtype));
			}
			if (compact_integer_is_narrow(left))
				compact_ddl_append_brin(&brin, ddl->opschema, "", ltype, rtype);
		}
		if (is_new(ddls[i]))
			compact_ddl_create_stand_in_operators(ddls[i], twin,
												  psprintf("compact_%s_int8", left->name),
												  psprintf("compact_int8_%s", left->name),
												  psprintf("compact_cast_%s_int8", left->name),
												  psprintf("compact_cast_int8_%s", left->name),
												  "IMMUTABLE LEAKPROOF", &btree, &hash, &brin);
	}
	if (first)
	{
		compact_ddl_append_stand_ins(ddl, twin, &btree, &hash);
		appendStringInfoString(&btree,
							   "FUNCTION 2 (int2, int2) pg_catalog.btint2sortsupport(internal),"
							   " FUNCTION 2 (int4, int4) pg_catalog.btint4sortsupport(internal),"
							   " FUNCTION 2 (int8, int8) pg_catalog.btint8sortsupport(internal)");
		appendStringInfoString(&hash,
							   "FUNCTION 1 (int2, int2) pg_catalog.hashint2(int2),"
							   " FUNCTION 2 (int2, int2) pg_catalog.hashint2extended(int2, int8),"
							   " FUNCTION 1 (int4, int4) pg_catalog.hashint4(int4),"
							   " FUNCTION 2 (int4, int4) pg_catalog.hashint4extended(int4, int8),"
							   " FUNCTION 1 (int8, int8) pg_catalog.hashint8(int8),"
							   " FUNCTION 2 (int8, int8) pg_catalog.hashint8extended(int8, int8)");
	}
	compact_ddl_extend_family(ddl, "integer_ops", "btree", &btree);
	compact_ddl_extend_family(ddl, "integer_ops", "hash", &hash);
	compact_ddl_extend_family(ddl, "integer_ops", "brin", &brin);
}

/*
 * Create the missing types; first is true if none of them exists.  ddls gets
 * the names of the narrow types, and NULL for core's types.
 */
static void
create_integers(Oid funcid, Oid nspid, bool first, TypeDdl **ddls)
{
	for (int i = 0; i < N_INTEGERS; i++)
	{
		const CompactInteger *type = &compact_integers[i];

		ddls[i] = NULL;
		if (!compact_integer_is_narrow(type))
			continue;
		ddls[i] = palloc(sizeof(TypeDdl));
		compact_ddl_init(ddls[i], funcid);
		compact_ddl_init_type_or_find(ddls[i], type->name, nspid);
		ddls[i]->mark = "#";
		if (is_new(ddls[i]))
			compact_ddl_create_scalar_type(ddls[i], psprintf("compact_%s", type->name),
										   integer_storage(type), 'N', "IMMUTABLE",
										   psprintf("%s, %lld to %lld", type->comment,
													(long long) type->min, (long long) type->max));
	}
	for (int i = 0; i < N_INTEGERS; i++)
	{
		for (int j = 0; j < N_INTEGERS; j++)
		{
			if (is_new(ddls[i]) || is_new(ddls[j]))
				create_integer_pair(ddls, i, j);
		}
	}
	if (first)
	{
		compact_ddl_execute("CREATE OPERATOR FAMILY %s.integer_ops USING btree", ddls[0]->schema);
		compact_ddl_execute("CREATE OPERATOR FAMILY %s.integer_ops USING hash", ddls[0]->schema);
		compact_ddl_execute("CREATE OPERATOR FAMILY %s.integer_ops USING brin", ddls[0]->schema);
	}
	for (int i = 0; i < N_INTEGERS; i++)
	{
		if (!compact_integer_is_narrow(&compact_integers[i]))
			continue;
		if (is_new(ddls[i]))
			create_integer_parts(ddls[i], &compact_integers[i]);
		create_integer_casts(ddls, i);
	}
	extend_integer_families(ddls, first);
}

/*
 * compact_types.create_scalars() returns void
 *
 * The extension's scripts call this function, see the head of this file.  A
 * later version can add an integer type, but not a type of seconds, because
 * the types of seconds and their operator families are created together.
 * Error: 55000 if called elsewhere.
 */
PG_FUNCTION_INFO_V1(compact_types_create_scalars);
Datum
compact_types_create_scalars(PG_FUNCTION_ARGS)
{
	Oid			funcid = fcinfo->flinfo->fn_oid;
	Oid			nspid = compact_ddl_creation_schema();
	TypeDdl		ddl;
	TypeDdl    *integers[N_INTEGERS];
	bool		first;
	int			nestlevel;

	if (!creating_extension)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("create_scalars() can only be called by an extension's script")));

	compact_ddl_init(&ddl, funcid);
	SPI_connect();
	nestlevel = compact_ddl_set_gucs();

	/* if this type exists, all objects that the types share exist too */
	first = !compact_ddl_type_exists(&ddl, "integer_literal");
	if (first)
	{
		compact_ddl_create_called_on_null(&ddl, "compact_sum_combine", "internal, internal",
										  "internal", "compact_sum_combine");
		compact_ddl_create_function(&ddl, "compact_sum_serialize", "internal", "bytea",
									"compact_sum_serialize", "IMMUTABLE");
		compact_ddl_create_function(&ddl, "compact_sum_deserialize", "bytea, internal",
									"internal", "compact_sum_deserialize", "IMMUTABLE");
		compact_ddl_create_called_on_null(&ddl, "compact_sum_int8", "internal", "int8",
										  "compact_sum_int8");
		compact_ddl_create_called_on_null(&ddl, "compact_sum_avg", "internal", "numeric",
										  "compact_sum_avg");
		compact_ddl_create_stand_ins(&ddl);
	}
	create_integers(funcid, nspid, first, integers);
	if (first)
	{
		compact_ddl_create_seconds(funcid, nspid);
		/* the operator families of the decimals need these */
		compact_ddl_create_core_comparison(&ddl, "numeric", "numeric");
	}
	compact_ddl_create_uint8(funcid, nspid, integers);

	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	PG_RETURN_VOID();
}
