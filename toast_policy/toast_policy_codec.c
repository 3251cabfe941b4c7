/*-------------------------------------------------------------------------
 *
 * toast_policy_codec.c
 *	  Compression libraries behind one interface, the probe that detects
 *	  incompressible data early, and the rule for which size is small enough.
 *
 * lz4 and pglz data have core's formats, so that a server without toast_policy
 * can read the values that the access method stored.  lz4hc is lz4 with more
 * effort.  snappy and zstd serve only the types ztext and zbytea.
 *
 * Each backend allocates a compression state once, when it first needs the
 * state.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_codec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <lz4.h>
#include <lz4hc.h>
#include <math.h>
#include <snappy-c.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "access/toast_compression.h"
#include "access/toast_internals.h"
#include "common/pg_lzcompress.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "toast_policy.h"
#include "toast_policy_compat.h"

/*
 * The probe compresses a piece of a value.  The piece is a quarter of the
 * value, from its middle, within these limits in bytes.  If the value is not
 * larger than the upper limit, the piece is the whole value.  If the piece
 * does not become smaller by 1/TP_PROBE_PART, the probe compresses the whole
 * value with less effort.  If the value does not become smaller by
 * 1/TP_WHOLE_PART, it counts as incompressible.
 */
#define TP_PROBE_SIZE			4096
#define TP_PROBE_MIN_SIZE		1024
#define TP_PROBE_PART			16
#define TP_WHOLE_PART			32
#define TP_WHOLE_ACCELERATION	4

/*
 * If not even four bytes repeat in the piece, compress the whole value faster.
 */
#define TP_RANDOM_ACCELERATION	16

/*
 * lz4hc cannot be interrupted.  For data of few different bytes without longer
 * repetitions, lz4hc takes 5 s for each MB at level 12, 0.5 s at level 9 and
 * 25 ms at level 3.  So these are the highest levels for values above these
 * sizes, in bytes.
 */
#define TP_LZ4_LARGE_LEVEL		9
#define TP_LZ4_LARGE_SIZE		(1024 * 1024)
#define TP_LZ4_HUGE_LEVEL		3
#define TP_LZ4_HUGE_SIZE		(16 * 1024 * 1024)

/*
 * zstd can be interrupted between steps.  Each step gives zstd TP_ZSTD_STEP
 * bytes, which make a block.  A block takes up to 0.5 s at level 22.  Levels
 * below TP_ZSTD_SLOW_LEVEL are quick.  At these levels, a value of up to
 * TP_ZSTD_QUICK_SIZE bytes is compressed in one piece.  Their window is
 * smaller than this size, so compression in steps would give other bytes.  At
 * the slow levels, steps give the same bytes as one piece.
 */
#define TP_ZSTD_STEP			(128 * 1024)
#define TP_ZSTD_SLOW_LEVEL		10
#define TP_ZSTD_QUICK_SIZE		(4 * 1024 * 1024)

/* Decompressing a value of more than this many bytes takes long, too. */
#define TP_ZSTD_LARGE_SIZE		(32 * 1024 * 1024)

/* A backend keeps a zstd state of up to this size; high levels take up to 800 MB. */
#define TP_ZSTD_KEPT_STATE		(16 * 1024 * 1024)

/* Bytes that a compressed value must save at least, as in toast_compress_datum() */
#define TP_MIN_SAVED_BYTES		7

/* Names of the codecs, in the order of TpCodec; they are never translated. */
static const char *const tp_codec_names[] = {
	"none", "lz4", "snappy", "zstd", "pglz"
};

const char *
tp_codec_name(TpCodec codec)
{
	return tp_codec_names[codec];
}

/* The state of LZ4_compress_fast_extState() */
static void *
tp_lz4_state(void)
{
	static void *state = NULL;

	if (state == NULL)
		state = MemoryContextAlloc(TopMemoryContext, LZ4_sizeofState());

	return state;
}

/* The state of LZ4_compress_HC_extStateHC(), 256 kB */
static void *
tp_lz4hc_state(void)
{
	static void *state = NULL;

	if (state == NULL)
		state = MemoryContextAlloc(TopMemoryContext, LZ4_sizeofStateHC());

	return state;
}

/* The states of zstd, or NULL */
static ZSTD_CCtx *tp_zstd_compressor = NULL;
static ZSTD_DCtx *tp_zstd_decompressor = NULL;

