/*-------------------------------------------------------------------------
 *
 * compact_trained_sample.c
 *	  Train a dictionary on the values of a column: compact_types.train().
 *
 * Everybody may read the symbols of a dictionary in the system catalog
 * pg_ts_dict.  So a symbol of more than four bytes must occur in several of
 * the sampled values, and only the owner of the table may train.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_trained_sample.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "common/base64.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "compact_advise.h"
#include "compact_ddl.h"
#include "compact_text.h"
#include "compact_trained.h"
#include "compact_types.h"
#include "compact_types_compat.h"

/* Limits of the arguments, and of the sample. */
#define MAX_SAMPLE_ROWS		1000000
#define MAX_SAMPLE_BYTES	(8 * 1024 * 1024)
#define FETCH_ROWS			1000

/* What convert() uses: the default arguments of train() */
#define DEFAULT_SYMBOLS		12000
#define DEFAULT_SAMPLE_ROWS	100000

/* Rows of a block, if the table was never analyzed. */
#define UNKNOWN_ROWS_PER_BLOCK	50

/*
 * One value of this many is not used for training.  The sizes that train()
 * predicts are those of these values.  A hash function chooses the values,
 * because every tenth of the values in a table can be a special one.
 */
#define JUDGED				10
#define IS_JUDGED(i)		(murmurhash32(i) % JUDGED == 0)

/*
 * A symbol of more than four bytes must occur in at least this many values, or
 * in one of this many values, whichever is more.
 */
#define MIN_ROWS			5
#define MIN_ROWS_PART		20000

/* A sample of strings. */
typedef struct Sample
{
	const uint8 **strings;
	int		   *lengths;
	int		   *sizes;			/* of the values in the table */
	int			n;
	int			space;
	double		seen;			/* rows of the table that were read */
	double		values;			/* those that are not NULL */
	double		rows;			/* of the table */
} Sample;

/* Average sizes of the judged values, in bytes, with the length header. */
typedef struct Sizes
{
	double		now;
	double		compact_text;
	double		trained;
} Sizes;

/* What a training has found. */
typedef struct Training
{
	Sample		sample;			/* without the judged values */
	Sizes		sizes;
	int			symbols;
	Size		len;			/* of the dictionary, in bytes */
	int			number;			/* of the next type, or 0 if none is left */
	double		saved;			/* bytes of the column */
	double		value_saved;	/* average bytes of a value, compared with the
								 * present values */
} Training;

/*
 * Check that the relation and the column can be used.  Call this function
 * before a lock is taken, too.  Return the number of the column.
 */
static AttrNumber
check_column(Oid relid, const char *column)
{
	char		relkind = get_rel_relkind(relid);
	AttrNumber	attnum;
	Oid			typid;
	int32		typmod;
	Oid			collation;

	if (relkind == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!compat_relation_ownercheck(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(relkind), get_rel_name(relid));
	if (relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table", get_rel_name(relid))));
	attnum = compact_advise_attnum(relid, column);
	get_atttypetypmodcoll(relid, attnum, &typid, &typmod, &collation);
	if (typid != TEXTOID && typid != VARCHAROID &&
		compact_string_kind(typid) != COMPACT_STRING_TEXT)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of relation \"%s\" has type %s",
						column, get_rel_name(relid), format_type_be(typid)),
				 errhint("A dictionary can be trained on a column of type text, varchar, compact_text or trained_textN.")));

	return attnum;
}

/*
 * Return the value of a text or of a compact type as a string, in string, or
 * NULL if it is too long to be encoded.  Do not read long values.
 */
static struct varlena *
short_string(Datum datum, bool is_text, CompactTextString *string)
{
	struct varlena *value;

	/*
	 * an encoded form can have a tag, and then is as long as the string at
	 * most
	 */
	if (toast_raw_datum_size(datum) > VARHDRSZ + TRAINED_MAX_LENGTH + 1)
		return NULL;
	value = PG_DETOAST_DATUM_PACKED(datum);
	if (is_text)
	{
		string->data = VARDATA_ANY(value);
		string->len = VARSIZE_ANY_EXHDR(value);
	}
	else
		compact_text_decode(value, string);

	return value;
}

