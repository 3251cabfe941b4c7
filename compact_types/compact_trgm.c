/*-------------------------------------------------------------------------
 *
 * compact_trgm.c
 *	  Trigrams of compact_text, for the extension compact_trgm.
 *
 * pg_trgm does the work.  The functions in this file decode a value of
 * compact_text to a text, and call the C function of pg_trgm that has the same
 * role for text.  Only the functions that get a stored value are here.  The
 * query of an index scan is always a text.  So the operator classes use
 * pg_trgm's own C functions for everything else.
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

#include "access/gist.h"
#include "fmgr.h"

#include "compact_text.h"

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
 * its first argument, a compact_text.
 */
#define TRGM_FUNCTION(name) \
	PG_FUNCTION_INFO_V1(compact_text_##name); \
	Datum \
	compact_text_##name(PG_FUNCTION_ARGS) \
	{ \
		static PGFunction address = NULL; \
		text	   *value = compact_text_to_text(PG_GETARG_VARLENA_PP(0)); \
		Datum		result; \
\
		result = call_with_first(fcinfo, trgm_function(&address, #name), \
								 PointerGetDatum(value)); \
		pfree(value); \
		return result; \
	}

/* Functions of operators: each takes a compact_text and a text. */
TRGM_FUNCTION(similarity_op)
TRGM_FUNCTION(word_similarity_op)
TRGM_FUNCTION(word_similarity_commutator_op)
TRGM_FUNCTION(strict_word_similarity_op)
TRGM_FUNCTION(strict_word_similarity_commutator_op)
TRGM_FUNCTION(similarity_dist)
TRGM_FUNCTION(word_similarity_dist_op)
TRGM_FUNCTION(word_similarity_dist_commutator_op)
TRGM_FUNCTION(strict_word_similarity_dist_op)
TRGM_FUNCTION(strict_word_similarity_dist_commutator_op)

/* GIN support function 2 (compact_text, internal): the trigrams of a value */
TRGM_FUNCTION(gin_extract_value_trgm)

/*
 * compact_text_gtrgm_compress(internal) returns internal: GiST support function
 * 3, the key of a value.  The function is also called for keys of inner pages,
 * which are of type gtrgm.
 */
PG_FUNCTION_INFO_V1(compact_text_gtrgm_compress);
Datum
compact_text_gtrgm_compress(PG_FUNCTION_ARGS)
{
	static PGFunction address = NULL;
	GISTENTRY  *entry = (GISTENTRY *) PG_GETARG_POINTER(0);
	GISTENTRY	leaf = *entry;

	if (entry->leafkey)
	{
		struct varlena *value = PG_DETOAST_DATUM_PACKED(entry->key);

		leaf.key = PointerGetDatum(compact_text_to_text(value));
		entry = &leaf;
	}

	return call_with_first(fcinfo, trgm_function(&address, "gtrgm_compress"),
						   PointerGetDatum(entry));
}
