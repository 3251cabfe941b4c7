/*-------------------------------------------------------------------------
 *
 * compact_convert.c
 *	  Carry out the advice on a table, in one rewrite.
 *
 * compact_types.convert() locks the table, makes the advice from all rows, and
 * looks for everything that ALTER TABLE cannot carry over.  If it finds an
 * obstacle, it raises an error before it changes anything.  Then one ALTER
 * TABLE changes all columns.  Views that use the columns are dropped before
 * the ALTER TABLE, and created again afterwards.  All properties of the new
 * view except its query are compared with those of the old view, so that
 * nothing gets lost silently. Everything is one transaction: any error leaves
 * the table and the views as they were.
 *
 * Privileges.  The caller may be a superuser, while the table belongs to a
 * user who wants to become a superuser.  Therefore each statement that calls
 * functions of the owner of the table or of a view runs as that owner, see
 * compact_ddl_become().  Objects that were looked up by name while such code
 * could run are compared by OID afterwards.
 *
 * Progress.  The USING clause of the first column calls
 * compact_types.convert_row(), which counts rows.  The rows are reported as
 * the progress of a CLUSTER command, because ALTER TABLE itself reports the
 * indexes that it rebuilds after the rewrite as progress of that command.  The
 * report cannot begin before the first row, since re-creating an index ends
 * the report.  If a function of a CHECK constraint converts another table, the
 * report is about that table until its conversion ends.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_convert.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/tablecmds.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/backend_progress.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "compact_advise.h"
#include "compact_convert.h"
#include "compact_ddl.h"
#include "compact_types.h"
#include "compact_types_compat.h"

/*
 * The progress parameters that a conversion uses.  Neither CLUSTER nor the
 * build of an index writes to them.
 */
#define PROGRESS_CONVERT_ROWS_TOTAL		17
#define PROGRESS_CONVERT_ROWS_DONE		18
#define PROGRESS_CONVERT_MARK			19

/* The marks, which the view compact_types.progress looks for. */
#define CONVERT_MARK	0x636f6e76
#define REVERT_MARK		0x72657665

/* A conversion whose rows convert_row() counts */
typedef struct ConvertProgress
{
	Oid			relid;
	int64		mark;
	int64		rows_total;
	int64		rows_done;
} ConvertProgress;

/* The conversion that runs now, if relid is valid */
static ConvertProgress progress;

/*
 * Report the progress, unless it is reported already.  A function in a CHECK
 * constraint can end the report, for example by an error that it catches, or
 * by the conversion of another table.
 */
static void
publish_progress(void)
{
	if (compat_progress_is_rewrite(progress.relid))
		return;
	compat_progress_begin_rewrite(progress.relid);
	pgstat_progress_update_param(PROGRESS_CONVERT_ROWS_DONE, progress.rows_done);
	pgstat_progress_update_param(PROGRESS_CONVERT_ROWS_TOTAL, progress.rows_total);
	pgstat_progress_update_param(PROGRESS_CONVERT_MARK, progress.mark);
}

/*
 * compact_types.convert_row(anyelement) returns anyelement: its argument
 *
 * Count a row of the conversion that this session carries out.
 */
PG_FUNCTION_INFO_V1(compact_types_convert_row);
Datum
compact_types_convert_row(PG_FUNCTION_ARGS)
{
	if (OidIsValid(progress.relid))
	{
		publish_progress();
		pgstat_progress_update_param(PROGRESS_CONVERT_ROWS_DONE, ++progress.rows_done);
	}
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();

	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/* Report that a named column has no proposal. */
void
compact_convert_no_type(const Advice *advice, const char *name, const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("there is no compact type to convert column \"%s\" of table \"%s\" to",
					name, RelationGetRelationName(advice->rel)),
			 errdetail("The advice says: %s.", reason)));
}

/*
 * Mark the columns to convert: the named ones, or else all columns that have a
 * proposal and need not be named.
 */
