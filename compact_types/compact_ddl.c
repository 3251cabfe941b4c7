/*-------------------------------------------------------------------------
 *
 * compact_ddl.c
 *	  Create the SQL objects of types by plain DDL statements.
 *
 * A type with all its operators has some hundred objects, which differ only in
 * names.  So C code makes and runs the statements.  The script of an extension
 * calls this code.
 *
 * A query must find the operators with any search_path.  Otherwise a
 * comparison falls back to a cast that no index supports.  So an extension's
 * script puts the operators into pg_catalog.  pg_dump, however, dumps objects
 * of pg_catalog only if they belong to an extension.  So a call outside of an
 * extension's script runs CREATE EXTENSION for the type's extension if its
 * files are installed.  Otherwise the call puts the operators into the schema
 * of compact_types, so that pg_dump dumps them.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_ddl.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_database.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compact_ddl.h"

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

/* Return the statement that the format makes, in the current memory context. */
char *
compact_ddl_format(const char *format, va_list args)
{
	StringInfoData sql;
	int			save_errno = errno;

	initStringInfo(&sql);
	for (;;)
	{
		va_list		copy;
		int			needed;

		errno = save_errno;
		va_copy(copy, args);
		needed = appendStringInfoVA(&sql, format, copy);
		va_end(copy);
		if (needed == 0)
			return sql.data;
		enlargeStringInfo(&sql, needed);
	}
}

/* Return the owner of a relation, or InvalidOid if there is no such relation. */
Oid
compact_ddl_relation_owner(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}

	return owner;
}

/* Run the statement that the format makes.  The caller must be connected to SPI. */
void
compact_ddl_execute(const char *format,...)
{
	va_list		args;
	char	   *sql;

	va_start(args, format);
	sql = compact_ddl_format(format, args);
	va_end(args);

	if (SPI_execute(sql, false, 0) < 0)
		elog(ERROR, "could not execute \"%s\"", sql);
	pfree(sql);
}

/*
 * Switch to the role.  Every operation that can evaluate or plan expressions
 * of the owner of a table or view must run as that owner, in a restricted
 * operation.  So the owner's code cannot get back to the caller, or leave
 * something behind that runs later.  The owner's code must not change
 * search_path for the caller either: compact_ddl_return_to() resets all
 * settings that the code changes.  After an error, the end of the transaction
 * or subtransaction switches back to the caller and resets the settings.
 * Return the nest level of settings for compact_ddl_return_to().
 */
int
compact_ddl_become(Oid roleid, bool restricted, Oid *save_userid, int *save_sec_context)
{
	GetUserIdAndSecContext(save_userid, save_sec_context);
	SetUserIdAndSecContext(roleid, *save_sec_context |
						   (restricted ? SECURITY_RESTRICTED_OPERATION : SECURITY_LOCAL_USERID_CHANGE));

	return NewGUCNestLevel();
}

void
compact_ddl_return_to(Oid save_userid, int save_sec_context, int nestlevel)
{
	AtEOXact_GUC(false, nestlevel);
	SetUserIdAndSecContext(save_userid, save_sec_context);
}

/*
 * Keep the schema from being renamed until the transaction ends: lock its row,
 * so that ALTER SCHEMA ... RENAME waits.  The owner of the schema need not own
 * the objects in it.  By renaming the schema, its owner could make statements
 * on these objects affect other relations of the same names.
 */
void
compact_ddl_hold_schema_name(Oid schema)
{
	Relation	rel = table_open(NamespaceRelationId, RowShareLock);
	TM_Result	result;

	do
	{
		HeapTuple	tuple = SearchSysCacheCopy1(NAMESPACEOID, ObjectIdGetDatum(schema));
		TM_FailureData tmfd;
		Buffer		buffer;

		if (!HeapTupleIsValid(tuple))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_SCHEMA),
					 errmsg("schema with OID %u does not exist", schema)));
		result = heap_lock_tuple(rel, tuple, GetCurrentCommandId(true), LockTupleKeyShare,
								 LockWaitBlock, false, &buffer, &tmfd);
		ReleaseBuffer(buffer);
		heap_freetuple(tuple);
		CHECK_FOR_INTERRUPTS();
		AcceptInvalidationMessages();
	} while (result == TM_Updated || result == TM_Deleted);
	if (result != TM_Ok && result != TM_SelfModified)
		elog(ERROR, "unexpected result of heap_lock_tuple: %d", (int) result);
	table_close(rel, RowShareLock);
}

