/*-------------------------------------------------------------------------
 *
 * toast_policy_ddl.c
 *	  Move tables to and from the access method, without rewriting them.
 *
 * enable() and disable() change only settings that core's own DDL can change:
 * the STORAGE of columns, the option toast_tuple_target, and the table's access
 * method.  Hence pg_dump, pg_upgrade and replication need no support.  ALTER
 * TABLE would rewrite the table to change the access method, although both
 * access methods store the rows in the same format.
 *
 * An index takes the storage of its columns from the table, and does not
 * compress the keys of an EXTERNAL column.  If the keys of governed columns
 * were EXTERNAL, long keys that used to fit into an index would no longer fit.
 * Therefore these keys stay EXTENDED.  enable() changes existing indexes, and
 * a hook changes indexes that are created later.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_ddl.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/partition.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "toast_policy.h"
#include "toast_policy_compat.h"

PG_FUNCTION_INFO_V1(tp_enable);
PG_FUNCTION_INFO_V1(tp_disable);
PG_FUNCTION_INFO_V1(tp_disable_all);

/*
 * Return the access method's OID in this database.  No other access method can
 * have the name while the extension exists.
 */
Oid
tp_access_method_oid(bool missing_ok)
{
	return get_table_am_oid("toast_policy", missing_ok);
}

/*
 * Return true if the relation exists.  Raise an error if the caller does not
 * own the relation: nobody may queue for a lock on another role's table.
 */
static bool
tp_check_owner(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));

	if (!HeapTupleIsValid(tuple))
		return false;
	if (!compat_relation_ownercheck(relid, GetUserId()))
	{
		Form_pg_class class = (Form_pg_class) GETSTRUCT(tuple);

		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(class->relkind),
					   NameStr(class->relname));
	}
	ReleaseSysCache(tuple);

	return true;
}

/*
 * Open a table for DDL on behalf of the caller, with an AccessExclusiveLock.
 * Check that the table can use the access method, and that the caller may
 * alter the table now.
 */
static Relation
tp_open_table(Oid relid, const char *function)
{
	Relation	rel = NULL;
	char		relkind;

	if (tp_check_owner(relid))
		rel = try_relation_open(relid, AccessExclusiveLock);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));

	relkind = rel->rd_rel->relkind;
	if (relkind != RELKIND_RELATION && relkind != RELKIND_MATVIEW &&
		relkind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table or materialized view",
						RelationGetRelationName(rel)),
				 errhint("Only tables and materialized views have values that toast_policy can compress.")));
	/* the owner may have changed while we waited for the lock */
	tp_check_owner(relid);
	if (IsSystemRelation(rel) || relid < FirstNormalObjectId)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied: \"%s\" is a system catalog",
						RelationGetRelationName(rel))));
	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot alter temporary tables of other sessions")));
	if (relkind != RELKIND_PARTITIONED_TABLE &&
		rel->rd_rel->relam != HEAP_TABLE_AM_OID &&
		rel->rd_rel->relam != tp_access_method_oid(false))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" uses access method \"%s\"",
						RelationGetRelationName(rel),
						get_am_name(rel->rd_rel->relam)),
				 errdetail("toast_policy works on tables of access method \"heap\" only.")));
	CheckTableNotInUse(rel, function);

	return rel;
}

/*
 * Refuse the command in a read-only transaction and on a standby.  The DDL
 * statements that the command runs would be refused, too, but the command may
 * run none.
 */
void
tp_prevent_if_read_only(const char *function)
{
	PreventCommandIfReadOnly(function);
	PreventCommandDuringRecovery(function);
}

/* Run a DDL statement as the caller; the names in it must be qualified. */
void
tp_execute(const char *statement)
{
	int			rc = SPI_execute(statement, false, 0);

	if (rc != SPI_OK_UTILITY)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(rc));
}

/*
 * Run ALTER TABLE ... SET STORAGE for columns of a table, given by attribute
 * number.
 *
 * The lock prevents that the table is renamed, but not that its schema is
 * renamed.  So another table can have the same schema and name when the
 * statement looks for the table.  The statement must not alter this other
 * table, which was never checked.  Therefore, raise an error, which undoes
 * everything, unless the columns have the requested storage afterwards.
 */
