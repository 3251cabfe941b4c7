/*-------------------------------------------------------------------------
 *
 * toast_policy_ddl_choose.c
 *	  Choose the columns that enable() lets the policy govern.
 *
 * If the caller names no column, refuse a table in which the access method would
 * have nothing to do.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_ddl_choose.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "toast_policy.h"
#include "toast_policy_compare.h"

/*
 * Number of pages in which enable() looks for large values; each call reads
 * the same pages.
 */
#define TP_LOOK_PAGES		1000

/*
 * Return the attribute numbers of the columns that enable() shall make
 * EXTERNAL: the named columns, or else all EXTENDED columns.  Skip columns
 * that are EXTERNAL already.  Raise an error if a named column cannot be
 * governed, or if no column can.
 */
List *
tp_choose_columns(Relation rel, ArrayType *names)
{
	TupleDesc	desc = RelationGetDescr(rel);
	List	   *result = NIL;
	int			count;
	Datum	   *datums = tp_get_names(names, &count);
	bool		any = false;

	for (int i = 0; i < count; i++)
	{
		char	   *name = NameStr(*DatumGetName(datums[i]));
		AttrNumber	attnum = tp_find_column(RelationGetRelid(rel), name);
		Form_pg_attribute att = TupleDescAttr(desc, attnum - 1);

		if (tp_column_is_virtual(att))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("column \"%s\" cannot be governed by toast_policy", name),
					 errdetail("Values of a virtual generated column are not stored.")));
		if (!TypeIsToastable(att->atttypid))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("column \"%s\" cannot be governed by toast_policy", name),
					 errdetail("Values of data type %s are never compressed or stored out of line.",
							   format_type_be(att->atttypid))));
		if (tp_is_compressed_type(att->atttypid))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("column \"%s\" cannot be governed by toast_policy", name),
					 errdetail("Values of data type %s are compressed by the type itself.",
							   format_type_be(att->atttypid))));
		any = true;
		if (att->attstorage != TYPSTORAGE_EXTERNAL)
			result = list_append_unique_int(result, attnum);
	}
	for (int i = 0; count == 0 && i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		any |= tp_column_is_governed(att);
		if (!att->attisdropped && att->attlen == -1 &&
			att->attstorage == TYPSTORAGE_EXTENDED && !tp_column_is_virtual(att) &&
			!tp_is_compressed_type(att->atttypid))
		{
			any = true;
			result = lappend_int(result, att->attnum);
		}
	}
	if (!any)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has no column that toast_policy could govern",
						RelationGetRelationName(rel)),
				 errdetail("No column has STORAGE EXTENDED or EXTERNAL."),
				 errhint("To change columns with another STORAGE, name these columns.")));

	return result;
}

/*
 * Return true if a row of the table can exceed the size to which heap reduces
 * rows.
 */
static bool
tp_can_be_large(Relation rel)
{
	return GetHeapamTableAmRoutine()->relation_needs_toast_table(rel);
}

/* State while looking for large values */
typedef struct TpLook
{
	bool		found;
	int64		rows;
} TpLook;

/*
 * Look for a value that heap has compressed or moved out of line.  Return false
 * if the row has one.
 */
static bool
tp_look_at_row(void *arg, int source, TupleTableSlot *slot)
{
	TpLook	   *look = arg;

	look->rows++;
	slot_getallattrs(slot);
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		const struct varlena *value;

		if (slot->tts_isnull[i] ||
			TupleDescAttr(slot->tts_tupleDescriptor, i)->attlen != -1)
			continue;
		value = (const struct varlena *) DatumGetPointer(slot->tts_values[i]);
		look->found |= VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value);
	}

	return !look->found;
}

/*
 * Return true if heap has compressed any value or moved it out of line.  Small
 * rows have no such value, and the access method leaves them alone.  Examine
 * all rows, or the rows of TP_LOOK_PAGES random pages.  Add the number of
 * examined rows to *rows.
 */
