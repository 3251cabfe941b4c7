/*-------------------------------------------------------------------------
 *
 * vertical_partition_advise.c
 *	  Choose the cold columns of a table by the counts of its use.
 *
 * The cost of a split depends on the bytes that updates write and that reads
 * scan.  The cost also depends on the number of visits to cold rows.  A visit
 * is the access to a cold row after its hot row, which needs a few more
 * pages.  There are too many sets of columns to try all of them.  So put
 * columns that the same statements use into a group.  In each step, try all
 * moves of two kinds: move one group to the other part, or make all columns
 * hot that one kind of statement uses.  Keep the move that reduces the cost
 * most.  Stop when no move reduces the cost.
 *
 * The SQL function advise() reads from the catalogs which columns may be
 * moved at all.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_advise.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/itup.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/itemid.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "vertical_partition.h"
#include "vertical_partition_compat.h"
#include "vertical_partition_layout.h"
#include "vertical_partition_track.h"

PG_FUNCTION_INFO_V1(vp_best_split);
PG_FUNCTION_INFO_V1(vp_layout_columns);

/*
 * Cost of a visit to a cold row, without the bytes of the row.  The unit is
 * the cost of writing a byte.  With a TID, a visit reads one page.  With a
 * key, a visit also reads the lower pages of an index.  VP_READ_WEIGHT is the
 * cost of reading a byte divided by the cost of writing a byte.  Reading is
 * cheap because most pages are in memory, but not free: the more bytes are
 * read, the fewer of the pages fit into memory.
 */
#define VP_VISIT_BY_TID		64.0
#define VP_VISIT_BY_KEY		128.0
#define VP_READ_WEIGHT		0.1

/*
 * Propose a surrogate key if the primary key takes more bytes than this, in
 * the cold row and in the cold part's index together.
 */
#define VP_WIDE_KEY			32.0

/* Size of a column in a row */
typedef struct VpWidth
{
	int			length;			/* in bytes, or -1 if it varies */
	int			alignment;		/* in bytes */
	double		width;			/* average of non-null values, in bytes */
	double		null_frac;
} VpWidth;

/* Input of the search */
typedef struct VpProblem
{
	Oid			relid;
	int			ncolumns;
	AttrNumber *attnums;
	VpWidth    *widths;
	bool	   *keys;
	bool	   *movable;
	int		   *groups;			/* for each column, number of its group */
	int			ngroups;
	bool		pointer_allowed;
	double		key_bytes;		/* of an index entry, aligned */
	bool		wide_key;
	int			nshapes;		/* number of sets of columns used together */
	bool	  **shapes;			/* [set][column]: is the column in the set? */
	bool	   *reads;
	double	   *rows;
} VpProblem;

/* A split and its cost */
typedef struct VpSplit
{
	bool	   *cold;			/* for each column */
	int			ncold;
	VpMethod	method;
	double		hot_bytes;
	double		cold_bytes;
	double		written;		/* bytes per update */
	double		cost;
} VpSplit;

/* Offset of the next column in a row */
typedef struct VpOffset
{
	double		bytes;			/* average offset */
	int			modulus;		/* offset % modulus is always residue */
	int			residue;
} VpOffset;

/*
 * Align an offset.  If the exact offset is not known, add the average
 * padding.
 */
static void
vp_align(VpOffset *offset, int alignment)
{
	double		padding = 0;
	int			cases = 0;

	for (int residue = offset->residue; residue < Max(alignment, offset->modulus); residue += offset->modulus)
	{
		padding += (alignment - residue % alignment) % alignment;
		cases++;
	}
	offset->bytes += padding / cases;
	if (alignment >= offset->modulus)
	{
		offset->modulus = alignment;
		offset->residue = 0;
	}
	else
		offset->residue = (offset->residue + (int) padding) % offset->modulus;
}

static void
vp_add_column(VpOffset *offset, const VpWidth *column)
{
	VpOffset	with = *offset;
	bool		is_long = column->length < 0 && column->width > VARATT_SHORT_MAX;

	if (column->null_frac >= 1)
		return;
	if (column->length >= 0 || is_long)
		vp_align(&with, column->alignment);
	with.bytes += column->width;
	if (column->length >= 0)
		with.residue = (with.residue + column->length) % with.modulus;
	else
		with.modulus = 1;

	if (column->null_frac > 0)
	{
		offset->bytes += (with.bytes - offset->bytes) * (1 - column->null_frac);
		offset->modulus = 1;
	}
	else
		*offset = with;
	if (offset->modulus == 1)
		offset->residue = 0;
}

