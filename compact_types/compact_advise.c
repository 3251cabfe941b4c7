/*-------------------------------------------------------------------------
 *
 * compact_advise.c
 *	  Advise which columns of a table would be smaller with a compact type.
 *
 * The rows of the table, or of a sample of its pages, are read up to three
 * times.  The first pass finds the properties that all values share; the
 * proposals follow from these properties.  The second pass computes the exact
 * sizes of some rows with the present types and with the proposed types.
 * These sizes serve to find the best order of the columns.  The third pass
 * fills simulated pages with rows of the exact sizes, and simulates TOAST,
 * too.  Where the new size depends on the value, the passes convert the value
 * with the real cast.
 *
 * The advice writes nothing, so that advise() works on a standby as well.
 *
 * This file runs the steps of the advice one after the other.  The steps are
 * in the files compact_advise_*.c.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_advise.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"

#include "compact_advise.h"
#include "compact_advise_size.h"
#include "compact_ddl.h"
#include "compact_types_compat.h"

/* limits of the sample that serves to compare orders: rows, values, pages */
#define ORDER_ROWS			10000
#define ORDER_VALUES		400000
#define SIZE_PAGES			1000

/*
 * Arguments
 */

/*
 * Raise an error if an argument is NULL.  function is the name of the called
 * SQL function.  nullable has the bit 1 << i if argument i may be NULL.
 */
void
compact_advise_refuse_null(FunctionCallInfo fcinfo, const char *function, int nullable)
{
	for (int i = 0; i < PG_NARGS(); i++)
	{
		HeapTuple	tuple;
		Oid		   *types;
		char	  **names;
		char	   *modes;

		if (!PG_ARGISNULL(i) || (nullable & (1 << i)))
			continue;
		tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(fcinfo->flinfo->fn_oid));
		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for function %u", fcinfo->flinfo->fn_oid);
		(void) get_func_arg_info(tuple, &types, &names, &modes);
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"%s\" of %s must not be null", names[i], function)));
	}
}

/* Return the names in an array of type name[], as a list of char *. */
List *
compact_advise_column_names(ArrayType *names)
{
	List	   *result = NIL;
	Datum	   *elems;
	bool	   *nulls;
	int			n;

	deconstruct_array(names, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR, &elems, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("the name of a column must not be null")));
		result = lappend(result, pstrdup(NameStr(*DatumGetName(elems[i]))));
	}

	return result;
}

/* Return the number of the column.  Raise an error if there is none of that name. */
AttrNumber
compact_advise_attnum(Oid relid, const char *column)
{
	AttrNumber	attnum = get_attnum(relid, column);

	if (attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						column, get_rel_name(relid))));

	return attnum;
}

/* Return the column of that name.  Raise an error if there is none. */
AdviseColumn *
compact_advise_find_column(const Advice *advice, const char *name)
{
	for (int i = 0; i < advice->ncolumns; i++)
	{
		if (strcmp(NameStr(advice->columns[i].att->attname), name) == 0)
			return &advice->columns[i];
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("column \"%s\" of relation \"%s\" does not exist",
					name, RelationGetRelationName(advice->rel))));

	return NULL;				/* keep compiler quiet */
}

/* Return true if the advice converts a column to a type of that kind. */
static bool
proposes(const Advice *advice, AdviseKind kind)
{
	for (int i = 0; i < advice->ncolumns; i++)
	{
		if (advice->columns[i].kind == kind && compact_advise_converts(advice, &advice->columns[i]))
			return true;
	}

	return false;
}

/* Check that the caller may read the relation's rows.  No lock is needed. */
static void
check_readable(Oid relid)
{
	char	   *name = get_rel_name(relid);
	Oid			nspid = get_rel_namespace(relid);

	if (name == NULL || !OidIsValid(nspid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!compat_has_privilege(NamespaceRelationId, nspid, GetUserId(), ACL_USAGE))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SCHEMA, get_namespace_name(nspid));
	if (pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(relid, GetUserId(), ACL_SELECT,
								  ACLMASK_ALL) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relid)), name);
	if (check_enable_rls(relid, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security hides rows of table \"%s\"", name),
				 errhint("The advice needs all rows: call the function as a role that bypasses row-level security.")));
}

