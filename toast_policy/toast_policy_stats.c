/*-------------------------------------------------------------------------
 *
 * toast_policy_stats.c
 *	  Count for each table the values that the policy examined, by outcome.
 *
 * A backend counts in its own hash table.  When a transaction ends, the
 * backend adds the counts to the shared table.  The backend also adds the
 * counts of an aborted transaction, because that transaction compressed
 * values, too.  The shared table has a fixed number of places.  When all
 * places are taken, further tables share one place, which the view shows
 * without a name.
 *
 * From 17 on, the shared table needs no preloading.  Before 17, it exists only
 * if the library is in shared_preload_libraries; otherwise the view shows the
 * counts of the session itself.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_stats.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/hsearch.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "toast_policy.h"
#include "toast_policy_compat.h"

PG_FUNCTION_INFO_V1(tp_stats_rows);
PG_FUNCTION_INFO_V1(tp_reset_stats);

/* Name of the shared memory and of its lock; wait events show this name */
#define TP_STATS_NAME		"toast_policy statistics"

/* Number of tables that are counted separately, in all databases together */
#define TP_STATS_PLACES		1024

typedef struct TpStatsKey
{
	Oid			dbid;			/* InvalidOid: the place is free */
	Oid			relid;			/* InvalidOid: tables without a place */
} TpStatsKey;

typedef struct TpStatsEntry
{
	TpStatsKey	key;			/* must be first */
	int64		outcomes[TP_ABORTED + 1];
	int64		bytes_in;
	int64		bytes_out;
} TpStatsEntry;

/* The shared table.  The first entry after the places is for all other tables. */
typedef struct TpStatsShared
{
	LWLock		lock;
	TimestampTz reset;
	TpStatsEntry entries[TP_STATS_PLACES + 1];
} TpStatsShared;

static TpStatsShared *tp_shared = NULL;
static HTAB *tp_pending = NULL;
static TpStatsEntry *tp_last_entry = NULL;	/* of tp_pending */
static TimestampTz tp_session_reset;
static bool tp_stats_changed = false;

static shmem_request_hook_type tp_next_shmem_request_hook = NULL;
static shmem_startup_hook_type tp_next_shmem_startup_hook = NULL;

/* Initialize the shared table, when the server starts or when it is first needed. */
static void
tp_stats_init_shared(void *pointer)
{
	TpStatsShared *shared = pointer;

	memset(shared, 0, sizeof(TpStatsShared));
	LWLockInitialize(&shared->lock, compat_new_tranche(TP_STATS_NAME));
	shared->reset = GetCurrentTimestamp();
}

/* Find the shared table, if there is one. */
static void
tp_stats_attach(void)
{
	if (tp_shared == NULL)
	{
		char		name[NAMEDATALEN];

		/*
		 * The name contains the size, because another version of the library
		 * may have left a table of another size.
		 */
		snprintf(name, sizeof(name), TP_STATS_NAME " 1/%zu",
				 sizeof(TpStatsShared));
		tp_shared = compat_shared_segment(name, sizeof(TpStatsShared),
										  tp_stats_init_shared);
		if (tp_shared != NULL)
			compat_name_tranche(tp_shared->lock.tranche, TP_STATS_NAME);
	}
}

/* Add the counts of one entry to the counts of another entry. */
static void
tp_stats_add(TpStatsEntry *to, const TpStatsEntry *from)
{
	for (int i = 0; i <= TP_ABORTED; i++)
		to->outcomes[i] += from->outcomes[i];
	to->bytes_in += from->bytes_in;
	to->bytes_out += from->bytes_out;
}

/* Return the place where the search for a table begins. */
static uint32
tp_stats_start(TpStatsKey key)
{
	return (key.relid ^ (key.dbid * 2654435761U)) % TP_STATS_PLACES;
}

/*
 * Return the place of a table.  If the table has none, give it a free place.
 * If no place is free, return the common one.  The caller must hold the lock.
 */
static TpStatsEntry *
tp_stats_place(TpStatsKey key)
{
	uint32		start = tp_stats_start(key);

	for (uint32 i = 0; i < TP_STATS_PLACES; i++)
	{
		TpStatsEntry *entry = &tp_shared->entries[(start + i) % TP_STATS_PLACES];

		if (!OidIsValid(entry->key.dbid))
			entry->key = key;
		if (entry->key.dbid == key.dbid && entry->key.relid == key.relid)
			return entry;
	}

	return &tp_shared->entries[TP_STATS_PLACES];
}

