--
-- Test fixed-length strings: LIKE, regular expressions and ^@ with their use of indexes and their
-- estimates, min and max, BRIN, and expressions with two lengths.
--
CREATE EXTENSION compact_char24;
CREATE EXTENSION compact_char8;

\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/plan_has.sql'
\i :file
-- Return the conditions on an index in the plan, with k instead of the column name t.
CREATE FUNCTION index_cond(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ 'Index Cond: ' THEN
      RETURN regexp_replace(regexp_replace(line, '.*Index Cond: ', ''), '\mt (?=[<>=])', 'k ', 'g');
    END IF;
  END LOOP;
  RETURN NULL;
END $$;

--
-- Values match like text without trailing blanks
--
CREATE TABLE words (id int, c compact_char24, t text);
INSERT INTO words SELECT id, w, rtrim(w, ' ') FROM (VALUES
  (1, 'abc'), (2, 'abc   '), (3, ''), (4, ' abc'), (5, 'ABC'), (6, 'a_c'), (7, 'a%c'),
  (8, 'a\c'), (9, E'ab\nc'), (10, 'äöü'), (11, 'ÄÖÜ'), (12, 'äö'), (13, NULL),
  (14, 'abcdefghijklmnopqrstuvwx'), (15, '日本語'), (16, 'a.c')) v (id, w);
CREATE TABLE patterns (p text);
INSERT INTO patterns VALUES (''), ('%'), ('abc'), ('abc%'), ('abc '), ('%c'), ('a_c'), ('a\_c'), ('a\%c'),
  ('a\\c'), ('_b%'), ('ä%'), ('Ä_Ü'), ('日_語'), ('^abc'), ('^a.c$'), ('b'), ('^(abc|äö)'), ('^日'), ('a\.c'), (NULL);
SELECT count(*) AS pairs,
       count(*) FILTER (WHERE (c LIKE p) IS DISTINCT FROM (t LIKE p)) AS "like",
       count(*) FILTER (WHERE (c NOT LIKE p) IS DISTINCT FROM (t NOT LIKE p)) AS "nlike",
       count(*) FILTER (WHERE (c ILIKE p) IS DISTINCT FROM (t ILIKE p)) AS "ilike",
       count(*) FILTER (WHERE (c NOT ILIKE p) IS DISTINCT FROM (t NOT ILIKE p)) AS "nilike",
       count(*) FILTER (WHERE (c ~ p) IS DISTINCT FROM (t ~ p)) AS "re",
       count(*) FILTER (WHERE (c !~ p) IS DISTINCT FROM (t !~ p)) AS "nre",
       count(*) FILTER (WHERE (c ~* p) IS DISTINCT FROM (t ~* p)) AS "icre",
       count(*) FILTER (WHERE (c !~* p) IS DISTINCT FROM (t !~* p)) AS "nicre",
       count(*) FILTER (WHERE (c ^@ p) IS DISTINCT FROM (t ^@ p)) AS "prefix",
       count(*) FILTER (WHERE starts_with(c, p) IS DISTINCT FROM starts_with(t, p)) AS "starts_with",
       count(*) FILTER (WHERE (c SIMILAR TO p) IS DISTINCT FROM (t SIMILAR TO p)) AS "similar",
       count(*) FILTER (WHERE (c LIKE p ESCAPE '') IS DISTINCT FROM (t LIKE p ESCAPE '')) AS "escape"
FROM words, patterns;
-- Show some of the matches as well, to make sure that there are matches.
SELECT p, array_agg(id ORDER BY id) FILTER (WHERE c LIKE p) AS "like", array_agg(id ORDER BY id) FILTER (WHERE c ~* p) AS "icre",
       array_agg(id ORDER BY id) FILTER (WHERE c ^@ p) AS "prefix"
FROM words, patterns WHERE p IN ('abc', 'abc%', 'a\_c', 'ä%', '^abc', '日_語') GROUP BY p ORDER BY p;
SELECT id FROM words WHERE c LIKE 'a#%c' ESCAPE '#' ORDER BY id;
SELECT id FROM words WHERE c LIKE ANY (ARRAY['_bc', 'ä%']) ORDER BY id;
SELECT id FROM words WHERE c NOT LIKE ALL (ARRAY['%c%', 'ä%', '%C']) ORDER BY id;
-- Errors are those of core.
\set VERBOSITY sqlstate
SELECT count(*) FROM words WHERE c LIKE 'abc\';
SELECT count(*) FROM words WHERE c ~ '(';
SELECT count(*) FROM words WHERE (c || '') COLLATE "C" ILIKE ('A%' COLLATE "POSIX");
\set VERBOSITY default

--
-- The parser chooses operators of this type if a value of the type is on the left side, and nowhere
-- else
--
CREATE VIEW resolved AS
SELECT c LIKE 'x%' AS a1, c LIKE 'x%'::text AS a2, c LIKE 'x%'::varchar AS a3, c LIKE 'x'::char(3) AS a4, c LIKE c AS a5,
       c NOT LIKE 'x%' AS a6, c ILIKE 'x%' AS a7, c NOT ILIKE 'x%' AS a8, c ~ 'x' AS a9, c !~ 'x' AS a10, c ~* 'x' AS a11,
       c !~* 'x' AS a12, c ^@ 'x' AS a13, c SIMILAR TO 'x' AS a14, c NOT SIMILAR TO 'x' AS a15, c LIKE 'x' ESCAPE 'x' AS a16,
       c LIKE ANY (ARRAY['x', 'y']) AS a17, c LIKE ANY (ARRAY['x']::varchar[]) AS a18, c LIKE t AS a19,
       c::compact_char24 LIKE (c::text)::compact_char8 AS a20
FROM words;
SELECT refobjid::regoperator, count(*) FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
WHERE r.ev_class = 'resolved'::regclass AND refclassid = 'pg_operator'::regclass GROUP BY 1 ORDER BY refobjid::regoperator::text;
DROP VIEW resolved;
-- A view does not record a dependency on an operator of core.
CREATE DOMAIN dtext AS text;
CREATE TABLE others (t text, v varchar(24), b char(24), n name, d dtext, x bytea, c compact_char24);
CREATE VIEW resolved AS
SELECT t LIKE 'x' AS a1, v LIKE 'x' AS a2, b LIKE 'x' AS a3, n LIKE 'x' AS a4, d LIKE 'x' AS a5, x LIKE 'x' AS a6, 'x' LIKE 'x' AS a7,
       t ~ 'x' AS b1, v ~ 'x' AS b2, b ~ 'x' AS b3, n ~ 'x' AS b4, d ~ 'x' AS b5, 'x' ~ 'x' AS b7,
       t ^@ 'x' AS c1, v ^@ 'x' AS c2, b ^@ 'x' AS c3, n ^@ 'x' AS c4, d ^@ 'x' AS c5, 'x' ^@ 'x' AS c7,
       t ILIKE v AS d1, v ILIKE v AS d2, b ILIKE t AS d3, n ILIKE v AS d4, d ILIKE v AS d5, 'x' ILIKE t AS d7,
       v !~* 'x' AS e1, v !~~ 'x' AS e2, v !~~* 'x' AS e3, v !~ 'x' AS e4, v ~* 'x' AS e5, NULL LIKE NULL AS e6,
       v LIKE ANY (ARRAY['x', 'y']) AS f1, t LIKE c AS f2, v LIKE c AS f3, 'x' LIKE c AS f4, t ~ c AS f5, v ^@ c AS f6,
       max(v) OVER () AS g1, min('x') OVER () AS g2, max(b) OVER () AS g3, min(n) OVER () AS g4, max(d) OVER () AS g5, max(NULL) OVER () AS g6
FROM others;
SELECT refclassid::regclass, pg_describe_object(refclassid, refobjid, 0)
FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
WHERE r.ev_class = 'resolved'::regclass AND refclassid IN ('pg_operator'::regclass, 'pg_proc'::regclass) ORDER BY 2;
SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 'resolved'::regclass AND attname ~ '^g' ORDER BY 1;
PREPARE p1 AS SELECT 1 FROM others WHERE v LIKE $1;
PREPARE p2 AS SELECT 1 FROM others WHERE c LIKE $1;
PREPARE p3 AS SELECT $1 LIKE $2;
PREPARE p4 AS SELECT 1 FROM others WHERE c ~ $1 AND v ~ $2 AND t ^@ $3;
SELECT name, parameter_types FROM pg_prepared_statements ORDER BY 1;
DEALLOCATE ALL;
DROP VIEW resolved;
DROP TABLE others;
DROP DOMAIN dtext;

--
-- Use of an index for a prefix
--
CREATE TABLE keys (k compact_char24 PRIMARY KEY, t text, n int);
INSERT INTO keys SELECT 'key ' || i, 'key ' || i, i FROM generate_series(1, 2000) i;
INSERT INTO keys SELECT w, w, -row_number() OVER () FROM unnest(ARRAY['ke_1', 'ke%2', 'ke\3', 'kez', 'ключ 1', 'ключ 2', '日本', '日本語', E'\x7f', E'ke\x7f1']) w;
ANALYZE keys;
CREATE INDEX keys_t ON keys (t);
CREATE TABLE conditions (id int, condition text);
INSERT INTO conditions VALUES
  (1, $$k LIKE 'key 19%'$$), (2, $$k LIKE 'key 7'$$), (3, $$k LIKE 'key 7%5'$$), (4, $$k LIKE 'ke\_1'$$), (5, $$k LIKE 'ke\%%'$$),
  (6, $$k LIKE 'ke\\%'$$), (7, $$k LIKE 'ключ%'$$), (8, $$k LIKE '日本_'$$), (9, E'k LIKE \'ke\x7f%\''), (10, $$k ~ '^key 19'$$),
  (11, $$k ~ '^key 7$'$$), (12, $$k ~ '^(key 7)$'$$), (13, $$k ~ '^ключ [12]'$$), (14, $$k ~* '^日本'$$), (15, $$k ILIKE '日%'$$),
  (16, $$k ^@ 'key 19'$$), (17, $$k ^@ 'ke%'$$), (18, $$k SIMILAR TO 'key 19%'$$), (19, $$k LIKE 'ke#%2' ESCAPE '#'$$),
  (20, $$k LIKE 'key 19%'::varchar$$), (21, $$k LIKE 'key 1%' AND k > 'key 19'::text$$), (22, $$k LIKE ''$$),
  (23, $$starts_with(k, 'key 19')$$), (24, $$k LIKE 'key 7' AND k ~ '^key'$$), (25, $$k LIKE 'key 19%' COLLATE "POSIX"$$),
  (26, $$k LIKE 'longer than any value of that type can be%'$$), (27, $$k LIKE '%9'$$), (28, $$k NOT LIKE 'key 1%'$$),
  (29, $$k ILIKE 'key 1%'$$), (30, $$k ~ 'key 19'$$), (31, $$k ~ '^key 19|^ke_'$$), (32, $$k LIKE ANY (ARRAY['key 19%'])$$),
  (33, $$k LIKE t$$), (34, $$k LIKE NULL$$), (35, $$k ~* '^1'$$), (36, $$k ^@ ''$$);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT id, condition, index_cond('SELECT n FROM keys WHERE ' || condition) FROM conditions WHERE id IN (1, 2, 7, 11, 16, 27) ORDER BY id;
-- The index conditions are the same as on the text column.  starts_with() is a function of text.
SELECT id, compact, text
FROM (SELECT id, index_cond('SELECT n FROM keys WHERE ' || condition) AS compact,
             index_cond('SELECT n FROM keys WHERE ' || regexp_replace(condition, '\mk\M', 't', 'g')) AS text FROM conditions) s
WHERE compact IS DISTINCT FROM text ORDER BY id;
SET search_path = '';
SELECT public.index_cond($$SELECT n FROM public.keys WHERE k LIKE 'key 19%'$$), public.index_cond($$SELECT n FROM public.keys WHERE k ~ '^key 7$'$$);
RESET search_path;
-- Call the functions of the operators by name.
SELECT index_cond($$SELECT n FROM keys WHERE compact_types.compact_char24_like(k, 'key 19%')$$),
       index_cond($$SELECT n FROM keys WHERE compact_types.compact_char24_starts_with(k, 'key 19')$$),
       index_cond($$SELECT n FROM keys WHERE compact_types.compact_char24_nlike(k, 'key 19%')$$);
-- A sequential scan and the text column find the same rows.
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
SELECT id, cardinality(c.rows) AS rows, found(condition) IS NOT DISTINCT FROM c.rows AS as_seqscan,
       found(regexp_replace(condition, '\mk\M', 't', 'g')) IS NOT DISTINCT FROM c.rows AS as_text
FROM conditions JOIN by_index c USING (id) ORDER BY id;
RESET enable_seqscan;
RESET enable_indexscan;
RESET enable_indexonlyscan;
RESET enable_bitmapscan;

-- Test parameters.  A custom plan knows the pattern, and a generic plan does not.
SET enable_seqscan = off;
PREPARE p_unknown AS SELECT count(*) FROM keys WHERE k LIKE $1;
PREPARE p_varchar(varchar) AS SELECT count(*) FROM keys WHERE k LIKE $1;
PREPARE p_text(text) AS SELECT count(*) FROM keys WHERE k ~ $1;
SET plan_cache_mode = force_custom_plan;
SELECT plan_has($$EXECUTE p_unknown('key 19%')$$, 'Index Cond'), plan_has($$EXECUTE p_varchar('key 19%')$$, 'Index Cond'),
       plan_has($$EXECUTE p_text('^key 19')$$, 'Index Cond');
EXECUTE p_unknown('key 19%');
SET plan_cache_mode = force_generic_plan;
SELECT plan_has($$EXECUTE p_unknown('key 19%')$$, 'Index Cond', false), plan_has($$EXECUTE p_text('^key 19')$$, 'Index Cond', false);
EXECUTE p_unknown('key 19%');
EXECUTE p_varchar('key 19%');
EXECUTE p_text('^key 19');
RESET plan_cache_mode;
DEALLOCATE ALL;

-- A hash index can be used for an exact pattern, and so can an index on a domain.
CREATE TABLE hashed AS SELECT k, n FROM keys;
CREATE INDEX ON hashed USING hash (k);
ANALYZE hashed;
SELECT plan_has($$SELECT n FROM hashed WHERE k LIKE 'key 7'$$, 'Index Cond: \(k = '),
       plan_has($$SELECT n FROM hashed WHERE k LIKE 'key 7%'$$, 'Index Cond', false);
SELECT n FROM hashed WHERE k LIKE 'key 7';
DROP TABLE hashed;
CREATE DOMAIN code AS compact_char24 CHECK (VALUE <> 'bad'::text);
CREATE TABLE coded (k code);
INSERT INTO coded SELECT k FROM keys;
CREATE INDEX ON coded (k);
ANALYZE coded;
SELECT plan_has($$SELECT k FROM coded WHERE k LIKE 'key 7%'$$, 'Index Cond: .*>=.*<'),
       plan_has($$SELECT k FROM coded WHERE k LIKE 'key 7'$$, 'Index Cond: .*= ');
SELECT count(*) FROM coded WHERE k LIKE 'key 7%';
DROP TABLE coded;
DROP DOMAIN code;

-- The collation of the index decides whether the index can be used, as it does for text.
CREATE TABLE collated (c compact_char24 COLLATE "C", d compact_char24 COLLATE "POSIX", t text);
INSERT INTO collated SELECT k, k, t FROM keys;
CREATE INDEX collated_c ON collated (c);
CREATE INDEX collated_d ON collated (d);
ANALYZE collated;
SELECT plan_has($$SELECT t FROM collated WHERE c LIKE 'key 7%'$$, 'Index Cond: .*>=.*<'),
       plan_has($$SELECT t FROM collated WHERE d LIKE 'key 7%'$$, 'Index Cond: .*>=.*<'),
       plan_has($$SELECT t FROM collated WHERE c LIKE 'key 7%' COLLATE "POSIX"$$, 'Index Cond: .*>=.*<');
DROP TABLE collated;
RESET enable_seqscan;

--
-- Estimates are those of a text column with the same values
--
CREATE FUNCTION estimate(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
  RETURN (plan -> 0 -> 'Plan' ->> 'Plan Rows')::float8;
END $$;
-- The columns have many values, few values with most common values and NULLs, a low statistics
-- target, and no statistics.
CREATE TABLE estimated (many compact_char24, many_t text, few compact_char24, few_t text,
  coarse compact_char24, coarse_t text, never compact_char24, never_t text);
ALTER TABLE estimated ALTER coarse SET STATISTICS 40, ALTER coarse_t SET STATISTICS 40,
  ALTER never SET STATISTICS 0, ALTER never_t SET STATISTICS 0;
INSERT INTO estimated SELECT w, w, f, f, w, w, w, w
FROM (SELECT i, 'v ' || i * 7919 % 10007 AS w, CASE WHEN i % 5 > 0 THEN 'few ' || least(i % 97, 30) END AS f
      FROM generate_series(1, 10000) i) s;
ANALYZE estimated;
CREATE TABLE estimates (p text);
INSERT INTO estimates VALUES ('LIKE ''%s 1%%'''), ('LIKE ''%s 9%%'''), ('LIKE ''%s 12%%'''), ('LIKE ''%s 55%%'''), ('LIKE ''%s 30'''), ('LIKE ''%s %%1'''), ('LIKE ''%%2%%'''),
  ('NOT LIKE ''%s 1%%'''), ('NOT LIKE ''%%2%%'''), ('NOT LIKE ''%s 30'''), ('ILIKE ''%s 1%%'''), ('NOT ILIKE ''%%2%%'''),
  ('~ ''^%s 1'''), ('~ ''2.*3'''), ('!~ ''^%s 1'''), ('~* ''%s 1'''), ('!~* ''%s 1'''), ('^@ ''%s 1'''), ('^@ ''%s'''), ('^@ ''nothing'''),
  ('LIKE ''%%'''), ('LIKE NULL'), ('NOT LIKE NULL'), ('LIKE ANY (ARRAY[''%s 1%%'', ''%s 2%%''])'), ('LIKE (SELECT ''x%%''::text)');
-- (Core interpolates within a bin of the histogram only for its own types.)
SELECT col, condition, compact, text
FROM (SELECT col, format(p, word, word) AS condition,
             estimate(format('SELECT 1 FROM estimated WHERE %I ', col) || format(p, word, word)) AS compact,
             estimate(format('SELECT 1 FROM estimated WHERE %I ', col || '_t') || format(p, word, word)) AS text
      FROM (VALUES ('many', 'v'), ('few', 'few'), ('coarse', 'v'), ('never', 'v')) c (col, word), estimates) s
WHERE greatest(compact, 1) / greatest(text, 1) NOT BETWEEN 0.8 AND CASE col WHEN 'coarse' THEN 1.6 ELSE 1.25 END ORDER BY 1, 2;
-- The estimates are not only the same, but also right.
SELECT estimate($$SELECT 1 FROM estimated WHERE many LIKE 'v 12%'$$) BETWEEN 80 AND 160 AS hundred,
       estimate($$SELECT 1 FROM estimated WHERE few LIKE 'few 30%'$$) BETWEEN 5000 AND 6000 AS most,
       estimate($$SELECT 1 FROM estimated WHERE few NOT LIKE 'few 30'$$) BETWEEN 2000 AND 3000 AS others,
       estimate($$SELECT 1 FROM estimated WHERE coarse LIKE 'v 12%'$$) BETWEEN 60 AND 400 AS coarse,
       estimate($$SELECT 1 FROM estimated WHERE coarse LIKE 'v 99%'$$) BETWEEN 40 AND 200 AS in_one_bin,
       estimate($$SELECT 1 FROM estimated WHERE coarse LIKE 'w 99%'$$) BETWEEN 1 AND 2 AS beyond,
       estimate($$SELECT 1 FROM estimated WHERE compact_types.compact_char24_like(many, 'v 12%')$$) BETWEEN 80 AND 160 AS function;
-- If a user's operator of other types uses this estimator, it gets a default estimate.
CREATE FUNCTION fits(int, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1::text LIKE $2';
CREATE OPERATOR ~~~~ (FUNCTION = fits, LEFTARG = int, RIGHTARG = text, RESTRICT = compact_types.likesel, JOIN = likejoinsel);
CREATE FUNCTION fits(text, text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 LIKE $2; END';
CREATE OPERATOR ~~~~ (FUNCTION = fits, LEFTARG = text, RIGHTARG = text, RESTRICT = compact_types.likesel, JOIN = likejoinsel);
CREATE FUNCTION fits(int, bpchar) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1::text LIKE $2';
CREATE OPERATOR ~~~~ (FUNCTION = fits, LEFTARG = int, RIGHTARG = bpchar, RESTRICT = compact_types.likesel, JOIN = likejoinsel);
SELECT estimate($$SELECT 1 FROM keys WHERE n ~~~~ '1%'::text$$) BETWEEN 1 AND 20 AS int4,
       estimate($$SELECT 1 FROM keys WHERE n ~~~~ '1%'::bpchar$$) BETWEEN 1 AND 20 AS bpchar,
       estimate($$SELECT 1 FROM estimated WHERE many_t ~~~~ 'v 1%'$$) BETWEEN 1 AND 10000 AS text,
       estimate($$SELECT 1 FROM estimated a JOIN estimated b ON a.many LIKE b.many_t$$) BETWEEN 400000 AND 600000 AS joined;
DROP OPERATOR ~~~~ (int, text);
DROP OPERATOR ~~~~ (int, bpchar);
DROP OPERATOR ~~~~ (text, text);
DROP FUNCTION fits(int, text), fits(int, bpchar), fits(text, text);
DROP TABLE estimated, estimates;

--
-- min and max
--
SELECT pg_typeof(min(k)), pg_typeof(max(k)) FROM keys;
SELECT plan_has('SELECT min(k), max(k) FROM keys', 'Index Only Scan using keys_pkey.*Index Only Scan Backward using keys_pkey');
SELECT min(k) = min(t) AS min, max(k) = max(t) AS max, min(k) AS min, max(k) AS max FROM keys;
SELECT min(k), max(k) FROM keys WHERE n < -100;
SELECT n % 3 AS n, min(k), max(k), count(DISTINCT k), max(DISTINCT k) FROM keys WHERE n > 0 GROUP BY 1 ORDER BY 1;
SELECT n, min(k) OVER w, max(k) OVER w, max(k) FILTER (WHERE n <> 3) OVER w AS filtered
FROM keys WINDOW w AS (ORDER BY n ROWS 1 PRECEDING) ORDER BY n DESC OFFSET 1996 LIMIT 4;
SELECT max(k COLLATE "POSIX"), max(k::text) FROM keys WHERE n > 0;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT plan_has('SELECT count(*), min(k), max(k) FROM keys', 'Partial Aggregate');
SELECT count(*), min(k), max(k) FROM keys;
RESET ALL;

--
-- BRIN
--
SELECT opcname, opcdefault, amvalidate(oid) FROM pg_opclass WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'brin') AND opcname ~ 'compact' ORDER BY 1;
CREATE TABLE log (k compact_char24, n int) WITH (fillfactor = 20, autovacuum_enabled = off);
INSERT INTO log SELECT 'log ' || to_char(i, 'FM00000'), i FROM generate_series(1, 5000) i;
CREATE INDEX log_brin ON log USING brin (k) WITH (pages_per_range = 1);
INSERT INTO log SELECT 'log ' || to_char(i, 'FM00000'), i FROM generate_series(5001, 6000) i;
INSERT INTO log VALUES (NULL, 0);
SELECT brin_summarize_new_values('log_brin') > 0 AS summarized;
ANALYZE log;
-- Return the number of pages that a bitmap scan reads, which shows whether the index excludes
-- pages.
CREATE FUNCTION pages(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
  RETURN (plan -> 0 -> 'Plan' ->> 'Lossy Heap Blocks')::int;
END $$;
CREATE TABLE brin_conditions (id int, condition text);
INSERT INTO brin_conditions VALUES
  (1, $$k = 'log 00700'$$), (2, $$k = 'log 00700'::text$$), (3, $$'log 00700'::varchar = k$$), (4, $$k = 'log 00700   '::bpchar$$),
  (5, $$k < 'log 00020'$$), (6, $$k <= 'log 00020'::text$$), (7, $$'log 05990'::varchar < k$$), (8, $$k >= 'log 05990'::bpchar$$),
  (9, $$k BETWEEN 'log 02000' AND 'log 02010'::text$$), (10, $$k LIKE 'log 0300%'$$), (11, $$k ~ '^log 03001$'$$), (12, $$k IS NULL$$);
SET enable_seqscan = off;
SELECT id, plan_has('SELECT n FROM log WHERE ' || condition, 'Bitmap Index Scan on log_brin') AS by_index,
       pages('SELECT n FROM log WHERE ' || condition) BETWEEN 1 AND 10 AS few_pages FROM brin_conditions ORDER BY id;
CREATE OR REPLACE FUNCTION found(condition text) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
  r int[];
BEGIN
  EXECUTE 'SELECT array_agg(n ORDER BY n) FROM log WHERE ' || condition INTO r;
  RETURN r;
END $$;
TRUNCATE by_index;
INSERT INTO by_index SELECT id, found(condition) FROM brin_conditions;
SET enable_seqscan = on;
SET enable_bitmapscan = off;
SELECT id, cardinality(c.rows) AS rows, found(condition) IS NOT DISTINCT FROM c.rows AS same FROM brin_conditions JOIN by_index c USING (id) ORDER BY id;
RESET enable_bitmapscan;
-- A scan reads ranges that were desummarized.  A changed value widens its range.
SELECT brin_desummarize_range('log_brin', 0);
UPDATE log SET k = 'zzz' WHERE n = 700;
SET enable_seqscan = off;
SELECT n FROM log WHERE k = 'zzz'::text;
SELECT n FROM log WHERE k = 'log 00001';
DROP INDEX log_brin;
CREATE INDEX log_bloom ON log USING brin (k compact_types.compact_char24_bloom_ops (n_distinct_per_range = 100)) WITH (pages_per_range = 1);
ANALYZE log;
SELECT plan_has($$SELECT n FROM log WHERE k = 'log 00800'$$, 'Bitmap Index Scan on log_bloom'),
       pages($$SELECT n FROM log WHERE k = 'log 00800'$$) BETWEEN 1 AND 10 AS few_pages,
       plan_has($$SELECT n FROM log WHERE k = 'log 00800'::text$$, 'log_bloom', false),
       plan_has($$SELECT n FROM log WHERE k LIKE 'log 00800'$$, 'log_bloom', false);
SELECT n FROM log WHERE k = 'log 00800';
SELECT n FROM log WHERE k = 'zzz';
SELECT count(*) FROM log a JOIN generate_series(1, 6000, 500) i ON a.k = ('log ' || to_char(i, 'FM00000'))::compact_char24;
RESET enable_seqscan;
DROP TABLE log;

--
-- Two lengths have no common type, so one side needs a cast to text
--
\set VERBOSITY terse
SELECT 'a'::compact_char8 UNION SELECT 'b'::compact_char24;
SELECT CASE WHEN true THEN 'a'::compact_char8 ELSE 'b'::compact_char24 END;
SELECT coalesce('a'::compact_char8, 'b'::compact_char24);
SELECT ARRAY['a'::compact_char8, 'b'::compact_char24];
\set VERBOSITY default
SELECT 'a'::compact_char8 AS u UNION SELECT 'b'::compact_char24::text UNION SELECT 'a'::compact_char24::text ORDER BY 1;
SELECT 'a'::compact_char8::text AS u UNION ALL SELECT 'b'::compact_char24 ORDER BY 1;
SELECT c || '|' AS value, pg_typeof(c) FROM (SELECT CASE WHEN i = 1 THEN 'a'::compact_char8 ELSE 'b'::compact_char24::text END AS c FROM generate_series(1, 2) i) s ORDER BY 1;
SELECT pg_typeof(coalesce('a'::compact_char8, 'b'::varchar)), pg_typeof(greatest('a'::compact_char8, 'b'::text)),
       pg_typeof(coalesce('a'::compact_char8, 'b'));
SELECT 'a'::compact_char8 AS u UNION SELECT 'a' UNION SELECT 'a  ';

-- A type without an extension has its operators in the schema compact_types.
SELECT compact_types.create_char(100);
CREATE TABLE wide (k compact_char100 PRIMARY KEY);
INSERT INTO wide SELECT 'key ' || i FROM generate_series(1, 2000) i;
CREATE INDEX wide_brin ON wide USING brin (k);
ANALYZE wide;
SELECT pg_typeof(max(k)), plan_has($$SELECT k FROM wide WHERE k LIKE 'key 7%'$$, 'Index Cond', false) FROM wide;
SET search_path = public, compact_types;
SET enable_seqscan = off;
SELECT pg_typeof(max(k)), plan_has($$SELECT k FROM wide WHERE k LIKE 'key 7%'$$, 'Index Cond: .*>=.*<') FROM wide;
SELECT count(*) FROM wide WHERE k LIKE 'key 7%';
RESET ALL;
-- No object that is left over prevents the type from being created again.
SET client_min_messages = warning;
SET compact_types.guard_drop = off;
DROP TYPE compact_char100 CASCADE;
SELECT compact_types.create_char(100);
DROP TYPE compact_char100 CASCADE;
RESET compact_types.guard_drop;
RESET client_min_messages;

DROP TABLE words, patterns, keys, conditions, by_index, brin_conditions, wide;
DROP FUNCTION plan_has, index_cond, found, estimate, pages;
DROP EXTENSION compact_char24, compact_char8;
