/*-------------------------------------------------------------------------
 *
 * compact_advise_propose.c
 *	  Propose a type for each column of a table.
 *
 * The proposals follow from the properties that all values of a column share.
 * Other files find the dependencies that block a proposal.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_advise_propose.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compact_advise.h"
#include "compact_convert.h"
#include "compact_scalar.h"
#include "compact_types.h"

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

/* Propose compact_charN for a column of strings of n characters. */
static void
propose_char(Advice *advice, AdviseColumn *column, int n, bool constant)
{
	if (column->unfit || n > ADVISE_MAX_STRING)
	{
		column->reason = "strings of this length gain nothing, and could not be moved out of the row";
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
	if (!compact_advise_find_type(advice, psprintf("compact_char%d", n), &column->type))
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
	else if (compact_advise_find_type(advice, "compact_text", &column->type) &&
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

/*
 * A column has the type compact_text or trained_textN.  If advise() will train
 * a dictionary, propose the same type for the time being, so that the obstacles
 * of a conversion are found.  If not, say how to measure a dictionary.
 */
static void
propose_dictionary(Advice *advice, AdviseColumn *column)
{
	Form_pg_attribute att = column->att;
	char	   *name = compact_revert_noted_name(advice->nspid, att->atttypid);

	if (advice->options.train_again && name != NULL &&
		compact_advise_find_type(advice, name, &column->type) &&
		column->type.typid == att->atttypid)
	{
		column->kind = ADVISE_TEXT;
		column->type.typmod = att->atttypmod;
		column->type.storage = att->attstorage;
		column->cast_nargs = 0;
		column->reason = "encoded already";
	}
	else
	{
		const char *table = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(advice->rel)),
													   RelationGetRelationName(advice->rel));

		column->reason = psprintf("encoded already; SELECT * FROM %s.train(%s, %s, estimate_only => true) measures a new dictionary",
								  quote_identifier(get_namespace_name(advice->nspid)), quote_literal_cstr(table),
								  quote_literal_cstr(NameStr(att->attname)));
	}
}

/* Add a risk of the proposal. */
void
compact_advise_add_risk(AdviseColumn *column, const char *risk)
{
	column->risk = column->risk ? psprintf("%s; %s", column->risk, risk) : pstrdup(risk);
}

/*
 * Add the risk that a driver returns a string.  A driver chooses the
 * application's data type by the OID of the column's type.  For a string
 * column, a string is right.  For a number, a string is wrong: an application
 * that multiplies the value fails, or repeats the string.
 */
static void
add_driver_risk(AdviseColumn *column)
{
	compact_advise_add_risk(column, psprintf("client drivers that do not know %s return strings", column->type.name));
}

/*
 * Sort integer types by preference: the narrowest first.  Of types of the same
 * width, core's type comes first, because drivers know this type, and an
 * unsigned type comes before a signed type.
 */
static int
compare_preference(const void *a, const void *b)
{
	const CompactInteger *left = *(const CompactInteger *const *) a;
	const CompactInteger *right = *(const CompactInteger *const *) b;

	if (left->bytes != right->bytes)
		return left->bytes - right->bytes;
	if (compact_integer_is_narrow(left) != compact_integer_is_narrow(right))
		return compact_integer_is_narrow(left) ? 1 : -1;

	return compact_integer_is_unsigned(right) - compact_integer_is_unsigned(left);
}

static void
propose_integer(Advice *advice, AdviseColumn *column)
{
	Form_pg_attribute att = column->att;
	const CompactInteger *types[N_INTEGERS];
	char	   *never = NULL;
	const char *missing = NULL;
	bool		asked = advice->options.narrow || (column->is_key && advice->options.narrow_keys);

	/* with narrow_keys, the caller has considered the references to keys */
	if (!advice->options.narrow_keys)
		never = compact_advise_never_narrow(advice, column);
	if (never)
	{
		column->reason = never;
		return;
	}
	for (int i = 0; i < N_INTEGERS; i++)
		types[i] = &compact_integers[i];
	qsort(types, N_INTEGERS, sizeof(types[0]), compare_preference);
	for (int i = 0; i < N_INTEGERS; i++)
	{
		const CompactInteger *type = types[i];
		bool		proven;

		if (type->bytes >= att->attlen || column->min < type->min || column->max > type->max)
			continue;
		/* leave room for values at least twice as large as those seen */
		proven = compact_advise_range_is_proven(advice, column, type->min, type->max);
		if (!proven && (column->min < type->min / 2 || column->max > type->max / 2 ||
						!compact_advise_room_for_updates(column, advice->updates,
														 type->min, type->max)))
			continue;

		/*
		 * A type of three bytes is passed by reference, which costs time.
		 * Saving one byte is worth the time only for a column in an index of
		 * several columns.
		 */
		if (INTEGER_BY_REFERENCE(type->bytes) &&
			(!column->in_wide_index || !advice->options.narrow_keys || column->by_value))
			continue;
		if (!compact_integer_is_narrow(type))
			use_core_type(&column->type, type->name, type->typid);
		else if (!compact_advise_find_type(advice, type->name, &column->type) ||
				 !OidIsValid(column->type.typid))
		{
			/* the library is newer than the extension's SQL objects */
			if (missing == NULL)
				missing = type->name;
			continue;
		}

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
				compact_advise_add_risk(column, psprintf("values below %lld or above %lld will be refused, and no CHECK constraint rules them out",
														 (long long) type->min, (long long) type->max));
			if (!compact_integer_is_narrow(type))
				compact_advise_add_risk(column, psprintf("results of arithmetic that %s does not hold will be refused", type->name));
			else
				add_driver_risk(column);
			if (type->arithmetic != INTEGER_int4)
				compact_advise_add_risk(column, psprintf("%s and int4 have no common type, so coalesce(%s, 0) and other expressions will be refused",
														 type->name, quote_identifier(NameStr(att->attname))));
			column->by_name = !asked;
		}
		return;
	}
	column->reason = psprintf("values %lld to %lld need the width%s%s",
							  (long long) column->min, (long long) column->max,
							  advice->updates > 0 ? ", or are updated and need room" : "",
							  missing == NULL ? "" :
							  psprintf("; ALTER EXTENSION compact_types UPDATE creates %s, which would hold them", missing));
}

