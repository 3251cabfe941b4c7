/*-------------------------------------------------------------------------
 *
 * vertical_partition_layout.h
 *	  Location of the columns of a split view.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_layout.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VERTICAL_PARTITION_LAYOUT_H
#define VERTICAL_PARTITION_LAYOUT_H

#include "access/attnum.h"
#include "nodes/parsenodes.h"

/* How the hot part refers to the cold part */
typedef enum VpMethod
{
	VP_SHARED_KEY,				/* both parts have the primary key */
	VP_SURROGATE_KEY,			/* the hot part has the cold part's own key */
	VP_ROW_POINTER				/* the hot part has the cold row's TID */
} VpMethod;

/* Location of a column of the view */
typedef struct VpColumn
{
	bool		cold;
	AttrNumber	attnum;			/* its number in that part */
} VpColumn;

/* A split view, as read from its definition */
typedef struct VpLayout
{
	Oid			view;
	Oid			owner;			/* owner of the view */
	VpMethod	method;
	Oid			hot;
	Oid			cold;
	int			hot_rti;		/* index in the view's range table */
	int			cold_rti;
	int			natts;			/* number of the view's columns */
	VpColumn   *columns;		/* array of natts elements */

	/*
	 * Keys that the link (the view's join condition) compares for equality.
	 * There are none with VP_SURROGATE_KEY.
	 */
	int			nkeys;
	AttrNumber *hot_keys;
	AttrNumber *cold_keys;
	Oid		   *key_operators;
	Oid		   *key_collations;

	/*
	 * Numbers of the columns that link the parts but are not in the primary
	 * key.  With VP_SURROGATE_KEY, each part has such a column.  With
	 * VP_ROW_POINTER, the hot part has such a column, and cold_link is the
	 * number of the system column ctid.  With VP_SHARED_KEY, both numbers are
	 * zero.
	 */
	AttrNumber	hot_link;
	AttrNumber	cold_link;
} VpLayout;

extern const VpLayout *vp_layout(Oid view);
extern void vp_copy_layout(VpLayout *to, const VpLayout *from);
extern bool vp_query_layout(Query *query, VpLayout *layout);
extern Oid	vp_linked_oid(void);
extern Oid	vp_relation_owner(Oid relid);
extern Oid	vp_view_of_part(Oid part);
extern const char *vp_method_name(VpMethod method);

#endif							/* VERTICAL_PARTITION_LAYOUT_H */
