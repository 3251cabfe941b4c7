/*-------------------------------------------------------------------------
 *
 * vertical_partition_track.c
 *	  Count which columns of a table are updated and read together.
 *
 * While vertical_partition.track_updates is on, the executor counts the rows
 * that each node returns, for all statements or for a sample of them.  At the
 * end of a statement, its updates and scans are added up by table and set of
 * columns.  Count sets of columns, because the benefit of a split depends on
 * which columns are updated together.  Counts of single columns would not
 * show this.
 *
 * A write through a split view is counted once, for the view.
 * counted_shapes() reports such a write for each part that it changes.
 *
 * The counts are in a table in shared memory with a fixed number of entries.
 * The hash of an entry's key chooses one of VP_BUCKETS buckets for the entry.
 * If the bucket is full, replace its least recently used entry.
 *
 * From 17 on, the shared table needs no preloading.  Before 17, the shared
 * table exists only if the library is in shared_preload_libraries; otherwise
 * each session counts for itself.  A restart of the server loses the counts.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_track.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "vertical_partition.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_track.h"

PG_FUNCTION_INFO_V1(vp_counted_shapes);
PG_FUNCTION_INFO_V1(vp_reset_column_updates);

/* Name of the shared memory and of its lock, as shown in wait events */
#define VP_COUNTS_NAME	"vertical_partition counts"

/* Size of the shared table: 2048 entries, about half a megabyte */
#define VP_BUCKETS		64
#define VP_WAYS			32

typedef struct VpCounts
{
	LWLock		lock;
	uint64		clock;			/* number of counting operations so far */
	VpShape		shapes[VP_BUCKETS][VP_WAYS];
} VpCounts;

/* Number of rows passed to a ModifyTable node, by result relation */
typedef struct VpCounter
{
	ModifyTableState *mtstate;
	PlanState  *subplan;
	ExecProcNodeMtd proc;		/* the subplan's own function */
	Oid			last_oid;
	int			last_index;
	double	   *rows;
	struct VpCounter *next;
} VpCounter;

/* A statement that is counted, allocated in the context of its executor */
typedef struct VpTracked
{
	EState	   *estate;
	double		weight;			/* rows that a counted row stands for */
	List	   *counters;
	List	   *views;			/* counters of nodes that write to split views */
	struct VpTracked *next;
	MemoryContextCallback callback;
} VpTracked;

static bool vp_track_updates = false;
static double vp_track_sample_rate = 1.0;

static VpCounts *vp_counts = NULL;
static bool vp_counts_shared = false;
static VpTracked *vp_tracked = NULL;	/* innermost statement first */

static ExecutorStart_hook_type vp_next_ExecutorStart = NULL;
static ExecutorEnd_hook_type vp_next_ExecutorEnd = NULL;
static shmem_request_hook_type vp_next_shmem_request = NULL;
static shmem_startup_hook_type vp_next_shmem_startup = NULL;

/* Initialize the table of counts, at server start or when it is first needed. */
static void
vp_counts_init(void *pointer)
{
	VpCounts   *counts = pointer;

	memset(counts, 0, sizeof(VpCounts));
	LWLockInitialize(&counts->lock, compat_new_tranche(VP_COUNTS_NAME));
}

/* Find the table of counts, or create one for this session alone. */
static void
vp_counts_attach(void)
{
	char		name[NAMEDATALEN];

	if (vp_counts)
		return;

	/*
	 * put the size into the name, because another version of the library may
	 * have left its own table
	 */
	snprintf(name, sizeof(name), VP_COUNTS_NAME " 1/%zu", sizeof(VpCounts));
	vp_counts = compat_shared_segment(name, sizeof(VpCounts), vp_counts_init);
	vp_counts_shared = (vp_counts != NULL);
	if (vp_counts_shared)
		compat_name_tranche(vp_counts->lock.tranche, VP_COUNTS_NAME);
	else
		vp_counts = MemoryContextAllocZero(TopMemoryContext, sizeof(VpCounts));
}

static void
vp_counts_lock(LWLockMode mode)
{
	if (vp_counts_shared)
		LWLockAcquire(&vp_counts->lock, mode);
}

