/*-------------------------------------------------------------------------
 *
 * compact_auto_index.c
 *	  CREATE INDEX on compact strings with the operator classes of core's types.
 *
 * An application that believes a column to be varchar(n) may name an operator
 * class of text, varchar or char in CREATE INDEX.  Or it may rely on the
 * default class of such a type for an access method for which the compact type
 * has none.  PostgreSQL would reject both statements.  So this file changes
 * the statement's parse tree, and reports the change.  The index gets the
 * compact type's own class, or the collation C in place of a class for
 * patterns, or it is built on the value as text.  A class of pg_trgm is
 * replaced by that of compact_trgm or compact_charN_trgm, and for a text column
 * the other way round, which revert() relies on.  The server reports all other
 * errors in the statement.
 *
 * The collation C has an advantage over a class of the compact type: it stays
 * valid when the column gets another type.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_auto_index.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "nodes/makefuncs.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compact_trained.h"
#include "compact_types.h"
#include "compact_types_compat.h"

/* Return which compact string type the type is, or COMPACT_STRING_NONE. */
CompactStringKind
compact_string_kind(Oid typid)
{
	char		category;
	bool		preferred;
	Oid			output;
	bool		isvarlena;
	FmgrInfo	finfo;

	if (typid < FirstNormalObjectId || get_typtype(typid) != TYPTYPE_BASE)
		return COMPACT_STRING_NONE;
	get_type_category_preferred(typid, &category, &preferred);
	if (category != TYPCATEGORY_STRING)
		return COMPACT_STRING_NONE;

	getTypeOutputInfo(typid, &output, &isvarlena);
	fmgr_info(output, &finfo);
	if (finfo.fn_addr == compact_text_out)
		return COMPACT_STRING_TEXT;
	if (finfo.fn_addr == compact_char_out)
		return COMPACT_STRING_CHAR;

	return COMPACT_STRING_NONE;
}

/* Return the name of the column that the index element stands for, or NULL. */
static char *
element_column(const IndexElem *element)
{
	ColumnRef  *ref = (ColumnRef *) element->expr;

	if (element->name != NULL)
		return element->name;
	if (ref != NULL && IsA(ref, ColumnRef) && list_length(ref->fields) == 1 &&
		IsA(linitial(ref->fields), String))
		return strVal(linitial(ref->fields));

	return NULL;
}

/*
 * Return true if the collation of the index element compares as memcmp() does:
 * the one in the statement, or else that of the column.
 */
static bool
element_collation_is_c(const IndexElem *element, Oid relid, AttrNumber attnum)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(attnum));
	Oid			collation = InvalidOid;
	bool		collate_c = false;
	bool		deterministic;

	if (HeapTupleIsValid(tuple))
	{
		collation = ((Form_pg_attribute) GETSTRUCT(tuple))->attcollation;
		ReleaseSysCache(tuple);
	}
	if (element->collation != NIL)
		collation = get_collation_oid(element->collation, true);
	if (OidIsValid(collation))
		compat_collation_properties(collation, &collate_c, &deterministic);

	return collate_c;
}

/* Return true if this is one of core's B-tree operator classes for patterns. */
bool
compact_is_pattern_class(Oid opclass)
{
	Oid			opfamily = get_opclass_family(opclass);

	return opfamily == TEXT_PATTERN_BTREE_FAM_OID || opfamily == BPCHAR_PATTERN_BTREE_FAM_OID;
}

/*
 * Return the name of the type's bloom class, in the schema of default_class.
 */
static List *
bloom_class(Oid default_class, Oid typid)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(default_class));
	HeapTuple	type_tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(typid));
	List	   *result = NIL;

	if (HeapTupleIsValid(tuple) && HeapTupleIsValid(type_tuple))
		result = list_make2(makeString(get_namespace_name(((Form_pg_opclass) GETSTRUCT(tuple))->opcnamespace)),
							makeString(psprintf("%s_bloom_ops",
												NameStr(((Form_pg_type) GETSTRUCT(type_tuple))->typname))));
	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	if (HeapTupleIsValid(type_tuple))
		ReleaseSysCache(type_tuple);

	return result;
}

/*
 * Return the middle part of the names of the operator classes for trigrams of
 * the type, or NULL if there cannot be any: classes gin_STEM_trgm_ops and
 * gist_STEM_trgm_ops of the extension STEM_trgm.  pg_trgm has the classes
 * gin_trgm_ops and gist_trgm_ops.
 */
