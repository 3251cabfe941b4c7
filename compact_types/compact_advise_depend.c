/*-------------------------------------------------------------------------
 *
 * compact_advise_depend.c
 *	  Search the system catalogs for objects that block a change of types.
 *
 * ALTER TABLE rebuilds the indexes, constraints, defaults and statistics
 * objects of a column whose type it changes, and refuses if any other object
 * depends on the column.  This file searches for all objects that depend on
 * the column before anything changes.  Every object that is not known to be
 * rebuilt counts as a blocker.
 *
 * Every statement runs with the search_path pg_catalog only.  So names in the
 * statement mean built-in objects, and names in its result are qualified.  A
 * statement reads only system catalogs: planning a query on the table would
 * evaluate expressions that the table's owner wrote.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_advise_depend.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compact_advise.h"
#include "compact_convert.h"
#include "compact_ddl.h"
#include "compact_trained.h"
#include "compact_types.h"
#include "compact_types_compat.h"

/* A longer chain of views is assumed to be a cycle. */
#define MAX_VIEW_DEPTH	100

/* more plans, and more parameters of one, are not expected */
#define MAX_KEPT_PLANS	100
#define MAX_PARAMETERS	8

/* A query that was planned before. */
typedef struct KeptPlan
{
	char	   *sql;
	SPIPlanPtr	plan;
} KeptPlan;

static bool keep_plans = false;
static KeptPlan kept_plans[MAX_KEPT_PLANS];
static int	nkept_plans = 0;

/*
 * Keep the plans of the following queries, for a call that looks at many
 * tables.  Return false if plans are kept already; then the caller must not
 * call compact_advise_forget_plans().
 */
bool
compact_advise_keep_plans(void)
{
	if (keep_plans)
		return false;
	keep_plans = true;

	return true;
}

void
compact_advise_forget_plans(void)
{
	keep_plans = false;
	while (nkept_plans > 0)
	{
		KeptPlan   *kept = &kept_plans[--nkept_plans];

		SPI_freeplan(kept->plan);
		pfree(kept->sql);
	}
}

/*
 * Return the query that the format makes, with a parameter in place of each
 * %u, which stands for an OID.  The other conversions are %s, %d and %%.
 */
static char *
with_parameters(const char *format, va_list args, Datum *values, int *nvalues)
{
	StringInfoData sql;

	initStringInfo(&sql);
	*nvalues = 0;
	for (const char *p = format; *p != '\0'; p++)
	{
		if (*p != '%')
		{
			appendStringInfoChar(&sql, *p);
			continue;
		}
		switch (*++p)
		{
			case '%':
				appendStringInfoChar(&sql, '%');
				break;
			case 's':
				appendStringInfoString(&sql, va_arg(args, const char *));
				break;
			case 'd':
				appendStringInfo(&sql, "%d", va_arg(args, int));
				break;
			case 'u':
				if (*nvalues == MAX_PARAMETERS)
					elog(ERROR, "too many parameters in \"%s\"", format);
				values[(*nvalues)++] = ObjectIdGetDatum(va_arg(args, Oid));
				appendStringInfo(&sql, "$%d", *nvalues);
				break;
			default:
				elog(ERROR, "unexpected conversion in \"%s\"", format);
		}
	}

	return sql.data;
}

/* Return the plan of the query, or NULL if no more plans can be kept. */
static SPIPlanPtr
kept_plan(const char *sql, int nvalues)
{
	Oid			types[MAX_PARAMETERS];
	KeptPlan   *kept = &kept_plans[nkept_plans];

	for (int i = 0; i < nkept_plans; i++)
	{
		if (strcmp(kept_plans[i].sql, sql) == 0)
			return kept_plans[i].plan;
	}
	for (int i = 0; i < nvalues; i++)
		types[i] = OIDOID;
	if (nkept_plans == MAX_KEPT_PLANS)
		return NULL;
	kept->plan = SPI_prepare(sql, nvalues, types);
	if (kept->plan == NULL)
		elog(ERROR, "could not prepare \"%s\"", sql);
	kept->sql = MemoryContextStrdup(TopMemoryContext, sql);
	SPI_keepplan(kept->plan);
	nkept_plans++;

	return kept->plan;
}