bool *
compact_convert_choose_columns(const Advice *advice, ArrayType *names)
{
	bool	   *chosen = palloc0(advice->ncolumns + 1);
	ListCell   *lc;

	if (names == NULL)
	{
		for (int i = 0; i < advice->ncolumns; i++)
			chosen[i] = (advice->columns[i].kind != ADVISE_KEEP && !advice->columns[i].by_name);
		return chosen;
	}

	foreach(lc, compact_advise_column_names(names))
	{
		const char *name = lfirst(lc);
		const AdviseColumn *column = compact_advise_find_column(advice, name);

		if (column->kind == ADVISE_KEEP && advice->reverts)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the former type of column \"%s\" of table \"%s\" is not known",
							name, RelationGetRelationName(advice->rel)),
					 errdetail_internal("%s", column->reason)));
		if (column->kind == ADVISE_KEEP)
			compact_convert_no_type(advice, name, column->reason);
		chosen[column - advice->columns] = true;
	}

	return chosen;
}

/*
 * Return the numbers of the chosen columns as an SQL list, and set *nchosen to
 * the number of columns.
 */
char *
compact_convert_chosen_attnums(const Advice *advice, const bool *chosen, int *nchosen)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfoString(&buf, "0");
	*nchosen = 0;
	for (int i = 0; i < advice->ncolumns; i++)
	{
		if (!chosen[i])
			continue;
		(*nchosen)++;
		appendStringInfo(&buf, ", %d", advice->columns[i].att->attnum);
	}

	return buf.data;
}

/*
 * Deselect the blocked columns.  A view that could not be created again also
 * blocks the columns that it uses.  Return one message for each blocked
 * column.
 */
static List *
skip_blocked(const Advice *advice, bool *chosen)
{
	List	   *result = NIL;

	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];
		List	   *blockers = column->blockers;

		if (!chosen[i])
			continue;
		if (blockers == NIL)
			blockers = compact_advise_unrestorable(advice,
												   compact_advise_dependent_views(advice, psprintf("%d", column->att->attnum), NULL));
		if (blockers == NIL)
			continue;
		chosen[i] = false;
		result = lappend(result, psprintf("skipping column \"%s\" of table \"%s\": %s",
										  NameStr(column->att->attname),
										  RelationGetRelationName(advice->rel),
										  (char *) linitial(blockers)));
	}

	return result;
}

/* Refuse the conversion if anything blocks it. */
static void
refuse(const Advice *advice, const bool *chosen, List *unrestorable,
	   const ConvertOptions *options)
{
	StringInfoData detail;
	ListCell   *lc;

	initStringInfo(&detail);
	foreach(lc, advice->blockers)
		appendStringInfo(&detail, "%s%s", detail.len > 0 ? "\n" : "", (char *) lfirst(lc));
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];

		if (!chosen[i])
			continue;
		foreach(lc, column->blockers)
			appendStringInfo(&detail, "%scolumn %s: %s", detail.len > 0 ? "\n" : "",
							 NameStr(column->att->attname), (char *) lfirst(lc));
	}
	foreach(lc, unrestorable)
		appendStringInfo(&detail, "%s%s", detail.len > 0 ? "\n" : "", (char *) lfirst(lc));
	if (detail.len > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 advice->reverts && !options->to_train ?
				 errmsg("cannot revert table \"%s\" because other objects depend on it",
						RelationGetRelationName(advice->rel)) :
				 errmsg("cannot convert table \"%s\" because other objects depend on it",
						RelationGetRelationName(advice->rel)),
				 errdetail_internal("%s", detail.data),
				 options->views ? errhint("Remove these obstacles, or use skip_blocked => true.") :
				 options->all ? errhint("Remove these obstacles, use skip_blocked => true, or name the columns to convert in the argument \"columns\".") :
				 errhint("Remove these obstacles first.")));
}

