/*-------------------------------------------------------------------------
 *
 * vertical_partition_ddl.h
 *	  DDL on split views and their parts.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_ddl.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VERTICAL_PARTITION_DDL_H
#define VERTICAL_PARTITION_DDL_H

#include "nodes/parsenodes.h"

#include "vertical_partition_layout.h"
#include "vertical_partition_lookup.h"

extern VpDdl *vp_before_ddl(Node *stmt);
extern void vp_after_ddl(VpDdl *ddl, Node *stmt);
extern void vp_call_helper(const VpDdl *ddl, const char *query);
extern void vp_need_latest_snapshot(const VpDdl *ddl);
extern AlterTableCmd *vp_find_command(AlterTableStmt *stmt, AlterTableType type);
extern bool vp_names_differ(const VpLayout *layout);
extern void vp_carry_names(const VpDdl *ddl);
extern char *vp_qualified_name(Oid relid);
extern void vp_refuse_inheritance(Node *stmt);
extern void vp_follow_foreign_keys(VpDdl *ddl);
extern Oid	vp_file_of(Oid relid);
extern void vp_follow_file(const VpDdl *ddl, Oid file);

#endif							/* VERTICAL_PARTITION_DDL_H */
