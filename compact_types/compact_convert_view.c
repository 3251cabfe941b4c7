/*-------------------------------------------------------------------------
 *
 * compact_convert_view.c
 *	  Drop the views of a converted table, and create them again.
 *
 * All properties of the new view except its query are compared with those of
 * the old view, so that nothing gets lost silently.  Every statement on a view
 * runs as the view's owner, see compact_convert.c.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_convert_view.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "commands/tablespace.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "compact_convert.h"
#include "compact_ddl.h"
#include "compact_types.h"
#include "compact_types_compat.h"

/*
 * Read the types of a view's columns, into memory that lives as long as the
 * advice.  Note which column in the list converted a column only shows.
 */
static SavedColumn *
view_columns(const Advice *advice, Oid view, List *converted, Oid converted_in, int *ncolumns)
{
	SavedColumn *columns;
	MemoryContext oldcxt;

	compact_advise_query("SELECT pg_catalog.format('column %%I of type %%s%%s', attname, pg_catalog.format_type(atttypid, atttypmod),"
						 "  ' COLLATE ' || NULLIF(attcollation, 0)::pg_catalog.regcollation), atttypid"
						 " FROM pg_catalog.pg_attribute WHERE attrelid = %u AND attnum > 0 ORDER BY attnum", view);
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	*ncolumns = (int) SPI_processed;
	columns = palloc0((*ncolumns + 1) * sizeof(SavedColumn));
	for (int i = 0; i < *ncolumns; i++)
	{
		columns[i].description = pstrdup(compact_advise_result(i, 0));
		columns[i].typid = atooid(compact_advise_result(i, 1));
		columns[i].shows = compact_advise_view_column_shows(converted, converted_in, i + 1);
	}
	MemoryContextSwitchTo(oldcxt);

	return columns;
}

/*
 * Return true if an expression that uses the column, which revert() changes, can
 * have had the type.  The common type of a trained_textN and a compact_text is
 * compact_text.
 */
static bool
takes_away(const AdviseColumn *column, Oid typid)
{
	Oid			from = compact_element_or_type(column->att->atttypid);

	return from == typid ||
		(compact_string_kind(from) == COMPACT_STRING_TEXT && compact_string_kind(typid) == COMPACT_STRING_TEXT);
}

/* Return true if the type was the one of the column, which is trained again. */
static bool
was_trained(const AdviseColumn *column, Oid typid)
{
	return column->dictionary != NULL && compact_element_or_type(typid) == column->old_typid;
}

/*
 * Return true if a column of the created view may take the place of the one
 * before.  Its type must be the same, with three exceptions:
 *
 * - It only shows a converted column.
 * - If revert() takes the type before away, the plain tables decide.  For
 *   example, coalesce(c, '-') has the type of c, and max(c) is a text if c
 *   becomes a varchar.
 * - If a column is trained again, expressions of its former type get the new
 *   type.
 */
static bool
is_same_column(const Advice *advice, const SavedColumn *before, const SavedColumn *after)
{
	if (strcmp(before->description, after->description) == 0)
		return true;
	if (before->shows >= 0)
	{
		const AdviseColumn *column = &advice->columns[before->shows];

		/* the revert can have made "c::text" a column that shows c */
		if (column->dictionary == NULL || was_trained(column, before->former))
			return true;
	}
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];

		if (advice->reverts ?
			column->kind == ADVISE_REVERT && takes_away(column, compact_element_or_type(before->typid)) :
			was_trained(column, before->former) &&
			compact_element_or_type(after->typid) == column->type.typid)
			return true;
	}

	return false;
}

/*
 * If convert() has reverted the view to train columns again, return the view as
 * it was before.
 */
static const SavedView *
former_view(const Advice *advice, Oid view)
{
	ListCell   *lc;

	foreach(lc, advice->former_views)
	{
		const SavedView *former = (const SavedView *) lfirst(lc);

		if (former->new_oid == view)
			return former;
	}

	return NULL;
}

