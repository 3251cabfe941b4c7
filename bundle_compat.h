/*-------------------------------------------------------------------------
 *
 * bundle_compat.h
 *	  Differences between the supported PostgreSQL major versions that concern
 *	  more than one extension.
 *
 * Differences that concern one extension are in its EXTENSION_compat.h, which
 * includes this file.  bundle.mk makes the compiler find this file.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  bundle_compat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUNDLE_COMPAT_H
#define BUNDLE_COMPAT_H

#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_tablespace.h"
#include "catalog/pg_ts_dict.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "storage/lwlock.h"
#include "utils/acl.h"
#include "utils/rel.h"

#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#include "varatt.h"
#else
/* Before 16, no caller of an input function could handle a soft error. */
#define ereturn(context, dummy_value, ...) \
	do { \
		(void) (context); \
		ereport(ERROR, __VA_ARGS__); \
		return dummy_value; \
	} while (0)
#endif

#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#endif

#if PG_VERSION_NUM >= 190000
#include "commands/repack.h"
#else
#include "commands/cluster.h"
#endif

#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* Information from an update: which indexes need a new entry */
#if PG_VERSION_NUM >= 160000
typedef TU_UpdateIndexes CompatUpdateIndexes;
#else
typedef bool CompatUpdateIndexes;
#endif

/* Wrapper of ExecInsertIndexTuples() */
static inline List *
compat_insert_index_tuples(ResultRelInfo *info, TupleTableSlot *slot, EState *estate, bool update,
						   bool *spec_conflict, List *arbiters, bool only_summarizing)
{
#if PG_VERSION_NUM >= 190000
	return ExecInsertIndexTuples(info, estate,
								 (update ? EIIT_IS_UPDATE : 0) |
								 (spec_conflict != NULL ? EIIT_NO_DUPE_ERROR : 0) |
								 (only_summarizing ? EIIT_ONLY_SUMMARIZING : 0),
								 slot, arbiters, spec_conflict);
#elif PG_VERSION_NUM >= 160000
	return ExecInsertIndexTuples(info, slot, estate, update, spec_conflict != NULL, spec_conflict,
								 arbiters, only_summarizing);
#else
	return ExecInsertIndexTuples(info, slot, estate, update, spec_conflict != NULL, spec_conflict,
								 arbiters);
#endif
}

/*
 * Return true if the role owns the object, which must be a relation, schema or
 * text search dictionary.
 */
static inline bool
compat_ownercheck(Oid classid, Oid objectid, Oid roleid)
{
#if PG_VERSION_NUM >= 160000
	return object_ownercheck(classid, objectid, roleid);
#else
	switch (classid)
	{
		case RelationRelationId:
			return pg_class_ownercheck(objectid, roleid);
		case NamespaceRelationId:
			return pg_namespace_ownercheck(objectid, roleid);
		case TSDictionaryRelationId:
			return pg_ts_dict_ownercheck(objectid, roleid);
		default:
			elog(ERROR, "unexpected catalog %u of an object with an owner", classid);
	}
#endif
}

/* Return true if the user owns the relation. */
static inline bool
compat_relation_ownercheck(Oid relid, Oid roleid)
{
	return compat_ownercheck(RelationRelationId, relid, roleid);
}

/*
 * Return true if the role has the privilege on the object, which must be a
 * schema, type, function, tablespace or database.
 */
static inline bool
compat_has_privilege(Oid classid, Oid objectid, Oid roleid, AclMode mode)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(classid, objectid, roleid, mode) == ACLCHECK_OK;
#else
	switch (classid)
	{
		case NamespaceRelationId:
			return pg_namespace_aclcheck(objectid, roleid, mode) == ACLCHECK_OK;
		case TypeRelationId:
			return pg_type_aclcheck(objectid, roleid, mode) == ACLCHECK_OK;
		case ProcedureRelationId:
			return pg_proc_aclcheck(objectid, roleid, mode) == ACLCHECK_OK;
		case TableSpaceRelationId:
			return pg_tablespace_aclcheck(objectid, roleid, mode) == ACLCHECK_OK;
		case DatabaseRelationId:
			return pg_database_aclcheck(objectid, roleid, mode) == ACLCHECK_OK;
		default:
			elog(ERROR, "unexpected catalog %u of an object with privileges", classid);
	}
