--
-- Rebuild the relation cache entry of a table while an index is built on the table, while rows are
-- written, and while the table is recompressed.
--
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET default_toast_compression = pglz;
CREATE SCHEMA tp_inval;
SET search_path = tp_inval;
CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA public;

CREATE TABLE t (id int, doc text, extra text);
SELECT toast_policy.enable('t');

-- Each call of this function changes the row of the table in pg_class.
CREATE TABLE calls (n int);
INSERT INTO calls VALUES (0);
CREATE FUNCTION invalidate() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	UPDATE tp_inval.calls SET n = n + 1;
	IF (SELECT n % 2 FROM tp_inval.calls) = 0 THEN
		GRANT SELECT ON tp_inval.t TO PUBLIC;
	ELSE
		REVOKE SELECT ON tp_inval.t FROM PUBLIC;
	END IF;
END $$;
CREATE FUNCTION key(doc text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM tp_inval.invalidate();
	RETURN md5(doc);
END $$;

-- If the server has debug_discard_caches, also discard all caches at every opportunity.
DO $$ BEGIN
	PERFORM set_config('debug_discard_caches', '1', false) FROM pg_settings WHERE name = 'debug_discard_caches' AND max_val::int > 0;
END $$;

INSERT INTO t SELECT i, repeat('row ' || i, 2000), CASE i % 3 WHEN 0 THEN 'short' WHEN 1 THEN repeat('x', 5000) END FROM generate_series(1, 16) i;
CREATE INDEX t_key ON t (key(doc));
SELECT n FROM calls;
CREATE INDEX CONCURRENTLY t_key2 ON t (key(extra), id);
CREATE INDEX t_part ON t (id) WHERE key(doc) > '8';
CREATE UNIQUE INDEX t_id ON t (id);
REINDEX INDEX t_key;
REINDEX TABLE CONCURRENTLY t;
SELECT n > 80 FROM calls;
INSERT INTO t VALUES (100, repeat('in', 10000), repeat('out', 10000)) RETURNING length(doc), xmin::text = pg_current_xact_id()::text;
UPDATE t SET doc = doc || 'x' WHERE id % 7 = 0;
INSERT INTO t VALUES (1, repeat('up', 9000)) ON CONFLICT (id) DO UPDATE SET doc = t.doc || excluded.doc;
COPY t FROM STDIN;
1000	one	\N
1001	two	\N
\.
DELETE FROM t WHERE id BETWEEN 10 AND 15;
VACUUM t;
CLUSTER t USING t_id;
SELECT toast_policy.recompress('t');
VACUUM FULL t;
ANALYZE t;

-- After a failed index build, the table still has its access method.
CREATE FUNCTION fails(doc text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM tp_inval.invalidate();
	IF doc LIKE 'row 20%' THEN RAISE EXCEPTION 'no'; END IF;
	RETURN doc;
END $$;
BEGIN;
SAVEPOINT a;
CREATE INDEX t_fails ON t (md5(fails(doc)));
ROLLBACK TO a;
INSERT INTO t VALUES (200, repeat('after ', 3000)) RETURNING length(doc);
SELECT pg_column_compression(doc) FROM t WHERE id = 200;
CREATE INDEX t_after ON t (md5(doc));
COMMIT;
INSERT INTO t VALUES (201, repeat('after ', 3000)) RETURNING length(doc);
SELECT pg_column_compression(doc) FROM t WHERE id = 201;
-- This is also true if nothing has invalidated the cache entry since.
CREATE INDEX t_fails ON t ((1 / (id - 7)));
INSERT INTO t VALUES (203, repeat('after ', 3000));
SELECT pg_column_compression(doc) FROM t WHERE id = 203;
BEGIN;
SAVEPOINT a;
CREATE INDEX t_fails ON t ((1 / (id - 7)));
ROLLBACK TO a;
INSERT INTO t VALUES (204, repeat('after ', 3000));
SELECT pg_column_compression(doc) FROM t WHERE id = 204;
COMMIT;
-- CREATE INDEX CONCURRENTLY fails in its second transaction, which finds rows that came later.
CREATE INDEX CONCURRENTLY t_fails ON t (md5(fails(doc)));
INSERT INTO t VALUES (202, repeat('after ', 3000));
SELECT pg_column_compression(doc) FROM t WHERE id = 202;
DROP INDEX t_fails;
DO $$ BEGIN
	PERFORM set_config('debug_discard_caches', '0', false);
END $$;

SELECT count(*), sum(length(doc)), sum(length(extra)), count(pg_column_compression(doc)), count(pg_column_compression(extra)) FROM t;
SELECT count(public.bt_index_check(indexrelid, true)) FROM pg_index WHERE indrelid = 't'::regclass;
SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE c.oid = 't'::regclass;
DROP SCHEMA tp_inval CASCADE;
