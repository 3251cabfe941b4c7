/*-------------------------------------------------------------------------
 *
 * codec_server.c
 *	  The variables and functions of the server that the codecs use, for
 *	  codec.c and trained_codec.c.
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
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#undef fprintf

/*
 * Memory contexts.  Each chunk is a separate malloc(), so that the sanitizer
 * detects any access beyond it.
 */
typedef struct TestContext TestContext;

typedef struct Chunk
{
	struct Chunk *next;			/* of the context */
	struct Chunk **link;		/* what points to this chunk */
	TestContext *context;
	Size		size;
} Chunk;

struct TestContext
{
	Chunk	   *chunks;
	TestContext *parent;
	TestContext *children;
	TestContext *sibling;
};

StaticAssertDecl(sizeof(Chunk) % MAXIMUM_ALIGNOF == 0, "chunks are not aligned");

static TestContext top_context;

MemoryContext TopMemoryContext = (MemoryContext) &top_context;
MemoryContext CurrentMemoryContext = (MemoryContext) &top_context;

Size		matcher_size;
Size		allocated_now;
Size		allocated_peak;

/*
 * Allocate a chunk.  As in a server with assertions, its bytes are not zero at
 * first.
 */
static void *
allocate(MemoryContext memory_context, Size size, Size max_size)
{
	TestContext *context = (TestContext *) memory_context;
	Chunk	   *chunk;

	if (size > max_size)
	{
		fprintf(stderr, "error: invalid memory alloc request size %zu\n", size);
		abort();
	}
	chunk = malloc(sizeof(Chunk) + size);
	chunk->context = context;
	chunk->size = size;
	chunk->next = context->chunks;
	chunk->link = &context->chunks;
	if (chunk->next != NULL)
		chunk->next->link = &chunk->next;
	context->chunks = chunk;
	allocated_now += size;
	allocated_peak = Max(allocated_peak, allocated_now);
	memset(chunk + 1, 0x7F, size);
	return chunk + 1;
}

void *
palloc(Size size)
{
	return allocate(CurrentMemoryContext, size, MaxAllocSize);
}

void *
palloc0(Size size)
{
	return memset(palloc(size), 0, size);
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	matcher_size = size;
	return allocate(context, size, MaxAllocSize);
}

void *
MemoryContextAllocZero(MemoryContext context, Size size)
{
	return memset(MemoryContextAlloc(context, size), 0, size);
}

void *
MemoryContextAllocHuge(MemoryContext context, Size size)
{
	return allocate(context, size, MaxAllocHugeSize);
}

void
pfree(void *pointer)
{
	Chunk	   *chunk = (Chunk *) pointer - 1;

	*chunk->link = chunk->next;
	if (chunk->next != NULL)
		chunk->next->link = chunk->link;
	allocated_now -= chunk->size;
	free(chunk);
}

void *
repalloc(void *pointer, Size size)
{
	Chunk	   *chunk = (Chunk *) pointer - 1;
	void	   *result = allocate((MemoryContext) chunk->context, size, MaxAllocSize);

	memcpy(result, pointer, Min(size, chunk->size));
	pfree(pointer);
	return result;
}

MemoryContext
AllocSetContextCreateInternal(MemoryContext parent, const char *name,
							  Size minContextSize, Size initBlockSize,
							  Size maxBlockSize)
{
	TestContext *context = calloc(1, sizeof(TestContext));

	context->parent = (TestContext *) parent;
	context->sibling = context->parent->children;
	context->parent->children = context;
	return (MemoryContext) context;
}

void
MemoryContextDelete(MemoryContext memory_context)
{
	TestContext *context = (TestContext *) memory_context;
	TestContext **link = &context->parent->children;

	while (context->children != NULL)
		MemoryContextDelete((MemoryContext) context->children);
	while (context->chunks != NULL)
		pfree(context->chunks + 1);
	while (*link != context)
		link = &(*link)->sibling;
	*link = context->sibling;
	free(context);
}

volatile sig_atomic_t InterruptPending = false;
int			interrupt_checks;

void
ProcessInterrupts(void)
{
	interrupt_checks++;
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
	text	   *result = palloc(VARHDRSZ + len);

	SET_VARSIZE(result, VARHDRSZ + len);
	memcpy(VARDATA(result), str, len);
	return result;
}

TrainedCodec *trained_codecs[COMPACT_TRAINED_MAX_NUMBER + 1];
bool		trained_codecs_missing;

/* no symbol table stays valid */
uint64		compact_trained_generation = 1;
CompactTrainedCache compact_trained_cache[COMPACT_TRAINED_MAX_NUMBER + 1];

TrainedCodec *
compact_trained_look_up_codec(int number)
{
	if (number < 1 || number > COMPACT_TRAINED_MAX_NUMBER)
	{
		fprintf(stderr, "error: there cannot be a type trained_text%d\n", number);
		abort();
	}
	if (trained_codecs_missing || trained_codecs[number] == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("dictionary %d does not exist", number)));
	return trained_codecs[number];
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
