/*-------------------------------------------------------------------------
 *
 * compact_char_sort.c
 *	  Sort support of the fixed-length strings.
 *
 * Under the C collation a comparison is memcmp() of the whole value, and the
 * abbreviated key is the first bytes of the value as a big-endian number.
 * Making the key is so cheap that the sort never stops using abbreviated keys.
 * Under any other collation, text's own sort support does the work, and the
 * values are passed to it as text.  That sort support knows in which locales
 * abbreviated keys are correct, and it stops using them when they no longer
 * save time.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_char_sort.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/sortsupport.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "compact_types.h"
#include "compact_types_compat.h"

/* State of a sort under a collation that is not C. */
typedef struct CompactCharSort
{
	int			typlen;
	SortSupportData text;		/* text's sort support */
	int			(*text_comparator) (Datum x, Datum y, SortSupport ssup);
	struct varlena *buf1;
	struct varlena *buf2;
} CompactCharSort;

/* The type that a sort support function serves. */
typedef struct SortFunctionEntry
{
	Oid			funcid;			/* hash key */
	Oid			typid;
} SortFunctionEntry;

static HTAB *sort_functions = NULL;
static bool sort_functions_valid = false;

static void
cc_invalidate_sort_functions(Datum arg, int cacheid, uint32 hashvalue)
{
	sort_functions_valid = false;
}

/*
 * Find the type that the sort support function serves.  The function's own
 * catalog row does not contain the type, because the only argument is of type
 * internal.  But the function is a support function of an operator class.  The
 * pg_amproc row for that support function depends on the function, and
 * contains the type.
 */
static Oid
cc_lookup_sort_function_type(Oid funcid)
{
	Relation	depend;
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			typid = InvalidOid;

	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(ProcedureRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(funcid));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, key);
	while (!OidIsValid(typid) && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend dependency = (Form_pg_depend) GETSTRUCT(tuple);
		Relation	amproc;
		ScanKeyData amproc_key;
		SysScanDesc amproc_scan;
		HeapTuple	amproc_tuple;

		if (dependency->classid != AccessMethodProcedureRelationId)
			continue;

		amproc = table_open(AccessMethodProcedureRelationId, AccessShareLock);
		ScanKeyInit(&amproc_key, Anum_pg_amproc_oid, BTEqualStrategyNumber,
					F_OIDEQ, ObjectIdGetDatum(dependency->objid));
		amproc_scan = systable_beginscan(amproc, AccessMethodProcedureOidIndexId,
										 true, NULL, 1, &amproc_key);
		amproc_tuple = systable_getnext(amproc_scan);
		if (HeapTupleIsValid(amproc_tuple))
		{
			Form_pg_amproc support = (Form_pg_amproc) GETSTRUCT(amproc_tuple);

			if (support->amprocnum == BTSORTSUPPORT_PROC)
				typid = support->amproclefttype;
		}
		systable_endscan(amproc_scan);
		table_close(amproc, AccessShareLock);
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);

	if (!OidIsValid(typid) || get_typlen(typid) <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("sort support function with OID %u does not belong to an operator class of a fixed-length string type",
						funcid)));

	return typid;
}

/*
 * Do what cc_lookup_sort_function_type() does, with a cache, since a plan can
 * set up a sort for every outer row of a join.
 */
static Oid
cc_sort_function_type(Oid funcid)
{
	SortFunctionEntry *entry;
	Oid			typid;

	if (!sort_functions_valid)
	{
		static bool callback_registered = false;
		HASHCTL		ctl;

		if (!callback_registered)
		{
			CacheRegisterSyscacheCallback(PROCOID, cc_invalidate_sort_functions,
										  (Datum) 0);
			callback_registered = true;
		}
		if (sort_functions != NULL)
		{
			HTAB	   *old = sort_functions;

			sort_functions = NULL;
			hash_destroy(old);
		}
		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(SortFunctionEntry);
		sort_functions = hash_create("compact_types sort support functions", 16,
									 &ctl, HASH_ELEM | HASH_BLOBS);
		sort_functions_valid = true;
	}

	entry = hash_search(sort_functions, &funcid, HASH_FIND, NULL);
	if (entry != NULL)
		return entry->typid;

	/*
	 * The lookup can process an invalidation message, which marks the cache
	 * as invalid.  The result of the lookup is still right for this sort,
	 * which uses the operator class.  The next call rebuilds the cache.
	 */
	typid = cc_lookup_sort_function_type(funcid);
	entry = hash_search(sort_functions, &funcid, HASH_ENTER, NULL);
	entry->typid = typid;

	return typid;
}

