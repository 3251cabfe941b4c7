/*-------------------------------------------------------------------------
 *
 * toast_policy_ddl_out_of_line.c
 *	  enable_out_of_line(): set the size from which on values go out of line.
 *
 * The size is the table's toast_tuple_target.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_ddl_out_of_line.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/reloptions.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "toast_policy.h"
#include "toast_policy_compat.h"

PG_FUNCTION_INFO_V1(tp_enable_out_of_line);

/* The least value that the server accepts for toast_tuple_target */
#define TP_MIN_TARGET		128

/*
 * Return the table's toast_tuple_target if it is below heap's default, or else
 * 0, also if there is no such table.  If the table uses the access method,
 * values of at least this size in its governed columns go out of line.
 */
int
tp_get_low_target(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	int			target = TOAST_TUPLE_TARGET;
	Datum		options;
	bool		isnull;

	/* the caller need not have a lock */
	if (!HeapTupleIsValid(tuple))
		return 0;
	options = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
	if (!isnull)
	{
		const StdRdOptions *parsed = (const StdRdOptions *)
			heap_reloptions(((Form_pg_class) GETSTRUCT(tuple))->relkind, options, false);

		/* a partitioned table has no such option */
		if (parsed != NULL)
			target = parsed->toast_tuple_target;
	}
	ReleaseSysCache(tuple);

	return target < (int) TOAST_TUPLE_TARGET ? target : 0;
}

/*
 * Set a table's toast_tuple_target, or reset it if target is 0.  The table gets
 * a TOAST table if it needs one for that.  attnum is a column that is EXTERNAL:
 * ALTER TABLE creates a TOAST table only if one of its commands needs an
 * AccessExclusiveLock, as SET STORAGE does.
 */
void
tp_set_target(Oid relid, int target, AttrNumber attnum)
{
	StringInfoData statement;

	initStringInfo(&statement);
	appendStringInfo(&statement, "ALTER %s %s.%s ",
					 get_rel_relkind(relid) == RELKIND_MATVIEW ? "MATERIALIZED VIEW" : "TABLE ONLY",
					 quote_identifier(get_namespace_name(get_rel_namespace(relid))),
					 quote_identifier(get_rel_name(relid)));
	if (target == 0)
		appendStringInfoString(&statement, "RESET (toast_tuple_target)");
	else
		appendStringInfo(&statement, "SET (toast_tuple_target = %d), ALTER COLUMN %s SET STORAGE EXTERNAL",
						 target, quote_identifier(get_attname(relid, attnum, false)));
	tp_execute(statement.data);
	pfree(statement.data);
	CommandCounterIncrement();

	/* for the reason, see tp_set_storage() */
	if (tp_get_low_target(relid) != target)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("relation with OID %u was renamed or altered meanwhile",
						relid)));
}

/*
 * Give a notice about governed columns of tables whose values go out of line
 * from a size on, unless the columns are named.
 */
void
tp_tell_moved_columns(List *relids, ArrayType *names)
{
	Datum	   *datums;
	int			count;
	ListCell   *cell;

	deconstruct_array(names, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR, &datums,
					  NULL, &count);
	foreach(cell, relids)
	{
		Oid			relid = lfirst_oid(cell);
		int			target = tp_get_low_target(relid);
		Relation	rel;

		if (target == 0 || !tp_out_of_line)
			continue;
		rel = relation_open(relid, NoLock);
		if (!OidIsValid(rel->rd_rel->reltoastrelid))
		{
			relation_close(rel, NoLock);
			continue;
		}
		for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
		{
			Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);
			bool		named = false;

			for (int j = 0; j < count; j++)
				named |= strcmp(NameStr(*DatumGetName(datums[j])), NameStr(att->attname)) == 0;
			if (named || !tp_column_is_governed(att))
				continue;
			ereport(NOTICE,
					(errmsg("values of column \"%s\" of table \"%s\" are stored out of line if they take %d bytes or more",
							NameStr(att->attname), RelationGetRelationName(rel), target),
					 errdetail("The table has toast_tuple_target = %d, and toast_policy governs the column.",
							   target)));
		}
		relation_close(rel, NoLock);
	}
}

/*
 * toast_policy.enable_out_of_line(relation regclass, min_bytes int,
 *	   VARIADIC columns name[]) returns void
 *
 * Do what enable() does for the named columns.  Also set the table's
 * toast_tuple_target to min_bytes, so that governed values of at least this size
 * go out of line in every row.  If no column is named, only set the option, for
 * a table that has governed columns.  Change only the catalogs.  Do the same to
 * all partitions of a partitioned table.  Raise an error in the same cases as
 * enable(), and if min_bytes is out of range.
 */
Datum
tp_enable_out_of_line(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	int32		min_bytes = PG_GETARG_INT32(1);
	ArrayType  *names = PG_GETARG_ARRAYTYPE_P(2);
	Oid			amoid = tp_access_method_oid(false);
	List	   *relids;
	List	   *columns = NIL;
	ListCell   *cell;

	tp_prevent_if_read_only("toast_policy.enable_out_of_line()");
	if (min_bytes < TP_MIN_TARGET || min_bytes >= (int32) TOAST_TUPLE_TARGET)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("min_bytes must be from %d to %d", TP_MIN_TARGET,
						(int) TOAST_TUPLE_TARGET - 1)));
	relids = tp_lock_tables(relid, "toast_policy.enable_out_of_line()");
	foreach(cell, relids)
	{
		Relation	rel = relation_open(lfirst_oid(cell), NoLock);
		bool		governed = false;

		for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
			governed |= tp_column_is_governed(TupleDescAttr(RelationGetDescr(rel), i));
		if (ARR_NDIM(names) == 0 &&
			(!governed || (rel->rd_rel->relam != amoid &&
						   rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("table \"%s\" has no column that toast_policy governs",
							RelationGetRelationName(rel)),
					 errhint("Name the columns whose values are to be stored out of line.")));
		columns = lappend(columns,
						  ARR_NDIM(names) == 0 ? NIL : tp_choose_columns(rel, names));
		relation_close(rel, NoLock);
	}
	tp_tell_external_columns(relids, amoid, names);
	tp_enable_tables(relids, columns);

	SPI_connect();
	foreach(cell, relids)
	{
		Relation	rel;
		AttrNumber	attnum = InvalidAttrNumber;
		bool		has_toast;

		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_PARTITIONED_TABLE)
			continue;
		rel = relation_open(lfirst_oid(cell), NoLock);
		for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
			if (tp_column_is_governed(TupleDescAttr(RelationGetDescr(rel), i)))
				attnum = i + 1;
		relation_close(rel, NoLock);
		tp_set_target(lfirst_oid(cell), min_bytes, attnum);
		rel = relation_open(lfirst_oid(cell), NoLock);
		has_toast = OidIsValid(rel->rd_rel->reltoastrelid);
		relation_close(rel, NoLock);
		if (!has_toast)
			elog(ERROR, "table \"%s\" has got no TOAST table",
				 get_rel_name(lfirst_oid(cell)));
	}
	SPI_finish();
	if (ARR_NDIM(names) > 0)
		tp_tell_moved_columns(relids, names);
	if (!tp_out_of_line)
		ereport(WARNING,
				(errmsg("values of small rows of table \"%s\" stay in their rows",
						get_rel_name(relid)),
				 errdetail("The setting \"%s\" is off.", "toast_policy.out_of_line")));

	PG_RETURN_VOID();
}
