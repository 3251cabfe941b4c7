/*-------------------------------------------------------------------------
 *
 * compact_advise.c
 *	  Advise which columns of a table would be smaller with a compact type.
 *
 * The rows of the table, or of a sample of its pages, are read up to three
 * times.  The first pass finds the properties that all values share; the
 * proposals follow from these.  The second pass takes the exact sizes of some
 * rows, before and after; the order of columns is searched in these sizes.
 * The third pass fills simulated pages with rows of the exact sizes, toasting
 * included.  Where the size depends on the value, the real casts convert the
 * values.
 *
 * Nothing here writes, so that advice can be asked of a standby as well.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_advise.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/toast_compression.h"
#include "access/toast_internals.h"
#include "access/tupmacs.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/resowner.h"
#include "utils/rls.h"
#include "utils/ruleutils.h"
#include "utils/sampling.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "compact_advise.h"
#include "compact_ddl.h"
#include "compact_types.h"
#include "compact_types_compat.h"

/* read the same pages each time, for the same answer */
#define SAMPLE_SEED			20240607
/* limits of the sample that orders are compared with: rows, values, pages */
#define ORDER_ROWS			10000
#define ORDER_VALUES		400000
#define SIZE_PAGES			1000
/* values per round of small steps; number of rounds; columns at most */
#define STEP_VALUES			20000000
#define STEP_ROUNDS			10
#define MAX_STEP_COLUMNS	200
/* longer strings are not examined */
#define MAX_LOOK			2000
/* compact_text must save this part of the column */
#define MIN_TEXT_SAVING		0.05

/* seconds4: seconds since 1970 in 32 bits without sign */
#define SECONDS4_EPOCH_SHIFT \
	((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY)

/*
 * Size and alignment of one value in a row, 0 for NULL.  The size of a row, in
 * any order of its columns, is computed from these.
 */
typedef uint32 ItemSize;

#define ITEM(size, align)	(((ItemSize) (size) << 4) | (align))
#define ITEM_SIZE(item)		((item) >> 4)
#define ITEM_ALIGN(item)	((item) & 15)

typedef void (*RowCallback) (Advice *advice, TupleTableSlot *slot, void *arg);

/* Narrower integers, in the order of preference. */
typedef struct NarrowInteger
{
	const char *name;
	Oid			typid;			/* of a core type */
	int			len;
	int64		min;
	int64		max;
} NarrowInteger;

static const NarrowInteger narrow_integers[] = {
	{"uint1", InvalidOid, 1, 0, PG_UINT8_MAX},
	{"int1", InvalidOid, 1, PG_INT8_MIN, PG_INT8_MAX},
	{"int2", INT2OID, 2, PG_INT16_MIN, PG_INT16_MAX},
	{"uint2", InvalidOid, 2, 0, PG_UINT16_MAX},
	{"uint3", InvalidOid, 3, 0, 0xFFFFFF},
	{"int4", INT4OID, 4, PG_INT32_MIN, PG_INT32_MAX}
};

/* One version of a row in the simulation. */
typedef struct RowVersion
{
	ItemSize   *items;
	Datum	   *values;
	char	   *storage;		/* attstorage */
	int		   *compressed;		/* size, 0 if not known yet */
} RowVersion;

typedef struct Simulation
{
	RowVersion	now;
	RowVersion	after;
	int		   *today;			/* order of columns */
	bool		blocked_too;	/* convert blocked columns as well */
} Simulation;

/* Sizes of the rows that the order is searched with. */
typedef struct SizeSample
{
	int64		skip;			/* take every nth row */
	int64		seen;
	int			nrows;
	int			maxrows;
	ItemSize   *now;			/* nrows x ncolumns, sizes in the row itself */
	ItemSize   *after;
	ItemSize   *total;			/* of one row, including values out of line */
	Simulation	sim;
} SizeSample;

/*
 * Reading rows
 */

/* Number of bytes of a pg_type.typalign */
static int
align_bytes(char align)
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
 * Call back for every row in at most max_pages pages, or in all pages if
 * max_pages is 0.  Set advice->sampled_blocks to the number of pages.
 */
static void
scan_rows(Advice *advice, int max_pages, RowCallback callback, void *arg)
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
static ItemSize
item_size(Datum value, int len, char align, char storage)
{
	struct varlena *varlena;

	if (len > 0)
		return ITEM (len, align_bytes(align));

	if (len == -2)
		return ITEM (strlen(DatumGetCString(value)) + 1, 1);

	varlena = (struct varlena *) DatumGetPointer(value);
	if (VARATT_IS_EXTERNAL_ONDISK(varlena))
	{
		struct varatt_external pointer;

		/* a rewrite fetches the value, still compressed, and toasts it anew */
		VARATT_EXTERNAL_GET_POINTER(pointer, varlena);
		return ITEM (VARATT_EXTERNAL_GET_EXTSIZE(pointer) + VARHDRSZ, align_bytes(align));
	}
	if (VARATT_IS_SHORT(varlena))
		return ITEM (VARSIZE_SHORT(varlena), 1);

	if (storage != TYPSTORAGE_PLAIN && VARATT_CAN_MAKE_SHORT(varlena))
		return ITEM (VARATT_CONVERTED_SHORT_SIZE(varlena), 1);

	return ITEM (VARSIZE_ANY(varlena), align_bytes(align));
}

/* Record the properties that the string shares with the others. */
static void
look_at_string(AdviseColumn *column, Datum value)
{
	Size		size = toast_raw_datum_size(value) - VARHDRSZ;
	text	   *str;
	int			len;
	const char *data;

	if (size > MAX_LOOK)
	{
		column->unfit = true;
		advise_native_rule_out(column->native);
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
	advise_native_look(column->native, data, len);
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
				numeric_is_inf(DatumGetNumeric(value)))
				column->unfit = true;
			break;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			{
				Timestamp	time = DatumGetTimestamp(value);

				if (TIMESTAMP_NOT_FINITE(time) || time % USECS_PER_SEC != 0 ||
					time / USECS_PER_SEC + SECONDS4_EPOCH_SHIFT < 0 ||
					time / USECS_PER_SEC + SECONDS4_EPOCH_SHIFT > PG_UINT32_MAX)
					column->unfit = true;
			}
			break;
		default:
			break;
	}
}

