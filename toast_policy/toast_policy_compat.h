/*-------------------------------------------------------------------------
 *
 * toast_policy_compat.h
 *	  What differs between the supported PostgreSQL major versions.
 *
 * No other file of the extension looks at PG_VERSION_NUM.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_compat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TOAST_POLICY_COMPAT_H
#define TOAST_POLICY_COMPAT_H

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "commands/cluster.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/acl.h"
#include "utils/rel.h"

#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#include "varatt.h"
#else
/* Before 16 an input function had no caller that could take a soft error. */
#define ereturn(context, dummy_value, ...) \
	do { \
		(void) (context); \
		ereport(ERROR, __VA_ARGS__); \
		return dummy_value; \
	} while (0)
#endif

#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#endif

#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* What an update tells about the indexes that need a new entry */
#if PG_VERSION_NUM >= 160000
typedef TU_UpdateIndexes CompatUpdateIndexes;
#else
typedef bool CompatUpdateIndexes;
#endif

/* Can a partitioned table have an access method for its future partitions? */
#if PG_VERSION_NUM >= 170000
#define COMPAT_PARTITIONED_HAS_AM	true
#else
#define COMPAT_PARTITIONED_HAS_AM	false
#endif

/* Does the user own the relation? */
static inline bool
compat_relation_ownercheck(Oid relid, Oid roleid)
{
#if PG_VERSION_NUM >= 160000
	return object_ownercheck(RelationRelationId, relid, roleid);
#else
	return pg_class_ownercheck(relid, roleid);
#endif
}

/* May the user look up objects in the schema? */
static inline bool
compat_schema_usage(Oid schemaid, Oid roleid)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(NamespaceRelationId, schemaid, roleid, ACL_USAGE) == ACLCHECK_OK;
#else
	return pg_namespace_aclcheck(schemaid, roleid, ACL_USAGE) == ACLCHECK_OK;
#endif
}

/* May the user call the function? */
static inline bool
compat_function_execute(Oid function, Oid roleid)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(ProcedureRelationId, function, roleid, ACL_EXECUTE) == ACLCHECK_OK;
#else
	return pg_proc_aclcheck(function, roleid, ACL_EXECUTE) == ACLCHECK_OK;
#endif
}

/*
 * Call a built-in input function without type modifier.  Returns false after an
 * error that went to escontext; NULL takes none.
 */
static inline bool
compat_input_function_call(PGFunction function, char *str,
						   struct Node *escontext, Datum *result)
{
#if PG_VERSION_NUM >= 160000
	return DirectInputFunctionCallSafe(function, str, InvalidOid, -1,
									   escontext, result);
#else
	*result = DirectFunctionCall3(function, CStringGetDatum(str),
								  ObjectIdGetDatum(InvalidOid),
								  Int32GetDatum(-1));

	return true;
#endif
}

/*
 * Rewrite a table in its physical order, as VACUUM FULL does.  The caller has
 * an AccessExclusiveLock on it, and does not have it open.
 */
static inline void
compat_rewrite_table(Oid relid)
{
	ClusterParams params = {0};

#if PG_VERSION_NUM >= 180000
	/* closes the relation */
	cluster_rel(table_open(relid, AccessExclusiveLock), InvalidOid, &params);
#else
	cluster_rel(relid, InvalidOid, &params);
#endif
}

/*
 * A named piece of shared memory that needs no preloading, or NULL where the
 * release has none.
 */
static inline void *
compat_shared_segment(const char *name, size_t size, void (*init) (void *))
{
#if PG_VERSION_NUM >= 170000
	bool		found;

	return GetNamedDSMSegment(name, size, init, &found);
#else
	return NULL;
#endif
}

#endif							/* TOAST_POLICY_COMPAT_H */
