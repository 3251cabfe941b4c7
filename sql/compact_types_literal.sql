--
-- Test literals, parameters without a type, and columns of the same type in comparisons of narrow
-- scalars.  Results must be those of the wide types, with the plans that typed values get.
--
\set SHOW_CONTEXT never
CREATE EXTENSION compact_decimal4_2;
CREATE EXTENSION compact_decimal8_4;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';

-- These are the stand-ins: internal types that literals and the right side of T = T get.
SELECT typname, typlen, typbyval, typcategory, typispreferred, obj_description(oid, 'pg_type') AS comment
FROM pg_type WHERE typname ~ '^[a-z]+_(literal|operand|left)$' ORDER BY typname;
-- Without an explicit cast, only T = T gives an operand, and nothing gives a literal.
SELECT castsource::regtype, casttarget::regtype, castcontext FROM pg_cast
WHERE casttarget::regtype::text ~ '_(literal|operand|left)$' OR castsource::regtype::text ~ '_(literal|operand|left)$' ORDER BY 1, 2;
-- The operators of a type with itself have names that no query uses.
SELECT oprleft::regtype, string_agg(oprname, ' ' ORDER BY oprname) AS names
FROM pg_operator o JOIN pg_type t ON t.oid = oprleft
WHERE oprleft = oprright AND typname ~ '^(u?int[13]|uint2|seconds4|compact_decimal)' GROUP BY 1 ORDER BY 1;

CREATE TABLE narrow AS
  SELECT g AS id, (g % 256)::uint1 AS u, (g * 7 % 256)::uint1 AS u2, (g % 256 - 128)::int1 AS i, g::uint3 AS u3,
         (g / 100.0)::compact_decimal4_2 AS d, (g / 100.0)::compact_decimal8_4 AS e,
         (timestamp '2000-01-01' + g * interval '1 h')::seconds4 AS s,
         (timestamptz '2000-01-01' + g * interval '1 h')::seconds4tz AS z
  FROM generate_series(1, 3000) g;
CREATE INDEX narrow_u ON narrow (u);
CREATE INDEX narrow_d ON narrow (d);
CREATE INDEX narrow_s ON narrow (s);
CREATE INDEX narrow_z ON narrow (z);
ANALYZE narrow;
SELECT count(*) FILTER (WHERE u < '300') AS u, count(*) FILTER (WHERE u = '300') AS equal, count(*) FILTER (WHERE '-1' < u) AS left,
       count(*) FILTER (WHERE i > '-99999999999') AS i, count(*) FILTER (WHERE u3 <> '99999999') AS u3,
       count(*) FILTER (WHERE d > '10.995') AS d, count(*) FILTER (WHERE d::numeric > '10.995') AS d_wide, count(*) FILTER (WHERE d >= '99999999') AS beyond, count(*) FILTER (WHERE d < 'NaN') AS nan,
       count(*) FILTER (WHERE s < 'infinity') AS s, count(*) FILTER (WHERE s < '9999-12-31') AS year, count(*) FILTER (WHERE s <= '2000-01-02 00:00:00.7') AS fraction,
       count(*) FILTER (WHERE z < 'infinity') AS z, count(*) FILTER (WHERE '2000-01-02 00:00:00.3' > z) AS z_fraction
FROM narrow;
SELECT count(*) FROM narrow WHERE u = 'x';
SELECT count(*) FROM narrow WHERE u = '1.5';
SELECT count(*) FROM narrow WHERE d = '1,5';
SELECT count(*) FROM narrow WHERE z = 'x';

