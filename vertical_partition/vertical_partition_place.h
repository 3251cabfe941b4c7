/*-------------------------------------------------------------------------
 *
 * vertical_partition_place.h
 *	  The part that has a column, a constraint or an index of a split table.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_place.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VERTICAL_PARTITION_PLACE_H
#define VERTICAL_PARTITION_PLACE_H

#include "nodes/parsenodes.h"

#include "vertical_partition_alter.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_lookup.h"

/* Places that a column or a subcommand belongs to */
#define VP_IN_HOT		1
#define VP_IN_COLD		2
#define VP_IN_BOTH		(VP_IN_HOT | VP_IN_COLD)
#define VP_IN_VIEW		4

extern bool vp_has_name(List *names, const char *name);
extern List *vp_add_name(List *names, char *name);
extern void vp_refuse(const VpAlter *alter, const char *what);
extern void vp_undefined_column(const VpAlter *alter, const char *name);
extern void vp_duplicate_constraint(const char *table, const char *name);
extern int	vp_places_of(const VpAlter *alter, const char *name);
extern char *vp_name_in_part(const VpLayout *layout, const char *name, bool cold);
extern Oid	vp_part_of_column(const VpAlter *alter, const char *name, AttrNumber *attnum);
extern int	vp_place(const VpAlter *alter, List *names, const char *what);
extern bool vp_has_no_columns(Node *node);
extern List *vp_names_in(const VpAlter *alter, Node *expr);
extern List *vp_strings(List *list);
extern List *vp_names_in_elements(const VpAlter *alter, List *elements);
extern List *vp_names_in_constraint(const VpAlter *alter, const Constraint *constraint);
extern int	vp_place_of_constraint(const VpLayout *layout, const char *name);
extern int	vp_place_of_index(const VpLayout *layout, const char *name);
extern void vp_check_new_name(const VpDdl *ddl, const char *name);
extern void vp_set_name(RangeVar *name, Oid relid);

#endif							/* VERTICAL_PARTITION_PLACE_H */
