/*-------------------------------------------------------------------------
 *
 * vertical_partition_alter.c
 *	  ALTER TABLE and DROP TABLE of a split table.
 *
 * ALTER TABLE of a split view becomes an ALTER TABLE of each part whose
 * columns it names.  Then the view is adapted.  DROP TABLE becomes a DROP of
 * the view and both parts.
 *
 * While a part is altered, it has the view's name, and the view has another
 * name.  So new constraints, indexes and sequences get the same names as with
 * one table, and messages have the same text.  No other session sees the
 * exchange: the view and both parts are locked.
 *
 * The parts have no defaults (see split()); the view's defaults apply.  A part
 * gets the default of a column only while a command concerns that column, so
 * that the server can check and convert the default.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_alter.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/toast_compression.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_rewrite.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/event_trigger.h"
#include "commands/extension.h"
#include "commands/tablecmds.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_node.h"
#include "parser/parse_oper.h"
#include "parser/parse_relation.h"
#include "parser/parse_type.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteDefine.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteSupport.h"
#include "storage/lmgr.h"
#include "tcop/dest.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "vertical_partition.h"
#include "vertical_partition_alter.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_ddl.h"
#include "vertical_partition_key.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_lookup.h"
#include "vertical_partition_place.h"
#include "vertical_partition_redirect.h"

PG_FUNCTION_INFO_V1(vp_query_without);

/* The views that are being altered, and the part of the innermost one */
static List *vp_altered_views = NIL;
static Oid	vp_carrying = InvalidOid;

/* Return true if the view is being altered. */
bool
vp_is_altering(Oid view)
{
	return list_member_oid(vp_altered_views, view);
}

/* Return true if the relation is the part that is being altered under the view's name. */
bool
vp_is_carrying(Oid relid)
{
	return OidIsValid(relid) && relid == vp_carrying;
}

/*-------------------------------------------------------------------------
 * ALTER TABLE: dividing the subcommands
 *-------------------------------------------------------------------------
 */

/* Add a subcommand to the lists of the parts and of the view. */
static void
add_command(VpAlter *alter, AlterTableCmd *cmd, int places)
{
	if (places & VP_IN_HOT)
		alter->hot = lappend(alter->hot, cmd);
	if (places & VP_IN_COLD)
		alter->cold = lappend(alter->cold, cmd);
	if (places & VP_IN_VIEW)
		alter->view = lappend(alter->view, cmd);
}

/* Return the parts that have the column.  Raise an error if there is no such column. */
static int
places_of_column(const VpAlter *alter, const char *name)
{
	int			places = name ? vp_places_of(alter, name) : 0;

	if (name == NULL)
		vp_refuse(alter, "alter a column by its number");
	if (places == 0)
		vp_undefined_column(alter, name);
	return places;
}

/*
 * Return the part for a property that only the column itself has.  For a key column, this
 * is the hot part: its copy in the cold part has no such property.
 */
static int
own_place(const VpAlter *alter, const char *name)
{
	int			places = places_of_column(alter, name);

	return places == VP_IN_BOTH ? VP_IN_HOT : places;
}

/*
 * Record the name of a new constraint of a part, if it has one.  Raise an error if the
 * other part has a constraint of that name: to the user, both parts are one table.
 */
static void
take_constraint_name(VpAlter *alter, const Constraint *constraint, int part)
{
	const VpLayout *layout = &alter->ddl->layout;
	List	  **own = part == VP_IN_HOT ? &alter->hot_constraints : &alter->cold_constraints;
	List	   *others = part == VP_IN_HOT ? alter->cold_constraints : alter->hot_constraints;
	Oid			other = part == VP_IN_HOT ? layout->cold : layout->hot;

	if (constraint->conname == NULL)
		return;
	if (vp_has_name(others, constraint->conname) ||
		(OidIsValid(get_relation_constraint_oid(other, constraint->conname, true)) &&
		 !vp_has_name(alter->unconstrained, constraint->conname)))
		vp_duplicate_constraint(alter->name, constraint->conname);
	*own = vp_add_name(*own, constraint->conname);
}

static void
take_add_column(VpAlter *alter, AlterTableCmd *cmd)
{
	ColumnDef  *column = (ColumnDef *) cmd->def;
	AttrNumber	attnum = get_attnum(alter->ddl->view, column->colname);
	List	   *names = NIL;
	ListCell   *lc;
	int			part = VP_IN_HOT;

	if (vp_has_name(alter->added, column->colname) ||
		(attnum != InvalidAttrNumber && !vp_has_name(alter->dropped, column->colname)))
	{
		if (!cmd->missing_ok)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_COLUMN),
					 errmsg("column \"%s\" of relation \"%s\" already exists", column->colname, alter->name)));
		alter->skipped = lappend(alter->skipped, psprintf(_("column \"%s\" of relation \"%s\" already exists, skipping"),
														  column->colname, alter->name));
		return;
	}
	vp_check_new_name(alter->ddl, column->colname);

	foreach(lc, column->constraints)
	{
		Constraint *constraint = (Constraint *) lfirst(lc);

		if (constraint->contype == CONSTR_IDENTITY && constraint->generated_when == ATTRIBUTE_IDENTITY_ALWAYS)
			vp_refuse(alter, "add a column GENERATED ALWAYS AS IDENTITY");
		if (compat_is_virtual(constraint))
			vp_refuse(alter, "add a virtual generated column");
		if (constraint->contype == CONSTR_CHECK || constraint->contype == CONSTR_GENERATED)
			names = list_concat(names, vp_names_in_constraint(alter, constraint));
	}

	/* place the column with the columns that it is computed from */
	if (names != NIL)
	{
		List	   *others = NIL;

		foreach(lc, names)
		{
			if (strcmp((char *) lfirst(lc), column->colname) != 0)
				others = lappend(others, lfirst(lc));
		}
		part = vp_place(alter, others, "add a column that uses hot and cold columns");
	}
	foreach(lc, column->constraints)
		take_constraint_name(alter, (Constraint *) lfirst(lc), part);
	alter->added = vp_add_name(alter->added, column->colname);
	if (part == VP_IN_COLD)
		alter->added_cold = vp_add_name(alter->added_cold, column->colname);
	alter->names = true;
	add_command(alter, cmd, part);
}

/*
 * Add to the columns that the view loses the generated columns that CASCADE drops with a
 * column of a part.  A generated column whose expression the same command drops stays.
 */
static void
add_generated(VpAlter *alter, const VpColumn *dropped)
{
	const VpLayout *layout = &alter->ddl->layout;
	Oid			part = dropped->cold ? layout->cold : layout->hot;

	for (int i = 0; i < layout->natts; i++)
	{
		const VpColumn *column = &layout->columns[i];
		Bitmapset  *used = NULL;

		if (column->cold != dropped->cold || get_attgenerated(part, column->attnum) == '\0')
			continue;
		pull_varattnos(vp_default_of(part, column->attnum), 1, &used);
		if (bms_is_member(dropped->attnum - FirstLowInvalidHeapAttributeNumber, used) &&
			!vp_has_name(alter->unexpressed, get_attname(layout->view, i + 1, false)))
			alter->dropped = vp_add_name(alter->dropped, get_attname(layout->view, i + 1, false));
	}
}