char *
compact_trgm_stem(Oid typid)
{
	char	   *stem;
	Oid			extid;

	switch (compact_string_kind(typid))
	{
		case COMPACT_STRING_CHAR:
			/* The extension with the classes requires that of the type. */
			stem = psprintf("compact_char%d", get_typlen(typid));
			extid = getExtensionOfObject(TypeRelationId, typid);
			return OidIsValid(extid) && extid == get_extension_oid(stem, true) ? stem : NULL;
		case COMPACT_STRING_TEXT:
			return compact_trained_type_number(typid) == 0 ? pstrdup("compact") : NULL;
		case COMPACT_STRING_NONE:
			break;
	}

	return NULL;
}

/* Return true if the extension of that name has the operator class. */
static bool
belongs_to(Oid opclass, const char *extension)
{
	Oid			extid = getExtensionOfObject(OperatorClassRelationId, opclass);

	return OidIsValid(extid) && extid == get_extension_oid(extension, true);
}

/*
 * Return the extension's operator class of that name, if it accepts the type,
 * or else InvalidOid.  The class may be in any schema.
 */
static Oid
class_of_extension(Oid amid, const char *name, const char *extension, Oid typid)
{
	CatCList   *list = SearchSysCacheList2(CLAAMNAMENSP, ObjectIdGetDatum(amid),
										   CStringGetDatum(name));
	Oid			result = InvalidOid;

	for (int i = 0; i < list->n_members; i++)
	{
		Form_pg_opclass form = (Form_pg_opclass) GETSTRUCT(&list->members[i]->tuple);

		if (IsBinaryCoercible(typid, form->opcintype) && belongs_to(form->oid, extension))
			result = form->oid;
	}
	ReleaseSysCacheList(list);

	return result;
}

/*
 * If the operator class is one for trigrams, of pg_trgm or of an extension of
 * ours, return the other's class that does the same for the type, or else
 * InvalidOid.  Set *is_trgm to true if the class belongs to pg_trgm.
 */
Oid
compact_trgm_class(Oid opclass, Oid typid, bool *is_trgm)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Oid			result = InvalidOid;
	Form_pg_opclass form;
	char	   *method;
	char	   *stem;

	*is_trgm = false;
	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	method = get_am_name(form->opcmethod);
	if (strcmp(NameStr(form->opcname), psprintf("%s_trgm_ops", method)) == 0 &&
		belongs_to(opclass, "pg_trgm"))
	{
		*is_trgm = true;
		stem = compact_trgm_stem(typid);
		if (stem != NULL)
			result = class_of_extension(form->opcmethod, psprintf("%s_%s_trgm_ops", method, stem),
										psprintf("%s_trgm", stem), typid);
	}
	else
	{
		stem = compact_trgm_stem(form->opcintype);
		if (stem != NULL &&
			strcmp(NameStr(form->opcname), psprintf("%s_%s_trgm_ops", method, stem)) == 0 &&
			belongs_to(opclass, psprintf("%s_trgm", stem)))
			result = class_of_extension(form->opcmethod, psprintf("%s_trgm_ops", method),
										"pg_trgm", typid);
	}
	ReleaseSysCache(tuple);

	return result;
}

/*
 * If the element of the index names a class for trigrams that does not accept
 * the type, replace it by the class that does, and return true.  Set *is_trgm
 * as compact_trgm_class() does.
 */
static bool
adapt_trgm_class(IndexStmt *stmt, IndexElem *element, const char *colname, Oid opclass,
				 Oid typid, int elevel, bool *is_trgm)
{
	Oid			other = compact_trgm_class(opclass, typid, is_trgm);
	char	   *named = NameListToString(element->opclass);
	HeapTuple	tuple;
	Form_pg_opclass form;

	if (!OidIsValid(other) || stmt->isconstraint || stmt->excludeOpNames != NIL)
		return false;
	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(other));
	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	element->opclass = list_make2(makeString(get_namespace_name(form->opcnamespace)),
								  makeString(pstrdup(NameStr(form->opcname))));
	ReleaseSysCache(tuple);
	ereport(elevel,
			(errmsg("index on column \"%s\" of table \"%s\" gets operator class \"%s\" instead of \"%s\"",
					colname, stmt->relation->relname, strVal(lsecond(element->opclass)), named)));

	return true;
}

