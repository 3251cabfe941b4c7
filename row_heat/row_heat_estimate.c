/*-------------------------------------------------------------------------
 *
 * row_heat_estimate.c
 *	  Estimate how much less memory the hot rows of a table would take.
 *
 * A row that was accessed more often than another one in a sample need not be
 * hotter: with few samples, the rows of any table look unevenly hot.  So the
 * heat of a row consists of two independent halves.  Let one half choose the
 * hottest rows, and the other half say how many accesses these rows take, then
 * exchange the halves and take the mean.  If all rows are equally hot, the
 * hottest tenth gets a tenth of the accesses, however few accesses there are.
 *
 * The sum of the recorded accesses of a table includes those to rows that have
 * no entry, because there are more rows than entries.  Assume that they are
 * spread evenly over all rows.
 *
 * Only the table of heat is read, no page of the relation.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  row_heat/row_heat_estimate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "bundle_compat.h"
#include "row_heat.h"
#include "row_heat_estimate.h"

PG_FUNCTION_INFO_V1(rh_relations);

const double rh_row_shares[RH_SHARES] = {0.01, 0.05, 0.10, 0.30};

/*
 * Shares of the accesses that the hot rows may take.  If few rows take 70 % of
 * the accesses and all others are cold, the rows of 90 % fill most of the
 * table, and the gain does not show.  So take the share at which most pages are
 * saved.
 */
static const double rh_hot_shares[] = {0.9, 0.8, 0.7, 0.6, 0.5};

/*
 * It pays to store the hot rows together if they fill at most this part of their
 * pages.  If the table of heat is too small, rows that happened to be accessed
 * more often than others keep their entries, and look hot in both halves.  So
 * subtract RH_DISTRUST times the share of the accesses whose rows have no entry.
 */
#define RH_WORTHWHILE		0.8
#define RH_DISTRUST			0.5

/*
 * Beside pages that are packed, the hot rows may take a small part of the
 * accesses.  It pays to move them if this saves so many pages, and if they take
 * so many of the recorded accesses, and such a part of those to the whole table.
 */
static const double rh_loose_shares[] = {0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1};

#define RH_LOOSE_PAGES		2
#define RH_LOOSE_ACCESSES	100
#define RH_LOOSE_PART		0.01

/* A packed page is one of hot rows if it has so many times the mean heat */
#define RH_HOT				4

/* Let both halves choose */
#define RH_BOTH				(-1)

/* The rows, or the pages, of a table */
typedef struct RhMembers
{
	RhHeat	   *heats;			/* of those with an entry */
	uint32		n;				/* their number */
	double		total;			/* number of all, those without an entry
								 * included */
	double		spread;			/* what each of them has in addition, per half */
} RhMembers;

/* qsort_arg comparator: put the hotter one first, by the half *arg */
static int
rh_compare(const void *a, const void *b, void *arg)
{
	int			half = *(int *) arg;
	uint32		left = ((const RhHeat *) a)->half[half];
	uint32		right = ((const RhHeat *) b)->half[half];

	return left < right ? 1 : (left > right ? -1 : 0);
}

/*
 * A walk through groups of members that are equal in the half that chooses.
 * They have no order among them, so let each of them have the mean of the group.
 */
typedef struct RhWalk
{
	const RhMembers *members;
	int			chosen_by;
	uint32		next;
	double		begin;			/* number of members before the group */
	double		end;			/* the same, with the group */
	double		accesses;		/* of the group, in the other half */
	double		seen;			/* accesses before the group */
} RhWalk;

/* Go to the next group.  Return false after the last one. */
static bool
rh_next_group(RhWalk *walk)
{
	const RhMembers *members = walk->members;
	int			half = walk->chosen_by;
	uint32		heat;

	walk->seen += walk->accesses;
	walk->begin = walk->end;
	walk->accesses = 0;
	if (walk->begin >= members->total)
		return false;
	heat = walk->next < members->n ? members->heats[walk->next].half[half] : 0;
	while (walk->next < members->n && members->heats[walk->next].half[half] == heat)
		walk->accesses += members->heats[walk->next++].half[1 - half];
	/* members without an entry come last, with those that have 0 */
	walk->end = heat == 0 ? members->total : walk->next;
	walk->accesses += (walk->end - walk->begin) * members->spread;

	return true;
}

