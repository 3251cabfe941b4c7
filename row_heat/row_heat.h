/*-------------------------------------------------------------------------
 *
 * row_heat.h
 *	  What the files of row_heat share.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  row_heat/row_heat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROW_HEAT_H
#define ROW_HEAT_H

#include "access/attnum.h"
#include "executor/tuptable.h"
#include "utils/rel.h"

/*
 * The accesses to a row.  Those of a transaction are added to one of the two
 * halves, by a hash, so that the halves are independent samples: one half can
 * choose the hottest rows, and the other one can tell how hot they are.
 */
typedef struct RhHeat
{
	uint32		half[2];
} RhHeat;

/* Return the heat of both halves. */
static inline uint32
rh_total(RhHeat heat)
{
	return heat.half[0] + heat.half[1];
}

/* Unit of RhHeat: one sampled access.  Decay leaves fractions of it. */
#define RH_ACCESS	4

/* The columns that identify a row of a table */
typedef struct RhKey
{
	Oid			index;			/* whose columns they are */
	Oid			relid;
	uint64		seed;			/* rh_key_seed(relid) */
	int			natts;
	AttrNumber	attnums[INDEX_MAX_KEYS];
} RhKey;

/* A row with heat, and the place at which it was seen last */
typedef struct RhRow
{
	RhHeat		heat;
	ItemPointerData tid;
	uint16		row_bits;		/* of the hash of its key */
	uint32		bucket;			/* the same */
} RhRow;

/* row_heat_counts.c */
extern void rh_counts_init(void);
extern bool rh_counts_attach(void);
extern void rh_require_counts(void);
extern void rh_counts_tick(void);
extern int	rh_relation_number(Oid relid, bool create);
extern void rh_count(uint64 hash, int relation, ItemPointer tid, int half, int accesses);
extern void rh_set_place(uint64 hash, int relation, ItemPointer tid);
extern void rh_count_relation(int number, Oid relid, int64 accesses);
extern RhHeat rh_lookup(uint64 hash, int relation);
extern RhRow *rh_rows_of(Oid relid, uint32 *n);
extern bool rh_is_row(const RhRow *row, uint64 hash);
extern int	rh_compare_tid(const void *a, const void *b);
extern List *rh_counted_relations(void);
extern double rh_relation_accesses(Oid relid);
extern void rh_forget_all(void);

/* row_heat_key.c */
extern bool rh_is_recorded(Relation rel);
extern bool rh_key_init(RhKey *key, Relation rel);
extern uint64 rh_key_seed(Oid relid);
extern uint64 rh_key_add(uint64 hash, Datum value, bool isnull, int16 typlen, bool typbyval);
extern uint64 rh_key_hash(const RhKey *key, TupleTableSlot *slot);

/* row_heat_record.c */
extern void rh_record_init(void);

#endif							/* ROW_HEAT_H */
