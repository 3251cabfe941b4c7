/*-------------------------------------------------------------------------
 *
 * toast_policy_check.c
 *	  toast_policy.check(): run amcheck on tables of the access method.
 *
 * Tables of the access method have heap's format on disk, so amcheck could
 * check them.  But verify_heapam() refuses tables of other access methods, and
 * pg_amcheck skips them silently.  So this file calls amcheck's functions.
 * While verify_heapam() runs, the table's cache entry names heap (see
 * tp_call_as_heap()).
 *
 * The functions are looked up as members of the extension amcheck, by their
 * exact argument types, so nobody can replace these functions by other
 * functions.  A caller needs the privilege to execute amcheck's functions, as
 * for a direct call.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_check.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "toast_policy.h"
#include "toast_policy_compat.h"

PG_FUNCTION_INFO_V1(tp_check);
PG_FUNCTION_INFO_V1(tp_check_all);

/* Number of columns of the result, and of the columns of verify_heapam() */
#define TP_CHECK_COLUMNS	5
#define TP_VERIFY_COLUMNS	4

/* A run of check(): the functions to call, and the destination of the rows */
typedef struct TpCheck
{
	ReturnSetInfo *rsinfo;
	Oid			verify_heapam;
	Oid			bt_index_check;
	bool		heapallindexed;
	/* the current relation */
	Oid			relid;
} TpCheck;

/*
 * Find a function of the extension amcheck.  Raise an error if it does not
 * exist, or if the caller may not execute it.
 */
static Oid
tp_find_function(Oid extension, const char *name, const Oid *types, int ntypes)
{
	CatCList   *list = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(name));
	Oid			result = InvalidOid;

	for (int i = 0; i < list->n_members; i++)
	{
		Form_pg_proc proc = (Form_pg_proc) GETSTRUCT(&list->members[i]->tuple);

		if (proc->pronargs == ntypes &&
			memcmp(proc->proargtypes.values, types, ntypes * sizeof(Oid)) == 0 &&
			getExtensionOfObject(ProcedureRelationId, proc->oid) == extension)
			result = proc->oid;
	}
	ReleaseSysCacheList(list);

	if (!OidIsValid(result))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("extension \"amcheck\" has no function \"%s\" with the expected arguments",
						name),
				 errhint("ALTER EXTENSION amcheck UPDATE may create it.")));
	if (!compat_has_privilege(ProcedureRelationId, result, GetUserId(), ACL_EXECUTE))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, name);
	InvokeFunctionExecuteHook(result);

	return result;
}

/* Find the functions of amcheck, and begin the result. */
static void
tp_check_begin(TpCheck *check, FunctionCallInfo fcinfo, bool heapallindexed)
{
	static const Oid verify_types[] = {REGCLASSOID, BOOLOID, BOOLOID, TEXTOID, INT8OID, INT8OID};
	static const Oid index_types[] = {REGCLASSOID, BOOLOID};
	Oid			extension = get_extension_oid("amcheck", true);

	if (!OidIsValid(extension))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension \"amcheck\" is not installed in this database"),
				 errdetail("toast_policy.check() calls functions of this extension."),
				 errhint("Run CREATE EXTENSION amcheck as a superuser.")));
	check->verify_heapam = tp_find_function(extension, "verify_heapam", verify_types,
											lengthof(verify_types));
	check->bt_index_check = tp_find_function(extension, "bt_index_check", index_types,
											 lengthof(index_types));
	check->heapallindexed = heapallindexed;
	InitMaterializedSRF(fcinfo, 0);
	check->rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
}

/*
 * Call verify_heapam() for the current relation, with its default arguments
 * except for check_toast.  Add the returned rows to the result.
 */
