/*-------------------------------------------------------------------------
 *
 * toast_policy_types_ops.c
 *	  Comparison, hashing, sort support and partial access of ztext and
 *	  zbytea, with the results that text and bytea have for the raw data.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_types_ops.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "common/int.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/bytea.h"
#include "utils/lsyscache.h"
#include "utils/sortsupport.h"
#include "utils/varlena.h"

#include "toast_policy_types.h"

/* Kind of an argument of a comparison */
typedef enum TzKind
{
	TZ_RAW,						/* text or bytea */
	TZ_NAME,
	TZ_ENCODED					/* ztext or zbytea */
} TzKind;

/* Get the raw bytes of an argument; tp_raw_close() releases them. */
static inline void
tz_open(Datum value, TzKind kind, TpRaw *raw)
{
	if (kind == TZ_ENCODED)
		tp_type_open(value, raw);
	else if (kind == TZ_NAME)
	{
		raw->data = NameStr(*DatumGetName(value));
		raw->size = strlen(raw->data);
		raw->copies[0] = raw->copies[1] = NULL;
	}
	else
	{
		struct varlena *packed = PG_DETOAST_DATUM_PACKED(value);

		raw->data = VARDATA_ANY(packed);
		raw->size = VARSIZE_ANY_EXHDR(packed);
		raw->copies[0] = (Pointer) packed != DatumGetPointer(value) ? packed : NULL;
		raw->copies[1] = NULL;
	}
}

/* Return the number of raw bytes of an argument, without fetching its data. */
static inline int32
tz_size(Datum value, TzKind kind)
{
	TpTypeHeader header;

	if (kind == TZ_RAW)
		return (int32) (toast_raw_datum_size(value) - VARHDRSZ);
	if (kind == TZ_NAME)
		return strlen(NameStr(*DatumGetName(value)));
	tp_type_read_header(value, &header);

	return header.rawsize;
}

static int
tz_compare_bytes(const char *data1, int32 size1, const char *data2, int32 size2)
{
	int			result = memcmp(data1, data2, Min(size1, size2));

	if (result == 0)
		result = size1 < size2 ? -1 : size1 > size2 ? 1 : 0;

	return result;
}

/*
 * Return true if the collation is deterministic, which means that strings are
 * equal only if their bytes are equal.  Return false if there is no collation:
 * the caller then compares by the collation, which raises the error.
 */
static inline bool
tz_collation_is_deterministic(Oid collid)
{
	return collid == DEFAULT_COLLATION_OID || collid == C_COLLATION_OID ||
		(OidIsValid(collid) && get_collation_isdeterministic(collid));
}

static bool
tz_equal_bytes(Datum value1, TzKind kind1, Datum value2, TzKind kind2)
{
	TpRaw		raw1;
	TpRaw		raw2;
	bool		result;

	if (tz_size(value1, kind1) != tz_size(value2, kind2))
		return false;

	tz_open(value1, kind1, &raw1);
	tz_open(value2, kind2, &raw2);
	result = raw1.size == raw2.size &&
		memcmp(raw1.data, raw2.data, raw1.size) == 0;
	tp_raw_close(&raw1);
	tp_raw_close(&raw2);

	return result;
}

/* Compare the two arguments, by bytes or by the function's collation. */
static int
tz_compare(FunctionCallInfo fcinfo, TzKind kind1, TzKind kind2, bool bytes)
{
	TpRaw		raw1;
	TpRaw		raw2;
	int			result;

	tz_open(PG_GETARG_DATUM(0), kind1, &raw1);
	tz_open(PG_GETARG_DATUM(1), kind2, &raw2);
	if (bytes)
		result = tz_compare_bytes(raw1.data, raw1.size, raw2.data, raw2.size);
	else
		result = varstr_cmp(raw1.data, raw1.size, raw2.data, raw2.size,
							PG_GET_COLLATION());
	tp_raw_close(&raw1);
	tp_raw_close(&raw2);

	return result;
}

static bool
tz_equal(FunctionCallInfo fcinfo, TzKind kind1, TzKind kind2, bool bytes)
{
	if (bytes || tz_collation_is_deterministic(PG_GET_COLLATION()))
		return tz_equal_bytes(PG_GETARG_DATUM(0), kind1,
							  PG_GETARG_DATUM(1), kind2);

	return tz_compare(fcinfo, kind1, kind2, false) == 0;
}

/*
 * Define the functions of one pair of types: NAME_eq, NAME_ne, NAME_lt,
 * NAME_le, NAME_gt and NAME_ge return bool, NAME_cmp is btree support function
 * 1.  Errors: a corrupt value, a collation that cannot be determined.
 */
