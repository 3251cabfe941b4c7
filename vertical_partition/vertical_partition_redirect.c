/*-------------------------------------------------------------------------
 *
 * vertical_partition_redirect.c
 *	  Redirect commands on a split table to the part that they are for.
 *
 * In CREATE INDEX, CREATE STATISTICS, COMMENT, RENAME CONSTRAINT, OWNED BY and
 * REFERENCES, the name of the part replaces that of the view, which is all that
 * they need.  For ALTER TABLE see vertical_partition_alter.c.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_redirect.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "commands/defrem.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_target.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
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

/*-------------------------------------------------------------------------
 * References to split tables
 *-------------------------------------------------------------------------
 */

/*
 * Make a foreign key refer to the part of a split table that has the columns.  The
 * command then requires the REFERENCES privilege on that part.  If that part is the one
 * being altered, it has the view's name.
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
 * Hide foreign keys that will refer to the table to be created, by a name that belongs to
 * a split table until then.  Return the hidden constraints, whose contype the caller has
 * to restore.
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
 * CREATE TABLE (LIKE view) would copy the columns of a split table without NOT NULL,
 * constraints and indexes.  Return column definitions to use instead, with NOT NULL and,
 * if requested, defaults.  Raise an error if the command requests more.
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
				 errhint("Use LIKE %s INCLUDING DEFAULTS, and add what else the new table needs.", vp_qualified_name(ddl->view))));
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

/* Return true if CREATE TABLE IF NOT EXISTS will find a relation, and ignore all else. */
static bool
is_there(CreateStmt *stmt)
{
	return stmt->if_not_exists &&
		OidIsValid(get_relname_relid(stmt->relation->relname, RangeVarGetCreationNamespace(stmt->relation)));
}

/*
 * Return true if an element could refer to a split table, as a foreign key or LIKE.  This
 * reads no catalog.
 */
static bool
any_reference(Node *node)
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
			return any_reference((Node *) ((ColumnDef *) node)->constraints);
		case T_AlterTableCmd:
			return any_reference(((AlterTableCmd *) node)->def);
		case T_List:
			foreach(lc, (List *) node)
			{
				if (any_reference((Node *) lfirst(lc)))
					return true;
			}
			return false;
		default:
			return false;
	}
}

/*-------------------------------------------------------------------------
 * Commands that are executed on a part instead of the view
 *-------------------------------------------------------------------------
 */

/* The part whose column names replace those of the view */
typedef struct VpMapping
{
	const VpLayout *layout;
	bool		cold;
} VpMapping;

/* Replace the names of columns with their names in a part. */
static bool
map_names(Node *node, VpMapping *mapping)
{
	if (node == NULL || vp_has_no_columns(node))
		return false;
	if (IsA(node, ColumnRef))
	{
		ColumnRef  *column = (ColumnRef *) node;

		column->fields = list_make1(makeString(vp_name_in_part(mapping->layout, strVal(llast(column->fields)), mapping->cold)));
		return false;
	}
	return raw_expression_tree_walker(node, map_names, mapping);
}

static void
map_elements(List *elements, VpMapping *mapping)
{
	ListCell   *lc;

	foreach(lc, elements)
	{
		IndexElem  *element = (IndexElem *) lfirst(lc);

		if (element->name)
			element->name = vp_name_in_part(mapping->layout, element->name, mapping->cold);
		else
			(void) map_names(element->expr, mapping);
	}
}

/* Return the names joined as in default names of objects. */
static char *
joined_names(List *names)
{
	StringInfoData buf;
	ListCell   *lc;

	initStringInfo(&buf);
	foreach(lc, names)
	{
		appendStringInfo(&buf, "%s%s", buf.len > 0 ? "_" : "", (char *) lfirst(lc));
		if (buf.len >= NAMEDATALEN)
			break;
	}
	return buf.data;
}

/* Return the name that an index of a table with the view's name and columns would get. */
static char *
index_name(const VpAlter *alter, IndexStmt *stmt)
{
	List	   *names = NIL;
	ListCell   *lc;

	foreach(lc, list_concat_copy(stmt->indexParams, stmt->indexIncludingParams))
	{
		IndexElem  *element = (IndexElem *) lfirst(lc);
		const char *first = element->name ? element->name : FigureIndexColname(element->expr);
		char	   *name;

		if (element->indexcolname)
			first = element->indexcolname;
		else if (first == NULL)
			first = "expr";
		name = pstrdup(first);
		for (int i = 1; vp_has_name(names, name); i++)
		{
			char		number[16];
			int			length;

			snprintf(number, sizeof(number), "%d", i);
			length = pg_mbcliplen(first, strlen(first), NAMEDATALEN - 1 - strlen(number));
			name = psprintf("%.*s%s", length, first, number);
		}
		names = lappend(names, name);
	}
	return ChooseRelationName(alter->name, joined_names(names), "idx", get_rel_namespace(alter->ddl->view), false);
}