static void
tp_set_storage(Oid relid, List *columns, const char *storage, char typstorage)
{
	StringInfoData statement;
	char		relkind = get_rel_relkind(relid);
	ListCell   *cell;
	bool		first = true;

	if (columns == NIL)
		return;

	initStringInfo(&statement);
	appendStringInfo(&statement, "ALTER %s %s.%s",
					 relkind == RELKIND_MATVIEW ? "MATERIALIZED VIEW" : "TABLE ONLY",
					 quote_identifier(get_namespace_name(get_rel_namespace(relid))),
					 quote_identifier(get_rel_name(relid)));
	foreach(cell, columns)
	{
		appendStringInfo(&statement, "%s ALTER COLUMN %s SET STORAGE %s",
						 first ? "" : ",",
						 quote_identifier(get_attname(relid, lfirst_int(cell), false)),
						 storage);
		first = false;
	}
	tp_execute(statement.data);
	pfree(statement.data);

	foreach(cell, columns)
	{
		HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid),
											Int16GetDatum(lfirst_int(cell)));

		if (!HeapTupleIsValid(tuple) ||
			((Form_pg_attribute) GETSTRUCT(tuple))->attstorage != typstorage)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("relation with OID %u was renamed or altered meanwhile",
							relid)));
		ReleaseSysCache(tuple);
	}
}

/*
 * Make the EXTERNAL keys of an index that are governed columns EXTENDED, so
 * that they can be compressed.
 */
void
tp_fix_index_storage(Relation table, Oid indexid)
{
	HeapTuple	indextuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(indexid));
	Relation	attributes;
	int			natts;
	AttrNumber	keys[INDEX_MAX_KEYS];

	if (!HeapTupleIsValid(indextuple))
		return;
	natts = ((Form_pg_index) GETSTRUCT(indextuple))->indnatts;
	for (int i = 0; i < natts; i++)
		keys[i] = ((Form_pg_index) GETSTRUCT(indextuple))->indkey.values[i];
	ReleaseSysCache(indextuple);

	attributes = table_open(AttributeRelationId, RowExclusiveLock);
	for (int i = 0; i < natts; i++)
	{
		HeapTuple	tuple;
		Form_pg_attribute att;

		if (keys[i] <= 0 ||
			!tp_column_is_governed(TupleDescAttr(RelationGetDescr(table), keys[i] - 1)))
			continue;
		tuple = SearchSysCacheCopy2(ATTNUM, ObjectIdGetDatum(indexid),
									Int16GetDatum(i + 1));
		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for attribute %d of relation %u",
				 i + 1, indexid);
		att = (Form_pg_attribute) GETSTRUCT(tuple);
		if (att->attlen == -1 && att->attstorage == TYPSTORAGE_EXTERNAL)
		{
			att->attstorage = TYPSTORAGE_EXTENDED;
			CatalogTupleUpdate(attributes, &tuple->t_self, tuple);
		}
		heap_freetuple(tuple);
	}
	table_close(attributes, RowExclusiveLock);
}

/*
 * Change the access method in the catalogs.  InvalidOid is allowed only for
 * partitioned tables.  The caller must have an AccessExclusiveLock, and must
 * not have the table open.
 */
void
tp_set_access_method(Oid relid, Oid amoid)
{
	Relation	classes = table_open(RelationRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class class;
	Oid			own = tp_access_method_oid(false);

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	class = (Form_pg_class) GETSTRUCT(tuple);
	if (class->relam != amoid)
	{
		/* heap is a pinned object, so no dependency on heap is recorded */
		if (class->relam == own)
			deleteDependencyRecordsForClass(RelationRelationId, relid,
											AccessMethodRelationId,
											DEPENDENCY_NORMAL);
		if (amoid == own)
		{
			ObjectAddress depender;
			ObjectAddress referenced;

			ObjectAddressSet(depender, RelationRelationId, relid);
			ObjectAddressSet(referenced, AccessMethodRelationId, amoid);
			recordDependencyOn(&depender, &referenced, DEPENDENCY_NORMAL);
		}
		class->relam = amoid;
		CatalogTupleUpdate(classes, &tuple->t_self, tuple);
		InvokeObjectPostAlterHook(RelationRelationId, relid, 0);
		CacheInvalidateRelcacheByRelid(relid);
	}
	heap_freetuple(tuple);
	table_close(classes, RowExclusiveLock);
	CommandCounterIncrement();
}

/* Return the access method of a table, InvalidOid if it has none. */
Oid
tp_get_access_method(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			result;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	result = ((Form_pg_class) GETSTRUCT(tuple))->relam;
	ReleaseSysCache(tuple);

	return result;
}

/* Get the names of columns that the caller has passed. */
Datum *
tp_get_names(ArrayType *names, int *count)
{
	Datum	   *datums;
	bool	   *nulls;

	if (ARR_NDIM(names) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("column names must be a one-dimensional array")));
	deconstruct_array(names, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR, &datums,
					  &nulls, count);
	for (int i = 0; i < *count; i++)
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("column name must not be null")));

	return datums;
}