/*
 * Return true if the column is a numeric without digits after the point, and
 * with more digits than a decimal type holds.
 */
bool
compact_advise_is_wide_integer(const AdviseColumn *column)
{
	int32		typmod = column->att->atttypmod;

	return column->att->atttypid == NUMERICOID && typmod >= (int32) VARHDRSZ &&
		compact_advise_numeric_scale(typmod) == 0 &&
		compact_decimal_of_precision(compact_advise_numeric_precision(typmod)) == NULL;
}

/* Propose uint8 for such a column. */
static void
propose_uint8(Advice *advice, AdviseColumn *column)
{
	if (column->unfit)
	{
		column->reason = "there are values that uint8 does not hold";
		return;
	}
	if (!compact_advise_find_type(advice, "uint8", &column->type) || !OidIsValid(column->type.typid))
	{
		column->reason = "uint8 is not in this database";
		return;
	}
	column->type.len = sizeof(uint64);
	column->type.align = TYPALIGN_DOUBLE;
	if (column->bytes_now <= (int64) sizeof(uint64) * column->nvalues)
	{
		column->reason = "uint8 would be faster, but not smaller";
		return;
	}
	column->kind = ADVISE_DECIMAL;
	column->reason = "no value is negative or above 18446744073709551615";
	compact_advise_add_risk(column, "values below 0 or above 18446744073709551615 will be refused");
	add_driver_risk(column);
	column->by_name = !advice->options.narrow;
}

