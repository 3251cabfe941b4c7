/*-------------------------------------------------------------------------
 *
 * compact_text.c
 *	  Variable-length strings in an encoded form: compact_text.
 *
 * A value has the semantics of the equal text.  Comparison follows the
 * collation, trailing blanks are significant, and compact_text(n) has a limit
 * of n characters as varchar(n) has.  The hash of a value equals the hash of
 * the equal text.  An implicit cast to text lets functions of text accept a
 * compact_text.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_text.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "common/hashfn.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#include "compact_string_cache.h"
#include "compact_text.h"
#include "compact_types.h"
#include "compact_types_compat.h"

/*
 * Input and output
 */

/*
 * Return how many bytes of a string a value of at most typmod - VARHDRSZ
 * characters holds.  Cut blanks beyond the limit; if the cast is explicit, cut
 * any other characters too.  Otherwise other characters beyond the limit are
 * an error, which names the type.  The error goes to escontext if the caller
 * takes soft errors; the result is -1 then.
 */
int
compact_text_fit(const char *str, int len, int32 typmod, const char *type,
				 bool is_explicit, struct Node *escontext)
{
	if (typmod >= (int32) VARHDRSZ && len > typmod - (int32) VARHDRSZ)
	{
		int			limit = typmod - (int32) VARHDRSZ;
		int			fits = pg_mbcharcliplen(str, len, limit);

		if (!is_explicit)
		{
			for (int i = fits; i < len; i++)
			{
				if (str[i] != ' ')
					ereturn(escontext, -1,
							(errcode(ERRCODE_STRING_DATA_RIGHT_TRUNCATION),
							 errmsg("value too long for type %s(%d)", type, limit)));
			}
		}
		len = fits;
	}

	return len;
}

/*
 * Make a value from a string, as compact_text_fit() cuts it.  After a soft
 * error, the result is NULL.
 */
struct varlena *
compact_text_make(const char *str, int len, int32 typmod, bool is_explicit,
				  struct Node *escontext)
{
	len = compact_text_fit(str, len, typmod, "compact_text", is_explicit, escontext);

	return len < 0 ? NULL : compact_text_encode(str, len);
}

/*
 * Make a value as compact_text_make() does, for a function that may be called
 * many times.
 */
static struct varlena *
text_make(FunctionCallInfo fcinfo, const char *str, int len, int32 typmod,
		  bool is_explicit, struct Node *escontext)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;

	len = compact_text_fit(str, len, typmod, "compact_text", is_explicit, escontext);
	if (len < 0)
		return NULL;
	if (flinfo != NULL && flinfo->fn_extra == NULL)
		flinfo->fn_extra = compact_string_cache_create(flinfo->fn_mcxt);

	return compact_string_cache_encode(flinfo ? flinfo->fn_extra : NULL, 0, NULL, str, len);
}

/* compact_text_in(cstring, oid, typmod int4) returns compact_text */
PG_FUNCTION_INFO_V1(compact_text_in);
Datum
compact_text_in(PG_FUNCTION_ARGS)
{
	char	   *str = PG_GETARG_CSTRING(0);

	PG_RETURN_POINTER(text_make(fcinfo, str, strlen(str), PG_GETARG_INT32(2), false,
								fcinfo->context));
}

/* compact_text_out(compact_text) returns cstring */
PG_FUNCTION_INFO_V1(compact_text_out);
Datum
compact_text_out(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);
	CompactTextString string;
	char	   *result;

	compact_text_decode(value, &string);
	result = pnstrdup(string.data, string.len);
	PG_FREE_IF_COPY(value, 0);

	PG_RETURN_CSTRING(result);
}

/*
 * compact_text_recv(internal, oid, typmod int4) returns compact_text: the
 * message contains the string, not its encoded form, in the client's encoding
 */
PG_FUNCTION_INFO_V1(compact_text_recv);
Datum
compact_text_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	char	   *str;
	int			nbytes;

	str = pq_getmsgtext(buf, buf->len - buf->cursor, &nbytes);

	PG_RETURN_POINTER(text_make(fcinfo, str, nbytes, PG_GETARG_INT32(2), false, NULL));
}

/* compact_text_send(compact_text) returns bytea: the string, as text sends it */
PG_FUNCTION_INFO_V1(compact_text_send);
Datum
compact_text_send(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);
	CompactTextString string;
	StringInfoData buf;

	compact_text_decode(value, &string);
	pq_begintypsend(&buf);
	pq_sendtext(&buf, string.data, string.len);
	PG_FREE_IF_COPY(value, 0);

	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/*
 * Return the type modifier for the arguments in parentheses after the name of
 * the type.
 */