/* Return the number of a table's column.  Raise an error if there is none. */
AttrNumber
tp_find_column(Oid relid, const char *name)
{
	AttrNumber	attnum = get_attnum(relid, name);

	if (attnum == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						name, get_rel_name(relid))));
	if (attnum < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot alter system column \"%s\"", name)));

	return attnum;
}

/*
 * Lock a table and, if it is partitioned, all its partitions.  Return the
 * tables sorted: a partition comes after its parent.  Check all tables before
 * the caller changes any table.
 */
List *
tp_lock_tables(Oid relid, const char *function)
{
	List	   *relids = list_make1_oid(relid);
	List	   *result = NIL;
	ListCell   *cell;

	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
	{
		Relation	rel = tp_open_table(relid, function);

		relation_close(rel, NoLock);
		/* a partition may have another owner */
		foreach(cell, find_all_inheritors(relid, NoLock, NULL))
			tp_check_owner(lfirst_oid(cell));
		relids = find_all_inheritors(relid, AccessExclusiveLock, NULL);
	}
	foreach(cell, relids)
	{
		Relation	rel;

		/* skip foreign tables: their values are not stored in this database */
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_FOREIGN_TABLE &&
			list_length(relids) > 1)
		{
			ereport(NOTICE,
					(errmsg("skipping foreign table \"%s\"",
							get_rel_name(lfirst_oid(cell)))));
			continue;
		}
		rel = tp_open_table(lfirst_oid(cell), function);
		result = lappend_oid(result, lfirst_oid(cell));
		relation_close(rel, NoLock);
	}

	return result;
}

/*
 * Let the policy govern columns of tables.  columns has a list of attribute
 * numbers for each table.  The caller must have locked and checked the tables.
 */
void
tp_enable_tables(List *relids, List *columns)
{
	Oid			amoid = tp_access_method_oid(false);
	ListCell   *cell;
	ListCell   *chosen;

	SPI_connect();
	forboth(cell, relids, chosen, columns)
		tp_set_storage(lfirst_oid(cell), lfirst(chosen), "EXTERNAL",
					   TYPSTORAGE_EXTERNAL);
	SPI_finish();
	CommandCounterIncrement();

	foreach(cell, relids)
	{
		Relation	rel;
		List	   *indexes;
		ListCell   *index;

		if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_PARTITIONED_TABLE ||
			COMPAT_PARTITIONED_HAS_AM)
			tp_set_access_method(lfirst_oid(cell), amoid);

		rel = relation_open(lfirst_oid(cell), NoLock);
		indexes = RelationGetIndexList(rel);
		foreach(index, indexes)
			tp_fix_index_storage(rel, lfirst_oid(index));
		relation_close(rel, NoLock);
		CommandCounterIncrement();
	}
}

/*
 * toast_policy.enable(relation regclass, VARIADIC columns name[]) returns void
 *
 * Make the columns EXTERNAL (default: all that are EXTENDED), and change the
 * table's access method to toast_policy, in the catalogs only.  Existing rows
 * stay as they are.  Do the same to all partitions of a partitioned table.
 * Raise an error, before anything is changed, if the relation is not a table
 * or materialized view of the caller, if it belongs to the system or to
 * another session, if it uses another access method than heap or toast_policy,
 * if a column does not exist or is never stored out of line, or if no column
 * is named and none of the examined rows has a large value.
 */
