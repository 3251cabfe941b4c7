/*-------------------------------------------------------------------------
 *
 * vertical_partition_key.c
 *	  The primary key of a split view.
 *
 * A query with GROUP BY of a table's primary key may show all of the table's
 * columns, since they depend on the key.  To check this, the parser looks for
 * an entry of a primary key in pg_constraint, for any kind of relation.  No
 * hook can change the query before this check, or prevent its error.  So the
 * view gets such an entry, for the index of the hot part's key.  The key is
 * unique in the view as well, because the view shows each row of the hot part
 * once.
 *
 * The entry depends on the view's columns and on the index.  A dump does not
 * contain the entry.  If the library is loaded during a restore, it creates
 * the entry again when the trigger of the view is restored.  Otherwise,
 * declare_key() creates the entry.
 *
 * No other view has such an entry.  The server does not expect a primary key
 * of a view, pg_dump does not see the objects that depend on the entry, and
 * CREATE OR REPLACE VIEW in a session without the library does not remove the
 * entry.  So the entry is created only if vertical_partition.declare_keys is
 * on, or by declare_key().
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_key.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "vertical_partition.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_key.h"
#include "vertical_partition_layout.h"

PG_FUNCTION_INFO_V1(vp_declare_key);

/* Return the OID of the view's primary key, or InvalidOid. */
static Oid
key_of(Oid view)
{
	Relation	catalog = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			result = InvalidOid;

	ScanKeyInit(&key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(view));
	scan = systable_beginscan(catalog, ConstraintRelidTypidNameIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (((Form_pg_constraint) GETSTRUCT(tuple))->contype == CONSTRAINT_PRIMARY)
			result = ((Form_pg_constraint) GETSTRUCT(tuple))->oid;
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return result;
}

/* Return true if the view has a primary key. */
bool
vp_has_key(Oid view)
{
	return OidIsValid(key_of(view));
}

/* Return true if the view has a primary key, or is to get one. */
bool
vp_may_have_key(Oid view)
{
	return vp_declare_keys || vp_has_key(view);
}

/*
 * Return true if the index of the hot part's primary key has that column, as
 * a key column or as an included column.
 */
bool
vp_key_uses(Oid hot, AttrNumber attnum)
{
	Relation	rel = table_open(hot, AccessShareLock);
	Oid			primary = compat_primary_key_index(rel);
	bool		found = false;

	if (OidIsValid(primary))
	{
		Relation	index = relation_open(primary, AccessShareLock);

		for (int i = 0; i < index->rd_index->indnatts; i++)
			found |= index->rd_index->indkey.values[i] == attnum;
		relation_close(index, AccessShareLock);
	}
	table_close(rel, AccessShareLock);
	return found;
}

/* Remove the primary key of the view, if any. */
static void
remove_key(Oid view)
{
	ObjectAddress address = {ConstraintRelationId, key_of(view), 0};

	if (!OidIsValid(address.objectId))
		return;
	performDeletion(&address, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
	CommandCounterIncrement();
}

/* Return true if that key of the view has these columns and this index. */
static bool
is_key(Oid constraint, Oid view, Oid index, const int16 *columns, int n)
{
	Oid			found;
	Bitmapset  *attnums;
	bool		result;

	if (!OidIsValid(constraint) || get_constraint_index(constraint) != index)
		return false;
	attnums = get_primary_key_attnos(view, true, &found);
	result = bms_num_members(attnums) == n;
	for (int i = 0; i < n; i++)
		result = result && bms_is_member(columns[i] - FirstLowInvalidHeapAttributeNumber, attnums);
	return result;
}

/*
 * Return the number of the view's column that shows this column of the hot
 * part, or 0.
 */
static AttrNumber
column_of_view(const VpLayout *layout, AttrNumber hot)
{
	for (int i = 0; i < layout->natts; i++)
	{
		if (!layout->columns[i].cold && layout->columns[i].attnum == hot)
			return i + 1;
	}
	return InvalidAttrNumber;
}

/*
 * Give the view the primary key of its hot part, in place of the view's
 * current key.  Remove the view's key if the hot part has no primary key that
 * is valid and checked immediately, or if the view does not have all columns
 * of the primary key.  If the view's key is already correct, change only its
 * name to the name of the index.  The caller has locked the view.
 */
static void
declare_key(Oid view, const VpLayout *cached)
{
	VpLayout	layout;
	Relation	hot;
	Oid			index;
	HeapTuple	tuple;
	Form_pg_index form;
	int16		columns[INDEX_MAX_KEYS];
	int			n;
	bool		possible;
	Oid			found;

	vp_copy_layout(&layout, cached);
	hot = table_open(layout.hot, AccessShareLock);
	index = compat_primary_key_index(hot);
	tuple = OidIsValid(index) ? SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index)) : NULL;
	if (!HeapTupleIsValid(tuple))
	{
		table_close(hot, NoLock);
		remove_key(view);
		return;
	}
	form = (Form_pg_index) GETSTRUCT(tuple);
	n = form->indnkeyatts;
	possible = form->indimmediate && form->indisvalid;
	for (int i = 0; i < n; i++)
	{
		columns[i] = column_of_view(&layout, form->indkey.values[i]);
		possible = possible && columns[i] != InvalidAttrNumber;
	}
	ReleaseSysCache(tuple);

	found = key_of(view);
	if (!possible)
		remove_key(view);
	else if (is_key(found, view, index, columns, n))
	{
		/* keep the entry, on which other objects may depend */
		if (strcmp(get_constraint_name(found), get_rel_name(index)) != 0)
		{
			RenameConstraintById(found, get_rel_name(index));
			CommandCounterIncrement();
		}
	}
	else
	{
		ObjectAddress constraint = {ConstraintRelationId, InvalidOid, 0};
		ObjectAddress referenced = {RelationRelationId, index, 0};

		remove_key(view);
		constraint.objectId = compat_create_primary_key(get_rel_name(index), get_rel_namespace(view), view, columns, n, index);

		/* REINDEX CONCURRENTLY moves dependencies to the new index */
		recordDependencyOn(&constraint, &referenced, DEPENDENCY_NORMAL);
		CommandCounterIncrement();
	}
	table_close(hot, NoLock);
}