/* Add the values of the last query's result to the sample; return the bytes. */
static Size
add_values(Sample *sample, bool is_text, MemoryContext context)
{
	Size		bytes = 0;

	for (uint64 i = 0; i < SPI_processed && sample->n < sample->space; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		bool		isnull;
		Datum		datum = SPI_getbinval(tuple, SPI_tuptable->tupdesc, 1, &isnull);
		struct varlena *value;
		CompactTextString string;

		sample->seen++;
		if (isnull)
			continue;
		sample->values++;
		value = short_string(datum, is_text, &string);
		if (value == NULL)
			continue;
		if (string.len > 0 && string.len <= TRAINED_MAX_LENGTH)
		{
			uint8	   *copy = MemoryContextAlloc(context, string.len);

			memcpy(copy, string.data, string.len);
			sample->strings[sample->n] = copy;
			sample->lengths[sample->n] = string.len;
			sample->sizes[sample->n++] =
				DatumGetInt32(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 2, &isnull));
			bytes += string.len;
		}
		if ((Pointer) value != DatumGetPointer(datum))
			pfree(value);
	}

	return bytes;
}

/*
 * Return the number of rows, with those of the partitions.  It is estimated if
 * a table was never analyzed.
 */
static double
estimated_rows(Oid relid)
{
	double		result = 0;
	List	   *tables = get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE ?
		find_all_inheritors(relid, AccessShareLock, NULL) : list_make1_oid(relid);
	ListCell   *lc;

	foreach(lc, tables)
	{
		Relation	rel = table_open(lfirst_oid(lc), NoLock);

		if (rel->rd_rel->relkind == RELKIND_RELATION)
			result += rel->rd_rel->reltuples >= 0 ? rel->rd_rel->reltuples :
				(double) RelationGetNumberOfBlocks(rel) * UNKNOWN_ROWS_PER_BLOCK;
		table_close(rel, NoLock);
	}

	return result;
}

/*
 * Read about max_rows values of the column, from blocks all over the table, and
 * no more than twice MAX_SAMPLE_BYTES.  The query reads the table as its owner: reading a value must not run the
 * owner's code as the caller, nor be stopped by the row security of others.
 */
static void
read_sample(Relation rel, AttrNumber attnum, int max_rows, Sample *sample)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attnum - 1);
	const char *column = NameStr(att->attname);
	bool		is_text = (att->atttypid == TEXTOID || att->atttypid == VARCHAROID);
	MemoryContext context = CurrentMemoryContext;
	int			width = get_attavgwidth(RelationGetRelid(rel), attnum);
	double		percent = 100;
	SPIParseOpenOptions options = {.read_only = true};
	char	   *query;
	Oid			save_userid;
	int			save_sec_context;
	Oid			userid;
	int			sec_context;
	int			nestlevel;
	Portal		portal;
	Size		bytes = 0;

	/* choose the blocks so that the scan need not stop before it has read all */
	sample->space = width > 0 ? Min(max_rows, MAX_SAMPLE_BYTES / width + 1) : max_rows;
	sample->rows = estimated_rows(RelationGetRelid(rel));
	if (sample->rows > sample->space)
		percent = 100.0 * sample->space / sample->rows;
	sample->space += sample->space / 2;
	sample->n = 0;
	sample->seen = sample->values = 0;
	sample->strings = palloc_array(const uint8 *, sample->space);
	sample->lengths = palloc_array(int, sample->space);
	sample->sizes = palloc_array(int, sample->space);

	query = psprintf("SELECT %s, pg_catalog.pg_column_size(%s) FROM %s%s%s",
					 quote_identifier(column), quote_identifier(column),
					 rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ? "" : "ONLY ",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
												RelationGetRelationName(rel)),
					 percent < 100 ?
					 psprintf(" TABLESAMPLE SYSTEM (%.9f) REPEATABLE (0)", percent) : "");
	nestlevel = compact_ddl_become(rel->rd_rel->relowner, true, &save_userid,
								   &save_sec_context);
	/* the owner's policies must not hide rows, as for foreign keys */
	GetUserIdAndSecContext(&userid, &sec_context);
	SetUserIdAndSecContext(userid, sec_context | SECURITY_NOFORCE_RLS);
	PG_TRY();
	{
		PushActiveSnapshot(GetLatestSnapshot());
		portal = SPI_cursor_parse_open(NULL, query, &options);
		do
		{
			CHECK_FOR_INTERRUPTS();
			SPI_cursor_fetch(portal, true, FETCH_ROWS);
			bytes += add_values(sample, is_text, context);
			SPI_freetuptable(SPI_tuptable);
		} while (SPI_processed > 0 && sample->n < sample->space && bytes < 2 * MAX_SAMPLE_BYTES);
		SPI_cursor_close(portal);
		PopActiveSnapshot();
	}
	PG_FINALLY();
	{
		compact_ddl_return_to(save_userid, save_sec_context, nestlevel);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
}

