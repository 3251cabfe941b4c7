--
-- Test compact_types.revert() and revert_all(), and the guard that keeps DROP EXTENSION from
-- dropping columns.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS compact_char9;
CREATE EXTENSION IF NOT EXISTS compact_decimal4_2;
RESET client_min_messages;
CREATE SCHEMA rev;
CREATE TABLE rev.item (
  id int PRIMARY KEY, code char(9) CHECK (code <> 'bad'), name varchar(100), qty int8 CHECK (qty BETWEEN 0 AND 200),
  kind int8 CHECK (kind BETWEEN 0 AND 9), price numeric(9,2), made timestamp(0),
  CONSTRAINT narrow CHECK (kind <= qty));
INSERT INTO rev.item SELECT i, 'c' || i, repeat('a name of an item ', 3) || i, 50 + i, i % 9, i / 7.0, timestamp '2001-01-01' + i * interval '1 h'
FROM generate_series(1, 100) i;
ALTER TABLE rev.item ALTER code SET STORAGE MAIN;
CREATE VIEW rev.item_view AS SELECT id, code, qty FROM rev.item WHERE qty > kind;
CREATE VIEW types AS
SELECT attname, format_type(atttypid, atttypmod) AS type, attstorage AS storage FROM pg_attribute
WHERE attrelid = 'rev.item'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum;
SELECT * FROM types;
SELECT relation, column_name, old_type, new_type FROM compact_types.convert('rev.item', narrow => true);
SELECT converted, old_type, old_storage, old_compression, new_type, new_typmod FROM compact_types.conversions ORDER BY converted::text COLLATE "C";
-- The view status shows the converted columns.
SELECT relation, column_name, type, old_type, converted_at <= now() AS known, value_bytes, bytes FROM compact_types.status WHERE relation::text LIKE 'rev.%' ORDER BY column_name;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'narrow';
SELECT * FROM compact_types.revert('rev.item');
SELECT * FROM types;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'narrow';
SELECT pg_get_viewdef('rev.item_view') ~ 'compact';
SELECT count(*) FROM compact_types.status WHERE relation::text LIKE 'rev.%';
SELECT count(*) FROM compact_types.conversions;
-- No column is left to revert.
SELECT * FROM compact_types.revert('rev.item');
SELECT * FROM compact_types.revert('rev.item', '{code}');
SELECT * FROM compact_types.revert('rev.item', '{none}');
SELECT * FROM compact_types.revert('rev.item', NULL, NULL);
SELECT * FROM compact_types.revert(NULL);
SELECT * FROM compact_types.revert('rev.item_view');
SELECT * FROM compact_types.revert('pg_class');

-- Convert only some columns.  revert() restores the first type of a column.  If a user has changed
-- the type of the column later, this change stays.
SET client_min_messages = warning;
SELECT count(*) FROM compact_types.convert('rev.item', '{code,name,price,kind}', narrow => true);
RESET client_min_messages;
SELECT relation, column_name, old_type, new_type FROM compact_types.revert('rev.item', '{price}');
DROP VIEW rev.item_view;
ALTER TABLE rev.item ALTER kind TYPE int4;
ALTER TABLE rev.item ALTER code TYPE varchar(20);
-- The view status leaves the column "kind" out.
SELECT column_name, type, old_type, converted_at IS NOT NULL AS known FROM compact_types.status WHERE relation = 'rev.item'::regclass ORDER BY column_name;
SELECT relation, column_name, old_type, new_type FROM compact_types.convert('rev.item', '{kind}', narrow => true);
SELECT relation, column_name, old_type, new_type FROM compact_types.revert('rev.item');
-- Convert from int8 to int4, and then to uint1.
SELECT relation, column_name, old_type, new_type FROM compact_types.convert('rev.item', '{qty}', narrow => true);
ALTER TABLE rev.item ALTER qty TYPE int8;
ALTER TABLE rev.item DROP CONSTRAINT item_qty_check;
UPDATE rev.item SET qty = 40000 + id;
SELECT relation, column_name, old_type, new_type FROM compact_types.convert('rev.item', '{qty}', narrow => true);
UPDATE rev.item SET qty = 50 + id;
SELECT relation, column_name, old_type, new_type FROM compact_types.convert('rev.item', '{qty}', narrow => true);
SELECT converted, old_type, new_type FROM compact_types.conversions ORDER BY converted::text COLLATE "C";
-- Notes on conversions stay valid when columns and tables are renamed.
ALTER TABLE rev.item RENAME qty TO "Quantity.of";
ALTER TABLE rev.item RENAME TO "The item";
CREATE SCHEMA "Other";
ALTER TABLE rev."The item" SET SCHEMA "Other";
SELECT converted, old_type, new_type FROM compact_types.conversions ORDER BY converted::text COLLATE "C";
SELECT relation, column_name, old_type, new_type FROM compact_types.revert('"Other"."The item"');
ALTER TABLE "Other"."The item" SET SCHEMA rev;
ALTER TABLE rev."The item" RENAME "Quantity.of" TO qty;
ALTER TABLE rev."The item" RENAME TO item;
SELECT * FROM types;

