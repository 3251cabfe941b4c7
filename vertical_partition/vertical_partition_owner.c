/*-------------------------------------------------------------------------
 *
 * vertical_partition_owner.c
 *	  Run statements of split(), merge() and relink() as the table's owner.
 *
 * A superuser who splits another user's table must not run that user's code
 * with superuser privileges.  Such code is in triggers and in the functions
 * of CHECK constraints, domains, defaults, generated columns and indexes.
 * Merely planning a statement can call some of these functions.  So run every
 * statement on the rows or the definition of the table as the table's owner,
 * as REINDEX does.  SECURITY_RESTRICTED_OPERATION prevents the owner's code
 * from leaving something that the caller would run later, such as a deferred
 * trigger.  The owner's code can also change search_path or another setting,
 * which would change the meaning of names in later statements.  A new nest
 * level of the settings (NewGUCNestLevel()) undoes such changes.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_owner.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "executor/spi.h"
#include "executor/tstoreReceiver.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "vertical_partition.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_layout.h"

PG_FUNCTION_INFO_V1(vp_execute);
PG_FUNCTION_INFO_V1(vp_execute_as);
PG_FUNCTION_INFO_V1(vp_lock_relation);
PG_FUNCTION_INFO_V1(vp_hold_schema_name);
PG_FUNCTION_INFO_V1(vp_hold_privileges);
PG_FUNCTION_INFO_V1(vp_point_rows);
PG_FUNCTION_INFO_V1(vp_validate_foreign_key);

/* The user and the settings before become() */
typedef struct SavedIdentity
{
	Oid			userid;
	int			context;
	int			nestlevel;
} SavedIdentity;

/*
 * Raise an error unless the caller could become that role by SET ROLE.
 * Membership in the role is not enough: a statement that runs as the role has
 * the role's attributes, such as SUPERUSER, and members do not inherit these.
 */
static void
check_role(Oid role)
{
	if (!SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(role)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("role with OID %u does not exist", role)));
	if (!compat_can_become(GetUserId(), role))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be able to SET ROLE \"%s\"", GetUserNameFromId(role, false))));
}

/*
 * Become that role, in a security-restricted operation.  There is no need to
 * catch errors: the end of the transaction or subtransaction restores the
 * user and the settings.
 */
static void
become(Oid role, SavedIdentity *saved)
{
	GetUserIdAndSecContext(&saved->userid, &saved->context);
	SetUserIdAndSecContext(role, (saved->context & ~SECURITY_NOFORCE_RLS) |
						   SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	saved->nestlevel = NewGUCNestLevel();
}

/* Become the caller again, and restore the caller's settings. */
static void
become_caller(const SavedIdentity *saved)
{
	AtEOXact_GUC(false, saved->nestlevel);
	SetUserIdAndSecContext(saved->userid, saved->context);
}

/*
 * Run a statement, which can call code of users.  Return the same value as
 * execute_as(), see below.
 */
static int64
execute(const char *statement)
{
	VpUserCode	saved;
	int			result;
	int64		value;

	vp_progress_statement(statement);
	vp_enter_user_code(&saved, statement);
	SPI_connect();
	result = SPI_execute(statement, false, 0);
	if (result < 0)
		elog(ERROR, "could not execute \"%s\": %s", statement, SPI_result_code_string(result));
	value = (int64) SPI_processed;
	if (result == SPI_OK_SELECT && SPI_processed == 1 && SPI_tuptable->tupdesc->natts == 1 &&
		SPI_gettypeid(SPI_tuptable->tupdesc, 1) == INT8OID)
	{
		bool		isnull;
		Datum		datum = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);

		value = isnull ? 0 : DatumGetInt64(datum);
	}
	SPI_finish();
	vp_leave_user_code(&saved);
	vp_progress_statement_done();

	return value;
}

/*
 * vertical_partition_internal.execute(statement text) returns bigint
 *
 * Run the statement as execute_as() does, but as the caller.
 */
Datum
vp_execute(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(execute(text_to_cstring(PG_GETARG_TEXT_PP(0))));
}

/*
 * vertical_partition_internal.execute_as(owner oid, statement text)
 *		returns bigint
 *
 * Run the statement as the role "owner" in a security-restricted operation.
 * If the statement is a query that returns one row with one column of type
 * bigint, return this value.  Otherwise, return the number of processed rows.
 * Errors: 42501 if the caller could not become the role by SET ROLE, 42704 if
 * there is no such role.
 */
