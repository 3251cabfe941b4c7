/*-------------------------------------------------------------------------
 *
 * index_align_compat.h
 *	  Differences between the supported PostgreSQL major versions.
 *
 * No other file of the extension tests PG_VERSION_NUM.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  index_align/index_align_compat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEX_ALIGN_COMPAT_H
#define INDEX_ALIGN_COMPAT_H

#include "tcop/pquery.h"

/* Run a portal to completion, at top level, and discard its rows. */
static inline void
compat_portal_run(Portal portal, QueryCompletion *qc)
{
#if PG_VERSION_NUM >= 180000
	(void) PortalRun(portal, FETCH_ALL, true, None_Receiver, None_Receiver, qc);
#else
	(void) PortalRun(portal, FETCH_ALL, true, true, None_Receiver, None_Receiver, qc);
#endif
}

#endif							/* INDEX_ALIGN_COMPAT_H */