/* Raise an error if the view would have no column of the cold part left. */
static void
check_cold_left(const VpAlter *alter)
{
	const VpLayout *layout = &alter->ddl->layout;

	if (alter->added_cold != NIL)
		return;
	for (int i = 0; i < layout->natts; i++)
	{
		if (layout->columns[i].cold && !vp_has_name(alter->dropped, get_attname(layout->view, i + 1, false)))
			return;
	}
	vp_refuse(alter, "drop the last cold column");
}

static void
take_drop_column(VpAlter *alter, AlterTableCmd *cmd)
{
	AttrNumber	attnum = get_attnum(alter->ddl->view, cmd->name);

	if (attnum == InvalidAttrNumber && cmd->missing_ok)
	{
		alter->skipped = lappend(alter->skipped, psprintf(_("column \"%s\" of relation \"%s\" does not exist, skipping"),
														  cmd->name, alter->name));
		return;
	}
	if (attnum < 1)
		vp_undefined_column(alter, cmd->name);
	if (!alter->ddl->layout.columns[attnum - 1].cold &&
		(vp_places_of(alter, cmd->name) == VP_IN_BOTH ||
		 vp_key_uses(alter->ddl->layout.hot, alter->ddl->layout.columns[attnum - 1].attnum)))
		vp_refuse(alter, "drop a column of the primary key");
	add_command(alter, cmd, alter->ddl->layout.columns[attnum - 1].cold ? VP_IN_COLD : VP_IN_HOT);
}

static void
take_type(VpAlter *alter, AlterTableCmd *cmd)
{
	ColumnDef  *column = (ColumnDef *) cmd->def;
	int			places = places_of_column(alter, cmd->name);

	/* each part must have the columns that the new values are computed from */
	if (column->raw_default)
	{
		List	   *names = vp_names_in(alter, column->raw_default);
		ListCell   *lc;

		(void) vp_place(alter, lappend(list_copy(names), cmd->name), "alter the type of a column USING hot and cold columns");
		foreach(lc, names)
		{
			if (places == VP_IN_BOTH && vp_places_of(alter, (char *) lfirst(lc)) != VP_IN_BOTH)
				vp_refuse(alter, "alter the type of a column of the key USING other columns");
		}
	}

	/* the server rejects this for a column that the same command adds */
	if (!vp_has_name(alter->added, cmd->name))
	{
		alter->retyped = vp_add_name(alter->retyped, cmd->name);
		alter->touched = vp_add_name(alter->touched, cmd->name);
		alter->key_retyped |= places == VP_IN_BOTH;
	}
	add_command(alter, cmd, places);
}

static void
take_constraint(VpAlter *alter, AlterTableCmd *cmd)
{
	Constraint *constraint = (Constraint *) cmd->def;
	int			part;

	if (constraint->indexname)
		part = vp_place_of_index(&alter->ddl->layout, constraint->indexname);
	else if (constraint->contype == CONSTR_PRIMARY)
		part = VP_IN_HOT;
	else
		part = vp_place(alter, vp_names_in_constraint(alter, constraint), "add a constraint on hot and cold columns");
	take_constraint_name(alter, constraint, part);
	alter->names |= constraint->conname == NULL;
	add_command(alter, cmd, part);
}

static void
take_drop_constraint(VpAlter *alter, AlterTableCmd *cmd)
{
	const VpLayout *layout = &alter->ddl->layout;
	int			part = vp_place_of_constraint(layout, cmd->name);
	Oid			constraint = part == VP_IN_HOT ? get_relation_constraint_oid(layout->hot, cmd->name, true) : InvalidOid;

	if (OidIsValid(constraint))
	{
		HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
		bool		is_primary = HeapTupleIsValid(tuple) &&
			((Form_pg_constraint) GETSTRUCT(tuple))->contype == CONSTRAINT_PRIMARY;

		if (HeapTupleIsValid(tuple))
			ReleaseSysCache(tuple);
		if (is_primary)
			vp_refuse(alter, "drop the primary key");
	}
	add_command(alter, cmd, part);
}

/* Set parameters of the view on the view, and parameters of a table on both parts. */
static void
take_options(VpAlter *alter, AlterTableCmd *cmd)
{
	ListCell   *lc;
	int			places = 0;

	foreach(lc, (List *) cmd->def)
	{
		const char *name = ((DefElem *) lfirst(lc))->defname;

		places |= (strcmp(name, "security_barrier") == 0 || strcmp(name, "security_invoker") == 0 ||
				   strcmp(name, "check_option") == 0) ? VP_IN_VIEW : VP_IN_BOTH;
	}
	if ((places & VP_IN_VIEW) && (places & VP_IN_BOTH))
		vp_refuse(alter, "set parameters of a view and of a table together");
	add_command(alter, cmd, places);
}

static void
take_identity(VpAlter *alter, AlterTableCmd *cmd)
{
	ListCell   *lc;

	if (cmd->subtype == AT_AddIdentity)
	{
		Constraint *identity = castNode(Constraint, cmd->def);

		if (identity->generated_when == ATTRIBUTE_IDENTITY_ALWAYS)
			vp_refuse(alter, "add GENERATED ALWAYS AS IDENTITY");
		alter->names = true;
	}
	else if (cmd->subtype == AT_SetIdentity)
	{
		foreach(lc, castNode(List, cmd->def))
		{
			DefElem    *option = (DefElem *) lfirst(lc);

			if (strcmp(option->defname, "generated") == 0 && defGetInt32(option) == ATTRIBUTE_IDENTITY_ALWAYS)
				vp_refuse(alter, "set GENERATED ALWAYS");
		}
	}
	else
		alter->unidentified = vp_add_name(alter->unidentified, cmd->name);
	alter->touched = vp_add_name(alter->touched, cmd->name);
	add_command(alter, cmd, own_place(alter, cmd->name));
}

