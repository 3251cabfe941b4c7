/*-------------------------------------------------------------------------
 *
 * toast_policy_compare_codec.c
 *	  Measure the result of a codec for a value, and the time that it takes.
 *
 * Times are CPU times of this thread, because other sessions influence CPU
 * times only a little.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_compare_codec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <time.h>

#include "toast_policy_compare.h"
#include "toast_policy_compat.h"

/* Limits for measuring small values repeatedly: size and repeats */
#define TP_REPEAT_BYTES		16384
#define TP_MAX_REPEATS		100

/* CPU time of this thread in microseconds */
static double
tp_cpu_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);

	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

/*
 * Return how often to process a piece of the given size, to get a measurable
 * time.
 */
static int
tp_repeats(int32 size)
{
	return 1 + Min(TP_REPEAT_BYTES / Max(size, 1), TP_MAX_REPEATS);
}

/*
 * Compress and decompress the first size bytes of a value.  Set the trial's
 * results for the whole value, which has rawsize bytes.
 */
void
tp_try_codec(TpTrial *trial, const char *source, int32 size, int32 rawsize,
			 char *buffer)
{
	double		factor = (double) rawsize / Max(size, 1);
	int			repeats = trial->spent_us < trial->budget_us ? tp_repeats(size) : 1;
	int32		compressed = 0;
	char	   *chunk = NULL;
	double		begin;
	double		spent;

	trial->size = -1;
	trial->incompressible = false;
	trial->probe_us = trial->compress_us = trial->decompress_us = 0;
	if (size == 0)
		return;

	begin = tp_cpu_us();
	if (tp_may_give_up(trial->codec, trial->level, rawsize))
	{
		trial->incompressible = tp_incompressible(trial->codec, source, size);
		trial->probe_us = (tp_cpu_us() - begin) * factor;
	}

	/*
	 * The first run also allocates memory and fills caches: do not measure
	 * it.
	 */
	if (trial->spent_us == 0)
		repeats++;
	for (int i = 0; i < repeats; i++)
	{
		if (chunk != NULL)
			pfree(chunk);
		if (i == 0 || (i == 1 && trial->spent_us == 0))
			begin = tp_cpu_us();
		chunk = tp_compress(trial->codec, trial->level, source, size, 0, size, &compressed);
	}
	spent = tp_cpu_us() - begin;
	if (trial->spent_us == 0)
		repeats--;
	trial->spent_us += spent;
	trial->compress_us = spent / repeats * factor;
	if (chunk == NULL)
		return;

	trial->size = (int32) Min(rint(compressed * factor), (double) rawsize);
	if (trial->timed_us < trial->budget_us)
	{
		repeats = tp_repeats(size);
		begin = tp_cpu_us();
		for (int i = 0; i < repeats; i++)
			if (!tp_decompress(trial->codec, chunk, compressed, buffer, size))
				elog(ERROR, "codec %s cannot decompress what it compressed",
					 tp_codec_name(trial->codec));
		spent = tp_cpu_us() - begin;
		trial->timed_us += spent;
		trial->timed_bytes += (double) repeats * size;
		trial->decompress_us = spent / repeats * factor;
	}
	else
		trial->decompress_us = trial->timed_us / trial->timed_bytes * rawsize;
	pfree(chunk);
}