/*
 * Free a state of zstd that is too large to be kept.  zstd allocates its
 * memory itself, so the end of a transaction does not free it.
 */
static void
tp_zstd_trim(void)
{
	if (ZSTD_sizeof_CCtx(tp_zstd_compressor) > TP_ZSTD_KEPT_STATE)
	{
		ZSTD_freeCCtx(tp_zstd_compressor);
		tp_zstd_compressor = NULL;
	}
	if (ZSTD_sizeof_DCtx(tp_zstd_decompressor) > TP_ZSTD_KEPT_STATE)
	{
		ZSTD_freeDCtx(tp_zstd_decompressor);
		tp_zstd_decompressor = NULL;
	}
}

/*
 * Compress in steps, and check for interrupts before each step.  Return the
 * result of zstd: 0, or an error.  Set *full to true if the output did not
 * fit.
 */
static size_t
tp_zstd_compress_steps(ZSTD_inBuffer *in, ZSTD_outBuffer *out, bool *full)
{
	size_t		rawsize = in->size;
	size_t		result = 0;

	ZSTD_CCtx_setPledgedSrcSize(tp_zstd_compressor, rawsize);
	do
	{
		CHECK_FOR_INTERRUPTS();
		in->size = Min(in->pos + TP_ZSTD_STEP, rawsize);
		result = ZSTD_compressStream2(tp_zstd_compressor, out, in,
									  in->size == rawsize ? ZSTD_e_end : ZSTD_e_continue);
		*full = !ZSTD_isError(result) && result > 0 && out->pos == out->size;
	} while (!ZSTD_isError(result) && !*full &&
			 (in->pos < rawsize || result > 0));

	return result;
}

/*
 * Compress by zstd.  Return the compressed size, or -1 if it exceeds the
 * limit.
 */
static int32
tp_compress_zstd(int level, const char *source, int32 rawsize, char *dest,
				 int32 limit)
{
	ZSTD_inBuffer in = {source, rawsize, 0};
	ZSTD_outBuffer out = {dest, limit, 0};
	volatile size_t size = 0;
	bool		full = false;

	if (tp_zstd_compressor == NULL)
		tp_zstd_compressor = ZSTD_createCCtx();
	if (tp_zstd_compressor == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("Failed while creating a zstd compression context.")));
	ZSTD_CCtx_reset(tp_zstd_compressor, ZSTD_reset_session_only);
	ZSTD_CCtx_setParameter(tp_zstd_compressor, ZSTD_c_compressionLevel, level);
	if (rawsize <= TP_ZSTD_STEP ||
		(rawsize <= TP_ZSTD_QUICK_SIZE && level < TP_ZSTD_SLOW_LEVEL))
		size = out.pos = ZSTD_compress2(tp_zstd_compressor, dest, limit, source, rawsize);
	else
	{
		PG_TRY();
		{
			size = tp_zstd_compress_steps(&in, &out, &full);
		}
		PG_CATCH();
		{
			tp_zstd_trim();
			PG_RE_THROW();
		}
		PG_END_TRY();
	}
	tp_zstd_trim();
	if (full)
		return -1;
	if (!ZSTD_isError(size))
		return (int32) out.pos;

	switch (ZSTD_getErrorCode(size))
	{
		case ZSTD_error_dstSize_tooSmall:
			return -1;
		case ZSTD_error_memory_allocation:
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory"),
					 errdetail("zstd could not allocate the memory that level %d needs.", level),
					 errhint("Lower toast_policy.zstd_level.")));
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not compress a value by zstd: %s",
							ZSTD_getErrorName(size))));
	}
	return -1;					/* keep compiler quiet */
}

/*
 * Decompress in steps, and check for interrupts before each step.  Return true
 * if the data are complete frames that fill dest, as ZSTD_decompressDCtx()
 * requires.  If zstd reports an error, set *error to it.
 */
