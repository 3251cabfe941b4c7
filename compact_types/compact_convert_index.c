/*-------------------------------------------------------------------------
 *
 * compact_convert_index.c
 *	  Indexes that convert() and revert() create again.
 *
 * ALTER TABLE rebuilds an index with the operator class that it has, and fails
 * if this class does not accept the new type.  An index for trigrams needs
 * another class.  So such an index is dropped before the ALTER TABLE.
 * Afterwards it is created from its former definition, and
 * compact_auto_index.c replaces the operator class.
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
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/ruleutils.h"

#include "compact_convert.h"

/* Return true if a chosen column is a key of the index with such a class. */
static bool
is_recreated(const Advice *advice, const bool *chosen, Relation index)
{
	for (int key = 0; key < index->rd_index->indnkeyatts; key++)
	{
		Oid			opclass = get_index_column_opclass(RelationGetRelid(index), key + 1);

		for (int i = 0; i < advice->ncolumns; i++)
		{
			const AdviseColumn *column = &advice->columns[i];
			bool		needs_trgm;

			if (chosen[i] && column->att->attnum == index->rd_index->indkey.values[key] &&
				compact_advise_recreates_index(index, opclass, column, &needs_trgm))
				return true;
		}
	}

	return false;
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
		char	   *name = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(index)),
													  RelationGetRelationName(index));
		char	   *comment;

		if (is_recreated(advice, chosen, index))
		{
			compact_convert_check_owner(RelationGetRelid(index), "index");
			advice->prepare = lappend(advice->prepare, psprintf("DROP INDEX %s", name));
			advice->complete = lappend(advice->complete, pg_get_indexdef_string(RelationGetRelid(index)));
			comment = GetComment(RelationGetRelid(index), RelationRelationId, 0);
			if (comment)
				advice->complete = lappend(advice->complete,
										   psprintf("COMMENT ON INDEX %s IS %s", name, quote_literal_cstr(comment)));
			if (index->rd_index->indisclustered)
				advice->complete = lappend(advice->complete,
										   psprintf("ALTER TABLE ONLY %s CLUSTER ON %s", table,
													quote_identifier(RelationGetRelationName(index))));
		}
		index_close(index, NoLock);
	}
	list_free(indexes);
	MemoryContextSwitchTo(oldcxt);
}
