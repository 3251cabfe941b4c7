/*-------------------------------------------------------------------------
 *
 * toast_policy_recompress.c
 *	  toast_policy.recompress(): rewrite a table, and store its values anew.
 *
 * The rewrite works as in VACUUM FULL.  The rewrite keeps every row version
 * that a transaction may still need, swaps files at the end, and reports its
 * progress in pg_stat_progress_cluster.  Only the copying of rows is
 * different: values are fetched and decompressed, and stored as new values
 * would be.  For governed columns, the policy decides whether to compress
 * them.  For the other columns, heap does.
 *
 * The rows are copied by the access method.  So a table of heap is given to the
 * access method while it is rewritten.  No other session can see that.
 *
 * The last progress parameters, which core does not use, mark the command and
 * count rows for the view toast_policy.progress.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_recompress.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "utils/backend_progress.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "toast_policy.h"
#include "toast_policy_compat.h"

PG_FUNCTION_INFO_V1(tp_recompress);

/* The progress parameters that neither CLUSTER nor REPACK uses */
#define TP_PROGRESS_TUPLES_TOTAL	17
#define TP_PROGRESS_TUPLES_DONE		18
#define TP_PROGRESS_MARK			19
#define TP_MARK						0x746f6173	/* marks recompress() */

/*
 * Do not decompress more bytes of a row than this at once.  A tuple holds 1 GB
 * at most, but values out of line may be larger in total.
 */
#define TP_MAX_ROW			(64 * 1024 * 1024)

/* The table that is being recompressed, and the number of rows copied so far */
static Oid	tp_recompress_relid = InvalidOid;
static double tp_recompress_rows;
static bool tp_recompress_heap; /* is it a table of heap? */

/* Return true if the access method is copying rows for recompress(). */
bool
tp_recompressing(Relation rel)
{
	return OidIsValid(tp_recompress_relid) &&
		RelationGetRelid(rel) == tp_recompress_relid;
}

/* Report the number of rows that are copied, and the number of all rows. */
void
tp_report_rows(double done, double total)
{
	pgstat_progress_update_param(TP_PROGRESS_TUPLES_DONE, (int64) done);
	pgstat_progress_update_param(TP_PROGRESS_TUPLES_TOTAL, (int64) total);
	pgstat_progress_update_param(TP_PROGRESS_MARK, TP_MARK);
}

/*
 * Decompress the values that the policy does not judge, so that heap stores
 * them as new values.
 */
static void
tp_make_raw(TupleDesc desc, Datum *values, const bool *isnull)
{
	Size		total = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		struct varlena *value = (struct varlena *) DatumGetPointer(values[i]);

		if (isnull[i] || att->attlen != -1 ||
			(!tp_recompress_heap && tp_column_is_governed(att)) ||
			!(VARATT_IS_EXTERNAL_ONDISK(value) || VARATT_IS_COMPRESSED(value)))
			continue;
		total += toast_raw_datum_size(values[i]);
		if (total <= TP_MAX_ROW)
			values[i] = PointerGetDatum(detoast_attr(value));
	}
}

/*
 * Return true if other versions of the tuple's row may be copied, too, or if
 * the tuple is an outdated version.  Use the same tests as
 * rewrite_heap_tuple().
 *
 * Versions of a row share values in the TOAST table.  The rewrite stores such a
 * value only once, so all versions must store it in the same form.  Besides,
 * rewrite_heap_tuple() may write other versions together with this one.
 *
 * An outdated version must not get values of its own in the TOAST table,
 * because nothing would ever delete them.
 */
static bool
tp_in_chain(HeapTupleHeader header, TransactionId OldestXmin)
{
	if ((header->t_infomask & HEAP_UPDATED) &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(header), OldestXmin))
		return true;

	return !(header->t_infomask & HEAP_XMAX_INVALID) &&
		!HeapTupleHeaderIsOnlyLocked(header);
}

/*
 * Write a tuple to NewHeap, whose values go out of line as the plan says.
 */
static void
tp_write_steered(Relation NewHeap, HeapTuple tuple, HeapTuple copy,
				 const TpRowPlan *plan, RewriteState rwstate)
{
	TpSteering	steering;

	tp_steer(&steering, NewHeap, plan);
	PG_TRY();
	{
		rewrite_heap_tuple(rwstate, tuple, copy);
	}
	PG_CATCH();
	{
		tp_release(&steering);
		PG_RE_THROW();
	}
	PG_END_TRY();
	tp_release(&steering);
}

/*
 * Write a tuple of OldHeap to NewHeap.  palloc temporary data in the current
 * memory context.  values and isnull must have space for all columns.
 *
 * Only a tuple without other versions gets a plan.  For all other tuples, heap
 * follows its ordinary rule, which brings values of small rows back into the
 * row.
 */
