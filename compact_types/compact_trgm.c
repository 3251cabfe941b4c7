/*-------------------------------------------------------------------------
 *
 * compact_trgm.c
 *	  Trigrams of compact_text and compact_charN, for the extensions
 *	  compact_trgm and compact_charN_trgm.
 *
 * pg_trgm does the work.  The functions in this file convert a value to a
 * text, and call the C function of pg_trgm that has the same role for text.
 * Only the functions that get a stored value are here.  The query of an index
 * scan is always a text.  So the operator classes use pg_trgm's own C
 * functions for everything else.
 *
 * This library has to work on a server without pg_trgm, so it looks up the
 * functions of pg_trgm's library when they are called.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_trgm.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/gist.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compact_text.h"
#include "compact_types.h"

/* Return the function of pg_trgm's library, which *address caches. */
static PGFunction
trgm_function(PGFunction *address, const char *name)
{
	if (*address == NULL)
		*address = (PGFunction) load_external_function("$libdir/pg_trgm", name, true, NULL);

	return *address;
}

/*
 * Call the function with the arguments of fcinfo, but with another first
 * argument.  The function needs flinfo, which has the options of the operator
 * class.  Do not change the arguments in fcinfo: the executor stores constants
 * there once, and calls the function again.
 */
static Datum
call_with_first(FunctionCallInfo fcinfo, PGFunction function, Datum first)
{
	LOCAL_FCINFO(call, 3);
	Datum		result;

	/* GIN passes a third argument to extractValue, whatever its declaration */
	Assert(fcinfo->nargs <= 3);
	InitFunctionCallInfoData(*call, fcinfo->flinfo, fcinfo->nargs, fcinfo->fncollation,
							 fcinfo->context, fcinfo->resultinfo);
	call->args[0].value = first;
	call->args[0].isnull = false;
	for (int i = 1; i < fcinfo->nargs; i++)
		call->args[i] = fcinfo->args[i];
	result = function(call);
	fcinfo->isnull = call->isnull;

	return result;
}

/*
 * Define a function that calls the function "name" of pg_trgm with the text of
 * its first argument.  value_text makes that text.
 *
 * For compact_charN, value_text keeps the type in fn_extra.  That is allowed
 * because none of these functions of pg_trgm uses fn_extra.
 */
#define TRGM_FUNCTION(prefix, name, value_text) \
	PG_FUNCTION_INFO_V1(prefix##_##name); \
	Datum \
	prefix##_##name(PG_FUNCTION_ARGS) \
	{ \
		static PGFunction address = NULL; \
		text	   *value = (value_text); \
		Datum		result; \
\
		result = call_with_first(fcinfo, trgm_function(&address, #name), \
								 PointerGetDatum(value)); \
		pfree(value); \
		return result; \
	}

/*
 * Define the functions of one type: those of the operators, each of which
 * takes a value of the type and a text, and GIN support function 2 (type,
 * internal), which returns the trigrams of a value.
 */
#define TRGM_FUNCTIONS(prefix, value_text) \
	TRGM_FUNCTION(prefix, similarity_op, value_text) \
	TRGM_FUNCTION(prefix, word_similarity_op, value_text) \
	TRGM_FUNCTION(prefix, word_similarity_commutator_op, value_text) \
	TRGM_FUNCTION(prefix, strict_word_similarity_op, value_text) \
	TRGM_FUNCTION(prefix, strict_word_similarity_commutator_op, value_text) \
	TRGM_FUNCTION(prefix, similarity_dist, value_text) \
	TRGM_FUNCTION(prefix, word_similarity_dist_op, value_text) \
	TRGM_FUNCTION(prefix, word_similarity_dist_commutator_op, value_text) \
	TRGM_FUNCTION(prefix, strict_word_similarity_dist_op, value_text) \
	TRGM_FUNCTION(prefix, strict_word_similarity_dist_commutator_op, value_text) \
	TRGM_FUNCTION(prefix, gin_extract_value_trgm, value_text)

TRGM_FUNCTIONS(compact_text, compact_text_to_text(PG_GETARG_VARLENA_PP(0)))
TRGM_FUNCTIONS(compact_char, compact_char_arg_text(fcinfo, 0))

/*
 * Call pg_trgm's gtrgm_compress().  If value is not NULL, replace the key of
 * the entry by this text.
 */
static Datum
compress(FunctionCallInfo fcinfo, text *value)
{
	static PGFunction address = NULL;
	GISTENTRY  *entry = (GISTENTRY *) PG_GETARG_POINTER(0);
	GISTENTRY	leaf = *entry;

	if (value != NULL)
	{
		leaf.key = PointerGetDatum(value);
		entry = &leaf;
	}

	return call_with_first(fcinfo, trgm_function(&address, "gtrgm_compress"),
						   PointerGetDatum(entry));
}

/*
 * compact_text_gtrgm_compress(internal) returns internal: GiST support function
 * 3, the key of a value.  The function is also called for keys of inner pages,
 * which are of type gtrgm.
 */
PG_FUNCTION_INFO_V1(compact_text_gtrgm_compress);
Datum
compact_text_gtrgm_compress(PG_FUNCTION_ARGS)
{
	GISTENTRY  *entry = (GISTENTRY *) PG_GETARG_POINTER(0);

	return compress(fcinfo, entry->leafkey ?
					compact_text_to_text(PG_DETOAST_DATUM_PACKED(entry->key)) : NULL);
}

/*
 * Return the length of the type whose values the compress function gets.  The
 * function is declared with an argument of type internal.  So find a column of
 * the index that has the function, and return the length of the type that the
 * column's operator class accepts.
 */
static int
compressed_length(Relation index, Oid funcid)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		int16		typlen;
		bool		typbyval;

		if (index_getprocid(index, i + 1, GIST_COMPRESS_PROC) != funcid)
			continue;
		get_typlenbyval(index->rd_opcintype[i], &typlen, &typbyval);
		if (typlen > 0 && !typbyval)
			return typlen;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
			 errmsg("function with OID %u does not belong to an operator class of a fixed-length string type",
					funcid)));
}

/*
 * compact_char_gtrgm_compress(internal) returns internal: the same for
 * compact_charN
 */
PG_FUNCTION_INFO_V1(compact_char_gtrgm_compress);
Datum
compact_char_gtrgm_compress(PG_FUNCTION_ARGS)
{
	GISTENTRY  *entry = (GISTENTRY *) PG_GETARG_POINTER(0);
	const char *value = DatumGetPointer(entry->key);
	int			typlen;

	if (!entry->leafkey)
		return compress(fcinfo, NULL);
	typlen = compressed_length(entry->rel, fcinfo->flinfo->fn_oid);

	return compress(fcinfo, cstring_to_text_with_len(value, compact_char_strlen(value, typlen)));
}
