--
-- Test ON CONFLICT DO SELECT, which is new in 19.  Split tables must give the same results as a
-- plain table.
--
SELECT current_setting('server_version_num')::int < 190000 AS has_no_select \gset
\if :has_no_select
\quit
\endif
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = ''vertical_partition''', current_database()); END $$;
\c
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA vp_select;
SET search_path = vp_select;
CREATE TABLE plain (id int PRIMARY KEY, h1 int DEFAULT 7, c1 text, h2 text, c2 int, big text);
CREATE UNIQUE INDEX plain_h2 ON plain (lower(h2));
CREATE UNIQUE INDEX plain_h1 ON plain (h1) WHERE h1 > 100;
INSERT INTO plain SELECT i, i * 10, 'cold ' || i, 'Hot ' || i, i % 5, repeat('big ' || i, 1000) FROM generate_series(1, 20) i;
CREATE TABLE shared_key (LIKE plain INCLUDING ALL);
CREATE TABLE surrogate_key (LIKE plain INCLUDING ALL);
CREATE TABLE row_pointer (LIKE plain INCLUDING ALL);
INSERT INTO shared_key TABLE plain;
INSERT INTO surrogate_key TABLE plain;
INSERT INTO row_pointer TABLE plain;
SET vertical_partition.declare_keys = on;
SELECT vertical_partition.split('shared_key', '{c1,c2,big}', 'shared_key');
SELECT vertical_partition.split('surrogate_key', '{c1,c2,big}', 'surrogate_key');
SELECT vertical_partition.split('row_pointer', '{c1,c2,big}', 'row_pointer');
RESET vertical_partition.declare_keys;

-- Return the rows of a statement, with @ for the name of the table, and a digest of the table
-- afterwards.  Undo all changes.
CREATE FUNCTION result(statement text, name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE rows text; contents text;
BEGIN
	EXECUTE format('WITH %s SELECT coalesce(string_agg(q::text, E'' '' ORDER BY q::text), ''none'') FROM q',
		CASE WHEN statement ~ '^WITH' THEN replace(substr(statement, 6), '@', name) ELSE format('q AS (%s)', replace(statement, '@', name)) END) INTO rows;
	EXECUTE format('SELECT string_agg(t::text, E''\n'' ORDER BY t::text) FROM %s t', name) INTO contents;
	RAISE SQLSTATE 'VP000' USING MESSAGE = rows || '|' || md5(contents);
EXCEPTION
	WHEN SQLSTATE 'VP000' THEN RETURN SQLERRM;
	WHEN OTHERS THEN RETURN SQLSTATE || ' ' || replace(SQLERRM, name, '@');
END $$;
CREATE FUNCTION try(statement text, OUT same text, OUT returned text) LANGUAGE plpgsql AS $$
DECLARE expected text := vp_select.result(statement, 'plain');
BEGIN
	SELECT coalesce(string_agg(concat(n, ': ', r), E'\n'), 'same') INTO same
	FROM unnest('{shared_key,surrogate_key,row_pointer}'::text[]) n, vp_select.result(statement, n) r WHERE r <> expected;
	returned := split_part(expected, '|', 1);
END $$;
CREATE TABLE queries (n serial, statement text);
INSERT INTO queries (statement) VALUES
('INSERT INTO @ (id, c1) VALUES (1, ''c'') ON CONFLICT (id) DO SELECT RETURNING id, h1, c1, c2'),
('INSERT INTO @ (id, c1) VALUES (1, ''c''), (101, ''d'') ON CONFLICT (id) DO SELECT RETURNING id, h1, c1, c2'),
('INSERT INTO @ (id) VALUES (1) ON CONFLICT (id) DO SELECT RETURNING h1'),
('INSERT INTO @ (id) VALUES (1) ON CONFLICT (id) DO SELECT RETURNING md5(big), new.c1'),
('INSERT INTO @ AS t (id, c2) VALUES (1, 1), (2, 1), (3, 1) ON CONFLICT (id) DO SELECT WHERE t.c2 > excluded.c2 RETURNING id, c2'),
('INSERT INTO @ AS t (id, h1) VALUES (1, 1), (2, 30), (102, 1) ON CONFLICT (id) DO SELECT WHERE t.h1 > excluded.h1 RETURNING id, h1'),
('INSERT INTO @ (id, h2) VALUES (1, ''HOT 3''), (103, ''hot 4'') ON CONFLICT (lower(h2)) DO SELECT RETURNING id, h2, c1'),
('INSERT INTO @ (id, h1) VALUES (104, 150), (105, 50) ON CONFLICT (h1) WHERE h1 > 100 DO SELECT RETURNING id, h1, c1'),
('INSERT INTO @ (id, h1) VALUES (104, 150) ON CONFLICT (h1) DO SELECT RETURNING id'),
('INSERT INTO @ (id, h1) VALUES (1, 150) ON CONFLICT (id) DO SELECT RETURNING id, h1'),
('INSERT INTO @ (id) VALUES (1) ON CONFLICT ON CONSTRAINT @_pkey DO SELECT RETURNING id, c1'),
('INSERT INTO @ (id) SELECT i FROM generate_series(15, 25) i ON CONFLICT (id) DO SELECT RETURNING id, h1, c1'),
-- Locks
('INSERT INTO @ (id) VALUES (1), (106) ON CONFLICT (id) DO SELECT FOR UPDATE RETURNING id, c1'),
('INSERT INTO @ (id) VALUES (1), (106) ON CONFLICT (id) DO SELECT FOR NO KEY UPDATE RETURNING id, c1'),
('INSERT INTO @ (id) VALUES (1), (106) ON CONFLICT (id) DO SELECT FOR SHARE RETURNING id, c1'),
('INSERT INTO @ AS t (id) VALUES (1), (106) ON CONFLICT (id) DO SELECT FOR KEY SHARE WHERE t.c2 = 1 RETURNING id, c1'),
('INSERT INTO @ AS t (id) VALUES (1), (106) ON CONFLICT (id) DO SELECT FOR KEY SHARE WHERE t.c2 <> 1 RETURNING id, c1'),
-- Conflicts with rows of the same statement
('INSERT INTO @ (id, c1) VALUES (107, ''first''), (107, ''second'') ON CONFLICT (id) DO SELECT RETURNING id, c1'),
('INSERT INTO @ (id, c1) VALUES (107, ''first''), (107, ''second'') ON CONFLICT (id) DO SELECT FOR UPDATE RETURNING id, c1'),
('WITH u AS (UPDATE @ SET c1 = ''updated'', h1 = 5 WHERE id = 2 RETURNING id), q AS (INSERT INTO @ (id) SELECT id FROM u ON CONFLICT (id) DO SELECT RETURNING id, h1, c1)'),
('WITH u AS (UPDATE @ SET c1 = ''updated'' WHERE id = 2 RETURNING id), q AS (INSERT INTO @ (id) SELECT id FROM u ON CONFLICT (id) DO SELECT FOR SHARE RETURNING id, h1, c1)'),
('WITH u AS (UPDATE @ SET h1 = 5 WHERE id = 2 RETURNING id), q AS (INSERT INTO @ (id) SELECT id FROM u ON CONFLICT (id) DO SELECT RETURNING id, h1, c1)'),
('WITH d AS (DELETE FROM @ WHERE id = 2 RETURNING id), q AS (INSERT INTO @ (id, c1) SELECT id, ''again'' FROM d ON CONFLICT (id) DO SELECT RETURNING id, h1, c1)'),
('WITH i AS (INSERT INTO @ (id, c1) VALUES (3, ''c'') ON CONFLICT (id) DO SELECT RETURNING *), q AS (INSERT INTO @ (id, c1) SELECT id, c1 FROM i ON CONFLICT (id) DO UPDATE SET c1 = excluded.c1 || ''!'' RETURNING id, c1)'),
-- Errors
('INSERT INTO @ (id) VALUES (1) ON CONFLICT (id) DO SELECT'),
('INSERT INTO @ (id) VALUES (1) ON CONFLICT DO SELECT RETURNING id'),
('INSERT INTO @ (id) VALUES (NULL) ON CONFLICT (id) DO SELECT RETURNING id'),
('INSERT INTO @ (id) VALUES (1) ON CONFLICT (h1) DO SELECT RETURNING id'),
('INSERT INTO @ (id) VALUES (1) ON CONFLICT (id) DO SELECT WHERE 1 / 0 > 0 RETURNING id');
\pset format unaligned
\pset tuples_only on
SELECT n, t.*, statement FROM queries, try(statement) t ORDER BY n;

-- Test conflicts with rows of the same transaction.
CREATE FUNCTION steps(name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text; s text; r text;
BEGIN
	FOREACH s IN ARRAY ARRAY['INSERT INTO @ (id, c1) VALUES (200, ''mine'') RETURNING c1',
		'INSERT INTO @ (id, c1) VALUES (200, ''other'') ON CONFLICT (id) DO SELECT RETURNING c1',
		'UPDATE @ SET c1 = ''changed'' WHERE id = 200 RETURNING c1',
		'INSERT INTO @ (id, c1) VALUES (200, ''other'') ON CONFLICT (id) DO SELECT FOR UPDATE RETURNING c1',
		'DELETE FROM @ WHERE id = 200 RETURNING c1',
		'INSERT INTO @ (id, c1) VALUES (200, ''new'') ON CONFLICT (id) DO SELECT RETURNING c1'] LOOP
		EXECUTE replace(s, '@', name) INTO r;
		result := concat_ws(' ', result, r);
	END LOOP;
	RETURN result;
END $$;
SELECT name, steps(name) FROM (VALUES ('plain'), ('shared_key'), ('surrogate_key'), ('row_pointer')) t (name);

-- On a split table, the old row in RETURNING is empty even if the row exists, as with DO UPDATE.
INSERT INTO plain (id) VALUES (1) ON CONFLICT (id) DO SELECT RETURNING old.id, old.c1, new.id, new.c1;
INSERT INTO shared_key (id) VALUES (1) ON CONFLICT (id) DO SELECT RETURNING old.id, old.c1, new.id, new.c1;
-- Columns of the cold part cannot be a conflict target.
INSERT INTO shared_key (id) VALUES (1) ON CONFLICT (c1) DO SELECT RETURNING id;

-- A prepared statement still works after its index was replaced.
PREPARE choose AS INSERT INTO row_pointer (id, h1) VALUES ($1, $2) ON CONFLICT (h1) WHERE h1 > 100 DO SELECT RETURNING id, c1;
EXECUTE choose (301, 160);
REINDEX TABLE CONCURRENTLY row_pointer_hot;
EXECUTE choose (301, 160);
EXECUTE choose (301, 5);

-- A lock needs the UPDATE privilege on the view.
CREATE ROLE regress_vertical_partition_select;
GRANT USAGE ON SCHEMA vp_select TO regress_vertical_partition_select;
GRANT INSERT, SELECT ON shared_key, plain TO regress_vertical_partition_select;
SET ROLE regress_vertical_partition_select;
INSERT INTO plain (id) VALUES (1) ON CONFLICT (id) DO SELECT RETURNING id, c1;
INSERT INTO shared_key (id) VALUES (1) ON CONFLICT (id) DO SELECT RETURNING id, c1;
INSERT INTO plain (id) VALUES (1) ON CONFLICT (id) DO SELECT FOR SHARE RETURNING id, c1;
INSERT INTO shared_key (id) VALUES (1) ON CONFLICT (id) DO SELECT FOR SHARE RETURNING id, c1;
RESET ROLE;

-- Test a missing cold row.
ALTER TABLE shared_key_cold DISABLE TRIGGER ALL;
DELETE FROM shared_key_cold WHERE id = 4;
INSERT INTO shared_key (id) VALUES (4) ON CONFLICT (id) DO SELECT RETURNING id;

SET client_min_messages = error;
DROP SCHEMA vp_select CASCADE;
DROP ROLE regress_vertical_partition_select;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET session_preload_libraries', current_database()); END $$;