/* Compare under the C collation; ssup_extra is the type's length. */
static int
cc_fastcmp_c(Datum x, Datum y, SortSupport ssup)
{
	return memcmp(DatumGetPointer(x), DatumGetPointer(y),
				  (size_t) (uintptr_t) ssup->ssup_extra);
}

/* Return the first bytes as a number that sorts as memcmp() does. */
static Datum
cc_abbrev_convert_c(Datum original, SortSupport ssup)
{
	size_t		typlen = (size_t) (uintptr_t) ssup->ssup_extra;
	Datum		result = 0;

	memcpy(&result, DatumGetPointer(original), Min(typlen, sizeof(Datum)));

	return DatumBigEndianToNative(result);
}

static bool
cc_abbrev_abort_c(int memtupcount, SortSupport ssup)
{
	return false;
}

/* Copy a value into buf as a text; buf must have room for it. */
static inline Datum
cc_as_text(Datum value, struct varlena *buf, int typlen)
{
	char	   *str = DatumGetPointer(value);
	int			len = compact_char_strlen(str, typlen);

	SET_VARSIZE(buf, VARHDRSZ + len);
	memcpy(VARDATA(buf), str, len);

	return PointerGetDatum(buf);
}

static int
cc_fastcmp_locale(Datum x, Datum y, SortSupport ssup)
{
	CompactCharSort *state = (CompactCharSort *) ssup->ssup_extra;

	/* all collations accepted here are deterministic */
	if (memcmp(DatumGetPointer(x), DatumGetPointer(y), state->typlen) == 0)
		return 0;

	return state->text_comparator(cc_as_text(x, state->buf1, state->typlen),
								  cc_as_text(y, state->buf2, state->typlen),
								  &state->text);
}

static Datum
cc_abbrev_convert_locale(Datum original, SortSupport ssup)
{
	CompactCharSort *state = (CompactCharSort *) ssup->ssup_extra;

	return state->text.abbrev_converter(cc_as_text(original, state->buf1,
												   state->typlen),
										&state->text);
}

static bool
cc_abbrev_abort_locale(int memtupcount, SortSupport ssup)
{
	CompactCharSort *state = (CompactCharSort *) ssup->ssup_extra;

	return state->text.abbrev_abort(memtupcount, &state->text);
}

static void
cc_sortsupport_c(SortSupport ssup, int typlen)
{
	ssup->ssup_extra = (void *) (uintptr_t) typlen;
	ssup->comparator = cc_fastcmp_c;

	if (ssup->abbreviate)
	{
		ssup->comparator = ssup_datum_unsigned_cmp;
		ssup->abbrev_converter = cc_abbrev_convert_c;
		ssup->abbrev_abort = cc_abbrev_abort_c;
		ssup->abbrev_full_comparator = cc_fastcmp_c;
	}
}

static void
cc_sortsupport_locale(SortSupport ssup, int typlen)
{
	CompactCharSort *state = palloc0(sizeof(CompactCharSort));

	state->typlen = typlen;
	state->buf1 = palloc(VARHDRSZ + typlen);
	state->buf2 = palloc(VARHDRSZ + typlen);
	state->text.ssup_cxt = ssup->ssup_cxt;
	state->text.ssup_collation = ssup->ssup_collation;
	state->text.abbreviate = ssup->abbreviate;
	varstr_sortsupport(&state->text, TEXTOID, ssup->ssup_collation);

	ssup->ssup_extra = state;
	if (state->text.abbrev_converter != NULL)
	{
		state->text_comparator = state->text.abbrev_full_comparator;
		ssup->comparator = state->text.comparator;
		ssup->abbrev_converter = cc_abbrev_convert_locale;
		ssup->abbrev_abort = cc_abbrev_abort_locale;
		ssup->abbrev_full_comparator = cc_fastcmp_locale;
	}
	else
	{
		state->text_comparator = state->text.comparator;
		ssup->comparator = cc_fastcmp_locale;
	}
}

/* compact_char_sortsupport(internal) returns void: btree support function 2 */
PG_FUNCTION_INFO_V1(compact_char_sortsupport);
Datum
compact_char_sortsupport(PG_FUNCTION_ARGS)
{
	SortSupport ssup = (SortSupport) PG_GETARG_POINTER(0);
	Oid			typid = cc_sort_function_type(fcinfo->flinfo->fn_oid);
	int			typlen = get_typlen(typid);
	MemoryContext oldcontext = MemoryContextSwitchTo(ssup->ssup_cxt);

	if (compact_collation_is_c(ssup->ssup_collation, typid))
		cc_sortsupport_c(ssup, typlen);
	else
		cc_sortsupport_locale(ssup, typlen);

	MemoryContextSwitchTo(oldcontext);

	PG_RETURN_VOID();
}