/*
 * Free a place.  Move up the entries that were put into later places because
 * this place was taken.  The caller must hold the lock.
 */
static void
tp_stats_free(uint32 place)
{
	TpStatsEntry *entries = tp_shared->entries;
	uint32		next = place;

	for (;;)
	{
		next = (next + 1) % TP_STATS_PLACES;
		if (next == place || !OidIsValid(entries[next].key.dbid))
			break;
		/* move the entry if the search for its table passes the free place */
		if ((next + TP_STATS_PLACES - tp_stats_start(entries[next].key)) % TP_STATS_PLACES >=
			(next + TP_STATS_PLACES - place) % TP_STATS_PLACES)
		{
			entries[place] = entries[next];
			place = next;
		}
	}
	memset(&entries[place], 0, sizeof(TpStatsEntry));
}

/* Free the place of a table that is dropped, if the table has one. */
void
tp_stats_forget(Oid relid)
{
	TpStatsKey	key = {MyDatabaseId, relid};

	tp_last_entry = NULL;
	if (tp_pending != NULL)
		hash_search(tp_pending, &key, HASH_REMOVE, NULL);
	if (tp_shared == NULL)
		return;

	LWLockAcquire(&tp_shared->lock, LW_EXCLUSIVE);
	for (uint32 i = 0; i < TP_STATS_PLACES; i++)
	{
		uint32		place = (tp_stats_start(key) + i) % TP_STATS_PLACES;
		TpStatsEntry *entry = &tp_shared->entries[place];

		if (!OidIsValid(entry->key.dbid))
			break;
		if (entry->key.dbid == key.dbid && entry->key.relid == key.relid)
		{
			tp_stats_free(place);
			break;
		}
	}
	LWLockRelease(&tp_shared->lock);
}

/*
 * Add the backend's counts to the shared table.  Raise no error, since the
 * transaction may have been committed.
 */
static void
tp_stats_flush(void)
{
	HASH_SEQ_STATUS status;
	TpStatsEntry *entry;

	if (!tp_stats_changed || tp_shared == NULL)
		return;

	LWLockAcquire(&tp_shared->lock, LW_EXCLUSIVE);
	hash_seq_init(&status, tp_pending);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		tp_stats_add(tp_stats_place(entry->key), entry);
		hash_search(tp_pending, &entry->key, HASH_REMOVE, NULL);
	}
	LWLockRelease(&tp_shared->lock);
	tp_last_entry = NULL;
	tp_stats_changed = false;
}

static void
tp_stats_xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			tp_stats_flush();
			break;
		default:
			break;
	}
}

/* Count one value, with its sizes in bytes before and after the decision. */
void
tp_stats_count(Oid relid, TpOutcome outcome, int32 bytes_in, int32 bytes_out)
{
	TpStatsKey	key = {MyDatabaseId, relid};
	TpStatsEntry *entry;
	bool		found;

	if (tp_pending == NULL)
	{
		HASHCTL		info = {0};

		info.keysize = sizeof(TpStatsKey);
		info.entrysize = sizeof(TpStatsEntry);
		tp_pending = hash_create(TP_STATS_NAME, 16, &info,
								 HASH_ELEM | HASH_BLOBS);
		tp_session_reset = GetCurrentTimestamp();
		RegisterXactCallback(tp_stats_xact_callback, NULL);
	}
	tp_stats_attach();

	/*
	 * Remember the table, because the next value usually belongs to the same
	 * table.
	 */
	if (tp_last_entry == NULL || tp_last_entry->key.relid != relid)
	{
		tp_last_entry = hash_search(tp_pending, &key, HASH_ENTER, &found);
		if (!found)
			memset((char *) tp_last_entry + sizeof(TpStatsKey), 0,
				   sizeof(TpStatsEntry) - sizeof(TpStatsKey));
	}
	entry = tp_last_entry;
	entry->outcomes[outcome]++;
	entry->bytes_in += bytes_in;
	entry->bytes_out += bytes_out;
	tp_stats_changed = true;
}