static bool
redirect_index(IndexStmt *stmt)
{
	VpAlter		alter = {0};
	VpMapping	mapping;
	Oid			part;
	List	   *names;
	ListCell   *lc;

	alter.ddl = vp_hold_split(stmt->relation);
	if (alter.ddl == NULL)
		return false;
	alter.name = get_rel_name(alter.ddl->view);
	names = list_concat(vp_names_in_elements(&alter, stmt->indexParams), vp_names_in_elements(&alter, stmt->indexIncludingParams));
	names = list_concat(names, vp_names_in(&alter, stmt->whereClause));
	mapping.layout = &alter.ddl->layout;
	mapping.cold = vp_place(&alter, names, "create an index of hot and cold columns") == VP_IN_COLD;
	part = mapping.cold ? mapping.layout->cold : mapping.layout->hot;

	/* the command's lock also protects the names of the columns */
	LockRelationOid(part, stmt->concurrent ? ShareUpdateExclusiveLock : ShareLock);
	if (stmt->idxname == NULL)
		stmt->idxname = index_name(&alter, stmt);

	/* name the columns of the index as with one table */
	foreach(lc, stmt->indexParams)
	{
		IndexElem  *element = (IndexElem *) lfirst(lc);

		if (element->expr && element->indexcolname == NULL)
			element->indexcolname = FigureIndexColname(element->expr);
	}
	map_elements(stmt->indexParams, &mapping);
	map_elements(stmt->indexIncludingParams, &mapping);
	(void) map_names(stmt->whereClause, &mapping);
	vp_set_name(stmt->relation, part);
	return true;
}

static bool
redirect_statistics(CreateStatsStmt *stmt)
{
	VpAlter		alter = {0};
	VpMapping	mapping;
	List	   *used = NIL;
	List	   *names = NIL;
	ListCell   *lc;

	if (list_length(stmt->relations) != 1 || !IsA(linitial(stmt->relations), RangeVar))
		return false;
	alter.ddl = vp_hold_split(linitial_node(RangeVar, stmt->relations));
	if (alter.ddl == NULL)
		return false;
	alter.name = get_rel_name(alter.ddl->view);
	foreach(lc, stmt->exprs)
	{
		StatsElem  *element = (StatsElem *) lfirst(lc);

		used = element->name ? lappend(used, element->name) : list_concat(used, vp_names_in(&alter, element->expr));
		names = lappend(names, element->name ? element->name : pstrdup("expr"));
	}
	mapping.layout = &alter.ddl->layout;
	mapping.cold = vp_place(&alter, used, "create statistics of hot and cold columns") == VP_IN_COLD;
	if (stmt->defnames == NIL)
	{
		Oid			schema = get_rel_namespace(alter.ddl->view);
		char	   *label = pstrdup("stat");
		char	   *name;

		for (int i = 1;; i++)
		{
			name = makeObjectName(alter.name, joined_names(names), label);
			if (!SearchSysCacheExists2(STATEXTNAMENSP, CStringGetDatum(name), ObjectIdGetDatum(schema)))
				break;
			label = psprintf("stat%d", i);
		}
		stmt->defnames = list_make2(makeString(get_namespace_name(schema)), makeString(name));
	}
	foreach(lc, stmt->exprs)
	{
		StatsElem  *element = (StatsElem *) lfirst(lc);

		if (element->name)
			element->name = vp_name_in_part(mapping.layout, element->name, mapping.cold);
		else
			(void) map_names(element->expr, &mapping);
	}
	vp_set_name(linitial_node(RangeVar, stmt->relations), mapping.cold ? mapping.layout->cold : mapping.layout->hot);
	return true;
}

/* Redirect OWNED BY of a sequence to the column of a part.  Return true if there was any. */
static bool
redirect_sequence(List *options)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *option = (DefElem *) lfirst(lc);
		VpDdl	   *ddl;
		VpAlter		alter = {0};
		char	   *name;
		bool		cold;
		Oid			part;

		if (strcmp(option->defname, "owned_by") != 0 || !IsA(option->arg, List) || list_length((List *) option->arg) < 2)
			continue;
		name = strVal(llast((List *) option->arg));
		ddl = vp_hold_split(makeRangeVarFromNameList(list_truncate(list_copy((List *) option->arg),
																   list_length((List *) option->arg) - 1)));
		if (ddl == NULL)
			continue;
		alter.ddl = ddl;
		alter.name = get_rel_name(ddl->view);
		cold = vp_place(&alter, list_make1(name), "own a sequence") == VP_IN_COLD;
		part = cold ? ddl->layout.cold : ddl->layout.hot;
		option->arg = (Node *) list_make3(makeString(get_namespace_name(get_rel_namespace(part))),
										  makeString(get_rel_name(part)),
										  makeString(vp_name_in_part(&ddl->layout, name, cold)));
		return true;
	}
	return false;
}

