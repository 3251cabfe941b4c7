--
-- Test the advice on how to store a column: the strategies and counts that it lists, the relations
-- that it accepts, and the calls that it refuses.  The output does not show times.
--
\set SHOW_CONTEXT never
\set VERBOSITY terse
CREATE SCHEMA compare;
SET search_path = compare, public;
SET default_toast_compression = pglz;
CREATE ROLE regress_toast_policy_alice;
CREATE ROLE regress_toast_policy_bob;
GRANT USAGE ON SCHEMA compare TO regress_toast_policy_alice;

-- Return incompressible bytes as hex digits.
CREATE FUNCTION hex(i int, n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(md5(i || ' ' || j), '' ORDER BY j) FROM generate_series(1, n) j
$$;
-- Return the numbers that are exact if all rows are in the sample.
CREATE FUNCTION counts(relation regclass, column_name name, sample_rows int DEFAULT 1000,
  OUT one_recommended bool, OUT sampled bigint, OUT raw bigint, OUT raw_chunks bigint, OUT sane bool)
LANGUAGE sql AS $$
  SELECT count(*) FILTER (WHERE recommended) = 1, min(a.sampled), min(raw_bytes), max(chunks),
    bool_and(stored_bytes >= 0 AND chunks >= 0 AND table_pages >= 0 AND a.sampled <= sample_rows AND
      CASE WHEN a.sampled > 0 THEN compress_us >= 0 AND decompress_us >= 0 AND read_us > 0
        ELSE num_nulls(compress_us, decompress_us, read_us) = 3 END AND
      CASE WHEN strategy = 'external' THEN compress_us + decompress_us IN (0, NULL) ELSE true END)
    AND count(DISTINCT a.sampled) = 1 AND count(DISTINCT raw_bytes) = 1
  FROM toast_policy.compare(relation, column_name, sample_rows) a
$$;
-- Compare the estimate for the present storage with the table.  The estimate is exact if all rows
-- are in the sample.
CREATE FUNCTION exact(relation regclass, column_name name, strategy text, codec text, level int DEFAULT NULL,
  OUT raw bool, OUT bytes bool, OUT chunks bool, OUT pages text)
LANGUAGE plpgsql AS $$
DECLARE
  a record;
  toast regclass := (SELECT reltoastrelid FROM pg_class WHERE oid = relation);
  real_raw bigint;
  real_bytes bigint;
  real_chunks bigint;
  real_pages bigint;
BEGIN
  SELECT * INTO STRICT a FROM toast_policy.compare(relation, column_name) s
    WHERE s.strategy = exact.strategy AND s.codec = exact.codec AND s.level IS NOT DISTINCT FROM exact.level;
  EXECUTE format('SELECT sum(octet_length(%1$I)), sum(pg_column_size(%1$I)) FROM %2$s', column_name, relation)
    INTO real_raw, real_bytes;
  EXECUTE 'SELECT count(*) FROM ' || toast INTO real_chunks;
  SELECT sum(pg_relation_size(oid)) / current_setting('block_size')::int INTO real_pages
    FROM (SELECT relation UNION SELECT toast UNION SELECT indexrelid FROM pg_index WHERE indrelid = toast) AS r (oid);
  raw := a.raw_bytes = real_raw;
  bytes := a.stored_bytes = real_bytes;
  chunks := a.chunks = real_chunks;
  pages := CASE WHEN abs(a.table_pages - real_pages) <= 1 + real_pages / 20 THEN 'near' ELSE a.table_pages || ' for ' || real_pages END;
END $$;

CREATE TABLE docs (id int, gone text, doc text, data bytea, json jsonb, words text[], short varchar(20), n numeric);
ALTER TABLE docs DROP COLUMN gone;
INSERT INTO docs
  SELECT i, repeat('line ' || i || E'\n', i * 10), decode(hex(i, 1 + i / 4), 'hex'), jsonb_build_object('n', i, 'doc', hex(i, 200)),
    ARRAY[hex(i, 20), repeat('word', i * 4)], 'short ' || i, i
  FROM generate_series(1, 200) i;

-- Show the strategies.
SELECT strategy, codec, level FROM toast_policy.compare('docs', 'doc');
SELECT strategy, codec, level FROM toast_policy.compare('docs', 'data') WHERE strategy NOT IN ('extended', 'main', 'external', 'toast_policy');
SELECT count(*) AS others FROM toast_policy.compare('docs', 'json') WHERE strategy NOT IN ('extended', 'main', 'external', 'toast_policy');
SELECT count(*) AS others FROM toast_policy.compare('docs', 'words') WHERE strategy NOT IN ('extended', 'main', 'external', 'toast_policy');
SET toast_policy.lz4_level = 6;
SET toast_policy.zstd_level = -2;
SELECT strategy, codec, level FROM toast_policy.compare('docs', 'doc') WHERE level NOT IN (0, 4, 9, 12);
SET toast_policy.lz4_level = 9;
SELECT strategy, codec, level FROM toast_policy.compare('docs', 'doc') WHERE level NOT IN (0, 4, 12);
RESET toast_policy.lz4_level;
RESET toast_policy.zstd_level;

-- Show the counts.
SELECT * FROM counts('docs', 'doc');
SELECT * FROM counts('docs', 'data');
SELECT * FROM counts('docs', 'json');
SELECT * FROM counts('docs', 'words');
SELECT * FROM counts('docs', 'short');
SELECT * FROM counts('docs', 'n');
SELECT sampled, sane FROM counts('docs', 'doc', 1);
SELECT sampled, sane FROM counts('docs', 'doc', 20);
SELECT * FROM counts('docs', 'doc', 3000000);

-- Store the values by each strategy, and compare the table with the estimate.
CREATE TABLE source (v text);
ALTER TABLE source ALTER v SET STORAGE EXTERNAL;
INSERT INTO source SELECT hex(i, i % 150) || repeat(hex(i, 2), i % 47) FROM generate_series(0, 449) i;
CREATE TABLE copied (v text);
INSERT INTO copied SELECT * FROM source;
SELECT * FROM exact('copied', 'v', 'extended', 'pglz');
TRUNCATE copied;
ALTER TABLE copied ALTER v SET COMPRESSION lz4;
INSERT INTO copied SELECT * FROM source;
SELECT * FROM exact('copied', 'v', 'extended', 'lz4', 0);
TRUNCATE copied;
ALTER TABLE copied ALTER v SET STORAGE MAIN;
INSERT INTO copied SELECT * FROM source;
SELECT * FROM exact('copied', 'v', 'main', 'lz4', 0);
TRUNCATE copied;
ALTER TABLE copied ALTER v SET STORAGE EXTERNAL;
INSERT INTO copied SELECT * FROM source;
SELECT * FROM exact('copied', 'v', 'external', 'none');
TRUNCATE copied;
ALTER TABLE copied ALTER v SET STORAGE EXTENDED;
SELECT toast_policy.enable('copied', 'v');
INSERT INTO copied SELECT * FROM source;
SELECT * FROM exact('copied', 'v', 'toast_policy', 'lz4', 0);
TRUNCATE copied;
SET toast_policy.lz4_level = 9;
INSERT INTO copied SELECT * FROM source;
SELECT * FROM exact('copied', 'v', 'toast_policy', 'lz4', 9);
TRUNCATE copied;
ALTER TABLE copied ALTER v SET COMPRESSION pglz;
INSERT INTO copied SELECT * FROM source;
SELECT * FROM exact('copied', 'v', 'toast_policy', 'pglz');
RESET toast_policy.lz4_level;
-- Test other settings of the rule and of the table, with other columns that also need space in the
-- row.
CREATE TABLE narrow (id int, a text, v text, b text) WITH (toast_tuple_target = 512, fillfactor = 60);
ALTER TABLE narrow ALTER a SET STORAGE MAIN;
SELECT toast_policy.enable('narrow', 'v');
SET toast_policy.min_size = 1000;
SET toast_policy.min_saved_chunks = 2;
SET toast_policy.early_abort = off;
SET toast_policy.out_of_line = off;
INSERT INTO narrow SELECT length(v), repeat('a', length(v) % 700), v, repeat('b', length(v) % 300) FROM source;
SELECT raw, bytes, pages FROM exact('narrow', 'v', 'toast_policy', 'pglz');
RESET toast_policy.out_of_line;
-- Now values of v that take 512 bytes or more go out of line, whatever the size of their row is.
TRUNCATE narrow;
INSERT INTO narrow SELECT length(v), repeat('a', length(v) % 700), v, repeat('b', length(v) % 300) FROM source;
INSERT INTO narrow SELECT i, 'a', hex(i, 5 + i % 40), 'b' FROM generate_series(1, 500) i;
SELECT raw, bytes, pages FROM exact('narrow', 'v', 'toast_policy', 'pglz');
RESET toast_policy.min_size;
RESET toast_policy.min_saved_chunks;
RESET toast_policy.early_abort;
-- Values of another column are out of line, however this column is stored.
CREATE TABLE beside (id int, note text, body text);
INSERT INTO beside SELECT i, CASE WHEN i % 20 = 0 THEN repeat('note ' || i || E'\n', 400) ELSE 'n' || i END, hex(i, 30) FROM generate_series(1, 900) i;
SELECT toast_policy.enable_out_of_line('beside', 512, 'body');
SELECT toast_policy.recompress('beside');
SELECT raw, bytes, pages FROM exact('beside', 'note', 'extended', 'pglz');
SELECT max(table_pages) < 1.1 * min(table_pages) AS equal FROM toast_policy.compare('beside', 'note') WHERE codec = 'pglz';
-- A table of the access method without governed columns is like a table of heap.
CREATE TABLE own (id int, a text, b text) USING toast_policy WITH (toast_tuple_target = 256);
INSERT INTO own SELECT i, hex(i, 48), hex(-i, 48) FROM generate_series(1, 500) i;
SELECT raw, bytes, pages FROM exact('own', 'b', 'extended', 'pglz');
-- In a large row, the policy applies to values below the limit, too.
CREATE TABLE rest (id int, v text, big text, x text) WITH (toast_tuple_target = 2000);
SELECT toast_policy.enable('rest', 'v', 'big');
INSERT INTO rest SELECT i, repeat('abc ' || i || ' ', 170), hex(i, 150), hex(-i, 32) FROM generate_series(1, 500) i;
SELECT raw, bytes, pages FROM exact('rest', 'v', 'toast_policy', 'pglz');

-- If nothing can be gained, the present strategy is recommended.
CREATE TABLE short (v text);
INSERT INTO short SELECT hex(i, 3) FROM generate_series(1, 2000) i;
SELECT strategy, codec FROM toast_policy.compare('short', 'v') WHERE recommended;
ALTER TABLE short ALTER v SET STORAGE MAIN, ALTER v SET COMPRESSION lz4;
SELECT strategy, codec FROM toast_policy.compare('short', 'v') WHERE recommended;
SELECT toast_policy.enable('short', 'v');
SELECT strategy, codec, level FROM toast_policy.compare('short', 'v') WHERE recommended;
-- Test a table without rows, and a column without values.
CREATE TABLE nothing (v text COMPRESSION lz4, w int[]);
SELECT * FROM counts('nothing', 'v');
SELECT strategy, codec, level, table_pages FROM toast_policy.compare('nothing', 'v') WHERE recommended;
INSERT INTO nothing SELECT NULL, ARRAY(SELECT generate_series(1, 1000 + i)) FROM generate_series(1, 300) i;
SELECT * FROM counts('nothing', 'v');
SELECT bool_and(table_pages BETWEEN real - 1 AND real + 1) AS near FROM toast_policy.compare('nothing', 'v'), LATERAL (
  SELECT sum(pg_relation_size(oid)) / current_setting('block_size')::int AS real FROM (
    SELECT oid FROM pg_class WHERE oid = 'nothing'::regclass UNION SELECT reltoastrelid FROM pg_class WHERE oid = 'nothing'::regclass UNION
    SELECT indexrelid FROM pg_index JOIN pg_class c ON indrelid = reltoastrelid WHERE c.oid = 'nothing'::regclass) r) p;
INSERT INTO nothing VALUES ('', NULL);
SELECT * FROM counts('nothing', 'v');

-- Each strategy has a reason.  Numbers have no more digits than are accurate.
CREATE TABLE long AS SELECT hex(i, 100) AS v FROM generate_series(1, 2000) i;
SELECT count(*) FILTER (WHERE reason ~ '^(costs least|no other costs clearly less) to read and write(; this is how the column is stored now)?$') = 1 AS one_reason_for,
  bool_and(recommended = (reason ~ '^(costs least|no other)')) AS of_the_recommended,
  bool_and(recommended OR reason ~ '^(costs \d+ % more to read and write than the recommended way|about as good as the recommended way(, but needs (the access method|another type|room in the table''s pages)|, but takes longer to compress)?)$') AS reasons_against
  FROM toast_policy.compare('long', 'v');
CREATE TABLE no_values (v text);
SELECT DISTINCT reason, recommended FROM toast_policy.compare('no_values', 'v') ORDER BY 2;
CREATE FUNCTION digits(n numeric) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT length(rtrim(ltrim(replace(n::text, '.', ''), '0'), '0')) $$;
SELECT max(digits(compress_us::text::numeric)) <= 3 AS compress, max(digits(decompress_us::text::numeric)) <= 3 AS decompress, max(digits(read_us::text::numeric)) <= 3 AS read,
  max(scale(read_us::text::numeric)) <= 2 AND max(scale(compress_us::text::numeric)) <= 2 AS decimals,
  bool_and(raw_bytes = (SELECT sum(length(v)) FROM long)) AS raw_is_exact FROM toast_policy.compare('long', 'v', 100000);
SELECT max(digits(raw_bytes)) <= 3 AS raw, max(digits(stored_bytes)) <= 3 AS stored, max(digits(chunks)) <= 3 AS chunks, max(digits(table_pages)) <= 3 AS pages,
  bool_and(abs(raw_bytes - 6400000) < 640000) AS near FROM toast_policy.compare('long', 'v', 100);

-- Test all kinds of tables.
CREATE TEMP TABLE temporary AS SELECT doc FROM docs;
SELECT * FROM counts('temporary', 'doc');
CREATE UNLOGGED TABLE unlogged AS SELECT doc FROM docs;
SELECT * FROM counts('unlogged', 'doc');
CREATE MATERIALIZED VIEW materialized AS SELECT doc FROM docs;
SELECT * FROM counts('materialized', 'doc');
SELECT one_recommended, sampled = 100 AS sampled, sane FROM counts('pg_catalog.pg_proc', 'prosrc', 100);
SELECT one_recommended, sane FROM counts('pg_catalog.pg_class', 'relacl');
CREATE DOMAIN document AS text CHECK (length(value) > 0);
CREATE TABLE kinds (d document, g text GENERATED ALWAYS AS ('generated') STORED, x xml);
INSERT INTO kinds VALUES ('document');
ALTER TABLE kinds ADD COLUMN later text DEFAULT 'later';
SELECT * FROM counts('kinds', 'd');
SELECT * FROM counts('kinds', 'g');
SELECT * FROM counts('kinds', 'x');
SELECT * FROM counts('kinds', 'later');
SELECT string_agg(DISTINCT strategy, ' ' ORDER BY strategy) FROM toast_policy.compare('kinds', 'd');
-- Test partitions in which the column has other positions, and a partition that is a foreign table.
CREATE TABLE parted (id int, doc text, pad text) PARTITION BY RANGE (id);
SELECT * FROM counts('parted', 'doc');
CREATE TABLE parted_1 (gone int, pad text, doc text, id int);
ALTER TABLE parted_1 DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION parted_1 FOR VALUES FROM (0) TO (51);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (51) TO (150) PARTITION BY RANGE (id);
CREATE TABLE parted_21 PARTITION OF parted_2 FOR VALUES FROM (51) TO (100);
CREATE TABLE parted_22 PARTITION OF parted_2 FOR VALUES FROM (100) TO (150);
CREATE TABLE parted_3 PARTITION OF parted FOR VALUES FROM (150) TO (201) WITH (fillfactor = 50);
INSERT INTO parted SELECT id, doc, short FROM docs;
SELECT * FROM counts('parted', 'doc');
SELECT * FROM counts('parted_2', 'doc');
SELECT bool_and(p.table_pages BETWEEN 0.95 * t.table_pages AND 1.05 * t.table_pages + 10) AS like_one_table
  FROM toast_policy.compare('parted', 'doc') p JOIN toast_policy.compare('temporary', 'doc') t
  ON p.strategy = t.strategy AND p.codec = t.codec AND p.level IS NOT DISTINCT FROM t.level;
CREATE FOREIGN DATA WRAPPER compare_wrapper;
CREATE SERVER compare_server FOREIGN DATA WRAPPER compare_wrapper;
CREATE FOREIGN TABLE elsewhere PARTITION OF parted FOR VALUES FROM (1000) TO (2000) SERVER compare_server;
SELECT * FROM counts('parted', 'doc');
-- The advice on a parent does not include the rows of its children.
CREATE TABLE child () INHERITS (docs);
INSERT INTO child SELECT * FROM docs;
SELECT sampled FROM counts('docs', 'doc');

-- Test the calls that compare() refuses.
SELECT count(*) FROM toast_policy.compare('docs', 'doc', 0);
SELECT count(*) FROM toast_policy.compare('docs', 'doc', -1);
SELECT count(*) FROM toast_policy.compare('docs', 'doc', 3000001);
SELECT count(*) FROM toast_policy.compare('docs', 'doc', NULL);
SELECT count(*) FROM toast_policy.compare(NULL, 'doc');
SELECT count(*) FROM toast_policy.compare('docs', NULL);
SELECT count(*) FROM toast_policy.compare('docs', 'nowhere');
SELECT count(*) FROM toast_policy.compare('docs', 'Doc');
SELECT count(*) FROM toast_policy.compare('docs', '');
SELECT count(*) FROM toast_policy.compare('docs', '........pg.dropped.2........');
SELECT count(*) FROM toast_policy.compare('docs', 'ctid');
SELECT count(*) FROM toast_policy.compare('docs', 'tableoid');
SELECT count(*) FROM toast_policy.compare('docs', 'id');
SELECT count(*) FROM toast_policy.compare('pg_catalog.pg_class', 'relname');
SELECT count(*) FROM toast_policy.compare('pg_catalog.pg_index', 'indkey');
SELECT count(*) FROM toast_policy.compare(0, 'doc');
CREATE VIEW docs_view AS SELECT * FROM docs;
CREATE SEQUENCE docs_sequence;
CREATE INDEX docs_index ON docs (short);
CREATE TYPE docs_type AS (doc text);
SELECT count(*) FROM toast_policy.compare('docs_view', 'doc');
SELECT count(*) FROM toast_policy.compare('docs_sequence', 'last_value');
SELECT count(*) FROM toast_policy.compare('docs_index', 'short');
SELECT count(*) FROM toast_policy.compare('docs_type', 'doc');
SELECT count(*) FROM toast_policy.compare('elsewhere', 'doc');
\set VERBOSITY sqlstate
SELECT count(*) FROM toast_policy.compare((SELECT reltoastrelid FROM pg_class WHERE oid = 'docs'::regclass), 'chunk_data');
\set VERBOSITY terse

-- Test privileges on the column and on the schema, and row-level security.
SET ROLE regress_toast_policy_alice;
SELECT count(*) FROM toast_policy.compare('docs', 'doc');
SELECT count(*) FROM toast_policy.compare('parted', 'doc');
RESET ROLE;
GRANT SELECT (doc) ON docs TO regress_toast_policy_alice;
GRANT SELECT ON parted TO regress_toast_policy_alice, regress_toast_policy_bob;
SET ROLE regress_toast_policy_alice;
SELECT sampled FROM counts('docs', 'doc');
SELECT sampled FROM counts('parted', 'doc');
SELECT count(*) FROM toast_policy.compare('docs', 'data');
SELECT count(*) FROM toast_policy.compare('parted_1', 'doc');
RESET ROLE;
SELECT 'parted'::regclass::oid AS parted \gset
SET ROLE regress_toast_policy_bob;
SELECT count(*) FROM toast_policy.compare(:parted, 'doc');
RESET ROLE;
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
SET ROLE regress_toast_policy_alice;
SELECT count(*) FROM toast_policy.compare('docs', 'doc');
RESET ROLE;
SELECT sampled FROM counts('docs', 'doc');
ALTER TABLE docs DISABLE ROW LEVEL SECURITY;

-- compare() works with any search_path, and does not change or count anything.
SET search_path = pg_temp;
SELECT count(*) FROM toast_policy.compare('compare.docs', 'doc');
SET search_path = compare, public;
BEGIN READ ONLY;
SELECT sampled FROM counts('docs', 'doc');
COMMIT;
SELECT count(*) AS counted FROM toast_policy.stats WHERE relid = 'docs'::regclass;

SET client_min_messages = warning;
DROP SCHEMA compare CASCADE;
DROP FOREIGN DATA WRAPPER compare_wrapper CASCADE;
DROP ROLE regress_toast_policy_alice, regress_toast_policy_bob;
