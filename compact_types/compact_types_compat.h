/*-------------------------------------------------------------------------
 *
 * compact_types_compat.h
 *	  What differs between the supported PostgreSQL major versions.
 *
 * No other file of the extension looks at PG_VERSION_NUM.
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

#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "nodes/parsenodes.h"
#include "utils/acl.h"
#include "utils/pg_locale.h"

#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#include "varatt.h"
#else
/* Before 16 an input function had no caller that could take a soft error. */
#define ereturn(context, dummy_value, ...) \
	do { \
		(void) (context); \
		ereport(ERROR, __VA_ARGS__); \
		return dummy_value; \
	} while (0)
#endif

#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* Does the valid collation compare as memcmp() does, and is it deterministic? */
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
		/* NULL stands for the database's libc locale, before 17 */
		locale = pg_newlocale_from_collation(collid);
		*deterministic = (locale == NULL || locale->deterministic);
	}
#endif
}

/* Has the role the USAGE privilege on the schema or type? */
static inline bool
compat_has_usage(Oid classid, Oid objectid, Oid roleid)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(classid, objectid, roleid, ACL_USAGE) == ACLCHECK_OK;
#else
	Assert(classid == TypeRelationId || classid == NamespaceRelationId);
	return (classid == TypeRelationId ?
			pg_type_aclcheck(objectid, roleid, ACL_USAGE) :
			pg_namespace_aclcheck(objectid, roleid, ACL_USAGE)) == ACLCHECK_OK;
#endif
}

/* Has the column's definition a STORAGE clause, which 15 does not know? */
static inline bool
compat_column_has_storage(const ColumnDef *column)
{
#if PG_VERSION_NUM >= 160000
	return column->storage_name != NULL;
#else
	return false;
#endif
}

#endif							/* COMPACT_TYPES_COMPAT_H */
