--
-- uint8, the unsigned integer of eight bytes.  Its wide twin is numeric.
--
\set SHOW_CONTEXT never
SELECT typname, typlen, typalign, typstorage, typcategory, typispreferred, obj_description(oid, 'pg_type') FROM pg_type WHERE typname = 'uint8';
SET client_min_messages = warning;
SELECT opcname, opcdefault FROM pg_opclass WHERE opcintype = 'uint8'::regtype ORDER BY opcmethod;
RESET client_min_messages;

--
-- Input, output and casts
--
SELECT v AS input, v::uint8 AS value FROM unnest(ARRAY['0', '-0', ' +12 ', '1e3', '0.5', '-0.4', '007', '18446744073709551615', '18446744073709551615.4', '9223372036854775808']) v;
\set VERBOSITY terse
SELECT '18446744073709551616'::uint8;
SELECT '18446744073709551615.5'::text::uint8;
SELECT '-1'::uint8;
SELECT '-0.5'::text::uint8;
SELECT '1.5'::uint8;
SELECT 'NaN'::uint8;
SELECT '-inf'::uint8;
SELECT 'x'::uint8;
SELECT ''::uint8;
SELECT (-1)::uint8;
SELECT (-1)::int2::uint8;
SELECT -1::int8::uint8, (-1)::int8::uint8;
SELECT 1e20::numeric::uint8;
SELECT 'NaN'::float8::uint8;
SELECT 32768::uint8::int2;
SELECT 2147483648::uint8::int4;
SELECT 9223372036854775808::uint8::int8;
\set VERBOSITY default
SELECT (-1)::int4::uint8;
SELECT 5::uint8, 5::int2::uint8, 5::int8::uint8, 5.5::uint8, 2.5::float4::uint8, 1.8e19::float8::uint8, uint4 '4294967295'::uint8, '5'::compact_types.numeric_literal::uint8,
       32767::uint8::int2, 2147483647::uint8::int4, 9223372036854775807::uint8::int8, 4294967295::uint8::uint4, 200::uint8::uint1;
SELECT int1 '-1'::uint8;
SELECT 4294967296::uint8::uint4;
SELECT 18446744073709551615::uint8::uint1;
SELECT castsource::regtype AS source, casttarget::regtype AS target, castcontext AS context FROM pg_cast
WHERE castsource = 'uint8'::regtype OR casttarget = 'uint8'::regtype ORDER BY castsource::regtype::text, casttarget::regtype::text;
SELECT to_json(uint8 '18446744073709551615'), to_jsonb(uint8 '18446744073709551615'), jsonb_typeof(to_jsonb(uint8 '1')), row_to_json(ROW(uint8 '5'));

--
-- Expressions
--
\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/resolve.sql'
\i :file
SELECT e AS expression, resolve(replace(e, '@', 'uint8 ''1''')) AS type
FROM unnest(ARRAY['@ + 1', '1::int8 - @', '@ * 2::int2', '@ * @', '@ / 3', '@ % @', '@ + 1.5', '@ * ''2''', '@ * uint2 ''2''', '@ + uint4 ''2''', '-@',
  '@ = 1', '@ = 1::int8', '1 = @', '@ > 1.5', '1.5 < @', '@ = ''1''', '@ = @', '@ = uint2 ''1''', 'uint4 ''1'' = @', '@ IN (1, 2.5)', '@ IN (''1'', ''2'')', '@ BETWEEN -1 AND 2',
  '@ = ANY (''{1,2}'')', '@ = ANY (ARRAY[1, 2])', '@ IS DISTINCT FROM 1', '@ IS DISTINCT FROM @', 'ROW(@, 1) < ROW(2, 2)',
  'abs(@)', 'mod(@, 2)', 'floor(@)', '@ ^ 2', 'coalesce(@, 0)', 'coalesce(@, ''0'')', 'greatest(@, 1)', 'CASE WHEN true THEN @ ELSE 0 END', 'ARRAY[@, 0]', 'coalesce(@, 0.0)',
  'to_char(@, ''9'')', 'sum(@)', 'avg(@)', 'max(@)', 'count(DISTINCT @)', 'generate_series(1, @)']) e;
SELECT uint8 '18446744073709551615' + 1 AS plus, uint8 '0' - 1 AS minus, uint8 '18446744073709551615' * 2 AS times, 7 / uint8 '2' AS quotient, -uint8 '18446744073709551615' AS negative;
SELECT coalesce(NULL::uint8, -1);

