/*-------------------------------------------------------------------------
 *
 * compact_advise_rows.c
 *	  Read the rows and the defaults of a table for the advice.
 *
 * The first pass over the rows finds the properties that all values of a column
 * share.  Constant defaults count as values, since they are values of future
 * rows.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_advise_rows.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/resowner.h"
#include "utils/sampling.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "compact_advise.h"
#include "compact_advise_size.h"
#include "compact_ddl.h"
#include "compact_scalar.h"
#include "compact_types_compat.h"

/* a fixed seed: take the same pages each time, to give the same advice */
#define SAMPLE_SEED			20240607

/*
 * Reading rows
 */

/* Return the number of bytes that a pg_type.typalign stands for. */
int
compact_advise_align_bytes(char align)
{
	switch (align)
	{
		case TYPALIGN_CHAR:
			return 1;
		case TYPALIGN_SHORT:
			return ALIGNOF_SHORT;
		case TYPALIGN_INT:
			return ALIGNOF_INT;
		default:
			return ALIGNOF_DOUBLE;
	}
}

/*
 * Call the callback for every row in at most max_pages pages, or in all pages
 * if max_pages is 0.  Set advice->sampled_blocks to the number of pages.
 */
void
compact_advise_scan_rows(Advice *advice, int max_pages, RowCallback callback, void *arg)
{
	Relation	rel = advice->rel;
	BlockNumber nblocks = advice->nblocks;
	TupleTableSlot *slot;
	TableScanDesc scan = NULL;
	BlockSamplerData sampler;
	bool		all = (max_pages == 0 || nblocks <= (BlockNumber) max_pages);
	MemoryContext rowcxt;
	MemoryContext oldcxt;

	advice->sampled_blocks = all ? nblocks : (BlockNumber) max_pages;
	if (nblocks == 0)
		return;
	if (!all)
		BlockSampler_Init(&sampler, nblocks, max_pages, SAMPLE_SEED);
	else						/* in physical order: no synchronized scan */
		scan = table_beginscan_strat(rel, GetActiveSnapshot(), 0, NULL, true, false);
	slot = table_slot_create(rel, NULL);
	rowcxt = AllocSetContextCreate(CurrentMemoryContext, "compact_types row",
								   ALLOCSET_DEFAULT_SIZES);

	while (all || BlockSampler_HasMore(&sampler))
	{
		ItemPointerData mintid;
		ItemPointerData maxtid;

		if (!all)
		{
			BlockNumber block = BlockSampler_Next(&sampler);

			ItemPointerSet(&mintid, block, FirstOffsetNumber);
			ItemPointerSet(&maxtid, block, MaxOffsetNumber);
			if (scan == NULL)
				scan = compat_beginscan_tidrange(rel, GetActiveSnapshot(), &mintid, &maxtid);
			else
				table_rescan_tidrange(scan, &mintid, &maxtid);
		}
		while (all ? table_scan_getnextslot(scan, ForwardScanDirection, slot) :
			   table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
		{
			CHECK_FOR_INTERRUPTS();
			slot_getallattrs(slot);
			oldcxt = MemoryContextSwitchTo(rowcxt);
			callback(advice, slot, arg);
			MemoryContextSwitchTo(oldcxt);
			MemoryContextReset(rowcxt);
		}
		if (all)
			break;
	}
	if (scan)
		table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextDelete(rowcxt);
}

/*
 * Return the size of a value as the server would store it in a new row, before
 * any toasting.
 */
ItemSize
compact_advise_item_size(Datum value, int len, char align, char storage)
{
	struct varlena *varlena;

	if (len > 0)
		return ITEM (len, compact_advise_align_bytes(align));

	if (len == -2)
		return ITEM (strlen(DatumGetCString(value)) + 1, 1);

	varlena = (struct varlena *) DatumGetPointer(value);
	if (VARATT_IS_EXTERNAL_ONDISK(varlena))
	{
		struct varatt_external pointer;

		/* a rewrite fetches the value, still compressed, and toasts it anew */
		VARATT_EXTERNAL_GET_POINTER(pointer, varlena);
		return ITEM (VARATT_EXTERNAL_GET_EXTSIZE(pointer) + VARHDRSZ, compact_advise_align_bytes(align));
	}
	if (VARATT_IS_SHORT(varlena))
		return ITEM (VARSIZE_SHORT(varlena), 1);

	if (storage != TYPSTORAGE_PLAIN && VARATT_CAN_MAKE_SHORT(varlena))
		return ITEM (VARATT_CONVERTED_SHORT_SIZE(varlena), 1);

	return ITEM (VARSIZE_ANY(varlena), compact_advise_align_bytes(align));
}

/* Record the properties that the string shares with the others. */
static void
look_at_string(AdviseColumn *column, Datum value)
{
	Size		size = toast_raw_datum_size(value) - VARHDRSZ;
	text	   *str;
	int			len;
	const char *data;

	if (size > ADVISE_MAX_STRING)
	{
		column->unfit = true;
		compact_advise_native_rule_out(column->native);
		return;
	}
	str = DatumGetTextPP(value);
	data = VARDATA_ANY(str);
	len = VARSIZE_ANY_EXHDR(str);
	if (len > 0 && data[len - 1] == ' ')
		column->trailing_blanks = true;
	if (column->att->atttypid == BPCHAROID)
	{
		while (len > 0 && data[len - 1] == ' ')
			len--;
	}
	if (column->nvalues == 0 || len < column->min_bytes)
		column->min_bytes = len;
	column->max_bytes = Max(column->max_bytes, len);
	compact_advise_native_look(column->native, data, len);
	if (!column->multibyte && pg_database_encoding_max_length() > 1)
	{
		for (int i = 0; i < len; i++)
		{
			if (IS_HIGHBIT_SET(data[i]))
			{
				column->multibyte = true;
				break;
			}
		}
	}
}

static void
look_at_integer(AdviseColumn *column, int64 value)
{
	if (column->nvalues == 0)
		column->min = column->max = value;
	column->min = Min(column->min, value);
	column->max = Max(column->max, value);
}

/* Record the properties that the value shares with the others. */
static void
look_at_value(AdviseColumn *column, Datum value)
{
	switch (column->att->atttypid)
	{
		case BPCHAROID:
		case VARCHAROID:
		case TEXTOID:
			look_at_string(column, value);
			break;
		case INT2OID:
			look_at_integer(column, DatumGetInt16(value));
			break;
		case INT4OID:
			look_at_integer(column, DatumGetInt32(value));
			break;
		case INT8OID:
			look_at_integer(column, DatumGetInt64(value));
			break;
		case NUMERICOID:
			if (numeric_is_nan(DatumGetNumeric(value)) ||
				numeric_is_inf(DatumGetNumeric(value)) ||
				(compact_advise_is_wide_integer(column) &&
				 !compact_uint8_holds(DatumGetNumeric(value))))
				column->unfit = true;
			break;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			{
				Timestamp	time = DatumGetTimestamp(value);

				if (TIMESTAMP_NOT_FINITE(time) || time % USECS_PER_SEC != 0 ||
					!compact_seconds_in_range(time / USECS_PER_SEC + SECONDS_EPOCH_DIFFERENCE))
					column->unfit = true;
			}
			break;
		default:
			break;
	}
}

/* Pass 1: find the properties that all values share. */
void
compact_advise_look_at_row(Advice *advice, TupleTableSlot *slot, void *arg)
{
	advice->sampled_rows++;
	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];
		Form_pg_attribute att = column->att;
		Datum		value = slot->tts_values[att->attnum - 1];

		if (slot->tts_isnull[att->attnum - 1])
			continue;
		look_at_value(column, value);
		column->nvalues++;
		column->bytes_now += ITEM_SIZE(compact_advise_item_size(value, att->attlen, att->attalign,
																att->attstorage));
	}
}

