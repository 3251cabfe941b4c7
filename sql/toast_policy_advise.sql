--
-- Test toast_policy.advise(): the tables and columns that it has rows for, their properties that do
-- not depend on the speed of the machine, and the calls that it refuses.
--
\set SHOW_CONTEXT never
\set VERBOSITY terse
CREATE SCHEMA advise;
SET search_path = advise, public;
SET default_toast_compression = pglz;
CREATE ROLE regress_toast_policy_alice;
CREATE ROLE regress_toast_policy_bob;
GRANT USAGE ON SCHEMA advise TO regress_toast_policy_alice, regress_toast_policy_bob;

-- Return incompressible bytes as hex digits.
CREATE FUNCTION hex(i int, n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(md5(i || ' ' || j), '' ORDER BY j) FROM generate_series(1, n) j
$$;
-- Return the advice on a table, without what depends on the speed of the machine.
CREATE FUNCTION now(relation regclass, columns name[] DEFAULT NULL, sample_pages int DEFAULT 1000,
  OUT column_name name, OUT strategy_now text, OUT codec_now text, OUT level_now int, OUT sane bool)
RETURNS SETOF record LANGUAGE sql AS $$
  SELECT a.column_name, a.strategy_now, a.codec_now, a.level_now,
    (statement IS NULL) = (undo IS NULL) AND reason IS NOT NULL AND bytes_now > 0 AND bytes_after > 0 AND
    CASE WHEN blockers IS NOT NULL THEN statement IS NULL
      WHEN statement IS NULL THEN (a.strategy_now, a.codec_now) = (strategy_after, codec_after) AND bytes_after = bytes_now
      ELSE true END
  FROM toast_policy.advise(now.relation, now.columns, now.sample_pages) a
$$;
-- Return the columns of a list of tables that advise() about all tables has rows for.
CREATE FUNCTION all_tables(OUT relation regclass, OUT column_name name, OUT blockers text[])
RETURNS SETOF record LANGUAGE sql AS $$
  SELECT a.relation, a.column_name, a.blockers FROM toast_policy.advise(sample_pages => 100) a
    JOIN pg_class c ON c.oid = a.relation
  WHERE c.relnamespace = 'advise'::regnamespace ORDER BY a.relation::text, a.column_name
$$;

CREATE TABLE docs (id int, gone text, doc text, data bytea COMPRESSION lz4, json jsonb, words text[], short text, n numeric, own ztext);
ALTER TABLE docs DROP COLUMN gone;
ALTER TABLE docs ALTER json SET STORAGE MAIN, ALTER data SET STORAGE EXTERNAL;
INSERT INTO docs
  SELECT i, repeat('line ' || i || E'\n', i * 10), decode(hex(i, 70 + i / 4), 'hex'), jsonb_build_object('n', i, 'doc', hex(i, 200)),
    ARRAY[hex(i, 20), repeat('word', i * 4)], 'short ' || i, i, hex(i, 100)
  FROM generate_series(1, 200) i;
CREATE TABLE plain AS SELECT i AS id, 'short ' || i AS note FROM generate_series(1, 1000) i;
CREATE TABLE empty (doc text);
CREATE TABLE never (id int, c "char", v varchar(10));
INSERT INTO never SELECT i, 'x', i FROM generate_series(1, 1000) i;
-- These values are compressed, but not out of line.
CREATE TABLE inline AS SELECT i AS id, hex(i, 20) || repeat('x', 5000) AS doc FROM generate_series(1, 100) i;

-- List the columns with large values, with and without statistics.
SELECT * FROM now('docs');
SELECT * FROM now('docs', sample_pages => 3);
SELECT * FROM now('plain');
SELECT * FROM now('empty');
SELECT * FROM now('never');
SELECT * FROM now('inline');
ANALYZE docs, plain, inline;
SELECT * FROM now('docs');
SELECT * FROM now('plain');
SELECT * FROM now('inline');
-- The proposal is one of the ways that compare() lists, and is not much worse than the best.
SELECT a.column_name, a.read_us_after < 2 * c.read_us AS good
  FROM toast_policy.advise('docs') a, toast_policy.compare('docs', a.column_name) c
  WHERE (c.strategy, c.codec, coalesce(c.level, -1)) = (a.strategy_after, a.codec_after, coalesce(a.level_after, -1));
-- Named columns have rows, whatever their values are.
SELECT * FROM now('docs', '{short,doc,doc}');
SELECT * FROM now('plain', '{note}');
SELECT * FROM now('empty', '{doc}');
SELECT * FROM now('docs', '{}');
-- Nothing is proposed without values, whatever the storage is.
ALTER TABLE empty ALTER doc SET STORAGE PLAIN;
SELECT strategy_now, codec_now, strategy_after, codec_after, level_after, read_us_after, bytes_now = bytes_after AS same_bytes, reason, risk, blockers, statement, undo
  FROM toast_policy.advise('empty', '{doc}');
INSERT INTO empty VALUES (repeat('x', 5000));
SELECT strategy_now, codec_now, strategy_after <> 'plain' AS changes, statement IS NOT NULL AS proposed FROM toast_policy.advise('empty', '{doc}');
SELECT statement, undo, blockers IS NULL OR blockers = '{the table is a system catalog}' AS blocked
  FROM toast_policy.advise('pg_catalog.pg_proc', '{prosrc}', 100);
-- Show how the columns of other tables are stored.
CREATE TABLE governed (doc text COMPRESSION lz4, other text);
INSERT INTO governed SELECT doc, hex(id, 100) FROM docs;
SELECT toast_policy.enable('governed', 'doc');
SET toast_policy.lz4_level = 9;
SELECT * FROM now('governed');
RESET toast_policy.lz4_level;
-- The access method is not proposed for a table that has a toast_tuple_target: the access method would
-- move values of this size out of line, and disable() would reset the option.
CREATE TABLE halves (id int, doc text COMPRESSION pglz) WITH (toast_tuple_target = 256);
INSERT INTO halves SELECT i, CASE i % 2 WHEN 0 THEN (SELECT string_agg('{"id": ' || i * 100 + j || ', "customer": "customer ' || abs(hashint8(i * 31 + j)) % 5000 || '"}', ', ') FROM generate_series(1, 100) j)
  ELSE hex(i, 100 + i % 300) END FROM generate_series(1, 400) i;
SELECT strategy_after <> 'toast_policy' AS other FROM toast_policy.advise('halves');
-- Nothing is proposed that would reset the limit of values out of line.
CREATE TABLE moved (id int, doc text COMPRESSION pglz);
INSERT INTO moved SELECT i, repeat('line ' || i || E'\n', 100) || hex(i, 10) FROM generate_series(1, 1000) i;
SELECT toast_policy.enable_out_of_line('moved', 128, 'doc');
SELECT toast_policy.recompress('moved');
SELECT strategy_after, coalesce(statement ~ 'disable', false) AS disables FROM toast_policy.advise('moved', '{doc}');
SELECT toast_policy.disable('moved');
-- The same holds for each partition.
CREATE TABLE mixed (id int, doc text COMPRESSION pglz) PARTITION BY RANGE (id);
CREATE TABLE mixed_1 PARTITION OF mixed FOR VALUES FROM (0) TO (200);
CREATE TABLE mixed_2 PARTITION OF mixed FOR VALUES FROM (200) TO (1000) WITH (toast_tuple_target = 256);
SELECT toast_policy.enable('mixed_1', 'doc');
INSERT INTO mixed SELECT * FROM halves;
SELECT coalesce(undo ~ 'mixed_2.*disable|disable.*mixed_2', false) AS disables FROM toast_policy.advise('mixed', '{doc}');
ALTER TABLE mixed_2 RESET (toast_tuple_target);
SELECT toast_policy.enable_out_of_line('mixed_1', 128, 'doc');
SELECT coalesce(statement ~ 'disable|mixed_1.*STORAGE|ztext', false) AS ends_limit FROM toast_policy.advise('mixed', '{doc}');
CREATE TABLE parted (id int, doc text) PARTITION BY RANGE (id);
-- with statistics, the compressed values are narrow
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100) WITH (autovacuum_enabled = off);
CREATE TABLE parted_2 (gone int, doc text, id int) WITH (autovacuum_enabled = off);
ALTER TABLE parted_2 DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (100) TO (1000);
INSERT INTO parted SELECT id, doc FROM docs;
SELECT * FROM now('parted');
SELECT * FROM now('parted_2');
SELECT toast_policy.enable('parted', 'doc');
SELECT * FROM now('parted');
SELECT toast_policy.disable('parted', 'doc');
SELECT * FROM now('parted');
CREATE MATERIALIZED VIEW materialized WITH (autovacuum_enabled = off) AS SELECT doc FROM docs;
SELECT * FROM now('materialized');
CREATE TEMP TABLE temporary AS SELECT doc FROM docs;
SELECT * FROM now('temporary');

