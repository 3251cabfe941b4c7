--
-- Run DDL and DML on a governed table and on a heap table.  Both tables must always have the same
-- rows.  Values that a command has no reason to change must be stored as before.
--
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET default_toast_compression = pglz;
CREATE SCHEMA tp_ddl;
SET search_path = tp_ddl;
CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA public;

-- Return text that does not compress, and the values of a row.
CREATE FUNCTION noise(seed int, size int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT left(string_agg(md5(seed || '-' || i), ''), size) FROM generate_series(0, size / 32) i $$;
CREATE FUNCTION sample(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
SELECT CASE i % 8 WHEN 0 THEN 'short ' || i WHEN 1 THEN repeat('few ' || i, 300) WHEN 2 THEN repeat('many ' || i, 3000)
  WHEN 3 THEN tp_ddl.noise(i, 1000) WHEN 4 THEN tp_ddl.noise(i, 3900) WHEN 5 THEN tp_ddl.noise(i, 10000)
  WHEN 6 THEN tp_ddl.noise(i, 10000) || repeat('tail ', 2000) END $$;

-- Run a statement on table d and on its heap twin d_heap, with @ for the name of the table.
CREATE FUNCTION twice(statement text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE replace(statement, '@', 'd_heap');
	EXECUTE replace(statement, '@', 'd');
END $$;

-- Return how the values of a table are stored: size, method, and the number of all chunks.
CREATE FUNCTION stored(rel regclass, OUT chunks bigint, OUT "values" text) LANGUAGE plpgsql AS $$
DECLARE toast oid; columns text;
BEGIN
	SELECT reltoastrelid INTO toast FROM pg_class WHERE oid = rel;
	IF toast <> 0 THEN
		EXECUTE format('SELECT count(DISTINCT (chunk_id, chunk_seq)) FROM %s', toast::regclass) INTO chunks;
	END IF;
	SELECT string_agg(format('pg_column_size(%1$I), pg_column_compression(%1$I)', attname), ', ' ORDER BY attnum) INTO columns
	FROM pg_attribute WHERE attrelid = rel AND attname IN ('doc', 'extra', 'j', 'up', 'p', 'l', 'b', 'h');
	EXECUTE format('SELECT string_agg(ROW(id, %s)::text, '','' ORDER BY id) FROM ONLY %s', columns, rel) INTO "values";
END $$;

-- Run a statement that must not change how values are stored, and compare rows and storage.
CREATE FUNCTION keeps(statement text, OUT same bool, OUT kept bool, OUT governed bool) LANGUAGE plpgsql AS $$
DECLARE before record; after record;
BEGIN
	before := tp_ddl.stored('d');
	PERFORM tp_ddl.twice(statement);
	after := tp_ddl.stored('d');
	same := tp_ddl.same();
	kept := before."values" = after."values" AND before.chunks IS NOT DISTINCT FROM after.chunks;
	governed := tp_ddl.governed('d') <> '';
END $$;

CREATE FUNCTION same() RETURNS bool LANGUAGE plpgsql AS $$
DECLARE heap text; mine text;
BEGIN
	SELECT count(*) || md5(string_agg(x::text, ',' ORDER BY id, x::text)) INTO heap FROM tp_ddl.d_heap x;
	SELECT count(*) || md5(string_agg(x::text, ',' ORDER BY id, x::text)) INTO mine FROM tp_ddl.d x;
	RETURN mine IS NOT DISTINCT FROM heap AND mine IS NOT NULL;
END $$;

-- Return the governed columns of a table.
CREATE FUNCTION governed(rel regclass) RETURNS text LANGUAGE sql STABLE AS $$
SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute JOIN pg_class c ON c.oid = attrelid JOIN pg_am a ON a.oid = relam
WHERE attrelid = rel AND amname = 'toast_policy' AND attstorage = 'e' AND NOT attisdropped $$;

-- Return the access method and its dependency, and the storage of columns and index keys.
CREATE FUNCTION state(rel regclass) RETURNS text LANGUAGE sql STABLE AS $$
SELECT amname || ' ' || (SELECT count(*) FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_am'::regclass)
  || (SELECT string_agg(format(' %s=%s', attname, attstorage), '' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped)
  || coalesce((SELECT string_agg(format(' (%s=%s)', attname, attstorage), '' ORDER BY attrelid::regclass::text, attnum)
    FROM pg_attribute JOIN pg_index ON attrelid = indexrelid WHERE indrelid = c.oid), '')
FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE c.oid = rel $$;

CREATE TABLE d (id int PRIMARY KEY, doc text, extra text DEFAULT 'x', j jsonb);
SELECT toast_policy.enable('d', 'doc', 'j');
CREATE TABLE d_heap (id int PRIMARY KEY, doc text, extra text DEFAULT 'x', j jsonb);
INSERT INTO d SELECT i, sample(i), sample(i + 5), to_jsonb(ARRAY[sample(i + 3), i::text]) FROM generate_series(1, 80) i;
INSERT INTO d_heap SELECT i, sample(i), sample(i + 5), to_jsonb(ARRAY[sample(i + 3), i::text]) FROM generate_series(1, 80) i;
SELECT same(), governed('d'), state('d');
-- The table has values of each kind: in line and out of line, compressed and raw.
SELECT count(*) FILTER (WHERE pg_column_compression(doc) = 'pglz' AND pg_column_size(doc) > 2000) > 0 AS compressed_outside,
       count(*) FILTER (WHERE pg_column_compression(doc) = 'pglz' AND pg_column_size(doc) < 2000) > 0 AS compressed_inside,
       count(*) FILTER (WHERE pg_column_compression(doc) IS NULL AND pg_column_size(doc) > 2000) > 0 AS raw_outside FROM d;

--
-- Commands that rewrite a table or could do so
--
SELECT stored('d') AS stored_before \gset
VACUUM FULL d;
SELECT same(), governed('d'), stored('d')::text = :'stored_before' AS kept;
SELECT * FROM keeps('CLUSTER @ USING @_pkey');
SELECT * FROM keeps('REINDEX TABLE @');
SELECT * FROM keeps('CREATE INDEX @_doc ON @ (md5(doc), left(doc, 20))');
SELECT * FROM keeps('CREATE INDEX @_hash ON @ USING hash (doc)');
SELECT * FROM keeps('ALTER TABLE @ ADD COLUMN added text');
SELECT * FROM keeps('ALTER TABLE @ ADD COLUMN fast text NOT NULL DEFAULT repeat(''default '', 1000)');
SELECT pg_column_compression(fast), count(*) FROM d GROUP BY 1;
SELECT * FROM keeps('ALTER TABLE @ DROP COLUMN added');
SELECT * FROM keeps('ALTER TABLE @ DROP COLUMN fast');
SELECT * FROM keeps('ALTER TABLE @ ALTER COLUMN doc TYPE varchar');
SELECT * FROM keeps('ALTER TABLE @ ALTER COLUMN doc TYPE text COLLATE "C"');
-- If a column gets a new type, core gives the column the storage of this type.
SELECT state('d');
SELECT toast_policy.enable('d', 'doc');
SELECT state('d');
-- As in heap, small values are compressed if another value of the row arrives compressed.
SELECT * FROM keeps('ALTER TABLE @ ALTER COLUMN id TYPE bigint');
SELECT * FROM keeps('ALTER TABLE @ ALTER COLUMN id TYPE int');
SELECT * FROM keeps('ALTER TABLE @ SET (fillfactor = 50)');
SELECT * FROM keeps('ALTER TABLE @ SET UNLOGGED');
SELECT * FROM keeps('ALTER TABLE @ SET LOGGED');
SELECT * FROM keeps('ALTER TABLE @ ADD CHECK (length(doc) >= 0)');
SELECT * FROM keeps('ALTER TABLE @ RENAME COLUMN extra TO other; ALTER TABLE @ RENAME COLUMN other TO extra');
SELECT * FROM keeps('ALTER TABLE @ ALTER COLUMN doc SET COMPRESSION pglz');
SELECT state('d');
-- recompress() changes no value.
SELECT (toast_policy.recompress('d') > 0), same(), governed('d');
SELECT bool_and(public.bt_index_check(indexrelid, true) IS NOT NULL) FROM pg_index JOIN pg_class c ON c.oid = indexrelid
WHERE indrelid = 'd'::regclass AND relam = (SELECT oid FROM pg_am WHERE amname = 'btree');

-- Change to heap and back, by core's own DDL, which copies values as they are stored.  But as in
-- heap, the first copy compresses small values if another value of the row arrives compressed.
ALTER TABLE d SET ACCESS METHOD heap;
ALTER TABLE d SET ACCESS METHOD toast_policy;
SELECT stored('d') AS stored_before \gset
ALTER TABLE d SET ACCESS METHOD heap;
SELECT same(), state('d');
ALTER TABLE d SET ACCESS METHOD toast_policy;
SELECT same(), state('d'), stored('d')::text = :'stored_before' AS kept;
-- Do the same by disable() and enable(), in a transaction that is rolled back, and in one that is
-- committed.
BEGIN;
SELECT toast_policy.disable('d');
INSERT INTO d VALUES (1000, repeat('heap', 10000));
SELECT state('d'), pg_column_compression(doc) FROM d WHERE id = 1000;
ROLLBACK;
SELECT same(), state('d'), stored('d')::text = :'stored_before' AS kept;
BEGIN;
SAVEPOINT a;
SELECT toast_policy.disable('d');
SAVEPOINT b;
SELECT toast_policy.enable('d', 'extra');
SELECT state('d');
ROLLBACK TO b;
SELECT state('d');
ROLLBACK TO a;
SELECT state('d');
SAVEPOINT c;
SELECT toast_policy.recompress('d') > 0 AS rewritten;
SELECT same(), state('d');
INSERT INTO d VALUES (1000, repeat('heap', 10000));
UPDATE d SET doc = sample(6) WHERE id < 10;
SELECT toast_policy.recompress('d') > 0 AS rewritten;
ROLLBACK TO c;
SELECT same(), state('d'), stored('d')::text = :'stored_before' AS kept;
INSERT INTO d VALUES (1001, repeat('kept', 10000));
INSERT INTO d_heap VALUES (1001, repeat('kept', 10000));
COMMIT;
SELECT same(), state('d');
-- Create, fill and rewrite a table in one transaction.
BEGIN;
CREATE TABLE n (id int PRIMARY KEY, doc text);
INSERT INTO n SELECT i, sample(i) FROM generate_series(1, 16) i;
SELECT toast_policy.enable('n');
INSERT INTO n SELECT i, sample(i) FROM generate_series(17, 32) i;
SAVEPOINT a;
DELETE FROM n WHERE id % 2 = 0;
SELECT toast_policy.recompress('n');
ROLLBACK TO a;
SELECT toast_policy.recompress('n');
TRUNCATE n;
COPY n FROM STDIN (FREEZE);
1	one
2	two
\.
INSERT INTO n SELECT i, sample(i) FROM generate_series(3, 32) i;
COMMIT;
SELECT count(*), bool_and(id < 3 OR doc IS NOT DISTINCT FROM sample(id)), state('n') FROM n;
DROP TABLE n;

--
-- Settings of the table
--
SET toast_policy.out_of_line = off;
ALTER TABLE d ALTER COLUMN doc SET COMPRESSION default, SET (toast_tuple_target = 128);
ALTER TABLE d_heap ALTER COLUMN doc SET COMPRESSION default, SET (toast_tuple_target = 128);
SELECT twice('UPDATE @ SET doc = left(doc, 1500), j = NULL WHERE id < 20');
SELECT same();
-- As in heap, short rows are stored unchanged, and values of long rows are moved out of line until
-- the row has the target size.
SELECT count(*) FILTER (WHERE pg_column_size(a.doc) <> pg_column_size(b.doc)) FROM d a JOIN d_heap b USING (id) WHERE id < 20;
SELECT twice('ALTER TABLE @ RESET (toast_tuple_target)');
RESET toast_policy.out_of_line;
SELECT twice('UPDATE @ SET doc = sample(id), j = to_jsonb(ARRAY[sample(id + 3), id::text]) WHERE id < 20');
SELECT same();
SELECT twice('TRUNCATE @');
SELECT stored('d');
SELECT twice('INSERT INTO @ SELECT i, sample(i), sample(i + 5), to_jsonb(ARRAY[sample(i + 3), i::text]) FROM generate_series(1, 80) i');
SELECT same(), governed('d');

-- Values that are copied from table to table are stored as before, except for such small values.
CREATE TABLE c2 (LIKE d INCLUDING ALL) USING toast_policy;
SELECT state('c2');
INSERT INTO c2 SELECT * FROM d;
SELECT count(*), count(*) FILTER (WHERE c2 IS DISTINCT FROM d), count(*) FILTER (WHERE pg_column_size(c2.doc) IS DISTINCT FROM pg_column_size(d.doc)),
  count(*) FILTER (WHERE pg_column_compression(c2.doc) IS DISTINCT FROM pg_column_compression(d.doc)) FROM c2 JOIN d USING (id);
DROP TABLE c2;

--
-- Writers
--
SELECT twice($$ INSERT INTO @ VALUES (1, sample(2)), (200, sample(2)) ON CONFLICT (id) DO UPDATE SET doc = excluded.doc || @.doc $$);
SELECT twice($$ INSERT INTO @ VALUES (1, sample(10)), (201, sample(6)) ON CONFLICT DO NOTHING $$);
SELECT same();
CREATE TABLE source AS SELECT i AS id, sample(i + 1) AS doc FROM generate_series(70, 90) i;
SELECT twice($$ MERGE INTO @ t USING source s ON t.id = s.id WHEN MATCHED AND t.id % 5 = 0 THEN DELETE
  WHEN MATCHED THEN UPDATE SET doc = s.doc, extra = s.doc WHEN NOT MATCHED THEN INSERT (id, doc, j) VALUES (s.id, s.doc, to_jsonb(s.doc)) $$);
SELECT same();
SELECT twice('UPDATE @ t SET doc = s.doc || t.doc FROM @ s WHERE s.id = t.id + 1');
SELECT same();
-- Move values between rows and columns, in line and out of line.
SELECT twice('UPDATE @ t SET doc = s.extra, extra = s.doc, j = s.j FROM @ s WHERE s.id = t.id + 2');
SELECT same();
SELECT twice('UPDATE @ SET id = -id WHERE id % 3 = 0');
SELECT twice($$ UPDATE @ SET doc = 'short' WHERE id % 7 = 0 $$);
SELECT twice('DELETE FROM @ WHERE id % 4 = 0');
SELECT same();
VACUUM d;
SELECT same();
-- As in heap, values that are not used any more are removed from the TOAST table.
SELECT count(*) FILTER (WHERE pg_column_size(a.doc) > pg_column_size(b.doc) + 1996) FROM d a JOIN d_heap b USING (id);

-- RETURNING shows the stored row, also its system columns.
WITH w AS (INSERT INTO d VALUES (300, sample(2)), (301, sample(5)), (302, sample(6))
  RETURNING id, doc, xmin, cmin, cmax, xmax, ctid, tableoid)
SELECT id, doc = sample(CASE id WHEN 300 THEN 2 WHEN 301 THEN 5 ELSE 6 END), xmin::text = (pg_current_xact_id()::text::bigint % 4294967296)::text AS xmin,
  cmin, cmax, xmax, tableoid::regclass FROM w;
WITH w AS (UPDATE d SET doc = sample(2) || doc WHERE id >= 300 RETURNING id, xmin, cmin, cmax, xmax, ctid, tableoid)
SELECT id, xmin::text = (pg_current_xact_id()::text::bigint % 4294967296)::text AS xmin, cmin, cmax, xmax, tableoid::regclass FROM w;
CREATE TEMP TABLE told AS WITH w AS (UPDATE d SET doc = sample(6) WHERE id >= 300 RETURNING id, xmin AS x, ctid AS c) SELECT * FROM w;
SELECT count(*) FROM d JOIN told USING (id) WHERE d.ctid = told.c AND d.xmin = told.x;
DELETE FROM d WHERE id >= 300;

-- BEFORE and AFTER triggers and transition tables have raw rows.
CREATE TABLE log (line text);
CREATE FUNCTION log_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO log VALUES (concat_ws(' ', TG_WHEN, TG_OP, replace(TG_TABLE_NAME, '_heap', ''), CASE WHEN TG_OP <> 'INSERT' THEN md5(OLD::text) END,
		CASE WHEN TG_OP <> 'DELETE' THEN md5(NEW::text) END));
	IF TG_WHEN = 'BEFORE' AND TG_OP <> 'DELETE' THEN NEW.extra := repeat('trigger ', 1000); END IF;
	RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE FUNCTION log_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO log SELECT 'new ' || md5(string_agg(n::text, ',' ORDER BY id)) FROM n;
	RETURN NULL;
END $$;
CREATE FUNCTION log_old() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO log SELECT 'old ' || md5(string_agg(o::text, ',' ORDER BY id)) FROM o;
	RETURN NULL;
END $$;
SELECT twice('CREATE TRIGGER b BEFORE INSERT OR UPDATE OR DELETE ON @ FOR EACH ROW EXECUTE FUNCTION log_row()');
SELECT twice('CREATE TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON @ FOR EACH ROW EXECUTE FUNCTION log_row()');
SELECT twice('CREATE TRIGGER i AFTER INSERT ON @ REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION log_new()');
SELECT twice('CREATE TRIGGER u AFTER UPDATE ON @ REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION log_new()');
SELECT twice('CREATE TRIGGER v AFTER UPDATE ON @ REFERENCING OLD TABLE AS o FOR EACH STATEMENT EXECUTE FUNCTION log_old()');
SELECT twice('CREATE TRIGGER x AFTER DELETE ON @ REFERENCING OLD TABLE AS o FOR EACH STATEMENT EXECUTE FUNCTION log_old()');
SELECT twice('INSERT INTO @ SELECT i, sample(i), NULL, to_jsonb(sample(i)) FROM generate_series(400, 420) i');
SELECT twice('UPDATE @ SET doc = sample(id + 1) WHERE id >= 400');
SELECT twice('UPDATE @ SET id = id + 100 WHERE id >= 400');
SELECT twice('DELETE FROM @ WHERE id % 2 = 0 AND id >= 400');
SELECT same(), count(*), count(*) FILTER (WHERE n <> 2) AS not_twice FROM (SELECT line, count(*) AS n FROM log GROUP BY line) l;
SELECT twice('DROP TRIGGER b ON @; DROP TRIGGER a ON @; DROP TRIGGER i ON @; DROP TRIGGER u ON @; DROP TRIGGER v ON @; DROP TRIGGER x ON @');

-- Test cursors, locks and functions.
SELECT twice($$ DO 'DECLARE r record; c CURSOR FOR SELECT * FROM @ WHERE id > 0 ORDER BY id FOR UPDATE;
BEGIN FOR r IN c LOOP UPDATE @ SET doc = r.extra || r.doc WHERE CURRENT OF c; IF r.id % 9 = 0 THEN DELETE FROM @ WHERE CURRENT OF c; END IF; END LOOP; END' $$);
SELECT same();
BEGIN;
SELECT count(*), sum(length(doc)) > 0 FROM (SELECT * FROM d WHERE id % 2 = 1 FOR UPDATE) l;
SELECT count(*) FROM (SELECT * FROM d WHERE id % 2 = 1 FOR KEY SHARE SKIP LOCKED) l;
SAVEPOINT a;
UPDATE d SET doc = repeat('gone', 5000) WHERE id % 2 = 1;
ROLLBACK TO a;
COMMIT;
SELECT same();

-- Rows that fail late leave nothing behind.
INSERT INTO d SELECT i, sample(i + 1) FROM generate_series(1000, 1020) i UNION ALL SELECT 1000, 'again';
SELECT same();

--
-- Generated columns, domains, composites and arrays, which plpgsql keeps expanded
--
DROP TABLE d, d_heap;
CREATE DOMAIN document AS text CHECK (VALUE IS NULL OR length(VALUE) < 1000000);
CREATE TYPE pair AS (a text, b text);
CREATE TABLE d (id int PRIMARY KEY, doc document, up text GENERATED ALWAYS AS (upper(doc) || length(doc)) STORED, p pair, l text[], n int[], b bytea, h tsvector);
SELECT toast_policy.enable('d', 'doc', 'up', 'p', 'l', 'b', 'h');
CREATE TABLE d_heap (id int PRIMARY KEY, doc document, up text GENERATED ALWAYS AS (upper(doc) || length(doc)) STORED, p pair, l text[], n int[], b bytea, h tsvector);
SELECT twice('INSERT INTO @ (id, doc, p, l, n, b, h) SELECT i, sample(i), ROW(sample(i + 1), sample(i + 2))::pair, ARRAY[sample(i + 3), NULL, ''x''], ARRAY[i], sample(i)::bytea,
  to_tsvector(''simple'', noise(i, 20000)) FROM generate_series(1, 40) i');
SELECT same(), governed('d');
SELECT twice('UPDATE @ SET doc = sample(id + 1), p.b = doc, l[2] = doc, l[5] = doc');
SELECT same();
CREATE FUNCTION expanded() RETURNS void LANGUAGE plpgsql AS $$
DECLARE r d; a text[]; m int[];
BEGIN
	FOR r IN SELECT * FROM d WHERE id < 20 ORDER BY id LOOP
		r.l[1] := r.doc; r.p.a := r.doc; r.id := r.id + 1000;
		INSERT INTO d (id, doc, p, l, n, b) VALUES (r.id, r.doc, r.p, r.l, r.n, r.b);
		INSERT INTO d_heap (id, doc, p, l, n, b) VALUES (r.id, r.doc, r.p, r.l, r.n, r.b);
		FOR i IN 1..380 LOOP m[i] := ('x' || substr(md5(i::text), 1, 8))::bit(32)::int; END LOOP;
		a := ARRAY[]::text[];
		FOR i IN 1..20 LOOP a[i] := repeat(i::text, 300); END LOOP;
		UPDATE d SET n = m, l = a WHERE id = r.id;
		UPDATE d_heap SET n = m, l = a WHERE id = r.id;
		INSERT INTO d (id) VALUES (r.id + 1000);
		INSERT INTO d_heap (id) VALUES (r.id + 1000);
		UPDATE d SET n = m, doc = repeat('doc ', 150) WHERE id = r.id + 1000;
		UPDATE d_heap SET n = m, doc = repeat('doc ', 150) WHERE id = r.id + 1000;
	END LOOP;
END $$;
SELECT expanded();
SELECT same();
-- The values are as small as in heap.
SELECT count(*), count(*) FILTER (WHERE pg_column_size(a.doc) > pg_column_size(b.doc) OR pg_column_size(a.n) <> pg_column_size(b.n)
  OR pg_column_size(a.up) > pg_column_size(b.up) OR pg_column_size(a.l) > pg_column_size(b.l)) AS larger
FROM d a JOIN d_heap b USING (id) WHERE id > 1000;
SELECT * FROM keeps('CLUSTER @ USING @_pkey');
SELECT toast_policy.recompress('d') > 0, same();
DROP TABLE d, d_heap CASCADE;
DROP FUNCTION expanded;

--
-- Partitions
--
CREATE TABLE d (id int, part text, doc text, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE d_a PARTITION OF d FOR VALUES IN ('a');
CREATE TABLE d_b (doc text, junk int, part text NOT NULL, id int NOT NULL);
ALTER TABLE d_b DROP COLUMN junk;
ALTER TABLE d ATTACH PARTITION d_b FOR VALUES IN ('b');
CREATE TABLE d_c PARTITION OF d FOR VALUES IN ('c') PARTITION BY RANGE (id);
CREATE TABLE d_c1 PARTITION OF d_c FOR VALUES FROM (0) TO (50);
CREATE TABLE d_c2 PARTITION OF d_c DEFAULT;
SELECT toast_policy.enable('d', 'doc');
SELECT state(c) FROM unnest(ARRAY['d_a', 'd_b', 'd_c1', 'd_c2']::regclass[]) c;
CREATE TABLE d_heap (id int, part text, doc text, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE d_heap_a PARTITION OF d_heap FOR VALUES IN ('a');
CREATE TABLE d_heap_b PARTITION OF d_heap FOR VALUES IN ('b');
CREATE TABLE d_heap_c PARTITION OF d_heap FOR VALUES IN ('c');
SELECT twice('INSERT INTO @ SELECT i, chr(97 + i % 3), sample(i) FROM generate_series(1, 100) i');
SELECT same();
-- Move rows to another partition, with the same value and with a new one.
SELECT twice('UPDATE @ SET part = chr(97 + (ascii(part) - 96) % 3) WHERE id % 2 = 0');
SELECT twice('UPDATE @ SET part = chr(97 + (ascii(part) - 96) % 3), doc = sample(id + 1) WHERE id % 5 = 0');
SELECT twice('UPDATE @ SET id = id + 100 WHERE part = ''c'' AND id < 50');
SELECT same();
SELECT twice($$ INSERT INTO @ SELECT i, 'a', sample(i) FROM generate_series(1, 50) i ON CONFLICT (id, part) DO UPDATE SET doc = excluded.doc || 'again' $$);
SELECT same();
SELECT twice($$ MERGE INTO @ t USING source s ON t.id = s.id AND t.part = 'a' WHEN MATCHED THEN UPDATE SET doc = s.doc WHEN NOT MATCHED THEN INSERT VALUES (s.id + 1000, 'c', s.doc) $$);
SELECT same();
SELECT (toast_policy.recompress('d') > 0), same();
-- Detach and attach a partition.  The values are the same.
SELECT stored('d_a') AS stored_before \gset
ALTER TABLE d DETACH PARTITION d_a;
SELECT stored('d_a')::text = :'stored_before' AS kept, state('d_a');
INSERT INTO d_a SELECT i, 'a', sample(i) FROM generate_series(5000, 5010) i;
ALTER TABLE d ATTACH PARTITION d_a FOR VALUES IN ('a');
SELECT twice('DELETE FROM @ WHERE id BETWEEN 5000 AND 5010');
SELECT same();
SELECT count(*), bool_and(governed(c) = 'doc') FROM unnest(ARRAY['d_a', 'd_b', 'd_c1', 'd_c2']::regclass[]) c;
SELECT toast_policy.disable('d');
SELECT same(), string_agg(state(c), '; ') FROM unnest(ARRAY['d_a', 'd_b', 'd_c1', 'd_c2']::regclass[]) c;
DROP TABLE d, d_heap;

-- In inheritance, a child is a table of its own.
CREATE TABLE d (id int, doc text);
SELECT toast_policy.enable('d');
CREATE TABLE child (more text) INHERITS (d);
SELECT state('d'), state('child');
SELECT toast_policy.enable('child');
SELECT state('child');
CREATE TABLE d_heap (id int, doc text);
CREATE TABLE child_heap (more text) INHERITS (d_heap);
SELECT twice('INSERT INTO @ SELECT i, sample(i) FROM generate_series(1, 20) i');
INSERT INTO child SELECT i, sample(i), sample(i + 1) FROM generate_series(21, 40) i;
INSERT INTO child_heap SELECT i, sample(i), sample(i + 1) FROM generate_series(21, 40) i;
SELECT twice('UPDATE @ SET doc = doc || ''more'' WHERE id % 3 = 0');
SELECT same();
ALTER TABLE child NO INHERIT d;
ALTER TABLE child INHERIT d;
SELECT same(), state('child');
DROP TABLE d, d_heap CASCADE;

--
-- Temporary and unlogged tables
--
CREATE TEMP TABLE temporary (id int PRIMARY KEY, doc text) USING toast_policy ON COMMIT DELETE ROWS;
SELECT toast_policy.enable('temporary');
INSERT INTO temporary SELECT i, sample(i) FROM generate_series(1, 20) i;
SELECT count(*) FROM temporary;
BEGIN;
INSERT INTO temporary SELECT i, sample(i) FROM generate_series(1, 20) i;
SELECT toast_policy.recompress('temporary');
SELECT count(*), bool_and(doc IS NOT DISTINCT FROM sample(id)), count(pg_column_compression(doc)) > 0 FROM temporary;
COMMIT;
SELECT count(*) FROM temporary;
DROP TABLE temporary;
BEGIN;
CREATE TEMP TABLE temporary (id int PRIMARY KEY, doc text) USING toast_policy ON COMMIT DROP;
SELECT toast_policy.enable('temporary');
INSERT INTO temporary SELECT i, sample(i) FROM generate_series(1, 20) i;
SELECT count(*), bool_and(doc IS NOT DISTINCT FROM sample(id)) FROM temporary;
COMMIT;
SELECT to_regclass('temporary');
CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY, doc text) USING toast_policy;
SELECT toast_policy.enable('unlogged');
INSERT INTO unlogged SELECT i, sample(i) FROM generate_series(1, 20) i;
SELECT toast_policy.recompress('unlogged');
SELECT count(*), bool_and(doc IS NOT DISTINCT FROM sample(id)) FROM unlogged;
DROP TABLE unlogged;

--
-- Materialized views
--
CREATE MATERIALIZED VIEW mv USING toast_policy AS SELECT i AS id, sample(i) AS doc FROM generate_series(1, 40) i WITH NO DATA;
SELECT toast_policy.enable('mv');
SELECT state('mv');
SELECT toast_policy.recompress('mv');
REFRESH MATERIALIZED VIEW mv;
CREATE UNIQUE INDEX mv_id ON mv (id);
SELECT count(*), bool_and(doc IS NOT DISTINCT FROM sample(id)), count(pg_column_compression(doc)) > 0 AS compressed,
  count(*) FILTER (WHERE pg_column_size(doc) > 2000 AND pg_column_compression(doc) IS NULL) > 0 AS raw, state('mv') FROM mv;
REFRESH MATERIALIZED VIEW CONCURRENTLY mv;
SELECT toast_policy.recompress('mv');
SELECT count(*), bool_and(doc IS NOT DISTINCT FROM sample(id)), state('mv') FROM mv;
SELECT toast_policy.disable('mv');
REFRESH MATERIALIZED VIEW CONCURRENTLY mv;
SELECT count(*), bool_and(doc IS NOT DISTINCT FROM sample(id)), state('mv') FROM mv;
DROP MATERIALIZED VIEW mv;
CREATE TABLE made (id, doc) USING toast_policy AS SELECT i, sample(i) FROM generate_series(1, 40) i;
SELECT count(*), bool_and(doc IS NOT DISTINCT FROM sample(id)), state('made') FROM made;
DROP TABLE made;

--
-- Constraints and keys on governed columns, row security
--
CREATE TABLE parent (k text PRIMARY KEY, doc text UNIQUE);
SELECT toast_policy.enable('parent');
CREATE TABLE refers (id int PRIMARY KEY, k text REFERENCES parent ON UPDATE CASCADE ON DELETE CASCADE, EXCLUDE USING hash (k WITH =));
SELECT toast_policy.enable('refers');
SELECT state('parent'), state('refers');
-- These keys fit in an index only if they are compressed.
INSERT INTO parent SELECT repeat(i || ' key ', 3000), repeat(i || ' doc ', 3000) FROM generate_series(1, 10) i;
INSERT INTO refers SELECT i, repeat(i || ' key ', 3000) FROM generate_series(1, 5) i;
INSERT INTO refers VALUES (6, repeat('99 key ', 3000));
INSERT INTO refers VALUES (6, repeat('3 key ', 3000));
INSERT INTO parent VALUES (repeat('3 key ', 3000));
UPDATE parent SET k = repeat(k, 2) WHERE k LIKE '3 key%';
DELETE FROM parent WHERE k LIKE '4 key%';
SELECT id, length(k), left(k, 6) FROM refers ORDER BY id;
SELECT public.bt_index_check('parent_pkey', true), public.bt_index_check('parent_doc_key', true);
-- Values are raw in the table, and compressed in an index that is created later.
CREATE TABLE late (doc text);
ALTER TABLE late ALTER COLUMN doc SET STORAGE EXTERNAL;
INSERT INTO late SELECT repeat(i || ' doc ', 6000) FROM generate_series(1, 10) i;
SELECT toast_policy.enable('late');
SELECT count(*), count(pg_column_compression(doc)) FROM late;
CREATE INDEX late_doc ON late (doc);
CREATE INDEX late_include ON late (md5(doc)) INCLUDE (doc);
CREATE INDEX CONCURRENTLY late_concurrently ON late (doc);
REINDEX TABLE CONCURRENTLY late;
REINDEX TABLE late;
ALTER TABLE late ADD UNIQUE (doc);
SELECT state('late'), count(public.bt_index_check(indexrelid, true)) FROM pg_index WHERE indrelid = 'late'::regclass GROUP BY 1;
VACUUM FULL late;
SELECT count(public.bt_index_check(indexrelid, true)) FROM pg_index WHERE indrelid = 'late'::regclass;
-- Values are also compressed in indexes that exist when the column becomes
-- EXTERNAL.
ALTER TABLE late ALTER COLUMN doc SET STORAGE EXTENDED;
ALTER TABLE late ADD COLUMN n int, ALTER COLUMN doc SET STORAGE EXTERNAL, ALTER COLUMN doc SET STATISTICS 10, ALTER COLUMN doc SET NOT NULL;
SELECT state('late');
INSERT INTO late SELECT repeat(i || ' new ', 6000) FROM generate_series(1, 10) i;
INSERT INTO late SELECT doc FROM late ON CONFLICT DO NOTHING;
SELECT count(public.bt_index_check(indexrelid, true)) FROM pg_index WHERE indrelid = 'late'::regclass;
SELECT toast_policy.disable('late');
SELECT state('late');
DROP TABLE late;

CREATE ROLE regress_tp_reader;
GRANT USAGE ON SCHEMA tp_ddl TO regress_tp_reader;
GRANT ALL ON refers TO regress_tp_reader;
ALTER TABLE refers ENABLE ROW LEVEL SECURITY;
CREATE POLICY short ON refers TO regress_tp_reader USING (id < 3) WITH CHECK (length(k) > 100 AND id < 4);
SET ROLE regress_tp_reader;
SELECT id, length(k) FROM refers;
UPDATE refers SET k = repeat('7 key ', 3000) WHERE id = 1;
UPDATE refers SET k = NULL WHERE id = 1;
UPDATE refers SET id = 5 WHERE id = 2;
SELECT id, left(k, 6) FROM refers;
RESET ROLE;
DROP TABLE refers, parent;
DROP OWNED BY regress_tp_reader;
DROP ROLE regress_tp_reader;

-- The memory of a big statement does not grow, because the memory for a row is freed after the row.
CREATE TABLE big (id int, doc text);
SELECT toast_policy.enable('big');
CREATE FUNCTION used() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT sum(total_bytes) FROM pg_backend_memory_contexts';
CREATE TEMP TABLE memory (at int, bytes bigint);
CREATE FUNCTION note_memory() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.id % 1000 = 0 THEN INSERT INTO memory VALUES (NEW.id, tp_ddl.used()); END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER note BEFORE INSERT OR UPDATE ON big FOR EACH ROW EXECUTE FUNCTION note_memory();
INSERT INTO big SELECT i, CASE i % 2 WHEN 0 THEN repeat('big ' || i, 500) ELSE repeat('big ', 1000) END FROM generate_series(1, 8000) i;
SELECT (SELECT bytes FROM memory WHERE at = 8000) - (SELECT bytes FROM memory WHERE at = 1000) < 500000 AS flat;
TRUNCATE memory;
UPDATE big SET doc = doc || 'more';
SELECT (SELECT bytes FROM memory WHERE at = 8000) - (SELECT bytes FROM memory WHERE at = 1000) < 500000 AS flat;
SELECT toast_policy.recompress('big');
SELECT count(*), count(DISTINCT pg_column_compression(doc)) FROM big;

DROP SCHEMA tp_ddl CASCADE;
