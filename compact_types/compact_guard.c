/*-------------------------------------------------------------------------
 *
 * compact_guard.c
 *	  Prevent DROP EXTENSION ... CASCADE from dropping columns with their values.
 *
 * A column depends on its type.  While tables have columns of the extension's
 * types, DROP EXTENSION raises an error.  The hint of this error proposes
 * CASCADE, which would drop all these columns.  So an event trigger looks for
 * these columns before the statement runs.  The trigger examines statements
 * with CASCADE that drop one of the types, or an object that the type depends
 * on: the type's extension, the extension compact_types, or a schema that
 * contains one of these objects.
 *
 * The values of a type trained_textN cannot be read without its dictionary.  The
 * trigger also fires for statements on dictionaries: see
 * compact_trained_guard.c.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_guard.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_ts_dict.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "nodes/parsenodes.h"
#include "parser/parse_type.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "compact_advise.h"
#include "compact_ddl.h"
#include "compact_trained.h"
#include "compact_types.h"

/* Largest number of columns that the error message names. */
#define MAX_NAMED	3

static bool guard_drop = true;

/* If the object exists, add it to the list of targets for the query. */
static void
add_target(StringInfo targets, Oid classid, Oid objectid)
{
	if (OidIsValid(objectid))
		appendStringInfo(targets, "%s(%u, %u)", targets->len > 0 ? ", " : "",
						 classid, objectid);
}

/*
 * Find the objects that a statement with CASCADE drops, the schemas among
 * these objects, and the roles whose objects the statement drops.
 */
static void
find_targets(Node *statement, StringInfo targets, StringInfo schemas, StringInfo roles)
{
	ListCell   *lc;

	if (IsA(statement, DropOwnedStmt))
	{
		DropOwnedStmt *drop = (DropOwnedStmt *) statement;

		foreach(lc, drop->roles)
		{
			Oid			role = get_rolespec_oid(lfirst_node(RoleSpec, lc), true);

			if (drop->behavior == DROP_CASCADE && OidIsValid(role))
				appendStringInfo(roles, ", %u", role);
		}
	}
	else if (IsA(statement, DropStmt))
	{
		DropStmt   *drop = (DropStmt *) statement;

		if (drop->behavior != DROP_CASCADE)
			return;
		foreach(lc, drop->objects)
		{
			if (drop->removeType == OBJECT_TSDICTIONARY)
				add_target(targets, TSDictionaryRelationId,
						   get_ts_dict_oid(castNode(List, lfirst(lc)), true));
			else if (drop->removeType == OBJECT_EXTENSION)
				add_target(targets, ExtensionRelationId,
						   get_extension_oid(strVal(lfirst(lc)), true));
			else if (drop->removeType == OBJECT_TYPE)
				add_target(targets, TypeRelationId,
						   LookupTypeNameOid(NULL, lfirst_node(TypeName, lc), true));
			else if (drop->removeType == OBJECT_SCHEMA)
			{
				Oid			nspid = get_namespace_oid(strVal(lfirst(lc)), true);

				add_target(targets, NamespaceRelationId, nspid);
				appendStringInfo(schemas, ", %u", nspid);
			}
		}
	}
}

/* Return the first column of the last query's rows, of the first max rows, as a list. */
static char *
listed_results(int max)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < Min(max, (int) SPI_processed); i++)
		appendStringInfo(&buf, "%s%s", i > 0 ? ", " : "", compact_advise_result(i, 0));

	return buf.data;
}

/*
 * Raise an error if other objects of tables, views and domains would be
 * dropped, such as a constraint with a literal of a type, or an index with a
 * cast to it.  types lists the OIDs of the types that are dropped.  Ignore
 * tables of the schemas and of the roles.
 *
 * An expression may depend on a type only by a function or an operator.
 */
