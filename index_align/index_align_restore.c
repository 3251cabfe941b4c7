/*-------------------------------------------------------------------------
 *
 * index_align_restore.c
 *	  index_align.restore_stock(): the way back to a stock server.
 *
 * The procedure rebuilds the aligned indexes at maximal alignment, and removes
 * the storage parameter from the indexes that have it, so that a stock server
 * can read the data directory and a dump.  The procedure prefers REINDEX
 * CONCURRENTLY.  This command cannot run inside a procedure, and would wait
 * for the procedure's own snapshot.  So the procedure commits, and lets a
 * background worker run the commands.  Meanwhile the procedure waits in a
 * transaction without a snapshot, a transaction ID, or a lock on a relation.
 *
 * The worker gets the OIDs of the indexes, and makes the commands for an index
 * just before it runs them.  The worker sends its messages and errors through
 * a queue in dynamic shared memory.  If an index cannot be restored, the
 * worker still restores the other indexes.  If the procedure ends before the
 * worker, by an error, a cancel request or a lost connection, it terminates
 * the worker, too.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  index_align/index_align_restore.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "libpq/pqformat.h"
#include "libpq/pqmq.h"
#include "libpq/protocol.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/lock.h"
#include "storage/shm_mq.h"
#include "storage/shm_toc.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"

#include "index_align.h"

#define IA_PROCEDURE "index_align.restore_stock()"

PG_FUNCTION_INFO_V1(ia_restore_stock);
PG_FUNCTION_INFO_V1(ia_restore_stock_commands);

/*
 * Maximum number of concurrent calls, in the whole cluster, of all roles
 * except superusers.  In addition, a role may run only one call at a time.
 * There are limits because each call takes one of the cluster's worker
 * processes for as long as it waits for a lock.
 */
#define IA_MAX_RUNNING	2

/*
 * Calls are counted by advisory locks with no database in their tags.  So
 * these locks differ from the locks of pg_advisory_lock(), and from the locks
 * of core.
 */
#define IA_LOCK_ROLE	3
#define IA_LOCK_SLOT	4

/* The procedure's record of the worker that it has started */
typedef struct IaWorker
{
	BackgroundWorkerHandle *handle;
	shm_mq_handle *queue;
	char	   *current;		/* index being restored, or NULL */
} IaWorker;

/* Settings that the worker gets from the calling session: they affect a build */
static const char *const ia_settings[] = {
	"maintenance_work_mem",
	"max_parallel_maintenance_workers",
	"maintenance_io_concurrency",
	"temp_tablespaces",
	"lock_timeout",
	"default_transaction_read_only",
};

/* Further such settings, which only a superuser may set */
static const char *const ia_superuser_settings[] = {
	"event_triggers",
	"session_replication_role",
};

/*
 * Return the commands that restore an index, in order, as strings in the
 * current memory context.  The session that runs them must have set
 * default_index_item_alignment to max.
 */
List *
ia_commands(const IaIndex *index, bool concurrently)
{
	List	   *commands = NIL;
	bool		can_wait = concurrently && !index->temp;

	if (index->partitioned)
		return list_make1(psprintf("SELECT index_align.reset_item_alignment(%s::pg_catalog.regclass)",
								   quote_literal_cstr(index->quoted)));

	/* Complete an unfinished DROP INDEX CONCURRENTLY. */
	if (!index->live)
		return list_make1(psprintf("DROP INDEX %sIF EXISTS %s",
								   can_wait ? "CONCURRENTLY " : "",
								   index->quoted));

	/* Reset the parameter first, because REINDEX would use it. */
	if (index->parameter)
		commands = lappend(commands,
						   psprintf("ALTER INDEX %s RESET (item_alignment)",
									index->quoted));
	if (IaNeedsBuild(index))
		commands = lappend(commands,
						   psprintf("REINDEX INDEX %s%s",
									can_wait && !index->exclusion ? "CONCURRENTLY " : "",
									index->quoted));

	return commands;
}

/*
 * If a failed REINDEX CONCURRENTLY has left the index behind, give a warning
 * and return true.  Otherwise return false.  Rebuilding such an index would
 * make it valid: a duplicate that each write has to maintain.  Let the user
 * drop the index, because its name does not prove where it comes from, and the
 * REINDEX may still be running.
 */
bool
ia_skip_leftover(const IaIndex *index)
{
	if (!index->leftover || !index->live)
		return false;
	ereport(WARNING,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("skipping invalid index \"%s\"", index->name),
			 errdetail("According to its name, a failed REINDEX CONCURRENTLY has left this index behind, or a running one needs it."),
			 errhint("Use DROP INDEX if no REINDEX CONCURRENTLY is running on its table.")));

	return true;
}