/*
 * Run the query that the format makes; its result is in SPI_tuptable.  The
 * caller must be connected to SPI and must have set the search_path.
 *
 * Take a new snapshot each time.  The functions that describe catalog objects
 * read the current catalogs, regardless of the transaction's isolation level
 * and of the age of the statement's snapshot.  The queries must see the same
 * catalogs as these functions.
 */
void
compact_advise_query(const char *format,...)
{
	MemoryContext oldcxt = CurrentMemoryContext;
	SPIPlanPtr	plan = NULL;
	Datum		values[MAX_PARAMETERS];
	int			nvalues;
	va_list		args;
	char	   *sql;

	PushActiveSnapshot(GetLatestSnapshot());
	if (keep_plans)
	{
		va_start(args, format);
		sql = with_parameters(format, args, values, &nvalues);
		va_end(args);
		plan = kept_plan(sql, nvalues);
	}
	if (plan == NULL)
	{
		va_start(args, format);
		sql = compact_ddl_format(format, args);
		va_end(args);
	}
	if ((plan ? SPI_execute_plan(plan, values, NULL, true, 0) : SPI_execute(sql, true, 0)) != SPI_OK_SELECT)
		elog(ERROR, "could not execute \"%s\"", sql);
	PopActiveSnapshot();
	pfree(sql);
	/* SPI leaves its own memory context as the current one */
	MemoryContextSwitchTo(oldcxt);
}

/* Return a field of the last query's result, or NULL; rows and columns start at 0. */
char *
compact_advise_result(int row, int col)
{
	return SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, col + 1);
}

/*
 * Return the first field of each row, in memory that lives as long as the
 * advice.  Skip NULL: it stands for an object that was dropped a moment ago,
 * and has no description any more.
 */
List *
compact_advise_result_list(const Advice *advice)
{
	List	   *result = NIL;
	MemoryContext oldcxt = MemoryContextSwitchTo(advice->cxt);

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char	   *string = compact_advise_result(i, 0);

		if (string)
			result = lappend(result, pstrdup(string));
	}
	MemoryContextSwitchTo(oldcxt);

	return result;
}

/* Look up the extension's own schema, which contains its types. */
void
compact_advise_connect(Advice *advice)
{
	compact_advise_query("SELECT n.nspname FROM pg_catalog.pg_extension e"
						 " JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace"
						 " WHERE e.extname = 'compact_types'");
	if (SPI_processed == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension \"compact_types\" does not exist")));
	advice->type_schema = MemoryContextStrdup(advice->cxt, compact_advise_result(0, 0));
}

/* Return true if an extension of that name is available on the server. */
static bool
extension_is_available(const Advice *advice, const char *name)
{
	AdviseCatalog *catalog = advice->catalog;
	ListCell   *lc;

	if (!catalog->available_valid)
	{
		MemoryContext oldcxt;

		compact_advise_query("SELECT name FROM pg_catalog.pg_available_extensions"
							 " WHERE name ~ '^compact_'");
		oldcxt = MemoryContextSwitchTo(catalog->cxt);
		for (uint64 i = 0; i < SPI_processed; i++)
			catalog->available = lappend(catalog->available, pstrdup(compact_advise_result(i, 0)));
		MemoryContextSwitchTo(oldcxt);
		catalog->available_valid = true;
	}
	foreach(lc, catalog->available)
	{
		if (strcmp(lfirst(lc), name) == 0)
			return true;
	}

	return false;
}

/*
 * Find a compact type by its name.  Look for the type in the database, and
 * then for an available extension that can create the type.  A type of that
 * name is a compact type if its input function is in the schema of
 * compact_types, where only superusers create functions.  For a type that does
 * not exist yet, the caller fills in the length and the alignment.
 */