-- Ordinary users cannot write notes on tables of other users.
CREATE ROLE regress_rev_a;
CREATE ROLE regress_rev_b;
GRANT USAGE, CREATE ON SCHEMA rev TO regress_rev_a, regress_rev_b;
SET ROLE regress_rev_a;
CREATE TABLE rev.a (c compact_char9, d int);
SET ROLE regress_rev_b;
CREATE TABLE rev.b (c compact_char9, d compact_text(12));
INSERT INTO rev.b VALUES ('b', 'd');
INSERT INTO compact_types.conversions VALUES ('rev.a.c', 'text', 'x', '', 'compact_char9', -1);
INSERT INTO compact_types.conversions VALUES ('rev.none.c', 'text', 'x', '', 'compact_char9', -1);
INSERT INTO compact_types.conversions VALUES ('rev.b.c', 'text', 'e', '', 'compact_char9', -1);
INSERT INTO compact_types.conversions VALUES ('rev.b.d', 'int4', 'e', '', 'compact_text', 16);
UPDATE compact_types.conversions SET old_type = 'text';
DELETE FROM compact_types.conversions;
TRUNCATE compact_types.conversions;
SELECT converted, old_type, old_storage, old_compression, new_type, new_typmod FROM compact_types.conversions;
SELECT * FROM compact_types.revert('rev.a');
SELECT * FROM compact_types.revert('rev.b');
RESET ROLE;
-- Test notes of a superuser with wrong values.
INSERT INTO compact_types.conversions VALUES ('rev.a.c', 'text; DROP TABLE rev.a', 'x', '', 'compact_char9', -1);
INSERT INTO compact_types.conversions VALUES ('rev.a.c', 'types', 'x', '', 'compact_char9', -1);
INSERT INTO compact_types.conversions VALUES (NULL, NULL, 'x', '', 'compact_char9', -1);
TRUNCATE compact_types.conversions;
INSERT INTO compact_types.conversions VALUES ('rev.a.c', 'varchar(3)', '?', '?', 'compact_char9', -1), ('not a name', 'text', 'x', '', 'compact_text', -1),
  ('', 'text', 'x', '', 'compact_text', -1), ('"rev.a.c', 'text', 'x', '', 'compact_text', -1), ('rev.a.later', 'varchar(7)', 'x', '', 'compact_text', 11);
SELECT converted, compact_types.referenced_table(converted)::regclass, compact_types.referenced_attnum(converted) FROM compact_types.conversions;
INSERT INTO rev.a VALUES ('long');
-- If the old type cannot hold the values, revert() raises an error.
SELECT * FROM compact_types.revert('rev.a');
UPDATE rev.a SET c = 'abc ';
SELECT relation, column_name, old_type, new_type FROM compact_types.revert('rev.a');
-- A note on a name that does not exist applies to a column that gets this name later.
ALTER TABLE rev.a ADD later compact_text(7);
SELECT relation, column_name, old_type, new_type FROM compact_types.revert('rev.a');
TRUNCATE compact_types.conversions;

-- revert_all() leaves out tables of other owners, and reports them
SET client_min_messages = warning;
SELECT count(*) FROM compact_types.convert('rev.item', narrow => true);
RESET client_min_messages;
CREATE TABLE rev.all_types (
  a compact_char9 COLLATE "C" DEFAULT 'x', b compact_text(20), c compact_text, d int1, e uint1, f uint2, g uint3, h seconds4, i seconds4tz,
  j compact_decimal4_2, k compact_char9[], l uint1[]);
INSERT INTO rev.all_types VALUES ('a', 'b', 'c', 1, 2, 3, 4, '2001-01-01', '2001-01-01 00:00+00', 5.25, '{a,b}', '{1,2}');
CREATE INDEX ON rev.all_types (a, d);
CREATE TABLE rev.parted (a compact_char9) PARTITION BY LIST (a);
CREATE TABLE rev.parted_1 PARTITION OF rev.parted FOR VALUES IN ('x');
-- The view status shows a column without a note, too.  The role may not read the statistics.
SET ROLE regress_rev_a;
SELECT * FROM compact_types.status WHERE relation::text IN ('rev.all_types', 'rev.parted', 'rev.parted_1') ORDER BY relation::text, column_name;
SELECT * FROM compact_types.revert_all();
RESET ROLE;
SELECT * FROM compact_types.revert_all(update_statistics => false);
SELECT * FROM compact_types.revert_all(unrecorded => true, update_statistics => false);
SELECT attname, format_type(atttypid, atttypmod), attcollation::regcollation FROM pg_attribute WHERE attrelid = 'rev.all_types'::regclass AND attnum > 0 ORDER BY attnum;
SELECT a, b, c, d, e, f, g, h, j, k, l FROM rev.all_types;
SELECT * FROM compact_types.revert_all(NULL);
DROP TABLE rev.parted, rev.all_types;

