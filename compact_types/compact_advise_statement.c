/*-------------------------------------------------------------------------
 *
 * compact_advise_statement.c
 *	  Make the statements that carry out the advice on a table.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_advise_statement.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/toast_compression.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "compact_advise.h"

/*
 * Return the qualified and quoted name of a collation.  Do not use
 * generate_collation_name(): it leaves out the schema if the search path of
 * this session has it, but the statement may run with another search path.
 */
static char *
collation_name(Oid collid)
{
	HeapTuple	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collid));
	Form_pg_collation form;
	char	   *result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collid);
	form = (Form_pg_collation) GETSTRUCT(tuple);
	result = quote_qualified_identifier(get_namespace_name(form->collnamespace),
										NameStr(form->collname));
	ReleaseSysCache(tuple);

	return result;
}

/* Append the proposed type with its modifier and the column's collation. */
static void
append_type(StringInfo buf, const AdviseColumn *column)
{
	appendStringInfoString(buf, column->type.complete ? column->type.complete : column->type.sql);
	if (column->type.typmod >= 0 && column->type.complete == NULL)
		appendStringInfo(buf, "(%d)", column->type.typmod - (int) VARHDRSZ);
	/* without COLLATE, the column would get the type's own collation */
	if (OidIsValid(column->att->attcollation) &&
		column->att->attcollation != DEFAULT_COLLATION_OID)
		appendStringInfo(buf, " COLLATE %s",
						 collation_name(column->att->attcollation));
}

/* Return the ALTER COLUMN clause that carries out the proposal. */
char *
compact_advise_column_clause(const AdviseColumn *column)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "ALTER COLUMN %s TYPE ",
					 quote_identifier(NameStr(column->att->attname)));
	append_type(&buf, column);

	return buf.data;
}

/*
 * Return ALTER COLUMN clauses for the storage settings of a column, which a
 * change of its type resets to the defaults.  The separator precedes each
 * clause.  A type of fixed length has no such settings.
 */
char *
compact_advise_storage_clauses(const AdviseColumn *column, const char *separator)
{
	StringInfoData buf;
	Form_pg_attribute att = column->att;
	const char *name = quote_identifier(NameStr(att->attname));

	initStringInfo(&buf);
	if (att->attlen != -1 ||
		(column->kind != ADVISE_TEXT && column->kind != ADVISE_KEEP))
		return buf.data;

	if (att->attstorage != get_typstorage(att->atttypid))
		appendStringInfo(&buf, "%sALTER COLUMN %s SET STORAGE %s", separator, name,
						 att->attstorage == TYPSTORAGE_PLAIN ? "PLAIN" :
						 att->attstorage == TYPSTORAGE_EXTERNAL ? "EXTERNAL" :
						 att->attstorage == TYPSTORAGE_MAIN ? "MAIN" : "EXTENDED");
	if (CompressionMethodIsValid(att->attcompression))
		appendStringInfo(&buf, "%sALTER COLUMN %s SET COMPRESSION %s", separator, name,
						 GetCompressionMethodName(att->attcompression));

	return buf.data;
}

/* Append the statements that create the missing types. */
static void
append_extensions(StringInfo buf, const Advice *advice)
{
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];
		bool		again = false;

		if (!compact_advise_converts(advice, column) || !column->type.by_extension)
			continue;
		for (int j = 0; j < i && !again; j++)
			again = compact_advise_converts(advice, &advice->columns[j]) &&
				strcmp(advice->columns[j].type.name, column->type.name) == 0;
		if (!again)
			appendStringInfo(buf, "CREATE EXTENSION %s SCHEMA %s;\n", column->type.name,
							 quote_identifier(advice->type_schema));
	}
}

/* Append the table and an array of the columns, as arguments. */
static void
append_arguments(StringInfo buf, const Advice *advice, List *columns)
{
	const char *separator = "";
	ListCell   *lc;

	appendStringInfo(buf, "%s, ARRAY[",
					 quote_literal_cstr(quote_qualified_identifier(get_namespace_name(RelationGetNamespace(advice->rel)),
																   RelationGetRelationName(advice->rel))));
	foreach(lc, columns)
	{
		appendStringInfo(buf, "%s%s", separator, quote_literal_cstr(lfirst(lc)));
		separator = ", ";
	}
	appendStringInfoChar(buf, ']');
}

/*
 * Return the statement that converts the columns of these names.  Its options
 * are those of the advice, so that convert() makes the same proposals.
 */
