-- Check the view pg_stat_wal_direct on any server with the patch, whatever the settings are.  Check
-- its columns, who may read it, that its values agree with the settings, that its counters count,
-- and that the extension can be moved to another schema and dropped.
\set VERBOSITY terse
\set SHOW_CONTEXT never

-- From 18 on, the counters are those of pg_stat_io, and the column "mode" tells how WAL was
-- written.
SELECT current_setting('server_version_num')::int >= 180000 AS of_pg_stat_io \gset
SELECT string_agg(format('%s %s', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum) = 'mode text, fallback_reason text, filesystem text, write_unit integer, minimum_unit integer, cache_relief boolean, '
  || CASE WHEN :'of_pg_stat_io' THEN 'writes bigint, write_bytes numeric, inits bigint, init_bytes numeric, stats_reset timestamp with time zone'
    ELSE 'direct_writes bigint, direct_bytes numeric, buffered_writes bigint, buffered_bytes numeric, direct_inits bigint, buffered_inits bigint' END
  || ', relieved_segments bigint, stats_since timestamp with time zone' AS columns
FROM pg_attribute WHERE attrelid = 'pg_stat_wal_direct'::regclass AND attnum > 0;
\if :of_pg_stat_io
CREATE TEMP VIEW wd_stat AS SELECT w.*,
  CASE mode WHEN 'direct' THEN writes ELSE 0 END AS direct_writes, CASE mode WHEN 'direct' THEN write_bytes ELSE 0 END AS direct_bytes,
  CASE mode WHEN 'direct' THEN 0 ELSE writes END AS buffered_writes, CASE mode WHEN 'direct' THEN 0 ELSE write_bytes END AS buffered_bytes,
  CASE mode WHEN 'direct' THEN inits ELSE 0 END AS direct_inits, CASE mode WHEN 'direct' THEN 0 ELSE inits END AS buffered_inits
FROM pg_stat_wal_direct w;
\else
CREATE TEMP VIEW wd_stat AS SELECT * FROM pg_stat_wal_direct;
\endif
SELECT provolatile, proparallel, proretset, proisstrict FROM pg_proc WHERE oid = 'pg_stat_get_wal_direct()'::regprocedure;

-- The view has one row, and nulls only in columns where null has a meaning.
SELECT count(*), count(mode) AS mode, count(write_unit) AS write_unit, count(cache_relief) AS cache_relief,
  count(direct_writes) AS direct_writes, count(direct_bytes) AS direct_bytes,
  count(buffered_writes) AS buffered_writes, count(buffered_bytes) AS buffered_bytes,
  count(direct_inits) AS direct_inits, count(buffered_inits) AS buffered_inits,
  count(relieved_segments) AS relieved_segments, count(stats_since) AS stats_since
FROM wd_stat;

-- The values agree with the settings.
SELECT CASE current_setting('wal_directio')
  WHEN 'off' THEN mode = 'buffered' AND fallback_reason IS NULL AND direct_writes = 0 AND direct_inits = 0
  ELSE (mode = 'direct') = (fallback_reason IS NULL) END AS mode,
  mode IN ('direct', 'buffered') AS mode_known,
  mode = 'buffered' OR filesystem IS NOT NULL AS filesystem,
  write_unit BETWEEN 512 AND current_setting('wal_block_size')::int AS unit_known,
  write_unit >= CASE current_setting('wal_write_unit') WHEN 'auto' THEN 4096 ELSE replace(current_setting('wal_write_unit'), 'force_', '')::int END AS unit,
  mode = 'buffered' OR coalesce(minimum_unit <= write_unit, true) AS minimum_unit,
  cache_relief = CASE current_setting('wal_cache_relief')
    WHEN 'auto' THEN current_setting('wal_directio') <> 'off' ELSE current_setting('wal_cache_relief')::bool END AS relief,
  stats_since BETWEEN pg_postmaster_start_time() - interval '1 minute' AND now() AS since
FROM wd_stat;

-- All WAL that is written is counted, and this session sees the new counts.
SET synchronous_commit = on;
CREATE TABLE wd_rows (i int, t text);
SELECT pg_stat_force_next_flush();
CREATE TEMP TABLE wd_before AS SELECT *, pg_current_wal_insert_lsn() AS lsn FROM wd_stat;
INSERT INTO wd_rows SELECT i, repeat('x', 100) FROM generate_series(1, 5000) i;
CREATE TEMP TABLE wd_flushed AS SELECT pg_current_wal_flush_lsn() AS lsn;
SELECT pg_stat_force_next_flush();
-- From 18 on, WAL that other processes have written is counted only when they report it.
DO $$
BEGIN
	FOR i IN 1 .. 600 LOOP
		EXIT WHEN (SELECT a.direct_bytes + a.buffered_bytes - b.direct_bytes - b.buffered_bytes >= f.lsn - b.lsn
			FROM wd_stat a, wd_before b, wd_flushed f);
		PERFORM pg_sleep(0.1), pg_stat_clear_snapshot();
	END LOOP;
END
$$;
SELECT a.direct_writes + a.buffered_writes > b.direct_writes + b.buffered_writes AS writes,
  a.direct_bytes + a.buffered_bytes - b.direct_bytes - b.buffered_bytes >= f.lsn - b.lsn AS bytes,
  f.lsn - b.lsn > 500000 AS enough,
  a.direct_bytes % 512 = 0 AND a.buffered_bytes % 512 = 0 AS whole_units,
  CASE a.mode WHEN 'direct' THEN a.direct_writes > b.direct_writes ELSE a.buffered_writes > b.buffered_writes END AS by_mode,
  a.stats_since = b.stats_since AS since
FROM wd_stat a, wd_before b, wd_flushed f;
DROP TABLE wd_rows, wd_before, wd_flushed;
DROP VIEW wd_stat;

-- Every role may read the view, like pg_stat_wal.  An ordinary role may not drop or install the
-- extension.
CREATE ROLE regress_wd_user;
SET ROLE regress_wd_user;
SELECT count(*) FROM pg_stat_wal_direct;
SELECT count(*) FROM pg_stat_get_wal_direct();
DROP EXTENSION wal_directio;
RESET ROLE;
DROP ROLE regress_wd_user;
SELECT name, superuser, trusted, relocatable FROM pg_available_extension_versions WHERE name = 'wal_directio';

-- Move the extension to another schema, and drop it.
CREATE SCHEMA wd;
ALTER EXTENSION wal_directio SET SCHEMA wd;
SELECT count(*) FROM wd.pg_stat_wal_direct;
SELECT count(*) FROM pg_stat_wal_direct;
DROP EXTENSION wal_directio;
SELECT count(*) FROM pg_class WHERE relnamespace = 'wd'::regnamespace;
CREATE EXTENSION wal_directio SCHEMA wd;
SELECT count(*) FROM wd.pg_stat_wal_direct;
DROP EXTENSION wal_directio;
DROP SCHEMA wd;
CREATE EXTENSION wal_directio;