/*
 * Return the average size of a row with the given columns, in bytes,
 * including the tuple header and line pointer.  The row has column i if
 * which[i] equals "wanted"; if "which" is NULL, the row has all columns.  If
 * "keys" is true, the row begins with a copy of the key columns.  If "extra"
 * is not NULL, the row ends with the column "extra".
 */
static double
vp_row_bytes(const VpProblem *problem, const bool *which, bool wanted, bool keys, const VpWidth *extra)
{
	VpOffset	offset = {0, MAXIMUM_ALIGNOF, 0};
	double		no_nulls = 1;
	int			ncolumns = (extra != NULL);
	double		plain = MAXALIGN(SizeofHeapTupleHeader);

	if (keys)
	{
		for (int i = 0; i < problem->ncolumns; i++)
		{
			if (!problem->keys[i])
				continue;
			vp_add_column(&offset, &problem->widths[i]);
			ncolumns++;
		}
	}
	for (int i = 0; i < problem->ncolumns; i++)
	{
		if (which && which[i] != wanted)
			continue;
		vp_add_column(&offset, &problem->widths[i]);
		no_nulls *= 1 - problem->widths[i].null_frac;
		ncolumns++;
	}
	if (extra)
		vp_add_column(&offset, extra);
	vp_align(&offset, MAXIMUM_ALIGNOF);
	return plain * no_nulls + MAXALIGN(SizeofHeapTupleHeader + BITMAPLEN(ncolumns)) * (1 - no_nulls) +
		offset.bytes + sizeof(ItemIdData);
}

/* Fill in the method, sizes and costs of a split, given its set of cold columns. */
static void
vp_judge(const VpProblem *problem, VpSplit *split)
{
	static const VpWidth tid = {sizeof(ItemPointerData), 2, sizeof(ItemPointerData), 0};
	static const VpWidth surrogate = {sizeof(int64), ALIGNOF_DOUBLE, sizeof(int64), 0};
	double		updates = 0;
	double		visit;
	bool		cold_updated = false;

	split->ncold = 0;
	for (int i = 0; i < problem->ncolumns; i++)
		split->ncold += split->cold[i];

	for (int s = 0; s < problem->nshapes && !cold_updated; s++)
	{
		for (int i = 0; i < problem->ncolumns && !problem->reads[s]; i++)
			cold_updated |= problem->shapes[s][i] && (split->cold[i] || problem->keys[i]);
	}
	split->method = problem->pointer_allowed && !cold_updated ? VP_ROW_POINTER :
		problem->wide_key ? VP_SURROGATE_KEY : VP_SHARED_KEY;

	if (split->ncold == 0)
	{
		split->hot_bytes = vp_row_bytes(problem, NULL, false, false, NULL);
		split->cold_bytes = 0;
	}
	else if (split->method == VP_SURROGATE_KEY)
	{
		split->hot_bytes = vp_row_bytes(problem, split->cold, false, false, &surrogate);
		split->cold_bytes = vp_row_bytes(problem, split->cold, true, false, &surrogate);
	}
	else
	{
		split->hot_bytes = vp_row_bytes(problem, split->cold, false, false,
										split->method == VP_ROW_POINTER ? &tid : NULL);
		split->cold_bytes = vp_row_bytes(problem, split->cold, true, true, NULL);
	}
	visit = split->method == VP_ROW_POINTER ? VP_VISIT_BY_TID : VP_VISIT_BY_KEY;

	split->written = 0;
	split->cost = 0;
	for (int s = 0; s < problem->nshapes; s++)
	{
		bool		hot = false,
					cold = false;
		double		cost = 0;

		for (int i = 0; i < problem->ncolumns; i++)
		{
			if (!problem->shapes[s][i])
				continue;
			if (split->cold[i])
				cold = true;
			else
				hot = true;

			/*
			 * an update of the key also updates the cold part's copy of the
			 * key
			 */
			if (problem->keys[i] && !problem->reads[s] && split->ncold > 0 &&
				split->method != VP_SURROGATE_KEY)
				cold = true;
		}
		/* any update gives the hot row a new version */
		hot |= split->ncold > 0;
		if (problem->reads[s])
			cost = VP_READ_WEIGHT * (split->hot_bytes + (cold ? split->cold_bytes : 0));
		else
		{
			cost = (hot ? split->hot_bytes : 0) + (cold ? split->cold_bytes : 0);
			split->written += problem->rows[s] * cost;
			updates += problem->rows[s];
		}
		if (cold)
			cost += visit;
		split->cost += problem->rows[s] * cost;
	}
	if (updates > 0)
		split->written /= updates;
}

