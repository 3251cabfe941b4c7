/*-------------------------------------------------------------------------
 *
 * index_align.c
 *	  List B-tree indexes whose layout differs from a stock server's.
 *
 * The alignment of an index is in its metapage, which is read under an
 * AccessShareLock on the index.  Only one index is locked at a time, and no
 * longer than necessary, so that a listing never holds two locks for which
 * another session waits.  Some indexes are skipped: an index that is dropped
 * meanwhile, a temporary index of another session, and an unlogged index while
 * the server is in recovery.  This session cannot read the pages of such a
 * temporary or unlogged index.
 *
 * Indexes of system catalogs and TOAST tables are left out, because the server
 * never changes their alignment.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  index_align/index_align.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/reloptions.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tupmacs.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/syscache.h"

#include "index_align.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(ia_item_alignment);
PG_FUNCTION_INFO_V1(ia_auto_alignment);
PG_FUNCTION_INFO_V1(ia_index_layout);
PG_FUNCTION_INFO_V1(ia_reset_item_alignment);

/*
 * Return the alignment of an index's tuples in bytes, or 0 if there are no
 * pages that can be read.  The caller must have opened and locked the index,
 * which must be a B-tree with storage.
 */
static int
ia_read_alignment(Relation rel)
{
	if (RELATION_IS_OTHER_TEMP(rel))
		return 0;

	/* only the primary has the main fork of an unlogged or temporary index */
	if (!RelationIsPermanent(rel) && RecoveryInProgress())
		return 0;

	/*
	 * CREATE INDEX CONCURRENTLY and REINDEX CONCURRENTLY write an index
	 * without shared buffers, and write its metapage last.  Reading the
	 * metapage before it is written would leave a zero page in shared
	 * buffers.  Because of this page, the build and later every insertion
	 * would fail.  An index with indisready has its metapage.  An index
	 * without indislive also has its metapage: an unfinished drop has reset
	 * indisready.
	 */
	if (!rel->rd_index->indisready && rel->rd_index->indislive)
		return 0;

	/* a failed build may have left an index without pages */
	if (RelationGetNumberOfBlocks(rel) == 0)
		return 0;

	return (int) _bt_item_alignment(rel);
}

/*
 * Do the work of ia_read_alignment() for an index whose pages may be damaged.
 * If they are damaged, return 0, and set *damage to the error message, in the
 * current memory context.  One damaged index must not prevent the others from
 * being listed and restored.  Use a subtransaction, because an error leaves
 * pins and locks of buffers behind.
 */
static int
ia_try_read_alignment(Relation rel, char **damage)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile int alignment = 0;

	*damage = NULL;
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		alignment = ia_read_alignment(rel);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *edata;

		MemoryContextSwitchTo(context);
		edata = CopyErrorData();

		/*
		 * Re-raise an error that the index has not caused, for example a
		 * cancel request.
		 */
		if (edata->sqlerrcode != ERRCODE_INDEX_CORRUPTED &&
			edata->sqlerrcode != ERRCODE_DATA_CORRUPTED &&
			edata->sqlerrcode != ERRCODE_IO_ERROR &&
			edata->sqlerrcode != ERRCODE_UNDEFINED_FILE)
			PG_RE_THROW();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		*damage = edata->message;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;

	return alignment;
}

/*
 * Return true if the name has the suffix that REINDEX CONCURRENTLY gives to an
 * index that it creates or replaces.  Such an index is dropped, unless REINDEX
 * CONCURRENTLY fails.
 */
static bool
ia_is_leftover_name(const char *name)
{
	size_t		length = strlen(name);

	while (length > 0 && isdigit((unsigned char) name[length - 1]))
		length--;

	return length > strlen("_ccnew") &&
		(strncmp(name + length - strlen("_ccnew"), "_ccnew", strlen("_ccnew")) == 0 ||
		 strncmp(name + length - strlen("_ccold"), "_ccold", strlen("_ccold")) == 0);
}

/*
 * Return the text of the storage parameter item_alignment in a row of
 * pg_class, or NULL if the parameter is not set.
 */
static char *
ia_written_parameter(HeapTuple tuple)
{
	bool		isnull;
	Datum		reloptions;
	ListCell   *cell;

	reloptions = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
	if (isnull)
		return NULL;
	foreach(cell, untransformRelOptions(reloptions))
	{
		DefElem    *def = lfirst_node(DefElem, cell);

		if (strcmp(def->defname, "item_alignment") == 0)
			return def->arg ? defGetString(def) : pstrdup("");
	}

	return NULL;
}

/* Return true if the index exists and has the storage parameter item_alignment. */
bool
ia_has_parameter(Oid indexid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(indexid));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = ia_written_parameter(tuple) != NULL;
	ReleaseSysCache(tuple);

	return result;
}