bool
compact_advise_find_type(const Advice *advice, const char *name, AdviseType *type)
{
	MemoryContext oldcxt;
	bool		found = true;
	bool		byval;

	memset(type, 0, sizeof(AdviseType));
	type->typmod = -1;
	compact_advise_query("SELECT t.oid, n.nspname FROM pg_catalog.pg_type t"
						 " JOIN pg_catalog.pg_proc p ON p.oid = t.typinput"
						 " JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace"
						 " WHERE t.typname = %s AND t.typtype = 'b' AND t.typisdefined"
						 " AND p.pronamespace = %u",
						 quote_literal_cstr(name), advice->nspid);

	oldcxt = MemoryContextSwitchTo(advice->cxt);
	type->name = pstrdup(name);
	if (SPI_processed > 0)
	{
		type->typid = atooid(compact_advise_result(0, 0));
		type->sql = quote_qualified_identifier(compact_advise_result(0, 1), name);
		get_typlenbyvalalign(type->typid, &type->len, &byval, &type->align);
		type->storage = get_typstorage(type->typid);
	}
	else if (extension_is_available(advice, name))
	{
		type->sql = quote_qualified_identifier(advice->type_schema, name);
		type->storage = TYPSTORAGE_PLAIN;
		type->by_extension = true;
	}
	else
		found = false;
	MemoryContextSwitchTo(oldcxt);

	return found;
}

/* Add the string unless the list contains it. */
static List *
add_string(List *list, const char *what)
{
	ListCell   *lc;

	foreach(lc, list)
	{
		if (strcmp(lfirst(lc), what) == 0)
			return list;
	}

	return lappend(list, pstrdup(what));
}

/* Add a blocker to the column, or to the table if attnum is 0. */
void
compact_advise_add_blocker(Advice *advice, int attnum, const char *what)
{
	MemoryContext oldcxt = MemoryContextSwitchTo(advice->cxt);

	if (attnum == 0)
		advice->blockers = add_string(advice->blockers, what);
	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];

		if (column->att->attnum == attnum)
			column->blockers = add_string(column->blockers, what);
	}
	MemoryContextSwitchTo(oldcxt);
}

static void
add_blockers_of_result(Advice *advice)
{
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char	   *what = compact_advise_result(i, 1);

		/* NULL stands for an object that was dropped a moment ago */
		if (what)
			compact_advise_add_blocker(advice, atoi(compact_advise_result(i, 0)), what);
	}
}

/*
 * Find the objects that depend on the columns, the table or its row type.
 * Record those that ALTER TABLE would not rebuild.
 */
