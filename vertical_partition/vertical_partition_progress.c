/*-------------------------------------------------------------------------
 *
 * vertical_partition_progress.c
 *	  Report the progress of split(), merge() and relink().
 *
 * The view vertical_partition.progress reads the progress parameters of the
 * backends, as pg_stat_progress_create_index does.  The server has no kind of
 * command for extensions, so report as CREATE INDEX, for two reasons.  These
 * functions do create indexes, and the server's own numbers then go to the
 * same parameters.  And CREATE INDEX leaves parameters free, which have the
 * command, the phase and a mark that tells these functions from CREATE INDEX.
 *
 * When the server begins to create an index, it clears all parameters.  The
 * hook for the access to objects runs soon after, and sets them again.  When
 * the server ends a command that reports its progress, and also when a
 * subtransaction ends by an error, nothing is reported any more.  So report
 * anew after each statement, and for each row.  During ANALYZE, there is no
 * report, because the server reports the progress of ANALYZE then.
 *
 * The statements of split(), merge() and relink() call code of users, such as
 * triggers.  What this code does is not the progress of the function: ignore
 * its calls of our functions.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_progress.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"

#include "vertical_partition.h"

PG_FUNCTION_INFO_V1(vp_report);

/*
 * Parameters that CREATE INDEX does not use.  The last one has the mark and,
 * in its lower two bytes, the numbers of the command and the phase.
 */
#define VP_PROGRESS_RELID		17
#define VP_PROGRESS_INDEXES		18
#define VP_PROGRESS_STATE		19
#define VP_PROGRESS_MARK		INT64CONST(0x76706172)

/* Names, in the order of the arrays in the definition of the view */
static const char *const commands[] = {"split", "merge", "relink"};
static const char *const phases[] = {
	"waiting for locks", "preparing", "copying rows to the cold part", "copying rows to the hot part",
	"copying rows to the table", "building indexes and constraints", "checking keys", "setting pointers",
	"performing final cleanup"
};

static VpProgress progress;

/* The statement whose rows are to be counted, in TopMemoryContext */
static char *counted_statement = NULL;

/*
 * The node that returns the rows to count, and its own function.  There is
 * only one, because statements within the counted statement are ignored.
 */
static PlanState *counted_node = NULL;
static ExecProcNodeMtd counted_proc = NULL;

static ExecutorStart_hook_type next_ExecutorStart = NULL;
static object_access_hook_type next_object_access = NULL;

static void
forget_statement(void)
{
	if (counted_statement != NULL)
		pfree(counted_statement);
	counted_statement = NULL;
}

/* Return true if code of users has called a function that would report its progress. */
static bool
is_ignored(void)
{
	return progress.muted || vp_user_depth() > progress.depth;
}

static bool
is_create_index(void)
{
	return MyBEEntry && MyBEEntry->st_progress_command == PROGRESS_COMMAND_CREATE_INDEX;
}

/* Set the parameters that CREATE INDEX does not use. */
static void
set_marks(void)
{
	const int	index[] = {VP_PROGRESS_RELID, VP_PROGRESS_INDEXES, VP_PROGRESS_STATE};
	int64		values[lengthof(index)];

	values[0] = progress.relid;
	values[1] = progress.indexes;
	values[2] = VP_PROGRESS_MARK << 16 | progress.command << 8 | progress.phase;
	pgstat_progress_update_multi_param(lengthof(index), index, values);
}

/* Report the progress, unless nothing is to be reported or the report is there. */
void
vp_progress_publish(void)
{
	if (progress.command == 0 ||
		(is_create_index() && MyBEEntry->st_progress_param[VP_PROGRESS_STATE] != 0))
		return;
	pgstat_progress_start_command(PROGRESS_COMMAND_CREATE_INDEX, progress.relid);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, progress.total);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, progress.done);
	set_marks();
}

/*
 * Begin a function that reports its progress.  Save the state of an outer one.
 * If code of users has called the function within one that reports, the report
 * of the outer function stays.
 */
void
vp_progress_begin(VpProgress *saved)
{
	*saved = progress;
	if (progress.muted || (progress.command != 0 && vp_user_depth() > progress.depth))
	{
		progress.muted = true;
		return;
	}
	memset(&progress, 0, sizeof(progress));
	progress.active = true;
	progress.depth = vp_user_depth();
}

/*
 * End a function that reports its progress.  If it has failed, the end of the
 * transaction or subtransaction ends the report.
 */
void
vp_progress_end(const VpProgress *saved, bool failed)
{
	bool		reported = progress.command != 0;
	bool		muted = progress.muted;

	progress = *saved;
	if (muted)
	{
		if (!failed)
			vp_progress_publish();
		return;
	}
	forget_statement();
	if (!failed && reported)
	{
		pgstat_progress_end_command();
		vp_progress_publish();
	}
}

