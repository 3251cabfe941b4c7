/*-------------------------------------------------------------------------
 *
 * compact_ddl.h
 *	  Create the SQL objects of types by plain DDL statements.
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

/* Names for the statements, quoted where necessary. */
typedef struct TypeDdl
{
	Oid			nspid;			/* schema of functions, families and classes */
	char	   *schema;			/* its name */
	char	   *library;		/* as a string literal; NULL: the server */
	const char *opschema;		/* schema of operators and aggregates */
	const char *mark;			/* before and after the names of operators on
								 * two values of the type */
	char		name[NAMEDATALEN];	/* name of the type */
	char	   *type;			/* qualified name of the type */
	bool		exists;			/* did an earlier version create it? */
	bool		typmod;			/* does it have a type modifier? */
} TypeDdl;

/*
 * Hint of a message whose detail is the result of
 * compact_ddl_who_could_drop().
 */
#define DDL_OWNER_HINT \
	"Let a superuser or the database owner drop the extension and create it again, in a schema that belongs to one of them."

/* compact_ddl.c */
extern char *compact_ddl_format(const char *format, va_list args) pg_attribute_printf(1, 0);
extern void compact_ddl_hold_schema_name(Oid schema);
extern void compact_ddl_execute(const char *format,...) pg_attribute_printf(1, 2);
extern Oid	compact_ddl_relation_owner(Oid relid);
extern int	compact_ddl_become(Oid roleid, bool restricted, Oid *save_userid,
							   int *save_sec_context);
extern void compact_ddl_return_to(Oid save_userid, int save_sec_context, int nestlevel);
extern void compact_ddl_execute_as(Oid roleid, bool restricted, const char *format,...) pg_attribute_printf(3, 4);
extern char *compact_ddl_who_could_drop(Oid typid, Oid roleid);
extern Oid	compact_ddl_creation_schema(void);
extern void compact_ddl_init(TypeDdl *ddl, Oid funcid);
extern bool compact_ddl_type_exists(const TypeDdl *ddl, const char *name);
extern void compact_ddl_init_type(TypeDdl *ddl, const char *name, Oid type_schema);
extern void compact_ddl_init_type_or_find(TypeDdl *ddl, const char *name, Oid type_schema);
extern char *compact_ddl_argument_type(const TypeDdl *ddl, const char *function);
extern int	compact_ddl_set_gucs(void);
extern void compact_ddl_set_deparse_gucs(void);
extern Oid	compact_ddl_create_type_by_extension(Oid funcid, const char *name,
												 void (*create) (const TypeDdl *ddl, void *arg),
												 void *arg, bool *local);
extern void compact_ddl_create_function(const TypeDdl *ddl, const char *name,
										const char *args, const char *result,
										const char *symbol, const char *attributes);
extern void compact_ddl_create_comparison(const TypeDdl *ddl, const char *left,
										  const char *right, const char *function,
										  const char *symbol, const char *mark);
extern void compact_ddl_create_comparison_as(const TypeDdl *ddl, const char *left,
											 const char *right, const char *function,
											 const char *symbol, const char *mark,
											 const char *commutator_mark,
											 const char *attributes,
											 const char *equal_options);
extern void compact_ddl_create_comparison_operators(const TypeDdl *ddl, const char *left,
													const char *right, const char *function,
													const char *mark,
													const char *commutator_mark,
													const char *equal_options);
extern void compact_ddl_create_core_comparison(const TypeDdl *ddl, const char *left,
											   const char *right);
extern void compact_ddl_append_pair(StringInfo btree, StringInfo hash,
									const char *opschema, const char *mark,
									const char *left, const char *right,
									const char *cmp_function);
extern void compact_ddl_append_brin(StringInfo minmax, const char *opschema,
									const char *mark, const char *left,
									const char *right);
extern void compact_ddl_create_minmax_class(const TypeDdl *ddl, const char *family,
											StringInfo members);
extern void compact_ddl_create_hash_functions(const TypeDdl *ddl, const char *symbol);
extern void compact_ddl_create_hash_class(const TypeDdl *ddl, const char *family);
extern void compact_ddl_create_extremes(const TypeDdl *ddl, const char *symbol);

/* compact_string_ddl.c */
extern void compact_ddl_drop_string_leftovers(const TypeDdl *ddl);
extern void compact_ddl_create_string_type_parts(const TypeDdl *ddl, const char *symbol,
												 const char *make_symbol);
extern char *compact_ddl_create_compact_text_cast(const TypeDdl *ddl, const char *symbol);
extern void compact_ddl_create_compact_text_twins(const TypeDdl *ddl);
extern void compact_ddl_add_compact_text(const TypeDdl *ddl, const char *compact_text);

/* compact_text_ddl.c */
extern void compact_ddl_create_text_type(TypeDdl *ddl, const char *make_symbol,
										 const char *comment);

/* compact_pattern_ddl.c */
extern void compact_ddl_create_pattern_operators(const TypeDdl *ddl, const char *symbol);

/* compact_literal_ddl.c */
extern const struct WideTwin *compact_ddl_wide_twin(const char *name);
extern void compact_ddl_create_stand_ins(const TypeDdl *ddl);
extern void compact_ddl_create_stand_in_operators(const TypeDdl *ddl, const struct WideTwin *twin,
												  const char *symbol,
												  const char *reverse_symbol,
												  const char *cast_symbol,
												  const char *reverse_cast_symbol,
												  const char *attributes,
												  StringInfo btree, StringInfo hash,
												  StringInfo brin);
extern void compact_ddl_append_stand_ins(const TypeDdl *ddl, const struct WideTwin *twin,
										 StringInfo btree, StringInfo hash);

/* compact_scalar_ddl.c */
extern void compact_ddl_create_scalar_type(const TypeDdl *ddl, const char *symbol,
										   const char *storage, char category,
										   const char *io_attributes,
										   const char *comment);
extern void compact_ddl_create_called_on_null(const TypeDdl *ddl, const char *name,
											  const char *args, const char *result,
											  const char *symbol);
extern void compact_ddl_create_sum(const TypeDdl *ddl, const char *symbol,
								   const char *final_sum, const char *final_avg,
								   const char *fast_sum);
extern void compact_ddl_create_scalar_classes(const TypeDdl *ddl, const char *family,
											  const char *symbol,
											  const char *hash_symbol,
											  const char *offset,
											  const char *in_range_attributes,
											  const char *hash_family);
extern void compact_ddl_extend_family(const TypeDdl *ddl, const char *family,
									  const char *method, StringInfo members);
extern void compact_ddl_create_cast(const TypeDdl *ddl, const char *source,
									const char *target, const char *function,
									const char *symbol, const char *attributes,
									bool implicit);
extern void compact_ddl_create_json_cast(const TypeDdl *ddl, const char *symbol,
										 const char *attributes);

/* compact_decimal_ddl.c */
extern void compact_ddl_create_uint8(Oid funcid, Oid type_schema,
									 TypeDdl *const *integers);

/* compact_seconds_ddl.c */
extern void compact_ddl_create_seconds(Oid funcid, Oid nspid);

#endif							/* COMPACT_DDL_H */