void
compact_advise_find_blockers(Advice *advice)
{
	Form_pg_class form = advice->rel->rd_rel;
	Oid			relid = RelationGetRelid(advice->rel);

	if (form->relispartition)
		compact_advise_add_blocker(advice, 0, "the table is a partition");
	if (OidIsValid(form->reloftype))
		compact_advise_add_blocker(advice, 0, "the table is a typed table");
	compact_advise_query("SELECT 0, CASE WHEN inhparent = %u THEN 'the table has child tables'"
						 " ELSE 'the table inherits from another one' END"
						 " FROM pg_catalog.pg_inherits WHERE inhparent = %u OR (inhrelid = %u AND NOT %s)"
						 " GROUP BY 1, 2",
						 relid, relid, relid, form->relispartition ? "true" : "false");
	add_blockers_of_result(advice);
	compact_advise_query("SELECT 0, 'the table belongs to ' ||"
						 " pg_catalog.pg_describe_object(refclassid, refobjid, 0)"
						 " FROM pg_catalog.pg_depend WHERE classid = 'pg_catalog.pg_class'::pg_catalog.regclass"
						 " AND objid = %u AND objsubid = 0 AND deptype = 'e'", relid);
	add_blockers_of_result(advice);

	/* objects that use the row type */
	compact_advise_query("SELECT 0, pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid) || ' uses the row type'"
						 " FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_type t ON t.oid = d.refobjid"
						 " WHERE d.refclassid = 'pg_catalog.pg_type'::pg_catalog.regclass"
						 " AND d.deptype <> 'i' AND t.oid IN (%u, %u)"
						 " GROUP BY d.classid, d.objid, d.objsubid ORDER BY 2",
						 form->reltype, get_array_type(form->reltype));
	add_blockers_of_result(advice);

	/*
	 * Find the objects that depend on a column, except those that ALTER TABLE
	 * rebuilds.  ALTER TABLE rebuilds CHECK, UNIQUE, PRIMARY KEY and NOT NULL
	 * constraints, indexes (examined by compact_advise_check_indexes()), the
	 * column's own default, and statistics objects without a statistics
	 * target (a target would be lost).  Sequences are not affected. convert()
	 * handles plain views.  For revert(), ALTER TABLE also rebuilds foreign
	 * keys if both tables have the same owner.
	 */
	compact_advise_query(
						 "SELECT d.refobjsubid, pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid)"
						 " FROM pg_catalog.pg_depend d"
						 " WHERE d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass"
						 " AND d.refobjid = %u AND d.refobjsubid > 0"
						 " AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c"
						 "  WHERE d.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND c.oid = d.objid"
						 "  AND c.contype IN ('c', 'p', 'u', 'n') AND c.conrelid = %u)"
						 " AND NOT (%s AND EXISTS (SELECT FROM pg_catalog.pg_constraint c"
						 "  JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_class t ON t.oid = c.confrelid"
						 "  WHERE d.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND c.oid = d.objid"
						 "  AND c.contype = 'f' AND r.relowner = t.relowner AND r.relkind = 'r' AND t.relkind = 'r'"
						 "  AND NOT r.relispartition AND NOT t.relispartition))"
						 " AND NOT EXISTS (SELECT FROM pg_catalog.pg_class c"
						 "  WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND c.oid = d.objid"
						 "  AND c.relkind IN ('i', 'S'))"
						 " AND NOT EXISTS (SELECT FROM pg_catalog.pg_attrdef f"
						 "  WHERE d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND f.oid = d.objid"
						 "  AND f.adrelid = %u AND f.adnum = d.refobjsubid)"
						 " AND NOT EXISTS (SELECT FROM pg_catalog.pg_statistic_ext s"
						 "  WHERE d.classid = 'pg_catalog.pg_statistic_ext'::pg_catalog.regclass AND s.oid = d.objid"
						 "  AND COALESCE(s.stxstattarget, -1) = -1)"
						 " AND NOT EXISTS (SELECT FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class"
						 "  WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND r.oid = d.objid"
						 "  AND r.rulename = '_RETURN' AND c.relkind = 'v')"
						 " GROUP BY d.refobjsubid, d.classid, d.objid, d.objsubid ORDER BY 1, 2",
						 relid, relid, advice->reverts ? "true" : "false", relid);
	add_blockers_of_result(advice);

	/* find the properties of columns that the proposals depend on */
	compact_advise_query("SELECT a.attnum,"
						 " a.attidentity <> '' OR EXISTS (SELECT FROM pg_catalog.pg_depend d"
						 "  WHERE d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = a.attrelid"
						 "  AND d.refobjsubid = a.attnum AND d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass"
						 "  AND d.deptype IN ('a', 'i') AND d.objid IN (SELECT oid FROM pg_catalog.pg_class WHERE relkind = 'S'))"
						 " OR EXISTS (SELECT FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class c ON c.oid = d.refobjid"
						 "  WHERE d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND d.objid = f.oid"
						 "  AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND c.relkind = 'S'),"
						 " EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = a.attrelid AND i.indisunique"
						 "  AND a.attnum = ANY (i.indkey)),"
						 " EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = a.attrelid AND i.indnatts > 1"
						 "  AND a.attnum = ANY (i.indkey))"
						 " FROM pg_catalog.pg_attribute a"
						 " LEFT JOIN pg_catalog.pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum"
						 " WHERE a.attrelid = %u AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1",
						 relid);
	for (uint64 row = 0; row < SPI_processed; row++)
	{
		int			attnum = atoi(compact_advise_result(row, 0));

		for (int i = 0; i < advice->ncolumns; i++)
		{
			AdviseColumn *column = &advice->columns[i];

			if (column->att->attnum != attnum)
				continue;
			column->has_sequence = compact_advise_result(row, 1)[0] == 't';
			column->is_key = compact_advise_result(row, 2)[0] == 't';
			column->in_wide_index = compact_advise_result(row, 3)[0] == 't';
		}
	}

	/* find indexes with properties that would be lost in a rebuild */
	compact_advise_query("SELECT k, pg_catalog.pg_describe_object('pg_catalog.pg_class'::pg_catalog.regclass, i.indexrelid, 0)"
						 " || ' has a statistics target'"
						 " FROM pg_catalog.pg_index i, pg_catalog.unnest(i.indkey) k"
						 " WHERE i.indrelid = %u AND k > 0 AND EXISTS (SELECT FROM pg_catalog.pg_attribute a"
						 "  WHERE a.attrelid = i.indexrelid AND COALESCE(a.attstattarget, -1) >= 0)"
						 " UNION SELECT k, pg_catalog.pg_describe_object('pg_catalog.pg_class'::pg_catalog.regclass, i.indexrelid, 0)"
						 " || ' depends on ' || pg_catalog.pg_describe_object(d.refclassid, d.refobjid, 0)"
						 " FROM pg_catalog.pg_index i, pg_catalog.unnest(i.indkey) k, pg_catalog.pg_depend d"
						 " WHERE i.indrelid = %u AND k > 0 AND d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass"
						 " AND d.objid = i.indexrelid AND d.deptype = 'x' ORDER BY 1, 2",
						 relid, relid);
	add_blockers_of_result(advice);
}

