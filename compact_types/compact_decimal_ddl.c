/*-------------------------------------------------------------------------
 *
 * compact_decimal_ddl.c
 *	  Create the SQL objects of one decimal type.
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
#include "utils/lsyscache.h"

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

/* Callback that creates all objects; arg points to DecimalArgs. */
static void
create_objects(const TypeDdl *type_ddl, void *arg)
{
	TypeDdl		marked = *type_ddl;
	const TypeDdl *ddl = &marked;
	const DecimalArgs *args = (const DecimalArgs *) arg;
	const char *name = ddl->name;
	const char *type = ddl->type;
	const char *symbol = name;	/* C symbols begin with the type's name */
	char	   *width_symbol = psprintf("compact_decimal%d", args->width);

	marked.mark = "#";
	drop_leftovers(ddl);
	compact_ddl_create_scalar_type(ddl, symbol,
								   psprintf("LIKE = pg_catalog.%s",
											compact_decimal_of_width(args->width)->stored),
								   'N', "IMMUTABLE",
								   psprintf("decimal number of %d bytes with %d digits after the point",
											args->width, args->scale));

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
