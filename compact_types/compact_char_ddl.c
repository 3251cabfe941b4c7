/*-------------------------------------------------------------------------
 *
 * compact_char_ddl.c
 *	  Creates the SQL objects of one fixed-length string type.
 *
 * compact_types.create_char(N) makes the type compact_charN in the current
 * schema and its functions, operators, casts and operator classes, by plain
 * DDL statements.  Functions and operator classes go to the schema of
 * compact_types.
 *
 * The operators have to be found whatever the search_path says, or else a
 * comparison falls back to a cast to text that no index supports.  So an
 * extension's script puts them into pg_catalog.  pg_dump, however, dumps
 * nothing of pg_catalog unless it belongs to an extension; so a call outside
 * of an extension's script creates the extension compact_charN if that is
 * installed, and otherwise puts the operators into the schema of
 * compact_types, from where they are dumped.
 *
 * The operator families hold the whole matrix of compact_charN, text and
 * bpchar, as amvalidate() wants it; varchar takes part as text, as always.
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
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/bufpage.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compact_types.h"

/* Names that the statements are made of; all of them quoted where needed. */
typedef struct CreateCharContext
{
	int			length;
	char		name[NAMEDATALEN];	/* compact_charN */
	char	   *type;			/* the type with its schema */
	char	   *schema;			/* of functions, families and classes */
	char	   *opschema;		/* of operators */
	char	   *library;		/* as a string literal */
} CreateCharContext;

typedef struct ComparisonOperator
{
	const char *suffix;			/* of the function's name */
	const char *name;
	const char *commutator;
	const char *negator;
	const char *restrict_join;	/* prefix of both selectivity estimators */
	int			strategy;		/* btree strategy number, or 0 */
} ComparisonOperator;

static const ComparisonOperator comparison_operators[] = {
	{"lt", "<", ">", ">=", "scalarlt", 1},
	{"le", "<=", ">=", ">", "scalarle", 2},
	{"eq", "=", "=", "<>", "eq", 3},
	{"ge", ">=", "<=", "<", "scalarge", 4},
	{"gt", ">", "<", "<=", "scalargt", 5},
	{"ne", "<>", "<>", "=", "neq", 0}
};

static void execute(const char *format,...) pg_attribute_printf(1, 2);

/* Run one statement. */
static void
execute(const char *format,...)
{
	StringInfoData sql;
	int			save_errno = errno;

	initStringInfo(&sql);
	for (;;)
	{
		va_list		args;
		int			needed;

		errno = save_errno;
		va_start(args, format);
		needed = appendStringInfoVA(&sql, format, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&sql, needed);
	}

	if (SPI_execute(sql.data, false, 0) < 0)
		elog(ERROR, "could not execute \"%s\"", sql.data);
	pfree(sql.data);
}

/*
 * Create compact_types.NAME(args) for the C function symbol.
 */
static void
create_function(const CreateCharContext *cxt, const char *name,
				const char *args, const char *result, const char *symbol,
				const char *attributes)
{
	execute("CREATE FUNCTION %s.%s(%s) RETURNS %s AS %s, '%s' LANGUAGE c %s STRICT PARALLEL SAFE",
			cxt->schema, name, args, result, cxt->library, symbol, attributes);
}

/* The type, with its input and output functions. */
static void
create_type(const CreateCharContext *cxt)
{
	execute("CREATE TYPE %s", cxt->type);

	/* in binary format the string is converted to the client's encoding */
	create_function(cxt, psprintf("%s_in", cxt->name), "cstring", cxt->type,
					"compact_char_in", "IMMUTABLE");
	create_function(cxt, psprintf("%s_out", cxt->name), cxt->type, "cstring",
					"compact_char_out", "IMMUTABLE");
	create_function(cxt, psprintf("%s_recv", cxt->name), "internal", cxt->type,
					"compact_char_recv", "STABLE");
	create_function(cxt, psprintf("%s_send", cxt->name), cxt->type, "bytea",
					"compact_char_send", "STABLE");

	execute("CREATE TYPE %s (INPUT = %s.%s_in, OUTPUT = %s.%s_out,"
			" RECEIVE = %s.%s_recv, SEND = %s.%s_send,"
			" INTERNALLENGTH = %d, ALIGNMENT = char, STORAGE = plain,"
			" CATEGORY = 'S', COLLATABLE = true)",
			cxt->type, cxt->schema, cxt->name, cxt->schema, cxt->name,
			cxt->schema, cxt->name, cxt->schema, cxt->name, cxt->length);
	execute("COMMENT ON TYPE %s IS 'fixed-length string of up to %d bytes, stored without a header'",
			cxt->type, cxt->length);
}