/*
 * Return true if the row of pg_class describes a B-tree whose alignment the
 * server may change.
 */
static bool
ia_is_user_btree(Form_pg_class form)
{
	return (form->relkind == RELKIND_INDEX ||
			form->relkind == RELKIND_PARTITIONED_INDEX) &&
		form->relam == BTREE_AM_OID &&
		form->oid >= FirstUnpinnedObjectId &&
		!IsToastNamespace(form->relnamespace) &&
		!isOtherTempNamespace(form->relnamespace);
}

/*
 * Open and lock an index.  Return NULL if it does not exist, or is not a
 * B-tree whose alignment the server may change.
 */
Relation
ia_open(Oid indexid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(indexid));
	bool		is_btree;
	Relation	rel;

	/* do not wait for a lock on any other relation */
	if (!HeapTupleIsValid(tuple))
		return NULL;
	is_btree = ia_is_user_btree((Form_pg_class) GETSTRUCT(tuple));
	ReleaseSysCache(tuple);
	if (!is_btree)
		return NULL;

	/* raise no error if another relation has got the OID meanwhile */
	rel = try_relation_open(indexid, AccessShareLock);
	if (rel != NULL && !ia_is_user_btree(rel->rd_rel))
	{
		relation_close(rel, AccessShareLock);
		return NULL;
	}

	return rel;
}

/*
 * Return a description of an index that ia_open() has opened, in the current
 * memory context.  Return NULL if its schema does not exist.
 */
IaIndex *
ia_describe_open(Relation rel)
{
	IaIndex    *index = palloc0(sizeof(IaIndex));
	const char *relname = RelationGetRelationName(rel);
	HeapTuple	tuple;
	char	   *schema;

	/*
	 * Call the temporary schema of this session pg_temp, because its real
	 * name is internal.
	 */
	schema = RelationUsesLocalBuffers(rel) ? pstrdup("pg_temp") :
		get_namespace_name(RelationGetNamespace(rel));
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(RelationGetRelid(rel)));
	if (schema == NULL || !HeapTupleIsValid(tuple))
		return NULL;
	index->parameter = ia_written_parameter(tuple);
	ReleaseSysCache(tuple);

	index->indexid = RelationGetRelid(rel);
	index->heapid = rel->rd_index->indrelid;
	index->owner = rel->rd_rel->relowner;
	index->partitioned = rel->rd_rel->relkind == RELKIND_PARTITIONED_INDEX;
	index->temp = RelationUsesLocalBuffers(rel);
	index->live = rel->rd_index->indislive;
	index->valid = rel->rd_index->indisvalid;
	index->exclusion = rel->rd_index->indisexclusion;
	index->leftover = !index->partitioned && !index->valid && ia_is_leftover_name(relname);
	if (!index->partitioned)
		index->alignment = ia_try_read_alignment(rel, &index->damage);
	index->name = psprintf("%s.%s", schema, relname);
	index->quoted = quote_qualified_identifier(schema, relname);

	return index;
}

/*
 * Return a description of an index, in the current memory context.  Return
 * NULL if the index is as on a stock server, is not a B-tree, is left out of
 * the listing, or does not exist.  Also return a description of an index that
 * cannot be read, because it may have any alignment.
 */
IaIndex *
ia_describe(Oid indexid)
{
	Relation	rel = ia_open(indexid);
	IaIndex    *index;

	if (rel == NULL)
		return NULL;
	index = ia_describe_open(rel);
	relation_close(rel, AccessShareLock);
	if (index == NULL || (!IaNeedsBuild(index) && index->parameter == NULL))
		return NULL;

	return index;
}

/* Warn if the pages of an index could not be read. */
void
ia_warn_of_damage(const IaIndex *index)
{
	if (index->damage != NULL)
		ereport(WARNING,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("could not read the item alignment of index \"%s\"", index->name),
				 errdetail_internal("%s", index->damage),
				 errhint("Please REINDEX it.")));
}

/*
 * Return the OIDs of the relations in the scope of a call: a table or an
 * index, with all its partitions.  Raise an error for any other relation.
 */
static List *
ia_scope(Oid relid)
{
	char		relkind = get_rel_relkind(relid);

	switch (relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_MATVIEW:
			return list_make1_oid(relid);
		case RELKIND_INDEX:
			if (get_rel_relam(relid) != BTREE_AM_OID)
				break;
			return list_make1_oid(relid);
		case RELKIND_PARTITIONED_INDEX:
			if (get_rel_relam(relid) != BTREE_AM_OID)
				break;
			return find_all_inheritors(relid, NoLock, NULL);
		case RELKIND_PARTITIONED_TABLE:
			return find_all_inheritors(relid, NoLock, NULL);
		case '\0':
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("relation with OID %u does not exist", relid)));
	}
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not a table, materialized view, or B-tree index",
					get_rel_name(relid))));
}

