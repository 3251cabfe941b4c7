/*-------------------------------------------------------------------------
 *
 * vertical_partition_redirect.h
 *	  Commands on a split table that are for one of its parts.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_redirect.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VERTICAL_PARTITION_REDIRECT_H
#define VERTICAL_PARTITION_REDIRECT_H

#include "nodes/plannodes.h"

extern bool vp_redirect_references(Node *node, Oid altered, const char *altered_name);
extern PlannedStmt *vp_redirect_ddl(PlannedStmt *pstmt);

#endif							/* VERTICAL_PARTITION_REDIRECT_H */
