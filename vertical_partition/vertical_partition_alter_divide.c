/*-------------------------------------------------------------------------
 *
 * vertical_partition_alter_divide.c
 *	  Divide the subcommands of ALTER TABLE by the part that they are for.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_alter_divide.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "commands/defrem.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "vertical_partition.h"
#include "vertical_partition_alter.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_key.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_lookup.h"
#include "vertical_partition_place.h"

/*
 * Add a subcommand to the list of each place (a part or the view) that it is
 * for.
 */
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
 * Return the command as the server's first pass sees it.  Each name refers to
 * the column that has it before the command, even if the command drops this
 * column and adds another one of that name.
 */
static VpAlter
before_drops(const VpAlter *alter)
{
	VpAlter		before = *alter;
	ListCell   *lc;

	before.added = NIL;
	foreach(lc, alter->added)
	{
		if (get_attnum(alter->ddl->view, (char *) lfirst(lc)) == InvalidAttrNumber)
			before.added = lappend(before.added, lfirst(lc));
	}
	return before;
}

/*
 * Return the part in which to change a property of the column, such as its
 * statistics target.  For a key column, this is the hot part, because the
 * column's copy in the cold part has no such properties.
 */
static int
own_place(const VpAlter *alter, const AlterTableCmd *cmd)
{
	VpAlter		before = before_drops(alter);
	int			places = places_of_column(vp_is_drop(cmd) ? &before : alter, cmd->name);

	return places == VP_IN_BOTH ? VP_IN_HOT : places;
}

/*
 * Record the name of a new constraint of a part, if the command gives a name.
 * Raise an error if the other part has a constraint of that name: to the
 * user, both parts are one table.
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

	/* add the column to the part whose columns these expressions use */
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
 * CASCADE drops generated columns of the part together with a column that
 * they are computed from.  Add these generated columns to the list of columns
 * that the view loses.  A generated column stays if the same command drops
 * its expression.
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

	/*
	 * each part that has the column must also have the columns in the USING
	 * expression
	 */
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

	/* the server rejects ALTER TYPE of a column that the same command adds */
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

/*
 * Set storage parameters of views on the view, and storage parameters of
 * tables on both parts.
 */
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
	add_command(alter, cmd, own_place(alter, cmd));
}

/*
 * Add each subcommand to the list of the part that it is for, or to the list
 * of the view.
 */
static void
take_apart(VpAlter *alter, AlterTableStmt *stmt)
{
	ListCell   *lc;

	/*
	 * first find what the command drops: it can drop an object and reuse its
	 * name, in any order
	 */
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
		 * process the new columns before other subcommands, which run later
		 * and can use the new columns
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
				add_command(alter, cmd, own_place(alter, cmd));
				break;
			case AT_SetNotNull:
			case AT_DropNotNull:
				alter->names = true;
				add_command(alter, cmd, own_place(alter, cmd));
				break;
			case AT_DropExpression:
			case AT_SetStatistics:
			case AT_SetOptions:
			case AT_ResetOptions:
			case AT_SetStorage:
			case AT_SetCompression:
				add_command(alter, cmd, own_place(alter, cmd));
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

/*
 * Divide the subcommands of ALTER TABLE among the hot and the cold part of the
 * table, based on the current state of the table.
 */
void
vp_divide_alter(VpAlter *alter, VpDdl *ddl, AlterTableStmt *stmt)
{
	memset(alter, 0, sizeof(*alter));
	alter->ddl = ddl;
	alter->name = get_rel_name(ddl->view);
	take_apart(alter, stmt);
}
