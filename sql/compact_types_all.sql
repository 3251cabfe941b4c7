--
-- Test advise() and advise_table() on all tables that the caller may read, and the columns of their
-- results that all extensions have: bytes_now, bytes_after, statement and undo.
--
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE ROLE regress_all_reader;
CREATE SCHEMA every;
GRANT USAGE ON SCHEMA every TO regress_all_reader;
CREATE TABLE every.shop (id int8 PRIMARY KEY, code char(12), qty int4, note text, none int4);
INSERT INTO every.shop SELECT i, 'code ' || i, i % 100, 'the note with the number ' || i FROM generate_series(1, 2000) i;
CREATE TABLE every."odd ""name" (note text, "it's" char(5));
INSERT INTO every."odd ""name" SELECT 'another note ' || i, 'it is' FROM generate_series(1, 2000) i;
CREATE TABLE every.secret (note text);
CREATE TABLE every.half (note text, qty int4);
CREATE TABLE every.rows_hidden (note text);
ALTER TABLE every.rows_hidden ENABLE ROW LEVEL SECURITY;
CREATE ACCESS METHOD regress_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE every.elsewhere (note text) USING regress_heap;
CREATE TABLE every.parts (note text) PARTITION BY LIST (note);
CREATE TABLE every.part_1 PARTITION OF every.parts DEFAULT;
INSERT INTO every.parts SELECT 'a note in a partition ' || i FROM generate_series(1, 100) i;
CREATE TABLE every.used (note text, code char(12), name text);
INSERT INTO every.used SELECT 'yet another note ' || i, 'code ' || i, 'the name is ' || i FROM generate_series(1, 2000) i;
CREATE MATERIALIZED VIEW every.copied AS SELECT note FROM every.used;
CREATE VIEW every.ruled AS SELECT name FROM every.used;
CREATE RULE nothing AS ON DELETE TO every.ruled DO INSTEAD NOTHING;
CREATE TEMP TABLE passing AS SELECT 'a note that goes away ' || i AS note FROM generate_series(1, 100) i;
GRANT SELECT ON every.shop, every.rows_hidden, every.elsewhere TO regress_all_reader;
GRANT SELECT (qty) ON every.half TO regress_all_reader;

-- All tables
CREATE TEMP TABLE advice AS SELECT * FROM compact_types.advise(narrow => true);
SELECT relation, column_name, proposed_type, bytes_now, bytes_after, blockers FROM advice WHERE relation::text ~ '^every';
SELECT relation, reason FROM advice WHERE column_name IS NULL AND relation::text ~ '^every';
SELECT statement, undo FROM advice WHERE statement IS NOT NULL AND relation::text ~ '^every';
-- Neither a table of an extension, nor a temporary one, nor a system catalog is among them.
SELECT relation FROM advice
WHERE relation IN ('compact_types.conversions'::regclass, 'passing'::regclass, 'pg_class'::regclass, 'information_schema.sql_features'::regclass);
-- The locks are free again after each table.
BEGIN;
SELECT count(*) > 0 AS some FROM compact_types.advise();
SELECT count(*) FROM pg_locks WHERE relation = 'every.shop'::regclass AND pid = pg_backend_pid();
ROLLBACK;
-- A role sees only the tables that it may read, with a reason if it may not see all rows.
SET ROLE regress_all_reader;
SELECT relation, column_name, proposed_type, reason FROM compact_types.advise() WHERE relation::text ~ '^every' AND proposed_type IS NOT NULL OR column_name IS NULL;
SELECT relation, rows, columns, reason FROM compact_types.advise_table() WHERE relation::text ~ '^every';
RESET ROLE;
-- A cancellation ends the whole call.
SET statement_timeout = 1;
SELECT count(*) FROM compact_types.advise();
RESET statement_timeout;

-- A wrong argument is one error, and not one for each table.
SELECT count(*) FROM compact_types.advise(sample_pages => -1);
SELECT count(*) FROM compact_types.advise_table(sample_pages => -1);
SELECT count(*) FROM compact_types.advise(sample_pages => NULL);

-- Named columns
SELECT column_name, proposed_type FROM compact_types.advise('every.shop', '{qty,note}');
SELECT relation, column_name, proposed_type FROM compact_types.advise(columns => '{note,qty}') WHERE relation::text ~ '^every';
SELECT relation, column_name FROM compact_types.advise('every.shop', '{}');
SELECT relation, column_name FROM compact_types.advise(columns => '{none_such}');
SELECT relation, column_name FROM compact_types.advise('every.shop', '{none_such}');
SELECT relation, column_name FROM compact_types.advise('every.shop', '{qty,NULL}');

SELECT relation, columns, reason FROM compact_types.advise_table(columns => '{note,qty}') WHERE relation::text ~ '^every';
SELECT relation, columns FROM compact_types.advise_table(columns => '{none_such}');