/*
 * Sort partitioned indexes first, because new partitions copy their storage
 * parameter.  Then sort by name.
 */
static int
ia_compare(const ListCell *a, const ListCell *b)
{
	const IaIndex *left = lfirst(a);
	const IaIndex *right = lfirst(b);

	if (left->partitioned != right->partitioned)
		return left->partitioned ? -1 : 1;

	return strcmp(left->name, right->name);
}

/*
 * Return the OIDs of the B-trees in a scope whose alignment the server may
 * change, in the current memory context.  The scope is a table, an index or,
 * with InvalidOid, the database.
 */
List *
ia_user_btrees(Oid scope)
{
	List	   *scope_oids = OidIsValid(scope) ? ia_scope(scope) : NIL;
	List	   *all = NIL;
	List	   *result = NIL;
	ListCell   *cell;
	Relation	pg_class;
	SysScanDesc scan;
	HeapTuple	tuple;

	pg_class = table_open(RelationRelationId, AccessShareLock);
	scan = systable_beginscan(pg_class, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		if (ia_is_user_btree(form))
			all = lappend_oid(all, form->oid);
	}
	systable_endscan(scan);
	table_close(pg_class, AccessShareLock);
	if (!OidIsValid(scope))
		return all;

	foreach(cell, all)
	{
		if (list_member_oid(scope_oids, lfirst_oid(cell)) ||
			list_member_oid(scope_oids, IndexGetRelation(lfirst_oid(cell), true)))
			result = lappend_oid(result, lfirst_oid(cell));
	}
	list_free(all);
	list_free(scope_oids);

	return result;
}

/*
 * Return all indexes of a scope that are not as on a stock server.  The scope
 * is that of ia_user_btrees().  Return a sorted list of IaIndex, in the
 * current memory context.  Release all locks that are taken.
 */
List *
ia_collect(Oid scope)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, ia_user_btrees(scope))
	{
		IaIndex    *index;

		CHECK_FOR_INTERRUPTS();
		index = ia_describe(lfirst_oid(cell));
		if (index != NULL)
			result = lappend(result, index);
	}
	list_sort(result, ia_compare);

	return result;
}

/*
 * index_align.item_alignment(relation regclass) returns int
 *
 * Return the alignment of a B-tree's tuples, in bytes: 8 as on a stock server,
 * 4 or 2.  Return NULL if the index does not exist, has no pages (a
 * partitioned index, or one that is not built yet), or if this session cannot
 * access its pages.  Raise an error for other relations, and if the metapage
 * is damaged.
 */
Datum
ia_item_alignment(PG_FUNCTION_ARGS)
{
	Oid			indexid = PG_GETARG_OID(0);
	Relation	rel;
	int			alignment = 0;

	rel = try_relation_open(indexid, AccessShareLock);
	if (rel == NULL)
		PG_RETURN_NULL();
	if ((rel->rd_rel->relkind != RELKIND_INDEX &&
		 rel->rd_rel->relkind != RELKIND_PARTITIONED_INDEX) ||
		rel->rd_rel->relam != BTREE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a B-tree index",
						RelationGetRelationName(rel))));
	if (rel->rd_rel->relkind == RELKIND_INDEX)
		alignment = ia_read_alignment(rel);
	relation_close(rel, AccessShareLock);
	if (alignment == 0)
		PG_RETURN_NULL();

	PG_RETURN_INT32(alignment);
}

/*
 * Return the alignment that item_alignment = auto gives to a B-tree with
 * natts columns, in bytes.  Read only catalogs, and take no lock.  Return 0 if
 * the index does not exist.
 */
int
ia_needed_alignment(Oid indexid, int natts)
{
	int			alignment = ALIGNOF_SHORT;

	for (AttrNumber attnum = 1; attnum <= natts; attnum++)
	{
		HeapTuple	tuple = SearchSysCacheAttNum(indexid, attnum);

		if (!HeapTupleIsValid(tuple))
			return 0;
		alignment = Max(alignment,
						(int) att_align_nominal(1, ((Form_pg_attribute) GETSTRUCT(tuple))->attalign));
		ReleaseSysCache(tuple);
	}

	return alignment;
}

/*
 * index_align.auto_alignment(relation regclass) returns int
 *
 * Return the alignment that item_alignment = auto gives to a B-tree, in bytes:
 * the largest alignment that any of its columns needs, INCLUDE columns
 * included.  Read only catalogs, and take no lock.  Return NULL if the index
 * does not exist.  Raise an error for other relations.
 */
