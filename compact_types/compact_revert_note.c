/*-------------------------------------------------------------------------
 *
 * compact_revert_note.c
 *	  The notes on converted columns and their former types.
 *
 * How a column is identified.  A note must find its column after the column
 * was renamed or its table was moved to another schema, after pg_upgrade, and
 * after a restore into another database, where OIDs and perhaps column numbers
 * differ.  So the type compact_types.column_reference contains OIDs, but its
 * output is the present name of the column, which pg_dump dumps.  If the input
 * names a column that does not exist, the value keeps the name, and the name
 * is looked up at each use, because a dump may omit tables.
 *
 * Trust.  A dump is restored by INSERT, and not always by a superuser.  So a
 * trigger lets every user write notes on the user's own tables, and lets only
 * superusers write notes on other tables.  No statement contains text of a
 * note on a column.  The old type is looked up, and must be a core type that
 * convert() could have changed.  Statements contain the name of the type that
 * was found, not the text of the note.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_revert_note.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/toast_compression.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "compact_convert.h"
#include "compact_ddl.h"
#include "compact_scalar.h"
#include "compact_trained.h"
#include "compact_types_compat.h"

/* Output of a reference to a column that no longer exists. */
#define GONE	"-"

/* The value of the type column_reference */
typedef struct ColumnReference
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	Oid			relid;
	int32		attnum;			/* 0 if there is only a name */
	char		name[FLEXIBLE_ARRAY_MEMBER];	/* used if attnum is 0 */
} ColumnReference;

/* Numbers of the columns converted, old_type and new_type of the notes */
static const AttrNumber note_columns[] = {1, 2, 5};

/*
 * column_reference
 */

static ColumnReference *
make_reference(Oid relid, AttrNumber attnum, const char *name)
{
	Size		size = offsetof(ColumnReference, name) + strlen(name) + 1;
	ColumnReference *result = palloc0(size);

	SET_VARSIZE(result, size);
	result->relid = relid;
	result->attnum = attnum;
	strcpy(result->name, name);

	return result;
}

/*
 * Look up the name SCHEMA.TABLE.COLUMN.  Return false if there is no such
 * column.
 */
static bool
look_up(const char *name, Oid *relid, AttrNumber *attnum)
{
	char	   *copy = pstrdup(name);
	List	   *names;
	Oid			nspid;

	/* bad syntax of a name must not make a whole restore fail */
	if (!SplitIdentifierString(copy, '.', &names) || list_length(names) != 3)
		return false;
	nspid = get_namespace_oid(linitial(names), true);
	if (!OidIsValid(nspid))
		return false;
	*relid = get_relname_relid(lsecond(names), nspid);
	*attnum = OidIsValid(*relid) ? get_attnum(*relid, lthird(names)) : InvalidAttrNumber;

	return *attnum > 0;
}

/* Return the name of the column, or NULL if it does not exist or was dropped. */
static char *
column_name(Oid relid, AttrNumber attnum)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(attnum));
	char	   *result = NULL;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	if (!((Form_pg_attribute) GETSTRUCT(tuple))->attisdropped)
		result = pstrdup(NameStr(((Form_pg_attribute) GETSTRUCT(tuple))->attname));
	ReleaseSysCache(tuple);

	return result;
}

/* Find the column that the reference means.  Return false if there is none. */
static bool
resolve(const ColumnReference *reference, Oid *relid, AttrNumber *attnum)
{
	if (reference->attnum == 0)
		return look_up(reference->name, relid, attnum);
	*relid = reference->relid;
	*attnum = reference->attnum;

	return column_name(*relid, *attnum) != NULL;
}

PG_FUNCTION_INFO_V1(compact_types_column_reference_in);
Datum
compact_types_column_reference_in(PG_FUNCTION_ARGS)
{
	char	   *name = PG_GETARG_CSTRING(0);
	Oid			relid;
	AttrNumber	attnum;

	if (look_up(name, &relid, &attnum))
		PG_RETURN_POINTER(make_reference(relid, attnum, ""));

	PG_RETURN_POINTER(make_reference(InvalidOid, 0, name));
}