/* Add the row of one entry to the result, unless its counts are zero. */
static void
tp_stats_put_row(ReturnSetInfo *rsinfo, const TpStatsEntry *entry,
				 TimestampTz reset)
{
	Datum		values[8];
	bool		nulls[8] = {0};
	int64		seen = 0;

	for (int i = 0; i <= TP_ABORTED; i++)
		seen += entry->outcomes[i];
	if (seen == 0)
		return;

	values[0] = ObjectIdGetDatum(entry->key.relid);
	nulls[0] = !OidIsValid(entry->key.relid);
	values[1] = Int64GetDatum(seen);
	values[2] = Int64GetDatum(entry->outcomes[TP_COMPRESSED]);
	values[3] = Int64GetDatum(entry->outcomes[TP_KEPT_RAW]);
	values[4] = Int64GetDatum(entry->outcomes[TP_ABORTED]);
	values[5] = Int64GetDatum(entry->bytes_in);
	values[6] = Int64GetDatum(entry->bytes_out);
	values[7] = TimestampTzGetDatum(reset);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * toast_policy.stats_rows() returns setof record
 *
 * Return one row for each table of the database: the number of values seen,
 * compressed, kept raw, and given up early; their bytes before and after; and
 * the start of counting.
 */
Datum
tp_stats_rows(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	tp_stats_attach();

	if (tp_shared != NULL)
	{
		TpStatsShared *copy = palloc(sizeof(TpStatsShared));

		/* include the counts of the current transaction */
		tp_stats_flush();
		LWLockAcquire(&tp_shared->lock, LW_SHARED);
		memcpy(copy, tp_shared, sizeof(TpStatsShared));
		LWLockRelease(&tp_shared->lock);
		for (int i = 0; i <= TP_STATS_PLACES; i++)
		{
			TpStatsKey	key = copy->entries[i].key;

			/*
			 * A session that had not loaded the library may have dropped the
			 * table.
			 */
			if (key.dbid == MyDatabaseId && OidIsValid(key.relid) &&
				!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(key.relid)))
				tp_stats_forget(key.relid);
			else if (key.dbid == MyDatabaseId || i == TP_STATS_PLACES)
				tp_stats_put_row(rsinfo, &copy->entries[i], copy->reset);
		}
		pfree(copy);
	}
	else if (tp_pending != NULL)
	{
		HASH_SEQ_STATUS status;
		TpStatsEntry *entry;

		hash_seq_init(&status, tp_pending);
		while ((entry = hash_seq_search(&status)) != NULL)
			tp_stats_put_row(rsinfo, entry, tp_session_reset);
	}

	PG_RETURN_NULL();
}

/*
 * toast_policy.reset_stats() returns void
 *
 * Set the counts of all tables, in all databases, to zero.
 */
Datum
tp_reset_stats(PG_FUNCTION_ARGS)
{
	HASH_SEQ_STATUS status;
	TpStatsEntry *entry;

	tp_stats_attach();
	if (tp_pending != NULL)
	{
		hash_seq_init(&status, tp_pending);
		while ((entry = hash_seq_search(&status)) != NULL)
			hash_search(tp_pending, &entry->key, HASH_REMOVE, NULL);
		tp_last_entry = NULL;
		tp_session_reset = GetCurrentTimestamp();
		tp_stats_changed = false;
	}
	if (tp_shared != NULL)
	{
		LWLockAcquire(&tp_shared->lock, LW_EXCLUSIVE);
		memset(tp_shared->entries, 0, sizeof(tp_shared->entries));
		tp_shared->reset = GetCurrentTimestamp();
		LWLockRelease(&tp_shared->lock);
	}

	PG_RETURN_VOID();
}

static void
tp_stats_shmem_request(void)
{
	if (tp_next_shmem_request_hook)
		tp_next_shmem_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(TpStatsShared)));
}

static void
tp_stats_shmem_startup(void)
{
	bool		found;

	if (tp_next_shmem_startup_hook)
		tp_next_shmem_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	tp_shared = ShmemInitStruct(TP_STATS_NAME, sizeof(TpStatsShared),
								&found);
	if (!found)
		tp_stats_init_shared(tp_shared);
	LWLockRelease(AddinShmemInitLock);
	compat_name_tranche(tp_shared->lock.tranche, TP_STATS_NAME);
}

/* Called when the library is loaded. */
void
tp_stats_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;

	tp_next_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = tp_stats_shmem_request;
	tp_next_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = tp_stats_shmem_startup;
}
