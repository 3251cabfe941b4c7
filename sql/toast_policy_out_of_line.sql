--
-- Store governed values of small rows out of line: which values, in which commands, and what remains
-- as it is in heap.
--
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET default_toast_compression = pglz;
CREATE SCHEMA tp_out;
SET search_path = tp_out, public;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA public;
CREATE EXTENSION IF NOT EXISTS pageinspect SCHEMA public;
RESET client_min_messages;

-- Return text that does not compress.
CREATE FUNCTION noise(size int, seed int DEFAULT 1) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT left(string_agg(translate(encode(sha256((seed || '-' || i)::bytea), 'base64'), E'\n', ''), ''), size) FROM generate_series(1, size / 40 + 1) i $$;
-- Return text of 100 characters that take more bytes, and does not compress.
CREATE FUNCTION wide() RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT translate(noise(100), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚ') $$;
-- Return the numbers of values and chunks in a table's TOAST table, and a digest of the rows there.
CREATE FUNCTION outside(rel regclass, OUT "values" bigint, OUT chunks bigint, OUT rows text) LANGUAGE plpgsql AS $$
DECLARE toast oid := (SELECT reltoastrelid FROM pg_class WHERE oid = rel);
BEGIN
	IF toast <> 0 THEN
		EXECUTE format('SELECT count(DISTINCT chunk_id), count(*), md5(string_agg(concat_ws('' '', chunk_id, chunk_seq, xmin, ctid, md5(chunk_data)), '','' ORDER BY chunk_id, chunk_seq)) FROM %s', toast::regclass)
			INTO "values", chunks, rows;
	END IF;
END $$;
-- Return the lengths of the row versions in the first page of a table.
CREATE FUNCTION lengths(rel regclass) RETURNS text LANGUAGE sql AS
$$ SELECT string_agg(lp_len::text, ' ' ORDER BY lp) FROM heap_page_items(get_raw_page(rel::text, 0)) WHERE lp_flags = 1 $$;
-- Return the access method and the options of a table, and the storage of its columns.
CREATE FUNCTION settings(rel regclass) RETURNS text LANGUAGE sql AS
$$ SELECT concat_ws(' ', m.amname, c.reloptions, (SELECT string_agg(attname || ' ' || attstorage::text, ', ' ORDER BY attnum) FROM pg_attribute a WHERE attrelid = rel AND attnum > 0 AND attlen = -1))
FROM pg_class c LEFT JOIN pg_am m ON m.oid = relam WHERE c.oid = rel $$;

--
-- enable_out_of_line() and disable()
--
CREATE TABLE c (id int PRIMARY KEY, n int, cold text, hot text) WITH (fillfactor = 50);
SELECT toast_policy.enable_out_of_line('c');
SELECT toast_policy.enable_out_of_line('c', 127, 'cold');
SELECT toast_policy.enable_out_of_line('c', 2032, 'cold');
SELECT toast_policy.enable_out_of_line('c', 128, 'nowhere');
SELECT toast_policy.enable_out_of_line('c', 128, 'n');
SELECT toast_policy.enable_out_of_line('pg_class', 128, 'relname');
SELECT settings('c');
SELECT toast_policy.enable_out_of_line('c', 128, 'cold');
SELECT settings('c');
SELECT column_name, storage, out_of_line FROM toast_policy.status WHERE relation = 'c'::regclass;
-- Without names, only the size changes.  enable() of a further column tells what follows.
SELECT toast_policy.enable_out_of_line('c', 300);
SELECT settings('c');
SELECT toast_policy.enable('c', 'hot');
SELECT toast_policy.disable('c', 'hot');
SELECT settings('c');
SELECT toast_policy.enable_out_of_line('c');
SELECT settings('c');

--
-- Which values go out of line
--
INSERT INTO c SELECT row_number() OVER (), 0, noise(size), noise(100) FROM unnest(ARRAY[NULL, 0, 1, 100, 126, 127, 128, 400]) size;
SELECT id, length(cold), pg_column_size(cold), pg_column_compression(cold) FROM c ORDER BY id;
SELECT lengths('c');
SELECT "values", chunks FROM outside('c');
-- Values are compressed first, if that makes them smaller.  A value that then takes less than 128
-- bytes stays in its row.
TRUNCATE c;
INSERT INTO c VALUES (1, 0, repeat('x', 1000), 'short'), (2, 0, noise(300) || repeat('x', 300), 'not');
SELECT id, length(cold), pg_column_size(cold), pg_column_compression(cold) FROM c ORDER BY id;
SELECT lengths('c');
SELECT "values", chunks FROM outside('c');
-- Other columns of small rows stay as they are, also if they could be compressed or moved.
TRUNCATE c;
INSERT INTO c VALUES (1, 0, noise(200), repeat('h', 1500)), (2, 0, 'small', repeat('h', 1500)), (3, 0, noise(1900), noise(1900));
SELECT id, pg_column_size(cold) AS cold, pg_column_size(hot) AS hot, pg_column_compression(hot) FROM c ORDER BY id;
SELECT lengths('c');
SELECT "values", chunks FROM outside('c');
UPDATE c SET n = 1;
SELECT id, pg_column_size(cold) AS cold, pg_column_size(hot) AS hot, pg_column_compression(hot) FROM c ORDER BY id;
SELECT "values", chunks FROM outside('c');
-- If a row is large even without these values, heap's ordinary rule applies to the rest of the row.
CREATE TABLE large (id int, cold text, x text, e text, m text, p text);
ALTER TABLE large ALTER e SET STORAGE EXTERNAL, ALTER m SET STORAGE MAIN, ALTER p SET STORAGE PLAIN;
CREATE TABLE large_heap (LIKE large INCLUDING ALL);
SELECT toast_policy.enable_out_of_line('large', 128, 'cold');
ALTER TABLE large ALTER e SET STORAGE EXTENDED;
ALTER TABLE large_heap ALTER e SET STORAGE EXTENDED;
INSERT INTO large VALUES (1, noise(200), noise(1500), repeat('e', 3000), repeat('m', 1000), noise(100)),
	(2, noise(200), noise(1500), noise(1000), repeat('m', 1000), noise(100)), (3, noise(3000), noise(3000), noise(1000), noise(3000), noise(3000)),
	(4, noise(150), NULL, NULL, noise(2500), NULL), (5, noise(150), repeat('x', 3000), NULL, NULL, noise(1000)),
	(6, noise(150), noise(1000), NULL, repeat('m', 1500), NULL);
-- In a table of heap, these rows have the same values, but the first one is a pointer by itself.
INSERT INTO large_heap SELECT id, left(cold, 17), x, e, m, p FROM large;
SELECT id, pg_column_size(l.cold) AS cold, pg_column_size(l.x) AS x, pg_column_size(l.e) AS e, pg_column_size(l.m) AS m, pg_column_size(l.p) AS p,
	(pg_column_size(h.x), pg_column_size(h.e), pg_column_size(h.m), pg_column_size(h.p)) IS NOT DISTINCT FROM
	(pg_column_size(l.x), pg_column_size(l.e), pg_column_size(l.m), pg_column_size(l.p)) AS as_heap
FROM large l JOIN large_heap h USING (id) ORDER BY id;
SELECT "values", chunks FROM outside('large');
SELECT "values", chunks FROM outside('large_heap');

--
-- UPDATE
--
TRUNCATE c;
INSERT INTO c SELECT i, 0, noise(400, i), 'hot' || i FROM generate_series(1, 5) i;
CREATE INDEX c_cold ON c (cold);
SELECT rows AS before FROM outside('c') \gset
BEGIN;
UPDATE c SET n = n + 1;
UPDATE c SET hot = repeat('h', 300);
MERGE INTO c USING generate_series(1, 2) i ON id = i WHEN MATCHED THEN UPDATE SET n = 7;
INSERT INTO c SELECT i, 0, 'conflict' FROM generate_series(3, 4) i ON CONFLICT (id) DO UPDATE SET n = 8;
SELECT n, md5(cold) = md5(noise(400, id)) AS same, length(hot) FROM c ORDER BY id FOR UPDATE;
SELECT pg_stat_get_xact_tuples_updated('c'::regclass) AS updates, pg_stat_get_xact_tuples_hot_updated('c'::regclass) AS hot_updates;
COMMIT;
-- No row of the TOAST table was written.
SELECT rows = :'before' AS unchanged, "values" FROM outside('c');
SET enable_seqscan = off;
SELECT id FROM c WHERE cold = noise(400, 3);
RESET enable_seqscan;
-- A value that becomes small, or null, returns into the row.
UPDATE c SET cold = 'small' WHERE id = 1;
UPDATE c SET cold = NULL WHERE id = 2;
UPDATE c SET cold = noise(500) WHERE id = 3 RETURNING length(cold);
UPDATE c SET cold = cold || 'x' WHERE id = 4;
DELETE FROM c WHERE id = 5;
SELECT id, pg_column_size(cold) FROM c ORDER BY id;
SELECT "values", chunks FROM outside('c');
DROP INDEX c_cold;

--
-- Other commands that write rows
--
CREATE TABLE source AS SELECT i AS id, 0 AS n, noise(CASE i % 3 WHEN 0 THEN 50 WHEN 1 THEN 300 ELSE 3000 END, i) AS cold, noise(60, i) AS hot FROM generate_series(1, 30) i;
CREATE FUNCTION same() RETURNS TABLE (same boolean, "values" bigint, chunks bigint) LANGUAGE sql AS $$
SELECT NOT EXISTS (SELECT id, cold, hot FROM tp_out.c EXCEPT SELECT id, cold, hot FROM tp_out.source) AND (SELECT count(*) FROM tp_out.c) = 30, o."values", o.chunks FROM tp_out.outside('tp_out.c') o $$;
TRUNCATE c;
INSERT INTO c TABLE source;
SELECT * FROM same();
\getenv folder PG_ABS_BUILDDIR
\set file :folder '/results/toast_policy_out_of_line.data'
COPY c TO :'file';
TRUNCATE c;
COPY c FROM :'file';
SELECT * FROM same();
BEGIN;
TRUNCATE c;
COPY c FROM :'file' WITH (FREEZE);
COMMIT;
SELECT * FROM same();
INSERT INTO c SELECT id + 100, n, cold, hot FROM c;
SELECT "values", chunks FROM outside('c');
DELETE FROM c WHERE id > 100;
MERGE INTO c USING (SELECT * FROM c) s ON c.id = s.id WHEN MATCHED AND c.id < 10 THEN DELETE WHEN MATCHED THEN UPDATE SET hot = s.hot;
MERGE INTO c USING source s ON c.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n, s.cold, s.hot);
SELECT * FROM same();
-- A trigger replaces a value, and a generated column is governed.
CREATE FUNCTION replace_cold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.cold := NEW.cold || NEW.cold; RETURN NEW; END $$;
CREATE TRIGGER replace_cold BEFORE INSERT ON c FOR EACH ROW EXECUTE FUNCTION replace_cold();
INSERT INTO c VALUES (100, 0, noise(100), 'trigger') RETURNING length(cold);
DROP TRIGGER replace_cold ON c;
SELECT "values", chunks FROM outside('c');
DELETE FROM c WHERE id = 100;
CREATE TABLE generated (id int, part text, cold text GENERATED ALWAYS AS (part || part) STORED);
SELECT toast_policy.enable_out_of_line('generated', 200, 'cold');
INSERT INTO generated VALUES (1, noise(99)), (2, noise(199));
UPDATE generated SET id = id + 1;
SELECT id, pg_column_size(cold), cold = part || part AS same FROM generated ORDER BY id;
SELECT "values", chunks FROM outside('generated');
-- Expanded values
CREATE TABLE arrays (id int, cold int[]);
SELECT toast_policy.enable_out_of_line('arrays', 128, 'cold');
DO $$
DECLARE a int[] := array_fill(1, ARRAY[10]);
BEGIN
	a[1] := 2;
	INSERT INTO arrays VALUES (1, a);
	a := (SELECT array_agg(i * 7919 % 104729) FROM generate_series(1, 200) i);
	a[1] := 2;
	INSERT INTO arrays VALUES (2, a);
