/*-------------------------------------------------------------------------
 *
 * vertical_partition_owner.c
 *	  What split(), merge() and relink() do as the owner of the table.
 *
 * A superuser who splits somebody's table must not run the code that belongs to
 * it: functions of CHECK constraints, domains, defaults, generated columns and
 * indexes, and triggers.  The planner alone evaluates some of them.  So every
 * statement on the rows or the definition of the table is run as its owner, as
 * REINDEX does.  SECURITY_RESTRICTED_OPERATION keeps that code from leaving
 * anything behind which would be run by the caller later, such as a deferred
 * trigger.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_owner.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaddress.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "vertical_partition.h"
#include "vertical_partition_compat.h"

PG_FUNCTION_INFO_V1(vp_execute_as);
PG_FUNCTION_INFO_V1(vp_lock_relation);

/*
 * vertical_partition.execute_as(owner oid, statement text) returns bigint
 *
 * Takes a role and a statement.  Runs the statement as that role in a
 * security-restricted operation.  Returns the value that a query for one bigint
 * finds, else the number of rows that were processed.  Errors: 42501 if the
 * caller does not have the privileges of the role.
 */
Datum
vp_execute_as(PG_FUNCTION_ARGS)
{
	Oid			owner = PG_GETARG_OID(0);
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Oid			save_userid;
	int			save_context;
	int			result;
	int64		value;

	GetUserIdAndSecContext(&save_userid, &save_context);
	if (!has_privs_of_role(save_userid, owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must have the privileges of role \"%s\"", GetUserNameFromId(owner, false))));

	/* an error ends the transaction or subtransaction, which restores them */
	SetUserIdAndSecContext(owner, save_context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	SPI_connect();
	result = SPI_execute(statement, false, 0);
	if (result < 0)
		elog(ERROR, "could not execute \"%s\": %s", statement, SPI_result_code_string(result));
	value = (int64) SPI_processed;
	if (result == SPI_OK_SELECT && SPI_processed == 1 && SPI_tuptable->tupdesc->natts == 1 &&
		SPI_gettypeid(SPI_tuptable->tupdesc, 1) == INT8OID)
	{
		bool		isnull;
		Datum		datum = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);

		value = isnull ? 0 : DatumGetInt64(datum);
	}
	SPI_finish();
	SetUserIdAndSecContext(save_userid, save_context);

	PG_RETURN_INT64(value);
}

/* Errors out unless the relation is there and the caller owns it. */
void
vp_check_owner(Oid relid)
{
	char	   *name = get_rel_name(relid);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!compat_owns_relation(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relid)), name);
}

/*
 * vertical_partition.lock(relation regclass, exclusive boolean) returns void
 *
 * Takes a relation, and whether readers are to be locked out as well as
 * writers.  Locks the relation alone, not what a view is made of, by its OID: a
 * name can come to be another relation's while LOCK TABLE waits.  Errors: 42501
 * if the caller does not own it, before and after the wait; 55000 if it is gone
 * by then.
 */
Datum
vp_lock_relation(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	char	   *name;

	vp_check_owner(relid);
	name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid));
	LockRelationOid(relid, PG_GETARG_BOOL(1) ? AccessExclusiveLock : ShareRowExclusiveLock);
	if (get_rel_name(relid) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("relation %s was changed by another session", name)));
	vp_check_owner(relid);

	PG_RETURN_VOID();
}