/* Return all properties of a view except its query, as one string. */
static char *
view_properties(const Advice *advice, Oid view)
{
	MemoryContext oldcxt;
	char	   *result;

	compact_advise_query(
						 "SELECT pg_catalog.format('%%s %%s %%s %%s %%s %%s', c.relnamespace, c.relname, c.relpersistence, c.relowner,"
						 " (SELECT pg_catalog.array_agg(o ORDER BY o) FROM pg_catalog.unnest(c.reloptions) o),"
						 " pg_catalog.obj_description(c.oid, 'pg_class'))"
						 " || COALESCE((SELECT pg_catalog.array_agg(x ORDER BY x)::text"
						 "  FROM pg_catalog.aclexplode(COALESCE(c.relacl, pg_catalog.acldefault('r', c.relowner))) x), '')"
						 " || COALESCE((SELECT pg_catalog.string_agg(pg_catalog.format('%%s %%s %%s', a.attname,"
						 "  pg_catalog.col_description(c.oid, a.attnum),"
						 "  (SELECT pg_catalog.array_agg(x ORDER BY x) FROM pg_catalog.aclexplode(a.attacl) x)), ',' ORDER BY a.attnum)"
						 "  FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0), '')"
						 " FROM pg_catalog.pg_class c WHERE c.oid = %u", view);
	if (SPI_processed != 1 || compact_advise_result(0, 0) == NULL)
		elog(ERROR, "cache lookup failed for view %u", view);
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	result = pstrdup(compact_advise_result(0, 0));
	MemoryContextSwitchTo(oldcxt);

	return result;
}

/* Return the OIDs in the last query's result, in the advice's memory. */
static List *
result_oids(const Advice *advice)
{
	List	   *result = NIL;
	MemoryContext oldcxt = MemoryContextSwitchTo(advice->cxt);

	for (uint64 i = 0; i < SPI_processed; i++)
		result = lappend_oid(result, atooid(compact_advise_result(i, 0)));
	MemoryContextSwitchTo(oldcxt);

	return result;
}

/* Return the OIDs of the relations that a view's query refers to. */
static List *
view_relations(const Advice *advice, Oid view)
{
	compact_advise_query("SELECT DISTINCT d.refobjid FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid"
						 " WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND r.ev_class = %u"
						 " AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid <> r.ev_class", view);

	return result_oids(advice);
}

/*
 * Return the OIDs of the functions that the view's query calls, directly or by
 * operators.  Leave out functions in pg_catalog and in the schema of
 * compact_types, where only superusers create functions.
 */
static List *
view_functions(const Advice *advice, Oid view)
{
	compact_advise_query("SELECT DISTINCT p.oid FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid"
						 " LEFT JOIN pg_catalog.pg_operator o ON o.oid = d.refobjid"
						 "  AND d.refclassid = 'pg_catalog.pg_operator'::pg_catalog.regclass"
						 " JOIN pg_catalog.pg_proc p ON p.oid = o.oprcode OR p.oid = d.refobjid"
						 "  AND d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass"
						 " WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND r.ev_class = %u"
						 " AND p.pronamespace NOT IN (%u, 'pg_catalog'::pg_catalog.regnamespace)",
						 view, advice->nspid);

	return result_oids(advice);
}

/*
 * Record how to create the view again: the statement that creates it, and the
 * statements that restore its comments and privileges.
 */