Datum
vp_execute_as(PG_FUNCTION_ARGS)
{
	Oid			owner = PG_GETARG_OID(0);
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(1));
	SavedIdentity saved;
	int64		result;

	check_role(owner);
	become(owner, &saved);
	result = execute(statement);
	become_caller(&saved);

	PG_RETURN_INT64(result);
}

/* Raise an error unless the relation exists and the caller owns it. */
void
vp_check_owner(Oid relid)
{
	char	   *name = get_rel_name(relid);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!compat_relation_ownercheck(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relid)), name);
	check_role(vp_relation_owner(relid));
}

/*
 * Lock a row of a system catalog until the transaction ends, so that no other
 * transaction updates or deletes the row.  "cache" is the number of the
 * system cache in which the keys find the row.  Return false if there is no
 * such row.
 */
static bool
lock_catalog_row(Relation catalog, int cache, Datum key1, Datum key2, LockTupleMode mode)
{
	TM_Result	result;

	do
	{
		HeapTuple	tuple = SearchSysCacheCopy(cache, key1, key2, 0, 0);
		TM_FailureData tmfd;
		Buffer		buffer;

		if (!HeapTupleIsValid(tuple))
			return false;
		result = heap_lock_tuple(catalog, tuple, GetCurrentCommandId(true), mode,
								 LockWaitBlock, false, &buffer, &tmfd);
		ReleaseBuffer(buffer);
		heap_freetuple(tuple);
		CHECK_FOR_INTERRUPTS();
		AcceptInvalidationMessages();
	} while (result == TM_Updated || result == TM_Deleted);
	if (result != TM_Ok && result != TM_SelfModified)
		elog(ERROR, "unexpected result of heap_lock_tuple: %d", (int) result);
	return true;
}

/*
 * Prevent a rename of the schema until the transaction ends, by a lock on its
 * row in pg_namespace that ALTER SCHEMA ... RENAME waits for.  The schema can
 * have another owner than its tables.  By a rename, the schema's owner could
 * make our statements find other tables of the same names.
 */
static void
hold_schema_name(Oid schema)
{
	Relation	rel = table_open(NamespaceRelationId, RowShareLock);

	if (!lock_catalog_row(rel, NAMESPACEOID, ObjectIdGetDatum(schema), 0, LockTupleKeyShare))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_SCHEMA),
				 errmsg("schema with OID %u does not exist", schema)));
	table_close(rel, RowShareLock);
}

/*
 * Return true if the first table has a foreign key that refers to the second.
 */
static bool
refers_to(Oid referencing, Oid referenced)
{
	Relation	catalog = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(referencing));
	scan = systable_beginscan(catalog, ConstraintRelidTypidNameIndexId, true, NULL, 1, &key);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);

		found = form->contype == CONSTRAINT_FOREIGN && form->confrelid == referenced;
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);

	return found;
}

/*
 * Raise an error unless the caller may lock the relation.  If "partner_of" is
 * not valid, the caller has to own the relation.  Otherwise, the caller has
 * to own the table "partner_of", and a foreign key has to connect it to the
 * relation: the caller could also lock the relation by DROP TABLE of this
 * table.  Return false if one of the tables or the foreign key does not
 * exist.
 */
static bool
may_lock(Oid relid, Oid partner_of)
{
	if (get_rel_name(relid) == NULL || (OidIsValid(partner_of) && get_rel_name(partner_of) == NULL))
		return false;
	vp_check_owner(OidIsValid(partner_of) ? partner_of : relid);
	return !OidIsValid(partner_of) || refers_to(partner_of, relid) || refers_to(relid, partner_of);
}

