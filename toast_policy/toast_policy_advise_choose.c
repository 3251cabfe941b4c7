/*-------------------------------------------------------------------------
 *
 * toast_policy_advise_choose.c
 *	  The choice of toast_policy.advise(): how to store a column.
 *
 * First find the obstacle, if any, for each way to store the column.  From
 * the ways without an obstacle, choose the recommended way, unless it is
 * hardly better than the present way.  Report the reason of the choice, and
 * its risk for the user.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_advise_choose.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_am.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_partitioned_table.h"
#include "catalog/pg_policy.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_publication_rel.h"
#include "catalog/pg_rewrite.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "nodes/nodes.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "toast_policy_advise.h"

/*
 * Do not propose a change unless it reduces the cost, or the size of the table,
 * to this part.  Otherwise errors of measurement would be proposals.
 */
#define TP_WORTH			0.95

/* Values count as stored in some way if they take no more than this part more. */
#define TP_SAME_SIZE		1.02

/*
 * What prevents a way to store a column
 */

/* Return true if an index of the column accepts ztext and zbytea, too. */
static bool
tp_index_accepts_type(Oid indexid, AttrNumber attnum)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(indexid));
	Form_pg_index index;
	Datum		classes;
	bool		isnull;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	index = (Form_pg_index) GETSTRUCT(tuple);
	result = heap_attisnull(tuple, Anum_pg_index_indexprs, NULL) &&
		heap_attisnull(tuple, Anum_pg_index_indpred, NULL);
	classes = SysCacheGetAttr(INDEXRELID, tuple, Anum_pg_index_indclass, &isnull);
	for (int i = 0; result && i < index->indnkeyatts; i++)
	{
		HeapTuple	class;

		if (index->indkey.values[i] != attnum)
			continue;
		class = SearchSysCache1(CLAOID,
								ObjectIdGetDatum(((oidvector *) DatumGetPointer(classes))->values[i]));
		if (!HeapTupleIsValid(class))
			elog(ERROR, "cache lookup failed for an operator class of index %u", indexid);
		result = ((Form_pg_opclass) GETSTRUCT(class))->opcdefault &&
			(((Form_pg_opclass) GETSTRUCT(class))->opcmethod == BTREE_AM_OID ||
			 ((Form_pg_opclass) GETSTRUCT(class))->opcmethod == HASH_AM_OID);
		ReleaseSysCache(class);
	}
	ReleaseSysCache(tuple);

	return result;
}

/* Return true if ALTER COLUMN ... TYPE is possible although the object depends on the column. */
static bool
tp_type_may_change(const ObjectAddress *object, AttrNumber attnum)
{
	HeapTuple	tuple;
	bool		result = true;

	switch (object->classId)
	{
		case RewriteRelationId:
		case TriggerRelationId:
		case PolicyRelationId:
		case ProcedureRelationId:
		case PublicationRelRelationId:
			return false;
		case AttrDefaultRelationId:
			return GetAttrDefaultColumnAddress(object->objectId).objectSubId == attnum;
		case ConstraintRelationId:
			tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(object->objectId));
			if (HeapTupleIsValid(tuple))
			{
				result = ((Form_pg_constraint) GETSTRUCT(tuple))->contype != CONSTRAINT_FOREIGN;
				ReleaseSysCache(tuple);
			}
			return result;
		case RelationRelationId:
			return get_rel_relkind(object->objectId) != RELKIND_INDEX ||
				tp_index_accepts_type(object->objectId, attnum);
		default:
			return true;
	}
}

/*
 * Return true if the column is in the partition key of the table.  Do not call
 * has_partition_attrs(): it evaluates the constants of the key, which may be
 * calls of the owner's functions.
 */
static bool
tp_in_partition_key(Relation rel, AttrNumber attnum)
{
	HeapTuple	tuple;
	Form_pg_partitioned_table form;
	Datum		expressions;
	bool		isnull;
	Bitmapset  *attnums = NULL;

	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return false;
	tuple = SearchSysCache1(PARTRELID, ObjectIdGetDatum(RelationGetRelid(rel)));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for partition key of relation %u",
			 RelationGetRelid(rel));
	form = (Form_pg_partitioned_table) GETSTRUCT(tuple);
	for (int i = 0; i < form->partnatts; i++)
		attnums = bms_add_member(attnums, form->partattrs.values[i] - FirstLowInvalidHeapAttributeNumber);
	expressions = SysCacheGetAttr(PARTRELID, tuple, Anum_pg_partitioned_table_partexprs, &isnull);
	if (!isnull)
		pull_varattnos((Node *) stringToNode(TextDatumGetCString(expressions)), 1, &attnums);
	ReleaseSysCache(tuple);

	return bms_is_member(attnum - FirstLowInvalidHeapAttributeNumber, attnums);
}