/* Pass 1: find the properties that all values share. */
static void
look_at_row(Advice *advice, TupleTableSlot *slot, void *arg)
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
		column->bytes_now += ITEM_SIZE(item_size(value, att->attlen, att->attalign,
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
	/* a domain's CHECK constraints; the comparison function of a type */
	if (IsA(node, CoerceToDomain) ||
		(IsA(node, MinMaxExpr) && exprType(node) >= FirstNormalObjectId))
		return true;

	return expression_tree_walker(node, calls_users_functions, context);
}

/* The same, for other files. */
bool
advise_calls_users_functions(Node *node)
{
	return calls_users_functions(node, NULL);
}

/*
 * Evaluate an immutable default, and examine it as one of the values.  A
 * default whose evaluation fails is the value of no row.  Evaluate it as the
 * table's owner, because some built-in functions call code of that user: CHECK
 * constraints of a domain, or a cast to json.
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

		nestlevel = ddl_become(advice->rel->rd_rel->relowner, true, &save_userid, &save_sec_context);
		estate = CreateExecutorState();
		econtext = GetPerTupleExprContext(estate);
		state = ExecPrepareExpr(expr, estate);
		value = ExecEvalExprSwitchContext(state, econtext, &isnull);
		if (!isnull)
			look_at_value(column, value);
		FreeExecutorState(estate);
		ddl_return_to(save_userid, save_sec_context, nestlevel);
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
static void
look_at_defaults(Advice *advice)
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

/*
 * Proposals
 */

/* Fill in the description of a core type. */
static void
use_core_type(AdviseType *type, const char *name, Oid typid)
{
	bool		byval;

	memset(type, 0, sizeof(AdviseType));
	type->name = pstrdup(name);
	type->typid = typid;
	type->typmod = -1;
	get_typlenbyvalalign(typid, &type->len, &byval, &type->align);
	type->storage = TYPSTORAGE_PLAIN;
	type->sql = format_type_extended(typid, -1, FORMAT_TYPE_FORCE_QUALIFY);
}

static void
block(AdviseColumn *column, const char *what)
{
	column->blockers = lappend(column->blockers, pstrdup(what));
}

/* Propose compact_charN for a blank-padded string of n characters. */
static void
propose_char(Advice *advice, AdviseColumn *column, int n, bool constant)
{
	if (column->unfit || n > MAX_LOOK)
	{
		column->reason = "strings that long gain nothing, and could not be moved out of the row";
		return;
	}
	if (column->multibyte)
	{
		column->reason = psprintf("compact_char%d holds bytes, and there are multi-byte characters", n);
		block(column, "multi-byte values");
		return;
	}
	if (column->max_bytes > n)
	{
		column->reason = psprintf("there are values of more than %d bytes", n);
		return;
	}
	if (!advise_find_type(advice, psprintf("compact_char%d", n), &column->type))
	{
		column->reason = psprintf("compact_char%d is not installed; \"make CHAR_LENGTHS=%d install\" installs it",
								  n, n);
		return;
	}
	column->type.len = n;
	column->type.align = TYPALIGN_CHAR;
	column->kind = ADVISE_CHAR;
	column->reason = psprintf("no length header; %s",
							  constant ? psprintf("all values have %d bytes", n) :
							  pg_database_encoding_max_length() > 1 ?
							  "the limit is in bytes" : "holds every value of the type");
	if (constant)
		column->risk = psprintf("strings of more than %d bytes will be refused", n);
	else if (pg_database_encoding_max_length() > 1)
	{
		column->risk = psprintf("strings of more than %d bytes will be refused, which %d characters outside of ASCII have", n, n);
		column->by_name = !advice->options.narrow;
	}
}

static void
propose_string(Advice *advice, AdviseColumn *column)
{
	Form_pg_attribute att = column->att;
	int			n = att->atttypmod - VARHDRSZ;

	if (OidIsValid(att->attcollation) &&
		!get_collation_isdeterministic(att->attcollation))
	{
		column->reason = "compact strings have no nondeterministic collation";
		block(column, "nondeterministic collation");
	}
	else if (att->atttypid == BPCHAROID)
	{
		if (n > 0)
			propose_char(advice, column, n, false);
		else
			column->reason = "char without a length";
	}
	else if (advice->options.fixed_varchar && !column->unfit &&
			 column->min_bytes == column->max_bytes && column->max_bytes > 0 &&
			 !column->trailing_blanks && !column->multibyte)
		propose_char(advice, column, column->max_bytes, true);
	else if (advise_find_type(advice, "compact_text", &column->type) &&
			 OidIsValid(column->type.typid))
	{
		Oid			funcid;

		switch (find_coercion_pathway(column->type.typid, att->atttypid,
									  COERCION_EXPLICIT, &funcid))
		{
			case COERCION_PATH_FUNC:
				fmgr_info_cxt(funcid, &column->cast, advice->cxt);
				column->cast_nargs = column->cast.fn_nargs;
				break;
			case COERCION_PATH_RELABELTYPE:
				column->cast_nargs = 0;
				break;
			default:
				column->reason = "there is no cast to compact_text";
				return;
		}
		column->kind = ADVISE_TEXT;
		column->type.typmod = att->atttypmod;
		if (att->attstorage != get_typstorage(att->atttypid))
			column->type.storage = att->attstorage;
		column->reason = "short strings are stored encoded; holds every value of the type";
	}
	else
		column->reason = "compact_text is not in this database";
}

/* Add a risk of the proposal. */
static void
add_risk(AdviseColumn *column, const char *risk)
{
	column->risk = column->risk ? psprintf("%s; %s", column->risk, risk) : pstrdup(risk);
}

/*
 * Add the risk that a driver returns a string.  A driver chooses the
 * application's data type by the OID of the column's type.  For a string
 * column, a string is right.  For a number it is not: an application that
 * multiplies it fails, or repeats the string.
 */
static void
add_driver_risk(AdviseColumn *column)
{
	add_risk(column, psprintf("client drivers that were not told of %s return strings", column->type.name));
}

static void
propose_integer(Advice *advice, AdviseColumn *column)
{
	Form_pg_attribute att = column->att;

	char	   *never = NULL;
	bool		asked = advice->options.narrow || (column->is_key && advice->options.narrow_keys);

	/* a caller who narrows keys has considered the references to them */
	if (!advice->options.narrow_keys)
		never = advise_never_narrow(advice, column);
	if (never)
	{
		column->reason = never;
		return;
	}
	for (int i = 0; i < (int) lengthof(narrow_integers); i++)
	{
		const NarrowInteger *type = &narrow_integers[i];
		bool		proven;

		if (type->len >= att->attlen || column->min < type->min || column->max > type->max)
			continue;
		/* leave room for values at least twice as large as those seen */
		proven = advise_range_is_proven(advice, column, type->min, type->max);
		if (!proven && (column->min < type->min / 2 || column->max > type->max / 2 ||
						!advise_room_for_updates(column, advice->updates, type->min, type->max)))
			continue;

		/*
		 * The type is passed by reference.  One byte is worth that only
		 * beside other columns of a key.
		 */
		if (type->len == 3 &&
			(!column->in_wide_index || !advice->options.narrow_keys || column->by_value))
			continue;
		if (OidIsValid(type->typid))
			use_core_type(&column->type, type->name, type->typid);
		else if (!advise_find_type(advice, type->name, &column->type) ||
				 !OidIsValid(column->type.typid))
			continue;

		column->reason = psprintf("values are %lld to %lld, %s holds %lld to %lld%s",
								  (long long) column->min, (long long) column->max,
								  type->name, (long long) type->min, (long long) type->max,
								  proven ? ", and a CHECK constraint allows no others" : "");
		if (column->has_sequence)
			block(column, "the values come from a sequence");
		else if (column->is_key && !advice->options.narrow_keys)
			block(column, "part of a key, narrowed only with narrow_keys => true");
		else
		{
			column->kind = ADVISE_INTEGER;
			if (!proven)
				add_risk(column, psprintf("values below %lld or above %lld will be refused, and no CHECK constraint rules them out",
										  (long long) type->min, (long long) type->max));
			if (OidIsValid(type->typid))
				add_risk(column, psprintf("results of arithmetic that %s does not hold will be refused", type->name));
			else
				add_driver_risk(column);
			column->by_name = !asked;
		}
		return;
	}
	column->reason = psprintf("values %lld to %lld need the width%s",
							  (long long) column->min, (long long) column->max,
							  advice->updates > 0 ? ", or are updated and need room" : "");
}

static void
propose_decimal(Advice *advice, AdviseColumn *column)
{
	int32		typmod = column->att->atttypmod;
	int			precision;
	int			scale;
	int			width;

	if (typmod < (int32) VARHDRSZ)
	{
		column->reason = "numeric without precision and scale";
		return;
	}
	precision = ((typmod - VARHDRSZ) >> 16) & 0xffff;
	scale = advise_numeric_scale(typmod);
	if (scale < 0 || scale > precision || precision > 18)
	{
		column->reason = "no decimal type holds that precision and scale";
		return;
	}
	width = precision <= 9 ? 4 : 8;
	if (column->unfit)
	{
		column->reason = "there are values that are not a number";
		block(column, "NaN");
		return;
	}
	if (!advise_find_type(advice, psprintf("compact_decimal%d_%d", width, scale),
						  &column->type))
	{
		column->reason = psprintf("compact_decimal%d_%d is not installed", width, scale);
		return;
	}
	column->type.len = width;
	column->type.align = width == 4 ? TYPALIGN_INT : TYPALIGN_DOUBLE;
	if (column->bytes_now <= width * column->nvalues)
	{
		column->reason = psprintf("%s would be faster, but not smaller", column->type.name);
		return;
	}
	column->kind = ADVISE_DECIMAL;
	column->reason = "holds every number of the type";
	if (advise_looks_like_coordinate(column))
		add_risk(column, "functions of double precision, as of trigonometry, take a numeric and no decimal");
	add_driver_risk(column);
	add_risk(column, psprintf("numbers of more than %d digits will be accepted", precision));
	column->by_name = !advice->options.narrow;
}

static void
propose_seconds(Advice *advice, AdviseColumn *column)
{
	const char *name = column->att->atttypid == TIMESTAMPOID ? "seconds4" : "seconds4tz";

	if (column->unfit)
	{
		column->reason = psprintf("there are fractions of a second, or values that %s does not hold", name);
		return;
	}
	if (!advise_find_type(advice, name, &column->type) || !OidIsValid(column->type.typid))
	{
		column->reason = psprintf("%s is not in this database", name);
		return;
	}
	if (column->att->atttypmod != 0 && !advice->options.round_seconds)
	{
		column->reason = psprintf("the type holds fractions of a second; %s takes round_seconds => true", name);
		return;
	}
	column->kind = ADVISE_SECONDS;
	column->reason = psprintf("whole seconds from 1970 to 2106-02-07%s",
							  column->att->atttypmod != 0 ? "; fractions will be rounded" : "");
	add_risk(column, psprintf("times before 1970 and after 2106-02-07 and infinity will be refused%s",
							  column->att->atttypmod != 0 ? ", fractions of a second rounded" : ""));
	add_driver_risk(column);
	column->by_name = !advice->options.narrow && !advice->options.round_seconds;
	if (column->mutable_default && column->att->atttypmod != 0)
		block(column, "the default may have fractions of a second");
}

/* Make a proposal for each column from the results of pass 1. */
static void
propose(Advice *advice)
{
	MemoryContext oldcxt = MemoryContextSwitchTo(advice->cxt);

	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];

		column->kind = ADVISE_KEEP;
		column->reason = NULL;
		column->risk = NULL;
		column->by_name = false;
		column->blockers = NIL;
		if (column->att->attgenerated != '\0')
			column->reason = "generated column";
		else if (column->nvalues == 0)
			column->reason = "no values to judge by";
		else
		{
			switch (column->att->atttypid)
			{
				case BPCHAROID:
				case VARCHAROID:
				case TEXTOID:
					propose_string(advice, column);
					break;
				case INT2OID:
				case INT4OID:
				case INT8OID:
					propose_integer(advice, column);
					break;
				case NUMERICOID:
					propose_decimal(advice, column);
					break;
				case TIMESTAMPOID:
				case TIMESTAMPTZOID:
					propose_seconds(advice, column);
					break;
				default:
					column->reason = "no compact type for it";
					break;
			}
		}
		if (column->unknown_default &&
			(column->kind == ADVISE_CHAR || column->kind == ADVISE_INTEGER ||
			 column->kind == ADVISE_SECONDS))
			block(column, "the value of the default is not known");
		if (column->default_counts && column->reason != NULL)
			column->reason = psprintf("%s (the default counts as a value)", column->reason);
		if (column->mentions && column->kind != ADVISE_KEEP)
			column->reason = psprintf("%s; look at what names the column: %s", column->reason, column->mentions);
		/* dependents do not matter for a column that stays as it is */
		if (column->kind != ADVISE_KEEP || column->blockers != NIL)
			column->blockers = list_concat(column->blockers, column->dependents);
	}
	MemoryContextSwitchTo(oldcxt);
}