/*
 * vertical_partition_internal.lock(relation oid, partner_of oid,
 *									exclusive boolean, patience integer)
 *		returns boolean
 *
 * Lock a relation, in ACCESS EXCLUSIVE mode if "exclusive" is true, else in
 * EXCLUSIVE mode, which allows reading.  If another user owns the relation,
 * "partner_of" is the caller's table that a foreign key connects to the
 * relation; otherwise it is NULL.  LOCK TABLE is not suitable: it also locks
 * the tables of a view, and it takes a name, which can belong to another
 * relation after waiting.  If partner_of is NULL, prevent a rename of the
 * relation's schema as well.
 *
 * "patience" is the time to wait in milliseconds; NULL means to wait as long
 * as needed.  Return false if the lock is not available in that time.  With
 * such a limit, try the lock repeatedly instead of waiting in the lock queue.
 * If this session waited in the queue, the deadlock detector could cancel
 * another session that waits for this one.  Return true also if the relation
 * or the foreign key no longer exists, since there is nothing to lock then.
 *
 * Errors: 42501 if the caller may not lock the relation.  This is checked
 * before and after the wait.
 */
Datum
vp_lock_relation(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Oid			partner_of = PG_ARGISNULL(1) ? InvalidOid : PG_GETARG_OID(1);
	LOCKMODE	mode = PG_GETARG_BOOL(2) ? AccessExclusiveLock : ExclusiveLock;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	if (!may_lock(relid, partner_of))
		PG_RETURN_BOOL(true);
	vp_progress_publish();
	if (PG_ARGISNULL(3))
		LockRelationOid(relid, mode);
	else
	{
		TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), PG_GETARG_INT32(3));

		while (!ConditionalLockRelationOid(relid, mode))
		{
			if (GetCurrentTimestamp() >= end)
				PG_RETURN_BOOL(false);
			CHECK_FOR_INTERRUPTS();
			pg_usleep(1000L);
		}
	}
	if (may_lock(relid, partner_of) && !OidIsValid(partner_of))
		hold_schema_name(get_rel_namespace(relid));

	PG_RETURN_BOOL(true);
}

/*
 * vertical_partition_internal.hold_schema_name(relation regclass) returns void
 *
 * Prevent a rename of the relation's schema until the transaction ends.
 * Errors: 42501 if the caller does not own the relation.
 */
Datum
vp_hold_schema_name(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);

	vp_check_owner(relid);
	hold_schema_name(get_rel_namespace(relid));

	PG_RETURN_VOID();
}

/*
 * vertical_partition_internal.hold_privileges(relation regclass) returns void
 *
 * Prevent changes of the privileges on the relation and its columns until the
 * transaction ends.  The caller has locked the relation, but GRANT and REVOKE
 * take no lock on a relation.  GRANT and REVOKE update its rows in pg_class
 * and pg_attribute, so lock these rows.  Errors: 42501 if the caller does not
 * own the relation.
 */
Datum
vp_hold_privileges(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Relation	catalog = table_open(RelationRelationId, RowShareLock);
	Relation	rel;
	int			natts;

	PreventCommandIfReadOnly("vertical_partition_internal.hold_privileges()");
	vp_check_owner(relid);
	(void) lock_catalog_row(catalog, RELOID, ObjectIdGetDatum(relid), 0, LockTupleNoKeyExclusive);
	table_close(catalog, RowShareLock);

	rel = relation_open(relid, AccessShareLock);
	natts = RelationGetNumberOfAttributes(rel);
	relation_close(rel, AccessShareLock);
	catalog = table_open(AttributeRelationId, RowShareLock);
	for (int i = 1; i <= natts; i++)
		(void) lock_catalog_row(catalog, ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(i), LockTupleNoKeyExclusive);
	table_close(catalog, RowShareLock);

	PG_RETURN_VOID();
}

/*
 * Set the pointer of a row, and insert the index entries that the new version
 * of the row needs.  Raise an error if there is no such row.
 */
