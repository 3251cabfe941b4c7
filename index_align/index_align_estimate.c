/*-------------------------------------------------------------------------
 *
 * index_align_estimate.c
 *	  Estimate how much smaller an index would be with the alignment that its
 *	  keys need.
 *
 * An index tuple has a header of 8 bytes and the key, rounded up to the
 * alignment, and a line pointer of 4 bytes.  The key's width follows from the
 * column types, and for varying lengths from the statistics.  If duplicates
 * share a tuple, the index takes less space than one tuple for each entry
 * would take.  A smaller alignment then reduces only the space of the keys,
 * and the space lost by rounding up after the TIDs.  The TIDs take 6 bytes
 * each at any alignment.  If a part has a varying length, rounding it up adds,
 * on average, half of the maximum.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  index_align/index_align_estimate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/itup.h"
#include "access/nbtree.h"
#include "access/tupmacs.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_statistic.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"

#include "index_align.h"

PG_FUNCTION_INFO_V1(ia_estimated_ratio);

/*
 * Return true if the current user may see the statistics of a column of an
 * index.  A user who may not read the values, or not all of them, must not
 * learn about the values here; pg_stats hides the statistics, too.
 */
static bool
ia_statistics_are_visible(Form_pg_index index, AttrNumber attnum)
{
	AttrNumber	heap_attnum = index->indkey.values[attnum - 1];

	if (pg_class_aclcheck(index->indrelid, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
		(heap_attnum == 0 ||
		 pg_attribute_aclcheck(index->indrelid, heap_attnum, GetUserId(), ACL_SELECT) != ACLCHECK_OK))
		return false;

	return check_enable_rls(index->indrelid, InvalidOid, true) != RLS_ENABLED;
}

/*
 * Return the average width of the column of an index, from statistics or its
 * type.  The width of a column of varying length includes the short header.
 * If its statistics are hidden or missing, note that in *estimate.
 */
static int
ia_column_width(Oid indexid, Form_pg_index index, AttrNumber attnum, Form_pg_attribute att,
				IaEstimate *estimate)
{
	AttrNumber	heap_attnum = index->indkey.values[attnum - 1];
	int32		width;

	if (att->attlen > 0)
		return att->attlen;
	if (!ia_statistics_are_visible(index, attnum))
	{
		estimate->hidden = true;
		return get_typavgwidth(att->atttypid, att->atttypmod);
	}

	/* statistics of an expression belong to the index */
	width = heap_attnum != 0 ?
		get_attavgwidth(index->indrelid, heap_attnum) :
		get_attavgwidth(indexid, attnum);

	if (width > 0)
		return width;
	estimate->missing = true;

	return get_typavgwidth(att->atttypid, att->atttypmod);
}

/* Return true if a column of a table is declared NOT NULL. */
static bool
ia_is_not_null(Oid heapid, AttrNumber attnum)
{
	HeapTuple	tuple = SearchSysCacheAttNum(heapid, attnum);
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = ((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;
	ReleaseSysCache(tuple);

	return result;
}

/*
 * Return the fraction of the index entries in which a column is null, from
 * statistics.  A partial index may leave out just the rows with nulls, so the
 * table's statistics say nothing about a partial index.  If the statistics are
 * hidden or missing, note that in *estimate.
 */
static double
ia_column_nulls(Oid indexid, Form_pg_index index, AttrNumber attnum, bool partial,
				IaEstimate *estimate)
{
	AttrNumber	heap_attnum = index->indkey.values[attnum - 1];
	HeapTuple	tuple;
	double		nulls = 0;

	if (heap_attnum != 0 && (partial || ia_is_not_null(index->indrelid, heap_attnum)))
		return 0;
	if (!ia_statistics_are_visible(index, attnum))
	{
		estimate->hidden = true;
		return 0;
	}
	tuple = SearchSysCache3(STATRELATTINH,
							ObjectIdGetDatum(heap_attnum != 0 ? index->indrelid : indexid),
							Int16GetDatum(heap_attnum != 0 ? heap_attnum : attnum),
							BoolGetDatum(false));
	if (HeapTupleIsValid(tuple))
	{
		nulls = ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac;
		ReleaseSysCache(tuple);
	}
	else
		estimate->missing = true;

	return nulls;
}

/*
 * Estimate the size of an index at the given alignment, divided by its size at
 * maximal alignment.  pages and tuples are the numbers of its pages and
 * entries.  Read only catalogs.  Return false if the index does not exist or
 * is not a B-tree.
 */
bool
ia_estimate(Oid indexid, int alignment, double pages, double tuples, IaEstimate *estimate)
{
	HeapTuple	indextuple;
	Form_pg_index index;
	double		width = sizeof(IndexTupleData);
	bool		varying = false;
	bool		partial;
	double		column_width[INDEX_MAX_KEYS];
	double		column_nulls[INDEX_MAX_KEYS];
	char		column_align[INDEX_MAX_KEYS];	/* 0 if of varying length */
	double		complete = 1;
	int			natts;
	double		now;
	double		then;
	double		used;

	memset(estimate, 0, sizeof(IaEstimate));
	if (get_rel_relam(indexid) != BTREE_AM_OID)
		return false;
	indextuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(indexid));
	if (!HeapTupleIsValid(indextuple))
		return false;
	index = (Form_pg_index) GETSTRUCT(indextuple);
	partial = !heap_attisnull(indextuple, Anum_pg_index_indpred, NULL);
	natts = index->indnatts;
	for (AttrNumber attnum = 1; attnum <= natts; attnum++)
	{
		HeapTuple	atttuple = SearchSysCacheAttNum(indexid, attnum);
		Form_pg_attribute att;

		if (!HeapTupleIsValid(atttuple))
		{
			ReleaseSysCache(indextuple);
			return false;
		}
		att = (Form_pg_attribute) GETSTRUCT(atttuple);
		/* varying-length columns mostly have the short, unaligned form */
		if (att->attlen > 0)
			width = att_align_nominal((Size) width, att->attalign);
		else
			varying = true;
		column_align[attnum - 1] = att->attlen > 0 ? att->attalign : 0;
		column_width[attnum - 1] = ia_column_width(indexid, index, attnum, att, estimate);
		column_nulls[attnum - 1] = ia_column_nulls(indexid, index, attnum, partial, estimate);
		width += column_width[attnum - 1];
		complete *= 1 - column_nulls[attnum - 1];
		ReleaseSysCache(atttuple);
	}
	ReleaseSysCache(indextuple);

	if (varying)
	{
		now = width + (MAXIMUM_ALIGNOF - 1) / 2.0;
		then = width + (alignment - 1) / 2.0;
	}
	else
	{
		now = MAXALIGN((Size) width);
		then = TYPEALIGN(alignment, (Size) width);
	}

	/*
	 * An entry with a null has a bitmap.  After the bitmap, the columns that
	 * are not null begin at the next multiple of 8, whatever the alignment.
	 * Assume that columns are null independently of one another.
	 */
	if (complete < 1)
	{
		double		null_width = MAXALIGN(sizeof(IndexTupleData) + sizeof(IndexAttributeBitMapData));
		double		present = 0;

		varying = false;
		for (int i = 0; i < natts; i++)
		{
			double		not_null = 1 - Min(column_nulls[i] / (1 - complete), 1);

			if (not_null < 0.001)
				continue;
			if (not_null > 0.999 && column_align[i] != 0)
				null_width = att_align_nominal((Size) null_width, column_align[i]);
			else
				varying = true;
			null_width += not_null * column_width[i];
			present = Max(present, not_null);
		}

		/*
		 * If all columns are null, nothing follows the bitmap.  Then the
		 * variable present is 0, and nothing is rounded up.
		 */
		if (varying)
		{
			now = complete * now + (1 - complete) *
				(null_width + present * (MAXIMUM_ALIGNOF - 1) / 2.0);
			then = complete * then + (1 - complete) *
				(null_width + present * (alignment - 1) / 2.0);
		}
		else
		{
			now = complete * now + (1 - complete) * MAXALIGN((Size) null_width);
			then = complete * then + (1 - complete) * TYPEALIGN(alignment, (Size) null_width);
		}
	}
	now += sizeof(ItemIdData);
	then += sizeof(ItemIdData);

	/* after a build, a tenth of each page except the first is free */
	used = Max(pages - 1, 0) * (BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(BTPageOpaqueData))) *
		BTREE_DEFAULT_FILLFACTOR / 100;
	if (tuples > 0 && used < 0.95 * tuples * now)
	{
		/*
		 * Duplicates share tuples: estimate how many tuples fit into the
		 * space that the TIDs leave.
		 */
		double		tids = tuples * sizeof(ItemPointerData);
		double		keys;

		/* after the TIDs, the number of bytes to round up is even */
		now = MAXALIGN((Size) ceil(width)) + sizeof(ItemIdData) + (MAXIMUM_ALIGNOF - 2) / 2.0;
		then = TYPEALIGN(alignment, (Size) ceil(width)) + sizeof(ItemIdData) + (alignment - 2) / 2.0;
		keys = Min(Max(used - tids, 0) / now, tuples);
		estimate->ratio = keys > 0 ? (tids + keys * then) / (tids + keys * now) : 1;
		return true;
	}
	estimate->ratio = then / now;

	return true;
}

/*
 * index_align.estimated_ratio(relation regclass, alignment int, pages bigint,
 * tuples float8) returns float8
 *
 * Return the result of ia_estimate(), or NULL if there is none.
 */
Datum
ia_estimated_ratio(PG_FUNCTION_ARGS)
{
	int			alignment = PG_GETARG_INT32(1);
	IaEstimate	estimate;

	if (alignment != 2 && alignment != 4 && alignment != MAXIMUM_ALIGNOF)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid item alignment: %d", alignment)));
	if (!ia_estimate(PG_GETARG_OID(0), alignment, (double) PG_GETARG_INT64(2),
					 PG_GETARG_FLOAT8(3), &estimate))
		PG_RETURN_NULL();

	PG_RETURN_FLOAT8(estimate.ratio);
}
