/*-------------------------------------------------------------------------
 *
 * vertical_partition_context.c
 *	  Call the extension's own PL/pgSQL functions, without their lines in the
 *	  context of an error.
 *
 * split(), merge(), relink() and advise() are C functions, each of which
 * calls a PL/pgSQL function of the same name in the schema
 * vertical_partition_internal.  Some commands on a split table call such
 * functions, too.  The user did not write these functions, so their lines in
 * the context of an error would only hide the message.
 *
 * The context of an error has a line for each entry of error_context_stack.
 * vp_call_quietly() empties this stack before it calls a function.  So the
 * context of an error has only the lines of our functions, and no lines of
 * the caller.  vp_call_quietly() removes these lines, and raises the error
 * again under the caller's stack.  Then the server adds the lines of the
 * caller.
 *
 * Some of our functions run statements that call code of users, such as
 * triggers and functions in constraints.  The lines of this code stay.  So
 * vp_enter_user_code() empties the stack once more: then the context has the
 * lines of this code alone, and our statement as its last line.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_context.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "vertical_partition.h"

PG_FUNCTION_INFO_V1(vp_call_internal);
PG_FUNCTION_INFO_V1(vp_tell);

/* The statement that runs code of users now, or NULL if our functions run */
static char *vp_user_statement = NULL;

/* How many times our functions have begun, and not ended, to run code of users */
static int	user_depth = 0;

/* The caller's error_context_stack, below that of our functions */
static ErrorContextCallback *vp_callers_stack = NULL;

/*
 * Begin to run code of users.  The statement is the one that runs this code,
 * or NULL.
 */
void
vp_enter_user_code(VpUserCode *saved, const char *statement)
{
	saved->stack = error_context_stack;
	saved->statement = vp_user_statement;
	saved->depth = user_depth;
	error_context_stack = NULL;
	vp_user_statement = statement ? MemoryContextStrdup(TopTransactionContext, statement) : NULL;
	user_depth++;
}

/* End to run code of users.  After an error, vp_call_quietly() does this. */
void
vp_leave_user_code(const VpUserCode *saved)
{
	if (vp_user_statement)
		pfree(vp_user_statement);
	error_context_stack = saved->stack;
	vp_user_statement = saved->statement;
	user_depth = saved->depth;
}

/*
 * Return how many times our functions have begun, and not ended, to run code
 * of users.  An error that neither vp_call_quietly() nor an outer
 * vp_leave_user_code() sees leaves the number too high, so compare it only
 * with an earlier one.
 */
int
vp_user_depth(void)
{
	return user_depth;
}

/*
 * Remove the statement from the end of the context.  The server has added it
 * as the last entry, in the language of its messages.  The server adds no
 * entry for an empty statement.
 */
static void
cut_statement(char *context, const char *statement)
{
	char	   *found = NULL;

	/* strstr() finds an empty string even behind the end of the context */
	if (statement[0] == '\0')
		return;
	for (char *next = strstr(context, statement); next; next = strstr(next + 1, statement))
		found = next;
	if (found == NULL || strchr(found + strlen(statement), '\n'))
		return;
	while (found > context && found[-1] != '\n')
		found--;
	found[found > context ? -1 : 0] = '\0';
}

/*
 * Call a function.  If it raises an error, remove the lines of our own
 * functions from the context of the error.
 */
void
vp_call_quietly(void (*function) (void *), void *argument)
{
	MemoryContext context = CurrentMemoryContext;
	char	   *statement = vp_user_statement;
	int			depth = user_depth;
	ErrorContextCallback *stack = vp_callers_stack;

	PG_TRY();
	{
		vp_callers_stack = error_context_stack;
		error_context_stack = NULL;
		vp_user_statement = NULL;
		function(argument);
	}
	PG_CATCH();
	{
		ErrorData  *error;
		const char *run = vp_user_statement;
		bool		by_user = user_depth > depth;

		vp_user_statement = statement;
		user_depth = depth;
		vp_callers_stack = stack;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		if (!by_user)
		{
			error->context = NULL;
			error->internalquery = NULL;
			error->internalpos = 0;
		}
		else
		{
			if (error->context && run)
				cut_statement(error->context, run);
			if (error->context && error->context[0] == '\0')
				error->context = NULL;
		}
		ThrowErrorData(error);
		pg_unreachable();
	}
	PG_END_TRY();

	vp_user_statement = statement;
	user_depth = depth;
	vp_callers_stack = stack;
}

static void
run_query(void *query)
{
	SPI_connect();
	if (SPI_execute((const char *) query, false, 0) < 0)
		elog(ERROR, "could not execute \"%s\"", (const char *) query);
	SPI_finish();
}

