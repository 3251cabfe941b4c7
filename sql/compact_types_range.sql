--
-- Test what convert() does by default.  By default, convert() makes no change because of which a
-- later value could be refused, and no change because of which a client driver would return
-- another kind of value.
--
\set VERBOSITY default
\set SHOW_CONTEXT never
CREATE SCHEMA rng;
SET search_path = rng, public;

-- Create the tables of pgbench, as "pgbench -i" does.
CREATE TABLE accounts (aid int NOT NULL, bid int, abalance int, filler char(84));
INSERT INTO accounts SELECT i, 1, 0, '' FROM generate_series(1, 1000) i;
ALTER TABLE accounts ADD PRIMARY KEY (aid);
CREATE TABLE tellers (tid int NOT NULL PRIMARY KEY, bid int, tbalance int);
INSERT INTO tellers SELECT i, i % 3, i % 50 - 25 FROM generate_series(1, 1000) i;
SELECT column_name, proposed_type, reason, risk FROM compact_types.advise('accounts');
SELECT column_name, proposed_type, reason, risk FROM compact_types.advise('tellers');
SELECT * FROM compact_types.convert('accounts');
SELECT * FROM compact_types.convert('tellers');

-- These columns refer to other tables by their names alone, or have the name of another table's
-- key.
CREATE TABLE product (sku_code int PRIMARY KEY, n int);
CREATE TABLE line (pos int, customer_id bigint, "orderId" bigint, invoice_no bigint, sku_code bigint, valid int, ident int);
INSERT INTO line SELECT i % 90, i % 100, i % 25000, i % 90, i % 80, i % 70, i % 60 FROM generate_series(1, 30000) i;
SELECT column_name, proposed_type, reason FROM compact_types.advise('line', narrow => true);