/* Withdraw a proposal.  The type stays in place for the record. */
static void
keep(AdviseColumn *column, char *reason)
{
	column->kind = ADVISE_KEEP;
	column->blockers = NIL;
	column->risk = NULL;
	column->reason = reason;
}

/*
 * Sizes of rows
 */

/* Cast a value to the column's compact variable-length type. */
static Datum
cast_value(AdviseColumn *column, Datum value)
{
	Oid			collid = column->att->attcollation;

	switch (column->cast_nargs)
	{
		case 0:
			return value;
		case 1:
			return FunctionCall1Coll(&column->cast, collid, value);
		case 2:
			return FunctionCall2Coll(&column->cast, collid, value,
									 Int32GetDatum(column->type.typmod));
		default:
			return FunctionCall3Coll(&column->cast, collid, value,
									 Int32GetDatum(column->type.typmod),
									 BoolGetDatum(true));
	}
}

/* Return true if the value is compressed already. */
static bool
is_compressed(Datum value)
{
	struct varlena *varlena = (struct varlena *) DatumGetPointer(value);

	if (VARATT_IS_EXTERNAL_ONDISK(varlena))
	{
		struct varatt_external pointer;

		VARATT_EXTERNAL_GET_POINTER(pointer, varlena);
		return (int32) VARATT_EXTERNAL_GET_EXTSIZE(pointer) < pointer.va_rawsize - VARHDRSZ;
	}

	return VARATT_IS_COMPRESSED(varlena);
}

/* Compute the item sizes of both versions of a row, before any toasting. */
static void
size_row(Advice *advice, TupleTableSlot *slot, Simulation *sim)
{
	ItemSize   *now = sim->now.items;
	ItemSize   *after = sim->after.items;

	memset(sim->now.compressed, 0, advice->ncolumns * sizeof(int));
	memset(sim->after.compressed, 0, advice->ncolumns * sizeof(int));
	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];
		Form_pg_attribute att = column->att;
		Datum		value = slot->tts_values[att->attnum - 1];
		Datum		new_value = value;

		if (slot->tts_isnull[att->attnum - 1])
		{
			now[i] = after[i] = 0;
			continue;
		}
		now[i] = item_size(value, att->attlen, att->attalign, att->attstorage);
		if (column->kind == ADVISE_KEEP ||
			(!sim->blocked_too && !advise_converts(advice, column)))
			after[i] = now[i];
		else if (column->kind == ADVISE_TEXT)
		{
			new_value = cast_value(column, value);
			after[i] = item_size(new_value, column->type.len, column->type.align,
								 column->type.storage);
		}
		else
			after[i] = ITEM (column->type.len, align_bytes(column->type.align));

		sim->now.values[i] = value;
		sim->after.values[i] = new_value;
	}
}

/* Size of a row's data with the columns in the given order. */
static inline Size
data_size(const ItemSize *items, const int *order, int ncolumns)
{
	Size		size = 0;

	for (int i = 0; i < ncolumns; i++)
	{
		ItemSize	item = items[order[i]];

		if (item != 0)
			size = TYPEALIGN(ITEM_ALIGN(item), size) + ITEM_SIZE(item);
	}

	return size;
}

/* Size of a row's header */
static inline Size
header_size(const ItemSize *items, int ncolumns, bool has_nulls)
{
	Size		size = SizeofHeapTupleHeader;

	for (int i = 0; i < ncolumns && !has_nulls; i++)
		has_nulls = (items[i] == 0);
	if (has_nulls)
		size += BITMAPLEN(ncolumns);

	return MAXALIGN(size);
}

