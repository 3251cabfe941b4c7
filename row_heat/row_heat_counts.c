/*-------------------------------------------------------------------------
 *
 * row_heat_counts.c
 *	  The table of heat in shared memory: how often each row was accessed.
 *
 * The table has a fixed size.  The hash of a row's key chooses a bucket of
 * RH_WAYS entries, and 16 more bits of the hash tell the rows of a bucket apart.
 * The counts of a bucket are one line of the processor's cache, and the places
 * at which the rows were seen last are the next one.  All access is by atomic
 * operations on 8 bytes, without a lock.  If two processes change an entry at
 * the same moment, one access may be lost.  The count and the place of an entry
 * may even belong to different rows for a moment, so who uses the place has to
 * look at the row there.
 *
 * If the bucket is full, a new row takes the place of the coldest row with the
 * probability 1 / (1 + accesses of the coldest row).  So many rows with few
 * accesses do not replace a row that has many.  This is the admission by
 * chance of Ben Basat, Chen, Einziger, Friedman and Kassner, "Randomized
 * admission policy for efficient top-k and frequency estimation", INFOCOM 2017,
 * but the new row does not inherit the count, because two rows with the same
 * inherited count would look equally hot.
 *
 * Heat decays: after each row_heat.half_life, all counts are halved.  An entry
 * holds the number of the period in which it was changed last, and is halved
 * when it is used next.
 *
 * From 17 on, the table needs no preloading.  Before 17, it exists only if the
 * library is in shared_preload_libraries.  Only with shared_preload_libraries,
 * a shutdown of the server writes the table to a file, which the next start
 * reads and removes.  A crash loses the table.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  row_heat/row_heat_counts.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "bundle_compat.h"
#include "row_heat.h"

#define RH_NAME			"row_heat"

/* Entries of a bucket */
#define RH_WAYS			8
/* Tables that can have heat, in all databases together */
#define RH_RELATIONS	2048
/* Places of the table in which a relation is looked for */
#define RH_PROBES		32
/* After so many periods, nothing is left of a count */
#define RH_FORGOTTEN	20
/*
 * All entries are brought up to date after so many periods, before the age of
 * an entry, which has 8 bits and a sign, looks like another one
 */
#define RH_SWEEP		64

/*
 * An entry: 16 bits that tell rows apart, 8 bits of the number of a period, and
 * 20 bits for each half.  An entry without heat is free.
 */
#define RH_HALF_BITS	20
#define RH_HALF_MAX		((1 << RH_HALF_BITS) - 1)
#define RH_PERIOD_SHIFT	(2 * RH_HALF_BITS)
#define RH_ROW_SHIFT	(RH_PERIOD_SHIFT + 8)

typedef struct RhRelation
{
	pg_atomic_uint64 key;		/* database and table; 0: the place is free */
	pg_atomic_uint64 accesses;	/* period (8 bits), and accesses times
								 * RH_ACCESS */
} RhRelation;

#define RH_RELATION_SHIFT	56

/*
 * Entries whose rows have hashes with the same low bits.  The place is the
 * number of the relation plus 1 (16 bits), the block and the offset of the row.
 */
typedef struct RhBucket
{
	pg_atomic_uint64 counts[RH_WAYS];
	pg_atomic_uint64 places[RH_WAYS];
} RhBucket;

#define RH_PLACE_SHIFT		48

/* The parts are aligned, so that none shares a line of the cache with another. */
typedef struct RhShared
{
	pg_atomic_uint32 period;	/* number of periods since the start */
	uint32		nbuckets;		/* a power of 2 */
	pg_atomic_uint64 next_period;	/* TimestampTz at which the next one
									 * begins */
				pg_attribute_aligned(PG_CACHE_LINE_SIZE) RhRelation relations[RH_RELATIONS];
				pg_attribute_aligned(PG_CACHE_LINE_SIZE) RhBucket buckets[FLEXIBLE_ARRAY_MEMBER];
} RhShared;

/* Settings */
#define RH_DEFAULT_MEMORY	16384
static int	rh_memory = RH_DEFAULT_MEMORY;	/* kB */
static int	rh_half_life = SECS_PER_DAY;

static RhShared *rh_shared = NULL;
static bool rh_preloaded = false;
#if PG_VERSION_NUM >= 170000
static bool rh_failed = false;
#endif

/* The file that keeps the table while the server does not run */
#define RH_FILE			PGSTAT_STAT_PERMANENT_DIRECTORY "/row_heat.stat"

