--
-- Test the plans of statements on split tables, and that the statements have the same results as on
-- a plain table.
--
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = ''vertical_partition''', current_database()); END $$;
\c
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA vp_plan;
SET search_path = vp_plan;
CREATE TABLE plain (id int PRIMARY KEY, h1 int DEFAULT 7, c1 text, h2 text, c2 int, h3 int[], c3 int);
INSERT INTO plain SELECT i, i * 10, 'cold ' || i, 'hot ' || i, i % 5, ARRAY[i, -i], nullif(i % 3, 0) FROM generate_series(1, 120) i;
CREATE TABLE shared_key (LIKE plain INCLUDING ALL);
CREATE TABLE surrogate_key (LIKE plain INCLUDING ALL);
CREATE TABLE row_pointer (LIKE plain INCLUDING ALL);
INSERT INTO shared_key TABLE plain;
INSERT INTO surrogate_key TABLE plain;
INSERT INTO row_pointer TABLE plain;
CREATE TABLE x (id int PRIMARY KEY, v int, c2 int);
INSERT INTO x SELECT i, i + 1, i % 7 FROM generate_series(0, 300, 3) i;
SELECT vertical_partition.split('shared_key', '{c1,c2,c3}', 'shared_key');
SELECT vertical_partition.split('surrogate_key', '{c1,c2,c3}', 'surrogate_key');
SELECT vertical_partition.split('row_pointer', '{c1,c2,c3}', 'row_pointer');
ANALYZE;
CREATE VIEW plain_view AS SELECT * FROM plain WHERE h1 > 50;
CREATE VIEW shared_key_view AS SELECT * FROM shared_key WHERE h1 > 50;
CREATE VIEW surrogate_key_view AS SELECT * FROM surrogate_key WHERE h1 > 50;
CREATE VIEW row_pointer_view AS SELECT * FROM row_pointer WHERE h1 > 50;

-- Return what the plan of a statement does with a split table: the parts that it writes and reads,
-- and whether it checks the link.
CREATE FUNCTION shape(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	BEGIN
		EXECUTE 'EXPLAIN (FORMAT json, COSTS off) ' || statement INTO plan;
	EXCEPTION
		WHEN OTHERS THEN RETURN 'error';
	END;
	RETURN concat_ws(' ',
		(SELECT string_agg(DISTINCT lower(n->>'Operation') || ' ' || CASE WHEN n->>'Relation Name' ~ '_(hot|cold)$' THEN substring(n->>'Relation Name' from '[a-z]*$') WHEN n->>'Relation Name' = 'x' THEN 'x' ELSE 'view' END, ' ')
		 FROM jsonb_path_query(plan, 'strict $.** ? (@."Node Type" == "ModifyTable")') n),
		(SELECT string_agg(DISTINCT substring(n->>'Relation Name' from '_(hot|cold)$'), ' ' ORDER BY substring(n->>'Relation Name' from '_(hot|cold)$') DESC)
		 FROM jsonb_path_query(plan, 'strict $.** ? (@."Node Type" like_regex "Scan")') n),
		CASE WHEN plan::text ~ 'linked\(' THEN 'check' END);
END $$;

-- Return the plan of a statement, without the property "Split Table", which EXPLAIN has since 18.
CREATE FUNCTION plan(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		IF line !~ '^ *Split Table:' THEN
			RETURN NEXT line;
		END IF;
	END LOOP;
END $$;

-- Test whether a statement, with @ for the name of the table, has the same result on a split table
-- as on a plain one.  Also compare its changes, and undo them.
CREATE FUNCTION result(statement text, name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE rows text; contents text;
BEGIN
	EXECUTE format('WITH q AS (%s) SELECT coalesce(string_agg(q::text, E''\n'' ORDER BY q::text), ''none'') FROM q',
		replace(statement, '@', name)) INTO rows;
	EXECUTE format('SELECT string_agg(t::text, E''\n'' ORDER BY t::text) FROM %s t', name) INTO contents;
	RAISE SQLSTATE 'VP000' USING MESSAGE = rows || md5(contents);
EXCEPTION
	WHEN SQLSTATE 'VP000' THEN RETURN SQLERRM;
	WHEN OTHERS THEN RETURN SQLSTATE || ' ' || replace(SQLERRM, name, '@');
END $$;
CREATE FUNCTION try(statement text, OUT shared_key text, OUT surrogate_key text, OUT row_pointer text, OUT same text) LANGUAGE plpgsql AS $$
DECLARE expected text := vp_plan.result(statement, 'plain');
BEGIN
	shared_key := vp_plan.shape(replace(statement, '@', 'shared_key'));
	surrogate_key := vp_plan.shape(replace(statement, '@', 'surrogate_key'));
	row_pointer := vp_plan.shape(replace(statement, '@', 'row_pointer'));
	SELECT string_agg(concat(n, ': ', r), E'\n') INTO same
	FROM unnest('{shared_key,surrogate_key,row_pointer}'::text[]) n, vp_plan.result(statement, n) r WHERE r <> expected;
	same := coalesce(same, CASE WHEN expected ~ '^[0-9A-Z]{5} ' THEN expected WHEN expected ~ '^none' THEN 'no rows' ELSE 'yes' END);
END $$;

-- In a new session without the library, the first statement loads the library, and the second
-- statement is rewritten.
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET session_preload_libraries', current_database()); END $$;
\c
SET search_path = vp_plan;
SET client_min_messages = warning;
SELECT plan('SELECT h1 FROM shared_key WHERE id = 1');
SELECT plan('SELECT h1 FROM surrogate_key WHERE id = 1');
SELECT shape('SELECT h1 FROM row_pointer WHERE id = 1');
\c
SET search_path = vp_plan;
SET client_min_messages = warning;
SELECT shape('SELECT h1 FROM row_pointer WHERE id = 1');
SELECT shape('SELECT h1 FROM row_pointer WHERE id = 1');

-- A plan that was made while the library was being loaded is soon replaced.
\c
SET search_path = vp_plan;
SET client_min_messages = warning;
PREPARE update_hot AS UPDATE row_pointer SET h1 = 30 WHERE id = 3;
SELECT shape('EXECUTE update_hot');
INSERT INTO x VALUES (1001);
DELETE FROM x WHERE id = 1001;
SELECT shape('EXECUTE update_hot');
DEALLOCATE update_hot;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = ''vertical_partition''', current_database()); END $$;