-- revert_all() creates a view on two tables again for each table, but lists it once.
CREATE TABLE rev.one (c compact_char9);
CREATE TABLE rev.two (c compact_char9);
CREATE VIEW rev.both AS SELECT one.c, two.c AS d FROM rev.one, rev.two;
SELECT * FROM compact_types.revert_all(unrecorded => true);
DROP VIEW rev.both;
DROP TABLE rev.one, rev.two;

-- revert_all() reports blockers before anything changes.  revert_all() reverts all
-- tables or none.
CREATE TABLE rev.first (c compact_char9);
CREATE TABLE rev.second (c compact_char9, t compact_text);
CREATE MATERIALIZED VIEW rev.mat AS SELECT c FROM rev.second;
SELECT * FROM compact_types.revert_all(unrecorded => true);
SELECT * FROM compact_types.revert_all(unrecorded => true, skip_blocked => true);
DROP MATERIALIZED VIEW rev.mat;
SELECT * FROM compact_types.revert('rev.second', unrecorded => true);
DROP TABLE rev.first, rev.second;

-- Expressions that were created with the compact types do not block revert().
CREATE TABLE rev.later (
  a uint1, b uint2, c compact_text, z seconds4tz,
  CONSTRAINT later CHECK (a <= b AND b < '300' AND a = ANY ('{1,2}') AND c <> '::compact_types.integer_operand "x' AND z > '2001-01-01 00:00+00'));
INSERT INTO rev.later VALUES (1, 2, 'c', '2002-01-01 00:00+00');
CREATE STATISTICS rev.later_statistics ON (a < b), (b = '7') FROM rev.later;
CREATE VIEW rev.later_view AS SELECT a, b FROM rev.later WHERE a = b OR b = '7' OR c = '''::compact_types.integer_literal';
SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_type'::regclass AND refobjid::regtype::text ~ '_(literal|operand|left)' AND classid IN ('pg_constraint'::regclass, 'pg_statistic_ext'::regclass, 'pg_rewrite'::regclass);
SELECT * FROM compact_types.revert('rev.later', unrecorded => true);
SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_type'::regclass AND refobjid::regtype::text ~ '_(literal|operand|left)' AND classid IN ('pg_constraint'::regclass, 'pg_statistic_ext'::regclass, 'pg_rewrite'::regclass);
SELECT pg_get_constraintdef(oid) ~ 'compact_types.integer_operand "x' AS kept FROM pg_constraint WHERE conname = 'later';
SELECT pg_get_viewdef('rev.later_view') ~ '::compact_types.integer_literal''' AS kept;
DROP VIEW rev.later_view;
DROP TABLE rev.later;

-- Operands of a decimal on either side do not block it.
CREATE TABLE rev.amount (d compact_decimal4_2, e compact_decimal4_2, i int,
  CONSTRAINT amount CHECK (d < 10.5 AND 5 > d AND 0.5 < e AND d IN (1, 2, 3.5) AND d <> ALL ('{7,8}') AND d <= e AND d < i AND i > e AND coalesce(d, 0) >= 0));
INSERT INTO rev.amount VALUES (1, 2, 3);
CREATE VIEW rev.amount_view AS SELECT i FROM rev.amount WHERE 5 > d AND (1, 5) <= (d, i);
SELECT count(*) > 0 AS some FROM pg_depend WHERE refclassid = 'pg_type'::regclass AND refobjid::regtype::text ~ '_(operand|left)' AND classid IN ('pg_constraint'::regclass, 'pg_rewrite'::regclass);
SELECT * FROM compact_types.revert('rev.amount', unrecorded => true);
SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_type'::regclass AND refobjid::regtype::text ~ '_(operand|left)' AND classid IN ('pg_constraint'::regclass, 'pg_rewrite'::regclass);
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'amount';
INSERT INTO rev.amount VALUES (6, 7, 8);
INSERT INTO rev.amount VALUES (2, 3, 4);
SELECT * FROM rev.amount_view ORDER BY i;
DROP VIEW rev.amount_view;
DROP TABLE rev.amount;

-- revert() keeps foreign keys on both sides.
CREATE TABLE rev.parent (c compact_char9 PRIMARY KEY, n uint2 UNIQUE);
CREATE TABLE rev.child (c char(9) REFERENCES rev.parent, n uint2 REFERENCES rev.parent (n) ON DELETE CASCADE, p compact_char9);
ALTER TABLE rev.child ADD FOREIGN KEY (p) REFERENCES rev.parent NOT VALID;
INSERT INTO rev.parent VALUES ('a', 1), ('b', 2);
INSERT INTO rev.child VALUES ('a', 1, 'b'), ('b', NULL, NULL);
SELECT * FROM compact_types.revert('rev.parent', unrecorded => true);
SELECT * FROM compact_types.revert('rev.child', unrecorded => true);
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'rev.child'::regclass AND contype = 'f' ORDER BY 1;
SELECT * FROM rev.child;
-- But foreign keys of other owners block it.
CREATE TABLE rev.key (c compact_char9 PRIMARY KEY);
GRANT REFERENCES ON rev.key TO regress_rev_a;
SET ROLE regress_rev_a;
CREATE TABLE rev.others (c char(9) REFERENCES rev.key);
RESET ROLE;
SELECT * FROM compact_types.revert('rev.key', unrecorded => true);
DROP TABLE rev.others, rev.key, rev.child, rev.parent;

