/* compact_types/compact_types--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION compact_types" to load this file. \quit

-- The schema belongs to the extension, not to the user who creates it: the
-- scripts of the types call a function in it as superuser.
CREATE SCHEMA compact_types;
GRANT USAGE ON SCHEMA compact_types TO PUBLIC;

-- Creates the type compact_charN, N = length in bytes, with all its operators
-- in the current schema, and returns it.  Made to be called by the script of
-- the extension compact_charN; called elsewhere, it creates that extension.
CREATE FUNCTION compact_types.create_char(length int4) RETURNS regtype
AS 'MODULE_PATHNAME', 'compact_types_create_char'
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION compact_types.create_char(int4) IS
'create the fixed-length string type compact_charN of the given length in bytes';

-- ANALYZE of all string types
CREATE FUNCTION compact_types.compact_char_typanalyze(internal) RETURNS bool
AS 'MODULE_PATHNAME', 'compact_char_typanalyze'
LANGUAGE c STABLE STRICT PARALLEL SAFE;

-- The operators of text with bpchar that complete the operator families of the
-- fixed-length strings.
CREATE FUNCTION compact_types.create_string_operators() RETURNS void
AS 'MODULE_PATHNAME', 'compact_types_create_string_operators'
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;
SELECT compact_types.create_string_operators();
DROP FUNCTION compact_types.create_string_operators();

-- The planner's support of LIKE, regular expressions and ^@ for the string
-- types: index conditions from a pattern's prefix, and selectivity.
CREATE FUNCTION compact_types.like_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'compact_types_like_support'
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION compact_types.iclike_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'compact_types_iclike_support'
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION compact_types.regexeq_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'compact_types_regexeq_support'
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION compact_types.icregexeq_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'compact_types_icregexeq_support'
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION compact_types.starts_with_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'compact_types_starts_with_support'
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION compact_types.likesel(internal, oid, internal, int4) RETURNS float8
AS 'MODULE_PATHNAME', 'compact_types_likesel'
LANGUAGE c STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION compact_types.nlikesel(internal, oid, internal, int4) RETURNS float8
AS 'MODULE_PATHNAME', 'compact_types_nlikesel'
LANGUAGE c STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION compact_types.iclikesel(internal, oid, internal, int4) RETURNS float8
AS 'MODULE_PATHNAME', 'compact_types_iclikesel'
LANGUAGE c STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION compact_types.icnlikesel(internal, oid, internal, int4) RETURNS float8
AS 'MODULE_PATHNAME', 'compact_types_icnlikesel'
LANGUAGE c STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION compact_types.regexeqsel(internal, oid, internal, int4) RETURNS float8
AS 'MODULE_PATHNAME', 'compact_types_regexeqsel'
LANGUAGE c STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION compact_types.regexnesel(internal, oid, internal, int4) RETURNS float8
AS 'MODULE_PATHNAME', 'compact_types_regexnesel'
LANGUAGE c STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION compact_types.icregexeqsel(internal, oid, internal, int4) RETURNS float8
AS 'MODULE_PATHNAME', 'compact_types_icregexeqsel'
LANGUAGE c STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION compact_types.icregexnesel(internal, oid, internal, int4) RETURNS float8
AS 'MODULE_PATHNAME', 'compact_types_icregexnesel'
LANGUAGE c STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION compact_types.prefixsel(internal, oid, internal, int4) RETURNS float8
AS 'MODULE_PATHNAME', 'compact_types_prefixsel'
LANGUAGE c STABLE STRICT PARALLEL SAFE;

-- The type compact_text with all that belongs to it.
CREATE FUNCTION compact_types.create_text() RETURNS void
AS 'MODULE_PATHNAME', 'compact_types_create_text'
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;
SELECT compact_types.create_text();
DROP FUNCTION compact_types.create_text();

--
-- Narrow scalars
--

-- Planner support of comparisons with literals and of a type with itself.
CREATE FUNCTION compact_types.comparison_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'compact_types_comparison_support'
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

-- The types int1, uint1, uint2, uint3, seconds4 and seconds4tz in the current schema,
-- with all their operators, and what the aggregates of all scalars share.
CREATE FUNCTION compact_types.create_scalars() RETURNS void
AS 'MODULE_PATHNAME', 'compact_types_create_scalars'
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;
SELECT compact_types.create_scalars();
DROP FUNCTION compact_types.create_scalars();

-- Creates the type compact_decimalW_S, W = width in bytes (4 or 8), S = digits
-- after the point, with all its operators in the current schema, and returns
-- it.  Made to be called by the script of the extension of that name; called
-- elsewhere, it creates that extension.
CREATE FUNCTION compact_types.create_decimal(width int4, scale int4) RETURNS regtype
AS 'MODULE_PATHNAME', 'compact_types_create_decimal'
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION compact_types.create_decimal(int4, int4) IS
'create the decimal type compact_decimalW_S of the given width in bytes and scale';

--
-- Advice and conversion
--

-- What the columns of a table would be as compact types, and what that saves.
-- sample_pages = 0 reads all pages.
CREATE FUNCTION compact_types.advise(rel regclass, narrow bool DEFAULT false,
  narrow_keys bool DEFAULT false, fixed_varchar bool DEFAULT false,
  sample_pages int4 DEFAULT 10000, round_seconds bool DEFAULT false,
  OUT attnum int2, OUT column_name name, OUT current_type text,
  OUT proposed_type text, OUT bytes_now float8, OUT bytes_after float8,
  OUT reason text, OUT risk text, OUT blockers text[]) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'compact_types_advise'
LANGUAGE c VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION compact_types.advise(regclass, bool, bool, bool, int4, bool) IS
'compact types that the columns of a table could have';

-- The same for the table as a whole, with its pages as they would be.
CREATE FUNCTION compact_types.advise_table(rel regclass, narrow bool DEFAULT false,
  narrow_keys bool DEFAULT false, fixed_varchar bool DEFAULT false,
  sample_pages int4 DEFAULT 10000, round_seconds bool DEFAULT false,
  OUT rows int8, OUT bytes_row_now float8, OUT bytes_row_after float8,
  OUT bytes_row_reordered float8, OUT heap_pages int8, OUT heap_pages_now int8,
  OUT heap_pages_after int8, OUT heap_pages_reordered int8,
  OUT column_order text[], OUT dependent_views text[],
  OUT alter_statement text, OUT create_statement text) RETURNS record
AS 'MODULE_PATHNAME', 'compact_types_advise_table'
LANGUAGE c VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION compact_types.advise_table(regclass, bool, bool, bool, int4, bool) IS
'size of a table with the compact types that its columns could have';

-- Changes the columns to the types that advise() proposes.
CREATE FUNCTION compact_types.convert(rel regclass, columns name[] DEFAULT NULL,
  narrow bool DEFAULT false, narrow_keys bool DEFAULT false,
  fixed_varchar bool DEFAULT false, round_seconds bool DEFAULT false,
  skip_blocked bool DEFAULT false, update_statistics bool DEFAULT true,
  OUT object_type text, OUT object_name text, OUT old_type text,
  OUT new_type text) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'compact_types_convert'
LANGUAGE c VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION compact_types.convert(regclass, name[], bool, bool, bool, bool, bool, bool) IS
'change the columns of a table to the compact types that are proposed';

-- Part of convert(): counts the rows that it has rewritten.
CREATE FUNCTION compact_types.convert_row(anyelement) RETURNS anyelement
AS 'MODULE_PATHNAME', 'compact_types_convert_row'
LANGUAGE c VOLATILE PARALLEL UNSAFE;

-- The mark in the last parameter tells convert() from CLUSTER.
CREATE VIEW compact_types.convert_progress AS
SELECT p.pid, p.datid, d.datname, p.relid,
       CASE p.param2 WHEN 1 THEN 'rewriting rows' WHEN 5 THEN 'swapping relation files'
         WHEN 6 THEN 'rebuilding indexes' WHEN 7 THEN 'performing final cleanup' END AS phase,
       p.param19 AS rows_done, p.param18 AS rows_total,
       p.param8 AS indexes_rebuilt
FROM pg_catalog.pg_stat_get_progress_info('CLUSTER') AS p
LEFT JOIN pg_catalog.pg_database d ON d.oid = p.datid
WHERE p.param20 = 1668246896;
GRANT SELECT ON compact_types.convert_progress TO PUBLIC;
