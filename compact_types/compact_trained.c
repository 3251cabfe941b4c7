/*-------------------------------------------------------------------------
 *
 * compact_trained.c
 *	  Variable-length strings encoded with a dictionary of their own.
 *
 * A type trained_textN has the semantics of compact_text.  Its values have the
 * forms of compact_text, and one more: a form with the type's dictionary,
 * which was trained on values of a column.  The C functions of compact_text
 * read these values, because a tag says which dictionary a value needs.  This
 * file makes the values.
 *
 * The same string always gives the same bytes in a type, for the reasons that
 * compact_text_codec.c explains.  These rules define the form of a string:
 *
 *	1. A string of more than 2000 bytes has the form of compact_text.
 *	2. A string gets the form with the type's dictionary if that form is shorter
 *	   than the string stored as it is, and shorter than its packed form of
 *	   compact_text, if it has one.  Both lengths include the tag.
 *	3. Any other string has the form of compact_text.
 *
 * These rules may never change.  Neither may the dictionary of a type while
 * values of the type exist: see compact_trained_dictionary.c.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_trained.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/spgist.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "compact_string_cache.h"
#include "compact_text.h"
#include "compact_trained.h"
#include "compact_types.h"
#include "compact_types_compat.h"

StaticAssertDecl(TRAINED_MAX_LENGTH == COMPACT_TEXT_MAX_ENCODED,
				 "strings of the same lengths are encoded");

/* State of a function that makes values, kept in fn_extra. */
typedef struct TrainedFunction
{
	int			number;			/* of the type */
	char		name[NAMEDATALEN];	/* of the type */
	Oid			typid;			/* type of the result */
	CompactStringCache *cache;	/* strings of which it has made values */
} TrainedFunction;

/*
 * Return N if the name contains trained_textN, otherwise 0.  The rest of the
 * name must be empty or begin with an underscore.
 */
int
compact_trained_number(const char *name)
{
	const char *digits = strstr(name, COMPACT_TRAINED_PREFIX);
	char	   *end;
	long		number;

	if (digits == NULL)
		return 0;
	digits += strlen(COMPACT_TRAINED_PREFIX);
	if (digits[0] < '1' || digits[0] > '9')
		return 0;
	number = strtol(digits, &end, 10);
	if (number > COMPACT_TRAINED_MAX_NUMBER || (*end != '\0' && *end != '_'))
		return 0;

	return (int) number;
}

/*
 * Return the number and the type of a function that makes values of a type.
 * All types share the C functions.  The number is part of the name of the
 * function.
 */
static const TrainedFunction *
trained_function(FunctionCallInfo fcinfo)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;
	TrainedFunction *result;
	HeapTuple	tuple;
	Form_pg_proc proc;

	if (flinfo == NULL)
		elog(ERROR, "function of a trained type called without function information");
	if (likely(flinfo->fn_extra != NULL))
		return (const TrainedFunction *) flinfo->fn_extra;

	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(flinfo->fn_oid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", flinfo->fn_oid);
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	result = MemoryContextAlloc(flinfo->fn_mcxt, sizeof(TrainedFunction));
	result->number = compact_trained_number(NameStr(proc->proname));
	snprintf(result->name, sizeof(result->name), COMPACT_TRAINED_PREFIX "%d", result->number);
	result->typid = proc->prorettype;
	result->cache = compact_string_cache_create(flinfo->fn_mcxt);
	ReleaseSysCache(tuple);
	if (result->number == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("name of function with OID %u contains no type trained_textN",
						flinfo->fn_oid)));
	flinfo->fn_extra = result;

	return result;
}

/*
 * Make a value of the type trained_textN from len bytes of a valid string.
 * codec is the symbol table of the type.
 */
struct varlena *
compact_trained_encode(int number, TrainedCodec *codec, const char *str, int len)
{
	if (len > 0 && len <= TRAINED_MAX_LENGTH)
	{
		union
		{
			struct varlena header;
			char		bytes[VARHDRSZ + TRAINED_MAX_LENGTH];
		}			value;
		uint8	   *out = (uint8 *) VARDATA(&value.header);
		int			tag_bytes = compact_text_put_trained_tag(number, out);
		int			limit = compact_text_packed_length(str, len) - 1 - tag_bytes;
		int			codes = -1;

		if (limit > 0)
			codes = trained_codec_encode(codec, (const uint8 *) str, len,
										 out + tag_bytes, limit);
		if (codes > 0)
		{
			Size		size = VARHDRSZ + tag_bytes + codes;
			struct varlena *result = (struct varlena *) palloc(size);

			SET_VARSIZE(&value.header, size);
			memcpy(result, &value, size);
			return result;
		}
	}

	return compact_text_encode(str, len);
}

/*
 * Make a value of a string, as compact_text_fit() cuts it.  After a soft error,
 * the result is NULL.
 */
