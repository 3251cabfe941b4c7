--
-- Fixed-length strings in indexes, joins and keys.  The planner can use the index for a constant, a
-- parameter and a column of every string type on either side, with the default search_path and with
-- an empty one.
--
CREATE EXTENSION compact_char24;

\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/plan_has.sql'
\i :file

CREATE TABLE keys (k compact_char24 PRIMARY KEY, t text, v varchar(24), b char(24), n int);
INSERT INTO keys SELECT 'key ' || i, 'key ' || i, 'key ' || i, 'key ' || i, i FROM generate_series(1, 2000) i;
CREATE INDEX keys_hash ON keys USING hash (k);
ANALYZE keys;
CREATE TABLE small (t text, v varchar(24), b char(24));
INSERT INTO small SELECT t, v, b FROM keys WHERE n % 500 = 0;
ANALYZE small;

-- Test constants.
CREATE TABLE conditions (id int, condition text);
INSERT INTO conditions VALUES
  (1, $$k = 'key 7'$$), (2, $$'key 7' = k$$),
  (3, $$k = 'key 7'::text$$), (4, $$'key 7'::text = k$$),
  (5, $$k = 'key 7'::varchar$$), (6, $$'key 7'::varchar = k$$),
  (7, $$k = 'key 7'::bpchar$$), (8, $$'key 7'::bpchar = k$$),
  (9, $$k = 'key 7'::compact_char24$$), (10, $$k = 'key 7      '::bpchar$$),
  (11, $$k IN ('key 7', 'key 8')$$), (12, $$k = ANY (ARRAY['key 7', 'key 8']::text[])$$),
  (16, $$k = 'key 7   '::varchar$$), (17, $$k = ANY (ARRAY['key 7', 'key 8']::varchar[])$$),
  (13, $$k > 'key 998' AND k < 'key 9999'::text$$), (14, $$k >= 'key 999'::bpchar$$),
  (15, $$'key 1001'::text > k AND 'key 10'::bpchar <= k$$);
SET enable_seqscan = off;
SELECT id, plan_has('SELECT n FROM keys WHERE ' || condition, 'Index Cond: .*k') FROM conditions ORDER BY id;
SET search_path = '';
SELECT id, public.plan_has('SELECT n FROM public.keys WHERE ' || replace(condition, 'compact_char', 'public.compact_char'), 'Index Cond: .*k')
FROM public.conditions ORDER BY id;
RESET search_path;
-- A sequential scan finds the same rows.
CREATE FUNCTION found(condition text) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
  r int[];
BEGIN
  EXECUTE 'SELECT array_agg(n ORDER BY n) FROM keys WHERE ' || condition INTO r;
  RETURN r;
END $$;
CREATE TABLE by_index AS SELECT id, found(condition) AS rows FROM conditions;
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SELECT id, c.rows, found(condition) IS NOT DISTINCT FROM c.rows AS same
FROM conditions JOIN by_index c USING (id) ORDER BY id;
RESET enable_seqscan;
RESET enable_indexscan;
RESET enable_indexonlyscan;
RESET enable_bitmapscan;

-- Test parameters, as a driver sends them.
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
PREPARE p_unknown AS SELECT n FROM keys WHERE k = $1;
PREPARE p_text(text) AS SELECT n FROM keys WHERE k = $1;
PREPARE p_varchar(varchar) AS SELECT n FROM keys WHERE $1 = k;
PREPARE p_bpchar(bpchar) AS SELECT n FROM keys WHERE k = $1;
SELECT plan_has($$EXECUTE p_unknown('key 7')$$, 'Index Cond'), plan_has($$EXECUTE p_text('key 7')$$, 'Index Cond'),
       plan_has($$EXECUTE p_varchar('key 7')$$, 'Index Cond'), plan_has($$EXECUTE p_bpchar('key 7')$$, 'Index Cond');
