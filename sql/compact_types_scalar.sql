--
-- Test narrow integers and seconds: their values, the types of expressions with other types,
-- aggregates and indexes.
--
\set SHOW_CONTEXT never

SELECT typname, typlen, typbyval, typalign, typstorage, typcategory, typispreferred
FROM pg_type WHERE typname IN ('int1', 'uint1', 'uint2', 'uint3', 'uint4', 'seconds4', 'seconds4tz') ORDER BY typname;

-- Every operator class and family is complete.  (Leave out the stand-ins, the internal types that
-- literals and operands get, because no clause has two of them.)
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
SELECT amname, count(*) FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
WHERE opcnamespace = 'compact_types'::regnamespace AND opcname !~ 'text' GROUP BY amname ORDER BY amname;
SELECT oprname, oprleft::regtype, oprright::regtype FROM pg_operator o JOIN pg_proc p ON p.oid = oprcode
WHERE pronamespace = 'compact_types'::regnamespace AND prorettype = 'bool'::regtype
  AND oprname ~ '[<=>]' AND (oprcom = 0 OR oprnegate = 0) AND oprright::regtype::text !~ '_operand$' AND oprleft::regtype::text !~ '_left$';

--
-- Input and output
--
SELECT int1 '-128', int1 ' +127 ', uint1 '0', uint1 '255', uint2 '65535', uint2 '000012';
SELECT int1 '128';
SELECT int1 '-129';
SELECT uint1 '256';
SELECT uint1 '-1';
SELECT uint2 '65536';
SELECT uint3 '0', uint3 '65536', uint3 '16777215', uint3 ' +00077 ';
SELECT uint3 '16777216';
SELECT uint3 '-1';
SELECT uint3 '4294967296';
SELECT uint2 '99999999999999999999999999';
SELECT uint2 '';
SELECT uint2 '1.5';
SELECT uint2 '1 2';
SELECT uint2 '-';
SET timezone = 'UTC';
SET datestyle = 'ISO, DMY';
SELECT seconds4 '1970-01-01', seconds4 '2106-02-07 06:28:15', seconds4tz '2001-02-03 04:05:06+02';
-- Values are rounded as by timestamp(0), before and after 2000.
SELECT v::seconds4, v::timestamp(0)::text = v::seconds4::text AS same
FROM unnest(ARRAY['1999-12-31 23:59:58.5', '1999-12-31 23:59:58.500001', '2000-01-01 00:00:01.5',
                  '2000-01-01 00:00:01.499999', '1970-01-01 00:00:00.4']) v;
SELECT seconds4 '1969-12-31 23:59:59';
SELECT seconds4tz '1969-12-31 23:59:59';
SELECT seconds4 '2106-02-07 06:28:15.5';
SELECT seconds4 'infinity', 1;
SELECT seconds4tz '-infinity';
SELECT seconds4 'nonsense';
SELECT timestamp 'infinity'::seconds4;
SELECT timestamp '1900-01-01'::seconds4;
SELECT date '2200-01-01'::seconds4tz;
SET datestyle = 'SQL, DMY';
SET timezone = 'Europe/Berlin';
SELECT seconds4 '03/02/2001 04:05:06', seconds4tz '03/02/2001 04:05:06';
RESET datestyle;
SELECT seconds4tz '2001-02-03 00:00'::seconds4, seconds4 '2001-02-03 00:00'::seconds4tz,
       seconds4tz '2001-02-03 00:00'::date, seconds4 '2001-02-03 04:05'::time,
       now()::seconds4tz - now() < interval '1 s' AS now;
SET timezone = 'UTC';

--
-- Casts
--
SELECT castsource::regtype AS source, casttarget::regtype AS target, castcontext AS context
FROM pg_cast
WHERE castsource IN ('uint2'::regtype, 'uint3'::regtype, 'uint4'::regtype) OR casttarget IN ('uint2'::regtype, 'uint3'::regtype, 'uint4'::regtype)
   OR castsource IN ('seconds4'::regtype, 'seconds4tz'::regtype)
   OR casttarget IN ('seconds4'::regtype, 'seconds4tz'::regtype)
ORDER BY castsource::regtype::text, casttarget::regtype::text;
-- No cast to a narrow type is implicit.
SELECT castsource::regtype, casttarget::regtype FROM pg_cast
WHERE castcontext = 'i' AND casttarget::regtype::text ~ '^(u?int1|uint[234]|seconds4)';
SELECT 255::uint1, (-1)::int1, 65535.4::uint2, 16777215.4::uint3, 2.5::numeric::uint2, 2.5::float8::uint2, 3.5::float4::int1;
\set VERBOSITY terse
SELECT 256::uint1;
SELECT (-1)::uint2;
SELECT 65535.5::uint2;
SELECT 1e40::numeric::uint2;
SELECT 1e300::float8::uint2;
SELECT 'NaN'::float8::int1;
SELECT 'NaN'::numeric::int1;
SELECT 'infinity'::float4::int1;
SELECT 40000::uint2::int2;
SELECT 200::uint1::int1;
SELECT 300::uint2::uint1;
SELECT (-1)::int1::uint2;
SELECT 9223372036854775807::uint2;
SELECT 16777215.5::uint3;
SELECT (-1)::int8::uint3;
SELECT 70000::uint3::uint2;
SELECT 70000::uint3::int2;
CREATE TABLE narrow (i1 int1, u1 uint1, u2 uint2);
INSERT INTO narrow VALUES (1, 2, 3), (-1, 255, 65535.4), (NULL, NULL, NULL);
INSERT INTO narrow VALUES (128, 0, 0);
INSERT INTO narrow (u2) SELECT 70000;
UPDATE narrow SET u1 = u1 + 1;
SELECT * FROM narrow ORDER BY u2;
-- These expressions must give the same results after a column has been narrowed.  The range is
-- checked when a value is stored.
CREATE TABLE shelf (id int, stock uint1, reserved uint1, qty uint1);
INSERT INTO shelf VALUES (1, 10, 20, 200), (2, 200, 3, 255);
SELECT id FROM shelf WHERE stock - reserved < 0;
SELECT max(reserved - stock), min(stock - reserved), sum(stock * qty) FROM shelf;
UPDATE shelf SET stock = stock - reserved WHERE id = 2 RETURNING stock;
\set VERBOSITY default
UPDATE shelf SET stock = stock - reserved WHERE id = 1;
UPDATE shelf SET stock = qty::int8 * 100000000 WHERE id = 1;
INSERT INTO shelf VALUES (3, '300', 0, 0);
SELECT int1 '-99999999999', 1;
SELECT (10::numeric ^ 60)::uint3;
SELECT 'infinity'::float8::uint2;
SELECT timestamp '1900-01-01'::seconds4;
SELECT timestamptz '2200-01-01 00:00+00'::seconds4tz;
SELECT seconds4tz 'infinity';
\set VERBOSITY terse
DROP TABLE shelf;
SELECT pg_column_size(i1), pg_column_size(u1), pg_column_size(u2), pg_column_size(ROW(i1, u1, u2)) - pg_column_size(ROW()) AS in_row FROM narrow WHERE i1 = 1;