/*
 * Return the reason why ALTER TABLE cannot give the column the type ztext or
 * zbytea, or NULL.
 */
static char *
tp_type_blocker(Relation rel, Form_pg_attribute att)
{
	Relation	depend;
	ScanKeyData key[3];
	SysScanDesc scan;
	HeapTuple	tuple;
	char	   *result = NULL;

	if (rel->rd_rel->relkind == RELKIND_MATVIEW)
		return psprintf("a materialized view has the types of its query");
	if (OidIsValid(rel->rd_rel->reloftype))
		return psprintf("the table has the columns of a composite type");
	if (att->attinhcount > 0)
		return psprintf("the column comes from a parent of the table");
	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE &&
		find_inheritance_children(RelationGetRelid(rel), NoLock) != NIL)
		return psprintf("the column would change in the children of the table, too");
	if (tp_in_partition_key(rel, att->attnum))
		return psprintf("the column is in the partition key");
	if (att->attgenerated != '\0')
		return psprintf("the column is generated");

	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationGetRelid(rel)));
	ScanKeyInit(&key[2], Anum_pg_depend_refobjsubid, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(att->attnum));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 3, key);
	while (result == NULL && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);
		ObjectAddress object;

		ObjectAddressSubSet(object, form->classid, form->objid, form->objsubid);
		if (!tp_type_may_change(&object, att->attnum))
		{
			/* the object may have been dropped meanwhile */
			char	   *description = getObjectDescription(&object, true);

			if (description != NULL)
				result = psprintf("%s depends on the column", description);
		}
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);

	return result;
}

/*
 * Return the name of another EXTERNAL column, or NULL.  The access method
 * governs each such column.  Leave out the columns for which the access method
 * is proposed as well, or those for which it is not proposed.
 */
static char *
tp_other_external(Relation rel, const TpProposal *proposals, int nproposals,
				  AttrNumber attnum)
{
	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);
		bool		proposed = false;

		if (att->attnum == attnum || !tp_column_is_governed(att) ||
			get_typstorage(att->atttypid) == TYPSTORAGE_EXTERNAL)
			continue;
		for (int j = 0; j < nproposals; j++)
			proposed |= proposals[j].att->attnum == att->attnum &&
				tp_recommend(proposals[j].comparison, true)->method == TP_BY_POLICY;
		if (!proposed)
			return NameStr(att->attname);
	}

	return NULL;
}

/* Find the obstacles of the strategies for a column. */
void
tp_block_strategies(Relation rel, TpProposal *proposals, int nproposals, int number)
{
	TpProposal *proposal = &proposals[number];
	TpComparison *comparison = proposal->comparison;
	char	   *type = NULL;
	char	   *policy = NULL;
	char	   *external = NULL;
	char	   *storage = NULL;
	char	   *other;
	Oid			own = tp_access_method_oid(false);

	for (int i = 0; i < comparison->nstrategies; i++)
		if (comparison->strategies[i].method == TP_BY_TYPE)
			type = type != NULL ? type : tp_type_blocker(rel, proposal->att);
	if (tp_any_own(proposal))
	{
		other = tp_other_external(rel, NULL, 0, proposal->att->attnum);
		if (other != NULL || !proposal->governed)
			external = psprintf("toast_policy governs each column of the table with STORAGE EXTERNAL");
	}
	else
	{
		other = tp_other_external(rel, proposals, nproposals, proposal->att->attnum);
		if (other != NULL)
			policy = psprintf("column \"%s\" has STORAGE EXTERNAL, and would be governed, too", other);
	}

	/*
	 * enable() would give a toast_tuple_target another meaning, and disable()
	 * would reset it.  Leave one way open if partitions differ.
	 */
	for (int i = 0; i < proposal->nplaces; i++)
	{
		const TpPlace *place = &proposal->places[i];

		if (place->low_target > 0 && place->amoid == own && place->storage == TYPSTORAGE_EXTERNAL)
			storage = psprintf("values of the column go out of line from %d bytes on",
							   place->low_target);
	}
	for (int i = 0; i < proposal->nplaces && storage == NULL; i++)
	{
		const TpPlace *place = &proposal->places[i];

		if (place->low_target > 0 && place->amoid != own && policy == NULL)
			policy = psprintf("the table has a toast_tuple_target, with which values of %d bytes or more would go out of line",
							  place->low_target);
	}

	for (int i = 0; i < comparison->nstrategies; i++)
	{
		TpStrategy *strategy = &comparison->strategies[i];

		if (strategy->current)
			continue;
		if (strategy->method == TP_BY_TYPE)
			strategy->blocker = storage != NULL ? storage : type;
		else if (strategy->method == TP_BY_POLICY)
			strategy->blocker = policy;
		else if (storage != NULL || strategy->storage == TYPSTORAGE_EXTERNAL)
			strategy->blocker = storage != NULL ? storage : external;
	}
}