PG_FUNCTION_INFO_V1(compact_types_column_reference_out);
Datum
compact_types_column_reference_out(PG_FUNCTION_ARGS)
{
	ColumnReference *reference = (ColumnReference *) PG_DETOAST_DATUM(PG_GETARG_DATUM(0));
	char	   *column;
	char	   *table;
	char	   *schema;

	if (reference->attnum == 0)
		PG_RETURN_CSTRING(pstrdup(reference->name));
	column = column_name(reference->relid, reference->attnum);
	table = get_rel_name(reference->relid);
	schema = get_namespace_name(get_rel_namespace(reference->relid));
	if (column == NULL || table == NULL || schema == NULL)
		PG_RETURN_CSTRING(pstrdup(GONE));

	PG_RETURN_CSTRING(psprintf("%s.%s", quote_qualified_identifier(schema, table),
							   quote_identifier(column)));
}

/*
 * compact_types.column_reference(relation oid, attnum int2) returns column_reference
 */
PG_FUNCTION_INFO_V1(compact_types_column_reference);
Datum
compact_types_column_reference(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(make_reference(PG_GETARG_OID(0), PG_GETARG_INT16(1), ""));
}

/*
 * compact_types.referenced_table(column_reference) returns oid
 *
 * Return NULL if there is no such column.
 */
PG_FUNCTION_INFO_V1(compact_types_referenced_table);
Datum
compact_types_referenced_table(PG_FUNCTION_ARGS)
{
	Oid			relid;
	AttrNumber	attnum;

	if (!resolve((ColumnReference *) PG_DETOAST_DATUM(PG_GETARG_DATUM(0)), &relid, &attnum))
		PG_RETURN_NULL();

	PG_RETURN_OID(relid);
}

/*
 * compact_types.referenced_attnum(column_reference) returns int2
 */
PG_FUNCTION_INFO_V1(compact_types_referenced_attnum);
Datum
compact_types_referenced_attnum(PG_FUNCTION_ARGS)
{
	Oid			relid;
	AttrNumber	attnum;

	if (!resolve((ColumnReference *) PG_DETOAST_DATUM(PG_GETARG_DATUM(0)), &relid, &attnum))
		PG_RETURN_NULL();

	PG_RETURN_INT16(attnum);
}

/*
 * The notes
 */

/*
 * Return the name under which a type is recorded.  The type must be one of our
 * types or of core's types, because their names mean the same in every
 * database.  Return NULL for any other type.
 */
char *
compact_revert_noted_name(Oid nspid, Oid typid)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(typid));
	Form_pg_type form;
	char	   *result = NULL;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	form = (Form_pg_type) GETSTRUCT(tuple);
	if (typid < FirstNormalObjectId ||
		(form->typtype == TYPTYPE_BASE && form->typisdefined &&
		 get_func_namespace(form->typinput) == nspid))
		result = pstrdup(NameStr(form->typname));
	ReleaseSysCache(tuple);

	return result;
}

/* Run a statement on the tables of notes, as the owner of these tables. */
void
compact_revert_write_notes(const Advice *advice, const char *sql)
{
	Oid			owner = compact_ddl_relation_owner(get_relname_relid("conversions", advice->nspid));

	if (!OidIsValid(owner))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation \"%s\" does not exist", "compact_types.conversions")));
	compact_ddl_execute_as(owner, true, "%s", sql);
}

/*
 * Record the former types of the chosen columns.  The advice contains the
 * columns as they were before the conversion.  If a column was converted
 * before, and was not changed since, keep its first recorded type.  Delete
 * notes whose columns no longer exist.
 */