typedef struct RhFileHeader
{
	char		magic[16];
	Size		size;			/* of the table */
} RhFileHeader;

static const char rh_magic[16] = "row_heat 1 " PG_MAJORVERSION;

static shmem_request_hook_type rh_next_shmem_request = NULL;
static shmem_startup_hook_type rh_next_shmem_startup = NULL;

/* Return the number of buckets that fit into row_heat.memory. */
static uint32
rh_nbuckets(void)
{
	int			memory = rh_preloaded ? rh_memory : RH_DEFAULT_MEMORY;
	uint32		nbuckets = 1;

	while ((Size) nbuckets * 2 * sizeof(RhBucket) <= (Size) memory * 1024)
		nbuckets *= 2;

	return nbuckets;
}

static Size
rh_shared_size(void)
{
	return offsetof(RhShared, buckets) + (Size) rh_nbuckets() * sizeof(RhBucket);
}

/* Initialize the table, at server start or when it is first needed. */
static void
rh_shared_init(void *pointer)
{
	RhShared   *shared = pointer;

	memset(shared, 0, rh_shared_size());
	shared->nbuckets = rh_nbuckets();
	pg_atomic_init_u32(&shared->period, 0);
	pg_atomic_init_u64(&shared->next_period,
					   (uint64) (GetCurrentTimestamp() + rh_half_life * USECS_PER_SEC));
	for (int i = 0; i < RH_RELATIONS; i++)
	{
		pg_atomic_init_u64(&shared->relations[i].key, 0);
		pg_atomic_init_u64(&shared->relations[i].accesses, 0);
	}
	for (uint32 i = 0; i < shared->nbuckets; i++)
	{
		for (int way = 0; way < RH_WAYS; way++)
		{
			pg_atomic_init_u64(&shared->buckets[i].counts[way], 0);
			pg_atomic_init_u64(&shared->buckets[i].places[way], 0);
		}
	}
}

/*
 * Find the table, or create it.  Return false if there is none: the server is
 * older than 17 and has not preloaded the library, or has no memory for it.
 *
 * The caller may be any statement of an application, which must not fail if the
 * table cannot be created.  So report an error to the log, and do not try
 * again in this session.
 */
bool
rh_counts_attach(void)
{
#if PG_VERSION_NUM >= 170000
	if (rh_shared == NULL && !rh_failed)
	{
		MemoryContext context = CurrentMemoryContext;
		ResourceOwner owner = CurrentResourceOwner;

		rh_failed = true;
		BeginInternalSubTransaction(NULL);
		MemoryContextSwitchTo(context);
		PG_TRY();
		{
			char		name[NAMEDATALEN];

			/* another version of the library may have left another table */
			snprintf(name, sizeof(name), RH_NAME " 1/%zu", rh_shared_size());
			rh_shared = compat_shared_segment(name, rh_shared_size(), rh_shared_init);
			ReleaseCurrentSubTransaction();
			MemoryContextSwitchTo(context);
			CurrentResourceOwner = owner;
			rh_failed = false;
		}
		PG_CATCH();
		{
			ErrorData  *error;

			MemoryContextSwitchTo(context);
			error = CopyErrorData();
			FlushErrorState();
			RollbackAndReleaseCurrentSubTransaction();
			MemoryContextSwitchTo(context);
			CurrentResourceOwner = owner;
			if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
			{
				rh_failed = false;
				ReThrowError(error);
			}
			ereport(LOG,
					(errmsg("row_heat records nothing in this session: %s", error->message)));
			FreeErrorData(error);
		}
		PG_END_TRY();
	}
#endif

	return rh_shared != NULL;
}

/* Raise an error if there is no table. */
void
rh_require_counts(void)
{
	if (!rh_counts_attach())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("row_heat has no shared memory"),
				 errhint("Add row_heat to shared_preload_libraries.")));
	rh_counts_tick();
}

/*
 * Return what is left of a count of the period "then".  Another process may
 * have begun a period since this one has read its number.
 */
static uint64
rh_decayed(uint64 count, uint8 then, uint8 now)
{
	int			age = (int8) (now - then);

	if (age < 0)
		return age >= -RH_FORGOTTEN ? count : 0;

	return age >= RH_FORGOTTEN ? 0 : count >> age;
}

static uint8
rh_period(void)
{
	return (uint8) pg_atomic_read_u32(&rh_shared->period);
}

