/*-------------------------------------------------------------------------
 *
 * toast_policy_compat.h
 *	  Differences between the supported PostgreSQL major versions.
 *
 * No other file of the extension tests PG_VERSION_NUM.  Differences that
 * concern other extensions as well are in bundle_compat.h.
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

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_proc.h"
#include "commands/progress.h"
#include "utils/acl.h"

#include "bundle_compat.h"

/* Options for writing a row, in the callbacks that insert */
#if PG_VERSION_NUM >= 190000
typedef uint32 CompatOptions;
#else
typedef int CompatOptions;
#endif

/*
 * Parameters that some callbacks have since 19, and the arguments that pass
 * these parameters to heap: the options of an update, and the snapshot of a
 * table that is copied while it is written to.
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
#define PROGRESS_CLUSTER_PHASE_INDEX_SCAN_HEAP	PROGRESS_REPACK_PHASE_INDEX_SCAN_HEAP
#define PROGRESS_CLUSTER_PHASE_SORT_TUPLES	PROGRESS_REPACK_PHASE_SORT_TUPLES
#define PROGRESS_CLUSTER_PHASE_WRITE_NEW_HEAP	PROGRESS_REPACK_PHASE_WRITE_NEW_HEAP
#define PROGRESS_CLUSTER_INDEX_RELID	PROGRESS_REPACK_INDEX_RELID
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

/* index_beginscan() without keys */
static inline IndexScanDesc
compat_index_beginscan(Relation table, Relation index, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 190000
	return index_beginscan(table, index, snapshot, NULL, 0, 0, SO_NONE);
#elif PG_VERSION_NUM >= 180000
	return index_beginscan(table, index, snapshot, NULL, 0, 0);
#else
	return index_beginscan(table, index, snapshot, 0, 0);
#endif
}

/*
 * Rewrite a table in its physical order, as VACUUM FULL does.  The caller must
 * have an AccessExclusiveLock on the table, and must not have the table open.
 */
static inline void
compat_rewrite_table(Oid relid)
{
	ClusterParams params = {0};

	/* since 18, cluster_rel() closes the relation */
#if PG_VERSION_NUM >= 190000
	cluster_rel(REPACK_COMMAND_VACUUMFULL, table_open(relid, AccessExclusiveLock),
				InvalidOid, &params, false);
#elif PG_VERSION_NUM >= 180000
	cluster_rel(table_open(relid, AccessExclusiveLock), InvalidOid, &params);
#else
	cluster_rel(relid, InvalidOid, &params);
#endif
}

#endif							/* TOAST_POLICY_COMPAT_H */