/*
 * Open the table, and check twice that the caller may read its rows.  The
 * first check comes before the lock, so that a user without the privilege
 * neither waits for the lock nor makes others wait.  The second check comes
 * under the lock, because the table may have changed in the meantime.
 */
static Relation
open_table(Oid relid, LOCKMODE lockmode)
{
	Relation	rel;
	const char *name;

	check_readable(relid);
	rel = try_relation_open(relid, lockmode);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	name = RelationGetRelationName(rel);

	if (rel->rd_rel->relkind != RELKIND_RELATION || rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table that stores its rows with access method \"heap\"", name)));
	if (IsSystemRelation(rel))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("\"%s\" is a system catalog", name)));
	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	if (!RelationIsPermanent(rel) && RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));
	check_readable(relid);

	return rel;
}

/* Examine the views that use columns for which there is a proposal. */
static void
check_views(Advice *advice)
{
	StringInfoData attnums;
	bool		too_deep = false;
	List	   *views;

	initStringInfo(&attnums);
	appendStringInfoString(&attnums, "0");
	for (int i = 0; i < advice->ncolumns; i++)
	{
		if (advice->columns[i].kind != ADVISE_KEEP)
			appendStringInfo(&attnums, ", %d", advice->columns[i].att->attnum);
	}
	views = compact_advise_dependent_views(advice, attnums.data, &too_deep);
	if (too_deep)
		compact_advise_add_blocker(advice, 0, "views are nested too deeply, or refer to themselves");
	else
		(void) compact_advise_look_at_views(advice, views, NULL);
	if (views == NIL || too_deep || !advice->options.whole_views)
		return;
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];
		ListCell   *lc;

		if (column->kind == ADVISE_KEEP)
			continue;
		views = compact_advise_dependent_views(advice, psprintf("%d", column->att->attnum), NULL);
		foreach(lc, compact_advise_unrestorable(advice, views))
			compact_advise_add_blocker(advice, column->att->attnum, lfirst(lc));
	}
}

/* Convert the columns that the options name, and no others. */
static void
choose_named(Advice *advice)
{
	for (int i = 0; i < advice->ncolumns; i++)
		advice->columns[i].by_name = true;
	for (int i = 0; i < list_length(advice->options.columns); i++)
		compact_advise_find_column(advice, list_nth(advice->options.columns, i))->by_name = false;
}

/* Make proposals, and find their blockers. */
static void
judge(Advice *advice)
{
	compact_advise_propose(advice);
	compact_advise_check_indexes(advice);
	compact_advise_look_at_expressions(advice);
	check_views(advice);
	if (advice->options.only_named)
		choose_named(advice);
}

/*
 * Mark the columns for which a type of three bytes is blocked, so that they
 * get another proposal.  Saving one more byte must not prevent the conversion
 * of the whole table.  Return true if there are such columns.
 */
static bool
avoid_blocked_references(Advice *advice)
{
	bool		found = false;

	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];

		if (column->kind == ADVISE_INTEGER && column->type.len == 3 && column->blockers != NIL)
			column->by_value = found = true;
	}

	return found;
}

/* Make an empty cache in the current memory context. */
AdviseCatalog *
compact_advise_catalog_make(void)
{
	AdviseCatalog *catalog = palloc0(sizeof(AdviseCatalog));

	catalog->cxt = CurrentMemoryContext;

	return catalog;
}

/* Find the properties of the table that proposals depend on, and make proposals. */
static void
judge_by_catalogs(Advice *advice)
{
	int			nestlevel;

	SPI_connect();
	nestlevel = compact_ddl_set_gucs();
	compact_advise_connect(advice);
	compact_advise_find_blockers(advice);
	compact_advise_find_mentions(advice);
	compact_advise_query("SELECT COALESCE(pg_catalog.pg_stat_get_tuples_updated(%u), 0)",
						 RelationGetRelid(advice->rel));
	advice->updates = SPI_processed == 1 ? strtoll(compact_advise_result(0, 0), NULL, 10) : 0;
	compact_advise_look_at_defaults(advice);
	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];

		column->dependents = column->blockers;
		column->native_type = compact_advise_native_type(advice, column);
	}
	judge(advice);
	if (avoid_blocked_references(advice))
		judge(advice);
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();
}

