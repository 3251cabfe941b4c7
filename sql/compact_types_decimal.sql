--
-- Decimals of a fixed scale.  Decimals have the semantics of numeric(p, s).
--
\set SHOW_CONTEXT never
CREATE EXTENSION compact_decimal4_2;
CREATE EXTENSION compact_decimal4_0;
CREATE EXTENSION compact_decimal8_4;
SELECT typname, typlen, typbyval, typalign, typstorage, typcategory, typispreferred
FROM pg_type WHERE typname ~ '^compact_decimal' ORDER BY typname;
-- (Leave out the stand-ins, the internal types that literals and operands get, because no clause
-- has two of them.)
WITH member AS (SELECT amopfamily AS family, amopmethod AS method, amoplefttype AS l, amoprighttype AS r, amopstrategy AS strategy
                FROM pg_amop JOIN pg_opfamily f ON f.oid = amopfamily
                WHERE opfnamespace = 'compact_types'::regnamespace AND amoplefttype::regtype::text !~ '_(literal|operand|left)$')
SELECT amname, opfname, l.l::regtype, r.l::regtype
FROM (SELECT DISTINCT family, method, l FROM member) l JOIN (SELECT DISTINCT family, l FROM member) r USING (family)
  JOIN pg_opfamily f ON f.oid = family JOIN pg_am a ON a.oid = method
WHERE amname <> 'brin' AND ((SELECT count(*) FROM member m WHERE m.family = l.family AND m.l = l.l AND m.r = r.l) <> CASE amname WHEN 'hash' THEN 1 ELSE 5 END
   OR (amname = 'btree' OR l.l = r.l) AND NOT EXISTS (SELECT FROM pg_amproc WHERE amprocfamily = l.family AND amproclefttype = l.l AND amprocrighttype = r.l AND amprocnum = 1));
SET client_min_messages = warning;
SELECT amname, opcname FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
WHERE opcnamespace = 'compact_types'::regnamespace AND CASE WHEN amname = 'brin' THEN NOT amvalidate(c.oid) END;
RESET client_min_messages;
SELECT oprname, oprleft::regtype, oprright::regtype FROM pg_operator o JOIN pg_proc p ON p.oid = oprcode
WHERE pronamespace = 'compact_types'::regnamespace AND prorettype = 'bool'::regtype
  AND oprname ~ '[<=>]' AND (oprcom = 0 OR oprnegate = 0) AND oprright::regtype::text !~ '_operand$' AND oprleft::regtype::text !~ '_left$';

--
-- Input and output
--
SELECT v AS input, v::compact_decimal4_2 AS d42, v::compact_decimal8_4 AS d84, v::compact_decimal4_0 AS d40,
       v::numeric(20,2)::text = v::compact_decimal4_2::text AND v::numeric(20,4)::text = v::compact_decimal8_4::text
       AND v::numeric(20,0)::text = v::compact_decimal4_0::text AS same
FROM unnest(ARRAY['0', '-0', '1', ' +1.5 ', '.5', '-.5', '5.', '0.005', '-0.005', '0.0049999', '1.005', '-1.00500',
                  '1e3', '1.5E-2', '12345e-4', '-9.995e0', '0e99', '1e-400', '0000000000000000000000000000000000000007',
                  '21474836.47', '-21474836.48']) v;
SELECT '21474836.474999'::text::compact_decimal4_2, '922337203685477.5807'::compact_decimal8_4, '-922337203685477.5808'::compact_decimal8_4;
SELECT '21474836.475'::text::compact_decimal4_2;
SELECT '-21474836.485'::text::compact_decimal4_2;
SELECT '922337203685477.58075'::text::compact_decimal8_4;
SELECT '1e400'::compact_decimal8_4;
SELECT 'NaN'::compact_decimal4_2;
SELECT ' -Infinity '::compact_decimal4_2;
SELECT 'inf'::compact_decimal4_2;
SELECT ''::compact_decimal4_2;
SELECT '.'::compact_decimal4_2;
SELECT '1.2.3'::compact_decimal4_2;
SELECT '1e'::compact_decimal4_2;
SELECT '1 2'::compact_decimal4_2;
SELECT 'infx'::compact_decimal4_2;

