/*-------------------------------------------------------------------------
 *
 * compact_literal_ddl.c
 *	  Create the types that stand in for literals, and for a narrow scalar type
 *	  on the right side of a comparison with itself; create their operators.
 *
 * compact_literal.c explains the purpose of these types.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_literal_ddl.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "utils/builtins.h"

#include "compact_ddl.h"
#include "compact_scalar.h"

const struct WideTwin *
compact_ddl_wide_twin(const char *name)
{
	for (int i = 0; i < N_WIDE_TWINS; i++)
	{
		if (strcmp(compact_wide_twins[i].name, name) == 0)
			return &compact_wide_twins[i];
	}
	elog(ERROR, "type %s has no types that stand in for it", name);
}

static char *
stand_in_type(const TypeDdl *ddl, const struct WideTwin *twin, const char *role)
{
	return psprintf("%s.%s_%s", ddl->schema, twin->kind, role);
}

static void
create_stand_in(const TypeDdl *ddl, const struct WideTwin *twin, const char *role,
				char category, bool preferred, const char *comment)
{
	TypeDdl		core = *ddl;
	char	   *name = psprintf("%s_%s", twin->kind, role);
	char	   *type = stand_in_type(ddl, twin, role);
	const char *typmod = twin->typmod ? ", oid, int4" : "";

	core.library = NULL;
	compact_ddl_execute("CREATE TYPE %s", type);
	compact_ddl_create_function(&core, psprintf("%s_in", name), psprintf("cstring%s", typmod),
								type, psprintf("%sin", twin->function), twin->io_attributes);
	compact_ddl_create_function(&core, psprintf("%s_out", name), type, "cstring",
								psprintf("%sout", twin->function), twin->io_attributes);
	compact_ddl_create_function(&core, psprintf("%s_recv", name), psprintf("internal%s", typmod),
								type, psprintf("%srecv", twin->function), "IMMUTABLE");
	compact_ddl_create_function(&core, psprintf("%s_send", name), type, "bytea",
								psprintf("%ssend", twin->function), "IMMUTABLE");
	compact_ddl_execute("CREATE TYPE %s (INPUT = %s_in, OUTPUT = %s_out, RECEIVE = %s_recv,"
						" SEND = %s_send, LIKE = pg_catalog.%s, CATEGORY = '%c', PREFERRED = %s)",
						type, type, type, type, type, twin->name, category,
						preferred ? "true" : "false");
	compact_ddl_execute("COMMENT ON TYPE %s IS %s", type, quote_literal_cstr(comment));

	/* scans with = ANY (array) compare and hash values of the stand-in type */
	core.opschema = ddl->schema;
	if (twin->own)
		core.library = ddl->library;
	compact_ddl_create_comparison_as(&core, type, type, name, twin->comparison, "#", "#",
									 "IMMUTABLE LEAKPROOF", ", HASHES, MERGES");
	core.library = NULL;
	compact_ddl_create_function(&core, psprintf("%s_hash", name), type, "int4", twin->hash,
								"IMMUTABLE");
	compact_ddl_create_function(&core, psprintf("%s_hash_extended", name), psprintf("%s, int8", type),
								"int8", twin->hash_extended, "IMMUTABLE");
}

/*
 * Create the casts between a stand-in and core's types.  CHECK constraints and
 * indexes can contain stand-ins, for example u < '300'::integer_literal or u =
 * v::integer_operand.  With the cast to the wide type, PostgreSQL can read
 * such an expression again after the column was changed back to the wide type.
 * The casts from core's types are implicit only for the stand-ins of numeric.
 * With these casts, the parser finds operators for comparisons of a decimal
 * with numeric and with the integers.
 */
static void
create_stand_in_casts(const TypeDdl *ddl, const struct WideTwin *twin, const char *role)
{
	static const char *const integers[] = {"int2", "int4", "int8"};
	bool		is_numeric = strcmp(twin->name, "numeric") == 0;
	const char *context = is_numeric ? " AS IMPLICIT" : "";
	TypeDdl		core = *ddl;
	char	   *type = stand_in_type(ddl, twin, role);

	compact_ddl_execute("CREATE CAST (%s AS %s) WITHOUT FUNCTION AS IMPLICIT", type, twin->name);
	if (strcmp(role, "literal") == 0)
		return;
	compact_ddl_execute("CREATE CAST (%s AS %s) WITHOUT FUNCTION%s", twin->name, type, context);
	core.library = NULL;
	for (int i = 0; twin->category == 'N' && i < (int) lengthof(integers); i++)
	{
		char	   *function = psprintf("%s_to_%s_%s", integers[i], twin->kind, role);

		if (strcmp(integers[i], twin->name) == 0)
			continue;
		compact_ddl_create_function(&core, function, integers[i], type,
									is_numeric ? psprintf("%s_numeric", integers[i]) :
									psprintf("int%s8", integers[i] + 3), "IMMUTABLE");
		compact_ddl_execute("CREATE CAST (%s AS %s) WITH FUNCTION %s.%s(%s)%s", integers[i],
							type, ddl->schema, function, integers[i], context);
	}
}

