--
-- Test the counts of updated and read columns, and the advice that is based on them.
--
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = ''vertical_partition''', current_database()); END $$;
\c
\set SHOW_CONTEXT always
SET client_min_messages = warning;
LOAD 'vertical_partition';
CREATE ROLE regress_vp_advise_owner;
CREATE ROLE regress_vp_advise_other;
CREATE SCHEMA vpa AUTHORIZATION regress_vp_advise_owner;
GRANT USAGE ON SCHEMA vpa TO regress_vp_advise_other;
SET search_path = vpa, public;
SET vertical_partition.track_updates = on;
SET jit = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
SELECT vertical_partition.reset_column_updates();

--
-- The counts
--
CREATE VIEW counted AS
SELECT relation, column_name, updates, rows_set, rows_read FROM vertical_partition.column_updates
WHERE rows_set + rows_read > 0;

CREATE TABLE t (k int PRIMARY KEY, a int, b text, c text, d int, g int GENERATED ALWAYS AS (a + d) STORED);
INSERT INTO t SELECT i, i, 'b' || i, 'c' || i, i FROM generate_series(1, 100) i;
-- There are no counts yet, because an insert updates and reads nothing.
SELECT * FROM counted ORDER BY relation, column_name;
UPDATE t SET b = 'x' WHERE k <= 10;
SELECT * FROM counted ORDER BY relation, column_name;
-- A generated column is updated with the columns in its expression.
UPDATE t SET a = a + 1 WHERE k <= 3 RETURNING length(c) AS length;
SELECT * FROM counted ORDER BY relation, column_name;
SELECT vertical_partition.reset_column_updates();
-- Run two updates in one statement, one of them in a CTE.
WITH u AS (UPDATE t SET c = 'y' WHERE k <= 7 RETURNING k)
UPDATE t SET d = 0 FROM u WHERE t.k = u.k + 50;
-- Run INSERT ON CONFLICT, with and without conflicts.
INSERT INTO t SELECT i, 0, 'new' FROM generate_series(96, 105) i ON CONFLICT (k) DO UPDATE SET b = excluded.b, c = 'conflict';
INSERT INTO t SELECT i FROM generate_series(100, 110) i ON CONFLICT DO NOTHING;
SELECT column_name, updates, rows_set FROM counted WHERE rows_set > 0 AND column_name <> 'g' ORDER BY column_name;
SELECT vertical_partition.reset_column_updates();
MERGE INTO t USING (SELECT generate_series(101, 120) AS i) s ON t.k = s.i
WHEN MATCHED AND k < 104 THEN UPDATE SET b = 'merged'
WHEN MATCHED AND k < 106 THEN DELETE
WHEN NOT MATCHED THEN INSERT (k) VALUES (i);
SELECT column_name, updates, rows_set FROM counted WHERE rows_set > 0 AND column_name <> 'g' ORDER BY column_name;
SELECT vertical_partition.reset_column_updates();
-- Use a view.  Its other columns are not read.
CREATE VIEW v AS SELECT k, a, b, c, d FROM t;
UPDATE v SET d = 1 WHERE k = 1;
SELECT a FROM v WHERE k BETWEEN 1 AND 5;
SELECT * FROM counted ORDER BY column_name;
SELECT vertical_partition.reset_column_updates();
-- A column of a condition also counts as read for rows that the condition excludes.  A whole row
-- counts as all columns.
SET enable_indexscan = off;
SELECT count(*) FROM t WHERE a = 5 AND k <= 100;
SET enable_indexscan = on;
SELECT t FROM t WHERE k = 42;
SELECT * FROM counted ORDER BY column_name;
SELECT vertical_partition.reset_column_updates();
-- These are not counted: EXPLAIN, statements while tracking is off, temporary tables and system
-- catalogs.
EXPLAIN (COSTS off) UPDATE t SET b = 'explained' WHERE k = 1;
SET vertical_partition.track_updates = off;
UPDATE t SET b = 'off' WHERE k = 1;
SET vertical_partition.track_updates = on;
SET vertical_partition.track_sample_rate = 0;
UPDATE t SET b = 'not in the sample' WHERE k = 1;
RESET vertical_partition.track_sample_rate;
CREATE TEMP TABLE temporary (k int PRIMARY KEY, v int);
INSERT INTO temporary VALUES (1, 1);
UPDATE temporary SET v = 2;
DO $$ BEGIN PERFORM count(*) FROM pg_class WHERE relname = 't'; END $$;
SELECT * FROM counted;
-- A statement that fails is not counted.
UPDATE t SET a = 1 / (k - 50);
SELECT * FROM counted;
-- Prepared statements and statements in functions are counted, also if they are rolled back,
-- because they were work.
BEGIN;
PREPARE p (int) AS UPDATE t SET d = 2 WHERE k = $1;
EXECUTE p (1);
EXECUTE p (2);
DEALLOCATE p;
DO $$ BEGIN FOR i IN 1 .. 5 LOOP UPDATE t SET d = 3 WHERE k = i; END LOOP; END $$;
ROLLBACK;
SELECT * FROM counted WHERE rows_set > 0;
SELECT vertical_partition.reset_column_updates();

-- Each partition has its own counts, whatever the order of its columns is.
CREATE TABLE part (k int, a text, b int) PARTITION BY RANGE (k);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE TABLE part2 (b int, extra text, k int NOT NULL, a text);
ALTER TABLE part2 DROP extra;
ALTER TABLE part ATTACH PARTITION part2 FOR VALUES FROM (10) TO (100);
INSERT INTO part SELECT i, 'a', 0 FROM generate_series(0, 99) i;
UPDATE part SET b = 1 WHERE k < 13;
UPDATE part SET a = 'x' FROM generate_series(5, 14) i WHERE part.k = i;
SELECT relation, column_name, updates, rows_set FROM counted WHERE rows_set > 0 ORDER BY relation::text, column_name;
SELECT vertical_partition.reset_column_updates();

--
-- Who may see the counts and the advice
--
CREATE TABLE simple (k int PRIMARY KEY, v text);
GRANT SELECT (k) ON t, simple TO regress_vp_advise_other;
UPDATE t SET b = 'seen' WHERE k = 1;
UPDATE part1 SET b = 3 WHERE k = 1;
GRANT SELECT ON counted TO regress_vp_advise_other;
SET ROLE regress_vp_advise_other;
SELECT DISTINCT relation FROM vertical_partition.column_updates;
SELECT relation, reason FROM vertical_partition.advise('simple');
SELECT relation, reason FROM vertical_partition.advise('part1');
SELECT vertical_partition_internal.best_split('part1'::regclass, '{}', '{}', '{}', '{}', '{}', '{}', '{}', true, '{}');
SELECT vertical_partition.reset_column_updates();
SET vertical_partition.track_updates = off;
RESET ROLE;
DROP TABLE part;

--
-- Small versions of the transactions New-Order and Payment of TPC-C
--
SET ROLE regress_vp_advise_owner;
CREATE TABLE stock (
  s_i_id int, s_w_id int, s_quantity int,
  s_dist_01 char(24), s_dist_02 char(24), s_dist_03 char(24), s_dist_04 char(24), s_dist_05 char(24),
  s_dist_06 char(24), s_dist_07 char(24), s_dist_08 char(24), s_dist_09 char(24), s_dist_10 char(24),
  s_ytd int, s_order_cnt int, s_remote_cnt int, s_data varchar(50), PRIMARY KEY (s_w_id, s_i_id));
INSERT INTO stock SELECT i, 1, 50, x, x, x, x, x, x, x, x, x, x, 0, 0, 0, repeat('d', 26 + i % 25)
FROM generate_series(1, 200) i, repeat('x', 24) x;
CREATE TABLE customer (
  c_id int, c_d_id int, c_w_id int, c_first varchar(16), c_middle char(2), c_last varchar(16), c_street_1 varchar(20), c_street_2 varchar(20),
  c_city varchar(20), c_state char(2), c_zip char(9), c_phone char(16), c_since timestamp, c_credit char(2), c_credit_lim numeric(12,2),
  c_discount numeric(4,4), c_balance numeric(12,2), c_ytd_payment numeric(12,2), c_payment_cnt int, c_delivery_cnt int, c_data varchar(500),
  PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE INDEX ON customer (c_w_id, c_d_id, c_last, c_first, c_id);
INSERT INTO customer SELECT i, i % 10, 1, 'first' || i, 'OE', 'last' || i % 50, repeat('s', 15), repeat('t', 15), repeat('c', 15), 'ST', '123411111',
  '0123456789012345', '2026-01-01', CASE i % 10 WHEN 0 THEN 'BC' ELSE 'GC' END, 50000, 0.1, -10, 10, 1, 0, repeat('d', 300 + i)
FROM generate_series(1, 200) i;
ANALYZE stock, customer;
RESET ROLE;
DO $$
DECLARE
  a text;
  b text;
BEGIN
  FOR i IN 1 .. 200 LOOP
    PERFORM c_discount, c_last, c_credit FROM customer WHERE c_w_id = 1 AND c_d_id = i % 10 AND c_id = i;
    UPDATE stock SET s_quantity = s_quantity - 5, s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + 0
    WHERE s_w_id = 1 AND s_i_id = i RETURNING s_data, CASE i % 10 WHEN 0 THEN s_dist_10 WHEN 1 THEN s_dist_01 END INTO a, b;
    SELECT c_credit, c_data INTO a, b FROM customer WHERE c_w_id = 1 AND c_d_id = i % 10 AND c_id = i FOR UPDATE;
    IF a = 'BC' THEN
      UPDATE customer SET c_balance = c_balance - 1, c_ytd_payment = c_ytd_payment + 1, c_payment_cnt = c_payment_cnt + 1,
        c_data = left('x' || b, 500) WHERE c_w_id = 1 AND c_d_id = i % 10 AND c_id = i;
    ELSE
      UPDATE customer SET c_balance = c_balance - 1, c_ytd_payment = c_ytd_payment + 1, c_payment_cnt = c_payment_cnt + 1
      WHERE c_w_id = 1 AND c_d_id = i % 10 AND c_id = i;
    END IF;
  END LOOP;
END $$;
SET ROLE regress_vp_advise_owner;
CREATE TABLE advice AS SELECT * FROM vertical_partition.advise(min_bytes => 0, min_updates => 100);
RESET ROLE;
SET vertical_partition.track_updates = off;
SELECT relation, hot_columns, columns, method, updates, reason, blockers, statement, undo FROM advice ORDER BY relation::text \gx
SELECT relation, row_bytes_now, hot_row_bytes, cold_row_bytes, round(written_now::numeric, 1) AS now, round(written_split::numeric, 1) AS split,
  round(hot_share::numeric, 2) AS hot_share, written_split < 0.55 * written_now AS worth_it
FROM advice ORDER BY relation::text;
-- Small tables, and tables without updates, are left out.
SELECT count(*) FROM vertical_partition.advise();
SELECT count(*) FROM vertical_partition.advise(min_bytes => 0, min_updates => 1000000);
-- The rows have the size that the advice gives.
CREATE FUNCTION actual(rel regclass) RETURNS numeric LANGUAGE plpgsql AS
$$DECLARE bytes numeric; BEGIN EXECUTE format('SELECT avg((pg_column_size(x.*) + 7) / 8 * 8 + 4) FROM %s x', rel) INTO bytes; RETURN bytes; END$$;
SELECT relation, round(actual(relation) / row_bytes_now::numeric, 2) AS actual FROM advice ORDER BY relation::text;
SET ROLE regress_vp_advise_owner;
SELECT statement FROM advice ORDER BY relation::text \gexec
RESET ROLE;
SELECT v.relname, round(actual(p.hot) / a.hot_row_bytes::numeric, 2) AS hot, round(actual(p.cold) / a.cold_row_bytes::numeric, 2) AS cold
FROM advice a JOIN pg_class v ON 'vpa.' || v.relname = split_part(a.statement, '''', 2) CROSS JOIN LATERAL vertical_partition_internal.layout(v.oid) p
ORDER BY v.relname;

