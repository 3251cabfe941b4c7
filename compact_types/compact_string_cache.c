/*-------------------------------------------------------------------------
 *
 * compact_string_cache.c
 *	  Recently encoded strings of one function call after another.
 *
 * Many columns contain the same strings again and again, and encoding a string
 * takes much longer than finding it.  So COPY, INSERT ... SELECT and a rewrite
 * of a table keep the last strings of each column with their values.
 *
 * The cache belongs to the FmgrInfo of a function that makes values.  So it
 * exists no longer than a statement, in most cases, and the columns of a table
 * do not share it.  A statement with few rows does not create it.  A column
 * whose strings hardly ever repeat uses it for less and less of its strings, to
 * notice a change.  A plan can have very many such functions, for example one
 * for each partition that it reads, so the number of caches is limited.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_string_cache.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "compact_string_cache.h"
#include "compact_text.h"
#include "compact_trained.h"

/* Strings that a function encodes before it gets a cache. */
#define WARM_UP			256

/* Caches with memory that a backend has at the same time, of some 100 kB each */
#define MAX_CACHES		64

/*
 * After that many lookups, the cache is left unused for a while if less than
 * one lookup in LEAST_HITS has found its string, or already after a quarter of
 * the lookups if none has.  A lookup that finds nothing takes less than that
 * fraction of the time to encode a string with a dictionary.  Other values are
 * not kept, because making them again takes no longer than finding them.
 */
#define WINDOW			512
#define LEAST_HITS		8

/* Strings for which it is left unused; the number doubles each time. */
#define MIN_PAUSE		(16 * WINDOW)
#define MAX_PAUSE		(2048 * WINDOW)

/* A string has its place in one set of strings. */
#define NUM_SETS		256
#define SET_SIZE		2

/* Bytes of a string together with its value */
#define CACHED_BYTES	184

typedef struct CachedString
{
	uint32		hash;
	uint16		len;			/* of the string; 0 if there is none */
	uint16		size;			/* of the value, without its header */
	char		bytes[CACHED_BYTES];	/* the string, then the value */
} CachedString;

typedef struct CachedSet
{
	CachedString strings[SET_SIZE];
	uint32		oldest;			/* number of the oldest string */
} CachedSet;

struct CompactStringCache
{
	MemoryContext context;
	CachedSet  *sets;			/* NULL if it is not used */
	MemoryContextCallback callback; /* counts it out at the end */
	uint64		codec;			/* serial number of the codec, or 0 */
	int			pause;			/* strings for which it is not used */
	int			next_pause;
	int			lookups;		/* since the last pause or window */
	int			hits;
};

/* Caches with memory */
static int	num_caches = 0;

StaticAssertDecl(SET_SIZE == 2, "only one string of a set is not the oldest");
StaticAssertDecl(CACHED_BYTES <= PG_UINT16_MAX, "lengths do not fit");

/*
 * Return a new cache, allocated in the context, as all that belongs to it will
 * be.
 */
CompactStringCache *
compact_string_cache_create(MemoryContext context)
{
	CompactStringCache *cache = MemoryContextAllocZero(context, sizeof(CompactStringCache));

	cache->context = context;
	cache->pause = WARM_UP;
	cache->next_pause = MIN_PAUSE;

	return cache;
}

/* Encode a string as a value of trained_textN, or of compact_text if codec is NULL. */
static struct varlena *
encode(int number, TrainedCodec *codec, const char *str, int len)
{
	return codec ? compact_trained_encode(number, codec, str, len) : compact_text_encode(str, len);
}

/* Count out a cache whose memory is freed with its context. */
static void
count_out(void *arg)
{
	CompactStringCache *cache = (CompactStringCache *) arg;

	if (cache->sets)
		num_caches--;
	cache->sets = NULL;
}

/* Leave the cache unused for a while. */
static void
stop_using(CompactStringCache *cache)
{
	cache->pause = cache->next_pause;
	cache->next_pause = Min(2 * cache->next_pause, MAX_PAUSE);
	if (cache->sets == NULL)
		return;
	pfree(cache->sets);
	cache->sets = NULL;
	num_caches--;
}

/* Give memory to the cache.  Return false if there are too many caches. */
static bool
start_using(CompactStringCache *cache)
{
	if (num_caches >= MAX_CACHES)
		return false;
	if (cache->callback.func == NULL)
	{
		cache->callback.func = count_out;
		cache->callback.arg = cache;
		MemoryContextRegisterResetCallback(cache->context, &cache->callback);
	}
	cache->sets = MemoryContextAllocZero(cache->context, NUM_SETS * sizeof(CachedSet));
	num_caches++;

	return true;
}

/* Count a string.  Return true if the cache is to be used for it. */
static bool
is_used(CompactStringCache *cache, const TrainedCodec *codec)
{
	uint64		serial = codec ? trained_codec_serial(codec) : 0;

	if (cache->pause > 0)
	{
		cache->pause--;
		return false;
	}
	if (cache->lookups == WINDOW || (cache->lookups == WINDOW / 4 && cache->hits == 0))
	{
		bool		pays = cache->hits * LEAST_HITS >= cache->lookups;

		cache->lookups = 0;
		cache->hits = 0;
		if (!pays)
		{
			stop_using(cache);
			return false;
		}
		cache->next_pause = MIN_PAUSE;
	}
	if (cache->sets == NULL)
	{
		if (!start_using(cache))
		{
			stop_using(cache);
			return false;
		}
	}
	/* forget all strings that were encoded with another codec */
	else if (cache->codec != serial)
		memset(cache->sets, 0, NUM_SETS * sizeof(CachedSet));
	cache->codec = serial;
	cache->lookups++;

	return true;
}

/*
 * Make a value of a string of len bytes: of the type trained_textN with this
 * number and codec, or of the type compact_text if codec is NULL.  The result
 * is allocated in the current memory context.  cache may be NULL.
 */
struct varlena *
compact_string_cache_encode(CompactStringCache *cache, int number, TrainedCodec *codec,
							const char *str, int len)
{
	struct varlena *result;
	CachedSet  *set;
	CachedString *cached;
	uint32		hash;
	Size		size;

	if (cache == NULL || len < 1 || len >= CACHED_BYTES || !is_used(cache, codec))
		return encode(number, codec, str, len);

	hash = hash_bytes((const unsigned char *) str, len);
	set = &cache->sets[hash % NUM_SETS];
	for (int i = 0; i < SET_SIZE; i++)
	{
		cached = &set->strings[i];
		if (cached->hash == hash && cached->len == len && memcmp(cached->bytes, str, len) == 0)
		{
			cache->hits++;
			set->oldest = 1 - i;
			result = (struct varlena *) palloc(VARHDRSZ + cached->size);
			SET_VARSIZE(result, VARHDRSZ + cached->size);
			memcpy(VARDATA(result), cached->bytes + len, cached->size);
			return result;
		}
	}

	result = encode(number, codec, str, len);
	size = VARSIZE(result) - VARHDRSZ;
	if (len + size <= CACHED_BYTES && (codec != NULL || compact_text_has_dictionary(result)))
	{
		cached = &set->strings[set->oldest];
		set->oldest = 1 - set->oldest;
		cached->hash = hash;
		cached->len = len;
		cached->size = size;
		memcpy(cached->bytes, str, len);
		memcpy(cached->bytes + len, VARDATA(result), size);
	}

	return result;
}
