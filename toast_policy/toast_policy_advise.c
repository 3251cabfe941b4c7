/*-------------------------------------------------------------------------
 *
 * toast_policy_advise.c
 *	  Propose how to store columns: toast_policy.advise().
 *
 * For a table without large values, look only into catalogs and statistics.
 * In other tables, read random pages, and find the columns that have values
 * that heap has compressed or moved out of line, or that fill a row.  Measure
 * each of these columns as toast_policy.compare() does.  Propose the
 * recommended way to store the column, unless this way is hardly better than
 * the present one, and unless an object of the database prevents the change.
 *
 * If all tables are wanted, examine each of them in a subtransaction, and roll
 * it back.  So an error about one table is no error for the whole, and a call
 * about thousands of tables needs few locks.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_advise.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/rls.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "toast_policy_advise.h"
#include "toast_policy_compat.h"

PG_FUNCTION_INFO_V1(tp_advise);

/*
 * If a table has no values out of line, values that heap has compressed still
 * make a column wide.  Do not read a table whose columns are all narrower, in
 * bytes.
 */
#define TP_WIDE				128

/*
 * Measure the speed of a codec only for this time, in microseconds: advice on a
 * whole database is about many columns.
 */
#define TP_QUICK_US			20000.0

/* Number of result columns */
#define TP_ADVICE_COLUMNS	17

/* State while looking for columns with large values */
typedef struct TpSearch
{
	const TpSource *sources;
	int			natts;			/* of the table */
	AttrNumber **attnums;		/* of each source: numbers of these columns */
	Bitmapset  *found;
	int			wanted;			/* columns that are not found yet */
} TpSearch;

/*
 * Columns with large values
 */

/* Return true if the caller may read the column. */
static bool
tp_may_read(Oid relid, AttrNumber attnum)
{
	return pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
		pg_attribute_aclcheck(relid, attnum, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
}

/* Return the columns for which there could be a proposal. */
static Bitmapset *
tp_candidates(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Bitmapset  *result = NULL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped || att->attlen != -1 ||
			att->attstorage == TYPSTORAGE_PLAIN ||
			tp_column_is_virtual(att) ||
			!tp_may_read(RelationGetRelid(rel), att->attnum) ||
			tp_is_compressed_type(att->atttypid))
			continue;
		result = bms_add_member(result, att->attnum);
	}

	return result;
}

/* Return the size of a relation in blocks.  The caller must be able to lock it. */
static BlockNumber
tp_blocks(Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	BlockNumber result = RelationGetNumberOfBlocks(rel);

	relation_close(rel, AccessShareLock);

	return result;
}

/*
 * Return true if a table can have large values.  Look only at catalogs,
 * statistics, and the sizes of files.
 */
static bool
tp_may_have_large_values(const TpSource *source, Relation root, const Bitmapset *columns)
{
	Oid			relid = RelationGetRelid(source->rel);
	int			attnum = -1;

	if (source->blocks == 0 || !OidIsValid(source->rel->rd_rel->reltoastrelid))
		return false;
	if (tp_blocks(source->rel->rd_rel->reltoastrelid) > 0)
		return true;

	while ((attnum = bms_next_member(columns, attnum)) >= 0)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(root), attnum - 1);
		int32		width = get_attavgwidth(relid, get_attnum(relid, NameStr(att->attname)));

		/* 0 means that there are no statistics */
		if (width == 0 || width >= TP_WIDE)
			return true;
	}

	return false;
}

/* Look for large values in a row. */
static bool
tp_search_row(void *arg, int source, TupleTableSlot *slot)
{
	TpSearch   *search = arg;

	for (int i = 0; i < search->natts; i++)
	{
		AttrNumber	attnum = search->attnums[source][i];
		const struct varlena *value;
		bool		isnull;

		if (attnum == InvalidAttrNumber || bms_is_member(i + 1, search->found))
			continue;
		value = (const struct varlena *) DatumGetPointer(slot_getattr(slot, attnum, &isnull));
		if (!isnull && (VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value) ||
						VARSIZE_ANY(value) > TOAST_TUPLE_THRESHOLD))
		{
			search->found = bms_add_member(search->found, i + 1);
			search->wanted--;
		}
	}

	return search->wanted > 0;
}

