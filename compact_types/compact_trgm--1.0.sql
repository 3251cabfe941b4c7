/* compact_types/compact_trgm--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION compact_trgm" to load this file. \quit

-- Create the operators in pg_catalog, their functions in the schema
-- compact_types, and the operator classes gin_compact_trgm_ops and
-- gist_compact_trgm_ops in the schema of this extension.
CREATE FUNCTION compact_types.create_trgm() RETURNS void
AS 'MODULE_PATHNAME', 'compact_types_create_trgm'
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;
SELECT compact_types.create_trgm();
DROP FUNCTION compact_types.create_trgm();
