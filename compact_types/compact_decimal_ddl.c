/*-------------------------------------------------------------------------
 *
 * compact_decimal_ddl.c
 *	  Create the SQL objects of one decimal type, and of uint8.
 *
 * compact_types.create_decimal(W, S) creates the type compact_decimalW_S in
 * the current schema, with its functions, operators, aggregates, casts and
 * operator classes.  It creates functions and operator classes in the schema
 * of compact_types.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_decimal_ddl.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compact_ddl.h"
#include "compact_scalar.h"

typedef struct DecimalArgs
{
	int			width;
	int			scale;
} DecimalArgs;

/*
 * types with casts in both directions; the casts to numeric and from integers
 * are implicit
 */
static const char *const cast_types[] = {
	"numeric", "int2", "int4", "int8", "float4", "float8"
};

/*
 * Drop the objects that DROP TYPE ... CASCADE leaves because they do not
 * depend on the type.  Then the type can be created again.
 */
static void
drop_leftovers(const TypeDdl *ddl)
{
	static const char *const methods[] = {"btree", "hash", "brin"};
	static const char *const functions[] = {"sortsupport", "sum", "avg"};

	for (int i = 0; i < (int) lengthof(methods); i++)
		compact_ddl_execute("DROP OPERATOR FAMILY IF EXISTS %s.%s_ops USING %s",
							ddl->schema, ddl->name, methods[i]);
	for (int i = 0; i < (int) lengthof(functions); i++)
		compact_ddl_execute("DROP FUNCTION IF EXISTS %s.%s_%s(internal)",
							ddl->schema, ddl->name, functions[i]);
}

static void
create_families(const TypeDdl *ddl, const char *symbol, const char *width_symbol)
{
	char	   *family = psprintf("%s_ops", ddl->name);
	const struct WideTwin *twin = compact_ddl_wide_twin("numeric");
	StringInfoData btree;
	StringInfoData hash;
	StringInfoData brin;

	compact_ddl_execute("CREATE OPERATOR FAMILY %s.%s USING btree", ddl->schema, family);
	compact_ddl_execute("CREATE OPERATOR FAMILY %s.%s USING hash", ddl->schema, family);
	compact_ddl_execute("CREATE OPERATOR FAMILY %s.%s USING brin", ddl->schema, family);
	compact_ddl_create_function(ddl, psprintf("%s_sortsupport", ddl->name), "internal",
								"void", psprintf("%s_sortsupport", width_symbol),
								"IMMUTABLE");
	compact_ddl_create_scalar_classes(ddl, family, symbol, symbol, "numeric",
									  "IMMUTABLE", family);

	initStringInfo(&btree);
	initStringInfo(&hash);
	initStringInfo(&brin);
	compact_ddl_append_pair(&btree, &hash, ddl->opschema, "#", ddl->type, "numeric",
							psprintf("%s.%s_numeric_cmp", ddl->schema, ddl->name));
	compact_ddl_append_pair(&btree, &hash, ddl->opschema, "#", "numeric", ddl->type,
							psprintf("%s.numeric_%s_cmp", ddl->schema, ddl->name));
	compact_ddl_append_pair(&btree, &hash, ddl->schema, "#", "numeric", "numeric",
							"pg_catalog.numeric_cmp");
	compact_ddl_create_stand_in_operators(ddl, twin, psprintf("%s_numeric", symbol),
										  psprintf("numeric_%s", symbol),
										  psprintf("%s_to_numeric", symbol),
										  psprintf("%s_from_numeric", symbol),
										  "IMMUTABLE LEAKPROOF", &btree, &hash, &brin);
	compact_ddl_append_stand_ins(ddl, twin, &btree, &hash);
	appendStringInfoString(&btree,
						   "FUNCTION 2 (numeric, numeric) pg_catalog.numeric_sortsupport(internal)");
	appendStringInfoString(&hash,
						   "FUNCTION 1 (numeric, numeric) pg_catalog.hash_numeric(numeric),"
						   " FUNCTION 2 (numeric, numeric) pg_catalog.hash_numeric_extended(numeric, int8)");
	compact_ddl_append_brin(&brin, ddl->opschema, "#", ddl->type, "numeric");
	compact_ddl_extend_family(ddl, family, "btree", &btree);
	compact_ddl_extend_family(ddl, family, "hash", &hash);
	compact_ddl_extend_family(ddl, family, "brin", &brin);
}