/* Return the heat that an entry has now. */
static RhHeat
rh_entry_heat(uint64 entry, uint8 now)
{
	uint8		then = (uint8) (entry >> RH_PERIOD_SHIFT);
	RhHeat		heat;

	heat.half[0] = (uint32) rh_decayed(entry & RH_HALF_MAX, then, now);
	heat.half[1] = (uint32) rh_decayed((entry >> RH_HALF_BITS) & RH_HALF_MAX, then, now);

	return heat;
}

/* Return the bits of a hash, or of an entry, that tell the rows of a bucket apart. */
static uint64
rh_row_bits(uint64 hash)
{
	return hash >> RH_ROW_SHIFT;
}

static uint64
rh_make_entry(uint64 row, uint8 now, RhHeat heat)
{
	return (row << RH_ROW_SHIFT) | ((uint64) now << RH_PERIOD_SHIFT) |
		((uint64) heat.half[1] << RH_HALF_BITS) | heat.half[0];
}

/* Return what is left of the accesses to a relation, times RH_ACCESS. */
static uint64
rh_relation_heat(uint64 accesses, uint8 now)
{
	return rh_decayed(accesses & ((UINT64CONST(1) << RH_RELATION_SHIFT) - 1),
					  (uint8) (accesses >> RH_RELATION_SHIFT), now);
}

static uint64
rh_make_relation(uint64 accesses, uint8 now)
{
	return ((uint64) now << RH_RELATION_SHIFT) | accesses;
}

/*
 * Bring all entries and relations up to date.  The number of a period has 8
 * bits.  Without this, an old entry would look new after 256 periods.
 */
static void
rh_sweep(uint8 now)
{
	for (Size i = 0; i < (Size) rh_shared->nbuckets * RH_WAYS; i++)
	{
		pg_atomic_uint64 *count = &rh_shared->buckets[i / RH_WAYS].counts[i % RH_WAYS];
		uint64		entry = pg_atomic_read_u64(count);
		RhHeat		heat = rh_entry_heat(entry, now);
		uint64		updated = 0;

		if (entry == 0)
			continue;
		if (rh_total(heat) > 0)
			updated = rh_make_entry(rh_row_bits(entry), now, heat);
		(void) pg_atomic_compare_exchange_u64(count, &entry, updated);
	}
	for (int i = 0; i < RH_RELATIONS; i++)
	{
		pg_atomic_uint64 *accesses = &rh_shared->relations[i].accesses;
		uint64		before = pg_atomic_read_u64(accesses);

		(void) pg_atomic_compare_exchange_u64(accesses, &before,
											  rh_make_relation(rh_relation_heat(before, now), now));
	}
}

/* Begin a new period if the present one is over. */
void
rh_counts_tick(void)
{
	TimestampTz now = GetCurrentTimestamp();
	uint64		next = pg_atomic_read_u64(&rh_shared->next_period);
	int64		length = rh_half_life * USECS_PER_SEC;
	int64		periods;
	uint32		before;

	if (now < (TimestampTz) next)
	{
		/* the half-life was longer, or the clock was wrong */
		if ((TimestampTz) next - now > length)
			(void) pg_atomic_compare_exchange_u64(&rh_shared->next_period, &next,
												  (uint64) (now + length));
		return;
	}
	/* only one process begins the period */
	if (!pg_atomic_compare_exchange_u64(&rh_shared->next_period, &next, (uint64) (now + length)))
		return;
	periods = Min(1 + (now - (TimestampTz) next) / length, RH_FORGOTTEN);
	before = pg_atomic_fetch_add_u32(&rh_shared->period, (uint32) periods);
	if ((before + periods) / RH_SWEEP != before / RH_SWEEP)
		rh_sweep(rh_period());
}

static RhBucket *
rh_bucket(uint64 hash)
{
	return &rh_shared->buckets[hash & (rh_shared->nbuckets - 1)];
}

static uint64
rh_make_place(int relation, ItemPointer tid)
{
	uint64		place = (uint64) (relation + 1) << RH_PLACE_SHIFT;

	if (ItemPointerIsValid(tid))
		place |= ((uint64) ItemPointerGetBlockNumber(tid) << 16) | ItemPointerGetOffsetNumber(tid);

	return place;
}

/*
 * Add accesses to one half of the heat of a row of the relation of that number.
 * The row is at this TID, or at an unknown place if the TID is not valid.
 */