/* Run the statement that the format makes as the role. */
void
compact_ddl_execute_as(Oid roleid, bool restricted, const char *format,...)
{
	Oid			save_userid;
	int			save_sec_context;
	int			nestlevel;
	va_list		args;
	char	   *sql;

	va_start(args, format);
	sql = compact_ddl_format(format, args);
	va_end(args);

	nestlevel = compact_ddl_become(roleid, restricted, &save_userid, &save_sec_context);
	PG_TRY();
	{
		compact_ddl_execute("%s", sql);
	}
	PG_FINALLY();
	{
		compact_ddl_return_to(save_userid, save_sec_context, nestlevel);
	}
	PG_END_TRY();
	pfree(sql);
}

/*
 * Create compact_types.NAME(args) for the C function symbol of ddl->library,
 * or for core's function of that name if ddl->library is NULL.
 */
void
compact_ddl_create_function(const TypeDdl *ddl, const char *name,
							const char *args, const char *result, const char *symbol,
							const char *attributes)
{
	compact_ddl_execute("CREATE FUNCTION %s.%s(%s) RETURNS %s AS %s%s'%s' LANGUAGE %s %s STRICT PARALLEL SAFE",
						ddl->schema, name, args, result,
						ddl->library ? ddl->library : "", ddl->library ? ", " : "", symbol,
						ddl->library ? "c" : "internal", attributes);
}

/*
 * Create the comparison operators of two types, and the btree support function
 * of the pair.  function is the prefix of the functions' SQL names, symbol the
 * prefix of their C names.  mark is placed before and after the operators'
 * names.
 */
void
compact_ddl_create_comparison(const TypeDdl *ddl, const char *left,
							  const char *right, const char *function, const char *symbol,
							  const char *mark)
{
	compact_ddl_create_comparison_as(ddl, left, right, function, symbol, mark, mark,
									 "IMMUTABLE LEAKPROOF", ", HASHES, MERGES");
}

/*
 * Do what compact_ddl_create_comparison() does, with other attributes of the
 * functions and other options of "=".  The options begin with a comma.
 * commutator_mark is the mark of the commutators' names; if it is NULL, the
 * operators have no commutators.
 */
void
compact_ddl_create_comparison_as(const TypeDdl *ddl, const char *left,
								 const char *right, const char *function,
								 const char *symbol, const char *mark,
								 const char *commutator_mark,
								 const char *attributes, const char *equal_options)
{
	char	   *args = psprintf("%s, %s", left, right);

	for (int i = 0; i < (int) lengthof(comparison_operators); i++)
	{
		const ComparisonOperator *op = &comparison_operators[i];

		compact_ddl_create_function(ddl, psprintf("%s_%s", function, op->suffix), args,
									"bool", psprintf("%s_%s", symbol, op->suffix),
									attributes);
	}
	compact_ddl_create_function(ddl, psprintf("%s_cmp", function), args, "int4",
								psprintf("%s_cmp", symbol), attributes);
	compact_ddl_create_comparison_operators(ddl, left, right, function, mark,
											commutator_mark, equal_options);
}

/* Create only the operators, which call existing functions. */
void
compact_ddl_create_comparison_operators(const TypeDdl *ddl, const char *left,
										const char *right, const char *function,
										const char *mark, const char *commutator_mark,
										const char *equal_options)
{
	for (int i = 0; i < (int) lengthof(comparison_operators); i++)
	{
		const ComparisonOperator *op = &comparison_operators[i];
		const char *commutator = "";

		if (commutator_mark != NULL)
			commutator = psprintf(" COMMUTATOR = OPERATOR(%s.%s%s%s),", ddl->opschema,
								  commutator_mark, op->commutator, commutator_mark);
		compact_ddl_execute("CREATE OPERATOR %s.%s%s%s (FUNCTION = %s.%s_%s, LEFTARG = %s, RIGHTARG = %s,"
							"%s NEGATOR = OPERATOR(%s.%s%s%s),"
							" RESTRICT = pg_catalog.%ssel, JOIN = pg_catalog.%sjoinsel%s)",
							ddl->opschema, mark, op->name, mark,
							ddl->schema, function, op->suffix, left, right, commutator,
							ddl->opschema, mark, op->negator, mark,
							op->restrict_join, op->restrict_join,
							op->strategy == BTEqualStrategyNumber ? equal_options : "");
	}
}

