/*-------------------------------------------------------------------------
 *
 * compact_spgist.c
 *	  SP-GiST support of compact_text.
 *
 * An index of the class compact_text_spgist_ops has the same tuples as an index
 * of core's class text_ops: a radix tree of the decoded strings.  So core's
 * functions do the work.  The functions in this file decode what those
 * functions get as values of compact_text: the value that is inserted, and the
 * value that is searched.  An index-only scan returns values of compact_text,
 * so they are encoded again.
 *
 * In a nondeterministic collation, core's functions would find other rows than
 * a scan of the table, so such an index is refused.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_spgist.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/spgist.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/fmgrprotos.h"

#include "compact_text.h"
#include "compact_types.h"

/* Return the value, a compact_text, as a text. */
static Datum
as_text(Datum value)
{
	return PointerGetDatum(compact_text_to_text(PG_DETOAST_DATUM_PACKED(value)));
}

/* Raise an error if the index has a nondeterministic collation. */
static void
check_collation(Oid collation)
{
	(void) compact_collation_is_c_cached(collation, InvalidOid);
}

/*
 * Return a copy of the scan keys, with each searched compact_text as a text.
 * Do not change the keys themselves: they serve the whole scan.
 */
static ScanKey
text_keys(ScanKey keys, int nkeys)
{
	ScanKey		result = palloc_array(ScanKeyData, nkeys);

	for (int i = 0; i < nkeys; i++)
	{
		result[i] = keys[i];
		if (keys[i].sk_subtype != TEXTOID)
			result[i].sk_argument = as_text(keys[i].sk_argument);
	}

	return result;
}

/*
 * compact_text_spg_config(internal, internal) returns void: SP-GiST support
 * function 1.  Leaf tuples contain text.
 */
PG_FUNCTION_INFO_V1(compact_text_spg_config);
Datum
compact_text_spg_config(PG_FUNCTION_ARGS)
{
	spgConfigOut *config = (spgConfigOut *) PG_GETARG_POINTER(1);

	(void) DirectFunctionCall2(spg_text_config, PG_GETARG_DATUM(0), PG_GETARG_DATUM(1));
	config->leafType = TEXTOID;

	PG_RETURN_VOID();
}

/*
 * compact_text_spg_choose(internal, internal) returns void: SP-GiST support
 * function 2, the way of an inserted value through an inner tuple
 */
PG_FUNCTION_INFO_V1(compact_text_spg_choose);
Datum
compact_text_spg_choose(PG_FUNCTION_ARGS)
{
	spgChooseIn in = *(spgChooseIn *) PG_GETARG_POINTER(0);

	in.datum = as_text(in.datum);

	return DirectFunctionCall2Coll(spg_text_choose, PG_GET_COLLATION(),
								   PointerGetDatum(&in), PG_GETARG_DATUM(1));
}

/*
 * compact_text_spg_inner_consistent(internal, internal) returns void: SP-GiST
 * support function 4, the nodes of an inner tuple that a scan visits
 */
PG_FUNCTION_INFO_V1(compact_text_spg_inner_consistent);
Datum
compact_text_spg_inner_consistent(PG_FUNCTION_ARGS)
{
	spgInnerConsistentIn in = *(spgInnerConsistentIn *) PG_GETARG_POINTER(0);

	check_collation(PG_GET_COLLATION());
	in.scankeys = text_keys(in.scankeys, in.nkeys);

	return DirectFunctionCall2Coll(spg_text_inner_consistent, PG_GET_COLLATION(),
								   PointerGetDatum(&in), PG_GETARG_DATUM(1));
}

/*
 * Return true if the leaf tuple satisfies the scan keys.  The value for an
 * index-only scan is a text.
 */
bool
compact_spgist_leaf_consistent(const spgLeafConsistentIn *in, spgLeafConsistentOut *out,
							   Oid collation)
{
	spgLeafConsistentIn text_in = *in;

	check_collation(collation);
	text_in.scankeys = text_keys(in->scankeys, in->nkeys);

	return DatumGetBool(DirectFunctionCall2Coll(spg_text_leaf_consistent, collation,
												PointerGetDatum(&text_in),
												PointerGetDatum(out)));
}

/*
 * compact_text_spg_leaf_consistent(internal, internal) returns bool: SP-GiST
 * support function 5, whether a leaf tuple satisfies the scan keys
 */
PG_FUNCTION_INFO_V1(compact_text_spg_leaf_consistent);
Datum
compact_text_spg_leaf_consistent(PG_FUNCTION_ARGS)
{
	spgLeafConsistentIn *in = (spgLeafConsistentIn *) PG_GETARG_POINTER(0);
	spgLeafConsistentOut *out = (spgLeafConsistentOut *) PG_GETARG_POINTER(1);
	bool		result = compact_spgist_leaf_consistent(in, out, PG_GET_COLLATION());

	if (in->returnData && result)
	{
		text	   *value = DatumGetTextPP(out->leafValue);

		out->leafValue = PointerGetDatum(compact_text_encode(VARDATA_ANY(value),
															 VARSIZE_ANY_EXHDR(value)));
	}

	PG_RETURN_BOOL(result);
}

/*
 * compact_text_spg_compress(compact_text) returns text: SP-GiST support function
 * 6, the leaf value of an indexed value
 */
PG_FUNCTION_INFO_V1(compact_text_spg_compress);
Datum
compact_text_spg_compress(PG_FUNCTION_ARGS)
{
	check_collation(PG_GET_COLLATION());

	return as_text(PG_GETARG_DATUM(0));
}
