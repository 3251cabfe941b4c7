/*-------------------------------------------------------------------------
 *
 * compact_convert_train.c
 *	  Train dictionaries for convert(), and find types that are left unused.
 *
 * A column that is encoded already gets an ordinary type first, so that it is
 * converted as other columns are.  Its new dictionary is trained before that,
 * so that the table is not rewritten in vain.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_convert_train.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compact_convert.h"
#include "compact_trained.h"
#include "compact_types.h"
#include "compact_types_compat.h"

/*
 * Train a dictionary for a column that would become compact_text, and create
 * it with a type.  If a dictionary would save too little, the column becomes
 * compact_text.  Raise an error if compact_text saves too little as well.  Add
 * messages for the user to *messages.
 */
void
compact_convert_train(Advice *advice, AdviseColumn *column, List **messages)
{
	char	   *name = compact_trained_train(advice->rel, column->att->attnum, advice->nspid,
											 column->dictionary);
	const char *column_name = NameStr(column->att->attname);
	char	   *message;
	AdviseType	type;

	if (name == NULL && column->little)
		compact_convert_no_type(advice, column_name,
								psprintf("%s, and a dictionary would save less than it takes", column->little));
	if (name == NULL)
	{
		*messages = lappend(*messages,
							psprintf("column \"%s\" of table \"%s\" gets the type %s, because a dictionary would save less than it takes",
									 column_name, RelationGetRelationName(advice->rel), column->type.name));
		return;
	}
	if (!compact_advise_find_type(advice, name, &type) || !OidIsValid(type.typid))
		elog(ERROR, "type \"%s\" was not created", name);
	message = compact_trained_other_types(name);
	if (message)
		*messages = lappend(*messages, message);
	type.typmod = column->type.typmod;
	column->type = type;
}

/* Raise an error if convert() cannot train dictionaries. */
void
compact_convert_check_train(ArrayType *names, const ConvertOptions *how)
{
	if (names == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"train\" requires the argument \"columns\""),
				 errdetail("Everybody can read the strings that a dictionary contains, and columns with different dictionaries cannot be compared."),
				 errhint("Name the columns to train.")));

	/* a blocker that is found after the training would leave the type unused */
	if (how->skip_blocked)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"train\" and \"skip_blocked\" cannot be used together")));

	/* only the transaction itself may use a dictionary before it commits */
	if (GetCurrentTransactionNestLevel() > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("compact_types.convert() cannot train in a subtransaction"),
				 errhint("Call the function outside of savepoints and exception blocks, or call compact_types.train() first, and commit.")));
}

/* A column that is trained again */
typedef struct TrainedAgain
{
	char	   *name;
	Oid			typid;			/* before this call */
	char	   *type;			/* the same, with its modifier */
	CompactTrainedTry dictionary;
} TrainedAgain;

/*
 * Train a dictionary on a column that is encoded already.  Raise an error if it
 * would not make the column smaller by more than it takes.
 */
static void
try_again(Oid relid, AttrNumber attnum, CompactTrainedTry *dictionary)
{
	Relation	rel = table_open(relid, NoLock);

	if (!compact_trained_try(rel, attnum, dictionary))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("another dictionary would not make column \"%s\" of table \"%s\" smaller",
						get_attname(relid, attnum, false), RelationGetRelationName(rel)),
				 errdetail("The dictionary would have %zu bytes, and save %.0f bytes.",
						   dictionary->len, dictionary->saved),
				 errhint("Leave the column out of the argument \"columns\".")));
	table_close(rel, NoLock);
}

/*
 * Give the named columns that are compact_text or trained_textN already their
 * ordinary types, so that they can be trained and converted as other columns
 * are.  Return a list of these columns for compact_convert_use_training(),
 * and add the views that use them to *views.
 */
List *
compact_convert_prepare_to_train(Oid relid, Oid funcid, ArrayType *names, List **views)
{
	List	   *result = NIL;
	Datum	   *elements = palloc_array(Datum, ArrayGetNItems(ARR_NDIM(names), ARR_DIMS(names)));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, compact_advise_column_names(names))
	{
		char	   *name = lfirst(lc);
		Name		copy;
		AttrNumber	attnum = compact_advise_attnum(relid, name);
		TrainedAgain *again;
		Oid			typid;
		int32		typmod;
		Oid			collation;

		get_atttypetypmodcoll(relid, attnum, &typid, &typmod, &collation);
		/* advise() says why a generated column keeps its type */
		if (compact_string_kind(typid) != COMPACT_STRING_TEXT ||
			get_attgenerated(relid, attnum) != '\0')
			continue;
		again = palloc_object(TrainedAgain);
		try_again(relid, attnum, &again->dictionary);
		again->name = name;
		again->typid = typid;
		again->type = format_type_extended(typid, typmod, FORMAT_TYPE_TYPEMOD_GIVEN);
		result = lappend(result, again);
		copy = palloc_object(NameData);
		namestrcpy(copy, name);
		elements[n++] = NameGetDatum(copy);
	}
	if (n > 0)
		compact_revert_for_training(relid, funcid,
									construct_array(elements, n, NAMEOID, NAMEDATALEN,
													false, TYPALIGN_CHAR), views);

	return result;
}

/* Let the columns of the list use the dictionaries that were trained. */
void
compact_convert_use_training(const Advice *advice, List *again)
{
	ListCell   *lc;

	foreach(lc, again)
	{
		const TrainedAgain *trained = lfirst(lc);
		AdviseColumn *column = compact_advise_find_column(advice, trained->name);

		column->old_typid = trained->typid;
		column->old_type = trained->type;
		column->dictionary = &trained->dictionary;
	}
}

/*
 * Add a message for the user for each trained type that the chosen columns had,
 * and on which no object depends any more.
 */
void
compact_convert_name_unused_types(const Advice *advice, const bool *chosen, List **messages)
{
	List	   *types = NIL;
	ListCell   *lc;

	for (int i = 0; i < advice->ncolumns; i++)
	{
		const AdviseColumn *column = &advice->columns[i];

		if (chosen[i])
			types = list_append_unique_oid(types,
										   OidIsValid(column->old_typid) ? column->old_typid :
										   compact_element_or_type(column->att->atttypid));
	}
	foreach(lc, types)
	{
		char	   *message = compact_trained_unused(lfirst_oid(lc));

		if (message)
			*messages = lappend(*messages, message);
	}
}