/*
 * Return true if the current user may run the commands that restore the index.
 */
static bool
ia_is_permitted(const IaIndex *index)
{
	if ((index->parameter || !index->live) &&
		!object_ownercheck(RelationRelationId, index->indexid, GetUserId()))
		return false;

	return !IaNeedsBuild(index) || !index->live ||
		pg_class_aclcheck(index->heapid, GetUserId(), ACL_MAINTAIN) == ACLCHECK_OK;
}

/*
 * Raise an error if the caller has no privilege to restore anything in the
 * scope of the call.  Take no lock: nobody may queue for a lock on an index
 * that they must not restore.
 */
static void
ia_check_scope(Oid relid)
{
	char		relkind = get_rel_relkind(relid);
	Oid			heapid = relid;

	if (relkind == RELKIND_INDEX || relkind == RELKIND_PARTITIONED_INDEX)
		heapid = IndexGetRelation(relid, true);
	if (relkind == '\0' || !OidIsValid(heapid) ||
		object_ownercheck(RelationRelationId, relid, GetUserId()) ||
		pg_class_aclcheck(heapid, GetUserId(), ACL_MAINTAIN) == ACLCHECK_OK)
		return;
	aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(relkind), get_rel_name(relid));
}

/*
 * Terminate the worker if the procedure ends before the worker.  If the
 * session ends, do not wait for the end of the worker.
 */
static void
ia_end_worker(int code, Datum arg)
{
	IaWorker   *worker = (IaWorker *) DatumGetPointer(arg);

	TerminateBackgroundWorker(worker->handle);
	if (proc_exit_inprogress)
		return;

	/*
	 * Detach from the queue, because the worker may be waiting for us to
	 * read.
	 */
	if (worker->queue != NULL)
		shm_mq_detach(worker->queue);
	worker->queue = NULL;
	(void) WaitForBackgroundWorkerShutdown(worker->handle);
	if (worker->current != NULL)
		ereport(WARNING,
				(errmsg("interrupted while index \"%s\" was being restored", worker->current),
				 errhint("REINDEX CONCURRENTLY may have left an invalid index with the suffix \"_ccnew\" behind; drop this index.")));
}

/* Report that an index has been restored, or that its drop has been completed. */
static void
ia_notice_of_success(const char *name, bool dropped)
{
	if (dropped)
		ereport(NOTICE,
				(errmsg("dropped index \"%s\", whose concurrent drop was not completed", name)));
	else
		ereport(NOTICE,
				(errmsg("restored index \"%s\"", name)));
}

/*
 * Set the detail of our error to the message and the detail of the worker's
 * error.
 */
static int
ia_foreign_detail(const ErrorData *edata)
{
	if (edata->detail != NULL)
		return errdetail_internal("%s\n%s", edata->message, edata->detail);

	return errdetail_internal("%s", edata->message);
}

/*
 * Report that an index could not be restored, with the worker's error as the
 * detail.  leftover is the name of an index that the failed command left
 * behind, or "".
 */
static void
ia_warn_of_failure(const char *name, const ErrorData *edata, const char *leftover)
{
	ereport(WARNING,
			(errcode(edata->sqlerrcode),
			 errmsg("could not restore index \"%s\"", name),
			 ia_foreign_detail(edata),
			 leftover[0] == '\0' ?
			 (edata->hint ? errhint("%s", edata->hint) : 0) :
			 edata->hint ?
			 errhint("%s\nDrop the invalid index \"%s\", which the failed command has left behind.",
					 edata->hint, leftover) :
			 errhint("Drop the invalid index \"%s\", which the failed command has left behind.", leftover),
			 edata->context ? errcontext("%s", edata->context) : 0));
}

/*
 * Pass the worker's messages on until it reports its end.  Raise an error if
 * the worker exits before it reports its end, with the worker's error, if
 * there is one, as the detail.
 */