/*
 * Create all objects of the type, which is stored as core's type "stored".  The
 * names of its C functions begin with symbol, or with width_symbol if the
 * functions do not depend on the scale.
 */
static void
create_type_like_numeric(const TypeDdl *type_ddl, const char *symbol, const char *width_symbol,
						 const char *stored, const char *comment)
{
	TypeDdl		marked = *type_ddl;
	const TypeDdl *ddl = &marked;
	const char *name = ddl->name;
	const char *type = ddl->type;

	marked.mark = "#";
	drop_leftovers(ddl);
	compact_ddl_create_scalar_type(ddl, symbol, psprintf("LIKE = pg_catalog.%s", stored),
								   'N', "IMMUTABLE", comment);

	compact_ddl_create_comparison(ddl, type, type, name, width_symbol, ddl->mark);
	compact_ddl_create_comparison(ddl, type, "numeric", psprintf("%s_numeric", name),
								  psprintf("%s_numeric", symbol), ddl->mark);
	compact_ddl_create_comparison(ddl, "numeric", type, psprintf("numeric_%s", name),
								  psprintf("numeric_%s", symbol), ddl->mark);
	create_families(ddl, symbol, width_symbol);

	compact_ddl_create_extremes(ddl, width_symbol);
	compact_ddl_create_called_on_null(ddl, psprintf("%s_sum", name), "internal", "numeric",
									  psprintf("%s_sum", symbol));
	compact_ddl_create_called_on_null(ddl, psprintf("%s_avg", name), "internal", "numeric",
									  psprintf("%s_avg", symbol));
	compact_ddl_create_sum(ddl, width_symbol, psprintf("%s_sum", name),
						   psprintf("%s_avg", name), NULL);

	for (int i = 0; i < (int) lengthof(cast_types); i++)
	{
		const char *other = cast_types[i];

		/*
		 * A second implicit cast to another type would make most expressions
		 * ambiguous.  The implicit cast from an integer gives coalesce(d, 0)
		 * a common type.
		 */
		compact_ddl_create_cast(ddl, type, other, psprintf("%s_to_%s", name, other),
								psprintf("%s_to_%s", symbol, other), "IMMUTABLE",
								strcmp(other, "numeric") == 0);
		compact_ddl_create_cast(ddl, other, type, psprintf("%s_to_%s", other, name),
								psprintf("%s_from_%s", symbol, other), "IMMUTABLE",
								strncmp(other, "int", 3) == 0);
	}
	compact_ddl_create_json_cast(ddl, psprintf("%s_to_json", symbol), "IMMUTABLE");
}

/* Callback that creates all objects; arg points to DecimalArgs. */
static void
create_objects(const TypeDdl *ddl, void *arg)
{
	const DecimalArgs *args = (const DecimalArgs *) arg;

	create_type_like_numeric(ddl, ddl->name, psprintf("compact_decimal%d", args->width),
							 compact_decimal_of_width(args->width)->stored,
							 psprintf("decimal number of %d bytes with %d digits after the point",
									  args->width, args->scale));
}

static bool
cast_exists(const char *source, const char *target)
{
	Oid			source_typid = DatumGetObjectId(DirectFunctionCall1(regtypein, CStringGetDatum(source)));
	Oid			target_typid = DatumGetObjectId(DirectFunctionCall1(regtypein, CStringGetDatum(target)));

	return SearchSysCacheExists2(CASTSOURCETARGET, ObjectIdGetDatum(source_typid),
								 ObjectIdGetDatum(target_typid));
}