/* Divide the subcommands by part. */
static void
take_apart(VpAlter *alter, AlterTableStmt *stmt)
{
	ListCell   *lc;

	/* the command can reuse a name that it drops, in any order */
	foreach(lc, stmt->cmds)
	{
		AlterTableCmd *cmd = (AlterTableCmd *) lfirst(lc);
		AttrNumber	attnum;

		if (cmd->subtype == AT_DropExpression)
			alter->unexpressed = vp_add_name(alter->unexpressed, cmd->name);
		else if (cmd->subtype == AT_DropConstraint)
			alter->unconstrained = vp_add_name(alter->unconstrained, cmd->name);
		else if (cmd->subtype == AT_DropColumn && (attnum = get_attnum(alter->ddl->view, cmd->name)) > 0)
		{
			alter->dropped = vp_add_name(alter->dropped, cmd->name);
			if (cmd->behavior == DROP_CASCADE)
				add_generated(alter, &alter->ddl->layout.columns[attnum - 1]);
		}
	}
	foreach(lc, stmt->cmds)
	{
		/*
		 * new columns first: the other subcommands, which run later, can use
		 * them
		 */
		if (((AlterTableCmd *) lfirst(lc))->subtype == AT_AddColumn)
			take_add_column(alter, (AlterTableCmd *) lfirst(lc));
	}
	foreach(lc, stmt->cmds)
	{
		AlterTableCmd *cmd = (AlterTableCmd *) lfirst(lc);

		switch (cmd->subtype)
		{
			case AT_AddColumn:
				break;
			case AT_DropColumn:
				take_drop_column(alter, cmd);
				break;
			case AT_AlterColumnType:
				take_type(alter, cmd);
				break;
			case AT_ColumnDefault:
				alter->touched = vp_add_name(alter->touched, cmd->name);
				add_command(alter, cmd, own_place(alter, cmd->name));
				break;
			case AT_SetNotNull:
			case AT_DropNotNull:
				alter->names = true;
				add_command(alter, cmd, own_place(alter, cmd->name));
				break;
			case AT_DropExpression:
			case AT_SetStatistics:
			case AT_SetOptions:
			case AT_ResetOptions:
			case AT_SetStorage:
			case AT_SetCompression:
				add_command(alter, cmd, own_place(alter, cmd->name));
				break;
			case AT_AddIdentity:
			case AT_SetIdentity:
			case AT_DropIdentity:
				take_identity(alter, cmd);
				break;
			case AT_AddConstraint:
				take_constraint(alter, cmd);
				break;
			case AT_DropConstraint:
				take_drop_constraint(alter, cmd);
				break;
			case AT_ValidateConstraint:
				add_command(alter, cmd, vp_place_of_constraint(&alter->ddl->layout, cmd->name));
				break;
			case AT_AlterConstraint:
				add_command(alter, cmd, vp_place_of_constraint(&alter->ddl->layout, compat_altered_constraint(cmd)));
				break;
			case AT_ClusterOn:
				add_command(alter, cmd, vp_place_of_index(&alter->ddl->layout, cmd->name));
				break;
			case AT_DropCluster:
			case AT_SetLogged:
			case AT_SetUnLogged:
			case AT_SetAccessMethod:
			case AT_SetTableSpace:
				add_command(alter, cmd, VP_IN_BOTH);
				break;
			case AT_SetRelOptions:
			case AT_ResetRelOptions:
				take_options(alter, cmd);
				break;
			case AT_ReplicaIdentity:
				if (((ReplicaIdentityStmt *) cmd->def)->identity_type == REPLICA_IDENTITY_INDEX)
					vp_refuse(alter, "set REPLICA IDENTITY USING INDEX");
				add_command(alter, cmd, VP_IN_BOTH);
				break;
			case AT_ChangeOwner:
				add_command(alter, cmd, VP_IN_VIEW);
				break;
			default:
				if (compat_sets_expression(cmd))
				{
					List	   *names = lappend(vp_names_in(alter, cmd->def), cmd->name);

					add_command(alter, cmd, vp_place(alter, names, "set an expression of hot and cold columns"));
					break;
				}
				vp_refuse(alter, "execute this form of ALTER TABLE");
		}
	}
	if (alter->dropped != NIL)
		check_cold_left(alter);
}

/*-------------------------------------------------------------------------
 * Defaults
 *-------------------------------------------------------------------------
 */

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

/* Set the default of a column, or remove it. */
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

/* Give the parts the defaults of columns that the command concerns. */
static void
lend_defaults(VpAlter *alter)
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
		}
		else if (vp_has_name(alter->unidentified, name))
			set_default(alter->ddl->view, shown, NULL);
	}
}

/* Move these defaults back to the view, together with the defaults of new columns. */
static void
take_defaults(const VpAlter *alter)
{
	List	   *names = list_copy(alter->touched);
	ListCell   *lc;

	/* each column once: a default that was moved is gone from the part */
	foreach(lc, alter->added)
		names = vp_add_name(names, (char *) lfirst(lc));
	foreach(lc, names)
	{
		const char *name = (const char *) lfirst(lc);
		AttrNumber	attnum;
		AttrNumber	shown = get_attnum(alter->ddl->view, name);
		Oid			part;

		/* the same command can have dropped the column */
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
			vp_call_helper(alter->ddl, psprintf("SELECT vertical_partition.show_identity(%u, %u, %s)",
												alter->ddl->view, part, quote_literal_cstr(name)));
	}
}

/*-------------------------------------------------------------------------
 * The view
 *-------------------------------------------------------------------------
 */

/* Return the OID of the view's rewrite rule. */
static Oid
rule_of(Oid view)
{
	return get_rewrite_oid(view, ViewSelectRuleName, false);
}

/* Return true if the object is a default or a constraint of the view itself. */
static bool
is_of_view(const ObjectAddress *object, Oid view)
{
	HeapTuple	tuple;
	bool		result;

	if (object->classId == AttrDefaultRelationId)
		return GetAttrDefaultColumnAddress(object->objectId).objectId == view;
	if (object->classId != ConstraintRelationId)
		return false;
	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(object->objectId));
	result = HeapTupleIsValid(tuple) && ((Form_pg_constraint) GETSTRUCT(tuple))->conrelid == view;
	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return result;
}

/* Raise an error if anything but the view itself depends on its column. */
static void
check_dependents(const VpAlter *alter, const char *name)
{
	AttrNumber	attnum = get_attnum(alter->ddl->view, name);
	Relation	catalog = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[3];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(alter->ddl->view));
	ScanKeyInit(&keys[2], Anum_pg_depend_refobjsubid, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(attnum));
	scan = systable_beginscan(catalog, DependReferenceIndexId, true, NULL, lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);
		ObjectAddress object = {form->classid, form->objid, form->objsubid};

		/* the default and the key of the view are recreated */
		if (is_of_view(&object, alter->ddl->view))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot alter type of a column used by a view or rule"),
				 errdetail(COMPAT_DEPENDS_ON_COLUMN, getObjectDescription(&object, false), name)));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

/*
 * Raise an error if anything but the view depends on a column that gets another type, or
 * if a table has a column of the view's row type.
 */
static void
check_retyped(const VpAlter *alter)
{
	Relation	rel = relation_open(alter->ddl->view, NoLock);
	ListCell   *lc;

	foreach(lc, alter->retyped)
		check_dependents(alter, (const char *) lfirst(lc));
	if (alter->retyped != NIL)
		find_composite_type_dependencies(rel->rd_rel->reltype, rel, NULL);
	relation_close(rel, NoLock);
}

/* Remove the dependency of the view's rule on a column of a part, until remake_view(). */
static void
release_column(Oid rule, Oid part, AttrNumber attnum)
{
	Relation	catalog = table_open(DependRelationId, RowExclusiveLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(RewriteRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(rule));
	scan = systable_beginscan(catalog, DependDependerIndexId, true, NULL, lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);

		if (form->refclassid == RelationRelationId && form->refobjid == part && form->refobjsubid == attnum)
			CatalogTupleDelete(catalog, &tuple->t_self);
	}
	systable_endscan(scan);
	table_close(catalog, RowExclusiveLock);
}

/*
 * Return true if a column of the primary key's index gets another type, which recreates
 * the index.
 */