static void
ia_follow_worker(IaWorker *worker, MemoryContext context)
{
	ErrorData	failure;
	bool		failed = false;
	MemoryContext message_context = AllocSetContextCreate(context,
														  "index_align message",
														  ALLOCSET_SMALL_SIZES);

	for (;;)
	{
		StringInfoData message;
		Size		length;
		void	   *data;
		char		type;

		if (shm_mq_receive(worker->queue, &length, &data, false) != SHM_MQ_SUCCESS)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("background worker of %s ended unexpectedly", IA_PROCEDURE),
					 errhint("More details may be available in the server log.")));

		/*
		 * An index expression may give a warning for each row, so free the
		 * memory of the previous message, and keep only the index's name and
		 * its error.
		 */
		MemoryContextReset(message_context);
		MemoryContextSwitchTo(message_context);
		initStringInfo(&message);
		appendBinaryStringInfo(&message, data, length);
		type = pq_getmsgbyte(&message);
		switch (type)
		{
			case IA_MSG_BEGIN:
				worker->current = MemoryContextStrdup(context, pq_getmsgrawstring(&message));
				failed = false;
				break;

			case PqMsg_ErrorResponse:
			case PqMsg_NoticeResponse:
				{
					ErrorData	edata;

					pq_parse_errornotice(&message, &edata);
					if (edata.elevel == ERROR && worker->current != NULL)
					{
						/*
						 * Parse the error again, into memory that outlives
						 * the message.
						 */
						message.cursor = 1;
						MemoryContextSwitchTo(context);
						pq_parse_errornotice(&message, &failure);
						failed = true;
						break;
					}

					/*
					 * The end of the worker does not end this session.  The
					 * worker's error code may say that the connection ends,
					 * but our connection does not end.
					 */
					if (edata.elevel >= ERROR)
						ereport(ERROR,
								(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
								 errmsg("background worker of %s ended", IA_PROCEDURE),
								 ia_foreign_detail(&edata),
								 edata.hint ? errhint("%s", edata.hint) : 0,
								 edata.context ? errcontext("%s", edata.context) : 0));
					ThrowErrorData(&edata);
				}
				break;

			case IA_MSG_DONE:
				ia_notice_of_success(worker->current,
									 strcmp(pq_getmsgrawstring(&message), "dropped") == 0);
				worker->current = NULL;
				MemoryContextResetOnly(context);
				break;

			case IA_MSG_FAILED:
				if (failed)
					ia_warn_of_failure(worker->current, &failure, pq_getmsgrawstring(&message));
				worker->current = NULL;
				MemoryContextResetOnly(context);
				break;

			case IA_MSG_END:
				return;

			default:
				/* ignore all other messages of a backend */
				break;
		}
	}
}

/* Append the name and the value of a setting. */
static void
ia_serialize_setting(StringInfo settings, const char *name)
{
	const char *value = GetConfigOption(name, false, false);

	appendBinaryStringInfo(settings, name, strlen(name) + 1);
	appendBinaryStringInfo(settings, value, strlen(value) + 1);
}

/* Return the settings for the worker, as name, value, name, value ... */
static StringInfo
ia_serialize_settings(void)
{
	StringInfo	settings = makeStringInfo();

	for (int i = 0; i < (int) lengthof(ia_settings); i++)
		ia_serialize_setting(settings, ia_settings[i]);
	if (superuser())
	{
		for (int i = 0; i < (int) lengthof(ia_superuser_settings); i++)
			ia_serialize_setting(settings, ia_superuser_settings[i]);
	}
	/* an empty name ends the list */
	appendStringInfoChar(settings, '\0');

	return settings;
}

/*
 * Try to take one of the locks that count calls.  The lock lasts until the
 * transaction ends.
 */
static bool
ia_try_lock(Oid number, uint16 kind)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, InvalidOid, IA_MAGIC, number, kind);

	return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

/* Raise an error if the maximum number of calls is running. */
static void
ia_limit_calls(void)
{
	int			slot = 0;

	if (!ia_try_lock(GetUserId(), IA_LOCK_ROLE))
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("%s is already running for role \"%s\"", IA_PROCEDURE,
						GetUserNameFromId(GetUserId(), false)),
				 errdetail("Each call takes a worker process, so a role may run only one call at a time."),
				 errhint("Wait until the other call ends, cancel it, or run the commands of index_align.restore_stock_commands() instead.")));
	if (superuser())
		return;
	while (slot < IA_MAX_RUNNING && !ia_try_lock((Oid) slot, IA_LOCK_SLOT))
		slot++;
	if (slot == IA_MAX_RUNNING)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("too many calls of %s are running", IA_PROCEDURE),
				 errdetail("Each call takes a worker process, so at most %d calls may run at a time in all databases.  Calls of superusers do not count.",
						   IA_MAX_RUNNING),
				 errhint("Try again later, or run the commands of index_align.restore_stock_commands() instead.")));
}

/*
 * Let a background worker restore the indexes, as the current user, and wait
 * for it.  The caller must not have a snapshot.  Raise an error if no worker
 * is available.
 */
