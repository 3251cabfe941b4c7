/*-------------------------------------------------------------------------
 *
 * compact_convert.h
 *	  Change the types of a table's columns, and change them back.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_convert.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_CONVERT_H
#define COMPACT_CONVERT_H

#include "fmgr.h"
#include "nodes/execnodes.h"
#include "utils/array.h"

#include "compact_advise.h"

typedef struct ConvertOptions
{
	bool		all;			/* columns were not named */
	bool		skip_blocked;	/* do not convert blocked columns */
	bool		update_statistics;	/* ANALYZE at the end */
	bool		train;			/* give strings a type with a dictionary */
	List	  **to_train;		/* revert() for convert(), which trains: add
								 * the re-created views, of SavedView *, here */
	List	  **views;			/* if not NULL, add the OIDs of re-created
								 * views here, and not to the result */
} ConvertOptions;

typedef enum DefinitionKind
{
	DEFINITION_CONSTRAINT,
	DEFINITION_STATISTICS,
	DEFINITION_INDEX
} DefinitionKind;

/* The text of a constraint, statistics object or index */
typedef struct Definition
{
	char	   *object;			/* name */
	AttrNumber	attnum;			/* a column that the object uses */
	char	   *text;			/* present text */
	char	   *origin;			/* text before the first conversion, or NULL
								 * if not known */
	char	   *comment;		/* COMMENT statement, or NULL; not of an index */
	DefinitionKind kind;
} Definition;

typedef struct SavedColumn
{
	char	   *description;	/* name, type and collation */
	Oid			typid;
	int			shows;			/* index of the converted column that it
								 * shows, or -1 */
	Oid			former;			/* type before a column was reverted to train
								 * it again, or InvalidOid */
} SavedColumn;

/* A view that is dropped, and then created again */
typedef struct SavedView
{
	Oid			oid;
	Oid			new_oid;
	char	   *name;			/* qualified */
	char	   *query;			/* present text */
	char	   *create;			/* statement */
	char	   *with_casts;		/* the same with the present text, if revert()
								 * replaces casts in it, or NULL */
	Oid			owner;
	bool		temporary;
	List	   *relations;		/* OIDs of relations that the query uses */
	List	   *functions;		/* OIDs of users' functions that it calls */
	char	   *properties;		/* all properties except the query, to compare */
	int			ncolumns;
	SavedColumn *columns;
	char	   *origin;			/* query before its first conversion, or NULL */
	bool		default_acl;	/* relacl is NULL: no privileges were granted */
	List	   *grants;			/* statements that give privileges back */
	List	   *restore;		/* statements that restore other properties */
} SavedView;

/* compact_convert.c */
extern void compact_convert_check_call(FunctionCallInfo fcinfo, const char *function,
									   bool has_columns);
extern char *compact_convert_chosen_attnums(const Advice *advice, const bool *chosen, int *nchosen);
extern void compact_convert_lock_table(Oid relid);
extern void compact_convert_add_view(ReturnSetInfo *rsinfo, Oid view);
extern void compact_convert_no_type(const Advice *advice, const char *name, const char *reason);
extern bool *compact_convert_choose_columns(const Advice *advice, ArrayType *names);
extern void compact_convert_columns(Advice *advice, bool *chosen,
									const ConvertOptions *options, ReturnSetInfo *rsinfo);

/* compact_convert_index.c */
extern char *compact_convert_index_name(Relation index);
extern char *compact_convert_index_origin(const Advice *advice, Relation index);
extern void compact_convert_recreate_indexes(Advice *advice, const bool *chosen);

/* compact_convert_train.c */
extern void compact_convert_train(Advice *advice, AdviseColumn *column, List **messages);
extern void compact_convert_check_train(ArrayType *names, const ConvertOptions *how);
extern List *compact_convert_prepare_to_train(Oid relid, Oid funcid, ArrayType *names,
											  List **views);
extern void compact_convert_use_training(const Advice *advice, List *again);
extern void compact_convert_name_unused_types(const Advice *advice, const bool *chosen,
											  List **messages);

/* compact_convert_view.c */
extern SavedView *compact_convert_save_view(const Advice *advice, Oid view, List *converted);
extern void compact_convert_execute_as_owner(const SavedView *saved, const char *sql);
extern char *compact_convert_owner_lacks(Oid relid, char **statement);
extern void compact_convert_check_owner(Oid view);
extern void compact_convert_restore_view(const Advice *advice, List *views, SavedView *saved);

/* compact_revert.c */
extern void compact_revert_for_training(Oid relid, Oid funcid, ArrayType *names, List **views);

/* compact_revert_note.c */
extern char *compact_revert_noted_name(Oid nspid, Oid typid);
extern void compact_revert_write_notes(const Advice *advice, const char *sql);
extern void compact_revert_remember(const Advice *advice, const bool *chosen, Oid relid);
extern void compact_revert_forget(const Advice *advice, const bool *chosen, Oid relid);
extern bool compact_revert_is_plausible(Oid old_typid, int32 old_typmod, const char *new_type);

/* compact_revert_definition.c */
extern Oid	compact_element_or_type(Oid typid);
extern bool compact_revert_is_query(const char *text);
extern char *compact_revert_casts(const Advice *advice, const char *query,
								  Oid view, List *converted);
extern void compact_revert_read_definitions(Advice *advice, Oid relid);
extern void compact_revert_note_definitions(Advice *advice, Oid relid);
extern char *compact_revert_origin(const Advice *advice, Oid relid, const char *text, NodeTag tag);
extern void compact_revert_note_view(const Advice *advice, Oid view, const char *origin);
extern void compact_revert_recreate_definitions(Advice *advice, const bool *chosen);

#endif							/* COMPACT_CONVERT_H */