CREATE TABLE queries (n serial, statement text);
INSERT INTO queries (statement) VALUES
-- Statements that read
('SELECT h1 FROM @ WHERE id = 3'),
('SELECT c1 FROM @ WHERE id = 3'),
('SELECT count(*) FROM @'),
('SELECT t FROM @ t WHERE id = 3'),
('SELECT t.* FROM @ t WHERE id < 9'),
('SELECT h1 FROM @ WHERE c2 = 3'),
('SELECT h1 FROM @ WHERE c3 IS NULL'),
('SELECT h1 FROM @ ORDER BY c2, id LIMIT 10'),
('SELECT c2, count(*) FROM @ GROUP BY c2'),
('SELECT h1 % 3, max(id) FROM @ GROUP BY 1 HAVING min(h1) > 0'),
('SELECT h1 % 3, count(*) FROM @ GROUP BY h1 % 3, c2'),
('SELECT count(*) FROM @ GROUP BY GROUPING SETS ((c2), (h1), ())'),
('SELECT h1, count(*) FILTER (WHERE c2 > 2) FROM @ GROUP BY h1'),
('SELECT DISTINCT h1 / 100 FROM @'),
('SELECT DISTINCT ON (h1 / 100) h1 FROM @ ORDER BY h1 / 100, c2, id'),
('SELECT id, row_number() OVER (ORDER BY h1) FROM @'),
('SELECT id, row_number() OVER (PARTITION BY c2 ORDER BY h1) FROM @'),
-- Outer joins
('SELECT x.v, t.h1 FROM x LEFT JOIN @ t USING (id)'),
('SELECT x.v, t.c1 FROM x LEFT JOIN @ t USING (id)'),
('SELECT x.v, t.c1 FROM x LEFT JOIN @ t ON t.id = x.id AND t.c2 > 2'),
('SELECT x.v, t.h1 FROM x LEFT JOIN @ t ON t.id = x.id AND t.c2 > 2'),
('SELECT x.v, t.h1 FROM x LEFT JOIN @ t ON t.id = x.id WHERE t.c3 IS NULL'),
('SELECT x.v, t.h1 FROM @ t RIGHT JOIN x USING (id)'),
('SELECT id, x.v, t.c1 FROM @ t LEFT JOIN x USING (id)'),
('SELECT id, x.v, t.h1 FROM x FULL JOIN @ t USING (id)'),
('SELECT id, x.v, t.c1 FROM x FULL JOIN @ t USING (id)'),
('SELECT x.v, t.one FROM x LEFT JOIN (SELECT 1 AS one, * FROM @) t ON t.id = x.id'),
('SELECT x.v, t.one, t.c2 FROM x LEFT JOIN (SELECT coalesce(c3, 1) AS one, * FROM @) t ON t.id = x.id'),
('SELECT x.v, y.v, t.c1 FROM x LEFT JOIN (x y LEFT JOIN @ t ON t.c2 = y.c2) ON y.id = x.v'),
('SELECT x.v, y.v FROM x LEFT JOIN @ t ON t.id = x.id LEFT JOIN x y ON y.c2 = t.c2'),
-- Other joins
('SELECT a.h1, b.c1 FROM @ a JOIN @ b ON a.id = b.c2'),
('SELECT a.h1, b.h1 FROM @ a JOIN @ b ON a.id = b.h1'),
('SELECT a.h1, b.h2 FROM @ a JOIN @ b USING (id)'),
('SELECT t.h1 FROM x JOIN @ t USING (c2)'),
('SELECT t.h1 FROM x NATURAL JOIN @ t'),
('SELECT j.h1 FROM (x JOIN @ t USING (id)) j'),
('SELECT j.c1 FROM (x JOIN @ t USING (id)) j'),
('SELECT j FROM (x JOIN @ t USING (id)) j'),
('SELECT j.h1 FROM (x JOIN @ t USING (id)) j WHERE NOT (j IS NULL)'),
('SELECT h1 FROM (x FULL JOIN @ t USING (id, c2)) WHERE c2 > 3'),
-- Subqueries
('SELECT * FROM x WHERE EXISTS (SELECT * FROM @ t WHERE t.id = x.id)'),
('SELECT * FROM x WHERE EXISTS (SELECT * FROM @ t WHERE t.c2 = x.id)'),
('SELECT * FROM x WHERE NOT EXISTS (SELECT * FROM @ t WHERE t.id = x.id)'),
('SELECT * FROM x WHERE NOT EXISTS (SELECT * FROM @ t WHERE t.id = x.id AND t.c3 IS NOT NULL)'),
('SELECT * FROM x WHERE v IN (SELECT h1 FROM @)'),
('SELECT * FROM x WHERE v IN (SELECT c2 FROM @)'),
('SELECT * FROM x WHERE v NOT IN (SELECT h1 FROM @)'),
('SELECT * FROM x WHERE v NOT IN (SELECT c2 FROM @)'),
('SELECT (SELECT h1 FROM @ t WHERE t.id = x.id) FROM x'),
('SELECT (SELECT c1 FROM @ t WHERE t.id = x.id) FROM x'),
('SELECT h1, (SELECT max(v) FROM x WHERE x.id = t.id) FROM @ t'),
('SELECT h1, (SELECT max(v) FROM x WHERE x.id = t.c2) FROM @ t'),
('SELECT h1, (SELECT max(v) FROM x WHERE EXISTS (SELECT FROM x y WHERE y.v = t.c2)) FROM @ t'),
('SELECT x.id, l.* FROM x, LATERAL (SELECT h1 FROM @ t WHERE t.id = x.id LIMIT 1) l'),
('SELECT t.id, l.* FROM @ t, LATERAL (SELECT v FROM x WHERE x.id = t.c2 LIMIT 1) l'),
('SELECT t.id, l.* FROM @ t CROSS JOIN LATERAL (VALUES (t.c2), (t.h1)) l'),
('SELECT t.id, l FROM @ t, LATERAL generate_series(1, t.c2) l'),
('SELECT t.id, l FROM @ t, LATERAL generate_series(1, t.id % 3) l'),
('SELECT t.id FROM @ t LEFT JOIN LATERAL (SELECT t.c2 AS y, x.* FROM x WHERE x.id = t.id) l ON l.y > 2'),
-- Set operations and other statements with more than one query
('SELECT h1 FROM @ UNION ALL SELECT v FROM x'),
('SELECT c2 FROM @ UNION ALL SELECT v FROM x'),
('SELECT v FROM x UNION SELECT h1 FROM @'),
('SELECT v FROM x EXCEPT SELECT c2 FROM @'),
('SELECT u.* FROM (SELECT id, h1, c2 FROM @ UNION ALL SELECT * FROM x) u WHERE u.id < 10'),
('SELECT u.h1 FROM (SELECT id, h1, c2 FROM @ UNION ALL SELECT * FROM x) u WHERE u.id < 10'),
('SELECT x.id, u.h1 FROM x LEFT JOIN (SELECT id, h1 FROM @ UNION ALL SELECT id, v FROM x) u USING (id)'),
('WITH w AS (SELECT * FROM @) SELECT h1 FROM w'),
('WITH w AS MATERIALIZED (SELECT id, h1 FROM @) SELECT h1 FROM w'),
('WITH w AS MATERIALIZED (SELECT * FROM @) SELECT h1 FROM w'),
('WITH RECURSIVE w AS (SELECT 1 AS i UNION ALL SELECT i + t.c2 FROM w JOIN @ t ON t.id = w.i WHERE t.c2 > 0) SELECT * FROM w'),
('SELECT h1 FROM @_view'),
('SELECT c1 FROM @_view WHERE id < 20'),
('SELECT s.h1 FROM (SELECT *, random() FROM @ OFFSET 0) s'),
('SELECT s.h1 FROM (SELECT *, c2 + 1 FROM @ OFFSET 0) s'),
('SELECT s.h1 FROM (SELECT DISTINCT * FROM @) s'),
-- Updates that need only the hot part
('UPDATE @ SET h1 = 0 WHERE id = 3 RETURNING id, h1, h2'),
('UPDATE @ SET h1 = h1 + 1, h2 = h2 || id RETURNING h1'),
('UPDATE @ SET h1 = DEFAULT WHERE id = 3 RETURNING h1'),
('UPDATE @ SET h3[2] = h1, h3[1] = 4 WHERE id = 4 RETURNING h3'),
('UPDATE @ SET (h1, h2) = (SELECT v, ''x'' FROM x WHERE x.id = @.id) WHERE id < 9 RETURNING h1, h2'),
('UPDATE @ t SET (h1, h2) = (v, v::text) FROM x WHERE x.id = t.id RETURNING t.h1, x.*'),
('UPDATE @ t SET h1 = u.h1 FROM @ u WHERE u.id = t.id + 1 RETURNING t.id, t.h1, u.h1'),
('UPDATE @ t SET h1 = (SELECT max(v) FROM x WHERE x.id <= t.h1 AND EXISTS (SELECT FROM x y WHERE y.id = t.id)) RETURNING *, 1'),
('UPDATE @ t SET h1 = 1 WHERE EXISTS (SELECT FROM @ u WHERE u.h1 = t.id) RETURNING h1'),
('UPDATE @_view SET h1 = 100 WHERE id < 20 RETURNING id, h1'),
('UPDATE @ SET h1 = 1 WHERE id IN (SELECT id FROM x ORDER BY id LIMIT 3) RETURNING id, (SELECT v FROM x WHERE x.id = @.id)'),
('UPDATE x SET v = t.h1 FROM @ t WHERE t.id = x.id RETURNING x.id, x.v, t.h1'),
('DELETE FROM x USING @ t WHERE t.h1 = x.id RETURNING x.id, t.h1'),
-- Updates that read cold columns of other tables
('UPDATE @ t SET h1 = u.c2 FROM @ u WHERE u.id = t.id + 1 RETURNING t.id, t.h1'),
-- Updates that need both parts
('UPDATE @ SET c1 = ''new'' WHERE id = 3 RETURNING id, c1'),
('UPDATE @ SET h1 = c2 WHERE id = 3 RETURNING id, h1'),
('UPDATE @ SET h1 = 1 WHERE c2 = 3 RETURNING id, h1'),
('UPDATE @ SET h1 = 1 WHERE id = 3 RETURNING id, c1'),
('UPDATE @ SET h1 = 1 WHERE id = 3 RETURNING *'),
('UPDATE @ t SET h1 = 1 WHERE id = 3 RETURNING t'),
('UPDATE @ SET h1 = (SELECT max(v) FROM x WHERE x.id = @.c2) WHERE id = 3 RETURNING h1'),
('UPDATE @ SET id = 1000, h1 = 1 WHERE id = 3 RETURNING id'),
('DELETE FROM @ WHERE id = 3 RETURNING id'),
-- Inserts, which always need both parts
('INSERT INTO @ (id, h1) SELECT 1000, h1 FROM @ WHERE id = 3 RETURNING id'),
('INSERT INTO @ (id, c1) VALUES (1001, ''c'') RETURNING id, h1, c1'),
('INSERT INTO @ (id, c1) VALUES (1, ''c'') ON CONFLICT DO NOTHING RETURNING id'),
('INSERT INTO @ (id, c1) VALUES (1, ''c''), (1002, ''d'') ON CONFLICT (id) DO NOTHING RETURNING id'),
('INSERT INTO @ (id, c1) VALUES (1, ''c''), (1002, ''d'') ON CONFLICT (id) DO UPDATE SET c1 = excluded.c1, h1 = @.h1 + 1 RETURNING id, h1, c1'),
('INSERT INTO @ (id, c1) VALUES (1, ''c''), (2, ''d'') ON CONFLICT (id) WHERE h1 > 0 DO UPDATE SET h1 = 5 WHERE @.c2 = 1 RETURNING id, h1, c1'),
('INSERT INTO @ (id, c1) VALUES (1, ''c'') ON CONFLICT (id COLLATE "C") DO NOTHING RETURNING id'),
('INSERT INTO @ (id, c1) VALUES (1, ''c'') ON CONFLICT (id int4_ops) DO UPDATE SET h1 = 0 RETURNING id');