static bool
tp_zstd_decompress_steps(const char *source, int32 size, char *dest,
						 int32 rawsize, size_t *error)
{
	ZSTD_inBuffer in = {source, 0, 0};
	ZSTD_outBuffer out = {dest, rawsize, 0};
	size_t		result;

	do
	{
		size_t		in_before = in.pos;
		size_t		out_before = out.pos;

		CHECK_FOR_INTERRUPTS();

		/* limit both, because little input can become much output */
		in.size = Min(in.pos + TP_ZSTD_STEP, (size_t) size);
		out.size = Min(out.pos + TP_ZSTD_QUICK_SIZE, (size_t) rawsize);
		result = ZSTD_decompressStream(tp_zstd_decompressor, &out, &in);
		if (ZSTD_isError(result))
		{
			*error = result;
			return false;
		}
		if (in.pos == in_before && out.pos == out_before)
			return false;
	} while (in.pos < (size_t) size || result > 0);

	return out.pos == (size_t) rawsize;
}

/* Decompress into exactly rawsize bytes.  Return false if the data are corrupt. */
static bool
tp_decompress_zstd(const char *source, int32 size, char *dest, int32 rawsize)
{
	volatile size_t error = 0;
	volatile bool result = false;

	if (tp_zstd_decompressor == NULL)
		tp_zstd_decompressor = ZSTD_createDCtx();
	if (tp_zstd_decompressor == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("Failed while creating a zstd decompression context.")));
	if (rawsize <= TP_ZSTD_LARGE_SIZE)
	{
		size_t		length = ZSTD_decompressDCtx(tp_zstd_decompressor, dest, rawsize,
												 source, size);

		if (ZSTD_isError(length))
			error = length;
		else
			result = length == (size_t) rawsize;
	}
	else if (ZSTD_getFrameContentSize(source, size) == (unsigned long long) rawsize)
	{
		/*
		 * The content size of the frame limits the memory, whatever the
		 * frame's window size is.  A damaged frame without a content size
		 * could ask for any window.
		 */
		ZSTD_DCtx_reset(tp_zstd_decompressor, ZSTD_reset_session_only);
		ZSTD_DCtx_setParameter(tp_zstd_decompressor, ZSTD_d_windowLogMax,
							   ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound);
		PG_TRY();
		{
			size_t		met = 0;

			result = tp_zstd_decompress_steps(source, size, dest, rawsize, &met);
			error = met;
		}
		PG_CATCH();
		{
			tp_zstd_trim();
			PG_RE_THROW();
		}
		PG_END_TRY();
		tp_zstd_trim();
	}
	if (ZSTD_isError(error) &&
		ZSTD_getErrorCode(error) == ZSTD_error_memory_allocation)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("zstd could not allocate memory for decompression.")));

	return result;
}

/*
 * Compress rawsize bytes.
 *
 * Return a palloc'd chunk, and set *compressed to the size of the compressed
 * data.  These data start after the first header bytes of the chunk, which the
 * caller fills in.  Return NULL if the data would take more than limit bytes.
 * Only lz4 (0 is the fast compressor, 1 to 12 are levels of lz4hc) and zstd
 * use level.  Errors: insufficient memory, a failure of zstd, and a cancel
 * request between two steps of zstd.
 */
char *
tp_compress(TpCodec codec, int level, const char *source, int32 rawsize,
			int header, int32 limit, int32 *compressed)
{
	Size		capacity = limit;
	char	   *chunk;
	char	   *dest;
	int32		size = -1;

	Assert(rawsize >= 0);

	if (limit <= 0)
		return NULL;
	if (codec == TP_LZ4 && rawsize > TP_LZ4_HUGE_SIZE)
		level = Min(level, TP_LZ4_HUGE_LEVEL);
	else if (codec == TP_LZ4 && rawsize > TP_LZ4_LARGE_SIZE)
		level = Min(level, TP_LZ4_LARGE_LEVEL);

	/* snappy and pglz have no parameter that limits the size of the output */
	if (codec == TP_SNAPPY)
		capacity = snappy_max_compressed_length(rawsize);
	else if (codec == TP_PGLZ)
		capacity = PGLZ_MAX_OUTPUT((Size) rawsize);
	chunk = palloc_extended(header + capacity, MCXT_ALLOC_HUGE);
	dest = chunk + header;

	switch (codec)
	{
		case TP_NONE:
		case TP_LZ4:
			Assert(codec == TP_LZ4);
			if (level == 0)
				size = LZ4_compress_fast_extState(tp_lz4_state(), source, dest,
												  rawsize, limit, 1);
			else
				size = LZ4_compress_HC_extStateHC(tp_lz4hc_state(), source, dest,
												  rawsize, limit, level);
			if (size == 0)
				size = -1;
			break;
		case TP_SNAPPY:
			{
				size_t		length = capacity;

				if (snappy_compress(source, rawsize, dest, &length) == SNAPPY_OK)
					size = (int32) Min(length, PG_INT32_MAX);
				break;
			}
		case TP_ZSTD:
			size = tp_compress_zstd(level, source, rawsize, dest, limit);
			break;
		case TP_PGLZ:
			size = pglz_compress(source, rawsize, dest, PGLZ_strategy_default);
			break;
	}
	if (size < 0 || size > limit)
	{
		pfree(chunk);
		return NULL;
	}
	*compressed = size;

	return chunk;
}