--
-- Casts
--
SELECT castsource::regtype AS source, casttarget::regtype AS target, castcontext AS context FROM pg_cast
WHERE castsource = 'compact_decimal4_2'::regtype OR casttarget = 'compact_decimal4_2'::regtype
ORDER BY castsource::regtype::text, casttarget::regtype::text;
\set VERBOSITY terse
SELECT 1.005::compact_decimal4_2, (-1.005)::compact_decimal4_2, 7::compact_decimal4_2, 7::int8::compact_decimal8_4, 7::int2::compact_decimal4_0,
       0.125::float8::compact_decimal4_2, 2.675::float8::compact_decimal4_2, 2.675::float4::compact_decimal4_2;
SELECT d, d::numeric, d::int2, d::int4, d::int8, d::float4, d::float8
FROM unnest(ARRAY['1.50', '-1.50', '2.49', '-0.50', '0.49', '32767.49']::compact_decimal4_2[]) d;
SELECT '922337203685477.5807'::compact_decimal8_4::int8, '922337203685477.5807'::compact_decimal8_4::float8, '922337203685477.5807'::compact_decimal8_4::numeric;
SELECT 100000000::compact_decimal4_2;
SELECT 9223372036854775807::compact_decimal8_4;
SELECT 1e20::numeric::compact_decimal4_2;
SELECT 1e300::float8::compact_decimal4_2;
SELECT 'NaN'::numeric::compact_decimal4_2;
SELECT 'NaN'::float8::compact_decimal4_2;
SELECT '-infinity'::float4::compact_decimal8_4;
SELECT '40000.00'::compact_decimal4_2::int2;
SELECT '922337203685477.5807'::compact_decimal8_4::int4;
\set VERBOSITY default
SELECT 1e20::numeric::compact_decimal4_2;

--
-- Arithmetic
--
SELECT d + d AS plus, d - '0.01' AS minus, -d AS negative, pg_typeof(d + d), pg_typeof(-d) FROM (SELECT '1.50'::compact_decimal4_2 AS d) s;
-- Arithmetic overflows only where numeric does.  The range is checked when a value is stored.
SELECT d + d AS plus, d + '0.001' AS literal, -e AS negative, e - '0.0001' AS minus, e + d AS mixed
FROM (SELECT '21474836.47'::compact_decimal4_2 AS d, '-922337203685477.5808'::compact_decimal8_4 AS e) s;
CREATE TABLE stored (d compact_decimal4_2);
INSERT INTO stored VALUES ('21474836.47');
UPDATE stored SET d = d - d + 1 RETURNING d;
UPDATE stored SET d = d + 21474836.47;
UPDATE stored SET d = d * 1e60;
UPDATE stored SET d = 100000000;
INSERT INTO stored VALUES ('21474836.475');
DROP TABLE stored;
\set VERBOSITY terse
\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/resolve.sql'
\i :file
SELECT e AS expression, resolve(replace(e, '@', 'compact_decimal4_2 ''1''')) AS type
FROM unnest(ARRAY['@ + 1', '1::int8 - @', '@ * 2::int2', '@ * @', '@ / 3', '@ % @', '@ + 1.5', '1.5 * @', '@ * ''0.001''', '@ * uint2 ''2''',
  '@ = 1', '@ = 1::int8', '@ > 1.5', '1.5 < @', '@ = ''1''', '@ = uint2 ''1''', '@ IN (1, 2.5)', '@ BETWEEN 1 AND 2',
  'abs(@)', 'round(@, 1)', 'sqrt(@)', 'floor(@)', '@ ^ 2', 'coalesce(@, 0.0)', 'coalesce(@, ''0'')', 'CASE WHEN true THEN @ ELSE 0.00 END', 'to_char(@, ''9.99'')',
  'sum(@)', 'avg(@)', 'max(@)', 'stddev(@)', '@ + compact_decimal8_4 ''1''',
  -- These need a cast, because a decimal has no common type with an integer or a float.
  'coalesce(@, 0)', 'greatest(@, 1)', '@ * 1::float8', '@ > 1::float8', '@ = compact_decimal8_4 ''1''', '@::compact_decimal8_4']) e;
