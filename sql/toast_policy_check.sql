--
-- Test toast_policy.check(), which is amcheck for tables of the access method: what can be checked,
-- by whom, and what is refused.  t/toast_policy/check.pl tests damaged tables.
--
\set SHOW_CONTEXT never
\set VERBOSITY terse
SET client_min_messages = warning;
DROP EXTENSION IF EXISTS amcheck;
RESET client_min_messages;
CREATE SCHEMA checks;
SET search_path = checks;
CREATE ROLE regress_toast_policy_alice;
GRANT USAGE, CREATE ON SCHEMA checks TO regress_toast_policy_alice;

CREATE TABLE t (id int PRIMARY KEY, v text);
SELECT toast_policy.enable('t', 'v');
INSERT INTO t SELECT i, repeat(md5(i::text), i * 100) FROM generate_series(1, 30) i;
CREATE INDEX ON t (md5(v));
CREATE INDEX ON t USING hash (v);

-- amcheck is not installed.
\set VERBOSITY default
SELECT * FROM toast_policy.check('t');
\set VERBOSITY terse
SELECT * FROM toast_policy.check_all();

-- amcheck is in a schema that is not in the search_path, and other functions have the same names.
CREATE SCHEMA "Am check";
CREATE EXTENSION amcheck SCHEMA "Am check";
CREATE FUNCTION verify_heapam(regclass, boolean, boolean, text, bigint, bigint) RETURNS int LANGUAGE sql AS 'SELECT 1/0';
CREATE FUNCTION bt_index_check(regclass, boolean) RETURNS void LANGUAGE sql AS 'SELECT 1/0';
SELECT "Am check".verify_heapam('t');
SELECT * FROM toast_policy.check('t');
SELECT * FROM toast_policy.check('t', true);
SELECT * FROM toast_policy.check('t', heapallindexed => NULL);
SELECT * FROM toast_policy.check_all(heapallindexed => true);
-- After the check, the table has its access method again.
SELECT "Am check".verify_heapam('t');
INSERT INTO t VALUES (31, repeat('x', 100000));
SELECT pg_column_compression(v) IS NOT NULL FROM t WHERE id = 31;
-- Check a table with uncommitted rows of the same transaction, and in a read-only transaction.
BEGIN;
INSERT INTO t SELECT i, repeat('x', 100000) FROM generate_series(32, 40) i;
SELECT * FROM toast_policy.check('t', true);
ROLLBACK;
BEGIN READ ONLY;
SELECT * FROM toast_policy.check('t');
COMMIT;

