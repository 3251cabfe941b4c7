/* wal_directio_patch/wal_directio--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION wal_directio" to load this file. \quit

CREATE FUNCTION pg_stat_get_wal_direct(OUT mode text, OUT fallback_reason text, OUT filesystem text,
	OUT write_unit int4, OUT minimum_unit int4, OUT cache_relief bool,
	OUT direct_writes int8, OUT direct_bytes numeric, OUT buffered_writes int8, OUT buffered_bytes numeric,
	OUT direct_inits int8, OUT buffered_inits int8, OUT relieved_segments int8, OUT stats_since timestamptz)
RETURNS record
AS 'MODULE_PATHNAME', 'pg_stat_get_wal_direct'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE VIEW pg_stat_wal_direct AS
SELECT w.mode, w.fallback_reason, w.filesystem, w.write_unit, w.minimum_unit, w.cache_relief,
	w.direct_writes, w.direct_bytes, w.buffered_writes, w.buffered_bytes,
	w.direct_inits, w.buffered_inits, w.relieved_segments, w.stats_since
FROM pg_stat_get_wal_direct() w;
-- pg_stat_wal is everybody's, too
GRANT SELECT ON pg_stat_wal_direct TO public;

COMMENT ON FUNCTION pg_stat_get_wal_direct() IS
	'what the view pg_stat_wal_direct reads from shared memory';
COMMENT ON VIEW pg_stat_wal_direct IS
	'how this server writes WAL, and how much it has written each way since it started';
