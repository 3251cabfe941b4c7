/*-------------------------------------------------------------------------
 *
 * index_align_worker.c
 *	  The background worker of index_align.restore_stock().
 *
 * The worker connects as the role that called, and runs each command as a client
 * would, so that hooks and event triggers see it, and REINDEX CONCURRENTLY may
 * commit as it likes.  Its errors and warnings go to the calling session,
 * because the frontend that they are sent to is a queue in shared memory.
 *
 * An error ends the command; the next index has its turn.  When the queue has no
 * reader any more, the worker ends: nobody waits for what it does.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  index_align/index_align_worker.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_index.h"
#include "libpq/libpq.h"
#include "libpq/pqformat.h"
#include "libpq/pqmq.h"
#include "libpq/pqsignal.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "parser/analyze.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/shm_mq.h"
#include "storage/shm_toc.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "index_align.h"
#include "index_align_compat.h"

/* Send a message of type IA_MSG_... to the caller, or end if it is gone. */
static void
ia_send(char type, const char *string)
{
	if (pq_putmessage(type, string, strlen(string) + 1) != 0)
		proc_exit(0);
}

/*
 * Run a command as a client's simple query is run.  It is the only one in its
 * string.  Leaves no transaction open.
 *
 * The command knows the index by its name, which another one can have by the time
 * that it is looked up: owners rename as they like.  To build that one does no
 * harm.  But a superuser must change no other index than the one that he was told
 * of.  So an error takes a command back after which the index still has its storage
 * parameter; a drop, which cannot be taken back, is run as the index's owner.
 */
static void
ia_execute(const IaIndex *index, const char *command)
{
	MemoryContext oldcontext = CurrentMemoryContext;
	RawStmt    *parsetree;
	CommandTag	tag;
	List	   *plans;
	bool		snapshot_set = false;
	Portal		portal;
	QueryCompletion qc;

	debug_query_string = command;
	pgstat_report_activity(STATE_RUNNING, command);
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	MemoryContextSwitchTo(oldcontext);

	parsetree = linitial_node(RawStmt, pg_parse_query(command));
	tag = CreateCommandTag(parsetree->stmt);
	if (analyze_requires_snapshot(parsetree))
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		snapshot_set = true;
	}
	plans = pg_plan_queries(pg_analyze_and_rewrite_fixedparams(parsetree, command, NULL, 0, NULL),
							command, 0, NULL);
	if (snapshot_set)
		PopActiveSnapshot();

	/* drops what a command that failed may have left */
	portal = CreatePortal("", true, true);
	portal->visible = false;
	PortalDefineQuery(portal, NULL, command, tag, plans, NULL);
	PortalStart(portal, NULL, 0, InvalidSnapshot);
	MemoryContextSwitchTo(CurTransactionContext);
	compat_portal_run(portal, &qc);
	PortalDrop(portal, false);
	if (tag == CMDTAG_ALTER_INDEX || tag == CMDTAG_SELECT)
	{
		CommandCounterIncrement();
		if (ia_has_parameter(index->indexid))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("index \"%s\" was renamed meanwhile", index->name)));
	}
	CommitTransactionCommand();
	MemoryContextSwitchTo(oldcontext);

	pgstat_report_stat(false);
	pgstat_report_activity(STATE_IDLE, NULL);
	debug_query_string = NULL;
}

/*
 * OIDs of the invalid indexes of a table, in the current memory context.  Runs
 * in a transaction of its own.
 */
static List *
ia_invalid_indexes(Oid heapid)
{
	MemoryContext oldcontext = CurrentMemoryContext;
	List	   *result = NIL;
	Relation	pg_index;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	pg_index = table_open(IndexRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(heapid));
	scan = systable_beginscan(pg_index, IndexIndrelidIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_index form = (Form_pg_index) GETSTRUCT(tuple);

		if (!form->indisvalid)
		{
			MemoryContext tmpcontext = MemoryContextSwitchTo(oldcontext);

			result = lappend_oid(result, form->indexrelid);
			MemoryContextSwitchTo(tmpcontext);
		}
	}
	systable_endscan(scan);
	table_close(pg_index, AccessShareLock);
	CommitTransactionCommand();
	MemoryContextSwitchTo(oldcontext);

	return result;
}

/*
 * The name of an index that has become invalid since the list was made, or "".
 * That is what REINDEX CONCURRENTLY leaves behind if it fails.
 */
static char *
ia_leftover(Oid heapid, const List *invalid_before)
{
	MemoryContext oldcontext = CurrentMemoryContext;
	char	   *result = "";
	ListCell   *cell;

	foreach(cell, ia_invalid_indexes(heapid))
	{
		char	   *relname;

		if (list_member_oid(invalid_before, lfirst_oid(cell)))
			continue;
		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		MemoryContextSwitchTo(oldcontext);
		relname = get_rel_name(lfirst_oid(cell));
		if (relname != NULL)
			result = psprintf("%s.%s",
							  get_namespace_name(get_rel_namespace(lfirst_oid(cell))), relname);
		CommitTransactionCommand();
		MemoryContextSwitchTo(oldcontext);
	}

	return result;
}