/*
 * Check that the caller could become the relation's owner by SET ROLE.
 * Statements run as the owner, whose role attributes a member does not
 * inherit.  A member without SET ROLE can nevertheless add functions to the
 * table, for example in a CHECK constraint.  These functions would run as the
 * owner, although they are not the owner's code.
 */
static void
check_set_role(Oid relid)
{
	Oid			owner = compact_ddl_relation_owner(relid);

	if (!OidIsValid(owner))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!compat_can_become(GetUserId(), owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be able to SET ROLE \"%s\"", GetUserNameFromId(owner, false))));
}

/*
 * Check that the caller owns the relation and that it is a table.  Call this
 * function before taking the ACCESS EXCLUSIVE lock, too, so that a user who is
 * not the owner cannot block others.
 */
static void
check_table(Oid relid)
{
	char		relkind = get_rel_relkind(relid);

	if (relkind == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!compat_relation_ownercheck(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(relkind), get_rel_name(relid));
	check_set_role(relid);
	if (relkind != RELKIND_RELATION)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table that stores its rows with access method \"heap\"", get_rel_name(relid))));
	if (IsCatalogRelationOid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("\"%s\" is a system catalog", get_rel_name(relid))));
}

/*
 * Create the chosen types that do not exist yet.  Then look up their OID and
 * properties, which the advice could not know.
 */
static void
create_types(Advice *advice, const bool *chosen, bool train, List **messages)
{
	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];
		AdviseType	type;

		if (chosen[i] && train && column->kind == ADVISE_TEXT)
			compact_convert_train(advice, column, messages);
		if (!chosen[i] || OidIsValid(column->type.typid))
			continue;
		if (!compact_advise_find_type(advice, column->type.name, &type) ||
			!OidIsValid(type.typid))
		{
			compact_ddl_execute("CREATE EXTENSION %s SCHEMA %s", column->type.name,
								quote_identifier(advice->type_schema));
			if (!compact_advise_find_type(advice, column->type.name, &type) || !OidIsValid(type.typid))
				elog(ERROR, "extension \"%s\" did not create the type", column->type.name);
		}
		type.typmod = column->type.typmod;
		column->type = type;
	}
}

/*
 * Refuse a type that can be dropped by a user who cannot drop the table.  The
 * columns would be dropped with the type, and the table's owner would lose
 * them.
 */
static void
check_types(const Advice *advice, const bool *chosen)
{
	Oid			owner = advice->rel->rd_rel->relowner;

	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];
		char	   *drop = NULL;

		/* types of core are safe */
		if (chosen[i] && column->type.typid >= FirstNormalObjectId)
			drop = compact_ddl_who_could_drop(column->type.typid, owner);
		if (drop)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("type %s is not safe for a column of table \"%s\"",
							format_type_be(column->type.typid), RelationGetRelationName(advice->rel)),
					 errdetail_internal("%s", drop),
					 errhint(DDL_OWNER_HINT)));
	}
}

/*
 * Run the single ALTER TABLE, and report its progress.  Run it as the table's
 * owner, who wrote the functions in CHECK constraints and indexes.  These
 * functions must not get the privileges of a superuser who converts the table.
 */