/* Copy a split and its set of cold columns, in order to try another set. */
static void
vp_copy_split(const VpProblem *problem, VpSplit *to, const VpSplit *from)
{
	bool	   *cold = to->cold ? to->cold : palloc(Max(problem->ncolumns, 1) * sizeof(bool));

	memcpy(cold, from->cold, problem->ncolumns * sizeof(bool));
	*to = *from;
	to->cold = cold;
}

/*
 * Return true if split() would accept the split, which needs a hot column
 * besides the key.
 */
static bool
vp_is_possible(const VpProblem *problem, const VpSplit *split)
{
	for (int i = 0; i < problem->ncolumns; i++)
	{
		if (!split->cold[i] && !problem->keys[i])
			return true;
	}
	return split->ncold == 0;
}

/*
 * Move columns between the parts as long as a move reduces the cost of the
 * split.
 */
static void
vp_improve(const VpProblem *problem, VpSplit *split)
{
	VpSplit		best = {0},
				try = {0};
	bool		better;

	vp_judge(problem, split);
	vp_copy_split(problem, &best, split);
	do
	{
		better = false;
		for (int move = 0; move < problem->ngroups + problem->nshapes; move++)
		{
			CHECK_FOR_INTERRUPTS();
			vp_copy_split(problem, &try, split);
			for (int i = 0; i < problem->ncolumns; i++)
			{
				if (!problem->movable[i])
					continue;
				if (move < problem->ngroups)
					try.cold[i] ^= (problem->groups[i] == move);
				else if (problem->shapes[move - problem->ngroups][i])
					try.cold[i] = false;
			}
			vp_judge(problem, &try);
			if (vp_is_possible(problem, &try) && (try.cost < best.cost || !vp_is_possible(problem, &best)))
			{
				vp_copy_split(problem, &best, &try);
				better = true;
			}
		}
		vp_copy_split(problem, split, &best);
	} while (better);
	pfree(best.cold);
	if (try.cold)
		pfree(try.cold);
}

/* Give columns that are used by the same statements the same group number. */
static void
vp_group_columns(VpProblem *problem)
{
	problem->groups = palloc(Max(problem->ncolumns, 1) * sizeof(int));
	problem->ngroups = 0;
	for (int i = 0; i < problem->ncolumns; i++)
	{
		problem->groups[i] = -1;
		for (int j = 0; j < i && problem->movable[i] && problem->groups[i] < 0; j++)
		{
			bool		alike = problem->movable[j];

			for (int s = 0; s < problem->nshapes && alike; s++)
				alike = problem->shapes[s][i] == problem->shapes[s][j];
			if (alike)
				problem->groups[i] = problem->groups[j];
		}
		if (problem->movable[i] && problem->groups[i] < 0)
			problem->groups[i] = problem->ngroups++;
	}
}

/*
 * Add the counts of a relation to the problem.  attnums[i] is the number that
 * column i of the problem has in this relation, or 0 if the relation does not
 * have this column.
 */
static void
vp_add_shapes(VpProblem *problem, Oid relid, const AttrNumber *attnums)
{
	List	   *shapes = vp_track_shapes(relid);
	ListCell   *lc;

	if (shapes == NIL)
		return;
	problem->shapes = repalloc(problem->shapes, (problem->nshapes + list_length(shapes)) * sizeof(bool *));
	problem->reads = repalloc(problem->reads, (problem->nshapes + list_length(shapes)) * sizeof(bool));
	problem->rows = repalloc(problem->rows, (problem->nshapes + list_length(shapes)) * sizeof(double));
	foreach(lc, shapes)
	{
		VpShape    *shape = (VpShape *) lfirst(lc);
		bool	   *columns = palloc0(Max(problem->ncolumns, 1) * sizeof(bool));

		for (int i = 0; i < problem->ncolumns; i++)
			columns[i] = attnums[i] > 0 && vp_set_has(&shape->key.columns, attnums[i]);
		problem->shapes[problem->nshapes] = columns;
		problem->reads[problem->nshapes] = shape->key.is_read;
		problem->rows[problem->nshapes++] = shape->rows;
	}
}