--
-- Arithmetic
--
SELECT uint1 '200' + uint1 '55', uint1 '5' - uint1 '5', uint2 '255' * uint2 '257', int1 '-7' / int1 '2', int1 '-7' % int1 '2';
-- Arithmetic overflows only where int4 does.
SELECT uint1 '200' + uint1 '56' AS plus, uint1 '5' - uint1 '6' AS minus, uint2 '256' * uint2 '256' AS times, int1 '-128' / int1 '-1' AS divided;
SELECT uint2 '65535' * uint2 '65535';
SELECT int1 '-128' % int1 '-1';
SELECT uint2 '1' / uint2 '0';
SELECT uint2 '1' % 0;
SELECT uint3 '16777214' + uint3 '1', uint3 '4096' * uint3 '4095', uint3 '16777215' + uint2 '1', uint1 '1' - uint3 '16777215', uint3 '7' / uint3 '2', uint3 '7' % int1 '-2';
SELECT uint3 '16777215' + uint3 '1' AS plus, uint3 '1' - uint3 '2' AS minus, uint3 '4096' * uint3 '4096' AS times;
SELECT uint3 '65536' * uint3 '65536';
SELECT uint3 '1' / uint3 '0';
SELECT -int1 '-128', -uint2 '65535', uint1 '3' - uint2 '5', uint2 '65535' * int1 '-128';
SELECT uint2 '2' + 2147483647;
SELECT uint2 '2' * 4611686018427387904;
SELECT int8 '-9223372036854775808' / int1 '-1';
SELECT int8 '-9223372036854775808' % int1 '-1';
SELECT int8 '-9223372036854775808' - uint1 '1';
-- Bit operators, unary operators and functions give the results of int4, but with another type.
SELECT int1 '-128' # int1 '127' AS xor, uint1 '255' & uint1 '129' AS and, uint2 '32768' | '1' AS or, ~uint1 '255' AS not, ~int1 '-128' AS not, ~uint2 '0' AS not,
       uint2 '65535' << 4 AS shl, uint1 '128' << 1 AS shl, int1 '-128' >> 1 AS shr, uint2 '65535' >> 1 AS shr, +int1 '-128' AS plus, @int1 '-128' AS at, abs(int1 '-128'), mod(int1 '-7', int1 '2') AS mod;