static void
tp_verify(void *arg)
{
	LOCAL_FCINFO(fcinfo, 6);
	TpCheck    *check = arg;
	FmgrInfo	flinfo;
	ReturnSetInfo rsinfo = {0};
	TupleTableSlot *slot;

	fmgr_info(check->verify_heapam, &flinfo);
	rsinfo.type = T_ReturnSetInfo;
	rsinfo.econtext = check->rsinfo->econtext;
	rsinfo.allowedModes = SFRM_Materialize;
	rsinfo.returnMode = SFRM_ValuePerCall;
	InitFunctionCallInfoData(*fcinfo, &flinfo, 6, InvalidOid, NULL,
							 (Node *) &rsinfo);
	fcinfo->args[0].value = ObjectIdGetDatum(check->relid);
	fcinfo->args[0].isnull = false;
	fcinfo->args[1].value = BoolGetDatum(false);
	fcinfo->args[1].isnull = false;
	fcinfo->args[2].value = BoolGetDatum(true);
	fcinfo->args[2].isnull = false;
	fcinfo->args[3].value = CStringGetTextDatum("none");
	fcinfo->args[3].isnull = false;
	fcinfo->args[4].value = (Datum) 0;
	fcinfo->args[4].isnull = true;
	fcinfo->args[5].value = (Datum) 0;
	fcinfo->args[5].isnull = true;
	(void) FunctionCallInvoke(fcinfo);

	if (rsinfo.returnMode != SFRM_Materialize || rsinfo.setResult == NULL ||
		rsinfo.setDesc == NULL || rsinfo.setDesc->natts != TP_VERIFY_COLUMNS)
		elog(ERROR, "verify_heapam() returned something else than expected");
	slot = MakeSingleTupleTableSlot(rsinfo.setDesc, &TTSOpsMinimalTuple);
	while (tuplestore_gettupleslot(rsinfo.setResult, true, false, slot))
	{
		Datum		values[TP_CHECK_COLUMNS];
		bool		nulls[TP_CHECK_COLUMNS] = {0};

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(slot);
		values[0] = ObjectIdGetDatum(check->relid);
		memcpy(values + 1, slot->tts_values, sizeof(Datum) * TP_VERIFY_COLUMNS);
		memcpy(nulls + 1, slot->tts_isnull, sizeof(bool) * TP_VERIFY_COLUMNS);
		tuplestore_putvalues(check->rsinfo->setResult, check->rsinfo->setDesc, values,
							 nulls);
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(rsinfo.setResult);
}

/*
 * Call verify_heapam().  Meanwhile, make a table of the access method look
 * like a table of heap.
 */
static void
tp_verify_table(TpCheck *check)
{
	Relation	rel = relation_open(check->relid, AccessShareLock);

	if (rel->rd_tableam == tp_access_method())
		tp_call_as_heap(rel, tp_verify, check);
	else
		tp_verify(check);
	relation_close(rel, AccessShareLock);
}

/*
 * Return true if the relation is a B-tree that can be checked.  An index that
 * DROP INDEX CONCURRENTLY has begun to drop cannot be checked.
 */
static bool
tp_is_checkable_btree(Oid relid)
{
	HeapTuple	class = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	HeapTuple	index = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(relid));
	bool		result;

	result = HeapTupleIsValid(class) && HeapTupleIsValid(index) &&
		((Form_pg_class) GETSTRUCT(class))->relam == BTREE_AM_OID &&
		((Form_pg_index) GETSTRUCT(index))->indisvalid &&
		((Form_pg_index) GETSTRUCT(index))->indisready;
	if (HeapTupleIsValid(class))
		ReleaseSysCache(class);
	if (HeapTupleIsValid(index))
		ReleaseSysCache(index);

	return result;
}

static void
tp_verify_index(TpCheck *check)
{
	OidFunctionCall2(check->bt_index_check, ObjectIdGetDatum(check->relid),
					 BoolGetDatum(check->heapallindexed));
}

/*
 * Return true if damaged data can have caused the error.  amcheck finds some
 * damage only because another function of the server fails.  Such a function
 * reports an internal error or a system error.
 */
static bool
tp_is_damage(const ErrorData *error)
{
	int			class = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	return class == ERRCODE_TO_CATEGORY(ERRCODE_INTERNAL_ERROR) ||
		class == ERRCODE_TO_CATEGORY(ERRCODE_SYSTEM_ERROR);
}

/*
 * Check one relation.  If damage causes an error, put the error's message into
 * a row of the result, and continue.
 */
