/*-------------------------------------------------------------------------
 *
 * toast_policy_types.c
 *	  The types ztext and zbytea: text and bytea that compress their values
 *	  themselves, also by codecs that the server's TOAST does not know.
 *
 * The payload of a value of either type has this format, which is frozen with
 * the first release:
 *
 *	raw			1 byte	0x00 to 0x30: the upper four bits are the codec that
 *						was tried and did not pay, 0 if none was tried
 *				the data
 *	compressed	1 byte	0x01 lz4 (block format), 0x02 snappy, 0x03 zstd (frame
 *						with its content size)
 *				4 bytes	size of the raw data, the lowest byte first
 *				the compressed data
 *
 * Any other first byte is an error.  The highest bit is reserved for values
 * that are compressed in independent pieces.
 *
 * The raw data are those of text or bytea, in the encoding of the database.
 * Two different payloads can thus be equal values.  A raw value records the
 * codec that was tried, so that a coercion to a column's codec does not try
 * this codec again.
 *
 * The types' storage is EXTERNAL.  So the server does not compress their
 * values again, and reads only the chunks that it needs for a part of a raw
 * value.
 *
 * A value can contain any bytes if a superuser created a binary cast to the
 * type, or if a disk returned wrong data.  Everything that is read from a
 * value is checked before it is used.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_types.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <snappy-c.h>
#include <zstd.h>

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "toast_policy_compat.h"
#include "toast_policy_types.h"

#define TZ_RAW_HEADER			1
#define TZ_COMPRESSED_HEADER	5

/*
 * Strings of up to this many bytes are not compressed, because this hardly
 * saves space.
 */
#define TZ_MIN_SIZE				64

/* The largest size of a text or a bytea without its header */
#define TZ_MAX_RAW_SIZE			(MaxAllocSize - VARHDRSZ)

/*
 * Maximum number of raw bytes from one compressed byte, or from one block of
 * zstd.  A value that claims more bytes is corrupt, so do not allocate memory
 * for it.  In lz4, each byte that encodes the length of a match stands for up
 * to 255 raw bytes.  In snappy, a match of three bytes stands for up to 64 raw
 * bytes.  A block of zstd has at least three bytes of header and one of
 * content.
 */
#define TZ_LZ4_MAX_RATIO		255
#define TZ_SNAPPY_MAX_RATIO		32
#define TZ_ZSTD_MIN_BLOCK		4
#define TZ_ZSTD_MAX_BLOCK		(128 * 1024)

pg_noreturn static void
tz_corrupt(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("compressed value is corrupt"),
			 errdetail_internal("%s", detail)));
}

/*
 * Read the header from a payload of the given size.  At least its first
 * TZ_COMPRESSED_HEADER bytes must be available, or all bytes if the payload is
 * shorter.
 */
static void
tz_parse_header(const char *payload, Size total, TpTypeHeader *header)
{
	const unsigned char *bytes = (const unsigned char *) payload;
	uint32		rawsize;
	int64		size;
	int64		possible;

	if (total < TZ_RAW_HEADER)
		tz_corrupt("The value has no header.");

	header->tried = TP_NONE;
	if ((bytes[0] & 0x0F) == TP_NONE && (bytes[0] >> 4) <= TP_ZSTD)
	{
		header->codec = TP_NONE;
		header->tried = (TpCodec) (bytes[0] >> 4);
		header->offset = TZ_RAW_HEADER;
		header->rawsize = total - TZ_RAW_HEADER;
		return;
	}

	if (bytes[0] > TP_ZSTD)
		tz_corrupt("The value's first byte does not name a known codec.");
	if (total < TZ_COMPRESSED_HEADER)
		tz_corrupt("The value ends within its header.");

	header->codec = (TpCodec) bytes[0];
	header->offset = TZ_COMPRESSED_HEADER;
	rawsize = (uint32) bytes[1] | (uint32) bytes[2] << 8 |
		(uint32) bytes[3] << 16 | (uint32) bytes[4] << 24;

	size = total - TZ_COMPRESSED_HEADER;
	switch (header->codec)
	{
		case TP_LZ4:
			possible = size * TZ_LZ4_MAX_RATIO;
			break;
		case TP_SNAPPY:
			possible = size * TZ_SNAPPY_MAX_RATIO;
			break;
		default:
			possible = (size / TZ_ZSTD_MIN_BLOCK + 1) * TZ_ZSTD_MAX_BLOCK;
			break;
	}
	if (rawsize > TZ_MAX_RAW_SIZE || rawsize > possible)
		tz_corrupt("The size that the value claims is impossible.");
	header->rawsize = (int32) rawsize;
}