-- The plans are those of the native operators.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM narrow WHERE u = '300';
EXPLAIN (COSTS OFF) SELECT id FROM narrow WHERE '5' > u;
EXPLAIN (COSTS OFF) SELECT id FROM narrow WHERE d BETWEEN '10.995' AND '11';
EXPLAIN (COSTS OFF) SELECT id FROM narrow WHERE s < 'infinity';
EXPLAIN (COSTS OFF) SELECT id FROM narrow WHERE z >= '2000-02-01 00:00:00.5';
EXPLAIN (COSTS OFF) SELECT id FROM narrow WHERE u = ANY ('{1,300}');
EXPLAIN (COSTS OFF) SELECT id FROM narrow WHERE u = ANY ('{1,30}'::uint1[]);
EXPLAIN (COSTS OFF) SELECT id FROM narrow WHERE (u, id) < ('5', 100);
SELECT count(*) FROM narrow WHERE u = ANY ('{1,300}');
SELECT count(*) FROM narrow WHERE u <= ANY ('{1,300}');
SELECT count(*) FROM narrow WHERE u = ANY ('{1,30}'::uint1[]);
SELECT count(*) FROM narrow WHERE (u, id) < ('5', 100);
RESET enable_seqscan;
RESET enable_bitmapscan;
SET enable_nestloop = off;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM narrow a JOIN narrow b ON a.u = b.u2;
EXPLAIN (COSTS OFF) SELECT count(*) FROM narrow a JOIN narrow b ON a.d = b.e;
EXPLAIN (COSTS OFF) SELECT count(*) FROM narrow a JOIN narrow b ON a.z = b.z;
SET enable_hashjoin = off;
SET enable_mergejoin = on;
EXPLAIN (COSTS OFF) SELECT count(*) FROM narrow a JOIN narrow b ON a.s = b.s;
SELECT count(*) FROM narrow a JOIN narrow b ON a.d = b.e;
RESET enable_nestloop;
RESET enable_hashjoin;
SELECT count(*) FROM narrow WHERE u NOT IN (SELECT u2 FROM narrow WHERE id < 10);
EXPLAIN (VERBOSE, COSTS OFF) SELECT u - u2, u - '300' FROM narrow WHERE u - u2 < '0';
SELECT uint1 '5' - '300' AS literal, '300' - uint1 '5' AS left, uint1 '5' - uint1 '7' AS itself, uint2 '5' * '70000' AS product, int1 '-128' / '-1' AS quotient;

-- Test parameters without a type.
PREPARE p AS SELECT count(*) FROM narrow WHERE u < $1 AND $2 > d AND s < $3 AND z < $4 AND i + $5 < 1000;
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'p';
EXECUTE p ('300', '10.995', 'infinity', '2000-01-10 00:00:00.7', '300');
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE p ('300', '10.995', 'infinity', '2000-01-10 00:00:00.7', '300');
EXECUTE p ('300', '10.995', 'infinity', '2000-01-10 00:00:00.7', '300');
RESET plan_cache_mode;

-- A stored value is rounded.  A literal that gets the narrow type without an operator must be
-- exact.
CREATE TABLE stored (d compact_decimal4_2 DEFAULT '1.005', s seconds4 DEFAULT '2000-01-01 00:00:00.7', u uint1);
INSERT INTO stored DEFAULT VALUES;
INSERT INTO stored VALUES ('10.995', '2000-01-01 00:00:00.3', '1'), ('10.994', '2000-01-01 00:00:00.7', '2');
INSERT INTO stored SELECT '1.005', '2000-01-01 00:00:00.3', '3';
UPDATE stored SET d = '7.777' WHERE u = '3';
PREPARE i AS INSERT INTO stored VALUES ($1, $2, $3);
EXECUTE i ('2.225', '2000-01-01 00:00:00.7', '4');
COPY stored FROM stdin;
3.335	2000-01-01 00:00:00.7	5
\.
SELECT * FROM stored ORDER BY u;
SELECT count(*) FROM stored WHERE d IN ('10.995', '11');
SELECT count(*) FROM stored WHERE d IN (numeric '10.995', '11');
SELECT count(*) FROM stored WHERE d IN ('11.00', '10.99');
SELECT coalesce(d, '0.005') FROM stored;
SELECT CASE WHEN u > 1 THEN s ELSE '2000-01-01 00:00:00.5' END FROM stored;
SELECT count(*) FROM stored WHERE u IN ('300', '1');
SELECT greatest(s, 'infinity') FROM stored;
SELECT '1.005'::compact_decimal4_2;
SELECT '1.005'::numeric::compact_decimal4_2, '1.00'::compact_decimal4_2;
UPDATE stored SET d = coalesce('0.005', d);
INSERT INTO stored (u) VALUES ('300');

