/*-------------------------------------------------------------------------
 *
 * toast_policy_compare.c
 *	  Compare the ways to store a column: toast_policy.compare().
 *
 * Read random pages as ANALYZE does, count their rows, and take a random
 * sample of the rows that have a value.  Compress and decompress each value of
 * the sample by every codec, and measure the time.  Put the value's row into a
 * simulated table of every strategy (toast_policy_compare_size.c).  Then scale
 * the results to the whole table.
 *
 * Recommend the strategy whose values cost least to read and write.  The cost
 * is CPU time, plus the time to read a share of the pages from a device, by
 * the constants below.  A strategy that needs more than core offers must be
 * better by a few percent.
 *
 * Nothing here writes, calls users' functions, or uses the search path.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_compare.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/toast_compression.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "toast_policy_compare.h"
#include "toast_policy_compat.h"

PG_FUNCTION_INFO_V1(tp_compare);

/*
 * Costs of reading a value besides decompressing it, in microseconds: the row,
 * a visit to the TOAST table, each chunk found there in shared buffers, and
 * each page.  The cost of a page assumes that one page in ten is read from a
 * device, in 100 microseconds.  Assume that a value is read a hundred times
 * for each time that it is written.  Assume that its row is read as often
 * without the value, because a value in the row slows down queries that read
 * only other columns.
 */
#define TP_ROW_US			0.5
#define TP_FETCH_US			3.0
#define TP_CHUNK_US			0.76
#define TP_PAGE_US			10.0
#define TP_WRITE_SHARE		0.01
#define TP_OTHER_SHARE		1.0

/*
 * Multiply the cost of a strategy by the first factor if the strategy needs
 * the access method or STORAGE MAIN, and by the second if it needs another
 * type.  Do so only if it is not the column's current strategy.  Two
 * strategies count as equal if their costs differ by no more than the last
 * factor.  Together, these factors stay below 8 %, so that the recommendation
 * is within 10 % of the best strategy in spite of sampling errors.
 */
#define TP_POLICY_HANDICAP	1.02
#define TP_TYPE_HANDICAP	1.05
#define TP_TOLERANCE		1.025

/* Significant digits of a number in the result, and digits after the point */
#define TP_DIGITS			3
#define TP_DECIMALS			2

/*
 * Of the strategies that count as equal, drop those whose compression takes
 * longer than the quickest one by more than this part of the cost.
 */
#define TP_WASTE			0.05

/* Check that the relation can have TOASTable values of its own. */
void
tp_check_kind(Relation rel)
{
	switch (rel->rd_rel->relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_MATVIEW:
		case RELKIND_PARTITIONED_TABLE:
			break;
		case RELKIND_FOREIGN_TABLE:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" is a foreign table", RelationGetRelationName(rel)),
					 errdetail("Values of a foreign table are not stored in this database.")));
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" is not a table or materialized view",
							RelationGetRelationName(rel))));
	}
	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	if (!RelationIsPermanent(rel) && RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));
	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE &&
		rel->rd_rel->relam != HEAP_TABLE_AM_OID &&
		rel->rd_rel->relam != tp_access_method_oid(true))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" uses access method \"%s\"",
						RelationGetRelationName(rel),
						get_am_name(rel->rd_rel->relam)),
				 errdetail("toast_policy works on tables of access method \"heap\" only.")));
}

/* Find the column, and check that its values can be toasted. */
AttrNumber
tp_check_column(Relation rel, const char *name)
{
	AttrNumber	attnum = get_attnum(RelationGetRelid(rel), name);
	Form_pg_attribute att;

	if (attnum == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						name, RelationGetRelationName(rel))));
	if (attnum < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("system column \"%s\" cannot be toasted", name)));

	att = TupleDescAttr(RelationGetDescr(rel), attnum - 1);
	if (tp_column_is_virtual(att))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" cannot be toasted", name),
				 errdetail("Values of a virtual generated column are not stored.")));
	if (!TypeIsToastable(att->atttypid))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" cannot be toasted", name),
				 errdetail("Values of data type %s are never compressed or stored out of line.",
						   format_type_be(att->atttypid))));
	if (tp_is_compressed_type(att->atttypid))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("nothing to compare for column \"%s\"", name),
				 errdetail("Values of data type %s are compressed by the type itself.",
						   format_type_be(att->atttypid))));

	return attnum;
}

