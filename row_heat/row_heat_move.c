/*-------------------------------------------------------------------------
 *
 * row_heat_move.c
 *	  Move the hot rows of a table together while it is in use: row_heat.pack().
 *
 * A row is moved by an update that changes no column and puts the new version
 * into a page of hot rows.  So a session that changes the row at the same
 * moment sees an update.  The server's own functions lock the row and write the
 * new version, so there is nothing special for crash recovery, standbys and
 * vacuum.  Triggers do not fire, because no statement is run.
 *
 * The server keeps the new version in the page of the old one as long as it
 * fits there, and otherwise puts it into the relation's target block.  So make
 * the hot page the target block.  If the old page has a little room, update the
 * row there until it has none.  These versions are removed when the page is
 * pruned next.  Leave a row where it is if its page has much room.
 *
 * Rows are moved in small transactions, so that nobody waits for a row for
 * long.  A row that another transaction has changed or locked for an update
 * stays where it is, so this process does not wait for the row.  The transactions
 * are serializable.  Otherwise a serializable transaction that read the row
 * before the move would miss a conflict with one that changes the row after it.
 *
 * A page is packed if at least half of its rows are hot.  The rows of packed
 * pages stay.  So a second call moves only what has become hot since the first,
 * and begins with a packed page that has room.  If it does not pay for the whole
 * table, look only at pages whose heat is not spread over half of their rows, see
 * rh_estimate_loose().
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  row_heat/row_heat_move.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/heapam.h"
#include "access/hio.h"
#include "access/heaptoast.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_publication.h"
#include "catalog/pg_trigger.h"
#include "commands/defrem.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "row_heat.h"
#include "row_heat_compat.h"
#include "row_heat_estimate.h"

PG_FUNCTION_INFO_V1(rh_pack);

#define RH_PROCEDURE		"row_heat.pack()"

/* Rows of a transaction, and its updates of one row to fill the old page */
#define RH_BATCH			100
#define RH_FILLING_UPDATES	32

/* A page that has hot rows */
typedef struct RhPage
{
	BlockNumber block;			/* the key, must be first */
	uint32		hot;			/* hot rows, when the call began */
	bool		known;			/* whether the page is packed is known */
	bool		packed;
} RhPage;

/* A row that was moved, and its new place */
typedef struct RhMoved
{
	uint64		hash;
	ItemPointerData tid;
} RhMoved;

/* The state of a call */
typedef struct RhPack
{
	Oid			relid;
	RelFileNumber file;			/* the TIDs belong to this file */
	RhRow	   *rows;			/* the rows to move, the hottest first */
	uint32		n;
	HTAB	   *pages;			/* of RhPage, by block */
	BlockNumber target;			/* page to which rows are moved */
	uint32		moved;
	uint32		packed;			/* rows that stay, since their page is packed */
	int64		max_moved;
	RhMoved		batch[RH_BATCH];	/* rows of the present transaction */
	int			in_batch;
	int			number;			/* of the relation in the table of heat */
	bool		published;		/* allow tables that a publication has */
	bool		cached_only;	/* leave out rows that are not in memory */
	RhKey		key;
} RhPack;

static int
rh_compare_heat(const void *a, const void *b)
{
	uint32		left = rh_total(((const RhRow *) a)->heat);
	uint32		right = rh_total(((const RhRow *) b)->heat);

	return left < right ? 1 : (left > right ? -1 : 0);
}

/*
 * Let a packed page be the target if it is the last one.  Pages of hot rows are
 * added at the end, so it may have room.
 */
static void
rh_propose_target(RhPack *pack, BlockNumber block)
{
	if (block != InvalidBlockNumber &&
		(pack->target == InvalidBlockNumber || pack->target < block))
		pack->target = block;
}

/*
 * Return true if the page of that row is packed.  If it is not full, it is
 * packed with fewer hot rows than rh_find_rows() asks for.
 */