\pset format unaligned
\pset tuples_only on
SELECT n, t.*, statement FROM queries, try(statement) t ORDER BY n;

-- Run the statements without the rewriting.
SET vertical_partition.enable_rewrite = off;
SELECT n, t.*, statement FROM queries, try(statement) t WHERE statement !~ 'ON CONFLICT' ORDER BY n;
RESET vertical_partition.enable_rewrite;

-- Run statements in parallel.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SELECT n, same FROM queries, try(statement) t WHERE n IN (1, 9, 19, 29, 44, 61) ORDER BY n;
CREATE FUNCTION is_parallel(statement text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json, COSTS off) ' || statement INTO plan;
	RETURN plan::text ~ 'Gather';
END $$;
SELECT name, is_parallel(format('SELECT count(*) FROM %s', name)), is_parallel(format('SELECT count(c1) FROM %s', name))
FROM (VALUES ('shared_key'), ('surrogate_key'), ('row_pointer')) t (name) ORDER BY name;
SELECT count(c1) FROM shared_key;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET min_parallel_index_scan_size;

-- There is no index for these conflict targets.
INSERT INTO shared_key (id) VALUES (1) ON CONFLICT (c1) DO NOTHING;
INSERT INTO shared_key (id) VALUES (1) ON CONFLICT (id, c2) DO UPDATE SET h1 = 0;
INSERT INTO shared_key (id) VALUES (1) ON CONFLICT (lower(c1)) DO NOTHING;
INSERT INTO shared_key (id) VALUES (1) ON CONFLICT (id) WHERE c2 > 0 DO NOTHING;
INSERT INTO shared_key (id) VALUES (1) ON CONFLICT (h2) DO NOTHING;
INSERT INTO shared_key (id) VALUES (1) ON CONFLICT ON CONSTRAINT shared_key_h1_key DO NOTHING;
-- There is an index for these conflict targets.
CREATE UNIQUE INDEX ON shared_key_hot (lower(h2));
CREATE UNIQUE INDEX ON shared_key_hot (h1) WHERE h1 > 100;
INSERT INTO shared_key (id, h2) VALUES (1, 'HOT 3') ON CONFLICT (lower(h2)) DO NOTHING;
INSERT INTO shared_key (id, h2) VALUES (2001, 'HOT 3') ON CONFLICT (lower(h2)) DO UPDATE SET c1 = 'seen' RETURNING id, c1;
INSERT INTO shared_key (id, h1) VALUES (2001, 150) ON CONFLICT (h1) DO NOTHING;
INSERT INTO shared_key (id, h1) VALUES (2001, 150) ON CONFLICT (h1) WHERE h1 > 200 DO UPDATE SET c1 = 'seen' RETURNING id, c1;
-- Use several ON CONFLICT clauses in one statement.
WITH a AS (INSERT INTO shared_key (id, h1) VALUES (2002, 170) ON CONFLICT (h1) WHERE h1 > 100 DO UPDATE SET c1 = 'first' RETURNING id, c1),
	b AS (INSERT INTO row_pointer (id) VALUES (18) ON CONFLICT (id) DO UPDATE SET c1 = 'second' RETURNING id, c1),
	c AS (INSERT INTO plain (id) VALUES (19) ON CONFLICT (id) DO UPDATE SET c1 = 'third' RETURNING id, c1),
	d AS (INSERT INTO surrogate_key (id) SELECT id FROM b ON CONFLICT DO NOTHING RETURNING id, c1)
