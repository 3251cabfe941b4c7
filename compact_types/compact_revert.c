/*-------------------------------------------------------------------------
 *
 * compact_revert.c
 *	  Give converted columns their former types back.
 *
 * convert() records the former type of a column in the table
 * compact_types.conversions, in the transaction that changes the column.
 * revert() reads these notes, and changes the types with the same functions as
 * convert().  compact_convert.c explains which code runs as which role.
 *
 * How a column is identified.  A note must find its column after the column
 * was renamed or its table was moved to another schema, after pg_upgrade, and
 * after a restore into another database, where OIDs and perhaps column numbers
 * differ.  So the type compact_types.column_reference contains OIDs, but its
 * output is the present name of the column, which pg_dump dumps.  A name that
 * means no column when it is read stays a name, and is looked up each time: a
 * dump may omit tables.
 *
 * Trust.  A dump is restored by INSERT, and not always by a superuser.  So a
 * trigger lets everybody write notes on tables of their own, and only
 * superusers write notes on others.  No text of a note on a column gets into a
 * statement.  The old type is looked up, must be a type of core's that
 * convert() could have started from, and is written anew.
 *
 * Definitions.  A function of char(n) in a constraint or view can become a
 * function of text, and would stay so.  So if the change of types gives a
 * definition another text, the former text is recorded in
 * compact_types.definitions.  It is used only if the definition still has the
 * text that was recorded with it.  It is run as the owner of the table or
 * view, who must be the recorded owner.
 *
 * Stand-ins.  If a constraint or view compares two columns that are both
 * narrow, its text has a cast to a type that stands in for the literal or
 * operand of a wider type.  The cast would stay in the text, and would prevent
 * the extension from being dropped.  So these casts are removed from the text
 * on the way back.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_revert.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/toast_compression.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_type.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "compact_convert.h"
#include "compact_ddl.h"
#include "compact_types_compat.h"

/* Output of a reference to a column that no longer exists. */
#define GONE	"-"

/* The value of the type column_reference */
typedef struct ColumnReference
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	Oid			relid;
	int32		attnum;			/* 0 if there is only a name */
	char		name[FLEXIBLE_ARRAY_MEMBER];	/* if it is no column yet */
} ColumnReference;

/* Columns of the notes: converted, old_type, new_type */
static const AttrNumber note_columns[] = {1, 2, 5};

/* Former properties of a column. */
typedef struct OldType
{
	Oid			typid;			/* or InvalidOid */
	int32		typmod;
	char		storage;		/* '\0' for the type's own */
	char		compression;
} OldType;

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

/* Look up a name of three parts.  Return false if it means no column. */
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
 * compact_types.column_reference(rel oid, attnum int2) returns column_reference
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
 * NULL if there is no such column.
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
 * Return the name under which a type is recorded.  It must be one of our types
 * or of core's, whose names mean the same in every database.  Return NULL for
 * any other type.
 */
static char *
noted_name(Oid nspid, Oid typid)
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

/* Run a statement on the notes, as the notes' owner. */
static void
write_notes(const Advice *advice, const char *sql)
{
	Oid			owner = ddl_relation_owner(get_relname_relid("conversions", advice->nspid));

	if (!OidIsValid(owner))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation \"%s\" does not exist", "compact_types.conversions")));
	ddl_execute_as(owner, true, "%s", sql);
}

/*
 * Record the former types of the chosen columns.  The advice has the columns
 * as they were.  A column that was converted before, and was not changed
 * since, keeps its first type.  Delete notes whose columns no longer exist.
 */
