/*-------------------------------------------------------------------------
 *
 * hold.c
 *	  Functions with which a session prevents other processes from using a
 *	  page, for tests of bgvacuum_patch.
 *
 * A page is named by tablespace, database, file number, fork and block, so
 * that the page can belong to another database.  A session that holds a page
 * makes the file FILE.held, and releases the page when FILE is removed.  The
 * session holds a lock of the buffer manager and cannot be canceled, so it
 * raises an error by itself after some time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "fmgr.h"
#include "storage/bgvacuum.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(hold_page);
PG_FUNCTION_INFO_V1(hold_lookup);
PG_FUNCTION_INFO_V1(page_buffer);
PG_FUNCTION_INFO_V1(request_map);

#define HOLD_SECONDS	300

/* Return the relation that the first three arguments name. */
static RelFileLocator
page_relation(FunctionCallInfo fcinfo)
{
	RelFileLocator rlocator;

	rlocator.spcOid = PG_GETARG_OID(0);
	rlocator.dbOid = PG_GETARG_OID(1);
	rlocator.relNumber = PG_GETARG_OID(2);
	return rlocator;
}

static Buffer
page_pin(FunctionCallInfo fcinfo)
{
	return ReadBufferWithoutRelcache(page_relation(fcinfo), PG_GETARG_INT32(3),
									 (BlockNumber) PG_GETARG_INT32(4), RBM_NORMAL,
									 NULL, true);
}

static void
stay(const char *file)
{
	char	   *held = psprintf("%s.held", file);
	int			fd = open(held, O_WRONLY | O_CREAT, 0600);

	if (fd < 0)
		elog(ERROR, "could not create \"%s\": %m", held);
	close(fd);
	for (int i = 0; access(file, F_OK) == 0; i++)
	{
		if (i >= HOLD_SECONDS * 500)
			elog(ERROR, "\"%s\" is still there", file);
		pg_usleep(2000);
	}
}

/* hold_page(..., locked, file) - pin a page, and lock its contents if locked */
Datum
hold_page(PG_FUNCTION_ARGS)
{
	Buffer		buffer = page_pin(fcinfo);
	bool		locked = PG_GETARG_BOOL(5);

	if (locked)
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	stay(text_to_cstring(PG_GETARG_TEXT_PP(6)));
	if (locked)
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	ReleaseBuffer(buffer);
	PG_RETURN_VOID();
}

/*
 * hold_lookup(..., file) - lock the buffer mapping, so that nobody can find
 * the page's buffer.
 */
Datum
hold_lookup(PG_FUNCTION_ARGS)
{
	RelFileLocator rlocator = page_relation(fcinfo);
	BufferTag	tag;
	LWLock	   *lock;

	InitBufferTag(&tag, &rlocator, PG_GETARG_INT32(3), (BlockNumber) PG_GETARG_INT32(4));
	lock = BufMappingPartitionLock(BufTableHashCode(&tag));
	LWLockAcquire(lock, LW_EXCLUSIVE);
	stay(text_to_cstring(PG_GETARG_TEXT_PP(5)));
	LWLockRelease(lock);
	PG_RETURN_VOID();
}

/* page_buffer(...) - return the number of the buffer that contains the page */
Datum
page_buffer(PG_FUNCTION_ARGS)
{
	Buffer		buffer = page_pin(fcinfo);

	ReleaseBuffer(buffer);
	PG_RETURN_INT32(buffer);
}

/*
 * request_map(..., heap_block) - request the page of the visibility map for a
 * heap block, with the stamp of the named page.  (A stamp is the mark beside a
 * buffer that names the table of its page.)  bgwriter makes the same request
 * for a heap block with this stamp.
 */
Datum
request_map(PG_FUNCTION_ARGS)
{
	Buffer		buffer = page_pin(fcinfo);
	uint32		stamp = pg_atomic_read_u32(&BgVacuumStamps[buffer - 1]);

	ReleaseBuffer(buffer);
	if (stamp == 0)
		elog(ERROR, "the page has no stamp");
	BgVacuumRequestMap(stamp, (BlockNumber) PG_GETARG_INT32(5));
	PG_RETURN_VOID();
}