static void
ia_run_worker(List *indexes, bool concurrently)
{
	Size		job_size = offsetof(IaJob, indexids) + list_length(indexes) * sizeof(Oid);
	StringInfo	settings = ia_serialize_settings();
	shm_toc_estimator estimator;
	Size		segment_size;
	dsm_segment *segment;
	shm_toc    *toc;
	IaJob	   *job;
	char	   *space;
	shm_mq	   *mq;
	BackgroundWorker worker = {0};
	IaWorker	started = {0};
	MemoryContext context;
	MemoryContext oldcontext = CurrentMemoryContext;
	ListCell   *cell;

	ia_limit_calls();
	shm_toc_initialize_estimator(&estimator);
	shm_toc_estimate_chunk(&estimator, job_size);
	shm_toc_estimate_chunk(&estimator, settings->len);
	shm_toc_estimate_chunk(&estimator, IA_QUEUE_SIZE);
	shm_toc_estimate_keys(&estimator, 3);
	segment_size = shm_toc_estimate(&estimator);
	segment = dsm_create(segment_size, 0);
	toc = shm_toc_create(IA_MAGIC, dsm_segment_address(segment), segment_size);

	job = shm_toc_allocate(toc, job_size);
	job->databaseid = MyDatabaseId;
	job->roleid = GetUserId();
	job->concurrently = concurrently;
	job->nindexes = 0;
	foreach(cell, indexes)
		job->indexids[job->nindexes++] = ((IaIndex *) lfirst(cell))->indexid;
	shm_toc_insert(toc, IA_KEY_JOB, job);

	space = shm_toc_allocate(toc, settings->len);
	memcpy(space, settings->data, settings->len);
	shm_toc_insert(toc, IA_KEY_SETTINGS, space);

	space = shm_toc_allocate(toc, IA_QUEUE_SIZE);
	mq = shm_mq_create(space, IA_QUEUE_SIZE);
	shm_toc_insert(toc, IA_KEY_QUEUE, mq);
	shm_mq_set_receiver(mq, MyProc);

	/*
	 * Allocate this now: nothing may fail between the start of the worker and
	 * PG_ENSURE_ERROR_CLEANUP().
	 */
	context = AllocSetContextCreate(CurrentMemoryContext,
									"index_align messages",
									ALLOCSET_SMALL_SIZES);

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = UInt32GetDatum(dsm_segment_handle(segment));
	worker.bgw_notify_pid = MyProcPid;
	strlcpy(worker.bgw_library_name, "$libdir/index_align", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "ia_worker_main", sizeof(worker.bgw_function_name));
	snprintf(worker.bgw_name, BGW_MAXLEN, "index_align worker for PID %d", MyProcPid);
	strlcpy(worker.bgw_type, "index_align worker", BGW_MAXLEN);
	if (!RegisterDynamicBackgroundWorker(&worker, &started.handle))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("could not register background worker of %s", IA_PROCEDURE),
				 errhint("You may need to increase \"max_worker_processes\", or run the commands of index_align.restore_stock_commands() instead.")));

	PG_ENSURE_ERROR_CLEANUP(ia_end_worker, PointerGetDatum(&started));
	{
		started.queue = shm_mq_attach(mq, segment, started.handle);

		/*
		 * The worker's REINDEX CONCURRENTLY waits for sessions with a
		 * snapshot.
		 */
		InvalidateCatalogSnapshot();
		ia_follow_worker(&started, context);
		MemoryContextSwitchTo(oldcontext);

		/*
		 * Wait for the worker's end, so that the next call finds a free
		 * worker slot.
		 */
		(void) WaitForBackgroundWorkerShutdown(started.handle);
	}
	PG_END_ENSURE_ERROR_CLEANUP(ia_end_worker, PointerGetDatum(&started));

	MemoryContextDelete(context);
	dsm_detach(segment);
}

/*
 * Restore temporary indexes, which no other session can access.  An error of a
 * command ends the procedure.
 */
