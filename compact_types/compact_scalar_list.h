/*-------------------------------------------------------------------------
 *
 * compact_scalar_list.h
 *	  The lists of the narrow scalar types.
 *
 * All C code takes the narrow types from these lists: for the functions of
 * each type and of each pair of types, for the SQL objects, for the advice,
 * and for revert().  doc/hacking.md lists the steps to add a type.
 *
 * A list is a macro that calls the macro M once for each line, with the
 * columns of the line as arguments.  If the list has arguments after M, M gets
 * these after the columns.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_scalar_list.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_SCALAR_LIST_H
#define COMPACT_SCALAR_LIST_H

/*
 * Narrow integers: name, bytes (1 to 4), smallest and greatest value, result
 * of arithmetic, wide twin, comment.
 *
 * The smallest value of an unsigned type is 0.  The result of arithmetic is
 * int4, or int8 if int4 does not hold every value of the narrow type.  The
 * wide twin is a core type that holds every value of the narrow type.  The
 * binary format of the narrow type is the format of its wide twin.  revert()
 * changes a column to the wide twin if no former type of the column was
 * recorded.  The SQL comment on the type consists of the comment in the list
 * and the range.  CREATE EXTENSION creates the types in this order.
 */
#define NARROW_INTEGERS(M, ...) \
	M(int1, 1, PG_INT8_MIN, PG_INT8_MAX, int4, int2, \
	  "signed integer of one byte", __VA_ARGS__) \
	M(uint1, 1, 0, PG_UINT8_MAX, int4, int2, \
	  "unsigned integer of one byte", __VA_ARGS__) \
	M(uint2, 2, 0, PG_UINT16_MAX, int4, int4, \
	  "unsigned integer of two bytes", __VA_ARGS__) \
	M(uint3, 3, 0, 0xFFFFFF, int4, int4, \
	  "unsigned integer of three bytes", __VA_ARGS__) \
	M(uint4, 4, 0, PG_UINT32_MAX, int8, int8, \
	  "unsigned integer of four bytes", __VA_ARGS__)

/*
 * Core's integers: name, bytes, smallest and greatest value, OID, name in
 * messages, result of arithmetic with a narrow integer.
 */
#define CORE_INTEGERS(M, ...) \
	M(int2, 2, PG_INT16_MIN, PG_INT16_MAX, INT2OID, "smallint", int4, __VA_ARGS__) \
	M(int4, 4, PG_INT32_MIN, PG_INT32_MAX, INT4OID, "integer", int4, __VA_ARGS__) \
	M(int8, 8, PG_INT64_MIN, PG_INT64_MAX, INT8OID, "bigint", int8, __VA_ARGS__)

/*
 * Timestamps of full seconds: name, wide twin, OID of the twin, "does the type
 * have a time zone?", comment.
 */
#define NARROW_SECONDS(M, ...) \
	M(seconds4, timestamp, TIMESTAMPOID, false, \
	  "timestamp of full seconds in four bytes, 1970 to 2106", __VA_ARGS__) \
	M(seconds4tz, timestamptz, TIMESTAMPTZOID, true, \
	  "timestamp with time zone of full seconds in four bytes, 1970 to 2106", __VA_ARGS__)

/*
 * Widths of the decimals, the narrowest first: bytes, core's type with the
 * same storage, its alignment, greatest scale.
 *
 * The width holds every number whose precision is at most the greatest scale.
 */
#define DECIMAL_WIDTHS(M, ...) \
	M(4, int4, TYPALIGN_INT, 9, __VA_ARGS__) \
	M(8, int8, TYPALIGN_DOUBLE, 18, __VA_ARGS__)

#endif							/* COMPACT_SCALAR_LIST_H */