/*
 * The comparison operators of two types and the btree support function of
 * the pair.  function is the prefix of the functions' SQL names, symbol that
 * of their C names.
 */
static void
create_operators(const CreateCharContext *cxt, const char *left,
				 const char *right, const char *function, const char *symbol)
{
	char	   *args = psprintf("%s, %s", left, right);

	for (int i = 0; i < (int) lengthof(comparison_operators); i++)
	{
		const ComparisonOperator *op = &comparison_operators[i];

		create_function(cxt, psprintf("%s_%s", function, op->suffix), args,
						"bool", psprintf("%s_%s", symbol, op->suffix),
						"IMMUTABLE LEAKPROOF");
		execute("CREATE OPERATOR %s.%s (FUNCTION = %s.%s_%s, LEFTARG = %s, RIGHTARG = %s,"
				" COMMUTATOR = OPERATOR(%s.%s), NEGATOR = OPERATOR(%s.%s),"
				" RESTRICT = pg_catalog.%ssel, JOIN = pg_catalog.%sjoinsel%s)",
				cxt->opschema, op->name, cxt->schema, function, op->suffix,
				left, right, cxt->opschema, op->commutator,
				cxt->opschema, op->negator,
				op->restrict_join, op->restrict_join,
				op->strategy == 3 ? ", HASHES, MERGES" : "");
	}
	create_function(cxt, psprintf("%s_cmp", function), args, "int4",
					psprintf("%s_cmp", symbol), "IMMUTABLE LEAKPROOF");
}

/* Append the members of one pair of types to a btree family's ADD list. */
static void
append_btree_pair(StringInfo list, const char *opschema, const char *left,
				  const char *right, const char *cmp_function)
{
	for (int i = 0; i < (int) lengthof(comparison_operators); i++)
	{
		const ComparisonOperator *op = &comparison_operators[i];

		if (op->strategy > 0)
			appendStringInfo(list, "OPERATOR %d %s.%s (%s, %s), ",
							 op->strategy, opschema, op->name, left, right);
	}
	appendStringInfo(list, "FUNCTION 1 (%s, %s) %s(%s, %s), ",
					 left, right, cmp_function, left, right);
}

static void
create_btree_class(const CreateCharContext *cxt)
{
	const char *schema = cxt->schema;
	const char *type = cxt->type;
	const char *name = cxt->name;
	StringInfoData list;

	create_function(cxt, psprintf("%s_sortsupport", name), "internal", "void",
					"compact_char_sortsupport", "IMMUTABLE");

	execute("CREATE OPERATOR FAMILY %s.%s_ops USING btree", schema, name);
	execute("CREATE OPERATOR CLASS %s.%s_ops DEFAULT FOR TYPE %s USING btree FAMILY %s.%s_ops AS"
			" OPERATOR 1 %s.<, OPERATOR 2 %s.<=, OPERATOR 3 %s.=,"
			" OPERATOR 4 %s.>=, OPERATOR 5 %s.>,"
			" FUNCTION 1 %s.%s_cmp(%s, %s), FUNCTION 2 %s.%s_sortsupport(internal),"
			" FUNCTION 4 pg_catalog.btvarstrequalimage(oid)",
			schema, name, type, schema, name,
			cxt->opschema, cxt->opschema, cxt->opschema, cxt->opschema, cxt->opschema,
			schema, name, type, type, schema, name);

	initStringInfo(&list);
	append_btree_pair(&list, cxt->opschema, type, "text",
					  psprintf("%s.%s_text_cmp", schema, name));
	append_btree_pair(&list, cxt->opschema, "text", type,
					  psprintf("%s.text_%s_cmp", schema, name));
	append_btree_pair(&list, cxt->opschema, type, "bpchar",
					  psprintf("%s.%s_bpchar_cmp", schema, name));
	append_btree_pair(&list, cxt->opschema, "bpchar", type,
					  psprintf("%s.bpchar_%s_cmp", schema, name));
	append_btree_pair(&list, "pg_catalog", "text", "text", "pg_catalog.bttextcmp");
	append_btree_pair(&list, "pg_catalog", "bpchar", "bpchar", "pg_catalog.bpcharcmp");
	append_btree_pair(&list, schema, "text", "bpchar",
					  psprintf("%s.text_bpchar_cmp", schema));
	append_btree_pair(&list, schema, "bpchar", "text",
					  psprintf("%s.bpchar_text_cmp", schema));
	execute("ALTER OPERATOR FAMILY %s.%s_ops USING btree ADD %s"
			" FUNCTION 2 (text, text) pg_catalog.bttextsortsupport(internal),"
			" FUNCTION 2 (bpchar, bpchar) pg_catalog.bpchar_sortsupport(internal)",
			schema, name, list.data);
}

