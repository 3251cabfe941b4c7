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

#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/* vertical_partition_redirect.c */
extern PlannedStmt *vp_redirect_ddl(PlannedStmt *pstmt);

/* vertical_partition_redirect_reference.c */
extern bool vp_any_reference(Node *node);
extern bool vp_redirect_references(Node *node, Oid altered, const char *altered_name);
extern bool vp_redirect_create(CreateStmt *stmt);

#endif							/* VERTICAL_PARTITION_REDIRECT_H */
