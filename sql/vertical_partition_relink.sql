--
-- Test row pointers: what makes them wrong, and relink().
--
\set SHOW_CONTEXT never
SET client_min_messages = warning;
\set database :DBNAME
CREATE DATABASE regress_vertical_partition_relink TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
ALTER DATABASE regress_vertical_partition_relink SET session_preload_libraries = 'vertical_partition';
\c regress_vertical_partition_relink
SET client_min_messages = warning;
CREATE EXTENSION vertical_partition;
CREATE SCHEMA s;
SET search_path = s;
CREATE TABLE t (k text, id int, a int, b text, PRIMARY KEY (id, k));
INSERT INTO t SELECT 'k', i, i, 'b' || i FROM generate_series(1, 1000) i;
SELECT vertical_partition.split('t', '{b}', 'row_pointer');
CREATE VIEW wrong AS
SELECT count(*) FROM t_hot h LEFT JOIN t_cold c ON c.ctid = h.cold_tid AND c.id = h.id AND c.k = h.k WHERE c.id IS NULL;
CREATE VIEW state AS SELECT pointers_valid, wrong.count AS wrong FROM vertical_partition.status, wrong;

-- Updates of cold rows move the rows, and change their pointers.
UPDATE t SET b = b || 'x' WHERE id % 10 = 0;
DELETE FROM t WHERE id % 7 = 0;
SELECT * FROM state;
SELECT vertical_partition.relink('t');

-- VACUUM FULL moves all rows.
SELECT vertical_partition.forget_row_pointers('t_cold');
VACUUM FULL t_cold;
SELECT * FROM state;
SELECT a FROM t WHERE id = 1;
SELECT b FROM t WHERE id = 1;
SELECT b FROM t WHERE id = 999;
SELECT count(b) FROM t;
UPDATE t SET b = 'no' WHERE id = 999;
SELECT vertical_partition.relink('t') > 0;
SELECT * FROM state;
SELECT count(b), count(*) FROM t;
SELECT vertical_partition.relink('t');
UPDATE t SET b = 'yes' WHERE id = 999;
SELECT b FROM t WHERE id = 999;

-- After relink(), the guard of the pointers works again.
UPDATE t_hot SET cold_tid = '(0,1)';
SELECT * FROM state;

-- A restored dump lacks the row of row_pointers.
DELETE FROM vertical_partition_internal.row_pointers;
SELECT * FROM state;
SELECT b FROM t WHERE id = 1;
SELECT vertical_partition.merge('t');
SELECT vertical_partition.relink('t');
SELECT b FROM t WHERE id = 1;

-- A single wrong pointer is found, because the keys differ.
ALTER TABLE t_hot DISABLE TRIGGER USER;
UPDATE t_hot SET cold_tid = (SELECT cold_tid FROM t_hot WHERE id = 2) WHERE id = 1;
SELECT b FROM t WHERE id = 1;
SELECT vertical_partition.relink('t');
SELECT b FROM t WHERE id = 1;

-- If a cold row is missing, or if no hot row has the key of a cold row, relink() reports it.
ALTER TABLE t_cold DISABLE TRIGGER USER;
DELETE FROM t_cold WHERE id = 1;
SELECT vertical_partition.relink('t');
INSERT INTO t_cold VALUES (1, 'k', 'again'), (0, 'k', 'orphan');
SELECT vertical_partition.relink('t');
SELECT b FROM t WHERE id = 1;
DELETE FROM t_cold WHERE id = 0;
ALTER TABLE t_cold ENABLE TRIGGER USER;
ALTER TABLE t_hot ENABLE TRIGGER USER;

