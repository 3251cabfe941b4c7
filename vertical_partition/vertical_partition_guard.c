/*-------------------------------------------------------------------------
 *
 * vertical_partition_guard.c
 *	  Guards of split tables: triggers of the parts, and an event trigger.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_guard.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "commands/event_trigger.h"
#include "commands/extension.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/parsenodes.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "vertical_partition.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_row.h"

PG_FUNCTION_INFO_V1(vp_guard_part);
PG_FUNCTION_INFO_V1(vp_guard_drop);
PG_FUNCTION_INFO_V1(vp_delete_cold);

static bool guard_drop = true;

/*
 * vertical_partition.delete_cold() -- AFTER DELETE row trigger of a hot part
 *
 * Delete the cold row of a hot row that a foreign key's ON DELETE CASCADE has
 * deleted.  Do nothing if write_row() has deleted the hot row, because
 * write_row() deletes the cold row as well.
 */
Datum
vp_delete_cold(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;
	const VpLayout *layout;
	TM_FailureData tmfd;
	VpRow		row;
	Oid			view;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_AFTER(trigdata->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigdata->tg_event) || !TRIGGER_FIRED_BY_DELETE(trigdata->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" must be fired AFTER DELETE, for each row", "delete_cold")));
	view = vp_view_of_part(RelationGetRelid(trigdata->tg_relation));
	layout = OidIsValid(view) ? vp_layout(view) : NULL;
	if (layout == NULL || layout->hot != RelationGetRelid(trigdata->tg_relation))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" is not the hot part of a split table",
						RelationGetRelationName(trigdata->tg_relation)),
				 errhint("The view of a split table and both its parts must have one owner.")));

	memset(&row, 0, sizeof(row));
	vp_copy_layout(&row.layout, layout);
	row.trigdata = trigdata;
	row.snapshot = GetActiveSnapshot();
	row.cid = GetCurrentCommandId(true);
	vp_open_parts(&row, false);
	ExecForceStoreHeapTuple(trigdata->tg_trigtuple, row.hot.current, false);
	if (vp_look_for_cold(&row))
	{
		TM_Result	result = vp_delete_part(&row, &row.cold, &tmfd);

		/*
		 * nobody else can have changed the cold row, because such a change
		 * needs a new version of the hot row
		 */
		if (result != TM_Ok && result != TM_SelfModified)
			vp_unexpected(&row.cold, result);
	}
	vp_close_row(&row);
	return PointerGetDatum(NULL);
}

/*
 * vertical_partition.guard_part() -- statement trigger of the parts of a split
 * table
 *
 * Raise an error, because a write to one part alone would leave rows in one
 * part without their row in the other part.
 */
Datum
vp_guard_part(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager", "guard_part")));
	if (TRIGGER_FIRED_BY_TRUNCATE(trigdata->tg_event) &&
		vp_is_truncating(RelationGetRelid(trigdata->tg_relation)))
		return PointerGetDatum(NULL);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot write to table \"%s\", a part of a split table",
					RelationGetRelationName(trigdata->tg_relation)),
			 errhint("Write to the view of the split table.")));
	return PointerGetDatum(NULL);	/* keep compiler quiet */
}

/*
 * Collect the objects that a statement drops with CASCADE, as lists for SQL:
 * all objects, the schemas among them, and roles whose objects are dropped.
 * Return false if there are no such objects.
 */
static bool
find_targets(Node *statement, StringInfo targets, StringInfo schemas, StringInfo roles)
{
	bool		found = false;
	ListCell   *lc;

	/*
	 * begin each list with an OID that no object has, so that no list is
	 * empty
	 */
	appendStringInfoString(targets, "(0, 0)");
	appendStringInfoString(schemas, "0");
	appendStringInfoString(roles, "0");
	if (IsA(statement, DropOwnedStmt) && ((DropOwnedStmt *) statement)->behavior == DROP_CASCADE)
	{
		foreach(lc, ((DropOwnedStmt *) statement)->roles)
		{
			appendStringInfo(roles, ", %u", get_rolespec_oid(lfirst_node(RoleSpec, lc), true));
			found = true;
		}
	}
	else if (IsA(statement, DropStmt) && ((DropStmt *) statement)->behavior == DROP_CASCADE)
	{
		DropStmt   *drop = (DropStmt *) statement;

		foreach(lc, drop->objects)
		{
			if (drop->removeType == OBJECT_EXTENSION)
				appendStringInfo(targets, ", (%u, %u)", ExtensionRelationId,
								 get_extension_oid(strVal(lfirst(lc)), true));
			else if (drop->removeType == OBJECT_SCHEMA)
			{
				Oid			nspid = get_namespace_oid(strVal(lfirst(lc)), true);

				appendStringInfo(targets, ", (%u, %u)", NamespaceRelationId, nspid);
				appendStringInfo(schemas, ", %u", nspid);
			}
			else
				continue;
			found = true;
		}
	}

	return found;
}

