/*-------------------------------------------------------------------------
 *
 * compact_types.c
 *	  Module header of the compact_types library.
 *
 * The library has no state of its own beyond per-backend caches and needs no
 * preloading; each type lives in a file of its own.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_types.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

PG_MODULE_MAGIC;