static bool
remakes_key(const VpAlter *alter)
{
	Oid			hot = alter->ddl->layout.hot;
	ListCell   *lc;

	foreach(lc, alter->retyped)
	{
		const char *name = (const char *) lfirst(lc);

		if ((vp_places_of(alter, name) & VP_IN_HOT) && vp_key_uses(hot, get_attnum(hot, name)))
			return true;
	}
	return false;
}

/*
 * Release the columns of the parts that get another type from the view's rule.  The rule
 * keeps its dependencies on all other columns, because user code that the command runs,
 * for example USING, could alter them as well.
 */
static void
release_parts(VpAlter *alter, bool *had_key)
{
	Oid			view = alter->ddl->view;
	const VpLayout *layout = &alter->ddl->layout;
	ListCell   *lc;

	check_retyped(alter);

	/*
	 * before removing the key: recreating a trigger of the hot part can add
	 * it
	 */
	if (alter->key_retyped)
		vp_call_helper(alter->ddl, psprintf("SELECT vertical_partition.guard_keys(%u, false)", view));
	if (remakes_key(alter))
		*had_key = vp_remove_key(view);
	foreach(lc, alter->retyped)
	{
		const char *name = (const char *) lfirst(lc);
		int			places = vp_places_of(alter, name);

		if (places & VP_IN_HOT)
			release_column(rule_of(view), layout->hot, get_attnum(layout->hot, name));
		if (places & VP_IN_COLD)
			release_column(rule_of(view), layout->cold, get_attnum(layout->cold, name));
	}
	CommandCounterIncrement();
}

/* Give a column of the view the type of the part's column. */
static void
retype_column(Oid view, AttrNumber shown, Oid part, AttrNumber attnum)
{
	Relation	catalog = table_open(AttributeRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy2(ATTNUM, ObjectIdGetDatum(view), Int16GetDatum(shown));
	HeapTuple	source = SearchSysCache2(ATTNUM, ObjectIdGetDatum(part), Int16GetDatum(attnum));
	Form_pg_attribute to;
	Form_pg_attribute from;
	Relation	depend;
	ScanKeyData keys[3];
	SysScanDesc scan;
	HeapTuple	old;
	ObjectAddress column = {RelationRelationId, view, shown};
	ObjectAddress type = {TypeRelationId, InvalidOid, 0};
	ObjectAddress collation = {CollationRelationId, InvalidOid, 0};

	if (!HeapTupleIsValid(tuple) || !HeapTupleIsValid(source))
		elog(ERROR, "cache lookup failed for attribute %d of relation %u", shown, view);
	to = (Form_pg_attribute) GETSTRUCT(tuple);
	from = (Form_pg_attribute) GETSTRUCT(source);
	type.objectId = to->atttypid = from->atttypid;
	to->atttypmod = from->atttypmod;
	collation.objectId = to->attcollation = from->attcollation;
	to->attndims = from->attndims;
	to->attlen = from->attlen;
	to->attbyval = from->attbyval;
	to->attalign = from->attalign;
	to->attstorage = get_typstorage(from->atttypid);
	to->attcompression = InvalidCompressionMethod;
	CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	ReleaseSysCache(source);
	heap_freetuple(tuple);
	table_close(catalog, RowExclusiveLock);

	/* the column depends on its type and collation only */
	depend = table_open(DependRelationId, RowExclusiveLock);
	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(view));
	ScanKeyInit(&keys[2], Anum_pg_depend_objsubid, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(shown));
	scan = systable_beginscan(depend, DependDependerIndexId, true, NULL, lengthof(keys), keys);
	while (HeapTupleIsValid(old = systable_getnext(scan)))
		CatalogTupleDelete(depend, &old->t_self);
	systable_endscan(scan);
	table_close(depend, RowExclusiveLock);
	recordDependencyOn(&column, &type, DEPENDENCY_NORMAL);
	if (OidIsValid(collation.objectId) && collation.objectId != DEFAULT_COLLATION_OID)
		recordDependencyOn(&column, &collation, DEPENDENCY_NORMAL);
	CommandCounterIncrement();
}

/* Give the variables of the view's query the new types of altered columns of the parts. */
static bool
retype_vars(Node *node, const VpAlter *alter)
{
	const VpLayout *layout = &alter->ddl->layout;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;

		if (var->varattno > 0 && (var->varno == layout->hot_rti || var->varno == layout->cold_rti))
		{
			Oid			part = var->varno == layout->hot_rti ? layout->hot : layout->cold;

			if (vp_has_name(alter->retyped, get_attname(part, var->varattno, false)))
				get_atttypetypmodcoll(part, var->varattno, &var->vartype, &var->vartypmod, &var->varcollid);
		}
		return false;
	}
	return expression_tree_walker(node, retype_vars, (void *) alter);
}

/*
 * Raise an error unless each variable of the view's query has the type, typmod and
 * collation of its column.  With another type, the executor could take a value for a
 * pointer.
 */
static bool
check_vars(Node *node, Query *query)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) && ((Var *) node)->varattno > 0)
	{
		Var		   *var = (Var *) node;
		RangeTblEntry *rte = rt_fetch(var->varno, query->rtable);
		Oid			type = InvalidOid;
		int32		typmod = -1;
		Oid			collation = InvalidOid;
		HeapTuple	tuple;

		if (rte->rtekind == RTE_RELATION)
		{
			tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(rte->relid), Int16GetDatum(var->varattno));
			if (HeapTupleIsValid(tuple))
			{
				Form_pg_attribute att = (Form_pg_attribute) GETSTRUCT(tuple);

				type = att->attisdropped ? InvalidOid : att->atttypid;
				typmod = att->atttypmod;
				collation = att->attcollation;
				ReleaseSysCache(tuple);
			}
		}
		if (var->varlevelsup != 0 || var->vartype != type || var->vartypmod != typmod || var->varcollid != collation)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("columns of a split table were changed while it was being altered")));
		return false;
	}
	return expression_tree_walker(node, check_vars, query);
}

static Node *
without_relabeling(Node *node)
{
	while (node && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node;
}

/*
 * Make the link compare keys by the equality operator of their new type, which is that of
 * the primary key's index, as in split().
 */
static void
retype_link(Query *query, const VpLayout *layout)
{
	JoinExpr   *join = linitial_node(JoinExpr, query->jointree->fromlist);
	ParseState *pstate = make_parsestate(NULL);
	Relation	hot = table_open(layout->hot, NoLock);
	Relation	index;
	Oid			primary = compat_primary_key_index(hot);
	ListCell   *lc;

	if (!OidIsValid(primary))
		elog(ERROR, "table %u has no primary key", layout->hot);
	index = relation_open(primary, AccessShareLock);
	foreach(lc, make_ands_implicit((Expr *) join->quals))
	{
		OpExpr	   *op = lfirst_node(OpExpr, lc);
		Node	   *left = without_relabeling(linitial(op->args));
		Node	   *right = without_relabeling(lsecond(op->args));
		Var		   *var = castNode(Var, ((Var *) left)->varno == layout->hot_rti ? left : right);
		int			column = -1;
		Oid			operator;
		HeapTuple	tuple;
		Node	   *new;

		if (var->varattno == layout->hot_link)
			continue;
		for (int i = 0; i < index->rd_index->indnkeyatts; i++)
		{
			if (index->rd_index->indkey.values[i] == var->varattno)
				column = i;
		}
		operator = column < 0 ? InvalidOid :
			get_opfamily_member(index->rd_opfamily[column], index->rd_opcintype[column], index->rd_opcintype[column],
								BTEqualStrategyNumber);
		tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "table %u has no equality of its key", layout->hot);
		new = (Node *) make_op(pstate,
							   list_make2(makeString(get_namespace_name(((Form_pg_operator) GETSTRUCT(tuple))->oprnamespace)),
										  makeString(pstrdup(NameStr(((Form_pg_operator) GETSTRUCT(tuple))->oprname)))),
							   left, right, NULL, -1);
		ReleaseSysCache(tuple);
		assign_expr_collations(pstate, new);
		*op = *castNode(OpExpr, new);
	}
	assign_expr_collations(pstate, query->jointree->quals);
	relation_close(index, NoLock);
	table_close(hot, NoLock);
	free_parsestate(pstate);
}