INSERT INTO shared_key (id) SELECT id FROM c ON CONFLICT (id) DO UPDATE SET c1 = 'fourth'
RETURNING id, c1;
SELECT id, c1 FROM shared_key WHERE id IN (17, 19, 2002) UNION ALL SELECT id, c1 FROM row_pointer WHERE id = 18 ORDER BY id;

-- FOR UPDATE and the other locking clauses lock the hot row, and also the cold row if it is read.
-- A locked row has an xmax.
CREATE FUNCTION locks(name text, i int, OUT hot bool, OUT cold bool) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT h.xmax <> ''0'' FROM %s_hot h WHERE id = $1', name) INTO hot USING i;
	EXECUTE format('SELECT c.xmax <> ''0'' FROM %s_cold c WHERE c1 = ''cold '' || $1', name) INTO cold USING i;
END $$;
BEGIN;
SELECT h1 FROM shared_key WHERE id = 101 FOR UPDATE;
SELECT h1 FROM surrogate_key WHERE id = 101 FOR NO KEY UPDATE NOWAIT;
SELECT h1 FROM row_pointer WHERE id = 101 FOR KEY SHARE SKIP LOCKED;
SELECT h1 FROM shared_key_view WHERE id = 102 FOR SHARE;
SELECT h1, v FROM row_pointer r JOIN x USING (id) WHERE id = 102 FOR UPDATE OF r;
SELECT c1 FROM shared_key WHERE id = 103 FOR UPDATE;
SELECT c1 FROM surrogate_key WHERE id = 103 FOR UPDATE;
SELECT c1 FROM row_pointer WHERE id = 103 FOR UPDATE;
SELECT x.id, r.h1 FROM x LEFT JOIN row_pointer r USING (id) WHERE x.id = 105 FOR UPDATE OF x;
SELECT x.id, r.c1 FROM x LEFT JOIN row_pointer r USING (id) WHERE x.id = 105 FOR UPDATE OF x;
SELECT x.id, r.c1 FROM x LEFT JOIN row_pointer r USING (id) WHERE x.id = 105 FOR UPDATE OF r;
ROLLBACK;
BEGIN;
SET LOCAL vertical_partition.enable_rewrite = off;
SELECT h1 FROM shared_key WHERE id = 104 FOR UPDATE;
SELECT h1 FROM row_pointer WHERE id = 104 FOR UPDATE;
SELECT name, i, l.* FROM generate_series(101, 105) i CROSS JOIN (VALUES ('shared_key'), ('surrogate_key'), ('row_pointer')) n (name), locks(name, i) l ORDER BY i, name;
COMMIT;

