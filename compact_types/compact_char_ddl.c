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
 * bpchar, as amvalidate() wants it.  The pairs of text and bpchar, for which
 * core has no operators, get some once, with names that no query uses.
 *
 * varchar must not have operators of its own here: there are none of two
 * varchars in core, so that "varchar = unknown literal" would be resolved to
 * "varchar = compact_charN", and every index on a varchar column be lost.  It
 * takes part as text, as it does in core.
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
#include "access/stratnum.h"
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
	Oid			nspid;			/* of functions, families and classes */
	char	   *schema;			/* its name */
	char	   *library;		/* as a string literal */
	int			length;
	char		name[NAMEDATALEN];	/* compact_charN */
	char	   *type;			/* the type with its schema */
	const char *opschema;		/* of operators */
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

/* The other string types, and core's comparison function of each. */
typedef struct StringType
{
	const char *name;
	const char *cmp_function;
} StringType;

static const StringType string_types[] = {
	{"text", "pg_catalog.bttextcmp"},
	{"bpchar", "pg_catalog.bpcharcmp"}
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
			" ANALYZE = %s.compact_char_typanalyze,"
			" INTERNALLENGTH = %d, ALIGNMENT = char, STORAGE = plain,"
			" CATEGORY = 'S', COLLATABLE = true)",
			cxt->type, cxt->schema, cxt->name, cxt->schema, cxt->name,
			cxt->schema, cxt->name, cxt->schema, cxt->name, cxt->schema, cxt->length);
	execute("COMMENT ON TYPE %s IS 'fixed-length string of up to %d bytes, stored without a header'",
			cxt->type, cxt->length);
}

/*
 * The comparison operators of two types and the btree support function of
 * the pair.  function is the prefix of the functions' SQL names, symbol that
 * of their C names; mark stands before and behind the operators' names.
 */
static void
create_operators(const CreateCharContext *cxt, const char *left,
				 const char *right, const char *function, const char *symbol,
				 const char *mark)
{
	char	   *args = psprintf("%s, %s", left, right);

	for (int i = 0; i < (int) lengthof(comparison_operators); i++)
	{
		const ComparisonOperator *op = &comparison_operators[i];

		create_function(cxt, psprintf("%s_%s", function, op->suffix), args,
						"bool", psprintf("%s_%s", symbol, op->suffix),
						"IMMUTABLE LEAKPROOF");
		execute("CREATE OPERATOR %s.%s%s%s (FUNCTION = %s.%s_%s, LEFTARG = %s, RIGHTARG = %s,"
				" COMMUTATOR = OPERATOR(%s.%s%s%s), NEGATOR = OPERATOR(%s.%s%s%s),"
				" RESTRICT = pg_catalog.%ssel, JOIN = pg_catalog.%sjoinsel%s)",
				cxt->opschema, mark, op->name, mark,
				cxt->schema, function, op->suffix, left, right,
				cxt->opschema, mark, op->commutator, mark,
				cxt->opschema, mark, op->negator, mark,
				op->restrict_join, op->restrict_join,
				op->strategy == BTEqualStrategyNumber ? ", HASHES, MERGES" : "");
	}
	create_function(cxt, psprintf("%s_cmp", function), args, "int4",
					psprintf("%s_cmp", symbol), "IMMUTABLE LEAKPROOF");
}

/* Add a pair of types to the lists of a btree and a hash family's members. */
static void
append_pair(StringInfo btree, StringInfo hash, const char *opschema,
			const char *mark, const char *left, const char *right,
			const char *cmp_function)
{
	for (int i = 0; i < (int) lengthof(comparison_operators); i++)
	{
		const ComparisonOperator *op = &comparison_operators[i];

		if (op->strategy > 0)
			appendStringInfo(btree, "OPERATOR %d %s.%s%s%s (%s, %s), ",
							 op->strategy, opschema, mark, op->name, mark,
							 left, right);
	}
	appendStringInfo(btree, "FUNCTION 1 (%s, %s) %s(%s, %s), ",
					 left, right, cmp_function, left, right);
	appendStringInfo(hash, "OPERATOR 1 %s.%s=%s (%s, %s), ",
					 opschema, mark, mark, left, right);
}