SELECT e AS expression, resolve(e) AS type
FROM unnest(ARRAY['numeric ''1'' = ''1''', 'numeric ''1'' + ''1''', '1.5 = 1', '1.5 * 2', '1 = 1.5', 'float8 ''1'' = 1.5', '''1'' = ''1''', '-''1''', 'sum(''1'')', 'max(''1'')']) e;
PREPARE core AS SELECT 1.0 = $1, 1.0 + $2, 1::float8 = $3;
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'core';

--
-- Comparison with numeric is exact
--
CREATE TABLE numbers (n numeric);
INSERT INTO numbers VALUES (0), (1), (1.005), (1.004999), (1.01), (-1.005), (-1), (-1.01), (0.001), (-0.001), (21474836.47), (21474836.475), (-21474836.48),
  (-21474836.481), (9223372036854775807), (9223372036854775807.1), (-9223372036854775808), (-9223372036854775808.1), (1e131000), (-1e131000), (1e-16383), (-1e-16383),
  (repeat('9', 20000)::numeric), (-repeat('9', 20000)::numeric), (1 + 1e-16383), (1 - 1e-16383), (-1 - 1e-16383), (-1 + 1e-16383), (1e30), (-1e30), ('NaN'), ('infinity'), ('-infinity'), (1e-30), (922337203685477.5807), (922337203685477.58071), (123456789012345678901234567890.123456789012345678901234567890123456789);
CREATE TABLE decimals AS SELECT n::compact_decimal4_2 AS d, n::compact_decimal8_4 AS e FROM numbers WHERE n BETWEEN -21474836.48 AND 21474836.47;
SELECT count(*) AS pairs,
       count(*) FILTER (WHERE (d = n) <> (d::numeric = n) OR (n = d) <> (n = d::numeric)) AS eq,
       count(*) FILTER (WHERE (d <> n) <> (d::numeric <> n) OR (n <> d) <> (n <> d::numeric)) AS ne,
       count(*) FILTER (WHERE (d < n) <> (d::numeric < n) OR (n < d) <> (n < d::numeric)) AS lt,
       count(*) FILTER (WHERE (d <= n) <> (d::numeric <= n) OR (n <= d) <> (n <= d::numeric)) AS le,
       count(*) FILTER (WHERE (d > n) <> (d::numeric > n) OR (n > d) <> (n > d::numeric)) AS gt,
       count(*) FILTER (WHERE (d >= n) <> (d::numeric >= n) OR (n >= d) <> (n >= d::numeric)) AS ge,
       count(*) FILTER (WHERE (e < n) <> (e::numeric < n) OR (n <= e) <> (n <= e::numeric) OR (e = n) <> (e::numeric = n)) AS decimal8
FROM decimals, numbers;
-- Make more comparisons than the number of constants that are cached, with two scales and the same
-- constant.
SELECT format('SELECT sum(%s) = sum(40 * (d::numeric < 1.01)::int4 + 40 * (e::numeric < 1.01)::int4) AS same FROM decimals',
              string_agg(c, ' + ' ORDER BY c, n)) AS query
