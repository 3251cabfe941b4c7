-- Check what background vacuum does to tables, by their statistics and by the view
-- pg_stat_bgvacuum: which dead rows it removes, which rows still count as dead for autovacuum,
-- which tables it does not change, and that inserts use the free space.  The test changes settings
-- of the server, and restores them at the end, including those of ALTER SYSTEM.
\set VERBOSITY terse
\set SHOW_CONTEXT never

CREATE TEMP TABLE bv_settings AS
SELECT s.name, s.wanted, f.setting AS was
FROM (VALUES ('bgwriter_delay', '10ms'), ('bgwriter_lru_maxpages', '100'), ('bgvacuum', 'on'),
  ('debug_bgvacuum', 'off')) s (name, wanted)
LEFT JOIN pg_file_settings f ON f.name = s.name AND f.sourcefile LIKE '%/postgresql.auto.conf';

-- Wait for a condition on statistics.  Return false if the condition is not met within a minute.
CREATE FUNCTION bv_wait(condition text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
  met bool;
BEGIN
  FOR i IN 1 .. 3000 LOOP
    PERFORM pg_stat_clear_snapshot();
    EXECUTE 'SELECT ' || condition INTO met;
    EXIT WHEN met;
    PERFORM pg_sleep(0.02);
  END LOOP;
  RETURN met;
END $$;

CREATE FUNCTION bv_dead(relation regclass) RETURNS int8 LANGUAGE sql
RETURN pg_stat_get_dead_tuples(relation);

-- Pages get stamps (the marks of changed pages), but bgwriter does not visit pages that are in use.
-- This session must have the settings as well, and it reads the configuration only between two
-- commands.
SELECT format('ALTER SYSTEM SET %I = %L', name, wanted) FROM bv_settings ORDER BY name \gexec
SELECT pg_reload_conf();
\o /dev/null
SELECT 1 WHERE current_setting('bgvacuum') <> 'on' \watch interval=0.05 count=1200 min_rows=1
\o
SHOW bgvacuum;

-- Autovacuum is off for these tables, so that only the background writer prunes them.  One table
-- has HOT updates, one has deleted rows, and the others are tables that the background writer must
-- not change.  The background writer prunes only dirty pages, so no checkpoint may write these
-- pages meanwhile.
CHECKPOINT;
CREATE TABLE bv_hot (i int, t text) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE TABLE bv_deleted (i int PRIMARY KEY, t text) WITH (autovacuum_enabled = off);
CREATE UNLOGGED TABLE bv_unlogged (i int, t text) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE TABLE bv_catalog (i int, t text) WITH (fillfactor = 40, autovacuum_enabled = off, user_catalog_table = on);
CREATE TEMP TABLE bv_temp (i int, t text) WITH (fillfactor = 40);
INSERT INTO bv_hot SELECT i, repeat('x', 100) FROM generate_series(1, 1000) i;
INSERT INTO bv_deleted TABLE bv_hot;
INSERT INTO bv_unlogged TABLE bv_hot;
INSERT INTO bv_catalog TABLE bv_hot;
INSERT INTO bv_temp TABLE bv_hot;
UPDATE bv_hot SET t = repeat('y', 100);
DELETE FROM bv_deleted WHERE i % 2 = 0;
UPDATE bv_unlogged SET t = repeat('y', 100);
UPDATE bv_catalog SET t = repeat('y', 100);
UPDATE bv_temp SET t = repeat('y', 100);
SELECT pg_stat_force_next_flush();
SELECT bv_dead('bv_hot') AS hot, bv_dead('bv_deleted') AS deleted, bv_dead('bv_unlogged') AS unlogged,
  bv_dead('bv_catalog') AS catalog, bv_dead('bv_temp') AS temp;
SELECT pg_relation_size('bv_deleted') AS size_before \gset

-- From now on, the background writer visits every page.
SELECT pg_stat_reset_bgvacuum();
ALTER SYSTEM SET debug_bgvacuum = on;
SELECT pg_reload_conf();
SELECT bv_wait($$ (SELECT tuples_removed >= 1500 AND items_dead >= 500 FROM pg_stat_bgvacuum) $$);
-- Wait for the statistics, and then for two more rounds, in which the other tables could be
-- changed.
SELECT bv_wait($$ bv_dead('bv_hot') = 0 $$);
SELECT rounds FROM pg_stat_bgvacuum \gset
SELECT bv_wait(format($$ (SELECT rounds >= %s + 2 FROM pg_stat_bgvacuum) $$, :rounds));

-- Removed rows do not count as dead any more.  Dead line pointers still count, because only VACUUM
-- removes them.
SELECT bv_dead('bv_hot') AS hot, bv_dead('bv_deleted') AS deleted, bv_dead('bv_unlogged') AS unlogged,
  bv_dead('bv_catalog') AS catalog, bv_dead('bv_temp') AS temp;
SELECT pg_stat_get_live_tuples('bv_hot'::regclass) AS hot, pg_stat_get_live_tuples('bv_deleted'::regclass) AS deleted;
SELECT pages_pruned > 0 AS pages, pages_pruned <= candidates AS candidates, tuples_removed > items_dead AS removed,
  bytes_freed / tuples_removed BETWEEN 128 AND 144 AS bytes, pages_published > 0 AS published
FROM pg_stat_bgvacuum;

-- New rows use the space of the deleted rows, so the table hardly grows.  Insert the rows in parts,
-- two rounds apart, because few pages are offered before some are taken.  If the space were not
-- reused, the table would grow by five pages.
DO $$
DECLARE
  seen bigint;
BEGIN
  FOR k IN 0 .. 29 LOOP
    INSERT INTO bv_deleted SELECT i, repeat('z', 100) FROM generate_series(20 * k + 2, 20 * k + 20, 2) i;
    COMMIT;
    SELECT rounds INTO seen FROM pg_stat_bgvacuum;
    FOR wait IN 1 .. 1200 LOOP
      COMMIT;
      EXIT WHEN (SELECT rounds >= seen + 2 FROM pg_stat_bgvacuum);
      PERFORM pg_sleep(0.005);
    END LOOP;
  END LOOP;
END $$;
SELECT pg_relation_size('bv_deleted') - :size_before <= 2 * 8192 AS same_size, pages_reused > 0 AS reused FROM pg_stat_bgvacuum;

-- No row is lost, and no deleted row has come back.
SELECT count(*), sum(i), min(t) = repeat('y', 100) AND max(t) = repeat('y', 100) AS values FROM bv_hot;
SELECT count(*), sum(i), count(*) FILTER (WHERE t = repeat('z', 100)) AS new FROM bv_deleted;
SET enable_seqscan = off;
SELECT count(*) FROM bv_deleted WHERE i BETWEEN 1 AND 1000;
RESET enable_seqscan;

-- Some rows are nearly as large as a page, and one fillfactor is low.  The space that is kept free
-- for updates must not be larger than a page.
CREATE TABLE bv_wide (i int, t text) WITH (autovacuum_enabled = off);
ALTER TABLE bv_wide ALTER t SET STORAGE PLAIN;
CREATE TABLE bv_filled (i int, t text) WITH (fillfactor = 10, autovacuum_enabled = off);
INSERT INTO bv_wide SELECT i, repeat('x', 7600) FROM generate_series(1, 100) i;
INSERT INTO bv_filled SELECT i, repeat('x', 400) FROM generate_series(1, 100) i;
DELETE FROM bv_wide;
DELETE FROM bv_filled;
SELECT bv_wait($$ (SELECT count(*) = 2 FROM pg_stat_bgvacuum_tables WHERE relname IN ('bv_wide', 'bv_filled') AND publishing) $$);
INSERT INTO bv_wide SELECT i, repeat('x', 7600) FROM generate_series(1, 20) i;
INSERT INTO bv_filled SELECT i, repeat('x', 400) FROM generate_series(1, 20) i;
SELECT (SELECT count(*) FROM bv_wide) AS wide, (SELECT count(*) FROM bv_filled) AS filled;

-- After a rewrite, the view still has the name of the table.
ALTER TABLE bv_filled ALTER i TYPE int8;
INSERT INTO bv_filled VALUES (21, 'after');
SELECT count(*) FROM pg_stat_bgvacuum_tables WHERE relid = 'bv_filled'::regclass;

-- VACUUM removes the dead line pointers, and then no row counts as dead.
VACUUM bv_deleted;
SELECT bv_dead('bv_deleted') AS deleted;

-- Rows that are deleted while bgvacuum is off are not pruned, even after it is on again.
ALTER SYSTEM SET bgvacuum = off;
SELECT pg_reload_conf();
\o /dev/null
SELECT 1 WHERE current_setting('bgvacuum') <> 'off' \watch interval=0.05 count=1200 min_rows=1
\o
SELECT pg_stat_reset_bgvacuum();
SELECT pages_pruned, tuples_removed, items_dead, bytes_freed, pages_published, pages_reused FROM pg_stat_bgvacuum;
CREATE TABLE bv_off (i int, t text) WITH (fillfactor = 40, autovacuum_enabled = off);
INSERT INTO bv_off TABLE bv_hot;
UPDATE bv_off SET t = repeat('x', 100);
SELECT pg_stat_force_next_flush();
ALTER SYSTEM SET bgvacuum = on;
SELECT pg_reload_conf();
SELECT rounds FROM pg_stat_bgvacuum \gset
SELECT bv_wait(format($$ (SELECT rounds >= %s + 2 FROM pg_stat_bgvacuum) $$, :rounds));
SELECT bv_dead('bv_off') AS off;

-- Temporary tables have no stamps, even if they are pruned while bgvacuum is off.
ALTER SYSTEM SET bgvacuum = off;
SELECT pg_reload_conf();
\o /dev/null
SELECT 1 WHERE current_setting('bgvacuum') <> 'off' \watch interval=0.05 count=1200 min_rows=1
\o
INSERT INTO bv_temp SELECT i, repeat('x', 100) FROM generate_series(1001, 6000) i;
UPDATE bv_temp SET t = repeat('y', 100);
UPDATE bv_temp SET t = repeat('z', 100);
SELECT count(*), sum(i) FROM bv_temp;
SELECT count(*), sum(i) FROM bv_hot;

DROP TABLE bv_wide, bv_filled, bv_hot, bv_deleted, bv_unlogged, bv_catalog, bv_temp, bv_off;
DROP FUNCTION bv_wait(text), bv_dead(regclass);

-- Restore the settings.  Do not echo the commands, because the settings may differ between servers.
\set ECHO none
SELECT CASE WHEN was IS NULL THEN format('ALTER SYSTEM RESET %I', name) ELSE format('ALTER SYSTEM SET %I = %L', name, was) END
FROM bv_settings ORDER BY name \gexec
\set ECHO all
SELECT pg_reload_conf();
SELECT count(*) AS not_restored
FROM bv_settings s LEFT JOIN pg_file_settings f ON f.name = s.name AND f.sourcefile LIKE '%/postgresql.auto.conf'
WHERE f.setting IS DISTINCT FROM s.was;
DROP TABLE bv_settings;