static void
propose_decimal(Advice *advice, AdviseColumn *column)
{
	int32		typmod = column->att->atttypmod;
	int			precision;
	int			scale;
	const CompactDecimal *decimals;
	char	   *name;

	if (typmod < (int32) VARHDRSZ)
	{
		column->reason = "numeric without precision and scale";
		return;
	}
	if (compact_advise_is_wide_integer(column))
	{
		propose_uint8(advice, column);
		return;
	}
	precision = compact_advise_numeric_precision(typmod);
	scale = compact_advise_numeric_scale(typmod);
	decimals = compact_decimal_of_precision(precision);
	if (scale < 0 || scale > precision || decimals == NULL)
	{
		column->reason = "no decimal type holds that precision and scale";
		return;
	}
	if (column->unfit)
	{
		column->reason = "there are values that are not a number";
		block(column, "NaN");
		return;
	}
	name = compact_decimal_name(decimals->width, scale);
	if (!compact_advise_find_type(advice, name, &column->type))
	{
		column->reason = psprintf("%s is not installed", name);
		return;
	}
	column->type.len = decimals->width;
	column->type.align = decimals->align;
	if (column->bytes_now <= decimals->width * column->nvalues)
	{
		column->reason = psprintf("%s would be faster, but not smaller", column->type.name);
		return;
	}
	column->kind = ADVISE_DECIMAL;
	column->reason = "holds every number of the type";
	if (compact_advise_looks_like_coordinate(column))
		compact_advise_add_risk(column, "functions of double precision, for example sin(), accept a numeric, but no decimal");
	add_driver_risk(column);
	compact_advise_add_risk(column, psprintf("numbers of more than %d digits will be accepted", precision));
	column->by_name = !advice->options.narrow;
}

static void
propose_seconds(Advice *advice, AdviseColumn *column)
{
	const char *name = compact_seconds_of_twin(column->att->atttypid)->name;

	if (column->unfit)
	{
		column->reason = psprintf("there are fractions of a second, or values that %s does not hold", name);
		return;
	}
	if (!compact_advise_find_type(advice, name, &column->type) || !OidIsValid(column->type.typid))
	{
		column->reason = psprintf("%s is not in this database", name);
		return;
	}
	if (column->att->atttypmod != 0 && !advice->options.round_seconds)
	{
		column->reason = psprintf("the type holds fractions of a second; %s needs round_seconds => true", name);
		return;
	}
	column->kind = ADVISE_SECONDS;
	column->reason = psprintf("whole seconds from 1970 to 2106-02-07%s",
							  column->att->atttypmod != 0 ? "; fractions will be rounded" : "");
	compact_advise_add_risk(column, psprintf("times before 1970 and after 2106-02-07 and infinity will be refused%s",
											 column->att->atttypmod != 0 ? ", fractions of a second rounded" : ""));
	add_driver_risk(column);
	column->by_name = !advice->options.narrow && !advice->options.round_seconds;
	if (column->mutable_default && column->att->atttypmod != 0)
		block(column, "the default may have fractions of a second");
}

/* Make a proposal for each column from the results of pass 1. */
void
compact_advise_propose(Advice *advice)
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
			column->reason = "no values to measure";
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
					if (compact_string_kind(column->att->atttypid) == COMPACT_STRING_TEXT)
						propose_dictionary(advice, column);
					else
						column->reason = "no compact type for it";
					break;
			}
		}
		if (column->unknown_default &&
			(column->kind == ADVISE_CHAR || column->kind == ADVISE_INTEGER ||
			 column->kind == ADVISE_SECONDS ||
			 (column->kind == ADVISE_DECIMAL && compact_advise_is_wide_integer(column))))
			block(column, "the value of the default is not known");
		if (column->default_counts && column->reason != NULL)
			column->reason = psprintf("%s (the default counts as a value)", column->reason);
		if (column->mentions && column->kind != ADVISE_KEEP)
			column->reason = psprintf("%s; look at what names the column: %s", column->reason, column->mentions);
		/* dependent objects block nothing if the column stays as it is */
		if (column->kind != ADVISE_KEEP || column->blockers != NIL)
			column->blockers = list_concat(column->blockers, column->dependents);
	}
	MemoryContextSwitchTo(oldcxt);
}

/* Withdraw a proposal.  column->type keeps the withdrawn type. */
void
compact_advise_keep(AdviseColumn *column, char *reason)
{
	column->kind = ADVISE_KEEP;
	column->blockers = NIL;
	column->risk = NULL;
	column->reason = reason;
}

/*
 * Withdraw a proposal of compact_text, unless a dictionary will be trained,
 * which may still pay.
 */
void
compact_advise_keep_text(const Advice *advice, AdviseColumn *column, char *reason)
{
	column->little = reason;
	if (!advice->options.train)
		compact_advise_keep(column, reason);
}
