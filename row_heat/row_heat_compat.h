/*-------------------------------------------------------------------------
 *
 * row_heat_compat.h
 *	  Differences between the supported PostgreSQL major versions.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  row_heat/row_heat_compat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROW_HEAT_COMPAT_H
#define ROW_HEAT_COMPAT_H

#include "access/hio.h"
#include "bundle_compat.h"
#include "storage/buf_internals.h"
#include "storage/proc.h"
#include "utils/guc.h"

#if PG_VERSION_NUM < 160000
typedef Oid RelFileNumber;
#endif

/* Return the local number of the present transaction of a process. */
static inline LocalTransactionId
compat_local_transaction(const PGPROC *proc)
{
#if PG_VERSION_NUM >= 170000
	return proc->vxid.lxid;
#else
	return proc->lxid;
#endif
}

/* Return the primary key of the relation, also if it is deferrable, or InvalidOid. */
static inline Oid
compat_primary_key(Relation rel)
{
#if PG_VERSION_NUM >= 180000
	return RelationGetPrimaryKeyIndex(rel, true);
#else
	return RelationGetPrimaryKeyIndex(rel);
#endif
}

/* Return the number of the relation's file, which a rewrite changes. */
static inline RelFileNumber
compat_file_number(Relation rel)
{
#if PG_VERSION_NUM >= 160000
	return rel->rd_locator.relNumber;
#else
	return rel->rd_node.relNode;
#endif
}

/* Set the tag to that of a block of the relation. */
static inline void
compat_init_buffer_tag(BufferTag *tag, Relation rel, BlockNumber block)
{
#if PG_VERSION_NUM >= 160000
	InitBufferTag(tag, &rel->rd_locator, MAIN_FORKNUM, block);
#else
	INIT_BUFFERTAG(*tag, rel->rd_node, MAIN_FORKNUM, block);
#endif
}

/* Wrapper of RelationGetBufferForTuple() */
static inline Buffer
compat_buffer_for_tuple(Relation rel, Size size, int options, Buffer *vmbuffer)
{
#if PG_VERSION_NUM >= 160000
	return RelationGetBufferForTuple(rel, size, InvalidBuffer, options, NULL, vmbuffer, NULL, 0);
#else
	return RelationGetBufferForTuple(rel, size, InvalidBuffer, options, NULL, vmbuffer, NULL);
#endif
}

/* Return true if an update has to add entries to the indexes. */
static inline bool
compat_needs_index_entries(CompatUpdateIndexes indexes)
{
#if PG_VERSION_NUM >= 160000
	return indexes == TU_All;
#else
	return indexes;
#endif
}

/*
 * Let functions of a table's owner see only pg_catalog, until the GUC nest level
 * ends, as the server does from 17 on.
 */
static inline void
compat_restrict_search_path(void)
{
#if PG_VERSION_NUM >= 170000
	RestrictSearchPath();
#else
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
#endif
}

#endif							/* ROW_HEAT_COMPAT_H */
