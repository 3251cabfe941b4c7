/*-------------------------------------------------------------------------
 *
 * vertical_partition_track.h
 *	  Counts of the columns of a table that are updated and read together.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_track.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VERTICAL_PARTITION_TRACK_H
#define VERTICAL_PARTITION_TRACK_H

#include "access/htup_details.h"
#include "nodes/pg_list.h"

/* A set of columns: column n is bit n - 1 */
#define VP_WORDS	((MaxHeapAttributeNumber + 63) / 64)

typedef struct VpColumnSet
{
	uint64		words[VP_WORDS];
} VpColumnSet;

/* Key of a counter */
typedef struct VpShapeKey
{
	Oid			dbid;			/* InvalidOid: this entry is free */
	Oid			relid;			/* a table, or a split view that was written */
	uint32		is_read;
	uint32		hash;			/* hash of the other fields */
	VpColumnSet columns;
} VpShapeKey;

/*
 * Number of rows in which statements updated, or read, exactly the columns of
 * the key
 */
typedef struct VpShape
{
	VpShapeKey	key;
	double		rows;
	uint64		last_used;
} VpShape;

static inline void
vp_set_add(VpColumnSet *set, AttrNumber attnum)
{
	set->words[(attnum - 1) / 64] |= UINT64CONST(1) << ((attnum - 1) % 64);
}

static inline bool
vp_set_has(const VpColumnSet *set, AttrNumber attnum)
{
	return (set->words[(attnum - 1) / 64] >> ((attnum - 1) % 64)) & 1;
}

extern List *vp_track_shapes(Oid relid);
extern bool vp_track_may_see(Oid relid);

#endif							/* VERTICAL_PARTITION_TRACK_H */
