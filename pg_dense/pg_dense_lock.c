/*-------------------------------------------------------------------------
 *
 * pg_dense_lock.c
 *	  Locks by OID, and questions about relations that may be locked.
 *
 * Every role may use report() and status, and both look at all relations.  So
 * they wait for no lock: the owner of a relation could hold its lock for any
 * time.  And they must not keep a lock on a relation of another owner, who
 * would wait for it.  In contrast, apply() and undo() wait for the relations
 * that they change, but lock them by OID.  Then the name in a statement cannot
 * become the name of another relation.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  pg_dense/pg_dense_lock.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"

#include "bundle_compat.h"

PG_FUNCTION_INFO_V1(pg_dense_try_lock);
PG_FUNCTION_INFO_V1(pg_dense_lock_owned);
PG_FUNCTION_INFO_V1(pg_dense_split_parts);
PG_FUNCTION_INFO_V1(pg_dense_item_alignment);

/* Most columns of a question's result */
#define MAX_ANSWERS		3

/* The first row of a question's result */
typedef struct Answer
{
	bool		locked;			/* has another session locked the relation? */
	int			natts;			/* 0 if there is no row */
	Datum		values[MAX_ANSWERS];
	bool		nulls[MAX_ANSWERS];
} Answer;

/*
 * Take ACCESS SHARE locks on the indexes and the TOAST table of a locked
 * table, without waiting.  Return false if another session has a conflicting
 * lock.
 */
static bool
try_lock_indexes(Oid relid)
{
	Relation	rel = relation_open(relid, NoLock);
	List	   *indexes = RelationGetIndexList(rel);
	Oid			toast = rel->rd_rel->reltoastrelid;
	ListCell   *cell;

	relation_close(rel, NoLock);
	foreach(cell, indexes)
	{
		if (!ConditionalLockRelationOid(lfirst_oid(cell), AccessShareLock))
			return false;
	}

	return !OidIsValid(toast) ||
		(ConditionalLockRelationOid(toast, AccessShareLock) && try_lock_indexes(toast));
}

/*
 * dense_internal.try_lock(rel oid) returns boolean
 *
 * Take ACCESS SHARE locks on a table, its indexes and its TOAST table without
 * waiting.  Return false if another session has a conflicting lock, and null
 * if the table does not exist.  The caller must be allowed to read a column,
 * so that nobody else can lock the table.
 */
Datum
pg_dense_try_lock(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);

	for (int pass = 0; pass < 2; pass++)
	{
		char	   *name = get_rel_name(relid);

		if (name == NULL)
		{
			if (pass > 0)
				UnlockRelationOid(relid, AccessShareLock);
			PG_RETURN_NULL();
		}
		if (!compat_has_privilege(NamespaceRelationId, get_rel_namespace(relid), GetUserId(), ACL_USAGE) ||
			(pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
			 pg_attribute_aclcheck_all(relid, GetUserId(), ACL_SELECT,
									   ACLMASK_ANY) != ACLCHECK_OK))
			aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relid)), name);
		if (pass == 0 && !ConditionalLockRelationOid(relid, AccessShareLock))
			PG_RETURN_BOOL(false);
	}

	PG_RETURN_BOOL(try_lock_indexes(relid));
}

/*
 * dense_internal.lock_owned(rel oid) returns text
 *
 * Lock a relation that apply() or undo() is about to change, and return its
 * qualified name, or null if it does not exist.  A table is locked in ACCESS
 * EXCLUSIVE mode.  An index is locked as REINDEX INDEX does, in the same
 * order.  Until the end of the transaction, no other session can rename or
 * replace the relation.  Errors: 42501 if the caller does not own it.
 */
Datum
pg_dense_lock_owned(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);

	for (int pass = 0; pass < 2; pass++)
	{
		char	   *name = get_rel_name(relid);
		char	   *schema = name ? get_namespace_name(get_rel_namespace(relid)) : NULL;
		Oid			heapid;

		if (schema == NULL)
			PG_RETURN_NULL();
		name = quote_qualified_identifier(schema, name);
		if (!compat_relation_ownercheck(relid, GetUserId()))
		{
			error_context_stack = NULL; /* as in pg_dense_refuse() */
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("must be owner of relation %s", name)));
		}
		if (pass > 0)
			PG_RETURN_TEXT_P(cstring_to_text(name));
		if (get_rel_relkind(relid) != RELKIND_INDEX)
			LockRelationOid(relid, AccessExclusiveLock);
		else
		{
			heapid = IndexGetRelation(relid, true);
			if (OidIsValid(heapid))
				LockRelationOid(heapid, ShareLock);
			LockRelationOid(relid, ShareUpdateExclusiveLock);
		}
	}
	pg_unreachable();
}