EXECUTE p_unknown('key 7');
EXECUTE p_text('key 7');
EXECUTE p_varchar('key 7');
-- A value with trailing blanks that is sent as varchar is compared as text, and is not found.
EXECUTE p_varchar('key 7                   ');
EXECUTE p_bpchar('key 7 ');
RESET plan_cache_mode;

-- Comparisons of other string types are as before.  Such comparisons use no operator of this
-- type, and their indexes are used.
CREATE TABLE others (t text, v varchar(24), b char(24), n name, c "char");
INSERT INTO others SELECT 'key ' || i, 'key ' || i, 'key ' || i, 'key ' || i, 'x' FROM generate_series(1, 1000) i;
CREATE INDEX ON others (t);
CREATE INDEX ON others (v);
CREATE INDEX ON others (b);
CREATE INDEX ON others (n);
ANALYZE others;
SELECT col, side, plan_has(format(CASE side WHEN 1 THEN 'SELECT 1 FROM others WHERE %I = %L'
                                            ELSE 'SELECT 1 FROM others WHERE %2$L = %1$I' END,
                                  col, 'key 7 and much more than 24 bytes'),
                           'Index Cond: .*' || CASE WHEN col = 'v' THEN '::text' ELSE col END)
FROM (VALUES ('t'), ('v'), ('b'), ('n')) c (col), (VALUES (1), (2)) s (side) ORDER BY 1, 2;
PREPARE p_others AS SELECT t FROM others WHERE v = $1;
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'p_others';
SELECT plan_has('SELECT 1 FROM others x JOIN others y ON x.v = y.t', 'compact', false) AS text_varchar,
       plan_has('SELECT 1 FROM others x JOIN others y ON x.v = y.b', 'compact', false) AS varchar_char,
       plan_has('SELECT 1 FROM others x JOIN others y ON x.v < y.v', 'compact', false) AS varchar_varchar;
DROP TABLE others;

-- Test with only the hash index.
BEGIN;
ALTER TABLE keys DROP CONSTRAINT keys_pkey;
SELECT plan_has($$SELECT n FROM keys WHERE k = 'key 7'$$, 'keys_hash.*Index Cond'),
       plan_has($$SELECT n FROM keys WHERE k = 'key 7'::text$$, 'keys_hash.*Index Cond'),
       plan_has($$SELECT n FROM keys WHERE 'key 7'::varchar = k$$, 'keys_hash.*Index Cond'),
       plan_has($$SELECT n FROM keys WHERE k = 'key 7'::bpchar$$, 'keys_hash.*Index Cond');
SELECT n FROM keys WHERE k = 'key 7';
SELECT n FROM keys WHERE k = 'key 7'::text;
SELECT n FROM keys WHERE 'key 7'::varchar = k;
SELECT n FROM keys WHERE k = 'key 7'::bpchar;
ROLLBACK;

-- Test nested loops with the index on the inner side, hash joins and merge joins, both inner and
-- full joins.
SET enable_seqscan = on;
SET enable_mergejoin = off;
SET enable_hashjoin = off;
SELECT plan_has('SELECT n FROM small s JOIN keys ON k = s.t', 'Index Cond'),
       plan_has('SELECT n FROM small s JOIN keys ON s.v = k', 'Index Cond'),
       plan_has('SELECT n FROM small s JOIN keys ON k = s.b', 'Index Cond');
