/*-------------------------------------------------------------------------
 *
 * compact_auto.c
 *	  compact_types.auto: create char(n) columns of new tables as compact_charN,
 *	  and varchar(n) columns as compact_text(n).
 *
 * A hook on utility commands changes the column types in the parse tree of
 * CREATE TABLE and of ALTER TABLE ... ADD COLUMN, and reports the change.  The
 * hook uses a type only if the type is a member of the extension that creates
 * it.  So a user's own type of that name is never used in the table of another
 * user.  The hook also does not use a type whose extension another user could
 * drop.  If in doubt, the hook does not change the statement.
 *
 * A column with a foreign key gets a compact type only if the referenced
 * column has the same type, because a join of columns of two types can use
 * fewer indexes.  A foreign key that is added later may have a compact type on
 * one side and char or varchar on the other.
 *
 * If a column has a compact type, ALTER COLUMN ... TYPE char(n) or varchar(n)
 * gives the column a compact type again, because the application only wants
 * another length.
 *
 * The setting can be switched on only in sessions that preloaded the library.
 * In other sessions, the setting would have no effect until the first call of
 * a function of the library loads it.  The hook itself is installed as soon as
 * the library is loaded, for compact_auto_index().
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_auto.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_type.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compact_auto.h"
#include "compact_ddl.h"
#include "compact_scalar.h"
#include "compact_trained.h"
#include "compact_types.h"
#include "compact_types_compat.h"

/*
 * the extensions compact_charN up to this N are always installed, see the
 * Makefile
 */
#define MAX_INSTALLED_LENGTH	64

static bool auto_char = false;
static bool auto_varchar = false;
static bool preloaded = false;

static ProcessUtility_hook_type prev_ProcessUtility = NULL;

/* The CREATE SCHEMA that is being executed */
static const CreateSchemaStmt *executed_schema = NULL;

/*
 * GUC check hook: refuse to switch the setting on where it could not work.
 *
 * Check only sessions of clients.  Parallel workers get the value from their
 * leader, and load the library in another way than the leader did.  A value
 * that is merely stored for a role or database is meant for other sessions.
 */
static bool
check_auto(bool *newval, void **extra, GucSource source)
{
	if (!*newval || preloaded || MyBackendType != B_BACKEND ||
		source == PGC_S_TEST)
		return true;

	GUC_check_errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE);
	GUC_check_errmsg("compact types cannot be chosen automatically in a session that did not preload the library \"compact_types\"");
	GUC_check_errhint("Add compact_types to session_preload_libraries or shared_preload_libraries.");
	return false;
}

/*
 * Return the OID of the type with that name and length in bytes (-1:
 * variable).  Return InvalidOid unless the extension created the type and the
 * user may use it.
 */