-- Nothing is changed, read-only transactions can ask, and the search path does not matter.
BEGIN READ ONLY;
SET LOCAL search_path = pg_temp;
SELECT count(*) FROM toast_policy.advise('advise.docs');
SELECT count(*) > 5 AS enough FROM toast_policy.advise();
COMMIT;

-- A call about all tables leaves out partitions, system catalogs and what the caller may not read.
ALTER TABLE plain ENABLE ROW LEVEL SECURITY;
ALTER TABLE inline ENABLE ROW LEVEL SECURITY;
SELECT * FROM all_tables();
GRANT SELECT (id, doc) ON docs TO regress_toast_policy_alice;
GRANT SELECT ON inline, parted, parted_1 TO regress_toast_policy_alice;
GRANT SELECT ON parted_1 TO regress_toast_policy_bob;
SET ROLE regress_toast_policy_alice;
SELECT * FROM all_tables();
SELECT column_name FROM toast_policy.advise('docs');
SELECT count(*) FROM toast_policy.advise('docs', '{json}');
SELECT count(*) FROM toast_policy.advise('governed');
SELECT count(*) FROM toast_policy.advise('inline');
SET ROLE regress_toast_policy_bob;
SELECT * FROM all_tables();
RESET ROLE;

-- Test the calls that advise() refuses.
SELECT count(*) FROM toast_policy.advise('docs', sample_pages => 0);
SELECT count(*) FROM toast_policy.advise('docs', sample_pages => 3000001);
SELECT count(*) FROM toast_policy.advise('docs', sample_pages => NULL);
SELECT count(*) FROM toast_policy.advise(NULL, '{doc}');
SELECT count(*) FROM toast_policy.advise('docs', '{nowhere}');
SELECT count(*) FROM toast_policy.advise('docs', '{NULL}');
SELECT count(*) FROM toast_policy.advise('docs', '{{doc}}');
SELECT count(*) FROM toast_policy.advise('docs', '{id}');
SELECT count(*) FROM toast_policy.advise('docs', '{own}');
SELECT count(*) FROM toast_policy.advise('docs', '{ctid}');
SELECT count(*) FROM toast_policy.advise(0);
CREATE VIEW docs_view AS SELECT * FROM docs;
SELECT count(*) FROM toast_policy.advise('docs_view');