/* Return those of the columns that have large values. */
static Bitmapset *
tp_find_large_columns(Relation rel, Bitmapset *columns, int sample_pages)
{
	TpComparison *tables = palloc0(sizeof(TpComparison));
	TpSearch	search = {0};
	bool		possible = false;

	if (bms_is_empty(columns))
		return NULL;
	tables->rel = rel;
	tables->quiet = true;
	tp_open_sources(tables);
	for (int i = 0; i < tables->nsources && !possible; i++)
		possible = tp_may_have_large_values(&tables->sources[i], rel, columns);
	if (possible)
	{
		search.sources = tables->sources;
		search.natts = RelationGetNumberOfAttributes(rel);
		search.wanted = bms_num_members(columns);
		search.attnums = palloc(tables->nsources * sizeof(AttrNumber *));
		for (int i = 0; i < tables->nsources; i++)
		{
			int			attnum = -1;

			search.attnums[i] = palloc0(search.natts * sizeof(AttrNumber));
			while ((attnum = bms_next_member(columns, attnum)) >= 0)
				search.attnums[i][attnum - 1] =
					get_attnum(RelationGetRelid(tables->sources[i].rel),
							   NameStr(TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attname));
		}
		(void) tp_read_sample(tables->sources, tables->nsources, sample_pages,
							  tp_search_row, &search);
	}
	tp_end_measure(tables);

	return search.found;
}

/*
 * Results
 */