/*
 * Check that the caller may read all of a column's values, or at least one
 * column if no column is named.  Take no lock: nobody may queue for a lock on a
 * table that they must not read.  If the relation does not exist, leave the
 * error to the caller.
 */
void
tp_check_privileges(Oid relid, const char *column)
{
	char	   *relname = get_rel_name(relid);
	Oid			schema = get_rel_namespace(relid);

	if (relname == NULL || !OidIsValid(schema))
		return;
	if (!compat_has_privilege(NamespaceRelationId, schema, GetUserId(), ACL_USAGE))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SCHEMA, get_namespace_name(schema));
	if (pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
	{
		AttrNumber	attnum = column != NULL ? get_attnum(relid, column) : InvalidAttrNumber;

		if (attnum == InvalidAttrNumber &&
			(column != NULL ||
			 pg_attribute_aclcheck_all(relid, GetUserId(), ACL_SELECT, ACLMASK_ANY) != ACLCHECK_OK))
			aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relid)),
						   relname);
		if (attnum != InvalidAttrNumber &&
			pg_attribute_aclcheck(relid, attnum, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
			aclcheck_error_col(ACLCHECK_NO_PRIV, OBJECT_COLUMN, relname, column);
	}
	if (check_enable_rls(relid, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security hides rows of table \"%s\"", relname),
				 errhint("The measurement needs all rows: call the function as a role that bypasses row-level security.")));
}