/* Search for a variable of a range table entry */
typedef struct VpFindVar
{
	int			rti;
	Var		   *found;
} VpFindVar;

static bool
find_var(Node *node, VpFindVar *find)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) && ((Var *) node)->varno == find->rti && ((Var *) node)->varlevelsup == 0)
	{
		find->found = (Var *) node;
		return true;
	}
	return expression_tree_walker(node, find_var, find);
}

/* Append a column of a part to the columns of the view. */
static void
append_column(Query *query, const VpLayout *layout, bool cold, AttrNumber attnum, char *name)
{
	VpFindVar	find = {cold ? layout->cold_rti : layout->hot_rti, NULL};
	Oid			part = cold ? layout->cold : layout->hot;
	RangeTblEntry *rte = rt_fetch(find.rti, query->rtable);
	Var		   *var;
	TargetEntry *tle;

	/* copy another variable: its marks say that the join may make it null */
	(void) (expression_tree_walker((Node *) query->targetList, find_var, &find) ||
			find_var(query->jointree->quals, &find));
	if (find.found == NULL)
		elog(ERROR, "view %u shows no column of table %u", layout->view, part);
	var = copyObject(find.found);
	var->varattno = attnum;
	var->varattnosyn = attnum;
	var->location = -1;
	get_atttypetypmodcoll(part, attnum, &var->vartype, &var->vartypmod, &var->varcollid);
	tle = makeTargetEntry((Expr *) var, list_length(query->targetList) + 1, name, false);
	tle->resorigtbl = part;
	tle->resorigcol = attnum;
	query->targetList = lappend(query->targetList, tle);
	compat_add_selected(query, rte, attnum);
}

/* Return true if two layouts have the same columns of the same parts in the same order. */
static bool
is_same_layout(const VpLayout *a, const VpLayout *b)
{
	if (a->hot != b->hot || a->cold != b->cold || a->hot_rti != b->hot_rti || a->cold_rti != b->cold_rti ||
		a->method != b->method || a->natts != b->natts || a->nkeys != b->nkeys ||
		a->hot_link != b->hot_link || a->cold_link != b->cold_link)
		return false;
	for (int i = 0; i < a->natts; i++)
	{
		if (a->columns[i].cold != b->columns[i].cold || a->columns[i].attnum != b->columns[i].attnum)
			return false;
	}
	for (int i = 0; i < a->nkeys; i++)
	{
		if (a->hot_keys[i] != b->hot_keys[i] || a->cold_keys[i] != b->cold_keys[i])
			return false;
	}
	return true;
}

/* Make the view show the new columns and the new types of its parts. */
static void
remake_view(VpAlter *alter, AlterTableStmt *stmt)
{
	VpLayout   *layout = &alter->ddl->layout;
	Oid			view = layout->view;
	Relation	rel = relation_open(view, NoLock);
	Query	   *query = copyObject(get_view_query(rel));
	VpLayout	now;
	List	   *cmds = NIL;
	ListCell   *lc;

	relation_close(rel, NoLock);

	/* user code that ran meanwhile can have replaced the view */
	memset(&now, 0, sizeof(now));
	if (!vp_query_layout(query, &now) || !is_same_layout(&now, layout))
		vp_changed(alter->name);
	for (int i = 0; i < layout->natts; i++)
	{
		/* add_generated() must have found all columns that CASCADE dropped */
		if (!SearchSysCacheExistsAttName(layout->columns[i].cold ? layout->cold : layout->hot, get_attname(view, i + 1, false)))
			elog(ERROR, "column \"%s\" of split table \"%s\" is gone", get_attname(view, i + 1, false), alter->name);
	}
	if (alter->retyped != NIL)
	{
		/* user code that ran meanwhile can have created dependent objects */
		check_retyped(alter);
		foreach(lc, alter->retyped)
		{
			AttrNumber	attnum;
			Oid			part = vp_part_of_column(alter, (const char *) lfirst(lc), &attnum);

			retype_column(view, get_attnum(view, (const char *) lfirst(lc)), part, attnum);
		}
		(void) query_tree_walker(query, retype_vars, (void *) alter, 0);
		if (alter->key_retyped)
			retype_link(query, layout);
	}
	foreach(lc, alter->added)
	{
		char	   *name = (char *) lfirst(lc);
		bool		cold = vp_has_name(alter->added_cold, name);
		AttrNumber	attnum = get_attnum(cold ? layout->cold : layout->hot, name);
		AlterTableCmd *cmd = makeNode(AlterTableCmd);
		TargetEntry *tle;

		append_column(query, layout, cold, attnum, name);
		tle = llast_node(TargetEntry, query->targetList);
		cmd->subtype = AT_AddColumnToView;
		cmd->def = (Node *) makeColumnDef(name, exprType((Node *) tle->expr), exprTypmod((Node *) tle->expr),
										  exprCollation((Node *) tle->expr));
		cmds = lappend(cmds, cmd);
	}
	if (cmds != NIL)
	{
		EventTriggerAlterTableStart((Node *) stmt);
		AlterTableInternal(view, cmds, true);
		EventTriggerAlterTableEnd();
		CommandCounterIncrement();
	}

	/* columns can have been renamed; loading the rule sets checkAsUser */
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = (TargetEntry *) lfirst(lc);

		if (!tle->resjunk)
			tle->resname = get_attname(view, tle->resno, false);
	}
	setRuleCheckAsUser((Node *) query, InvalidOid);

	/* a join's list of columns can have dropped ones; nothing refers to them */
	(void) query_tree_walker(query, check_vars, query, QTW_IGNORE_JOINALIASES);
	DefineQueryRewrite(pstrdup(ViewSelectRuleName), view, NULL, CMD_SELECT, true, true, list_make1(query));
	CommandCounterIncrement();
}

/*
 * vertical_partition.query_without(view regclass, columns name[]) returns text
 *
 * Return the query of a split view without some of its columns.  Errors: 42501 if the
 * caller does not own the view, 42809 if it is not the view of a split table.
 */
