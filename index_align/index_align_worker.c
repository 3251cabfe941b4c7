/*-------------------------------------------------------------------------
 *
 * index_align_worker.c
 *	  Background worker of index_align.restore_stock().
 *
 * The worker connects as the calling role, and runs each command as a client
 * would.  So hooks and event triggers see the command, and REINDEX
 * CONCURRENTLY may commit when necessary.  Its errors and warnings go to the
 * calling session, because a queue in shared memory takes the place of its
 * client.
 *
 * An error ends the command, and the worker continues with the next index.
 * When the calling session no longer reads the queue, the worker ends, because
 * nobody waits for its work.
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

/* Send a message of type IA_MSG_... to the caller, or exit if the caller is gone. */
static void
ia_send(char type, const char *string)
{
	if (pq_putmessage(type, string, strlen(string) + 1) != 0)
		proc_exit(0);
}

/*
 * Run a command as a simple query of a client.  The string must contain only
 * one command.  Leave no transaction open.
 *
 * The command refers to the index by name.  Another index can have the name
 * when the name is looked up, since owners can rename indexes.  Rebuilding
 * that other index does no harm.  But a superuser's call must not change
 * another index than the one in the caller's list.  So if the index still has
 * its storage parameter after a command, an error rolls the command back.
 * DROP INDEX CONCURRENTLY cannot be rolled back, so run a drop as the index's
 * owner.
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

	/*
	 * If a failed command has left the unnamed portal, CreatePortal() drops
	 * it.
	 */
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
 * Return the OIDs of the invalid indexes of a table, in the current memory
 * context.  Run in a separate transaction.
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
 * Return the name of an invalid index of the table that is not in the list, or
 * "".  REINDEX CONCURRENTLY leaves such an index behind if it fails.
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
 * Restore one index and inform the caller.  Silently skip an index that no
 * longer exists, or that somebody else has restored.  Allocate everything in
 * the current memory context.
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

		/*
		 * Skip the index if a REINDEX CONCURRENTLY of another session has
		 * meanwhile failed and left it.
		 */
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
		/* no cancel request may interrupt the cleanup after an error */
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

/*
 * Apply the caller's settings, and make the settings that the work requires.
 */
static void
ia_apply_settings(const char *settings)
{
	GucContext	gucctx;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	gucctx = superuser() ? PGC_SUSET : PGC_USERSET;

	/* pass messages on without conversion */
	SetClientEncoding(GetDatabaseEncoding());

	while (settings[0] != '\0')
	{
		const char *name = settings;
		const char *value = name + strlen(name) + 1;

		/*
		 * Set values as if they came from a client's startup packet.  The
		 * caller may have set temp_tablespaces as another role.  A tablespace
		 * that this role may not use must be skipped, as in the caller's
		 * session.
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
 * Main function of the background worker.  main_arg is the handle of a shared
 * memory segment with a job, settings and a queue.
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
		/* the caller has given up */
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
