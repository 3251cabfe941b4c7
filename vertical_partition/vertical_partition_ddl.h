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

#include "nodes/params.h"
#include "nodes/plannodes.h"
#include "utils/queryenvironment.h"

#include "vertical_partition.h"
#include "vertical_partition_layout.h"

/* State of the split table before a command is executed */
struct VpDdl
{
	Oid			view;			/* OID of the view */
	Oid			part;			/* OID of the part that the command names, or
								 * InvalidOid */
	Oid			owner;			/* owner of the view before the command */
	VpLayout	layout;			/* layout before the command */
	Oid			cold_file;		/* relfilenode of the cold part before the
								 * command */
};

/* Places that a column or a subcommand belongs to */
#define VP_IN_HOT		1
#define VP_IN_COLD		2
#define VP_IN_BOTH		(VP_IN_HOT | VP_IN_COLD)
#define VP_IN_VIEW		4

/* An ALTER TABLE of a split table, divided by part */
typedef struct VpAlter
{
	VpDdl	   *ddl;
	const char *name;			/* name of the view */
	List	   *hot;			/* subcommands for each part */
	List	   *cold;
	List	   *view;			/* subcommands for the view */
	List	   *added;			/* names of new columns, as char * */
	List	   *added_cold;		/* those of them that the cold part gets */
	List	   *dropped;
	List	   *retyped;
	List	   *touched;		/* columns whose default may change */
	List	   *unidentified;	/* columns of DROP IDENTITY */
	List	   *unexpressed;	/* columns of DROP EXPRESSION */
	List	   *unidentical;	/* columns that were no identity columns */
	List	   *unconstrained;	/* names of dropped constraints */
	List	   *hot_constraints;	/* names of new constraints of each part */
	List	   *cold_constraints;
	List	   *skipped;		/* notices to be sent */
	bool		key_retyped;
	bool		names;			/* does the command generate names? */
} VpAlter;

/* vertical_partition_ddl.c */
extern VpDdl *vp_find_split(RangeVar *name);
extern bool vp_carries(const VpDdl *ddl);
extern void vp_lock_split(VpDdl *ddl);
extern Oid	vp_lock_view(const RangeVar *name, bool owned);
extern void vp_call(const char *query);
extern void vp_call_helper(const VpDdl *ddl, const char *query);
extern void vp_need_latest_snapshot(const VpDdl *ddl);
extern bool vp_names_differ(const VpLayout *layout);
extern void vp_carry_names(const VpDdl *ddl);
extern char *vp_qualified_name(Oid relid);
extern void vp_refuse_inheritance(Node *stmt);
extern void vp_follow_foreign_keys(VpDdl *ddl);
extern Oid	vp_file_of(Oid relid);
extern void vp_follow_file(const VpDdl *ddl, Oid file);

/* vertical_partition_alter.c */
extern bool vp_carry_ddl(PlannedStmt *pstmt, const char *query_string,
						 ParamListInfo params, QueryEnvironment *query_env);
extern bool vp_is_altering(Oid view);
extern bool vp_is_carrying(Oid relid);

/* vertical_partition_key.c */
extern bool vp_key_uses(Oid hot, AttrNumber attnum);
extern bool vp_remove_key(Oid view);
extern void vp_restore_key(Oid view);

/* vertical_partition_redirect.c */
extern bool vp_has_name(List *names, const char *name);
extern List *vp_add_name(List *names, char *name);
extern void vp_refuse(const VpAlter *alter, const char *what);
extern void vp_undefined_column(const VpAlter *alter, const char *name);
extern void vp_duplicate_constraint(const char *table, const char *name);
extern int	vp_places_of(const VpAlter *alter, const char *name);
extern char *vp_name_in_part(const VpLayout *layout, const char *name, bool cold);
extern int	vp_place(const VpAlter *alter, List *names, const char *what);
extern bool vp_has_no_columns(Node *node);
extern List *vp_names_in(const VpAlter *alter, Node *expr);
extern List *vp_names_in_constraint(const VpAlter *alter, const Constraint *constraint);
extern int	vp_place_of_constraint(const VpLayout *layout, const char *name);
extern int	vp_place_of_index(const VpLayout *layout, const char *name);
extern Node *vp_default_of(Oid relid, AttrNumber attnum);
extern void vp_check_new_name(const VpDdl *ddl, const char *name);
extern void vp_changed(const char *name);
extern void vp_refresh_split(VpDdl *ddl, Oid view);
extern VpDdl *vp_hold_split(RangeVar *name);
extern VpDdl *vp_find_any_split(RangeVar *name);
extern bool vp_redirect_references(Node *node, Oid altered, const char *altered_name);
extern PlannedStmt *vp_redirect_ddl(PlannedStmt *pstmt);

#endif							/* VERTICAL_PARTITION_DDL_H */
