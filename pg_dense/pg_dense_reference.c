/*-------------------------------------------------------------------------
 *
 * pg_dense_reference.c
 *	  The type relation_reference: a relation that may be renamed.
 *
 * The rows of dense.applied must find their relations after the relations
 * were renamed or moved to another schema, after pg_upgrade, and after a
 * restore into another database, where OIDs differ.  So the type contains an
 * OID, but its output is the present name of the relation, which pg_dump
 * dumps.  A name that means no relation when it is read stays a name, and is
 * looked up each time, because a dump may omit tables, and creates indexes
 * last.  The type compact_types.column_reference does the same for columns.
 *
 * If a role that is no superuser has written such a name, the reference
 * contains the OID of this role.  Then the name refers only to a relation
 * that this role owns, and a dump contains no other name: a superuser who
 * restores the dump must not give the row a meaning that its author could not
 * give it.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  pg_dense/pg_dense_reference.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "bundle_compat.h"

PG_FUNCTION_INFO_V1(pg_dense_reference_in);
PG_FUNCTION_INFO_V1(pg_dense_reference_out);
PG_FUNCTION_INFO_V1(pg_dense_reference);
PG_FUNCTION_INFO_V1(pg_dense_pending);
PG_FUNCTION_INFO_V1(pg_dense_referenced);

/* Output of a reference to a relation that no longer exists. */
#define GONE	"-"

/* The value of the type relation_reference */
typedef struct RelationReference
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	Oid			relid;			/* InvalidOid if there is only a name */
	Oid			role;			/* who has written the name, or InvalidOid */
	char		name[FLEXIBLE_ARRAY_MEMBER];
} RelationReference;

static RelationReference *
make_reference(Oid relid, Oid role, const char *name)
{
	Size		size = offsetof(RelationReference, name) + strlen(name) + 1;
	RelationReference *result = palloc0(size);

	SET_VARSIZE(result, size);
	result->relid = relid;
	result->role = role;
	strcpy(result->name, name);

	return result;
}

/* Look up a name of two parts.  Return InvalidOid if it means no relation. */
static Oid
look_up(const char *name)
{
	char	   *copy = pstrdup(name);
	List	   *names;
	Oid			nspid;

	/* bad syntax of a name must not make a whole restore fail */
	if (!SplitIdentifierString(copy, '.', &names) || list_length(names) != 2)
		return InvalidOid;
	nspid = get_namespace_oid(linitial(names), true);

	return OidIsValid(nspid) ? get_relname_relid(lsecond(names), nspid) : InvalidOid;
}

/* Return the relation that the reference means, or InvalidOid. */
static Oid
resolve(const RelationReference *reference)
{
	Oid			relid = OidIsValid(reference->relid) ? reference->relid : look_up(reference->name);

	if (!OidIsValid(relid) || get_rel_name(relid) == NULL ||
		(OidIsValid(reference->role) && !compat_relation_ownercheck(relid, reference->role)))
		return InvalidOid;

	return relid;
}

Datum
pg_dense_reference_in(PG_FUNCTION_ARGS)
{
	char	   *name = PG_GETARG_CSTRING(0);
	Oid			relid = look_up(name);

	PG_RETURN_POINTER(make_reference(relid, InvalidOid, OidIsValid(relid) ? "" : name));
}

Datum
pg_dense_reference_out(PG_FUNCTION_ARGS)
{
	RelationReference *reference = (RelationReference *) PG_DETOAST_DATUM(PG_GETARG_DATUM(0));
	char	   *table;
	char	   *schema;

	if (OidIsValid(reference->role) && !OidIsValid(resolve(reference)))
		PG_RETURN_CSTRING(pstrdup(GONE));
	if (!OidIsValid(reference->relid))
		PG_RETURN_CSTRING(pstrdup(reference->name));
	table = get_rel_name(reference->relid);
	schema = get_namespace_name(get_rel_namespace(reference->relid));
	if (table == NULL || schema == NULL)
		PG_RETURN_CSTRING(pstrdup(GONE));

	PG_RETURN_CSTRING(pstrdup(quote_qualified_identifier(schema, table)));
}

/*
 * dense_internal.reference(rel oid) returns relation_reference
 */
Datum
pg_dense_reference(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(make_reference(PG_GETARG_OID(0), InvalidOid, ""));
}

/*
 * dense_internal.pending(relation_reference) returns relation_reference
 *
 * Return the name that the reference contains, as written by the current role.
 * A reference with an OID has no name, and becomes one to no relation: the
 * role need not be able to own that relation.
 */
Datum
pg_dense_pending(PG_FUNCTION_ARGS)
{
	RelationReference *reference = (RelationReference *) PG_DETOAST_DATUM(PG_GETARG_DATUM(0));

	PG_RETURN_POINTER(make_reference(InvalidOid, GetUserId(), reference->name));
}

/*
 * dense_internal.referenced(relation_reference) returns oid
 *
 * Return null if there is no such relation.
 */
Datum
pg_dense_referenced(PG_FUNCTION_ARGS)
{
	Oid			relid = resolve((RelationReference *) PG_DETOAST_DATUM(PG_GETARG_DATUM(0)));

	if (!OidIsValid(relid))
		PG_RETURN_NULL();

	PG_RETURN_OID(relid);
}