/* Decompress into header->rawsize bytes at dest. */
static void
tz_decompress(const char *payload, Size total, const TpTypeHeader *header,
			  char *dest)
{
	if (!tp_decompress(header->codec, payload + header->offset,
					   total - header->offset, dest, header->rawsize))
		tz_corrupt("The value's data cannot be decompressed.");
}

/*
 * If the compressed data contain their raw size, check that it equals the size
 * in the header.  Call this before memory is allocated for the raw data.
 */
static void
tz_check_size(const char *payload, Size total, const TpTypeHeader *header)
{
	const char *data = payload + header->offset;
	Size		size = total - header->offset;
	size_t		length;

	if ((header->codec == TP_SNAPPY &&
		 (snappy_uncompressed_length(data, size, &length) != SNAPPY_OK ||
		  length != (size_t) header->rawsize)) ||
		(header->codec == TP_ZSTD &&
		 ZSTD_getFrameContentSize(data, size) != (unsigned long long) header->rawsize))
		tz_corrupt("The value's data have another size than the value claims.");
}

/*
 * Fetch the first bytes of a payload that is out of line or compressed by the
 * server, and set *total to its full size.  If the data are corrupt, the
 * server can return fewer bytes than requested.
 */
static struct varlena *
tz_fetch(Datum value, int32 wanted, Size *total)
{
	struct varlena *slice = PG_DETOAST_DATUM_SLICE(value, 0, wanted);

	*total = Min(toast_raw_datum_size(value) - VARHDRSZ, MaxAllocSize);
	if (VARSIZE(slice) - VARHDRSZ < Min((Size) wanted, *total))
		tz_corrupt("The value is shorter than where it is stored tells.");

	return slice;
}

/*
 * Read a value's header, and no more of the value than needed.  Errors: a
 * corrupt value, as in all functions that read a value.
 */
void
tp_type_read_header(Datum value, TpTypeHeader *header)
{
	struct varlena *attr = (struct varlena *) DatumGetPointer(value);

	if (VARATT_IS_EXTERNAL(attr) || VARATT_IS_COMPRESSED(attr))
	{
		Size		total;
		struct varlena *slice = tz_fetch(value, TZ_COMPRESSED_HEADER, &total);

		tz_parse_header(VARDATA(slice), total, header);
		pfree(slice);
	}
	else
		tz_parse_header(VARDATA_ANY(attr), VARSIZE_ANY_EXHDR(attr), header);
}

/* Get the raw bytes of a value; tp_raw_close() releases them. */
void
tp_type_open(Datum value, TpRaw *raw)
{
	struct varlena *packed = PG_DETOAST_DATUM_PACKED(value);
	char	   *payload = VARDATA_ANY(packed);
	Size		total = VARSIZE_ANY_EXHDR(packed);
	TpTypeHeader header;

	tz_parse_header(payload, total, &header);
	raw->copies[0] = (Pointer) packed != DatumGetPointer(value) ? packed : NULL;
	raw->copies[1] = NULL;
	raw->size = header.rawsize;
	if (header.codec == TP_NONE)
	{
		raw->data = payload + header.offset;
		return;
	}

	tz_check_size(payload, total, &header);
	raw->copies[1] = palloc(Max(header.rawsize, 1));
	tz_decompress(payload, total, &header, raw->copies[1]);
	raw->data = raw->copies[1];
}

void
tp_raw_close(TpRaw *raw)
{
	for (int i = 0; i < (int) lengthof(raw->copies); i++)
		if (raw->copies[i] != NULL)
			pfree(raw->copies[i]);
}

/* Return the text or bytea that a value stands for, in new memory. */
struct varlena *
tp_type_decode(Datum value)
{
	struct varlena *packed = PG_DETOAST_DATUM_PACKED(value);
	char	   *payload = VARDATA_ANY(packed);
	Size		total = VARSIZE_ANY_EXHDR(packed);
	bool		copied = (Pointer) packed != DatumGetPointer(value);
	TpTypeHeader header;
	struct varlena *result;

	tz_parse_header(payload, total, &header);

	/* reuse the memory of a raw value that was fetched only for us */
	if (header.codec == TP_NONE && copied && VARATT_IS_4B_U(packed))
	{
		memmove(payload, payload + header.offset, header.rawsize);
		SET_VARSIZE(packed, VARHDRSZ + header.rawsize);
		return packed;
	}

	tz_check_size(payload, total, &header);
	result = palloc(VARHDRSZ + header.rawsize);
	SET_VARSIZE(result, VARHDRSZ + header.rawsize);
	if (header.codec == TP_NONE)
		memcpy(VARDATA(result), payload + header.offset, header.rawsize);
	else
		tz_decompress(payload, total, &header, VARDATA(result));
	if (copied)
		pfree(packed);

	return result;
}