/* Add all pairs of the other string types. */
static void
append_string_pairs(StringInfo btree, StringInfo hash, const char *schema)
{
	for (int i = 0; i < (int) lengthof(string_types); i++)
	{
		for (int j = 0; j < (int) lengthof(string_types); j++)
		{
			const char *left = string_types[i].name;
			const char *right = string_types[j].name;

			if (i == j)
				append_pair(btree, hash, "pg_catalog", "", left, right,
							string_types[i].cmp_function);
			else
				append_pair(btree, hash, schema, "#", left, right,
							psprintf("%s.%s_%s_cmp", schema, left, right));
		}
	}
	appendStringInfoString(btree,
						   "FUNCTION 2 (text, text) pg_catalog.bttextsortsupport(internal),"
						   " FUNCTION 2 (bpchar, bpchar) pg_catalog.bpchar_sortsupport(internal)");
	appendStringInfoString(hash,
						   "FUNCTION 1 (text, text) pg_catalog.hashtext(text),"
						   " FUNCTION 2 (text, text) pg_catalog.hashtextextended(text, int8),"
						   " FUNCTION 1 (bpchar, bpchar) pg_catalog.hashbpchar(bpchar),"
						   " FUNCTION 2 (bpchar, bpchar) pg_catalog.hashbpcharextended(bpchar, int8)");
}

/*
 * The btree and hash operator classes, and the rest of their families.
 */
static void
create_classes(const CreateCharContext *cxt)
{
	const char *schema = cxt->schema;
	const char *opschema = cxt->opschema;
	const char *type = cxt->type;
	const char *name = cxt->name;
	StringInfoData btree;
	StringInfoData hash;

	create_function(cxt, psprintf("%s_sortsupport", name), "internal", "void",
					"compact_char_sortsupport", "IMMUTABLE");
	create_function(cxt, psprintf("%s_hash", name), type, "int4",
					"compact_char_hash", "IMMUTABLE");
	create_function(cxt, psprintf("%s_hash_extended", name),
					psprintf("%s, int8", type), "int8",
					"compact_char_hash_extended", "IMMUTABLE");

	execute("CREATE OPERATOR FAMILY %s.%s_ops USING btree", schema, name);
	execute("CREATE OPERATOR CLASS %s.%s_ops DEFAULT FOR TYPE %s USING btree FAMILY %s.%s_ops AS"
			" OPERATOR 1 %s.<, OPERATOR 2 %s.<=, OPERATOR 3 %s.=,"
			" OPERATOR 4 %s.>=, OPERATOR 5 %s.>,"
			" FUNCTION 1 %s.%s_cmp(%s, %s), FUNCTION 2 %s.%s_sortsupport(internal),"
			" FUNCTION 4 pg_catalog.btvarstrequalimage(oid)",
			schema, name, type, schema, name,
			opschema, opschema, opschema, opschema, opschema,
			schema, name, type, type, schema, name);
	execute("CREATE OPERATOR FAMILY %s.%s_ops USING hash", schema, name);
	execute("CREATE OPERATOR CLASS %s.%s_ops DEFAULT FOR TYPE %s USING hash FAMILY %s.%s_ops AS"
			" OPERATOR 1 %s.=, FUNCTION 1 %s.%s_hash(%s),"
			" FUNCTION 2 %s.%s_hash_extended(%s, int8)",
			schema, name, type, schema, name,
			opschema, schema, name, type, schema, name, type);

	initStringInfo(&btree);
	initStringInfo(&hash);
	for (int i = 0; i < (int) lengthof(string_types); i++)
	{
		const char *other = string_types[i].name;

		append_pair(&btree, &hash, opschema, "", type, other,
					psprintf("%s.%s_%s_cmp", schema, name, other));
		append_pair(&btree, &hash, opschema, "", other, type,
					psprintf("%s.%s_%s_cmp", schema, other, name));
	}
	append_string_pairs(&btree, &hash, schema);
	execute("ALTER OPERATOR FAMILY %s.%s_ops USING btree ADD %s",
			schema, name, btree.data);
	execute("ALTER OPERATOR FAMILY %s.%s_ops USING hash ADD %s",
			schema, name, hash.data);
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

/* Fill in schema and library, which the calling function's catalog row gives. */
static void
init_context(CreateCharContext *cxt, Oid funcid)
{
	HeapTuple	tuple;
	Datum		probin;
	bool		isnull;

	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", funcid);
	probin = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &isnull);
	if (isnull)
		elog(ERROR, "null probin for function %u", funcid);

	memset(cxt, 0, sizeof(CreateCharContext));
	cxt->nspid = ((Form_pg_proc) GETSTRUCT(tuple))->pronamespace;
	cxt->schema = pstrdup(quote_identifier(get_namespace_name(cxt->nspid)));
	cxt->library = quote_literal_cstr(TextDatumGetCString(probin));
	ReleaseSysCache(tuple);
}