/* Return the size of a value in a row: a short header, if it is short. */
static int
stored_size(int payload)
{
	return payload + (payload + VARHDRSZ_SHORT <= VARATT_SHORT_MAX ? VARHDRSZ_SHORT : VARHDRSZ);
}

/*
 * Separate the judged values from the sample, and train with the others.
 * Return the stored symbol table, the number of its symbols, and the sizes of
 * the judged values with it in the type of that number.
 */
static uint8 *
train_and_judge(Sample *sample, int max_symbols, int number, Size *len, int *symbols, Sizes *sizes)
{
	Sample		judged;
	int			n = 0;
	int			min_rows;
	uint8	   *result;
	MemoryContext context;
	TrainedCodec *codec;
	const char *detail;

	judged.strings = palloc_array(const uint8 *, sample->n + 1);
	judged.lengths = palloc_array(int, sample->n + 1);
	judged.sizes = palloc_array(int, sample->n + 1);
	judged.n = 0;
	for (int i = 0; i < sample->n; i++)
	{
		if (IS_JUDGED(i))
		{
			judged.strings[judged.n] = sample->strings[i];
			judged.lengths[judged.n] = sample->lengths[i];
			judged.sizes[judged.n++] = sample->sizes[i];
		}
		else
		{
			sample->strings[n] = sample->strings[i];
			sample->lengths[n++] = sample->lengths[i];
		}
	}
	min_rows = Max(MIN_ROWS, n / MIN_ROWS_PART);
	result = trained_codec_train(sample->strings, sample->lengths, n, max_symbols,
								 min_rows, len);

	context = AllocSetContextCreate(CurrentMemoryContext, "compact_types dictionary",
									ALLOCSET_DEFAULT_SIZES);
	codec = trained_codec_load(result, *len, context, &detail);
	if (codec == NULL)
		elog(ERROR, "could not load the trained symbol table: %s", detail);
	*symbols = trained_codec_num_symbols(codec);
	memset(sizes, 0, sizeof(*sizes));
	for (int i = 0; i < judged.n; i++)
	{
		const char *str = (const char *) judged.strings[i];
		int			length = judged.lengths[i];
		struct varlena *compact = compact_text_encode(str, length);
		struct varlena *trained = compact_trained_encode(number, codec, str, length);

		CHECK_FOR_INTERRUPTS();
		sizes->now += judged.sizes[i];
		sizes->compact_text += stored_size(VARSIZE_ANY_EXHDR(compact));
		sizes->trained += stored_size(VARSIZE_ANY_EXHDR(trained));
		pfree(compact);
		pfree(trained);
	}
	MemoryContextDelete(context);
	if (judged.n > 0)
	{
		sizes->now /= judged.n;
		sizes->compact_text /= judged.n;
		sizes->trained /= judged.n;
	}

	return result;
}