SELECT mod(uint2 '1', uint2 '0');
SELECT count(*), count(*) FILTER (WHERE (a & b) <> (a::int4 & b::int4) OR (a | b) <> (a::int4 | b::int4) OR (a # b) <> (a::int4 # b::int4)
         OR ~a <> ~a::int4 OR +a <> a OR @a <> @a::int4 OR abs(a) <> abs(a::int4)
         OR a << (b::int4 & 15) <> a::int4 << (b::int4 & 15) OR a >> (b::int4 & 15) <> a::int4 >> (b::int4 & 15)
         OR (b <> 0 AND mod(a, b) <> mod(a::int4, b::int4))) AS different
FROM (SELECT a::int1, b::int1 FROM generate_series(-128, 127) a, generate_series(-128, 127) b) s;
SELECT count(*), count(*) FILTER (WHERE (a & b) <> (a::int4 & b::int4) OR (a | b) <> (a::int4 | b::int4) OR (a # b) <> (a::int4 # b::int4)
         OR ~a <> ~a::int4 OR +a <> a OR @a <> a OR abs(a) <> a
         OR a << (b::int4 & 15) <> a::int4 << (b::int4 & 15) OR a >> (b::int4 & 15) <> a::int4 >> (b::int4 & 15)
         OR (b <> 0 AND mod(a, b) <> mod(a::int4, b::int4))) AS different
FROM (SELECT a::uint1, b::uint1 FROM generate_series(0, 255) a, generate_series(0, 255) b) s;
SELECT count(*), count(*) FILTER (WHERE (a & b) <> (a::int4 & b::int4) OR (a | b) <> (a::int4 | b::int4) OR (a # b) <> (a::int4 # b::int4)
         OR ~a <> ~a::int4 OR +a <> a OR @a <> a OR abs(a) <> a
         OR a << (b::int4 & 31) <> a::int4 << (b::int4 & 31) OR a >> (b::int4 & 15) <> a::int4 >> (b::int4 & 15)
         OR (b <> 0 AND mod(a, b) <> mod(a::int4, b::int4))) AS different
FROM (SELECT a::uint2, b::uint2 FROM generate_series(0, 65535, 255) a, generate_series(0, 65535, 257) b) s;
SELECT count(*), count(*) FILTER (WHERE (a & b) <> (a::int4 & b::int4) OR (a | b) <> (a::int4 | b::int4) OR (a # b) <> (a::int4 # b::int4)
         OR ~a <> ~a::int4 OR +a <> a OR @a <> a OR abs(a) <> a OR -a <> -a::int4
         OR a << (b::int4 & 31) <> a::int4 << (b::int4 & 31) OR a >> (b::int4 & 15) <> a::int4 >> (b::int4 & 15)
         OR (b <> 0 AND mod(a, b) <> mod(a::int4, b::int4))) AS different
FROM (SELECT a::uint3, b::uint3 FROM generate_series(0, 16777215, 65535) a, generate_series(0, 16777215, 65793) b) s;

--
-- The type of an expression, or the error of the parser
--
\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/resolve.sql'
\i :file
SELECT l AS "left", op,
       string_agg(resolve(format('%s ''1'' %s %s ''1''', l, op, r)), ' ' ORDER BY n) AS "int1 uint1 uint2 uint3 int2 int4 int8 numeric float4 float8"
FROM unnest(ARRAY['int1', 'uint1', 'uint2', 'uint3', 'int2', 'int4', 'int8', 'numeric', 'float8']) WITH ORDINALITY l (l, m),
     unnest(ARRAY['+', '-', '*', '/', '%', '=', '<']) op,
     unnest(ARRAY['int1', 'uint1', 'uint2', 'uint3', 'int2', 'int4', 'int8', 'numeric', 'float4', 'float8']) WITH ORDINALITY r (r, n)
WHERE op <> '%' OR r NOT IN ('float4', 'float8') AND l <> 'float8'
GROUP BY l, op, m ORDER BY op, m;
SELECT e AS expression, resolve(replace(e, '@', 'uint2 ''1''')) AS type
FROM unnest(ARRAY['@ + ''1''', '@ = ''1''', '''1'' < @', '-@', '@ * 1.5', '@ ^ 2', '@ & 4', '@ << 2',
  'coalesce(@, 0)', 'coalesce(@, 0::int8)', 'greatest(@, 1.5)', 'CASE WHEN true THEN @ ELSE 0 END',
  '@ IN (1, 2)', '@ BETWEEN 1 AND 3', 'ARRAY[@, 1]', 'date ''2000-01-01'' + @', 'interval ''1 hour'' * @',
  '@ & @', '@ | ''1''', '''1'' # @', '@ # 4', '4::int8 | @', '@ & 4::int2', '@ & uint1 ''1''', '~@', '~int1 ''1''', '+@', '@ << ''2''', '@ << 2::int2', '@ << @', '@ >> 2::int8',
  '- + @', 'abs(@)', 'abs(-@)', 'mod(@, @)', 'mod(@, 4)', 'mod(4::int8, @)', 'mod(@, ''4'')', 'bit_and(@)', 'bit_or(int1 ''1'')', 'bit_xor(uint1 ''1'')',
  'chr(@)', 'sqrt(@)', 'to_char(@, ''9'')', '@ || ''''', 'int8range(@, 9)', '@ = oid ''1''']) e;
SELECT e AS expression, resolve(replace(replace(e, '@z', 'seconds4tz ''2000-01-01'''), '@', 'seconds4 ''2000-01-01''')) AS type
FROM unnest(ARRAY['@ - @', '@ + interval ''1 h''', '@ < now()', '@ = localtimestamp', 'date ''2000-01-01'' <= @',
  '@ > ''2000-01-01''', '@ = @z', '@z - @z', '@z < localtimestamp', '@z >= now()', '@z = date ''2000-01-01''',
  '@z + interval ''1 h''', 'now() - @z', 'extract(epoch from @)', 'age(@z)', '@ AT TIME ZONE ''UTC''',
  '@z AT TIME ZONE ''UTC''', '@ - date ''2000-01-01''', '@ + ''1 h''']) e;
-- Expressions that are valid without the extension have the same type with it.
SELECT e AS expression, resolve(e) AS type
FROM unnest(ARRAY['int2 ''1'' = 5', 'int2 ''1'' + int4 ''1''', 'int2 ''1'' + ''1''', '''5'' = int2 ''1''', 'int2 ''1'' % ''1''',
  'int4 ''1'' = numeric ''1''', 'int8 ''1'' % ''1''', 'numeric ''1'' % ''1''', '''1'' = ''1''', '- ''5''', '''1'' + ''1''',
  '''1'' % ''1''', 'sum(''1'')', 'max(''1'')', 'avg(''1'')', 'int2 ''1'' = oid ''1''', 'oid ''1'' = ''1''', 'regclass ''pg_class'' = 5',
  'float4 ''1'' = ''1''', 'float8 ''1'' = numeric ''1''', 'money ''1'' = ''1''', 'xid ''1'' = ''1''', 'xid ''1'' = 1',
  'date ''2000-01-01'' - ''2000-01-01''', 'date ''2000-01-01'' + ''1''', 'date ''2000-01-01'' < ''2000-01-01''',
  'date ''2000-01-01'' = timestamp ''2000-01-01''', 'date ''2000-01-01'' < now()', 'now() > ''2000-01-01''',
  'now() - ''2000-01-01''', 'localtimestamp < now()', 'localtimestamp + ''1 h''', 'time ''1:00'' < ''2:00''',
  '''1'' & ''2''', 'int2 ''1'' & ''3''', '''5'' | 3', '5 # int2 ''3''', 'int2 ''1'' << ''2''', '''5'' << 2', '''5'' >> int2 ''2''', 'int2 ''1'' << int2 ''2''', 'bit ''1'' & ''1''', 'bit ''1'' << ''1''',
  '~ ''5''', '@ ''5''', '@ int2 ''5''', '+ ''5''', '+ int2 ''5''', 'abs(''1'')', 'abs(int2 ''1'')', 'abs(numeric ''1'')', 'mod(''5'', ''3'')', 'mod(int2 ''5'', ''3'')', 'mod(5, int2 ''3'')', 'mod(''5'', 3)', 'mod(5, 3.0)',
  'bit_and(''1'')', 'bit_or(int2 ''1'')', 'bit_xor(bit ''1'')', 'point ''1,1'' # ''1,1''', 'inet ''::1'' & ''::1''', '~ inet ''::1''', '''::1'' << inet ''::1''',
  'interval ''1 h'' = ''1 h''', 'varchar ''a'' = ''a''', 'name ''a'' = ''a''', '"char" ''a'' = ''a''', 'bool ''t'' = ''f''']) e;
PREPARE core AS SELECT 1::int2 = $1, 1 = $2, 1::int8 = $3, 1.0 = $4, localtimestamp = $5, now() = $6, current_date = $7, 1::int2 + $8;
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'core';
PREPARE narrow AS SELECT 1::uint2 = $1, 1::int1 + $2, seconds4 '2000-01-01' < $3;
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'narrow';

--
-- Aggregates and window functions, compared with the wide types
--
CREATE TABLE samples AS
  SELECT g AS id, (g * 7919 % 65536)::uint2 AS u2, (g * 7919 % 256)::uint1 AS u1, (g * 7919 % 256 - 128)::int1 AS i1,
         (timestamp '1980-01-01' + g * interval '1 day 1 min')::seconds4 AS s4,
         (timestamptz '1980-01-01' + g * interval '1 day 1 min')::seconds4tz AS z4
  FROM generate_series(1, 20000) g;
ANALYZE samples;
SELECT sum(u2), avg(u2), min(u2), max(u2), sum(u1), avg(u1), min(i1), max(i1), sum(i1), avg(i1) FROM samples;
SELECT sum(u2::int4), avg(u2::int4), min(u2::int4), max(u2::int4), sum(u1::int4), avg(u1::int4), min(i1::int4), max(i1::int4), sum(i1::int4), avg(i1::int4) FROM samples;
SELECT pg_typeof(sum(u2)), pg_typeof(avg(u2)), pg_typeof(max(u2)), min(s4), max(z4) FROM samples;
SELECT bit_and(u2) = bit_and(u2::int4) AND bit_or(u2) = bit_or(u2::int4) AND bit_xor(u2) = bit_xor(u2::int4) AND bit_or(u1) = bit_or(u1::int4) AND bit_xor(i1) = bit_xor(i1::int4) AND bit_and(i1) = bit_and(i1::int4) AS same,
       bit_and(u2), bit_or(u1), bit_xor(i1), bit_and(i1) FILTER (WHERE i1 < 0), bit_or(u2) FILTER (WHERE false) AS empty
FROM samples;
SELECT sum(u2) IS NULL AND avg(u2) IS NULL AND min(s4) IS NULL AS empty FROM samples WHERE false;
SELECT sum(u1) AS s, avg(u1) AS a FROM (VALUES (NULL::uint1), (NULL)) v (u1);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT sum(u2), avg(u2), max(s4) FROM samples;
SELECT sum(u2), avg(u2), max(u2), avg(i1), max(s4), bit_xor(u2), bit_and(i1) FROM samples;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SELECT count(*) FILTER (WHERE s <> s_wide OR a <> a_wide OR r <> r_wide OR i <> i_wide OR z <> z_wide) AS different
FROM (SELECT sum(u2) OVER w AS s, sum(u2::int4) OVER w AS s_wide, avg(i1) OVER w AS a, avg(i1::int4) OVER w AS a_wide,
             count(*) OVER (ORDER BY u2 RANGE BETWEEN 10 PRECEDING AND 70000 FOLLOWING) AS r,
             count(*) OVER (ORDER BY u2::int4 RANGE BETWEEN 10 PRECEDING AND 70000 FOLLOWING) AS r_wide,
             count(*) OVER (ORDER BY s4 RANGE BETWEEN interval '3 days' PRECEDING AND CURRENT ROW) AS i,
             count(*) OVER (ORDER BY s4::timestamp RANGE BETWEEN interval '3 days' PRECEDING AND CURRENT ROW) AS i_wide,
             count(*) OVER (ORDER BY z4 RANGE BETWEEN interval '1 month' PRECEDING AND CURRENT ROW) AS z,
             count(*) OVER (ORDER BY z4::timestamptz RANGE BETWEEN interval '1 month' PRECEDING AND CURRENT ROW) AS z_wide
      FROM samples WINDOW w AS (ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)) s;
SELECT count(*) OVER (ORDER BY u2 RANGE -1 PRECEDING) FROM samples LIMIT 1;

--
-- Indexes can be used for every type of the operator family, also with an empty search_path
--
CREATE INDEX ON samples (u2);
CREATE INDEX ON samples (s4);
CREATE INDEX ON samples (z4);
CREATE INDEX samples_hash ON samples USING hash (u2);
CREATE TABLE brin AS SELECT * FROM samples ORDER BY s4;
CREATE INDEX ON brin USING brin (s4, u1, i1) WITH (pages_per_range = 1);
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
SELECT p FROM unnest(ARRAY['= 5', '= 5::int8', '= 5::int2', '= ''5''', '= 5::uint1', '= 5::int1', 'BETWEEN 5 AND 7', '> 70000', 'IN (1, 2, 3)']) c,
  LATERAL plan('SELECT id FROM samples WHERE u2 ' || c) p WHERE p !~ 'Index Scan';
SELECT p FROM unnest(ARRAY['= ''2000-01-01''', '< timestamp ''2000-01-01''', '>= date ''2000-01-01''', '> timestamptz ''2000-01-01''', '< seconds4tz ''2000-01-01''']) c,
  unnest(ARRAY['s4', 'z4']) col,
  LATERAL plan(format('SELECT id FROM samples WHERE %s %s', col, c)) p WHERE p !~ 'Index Scan' ORDER BY 1;
SET search_path = '';
SELECT p FROM public.plan('SELECT id FROM public.samples WHERE u2 = 5') p;
SELECT p FROM public.plan('SELECT id FROM public.samples WHERE 5 > u2') p;
RESET search_path;
SELECT p FROM plan('SELECT max(u2), min(s4) FROM samples') p;
-- With a constant of a wider type, the order of the other index columns can still be used.
CREATE INDEX samples_pair ON samples (u1, z4);
EXPLAIN (COSTS OFF) SELECT id FROM samples WHERE u1 = 5 ORDER BY z4 DESC LIMIT 1;
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SELECT p FROM plan('SELECT id FROM brin WHERE s4 < timestamp ''1980-02-01''') p;
SELECT p FROM plan('SELECT id FROM brin WHERE u1 = 300 AND i1 > 5::int8') p;
SELECT count(*) FROM brin WHERE s4 < date '1980-02-01';
SELECT count(*) FROM brin WHERE u1 = 300;
SELECT count(*) FROM brin WHERE i1 <= (-127)::int8;
RESET enable_seqscan;
RESET enable_indexscan;
SELECT count(*) FROM brin WHERE s4 < date '1980-02-01';
SELECT count(*) FROM brin WHERE i1 <= (-127)::int8;
-- Join columns of different types.
SELECT count(*) FROM samples a JOIN generate_series(0, 70000, 7) g ON a.u2 = g;
SET enable_hashjoin = off;
SELECT count(*) FROM samples a JOIN generate_series(0, 70000, 7) g ON a.u2 = g;
SET enable_mergejoin = off;
SELECT count(*) FROM samples a JOIN generate_series(0, 70000, 7) g ON a.u2 = g;
RESET enable_hashjoin;
RESET enable_mergejoin;
SELECT count(*) FROM samples a FULL JOIN (SELECT i1 FROM samples LIMIT 10) b ON a.u1 = b.i1;
SELECT count(*) FROM samples a JOIN samples b ON a.s4 = b.s4::timestamp;
SELECT count(*) FROM samples a JOIN samples b ON a.z4 = b.z4::timestamptz;
SELECT count(*) FROM samples a JOIN samples b ON a.s4 = b.z4;
SELECT count(DISTINCT u2), count(DISTINCT s4) FROM samples;

--
-- Keys, partitions, arrays, domains, composites
--
CREATE TABLE parent (id uint2 PRIMARY KEY);
INSERT INTO parent VALUES (1), (2), (60000);
CREATE TABLE child (id uint2 REFERENCES parent, wide int4 REFERENCES parent);
INSERT INTO child VALUES (1, 60000);
INSERT INTO child VALUES (3, NULL);
INSERT INTO child VALUES (NULL, 3);
INSERT INTO child VALUES (NULL, 70000);
DELETE FROM parent WHERE id = 60000;
CREATE TABLE part (id uint2, at seconds4) PARTITION BY RANGE (id);
CREATE TABLE part_low PARTITION OF part FOR VALUES FROM (0) TO (40000);
CREATE TABLE part_high PARTITION OF part FOR VALUES FROM (40000) TO (MAXVALUE) PARTITION BY HASH (at);
CREATE TABLE part_high_0 PARTITION OF part_high FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO part VALUES (1, '2000-01-01'), (65535, '2000-01-01');
SELECT tableoid::regclass, * FROM part ORDER BY id;
SELECT p FROM plan('SELECT * FROM part WHERE id = 50000') p;
SELECT '{1,2,65535}'::uint2[], ARRAY[1, 2]::uint2[] < ARRAY[1, 3]::uint2[], '{1,2}'::uint2[] @> ARRAY[uint2 '2'],
       ROW(uint2 '1', int1 '-1') < ROW(uint2 '1', int1 '0') AS row_lt;
CREATE DOMAIN port AS uint2 CHECK (VALUE > 0);
SELECT 80::port, 80::port = 80 AS equal, 80::port + 1 AS next;
SELECT 0::port;
CREATE TABLE ident (id uint2 DEFAULT 7, e seconds4tz DEFAULT now());
INSERT INTO ident DEFAULT VALUES;
SELECT id, e = now() OR e - now() < interval '1 min' AS now FROM ident;

--
-- Values of three bytes are passed by reference
--
CREATE TABLE three AS
  SELECT g AS id, CASE WHEN g % 50 > 0 THEN (g::int8 * 1000003 % 16777216)::uint3 END AS u3, g % 300 AS groups
  FROM generate_series(1, 20000) g;
ANALYZE three;
SELECT sum(u3) = sum(u3::int4) AND avg(u3) = avg(u3::int4) AND min(u3) = min(u3::int4) AND max(u3) = max(u3::int4)
         AND bit_and(u3) = bit_and(u3::int4) AND bit_or(u3) = bit_or(u3::int4) AND bit_xor(u3) = bit_xor(u3::int4) AS same,
       count(DISTINCT u3) = count(DISTINCT u3::int4) AS distinct_values, min(u3), max(u3), pg_typeof(max(u3)), pg_typeof(sum(u3))
FROM three;
SELECT count(*), count(*) FILTER (WHERE least_value <> least_wide OR greatest_value <> greatest_wide OR bits <> bits_wide) AS different
FROM (SELECT min(u3) AS least_value, min(u3::int4) AS least_wide, max(u3) AS greatest_value, max(u3::int4) AS greatest_wide,
             bit_xor(u3) AS bits, bit_xor(u3::int4) AS bits_wide FROM three GROUP BY groups) s;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT max(u3) = max(u3::int4) AND bit_xor(u3) = bit_xor(u3::int4) AND avg(u3) = avg(u3::int4) AS same FROM three;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SELECT count(*) FILTER (WHERE (lagged, first, s, r) IS DISTINCT FROM (lagged_wide, first_wide, s_wide, r_wide)) AS different
FROM (SELECT lag(u3) OVER w::int4 AS lagged, lag(u3::int4) OVER w AS lagged_wide,
             first_value(u3) OVER w::int4 AS first, first_value(u3::int4) OVER w AS first_wide,
             sum(u3) OVER w AS s, sum(u3::int4) OVER w AS s_wide,
             count(*) OVER (ORDER BY u3 RANGE BETWEEN 70000 PRECEDING AND CURRENT ROW) AS r,
             count(*) OVER (ORDER BY u3::int4 RANGE BETWEEN 70000 PRECEDING AND CURRENT ROW) AS r_wide
      FROM three WINDOW w AS (ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)) s;
-- Sort in memory and on disk, ascending and descending, by this column alone and after another
-- column.
SET work_mem = '64kB';
SELECT count(*) FILTER (WHERE u3 IS DISTINCT FROM wide) AS different
FROM (SELECT u3::int4, row_number() OVER () AS n FROM (SELECT u3 FROM three ORDER BY u3) s) a
  FULL JOIN (SELECT wide, row_number() OVER () AS n FROM (SELECT u3::int4 AS wide FROM three ORDER BY 1) s) b USING (n);
RESET work_mem;
SELECT count(*) FILTER (WHERE u3 IS DISTINCT FROM wide) AS different
FROM (SELECT u3::int4, row_number() OVER () AS n FROM (SELECT u3 FROM three ORDER BY u3 DESC NULLS LAST) s) a
  FULL JOIN (SELECT wide, row_number() OVER () AS n FROM (SELECT u3::int4 AS wide FROM three ORDER BY 1 DESC NULLS LAST) s) b USING (n);
SELECT count(*) FILTER (WHERE (groups, u3) IS DISTINCT FROM (groups_wide, wide)) AS different
FROM (SELECT groups, u3::int4, row_number() OVER () AS n FROM (SELECT groups, u3 FROM three ORDER BY groups, u3) s) a
  FULL JOIN (SELECT groups AS groups_wide, wide, row_number() OVER () AS n FROM (SELECT groups, u3::int4 AS wide FROM three ORDER BY 1, 2) s) b USING (n);
-- Test indexes, also with the column in INCLUDE, and the values that an index-only scan returns.
CREATE INDEX ON three (u3);
CREATE INDEX three_hash ON three USING hash (u3);
CREATE INDEX three_pair ON three (groups, u3) INCLUDE (id);
CREATE INDEX three_included ON three (id) INCLUDE (u3);
VACUUM three;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT p FROM unnest(ARRAY['= 70000', '= 70000::int8', '= 5::int2', '= ''70000''', '= 5::uint1', '= 5::uint2', '= 5::int1', 'BETWEEN 5 AND 70000', '> 170000000', 'IN (1, 2, 70000)', 'IS NULL']) c,
  LATERAL plan('SELECT id FROM three WHERE u3 ' || c) p WHERE p !~ 'Index (Only )?Scan';
EXPLAIN (COSTS OFF) SELECT u3 FROM three WHERE groups = 7 AND u3 < 9000000 ORDER BY u3;
SELECT count(*), sum(u3), min(u3) FROM (SELECT u3 FROM three WHERE groups = 7 AND u3 < 9000000 ORDER BY u3) s;
EXPLAIN (COSTS OFF) SELECT u3 FROM three WHERE id = 21;
SELECT u3 FROM three WHERE id = 21;
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT count(*), sum(u3) FROM three WHERE groups = 7 AND u3::int4 < 9000000;
CREATE TABLE three_brin AS SELECT * FROM three ORDER BY u3;
CREATE INDEX ON three_brin USING brin (u3) WITH (pages_per_range = 1);
SET enable_seqscan = off;
SELECT count(*) FROM three_brin WHERE u3 < 1000000::int8;
RESET enable_seqscan;
SELECT count(*) FROM three_brin WHERE u3::int4 < 1000000;
-- Test hash joins, merge joins, and nested loops with Memoize.
SELECT count(*) FROM three a JOIN generate_series(0, 16777215, 7) g ON a.u3 = g;
SET enable_hashjoin = off;
SELECT count(*) FROM three a JOIN generate_series(0, 16777215, 7) g ON a.u3 = g;
SET enable_mergejoin = off;
SELECT count(*) FROM three a JOIN three b ON a.u3 = b.u3;
RESET enable_hashjoin;
RESET enable_mergejoin;
SELECT count(*) FROM three a JOIN three b ON a.u3 = b.u3;
-- Test variables, arrays, partitions, and a row that is updated in place.
DO $$
DECLARE
  a uint3 := 16777214;
  b uint3;
  list uint3[];
BEGIN
  b := a;
  a := a + 1;
  list := array_append(list, a);
  list[3] := 5;
  RAISE NOTICE '% % % %', a, b, list, list[1] - list[3];
  a := a + 1;
EXCEPTION WHEN numeric_value_out_of_range THEN
  RAISE NOTICE '% %', SQLERRM, a;
END $$;
SELECT ARRAY[1, 65536, NULL, 16777215]::uint3[], (ARRAY[1, 65536, 16777215]::uint3[])[2:3], ARRAY[1, 65536]::uint3[] < ARRAY[1, 65537]::uint3[],
       pg_column_size(ARRAY[1, 2, 3, 4]::uint3[]) - pg_column_size(ARRAY[]::uint3[]) AS bytes, array_agg(u3 ORDER BY id) FILTER (WHERE id < 4) AS agg,
       ROW(uint3 '1', uint1 '1') < ROW(uint3 '1', uint1 '2') AS row_lt
FROM three;
CREATE TABLE three_parts (id uint3, a int) PARTITION BY RANGE (id);
CREATE TABLE three_low PARTITION OF three_parts FOR VALUES FROM (0) TO (70000);
CREATE TABLE three_high PARTITION OF three_parts FOR VALUES FROM (70000) TO (MAXVALUE) PARTITION BY HASH (id);
CREATE TABLE three_high_0 PARTITION OF three_high FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE three_high_1 PARTITION OF three_high FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO three_parts SELECT g * 10000, g FROM generate_series(0, 100) g;
SELECT count(*) AS rows, count(DISTINCT tableoid) AS partitions FROM three_parts;
SELECT p FROM plan('SELECT * FROM three_parts WHERE id = 60000') p;
UPDATE three_parts SET id = id + 1 WHERE a = 6;
SELECT tableoid::regclass, * FROM three_parts WHERE id = 60001;
SELECT pg_column_size(ROW(uint1 '1', uint3 '1', uint1 '1', uint3 '1')) - pg_column_size(ROW()) AS no_padding;
DROP TABLE three, three_brin, three_parts;

--
-- The arithmetic of uint4 gives int8, because int4 does not hold its values
--
SELECT uint4 '0', uint4 '2147483648', uint4 '4294967295', uint4 ' +00077 ', 4294967295::uint4, 4294967295.4::uint4, 2147483648::float8::uint4, uint2 '5'::uint4;
SELECT uint4 '4294967296';
SELECT uint4 '-1';
SELECT uint4 '99999999999999999999999999';
SELECT 4294967296::uint4;
SELECT (-1)::int4::uint4, 5;
SELECT (-1)::int2::uint4;
SELECT (-1)::int1::uint4;
SELECT 4294967295.5::uint4;
SELECT 'NaN'::float8::uint4;
SELECT 2147483648::uint4::int4;
SELECT 32768::uint4::int2;
SELECT 16777216::uint4::uint3;
-- The type of each result is the same as for int8.
SELECT e AS expression, resolve(replace(e, 'U', 'uint4')) AS type, resolve(replace(e, 'U', 'uint4')) = resolve(replace(e, 'U', 'int8')) AS same
FROM unnest(ARRAY['U ''5'' + U ''5''', 'U ''5'' + 5', '5 - U ''5''', 'U ''5'' * ''5''', '''5'' / U ''5''', 'U ''5'' % 5::int2', 'U ''5'' + 5::int8', 'U ''5'' + 1.5', 'U ''5'' * 1.5::float8',
  '-U ''5''', '~U ''5''', '@U ''5''', 'abs(U ''5'')', 'U ''5'' << 1', 'U ''5'' >> 1', 'U ''5'' & 5', '5 | U ''5''', 'U ''5'' # 5::int2', 'U ''5'' & 5::int8', 
  'mod(U ''5'', 5::int8)', 'mod(5::int8, U ''5'')', 'mod(U ''5'', 5.5)', 'mod(U ''5'', U ''5'')', 'U ''5'' + uint1 ''5''', 'int1 ''5'' - U ''5''', 'mod(U ''5'', uint2 ''5'')', 'mod(U ''5'', ''5'')',
  'sum(U ''5'')', 'avg(U ''5'')', 'sum(U ''5'' + 1)', 'coalesce(U ''5'', 5::int8)', 'coalesce(U ''5'', 5.5)', 'greatest(U ''5'', 5::float8)', 'round(U ''5'')', 'sqrt(U ''5'')', 'U ''5'' ^ 2']) e;
-- These expressions are refused or give another type.
SELECT e AS expression, resolve(replace(e, 'U', 'uint4')) AS type, resolve(replace(e, 'U', 'int8')) AS type_of_int8
FROM unnest(ARRAY['coalesce(U ''5'', 5)', 'CASE WHEN true THEN 5 ELSE U ''5'' END', 'greatest(U ''5'', 5::int2)', 'ARRAY[U ''5'', 5]', 'array_append(ARRAY[U ''5''], 5)', 'coalesce(U ''5'', int1 ''5'')', 'mod(U ''5'', 5)', 'mod(5::int2, U ''5'')', 'gcd(U ''5'', 5)', 'generate_series(1, U ''5'')',
  'U ''5'' & U ''5''', '+U ''5''', 'min(U ''5'')', 'bit_xor(U ''5'')', 'stddev(U ''5'')', 'U ''5''::oid', 'coalesce(U ''5'', uint2 ''5'')', 'U ''5'' & uint2 ''5''']) e;
-- A result overflows where int8 does.
SELECT uint4 '4294967295' + uint4 '4294967295' AS plus, uint4 '1' - uint4 '4294967295' AS minus, uint4 '4294967295' * uint2 '65535' AS times, 4294967295 / uint4 '4294967295' AS divided,
       uint4 '4294967295' % -7 AS modulus, -uint4 '4294967295' AS negative, ~uint4 '4294967295' AS complement, uint4 '4294967295' << 8 AS shl, uint4 '4294967295' >> 31 AS shr,
       uint4 '4294967295' & -2 AS clear, uint4 '4294967295' & uint4 '2147483648' AS bit, uint4 '2147483648' # '1' AS xor, mod(uint4 '4294967295', uint4 '7') AS mod, uint4 '5' - '4294967296' AS literal;
SELECT uint4 '4294967295' * uint4 '4294967295';
SELECT uint4 '4294967295' * '4294967296';
SELECT uint4 '1' / uint4 '0';
SELECT mod(uint4 '1', '0');
SELECT 9223372036854775807 + uint4 '1';
SELECT -9223372036854775807 - uint4 '2';
CREATE TABLE four AS
  SELECT g AS id, CASE WHEN g % 50 > 0 THEN (g::int8 * 2654435761 % 4294967296)::uint4 END AS u4, CASE WHEN g % 50 > 0 THEN g::int8 * 2654435761 % 4294967296 END AS wide,
         (g * 7919 % 20000)::uint4 AS low FROM generate_series(1, 20000) g;
ANALYZE four;
SELECT sum(u4) = sum(wide) AND avg(u4) = avg(wide) AND min(u4) = min(wide) AND max(u4) = max(wide) AND bit_and(u4) = bit_and(wide) AND bit_or(u4) = bit_or(wide)
         AND bit_xor(u4) = bit_xor(wide) AS same, count(DISTINCT u4) = count(DISTINCT wide) AS distinct_values, min(u4), max(u4), sum(u4) FROM four;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT max(u4) = max(wide) AND bit_xor(u4) = bit_xor(wide) AND avg(u4) = avg(wide) AND sum(u4) = sum(wide) AS same FROM four;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SELECT sum(u4) IS NULL AS no_rows, avg(u4) IS NULL AS no_average FROM four WHERE u4 IS NULL;
SELECT count(*) FILTER (WHERE (s, a, f, r) IS DISTINCT FROM (s_wide, a_wide, f_wide, r_wide)) AS different
FROM (SELECT sum(u4) OVER w AS s, sum(wide) OVER w AS s_wide, avg(u4) OVER w AS a, avg(wide) OVER w AS a_wide, first_value(u4) OVER w::int8 AS f, first_value(wide) OVER w AS f_wide,
             count(*) OVER (ORDER BY u4 RANGE BETWEEN 3000000000 PRECEDING AND 70000 FOLLOWING) AS r, count(*) OVER (ORDER BY wide RANGE BETWEEN 3000000000 PRECEDING AND 70000 FOLLOWING) AS r_wide
      FROM four WINDOW w AS (ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)) s;
-- Sort in memory and on disk, ascending and descending, and after another column.
SELECT count(*) FILTER (WHERE a IS DISTINCT FROM b) AS different FROM (SELECT u4::int8 AS a, row_number() OVER () AS n FROM (SELECT u4 FROM four ORDER BY u4) s) a
  FULL JOIN (SELECT wide AS b, row_number() OVER () AS n FROM (SELECT wide FROM four ORDER BY wide) s) b USING (n);
SET work_mem = '64kB';
SELECT count(*) FILTER (WHERE a IS DISTINCT FROM b) AS different FROM (SELECT u4::int8 AS a, row_number() OVER () AS n FROM (SELECT u4 FROM four ORDER BY u4 DESC NULLS LAST) s) a
  FULL JOIN (SELECT wide AS b, row_number() OVER () AS n FROM (SELECT wide FROM four ORDER BY wide DESC NULLS LAST) s) b USING (n);
RESET work_mem;
SELECT count(*) FILTER (WHERE a IS DISTINCT FROM b) AS different FROM (SELECT (k, u4::int8) AS a, row_number() OVER () AS n FROM (SELECT low % 7 AS k, u4 FROM four ORDER BY 1, 2) s) a
  FULL JOIN (SELECT (k, wide) AS b, row_number() OVER () AS n FROM (SELECT low % 7 AS k, wide FROM four ORDER BY 1, 2) s) b USING (n);
-- A sort compares stored values with values that were computed.
SELECT count(*) AS values, count(*) FILTER (WHERE x < before) AS wrong
FROM (SELECT x::int8 AS x, lag(x::int8) OVER () AS before FROM (SELECT u4 AS x FROM four UNION ALL SELECT wide::uint4 FROM four ORDER BY 1) s) s;
-- Indexes serve all integers, and find the same rows.
CREATE INDEX ON four (u4);
CREATE INDEX four_hash ON four USING hash (u4);
CREATE INDEX four_low ON four (low) INCLUDE (u4);
VACUUM four;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT p FROM unnest(ARRAY['= 70000', '= 3000000000', '= 5::int2', '= ''3000000000''', '= 5::uint1', '= 5::uint2', '= 5::int1', '= 5::uint3', 'BETWEEN 5 AND 3000000000', '> 17000000000', '> -1', 'IN (1, 2, 3000000000)', '= ANY (''{1,2}''::int4[])', 'IS NULL']) c,
  LATERAL plan('SELECT id FROM four WHERE u4 ' || c) p WHERE p !~ 'Index (Only )?Scan';
SELECT count(*) FILTER (WHERE (SELECT count(*) FROM four f WHERE f.u4 = s.wide) <> 1) AS lost, count(*) FILTER (WHERE (SELECT max(low)::int8 FROM four f WHERE f.u4 = s.u4) <> s.low) AS wrong FROM (SELECT * FROM four WHERE u4 IS NOT NULL ORDER BY id LIMIT 200) s;
SELECT count(*) FROM four WHERE u4 < 2147483648;
SELECT u4 FROM four WHERE low = 19999;
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT count(*) FROM four WHERE wide < 2147483648;
CREATE TABLE four_brin AS SELECT u4 FROM four ORDER BY u4;
CREATE INDEX ON four_brin USING brin (u4) WITH (pages_per_range = 1);
SET enable_seqscan = off;
SELECT count(*) FROM four_brin WHERE u4 > 3000000000;
RESET enable_seqscan;
SELECT count(*) FROM four WHERE wide > 3000000000;
-- Joins with int8, by each method
SELECT count(*) FROM four a JOIN four b ON a.u4 = b.wide;
SET enable_hashjoin = off;
SELECT count(*) FROM four a JOIN four b ON a.u4 = b.wide;
SET enable_mergejoin = off;
SELECT count(*) FROM four a JOIN four b ON a.u4 = b.u4 WHERE a.id < 500;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- Foreign keys between uint4 and int8, in both directions
CREATE TABLE four_parent (u uint4 PRIMARY KEY, w int8 UNIQUE);
CREATE TABLE four_child (w int8 REFERENCES four_parent ON UPDATE CASCADE, u uint4 REFERENCES four_parent (w) ON UPDATE CASCADE ON DELETE CASCADE, i int4 REFERENCES four_parent);
INSERT INTO four_parent VALUES (4294967295, 4294967294), (5, 5);
INSERT INTO four_child VALUES (4294967295, 4294967294, 5);
INSERT INTO four_child VALUES (4294967294);
INSERT INTO four_child (u) VALUES (4294967293);
INSERT INTO four_child (i) VALUES (-1);
UPDATE four_parent SET u = 4294967290, w = 4294967289 WHERE u = 4294967295;
SELECT * FROM four_child;
DELETE FROM four_parent WHERE u = 5;
UPDATE four_parent SET w = 4294967296 WHERE u = 4294967290;
-- Partitions, arrays, variables
CREATE TABLE four_parts (id uint4, a int) PARTITION BY RANGE (id);
CREATE TABLE four_lower PARTITION OF four_parts FOR VALUES FROM (0) TO (2147483648);
CREATE TABLE four_high PARTITION OF four_parts FOR VALUES FROM (2147483648) TO (MAXVALUE) PARTITION BY HASH (id);
CREATE TABLE four_high_0 PARTITION OF four_high FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE four_high_1 PARTITION OF four_high FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO four_parts SELECT g * 40000000::int8, g FROM generate_series(0, 100) g;
SELECT count(*) AS rows, count(DISTINCT tableoid) AS partitions, count(*) FILTER (WHERE tableoid = 'four_lower'::regclass) AS low FROM four_parts;
SELECT p FROM plan('SELECT * FROM four_parts WHERE id = 80000000') p;
SELECT p FROM plan('SELECT * FROM four_parts WHERE id = 4000000000') p;
SELECT count(*) FROM four_parts WHERE id = 4000000000;
SELECT '{1,NULL,4294967295}'::uint4[] AS list, ARRAY[1, 4294967295]::uint4[] > ARRAY[1, 2147483647]::uint4[] AS greater, '{4294967295,2}'::uint4[] @> ARRAY[uint4 '4294967295'] AS has, 4294967295 = ANY ('{1,4294967295}'::uint4[]) AS any,
       array_agg(u4 ORDER BY id) FILTER (WHERE id < 4) AS agg, ROW(uint4 '4294967295') > ROW(uint4 '1') AS row_gt, pg_column_size(uint4 '1') AS bytes FROM four;
DO $$
DECLARE
  a uint4 := 4294967294;
BEGIN
  a := a + 1;
  RAISE NOTICE '%', a;
  a := a + 1;
EXCEPTION WHEN numeric_value_out_of_range THEN
  RAISE NOTICE '% %', SQLERRM, a;
END $$;
\set VERBOSITY default
INSERT INTO four_parts VALUES (-5);
INSERT INTO four_parts VALUES ('-5');
SELECT uint4 '5' IN ('5', '-1');
\set VERBOSITY terse
DROP TABLE four, four_brin, four_child, four_parent, four_parts;

--
-- Statistics
--
SELECT count(*) FROM pg_stats WHERE tablename = 'samples' AND histogram_bounds IS NOT NULL;

--
-- The binary format is that of the wide type
--
SELECT compact_types.uint1_send(255::uint1) = int2send(255::int2) AS uint1, compact_types.int1_send((-1)::int1) = int2send((-1)::int2) AS int1,
       compact_types.uint2_send(65535::uint2) = int4send(65535) AS uint2, compact_types.uint3_send(16777215::uint3) = int4send(16777215) AS uint3,
       compact_types.uint4_send(4294967295::uint4) = int8send(4294967295) AS uint4,
       compact_types.seconds4_send('2000-01-01') = timestamp_send('2000-01-01') AS seconds4,
       compact_types.seconds4tz_send('2000-01-01') = timestamptz_send('2000-01-01') AS seconds4tz;

--
-- JSON has numbers and ISO 8601 timestamps, whatever DateStyle is, as for the wide types
--
CREATE VIEW narrow_json AS
  SELECT int1 '-128' AS i1, uint1 '255' AS u1, uint2 '65535' AS u2, uint3 '16777215' AS u3, uint4 '4294967295' AS u4, seconds4 '2000-01-02 03:04:05' AS s4,
         seconds4tz '2000-01-02 03:04:05+00' AS z4, NULL::uint2 AS nothing, ARRAY[1, NULL, 2]::uint2[] AS list;
CREATE VIEW wide_json AS
  SELECT i1::int2, u1::int2, u2::int4, u3::int4, u4::int8, s4::timestamp, z4::timestamptz, nothing::int4, list::int4[] FROM narrow_json;
SET datestyle = 'SQL, DMY';
SET timezone = 'Asia/Kolkata';
SELECT row_to_json(n) AS json FROM narrow_json n;
SELECT to_jsonb(n) AS jsonb FROM narrow_json n;
SELECT row_to_json(n)::text = row_to_json(w)::text AS row_to_json, to_jsonb(n) = to_jsonb(w) AS to_jsonb,
       (SELECT json_agg(v)::text FROM (SELECT n) v) = (SELECT json_agg(v)::text FROM (SELECT w AS n) v) AS json_agg,
       json_build_array(n.u2, n.z4)::text = json_build_array(w.u2, w.z4)::text AS json_build_array,
       jsonb_build_object('a', n.i1, 'b', n.s4) = jsonb_build_object('a', w.i1, 'b', w.s4) AS jsonb_build_object,
       (SELECT jsonb_object_agg(k, v) FROM (VALUES ('x', n.u1)) v (k, v)) = '{"x": 255}' AS jsonb_object_agg,
       jsonb_typeof(to_jsonb(n.u1)) AS type, n.u2::text AS text, n.u2::json AS json
FROM narrow_json n, wide_json w;
SELECT (jsonb_populate_record(NULL::narrow_json, to_jsonb(n))).* FROM narrow_json n;
RESET datestyle;
SET timezone = 'UTC';
-- The cast is used only for JSON.
SELECT castsource::regtype, castcontext FROM pg_cast WHERE casttarget = 'json'::regtype AND castsource::regtype::text ~ 'int|seconds' AND castcontext <> 'e';
CREATE TABLE narrow_json_refused (j json);
INSERT INTO narrow_json_refused SELECT u2 FROM narrow_json;
-- A type with a cast to json cannot be a key of a JSON object.
SELECT json_build_object(u2, 1) FROM narrow_json;
SELECT json_build_object(u2::int4, 1) FROM narrow_json;
DROP TABLE narrow_json_refused;
DROP VIEW wide_json, narrow_json;

-- No function for users creates these types.
SELECT proname FROM pg_proc WHERE proname = 'create_scalars';
DROP TABLE narrow, samples, brin, parent, child, part, ident;
DROP DOMAIN port;
DROP FUNCTION resolve, plan;
