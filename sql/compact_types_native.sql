--
-- Test the advice on strings whose values fit one of PostgreSQL's own types.
--
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA nat;
SET search_path = nat, public;
SET datestyle = 'ISO';

-- Return the part of the reason that names the type.
CREATE FUNCTION native(rel regclass, OUT column_name name, OUT proposed_type text, OUT native text)
RETURNS SETOF record LANGUAGE sql AS $$
  SELECT column_name, proposed_type, CASE WHEN reason ~ 'otherwise: ' THEN regexp_replace(reason, '; otherwise: .*', '') END
  FROM compact_types.advise(rel) $$;

CREATE TABLE strings (
  u text NOT NULL, u_char char(36), u_wide char(40), u_null text, v4 varchar(43), v6 text, any_net text, net text, mac text,
  d text, at text, at_fraction text, n int8, four text, eight text, many text, amount text, state text, few_bytes text, umlaut text);
INSERT INTO strings SELECT md5(i::text)::uuid, md5(i::text)::uuid, md5(i::text)::uuid, CASE WHEN i % 3 = 0 THEN md5(i::text)::uuid END,
  host('10.0.0.0'::inet + i * 251), host('2001:db8:abcd:12::ffff:0'::inet + i), CASE i % 2 WHEN 0 THEN '192.168.0.1' ELSE '192.168.0.0/24' END,
  set_masklen(network(set_masklen('10.0.0.0'::inet + i * 65536, 16)), 16)::cidr, '08:00:2b:01:02:' || lpad(to_hex(i % 256), 2, '0'),
  date '1999-12-01' + i, timestamp '2024-02-28 23:59:59' + i * interval '1 hour', timestamp '2026-01-01' + i * interval '0.3 s',
  i, 100000 + i, -10000000000 - i, 10000000000000000000000 + i, i * 1000.25,
  (ARRAY['in the basket', 'paid', 'it''s sent', E'back\\slash', ''])[i % 5 + 1], i % 7, (ARRAY['größe', 'länge'])[i % 2 + 1]
FROM generate_series(1, 1200) i;
SELECT column_name, proposed_type, native FROM native('strings');
SELECT column_name, reason, risk, round(value_bytes_now::numeric, 1) AS now, round(value_bytes_after::numeric, 1) AS after, blockers
FROM compact_types.advise('strings') WHERE column_name IN ('u', 'state', 'n');

-- Run the proposed statements.  The text must be the same afterwards, and the average number of
-- bytes must be the predicted one.
CREATE FUNCTION round_trip(rel regclass) RETURNS TABLE (name text, type regtype, foretold numeric, bytes numeric, equal bool) LANGUAGE plpgsql AS $$
DECLARE
  said record;
  before text[];
BEGIN
  FOR said IN SELECT column_name AS col, substring(reason, '^.*? takes ([0-9.]+) bytes')::numeric AS n,
      substring(reason, ' bytes: (.*); clients see') AS sql FROM compact_types.advise(rel) WHERE reason ~ 'otherwise: ' LOOP
    EXECUTE format('SELECT array_agg(rtrim(format(''%%s'', %1$I)) ORDER BY ctid) FROM %2$s', said.col, rel) INTO before;
    EXECUTE said.sql;
    EXECUTE format('SELECT pg_typeof(%1$I), round(avg(pg_column_size(%1$I)), 1), array_agg(format(''%%s'', %1$I) ORDER BY ctid) = %3$L FROM %2$s GROUP BY 1',
      said.col, rel, before) INTO type, bytes, equal;
    name := said.col;
    foretold := said.n;
    RETURN NEXT;
  END LOOP;
END $$;
SELECT * FROM round_trip('strings');
DROP TABLE strings CASCADE;

-- In each column, one value has another type, or is written in another way.
CREATE TABLE bad (u text, u_upper text, u_braces text, u_blank text, v4_mask text, v4_zero text, v4_short text, v6_long text, v6_upper text, net_bits text,
  d text, d_leap text, at text, at_t text, n_zero text, n_plus text, n_minus text, n_huge text, amount text, empty text);