-- Show what is in place.
SELECT * FROM toast_policy.status WHERE relation IN ('governed'::regclass, 'docs'::regclass) ORDER BY relation::text, column_name;
SELECT toast_policy.enable('governed', 'other');
SELECT relation, column_name, access_method, storage, compression FROM toast_policy.status WHERE relation = 'governed'::regclass ORDER BY column_name;
-- disable() of one column leaves the others.
SELECT toast_policy.disable('governed', 'doc');
SELECT relation, column_name, access_method, storage, compression FROM toast_policy.status WHERE relation = 'governed'::regclass ORDER BY column_name;
SELECT toast_policy.disable('governed', 'doc');
SELECT toast_policy.disable('governed', 'doc', 'nowhere');
SELECT toast_policy.disable('governed', 'other', 'doc');
SELECT * FROM toast_policy.status WHERE relation = 'governed'::regclass;
SELECT toast_policy.disable('governed', 'other');
\set VERBOSITY default
SELECT toast_policy.disable('governed');
\set VERBOSITY terse
CREATE TABLE bare (doc text) USING toast_policy;
SELECT * FROM toast_policy.status WHERE relation = 'bare'::regclass;

-- recompress() stores the values of a table of heap anew.
CREATE TABLE again (id int, a text, b text, c text);
INSERT INTO again SELECT i, repeat('a', 10000), repeat('b', 10000), hex(i, 10) FROM generate_series(1, 10) i;
ALTER TABLE again ALTER a SET COMPRESSION lz4, ALTER b SET STORAGE EXTERNAL;
SELECT toast_policy.recompress('again');
SELECT DISTINCT pg_column_compression(a) AS a, pg_column_compression(b) AS b, pg_column_compression(c) AS c, md5(a || b) AS same FROM again;
SELECT amname FROM pg_class c JOIN pg_am m ON m.oid = c.relam WHERE c.oid = 'again'::regclass;
SELECT count(*) FROM pg_depend WHERE objid = 'again'::regclass AND refclassid = 'pg_am'::regclass;
-- In a table of the access method, it does so with the columns that are not governed, too.
ALTER TABLE again ALTER b SET STORAGE EXTENDED, ALTER b SET COMPRESSION lz4, ALTER a SET COMPRESSION pglz;
SELECT toast_policy.enable('again', 'a');
SELECT toast_policy.recompress('again');
SELECT DISTINCT pg_column_compression(a) AS a, pg_column_compression(b) AS b, pg_column_compression(c) AS c, md5(a || b) AS same FROM again;
SELECT * FROM toast_policy.progress;

SET client_min_messages = warning;
DROP SCHEMA advise CASCADE;
DROP ROLE regress_toast_policy_alice, regress_toast_policy_bob;