void
revert_remember(const Advice *advice, const bool *chosen, Oid relid)
{
	const char *schema = quote_identifier(get_namespace_name(advice->nspid));

	write_notes(advice, psprintf("DELETE FROM %s.conversions WHERE ctid = ANY (ARRAY("
								 "SELECT ctid FROM %s.conversions WHERE converted::pg_catalog.text = '" GONE "'"
								 " FOR UPDATE SKIP LOCKED))", schema, schema));
	write_notes(advice, psprintf("DELETE FROM %s.definitions WHERE ctid = ANY (ARRAY("
								 "SELECT ctid FROM %s.definitions WHERE used::pg_catalog.text = '" GONE "'"
								 " FOR UPDATE SKIP LOCKED))", schema, schema));
	if (get_rel_persistence(relid) == RELPERSISTENCE_TEMP)
		return;
	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];
		Form_pg_attribute att = column->att;
		char	   *before = noted_name(advice->nspid, att->atttypid);
		char	   *after;

		if (!chosen[i])
			continue;
		after = noted_name(advice->nspid, column->type.typid);
		if (before == NULL || after == NULL)
			elog(ERROR, "unexpected type of column \"%s\"", NameStr(att->attname));
		write_notes(advice,
					psprintf("WITH was AS (DELETE FROM %s.conversions"
							 " WHERE %s.referenced_table(converted) = %u AND %s.referenced_attnum(converted) = %d RETURNING *),"
							 " first AS (SELECT old_type, old_storage, old_compression FROM was"
							 "  WHERE new_type = %s AND new_typmod = %d"
							 "  UNION ALL SELECT %s, '%c', %s LIMIT 1)"
							 " INSERT INTO %s.conversions SELECT %s.column_reference(%u, %d::int2),"
							 " old_type, old_storage, old_compression, %s, %d FROM first",
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
revert_forget(const Advice *advice, const bool *chosen, Oid relid)
{
	const char *schema = quote_identifier(get_namespace_name(advice->nspid));
	int			nchosen;

	write_notes(advice,
				psprintf("DELETE FROM %s.conversions WHERE %s.referenced_table(converted) = %u"
						 " AND %s.referenced_attnum(converted) IN (%s)",
						 schema, schema, relid, schema,
						 convert_chosen_attnums(advice, chosen, &nchosen)));
}

/*
 * Former types
 */

/*
 * Return true if convert() could have changed old_typid to this type of ours
 * or of core's.  An invalid note must not cause the values in the table to be
 * rounded.
 */
static bool
is_plausible(Oid old_typid, int32 old_typmod, const char *new_type)
{
	int			width;
	int			scale;

	switch (old_typid)
	{
		case BPCHAROID:
		case VARCHAROID:
		case TEXTOID:
			return strncmp(new_type, "compact_char", 12) == 0 ||
				strcmp(new_type, "compact_text") == 0;
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return strcmp(new_type, "int1") == 0 || strcmp(new_type, "uint1") == 0 ||
				strcmp(new_type, "uint2") == 0 || strcmp(new_type, "uint3") == 0 ||
				strcmp(new_type, "int2") == 0 || strcmp(new_type, "int4") == 0;
		case NUMERICOID:
			return sscanf(new_type, "compact_decimal%d_%d", &width, &scale) == 2 &&
				old_typmod >= (int32) VARHDRSZ &&
				advise_numeric_scale(old_typmod) == scale;
		case TIMESTAMPOID:
			return strcmp(new_type, "seconds4") == 0;
		case TIMESTAMPTZOID:
			return strcmp(new_type, "seconds4tz") == 0;
		default:
			return false;
	}
}

/*
 * Return the note with its name replaced by a reference to the column that has
 * the name now.  A later column of that name must not get the note.
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
	if (!is_plausible(typid, typmod, new_type))
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("a column of type \"%s\" cannot have been of type \"%s\"", new_type, old_type)));

	return PointerGetDatum(resolved ? pin_reference(trigdata->tg_trigtuple, desc, reference, relid, attnum) :
						   trigdata->tg_trigtuple);
}

/*
 * compact_types.guard_definitions() -- BEFORE INSERT row trigger of the notes on
 * definitions
 *
 * Skip a note on a relation whose owner the user cannot become.  Record the
 * owner: a definition is not used for the next owner.
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
	Oid			relid;
	AttrNumber	attnum;
	HeapTuple	tuple;
	Oid			roleid;
	NameData	name;
	int			owner_column = 2;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(trigdata->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigdata->tg_event) || !TRIGGER_FIRED_BY_INSERT(trigdata->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" must be fired BEFORE INSERT, for each row", "guard_definitions")));
	desc = RelationGetDescr(trigdata->tg_relation);
	reference = heap_getattr(trigdata->tg_trigtuple, 1, desc, &isnull);
	if (isnull || !resolve((ColumnReference *) PG_DETOAST_DATUM(reference), &relid, &attnum))
		return PointerGetDatum(superuser() ? trigdata->tg_trigtuple : NULL);
	roleid = ddl_relation_owner(relid);
	if (!OidIsValid(roleid) || !compat_can_become(GetUserId(), roleid))
		return PointerGetDatum(NULL);
	namestrcpy(&name, GetUserNameFromId(roleid, false));
	owner = NameGetDatum(&name);
	isnull = false;

	tuple = heap_modify_tuple_by_cols(trigdata->tg_trigtuple, desc, 1, &owner_column, &owner, &isnull);
	return PointerGetDatum(pin_reference(tuple, desc, (ColumnReference *) PG_DETOAST_DATUM(reference),
										 relid, attnum));
}

/*
 * Find the ordinary type that holds every value of the type, and has the same
 * meaning.  Return false if there is none.
 */
static bool
ordinary_type(Oid nspid, Oid typid, int32 typmod, OldType *old)
{
	Oid			element = get_element_type(typid);
	char	   *name;
	int			width;
	int			scale;

	memset(old, 0, sizeof(OldType));
	old->typmod = -1;
	if (OidIsValid(element))
	{
		if (!ordinary_type(nspid, element, typmod, old))
			return false;
		old->typid = get_array_type(old->typid);
		return OidIsValid(old->typid);
	}
	name = typid < FirstNormalObjectId ? NULL : noted_name(nspid, typid);
	if (name == NULL)
		return false;

	if (strncmp(name, "compact_char", 12) == 0)
	{
		old->typid = BPCHAROID;
		old->typmod = get_typlen(typid) + VARHDRSZ;
	}
	else if (strcmp(name, "compact_text") == 0)
	{
		old->typid = typmod >= 0 ? VARCHAROID : TEXTOID;
		old->typmod = typmod;
	}
	else if (strcmp(name, "int1") == 0 || strcmp(name, "uint1") == 0)
		old->typid = INT2OID;
	else if (strcmp(name, "uint2") == 0 || strcmp(name, "uint3") == 0)
		old->typid = INT4OID;
	else if (strcmp(name, "seconds4") == 0 || strcmp(name, "seconds4tz") == 0)
	{
		old->typid = name[8] == '\0' ? TIMESTAMPOID : TIMESTAMPTZOID;
		old->typmod = 0;
	}
	else if (sscanf(name, "compact_decimal%d_%d", &width, &scale) == 2)
	{
		/* numbers of digits of 2^31 and 2^63 */
		old->typid = NUMERICOID;
		old->typmod = (((width == 4 ? 10 : 19) << 16) | scale) + VARHDRSZ;
	}

	return OidIsValid(old->typid);
}

/*
 * Use the note on the column.  If the note is not for the column's present
 * type, set the column's reason and return false.
 */
static bool
use_note(const Advice *advice, AdviseColumn *column, const char *old_type,
		 const char *storage, const char *compression, const char *new_type,
		 int32 new_typmod, OldType *old)
{
	Form_pg_attribute att = column->att;
	char	   *name = noted_name(advice->nspid, att->atttypid);

	memset(old, 0, sizeof(OldType));
	if (name == NULL || strcmp(name, new_type) != 0 || att->atttypmod != new_typmod)
	{
		column->reason = psprintf("It was converted to %s, but has type %s now.",
								  new_type, format_type_with_typemod(att->atttypid, att->atttypmod));
		return false;
	}
	compat_parse_type(old_type, &old->typid, &old->typmod);
	if (!is_plausible(old->typid, old->typmod, new_type))
		elog(ERROR, "column of type \"%s\" cannot have been of type \"%s\"", new_type, old_type);
	if (storage && strchr("pemx", storage[0]))
		old->storage = storage[0];
	if (compression && strchr("pl", compression[0]))
		old->compression = compression[0];

	return true;
}

/* Return the clauses that restore the storage of the column. */
static char *
storage_clauses(Form_pg_attribute att, const OldType *old)
{
	StringInfoData buf;
	const char *name = quote_identifier(NameStr(att->attname));
	char		storage = old->storage;
	char		compression = old->compression;

	initStringInfo(&buf);
	if (get_typlen(old->typid) != -1)
		return buf.data;
	if (att->attlen == -1)
	{
		/*
		 * convert() has kept both settings, and a user may have changed them
		 * since
		 */
		storage = att->attstorage == get_typstorage(att->atttypid) ? '\0' : att->attstorage;
		compression = att->attcompression;
	}
	if (storage != '\0' && storage != get_typstorage(old->typid))
		appendStringInfo(&buf, ", ALTER COLUMN %s SET STORAGE %s", name,
						 storage == TYPSTORAGE_PLAIN ? "PLAIN" :
						 storage == TYPSTORAGE_EXTERNAL ? "EXTERNAL" :
						 storage == TYPSTORAGE_MAIN ? "MAIN" : "EXTENDED");
	if (CompressionMethodIsValid(compression))
		appendStringInfo(&buf, ", ALTER COLUMN %s SET COMPRESSION %s", name,
						 GetCompressionMethodName(compression));

	return buf.data;
}

/* Propose to change the column to the type, if there is one. */
static void
go_back(AdviseColumn *column, const OldType *old)
{
	bool		byval;

	memset(&column->type, 0, sizeof(AdviseType));
	if (!OidIsValid(old->typid))
		return;
	column->kind = ADVISE_REVERT;
	column->type.typid = old->typid;
	column->type.typmod = old->typmod;
	get_typlenbyvalalign(old->typid, &column->type.len, &byval, &column->type.align);
	column->type.storage = get_typstorage(old->typid);
	/* this name is for a cast, which must not cut a string */
	column->type.sql = format_type_extended(old->typid, -1, FORMAT_TYPE_TYPEMOD_GIVEN);
	column->type.complete = format_type_extended(old->typid, old->typmod, FORMAT_TYPE_TYPEMOD_GIVEN);
	column->type.name = column->type.complete;
	column->storage = storage_clauses(column->att, old);
}

/*
 * Stand-ins
 */

static const char *const stand_ins[] = {
	"integer_literal", "numeric_literal", "timestamp_literal", "timestamptz_literal",
	"integer_operand", "numeric_operand", "numeric_left", "timestamp_operand"
};

/*
 * Return the definition without casts to types that stand in for literals and
 * operands of narrow scalars, in the current memory context.  The definition
 * must be deparsed text in which all types of that schema are qualified.
 */
char *
revert_without_stand_ins(const Advice *advice, const char *definition)
{
	StringInfoData buf;
	char	   *prefix = psprintf("::%s.", quote_identifier(get_namespace_name(advice->nspid)));
	const char *p = definition;

	initStringInfo(&buf);
	while (*p)
	{
		const char *rest = NULL;

		/* a doubled quote ends a string and starts another */
		if (*p == '\'' || *p == '"')
		{
			char		quote = *p;

			do
			{
				appendStringInfoChar(&buf, *p++);
			} while (*p && *p != quote);
			if (*p)
				appendStringInfoChar(&buf, *p++);
			continue;
		}
		if (strncmp(p, prefix, strlen(prefix)) == 0)
		{
			for (int i = 0; i < (int) lengthof(stand_ins) && rest == NULL; i++)
			{
				Size		len = strlen(stand_ins[i]);

				rest = p + strlen(prefix);
				if (strncmp(rest, stand_ins[i], len) != 0 ||
					rest[len] == '_' || isalnum((unsigned char) rest[len]))
					rest = NULL;
				else
					rest += len;
			}
		}
		if (rest)
			p = strncmp(rest, "[]", 2) == 0 ? rest + 2 : rest;
		else
			appendStringInfoChar(&buf, *p++);
	}

	return buf.data;
}

/*
 * Definitions
 */

/*
 * Read the definitions of the table's CHECK constraints and of its statistics
 * objects on expressions.  If a note has the definition before the conversion,
 * set it as the origin.
 */
void
revert_read_definitions(Advice *advice, Oid relid)
{
	const char *schema = quote_identifier(get_namespace_name(advice->nspid));
	char	   *table = quote_literal_cstr(quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
																	  get_rel_name(relid)));
	MemoryContext oldcxt;

	advice->definitions = NIL;
	advise_query("SELECT x.name, x.definition, n.old_definition, x.comment, x.is_constraint,"
				 " (SELECT pg_catalog.min(d.refobjsubid) FROM pg_catalog.pg_depend d WHERE d.classid = x.classid AND d.objid = x.oid"
				 "  AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = %u AND d.refobjsubid > 0)"
				 " FROM (SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass::pg_catalog.oid AS classid, c.oid,"
				 "   pg_catalog.quote_ident(c.conname) AS name, pg_catalog.pg_get_constraintdef(c.oid) AS definition, true AS is_constraint,"
				 "   'COMMENT ON CONSTRAINT ' || pg_catalog.quote_ident(c.conname) || ' ON ' || %s || ' IS ' ||"
				 "   pg_catalog.quote_literal(pg_catalog.obj_description(c.oid, 'pg_constraint')) AS comment"
				 "  FROM pg_catalog.pg_constraint c WHERE c.conrelid = %u AND c.contype = 'c'"
				 "  UNION ALL SELECT 'pg_catalog.pg_statistic_ext'::pg_catalog.regclass, s.oid,"
				 "   pg_catalog.format('%%I.%%I', m.nspname, s.stxname), pg_catalog.pg_get_statisticsobjdef(s.oid), false,"
				 "   'COMMENT ON STATISTICS ' || pg_catalog.format('%%I.%%I', m.nspname, s.stxname) || ' IS ' ||"
				 "   pg_catalog.quote_literal(pg_catalog.obj_description(s.oid, 'pg_statistic_ext'))"
				 "  FROM pg_catalog.pg_statistic_ext s JOIN pg_catalog.pg_namespace m ON m.oid = s.stxnamespace"
				 "  WHERE s.stxrelid = %u AND s.stxexprs IS NOT NULL) x"
				 " LEFT JOIN LATERAL (SELECT old_definition FROM %s.definitions WHERE %s.referenced_table(used) = %u"
				 "  AND new_definition = x.definition AND owner = (SELECT pg_catalog.pg_get_userbyid(relowner) FROM pg_catalog.pg_class WHERE oid = %u)"
				 "  LIMIT 1) n ON true"
				 " WHERE x.definition IS NOT NULL ORDER BY x.is_constraint, x.name",
				 relid, table, relid, relid, schema, schema, relid, relid);
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Definition *definition = palloc0(sizeof(Definition));
		char	   *attnum = advise_result(i, 5);

		definition->object = advise_result(i, 0);
		definition->text = advise_result(i, 1);
		definition->origin = advise_result(i, 2);
		definition->comment = advise_result(i, 3);
		definition->is_constraint = advise_result(i, 4)[0] == 't';
		definition->attnum = attnum ? atoi(attnum) : 0;
		advice->definitions = lappend(advice->definitions, definition);
	}
	MemoryContextSwitchTo(oldcxt);
}

