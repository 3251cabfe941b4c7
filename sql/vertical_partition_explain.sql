--
-- Test that EXPLAIN says which split tables a statement uses without the cold part.  Before 18, the
-- server has no hook for that, and only the plan shows it.
--
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = ''vertical_partition''', current_database()); END $$;
\c
SET client_min_messages = warning;
CREATE SCHEMA "vp Explain";
SET search_path = "vp Explain";
CREATE TABLE t (id int PRIMARY KEY, n int, c text);
CREATE TABLE u (id int PRIMARY KEY, n int, c text);
CREATE TABLE plain (id int PRIMARY KEY, n int, c text);
CREATE VIEW no_split AS SELECT * FROM plain;
CREATE VIEW dropped AS SELECT * FROM plain;
SELECT vertical_partition.split('t', '{c}');
SELECT vertical_partition.split('u', '{c}', 'row_pointer');
CREATE VIEW of_hot AS SELECT id, n FROM t_hot;
-- Return the lines about split tables.
CREATE FUNCTION says(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
        IF line ~ 'Split' THEN
            RETURN NEXT line;
        END IF;
    END LOOP;
END $$;
SELECT statement, line
FROM unnest(ARRAY[
    -- rewritten
    'SELECT n FROM t WHERE id = 1',
    'SELECT n FROM u',
    'SELECT n FROM t WHERE id = 1 FOR UPDATE',
    'SELECT n FROM u FOR NO KEY UPDATE',
    'UPDATE t SET n = 2 WHERE id = 1',
    'UPDATE u SET n = t.n FROM t WHERE t.id = u.id',
    'INSERT INTO t VALUES (1) ON CONFLICT (id) DO NOTHING',
    'WITH w AS (INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET n = 1 RETURNING n) SELECT * FROM w',
    'WITH w AS MATERIALIZED (SELECT n FROM t) SELECT * FROM w',
    'SELECT (SELECT max(n) FROM t), * FROM plain',
    'SELECT n FROM t UNION ALL SELECT n FROM u',
    'SELECT count(*) FROM (SELECT n FROM t ORDER BY n LIMIT 1) s',
    'SELECT a.n, b.c FROM t a JOIN t b ON b.id = a.n',
    -- not rewritten
    'SELECT c FROM t',
    'SELECT * FROM t FOR UPDATE',
    'SELECT * FROM u WHERE c = ''x''',
    'UPDATE t SET c = ''x''',
    'UPDATE t SET n = 2 WHERE c = ''x''',
    'DELETE FROM t',
    'INSERT INTO t VALUES (1)',
    'INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING',
    'SELECT n FROM t_hot',
    'SELECT t.*, h.n AS again FROM t JOIN t_hot h ON h.id = t.id',
    'SELECT n FROM t WHERE false',
    'SELECT n FROM of_hot',
    'SELECT t.c, v.n FROM t JOIN of_hot v ON v.id = t.id',
    'SELECT t.c, v.n FROM t JOIN of_hot v ON v.id = t.id FOR UPDATE OF v',
    'UPDATE of_hot SET n = 3 FROM t WHERE t.id = of_hot.id AND t.c = ''x''',
    'SELECT n FROM no_split',
    'SELECT n FROM plain FOR UPDATE']) WITH ORDINALITY s (statement, number)
    LEFT JOIN LATERAL says(statement) line ON true
ORDER BY number;
EXPLAIN (COSTS OFF) SELECT n FROM t WHERE id = 1;
EXPLAIN (COSTS OFF) UPDATE t SET n = 2 WHERE id = 1;
-- The other formats have a list.
CREATE FUNCTION property(statement text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || statement INTO plan;
    RETURN plan->0->'Split Table';
END $$;
SELECT property('SELECT t.n FROM t, u WHERE u.id = t.id');
-- The statement drops the view that it reads.  Before 16, PostgreSQL itself cannot do that.
INSERT INTO plain VALUES (1, 1, 'x');
CREATE FUNCTION drops() RETURNS int LANGUAGE plpgsql AS $$ BEGIN DROP VIEW dropped; RETURN 1; END $$;
DO $$ BEGIN
    IF current_setting('server_version_num')::int >= 160000 THEN
        EXECUTE 'EXPLAIN (ANALYZE) SELECT drops(), n FROM dropped';
    ELSE
        DROP VIEW dropped;
    END IF;
END $$;
SELECT to_regclass('dropped');
-- A saved plan
PREPARE p (int) AS SELECT n FROM t WHERE id = $1 FOR UPDATE;
SET plan_cache_mode = force_generic_plan;
EXECUTE p (1);
SELECT says('EXECUTE p (1)');
RESET plan_cache_mode;
SET vertical_partition.enable_rewrite = off;
SELECT says('UPDATE t SET n = 2 WHERE id = 1');
RESET vertical_partition.enable_rewrite;

DROP SCHEMA "vp Explain" CASCADE;
