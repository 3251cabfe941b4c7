/*-------------------------------------------------------------------------
 *
 * compact_auto.c
 *	  compact_types.auto: char(n) columns of new tables as compact_charN.
 *
 * A hook on utility commands changes the column types in the parse tree of
 * CREATE TABLE and of ALTER TABLE ... ADD COLUMN, and says so.  It takes a
 * type only if it is a member of the extension of its own name, so that a
 * user's type of that name is never put into the table of another user, nor one
 * of an extension that another user could drop.  What
 * it is not sure of, it leaves alone: the statement then does what it says.
 *
 * The hook needs the library before the first statement, so that it is there
 * in sessions with the library preloaded only.  In any other session the
 * setting cannot be switched on: it would depend on whether a function of the
 * library has been called before.
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
#include "catalog/indexing.h"
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

#include "compact_ddl.h"
#include "compact_types.h"
#include "compact_types_compat.h"

/* lengths that every installation has an extension for, see the Makefile */
#define MAX_INSTALLED_LENGTH	64

/* What is known of the statement whose columns are looked at. */
typedef struct AutoContext
{
	const char *relname;		/* for messages */
	Oid			owner;			/* of the table */
	List	   *excluded;		/* names of columns that keep their type */
	List	   *missing;		/* names of extensions that are not created */
	bool		detailed;		/* was the limit in bytes spoken of? */
} AutoContext;

static bool auto_char = false;
static bool auto_varchar = false;
static bool preloaded = false;

static ProcessUtility_hook_type prev_ProcessUtility = NULL;

/*
 * GUC check hook: refuse to be switched on where it could not work.
 *
 * Only sessions of clients are asked.  Parallel workers get the value of their
 * leader, and load the library in another way than he did.  A value that is
 * merely stored for a role or database is meant for other sessions.
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
 * OID of the type compact_charN if the extension of that name made it, and if
 * the user may use it.  An extension that is not there is added to the list of
 * those missing.
 */
static Oid
find_compact_type(AutoContext *context, int length)
{
	char		name[NAMEDATALEN];
	Oid			extid;
	Oid			result = InvalidOid;
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

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

	/* its schema is anyone's guess, so look at all types of that name */
	rel = table_open(TypeRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_type_typname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum(name));
	scan = systable_beginscan(rel, TypeNameNspIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_type type = (Form_pg_type) GETSTRUCT(tuple);

		if (type->typtype == TYPTYPE_BASE && type->typlen == length &&
			getExtensionOfObject(TypeRelationId, type->oid) == extid)
		{
			if (compat_has_usage(NamespaceRelationId, type->typnamespace, GetUserId()) &&
				compat_has_usage(TypeRelationId, type->oid, GetUserId()))
				result = type->oid;
			break;
		}
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	return result;
}

/*
 * If the type is char(n), or varchar(n) and those are wanted, set *typid and
 * *length.  Types that cannot be made sense of are left to the server, whose
 * messages are the ones to get.
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
	if (*length < 1 || *length > COMPACT_CHAR_MAX_LENGTH)
		return false;

	/* without the modifier, an error in which would have no position here */
	bare = *typeName;
	bare.typmods = NIL;
	*typid = LookupTypeNameOid(NULL, &bare, true);

	return *typid == BPCHAROID || (*typid == VARCHAROID && auto_varchar);
}

/*
 * Does the column's definition ask for what a compact type does not have, or
 * for a type that is not this table's alone to choose?
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
			case CONSTR_FOREIGN:
				/* the referenced column has that type */
				return true;
			default:
				break;
		}
	}

	return false;
}

/*
 * Give the column the compact type of its length, if there is one.  A type that
 * another user could drop, with the column, is no such one: the application
 * asked for char(n), and gets it.
 */
static void
choose_type(AutoContext *context, ColumnDef *column)
{
	Oid			typid;
	Oid			compact;
	int			length;
	char	   *drop;
	TypeName   *typeName;

	if (!is_character_type(column->typeName, &typid, &length) ||
		column_is_special(column) ||
		list_member(context->excluded, makeString(column->colname)))
		return;

	compact = find_compact_type(context, length);
	if (!OidIsValid(compact))
		return;
	drop = ddl_who_could_drop(compact, context->owner);
	if (drop)
	{
		ereport(NOTICE,
				(errmsg("column \"%s\" of table \"%s\" gets no compact type",
						column->colname, context->relname),
				 errdetail_internal("%s", drop),
				 errhint(DDL_OWNER_HINT)));
		return;
	}

	ereport(NOTICE,
			(errmsg("column \"%s\" of table \"%s\" gets type %s instead of %s",
					column->colname, context->relname, format_type_be(compact),
					format_type_with_typemod(typid, length + VARHDRSZ)),
			 !context->detailed && pg_database_encoding_max_length() > 1 ?
			 errdetail("The length is in bytes, of which a character outside of ASCII has more than one.") : 0,
			 typid == VARCHAROID ?
			 errhint("Trailing blanks are not kept, and output is padded with blanks as that of character(%d) is.",
					 length) : 0));
	context->detailed = true;

	/* by OID, so that no search_path and no name can lead elsewhere */
	typeName = makeTypeNameFromOid(compact, -1);
	typeName->location = column->typeName->location;
	column->typeName = typeName;
}