/* Return the number of the first type that does not exist yet, or 0. */
static int
next_number(void)
{
	int			number = 0;

	compact_advise_query("SELECT name FROM pg_catalog.pg_available_extensions"
						 " WHERE name ~ '^" COMPACT_TRAINED_PREFIX "[1-9][0-9]*$' AND installed_version IS NULL"
						 " ORDER BY pg_catalog.length(name), name");
	for (uint64 i = 0; i < SPI_processed && number == 0; i++)
		number = compact_trained_number(compact_advise_result(i, 0));

	return number;
}

/*
 * Create the extension of the first type that does not exist yet.  Do not take
 * a type that exists without a dictionary: other sessions may still have values
 * of a dictionary that was dropped, and the type may belong to a role that the
 * owner of the table need not trust.  Return the number of the type.
 */
static int
create_type(const char *type_schema)
{
	int			number;

	/* another session that trains waits here, and gets the next number */
	LockDatabaseObject(NamespaceRelationId, get_namespace_oid(COMPACT_TRAINED_SCHEMA, false), 0,
					   ShareUpdateExclusiveLock);
	number = next_number();
	if (number == 0)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("all types trained_textN that are installed on the server exist in this database"),
				 errhint("\"make TRAINED_TYPES=... install\" installs further types.  DROP EXTENSION ... CASCADE drops a type that no column has.")));
	compact_ddl_execute("CREATE EXTENSION %s SCHEMA %s", compact_trained_name(number),
						quote_identifier(type_schema));

	return number;
}

/*
 * Create the dictionary of the type, as the owner of the schema of
 * dictionaries.
 */
static void
create_dictionary(int number, Oid function_schema, const uint8 *stored, Size len)
{
	Oid			schema = get_namespace_oid(COMPACT_TRAINED_SCHEMA, false);
	HeapTuple	tuple = SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(schema));
	int			space = pg_b64_enc_len((int) len);
	char	   *code = palloc(space + 1);
	int			code_len;
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for schema %u", schema);
	owner = ((Form_pg_namespace) GETSTRUCT(tuple))->nspowner;
	ReleaseSysCache(tuple);
	code_len = pg_b64_encode((const void *) stored, (int) len, code, space);
	if (code_len < 0)
		elog(ERROR, "could not encode the symbol table");
	code[code_len] = '\0';
	compact_ddl_execute_as(owner, false,
						   "CREATE TEXT SEARCH DICTIONARY " COMPACT_TRAINED_SCHEMA ".%s (TEMPLATE = %s.%s, "
						   COMPACT_TRAINED_OPTION " = '%s')",
						   compact_trained_name(number),
						   quote_identifier(get_namespace_name(function_schema)),
						   compact_trained_name(number), code);
	pfree(code);
}

/* Return the statement that gives the column the type. */
static char *
alter_statement(Relation rel, AttrNumber attnum, const char *type)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attnum - 1);
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "ALTER TABLE %s ALTER COLUMN %s TYPE %s",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
												RelationGetRelationName(rel)),
					 quote_identifier(NameStr(att->attname)), type);
	if (att->atttypmod >= (int32) VARHDRSZ)
		appendStringInfo(&buf, "(%d)", att->atttypmod - (int32) VARHDRSZ);
	if (att->attcollation != DEFAULT_COLLATION_OID)
		appendStringInfo(&buf, " COLLATE %s", generate_collation_name(att->attcollation));
	appendStringInfoChar(&buf, ';');

	return buf.data;
}

/*
 * Train a dictionary on a sample of the column's values.  Return the stored
 * symbol table, and fill training.  The caller is connected to SPI.
 */
static uint8 *
train_column(Relation rel, AttrNumber attnum, int max_symbols, int sample_rows,
			 Training *training)
{
	uint8	   *stored;
	double		sampled;
	double		values;
	double		saved;

	read_sample(rel, attnum, sample_rows, &training->sample);
	sampled = training->sample.n;
	training->number = next_number();
	/* a greater number takes one byte more in each value */
	stored = train_and_judge(&training->sample, max_symbols, Max(training->number, 1), &training->len,
							 &training->symbols, &training->sizes);
	/* rows that are NULL, or too long for a dictionary, save nothing */
	values = training->sample.seen > 0 ?
		Max(training->sample.rows, training->sample.seen) * sampled / training->sample.seen : 0;
	saved = (Min(training->sizes.now, training->sizes.compact_text) - training->sizes.trained) * values;
	training->saved = Max(saved, 0);
	training->value_saved = sampled == 0 ? 0 :
		(training->sizes.now - training->sizes.trained) * sampled / training->sample.values;

	return stored;
}

