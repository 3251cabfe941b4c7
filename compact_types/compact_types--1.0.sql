/* compact_types/compact_types--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION compact_types" to load this file. \quit

-- The schema belongs to the extension, not to the user who creates the
-- extension, because the scripts of the types' extensions call a function in
-- the schema as superuser.
CREATE SCHEMA compact_types;
COMMENT ON SCHEMA compact_types IS 'functions that create compact types, propose them, and convert columns to them; objects that belong to the types';
GRANT USAGE ON SCHEMA compact_types TO PUBLIC;

-- Create the type compact_charN, N = length in bytes, with all its operators in
-- the current schema, and return it.  The script of the extension compact_charN
-- calls this function.  If called elsewhere, it creates that extension.
CREATE FUNCTION compact_types.create_char(length int4) RETURNS regtype
AS 'MODULE_PATHNAME', 'compact_types_create_char'
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION compact_types.create_char(int4) IS
'create the fixed-length string type compact_charN of the given length in bytes';

-- The ANALYZE function of all string types
CREATE FUNCTION compact_types.compact_char_typanalyze(internal) RETURNS bool
AS 'MODULE_PATHNAME', 'compact_char_typanalyze'
LANGUAGE c STABLE STRICT PARALLEL SAFE;

-- Create the operators of text with bpchar, which complete the operator
-- families of the fixed-length strings.
CREATE FUNCTION compact_types.create_string_operators() RETURNS void
AS 'MODULE_PATHNAME', 'compact_types_create_string_operators'
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;
SELECT compact_types.create_string_operators();
DROP FUNCTION compact_types.create_string_operators();

-- Planner support function of comparisons.  With this function, an index of
-- another collation serves "=", and an index on compact_text serves comparisons
-- with trained types.
CREATE FUNCTION compact_types.equal_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'compact_types_equal_support'
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

-- Planner support of LIKE, regular expressions and ^@ for the string types: the
-- functions derive index conditions from the prefix of a pattern, and estimate
-- the selectivity.
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

-- Create the type compact_text with all its objects.
CREATE FUNCTION compact_types.create_text() RETURNS void
AS 'MODULE_PATHNAME', 'compact_types_create_text'
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;
SELECT compact_types.create_text();
DROP FUNCTION compact_types.create_text();

-- Dictionaries of the types trained_textN.  A user who restores a dump of the
-- database creates them, and may not be a superuser.
CREATE SCHEMA compact_dictionaries;
COMMENT ON SCHEMA compact_dictionaries IS 'dictionaries of the types trained_textN, which train() creates';
GRANT USAGE ON SCHEMA compact_dictionaries TO PUBLIC;
GRANT CREATE ON SCHEMA compact_dictionaries TO pg_database_owner;

-- Create the type trained_textN with all its operators in the current schema,
-- and return it.  Only the script of the extension of that name can call this
-- function.
CREATE FUNCTION compact_types.create_trained(number int4) RETURNS regtype
AS 'MODULE_PATHNAME', 'compact_types_create_trained'
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;
REVOKE ALL ON FUNCTION compact_types.create_trained(int4) FROM PUBLIC;
COMMENT ON FUNCTION compact_types.create_trained(int4) IS
'create the type trained_textN of that number; for the script of its extension';

-- Train a dictionary of at most that many symbols on a sample of the column's
-- values, and create it, with a type of its own.
CREATE FUNCTION compact_types.train(relation regclass, column_name name,
  max_symbols int4 DEFAULT 12000, sample_rows int4 DEFAULT 100000,
  estimate_only bool DEFAULT false, OUT type regtype, OUT symbols int4,
  OUT sampled_values int8, OUT value_bytes_now float8,
  OUT value_bytes_compact_text float8, OUT value_bytes_after float8,
  OUT statement text) RETURNS record
AS 'MODULE_PATHNAME', 'compact_types_train'
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION compact_types.train(regclass, name, int4, int4, bool) IS
'train a dictionary on a column, and create a type that encodes its values with it';

--
-- Narrow scalars
--

-- Planner support function of comparisons of a narrow type with literals, and
-- with itself.
CREATE FUNCTION compact_types.comparison_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'compact_types_comparison_support'
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

-- Create the narrow integers, seconds4 and seconds4tz in the current schema,
-- with all their operators, and the functions that the aggregates of all
-- scalars share.
CREATE FUNCTION compact_types.create_scalars() RETURNS void
AS 'MODULE_PATHNAME', 'compact_types_create_scalars'
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;
SELECT compact_types.create_scalars();
DROP FUNCTION compact_types.create_scalars();

-- Create the type compact_decimalW_S, W = width in bytes (4 or 8), S = digits
-- after the point, with all its operators in the current schema, and return it.
-- The script of the extension of that name calls this function.  If called
-- elsewhere, it creates that extension.
CREATE FUNCTION compact_types.create_decimal(width int4, scale int4) RETURNS regtype
AS 'MODULE_PATHNAME', 'compact_types_create_decimal'
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION compact_types.create_decimal(int4, int4) IS
'create the decimal type compact_decimalW_S of the given width in bytes and scale';

--
-- Advice and conversion
--

-- Advise which compact types the columns of a table could have, and what that
-- saves.  relation NULL stands for all tables that the caller may read, and
-- columns NULL for all columns.  sample_pages = 0 reads all pages.  With train,
-- also measure a dictionary for each column of strings.
CREATE FUNCTION compact_types.advise(relation regclass DEFAULT NULL,
  columns name[] DEFAULT NULL, narrow bool DEFAULT false,
  narrow_keys bool DEFAULT false, fixed_varchar bool DEFAULT false,
  round_seconds bool DEFAULT false, sample_pages int4 DEFAULT 10000,
  train bool DEFAULT false,
  OUT relation regclass, OUT column_name name, OUT current_type text,
  OUT proposed_type text, OUT value_bytes_now float8,
  OUT value_bytes_after float8, OUT bytes_now int8, OUT bytes_after int8,
  OUT reason text, OUT risk text, OUT blockers text[], OUT statement text,
  OUT undo text) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'compact_types_advise'
LANGUAGE c VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION compact_types.advise(regclass, name[], bool, bool, bool, bool, int4, bool) IS
'compact types that the columns of one table, or of all tables, could have';

-- Give the same advice for each table as a whole, with its predicted number of
-- pages.  If columns is not NULL, the prediction is for these columns only.
CREATE FUNCTION compact_types.advise_table(relation regclass DEFAULT NULL,
  columns name[] DEFAULT NULL, narrow bool DEFAULT false,
  narrow_keys bool DEFAULT false, fixed_varchar bool DEFAULT false,
  round_seconds bool DEFAULT false, sample_pages int4 DEFAULT 10000,
  OUT relation regclass, OUT columns name[], OUT rows int8,
  OUT row_bytes_now float8, OUT row_bytes_after float8,
  OUT row_bytes_reordered float8, OUT heap_pages int8, OUT heap_pages_now int8,
  OUT heap_pages_after int8, OUT heap_pages_reordered int8,
  OUT column_order name[], OUT dependent_views text[],
  OUT create_statement text, OUT bytes_now int8, OUT bytes_after int8,
  OUT reason text, OUT risk text, OUT blockers text[], OUT statement text,
  OUT undo text) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'compact_types_advise_table'
LANGUAGE c VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION compact_types.advise_table(regclass, name[], bool, bool, bool, bool, int4) IS
'size of one table, or of each table, with the compact types that its columns could have';

-- Change the columns to the types that advise() proposes.  With train, first
-- train a dictionary for each named column that would become compact_text.
CREATE FUNCTION compact_types.convert(relation regclass, columns name[] DEFAULT NULL,
  narrow bool DEFAULT false, narrow_keys bool DEFAULT false,
  fixed_varchar bool DEFAULT false, round_seconds bool DEFAULT false,
  skip_blocked bool DEFAULT false, update_statistics bool DEFAULT true,
  train bool DEFAULT false,
  OUT relation regclass, OUT column_name name, OUT old_type text,
  OUT new_type text) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'compact_types_convert'
LANGUAGE c VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION compact_types.convert(regclass, name[], bool, bool, bool, bool, bool, bool, bool) IS
'change the columns of a table to the compact types that are proposed';

-- Part of convert(): count the rows that it has rewritten.
CREATE FUNCTION compact_types.convert_row(anyelement) RETURNS anyelement
AS 'MODULE_PATHNAME', 'compact_types_convert_row'
LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION compact_types.convert_row(anyelement) IS
'part of convert(): returns its argument, and counts the row';

-- The mark in the last parameter distinguishes convert() and revert() from
-- CLUSTER.  In 19, CLUSTER became REPACK, and got one more phase and more
-- parameters.
CREATE VIEW compact_types.progress AS
SELECT p.pid, p.datid, d.datname, p.relid,
       CASE p.param20 WHEN 1668247158 THEN 'convert' ELSE 'revert' END AS command,
       CASE WHEN p.param2 = 1 THEN 'rewriting rows'
         ELSE CASE p.param2 - CASE WHEN v.is_repack THEN 1 ELSE 0 END
           WHEN 5 THEN 'swapping relation files' WHEN 6 THEN 'rebuilding indexes'
           WHEN 7 THEN 'performing final cleanup' END END AS phase,
       p.param19 AS tuples_done, p.param18 AS tuples_total,
       CASE WHEN v.is_repack THEN p.param10 ELSE p.param8 END AS indexes_done
FROM (SELECT pg_catalog.current_setting('server_version_num')::int4 >= 190000) AS v (is_repack)
CROSS JOIN LATERAL pg_catalog.pg_stat_get_progress_info(CASE WHEN v.is_repack THEN 'REPACK' ELSE 'CLUSTER' END) AS p
LEFT JOIN pg_catalog.pg_database d ON d.oid = p.datid
WHERE p.param20 IN (1668247158, 1919252069);
GRANT SELECT ON compact_types.progress TO PUBLIC;
COMMENT ON VIEW compact_types.progress IS 'tables that convert() or revert() rewrites now';
COMMENT ON COLUMN compact_types.progress.pid IS 'process ID of the session';
COMMENT ON COLUMN compact_types.progress.datid IS 'OID of its database';
COMMENT ON COLUMN compact_types.progress.datname IS 'name of its database';
COMMENT ON COLUMN compact_types.progress.relid IS 'OID of the table';
COMMENT ON COLUMN compact_types.progress.command IS 'convert or revert';
COMMENT ON COLUMN compact_types.progress.phase IS 'current phase';
COMMENT ON COLUMN compact_types.progress.tuples_done IS 'rows that have been rewritten';
COMMENT ON COLUMN compact_types.progress.tuples_total IS 'rows of the table; for revert(), an estimate';
COMMENT ON COLUMN compact_types.progress.indexes_done IS 'indexes that have been built anew';

--
-- The way back
--

-- A value of this type refers to a column, and still refers to it after a
-- rename.  Or it contains the name of a column that does not exist yet.
CREATE TYPE compact_types.column_reference;
CREATE FUNCTION compact_types.column_reference_in(cstring) RETURNS compact_types.column_reference
AS 'MODULE_PATHNAME', 'compact_types_column_reference_in'
LANGUAGE c STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION compact_types.column_reference_out(compact_types.column_reference) RETURNS cstring
AS 'MODULE_PATHNAME', 'compact_types_column_reference_out'
LANGUAGE c STABLE STRICT PARALLEL SAFE;
CREATE TYPE compact_types.column_reference (
  INPUT = compact_types.column_reference_in, OUTPUT = compact_types.column_reference_out,
  INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = plain);
COMMENT ON TYPE compact_types.column_reference IS 'reference to a column, also after the column is renamed; for the tables that revert() reads';
CREATE FUNCTION compact_types.column_reference(relation oid, attnum int2) RETURNS compact_types.column_reference
AS 'MODULE_PATHNAME', 'compact_types_column_reference'
LANGUAGE c STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION compact_types.referenced_table(compact_types.column_reference) RETURNS oid
AS 'MODULE_PATHNAME', 'compact_types_referenced_table'
LANGUAGE c STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION compact_types.referenced_attnum(compact_types.column_reference) RETURNS int2
AS 'MODULE_PATHNAME', 'compact_types_referenced_attnum'
LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION compact_types.column_reference(oid, int2) IS 'reference to a column of a table, by the number of the column';
COMMENT ON FUNCTION compact_types.referenced_table(compact_types.column_reference) IS 'OID of the table of the column';
COMMENT ON FUNCTION compact_types.referenced_attnum(compact_types.column_reference) IS 'number of the column';

-- Former types of converted columns, for revert().  A dump includes these rows,
-- except the rows for columns that no longer exist.
CREATE TABLE compact_types.conversions (
  converted compact_types.column_reference NOT NULL,
  old_type text NOT NULL,
  old_storage "char" NOT NULL,
  old_compression "char" NOT NULL,
  new_type name NOT NULL,
  new_typmod int4 NOT NULL,
  converted_at timestamptz);
COMMENT ON TABLE compact_types.conversions IS 'former types of the columns that convert() has changed, for revert()';

-- Any role that may create the tables can restore a dump.  The trigger skips
-- rows for tables of other roles.
CREATE FUNCTION compact_types.guard_conversions() RETURNS trigger
AS 'MODULE_PATHNAME', 'compact_types_guard_conversions'
LANGUAGE c;
REVOKE ALL ON FUNCTION compact_types.guard_conversions() FROM PUBLIC;
COMMENT ON FUNCTION compact_types.guard_conversions() IS 'trigger of compact_types.conversions: leaves out rows on tables of other roles';
CREATE TRIGGER guard BEFORE INSERT ON compact_types.conversions
FOR EACH ROW EXECUTE FUNCTION compact_types.guard_conversions();
ALTER TABLE compact_types.conversions ENABLE ALWAYS TRIGGER guard;
GRANT SELECT, INSERT ON compact_types.conversions TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('compact_types.conversions', 'WHERE converted::text <> ''-''');

-- Former texts of constraints, statistics objects, indexes and views whose text
-- the conversion has changed.
CREATE TABLE compact_types.definitions (
  used compact_types.column_reference NOT NULL,
  owner name NOT NULL,
  old_definition text NOT NULL,
  new_definition text NOT NULL);
COMMENT ON TABLE compact_types.definitions IS
'former texts of the constraints, statistics objects, indexes and views that convert() has changed, for revert()';
CREATE FUNCTION compact_types.guard_definitions() RETURNS trigger
AS 'MODULE_PATHNAME', 'compact_types_guard_definitions'
LANGUAGE c;
REVOKE ALL ON FUNCTION compact_types.guard_definitions() FROM PUBLIC;
COMMENT ON FUNCTION compact_types.guard_definitions() IS 'trigger of compact_types.definitions: leaves out rows on tables of other roles';
CREATE TRIGGER guard BEFORE INSERT ON compact_types.definitions
FOR EACH ROW EXECUTE FUNCTION compact_types.guard_definitions();
ALTER TABLE compact_types.definitions ENABLE ALWAYS TRIGGER guard;
GRANT SELECT, INSERT ON compact_types.definitions TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('compact_types.definitions', 'WHERE used::text <> ''-''');

-- Change the columns back to their former types.
CREATE FUNCTION compact_types.revert(relation regclass, columns name[] DEFAULT NULL,
  unrecorded bool DEFAULT false, skip_blocked bool DEFAULT false,
  update_statistics bool DEFAULT true, OUT relation regclass,
  OUT column_name name, OUT old_type text, OUT new_type text) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'compact_types_revert'
LANGUAGE c VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION compact_types.revert(regclass, name[], bool, bool, bool) IS
'give columns of a table the types that they had before convert()';

-- Call revert() for all tables.
CREATE FUNCTION compact_types.revert_all(unrecorded bool DEFAULT false,
  skip_blocked bool DEFAULT false, update_statistics bool DEFAULT true,
  OUT relation regclass, OUT column_name name, OUT old_type text,
  OUT new_type text) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'compact_types_revert_all'
LANGUAGE c VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION compact_types.revert_all(bool, bool, bool) IS
'revert() for each table of the database that the caller may alter';

-- The core type that revert() gives a column without a note.
CREATE FUNCTION compact_types.ordinary_type(type regtype, modifier int4) RETURNS text
AS 'MODULE_PATHNAME', 'compact_types_ordinary_type'
LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION compact_types.ordinary_type(regtype, int4) IS
'core type that holds the values of a compact type, or NULL';

-- A note counts only if the column still has the type that convert() gave it.
CREATE VIEW compact_types.status AS
SELECT c.oid::pg_catalog.regclass AS relation, a.attname AS column_name,
       pg_catalog.format_type(a.atttypid, a.atttypmod) AS type,
       COALESCE(n.old_type, o.type) AS old_type, n.converted_at,
       s.avg_width AS value_bytes,
       (s.avg_width::float8 * (1::float8 - s.null_frac::float8) * GREATEST(c.reltuples::float8, 0::float8))::int8 AS bytes
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace ns ON ns.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
CROSS JOIN LATERAL compact_types.ordinary_type(a.atttypid, a.atttypmod) AS o (type)
LEFT JOIN compact_types.conversions n ON compact_types.referenced_table(n.converted) = c.oid
  AND compact_types.referenced_attnum(n.converted) = a.attnum
  AND n.new_type = t.typname AND n.new_typmod = a.atttypmod
  AND (o.type IS NOT NULL OR t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace::oid)
LEFT JOIN pg_catalog.pg_stats s ON s.schemaname = ns.nspname AND s.tablename = c.relname
  AND s.attname = a.attname AND s.inherited = (c.relkind = 'p')
WHERE c.relkind IN ('r', 'p', 'm', 'f') AND NOT pg_catalog.pg_is_other_temp_schema(c.relnamespace)
  AND (o.type IS NOT NULL OR n.old_type IS NOT NULL);
GRANT SELECT ON compact_types.status TO PUBLIC;
COMMENT ON VIEW compact_types.status IS 'columns that convert() has converted, and other columns of compact types';
COMMENT ON COLUMN compact_types.status.relation IS 'the table';
COMMENT ON COLUMN compact_types.status.column_name IS 'the column';
COMMENT ON COLUMN compact_types.status.type IS 'its type';
COMMENT ON COLUMN compact_types.status.old_type IS 'type that revert() gives the column; without a note, only with unrecorded => true';
COMMENT ON COLUMN compact_types.status.converted_at IS 'time when convert() changed the column; NULL without a note';
COMMENT ON COLUMN compact_types.status.value_bytes IS 'average bytes of a value, from the statistics of the table';
COMMENT ON COLUMN compact_types.status.bytes IS 'bytes of all values, estimated from the statistics of the table';

-- Without this event trigger, DROP EXTENSION ... CASCADE would drop columns
-- with their values.
CREATE FUNCTION compact_types.guard_drop() RETURNS event_trigger
AS 'MODULE_PATHNAME', 'compact_types_guard_drop'
LANGUAGE c;
REVOKE ALL ON FUNCTION compact_types.guard_drop() FROM PUBLIC;
COMMENT ON FUNCTION compact_types.guard_drop() IS 'function of the event trigger compact_types_guard';
CREATE EVENT TRIGGER compact_types_guard ON ddl_command_start
WHEN TAG IN ('DROP EXTENSION', 'DROP SCHEMA', 'DROP TYPE', 'DROP OWNED',
  'DROP TEXT SEARCH DICTIONARY', 'ALTER TEXT SEARCH DICTIONARY', 'ALTER SCHEMA', 'ALTER EXTENSION',
  'ALTER TYPE')
EXECUTE FUNCTION compact_types.guard_drop();
ALTER EVENT TRIGGER compact_types_guard ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER compact_types_guard IS
'refuses DROP ... CASCADE that would drop columns of compact types';
