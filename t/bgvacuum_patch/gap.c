/*-------------------------------------------------------------------------
 *
 * gap.c
 *	  Keep a session between the end of its transaction and the removal of
 *	  files that follows from it, for tests of bgvacuum_patch.
 *
 * The record of a commit or an abort names the relations whose files go.  Their
 * buffers and files go later, when other processes see the transaction as
 * ended already.  A session that has loaded this library and set gap.file stays
 * at that point for as long as a file of that name is there, if files are to go;
 * pg_stat_activity then shows it waiting for an extension.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "access/xact.h"
#include "catalog/storage.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/wait_event.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static char *gap_file = NULL;

static void
stay(bool commit)
{
	RelFileLocator *locators;
	int			nlocators = smgrGetPendingDeletes(commit, &locators);

	if (nlocators == 0)
		return;
	pfree(locators);
	while (gap_file != NULL && gap_file[0] != '\0' && access(gap_file, F_OK) == 0)
	{
		/* not an interruptible state: signals must wait as well */
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 5, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}

static void
transaction_ends(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT)
		stay(event == XACT_EVENT_COMMIT);
}

static void
subtransaction_ends(SubXactEvent event, SubTransactionId mySubid,
					SubTransactionId parentSubid, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		stay(false);
}

void
_PG_init(void)
{
	DefineCustomStringVariable("gap.file",
							   "A transaction that ends waits while this file exists, if it removes files.",
							   NULL,
							   &gap_file,
							   "",
							   PGC_USERSET,
							   0,
							   NULL, NULL, NULL);
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
}
