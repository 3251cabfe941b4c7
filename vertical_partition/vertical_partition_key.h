/*-------------------------------------------------------------------------
 *
 * vertical_partition_key.h
 *	  The primary key of a split view.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_key.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VERTICAL_PARTITION_KEY_H
#define VERTICAL_PARTITION_KEY_H

#include "access/attnum.h"

extern void vp_follow_key(Oid view);
extern bool vp_has_key(Oid view);
extern bool vp_may_have_key(Oid view);
extern bool vp_key_uses(Oid hot, AttrNumber attnum);
extern bool vp_remove_key(Oid view);
extern void vp_restore_key(Oid view);

#endif							/* VERTICAL_PARTITION_KEY_H */