/* Return how many of the hottest members take the part "hot" of all accesses. */
static double
rh_members_for(const RhMembers *members, int chosen_by, double sum, double hot)
{
	RhWalk		walk = {.members = members,.chosen_by = chosen_by};
	double		wanted = hot * (sum + members->total * members->spread);

	while (rh_next_group(&walk))
	{
		if (walk.seen + walk.accesses >= wanted && walk.accesses > 0)
			return walk.begin + (walk.end - walk.begin) * (wanted - walk.seen) / walk.accesses;
	}

	return members->total;
}

/* Return which part of all accesses the hottest members take that are "part" of all. */
static double
rh_accesses_of(const RhMembers *members, int chosen_by, double sum, double part)
{
	RhWalk		walk = {.members = members,.chosen_by = chosen_by};
	double		wanted = part * members->total;

	while (rh_next_group(&walk))
	{
		if (walk.end >= wanted)
			return (walk.seen + walk.accesses * (wanted - walk.begin) / (walk.end - walk.begin)) /
				(sum + members->total * members->spread);
	}

	return 1.0;
}

/*
 * Return the end of the rows that are in the same page as rows[begin].  The rows
 * are in the order of their TIDs.  Those at an unknown place come first, and are
 * taken for a page of their own.
 */
uint32
rh_end_of_page(const RhRow *rows, uint32 n, uint32 begin)
{
	uint32		end = begin + 1;

	while (end < n &&
		   ItemPointerGetBlockNumberNoCheck(&rows[end].tid) == ItemPointerGetBlockNumberNoCheck(&rows[begin].tid) &&
		   ItemPointerIsValid(&rows[end].tid) == ItemPointerIsValid(&rows[begin].tid))
		end++;

	return end;
}

/*
 * Return true if the page of these rows is packed: its heat is spread over at
 * least half of its rows.  The square of the sum, divided by the sum of the
 * squares, is the number of rows if all are equally hot, and 1 if only one of
 * them is hot.  Counts differ by chance: if rows are equally hot, the variance of
 * their counts is the mean.  So subtract each count from its square.  Look at the
 * heat of one half, or at that of RH_BOTH.  Set *sum to the heat of the page.
 */
static bool
rh_is_spread(const RhRow *rows, uint32 n, int half, double rows_in_page, double *sum)
{
	double		squares = 0;

	*sum = 0;
	for (uint32 i = 0; i < n; i++)
	{
		double		heat = half == RH_BOTH ? rh_total(rows[i].heat) : rows[i].heat.half[half];

		*sum += heat;
		squares += heat * Max(heat - RH_ACCESS, 0);
	}

	return *sum > 0 && *sum * *sum >= squares * rows_in_page / 2;
}

/*
 * Drop the rows of pages that are packed.  Return the last of these pages that
 * has hot rows: new pages are added at the end, so it may have room.  *whole is
 * the estimate of the whole table.
 */
BlockNumber
rh_drop_packed(RhRow *rows, uint32 *n, const RhEstimate *whole)
{
	double		rows_in_page = whole->rows / whole->pages;
	BlockNumber last = InvalidBlockNumber;
	uint32		kept = 0;

	qsort(rows, *n, sizeof(RhRow), rh_compare_tid);
	for (uint32 begin = 0, end; begin < *n; begin = end)
	{
		double		heat;

		end = rh_end_of_page(rows, *n, begin);
		if (ItemPointerIsValid(&rows[begin].tid) &&
			rh_is_spread(&rows[begin], end - begin, RH_BOTH, rows_in_page, &heat))
		{
			if (heat * whole->pages >= RH_HOT * whole->accesses * RH_ACCESS &&
				ItemPointerGetBlockNumber(&rows[begin].tid) < whole->pages)
				last = ItemPointerGetBlockNumber(&rows[begin].tid);
		}
		else
		{
			for (uint32 i = begin; i < end; i++)
				rows[kept++] = rows[i];
		}
	}
	*n = kept;

	return last;
}