/*
 * The choice
 */

/*
 * Choose the way in which the column shall be stored: the present one if there
 * are no values to measure.
 */
void
tp_choose(TpProposal *proposal)
{
	TpComparison *comparison = proposal->comparison;
	const TpStrategy *now = NULL;

	for (int i = 0; i < comparison->nstrategies; i++)
		if (comparison->strategies[i].current)
			now = &comparison->strategies[i];
	proposal->now = now;
	proposal->pick = comparison->sampled > 0 ? tp_recommend(comparison, false) : now;
	if (now == NULL || proposal->pick == now)
		return;

	/*
	 * If a table of the access method was rewritten with another level, its
	 * values have the proposed form already.
	 */
	if (now->method == TP_BY_POLICY && proposal->pick->method == TP_BY_POLICY &&
		now->trial->codec == proposal->pick->trial->codec &&
		comparison->stored_bytes <= TP_SAME_SIZE * proposal->pick->sampled_bytes)
		proposal->is_stored = true;
	if (proposal->is_stored ||
		(proposal->pick->cost > TP_WORTH * now->cost &&
		 proposal->pick->new_pages > TP_WORTH * now->new_pages))
		proposal->pick = now;
}

/* Return a name for a strategy. */
static char *
tp_strategy_title(const TpStrategy *strategy)
{
	if (strategy->trial == NULL)
		return pstrdup(strategy->name);
	if (strategy->trial->level != 0)
		return psprintf("%s with %s of level %d", strategy->name,
						tp_codec_name(strategy->trial->codec), strategy->trial->level);

	return psprintf("%s with %s", strategy->name, tp_codec_name(strategy->trial->codec));
}

/* Return the reason for the proposal.  bytes is the present size of the table. */
char *
tp_proposal_reason(const TpProposal *proposal, int64 bytes)
{
	const TpComparison *comparison = proposal->comparison;
	const TpStrategy *best = tp_recommend(comparison, true);
	char	   *result;
	double		less;

	if (comparison->sampled == 0)
		result = pstrdup("no values to measure; this is how the column is stored now");
	else if (proposal->is_stored)
	{
		const TpStrategy *level = tp_recommend(comparison, false);

		result = psprintf("the values are about as small as %s makes them; new values are compressed by toast_policy.lz4_level",
						  tp_strategy_title(level));
	}
	else if (proposal->now == NULL || best == proposal->now)
		result = tp_reason(comparison, proposal->pick, proposal->pick);
	else if (proposal->pick == proposal->now)
		result = pstrdup("no other way is clearly better than how the column is stored now");
	else
	{
		less = rint(100 - 100 * proposal->pick->cost / proposal->now->cost);
		result = less >= 1 ?
			psprintf("costs %.0f %% less to read and write than now", less) :
			pstrdup("costs about as much to read and write as now");
		less = rint(100 - 100 * proposal->pick->new_pages * BLCKSZ / Max(bytes, 1));
		if (fabs(less) >= 1)
			result = psprintf("%s; the table becomes %.0f %% %s", result, fabs(less),
							  less > 0 ? "smaller" : "larger");
	}

	less = comparison->sampled == 0 ? 0 :
		rint(100 - 100 * best->cost / proposal->pick->cost);
	if (best->blocker != NULL && less >= 1)
		result = psprintf("%s; %s would cost %.0f %% less than this, but %s", result,
						  tp_strategy_title(best), less, best->blocker);

	return result;
}

/* Return the risk of the proposal for the user, or NULL. */
char *
tp_proposal_risk(const TpProposal *proposal)
{
	Oid			typid = proposal->att->atttypid;

	if (proposal->pick == proposal->now)
		return NULL;
	if (proposal->pick->method == TP_BY_POLICY && !proposal->governed)
		return pstrdup("modules that accept only tables of heap refuse the table; the library must stay installed");
	if (proposal->pick->method == TP_BY_TYPE)
		return psprintf("clients see another type; the library must stay installed%s",
						get_typtype(typid) == TYPTYPE_DOMAIN ?
						"; the constraints of the domain are no longer checked" :
						proposal->att->atttypmod >= 0 ?
						"; the maximum length is no longer checked" : "");

	return NULL;
}