void
compact_revert_remember(const Advice *advice, const bool *chosen, Oid relid)
{
	const char *schema = quote_identifier(get_namespace_name(advice->nspid));

	compact_revert_write_notes(advice, psprintf("DELETE FROM %s.conversions WHERE ctid = ANY (ARRAY("
												"SELECT ctid FROM %s.conversions WHERE converted::pg_catalog.text = '" GONE "'"
												" FOR UPDATE SKIP LOCKED))", schema, schema));
	compact_revert_write_notes(advice, psprintf("DELETE FROM %s.definitions WHERE ctid = ANY (ARRAY("
												"SELECT ctid FROM %s.definitions WHERE used::pg_catalog.text = '" GONE "'"
												" FOR UPDATE SKIP LOCKED))", schema, schema));
	if (get_rel_persistence(relid) == RELPERSISTENCE_TEMP)
		return;
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];
		Form_pg_attribute att = column->att;
		char	   *before = compact_revert_noted_name(advice->nspid, att->atttypid);
		char	   *after;

		if (!chosen[i])
			continue;
		after = compact_revert_noted_name(advice->nspid, column->type.typid);
		if (before == NULL || after == NULL)
			elog(ERROR, "unexpected type of column \"%s\"", NameStr(att->attname));
		compact_revert_write_notes(advice,
								   psprintf("WITH was AS (DELETE FROM %s.conversions"
											" WHERE %s.referenced_table(converted) = %u AND %s.referenced_attnum(converted) = %d RETURNING *),"
											" first AS (SELECT old_type, old_storage, old_compression FROM was"
											"  WHERE new_type = %s AND new_typmod = %d"
											"  UNION ALL SELECT %s, '%c', %s LIMIT 1)"
											" INSERT INTO %s.conversions SELECT %s.column_reference(%u, %d::int2),"
											" old_type, old_storage, old_compression, %s, %d, pg_catalog.now() FROM first",
											schema, schema, relid, schema, att->attnum,
											quote_literal_cstr(before), att->atttypmod,
											quote_literal_cstr(format_type_extended(att->atttypid, att->atttypmod,
																					FORMAT_TYPE_TYPEMOD_GIVEN)),
											att->attstorage,
											CompressionMethodIsValid(att->attcompression) ?
											psprintf("'%c'", att->attcompression) : "''",
											schema, schema, relid, att->attnum,
											quote_literal_cstr(after), column->type.typmod));
	}
}

/* Delete the notes on the chosen columns. */
void
compact_revert_forget(const Advice *advice, const bool *chosen, Oid relid)
{
	const char *schema = quote_identifier(get_namespace_name(advice->nspid));
	int			nchosen;

	compact_revert_write_notes(advice,
							   psprintf("DELETE FROM %s.conversions WHERE %s.referenced_table(converted) = %u"
										" AND %s.referenced_attnum(converted) IN (%s)",
										schema, schema, relid, schema,
										compact_convert_chosen_attnums(advice, chosen, &nchosen)));
}

/*
 * Triggers
 */

/*
 * Return true if convert() could have changed a column of type old_typid to
 * the type new_type, which is one of our types or of core's types.  An invalid
 * note must not cause the values in the table to be rounded.
 */
bool
compact_revert_is_plausible(Oid old_typid, int32 old_typmod, const char *new_type)
{
	const CompactInteger *integer;
	const CompactSeconds *seconds;
	int			width;
	int			scale;

	switch (old_typid)
	{
		case BPCHAROID:
		case VARCHAROID:
		case TEXTOID:
			return strncmp(new_type, "compact_char", 12) == 0 ||
				strcmp(new_type, "compact_text") == 0 ||
				compact_trained_number(new_type) > 0;
		case INT2OID:
		case INT4OID:
		case INT8OID:
			integer = compact_find_integer(new_type);
			return integer != NULL && integer->typid != INT8OID;
		case NUMERICOID:
			if (strcmp(new_type, "uint8") == 0)
				scale = 0;
			else if (!compact_decimal_parse_name(new_type, &width, &scale))
				return false;
			return old_typmod >= (int32) VARHDRSZ &&
				compact_advise_numeric_scale(old_typmod) == scale;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			seconds = compact_find_seconds(new_type);
			return seconds != NULL && seconds->twin == old_typid;
		default:
			return false;
	}
}

/*
 * Return the note.  If the note contains a column's name, replace the name by
 * a reference to the column that has this name now.  So the note does not
 * apply to a later column of the same name.
 */
static HeapTuple
pin_reference(HeapTuple tuple, TupleDesc desc, const ColumnReference *reference,
			  Oid relid, AttrNumber attnum)
{
	int			column = 1;
	bool		isnull = false;
	Datum		pinned;

	if (reference->attnum != 0)
		return tuple;
	pinned = PointerGetDatum(make_reference(relid, attnum, ""));
	return heap_modify_tuple_by_cols(tuple, desc, 1, &column, &pinned, &isnull);
}

