/*-------------------------------------------------------------------------
 *
 * compact_auto_reference.c
 *	  Primary keys and foreign keys of the columns that compact_types.auto
 *	  examines.
 *
 * A foreign key may refer to the table that the statement creates, which is in
 * no catalog yet.  Then find the referenced column in the statement.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_auto_reference.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compact_auto.h"

/*
 * Return the attribute numbers of the primary key, in the order of the key, or
 * NIL if there is no primary key.
 */
static List *
primary_key_attributes(Oid relid)
{
	Relation	rel = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *result = NIL;

	ScanKeyInit(&key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, ConstraintRelidTypidNameIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (((Form_pg_constraint) GETSTRUCT(tuple))->contype == CONSTRAINT_PRIMARY)
		{
			bool		isnull;
			Datum		datum = heap_getattr(tuple, Anum_pg_constraint_conkey,
											 RelationGetDescr(rel), &isnull);
			Datum	   *attnums;
			int			nattnums = 0;

			if (!isnull)
				deconstruct_array(DatumGetArrayTypeP(datum), INT2OID, sizeof(int16), true,
								  TYPALIGN_SHORT, &attnums, NULL, &nattnums);
			for (int i = 0; i < nattnums; i++)
				result = lappend_int(result, DatumGetInt16(attnums[i]));
			break;
		}
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	return result;
}

/* Return the column names of the primary key that the statement creates. */
static List *
primary_key_columns(const CreateStmt *stmt)
{
	ListCell   *lc;

	foreach(lc, stmt->tableElts)
	{
		Node	   *element = lfirst(lc);

		if (IsA(element, Constraint) && ((Constraint *) element)->contype == CONSTR_PRIMARY)
			return ((Constraint *) element)->keys;
		if (IsA(element, ColumnDef))
		{
			ColumnDef  *column = (ColumnDef *) element;
			ListCell   *lc2;

			foreach(lc2, column->constraints)
			{
				if (lfirst_node(Constraint, lc2)->contype == CONSTR_PRIMARY)
					return list_make1(makeString(column->colname));
			}
		}
	}

	return NIL;
}

/*
 * Return true if the statement creates this table.  Compare only the names: a
 * wrong result can only lead to another choice of a type.
 */
static bool
is_created_table(const CreateStmt *stmt, const RangeVar *table)
{
	char	   *nspname;

	if (strcmp(stmt->relation->relname, table->relname) != 0)
		return false;
	if (table->schemaname == NULL)
		return true;
	nspname = get_namespace_name(RangeVarGetCreationNamespace(stmt->relation));

	return nspname != NULL && strcmp(nspname, table->schemaname) == 0;
}

/* Return true if the foreign key refers to the table that the statement creates. */
static bool
is_self_reference(const CompactAutoContext *context, const Constraint *constraint)
{
	return context->create != NULL && is_created_table(context->create, constraint->pktable);
}

/*
 * Return the type of the column that column n (from 0) of the foreign key
 * refers to, or InvalidOid if the type is not known.  If the foreign key
 * refers to the table that the statement creates, return the compact type that
 * was chosen for the column, or InvalidOid if it has none.
 */
static Oid
referenced_type(const CompactAutoContext *context, const Constraint *constraint, int n)
{
	List	   *names = constraint->pk_attrs;
	Oid			relid;
	AttrNumber	attnum;

	if (is_self_reference(context, constraint))
	{
		ListCell   *lc;

		if (names == NIL)
			names = primary_key_columns(context->create);
		if (n >= list_length(names))
			return InvalidOid;
		foreach(lc, context->create->tableElts)
		{
			ColumnDef  *column = lfirst(lc);

			if (IsA(column, ColumnDef) && column->typeName != NULL &&
				strcmp(column->colname, strVal(list_nth(names, n))) == 0)
				return column->typeName->typeOid;
		}
		return InvalidOid;
	}

	relid = RangeVarGetRelid(constraint->pktable, NoLock, true);
	if (!OidIsValid(relid))
		return InvalidOid;
	if (names == NIL)
	{
		List	   *attributes = primary_key_attributes(relid);

		if (n >= list_length(attributes))
			return InvalidOid;
		attnum = list_nth_int(attributes, n);
	}
	else
	{
		if (n >= list_length(names))
			return InvalidOid;
		attnum = get_attnum(relid, strVal(list_nth(names, n)));
	}
	if (attnum <= 0)
		return InvalidOid;

	return get_atttype(relid, attnum);
}

/* Return true if every column that this column refers to has the type. */
bool
compact_auto_references_have_type(const CompactAutoContext *context,
								  const ColumnDef *column, Oid typid)
{
	ListCell   *lc;

	foreach(lc, column->constraints)
	{
		Constraint *constraint = lfirst_node(Constraint, lc);

		if (constraint->contype == CONSTR_FOREIGN &&
			referenced_type(context, constraint, 0) != typid)
			return false;
	}
	foreach(lc, context->foreign_keys)
	{
		Constraint *constraint = lfirst_node(Constraint, lc);
		int			n = 0;
		ListCell   *lc2;

		foreach(lc2, constraint->fk_attrs)
		{
			if (strcmp(strVal(lfirst(lc2)), column->colname) == 0 &&
				referenced_type(context, constraint, n) != typid)
				return false;
			n++;
		}
	}

	return true;
}

/* Return true if the column refers to the table that the statement creates. */
bool
compact_auto_refers_to_itself(const CompactAutoContext *context, const ColumnDef *column)
{
	ListCell   *lc;

	foreach(lc, column->constraints)
	{
		Constraint *constraint = lfirst_node(Constraint, lc);

		if (constraint->contype == CONSTR_FOREIGN && is_self_reference(context, constraint))
			return true;
	}
	foreach(lc, context->foreign_keys)
	{
		Constraint *constraint = lfirst_node(Constraint, lc);

		if (is_self_reference(context, constraint) &&
			list_member(constraint->fk_attrs, makeString(column->colname)))
			return true;
	}

	return false;
}

/* Return true if a foreign key has the column on either side. */
bool
compact_auto_column_is_in_foreign_key(Oid relid, AttrNumber attnum)
{
	Relation	rel = table_open(ConstraintRelationId, AccessShareLock);
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		result = false;

	/* pg_constraint has no index on the referenced table, so read all rows */
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (!result && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);

		if (form->contype == CONSTRAINT_FOREIGN &&
			(form->conrelid == relid || form->confrelid == relid))
		{
			int			count;
			AttrNumber	conkey[INDEX_MAX_KEYS];
			AttrNumber	confkey[INDEX_MAX_KEYS];

			DeconstructFkConstraintRow(tuple, &count, conkey, confkey,
									   NULL, NULL, NULL, NULL, NULL);
			for (int i = 0; i < count; i++)
				result = result ||
					(form->conrelid == relid && conkey[i] == attnum) ||
					(form->confrelid == relid && confkey[i] == attnum);
		}
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	return result;
}