static void
point_row(EState *estate, ResultRelInfo *info, AttrNumber link, ItemPointer tid, ItemPointer cold,
		  TupleTableSlot *current, TupleTableSlot *slot)
{
	Relation	rel = info->ri_RelationDesc;
	TupleDesc	desc = RelationGetDescr(rel);
	TM_Result	result = TM_Deleted;
	TM_FailureData tmfd;
	LockTupleMode mode;
	CompatUpdateIndexes update;

	if (ItemPointerIsValid(tid) && ItemPointerGetBlockNumber(tid) < RelationGetNumberOfBlocks(rel) &&
		table_tuple_fetch_row_version(rel, tid, estate->es_snapshot, current))
	{
		ExecClearTuple(slot);
		slot_getallattrs(current);
		for (int i = 0; i < desc->natts; i++)
		{
			slot->tts_values[i] = current->tts_values[i];
			slot->tts_isnull[i] = current->tts_isnull[i] || TupleDescAttr(desc, i)->attisdropped;
		}
		slot->tts_values[link - 1] = PointerGetDatum(cold);
		slot->tts_isnull[link - 1] = false;
		ExecStoreVirtualTuple(slot);
		if (desc->constr && desc->constr->has_generated_stored)
			ExecComputeStoredGenerated(info, estate, slot, CMD_UPDATE);

		result = compat_tuple_update(rel, tid, slot, estate->es_output_cid, estate->es_snapshot, &tmfd, &mode, &update);
	}
	if (result != TM_Ok)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("cannot set the row pointer of row (%u,%u) of table \"%s\"",
						ItemPointerGetBlockNumberNoCheck(tid), ItemPointerGetOffsetNumberNoCheck(tid),
						RelationGetRelationName(rel)),
				 errdetail("There is no such row, or it has been changed already.")));
	if (info->ri_NumIndices > 0 && COMPAT_UPDATES_INDEXES(update) &&
		compat_insert_index_tuples(info, slot, estate, true, NULL, NIL, COMPAT_ONLY_SUMMARIZING(update)) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_UNIQUE_VIOLATION),
				 errmsg("row (%u,%u) of table \"%s\" conflicts with another one in a deferrable constraint",
						ItemPointerGetBlockNumber(tid), ItemPointerGetOffsetNumber(tid),
						RelationGetRelationName(rel))));
}

/*
 * Execute the query, and return its rows, each of which has two TIDs.  Store
 * the rows instead of using a cursor, because the owner's functions could
 * close or move a cursor.
 */
static Tuplestorestate *
store_pointers(const char *query, TupleTableSlot **slot)
{
	Tuplestorestate *store = tuplestore_begin_heap(false, false, work_mem);
	DestReceiver *dest = CreateDestReceiver(DestTuplestore);
	TupleDesc	desc = CreateTemplateTupleDesc(2);
	SPIExecuteOptions options = {0};
	int			result;

	TupleDescInitEntry(desc, 1, "hot", TIDOID, -1, 0);
	TupleDescInitEntry(desc, 2, "cold", TIDOID, -1, 0);
	TupleDescFinalize(desc);
	*slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	SetTuplestoreDestReceiverParams(dest, store, CurrentMemoryContext, false, desc,
									"query for row pointers must return two columns of type tid");
	options.must_return_tuples = true;
	options.dest = dest;
	result = SPI_execute_extended(query, &options);
	if (result != SPI_OK_SELECT)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("query for row pointers is not a SELECT")));
	return store;
}

/*
 * vertical_partition_internal.point_rows(hot regclass, link name, query text)
 *		returns bigint
 *
 * Set the pointers of rows of "hot", the hot part of a split table.  "link"
 * is its pointer column.  "query" returns the TIDs of rows of the hot part,
 * each with the TID of its cold row.  Lock out writers.  Run as the owner of
 * the part, in a security-restricted operation.  Return the number of rows.
 *
 * Do not use UPDATE.  It would check constraints that are not valid, which
 * the row may violate.  It would fire the application's triggers.  It would
 * also fire the trigger of a foreign key for each row that this transaction
 * has inserted, even if the key does not change.  This trigger fails if the
 * foreign key is not valid and the referenced row is missing.  The new
 * pointers could violate only a CHECK constraint on the pointer column
 * itself.  This function does not check such a constraint.
 *
 * Errors: 42501 if the caller does not own the part, 42809 if it is not a
 * table, 42703 if the part has no such pointer column, 55006 if the part is
 * in use, 55000 if the part is published and has no replica identity, 42601,
 * 42804 or 22004 if the query does not return two columns of non-null TIDs,
 * 22000 if no row has the TID, 23505 if the pointers violate a deferrable
 * unique constraint.
 */
