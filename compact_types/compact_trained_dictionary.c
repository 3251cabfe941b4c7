/*-------------------------------------------------------------------------
 *
 * compact_trained_dictionary.c
 *	  The dictionaries of the types trained_textN.
 *
 * The dictionary of a type is a text search dictionary.  Nobody searches with
 * it, but it is the kind of object that has all that is needed: a dump of the
 * database has it before all tables, however the dump is restored; pg_upgrade
 * keeps it; it is in a system catalog, so that a standby, a parallel worker and
 * logical decoding see it; and backends are told of changes.
 *
 * Values do not contain their dictionary, and the same string must always have
 * the same form.  So a dictionary can never be changed, and it can be dropped
 * only if nothing depends on its type (see compact_trained_guard.c).
 *
 * A transaction that makes values, or a table with a column of the type, locks
 * the dictionary, so that nobody drops it before others can see the column.
 *
 * A transaction can use a dictionary that it has created itself, for example
 * in a restore of a dump as a single transaction.  If it aborts, its dead
 * entries stay in the indexes, and the dictionary is gone, so later searches
 * would meet values that they cannot read.  Therefore such a transaction may
 * make values only if the abort would remove all indexes that can contain them,
 * and the dependence of all tables on the type.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_trained_dictionary.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_ts_dict.h"
#include "catalog/pg_ts_template.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "common/base64.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/sinval.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "compact_trained.h"
#include "compact_types.h"
#include "compact_types_compat.h"

/* A dictionary that this backend has read. */
typedef struct TrainedEntry
{
	Oid			dictid;
	TransactionId xmin;			/* of the dictionary's row */
	ItemPointerData tid;		/* of the dictionary's row */
	MemoryContext context;		/* of the symbol table */

	/* the (sub)transaction that has locked the dictionary */
	LocalTransactionId lock_lxid;
	SubTransactionId lock_subid;

	/* is it known that the transaction that created it has committed? */
	bool		committed;

	/* when the uses of the type were checked, see check_new_dictionary() */
	TransactionId checked_xid;
	SubTransactionId checked_subid;
	uint64		checked_messages;
} TrainedEntry;

static TrainedEntry *entries[COMPACT_TRAINED_MAX_NUMBER + 1];

extern Datum trained_text_init(PG_FUNCTION_ARGS);

/* Counts the invalidations of the catalog.  None is noticed before the first use. */
uint64		compact_trained_generation = 1;
static bool invalidations_noticed = false;

CompactTrainedCache compact_trained_cache[COMPACT_TRAINED_MAX_NUMBER + 1];

static void
invalidate(Datum arg, int cacheid, uint32 hashvalue)
{
	compact_trained_generation++;
}

/* Return the name of the type with that number, which its dictionary has too. */
char *
compact_trained_name(int number)
{
	return psprintf(COMPACT_TRAINED_PREFIX "%d", number);
}

/*
 * Return N if the text search template is that of a type trained_textN,
 * otherwise 0.
 */
int
compact_trained_template_number(Oid template)
{
	HeapTuple	tuple = SearchSysCache1(TSTEMPLATEOID, ObjectIdGetDatum(template));
	Form_pg_ts_template form;
	FmgrInfo	finfo;
	int			result = 0;

	if (!HeapTupleIsValid(tuple))
		return 0;
	form = (Form_pg_ts_template) GETSTRUCT(tuple);
	/* do not load the library of an unrelated template */
	if (compact_trained_number(NameStr(form->tmplname)) > 0 && OidIsValid(form->tmplinit))
	{
		fmgr_info(form->tmplinit, &finfo);
		if (finfo.fn_addr == trained_text_init)
			result = compact_trained_number(get_func_name(form->tmplinit));
	}
	ReleaseSysCache(tuple);

	return result;
}

/*
 * Look up the row of the dictionary.  Return NULL if there is none.  The caller
 * releases the row.
 */
static HeapTuple
find_dictionary(int number)
{
	Oid			nspid = get_namespace_oid(COMPACT_TRAINED_SCHEMA, true);

	if (!OidIsValid(nspid))
		return NULL;

	return SearchSysCache2(TSDICTNAMENSP, CStringGetDatum(compact_trained_name(number)),
						   ObjectIdGetDatum(nspid));
}

/* Return N for the type trained_textN, and 0 for any other type. */
int
compact_trained_type_number(Oid typid)
{
	Oid			input;
	Oid			typioparam;
	char	   *function;

	if (compact_string_kind(typid) != COMPACT_STRING_TEXT)
		return 0;
	getTypeInputInfo(typid, &input, &typioparam);
	function = get_func_name(input);

	return function ? compact_trained_number(function) : 0;
}