SELECT n FROM small s JOIN keys ON k = s.t ORDER BY 1;
SELECT n FROM small s JOIN keys ON s.v = k ORDER BY 1;
SELECT n FROM small s JOIN keys ON k = s.b ORDER BY 1;
SET enable_hashjoin = on;
SET enable_nestloop = off;
SELECT plan_has('SELECT x.n FROM keys x JOIN keys z ON x.k = z.t', 'Hash Cond: \([xz].[tk] = [xz].[tk]\)');
SELECT count(*) FROM keys x JOIN keys y ON x.k = y.k;
SELECT count(*) FROM keys x JOIN keys y ON x.k = y.t;
SELECT count(*) FROM keys x JOIN keys y ON x.v = y.k;
SELECT count(*) FROM keys x JOIN keys y ON x.b = y.k;
SELECT count(*) FROM keys x FULL JOIN keys y ON x.b = y.k;
SELECT count(*) FROM keys x FULL JOIN (SELECT t || 'x' AS t FROM keys) y ON x.k = y.t;
SET enable_mergejoin = on;
SET enable_hashjoin = off;
SELECT plan_has('SELECT 1 FROM keys x JOIN keys y ON x.k = y.t', 'Merge Cond'),
       plan_has('SELECT 1 FROM keys x JOIN keys y ON x.b = y.k', 'Merge Cond');
SELECT count(*) FROM keys x JOIN keys y ON x.k = y.k;
SELECT count(*) FROM keys x JOIN keys y ON x.k = y.t;
SELECT count(*) FROM keys x JOIN keys y ON x.v = y.k;
SELECT count(*) FROM keys x JOIN keys y ON x.b = y.k;
SELECT count(*) FROM keys x FULL JOIN keys y ON x.b = y.k;
-- Here only the operator family has an equality of text and bpchar.
SELECT count(*) FROM keys x JOIN keys y ON x.k = y.t JOIN keys z ON x.k = z.b;
RESET enable_hashjoin;
RESET enable_nestloop;
RESET enable_mergejoin;

-- With a constant key, the plan needs no sort.
SELECT plan_has($$SELECT n FROM keys WHERE k = 'key 7'::text ORDER BY k$$, 'Sort', false) AS sorts;
RESET enable_seqscan;

-- Test a semijoin, an aggregate and a set operation.
SELECT count(*) FROM keys WHERE k IN (SELECT t FROM small);
SELECT count(*) FROM keys WHERE t IN (SELECT k FROM keys WHERE n <= 5);
SELECT count(*) FROM (SELECT k FROM keys UNION SELECT k FROM keys) u;
SELECT count(DISTINCT k) FROM keys;
SELECT n % 2 AS odd, max(k), min(k) FROM keys GROUP BY 1 ORDER BY 1;

-- Sort many values whose abbreviated keys are equal.
CREATE TABLE sorted AS
SELECT k, row_number() OVER (ORDER BY k) AS by_compact, row_number() OVER (ORDER BY b) AS by_char
FROM (SELECT ('prefix__' || md5(i::text))::char(24)::compact_char24 AS k,
             ('prefix__' || md5(i::text))::char(24) AS b
      FROM generate_series(1, 20000) i) s;
SELECT count(*) AS different FROM sorted WHERE by_compact <> by_char;
CREATE UNIQUE INDEX ON sorted (k);
SELECT count(*) FROM (SELECT k FROM sorted ORDER BY k LIMIT 10) s;

-- Test uniqueness, upsert and deduplication.
INSERT INTO keys (k, n) VALUES ('key 7   ', 0);
INSERT INTO keys (k, n) VALUES ('key 7', -7) ON CONFLICT (k) DO UPDATE SET n = excluded.n RETURNING k, n;
CREATE TABLE many (k compact_char24);
INSERT INTO many SELECT 'value ' || i % 10 FROM generate_series(1, 20000) i;
CREATE INDEX many_k ON many (k);
CREATE INDEX many_nodup ON many (k) WITH (deduplicate_items = off);
SELECT pg_relation_size('many_k') * 3 < pg_relation_size('many_nodup') AS deduplicated;
DROP INDEX many_nodup;