#endif
}

/*
 * Return true if the member has the privileges of the role and can SET ROLE to
 * it.  Before 16, every member can SET ROLE, and has the privileges unless the
 * member is NOINHERIT.
 */
static inline bool
compat_can_become(Oid member, Oid role)
{
#if PG_VERSION_NUM >= 160000
	return has_privs_of_role(member, role) && member_can_set_role(member, role);
#else
	return has_privs_of_role(member, role);
#endif
}

/*
 * Call a built-in input function without a type modifier.  Return false if the
 * function has saved an error in escontext.  If escontext is NULL, the
 * function raises the error.
 */
static inline bool
compat_input_function_call(PGFunction function, char *str,
						   struct Node *escontext, Datum *result)
{
#if PG_VERSION_NUM >= 160000
	return DirectInputFunctionCallSafe(function, str, InvalidOid, -1,
									   escontext, result);
#else
	*result = DirectFunctionCall3(function, CStringGetDatum(str),
								  ObjectIdGetDatum(InvalidOid),
								  Int32GetDatum(-1));

	return true;
#endif
}

/*
 * Return true if the abort of this transaction removes the file that the
 * relation has now.
 */
static inline bool
compat_has_new_file(Relation rel)
{
#if PG_VERSION_NUM >= 160000
	return rel->rd_createSubid != InvalidSubTransactionId ||
		rel->rd_firstRelfilelocatorSubid != InvalidSubTransactionId;
#else
	return rel->rd_createSubid != InvalidSubTransactionId ||
		rel->rd_firstRelfilenodeSubid != InvalidSubTransactionId;
#endif
}

/* table_beginscan() without keys */
static inline TableScanDesc
compat_beginscan(Relation rel, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan(rel, snapshot, 0, NULL, SO_NONE);
#else
	return table_beginscan(rel, snapshot, 0, NULL);
#endif
}

/* table_beginscan_tidrange() */
static inline TableScanDesc
compat_beginscan_tidrange(Relation rel, Snapshot snapshot, ItemPointer first,
						  ItemPointer last)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan_tidrange(rel, snapshot, first, last, SO_NONE);
#else
	return table_beginscan_tidrange(rel, snapshot, first, last);
#endif
}

/*
 * Return a new tranche of LWLocks.  Before 19, each process has to register
 * the name of the tranche.
 */
static inline int
compat_new_tranche(const char *name)
{
#if PG_VERSION_NUM >= 190000
	return LWLockNewTrancheId(name);
#else
	(void) name;
	return LWLockNewTrancheId();
#endif
}

static inline void
compat_name_tranche(int tranche, const char *name)
{
#if PG_VERSION_NUM < 190000
	LWLockRegisterTranche(tranche, name);
#else
	(void) tranche;
	(void) name;
#endif
}

/*
 * Return a named segment of shared memory.  Such a segment does not need
 * shared_preload_libraries.  Return NULL before 17, which has no such
 * segments.
 */
typedef void (*CompatSegmentInit) (void *segment);

#if PG_VERSION_NUM >= 190000
static inline void
compat_init_segment(void *segment, void *arg)
{
	(*(CompatSegmentInit *) arg) (segment);
}
#endif

static inline void *
compat_shared_segment(const char *name, size_t size, CompatSegmentInit init)
{
#if PG_VERSION_NUM >= 190000
	bool		found;

	return GetNamedDSMSegment(name, size, compat_init_segment, &found, &init);
#elif PG_VERSION_NUM >= 170000
	bool		found;

	return GetNamedDSMSegment(name, size, init, &found);
#else
	return NULL;
#endif
}

#endif							/* BUNDLE_COMPAT_H */
