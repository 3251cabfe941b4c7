/*-------------------------------------------------------------------------
 *
 * codec_server.h
 *	  The variables and functions of the server that the codecs use, for
 *	  codec.c and trained_codec.c.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  t/compact_types/codec_server.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CODEC_SERVER_H
#define CODEC_SERVER_H

#include <setjmp.h>

#include "compact_trained.h"

/*
 * Size of the last matcher (the table with which the codec searches a
 * dictionary)
 */
extern Size matcher_size;

/* Bytes that are allocated now, and the most since the test has set it. */
extern Size allocated_now;
extern Size allocated_peak;

/* After an error that the caller expects, jump to error_target. */
extern jmp_buf error_target;
extern bool error_expected;

/* How often CHECK_FOR_INTERRUPTS() was called while InterruptPending is true. */
extern int	interrupt_checks;

/* the encoding of the database, UTF8 at first */
extern int	database_encoding;

/*
 * What compact_trained_codec() returns.  It raises an error for a number
 * without a codec, and for all numbers if trained_codecs_missing is true.
 */
extern TrainedCodec *trained_codecs[COMPACT_TRAINED_MAX_NUMBER + 1];
extern bool trained_codecs_missing;

#endif							/* CODEC_SERVER_H */
