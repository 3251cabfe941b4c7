/*-------------------------------------------------------------------------
 *
 * compact_char_ddl.c
 *	  Create the SQL objects of one fixed-length string type.
 *
 * compact_types.create_char(N) creates the type compact_charN in the current
 * schema, with its functions, operators, casts and operator classes.  It
 * creates functions and operator classes in the schema of compact_types.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_char_ddl.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compact_ddl.h"
#include "compact_types.h"

/* Create the type, with its input and output functions. */
static void
create_type(const TypeDdl *ddl, int length)
{
	compact_ddl_execute("CREATE TYPE %s", ddl->type);

	/*
	 * recv and send are STABLE: they convert between server and client
	 * encoding
	 */
	compact_ddl_create_function(ddl, psprintf("%s_in", ddl->name), "cstring", ddl->type,
								"compact_char_in", "IMMUTABLE");
	compact_ddl_create_function(ddl, psprintf("%s_out", ddl->name), ddl->type, "cstring",
								"compact_char_out", "IMMUTABLE");
	compact_ddl_create_function(ddl, psprintf("%s_recv", ddl->name), "internal", ddl->type,
								"compact_char_recv", "STABLE");
	compact_ddl_create_function(ddl, psprintf("%s_send", ddl->name), ddl->type, "bytea",
								"compact_char_send", "STABLE");

	compact_ddl_execute("CREATE TYPE %s (INPUT = %s.%s_in, OUTPUT = %s.%s_out,"
						" RECEIVE = %s.%s_recv, SEND = %s.%s_send,"
						" ANALYZE = %s.compact_char_typanalyze,"
						" INTERNALLENGTH = %d, ALIGNMENT = char, STORAGE = plain,"
						" CATEGORY = 'S', COLLATABLE = true)",
						ddl->type, ddl->schema, ddl->name, ddl->schema, ddl->name,
						ddl->schema, ddl->name, ddl->schema, ddl->name, ddl->schema, length);
	compact_ddl_execute("COMMENT ON TYPE %s IS 'fixed-length string of up to %d bytes, stored without a header'",
						ddl->type, length);
}

/* Callback: create all objects of the type.  arg points to the length. */
static void
create_objects(const TypeDdl *ddl, void *arg)
{
	compact_ddl_drop_string_leftovers(ddl);
	create_type(ddl, *(int32 *) arg);
	compact_ddl_create_string_type_parts(ddl, "compact_char", "compact_char");

	/*
	 * Without this cast, PostgreSQL would convert a value with the output
	 * function, which adds blanks.
	 */
	(void) compact_ddl_create_compact_text_cast(ddl, "compact_char_compact_text");
}

/*
 * compact_types.create_char(length int4) returns regtype
 *
 * Create the type compact_charN, N = length in bytes (1 to 32767), in the
 * current schema, and return it.  Errors: 22023 for a length out of range,
 * 42710 if the type exists already, 42501 without the privilege.
 */
PG_FUNCTION_INFO_V1(compact_types_create_char);
Datum
compact_types_create_char(PG_FUNCTION_ARGS)
{
	int32		length = PG_GETARG_INT32(0);
	Oid			funcid = fcinfo->flinfo->fn_oid;
	Oid			typid;
	bool		local;

	if (length < 1 || length > COMPACT_CHAR_MAX_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("length %d of a fixed-length string type is out of range",
						length),
				 errhint("The length must be between 1 and %d bytes.",
						 COMPACT_CHAR_MAX_LENGTH)));

	typid = compact_ddl_create_type_by_extension(funcid,
												 psprintf("compact_char%d", length),
												 create_objects, &length, &local);
	if (local)
		ereport(NOTICE,
				(errmsg("operators of type %s were created in schema \"%s\"",
						format_type_be(typid),
						get_namespace_name(get_func_namespace(funcid))),
				 errdetail("An index serves a comparison only if that schema is in the search_path."),
				 errhint("To have the operators in pg_catalog, install the extension of that length (make CHAR_LENGTHS=%d install).",
						 length)));
	if (length > (int) MaxHeapTupleSize)
		ereport(NOTICE,
				(errmsg("a value of type %s does not fit into a table's page",
						format_type_be(typid))));

	PG_RETURN_OID(typid);
}