-- The planner uses most common values and histograms for estimates with every string type.
ANALYZE many;
SELECT n_distinct, most_common_vals IS NOT NULL AS mcv, attname FROM pg_stats WHERE tablename = 'many';
SELECT histogram_bounds IS NOT NULL AS histogram, correlation IS NOT NULL AS correlation FROM pg_stats WHERE tablename = 'keys' AND attname = 'k';
CREATE FUNCTION estimate(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
  RETURN (plan -> 0 -> 'Plan' ->> 'Plan Rows')::int;
END $$;
SELECT estimate($$SELECT * FROM many WHERE k = 'value 1'$$) BETWEEN 1800 AND 2200 AS own,
       estimate($$SELECT * FROM many WHERE k = 'value 1'::text$$) BETWEEN 1800 AND 2200 AS text,
       estimate($$SELECT * FROM many WHERE 'value 1'::bpchar = k$$) BETWEEN 1800 AND 2200 AS bpchar,
       estimate($$SELECT * FROM many WHERE k < 'value 5'::text$$) BETWEEN 9000 AND 11000 AS range;

-- Test foreign keys from and to other string types.
CREATE TABLE ref_text (k text REFERENCES keys ON UPDATE CASCADE);
CREATE TABLE ref_char (k char(24) REFERENCES keys ON UPDATE CASCADE);
CREATE TABLE ref_compact (k compact_char24 REFERENCES keys ON UPDATE CASCADE ON DELETE SET NULL);
INSERT INTO ref_text VALUES ('key 9');
INSERT INTO ref_char VALUES ('key 9');
INSERT INTO ref_compact VALUES ('key 9'), ('key 10');
INSERT INTO ref_text VALUES ('no key');
CREATE TABLE ref_varchar (k varchar REFERENCES keys);
INSERT INTO ref_compact VALUES ('no key');
UPDATE keys SET k = 'key nine' WHERE k = 'key 9';
TABLE ref_text;
TABLE ref_char;
DELETE FROM keys WHERE k = 'key 10';
SELECT k FROM ref_compact ORDER BY k NULLS LAST;
DELETE FROM keys WHERE k = 'key nine';
CREATE TABLE text_keys (k text PRIMARY KEY);
INSERT INTO text_keys VALUES ('a');
CREATE TABLE ref_to_text (k compact_char24 REFERENCES text_keys);
INSERT INTO ref_to_text VALUES ('a');
INSERT INTO ref_to_text VALUES ('b');

-- Test partitions.
CREATE TABLE parted (k compact_char24, n int) PARTITION BY LIST (k);
CREATE TABLE parted_a PARTITION OF parted FOR VALUES IN ('a', 'b');
CREATE TABLE parted_c PARTITION OF parted FOR VALUES IN ('c');
INSERT INTO parted VALUES ('a ', 1), ('c', 2);
SELECT tableoid::regclass, k FROM parted ORDER BY 2;
SELECT plan_has($$SELECT * FROM parted WHERE k = 'c'::text$$, 'parted_a', false) AS scanned;
CREATE TABLE hashed (k compact_char24) PARTITION BY HASH (k);
CREATE TABLE hashed_0 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE hashed_1 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO hashed SELECT 'v' || i FROM generate_series(1, 100) i;
SELECT count(*), count(DISTINCT tableoid) FROM hashed;
SELECT count(*) FROM hashed WHERE k = 'v42';

-- Test a parallel plan.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT plan_has('SELECT k, count(*) FROM sorted GROUP BY k', 'Gather');
SELECT count(*), sum(c) FROM (SELECT k, count(*) AS c FROM sorted GROUP BY k) s;
SELECT k FROM sorted ORDER BY k DESC LIMIT 2;
RESET ALL;

-- Even if there are many lengths, text is still sorted and joined by its own operator family.
SELECT plan_has('SELECT 1 FROM text_keys ORDER BY k', 'Sort', false) AS sorts FROM set_config('enable_seqscan', 'off', true);

DROP TABLE keys, small, conditions, by_index, sorted, many, ref_text, ref_char, ref_varchar, ref_compact,
  ref_to_text, text_keys, parted, hashed;
DROP FUNCTION plan_has, found, estimate;
DROP EXTENSION compact_char24;