--
-- Comparison and hash are those of numeric.
--
CREATE TABLE numbers AS SELECT n::numeric FROM unnest(ARRAY['0', '-0.5', '0.5', '1', '-1', '9223372036854775807', '9223372036854775807.5', '9223372036854775808', '18446744073709551615', '18446744073709551615.5',
  '18446744073709551616', '1e1000', '-1e1000', 'NaN', 'infinity', '-infinity', '1e-1000']) n;
INSERT INTO numbers VALUES (repeat('9', 20000)::numeric), (1 + 1e-16383);
CREATE TABLE integers AS SELECT n::uint8 AS u FROM numbers WHERE n BETWEEN 0 AND 18446744073709551615 AND n = trunc(n);
SELECT count(*) AS pairs,
       count(*) FILTER (WHERE (u = n) <> (u::numeric = n) OR (n = u) <> (n = u::numeric)) AS eq,
       count(*) FILTER (WHERE (u <> n) <> (u::numeric <> n) OR (n <> u) <> (n <> u::numeric)) AS ne,
       count(*) FILTER (WHERE (u < n) <> (u::numeric < n) OR (n < u) <> (n < u::numeric)) AS lt,
       count(*) FILTER (WHERE (u <= n) <> (u::numeric <= n) OR (n <= u) <> (n <= u::numeric)) AS le,
       count(*) FILTER (WHERE (u > n) <> (u::numeric > n) OR (n > u) <> (n > u::numeric)) AS gt,
       count(*) FILTER (WHERE (u >= n) <> (u::numeric >= n) OR (n >= u) <> (n >= u::numeric)) AS ge
FROM integers, numbers;
SELECT count(*) AS pairs, count(*) FILTER (WHERE (a.u < b.u) <> (a.u::numeric < b.u::numeric) OR (a.u = b.u) <> (a.u::numeric = b.u::numeric) OR greatest(a.u, b.u) <> greatest(a.u::numeric, b.u::numeric)) AS different
FROM integers a, integers b;
SELECT count(*) FILTER (WHERE compact_types.uint8_hash(u) <> hash_numeric(u::numeric)) AS hash,
       count(*) FILTER (WHERE compact_types.uint8_hash_extended(u, 42) <> hash_numeric_extended(u::numeric, 42)) AS extended,
       count(*) FILTER (WHERE compact_types.uint8_send(u) <> numeric_send(u::numeric)) AS binary FROM integers;

--
-- Aggregates and windows
--
SELECT sum(u), sum(u) = sum(u::numeric) AS same_sum, avg(u) = avg(u::numeric) AS same_avg, min(u), max(u) FROM integers;
SELECT sum(u), avg(u) FROM (SELECT uint8 '18446744073709551615' AS u FROM generate_series(1, 100000)) s;
SELECT sum(u) IS NULL AND avg(u) IS NULL AS empty FROM integers WHERE false;
SELECT count(*), count(*) FILTER (WHERE s <> s_wide OR r <> r_wide) AS different
FROM (SELECT sum(u) OVER w AS s, sum(u::numeric) OVER w AS s_wide,
        count(*) OVER (ORDER BY u RANGE BETWEEN 9223372036854775808 PRECEDING AND 1 FOLLOWING) AS r,
        count(*) OVER (ORDER BY u::numeric RANGE BETWEEN 9223372036854775808 PRECEDING AND 1 FOLLOWING) AS r_wide
      FROM integers WINDOW w AS (ORDER BY u DESC ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)) s;

