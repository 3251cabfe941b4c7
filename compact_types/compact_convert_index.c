/*-------------------------------------------------------------------------
 *
 * compact_convert_index.c
 *	  Indexes that convert() and revert() create again.
 *
 * ALTER TABLE rebuilds an index with the operator class that it has, and fails
 * if this class does not accept the new type.  An index for trigrams needs
 * another class, and an index for patterns needs the collation C.  So such an
 * index is dropped before the ALTER TABLE.  Afterwards convert() creates it from
 * its former definition, and compact_auto_index.c replaces the operator class.
 * revert() creates it from the definition that it had before convert().
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_convert_index.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/pg_class.h"
#include "commands/comment.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/ruleutils.h"

#include "compact_convert.h"

/* Return the qualified name of the index. */
char *
compact_convert_index_name(Relation index)
{
	return quote_qualified_identifier(get_namespace_name(RelationGetNamespace(index)),
									  RelationGetRelationName(index));
}

/* Return the number of the column in the advice that is the key of the index, or -1. */
static int
key_column(const Advice *advice, Relation index, int key)
{
	for (int i = 0; i < advice->ncolumns; i++)
	{
		if (advice->columns[i].att->attnum == index->rd_index->indkey.values[key])
			return i;
	}

	return -1;
}

/*
 * Return true if a chosen column is a key of the index.  With other_class, the
 * operator class of the key must accept only the present type.
 */
static bool
has_chosen_key(const Advice *advice, const bool *chosen, Relation index, bool other_class)
{
	for (int key = 0; key < index->rd_index->indnkeyatts; key++)
	{
		int			i = key_column(advice, index, key);
		char	   *needs;

		if (i >= 0 && chosen[i] &&
			(!other_class ||
			 compact_advise_recreates_index(index, get_index_column_opclass(RelationGetRelid(index), key + 1),
											&advice->columns[i], &needs)))
			return true;
	}

	return false;
}

/*
 * Return true if all operator classes that the definition of an index names
 * exist.  An extension with such a class may have moved to another schema.
 */
static bool
classes_exist(const char *definition)
{
	IndexStmt  *stmt = (IndexStmt *) linitial_node(RawStmt, raw_parser(definition, RAW_PARSE_DEFAULT))->stmt;
	Oid			am = get_index_am_oid(stmt->accessMethod, true);
	ListCell   *lc;

	foreach(lc, stmt->indexParams)
	{
		List	   *opclass = lfirst_node(IndexElem, lc)->opclass;

		if (opclass != NIL && (!OidIsValid(am) || !OidIsValid(get_opclass_oid(am, opclass, true))))
			return false;
	}

	return true;
}

/*
 * For revert(), return the definition that the index had before convert().
 * Return NULL if the index still has it, if it is not known, or if the index
 * cannot have it now: a foreign key may use the index, or a column may go back
 * to another type.
 */
char *
compact_convert_index_origin(const Advice *advice, Relation index)
{
	char	   *name = compact_convert_index_name(index);
	char	   *origin = NULL;
	ListCell   *lc;

	if (!advice->reverts)
		return NULL;
	foreach(lc, advice->definitions)
	{
		const Definition *definition = (const Definition *) lfirst(lc);

		if (definition->kind == DEFINITION_INDEX && definition->origin != NULL &&
			strcmp(definition->object, name) == 0 && strcmp(definition->origin, definition->text) != 0)
			origin = definition->origin;
	}
	if (origin == NULL || !classes_exist(origin))
		return NULL;
	for (int key = 0; key < index->rd_index->indnkeyatts; key++)
	{
		int			i = key_column(advice, index, key);

		if (i >= 0 && advice->columns[i].kind != ADVISE_KEEP && !advice->columns[i].noted)
			return NULL;
	}
	compact_advise_query("SELECT FROM pg_catalog.pg_constraint WHERE conindid = %u AND contype = 'f' LIMIT 1",
						 RelationGetRelid(index));

	return SPI_processed == 0 ? origin : NULL;
}

/*
 * Add the statements that drop and create these indexes to the advice, with the
 * properties that are not in the definition of an index.  The caller must have
 * set the search_path and the deparse settings.
 */
void
compact_convert_recreate_indexes(Advice *advice, const bool *chosen)
{
	MemoryContext oldcxt = MemoryContextSwitchTo(advice->cxt);
	List	   *indexes = RelationGetIndexList(advice->rel);
	char	   *table = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(advice->rel)),
												   RelationGetRelationName(advice->rel));
	ListCell   *lc;

	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);
		char	   *name = compact_convert_index_name(index);
		char	   *create = compact_convert_index_origin(advice, index);
		char	   *comment;

		/* the former definition serves, whatever the class of the key */
		if (has_chosen_key(advice, chosen, index, create == NULL))
		{
			if (create == NULL)
				create = pg_get_indexdef_string(RelationGetRelid(index));
			advice->prepare = lappend(advice->prepare, psprintf("DROP INDEX %s", name));
			advice->complete = lappend(advice->complete, create);
			comment = GetComment(RelationGetRelid(index), RelationRelationId, 0);
			if (comment)
				advice->complete = lappend(advice->complete,
										   psprintf("COMMENT ON INDEX %s IS %s", name, quote_literal_cstr(comment)));
			if (index->rd_index->indisclustered)
				advice->complete = lappend(advice->complete,
										   psprintf("ALTER TABLE ONLY %s CLUSTER ON %s", table,
													quote_identifier(RelationGetRelationName(index))));
			if (index->rd_index->indisreplident)
				advice->complete = lappend(advice->complete,
										   psprintf("ALTER TABLE ONLY %s REPLICA IDENTITY USING INDEX %s", table,
													quote_identifier(RelationGetRelationName(index))));
		}
		index_close(index, NoLock);
	}
	list_free(indexes);
	MemoryContextSwitchTo(oldcxt);
}