static bool
rh_is_packed(Relation rel, RhPack *pack, const RhRow *row)
{
	BlockNumber block = ItemPointerGetBlockNumber(&row->tid);
	RhPage	   *entry = hash_search(pack->pages, &block, HASH_FIND, NULL);
	Buffer		buffer;

	if (entry == NULL)
		elog(ERROR, "page %u is not known to have hot rows", block);
	if (entry->known)
		return entry->packed;

	buffer = ReadBuffer(rel, block);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	entry->known = true;
	entry->packed = entry->hot * 2 >= PageGetMaxOffsetNumber(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	if (entry->packed)
		rh_propose_target(pack, block);

	return entry->packed;
}

/*
 * Find the hot rows that are in pages with mostly cold rows.  Return false, and
 * report why, if moving them would save too little.
 */
static bool
rh_find_rows(Relation rel, RhPack *pack)
{
	RhEstimate	estimate;
	RhRow	   *rows;
	uint32		n;
	uint32		kept = 0;
	double		rows_in_page;
	double		hot_rows;
	HASHCTL		ctl;

	rh_estimate(rel, &estimate);
	if (estimate.hot_rows <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no heat is recorded for table \"%s\"", RelationGetRelationName(rel)),
				 errhint("Load row_heat by session_preload_libraries, and run the application for a while.")));

	/* if it does not pay for the whole table, look at part of its pages */
	hot_rows = estimate.gain ? estimate.hot_rows : rh_estimate_loose(rel, &estimate);
	if (hot_rows <= 0)
	{
		ereport(NOTICE,
				(errmsg("no row of table \"%s\" is moved, because its hot rows would hardly take fewer pages",
						RelationGetRelationName(rel)),
				 errdetail("%g %% of the accesses go to %.0f pages now, and to %.0f pages afterwards, as far as the %.0f recorded accesses show.",
						   estimate.hot_share * 100, estimate.hot_pages, estimate.packed_pages, estimate.accesses)));
		return false;
	}

	rows = rh_rows_of(RelationGetRelid(rel), &n);
	if (!estimate.gain)
		rh_propose_target(pack, rh_drop_packed(rows, &n, &estimate));
	qsort(rows, n, sizeof(RhRow), rh_compare_heat);
	n = (uint32) Min((double) n, ceil(hot_rows));

	/*
	 * Drop rows at an unknown place and the rows of pages that are packed,
	 * and remember how many hot rows the other pages have.  Two rows may have
	 * been seen at the same place, one after the other: keep one of them.
	 */
	rows_in_page = estimate.rows / estimate.pages;
	ctl.keysize = sizeof(BlockNumber);
	ctl.entrysize = sizeof(RhPage);
	ctl.hcxt = CurrentMemoryContext;
	pack->pages = hash_create("row_heat pages", 1024, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	qsort(rows, n, sizeof(RhRow), rh_compare_tid);
	for (uint32 begin = 0, end; begin < n; begin = end)
	{
		BlockNumber block = ItemPointerGetBlockNumberNoCheck(&rows[begin].tid);
		RhPage	   *page;

		end = rh_end_of_page(rows, n, begin);
		if (!ItemPointerIsValid(&rows[begin].tid))
			continue;
		if (end - begin >= rows_in_page / 2)
		{
			rh_propose_target(pack, block);
			continue;
		}
		page = hash_search(pack->pages, &block, HASH_ENTER, NULL);
		page->hot = 0;
		page->known = false;
		for (uint32 i = begin; i < end; i++)
		{
			if (i > begin && rh_compare_tid(&rows[i], &rows[i - 1]) == 0)
				continue;
			rows[kept++] = rows[i];
			page->hot++;
		}
	}
	/* go on in the page that the last call has begun */
	if (kept > 0 && ItemPointerGetBlockNumber(&rows[kept - 1].tid) < RelationGetNumberOfBlocks(rel))
		(void) rh_is_packed(rel, pack, &rows[kept - 1]);
	qsort(rows, kept, sizeof(RhRow), rh_compare_heat);
	pack->rows = rows;
	pack->n = kept;

	return true;
}