Datum
vp_query_without(PG_FUNCTION_ARGS)
{
	Oid			view = PG_GETARG_OID(0);
	Datum	   *columns;
	int			n;
	List	   *names = NIL;
	List	   *kept = NIL;
	Relation	rel;
	Query	   *query;
	ListCell   *lc;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR, &columns, NULL, &n);
	for (int i = 0; i < n; i++)
		names = lappend(names, NameStr(*DatumGetName(columns[i])));

	vp_check_owner(view);
	rel = relation_open(view, AccessShareLock);
	if (rel->rd_rel->relkind != RELKIND_VIEW || vp_layout(view) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a split table", RelationGetRelationName(rel))));
	query = copyObject(get_view_query(rel));
	relation_close(rel, NoLock);
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = (TargetEntry *) lfirst(lc);

		tle->resname = get_attname(view, tle->resno, false);
		if (vp_has_name(names, tle->resname))
			continue;
		kept = lappend(kept, tle);
		tle->resno = list_length(kept);
	}
	query->targetList = kept;
	PG_RETURN_TEXT_P(cstring_to_text(pg_get_querydef(query, false)));
}

/*-------------------------------------------------------------------------
 * ALTER TABLE: executing the subcommands
 *-------------------------------------------------------------------------
 */

/* Context of the user's command, passed on to the commands that replace it */
typedef struct VpCommand
{
	PlannedStmt *pstmt;
	const char *query_string;
	ParamListInfo params;
	QueryEnvironment *query_env;
} VpCommand;

/* Run a utility command instead of the user's command, or as a part of it. */
static void
run_utility(const VpCommand *command, Node *stmt, ProcessUtilityContext context)
{
	PlannedStmt *wrapper = makeNode(PlannedStmt);

	wrapper->commandType = CMD_UTILITY;
	wrapper->canSetTag = false;
	wrapper->utilityStmt = stmt;
	wrapper->stmt_location = command->pstmt->stmt_location;
	wrapper->stmt_len = command->pstmt->stmt_len;
	ProcessUtility(wrapper, command->query_string, false, context,
				   command->params, command->query_env, None_Receiver, NULL);
	CommandCounterIncrement();
}

/*
 * Run an ALTER TABLE with these subcommands.  If "carrying" is valid, it is the part that
 * is being altered under the view's name.
 */
static void
run_alter(const VpCommand *command, const AlterTableStmt *stmt, Oid relid, Oid carrying, List *cmds)
{
	AlterTableStmt *new = makeNode(AlterTableStmt);
	Oid			saved = vp_carrying;

	new->relation = makeRangeVar(get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid), stmt->relation->location);
	new->relation->inh = stmt->relation->inh;
	new->cmds = copyObject(cmds);
	new->objtype = OBJECT_TABLE;
	(void) vp_redirect_references((Node *) new->cmds, InvalidOid, NULL);
	PG_TRY();
	{
		vp_carrying = carrying;
		run_utility(command, (Node *) new, PROCESS_UTILITY_SUBCOMMAND);
	}
	PG_FINALLY();
	{
		vp_carrying = saved;
	}
	PG_END_TRY();
}

static void
rename_to(Oid relid, const char *name)
{
	RenameRelationInternal(relid, name, true, false);
	CommandCounterIncrement();
}

/* Alter a part under the name of the view, which has another name meanwhile. */
static void
alter_part(const VpAlter *alter, const VpCommand *command, const AlterTableStmt *stmt, Oid part, List *cmds)
{
	char	   *name;

	if (cmds == NIL)
		return;
	name = get_rel_name(part);
	rename_to(part, alter->name);
	run_alter(command, stmt, part, part, cmds);
	rename_to(part, name);
}

/*
 * Return true if the subcommand drops a named object.  Other subcommands may reuse the
 * name, or may drop objects that this one depends on.
 */
static bool
is_drop(const AlterTableCmd *cmd)
{
	return cmd->subtype == AT_DropColumn || cmd->subtype == AT_DropConstraint || cmd->subtype == AT_DropIdentity;
}

/* Return the subcommands that drop something, or if "drops" is false, all others. */
static List *
drops_of(List *cmds, bool drops)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, cmds)
	{
		if (is_drop((AlterTableCmd *) lfirst(lc)) == drops)
			result = lappend(result, lfirst(lc));
	}
	return result;
}

/*
 * Alter both parts.  As with one table, drops come first, in the order of the user's
 * command.  This frees names, and drops constraints before those that they depend on.
 */
static void
alter_parts(const VpAlter *alter, const VpCommand *command, const AlterTableStmt *stmt)
{
	const VpLayout *layout = &alter->ddl->layout;
	List	   *run = NIL;
	Oid			part = InvalidOid;
	ListCell   *lc;

	/*
	 * the server's own order suffices unless the cold part has drops and the
	 * hot part is altered, too
	 */
	if (drops_of(alter->cold, true) == NIL || alter->hot == NIL)
	{
		alter_part(alter, command, stmt, layout->hot, alter->hot);
		alter_part(alter, command, stmt, layout->cold, alter->cold);
		return;
	}
	foreach(lc, stmt->cmds)
	{
		AlterTableCmd *cmd = (AlterTableCmd *) lfirst(lc);
		Oid			owner = list_member_ptr(alter->cold, cmd) ? layout->cold : layout->hot;

		if (!is_drop(cmd) || !(list_member_ptr(alter->cold, cmd) || list_member_ptr(alter->hot, cmd)))
			continue;
		if (owner != part)
		{
			alter_part(alter, command, stmt, part, run);
			run = NIL;
		}
		part = owner;
		run = lappend(run, cmd);
	}
	alter_part(alter, command, stmt, part, run);
	alter_part(alter, command, stmt, layout->hot, drops_of(alter->hot, false));
	alter_part(alter, command, stmt, layout->cold, drops_of(alter->cold, false));
}

/*
 * Lock the split table for a command that changes the view and its parts.  Raise an error
 * if the table has been replaced since it was looked up: the name may belong to another
 * table then.
 */
static void
lock_named(VpDdl *ddl, RangeVar *name)
{
	vp_lock_split(ddl);
	if (RangeVarGetRelid(name, NoLock, true) != ddl->view)
		vp_changed(name->relname);
}

/* Divide the subcommands again, based on the current state of the table. */
static void
begin_alter(VpAlter *alter, VpDdl *ddl, AlterTableStmt *stmt)
{
	memset(alter, 0, sizeof(*alter));
	alter->ddl = ddl;
	alter->name = get_rel_name(ddl->view);
	take_apart(alter, stmt);
}

/* Recreate the view without the columns that are dropped.  Return its new OID. */
static Oid
shrink_view(const VpAlter *alter)
{
	StringInfoData query;
	ListCell   *lc;
	bool		isnull;
	bool		saved = creating_extension;
	volatile Oid result = InvalidOid;

	vp_need_latest_snapshot(alter->ddl);
	initStringInfo(&query);
	appendStringInfo(&query, "SELECT vertical_partition.shrink(%u, ARRAY[", alter->ddl->view);
	foreach(lc, alter->dropped)
		appendStringInfo(&query, "%s%s", lc == list_head(alter->dropped) ? "" : ", ", quote_literal_cstr(lfirst(lc)));
	appendStringInfoString(&query, "]::pg_catalog.name[])");

	/* a view altered by an extension's script is no member of the extension */
	creating_extension = false;
	PG_TRY();
	{
		SPI_connect();
		if (SPI_execute(query.data, false, 0) != SPI_OK_SELECT || SPI_processed != 1)
			elog(ERROR, "could not execute \"%s\"", query.data);
		result = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
		SPI_finish();
	}
	PG_FINALLY();
	{
		creating_extension = saved;
	}
	PG_END_TRY();
	return result;
}

