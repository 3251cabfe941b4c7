-- Record which rows are used, and store the hot ones together.
LOAD 'row_heat';
SET row_heat.sample_rate = 1;
SET enable_seqscan = off;
CREATE SCHEMA heat;
SET search_path = heat;
CREATE TABLE t (a int, b text, pad text, n int DEFAULT 0, PRIMARY KEY (b, a));
INSERT INTO t SELECT i % 100, 'key ' || i, repeat('x', 100), 0 FROM generate_series(1, 10000) i;
CREATE TABLE plain AS TABLE t;
VACUUM ANALYZE t;

-- A table without recorded accesses, and a table without a key
SELECT row_heat.cluster_by_heat('t');
CALL row_heat.pack('t');
SELECT * FROM row_heat.advise('t');
SELECT row_heat.cluster_by_heat('plain');
CALL row_heat.pack('plain');

-- Use every hundredth row, 20 times each, by index scans.
CREATE PROCEDURE use_rows(times int, every int) LANGUAGE plpgsql AS $$
BEGIN
	FOR j IN 1 .. times LOOP
		FOR i IN 1 .. 10000 / every LOOP
			PERFORM pad FROM heat.t WHERE a = i * every % 100 AND b = 'key ' || i * every;
		END LOOP;
		COMMIT;
	END LOOP;
END $$;
CALL use_rows(20, 100);
SELECT relation, accesses, rows, round(share_1::numeric, 2) AS share_1,
	hot_pages > 60 AS many_pages_now, packed_pages < 10 AS few_pages_packed
FROM row_heat.relations WHERE relation = 't'::regclass;

SELECT relation, certainty, hot_bytes_after < hot_bytes_now / 5 AS gain, reason ~ '^[5-9]0 % of 2000 recorded accesses' AS reason,
	statement FROM row_heat.advise('t');

-- advise() tells whether updates need room in hot pages.  Statistics of updates are seen at once.
SELECT risks FROM row_heat.advise('t');
UPDATE t SET n = 0 WHERE a = 0 AND b LIKE 'key %00';
SELECT pg_stat_force_next_flush();
SELECT risks FROM row_heat.advise('t');
ALTER TABLE t SET (fillfactor = 90);
SELECT risks FROM row_heat.advise('t');
ALTER TABLE t RESET (fillfactor);

-- A sequential scan, an index-only scan, and a plan that is only explained record nothing.
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM t WHERE a = 1 AND b = 'key 1';
RESET enable_indexscan;
SELECT a FROM t WHERE a = 0 AND b = 'key 100';
EXPLAIN (COSTS OFF) SELECT pad FROM t WHERE a = 0 AND b = 'key 100';
SELECT accesses FROM row_heat.relations WHERE relation = 't'::regclass;

-- An update, a bitmap scan, a TID scan, and the rows of an aborted transaction count.
UPDATE t SET n = n + 1 WHERE a = 0 AND b = 'key 100';
SELECT accesses FROM row_heat.relations WHERE relation = 't'::regclass;
SET enable_indexscan = off;
SET enable_bitmapscan = on;
SET enable_seqscan = off;
SELECT n FROM t WHERE a = 0 AND b IN ('key 100', 'key 200') ORDER BY n;
SELECT accesses FROM row_heat.relations WHERE relation = 't'::regclass;
SELECT n FROM t WHERE ctid = '(0,1)';
BEGIN;
SELECT n FROM t WHERE ctid = '(0,1)';
SELECT 1 / n FROM t WHERE ctid = '(0,1)';
ROLLBACK;
SELECT accesses FROM row_heat.relations WHERE relation = 't'::regclass;
RESET enable_indexscan;

-- Rewrite the table.  The hottest row comes first.
DO $$ BEGIN FOR i IN 1 .. 300 LOOP PERFORM pad FROM heat.t WHERE a = 0 AND b = 'key 5000'; COMMIT; END LOOP; END $$;
SELECT row_heat.cluster_by_heat('t');
SELECT ctid FROM t WHERE a = 0 AND b = 'key 5000';
SELECT count(*), max((ctid::text::point)[0]) < 3 AS first FROM t WHERE a = 0 AND b LIKE 'key %00';
SET row_heat.sample_rate = 0;
SELECT count(*) FROM t JOIN plain USING (a, b, pad);
SET row_heat.sample_rate = 1;
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 't'::regclass;

-- Statistics that are older than the rows do not matter.
CREATE TABLE refilled (id int PRIMARY KEY, pad text) WITH (vacuum_truncate = off, autovacuum_enabled = off);
INSERT INTO refilled SELECT i, repeat('x', 400) FROM generate_series(1, 2000) i;
DELETE FROM refilled;
VACUUM ANALYZE refilled;
INSERT INTO refilled SELECT i, repeat('x', 400) FROM generate_series(1, 2000) i;
DO $$ BEGIN FOR i IN 1 .. 1000 LOOP PERFORM pad FROM heat.refilled WHERE id = i % 20 * 100 + 1; COMMIT; END LOOP; END $$;
SELECT rows > 0 AS rows, packed_pages < hot_pages AS gain FROM row_heat.relations WHERE relation = 'refilled'::regclass;
SELECT relation, statement FROM row_heat.advise('refilled');

-- The key is the same when heat is recorded and when rows are sorted by it.  Before 18, a primary
-- key that is deferrable is no key.
CREATE TABLE two_keys (id int PRIMARY KEY DEFERRABLE, code text NOT NULL, pad text, UNIQUE (code) INCLUDE (id));
ALTER TABLE two_keys REPLICA IDENTITY USING INDEX two_keys_code_id_key;
INSERT INTO two_keys SELECT i, 'code ' || i, repeat('x', 400) FROM generate_series(1, 2000) i;
VACUUM ANALYZE two_keys;
DO $$ BEGIN FOR i IN 1 .. 1000 LOOP PERFORM pad FROM heat.two_keys WHERE id = i % 20 * 100 + 1; COMMIT; END LOOP; END $$;
ALTER TABLE two_keys CLUSTER ON two_keys_pkey;
SELECT row_heat.cluster_by_heat('two_keys');
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'two_keys'::regclass AND indisclustered;
SELECT count(*), max((ctid::text::point)[0]) < 3 AS first FROM two_keys WHERE id % 100 = 1;

-- Now there is nothing to gain.
SELECT row_heat.cluster_by_heat('t');
CALL row_heat.pack('t');