void
tp_copy_tuple(Relation OldHeap, Relation NewHeap, HeapTuple tuple, Datum *values,
			  bool *isnull, TransactionId OldestXmin, RewriteState rwstate)
{
	TupleDesc	desc = RelationGetDescr(NewHeap);
	bool		anew = tp_recompressing(OldHeap);
	bool		chained = tp_in_chain(tuple->t_data, OldestXmin);
	bool		steered = false;
	Size		min_moved = 0;
	TpRowPlan	plan = {0};
	HeapTuple	copy;

	if (!anew || !tp_recompress_heap)
	{
		min_moved = tp_out_of_line_size(OldHeap);
		steered = min_moved > 0 && tp_governed_count(OldHeap) > 0;
	}
	heap_deform_tuple(tuple, RelationGetDescr(OldHeap), values, isnull);
	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attisdropped)
			isnull[i] = true;
	}
	if (anew)
		tp_make_raw(desc, values, isnull);

	/*
	 * A tuple that is older than ADD COLUMN ... DEFAULT does not have the
	 * value of that column, but its copy will.
	 */
	if (anew ? !tp_recompress_heap :
		!chained && (HeapTupleHasExternal(tuple) || tuple->t_len > min_moved ||
					 HeapTupleHeaderGetNatts(tuple->t_data) < desc->natts))
		tp_row_apply(OldHeap, values, isnull, anew ? TP_RECOMPRESS : TP_REWRITE,
					 chained ? NULL : &plan);
	if (anew)
		tp_recompress_rows++;
	copy = heap_form_tuple(desc, values, isnull);
	if (!steered)
	{
		rewrite_heap_tuple(rwstate, tuple, copy);
		return;
	}

	if (plan.moved != NULL)
		copy->t_data->t_infomask |= HEAP_HASEXTERNAL;
	tp_write_steered(NewHeap, tuple, copy, &plan, rwstate);
}

/*
 * Write the row versions that wait for a newer version which has not come, for
 * example because its transaction has been rolled back.  Like other versions of
 * a row, they follow heap's ordinary rule.
 */
void
tp_end_copy(Relation OldHeap, Relation NewHeap, RewriteState rwstate)
{
	TpSteering	steering;

	if (tp_out_of_line_size(OldHeap) == 0 || tp_governed_count(OldHeap) == 0 ||
		(tp_recompressing(OldHeap) && tp_recompress_heap))
	{
		end_heap_rewrite(rwstate);
		return;
	}

	tp_steer(&steering, NewHeap, NULL);
	PG_TRY();
	{
		end_heap_rewrite(rwstate);
	}
	PG_CATCH();
	{
		tp_release(&steering);
		PG_RE_THROW();
	}
	PG_END_TRY();
	tp_release(&steering);
}

/*
 * toast_policy.recompress(relation regclass) returns bigint
 *
 * Rewrite a table, or all partitions of a partitioned table, under an
 * AccessExclusiveLock.  Store each value as the STORAGE and COMPRESSION of its
 * column, and the present settings, say.  Return the number of rows, including
 * row versions that are dead but still visible to someone.  The rewrite needs
 * disk space for a second copy of the table.  Raise an error in the same cases
 * as enable().
 */
Datum
tp_recompress(PG_FUNCTION_ARGS)
{
	List	   *relids;
	ListCell   *cell;
	volatile int64 rows = 0;

	tp_prevent_if_read_only("toast_policy.recompress()");
	relids = tp_lock_tables(PG_GETARG_OID(0), "toast_policy.recompress()");
	foreach(cell, relids)
	{
		/* an index expression may call this function for another table */
		Oid			outer_relid = tp_recompress_relid;
		double		outer_rows = tp_recompress_rows;
		bool		outer_heap = tp_recompress_heap;
		bool		heap = tp_get_access_method(lfirst_oid(cell)) == HEAP_TABLE_AM_OID;

		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_PARTITIONED_TABLE)
			continue;

		if (heap)
			tp_set_access_method(lfirst_oid(cell), tp_access_method_oid(false));
		PG_TRY();
		{
			tp_recompress_relid = lfirst_oid(cell);
			tp_recompress_rows = 0;
			tp_recompress_heap = heap;
			compat_rewrite_table(lfirst_oid(cell));
		}
		PG_CATCH();
		{
			tp_recompress_relid = outer_relid;
			tp_recompress_heap = outer_heap;
			PG_RE_THROW();
		}
		PG_END_TRY();
		rows += (int64) tp_recompress_rows;
		tp_recompress_relid = outer_relid;
		tp_recompress_rows = outer_rows;
		tp_recompress_heap = outer_heap;
		CommandCounterIncrement();
		if (heap)
			tp_set_access_method(lfirst_oid(cell), HEAP_TABLE_AM_OID);
	}

	PG_RETURN_INT64(rows);
}