INSERT INTO bad SELECT md5(i::text)::uuid, md5(i::text)::uuid, md5(i::text)::uuid, md5(i::text)::uuid,
  '10.0.0.10', '10.0.0.10', '10.0.0.10', '2001:db8::1', '2001:db8::1', '10.1.0.0/16',
  '2026-01-31', '2028-02-29', '2026-01-31 12:00:00', '2026-01-31 12:00:00', 123456, 123456, 123456, 9223372036854775807, '123456.7',
  '2026-01-31' FROM generate_series(1, 900) i;
INSERT INTO bad VALUES ('none', upper(md5('x')::uuid::text), '{' || md5('x')::uuid || '}', md5('x')::uuid || ' ',
  '10.0.0.10/32', '10.0.0.010', '10.0.10', '2001:db8:0:0:0:0:0:1', '2001:DB8::1', '10.1.0.1/16',
  '2026-02-29', '2027-02-29', '2026-01-31 24:00:00', '2026-01-31T12:00:00', '0123456', '+123456', '-0', 9223372036854775808, '-0.0', '');
SELECT column_name, native FROM native('bad');
-- An enum is proposed for at least 1000 values with at most 16 labels, each of at most 63 bytes.
CREATE TABLE states (few text, long text, many text, same text);
INSERT INTO states SELECT 'state' || i % 2, 'state' || i % 2, 'state' || i % 16, 'state' FROM generate_series(1, 999) i;
INSERT INTO states VALUES (NULL, repeat('s', 64), 'state16', 'state');
SELECT column_name, native FROM native('states');
UPDATE states SET few = 'a state', long = repeat('s', 63), many = 'state9' WHERE few IS NULL;
SELECT column_name, native FROM native('states');

-- Test odd names, defaults, and objects that depend on a column.
CREATE SCHEMA "Odd one";
CREATE TABLE "Odd one"."T ""x""" ("U id" varchar(36) DEFAULT md5('x')::uuid::text UNIQUE, made text DEFAULT gen_random_uuid()::text,
  zero text DEFAULT '', state char(9) DEFAULT 'closed');
INSERT INTO "Odd one"."T ""x""" SELECT md5(i::text)::uuid, gen_random_uuid(), gen_random_uuid(), 'opened' FROM generate_series(1, 1000) i;
SELECT regexp_replace(native, '''\w{4,8}-[-\w]*''', 'UUID') AS native FROM native('"Odd one"."T ""x"""');
SELECT name, type, foretold, bytes, equal FROM round_trip('"Odd one"."T ""x"""');
INSERT INTO "Odd one"."T ""x""" DEFAULT VALUES;
SELECT * FROM (SELECT "U id", state FROM "Odd one"."T ""x""" ORDER BY ctid DESC LIMIT 1) s;

-- Test a table without rows, values that are too long, and a column that is not a string.
CREATE TABLE nothing (u text, long text, c "char");
SELECT column_name, native FROM native('nothing');
INSERT INTO nothing SELECT NULL, repeat('1', 2001), 'c' FROM generate_series(1, 1000);
SELECT column_name, native FROM native('nothing');
UPDATE nothing SET long = repeat('1', 2000);
SELECT column_name, native FROM native('nothing');
-- Test generated columns.  convert() never converts to one of PostgreSQL's own types.
CREATE TABLE generated (u text, g text GENERATED ALWAYS AS (u) STORED);
INSERT INTO generated SELECT md5(i::text)::uuid FROM generate_series(1, 100) i;
SELECT column_name, native FROM native('generated');
ALTER TABLE generated DROP g;
SELECT * FROM compact_types.convert('generated');
-- The advice does not examine the values of a column that has a compact type.
SELECT column_name, reason FROM compact_types.advise('generated');

RESET datestyle;
RESET search_path;
DROP SCHEMA nat, "Odd one" CASCADE;
