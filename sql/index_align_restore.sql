-- Check restore_stock().  After the call no index is listed, and nothing but the layout of an index
-- has changed.  If an index cannot be restored, a message says so.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET client_min_messages = warning;

CREATE SCHEMA ia;
SET search_path = ia, public;
SET default_index_item_alignment = auto;
CREATE TABLE t (a int PRIMARY KEY, b int NOT NULL, c text, EXCLUDE USING btree (b WITH =) WITH (fillfactor = 70));
INSERT INTO t SELECT i, i, i FROM generate_series(1, 1000) i;
ALTER TABLE t ADD CONSTRAINT t_late UNIQUE (b) DEFERRABLE INITIALLY DEFERRED;
CREATE UNIQUE INDEX t_identity ON t (b);
ALTER TABLE t REPLICA IDENTITY USING INDEX t_identity;
CREATE INDEX t_c ON t (c text_pattern_ops DESC) INCLUDE (a) WITH (item_alignment = auto, deduplicate_items = off) WHERE a > 10;
CREATE INDEX t_e ON t ((a % 10), lower(c)) WITH (item_alignment = max);
CREATE INDEX "T's ""index""; DROP TABLE t --" ON t (a, b);
CLUSTER t USING t_identity;
COMMENT ON INDEX t_e IS 'a comment';
CREATE TABLE parts (a int, b int, PRIMARY KEY (a)) PARTITION BY RANGE (a);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10) PARTITION BY LIST (a);
CREATE TABLE parts_11 PARTITION OF parts_1 FOR VALUES IN (1);
CREATE INDEX parts_b ON parts (b) WITH (item_alignment = auto, fillfactor = 80);
CREATE MATERIALIZED VIEW materialized AS SELECT * FROM t;
CREATE UNIQUE INDEX materialized_a ON materialized (a);
CREATE UNLOGGED TABLE unlogged (a int PRIMARY KEY);
CREATE TEMP TABLE temporary (a int PRIMARY KEY);
CREATE FUNCTION fails_for_worker(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('application_name') = 'index_align.restore_stock' THEN
    RAISE division_by_zero USING MESSAGE = 'no way', DETAIL = 'the detail', HINT = 'the hint';
  END IF;
  RETURN $1;
END $$;
CREATE TABLE failing (a int);
INSERT INTO failing VALUES (1);
CREATE INDEX failing_a ON failing (fails_for_worker(a));
CREATE TABLE untouched AS SELECT n.nspname, c.relname, regexp_replace(pg_get_indexdef(c.oid), ' WITH \(item_alignment=\w+\)|item_alignment=\w+, ', '') AS def, indisclustered, indisreplident, indimmediate,
  obj_description(c.oid) AS comment FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_namespace n ON n.oid = relnamespace
  WHERE nspname = 'ia' AND c.relname !~ '^failing';
RESET default_index_item_alignment;

-- Show the commands that do the same.
SELECT * FROM index_align.restore_stock_commands();
SELECT * FROM index_align.restore_stock_commands('t', concurrently => false);
SELECT * FROM index_align.restore_stock_commands('parts_b');
SELECT * FROM index_align.restore_stock_commands(concurrently => NULL);

-- Test what the procedure refuses.
BEGIN;
CALL index_align.restore_stock();
ROLLBACK;
CREATE PROCEDURE inside() LANGUAGE plpgsql AS $$ BEGIN CALL index_align.restore_stock('unlogged'); END $$;
BEGIN;
CALL inside();
ROLLBACK;
DO $$ BEGIN CALL index_align.restore_stock('unlogged'); EXCEPTION WHEN others THEN RAISE WARNING '%', sqlerrm; END $$;
ALTER PROCEDURE inside SECURITY DEFINER;
CALL inside();
CALL index_align.restore_stock('t', concurrently => NULL);
CALL index_align.restore_stock('pg_views');
CALL index_align.restore_stock(4294967295::oid);
SET default_transaction_read_only = on;
CALL index_align.restore_stock();
RESET default_transaction_read_only;
SELECT count(*) > 10 AS all_there FROM index_align.status;

-- Restore one index, one table, and a table with its partitions.
SET client_min_messages = notice;
CALL index_align.restore_stock('t_e');
CALL index_align.restore_stock('t_late', concurrently => false);
CALL index_align.restore_stock('t_late', concurrently => false);
DO $$ BEGIN CALL index_align.restore_stock('unlogged'); END $$;
CALL index_align.restore_stock('parts');
SELECT c.relname, c.reloptions FROM pg_class c WHERE c.relname LIKE 'parts%b%' ORDER BY 1;
SELECT index, item_alignment FROM index_align.status WHERE index::text ~ 'parts';

-- Only the owner of a table, and roles with MAINTAIN on it, may restore its indexes.
CREATE ROLE regress_index_align_owner;
CREATE ROLE regress_index_align_maintainer;
CREATE ROLE regress_index_align_other;
GRANT CREATE, USAGE ON SCHEMA ia TO regress_index_align_owner;
GRANT USAGE ON SCHEMA ia TO regress_index_align_maintainer, regress_index_align_other;
SET ROLE regress_index_align_owner;
SET default_index_item_alignment = auto;
CREATE TABLE owned (a int PRIMARY KEY WITH (item_alignment = auto), b int UNIQUE);
GRANT MAINTAIN ON owned TO regress_index_align_maintainer;
RESET default_index_item_alignment;
SET ROLE regress_index_align_other;
CALL index_align.restore_stock('owned');
CALL index_align.restore_stock('owned_b_key');
SET ROLE regress_index_align_maintainer;
CALL index_align.restore_stock('owned_pkey');
CALL index_align.restore_stock('owned_b_key');
SET ROLE regress_index_align_owner;
CALL index_align.restore_stock('owned');
CALL index_align.restore_stock();
RESET ROLE;

-- Restore the rest of the database.  If one index fails, the others are still restored.
CALL index_align.restore_stock();
\set VERBOSITY default
CALL index_align.restore_stock();
\set VERBOSITY terse
SELECT index FROM index_align.status;
CALL index_align.restore_stock('failing', concurrently => false);
SELECT c.relname, indisvalid FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = 'failing'::regclass ORDER BY 1;
DROP TABLE failing;
CALL index_align.restore_stock();
SELECT count(*) FROM index_align.status;
SELECT count(*) FROM index_align.restore_stock_commands();

-- Nothing else about the indexes has changed.
SELECT u.*, now.*
FROM untouched u FULL JOIN (SELECT n.nspname, c.relname, regexp_replace(pg_get_indexdef(c.oid), ' WITH \(item_alignment=\w+\)|item_alignment=\w+, ', '') AS def, indisclustered, indisreplident, indimmediate,
  obj_description(c.oid) AS comment FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_namespace n ON n.oid = relnamespace
  WHERE nspname = 'ia' AND c.relname !~ '^owned|^failing') now USING (nspname, relname, def)
WHERE now.indisclustered IS DISTINCT FROM u.indisclustered OR now.indisreplident IS DISTINCT FROM u.indisreplident
  OR now.indimmediate IS DISTINCT FROM u.indimmediate OR now.comment IS DISTINCT FROM u.comment
ORDER BY u.relname, now.relname;

-- Test an index in the middle of DROP INDEX CONCURRENTLY, an index that is not valid, and an index
-- that is being built concurrently, whose pages must not be read.
SET default_index_item_alignment = auto;
CREATE TABLE half (a int, b int);
CREATE INDEX half_dropped ON half (a);
CREATE INDEX half_valid ON half (b);
CREATE INDEX half_built ON half (a, b);
SET default_index_item_alignment = max;
SET allow_system_table_mods = on;
UPDATE pg_index SET indisvalid = false, indisready = false, indislive = false WHERE indexrelid = 'half_dropped'::regclass;
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'half_valid'::regclass;
UPDATE pg_index SET indisvalid = false, indisready = false WHERE indexrelid = 'half_built'::regclass;
RESET allow_system_table_mods;
SELECT index_align.item_alignment('half_built');
SELECT index, is_valid FROM index_align.status ORDER BY index::text COLLATE "C";
SELECT * FROM index_align.restore_stock_commands();
CALL index_align.restore_stock();
SELECT indexrelid::regclass AS index, indisvalid, indislive FROM pg_index WHERE indrelid = 'half'::regclass ORDER BY 1;
DROP INDEX half_built;

-- A failed REINDEX CONCURRENTLY leaves an invalid index behind. restore_stock() must not make such
-- an index valid, but it must make other indexes valid whose names are only similar.
CREATE TABLE left_behind (a int, b int);
SET default_index_item_alignment = auto;
CREATE INDEX left_a_ccnew ON left_behind (a);
CREATE INDEX left_a_ccnew12 ON left_behind (a);
CREATE INDEX left_b_ccold ON left_behind (b) WITH (item_alignment = auto);
CREATE INDEX valid_ccnew ON left_behind (b);
CREATE INDEX invalid_ccnews ON left_behind (b);
CREATE INDEX _ccnew ON left_behind (b);
SET default_index_item_alignment = max;
SET allow_system_table_mods = on;
UPDATE pg_index SET indisvalid = false WHERE indrelid = 'left_behind'::regclass AND indexrelid <> 'valid_ccnew'::regclass;
RESET allow_system_table_mods;
SELECT * FROM index_align.restore_stock_commands();
CALL index_align.restore_stock('left_a_ccnew');
\set VERBOSITY default
CALL index_align.restore_stock();
\set VERBOSITY terse
SELECT indexrelid::regclass AS index, indisvalid, index_align.item_alignment(indexrelid) FROM pg_index
WHERE indrelid = 'left_behind'::regclass ORDER BY indexrelid::regclass::text COLLATE "C";
DROP INDEX left_a_ccnew, left_a_ccnew12, left_b_ccold;
CALL index_align.restore_stock();

-- The settings of a superuser also take effect in the worker process.
CREATE FUNCTION on_reindex() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE WARNING '% as %, replication role %', tg_tag, current_user = session_user, current_setting('session_replication_role');
END $$;
CREATE EVENT TRIGGER regress_index_align_reindex ON ddl_command_start WHEN TAG IN ('REINDEX') EXECUTE FUNCTION on_reindex();
ALTER EVENT TRIGGER regress_index_align_reindex ENABLE ALWAYS;
CREATE ROLE regress_index_align_half;
ALTER TABLE half OWNER TO regress_index_align_half;
GRANT USAGE ON SCHEMA ia TO regress_index_align_half;
SET client_min_messages = warning;
SET default_index_item_alignment = auto;
REINDEX INDEX half_valid;
CALL index_align.restore_stock('half');
REINDEX INDEX half_valid;
SET session_replication_role = replica;
CALL index_align.restore_stock('half');
REINDEX INDEX half_valid;
SET event_triggers = off;
CALL index_align.restore_stock('half');
REINDEX INDEX half_valid;
-- The worker of another role does not get these settings.
SET ROLE regress_index_align_half;
CALL index_align.restore_stock('half');
RESET ROLE;
RESET event_triggers;
RESET session_replication_role;
RESET default_index_item_alignment;
SELECT count(*) FROM index_align.status;
DROP EVENT TRIGGER regress_index_align_reindex;
SET client_min_messages = notice;

-- The commands of restore_stock_commands() do the same.
SET client_min_messages = warning;
SET default_index_item_alignment = auto;
REINDEX TABLE t;
ALTER INDEX t_e SET (item_alignment = auto);
CREATE INDEX parts_auto ON parts (b, a) WITH (item_alignment = auto);
SELECT count(*) FROM index_align.status;
SELECT * FROM index_align.restore_stock_commands() \gexec
SELECT count(*) FROM index_align.status;
SHOW default_index_item_alignment;

DROP SCHEMA ia CASCADE;
DROP ROLE regress_index_align_owner, regress_index_align_maintainer, regress_index_align_other, regress_index_align_half;
