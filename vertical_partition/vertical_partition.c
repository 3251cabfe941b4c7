/*-------------------------------------------------------------------------
 *
 * vertical_partition.c
 *	  Module header and settings of the vertical_partition library.
 *
 * The definition of each split view calls linked().  The support function of
 * linked() loads the library when a statement that uses a split view is
 * planned.  The view's trigger loads the library when a row is written
 * through the view.  Some statements, such as TRUNCATE, call neither of
 * these functions.  So split() requires the library in
 * session_preload_libraries.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/guc.h"

#include "vertical_partition.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

bool		vp_enable_rewrite = true;
bool		vp_declare_keys = false;

/* Module load callback: define the settings and install the hooks. */
void
_PG_init(void)
{
	DefineCustomBoolVariable("vertical_partition.enable_rewrite",
							 "Runs statements that use hot columns only on the hot part alone.",
							 NULL,
							 &vp_enable_rewrite,
							 true,
							 PGC_USERSET, 0, NULL, NULL, NULL);

	DefineCustomBoolVariable("vertical_partition.declare_keys",
							 "Gives the view of a split table the primary key's entry in the catalog.",
							 "Statements that group by the key may then show all columns. See the README for what a dump does with such views.",
							 &vp_declare_keys,
							 false,
							 PGC_USERSET, 0, NULL, NULL, NULL);

	vp_explain_init();
	vp_guard_init();
	vp_layout_init();
	vp_progress_init();
	vp_rewrite_init();
	vp_write_init();
	vp_utility_init();
	vp_track_init();

	MarkGUCPrefixReserved("vertical_partition");
}
