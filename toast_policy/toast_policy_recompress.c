/*-------------------------------------------------------------------------
 *
 * toast_policy_recompress.c
 *	  toast_policy.recompress(): rewrite a table and judge its values anew.
 *
 * The rewrite works as in VACUUM FULL.  It keeps every row version that a
 * transaction may still need, swaps files at the end, and reports its progress
 * in pg_stat_progress_cluster.  Only the copying of rows is different:
 * governed values are fetched and decompressed, and the policy decides again
 * whether to compress them.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_recompress.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "toast_policy.h"
#include "toast_policy_compat.h"

PG_FUNCTION_INFO_V1(tp_recompress);

/* The table that is being recompressed, and the number of rows copied so far */
static Oid	tp_recompress_relid = InvalidOid;
static double tp_recompress_rows;

/* Return true if the access method is copying rows for recompress(). */
bool
tp_recompressing(Relation rel)
{
	return OidIsValid(tp_recompress_relid) &&
		RelationGetRelid(rel) == tp_recompress_relid;
}

/*
 * Return the tuple that replaces the given one, in the current memory context.
 * values and isnull must have space for all columns.
 */
HeapTuple
tp_recompress_tuple(Relation OldHeap, Relation NewHeap, HeapTuple tuple,
					Datum *values, bool *isnull)
{
	TupleDesc	desc = RelationGetDescr(NewHeap);

	heap_deform_tuple(tuple, RelationGetDescr(OldHeap), values, isnull);
	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attisdropped)
			isnull[i] = true;
	}
	tp_row_apply(OldHeap, values, isnull, TP_RECOMPRESS);
	tp_recompress_rows++;

	return heap_form_tuple(desc, values, isnull);
}

/*
 * toast_policy.recompress(relation regclass) returns bigint
 *
 * Rewrite a table of access method toast_policy, or all such partitions of a
 * partitioned table, under an AccessExclusiveLock.  Compress each governed
 * value by the present settings.  Return the number of rows, including row
 * versions that are dead but still visible to someone.  The rewrite needs disk
 * space for a second copy of the table.  Raise an error if the relation is not
 * a table of the access method, and in the same cases as enable().
 */
Datum
tp_recompress(PG_FUNCTION_ARGS)
{
	List	   *relids;
	ListCell   *cell;
	volatile int64 rows = 0;

	tp_prevent_if_read_only("toast_policy.recompress()");
	relids = tp_lock_own_tables(PG_GETARG_OID(0), "toast_policy.recompress()");
	foreach(cell, relids)
	{
		/* an index expression may call this function for another table */
		Oid			outer_relid = tp_recompress_relid;
		double		outer_rows = tp_recompress_rows;

		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_PARTITIONED_TABLE)
			continue;

		PG_TRY();
		{
			tp_recompress_relid = lfirst_oid(cell);
			tp_recompress_rows = 0;
			compat_rewrite_table(lfirst_oid(cell));
		}
		PG_CATCH();
		{
			tp_recompress_relid = outer_relid;
			PG_RE_THROW();
		}
		PG_END_TRY();
		rows += (int64) tp_recompress_rows;
		tp_recompress_relid = outer_relid;
		tp_recompress_rows = outer_rows;
		CommandCounterIncrement();
	}

	PG_RETURN_INT64(rows);
}