/* Record the former and the present text of a constraint, statistics object or view. */
static void
note_definition(const Advice *advice, Oid relid, AttrNumber attnum,
				const char *origin, const char *text)
{
	const char *schema = quote_identifier(get_namespace_name(advice->nspid));

	write_notes(advice,
				psprintf("INSERT INTO %s.definitions VALUES (%s.column_reference(%u, %d::int2), CURRENT_USER, %s, %s)",
						 schema, schema, relid, attnum, quote_literal_cstr(origin),
						 quote_literal_cstr(text)));
}

/*
 * Record the former text of the definitions whose text the change of types has
 * altered.  During convert() it is the text before, during revert() the one of
 * an earlier note.
 */
void
revert_note_definitions(Advice *advice, Oid relid)
{
	const char *schema = quote_identifier(get_namespace_name(advice->nspid));
	List	   *old = advice->definitions;
	ListCell   *lc;
	ListCell   *lc2;

	revert_read_definitions(advice, relid);
	write_notes(advice, psprintf("DELETE FROM %s.definitions WHERE %s.referenced_table(used) = %u",
								 schema, schema, relid));
	if (get_rel_persistence(relid) == RELPERSISTENCE_TEMP)
		return;
	foreach(lc, old)
	{
		Definition *before = (Definition *) lfirst(lc);
		const char *origin = before->origin;

		if (origin == NULL && !advice->reverts)
			origin = before->text;
		foreach(lc2, advice->definitions)
		{
			Definition *after = (Definition *) lfirst(lc2);

			if (origin && after->is_constraint == before->is_constraint &&
				strcmp(after->object, before->object) == 0 &&
				strcmp(after->text, origin) != 0 && after->attnum > 0)
				note_definition(advice, relid, after->attnum, origin, after->text);
		}
	}
}