/*
 * Fill both arrays of members with the heat of the rows, and with that of their
 * pages.  The rows are in the order of their TIDs.  If "half" is not RH_BOTH,
 * leave out pages that this half shows to be packed, and return their number.
 */
static double
rh_add_up(const RhRow *found, uint32 n, int half, double rows_in_page, RhMembers *rows, RhMembers *pages)
{
	uint32		blocks = 0;
	double		packed = 0;
	double		heat;

	for (uint32 begin = 0; begin < n; begin = rh_end_of_page(found, n, begin))
		blocks++;
	rows->heats = palloc_extended(Max(n, 1) * sizeof(RhHeat), MCXT_ALLOC_HUGE);
	pages->heats = palloc_extended(Max(blocks, 1) * sizeof(RhHeat), MCXT_ALLOC_HUGE);
	for (uint32 begin = 0, end; begin < n; begin = end)
	{
		bool		known = ItemPointerIsValid(&found[begin].tid);
		RhHeat		page = {{0, 0}};

		end = rh_end_of_page(found, n, begin);
		if (half != RH_BOTH)
		{
			/* rows at an unknown place may be in packed pages */
			if (!known)
				continue;
			if (rh_is_spread(&found[begin], end - begin, half, rows_in_page, &heat))
			{
				packed++;
				continue;
			}
		}
		for (uint32 i = begin; i < end; i++)
		{
			rows->heats[rows->n++] = found[i].heat;
			page.half[0] += found[i].heat.half[0];
			page.half[1] += found[i].heat.half[1];
		}
		if (known)
			pages->heats[pages->n++] = page;
	}

	return packed;
}

/* Return the sum of the heat of the members in one half. */
static double
rh_sum(const RhMembers *members, int half)
{
	double		sum = 0;

	for (uint32 i = 0; i < members->n; i++)
		sum += members->heats[i].half[half];

	return sum;
}

/*
 * Return how many of the hottest rows it pays to move, of those in pages that
 * are not packed, or 0 if it does not pay.  *whole is the estimate of the whole
 * table.
 *
 * The half that chooses rows also finds the packed pages.  So the other half
 * remains an independent sample.
 */
double
rh_estimate_loose(Relation rel, const RhEstimate *whole)
{
	double		hot_rows[lengthof(rh_loose_shares)] = {0};
	double		now[lengthof(rh_loose_shares)] = {0};
	double		packed[lengthof(rh_loose_shares)] = {0};
	double		accesses = 0;
	double		unknown = 0;
	double		saved = 0;
	double		found_rows = 0;
	double		rows_in_page = whole->rows / whole->pages;
	double		missing = whole->accesses * RH_ACCESS;
	uint32		n;
	RhRow	   *found = rh_rows_of(RelationGetRelid(rel), &n);

	qsort(found, n, sizeof(RhRow), rh_compare_tid);
	for (uint32 i = 0; i < n; i++)
	{
		if (ItemPointerIsValid(&found[i].tid))
			missing -= rh_total(found[i].heat);
	}
	missing = Max(missing, 0);
	for (int half = 0; half < 2; half++)
	{
		RhMembers	rows = {0};
		RhMembers	pages = {0};
		double		dropped = rh_add_up(found, n, half, rows_in_page, &rows, &pages);
		double		sum = rh_sum(&rows, 1 - half);
		double		rest;

		rows.total = Max(Max(whole->rows - dropped * rows_in_page, rows.n), 1);
		pages.total = Max(Max(whole->pages - dropped, pages.n), 1);
		/* heat of rows without an entry or a place, in the half that measures */
		rest = missing / 2 * Min(rows.total / whole->rows, 1);
		rows.spread = rest / rows.total;
		pages.spread = rest / pages.total;
		accesses += sum + rest;
		unknown += sum + rest > 0 ? rest / (sum + rest) / 2 : 0.5;
		qsort_arg(rows.heats, rows.n, sizeof(RhHeat), rh_compare, &half);
		qsort_arg(pages.heats, pages.n, sizeof(RhHeat), rh_compare, &half);
		for (int i = 0; i < (int) lengthof(rh_loose_shares); i++)
		{
			double		hot = rh_members_for(&rows, half, sum, rh_loose_shares[i]);

			hot_rows[i] += hot / 2;
			packed[i] += hot / rows.total * pages.total / 2;
			now[i] += rh_members_for(&pages, half, sum, rh_loose_shares[i]) / 2;
		}
		pfree(rows.heats);
		pfree(pages.heats);
	}
	pfree(found);

	for (int i = 0; i < (int) lengthof(rh_loose_shares); i++)
	{
		double		taken = rh_loose_shares[i] * accesses / RH_ACCESS;

		if (packed[i] > (RH_WORTHWHILE - RH_DISTRUST * unknown) * now[i] ||
			now[i] - packed[i] < RH_LOOSE_PAGES ||
			taken < RH_LOOSE_ACCESSES || taken < RH_LOOSE_PART * whole->accesses ||
			now[i] - packed[i] <= saved)
			continue;
		saved = now[i] - packed[i];
		found_rows = hot_rows[i];
	}

	return found_rows;
}