END $$;
SELECT id, cardinality(cold), pg_column_size(cold) FROM arrays ORDER BY id;
SELECT "values", chunks FROM outside('arrays');

--
-- Commands that rewrite the table
--
VACUUM FULL c;
SELECT * FROM same();
SET enable_seqscan = off;
CLUSTER c USING c_pkey;
RESET enable_seqscan;
SELECT * FROM same();
SET enable_indexscan = off;
CLUSTER c;
RESET enable_indexscan;
SELECT * FROM same();
ALTER TABLE c ALTER n TYPE bigint;
SELECT * FROM same();
SELECT toast_policy.recompress('c');
SELECT * FROM same();
VACUUM FULL large;
SELECT id, pg_column_size(l.cold) AS cold, pg_column_size(l.x) AS x, pg_column_size(l.e) AS e, pg_column_size(l.m) AS m, pg_column_size(l.p) AS p FROM large l ORDER BY id;
SELECT "values", chunks FROM outside('large');
-- Rewrite row versions that another snapshot could see.
BEGIN;
UPDATE c SET n = n + 1, cold = cold || 'x' WHERE id < 10;
UPDATE c SET n = n + 1, hot = hot || 'x' WHERE id BETWEEN 5 AND 15;
SAVEPOINT undone;
UPDATE c SET cold = noise(5000);
ROLLBACK TO undone;
CLUSTER c;
SELECT count(*), count(*) FILTER (WHERE c.cold = s.cold || CASE WHEN id < 10 THEN 'x' ELSE '' END) AS same, count(*) FILTER (WHERE c.hot = s.hot) AS hot FROM c JOIN source s USING (id);
COMMIT;
UPDATE c SET cold = left(cold, -1) WHERE id < 10;
UPDATE c SET hot = left(hot, -1) WHERE id BETWEEN 5 AND 15;
SELECT * FROM same();
SELECT * FROM toast_policy.check('c', true);
SELECT * FROM toast_policy.check('large', true);