-- Test all kinds of tables.
CREATE TABLE plain AS SELECT * FROM t;
CREATE TABLE empty (v text) USING toast_policy;
CREATE TABLE no_toast (id int PRIMARY KEY) USING toast_policy;
INSERT INTO no_toast VALUES (1);
CREATE TEMP TABLE temporary (v text) USING toast_policy;
CREATE UNLOGGED TABLE unlogged (v text) USING toast_policy;
CREATE MATERIALIZED VIEW materialized USING toast_policy AS SELECT * FROM t;
SELECT * FROM toast_policy.check('plain');
SELECT * FROM toast_policy.check('empty');
SELECT * FROM toast_policy.check('no_toast');
SELECT * FROM toast_policy.check('temporary');
SELECT * FROM toast_policy.check('unlogged');
SELECT * FROM toast_policy.check('materialized');
CREATE TABLE parted (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
SELECT * FROM toast_policy.check('parted');
CREATE TABLE part_heap PARTITION OF parted FOR VALUES FROM (0) TO (10) USING heap;
CREATE TABLE part_own PARTITION OF parted FOR VALUES FROM (10) TO (20) USING toast_policy;
CREATE FOREIGN DATA WRAPPER checks_wrapper;
CREATE SERVER checks_server FOREIGN DATA WRAPPER checks_wrapper;
CREATE TABLE parted2 (id int, v text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE elsewhere PARTITION OF parted2 FOR VALUES FROM (1000) TO (2000) SERVER checks_server;
SELECT * FROM toast_policy.check('parted');
SELECT * FROM toast_policy.check('parted2');
SELECT * FROM toast_policy.check_all();
-- An index that is not valid is left out.
INSERT INTO no_toast SELECT 2;
CREATE TABLE invalid (id int) USING toast_policy;
INSERT INTO invalid VALUES (1), (1);
CREATE UNIQUE INDEX CONCURRENTLY invalid_id ON invalid (id);
SELECT indisvalid FROM pg_index WHERE indexrelid = 'invalid_id'::regclass;
SELECT * FROM toast_policy.check('invalid');

-- heapallindexed finds an index that has lost an entry.
CREATE FUNCTION unsteady(v text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN md5(v); END $$;
CREATE TABLE u (v text) USING toast_policy;
INSERT INTO u SELECT 'value ' || i FROM generate_series(1, 10) i;
CREATE INDEX u_unsteady ON u (unsteady(v));
CREATE OR REPLACE FUNCTION unsteady(v text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN md5('x' || v); END $$;
SELECT * FROM toast_policy.check('u');
SELECT object, blkno, offnum, attnum, msg ~ 'lacks matching index tuple within index "u_unsteady"' AS lacks FROM toast_policy.check('u', true);
SELECT object FROM toast_policy.check_all(true);
-- An error of another kind is raised as an error.
CREATE OR REPLACE FUNCTION unsteady(v text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN 1 / 0; END $$;
SELECT * FROM toast_policy.check('u', true);
DROP TABLE u;

-- Test the calls that check() refuses.
SELECT * FROM toast_policy.check(NULL);
SELECT * FROM toast_policy.check(0);
SELECT * FROM toast_policy.check('t_pkey');
SELECT * FROM toast_policy.check('elsewhere');
CREATE VIEW a_view AS SELECT 1 AS id;
SELECT * FROM toast_policy.check('a_view');
CREATE ACCESS METHOD checks_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE other_method (v text) USING checks_heap;
SELECT * FROM toast_policy.check('other_method');

-- Only roles that may call the functions of amcheck may call check().
SET ROLE regress_toast_policy_alice;
SELECT * FROM toast_policy.check('t');
SELECT * FROM toast_policy.check_all();
RESET ROLE;
GRANT EXECUTE ON FUNCTION toast_policy.check(regclass, boolean), toast_policy.check_all(boolean) TO regress_toast_policy_alice;
GRANT USAGE ON SCHEMA "Am check" TO regress_toast_policy_alice;
SET ROLE regress_toast_policy_alice;
SELECT * FROM toast_policy.check('t');
RESET ROLE;
GRANT EXECUTE ON FUNCTION "Am check".verify_heapam(regclass, boolean, boolean, text, bigint, bigint) TO regress_toast_policy_alice;
SET ROLE regress_toast_policy_alice;
SELECT * FROM toast_policy.check('t');
RESET ROLE;
GRANT EXECUTE ON FUNCTION "Am check".bt_index_check(regclass, boolean) TO regress_toast_policy_alice;
SET ROLE regress_toast_policy_alice;
SELECT * FROM toast_policy.check('t');
SELECT * FROM toast_policy.check_all();
-- Code of a table's owner runs as the owner.
CREATE FUNCTION whoami(v text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE NOTICE 'as %', current_user; RETURN v; END $$;
CREATE TABLE alices (v text) USING toast_policy;
INSERT INTO alices VALUES ('x');
SET client_min_messages = warning;
CREATE INDEX ON alices (checks.whoami(v));
RESET client_min_messages;
RESET ROLE;
SELECT * FROM toast_policy.check('alices', true);

REVOKE ALL ON FUNCTION toast_policy.check(regclass, boolean), toast_policy.check_all(boolean) FROM regress_toast_policy_alice;

-- Test a version of amcheck that is too old.
ALTER EXTENSION amcheck DROP FUNCTION "Am check".verify_heapam(regclass, boolean, boolean, text, bigint, bigint);
\set VERBOSITY default
SELECT * FROM toast_policy.check('t');
\set VERBOSITY terse

SET client_min_messages = warning;
DROP EXTENSION amcheck;
DROP SCHEMA "Am check" CASCADE;
DROP FOREIGN DATA WRAPPER checks_wrapper CASCADE;
DROP SCHEMA checks CASCADE;
DROP ACCESS METHOD IF EXISTS checks_heap;
DROP ROLE regress_toast_policy_alice;