/*
 * Order of columns
 */

typedef struct OrderCost
{
	uint64		aligned;		/* as rows are laid out on pages */
	uint64		plain;			/* shows which way is down on a plateau */
} OrderCost;

static OrderCost
order_cost(const Advice *advice, const ItemSize *items, int nrows, int skip,
		   const int *order)
{
	OrderCost	cost = {0, 0};

	for (int i = 0; i < nrows; i += skip)
	{
		const ItemSize *row = items + (Size) i * advice->ncolumns;
		Size		size = header_size(row, advice->ncolumns, false) +
			data_size(row, order, advice->ncolumns);

		cost.aligned += MAXALIGN(size);
		cost.plain += size;
	}

	return cost;
}

static bool
cost_less(OrderCost a, OrderCost b)
{
	return a.aligned < b.aligned || (a.aligned == b.aligned && a.plain < b.plain);
}

/* Sort key for a starting order of columns; ties keep the table's order. */
static int
sort_key(const AdviseColumn *column, int align, bool fixed, double nulls, int method)
{
	int			key = fixed ? 16 - align : 32;

	switch (method)
	{
		case 0:					/* nullable ones behind the others */
			return key + (fixed && nulls > 0 ? 16 : 0);
		case 1:					/* by alignment only */
			return key;
		default:				/* variable-length ones before bytes */
			return fixed && align == 1 ? 33 : key;
	}
}

/*
 * Find the order of columns with the smallest rows.  Take the best of several
 * sorted orders.  With refine, move single columns as long as that helps.
 */
static void
find_order(Advice *advice, const ItemSize *items, int nrows, bool refine)
{
	int			n = advice->ncolumns;
	int		   *best = advice->order;
	int		   *order = palloc(n * sizeof(int));
	int		   *keys = palloc(n * sizeof(int));
	int			skip;
	OrderCost	today;
	OrderCost	cost;
	OrderCost	step_cost;
	bool		better = true;

	for (int i = 0; i < n; i++)
		best[i] = i;
	advice->reordered = false;
	if (nrows == 0)
		return;
	today = cost = order_cost(advice, items, nrows, 1, best);

	for (int method = 0; method < 3; method++)
	{
		OrderCost	new_cost;

		for (int i = 0; i < n; i++)
		{
			AdviseColumn *column = &advice->columns[i];
			bool		converts = advise_converts(advice, column);
			int			len = converts ? column->type.len : column->att->attlen;
			char		align = converts ? column->type.align : column->att->attalign;

			keys[i] = sort_key(column, align_bytes(align), len > 0,
							   1.0 - (double) column->nvalues / advice->sampled_rows,
							   method);
			order[i] = i;
		}
		/* insertion sort, which is stable */
		for (int i = 1; i < n; i++)
		{
			int			moved = order[i];
			int			j = i;

			for (; j > 0 && keys[order[j - 1]] > keys[moved]; j--)
				order[j] = order[j - 1];
			order[j] = moved;
		}
		new_cost = order_cost(advice, items, nrows, 1, order);
		if (cost_less(new_cost, cost))
		{
			cost = new_cost;
			memcpy(best, order, n * sizeof(int));
		}
	}

	/* try every column in every place, in some rows: cubic in the columns */
	skip = (int) Min(nrows, (double) n * n * n * nrows / STEP_VALUES + 1);
	step_cost = order_cost(advice, items, nrows, skip, best);
	for (int round = 0; refine && better && round < STEP_ROUNDS && n <= MAX_STEP_COLUMNS; round++)
	{
		better = false;
		for (int from = 0; from < n; from++)
		{
			CHECK_FOR_INTERRUPTS();
			for (int to = 0; to < n; to++)
			{
				OrderCost	new_cost;
				int			moved = best[from];

				if (from == to)
					continue;
				memcpy(order, best, n * sizeof(int));
				if (from < to)
					memmove(&order[from], &order[from + 1], (to - from) * sizeof(int));
				else
					memmove(&order[to + 1], &order[to], (from - to) * sizeof(int));
				order[to] = moved;
				new_cost = order_cost(advice, items, nrows, skip, order);
				if (cost_less(new_cost, step_cost))
				{
					step_cost = new_cost;
					memcpy(best, order, n * sizeof(int));
					better = true;
				}
			}
		}
	}

	/* discard an order that makes no row shorter after alignment */
	cost = order_cost(advice, items, nrows, 1, best);
	if (cost.aligned >= today.aligned)
	{
		for (int i = 0; i < n; i++)
			best[i] = i;
	}
	else
		advice->reordered = true;
	pfree(order);
	pfree(keys);
}

/*
 * Withdraw the proposals that save nothing in whole rows.  Search the order of
 * columns, and mark the proposals that gain only in the new order.
 */
static void
choose(Advice *advice, SizeSample *sample)
{
	int			n = advice->ncolumns;
	int			nrows = sample->nrows;
	Size		count = (Size) nrows * n;
	int		   *today = palloc(n * sizeof(int));
	ItemSize   *items = MemoryContextAllocHuge(CurrentMemoryContext,
											   Max(count, 1) * sizeof(ItemSize));
	bool		dropped;

	for (int i = 0; i < n; i++)
	{
		AdviseColumn *column = &advice->columns[i];

		today[i] = i;
		if (column->kind == ADVISE_TEXT && column->nafter > 0)
		{
			double		before = column->bytes_before;

			if (column->bytes_after > before)
				keep(column, "compact_text would be larger than compressed text");
			else if (column->bytes_after > (1.0 - MIN_TEXT_SAVING) * before)
				keep(column, psprintf("compact_text would save only %.1f %% of the column",
									  100.0 * (1.0 - column->bytes_after / before)));
		}
	}

	do
	{
		int			useless = -1;
		double		least = 0;
		OrderCost	all_today;
		OrderCost	all_best;

		dropped = false;
		for (Size k = 0; k < count; k++)
			items[k] = advise_converts(advice, &advice->columns[k % n]) ?
				sample->after[k] : sample->now[k];
		find_order(advice, items, nrows, false);
		all_today = order_cost(advice, items, nrows, 1, today);
		all_best = order_cost(advice, items, nrows, 1, advice->order);
		/* one at a time: two useless proposals may be useful together */
		for (int i = 0; i < n && n <= MAX_STEP_COLUMNS; i++)
		{
			AdviseColumn *column = &advice->columns[i];
			uint64		without;
			double		saved;

			/* fixed-length strings and decimals are faster as well */
			if (!advise_converts(advice, column) ||
				column->kind == ADVISE_CHAR || column->kind == ADVISE_DECIMAL)
				continue;
			CHECK_FOR_INTERRUPTS();
			for (int r = 0; r < nrows; r++)
				items[(Size) r * n + i] = sample->now[(Size) r * n + i];
			without = order_cost(advice, items, nrows, 1, today).aligned;
			column->only_reordered = (without <= all_today.aligned);
			saved = (double) order_cost(advice, items, nrows, 1, advice->order).aligned -
				(double) all_best.aligned;
			for (int r = 0; r < nrows; r++)
				items[(Size) r * n + i] = sample->after[(Size) r * n + i];
			if (column->only_reordered && saved <= 0 &&
				(useless < 0 || saved < least))
			{
				useless = i;
				least = saved;
			}
		}
		if (useless >= 0)
		{
			AdviseColumn *column = &advice->columns[useless];

			keep(column, psprintf("%s would not shorten the rows, because of alignment%s",
								  column->type.name,
								  column->kind == ADVISE_TEXT ? " or TOAST" : ""));
			dropped = true;
		}
	} while (dropped);
	find_order(advice, items, nrows, true);

	for (int i = 0; i < n; i++)
	{
		AdviseColumn *column = &advice->columns[i];

		if (column->kind != ADVISE_KEEP && column->only_reordered)
			column->reason = psprintf("%s; shortens rows only in the best column order",
									  column->reason);
	}
	pfree(items);
	pfree(today);
}

