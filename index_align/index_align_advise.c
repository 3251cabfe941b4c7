/*-------------------------------------------------------------------------
 *
 * index_align_advise.c
 *	  index_align.advise(): the indexes that could be smaller.
 *
 * An index is opened under an AccessShareLock, as for the listing in
 * index_align.c, to read its alignment and its size.  The other figures come
 * from the catalogs and the statistics, while the index is open: its table
 * cannot be dropped meanwhile.  Advice on all tables does not wait for a lock,
 * because one session would hold up the advice on all other indexes.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  index_align/index_align_advise.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/relation.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "index_align.h"

PG_FUNCTION_INFO_V1(ia_advise);

/* Propose nothing for an index of up to so many pages: it gains a page at most. */
#define IA_SMALL_PAGES	5

/* Number of result columns */
#define IA_ADVISE_COLUMNS	9

/* What advise() says about an index */
typedef struct IaAdvice
{
	int			alignment;		/* the proposed one, or 0 if nothing is
								 * proposed */
	int64		bytes_now;
	int64		bytes_after;	/* -1 if unknown */
	char	   *reason;
	const char *blocker;		/* or NULL */
} IaAdvice;

/*
 * Return true if the current user may read the table of an index, or one of
 * its columns.  Return false if the index or its table does not exist.
 */
static bool
ia_may_read(Oid indexid)
{
	Oid			heapid = IndexGetRelation(indexid, true);
	bool		is_missing = false;

	if (!OidIsValid(heapid))
		return false;
	if (pg_class_aclcheck_ext(heapid, GetUserId(), ACL_SELECT, &is_missing) == ACLCHECK_OK)
		return true;

	return !is_missing &&
		pg_attribute_aclcheck_all_ext(heapid, GetUserId(), ACL_SELECT, ACLMASK_ANY,
									  &is_missing) == ACLCHECK_OK;
}

/* Return what must be done before the index is rebuilt, or NULL. */
static const char *
ia_blocker(const IaIndex *index)
{
	if (!index->live)
		return "a concurrent drop of the index is running, or has failed; drop it if none is running";
	if (!index->valid)
		return "the index is invalid: a concurrent build of it is running, or has failed; drop it if none is running";
	if (index->damage != NULL)
		return "the metapage of the index is damaged; REINDEX the index";

	return NULL;
}

/* Find the alignment that item_alignment = auto would give an open index. */
static void
ia_examine(Relation rel, const IaIndex *index, IaAdvice *advice)
{
	int			needed = ia_needed_alignment(index->indexid, RelationGetNumberOfAttributes(rel));
	BlockNumber pages;
	IaEstimate	estimate;

	advice->alignment = 0;
	advice->blocker = ia_blocker(index);
	advice->bytes_now = DatumGetInt64(DirectFunctionCall2(pg_relation_size,
														  ObjectIdGetDatum(index->indexid),
														  CStringGetTextDatum("main")));
	advice->bytes_after = advice->bytes_now;
	pages = (BlockNumber) (advice->bytes_now / BLCKSZ);

	if (needed == MAXIMUM_ALIGNOF)
		advice->reason = psprintf("a column needs an alignment of %d bytes", needed);
	else if (index->alignment != 0 && index->alignment != MAXIMUM_ALIGNOF)
		advice->reason = psprintf("the entries are aligned to %d bytes already", index->alignment);
	else if (index->alignment == 0 && index->damage == NULL)
		advice->reason = pstrdup("the index has no pages, or this session may not read them");
	else if (pages <= IA_SMALL_PAGES)
		advice->reason = psprintf("an index of up to %d pages gains a page at most", IA_SMALL_PAGES);
	else if (!ia_estimate(index->indexid, needed, rel->rd_rel->relpages, rel->rd_rel->reltuples, &estimate) ||
			 estimate.ratio >= 1)
		advice->reason = psprintf("an entry takes as many bytes at an alignment of %d bytes as at one of %d",
								  needed, MAXIMUM_ALIGNOF);
	else
	{
		advice->alignment = needed;
		advice->bytes_after = (int64) (advice->bytes_now * estimate.ratio);
		advice->reason = psprintf("the columns need an alignment of %d bytes, not %d%s%s",
								  needed, MAXIMUM_ALIGNOF,
								  estimate.hidden ? "; you may not see all statistics, so the estimate is coarse" : "",
								  estimate.missing ? "; ANALYZE the table for a better estimate" : "");
	}

	/* the size does not tell how the entries of a damaged index are aligned */
	if (index->damage != NULL)
		advice->bytes_after = -1;
}

/*
 * Return the statement that carries out a proposal.  If the storage parameter
 * is set already, the index only waits for its rebuild.
 */
static char *
ia_statement(const IaIndex *index, const char *reindex)
{
	if (index->parameter != NULL && pg_strcasecmp(index->parameter, "auto") == 0)
		return pstrdup(reindex);

	return psprintf("ALTER INDEX %s SET (item_alignment = auto); %s", index->quoted, reindex);
}

/*
 * Return the statement that takes a proposal back.  This statement keeps the
 * present storage parameter.  Without CONCURRENTLY, both statements may run
 * in a transaction, where no procedure can commit.
 */