/* Speak of the extensions that were missing, once for a statement. */
static void
report_missing(const AutoContext *context)
{
	StringInfoData names;
	ListCell   *lc;

	/* where compact types are not in use at all, nobody wants to know */
	if (context->missing == NIL ||
		!OidIsValid(get_extension_oid("compact_types", true)))
		return;

	initStringInfo(&names);
	foreach(lc, context->missing)
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", strVal(lfirst(lc)));
	ereport(NOTICE,
			(errmsg("some columns of table \"%s\" get no compact type", context->relname),
			 errdetail_plural("Extension that is not in this database: %s.",
							  "Extensions that are not in this database: %s.",
							  list_length(context->missing), names.data),
			 errhint("Use CREATE EXTENSION before creating the table.")));
}

/*
 * Add the columns of a table constraint that keep their type: those of a
 * foreign key, whose other side decides; and those of an exclusion constraint,
 * whose operators and index need not have a compact type.
 */
static void
exclude_by_constraint(AutoContext *context, const Constraint *constraint)
{
	ListCell   *lc;

	if (constraint->contype == CONSTR_FOREIGN)
	{
		/* not list_concat(), which would share the cells of the statement */
		foreach(lc, constraint->fk_attrs)
			context->excluded = lappend(context->excluded, lfirst(lc));
	}
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

/* CREATE TABLE */
static void
choose_for_create(CreateStmt *stmt)
{
	AutoContext context = {.relname = stmt->relation->relname,.owner = GetUserId()};
	ListCell   *lc;

	/* the columns' types are the type's or the parents' */
	if (stmt->ofTypename != NULL || stmt->partbound != NULL ||
		stmt->inhRelations != NIL)
		return;

	/*
	 * nothing will be created; a table elsewhere in the search_path is no
	 * reason
	 */
	if (stmt->if_not_exists &&
		OidIsValid(get_relname_relid(stmt->relation->relname,
									 RangeVarGetCreationNamespace(stmt->relation))))
		return;

	/* an operator class that is named belongs to the type that is named */
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
			exclude_by_constraint(&context, lfirst(lc));
	}
	foreach(lc, stmt->tableElts)
	{
		if (IsA(lfirst(lc), ColumnDef))
			choose_type(&context, lfirst(lc));
	}
	report_missing(&context);
}

/* Has the table or one of its children a column of that name? */
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

static Oid
relation_owner(Oid relid)
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

/* ALTER TABLE ... ADD COLUMN */
static void
choose_for_alter(AlterTableStmt *stmt)
{
	AutoContext context = {.relname = stmt->relation->relname};
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
	context.owner = relation_owner(relid);

	foreach(lc, stmt->cmds)
	{
		AlterTableCmd *cmd = lfirst_node(AlterTableCmd, lc);

		if (cmd->subtype == AT_AddConstraint && IsA(cmd->def, Constraint))
			exclude_by_constraint(&context, (Constraint *) cmd->def);
	}
	foreach(lc, stmt->cmds)
	{
		AlterTableCmd *cmd = lfirst_node(AlterTableCmd, lc);

		/*
		 * A column that is there already is an error or nothing at all; one
		 * that a child has already must be of the same type.
		 */
		if (cmd->subtype == AT_AddColumn && IsA(cmd->def, ColumnDef) &&
			!column_exists(relid, ((ColumnDef *) cmd->def)->colname))
			choose_type(&context, (ColumnDef *) cmd->def);
	}
	report_missing(&context);
}

static void
compact_auto_ProcessUtility(PlannedStmt *pstmt, const char *queryString,
							bool readOnlyTree, ProcessUtilityContext context,
							ParamListInfo params, QueryEnvironment *queryEnv,
							DestReceiver *dest, QueryCompletion *qc)
{
	/* scripts of extensions and of pg_upgrade mean the types that they name */
	if (auto_char && !creating_extension && !IsBinaryUpgrade &&
		(IsA(pstmt->utilityStmt, CreateStmt) ||
		 IsA(pstmt->utilityStmt, AlterTableStmt)))
	{
		/* the tree of a cached plan is used again */
		if (readOnlyTree)
		{
			pstmt = copyObject(pstmt);
			readOnlyTree = false;
		}
		if (IsA(pstmt->utilityStmt, CreateStmt))
			choose_for_create((CreateStmt *) pstmt->utilityStmt);
		else
			choose_for_alter((AlterTableStmt *) pstmt->utilityStmt);
	}

	if (prev_ProcessUtility)
		prev_ProcessUtility(pstmt, queryString, readOnlyTree, context, params,
							queryEnv, dest, qc);
	else
		standard_ProcessUtility(pstmt, queryString, readOnlyTree, context,
								params, queryEnv, dest, qc);
}

/*
 * Part of _PG_init(): define the settings, and install the hook if the library
 * is preloaded, which is before the session gets to its normal work.
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
							 "Lets compact_types.auto change varchar(n) as well.",
							 "Values then lose trailing blanks and are padded on output.",
							 &auto_varchar,
							 false,
							 PGC_USERSET, 0,
							 check_auto, NULL, NULL);

	if (preloaded)
	{
		prev_ProcessUtility = ProcessUtility_hook;
		ProcessUtility_hook = compact_auto_ProcessUtility;
	}
}
