/*-------------------------------------------------------------------------
 *
 * gap.c
 *	  Make a session wait between the end of its transaction and the removal of
 *	  the transaction's files, for tests of bgvacuum_patch.
 *
 * The WAL record of a commit or an abort names the relations whose files are
 * removed.  The session removes the buffers and files only afterwards, when
 * other processes already see that the transaction has ended.  A session that
 * has loaded this library and set gap.file waits before the removal, as long
 * as the file named by gap.file exists.  The session waits only if its
 * transaction removes files.  Meanwhile, pg_stat_activity shows wait event
 * type Extension for the session.
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
		/*
		 * Interrupts cannot be processed at the end of a transaction, so
		 * signals have to wait as well.
		 */
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