/*
 * Return true if a function reports its progress, and no code of users has
 * called the caller within it.
 */
bool
vp_progress_reports(void)
{
	return progress.command != 0 && !is_ignored();
}

/* Set the number of rows that the phase counts. */
void
vp_progress_total(int64 total)
{
	progress.total = total;
	progress.done = 0;
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, progress.total);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, progress.done);
}

/*
 * Count a row.  Code of users that was called for the row can have ended the
 * report, for example by an error that it has caught.
 */
void
vp_progress_row(void)
{
	if (progress.command == 0)
		return;
	progress.done++;
	vp_progress_publish();
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, progress.done);
}

/* Begin a statement.  If it is one that copies rows, count them. */
void
vp_progress_statement(const char *statement)
{
	if (is_ignored())
		return;
	forget_statement();
	if (progress.command != 0 && progress.counts)
		counted_statement = MemoryContextStrdup(TopMemoryContext, statement);
}

/* End a statement. */
void
vp_progress_statement_done(void)
{
	if (is_ignored())
		return;
	forget_statement();
	if (progress.command == 0)
		return;
	progress.indexes += progress.building;
	progress.building = 0;
	if (is_create_index() && MyBEEntry->st_progress_param[VP_PROGRESS_STATE] != 0)
		set_marks();
	vp_progress_publish();
}

static int
number_of(const char *name, const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (strcmp(name, names[i]) == 0)
			return i + 1;
	}
	elog(ERROR, "unknown command or phase \"%s\"", name);
}

/*
 * vertical_partition_internal.report(command text, relation oid, phase text,
 *									  total bigint) returns void
 *
 * Report that the command has reached this phase.  If "total" is not NULL,
 * the next INSERT copies about this number of rows: count them.
 */
Datum
vp_report(PG_FUNCTION_ARGS)
{
	if (!progress.active || is_ignored() || PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_VOID();
	progress.command = number_of(text_to_cstring(PG_GETARG_TEXT_PP(0)), commands, lengthof(commands));
	progress.relid = PG_GETARG_OID(1);
	progress.phase = number_of(text_to_cstring(PG_GETARG_TEXT_PP(2)), phases, lengthof(phases));
	progress.counts = !PG_ARGISNULL(3);
	progress.total = progress.counts ? Max(PG_GETARG_INT64(3), 0) : 0;
	progress.done = 0;
	pgstat_progress_end_command();
	vp_progress_publish();

	PG_RETURN_VOID();
}

/* Callback for the end of the memory of the counted node */
static void
forget_node(void *arg)
{
	if (counted_node == arg)
		counted_node = NULL;
}

/* Function of the node that returns the rows to copy */
static TupleTableSlot *
count_row(PlanState *node)
{
	TupleTableSlot *slot;

	if (counted_node != node)
		elog(ERROR, "the node is not counted");
	slot = counted_proc(node);
	if (!TupIsNull(slot))
		vp_progress_row();
	return slot;
}

/* ExecutorStart hook: make the statement that copies rows count them. */
static void
progress_ExecutorStart(QueryDesc *queryDesc, int eflags)
{
	if (next_ExecutorStart)
		next_ExecutorStart(queryDesc, eflags);
	else
		standard_ExecutorStart(queryDesc, eflags);

	if (counted_statement && queryDesc->operation == CMD_INSERT && queryDesc->planstate &&
		outerPlanState(queryDesc->planstate) && strcmp(queryDesc->sourceText, counted_statement) == 0)
	{
		MemoryContext memory = queryDesc->estate->es_query_cxt;
		MemoryContextCallback *callback = MemoryContextAllocZero(memory, sizeof(MemoryContextCallback));

		forget_statement();
		counted_node = outerPlanState(queryDesc->planstate);
		counted_proc = counted_node->ExecProcNodeReal;
		callback->func = forget_node;
		callback->arg = counted_node;
		MemoryContextRegisterResetCallback(memory, callback);
		counted_node->ExecProcNodeReal = count_row;
	}
}

/* Hook for the access to objects: the server has begun to create an index. */
static void
progress_object_access(ObjectAccessType access, Oid classid, Oid objectid, int subid, void *arg)
{
	if (next_object_access)
		next_object_access(access, classid, objectid, subid, arg);

	if (progress.command != 0 && access == OAT_POST_CREATE && classid == RelationRelationId && subid == 0 &&
		is_create_index() && MyBEEntry->st_progress_param[VP_PROGRESS_STATE] == 0)
	{
		/* while rows are copied, only code of users creates an index */
		if (!progress.muted && !progress.counts)
			progress.building++;
		set_marks();
	}
}

/* Install the hooks when the library is loaded. */
void
vp_progress_init(void)
{
	next_ExecutorStart = ExecutorStart_hook;
	ExecutorStart_hook = progress_ExecutorStart;
	next_object_access = object_access_hook;
	object_access_hook = progress_object_access;
}