/*
 * Decompress into exactly rawsize bytes at dest.  If the data are corrupt,
 * return false; dest may then contain anything.  Never read or write outside
 * of source and dest.
 */
bool
tp_decompress(TpCodec codec, const char *source, int32 size, char *dest,
			  int32 rawsize)
{
	switch (codec)
	{
		case TP_NONE:
			if (size != rawsize)
				return false;
			memcpy(dest, source, rawsize);
			return true;
		case TP_LZ4:
			return LZ4_decompress_safe(source, dest, size, rawsize) == rawsize;
		case TP_SNAPPY:
			{
				size_t		length;

				/*
				 * snappy writes as many bytes as the data claim, so check
				 * this length first.
				 */
				return snappy_uncompressed_length(source, size, &length) == SNAPPY_OK &&
					length == (size_t) rawsize &&
					snappy_uncompress(source, size, dest, &length) == SNAPPY_OK &&
					length == (size_t) rawsize;
			}
		case TP_ZSTD:
			return tp_decompress_zstd(source, size, dest, rawsize);
		case TP_PGLZ:
			return pglz_decompress(source, size, dest, rawsize, true) == rawsize;
	}
	return false;
}

/*
 * Return true if the byte values of a piece of data are so evenly distributed
 * that no entropy coder saves 1/TP_WHOLE_PART of the size.
 */
static bool
tp_bytes_are_even(const char *source, int32 size)
{
	int			count[256] = {0};
	double		bits = 0;

	for (int32 i = 0; i < size; i++)
		count[(unsigned char) source[i]]++;
	for (int i = 0; i < 256; i++)
		if (count[i] > 0)
			bits += count[i] * log2((double) size / count[i]);

	/*
	 * The measured entropy of n random bytes is about 255 / (2 n ln 2) bits
	 * per byte below 8.  Without this correction, small samples of random
	 * data would count as compressible.
	 */
	return bits + 255 / (2 * M_LN2) > size * 8.0 * (TP_WHOLE_PART - 1) / TP_WHOLE_PART;
}

/*
 * Compress up to TP_PROBE_SIZE bytes quickly by lz4, and return the compressed
 * size.  LZ4_compress_fast() clears lz4's tables in each call.  Clearing them
 * would take longer than compressing data that shrink well, so use
 * LZ4_compress_fast_continue().
 */
static int32
tp_probe(const char *source, int32 size)
{
	static LZ4_stream_t * stream = NULL;
	static char *dest = NULL;

	if (stream == NULL)
	{
		stream = MemoryContextAlloc(TopMemoryContext, sizeof(LZ4_stream_t));
		LZ4_initStream(stream, sizeof(LZ4_stream_t));
	}
	if (dest == NULL)
		dest = MemoryContextAlloc(TopMemoryContext,
								  LZ4_COMPRESSBOUND(TP_PROBE_SIZE));
	LZ4_resetStream_fast(stream);

	/*
	 * dest is large enough, so this call cannot fail; after success, the
	 * stream can be reset quickly.
	 */
	return LZ4_compress_fast_continue(stream, source, dest, size,
									  LZ4_COMPRESSBOUND(TP_PROBE_SIZE), 1);
}

/*
 * Return true if the probe may decide that a value stays raw.  For a small
 * value, it may do so only if compressing the value costs far more than the
 * probe.
 */
bool
tp_may_give_up(TpCodec codec, int level, int32 rawsize)
{
	return tp_early_abort &&
		(rawsize > tp_min_size || (codec == TP_LZ4 && level > 0));
}

/*
 * Return true if compressing the data would be a waste of time.  For nearly
 * incompressible data, hexadecimal digits for example, lz4 takes twenty times
 * as long as for random data, and saves nothing.
 */