--
-- Writes to split views are counted for the parts, and the advice is about the present split
--
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET enable_indexonlyscan;
SELECT relation, method, reason, statement FROM vertical_partition.advise('stock');
SET vertical_partition.track_updates = on;
SELECT vertical_partition.reset_column_updates();
-- This UPDATE writes only the hot part.
UPDATE stock SET s_quantity = s_quantity - 1, s_ytd = s_ytd + 1, s_order_cnt = s_order_cnt + 1, s_remote_cnt = 0 WHERE s_w_id = 1 AND s_i_id <= 150;
-- The trigger function write_row() runs these statements.
UPDATE stock SET s_quantity = s_quantity - 1 WHERE s_w_id = 1 AND s_i_id <= 20 RETURNING s_i_id / 20 AS number, left(s_data, 1) AS data;
UPDATE customer SET c_data = 'cold', c_balance = 0 WHERE c_w_id = 1 AND c_id <= 10;
UPDATE customer SET c_data = 'cold' WHERE c_w_id = 1 AND c_id <= 5;
SELECT s_quantity FROM stock WHERE s_w_id = 1 AND s_i_id = 1;
SELECT relation, column_name, updates, rows_set FROM counted WHERE rows_set > 0 ORDER BY relation::text, column_name;
ANALYZE stock_hot, stock_cold;
SET vertical_partition.track_updates = off;
SELECT relation, hot_columns, columns, method, updates, row_bytes_now, hot_row_bytes, cold_row_bytes, reason, statement FROM vertical_partition.advise('stock') \gx
-- Other users do not see the parts, and without a privilege they do not see the view.
SET ROLE regress_vp_advise_other;
SELECT relation FROM vertical_partition.advise(min_bytes => 0, min_updates => 0);
SELECT relation, reason FROM vertical_partition.advise('stock');
RESET ROLE;
GRANT SELECT ON stock TO regress_vp_advise_other;
SET ROLE regress_vp_advise_other;
SELECT DISTINCT relation FROM vertical_partition.column_updates ORDER BY 1;
SELECT relation, reason FROM vertical_partition.advise('stock');
RESET ROLE;
-- With row_pointer, a few cold rows may move, but not many.
SET vertical_partition.track_updates = on;
UPDATE stock SET s_data = s_data || 'x' WHERE s_w_id = 1 AND s_i_id <= 5;
SELECT method, reason FROM vertical_partition.advise('stock');
UPDATE stock SET s_data = s_data || 'x' WHERE s_w_id = 1 AND s_i_id <= 20;
SET vertical_partition.track_updates = off;
SELECT method, reason, statement, undo FROM vertical_partition.advise('stock') \gx
SELECT statement FROM vertical_partition.advise('stock') \gexec
-- If all columns are updated, the advice is not to split the table.
SET vertical_partition.track_updates = on;
DO $$ BEGIN FOR i IN 1 .. 20 LOOP UPDATE stock SET s_data = i, s_quantity = i, s_dist_01 = i, s_dist_02 = i, s_dist_03 = i, s_dist_04 = i,
  s_dist_05 = i, s_dist_06 = i, s_dist_07 = i, s_dist_08 = i, s_dist_09 = i, s_dist_10 = i WHERE s_w_id = 1; END LOOP; END $$;