--
-- Errors while heap writes a row leave nothing behind
--
ALTER TABLE c ADD p text;
ALTER TABLE c ALTER p SET STORAGE PLAIN;
BEGIN;
SAVEPOINT s;
INSERT INTO c VALUES (200, 0, noise(300), repeat('h', 100), repeat('p', 9000));
ROLLBACK TO s;
INSERT INTO c VALUES (200, 0, 'small', noise(5000), NULL);
SAVEPOINT s;
UPDATE c SET cold = noise(300), p = repeat('p', 9000) WHERE id = 200;
ROLLBACK TO s;
UPDATE c SET n = 1 WHERE id = 200;
INSERT INTO c VALUES (201, 0, noise(300), repeat('h', 5000), NULL);
COMMIT;
DO $$
BEGIN
	INSERT INTO c VALUES (202, 0, noise(300), 'x', repeat('p', 9000));
EXCEPTION WHEN program_limit_exceeded THEN
	INSERT INTO c VALUES (202, 0, noise(300), noise(3000), NULL);
END $$;
SELECT id, pg_column_size(cold) AS cold, pg_column_size(hot) AS hot, pg_column_compression(hot) FROM c WHERE id >= 200 ORDER BY id;
SELECT settings('c');
SELECT "values", chunks FROM outside('c');