static void
alter_table(const Advice *advice, const bool *chosen, Oid relid, Oid owner, const char *table)
{
	StringInfoData sql;
	const char *separator = " ";
	const char *schema = quote_identifier(get_namespace_name(advice->nspid));
	AttrNumber *attnums = palloc0((advice->ncolumns + 1) * sizeof(AttrNumber));
	ConvertProgress outer = progress;
	ListCell   *lc;

	initStringInfo(&sql);
	appendStringInfo(&sql, "ALTER TABLE ONLY %s", table);
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];
		const char *name = quote_identifier(NameStr(column->att->attname));

		if (!chosen[i])
			continue;
		attnums[i] = column->att->attnum;
		appendStringInfo(&sql, "%s%s USING ", separator, compact_advise_column_clause(column));
		if (separator[0] == ' ')
			appendStringInfo(&sql, "%s.convert_row(%s::%s)", schema, name, column->type.sql);
		else
			appendStringInfo(&sql, "%s::%s", name, column->type.sql);
		appendStringInfoString(&sql, column->storage ? column->storage :
							   compact_advise_storage_clauses(column, ", "));
		separator = ", ";
	}
	foreach(lc, advice->constraints)
		appendStringInfo(&sql, ", %s", (char *) lfirst(lc));

	progress.relid = relid;
	progress.mark = advice->reverts ? REVERT_MARK : CONVERT_MARK;
	progress.rows_total = advice->sampled_rows;
	progress.rows_done = 0;

	PG_TRY();
	{
		compact_ddl_execute_as(owner, true, "%s", sql.data);
	}
	PG_FINALLY();
	{
		progress = outer;
	}
	PG_END_TRY();
	pgstat_progress_end_command();
	if (OidIsValid(progress.relid))
		publish_progress();

	/* the name may have come to mean another table in the meantime */
	for (int i = 0; i < advice->ncolumns; i++)
	{
		if (chosen[i] && get_atttype(relid, attnums[i]) != advice->columns[i].type.typid)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("table %s was renamed at the same time", table),
					 errhint("Try again.")));
	}
}

/*
 * Change the types, and create the views again.  nestlevel is the current GUC
 * nest level, whose settings are for these statements.  The function ends this
 * level and begins another level.  Return the new level.
 */