/*
 * Restore one index and tell the caller.  An index that is gone, or that somebody
 * else has restored, is passed over in silence.  Everything that is allocated is
 * in the current memory context.
 */
static void
ia_restore_index(Oid indexid, bool concurrently)
{
	MemoryContext context = CurrentMemoryContext;
	Oid			userid = GetUserId();
	volatile Oid runs_as = userid;
	IaIndex    *volatile index = NULL;
	List	   *volatile invalid_before = NIL;

	PG_TRY();
	{
		List	   *commands = NIL;
		ListCell   *cell;

		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		MemoryContextSwitchTo(context);
		index = ia_describe(indexid);
		/* a REINDEX of somebody else may have failed meanwhile */
		if (index != NULL && ia_skip_leftover(index))
			index = NULL;
		if (index != NULL)
		{
			if (superuser() && !index->live)
				runs_as = index->owner;
			commands = ia_commands(index, concurrently);
			ia_send(IA_MSG_BEGIN, index->name);
		}
		CommitTransactionCommand();
		MemoryContextSwitchTo(context);

		if (index != NULL)
		{
			invalid_before = ia_invalid_indexes(index->heapid);
			SetUserIdAndSecContext(runs_as, 0);
			foreach(cell, commands)
				ia_execute(index, lfirst(cell));
			SetUserIdAndSecContext(userid, 0);
			ia_send(IA_MSG_DONE, index->live ? "restored" : "dropped");
		}
	}
	PG_CATCH();
	{
		/* no cancel request may come between */
		HOLD_INTERRUPTS();
		MemoryContextSwitchTo(context);
		if (index == NULL)
			ia_send(IA_MSG_BEGIN, psprintf("%u", indexid));
		EmitErrorReport();
		AbortOutOfAnyTransaction();
		SetUserIdAndSecContext(userid, 0);
		FlushErrorState();
		MemoryContextSwitchTo(context);
		debug_query_string = NULL;
		pgstat_report_activity(STATE_IDLE, NULL);
		QueryCancelPending = false;
		RESUME_INTERRUPTS();

		ia_send(IA_MSG_FAILED,
				index != NULL ? ia_leftover(index->heapid, invalid_before) : "");
	}
	PG_END_TRY();
}

/* Take over settings of the caller, and fix those that the work depends on. */
static void
ia_apply_settings(const char *settings)
{
	GucContext	gucctx;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	gucctx = superuser() ? PGC_SUSET : PGC_USERSET;

	/* messages are passed on as they are, without conversion */
	SetClientEncoding(GetDatabaseEncoding());

	while (settings[0] != '\0')
	{
		const char *name = settings;
		const char *value = name + strlen(name) + 1;

		/*
		 * As if from the client's startup packet: the caller may have set
		 * temp_tablespaces in another role, and a tablespace that this one
		 * may not use is to be passed over, as in the caller's session.
		 */
		SetConfigOption(name, value, gucctx, PGC_S_CLIENT);
		settings = value + strlen(value) + 1;
	}
	SetConfigOption("default_index_item_alignment", "max", gucctx, PGC_S_SESSION);
	SetConfigOption("client_min_messages", "warning", gucctx, PGC_S_SESSION);
	SetConfigOption("application_name", "index_align.restore_stock", gucctx, PGC_S_SESSION);
	CommitTransactionCommand();
}

/*
 * The background worker.  main_arg is the handle of a shared memory segment with
 * a job, settings and a queue.
 */
void
ia_worker_main(Datum main_arg)
{
	dsm_segment *segment;
	shm_toc    *toc;
	shm_mq	   *mq;
	IaJob	   *job;
	MemoryContext context;

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();

	segment = dsm_attach(DatumGetUInt32(main_arg));
	if (segment == NULL)
	{
		/* the caller has given up meanwhile */
		proc_exit(0);
	}
	toc = shm_toc_attach(IA_MAGIC, dsm_segment_address(segment));
	if (toc == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("invalid magic number in dynamic shared memory segment")));
	job = shm_toc_lookup(toc, IA_KEY_JOB, false);
	mq = shm_toc_lookup(toc, IA_KEY_QUEUE, false);
	shm_mq_set_sender(mq, MyProc);
	pq_redirect_to_shm_mq(segment, shm_mq_attach(mq, segment, NULL));

	BackgroundWorkerInitializeConnectionByOid(job->databaseid, job->roleid,
											  BGWORKER_BYPASS_ROLELOGINCHECK);
	ia_apply_settings(shm_toc_lookup(toc, IA_KEY_SETTINGS, false));

	context = AllocSetContextCreate(TopMemoryContext, "index_align index",
									ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < job->nindexes; i++)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(context);
		ia_restore_index(job->indexids[i], job->concurrently);
		MemoryContextSwitchTo(TopMemoryContext);
		MemoryContextReset(context);
	}
	ia_send(IA_MSG_END, "");
	proc_exit(0);
}