-- Test other places where literals get a common type, without an operator or a CASE.
SELECT d FROM stored UNION SELECT '10.995';
SELECT d FROM stored EXCEPT SELECT '10.995';
(SELECT s FROM stored LIMIT 1) UNION ALL SELECT '2000-01-01 00:00:00.5';
SELECT count(*) FROM (SELECT d FROM stored UNION SELECT '10.99') s;
WITH RECURSIVE r AS (SELECT d FROM stored WHERE u = '1' UNION ALL SELECT '10.995' FROM r WHERE d < 1) SELECT * FROM r;
SELECT v.* FROM stored, LATERAL (VALUES (d), ('10.995')) v;
SELECT v.* FROM stored, LATERAL (VALUES (coalesce(d, '10.995'))) v;
VALUES ((SELECT max(d) FROM stored)), ('10.995');
SELECT array_position(array_agg(d), '10.995') FROM stored;
SELECT array_agg(d) @> '{10.995}' FROM stored;
-- Test arguments of EXECUTE for a parameter that got the narrow type.
PREPARE l AS SELECT count(*) FROM stored WHERE d IN ($1, $2) OR s IN ($3, '2001-01-01');
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'l';
EXECUTE l ('11', '2.23', '2000-01-01 00:00:01');
EXECUTE l ('10.995', '2.23', '2000-01-01 00:00:01');
EXECUTE l ('11', 2.225, '2000-01-01 00:00:01');
EXECUTE l ('11', -2.225, '2000-01-01 00:00:01');
EXECUTE l ('11', 2.225::compact_decimal4_2, '2000-01-01 00:00:01');
EXECUTE l ('11', '2.23', '2000-01-01 00:00:00.7');
EXECUTE l ('11', '2.23', timestamp '2000-01-01 00:00:00' + interval '0.7 s');
EXECUTE l ('11', '2.23', timestamp '2000-01-01' + (random() * 0 + 0.7) * interval '1 s');
EXECUTE l ('11', (round(2.2249, 4))::compact_decimal4_2, '2000-01-01 00:00:01');
EXPLAIN (COSTS OFF) EXECUTE l ('11', '2.225', '2000-01-01 00:00:01');
CREATE TABLE executed AS EXECUTE l ('11', '2.225', '2000-01-01 00:00:01');
DO $$ BEGIN EXECUTE $e$EXECUTE l ('11', '2.225', '2000-01-01 00:00:01')$e$; END $$;
-- A cast to another type does not round the value, but the assignment to the parameter would round
-- it.
EXECUTE l (2.225::numeric, 1, '2000-01-01 00:00:01');
EXECUTE l (numeric '2.225', 1, '2000-01-01 00:00:01');
EXECUTE l ('2.225'::numeric(9,3), 1, '2000-01-01 00:00:01');
EXECUTE l (CAST(2.225 AS numeric), 1, '2000-01-01 00:00:01');
EXECUTE l (CAST(CAST(2.225 AS numeric) AS compact_decimal4_2), 1, '2000-01-01 00:00:01');
EXECUTE l (2.225::float8, 1, '2000-01-01 00:00:01');
EXECUTE l (2.225::float4, 1, '2000-01-01 00:00:01');
EXECUTE l (float8 '2.225' * (random() * 0 + 1), 1, '2000-01-01 00:00:01');
EXECUTE l (1, 1, timestamp '2000-01-01 00:00:00.7');
EXECUTE l (1, 1, timestamptz '2000-01-01 00:00:00.7');
EXECUTE l (1, 1, timestamptz '2000-01-01 00:00:00.7' + interval '0');
EXECUTE l (2.23::float8, 2.23::float4, timestamptz '2000-01-01 00:00:01');
EXECUTE l (2.225::float8::compact_decimal4_2, 1, timestamptz '2000-01-01 00:00:00.7'::seconds4);
PREPARE lz AS SELECT count(*) FROM narrow WHERE z IN ($1, $2);
EXECUTE lz (timestamp '2000-01-02 00:00:00.4', '2000-01-01');
EXECUTE lz ('2000-01-02', timestamp '2000-01-02 00:00:00.4' + interval '0');
EXECUTE lz (timestamp '2000-01-02 00:00:00.4'::seconds4tz, timestamp '2000-01-02');
CREATE DOMAIN amount AS compact_decimal4_2;
EXECUTE l (2.225::amount, 1, '2000-01-01 00:00:01');
PREPARE la (amount, amount[]) AS SELECT count(*) FROM stored WHERE d IN ($1, 1);
EXECUTE la (2.225, '{}');
EXECUTE la (2.225::numeric, '{}');
EXECUTE la (2.225::amount, '{}');
EXECUTE la (2.225::compact_decimal4_2, '{}');
-- Test EXECUTE within a function.
DO $$ DECLARE n int; BEGIN EXECUTE $e$EXECUTE l (2.225, 1, '2000-01-01 00:00:01')$e$ INTO n; END $$;
DO $$ DECLARE n int; BEGIN EXECUTE $e$EXECUTE l (2.225::float8 + random() * 0, 1, '2000-01-01 00:00:01')$e$ INTO n; END $$;
DO $$ DECLARE n int; BEGIN EXECUTE $e$EXECUTE l (1, 1, timestamp '2000-01-01 00:00:00.7')$e$ INTO n; END $$;
DO $$ DECLARE n int; BEGIN EXECUTE $e$EXECUTE l (2.225::compact_decimal4_2, 1, '2000-01-01 00:00:01')$e$ INTO n; RAISE NOTICE '%', n; END $$;
DO $$ BEGIN EXECUTE $e$EXPLAIN EXECUTE l (2.225, 1, '2000-01-01 00:00:01')$e$; END $$;
-- If a function that computes an argument rounds a value, there is no error.
CREATE FUNCTION rounded(numeric) RETURNS numeric LANGUAGE plpgsql AS $$ DECLARE d compact_decimal4_2 := $1; BEGIN RETURN d; END $$;
CREATE FUNCTION rounded_sql(numeric) RETURNS compact_decimal4_2 LANGUAGE sql AS 'SELECT $1::compact_decimal4_2';
EXECUTE l (rounded(2.225), rounded_sql(2.2249), '2000-01-01 00:00:01');
DO $$ DECLARE n int; BEGIN EXECUTE $e$EXECUTE l (rounded(2.225), rounded_sql(2.2249), '2000-01-01 00:00:01')$e$ INTO n; RAISE NOTICE '%', n; END $$;
PREPARE b AS SELECT count(*) FROM stored WHERE u IN ($1, '3');
EXECUTE b ('300');
PREPARE bo AS UPDATE stored SET d = $1 WHERE u = $2 AND d IN ($1, '2.23') RETURNING d;
EXECUTE bo ('2.225', '4');
-- Test a parameter that an operator compares, and that is also stored.
PREPARE cast_p AS UPDATE stored SET d = $1, s = $3 WHERE u = $2 AND d <> $1 AND s < $3 RETURNING d, s;
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'cast_p';
EXECUTE cast_p ('2.2249', '4', '2000-01-01 00:00:01.5');
PREPARE u AS UPDATE stored SET d = coalesce($1, d), s = CASE WHEN u > 1 THEN $3 ELSE s END WHERE u = $2 RETURNING d, s;
EXECUTE u ('2.225', '4', '2000-01-01 00:00:00.5');
PREPARE ins AS INSERT INTO stored VALUES ($1, $2, '6') RETURNING d, s;
EXECUTE ins (2.225, timestamp '2000-01-01 00:00:00.5');
DEALLOCATE l;
DEALLOCATE la;
DEALLOCATE lz;
DROP DOMAIN amount;
DROP FUNCTION rounded, rounded_sql;