/* Return the room that the page has for another tuple, in bytes. */
static Size
rh_room(Relation rel, BlockNumber block)
{
	Buffer		buffer = ReadBuffer(rel, block);
	Size		room;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	room = PageGetHeapFreeSpace(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);

	return room;
}

/* Return true if the page is in shared buffers at the moment. */
static bool
rh_is_cached(Relation rel, BlockNumber block)
{
	BufferTag	tag;
	uint32		hash;
	int			buffer;

	compat_init_buffer_tag(&tag, rel, block);
	hash = BufTableHashCode(&tag);
	LWLockAcquire(BufMappingPartitionLock(hash), LW_SHARED);
	buffer = BufTableLookup(&tag, hash);
	LWLockRelease(BufMappingPartitionLock(hash));

	return buffer >= 0;
}

/*
 * Make the target a page that has room for a tuple of that size, in addition to
 * the room that fillfactor keeps free.
 */
static void
rh_choose_target(Relation rel, RhPack *pack, Size size)
{
	Size		needed = MAXALIGN(size) + RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR);

	/* an empty page has to do */
	needed = Min(needed, MaxHeapTupleSize);
	/* vacuum may have truncated the relation */
	if (pack->target != InvalidBlockNumber && pack->target >= RelationGetNumberOfBlocks(rel))
		pack->target = InvalidBlockNumber;
	if (pack->target == InvalidBlockNumber || rh_room(rel, pack->target) < needed)
	{
		Buffer		vmbuffer = InvalidBuffer;
		Buffer		buffer;

		/* ask for a whole page, so that only an empty page will do */
		RelationSetTargetBlock(rel, InvalidBlockNumber);
		buffer = compat_buffer_for_tuple(rel, MaxHeapTupleSize, HEAP_INSERT_SKIP_FSM, &vmbuffer);
		pack->target = BufferGetBlockNumber(buffer);
		UnlockReleaseBuffer(buffer);
		if (BufferIsValid(vmbuffer))
			ReleaseBuffer(vmbuffer);
	}
	RelationSetTargetBlock(rel, pack->target);
}

/*
 * Store the version at the TID in the slot if it belongs to the row and the
 * snapshot sees it.  Otherwise return false.
 *
 * Look at the key first, without a snapshot.  A serializable transaction must
 * not conflict because of rows that are not moved.
 */
static bool
rh_fetch_version(Relation rel, const RhPack *pack, const RhRow *row, ItemPointer tid,
				 TupleTableSlot *slot)
{
	return table_tuple_fetch_row_version(rel, tid, SnapshotAny, slot) &&
		rh_is_row(row, rh_key_hash(&pack->key, slot)) &&
		table_tuple_fetch_row_version(rel, tid, GetActiveSnapshot(), slot);
}

/*
 * Find the version of the row that the snapshot sees, and store it in the slot.
 * It may have another TID than recorded, if the row was updated in its page.
 * Return false if there is none.
 */
static bool
rh_find_version(Relation rel, const RhPack *pack, const RhRow *row, TupleTableSlot *slot)
{
	ItemPointerData tid = row->tid;

	if (rh_fetch_version(rel, pack, row, &tid, slot))
		return true;
	for (OffsetNumber offset = FirstOffsetNumber; offset <= MaxHeapTuplesPerPage; offset++)
	{
		ItemPointerSetOffsetNumber(&tid, offset);
		if (rh_fetch_version(rel, pack, row, &tid, slot))
			return true;
	}

	return false;
}

/*
 * Move a row to the target page.  Return false if the row is gone, is in use, is
 * in a page with much room, or is not in memory although it has to be.
 */