SavedView *
compact_convert_save_view(const Advice *advice, Oid view, List *converted)
{
	SavedView  *saved;
	MemoryContext oldcxt;
	char	   *properties = view_properties(advice, view);
	char	   *create;
	char	   *query;
	const SavedView *former = former_view(advice, view);
	char	   *former_query = NULL;

	compact_advise_query(
						 "SELECT pg_catalog.format('%%I.%%I', n.nspname, c.relname),"
						 " pg_catalog.format('CREATE VIEW %%I.%%I%%s AS ', n.nspname, c.relname,"
						 "  (SELECT ' WITH (' || pg_catalog.string_agg(pg_catalog.format('%%I = %%L', option_name, option_value), ', ') || ')'"
						 "   FROM pg_catalog.pg_options_to_table(c.reloptions))),"
						 " c.relowner, c.relacl IS NULL, c.relpersistence, pg_catalog.pg_get_viewdef(c.oid)"
						 " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
						 " WHERE c.oid = %u", view);
	if (SPI_processed != 1)
		elog(ERROR, "cache lookup failed for view %u", view);
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	saved = palloc0(sizeof(SavedView));
	saved->oid = view;
	saved->properties = properties;
	saved->name = pstrdup(compact_advise_result(0, 0));
	create = pstrdup(compact_advise_result(0, 1));
	query = pstrdup(compact_advise_result(0, 5));
	saved->owner = atooid(compact_advise_result(0, 2));
	saved->default_acl = compact_advise_result(0, 3)[0] == 't';
	saved->temporary = compact_advise_result(0, 4)[0] == RELPERSISTENCE_TEMP;
	MemoryContextSwitchTo(oldcxt);

	saved->origin = compact_revert_origin(advice, view, query, T_SelectStmt);
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	saved->query = query;
	if (advice->reverts)
	{
		saved->with_casts = psprintf("%s%s", create, query);
		if (saved->origin)
		{
			/* another table may be reverted later, and then use this text */
			saved->origin = compact_revert_casts(advice, saved->origin, view, converted);
			/* a note can have a text in which this makes a second statement */
			if (!compact_revert_is_query(saved->origin))
				saved->origin = NULL;
		}
		query = saved->origin ? saved->origin :
			compact_revert_casts(advice, query, view, converted);
	}
	else if (saved->origin == NULL)
		saved->origin = query;
	if (former)
	{
		former_query = compact_revert_casts(advice, former->query, view, converted);
		if (former_query)
			query = former_query;
	}
	saved->create = psprintf("%s%s", create, query);
	MemoryContextSwitchTo(oldcxt);

	compact_advise_query(
						 "SELECT pg_catalog.format('COMMENT ON VIEW %%s IS %%L', %s, pg_catalog.obj_description(%u, 'pg_class'))"
						 " WHERE pg_catalog.obj_description(%u, 'pg_class') IS NOT NULL"
						 " UNION ALL SELECT pg_catalog.format('COMMENT ON COLUMN %%s.%%I IS %%L', %s, attname, pg_catalog.col_description(attrelid, attnum))"
						 " FROM pg_catalog.pg_attribute WHERE attrelid = %u AND attnum > 0"
						 " AND pg_catalog.col_description(attrelid, attnum) IS NOT NULL"
						 " UNION ALL SELECT pg_catalog.format('GRANT %%s (%%I) ON %%s TO %%s%%s', x.privilege_type, a.attname, %s,"
						 "  CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(x.grantee)) END,"
						 "  CASE WHEN x.is_grantable THEN ' WITH GRANT OPTION' END)"
						 " FROM pg_catalog.pg_attribute a, pg_catalog.aclexplode(a.attacl) x WHERE a.attrelid = %u",
						 quote_literal_cstr(saved->name), view, view,
						 quote_literal_cstr(saved->name), view,
						 quote_literal_cstr(saved->name), view);
	saved->restore = compact_advise_result_list(advice);

	compact_advise_query(
						 "SELECT pg_catalog.format('GRANT %%s ON %%s TO %%s%%s', x.privilege_type, %s,"
						 "  CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(x.grantee)) END,"
						 "  CASE WHEN x.is_grantable THEN ' WITH GRANT OPTION' END)"
						 " FROM pg_catalog.pg_class c,"
						 "  pg_catalog.aclexplode(COALESCE(c.relacl, pg_catalog.acldefault('r', c.relowner))) x"
						 " WHERE c.oid = %u",
						 quote_literal_cstr(saved->name), view);
	saved->grants = compact_advise_result_list(advice);
	saved->columns = view_columns(advice, view, converted, view, &saved->ncolumns);
	for (int i = 0; i < saved->ncolumns && former != NULL; i++)
	{
		saved->columns[i].former = former->columns[i].typid;
		if (former_query)
			saved->columns[i].description = former->columns[i].description;
	}
	saved->relations = view_relations(advice, view);
	saved->functions = view_functions(advice, view);

	return saved;
}

/*
 * Run the statement on the view as its owner.  Creating a view evaluates
 * constants in its query: a literal of an array of a domain calls functions in
 * the domain's CHECK constraints.  Do not restrict the operation for a
 * temporary view, which could not be created then.  Such a view belongs to the
 * caller.
 */
void
compact_convert_execute_as_owner(const SavedView *saved, const char *sql)
{
	compact_ddl_execute_as(saved->owner, !saved->temporary, "%s", sql);
}

