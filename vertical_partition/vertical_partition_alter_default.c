/*-------------------------------------------------------------------------
 *
 * vertical_partition_alter_default.c
 *	  Defaults of the columns of a split table during ALTER TABLE.
 *
 * The parts have no defaults (see split()); the view's defaults apply.  A
 * part has the default of a column only while an ALTER TABLE that concerns
 * the column runs, so that the server can check and convert the default.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_alter_default.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_attribute.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "vertical_partition.h"
#include "vertical_partition_alter.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_ddl.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_lookup.h"
#include "vertical_partition_place.h"

/* Return the default of a column, or NULL. */
Node *
vp_default_of(Oid relid, AttrNumber attnum)
{
	Relation	catalog = table_open(AttrDefaultRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	Node	   *result = NULL;

	ScanKeyInit(&keys[0], Anum_pg_attrdef_adrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	ScanKeyInit(&keys[1], Anum_pg_attrdef_adnum, BTEqualStrategyNumber, F_INT2EQ, Int16GetDatum(attnum));
	scan = systable_beginscan(catalog, AttrDefaultIndexId, true, NULL, lengthof(keys), keys);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;
		Datum		value = heap_getattr(tuple, Anum_pg_attrdef_adbin, RelationGetDescr(catalog), &isnull);

		if (!isnull)
			result = stringToNode(TextDatumGetCString(value));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return result;
}

/* Set the default of a column, or remove it if "expr" is NULL. */
static void
set_default(Oid relid, AttrNumber attnum, Node *expr)
{
	RemoveAttrDefault(relid, attnum, DROP_RESTRICT, false, true);
	CommandCounterIncrement();
	if (expr)
	{
		Relation	rel = relation_open(relid, NoLock);

		compat_store_default(rel, attnum, expr);
		relation_close(rel, NoLock);
		CommandCounterIncrement();
	}
}

/* Return true if the column is an identity column. */
static bool
is_identity(Oid relid, AttrNumber attnum)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(attnum));
	bool		result = HeapTupleIsValid(tuple) && ((Form_pg_attribute) GETSTRUCT(tuple))->attidentity != '\0';

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return result;
}

/*
 * Move those defaults of the view that the command may change to the parts.
 * The view does not keep them, because the command can drop the objects that
 * they use.
 */
void
vp_lend_defaults(VpAlter *alter)
{
	ListCell   *lc;

	foreach(lc, alter->touched)
	{
		char	   *name = (char *) lfirst(lc);
		AttrNumber	attnum;
		AttrNumber	shown = get_attnum(alter->ddl->view, name);
		Oid			part;

		if (vp_has_name(alter->added, name) || shown < 1)
			continue;
		part = vp_part_of_column(alter, name, &attnum);
		if (get_attgenerated(part, attnum) != '\0')
			continue;
		if (!is_identity(part, attnum))
		{
			alter->unidentical = vp_add_name(alter->unidentical, name);
			set_default(part, attnum, vp_default_of(alter->ddl->view, shown));
			set_default(alter->ddl->view, shown, NULL);
		}
		else if (vp_has_name(alter->unidentified, name))
			set_default(alter->ddl->view, shown, NULL);
	}
}

/*
 * Move the defaults that vp_lend_defaults() gave to the parts back to the
 * view, together with the defaults of new columns.
 */
void
vp_take_defaults(const VpAlter *alter)
{
	List	   *names = list_copy(alter->touched);
	ListCell   *lc;

	/*
	 * move the default of each column only once: after the first time, the
	 * part has no default of this column
	 */
	foreach(lc, alter->added)
		names = vp_add_name(names, (char *) lfirst(lc));
	foreach(lc, names)
	{
		const char *name = (const char *) lfirst(lc);
		AttrNumber	attnum;
		AttrNumber	shown = get_attnum(alter->ddl->view, name);
		Oid			part;

		/* the command can have dropped the column as well */
		if (shown < 1)
			continue;
		part = vp_part_of_column(alter, name, &attnum);
		if (get_attgenerated(part, attnum) != '\0')
			continue;
		if (!is_identity(part, attnum))
		{
			set_default(alter->ddl->view, shown, vp_default_of(part, attnum));
			set_default(part, attnum, NULL);
		}
		else if (vp_default_of(alter->ddl->view, shown) == NULL || vp_has_name(alter->retyped, name) ||
				 vp_has_name(alter->unidentical, name))
			vp_call_helper(alter->ddl, psprintf("SELECT vertical_partition_internal.show_identity(%u, %u, %s)",
												alter->ddl->view, part, quote_literal_cstr(name)));
	}
}
