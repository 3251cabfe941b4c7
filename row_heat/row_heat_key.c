/*-------------------------------------------------------------------------
 *
 * row_heat_key.c
 *	  The key under which a row has heat: a hash of its primary key.
 *
 * An update, CLUSTER and VACUUM FULL change the TID of a row.  The primary key
 * stays.  So row_heat can follow a row that is updated with each access, and
 * the heat outlives the rewrite that it is made for.
 *
 * The hash is taken from the bytes of the values, not from their equality: it
 * need not be the same for two equal values of different bytes, since a row has
 * only one of them.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  row_heat/row_heat_key.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "row_heat.h"
#include "row_heat_compat.h"

/* Return true if accesses to the rows of the relation are recorded. */
bool
rh_is_recorded(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_RELATION &&
		rel->rd_rel->relpersistence != RELPERSISTENCE_TEMP &&
		RelationGetRelid(rel) >= FirstNormalObjectId;
}

/*
 * Keys that were used last, each at a place that a hash of its index chooses.
 * An index with this OID has the same columns as long as it exists, so no key
 * becomes invalid.
 */
#define RH_KEYS			32

static RhKey rh_keys[RH_KEYS];

/*
 * Set *key to the columns of the primary key of the relation, or else of the
 * index that is its replica identity.  Return false if it has neither.  Lock no
 * index, because the caller may be a statement of an application.
 */
bool
rh_key_init(RhKey *key, Relation rel)
{
	Oid			index = compat_primary_key(rel);
	RhKey	   *last;
	HeapTuple	tuple;
	Form_pg_index form;

	if (!OidIsValid(index))
		index = RelationGetReplicaIndex(rel);
	if (!OidIsValid(index))
		return false;
	last = &rh_keys[murmurhash32(index) % RH_KEYS];
	if (last->index == index && last->relid == RelationGetRelid(rel))
	{
		*key = *last;
		return true;
	}

	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_index) GETSTRUCT(tuple);
	memset(key, 0, sizeof(RhKey));
	key->index = index;
	key->relid = RelationGetRelid(rel);
	key->seed = rh_key_seed(key->relid);
	key->natts = form->indnkeyatts;
	for (int i = 0; i < key->natts; i++)
	{
		key->attnums[i] = form->indkey.values[i];
		Assert(key->attnums[i] > 0);
	}
	ReleaseSysCache(tuple);
	*last = *key;

	return true;
}

/* Return the hash with which the hash of a row of the relation begins. */
uint64
rh_key_seed(Oid relid)
{
	return hash_combine64(hash_bytes_uint32_extended(relid, 0), MyDatabaseId);
}

/*
 * Add a value to the hash.  Do not fetch a value that is stored out of line:
 * its pointer stays the same as long as the value does.
 */
uint64
rh_key_add(uint64 hash, Datum value, bool isnull, int16 typlen, bool typbyval)
{
	if (isnull)
		return hash_combine64(hash, 0);
	if (typbyval)
		return hash_bytes_extended((unsigned char *) &value, sizeof(Datum), hash);
	if (typlen == -1)
	{
		struct varlena *pointer = (struct varlena *) DatumGetPointer(value);

		if (VARATT_IS_EXTERNAL(pointer))
			return hash_bytes_extended((unsigned char *) pointer, VARSIZE_EXTERNAL(pointer), hash);

		return hash_bytes_extended((unsigned char *) VARDATA_ANY(pointer),
								   VARSIZE_ANY_EXHDR(pointer), hash);
	}
	if (typlen == -2)
		return hash_bytes_extended((unsigned char *) DatumGetCString(value),
								   strlen(DatumGetCString(value)), hash);

	return hash_bytes_extended((unsigned char *) DatumGetPointer(value), typlen, hash);
}

/* Return the hash of the row in the slot. */
uint64
rh_key_hash(const RhKey *key, TupleTableSlot *slot)
{
	uint64		hash = key->seed;

	for (int i = 0; i < key->natts; i++)
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, key->attnums[i], &isnull);
		Form_pg_attribute att = TupleDescAttr(slot->tts_tupleDescriptor, key->attnums[i] - 1);

		hash = rh_key_add(hash, value, isnull, att->attlen, att->attbyval);
	}

	return hash;
}