static int
change_types(const Advice *advice, const bool *chosen, Oid relid, Oid owner,
			 const char *table, List *saved, bool quiet, int nestlevel)
{
	ListCell   *lc;

	for (int i = list_length(saved) - 1; i >= 0; i--)
	{
		const SavedView *view = (const SavedView *) list_nth(saved, i);

		compact_convert_execute_as_owner(view, psprintf("DROP VIEW %s RESTRICT", view->name));
	}
	foreach(lc, advice->prepare)
		compact_ddl_execute_as(owner, true, "%s", (char *) lfirst(lc));

	/*
	 * Every name in this statement is qualified.  But functions in CHECK
	 * constraints and indexes may rely on the caller's search_path.  ALTER
	 * TABLE re-creates constraints, defaults and indexes from their text.
	 */
	AtEOXact_GUC(true, nestlevel);
	nestlevel = NewGUCNestLevel();
	compact_ddl_set_deparse_gucs();
	if (quiet)
		(void) set_config_option("client_min_messages", "warning", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	alter_table(advice, chosen, relid, owner, table);
	AtEOXact_GUC(true, nestlevel);
	nestlevel = compact_ddl_set_gucs();
	compact_ddl_set_deparse_gucs();
	foreach(lc, advice->complete)
		compact_ddl_execute_as(owner, true, "%s", (char *) lfirst(lc));
	foreach(lc, saved)
		compact_convert_restore_view(advice, saved, lfirst(lc));
	if (advice->validate != NIL)
	{
		AtEOXact_GUC(true, nestlevel);
		nestlevel = NewGUCNestLevel();
		foreach(lc, advice->validate)
			compact_ddl_execute_as(owner, true, "%s", (char *) lfirst(lc));
		AtEOXact_GUC(true, nestlevel);
		nestlevel = compact_ddl_set_gucs();
		compact_ddl_set_deparse_gucs();
	}

	return nestlevel;
}

/* Give the table new and empty files. */
static void
empty_table(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	Oid			toastrelid = rel->rd_rel->reltoastrelid;

	CheckTableNotInUse(rel, "ALTER TABLE");
	compat_new_storage(rel);
	table_close(rel, NoLock);
	if (OidIsValid(toastrelid))
	{
		rel = relation_open(toastrelid, AccessExclusiveLock);
		compat_new_storage(rel);
		relation_close(rel, NoLock);
	}
	CommandCounterIncrement();
	compat_reindex_relation(relid);
	CommandCounterIncrement();
}

/*
 * Do everything in a subtransaction, as if the table were empty, and roll it
 * back.  An error that does not depend on the rows then comes before the first
 * row is moved.  This finds every reason for which ALTER TABLE and CREATE VIEW
 * fail.
 */
static int
rehearse(const Advice *advice, const bool *chosen, Oid relid, Oid owner,
		 const char *table, List *saved, int nestlevel)
{
	MemoryContext oldcxt = CurrentMemoryContext;
	ResourceOwner oldowner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	AtEOXact_GUC(true, nestlevel);
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(oldcxt);
	PG_TRY();
	{
		int			inner = compact_ddl_set_gucs();
		ListCell   *lc;

		compact_ddl_set_deparse_gucs();
		empty_table(relid);
		/* their foreign keys would find no rows in the empty table */
		foreach(lc, advice->referencing)
			empty_table(lfirst_oid(lc));
		inner = change_types(advice, chosen, relid, owner, table, saved, true, inner);
		AtEOXact_GUC(true, inner);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(oldcxt);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(oldcxt);
	CurrentResourceOwner = oldowner;
	if (error)
		ReThrowError(error);

	nestlevel = compact_ddl_set_gucs();
	compact_ddl_set_deparse_gucs();

	return nestlevel;
}

/* Add the row of a converted column to the result. */
static void
add_column(ReturnSetInfo *rsinfo, Oid relid, const AdviseColumn *column)
{
	Form_pg_attribute att = column->att;
	Datum		values[] = {
		ObjectIdGetDatum(relid),
		NameGetDatum(&att->attname),
		CStringGetTextDatum(column->old_type ? column->old_type :
							format_type_extended(att->atttypid, att->atttypmod, FORMAT_TYPE_TYPEMOD_GIVEN)),
		CStringGetTextDatum(format_type_with_typemod(column->type.typid, column->type.typmod))
	};
	bool		nulls[lengthof(values)] = {false};

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Add the row of a view that was created again: only its first field is not NULL. */
void
compact_convert_add_view(ReturnSetInfo *rsinfo, Oid view)
{
	Datum		values[] = {ObjectIdGetDatum(view), 0, 0, 0};
	bool		nulls[] = {false, true, true, true};

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * Raise an error if an argument is NULL, or if the transaction cannot change
 * types.  function is the name of the called SQL function.  With has_columns,
 * the second argument may be NULL.
 */
void
compact_convert_check_call(FunctionCallInfo fcinfo, const char *function, bool has_columns)
{
	compact_advise_refuse_null(fcinfo, function, has_columns ? 1 << 1 : 0);
	PreventCommandIfReadOnly(function);

	/*
	 * Rows and catalogs are read as they are now.  The rest of a transaction
	 * of this isolation level would see another state, and the rewrite would
	 * show this transaction rows that do not exist yet in its snapshot.
	 */
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot run in a transaction of isolation level REPEATABLE READ or SERIALIZABLE", function),
				 errhint("Use READ COMMITTED.")));
}

/* Lock the table if the caller may change it. */
void
compact_convert_lock_table(Oid relid)
{
	check_table(relid);
	LockRelationOid(relid, AccessExclusiveLock);
	check_table(relid);
	compact_ddl_hold_schema_name(get_rel_namespace(relid));
}

/*
 * Change the chosen columns to the types that the advice proposes.  Add a row
 * to the result for each column and for each re-created view, unless rsinfo is
 * NULL.  compact_convert_lock_table() must have locked the table of the
 * advice.  The advice has the table open; this function closes it.
 */
void
compact_convert_columns(Advice *advice, bool *chosen, const ConvertOptions *options,
						ReturnSetInfo *rsinfo)
{
	Oid			relid = RelationGetRelid(advice->rel);
	List	   *views;
	bool		too_deep = false;
	List	   *converted = NIL;
	List	   *saved = NIL;
	List	   *skipped = NIL;	/* messages for the user */
	char	   *attnums;
	ListCell   *lc;
	char	   *table;
	int			nestlevel;
	int			nchosen;

	SPI_connect();
	nestlevel = compact_ddl_set_gucs();
	compact_ddl_set_deparse_gucs();
	if (options->skip_blocked)
		skipped = skip_blocked(advice, chosen);
	attnums = compact_convert_chosen_attnums(advice, chosen, &nchosen);
	views = advice->views = compact_advise_dependent_views(advice, attnums, &too_deep);
	if (nchosen > 0)
		refuse(advice, chosen, compact_advise_unrestorable(advice, views), options);
	foreach(lc, views)
	{
		LockRelationOid(lfirst_oid(lc), AccessExclusiveLock);
		if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(lfirst_oid(lc))))
			compact_ddl_hold_schema_name(get_rel_namespace(lfirst_oid(lc)));
	}
	if (nchosen > 0)
	{
		/* the views may have changed before they were locked */
		List	   *again = compact_advise_dependent_views(advice, attnums, NULL);

		if (!equal(again, views))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("views that use table \"%s\" were changed at the same time",
							RelationGetRelationName(advice->rel)),
					 errhint("Try again.")));
		converted = compact_advise_look_at_views(advice, views, chosen);
		refuse(advice, chosen,
			   list_concat(compact_advise_unrestorable(advice, views),
						   compact_advise_foreign_constants(advice, views)), options);
		foreach(lc, views)
			compact_convert_check_owner(lfirst_oid(lc));
	}

	for (int i = 0; i < advice->ncolumns; i++)
	{
		Form_pg_attribute att = advice->columns[i].att;
		Form_pg_attribute copy = palloc(ATTRIBUTE_FIXED_PART_SIZE);

		/* closing the relation frees its descriptor */
		memcpy(copy, att, ATTRIBUTE_FIXED_PART_SIZE);
		advice->columns[i].att = copy;
	}
	table = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(advice->rel)),
									   RelationGetRelationName(advice->rel));

	if (nchosen == 0)
		table_close(advice->rel, NoLock);
	else
	{
		Oid			owner = advice->rel->rd_rel->relowner;

		create_types(advice, chosen, options->train, &skipped);
		compact_advise_check_indexes(advice);
		if (options->skip_blocked)
			skipped = list_concat(skipped, skip_blocked(advice, chosen));
		refuse(advice, chosen, NIL, options);
		check_types(advice, chosen);
		if (!advice->reverts)
			compact_revert_read_definitions(advice, relid);
		foreach(lc, views)
			saved = lappend(saved, compact_convert_save_view(advice, lfirst_oid(lc), converted));

		if (advice->reverts)
			compact_revert_recreate_definitions(advice, chosen);
		compact_convert_recreate_indexes(advice, chosen);

		/* ALTER TABLE refuses a table that is open elsewhere in this session */
		table_close(advice->rel, NoLock);
		(void) compact_convert_chosen_attnums(advice, chosen, &nchosen);
		if (nchosen > 0)
		{
			nestlevel = rehearse(advice, chosen, relid, owner, table, saved, nestlevel);
			nestlevel = change_types(advice, chosen, relid, owner, table, saved, false, nestlevel);
			if (advice->reverts)
				compact_revert_forget(advice, chosen, relid);
			else
				compact_revert_remember(advice, chosen, relid);
			compact_revert_note_definitions(advice, relid);
			foreach(lc, saved)
				compact_revert_note_view(advice, ((SavedView *) lfirst(lc))->new_oid,
										 ((SavedView *) lfirst(lc))->origin);

			/*
			 * The rewrite dropped the statistics of the changed columns.
			 * Analyze all columns, since a statistics object may cover others
			 * as well.
			 */
			if (options->update_statistics)
				compact_ddl_execute_as(owner, true, "ANALYZE %s", table);
			if (!options->to_train)
				compact_convert_name_unused_types(advice, chosen, &skipped);
		}
		else
			saved = NIL;
	}

	AtEOXact_GUC(true, nestlevel);
	foreach(lc, skipped)
		ereport(NOTICE,
				(errmsg_internal("%s", (char *) lfirst(lc))));

	for (int i = 0; i < advice->ncolumns; i++)
	{
		if (chosen[i] && rsinfo != NULL)
			add_column(rsinfo, relid, &advice->columns[i]);
	}
	foreach(lc, saved)
	{
		Oid			view = ((SavedView *) lfirst(lc))->new_oid;
		MemoryContext oldcxt = MemoryContextSwitchTo(advice->cxt);

		if (options->to_train)
			*options->to_train = lappend(*options->to_train, lfirst(lc));
		else if (options->views)
			*options->views = list_append_unique_oid(*options->views, view);
		else if (rsinfo != NULL)
			compact_convert_add_view(rsinfo, view);
		MemoryContextSwitchTo(oldcxt);
	}
	SPI_finish();
}