/*
 * Add the columns that an index uses in its expressions or predicate.  Read
 * the expressions from the catalog.  The relation cache would evaluate
 * constant parts of the expressions, and so call functions of the table's
 * owner with the privileges of the caller.
 */
static void
add_index_expressions(Relation index, AttrNumber attribute, Bitmapset **used)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(RelationGetRelid(index)));
	Datum		datum;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", RelationGetRelid(index));
	datum = SysCacheGetAttr(INDEXRELID, tuple, attribute, &isnull);
	if (!isnull)
		pull_varattnos((Node *) stringToNode(TextDatumGetCString(datum)), 1, used);
	ReleaseSysCache(tuple);
}

/*
 * Return true if the proposed type has a default operator class for the access
 * method.  If the type does not exist yet, it will have those of these methods.
 */
static bool
has_default_class(const AdviseColumn *column, Oid am)
{
	return OidIsValid(column->type.typid) ?
		OidIsValid(GetDefaultOpClass(column->type.typid, am)) :
		(am == BTREE_AM_OID || am == HASH_AM_OID || am == BRIN_AM_OID);
}

/*
 * Return true if the operator class is one of core's for strings that is not
 * the default one, such as varchar_pattern_ops, and compact_auto_index.c
 * replaces it for the proposed type.
 */
static bool
replaces_core_class(Relation index, Oid opclass, const AdviseColumn *column)
{
	Oid			am = index->rd_rel->relam;
	Oid			input = get_opclass_input_type(opclass);

	return (column->kind == ADVISE_TEXT || column->kind == ADVISE_CHAR) &&
		opclass < FirstNormalObjectId && opclass != GetDefaultOpClass(column->att->atttypid, am) &&
		(input == TEXTOID || input == VARCHAROID || input == BPCHAROID) &&
		has_default_class(column, am);
}

/*
 * Return true if convert() or revert() drops the index and creates it again,
 * because the operator class of this key of the index does not accept the
 * proposed type, and there is another class or collation that does the same.
 * If the extension that has the class is missing, set *needs to its name,
 * otherwise to NULL.
 */
bool
compact_advise_recreates_index(Relation index, Oid opclass, const AdviseColumn *column,
							   char **needs)
{
	bool		is_trgm;
	Oid			typid = column->type.typid;
	Oid			other = compact_trgm_class(opclass, typid, &is_trgm);

	*needs = NULL;
	if (OidIsValid(get_index_constraint(RelationGetRelid(index))))
		return false;
	if (is_trgm && !OidIsValid(other) && (column->kind == ADVISE_TEXT || column->kind == ADVISE_CHAR))
	{
		char	   *stem = OidIsValid(typid) ? compact_trgm_stem(typid) :
			column->kind == ADVISE_CHAR ? column->type.name : NULL;

		if (stem != NULL)
			*needs = psprintf("%s_trgm", stem);
	}

	return OidIsValid(other) || replaces_core_class(index, opclass, column);
}

/*
 * Return true if an index serves all searches for values of the column: its
 * first key is the column, in its collation, and the operator class is the
 * default one.
 */