-- The rules for isolation levels are the same as for convert().
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM compact_types.revert('rev.item');
ROLLBACK;
BEGIN READ ONLY;
SELECT * FROM compact_types.revert_all();
ROLLBACK;

--
-- DROP EXTENSION does not drop columns
--
CREATE TABLE rev.guarded (a compact_char9, b compact_decimal4_2, c compact_char9[], d uint1);
CREATE DOMAIN rev.dom AS compact_char9;
CREATE TYPE rev.comp AS (x int, y compact_char9);
CREATE TABLE rev.guarded_2 (a rev.dom, b rev.comp[]);
SELECT count(*) FROM compact_types.revert_all(unrecorded => true) WHERE relation::text NOT LIKE 'rev.guarded%';
CREATE TABLE rev.guarded_3 (a compact_char9, b compact_decimal4_2, c compact_char9[], d uint1);
\set VERBOSITY terse
DROP EXTENSION compact_char9;
\set VERBOSITY default
DROP EXTENSION compact_char9 CASCADE;
DROP EXTENSION compact_decimal4_2 CASCADE;
DROP EXTENSION IF EXISTS none, compact_types CASCADE;
DROP TYPE compact_char9 CASCADE;
DROP SCHEMA compact_types CASCADE;
DROP SCHEMA public CASCADE;
SELECT compact_types.guard_drop();
-- A table that is dropped as a whole does not keep the extension from being dropped.
BEGIN;
SET client_min_messages = warning;
DROP TABLE rev.guarded, rev.guarded_2, rev.guarded_3, rev.b, rev.a;
DROP EXTENSION compact_char9 CASCADE;
CREATE SCHEMA rev_2;
CREATE EXTENSION compact_char9 SCHEMA rev_2;
CREATE TABLE rev_2.t (c rev_2.compact_char9);
DROP SCHEMA rev_2 CASCADE;
ROLLBACK;
BEGIN;
SET LOCAL client_min_messages = warning;
SET LOCAL compact_types.guard_drop = off;
DROP EXTENSION compact_char9 CASCADE;
SELECT attname, attisdropped FROM pg_attribute WHERE attrelid = 'rev.guarded_3'::regclass AND attnum = 1;
ROLLBACK;

-- A default that was set after the conversion gets the old type as well.
CREATE TABLE rev.later (c varchar(60), t text DEFAULT 'first', p numeric(8,2), s timestamp(0));
INSERT INTO rev.later SELECT 'some words that are long enough ' || i, 'other words that are long enough ' || i, i, '2024-01-01' FROM generate_series(1, 200) i;
SELECT column_name, new_type FROM compact_types.convert('rev.later', narrow => true);
ALTER TABLE rev.later ALTER c SET DEFAULT 'it''s', ALTER p SET DEFAULT -2.5, ALTER s SET DEFAULT '2025-01-01';
SELECT count(*) FROM compact_types.revert('rev.later');
SELECT attname, pg_get_expr(adbin, adrelid) FROM pg_attrdef JOIN pg_attribute a ON attrelid = adrelid AND attnum = adnum
WHERE adrelid = 'rev.later'::regclass ORDER BY adnum;
-- No default depends on the extension any more.
SELECT pg_describe_object(d.refclassid, d.refobjid, 0) FROM pg_attrdef f JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
WHERE f.adrelid = 'rev.later'::regclass AND d.refclassid <> 'pg_class'::regclass;

