/*-------------------------------------------------------------------------
 *
 * compact_advise_range.c
 *	  Decide whether a column can outgrow the range of a narrower type.
 *
 * The existing values say nothing about future ones.  It is safe to lose part
 * of the old type's range only where a CHECK constraint excludes the lost
 * values anyway.  Every other proposal carries the risk that a later value is
 * out of range.  For some columns, no narrower type is ever proposed, because
 * their values tell too little, or because the name of the column looks like
 * a reference to a key.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_advise_range.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compact_advise.h"
#include "compact_types_compat.h"

/* an updated column must have room for values this many times as large */
#define UPDATED_HEADROOM	100

/*
 * Return the CHECK constraints of the table that hold for all rows, as a list
 * of clauses with implicit AND.  Read them once.  Leave out constraints that
 * call functions of users: the planner evaluates constant expressions, and
 * would run these functions.
 */
static List *
valid_checks(Advice *advice)
{
	TupleConstr *constr = RelationGetDescr(advice->rel)->constr;
	MemoryContext oldcxt;

	if (advice->checks_valid)
		return advice->checks;

	oldcxt = MemoryContextSwitchTo(advice->cxt);
	for (int i = 0; constr && i < constr->num_check; i++)
	{
		ConstrCheck *check = &constr->check[i];
		Node	   *expr;

		if (!check->ccvalid || !compat_check_is_enforced(check))
			continue;
		expr = stringToNode(check->ccbin);
		if (compact_advise_calls_users_functions(expr) || contain_mutable_functions(expr))
			continue;
		expr = eval_const_expressions(NULL, expr);
		expr = (Node *) canonicalize_qual((Expr *) expr, true);
		advice->checks = list_concat(advice->checks, make_ands_implicit((Expr *) expr));
	}
	advice->checks_valid = true;
	MemoryContextSwitchTo(oldcxt);

	return advice->checks;
}

/* Make the clause that compares the column with a constant of its own type. */
static Expr *
comparison(const AdviseColumn *column, int strategy, int64 value)
{
	Form_pg_attribute att = column->att;
	Oid			opclass = GetDefaultOpClass(att->atttypid, BTREE_AM_OID);
	Oid			opno = get_opfamily_member(get_opclass_family(opclass), att->atttypid, att->atttypid, strategy);
	Datum		datum = att->atttypid == INT2OID ? Int16GetDatum((int16) value) :
		att->atttypid == INT4OID ? Int32GetDatum((int32) value) : Int64GetDatum(value);

	return make_opclause(opno, BOOLOID, false,
						 (Expr *) makeVar(1, att->attnum, att->atttypid, -1, InvalidOid, 0),
						 (Expr *) makeConst(att->atttypid, -1, InvalidOid, att->attlen, datum, false, att->attbyval),
						 InvalidOid, InvalidOid);
}

/*
 * Return true if CHECK constraints keep every value of an integer column
 * between min and max.  Return false if that is not certain.
 */
bool
compact_advise_range_is_proven(Advice *advice, const AdviseColumn *column, int64 min, int64 max)
{
	List	   *checks = valid_checks(advice);

	/* NULL passes a CHECK, and fits into any type */
	return checks != NIL &&
		predicate_implied_by(list_make2(comparison(column, BTGreaterEqualStrategyNumber, min),
										comparison(column, BTLessEqualStrategyNumber, max)),
							 checks, true);
}

/* Return true if the name ends in the word, alone or after an underscore. */
static bool
name_ends_in(const char *name, const char *word)
{
	size_t		len = strlen(name);
	size_t		wordlen = strlen(word);

	return len >= wordlen && pg_strcasecmp(name + len - wordlen, word) == 0 &&
		(len == wordlen || name[len - wordlen - 1] == '_');
}