/*
 * Collect the counts of the relation.  If it is a split view, also collect
 * the counts of its parts.
 */
static void
vp_collect_shapes(VpProblem *problem)
{
	Relation	rel = relation_open(problem->relid, AccessShareLock);
	const VpLayout *layout = rel->rd_rel->relkind == RELKIND_VIEW ? vp_layout(problem->relid) : NULL;

	problem->shapes = palloc(sizeof(bool *));
	problem->reads = palloc(sizeof(bool));
	problem->rows = palloc(sizeof(double));
	vp_add_shapes(problem, problem->relid, problem->attnums);
	if (layout)
	{
		Oid			parts[] = {layout->hot, layout->cold};
		AttrNumber *attnums[2];

		for (int part = 0; part < 2; part++)
		{
			attnums[part] = palloc0(Max(problem->ncolumns, 1) * sizeof(AttrNumber));
			for (int i = 0; i < problem->ncolumns; i++)
			{
				AttrNumber	attnum = problem->attnums[i];

				if (attnum <= layout->natts && layout->columns[attnum - 1].cold == (part == 1))
					attnums[part][i] = layout->columns[attnum - 1].attnum;
			}
		}
		for (int part = 0; part < 2; part++)
			vp_add_shapes(problem, parts[part], attnums[part]);
	}
	relation_close(rel, AccessShareLock);
}

/*
 * Return the elements of an array argument, and their number in *n.  Raise an
 * error unless the argument is a one-dimensional array of this type without
 * nulls.  Raise an error if it does not have "expected" elements, unless
 * "expected" is negative.
 */
static Datum *
vp_array_argument(FunctionCallInfo fcinfo, int argno, Oid type, int16 length, bool byval,
				  char alignment, int expected, int *n)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(argno);
	Datum	   *datums;

	if (ARR_NDIM(array) > 1 || ARR_ELEMTYPE(array) != type || array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument %d must be a one-dimensional array without nulls", argno + 1)));
	deconstruct_array(array, type, length, byval, alignment, &datums, NULL, n);
	if (expected >= 0 && *n != expected)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument %d must have %d elements", argno + 1, expected)));
	return datums;
}

/*
 * Return the number.  Raise an error if it is not between "least" and "most".
 */
static double
vp_check_range(double value, double least, double most)
{
	if (isnan(value) || value < least || value > most)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%g is not between %g and %g", value, least, most)));
	return value;
}

