/*-------------------------------------------------------------------------
 *
 * vertical_partition_place.c
 *	  Find the part that has a column, a constraint or an index of a split table.
 *
 * A command names columns, a constraint or an index of the table.  The
 * command is for the part that has these objects.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_place.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "vertical_partition.h"
#include "vertical_partition_alter.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_ddl.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_place.h"

/* Return true if the list has the name. */
bool
vp_has_name(List *names, const char *name)
{
	ListCell   *lc;

	foreach(lc, names)
	{
		if (strcmp((char *) lfirst(lc), name) == 0)
			return true;
	}
	return false;
}

/* Add a name to a list, unless the list has it. */
List *
vp_add_name(List *names, char *name)
{
	return vp_has_name(names, name) ? names : lappend(names, name);
}

/* The hint for commands that are not possible on a split table */
#define MERGE_HINT(ddl) \
	errhint("Call vertical_partition.merge('%s') first, and split the table again afterwards.", \
			vp_qualified_name((ddl)->view))

void
vp_refuse(const VpAlter *alter, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot %s on split table \"%s\"", what, alter->name),
			 MERGE_HINT(alter->ddl)));
}

void
vp_undefined_column(const VpAlter *alter, const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("column \"%s\" of relation \"%s\" does not exist", name, alter->name)));
}

void
vp_duplicate_constraint(const char *table, const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg("constraint \"%s\" for relation \"%s\" already exists", name, table)));
}

/*
 * Return the parts that have the view's column of that name, or will have it
 * after the command.  Return 0 if there is no such column.  Columns of the
 * key are in both parts, except with VP_SURROGATE_KEY.  Other columns of the
 * link are not in the view.
 */
int
vp_places_of(const VpAlter *alter, const char *name)
{
	const VpLayout *layout = &alter->ddl->layout;
	AttrNumber	attnum;
	const VpColumn *column;

	if (vp_has_name(alter->added, name))
		return vp_has_name(alter->added_cold, name) ? VP_IN_COLD : VP_IN_HOT;
	attnum = get_attnum(layout->view, name);
	if (attnum < 1 || attnum > layout->natts)
		return 0;
	column = &layout->columns[attnum - 1];
	if (column->cold)
		return VP_IN_COLD;
	for (int i = 0; i < layout->nkeys; i++)
	{
		if (layout->hot_keys[i] == column->attnum)
			return VP_IN_BOTH;
	}
	return VP_IN_HOT;
}

/*
 * Return the name of a view's column in the hot part, or in the cold part if "cold" is
 * true.  If that part does not have the column, return its name in the other part.
 */
char *
vp_name_in_part(const VpLayout *layout, const char *name, bool cold)
{
	AttrNumber	attnum = get_attnum(layout->view, name);
	const VpColumn *column;

	if (attnum < 1 || attnum > layout->natts)
		elog(ERROR, "view %u has no column \"%s\"", layout->view, name);
	column = &layout->columns[attnum - 1];
	if (cold && !column->cold)
	{
		for (int i = 0; i < layout->nkeys; i++)
		{
			if (layout->hot_keys[i] == column->attnum)
				return get_attname(layout->cold, layout->cold_keys[i], false);
		}
	}
	return get_attname(column->cold ? layout->cold : layout->hot, column->attnum, false);
}

/*
 * Return the part that has a column, and set *attnum to the column's number
 * in this part.  "name" is the name of the view's column after the command.
 */
Oid
vp_part_of_column(const VpAlter *alter, const char *name, AttrNumber *attnum)
{
	Oid			part = vp_places_of(alter, name) == VP_IN_COLD ? alter->ddl->layout.cold : alter->ddl->layout.hot;

	*attnum = get_attnum(part, name);
	return part;
}

/*
 * Return the part that has all of these columns, or the hot part if both
 * parts have them.  Raise an error if no part has all of them.
 */
int
vp_place(const VpAlter *alter, List *names, const char *what)
{
	int			places = VP_IN_BOTH;
	const char *hot = NULL;
	const char *cold = NULL;
	ListCell   *lc;

	foreach(lc, names)
	{
		const char *name = (const char *) lfirst(lc);
		int			found = vp_places_of(alter, name);

		if (found == 0 && strcmp(name, alter->name) == 0)
			vp_refuse(alter, "use a whole row");
		if (found == 0)
			vp_undefined_column(alter, name);
		if (found == VP_IN_HOT)
			hot = name;
		else if (found == VP_IN_COLD)
			cold = name;
		places &= found;
	}
	if (places == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot %s on split table \"%s\"", what, alter->name),
				 errdetail("Column \"%s\" is in the hot part, column \"%s\" in the cold part.", hot, cold),
				 MERGE_HINT(alter->ddl)));
	return (places & VP_IN_HOT) ? VP_IN_HOT : VP_IN_COLD;
}

/*
 * Return true if a search for columns of the table has to skip the node.
 * Skip subqueries, because the server rejects them, and type names, because
 * type modifiers only look like columns.
 */
bool
vp_has_no_columns(Node *node)
{
	return IsA(node, SubLink) || IsA(node, TypeName);
}

/* The columns that an expression names, and the only table name that may qualify them */
typedef struct VpNames
{
	const char *table;
	List	   *names;
} VpNames;