static void
create_hash_class(const CreateCharContext *cxt)
{
	const char *schema = cxt->schema;
	const char *opschema = cxt->opschema;
	const char *type = cxt->type;
	const char *name = cxt->name;

	create_function(cxt, psprintf("%s_hash", name), type, "int4",
					"compact_char_hash", "IMMUTABLE");
	create_function(cxt, psprintf("%s_hash_extended", name),
					psprintf("%s, int8", type), "int8",
					"compact_char_hash_extended", "IMMUTABLE");

	execute("CREATE OPERATOR FAMILY %s.%s_ops USING hash", schema, name);
	execute("CREATE OPERATOR CLASS %s.%s_ops DEFAULT FOR TYPE %s USING hash FAMILY %s.%s_ops AS"
			" OPERATOR 1 %s.=, FUNCTION 1 %s.%s_hash(%s),"
			" FUNCTION 2 %s.%s_hash_extended(%s, int8)",
			schema, name, type, schema, name,
			opschema, schema, name, type, schema, name, type);
	execute("ALTER OPERATOR FAMILY %s.%s_ops USING hash ADD"
			" OPERATOR 1 %s.= (%s, text), OPERATOR 1 %s.= (text, %s),"
			" OPERATOR 1 %s.= (%s, bpchar), OPERATOR 1 %s.= (bpchar, %s),"
			" OPERATOR 1 pg_catalog.= (text, text), OPERATOR 1 pg_catalog.= (bpchar, bpchar),"
			" OPERATOR 1 %s.= (text, bpchar), OPERATOR 1 %s.= (bpchar, text),"
			" FUNCTION 1 (text, text) pg_catalog.hashtext(text),"
			" FUNCTION 2 (text, text) pg_catalog.hashtextextended(text, int8),"
			" FUNCTION 1 (bpchar, bpchar) pg_catalog.hashbpchar(bpchar),"
			" FUNCTION 2 (bpchar, bpchar) pg_catalog.hashbpcharextended(bpchar, int8)",
			schema, name, opschema, type, opschema, type, opschema, type,
			opschema, type, schema, schema);
}

static void
create_casts(const CreateCharContext *cxt)
{
	const char *schema = cxt->schema;
	const char *type = cxt->type;
	const char *name = cxt->name;

	create_function(cxt, psprintf("%s_text", name), type, "text",
					"compact_char_text", "IMMUTABLE");
	create_function(cxt, psprintf("%s_bpchar", name), type, "bpchar",
					"compact_char_bpchar", "IMMUTABLE");
	create_function(cxt, psprintf("text_%s", name), "text", type,
					"text_compact_char", "IMMUTABLE");
	create_function(cxt, psprintf("bpchar_%s", name), "bpchar", type,
					"text_compact_char", "IMMUTABLE");

	execute("CREATE CAST (%s AS text) WITH FUNCTION %s.%s_text(%s) AS IMPLICIT",
			type, schema, name, type);
	execute("CREATE CAST (%s AS varchar) WITH FUNCTION %s.%s_text(%s) AS IMPLICIT",
			type, schema, name, type);
	execute("CREATE CAST (%s AS bpchar) WITH FUNCTION %s.%s_bpchar(%s) AS IMPLICIT",
			type, schema, name, type);
	execute("CREATE CAST (text AS %s) WITH FUNCTION %s.text_%s(text) AS ASSIGNMENT",
			type, schema, name);
	execute("CREATE CAST (varchar AS %s) WITH FUNCTION %s.text_%s(text) AS ASSIGNMENT",
			type, schema, name);
	execute("CREATE CAST (bpchar AS %s) WITH FUNCTION %s.bpchar_%s(bpchar) AS ASSIGNMENT",
			type, schema, name);
}