/* Return the query that the view had before its first conversion, or NULL. */
char *
revert_view_origin(const Advice *advice, Oid view, const char *text)
{
	const char *schema = quote_identifier(get_namespace_name(advice->nspid));

	advise_query("SELECT old_definition FROM %s.definitions WHERE %s.referenced_table(used) = %u AND new_definition = %s"
				 " AND owner = (SELECT pg_catalog.pg_get_userbyid(relowner) FROM pg_catalog.pg_class WHERE oid = %u) LIMIT 1",
				 schema, schema, view, quote_literal_cstr(text), view);

	return SPI_processed == 0 ? NULL : MemoryContextStrdup(advice->cxt, advise_result(0, 0));
}

/* Record that query, if it is known, for a view that was created again. */
void
revert_note_view(const Advice *advice, Oid view, const char *origin)
{
	if (origin == NULL || get_rel_persistence(view) == RELPERSISTENCE_TEMP)
		return;
	advise_query("SELECT pg_catalog.pg_get_viewdef(%u)", view);
	if (strcmp(advise_result(0, 0), origin) != 0)
		note_definition(advice, view, 1, origin, advise_result(0, 0));
}

static bool
ends_with(const char *str, const char *suffix)
{
	size_t		len = strlen(str);
	size_t		suffix_len = strlen(suffix);

	return len >= suffix_len && strcmp(str + len - suffix_len, suffix) == 0;
}

