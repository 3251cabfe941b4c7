--
-- Test the choice of advise() between values out of line, which toast_policy stores, and a split.
-- Compare its figures with the sizes that each of the two leaves.
--
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = ''vertical_partition''', current_database()); END $$;
\c
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET default_toast_compression = pglz;
SET jit = off;
CREATE ROLE regress_vp_reader;
CREATE SCHEMA vpo;
GRANT USAGE ON SCHEMA vpo TO regress_vp_reader;
SET search_path = vpo, public;
SELECT vertical_partition.reset_column_updates();

-- Return text of that size that does not compress.
CREATE FUNCTION noise(size int, seed int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT left(string_agg(translate(encode(sha256((seed || '-' || i)::bytea), 'base64'), E'\n', ''), ''), size) FROM generate_series(1, size / 40 + 1) i $$;
-- Count updates of the column n, so that the other columns are cold.
CREATE PROCEDURE count_updates(rel regclass) LANGUAGE plpgsql AS $$
BEGIN
  SET LOCAL vertical_partition.track_updates = on;
  EXECUTE format('UPDATE %s SET n = n + 1 WHERE k <= 100', rel);
END $$;
CREATE FUNCTION table_bytes(rel regclass) RETURNS bigint LANGUAGE sql AS
$$ SELECT coalesce((SELECT pg_relation_size(l.hot) FROM vertical_partition_internal.layout(rel) l WHERE l.hot IS NOT NULL), pg_relation_size(rel)) $$;
CREATE FUNCTION total_bytes(rel regclass) RETURNS bigint LANGUAGE sql AS
$$ SELECT coalesce((SELECT hot_bytes + cold_bytes FROM vertical_partition.status WHERE relation = rel), pg_total_relation_size(rel)) $$;
CREATE FUNCTION near(what text, predicted bigint, measured bigint) RETURNS text LANGUAGE sql AS
$$ SELECT format('%s %s', what, CASE WHEN abs(predicted - measured) <= 0.05 * measured THEN 'within 5 %' ELSE format('%s instead of %s', predicted, measured) END) $$;
-- Return what advise() proposes for a table, and how exact the figures of both forms are.
CREATE FUNCTION try(rel regclass) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  a record;
  b record;
  before bigint := pg_total_relation_size(rel);
  name text := rel::text;
BEGIN
  SELECT * INTO a FROM vertical_partition.advise(rel);
  RETURN NEXT format('%s: %s of %s', rel, coalesce(a.method, a.reason), a.columns);
  IF a.columns IS NULL THEN RETURN; END IF;
  RETURN NEXT a.statement;
  EXECUTE a.statement;
  IF a.method = 'out_of_line' THEN
    RETURN NEXT near('out of line: table', a.hot_bytes_out_of_line, table_bytes(name::regclass));
    RETURN NEXT near('out of line: total', a.bytes_out_of_line, total_bytes(name::regclass));
    RETURN NEXT format('bytes_after is this total: %s', a.bytes_after = a.bytes_out_of_line);
    RETURN NEXT a.undo;
    EXECUTE a.undo;
    RETURN NEXT near('undo: total', before, total_bytes(name::regclass));
    SET LOCAL toast_policy.out_of_line = off;
    SELECT * INTO b FROM vertical_partition.advise(rel);
    SET LOCAL toast_policy.out_of_line = on;
    EXECUTE b.statement;
  ELSE
    RETURN NEXT near('split: hot part', a.hot_bytes_split, table_bytes(name::regclass));
    RETURN NEXT near('split: total', a.bytes_split, total_bytes(name::regclass));
    RETURN NEXT format('bytes_after is this total: %s', a.bytes_after = a.bytes_split);
    EXECUTE a.undo;
    IF a.hot_bytes_out_of_line IS NULL THEN
      RETURN NEXT 'nothing goes out of line';
    ELSE
      RETURN NEXT format('out of line: %s %% of the saving', round(100.0 * (a.hot_bytes_now - a.hot_bytes_out_of_line) / (a.hot_bytes_now - a.hot_bytes_split)));
    END IF;
    RETURN;
  END IF;
  RETURN NEXT near('split instead: hot part', a.hot_bytes_split, table_bytes(name::regclass));
  RETURN NEXT near('split instead: total', a.bytes_split, total_bytes(name::regclass));
  EXECUTE b.undo;
END $$;

-- One wide column that is seldom read: out of line.
CREATE TABLE wide (k int PRIMARY KEY, n int, m int, name text, wide text);
INSERT INTO wide SELECT i, i, i, 'name ' || i, noise(350 + i % 100, i) FROM generate_series(1, 8000) i;
-- Many narrow columns: a split.
CREATE TABLE narrow (k int PRIMARY KEY, n int, c1 text, c2 text, c3 text, c4 text, c5 text, c6 text, c7 text, c8 text, c9 text, c10 text);
INSERT INTO narrow SELECT i, i, x, x, x, x, x, x, x, x, x, x FROM generate_series(1, 8000) i, LATERAL (SELECT noise(25 + i % 10, i)) x (x);
-- A wide column beside narrow ones: a split, because most bytes would stay in the table.
CREATE TABLE mixed (k int PRIMARY KEY, n int, c1 text, c2 text, c3 text, c4 text, c5 text, c6 text, c7 text, c8 text, wide text);
INSERT INTO mixed SELECT i, i, x, x, x, x, x, x, x, x, noise(300, i) FROM generate_series(1, 8000) i, LATERAL (SELECT noise(35, i)) x (x);
-- Many columns of which each value would get a chunk of its own: a split.
CREATE TABLE many (k int PRIMARY KEY, n int, c1 text, c2 text, c3 text, c4 text, c5 text, c6 text, c7 text, c8 text);
INSERT INTO many SELECT i, i, x, x, x, x, x, x, x, x FROM generate_series(1, 8000) i, LATERAL (SELECT noise(170, i)) x (x);
-- Nothing to gain.
CREATE TABLE neither (k int PRIMARY KEY, n int, code text);
INSERT INTO neither SELECT i, i, 'code' FROM generate_series(1, 8000) i;
-- Values that compress to less than the limit stay in the row.  Others go out of line compressed.
CREATE TABLE packed (k int PRIMARY KEY, n int, small text, large text);
INSERT INTO packed SELECT i, i, repeat('abcdefgh', 60), noise(200, i) || repeat('z', 400) FROM generate_series(1, 8000) i;
-- Few rows have a value.
CREATE TABLE nulls (k int PRIMARY KEY, n int, wide text);
INSERT INTO nulls SELECT i, i, CASE WHEN i % 10 < 4 THEN noise(700, i) END FROM generate_series(1, 8000) i;
-- Half of the values are below each limit, so that a higher limit gives the same.
CREATE TABLE limits (k int PRIMARY KEY, n int, wide text);
INSERT INTO limits SELECT i, i, noise(CASE i % 2 WHEN 0 THEN 30 ELSE 900 END, i) FROM generate_series(1, 8000) i;
-- Names that need quotes.
CREATE TABLE "odd 'name" (k int PRIMARY KEY, n int, "wide ""col'" text);
INSERT INTO "odd 'name" SELECT i, i, noise(400, i) FROM generate_series(1, 4000) i;
CREATE TABLE parts (k int, n int, wide text, PRIMARY KEY (k)) PARTITION BY RANGE (k);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (2000);
CREATE TABLE parts_2 (wide text, gone int, n int, k int NOT NULL);
ALTER TABLE parts_2 DROP gone;
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (2000) TO (8000);
INSERT INTO parts SELECT i, i, noise(400, i) FROM generate_series(1, 6000) i;
CALL count_updates('wide');
CALL count_updates('narrow');
CALL count_updates('mixed');
CALL count_updates('many');
CALL count_updates('neither');
CALL count_updates('packed');
CALL count_updates('nulls');
CALL count_updates('limits');
CALL count_updates('"odd ''name"');
VACUUM FULL ANALYZE wide;
VACUUM FULL ANALYZE narrow;
VACUUM FULL ANALYZE mixed;
VACUUM FULL ANALYZE many;
VACUUM FULL ANALYZE neither;
VACUUM FULL ANALYZE packed;
VACUUM FULL ANALYZE nulls;
VACUUM FULL ANALYZE limits;
VACUUM FULL ANALYZE "odd 'name";
VACUUM FULL ANALYZE parts;

-- Without toast_policy, the advice is a split.  The reason says so if a column is wide.
SELECT relation, method, reason, hot_bytes_out_of_line, bytes_after = bytes_split AS is_split
FROM unnest('{wide,narrow}'::regclass[]) x (x), vertical_partition.advise(x);
-- Functions that only have the names of the extension's are not called.
CREATE SCHEMA toast_policy;
CREATE FUNCTION toast_policy.compare_out_of_line(regclass, name[], int) RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
SELECT method, reason FROM vertical_partition.advise('wide');
DROP SCHEMA toast_policy CASCADE;

CREATE EXTENSION toast_policy SCHEMA public;
SELECT method, columns, hot_columns, row_bytes_now > 400 AS wide, hot_row_bytes < 100 AS hot, round(hot_share::numeric, 1) AS hot_share,
  written_split = hot_row_bytes AS writes_no_chunk, regexp_replace(reason, '\d+(?= kB| bytes| MB)', '#', 'g') AS reason, blockers, statement, undo
FROM vertical_partition.advise('wide') \gx
SELECT try('wide');
SELECT try('narrow');
SELECT try('mixed');
SELECT try('many');
SELECT try('neither');
SELECT try('packed');
SELECT try('nulls');
SELECT try('limits');
SELECT try('"odd ''name"');
-- Each split has made new tables, without counts.
CALL count_updates('wide');
CALL count_updates('limits');
-- An update of the column writes its chunk as well.
SET vertical_partition.track_updates = on;
UPDATE wide SET n = n + 1, wide = noise(400, k) WHERE k <= 10;
RESET vertical_partition.track_updates;
SELECT method, written_split BETWEEN hot_row_bytes + 0.05 * cold_row_bytes AND hot_row_bytes + 0.15 * cold_row_bytes AS writes_some_chunks
FROM vertical_partition.advise('wide');

-- Rights: who may read a table gets the advice, and the owner alone can follow it.
SET ROLE regress_vp_reader;
SELECT method FROM vertical_partition.advise('wide');
RESET ROLE;
GRANT SELECT ON wide TO regress_vp_reader;
SET ROLE regress_vp_reader;
SELECT method FROM vertical_partition.advise('wide');
SELECT statement FROM vertical_partition.advise('wide') \gexec
RESET ROLE;
REVOKE EXECUTE ON FUNCTION toast_policy.recompress FROM PUBLIC;
SET ROLE regress_vp_reader;
SELECT method, reason ~ 'you may not call the functions of extension "toast_policy"' AS reason FROM vertical_partition.advise('wide');
RESET ROLE;
GRANT EXECUTE ON FUNCTION toast_policy.recompress TO PUBLIC;
-- A function that another role owns is not called.
ALTER FUNCTION toast_policy.compare_out_of_line OWNER TO regress_vp_reader;
SELECT method, regexp_replace(reason, '^.*; ', '') AS reason FROM vertical_partition.advise('wide');
ALTER FUNCTION toast_policy.compare_out_of_line OWNER TO CURRENT_USER;
-- No lock stays: the advice can be about thousands of tables.
BEGIN;
SELECT method FROM vertical_partition.advise('wide');
SELECT count(*) FROM pg_locks WHERE relation = 'wide'::regclass AND pid = pg_backend_pid();
COMMIT;

-- What prevents a split need not prevent values out of line.
CREATE VIEW on_wide AS SELECT * FROM wide;
SELECT method, regexp_replace(reason, '^.*; ', '') AS reason, blockers, statement FROM vertical_partition.advise('wide') \gx
SELECT relation, method FROM vertical_partition.advise(min_bytes => 1000000, min_updates => 100) ORDER BY relation::text;
DROP VIEW on_wide;
-- Values out of line need no key.  Without wide columns, the table stays as it is.
CREATE TABLE no_key AS SELECT * FROM wide;
CREATE TABLE narrow_no_key AS SELECT * FROM narrow;
CALL count_updates('no_key');
CALL count_updates('narrow_no_key');
VACUUM FULL ANALYZE no_key;
VACUUM FULL ANALYZE narrow_no_key;
SELECT relation, columns, method, regexp_replace(reason, '^.*; ', '') AS reason, blockers, statement, bytes_now IS NULL AS no_sizes
FROM unnest('{no_key,narrow_no_key}'::regclass[]) x (x), vertical_partition.advise(x);

-- What prevents values out of line need not prevent a split.
ALTER TABLE wide SET (toast_tuple_target = 1000);
SELECT method, regexp_replace(reason, '^.*; ', '') AS reason FROM vertical_partition.advise('wide');
ALTER TABLE wide RESET (toast_tuple_target);
ALTER TABLE wide ALTER name SET STORAGE EXTERNAL;
SELECT method, regexp_replace(reason, '^.*; ', '') AS reason FROM vertical_partition.advise('wide');
ALTER TABLE wide ALTER name SET STORAGE EXTENDED;
SET toast_policy.out_of_line = off;
SELECT method, regexp_replace(reason, '^.*; ', '') AS reason FROM vertical_partition.advise('wide');
RESET toast_policy.out_of_line;
-- A session that has not loaded the library knows the setting only as a text.
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET toast_policy.out_of_line = no', current_database()); END $$;
\c
SET client_min_messages = warning;
SET search_path = vpo, public;
SELECT method, regexp_replace(reason, '^.*; ', '') AS reason FROM vertical_partition.advise('wide');
CREATE TABLE at_once (id int, wide text);
SELECT toast_policy.enable_out_of_line('at_once', 128, 'wide');
DROP TABLE at_once;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET toast_policy.out_of_line', current_database()); END $$;
\c
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET default_toast_compression = pglz;
SET jit = off;
SET search_path = vpo, public;
-- The policy governs each column with STORAGE EXTERNAL, also if this is the default of its type.  But
-- it does not govern ztext, and domains over ztext.
CREATE TYPE vec;
CREATE FUNCTION vec_in(cstring) RETURNS vec LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION vec_out(vec) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE vec (INPUT = vec_in, OUTPUT = vec_out, LIKE = text, STORAGE = external);
CREATE DOMAIN zdomain AS ztext;
CREATE TABLE vectors (k int PRIMARY KEY, n int NOT NULL, embedding vec, body text);
INSERT INTO vectors SELECT i, i, noise(300, i)::vec, noise(700, -i) FROM generate_series(1, 4000) i;
CREATE INDEX ON vectors (md5(embedding::text));
CREATE TABLE packs (k int PRIMARY KEY, n int NOT NULL, embedding zdomain, body text);
INSERT INTO packs SELECT i, i, noise(300, i), noise(700, -i) FROM generate_series(1, 4000) i;
CREATE INDEX ON packs (md5(embedding::text));
CALL count_updates('vectors');
CALL count_updates('packs');
VACUUM FULL ANALYZE vectors;
VACUUM FULL ANALYZE packs;
SELECT relation, columns, method, regexp_replace(reason, '^.*; ', '') ~ 'column "embedding" has STORAGE EXTERNAL' AS embedding
FROM unnest('{vectors,packs}'::regclass[]) x (x), vertical_partition.advise(x);
-- It is the same in a table of the access method.
SELECT toast_policy.enable('vectors', 'body');
SELECT columns, method, regexp_replace(reason, '^.*; ', '') AS reason FROM vertical_partition.advise('vectors');
-- What undo leaves of a table of the access method that had no governed column.
CREATE TABLE own (k int PRIMARY KEY, n int, wide text) USING toast_policy WITH (toast_tuple_target = 256.0);
INSERT INTO own SELECT i, i, noise(400, i) FROM generate_series(1, 4000) i;
CALL count_updates('own');
VACUUM FULL ANALYZE own;
SELECT method, statement, undo FROM vertical_partition.advise('own') \gx
CREATE TABLE own_proposal AS SELECT * FROM vertical_partition.advise('own');
SELECT statement FROM own_proposal \gexec
SELECT undo FROM own_proposal \gexec
SELECT m.amname, c.reloptions, a.attstorage FROM pg_class c JOIN pg_am m ON m.oid = c.relam JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.oid = 'own'::regclass AND a.attname = 'wide';
ALTER TABLE own ALTER wide SET STORAGE EXTERNAL;
SELECT columns, reason FROM vertical_partition.advise('own');

-- Partitioned tables are never split.  toast_policy tells what they would gain.
SELECT method, reason, blockers FROM vertical_partition.advise('parts');
BEGIN;
CREATE TEMP TABLE predicted AS SELECT * FROM toast_policy.compare_out_of_line('parts', '{wide}');
SELECT relation::regclass, mode FROM pg_locks WHERE relation IN ('parts_1'::regclass, 'parts_2'::regclass) AND pid = pg_backend_pid();
COMMIT;
SELECT toast_policy.enable_out_of_line('parts', 256, 'wide');
SELECT toast_policy.recompress('parts');
SELECT near('table', p.table_bytes, sum(pg_relation_size(t))::bigint), near('TOAST', p.toast_bytes, sum(pg_total_relation_size(c.reltoastrelid))::bigint)
FROM predicted p, unnest('{parts_1,parts_2}'::regclass[]) t JOIN pg_class c ON c.oid = t WHERE p.min_bytes = 256 GROUP BY p.table_bytes, p.toast_bytes;

-- A table that has values out of line keeps its limit, and undo leaves them there.  What is out of line
-- need not be split off.
SELECT statement FROM vertical_partition.advise('limits') \gexec
VACUUM FULL ANALYZE limits;
SELECT columns, reason, statement FROM vertical_partition.advise('limits');
ALTER TABLE limits ADD more text;
ALTER TABLE limits ALTER more SET STORAGE MAIN;
UPDATE limits SET more = noise(550, k);
VACUUM FULL ANALYZE limits;
CALL count_updates('limits');
VACUUM FULL ANALYZE limits;
SELECT columns, statement, undo FROM vertical_partition.advise('limits') \gx
CREATE TABLE before AS SELECT c.relam, c.reloptions, array_agg(a.attstorage ORDER BY a.attnum) AS storage
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.oid = 'limits'::regclass AND a.attnum > 0 GROUP BY c.relam, c.reloptions;
CREATE TABLE proposal AS SELECT * FROM vertical_partition.advise('limits');
SELECT statement FROM proposal \gexec
SELECT near('table', hot_bytes_out_of_line, table_bytes('limits')), near('total', bytes_after, total_bytes('limits')) FROM proposal;
SELECT undo FROM proposal \gexec
SELECT near('total', bytes_now, total_bytes('limits')) FROM proposal;
SELECT b.relam = c.relam AND b.reloptions = c.reloptions AND b.storage = c.storage AS as_before
FROM before b, LATERAL (SELECT c.relam, c.reloptions, array_agg(a.attstorage ORDER BY a.attnum) AS storage
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.oid = 'limits'::regclass AND a.attnum > 0 GROUP BY c.relam, c.reloptions) c;

SELECT vertical_partition.reset_column_updates();
SET client_min_messages = error;
DROP SCHEMA vpo CASCADE;
DROP EXTENSION toast_policy;
DROP ROLE regress_vp_reader;
