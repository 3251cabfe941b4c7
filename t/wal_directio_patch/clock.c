/*-------------------------------------------------------------------------
 *
 * clock.c
 *	  LD_PRELOAD library that stops the time of day.
 *
 * WAL records of commits, checkpoints and restore points contain the time of
 * day, which also changes the CRC of the record.  With this library, two
 * servers that do the same write the same bytes of WAL.  Only the time of day
 * does not advance.  Code that waits for some time reads the monotonic clock,
 * which still advances.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

/* some day after PostgreSQL's epoch */
#define STOPPED_AT 1750000000

int			gettimeofday(struct timeval *restrict tv, void *restrict tz);
time_t		time(time_t *result);

int
gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	(void) tz;
	tv->tv_sec = STOPPED_AT;
	tv->tv_usec = 0;
	return 0;
}

time_t
time(time_t *result)
{
	if (result != NULL)
		*result = STOPPED_AT;
	return STOPPED_AT;
}