static void
vp_counts_unlock(void)
{
	if (vp_counts_shared)
		LWLockRelease(&vp_counts->lock);
}

/*
 * Add "rows" to the number of rows in which statements updated, or read,
 * exactly these columns.
 */
static void
vp_count(Oid relid, bool is_read, const VpColumnSet *columns, double rows)
{
	VpShapeKey	key;
	VpShape    *place;

	if (rows <= 0)
		return;

	memset(&key, 0, sizeof(key));
	key.dbid = MyDatabaseId;
	key.relid = relid;
	key.is_read = is_read;
	key.columns = *columns;
	key.hash = hash_bytes((unsigned char *) &key, sizeof(key));

	vp_counts_lock(LW_EXCLUSIVE);
	place = vp_counts->shapes[key.hash % VP_BUCKETS];
	for (int i = 0; i < VP_WAYS; i++)
	{
		VpShape    *shape = &vp_counts->shapes[key.hash % VP_BUCKETS][i];

		if (shape->key.hash == key.hash && memcmp(&shape->key, &key, sizeof(key)) == 0)
		{
			place = shape;
			break;
		}
		if (shape->last_used < place->last_used)
			place = shape;
	}
	if (memcmp(&place->key, &key, sizeof(key)) != 0)
	{
		place->key = key;
		place->rows = 0;
	}
	place->rows += rows;
	place->last_used = ++vp_counts->clock;
	vp_counts_unlock();
}

/*
 * Add the columns of a bitmap from permission info, whose members are offset
 * by FirstLowInvalidHeapAttributeNumber.  A reference to the whole row stands
 * for all natts columns.
 */
static void
vp_set_add_bitmap(VpColumnSet *set, Bitmapset *bitmap, int natts)
{
	int			member = -1;

	while ((member = bms_next_member(bitmap, member)) >= 0)
	{
		AttrNumber	attnum = member + FirstLowInvalidHeapAttributeNumber;

		if (attnum > 0)
			vp_set_add(set, attnum);
		else if (attnum == 0)
		{
			for (int i = 1; i <= natts; i++)
				vp_set_add(set, i);
		}
	}
}

/* Return true if columns of this relation are counted. */
static bool
vp_is_counted(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_RELATION &&
		rel->rd_rel->relpersistence != RELPERSISTENCE_TEMP &&
		RelationGetRelid(rel) >= FirstNormalObjectId;
}

static bool
vp_is_split_view(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_VIEW && vp_layout(RelationGetRelid(rel)) != NULL;
}

/*
 * Replacement of the ExecProcNode function of a ModifyTable's subplan: return the next
 * row, and count it for its result relation.
 */
static TupleTableSlot *
vp_count_row(PlanState *planstate)
{
	VpCounter  *counter = NULL;
	ModifyTableState *mtstate;
	TupleTableSlot *slot;

	for (VpTracked *tracked = vp_tracked; tracked && counter == NULL; tracked = tracked->next)
	{
		ListCell   *lc;

		foreach(lc, tracked->counters)
		{
			if (((VpCounter *) lfirst(lc))->subplan == planstate)
				counter = (VpCounter *) lfirst(lc);
		}
	}
	if (counter == NULL)
		elog(ERROR, "plan node is not known to be counted");

	slot = counter->proc(planstate);
	if (TupIsNull(slot))
		return slot;

	mtstate = counter->mtstate;
	if (mtstate->mt_resultOidAttno > 0)
	{
		bool		isnull;
		Oid			oid = DatumGetObjectId(ExecGetJunkAttribute(slot, mtstate->mt_resultOidAttno, &isnull));

		if (isnull)
			return slot;		/* a row of MERGE without a match */
		if (oid != counter->last_oid)
		{
			ResultRelInfo *relinfo = ExecLookupResultRelByOid(mtstate, oid, true, false);

			if (relinfo == NULL)
				return slot;
			counter->last_oid = oid;
			counter->last_index = relinfo - mtstate->resultRelInfo;
		}
	}
	counter->rows[counter->last_index]++;
	return slot;
}