bool
tp_incompressible(TpCodec codec, const char *source, int32 rawsize)
{
	int32		size = rawsize <= TP_PROBE_SIZE ? rawsize :
		Min(TP_PROBE_SIZE, Max(TP_PROBE_MIN_SIZE, rawsize / 4));
	const char *middle = source + (rawsize - size) / 2;
	int32		limit = rawsize - rawsize / TP_WHOLE_PART;
	int32		probed;
	char	   *whole;
	bool		shrinks;

	if (codec == TP_NONE)
		return false;
	if (codec == TP_ZSTD && !tp_bytes_are_even(middle, size))
		return false;

	/* for a small value, the piece is the whole value */
	probed = tp_probe(middle, size);
	if (probed <= (size == rawsize ? limit : size - size / TP_PROBE_PART))
		return false;
	if (size == rawsize)
		return true;

	/* examine also the rest of the value, and distant repetitions */
	whole = palloc_extended(limit, MCXT_ALLOC_HUGE);
	shrinks = LZ4_compress_fast_extState(tp_lz4_state(), source, whole, rawsize,
										 limit,
										 probed > size ?
										 TP_RANDOM_ACCELERATION :
										 TP_WHOLE_ACCELERATION) > 0;
	pfree(whole);

	return !shrinks;
}

/*
 * The rule: return the largest size of compressed data that is worth keeping.
 *
 * rawsize is the size of the raw data.  overhead is the number of other bytes
 * in the compressed form, which chunks also have to hold.  room is the largest
 * size of the compressed form, overhead included, with which it remains in its
 * row (0 if unknown).  The result is the size of the compressed data alone.
 * The result is 0 or less if no size is small enough.
 *
 * A value that remains in its row, or is not above toast_policy.min_size, only
 * needs to become smaller, because every byte saved in it counts.  Other
 * values go to the TOAST table in chunks, where only whole chunks count.
 */
int32
tp_size_limit(int32 rawsize, int32 overhead, int32 room)
{
	int64		limit = (int64) rawsize - TP_MIN_SAVED_BYTES;

	if (rawsize > tp_min_size)
	{
		int64		chunks = TP_CHUNKS(rawsize) - tp_min_saved_chunks;
		int64		worth = Max(chunks, 0) * TOAST_MAX_CHUNK_SIZE;
		double		saving = floor(rawsize * (1.0 - tp_min_saving));

		worth = Min(worth, (int64) saving);
		limit = Min(limit, Max(worth, room));
	}

	return (int32) (limit - overhead);
}

/*
 * Compress a raw value that is in memory, if this saves space by the rule.
 *
 * room is the largest size, header included, with which the value remains in
 * its row; 0 if the value cannot remain in the row.  If probe is true, examine
 * first whether the data can be compressed at all.  Return a palloc'd value in
 * core's format, or NULL if the raw value is to be stored.  Set *outcome to
 * the result, for the statistics.
 */
struct varlena *
tp_compress_value(TpCodec codec, int level, const struct varlena *value,
				  int32 room, bool probe, TpOutcome *outcome)
{
	const char *source = VARDATA_ANY(value);
	int32		rawsize = VARSIZE_ANY_EXHDR(value);
	int32		overhead = VARHDRSZ_COMPRESSED - VARHDRSZ;
	int32		size;
	char	   *result;

	*outcome = TP_KEPT_RAW;

	/* like core, do not compress small values with pglz */
	if (codec == TP_PGLZ && rawsize < PGLZ_strategy_default->min_input_size)
		return NULL;
	if (probe && tp_incompressible(codec, source, rawsize))
	{
		*outcome = TP_ABORTED;
		return NULL;
	}
	result = tp_compress(codec, level, source, rawsize, VARHDRSZ_COMPRESSED,
						 tp_size_limit(rawsize, overhead, room - VARHDRSZ),
						 &size);
	if (result == NULL)
		return NULL;

	*outcome = TP_COMPRESSED;
	SET_VARSIZE_COMPRESSED(result, size + VARHDRSZ_COMPRESSED);
	TOAST_COMPRESS_SET_SIZE_AND_COMPRESS_METHOD(result, (uint32) rawsize,
												codec == TP_PGLZ ?
												TOAST_PGLZ_COMPRESSION_ID :
												TOAST_LZ4_COMPRESSION_ID);

	return (struct varlena *) result;
}