-- Test columns that a constraint keeps in the range of a narrow type.
CREATE FUNCTION users_function(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE WARNING 'called'; RETURN true; END $$;
CREATE TABLE checked (
	low int CHECK (low >= 0 AND low < 200),
	listed bigint CHECK (listed IN (1, 2, 3)),
	signed_range int CHECK (signed_range BETWEEN -100 AND 100),
	wide int8 CHECK (wide BETWEEN 0::int8 AND 60000::int8),
	half int CHECK (half >= 0),
	either_one int CHECK (either_one < 10 OR either_one > 1000),
	users int CHECK (users BETWEEN 0 AND 9 AND users_function(0)),
	other int, CHECK (low < other),
	unproven int);
INSERT INTO checked SELECT i % 200, 1 + i % 3, i % 200 - 100, i % 60000, i % 50, i % 9, i % 9, 1000 + i % 2, i % 50 FROM generate_series(0, 59999) i;
ALTER TABLE checked ADD CONSTRAINT not_looked_at CHECK (unproven BETWEEN 0 AND 200) NOT VALID;
SELECT column_name, proposed_type, reason, risk FROM compact_types.advise('checked');
SELECT * FROM compact_types.convert('checked');
INSERT INTO checked (low) VALUES (199);
INSERT INTO checked (low) VALUES (200);

-- Convert columns whose proposal has a risk: by name, or all of them.
SELECT * FROM compact_types.convert('checked', '{half}');
SELECT * FROM compact_types.convert('checked', narrow => true);

-- A column that is updated needs room for larger values.
CREATE TABLE updated (n int, m int);
INSERT INTO updated SELECT i % 100, i % 2 FROM generate_series(1, 1000) i;
SELECT column_name, proposed_type FROM compact_types.advise('updated');
UPDATE updated SET n = n WHERE n = 1;
SELECT pg_stat_force_next_flush();
SELECT column_name, proposed_type FROM compact_types.advise('updated');
CREATE TABLE updated_more (n int, m int);
INSERT INTO updated_more SELECT i % 400, i % 700 - 350 FROM generate_series(1, 2000) i;
UPDATE updated_more SET n = n WHERE n = 1;
SELECT pg_stat_force_next_flush();
SELECT column_name, proposed_type, reason FROM compact_types.advise('updated_more');

-- Test other proposals whose type holds fewer values.
CREATE TABLE less (c char(10), t timestamp(0), tz timestamptz(0), latitude numeric(9,6), pos_lon numeric(9,6), price numeric(9,2), note text);
INSERT INTO less SELECT 'abc', '2024-01-01', '2024-01-01', 50.123456, 7.1, 12.25, 'a note of some length ' || i FROM generate_series(1, 500) i;
SELECT column_name, proposed_type, risk FROM compact_types.advise('less');
SELECT column_name, new_type FROM compact_types.convert('less');
SELECT column_name, new_type FROM compact_types.convert('less', round_seconds => true);
SELECT column_name, new_type FROM compact_types.convert('less', narrow => true);

-- One blocked column does not keep the others from being converted.
CREATE TABLE blocked (a text, b text, c text, d text, r text, n int CHECK (n BETWEEN 0 AND 100), m int CHECK (m BETWEEN 0 AND 100));
INSERT INTO blocked SELECT 'some words for a ' || i, 'some words for b ' || i, 'some words for c ' || i, 'some words for d ' || i,
	'some words for r ' || i, i % 100, i % 100 FROM generate_series(1, 500) i;
CREATE INDEX ON blocked (upper(a));
CREATE MATERIALIZED VIEW blocked_b AS SELECT b FROM blocked;
CREATE VIEW blocked_n AS SELECT n + 1 AS n1 FROM blocked;
CREATE VIEW blocked_r AS WITH RECURSIVE p (path) AS (SELECT r FROM blocked WHERE n < 3 UNION ALL SELECT path || '/x' FROM p WHERE length(path) < 20)
	SELECT path FROM p;
CREATE VIEW handed_on AS WITH RECURSIVE p (path, i) AS (SELECT c, 1 FROM blocked WHERE n < 3 UNION ALL SELECT path, i + 1 FROM p WHERE i < 2)
	SELECT path FROM p;
ANALYZE blocked;
SELECT column_name, blockers FROM compact_types.advise('blocked');
SELECT * FROM compact_types.convert('blocked', narrow => true);
SELECT * FROM compact_types.convert('blocked', narrow => true, skip_blocked => true);
SELECT count(DISTINCT path) FROM handed_on;
-- The statistics exist again after the conversion.
SELECT attname, n_distinct FROM pg_stats WHERE schemaname = 'rng' AND tablename = 'blocked' AND attname IN ('c', 'd', 'm') ORDER BY 1;
SELECT * FROM compact_types.convert('blocked', narrow => true, skip_blocked => true);

-- Functions whose source has the names of the table and the column are reported.
CREATE TABLE named (id int PRIMARY KEY, note text, "odd.name" text, plain text);
INSERT INTO named SELECT i, 'a note with number ' || i, 'another note ' || i, 'a plain note ' || i FROM generate_series(1, 300) i;
CREATE FUNCTION notes(n int) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT note FROM rng.Named WHERE id = n; END $$;
CREATE FUNCTION odd() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM "odd.name" FROM named; END $$;
CREATE FUNCTION unnamed() RETURNS int LANGUAGE sql AS 'SELECT 1 /* renamed.note, odd_name and named_plain */';
SELECT column_name, reason FROM compact_types.advise('named') WHERE proposed_type IS NOT NULL;

-- Errors that do not depend on the rows are raised before a row is read.
CREATE FUNCTION seen(text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'row'; RETURN true; END $$;
CREATE TABLE moved (n int, name text CHECK (seen(name)));
SET client_min_messages = error;
INSERT INTO moved SELECT i, 'a name with number ' || i FROM generate_series(1, 3) i;
RESET client_min_messages;
CREATE VIEW moved_names AS SELECT n % 2 AS parity, array_agg(name) && ARRAY['x'] AS some FROM moved GROUP BY 1;
SELECT * FROM compact_types.convert('moved');
SELECT pg_typeof(name), count(*) FROM moved GROUP BY 1;
-- Test convert() in a transaction, and after an error in a transaction.
BEGIN;
SAVEPOINT a;
SELECT * FROM compact_types.convert('moved');
ROLLBACK TO a;
DROP VIEW moved_names;
SELECT * FROM compact_types.convert('moved', update_statistics => false);
SELECT count(*) FROM pg_stats WHERE schemaname = 'rng' AND tablename = 'moved' AND attname = 'name';
ROLLBACK;
SELECT pg_typeof(name), count(*) FROM moved GROUP BY 1;
SELECT compact_types.convert('moved', skip_blocked => NULL);

SET client_min_messages = warning;
DROP SCHEMA rng CASCADE;
DROP EXTENSION compact_char10, compact_decimal4_2, compact_decimal4_6;