/*
 * Return the raw bytes from an offset on, as a text or bytea in new memory.  A
 * negative length means all bytes that follow.  The result may be shorter than
 * length.
 */
struct varlena *
tp_type_slice(Datum value, int32 offset, int32 length)
{
	struct varlena *attr = (struct varlena *) DatumGetPointer(value);
	struct varlena *result;
	TpRaw		raw;

	Assert(offset >= 0);

	if (VARATT_IS_EXTERNAL(attr))
	{
		Size		total;
		int32		first = TZ_COMPRESSED_HEADER;
		TpTypeHeader header;

		/* fetch the first chunk only once, for the header and the data in it */
		if (length >= 0 &&
			(int64) offset + length <= (int64) (TOAST_MAX_CHUNK_SIZE - TZ_COMPRESSED_HEADER))
			first += offset + length;
		result = tz_fetch(value, first, &total);
		tz_parse_header(VARDATA(result), total, &header);
		if (header.codec == TP_NONE)
		{
			if (first == TZ_COMPRESSED_HEADER)
			{
				pfree(result);
				return PG_DETOAST_DATUM_SLICE(value, TZ_RAW_HEADER + offset, length);
			}
			offset = Min(offset, header.rawsize);
			length = Min(length, header.rawsize - offset);
			memmove(VARDATA(result), VARDATA(result) + TZ_RAW_HEADER + offset, length);
			SET_VARSIZE(result, VARHDRSZ + length);
			return result;
		}
		pfree(result);
	}

	tp_type_open(value, &raw);
	offset = Min(offset, raw.size);
	if (length < 0 || length > raw.size - offset)
		length = raw.size - offset;
	result = palloc(VARHDRSZ + length);
	SET_VARSIZE(result, VARHDRSZ + length);
	memcpy(VARDATA(result), raw.data + offset, length);
	tp_raw_close(&raw);

	return result;
}

/* Check a type modifier; a caller of a function can pass any number. */
static int32
tz_check_typmod(int32 typmod)
{
	if (typmod > TP_ZSTD)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid type modifier: %d", typmod)));

	return typmod;
}

/*
 * Make a value with the codec that the type modifier names, or else with the
 * codec of toast_policy.type_codec.  Errors: bad type modifier, too many
 * bytes.
 */
static struct varlena *
tz_encode(const char *data, int32 size, int32 typmod)
{
	TpCodec		codec = (TpCodec) tp_type_codec;
	struct varlena *result;
	int			level;

	if (tz_check_typmod(typmod) >= 0)
		codec = (TpCodec) typmod;
	if (size <= TZ_MIN_SIZE)
		codec = TP_NONE;

	level = codec == TP_LZ4 ? tp_lz4_level : tp_zstd_level;
	if (codec != TP_NONE &&
		!(tp_may_give_up(codec, level, size) &&
		  tp_incompressible(codec, data, size)))
	{
		char	   *chunk;
		int32		compressed;

		chunk = tp_compress(codec, level, data, size,
							VARHDRSZ + TZ_COMPRESSED_HEADER,
							tp_size_limit(size, TZ_COMPRESSED_HEADER, 0),
							&compressed);
		if (chunk != NULL)
		{
			Size		total = VARHDRSZ + TZ_COMPRESSED_HEADER + compressed;
			char	   *payload;

			/*
			 * Give back unused memory: the chunk has space for the largest
			 * allowed size.
			 */
			result = repalloc(chunk, total);
			SET_VARSIZE(result, total);
			payload = VARDATA(result);
			payload[0] = (char) codec;
			for (int i = 0; i < 4; i++)
				payload[1 + i] = (char) ((uint32) size >> (8 * i));
			return result;
		}
	}

	if ((Size) size > MaxAllocSize - VARHDRSZ - TZ_RAW_HEADER)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("value of %d bytes is too large for types ztext and zbytea", size)));
	result = palloc(VARHDRSZ + TZ_RAW_HEADER + size);
	SET_VARSIZE(result, VARHDRSZ + TZ_RAW_HEADER + size);
	*VARDATA(result) = (char) (codec << 4);
	memcpy(VARDATA(result) + TZ_RAW_HEADER, data, size);

	return result;
}

/* ztext_in(cstring, oid, typmod int4) returns ztext: the string unchanged */
PG_FUNCTION_INFO_V1(tp_ztext_in);
Datum
tp_ztext_in(PG_FUNCTION_ARGS)
{
	char	   *str = PG_GETARG_CSTRING(0);

	PG_RETURN_POINTER(tz_encode(str, strlen(str), PG_GETARG_INT32(2)));
}