/*
 * vertical_partition_internal.guard_drop() returns event_trigger
 *
 * The views of split tables depend on the extension, so that CASCADE would
 * drop them.  The parts would stay, without the link between them.  So raise
 * an error if the command would drop the extension while there are split
 * tables.  Ignore a split table whose view is in a schema that the command
 * drops, or whose owner's objects the command drops.
 */
Datum
vp_guard_drop(PG_FUNCTION_ARGS)
{
	EventTriggerData *trigger;
	StringInfoData targets;
	StringInfoData schemas;
	StringInfoData roles;
	StringInfoData sql;
	int			nestlevel;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by event trigger manager",
						"vertical_partition_internal.guard_drop")));
	trigger = (EventTriggerData *) fcinfo->context;
	if (!guard_drop || trigger->parsetree == NULL)
		return PointerGetDatum(NULL);
	initStringInfo(&targets);
	initStringInfo(&schemas);
	initStringInfo(&roles);
	if (!find_targets(trigger->parsetree, &targets, &schemas, &roles))
		return PointerGetDatum(NULL);

	SPI_connect();
	nestlevel = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	initStringInfo(&sql);
	/* "base": the extension, and the schemas and extensions that it needs */
	appendStringInfo(&sql,
					 "WITH RECURSIVE base (classid, objid) AS ("
					 " SELECT 'pg_extension'::regclass::oid, oid FROM pg_extension WHERE extname = 'vertical_partition'"
					 " UNION SELECT 'pg_namespace'::regclass::oid, d.objid FROM pg_extension e"
					 "  JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'"
					 "  WHERE e.extname = 'vertical_partition' AND d.classid = 'pg_namespace'::regclass"
					 " UNION SELECT d.refclassid, d.refobjid FROM base b JOIN pg_depend d ON d.classid = b.classid AND d.objid = b.objid"
					 "  WHERE d.refclassid IN ('pg_extension'::regclass, 'pg_namespace'::regclass))"
					 " SELECT p.relation::text FROM vertical_partition.status p JOIN pg_class c ON c.oid = p.relation"
					 " WHERE c.relnamespace NOT IN (%s) AND c.relowner NOT IN (%s)"
					 " AND EXISTS (SELECT FROM base b WHERE (b.classid, b.objid) IN (%s)"
					 "  OR EXISTS (SELECT FROM pg_shdepend s WHERE s.classid = b.classid AND s.objid = b.objid AND s.deptype = 'o'"
					 "   AND s.refclassid = 'pg_authid'::regclass AND s.refobjid IN (%s)"
					 "   AND s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())))"
					 " ORDER BY 1", schemas.data, roles.data, targets.data, roles.data);
	if (SPI_execute(sql.data, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not execute \"%s\"", sql.data);
	if (SPI_processed > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot drop extension \"vertical_partition\" while tables are split"),
				 errdetail_plural("%d view would be dropped, and its parts would stay: %s.",
								  "%d views would be dropped, and their parts would stay, %s among them.",
								  (int) SPI_processed, (int) SPI_processed,
								  SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1)),
				 errhint("Call vertical_partition.merge() for each of them, or SET vertical_partition.guard_drop = off.")));
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	return PointerGetDatum(NULL);
}

/* Part of _PG_init(): define the setting. */
void
vp_guard_init(void)
{
	DefineCustomBoolVariable("vertical_partition.guard_drop",
							 "Refuses to drop the extension while tables are split.",
							 NULL,
							 &guard_drop,
							 true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
}