/*
 * Estimate the distribution of the accesses to a table.  If no access to a row
 * is known, set estimate->hot_rows to 0.
 */
void
rh_estimate(Relation rel, RhEstimate *estimate)
{
	RhMembers	rows = {0};
	RhMembers	pages = {0};
	double		sums[2] = {0, 0};
	double		hot_rows[lengthof(rh_hot_shares)] = {0};
	double		hot_pages[lengthof(rh_hot_shares)] = {0};
	double		missing = 0;
	double		allvisfrac;
	BlockNumber npages;
	uint32		n;
	RhRow	   *found;

	memset(estimate, 0, sizeof(RhEstimate));
	table_relation_estimate_size(rel, NULL, &npages, &estimate->rows, &allvisfrac);
	/* for an empty table, the function assumes that rows will come */
	npages = RelationGetNumberOfBlocks(rel);
	estimate->pages = npages;
	estimate->accesses = rh_relation_accesses(RelationGetRelid(rel));
	if (npages == 0)
	{
		estimate->rows = 0;
		return;
	}

	found = rh_rows_of(RelationGetRelid(rel), &n);

	/*
	 * if statistics are older than the rows, assume that they have their
	 * usual width
	 */
	if (estimate->rows < n)
		estimate->rows = Max(n, floor(estimate->pages * (BLCKSZ - SizeOfPageHeaderData) /
									  (get_rel_data_width(rel, NULL) + sizeof(ItemIdData) +
									   MAXALIGN(SizeofHeapTupleHeader))));
	qsort(found, n, sizeof(RhRow), rh_compare_tid);
	(void) rh_add_up(found, n, RH_BOTH, 0, &rows, &pages);
	pfree(found);
	for (int half = 0; half < 2; half++)
		sums[half] = rh_sum(&rows, half);
	if (sums[0] > 0 && sums[1] > 0)
	{
		missing = Max(estimate->accesses * RH_ACCESS - sums[0] - sums[1], 0);
		rows.total = estimate->rows;
		rows.spread = missing / 2 / rows.total;
		pages.total = Max(estimate->pages, pages.n);
		pages.spread = missing / 2 / pages.total;
		for (int half = 0; half < 2; half++)
		{
			double		sum = sums[1 - half];

			qsort_arg(rows.heats, rows.n, sizeof(RhHeat), rh_compare, &half);
			qsort_arg(pages.heats, pages.n, sizeof(RhHeat), rh_compare, &half);
			for (int i = 0; i < RH_SHARES; i++)
				estimate->shares[i] += rh_accesses_of(&rows, half, sum, rh_row_shares[i]) / 2;
			for (int i = 0; i < (int) lengthof(rh_hot_shares); i++)
			{
				hot_rows[i] += rh_members_for(&rows, half, sum, rh_hot_shares[i]) / 2;
				hot_pages[i] += rh_members_for(&pages, half, sum, rh_hot_shares[i]) / 2;
			}
		}
		for (int i = 0; i < (int) lengthof(rh_hot_shares); i++)
		{
			double		packed = ceil(hot_rows[i] / rows.total * estimate->pages);
			double		now = ceil(hot_pages[i]);

			if (i > 0 && now - packed <= estimate->hot_pages - estimate->packed_pages)
				continue;
			estimate->hot_share = rh_hot_shares[i];
			estimate->hot_rows = hot_rows[i];
			estimate->hot_pages = now;
			estimate->packed_pages = packed;
		}
		estimate->gain = estimate->packed_pages <=
			(RH_WORTHWHILE - RH_DISTRUST * missing / (missing + sums[0] + sums[1])) * estimate->hot_pages;
	}
	pfree(rows.heats);
	pfree(pages.heats);
}