/* Memory context callback: forget a statement whose memory is freed. */
static void
vp_untrack(void *arg)
{
	for (VpTracked **link = &vp_tracked; *link; link = &(*link)->next)
	{
		if (*link == arg)
		{
			*link = (*link)->next;
			break;
		}
	}
}

/* Prepare a ModifyTable node for counting. */
static void
vp_track_modify(VpTracked *tracked, ModifyTableState *mtstate)
{
	VpCounter  *counter;

	if (outerPlanState(mtstate) == NULL)
		return;
	counter = palloc0(sizeof(VpCounter));
	counter->mtstate = mtstate;
	counter->rows = palloc0(Max(mtstate->mt_nrels, 1) * sizeof(double));
	tracked->counters = lappend(tracked->counters, counter);
	if (vp_is_split_view(mtstate->resultRelInfo->ri_RelationDesc))
		tracked->views = lappend(tracked->views, counter);

	counter->subplan = outerPlanState(mtstate);
	counter->proc = counter->subplan->ExecProcNodeReal;
	counter->subplan->ExecProcNodeReal = vp_count_row;
}

/* ExecutorStart hook */
static void
vp_track_ExecutorStart(QueryDesc *queryDesc, int eflags)
{
	double		rate = vp_track_sample_rate;
	bool		track;

	/* the leader gets the counts of its parallel workers */
	track = vp_track_updates && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0 &&
		!IsParallelWorker() &&
		(rate >= 1.0 || pg_prng_double(&pg_global_prng_state) < rate);
	if (track)
	{
		vp_counts_attach();
		queryDesc->instrument_options |= INSTRUMENT_ROWS;
	}

	if (vp_next_ExecutorStart)
		vp_next_ExecutorStart(queryDesc, eflags);
	else
		standard_ExecutorStart(queryDesc, eflags);

	if (track && queryDesc->planstate)
	{
		EState	   *estate = queryDesc->estate;
		MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
		VpTracked  *tracked = palloc0(sizeof(VpTracked));
		ListCell   *lc;

		tracked->estate = estate;
		tracked->weight = 1.0 / Min(rate, 1.0);
		tracked->next = vp_tracked;
		tracked->callback.func = vp_untrack;
		tracked->callback.arg = tracked;
		MemoryContextRegisterResetCallback(estate->es_query_cxt, &tracked->callback);
		vp_tracked = tracked;

		if (IsA(queryDesc->planstate, ModifyTableState))
			vp_track_modify(tracked, (ModifyTableState *) queryDesc->planstate);
		foreach(lc, estate->es_auxmodifytables)
		{
			if (lfirst(lc) != (void *) queryDesc->planstate)
				vp_track_modify(tracked, (ModifyTableState *) lfirst(lc));
		}
		MemoryContextSwitchTo(old);
	}
}

/* Count the rows that a ModifyTable node has processed. */
static void
vp_count_modify(VpTracked *tracked, VpCounter *counter)
{
	ModifyTableState *mtstate = counter->mtstate;
	ModifyTable *plan = (ModifyTable *) mtstate->ps.plan;
	double		factor = tracked->weight;
	double		sum = 0;

	for (int i = 0; i < mtstate->mt_nrels; i++)
		sum += counter->rows[i];

	if (plan->operation == CMD_INSERT)
	{
		if (plan->onConflictAction != ONCONFLICT_UPDATE || mtstate->ps.instrument == NULL)
			return;
		counter->rows[0] = mtstate->ps.instrument->ntuples2;
	}
	else if (plan->operation == CMD_MERGE && sum > 0)
		factor *= mtstate->mt_merge_updated / sum;

	for (int i = 0; i < mtstate->mt_nrels; i++)
	{
		ResultRelInfo *relinfo = &mtstate->resultRelInfo[i];
		Relation	rel = relinfo->ri_RelationDesc;
		bool		is_view = list_member_ptr(tracked->views, counter);
		VpColumnSet columns;

		if (!is_view && !vp_is_counted(rel))
			continue;
		if (plan->operation != CMD_DELETE)
		{
			memset(&columns, 0, sizeof(columns));
			vp_set_add_bitmap(&columns, ExecGetAllUpdatedCols(relinfo, tracked->estate),
							  RelationGetNumberOfAttributes(rel));
			vp_count(RelationGetRelid(rel), false, &columns, counter->rows[i] * factor);
		}

		/*
		 * count the reads of the view here, because the scans of its parts
		 * would report all columns as read
		 */
		if (is_view && plan->operation != CMD_INSERT)
		{
			Bitmapset  *selected;
			bool		direct;

			memset(&columns, 0, sizeof(columns));
			if (compat_selected_columns(exec_rt_fetch(relinfo->ri_RangeTableIndex, tracked->estate),
										tracked->estate, &selected, &direct))
				vp_set_add_bitmap(&columns, selected, RelationGetNumberOfAttributes(rel));
			vp_count(RelationGetRelid(rel), true, &columns, counter->rows[i] * tracked->weight);
		}
	}
}

