/*-------------------------------------------------------------------------
 *
 * vertical_partition_redirect_reference.c
 *	  Redirect foreign keys and LIKE that refer to split tables.
 *
 * A foreign key is changed to refer to the part that has the referenced
 * columns.  LIKE is replaced with column definitions, because the view has no
 * constraints and indexes to copy.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_redirect_reference.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "vertical_partition.h"
#include "vertical_partition_alter.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_ddl.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_lookup.h"
#include "vertical_partition_place.h"
#include "vertical_partition_redirect.h"

/*
 * Return true if an element is a foreign key or LIKE, which could refer to a
 * split table.  Do not read the catalogs.
 */
bool
vp_any_reference(Node *node)
{
	ListCell   *lc;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_TableLikeClause:
			return true;
		case T_Constraint:
			return ((Constraint *) node)->contype == CONSTR_FOREIGN;
		case T_ColumnDef:
			return vp_any_reference((Node *) ((ColumnDef *) node)->constraints);
		case T_AlterTableCmd:
			return vp_any_reference(((AlterTableCmd *) node)->def);
		case T_List:
			foreach(lc, (List *) node)
			{
				if (vp_any_reference((Node *) lfirst(lc)))
					return true;
			}
			return false;
		default:
			return false;
	}
}

/*
 * Make a foreign key refer to the part of a split table that has the columns.
 * The command then requires the REFERENCES privilege on that part.  If an
 * ALTER TABLE is altering that part ("altered"), the part has the view's name
 * ("altered_name") at this time.
 */
static bool
redirect_reference(Constraint *constraint, Oid altered, const char *altered_name)
{
	VpDdl	   *ddl;
	VpAlter		alter = {0};
	Oid			part;
	ListCell   *lc;

	if (constraint->contype != CONSTR_FOREIGN || (ddl = vp_find_any_split(constraint->pktable)) == NULL)
		return false;
	alter.ddl = ddl;
	alter.name = get_rel_name(ddl->view);
	part = vp_place(&alter, vp_strings(constraint->pk_attrs), "refer to hot and cold columns") == VP_IN_HOT ?
		ddl->layout.hot : ddl->layout.cold;
	foreach(lc, constraint->pk_attrs)
		lfirst(lc) = makeString(vp_name_in_part(&ddl->layout, strVal(lfirst(lc)), part == ddl->layout.cold));
	vp_set_name(constraint->pktable, part);
	if (part == altered)
		constraint->pktable->relname = pstrdup(altered_name);
	return true;
}

/* Redirect all foreign keys of a column or a command.  Return true if there were any. */
bool
vp_redirect_references(Node *node, Oid altered, const char *altered_name)
{
	ListCell   *lc;
	bool		any = false;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Constraint:
			return redirect_reference((Constraint *) node, altered, altered_name);
		case T_ColumnDef:
			return vp_redirect_references((Node *) ((ColumnDef *) node)->constraints, altered, altered_name);
		case T_AlterTableCmd:
			if (((AlterTableCmd *) node)->subtype == AT_AddColumn || ((AlterTableCmd *) node)->subtype == AT_AddConstraint)
				return vp_redirect_references(((AlterTableCmd *) node)->def, altered, altered_name);
			return false;
		case T_List:
			foreach(lc, (List *) node)
				any |= vp_redirect_references((Node *) lfirst(lc), altered, altered_name);
			return any;
		default:
			return false;
	}
}

/*
 * Hide foreign keys by which the new table of CREATE TABLE refers to itself, so
 * that the caller does not let them refer to the hot part of a split table.
 * Before the command creates this table, the same name can belong to a
 * split table in another schema.  Return the hidden constraints.  The caller
 * has to restore their contype.
 */
static List *
hide_own_references(CreateStmt *stmt)
{
	List	   *hidden = NIL;
	List	   *all = NIL;
	Oid			schema = InvalidOid;
	ListCell   *lc;

	foreach(lc, stmt->tableElts)
	{
		if (IsA(lfirst(lc), ColumnDef))
			all = list_concat(all, ((ColumnDef *) lfirst(lc))->constraints);
		else
			all = lappend(all, lfirst(lc));
	}
	foreach(lc, all)
	{
		Constraint *constraint = (Constraint *) lfirst(lc);
		Oid			view;
		ListCell   *path;

		if (!IsA(constraint, Constraint) || constraint->contype != CONSTR_FOREIGN || constraint->pktable->schemaname ||
			strcmp(constraint->pktable->relname, stmt->relation->relname) != 0)
			continue;
		if (!OidIsValid(schema))
			schema = RangeVarGetCreationNamespace(stmt->relation);
		view = RangeVarGetRelid(constraint->pktable, NoLock, true);
		foreach(path, fetch_search_path(true))
		{
			if (lfirst_oid(path) == schema || lfirst_oid(path) == get_rel_namespace(view))
			{
				if (lfirst_oid(path) == schema)
				{
					constraint->contype = CONSTR_NULL;
					hidden = lappend(hidden, constraint);
				}
				break;
			}
		}
	}
	return hidden;
}