/* Return the OID of the type's dictionary, or InvalidOid. */
Oid
compact_trained_dictionary(int number)
{
	HeapTuple	tuple = find_dictionary(number);
	Oid			result;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	result = ((Form_pg_ts_dict) GETSTRUCT(tuple))->oid;
	ReleaseSysCache(tuple);

	return result;
}

/*
 * Return the symbol table from the options of a dictionary, in the current
 * memory context.  Return NULL if there is none, or if it is no base64 code.
 * Set *unknown to the name of an option that the template does not have, or to
 * NULL.
 */
static uint8 *
read_options(List *options, int *len, const char **unknown)
{
	uint8	   *result = NULL;
	ListCell   *lc;

	*unknown = NULL;
	foreach(lc, options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);
		char	   *code;
		int			space;

		if (strcmp(option->defname, COMPACT_TRAINED_OPTION) != 0)
		{
			*unknown = option->defname;
			continue;
		}
		code = defGetString(option);
		space = pg_b64_dec_len(strlen(code));
		result = palloc(space);
		*len = pg_b64_decode(code, strlen(code), (void *) result, space);
		if (*len < 0)
			result = NULL;
	}

	return result;
}

/* Return the symbol table of the dictionary, as read_options() does. */
static uint8 *
read_row(HeapTuple tuple, int *len)
{
	const char *unknown;
	bool		isnull;
	Datum		options = SysCacheGetAttr(TSDICTOID, tuple, Anum_pg_ts_dict_dictinitoption,
										  &isnull);

	return isnull ? NULL : read_options(deserialize_deflist(options), len, &unknown);
}

/* Return the qualified name of the dictionary, for error messages. */
static char *
qualified_name(int number)
{
	return quote_qualified_identifier(COMPACT_TRAINED_SCHEMA, compact_trained_name(number));
}

/* Read the dictionary into the entry. */
static void
read_entry(TrainedEntry *entry, HeapTuple tuple, int number)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext,
												  "compact_types dictionary options",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(scratch);
	MemoryContext context = AllocSetContextCreate(scratch, "compact_types dictionary",
												  ALLOCSET_DEFAULT_SIZES);
	const char *detail = "It has no symbol table.";
	TrainedCodec *codec = NULL;
	int			len = 0;
	uint8	   *stored = read_row(tuple, &len);

	if (compact_trained_template_number(((Form_pg_ts_dict) GETSTRUCT(tuple))->dicttemplate) != number)
		detail = "It does not have the template of its type.";
	else if (stored != NULL)
		codec = trained_codec_load(stored, len, context, &detail);
	if (codec == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("invalid text search dictionary \"%s\"", qualified_name(number)),
				 errdetail_internal("%s", detail)));

	/* from here on, nothing fails */
	if (entry->context != NULL)
		MemoryContextDelete(entry->context);
	MemoryContextSetParent(context, CacheMemoryContext);
	entry->context = context;
	compact_trained_cache[number].codec = codec;
	entry->dictid = ((Form_pg_ts_dict) GETSTRUCT(tuple))->oid;
	entry->xmin = HeapTupleHeaderGetRawXmin(tuple->t_data);
	entry->tid = tuple->t_self;
	entry->lock_subid = InvalidSubTransactionId;
	entry->committed = false;
	entry->checked_xid = InvalidTransactionId;
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(scratch);
}

/*
 * Look up the dictionary, unless that was done since the last invalidation.
 * Raise an error if it does not exist.
 */
static TrainedEntry *
get_entry(int number)
{
	CompactTrainedCache *cache = &compact_trained_cache[number];
	TrainedEntry *entry = entries[number];
	uint64		now;
	HeapTuple	tuple;

	if (likely(cache->generation == compact_trained_generation))
		return entry;

	if (!invalidations_noticed)
	{
		CacheRegisterSyscacheCallback(TSDICTOID, invalidate, (Datum) 0);
		invalidations_noticed = true;
	}
	if (entry == NULL)
		entry = entries[number] = MemoryContextAllocZero(TopMemoryContext,
														 sizeof(TrainedEntry));
	/* an invalidation while the dictionary is read counts as a later one */
	now = compact_trained_generation;
	tuple = find_dictionary(number);
	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("text search dictionary \"%s\" does not exist", qualified_name(number)),
				 errdetail("Values of type %s are encoded with this dictionary.",
						   compact_trained_name(number)),
				 errhint("Create a dictionary and a type by compact_types.train(), or restore the dictionary from a dump of the database that the table comes from.")));

	/*
	 * a row that was frozen still has its xmin, so that no other row is the
	 * same
	 */
	if (cache->codec == NULL || entry->dictid != ((Form_pg_ts_dict) GETSTRUCT(tuple))->oid ||
		entry->xmin != HeapTupleHeaderGetRawXmin(tuple->t_data) ||
		!ItemPointerEquals(&entry->tid, &tuple->t_self))
		read_entry(entry, tuple, number);
	ReleaseSysCache(tuple);
	cache->generation = now;

	return entry;
}

