/*-------------------------------------------------------------------------
 *
 * compact_char.c
 *	  Fixed-length strings without a length header: compact_charN.
 *
 * A value of compact_charN is N bytes: the string without trailing blanks,
 * padded with NUL bytes.  No server encoding has a NUL byte in a string.  So
 * the padding is never ambiguous, and memcmp() of all N bytes gives the order
 * that char(n) has under the C collation.  A value has a fixed length, is
 * aligned to a byte and is stored in the row.  So it needs no length header
 * and no alignment padding, and the attributes behind it keep a constant
 * offset.
 *
 * The type has the semantics of char(n), except that the limit is N bytes,
 * not characters, and that no value is ever cut.  Trailing blanks do not
 * count, output is padded with blanks to N characters, and comparison
 * follows the collation.
 *
 * One set of C functions serves every length.  Each function finds its type in
 * its own catalog row (the function's OID is in flinfo).  A type that is
 * passed as an argument could be forged: the input function of a long type,
 * called with the OID of a short type, would return a datum that is too small.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_char.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/vacuum.h"
#include "common/hashfn.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "compact_text.h"
#include "compact_types.h"
#include "compact_types_compat.h"

/* argument number that means the function's result */
#define RESULT_TYPE		(-1)

/*
 * A function's information about its type.  fn_extra points to this
 * information, which is not allocated in fn_mcxt: each restart of an index
 * scan makes new FmgrInfos, in memory that is freed only at the end of the
 * query.
 */
typedef struct CompactCharInfo
{
	Oid			funcid;			/* hash key */
	bool		valid;
	Oid			typid;
	int			typlen;
} CompactCharInfo;

/* entries are never removed, since fn_extra can still point to them */
static HTAB *char_functions = NULL;

/*
 * Invalidate all entries, because a new function can get the OID of a dropped
 * function, and can have another type.
 */
static void
cc_invalidate_functions(Datum arg, int cacheid, uint32 hashvalue)
{
	HASH_SEQ_STATUS status;
	CompactCharInfo *info;

	hash_seq_init(&status, char_functions);
	while ((info = (CompactCharInfo *) hash_seq_search(&status)) != NULL)
		info->valid = false;
}

/* Return the function's entry in the cache, which may be invalid. */
static CompactCharInfo *
cc_function_entry(Oid funcid)
{
	CompactCharInfo *info;
	bool		found;

	if (char_functions == NULL)
	{
		HASHCTL		ctl;

		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(CompactCharInfo);
		char_functions = hash_create("compact_types functions", 64, &ctl,
									 HASH_ELEM | HASH_BLOBS);
		CacheRegisterSyscacheCallback(PROCOID, cc_invalidate_functions, (Datum) 0);
	}

	info = (CompactCharInfo *) hash_search(char_functions, &funcid, HASH_ENTER, &found);
	if (!found)
		info->valid = false;

	return info;
}

/*
 * Look up the function's type, and set fn_extra.  The type is the type of
 * argument argno, or of the result if argno is RESULT_TYPE.  A function passes
 * the same argno in every call.
 */
static const CompactCharInfo *
cc_make_info(FunctionCallInfo fcinfo, int argno)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;
	CompactCharInfo *info;
	HeapTuple	tuple;
	Form_pg_proc proc;
	Oid			typid;
	int16		typlen;

	if (flinfo == NULL)
		elog(ERROR, "function of a fixed-length string type called without function information");

	info = cc_function_entry(flinfo->fn_oid);
	if (info->valid)
	{
		flinfo->fn_extra = info;
		return info;
	}

	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(flinfo->fn_oid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", flinfo->fn_oid);
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	if (argno == RESULT_TYPE)
		typid = proc->prorettype;
	else if (argno < proc->pronargs)
		typid = proc->proargtypes.values[argno];
	else
		typid = InvalidOid;
	ReleaseSysCache(tuple);

	typlen = OidIsValid(typid) ? get_typlen(typid) : 0;
	if (typlen <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("function with OID %u is not declared for a fixed-length string type",
						flinfo->fn_oid)));

	info->typid = typid;
	info->typlen = typlen;
	info->valid = true;
	flinfo->fn_extra = info;

	return info;
}

/* Return the function's information about its type. */
static inline const CompactCharInfo *
cc_info(FunctionCallInfo fcinfo, int argno)
{
	if (likely(fcinfo->flinfo != NULL && fcinfo->flinfo->fn_extra != NULL))
		return (const CompactCharInfo *) fcinfo->flinfo->fn_extra;

	return cc_make_info(fcinfo, argno);
}

/*
 * Do what cc_info() does, for a function that compares or hashes.  Raise an
 * error if values cannot be compared in the call's collation.  Set *collate_c
 * to true if the collation is C.
 */
