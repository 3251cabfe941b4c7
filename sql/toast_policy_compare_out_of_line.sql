--
-- Test compare_out_of_line(): its figures against a table that is really stored so, its arguments, and
-- who may call it.
--
\set SHOW_CONTEXT never
\set VERBOSITY terse
SET default_toast_compression = pglz;
SET client_min_messages = warning;
CREATE SCHEMA tp_compare;
SET search_path = tp_compare, public;
CREATE ROLE regress_toast_policy_alice;
GRANT USAGE ON SCHEMA tp_compare TO regress_toast_policy_alice;
-- Return text that does not compress.
CREATE FUNCTION noise(size int, seed int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT left(string_agg(translate(encode(sha256((seed || '-' || i)::bytea), 'base64'), E'\n', ''), ''), size) FROM generate_series(1, size / 40 + 1) i $$;
-- Return the pages that are predicted and found, if they differ by more than one.
CREATE FUNCTION differ(predicted bigint, found bigint) RETURNS text LANGUAGE sql AS
$$ SELECT CASE WHEN abs(predicted - found) > current_setting('block_size')::int THEN format('%s instead of %s', predicted, found) ELSE 'exact' END $$;
-- Store values of columns of a copy of the table out of line, with each limit, and compare the sizes.
CREATE FUNCTION exact(rel regclass, columns name[], OUT min_bytes int, OUT "values" text, OUT in_table text, OUT toast text, OUT rows text)
RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
  p record;
  copy regclass;
  chunks bigint;
BEGIN
  FOR p IN SELECT c.* FROM toast_policy.compare_out_of_line(rel, columns, 100000) WITH ORDINALITY c ORDER BY ordinality LOOP
    EXECUTE format('CREATE TABLE copy (LIKE %s INCLUDING ALL)', rel);
    EXECUTE format('ALTER TABLE copy SET (fillfactor = %s)', coalesce((SELECT option_value FROM pg_class c, pg_options_to_table(c.reloptions) WHERE c.oid = rel), '100'));
    EXECUTE format('INSERT INTO copy TABLE %s', rel);
    min_bytes := p.min_bytes;
    IF min_bytes IS NOT NULL THEN
      PERFORM toast_policy.enable_out_of_line('copy', min_bytes, VARIADIC columns);
    END IF;
    PERFORM toast_policy.recompress('copy');
    copy := 'copy'::regclass;
    EXECUTE format('SELECT count(DISTINCT chunk_id) FROM %s', (SELECT reltoastrelid::regclass FROM pg_class WHERE oid = copy)) INTO chunks;
    "values" := CASE sign(chunks - (SELECT sum(v) FROM unnest(p.values_moved) v)) WHEN 0 THEN 'exact' WHEN 1 THEN 'other columns as well' ELSE 'too many' END;
    in_table := differ(p.table_bytes, pg_relation_size(copy));
    toast := differ(p.toast_bytes, (SELECT pg_relation_size(t.oid) + pg_relation_size(i.indexrelid) FROM pg_class c JOIN pg_class t ON t.oid = c.reltoastrelid
      JOIN pg_index i ON i.indrelid = t.oid WHERE c.oid = copy));
    EXECUTE format('SELECT CASE WHEN count(*) = %s THEN ''exact'' END FROM copy', p.rows) INTO rows;
    DROP TABLE copy;
    RETURN NEXT;
  END LOOP;
END $$;

CREATE TABLE t (id int, gone text, a text, b text, n numeric, c varchar(500), h text) WITH (fillfactor = 80);
ALTER TABLE t DROP gone;
INSERT INTO t SELECT i, CASE WHEN i % 5 > 0 THEN noise(20 + i % 600, i) END, CASE i % 3 WHEN 0 THEN repeat('x', i % 700) WHEN 1 THEN noise(100, i) || repeat('y', i % 900) END,
  i, noise(i % 250, -i), noise(i % 90, i * 3)
FROM generate_series(1, 3000) i;
SELECT * FROM exact('t', '{a}');
SELECT * FROM exact('t', '{a,b,c}');
-- Large rows, in which other columns are compressed and go out of line as well.
CREATE TABLE large (LIKE t INCLUDING ALL);
INSERT INTO large SELECT id, CASE WHEN id % 4 > 0 THEN noise(300 + id % 1500, id) END, repeat(noise(150, id), id % 8), id, c, noise(id % 40 * 40, id * 7) FROM t WHERE id <= 1500;
SELECT * FROM exact('large', '{a}');
-- The columns, in their order: values out of line, and bytes less in the rows.
SELECT min_bytes, values_moved, bytes_saved, rows, round(row_bytes::numeric, 1) AS row_bytes, table_bytes > 0 AS table_bytes, toast_bytes > 0 AS toast_bytes
FROM toast_policy.compare_out_of_line('t', '{c,a}') ORDER BY min_bytes NULLS FIRST;
-- A sample is scaled to the table.
SELECT min_bytes, abs(s.table_bytes - a.table_bytes) < 0.2 * a.table_bytes AS like_all
FROM toast_policy.compare_out_of_line('t', '{a}', 20) s JOIN toast_policy.compare_out_of_line('t', '{a}') a USING (min_bytes) ORDER BY 1;
-- A table that has a limit shows only this one.
CREATE TABLE limited (LIKE t INCLUDING ALL);
INSERT INTO limited TABLE t;
SELECT toast_policy.enable_out_of_line('limited', 200, 'a');
SELECT toast_policy.recompress('limited');
SELECT min_bytes, values_moved, bytes_saved FROM toast_policy.compare_out_of_line('limited', '{a,b}') ORDER BY min_bytes NULLS FIRST;
-- no rows
CREATE TABLE empty (LIKE t);
SELECT * FROM toast_policy.compare_out_of_line('empty', '{a}') ORDER BY min_bytes NULLS FIRST;

-- arguments
SELECT * FROM toast_policy.compare_out_of_line('t', '{}');
SELECT * FROM toast_policy.compare_out_of_line('t', '{NULL}');
SELECT * FROM toast_policy.compare_out_of_line('t', '{nowhere}');
SELECT * FROM toast_policy.compare_out_of_line('t', '{id}');
SELECT * FROM toast_policy.compare_out_of_line('t', '{ctid}');
SELECT * FROM toast_policy.compare_out_of_line('t', '{a}', 0);
SELECT * FROM toast_policy.compare_out_of_line('pg_stats', '{attname}');
SELECT * FROM toast_policy.compare_out_of_line(0, '{a}');
SELECT * FROM toast_policy.compare_out_of_line('t', NULL);
-- rights
GRANT SELECT (id, a) ON t TO regress_toast_policy_alice;
SET ROLE regress_toast_policy_alice;
SELECT count(*) FROM toast_policy.compare_out_of_line('t', '{a}');
SELECT count(*) FROM toast_policy.compare_out_of_line('t', '{a,b}');
SELECT count(*) FROM toast_policy.compare_out_of_line('large', '{a}');
RESET ROLE;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
SET ROLE regress_toast_policy_alice;
SELECT count(*) FROM toast_policy.compare_out_of_line('t', '{a}');
RESET ROLE;
-- nothing is written
BEGIN READ ONLY;
SELECT count(*) FROM toast_policy.compare_out_of_line('t', '{a}');
COMMIT;

DROP SCHEMA tp_compare CASCADE;
DROP ROLE regress_toast_policy_alice;