void
rh_count(uint64 hash, int relation, ItemPointer tid, int half, int accesses)
{
	RhBucket   *bucket = rh_bucket(hash);
	uint64		row = rh_row_bits(hash);
	uint8		now = rh_period();
	uint32		added = (uint32) accesses * RH_ACCESS;
	uint64		coldest = 0;
	uint32		coldest_heat = PG_UINT32_MAX;
	int			way = 0;
	RhHeat		heat = {{0, 0}};

	for (int i = 0; i < RH_WAYS; i++)
	{
		uint64		entry = pg_atomic_read_u64(&bucket->counts[i]);
		RhHeat		present = rh_entry_heat(entry, now);
		uint32		sum = rh_total(present);

		if (entry != 0 && rh_row_bits(entry) == row)
		{
			coldest = entry;
			coldest_heat = 0;
			way = i;
			heat = present;
			break;
		}
		if (sum < coldest_heat)
		{
			coldest = entry;
			coldest_heat = sum;
			way = i;
		}
	}
	if (coldest_heat > 0 &&
		pg_prng_double(&pg_global_prng_state) * (coldest_heat + added) >= added)
		return;

	heat.half[half] = Min(heat.half[half] + added, RH_HALF_MAX);
	/* if another process was faster, lose this access */
	if (pg_atomic_compare_exchange_u64(&bucket->counts[way], &coldest,
									   rh_make_entry(row, now, heat)))
		pg_atomic_write_u64(&bucket->places[way], rh_make_place(relation, tid));
}

/* Store the new place of a row, if the row has an entry. */
void
rh_set_place(uint64 hash, int relation, ItemPointer tid)
{
	RhBucket   *bucket = rh_bucket(hash);

	for (int i = 0; i < RH_WAYS; i++)
	{
		uint64		entry = pg_atomic_read_u64(&bucket->counts[i]);

		if (entry != 0 && rh_row_bits(entry) == rh_row_bits(hash) &&
			pg_atomic_read_u64(&bucket->places[i]) >> RH_PLACE_SHIFT == (uint64) (relation + 1))
			pg_atomic_write_u64(&bucket->places[i], rh_make_place(relation, tid));
	}
}

/* Return the heat of a row of the relation of that number. */
RhHeat
rh_lookup(uint64 hash, int relation)
{
	RhBucket   *bucket = rh_bucket(hash);
	uint8		now = rh_period();
	RhHeat		none = {{0, 0}};

	for (int i = 0; i < RH_WAYS; i++)
	{
		uint64		entry = pg_atomic_read_u64(&bucket->counts[i]);

		if (entry != 0 && rh_row_bits(entry) == rh_row_bits(hash) &&
			pg_atomic_read_u64(&bucket->places[i]) >> RH_PLACE_SHIFT == (uint64) (relation + 1))
			return rh_entry_heat(entry, now);
	}

	return none;
}

/*
 * Store in rows[] at most "allocated" rows of the relation of that number that
 * have heat, and return their number.  If rows is null, count them only.
 */
static uint32
rh_find_rows_of(int relation, RhRow *rows, uint32 allocated)
{
	uint32		n = 0;
	uint8		now = rh_period();

	for (uint32 i = 0; i < rh_shared->nbuckets; i++)
	{
		RhBucket   *bucket = &rh_shared->buckets[i];

		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		for (int way = 0; way < RH_WAYS && n < allocated; way++)
		{
			uint64		entry = pg_atomic_read_u64(&bucket->counts[way]);
			uint64		place = pg_atomic_read_u64(&bucket->places[way]);
			RhHeat		heat;

			if (entry == 0 || place >> RH_PLACE_SHIFT != (uint64) (relation + 1))
				continue;
			heat = rh_entry_heat(entry, now);
			if (rh_total(heat) == 0)
				continue;
			if (rows != NULL)
			{
				rows[n].heat = heat;
				rows[n].row_bits = (uint16) rh_row_bits(entry);
				rows[n].bucket = i;
				ItemPointerSet(&rows[n].tid, (BlockNumber) (place >> 16), (OffsetNumber) place);
			}
			n++;
		}
	}

	return n;
}

/*
 * Return the rows of the relation that have heat, and set *n to their number.
 * The TID of a row is not valid if its place is unknown.
 */
RhRow *
rh_rows_of(Oid relid, uint32 *n)
{
	int			relation = rh_relation_number(relid, false);
	uint32		counted = relation < 0 ? 0 : rh_find_rows_of(relation, NULL, PG_UINT32_MAX);
	RhRow	   *rows = palloc_extended(Max(counted, 1) * sizeof(RhRow), MCXT_ALLOC_HUGE);

	/* leave out what other processes have added since */
	*n = counted == 0 ? 0 : rh_find_rows_of(relation, rows, counted);

	return rows;
}