/*
 * Look up the dictionary, and return its symbol table.  See
 * compact_trained_codec().
 */
TrainedCodec *
compact_trained_look_up_codec(int number)
{
	(void) get_entry(number);

	return compact_trained_cache[number].codec;
}

/*
 * Return the transaction that created the dictionary.  Take it from the row of
 * the dictionary's dependency on its template: changing the owner writes the
 * row of the dictionary again.
 */
static TransactionId
creating_transaction(Oid dictid)
{
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	TransactionId result = InvalidTransactionId;
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(TSDictionaryRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(dictid));
	scan = systable_beginscan(depend, DependDependerIndexId, true, NULL, 2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (((Form_pg_depend) GETSTRUCT(tuple))->refclassid == TSTemplateRelationId)
			result = HeapTupleHeaderGetXmin(tuple->t_data);
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);

	return result;
}

/*
 * Return true if objects of the class can belong to a type: a relation can
 * depend on the type by depending on them.
 */
static bool
belongs_to_types(Oid classid)
{
	return classid == TypeRelationId || classid == ProcedureRelationId ||
		classid == OperatorRelationId || classid == OperatorClassRelationId ||
		classid == OperatorFamilyRelationId;
}

/*
 * Return true if the abort of this transaction removes the index with its
 * entries.  ALTER TABLE can give an index another OID and keep its file.
 */
static bool
is_new_index(Oid indexid)
{
	Relation	index = RelationIdGetRelation(indexid);
	bool		result;

	if (!RelationIsValid(index))
		return false;
	result = compat_has_new_file(index);
	RelationClose(index);

	return result;
}

/*
 * Add the objects that depend on the object to the list, if they belong to
 * types.  Return true if a relation depends on the object, and not only since
 * this transaction.
 */
static bool
find_older_relations(Relation depend, ObjectAddress object, ObjectAddresses *found,
					 List **objects)
{
	bool		result = false;
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(object.classId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(object.objectId));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, keys);
	while (!result && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);
		ObjectAddress address;
		ObjectAddress *copy;

		ObjectAddressSet(address, form->classid, form->objid);
		if (form->classid == RelationRelationId)
		{
			char		relkind = get_rel_relkind(form->objid);

			if (relkind == RELKIND_COMPOSITE_TYPE)
				ObjectAddressSet(address, TypeRelationId, get_rel_type_id(form->objid));
			else if (relkind == RELKIND_INDEX)
				result = !is_new_index(form->objid);
			else if (relkind != RELKIND_VIEW && relkind != RELKIND_FOREIGN_TABLE)
				result = !TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
		}
		if (!belongs_to_types(address.classId) || object_address_present(&address, found))
			continue;
		add_exact_object_address(&address, found);
		copy = palloc(sizeof(ObjectAddress));
		*copy = address;
		*objects = lappend(*objects, copy);
	}
	systable_endscan(scan);

	return result;
}

/*
 * Return true if a relation depends on the type, or on a type, function or
 * operator that depends on it, and not only since this transaction.
 */
static bool
has_older_relation(Oid typid)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "compact_types dependencies",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	ObjectAddresses *found = new_object_addresses();
	ObjectAddress address;
	List	   *objects;
	bool		result = false;

	ObjectAddressSet(address, TypeRelationId, typid);
	add_exact_object_address(&address, found);
	objects = list_make1(&address);
	/* the list grows while it is read */
	for (int i = 0; i < list_length(objects) && !result; i++)
	{
		CHECK_FOR_INTERRUPTS();
		result = find_older_relations(depend, *(ObjectAddress *) list_nth(objects, i), found,
									  &objects);
	}
	table_close(depend, AccessShareLock);
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);

	return result;
}

/*
 * Raise an error if this transaction has created the dictionary, and cannot
 * use it yet (see the head of this file).
 *
 * If a subtransaction has created it, its abort leaves what the transaction
 * has created before.  So only a dictionary of the top-level transaction is
 * checked further.  The check is repeated in each subtransaction, because an
 * aborted one may have dropped relations, and after each message about a change
 * of the catalog by another session, because this session can use relations of
 * another session only after such a message.
 */