/* Return true if the table is a part of a view that the statement writes to. */
static bool
vp_is_written_part(VpTracked *tracked, Oid relid)
{
	ListCell   *lc;

	foreach(lc, tracked->views)
	{
		VpCounter  *counter = (VpCounter *) lfirst(lc);
		const VpLayout *layout = vp_layout(RelationGetRelid(counter->mtstate->resultRelInfo->ri_RelationDesc));

		if (layout && (layout->hot == relid || layout->cold == relid))
			return true;
	}
	return false;
}

/*
 * Count the rows that a scan of a table has returned, and the rows that it
 * has filtered out.
 */
static void
vp_count_scan(VpTracked *tracked, ScanState *scanstate)
{
	Scan	   *scan = (Scan *) scanstate->ps.plan;
	Relation	rel = scanstate->ss_currentRelation;
	CompatInstrumentation *instrument = scanstate->ps.instrument;
	RangeTblEntry *rte;
	Bitmapset  *selected,
			   *used = NULL;
	bool		direct;
	VpColumnSet columns;
	int			natts;

	if (rel == NULL || instrument == NULL || !vp_is_counted(rel) ||
		vp_is_written_part(tracked, RelationGetRelid(rel)))
		return;
	rte = exec_rt_fetch(scan->scanrelid, tracked->estate);
	natts = RelationGetNumberOfAttributes(rel);

	pull_varattnos((Node *) scan->plan.qual, scan->scanrelid, &used);
	if (instrument->nfiltered1 > 0)
	{
		memset(&columns, 0, sizeof(columns));
		vp_set_add_bitmap(&columns, used, natts);
		vp_count(RelationGetRelid(rel), true, &columns, instrument->nfiltered1 * tracked->weight);
	}

	/*
	 * The permission info lists the columns that need a permission.  For a
	 * table that the statement names, these are the columns that the
	 * statement uses.  For a table that a view reads, they are all columns
	 * that the view uses; so count only those that the scan uses as well. The
	 * columns that the scan uses are not enough: a scan may return more
	 * columns than the statement uses, if that is cheaper.
	 */
	if (!compat_selected_columns(rte, tracked->estate, &selected, &direct) || !direct)
	{
		pull_varattnos((Node *) scan->plan.targetlist, scan->scanrelid, &used);
		switch (nodeTag(scan))
		{
			case T_IndexScan:
				pull_varattnos((Node *) ((IndexScan *) scan)->indexqualorig, scan->scanrelid, &used);
				pull_varattnos((Node *) ((IndexScan *) scan)->indexorderbyorig, scan->scanrelid, &used);
				break;
			case T_BitmapHeapScan:
				pull_varattnos((Node *) ((BitmapHeapScan *) scan)->bitmapqualorig, scan->scanrelid, &used);
				break;
			default:
				break;
		}
		selected = selected ? bms_intersect(selected, used) : used;
	}
	memset(&columns, 0, sizeof(columns));
	vp_set_add_bitmap(&columns, selected, natts);
	vp_count(RelationGetRelid(rel), true, &columns, instrument->ntuples * tracked->weight);
}