/* Add a row about a relation that cannot be examined. */
static void
tp_put_blocked(ReturnSetInfo *rsinfo, Oid relid, const char *blocker)
{
	Datum		values[TP_ADVICE_COLUMNS] = {0};
	bool		nulls[TP_ADVICE_COLUMNS];
	Datum		element = CStringGetTextDatum(blocker);

	memset(nulls, true, sizeof(nulls));
	values[0] = ObjectIdGetDatum(relid);
	nulls[0] = false;
	values[12] = CStringGetTextDatum("not examined");
	nulls[12] = false;
	values[14] = PointerGetDatum(construct_array(&element, 1, TEXTOID, -1, false, TYPALIGN_INT));
	nulls[14] = false;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * Set the columns that describe a strategy.  NULL stands for the present way
 * to store the column, if it is none of the strategies.  Then the columns of
 * codec and level stay NULL.
 */
static void
tp_set_strategy(const TpProposal *proposal, const TpStrategy *strategy, Datum *values,
				bool *nulls)
{
	const TpTrial *trial;

	if (strategy == NULL)
	{
		values[0] = CStringGetTextDatum(proposal->att->attstorage == TYPSTORAGE_PLAIN ?
										"plain" : "mixed");
		nulls[0] = false;
		return;
	}
	trial = strategy->trial;
	values[0] = CStringGetTextDatum(strategy->name);
	values[1] = CStringGetTextDatum(tp_codec_name(trial ? trial->codec : TP_NONE));
	values[2] = Int32GetDatum(trial ? trial->level : 0);
	nulls[0] = nulls[1] = false;
	nulls[2] = trial == NULL || (trial->codec != TP_LZ4 && trial->codec != TP_ZSTD);
}

/* Return the bytes of the tables, their TOAST tables and the indexes of these. */
static int64
tp_bytes(const TpProposal *proposal)
{
	double		blocks = 0;

	for (int i = 0; i < proposal->nplaces; i++)
	{
		Relation	rel;
		Oid			toastid;

		if (proposal->places[i].relkind == RELKIND_PARTITIONED_TABLE)
			continue;
		rel = relation_open(proposal->places[i].relid, AccessShareLock);
		toastid = rel->rd_rel->reltoastrelid;
		blocks += RelationGetNumberOfBlocks(rel);
		relation_close(rel, NoLock);
		if (OidIsValid(toastid))
		{
			Relation	toast = relation_open(toastid, AccessShareLock);
			ListCell   *cell;

			blocks += RelationGetNumberOfBlocks(toast);
			foreach(cell, RelationGetIndexList(toast))
				blocks += tp_blocks(lfirst_oid(cell));
			relation_close(toast, AccessShareLock);
		}
	}

	return (int64) (blocks * BLCKSZ);
}

/* Add the row of a column. */
static void
tp_put_proposal(ReturnSetInfo *rsinfo, const TpProposal *proposal, Relation rel)
{
	Datum		values[TP_ADVICE_COLUMNS] = {0};
	bool		nulls[TP_ADVICE_COLUMNS] = {0};
	const TpComparison *comparison = proposal->comparison;
	const TpStrategy *pick = proposal->pick;
	bool		change = pick != proposal->now;
	bool		system = IsCatalogRelation(rel) || RelationGetRelid(rel) < FirstNormalObjectId;
	StringInfoData statement;
	StringInfoData undo;
	int64		bytes = tp_bytes(proposal);
	char	   *risk = tp_proposal_risk(proposal);

	initStringInfo(&statement);
	initStringInfo(&undo);
	values[0] = ObjectIdGetDatum(RelationGetRelid(rel));
	values[1] = NameGetDatum(&proposal->att->attname);
	for (int i = 2; i <= 9; i++)
		nulls[i] = true;
	tp_set_strategy(proposal, proposal->now, values + 2, nulls + 2);
	tp_set_strategy(proposal, pick, values + 5, nulls + 5);
	if (proposal->now != NULL && comparison->sampled > 0)
	{
		values[8] = Float8GetDatum(tp_round(proposal->now->read_us));
		nulls[8] = false;
	}
	if (comparison->sampled > 0)
	{
		values[9] = Float8GetDatum(tp_round(pick->read_us));
		nulls[9] = false;
	}
	values[10] = Int64GetDatum(bytes);
	values[11] = Int64GetDatum(change ? (int64) (pick->new_pages * BLCKSZ) : bytes);
	values[12] = CStringGetTextDatum(tp_proposal_reason(proposal, bytes));
	nulls[13] = risk == NULL;
	if (risk != NULL)
		values[13] = CStringGetTextDatum(risk);
	nulls[14] = !(change && system);
	if (change && system)
	{
		Datum		element = CStringGetTextDatum("the table is a system catalog");

		values[14] = PointerGetDatum(construct_array(&element, 1, TEXTOID, -1, false, TYPALIGN_INT));
	}
	nulls[15] = nulls[16] = !change || system;
	if (change && !system)
	{
		tp_make_statements(proposal, rel, &statement, &undo);
		values[15] = CStringGetTextDatum(statement.data);
		values[16] = CStringGetTextDatum(undo.data);
	}
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Add the rows of a table that is locked and checked. */
static void
tp_advise_table(ReturnSetInfo *rsinfo, Relation rel, Bitmapset *columns, int sample_pages,
				bool quiet)
{
	TpProposal *proposals = palloc0((bms_num_members(columns) + 1) * sizeof(TpProposal));
	Oid			own = tp_access_method_oid(false);
	int			n = 0;
	int			attnum = -1;

	while ((attnum = bms_next_member(columns, attnum)) >= 0)
	{
		TpProposal *proposal = &proposals[n++];

		proposal->att = TupleDescAttr(RelationGetDescr(rel), attnum - 1);
		proposal->comparison =
			tp_measure(rel, attnum, sample_pages, Min(TP_MAX_EFFORT, (double) sample_pages * BLCKSZ),
					   TP_QUICK_US, quiet || n > 1);
		tp_end_measure(proposal->comparison);
		tp_find_places(proposal, RelationGetRelid(rel));
		proposal->governed = true;
		for (int i = 0; i < proposal->nplaces; i++)
		{
			const TpPlace *place = &proposal->places[i];

			if (place->storage != TYPSTORAGE_EXTERNAL ||
				(place->amoid != own && place->relkind != RELKIND_PARTITIONED_TABLE))
				proposal->governed = false;
		}
	}
	for (int i = 0; i < n; i++)
		tp_block_strategies(rel, proposals, n, i);
	for (int i = 0; i < n; i++)
	{
		tp_choose(&proposals[i]);
		tp_put_proposal(rsinfo, &proposals[i], rel);
	}
}

/* Check that the caller may read the named columns, or at least one if none is named. */
static void
tp_check_named(Oid relid, const Datum *names, int count)
{
	for (int i = 0; i < count; i++)
		tp_check_privileges(relid, NameStr(*DatumGetName(names[i])));
	if (count == 0)
		tp_check_privileges(relid, NULL);
}

/* Add the rows of one table that the caller has named. */
static void
tp_advise_one(ReturnSetInfo *rsinfo, Oid relid, ArrayType *names, int sample_pages)
{
	Relation	rel;
	Bitmapset  *columns = NULL;
	Datum	   *datums = NULL;
	int			count = 0;

	if (names != NULL)
		datums = tp_get_names(names, &count);
	tp_check_named(relid, datums, count);
	rel = try_relation_open(relid, AccessShareLock);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	tp_check_kind(rel);
	/* the privileges may have changed while we waited for the lock */
	tp_check_named(relid, datums, count);
	for (int i = 0; i < count; i++)
		columns = bms_add_member(columns, tp_check_column(rel, NameStr(*DatumGetName(datums[i]))));
	if (names == NULL)
		columns = tp_find_large_columns(rel, tp_candidates(rel), sample_pages);
	tp_advise_table(rsinfo, rel, columns, sample_pages, false);
	relation_close(rel, NoLock);
}

/*
 * All tables
 */

/* Return true if the caller may read a column of the table. */
static bool
tp_may_read_some_column(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	int			natts = 0;

	if (HeapTupleIsValid(tuple))
	{
		natts = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
		ReleaseSysCache(tuple);
	}
	for (int attnum = 1; attnum <= natts; attnum++)
	{
		bool		missing = false;

		if (pg_attribute_aclcheck_ext(relid, attnum, GetUserId(), ACL_SELECT,
									  &missing) == ACLCHECK_OK)
			return true;
	}

	return false;
}

/*
 * Return true if the caller may read the table and its schema.  Nothing is
 * locked yet: another session may be dropping the table, its columns or its
 * schema, which is no error.
 */
static bool
tp_may_read_any(Oid relid)
{
	Oid			schema = get_rel_namespace(relid);
	bool		missing = false;

	return OidIsValid(schema) &&
		SearchSysCacheExists1(NAMESPACEOID, ObjectIdGetDatum(schema)) &&
		compat_has_privilege(NamespaceRelationId, schema, GetUserId(), ACL_USAGE) &&
		(pg_class_aclcheck_ext(relid, GetUserId(), ACL_SELECT, &missing) == ACLCHECK_OK ||
		 tp_may_read_some_column(relid));
}

/*
 * Return true if the caller may read the partitioned table that the partition
 * belongs to.  A partition has no ancestors while it is being detached.
 */
static bool
tp_may_read_root(Oid partition)
{
	List	   *ancestors = get_partition_ancestors(partition);

	return ancestors != NIL && tp_may_read_any(llast_oid(ancestors));
}

/*
 * Return the tables of the database that the caller may read, and that can have
 * large values, sorted by OID.  Leave out system catalogs, and partitions of a
 * table that the caller may read as a whole.
 */
static List *
tp_readable_tables(void)
{
	Relation	classes = table_open(RelationRelationId, AccessShareLock);
	Oid			own = tp_access_method_oid(false);
	List	   *result = NIL;
	SysScanDesc scan = systable_beginscan(classes, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class class = (Form_pg_class) GETSTRUCT(tuple);
		bool		partitioned = class->relkind == RELKIND_PARTITIONED_TABLE;

		if (class->oid < FirstNormalObjectId ||
			(class->relkind != RELKIND_RELATION && class->relkind != RELKIND_MATVIEW &&
			 !partitioned) ||
			(!partitioned && (!OidIsValid(class->reltoastrelid) ||
							  (class->relam != HEAP_TABLE_AM_OID && class->relam != own))) ||
			isOtherTempNamespace(class->relnamespace) ||
			!tp_may_read_any(class->oid) ||
			(class->relispartition && tp_may_read_root(class->oid)))
			continue;
		result = lappend_oid(result, class->oid);
	}
	systable_endscan(scan);
	table_close(classes, AccessShareLock);
	list_sort(result, list_oid_cmp);

	return result;
}

/* Lock a table and its partitions.  Return false if another session prevents that. */
static bool
tp_lock_now(Oid relid)
{
	ListCell   *cell;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return false;
	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		return true;
	foreach(cell, find_all_inheritors(relid, NoLock, NULL))
	{
		if (!ConditionalLockRelationOid(lfirst_oid(cell), AccessShareLock))
			return false;
	}

	return true;
}

/* Add the rows of one of all tables. */
static void
tp_advise_any(ReturnSetInfo *rsinfo, Oid relid, int sample_pages)
{
	Relation	rel;

	if (!tp_lock_now(relid))
	{
		tp_put_blocked(rsinfo, relid, "another session has locked the table");
		return;
	}
	rel = try_relation_open(relid, NoLock);
	if (rel == NULL || !tp_may_read_any(relid))
		return;
	if (check_enable_rls(relid, InvalidOid, true) == RLS_ENABLED)
		tp_put_blocked(rsinfo, relid, "row-level security hides rows of the table");
	else
	{
		tp_check_kind(rel);
		tp_advise_table(rsinfo, rel, tp_find_large_columns(rel, tp_candidates(rel), sample_pages),
						sample_pages, true);
	}
	relation_close(rel, NoLock);
}

/* Return true if an error must end the call, because it is not about the table. */
static bool
tp_concerns_call(const ErrorData *error)
{
	/* a cancel, statement_timeout or a shutdown */
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) ==
		ERRCODE_TO_CATEGORY(ERRCODE_QUERY_CANCELED);
}

/*
 * Add the rows of one of all tables.  An error becomes a row.  The current
 * memory context is reset after an error.
 */
static void
tp_advise_safely(ReturnSetInfo *rsinfo, Oid relid, int sample_pages)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		tp_advise_any(rsinfo, relid, sample_pages);
	}
	PG_CATCH();
	{
		/* first free locks and memory: the table may have used up either */
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextReset(context);
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	/* nothing was changed: give back the locks */
	if (error == NULL)
		RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;

	if (error == NULL)
		return;
	if (tp_concerns_call(error))
		ReThrowError(error);
	tp_put_blocked(rsinfo, relid, error->message);
}