/*
 * Return the number of columns of the parts that the view does not show: those that link
 * the parts, and columns that the user has added to a part.
 */
static int
count_hidden(const VpLayout *layout)
{
	Oid			parts[2] = {layout->hot, layout->cold};
	int			hidden = 0;

	for (int part = 0; part < 2; part++)
	{
		Relation	rel = table_open(parts[part], NoLock);

		for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
			hidden += !TupleDescAttr(RelationGetDescr(rel), i)->attisdropped;
		table_close(rel, NoLock);
	}
	return hidden - layout->natts;
}

/* Adapt the triggers of the parts to their foreign keys. */
static void
follow(const VpAlter *alter)
{
	VpDdl		part = *alter->ddl;

	part.part = alter->ddl->layout.hot;
	if (alter->hot != NIL)
		vp_follow_foreign_keys(&part);
	part.part = alter->ddl->layout.cold;
	if (alter->cold != NIL)
		vp_follow_foreign_keys(&part);
}

/* Remove the table name from column references. */
static bool
unqualify(Node *node, void *context)
{
	if (node == NULL || vp_has_no_columns(node))
		return false;
	if (IsA(node, ColumnRef))
	{
		((ColumnRef *) node)->fields = list_make1(llast(((ColumnRef *) node)->fields));
		return false;
	}
	return raw_expression_tree_walker(node, unqualify, context);
}

/*
 * Return true if the function is not immutable.  The parts are altered by two statements,
 * for which a stable function need not return the same result.  PostgreSQL's own stable
 * conversions do (see is_server_conversion()): for dates and enums, there are no
 * immutable ones.
 */
static bool
is_not_immutable(Oid function, void *context)
{
	return func_volatile(function) != PROVOLATILE_IMMUTABLE;
}

/* Return true if the function is volatile, or not one of PostgreSQL's own. */
static bool
is_other_function(Oid function, void *context)
{
	return func_volatile(function) == PROVOLATILE_VOLATILE || function >= FirstNormalObjectId;
}

/*
 * Return true if the node is a conversion by text, or a cast, by functions of
 * PostgreSQL's own that call no user-defined cast.
 */
static bool
is_server_conversion(Node *node)
{
	if (IsA(node, FuncExpr))
	{
		FuncExpr   *function = (FuncExpr *) node;

		if ((function->funcformat != COERCE_EXPLICIT_CAST && function->funcformat != COERCE_IMPLICIT_CAST) ||
			exprType((Node *) linitial(function->args)) >= FirstNormalObjectId)
			return false;
	}
	else if (!IsA(node, CoerceViaIO))
		return false;
	return !check_functions_in_node(node, is_other_function, NULL);
}

/*
 * Return true if the planned expression can have another value for the other part.
 * Assume so for node types that are not listed here: some call a user-defined cast.
 */
static bool
differs_by_statement(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_List:
		case T_Var:
		case T_Const:
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_ArrayExpr:
		case T_SubscriptingRef:
		case T_CollateExpr:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_CoerceToDomain:
			break;
		default:
			return true;
	}
	if (check_functions_in_node(node, is_not_immutable, NULL) && !is_server_conversion(node))
		return true;
	return expression_tree_walker(node, differs_by_statement, context);
}

/*
 * Raise an error if USING or a cast could give a key column different values in the two
 * parts: hot rows would be joined with the cold rows of other rows.
 */
static void
check_key_values(const VpAlter *alter)
{
	Oid			cold = alter->ddl->layout.cold;
	ListCell   *lc;

	foreach(lc, alter->cold)
	{
		AlterTableCmd *cmd = (AlterTableCmd *) lfirst(lc);
		ColumnDef  *definition = (ColumnDef *) cmd->def;
		ParseState *pstate;
		Relation	rel;
		Node	   *value;
		Oid			type;
		int32		typmod;

		if (cmd->subtype != AT_AlterColumnType || vp_places_of(alter, cmd->name) != VP_IN_BOTH)
			continue;
		pstate = make_parsestate(NULL);
		rel = table_open(cold, NoLock);
		addNSItemToQuery(pstate, addRangeTableEntryForRelation(pstate, rel, AccessShareLock, NULL, false, true),
						 false, true, true);
		if (definition->raw_default != NULL)
		{
			value = copyObject(definition->raw_default);
			(void) unqualify(value, NULL);
			value = transformExpr(pstate, value, EXPR_KIND_ALTER_COL_TRANSFORM);
		}
		else
			value = colNameToVar(pstate, cmd->name, false, -1);
		typenameTypeIdAndMod(pstate, definition->typeName, &type, &typmod);
		if (value != NULL)
			value = coerce_to_target_type(pstate, value, exprType(value), type, typmod,
										  COERCION_ASSIGNMENT, COERCE_IMPLICIT_CAST, -1);
		if (value != NULL)
			assign_expr_collations(pstate, value);
		table_close(rel, NoLock);
		free_parsestate(pstate);

		/*
		 * ALTER TABLE itself rejects a value that cannot be cast.  Only a
		 * planned expression shows arguments that are given by default.
		 */
		if (value != NULL && differs_by_statement((Node *) expression_planner((Expr *) value), NULL))
			vp_refuse(alter, "alter the type of a column of the key by a function that is not immutable");
	}
}

/*
 * Execute an ALTER TABLE that changes the table for other sessions.  The caller has
 * locked the view and the parts.
 */
static void
alter_all(VpAlter *alter, const VpCommand *command, AlterTableStmt *stmt)
{
	VpDdl	   *ddl = alter->ddl;
	Oid			file = vp_file_of(ddl->layout.cold);
	char	   *name = pstrdup(alter->name);
	bool		had_key = false;
	List	   *saved = vp_altered_views;
	int			hidden = count_hidden(&ddl->layout);

	vp_carry_names(ddl);
	if (alter->dropped != NIL)
		vp_refresh_split(ddl, shrink_view(alter));
	check_key_values(alter);
	lend_defaults(alter);
	if (alter->retyped != NIL || alter->dropped != NIL)
		release_parts(alter, &had_key);

	(void) vp_redirect_references((Node *) alter->hot, ddl->layout.hot, alter->name);
	(void) vp_redirect_references((Node *) alter->cold, ddl->layout.cold, alter->name);
	vp_altered_views = lappend_oid(list_copy(saved), ddl->view);
	PG_TRY();
	{
		rename_to(ddl->view, ChooseRelationName("vertical_partition", name, "view", get_rel_namespace(ddl->view), false));
		alter_parts(alter, command, stmt);
		rename_to(ddl->view, name);
	}
	PG_FINALLY();
	{
		vp_altered_views = saved;
	}
	PG_END_TRY();

	if (alter->added != NIL || alter->retyped != NIL || alter->dropped != NIL)
		remake_view(alter, stmt);
	take_defaults(alter);
	vp_refresh_split(ddl, ddl->view);
	if (!vp_carries(ddl))
		vp_changed(name);

	/* nobody could see a column that only the view has lost */
	if (count_hidden(&ddl->layout) != hidden)
		elog(ERROR, "split table \"%s\" does not show all columns of its parts", name);
	if (had_key)
		vp_restore_key(ddl->view);
	if (alter->key_retyped)
		vp_call_helper(ddl, psprintf("SELECT vertical_partition.guard_keys(%u, true), vertical_partition.check_keys(%u)",
									 ddl->view, ddl->view));
	follow(alter);
	vp_follow_file(ddl, file);
}