Datum
tp_enable(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	ArrayType  *names = PG_GETARG_ARRAYTYPE_P(1);
	Oid			amoid = tp_access_method_oid(false);
	List	   *relids;
	List	   *columns = NIL;
	ListCell   *cell;

	tp_prevent_if_read_only("toast_policy.enable()");
	relids = tp_lock_tables(relid, "toast_policy.enable()");

	/*
	 * A column may have another STORAGE in a partition than in the parent, so
	 * check all tables first.
	 */
	foreach(cell, relids)
	{
		Relation	rel = relation_open(lfirst_oid(cell), NoLock);

		columns = lappend(columns, tp_choose_columns(rel, names));
		relation_close(rel, NoLock);
	}
	if (ARR_NDIM(names) == 0)
		tp_refuse_if_useless(relids, amoid);
	tp_tell_external_columns(relids, amoid, names);
	tp_enable_tables(relids, columns);
	tp_tell_moved_columns(relids, construct_empty_array(NAMEOID));

	PG_RETURN_VOID();
}

/* Return the attribute numbers of a table's columns that toast_policy governs. */
static List *
tp_governed_columns(Oid relid)
{
	Relation	rel = relation_open(relid, NoLock);
	List	   *result = NIL;

	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

		/* a column whose type is EXTERNAL by default does not change */
		if (tp_column_is_governed(att) &&
			get_typstorage(att->atttypid) != TYPSTORAGE_EXTERNAL)
			result = lappend_int(result, att->attnum);
	}
	relation_close(rel, NoLock);

	return result;
}

/* Return true if the column is one of the named ones. */
static bool
tp_is_named(Oid relid, AttrNumber attnum, const Datum *names, int count)
{
	const char *name = get_attname(relid, attnum, false);

	for (int i = 0; i < count; i++)
		if (strcmp(NameStr(*DatumGetName(names[i])), name) == 0)
			return true;

	return false;
}

/*
 * Give the named columns of tables, or all if none is named, the default
 * storage of their types.  Reset the toast_tuple_target of a table without
 * governed columns if values went out of line because of it, and change the
 * table's access method back to heap.  Return true if any table was changed.  The
 * caller must have locked and checked the tables.
 */
static bool
tp_disable_tables(List *relids, const Datum *names, int count)
{
	ListCell   *cell;
	bool		changed = false;

	SPI_connect();
	foreach(cell, relids)
	{
		Oid			relid = lfirst_oid(cell);
		bool		partitioned = get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE;
		List	   *extended = NIL;
		List	   *main = NIL;
		ListCell   *column;
		bool		left = false;

		foreach(column, tp_governed_columns(relid))
		{
			if (count > 0 && !tp_is_named(relid, lfirst_int(column), names, count))
				left = true;
			else if (get_typstorage(get_atttype(relid, lfirst_int(column))) == TYPSTORAGE_MAIN)
				main = lappend_int(main, lfirst_int(column));
			else
				extended = lappend_int(extended, lfirst_int(column));
		}
		if (count > 0 && extended == NIL && main == NIL)
			continue;
		changed = true;
		tp_set_storage(relid, extended, "EXTENDED", TYPSTORAGE_EXTENDED);
		tp_set_storage(relid, main, "MAIN", TYPSTORAGE_MAIN);
		CommandCounterIncrement();
		if (left)
			continue;

		/* heap would also compress and move values of other columns */
		if (tp_get_low_target(relid) > 0)
			tp_set_target(relid, 0, InvalidAttrNumber);
		if (!partitioned)
			tp_set_access_method(relid, HEAP_TABLE_AM_OID);
		else if (COMPAT_PARTITIONED_HAS_AM)
			tp_set_access_method(relid, InvalidOid);
	}
	SPI_finish();

	return changed;
}

/* Return the call of a function with the table as argument, for a hint. */
static char *
tp_call(const char *function, Oid relid)
{
	char	   *table = quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
												   get_rel_name(relid));

	return psprintf("SELECT toast_policy.%s(%s)", function, quote_literal_cstr(table));
}

/*
 * Lock a table.  If it is partitioned, lock its partitions as well.  Return the
 * tables that use the access method, and the partitioned tables.  If none of
 * these tables uses the access method, return NIL.
 */