-- After a failure, everything is as before.
BEGIN;
DELETE FROM vertical_partition_internal.row_pointers;
ALTER TABLE t_hot ADD CONSTRAINT late CHECK (a > 0) NOT VALID;
ALTER TABLE t_hot DISABLE TRIGGER USER;
UPDATE t_hot SET cold_tid = '(0,0)';
SAVEPOINT x;
SELECT vertical_partition.relink('t') > 0;
SELECT b FROM t WHERE id = 1;
ROLLBACK TO x;
SELECT b FROM t WHERE id = 1;
ROLLBACK;
SELECT b FROM t WHERE id = 1;

-- Test transactions, and tables in use.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT vertical_partition.relink('t');
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t;
FETCH c;
SELECT vertical_partition.relink('t');
ROLLBACK;

-- Only the pointers change.  No constraint is checked again, no trigger is fired, and indexes have
-- the new row versions.
CREATE TABLE log (what text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO s.log VALUES (TG_OP || ' ' || NEW.id); RETURN NULL; END$$;
CREATE TRIGGER note AFTER UPDATE ON t_hot FOR EACH ROW EXECUTE FUNCTION note();
CREATE TABLE u (id int PRIMARY KEY);
ALTER TABLE t_hot ADD CONSTRAINT late CHECK (a < 10) NOT VALID, ADD CONSTRAINT fk FOREIGN KEY (id) REFERENCES u NOT VALID;
CREATE INDEX pointer ON t_hot (cold_tid);
CREATE INDEX expression ON t_hot ((a + id));
ALTER TABLE t_hot ADD place text GENERATED ALWAYS AS (cold_tid::text) STORED;
-- A function of the owner cannot close the query of relink() or move its cursor.
CREATE FUNCTION meddle(tid) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
    c refcursor;
BEGIN
    FOR i IN 1 .. 200 LOOP
        c := '<unnamed portal ' || i || '>';
        BEGIN
            MOVE FORWARD ALL FROM c;
            CLOSE c;
        EXCEPTION WHEN OTHERS THEN
        END;
    END LOOP;
    RETURN 0;
END $$;
CREATE INDEX meddling ON t_hot (meddle(cold_tid)) WHERE id % 50 = 2;
CREATE TEMP TABLE old AS SELECT id, cold_tid FROM t_hot;
ALTER TABLE t ALTER a TYPE bigint, ALTER b TYPE varchar(100);
SELECT count(*) > 0 AS changed FROM t_hot JOIN old USING (id) WHERE t_hot.cold_tid <> old.cold_tid;
SELECT * FROM state;
SELECT count(*) FROM log;
SELECT count(*) FROM t_hot WHERE place <> cold_tid::text;
SELECT count(*) FROM t WHERE b LIKE 'b%';
SET enable_seqscan = off;
SELECT id, a FROM t_hot WHERE a + id = 1998;
SELECT h.id, c.id, c.b FROM t_hot h, t_cold c WHERE h.cold_tid = c.ctid AND h.cold_tid = (SELECT ctid FROM t_cold WHERE id = 998);
RESET enable_seqscan;

-- relink() does not leave out any pointer because of row-level security.
CREATE ROLE regress_vertical_partition_relink;
GRANT ALL ON SCHEMA s TO regress_vertical_partition_relink;
ALTER VIEW t OWNER TO regress_vertical_partition_relink;
ALTER TABLE t_hot FORCE ROW LEVEL SECURITY, ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON t_hot USING (id < 10);
SELECT vertical_partition.relink('t');
ALTER TABLE t_hot NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
DROP POLICY few ON t_hot;
SELECT vertical_partition.relink('t');

-- Only the owner of the part may call the function that relink() uses, with a query that returns
-- pointers.
SELECT vertical_partition_internal.point_rows('t_hot', 'id', 'SELECT ctid, ctid FROM s.t_hot');
SELECT vertical_partition_internal.point_rows('t_hot', 'nosuch', 'SELECT ctid, ctid FROM s.t_hot');
SELECT vertical_partition_internal.point_rows('t_hot', 'cold_tid', 'SELECT ctid FROM s.t_hot');
\set VERBOSITY terse
SELECT vertical_partition_internal.point_rows('t_hot', 'cold_tid', 'SELECT id, a FROM s.t_hot');
\set VERBOSITY default
SELECT vertical_partition_internal.point_rows('t_hot', 'cold_tid', 'SELECT ctid, NULL::tid FROM s.t_hot');
SELECT vertical_partition_internal.point_rows('t_hot', 'cold_tid', 'DELETE FROM s.t_hot');
\set VERBOSITY sqlstate
SELECT vertical_partition_internal.point_rows('t_hot', 'cold_tid', $$SELECT ctid, ctid FROM s.t_hot UNION ALL SELECT ctid, ctid FROM s.t_hot$$);
\set VERBOSITY default
SELECT vertical_partition_internal.point_rows('t_hot', 'cold_tid', $$SELECT '(4294967295,1)'::tid, '(0,1)'::tid$$);
SELECT vertical_partition_internal.point_rows('t_hot', 'ctid', 'SELECT ctid, ctid FROM s.t_hot');
SELECT vertical_partition_internal.point_rows('vertical_partition.status', 'cold_tid', $$SELECT '(0,1)'::tid, '(0,1)'::tid$$);
CREATE TABLE partitioned (cold_tid tid) PARTITION BY LIST (cold_tid);
SELECT vertical_partition_internal.point_rows('partitioned', 'cold_tid', $$SELECT '(0,1)'::tid, '(0,1)'::tid$$);
DROP TABLE partitioned;
CREATE TABLE deferred (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, x tid UNIQUE DEFERRABLE);
BEGIN;
INSERT INTO deferred VALUES (1, '(0,1)'), (1, '(0,2)');
SELECT vertical_partition_internal.point_rows('deferred', 'x', 'SELECT ctid, ctid FROM s.deferred');
ROLLBACK;
INSERT INTO deferred VALUES (1, '(0,1)'), (2, '(0,2)');
SELECT vertical_partition_internal.point_rows('deferred', 'x', $$SELECT ctid, '(0,3)'::tid FROM s.deferred$$);
DROP TABLE deferred;
CREATE ROLE regress_vertical_partition_stranger;
GRANT USAGE ON SCHEMA s TO regress_vertical_partition_stranger;
SET ROLE regress_vertical_partition_stranger;
SELECT vertical_partition_internal.point_rows('s.t_hot', 'cold_tid', 'SELECT ctid, ctid FROM s.t_hot');
RESET ROLE;
SELECT * FROM state;
ALTER TABLE t_hot DROP CONSTRAINT late, DROP CONSTRAINT fk;
DROP TRIGGER note ON t_hot;
DROP INDEX pointer, meddling;
ALTER TABLE t_hot DROP place;

-- Test an empty table.
DELETE FROM t;
ALTER TABLE t_cold SET UNLOGGED;
SELECT vertical_partition.relink('t');
SELECT * FROM state;
DROP VIEW state, wrong;
SELECT vertical_partition.merge('t');
TABLE vertical_partition_internal.row_pointers;

-- The other methods have no row pointers.
SELECT vertical_partition.split('t', '{b}');
SELECT vertical_partition.relink('t');

-- When a part was dropped, the next split() removes the part's row of row_pointers.
SELECT vertical_partition.merge('t');
SELECT vertical_partition.split('t', '{b}', 'row_pointer');
DROP VIEW t;
DROP TABLE t_hot, t_cold;
SELECT count(*) FROM vertical_partition_internal.row_pointers;
CREATE TABLE t (id int PRIMARY KEY, a int, b text);
SELECT vertical_partition.split('t', '{b}', 'row_pointer');
SELECT cold::regclass FROM vertical_partition_internal.row_pointers;

\c :database
DROP DATABASE regress_vertical_partition_relink;
DROP ROLE regress_vertical_partition_relink, regress_vertical_partition_stranger;
