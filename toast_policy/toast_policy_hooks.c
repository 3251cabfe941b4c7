/*-------------------------------------------------------------------------
 *
 * toast_policy_hooks.c
 *	  Hooks on the creation of indexes and columns, and on DROP of the extension.
 *
 * A hook on the creation and alteration of objects keeps the keys of indexes
 * on governed columns compressible.  The hook also informs
 * toast_policy_create.c of new tables and columns.  An event trigger refuses
 * statements that would drop the extension together with tables that use the
 * access method, or with columns of its types.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_hooks.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_index.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_shdepend.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "parser/parse_type.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "toast_policy.h"
#include "toast_policy_compat.h"

PG_FUNCTION_INFO_V1(tp_guard_drop);

static object_access_hook_type tp_next_object_access_hook = NULL;

/*
 * Return the extension and the objects that it depends on: its schema, and the
 * extensions that created the schema.
 */
static ObjectAddresses *
tp_extension_and_base(void)
{
	ObjectAddresses *result = new_object_addresses();
	Relation	depends = table_open(DependRelationId, AccessShareLock);
	List	   *pending = NIL;
	Oid			extension = get_extension_oid("toast_policy", true);
	ObjectAddress *object = palloc(sizeof(ObjectAddress));

	ObjectAddressSet(*object, ExtensionRelationId, extension);
	if (OidIsValid(extension))
		pending = list_make1(object);
	while (pending != NIL)
	{
		ScanKeyData keys[2];
		SysScanDesc scan;
		HeapTuple	tuple;

		object = linitial(pending);
		pending = list_delete_first(pending);
		if (object_address_present(object, result))
			continue;
		add_exact_object_address(object, result);

		ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber,
					F_OIDEQ, ObjectIdGetDatum(object->classId));
		ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber,
					F_OIDEQ, ObjectIdGetDatum(object->objectId));
		scan = systable_beginscan(depends, DependDependerIndexId, true, NULL, 2,
								  keys);
		while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		{
			Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(tuple);

			if (depend->refclassid != NamespaceRelationId &&
				depend->refclassid != ExtensionRelationId)
				continue;
			object = palloc(sizeof(ObjectAddress));
			ObjectAddressSet(*object, depend->refclassid, depend->refobjid);
			pending = lappend(pending, object);
		}
		systable_endscan(scan);
	}
	table_close(depends, AccessShareLock);

	return result;
}

/* Return true if the role owns one of the objects. */
static bool
tp_owns_any(Oid role, const ObjectAddresses *objects)
{
	Relation	depends = table_open(SharedDependRelationId, AccessShareLock);
	SysScanDesc scan;
	ScanKeyData keys[2];
	HeapTuple	tuple;
	bool		result = false;

	ScanKeyInit(&keys[0], Anum_pg_shdepend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(AuthIdRelationId));
	ScanKeyInit(&keys[1], Anum_pg_shdepend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(role));
	scan = systable_beginscan(depends, SharedDependReferenceIndexId, true, NULL,
							  2, keys);
	while (!result && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_shdepend depend = (Form_pg_shdepend) GETSTRUCT(tuple);
		ObjectAddress object;

		ObjectAddressSet(object, depend->classid, depend->objid);
		result = depend->dbid == MyDatabaseId &&
			depend->deptype == SHARED_DEPENDENCY_OWNER &&
			object_address_present(&object, objects);
	}
	systable_endscan(scan);
	table_close(depends, AccessShareLock);

	return result;
}

/*
 * Return true if the statement drops the extension together with dependent
 * objects.  The statement may name the extension, or an object that the
 * extension depends on.  Also return true if it drops the extension's access
 * method or a type of the extension with CASCADE.
 */
static bool
tp_drops_extension(Node *statement)
{
	ObjectAddresses *base = tp_extension_and_base();
	ListCell   *cell;

	if (IsA(statement, DropOwnedStmt))
	{
		DropOwnedStmt *drop = (DropOwnedStmt *) statement;

		if (drop->behavior != DROP_CASCADE)
			return false;
		foreach(cell, drop->roles)
		{
			Oid			role = get_rolespec_oid(lfirst_node(RoleSpec, cell), true);

			if (OidIsValid(role) && tp_owns_any(role, base))
				return true;
		}
	}
	else if (IsA(statement, DropStmt))
	{
		DropStmt   *drop = (DropStmt *) statement;

		if (drop->behavior != DROP_CASCADE)
			return false;
		foreach(cell, drop->objects)
		{
			ObjectAddress object = InvalidObjectAddress;

			if (drop->removeType == OBJECT_SCHEMA)
				ObjectAddressSet(object, NamespaceRelationId,
								 get_namespace_oid(strVal(lfirst(cell)), true));
			else if (drop->removeType == OBJECT_EXTENSION)
				ObjectAddressSet(object, ExtensionRelationId,
								 get_extension_oid(strVal(lfirst(cell)), true));
			else if (drop->removeType == OBJECT_TYPE)
			{
				Oid			typid = LookupTypeNameOid(NULL, lfirst_node(TypeName, cell), true);

				if (OidIsValid(typid) &&
					getExtensionOfObject(TypeRelationId, typid) == get_extension_oid("toast_policy", true))
					return true;
			}
			else if (drop->removeType == OBJECT_ACCESS_METHOD &&
					 strcmp(strVal(lfirst(cell)), "toast_policy") == 0)
				return true;
			if (object_address_present(&object, base))
				return true;
		}
	}

	return false;
}

