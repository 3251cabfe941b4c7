/*-------------------------------------------------------------------------
 *
 * compact_trained_guard.c
 *	  Protect the dictionaries of the types trained_textN.
 *
 * The type depends on its dictionary, so that the server itself refuses to drop
 * the dictionary alone.  No SQL statement makes such a dependency.  The
 * library records it when the dictionary is created, whoever creates it:
 * train(), or the restore of a dump.
 *
 * DROP TEXT SEARCH DICTIONARY must be possible if nothing depends on the type,
 * because pg_restore --clean uses it.  In this case, an event trigger (see
 * compact_guard.c) removes the dependency before the statement runs.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_trained_guard.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_ts_dict.h"
#include "catalog/pg_ts_template.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parse_type.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compact_advise.h"
#include "compact_ddl.h"
#include "compact_trained.h"
#include "compact_types.h"
#include "compact_types_compat.h"

/* Largest number of objects that the error message names. */
#define MAX_NAMED	3

static object_access_hook_type previous_hook = NULL;

/*
 * Return the OID of the type trained_textN, whose functions are in the schema,
 * or InvalidOid.
 */
Oid
compact_trained_type(Oid function_schema, int number)
{
	Oid			arguments[] = {CSTRINGOID, OIDOID, INT4OID};
	HeapTuple	tuple = SearchSysCache3(PROCNAMEARGSNSP,
										CStringGetDatum(psprintf("%s_in", compact_trained_name(number))),
										PointerGetDatum(buildoidvector(arguments, lengthof(arguments))),
										ObjectIdGetDatum(function_schema));
	Oid			result;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	result = ((Form_pg_proc) GETSTRUCT(tuple))->prorettype;
	ReleaseSysCache(tuple);

	return result;
}

/*
 * Return the OID of the type trained_textN, whose dictionary has the template,
 * or InvalidOid.
 */
static Oid
type_of_template(Oid template, int number)
{
	HeapTuple	tuple = SearchSysCache1(TSTEMPLATEOID, ObjectIdGetDatum(template));
	Oid			result;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	result = compact_trained_type(((Form_pg_ts_template) GETSTRUCT(tuple))->tmplnamespace, number);
	ReleaseSysCache(tuple);

	return result;
}

static void
record_dependency(Oid typid, Oid dictid)
{
	ObjectAddress type;
	ObjectAddress dictionary;

	ObjectAddressSet(type, TypeRelationId, typid);
	ObjectAddressSet(dictionary, TSDictionaryRelationId, dictid);
	recordDependencyOn(&type, &dictionary, DEPENDENCY_NORMAL);
}

/*
 * Return a copy of the row of a new object, which the system caches do not have
 * yet.
 */
static HeapTuple
new_row(Oid catalog, Oid index, AttrNumber attnum, Oid oid)
{
	Relation	rel = table_open(catalog, AccessShareLock);
	HeapTuple	result;
	ScanKeyData key;
	SysScanDesc scan;

	ScanKeyInit(&key, attnum, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(oid));
	scan = systable_beginscan(rel, index, true, SnapshotSelf, 1, &key);
	result = systable_getnext(scan);
	if (HeapTupleIsValid(result))
		result = heap_copytuple(result);
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	return result;
}

/*
 * A text search dictionary was created.  If it has the template of a type, it
 * must be the dictionary of this type.
 */
static void
dictionary_created(Oid dictid)
{
	HeapTuple	tuple = new_row(TSDictionaryRelationId, TSDictionaryOidIndexId,
								Anum_pg_ts_dict_oid, dictid);
	Form_pg_ts_dict form;
	int			number;
	Oid			typid;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_ts_dict) GETSTRUCT(tuple);
	number = compact_trained_template_number(form->dicttemplate);
	if (number == 0)
		return;
	if (form->dictnamespace != get_namespace_oid(COMPACT_TRAINED_SCHEMA, true) ||
		strcmp(NameStr(form->dictname), compact_trained_name(number)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("a dictionary with template \"%s\" must have the name \"%s.%s\"",
						compact_trained_name(number), COMPACT_TRAINED_SCHEMA,
						compact_trained_name(number))));
	if (creating_extension)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the dictionary of a trained type cannot be a member of an extension"),
				 errdetail("A dump would not contain it.")));
	typid = type_of_template(form->dicttemplate, number);
	if (OidIsValid(typid))
		record_dependency(typid, dictid);
	heap_freetuple(tuple);
}

/*
 * A relation was created.  Lock the dictionaries of its columns until the
 * transaction ends, so that nobody drops them before others can see the
 * columns.  Values need not have taken the lock: a kept plan contains constants
 * that were made earlier.
 */