-- Names in a constraint keep their meaning, even if objects that match better were created since
-- the conversion.
CREATE TYPE rev.mood AS ENUM ('a', 'b');
CREATE TABLE rev.feels (id int, c char(9), m rev.mood, CONSTRAINT k CHECK (m <> 'b' AND length(c) < 10));
INSERT INTO rev.feels SELECT i, 'c' || i, 'a' FROM generate_series(1, 200) i;
SELECT column_name, new_type FROM compact_types.convert('rev.feels', '{c}', narrow => true);
SET search_path = rev, public;
CREATE FUNCTION never(mood, mood) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE WARNING 'called'; RETURN true; END $$;
CREATE OPERATOR <> (LEFTARG = mood, RIGHTARG = mood, FUNCTION = never);
SELECT column_name, new_type FROM compact_types.revert('feels');
SELECT convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'k';
INSERT INTO feels VALUES (0, 'z', 'b');
-- The check of the rows uses the caller's search_path, whatever words are in the constraint.
CREATE TABLE outdated (word text);
CREATE FUNCTION current_word(text) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RETURN NOT EXISTS (SELECT FROM outdated WHERE word = $1); END $$;
CREATE TABLE looks_up (w text, p numeric(8,2), CONSTRAINT k CHECK (current_word(w) AND p < 500 AND w <> 'NOT VALID'));
INSERT INTO looks_up SELECT 'w' || i, i FROM generate_series(1, 200) i;
SELECT column_name, new_type FROM compact_types.convert('looks_up', '{p}', narrow => true);
SELECT column_name, new_type FROM compact_types.revert('looks_up');
SELECT convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'looks_up'::regclass;
RESET search_path;

-- A note on a name applies to the column that has the name then, but not if it would round values.
CREATE TEMP TABLE named (r compact_types.column_reference);
INSERT INTO named VALUES ('rev.price.d');
CREATE TABLE rev.price (d int);
INSERT INTO compact_types.conversions SELECT r, 'numeric(4,2)', 'm', '', 'compact_decimal4_2', -1 FROM named;
DROP TABLE rev.price;
CREATE TABLE rev.price (d compact_decimal4_2);
SELECT * FROM compact_types.revert('rev.price');
INSERT INTO compact_types.conversions SELECT r, 'numeric(3,0)', 'm', '', 'compact_decimal4_2', -1 FROM named;
INSERT INTO compact_types.conversions SELECT r, 'numeric(4,2)', 'm', '', 'compact_decimal4_2', -1 FROM named;
ALTER TABLE rev.price DROP d;
SELECT count(*) FROM compact_types.conversions WHERE converted::text ~ 'dropped';

-- Literals in objects that were created after the conversion get ordinary types.
CREATE TABLE rev.literal (id int, c char(9), t text, v varchar(60), p numeric(8,2), s timestamp(0));
INSERT INTO rev.literal SELECT i, 'c' || i, 'some words that are long enough ' || i, 'other words that are long enough ' || i, i, '2024-01-01' FROM generate_series(1, 200) i;
CREATE TABLE rev.kept AS SELECT t FROM rev.literal;
SELECT column_name, new_type FROM compact_types.convert('rev.literal', narrow => true);
SELECT column_name, new_type FROM compact_types.convert('rev.kept');
ALTER TABLE rev.literal ADD CONSTRAINT k1 CHECK (c <> 'x' AND t <> 'it''s "::public.compact_text"' AND v NOT IN ('a', 'b')),
  ADD CONSTRAINT k2 CHECK (p <> 5.5 AND s > '2000-01-01'), ADD CONSTRAINT k3 CHECK (c = ANY ('{a,b}') OR v <> 'abc'::compact_text(60));
COMMENT ON CONSTRAINT k1 ON rev.literal IS 'a comment';
CREATE VIEW rev.literals AS SELECT id, c, t FROM rev.literal WHERE c <> 'y' AND t IN ('x', 'y');
CREATE VIEW rev.literals_2 AS SELECT id FROM rev.literals WHERE t IS DISTINCT FROM 'z';
CREATE VIEW rev.with_kept AS SELECT l.id, coalesce(k.t, 'none') AS t FROM rev.literal l JOIN rev.kept k ON l.t = k.t WHERE l.t <> 'z';
CREATE VIEW rev.constants AS SELECT nullif('x', t) AS n, 'k'::compact_text AS k, t FROM rev.literal WHERE t <> 'w';
CREATE STATISTICS rev.literal_s ON (t <> 'x'), (c <> 'y') FROM rev.literal;
-- Neither a cast that rounds its operand, nor a constraint on a column that stays, changes.
ALTER TABLE rev.literal ADD COLUMN n numeric, ADD CONSTRAINT k4 CHECK (p <= n::compact_decimal4_2 OR n IS NULL),
  ADD CONSTRAINT k5 CHECK (coalesce(t, 'z') <> 'q');