/*
 * Count the table columns whose type is one of the extension's types, or an
 * array, domain or composite type made of them.  Set *relid and *attnum to the
 * first column found.
 */
static int
tp_count_columns(Oid *relid, AttrNumber *attnum)
{
	Relation	depends = table_open(DependRelationId, AccessShareLock);
	ObjectAddresses *seen = new_object_addresses();
	ObjectAddress *object = palloc(sizeof(ObjectAddress));
	Oid			extension = get_extension_oid("toast_policy", true);
	List	   *pending = NIL;
	int			count = 0;

	ObjectAddressSet(*object, ExtensionRelationId, extension);
	if (OidIsValid(extension))
		pending = list_make1(object);
	while (pending != NIL)
	{
		ScanKeyData keys[2];
		SysScanDesc scan;
		HeapTuple	tuple;
		bool		is_extension;

		object = linitial(pending);
		pending = list_delete_first(pending);
		if (object_address_present(object, seen))
			continue;
		add_exact_object_address(object, seen);
		is_extension = (object->classId == ExtensionRelationId);

		ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
					F_OIDEQ, ObjectIdGetDatum(object->classId));
		ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
					F_OIDEQ, ObjectIdGetDatum(object->objectId));
		scan = systable_beginscan(depends, DependReferenceIndexId, true, NULL, 2,
								  keys);
		while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		{
			Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(tuple);
			Oid			typid = InvalidOid;

			if (depend->classid == TypeRelationId &&
				(!is_extension || depend->deptype == DEPENDENCY_EXTENSION))
				typid = depend->objid;
			else if (depend->classid == RelationRelationId && depend->objsubid > 0 &&
					 !is_extension)
			{
				char		relkind = get_rel_relkind(depend->objid);

				if (relkind == RELKIND_COMPOSITE_TYPE)
					typid = get_rel_type_id(depend->objid);
				else if (relkind == RELKIND_RELATION || relkind == RELKIND_MATVIEW ||
						 relkind == RELKIND_PARTITIONED_TABLE || relkind == RELKIND_FOREIGN_TABLE)
				{
					if (count++ == 0)
					{
						*relid = depend->objid;
						*attnum = depend->objsubid;
					}
				}
			}
			if (OidIsValid(typid))
			{
				object = palloc(sizeof(ObjectAddress));
				ObjectAddressSet(*object, TypeRelationId, typid);
				pending = lappend(pending, object);
			}
		}
		systable_endscan(scan);
	}
	table_close(depends, AccessShareLock);

	return count;
}

/*
 * toast_policy.guard_drop() returns event_trigger
 *
 * Tables depend on their access method, and columns on their types.  So DROP
 * EXTENSION ... CASCADE would drop them with all their values.  Raise an error
 * as long as there are such tables or columns.
 */
Datum
tp_guard_drop(PG_FUNCTION_ARGS)
{
	EventTriggerData *trigger;
	List	   *tables;
	char	   *name;
	int			ncolumns;
	Oid			relid = InvalidOid;
	AttrNumber	attnum = InvalidAttrNumber;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by event trigger manager",
						"toast_policy.guard_drop")));
	trigger = (EventTriggerData *) fcinfo->context;
	if (trigger->parsetree == NULL || !tp_drops_extension(trigger->parsetree))
		PG_RETURN_NULL();
	ncolumns = tp_count_columns(&relid, &attnum);
	if (ncolumns > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot drop types of toast_policy while columns use them"),
				 errdetail_plural("%d column would be dropped with its values, \"%s\" of table \"%s\".",
								  "%d columns would be dropped with their values, \"%s\" of table \"%s\" among them.",
								  ncolumns, ncolumns, get_attname(relid, attnum, false),
								  get_rel_name(relid)),
				 errhint("Change these columns to text or bytea first, by ALTER TABLE ... ALTER COLUMN ... TYPE.")));
	if (IsA(trigger->parsetree, DropStmt) &&
		((DropStmt *) trigger->parsetree)->removeType == OBJECT_TYPE)
		PG_RETURN_NULL();
	tables = tp_all_tables();
	if (tables == NIL)
		PG_RETURN_NULL();
	name = get_rel_name(linitial_oid(tables));

	ereport(ERROR,
			(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
			 errmsg("cannot drop extension \"toast_policy\" while tables use its access method"),
			 errdetail_plural("%d table would be dropped with its rows, \"%s\".",
							  "%d tables would be dropped with their rows, \"%s\" among them.",
							  list_length(tables), list_length(tables),
							  name != NULL ? name : ""),
			 errhint("Call toast_policy.disable_all() first, which keeps the tables.")));
}

/*
 * Return the table of a new index that the current command cannot see yet, or
 * InvalidOid if the relation is not an index.
 */