static void
relation_created(Oid relid)
{
	Relation	rel = RelationIdGetRelation(relid);

	if (!RelationIsValid(rel))
		return;
	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);
		Oid			typid = att->atttypid;
		Oid			element;
		Oid			dictid;
		int			number;

		if (att->attisdropped || typid < FirstNormalObjectId)
			continue;
		typid = getBaseType(typid);
		element = get_element_type(typid);
		if (OidIsValid(element))
			typid = getBaseType(element);
		number = compact_trained_type_number(typid);
		if (number == 0)
			continue;
		dictid = compact_trained_dictionary(number);
		if (OidIsValid(dictid))
			LockDatabaseObject(TSDictionaryRelationId, dictid, 0, AccessShareLock);
	}
	RelationClose(rel);
}

/*
 * A type was created.  pg_upgrade creates the dictionary first, because it
 * restores the objects of an extension one by one.
 */
static void
type_created(Oid typid)
{
	HeapTuple	tuple = new_row(TypeRelationId, TypeOidIndexId, Anum_pg_type_oid, typid);
	int			number;
	Oid			dictid;

	if (!HeapTupleIsValid(tuple))
		return;
	number = compact_trained_number(NameStr(((Form_pg_type) GETSTRUCT(tuple))->typname));
	if (number > 0 && ((Form_pg_type) GETSTRUCT(tuple))->typtype == TYPTYPE_BASE)
	{
		dictid = compact_trained_dictionary(number);
		if (OidIsValid(dictid))
			record_dependency(typid, dictid);
	}
	heap_freetuple(tuple);
}

static void
trained_object_access(ObjectAccessType access, Oid classid, Oid objectid, int subid, void *arg)
{
	if (previous_hook)
		previous_hook(access, classid, objectid, subid, arg);
	if (access != OAT_POST_CREATE || (subid != 0 && classid != RelationRelationId))
		return;
	if (classid == TSDictionaryRelationId)
		dictionary_created(objectid);
	else if (classid == RelationRelationId)
		relation_created(objectid);
	else if (classid == TypeRelationId && IsBinaryUpgrade)
		type_created(objectid);
}

/* Part of _PG_init(): see what is created. */
void
compact_trained_init(void)
{
	previous_hook = object_access_hook;
	object_access_hook = trained_object_access;
}

/*
 * Return the number of the type whose dictionary has the name, or 0.  Set
 * *dictid and *typid to the OIDs of the dictionary and the type.
 */
static int
named_dictionary(List *name, Oid *dictid, Oid *typid)
{
	HeapTuple	tuple;
	Oid			template;
	int			number;

	*dictid = get_ts_dict_oid(name, true);
	if (!OidIsValid(*dictid))
		return 0;
	tuple = SearchSysCache1(TSDICTOID, ObjectIdGetDatum(*dictid));
	if (!HeapTupleIsValid(tuple))
		return 0;
	template = ((Form_pg_ts_dict) GETSTRUCT(tuple))->dicttemplate;
	ReleaseSysCache(tuple);
	number = compact_trained_template_number(template);
	*typid = number > 0 ? type_of_template(template, number) : InvalidOid;

	return number;
}

/*
 * Raise an error if the statement would alter a trained type, rename or move
 * its dictionary, rename the schema of the dictionaries, or make a dictionary
 * a member of an extension, whose members are not dumped.
 */
void
compact_trained_refuse_rename(Node *statement)
{
	List	   *name = NIL;
	bool		refused = false;
	Oid			dictid;
	Oid			typid;

	if (IsA(statement, AlterObjectSchemaStmt) &&
		((AlterObjectSchemaStmt *) statement)->objectType == OBJECT_TSDICTIONARY)
		name = castNode(List, ((AlterObjectSchemaStmt *) statement)->object);
	else if (IsA(statement, AlterExtensionContentsStmt) &&
			 ((AlterExtensionContentsStmt *) statement)->objtype == OBJECT_TSDICTIONARY)
		name = castNode(List, ((AlterExtensionContentsStmt *) statement)->object);
	else if (IsA(statement, RenameStmt))
	{
		RenameStmt *rename = (RenameStmt *) statement;

		if (rename->renameType == OBJECT_TSDICTIONARY)
			name = castNode(List, rename->object);
		refused = rename->renameType == OBJECT_SCHEMA &&
			strcmp(rename->subname, COMPACT_TRAINED_SCHEMA) == 0;
	}
	else if (IsA(statement, AlterTypeStmt))
	{
		/* this would remove the dependency of the type on its dictionary */
		TypeName   *type = makeTypeNameFromNameList(((AlterTypeStmt *) statement)->typeName);

		typid = LookupTypeNameOid(NULL, type, true);
		if (OidIsValid(typid) && compact_trained_type_number(typid) > 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot alter type %s", format_type_be(typid))));
	}
	if (name != NIL)
		refused = named_dictionary(name, &dictid, &typid) > 0;
	if (refused)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot rename or move a dictionary of compact_types"),
				 errdetail("The values that are encoded with it could not be read.")));
}

/*
 * Return the objects outside of the type's extension that depend on the type,
 * on its functions, or on its operators: a list of descriptions.
 */