static char *
ia_undo(const IaIndex *index, const char *reindex, bool concurrently)
{
	char	   *parameter = index->parameter == NULL ? NULL :
		psprintf("ALTER INDEX %s SET (item_alignment = %s)", index->quoted,
				 quote_identifier(index->parameter));
	char	   *restore = psprintf("CALL index_align.restore_stock(%s)",
								   quote_literal_cstr(index->quoted));

	if (concurrently)
		return parameter == NULL ? restore : psprintf("%s; %s", restore, parameter);
	if (parameter == NULL)
		parameter = psprintf("ALTER INDEX %s RESET (item_alignment)", index->quoted);

	return psprintf("ALTER INDEX %s SET (item_alignment = max); %s; %s", index->quoted, reindex,
					parameter);
}

/* Add the row of an index to the result. */
static void
ia_put_advice(ReturnSetInfo *rsinfo, const IaIndex *index, const IaAdvice *advice,
			  bool concurrently)
{
	Datum		values[IA_ADVISE_COLUMNS];
	bool		nulls[IA_ADVISE_COLUMNS] = {0};

	values[0] = ObjectIdGetDatum(index->heapid);
	values[1] = ObjectIdGetDatum(index->indexid);
	values[2] = Int32GetDatum(advice->alignment);
	nulls[2] = advice->alignment == 0;
	values[3] = Int64GetDatum(advice->bytes_now);
	values[4] = Int64GetDatum(advice->bytes_after);
	nulls[4] = advice->bytes_after < 0;
	values[5] = CStringGetTextDatum(advice->reason);
	if (advice->blocker != NULL)
	{
		Datum		blocker = CStringGetTextDatum(advice->blocker);

		values[6] = PointerGetDatum(construct_array_builtin(&blocker, 1, TEXTOID));
	}
	else
		values[6] = PointerGetDatum(construct_empty_array(TEXTOID));
	if (advice->alignment != 0 && advice->blocker == NULL)
	{
		bool		can_wait = concurrently && !index->temp && !index->exclusion;
		char	   *reindex = psprintf("REINDEX INDEX %s%s", can_wait ? "CONCURRENTLY " : "", index->quoted);

		values[7] = CStringGetTextDatum(ia_statement(index, reindex));
		values[8] = CStringGetTextDatum(ia_undo(index, reindex, concurrently));
	}
	else
		nulls[7] = nulls[8] = true;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * Add a row for an index that another session has locked.  No row is needed if
 * the index is partitioned, or was dropped a moment ago.
 */
static void
ia_put_locked(ReturnSetInfo *rsinfo, Oid indexid)
{
	Datum		values[IA_ADVISE_COLUMNS];
	bool		nulls[IA_ADVISE_COLUMNS];
	Oid			heapid = IndexGetRelation(indexid, true);

	if (!OidIsValid(heapid) || get_rel_relkind(indexid) != RELKIND_INDEX)
		return;
	memset(nulls, true, sizeof(nulls));
	values[0] = ObjectIdGetDatum(heapid);
	values[1] = ObjectIdGetDatum(indexid);
	values[5] = CStringGetTextDatum("another session has locked the index");
	values[6] = PointerGetDatum(construct_empty_array(TEXTOID));
	nulls[0] = nulls[1] = nulls[5] = nulls[6] = false;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * index_align.advise(relation regclass, concurrently boolean) returns setof
 * record
 *
 * Without a relation, return the indexes that item_alignment = auto would make
 * smaller, of all tables of the database that the caller may read, and those
 * that another session has locked.  With a relation, wait for the locks, and
 * return every B-tree of that table, or that index, with the reason if nothing
 * is proposed.  Leave out an index that is dropped meanwhile.
 */
Datum
ia_advise(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			scope = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	MemoryContext oldcontext = CurrentMemoryContext;
	MemoryContext context;
	ListCell   *cell;

	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("\"concurrently\" must not be null")));
	InitMaterializedSRF(fcinfo, 0);
	context = AllocSetContextCreate(CurrentMemoryContext, "index_align advice",
									ALLOCSET_SMALL_SIZES);
	foreach(cell, ia_user_btrees(scope))
	{
		Oid			indexid = lfirst_oid(cell);
		Relation	rel;
		IaIndex    *index;
		IaAdvice	advice;

		CHECK_FOR_INTERRUPTS();
		if (!OidIsValid(scope))
		{
			if (!ia_may_read(indexid))
				continue;
			if (!ConditionalLockRelationOid(indexid, AccessShareLock))
			{
				ia_put_locked(rsinfo, indexid);
				continue;
			}
		}
		rel = ia_open(indexid);
		if (!OidIsValid(scope))
			UnlockRelationOid(indexid, AccessShareLock);
		if (rel == NULL)
			continue;
		MemoryContextSwitchTo(context);
		index = ia_describe_open(rel);
		/* partitions have the pages, and rows of their own */
		if (index != NULL && !index->partitioned)
		{
			ia_examine(rel, index, &advice);
			if (OidIsValid(scope) || advice.alignment != 0)
				ia_put_advice(rsinfo, index, &advice, PG_GETARG_BOOL(1));
		}
		relation_close(rel, AccessShareLock);
		MemoryContextSwitchTo(oldcontext);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);

	return (Datum) 0;
}