static Oid
find_type_of_extension(const char *name, int typlen, Oid extid)
{
	Oid			result = InvalidOid;
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	/* the type can be in any schema, so examine all types of that name */
	rel = table_open(TypeRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_type_typname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum(name));
	scan = systable_beginscan(rel, TypeNameNspIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_type type = (Form_pg_type) GETSTRUCT(tuple);

		if (type->typtype == TYPTYPE_BASE && type->typlen == typlen &&
			getExtensionOfObject(TypeRelationId, type->oid) == extid)
		{
			if (compat_has_privilege(NamespaceRelationId, type->typnamespace, GetUserId(), ACL_USAGE) &&
				compat_has_privilege(TypeRelationId, type->oid, GetUserId(), ACL_USAGE))
				result = type->oid;
			break;
		}
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	return result;
}

/*
 * Return the compact type that replaces char(length) or, if varchar is true,
 * varchar(length).  If the extension of a compact_charN up to
 * MAX_INSTALLED_LENGTH has not been created, add its name to the list of
 * missing extensions.
 */
static Oid
find_compact_type(CompactAutoContext *context, bool varchar, int length)
{
	char		name[NAMEDATALEN];
	Oid			extid;

	if (varchar)
	{
		extid = get_extension_oid("compact_types", true);
		if (!OidIsValid(extid))
			return InvalidOid;
		return find_type_of_extension("compact_text", -1, extid);
	}

	if (length > COMPACT_CHAR_MAX_LENGTH)
		return InvalidOid;
	snprintf(name, sizeof(name), "compact_char%d", length);
	extid = get_extension_oid(name, true);
	if (!OidIsValid(extid))
	{
		if (length <= MAX_INSTALLED_LENGTH &&
			!list_member(context->missing, makeString(name)))
			context->missing = lappend(context->missing, makeString(pstrdup(name)));
		ereport(DEBUG1,
				(errmsg_internal("extension \"%s\" is not there for table \"%s\"",
								 name, context->relname)));
		return InvalidOid;
	}

	return find_type_of_extension(name, length, extid);
}

/*
 * If the type is char(n), set *typid and *length, and return true.  Do the
 * same for varchar(n) if compact_types.auto_varchar is on.  Return false for
 * an invalid type, so that the user gets the server's own error message.
 */
static bool
is_character_type(const TypeName *typeName, Oid *typid, int *length)
{
	const char *name;
	TypeName	bare;
	Node	   *typmod;

	if (typeName == NULL || typeName->names == NIL || typeName->setof ||
		typeName->pct_type || typeName->arrayBounds != NIL ||
		list_length(typeName->typmods) != 1)
		return false;

	name = strVal(llast(typeName->names));
	if (strcmp(name, "bpchar") != 0 && strcmp(name, "varchar") != 0)
		return false;

	typmod = linitial(typeName->typmods);
	if (!IsA(typmod, A_Const) || !IsA(&((A_Const *) typmod)->val, Integer))
		return false;
	*length = intVal(&((A_Const *) typmod)->val);
	if (*length < 1 || *length > MaxAttrSize)
		return false;

	/*
	 * look up the type without its modifier, because the message of an error
	 * in the modifier would have no position here
	 */
	bare = *typeName;
	bare.typmods = NIL;
	*typid = LookupTypeNameOid(NULL, &bare, true);

	return *typid == BPCHAROID || (*typid == VARCHAROID && auto_varchar);
}

/*
 * Return true if the column must keep its type because its definition has a
 * COLLATE, COMPRESSION, STORAGE or OPTIONS clause, or because the column is an
 * identity column or a generated column.
 */
static bool
column_is_special(const ColumnDef *column)
{
	ListCell   *lc;

	if (column->collClause != NULL || OidIsValid(column->collOid) ||
		column->compression != NULL || compat_column_has_storage(column) ||
		column->fdwoptions != NIL)
		return true;

	foreach(lc, column->constraints)
	{
		Constraint *constraint = lfirst_node(Constraint, lc);

		switch (constraint->contype)
		{
			case CONSTR_IDENTITY:
			case CONSTR_GENERATED:
				return true;
			default:
				break;
		}
	}

	return false;
}

/*
 * Return a TypeName of the compact type that replaces the declared type of the
 * column, or NULL if there is none.  Return NULL also if another user could
 * drop the type together with the column.  The column then keeps the type that
 * the application asked for.  Report the column and its type in a NOTICE.  If
 * kept is valid, it is the type that the column has and keeps.
 */
static TypeName *
compact_type_name(CompactAutoContext *context, const ColumnDef *column, const char *colname,
				  Oid kept)
{
	Oid			typid;
	Oid			compact;
	int			length;
	int32		typmod;
	char	   *drop;
	TypeName   *typeName;

	if (!is_character_type(column->typeName, &typid, &length))
		return NULL;
	compact = OidIsValid(kept) ? kept :
		find_compact_type(context, typid == VARCHAROID, length);
	if (!OidIsValid(compact) || !compact_auto_references_have_type(context, column, compact))
		return NULL;
	drop = compact_ddl_who_could_drop(compact, context->owner);
	if (drop)
	{
		ereport(NOTICE,
				(errmsg("column \"%s\" of table \"%s\" gets no compact type",
						colname, context->relname),
				 errdetail_internal("%s", drop),
				 errhint(DDL_OWNER_HINT)));
		return NULL;
	}

	typmod = typid == VARCHAROID ? length + VARHDRSZ : -1;
	ereport(NOTICE,
			(errmsg("column \"%s\" of table \"%s\" gets type %s instead of %s",
					colname, context->relname,
					format_type_with_typemod(compact, typmod),
					format_type_with_typemod(typid, length + VARHDRSZ)),
			 !context->detailed && typid == BPCHAROID && pg_database_encoding_max_length() > 1 ?
			 errdetail("The length is in bytes.  A character outside of ASCII has more than one byte.") : 0));
	if (typid == BPCHAROID)
		context->detailed = true;

	/* name the type by its OID, so that no other type of that name is found */
	typeName = makeTypeNameFromOid(compact, typmod);
	typeName->location = column->typeName->location;

	return typeName;
}

/* Give a new column its compact type, if there is one. */
static void
choose_type(CompactAutoContext *context, ColumnDef *column)
{
	TypeName   *typeName;

	if (column_is_special(column) ||
		list_member(context->excluded, makeString(column->colname)))
		return;
	typeName = compact_type_name(context, column, column->colname, InvalidOid);
	if (typeName != NULL)
		column->typeName = typeName;
}

/* Report the missing extensions, once for each statement. */
static void
report_missing(const CompactAutoContext *context)
{
	StringInfoData names;
	ListCell   *lc;

	/* do not report them in a database without the extension compact_types */
	if (context->missing == NIL ||
		!OidIsValid(get_extension_oid("compact_types", true)))
		return;

	initStringInfo(&names);
	foreach(lc, context->missing)
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", strVal(lfirst(lc)));
	ereport(NOTICE,
			(errmsg("some columns of table \"%s\" get no compact type", context->relname),
			 errdetail_plural("Missing extension: %s.",
							  "Missing extensions: %s.",
							  list_length(context->missing), names.data),
			 errhint("Use CREATE EXTENSION before creating the table.")));
}

/*
 * Record a foreign key of the table, or the columns of an exclusion
 * constraint.  The columns of an exclusion constraint keep their type, because
 * a compact type may lack the operators and the index access method of the
 * constraint.
 */
static void
note_constraint(CompactAutoContext *context, const Constraint *constraint)
{
	ListCell   *lc;

	if (constraint->contype == CONSTR_FOREIGN)
		context->foreign_keys = lappend(context->foreign_keys, unconstify(Constraint *, constraint));
	else if (constraint->contype == CONSTR_EXCLUSION)
	{
		foreach(lc, constraint->exclusions)
		{
			IndexElem  *element = linitial_node(IndexElem, lfirst(lc));

			if (element->name != NULL)
				context->excluded = lappend(context->excluded, makeString(element->name));
		}
	}
}

/*
 * Record the foreign keys of a table that CREATE SCHEMA creates.  From
 * PostgreSQL 19 on, CREATE SCHEMA adds the foreign keys after it has created
 * all objects.  The CREATE TABLE statements that CREATE SCHEMA runs have no
 * foreign keys.
 */
static void
note_keys_of_schema(CompactAutoContext *context)
{
	ListCell   *lc;

	foreach(lc, executed_schema->schemaElts)
	{
		CreateStmt *stmt = lfirst(lc);
		ListCell   *element;

		if (!IsA(stmt, CreateStmt) || strcmp(stmt->relation->relname, context->relname) != 0)
			continue;
		foreach(element, stmt->tableElts)
		{
			ListCell   *lc2;

			if (IsA(lfirst(element), Constraint))
				note_constraint(context, lfirst(element));
			if (!IsA(lfirst(element), ColumnDef))
				continue;
			foreach(lc2, lfirst_node(ColumnDef, element)->constraints)
			{
				Constraint *constraint = copyObject(lfirst_node(Constraint, lc2));

				constraint->fk_attrs = list_make1(makeString(lfirst_node(ColumnDef, element)->colname));
				if (constraint->contype == CONSTR_FOREIGN)
					note_constraint(context, constraint);
			}
		}
	}
}

/* Choose the types for CREATE TABLE. */
static void
choose_for_create(CreateStmt *stmt, ProcessUtilityContext utility_context)
{
	CompactAutoContext context = {.relname = stmt->relation->relname,.owner = GetUserId(),.create = stmt};
	ListCell   *lc;

	/*
	 * the column types come from the composite type or from the parent tables
	 */
	if (stmt->ofTypename != NULL || stmt->partbound != NULL ||
		stmt->inhRelations != NIL)
		return;

	/*
	 * If the table exists, IF NOT EXISTS creates nothing.  A table of that
	 * name in another schema of the search_path does not count.
	 */
	if (stmt->if_not_exists &&
		OidIsValid(get_relname_relid(stmt->relation->relname,
									 RangeVarGetCreationNamespace(stmt->relation))))
		return;

	/*
	 * a column of the partition key keeps its type if the key names an
	 * operator class for the column, because this class is for that type
	 */
	if (stmt->partspec != NULL)
	{
		foreach(lc, stmt->partspec->partParams)
		{
			PartitionElem *element = lfirst_node(PartitionElem, lc);

			if (element->name != NULL && element->opclass != NIL)
				context.excluded = lappend(context.excluded, makeString(element->name));
		}
	}

	foreach(lc, stmt->tableElts)
	{
		if (IsA(lfirst(lc), Constraint))
			note_constraint(&context, lfirst(lc));
	}
	if (executed_schema != NULL && utility_context == PROCESS_UTILITY_SUBCOMMAND)
		note_keys_of_schema(&context);

	/*
	 * choose the types of columns that refer to the table itself last,
	 * because they depend on the types of the referenced columns
	 */
	for (int self = 0; self <= 1; self++)
	{
		foreach(lc, stmt->tableElts)
		{
			if (IsA(lfirst(lc), ColumnDef) &&
				compact_auto_refers_to_itself(&context, lfirst(lc)) == (self == 1))
				choose_type(&context, lfirst(lc));
		}
	}
	report_missing(&context);
}

/* Return true if the table or one of its children has a column of that name. */
static bool
column_exists(Oid relid, const char *colname)
{
	ListCell   *lc;

	foreach(lc, find_all_inheritors(relid, NoLock, NULL))
	{
		if (get_attnum(lfirst_oid(lc), colname) != InvalidAttrNumber)
			return true;
	}

	return false;
}

/*
 * Choose the type for ALTER TABLE ... ALTER COLUMN ... TYPE.  A column of
 * compact_text or trained_textN keeps the type.  A compact_charN column gets
 * the compact type of the new length, unless the column is in a foreign key,
 * which needs the same type on both sides.
 */
static void
choose_for_alter_type(CompactAutoContext *context, Oid relid, AlterTableCmd *cmd)
{
	ColumnDef  *column = (ColumnDef *) cmd->def;
	AttrNumber	attnum = get_attnum(relid, cmd->name);
	Oid			present;
	Oid			typid;
	int			length;
	TypeName   *typeName;

	if (attnum <= 0 || column->collClause != NULL ||
		!is_character_type(column->typeName, &typid, &length))
		return;
	present = get_atttype(relid, attnum);
	if (compact_string_kind(present) != (typid == VARCHAROID ? COMPACT_STRING_TEXT : COMPACT_STRING_CHAR))
		return;
	if (typid == BPCHAROID && get_typlen(present) != length &&
		compact_auto_column_is_in_foreign_key(relid, attnum))
		return;

	typeName = compact_type_name(context, column, cmd->name,
								 compact_trained_type_number(present) > 0 ? present : InvalidOid);
	if (typeName == NULL)
		return;

	/*
	 * Many applications write USING c::varchar(n).  Let that cast name the
	 * compact type too.  With a cast to varchar, the server could not find
	 * out that no row needs to be rewritten.
	 */
	if (column->raw_default != NULL && IsA(column->raw_default, TypeCast))
	{
		TypeCast   *cast = (TypeCast *) column->raw_default;
		ColumnRef  *ref = (ColumnRef *) cast->arg;
		Oid			cast_typid;
		int			cast_length;

		if (IsA(ref, ColumnRef) && list_length(ref->fields) == 1 &&
			IsA(linitial(ref->fields), String) &&
			strcmp(strVal(linitial(ref->fields)), cmd->name) == 0 &&
			is_character_type(cast->typeName, &cast_typid, &cast_length) &&
			cast_typid == typid && cast_length == length)
			cast->typeName = copyObject(typeName);
	}
	column->typeName = typeName;
}

/*
 * Choose the types for ALTER TABLE ... ADD COLUMN and ALTER COLUMN ... TYPE.
 */
static void
choose_for_alter(AlterTableStmt *stmt)
{
	CompactAutoContext context = {.relname = stmt->relation->relname};
	Oid			relid;
	char		relkind;
	ListCell   *lc;

	if (stmt->objtype != OBJECT_TABLE)
		return;
	relid = RangeVarGetRelid(stmt->relation, NoLock, true);
	if (!OidIsValid(relid))
		return;
	relkind = get_rel_relkind(relid);
	if (relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE)
		return;
	context.owner = compact_ddl_relation_owner(relid);

	foreach(lc, stmt->cmds)
	{
		AlterTableCmd *cmd = lfirst_node(AlterTableCmd, lc);

		if (cmd->subtype == AT_AddConstraint && IsA(cmd->def, Constraint))
			note_constraint(&context, (Constraint *) cmd->def);
	}
	foreach(lc, stmt->cmds)
	{
		AlterTableCmd *cmd = lfirst_node(AlterTableCmd, lc);

		/*
		 * For an existing column, ADD COLUMN is an error or does nothing.  A
		 * column that a child table already has must keep the type that it
		 * has there.
		 */
		if (cmd->subtype == AT_AddColumn && IsA(cmd->def, ColumnDef) &&
			!column_exists(relid, ((ColumnDef *) cmd->def)->colname))
			choose_type(&context, (ColumnDef *) cmd->def);
		else if (cmd->subtype == AT_AlterColumnType && IsA(cmd->def, ColumnDef))
			choose_for_alter_type(&context, relid, cmd);
	}
	report_missing(&context);
}

/*
 * Run the statement.  While it runs, remember it if it is a CREATE SCHEMA or,
 * for compact_parameter.c, an EXECUTE.
 */
static void
run_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
			ProcessUtilityContext context, ParamListInfo params,
			QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	ExecuteNote outer;
	const CreateSchemaStmt *outer_schema = executed_schema;

	if (IsA(pstmt->utilityStmt, CreateSchemaStmt))
		executed_schema = (const CreateSchemaStmt *) pstmt->utilityStmt;
	compact_execute_begin(pstmt->utilityStmt, &outer);
	PG_TRY();
	{
		if (prev_ProcessUtility)
			prev_ProcessUtility(pstmt, queryString, readOnlyTree, context, params,
								queryEnv, dest, qc);
		else
			standard_ProcessUtility(pstmt, queryString, readOnlyTree, context,
									params, queryEnv, dest, qc);
	}
	PG_FINALLY();
	{
		compact_execute_end(&outer);
		executed_schema = outer_schema;
	}
	PG_END_TRY();
}