/*
 * Adapt the key of a view to a change of the view or its hot part.  Remove
 * the key if the view no longer belongs to a split table.
 *
 * Commands that use the view lock the view first, and then the parts.  So a
 * command for the hot part locks the view in advance, and this function does
 * not wait: that could be a deadlock.  If the view got its trigger or its key
 * only after the command began, the lock may be missing.  In a parallel
 * restore, the session that has it then creates a trigger, waits for the hot
 * part, and adapts the key afterwards.
 */
void
vp_follow_key(Oid view)
{
	const VpLayout *layout;

	if (!vp_may_have_key(view) ||
		!ConditionalLockRelationOid(view, ShareUpdateExclusiveLock))
		return;
	layout = vp_layout(view);
	if (layout == NULL)
		remove_key(view);
	/* anybody can create a view of any tables that looks like a split view */
	else if (vp_may_have_key(view) && vp_relation_owner(layout->hot) == layout->owner)
		declare_key(view, layout);
}

/*
 * Remove the key of a view while the key's index is recreated.  Return true
 * if there was a key, which vp_restore_key() has to restore.
 */
bool
vp_remove_key(Oid view)
{
	bool		found = vp_has_key(view);

	remove_key(view);
	return found;
}

/* Restore the key of a view. */
void
vp_restore_key(Oid view)
{
	const VpLayout *layout = vp_layout(view);

	if (layout)
		declare_key(view, layout);
}

/*
 * vertical_partition.declare_key(view regclass) returns void
 *
 * Give a split view the primary key of its hot part, for GROUP BY.  Errors: 42501 if the
 * caller does not own the view and its hot part, 42809 if it is not the view of a split
 * table.
 */
Datum
vp_declare_key(PG_FUNCTION_ARGS)
{
	Oid			view = PG_GETARG_OID(0);
	const VpLayout *layout;

	PreventCommandIfReadOnly("vertical_partition.declare_key()");
	vp_check_owner(view);
	LockRelationOid(view, ShareUpdateExclusiveLock);
	vp_check_owner(view);
	layout = get_rel_relkind(view) == RELKIND_VIEW ? vp_layout(view) : NULL;
	if (layout == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a split table", get_rel_name(view))));
	vp_check_owner(layout->hot);
	layout = vp_layout(view);
	if (layout)
		declare_key(view, layout);
	PG_RETURN_VOID();
}
