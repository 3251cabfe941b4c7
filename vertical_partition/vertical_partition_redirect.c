/*-------------------------------------------------------------------------
 *
 * vertical_partition_redirect.c
 *	  Redirect commands on a split table to the part that they are for.
 *
 * In CREATE INDEX, CREATE STATISTICS, COMMENT, RENAME CONSTRAINT and OWNED
 * BY, replace the name of the view by the name of the part.  These commands
 * need no other change.  See vertical_partition_redirect_reference.c for
 * REFERENCES and LIKE, and vertical_partition_alter.c for ALTER TABLE.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_redirect.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "commands/defrem.h"
#include "mb/pg_wchar.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_target.h"
#include "storage/lmgr.h"
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

/* The part whose column names replace the column names of the view */
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

/* Return the names joined by underscores, as in default names of objects. */
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

/*
 * Return the name that the server would give the index if the view were a
 * table.
 */
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

	/* take the command's lock now, so that the column names do not change */
	LockRelationOid(part, stmt->concurrent ? ShareUpdateExclusiveLock : ShareLock);
	if (stmt->idxname == NULL)
		stmt->idxname = index_name(&alter, stmt);

	/* name the columns of the index as for a table that is not split */
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

/*
 * Redirect OWNED BY of a sequence to the column of a part.  Return true if
 * there was an OWNED BY option to redirect.
 */
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
	bool		redirected = false;

	if (!OidIsValid(vp_linked_oid()) ||
		!(IsA(stmt, IndexStmt) || IsA(stmt, CreateStatsStmt) || IsA(stmt, CommentStmt) ||
		  IsA(stmt, CreateSeqStmt) || IsA(stmt, AlterSeqStmt) ||
		  (IsA(stmt, RenameStmt) && ((RenameStmt *) stmt)->renameType == OBJECT_TABCONSTRAINT) ||
		  ((IsA(stmt, CreateStmt) || (IsA(stmt, CreateForeignTableStmt) && compat_foreign_like())) &&
		   vp_any_reference((Node *) ((CreateStmt *) stmt)->tableElts)) ||
		  (IsA(stmt, AlterTableStmt) && vp_any_reference((Node *) ((AlterTableStmt *) stmt)->cmds))))
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
			redirected = vp_redirect_create((CreateStmt *) stmt);
			break;
		case T_AlterTableStmt:
			redirected = vp_redirect_references((Node *) ((AlterTableStmt *) stmt)->cmds, InvalidOid, NULL);
			break;
		default:
			break;
	}
	return redirected ? copy : pstmt;
}