static void
check_new_dictionary(int number, Oid typid)
{
	TrainedEntry *entry = get_entry(number);
	TransactionId top = GetTopTransactionIdIfAny();
	TransactionId created;
	uint64		messages;

	if (TransactionIdIsValid(top) && entry->checked_xid == top &&
		entry->checked_subid == GetCurrentSubTransactionId() &&
		entry->checked_messages == SharedInvalidMessageCounter)
		return;

	created = creating_transaction(entry->dictid);
	if (!TransactionIdIsCurrentTransactionId(created))
	{
		get_entry(number)->committed = true;
		return;
	}
	messages = SharedInvalidMessageCounter;
	if (created != top || has_older_relation(typid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("text search dictionary \"%s\" was created in this transaction",
						qualified_name(number)),
				 created != top ?
				 errdetail("A dictionary that was created after a savepoint can be used only after the transaction has been committed.") :
				 errdetail("Values for columns and indexes that used the type before can be made only after the transaction has been committed."),
				 errhint("Commit the transaction first.")));
	/* reading catalogs may have made the entry outdated */
	entry = get_entry(number);
	entry->checked_xid = top;
	entry->checked_subid = GetCurrentSubTransactionId();
	entry->checked_messages = messages;
}

/*
 * Return the symbol table of the type trained_textN, whose OID is typid, to
 * make values.  Raise an error if the dictionary does not exist, or if this
 * transaction cannot use it yet.
 */
TrainedCodec *
compact_trained_codec_for_new(int number, Oid typid)
{
	TrainedEntry *entry = get_entry(number);
	LocalTransactionId lxid = compat_my_lxid();
	SubTransactionId subid = GetCurrentSubTransactionId();

	/* a subtransaction that aborts releases its locks */
	if (entry->lock_lxid != lxid || entry->lock_subid != subid)
	{
		Oid			dictid;

		/* there can be another dictionary after this session has waited */
		do
		{
			dictid = entry->dictid;
			LockDatabaseObject(TSDictionaryRelationId, dictid, 0, AccessShareLock);
			entry = get_entry(number);
		} while (entry->dictid != dictid);
		entry->lock_lxid = lxid;
		entry->lock_subid = subid;
	}
	if (likely(entry->committed))
		return compact_trained_cache[number].codec;
	check_new_dictionary(number, typid);

	return compact_trained_codec(number);
}

/*
 * The template
 */

/*
 * trained_text_init(internal) returns internal: check the options of a
 * dictionary.  Each type has a template of its own, whose function contains
 * the number of the type in its name.
 */
PG_FUNCTION_INFO_V1(trained_text_init);
Datum
trained_text_init(PG_FUNCTION_ARGS)
{
	List	   *options = (List *) PG_GETARG_POINTER(0);
	char	   *function = get_func_name(fcinfo->flinfo->fn_oid);
	int			number = function ? compact_trained_number(function) : 0;
	MemoryContext context;
	HeapTuple	tuple;
	const char *unknown;
	const char *detail = "The option must contain the base64 code of a symbol table.";
	int			len = 0;
	uint8	   *stored = read_options(options, &len, &unknown);

	if (unknown != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized parameter of the dictionary of a trained type: \"%s\"", unknown)));
	context = AllocSetContextCreate(CurrentMemoryContext, "compact_types dictionary",
									ALLOCSET_DEFAULT_SIZES);
	if (stored == NULL || trained_codec_load(stored, len, context, &detail) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid parameter \"%s\" of the dictionary of a trained type",
						COMPACT_TRAINED_OPTION),
				 errdetail_internal("%s", detail)));
	MemoryContextDelete(context);

	/*
	 * ALTER TEXT SEARCH DICTIONARY calls this function with the new options
	 * while the catalog still has the old ones.
	 */
	tuple = number > 0 ? find_dictionary(number) : NULL;
	if (HeapTupleIsValid(tuple))
	{
		int			old_len = 0;
		uint8	   *old = read_row(tuple, &old_len);

		if (old != NULL && (old_len != len || memcmp(old, stored, len) != 0))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the symbols of text search dictionary \"%s\" cannot be changed",
							qualified_name(number)),
					 errdetail("Values of type %s are encoded with them.",
							   compact_trained_name(number)),
					 errhint("compact_types.train() makes a dictionary for another type.")));
		ReleaseSysCache(tuple);
	}

	PG_RETURN_POINTER(palloc0(1));
}

/*
 * trained_text_lexize(internal, internal, internal, internal) returns internal:
 * a text search with such a dictionary recognizes no word
 */
PG_FUNCTION_INFO_V1(trained_text_lexize);
Datum
trained_text_lexize(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(NULL);
}