/*
 * Simulation
 */

/* Put a row on the last page or on a new one, as heap_insert() does. */
static void
add_to_pages(AdvisePages *pages, Size size, Size save_free_space)
{
	const Size	nearly_empty = MaxHeapTupleSize -
		(MaxHeapTuplesPerPage / 8 * sizeof(ItemIdData));
	Size		target;

	size = MAXALIGN(size);
	if (size + save_free_space > nearly_empty)
		target = Max(size, nearly_empty);
	else
		target = size + save_free_space;
	if (pages->pages == 0 || pages->free < target + sizeof(ItemIdData))
	{
		pages->pages++;
		pages->free = BLCKSZ - SizeOfPageHeaderData;
	}
	if (pages->free >= size + sizeof(ItemIdData))
		pages->free -= size + sizeof(ItemIdData);
	else
		pages->free = 0;
}

/* Size of the value after an attempt to compress it */
static int
compressed_size(const Advice *advice, const RowVersion *row, int i)
{
	if (row->compressed[i] == 0)
	{
		Datum		value = row->values[i];
		char		method = advice->columns[i].att->attcompression;
		Datum		packed;

		value = PointerGetDatum(detoast_external_attr((struct varlena *) DatumGetPointer(value)));
		packed = toast_compress_datum(value, method);
		row->compressed[i] = DatumGetPointer(packed) ?
			(int) VARSIZE(DatumGetPointer(packed)) : (int) ITEM_SIZE(row->items[i]);
	}

	return row->compressed[i];
}

/*
 * Compute the items of a row as heap_toast_insert_or_update() leaves it.
 * items gets the sizes within the row itself.  total, unless NULL, gets the
 * sizes including values moved out of line.  Return the size of the row.
 */
static Size
store_row(const Advice *advice, const RowVersion *row, const int *order,
		  bool has_nulls, ItemSize *items, ItemSize *total)
{
	int			n = advice->ncolumns;
	Size		header;
	Size		max_size;
	bool	   *compressed;		/* or it cannot be compressed */
	bool		can_externalize = OidIsValid(advice->rel->rd_rel->reltoastrelid);

	/* in today's order, the null bitmap also covers dropped columns */
	header = SizeofHeapTupleHeader;
	for (int i = 0; i < n && !has_nulls; i++)
		has_nulls = (row->items[i] == 0);
	if (has_nulls)
		header += BITMAPLEN(order == advice->order ? n : RelationGetDescr(advice->rel)->natts);
	header = MAXALIGN(header);

	memcpy(items, row->items, n * sizeof(ItemSize));
	if (total)
		memcpy(total, row->items, n * sizeof(ItemSize));
	if (header + data_size(items, order, n) <= TOAST_TUPLE_THRESHOLD)
		return header + data_size(items, order, n);

	compressed = palloc0(n * sizeof(bool));
	for (int round = 1; round <= 4; round++)
	{
		bool		compress = (round == 1 || round == 3);
		bool		main = (round >= 3);

		max_size = (round == 4 ? TOAST_TUPLE_TARGET_MAIN :
					(Size) RelationGetToastTupleTarget(advice->rel, (int) TOAST_TUPLE_TARGET)) - header;
		while (data_size(items, order, n) > max_size && (compress || can_externalize))
		{
			int			biggest = -1;
			Size		biggest_size = MAXALIGN(TOAST_POINTER_SIZE);

			for (int i = 0; i < n; i++)
			{
				char		storage = row->storage[i];

				if (items[i] == 0 || storage == TYPSTORAGE_PLAIN ||
					ITEM_SIZE(items[i]) <= biggest_size)
					continue;
				if (compress && (compressed[i] || is_compressed(row->values[i])))
					continue;
				if (main ? storage != TYPSTORAGE_MAIN :
					(storage != TYPSTORAGE_EXTENDED && storage != TYPSTORAGE_EXTERNAL))
					continue;
				biggest = i;
				biggest_size = ITEM_SIZE(items[i]);
			}
			if (biggest < 0)
				break;
			if (compress)
			{
				compressed[biggest] = true;
				if (row->storage[biggest] != TYPSTORAGE_EXTERNAL)
				{
					int			size = compressed_size(advice, row, biggest);

					if ((Size) size < ITEM_SIZE(items[biggest]))
						items[biggest] = ITEM (size, ALIGNOF_INT);

					if (total)
						total[biggest] = items[biggest];
				}
			}
			if ((round == 1 && ITEM_SIZE(items[biggest]) > max_size && can_externalize) ||
				!compress)
				items[biggest] = ITEM (TOAST_POINTER_SIZE, 1);
		}
	}

	return header + data_size(items, order, n);
}

static Size
stored_size(const Advice *advice, const RowVersion *row, const int *order,
			bool has_nulls)
{
	ItemSize   *items = palloc((advice->ncolumns + 1) * sizeof(ItemSize));

	return store_row(advice, row, order, has_nulls, items, NULL);
}

/* Pass 2: keep the sizes of some rows. */
static void
sample_row(Advice *advice, TupleTableSlot *slot, void *arg)
{
	SizeSample *sample = (SizeSample *) arg;
	Simulation *sim = &sample->sim;
	ItemSize   *now = sample->now + (Size) sample->nrows * advice->ncolumns;
	ItemSize   *after = sample->after + (Size) sample->nrows * advice->ncolumns;

	if (sample->seen++ % sample->skip != 0 || sample->nrows == sample->maxrows)
		return;
	size_row(advice, slot, sim);
	store_row(advice, &sim->now, sim->today, advice->has_dropped, now, sample->total);
	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];

		if (now[i] == 0)
			continue;
		column->nafter++;
		column->bytes_before += ITEM_SIZE(sample->total[i]);
	}
	store_row(advice, &sim->after, sim->today, advice->has_dropped, after, sample->total);
	for (int i = 0; i < advice->ncolumns; i++)
		advice->columns[i].bytes_after += ITEM_SIZE(sample->total[i]);
	sample->nrows++;
}

/* Pass 3: fill the pages of all three tables. */
static void
simulate_row(Advice *advice, TupleTableSlot *slot, void *arg)
{
	Simulation *sim = (Simulation *) arg;
	Size		save = RelationGetTargetPageFreeSpace(advice->rel, HEAP_DEFAULT_FILLFACTOR);

	size_row(advice, slot, sim);
	add_to_pages(&advice->now, stored_size(advice, &sim->now, sim->today, advice->has_dropped), save);
	add_to_pages(&advice->after, stored_size(advice, &sim->after, sim->today, advice->has_dropped), save);
	add_to_pages(&advice->best, stored_size(advice, &sim->after, advice->order, false), save);
}