/*
 * Create operators that call core's comparison functions of two of core's
 * types.  The operators are in the schema of compact_types, and have names
 * that no query uses: #=# for =.
 *
 * An operator family also needs operators for these pairs.  If it contained
 * core's own operators, these would be members of more families than before.
 * The planner puts equalities into one equivalence class only if they are
 * members of the same families.  So core's operators would no longer be in one
 * equivalence class with operators that other extensions add to core's
 * families.
 */
void
compact_ddl_create_core_comparison(const TypeDdl *ddl, const char *left,
								   const char *right)
{
	for (int i = 0; i < (int) lengthof(comparison_operators); i++)
	{
		const ComparisonOperator *op = &comparison_operators[i];
		Oid			opno = OpernameGetOprid(list_make2(makeString("pg_catalog"),
													   makeString(pstrdup(op->name))),
											TypenameGetTypid(left),
											TypenameGetTypid(right));
		bool		equal = (op->strategy == BTEqualStrategyNumber);

		if (!OidIsValid(opno))
			elog(ERROR, "operator %s %s %s does not exist", left, op->name, right);
		compact_ddl_execute("CREATE OPERATOR %s.#%s# (FUNCTION = pg_catalog.%s, LEFTARG = %s, RIGHTARG = %s,"
							" COMMUTATOR = OPERATOR(%s.#%s#), NEGATOR = OPERATOR(%s.#%s#),"
							" RESTRICT = pg_catalog.%ssel, JOIN = pg_catalog.%sjoinsel%s%s)",
							ddl->schema, op->name,
							quote_identifier(get_func_name(get_opcode(opno))), left, right,
							ddl->schema, op->commutator, ddl->schema, op->negator,
							op->restrict_join, op->restrict_join,
							equal && op_hashjoinable(opno, TypenameGetTypid(left)) ? ", HASHES" : "",
							equal ? ", MERGES" : "");
	}
}

/* Add a pair of types to the member lists of a btree and a hash family. */
void
compact_ddl_append_pair(StringInfo btree, StringInfo hash, const char *opschema,
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

/* Add the operators of a pair of types to the member list of a minmax class. */
void
compact_ddl_append_brin(StringInfo minmax, const char *opschema, const char *mark,
						const char *left, const char *right)
{
	for (int i = 0; i < (int) lengthof(comparison_operators); i++)
	{
		const ComparisonOperator *op = &comparison_operators[i];

		/* minmax has the same strategy numbers as btree */
		if (op->strategy > 0)
			appendStringInfo(minmax, "%sOPERATOR %d %s.%s%s%s (%s, %s)",
							 minmax->len > 0 ? ", " : "", op->strategy,
							 opschema, mark, op->name, mark, left, right);
	}
}

/*
 * Create the default minmax class, TYPE_minmax_ops, in an existing family,
 * with the members that compact_ddl_append_brin() listed.
 */
void
compact_ddl_create_minmax_class(const TypeDdl *ddl, const char *family, StringInfo members)
{
	compact_ddl_execute("CREATE OPERATOR CLASS %s.%s_minmax_ops DEFAULT FOR TYPE %s USING brin FAMILY %s.%s AS %s,"
						" FUNCTION 1 pg_catalog.brin_minmax_opcinfo(internal),"
						" FUNCTION 2 pg_catalog.brin_minmax_add_value(internal, internal, internal, internal),"
						" FUNCTION 3 pg_catalog.brin_minmax_consistent(internal, internal, internal),"
						" FUNCTION 4 pg_catalog.brin_minmax_union(internal, internal, internal)",
						ddl->schema, ddl->name, ddl->type, ddl->schema, family, members->data);
}

/* Create the two hash functions, whose C names begin with symbol. */
void
compact_ddl_create_hash_functions(const TypeDdl *ddl, const char *symbol)
{
	compact_ddl_create_function(ddl, psprintf("%s_hash", ddl->name), ddl->type, "int4",
								psprintf("%s_hash", symbol), "IMMUTABLE");
	compact_ddl_create_function(ddl, psprintf("%s_hash_extended", ddl->name),
								psprintf("%s, int8", ddl->type), "int8",
								psprintf("%s_hash_extended", symbol), "IMMUTABLE");
}

/* Create the default hash class, TYPE_ops, in an existing family. */
void
compact_ddl_create_hash_class(const TypeDdl *ddl, const char *family)
{
	const char *schema = ddl->schema;
	const char *name = ddl->name;
	const char *type = ddl->type;

	compact_ddl_execute("CREATE OPERATOR CLASS %s.%s_ops DEFAULT FOR TYPE %s USING hash FAMILY %s.%s AS"
						" OPERATOR 1 %s.%s=%s, FUNCTION 1 %s.%s_hash(%s),"
						" FUNCTION 2 %s.%s_hash_extended(%s, int8)",
						schema, name, type, schema, family,
						ddl->opschema, ddl->mark, ddl->mark,
						schema, name, type, schema, name, type);
}

/* Create min() and max(). */
void
compact_ddl_create_extremes(const TypeDdl *ddl, const char *symbol)
{
	static const char *const extremes[][3] = {
		{"min", "smaller", "<"},
		{"max", "larger", ">"}
	};

	for (int i = 0; i < (int) lengthof(extremes); i++)
	{
		char	   *function = psprintf("%s_%s", ddl->name, extremes[i][1]);

		compact_ddl_create_function(ddl, function, psprintf("%s, %s", ddl->type, ddl->type),
									ddl->type, psprintf("%s_%s", symbol, extremes[i][1]),
									"IMMUTABLE");
		compact_ddl_execute("CREATE AGGREGATE %s.%s(%s) (SFUNC = %s.%s, STYPE = %s,"
							" COMBINEFUNC = %s.%s, SORTOP = OPERATOR(%s.%s%s%s), PARALLEL = SAFE)",
							ddl->opschema, extremes[i][0], ddl->type,
							ddl->schema, function, ddl->type, ddl->schema, function,
							ddl->opschema, ddl->mark, extremes[i][2], ddl->mark);
	}
}

/* Return true if the extension's control file is installed. */
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

/* Return the schema in which objects are created now. */
Oid
compact_ddl_creation_schema(void)
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
				 errmsg("cannot create a compact type in a temporary schema")));

	return nspid;
}