static List *
tp_lock_own_tables(Oid relid, const char *function)
{
	Oid			amoid = tp_access_method_oid(false);
	List	   *result = NIL;
	ListCell   *cell;
	bool		any = false;

	foreach(cell, tp_lock_tables(relid, function))
	{
		bool		own = tp_get_access_method(lfirst_oid(cell)) == amoid;

		any |= own;
		if (own || get_rel_relkind(lfirst_oid(cell)) == RELKIND_PARTITIONED_TABLE)
			result = lappend_oid(result, lfirst_oid(cell));
	}

	return any ? result : NIL;
}

/*
 * toast_policy.disable(relation regclass, VARIADIC columns name[]) returns void
 *
 * Reverse enable(): give the named columns, or all governed columns, the
 * default storage of their types.  Give a table that has no other governed
 * column back to heap.  Stored values stay as they are.  Raise an error in the
 * same cases as enable(), and, if no column is named, for a table that does not
 * use the access method.  Give a notice if columns are named, and none of them
 * is governed.
 */
Datum
tp_disable(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	List	   *relids;
	Datum	   *names;
	int			count;

	tp_prevent_if_read_only("toast_policy.disable()");
	relids = tp_lock_own_tables(relid, "toast_policy.disable()");
	names = tp_get_names(PG_GETARG_ARRAYTYPE_P(1), &count);
	for (int i = 0; i < count; i++)
		(void) tp_find_column(relid, NameStr(*DatumGetName(names[i])));
	if (relids == NIL && count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" does not use access method \"toast_policy\"",
						get_rel_name(relid)),
				 errhint("To let toast_policy govern it, run %s.", tp_call("enable", relid))));
	if (!tp_disable_tables(relids, names, count) && count > 0)
		ereport(NOTICE,
				(errmsg("column \"%s\" of table \"%s\" is not governed by toast_policy",
						NameStr(*DatumGetName(names[0])), get_rel_name(relid))));

	PG_RETURN_VOID();
}

/* Return the tables of this database that use the access method, sorted by OID. */
List *
tp_all_tables(void)
{
	Relation	classes = table_open(RelationRelationId, AccessShareLock);
	Oid			amoid = tp_access_method_oid(true);
	List	   *result = NIL;
	SysScanDesc scan;
	HeapTuple	tuple;

	scan = systable_beginscan(classes, ClassOidIndexId, true, NULL, 0, NULL);
	while (OidIsValid(amoid) && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class class = (Form_pg_class) GETSTRUCT(tuple);

		if (class->relam == amoid)
			result = lappend_oid(result, class->oid);
	}
	systable_endscan(scan);
	table_close(classes, AccessShareLock);
	list_sort(result, list_oid_cmp);

	return result;
}

/*
 * toast_policy.disable_all() returns bigint
 *
 * Call disable() for each table of the database that uses the access method,
 * and return their number.  Raise an error, before anything is changed, if one
 * of them cannot be altered because it has another owner, or is a temporary
 * table of another session.
 */
Datum
tp_disable_all(PG_FUNCTION_ARGS)
{
	List	   *tables;
	List	   *parents = NIL;
	List	   *relids = NIL;
	ListCell   *cell;
	int64		count = 0;

	tp_prevent_if_read_only("toast_policy.disable_all()");
	tables = tp_all_tables();

	/*
	 * Before 17, a partitioned table has no access method, so find it by its
	 * partitions.
	 */
	foreach(cell, tables)
	{
		if (!COMPAT_PARTITIONED_HAS_AM && get_rel_relispartition(lfirst_oid(cell)))
			parents = list_concat_unique_oid(parents,
											 get_partition_ancestors(lfirst_oid(cell)));
	}

	/*
	 * Check before the first lock, so that nobody waits for a call that must
	 * fail.
	 */
	foreach(cell, tables)
		tp_check_owner(lfirst_oid(cell));
	foreach(cell, list_concat(parents, tables))
	{
		Relation	rel;

		/* the table may have been dropped while we waited for another lock */
		if (!tp_check_owner(lfirst_oid(cell)))
			continue;
		LockRelationOid(lfirst_oid(cell), AccessExclusiveLock);
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(lfirst_oid(cell))))
			continue;
		rel = tp_open_table(lfirst_oid(cell), "toast_policy.disable_all()");
		relids = lappend_oid(relids, lfirst_oid(cell));
		relation_close(rel, NoLock);
		if (list_member_oid(tables, lfirst_oid(cell)))
			count++;
	}
	(void) tp_disable_tables(relids, NULL, 0);

	PG_RETURN_INT64(count);
}