/*
 * Collect the statements that re-create constraints and statistics objects
 * whose text has changed, or which have casts to stand-ins.
 */
static void
find_definitions(Advice *advice)
{
	MemoryContext oldcxt;
	ListCell   *lc;
	char	   *table;

	revert_read_definitions(advice, RelationGetRelid(advice->rel));
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	table = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(advice->rel)),
									   RelationGetRelationName(advice->rel));
	foreach(lc, advice->definitions)
	{
		Definition *definition = (Definition *) lfirst(lc);
		char	   *text = definition->origin ? definition->origin :
			revert_without_stand_ins(advice, definition->text);

		if (strcmp(definition->text, text) == 0)
			continue;
		if (definition->is_constraint)
		{
			/*
			 * The text has names without a schema, according to the deparse
			 * settings.  With the caller's search_path these could mean
			 * functions and operators of another role.  But functions in the
			 * constraint may need that path, so validate the rows with it,
			 * separately.
			 */
			bool		checked = !ends_with(text, " NOT VALID") && !ends_with(text, " NOT ENFORCED");

			advice->constraints = lappend(advice->constraints,
										  psprintf("DROP CONSTRAINT %s", definition->object));
			advice->complete = lappend(advice->complete,
									   psprintf("ALTER TABLE ONLY %s ADD CONSTRAINT %s %s%s", table,
												definition->object, text, checked ? " NOT VALID" : ""));
			if (checked)
				advice->validate = lappend(advice->validate,
										   psprintf("ALTER TABLE ONLY %s VALIDATE CONSTRAINT %s",
													table, definition->object));
		}
		else
		{
			advice->prepare = lappend(advice->prepare, psprintf("DROP STATISTICS %s", definition->object));
			advice->complete = lappend(advice->complete, text);
		}
		if (definition->comment)
			advice->complete = lappend(advice->complete, definition->comment);
	}
	MemoryContextSwitchTo(oldcxt);
}

