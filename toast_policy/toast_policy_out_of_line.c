/*-------------------------------------------------------------------------
 *
 * toast_policy_out_of_line.c
 *	  Make heap move values of small rows out of line.
 *
 * heap calls its toaster only for a row of more than TOAST_TUPLE_THRESHOLD
 * bytes, and for a row with values out of line.  If a table of the access
 * method has a toast_tuple_target below TOAST_TUPLE_TARGET, values of at least
 * toast_tuple_target bytes go out of line, also in small rows.  This is so for
 * the governed columns: those whose values the access method compresses and
 * moves.  The option is in pg_class, so pg_dump and pg_upgrade keep it, and
 * nothing else has to be stored.
 *
 * toast_policy_rule.c chooses the values of a row that go out of line.  The
 * row's tuple gets the flag HEAP_HASEXTERNAL before heap gets the tuple, so
 * that heap calls the toaster.  The toaster fetches, keeps and moves values as
 * usual, and hence everything on disk is heap's own.  But the toaster reads
 * the STORAGE of the columns, and the target, from the relation's cache entry,
 * and would also compress and move other columns until the row has the size of
 * the target.  So while heap works on a row, the entry is changed:
 *
 * - For a row with chosen values, the columns of these values are EXTERNAL, and
 *	 the target is so low that the toaster moves all of them.  The other columns
 *	 have a storage for which the toaster neither compresses nor moves a value.
 *
 * - For any other row, the target is heap's default.
 *
 * The descriptor and the options are changed in place.  If an invalidation
 * rebuilds the entry meanwhile, the entry gets a new descriptor and new options
 * from the catalogs, and a callback changes these.  The old descriptor exists
 * at least until the end of the transaction.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_out_of_line.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/toasting.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/rel.h"

#include "toast_policy.h"
#include "toast_policy_compat.h"

/* A storage with which the toaster leaves a value in its row as it is */
#define TP_STORAGE_INLINE	'i'

static TpSteering *tp_steerings = NULL;

/* The table that the present utility statement has created last */
static Oid	tp_new_relid = InvalidOid;

/*
 * Return the table's toast_tuple_target if it is below heap's default, or else
 * 0.
 */
static int
tp_low_target(Relation rel)
{
	int			target = RelationGetToastTupleTarget(rel, (int) TOAST_TUPLE_TARGET);

	return target < (int) TOAST_TUPLE_TARGET ? target : 0;
}

/*
 * Return the size, in bytes, from which on governed values of the table go out
 * of line, whatever the size of their row is.  Return 0 if only values of large
 * rows go out of line.  The table must use the access method, or the caller
 * wants to know what would be if it did.
 */
Size
tp_out_of_line_size(Relation rel)
{
	return tp_out_of_line ? tp_low_target(rel) : 0;
}

/*
 * Note that a utility statement has created a table, or that a new statement
 * begins, if relid is InvalidOid.
 */
void
tp_table_born(Oid relid)
{
	tp_new_relid = relid;
}

/*
 * Return true if the caller shall create a TOAST table for values of small
 * rows.  The setting toast_policy.out_of_line does not matter, because it can
 * change.
 *
 * ALTER TABLE fails if it shall create a TOAST table, and the lock that its own
 * commands need is weaker than an AccessExclusiveLock, as for SET.  ALTER
 * TABLE does not tell which lock it needs.  So create the TOAST table here only
 * if the transaction already has an AccessExclusiveLock on the table.
 * CREATE TABLE and rewrites always have such a lock.  These commands know the
 * options of the TOAST table, so let them create it.
 */
bool
tp_needs_toast_table(Relation rel)
{
	static bool adding = false;
	Oid			relid = RelationGetRelid(rel);
	bool		creating = relid == tp_new_relid || OidIsValid(rel->rd_rel->relrewrite);

	if (tp_low_target(rel) == 0 || tp_governed_count(rel) == 0)
		return false;
	if (adding || creating)
		return true;
	if (!CheckRelationLockedByMe(rel, AccessExclusiveLock, false))
		return false;

	adding = true;
	PG_TRY();
	{
		AlterTableCreateToastTable(relid, (Datum) 0, AccessExclusiveLock);
	}
	PG_FINALLY();
	{
		adding = false;
	}
	PG_END_TRY();

	return false;
}

