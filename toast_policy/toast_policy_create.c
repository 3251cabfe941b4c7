/*-------------------------------------------------------------------------
 *
 * toast_policy_create.c
 *	  Handle tables that get columns of a governed table, but not its access method.
 *
 * CREATE TABLE ... (LIKE ... INCLUDING STORAGE) and INHERITS copy STORAGE
 * EXTERNAL, but not the access method.  Before 17, the same is true of
 * PARTITION OF.  The values of a table created in this way would not be
 * compressed at all.  For LIKE and PARTITION OF, this file copies the access
 * method as well, unless the statement names an access method.  For INHERITS,
 * and for ALTER TABLE ... ATTACH PARTITION and INHERIT, this file only gives
 * a warning, because pg_dump writes these statements also for tables that use
 * heap on purpose.
 *
 * A hook on utility statements copies the access method or warns, so the
 * library must be loaded before the statement.  The statement itself can load
 * the library, as LIKE does when it opens a governed table.  In this case, the
 * hook on the creation of objects does the work.  That hook also gives a
 * notice about new columns of a governed table, and about columns that a
 * change of type makes EXTENDED.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_create.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_am.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "tcop/pquery.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "toast_policy.h"
#include "toast_policy_compat.h"

static ProcessUtility_hook_type tp_next_process_utility = NULL;

/* Number of running utility statements that passed through the hook */
static int	tp_utility_depth = 0;

/*
 * The column of the last notice, so that partitions do not repeat the notice.
 */
static struct
{
	TransactionId xid;
	Oid			root;
	NameData	name;
}			tp_told;

/* Return the table's name as a literal for enable(). */
static char *
tp_table_literal(Oid relid)
{
	return quote_literal_cstr(quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
														 get_rel_name(relid)));
}

/*
 * Return true if a column is EXTERNAL although its type's default is not
 * EXTERNAL.
 */
static bool
tp_has_external_column(Oid relid)
{
	bool		result = false;

	for (AttrNumber attnum = 1;; attnum++)
	{
		HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid),
											Int16GetDatum(attnum));
		Form_pg_attribute att;

		if (!HeapTupleIsValid(tuple))
			return result;
		att = (Form_pg_attribute) GETSTRUCT(tuple);
		result |= tp_column_is_governed(att) &&
			get_typstorage(att->atttypid) != TYPSTORAGE_EXTERNAL;
		ReleaseSysCache(tuple);
	}
}

/*
 * Return true if the table or one of its partitions uses the access method.
 * Take no lock: concurrent changes do no harm.
 */
static bool
tp_is_family(Oid relid, Oid amoid)
{
	bool		result = false;
	List	   *relids = list_make1_oid(relid);
	ListCell   *cell;

	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		relids = find_all_inheritors(relid, NoLock, NULL);
	foreach(cell, relids)
		result |= tp_get_access_method(lfirst_oid(cell)) == amoid;
	list_free(relids);

	return result;
}

/* Return true if the table is governed, or partitioned with governed partitions. */
static bool
tp_is_governed(Oid relid, Oid amoid)
{
	return OidIsValid(relid) && tp_has_external_column(relid) &&
		tp_is_family(relid, amoid);
}

/*
 * Return the table whose access method the new table shall have, or
 * InvalidOid.  It is the table from which the new one gets its columns
 * together with their STORAGE.
 */
static Oid
tp_model(const CreateStmt *create, Oid amoid)
{
	const char *name = create->accessMethod ? create->accessMethod : default_table_access_method;
	ListCell   *cell;

	if (strcmp(name, "heap") != 0)
		return InvalidOid;
	/* from 17 on, a partition takes its parent's access method */
	if (create->partbound != NULL && !COMPAT_PARTITIONED_HAS_AM &&
		create->inhRelations != NIL)
	{
		Oid			parent = RangeVarGetRelid(linitial_node(RangeVar, create->inhRelations),
											  NoLock, true);

		if (tp_is_governed(parent, amoid))
			return parent;
	}
	foreach(cell, create->tableElts)
	{
		TableLikeClause *like = lfirst(cell);
		Oid			source;

		if (!IsA(like, TableLikeClause) || (like->options & CREATE_TABLE_LIKE_STORAGE) == 0)
			continue;
		source = RangeVarGetRelid(like->relation, NoLock, true);
		if (tp_is_governed(source, amoid))
			return source;
	}

	return InvalidOid;
}

