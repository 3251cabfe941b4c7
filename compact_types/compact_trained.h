/*-------------------------------------------------------------------------
 *
 * compact_trained.h
 *	  Strings that are encoded with a dictionary of a column: trained_textN.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_trained.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_TRAINED_H
#define COMPACT_TRAINED_H

#include "utils/rel.h"

#include "compact_trained_codec.h"

/* The greatest N of a type trained_textN; a value contains N. */
#define COMPACT_TRAINED_MAX_NUMBER	1032

/*
 * The dictionary of the type trained_textN is the text search dictionary of
 * the same name in this schema.
 */
#define COMPACT_TRAINED_SCHEMA		"compact_dictionaries"
#define COMPACT_TRAINED_PREFIX		"trained_text"

/* Name of the option of the dictionary that contains the symbol table. */
#define COMPACT_TRAINED_OPTION		"symbols"

/* The symbol table of a type's dictionary, as this backend has read it. */
typedef struct CompactTrainedCache
{
	uint64		generation;		/* of the catalog, when it was last looked up */
	TrainedCodec *codec;
} CompactTrainedCache;

/* A dictionary that was trained on a column and does not exist in the database. */
typedef struct CompactTrainedTry
{
	uint8	   *stored;			/* symbol table */
	Size		len;			/* its bytes */
	int			number;			/* of the next type, or 0 if none is left */
	double		compact_text;	/* average bytes of a value in compact_text */
	double		saved;			/* bytes of the column, compared with
								 * compact_text and with the present values */
	double		value_saved;	/* average bytes of a value, compared with the
								 * present values; can be negative */
} CompactTrainedTry;

/* compact_trained.c */
extern int	compact_trained_number(const char *name);
extern struct varlena *compact_trained_encode(int number, TrainedCodec *codec,
											  const char *str, int len);

/* compact_trained_dictionary.c */
extern uint64 compact_trained_generation;
extern CompactTrainedCache compact_trained_cache[COMPACT_TRAINED_MAX_NUMBER + 1];
extern char *compact_trained_name(int number);
extern TrainedCodec *compact_trained_look_up_codec(int number);
extern TrainedCodec *compact_trained_codec_for_new(int number, Oid typid);
extern int	compact_trained_type_number(Oid typid);
extern Oid	compact_trained_dictionary(int number);
extern int	compact_trained_template_number(Oid template);

/* compact_trained_sample.c */
extern bool compact_trained_try(Relation rel, AttrNumber attnum, CompactTrainedTry *result);
extern char *compact_trained_train(Relation rel, AttrNumber attnum, Oid functions,
								   const CompactTrainedTry *dictionary);
extern char *compact_trained_other_types(const char *type);

/* compact_trained_guard.c */
struct List;					/* avoid including nodes/pg_list.h here */
struct Node;
extern Oid	compact_trained_type(Oid function_schema, int number);
extern void compact_trained_init(void);
extern void compact_trained_refuse_rename(struct Node *statement);
extern void compact_trained_guard_drop(struct List *names);
extern char *compact_trained_unused(Oid typid);

/*
 * Return the symbol table of the type trained_textN, to read values.  It is
 * valid until the backend reads a catalog again.  Raise an error if the
 * dictionary does not exist.
 */
static inline TrainedCodec *
compact_trained_codec(int number)
{
	const CompactTrainedCache *cache = &compact_trained_cache[number];

	if (likely(cache->generation == compact_trained_generation))
		return cache->codec;

	return compact_trained_look_up_codec(number);
}

#endif							/* COMPACT_TRAINED_H */