/* Count the rows of all scans in a plan. */
static bool
vp_count_scans(PlanState *planstate, void *context)
{
	check_stack_depth();

	if (planstate->instrument)
		InstrEndLoop(planstate->instrument);
	switch (nodeTag(planstate))
	{
		case T_SeqScanState:
		case T_SampleScanState:
		case T_IndexScanState:
		case T_BitmapHeapScanState:
		case T_TidScanState:
		case T_TidRangeScanState:
			vp_count_scan((VpTracked *) context, (ScanState *) planstate);
			break;
		default:
			break;
	}
	return planstate_tree_walker(planstate, vp_count_scans, context);
}

/* ExecutorEnd hook */
static void
vp_track_ExecutorEnd(QueryDesc *queryDesc)
{
	VpTracked  *tracked = vp_tracked;

	while (tracked && tracked->estate != queryDesc->estate)
		tracked = tracked->next;
	if (tracked)
	{
		MemoryContext old = MemoryContextSwitchTo(tracked->estate->es_query_cxt);
		ListCell   *lc;

		vp_count_scans(queryDesc->planstate, tracked);
		foreach(lc, tracked->counters)
			vp_count_modify(tracked, (VpCounter *) lfirst(lc));
		MemoryContextSwitchTo(old);
	}

	if (vp_next_ExecutorEnd)
		vp_next_ExecutorEnd(queryDesc);
	else
		standard_ExecutorEnd(queryDesc);
}

/*
 * Return copies of the counts of a relation, or of all relations in the
 * database if relid is InvalidOid.
 */
List *
vp_track_shapes(Oid relid)
{
	VpShape    *copy;
	List	   *shapes = NIL;
	int			n = 0;

	vp_counts_attach();
	copy = palloc(VP_BUCKETS * VP_WAYS * sizeof(VpShape));
	vp_counts_lock(LW_SHARED);
	for (int i = 0; i < VP_BUCKETS * VP_WAYS; i++)
	{
		VpShape    *shape = &vp_counts->shapes[i / VP_WAYS][i % VP_WAYS];

		if (shape->key.dbid == MyDatabaseId && (!OidIsValid(relid) || shape->key.relid == relid))
			copy[n++] = *shape;
	}
	vp_counts_unlock();

	for (int i = 0; i < n; i++)
		shapes = lappend(shapes, &copy[i]);
	return shapes;
}

/*
 * Return true if the user may see the counts of a relation.  The user needs
 * the SELECT privilege on it or on any of its columns, or the privileges of
 * pg_read_all_stats.
 */
bool
vp_track_may_see(Oid relid)
{
	char		relkind = get_rel_relkind(relid);

	if (relkind != RELKIND_RELATION && relkind != RELKIND_VIEW)
		return false;			/* dropped */
	return pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
		pg_attribute_aclcheck_all(relid, GetUserId(), ACL_SELECT, ACLMASK_ANY) == ACLCHECK_OK ||
		has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}

/* Add a row to the result of counted_shapes(). */
static void
vp_put_shape(ReturnSetInfo *rsinfo, Oid relid, const VpShape *shape, const VpColumnSet *columns)
{
	Datum		values[4];
	bool		nulls[4] = {0};
	Datum	   *attnums;
	int			n = 0;

	attnums = palloc(MaxHeapAttributeNumber * sizeof(Datum));
	for (int i = 1; i <= MaxHeapAttributeNumber; i++)
	{
		if (vp_set_has(columns, i))
			attnums[n++] = Int16GetDatum(i);
	}
	values[0] = ObjectIdGetDatum(relid);
	values[1] = BoolGetDatum(shape->key.is_read);
	values[2] = PointerGetDatum(construct_array(attnums, n, INT2OID, sizeof(int16), true, TYPALIGN_SHORT));
	values[3] = Float8GetDatum(shape->rows);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	pfree(attnums);
}

/*
 * vertical_partition_internal.counted_shapes(OUT relid oid, OUT is_read boolean,
 *											  OUT columns int2[],
 *											  OUT rows float8)
 *		returns setof record
 *
 * For each table and set of columns, return the number of rows in which
 * statements updated, or read, exactly these columns.  Writes through a split
 * view are reported for its parts.  Relations that the user may not see are
 * omitted, see vp_track_may_see().
 */