/* Return what RhRelation.key is for a relation of this database. */
static uint64
rh_relation_key(Oid relid)
{
	return ((uint64) MyDatabaseId << 32) | relid;
}

/*
 * Return the number of a relation of this database.  If it has none and "create"
 * is true, take one that is free or has lost its heat.  Return -1 if there is
 * none.
 */
int
rh_relation_number(Oid relid, bool create)
{
	uint64		key = rh_relation_key(relid);
	uint32		start = murmurhash32(relid ^ murmurhash32(MyDatabaseId));

	for (int pass = 0; pass < (create ? 2 : 1); pass++)
	{
		for (int i = 0; i < RH_PROBES; i++)
		{
			int			number = (start + i) % RH_RELATIONS;
			RhRelation *relation = &rh_shared->relations[number];
			uint64		there = pg_atomic_read_u64(&relation->key);

			if (there == key)
				return number;
			if (pass == 0 ||
				(there != 0 &&
				 rh_relation_heat(pg_atomic_read_u64(&relation->accesses), rh_period()) > 0))
				continue;
			if (pg_atomic_compare_exchange_u64(&relation->key, &there, key))
			{
				/* not 0, so that no other relation takes the number */
				pg_atomic_write_u64(&relation->accesses, rh_make_relation(1, rh_period()));
				return number;
			}
			if (there == key)
				return number;
		}
	}

	return -1;
}

/*
 * Add accesses to the sum of the relation of that number, unless another one
 * has taken the number meanwhile.
 */
void
rh_count_relation(int number, Oid relid, int64 accesses)
{
	RhRelation *relation = &rh_shared->relations[number];
	uint64		before = pg_atomic_read_u64(&relation->accesses);
	uint64		after;
	uint8		now = rh_period();

	if (pg_atomic_read_u64(&relation->key) != rh_relation_key(relid))
		return;
	do
		after = rh_make_relation(rh_relation_heat(before, now) + (uint64) accesses * RH_ACCESS, now);
	while (!pg_atomic_compare_exchange_u64(&relation->accesses, &before, after));
}

/* Return true if a row whose key has this hash has the entry. */
bool
rh_is_row(const RhRow *row, uint64 hash)
{
	return (hash & (rh_shared->nbuckets - 1)) == row->bucket && rh_row_bits(hash) == row->row_bits;
}

/* qsort comparator of RhRow: by TID; rows at an unknown place come first */
int
rh_compare_tid(const void *a, const void *b)
{
	return ItemPointerCompare(unconstify(ItemPointerData *, &((const RhRow *) a)->tid),
							  unconstify(ItemPointerData *, &((const RhRow *) b)->tid));
}

/* Return the OIDs of the relations of this database that have heat. */
List *
rh_counted_relations(void)
{
	List	   *relids = NIL;

	for (int i = 0; i < RH_RELATIONS; i++)
	{
		RhRelation *relation = &rh_shared->relations[i];
		uint64		key = pg_atomic_read_u64(&relation->key);

		if ((Oid) (key >> 32) == MyDatabaseId &&
			rh_relation_heat(pg_atomic_read_u64(&relation->accesses), rh_period()) > 0)
			relids = lappend_oid(relids, (Oid) key);
	}

	return relids;
}

/* Return the number of sampled accesses to the rows of a relation, decayed. */
double
rh_relation_accesses(Oid relid)
{
	int			number = rh_relation_number(relid, false);

	if (number < 0)
		return 0;

	return floor((double) rh_relation_heat(pg_atomic_read_u64(&rh_shared->relations[number].accesses),
										   rh_period()) / RH_ACCESS);
}

/* Forget all heat, in all databases. */
void
rh_forget_all(void)
{
	for (int i = 0; i < RH_RELATIONS; i++)
		pg_atomic_write_u64(&rh_shared->relations[i].accesses, 0);
	for (Size i = 0; i < (Size) rh_shared->nbuckets * RH_WAYS; i++)
		pg_atomic_write_u64(&rh_shared->buckets[i / RH_WAYS].counts[i % RH_WAYS], 0);
}

static void
rh_shmem_request(void)
{
	if (rh_next_shmem_request)
		rh_next_shmem_request();
	RequestAddinShmemSpace(add_size(rh_shared_size(), PG_CACHE_LINE_SIZE));
}

