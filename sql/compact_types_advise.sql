--
-- Test advise() and convert(): which types advise() proposes and why, what a conversion keeps, and
-- which conversions are refused.  A refused conversion changes nothing.
--
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE ROLE regress_advise_owner;
CREATE ROLE regress_advise_other;
CREATE SCHEMA adv AUTHORIZATION regress_advise_owner;
GRANT USAGE ON SCHEMA adv TO regress_advise_other;
SET search_path = adv, public;

--
-- Proposals
--
CREATE TABLE proposals (
  serial_id serial,
  key_id int8 PRIMARY KEY,
  ident int4 GENERATED ALWAYS AS IDENTITY,
  tiny int4, negative int4, small int8, middle int8, large int4, edge int2,
  fixed char(24), one char(1), umlaut char(8), unbounded bpchar, padded varchar(10), constant varchar(10),
  long_fixed char(200),
  amount numeric(9,2), price numeric(12,2), huge numeric(18,0), free numeric, nan numeric(6,1), shifted numeric(3,-2),
  at_second timestamp(0), at_fraction timestamptz, at_default timestamptz DEFAULT now(), at_end timestamp,
  nothing int4, flag bool, doubled int4 GENERATED ALWAYS AS (1) STORED, list int4[], note text);
INSERT INTO proposals (key_id, tiny, negative, small, middle, large, edge, fixed, one, umlaut, unbounded, padded, constant,
  long_fixed, amount, price, huge, free, nan, shifted, at_second, at_fraction, at_default, at_end, flag, list, note)
SELECT i, i % 100, -i % 50, i, i * 100, i * 1000000, i % 250, 'fixed ' || i, 'x', CASE i WHEN 9 THEN 'äö' ELSE 'ae' END, 'u ' || i,
  CASE i WHEN 5 THEN 'padded  ' ELSE 'not' END, 'const ' || i % 10, 'long ' || i, i / 100.0, 10000000 + i, 100000000000000000 + i, i / 8.0,
  CASE i WHEN 3 THEN 'NaN' ELSE i::numeric END, i, timestamp '2026-01-01' + i * interval '1 second',
  timestamptz '2026-01-01 00:00:00+00' + i * interval '0.3 second', timestamptz '2026-01-01 00:00:00+00', 'infinity',
  true, ARRAY[i], 'a rather ordinary sentence number ' || i
FROM generate_series(1, 200) i;
SELECT column_name, current_type, proposed_type, round(value_bytes_now::numeric, 1) AS now, round(value_bytes_after::numeric, 1) AS after, blockers
FROM compact_types.advise('proposals', narrow => true);
SELECT column_name, reason FROM compact_types.advise('proposals', narrow => true) WHERE proposed_type IS NULL OR column_name = 'at_default';
SELECT column_name, proposed_type FROM compact_types.advise('proposals', narrow => false, fixed_varchar => true)
WHERE column_name IN ('tiny', 'constant', 'padded');
SELECT column_name, proposed_type, reason, blockers FROM compact_types.advise('proposals', round_seconds => true, narrow => true)
WHERE column_name ~ '^at_';
SELECT column_name, proposed_type, blockers FROM compact_types.advise('proposals', narrow_keys => true, narrow => true)
WHERE column_name ~ 'id';
-- advise() proposes a type of three bytes for a key only if the index has several columns, and only
-- with narrow_keys.
CREATE TABLE composite (w int4, o int4, alone int4 UNIQUE, above int4, none int4, PRIMARY KEY (w, o));
CREATE INDEX ON composite (above, w);
INSERT INTO composite SELECT i % 10, i * 8388, i * 8388, i * 8389, i * 8388 FROM generate_series(1, 1000) i;
SELECT column_name, proposed_type, reason, blockers FROM compact_types.advise('composite', narrow => true);
SELECT column_name, proposed_type, reason, blockers FROM compact_types.advise('composite', narrow_keys => true, narrow => true);
BEGIN;
SELECT * FROM compact_types.convert('composite', narrow_keys => true, narrow => true);
\d composite
SELECT sum(w), sum(o), sum(alone), sum(above), sum(none) FROM composite;
ROLLBACK;
-- advise() does not propose the type if another object depends on the column and would
-- block the conversion of the table.
CREATE TABLE referenced (w int4, o int4, code char(20), PRIMARY KEY (w, o));
INSERT INTO referenced SELECT 100000 * i, 8000 * i, 'x' FROM generate_series(1, 1000) i;
CREATE TABLE referencing (w int4, o int4, FOREIGN KEY (w, o) REFERENCES referenced);
SELECT column_name, proposed_type, reason, blockers FROM compact_types.advise('referenced', narrow_keys => true, narrow => true);
CREATE TABLE part_indexed (a int8, b int8, PRIMARY KEY (b, a));
CREATE INDEX part_index ON part_indexed (b) WHERE a > 5;
INSERT INTO part_indexed SELECT 8000 * i, 8000 * i FROM generate_series(1, 1000) i;
SELECT column_name, proposed_type, blockers FROM compact_types.advise('part_indexed', narrow_keys => true, narrow => true);
-- advise() does not propose the type if the narrower type could overflow in a CHECK constraint or
-- in an expression of statistics.  Comparisons and casts cannot overflow.
CREATE TABLE computing (s int4, o int4, p int4, q int4, t int4, d numeric(14,2), PRIMARY KEY (o, p, q), CONSTRAINT difference CHECK (o - p < 10000000 AND q > 0),
  CONSTRAINT product CHECK (s * t::int8 >= 0), CONSTRAINT double CHECK (d * 2 < 1e12), CHECK (q::int8 * 2 > 0 AND (q IN (1, 2) OR q > 2)));
