/*-------------------------------------------------------------------------
 *
 * compact_seconds_ddl.c
 *	  Create the SQL objects of the narrow types of seconds.
 *
 * compact_types.create_scalars() in compact_scalar_ddl.c calls
 * compact_ddl_create_seconds().  The types share one B-tree and one BRIN
 * family with timestamp, timestamptz and date.  Loops create the operators for
 * each pair of types.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  compact_types/compact_seconds_ddl.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compact_ddl.h"
#include "compact_scalar.h"

typedef struct SecondsType
{
	const char *name;
	bool		narrow;
	bool		zone;			/* a point in time, not a local time */
	const char *wide;			/* wide twin, a timestamp type */
	const char *comment;
} SecondsType;

#define SECONDS_TYPE(type, wide, typid, zone, comment, ...) \
	{#type, true, zone, #wide, comment},

static const SecondsType seconds_types[] = {
	NARROW_SECONDS(SECONDS_TYPE)
	{"timestamp", false, false, NULL, NULL},
	{"timestamptz", false, true, NULL, NULL},
	{"date", false, false, NULL, NULL}
};

#define N_TIMES		((int) lengthof(seconds_types))

/* Return true if comparisons and casts are the same for every TimeZone setting. */
static bool
same_zone(const SecondsType *a, const SecondsType *b)
{
	return a->zone == b->zone;
}

/*
 * Return true if the types have the same hash function.  Always return false
 * for date, which has another hash function because a date counts days.
 */
static bool
hash_alike(const SecondsType *a, const SecondsType *b)
{
	return same_zone(a, b) &&
		strcmp(a->name, "date") != 0 && strcmp(b->name, "date") != 0;
}

/* Return true if twin is the type's wide twin and the category's preferred type. */
static bool
is_preferred_twin(const SecondsType *type, const SecondsType *twin)
{
	return type->narrow && type->zone && strcmp(type->wide, twin->name) == 0;
}

static void
create_seconds_pair(TypeDdl *const *ddls, int i, int j)
{
	const SecondsType *left = &seconds_types[i];
	const SecondsType *right = &seconds_types[j];
	const TypeDdl *ddl = left->narrow ? ddls[i] : ddls[j];
	const char *mark = i == j ? ddl->mark : "";
	const char *commutator_mark = mark;
	const char *attributes;

	/*
	 * like core, mark a function leakproof only if it converts no date and no
	 * time zone
	 */
	if (hash_alike(left, right))
		attributes = "IMMUTABLE LEAKPROOF";
	else
		attributes = same_zone(left, right) ? "IMMUTABLE" : "STABLE";

	/*
	 * seconds4tz has no type like timestamp_operand for the right side of
	 * seconds4tz = seconds4tz, see compact_literal.c.  timestamptz is already
	 * the preferred type of the category, and the parser could not choose
	 * between two preferred types.  Without such a type, the parser takes the
	 * operator seconds4tz = timestamptz.  It could not choose between this
	 * operator and an operator timestamptz = seconds4tz, so the operator
	 * timestamptz = seconds4tz is called #=#.
	 */
	if (i != j && is_preferred_twin(left, right))
	{
		commutator_mark = "#";
		attributes = psprintf("%s SUPPORT %s.comparison_support", attributes, ddl->schema);
	}
	else if (i != j && is_preferred_twin(right, left))
		mark = "#";

	compact_ddl_create_comparison_as(ddl,
									 left->narrow ? ddls[i]->type : left->name,
									 right->narrow ? ddls[j]->type : right->name,
									 i == j ? left->name : psprintf("%s_%s", left->name, right->name),
									 psprintf("compact_%s_%s", left->name, right->name),
									 mark, commutator_mark, attributes,
									 hash_alike(left, right) ? ", HASHES, MERGES" : ", MERGES");
}

/* Create the cast between two types, at least one of which is narrow. */
static void
create_seconds_cast(const TypeDdl *ddl, const SecondsType *source,
					const char *source_type, const SecondsType *target,
					const char *target_type)
{
	bool		implicit = source->narrow && strcmp(source->wide, target->name) == 0;

	compact_ddl_create_cast(ddl, source_type, target_type,
							psprintf("%s_to_%s", source->name, target->name),
							psprintf("compact_cast_%s_%s", source->name, target->name),
							same_zone(source, target) ? "IMMUTABLE" : "STABLE", implicit);
}

static void
create_seconds_parts(TypeDdl *const *ddls, int i)
{
	const TypeDdl *ddl = ddls[i];
	const SecondsType *type = &seconds_types[i];
	char	   *hash_family = psprintf("%s_ops", ddl->name);

	compact_ddl_create_extremes(ddl, "compact_seconds");
	compact_ddl_create_function(ddl, psprintf("%s_sortsupport", ddl->name), "internal",
								"void", "compact_seconds_sortsupport", "IMMUTABLE");
	compact_ddl_execute("CREATE OPERATOR FAMILY %s.%s USING hash", ddl->schema, hash_family);
	compact_ddl_create_scalar_classes(ddl, "seconds_ops", psprintf("compact_%s", ddl->name),
									  "compact_seconds", "interval",
									  type->zone ? "STABLE" : "IMMUTABLE", hash_family);

	for (int j = 0; j < N_TIMES; j++)
	{
		const SecondsType *other = &seconds_types[j];
		const char *other_type = other->narrow ? ddls[j]->type : other->name;

		if (i == j)
			continue;
		create_seconds_cast(ddl, type, ddl->type, other, other_type);
		if (!other->narrow)
			create_seconds_cast(ddl, other, other_type, type, ddl->type);
	}
	compact_ddl_create_cast(ddl, ddl->type, "time", psprintf("%s_to_time", ddl->name),
							psprintf("compact_cast_%s_time", ddl->name),
							type->zone ? "STABLE" : "IMMUTABLE", false);
	compact_ddl_create_json_cast(ddl, psprintf("compact_cast_%s_json", ddl->name),
								 type->zone ? "STABLE" : "IMMUTABLE");
}

/* Return the name of core's comparison function for two of core's types. */
static const char *
core_seconds_cmp(const char *left, const char *right)
{
	if (strcmp(left, right) == 0)
		return psprintf("pg_catalog.%s_cmp", left);

	return psprintf("pg_catalog.%s_cmp_%s", left, right);
}

static void
extend_seconds_families(TypeDdl *const *ddls)
{
	const TypeDdl *ddl = ddls[0];
	StringInfoData btree;
	StringInfoData hash[2];		/* without and with time zone */
	StringInfoData none;
	StringInfoData brin;

	initStringInfo(&btree);
	initStringInfo(&hash[0]);
	initStringInfo(&hash[1]);
	initStringInfo(&none);
	initStringInfo(&brin);
	for (int i = 0; i < N_TIMES; i++)
	{
		const SecondsType *left = &seconds_types[i];
		const char *ltype = left->narrow ? ddls[i]->type : left->name;

		for (int j = 0; j < N_TIMES; j++)
		{
			const SecondsType *right = &seconds_types[j];
			const char *rtype = right->narrow ? ddls[j]->type : right->name;
			StringInfo	hash_list = hash_alike(left, right) ? &hash[left->zone] : &none;

			if (i == j && left->narrow)
				continue;
			if (left->narrow || right->narrow)
				compact_ddl_append_pair(&btree, hash_list, ddl->opschema,
										is_preferred_twin(right, left) ? "#" : "", ltype, rtype,
										psprintf("%s.%s_%s_cmp", ddl->schema,
												 left->name, right->name));
			else
			{
				compact_ddl_create_core_comparison(ddl, ltype, rtype);
				compact_ddl_append_pair(&btree, hash_list, ddl->schema, "#", ltype, rtype,
										core_seconds_cmp(ltype, rtype));
			}
			if (left->narrow)
				compact_ddl_append_brin(&brin, ddl->opschema, "", ltype, rtype);
		}
		if (left->narrow)
		{
			const struct WideTwin *twin = compact_ddl_wide_twin(left->wide);

			compact_ddl_create_stand_in_operators(ddls[i], twin,
												  psprintf("compact_%s_%s", left->name, left->wide),
												  psprintf("compact_%s_%s", left->wide, left->name),
												  psprintf("compact_cast_%s_%s", left->name, left->wide),
												  psprintf("compact_cast_%s_%s", left->wide, left->name),
												  "IMMUTABLE LEAKPROOF",
												  &btree, &hash[left->zone], &brin);
			compact_ddl_append_stand_ins(ddl, twin, &btree, &hash[left->zone]);
		}
	}
	appendStringInfoString(&btree,
						   "FUNCTION 2 (timestamp, timestamp) pg_catalog.timestamp_sortsupport(internal),"
						   " FUNCTION 2 (timestamptz, timestamptz) pg_catalog.timestamp_sortsupport(internal),"
						   " FUNCTION 2 (date, date) pg_catalog.date_sortsupport(internal)");
	compact_ddl_extend_family(ddl, "seconds_ops", "btree", &btree);
	compact_ddl_extend_family(ddl, "seconds_ops", "brin", &brin);
	appendStringInfoString(&hash[0],
						   "FUNCTION 1 (timestamp, timestamp) pg_catalog.timestamp_hash(timestamp),"
						   " FUNCTION 2 (timestamp, timestamp) pg_catalog.timestamp_hash_extended(timestamp, int8)");
	appendStringInfo(&hash[1],
					 "FUNCTION 1 (timestamptz, timestamptz) %s.timestamptz_hash(timestamptz),"
					 " FUNCTION 2 (timestamptz, timestamptz) %s.timestamptz_hash_extended(timestamptz, int8)",
					 ddl->schema, ddl->schema);
	compact_ddl_extend_family(ddl, "seconds4_ops", "hash", &hash[0]);
	compact_ddl_extend_family(ddl, "seconds4tz_ops", "hash", &hash[1]);
}

/*
 * Create the types of seconds, with their operators, casts and classes.
 * funcid is the function that the script calls, and nspid is the schema of the
 * types.
 */
void
compact_ddl_create_seconds(Oid funcid, Oid nspid)
{
	TypeDdl    *ddls[N_TIMES] = {NULL};

	for (int i = 0; i < N_TIMES; i++)
	{
		const SecondsType *type = &seconds_types[i];

		if (!type->narrow)
			continue;
		ddls[i] = palloc(sizeof(TypeDdl));
		compact_ddl_init(ddls[i], funcid);
		compact_ddl_init_type(ddls[i], type->name, nspid);
		ddls[i]->mark = "#";
		/* input and output depend on DateStyle, and on the meaning of "now" */
		compact_ddl_create_scalar_type(ddls[i], psprintf("compact_%s", type->name),
									   "LIKE = pg_catalog.int4", 'D', "STABLE", type->comment);
	}
	for (int i = 0; i < N_TIMES; i++)
	{
		for (int j = 0; j < N_TIMES; j++)
		{
			if (seconds_types[i].narrow || seconds_types[j].narrow)
				create_seconds_pair(ddls, i, j);
		}
	}
	/* before 18, core has no hash function declared for timestamptz */
	compact_ddl_create_function(ddls[0], "timestamptz_hash", "timestamptz", "int4",
								"compact_timestamptz_hash", "IMMUTABLE");
	compact_ddl_create_function(ddls[0], "timestamptz_hash_extended", "timestamptz, int8",
								"int8", "compact_timestamptz_hash_extended", "IMMUTABLE");
	compact_ddl_execute("CREATE OPERATOR FAMILY %s.seconds_ops USING btree", ddls[0]->schema);
	compact_ddl_execute("CREATE OPERATOR FAMILY %s.seconds_ops USING brin", ddls[0]->schema);
	for (int i = 0; i < N_TIMES; i++)
	{
		if (seconds_types[i].narrow)
			create_seconds_parts(ddls, i);
	}
	extend_seconds_families(ddls);
}