static inline const CompactCharInfo *
cc_collation_info(FunctionCallInfo fcinfo, int argno, bool *collate_c)
{
	const CompactCharInfo *info = cc_info(fcinfo, argno);

	*collate_c = compact_collation_is_c_cached(PG_GET_COLLATION(), info->typid);

	return info;
}

/*
 * Make a value from len bytes of a valid string.  Trailing blanks do not
 * count.  If the value is too long, raise an error.  If the caller takes soft
 * errors, save the error in escontext and return NULL instead.
 */
static char *
cc_make_value(const char *str, int len, const CompactCharInfo *info,
			  struct Node *escontext)
{
	char	   *result;

	while (len > 0 && str[len - 1] == ' ')
		len--;

	if (len > info->typlen)
		ereturn(escontext, NULL,
				(errcode(ERRCODE_STRING_DATA_RIGHT_TRUNCATION),
				 errmsg("value too long for type %s",
						format_type_be(info->typid)),
				 errdetail("The value has %d bytes without trailing blanks, the type holds at most %d bytes.",
						   len, info->typlen)));

	result = (char *) palloc(info->typlen);
	memcpy(result, str, len);
	memset(result + len, 0, info->typlen - len);

	return result;
}

/*
 * Return the number of bytes of the blank-padded form of a value that has len
 * bytes.  The padded form has typlen characters, as a char(n) has.
 */
static int
cc_padded_length(const char *value, int len, int typlen)
{
	int			nchars = len;

	if (pg_database_encoding_max_length() > 1)
		nchars = pg_mbstrlen_with_len(value, len);

	return len + (typlen - nchars);
}

/*
 * Input and output
 */

/* compact_char_in(cstring) returns compact_charN */
PG_FUNCTION_INFO_V1(compact_char_in);
Datum
compact_char_in(PG_FUNCTION_ARGS)
{
	char	   *str = PG_GETARG_CSTRING(0);
	const CompactCharInfo *info = cc_info(fcinfo, RESULT_TYPE);

	PG_RETURN_POINTER(cc_make_value(str, strlen(str), info, fcinfo->context));
}

/* compact_char_out(compact_charN) returns cstring, blank-padded */
PG_FUNCTION_INFO_V1(compact_char_out);
Datum
compact_char_out(PG_FUNCTION_ARGS)
{
	char	   *value = PG_GETARG_POINTER(0);
	int			typlen = cc_info(fcinfo, 0)->typlen;
	int			len = compact_char_strlen(value, typlen);
	int			padded = cc_padded_length(value, len, typlen);
	char	   *result = (char *) palloc(padded + 1);

	memcpy(result, value, len);
	memset(result + len, ' ', padded - len);
	result[padded] = '\0';

	PG_RETURN_CSTRING(result);
}

/* compact_char_recv(internal) returns compact_charN: text in the client's encoding */
PG_FUNCTION_INFO_V1(compact_char_recv);
Datum
compact_char_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	const CompactCharInfo *info = cc_info(fcinfo, RESULT_TYPE);
	char	   *str;
	int			nbytes;

	str = pq_getmsgtext(buf, buf->len - buf->cursor, &nbytes);

	PG_RETURN_POINTER(cc_make_value(str, nbytes, info, NULL));
}

/*
 * compact_char_send(compact_charN) returns bytea: padded with blanks, as
 * char(n) sends it, so that a client sees the same string in both formats.
 */
