/*-------------------------------------------------------------------------
 *
 * vertical_partition.h
 *	  Declarations shared by the files of the vertical_partition library.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VERTICAL_PARTITION_H
#define VERTICAL_PARTITION_H

#include "fmgr.h"
#include "nodes/parsenodes.h"

/* GUC variables */
extern bool vp_enable_rewrite;
extern bool vp_declare_keys;

struct VpLayout;

/* What vp_enter_user_code() has changed */
typedef struct VpUserCode
{
	struct ErrorContextCallback *stack;
	char	   *statement;
	int			depth;
} VpUserCode;

/* vertical_partition_context.c */
extern void vp_enter_user_code(VpUserCode *saved, const char *statement);
extern void vp_leave_user_code(const VpUserCode *saved);
extern int	vp_user_depth(void);
extern void vp_call_quietly(void (*function) (void *), void *argument);
extern void vp_call(const char *query);
extern void vp_call_function(const char *name, Oid relation);
extern void vp_run_statement(const char *statement);

/* vertical_partition_link.c */
extern bool vp_row_pointers_valid(Oid cold);
extern List *vp_pointed_tables(void);
extern bool vp_set_row_pointers(const struct VpLayout *layout);

/* vertical_partition_owner.c */
extern void vp_check_owner(Oid relid);

/* Progress of split(), merge() or relink() */
typedef struct VpProgress
{
	bool		active;			/* does one of these functions run? */
	bool		muted;			/* does code of users call another one? */
	int			depth;			/* vp_user_depth() when it began */
	int			command;		/* number of the command, or 0 */
	int			phase;
	Oid			relid;
	bool		counts;			/* does the phase count rows? */
	int64		total;
	int64		done;
	int			indexes;		/* indexes that are built */
	int			building;		/* indexes of the statement that runs now */
} VpProgress;

/* vertical_partition_progress.c */
extern void vp_progress_begin(VpProgress *saved);
extern void vp_progress_end(const VpProgress *saved, bool failed);
extern void vp_progress_publish(void);
extern bool vp_progress_reports(void);
extern void vp_progress_row(void);
extern void vp_progress_statement(const char *statement);
extern void vp_progress_statement_done(void);
extern void vp_progress_total(int64 total);

/* vertical_partition_rewrite.c */
extern bool vp_planner_hooked;

/* vertical_partition_truncate.c */
extern bool vp_is_truncating(Oid part);
extern bool vp_truncate_split(TruncateStmt *stmt);

/* vertical_partition_utility.c */
extern bool vp_is_copying(Oid view);

/* vertical_partition_write.c */
extern PGDLLEXPORT Datum vp_write_row(PG_FUNCTION_ARGS);
extern void vp_check_replica_role(Oid view);

/* Initialization of each file when the library is loaded */
extern void vp_explain_init(void);
extern void vp_guard_init(void);
extern void vp_layout_init(void);
extern void vp_progress_init(void);
extern void vp_rewrite_init(void);
extern void vp_track_init(void);
extern void vp_utility_init(void);
extern void vp_write_init(void);

#endif							/* VERTICAL_PARTITION_H */