/* Return true if the dictionary saves more than it takes. */
static bool
pays(const Training *training)
{
	return training->saved > training->len;
}

/*
 * Create a type with the dictionary.  Return the number of the type.  functions
 * is the schema of the functions of compact_types.  The caller is connected to
 * SPI.
 */
static int
create_type_with_dictionary(Oid functions, const uint8 *stored, Size len)
{
	Advice		advice;
	int			number;

	memset(&advice, 0, sizeof(advice));
	advice.cxt = CurrentMemoryContext;
	compact_advise_connect(&advice);
	number = create_type(advice.type_schema);
	create_dictionary(number, functions, stored, len);
	CommandCounterIncrement();

	return number;
}

/*
 * Train a dictionary on a column of a table that is open and locked, without
 * creating anything.  Fill result, which is allocated in the current memory
 * context.  Return true if the dictionary saves more than it takes, in
 * comparison with compact_text and with the present values.
 */
bool
compact_trained_try(Relation rel, AttrNumber attnum, CompactTrainedTry *result)
{
	MemoryContext oldcontext = CurrentMemoryContext;
	Training	training;
	uint8	   *stored;
	int			nestlevel;

	SPI_connect();
	nestlevel = compact_ddl_set_gucs();
	if (!RecoveryInProgress())
		compact_ddl_hold_schema_name(RelationGetNamespace(rel));
	stored = train_column(rel, attnum, DEFAULT_SYMBOLS, DEFAULT_SAMPLE_ROWS, &training);
	AtEOXact_GUC(true, nestlevel);
	MemoryContextSwitchTo(oldcontext);
	result->stored = memcpy(palloc(training.len), stored, training.len);
	result->len = training.len;
	result->number = training.number;
	result->compact_text = training.sizes.compact_text;
	result->saved = training.saved;
	result->value_saved = training.value_saved;
	SPI_finish();

	return pays(&training);
}

/*
 * Create a type for the table that convert() has locked.  Use the dictionary,
 * if it is not NULL, or else train one on the column.  Return the name of the
 * type, or NULL if a dictionary would save less than it takes.  The caller is
 * connected to SPI.
 */
char *
compact_trained_train(Relation rel, AttrNumber attnum, Oid functions,
					  const CompactTrainedTry *dictionary)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "compact_types training",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	int			number = 0;

	if (dictionary != NULL)
		number = create_type_with_dictionary(functions, dictionary->stored, dictionary->len);
	else
	{
		Training	training;
		uint8	   *stored = train_column(rel, attnum, DEFAULT_SYMBOLS, DEFAULT_SAMPLE_ROWS,
										  &training);

		if (pays(&training))
			number = create_type_with_dictionary(functions, stored, training.len);
	}
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);

	return number > 0 ? compact_trained_name(number) : NULL;
}

/*
 * Return a message for the user if there are other trained types than this new
 * one, or NULL.  Statements of an application can combine their columns.
 */
char *
compact_trained_other_types(const char *type)
{
	compact_advise_query("SELECT FROM pg_catalog.pg_extension WHERE extname <> '%s'"
						 " AND extname ~ '^" COMPACT_TRAINED_PREFIX "[1-9][0-9]*$'", type);
	if (SPI_processed == 0)
		return NULL;

	return psprintf("values of type %s and of other types trained_textN can be compared only after a cast", type);
}