INSERT INTO computing SELECT 1, 8000 * i, 4000 * i, 4000 * i, 1, 1234567890.25 + i FROM generate_series(1, 1000) i;
CREATE STATISTICS twice ON (q * 2), (t + 1) FROM computing;
SELECT column_name, proposed_type, reason, blockers FROM compact_types.advise('computing', narrow_keys => true, narrow => true);
DROP STATISTICS twice;
SELECT column_name, proposed_type, blockers FROM compact_types.advise('computing', narrow_keys => true, narrow => true) WHERE column_name IN ('q', 't') ORDER BY 1;
ALTER TABLE computing DROP CONSTRAINT product;
ALTER TABLE computing DROP CONSTRAINT double;
SELECT * FROM compact_types.convert('computing', narrow_keys => true, narrow => true);
INSERT INTO computing VALUES (1, 3, 4, 4, 1);
ANALYZE computing;
-- advise() proposes uint4 for values that int4 does not hold, if none is negative.
CREATE TABLE unsigned (crc int8 NOT NULL, checked int8 CHECK (checked BETWEEN 0 AND 4294967295), negative int8, medium int8, "no room" int8);
INSERT INTO unsigned SELECT i * 2000000, i * 4294967::int8, i * 2000000 - 2000001, i * 1000000, i * 4294967::int8 FROM generate_series(1, 1000) i;
INSERT INTO unsigned SELECT crc, checked, negative, medium, "no room" FROM unsigned;
CREATE INDEX ON unsigned (crc);
CREATE VIEW unsigned_view AS SELECT crc, count(checked) AS n FROM unsigned WHERE checked > 5 GROUP BY crc;
SELECT column_name, proposed_type, reason, risk FROM compact_types.advise('unsigned', narrow => true);
SELECT * FROM compact_types.convert('unsigned', '{crc,checked}', narrow => true);
\d unsigned
SELECT count(*), sum(crc), sum(checked), min(crc - 2000001), max(crc * 2) FROM unsigned;
INSERT INTO unsigned VALUES (4294967295, 4294967295);
INSERT INTO unsigned VALUES (4294967296, 1);
INSERT INTO unsigned VALUES (-1, 1);
SELECT column_name, old_type FROM compact_types.status WHERE relation = 'unsigned'::regclass ORDER BY column_name;
SELECT * FROM compact_types.revert('unsigned');
SELECT count(*), sum(crc), max(checked), pg_typeof(max(crc)) FROM unsigned;
DROP VIEW unsigned_view;
-- There is no advice for a table without rows.
CREATE TABLE empty (a int, b char(24));
SELECT column_name, proposed_type, bytes_now, reason FROM compact_types.advise('empty', narrow => true);
SELECT rows, row_bytes_now, heap_pages, heap_pages_after, column_order, statement FROM compact_types.advise_table('empty', narrow => true);
CREATE TABLE no_columns ();
INSERT INTO no_columns DEFAULT VALUES;
SELECT * FROM compact_types.advise('no_columns', narrow => true);
SELECT rows, heap_pages, heap_pages_after FROM compact_types.advise_table('no_columns', narrow => true);

--
-- Advice on the table as a whole
--
CREATE TABLE "odd ""names" (
  "select" bool NOT NULL, n int8, "a;b" char(8) COLLATE "POSIX" DEFAULT 'x', k int8 NOT NULL, f bool, "c c" char(2) NOT NULL)
  WITH (fillfactor = 80);
INSERT INTO "odd ""names" SELECT true, i % 100, 'v' || i, 10000000000 + i, false, 'c' FROM generate_series(1, 1000) i;
SELECT rows, heap_pages = heap_pages_now AS unchanged, heap_pages_now, heap_pages_after, heap_pages_reordered, column_order
FROM compact_types.advise_table('"odd ""names"', narrow => true);
SELECT statement, create_statement FROM compact_types.advise_table('"odd ""names"', narrow => true) \gx
-- Both statements work.
SELECT create_statement FROM compact_types.advise_table('"odd ""names"', narrow => true) \gexec
DROP TABLE "odd ""names_compact";
BEGIN;
SELECT statement FROM compact_types.advise_table('"odd ""names"', narrow => true) \gexec
\d "odd ""names"
ROLLBACK;
SELECT * FROM compact_types.convert('"odd ""names"', narrow => true);
\d "odd ""names"
SELECT count(*), min("a;b"::text), max("c c"::text) FROM "odd ""names";
-- No column is left to convert.
SELECT * FROM compact_types.convert('"odd ""names"', narrow => true);