/*
 * Make the advice for a table.  funcid is the calling SQL function; its schema
 * is the schema of compact_types.  The table stays open and locked.  The
 * caller must have an active snapshot.
 */
Advice *
compact_advise_make(Oid relid, const AdviseOptions *options, Oid funcid, LOCKMODE lockmode)
{
	Advice	   *advice = palloc0(sizeof(Advice));
	Relation	rel = open_table(relid, lockmode);
	TupleDesc	desc = RelationGetDescr(rel);
	SizeSample	sample;
	double		rows;

	advice->rel = rel;
	advice->options = *options;
	advice->cxt = CurrentMemoryContext;
	advice->nspid = get_func_namespace(funcid);
	advice->catalog = options->catalog ? options->catalog : compact_advise_catalog_make();
	advice->columns = palloc0((desc->natts + 1) * sizeof(AdviseColumn));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
		{
			advice->has_dropped = true;
			continue;
		}
		if (att->atttypid == BPCHAROID || att->atttypid == VARCHAROID || att->atttypid == TEXTOID)
			advice->columns[advice->ncolumns].native = compact_advise_native_make();
		advice->columns[advice->ncolumns++].att = att;
	}
	advice->order = palloc0((advice->ncolumns + 1) * sizeof(int));
	advice->nblocks = RelationGetNumberOfBlocks(rel);

	compact_advise_scan_rows(advice, options->sample_pages, compact_advise_look_at_row, NULL);
	rows = advice->sampled_rows;

	/* without a value, there is no proposal */
	if (advice->sampled_rows > 0)
		judge_by_catalogs(advice);
	else
		compact_advise_propose(advice);

	memset(&sample, 0, sizeof(sample));
	if (advice->sampled_rows > 0)
	{
		BlockNumber sampled_blocks = advice->sampled_blocks;
		int			max_pages = options->sample_pages == 0 ? SIZE_PAGES :
			Min(options->sample_pages, SIZE_PAGES);
		Size		bytes;

		if (sampled_blocks > (BlockNumber) max_pages)
			rows = rows / sampled_blocks * max_pages;
		sample.maxrows = Min(ORDER_ROWS, ORDER_VALUES / Max(advice->ncolumns, 1));
		sample.skip = (int64) (rows / sample.maxrows) + 1;
		bytes = ((Size) sample.maxrows * advice->ncolumns + 1) * sizeof(ItemSize);
		sample.now = MemoryContextAllocHuge(advice->cxt, bytes);
		sample.after = MemoryContextAllocHuge(advice->cxt, bytes);
		sample.total = palloc((advice->ncolumns + 1) * sizeof(ItemSize));
		compact_advise_init_simulation(advice, &sample.sim, true);
		compact_advise_scan_rows(advice, max_pages, compact_advise_sample_row, &sample);
		if (sample.nrows == 0)
		{
			/* hardly any page had rows: take every row of the sample */
			sample.skip = 1;
			compact_advise_scan_rows(advice, options->sample_pages, compact_advise_sample_row, &sample);
		}
		do
		{
			compact_advise_choose(advice, &sample);
			if (!options->predict && !proposes(advice, ADVISE_TEXT))
				break;
			/* a few pages show if the table grows; a prediction reads more */
			compact_advise_simulate(advice, options->predict ? options->sample_pages : max_pages);
		} while (advice->after.pages > advice->now.pages &&
				 compact_advise_drop_growing_text(advice, &sample));
		pfree(sample.now);
		pfree(sample.after);
		advice->sampled_blocks = sampled_blocks;
	}
	else
	{
		for (int i = 0; i < advice->ncolumns; i++)
			advice->order[i] = i;
	}

	return advice;
}