/* Run a query of the extension, ignoring its result. */
void
vp_call(const char *query)
{
	vp_call_quietly(run_query, unconstify(char *, query));
}

static void
run_user_statement(void *statement)
{
	VpUserCode	saved;

	vp_enter_user_code(&saved, (const char *) statement);
	run_query(statement);
	vp_leave_user_code(&saved);
}

/* Run a statement that replaces a user's command, and that can call code of users. */
void
vp_run_statement(const char *statement)
{
	vp_call_quietly(run_user_statement, unconstify(char *, statement));
}

/*
 * Call a function of the schema vertical_partition that takes a relation, and
 * ignore its result.  A call from C needs no EXECUTE privilege, so that a
 * command on a split table works on after a REVOKE on the function.
 */
void
vp_call_function(const char *name, Oid relation)
{
	Oid			argtypes[] = {REGCLASSOID};
	Oid			function;

	function = LookupFuncName(list_make2(makeString("vertical_partition"), makeString(pstrdup(name))),
							  lengthof(argtypes), argtypes, false);
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	(void) OidFunctionCall1(function, ObjectIdGetDatum(relation));
	PopActiveSnapshot();
	CommandCounterIncrement();
}

/* A call of an internal function */
typedef struct VpInternalCall
{
	FunctionCallInfo fcinfo;
	Datum		result;
} VpInternalCall;

static void
invoke(void *argument)
{
	VpInternalCall *call = argument;

	call->result = FunctionCallInvoke(call->fcinfo);
}

/* Look up the function of the same name and arguments in vertical_partition_internal. */
static Oid
internal_function(Oid public)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(public));
	Form_pg_proc form;
	Oid			result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", public);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	result = LookupFuncName(list_make2(makeString("vertical_partition_internal"),
									   makeString(pstrdup(NameStr(form->proname)))),
							form->pronargs, form->proargtypes.values, false);
	ReleaseSysCache(tuple);

	return result;
}

/*
 * vertical_partition.split(), merge(), relink() and advise()
 *
 * Call the PL/pgSQL function of the same name and arguments in the schema
 * vertical_partition_internal.  PUBLIC has no privilege on that function, and
 * a call from C needs none, so that the EXECUTE privilege on this function
 * says who may call it.  Errors: 42501 if the caller has no USAGE
 * privilege on this schema, and those of the function.
 */
Datum
vp_call_internal(PG_FUNCTION_ARGS)
{
	LOCAL_FCINFO(inner, FUNC_MAX_ARGS);
	FmgrInfo   *function = (FmgrInfo *) fcinfo->flinfo->fn_extra;
	VpInternalCall call = {inner, (Datum) 0};
	VpProgress	progress;

	if (function == NULL)
	{
		function = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(FmgrInfo));
		fmgr_info_cxt(internal_function(fcinfo->flinfo->fn_oid), function, fcinfo->flinfo->fn_mcxt);
		fcinfo->flinfo->fn_extra = function;
	}
	InitFunctionCallInfoData(*inner, function, fcinfo->nargs, fcinfo->fncollation, fcinfo->context, fcinfo->resultinfo);
	for (int i = 0; i < fcinfo->nargs; i++)
		inner->args[i] = fcinfo->args[i];
	vp_progress_begin(&progress);
	PG_TRY();
	{
		vp_call_quietly(invoke, &call);
	}
	PG_CATCH();
	{
		vp_progress_end(&progress, true);
		PG_RE_THROW();
	}
	PG_END_TRY();
	vp_progress_end(&progress, false);
	fcinfo->isnull = inner->isnull;

	return call.result;
}

/*
 * vertical_partition_internal.tell(level text, message text, detail text,
 *									hint text) returns void
 *
 * Send a message to the client: a WARNING if level is 'warning', else a
 * NOTICE.  In contrast to RAISE, its context has no lines of our functions.
 */
Datum
vp_tell(PG_FUNCTION_ARGS)
{
	ErrorContextCallback *stack = error_context_stack;
	char	   *texts[4];

	for (int i = 0; i < 4; i++)
		texts[i] = PG_ARGISNULL(i) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(i));
	if (texts[0] == NULL || texts[1] == NULL)
		PG_RETURN_VOID();
	error_context_stack = vp_callers_stack;
	ereport(strcmp(texts[0], "warning") == 0 ? WARNING : NOTICE,
			(errmsg_internal("%s", texts[1]),
			 texts[2] ? errdetail_internal("%s", texts[2]) : 0,
			 texts[3] ? errhint("%s", texts[3]) : 0));
	error_context_stack = stack;

	PG_RETURN_VOID();
}