/* Read the arguments of best_split(). */
static void
vp_read_problem(FunctionCallInfo fcinfo, VpProblem *problem)
{
	Datum	   *attnums,
			   *lengths,
			   *alignments,
			   *widths,
			   *null_fracs,
			   *keys,
			   *movable;
	double		unaligned;
	VpOffset	key_end = {0, MAXIMUM_ALIGNOF, 0};
	int			n;

	attnums = vp_array_argument(fcinfo, 1, INT2OID, 2, true, TYPALIGN_SHORT, -1, &n);
	lengths = vp_array_argument(fcinfo, 2, INT4OID, 4, true, TYPALIGN_INT, n, &n);
	alignments = vp_array_argument(fcinfo, 3, INT4OID, 4, true, TYPALIGN_INT, n, &n);
	widths = vp_array_argument(fcinfo, 4, FLOAT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, n, &n);
	null_fracs = vp_array_argument(fcinfo, 5, FLOAT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, n, &n);
	keys = vp_array_argument(fcinfo, 6, BOOLOID, 1, true, TYPALIGN_CHAR, n, &n);
	movable = vp_array_argument(fcinfo, 7, BOOLOID, 1, true, TYPALIGN_CHAR, n, &n);

	memset(problem, 0, sizeof(*problem));
	problem->relid = PG_GETARG_OID(0);
	problem->pointer_allowed = PG_GETARG_BOOL(8);
	problem->ncolumns = n;
	problem->attnums = palloc(Max(n, 1) * sizeof(AttrNumber));
	problem->widths = palloc(Max(n, 1) * sizeof(VpWidth));
	problem->keys = palloc(Max(n, 1) * sizeof(bool));
	problem->movable = palloc(Max(n, 1) * sizeof(bool));
	for (int i = 0; i < n; i++)
	{
		VpWidth    *width = &problem->widths[i];
		int			alignment = DatumGetInt32(alignments[i]);

		problem->attnums[i] = (AttrNumber) vp_check_range(DatumGetInt16(attnums[i]), 1, MaxHeapAttributeNumber);
		width->length = (int) vp_check_range(DatumGetInt32(lengths[i]), -1, MaxHeapTupleSize);
		if (alignment != 1 && alignment != 2 && alignment != 4 && alignment != 8)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%d is not an alignment", alignment)));
		width->alignment = alignment;
		width->width = width->length >= 0 ? width->length :
			vp_check_range(DatumGetFloat8(widths[i]), 0, MaxAllocSize);
		width->null_frac = vp_check_range(DatumGetFloat8(null_fracs[i]), 0, 1);
		problem->keys[i] = DatumGetBool(keys[i]);
		problem->movable[i] = DatumGetBool(movable[i]) && !problem->keys[i];
		if (problem->keys[i])
			vp_add_column(&key_end, width);
	}
	unaligned = key_end.bytes;
	vp_align(&key_end, MAXIMUM_ALIGNOF);
	problem->key_bytes = key_end.bytes;
	problem->wide_key = unaligned + key_end.bytes > VP_WIDE_KEY;
}

/*
 * vertical_partition_internal.best_split(relation oid, attnums int2[],
 *										  lengths int4[], alignments int4[],
 *										  widths float8[], null_fracs float8[],
 *										  keys boolean[], movable boolean[],
 *										  row_pointer boolean, cold_now int2[])
 *		returns record
 *
 * Choose the cold columns of a relation, which is a table or a split view.
 * The arrays give for each column its number, length (-1 if it varies),
 * alignment, average width, fraction of nulls, whether it belongs to the key,
 * and whether it may be cold.  row_pointer says whether the method with row
 * pointers may be proposed.  cold_now lists the columns that are cold now.
 * The method of this current split is computed as for any other split.
 *
 * The result has these columns: the columns that should be cold (none if no
 * split is better); the method; the row sizes of the unsplit table, of the
 * hot part and of the cold part; the numbers of rows that were updated and
 * read, or 0 if nothing was counted; the bytes written per update, now and
 * after the split; the costs now, without a split, and after the split; the
 * row sizes of both parts now; and the size of an entry in the index of the
 * cold part, which a split with row pointers does not have.
 *
 * Raise an error if the user may not read the relation, or if an argument has
 * a value that is not possible for a relation.
 */