static List *
dependent_objects(Oid typid, Oid dictid)
{
	List	   *result = NIL;
	MemoryContext oldcontext = CurrentMemoryContext;
	int			nestlevel;

	SPI_connect();
	nestlevel = compact_ddl_set_gucs();
	compact_advise_query("WITH RECURSIVE members (classid, objid) AS MATERIALIZED ("
						 "  SELECT d.classid, d.objid FROM pg_catalog.pg_depend d"
						 "  WHERE d.deptype = 'e' AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.refobjid = %u"
						 "  UNION SELECT 'pg_catalog.pg_type'::pg_catalog.regclass::pg_catalog.oid, typarray FROM pg_catalog.pg_type WHERE oid = %u"
						 "  UNION SELECT 'pg_catalog.pg_ts_dict'::pg_catalog.regclass::pg_catalog.oid, %u),"
						 " used (classid, objid, objsubid) AS ("
						 "  SELECT 'pg_catalog.pg_type'::pg_catalog.regclass::pg_catalog.oid, %u::pg_catalog.oid, 0"
						 "  UNION SELECT d.classid, d.objid, d.objsubid FROM used u JOIN members USING (classid, objid)"
						 "  JOIN pg_catalog.pg_depend d ON d.refclassid = u.classid AND d.refobjid = u.objid"
						 "  WHERE d.deptype IN ('n', 'a', 'i'))"
						 " SELECT pg_catalog.pg_describe_object(classid, objid, objsubid) FROM used"
						 " WHERE (classid, objid) NOT IN (SELECT classid, objid FROM members)"
						 " AND classid NOT IN ('pg_catalog.pg_amop'::pg_catalog.regclass, 'pg_catalog.pg_amproc'::pg_catalog.regclass)"
						 " ORDER BY 1",
						 getExtensionOfObject(TypeRelationId, typid), typid, dictid, typid);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char	   *description = compact_advise_result(i, 0);
		MemoryContext spicontext = MemoryContextSwitchTo(oldcontext);

		/* an object that another session has just dropped counts as well */
		result = lappend(result, pstrdup(description ? description : "an object that is being dropped"));
		MemoryContextSwitchTo(spicontext);
	}
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	return result;
}

/*
 * Return a message for the user if the type is a trained_textN on which no
 * object depends any more, or NULL.
 */
char *
compact_trained_unused(Oid typid)
{
	int			number = compact_trained_type_number(typid);
	const char *name;

	if (number == 0 || dependent_objects(typid, compact_trained_dictionary(number)) != NIL)
		return NULL;
	name = compact_trained_name(number);

	return psprintf("no object depends on the type %s any more: DROP EXTENSION %s CASCADE removes it and its dictionary",
					name, name);
}

/* Raise an error if objects depend on the type of the dictionary. */
static void
refuse_if_used(Oid typid, Oid dictid, int number)
{
	List	   *objects = dependent_objects(typid, dictid);
	StringInfoData described;
	ListCell   *lc;
	int			n = 0;

	initStringInfo(&described);
	foreach(lc, objects)
	{
		if (n++ < MAX_NAMED)
			appendStringInfo(&described, "%s%s", n > 1 ? ", " : "", (char *) lfirst(lc));
	}
	if (n > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot drop dictionary \"%s\" while objects depend on its type",
						compact_trained_name(number)),
				 n > MAX_NAMED ?
				 errdetail("%d objects depend on the type, %s among them.", n, described.data) :
				 errdetail_plural("%d object depends on the type: %s.",
								  "%d objects depend on the type: %s.",
								  n, n, described.data),
				 errhint("Give the columns another type, and change the other objects.")));
}

/*
 * Part of the event trigger: a statement will drop text search dictionaries.
 * Raise an error if one of them belongs to a type that something depends on.
 * Otherwise remove the dependency of the type on it.  If the caller may not
 * drop a dictionary, leave it to the server to raise the error.
 */
void
compact_trained_guard_drop(List *names)
{
	ListCell   *lc;

	foreach(lc, names)
	{
		List	   *name = castNode(List, lfirst(lc));
		Oid			locked = InvalidOid;
		Oid			dictid;
		Oid			typid;
		int			number;

		/* the name can get another dictionary while this session waits */
		for (;;)
		{
			number = named_dictionary(name, &dictid, &typid);
			if (number == 0 || !OidIsValid(typid) ||
				(!compat_ownercheck(TSDictionaryRelationId, dictid, GetUserId()) &&
				 !compat_ownercheck(NamespaceRelationId,
									get_namespace_oid(COMPACT_TRAINED_SCHEMA, false),
									GetUserId())))
				break;
			/* do not make others wait for a statement that must fail */
			refuse_if_used(typid, dictid, number);
			if (dictid == locked)
			{
				(void) deleteDependencyRecordsForSpecific(TypeRelationId, typid,
														  DEPENDENCY_NORMAL,
														  TSDictionaryRelationId, dictid);
				CommandCounterIncrement();
				break;
			}

			/* wait for transactions that make values, or columns */
			LockDatabaseObject(TSDictionaryRelationId, dictid, 0, AccessExclusiveLock);
			locked = dictid;
		}
	}
}