/* Return true if the statement can get a USING clause. */
static bool
tp_can_carry(const CreateStmt *create)
{
	return create->accessMethod == NULL &&
		(create->partspec == NULL || COMPAT_PARTITIONED_HAS_AM);
}

static void
tp_tell_carried(const char *name, Oid model)
{
	ereport(NOTICE,
			(errmsg("table \"%s\" uses access method \"toast_policy\", as \"%s\" does",
					name, get_rel_name(model)),
			 errdetail("Its columns have STORAGE EXTERNAL as in that table, so access method \"heap\" would not compress their values.")));
}

/*
 * Warn about tables of heap that have got EXTERNAL columns of a governed
 * table.  Examine the relation, or its partitions.  If others is true, also
 * give a notice about tables whose columns heap compresses.
 */
static void
tp_warn_if_heap(Oid relid, bool others)
{
	List	   *relids = list_make1_oid(relid);
	ListCell   *cell;

	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		relids = find_all_inheritors(relid, NoLock, NULL);
	foreach(cell, relids)
	{
		Oid			table = lfirst_oid(cell);

		if (tp_get_access_method(table) != HEAP_TABLE_AM_OID)
			continue;
		if (tp_has_external_column(table))
			ereport(WARNING,
					(errmsg("table \"%s\" uses access method \"heap\", which does not compress its columns with STORAGE EXTERNAL",
							get_rel_name(table)),
					 errhint("To let toast_policy compress them, run SELECT toast_policy.enable(%s).",
							 tp_table_literal(table))));
		else if (others)
			ereport(NOTICE,
					(errmsg("table \"%s\" uses access method \"heap\", so toast_policy does not govern it",
							get_rel_name(table)),
					 errhint("To let toast_policy govern it, run SELECT toast_policy.enable(%s).",
							 tp_table_literal(table))));
	}
}

/*
 * Return the table that the statement creates, or InvalidOid if there is none.
 * Look only in the schema in which the statement creates tables: a table of
 * the same name in another schema of the search path, or a temporary one, is
 * another table.
 */
static Oid
tp_created_table(const CreateStmt *create)
{
	return get_relname_relid(create->relation->relname,
							 RangeVarGetCreationNamespace(create->relation));
}

/*
 * After CREATE TABLE: warn if the table has got EXTERNAL columns, but not the
 * access method, from a table that it copies or inherits.
 */
static void
tp_after_create(const CreateStmt *create, Oid amoid)
{
	Oid			relid = tp_created_table(create);
	bool		governed = OidIsValid(tp_model(create, amoid));
	ListCell   *cell;

	foreach(cell, create->inhRelations)
		governed |= tp_is_governed(RangeVarGetRelid(lfirst_node(RangeVar, cell), NoLock, true),
								   amoid);
	if (governed && OidIsValid(relid))
		tp_warn_if_heap(relid, false);
}

/* After ALTER TABLE: warn if a table of heap has got a governed parent. */
static void
tp_after_alter(const AlterTableStmt *alter, Oid amoid)
{
	ListCell   *cell;

	foreach(cell, alter->cmds)
	{
		AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);
		RangeVar   *parent;
		RangeVar   *child;
		Oid			parentid;
		Oid			childid;

		if (command->subtype == AT_AttachPartition)
		{
			parent = alter->relation;
			child = castNode(PartitionCmd, command->def)->name;
		}
		else if (command->subtype == AT_AddInherit)
		{
			parent = castNode(RangeVar, command->def);
			child = alter->relation;
		}
		else
			continue;
		parentid = RangeVarGetRelid(parent, NoLock, true);
		childid = RangeVarGetRelid(child, NoLock, true);
		if (OidIsValid(parentid) && OidIsValid(childid) &&
			tp_is_governed(parentid, amoid))
			tp_warn_if_heap(childid, command->subtype == AT_AttachPartition);
	}
}