/*
 * Return the privilege that the owner of the view or index would need to create
 * it, and does not have, or NULL.  Set *statement to the statement that grants
 * it.  Every statement on the object runs as its owner, who had the privileges
 * at the time of creation.
 */
char *
compact_convert_owner_lacks(Oid relid, char **statement)
{
	static const struct
	{
		AclMode		mode;
		const char *name;
	}			privileges[] = {
		{ACL_USAGE, "USAGE"},
		{ACL_CREATE, "CREATE"}
	};
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class form;
	const char *owner;
	char	   *result = NULL;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	form = (Form_pg_class) GETSTRUCT(tuple);
	owner = GetUserNameFromId(form->relowner, false);
	for (int i = 0; i < (int) lengthof(privileges) && result == NULL; i++)
	{
		const char *schema = get_namespace_name(form->relnamespace);

		if (form->relpersistence == RELPERSISTENCE_TEMP ||
			compat_has_privilege(NamespaceRelationId, form->relnamespace, form->relowner, privileges[i].mode))
			continue;
		result = psprintf("Role \"%s\" has no %s privilege on schema \"%s\".",
						  owner, privileges[i].name, schema);
		*statement = psprintf("GRANT %s ON SCHEMA %s TO %s", privileges[i].name,
							  quote_identifier(schema), quote_identifier(owner));
	}
	if (result == NULL && OidIsValid(form->reltablespace) &&
		!compat_has_privilege(TableSpaceRelationId, form->reltablespace, form->relowner, ACL_CREATE))
	{
		const char *tablespace = get_tablespace_name(form->reltablespace);

		result = psprintf("Role \"%s\" has no CREATE privilege on tablespace \"%s\".", owner, tablespace);
		*statement = psprintf("GRANT CREATE ON TABLESPACE %s TO %s",
							  quote_identifier(tablespace), quote_identifier(owner));
	}
	ReleaseSysCache(tuple);

	return result;
}

/*
 * Raise an error if the owner of the view could not create it.  Check this
 * before anything changes.
 */
void
compact_convert_check_owner(Oid view)
{
	char	   *statement;
	char	   *lacks = compact_convert_owner_lacks(view, &statement);

	if (lacks == NULL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("view %s cannot be created again by its owner",
					quote_qualified_identifier(get_namespace_name(get_rel_namespace(view)),
											   get_rel_name(view))),
			 errdetail_internal("%s", lacks),
			 errhint("%s; or drop the view first.", statement)));
}

/*
 * Create the view again, as its owner.  If its query causes an error, name the
 * view in the message.
 */
static void
create_view(const SavedView *saved)
{
	MemoryContext oldcxt = CurrentMemoryContext;

	PG_TRY();
	{
		compact_convert_execute_as_owner(saved, saved->create);
	}
	PG_CATCH();
	{
		ErrorData  *error;
		int			sqlerrcode = geterrcode();
		int			category = ERRCODE_TO_CATEGORY(sqlerrcode);

		if (category != ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION &&
			category != ERRCODE_DATA_EXCEPTION &&
			category != ERRCODE_FEATURE_NOT_SUPPORTED)
			PG_RE_THROW();
		MemoryContextSwitchTo(oldcxt);
		error = CopyErrorData();
		FlushErrorState();
		if (sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE)
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("view %s cannot be created again by its owner", saved->name),
					 errdetail_internal("%s", error->message),
					 errhint("Grant role \"%s\" the missing privilege, or drop the view first.",
							 GetUserNameFromId(saved->owner, false))));
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("view %s cannot be created with the new types", saved->name),
				 errdetail_internal("%s", error->message),
				 errhint("Add a cast to the view, or drop it first.")));
	}
	PG_END_TRY();
}

/*
 * Check that the view refers to the same relations as before, or to the
 * re-created views that replace them.  Code of an owner that ran in the
 * meantime may have created other relations of the same names.  Views of other
 * owners would read these relations with the privileges of the views' owners.
 * Also check that the view calls no function that it did not call before:
 * somebody may have created a function with arguments of the new types.
 */
