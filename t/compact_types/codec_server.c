/*-------------------------------------------------------------------------
 *
 * codec_server.c
 *	  The variables and functions of the server that the codec uses, for
 *	  codec.c.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  t/compact_types/codec_server.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "bundle_compat.h"
#include "codec_server.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#undef fprintf

MemoryContext TopMemoryContext = NULL;
MemoryContext CurrentMemoryContext = NULL;

void *
palloc(Size size)
{
	return malloc(size);
}

void
pfree(void *pointer)
{
	free(pointer);
}

Size		matcher_size;

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	matcher_size = size;
	return malloc(size);
}

MemoryContext
AllocSetContextCreateInternal(MemoryContext parent, const char *name,
							  Size minContextSize, Size initBlockSize,
							  Size maxBlockSize)
{
	return NULL;
}

bool
errstart(int elevel, const char *domain)
{
	return true;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return true;
}

int
errmsg_internal(const char *fmt,...)
{
	fprintf(stderr, "error: %s\n", fmt);
	return 0;
}

jmp_buf		error_target;
bool		error_expected = false;

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	if (error_expected)
		longjmp(error_target, 1);
	abort();
}

int
errcode(int sqlerrcode)
{
	return 0;
}

int
errmsg(const char *fmt,...)
{
	return 0;
}

int
errdetail(const char *fmt,...)
{
	return 0;
}

int
errdetail_internal(const char *fmt,...)
{
	return 0;
}

int			database_encoding = PG_UTF8;

int
GetDatabaseEncoding(void)
{
	return database_encoding;
}

text *
cstring_to_text_with_len(const char *str, int len)
{
	text	   *result = malloc(VARHDRSZ + len);

	SET_VARSIZE(result, VARHDRSZ + len);
	memcpy(VARDATA(result), str, len);
	return result;
}

#if PG_VERSION_NUM < 160000
void
ExceptionalCondition(const char *conditionName, const char *errorType,
					 const char *fileName, int lineNumber)
#else
void
ExceptionalCondition(const char *conditionName,
					 const char *fileName, int lineNumber)
#endif
{
	fprintf(stderr, "assertion failed: %s\n", conditionName);
	abort();
}