/* Fill in the names of the type, and see that it is not there yet. */
static void
init_type_names(CreateCharContext *cxt, int length, Oid type_schema)
{
	Oid			cstring_oid = CSTRINGOID;
	oidvector  *argtypes = buildoidvector(&cstring_oid, 1);

	cxt->length = length;
	snprintf(cxt->name, sizeof(cxt->name), "compact_char%d", length);
	cxt->type = quote_qualified_identifier(get_namespace_name(type_schema),
										   cxt->name);
	cxt->opschema = creating_extension ? "pg_catalog" : cxt->schema;

	/*
	 * Two sessions that create the same length wait for each other here, so
	 * that the second gets the error below, not a unique violation in a
	 * system catalog.
	 */
	LockDatabaseObject(NamespaceRelationId, cxt->nspid, (uint16) length,
					   ShareUpdateExclusiveLock);

	if (SearchSysCacheExists3(PROCNAMEARGSNSP,
							  CStringGetDatum(psprintf("%s_in", cxt->name)),
							  PointerGetDatum(argtypes),
							  ObjectIdGetDatum(cxt->nspid)))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("type \"%s\" already exists in this database", cxt->name)));
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

/*
 * Let the statements see built-in names only, and raise no notice about the
 * shell types and operators that are made on the way.  The result is for
 * AtEOXact_GUC().
 */
static int
set_creation_gucs(void)
{
	int			nestlevel = NewGUCNestLevel();

	(void) set_config_option("client_min_messages", "warning",
							 PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("search_path", "pg_catalog, pg_temp",
							 PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);

	return nestlevel;
}

/* Create all objects; the caller is connected to SPI. */
static void
create_objects(const CreateCharContext *cxt)
{
	const char *name = cxt->name;
	int			nestlevel = set_creation_gucs();

	drop_leftovers(cxt);
	create_type(cxt);
	create_operators(cxt, cxt->type, cxt->type, name, "compact_char", "");
	for (int i = 0; i < (int) lengthof(string_types); i++)
	{
		const StringType *other = &string_types[i];

		create_operators(cxt, cxt->type, other->name,
						 psprintf("%s_%s", name, other->name),
						 psprintf("compact_char_%s", other->name), "");
		create_operators(cxt, other->name, cxt->type,
						 psprintf("%s_%s", other->name, name),
						 psprintf("%s_compact_char", other->name), "");
	}
	create_classes(cxt);
	create_casts(cxt);

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
		init_context(&cxt, fcinfo->flinfo->fn_oid);
		init_type_names(&cxt, length, nspid);
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

/*
 * compact_types.create_string_operators() returns void
 *
 * Part of the extension's script: the operators of text with bpchar, which core
 * does not have, and a btree and a hash family that holds them.  They mean what comparing compact_charN with those types means:
 * trailing blanks count in text alone.
 */
PG_FUNCTION_INFO_V1(compact_types_create_string_operators);
Datum
compact_types_create_string_operators(PG_FUNCTION_ARGS)
{
	CreateCharContext cxt;
	StringInfoData btree;
	StringInfoData hash;
	int			nestlevel;

	if (!creating_extension)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("create_string_operators() can only be called by an extension's script")));

	init_context(&cxt, fcinfo->flinfo->fn_oid);
	cxt.opschema = cxt.schema;
	initStringInfo(&btree);
	initStringInfo(&hash);

	SPI_connect();
	nestlevel = set_creation_gucs();
	for (int i = 0; i < (int) lengthof(string_types); i++)
	{
		for (int j = 0; j < (int) lengthof(string_types); j++)
		{
			const StringType *left = &string_types[i];
			const StringType *right = &string_types[j];

			if (i == j)
				continue;		/* core has these */
			create_operators(&cxt, left->name, right->name,
							 psprintf("%s_%s", left->name, right->name),
							 psprintf("compact_types_%s_%s", left->name, right->name),
							 "#");
		}
	}
	append_string_pairs(&btree, &hash, cxt.schema);
	execute("CREATE OPERATOR FAMILY %s.string_ops USING btree", cxt.schema);
	execute("ALTER OPERATOR FAMILY %s.string_ops USING btree ADD %s",
			cxt.schema, btree.data);
	execute("CREATE OPERATOR FAMILY %s.string_ops USING hash", cxt.schema);
	execute("ALTER OPERATOR FAMILY %s.string_ops USING hash ADD %s",
			cxt.schema, hash.data);
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	PG_RETURN_VOID();
}