SET vertical_partition.track_updates = off;
SELECT method, reason, statement, undo FROM vertical_partition.advise('stock') \gx
SELECT statement FROM vertical_partition.advise('stock') \gexec
SELECT relkind, (SELECT count(*) FROM stock) AS rows FROM pg_class WHERE oid = 'stock'::regclass;

--
-- Advice without counts, and columns that cannot be cold
--
CREATE TABLE plain (
  id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, counter int, code text NOT NULL DEFAULT 'none', description text, note text CHECK (note <> 'bad'),
  low text, high text, CHECK (low < high), base text, generated text GENERATED ALWAYS AS (upper(base)) STORED, indexed text, expression text,
  partial text, excluded text, referenced text, watched text, measured_1 text, measured_2 text,
  EXCLUDE USING hash (excluded WITH =));
CREATE INDEX ON plain (indexed);
CREATE INDEX ON plain (lower(expression)) WHERE partial IS NULL;
CREATE STATISTICS plain_measured ON measured_1, measured_2 FROM plain;
CREATE TABLE target (code text PRIMARY KEY);
ALTER TABLE plain ADD FOREIGN KEY (referenced) REFERENCES target;
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER watch BEFORE UPDATE OF watched ON plain FOR EACH STATEMENT EXECUTE FUNCTION nothing();
INSERT INTO plain (counter, code, description, note, low, high, base, indexed, expression, excluded, watched, measured_1, measured_2)
SELECT 0, repeat('c', 100), repeat('d', 200), repeat('n', 100), 'a', 'b', 'base', 'indexed', 'expression', 'excluded' || i, 'watched', 'm', 'n' FROM generate_series(1, 100) i;
SELECT relation, columns, reason FROM vertical_partition.advise('plain');
ANALYZE plain;
SELECT relation, hot_columns, columns, method, row_bytes_now, hot_row_bytes, reason, statement FROM vertical_partition.advise('plain') \gx
SELECT statement FROM vertical_partition.advise('plain') \gexec
-- Test names that need quotes, and a wide key.
CREATE TABLE "odd ""name's\" ("key;" char(40), "k 2" text, "n" int, "cold' col" text, "x\y" text, PRIMARY KEY ("k 2", "key;"));
INSERT INTO "odd ""name's\" SELECT i, i, 1, repeat('c', 500), repeat('y', 200) FROM generate_series(1, 100) i;
ANALYZE "odd ""name's\";
SELECT statement FROM vertical_partition.advise('"odd ""name''s\"');
SELECT statement FROM vertical_partition.advise('"odd ""name''s\"') \gexec
SELECT hot, cold, method, key_columns, cold_columns FROM vertical_partition_internal.layout('"odd ""name''s\"'::regclass);
-- row_pointer is not proposed for a published table.
SET vertical_partition.track_updates = on;
CREATE TABLE published (k int PRIMARY KEY, n int, cold text);
INSERT INTO published SELECT i, i, repeat('c', 300) FROM generate_series(1, 100) i;
ANALYZE published;
UPDATE published SET n = n + 1;
SELECT method FROM vertical_partition.advise('published');
SET client_min_messages = error;
CREATE PUBLICATION regress_vp_advise FOR TABLE published;
SET client_min_messages = warning;
SELECT method FROM vertical_partition.advise('published');
DROP PUBLICATION regress_vp_advise;
-- row_pointer is also not proposed if cold columns are updated.
UPDATE published SET cold = cold || 'x' WHERE k = 1;
SELECT method FROM vertical_partition.advise('published');
-- Update all columns.
UPDATE published SET cold = cold || 'x', n = 0;
UPDATE published SET cold = cold || 'x', n = 0;
SELECT method, reason FROM vertical_partition.advise('published');
SET vertical_partition.track_updates = off;

