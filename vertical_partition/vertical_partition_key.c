/*-------------------------------------------------------------------------
 *
 * vertical_partition_key.c
 *	  The primary key of a split view.
 *
 * GROUP BY of a table's primary key may go with all of its columns in the output,
 * as those depend on the key.  The parser decides that by an entry for a primary
 * key in pg_constraint, of whatever relation, before any hook could change the
 * query or the error.  So the view gets such an entry, for the index of the hot
 * part's key: it is unique in the view as well, which has each row of the hot part once.
 *
 * The entry depends on the view's columns and on the index.  A dump does not have it.
 * It is made again when the trigger of the view is restored, if the library is
 * loaded, or by declare_key().
 *
 * No other view has such an entry: the server does not expect one, pg_dump does not
 * see what depends on it, and CREATE OR REPLACE VIEW in a session without the library
 * leaves it behind.  So it is made only where vertical_partition.declare_keys asks for it.
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
#include "vertical_partition_ddl.h"
#include "vertical_partition_layout.h"

PG_FUNCTION_INFO_V1(vp_declare_key);

/* Returns the primary key that the view has, or InvalidOid. */
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

/* Has the index of the hot part's primary key that column, be it one that is only included? */
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

/* Removes the primary key that the view has, if any. */
static void
remove_key(Oid view)
{
	ObjectAddress address = {ConstraintRelationId, key_of(view), 0};

	if (!OidIsValid(address.objectId))
		return;
	performDeletion(&address, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
	CommandCounterIncrement();
}

/* Is that key of the view the one of these columns and this index? */
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

/* The view's column that is this one of the hot part, or 0 */
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
 * Gives the view the primary key that its hot part has, in the place of the one that
 * it has: none if the hot part has none that is checked at once, or one of columns that
 * the view has not got.  Does nothing if it has that one already.  The view is locked.
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
		/* what depends on it is none the wiser */
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

		/* REINDEX CONCURRENTLY has what depends on an index follow it */
		recordDependencyOn(&constraint, &referenced, DEPENDENCY_NORMAL);
		CommandCounterIncrement();
	}
	table_close(hot, NoLock);
}

/*
 * Has the key of a view follow what has been done to the view or its hot part: a new
 * one, or none if the view is none of a split table any more.
 */
void
vp_follow_key(Oid view)
{
	const VpLayout *layout;

	LockRelationOid(view, ShareUpdateExclusiveLock);
	layout = vp_layout(view);
	if (layout == NULL)
		remove_key(view);
	/* anybody can make a view of any tables that looks like a split one */
	else if ((vp_declare_keys || OidIsValid(key_of(view))) &&
			 vp_relation_owner(layout->hot) == layout->owner)
		declare_key(view, layout);
}

/*
 * Removes the key of a view while the index that it is for is made anew.  Returns whether
 * there was one, which vp_restore_key() is to give back.
 */
bool
vp_remove_key(Oid view)
{
	bool		found = OidIsValid(key_of(view));

	remove_key(view);
	return found;
}

/* Gives a view its key again. */
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
 * Takes a split view.  Gives it the primary key of its hot part, for GROUP BY.
 * Errors: 42501 if the caller does not own the view and its parts, 42809 if it is not the
 * view of a split table.
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