static bool
rh_move_row(Relation rel, RhPack *pack, const RhRow *row, TupleTableSlot *fetched,
			TupleTableSlot *slot, ResultRelInfo *relinfo, EState *estate)
{
	int			filling = RH_FILLING_UPDATES;
	uint64		hash;
	ItemPointerData tid;
	BlockNumber from;
	HeapTuple	tuple;
	TM_FailureData failure;
	LockTupleMode lockmode;

	/* vacuum may have truncated the relation */
	if (ItemPointerGetBlockNumber(&row->tid) >= RelationGetNumberOfBlocks(rel))
		return false;
	if (pack->cached_only && !rh_is_cached(rel, ItemPointerGetBlockNumber(&row->tid)))
		return false;
	if (rh_is_packed(rel, pack, row))
	{
		pack->packed++;
		return false;
	}
	if (!rh_find_version(rel, pack, row, fetched))
		return false;
	hash = rh_key_hash(&pack->key, fetched);
	tid = fetched->tts_tid;
	from = ItemPointerGetBlockNumber(&tid);
	tuple = ExecCopySlotHeapTuple(fetched);

	/* each update in the old page would compress or move out the same values */
	if (tuple->t_len > TOAST_TUPLE_THRESHOLD)
		filling = 0;
	if (rh_room(rel, from) / (MAXALIGN(tuple->t_len) + sizeof(ItemIdData)) > (Size) filling ||
		table_tuple_lock(rel, &tid, GetActiveSnapshot(), fetched, GetCurrentCommandId(true),
						 LockTupleNoKeyExclusive, LockWaitSkip, 0, &failure) != TM_Ok)
	{
		heap_freetuple(tuple);
		ExecClearTuple(fetched);
		return false;
	}
	ExecForceStoreHeapTuple(tuple, slot, true);
	for (int i = 0; i <= filling + 1; i++)
	{
		CompatUpdateIndexes update_indexes;

		rh_choose_target(rel, pack, tuple->t_len);
		if (table_tuple_update(rel, &tid, slot, GetCurrentCommandId(true), GetActiveSnapshot(),
							   InvalidSnapshot, true, &failure, &lockmode, &update_indexes) != TM_Ok)
			elog(ERROR, "row (%u,%u) of table \"%s\" was changed although it is locked",
				 ItemPointerGetBlockNumber(&tid), ItemPointerGetOffsetNumber(&tid),
				 RelationGetRelationName(rel));
		if (compat_needs_index_entries(update_indexes))
		{
			list_free(compat_insert_index_tuples(relinfo, slot, estate, true, NULL, NIL, false));
			ResetPerTupleExprContext(estate);
		}
		tid = slot->tts_tid;
		if (ItemPointerGetBlockNumber(&tid) != from)
			break;
		CommandCounterIncrement();

		/*
		 * The update may have compressed a value.  Go on with the row as it
		 * is now, or the next update would look like one of this column.
		 */
		if (!table_tuple_fetch_row_version(rel, &tid, SnapshotSelf, fetched))
			elog(ERROR, "row (%u,%u) of table \"%s\" is not found after its update",
				 ItemPointerGetBlockNumber(&tid), ItemPointerGetOffsetNumber(&tid),
				 RelationGetRelationName(rel));
		tuple = ExecCopySlotHeapTuple(fetched);
		ExecForceStoreHeapTuple(tuple, slot, true);
	}
	ExecClearTuple(fetched);
	pack->batch[pack->in_batch].hash = hash;
	pack->batch[pack->in_batch++].tid = tid;

	return ItemPointerGetBlockNumber(&tid) == pack->target;
}

/* Raise an error unless the rows of the table may be moved one by one. */
static void
rh_check_movable(Relation rel, const RhPack *pack)
{
	TriggerDesc *triggers = rel->trigdesc;

	PreventCommandIfReadOnly(RH_PROCEDURE);
	if (!compat_relation_ownercheck(pack->relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, RelationGetRelationName(rel));
	CheckCmdReplicaIdentity(rel, CMD_UPDATE);

	/* vertical_partition counts on it that only the view changes cold rows */
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		Trigger    *trigger = &triggers->triggers[i];
		char	   *function = get_func_name(trigger->tgfoid);

		if (TRIGGER_FOR_UPDATE(trigger->tgtype) && trigger->tgnattr == 0 &&
			function != NULL && strcmp(function, "guard_part") == 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("rows of \"%s\" cannot be moved, because it is the cold part of a split table",
							RelationGetRelationName(rel))));
	}

	if (!pack->published && RelationIsLogicallyLogged(rel))
	{
		PublicationDesc publications;

		RelationBuildPublicationDesc(rel, &publications);
		if (publications.pubactions.pubupdate)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("rows of table \"%s\" are not moved, because it is published",
							RelationGetRelationName(rel)),
					 errdetail("Subscribers would receive an update of each row that is moved, and lose changes that they have made to the row."),
					 errhint("If subscribers may receive these updates, call %s with published => true.", RH_PROCEDURE)));
	}
}