Datum
vp_counted_shapes(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell   *lc;

	InitMaterializedSRF(fcinfo, 0);
	foreach(lc, vp_track_shapes(InvalidOid))
	{
		VpShape    *shape = (VpShape *) lfirst(lc);
		Relation	rel;
		const VpLayout *layout;

		CHECK_FOR_INTERRUPTS();
		if (!vp_track_may_see(shape->key.relid))
			continue;
		if (get_rel_relkind(shape->key.relid) == RELKIND_RELATION)
		{
			vp_put_shape(rsinfo, shape->key.relid, shape, &shape->key.columns);
			continue;
		}

		rel = try_relation_open(shape->key.relid, AccessShareLock);
		if (rel == NULL)
			continue;
		layout = vp_layout(RelationGetRelid(rel));
		if (layout)
		{
			VpColumnSet columns[2];
			bool		any[2] = {false, false};
			Oid			parts[2];

			memset(columns, 0, sizeof(columns));
			parts[0] = layout->hot;
			parts[1] = layout->cold;
			for (int i = 0; i < layout->natts; i++)
			{
				if (vp_set_has(&shape->key.columns, i + 1))
				{
					vp_set_add(&columns[layout->columns[i].cold], layout->columns[i].attnum);
					any[layout->columns[i].cold] = true;
				}
			}
			for (int part = 0; part < 2; part++)
			{
				if (any[part] && vp_track_may_see(parts[part]))
					vp_put_shape(rsinfo, parts[part], shape, &columns[part]);
			}
		}
		relation_close(rel, AccessShareLock);
	}
	PG_RETURN_NULL();
}

/*
 * vertical_partition.reset_column_updates() returns void
 *
 * Remove all counts of the current database.
 */
Datum
vp_reset_column_updates(PG_FUNCTION_ARGS)
{
	vp_counts_attach();
	vp_counts_lock(LW_EXCLUSIVE);
	for (int i = 0; i < VP_BUCKETS * VP_WAYS; i++)
	{
		VpShape    *shape = &vp_counts->shapes[i / VP_WAYS][i % VP_WAYS];

		if (shape->key.dbid == MyDatabaseId)
			memset(shape, 0, sizeof(VpShape));
	}
	vp_counts_unlock();
	PG_RETURN_VOID();
}

static void
vp_track_shmem_request(void)
{
	if (vp_next_shmem_request)
		vp_next_shmem_request();
	RequestAddinShmemSpace(MAXALIGN(sizeof(VpCounts)));
}

static void
vp_track_shmem_startup(void)
{
	bool		found;

	if (vp_next_shmem_startup)
		vp_next_shmem_startup();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	vp_counts = ShmemInitStruct(VP_COUNTS_NAME, sizeof(VpCounts), &found);
	if (!found)
		vp_counts_init(vp_counts);
	vp_counts_shared = true;
	LWLockRelease(AddinShmemInitLock);
	compat_name_tranche(vp_counts->lock.tranche, VP_COUNTS_NAME);
}

/* Define the settings and install the hooks when the library is loaded. */
void
vp_track_init(void)
{
	DefineCustomBoolVariable("vertical_partition.track_updates",
							 "Counts which columns of tables are updated and read.",
							 "vertical_partition.advise() needs that.",
							 &vp_track_updates,
							 false,
							 PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomRealVariable("vertical_partition.track_sample_rate",
							 "Fraction of statements that are counted.",
							 "Each of them stands for so many more.",
							 &vp_track_sample_rate,
							 1.0, 0.0, 1.0,
							 PGC_SUSET, 0, NULL, NULL, NULL);

	vp_next_ExecutorStart = ExecutorStart_hook;
	ExecutorStart_hook = vp_track_ExecutorStart;
	vp_next_ExecutorEnd = ExecutorEnd_hook;
	ExecutorEnd_hook = vp_track_ExecutorEnd;

	if (process_shared_preload_libraries_in_progress)
	{
		vp_next_shmem_request = shmem_request_hook;
		shmem_request_hook = vp_track_shmem_request;
		vp_next_shmem_startup = shmem_startup_hook;
		shmem_startup_hook = vp_track_shmem_startup;
	}
}
