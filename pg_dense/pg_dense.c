/*-------------------------------------------------------------------------
 *
 * pg_dense.c
 *	  Module header of the pg_dense library: locks, sizes and progress.
 *
 * The advice itself is PL/pgSQL.  These functions are what PL/pgSQL has not
 * got: a lock that is not waited for, the size of a relation that is not
 * opened, and the progress slots of the backend.
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
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/backend_progress.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "bundle_compat.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(pg_dense_try_lock);
PG_FUNCTION_INFO_V1(pg_dense_file_bytes);
PG_FUNCTION_INFO_V1(pg_dense_set_progress);
PG_FUNCTION_INFO_V1(pg_dense_in_transaction_block);

/* In the last progress parameter, "repo": it tells report() from ANALYZE. */
#define PROGRESS_MARK	1919250543

/* ANALYZE has no such phase, so its view shows none. */
#define PROGRESS_PHASE	100

/*
 * dense_internal.try_lock(rel oid) returns boolean
 *
 * Take an ACCESS SHARE lock without waiting.  Return false if another session
 * has a conflicting lock, and null if the relation does not exist.  The caller
 * must be allowed to read a column, so that nobody else can lock the table.
 */
Datum
pg_dense_try_lock(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);

	for (int pass = 0; pass < 2; pass++)
	{
		char	   *name = get_rel_name(relid);

		if (name == NULL)
		{
			if (pass > 0)
				UnlockRelationOid(relid, AccessShareLock);
			PG_RETURN_NULL();
		}
		if (!compat_has_schema_privilege(get_rel_namespace(relid), GetUserId(), ACL_USAGE) ||
			(pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
			 pg_attribute_aclcheck_all(relid, GetUserId(), ACL_SELECT,
									   ACLMASK_ANY) != ACLCHECK_OK))
			aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relid)), name);
		if (pass == 0 && !ConditionalLockRelationOid(relid, AccessShareLock))
			PG_RETURN_BOOL(false);
	}

	PG_RETURN_BOOL(true);
}

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
 * Show in the progress slots of this backend what report() does.  A null
 * relation ends it.
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