/*
 * compact_types.train(relation regclass, column_name name, max_symbols int4,
 *   sample_rows int4, estimate_only bool, OUT type regtype, OUT symbols int4,
 *   OUT sampled_values int8, OUT value_bytes_now float8,
 *   OUT value_bytes_compact_text float8, OUT value_bytes_after float8,
 *   OUT statement text) returns record
 *
 * Train a dictionary on a sample of the column's values, and create it with a
 * type of its own.  With estimate_only, create nothing.  If the dictionary
 * would save less than it takes, create nothing and raise a notice.  If nothing
 * is created, type and statement are NULL.  The sizes are averages, in bytes,
 * of values that were not used for training.  Errors:
 * 42501 if the caller does not own the relation, 42809 and 42804 for a
 * relation or a column that has no strings, 22023 for an argument that is out
 * of range, 54000 if no type is left.
 */
PG_FUNCTION_INFO_V1(compact_types_train);
Datum
compact_types_train(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	char	   *column = NameStr(*PG_GETARG_NAME(1));
	int			max_symbols = PG_GETARG_INT32(2);
	int			sample_rows = PG_GETARG_INT32(3);
	bool		estimate_only = PG_GETARG_BOOL(4);
	TupleDesc	tupdesc;
	Datum		values[7];
	bool		nulls[7] = {false};
	Relation	rel;
	AttrNumber	attnum;
	Oid			functions = get_func_namespace(fcinfo->flinfo->fn_oid);
	Training	training;
	uint8	   *stored;
	Oid			typid = InvalidOid;
	char	   *message = NULL;
	int			nestlevel;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (max_symbols < 1 || max_symbols > TRAINED_MAX_SYMBOLS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of symbols %d is out of range", max_symbols),
				 errhint("The number must be between 1 and %d.", TRAINED_MAX_SYMBOLS)));
	if (sample_rows < 1 || sample_rows > MAX_SAMPLE_ROWS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of sampled rows %d is out of range", sample_rows),
				 errhint("The number must be between 1 and %d.", MAX_SAMPLE_ROWS)));
	(void) check_column(relid, column);
	rel = table_open(relid, AccessShareLock);
	attnum = check_column(relid, column);

	SPI_connect();
	nestlevel = compact_ddl_set_gucs();
	if (!RecoveryInProgress())
		compact_ddl_hold_schema_name(RelationGetNamespace(rel));
	stored = train_column(rel, attnum, max_symbols, sample_rows, &training);
	if (!estimate_only && pays(&training))
	{
		int			number = create_type_with_dictionary(functions, stored, training.len);

		typid = compact_trained_type(functions, number);
		message = compact_trained_other_types(compact_trained_name(number));
	}

	values[0] = ObjectIdGetDatum(typid);
	values[1] = Int32GetDatum(training.symbols);
	values[2] = Int64GetDatum(training.sample.n);
	values[3] = Float8GetDatum(training.sizes.now);
	values[4] = Float8GetDatum(training.sizes.compact_text);
	values[5] = Float8GetDatum(training.sizes.trained);
	nulls[3] = nulls[4] = nulls[5] = (training.sizes.now == 0);
	nulls[0] = nulls[6] = !OidIsValid(typid);
	if (OidIsValid(typid))
		values[6] = CStringGetTextDatum(alter_statement(rel, attnum,
														format_type_be_qualified(typid)));
	AtEOXact_GUC(true, nestlevel);
	if (!OidIsValid(typid) && !estimate_only)
		ereport(NOTICE,
				(errmsg("no dictionary was created for column \"%s\" of relation \"%s\"",
						column, RelationGetRelationName(rel)),
				 errdetail("The dictionary would have %zu bytes, and save %.0f bytes.",
						   training.len, training.saved)));
	if (message)
		ereport(NOTICE,
				(errmsg_internal("%s", message),
				 errhint("Give one type to columns that statements compare or combine.")));
	table_close(rel, NoLock);
	{
		HeapTuple	tuple = heap_form_tuple(tupdesc, values, nulls);
		Datum		result = PointerGetDatum(SPI_returntuple(tuple, tupdesc));

		SPI_finish();
		PG_RETURN_DATUM(result);
	}
}