-- Tables as a whole.  The bytes are those of the pages.  The columns are those that the statement
-- converts.
SELECT relation, columns, rows, blockers, reason, risk FROM compact_types.advise_table() WHERE relation::text ~ '^every';
SELECT columns, bytes_now = heap_pages_now * current_setting('block_size')::int AS now, bytes_after = heap_pages_after * current_setting('block_size')::int AS after,
  bytes_after < bytes_now AS smaller, statement, undo
FROM unnest('{true,false}'::bool[]) n (narrow), compact_types.advise_table('every.shop', narrow => n.narrow);
SELECT columns, reason, bytes_after < bytes_now AS smaller, statement FROM compact_types.advise_table('every.shop', '{code,qty}');
SELECT columns, reason, bytes_after < bytes_now AS smaller, statement FROM compact_types.advise_table('every.shop', '{id}');
SELECT columns FROM compact_types.advise_table('every.shop', '{none_such}');

-- The bytes are those of all values, also if a part of the pages was read.
SELECT a.bytes_now = s.bytes AS equal FROM compact_types.advise('every.shop', '{note}') a, (SELECT sum(pg_column_size(note)) FROM every.shop) s (bytes);
SELECT abs(a.bytes_now - s.bytes) < 0.05 * s.bytes AS similar
FROM compact_types.advise('every.shop', '{note}', sample_pages => 5) a, (SELECT sum(pg_column_size(note)) FROM every.shop) s (bytes);
SELECT column_name, value_bytes_now, value_bytes_after, bytes_now, bytes_after FROM compact_types.advise('every.shop', '{qty,none}');

-- The statements can be run as they are.  The statements change the column to the type and to the
-- size that were foretold, and back.
CREATE TEMP VIEW columns AS
SELECT a.attrelid, a.attname, format_type(a.atttypid, a.atttypmod) AS type FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relnamespace = 'every'::regnamespace AND c.relkind = 'r' AND a.attnum > 0;
CREATE TEMP TABLE before AS SELECT * FROM columns;
SELECT statement FROM advice WHERE relation::text ~ '^every' AND statement IS NOT NULL \gexec
SELECT a.relation, a.column_name, c.type, c.type = a.proposed_type AS foretold FROM advice a JOIN columns c ON c.attrelid = a.relation AND c.attname = a.column_name
WHERE a.statement IS NOT NULL AND relation::text ~ '^every' ORDER BY 1, 2;
SELECT a.bytes_after = s.bytes AS foretold FROM advice a, (SELECT sum(pg_column_size(note)) FROM every.shop) s (bytes)
WHERE a.relation = 'every.shop'::regclass AND a.column_name = 'note';
-- The view status shows the columns, and their size according to the statistics.
ANALYZE every.shop, every.used;
SELECT s.relation, s.column_name, s.type = a.proposed_type AS type, s.old_type = a.current_type AS old_type, s.converted_at IS NOT NULL AS known,
  abs(s.bytes - a.bytes_after) < 0.1 * a.bytes_after AS bytes
FROM compact_types.status s LEFT JOIN advice a USING (relation, column_name)
WHERE s.relation IN ('every.shop'::regclass, 'every.used'::regclass) ORDER BY 1, 2;
SELECT undo FROM advice WHERE relation::text ~ '^every' AND statement IS NOT NULL \gexec
SELECT count(*) FROM (TABLE columns EXCEPT TABLE before) c;
SELECT count(*) FROM compact_types.status WHERE relation::text ~ '^every';
-- So can those for tables as a whole.  The pages are those that were foretold.
CREATE TEMP TABLE table_advice AS SELECT * FROM compact_types.advise_table(narrow => true) WHERE relation::text ~ '^every' AND statement IS NOT NULL;
SELECT statement FROM table_advice \gexec
SELECT t.relation, t.columns = ARRAY(SELECT s.column_name FROM compact_types.status s JOIN pg_attribute a ON a.attrelid = s.relation AND a.attname = s.column_name
  WHERE s.relation = t.relation ORDER BY a.attnum) AS columns FROM table_advice t;
SELECT t.bytes_after = (SELECT (max((ctid::text::point)[0]) + 1) * current_setting('block_size')::int FROM every.shop) AS foretold
FROM table_advice t WHERE relation = 'every.shop'::regclass;
SELECT undo FROM table_advice \gexec
SELECT count(*) FROM (TABLE columns EXCEPT TABLE before) c;
-- The former types of a temporary table are not noted, so there is no statement to undo it.
SELECT column_name, statement IS NOT NULL AS statement, undo FROM compact_types.advise('passing');
-- The options of the statement are those of the advice.
SELECT statement FROM compact_types.advise('every.shop', '{note}', narrow => true, narrow_keys => true, fixed_varchar => true, round_seconds => true);

DROP VIEW columns;
DROP TABLE advice, table_advice, before, passing;
DROP SCHEMA every CASCADE;
DROP ACCESS METHOD regress_heap;
DROP EXTENSION compact_char5, compact_char12;
DROP ROLE regress_all_reader;