static void
check_references(const Advice *advice, List *views, const SavedView *saved)
{
	List	   *relations = view_relations(advice, saved->new_oid);
	bool		same = (list_length(relations) == list_length(saved->relations));
	ListCell   *lc;

	foreach(lc, relations)
	{
		Oid			relid = lfirst_oid(lc);
		ListCell   *lc2;

		foreach(lc2, views)
		{
			const SavedView *view = (const SavedView *) lfirst(lc2);

			if (view->new_oid == relid)
				relid = view->oid;
		}
		same = same && list_member_oid(saved->relations, relid);
	}
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("view %s would refer to other relations than before", saved->name),
				 errdetail("Other relations got these names while the table was converted.")));

	foreach(lc, view_functions(advice, saved->new_oid))
	{
		if (!list_member_oid(saved->functions, lfirst_oid(lc)))
			ereport(ERROR,
					(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					 errmsg("view %s would call other functions than before", saved->name),
					 errdetail("The view would call %s.", format_procedure_qualified(lfirst_oid(lc))),
					 errhint("Add a cast to the view, or drop it first.")));
	}
}

/* Create one of the views again, and check that it is the same as before. */
void
compact_convert_restore_view(const Advice *advice, List *views, SavedView *saved)
{
	ListCell   *lc;
	Oid			view;
	List	   *revoke;
	bool		default_acl;
	char	   *properties;
	int			ncolumns;
	SavedColumn *columns;

	for (;;)
	{
		int			differs = -1;

		create_view(saved);
		compact_advise_query("SELECT pg_catalog.to_regclass(%s)::pg_catalog.oid",
							 quote_literal_cstr(saved->name));
		if (SPI_processed != 1 || compact_advise_result(0, 0) == NULL)
			elog(ERROR, "view %s was not created", saved->name);
		view = saved->new_oid = atooid(compact_advise_result(0, 0));

		columns = view_columns(advice, view, NIL, InvalidOid, &ncolumns);
		for (int i = 0; i < Max(ncolumns, saved->ncolumns) && differs < 0; i++)
		{
			if (ncolumns != saved->ncolumns ||
				!is_same_column(advice, &saved->columns[i], &columns[i]))
				differs = i;
		}
		if (differs < 0)
			break;
		if (saved->with_casts == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					 errmsg("view %s would have other types than before", saved->name),
					 ncolumns != saved->ncolumns ? 0 :
					 errdetail("The view had %s, and would have %s.",
							   saved->columns[differs].description, columns[differs].description),
					 errhint("Add a cast to the view, or drop it first.")));

		/* a cast that cannot be replaced: keep the present text */
		compact_convert_execute_as_owner(saved, psprintf("DROP VIEW %s RESTRICT", saved->name));
		saved->create = saved->with_casts;
		saved->with_casts = NULL;
	}
	check_references(advice, views, saved);

	/* revoke privileges of ALTER DEFAULT PRIVILEGES, even of the owner */
	compact_advise_query(
						 "SELECT DISTINCT pg_catalog.format('REVOKE ALL ON %%s FROM %%s', %s,"
						 "  CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(x.grantee)) END)"
						 " FROM pg_catalog.pg_class c,"
						 "  pg_catalog.aclexplode(COALESCE(c.relacl, pg_catalog.acldefault('r', c.relowner))) x"
						 " WHERE c.oid = %u",
						 quote_literal_cstr(saved->name), view);
	revoke = compact_advise_result_list(advice);
	compact_advise_query("SELECT relacl IS NULL FROM pg_catalog.pg_class WHERE oid = %u", view);
	default_acl = saved->default_acl && SPI_processed == 1 && compact_advise_result(0, 0)[0] == 't';
	if (!default_acl)
	{
		foreach(lc, revoke)
			compact_convert_execute_as_owner(saved, (char *) lfirst(lc));
		foreach(lc, saved->grants)
			compact_convert_execute_as_owner(saved, (char *) lfirst(lc));
	}
	foreach(lc, saved->restore)
		compact_convert_execute_as_owner(saved, (char *) lfirst(lc));

	properties = view_properties(advice, view);
	if (strcmp(properties, saved->properties) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("view %s would have other properties than before", saved->name),
				 errdetail("Properties before: %s; properties now: %s.", saved->properties, properties)));
}