-- Test clauses that look up an operator by themselves.
SELECT count(*) FROM narrow a JOIN narrow b USING (u3);
SELECT count(*) FROM narrow a NATURAL JOIN narrow b;
SELECT count(*) FROM (SELECT u FROM narrow INTERSECT SELECT u2 FROM narrow) s;
SELECT nullif(u, '5') AS n, nullif(u, u2) AS m, CASE u WHEN '300' THEN 1 WHEN '5' THEN 2 END AS c, u IS DISTINCT FROM '300' AS literal, u IS DISTINCT FROM u2 AS itself FROM narrow WHERE id = 5;
SELECT (u, d) = ('5', '0.05') AS equal, (u, d) < ('5', '0.051') AS less, (u, d) IN (('5', '0.05'), ('6', '1')) AS list, (u, d) = ANY (SELECT u, d FROM narrow) AS sub FROM narrow WHERE id = 5;
SELECT ('6', '0.05') < (u, d) AS less, ('5', '0.049') < (u, d) AS exact, '300' IS DISTINCT FROM u AS literal, nullif('300', u) AS n FROM narrow WHERE id = 5;
MERGE INTO stored USING narrow ON stored.u = narrow.u AND narrow.id < 4 WHEN MATCHED AND stored.d > '0.005' THEN UPDATE SET d = stored.d + '0.001';
CREATE TABLE parent (u uint1 PRIMARY KEY, d compact_decimal4_2 UNIQUE, z seconds4tz UNIQUE);
CREATE TABLE wide_parent (u int PRIMARY KEY, d numeric UNIQUE, z timestamptz UNIQUE);
INSERT INTO parent VALUES (5, 5, '2000-01-01');
INSERT INTO wide_parent VALUES (5, 5, '2000-01-01');
CREATE TABLE child (u uint1 REFERENCES parent, d compact_decimal4_2 REFERENCES parent (d), z seconds4tz REFERENCES parent (z),
  wu int REFERENCES parent, wd numeric REFERENCES parent (d), wz timestamptz REFERENCES parent (z));