/* Run a utility statement as the server does without this hook. */
static void
tp_run_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
			   ProcessUtilityContext context, ParamListInfo params,
			   QueryEnvironment *queryEnv, DestReceiver *dest,
			   QueryCompletion *qc)
{
	tp_utility_depth++;
	PG_TRY();
	{
		if (tp_next_process_utility)
			tp_next_process_utility(pstmt, queryString, readOnlyTree, context, params,
									queryEnv, dest, qc);
		else
			standard_ProcessUtility(pstmt, queryString, readOnlyTree, context, params,
									queryEnv, dest, qc);
	}
	PG_FINALLY();
	{
		tp_utility_depth--;
	}
	PG_END_TRY();
}

/* Hook on utility statements */
static void
tp_process_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
				   ProcessUtilityContext context, ParamListInfo params,
				   QueryEnvironment *queryEnv, DestReceiver *dest,
				   QueryCompletion *qc)
{
	Node	   *before = NULL;
	Oid			amoid = InvalidOid;
	Oid			model = InvalidOid;

	tp_table_born(InvalidOid);

	/*
	 * Do not read catalogs for other statements, which may run without
	 * catalog access.
	 */
	if (IsA(pstmt->utilityStmt, CreateStmt) ||
		(IsA(pstmt->utilityStmt, AlterTableStmt) &&
		 castNode(AlterTableStmt, pstmt->utilityStmt)->objtype == OBJECT_TABLE))
		amoid = tp_access_method_oid(true);
	if (OidIsValid(amoid) && IsA(pstmt->utilityStmt, CreateStmt))
	{
		const CreateStmt *create = castNode(CreateStmt, pstmt->utilityStmt);

		if (create->if_not_exists && OidIsValid(tp_created_table(create)))
			amoid = InvalidOid;
		else if (tp_can_carry(create))
			model = tp_model(create, amoid);
		if (OidIsValid(model))
		{
			pstmt = copyObject(pstmt);
			castNode(CreateStmt, pstmt->utilityStmt)->accessMethod = pstrdup("toast_policy");
			readOnlyTree = false;
		}
	}
	/* copy the tree first, because running the statement may change it */
	if (OidIsValid(amoid))
		before = copyObject(pstmt->utilityStmt);

	tp_run_utility(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest,
				   qc);

	if (before == NULL)
		return;
	if (OidIsValid(model))
		tp_tell_carried(castNode(CreateStmt, before)->relation->relname, model);
	else if (IsA(before, CreateStmt))
		tp_after_create(castNode(CreateStmt, before), amoid);
	else
		tp_after_alter(castNode(AlterTableStmt, before), amoid);
}

/*
 * Return the CREATE TABLE that the client sent, or NULL if it sent something
 * else.  Parse the statement again, because its execution removes the LIKE
 * clauses from its tree.
 */
static const CreateStmt *
tp_client_statement(void)
{
	PlannedStmt *pstmt;
	ListCell   *cell;

	if (ActivePortal == NULL || list_length(ActivePortal->stmts) != 1 ||
		ActivePortal->sourceText == NULL)
		return NULL;
	pstmt = linitial_node(PlannedStmt, ActivePortal->stmts);
	if (pstmt->utilityStmt == NULL || !IsA(pstmt->utilityStmt, CreateStmt))
		return NULL;
	foreach(cell, raw_parser(ActivePortal->sourceText, RAW_PARSE_DEFAULT))
	{
		RawStmt    *raw = lfirst_node(RawStmt, cell);

		if (raw->stmt_location == pstmt->stmt_location && IsA(raw->stmt, CreateStmt))
			return castNode(CreateStmt, raw->stmt);
	}

	return NULL;
}

/*
 * Handle a new table.  If the statement that creates it has loaded the
 * library, do the work of the hook on utility statements.
 */
void
tp_table_created(Oid relid)
{
	const CreateStmt *create;
	Oid			amoid;
	Oid			model = InvalidOid;

	if (tp_utility_depth > 0)
		return;
	amoid = tp_access_method_oid(true);
	if (!OidIsValid(amoid))
		return;
	/* make the catalog rows visible; the caller does the same next */
	CommandCounterIncrement();
	if (get_rel_relkind(relid) != RELKIND_RELATION ||
		tp_get_access_method(relid) != HEAP_TABLE_AM_OID || !tp_has_external_column(relid))
		return;
	create = tp_client_statement();
	if (create != NULL && strcmp(create->relation->relname, get_rel_name(relid)) != 0)
		create = NULL;
	if (create != NULL && tp_can_carry(create))
		model = tp_model(create, amoid);
	if (OidIsValid(model))
	{
		tp_tell_carried(get_rel_name(relid), model);
		tp_set_access_method(relid, amoid);
	}
	else
		/* the statement has opened a governed table to copy its columns */
		tp_warn_if_heap(relid, false);
}