--
-- Tables that get the settings in other ways
--
-- The rows of this table cannot be larger than 2 kB, so heap would need no TOAST table.
CREATE TABLE narrow (id int, cold varchar(100), hot varchar(100));
SELECT reltoastrelid = 0 AS no_toast FROM pg_class WHERE oid = 'narrow'::regclass;
SELECT toast_policy.enable_out_of_line('narrow', 128, 'cold');
INSERT INTO narrow VALUES (1, wide(), 'x'), (2, noise(100), 'x');
ALTER TABLE narrow ALTER cold TYPE varchar(300), ALTER cold SET STORAGE EXTERNAL;
INSERT INTO narrow VALUES (3, noise(300), 'x');
SELECT "values", chunks FROM outside('narrow');
-- Without such a table, nothing goes out of line.
CREATE TABLE without (id int, cold varchar(100));
SELECT toast_policy.enable('without', 'cold');
ALTER TABLE without SET (toast_tuple_target = 128);
INSERT INTO without VALUES (1, wide());
UPDATE without SET id = 2;
SELECT reltoastrelid = 0 AS no_toast, pg_column_size(cold) FROM pg_class, without WHERE oid = 'without'::regclass;
SELECT toast_policy.enable_out_of_line('without', 128);
UPDATE without SET id = 3;
SELECT "values", chunks FROM outside('without');
-- These are the statements of a dump.
CREATE TABLE dumped (id int, cold varchar(100)) USING toast_policy WITH (toast_tuple_target = 128);
ALTER TABLE ONLY dumped ALTER COLUMN cold SET STORAGE EXTERNAL;
SELECT reltoastrelid <> 0 AS toast FROM pg_class WHERE oid = 'dumped'::regclass;
-- ALTER TABLE with a weak lock can add a TOAST table if the transaction has a stronger lock.
CREATE TABLE locked (id int, cold varchar(100));
SELECT toast_policy.enable('locked', 'cold');
ALTER TABLE locked SET (toast_tuple_target = 128);
SELECT reltoastrelid <> 0 AS toast FROM pg_class WHERE oid = 'locked'::regclass;
BEGIN;
LOCK TABLE locked;
ALTER TABLE locked SET (fillfactor = 50);
SELECT reltoastrelid <> 0 AS toast FROM pg_class WHERE oid = 'locked'::regclass;
ROLLBACK;
BEGIN;
LOCK TABLE locked;
ALTER TABLE locked ALTER cold SET STATISTICS 10;
INSERT INTO locked VALUES (1, wide());
COMMIT;
SELECT "values", chunks FROM outside('locked');
BEGIN;
CREATE TABLE created (id int, cold varchar(100)) USING toast_policy;
ALTER TABLE created ALTER cold SET STORAGE EXTERNAL;
ALTER TABLE created SET (toast_tuple_target = 128);
INSERT INTO created VALUES (1, wide());
COMMIT;
SELECT "values", chunks FROM outside('created');
-- CREATE TABLE sets the options of the TOAST table, and a rewrite keeps them.
CREATE TABLE copied (LIKE dumped INCLUDING STORAGE) USING toast_policy WITH (toast_tuple_target = 128, toast.autovacuum_enabled = off);
ALTER TABLE copied ALTER id TYPE bigint;
SELECT reloptions FROM pg_class WHERE oid = (SELECT reltoastrelid FROM pg_class WHERE oid = 'copied'::regclass);
-- Existing rows change when they are written, or by recompress().
CREATE TABLE present (id int, n int, cold text);
INSERT INTO present SELECT i, 0, noise(300, i) FROM generate_series(1, 10) i;
SELECT toast_policy.enable_out_of_line('present', 128, 'cold');
SELECT "values" FROM outside('present');
UPDATE present SET n = 1 WHERE id < 3;
SELECT "values" FROM outside('present');
SELECT toast_policy.recompress('present');
SELECT "values" FROM outside('present');
-- Partitions get the option, but a later partition has to be named.
CREATE TABLE parts (id int, cold text) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
SELECT toast_policy.enable_out_of_line('parts', 256, 'cold');
INSERT INTO parts VALUES (1, noise(300));
SELECT "values" FROM outside('part1');
SET client_min_messages = warning;
CREATE TABLE part2 PARTITION OF parts FOR VALUES FROM (10) TO (20);
RESET client_min_messages;
SELECT settings('part2');
SELECT toast_policy.enable_out_of_line('part2', 256);
SELECT settings('part2');
CREATE MATERIALIZED VIEW mv AS SELECT i AS id, noise(200, i) AS cold FROM generate_series(1, 10) i WITH NO DATA;
SELECT toast_policy.enable_out_of_line('mv', 128, 'cold');
REFRESH MATERIALIZED VIEW mv;
SELECT "values" FROM outside('mv');
CREATE TEMP TABLE temporary (id int, cold text);
SELECT toast_policy.enable_out_of_line('temporary', 128, 'cold');
INSERT INTO temporary VALUES (1, noise(200));
SELECT "values" FROM outside('temporary');

--
-- The way back
--
-- If the setting is off, toast_tuple_target has its meaning in heap.
SET toast_policy.out_of_line = off;
INSERT INTO present VALUES (11, 0, noise(300)), (12, 0, noise(3000));
SELECT "values" FROM outside('present');
RESET toast_policy.out_of_line;
SELECT toast_policy.disable('present');
SELECT settings('present');
UPDATE present SET n = n + 1;
SELECT "values" FROM outside('present');
VACUUM FULL present;
SELECT "values" FROM outside('present');
SELECT count(*) FROM present WHERE id < 11 AND cold = noise(300, id);
SELECT toast_policy.disable('parts');
SELECT settings('parts'), settings('part1'), settings('part2');
-- The option alone ends it, too.
ALTER TABLE c RESET (toast_tuple_target);
UPDATE c SET cold = noise(300) WHERE id = 3;
VACUUM FULL c;
SELECT id, pg_column_size(cold) FROM c WHERE id IN (1, 3) ORDER BY id;
SELECT "values", chunks FROM outside('c');

SET client_min_messages = warning;
DROP SCHEMA tp_out CASCADE;
