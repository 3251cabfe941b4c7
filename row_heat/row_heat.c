/*-------------------------------------------------------------------------
 *
 * row_heat.c
 *	  Record which rows are hot, and store hot rows together.
 *
 * In most tables, few rows take most accesses.  If these rows are scattered,
 * each page has one of them, and memory holds mostly rows that nobody needs.
 *
 * row_heat_record.c sees the rows that statements use, row_heat_counts.c counts
 * them, and row_heat_estimate.c tells what a table would gain.  row_heat_move.c
 * moves hot rows together while the table is in use, and the SQL function
 * row_heat.cluster_by_heat() rewrites the table in the order of heat.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  row_heat/row_heat.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "bundle_compat.h"
#include "row_heat.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

PG_FUNCTION_INFO_V1(rh_rank);
PG_FUNCTION_INFO_V1(rh_key_columns);
PG_FUNCTION_INFO_V1(rh_refresh_places);
PG_FUNCTION_INFO_V1(rh_reset);

/* The rank of a row without heat */
#define RH_COLD			PG_INT16_MAX

/* Module load callback: define the settings and install the hook. */
void
_PG_init(void)
{
	rh_counts_init();
	rh_record_init();
	MarkGUCPrefixReserved("row_heat");
}

/* Raise an error unless the relation is a table that the user owns. */
static void
rh_require_owner(Oid relid)
{
	if (get_rel_relkind(relid) != RELKIND_RELATION ||
		!compat_relation_ownercheck(relid, GetUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be owner of the table to use the heat of its rows")));
}

/*
 * row_heat_internal.rank(relation oid, VARIADIC key "any") returns smallint
 *
 * Return the place of a row in the order of heat: the hottest rows have the
 * smallest numbers, and a row without recorded accesses has 32767.  Rows whose
 * numbers of accesses are at most a factor of the square root of 2 apart may
 * have the same rank.
 *
 * The function is declared immutable, so that an index for CLUSTER can be built
 * on it, although heat changes.  The index is dropped afterwards.
 */
Datum
rh_rank(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	uint64		hash = rh_key_seed(relid);
	RhHeat		heat;
	uint32		sum;
	int			relation;

	rh_require_owner(relid);
	if (!rh_counts_attach() || (relation = rh_relation_number(relid, false)) < 0)
		PG_RETURN_INT16(RH_COLD);
	for (int i = 1; i < PG_NARGS(); i++)
	{
		int16		typlen;
		bool		typbyval;

		get_typlenbyval(get_fn_expr_argtype(fcinfo->flinfo, i), &typlen, &typbyval);
		hash = rh_key_add(hash, PG_ARGISNULL(i) ? (Datum) 0 : PG_GETARG_DATUM(i),
						  PG_ARGISNULL(i), typlen, typbyval);
	}
	heat = rh_lookup(hash, relation);
	sum = rh_total(heat);
	if (sum == 0)
		PG_RETURN_INT16(RH_COLD);

	PG_RETURN_INT16((int16) (64 - floor(2 * log2((double) sum))));
}

/*
 * row_heat_internal.key_columns(relation regclass) returns smallint[]
 *
 * Return the numbers of the columns under which the heat of rows is recorded, or
 * null if the table has no key.  Only the owner may call the function.
 */
Datum
rh_key_columns(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Datum		columns[INDEX_MAX_KEYS];
	Relation	rel;
	RhKey		key;
	bool		found;

	rh_require_owner(relid);
	rel = table_open(relid, AccessShareLock);
	found = rh_key_init(&key, rel);
	table_close(rel, AccessShareLock);
	if (!found)
		PG_RETURN_NULL();
	for (int i = 0; i < key.natts; i++)
		columns[i] = Int16GetDatum(key.attnums[i]);

	PG_RETURN_ARRAYTYPE_P(construct_array(columns, key.natts, INT2OID,
										  sizeof(int16), true, TYPALIGN_SHORT));
}

/*
 * row_heat_internal.refresh_places(relation regclass) returns void
 *
 * Read the whole table, and store the places that its rows have now, after the
 * table was rewritten.  Only the owner may call the function.
 */
Datum
rh_refresh_places(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	int			relation;
	Relation	rel;
	RhKey		key;

	rh_require_owner(relid);
	rh_require_counts();
	relation = rh_relation_number(relid, false);
	rel = table_open(relid, AccessShareLock);
	if (relation >= 0 && rh_is_recorded(rel) && rh_key_init(&key, rel))
	{
		TableScanDesc scan = compat_beginscan(rel, GetActiveSnapshot());
		TupleTableSlot *slot = table_slot_create(rel, NULL);

		while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
		{
			CHECK_FOR_INTERRUPTS();
			rh_set_place(rh_key_hash(&key, slot), relation, &slot->tts_tid);
		}
		ExecDropSingleTupleTableSlot(slot);
		table_endscan(scan);
	}
	table_close(rel, AccessShareLock);

	PG_RETURN_VOID();
}

/*
 * row_heat.reset() returns void
 *
 * Forget the heat of all rows, in all databases.
 */
Datum
rh_reset(PG_FUNCTION_ARGS)
{
	if (rh_counts_attach())
		rh_forget_all();

	PG_RETURN_VOID();
}