/* Give the notice about a column that is not governed. */
static void
tp_tell_column(Oid relid, const char *name, const char *message)
{
	List	   *ancestors = get_rel_relispartition(relid) ? get_partition_ancestors(relid) : NIL;
	Oid			root = ancestors != NIL ? llast_oid(ancestors) : relid;
	TransactionId xid = GetTopTransactionIdIfAny();

	if (tp_told.xid == xid && tp_told.root == root && strcmp(NameStr(tp_told.name), name) == 0)
		return;
	tp_told.xid = xid;
	tp_told.root = root;
	namestrcpy(&tp_told.name, name);
	ereport(NOTICE,
			(errmsg(message, name, get_rel_name(root)),
			 errhint("If the column holds large values, run SELECT toast_policy.enable(%s, %s).",
					 tp_table_literal(root), quote_literal_cstr(name))));
}

/*
 * Handle a column that was added or altered.  Give a notice if the table is
 * governed, and the policy could govern the column, but does not or no longer
 * governs it.
 */
void
tp_column_changed(Oid relid, AttrNumber attnum, bool added)
{
	Oid			amoid = tp_access_method_oid(true);
	Relation	attributes;
	SysScanDesc scan;
	ScanKeyData keys[2];
	HeapTuple	tuple;
	FormData_pg_attribute att;
	char		relkind = get_rel_relkind(relid);
	int32		max_size;

	if (!OidIsValid(amoid) || IsBinaryUpgrade ||
		(relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE) ||
		tp_get_access_method(relid) != amoid)
		return;

	attributes = table_open(AttributeRelationId, AccessShareLock);
	ScanKeyInit(&keys[0], Anum_pg_attribute_attrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	ScanKeyInit(&keys[1], Anum_pg_attribute_attnum, BTEqualStrategyNumber, F_INT2EQ,
				Int16GetDatum(attnum));
	scan = systable_beginscan(attributes, AttributeRelidNumIndexId, true, SnapshotSelf,
							  2, keys);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		memcpy(&att, GETSTRUCT(tuple), sizeof(FormData_pg_attribute));
	systable_endscan(scan);
	table_close(attributes, AccessShareLock);

	if (!HeapTupleIsValid(tuple) || att.attisdropped || att.attlen != -1 ||
		att.attstorage != TYPSTORAGE_EXTENDED || tp_column_is_virtual(&att) ||
		tp_is_compressed_type(att.atttypid))
		return;

	/*
	 * REFRESH MATERIALIZED VIEW adds a column to its temporary table: no
	 * notice.
	 */
	if (get_rel_persistence(relid) == RELPERSISTENCE_TEMP)
		return;
	/* do not report a column that is too short to make a row large */
	max_size = type_maximum_size(att.atttypid, att.atttypmod);
	if (max_size > 0 && max_size <= (int32) TOAST_TUPLE_THRESHOLD)
		return;

	if (added)
	{
		tp_tell_column(relid, NameStr(att.attname),
					   gettext_noop("column \"%s\" of table \"%s\" is not governed by toast_policy"));
		return;
	}

	/* the command counter has not moved: the cache still has the old column */
	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(attnum));
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_attribute old = (Form_pg_attribute) GETSTRUCT(tuple);
		bool		lost = tp_column_is_governed(old) &&
			(old->atttypid != att.atttypid || old->atttypmod != att.atttypmod ||
			 old->attcollation != att.attcollation);

		ReleaseSysCache(tuple);
		if (lost)
			tp_tell_column(relid, NameStr(att.attname),
						   gettext_noop("column \"%s\" of table \"%s\" is no longer governed by toast_policy, because its new type has set its STORAGE"));
	}
}

/* Called when the library is loaded. */
void
tp_create_init(void)
{
	tp_next_process_utility = ProcessUtility_hook;
	ProcessUtility_hook = tp_process_utility;
}