static void
init_simulation(Advice *advice, Simulation *sim, bool blocked_too)
{
	int			n = advice->ncolumns;
	RowVersion *versions[] = {&sim->now, &sim->after};

	for (int v = 0; v < 2; v++)
	{
		versions[v]->items = palloc0((n + 1) * sizeof(ItemSize));
		versions[v]->values = palloc0((n + 1) * sizeof(Datum));
		versions[v]->storage = palloc0(n + 1);
		versions[v]->compressed = palloc0((n + 1) * sizeof(int));
	}
	sim->today = palloc((n + 1) * sizeof(int));
	sim->blocked_too = blocked_too;
	for (int i = 0; i < n; i++)
	{
		AdviseColumn *column = &advice->columns[i];
		bool		converts = blocked_too ? column->kind != ADVISE_KEEP :
			advise_converts(advice, column);

		sim->today[i] = i;
		sim->now.storage[i] = column->att->attlen == -1 ? column->att->attstorage : TYPSTORAGE_PLAIN;
		sim->after.storage[i] = converts ? column->type.storage : sim->now.storage[i];
	}
}

static void
simulate(Advice *advice, int max_pages)
{
	Simulation	sim;

	memset(&advice->now, 0, sizeof(AdvisePages));
	memset(&advice->after, 0, sizeof(AdvisePages));
	memset(&advice->best, 0, sizeof(AdvisePages));
	init_simulation(advice, &sim, false);
	scan_rows(advice, max_pages, simulate_row, &sim);
}

/*
 * Withdraw proposals of compact_text if the simulated table grew.  Values of
 * compact_text can be so short that the rows stay below the size at which
 * TOAST begins to work, whereas today's values are compressed or moved out of
 * line.  First withdraw those that take more space in their rows; if there are
 * none, withdraw all.
 */
static bool
drop_growing_text(Advice *advice, const SizeSample *sample)
{
	bool		found = false;

	for (int all = 0; all <= 1 && !found; all++)
	{
		for (int i = 0; i < advice->ncolumns; i++)
		{
			AdviseColumn *column = &advice->columns[i];
			int64		growth = 0;

			if (column->kind != ADVISE_TEXT || !advise_converts(advice, column))
				continue;
			for (int r = 0; r < sample->nrows && !all; r++)
			{
				Size		k = (Size) r * advice->ncolumns + i;

				growth += (int64) ITEM_SIZE(sample->after[k]) - (int64) ITEM_SIZE(sample->now[k]);
			}
			if (all || growth > 0)
			{
				keep(column, "the table would grow: TOAST makes its rows shorter than compact_text does");
				found = true;
			}
		}
	}

	return found;
}

/* Return true if the advice converts a column to a type of that kind. */
static bool
proposes(const Advice *advice, AdviseKind kind)
{
	for (int i = 0; i < advice->ncolumns; i++)
	{
		if (advice->columns[i].kind == kind && advise_converts(advice, &advice->columns[i]))
			return true;
	}

	return false;
}

/* Check that the caller may read the relation's rows.  No lock is needed. */
static void
check_readable(Oid relid)
{
	char	   *name = get_rel_name(relid);
	Oid			nspid = get_rel_namespace(relid);

	if (name == NULL || !OidIsValid(nspid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!compat_has_schema_privilege(nspid, GetUserId(), ACL_USAGE))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SCHEMA, get_namespace_name(nspid));
	if (pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(relid, GetUserId(), ACL_SELECT,
								  ACLMASK_ALL) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relid)), name);
	if (check_enable_rls(relid, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security hides rows of table \"%s\"", name),
				 errhint("The advice needs all rows: ask as a user who bypasses row-level security.")));
}

/*
 * Open the table, and check twice that the caller may read its rows.  The
 * first check comes before the lock, so that a user without the privilege
 * neither waits for the lock nor makes others wait.  The second check comes
 * under the lock, because the table may have changed in the meantime.
 */
static Relation
open_table(Oid relid, LOCKMODE lockmode)
{
	Relation	rel;
	const char *name;

	check_readable(relid);
	rel = try_relation_open(relid, lockmode);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	name = RelationGetRelationName(rel);

	if (rel->rd_rel->relkind != RELKIND_RELATION || rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table with rows of its own in a heap", name)));
	if (IsSystemRelation(rel))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("\"%s\" is a system catalog", name)));
	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	if (!RelationIsPermanent(rel) && RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));
	check_readable(relid);

	return rel;
}

/* Examine the views that use columns with a proposal. */
static void
check_views(Advice *advice)
{
	StringInfoData attnums;
	bool		too_deep = false;
	List	   *views;

	initStringInfo(&attnums);
	appendStringInfoString(&attnums, "0");
	for (int i = 0; i < advice->ncolumns; i++)
	{
		if (advice->columns[i].kind != ADVISE_KEEP)
			appendStringInfo(&attnums, ", %d", advice->columns[i].att->attnum);
	}
	views = advise_dependent_views(advice, attnums.data, &too_deep);
	if (too_deep)
		advise_add_blocker(advice, 0, "views are nested too deeply, or refer to themselves");
	else
		(void) advise_look_at_views(advice, views, NULL);
}

/* Make proposals, and find what blocks them. */
static void
judge(Advice *advice)
{
	propose(advice);
	advise_check_indexes(advice);
	advise_look_at_expressions(advice);
	check_views(advice);
}

/*
 * Mark the columns for which a type of three bytes is blocked, so that they
 * get another proposal.  Saving one more byte must not prevent the conversion
 * of the whole table.  Return true if there are such columns.
 */
static bool
avoid_blocked_references(Advice *advice)
{
	bool		found = false;

	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];

		if (column->kind == ADVISE_INTEGER && column->type.len == 3 && column->blockers != NIL)
			column->by_value = found = true;
	}

	return found;
}

/*
 * Make the advice for a table.  funcid is the calling SQL function; its schema
 * is the schema of compact_types.  The table stays open and locked.  The
 * caller must have an active snapshot.
 */
Advice *
advise_make(Oid relid, const AdviseOptions *options, Oid funcid, LOCKMODE lockmode)
{
	Advice	   *advice = palloc0(sizeof(Advice));
	Relation	rel = open_table(relid, lockmode);
	TupleDesc	desc = RelationGetDescr(rel);
	SizeSample	sample;
	int			nestlevel;
	double		rows;

	if (options->sample_pages < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the number of pages to sample must not be negative")));

	advice->rel = rel;
	advice->options = *options;
	advice->cxt = CurrentMemoryContext;
	advice->nspid = get_func_namespace(funcid);
	advice->columns = palloc0((desc->natts + 1) * sizeof(AdviseColumn));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
		{
			advice->has_dropped = true;
			continue;
		}
		if (att->atttypid == BPCHAROID || att->atttypid == VARCHAROID || att->atttypid == TEXTOID)
			advice->columns[advice->ncolumns].native = advise_native_make();
		advice->columns[advice->ncolumns++].att = att;
	}
	advice->order = palloc0((advice->ncolumns + 1) * sizeof(int));
	advice->nblocks = RelationGetNumberOfBlocks(rel);

	scan_rows(advice, options->sample_pages, look_at_row, NULL);
	rows = advice->sampled_rows;

	SPI_connect();
	nestlevel = ddl_set_gucs();
	advise_connect(advice);
	advise_find_blockers(advice);
	advise_find_mentions(advice);
	advise_query("SELECT COALESCE(pg_catalog.pg_stat_get_tuples_updated(%u), 0)", relid);
	advice->updates = SPI_processed == 1 ? strtoll(advise_result(0, 0), NULL, 10) : 0;
	look_at_defaults(advice);
	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];

		column->dependents = column->blockers;
		column->native_type = advise_native_type(advice, column);
	}
	judge(advice);
	if (avoid_blocked_references(advice))
		judge(advice);
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	memset(&sample, 0, sizeof(sample));
	if (advice->sampled_rows > 0)
	{
		BlockNumber sampled_blocks = advice->sampled_blocks;
		int			max_pages = options->sample_pages == 0 ? SIZE_PAGES :
			Min(options->sample_pages, SIZE_PAGES);
		Size		bytes;

		if (sampled_blocks > (BlockNumber) max_pages)
			rows = rows / sampled_blocks * max_pages;
		sample.maxrows = Min(ORDER_ROWS, ORDER_VALUES / Max(advice->ncolumns, 1));
		sample.skip = (int64) (rows / sample.maxrows) + 1;
		bytes = ((Size) sample.maxrows * advice->ncolumns + 1) * sizeof(ItemSize);
		sample.now = MemoryContextAllocHuge(advice->cxt, bytes);
		sample.after = MemoryContextAllocHuge(advice->cxt, bytes);
		sample.total = palloc((advice->ncolumns + 1) * sizeof(ItemSize));
		init_simulation(advice, &sample.sim, true);
		scan_rows(advice, max_pages, sample_row, &sample);
		if (sample.nrows == 0)
		{
			/* hardly any page had rows */
			sample.skip = 1;
			scan_rows(advice, options->sample_pages, sample_row, &sample);
		}
		do
		{
			choose(advice, &sample);
			if (!options->predict && !proposes(advice, ADVISE_TEXT))
				break;
			/* the prediction takes all rows; some suffice to see growth */
			simulate(advice, options->predict ? options->sample_pages : max_pages);
		} while (advice->after.pages > advice->now.pages &&
				 drop_growing_text(advice, &sample));
		pfree(sample.now);
		pfree(sample.after);
		advice->sampled_blocks = sampled_blocks;
	}
	else
	{
		for (int i = 0; i < advice->ncolumns; i++)
			advice->order[i] = i;
	}

	return advice;
}