FROM unnest(ARRAY['(d < 1.01)::int4', '(e < 1.01)::int4']) c, generate_series(1, 40) n \gset
:query;
SELECT count(*) FILTER (WHERE compact_types.compact_decimal4_2_hash(d) <> hash_numeric(d::numeric)) AS hash4,
       count(*) FILTER (WHERE compact_types.compact_decimal8_4_hash(e) <> hash_numeric(e::numeric)) AS hash8,
       count(*) FILTER (WHERE compact_types.compact_decimal8_4_hash_extended(e, 42) <> hash_numeric_extended(e::numeric, 42)) AS extended,
       count(*) FILTER (WHERE compact_types.compact_decimal4_2_send(d) <> numeric_send(d::numeric)) AS binary
FROM decimals;

--
-- JSON has numbers
--
SELECT to_json(d) AS json, to_jsonb(e) AS jsonb, row_to_json(v) AS record, json_build_array(d, e) AS list FROM decimals v WHERE e IN (-1.005, 0.001, 1.01);
SELECT count(*), count(*) FILTER (WHERE to_json(d)::text <> to_json(d::numeric)::text OR to_jsonb(e) <> to_jsonb(e::numeric) OR jsonb_typeof(to_jsonb(d)) <> 'number') AS different,
       (SELECT json_agg(d ORDER BY d)::text = json_agg(d::numeric ORDER BY d)::text FROM decimals) AS json_agg
FROM decimals;

--
-- Aggregates, windows
--
CREATE TABLE samples AS SELECT g AS id, (g * 7919 % 100000 / 100.0)::compact_decimal4_2 AS d, (g * 7919 % 1000003 / 7.0 - 50000)::compact_decimal8_4 AS e
FROM generate_series(1, 20000) g;
ANALYZE samples;
-- A constant with very many digits is not parsed again for every row.
SET statement_timeout = '4s';
SELECT count(*) FILTER (WHERE d < n), count(*) FILTER (WHERE e > -n), count(*) FILTER (WHERE d > 1 + 1e-16383), count(*) FILTER (WHERE d = 1e131000)
FROM samples, (SELECT repeat('9', 100000)::numeric AS n OFFSET 0) n;
RESET statement_timeout;
SELECT sum(d), avg(d), min(d), max(d), sum(e), avg(e), min(e), max(e) FROM samples;
SELECT sum(d::numeric), avg(d::numeric), min(d::numeric), max(d::numeric), sum(e::numeric), avg(e::numeric), min(e::numeric), max(e::numeric) FROM samples;
SELECT sum(d) IS NULL AND avg(d) IS NULL AS empty FROM samples WHERE false;
-- Compute sums that exceed 64 bits, of either sign.
SELECT sum(e), avg(e) FROM (SELECT '922337203685477.5807'::compact_decimal8_4 AS e FROM generate_series(1, 10)) s;
SELECT sum(e), avg(e) FROM (SELECT '-922337203685477.5808'::compact_decimal8_4 AS e FROM generate_series(1, 10)) s;
SELECT sum(e) FROM (SELECT unnest(ARRAY['-922337203685477.5808', '-922337203685477.5808', '922337203685477.5807', '922337203685477.5807', '3']::compact_decimal8_4[]) AS e) s;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT sum(d), avg(e) FROM samples;
SELECT sum(d), avg(d), max(d), sum(e), avg(e), min(e) FROM samples;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SELECT count(*) FILTER (WHERE s <> s_wide OR a <> a_wide OR r <> r_wide) AS different
FROM (SELECT sum(e) OVER w AS s, sum(e::numeric) OVER w AS s_wide, avg(d) OVER w AS a, avg(d::numeric) OVER w AS a_wide,
             count(*) OVER (ORDER BY d RANGE BETWEEN 0.05 PRECEDING AND 1 FOLLOWING) AS r,
             count(*) OVER (ORDER BY d::numeric RANGE BETWEEN 0.05 PRECEDING AND 1 FOLLOWING) AS r_wide
      FROM samples WINDOW w AS (ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)) s;