/*
 * A default that was set after the conversion is a constant of the compact
 * type.  ALTER TABLE would keep it, with a cast, and it would be dropped with
 * the extension.  So set it again, as a literal.  The deparse settings must be
 * in effect.
 */
static void
find_defaults(Advice *advice)
{
	TupleConstr *constr = RelationGetDescr(advice->rel)->constr;
	MemoryContext oldcxt = MemoryContextSwitchTo(advice->cxt);

	for (int i = 0; i < advice->ncolumns; i++)
	{
		AdviseColumn *column = &advice->columns[i];

		if (column->kind != ADVISE_REVERT || column->att->attgenerated != '\0')
			continue;
		for (int d = 0; constr != NULL && d < constr->num_defval; d++)
		{
			Node	   *expr;
			Oid			typoutput;
			bool		varlena;

			if (constr->defval[d].adnum != column->att->attnum)
				continue;
			expr = strip_implicit_coercions(stringToNode(constr->defval[d].adbin));
			if (!IsA(expr, Const) || ((Const *) expr)->constisnull ||
				((Const *) expr)->consttype != column->att->atttypid)
				continue;
			getTypeOutputInfo(((Const *) expr)->consttype, &typoutput, &varlena);
			column->storage = psprintf("%s, ALTER COLUMN %s SET DEFAULT %s", column->storage,
									   quote_identifier(NameStr(column->att->attname)),
									   quote_literal_cstr(OidOutputFunctionCall(typoutput, ((Const *) expr)->constvalue)));
		}
	}
	MemoryContextSwitchTo(oldcxt);
}

/*
 * SQL functions
 */

/*
 * Find the former types of the table's columns, and the blockers.  The table
 * must be locked; it stays open.
 */