/* The proposed type with its modifier and the column's collation */
void
advise_append_type(StringInfo buf, const AdviseColumn *column)
{
	appendStringInfoString(buf, column->type.complete ? column->type.complete : column->type.sql);
	if (column->type.typmod >= 0 && column->type.complete == NULL)
		appendStringInfo(buf, "(%d)", column->type.typmod - (int) VARHDRSZ);
	/* without a clause the column would get the type's own collation */
	if (OidIsValid(column->att->attcollation) &&
		column->att->attcollation != DEFAULT_COLLATION_OID)
		appendStringInfo(buf, " COLLATE %s",
						 generate_collation_name(column->att->attcollation));
}

/* ALTER COLUMN clause that carries out the proposal */
char *
advise_column_clause(const AdviseColumn *column)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "ALTER COLUMN %s TYPE ",
					 quote_identifier(NameStr(column->att->attname)));
	advise_append_type(&buf, column);

	return buf.data;
}

/*
 * Return ALTER COLUMN clauses for the storage settings of a column, which a
 * change of its type resets to the defaults.  Each clause has the separator in
 * front.  A type of fixed length has no such settings.
 */
char *
advise_storage_clauses(const AdviseColumn *column, const char *separator)
{
	StringInfoData buf;
	Form_pg_attribute att = column->att;
	const char *name = quote_identifier(NameStr(att->attname));

	initStringInfo(&buf);
	if (att->attlen != -1 ||
		(column->kind != ADVISE_TEXT && column->kind != ADVISE_KEEP))
		return buf.data;

	if (att->attstorage != get_typstorage(att->atttypid))
		appendStringInfo(&buf, "%sALTER COLUMN %s SET STORAGE %s", separator, name,
						 att->attstorage == TYPSTORAGE_PLAIN ? "PLAIN" :
						 att->attstorage == TYPSTORAGE_EXTERNAL ? "EXTERNAL" :
						 att->attstorage == TYPSTORAGE_MAIN ? "MAIN" : "EXTENDED");
	if (CompressionMethodIsValid(att->attcompression))
		appendStringInfo(&buf, "%sALTER COLUMN %s SET COMPRESSION %s", separator, name,
						 GetCompressionMethodName(att->attcompression));

	return buf.data;
}

/*
 * SQL functions
 */

static void
options_from_args(FunctionCallInfo fcinfo, AdviseOptions *options)
{
	for (int i = 0; i < 6; i++)
	{
		if (PG_ARGISNULL(i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("the arguments of the advice must not be null")));
	}
	options->narrow = PG_GETARG_BOOL(1);
	options->narrow_keys = PG_GETARG_BOOL(2);
	options->fixed_varchar = PG_GETARG_BOOL(3);
	options->sample_pages = PG_GETARG_INT32(4);
	options->round_seconds = PG_GETARG_BOOL(5);
	options->predict = false;
}

/* Name of the type, for display to the caller */
static char *
displayed_type(const AdviseType *type)
{
	if (OidIsValid(type->typid))
		return format_type_with_typemod(type->typid, type->typmod);

	return type->name;
}

static Datum
text_array(List *strings)
{
	Datum	   *elems = palloc((list_length(strings) + 1) * sizeof(Datum));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, strings)
		elems[n++] = CStringGetTextDatum(lfirst(lc));

	return PointerGetDatum(construct_array(elems, n, TEXTOID, -1, false, TYPALIGN_INT));
}

/*
 * compact_types.advise(rel regclass, narrow bool, narrow_keys bool,
 * fixed_varchar bool, sample_pages int4, round_seconds bool) returns setof record
 *
 * Return one row for each column: its type and average size now, the proposed
 * type and the average size then, the reason, and the blockers.  Errors: 42809
 * if the relation is not a plain table, 42501 without the privilege to read
 * all of it.
 */
PG_FUNCTION_INFO_V1(compact_types_advise);
Datum
compact_types_advise(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	AdviseOptions options;
	Advice	   *advice;

	options_from_args(fcinfo, &options);
	advice = advise_make(PG_GETARG_OID(0), &options, fcinfo->flinfo->fn_oid,
						 AccessShareLock);
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];
		Form_pg_attribute att = column->att;
		bool		proposed = (column->kind != ADVISE_KEEP);
		Datum		values[9];
		bool		nulls[9] = {0};
		double		now = column->nvalues > 0 ? (double) column->bytes_now / column->nvalues : 0;

		values[0] = Int16GetDatum(att->attnum);
		values[1] = NameGetDatum(&att->attname);
		values[2] = CStringGetTextDatum(format_type_with_typemod(att->atttypid, att->atttypmod));
		values[3] = proposed ? CStringGetTextDatum(displayed_type(&column->type)) : (Datum) 0;
		nulls[3] = !proposed;
		values[4] = Float8GetDatum(now);
		values[5] = Float8GetDatum(proposed && column->nafter > 0 ?
								   (double) column->bytes_after / column->nafter : now);
		nulls[4] = nulls[5] = (column->nvalues == 0);
		values[6] = CStringGetTextDatum(column->native_type ?
										psprintf("%s; otherwise: %s", column->native_type, column->reason) :
										column->reason);
		values[7] = column->risk ? CStringGetTextDatum(column->risk) : (Datum) 0;
		nulls[7] = (column->risk == NULL);
		values[8] = text_array(proposed ? list_concat_copy(column->blockers, advice->blockers) :
							   column->blockers);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	table_close(advice->rel, NoLock);

	return (Datum) 0;
}

/* Statements that create the missing types */
static void
append_extensions(StringInfo buf, const Advice *advice)
{
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];
		bool		again = false;

		if (!advise_converts(advice, column) || !column->type.by_extension)
			continue;
		for (int j = 0; j < i && !again; j++)
			again = advise_converts(advice, &advice->columns[j]) &&
				strcmp(advice->columns[j].type.name, column->type.name) == 0;
		if (!again)
			appendStringInfo(buf, "CREATE EXTENSION %s SCHEMA %s;\n", column->type.name,
							 quote_identifier(advice->type_schema));
	}
}

