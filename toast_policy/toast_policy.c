/*-------------------------------------------------------------------------
 *
 * toast_policy.c
 *	  Module header and settings of the toast_policy library.
 *
 * The library is loaded when a table that uses its access method is opened, or
 * a value of one of its types is read.  The library needs no preloading.  In
 * releases before 17, the sessions share their statistics only if the library
 * is in shared_preload_libraries.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <zstd.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/guc.h"

#include "toast_policy.h"
#include "toast_policy_compat.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

int			tp_min_size = 4096;
int			tp_min_saved_chunks = 1;
double		tp_min_saving = 0.0;
bool		tp_early_abort = true;
int			tp_lz4_level = 0;
int			tp_type_codec = TP_ZSTD;
int			tp_zstd_level = TP_ZSTD_DEFAULT_LEVEL;
bool		tp_recompress_source = false;
bool		tp_out_of_line = true;

/* Is the library defining its settings? */
static bool tp_loading = false;

static const struct config_enum_entry tp_type_codec_options[] = {
	{"none", TP_NONE, false},
	{"lz4", TP_LZ4, false},
	{"snappy", TP_SNAPPY, false},
	{"zstd", TP_ZSTD, false},
	{NULL, 0, false}
};

/*
 * Check hook of toast_policy.zstd_level.  The highest levels take so much
 * memory and time that not every user may set them.  Accept a value from the
 * configuration file, or from a setting of the database or the role: when a
 * user made that setting, the server checked the user's privilege.  Accept a
 * value that a parallel worker gets from its leader, because the leader has
 * checked the value.
 *
 * A value that was set before the library was loaded takes effect when the
 * library is loaded.  The current user may then be another user than the one
 * who set the value, for example in a SECURITY DEFINER function.  So check the
 * outer user, too.
 */
static bool
tp_check_zstd_level(int *newval, void **extra, GucSource source)
{
	if (*newval <= TP_ZSTD_USER_LEVEL || source < PGC_S_CLIENT ||
		InitializingParallelWorker)
		return true;
	if (IsTransactionState() &&
		pg_parameter_aclcheck("toast_policy.zstd_level", GetUserId(), ACL_SET) == ACLCHECK_OK &&
		(!tp_loading ||
		 pg_parameter_aclcheck("toast_policy.zstd_level", GetOuterUserId(), ACL_SET) == ACLCHECK_OK))
		return true;

	GUC_check_errcode(ERRCODE_INSUFFICIENT_PRIVILEGE);
	GUC_check_errmsg("permission denied to set parameter \"%s\" to %d",
					 "toast_policy.zstd_level", *newval);
	GUC_check_errdetail("Levels above %d need much memory, so only superusers and roles with privilege SET on the parameter may set them.",
						TP_ZSTD_USER_LEVEL);
	return false;
}

/* Called when a backend, or the postmaster, loads the library. */
void
_PG_init(void)
{
	tp_loading = true;
	DefineCustomIntVariable("toast_policy.min_size",
							"Sets the size above which a value must save whole TOAST chunks to be kept compressed.",
							"Smaller values are compressed as in a table of heap.",
							&tp_min_size,
							4096, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_BYTE, NULL, NULL, NULL);
	DefineCustomIntVariable("toast_policy.min_saved_chunks",
							"Sets the number of TOAST chunks that a compressed value must save.",
							"Zero keeps every value that becomes smaller, as the server does.",
							&tp_min_saved_chunks,
							1, 0, 1000,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomRealVariable("toast_policy.min_saving",
							 "Sets the part of its size that a compressed value must save.",
							 "In addition to toast_policy.min_saved_chunks, and for the same values.",
							 &tp_min_saving,
							 0.0, 0.0, 1.0,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("toast_policy.early_abort",
							 "Stores large values uncompressed if a probe finds that they are incompressible.",
							 NULL,
							 &tp_early_abort,
							 true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("toast_policy.lz4_level",
							"Sets the level of lz4 compression.",
							"Zero is the fast compressor that the server uses, 1 to 12 are the levels of lz4hc.",
							&tp_lz4_level,
							0, 0, TP_LZ4_MAX_LEVEL,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("toast_policy.type_codec",
							 "Sets the codec of ztext and zbytea values whose type names no codec.",
							 NULL,
							 &tp_type_codec,
							 TP_ZSTD, tp_type_codec_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("toast_policy.zstd_level",
							"Sets the level of zstd compression.",
							"Negative levels are faster.  Levels above 19 need much memory, and ordinary users may not set them.",
							&tp_zstd_level,
							TP_ZSTD_DEFAULT_LEVEL, -100, TP_ZSTD_MAX_LEVEL,
							PGC_USERSET, 0, tp_check_zstd_level, NULL, NULL);
	DefineCustomBoolVariable("toast_policy.recompress_source",
							 "Compresses anew inserted values that are stored compressed in another table.",
							 NULL,
							 &tp_recompress_source,
							 false,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("toast_policy.out_of_line",
							 "Moves governed values of small rows out of line, in tables with a toast_tuple_target below 2032.",
							 "If off, toast_tuple_target has the effect that it has in a table of heap.",
							 &tp_out_of_line,
							 true,
							 PGC_USERSET, 0, NULL, NULL, NULL);

	tp_loading = false;

	/* a misspelled setting is an error from now on */
	MarkGUCPrefixReserved("toast_policy");

	tp_am_init();
	tp_out_of_line_init();
	tp_create_init();
	tp_hooks_init();
	tp_stats_init();
}