/* Is the extension's control file there? */
static bool
extension_is_available(const char *name)
{
	char	   *quoted = quote_literal_cstr(name);
	char	   *sql = psprintf("SELECT 1 FROM pg_catalog.pg_available_extensions"
							   " WHERE name OPERATOR(pg_catalog.=) %s", quoted);

	if (SPI_execute(sql, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not execute \"%s\"", sql);

	return SPI_processed > 0;
}

/* Schema in which objects are created now. */
static Oid
creation_schema(void)
{
	List	   *path = fetch_search_path(false);
	Oid			nspid;

	if (path == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_SCHEMA),
				 errmsg("no schema has been selected to create in")));
	nspid = linitial_oid(path);
	list_free(path);
	if (isAnyTempNamespace(nspid))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_SCHEMA_NAME),
				 errmsg("cannot create a fixed-length string type in a temporary schema")));

	return nspid;
}

/* Fill in the names; create_char's own catalog row gives schema and library. */
static void
init_context(CreateCharContext *cxt, Oid funcid, int length, Oid type_schema)
{
	HeapTuple	tuple;
	Datum		probin;
	bool		isnull;
	Oid			nspid;
	oidvector  *argtypes;
	Oid			cstring_oid = CSTRINGOID;

	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", funcid);
	probin = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &isnull);
	if (isnull)
		elog(ERROR, "null probin for function %u", funcid);
	nspid = ((Form_pg_proc) GETSTRUCT(tuple))->pronamespace;

	cxt->length = length;
	snprintf(cxt->name, sizeof(cxt->name), "compact_char%d", length);
	cxt->type = quote_qualified_identifier(get_namespace_name(type_schema),
										   cxt->name);
	cxt->schema = pstrdup(quote_identifier(get_namespace_name(nspid)));
	cxt->opschema = creating_extension ? "pg_catalog" : cxt->schema;
	cxt->library = quote_literal_cstr(TextDatumGetCString(probin));
	ReleaseSysCache(tuple);

	/*
	 * Two sessions that create the same length wait for each other here, so
	 * that the second gets the error below, not a unique violation in a
	 * system catalog.
	 */
	LockDatabaseObject(NamespaceRelationId, nspid, (uint16) length,
					   ShareUpdateExclusiveLock);

	argtypes = buildoidvector(&cstring_oid, 1);
	if (SearchSysCacheExists3(PROCNAMEARGSNSP,
							  CStringGetDatum(psprintf("%s_in", cxt->name)),
							  PointerGetDatum(argtypes),
							  ObjectIdGetDatum(nspid)))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("type \"%s\" already exists in this database", cxt->name)));
}

/*
 * Outside of an extension's script nothing ties the objects to compact_types.
 * Two functions do then, and with them the type and all that depends on it:
 * DROP EXTENSION refuses as long as the type is there, and CASCADE drops it.
 */
static void
depend_on_extension(const CreateCharContext *cxt)
{
	execute("ALTER FUNCTION %s.%s_in(cstring) DEPENDS ON EXTENSION compact_types",
			cxt->schema, cxt->name);
	execute("ALTER FUNCTION %s.%s_sortsupport(internal) DEPENDS ON EXTENSION compact_types",
			cxt->schema, cxt->name);
}

/*
 * DROP TYPE ... CASCADE leaves what does not depend on the type: the families
 * and the sort support function.  The type can be created again all the same.
 */