static char *
alter_statement(const Advice *advice)
{
	StringInfoData buf;
	const char *separator;

	initStringInfo(&buf);
	append_extensions(&buf, advice);
	appendStringInfo(&buf, "ALTER TABLE %s",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(advice->rel)),
												RelationGetRelationName(advice->rel)));
	separator = "\n";
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];

		if (!advise_converts(advice, column))
			continue;
		appendStringInfo(&buf, "%s  %s USING %s::%s%s", separator, advise_column_clause(column),
						 quote_identifier(NameStr(column->att->attname)), column->type.sql,
						 advise_storage_clauses(column, ",\n  "));
		separator = ",\n";
	}

	return separator[0] == ',' ? buf.data : NULL;
}

/*
 * Return CREATE TABLE with the new types in the best order: columns, their
 * defaults and NOT NULL, and the storage parameter that the prediction
 * assumes.
 */
static char *
create_statement(const Advice *advice)
{
	StringInfoData buf;
	Relation	rel = advice->rel;
	TupleConstr *constr = RelationGetDescr(rel)->constr;
	int			fillfactor;
	int			target;
	List	   *context = deparse_context_for(RelationGetRelationName(rel), RelationGetRelid(rel));
	char	   *name;

	name = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
									  makeObjectName(RelationGetRelationName(rel), NULL, "compact"));
	initStringInfo(&buf);
	append_extensions(&buf, advice);
	appendStringInfo(&buf, "CREATE %sTABLE %s (\n",
					 rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED ? "UNLOGGED " : "",
					 name);
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[advice->order[i]];
		Form_pg_attribute att = column->att;
		char	   *expression = NULL;

		if (advise_converts(advice, column))
		{
			appendStringInfo(&buf, "  %s ", quote_identifier(NameStr(att->attname)));
			advise_append_type(&buf, column);
		}
		else
		{
			appendStringInfo(&buf, "  %s %s", quote_identifier(NameStr(att->attname)),
							 format_type_extended(att->atttypid, att->atttypmod,
												  FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
			if (OidIsValid(att->attcollation) && att->attcollation != get_typcollation(att->atttypid))
				appendStringInfo(&buf, " COLLATE %s", generate_collation_name(att->attcollation));
		}
		for (int d = 0; constr && d < constr->num_defval; d++)
		{
			if (constr->defval[d].adnum == att->attnum)
				expression = deparse_expression(stringToNode(constr->defval[d].adbin),
												context, false, false);
		}
		if (att->attidentity)
			appendStringInfo(&buf, " GENERATED %s AS IDENTITY",
							 att->attidentity == ATTRIBUTE_IDENTITY_ALWAYS ? "ALWAYS" : "BY DEFAULT");
		else if (expression && att->attgenerated)
			appendStringInfo(&buf, " GENERATED ALWAYS AS (%s) %s", expression,
							 att->attgenerated == ATTRIBUTE_GENERATED_STORED ? "STORED" : "VIRTUAL");
		else if (expression)
			appendStringInfo(&buf, " DEFAULT %s", expression);
		if (att->attnotnull)
			appendStringInfoString(&buf, " NOT NULL");
		appendStringInfoString(&buf, i < advice->ncolumns - 1 ? ",\n" : "\n");
	}
	appendStringInfoString(&buf, ")");
	fillfactor = RelationGetFillFactor(rel, HEAP_DEFAULT_FILLFACTOR);
	target = RelationGetToastTupleTarget(rel, (int) TOAST_TUPLE_TARGET);
	if (fillfactor != HEAP_DEFAULT_FILLFACTOR || target != (int) TOAST_TUPLE_TARGET)
		appendStringInfo(&buf, " WITH (%s%s%s)",
						 fillfactor != HEAP_DEFAULT_FILLFACTOR ?
						 psprintf("fillfactor = %d", fillfactor) : "",
						 fillfactor != HEAP_DEFAULT_FILLFACTOR &&
						 target != (int) TOAST_TUPLE_TARGET ? ", " : "",
						 target != (int) TOAST_TUPLE_TARGET ?
						 psprintf("toast_tuple_target = %d", target) : "");
	/* before PostgreSQL 16, CREATE TABLE does not accept STORAGE */
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[advice->order[i]];
		bool		converts = advise_converts(advice, column);
		AdviseColumn kept = *column;

		if (!converts)
			kept.kind = ADVISE_KEEP;
		appendStringInfoString(&buf, advise_storage_clauses(&kept, psprintf(";\nALTER TABLE %s ", name)));
	}

	return buf.data;
}

/*
 * compact_types.advise_table(rel regclass, ...) returns record
 *
 * The same for the table as a whole; arguments and errors as above.
 */
PG_FUNCTION_INFO_V1(compact_types_advise_table);
Datum
compact_types_advise_table(PG_FUNCTION_ARGS)
{
	AdviseOptions options;
	Advice	   *advice;
	TupleDesc	desc;
	Datum		values[12];
	bool		nulls[12] = {0};
	double		scale;
	double		rows;
	AdvisePages *pages[3];
	List	   *order = NIL;
	List	   *view_names = NIL;
	StringInfoData attnums;
	char	   *statement;
	ListCell   *lc;
	int			nestlevel;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	options_from_args(fcinfo, &options);
	options.predict = true;
	advice = advise_make(PG_GETARG_OID(0), &options, fcinfo->flinfo->fn_oid,
						 AccessShareLock);

	pages[0] = &advice->now;
	pages[1] = &advice->after;
	pages[2] = &advice->best;
	scale = advice->sampled_blocks > 0 ? (double) advice->nblocks / advice->sampled_blocks : 1.0;
	rows = rint(advice->sampled_rows * scale);
	values[0] = Int64GetDatum((int64) rows);
	values[4] = Int64GetDatum((int64) advice->nblocks);
	for (int i = 0; i < 3; i++)
	{
		double		count = pages[i]->pages;

		/* count the last page only in part where it stands for others */
		if (scale > 1.0)
			count = ceil((count - (double) pages[i]->free / BLCKSZ) * scale);
		values[1 + i] = Float8GetDatum(rows > 0 ? count * BLCKSZ / rows : 0);
		nulls[1 + i] = (rows == 0);
		values[5 + i] = Int64GetDatum((int64) count);
	}

	/* qualify names in the statements where necessary */
	SPI_connect();
	nestlevel = ddl_set_gucs();
	ddl_set_deparse_gucs();
	initStringInfo(&attnums);
	appendStringInfoString(&attnums, "0");
	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];

		if (advise_converts(advice, column))
			appendStringInfo(&attnums, ", %d", column->att->attnum);
	}
	foreach(lc, advise_dependent_views(advice, attnums.data, NULL))
	{
		Oid			view = lfirst_oid(lc);
		MemoryContext oldcxt = MemoryContextSwitchTo(advice->cxt);

		view_names = lappend(view_names,
							 quote_qualified_identifier(get_namespace_name(get_rel_namespace(view)),
														get_rel_name(view)));
		MemoryContextSwitchTo(oldcxt);
	}
	{
		MemoryContext oldcxt = MemoryContextSwitchTo(advice->cxt);

		statement = alter_statement(advice);
		values[10] = statement ? CStringGetTextDatum(statement) : (Datum) 0;
		nulls[10] = (statement == NULL);
		values[11] = CStringGetTextDatum(create_statement(advice));
		MemoryContextSwitchTo(oldcxt);
	}
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	for (int i = 0; i < advice->ncolumns; i++)
		order = lappend(order, NameStr(advice->columns[advice->order[i]].att->attname));
	values[8] = text_array(order);
	values[9] = text_array(view_names);
	table_close(advice->rel, NoLock);

	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