/*
 * Return the owner of the extension, or InvalidOid if it was dropped a moment
 * ago.  Set *nspid to its schema.
 */
static Oid
extension_owner(Oid extid, Oid *nspid)
{
	Relation	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			result = InvalidOid;

	ScanKeyInit(&key, Anum_pg_extension_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(extid));
	scan = systable_beginscan(rel, ExtensionOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	*nspid = InvalidOid;
	if (HeapTupleIsValid(tuple))
	{
		result = ((Form_pg_extension) GETSTRUCT(tuple))->extowner;
		*nspid = ((Form_pg_extension) GETSTRUCT(tuple))->extnamespace;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	return result;
}

/*
 * Return true if everybody who can drop the owner's objects can drop all
 * objects of the role anyway.  So the owner must be a superuser or the
 * database's owner, or must have the privileges of the role itself.
 */
static bool
owner_is_trusted(Oid owner, Oid roleid)
{
	HeapTuple	tuple;
	Oid			database_owner;

	/* a superuser has the privileges of every role */
	if (!OidIsValid(owner) || superuser_arg(owner) ||
		owner == ROLE_PG_DATABASE_OWNER || has_privs_of_role(owner, roleid))
		return true;

	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
	database_owner = ((Form_pg_database) GETSTRUCT(tuple))->datdba;
	ReleaseSysCache(tuple);

	return owner == database_owner;
}

/*
 * Parts of compact_ddl_who_could_drop(): check the owner of a schema, and the owner of
 * an extension and of its schema.
 */
static char *
untrusted_schema(Oid nspid, Oid roleid)
{
	HeapTuple	tuple = SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(nspid));
	Oid			owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_namespace) GETSTRUCT(tuple))->nspowner;
		ReleaseSysCache(tuple);
	}
	if (owner_is_trusted(owner, roleid))
		return NULL;

	return psprintf("Schema \"%s\" belongs to role \"%s\", who could drop it with all columns of the types in it.",
					get_namespace_name(nspid), GetUserNameFromId(owner, false));
}