/* Run the query, and copy the first row of its result into a memory context. */
static void
answer(Oid relid, const char *query, MemoryContext context, Answer *result)
{
	Oid			types[] = {REGCLASSOID};
	Datum		values[] = {ObjectIdGetDatum(relid)};
	TupleDesc	desc;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
	{
		result->locked = true;
		return;
	}
	SPI_connect();
	if (SPI_execute_with_args(query, 1, types, values, NULL, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not execute \"%s\"", query);
	desc = SPI_tuptable->tupdesc;
	if (SPI_processed > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		result->natts = Min(desc->natts, MAX_ANSWERS);
		for (int i = 0; i < result->natts; i++)
		{
			Datum		value = SPI_getbinval(SPI_tuptable->vals[0], desc, i + 1,
											  &result->nulls[i]);

			if (!result->nulls[i])
				result->values[i] = datumCopy(value, TupleDescAttr(desc, i)->attbyval,
											  TupleDescAttr(desc, i)->attlen);
		}
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
}

/*
 * Ask a question about a relation that may be locked or damaged.  The query
 * has the relation as its parameter.  Do not wait for a lock, and do not keep
 * one: the caller need not have a privilege on the relation.  An error that
 * the relation causes is no answer.
 */
static void
ask(Oid relid, const char *query, Answer *result)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	memset(result, 0, sizeof(*result));
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		answer(relid, query, context, result);
	}
	PG_CATCH();
	{
		ErrorData  *error;
		int			category;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		category = ERRCODE_TO_CATEGORY(error->sqlerrcode);
		if (category == ERRCODE_TO_CATEGORY(ERRCODE_INSUFFICIENT_RESOURCES) ||
			category == ERRCODE_TO_CATEGORY(ERRCODE_QUERY_CANCELED))
			PG_RE_THROW();
		FlushErrorState();
		memset(result, 0, sizeof(*result));
	}
	PG_END_TRY();
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
}

/*
 * dense_internal.split_parts(view oid, OUT hot oid, OUT cold oid,
 *							  OUT cold_columns name[], OUT locked boolean)
 *
 * Return the parts of a split view, without waiting for a lock.  The parts are
 * null if the relation is no split view, or if another session has locked it.
 * The caller has checked that vertical_partition_internal.layout() can be
 * trusted.  Every role may call this function without that check, so cast the
 * result of layout().
 */
Datum
pg_dense_split_parts(PG_FUNCTION_ARGS)
{
	Answer		parts;
	TupleDesc	tupdesc;
	Datum		values[4] = {0};
	bool		nulls[4] = {true, true, true, false};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	ask(PG_GETARG_OID(0),
		"SELECT l.hot::pg_catalog.oid, l.cold::pg_catalog.oid,"
		" l.cold_columns::pg_catalog.name[]"
		" FROM vertical_partition_internal.layout($1) l", &parts);
	for (int i = 0; i < parts.natts; i++)
	{
		values[i] = parts.values[i];
		nulls[i] = parts.nulls[i];
	}
	values[3] = BoolGetDatum(parts.locked);

	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls)));
}

/*
 * dense_internal.item_alignment(index oid) returns int4
 *
 * Return the alignment of a B-tree index, without waiting for a lock, or null
 * if it cannot be read.  The caller has checked that
 * index_align.item_alignment() can be trusted.  Cast its result, as above.
 */
Datum
pg_dense_item_alignment(PG_FUNCTION_ARGS)
{
	Answer		alignment;

	ask(PG_GETARG_OID(0), "SELECT index_align.item_alignment($1)::pg_catalog.int4", &alignment);
	if (alignment.natts == 0 || alignment.nulls[0])
		PG_RETURN_NULL();

	PG_RETURN_DATUM(alignment.values[0]);
}