/*
 * toast_policy.advise(relation regclass, columns name[], sample_pages int4)
 * returns setof record
 *
 * Return one row for each of the columns of a table, or, if they are NULL, for
 * each column that has large values: how it is stored now, and how it shall be
 * stored, with the average time to read a value, and the bytes of the table and
 * its TOAST table.  statement stores it so, and undo takes that back.  Both are
 * NULL if nothing is to be changed, or if it is a system catalog.
 *
 * If relation is NULL, do so for all tables that the caller may read.  A table
 * that cannot be examined has a row that says why in blockers.
 *
 * Errors, if a relation is named: 42809 if it is not a table or materialized
 * view; 42703 if a column does not exist, 0A000 if it cannot be toasted; 42501
 * if the caller may not read all the values.  22023 for a sample_pages out of
 * range, and for columns without a relation.
 */
Datum
tp_advise(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ArrayType  *names = PG_ARGISNULL(1) ? NULL : PG_GETARG_ARRAYTYPE_P(1);
	MemoryContext context;
	MemoryContext caller;
	ListCell   *cell;

	if (PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("sample_pages must not be null")));
	tp_check_sample("sample_pages", PG_GETARG_INT32(2));
	if (PG_ARGISNULL(0) && names != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("columns need a relation"),
				 errhint("Name the table of the columns in the argument relation.")));

	InitMaterializedSRF(fcinfo, 0);
	if (!PG_ARGISNULL(0))
	{
		tp_advise_one(rsinfo, PG_GETARG_OID(0), names, PG_GETARG_INT32(2));
		PG_RETURN_NULL();
	}

	context = AllocSetContextCreate(CurrentMemoryContext, "toast_policy advice",
									ALLOCSET_DEFAULT_SIZES);
	foreach(cell, tp_readable_tables())
	{
		CHECK_FOR_INTERRUPTS();
		caller = MemoryContextSwitchTo(context);
		tp_advise_safely(rsinfo, lfirst_oid(cell), PG_GETARG_INT32(2));
		MemoryContextSwitchTo(caller);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);

	PG_RETURN_NULL();
}