int32
compact_text_typmod(struct ArrayType *modifiers, const char *type)
{
	int			count;
	int32	   *limits = ArrayGetIntegerTypmods(modifiers, &count);

	if (count != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid type modifier"),
				 errhint("The type modifier is one number, the maximum number of characters.")));
	if (limits[0] < 1 || limits[0] > MaxAttrSize)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("length %d of type %s is out of range", limits[0], type),
				 errhint("The length must be between 1 and %d characters.",
						 MaxAttrSize)));

	return VARHDRSZ + limits[0];
}

/* compact_text_typmod_in(cstring[]) returns int4: type modifier for compact_text(n) */
PG_FUNCTION_INFO_V1(compact_text_typmod_in);
Datum
compact_text_typmod_in(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compact_text_typmod(PG_GETARG_ARRAYTYPE_P(0), "compact_text"));
}

/* compact_text_typmod_out(int4) returns cstring */
PG_FUNCTION_INFO_V1(compact_text_typmod_out);
Datum
compact_text_typmod_out(PG_FUNCTION_ARGS)
{
	int32		typmod = PG_GETARG_INT32(0);

	if (typmod < (int32) VARHDRSZ)
		PG_RETURN_CSTRING(pstrdup(""));

	PG_RETURN_CSTRING(psprintf("(%d)", typmod - (int32) VARHDRSZ));
}

/*
 * Casts
 */

/*
 * compact_text(compact_text, typmod int4, explicit bool) returns compact_text:
 * enforce the limit, as varchar() does
 */
PG_FUNCTION_INFO_V1(compact_text);
Datum
compact_text(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);
	int32		typmod = PG_GETARG_INT32(1);
	CompactTextString string;

	if (typmod < (int32) VARHDRSZ)
		PG_RETURN_POINTER(value);
	compact_text_decode(value, &string);
	if (string.len <= typmod - (int32) VARHDRSZ)
		PG_RETURN_POINTER(value);

	PG_RETURN_POINTER(text_make(fcinfo, string.data, string.len, typmod,
								PG_GETARG_BOOL(2), fcinfo->context));
}

/* compact_text_text(compact_text) returns text, or varchar */
PG_FUNCTION_INFO_V1(compact_text_text);
Datum
compact_text_text(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);

	PG_RETURN_TEXT_P(compact_text_to_text(value));
}

/* compact_text_bpchar(compact_text) returns bpchar: all blanks are kept */
PG_FUNCTION_INFO_V1(compact_text_bpchar);
Datum
compact_text_bpchar(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);

	PG_RETURN_BPCHAR_P((BpChar *) compact_text_to_text(value));
}

/*
 * trained_text_compact_text(trained_textN, typmod int4, explicit bool) returns
 * compact_text, without the dictionary of the column
 */
PG_FUNCTION_INFO_V1(trained_text_compact_text);
Datum
trained_text_compact_text(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);
	CompactTextString string;
	struct varlena *result;

	compact_text_decode(value, &string);
	result = text_make(fcinfo, string.data, string.len, PG_GETARG_INT32(1),
					   PG_GETARG_BOOL(2), fcinfo->context);
	PG_FREE_IF_COPY(value, 0);

	PG_RETURN_POINTER(result);
}

/* text_compact_text(text, typmod int4, explicit bool) returns compact_text */
PG_FUNCTION_INFO_V1(text_compact_text);
Datum
text_compact_text(PG_FUNCTION_ARGS)
{
	text	   *str = PG_GETARG_TEXT_PP(0);
	struct varlena *result;

	result = text_make(fcinfo, VARDATA_ANY(str), VARSIZE_ANY_EXHDR(str),
					   PG_GETARG_INT32(1), PG_GETARG_BOOL(2),
					   fcinfo->context);
	PG_FREE_IF_COPY(str, 0);

	PG_RETURN_POINTER(result);
}

/*
 * bpchar_compact_text(bpchar, typmod int4, explicit bool) returns
 * compact_text: remove trailing blanks, as a cast to text does
 */
PG_FUNCTION_INFO_V1(bpchar_compact_text);
Datum
bpchar_compact_text(PG_FUNCTION_ARGS)
{
	BpChar	   *str = PG_GETARG_BPCHAR_PP(0);
	struct varlena *result;

	result = text_make(fcinfo, VARDATA_ANY(str),
					   bpchartruelen(VARDATA_ANY(str), VARSIZE_ANY_EXHDR(str)),
					   PG_GETARG_INT32(1), PG_GETARG_BOOL(2),
					   fcinfo->context);
	PG_FREE_IF_COPY(str, 0);

	PG_RETURN_POINTER(result);
}