CREATE TABLE wide_child (u uint1 REFERENCES wide_parent, d compact_decimal4_2 REFERENCES wide_parent (d), z seconds4tz REFERENCES wide_parent (z));
INSERT INTO child VALUES (5, 5, '2000-01-01', 5, 5, '2000-01-01');
INSERT INTO wide_child VALUES (5, 5, '2000-01-01');
\set VERBOSITY terse
INSERT INTO child (wu) VALUES (300);
INSERT INTO child (wz) VALUES ('2000-01-01 00:00:00.4');
INSERT INTO wide_child (z) VALUES ('2001-01-01');
DELETE FROM parent WHERE u = '5';
DELETE FROM wide_parent;
INSERT INTO parent VALUES ('5') ON CONFLICT (u) DO UPDATE SET z = '2000-01-01' WHERE parent.u < '300' RETURNING u;
-- These clauses need operators of the type with itself.
CREATE TABLE excluded (u uint1, EXCLUDE USING btree (u WITH =));
CREATE TABLE excluded (u uint1, EXCLUDE USING btree (u WITH OPERATOR(pg_catalog.#=#)));
SELECT u FROM narrow ORDER BY u USING <;
SELECT u FROM narrow ORDER BY u USING OPERATOR(pg_catalog.#<#) LIMIT 1;
-- There is no implicit cast to a common type.
SELECT count(*) FROM narrow WHERE s = z;
SELECT e = 1::float8 FROM narrow LIMIT 1;

-- Test partitions.
CREATE TABLE parts (k uint1, d compact_decimal4_2) PARTITION BY LIST (k);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN ('1', '2') PARTITION BY RANGE (d);
CREATE TABLE parts_1_low PARTITION OF parts_1 FOR VALUES FROM (MINVALUE) TO ('10.99');
CREATE TABLE parts_1_high PARTITION OF parts_1 FOR VALUES FROM ('10.99') TO (MAXVALUE);
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES IN ('3') PARTITION BY HASH (d);
CREATE TABLE parts_3_0 PARTITION OF parts_3 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_3_1 PARTITION OF parts_3 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT 1 + g % 3, g FROM generate_series(0, 20) g;
EXPLAIN (COSTS OFF) SELECT * FROM parts WHERE k = '1' AND d > '10.995';
-- Return the plan without the lines that 19 adds.
CREATE FUNCTION pg_temp.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line !~ 'Replaces:' THEN RETURN NEXT line; END IF;
  END LOOP;
END $$;
SELECT pg_temp.plan($$SELECT * FROM parts WHERE k = '300'$$);
EXPLAIN (COSTS OFF) SELECT * FROM parts WHERE k = '3' AND d = '5.00';
EXPLAIN (COSTS OFF) SELECT * FROM parts WHERE k = ANY ('{3,400}') AND d = '5.001';
PREPARE parts AS SELECT count(*) FROM parts WHERE k = $1 AND d > $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE parts ('1', '10.995');
RESET plan_cache_mode;

-- Definitions of views, constraints and functions have the same meaning when they are parsed again.
CREATE VIEW view AS
  SELECT id, u = u2 AS itself, u > '300' AS literal, d = e AS scales, '10.995' < d AS left, z < 'infinity' AS z, z = z AS zz, u = ANY ('{1,300}') AS any_of,
         u IN (SELECT u2 FROM narrow) AS sub, (u, s) < (u2, '2000-01-01 00:00:00.5') AS pair, nullif(u, u2) AS n, u - '300' AS m, u - u2 AS mm
  FROM narrow WHERE u IS DISTINCT FROM u2;
SELECT regexp_replace(pg_get_viewdef('view'), 'narrow\.', '', 'g') AS definition;
SELECT pg_get_viewdef('view') AS definition \gset
CREATE VIEW again AS :definition
SELECT pg_get_viewdef('view') = pg_get_viewdef('again') AS same, (SELECT count(*) FROM (TABLE view EXCEPT TABLE again) s) AS different;
CREATE TABLE checked (u uint1 CHECK (u < '300' AND u <> '7'), d compact_decimal4_2 CHECK (d < '10.995'), v uint1, CHECK (u = v),
  g bool GENERATED ALWAYS AS (u = '300') STORED);
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'checked'::regclass ORDER BY 1;
INSERT INTO checked VALUES (5, '10.994', 5);
INSERT INTO checked VALUES (7, 1, 7);
INSERT INTO checked VALUES (5, 1, 6);
INSERT INTO checked VALUES (5, '10.995', 5);
CREATE INDEX narrow_some ON narrow (id) WHERE u = u2 OR u = '300';
EXPLAIN (COSTS OFF) SELECT id FROM narrow WHERE u = u2 OR u = '300';
-- Change columns to compact types and back.
CREATE TABLE back (u uint1 CHECK (u < '300'), v uint1, d compact_decimal4_2 CHECK (d < '10.995' AND d <> ALL ('{0.005,1}')), e compact_decimal4_2, s seconds4 CHECK (s < 'infinity'), z seconds4tz CHECK (z < 'infinity'), z2 seconds4tz, s2 seconds4,
  CHECK (u <= v), CHECK (u - v < '5'), CHECK (d IS DISTINCT FROM e), CHECK ((s, u) <= (s2, '200')), CHECK (z <= z2), g bool GENERATED ALWAYS AS (u = v) STORED);
INSERT INTO back VALUES (1, 2, 3, 4, '2000-01-01', '2000-01-01', '2000-01-01', '2000-01-01');
CREATE INDEX ON back (u) WHERE u < '5' AND u = v;
CREATE INDEX ON back ((d < '0.005'), (d = e));
ALTER TABLE back DROP g;
ALTER TABLE back ALTER u TYPE int4;
ALTER TABLE back ALTER v TYPE int8;
ALTER TABLE back ALTER d TYPE numeric(9,2), ALTER s TYPE timestamp(0), ALTER z TYPE timestamptz(0);
ALTER TABLE back ALTER e TYPE numeric(9,2), ALTER s2 TYPE timestamp(0), ALTER z2 TYPE timestamptz(0), ALTER v TYPE smallint;
INSERT INTO back VALUES (3, 2, 3, 4, '2000-01-01', '2000-01-01', '2000-01-01', '2000-01-01');
INSERT INTO back VALUES (1, 2, '0.01', 4, '2001-01-01', '2000-01-01', '2000-01-01', '2000-01-01');
INSERT INTO back VALUES (300, 302, 3, 4, '2000-01-01', '2000-01-01', '2000-01-01', '2000-01-01');
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'back'::regclass ORDER BY 1;
SELECT indexdef FROM pg_indexes WHERE tablename = 'back' ORDER BY 1;
ALTER TABLE back ALTER u TYPE uint1, ALTER v TYPE uint1, ALTER d TYPE compact_decimal4_2, ALTER e TYPE compact_decimal4_2;
TABLE back;
DROP TABLE back;
CREATE DOMAIN port AS uint2 CHECK (VALUE < '70000' AND VALUE > '0');
SELECT 80::port = 80::port AS itself, 80::port < '99999' AS literal, 80::port = uint2 '80' AS base;
-- Expressions of core's types and literals have the same results as without the extension.
SELECT '5' = '5' AS text, 5 = '5' AS int4, 'a' < 'b' AS less, numeric '5' = '5.0' AS n, date '2000-01-01' < 'infinity' AS date, varchar 'a' = 'a' AS v, pg_typeof(coalesce(seconds4tz '2000-01-01', now())) AS z;

DROP VIEW view, again;
DROP TABLE narrow, stored, child, wide_child, parent, wide_parent, excluded, parts, checked;
DROP DOMAIN port;
DROP EXTENSION compact_decimal4_2, compact_decimal8_4;
