/*-------------------------------------------------------------------------
 *
 * compact_text_ddl.c
 *	  Create the SQL objects of the type compact_text.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_text_ddl.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/extension.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "compact_ddl.h"

/*
 * Create the type, with its input and output functions and its type modifier.
 * The names of the C functions that make values begin with make_symbol.
 */
static void
create_type(const TypeDdl *ddl, const char *make_symbol, const char *comment)
{
	const char *schema = ddl->schema;
	const char *name = ddl->name;
	const char *type = ddl->type;

	compact_ddl_execute("CREATE TYPE %s", type);

	/*
	 * recv and send are STABLE: they convert between server and client
	 * encoding
	 */
	compact_ddl_create_function(ddl, psprintf("%s_in", name), "cstring, oid, int4", type,
								psprintf("%s_in", make_symbol), "IMMUTABLE");
	compact_ddl_create_function(ddl, psprintf("%s_out", name), type, "cstring",
								"compact_text_out", "IMMUTABLE");
	compact_ddl_create_function(ddl, psprintf("%s_recv", name), "internal, oid, int4", type,
								psprintf("%s_recv", make_symbol), "STABLE");
	compact_ddl_create_function(ddl, psprintf("%s_send", name), type, "bytea",
								"compact_text_send", "STABLE");
	compact_ddl_create_function(ddl, psprintf("%s_typmod_in", name), "cstring[]", "int4",
								psprintf("%s_typmod_in", make_symbol), "IMMUTABLE");
	compact_ddl_create_function(ddl, psprintf("%s_typmod_out", name), "int4", "cstring",
								"compact_text_typmod_out", "IMMUTABLE");

	compact_ddl_execute("CREATE TYPE %s (INPUT = %s.%s_in, OUTPUT = %s.%s_out,"
						" RECEIVE = %s.%s_recv, SEND = %s.%s_send,"
						" TYPMOD_IN = %s.%s_typmod_in, TYPMOD_OUT = %s.%s_typmod_out,"
						" ANALYZE = %s.compact_char_typanalyze,"
						" INTERNALLENGTH = variable, ALIGNMENT = int4, STORAGE = extended,"
						" CATEGORY = 'S', COLLATABLE = true)",
						type, schema, name, schema, name, schema, name, schema, name,
						schema, name, schema, name, schema);
	compact_ddl_execute("COMMENT ON TYPE %s IS '%s'", type, comment);
}

/*
 * Create the SP-GiST operator class, which has the operators of core's class
 * text_ops for which the type has operators of its own.  The C functions choose
 * by the right operand's type how to read a searched value.  All types share
 * the functions, except those that take or make a value of the type.
 */
static void
create_spgist_class(const TypeDdl *ddl, const char *make_symbol)
{
	static const struct
	{
		const char *name;
		int			strategy;
	}			operators[] = {
		{"=", 3}, {"<", 11}, {"<=", 12}, {">=", 14}, {">", 15}
	};
	const char *schema = ddl->schema;
	const char *type = ddl->type;
	bool		first = strcmp(ddl->name, "compact_text") == 0;
	const char *leaf = first ? "spg_leaf_consistent" :
		psprintf("%s_spg_leaf_consistent", ddl->name);
	StringInfoData members;
	TypeDdl		core = *ddl;

	if (first)
	{
		core.library = NULL;
		compact_ddl_create_function(ddl, "spg_config", "internal, internal", "void",
									"compact_text_spg_config", "IMMUTABLE");
		compact_ddl_create_function(ddl, "spg_choose", "internal, internal", "void",
									"compact_text_spg_choose", "IMMUTABLE");
		compact_ddl_create_function(&core, "spg_picksplit", "internal, internal", "void",
									"spg_text_picksplit", "IMMUTABLE");
		compact_ddl_create_function(ddl, "spg_inner_consistent", "internal, internal", "void",
									"compact_text_spg_inner_consistent", "IMMUTABLE");
	}
	compact_ddl_create_function(ddl, leaf, "internal, internal", "bool",
								psprintf("%s_spg_leaf_consistent", make_symbol), "IMMUTABLE");
	compact_ddl_create_function(ddl, "spg_compress", type, "text",
								"compact_text_spg_compress", "IMMUTABLE");

	initStringInfo(&members);
	for (int i = 0; i < (int) lengthof(operators); i++)
		appendStringInfo(&members, "OPERATOR %d %s.%s (%s, %s), OPERATOR %d %s.%s (%s, text), ",
						 operators[i].strategy, ddl->opschema, operators[i].name, type, type,
						 operators[i].strategy, ddl->opschema, operators[i].name, type);
	compact_ddl_execute("CREATE OPERATOR CLASS %s.%s_spgist_ops DEFAULT FOR TYPE %s USING spgist AS %s"
						"OPERATOR 28 %s.^@ (%s, text),"
						" FUNCTION 1 %s.spg_config(internal, internal),"
						" FUNCTION 2 %s.spg_choose(internal, internal),"
						" FUNCTION 3 %s.spg_picksplit(internal, internal),"
						" FUNCTION 4 %s.spg_inner_consistent(internal, internal),"
						" FUNCTION 5 %s.%s(internal, internal),"
						" FUNCTION 6 %s.spg_compress(%s),"
						" STORAGE text",
						schema, ddl->name, type, members.data, ddl->opschema, type,
						schema, schema, schema, schema, schema, leaf, schema, type);
}

/*
 * Create the type of variable-length strings that ddl names, with its
 * functions, operators, casts and operator classes.  All such types have the C
 * functions of compact_text, except that the names of those that make values
 * begin with make_symbol.
 */
void
compact_ddl_create_text_type(TypeDdl *ddl, const char *make_symbol, const char *comment)
{
	ddl->typmod = true;
	create_type(ddl, make_symbol, comment);
	compact_ddl_create_string_type_parts(ddl, "compact_text", make_symbol);
	create_spgist_class(ddl, make_symbol);

	/*
	 * with core's support function, ALTER TABLE to a larger limit does not
	 * rewrite the table
	 */
	compact_ddl_create_function(ddl, ddl->name, psprintf("%s, int4, bool", ddl->type),
								ddl->type, make_symbol,
								"IMMUTABLE SUPPORT pg_catalog.varchar_support");
	compact_ddl_execute("CREATE CAST (%s AS %s) WITH FUNCTION %s.%s(%s, int4, bool) AS IMPLICIT",
						ddl->type, ddl->type, ddl->schema, ddl->name, ddl->type);

	compact_ddl_create_function(ddl, "codec", ddl->type, "text", "compact_text_codec", "IMMUTABLE");
	compact_ddl_execute("COMMENT ON FUNCTION %s.codec(%s) IS 'how the value is encoded'",
						ddl->schema, ddl->type);
}

/*
 * compact_types.create_text() returns void
 *
 * The extension's script calls this function to create the type compact_text
 * with its functions, operators, casts and operator classes.
 */
PG_FUNCTION_INFO_V1(compact_types_create_text);
Datum
compact_types_create_text(PG_FUNCTION_ARGS)
{
	TypeDdl		ddl;
	int			nestlevel;

	if (!creating_extension)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("create_text() can only be called by an extension's script")));

	SPI_connect();
	compact_ddl_init(&ddl, fcinfo->flinfo->fn_oid);
	compact_ddl_init_type(&ddl, "compact_text", compact_ddl_creation_schema());
	nestlevel = compact_ddl_set_gucs();
	compact_ddl_create_text_type(&ddl, "compact_text",
								 "variable-length string, stored in an encoded form");
	compact_ddl_create_compact_text_twins(&ddl);
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	PG_RETURN_VOID();
}
