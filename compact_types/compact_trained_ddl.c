/*-------------------------------------------------------------------------
 *
 * compact_trained_ddl.c
 *	  Create the SQL objects of one type trained_textN.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_trained_ddl.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/extension.h"
#include "fmgr.h"

#include "compact_ddl.h"
#include "compact_trained.h"

/*
 * Callback: create all objects of the type, and the template of its
 * dictionary.
 */
static void
create_objects(const TypeDdl *ddl, void *arg)
{
	TypeDdl		own = *ddl;
	char	   *compact_text;

	compact_ddl_create_text_type(&own, "trained_text",
								 "variable-length string, encoded with a dictionary of a column");

	/*
	 * Applications compare and combine columns of one type with each other.
	 * Other columns are compact_text after a conversion.
	 */
	compact_text = compact_ddl_create_compact_text_cast(&own, "trained_text_compact_text");
	compact_ddl_add_compact_text(&own, compact_text);

	/*
	 * A function that makes a value locks the dictionary.  The lock of a
	 * parallel worker would end with the worker.
	 */
	compact_ddl_execute("ALTER FUNCTION %s.%s_in(cstring, oid, int4) PARALLEL RESTRICTED",
						ddl->schema, ddl->name);
	compact_ddl_execute("ALTER FUNCTION %s.%s_recv(internal, oid, int4) PARALLEL RESTRICTED",
						ddl->schema, ddl->name);
	compact_ddl_execute("ALTER FUNCTION %s.text_%s(text, int4, bool) PARALLEL RESTRICTED",
						ddl->schema, ddl->name);
	compact_ddl_execute("ALTER FUNCTION %s.bpchar_%s(bpchar, int4, bool) PARALLEL RESTRICTED",
						ddl->schema, ddl->name);
	compact_ddl_execute("ALTER FUNCTION %s.%s(%s, int4, bool) PARALLEL RESTRICTED",
						ddl->schema, ddl->name, ddl->type);

	compact_ddl_create_function(ddl, psprintf("%s_init", ddl->name), "internal", "internal",
								"trained_text_init", "STABLE");
	compact_ddl_create_function(ddl, psprintf("%s_lexize", ddl->name),
								"internal, internal, internal, internal", "internal",
								"trained_text_lexize", "STABLE");
	compact_ddl_execute("CREATE TEXT SEARCH TEMPLATE %s.%s (INIT = %s.%s_init, LEXIZE = %s.%s_lexize)",
						ddl->schema, ddl->name, ddl->schema, ddl->name, ddl->schema, ddl->name);
	compact_ddl_execute("COMMENT ON TEXT SEARCH TEMPLATE %s.%s IS 'template of the dictionary that the values of type %s are encoded with'",
						ddl->schema, ddl->name, ddl->name);
}

/*
 * compact_types.create_trained(number int4) returns regtype
 *
 * Create the type trained_textN, and return it.  Only the script of the
 * extension of that name may call this function.  Errors: 55000 if another
 * caller calls it, 22023 for a number that is out of range, 42710 if the type
 * exists already.
 */
PG_FUNCTION_INFO_V1(compact_types_create_trained);
Datum
compact_types_create_trained(PG_FUNCTION_ARGS)
{
	int32		number = PG_GETARG_INT32(0);
	bool		local;

	if (!creating_extension)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("create_trained() can only be called by an extension's script")));
	if (number < 1 || number > COMPACT_TRAINED_MAX_NUMBER)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number %d of a trained type is out of range", number),
				 errhint("The number must be between 1 and %d.", COMPACT_TRAINED_MAX_NUMBER)));

	PG_RETURN_OID(compact_ddl_create_type_by_extension(fcinfo->flinfo->fn_oid,
													   compact_trained_name(number),
													   create_objects, NULL, &local));
}
