--
-- A nested loop restarts the inner index scan for every outer row.  Each time it makes new scan
-- keys, in memory that is freed only at the end of the query.  The comparison and hash functions
-- keep data from call to call in this memory.  This data must not add up over the restarts.
--
\set SHOW_CONTEXT never
CREATE EXTENSION compact_decimal4_2;
CREATE EXTENSION compact_char8;
CREATE TABLE inside AS
  SELECT g AS id, (g * 0.01)::compact_decimal4_2 AS d, to_hex(g)::compact_text AS t, to_hex(g)::compact_text COLLATE "und-x-icu" AS t_icu,
         to_hex(g)::compact_char8 AS c, to_hex(g)::compact_char8 COLLATE "und-x-icu" AS c_icu
  FROM generate_series(1, 1000) g;
CREATE TABLE outside AS
  SELECT g AS id, g % 1000 * 0.01 AS d, to_hex(g % 1000) AS t, to_hex(g % 1000)::bpchar AS b,
         (g % 1000 * 0.01)::compact_decimal4_2 AS d_same, to_hex(g % 1000)::compact_text AS t_same, to_hex(g % 1000)::compact_char8 AS c_same
  FROM generate_series(1, 30000) g;
VACUUM ANALYZE inside, outside;

-- Return by how many bytes the memory of the backend grows from the 999th row to one of the last
-- rows.
CREATE FUNCTION used() RETURNS numeric LANGUAGE sql VOLATILE AS 'SELECT sum(used_bytes) FROM pg_backend_memory_contexts';
CREATE FUNCTION growth(method text, inner_column text, outer_column text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  query text := format('SELECT o.id, CASE WHEN o.id IN (999, 29999) THEN used() END AS used FROM outside o JOIN inside i ON i.%I = o.%I',
                       inner_column, outer_column);
  plan text := '';
  line text;
  bytes numeric;
BEGIN
  EXECUTE format('CREATE INDEX inside_index ON inside USING %s (%I)', method, inner_column);
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    plan := plan || line || E'\n';
  END LOOP;
  IF plan !~ '^Nested Loop\n.*Seq Scan on outside o\n.*Index (Only )?Scan using inside_index' THEN
    RETURN plan;
  END IF;
  EXECUTE format('SELECT CASE count(used) WHEN 2 THEN max(used) - min(used) END FROM (%s OFFSET 0) s', query) INTO bytes;
  DROP INDEX inside_index;
  RETURN CASE WHEN abs(bytes) < 100000 THEN 'none' ELSE bytes::text END;
END $$;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_memoize = off;
SET enable_material = off;
SET enable_bitmapscan = off;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SELECT i AS inside, o AS outside, growth('btree', i, o) AS btree, growth('hash', i, o) AS hash
FROM (VALUES ('d', 'd'), ('d', 'd_same'), ('t', 't'), ('t', 'b'), ('t', 't_same'), ('t_icu', 't_same'),
             ('c', 't'), ('c', 'b'), ('c', 'c_same'), ('c_icu', 'c_same')) v (i, o);
RESET ALL;

DROP TABLE inside, outside;
DROP FUNCTION used, growth;
DROP EXTENSION compact_decimal4_2, compact_char8;