/*
 * Defaults
 */

/* Return true if a user created the function. */
static bool
is_users_function(Oid funcid, void *context)
{
	return funcid >= FirstNormalObjectId;
}

/* Return true if evaluating the expression would call functions of users. */
static bool
calls_users_functions(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (check_functions_in_node(node, is_users_function, context))
		return true;
	/* these call CHECK constraints of a domain, or a type's comparison */
	if (IsA(node, CoerceToDomain) ||
		(IsA(node, MinMaxExpr) && exprType(node) >= FirstNormalObjectId))
		return true;

	return expression_tree_walker(node, calls_users_functions, context);
}

/* Do the same as calls_users_functions(), for other files. */
bool
compact_advise_calls_users_functions(Node *node)
{
	return calls_users_functions(node, NULL);
}

/*
 * Evaluate an immutable default, and examine it as one of the values.  Ignore
 * a default whose evaluation fails, because no row can get this value.
 * Evaluate the default as the table's owner, because some built-in functions
 * call code of the owner: CHECK constraints of a domain, or a cast to json.
 */
static void
evaluate_default(Advice *advice, AdviseColumn *column, Expr *expr)
{
	MemoryContext oldcxt = CurrentMemoryContext;
	ResourceOwner oldowner = CurrentResourceOwner;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(oldcxt);
	PG_TRY();
	{
		Oid			save_userid;
		int			save_sec_context;
		int			nestlevel;
		EState	   *estate;
		ExprContext *econtext;
		ExprState  *state;
		Datum		value;
		bool		isnull;

		nestlevel = compact_ddl_become(advice->rel->rd_rel->relowner, true, &save_userid, &save_sec_context);
		estate = CreateExecutorState();
		econtext = GetPerTupleExprContext(estate);
		state = ExecPrepareExpr(expr, estate);
		value = ExecEvalExprSwitchContext(state, econtext, &isnull);
		if (!isnull)
			look_at_value(column, value);
		FreeExecutorState(estate);
		compact_ddl_return_to(save_userid, save_sec_context, nestlevel);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(oldcxt);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
			ReThrowError(error);
		FreeErrorData(error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(oldcxt);
	CurrentResourceOwner = oldowner;
}

/*
 * Examine the defaults, which are values of future rows.  Call no functions of
 * users: the caller need not trust them.
 */
void
compact_advise_look_at_defaults(Advice *advice)
{
	TupleConstr *constr = RelationGetDescr(advice->rel)->constr;

	for (int d = 0; constr && d < constr->num_defval; d++)
	{
		for (int i = 0; i < advice->ncolumns; i++)
		{
			AdviseColumn *column = &advice->columns[i];
			AdviseColumn before = *column;
			Expr	   *expr;

			if (column->att->attnum != constr->defval[d].adnum ||
				column->att->attgenerated != '\0' || column->nvalues == 0)
				continue;
			expr = (Expr *) stringToNode(constr->defval[d].adbin);
			if (contain_mutable_functions((Node *) expr))
				column->mutable_default = true;
			else if (calls_users_functions((Node *) expr, NULL))
				column->unknown_default = true;
			else
				evaluate_default(advice, column, expr);
			column->default_counts = (before.min != column->min || before.max != column->max ||
									  before.multibyte != column->multibyte ||
									  before.max_bytes != column->max_bytes ||
									  before.unfit != column->unfit);
		}
	}
}