static void
check_objects(const char *types, const char *schemas, const char *roles)
{
	int			n;
	char	   *names;

	compact_advise_query("WITH used (classid, objid) AS ("
						 "  SELECT 'pg_catalog.pg_type'::pg_catalog.regclass::pg_catalog.oid, oid FROM pg_catalog.pg_type WHERE oid IN (%s)"
						 "  UNION SELECT d.classid, d.objid FROM pg_catalog.pg_depend d"
						 "  WHERE d.refclassid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.refobjid IN (%s)"
						 "  AND d.classid IN ('pg_catalog.pg_proc'::pg_catalog.regclass, 'pg_catalog.pg_operator'::pg_catalog.regclass)),"
						 " dropped (classid, objid) AS ("
						 "  SELECT DISTINCT d.classid, d.objid FROM used u JOIN pg_catalog.pg_depend d"
						 "  ON d.refclassid = u.classid AND d.refobjid = u.objid AND d.deptype = 'n'"
						 "  WHERE d.classid IN ('pg_catalog.pg_constraint'::pg_catalog.regclass, 'pg_catalog.pg_rewrite'::pg_catalog.regclass,"
						 "   'pg_catalog.pg_attrdef'::pg_catalog.regclass, 'pg_catalog.pg_statistic_ext'::pg_catalog.regclass,"
						 "   'pg_catalog.pg_policy'::pg_catalog.regclass, 'pg_catalog.pg_trigger'::pg_catalog.regclass,"
						 "   'pg_catalog.pg_class'::pg_catalog.regclass) AND d.objsubid = 0)"
						 " SELECT pg_catalog.pg_describe_object(d.classid, d.objid, 0) FROM dropped d JOIN LATERAL ("
						 "  SELECT conrelid, contypid FROM pg_catalog.pg_constraint WHERE d.classid = tableoid AND oid = d.objid"
						 "  UNION ALL SELECT ev_class, 0 FROM pg_catalog.pg_rewrite WHERE d.classid = tableoid AND oid = d.objid"
						 "  UNION ALL SELECT adrelid, 0 FROM pg_catalog.pg_attrdef WHERE d.classid = tableoid AND oid = d.objid"
						 "  UNION ALL SELECT stxrelid, 0 FROM pg_catalog.pg_statistic_ext WHERE d.classid = tableoid AND oid = d.objid"
						 "  UNION ALL SELECT polrelid, 0 FROM pg_catalog.pg_policy WHERE d.classid = tableoid AND oid = d.objid"
						 "  UNION ALL SELECT tgrelid, 0 FROM pg_catalog.pg_trigger WHERE d.classid = tableoid AND oid = d.objid"
						 "  UNION ALL SELECT COALESCE(i.indrelid, c.oid), 0 FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid"
						 "  WHERE d.classid = c.tableoid AND c.oid = d.objid AND c.relkind IN ('i', 'I', 'p')) o (relid, typid) ON true"
						 " LEFT JOIN pg_catalog.pg_class c ON c.oid = o.relid"
						 " LEFT JOIN pg_catalog.pg_type t ON t.oid = o.typid"
						 " WHERE COALESCE(c.relnamespace, t.typnamespace) NOT IN (%s) AND COALESCE(c.relowner, t.typowner) NOT IN (%s)"
						 " AND (t.oid IS NULL OR t.oid NOT IN (%s))"
						 " AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e WHERE e.deptype = 'e'"
						 "  AND (e.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND e.objid = c.oid"
						 "   OR e.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND e.objid = t.oid))"
						 " ORDER BY 1",
						 types, types, schemas, roles, types);
	n = (int) SPI_processed;
	if (n == 0)
		return;
	names = listed_results(MAX_NAMED);
	ereport(ERROR,
			(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
			 errmsg("cannot drop types of compact_types while other objects use them"),
			 n > MAX_NAMED ?
			 errdetail("%d objects would be dropped, %s among them.", n, names) :
			 errdetail_plural("%d object would be dropped: %s.", "%d objects would be dropped: %s.",
							  n, n, names),
			 errhint("Create these objects again without the types, for example with \"::text\" after a literal.  SET compact_types.guard_drop = off allows you to drop them.")));
}

/*
 * compact_types.guard_drop() returns event_trigger
 *
 * Raise an error if the statement would drop columns of tables because it
 * drops their types, or other objects of tables and views that contain the
 * types.  Ignore tables that the statement drops as a whole.  Raise
 * an error, too, if the statement would drop or rename a dictionary that values
 * are encoded with.
 */