static bool
tp_has_large_values(Relation rel, int64 *rows)
{
	TpSource	source = {.rel = rel,.blocks = RelationGetNumberOfBlocks(rel)};
	TpLook		look = {0};

	if (OidIsValid(rel->rd_rel->reltoastrelid))
	{
		Relation	toast = table_open(rel->rd_rel->reltoastrelid, AccessShareLock);

		look.found = RelationGetNumberOfBlocks(toast) > 0;
		table_close(toast, AccessShareLock);
	}
	if (!look.found)
		tp_read_sample(&source, 1, TP_LOOK_PAGES, tp_look_at_row, &look);
	*rows += look.rows;

	return look.found;
}

/*
 * If no columns were named, refuse tables in which the access method has
 * nothing to do.  It would save nothing, and some commands and tools refuse a
 * table that does not use heap.  Accept an empty table, because large values
 * may follow.  Also accept a table that already uses the access method.
 */
void
tp_refuse_if_useless(List *relids, Oid amoid)
{
	Oid			relid = linitial_oid(relids);
	Relation	rel = relation_open(relid, NoLock);
	bool		possible = tp_can_be_large(rel);
	int64		rows = 0;
	char	   *table;
	char	   *column = NULL;
	ListCell   *cell;

	for (int i = 0; i < RelationGetNumberOfAttributes(rel) && column == NULL; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

		if (!att->attisdropped && att->attlen == -1 &&
			(att->attstorage == TYPSTORAGE_EXTENDED || tp_column_is_governed(att)) &&
			!tp_column_is_virtual(att) && !tp_is_compressed_type(att->atttypid))
			column = pstrdup(NameStr(att->attname));
	}
	table = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
									   RelationGetRelationName(rel));
	relation_close(rel, NoLock);

	foreach(cell, relids)
	{
		bool		large;

		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_PARTITIONED_TABLE)
			continue;
		rel = relation_open(lfirst_oid(cell), NoLock);
		large = rel->rd_rel->relam == amoid || tp_has_large_values(rel, &rows);
		relation_close(rel, NoLock);
		if (large)
			return;
	}
	if (possible && rows == 0)
		return;

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"%s\" has no large values that toast_policy could compress",
					get_rel_name(relid)),
			 possible ?
			 errdetail("None of the %lld examined rows has a value that is compressed or out of line.",
					   (long long) rows) :
			 errdetail("Its columns are too short for rows of more than %d bytes, and only values of such rows are compressed.",
					   (int) TOAST_TUPLE_THRESHOLD),
			 errhint("If columns get large values later, name these columns, as in SELECT toast_policy.enable(%s, %s).",
					 quote_literal_cstr(table),
					 quote_literal_cstr(column != NULL ? column : "column"))));
}

/*
 * Give a notice about columns that will be governed although nobody named
 * these columns: they were made EXTERNAL while all the tables used heap.  Give
 * no notice if the first table is a partition or child, because its columns
 * come from its parent.
 */
void
tp_tell_external_columns(List *relids, Oid amoid, ArrayType *names)
{
	Relation	rel;
	Datum	   *datums;
	int			count;
	ListCell   *cell;

	foreach(cell, relids)
	{
		if (tp_get_access_method(lfirst_oid(cell)) == amoid)
			return;
	}
	if (has_superclass(linitial_oid(relids)))
		return;

	rel = relation_open(linitial_oid(relids), NoLock);
	deconstruct_array(names, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR, &datums,
					  NULL, &count);
	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);
		char	   *name = NameStr(att->attname);
		bool		named = false;

		for (int j = 0; j < count; j++)
			named |= strcmp(NameStr(*DatumGetName(datums[j])), name) == 0;
		if (named || !tp_column_is_governed(att) ||
			get_typstorage(att->atttypid) == TYPSTORAGE_EXTERNAL)
			continue;
		ereport(NOTICE,
				(errmsg("column \"%s\" of table \"%s\" has STORAGE EXTERNAL, so toast_policy governs it as well",
						name, RelationGetRelationName(rel)),
				 errhint("To keep its values uncompressed, leave the table with access method \"heap\", or give the column type ztext(none) or zbytea(none).")));
	}
	relation_close(rel, NoLock);
}