static void
tell_skipped(const VpAlter *alter)
{
	ListCell   *lc;

	foreach(lc, alter->skipped)
		ereport(NOTICE,
				(errmsg_internal("%s", (char *) lfirst(lc))));
}

/* Execute an ALTER TABLE of a split table, without its event triggers. */
static void
execute_alter(const VpCommand *command, AlterTableStmt *stmt)
{
	VpDdl	   *ddl = vp_hold_split(stmt->relation);
	VpAlter		alter;
	Relation	view;

	if (ddl == NULL)
		vp_changed(stmt->relation->relname);
	begin_alter(&alter, ddl, stmt);
	if (AlterTableGetLockLevel(stmt->cmds) < AccessExclusiveLock && !alter.names && alter.view == NIL &&
		!vp_names_differ(&ddl->layout))
	{
		if (alter.hot != NIL)
			run_alter(command, stmt, ddl->layout.hot, InvalidOid, alter.hot);
		if (alter.cold != NIL)
			run_alter(command, stmt, ddl->layout.cold, InvalidOid, alter.cold);
		return;
	}
	UnlockRelationOid(ddl->view, AccessShareLock);
	lock_named(ddl, stmt->relation);

	/* an INSERT has only the view open while it computes the next row */
	view = relation_open(ddl->view, NoLock);
	CheckTableNotInUse(view, "ALTER TABLE");
	relation_close(view, NoLock);
	stmt = copyObject(stmt);
	begin_alter(&alter, ddl, stmt);
	tell_skipped(&alter);
	alter_all(&alter, command, stmt);
	if (alter.view != NIL)
		run_alter(command, stmt, ddl->view, InvalidOid, alter.view);
}

/*
 * Execute an ALTER TABLE of a split table.  Return false if the view itself can execute
 * it.
 *
 * Event triggers are fired once for the whole command, after the view and the parts have
 * their names again.
 */
static bool
carry_alter(const VpCommand *command, AlterTableStmt *stmt)
{
	VpDdl	   *ddl = stmt->objtype == OBJECT_TABLE ? vp_hold_split(stmt->relation) : NULL;
	VpAlter		alter;
	bool		triggers;

	if (ddl == NULL)
		return false;
	begin_alter(&alter, ddl, stmt);
	UnlockRelationOid(ddl->view, AccessShareLock);
	if (alter.hot == NIL && alter.cold == NIL)
	{
		if (alter.view == NIL)
		{
			PreventCommandIfReadOnly("ALTER TABLE");
			PreventCommandIfParallelMode("ALTER TABLE");
			PreventCommandDuringRecovery("ALTER TABLE");
			tell_skipped(&alter);
		}
		return alter.view == NIL;
	}

	triggers = EventTriggerBeginCompleteQuery();
	PG_TRY();
	{
		EventTriggerDDLCommandStart((Node *) stmt);
		execute_alter(command, stmt);
		EventTriggerSQLDrop((Node *) stmt);
		EventTriggerDDLCommandEnd((Node *) stmt);
	}
	PG_FINALLY();
	{
		if (triggers)
			EventTriggerEndCompleteQuery();
	}
	PG_END_TRY();
	return true;
}

/*-------------------------------------------------------------------------
 * DROP TABLE
 *-------------------------------------------------------------------------
 */

/* Return the name of a relation as a list for DROP. */
static List *
name_list(Oid relid)
{
	return list_make2(makeString(get_namespace_name(get_rel_namespace(relid))), makeString(get_rel_name(relid)));
}

/*
 * Execute DROP TABLE of split tables, and of other tables in the same command.  The views
 * are dropped first, then the parts.  Return false if the command names no split table.
 */
static bool
carry_drop(const VpCommand *command, DropStmt *stmt)
{
	DropStmt   *views;
	DropStmt   *tables;
	bool		triggers;
	ListCell   *lc;

	if (stmt->removeType != OBJECT_TABLE)
		return false;
	views = makeNode(DropStmt);
	views->removeType = OBJECT_VIEW;
	views->behavior = stmt->behavior;
	tables = makeNode(DropStmt);
	tables->removeType = OBJECT_TABLE;
	tables->behavior = stmt->behavior;
	tables->missing_ok = stmt->missing_ok;
	foreach(lc, stmt->objects)
	{
		RangeVar   *name = makeRangeVarFromNameList(lfirst_node(List, lc));
		VpDdl	   *ddl = vp_hold_split(name);

		if (ddl == NULL)
		{
			tables->objects = lappend(tables->objects, copyObject(lfirst(lc)));
			continue;
		}
		UnlockRelationOid(ddl->view, AccessShareLock);
		lock_named(ddl, name);
		if (ddl->layout.method == VP_ROW_POINTER)
			vp_call(psprintf("SELECT vertical_partition.forget_row_pointers(%u)", ddl->layout.cold));
		views->objects = lappend(views->objects, name_list(ddl->view));
		tables->objects = lappend(tables->objects, name_list(ddl->layout.hot));
		tables->objects = lappend(tables->objects, name_list(ddl->layout.cold));
	}
	if (views->objects == NIL)
		return false;

	/* event triggers see one command that drops all of them */
	triggers = EventTriggerBeginCompleteQuery();
	PG_TRY();
	{
		EventTriggerDDLCommandStart((Node *) stmt);
		run_utility(command, (Node *) views, PROCESS_UTILITY_SUBCOMMAND);
		run_utility(command, (Node *) tables, PROCESS_UTILITY_SUBCOMMAND);
		EventTriggerSQLDrop((Node *) stmt);
		EventTriggerDDLCommandEnd((Node *) stmt);
	}
	PG_FINALLY();
	{
		if (triggers)
			EventTriggerEndCompleteQuery();
	}
	PG_END_TRY();
	return true;
}

/*
 * Execute a utility command on a split table that becomes several commands.  Return
 * false, without executing it, if the command is not one of those.
 */
bool
vp_carry_ddl(PlannedStmt *pstmt, const char *query_string, ParamListInfo params, QueryEnvironment *query_env)
{
	VpCommand	command = {pstmt, query_string, params, query_env};
	Node	   *stmt = pstmt->utilityStmt;

	if (!OidIsValid(vp_linked_oid()))
		return false;
	if (IsA(stmt, AlterTableStmt))
		return carry_alter(&command, (AlterTableStmt *) stmt);
	if (IsA(stmt, DropStmt))
		return carry_drop(&command, (DropStmt *) stmt);
	return false;
}