/* compact_text_codec(compact_text) returns text: how the value is encoded */
PG_FUNCTION_INFO_V1(compact_text_codec);
Datum
compact_text_codec(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);

	PG_RETURN_TEXT_P(cstring_to_text(compact_text_codec_name(value)));
}

/*
 * Comparison
 */

/* Return true if the call's collation compares as memcmp() does. */
static inline bool
ct_collation_is_c(FunctionCallInfo fcinfo)
{
	return compact_collation_is_c_cached(PG_GET_COLLATION(), InvalidOid);
}

static inline int
ct_compare_strings(FunctionCallInfo fcinfo, const char *a, int alen,
				   const char *b, int blen)
{
	if (ct_collation_is_c(fcinfo))
	{
		int			result = memcmp(a, b, Min(alen, blen));

		return result != 0 ? result : (alen > blen) - (alen < blen);
	}

	return varstr_cmp(a, alen, b, blen, PG_GET_COLLATION());
}

/* Return true if both values have the same bytes; then the strings are equal. */
static inline bool
ct_identical(struct varlena *a, struct varlena *b)
{
	Size		len = VARSIZE_ANY_EXHDR(a);

	return len == VARSIZE_ANY_EXHDR(b) && memcmp(VARDATA_ANY(a), VARDATA_ANY(b), len) == 0;
}

static int
ct_compare(FunctionCallInfo fcinfo)
{
	struct varlena *a = PG_GETARG_VARLENA_PP(0);
	struct varlena *b = PG_GETARG_VARLENA_PP(1);
	int			result = 0;

	if (ct_collation_is_c(fcinfo))
		result = compact_text_compare_c(a, b);
	else if (!ct_identical(a, b))
	{
		CompactTextString astring;
		CompactTextString bstring;

		compact_text_decode(a, &astring);
		compact_text_decode(b, &bstring);
		result = varstr_cmp(astring.data, astring.len, bstring.data, bstring.len,
							PG_GET_COLLATION());
	}
	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);

	return result;
}

/*
 * Return true if the strings are equal.  In a deterministic collation only
 * identical strings are equal.  Identical strings have the same bytes, because
 * a string has only one form; compact_text_codec.c explains why this can never
 * change.
 */
static bool
ct_equal(FunctionCallInfo fcinfo)
{
	Datum		adatum = PG_GETARG_DATUM(0);
	Datum		bdatum = PG_GETARG_DATUM(1);
	struct varlena *a;
	struct varlena *b;
	bool		result;

	(void) ct_collation_is_c(fcinfo);

	/* values of different lengths differ: do not detoast them */
	if (toast_raw_datum_size(adatum) != toast_raw_datum_size(bdatum))
		return false;

	a = PG_GETARG_VARLENA_PP(0);
	b = PG_GETARG_VARLENA_PP(1);
	result = ct_identical(a, b);
	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);

	return result;
}

/*
 * Return true if the strings of values of two types are equal.  The two types
 * can encode a string in different forms.
 */
static bool
ct_equal_mixed(FunctionCallInfo fcinfo)
{
	struct varlena *a = PG_GETARG_VARLENA_PP(0);
	struct varlena *b = PG_GETARG_VARLENA_PP(1);
	bool		result = ct_identical(a, b);

	(void) ct_collation_is_c(fcinfo);

	if (!result)
	{
		CompactTextString astring;
		CompactTextString bstring;

		compact_text_decode(a, &astring);
		compact_text_decode(b, &bstring);
		result = astring.len == bstring.len &&
			memcmp(astring.data, bstring.data, astring.len) == 0;
	}
	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);

	return result;
}

/* Return the number of bytes of a text or bpchar that count in a comparison. */
static inline int
ct_other_length(struct varlena *str, bool bpchar)
{
	int			len = VARSIZE_ANY_EXHDR(str);

	return bpchar ? bpchartruelen(VARDATA_ANY(str), len) : len;
}

/*
 * Compare argument argno, a compact_text, with the other argument, which is a
 * text or a bpchar.  Trailing blanks of a bpchar do not count.
 */