-- Saved plans are replaced if triggers or indexes change.
SET plan_cache_mode = force_generic_plan;
PREPARE update_hot (int, int) AS UPDATE row_pointer SET h1 = $2 WHERE id = $1 RETURNING h1;
PREPARE upsert (int) AS INSERT INTO shared_key (id, h1) VALUES ($1, 190) ON CONFLICT (h1) WHERE h1 > 200 DO UPDATE SET c1 = 'seen' RETURNING id;
EXECUTE update_hot (10, 1);
EXECUTE update_hot (10, 2);
EXECUTE upsert (3000);
EXECUTE upsert (3000);
SELECT shape('EXECUTE update_hot (10, 2)');
CREATE FUNCTION count_statements() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING '% of %', TG_OP, TG_TABLE_NAME; RETURN NULL; END $$;
CREATE TRIGGER count_statements AFTER UPDATE ON row_pointer FOR EACH STATEMENT EXECUTE FUNCTION count_statements();
SELECT shape('EXECUTE update_hot (10, 2)');
EXECUTE update_hot (10, 3);
DROP TRIGGER count_statements ON row_pointer;
SELECT shape('EXECUTE update_hot (10, 2)');
DROP INDEX shared_key_hot_h1_idx;
EXECUTE upsert (3000);
DEALLOCATE ALL;
RESET plan_cache_mode;
-- Run statements in functions.
CREATE FUNCTION get_hot(i int) RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT h1 FROM vp_plan.row_pointer WHERE id = i';
CREATE FUNCTION set_hot(i int, v int) RETURNS int LANGUAGE sql AS 'UPDATE vp_plan.row_pointer SET h1 = v WHERE id = i RETURNING h1';
CREATE FUNCTION set_hot_pl(i int, v int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE r int;
BEGIN
	FOR n IN 1..7 LOOP
		UPDATE vp_plan.row_pointer SET h1 = v + n WHERE id = i RETURNING h1 INTO r;
	END LOOP;
	RETURN r;
END $$;
SELECT set_hot(11, 5), get_hot(11), set_hot_pl(11, 6);
SELECT get_hot(11), c1 FROM row_pointer WHERE id = 11;
-- Test cursors.
BEGIN;
DECLARE c CURSOR FOR SELECT h1 FROM row_pointer WHERE id < 5 ORDER BY id;
FETCH 2 FROM c;
UPDATE row_pointer SET h1 = 0 WHERE id = 3;
FETCH ALL FROM c;
DECLARE d CURSOR FOR SELECT h1 FROM row_pointer WHERE id = 3 FOR UPDATE;
FETCH d;
SAVEPOINT s;
UPDATE row_pointer SET h1 = 0 WHERE CURRENT OF d;
ROLLBACK;

-- If the view has another trigger or check, statements are not rewritten.
CREATE FUNCTION do_nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER do_nothing INSTEAD OF UPDATE ON shared_key FOR EACH ROW EXECUTE FUNCTION do_nothing();
SELECT shape('UPDATE shared_key SET h1 = 1');
ALTER TRIGGER do_nothing ON shared_key RENAME TO zero;
SELECT shape('UPDATE shared_key SET h1 = 1');
DROP TRIGGER zero ON shared_key;
-- Names of views and columns do not matter.
ALTER VIEW shared_key RENAME TO renamed;
ALTER VIEW renamed RENAME h1 TO h5;
ALTER TABLE shared_key_hot RENAME h1 TO h4;
SELECT shape('UPDATE renamed SET h5 = 1');
ALTER TABLE shared_key_hot RENAME h4 TO h1;
ALTER VIEW renamed RENAME h5 TO h1;
ALTER VIEW renamed RENAME TO shared_key;
-- A statement cannot set columns that the server computes.
CREATE TABLE generated (id int PRIMARY KEY, h1 int, g int GENERATED ALWAYS AS (h1 * 2) STORED, c1 text);
INSERT INTO generated VALUES (1, 2);
SELECT vertical_partition.split('generated', '{c1}');
SELECT shape('UPDATE generated SET h1 = 3'), shape('UPDATE generated SET g = 3');
UPDATE generated SET h1 = 5 RETURNING *;
UPDATE generated SET g = 3;
CREATE VIEW checked AS SELECT id, h1 FROM shared_key WHERE h1 > 0 WITH LOCAL CHECK OPTION;
SELECT shape('UPDATE checked SET h1 = 1');
ALTER VIEW shared_key SET (security_barrier);
SELECT shape('UPDATE shared_key SET h1 = 1'), shape('SELECT h1 FROM shared_key');
ALTER VIEW shared_key RESET (security_barrier);
SELECT shape('UPDATE shared_key SET h1 = 1');

-- A hot row without its cold row is an error in every statement that can find it.
ALTER TABLE shared_key_cold DISABLE TRIGGER ALL;
ALTER TABLE surrogate_key_cold DISABLE TRIGGER ALL;
ALTER TABLE row_pointer_cold DISABLE TRIGGER ALL;
DELETE FROM shared_key_cold WHERE c1 = 'cold 6';
DELETE FROM surrogate_key_cold WHERE c1 = 'cold 6';
DELETE FROM row_pointer_cold WHERE c1 = 'cold 6';
SELECT n, vp_plan.result(statement, name), name, statement
FROM (VALUES (1, 'SELECT c1 FROM @ WHERE id = 6'), (2, 'SELECT x.v, t.c1 FROM x LEFT JOIN @ t USING (id) WHERE x.id = 6'),
	(3, 'SELECT c1 FROM @ t FULL JOIN x USING (id)'), (4, 'SELECT x.v, t.c1 FROM @ t LEFT JOIN x USING (id)'),
	(5, 'SELECT count(*) FROM (SELECT id, c2 FROM @ OFFSET 0) s WHERE c2 IS NULL'), (6, 'SELECT c2 FROM x UNION ALL SELECT c2 FROM @'),
	(7, 'SELECT v FROM x WHERE EXISTS (SELECT FROM @ t WHERE t.id = x.id AND t.c2 IS NULL)'),
	(8, 'SELECT v FROM x WHERE NOT EXISTS (SELECT FROM @ t WHERE t.id = x.id AND t.c2 > 0)'),
	(9, 'UPDATE @ SET c1 = ''new'' WHERE id = 6 RETURNING c1'), (10, 'DELETE FROM @ WHERE id = 6 RETURNING id'),
	(11, 'UPDATE x SET v = t.c2 FROM @ t WHERE t.id = x.id RETURNING v')) s (n, statement),
	(VALUES ('shared_key'), ('surrogate_key'), ('row_pointer')) t (name)
ORDER BY n, name;
SELECT h1 FROM shared_key WHERE id = 6;
SELECT h1 FROM surrogate_key WHERE id = 6;
SELECT h1 FROM row_pointer WHERE id = 6;
SET vertical_partition.enable_rewrite = off;
SELECT h1 FROM shared_key WHERE id = 6;
SELECT h1 FROM surrogate_key WHERE id = 6;
SELECT h1 FROM row_pointer WHERE id = 6;
RESET vertical_partition.enable_rewrite;
-- A statement that locks both rows cannot find it, so the pointers must be valid.
SELECT vertical_partition.forget_row_pointers('row_pointer_cold');
VACUUM FULL row_pointer_cold;
SELECT h1 FROM row_pointer WHERE id = 7 FOR UPDATE;
SELECT c1 FROM row_pointer WHERE id = 7 FOR UPDATE;
SELECT linked FROM vertical_partition.linked('shared_key', 'x'::regclass, 1);
SELECT vertical_partition.linked('shared_key', 'x'::regclass, NULL::int);
SELECT vertical_partition.linked(NULL, NULL, NULL::int);
\set VERBOSITY default
SELECT vertical_partition.linked('row_pointer', 'x'::regclass, NULL::int);