/* Change the relation's cache entry as the steering requires. */
static void
tp_take_wheel(TpSteering *steering)
{
	Relation	rel = steering->rel;
	TupleDesc	desc = RelationGetDescr(rel);

	/*
	 * Leave PLAIN columns as they are: their values have no short header, and
	 * the toaster ignores them anyway.
	 */
	for (int i = 0; steering->moved != NULL && i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attlen == -1 && att->attstorage != TYPSTORAGE_PLAIN)
			att->attstorage = steering->moved[i] ? TYPSTORAGE_EXTERNAL : TP_STORAGE_INLINE;
	}
	if (rel->rd_options != NULL)
	{
		StdRdOptions *options = (StdRdOptions *) rel->rd_options;

		/*
		 * The callback also runs if the entry has not been rebuilt.  New
		 * options can be at the address of old ones, and can have the same
		 * target.
		 */
		if (rel->rd_options != steering->options ||
			options->toast_tuple_target != steering->target)
			steering->former_target = options->toast_tuple_target;
		options->toast_tuple_target = steering->target;
	}
	steering->options = rel->rd_options;
}

/*
 * Make heap move the values out of line for which plan->moved is true, and no
 * other values.  If plan is NULL or plan->moved is NULL, make heap follow its
 * ordinary rule with its ordinary target.  The effect lasts until tp_release()
 * is called, which the caller must also call after an error.  All rows that heap
 * stores meanwhile must have the same plan->moved.
 */
void
tp_steer(TpSteering *steering, Relation rel, const TpRowPlan *plan)
{
	TupleDesc	desc = RelationGetDescr(rel);

	steering->rel = rel;
	steering->moved = plan != NULL ? plan->moved : NULL;
	steering->desc = desc;
	steering->storage = NULL;
	steering->replaced = false;
	steering->options = NULL;
	steering->former_target = RelationGetToastTupleTarget(rel, (int) TOAST_TUPLE_TARGET);
	if (steering->moved == NULL)
		steering->target = TOAST_TUPLE_TARGET;
	else
	{
		steering->storage = palloc(desc->natts);
		for (int i = 0; i < desc->natts; i++)
			steering->storage[i] = TupleDescAttr(desc, i)->attstorage;

		/* the smallest target that leaves a byte for data in any case */
		steering->target = MAXALIGN(SizeofHeapTupleHeader + BITMAPLEN(desc->natts)) + 1;
	}
	steering->outer = tp_steerings;
	tp_steerings = steering;
	tp_take_wheel(steering);
}

/* Restore the storage of the columns of a descriptor. */
static void
tp_restore_storage(const TpSteering *steering, TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
		TupleDescAttr(desc, i)->attstorage = steering->storage[i];
}

/* End the effect of tp_steer(). */
void
tp_release(TpSteering *steering)
{
	Relation	rel = steering->rel;

	Assert(tp_steerings == steering);
	tp_steerings = steering->outer;
	if (rel->rd_options != NULL)
		((StdRdOptions *) rel->rd_options)->toast_tuple_target = steering->former_target;
	if (steering->moved == NULL)
		return;
	tp_restore_storage(steering, steering->desc);
	if (RelationGetDescr(rel) != steering->desc)
		tp_restore_storage(steering, RelationGetDescr(rel));
	pfree(steering->storage);
}

/*
 * If the cache entry of a steered relation is rebuilt, change it again.  No
 * other session can alter the columns meanwhile, because of the lock on the
 * table.  But another session can alter the target.
 */
static void
tp_steering_callback(Datum arg, Oid relid)
{
	for (TpSteering *steering = tp_steerings; steering; steering = steering->outer)
	{
		if (OidIsValid(relid) && relid != RelationGetRelid(steering->rel))
			continue;

		/*
		 * Without steering, the rebuilt entry would have kept its descriptor,
		 * and callers of heap may rely on that.  If slots have pinned the old
		 * descriptor, nothing frees it at the end of the transaction, but the
		 * last slot does.  So keep it.  This leaks memory, but seldom.
		 */
		if (!steering->replaced && RelationGetDescr(steering->rel) != steering->desc)
		{
			steering->replaced = true;
			if (steering->desc->tdrefcount > 0)
				steering->desc->tdrefcount++;
		}
		tp_take_wheel(steering);
	}
}

/*
 * A FATAL error ends the session without unwinding the stack.  The list points
 * to variables on the stack, so empty the list.
 */
static void
tp_steering_xact_callback(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_ABORT)
		tp_steerings = NULL;
}

/* Called when the library is loaded. */
void
tp_out_of_line_init(void)
{
	CacheRegisterRelcacheCallback(tp_steering_callback, (Datum) 0);
	RegisterXactCallback(tp_steering_xact_callback, NULL);
}