/* Read which integer columns are the whole primary key of a table. */
static void
read_keys(AdviseCatalog *catalog)
{
	compact_advise_query("SELECT a.attname, i.indrelid FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a"
						 "  ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]"
						 " WHERE i.indisprimary AND i.indnkeyatts = 1"
						 "  AND a.atttypid IN ('pg_catalog.int2'::pg_catalog.regtype, 'pg_catalog.int4'::pg_catalog.regtype,"
						 "   'pg_catalog.int8'::pg_catalog.regtype)"
						 " ORDER BY 1, 2");
	catalog->nkeys = (int) SPI_processed;
	catalog->keys = MemoryContextAllocHuge(catalog->cxt, (SPI_processed + 1) * sizeof(AdviseKey));
	for (int i = 0; i < catalog->nkeys; i++)
	{
		namestrcpy(&catalog->keys[i].name, compact_advise_result(i, 0));
		catalog->keys[i].relid = atooid(compact_advise_result(i, 1));
	}
	catalog->keys_valid = true;
}

/*
 * Return a text if the column has the name of the primary key of another table,
 * else NULL.
 */
static char *
has_name_of_key(Advice *advice, const char *name)
{
	AdviseCatalog *catalog = advice->catalog;
	int			low = 0;
	int			high;

	if (!catalog->keys_valid)
		read_keys(catalog);

	/* find the first key that is not before the name */
	high = catalog->nkeys;
	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (strcmp(NameStr(catalog->keys[middle].name), name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < catalog->nkeys && strcmp(NameStr(catalog->keys[low].name), name) == 0; low++)
	{
		Oid			relid = catalog->keys[low].relid;
		char	   *table = get_rel_name(relid);
		char	   *schema = table ? get_namespace_name(get_rel_namespace(relid)) : NULL;

		if (schema != NULL && relid != RelationGetRelid(advice->rel))
			return psprintf("has the name of the key of table %s",
							quote_qualified_identifier(schema, table));
	}

	return NULL;
}

/*
 * Return a text that says why the column looks, by its name, like a reference
 * to a key.  Return NULL if it does not.  The text is in the memory of the
 * advice.  If only this column became narrower, a join could not use the index
 * on the wider key.  The caller must be connected to SPI.
 */
static char *
looks_like_reference(Advice *advice, const AdviseColumn *column)
{
	const char *name = NameStr(column->att->attname);
	size_t		len = strlen(name);
	static const char *const words[] = {"id", "ids", "key", "ref", "fk", "pk", "no", "nr"};

	for (int i = 0; i < (int) lengthof(words); i++)
	{
		if (name_ends_in(name, words[i]))
			return psprintf("is named like a reference to a key");
	}
	/* a name like customerId */
	if (len > 2 && name[len - 2] == 'I' && name[len - 1] == 'd' && islower((unsigned char) name[len - 3]))
		return psprintf("is named like a reference to a key");

	return has_name_of_key(advice, name);
}

/*
 * Return true if the name suggests that the column is a coordinate, which
 * people compute with in double precision.
 */
bool
compact_advise_looks_like_coordinate(const AdviseColumn *column)
{
	static const char *const words[] = {
		"lat", "latitude", "lon", "lng", "long", "longitude", "angle", "bearing", "heading"
	};

	for (int i = 0; i < (int) lengthof(words); i++)
	{
		if (name_ends_in(NameStr(column->att->attname), words[i]))
			return true;
	}

	return false;
}

/*
 * Return the reason why the column should not be narrowed to any type, or
 * NULL.  The caller must be connected to SPI.
 */
char *
compact_advise_never_narrow(Advice *advice, const AdviseColumn *column)
{
	char	   *reference;

	if (column->min == column->max)
		return psprintf("all values are %lld, which tells nothing about later values",
						(long long) column->min);
	reference = looks_like_reference(advice, column);
	if (reference)
		return psprintf("the column %s, and a join with a wider type could no longer use the index", reference);

	return NULL;
}

/* Return true if the type has enough room for later updates of the values. */
bool
compact_advise_room_for_updates(const AdviseColumn *column, int64 updates, int64 min, int64 max)
{
	return updates == 0 ||
		(column->max <= max / UPDATED_HEADROOM &&
		 (column->min >= 0 || column->min >= min / UPDATED_HEADROOM));
}