#define TZ_COMPARISON(function, type, expression) \
PG_FUNCTION_INFO_V1(function); \
Datum \
function(PG_FUNCTION_ARGS) \
{ \
	return type##GetDatum(expression); \
} \
extern Datum function(PG_FUNCTION_ARGS)

#define TZ_COMPARISONS(name, kind1, kind2, bytes) \
TZ_COMPARISON(name##_eq, Bool, tz_equal(fcinfo, kind1, kind2, bytes)); \
TZ_COMPARISON(name##_ne, Bool, !tz_equal(fcinfo, kind1, kind2, bytes)); \
TZ_COMPARISON(name##_lt, Bool, tz_compare(fcinfo, kind1, kind2, bytes) < 0); \
TZ_COMPARISON(name##_le, Bool, tz_compare(fcinfo, kind1, kind2, bytes) <= 0); \
TZ_COMPARISON(name##_gt, Bool, tz_compare(fcinfo, kind1, kind2, bytes) > 0); \
TZ_COMPARISON(name##_ge, Bool, tz_compare(fcinfo, kind1, kind2, bytes) >= 0); \
TZ_COMPARISON(name##_cmp, Int32, tz_compare(fcinfo, kind1, kind2, bytes))

TZ_COMPARISONS(tp_ztext, TZ_ENCODED, TZ_ENCODED, false);
TZ_COMPARISONS(tp_ztext_text, TZ_ENCODED, TZ_RAW, false);
TZ_COMPARISONS(tp_text_ztext, TZ_RAW, TZ_ENCODED, false);
TZ_COMPARISONS(tp_ztext_name, TZ_ENCODED, TZ_NAME, false);
TZ_COMPARISONS(tp_name_ztext, TZ_NAME, TZ_ENCODED, false);
TZ_COMPARISONS(tp_zbytea, TZ_ENCODED, TZ_ENCODED, true);
TZ_COMPARISONS(tp_zbytea_bytea, TZ_ENCODED, TZ_RAW, true);
TZ_COMPARISONS(tp_bytea_zbytea, TZ_RAW, TZ_ENCODED, true);

/*
 * NAME_smaller and NAME_larger return the type: transition functions of min()
 * and max()
 */
#define TZ_EXTREME(function, condition, bytes) \
PG_FUNCTION_INFO_V1(function); \
Datum \
function(PG_FUNCTION_ARGS) \
{ \
	int			result = tz_compare(fcinfo, TZ_ENCODED, TZ_ENCODED, bytes); \
 \
	PG_RETURN_DATUM(PG_GETARG_DATUM(result condition 0 ? 0 : 1)); \
} \
extern Datum function(PG_FUNCTION_ARGS)

TZ_EXTREME(tp_ztext_smaller, <, false);
TZ_EXTREME(tp_ztext_larger, >, false);
TZ_EXTREME(tp_zbytea_smaller, <, true);
TZ_EXTREME(tp_zbytea_larger, >, true);

/*
 * ztext_hash(ztext) returns int4 and ztext_hash_extended(ztext, int8) returns
 * int8: hash support functions 1 and 2, with the same results as those of text
 */
PG_FUNCTION_INFO_V1(tp_ztext_hash);
Datum
tp_ztext_hash(PG_FUNCTION_ARGS)
{
	struct varlena *str = tp_type_decode(PG_GETARG_DATUM(0));
	Datum		result = DirectFunctionCall1Coll(hashtext, PG_GET_COLLATION(),
												 PointerGetDatum(str));

	pfree(str);

	return result;
}

PG_FUNCTION_INFO_V1(tp_ztext_hash_extended);
Datum
tp_ztext_hash_extended(PG_FUNCTION_ARGS)
{
	struct varlena *str = tp_type_decode(PG_GETARG_DATUM(0));
	Datum		result = DirectFunctionCall2Coll(hashtextextended,
												 PG_GET_COLLATION(),
												 PointerGetDatum(str),
												 PG_GETARG_DATUM(1));

	pfree(str);

	return result;
}

static Datum
tz_hash_bytes(FunctionCallInfo fcinfo, TzKind kind, bool extended)
{
	TpRaw		raw;
	Datum		result;

	tz_open(PG_GETARG_DATUM(0), kind, &raw);
	if (extended)
		result = hash_any_extended((const unsigned char *) raw.data, raw.size,
								   PG_GETARG_INT64(1));
	else
		result = hash_any((const unsigned char *) raw.data, raw.size);
	tp_raw_close(&raw);

	return result;
}

/*
 * Hash support functions of zbytea, and of bytea, whose functions in core have
 * another signature in 18 than before.
 */
#define TZ_HASH(function, kind, extended) \
PG_FUNCTION_INFO_V1(function); \
Datum \
function(PG_FUNCTION_ARGS) \
{ \
	return tz_hash_bytes(fcinfo, kind, extended); \
} \
extern Datum function(PG_FUNCTION_ARGS)

TZ_HASH(tp_zbytea_hash, TZ_ENCODED, false);
TZ_HASH(tp_zbytea_hash_extended, TZ_ENCODED, true);
TZ_HASH(tp_bytea_hash, TZ_RAW, false);
TZ_HASH(tp_bytea_hash_extended, TZ_RAW, true);

/*
 * Sort support.  The sort support of text and bytea does the work, because it
 * can make abbreviated keys.  A value is decoded once to make its abbreviated
 * key, and again only where two keys are equal.  Sorting compares many values
 * with one value, the pivot.  So remember the decoded second value of a
 * comparison.  Recognize this value by the bytes stored in its row: the value
 * itself, or a pointer to a value out of line.
 */
#define TZ_LAST_SIZE	2048

typedef struct TzSort
{
	SortSupportData raw;		/* sort support of text or bytea */
	int			(*raw_comparator) (Datum x, Datum y, SortSupport ssup);
	MemoryContext context;		/* lives as long as this state */
	struct varlena *last_raw;	/* second value of the last comparison */
	Size		last_size;		/* 0 if there is none */
	char		last[TZ_LAST_SIZE];
} TzSort;

/* Return the second value of a comparison, decoded; the caller must not free it. */
static struct varlena *
tz_remembered(Datum value, TzSort *state)
{
	struct varlena *attr = (struct varlena *) DatumGetPointer(value);
	Size		size = VARSIZE_ANY(attr);
	MemoryContext oldcontext;

	if (state->last_size == size && memcmp(state->last, attr, size) == 0)
		return state->last_raw;

	state->last_size = 0;
	if (state->last_raw != NULL)
		pfree(state->last_raw);
	state->last_raw = NULL;

	oldcontext = MemoryContextSwitchTo(state->context);
	state->last_raw = tp_type_decode(value);
	MemoryContextSwitchTo(oldcontext);

	/*
	 * Do not remember a pointer into memory, which may soon point to another
	 * value.
	 */
	if (size <= TZ_LAST_SIZE &&
		(!VARATT_IS_EXTERNAL(attr) || VARATT_IS_EXTERNAL_ONDISK(attr)))
	{
		memcpy(state->last, attr, size);
		state->last_size = size;
	}

	return state->last_raw;
}

static int
tz_fastcmp(Datum x, Datum y, SortSupport ssup)
{
	TzSort	   *state = (TzSort *) ssup->ssup_extra;
	struct varlena *raw1 = tp_type_decode(x);
	struct varlena *raw2 = tz_remembered(y, state);
	int			result;

	result = state->raw_comparator(PointerGetDatum(raw1), PointerGetDatum(raw2),
								   &state->raw);
	pfree(raw1);

	return result;
}

static Datum
tz_abbrev_convert(Datum original, SortSupport ssup)
{
	TzSort	   *state = (TzSort *) ssup->ssup_extra;
	struct varlena *raw = tp_type_decode(original);
	Datum		result;

	result = state->raw.abbrev_converter(PointerGetDatum(raw), &state->raw);
	pfree(raw);

	return result;
}

static bool
tz_abbrev_abort(int memtupcount, SortSupport ssup)
{
	TzSort	   *state = (TzSort *) ssup->ssup_extra;

	return state->raw.abbrev_abort(memtupcount, &state->raw);
}

static void
tz_sortsupport(SortSupport ssup, Oid typid, Oid collid)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(ssup->ssup_cxt);
	TzSort	   *state = palloc0(sizeof(TzSort));

	state->context = ssup->ssup_cxt;
	state->raw.ssup_cxt = ssup->ssup_cxt;
	state->raw.ssup_collation = collid;
	state->raw.abbreviate = ssup->abbreviate;
	varstr_sortsupport(&state->raw, typid, collid);

	ssup->ssup_extra = state;
	if (state->raw.abbrev_converter != NULL)
	{
		state->raw_comparator = state->raw.abbrev_full_comparator;
		ssup->comparator = state->raw.comparator;
		ssup->abbrev_converter = tz_abbrev_convert;
		ssup->abbrev_abort = tz_abbrev_abort;
		ssup->abbrev_full_comparator = tz_fastcmp;
	}
	else
	{
		state->raw_comparator = state->raw.comparator;
		ssup->comparator = tz_fastcmp;
	}

	MemoryContextSwitchTo(oldcontext);
}

/* ztext_sortsupport(internal) returns void: btree support function 2 */
PG_FUNCTION_INFO_V1(tp_ztext_sortsupport);
Datum
tp_ztext_sortsupport(PG_FUNCTION_ARGS)
{
	SortSupport ssup = (SortSupport) PG_GETARG_POINTER(0);

	tz_sortsupport(ssup, TEXTOID, ssup->ssup_collation);

	PG_RETURN_VOID();
}

/* zbytea_sortsupport(internal) returns void: btree support function 2 */
PG_FUNCTION_INFO_V1(tp_zbytea_sortsupport);
Datum
tp_zbytea_sortsupport(PG_FUNCTION_ARGS)
{
	tz_sortsupport((SortSupport) PG_GETARG_POINTER(0), BYTEAOID, C_COLLATION_OID);

	PG_RETURN_VOID();
}

/*
 * octet_length(ztext), octet_length(zbytea) and length(zbytea) return int4: the
 * number of raw bytes, from the header
 */
PG_FUNCTION_INFO_V1(tp_type_octet_length);
Datum
tp_type_octet_length(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(tz_size(PG_GETARG_DATUM(0), TZ_ENCODED));
}

/* length(ztext) returns int4: the number of characters */
PG_FUNCTION_INFO_V1(tp_ztext_length);
Datum
tp_ztext_length(PG_FUNCTION_ARGS)
{
	Datum		value = PG_GETARG_DATUM(0);
	TpRaw		raw;
	int32		result;

	if (pg_database_encoding_max_length() == 1)
		PG_RETURN_INT32(tz_size(value, TZ_ENCODED));

	tp_type_open(value, &raw);
	result = pg_mbstrlen_with_len(raw.data, raw.size);
	tp_raw_close(&raw);

	PG_RETURN_INT32(result);
}

/*
 * From the arguments start and length of a substring function, compute the
 * number of characters or bytes to skip and to take.  *take is -1 if all that
 * follow are to be taken, as without a length.  Errors: negative length.
 */
static void
tz_substring_range(FunctionCallInfo fcinfo, int32 *skip, int32 *take)
{
	int32		start = PG_GETARG_INT32(1);
	int32		end;

	*skip = Max(start, 1) - 1;
	*take = -1;
	if (PG_NARGS() > 2)
	{
		int32		length = PG_GETARG_INT32(2);

		if (length < 0)
			ereport(ERROR,
					(errcode(ERRCODE_SUBSTRING_ERROR),
					 errmsg("negative substring length not allowed")));
		if (!pg_add_s32_overflow(start, length, &end))
			*take = end > *skip ? end - 1 - *skip : 0;
	}
}

/*
 * substr(zbytea, start int4 [, length int4]) returns bytea, and substring():
 * do what the functions of bytea do.  Errors: negative length.
 */
PG_FUNCTION_INFO_V1(tp_zbytea_substr);
Datum
tp_zbytea_substr(PG_FUNCTION_ARGS)
{
	int32		skip;
	int32		take;

	tz_substring_range(fcinfo, &skip, &take);

	PG_RETURN_POINTER(tp_type_slice(PG_GETARG_DATUM(0), skip, take));
}

/*
 * substr(ztext, start int4 [, length int4]) returns text, and substring(): do
 * what the functions of text do.  Errors: negative length.
 *
 * If characters can have several bytes, the position of the first wanted
 * character is not known.  Then read all bytes before this character, as the
 * function of text does.
 */
PG_FUNCTION_INFO_V1(tp_ztext_substr);
Datum
tp_ztext_substr(PG_FUNCTION_ARGS)
{
	int			max_length = pg_database_encoding_max_length();
	int32		skip;
	int32		take;
	int32		bytes = -1;
	struct varlena *prefix;
	Datum		result;

	tz_substring_range(fcinfo, &skip, &take);
	if (max_length == 1)
		PG_RETURN_POINTER(tp_type_slice(PG_GETARG_DATUM(0), skip, take));

	if (take >= 0 &&
		(pg_add_s32_overflow(skip, take, &bytes) ||
		 pg_mul_s32_overflow(bytes, max_length, &bytes)))
		bytes = -1;
	prefix = tp_type_slice(PG_GETARG_DATUM(0), 0, bytes);

	/*
	 * The prefix can end within a character: remove the incomplete character.
	 */
	if (bytes >= 0 && VARSIZE(prefix) - VARHDRSZ == (Size) bytes)
		SET_VARSIZE(prefix, VARHDRSZ + pg_mbcliplen(VARDATA(prefix), bytes, bytes));

	if (take < 0)
		result = DirectFunctionCall2(text_substr_no_len, PointerGetDatum(prefix),
									 Int32GetDatum(skip + 1));
	else
		result = DirectFunctionCall3(text_substr, PointerGetDatum(prefix),
									 Int32GetDatum(skip + 1), Int32GetDatum(take));
	pfree(prefix);

	PG_RETURN_DATUM(result);
}