PG_FUNCTION_INFO_V1(compact_char_send);
Datum
compact_char_send(PG_FUNCTION_ARGS)
{
	char	   *padded = DatumGetCString(compact_char_out(fcinfo));
	StringInfoData buf;

	pq_begintypsend(&buf);
	pq_sendtext(&buf, padded, strlen(padded));

	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/*
 * Casts
 */

/*
 * Make a new text from argument argno, a fixed-length string, without trailing
 * blanks.
 */
text *
compact_char_arg_text(FunctionCallInfo fcinfo, int argno)
{
	char	   *value = PG_GETARG_POINTER(argno);
	int			typlen = cc_info(fcinfo, argno)->typlen;

	return cstring_to_text_with_len(value, compact_char_strlen(value, typlen));
}

/* compact_char_text(compact_charN) returns text, without trailing blanks */
PG_FUNCTION_INFO_V1(compact_char_text);
Datum
compact_char_text(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(compact_char_arg_text(fcinfo, 0));
}

/* compact_char_bpchar(compact_charN) returns bpchar, padded to N characters */
PG_FUNCTION_INFO_V1(compact_char_bpchar);
Datum
compact_char_bpchar(PG_FUNCTION_ARGS)
{
	char	   *value = PG_GETARG_POINTER(0);
	int			typlen = cc_info(fcinfo, 0)->typlen;
	int			len = compact_char_strlen(value, typlen);
	int			padded = cc_padded_length(value, len, typlen);
	BpChar	   *result = (BpChar *) palloc(VARHDRSZ + padded);

	SET_VARSIZE(result, VARHDRSZ + padded);
	memcpy(VARDATA(result), value, len);
	memset(VARDATA(result) + len, ' ', padded - len);

	PG_RETURN_BPCHAR_P(result);
}

/*
 * text_compact_char(text or bpchar) returns compact_charN.  A value that is
 * too long is an error, even in an explicit cast.
 */
PG_FUNCTION_INFO_V1(text_compact_char);
PG_FUNCTION_INFO_V1(bpchar_compact_char);
Datum
text_compact_char(PG_FUNCTION_ARGS)
{
	text	   *str = PG_GETARG_TEXT_PP(0);
	const CompactCharInfo *info = cc_info(fcinfo, RESULT_TYPE);
	char	   *result;

	result = cc_make_value(VARDATA_ANY(str), VARSIZE_ANY_EXHDR(str), info,
						   fcinfo->context);
	PG_FREE_IF_COPY(str, 0);

	PG_RETURN_POINTER(result);
}

Datum
bpchar_compact_char(PG_FUNCTION_ARGS)
{
	return text_compact_char(fcinfo);
}

/*
 * compact_char_compact_text(compact_charN, typmod int4, explicit bool) returns
 * compact_text, without trailing blanks
 */
PG_FUNCTION_INFO_V1(compact_char_compact_text);
Datum
compact_char_compact_text(PG_FUNCTION_ARGS)
{
	char	   *value = PG_GETARG_POINTER(0);
	int			typlen = cc_info(fcinfo, 0)->typlen;

	PG_RETURN_POINTER(compact_text_make(value, compact_char_strlen(value, typlen),
										PG_GETARG_INT32(1), PG_GETARG_BOOL(2),
										fcinfo->context));
}

/*
 * Comparison
 */

static inline int
cc_compare(FunctionCallInfo fcinfo)
{
	const char *a = PG_GETARG_POINTER(0);
	const char *b = PG_GETARG_POINTER(1);
	bool		collate_c;
	const CompactCharInfo *info = cc_collation_info(fcinfo, 0, &collate_c);

	if (likely(collate_c))
		return memcmp(a, b, info->typlen);

	return varstr_cmp(a, compact_char_strlen(a, info->typlen),
					  b, compact_char_strlen(b, info->typlen),
					  PG_GET_COLLATION());
}

/* In a deterministic collation only identical strings are equal. */
static inline bool
cc_equal(FunctionCallInfo fcinfo)
{
	const char *a = PG_GETARG_POINTER(0);
	const char *b = PG_GETARG_POINTER(1);
	bool		collate_c;

	return memcmp(a, b, cc_collation_info(fcinfo, 0, &collate_c)->typlen) == 0;
}

/* Return the number of bytes of a varlena string that count in a comparison. */
static inline int
varlena_compare_length(struct varlena *str, bool bpchar)
{
	int			len = VARSIZE_ANY_EXHDR(str);

	return bpchar ? bpchartruelen(VARDATA_ANY(str), len) : len;
}

/*
 * Compare argument argno, a fixed-length string, with the other argument,
 * which is a text or a bpchar.  Trailing blanks of a bpchar do not count.
 */
static inline int
cc_compare_varlena(FunctionCallInfo fcinfo, int argno, bool bpchar)
{
	const char *value = PG_GETARG_POINTER(argno);
	struct varlena *str = PG_GETARG_VARLENA_PP(1 - argno);
	bool		collate_c;
	const CompactCharInfo *info = cc_collation_info(fcinfo, argno, &collate_c);
	int			result;

	result = varstr_cmp(value, compact_char_strlen(value, info->typlen),
						VARDATA_ANY(str), varlena_compare_length(str, bpchar),
						PG_GET_COLLATION());
	PG_FREE_IF_COPY(str, 1 - argno);

	return argno == 0 ? result : (result < 0) - (result > 0);
}

static inline bool
cc_equal_varlena(FunctionCallInfo fcinfo, int argno, bool bpchar)
{
	const char *value = PG_GETARG_POINTER(argno);
	struct varlena *str = PG_GETARG_VARLENA_PP(1 - argno);
	int			len = varlena_compare_length(str, bpchar);
	bool		collate_c;
	int			typlen = cc_collation_info(fcinfo, argno, &collate_c)->typlen;
	bool		result;

	result = (len == compact_char_strlen(value, typlen) &&
			  memcmp(value, VARDATA_ANY(str), len) == 0);
	PG_FREE_IF_COPY(str, 1 - argno);

	return result;
}

/*
 * Compare two varlena strings.  Trailing blanks do not count in an argument
 * that is a bpchar.
 */
static inline int
varlena_compare(FunctionCallInfo fcinfo, bool bpchar1, bool bpchar2)
{
	struct varlena *str1 = PG_GETARG_VARLENA_PP(0);
	struct varlena *str2 = PG_GETARG_VARLENA_PP(1);
	int			result;

	result = varstr_cmp(VARDATA_ANY(str1), varlena_compare_length(str1, bpchar1),
						VARDATA_ANY(str2), varlena_compare_length(str2, bpchar2),
						PG_GET_COLLATION());
	PG_FREE_IF_COPY(str1, 0);
	PG_FREE_IF_COPY(str2, 1);

	return result;
}

/*
 * Each line defines the functions of the six operators, and btree support
 * function 1, for one pair of types.
 */
COMPARISON_FUNCTIONS(compact_char, cc_equal(fcinfo), cc_compare(fcinfo))

COMPARISON_FUNCTIONS(compact_char_text,
					 cc_equal_varlena(fcinfo, 0, false),
					 cc_compare_varlena(fcinfo, 0, false))
COMPARISON_FUNCTIONS(text_compact_char,
					 cc_equal_varlena(fcinfo, 1, false),
					 cc_compare_varlena(fcinfo, 1, false))

COMPARISON_FUNCTIONS(compact_char_bpchar,
					 cc_equal_varlena(fcinfo, 0, true),
					 cc_compare_varlena(fcinfo, 0, true))
COMPARISON_FUNCTIONS(bpchar_compact_char,
					 cc_equal_varlena(fcinfo, 1, true),
					 cc_compare_varlena(fcinfo, 1, true))

/* the same for text and bpchar, for which core has no operators */
COMPARISON_FUNCTIONS(compact_types_text_bpchar,
					 varlena_compare(fcinfo, false, true) == 0,
					 varlena_compare(fcinfo, false, true))
COMPARISON_FUNCTIONS(compact_types_bpchar_text,
					 varlena_compare(fcinfo, true, false) == 0,
					 varlena_compare(fcinfo, true, false))

/*
 * Aggregates.  Each function takes two values and returns one of them.  If the
 * collation makes them equal, it returns the first one.
 */

/* compact_char_larger(compact_charN, compact_charN) returns compact_charN */
PG_FUNCTION_INFO_V1(compact_char_larger);
Datum
compact_char_larger(PG_FUNCTION_ARGS)
{
	return PG_GETARG_DATUM(cc_compare(fcinfo) >= 0 ? 0 : 1);
}

/* compact_char_smaller(compact_charN, compact_charN) returns compact_charN */
PG_FUNCTION_INFO_V1(compact_char_smaller);
Datum
compact_char_smaller(PG_FUNCTION_ARGS)
{
	return PG_GETARG_DATUM(cc_compare(fcinfo) <= 0 ? 0 : 1);
}

/*
 * Hashing.  Hash the bytes without the padding, so that a value has the same
 * hash as an equal text or bpchar.
 */

/* compact_char_hash(compact_charN) returns int4 */
PG_FUNCTION_INFO_V1(compact_char_hash);
Datum
compact_char_hash(PG_FUNCTION_ARGS)
{
	const char *value = PG_GETARG_POINTER(0);
	bool		collate_c;
	int			typlen = cc_collation_info(fcinfo, 0, &collate_c)->typlen;

	return hash_any((const unsigned char *) value,
					compact_char_strlen(value, typlen));
}

/* compact_char_hash_extended(compact_charN, seed int8) returns int8 */
PG_FUNCTION_INFO_V1(compact_char_hash_extended);
Datum
compact_char_hash_extended(PG_FUNCTION_ARGS)
{
	const char *value = PG_GETARG_POINTER(0);
	bool		collate_c;
	int			typlen = cc_collation_info(fcinfo, 0, &collate_c)->typlen;

	return hash_any_extended((const unsigned char *) value,
							 compact_char_strlen(value, typlen),
							 PG_GETARG_INT64(1));
}

/*
 * Statistics
 */

/*
 * compact_char_typanalyze(internal) returns bool: the standard statistics.
 * Values of the type cannot be compared in a nondeterministic collation.  So
 * collect no statistics for a column with such a collation; otherwise ANALYZE
 * would fail.
 */
PG_FUNCTION_INFO_V1(compact_char_typanalyze);
Datum
compact_char_typanalyze(PG_FUNCTION_ARGS)
{
	VacAttrStats *stats = (VacAttrStats *) PG_GETARG_POINTER(0);
	bool		collate_c;
	bool		deterministic = true;

	if (OidIsValid(stats->attrcollid))
		compat_collation_properties(stats->attrcollid, &collate_c, &deterministic);

	PG_RETURN_BOOL(deterministic && std_typanalyze(stats));
}