Datum
vp_point_rows(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	char	   *name = NameStr(*PG_GETARG_NAME(1));
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(2));
	AttrNumber	link = InvalidAttrNumber;
	Bitmapset  *updated;
	int64		count = 0;
	bool		reports;
	SavedIdentity saved;
	VpUserCode	saved_context;
	EState	   *estate;
	ResultRelInfo *info;
	TupleTableSlot *current;
	TupleTableSlot *slot;
	TupleTableSlot *pointers;
	Tuplestorestate *store;
	Relation	rel;

	PreventCommandIfReadOnly("vertical_partition_internal.point_rows()");
	vp_check_owner(relid);
	rel = relation_open(relid, ExclusiveLock);

	/*
	 * the owner and the columns can have changed while we waited for the lock
	 */
	vp_check_owner(relid);
	if (rel->rd_rel->relkind != RELKIND_RELATION)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an ordinary table", RelationGetRelationName(rel))));
	for (int i = 0; i < RelationGetDescr(rel)->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(rel), i);

		if (!attribute->attisdropped && attribute->atttypid == TIDOID && attribute->attgenerated == '\0' &&
			strcmp(NameStr(attribute->attname), name) == 0)
			link = attribute->attnum;
	}
	if (link == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("table \"%s\" has no row pointer \"%s\"", RelationGetRelationName(rel), name)));
	CheckTableNotInUse(rel, "relink()");
	CheckCmdReplicaIdentity(rel, CMD_UPDATE);

	reports = vp_progress_reports();
	become(rel->rd_rel->relowner, &saved);
	vp_enter_user_code(&saved_context, query);
	SPI_connect();
	store = store_pointers(query, &pointers);
	CommandCounterIncrement();

	estate = CreateExecutorState();
	estate->es_snapshot = RegisterSnapshot(GetLatestSnapshot());
	estate->es_output_cid = GetCurrentCommandId(true);
	updated = bms_make_singleton(link - FirstLowInvalidHeapAttributeNumber);
	compat_init_range_table(estate, 1, &relid, &updated);
	info = makeNode(ResultRelInfo);
	InitResultRelInfo(info, rel, 1, NULL, 0);
	ExecOpenIndices(info, false);
	current = table_slot_create(rel, NULL);
	slot = table_slot_create(rel, NULL);
	PushActiveSnapshot(estate->es_snapshot);
	if (reports)
		vp_progress_total(tuplestore_tuple_count(store));

	while (tuplestore_gettupleslot(store, true, false, pointers))
	{
		bool		isnull[2];
		Datum		tid = slot_getattr(pointers, 1, &isnull[0]);
		Datum		cold = slot_getattr(pointers, 2, &isnull[1]);

		CHECK_FOR_INTERRUPTS();
		if (isnull[0] || isnull[1])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("query for row pointers must not return null")));
		point_row(estate, info, link, (ItemPointer) DatumGetPointer(tid), (ItemPointer) DatumGetPointer(cold),
				  current, slot);
		ResetPerTupleExprContext(estate);
		if (reports)
			vp_progress_row();
		count++;
	}

	PopActiveSnapshot();
	ExecDropSingleTupleTableSlot(slot);
	ExecDropSingleTupleTableSlot(current);
	ExecDropSingleTupleTableSlot(pointers);
	ExecCloseIndices(info);
	UnregisterSnapshot(estate->es_snapshot);
	FreeExecutorState(estate);
	tuplestore_end(store);
	relation_close(rel, NoLock);
	SPI_finish();
	vp_leave_user_code(&saved_context);
	become_caller(&saved);
	CommandCounterIncrement();

	PG_RETURN_INT64(count);
}

/*
 * Mark the foreign key as valid, and also its child constraints, which exist
 * if the referenced table is partitioned.
 */