char *
compact_advise_convert_statement(const Advice *advice, List *columns, bool train)
{
	const AdviseOptions *options = &advice->options;
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "SELECT * FROM %s.convert(",
					 quote_identifier(get_namespace_name(advice->nspid)));
	append_arguments(&buf, advice, columns);
	appendStringInfo(&buf, "%s%s%s%s%s)",
					 options->narrow ? ", narrow => true" : "",
					 options->narrow_keys ? ", narrow_keys => true" : "",
					 options->fixed_varchar ? ", fixed_varchar => true" : "",
					 options->round_seconds ? ", round_seconds => true" : "",
					 train ? ", train => true" : "");

	return buf.data;
}

/*
 * Return the statement that takes this conversion back, or NULL for a
 * temporary table, whose former types are not noted.
 */
char *
compact_advise_revert_statement(const Advice *advice, List *columns)
{
	StringInfoData buf;

	if (advice->rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return NULL;

	initStringInfo(&buf);
	appendStringInfo(&buf, "SELECT * FROM %s.revert(",
					 quote_identifier(get_namespace_name(advice->nspid)));
	append_arguments(&buf, advice, columns);
	appendStringInfoChar(&buf, ')');

	return buf.data;
}

/*
 * Return a CREATE TABLE statement with the new types and the best column
 * order.  The statement has the columns with their defaults and NOT NULL, and
 * the storage parameters that the prediction assumes.
 */
char *
compact_advise_create_statement(const Advice *advice)
{
	StringInfoData buf;
	Relation	rel = advice->rel;
	TupleConstr *constr = RelationGetDescr(rel)->constr;
	int			fillfactor;
	int			target;
	List	   *context = deparse_context_for(RelationGetRelationName(rel), RelationGetRelid(rel));
	char	   *name;

	name = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
									  makeObjectName(RelationGetRelationName(rel), NULL, "compact"));
	initStringInfo(&buf);
	append_extensions(&buf, advice);
	appendStringInfo(&buf, "CREATE %sTABLE %s (\n",
					 rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED ? "UNLOGGED " : "",
					 name);
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[advice->order[i]];
		Form_pg_attribute att = column->att;
		char	   *expression = NULL;

		if (compact_advise_converts(advice, column))
		{
			appendStringInfo(&buf, "  %s ", quote_identifier(NameStr(att->attname)));
			append_type(&buf, column);
		}
		else
		{
			appendStringInfo(&buf, "  %s %s", quote_identifier(NameStr(att->attname)),
							 format_type_extended(att->atttypid, att->atttypmod,
												  FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
			if (OidIsValid(att->attcollation) && att->attcollation != get_typcollation(att->atttypid))
				appendStringInfo(&buf, " COLLATE %s", collation_name(att->attcollation));
		}
		for (int d = 0; constr && d < constr->num_defval; d++)
		{
			if (constr->defval[d].adnum == att->attnum)
				expression = deparse_expression(stringToNode(constr->defval[d].adbin),
												context, false, false);
		}
		if (att->attidentity)
			appendStringInfo(&buf, " GENERATED %s AS IDENTITY",
							 att->attidentity == ATTRIBUTE_IDENTITY_ALWAYS ? "ALWAYS" : "BY DEFAULT");
		else if (expression && att->attgenerated)
			appendStringInfo(&buf, " GENERATED ALWAYS AS (%s) %s", expression,
							 att->attgenerated == ATTRIBUTE_GENERATED_STORED ? "STORED" : "VIRTUAL");
		else if (expression)
			appendStringInfo(&buf, " DEFAULT %s", expression);
		if (att->attnotnull)
			appendStringInfoString(&buf, " NOT NULL");
		appendStringInfoString(&buf, i < advice->ncolumns - 1 ? ",\n" : "\n");
	}
	appendStringInfoString(&buf, ")");
	fillfactor = RelationGetFillFactor(rel, HEAP_DEFAULT_FILLFACTOR);
	target = RelationGetToastTupleTarget(rel, (int) TOAST_TUPLE_TARGET);
	if (fillfactor != HEAP_DEFAULT_FILLFACTOR || target != (int) TOAST_TUPLE_TARGET)
		appendStringInfo(&buf, " WITH (%s%s%s)",
						 fillfactor != HEAP_DEFAULT_FILLFACTOR ?
						 psprintf("fillfactor = %d", fillfactor) : "",
						 fillfactor != HEAP_DEFAULT_FILLFACTOR &&
						 target != (int) TOAST_TUPLE_TARGET ? ", " : "",
						 target != (int) TOAST_TUPLE_TARGET ?
						 psprintf("toast_tuple_target = %d", target) : "");
	/* before PostgreSQL 16, CREATE TABLE does not accept STORAGE */
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[advice->order[i]];
		bool		converts = compact_advise_converts(advice, column);
		AdviseColumn kept = *column;

		if (!converts)
			kept.kind = ADVISE_KEEP;
		appendStringInfoString(&buf, compact_advise_storage_clauses(&kept, psprintf(";\nALTER TABLE %s ", name)));
	}

	return buf.data;
}
