/*-------------------------------------------------------------------------
 *
 * toast_policy_compat.h
 *	  Differences between the supported PostgreSQL major versions.
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
#include "commands/progress.h"
#include "fmgr.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/acl.h"
#include "utils/rel.h"

#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#include "varatt.h"
#else
/* Before 16, no caller of an input function could handle a soft error. */
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

#if PG_VERSION_NUM >= 190000
#include "commands/repack.h"
#else
#include "commands/cluster.h"
#endif

#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* An update's information about indexes that need a new entry */
#if PG_VERSION_NUM >= 160000
typedef TU_UpdateIndexes CompatUpdateIndexes;
#else
typedef bool CompatUpdateIndexes;
#endif

/* Options for writing a row, in the callbacks that insert */
#if PG_VERSION_NUM >= 190000
typedef uint32 CompatOptions;
#else
typedef int CompatOptions;
#endif

/*
 * Additional parameters that callbacks have since 19, and how they are passed
 * on: the options of an update, and the snapshot of a table that is copied
 * while it is written to.
 */
#if PG_VERSION_NUM >= 190000
#define COMPAT_UPDATE_OPTIONS_PARAM	uint32 options,
#define COMPAT_UPDATE_OPTIONS	options,
#define COMPAT_COPY_SNAPSHOT_PARAM	Snapshot snapshot,
#define COMPAT_COPY_SNAPSHOT	snapshot,
#else
#define COMPAT_UPDATE_OPTIONS_PARAM
#define COMPAT_UPDATE_OPTIONS
#define COMPAT_COPY_SNAPSHOT_PARAM
#define COMPAT_COPY_SNAPSHOT
#endif

/* Since 19, the progress report of CLUSTER and VACUUM FULL is called REPACK. */
#if PG_VERSION_NUM >= 190000
#define PROGRESS_CLUSTER_PHASE	PROGRESS_REPACK_PHASE
#define PROGRESS_CLUSTER_PHASE_SEQ_SCAN_HEAP	PROGRESS_REPACK_PHASE_SEQ_SCAN_HEAP
#define PROGRESS_CLUSTER_TOTAL_HEAP_BLKS	PROGRESS_REPACK_TOTAL_HEAP_BLKS
#define PROGRESS_CLUSTER_HEAP_BLKS_SCANNED	PROGRESS_REPACK_HEAP_BLKS_SCANNED
#define PROGRESS_CLUSTER_HEAP_TUPLES_SCANNED	PROGRESS_REPACK_HEAP_TUPLES_SCANNED
#define PROGRESS_CLUSTER_HEAP_TUPLES_WRITTEN	PROGRESS_REPACK_HEAP_TUPLES_INSERTED
#endif

/* Can a partitioned table have an access method for future partitions? */
#if PG_VERSION_NUM >= 170000
#define COMPAT_PARTITIONED_HAS_AM	true
#else
#define COMPAT_PARTITIONED_HAS_AM	false
#endif

/* Return true if the user owns the relation. */
static inline bool
compat_relation_ownercheck(Oid relid, Oid roleid)
{
#if PG_VERSION_NUM >= 160000
	return object_ownercheck(RelationRelationId, relid, roleid);
#else
	return pg_class_ownercheck(relid, roleid);
#endif
}

/* Return true if the user may look up objects in the schema. */
static inline bool
compat_schema_usage(Oid schemaid, Oid roleid)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(NamespaceRelationId, schemaid, roleid, ACL_USAGE) == ACLCHECK_OK;
#else
	return pg_namespace_aclcheck(schemaid, roleid, ACL_USAGE) == ACLCHECK_OK;
#endif
}

/* Return true if the user may call the function. */
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
 * Call a built-in input function without type modifier.  Return false after an
 * error that was saved in escontext.  If escontext is NULL, errors are raised.
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
 * Rewrite a table in its physical order, as VACUUM FULL does.  The caller must
 * have an AccessExclusiveLock on the table, and must not have it open.
 */
static inline void
compat_rewrite_table(Oid relid)
{
	ClusterParams params = {0};

	/* since 18, this closes the relation */
#if PG_VERSION_NUM >= 190000
	cluster_rel(REPACK_COMMAND_VACUUMFULL, table_open(relid, AccessExclusiveLock),
				InvalidOid, &params, false);
#elif PG_VERSION_NUM >= 180000
	cluster_rel(table_open(relid, AccessExclusiveLock), InvalidOid, &params);
#else
	cluster_rel(relid, InvalidOid, &params);
#endif
}

/* table_beginscan() without keys */
static inline TableScanDesc
compat_beginscan(Relation rel, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan(rel, snapshot, 0, NULL, SO_NONE);
#else
	return table_beginscan(rel, snapshot, 0, NULL);
#endif
}

/* table_beginscan_tidrange() */
static inline TableScanDesc
compat_beginscan_tidrange(Relation rel, Snapshot snapshot, ItemPointer first,
						  ItemPointer last)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan_tidrange(rel, snapshot, first, last, SO_NONE);
#else
	return table_beginscan_tidrange(rel, snapshot, first, last);
#endif
}

/* Make a new tranche of locks.  Before 19, each process registers its name. */
static inline int
compat_new_tranche(const char *name)
{
#if PG_VERSION_NUM >= 190000
	return LWLockNewTrancheId(name);
#else
	return LWLockNewTrancheId();
#endif
}

static inline void
compat_name_tranche(int tranche, const char *name)
{
#if PG_VERSION_NUM < 190000
	LWLockRegisterTranche(tranche, name);
#endif
}

/*
 * Get a named piece of shared memory that needs no preloading, or NULL if the
 * release has none.
 */
typedef void (*CompatSegmentInit) (void *segment);

#if PG_VERSION_NUM >= 190000
static inline void
compat_init_segment(void *segment, void *arg)
{
	(*(CompatSegmentInit *) arg) (segment);
}
#endif

static inline void *
compat_shared_segment(const char *name, size_t size, CompatSegmentInit init)
{
#if PG_VERSION_NUM >= 190000
	bool		found;

	return GetNamedDSMSegment(name, size, compat_init_segment, &found, &init);
#elif PG_VERSION_NUM >= 170000
	bool		found;

	return GetNamedDSMSegment(name, size, init, &found);
#else
	return NULL;
#endif
}

#endif							/* TOAST_POLICY_COMPAT_H */
