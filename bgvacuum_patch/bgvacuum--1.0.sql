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
-- as for core's functions that reset counters, public may not call this one
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
	'counters in shared memory, for the view pg_stat_bgvacuum';
COMMENT ON FUNCTION pg_stat_reset_bgvacuum() IS
	'set the counters of pg_stat_bgvacuum to zero';
COMMENT ON VIEW pg_stat_bgvacuum IS
	'counters of the work of background vacuum';
COMMENT ON FUNCTION pg_stat_get_bgvacuum_tables() IS
	'counters of the tables of all databases in shared memory, for the view pg_stat_bgvacuum_tables';
COMMENT ON VIEW pg_stat_bgvacuum_tables IS
	'work of background vacuum in each table of this database, and the averages that control it';

COMMENT ON COLUMN pg_stat_bgvacuum.rounds IS
	'rounds of the background writer that looked for pages to change';
COMMENT ON COLUMN pg_stat_bgvacuum.candidates IS 'pages that the background writer has tried to change';
COMMENT ON COLUMN pg_stat_bgvacuum.pages_pruned IS 'pages that the background writer has pruned';
COMMENT ON COLUMN pg_stat_bgvacuum.tuples_removed IS 'row versions removed';
COMMENT ON COLUMN pg_stat_bgvacuum.items_dead IS 'removed row versions that left a dead line pointer';
COMMENT ON COLUMN pg_stat_bgvacuum.bytes_freed IS 'bytes that pruning has freed';
COMMENT ON COLUMN pg_stat_bgvacuum.pages_visible IS 'pages that the background writer has set all-visible';
COMMENT ON COLUMN pg_stat_bgvacuum.pages_frozen IS 'pages that the background writer has set all-visible and all-frozen';
COMMENT ON COLUMN pg_stat_bgvacuum.pages_published IS 'pages that the background writer has offered for new rows';
COMMENT ON COLUMN pg_stat_bgvacuum.pages_reused IS 'offered pages that a session took for a new row';
COMMENT ON COLUMN pg_stat_bgvacuum.pages_lost IS
	'offered pages that left shared buffers or the list before a session took them';
COMMENT ON COLUMN pg_stat_bgvacuum.skipped_unstamped IS
	'dirty pages without a stamp: of a table that background vacuum may not change, or that gets few stamps';
COMMENT ON COLUMN pg_stat_bgvacuum.skipped_little IS
	'pages where a change would gain too little, or of a table where background vacuum backs off';
COMMENT ON COLUMN pg_stat_bgvacuum.skipped_clean IS 'pages that need no change';
COMMENT ON COLUMN pg_stat_bgvacuum.skipped_recent IS
	'pages with rows that some snapshot still sees, or does not see yet';
COMMENT ON COLUMN pg_stat_bgvacuum.skipped_locked IS 'pages pinned or locked by another process';
COMMENT ON COLUMN pg_stat_bgvacuum.skipped_image IS 'pages whose change would have taken a full-page image';
COMMENT ON COLUMN pg_stat_bgvacuum.skipped_multixact IS
	'pages with a row locked or updated by several transactions';
COMMENT ON COLUMN pg_stat_bgvacuum.stats_reset IS 'time at which the counters were last set to zero';

COMMENT ON COLUMN pg_stat_bgvacuum_tables.relid IS 'OID of the table';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.schemaname IS 'schema of the table';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.relname IS 'name of the table';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.stamped_pages IS
	'changed pages of the table in shared buffers that have a stamp';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.pages_pruned IS 'pages that the background writer has pruned';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.bytes_freed IS 'bytes that pruning has freed';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.pages_visible IS 'pages that the background writer has set all-visible';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.pages_frozen IS 'pages that the background writer has set all-visible and all-frozen';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.pages_published IS 'pages that the background writer has offered for new rows';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.pages_reused IS 'offered pages that a session took for a new row';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.prune_yield IS 'bytes that a prune frees, moving average';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.settled_share IS
	'share of pruned pages that then became all-visible, if this was tried, moving average';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.visible_loss IS
	'share of pages set all-visible by the background writer that were changed again, moving average';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.mark_share IS
	'share of pages that could be set all-visible, of the pages for which this was tried, moving average';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.delete_share IS
	'share of changed pages with deleted rows, moving average';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.reuse_share IS
	'share of offered pages that sessions took for new rows, moving average';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.worth_share IS
	'share of pages without inserted rows that were worth a change when they left shared buffers, moving average';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.pruning IS 'whether all stamped pages that qualify are pruned';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.marking IS
	'whether all stamped pages that qualify are set all-visible';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.publishing IS
	'whether all stamped pages that qualify are offered for new rows';
COMMENT ON COLUMN pg_stat_bgvacuum_tables.stamping IS 'whether all changed pages get stamps';
