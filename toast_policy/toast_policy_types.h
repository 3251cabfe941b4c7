/*-------------------------------------------------------------------------
 *
 * toast_policy_types.h
 *	  Interfaces between the files of the types ztext and zbytea.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_types.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TOAST_POLICY_TYPES_H
#define TOAST_POLICY_TYPES_H

#include "toast_policy.h"

/* The first bytes of a value; see toast_policy_types.c */
typedef struct TpTypeHeader
{
	TpCodec		codec;
	TpCodec		tried;			/* raw value: codec that saved no space */
	int32		offset;			/* where the data begin */
	int32		rawsize;
} TpTypeHeader;

/* The raw bytes of a value, and the memory that holds them */
typedef struct TpRaw
{
	const char *data;
	int32		size;
	void	   *copies[2];		/* to free, or NULL */
} TpRaw;

/* toast_policy_types.c */
extern void tp_type_read_header(Datum value, TpTypeHeader *header);
extern void tp_type_open(Datum value, TpRaw *raw);
extern void tp_raw_close(TpRaw *raw);
extern struct varlena *tp_type_decode(Datum value);
extern struct varlena *tp_type_slice(Datum value, int32 offset, int32 length);

#endif							/* TOAST_POLICY_TYPES_H */