PG_FUNCTION_INFO_V1(compact_types_guard_drop);
Datum
compact_types_guard_drop(PG_FUNCTION_ARGS)
{
	EventTriggerData *trigger;
	StringInfoData targets;
	StringInfoData schemas;
	StringInfoData roles;
	char	   *names;
	Oid			functions = get_func_namespace(fcinfo->flinfo->fn_oid);
	char	   *types;
	int			nestlevel;
	int			n;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by event trigger manager",
						"compact_types.guard_drop")));
	trigger = (EventTriggerData *) fcinfo->context;
	if (trigger->parsetree == NULL)
		PG_RETURN_NULL();

	/* whatever the setting is, dictionaries are protected */
	compact_trained_refuse_rename((Node *) trigger->parsetree);
	if (IsA(trigger->parsetree, DropStmt) &&
		((DropStmt *) trigger->parsetree)->removeType == OBJECT_TSDICTIONARY)
		compact_trained_guard_drop(((DropStmt *) trigger->parsetree)->objects);
	if (!guard_drop)
		PG_RETURN_NULL();
	initStringInfo(&targets);
	initStringInfo(&schemas);
	initStringInfo(&roles);
	appendStringInfoString(&schemas, "0");
	appendStringInfoString(&roles, "0");
	find_targets(trigger->parsetree, &targets, &schemas, &roles);
	if (targets.len == 0 && roles.len == 1)
		PG_RETURN_NULL();

	SPI_connect();
	nestlevel = compact_ddl_set_gucs();
	/* an OID of 0 matches no object */
	if (targets.len == 0)
		appendStringInfoString(&targets, "(0, 0)");

	/*
	 * For each type, follow the dependencies to the objects that the type
	 * cannot exist without.  From the types that the statement drops, follow
	 * the dependencies in the other direction, to columns: through arrays,
	 * domains, ranges and composite types.
	 */
	compact_advise_query("WITH RECURSIVE base (typid, classid, objid) AS ("
						 "  SELECT t.oid, 'pg_catalog.pg_type'::pg_catalog.regclass::pg_catalog.oid, t.oid"
						 "  FROM pg_catalog.pg_type t JOIN pg_catalog.pg_proc p ON p.oid = t.typinput"
						 "  WHERE t.typtype = 'b' AND p.pronamespace = %u"
						 "  UNION SELECT t.oid, 'pg_catalog.pg_ts_dict'::pg_catalog.regclass::pg_catalog.oid, d.oid"
						 "  FROM pg_catalog.pg_type t JOIN pg_catalog.pg_proc p ON p.oid = t.typinput"
						 "  JOIN pg_catalog.pg_ts_dict d ON d.dictname || '_in' = p.proname"
						 "  WHERE t.typtype = 'b' AND p.pronamespace = %u"
						 "  AND d.dictnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = '" COMPACT_TRAINED_SCHEMA "')"
						 "  UNION SELECT b.typid, d.refclassid, d.refobjid FROM base b"
						 "  JOIN pg_catalog.pg_depend d ON d.classid = b.classid AND d.objid = b.objid"
						 "  WHERE d.refclassid IN ('pg_catalog.pg_type'::pg_catalog.regclass, 'pg_catalog.pg_proc'::pg_catalog.regclass,"
						 "   'pg_catalog.pg_namespace'::pg_catalog.regclass, 'pg_catalog.pg_extension'::pg_catalog.regclass)"
						 "  AND d.deptype IN ('n', 'a', 'e', 'i')),"
						 " used (typid) AS ("
						 "  SELECT b.typid FROM base b WHERE (b.classid, b.objid) IN (%s)"
						 "   OR EXISTS (SELECT FROM pg_catalog.pg_shdepend s WHERE s.classid = b.classid AND s.objid = b.objid"
						 "    AND s.deptype = 'o' AND s.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass AND s.refobjid IN (%s)"
						 "    AND s.dbid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()))"
						 "  UNION SELECT CASE WHEN d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass THEN d.objid ELSE c.reltype END"
						 "  FROM used u JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.refobjid = u.typid"
						 "  LEFT JOIN pg_catalog.pg_class c ON d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND c.oid = d.objid AND c.relkind = 'c'"
						 "  WHERE d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass OR c.oid IS NOT NULL)"
						 " SELECT typid FROM used WHERE typid IS NOT NULL ORDER BY 1",
						 functions, functions, targets.data, roles.data);
	if (SPI_processed == 0)
	{
		AtEOXact_GUC(true, nestlevel);
		SPI_finish();
		PG_RETURN_NULL();
	}
	types = listed_results((int) SPI_processed);

	compact_advise_query("SELECT DISTINCT pg_catalog.format('%%I.%%I.%%I', n.nspname, c.relname, a.attname)"
						 " FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class c ON c.oid = d.objid AND c.relkind IN ('r', 'p', 'm', 'f')"
						 " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
						 " JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND NOT a.attisdropped"
						 " WHERE d.refclassid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.refobjid IN (%s)"
						 " AND d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objsubid > 0"
						 " AND c.relnamespace NOT IN (%s) AND c.relowner NOT IN (%s)"
						 " AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e WHERE e.classid = 'pg_catalog.pg_class'::pg_catalog.regclass"
						 "  AND e.objid = c.oid AND e.deptype = 'e')"
						 " ORDER BY 1",
						 types, schemas.data, roles.data);
	n = (int) SPI_processed;
	names = listed_results(MAX_NAMED);
	if (n > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot drop types of compact_types while columns use them"),
				 n > MAX_NAMED ?
				 errdetail("%d columns would be dropped with their values, %s among them.", n, names) :
				 errdetail_plural("%d column would be dropped with its values: %s.",
								  "%d columns would be dropped with their values: %s.",
								  n, n, names),
				 errhint("SELECT compact_types.revert_all(unrecorded => true) gives these columns ordinary types.  SET compact_types.guard_drop = off allows you to drop them.")));
	check_objects(types, schemas.data, roles.data);
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	PG_RETURN_NULL();
}

/* Part of _PG_init(): define the setting. */
void
compact_guard_init(void)
{
	DefineCustomBoolVariable("compact_types.guard_drop",
							 "Refuses to drop a compact type together with columns of it.",
							 NULL,
							 &guard_drop,
							 true,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
}