static void
ia_restore_temporary(List *indexes)
{
	int			nestlevel = NewGUCNestLevel();
	ListCell   *cell;

	(void) set_config_option("default_index_item_alignment", "max",
							 PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("client_min_messages", "warning",
							 PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	foreach(cell, indexes)
	{
		IaIndex    *index = ia_describe(((IaIndex *) lfirst(cell))->indexid);
		ListCell   *command;

		/*
		 * Describe the index again, because the commit, or code that ran
		 * since, may have dropped it.
		 */
		lfirst(cell) = index;
		if (index == NULL)
			continue;
		foreach(command, ia_commands(index, false))
		{
			SPI_connect();
			if (SPI_execute(lfirst(command), false, 0) < 0)
				elog(ERROR, "SPI_execute failed for \"%s\"", (char *) lfirst(command));
			SPI_finish();
		}
	}
	AtEOXact_GUC(true, nestlevel);
	foreach(cell, indexes)
	{
		IaIndex    *index = lfirst(cell);

		if (index != NULL)
			ia_notice_of_success(index->name, !index->live);
	}
}

/* Commit the transaction, and continue without snapshot and locks. */
static void
ia_commit(void)
{
	MemoryContext oldcontext = CurrentMemoryContext;

	SPI_connect_ext(SPI_OPT_NONATOMIC);
	SPI_commit();
	SPI_finish();
	MemoryContextSwitchTo(oldcontext);
}

/*
 * CALL index_align.restore_stock(relation regclass, concurrently boolean)
 *
 * Restore the layout and storage parameters of a stock server.  Do so for the
 * indexes of a table, or of a partitioned table and its partitions, for one
 * index, or, with NULL, for all indexes of the database.  Commit the
 * transaction before the work begins; therefore, the procedure cannot run in a
 * transaction block.  Give a notice for each restored index, a warning for
 * each failure, and an error at the end if any index is still not restored.
 */
Datum
ia_restore_stock(PG_FUNCTION_ARGS)
{
	Oid			scope = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	bool		concurrently;
	List	   *shared = NIL;
	List	   *temporary = NIL;
	bool		skipped = false;
	ListCell   *cell;
	MemoryContext context;
	MemoryContext oldcontext;
	int			remaining;

	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("\"concurrently\" must not be null")));
	concurrently = PG_GETARG_BOOL(1);
	PreventCommandDuringRecovery(IA_PROCEDURE);
	PreventCommandIfReadOnly(IA_PROCEDURE);
	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot run inside a transaction block", IA_PROCEDURE),
				 errhint("Call it as a statement of its own, or run the commands of index_align.restore_stock_commands().")));

	if (OidIsValid(scope))
		ia_check_scope(scope);

	/* keep data that must survive the commit in this context */
	context = AllocSetContextCreate(PortalContext, "index_align restore",
									ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(context);
	foreach(cell, ia_collect(scope))
	{
		IaIndex    *index = lfirst(cell);

		ia_warn_of_damage(index);
		if (ia_skip_leftover(index))
			skipped = true;
		else if (!ia_is_permitted(index))
			ereport(OidIsValid(scope) ? ERROR : WARNING,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 OidIsValid(scope) ?
					 errmsg("permission denied to restore index \"%s\"", index->name) :
					 errmsg("permission denied to restore index \"%s\", skipping it", index->name)));
		else if (index->temp)
			temporary = lappend(temporary, index);
		else
			shared = lappend(shared, index);
	}

	ia_commit();
	if (shared != NIL)
		ia_run_worker(shared, concurrently);
	if (temporary != NIL)
	{
		ia_restore_temporary(temporary);
		/* commit, because an error below must not undo these restores */
		ia_commit();
	}

	/*
	 * Make a new list, instead of counting failures.  An index may have been
	 * created meanwhile, and users who go back to a stock server must know
	 * about this index.  If the relation has been dropped, nothing is left to
	 * do.
	 */
	remaining = 0;
	if (!OidIsValid(scope) || get_rel_relkind(scope) != '\0')
		remaining = list_length(ia_collect(scope));
	if (remaining > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg_plural("%d index still does not have the layout of a stock server",
							   "%d indexes still do not have the layout of a stock server",
							   remaining, remaining),
				 errhint("See the warnings above and the view index_align.status.")));
	if (shared == NIL && temporary == NIL && !skipped)
		ereport(NOTICE,
				(errmsg("all indexes have the layout of a stock server")));

	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
	PG_RETURN_VOID();
}

/*
 * index_align.restore_stock_commands(relation regclass, concurrently boolean)
 * returns setof text
 *
 * Return the commands that restore_stock() would run with the same arguments,
 * in order, for psql's \gexec.  Give the warnings that restore_stock() would
 * give.  The first command is a SET that the other commands need.  Return no
 * rows if there is nothing to do.
 */
Datum
ia_restore_stock_commands(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *commands = NIL;
	ListCell   *cell;
	bool		nulls[1] = {false};

	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("\"concurrently\" must not be null")));
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	foreach(cell, ia_collect(PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0)))
	{
		IaIndex    *index = lfirst(cell);

		ia_warn_of_damage(index);
		if (!ia_skip_leftover(index))
			commands = list_concat(commands, ia_commands(index, PG_GETARG_BOOL(1)));
	}
	if (commands != NIL)
		commands = lcons("SET default_index_item_alignment = max", commands);
	foreach(cell, commands)
	{
		Datum		value = CStringGetTextDatum(lfirst(cell));

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &value, nulls);
	}

	return (Datum) 0;
}
