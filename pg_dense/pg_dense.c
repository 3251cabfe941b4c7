/*-------------------------------------------------------------------------
 *
 * pg_dense.c
 *	  Module header of the pg_dense library: sizes, progress and refusals.
 *
 * The advice itself is written in PL/pgSQL.  PL/pgSQL has no functions for
 * the size of a relation that is not opened, for the progress slots of the
 * backend, or for an error without the lines of our functions in its
 * context.  So these functions are in C.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  pg_dense/pg_dense.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "commands/progress.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(pg_dense_file_bytes);
PG_FUNCTION_INFO_V1(pg_dense_set_progress);
PG_FUNCTION_INFO_V1(pg_dense_in_transaction_block);
PG_FUNCTION_INFO_V1(pg_dense_refuse);
PG_FUNCTION_INFO_V1(pg_dense_check_arguments);

/* In the last progress parameter, "repo": it tells report() from ANALYZE. */
#define PROGRESS_MARK	1919250543

/* ANALYZE has no such phase, so its view shows none. */
#define PROGRESS_PHASE	100

/*
 * dense_internal.file_bytes(rel oid) returns bigint
 *
 * Return the size of the main fork, or null if there is no file.  Unlike
 * pg_relation_size(), do not open the relation: that waits for a lock, and
 * fills the relation cache of a session that looks at thousands of tables.
 */
Datum
pg_dense_file_bytes(PG_FUNCTION_ARGS)
{
	LOCAL_FCINFO(call, 1);
	Datum		path;
	char	   *name;
	int64		bytes = 0;

	InitFunctionCallInfoData(*call, NULL, 1, InvalidOid, NULL, NULL);
	call->args[0].value = PG_GETARG_DATUM(0);
	call->args[0].isnull = false;
	path = pg_relation_filepath(call);
	if (call->isnull)
		PG_RETURN_NULL();
	name = TextDatumGetCString(path);

	for (int segment = 0;; segment++)
	{
		char	   *file = segment == 0 ? name : psprintf("%s.%d", name, segment);
		struct stat st;

		CHECK_FOR_INTERRUPTS();
		if (stat(file, &st) < 0)
		{
			if (errno != ENOENT)
				ereport(ERROR,
						(errcode_for_file_access(),
						 errmsg("could not stat file \"%s\": %m", file)));
			if (segment == 0)
				PG_RETURN_NULL();
			break;
		}
		bytes += st.st_size;
	}

	PG_RETURN_INT64(bytes);
}

/*
 * dense_internal.set_progress(rel oid, tables_done, tables_total,
 * bytes_done, bytes_total) returns void
 *
 * Show the progress of report() in the progress slots of this backend.  A
 * null relation ends it.
 */
Datum
pg_dense_set_progress(PG_FUNCTION_ARGS)
{
	const int	params[] = {0, 15, 16, 17, 18, 19};
	int64		values[] = {PROGRESS_PHASE, 0, 0, 0, 0, PROGRESS_MARK};

	if (PG_ARGISNULL(0))
	{
		pgstat_progress_end_command();
		PG_RETURN_VOID();
	}
	for (int i = 1; i <= 4; i++)
		values[i] = PG_ARGISNULL(i) ? 0 : PG_GETARG_INT64(i);
	pgstat_progress_start_command(PROGRESS_COMMAND_ANALYZE, PG_GETARG_OID(0));
	pgstat_progress_update_multi_param(lengthof(params), params, values);

	PG_RETURN_VOID();
}

/*
 * dense_internal.in_transaction_block() returns boolean
 */
Datum
pg_dense_in_transaction_block(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(IsTransactionBlock());
}

/*
 * dense_internal.refuse(state text, message text, detail text, hint text)
 * returns void
 *
 * Raise an error.  In contrast to RAISE, its context is empty: the user did
 * not write our functions, so their lines would only hide the message.  apply()
 * and undo() run at the top level, so that there are no lines of others.
 */
Datum
pg_dense_refuse(PG_FUNCTION_ARGS)
{
	char	   *texts[4];

	for (int i = 0; i < 4; i++)
		texts[i] = PG_ARGISNULL(i) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(i));
	if (texts[0] == NULL || strlen(texts[0]) != 5 || texts[1] == NULL)
		elog(ERROR, "refuse() needs an SQLSTATE and a message");
	error_context_stack = NULL;
	ereport(ERROR,
			(errcode(MAKE_SQLSTATE(texts[0][0], texts[0][1], texts[0][2], texts[0][3], texts[0][4])),
			 errmsg_internal("%s", texts[1]),
			 texts[2] ? errdetail_internal("%s", texts[2]) : 0,
			 texts[3] ? errhint("%s", texts[3]) : 0));

	PG_RETURN_VOID();
}

/*
 * dense_internal.check_arguments(budget_seconds int4, relation oid,
 * min_bytes bigint, with_risk boolean) returns int4
 *
 * Check the arguments of report(), and return the first one.  report() is an
 * SQL function, which calls this.  Its line is the first of the context, and is
 * left out.  Errors: 22023, or 22004 for a null, and 42809 if the relation is
 * not a table or materialized view.
 */
Datum
pg_dense_check_arguments(PG_FUNCTION_ARGS)
{
	ErrorContextCallback *stack = error_context_stack;
	Oid			relid = PG_ARGISNULL(1) ? InvalidOid : PG_GETARG_OID(1);
	char		relkind = PG_ARGISNULL(1) ? RELKIND_RELATION : get_rel_relkind(relid);

	if (stack != NULL)
		error_context_stack = stack->previous;
	if (PG_ARGISNULL(0) || PG_GETARG_INT32(0) <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("budget_seconds must be greater than zero")));
	if (PG_ARGISNULL(2) || PG_GETARG_INT64(2) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("min_bytes must not be negative")));
	if (PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("with_risk must not be null")));
	if (relkind != RELKIND_RELATION && relkind != RELKIND_MATVIEW &&
		relkind != RELKIND_PARTITIONED_TABLE && relkind != RELKIND_FOREIGN_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation %s is not a table or materialized view",
						DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(relid)))),
				 errhint("dense.status shows the features that a split table has.")));
	error_context_stack = stack;

	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}