--
-- A conversion keeps constraints, indexes, comments, privileges and views
--
SET ROLE regress_advise_owner;
CREATE TABLE orders (
  id int8 PRIMARY KEY, code char(12) NOT NULL DEFAULT 'none' CHECK (code <> 'bad'), qty int4 CHECK (qty > 0),
  at timestamp(0) DEFAULT '2026-01-01 12:00:00', note varchar(60), UNIQUE (code, id));
INSERT INTO orders SELECT i, 'code ' || i, i % 50 + 1, timestamp '2026-01-01' + i * interval '1 min', 'a note for the order ' || i
FROM generate_series(1, 500) i;
CREATE INDEX orders_qty ON orders (qty DESC, code);
CREATE INDEX orders_id ON orders (id) WHERE id > 100;
CREATE STATISTICS orders_stat ON code, qty FROM orders;
COMMENT ON TABLE orders IS 'all orders';
COMMENT ON COLUMN orders.code IS 'the code';
COMMENT ON INDEX orders_qty IS 'an index';
GRANT SELECT (code) ON orders TO regress_advise_other;
ALTER TABLE orders REPLICA IDENTITY USING INDEX orders_code_id_key;
ALTER TABLE orders CLUSTER ON orders_qty;
CREATE VIEW "first ""view" WITH (security_barrier = true, check_option = local) AS
  SELECT id, code AS "the ""code", qty FROM orders WHERE code LIKE 'code%' AND qty < 1000;