static void
compact_auto_ProcessUtility(PlannedStmt *pstmt, const char *queryString,
							bool readOnlyTree, ProcessUtilityContext context,
							ParamListInfo params, QueryEnvironment *queryEnv,
							DestReceiver *dest, QueryCompletion *qc)
{
	/*
	 * do not change a statement of an extension's script or of pg_upgrade,
	 * which needs exactly the types that it names
	 */
	if (!creating_extension && !IsBinaryUpgrade &&
		(IsA(pstmt->utilityStmt, IndexStmt) ||
		 (auto_char && (IsA(pstmt->utilityStmt, CreateStmt) ||
						IsA(pstmt->utilityStmt, AlterTableStmt)))))
	{
		/* copy the tree of a cached plan, because it is used again */
		if (readOnlyTree)
		{
			pstmt = copyObject(pstmt);
			readOnlyTree = false;
		}
		if (IsA(pstmt->utilityStmt, CreateStmt))
			choose_for_create((CreateStmt *) pstmt->utilityStmt, context);
		else if (IsA(pstmt->utilityStmt, IndexStmt))
			compact_auto_index((IndexStmt *) pstmt->utilityStmt);
		else
			choose_for_alter((AlterTableStmt *) pstmt->utilityStmt);
	}

	run_utility(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
}

/*
 * Part of _PG_init(): define the settings, and install the hook.  If the
 * library is preloaded, this happens before the session starts its normal
 * work.
 */
void
compact_auto_init(void)
{
	preloaded = process_shared_preload_libraries_in_progress ||
		IsInitProcessingMode();

	DefineCustomBoolVariable("compact_types.auto",
							 "Creates char(n) columns of new tables as compact_charN.",
							 "Columns keep their type where the extension compact_charN has not been created.",
							 &auto_char,
							 false,
							 PGC_USERSET, 0,
							 check_auto, NULL, NULL);
	DefineCustomBoolVariable("compact_types.auto_varchar",
							 "Lets compact_types.auto create varchar(n) columns as compact_text(n).",
							 NULL,
							 &auto_varchar,
							 false,
							 PGC_USERSET, 0,
							 check_auto, NULL, NULL);

	prev_ProcessUtility = ProcessUtility_hook;
	ProcessUtility_hook = compact_auto_ProcessUtility;
}
