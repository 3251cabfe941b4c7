/* bgvacuum_patch/bgvacuum--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION bgvacuum" to load this file. \quit

CREATE FUNCTION pg_stat_get_bgvacuum(OUT rounds int8, OUT candidates int8,
	OUT pages_pruned int8, OUT tuples_removed int8, OUT items_dead int8, OUT bytes_freed numeric,
	OUT pages_visible int8, OUT pages_frozen int8,
	OUT pages_published int8, OUT pages_reused int8, OUT pages_lost int8,
	OUT skipped_unstamped int8, OUT skipped_little int8, OUT skipped_clean int8, OUT skipped_recent int8,
	OUT skipped_locked int8, OUT skipped_image int8, OUT skipped_multixact int8,
	OUT stats_reset timestamptz)
RETURNS record
AS 'MODULE_PATHNAME', 'pg_stat_get_bgvacuum'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE FUNCTION pg_stat_get_bgvacuum_tables(OUT dboid oid, OUT relid oid, OUT stamped_pages int8,
	OUT pages_pruned int8, OUT bytes_freed numeric, OUT pages_visible int8, OUT pages_frozen int8,
	OUT pages_published int8, OUT pages_reused int8,
	OUT prune_yield float4, OUT settled_share float4, OUT visible_loss float4, OUT mark_share float4, OUT delete_share float4, OUT reuse_share float4,
	OUT worth_share float4,
	OUT pruning bool, OUT marking bool, OUT publishing bool, OUT stamping bool)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_stat_get_bgvacuum_tables'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 100;

CREATE FUNCTION pg_stat_reset_bgvacuum()
RETURNS void
AS 'MODULE_PATHNAME', 'pg_stat_reset_bgvacuum'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
-- like the functions that reset core's counters
REVOKE EXECUTE ON FUNCTION pg_stat_reset_bgvacuum() FROM public;

CREATE VIEW pg_stat_bgvacuum AS
SELECT b.rounds, b.candidates,
	b.pages_pruned, b.tuples_removed, b.items_dead, b.bytes_freed,
	b.pages_visible, b.pages_frozen,
	b.pages_published, b.pages_reused, b.pages_lost,
	b.skipped_unstamped, b.skipped_little, b.skipped_clean, b.skipped_recent,
	b.skipped_locked, b.skipped_image, b.skipped_multixact,
	b.stats_reset
FROM pg_stat_get_bgvacuum() b;
-- everybody may read pg_stat_bgwriter, too
GRANT SELECT ON pg_stat_bgvacuum TO public;

CREATE VIEW pg_stat_bgvacuum_tables AS
SELECT t.relid, n.nspname AS schemaname, c.relname, t.stamped_pages,
	t.pages_pruned, t.bytes_freed, t.pages_visible, t.pages_frozen, t.pages_published, t.pages_reused,
	t.prune_yield, t.settled_share, t.visible_loss, t.mark_share, t.delete_share, t.reuse_share, t.worth_share,
	t.pruning, t.marking, t.publishing, t.stamping
FROM pg_stat_get_bgvacuum_tables() t
	JOIN pg_catalog.pg_database d ON d.oid = t.dboid AND d.datname = pg_catalog.current_database()
	JOIN pg_catalog.pg_class c ON c.oid = t.relid
	JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace;
-- everybody may read pg_stat_all_tables, too
GRANT SELECT ON pg_stat_bgvacuum_tables TO public;

COMMENT ON FUNCTION pg_stat_get_bgvacuum() IS
	'what the view pg_stat_bgvacuum reads from shared memory';
COMMENT ON FUNCTION pg_stat_reset_bgvacuum() IS
	'set the counters of pg_stat_bgvacuum to zero';
COMMENT ON VIEW pg_stat_bgvacuum IS
	'what the background writer has pruned, set all-visible and frozen, and what became of the space';
COMMENT ON FUNCTION pg_stat_get_bgvacuum_tables() IS
	'what the view pg_stat_bgvacuum_tables reads from shared memory, of all databases';
COMMENT ON VIEW pg_stat_bgvacuum_tables IS
	'what the background writer does to which tables of this database, and what it expects of that';
