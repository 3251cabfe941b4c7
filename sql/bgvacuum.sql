-- Check the view pg_stat_bgvacuum on any server with the patch, whatever the settings are.  Check
-- its columns, who may read it and reset it, and that the extension can be moved to another schema
-- and dropped.
\set VERBOSITY terse
\set SHOW_CONTEXT never

SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = 'pg_stat_bgvacuum'::regclass AND attnum > 0 ORDER BY attnum;
SELECT proname, provolatile, proparallel, proretset, proisstrict FROM pg_proc
WHERE oid IN ('pg_stat_get_bgvacuum()'::regprocedure, 'pg_stat_get_bgvacuum_tables()'::regprocedure,
  'pg_stat_reset_bgvacuum()'::regprocedure) ORDER BY 1;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = 'pg_stat_bgvacuum_tables'::regclass AND attnum > 0 ORDER BY attnum;

-- The view has one row without nulls, and no counter is below zero.
SELECT count(*) AS rows, count(*) FILTER (WHERE (b.*) IS NOT NULL) AS without_null,
  bool_and(least(rounds, candidates, pages_pruned, tuples_removed, items_dead, bytes_freed, pages_visible, pages_frozen,
    pages_published, pages_reused, pages_lost, skipped_unstamped, skipped_little, skipped_clean, skipped_recent, skipped_locked, skipped_image, skipped_multixact) >= 0) AS counts,
  bool_and(stats_reset BETWEEN pg_postmaster_start_time() - interval '1 minute' AND now()) AS since
FROM pg_stat_bgvacuum b;

-- The function returns the same as the view.
SELECT v.stats_reset = f.stats_reset AS same FROM pg_stat_bgvacuum v, pg_stat_get_bgvacuum() f;

-- A reset changes stats_reset.
SELECT stats_reset AS before FROM pg_stat_bgvacuum \gset
SELECT pg_stat_reset_bgvacuum();
SELECT stats_reset > :'before' AND stats_reset <= clock_timestamp() AS later FROM pg_stat_bgvacuum;

-- Every role may read the view, like pg_stat_bgwriter.  But an ordinary role may not reset the
-- counters or drop the extension.
CREATE ROLE regress_bv_user;
SET ROLE regress_bv_user;
SELECT count(*) FROM pg_stat_bgvacuum;
SELECT count(*) FROM pg_stat_get_bgvacuum();
SELECT count(*) >= 0 AS tables FROM pg_stat_bgvacuum_tables;
SELECT count(*) >= 0 AS tables FROM pg_stat_get_bgvacuum_tables();
SELECT pg_stat_reset_bgvacuum();
DROP EXTENSION bgvacuum;
-- The role may reset the counters if the privilege is granted.
RESET ROLE;
GRANT EXECUTE ON FUNCTION pg_stat_reset_bgvacuum() TO regress_bv_user;
SET ROLE regress_bv_user;
SELECT pg_stat_reset_bgvacuum();
RESET ROLE;
REVOKE EXECUTE ON FUNCTION pg_stat_reset_bgvacuum() FROM regress_bv_user;
DROP ROLE regress_bv_user;
SELECT name, superuser, trusted, relocatable FROM pg_available_extension_versions WHERE name = 'bgvacuum';

-- Check the settings: their properties, who may change them, and invalid values.
SELECT name, vartype, context, boot_val, category LIKE 'Developer%' AS developer
FROM pg_settings WHERE name ~ 'bgvacuum' ORDER BY name COLLATE "C";
SELECT boot_val, min_val FROM pg_settings WHERE name = 'bgwriter_lru_maxpages';
SET bgvacuum = on;
ALTER SYSTEM SET bgvacuum = maybe;
ALTER SYSTEM SET bgwriter_lru_maxpages = -1;

-- Move the extension to another schema, and drop it.
CREATE SCHEMA bv;
ALTER EXTENSION bgvacuum SET SCHEMA bv;
SELECT count(*) FROM bv.pg_stat_bgvacuum;
SELECT count(*) FROM pg_stat_bgvacuum;
DROP EXTENSION bgvacuum;
SELECT count(*) FROM pg_class WHERE relnamespace = 'bv'::regnamespace;
CREATE EXTENSION bgvacuum SCHEMA bv;
SELECT count(*) FROM bv.pg_stat_bgvacuum;
DROP EXTENSION bgvacuum;
DROP SCHEMA bv;
CREATE EXTENSION bgvacuum;