--
-- The sizes on disk, before and after each statement, for each method, and the way back
--
SET client_min_messages = error;
SET enable_seqscan = off;
CREATE TABLE sized (a int, b text, n int, note text, wide text, PRIMARY KEY (a, b));
INSERT INTO sized SELECT i, 'b' || i, i, 'note ' || i, repeat('w', 100 + i % 300) FROM generate_series(1, 20000) i;
CREATE INDEX ON sized (n);
VACUUM ANALYZE sized;
SET vertical_partition.track_updates = on;
SELECT vertical_partition.reset_column_updates();
UPDATE sized SET n = n + 1 WHERE a <= 100;
SET vertical_partition.track_updates = off;
VACUUM FULL ANALYZE sized;
-- Compare the estimate before the statement with the size that it leaves.
CREATE FUNCTION measured(rel regclass) RETURNS bigint LANGUAGE sql AS
$$SELECT coalesce((SELECT hot_bytes + cold_bytes FROM vertical_partition.status WHERE relation = rel), pg_total_relation_size(rel))$$;
CREATE FUNCTION try(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  a record;
BEGIN
  SELECT * INTO a FROM vertical_partition.advise('sized');
  RETURN NEXT format('now as measured: %s', a.bytes_now = measured('sized'));
  EXECUTE coalesce(statement, a.statement);
  RETURN NEXT format('%s: within 5 %%: %s', coalesce(statement, a.statement), abs(measured('sized') - a.bytes_after) < 0.05 * a.bytes_after);
  EXECUTE a.undo;
  RETURN NEXT format('%s: as before: %s', a.undo, abs(measured('sized') - a.bytes_now) < 0.05 * a.bytes_now);
END $$;
SELECT try(NULL);
-- A few updates of a cold column, so that it cannot be found by its TID.
SET vertical_partition.track_updates = on;
UPDATE sized SET n = n + 1 WHERE a <= 100;
UPDATE sized SET note = note || 'x', wide = wide || 'x' WHERE a <= 2;
SET vertical_partition.track_updates = off;
VACUUM FULL ANALYZE sized;
SELECT try(NULL);
-- Only one of these columns is cold, so the statement splits anew.
SELECT vertical_partition.split('sized', '{note}');
SET vertical_partition.track_updates = on;
UPDATE sized SET n = n + 1 WHERE a <= 100;
SET vertical_partition.track_updates = off;
VACUUM FULL ANALYZE sized_hot, sized_cold;
SELECT try(NULL);
SELECT vertical_partition.merge('sized');
-- Updates of all columns, so the statement merges.
SELECT vertical_partition.split('sized', '{note,wide}');
SELECT columns, bytes_after = bytes_now AS stays, reason, blockers, statement, undo FROM vertical_partition.advise('sized');
SET vertical_partition.track_updates = on;
UPDATE sized SET n = n + 1, note = note || 'x', wide = wide || 'x' WHERE a <= 1000;
SET vertical_partition.track_updates = off;
VACUUM FULL ANALYZE sized_hot, sized_cold;
SELECT try(NULL);
SELECT vertical_partition.merge('sized');
SET vertical_partition.track_updates = on;
UPDATE sized SET n = n + 1 WHERE a <= 100;
SET vertical_partition.track_updates = off;
-- A table that cannot be split now shows what a split would save, and the obstacles.
CREATE VIEW on_sized AS SELECT * FROM sized;
CREATE TABLE sized_cold ();
SELECT relation, columns, bytes_after IS NOT NULL AS estimated, blockers, statement, undo FROM vertical_partition.advise(min_bytes => 1000000, min_updates => 100);
DROP VIEW on_sized;
DROP TABLE sized_cold;
DROP TABLE sized;
RESET enable_seqscan;
SET client_min_messages = warning;

--
-- Relations that cannot be split
--
CREATE TABLE no_key (a int, b text);
CREATE TABLE deferrable_key (a int PRIMARY KEY DEFERRABLE, b text);
CREATE TABLE always (a int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, b text);
CREATE TABLE clash (a int PRIMARY KEY, b text);
CREATE TABLE clash_cold ();
CREATE TABLE parted (a int PRIMARY KEY, b text) PARTITION BY RANGE (a);
CREATE TABLE parent (a int PRIMARY KEY, b text);
CREATE TABLE child (PRIMARY KEY (a)) INHERITS (parent);
CREATE TABLE secure (a int PRIMARY KEY, b text);
ALTER TABLE secure ENABLE ROW LEVEL SECURITY;
CREATE MATERIALIZED VIEW mv AS SELECT 1 AS a;
CREATE TABLE key_only (a int PRIMARY KEY);
INSERT INTO key_only VALUES (1);
CREATE TABLE no_statistics (a int PRIMARY KEY, b text);
CREATE TABLE one_column (a int PRIMARY KEY, b text);
INSERT INTO one_column SELECT i, repeat('b', 500) FROM generate_series(1, 10) i;
ANALYZE key_only, one_column, t;
SELECT x AS relation, a.reason, a.blockers, a.statement
FROM unnest('{no_key, deferrable_key, always, clash, parted, parent, child, secure, mv, key_only, one_column, no_statistics, temporary, v, t, customer_hot, customer_cold, pg_catalog.pg_class}'::regclass[])
  WITH ORDINALITY x (x, ord) CROSS JOIN LATERAL vertical_partition.advise(x) a ORDER BY ord;
SELECT relation FROM vertical_partition.advise(0);
-- Test arguments that are not possible for any table.
SELECT vertical_partition_internal.best_split('no_key'::regclass, '{1}', '{4}', '{3}', '{4}', '{0}', '{f}', '{t}', true, '{}');
SELECT vertical_partition_internal.best_split('no_key'::regclass, '{0}', '{4}', '{4}', '{4}', '{0}', '{f}', '{t}', true, '{}');
SELECT vertical_partition_internal.best_split('no_key'::regclass, '{1}', '{-1}', '{4}', '{NaN}', '{0}', '{f}', '{t}', true, '{}');
SELECT vertical_partition_internal.best_split('no_key'::regclass, '{1}', '{4,4}', '{4}', '{4}', '{0}', '{f}', '{t}', true, '{}');
SELECT vertical_partition_internal.best_split('no_key'::regclass, '{1}', '{4}', '{4}', '{NULL}', '{0}', '{f}', '{t}', true, '{}');
SELECT vertical_partition_internal.best_split(0, '{1}', '{4}', '{4}', '{4}', '{0}', '{f}', '{t}', true, '{}');

SELECT vertical_partition.reset_column_updates();
SET client_min_messages = error;
DROP SCHEMA vpa CASCADE;
DROP ROLE regress_vp_advise_owner, regress_vp_advise_other;