/*
 * Move up to RH_BATCH rows, beginning with the row of that number, in the
 * present transaction.  Return false if the table has been rewritten or dropped.
 */
static bool
rh_move_batch(RhPack *pack, uint32 begin)
{
	Relation	rel = try_relation_open(pack->relid, RowExclusiveLock);
	EState	   *estate;
	ResultRelInfo *relinfo;
	TupleTableSlot *fetched;
	TupleTableSlot *slot;
	Oid			save_userid;
	int			save_sec_context;
	int			nestlevel;

	if (rel == NULL)
		return false;
	if (compat_file_number(rel) != pack->file)
	{
		relation_close(rel, RowExclusiveLock);
		return false;
	}
	rh_check_movable(rel, pack);

	/* expressions of indexes are code of the table's owner */
	GetUserIdAndSecContext(&save_userid, &save_sec_context);
	SetUserIdAndSecContext(rel->rd_rel->relowner, save_sec_context | SECURITY_RESTRICTED_OPERATION);
	nestlevel = NewGUCNestLevel();
	compat_restrict_search_path();

	PushActiveSnapshot(GetTransactionSnapshot());
	estate = CreateExecutorState();
	relinfo = makeNode(ResultRelInfo);
	InitResultRelInfo(relinfo, rel, 0, NULL, 0);
	ExecOpenIndices(relinfo, false);
	fetched = table_slot_create(rel, NULL);
	slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsHeapTuple);
	PG_TRY();
	{
		for (uint32 i = begin; i < Min(pack->n, begin + RH_BATCH) && pack->moved < pack->max_moved; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if (rh_move_row(rel, pack, &pack->rows[i], fetched, slot, relinfo, estate))
				pack->moved++;
			ExecClearTuple(slot);
			/* the index checks of the next row must see what this one wrote */
			CommandCounterIncrement();
		}
	}
	PG_FINALLY();
	{
		/* statements of this session must not insert into the hot page */
		RelationSetTargetBlock(rel, InvalidBlockNumber);
	}
	PG_END_TRY();
	ExecDropSingleTupleTableSlot(fetched);
	ExecDropSingleTupleTableSlot(slot);
	ExecCloseIndices(relinfo);
	FreeExecutorState(estate);
	PopActiveSnapshot();

	AtEOXact_GUC(false, nestlevel);
	SetUserIdAndSecContext(save_userid, save_sec_context);
	relation_close(rel, NoLock);

	return true;
}

/* Commit the transaction, and begin another one. */
static void
rh_commit(void)
{
	MemoryContext old = CurrentMemoryContext;

	SPI_connect_ext(SPI_OPT_NONATOMIC);
	SPI_commit();
	SPI_finish();
	MemoryContextSwitchTo(old);
}

/*
 * Move a batch of rows in a serializable transaction, commit it, and store the
 * new places of the rows.
 */
static bool
rh_run_batch(RhPack *pack, uint32 begin)
{
	bool		moved;

	XactIsoLevel = XACT_SERIALIZABLE;
	pack->in_batch = 0;
	moved = rh_move_batch(pack, begin);
	rh_commit();
	for (int i = 0; i < pack->in_batch; i++)
		rh_set_place(pack->batch[i].hash, pack->number, &pack->batch[i].tid);

	return moved;
}

/* Wait for so many milliseconds. */
static void
rh_sleep(int64 milliseconds)
{
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), milliseconds);

	for (;;)
	{
		long		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), until);

		CHECK_FOR_INTERRUPTS();
		if (left <= 0)
			break;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, left,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}