static char *
untrusted_extension(Oid extid, Oid roleid)
{
	Oid			nspid;
	Oid			owner;

	if (!OidIsValid(extid))
		return NULL;
	owner = extension_owner(extid, &nspid);
	if (owner_is_trusted(owner, roleid))
		return untrusted_schema(nspid, roleid);

	return psprintf("Extension \"%s\" belongs to role \"%s\", who could drop it with all columns of its types.",
					get_extension_name(extid), GetUserNameFromId(owner, false));
}

/*
 * Return a sentence that says who could drop the role's columns of the type.
 * Return NULL if only roles that the role must trust anyway could drop them.
 * The extensions are trusted extensions, so users without superuser privileges
 * may own them.  Dropping an extension or its schema drops columns of
 * everybody's tables.  A typid of InvalidOid stands for the objects of
 * compact_types itself.
 */
char *
compact_ddl_who_could_drop(Oid typid, Oid roleid)
{
	char	   *result = untrusted_extension(get_extension_oid("compact_types", true), roleid);
	HeapTuple	tuple;
	Oid			nspid;
	Oid			owner;

	if (result == NULL && OidIsValid(typid))
		result = untrusted_extension(getExtensionOfObject(TypeRelationId, typid), roleid);
	if (result || !OidIsValid(typid))
		return result;

	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(typid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", typid);
	nspid = ((Form_pg_type) GETSTRUCT(tuple))->typnamespace;
	owner = ((Form_pg_type) GETSTRUCT(tuple))->typowner;
	ReleaseSysCache(tuple);
	if (!owner_is_trusted(owner, roleid))
		return psprintf("Type %s belongs to role \"%s\", who could drop it with all columns of it.",
						format_type_be(typid), GetUserNameFromId(owner, false));

	return untrusted_schema(nspid, roleid);
}

/* Fill in the schemas and the library, from the catalog row of the calling function. */
void
compact_ddl_init(TypeDdl *ddl, Oid funcid)
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

	memset(ddl, 0, sizeof(TypeDdl));
	ddl->nspid = ((Form_pg_proc) GETSTRUCT(tuple))->pronamespace;
	ddl->schema = pstrdup(quote_identifier(get_namespace_name(ddl->nspid)));
	ddl->library = quote_literal_cstr(TextDatumGetCString(probin));
	ddl->opschema = creating_extension ? "pg_catalog" : ddl->schema;
	ddl->mark = "";
	ReleaseSysCache(tuple);
}

/* Return true if the type exists, that is, if its input function exists. */
bool
compact_ddl_type_exists(const TypeDdl *ddl, const char *name)
{
	Oid			cstring_oid = CSTRINGOID;
	Oid			typmod_in_args[] = {CSTRINGOID, OIDOID, INT4OID};
	char	   *input = psprintf("%s_in", name);

	return SearchSysCacheExists3(PROCNAMEARGSNSP, CStringGetDatum(input),
								 PointerGetDatum(buildoidvector(&cstring_oid, 1)),
								 ObjectIdGetDatum(ddl->nspid)) ||
		SearchSysCacheExists3(PROCNAMEARGSNSP, CStringGetDatum(input),
							  PointerGetDatum(buildoidvector(typmod_in_args, 3)),
							  ObjectIdGetDatum(ddl->nspid));
}

/* Fill in the names of the type, and check that it does not exist yet. */
void
compact_ddl_init_type(TypeDdl *ddl, const char *name, Oid type_schema)
{
	strlcpy(ddl->name, name, sizeof(ddl->name));
	ddl->type = quote_qualified_identifier(get_namespace_name(type_schema), name);

	/*
	 * Two sessions that create the same type wait for each other here.  So
	 * the second one gets the error below, and not a unique violation in a
	 * system catalog.
	 */
	LockDatabaseObject(NamespaceRelationId, ddl->nspid,
					   (uint16) string_hash(name, NAMEDATALEN),
					   ShareUpdateExclusiveLock);

	if (compact_ddl_type_exists(ddl, name))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("type \"%s\" already exists in this database", name)));
}

/*
 * Fill in the names of a type that the script of an earlier version may have
 * created.  A superuser may have moved or renamed the type since.  Set
 * ddl->exists if the type exists.  Otherwise do what compact_ddl_init_type()
 * does.
 */