/*
 * compact_types.convert(relation regclass, columns name[], narrow bool,
 * narrow_keys bool, fixed_varchar bool, round_seconds bool, skip_blocked bool,
 * update_statistics bool, train bool) returns setof record
 *
 * Change the columns to the types that advise() proposes for all rows of the
 * table, in one rewrite; NULL in columns stands for all columns.  With train,
 * train a dictionary for each named column that would become compact_text.  If
 * one of them is compact_text or trained_textN already, a rewrite before that
 * gives it an ordinary type.
 * Return a row for each changed column and each re-created view.  Errors: 22023
 * for arguments that do not go together, 42501 if the caller does not own the
 * table, 25001 in a transaction of isolation level REPEATABLE READ or
 * SERIALIZABLE, and with train in a subtransaction, 2BP01 for dependencies that
 * cannot be carried over, 55000 for a column without a proposal; also the
 * errors of advise(), of train() and of ALTER TABLE.
 */
PG_FUNCTION_INFO_V1(compact_types_convert);
Datum
compact_types_convert(PG_FUNCTION_ARGS)
{
	ArrayType  *names = PG_ARGISNULL(1) ? NULL : PG_GETARG_ARRAYTYPE_P(1);
	AdviseOptions options = {0};
	ConvertOptions how = {.all = (names == NULL)};
	Oid			relid;
	Advice	   *advice;
	bool	   *chosen;
	List	   *again = NIL;
	List	   *former_views = NIL;

	compact_convert_check_call(fcinfo, "compact_types.convert()", true);
	relid = PG_GETARG_OID(0);
	options.narrow = PG_GETARG_BOOL(2);
	options.narrow_keys = PG_GETARG_BOOL(3);
	options.fixed_varchar = PG_GETARG_BOOL(4);
	options.round_seconds = PG_GETARG_BOOL(5);
	how.skip_blocked = PG_GETARG_BOOL(6);
	how.update_statistics = PG_GETARG_BOOL(7);
	how.train = options.train = PG_GETARG_BOOL(8);

	if (how.train)
		compact_convert_check_train(names, &how);

	compact_convert_lock_table(relid);
	if (how.train)
		again = compact_convert_prepare_to_train(relid, fcinfo->flinfo->fn_oid, names, &former_views);

	/* include rows that were committed before we got the lock */
	PushActiveSnapshot(GetLatestSnapshot());
	advice = compact_advise_make(relid, &options, fcinfo->flinfo->fn_oid,
								 AccessExclusiveLock);
	PopActiveSnapshot();
	chosen = compact_convert_choose_columns(advice, names);
	compact_convert_use_training(advice, again);
	advice->former_views = former_views;
	InitMaterializedSRF(fcinfo, 0);
	compact_convert_columns(advice, chosen, &how, (ReturnSetInfo *) fcinfo->resultinfo);

	return (Datum) 0;
}