/* Raise an error unless the rows of the relation can be moved. */
static void
rh_check_relation(Relation rel)
{
	Oid			am = rel->rd_rel->relam;

	if (!rh_is_recorded(rel))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a permanent table", RelationGetRelationName(rel))));
	if (am != HEAP_TABLE_AM_OID && am != get_table_am_oid("toast_policy", true))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("rows of table \"%s\" cannot be moved, because it has access method \"%s\"",
						RelationGetRelationName(rel), get_am_name(am))));
}

/*
 * CALL row_heat.pack(relation regclass, rows_per_second integer, max_rows bigint,
 *					  published boolean, cached_only boolean)
 *
 * Move the hot rows of a table into pages of their own, at most so many rows per
 * second, and at most max_rows ones if that is not null.  If cached_only is true,
 * leave rows where they are whose page is not in shared buffers.  Report the
 * number of rows moved.  Each 100 rows are a transaction of their own.  So a call
 * that is cancelled keeps what it has done.
 */
Datum
rh_pack(PG_FUNCTION_ARGS)
{
	int32		rate = PG_ARGISNULL(1) ? 0 : PG_GETARG_INT32(1);
	RhPack		pack = {0};
	Relation	rel;
	MemoryContext context;
	MemoryContext batch;
	MemoryContext old;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("\"relation\" must not be null")));
	if (rate < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"rows_per_second\" must be at least 1")));
	PreventCommandDuringRecovery(RH_PROCEDURE);
	PreventCommandIfReadOnly(RH_PROCEDURE);
	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot run inside a transaction block", RH_PROCEDURE),
				 errhint("Call it as a statement of its own.")));
	rh_require_counts();

	pack.relid = PG_GETARG_OID(0);
	pack.max_moved = PG_ARGISNULL(2) ? PG_INT64_MAX : PG_GETARG_INT64(2);
	pack.published = !PG_ARGISNULL(3) && PG_GETARG_BOOL(3);
	pack.cached_only = !PG_ARGISNULL(4) && PG_GETARG_BOOL(4);
	pack.target = InvalidBlockNumber;
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(pack.relid)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", pack.relid)));
	if (!compat_relation_ownercheck(pack.relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(pack.relid)),
					   get_rel_name(pack.relid));

	/* what is found must survive the commits */
	context = AllocSetContextCreate(PortalContext, "row_heat pack", ALLOCSET_DEFAULT_SIZES);
	batch = AllocSetContextCreate(context, "row_heat batch", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	rel = relation_open(pack.relid, AccessShareLock);
	rh_check_relation(rel);
	rh_check_movable(rel, &pack);
	if (!rh_key_init(&pack.key, rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has no primary key", RelationGetRelationName(rel)),
				 errdetail("The heat of a row is recorded under its primary key.")));
	pack.file = compat_file_number(rel);
	pack.number = rh_relation_number(pack.relid, false);
	if (rh_find_rows(rel, &pack))
	{
		char	   *name = pstrdup(RelationGetRelationName(rel));

		relation_close(rel, AccessShareLock);
		rh_commit();
		for (uint32 i = 0; i < pack.n && pack.moved < pack.max_moved; i += RH_BATCH)
		{
			bool		moved;

			/* no transaction holds the rows of the last batch meanwhile */
			rh_sleep(1000L * pack.in_batch / rate);
			MemoryContextSwitchTo(batch);
			moved = rh_run_batch(&pack, i);
			MemoryContextSwitchTo(context);
			MemoryContextReset(batch);
			if (!moved)
			{
				ereport(NOTICE,
						(errmsg("no more rows are moved, because the table was rewritten or dropped")));
				break;
			}
		}
		if (pack.packed == pack.n)
			ereport(NOTICE,
					(errmsg("no row of table \"%s\" is moved, because its hot rows are together already",
							name)));
		else
			ereport(NOTICE,
					(errmsg("%u of %u rows are moved", pack.moved, pack.n - pack.packed)));
	}
	else
		relation_close(rel, AccessShareLock);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);

	PG_RETURN_VOID();
}