Datum
ia_auto_alignment(PG_FUNCTION_ARGS)
{
	Oid			indexid = PG_GETARG_OID(0);
	HeapTuple	tuple;
	Form_pg_class form;
	int			natts;
	int			alignment;

	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(indexid));
	if (!HeapTupleIsValid(tuple))
		PG_RETURN_NULL();
	form = (Form_pg_class) GETSTRUCT(tuple);
	if ((form->relkind != RELKIND_INDEX &&
		 form->relkind != RELKIND_PARTITIONED_INDEX) ||
		form->relam != BTREE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a B-tree index", NameStr(form->relname))));
	natts = form->relnatts;
	if (indexid < FirstUnpinnedObjectId || IsToastNamespace(form->relnamespace))
	{
		ReleaseSysCache(tuple);
		PG_RETURN_INT32(MAXIMUM_ALIGNOF);
	}
	ReleaseSysCache(tuple);

	alignment = ia_needed_alignment(indexid, natts);
	if (alignment == 0)
		PG_RETURN_NULL();

	PG_RETURN_INT32(alignment);
}

/*
 * index_align.index_layout() returns setof record
 *
 * Return the OID, the alignment and the storage parameter, as it was written,
 * of each B-tree of the database that is not as on a stock server.  The
 * alignment is NULL if the index has no pages.  The result is also NULL, with
 * a warning, if the metapage is damaged.
 */
Datum
ia_index_layout(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	foreach(cell, ia_collect(InvalidOid))
	{
		IaIndex    *index = lfirst(cell);
		Datum		values[3];
		bool		nulls[3] = {0};

		ia_warn_of_damage(index);
		values[0] = ObjectIdGetDatum(index->indexid);
		values[1] = Int32GetDatum(index->alignment);
		nulls[1] = index->alignment == 0;
		if (index->parameter)
			values[2] = CStringGetTextDatum(index->parameter);
		else
			nulls[2] = true;
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}

	return (Datum) 0;
}

/*
 * index_align.reset_item_alignment(relation regclass) returns void
 *
 * Do the work of ALTER INDEX ... RESET (item_alignment) for a partitioned
 * index.  The server has no such command for a partitioned index, although the
 * index keeps the parameter, and new partitions and dumps get the parameter
 * from it.  The caller must own the index.  Raise an error for other
 * relations, for which ALTER INDEX works.
 */
Datum
ia_reset_item_alignment(PG_FUNCTION_ARGS)
{
	Oid			indexid = PG_GETARG_OID(0);
	char	   *name = get_rel_name(indexid);
	Relation	rel;
	Relation	pg_class;
	HeapTuple	tuple;
	HeapTuple	newtuple;
	ItemPointerData otid;
	Datum		reloptions;
	Datum		values[Natts_pg_class] = {0};
	bool		nulls[Natts_pg_class] = {0};
	bool		replaces[Natts_pg_class] = {0};
	bool		isnull;

	PreventCommandIfReadOnly("index_align.reset_item_alignment()");
	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("relation with OID %u does not exist", indexid)));
	if (get_rel_relkind(indexid) != RELKIND_PARTITIONED_INDEX ||
		get_rel_relam(indexid) != BTREE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a partitioned B-tree index", name),
				 errhint("Use ALTER INDEX ... RESET (item_alignment).")));

	/*
	 * Check the owner before the lock: nobody else may take a lock for which
	 * the owner would have to wait.
	 */
	if (!object_ownercheck(RelationRelationId, indexid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, name);

	rel = relation_open(indexid, ShareUpdateExclusiveLock);

	/*
	 * Check again, because another relation may have got the OID, or the
	 * owner may have changed.
	 */
	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_INDEX ||
		rel->rd_rel->relam != BTREE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a partitioned B-tree index",
						RelationGetRelationName(rel))));
	if (!object_ownercheck(RelationRelationId, indexid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, name);
	CheckTableNotInUse(rel, "ALTER INDEX");

	pg_class = table_open(RelationRelationId, RowExclusiveLock);
	tuple = SearchSysCacheLockedCopy1(RELOID, ObjectIdGetDatum(indexid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", indexid);
	otid = tuple->t_self;
	reloptions = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
	if (!isnull)
	{
		reloptions = transformRelOptions(reloptions,
										 list_make1(makeDefElem("item_alignment", NULL, -1)),
										 NULL, NULL, false, true);
		values[Anum_pg_class_reloptions - 1] = reloptions;
		nulls[Anum_pg_class_reloptions - 1] = reloptions == (Datum) 0;
		replaces[Anum_pg_class_reloptions - 1] = true;
		newtuple = heap_modify_tuple(tuple, RelationGetDescr(pg_class), values, nulls, replaces);
		CatalogTupleUpdate(pg_class, &newtuple->t_self, newtuple);
		InvokeObjectPostAlterHook(RelationRelationId, indexid, 0);
	}
	UnlockTuple(pg_class, &otid, InplaceUpdateTupleLock);
	table_close(pg_class, RowExclusiveLock);
	relation_close(rel, NoLock);

	PG_RETURN_VOID();
}