/* ztext_out(ztext) returns cstring */
PG_FUNCTION_INFO_V1(tp_ztext_out);
Datum
tp_ztext_out(PG_FUNCTION_ARGS)
{
	TpRaw		raw;
	char	   *result;

	tp_type_open(PG_GETARG_DATUM(0), &raw);
	result = palloc((Size) raw.size + 1);
	memcpy(result, raw.data, raw.size);
	result[raw.size] = '\0';
	tp_raw_close(&raw);

	PG_RETURN_CSTRING(result);
}

/*
 * ztext_recv(internal, oid, typmod int4) returns ztext: the string in the
 * client's encoding, as for text.  Errors: not valid in that encoding.
 */
PG_FUNCTION_INFO_V1(tp_ztext_recv);
Datum
tp_ztext_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	struct varlena *result;
	char	   *str;
	int			nbytes;

	str = pq_getmsgtext(buf, buf->len - buf->cursor, &nbytes);
	result = tz_encode(str, nbytes, PG_GETARG_INT32(2));
	pfree(str);

	PG_RETURN_POINTER(result);
}

/* ztext_send(ztext) returns bytea: the string, as text sends it */
PG_FUNCTION_INFO_V1(tp_ztext_send);
Datum
tp_ztext_send(PG_FUNCTION_ARGS)
{
	StringInfoData buf;
	TpRaw		raw;

	tp_type_open(PG_GETARG_DATUM(0), &raw);
	pq_begintypsend(&buf);
	pq_sendtext(&buf, raw.data, raw.size);
	tp_raw_close(&raw);

	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/*
 * zbytea_in(cstring, oid, typmod int4) returns zbytea: accepts any notation of
 * bytea.  Errors: the same as for bytea's input.
 */
PG_FUNCTION_INFO_V1(tp_zbytea_in);
Datum
tp_zbytea_in(PG_FUNCTION_ARGS)
{
	struct varlena *bytes;
	struct varlena *result;
	Datum		input;

	if (!compat_input_function_call(byteain, PG_GETARG_CSTRING(0),
									fcinfo->context, &input))
		PG_RETURN_NULL();
	bytes = (struct varlena *) DatumGetPointer(input);
	result = tz_encode(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes),
					   PG_GETARG_INT32(2));
	pfree(bytes);

	PG_RETURN_POINTER(result);
}

/* zbytea_out(zbytea) returns cstring: in the notation that bytea_output sets */
PG_FUNCTION_INFO_V1(tp_zbytea_out);
Datum
tp_zbytea_out(PG_FUNCTION_ARGS)
{
	struct varlena *bytes = tp_type_decode(PG_GETARG_DATUM(0));
	Datum		result = DirectFunctionCall1(byteaout, PointerGetDatum(bytes));

	pfree(bytes);

	return result;
}

/* zbytea_recv(internal, oid, typmod int4) returns zbytea: the bytes */
PG_FUNCTION_INFO_V1(tp_zbytea_recv);
Datum
tp_zbytea_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	int			nbytes = buf->len - buf->cursor;
	const char *data = pq_getmsgbytes(buf, nbytes);

	PG_RETURN_POINTER(tz_encode(data, nbytes, PG_GETARG_INT32(2)));
}

/*
 * ztext_text(ztext) returns text, zbytea_bytea(zbytea) returns bytea, and
 * zbytea_send(zbytea) returns bytea
 */
PG_FUNCTION_INFO_V1(tp_type_to_raw);
Datum
tp_type_to_raw(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(tp_type_decode(PG_GETARG_DATUM(0)));
}

/*
 * text_ztext(text, typmod int4, explicit bool) returns ztext, and
 * bytea_zbytea(bytea, int4, bool) returns zbytea.  Errors: bad type modifier.
 */
PG_FUNCTION_INFO_V1(tp_type_from_raw);
Datum
tp_type_from_raw(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);
	struct varlena *result;

	result = tz_encode(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value),
					   PG_GETARG_INT32(1));
	PG_FREE_IF_COPY(value, 0);

	PG_RETURN_POINTER(result);
}

/*
 * bpchar_ztext(bpchar, typmod int4, explicit bool) returns ztext: removes
 * trailing blanks, as the cast from bpchar to text does.  Errors: bad type
 * modifier.
 */