static int
ct_compare_other(FunctionCallInfo fcinfo, int argno, bool bpchar)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(argno);
	struct varlena *other = PG_GETARG_VARLENA_PP(1 - argno);
	CompactTextString string;
	int			result;

	compact_text_decode(value, &string);
	result = ct_compare_strings(fcinfo, string.data, string.len,
								VARDATA_ANY(other), ct_other_length(other, bpchar));
	PG_FREE_IF_COPY(value, argno);
	PG_FREE_IF_COPY(other, 1 - argno);

	return argno == 0 ? result : (result < 0) - (result > 0);
}

static bool
ct_equal_other(FunctionCallInfo fcinfo, int argno, bool bpchar)
{
	Datum		datum = PG_GETARG_DATUM(argno);
	Datum		other_datum = PG_GETARG_DATUM(1 - argno);
	struct varlena *value;
	struct varlena *other;
	CompactTextString string;
	bool		result;

	(void) ct_collation_is_c(fcinfo);

	/*
	 * An encoded form is at most one byte longer than the string.  So a value
	 * that is longer than that differs: do not detoast it.  Trailing blanks
	 * only make a bpchar longer.
	 */
	if (toast_raw_datum_size(datum) > toast_raw_datum_size(other_datum) + 1)
		return false;

	value = PG_GETARG_VARLENA_PP(argno);
	other = PG_GETARG_VARLENA_PP(1 - argno);
	compact_text_decode(value, &string);
	result = string.len == ct_other_length(other, bpchar) &&
		memcmp(string.data, VARDATA_ANY(other), string.len) == 0;
	PG_FREE_IF_COPY(value, argno);
	PG_FREE_IF_COPY(other, 1 - argno);

	return result;
}

/*
 * Define the functions of the six operators and btree support function 1 for
 * each pair of types.
 */
COMPARISON_FUNCTIONS(compact_text, ct_equal(fcinfo), ct_compare(fcinfo))

/* of a trained type and compact_text, and of compact_text and a trained type */
COMPARISON_FUNCTIONS(trained_text_compact_text, ct_equal_mixed(fcinfo), ct_compare(fcinfo))

COMPARISON_FUNCTIONS(compact_text_text,
					 ct_equal_other(fcinfo, 0, false),
					 ct_compare_other(fcinfo, 0, false))
COMPARISON_FUNCTIONS(text_compact_text,
					 ct_equal_other(fcinfo, 1, false),
					 ct_compare_other(fcinfo, 1, false))

COMPARISON_FUNCTIONS(compact_text_bpchar,
					 ct_equal_other(fcinfo, 0, true),
					 ct_compare_other(fcinfo, 0, true))
COMPARISON_FUNCTIONS(bpchar_compact_text,
					 ct_equal_other(fcinfo, 1, true),
					 ct_compare_other(fcinfo, 1, true))

/*
 * Aggregates: each function takes two values and returns one of them, the
 * first if they are equal.
 */

/* compact_text_larger(compact_text, compact_text) returns compact_text */
PG_FUNCTION_INFO_V1(compact_text_larger);
Datum
compact_text_larger(PG_FUNCTION_ARGS)
{
	return PG_GETARG_DATUM(ct_compare(fcinfo) >= 0 ? 0 : 1);
}

/* compact_text_smaller(compact_text, compact_text) returns compact_text */
PG_FUNCTION_INFO_V1(compact_text_smaller);
Datum
compact_text_smaller(PG_FUNCTION_ARGS)
{
	return PG_GETARG_DATUM(ct_compare(fcinfo) <= 0 ? 0 : 1);
}

/* Hashing.  The hash is that of the string, so it equals the hash of the text. */

/* compact_text_hash(compact_text) returns int4 */
PG_FUNCTION_INFO_V1(compact_text_hash);
Datum
compact_text_hash(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);
	CompactTextString string;
	Datum		result;

	(void) ct_collation_is_c(fcinfo);
	compact_text_decode(value, &string);
	result = hash_any((const unsigned char *) string.data, string.len);
	PG_FREE_IF_COPY(value, 0);

	return result;
}

/* compact_text_hash_extended(compact_text, seed int8) returns int8 */
PG_FUNCTION_INFO_V1(compact_text_hash_extended);
Datum
compact_text_hash_extended(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);
	CompactTextString string;
	Datum		result;

	(void) ct_collation_is_c(fcinfo);
	compact_text_decode(value, &string);
	result = hash_any_extended((const unsigned char *) string.data, string.len,
							   PG_GETARG_INT64(1));
	PG_FREE_IF_COPY(value, 0);

	return result;
}