static bool
has_index(List *indexes, Form_pg_attribute att)
{
	ListCell   *lc;

	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);
		Oid			am = index->rd_rel->relam;
		bool		serves = (am == BTREE_AM_OID || am == HASH_AM_OID) && index->rd_index->indisvalid &&
			index->rd_index->indkey.values[0] == att->attnum && index->rd_indcollation[0] == att->attcollation &&
			heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL) &&
			get_index_column_opclass(RelationGetRelid(index), 1) == GetDefaultOpClass(att->atttypid, am);

		index_close(index, AccessShareLock);
		if (serves)
			return true;
	}

	return false;
}

/*
 * A key of the index gets another operator class or collation.  Record a
 * blocker if the owner could not create the index.  Record a risk if the index
 * would serve fewer searches than it does now: an index with the collation C
 * serves LIKE and =, but no IN list in another collation.
 */
static void
check_recreated(Advice *advice, AdviseColumn *column, Relation index, int key, List *indexes)
{
	const char *name = RelationGetRelationName(index);
	char	   *statement;
	char	   *lacks = compact_convert_owner_lacks(RelationGetRelid(index), &statement);
	bool		collate_c;
	bool		deterministic;
	MemoryContext oldcxt;

	if (lacks != NULL)
		compact_advise_add_blocker(advice, column->att->attnum,
								   psprintf("index %s cannot be created again by its owner without %s",
											name, statement));
	if (advice->reverts || key > 0 || has_index(indexes, column->att) ||
		!compact_is_pattern_class(get_index_column_opclass(RelationGetRelid(index), 1)))
		return;
	compat_collation_properties(index->rd_indcollation[key], &collate_c, &deterministic);
	if (collate_c || (column->risk && strstr(column->risk, "IN list")))
		return;
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	compact_advise_add_risk(column, psprintf("index %s will serve LIKE and =, but no IN list and no join with other types", name));
	column->by_name = !advice->options.narrow;
	MemoryContextSwitchTo(oldcxt);
}

/*
 * Record a blocker if a key of the index, whose column gets another type, could
 * not be rebuilt with this type.
 */
static void
check_key(Advice *advice, AdviseColumn *column, Relation index, int key, List *indexes)
{
	AttrNumber	attnum = column->att->attnum;
	const char *name = RelationGetRelationName(index);
	Oid			am = index->rd_rel->relam;
	Oid			opclass = get_index_column_opclass(RelationGetRelid(index), key + 1);
	char	   *needs = NULL;

	if (compact_convert_index_origin(advice, index) != NULL ||
		compact_advise_recreates_index(index, opclass, column, &needs))
		check_recreated(advice, column, index, key, indexes);
	else if (needs != NULL)
		compact_advise_add_blocker(advice, attnum,
								   psprintf("operator class of index %s needs the extension %s", name, needs));
	else if (opclass != GetDefaultOpClass(column->att->atttypid, am))
		compact_advise_add_blocker(advice, attnum,
								   psprintf("operator class of index %s is not the default one", name));
	else if (!has_default_class(column, am))
		compact_advise_add_blocker(advice, attnum,
								   psprintf("access method of index %s has no operator class for type %s",
											name, column->type.name));
}

/*
 * Record the indexes that could not be rebuilt with the proposed types: those
 * with an operator class that is not the default one (except those that
 * convert() or revert() creates again), those whose access method has no
 * default class for the new type, and those that use the column in an
 * expression or predicate.  For revert(), expressions do not matter, because
 * types get wider.
 */
void
compact_advise_check_indexes(Advice *advice)
{
	List	   *indexes = RelationGetIndexList(advice->rel);
	ListCell   *lc;

	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);
		Bitmapset  *used = NULL;

		add_index_expressions(index, Anum_pg_index_indexprs, &used);
		add_index_expressions(index, Anum_pg_index_indpred, &used);
		for (int i = 0; i < advice->ncolumns; i++)
		{
			AdviseColumn *column = &advice->columns[i];
			AttrNumber	attnum = column->att->attnum;

			if (column->kind == ADVISE_KEEP)
				continue;
			if (!advice->reverts &&
				(bms_is_member(attnum - FirstLowInvalidHeapAttributeNumber, used) ||
				 bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, used)))
				compact_advise_add_blocker(advice, attnum,
										   psprintf("expression or predicate of index %s",
													RelationGetRelationName(index)));
			for (int key = 0; key < index->rd_index->indnkeyatts; key++)
			{
				if (index->rd_index->indkey.values[key] == attnum)
					check_key(advice, column, index, key, indexes);
			}
		}
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
}