/* Open the tables that contain the rows: the partitions, or the table itself. */
void
tp_open_sources(TpComparison *comparison)
{
	List	   *relids = list_make1_oid(RelationGetRelid(comparison->rel));
	ListCell   *cell;

	if (comparison->rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		relids = find_all_inheritors(RelationGetRelid(comparison->rel), AccessShareLock, NULL);
	comparison->sources = palloc0(list_length(relids) * sizeof(TpSource));
	foreach(cell, relids)
	{
		Relation	rel = relation_open(lfirst_oid(cell), NoLock);
		TpSource   *source = &comparison->sources[comparison->nsources];

		if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		{
			relation_close(rel, NoLock);
			continue;
		}
		if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
		{
			ereport(comparison->quiet ? DEBUG1 : NOTICE,
					(errmsg("skipping foreign table \"%s\"", RelationGetRelationName(rel))));
			relation_close(rel, NoLock);
			continue;
		}
		tp_check_kind(rel);
		source->rel = rel;
		source->attnum = get_attnum(lfirst_oid(cell), NameStr(comparison->att.attname));
		source->blocks = RelationGetNumberOfBlocks(rel);
		comparison->blocks += source->blocks;
		comparison->has_toast |= OidIsValid(rel->rd_rel->reltoastrelid);
		comparison->nsources++;
	}
	list_free(relids);
}

/*
 * Trials
 */

/* Examine one row of the sample; it has a value in the column. */
static void
tp_try_row(TpComparison *comparison, const TpSource *source, TupleTableSlot *slot)
{
	int			target = source->attnum - 1;
	struct varlena *value;
	char	   *buffer;
	int32		size;
	TpSampleRow row;

	tp_row_read(&row, source->rel, target, slot);
	value = (struct varlena *) DatumGetPointer(slot->tts_values[target]);
	value = row.rawsize > TP_MAX_PIECE ?
		detoast_attr_slice(value, 0, TP_MAX_PIECE) : detoast_attr(value);
	size = VARSIZE_ANY_EXHDR(value);
	buffer = palloc(Max(size, 1));
	for (int i = 0; i < comparison->ntrials; i++)
	{
		CHECK_FOR_INTERRUPTS();
		tp_try_codec(&comparison->trials[i], VARDATA_ANY(value), size, row.rawsize, buffer);
	}
	for (int i = 0; i < comparison->nstrategies; i++)
	{
		comparison->strategies[i].heap.reserve =
			RelationGetTargetPageFreeSpace(source->rel, HEAP_DEFAULT_FILLFACTOR);
		tp_row_store(&row, &comparison->strategies[i]);
	}
	comparison->stored_bytes += toast_datum_size(slot->tts_values[target]);
	comparison->sampled += 1;
	comparison->sampled_bytes += row.rawsize;
}

/* Examine the rows of the sample. */
static void
tp_try_rows(TpComparison *comparison)
{
	TupleTableSlot **slots = palloc0(comparison->nsources * sizeof(TupleTableSlot *));
	MemoryContext rowcxt = AllocSetContextCreate(CurrentMemoryContext, "toast_policy comparison",
												 ALLOCSET_DEFAULT_SIZES);
	double		effort = 0;

	for (int i = 0; i < comparison->nrows && effort < comparison->effort; i++)
	{
		TpRowId    *id = &comparison->rows[i];
		TpSource   *source = &comparison->sources[id->source];
		double		bytes = comparison->sampled_bytes;
		MemoryContext oldcxt;

		CHECK_FOR_INTERRUPTS();
		if (slots[id->source] == NULL)
			slots[id->source] = table_slot_create(source->rel, NULL);
		/* the active snapshot found the row, so the row still exists */
		if (!table_tuple_fetch_row_version(source->rel, &id->tid, GetActiveSnapshot(),
										   slots[id->source]))
			elog(ERROR, "could not find a row of the sample again");
		oldcxt = MemoryContextSwitchTo(rowcxt);
		tp_try_row(comparison, source, slots[id->source]);
		MemoryContextSwitchTo(oldcxt);
		MemoryContextReset(rowcxt);
		effort += Min(comparison->sampled_bytes - bytes, TP_MAX_PIECE);
		ExecClearTuple(slots[id->source]);
	}
	for (int i = 0; i < comparison->nsources; i++)
		if (slots[i] != NULL)
			ExecDropSingleTupleTableSlot(slots[i]);
	MemoryContextDelete(rowcxt);
}

/*
 * Strategies
 */

/*
 * Return the trial of the codec at the given level.  If there is no such
 * trial, make a trial.
 */
static TpTrial *
tp_get_trial(TpComparison *comparison, TpCodec codec, int level)
{
	TpTrial    *trial;

	for (int i = 0; i < comparison->ntrials; i++)
		if (comparison->trials[i].codec == codec && comparison->trials[i].level == level)
			return &comparison->trials[i];

	Assert(comparison->ntrials < TP_MAX_TRIALS);
	trial = &comparison->trials[comparison->ntrials++];
	trial->codec = codec;
	trial->level = level;
	trial->budget_us = comparison->budget_us;

	return trial;
}

/*
 * Add a strategy.  TP_NONE means no codec, and level 0 a codec without levels.
 */
static void
tp_add_strategy(TpComparison *comparison, const char *name, TpMethod method, char storage,
				TpCodec codec, int level)
{
	TpStrategy *strategy;
	TpTrial    *trial = codec != TP_NONE ? tp_get_trial(comparison, codec, level) : NULL;

	/* toast_policy.lz4_level may be equal to one of the other levels */
	for (int i = 0; i < comparison->nstrategies; i++)
		if (comparison->strategies[i].method == method &&
			comparison->strategies[i].storage == storage && comparison->strategies[i].trial == trial)
			return;

	Assert(comparison->nstrategies < TP_MAX_STRATEGIES);
	strategy = &comparison->strategies[comparison->nstrategies++];
	strategy->name = name;
	strategy->method = method;
	strategy->storage = storage;
	strategy->trial = trial;
}

/* Make the strategies, in the order in which equal ones are preferred. */
static void
tp_make_strategies(TpComparison *comparison)
{
	static const int levels[] = {0, 4, 9, TP_LZ4_MAX_LEVEL};
	Oid			typid = getBaseType(comparison->att.atttypid);
	TpCodec		codecs[2] = {TP_PGLZ, TP_LZ4};
	int			ncodecs = 1;
	const char *type = NULL;

#ifdef USE_LZ4
	ncodecs = 2;
#endif
	for (int i = 0; i < ncodecs; i++)
		tp_add_strategy(comparison, "extended", TP_BY_STORAGE, TYPSTORAGE_EXTENDED, codecs[i], 0);
	for (int i = 0; i < ncodecs; i++)
		tp_add_strategy(comparison, "main", TP_BY_STORAGE, TYPSTORAGE_MAIN, codecs[i], 0);
	tp_add_strategy(comparison, "external", TP_BY_STORAGE, TYPSTORAGE_EXTERNAL, TP_NONE, 0);
	tp_add_strategy(comparison, "toast_policy", TP_BY_POLICY, TYPSTORAGE_EXTERNAL, TP_PGLZ, 0);
	if (ncodecs > 1)
	{
		for (int i = 0; i < (int) lengthof(levels); i++)
			tp_add_strategy(comparison, "toast_policy", TP_BY_POLICY, TYPSTORAGE_EXTERNAL,
							TP_LZ4, levels[i]);
		tp_add_strategy(comparison, "toast_policy", TP_BY_POLICY, TYPSTORAGE_EXTERNAL,
						TP_LZ4, tp_lz4_level);
	}

	if (typid == TEXTOID || typid == VARCHAROID)
		type = "ztext";
	else if (typid == BYTEAOID)
		type = "zbytea";
	if (type != NULL)
	{
		tp_add_strategy(comparison, type, TP_BY_TYPE, TYPSTORAGE_EXTERNAL, TP_LZ4, tp_lz4_level);
		tp_add_strategy(comparison, type, TP_BY_TYPE, TYPSTORAGE_EXTERNAL, TP_SNAPPY, 0);
		tp_add_strategy(comparison, type, TP_BY_TYPE, TYPSTORAGE_EXTERNAL, TP_ZSTD, tp_zstd_level);
	}
}

/* Mark the strategy by which new values of the column are stored now. */
static void
tp_mark_current(TpComparison *comparison)
{
	char		compression = comparison->att.attcompression;
	TpCodec		codec;
	Oid			own = tp_access_method_oid(true);
	Relation	rel = comparison->nsources > 0 ? comparison->sources[0].rel : comparison->rel;
	bool		governed = OidIsValid(own) && rel->rd_rel->relam == own &&
		tp_column_is_governed(&comparison->att);

	if (!CompressionMethodIsValid(compression))
		compression = default_toast_compression;
	codec = compression == TOAST_LZ4_COMPRESSION ? TP_LZ4 : TP_PGLZ;
	for (int i = 0; i < comparison->nstrategies; i++)
	{
		TpStrategy *strategy = &comparison->strategies[i];

		strategy->current = strategy->storage == comparison->att.attstorage &&
			strategy->method == (governed ? TP_BY_POLICY : TP_BY_STORAGE) &&
			(strategy->trial == NULL ||
			 (strategy->trial->codec == codec &&
			  strategy->trial->level == (governed && codec == TP_LZ4 ? tp_lz4_level : 0)));
	}
}

/*
 * Return the factor by which a strategy counts as worse because of its
 * requirements.  MAIN has no requirements, but makes the table itself grow
 * with its values.
 */
static double
tp_handicap(const TpStrategy *strategy)
{
	if (strategy->current)
		return 1.0;
	if (strategy->method == TP_BY_TYPE)
		return TP_TYPE_HANDICAP;
	if (strategy->method == TP_BY_POLICY || strategy->storage == TYPSTORAGE_MAIN)
		return TP_POLICY_HANDICAP;

	return 1.0;
}

/* Scale a strategy's counts to the whole table, and compute its cost. */
static void
tp_evaluate(const TpComparison *comparison, TpStrategy *strategy)
{
	double		block_scale = comparison->sampled_blocks > 0 ?
		comparison->blocks / comparison->sampled_blocks : 0;
	double		n = comparison->sampled;
	double		values = comparison->seen * block_scale;
	double		rows = n > 0 ? values / n : 0;
	double		bytes = rows;
	double		heap;
	double		toast;
	double		own = 0;

	/* scale the space of values out of line by their bytes, not by rows */
	if (comparison->sampled_bytes > 0)
		bytes = comparison->seen_bytes / comparison->sampled_bytes * block_scale;

	strategy->sampled_bytes = strategy->inline_bytes + strategy->external_bytes;
	strategy->inline_bytes *= rows;
	strategy->external_bytes *= bytes;
	strategy->chunks *= bytes;
	heap = tp_space_pages(&strategy->heap, rows) +
		tp_space_pages(&comparison->null_heap, block_scale);
	toast = tp_space_pages(&strategy->toast, bytes) +
		tp_space_pages(&comparison->null_toast, block_scale);
	strategy->table_pages = ceil(heap) + ceil(toast);
	strategy->new_pages = ceil(tp_space_new_pages(&strategy->heap, rows) +
							   tp_space_new_pages(&comparison->null_heap, block_scale)) +
		ceil(tp_space_new_pages(&strategy->toast, bytes) +
			 tp_space_new_pages(&comparison->null_toast, block_scale));
	if (comparison->has_toast || toast > 0)
	{
		double		index = tp_toast_index_pages(strategy->toast.chunks * bytes +
												 comparison->null_toast.chunks * block_scale);

		strategy->table_pages += index;
		strategy->new_pages += index;
	}
	if (n == 0)
		return;

	strategy->compress_us /= n;
	strategy->decompress_us /= n;
	if (strategy->toast.used > 0)
		own = tp_space_pages(&strategy->toast, bytes) *
			strategy->toast_used / strategy->toast.used;
	strategy->read_us = TP_ROW_US + strategy->decompress_us +
		TP_FETCH_US * strategy->externals / n +
		TP_CHUNK_US * strategy->chunks / values +
		TP_PAGE_US * (heap + own) / values;
	strategy->cost = strategy->read_us + TP_WRITE_SHARE * strategy->compress_us +
		TP_OTHER_SHARE * (TP_ROW_US + TP_PAGE_US * heap / values);
}

/*
 * Choose a strategy.  Among the strategies that count as equal to the best
 * one, prefer, in this order: a strategy with the fewest requirements, a
 * strategy that wastes no time on compression, the current strategy, the first
 * strategy.  Leave out the strategies that are blocked, unless all is true.
 */
const TpStrategy *
tp_recommend(const TpComparison *comparison, bool all)
{
	const TpStrategy *result = NULL;
	double		best = -1;
	double		least = -1;
	double		cheapest = -1;

	for (int i = 0; i < comparison->nstrategies; i++)
	{
		const TpStrategy *strategy = &comparison->strategies[i];
		double		cost = strategy->cost * tp_handicap(strategy);

		if (strategy->blocker != NULL && !all)
			continue;
		if (best < 0 || cost < best)
			best = cost;
	}
	for (int pass = 0; pass < 3; pass++)
	{
		for (int i = 0; i < comparison->nstrategies; i++)
		{
			const TpStrategy *strategy = &comparison->strategies[i];
			double		handicap = tp_handicap(strategy);

			if (strategy->cost * handicap > best * TP_TOLERANCE ||
				(strategy->blocker != NULL && !all))
				continue;
			if (pass == 0 && (least < 0 || handicap < least))
				least = handicap;
			if (pass == 0 || handicap > least)
				continue;
			if (pass == 1 && (cheapest < 0 || strategy->compress_us < cheapest))
				cheapest = strategy->compress_us;
			if (pass == 1 || strategy->compress_us > cheapest + TP_WASTE * best)
				continue;
			if (result == NULL || strategy->current)
				result = strategy;
		}
	}

	return result;
}

/*
 * Round to TP_DIGITS significant digits, and to at most TP_DECIMALS digits
 * after the point.  Results of a sample, or of a clock, are not more exact.
 */
double
tp_round(double value)
{
	double		unit = pow(10, -TP_DECIMALS);

	while (fabs(value) / unit >= pow(10, TP_DIGITS))
		unit *= 10;

	/* the division gives the double closest to the decimal number */
	return unit < 1 ? rint(value / unit) / rint(1 / unit) : rint(value / unit) * unit;
}

/* Return a number of bytes, chunks or pages.  Round it unless it is exact. */
static Datum
tp_count(const TpComparison *comparison, double value)
{
	bool		exact = comparison->sampled_blocks >= comparison->blocks &&
		comparison->sampled >= comparison->seen;

	return Int64GetDatum((int64) rint(exact ? value : tp_round(value)));
}

/* Return the requirement of a strategy, or "nothing" if there is none. */
static const char *
tp_needs(const TpStrategy *strategy)
{
	if (strategy->method == TP_BY_TYPE)
		return "another type";
	if (strategy->method == TP_BY_POLICY)
		return "the access method";
	if (strategy->storage == TYPSTORAGE_MAIN)
		return "room in the table's pages";

	return "nothing";
}

/* Return the reason why a strategy is recommended or not. */
char *
tp_reason(const TpComparison *comparison, const TpStrategy *strategy,
		  const TpStrategy *recommended)
{
	double		ratio;

	if (comparison->sampled == 0)
		return pstrdup(strategy == recommended && strategy->current ?
					   "no values to measure; this is how the column is stored now" :
					   "no values to measure");
	if (strategy == recommended)
	{
		bool		least = true;

		for (int i = 0; i < comparison->nstrategies; i++)
			least &= strategy->cost <= comparison->strategies[i].cost;

		return psprintf("%s to read and write%s",
						least ? "costs least" : "no other costs clearly less",
						strategy->current ? "; this is how the column is stored now" : "");
	}

	/* round to percent; do not report 1 % if strategies count as equal */
	ratio = rint(100 * strategy->cost / recommended->cost - 100);
	if (ratio >= 1 && strategy->cost * tp_handicap(strategy) >
		recommended->cost * tp_handicap(recommended) * TP_TOLERANCE)
		return psprintf("costs %.0f %% more to read and write than the recommended way", ratio);
	if (tp_handicap(strategy) > tp_handicap(recommended))
		return psprintf("about as good as the recommended way, but needs %s",
						tp_needs(strategy));
	if (strategy->compress_us > recommended->compress_us + TP_WASTE * recommended->cost)
		return pstrdup("about as good as the recommended way, but takes longer to compress");

	return pstrdup("about as good as the recommended way");
}

/* Add the row of one strategy to the result. */
static void
tp_put_strategy(ReturnSetInfo *rsinfo, const TpComparison *comparison,
				const TpStrategy *strategy, const TpStrategy *recommended)
{
	Datum		values[13];
	bool		nulls[13] = {0};
	const TpTrial *trial = strategy->trial;
	double		raw_bytes = 0;

	if (comparison->sampled_blocks > 0)
		raw_bytes = comparison->seen_bytes * comparison->blocks / comparison->sampled_blocks;

	values[0] = CStringGetTextDatum(strategy->name);
	values[1] = CStringGetTextDatum(tp_codec_name(trial ? trial->codec : TP_NONE));
	values[2] = Int32GetDatum(trial ? trial->level : 0);
	nulls[2] = trial == NULL || (trial->codec != TP_LZ4 && trial->codec != TP_ZSTD);
	values[3] = Int64GetDatum((int64) comparison->sampled);
	values[4] = tp_count(comparison, raw_bytes);
	values[5] = tp_count(comparison, strategy->inline_bytes + strategy->external_bytes);
	values[6] = tp_count(comparison, strategy->chunks);
	values[7] = tp_count(comparison, strategy->table_pages);
	values[8] = Float8GetDatum(tp_round(strategy->compress_us));
	values[9] = Float8GetDatum(tp_round(strategy->decompress_us));
	values[10] = Float8GetDatum(tp_round(strategy->read_us));
	nulls[8] = nulls[9] = nulls[10] = comparison->sampled == 0;
	values[11] = BoolGetDatum(strategy == recommended);
	values[12] = CStringGetTextDatum(tp_reason(comparison, strategy, recommended));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Check the size of a sample, which is the argument of that name. */
void
tp_check_sample(const char *argument, int size)
{
	if (size < 1 || size > TP_MAX_SAMPLE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 1 and %d, not %d", argument, TP_MAX_SAMPLE, size)));
}

/*
 * Measure the ways to store a column in a sample of that many pages, with at
 * most as many rows.  Let each codec compress about that many raw bytes, and
 * measure its speed for about that time, which is in microseconds.  The caller
 * has locked and checked the relation.  If quiet, give no notice about
 * partitions that are left out.
 */
TpComparison *
tp_measure(Relation rel, AttrNumber attnum, int sample_rows, double effort,
		   double budget_us, bool quiet)
{
	TpComparison *comparison = palloc0(sizeof(TpComparison));

	comparison->quiet = quiet;
	comparison->rel = rel;
	comparison->sample_rows = sample_rows;
	comparison->effort = effort;
	comparison->budget_us = budget_us;
	comparison->att = *TupleDescAttr(RelationGetDescr(rel), attnum - 1);
	tp_open_sources(comparison);
	tp_make_strategies(comparison);
	tp_mark_current(comparison);
	tp_sample(comparison);
	tp_try_rows(comparison);
	/* up to megabytes, and advise() measures many columns */
	pfree(comparison->rows);
	comparison->rows = NULL;
	for (int i = 0; i < comparison->nstrategies; i++)
		tp_evaluate(comparison, &comparison->strategies[i]);

	return comparison;
}

/* Close the tables of a comparison, but keep the locks. */
void
tp_end_measure(TpComparison *comparison)
{
	for (int i = 0; i < comparison->nsources; i++)
		relation_close(comparison->sources[i].rel, NoLock);
	comparison->nsources = 0;
	pfree(comparison->sources);
	comparison->sources = NULL;
}

/*
 * toast_policy.compare(relation regclass, column_name name, sample_rows int4)
 * returns setof record
 *
 * Return one row for each way to store the column.  The row has the codec, its
 * level (NULL if there is none), and the number of examined values.  It has
 * these numbers for the whole table: the column's raw bytes, the bytes and
 * chunks that would be stored, and the pages of the table, its TOAST table and
 * the TOAST table's index.  It has the average times to compress, decompress
 * and read a value.  It tells whether this way is recommended, which is true
 * in exactly one row, and why.  Times, and numbers that are estimated from a
 * part of the values, are rounded to three digits.  If there is no value, the
 * counts of values, bytes and chunks are zero, the times are NULL, and the
 * recommendation is to leave the column as it is.
 *
 * Errors: 42809 if the relation is not a table or materialized view; 42703 if
 * the column does not exist, 0A000 if it cannot be toasted; 22023 for a
 * sample_rows out of range; 42501 if the caller may not read all the column's
 * values.
 */
Datum
tp_compare(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			relid = PG_GETARG_OID(0);
	const char *column = NameStr(*PG_GETARG_NAME(1));
	int			sample_rows = PG_GETARG_INT32(2);
	Relation	rel;
	AttrNumber	attnum;
	TpComparison *comparison;
	const TpStrategy *recommended;

	tp_check_sample("sample_rows", sample_rows);
	tp_check_privileges(relid, column);
	rel = try_relation_open(relid, AccessShareLock);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	tp_check_kind(rel);
	attnum = tp_check_column(rel, column);
	/* the privileges may have changed while we waited for the lock */
	tp_check_privileges(relid, column);

	InitMaterializedSRF(fcinfo, 0);
	comparison = tp_measure(rel, attnum, sample_rows, TP_MAX_EFFORT, TP_MEASURE_US, false);
	recommended = tp_recommend(comparison, true);
	for (int i = 0; i < comparison->nstrategies; i++)
		tp_put_strategy(rsinfo, comparison, &comparison->strategies[i], recommended);
	tp_end_measure(comparison);
	relation_close(rel, NoLock);

	PG_RETURN_NULL();
}