static Advice *
make_advice(Oid relid, Oid funcid, bool unrecorded)
{
	Advice	   *advice = palloc0(sizeof(Advice));
	TupleDesc	desc;
	const char *schema;
	int			nestlevel;
	MemoryContext oldcxt;

	advice->rel = table_open(relid, NoLock);
	advice->reverts = true;
	advice->cxt = CurrentMemoryContext;
	advice->nspid = get_func_namespace(funcid);
	schema = quote_identifier(get_namespace_name(advice->nspid));
	desc = RelationGetDescr(advice->rel);
	if (RELATION_IS_OTHER_TEMP(advice->rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	advice->columns = palloc0((desc->natts + 1) * sizeof(AdviseColumn));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		advice->columns[advice->ncolumns].att = att;
		advice->columns[advice->ncolumns].reason = "It is not recorded that it was converted.";
		advice->ncolumns++;
	}

	SPI_connect();
	nestlevel = ddl_set_gucs();
	advise_query("SELECT %s.referenced_attnum(converted), old_type, old_storage, old_compression, new_type, new_typmod"
				 " FROM %s.conversions WHERE %s.referenced_table(converted) = %u",
				 schema, schema, schema, relid);
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	for (uint64 row = 0; row < SPI_processed; row++)
	{
		for (int i = 0; i < advice->ncolumns; i++)
		{
			AdviseColumn *column = &advice->columns[i];
			OldType		old;

			if (column->att->attnum != atoi(advise_result(row, 0)))
				continue;
			if (use_note(advice, column, advise_result(row, 1), advise_result(row, 2),
						 advise_result(row, 3), advise_result(row, 4),
						 atoi(advise_result(row, 5)), &old))
				go_back(column, &old);
			else
				column->outdated = true;
		}
	}
	for (int i = 0; i < advice->ncolumns && unrecorded; i++)
	{
		AdviseColumn *column = &advice->columns[i];
		OldType		old;

		if (column->kind == ADVISE_KEEP &&
			ordinary_type(advice->nspid, column->att->atttypid, column->att->atttypmod, &old))
			go_back(column, &old);
	}
	MemoryContextSwitchTo(oldcxt);

	advise_find_blockers(advice);
	advise_check_indexes(advice);
	ddl_set_deparse_gucs();
	find_definitions(advice);
	find_defaults(advice);
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	return advice;
}

/*
 * Lock the tables that have foreign keys to columns that change, because the
 * rehearsal empties them as well.  They belong to the same owner, or else
 * there are blockers.
 */
static void
lock_referencing(Advice *advice, const bool *chosen)
{
	int			nchosen;
	char	   *attnums = convert_chosen_attnums(advice, chosen, &nchosen);
	MemoryContext oldcxt;
	ListCell   *lc;

	SPI_connect();
	advise_query("SELECT DISTINCT f.conrelid FROM pg_catalog.pg_constraint f JOIN pg_catalog.pg_class r ON r.oid OPERATOR(pg_catalog.=) f.conrelid"
				 " WHERE f.confrelid OPERATOR(pg_catalog.=) %u AND f.conrelid OPERATOR(pg_catalog.<>) f.confrelid"
				 " AND f.contype OPERATOR(pg_catalog.=) 'f' AND f.confkey OPERATOR(pg_catalog.&&) ARRAY[%s]::pg_catalog.int2[]"
				 " AND r.relkind OPERATOR(pg_catalog.=) 'r' AND NOT r.relispartition AND r.relowner OPERATOR(pg_catalog.=) %u ORDER BY 1",
				 RelationGetRelid(advice->rel), attnums, advice->rel->rd_rel->relowner);
	oldcxt = MemoryContextSwitchTo(advice->cxt);
	for (uint64 i = 0; i < SPI_processed; i++)
		advice->referencing = lappend_oid(advice->referencing, atooid(advise_result(i, 0)));
	MemoryContextSwitchTo(oldcxt);
	SPI_finish();
	foreach(lc, advice->referencing)
		LockRelationOid(lfirst_oid(lc), AccessExclusiveLock);
}

static void
revert_table(Oid relid, Oid funcid, ArrayType *names, bool unrecorded,
			 const ConvertOptions *options, ReturnSetInfo *rsinfo)
{
	Advice	   *advice;
	bool	   *chosen;
	bool	   *outdated;
	bool		any = false;
	int			nestlevel;

	convert_lock_table(relid);
	PushActiveSnapshot(GetLatestSnapshot());
	advice = make_advice(relid, funcid, unrecorded);
	chosen = convert_choose_columns(advice, names);
	lock_referencing(advice, chosen);
	PopActiveSnapshot();

	/* keep columns that were changed by hand, and do not report them again */
	outdated = palloc0(advice->ncolumns + 1);
	for (int i = 0; i < advice->ncolumns && names == NULL; i++)
	{
		const AdviseColumn *column = &advice->columns[i];

		if (!column->outdated)
			continue;
		outdated[i] = any = true;
		ereport(NOTICE,
				(errmsg("column \"%s\" of table \"%s\" is not what it was converted to",
						NameStr(column->att->attname), RelationGetRelationName(advice->rel)),
				 errdetail_internal("%s", column->reason)));
	}
	if (any)
	{
		SPI_connect();
		nestlevel = ddl_set_gucs();
		revert_forget(advice, outdated, relid);
		AtEOXact_GUC(true, nestlevel);
		SPI_finish();
	}
	convert_columns(advice, chosen, options, rsinfo);
}

/*
 * compact_types.revert(rel regclass, columns name[], unrecorded bool,
 * skip_blocked bool, update_statistics bool) returns setof record
 *
 * Give the columns that convert() has changed their former types back.  With
 * unrecorded, every other column of a compact type gets the ordinary type that
 * holds its values.  NULL in columns stands for all columns.  Return the same
 * rows as convert().  Errors: those of convert(), and 55000 for a named column
 * without such a type.
 */
PG_FUNCTION_INFO_V1(compact_types_revert);
Datum
compact_types_revert(PG_FUNCTION_ARGS)
{
	ArrayType  *names = PG_ARGISNULL(1) ? NULL : PG_GETARG_ARRAYTYPE_P(1);
	ConvertOptions options = {.all = (names == NULL)};

	convert_check_call(fcinfo, "compact_types.revert()", true);
	options.skip_blocked = PG_GETARG_BOOL(3);
	options.update_statistics = PG_GETARG_BOOL(4);

	InitMaterializedSRF(fcinfo, 0);
	revert_table(PG_GETARG_OID(0), fcinfo->flinfo->fn_oid, names, PG_GETARG_BOOL(2),
				 &options, (ReturnSetInfo *) fcinfo->resultinfo);

	return (Datum) 0;
}

/*
 * compact_types.revert_all(unrecorded bool, skip_blocked bool,
 * update_statistics bool) returns setof record
 *
 * Call revert() for each table of the database that has something to revert,
 * and whose owner the caller is or can become by SET ROLE.  Report the tables
 * that are left out, and the reason.  Return the rows of revert(), with the
 * table in front.
 */
PG_FUNCTION_INFO_V1(compact_types_revert_all);
Datum
compact_types_revert_all(PG_FUNCTION_ARGS)
{
	ConvertOptions options = {.all = true,.table_too = true};
	Oid			nspid = get_func_namespace(fcinfo->flinfo->fn_oid);
	const char *schema = quote_identifier(get_namespace_name(nspid));
	MemoryContext oldcxt = CurrentMemoryContext;
	List	   *tables = NIL;
	List	   *others = NIL;
	List	   *kinds = NIL;
	int			nestlevel;
	ListCell   *lc;

	convert_check_call(fcinfo, "compact_types.revert_all()", false);
	options.skip_blocked = PG_GETARG_BOOL(1);
	options.update_statistics = PG_GETARG_BOOL(2);
	InitMaterializedSRF(fcinfo, 0);

	SPI_connect();
	nestlevel = ddl_set_gucs();
	advise_query("SELECT c.oid, c.relowner, c.relkind = 'r' AND NOT c.relispartition AND NOT EXISTS"
				 "  (SELECT FROM pg_catalog.pg_inherits h WHERE c.oid IN (h.inhrelid, h.inhparent))"
				 " FROM pg_catalog.pg_class c WHERE c.relkind IN ('r', 'p', 'm', 'f')"
				 " AND NOT pg_catalog.pg_is_other_temp_schema(c.relnamespace)"
				 " AND (c.oid IN (SELECT %s.referenced_table(converted) FROM %s.conversions)"
				 "  OR %s AND EXISTS (SELECT FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid"
				 "   LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND t.typlen = -1"
				 "   JOIN pg_catalog.pg_proc p ON p.oid IN (t.typinput, e.typinput)"
				 "   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND p.pronamespace = %u"
				 "   AND NOT (c.relname IN ('conversions', 'definitions') AND c.relnamespace = %u)))"
				 " ORDER BY 1",
				 schema, schema, PG_GETARG_BOOL(0) ? "true" : "false", nspid, nspid);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Oid			relid = atooid(advise_result(i, 0));
		char	   *name = get_rel_name(relid);
		MemoryContext spicxt = MemoryContextSwitchTo(oldcxt);

		if (name == NULL)
			 /* dropped a moment ago */ ;
		else if (!compat_can_become(GetUserId(), atooid(advise_result(i, 1))))
			others = lappend(others, pstrdup(name));
		else if (advise_result(i, 2)[0] != 't')
			kinds = lappend(kinds, pstrdup(name));
		else
			tables = lappend_oid(tables, relid);
		MemoryContextSwitchTo(spicxt);
	}
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();

	foreach(lc, others)
		ereport(NOTICE,
				(errmsg("table \"%s\" is left as it is", (char *) lfirst(lc)),
				 errdetail("It belongs to a role that you cannot become by SET ROLE.")));
	foreach(lc, kinds)
		ereport(NOTICE,
				(errmsg("table \"%s\" is left as it is", (char *) lfirst(lc)),
				 errdetail("It is partitioned, a partition, part of an inheritance tree, a foreign table or a materialized view."),
				 errhint("Use ALTER TABLE ... ALTER COLUMN ... TYPE, or create it again.")));
	foreach(lc, tables)
	{
		if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(lfirst_oid(lc))))
			revert_table(lfirst_oid(lc), fcinfo->flinfo->fn_oid, NULL, PG_GETARG_BOOL(0),
						 &options, (ReturnSetInfo *) fcinfo->resultinfo);
	}

	return (Datum) 0;
}