SELECT oid AS k5 FROM pg_constraint WHERE conname = 'k5' AND conrelid = 'rev.literal'::regclass \gset
SELECT * FROM compact_types.revert('rev.literal', '{p,v}');
SELECT conname, CASE WHEN conname = 'k5' THEN oid = :k5 END AS same, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'rev.literal'::regclass ORDER BY 1;
CREATE INDEX literal_i ON rev.literal (id) WHERE c <> 'q';
SELECT * FROM compact_types.revert('rev.literal');
SELECT conname, pg_get_constraintdef(oid), obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conrelid = 'rev.literal'::regclass ORDER BY 1;
SELECT relname, regexp_replace(pg_get_viewdef(oid), '\m(literal|literals|with_kept)\.', '', 'g') FROM pg_class WHERE relname IN ('literals', 'literals_2', 'with_kept', 'constants') ORDER BY 1;
SELECT pg_get_statisticsobjdef(oid) FROM pg_statistic_ext WHERE stxname = 'literal_s';
-- The view keeps the type as long as another table has it.
DROP VIEW rev.with_kept;
CREATE VIEW rev.with_kept AS SELECT k.t FROM rev.literal l JOIN rev.kept k ON l.t = k.t WHERE k.t <> 'none';
SELECT * FROM compact_types.revert('rev.kept');
SELECT relname, pg_get_viewdef(oid) FROM pg_class WHERE relname = 'with_kept' ORDER BY 1;
-- An object that still has a type is not dropped with the type.
DROP TABLE rev.guarded, rev.guarded_2, rev.guarded_3;
DROP EXTENSION compact_char9 CASCADE;
BEGIN;
SET LOCAL client_min_messages = warning;
SET LOCAL compact_types.guard_drop = off;
DROP EXTENSION compact_char9 CASCADE;
ROLLBACK;
DROP INDEX rev.literal_i;
CREATE TABLE rev.by_cast (t text CHECK (length(t::compact_char9::text) < 20), g text GENERATED ALWAYS AS (t::compact_char9::text) STORED);
CREATE TABLE rev.parted (t text) PARTITION BY LIST ((t::compact_char9::text));
CREATE DOMAIN rev.word AS text CHECK (value <> 'q'::compact_char9);
CREATE STATISTICS rev.by_cast_s ON (t::compact_char9) FROM rev.by_cast;
CREATE INDEX by_cast_i ON rev.by_cast ((t::compact_char9::text));
DROP EXTENSION compact_char9 CASCADE;
DROP TABLE rev.by_cast;
DROP EXTENSION compact_char9 CASCADE;
DROP TABLE rev.parted;
DROP EXTENSION compact_char9 CASCADE;
DROP DOMAIN rev.word;
BEGIN;
SET LOCAL client_min_messages = warning;
DROP EXTENSION compact_char9 CASCADE;
ROLLBACK;
CREATE VIEW rev.constant AS SELECT 'x'::compact_char9 AS c;
ALTER TABLE rev.kept ADD CONSTRAINT k CHECK (t <> 'x'::compact_char9), ALTER t SET DEFAULT ('y'::compact_char9);
CREATE POLICY p ON rev.kept USING (t <> 'z'::compact_char9);
DROP TYPE compact_char9 CASCADE;
DROP EXTENSION compact_char9 CASCADE;

-- A view that was created after the conversion gets the types that the plain table gives it.
CREATE TABLE rev.computed (c varchar(60), n numeric(6,2), q int2 CHECK (q BETWEEN 0 AND 99), ts timestamp(0), ch char(9));
CREATE VIEW rev.computing AS SELECT max(c) AS m, coalesce(c, '-') AS co, array_agg(c) AS ac, max(n) AS mn, coalesce(n, 1) AS cn, array_agg(n) AS an,
  max(q) AS mq, coalesce(q, '1') AS cq, max(ts) AS mts, max(ch) AS mch FROM rev.computed GROUP BY c, n, q;
CREATE TEMP TABLE computing AS SELECT attnum, attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 'rev.computing'::regclass;
DROP VIEW rev.computing;
INSERT INTO rev.computed VALUES ('https://www.example.org/path', 1.5, 7, '2026-01-01', 'abc'), ('https://www.example.org/other', 2.5, 9, '2026-01-02', 'def');
SELECT * FROM compact_types.convert('rev.computed', '{c,n,q,ts,ch}');
CREATE VIEW rev.computing AS SELECT max(c) AS m, coalesce(c, '-') AS co, array_agg(c) AS ac, max(n) AS mn, coalesce(n, 1) AS cn, array_agg(n) AS an,
  max(q) AS mq, coalesce(q, '1') AS cq, max(ts) AS mts, max(ch) AS mch FROM rev.computed GROUP BY c, n, q;