/*
 * Return column definitions that replace LIKE of a split table in CREATE
 * TABLE.  LIKE of the view would copy the columns, but no NOT NULL,
 * constraints or indexes.  The returned definitions have NOT NULL and, if
 * requested, defaults.  Raise an error if the command requests more.
 */
static List *
columns_like(const VpDdl *ddl, const TableLikeClause *like)
{
	const VpLayout *layout = &ddl->layout;
	List	   *columns = NIL;
	AclResult	result = pg_class_aclcheck(ddl->view, GetUserId(), ACL_SELECT);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_TABLE, get_rel_name(ddl->view));
	if ((like->options & ~CREATE_TABLE_LIKE_DEFAULTS) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot copy more than columns and defaults of split table \"%s\"", get_rel_name(ddl->view)),
				 errhint("Use LIKE %s INCLUDING DEFAULTS, and add the other properties to the new table.", vp_qualified_name(ddl->view))));
	for (int i = 0; i < layout->natts; i++)
	{
		Oid			part = layout->columns[i].cold ? layout->cold : layout->hot;
		HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(part), Int16GetDatum(layout->columns[i].attnum));
		Form_pg_attribute att;
		ColumnDef  *column;

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for attribute %d of relation %u", layout->columns[i].attnum, part);
		att = (Form_pg_attribute) GETSTRUCT(tuple);
		column = makeColumnDef(get_attname(ddl->view, i + 1, false), att->atttypid, att->atttypmod, att->attcollation);
		if (att->attnotnull)
			column->constraints = list_make1(compat_not_null(part, layout->columns[i].attnum, column->colname));
		if ((like->options & CREATE_TABLE_LIKE_DEFAULTS) && att->attidentity == '\0' && att->attgenerated == '\0')
			column->cooked_default = vp_default_of(ddl->view, i + 1);
		ReleaseSysCache(tuple);
		columns = lappend(columns, column);
	}
	return columns;
}

/* Replace each LIKE of a split table with column definitions.  Return true if there was any. */
static bool
redirect_like(CreateStmt *stmt)
{
	List	   *elements = NIL;
	ListCell   *lc;
	bool		any = false;

	foreach(lc, stmt->tableElts)
	{
		VpDdl	   *ddl = IsA(lfirst(lc), TableLikeClause) ?
			vp_find_any_split(((TableLikeClause *) lfirst(lc))->relation) : NULL;

		if (ddl)
			elements = list_concat(elements, columns_like(ddl, (TableLikeClause *) lfirst(lc)));
		else
			elements = lappend(elements, lfirst(lc));
		any |= ddl != NULL;
	}
	stmt->tableElts = elements;
	return any;
}

/*
 * Return true if CREATE TABLE IF NOT EXISTS will find a relation of this
 * name, and so will ignore the rest of the command.
 */
static bool
is_there(CreateStmt *stmt)
{
	return stmt->if_not_exists &&
		OidIsValid(get_relname_relid(stmt->relation->relname, RangeVarGetCreationNamespace(stmt->relation)));
}

/*
 * Redirect the foreign keys of CREATE TABLE, and replace the LIKE clauses of
 * CREATE TABLE and CREATE FOREIGN TABLE.  Return true if the command has
 * changed.
 */
bool
vp_redirect_create(CreateStmt *stmt)
{
	bool		redirected = false;

	if (is_there(stmt))
		return false;

	/* CreateForeignTableStmt begins with a CreateStmt */
	if (IsA(stmt, CreateStmt))
	{
		List	   *hidden = hide_own_references(stmt);
		ListCell   *lc;

		redirected = vp_redirect_references((Node *) stmt->tableElts, InvalidOid, NULL);
		foreach(lc, hidden)
			((Constraint *) lfirst(lc))->contype = CONSTR_FOREIGN;
	}
	redirected |= redirect_like(stmt);
	return redirected;
}