static void
tp_check_one(TpCheck *check, Oid relid, void (*function) (TpCheck *check))
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	check->relid = relid;
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		function(check);

		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *error;
		Datum		values[TP_CHECK_COLUMNS] = {0};
		bool		nulls[TP_CHECK_COLUMNS] = {false, true, true, true, false};

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;

		/* do not report an index that is being dropped */
		if (function != tp_verify_index || tp_is_checkable_btree(relid))
		{
			if (!tp_is_damage(error))
				ReThrowError(error);
			values[0] = ObjectIdGetDatum(relid);
			values[4] = CStringGetTextDatum(error->detail == NULL ? error->message :
											psprintf("%s: %s", error->message, error->detail));
			tuplestore_putvalues(check->rsinfo->setResult, check->rsinfo->setDesc, values,
								 nulls);
		}
		FreeErrorData(error);
	}
	PG_END_TRY();
}

/* Return the B-trees of a relation that can be checked. */
static List *
tp_btrees(Relation rel)
{
	List	   *indexes = RelationGetIndexList(rel);
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, indexes)
	{
		if (tp_is_checkable_btree(lfirst_oid(cell)))
			result = lappend_oid(result, lfirst_oid(cell));
	}
	list_free(indexes);

	return result;
}

/* Check an open table, its TOAST table, and the B-trees of both. */
static void
tp_check_table(TpCheck *check, Relation rel)
{
	Oid			toastid = rel->rd_rel->reltoastrelid;
	List	   *btrees = tp_btrees(rel);
	ListCell   *cell;

	tp_check_one(check, RelationGetRelid(rel), tp_verify_table);
	if (OidIsValid(toastid))
	{
		Relation	toast = table_open(toastid, AccessShareLock);

		btrees = list_concat(btrees, tp_btrees(toast));
		tp_check_one(check, toastid, tp_verify_table);
		table_close(toast, AccessShareLock);
	}
	foreach(cell, btrees)
	{
		CHECK_FOR_INTERRUPTS();
		tp_check_one(check, lfirst_oid(cell), tp_verify_index);
	}
}

/*
 * toast_policy.check(relation regclass, heapallindexed boolean) returns setof record
 * Return one row for each finding of amcheck in a table, in its TOAST table
 * and in the B-trees of both.  The table can use the access method or heap.
 * For a partitioned table, check all its partitions.  The row has the
 * relation, the location from verify_heapam() (block, line pointer and
 * attribute, NULL if an error ended the check of the relation), and the
 * message.  There are no rows if nothing was found.
 *
 * Errors: 55000 if amcheck is not installed, 42501 without the privilege to
 * execute its functions, 42809 if the relation is not a table or materialized
 * view, 0A000 for a temporary table of another session and for tables of other
 * access methods.
 */
Datum
tp_check(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	TpCheck		check = {0};
	List	   *relids = list_make1_oid(relid);
	ListCell   *cell;

	tp_check_begin(&check, fcinfo, PG_GETARG_BOOL(1));
	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		relids = find_all_inheritors(relid, AccessShareLock, NULL);
	foreach(cell, relids)
	{
		Relation	rel = try_relation_open(lfirst_oid(cell), AccessShareLock);

		CHECK_FOR_INTERRUPTS();
		if (rel == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_TABLE),
					 errmsg("relation with OID %u does not exist", lfirst_oid(cell))));
		if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE && list_length(relids) > 1)
			ereport(NOTICE,
					(errmsg("skipping foreign table \"%s\"", RelationGetRelationName(rel))));
		else
		{
			tp_check_kind(rel);
			if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
				tp_check_table(&check, rel);
		}
		relation_close(rel, AccessShareLock);
	}

	PG_RETURN_NULL();
}

/*
 * toast_policy.check_all(heapallindexed boolean) returns setof record
 * Call check() for each table of the access method in this database.  Skip
 * temporary tables of other sessions and, on a standby, unlogged tables.
 */
Datum
tp_check_all(PG_FUNCTION_ARGS)
{
	TpCheck		check = {0};
	ListCell   *cell;

	tp_check_begin(&check, fcinfo, PG_GETARG_BOOL(0));
	foreach(cell, tp_all_tables())
	{
		Relation	rel;

		CHECK_FOR_INTERRUPTS();
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_PARTITIONED_TABLE)
			continue;
		rel = try_relation_open(lfirst_oid(cell), AccessShareLock);
		/* another session may have dropped the table meanwhile */
		if (rel == NULL)
			continue;
		if (!RELATION_IS_OTHER_TEMP(rel) &&
			(RelationIsPermanent(rel) || !RecoveryInProgress()))
			tp_check_table(&check, rel);
		relation_close(rel, AccessShareLock);
	}

	PG_RETURN_NULL();
}