static void
set_valid(Relation catalog, Oid oid)
{
	HeapTuple	tuple = SearchSysCacheCopy1(CONSTROID, ObjectIdGetDatum(oid));
	ScanKeyData key;
	SysScanDesc scan;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", oid);
	if (!((Form_pg_constraint) GETSTRUCT(tuple))->convalidated)
	{
		((Form_pg_constraint) GETSTRUCT(tuple))->convalidated = true;
		CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	}
	heap_freetuple(tuple);

	ScanKeyInit(&key, Anum_pg_constraint_conparentid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(oid));
	scan = systable_beginscan(catalog, ConstraintParentIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		set_valid(catalog, ((Form_pg_constraint) GETSTRUCT(tuple))->oid);
	systable_endscan(scan);
}

/*
 * For each row of the referencing table, check that the referenced row
 * exists.  Use the trigger function of foreign keys, which runs its query as
 * the owner of the referenced table.
 *
 * Do not use a join of both tables, as the server does to validate a foreign
 * key.  One role would plan the join, and planning can call functions in the
 * indexes and statistics of both tables.  So the owner of one table would run
 * code of the other table's owner.
 */
static void
check_each_row(Relation rel, const FormData_pg_constraint *constraint)
{
	Trigger		trigger;
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan = compat_beginscan(rel, snapshot);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "vertical_partition foreign key",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	memset(&trigger, 0, sizeof(trigger));
	trigger.tgoid = InvalidOid;
	trigger.tgname = pstrdup(NameStr(constraint->conname));
	trigger.tgenabled = TRIGGER_FIRES_ON_ORIGIN;
	trigger.tgisinternal = true;
	trigger.tgconstrrelid = constraint->confrelid;
	trigger.tgconstrindid = constraint->conindid;
	trigger.tgconstraint = constraint->oid;
	context = AllocSetContextCreate(context, "row", ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(context);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		LOCAL_FCINFO(fcinfo, 0);
		TriggerData data = {0};

		CHECK_FOR_INTERRUPTS();
		MemSet(fcinfo, 0, SizeForFunctionCallInfo(0));
		data.type = T_TriggerData;
		data.tg_event = TRIGGER_EVENT_INSERT | TRIGGER_EVENT_ROW;
		data.tg_relation = rel;
		data.tg_trigtuple = ExecFetchSlotHeapTuple(slot, false, NULL);
		data.tg_trigslot = slot;
		data.tg_trigger = &trigger;
		fcinfo->context = (Node *) &data;
		RI_FKey_check_ins(fcinfo);
		MemoryContextReset(context);
	}

	MemoryContextSwitchTo(old);
	MemoryContextDelete(MemoryContextGetParent(context));
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
	ExecDropSingleTupleTableSlot(slot);
}

/*
 * vertical_partition_internal.validate_foreign_key(key oid) returns void
 *
 * Validate a foreign key of a table that is not partitioned.  If one role
 * owns both tables, run ALTER TABLE ... VALIDATE CONSTRAINT as this role.
 * Otherwise, check each row by itself, see check_each_row().  Errors: 42501
 * if the caller does not own the referencing table, 23503 if a referenced row
 * does not exist.
 */
Datum
vp_validate_foreign_key(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	HeapTuple	tuple = SearchSysCacheCopy1(CONSTROID, ObjectIdGetDatum(oid));
	Form_pg_constraint form;
	SavedIdentity saved;
	Relation	rel;

	PreventCommandIfReadOnly("vertical_partition_internal.validate_foreign_key()");
	if (!HeapTupleIsValid(tuple) ||
		(form = (Form_pg_constraint) GETSTRUCT(tuple))->contype != CONSTRAINT_FOREIGN)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("foreign key with OID %u does not exist", oid)));
	vp_check_owner(form->conrelid);
	rel = table_open(form->conrelid, ShareUpdateExclusiveLock);
	if (rel->rd_rel->relkind != RELKIND_RELATION || form->convalidated || !compat_is_enforced(form))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("constraint \"%s\" of relation \"%s\" cannot be validated",
						NameStr(form->conname), RelationGetRelationName(rel))));

	become(rel->rd_rel->relowner, &saved);
	if (rel->rd_rel->relowner == vp_relation_owner(form->confrelid))
	{
		char	   *name = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
													  RelationGetRelationName(rel));

		/* ALTER TABLE refuses a table that is open elsewhere in this session */
		table_close(rel, NoLock);
		execute(psprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s", name, quote_identifier(NameStr(form->conname))));
	}
	else
	{
		Relation	catalog = table_open(ConstraintRelationId, RowExclusiveLock);
		VpUserCode	saved_context;

		LockRelationOid(form->confrelid, RowShareLock);
		vp_enter_user_code(&saved_context, NULL);
		check_each_row(rel, form);
		vp_leave_user_code(&saved_context);
		table_close(rel, NoLock);
		set_valid(catalog, oid);
		table_close(catalog, RowExclusiveLock);
		CommandCounterIncrement();
	}
	become_caller(&saved);

	PG_RETURN_VOID();
}
