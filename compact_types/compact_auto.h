/*-------------------------------------------------------------------------
 *
 * compact_auto.h
 *	  Interfaces between the files of compact_types.auto.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_auto.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_AUTO_H
#define COMPACT_AUTO_H

#include "nodes/parsenodes.h"

/* Properties of the statement whose columns are examined. */
typedef struct CompactAutoContext
{
	const char *relname;		/* for messages */
	Oid			owner;			/* of the table */
	CreateStmt *create;			/* the statement, or NULL for ALTER TABLE */
	List	   *excluded;		/* names of columns that keep their type */
	List	   *foreign_keys;	/* Constraints of the table */
	List	   *missing;		/* names of extensions that are not created */
	bool		detailed;		/* has the limit in bytes been reported? */
} CompactAutoContext;

/* compact_auto_reference.c */
extern bool compact_auto_references_have_type(const CompactAutoContext *context,
											  const ColumnDef *column, Oid typid);
extern bool compact_auto_refers_to_itself(const CompactAutoContext *context,
										  const ColumnDef *column);
extern bool compact_auto_column_is_in_foreign_key(Oid relid, AttrNumber attnum);

#endif							/* COMPACT_AUTO_H */
