/*-------------------------------------------------------------------------
 *
 * compact_types.c
 *	  Module header of the compact_types library.
 *
 * Except for settings and for caches in each backend, the library has no state
 * of its own.  The library must be preloaded only if compact_types.auto is
 * used.  Each type has its own files.
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
#include "miscadmin.h"
#include "utils/guc.h"

#include "compact_text_dictionary.h"
#include "compact_trained.h"
#include "compact_types.h"
#include "compact_types_compat.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

/*
 * The last deterministic collation that was looked up, and whether it is C.
 * Do not keep them in fn_extra: each restart of an index scan makes new
 * FmgrInfos, in memory that is freed only at the end of the query.
 */
Oid			compact_last_collid = InvalidOid;
bool		compact_last_collate_c = false;

/*
 * Return true if the collation orders strings as memcmp() does.  Raise an
 * error for an undetermined or a nondeterministic collation, in which values
 * of the type cannot be compared.  A typid of InvalidOid stands for
 * compact_text.
 */
bool
compact_collation_is_c(Oid collid, Oid typid)
{
	bool		collate_c;
	bool		deterministic;

	if (!OidIsValid(collid))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_COLLATION),
				 errmsg("could not determine which collation to use for string comparison"),
				 errhint("Use the COLLATE clause to set the collation explicitly.")));

	compat_collation_properties(collid, &collate_c, &deterministic);
	if (!deterministic)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("nondeterministic collations are not supported for type %s",
						OidIsValid(typid) ? format_type_be(typid) : "compact_text"),
				 errhint("Use a deterministic collation, or cast the value to text.")));

	compact_last_collid = collid;
	compact_last_collate_c = collate_c;

	return collate_c;
}

/* Called when a backend, or the postmaster, loads the library. */
void
_PG_init(void)
{
	compact_auto_init();
	compact_guard_init();
	compact_trained_init();
	if (process_shared_preload_libraries_in_progress)
		compact_text_dict_build_all();

	/* a misspelled setting is an error from now on */
	MarkGUCPrefixReserved("compact_types");
}