static Oid
tp_table_of_new_index(Oid relid)
{
	Relation	indexes = table_open(IndexRelationId, AccessShareLock);
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;
	Oid			result = InvalidOid;

	ScanKeyInit(&key, Anum_pg_index_indexrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(indexes, IndexRelidIndexId, true, SnapshotSelf, 1,
							  &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		result = ((Form_pg_index) GETSTRUCT(tuple))->indrelid;
	systable_endscan(scan);
	table_close(indexes, AccessShareLock);

	return result;
}

/*
 * Update the columns in the open cache entry of a new index from the catalog.
 * The server never rebuilds the whole entry of an open index, and CREATE INDEX
 * builds the index with this entry.
 */
static void
tp_fix_open_index(Oid indexid)
{
	Relation	index = relation_open(indexid, NoLock);

	for (int i = 0; i < RelationGetNumberOfAttributes(index); i++)
	{
		HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(indexid),
											Int16GetDatum(i + 1));

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for attribute %d of relation %u",
				 i + 1, indexid);
		TupleDescAttr(RelationGetDescr(index), i)->attstorage =
			((Form_pg_attribute) GETSTRUCT(tuple))->attstorage;
		ReleaseSysCache(tuple);
	}
	relation_close(index, NoLock);
}

/*
 * Return true if the index has an EXTERNAL key that could be a governed
 * column, changes of the current command included.
 */
static bool
tp_has_external_key(Oid indexid)
{
	Relation	attributes;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;
	bool		result = false;

	attributes = table_open(AttributeRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_attribute_attrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(indexid));
	scan = systable_beginscan(attributes, AttributeRelidNumIndexId, true,
							  SnapshotSelf, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		result |= tp_column_is_governed((Form_pg_attribute) GETSTRUCT(tuple));
	systable_endscan(scan);
	table_close(attributes, AccessShareLock);

	return result;
}

/*
 * ALTER TABLE ... SET STORAGE EXTERNAL also makes the keys of indexes
 * EXTERNAL.  If the table uses the access method, restore the storage of these
 * keys.
 */
static void
tp_restore_index_storage(Oid relid)
{
	char		relkind = get_rel_relkind(relid);
	Relation	rel;

	if (relkind != RELKIND_RELATION && relkind != RELKIND_MATVIEW)
		return;

	/* the caller that alters the table has a stronger lock */
	rel = relation_open(relid, AccessShareLock);
	if (rel->rd_tableam == tp_access_method())
	{
		List	   *indexes = RelationGetIndexList(rel);
		ListCell   *cell;

		foreach(cell, indexes)
		{
			if (tp_has_external_key(lfirst_oid(cell)))
			{
				/* a command cannot update a catalog row that it has written */
				CommandCounterIncrement();
				tp_fix_index_storage(rel, lfirst_oid(cell));
			}
		}
		list_free(indexes);
	}
	relation_close(rel, AccessShareLock);
}

/*
 * Hook on the creation and alteration of objects.  Handle the storage of index
 * keys, and new tables and columns.  A session that creates an index on a
 * table of the access method, or alters a column of the table, has opened the
 * table, and so has loaded this library.
 */
static void
tp_object_access(ObjectAccessType access, Oid classid, Oid objectid, int subid,
				 void *arg)
{
	if (tp_next_object_access_hook)
		tp_next_object_access_hook(access, classid, objectid, subid, arg);

	if (access == OAT_POST_ALTER && classid == RelationRelationId && subid > 0 &&
		IsNormalProcessingMode())
	{
		/*
		 * Make this call first, because the next call may remove the old
		 * column from the cache.
		 */
		tp_column_changed(objectid, (AttrNumber) subid, false);
		tp_restore_index_storage(objectid);
	}
	if (access == OAT_POST_CREATE && classid == RelationRelationId && subid > 0 &&
		IsNormalProcessingMode())
		tp_column_changed(objectid, (AttrNumber) subid, true);

	/* if the DROP is rolled back, the table has only lost its statistics */
	if (access == OAT_DROP && classid == RelationRelationId && subid == 0)
		tp_stats_forget(objectid);

	if (access == OAT_POST_CREATE && classid == RelationRelationId && subid == 0 &&
		IsNormalProcessingMode())
	{
		Oid			relid = tp_table_of_new_index(objectid);

		if (OidIsValid(relid) && get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		{
			Relation	rel = relation_open(relid, NoLock);

			if (rel->rd_tableam == tp_access_method())
			{
				/*
				 * Make the catalog row visible, so that it can be updated;
				 * index_create() does the same next.
				 */
				CommandCounterIncrement();
				tp_fix_index_storage(rel, objectid);
				CommandCounterIncrement();
				tp_fix_open_index(objectid);
			}
			relation_close(rel, NoLock);
		}
		else if (!OidIsValid(relid) &&
				 (arg == NULL || !((ObjectAccessPostCreate *) arg)->is_internal))
		{
			tp_table_born(objectid);
			tp_table_created(objectid);
		}
	}
}

/* Called when the library is loaded. */
void
tp_hooks_init(void)
{
	tp_next_object_access_hook = object_access_hook;
	object_access_hook = tp_object_access;
}