static bool
redirect_comment(CommentStmt *stmt)
{
	VpDdl	   *ddl;
	Oid			part;
	List	   *names;

	if (stmt->objtype != OBJECT_TABLE && stmt->objtype != OBJECT_TABCONSTRAINT)
		return false;
	names = list_copy((List *) stmt->object);
	if (stmt->objtype == OBJECT_TABCONSTRAINT)
		names = list_truncate(names, list_length(names) - 1);
	ddl = names == NIL ? NULL : vp_hold_split(makeRangeVarFromNameList(names));
	if (ddl == NULL)
		return false;
	if (stmt->objtype == OBJECT_TABLE)
	{
		stmt->objtype = OBJECT_VIEW;
		return true;
	}
	part = vp_place_of_constraint(&ddl->layout, strVal(llast((List *) stmt->object))) == VP_IN_HOT ?
		ddl->layout.hot : ddl->layout.cold;
	stmt->object = (Node *) list_make3(makeString(get_namespace_name(get_rel_namespace(part))),
									   makeString(get_rel_name(part)), llast((List *) stmt->object));
	return true;
}

static bool
redirect_rename(RenameStmt *stmt)
{
	VpDdl	   *ddl = vp_hold_split(stmt->relation);
	Oid			part;

	if (ddl == NULL)
		return false;
	part = vp_place_of_constraint(&ddl->layout, stmt->subname) == VP_IN_HOT ? ddl->layout.hot : ddl->layout.cold;
	if (!OidIsValid(get_relation_constraint_oid(part, stmt->subname, true)))
		return false;
	if (OidIsValid(get_relation_constraint_oid(part == ddl->layout.hot ? ddl->layout.cold : ddl->layout.hot, stmt->newname, true)))
		vp_duplicate_constraint(get_rel_name(ddl->view), stmt->newname);
	vp_set_name(stmt->relation, part);
	return true;
}

/*
 * Return the utility command.  If it names a split table where the server requires a
 * table, return a copy that names the part instead.
 */
PlannedStmt *
vp_redirect_ddl(PlannedStmt *pstmt)
{
	Node	   *stmt = pstmt->utilityStmt;
	PlannedStmt *copy;
	List	   *hidden;
	ListCell   *lc;
	bool		redirected = false;

	if (!OidIsValid(vp_linked_oid()) ||
		!(IsA(stmt, IndexStmt) || IsA(stmt, CreateStatsStmt) || IsA(stmt, CommentStmt) ||
		  IsA(stmt, CreateSeqStmt) || IsA(stmt, AlterSeqStmt) ||
		  (IsA(stmt, RenameStmt) && ((RenameStmt *) stmt)->renameType == OBJECT_TABCONSTRAINT) ||
		  ((IsA(stmt, CreateStmt) || (IsA(stmt, CreateForeignTableStmt) && compat_foreign_like())) &&
		   any_reference((Node *) ((CreateStmt *) stmt)->tableElts)) ||
		  (IsA(stmt, AlterTableStmt) && any_reference((Node *) ((AlterTableStmt *) stmt)->cmds))))
		return pstmt;
	copy = copyObject(pstmt);
	stmt = copy->utilityStmt;
	switch (nodeTag(stmt))
	{
		case T_IndexStmt:
			redirected = redirect_index((IndexStmt *) stmt);
			break;
		case T_CreateStatsStmt:
			redirected = redirect_statistics((CreateStatsStmt *) stmt);
			break;
		case T_CommentStmt:
			redirected = redirect_comment((CommentStmt *) stmt);
			break;
		case T_RenameStmt:
			redirected = redirect_rename((RenameStmt *) stmt);
			break;
		case T_CreateSeqStmt:
			redirected = redirect_sequence(((CreateSeqStmt *) stmt)->options);
			break;
		case T_AlterSeqStmt:
			redirected = redirect_sequence(((AlterSeqStmt *) stmt)->options);
			break;
		case T_CreateStmt:
		case T_CreateForeignTableStmt:
			/* CreateForeignTableStmt begins with a CreateStmt */
			if (is_there((CreateStmt *) stmt))
				break;
			if (IsA(stmt, CreateStmt))
			{
				hidden = hide_own_references((CreateStmt *) stmt);
				redirected = vp_redirect_references((Node *) ((CreateStmt *) stmt)->tableElts, InvalidOid, NULL);
				foreach(lc, hidden)
					((Constraint *) lfirst(lc))->contype = CONSTR_FOREIGN;
			}
			redirected |= redirect_like((CreateStmt *) stmt);
			break;
		case T_AlterTableStmt:
			redirected = vp_redirect_references((Node *) ((AlterTableStmt *) stmt)->cmds, InvalidOid, NULL);
			break;
		default:
			break;
	}
	return redirected ? copy : pstmt;
}
