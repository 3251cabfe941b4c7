/*-------------------------------------------------------------------------
 *
 * compact_types_compat.h
 *	  Differences between the supported PostgreSQL major versions.
 *
 * No other file of the extension uses PG_VERSION_NUM.  Differences that
 * concern other extensions as well are in bundle_compat.h.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_types_compat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_TYPES_COMPAT_H
#define COMPACT_TYPES_COMPAT_H

#include "access/tupdesc.h"
#include "catalog/index.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "parser/parse_type.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/pg_locale.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "bundle_compat.h"

/*
 * Find out whether a valid collation compares as memcmp() does, and whether it
 * is deterministic.
 */
static inline void
compat_collation_properties(Oid collid, bool *collate_c, bool *deterministic)
{
#if PG_VERSION_NUM >= 180000
	pg_locale_t locale = pg_newlocale_from_collation(collid);

	*collate_c = locale->collate_is_c;
	*deterministic = locale->deterministic;
#else
	pg_locale_t locale;

	*collate_c = lc_collate_is_c(collid);
	*deterministic = true;
	if (!*collate_c)
	{
		/* before 17, NULL stands for the database's libc locale */
		locale = pg_newlocale_from_collation(collid);
		*deterministic = (locale == NULL || locale->deterministic);
	}
#endif
}

/*
 * Return true if the column definition has a STORAGE clause, which 15 does not
 * support.
 */
static inline bool
compat_column_has_storage(const ColumnDef *column)
{
#if PG_VERSION_NUM >= 160000
	return column->storage_name != NULL;
#else
	return false;
#endif
}


/*
 * Read an integer in a notation other than plain decimal digits, if this
 * release knows it.  Return false if the syntax is bad.
 */
static inline bool
compat_parse_int64(const char *str, int64 *value, bool *overflow)
{
#if PG_VERSION_NUM >= 160000
	ErrorSaveContext escontext = {.type = T_ErrorSaveContext};

	escontext.details_wanted = true;
	*value = pg_strtoint64_safe(str, (Node *) &escontext);
	*overflow = escontext.error_occurred &&
		escontext.error_data->sqlerrcode == ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE;

	return !escontext.error_occurred || *overflow;
#else
	return false;
#endif
}

/*
 * Read a number in a notation of numeric other than plain and exponential
 * decimal digits, if this release knows it.  Return false if the syntax is
 * bad.
 */
static inline bool
compat_parse_numeric(PGFunction numeric_input, char *str, Datum *result)
{
#if PG_VERSION_NUM >= 160000
	ErrorSaveContext escontext = {.type = T_ErrorSaveContext};

	return DirectInputFunctionCallSafe(numeric_input, str, InvalidOid, -1,
									   (Node *) &escontext, result);
#else
	return false;
#endif
}

/*
 * The privilege that pg_has_role() checks for SET ROLE.  Before 16, there is
 * no such privilege: every member of a role can SET ROLE to it.
 */
#if PG_VERSION_NUM >= 160000
#define COMPAT_SET_ROLE_PRIVILEGE	"SET"
#else
#define COMPAT_SET_ROLE_PRIVILEGE	"USAGE"
#endif

/*
 * Return the expression that a column of the grouping step stands for, or
 * NULL.  Before 18, a query has no such step among its range table entries.
 */
static inline Node *
compat_group_expression(const RangeTblEntry *rte, int attno)
{
#if PG_VERSION_NUM >= 180000
	if (rte->rtekind == RTE_GROUP)
		return (Node *) list_nth(rte->groupexprs, attno - 1);
#endif
	return NULL;
}

/* Interpretation of an operator by index access methods, B-tree for example */
#if PG_VERSION_NUM >= 180000
#define compat_op_interpretation(opno)	get_op_index_interpretation(opno)
#else
#define compat_op_interpretation(opno)	get_op_btree_interpretation(opno)
#endif

/*
 * Flags that make query_tree_walker() skip expressions for which Vars are
 * aliases
 */
#if PG_VERSION_NUM >= 180000
#define COMPAT_QTW_IGNORE_ALIASES	(QTW_IGNORE_JOINALIASES | QTW_IGNORE_GROUPEXPRS)
#else
#define COMPAT_QTW_IGNORE_ALIASES	QTW_IGNORE_JOINALIASES
#endif

/*
 * Return true if the CHECK constraint is enforced.  Since 18, it can be NOT
 * ENFORCED.
 */
static inline bool
compat_check_is_enforced(const ConstrCheck *check)
{
#if PG_VERSION_NUM >= 180000
	return check->ccenforced;
#else
	(void) check;
	return true;
#endif
}

/*
 * Read the name of a type with its modifier; raise an error if there is no
 * such type.
 */
static inline void
compat_parse_type(const char *name, Oid *typid, int32 *typmod)
{
#if PG_VERSION_NUM >= 160000
	(void) parseTypeString(name, typid, typmod, NULL);
#else
	parseTypeString(name, typid, typmod, false);
#endif
}

/*
 * Show the session in the progress view of commands that rewrite a table, in
 * the phase that reads the old rows.  The view progress uses the same phase
 * numbers.
 */
static inline void
compat_progress_begin_rewrite(Oid relid)
{
#if PG_VERSION_NUM >= 190000
	pgstat_progress_start_command(PROGRESS_COMMAND_REPACK, relid);
	pgstat_progress_update_param(PROGRESS_REPACK_PHASE, PROGRESS_REPACK_PHASE_SEQ_SCAN_HEAP);
#else
	pgstat_progress_start_command(PROGRESS_COMMAND_CLUSTER, relid);
	pgstat_progress_update_param(PROGRESS_CLUSTER_PHASE, PROGRESS_CLUSTER_PHASE_SEQ_SCAN_HEAP);
#endif
}

/* Return true if compat_progress_begin_rewrite() shows the session with this relation. */
static inline bool
compat_progress_is_rewrite(Oid relid)
{
#if PG_VERSION_NUM >= 190000
	ProgressCommandType command = PROGRESS_COMMAND_REPACK;
#else
	ProgressCommandType command = PROGRESS_COMMAND_CLUSTER;
#endif

	return MyBEEntry && MyBEEntry->st_progress_command == command &&
		MyBEEntry->st_progress_command_target == relid;
}

/* Give the relation a new, empty file, as TRUNCATE does. */
static inline void
compat_new_storage(Relation rel)
{
#if PG_VERSION_NUM >= 160000
	RelationSetNewRelfilenumber(rel, rel->rd_rel->relpersistence);
#else
	RelationSetNewRelfilenode(rel, rel->rd_rel->relpersistence);
#endif
}

/* Rebuild the indexes of a relation and of its TOAST table. */
static inline void
compat_reindex_relation(Oid relid)
{
	ReindexParams params = {0};

#if PG_VERSION_NUM >= 170000
	(void) reindex_relation(NULL, relid, REINDEX_REL_PROCESS_TOAST, &params);
#else
	(void) reindex_relation(relid, REINDEX_REL_PROCESS_TOAST, &params);
#endif
}

/* Return the number that this backend has given its transaction. */
static inline LocalTransactionId
compat_my_lxid(void)
{
#if PG_VERSION_NUM >= 170000
	return MyProc->vxid.lxid;
#else
	return MyProc->lxid;
#endif
}

#endif							/* COMPACT_TYPES_COMPAT_H */
