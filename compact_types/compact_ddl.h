/*-------------------------------------------------------------------------
 *
 * compact_ddl.h
 *	  Creation of the SQL objects of types by plain DDL statements.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_ddl.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMPACT_DDL_H
#define COMPACT_DDL_H

#include "lib/stringinfo.h"

/* Names that the statements are made of; all of them quoted where needed. */
typedef struct TypeDdl
{
	Oid			nspid;			/* of functions, families and classes */
	char	   *schema;			/* its name */
	char	   *library;		/* as a string literal */
	const char *opschema;		/* of operators and aggregates */
	char		name[NAMEDATALEN];	/* of the type */
	char	   *type;			/* the type with its schema */
	bool		typmod;			/* has it a type modifier? */
} TypeDdl;

/* compact_ddl.c */
extern void ddl_execute(const char *format,...) pg_attribute_printf(1, 2);
extern Oid	ddl_creation_schema(void);
extern void ddl_init(TypeDdl *ddl, Oid funcid);
extern void ddl_init_type(TypeDdl *ddl, const char *name, Oid type_schema);
extern char *ddl_argument_type(const TypeDdl *ddl, const char *function);
extern int	ddl_set_gucs(void);
extern Oid	ddl_create_type_by_extension(Oid funcid, const char *name,
										 void (*create) (const TypeDdl *ddl, void *arg),
										 void *arg, bool *local);
extern void ddl_create_function(const TypeDdl *ddl, const char *name,
								const char *args, const char *result,
								const char *symbol, const char *attributes);
extern void ddl_create_comparison(const TypeDdl *ddl, const char *left,
								  const char *right, const char *function,
								  const char *symbol, const char *mark);
extern void ddl_append_pair(StringInfo btree, StringInfo hash,
							const char *opschema, const char *mark,
							const char *left, const char *right,
							const char *cmp_function);
extern void ddl_append_brin_pair(StringInfo minmax, const char *opschema,
								 const char *left, const char *right);

/* compact_string_ddl.c */
extern void ddl_drop_string_leftovers(const TypeDdl *ddl);
extern void ddl_create_string_type_parts(const TypeDdl *ddl, const char *symbol);

/* compact_pattern_ddl.c */
extern void ddl_create_pattern_operators(const TypeDdl *ddl, const char *symbol);

#endif							/* COMPACT_DDL_H */