--
-- Indexes, joins, partitions
--
CREATE TABLE big AS SELECT i AS id, ('x' || md5(i::text))::text AS t, (i::numeric * 18446744073709551557 % 18446744073709551616)::uint8 AS u FROM generate_series(1, 5000) i;
CREATE INDEX big_u ON big (u);
CREATE INDEX big_hash ON big USING hash (u);
CREATE INDEX big_brin ON big USING brin (u);
ANALYZE big;
\set file :folder '/sql/include/plan_has.sql'
\i :file
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT c AS condition, plan_has('SELECT id FROM big WHERE u ' || c, 'Index.*Scan using big_(u|hash).*Index Cond') AS index
FROM unnest(ARRAY['= 59', '= ''59''', '> 18446744073709550000', '< 100::int8', 'BETWEEN 1 AND 100.5', '= uint4 ''59''', 'IN (59, 118)', '> -1']) c;
SET plan_cache_mode = force_generic_plan;
PREPARE p AS SELECT id FROM big WHERE u = $1;
PREPARE q(numeric) AS SELECT id FROM big WHERE u = $1;
SELECT plan_has('EXECUTE p(59)', 'Index Cond') AS untyped, plan_has('EXECUTE q(59)', 'Index Cond') AS typed;
EXECUTE p(18446744073709551557);
EXECUTE q(18446744073709551557.5);
EXECUTE p(-1);
RESET plan_cache_mode;
SELECT count(*) = (SELECT count(*) FROM big WHERE u::numeric > 9223372036854775807.5) AS same FROM big WHERE u > 9223372036854775807.5;
SELECT plan_has('SELECT max(u) FROM big', 'Index Only Scan Backward') AS max_by_index, max(u) = max(u::numeric) AS same FROM big;
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT array_agg(id ORDER BY u) = array_agg(id ORDER BY u::numeric) AS same_order FROM big;
SELECT count(*) FROM big a JOIN big b ON a.u = b.u::numeric;
SET enable_hashjoin = off;
SELECT count(*) FROM big a JOIN big b ON a.u = b.u::numeric;
SELECT count(*) FROM big a JOIN big b USING (u);
RESET enable_hashjoin;
SELECT count(*) FROM big WHERE u IN (SELECT u FROM big WHERE id < 100);
CREATE TABLE parts (u uint8) PARTITION BY RANGE (u);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (9223372036854775808);
CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM ('9223372036854775808') TO (MAXVALUE);
INSERT INTO parts VALUES (9223372036854775807), (9223372036854775808), (18446744073709551615);
SELECT tableoid::regclass, count(*) FROM parts GROUP BY 1 ORDER BY 1;
SELECT plan_has('SELECT * FROM parts WHERE u > 9223372036854775808.5', 'parts_low', false) AS scans_low;
CREATE TABLE parent (u uint8 PRIMARY KEY);
CREATE TABLE child (n numeric(20) REFERENCES parent, u uint8 REFERENCES parent);
INSERT INTO parent VALUES (18446744073709551615);
INSERT INTO child VALUES (18446744073709551615, 18446744073709551615);
INSERT INTO child VALUES (1, NULL);
INSERT INTO child VALUES (NULL, 1);

--
-- advise(), convert() and revert()
--
CREATE TABLE hashes (id int, a numeric(20), b numeric(19, 0), negative numeric(20), large numeric(30), nan numeric(20), fraction numeric(21, 1), few numeric(20),
  by_default numeric(20) DEFAULT -5, checked numeric(20) CHECK (checked >= 0 AND checked < 18446744073709551616));
INSERT INTO hashes SELECT i, 18446744073709551615 - i, 1234567890123456789 + i, -i, 1e20 + i, 'NaN', i + 0.5, 7, 12345678901234567890, 12345678901234567890 + i FROM generate_series(1, 1000) i;
CREATE INDEX ON hashes (a);
CREATE VIEW some_hashes AS SELECT a, checked FROM hashes WHERE a > 18446744073709551000;
SELECT column_name, proposed_type, reason, risk, blockers FROM compact_types.advise('hashes') WHERE column_name <> 'id';
SELECT column_name, new_type FROM compact_types.convert('hashes');
SELECT md5(string_agg(h::text, ',' ORDER BY id)) AS before, count(*) AS in_view FROM hashes h, LATERAL (SELECT count(*) FROM some_hashes) v (n) \gset
SELECT column_name, old_type, new_type FROM compact_types.convert('hashes', narrow => true);
SELECT md5(string_agg(h::text, ',' ORDER BY id)) = :'before' AS same FROM hashes h;
SELECT count(*) FROM some_hashes;
\set VERBOSITY terse
INSERT INTO hashes (a) VALUES (-1);
UPDATE hashes SET a = a + 1000000 WHERE id = 1;
INSERT INTO hashes (checked) VALUES (18446744073709551616);
\set VERBOSITY default
SELECT column_name, old_type, new_type FROM compact_types.revert('hashes');
SELECT md5(string_agg(h::text, ',' ORDER BY id)) = :'before' AS same FROM hashes h;
SELECT compact_types.ordinary_type('uint8', -1);
CREATE TABLE unrecorded (u uint8, a uint8[]);
SELECT column_name, new_type FROM compact_types.revert('unrecorded', unrecorded => true);

DROP VIEW some_hashes;
DROP TABLE numbers, integers, big, parts, parent, child, hashes, unrecorded;
DROP FUNCTION resolve, plan_has;