--
-- Indexes
--
CREATE INDEX ON samples (d);
CREATE INDEX ON samples (e);
CREATE TABLE brin AS SELECT * FROM samples ORDER BY e;
CREATE INDEX ON brin USING brin (e) WITH (pages_per_range = 1);
CREATE INDEX samples_hash ON brin USING hash (d);
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ 'Index Cond|Scan' AND line !~ 'Bitmap Heap Scan' THEN
      RETURN NEXT regexp_replace(ltrim(line, ' ->'), '_idx[0-9]*', '_idx');
    END IF;
  END LOOP;
END $$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT p FROM unnest(ARRAY['= 100', '> 100.5', '= ''100.5''', '< 100::int8', 'BETWEEN 1 AND 2.5', '= uint2 ''5''', 'IN (1, 2.5)']) c,
  LATERAL plan('SELECT id FROM samples WHERE d ' || c) p WHERE p !~ 'Index Scan';
SET search_path = '';
SELECT p FROM public.plan('SELECT id FROM public.samples WHERE 5 > e') p;
RESET search_path;
SELECT p FROM plan('SELECT max(e) FROM samples') p;
SELECT p FROM plan('SELECT id FROM brin WHERE d = 5') p;
SELECT count(*) FROM samples WHERE d = 79.19;
SELECT count(*) FROM samples WHERE d > 999.5;
SELECT count(*) FROM brin WHERE d = 79.19;
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SELECT p FROM plan('SELECT id FROM brin WHERE e < -49000') p;
SELECT count(*) FROM brin WHERE e < -49000;
RESET enable_seqscan;
RESET enable_indexscan;
SELECT count(*) FROM samples WHERE d::numeric = 79.19;
SELECT count(*) FROM samples WHERE d::numeric > 999.5;
SELECT count(*) FROM brin WHERE e::numeric < -49000;
SELECT count(*) FROM samples a JOIN (SELECT n * 0.5 AS n FROM generate_series(0, 3000) n) b ON a.d = b.n;
SET enable_hashjoin = off;
SELECT count(*) FROM samples a JOIN (SELECT n * 0.5 AS n FROM generate_series(0, 3000) n) b ON a.d = b.n;
RESET enable_hashjoin;
SELECT d FROM samples ORDER BY d DESC, id LIMIT 2;

--
-- Creation
--
SELECT compact_types.create_decimal(2, 0);
SELECT compact_types.create_decimal(4, 10);
SELECT compact_types.create_decimal(8, 19);
SELECT compact_types.create_decimal(8, -1);
SELECT compact_types.create_decimal(4, 2);
SELECT compact_types.create_decimal(4, 3);
SELECT extname FROM pg_extension WHERE extname = 'compact_decimal4_3';
\set VERBOSITY default
SELECT compact_types.create_decimal(8, 18);
SELECT '9.2233720368547758075'::text::compact_decimal8_18;
SELECT '-9.223372036854775808'::compact_decimal8_18, '0.000000000000000001'::compact_decimal8_18::float8;
\set VERBOSITY terse
DROP TYPE compact_decimal8_18 CASCADE;
SELECT compact_types.create_decimal(8, 18);
DROP TYPE compact_decimal8_18 CASCADE;
SELECT compact_types.create_decimal(4, 9);
SELECT d, d::int4, d::numeric FROM (SELECT '-2.147483648'::compact_decimal4_9 AS d) s;
DROP TYPE compact_decimal4_9 CASCADE;
CREATE ROLE regress_compact_types_user;
SET ROLE regress_compact_types_user;
SELECT compact_types.create_decimal(8, 17);
RESET ROLE;
DROP ROLE regress_compact_types_user;
DROP TABLE numbers, decimals, samples, brin;
DROP EXTENSION compact_decimal4_3, compact_decimal4_2, compact_decimal4_0, compact_decimal8_4;
DROP FUNCTION resolve, plan;