void
compact_ddl_init_type_or_find(TypeDdl *ddl, const char *name, Oid type_schema)
{
	ddl->exists = compact_ddl_type_exists(ddl, name);
	if (!ddl->exists)
	{
		compact_ddl_init_type(ddl, name, type_schema);
		return;
	}
	strlcpy(ddl->name, name, sizeof(ddl->name));
	ddl->type = compact_ddl_argument_type(ddl, psprintf("%s_out", name));
}

/*
 * Return the name of the type that is the only argument of one of the
 * extension's functions.  This finds a type whose schema the user has chosen.
 */
char *
compact_ddl_argument_type(const TypeDdl *ddl, const char *function)
{
	char	   *sql = psprintf("SELECT proargtypes[0] FROM pg_catalog.pg_proc"
							   " WHERE proname OPERATOR(pg_catalog.=) %s"
							   " AND pronamespace OPERATOR(pg_catalog.=) %u AND pronargs OPERATOR(pg_catalog.=) 1",
							   quote_literal_cstr(function), ddl->nspid);
	bool		isnull;
	Datum		typid;

	if (SPI_execute(sql, true, 2) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "function \"%s\" was not found", function);
	typid = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);

	return format_type_be_qualified(DatumGetObjectId(typid));
}

/*
 * Let the statements see only built-in names, and suppress the notices about
 * shell types and shell operators.  Return the nest level for AtEOXact_GUC().
 */
int
compact_ddl_set_gucs(void)
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

/*
 * In the current nest level, set the parameters that the text of expressions
 * and views depends on, both when it is written and when it is read again.
 * Use the values that pg_dump uses.  Also switch compact_types.auto off, so
 * that statements keep the types that they name.
 */
void
compact_ddl_set_deparse_gucs(void)
{
	static const char *const settings[][2] = {
		{"array_nulls", "on"},
		{"compact_types.auto", "off"},
		{"datestyle", "ISO"},
		{"default_tablespace", ""},
		{"extra_float_digits", "3"},
		{"intervalstyle", "postgres"},
		{"quote_all_identifiers", "off"},
		{"standard_conforming_strings", "on"},
		{"transform_null_equals", "off"},
		{"xmloption", "content"}
	};

	for (int i = 0; i < (int) lengthof(settings); i++)
		(void) set_config_option(settings[i][0], settings[i][1],
								 PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
}

/*
 * Create the type NAME in the current schema.  If the files of the extension
 * of that name are installed, and no extension's script is calling, CREATE
 * EXTENSION creates the type.  Otherwise the callback creates it.  Set *local
 * to true if the type was created outside of an extension.  funcid is the
 * calling SQL function.  Return the type's OID.
 */
Oid
compact_ddl_create_type_by_extension(Oid funcid, const char *name,
									 void (*create) (const TypeDdl *ddl, void *arg),
									 void *arg, bool *local)
{
	Oid			nspid = compact_ddl_creation_schema();
	Oid			typid;
	Oid			extension_nspid;
	char	   *drop;

	/*
	 * an extension's script runs as a superuser, so check the owner of the
	 * extension there
	 */
	drop = compact_ddl_who_could_drop(InvalidOid, creating_extension ?
									  extension_owner(CurrentExtensionObject, &extension_nspid) :
									  GetUserId());
	if (drop)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot create type \"%s\" that depends on an extension of another role", name),
				 errdetail_internal("%s", drop),
				 errhint(DDL_OWNER_HINT)));

	*local = false;
	SPI_connect();
	if (!creating_extension && extension_is_available(name))
	{
		compact_ddl_execute("CREATE EXTENSION %s SCHEMA %s", name,
							quote_identifier(get_namespace_name(nspid)));
	}
	else
	{
		TypeDdl		ddl;
		int			nestlevel;

		if (!superuser())
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("must be superuser to create type \"%s\"", name),
					 errhint("If the extension \"%s\" is installed on the server, the type is also created by CREATE EXTENSION %s, which needs the CREATE privilege on the database.",
							 name, name)));
		compact_ddl_init(&ddl, funcid);
		compact_ddl_init_type(&ddl, name, nspid);
		nestlevel = compact_ddl_set_gucs();
		create(&ddl, arg);
		AtEOXact_GUC(true, nestlevel);
		*local = !creating_extension;
	}
	SPI_finish();

	typid = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
							CStringGetDatum(name), ObjectIdGetDatum(nspid));
	if (!OidIsValid(typid))
		elog(ERROR, "type \"%s\" was not created", name);

	return typid;
}