/*
 * Return the views that use the columns, directly or through other views, in
 * the order in which they can be created.  attnums is a list of attribute
 * numbers in SQL syntax.  If views are nested too deeply, or refer to
 * themselves, set *too_deep to true.  If too_deep is NULL, raise an error
 * instead.
 */
List *
compact_advise_dependent_views(const Advice *advice, const char *attnums, bool *too_deep)
{
	List	   *result = NIL;
	MemoryContext oldcxt;

	compact_advise_query(
						 "WITH RECURSIVE use (view, base, col) AS NOT MATERIALIZED ("
						 "  SELECT r.ev_class, d.refobjid, d.refobjsubid"
						 "  FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid"
						 "  JOIN pg_catalog.pg_class c ON c.oid = r.ev_class"
						 "  WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass"
						 "  AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass"
						 "  AND c.relkind = 'v' AND r.rulename = '_RETURN' AND r.ev_class <> d.refobjid),"
						 " v (oid, depth) AS ("
						 "  SELECT view, 1 FROM use WHERE base = %u AND col IN (%s)"
						 "  UNION SELECT use.view, v.depth + 1 FROM v JOIN use ON use.base = v.oid WHERE v.depth <= %d)"
						 " SELECT oid, pg_catalog.max(depth) FROM v GROUP BY oid ORDER BY 2, 1",
						 RelationGetRelid(advice->rel), attnums, MAX_VIEW_DEPTH);

	oldcxt = MemoryContextSwitchTo(advice->cxt);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Oid			view = atooid(compact_advise_result(i, 0));

		if (atoi(compact_advise_result(i, 1)) > MAX_VIEW_DEPTH && too_deep)
			*too_deep = true;
		else if (atoi(compact_advise_result(i, 1)) > MAX_VIEW_DEPTH)
			ereport(ERROR,
					(errcode(ERRCODE_STATEMENT_TOO_COMPLEX),
					 errmsg("views that use table \"%s\" are nested too deeply, or refer to themselves",
							RelationGetRelationName(advice->rel))));
		result = lappend_oid(result, view);
	}
	MemoryContextSwitchTo(oldcxt);

	return result;
}

/*
 * Return the objects and properties that would get lost if the views were
 * dropped and created again.
 */