static void
drop_leftovers(const CreateCharContext *cxt)
{
	execute("DROP OPERATOR FAMILY IF EXISTS %s.%s_ops USING btree",
			cxt->schema, cxt->name);
	execute("DROP OPERATOR FAMILY IF EXISTS %s.%s_ops USING hash",
			cxt->schema, cxt->name);
	execute("DROP FUNCTION IF EXISTS %s.%s_sortsupport(internal)",
			cxt->schema, cxt->name);
}

/* Create all objects; the caller is connected to SPI. */
static void
create_objects(const CreateCharContext *cxt)
{
	const char *name = cxt->name;
	int			nestlevel = NewGUCNestLevel();

	/* the shell type and operators that are made on the way raise notices */
	(void) set_config_option("client_min_messages", "warning",
							 PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("search_path", "pg_catalog, pg_temp",
							 PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);

	if (!creating_extension)
		drop_leftovers(cxt);
	create_type(cxt);
	create_operators(cxt, cxt->type, cxt->type, name, "compact_char");
	create_operators(cxt, cxt->type, "text",
					 psprintf("%s_text", name), "compact_char_text");
	create_operators(cxt, "text", cxt->type,
					 psprintf("text_%s", name), "text_compact_char");
	create_operators(cxt, cxt->type, "bpchar",
					 psprintf("%s_bpchar", name), "compact_char_bpchar");
	create_operators(cxt, "bpchar", cxt->type,
					 psprintf("bpchar_%s", name), "bpchar_compact_char");
	create_btree_class(cxt);
	create_hash_class(cxt);
	create_casts(cxt);
	if (!creating_extension)
		depend_on_extension(cxt);

	AtEOXact_GUC(true, nestlevel);
}

/*
 * compact_types.create_char(length int4) returns regtype
 *
 * Creates the type compact_charN, N = length in bytes (1 to 32767), in the
 * current schema, and returns it.  Errors: 22023 for a length out of range,
 * 42710 if the type is there already, 42501 without the privilege.
 */
PG_FUNCTION_INFO_V1(compact_types_create_char);
Datum
compact_types_create_char(PG_FUNCTION_ARGS)
{
	int32		length = PG_GETARG_INT32(0);
	CreateCharContext cxt;
	Oid			nspid;
	Oid			typid;
	char	   *extension;
	bool		local = false;

	if (length < 1 || length > COMPACT_CHAR_MAX_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("length %d of a fixed-length string type is out of range",
						length),
				 errhint("The length must be between 1 and %d bytes.",
						 COMPACT_CHAR_MAX_LENGTH)));

	nspid = creation_schema();
	extension = psprintf("compact_char%d", length);

	SPI_connect();
	if (!creating_extension && extension_is_available(extension))
	{
		execute("CREATE EXTENSION %s SCHEMA %s", extension,
				quote_identifier(get_namespace_name(nspid)));
	}
	else
	{
		if (!superuser())
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("must be superuser to create a fixed-length string type"),
					 errhint("A type of an installed length is also created by CREATE EXTENSION %s, which needs the CREATE privilege on the database.",
							 extension)));
		init_context(&cxt, fcinfo->flinfo->fn_oid, length, nspid);
		create_objects(&cxt);
		local = !creating_extension;
	}
	SPI_finish();

	typid = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
							CStringGetDatum(psprintf("compact_char%d", length)),
							ObjectIdGetDatum(nspid));
	if (!OidIsValid(typid))
		elog(ERROR, "type \"compact_char%d\" was not created", length);

	if (local)
		ereport(NOTICE,
				(errmsg("operators of type %s were created in schema \"%s\"",
						format_type_be(typid),
						get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid))),
				 errdetail("An index serves a comparison only if that schema is in the search_path."),
				 errhint("Install the extension of that length (make CHAR_LENGTHS=%d install) to have them in pg_catalog.",
						 length)));
	if (length > (int) MaxHeapTupleSize)
		ereport(NOTICE,
				(errmsg("a value of type %s does not fit into a table's page",
						format_type_be(typid))));

	PG_RETURN_OID(typid);
}
