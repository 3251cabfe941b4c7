/*-------------------------------------------------------------------------
 *
 * vertical_partition_alter.h
 *	  ALTER TABLE and DROP TABLE of a split table.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_alter.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VERTICAL_PARTITION_ALTER_H
#define VERTICAL_PARTITION_ALTER_H

#include "nodes/params.h"
#include "nodes/plannodes.h"
#include "utils/queryenvironment.h"

#include "vertical_partition_lookup.h"

/* An ALTER TABLE of a split table, divided by part */
typedef struct VpAlter
{
	VpDdl	   *ddl;
	const char *name;			/* name of the view */
	List	   *hot;			/* subcommands for each part */
	List	   *cold;
	List	   *view;			/* subcommands for the view */
	List	   *added;			/* names of new columns, as char * */
	List	   *added_cold;		/* new columns of the cold part */
	List	   *dropped;
	List	   *retyped;
	List	   *touched;		/* columns whose default may change */
	List	   *unidentified;	/* columns of DROP IDENTITY */
	List	   *unexpressed;	/* columns of DROP EXPRESSION */
	List	   *unidentical;	/* columns that were not identity columns */
	List	   *unconstrained;	/* names of dropped constraints */
	List	   *hot_constraints;	/* names of new constraints of each part */
	List	   *cold_constraints;
	List	   *skipped;		/* notices to be sent */
	bool		key_retyped;
	bool		names;			/* does the command generate names? */
} VpAlter;

/* vertical_partition_alter.c */
extern bool vp_carry_ddl(PlannedStmt *pstmt, const char *query_string,
						 ParamListInfo params, QueryEnvironment *query_env);
extern bool vp_is_altering(Oid view);
extern bool vp_is_carrying(Oid relid);
extern bool vp_is_drop(const AlterTableCmd *cmd);

/* vertical_partition_alter_default.c */
extern Node *vp_default_of(Oid relid, AttrNumber attnum);
extern void vp_lend_defaults(VpAlter *alter);
extern void vp_take_defaults(const VpAlter *alter);

/* vertical_partition_alter_divide.c */
extern void vp_divide_alter(VpAlter *alter, VpDdl *ddl, AlterTableStmt *stmt);

/* vertical_partition_alter_view.c */
extern Oid	vp_shrink_view(const VpAlter *alter);
extern void vp_release_parts(VpAlter *alter, bool *had_key);
extern void vp_remake_view(VpAlter *alter, AlterTableStmt *stmt);

#endif							/* VERTICAL_PARTITION_ALTER_H */