/*
 * Create the cast between uint8 and a narrow integer, as an assignment cast by
 * way of another type, if it does not exist.  Call the functions of the two
 * casts: pg_dump --binary-upgrade writes a function with casts in its body
 * before these casts.
 */
static void
create_uint8_cast(const TypeDdl *ddl, const char *source_name, const char *source,
				  const char *way, const char *target_name, const char *target)
{
	char	   *function = psprintf("%s.%s_to_%s", ddl->schema, source_name, target_name);

	if (cast_exists(source, target))
		return;
	compact_ddl_execute("CREATE FUNCTION %s(%s) RETURNS %s LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE"
						" RETURN %s.%s_to_%s(%s.%s_to_%s($1))", function, source, target,
						ddl->schema, way, target_name, ddl->schema, source_name, way);
	compact_ddl_execute("CREATE CAST (%s AS %s) WITH FUNCTION %s(%s) AS ASSIGNMENT",
						source, target, function, source);
}

/*
 * Create what is missing of the type uint8, in the schema type_schema.  funcid
 * is a function in the schema of compact_types.  integers has the names of the
 * narrow integers, and NULL for core's integers.
 */
void
compact_ddl_create_uint8(Oid funcid, Oid type_schema, TypeDdl *const *integers)
{
	TypeDdl		ddl;

	compact_ddl_init(&ddl, funcid);
	compact_ddl_init_type_or_find(&ddl, "uint8", type_schema);
	if (!ddl.exists)
		create_type_like_numeric(&ddl, "compact_uint8", "compact_uint8", "int8",
								 "unsigned integer of eight bytes, 0 to 18446744073709551615");
	for (int i = 0; i < N_INTEGERS; i++)
	{
		const TypeDdl *other = integers[i];

		if (other == NULL)
			continue;
		create_uint8_cast(&ddl, other->name, other->type, "int8", ddl.name, ddl.type);
		create_uint8_cast(&ddl, ddl.name, ddl.type, "numeric", other->name, other->type);
	}
}

/*
 * compact_types.create_decimal(width int4, scale int4) returns regtype
 *
 * Create the type compact_decimalW_S in the current schema, and return it.
 * Errors: 22023 if there is no decimal type of that width and scale, 42710 if
 * the type exists already, 42501 without the privilege.
 */
PG_FUNCTION_INFO_V1(compact_types_create_decimal);
Datum
compact_types_create_decimal(PG_FUNCTION_ARGS)
{
	DecimalArgs args = {PG_GETARG_INT32(0), PG_GETARG_INT32(1)};
	Oid			funcid = fcinfo->flinfo->fn_oid;
	const CompactDecimal *decimals = compact_decimal_of_width(args.width);
	Oid			typid;
	bool		local;

	if (decimals == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("width %d of a decimal type is not supported", args.width),
				 errhint("The width must be 4 or 8 bytes.")));
	if (args.scale < 0 || args.scale > decimals->max_scale)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("scale %d of a decimal type of %d bytes is out of range",
						args.scale, args.width),
				 errhint("The scale must be between 0 and %d.", decimals->max_scale)));

	typid = compact_ddl_create_type_by_extension(funcid,
												 compact_decimal_name(args.width, args.scale),
												 create_objects, &args, &local);
	if (local)
		ereport(NOTICE,
				(errmsg("operators of type %s were created in schema \"%s\"",
						format_type_be(typid),
						get_namespace_name(get_func_namespace(funcid))),
				 errdetail("An index serves a comparison only if that schema is in the search_path."),
				 errhint("To have the operators in pg_catalog, install the extension of that type (make DECIMAL_TYPES=%d_%d install).",
						 args.width, args.scale)));

	PG_RETURN_OID(typid);
}