/* Change one element of the index if necessary, and report the change. */
static void
adapt_element(IndexStmt *stmt, IndexElem *element, Oid relid, Oid amid, int elevel)
{
	char	   *colname = element_column(element);
	AttrNumber	attnum;
	Oid			typid;
	Oid			default_class;
	Oid			opclass = InvalidOid;
	bool		is_trgm = false;
	CompactStringKind kind;
	char	   *opclass_name = NULL;
	char	   *stem;
	ColumnRef  *ref;
	TypeCast   *cast;

	if (colname == NULL)
		return;
	attnum = get_attnum(relid, colname);
	if (attnum <= 0)
		return;
	typid = getBaseType(get_atttype(relid, attnum));
	if (element->opclass != NIL)
	{
		opclass = get_opclass_oid(amid, element->opclass, true);
		if (!OidIsValid(opclass) ||
			adapt_trgm_class(stmt, element, colname, opclass, typid, elevel, &is_trgm))
			return;
	}
	kind = compact_string_kind(typid);
	if (kind == COMPACT_STRING_NONE)
		return;
	default_class = GetDefaultOpClass(typid, amid);

	if (element->opclass != NIL)
	{
		Oid			input = get_opclass_input_type(opclass);

		if (input != TEXTOID && input != VARCHAROID && input != BPCHAROID)
			return;
		opclass_name = NameListToString(element->opclass);

		/* the compact type's class does the work of core's class */
		if (OidIsValid(default_class) && opclass < FirstNormalObjectId)
		{
			if (compact_is_pattern_class(opclass) && !element_collation_is_c(element, relid, attnum))
			{
				element->opclass = NIL;
				element->collation = list_make2(makeString("pg_catalog"), makeString("C"));
				ereport(elevel,
						(errmsg("index on column \"%s\" of table \"%s\" gets collation \"C\" instead of operator class \"%s\"",
								colname, stmt->relation->relname, opclass_name)));
				return;
			}
			element->opclass = NIL;
			if (strstr(opclass_name, "_bloom_ops") != NULL)
				element->opclass = bloom_class(default_class, typid);
			ereport(elevel,
					(errmsg("index on column \"%s\" of table \"%s\" gets the operator class of type %s instead of \"%s\"",
							colname, stmt->relation->relname, format_type_be(typid), opclass_name)));
			return;
		}
	}
	else if (OidIsValid(default_class) || !OidIsValid(GetDefaultOpClass(TEXTOID, amid)))
		return;

	/*
	 * do not change the index of a constraint or a unique index, because ON
	 * CONFLICT (c) and foreign keys need an index on the column itself
	 */
	if (stmt->unique || stmt->isconstraint || stmt->excludeOpNames != NIL)
		return;

	stem = compact_trgm_stem(typid);
	element->name = NULL;
	ref = makeNode(ColumnRef);
	ref->fields = list_make1(makeString(colname));
	ref->location = -1;
	cast = makeNode(TypeCast);
	cast->arg = (Node *) ref;
	cast->typeName = makeTypeNameFromOid(TEXTOID, -1);
	cast->location = -1;
	element->expr = (Node *) cast;
	ereport(elevel,
			(errmsg("index on column \"%s\" of table \"%s\" is created on its value as text",
					colname, stmt->relation->relname),
			 opclass_name != NULL ?
			 errdetail("Operator class \"%s\" does not accept type %s.", opclass_name, format_type_be(typid)) :
			 errdetail("Access method \"%s\" has no operator class for type %s.", stmt->accessMethod, format_type_be(typid)),
			 is_trgm && stem != NULL ?
			 errhint("The index serves conditions on %s::text.  For an index that serves conditions on %s, run CREATE EXTENSION %s_trgm CASCADE, and create the index again.",
					 quote_identifier(colname), quote_identifier(colname), stem) :
			 errhint("The index serves conditions on %s::text.", quote_identifier(colname))));
}

/*
 * Change the CREATE INDEX statement where it names or relies on an operator
 * class that does not accept the compact type of a column.
 */
void
compact_auto_index(IndexStmt *stmt)
{
	Oid			relid;
	Oid			amid;
	char		relkind;
	int			elevel = NOTICE;
	ListCell   *lc;

	if (stmt->relation == NULL || stmt->accessMethod == NULL)
		return;
	relid = RangeVarGetRelid(stmt->relation, NoLock, true);
	amid = get_index_am_oid(stmt->accessMethod, true);
	if (!OidIsValid(relid) || !OidIsValid(amid))
		return;
	relkind = get_rel_relkind(relid);
	if (relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE &&
		relkind != RELKIND_MATVIEW)
		return;

	/*
	 * If the index exists, IF NOT EXISTS creates nothing, but the server
	 * still checks the operator classes.  So change the statement, but do not
	 * report the change to the user.
	 */
	if (stmt->if_not_exists && stmt->idxname != NULL &&
		OidIsValid(get_relname_relid(stmt->idxname, get_rel_namespace(relid))))
		elevel = DEBUG1;

	foreach(lc, stmt->indexParams)
		adapt_element(stmt, lfirst_node(IndexElem, lc), relid, amid, elevel);
}