/* Return true if the user may see how the rows of the relation are used. */
static bool
rh_may_see(Oid relid)
{
	return pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
		has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}

/* Add a row to the result of relations(). */
static void
rh_put_relation(ReturnSetInfo *rsinfo, Oid relid, const RhEstimate *estimate)
{
	Datum		values[8 + RH_SHARES];
	bool		nulls[8 + RH_SHARES] = {0};
	bool		known = estimate->hot_rows > 0;
	int			column = 0;

	values[column++] = ObjectIdGetDatum(relid);
	values[column++] = Int64GetDatum((int64) estimate->accesses);
	values[column++] = Int64GetDatum((int64) rint(estimate->rows));
	values[column++] = Int64GetDatum((int64) estimate->pages);
	for (int i = 0; i < RH_SHARES; i++)
	{
		nulls[column] = !known;
		values[column++] = Float8GetDatum(estimate->shares[i]);
	}
	nulls[column] = !known;
	values[column++] = Float8GetDatum(estimate->hot_share);
	nulls[column] = !known;
	values[column++] = Int64GetDatum((int64) estimate->hot_pages);
	nulls[column] = !known;
	values[column++] = Int64GetDatum((int64) estimate->packed_pages);
	nulls[column] = !known;
	values[column++] = BoolGetDatum(estimate->gain);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * row_heat_internal.relations(of_table regclass,
 *							   OUT relation regclass, OUT accesses bigint,
 *							   OUT rows bigint, OUT pages bigint,
 *							   OUT share_1 float8, OUT share_5 float8,
 *							   OUT share_10 float8, OUT share_30 float8,
 *							   OUT hot_share float8, OUT hot_pages bigint,
 *							   OUT packed_pages bigint, OUT gain boolean)
 *		returns setof record
 *
 * For the table, or for each table of the database with recorded accesses,
 * return how its accesses are distributed.  The shares and the columns behind
 * them are null if no access is known.  Omit tables that the user may not read, and,
 * if all tables are wanted, those that another session has locked.
 */
Datum
rh_relations(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	bool		all = PG_ARGISNULL(0);
	List	   *relids;
	MemoryContext context;
	ListCell   *lc;

	InitMaterializedSRF(fcinfo, 0);
	rh_require_counts();

	relids = all ? rh_counted_relations() : list_make1_oid(PG_GETARG_OID(0));
	context = AllocSetContextCreate(CurrentMemoryContext, "row_heat relation", ALLOCSET_DEFAULT_SIZES);
	foreach(lc, relids)
	{
		Oid			relid = lfirst_oid(lc);
		MemoryContext old;
		Relation	rel;

		CHECK_FOR_INTERRUPTS();
		if (get_rel_relkind(relid) != RELKIND_RELATION || !rh_may_see(relid))
			continue;
		if (all && !ConditionalLockRelationOid(relid, AccessShareLock))
			continue;
		rel = try_relation_open(relid, all ? NoLock : AccessShareLock);
		if (rel == NULL)
		{
			if (all)
				UnlockRelationOid(relid, AccessShareLock);
			continue;
		}
		old = MemoryContextSwitchTo(context);
		/* a standby has no file of an unlogged table */
		if (rh_is_recorded(rel) && (RelationIsPermanent(rel) || !RecoveryInProgress()))
		{
			RhEstimate	estimate;

			rh_estimate(rel, &estimate);
			rh_put_relation(rsinfo, relid, &estimate);
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
		relation_close(rel, AccessShareLock);
	}

	PG_RETURN_NULL();
}