/* Collect the names of columns in a raw expression. */
static bool
collect_names(Node *node, VpNames *found)
{
	if (node == NULL || vp_has_no_columns(node))
		return false;
	if (IsA(node, ColumnRef))
	{
		List	   *fields = ((ColumnRef *) node)->fields;
		Node	   *last = (Node *) llast(fields);

		if (!IsA(last, String))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot use a whole row of a split table"),
					 errhint("Name the columns.")));
		if (list_length(fields) > 1)
		{
			const char *table = strVal(list_nth(fields, list_length(fields) - 2));

			if (strcmp(table, found->table) != 0)
				ereport(ERROR,
						(errcode(ERRCODE_UNDEFINED_TABLE),
						 errmsg("missing FROM-clause entry for table \"%s\"", table)));
		}
		found->names = lappend(found->names, strVal(last));
		return false;
	}
	return raw_expression_tree_walker(node, collect_names, found);
}

/*
 * Return the names of the columns of the altered table that a raw expression
 * uses.
 */
List *
vp_names_in(const VpAlter *alter, Node *expr)
{
	VpNames		found = {alter->name, NIL};

	(void) collect_names(expr, &found);
	return found.names;
}

/* Return the strings of a list of String nodes. */
List *
vp_strings(List *list)
{
	List	   *names = NIL;
	ListCell   *lc;

	foreach(lc, list)
		names = lappend(names, strVal(lfirst(lc)));
	return names;
}

/* Return the names of the columns that elements of an index use. */
List *
vp_names_in_elements(const VpAlter *alter, List *elements)
{
	List	   *names = NIL;
	ListCell   *lc;

	foreach(lc, elements)
	{
		IndexElem  *element = (IndexElem *) lfirst(lc);

		names = element->name ? lappend(names, element->name) :
			list_concat(names, vp_names_in(alter, element->expr));
	}
	return names;
}

/* Return the names of the columns that a constraint uses. */
List *
vp_names_in_constraint(const VpAlter *alter, const Constraint *constraint)
{
	List	   *names;
	ListCell   *lc;

	switch (constraint->contype)
	{
		case CONSTR_CHECK:
		case CONSTR_GENERATED:
			return vp_names_in(alter, constraint->raw_expr);
		case CONSTR_FOREIGN:
			return vp_strings(constraint->fk_attrs);
		case CONSTR_EXCLUSION:
			names = list_concat(vp_names_in(alter, constraint->where_clause), vp_strings(constraint->including));
			foreach(lc, constraint->exclusions)
				names = list_concat(names, vp_names_in_elements(alter, list_make1(linitial(lfirst_node(List, lc)))));
			return names;
		case CONSTR_UNIQUE:
		case CONSTR_PRIMARY:
			return list_concat(vp_strings(constraint->keys), vp_strings(constraint->including));
		default:
			return compat_is_table_not_null(constraint) ? vp_strings(constraint->keys) : NIL;
	}
}

/*
 * Return the part that has the constraint.  If no part has it, return the hot
 * part: the ALTER TABLE of this part then raises the error.
 */
int
vp_place_of_constraint(const VpLayout *layout, const char *name)
{
	Oid			constraint;
	HeapTuple	tuple;
	char		type;

	if (OidIsValid(get_relation_constraint_oid(layout->hot, name, true)))
		return VP_IN_HOT;
	constraint = get_relation_constraint_oid(layout->cold, name, true);
	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	if (!HeapTupleIsValid(tuple))
		return VP_IN_HOT;
	type = ((Form_pg_constraint) GETSTRUCT(tuple))->contype;
	ReleaseSysCache(tuple);
	if (type == CONSTRAINT_PRIMARY)
		return VP_IN_HOT;
	if (type == 'n')
	{
		/*
		 * the user sees neither the cold part's copies of the key and its
		 * link column, nor the NOT NULL constraints of these columns
		 */
		Oid			oid;
		Bitmapset  *columns = get_relation_constraint_attnos(layout->cold, name, true, &oid);

		for (int i = 0; i < layout->nkeys; i++)
		{
			if (bms_is_member(layout->cold_keys[i] - FirstLowInvalidHeapAttributeNumber, columns))
				return VP_IN_HOT;
		}
		if (layout->cold_link > 0 && bms_is_member(layout->cold_link - FirstLowInvalidHeapAttributeNumber, columns))
			return VP_IN_HOT;
	}
	return VP_IN_COLD;
}

/*
 * Look up the index in the view's schema, and return the part that has it.
 * Return the hot part if there is no such index.
 */
int
vp_place_of_index(const VpLayout *layout, const char *name)
{
	Oid			index = get_relname_relid(name, get_rel_namespace(layout->view));

	if (OidIsValid(index) && (get_rel_relkind(index) == RELKIND_INDEX) &&
		IndexGetRelation(index, true) == layout->cold)
		return VP_IN_COLD;
	return VP_IN_HOT;
}

/* Raise an error if a part has a column of that name that is not in the view. */
void
vp_check_new_name(const VpDdl *ddl, const char *name)
{
	if (get_attnum(ddl->view, name) == InvalidAttrNumber &&
		(get_attnum(ddl->layout.hot, name) > 0 || get_attnum(ddl->layout.cold, name) > 0))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_COLUMN),
				 errmsg("column name \"%s\" is taken on split table \"%s\"", name, get_rel_name(ddl->view)),
				 errdetail("Table \"%s\", a part of the split table, already has a column of that name.",
						   get_rel_name(get_attnum(ddl->layout.hot, name) > 0 ? ddl->layout.hot : ddl->layout.cold)),
				 errhint("Use another name, or call vertical_partition.merge('%s') first.", vp_qualified_name(ddl->view))));
}

/* Make the name refer to the relation. */
void
vp_set_name(RangeVar *name, Oid relid)
{
	name->catalogname = NULL;
	name->schemaname = get_namespace_name(get_rel_namespace(relid));
	name->relname = get_rel_name(relid);
}
