/*-------------------------------------------------------------------------
 *
 * codec_server.h
 *	  The variables and functions of the server that the codec uses, for
 *	  codec.c.
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

/*
 * Size of the last matcher (the table with which the codec searches a
 * dictionary)
 */
extern Size matcher_size;

/* After an error that the caller expects, jump to error_target. */
extern jmp_buf error_target;
extern bool error_expected;

/* the encoding of the database, UTF8 at first */
extern int	database_encoding;

#endif							/* CODEC_SERVER_H */