/* Create all stand-ins, in the schema of compact_types. */
void
compact_ddl_create_stand_ins(const TypeDdl *ddl)
{
	for (int i = 0; i < N_WIDE_TWINS; i++)
	{
		const struct WideTwin *twin = &compact_wide_twins[i];

		create_stand_in(ddl, twin, "literal", 'S', false,
						psprintf("literal or parameter without a type in a comparison with a compact type, read as %s",
								 twin->name));
		if (twin->category != 0)
			create_stand_in(ddl, twin, "operand", twin->category, true,
							psprintf("right side of a comparison of compact types, stored as %s",
									 twin->name));
		if (twin->left)
			create_stand_in(ddl, twin, "left", twin->category, true,
							psprintf("left side of a comparison with a compact type, stored as %s",
									 twin->name));
		for (int role = 0; role < compact_n_stand_ins(twin); role++)
			create_stand_in_casts(ddl, twin, compact_stand_in_roles[role]);
	}
}

/*
 * Create the operators that compare the type with its stand-ins, the cast to
 * the operand type, and the cast that stores a literal.  The operators use the
 * C functions that compare the type with its wide type.  symbol is the prefix
 * of the functions with the wide type on the right side, and reverse_symbol is
 * the prefix of the functions with the wide type on the left side.  Add the
 * operators to the lists of the operator families' members.
 */
void
compact_ddl_create_stand_in_operators(const TypeDdl *ddl, const struct WideTwin *twin,
									  const char *symbol, const char *reverse_symbol,
									  const char *cast_symbol,
									  const char *reverse_cast_symbol,
									  const char *attributes,
									  StringInfo btree, StringInfo hash, StringInfo brin)
{
	const char *name = ddl->name;
	const char *type = ddl->type;
	char	   *literal = stand_in_type(ddl, twin, "literal");
	char	   *left_name = psprintf("%s_%s_literal", name, twin->kind);
	char	   *right_name = psprintf("%s_literal_%s", twin->kind, name);
	char	   *supported = psprintf("%s SUPPORT %s.comparison_support", attributes, ddl->schema);

	compact_ddl_create_comparison_as(ddl, type, literal, left_name, symbol, "", "",
									 supported, "");
	compact_ddl_create_comparison_as(ddl, literal, type, right_name, reverse_symbol, "", "",
									 supported, "");
	compact_ddl_append_pair(btree, hash, ddl->opschema, "", type, literal,
							psprintf("%s.%s_cmp", ddl->schema, left_name));
	compact_ddl_append_pair(btree, hash, ddl->opschema, "", literal, type,
							psprintf("%s.%s_cmp", ddl->schema, right_name));
	compact_ddl_append_brin(brin, ddl->opschema, "", type, literal);
	/* SET d = $1 WHERE d <> $1 assigns a parameter of the literal type to d */
	compact_ddl_create_cast(ddl, literal, type, psprintf("%s_literal_to_%s", twin->kind, name),
							reverse_cast_symbol, "IMMUTABLE", false);

	if (twin->category != 0)
	{
		char	   *operand = stand_in_type(ddl, twin, "operand");
		char	   *function = psprintf("%s_%s_operand", name, twin->kind);

		/*
		 * create no commutator of the same name: an operator operand = T
		 * would make T = T ambiguous again
		 */
		compact_ddl_create_comparison_as(ddl, type, operand, function, symbol, "", NULL,
										 supported, "");
		compact_ddl_append_pair(btree, hash, ddl->opschema, "", type, operand,
								psprintf("%s.%s_cmp", ddl->schema, function));
		compact_ddl_append_brin(brin, ddl->opschema, "", type, operand);
		compact_ddl_create_cast(ddl, type, operand,
								psprintf("%s_to_%s_operand", name, twin->kind), cast_symbol,
								"IMMUTABLE", true);
	}
	if (twin->left)
	{
		char	   *left = stand_in_type(ddl, twin, "left");
		char	   *function = psprintf("%s_left_%s", twin->kind, name);

		compact_ddl_create_comparison_as(ddl, left, type, function, reverse_symbol, "", NULL,
										 supported, "");
		compact_ddl_append_pair(btree, hash, ddl->opschema, "", left, type,
								psprintf("%s.%s_cmp", ddl->schema, function));
	}
}

/*
 * Add the operators that compare each stand-in with itself to the lists of the
 * operator families' members.
 */
void
compact_ddl_append_stand_ins(const TypeDdl *ddl, const struct WideTwin *twin, StringInfo btree,
							 StringInfo hash)
{
	for (int i = 0; i < compact_n_stand_ins(twin); i++)
	{
		char	   *type = stand_in_type(ddl, twin, compact_stand_in_roles[i]);

		compact_ddl_append_pair(btree, hash, ddl->schema, "#", type, type,
								psprintf("%s_cmp", type));
		appendStringInfo(hash, "FUNCTION 1 (%s, %s) %s_hash(%s),"
						 " FUNCTION 2 (%s, %s) %s_hash_extended(%s, int8), ",
						 type, type, type, type, type, type, type, type);
	}
}