PG_FUNCTION_INFO_V1(tp_bpchar_ztext);
Datum
tp_bpchar_ztext(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);
	const char *data = VARDATA_ANY(value);
	struct varlena *result;

	result = tz_encode(data, bpchartruelen(unconstify(char *, data),
										   VARSIZE_ANY_EXHDR(value)),
					   PG_GETARG_INT32(1));
	PG_FREE_IF_COPY(value, 0);

	PG_RETURN_POINTER(result);
}

/*
 * ztext_recode(ztext, typmod int4, explicit bool) returns ztext, and
 * zbytea_recode() is the same for zbytea: the value with the codec of the type
 * modifier.  A value that already has this codec, or for which this codec has
 * been tried, is returned unchanged, even if it is stored out of line.
 * Errors: bad type modifier, corrupt value.
 */
PG_FUNCTION_INFO_V1(tp_type_recode);
Datum
tp_type_recode(PG_FUNCTION_ARGS)
{
	Datum		value = PG_GETARG_DATUM(0);
	int32		typmod = tz_check_typmod(PG_GETARG_INT32(1));
	TpTypeHeader header;
	TpRaw		raw;
	struct varlena *result;

	if (typmod < 0)
		PG_RETURN_DATUM(value);
	tp_type_read_header(value, &header);
	if ((int32) header.codec == typmod ||
		(header.codec == TP_NONE &&
		 ((int32) header.tried == typmod || header.rawsize <= TZ_MIN_SIZE)))
		PG_RETURN_DATUM(value);

	tp_type_open(value, &raw);
	result = tz_encode(raw.data, raw.size, typmod);
	tp_raw_close(&raw);

	PG_RETURN_POINTER(result);
}

/*
 * ztext_typmod_in(cstring[]) returns int4: the number of the codec that the
 * type modifier names.  zbytea uses this function, too.  Errors: not the name
 * of one codec.
 */
PG_FUNCTION_INFO_V1(tp_type_typmod_in);
Datum
tp_type_typmod_in(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	Datum	   *names;
	int			count;
	const char *name;

	if (ARR_NDIM(array) > 1 || array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("type modifiers must be a one-dimensional array without nulls")));
	deconstruct_array(array, CSTRINGOID, -2, false, TYPALIGN_CHAR,
					  &names, NULL, &count);
	if (count != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid type modifier"),
				 errhint("The type modifier is one codec: none, lz4, snappy or zstd.")));

	name = DatumGetCString(names[0]);
	for (int codec = TP_NONE; codec <= TP_ZSTD; codec++)
		if (pg_strcasecmp(name, tp_codec_name((TpCodec) codec)) == 0)
			PG_RETURN_INT32(codec);

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown codec \"%s\"", name),
			 errhint("The type modifier is one codec: none, lz4, snappy or zstd.")));
}

/* ztext_typmod_out(int4) returns cstring: the codec in parentheses; also for zbytea */
PG_FUNCTION_INFO_V1(tp_type_typmod_out);
Datum
tp_type_typmod_out(PG_FUNCTION_ARGS)
{
	int32		typmod = tz_check_typmod(PG_GETARG_INT32(0));

	if (typmod < 0)
		PG_RETURN_CSTRING(pstrdup(""));

	PG_RETURN_CSTRING(psprintf("(%s)", tp_codec_name((TpCodec) typmod)));
}

/*
 * toast_policy.codec(ztext) and codec(zbytea) return text: the codec of the value,
 * "none" if it is stored raw
 */
PG_FUNCTION_INFO_V1(tp_type_codec_name);
Datum
tp_type_codec_name(PG_FUNCTION_ARGS)
{
	TpTypeHeader header;

	tp_type_read_header(PG_GETARG_DATUM(0), &header);

	PG_RETURN_TEXT_P(cstring_to_text(tp_codec_name(header.codec)));
}

/*
 * Return true if the type, or the type that it is a domain over, is ztext or
 * zbytea.
 *
 * The types can be in any schema, and could even be re-created by hand.  So
 * recognize the types by the C code of their input functions.
 */
bool
tp_is_compressed_type(Oid typid)
{
	HeapTuple	tuple;
	Form_pg_type type;
	Oid			input;
	FmgrInfo	finfo;

	typid = getBaseType(typid);
	if (typid < FirstNormalObjectId)
		return false;

	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(typid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", typid);
	type = (Form_pg_type) GETSTRUCT(tuple);
	input = type->typtype == TYPTYPE_BASE && type->typlen == -1 ?
		type->typinput : InvalidOid;
	ReleaseSysCache(tuple);

	/* skip the lookup for built-in input functions, for example array_in() */
	if (input < FirstNormalObjectId)
		return false;
	fmgr_info(input, &finfo);

	return finfo.fn_addr == tp_ztext_in || finfo.fn_addr == tp_zbytea_in;
}