CREATE VIEW second_view AS SELECT v."the ""code" || '!' AS c, o.note, count(*) OVER () FROM "first ""view" v JOIN orders o USING (id);
CREATE VIEW third_view AS SELECT c FROM second_view UNION ALL SELECT o.code FROM orders o;
CREATE VIEW bystander AS SELECT id FROM orders;
COMMENT ON VIEW "first ""view" IS 'it''s the first';
COMMENT ON COLUMN "first ""view"."the ""code" IS 'code';
GRANT SELECT ON "first ""view" TO PUBLIC;
GRANT UPDATE ("the ""code") ON "first ""view" TO regress_advise_other WITH GRANT OPTION;
REVOKE DELETE ON second_view FROM regress_advise_owner;
RESET ROLE;
SELECT dependent_views FROM compact_types.advise_table('orders', narrow => true);
CREATE TEMP TABLE before AS SELECT * FROM orders;
CREATE TEMP TABLE before_views AS
SELECT relname, relowner::regrole, relacl, reloptions, obj_description(oid),
  (SELECT array_agg(ROW(attname, attacl, col_description(attrelid, attnum))::text ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid) AS columns
FROM pg_class c WHERE relkind = 'v' AND relnamespace = 'adv'::regnamespace;
SELECT relname, relacl IS NULL AS default_acl, reloptions FROM before_views ORDER BY 1;
-- The views keep their privileges, whatever the default privileges are.
ALTER DEFAULT PRIVILEGES FOR ROLE regress_advise_owner IN SCHEMA adv GRANT ALL ON TABLES TO PUBLIC;
SELECT 'bystander'::regclass::oid AS bystander, pg_relation_filenode('orders') AS filenode \gset
SELECT * FROM compact_types.convert('orders', narrow => true);
SELECT 'bystander'::regclass::oid = :bystander AS same_view, pg_relation_filenode('orders') <> :filenode AS rewritten;
\d orders
SELECT obj_description('orders'::regclass), col_description('orders'::regclass, 2), obj_description('orders_qty'::regclass),
  has_column_privilege('regress_advise_other', 'orders', 'code', 'SELECT') AS privilege;
SELECT count(*) AS different FROM orders o FULL JOIN before b USING (id)
WHERE (o.code::text, o.qty::text, o.at::text, o.note::text) IS DISTINCT FROM (b.code::text, b.qty::text, b.at::text, b.note::text);
SELECT relname, relowner::regrole, COALESCE(relacl, acldefault('r', relowner)) AS acl, reloptions, obj_description(oid),
  (SELECT array_agg(ROW(attname, attacl, col_description(attrelid, attnum))::text ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid) AS columns
FROM pg_class c WHERE relkind = 'v' AND relnamespace = 'adv'::regnamespace
EXCEPT SELECT relname, relowner, COALESCE(relacl, acldefault('r', relowner)), reloptions, obj_description, columns FROM before_views;
SELECT count(*) FROM pg_class WHERE relkind = 'v' AND relnamespace = 'adv'::regnamespace;
SELECT (SELECT count(*) FROM "first ""view"), (SELECT max(c) FROM second_view), (SELECT count(*) FROM third_view);
INSERT INTO orders (id) VALUES (1000);
SELECT code, at FROM orders WHERE id = 1000;
SELECT count(*) FROM orders WHERE code = 'code 7';
INSERT INTO orders VALUES (1001, 'bad');
ALTER DEFAULT PRIVILEGES FOR ROLE regress_advise_owner IN SCHEMA adv REVOKE ALL ON TABLES FROM PUBLIC;

--
-- Conversions that are refused.  Nothing changes then.
--
CREATE FUNCTION refused(rel regclass, columns name[] DEFAULT NULL) RETURNS TABLE (state text, message text, detail text, changed bool)
LANGUAGE plpgsql AS $$
DECLARE
  before text := pg_relation_filenode(rel) || (SELECT string_agg(a::text, ',' ORDER BY attnum) FROM pg_attribute a WHERE attrelid = rel);
  extensions bigint := (SELECT count(*) FROM pg_extension);
BEGIN
  PERFORM compact_types.convert(rel, columns, narrow => true);
  state := 'not refused';
  RETURN NEXT;
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
  changed := before <> pg_relation_filenode(rel) || (SELECT string_agg(a::text, ',' ORDER BY attnum) FROM pg_attribute a WHERE attrelid = rel)
    OR extensions <> (SELECT count(*) FROM pg_extension);
  RETURN NEXT;
END $$;

CREATE TABLE base (a int4, c char(13), t text, n int4, d char(14));
INSERT INTO base SELECT i, 'c' || i, 'some text or other ' || i, i % 10, 'd' || i FROM generate_series(1, 1000) i;
ALTER TABLE base ADD UNIQUE (c);
-- Test foreign keys, on either side.
CREATE TABLE child (c char(13) REFERENCES base (c), x int);
INSERT INTO child SELECT c, 1 FROM base;
SELECT * FROM refused('base', '{c}');
SELECT * FROM refused('child', '{c}');
DROP TABLE child;
-- Test materialized views, rules and functions.
CREATE MATERIALIZED VIEW base_mat AS SELECT c FROM base;
CREATE RULE base_rule AS ON UPDATE TO base WHERE new.c = 'x' DO INSTEAD NOTHING;
CREATE FUNCTION base_func() RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT max(c) FROM adv.base; END;
SELECT * FROM refused('base', '{c}');
-- A column that none of these objects uses can still be converted.
SELECT * FROM compact_types.convert('base', '{d}', narrow => true);
DROP MATERIALIZED VIEW base_mat;
DROP RULE base_rule ON base;
DROP FUNCTION base_func;
-- Test triggers, policies, generated columns, publications and exclusion constraints.
CREATE FUNCTION base_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
CREATE TRIGGER base_update BEFORE UPDATE OF t ON base FOR EACH ROW EXECUTE FUNCTION base_trigger();
CREATE POLICY base_policy ON base USING (n > 0);
ALTER TABLE base ADD COLUMN g text GENERATED ALWAYS AS (c || '!') STORED;
ALTER TABLE base ADD EXCLUDE USING btree (n WITH =) WHERE (a < 0);
CREATE STATISTICS base_stat ON t, n FROM base;
ALTER STATISTICS base_stat SET STATISTICS 10;
SELECT * FROM refused('base');
SELECT column_name, proposed_type, blockers FROM compact_types.advise('base', narrow => true);
SELECT statement FROM compact_types.advise_table('base', narrow => true);
DROP TRIGGER base_update ON base;
DROP POLICY base_policy ON base;
ALTER TABLE base DROP COLUMN g, DROP CONSTRAINT base_n_excl;
DROP STATISTICS base_stat;
SET client_min_messages = error;
CREATE PUBLICATION adv_columns FOR TABLE base (c);
CREATE PUBLICATION adv_rows FOR TABLE base WHERE (n > 1) WITH (publish = insert);
CREATE PUBLICATION adv_table FOR TABLE base;
SET client_min_messages = warning;
SELECT * FROM refused('base');
DROP PUBLICATION adv_columns, adv_rows, adv_table;
-- Test indexes.
CREATE OPERATOR CLASS own_ops FOR TYPE bpchar USING btree AS
  OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 bpcharcmp(bpchar, bpchar);
CREATE INDEX base_own ON base (c own_ops);
CREATE INDEX base_expression ON base (upper(t));
CREATE INDEX base_partial ON base (a) WHERE n = 1;
CREATE INDEX base_gist ON base USING gist (daterange(DATE '2026-01-01', DATE '2026-01-01' + n));
SELECT * FROM refused('base');
DROP INDEX base_own, base_expression, base_partial, base_gist;
DROP OPERATOR FAMILY own_ops USING btree;
-- Test uses of the row type.
CREATE FUNCTION of_row(base) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE TABLE of_rows (b base[]);
SELECT * FROM refused('base', '{c}');
DROP FUNCTION of_row;
DROP TABLE of_rows;
-- Test views that cannot be created again as they were.
CREATE VIEW base_view AS SELECT c FROM base;
CREATE VIEW base_view2 AS SELECT c FROM base_view;
CREATE RULE view_rule AS ON INSERT TO base_view DO INSTEAD NOTHING;
CREATE TRIGGER view_trigger INSTEAD OF UPDATE ON base_view2 FOR EACH ROW EXECUTE FUNCTION base_trigger();
ALTER VIEW base_view2 ALTER COLUMN c SET DEFAULT 'x';
CREATE FUNCTION of_view() RETURNS SETOF base_view LANGUAGE sql AS 'SELECT * FROM adv.base_view';
CREATE MATERIALIZED VIEW view_mat AS SELECT c FROM base_view2;
GRANT SELECT ON base_view TO regress_advise_owner WITH GRANT OPTION;
SET ROLE regress_advise_owner;
GRANT SELECT ON base_view TO regress_advise_other;
RESET ROLE;
SELECT * FROM refused('base', '{c}');
DROP MATERIALIZED VIEW view_mat;
DROP FUNCTION of_view;
DROP VIEW base_view CASCADE;
-- Test views that refer to themselves.
CREATE VIEW circle AS SELECT c FROM base;
CREATE VIEW circle2 AS SELECT c FROM circle;
CREATE OR REPLACE VIEW circle AS SELECT b.c FROM base b, circle2;
SELECT * FROM refused('base', '{c}');
DROP VIEW circle CASCADE;
-- Test a constraint that is not true for the new type.  The error undoes the whole conversion.
ALTER TABLE base ADD CHECK (pg_typeof(c) = 'character'::regtype);
SELECT state, message, changed FROM refused('base', '{c}');
ALTER TABLE base DROP CONSTRAINT base_c_check;
-- Test inheritance, partitions and typed tables.
CREATE TABLE heir () INHERITS (base);
INSERT INTO heir SELECT * FROM base;
SELECT * FROM refused('base', '{c}');
SELECT * FROM refused('heir', '{c}');
DROP TABLE heir;
CREATE TABLE parts (c char(15)) PARTITION BY LIST (c);
CREATE TABLE part1 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT 'c' || i FROM generate_series(1, 10) i;
SELECT * FROM refused('parts');
SELECT * FROM refused('part1');
CREATE TYPE row_type AS (c char(15));
CREATE TABLE typed OF row_type;
INSERT INTO typed VALUES ('c');
SELECT * FROM refused('typed');
-- Test arguments that are not a table or not a column, and a column without a proposal.
SELECT * FROM refused('bystander');
SELECT * FROM refused('orders_qty');
SELECT * FROM refused('base', '{nonesuch}');
SELECT * FROM refused('base', '{d}');
SELECT * FROM refused('base', '{c,NULL}');
SELECT * FROM refused('pg_catalog.pg_class');
SELECT compact_types.advise('pg_catalog.pg_class', narrow => true);
SELECT compact_types.advise('bystander', narrow => true);
SELECT compact_types.advise(0, narrow => true);
SELECT compact_types.advise('base', sample_pages => -1, narrow => true);
SELECT compact_types.advise('base', narrow => NULL);
SELECT compact_types.convert(NULL);
SELECT compact_types.convert('base', narrow => true) FROM base;
BEGIN READ ONLY;
SELECT count(*) FROM compact_types.advise('base', narrow => true);
SELECT compact_types.convert('base', narrow => true);
ROLLBACK;

--
-- Privileges
--
SET ROLE regress_advise_other;
SELECT compact_types.convert('orders', narrow => true);
SELECT compact_types.advise('orders', narrow => true);
RESET ROLE;
GRANT SELECT ON orders TO regress_advise_other;
SET ROLE regress_advise_other;
SELECT count(*) FROM compact_types.advise('orders', narrow => true);
SELECT compact_types.convert('orders', narrow => true);
RESET ROLE;
ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
SET ROLE regress_advise_other;
SELECT compact_types.advise('orders', narrow => true);
RESET ROLE;
-- Test a view of another owner.
SET ROLE regress_advise_owner;
CREATE TABLE owned (c char(16), n int);
INSERT INTO owned SELECT 'c' || i, i FROM generate_series(1, 100) i;
GRANT SELECT ON owned TO regress_advise_other;
RESET ROLE;
GRANT CREATE ON SCHEMA adv TO regress_advise_other;
SET ROLE regress_advise_other;
CREATE VIEW others_view AS SELECT c FROM owned;
SET ROLE regress_advise_owner;
SELECT * FROM refused('owned');
DROP VIEW others_view;
-- convert() creates the extension of the type.  The caller needs a privilege on the database.
SELECT * FROM refused('owned');
RESET ROLE;
SELECT format('GRANT CREATE ON DATABASE %I TO regress_advise_owner', current_database()) \gexec
SET ROLE regress_advise_owner;
SELECT * FROM compact_types.convert('owned', narrow => true);
RESET ROLE;

-- convert_row() does nothing if a user calls it.
SELECT compact_types.convert_row(42), compact_types.convert_row(NULL::text) IS NULL AS "null";
SELECT count(*) FROM compact_types.progress;

-- Test a temporary view of a table that is not temporary.
CREATE TABLE lasting (c char(18));
INSERT INTO lasting SELECT 'c' || i FROM generate_series(1, 10) i;
CREATE TEMP VIEW fleeting AS SELECT c FROM lasting;
SELECT relation, column_name FROM compact_types.convert('lasting', narrow => true);
SELECT count(*) FROM pg_temp.fleeting;

-- Functions in constraints run with the caller's search_path.
CREATE FUNCTION in_path(text) RETURNS bool LANGUAGE plpgsql AS 'BEGIN RETURN helper($1); END';
CREATE FUNCTION helper(text) RETURNS bool LANGUAGE sql AS 'SELECT true';
CREATE TABLE checked (c char(17) CHECK (in_path(c)));
INSERT INTO checked SELECT 'c' || i FROM generate_series(1, 10) i;
SELECT * FROM compact_types.convert('checked', narrow => true);

--
-- Names are not executed as SQL, and long names are truncated between characters
--
CREATE UNLOGGED TABLE injected (i int8, "a TYPE int4); DROP TABLE victim; --" char(5)) WITH (fillfactor = 90, toast_tuple_target = 256);
INSERT INTO injected SELECT 1, 'b';
SELECT create_statement FROM compact_types.advise_table('injected', narrow => true) \gx
SELECT 'x' || repeat('ä', 30) AS long_name \gset
CREATE TABLE :"long_name" (c char(5));
INSERT INTO :"long_name" VALUES ('c');
SELECT create_statement FROM compact_types.advise_table(:'long_name', narrow => true) \gexec
SELECT relname FROM pg_class WHERE relname ~ '^xä' ORDER BY 1;

--
-- Defaults are values that must fit as well.  advise() does not call functions of users in
-- defaults.
--
CREATE FUNCTION not_called() RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE TABLE defaults (multibyte char(6) DEFAULT 'ä', at_end timestamp(0) DEFAULT 'infinity', at_now timestamp(0) DEFAULT localtimestamp,
  large int8 DEFAULT 5000000000, larger int8 DEFAULT 1000 * 100, users char(7) DEFAULT not_called(), fails char(5) DEFAULT 'too long',
  nan numeric(9,2) DEFAULT 'NaN', width varchar(8) DEFAULT 'short', fine char(3) DEFAULT upper('x'), text text DEFAULT not_called());
INSERT INTO defaults SELECT 'm', timestamp '2026-01-01', timestamp '2026-01-01', i, i, 'u', 'f', i, 'eight  ' || i % 10, 'x', 'an ordinary text'
FROM generate_series(1, 100) i;
SELECT column_name, proposed_type, reason, blockers FROM compact_types.advise('defaults', fixed_varchar => true, narrow => true);

--
-- Values that TOAST compresses or moves out of the row do not become larger
--
CREATE TABLE compressed (a text, b text);
INSERT INTO compressed SELECT repeat('the quick brown fox ', 55), repeat('jumps over the lazy dog ', 50) FROM generate_series(1, 200);
CREATE TABLE external (t text, filler text);
INSERT INTO external SELECT (SELECT string_agg(md5(i || ' ' || j), '') FROM generate_series(1, 62) j),
  (SELECT string_agg(md5(j || ' ' || i), '') FROM generate_series(1, 5) j) FROM generate_series(1, 200) i;
-- In the next table, the text becomes so short that the other column stays in the row.
CREATE TABLE came_in (t text, b bytea);
INSERT INTO came_in SELECT (SELECT string_agg(md5(i || ' ' || j), '') FROM generate_series(1, 31) j),
  (SELECT decode(string_agg(md5(j || ' ' || i), ''), 'hex') FROM generate_series(1, 69) j) FROM generate_series(1, 200) i;
SELECT column_name, proposed_type, reason FROM compact_types.advise('compressed', narrow => true) UNION ALL
SELECT column_name, proposed_type, reason FROM compact_types.advise('external', narrow => true) UNION ALL
SELECT column_name, proposed_type, reason FROM compact_types.advise('came_in', narrow => true);
SELECT heap_pages_after <= heap_pages_now AS compressed FROM compact_types.advise_table('compressed', narrow => true);
SELECT heap_pages_after <= heap_pages_now AS external FROM compact_types.advise_table('external', narrow => true);
SELECT heap_pages_after <= heap_pages_now AS came_in FROM compact_types.advise_table('came_in', narrow => true);
SELECT column_name, new_type FROM compact_types.convert('external', narrow => true);
SELECT column_name, new_type FROM compact_types.convert('came_in', narrow => true);

--
-- Views that compute with columns
--
CREATE TABLE calc (a int8, d numeric(9,2), s char(5));
INSERT INTO calc SELECT i, i / 4.0, 's' || i FROM generate_series(1, 50) i;
CREATE TABLE other (a int4, b int4);
CREATE FUNCTION verdict(query text, columns name[] DEFAULT '{a,d}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  state text;
  message text;
  detail text;
  hint text;
BEGIN
  EXECUTE 'CREATE VIEW adv.calc_view AS ' || query;
  PERFORM compact_types.convert('adv.calc', columns, narrow => true);
  PERFORM * FROM adv.calc_view;
  RAISE SQLSTATE 'ZZ000';
EXCEPTION
  WHEN SQLSTATE 'ZZ000' THEN
    RETURN 'converted';
  WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(E'\n', state, message, detail, hint);
END $$;
-- These views only show, compare and count columns.
SELECT query, verdict(query) FROM (VALUES
  ('SELECT a, d AS e FROM calc WHERE a < 100 AND 1.5 <> d AND a IS NOT NULL ORDER BY d DESC, a'),
  ('SELECT count(a), count(*) AS n FROM calc GROUP BY a HAVING count(d) FILTER (WHERE a <> 7) > 0'),
  ('SELECT DISTINCT a FROM calc WHERE a IN (1, 2) OR d = ANY (ARRAY[1.5, 2.25]) OR a IS DISTINCT FROM 3'),
  ('SELECT a, b FROM calc JOIN other USING (a)'),
  ('SELECT c.a, b FROM calc c LEFT JOIN other o ON c.a = o.a'),
  ('SELECT s.a FROM (SELECT a FROM calc ORDER BY d LIMIT 3) s'),
  ('WITH x AS (SELECT a FROM calc), y AS (SELECT * FROM x) SELECT a FROM y'),
  ('SELECT a FROM calc UNION ALL SELECT 1'),
  ('SELECT b FROM other WHERE EXISTS (SELECT a FROM calc WHERE calc.a = other.a)'),
  ('SELECT b FROM other WHERE a IN (SELECT a FROM calc)'),
  ('SELECT a::numeric * 2 + d::numeric(14,2) AS n, a::text || d::text AS t, sum(d::float8) OVER () AS w FROM calc')) v (query);
-- These views do anything else with columns.
SELECT query, verdict(query) FROM (VALUES
  ('SELECT a * 2 AS x FROM calc'),
  ('SELECT 1 AS x FROM calc WHERE a * 1000 > 5 AND d + 1 > 2'),
  ('SELECT sum(a), avg(d) FROM calc'),
  ('SELECT s.a + 1 AS x FROM (SELECT a FROM calc) s'),
  ('WITH RECURSIVE r AS (SELECT a FROM calc UNION ALL SELECT a + 1 FROM r WHERE a < 10) SELECT a FROM r'),
  ('SELECT 1 AS x FROM (SELECT a::int8 FROM other UNION ALL SELECT a FROM calc) s WHERE s.a * s.a > 3'),
  ('SELECT (SELECT a FROM calc LIMIT 1) * 2 AS x'),
  ('SELECT -a AS x FROM calc FULL JOIN (SELECT 1::int8 AS a) o USING (a)'),
  ('SELECT count(*) FROM calc GROUP BY a % 2'),
  ('SELECT row_number() OVER (ORDER BY d * 2) FROM calc'),
  ('SELECT g FROM calc, LATERAL generate_series(1, a) g'),
  ('SELECT b FROM other WHERE a > ALL (SELECT a FROM calc)'),
  ('SELECT CASE WHEN a > 1 THEN a ELSE 0 END AS x FROM calc'),
  ('SELECT x.a FROM calc, LATERAL (VALUES (calc.a)) x (a)'),
  ('SELECT to_jsonb(calc) FROM calc')) v (query);
-- A column that a view only shows gets the new type.  All other expressions keep their types.
SELECT verdict('SELECT s, s LIKE ''s1%'' AS t, octet_length(s) AS l FROM calc', '{s}');
SELECT verdict('SELECT coalesce(s, ''x'') AS y FROM calc', '{s}'), verdict('SELECT max(s) AS y FROM calc', '{s}');
CREATE FUNCTION overloaded(bpchar) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION overloaded(varchar) RETURNS int LANGUAGE sql AS 'SELECT 2';
SELECT verdict('SELECT overloaded(s) FROM calc', '{s}');
-- Test a view that computes with a column of another view.
CREATE VIEW calc_shown AS SELECT a AS shown, d FROM calc;
CREATE VIEW calc_computed AS SELECT shown + 1 AS x, d FROM calc_shown;
SELECT column_name, proposed_type, blockers FROM compact_types.advise('calc', narrow => true);
DROP VIEW calc_computed;
-- Test views without columns, views without privileges, and views that must not get the default
-- privileges.
CREATE VIEW calc_nothing AS SELECT FROM calc WHERE a = 1;
CREATE VIEW calc_secret AS SELECT a FROM calc;
REVOKE ALL ON calc_secret FROM CURRENT_USER;
ALTER DEFAULT PRIVILEGES IN SCHEMA adv GRANT SELECT ON TABLES TO regress_advise_other;
SELECT relation, column_name, new_type FROM compact_types.convert('calc', narrow => true);
ALTER DEFAULT PRIVILEGES IN SCHEMA adv REVOKE SELECT ON TABLES FROM regress_advise_other;
SELECT relname, relacl::text ~ 'regress_advise_other' AS granted, relacl::text = '{}' AS revoked FROM pg_class WHERE relname ~ '^calc_' ORDER BY 1;

--
-- The caller's settings do not change the objects that are created again
--
CREATE TABLE settings (c char(5), CHECK (c IS NOT NULL OR float8 '0.12345678901234567' > 1 OR timestamptz '2026-02-03 12:00:00+00' > 'now'));
INSERT INTO settings VALUES ('c');
CREATE VIEW settings_view AS SELECT c, float8 '0.12345678901234567' AS f, timestamptz '2026-02-03 12:00:00+00' AS at,
  interval '-1 day +02:03:04' AS i, '{NULL,x}'::text[] AS l, E'a\\b' AS s, c = NULL AS n FROM settings;
CREATE FUNCTION settings_text() RETURNS text LANGUAGE sql
SET extra_float_digits = 3 SET datestyle = 'ISO' SET timezone = 'UTC' SET intervalstyle = 'postgres' SET array_nulls = on
SET standard_conforming_strings = on SET transform_null_equals = off
AS $$ SELECT pg_get_viewdef('adv.settings_view') || (SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'adv.settings'::regclass AND contype = 'c') $$;
SELECT settings_text() AS before \gset
SET extra_float_digits = -5;
SET datestyle = 'SQL, DMY';
SET timezone = 'Asia/Kolkata';
SET intervalstyle = 'sql_standard';
SET array_nulls = off;
SET transform_null_equals = on;
-- From 19 on, standard_conforming_strings cannot be off.
SELECT current_setting('server_version_num')::int < 190000 AS has_strings \gset
\if :has_strings
SET standard_conforming_strings = off;
SET escape_string_warning = off;
\endif
SELECT relation, column_name, new_type FROM compact_types.convert('settings', narrow => true);
SELECT current_setting('extra_float_digits'), current_setting('datestyle'), current_setting('timezone'), current_setting('intervalstyle'),
  current_setting('array_nulls'), current_setting('transform_null_equals'), current_setting('standard_conforming_strings')::bool <> :'has_strings' AS strings;
RESET extra_float_digits;
RESET datestyle;
RESET timezone;
RESET intervalstyle;
RESET array_nulls;
RESET transform_null_equals;
\if :has_strings
RESET standard_conforming_strings;
RESET escape_string_warning;
\endif
SELECT settings_text() = :'before' AS same;
-- A transaction with an older snapshot cannot convert a table.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT compact_types.convert('base', narrow => true);
ROLLBACK;

--
-- Settings of columns and of indexes
--
CREATE TABLE stored (t text, u text, c char(5));
ALTER TABLE stored ALTER t SET STORAGE MAIN, ALTER t SET COMPRESSION pglz, ALTER u SET STORAGE EXTERNAL, ALTER c SET STORAGE EXTERNAL;
INSERT INTO stored SELECT 'the first text of the row', 'the second text of the row', 'c';
SELECT statement, create_statement FROM compact_types.advise_table('stored', narrow => true) \gx
SELECT create_statement FROM compact_types.advise_table('stored', narrow => true) \gexec
SELECT column_name, new_type FROM compact_types.convert('stored', narrow => true);
SELECT attrelid::regclass, attname, attstorage, attcompression FROM pg_attribute
WHERE attrelid IN ('stored'::regclass, 'stored_compact'::regclass) AND attnum > 0 ORDER BY 1, 2;
CREATE INDEX base_target ON base (c, (n + 1));
ALTER INDEX base_target ALTER COLUMN 2 SET STATISTICS 100;
CREATE INDEX base_depends ON base (c);
ALTER INDEX base_depends DEPENDS ON EXTENSION plpgsql;
SELECT * FROM refused('base', '{c}');
DROP INDEX base_target, base_depends;
CREATE TABLE ranges (c char(19));
INSERT INTO ranges SELECT 'c' || i FROM generate_series(1, 100) i;
CREATE INDEX ranges_brin ON ranges USING brin (c);
SELECT column_name, proposed_type, blockers FROM compact_types.advise('ranges', narrow => true);
SELECT column_name, new_type FROM compact_types.convert('ranges', narrow => true);

--
-- Functions of the table's owner do not run with the rights of the user who converts the table
--
SET ROLE regress_advise_owner;
CREATE FUNCTION as_owner(text) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RETURN current_user = 'regress_advise_owner'; END $$;
CREATE TABLE trapped (c char(5) CHECK (as_owner(c)));
INSERT INTO trapped VALUES ('c');
RESET ROLE;
SELECT column_name, new_type FROM compact_types.convert('trapped', narrow => true);
-- advise() does not read a table in a schema that the caller may not use.
CREATE SCHEMA closed;
CREATE TABLE closed.t (c char(5));
GRANT SELECT ON closed.t TO regress_advise_other;
SELECT 'closed.t'::regclass::oid AS closed_table \gset
SET ROLE regress_advise_other;
SELECT compact_types.advise(:closed_table, narrow => true);
RESET ROLE;
DROP SCHEMA closed CASCADE;

RESET search_path;
SELECT format('REVOKE CREATE ON DATABASE %I FROM regress_advise_owner', current_database()) \gexec
DROP SCHEMA adv CASCADE;
SELECT format('DROP EXTENSION %I', extname) FROM pg_extension WHERE extname ~ '^compact_(char|decimal)' ORDER BY extname COLLATE "C" \gexec
DROP ROLE regress_advise_owner;
DROP ROLE regress_advise_other;