CREATE VIEW rev.showing AS SELECT m, ac, cq FROM rev.computing;
SELECT string_agg(format('%s %s', attname, atttypid::regtype), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'rev.computing'::regclass AND attname IN ('co', 'ac', 'cn', 'cq', 'mts', 'mch');
-- The sum of two literals would be a smallint.
CREATE VIEW rev.sums AS SELECT '5'::uint1 + '6'::uint1 AS plus, q FROM rev.computed;
SELECT relation FROM compact_types.revert('rev.computed') WHERE column_name IS NULL;
SELECT count(*), count(b) AS same FROM pg_attribute a LEFT JOIN computing b USING (attnum, attname, atttypid) WHERE a.attrelid = 'rev.computing'::regclass;
SELECT regexp_replace(pg_get_viewdef('rev.computing'), '\mcomputed\.', '', 'g');
SELECT string_agg(format('%s %s', attname, atttypid::regtype), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'rev.showing'::regclass;
SELECT string_agg(format('%s %s', attname, atttypid::regtype), ', ' ORDER BY attnum), regexp_replace(pg_get_viewdef(attrelid), '\mcomputed\.', '', 'g') FROM pg_attribute WHERE attrelid = 'rev.sums'::regclass GROUP BY attrelid;
DROP TABLE computing;
-- A literal of compact_charN is filled with blanks, which a char ignores and a text does not.
CREATE TABLE rev.blanks (v varchar(20), ch char(9));
INSERT INTO rev.blanks SELECT lpad(i::text, 9, 'a'), 'ab' || i % 5 FROM generate_series(1, 50) i;
CREATE TABLE rev.single AS SELECT v FROM rev.blanks;
SELECT * FROM compact_types.convert('rev.blanks', '{v,ch}', fixed_varchar => true);
SELECT * FROM compact_types.convert('rev.single', '{v}', fixed_varchar => true);
ALTER TABLE rev.blanks ADD CONSTRAINT in_blanks CHECK (ch IN ('ab0', 'ab1', 'ab2', 'ab3', 'ab4') AND ch <> 'ab5');
CREATE VIEW rev.blanks_v AS SELECT count(*) FILTER (WHERE ch = 'ab1') AS c, count(*) FILTER (WHERE ch IN ('ab1', 'ab2')) AS i,
  count(*) FILTER (WHERE ch = ANY ('{ab1,ab3}')) AS a, count(*) FILTER (WHERE v = 'aaaaaaaa1') AS v FROM rev.blanks;
CREATE VIEW rev.single_v AS SELECT count(*) FILTER (WHERE v = 'ab') AS c, count(*) FILTER (WHERE v IN ('ab', 'cd ')) AS i,
  count(*) FILTER (WHERE v = ANY ('{ab,"cd "}')) AS a FROM rev.single;
INSERT INTO rev.single VALUES ('ab'), ('cd');
SELECT * FROM rev.blanks_v, rev.single_v;
SELECT count(*) FROM compact_types.revert('rev.blanks');
SELECT count(*) FROM compact_types.revert('rev.single');
SELECT * FROM rev.blanks_v, rev.single_v;
SELECT regexp_replace(pg_get_viewdef('rev.single_v'), '\msingle\.', '', 'g') AS view, pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'in_blanks';
-- A view on a view has no cast left.
CREATE TABLE rev.bottom (c text);
INSERT INTO rev.bottom SELECT 'the quick brown fox number ' || i FROM generate_series(1, 100) i;
SELECT * FROM compact_types.convert('rev.bottom');
CREATE VIEW rev.middle AS SELECT coalesce(c, '-') AS x FROM rev.bottom;
CREATE VIEW rev.top AS SELECT nullif(x, 'q') AS y FROM rev.middle WHERE x <> 'foo';
SELECT * FROM compact_types.revert('rev.bottom');
SELECT regexp_replace(pg_get_viewdef('rev.top'), '\mmiddle\.', '', 'g');
-- arrays of varchar
CREATE TABLE rev.arrays (v varchar(60), f varchar(20));
INSERT INTO rev.arrays SELECT 'the quick brown fox number ' || i, lpad(i::text, 9, 'a') FROM generate_series(1, 20) i;
SELECT count(*) FROM compact_types.convert('rev.arrays', '{v,f}', fixed_varchar => true);
CREATE VIEW rev.arrays_v AS SELECT array_agg(v) @> '{"the quick brown fox number 1"}' AS v, array_agg(f) && '{ab,aaaaaaaa2}' AS f FROM rev.arrays;
SELECT count(*) FROM compact_types.revert('rev.arrays');
TABLE rev.arrays_v;
-- many views on views
CREATE TABLE rev.deep (c text);
INSERT INTO rev.deep SELECT 'the quick brown fox number ' || i FROM generate_series(1, 100) i;
SELECT count(*) FROM compact_types.convert('rev.deep');
CREATE VIEW rev.deep_0 AS SELECT coalesce(c, 'x') AS c FROM rev.deep;
DO $$ BEGIN FOR i IN 1 .. 30 LOOP
  EXECUTE format('CREATE VIEW rev.deep_%s AS SELECT coalesce(a.c, b.c, ''y'') AS c FROM rev.deep_%s a, rev.deep_%s b WHERE a.c = b.c', i, i - 1, GREATEST(i - 2, 0));
END LOOP; END $$;
SET statement_timeout = '600s';
SELECT count(*) FROM compact_types.revert('rev.deep');
RESET statement_timeout;
SELECT count(*) FROM pg_class WHERE relname ~ '^deep_' AND pg_get_viewdef(oid) ~ 'compact';
SET client_min_messages = warning;
DROP TABLE rev.deep CASCADE;
RESET client_min_messages;
-- A cast stays if its column is left out.
CREATE TABLE rev.skipped (c text, ch char(9));
INSERT INTO rev.skipped SELECT 'the quick brown fox number ' || i, 'abc' FROM generate_series(1, 100) i;
SELECT * FROM compact_types.convert('rev.skipped', '{c,ch}');
ALTER TABLE rev.skipped ADD CONSTRAINT on_skipped CHECK (c <> 'x' AND ch <> 'y');
CREATE POLICY skipped ON rev.skipped USING (c <> 'z');
SELECT * FROM compact_types.revert('rev.skipped', skip_blocked => true);
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'on_skipped';
-- A planted note must not become two statements.
CREATE TABLE rev.planted (c text);
INSERT INTO rev.planted SELECT 'the quick brown fox number ' || i FROM generate_series(1, 100) i;
CREATE VIEW rev.planted_v AS SELECT c FROM rev.planted;
CREATE TABLE rev.traces (t text);
SELECT count(*) FROM compact_types.convert('rev.planted');
ALTER TABLE rev.planted ADD CONSTRAINT planted_c CHECK (c <> 'x');
SET search_path = pg_catalog;
SELECT pg_get_viewdef('rev.planted_v') AS definition \gset
SELECT pg_get_constraintdef(oid) AS check FROM pg_constraint WHERE conname = 'planted_c' \gset
RESET search_path;
INSERT INTO compact_types.definitions VALUES ('rev.planted.c', current_user,
  $x$CHECK (c <> $q$ x $q::compact_types.integer_operand$); INSERT INTO rev.traces VALUES ('second statement'); -- $q$)$x$, :'check');
INSERT INTO compact_types.definitions VALUES ('rev.planted_v.c', current_user,
  $x$ SELECT c FROM rev.planted WHERE c <> $q$ x $q::compact_types.integer_operand$; INSERT INTO rev.traces VALUES ('second statement'); -- $q$$x$, :'definition');
SELECT count(*) FROM compact_types.revert('rev.planted');
SELECT count(*) FROM rev.traces;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'planted_c';
-- No note is left on an object that uses no compact type.
CREATE TABLE rev.noted (a varchar(40), ch char(9), CONSTRAINT noted_c CHECK (octet_length(ch) > 0));
INSERT INTO rev.noted SELECT 'the quick brown fox number ' || i, 'abc' FROM generate_series(1, 100) i;
SELECT count(*) FROM compact_types.convert('rev.noted', '{a}');
ALTER TABLE rev.noted ADD CHECK (a <> 'q' AND octet_length(ch) > 0);
CREATE VIEW rev.noted_v AS SELECT octet_length(ch) AS l FROM rev.noted WHERE a <> 'q';
SELECT count(*) FROM compact_types.convert('rev.noted', '{ch}');
SELECT count(*) FROM compact_types.definitions WHERE compact_types.referenced_table(used) IN ('rev.noted'::regclass, 'rev.noted_v'::regclass);
SELECT count(*) FROM compact_types.revert('rev.noted');
SELECT used FROM compact_types.definitions WHERE compact_types.referenced_table(used) IN ('rev.noted'::regclass, 'rev.noted_v'::regclass);
-- The former text of a view or a constraint can contain a compact type, too: that of another column.
CREATE TABLE rev.first (c text, list text[], ch char(9));
CREATE TABLE rev.second (ch char(9));
INSERT INTO rev.first SELECT 'the quick brown fox number ' || i, ARRAY['a', 'b'], 'abc' FROM generate_series(1, 100) i;
INSERT INTO rev.second VALUES ('abc');
SELECT * FROM compact_types.convert('rev.first', '{c}');
ALTER TABLE rev.first ALTER list TYPE compact_text[], ADD CONSTRAINT both_columns CHECK (c <> 'x' AND octet_length(ch) > 0);
CREATE VIEW rev.both_tables AS SELECT coalesce(f.c, '-') AS c, octet_length(s.ch) AS l, 'k'::compact_text AS k, f.list[1] AS element FROM rev.first f, rev.second s WHERE f.c <> 'x';
SELECT * FROM compact_types.convert('rev.second', '{ch}');
SELECT * FROM compact_types.convert('rev.first', '{ch}');
SELECT * FROM compact_types.revert('rev.first', '{c,list}', unrecorded => true);
SELECT pg_get_viewdef('rev.both_tables'), pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'both_columns';
SELECT * FROM compact_types.revert('rev.second');
SELECT * FROM compact_types.revert('rev.first');
SELECT pg_get_viewdef('rev.both_tables'), pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'both_columns';
SELECT string_agg(format('%s %s', attname, atttypid::regtype), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'rev.both_tables'::regclass;
SELECT count(*) FROM compact_types.definitions WHERE compact_types.referenced_table(used) IN ('rev.first'::regclass, 'rev.both_tables'::regclass);

SET client_min_messages = warning;
DROP VIEW types;
DROP SCHEMA rev, "Other" CASCADE;
DROP ROLE regress_rev_a, regress_rev_b;
DROP EXTENSION compact_char9, compact_decimal4_2;