Datum
vp_best_split(PG_FUNCTION_ARGS)
{
	Datum		values[15];
	bool		nulls[15] = {0};
	TupleDesc	tupdesc;
	VpProblem	problem;
	VpSplit		now = {0},
				unsplit = {0},
				best = {0},
				other = {0};
	double		updates = 0,
				reads = 0;
	Datum	   *cold;
	int			ncold = 0;
	Datum	   *cold_now;
	int			ncold_now;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	vp_read_problem(fcinfo, &problem);
	if (get_rel_name(problem.relid) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", problem.relid)));
	if (!vp_track_may_see(problem.relid))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(problem.relid));
	cold_now = vp_array_argument(fcinfo, 9, INT2OID, 2, true, TYPALIGN_SHORT, -1, &ncold_now);
	vp_collect_shapes(&problem);
	for (int s = 0; s < problem.nshapes; s++)
	{
		if (problem.reads[s])
			reads += problem.rows[s];
		else
			updates += problem.rows[s];
	}
	if (updates == 0)
	{
		/*
		 * no updates were counted: assume that updates change exactly the
		 * movable columns of a fixed length of at most 8 bytes
		 */
		bool	   *guess = palloc0(Max(problem.ncolumns, 1) * sizeof(bool));

		for (int i = 0; i < problem.ncolumns; i++)
			guess[i] = problem.movable[i] && problem.widths[i].length >= 0 && problem.widths[i].length <= 8;
		problem.shapes = repalloc(problem.shapes, (problem.nshapes + 1) * sizeof(bool *));
		problem.reads = repalloc(problem.reads, (problem.nshapes + 1) * sizeof(bool));
		problem.rows = repalloc(problem.rows, (problem.nshapes + 1) * sizeof(double));
		problem.shapes[problem.nshapes] = guess;
		problem.reads[problem.nshapes] = false;
		problem.rows[problem.nshapes++] = Max(reads, 1);
		problem.pointer_allowed = false;
	}
	vp_group_columns(&problem);

	/* the relation without a split, and as it is now */
	unsplit.cold = palloc0(Max(problem.ncolumns, 1) * sizeof(bool));
	vp_judge(&problem, &unsplit);
	vp_copy_split(&problem, &now, &unsplit);
	for (int i = 0; i < problem.ncolumns; i++)
	{
		for (int j = 0; j < ncold_now; j++)
			now.cold[i] |= DatumGetInt16(cold_now[j]) == problem.attnums[i];
	}
	vp_judge(&problem, &now);

	/*
	 * search twice: begin with all movable columns as cold columns, then
	 * begin with no cold columns
	 */
	vp_copy_split(&problem, &best, &unsplit);
	for (int i = 0; i < problem.ncolumns; i++)
		best.cold[i] = problem.movable[i];
	vp_improve(&problem, &best);
	vp_copy_split(&problem, &other, &unsplit);
	vp_improve(&problem, &other);
	if (other.cost < best.cost || !vp_is_possible(&problem, &best))
		vp_copy_split(&problem, &best, &other);

	cold = palloc(Max(problem.ncolumns, 1) * sizeof(Datum));
	for (int i = 0; i < problem.ncolumns; i++)
	{
		if (best.cold[i])
			cold[ncold++] = Int16GetDatum(problem.attnums[i]);
	}
	values[0] = PointerGetDatum(construct_array(cold, ncold, INT2OID, sizeof(int16), true, TYPALIGN_SHORT));
	values[1] = CStringGetTextDatum(vp_method_name(best.method));
	values[2] = Float8GetDatum(unsplit.hot_bytes);
	values[3] = Float8GetDatum(best.hot_bytes);
	values[4] = Float8GetDatum(best.cold_bytes);
	values[5] = Float8GetDatum(updates);
	values[6] = Float8GetDatum(reads);
	values[7] = Float8GetDatum(now.written);
	values[8] = Float8GetDatum(best.written);
	values[9] = Float8GetDatum(now.cost);
	values[10] = Float8GetDatum(unsplit.cost);
	values[11] = Float8GetDatum(best.cost);
	values[12] = Float8GetDatum(now.hot_bytes);
	values[13] = Float8GetDatum(now.cold_bytes);
	values[14] = Float8GetDatum(sizeof(IndexTupleData) + sizeof(ItemIdData) +
								(best.method == VP_SURROGATE_KEY ? MAXALIGN(sizeof(int64)) : problem.key_bytes));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls)));
}

/*
 * vertical_partition_internal.layout_columns(view oid, OUT attnum int2,
 *											  OUT part oid, OUT part_attnum int2)
 *		returns setof record
 *
 * For each column of a split view, return the part that has the column, and
 * the number of the column in this part.  Return no rows for any other
 * relation.
 */
Datum
vp_layout_columns(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel;
	const VpLayout *layout;

	InitMaterializedSRF(fcinfo, 0);
	rel = try_relation_open(PG_GETARG_OID(0), AccessShareLock);
	layout = rel ? vp_layout(RelationGetRelid(rel)) : NULL;
	for (int i = 0; layout && i < layout->natts; i++)
	{
		Datum		values[3];
		bool		nulls[3] = {0};

		values[0] = Int16GetDatum(i + 1);
		values[1] = ObjectIdGetDatum(layout->columns[i].cold ? layout->cold : layout->hot);
		values[2] = Int16GetDatum(layout->columns[i].attnum);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	if (rel)
		relation_close(rel, AccessShareLock);
	PG_RETURN_NULL();
}