List *
compact_advise_unrestorable(const Advice *advice, List *views)
{
	StringInfoData oids;
	ListCell   *lc;

	if (views == NIL)
		return NIL;

	initStringInfo(&oids);
	foreach(lc, views)
		appendStringInfo(&oids, "%s%u", oids.len > 0 ? ", " : "", lfirst_oid(lc));

	compact_advise_query(
						 "WITH c AS (SELECT * FROM pg_catalog.pg_class WHERE oid IN (%s)),"
						 " name AS (SELECT oid, pg_catalog.pg_describe_object('pg_catalog.pg_class'::pg_catalog.regclass, oid, 0) AS view FROM c)"
	/* objects other than the view's own parts and the re-created views */
						 " SELECT pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid) || ' depends on ' || view"
						 " FROM pg_catalog.pg_depend d JOIN name ON name.oid = d.refobjid"
						 " WHERE d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass"
						 " AND NOT (d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.deptype = 'i')"
						 " AND NOT EXISTS (SELECT FROM pg_catalog.pg_rewrite r JOIN c ON c.oid = r.ev_class"
						 "  WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND r.oid = d.objid"
						 "  AND r.rulename = '_RETURN')"
						 " UNION SELECT pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid) || ' uses the row type of ' || view"
						 " FROM c JOIN name USING (oid) JOIN pg_catalog.pg_type t ON t.oid = c.reltype OR t.typelem = c.reltype AND t.typlen = -1"
						 " JOIN pg_catalog.pg_depend d ON d.refobjid = t.oid"
						 " WHERE d.refclassid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.deptype <> 'i'"
						 " UNION SELECT view || ' belongs to an extension'"
						 " FROM pg_catalog.pg_depend d JOIN name ON name.oid = d.objid"
						 " WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.deptype IN ('e', 'x')"
						 " UNION SELECT view || ' has a security label'"
						 " FROM pg_catalog.pg_seclabel s JOIN name ON name.oid = s.objoid"
						 " WHERE s.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass"
						 " UNION SELECT view || ' is a temporary view of another session'"
						 " FROM c JOIN name USING (oid) WHERE pg_catalog.pg_is_other_temp_schema(c.relnamespace)"
						 " UNION SELECT view || ' is a temporary view of another user'"
						 " FROM c JOIN name USING (oid) WHERE c.relpersistence = 't'"
						 " AND c.relowner <> (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = CURRENT_USER)"
						 " UNION SELECT view || ' belongs to another user'"
						 " FROM c JOIN name USING (oid) WHERE NOT pg_catalog.pg_has_role(c.relowner, 'USAGE')"
						 " UNION SELECT view || pg_catalog.format(' belongs to role %%I, which needs SET ROLE', pg_catalog.pg_get_userbyid(c.relowner))"
						 " FROM c JOIN name USING (oid) WHERE pg_catalog.pg_has_role(c.relowner, 'USAGE')"
						 " AND NOT pg_catalog.pg_has_role(c.relowner, '" COMPAT_SET_ROLE_PRIVILEGE "')"
						 " UNION SELECT view || ' has privileges that its owner did not grant'"
						 " FROM c JOIN name USING (oid) WHERE EXISTS"
						 "  (SELECT FROM pg_catalog.aclexplode(c.relacl) x WHERE x.grantor <> c.relowner)"
						 "  OR EXISTS (SELECT FROM pg_catalog.pg_attribute a, pg_catalog.aclexplode(a.attacl) x"
						 "  WHERE a.attrelid = c.oid AND x.grantor <> c.relowner)"
						 " ORDER BY 1", oids.data);

	return compact_advise_result_list(advice);
}

/*
 * Record for each column the functions whose source text names the table and
 * the column.  pg_depend does not list these functions.  After a conversion,
 * the variables of such a function keep the old types, and RETURN QUERY fails
 * where a column's type differs from the declared one.
 */
void
compact_advise_find_mentions(Advice *advice)
{
	/* match a name as a separate word; ^ and $ match the ends of the source */
	static const char *const is_word =
		"p.prosrc ~* ('(^|[^[:alnum:]_])' ||"
		" pg_catalog.regexp_replace(%s, '([^[:alnum:]_])', '\\\\\\1', 'g') || '([^[:alnum:]_]|$)')";

	compact_advise_query("WITH sources AS MATERIALIZED (SELECT p.oid, p.prosrc FROM pg_catalog.pg_proc p"
						 "  JOIN pg_catalog.pg_language l ON l.oid = p.prolang JOIN pg_catalog.pg_class c ON c.oid = %u"
						 "  WHERE l.lanname NOT IN ('c', 'internal') AND p.oid >= %u AND %s)"
						 " SELECT a.attnum, pg_catalog.string_agg(p.oid::pg_catalog.regprocedure::pg_catalog.text, ', ' ORDER BY p.oid)"
						 " FROM pg_catalog.pg_attribute a JOIN sources p ON %s"
						 " WHERE a.attrelid = %u AND a.attnum > 0 AND NOT a.attisdropped GROUP BY a.attnum",
						 RelationGetRelid(advice->rel), (unsigned int) FirstNormalObjectId,
						 psprintf(is_word, "c.relname"), psprintf(is_word, "a.attname"),
						 RelationGetRelid(advice->rel));
	for (uint64 row = 0; row < SPI_processed; row++)
	{
		int			attnum = atoi(compact_advise_result(row, 0));
		char	   *mentions = compact_advise_result(row, 1);

		for (int i = 0; i < advice->ncolumns; i++)
		{
			if (advice->columns[i].att->attnum == attnum && mentions)
				advice->columns[i].mentions = MemoryContextStrdup(advice->cxt, mentions);
		}
	}
}