static struct varlena *
trained_make(FunctionCallInfo fcinfo, const char *str, int len, int32 typmod,
			 bool is_explicit, struct Node *escontext)
{
	const TrainedFunction *function = trained_function(fcinfo);
	TrainedCodec *codec;

	len = compact_text_fit(str, len, typmod, function->name, is_explicit, escontext);
	if (len < 0)
		return NULL;

	/* this raises an error for a missing dictionary in any case */
	codec = compact_trained_codec_for_new(function->number, function->typid);

	return compact_string_cache_encode(function->cache, function->number, codec, str, len);
}

/* trained_text_in(cstring, oid, typmod int4) returns trained_textN */
PG_FUNCTION_INFO_V1(trained_text_in);
Datum
trained_text_in(PG_FUNCTION_ARGS)
{
	char	   *str = PG_GETARG_CSTRING(0);

	PG_RETURN_POINTER(trained_make(fcinfo, str, strlen(str), PG_GETARG_INT32(2), false,
								   fcinfo->context));
}

/*
 * trained_text_recv(internal, oid, typmod int4) returns trained_textN: the
 * message contains the string, in the client's encoding
 */
PG_FUNCTION_INFO_V1(trained_text_recv);
Datum
trained_text_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	char	   *str;
	int			nbytes;

	str = pq_getmsgtext(buf, buf->len - buf->cursor, &nbytes);

	PG_RETURN_POINTER(trained_make(fcinfo, str, nbytes, PG_GETARG_INT32(2), false, NULL));
}

/* trained_text_typmod_in(cstring[]) returns int4: type modifier for trained_textN(n) */
PG_FUNCTION_INFO_V1(trained_text_typmod_in);
Datum
trained_text_typmod_in(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compact_text_typmod(PG_GETARG_ARRAYTYPE_P(0),
										trained_function(fcinfo)->name));
}

/*
 * trained_text(trained_textN, typmod int4, explicit bool) returns trained_textN:
 * enforce the limit, as varchar() does
 */
PG_FUNCTION_INFO_V1(trained_text);
Datum
trained_text(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);
	int32		typmod = PG_GETARG_INT32(1);
	CompactTextString string;

	if (typmod < (int32) VARHDRSZ)
		PG_RETURN_POINTER(value);
	compact_text_decode(value, &string);
	if (string.len <= typmod - (int32) VARHDRSZ)
		PG_RETURN_POINTER(value);

	PG_RETURN_POINTER(trained_make(fcinfo, string.data, string.len, typmod,
								   PG_GETARG_BOOL(2), fcinfo->context));
}

/* text_trained_text(text, typmod int4, explicit bool) returns trained_textN */
PG_FUNCTION_INFO_V1(text_trained_text);
Datum
text_trained_text(PG_FUNCTION_ARGS)
{
	text	   *str = PG_GETARG_TEXT_PP(0);
	struct varlena *result;

	result = trained_make(fcinfo, VARDATA_ANY(str), VARSIZE_ANY_EXHDR(str),
						  PG_GETARG_INT32(1), PG_GETARG_BOOL(2), fcinfo->context);
	PG_FREE_IF_COPY(str, 0);

	PG_RETURN_POINTER(result);
}

/*
 * bpchar_trained_text(bpchar, typmod int4, explicit bool) returns trained_textN:
 * remove trailing blanks, as a cast to text does
 */
PG_FUNCTION_INFO_V1(bpchar_trained_text);
Datum
bpchar_trained_text(PG_FUNCTION_ARGS)
{
	BpChar	   *str = PG_GETARG_BPCHAR_PP(0);
	struct varlena *result;

	result = trained_make(fcinfo, VARDATA_ANY(str),
						  bpchartruelen(VARDATA_ANY(str), VARSIZE_ANY_EXHDR(str)),
						  PG_GETARG_INT32(1), PG_GETARG_BOOL(2), fcinfo->context);
	PG_FREE_IF_COPY(str, 0);

	PG_RETURN_POINTER(result);
}

/*
 * trained_text_spg_leaf_consistent(internal, internal) returns bool: SP-GiST
 * support function 5.  An index-only scan returns values of the type.
 */
PG_FUNCTION_INFO_V1(trained_text_spg_leaf_consistent);
Datum
trained_text_spg_leaf_consistent(PG_FUNCTION_ARGS)
{
	spgLeafConsistentIn *in = (spgLeafConsistentIn *) PG_GETARG_POINTER(0);
	spgLeafConsistentOut *out = (spgLeafConsistentOut *) PG_GETARG_POINTER(1);
	bool		result = compact_spgist_leaf_consistent(in, out, PG_GET_COLLATION());

	if (in->returnData && result)
	{
		text	   *value = DatumGetTextPP(out->leafValue);
		int			number = trained_function(fcinfo)->number;

		out->leafValue = PointerGetDatum(compact_trained_encode(number, compact_trained_codec(number),
																VARDATA_ANY(value),
																VARSIZE_ANY_EXHDR(value)));
	}

	PG_RETURN_BOOL(result);
}