/*
 * compact_types.guard_conversions() -- BEFORE INSERT row trigger of the notes
 *
 * Skip a note on a column of a table that the user does not own.  Raise an
 * error for a note that convert() cannot have written.
 */
PG_FUNCTION_INFO_V1(compact_types_guard_conversions);
Datum
compact_types_guard_conversions(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;
	TupleDesc	desc;
	Datum		values[3];
	bool		nulls[3];
	char	   *old_type;
	char	   *new_type;
	Oid			typid;
	int32		typmod;
	ColumnReference *reference;
	bool		resolved;
	Oid			relid;
	AttrNumber	attnum;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(trigdata->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigdata->tg_event) || !TRIGGER_FIRED_BY_INSERT(trigdata->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" must be fired BEFORE INSERT, for each row", "guard_conversions")));
	desc = RelationGetDescr(trigdata->tg_relation);
	for (int i = 0; i < (int) lengthof(values); i++)
		values[i] = heap_getattr(trigdata->tg_trigtuple, note_columns[i], desc, &nulls[i]);
	if (nulls[0] || nulls[1] || nulls[2])
		return PointerGetDatum(trigdata->tg_trigtuple); /* NOT NULL fails */
	reference = (ColumnReference *) PG_DETOAST_DATUM(values[0]);
	resolved = resolve(reference, &relid, &attnum);
	if (!superuser() && (!resolved || !compat_relation_ownercheck(relid, GetUserId())))
		return PointerGetDatum(NULL);

	old_type = TextDatumGetCString(values[1]);
	new_type = NameStr(*DatumGetName(values[2]));
	compat_parse_type(old_type, &typid, &typmod);
	if (!compact_revert_is_plausible(typid, typmod, new_type))
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("type \"%s\" cannot be the result of a conversion from type \"%s\"", new_type, old_type)));

	return PointerGetDatum(resolved ? pin_reference(trigdata->tg_trigtuple, desc, reference, relid, attnum) :
						   trigdata->tg_trigtuple);
}

/*
 * compact_types.guard_definitions() -- BEFORE INSERT row trigger of the notes on
 * definitions
 *
 * Skip a note on a relation whose owner the user cannot become.  Skip it also
 * unless the note has the name of this owner: revert() runs the definition with
 * the rights of the owner, and an earlier owner may have written the note.  So
 * a restored dump does not turn the definition of an earlier owner into one of
 * the present owner.
 */
PG_FUNCTION_INFO_V1(compact_types_guard_definitions);
Datum
compact_types_guard_definitions(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;
	TupleDesc	desc;
	Datum		reference;
	Datum		owner;
	bool		isnull;
	bool		owner_isnull;
	Oid			relid;
	AttrNumber	attnum;
	Oid			roleid;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(trigdata->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigdata->tg_event) || !TRIGGER_FIRED_BY_INSERT(trigdata->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" must be fired BEFORE INSERT, for each row", "guard_definitions")));
	desc = RelationGetDescr(trigdata->tg_relation);
	reference = heap_getattr(trigdata->tg_trigtuple, 1, desc, &isnull);
	if (isnull || !resolve((ColumnReference *) PG_DETOAST_DATUM(reference), &relid, &attnum))
		return PointerGetDatum(superuser() ? trigdata->tg_trigtuple : NULL);
	roleid = compact_ddl_relation_owner(relid);
	if (!OidIsValid(roleid) || !compat_can_become(GetUserId(), roleid))
		return PointerGetDatum(NULL);
	owner = heap_getattr(trigdata->tg_trigtuple, 2, desc, &owner_isnull);
	if (!owner_isnull &&
		strcmp(NameStr(*DatumGetName(owner)), GetUserNameFromId(roleid, false)) != 0)
		return PointerGetDatum(NULL);

	return PointerGetDatum(pin_reference(trigdata->tg_trigtuple, desc,
										 (ColumnReference *) PG_DETOAST_DATUM(reference),
										 relid, attnum));
}