/*
 * Read the table that the last shutdown has written, if there is one of the
 * same size.  Return false if there is none.
 */
static bool
rh_read_file(RhShared *shared)
{
	FILE	   *file = AllocateFile(RH_FILE, PG_BINARY_R);
	RhFileHeader header;
	bool		done = false;

	if (file == NULL)
	{
		if (errno != ENOENT)
			ereport(LOG,
					(errcode_for_file_access(),
					 errmsg("could not read file \"%s\": %m", RH_FILE)));
		return false;
	}
	if (fread(&header, sizeof(header), 1, file) == 1 &&
		memcmp(header.magic, rh_magic, sizeof(rh_magic)) == 0 && header.size == rh_shared_size())
		done = fread(shared, header.size, 1, file) == 1;
	/* no heat is forgotten while the server does not run */
	if (done)
	{
		int64		left = (int64) pg_atomic_read_u64(&shared->next_period);

		left = Max(0, Min(left, rh_half_life * USECS_PER_SEC));
		pg_atomic_write_u64(&shared->next_period, (uint64) (GetCurrentTimestamp() + left));
	}
	FreeFile(file);
	/* do not read it again after a crash */
	(void) unlink(RH_FILE);
	if (!done)
		ereport(LOG,
				(errmsg("file \"%s\" is ignored, because it is of another version or size", RH_FILE)));

	return done;
}

/* Exit callback of the postmaster: write the table to the file. */
static void
rh_shmem_shutdown(int code, Datum arg)
{
	RhFileHeader header;
	FILE	   *file;

	/* if the postmaster fails, do not delay its end */
	if (code != 0 || rh_shared == NULL)
		return;
	file = AllocateFile(RH_FILE ".tmp", PG_BINARY_W);
	if (file == NULL)
		goto error;
	memset(&header, 0, sizeof(header));
	memcpy(header.magic, rh_magic, sizeof(rh_magic));
	header.size = rh_shared_size();

	/*
	 * the time that is left of the period, instead of the time at which it
	 * ends
	 */
	pg_atomic_write_u64(&rh_shared->next_period,
						pg_atomic_read_u64(&rh_shared->next_period) - (uint64) GetCurrentTimestamp());
	if (fwrite(&header, sizeof(header), 1, file) != 1 ||
		fwrite(rh_shared, header.size, 1, file) != 1)
		goto error;
	if (FreeFile(file))
	{
		file = NULL;
		goto error;
	}
	(void) durable_rename(RH_FILE ".tmp", RH_FILE, LOG);
	return;

error:
	ereport(LOG,
			(errcode_for_file_access(),
			 errmsg("could not write file \"%s\": %m", RH_FILE ".tmp")));
	if (file)
		FreeFile(file);
	unlink(RH_FILE ".tmp");
}

static void
rh_shmem_startup(void)
{
	bool		found;

	if (rh_next_shmem_startup)
		rh_next_shmem_startup();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	rh_shared = ShmemInitStruct(RH_NAME, rh_shared_size(), &found);
	if (!found && !rh_read_file(rh_shared))
		rh_shared_init(rh_shared);
	rh_shared->nbuckets = rh_nbuckets();
	LWLockRelease(AddinShmemInitLock);

	if (!IsUnderPostmaster)
		on_shmem_exit(rh_shmem_shutdown, (Datum) 0);
}

/* Define the settings, and reserve the memory if the server preloads the library. */
void
rh_counts_init(void)
{
	rh_preloaded = process_shared_preload_libraries_in_progress;

	DefineCustomIntVariable("row_heat.memory",
							"Shared memory for the heat of rows.",
							"A row takes 16 bytes. The setting has an effect only if row_heat is in shared_preload_libraries.",
							&rh_memory,
							RH_DEFAULT_MEMORY, 64, 1024 * 1024,
							rh_preloaded ? PGC_POSTMASTER : PGC_SIGHUP,
							GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable("row_heat.half_life",
							"Time after which half of the heat of a row is forgotten.",
							NULL,
							&rh_half_life,
							SECS_PER_DAY, 1, INT_MAX / 1000,
							PGC_SIGHUP, GUC_UNIT_S, NULL, NULL, NULL);

	if (rh_preloaded)
	{
		rh_next_shmem_request = shmem_request_hook;
		shmem_request_hook = rh_shmem_request;
		rh_next_shmem_startup = shmem_startup_hook;
		shmem_startup_hook = rh_shmem_startup;
	}
}
