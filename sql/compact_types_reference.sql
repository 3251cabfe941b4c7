--
-- Test foreign keys between compact strings and core's strings, in both directions.  Test indexes
-- that use features of core's types: operator classes, default operator classes of other access
-- methods, and a collation other than that of "=".
--
CREATE EXTENSION compact_char10;
CREATE EXTENSION compact_char8;
CREATE EXTENSION pg_trgm;
CREATE EXTENSION btree_gist;
CREATE COLLATION not_c (provider = libc, locale = 'C.UTF-8');

\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/plan_has.sql'
\i :file

SELECT opcname, amname FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
WHERE opcname ~ '^compact_' AND NOT amvalidate(c.oid) ORDER BY 1, 2;

-- Test every pair of types, because core has all pairs of text, varchar and char.  A foreign key
-- compares with operators of the operator family, so each pair must work in all four actions.
CREATE FUNCTION try_key(parent text, child text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text := '';
BEGIN
  EXECUTE format('CREATE TABLE parent (k %s PRIMARY KEY)', parent);
  EXECUTE format('CREATE TABLE child (k %s, old %1$s)', child);
  INSERT INTO parent SELECT 'key ' || i FROM generate_series(1, 500) i;
  INSERT INTO child SELECT 'key ' || i, 'key ' || i FROM generate_series(1, 500, 7) i;
  INSERT INTO child VALUES (NULL), ('none');
  BEGIN
    ALTER TABLE child ADD FOREIGN KEY (k) REFERENCES parent ON UPDATE CASCADE ON DELETE CASCADE;
    result := result || ' unchecked';
  EXCEPTION WHEN foreign_key_violation THEN
  END;
  DELETE FROM child WHERE k = 'none';
  ALTER TABLE child ADD FOREIGN KEY (k) REFERENCES parent ON UPDATE CASCADE ON DELETE CASCADE,
    ADD FOREIGN KEY (old) REFERENCES parent ON UPDATE SET NULL ON DELETE SET NULL;
  BEGIN
    INSERT INTO child VALUES ('no');
    result := result || ' not rejected';
  EXCEPTION WHEN foreign_key_violation THEN
  END;
  UPDATE parent SET k = 'new' WHERE k = 'key 8';
  DELETE FROM parent WHERE k = 'key 15';
  UPDATE child SET k = 'key 3' WHERE k = 'key 22';
  SELECT result || format('%s rows, %s updated, %s set to null', count(*), count(*) FILTER (WHERE k = 'new'),
                count(*) FILTER (WHERE k IS NOT NULL AND old IS NULL)) INTO result FROM child;
  DROP TABLE child, parent;
  RETURN result;
EXCEPTION WHEN datatype_mismatch THEN
  RETURN 'no such key';
END $$;
CREATE TABLE kinds (n int, kind text);
INSERT INTO kinds VALUES (1, 'compact_text(10)'), (2, 'compact_char10'), (3, 'text'), (4, 'varchar(10)'), (5, 'char(10)');
SELECT p.kind AS parent, c.kind AS child, try_key(p.kind, c.kind) FROM kinds p, kinds c
WHERE p.n <= 2 OR c.n <= 2 ORDER BY p.n, c.n;
SELECT try_key('compact_char10', 'compact_char8'), try_key('compact_text(10)', 'compact_char8'),
       try_key('compact_char10', 'char(8)'), try_key('compact_char8', 'varchar(10)');
DROP FUNCTION try_key;

-- varchar is in the operator family only for such keys.  Queries have the same results and plans as
-- without it.
CREATE TABLE v (v varchar(10) PRIMARY KEY, c compact_text(10), d compact_char10);
INSERT INTO v SELECT 'key ' || i, 'key ' || i, 'key ' || i FROM generate_series(1, 1000) i;
CREATE INDEX v_c ON v (c);
ANALYZE v;
SELECT plan_has($$SELECT d FROM v WHERE v = 'key 7'$$, 'Index Cond: \(\(v\)::text = ''key 7''::text\)'),
       plan_has($$SELECT d FROM v WHERE c = 'key 7'::varchar$$, 'Index Cond: \(c = ''key 7''::text\)'),
       plan_has($$SELECT v FROM v WHERE v = c$$, 'Filter: \(\(v\)::text = c\)');
-- Type name has its own operators with compact strings, as it has with text.
SELECT plan_has($$SELECT d FROM v WHERE c = current_user$$, 'Index Cond: \(c = \(CURRENT_USER\)::text\)'),
       plan_has($$SELECT d FROM v WHERE 'key 7'::name = c$$, 'Index Cond: \(c = ''key 7''::text COLLATE "C"\)');
SELECT c, c = 'key 7'::name, 'key 7'::name <> c, c < 'key 7'::name, 'key 7'::name <= c, d > 'key 7'::name, 'key 7'::name >= d,
       d = 'key 7'::name, d <> 'key 7'::name, c = ANY (ARRAY['key 7', 'key 8']::name[]), c = NULL::name
FROM v WHERE c IN ('key 6', 'key 7', 'key 8') ORDER BY 1;
SELECT count(*) FROM v JOIN pg_roles ON v.c = rolname JOIN pg_class ON relname = v.d;
-- The first check of a new foreign key also works on large tables, by each join method.
SET enable_nestloop = off;
SET enable_hashjoin = off;
CREATE TABLE vc (c varchar(10) REFERENCES v, d varchar(10));
INSERT INTO vc SELECT v, v FROM v;
ALTER TABLE v ADD UNIQUE (c), ADD UNIQUE (d);
ALTER TABLE vc ADD FOREIGN KEY (d) REFERENCES v (c), ADD FOREIGN KEY (d) REFERENCES v (d);
SET enable_hashjoin = on;
SET enable_mergejoin = off;
ALTER TABLE vc ADD FOREIGN KEY (c) REFERENCES v (c), ADD FOREIGN KEY (c) REFERENCES v (d);
RESET enable_nestloop;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- Test a composite key, a self-reference and partitions.
CREATE TABLE composite (a compact_text(10), b compact_char8, c int, up_a varchar(10), up_b char(8), up_c int,
  PRIMARY KEY (a, b, c), FOREIGN KEY (up_a, up_b, up_c) REFERENCES composite);
INSERT INTO composite VALUES ('a', 'b', 1, NULL, NULL, NULL), ('c', 'd', 2, 'a', 'b', 1);
INSERT INTO composite VALUES ('e', 'f', 3, 'a', 'b', 2);
CREATE TABLE parted (k compact_text(10) PRIMARY KEY, n int) PARTITION BY HASH (k);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE of_parted (k varchar(10) REFERENCES parted ON DELETE CASCADE) PARTITION BY LIST (k);
CREATE TABLE of_parted_default PARTITION OF of_parted DEFAULT;
INSERT INTO parted SELECT 'key ' || i, i FROM generate_series(1, 20) i;
INSERT INTO of_parted SELECT k FROM parted WHERE n % 2 = 0;
DELETE FROM parted WHERE n <= 10;
SELECT count(*) FROM of_parted;
INSERT INTO of_parted VALUES ('key 4');

-- The definition can be dumped and parsed again.
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'composite'::regclass AND contype = 'f';

-- A role without any privilege on the extension can create such a key.
CREATE ROLE regress_compact_reference;
GRANT CREATE ON SCHEMA public TO regress_compact_reference;
SET ROLE regress_compact_reference;
CREATE TABLE of_role (k compact_text(10) PRIMARY KEY);
CREATE TABLE of_role_child (k varchar(10) REFERENCES of_role ON DELETE CASCADE);
INSERT INTO of_role VALUES ('x');
INSERT INTO of_role_child VALUES ('x');
DELETE FROM of_role;
SELECT count(*) FROM of_role_child;
RESET ROLE;
DROP TABLE of_role_child, of_role;
REVOKE CREATE ON SCHEMA public FROM regress_compact_reference;
DROP ROLE regress_compact_reference;

--
-- "=" and an index of another collation
--
CREATE TABLE words (c compact_text(20) COLLATE not_c, d compact_char10 COLLATE not_c, n int);
INSERT INTO words SELECT 'key ' || i, 'key ' || i, i FROM generate_series(1, 2000) i;
CREATE INDEX words_c ON words (c COLLATE "C");
CREATE INDEX words_d ON words (d COLLATE "C");
CREATE INDEX words_hash ON words USING hash (c COLLATE "POSIX");
ANALYZE words;
SET enable_seqscan = off;
CREATE TABLE conditions (id int, condition text);
INSERT INTO conditions VALUES
  (1, $$c = 'key 7'$$), (2, $$'key 7' = c$$), (3, $$c = 'key 7'::varchar$$), (4, $$c = 'key 7'::bpchar$$),
  (5, $$'key 7'::bpchar = c$$), (6, $$c = 'key 7'::compact_text$$), (7, $$c LIKE 'key 7'$$),
  (8, $$c = (SELECT 'key 7')$$),
  (9, $$d = 'key 7'$$), (10, $$'key 7   '::char(9) = d$$), (11, $$d = 'key 7'::compact_char10$$);
DO $$
DECLARE
  cond text;
  counts int[];
BEGIN
  FOR cond IN SELECT condition FROM conditions ORDER BY id LOOP
    EXECUTE format('SELECT ARRAY[sum(n), count(*)] FROM words WHERE %s', cond) INTO counts;
    IF NOT plan_has(format('SELECT n FROM words WHERE %s', cond), 'Index Cond') OR counts <> ARRAY[7, 1] THEN
      RAISE WARNING '%: %', cond, counts;
    END IF;
  END LOOP;
END $$;
SELECT plan_has($$SELECT n FROM words WHERE c LIKE 'key 19%'$$, 'Index Cond: .*>=.*<'),
       plan_has($$SELECT n FROM words WHERE d LIKE 'key 19%'$$, 'Index Cond: .*>=.*<');
SELECT count(*) FROM words WHERE c LIKE 'key 19%' AND d ^@ 'key 19';
-- A comparison by order needs the collation of the index.
SELECT plan_has($$SELECT n FROM words WHERE c < 'key 7'$$, 'Index Cond', false),
       plan_has($$SELECT n FROM words WHERE c <> 'key 7'$$, 'Index Cond', false);
-- Merge joins, lists and equivalence classes need the same collation, too.
SELECT plan_has($$SELECT n FROM words WHERE c IN ('key 7', 'key 8')$$, 'Index Cond', false);
-- An equality with a value from outside of the query does not need the collation.
SELECT plan_has($$SELECT (SELECT n FROM words WHERE c = k LIMIT 1) FROM (SELECT 'key ' || i AS k FROM generate_series(1, 3) i) x$$,
  'Index Cond: \(c = ');
SELECT (SELECT n FROM words WHERE c = k LIMIT 1) FROM (SELECT 'key ' || i AS k FROM generate_series(1, 3) i) x;
-- An explicit COLLATE of the index's collation works as well.
SELECT n FROM words WHERE c = 'key 7' COLLATE "C";
RESET enable_seqscan;

--
-- Operator classes of core's types.  The library has been loaded.
--
CREATE TABLE indexed (c compact_text(20) COLLATE not_c, d compact_char10 COLLATE not_c, e compact_text(20), t text, n int);
INSERT INTO indexed SELECT c, d, c, c, n FROM words;
CREATE INDEX i_varchar ON indexed (c varchar_pattern_ops);
CREATE INDEX i_text ON indexed USING btree (n, c text_pattern_ops DESC NULLS LAST) INCLUDE (t);
CREATE UNIQUE INDEX i_char ON indexed (d bpchar_pattern_ops) WHERE n > 0;
CREATE INDEX i_parentheses ON indexed ((c) pg_catalog.varchar_pattern_ops);
CREATE INDEX i_c ON indexed (e varchar_pattern_ops);
CREATE INDEX i_default ON indexed (c text_ops, d bpchar_ops, c COLLATE "C" varchar_ops);
CREATE INDEX i_hash ON indexed USING hash (c varchar_pattern_ops);
CREATE INDEX i_minmax ON indexed USING brin (c text_minmax_ops, d bpchar_minmax_ops);
CREATE INDEX i_bloom ON indexed USING brin (c text_bloom_ops(n_distinct_per_range = 100), d bpchar_bloom_ops);
CREATE INDEX i_trgm ON indexed USING gin (c gin_trgm_ops);
CREATE INDEX i_gist ON indexed USING gist (d gist_trgm_ops(siglen = 32), n);
CREATE INDEX ON indexed USING gist (c, n);
CREATE INDEX CONCURRENTLY i_concurrently ON indexed (c varchar_pattern_ops);
CREATE INDEX IF NOT EXISTS i_c ON indexed (e varchar_pattern_ops);
SELECT indexrelid::regclass AS index, pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = 'indexed'::regclass ORDER BY indexrelid::regclass::text COLLATE "C";
-- These statements are left to the server, which reports the errors.
CREATE INDEX ON indexed (t varchar_pattern_ops, (upper(c)) varchar_pattern_ops, (c || d) text_pattern_ops);
CREATE INDEX ON indexed (c int4_ops);
CREATE INDEX ON indexed (c name_ops);
CREATE INDEX ON indexed (c no_such_ops);
\set VERBOSITY sqlstate
CREATE INDEX ON indexed (no_such_column varchar_pattern_ops);
\set VERBOSITY default
CREATE INDEX ON indexed USING no_such_am (c varchar_pattern_ops);
CREATE INDEX ON no_such_table (c varchar_pattern_ops);
CREATE INDEX ON indexed (c compact_types.compact_text_ops);
CREATE UNIQUE INDEX ON indexed USING gist (c);
ALTER TABLE indexed ADD EXCLUDE USING gist (c WITH =);
-- The index can be used as it could be for varchar.
ANALYZE indexed;
SET enable_seqscan = off;
DROP INDEX i_text, i_parentheses, i_hash, i_minmax, i_bloom, i_concurrently, i_default;
SELECT plan_has($$SELECT n FROM indexed WHERE c LIKE 'key 19%'$$, 'Index Cond: .*>=.*<'),
       plan_has($$SELECT n FROM indexed WHERE c = 'key 19'$$, 'Index Cond: \(c = '),
       plan_has($$SELECT n FROM indexed WHERE e LIKE 'key 19%'$$, 'Index Cond: .*>=.*<'),
       plan_has($$SELECT n FROM indexed WHERE c::text LIKE '%ey 199%'$$, 'i_trgm');
INSERT INTO indexed VALUES ('key 1', 'key 1', 'key 1', 'key 1', 5000);
-- The index keeps its operator class when the column gets another type.
ALTER TABLE indexed ALTER c TYPE varchar(20), ALTER d TYPE char(10);
SELECT plan_has($$SELECT n FROM indexed WHERE c LIKE 'key 19%'$$, 'Index Cond: .*>=.*<');
ALTER TABLE indexed ALTER c TYPE compact_text(20), ALTER d TYPE compact_char10;
SELECT plan_has($$SELECT n FROM indexed WHERE c LIKE 'key 19%'$$, 'Index Cond: .*>=.*<');
RESET enable_seqscan;
-- Test a materialized view and a partitioned table.
CREATE MATERIALIZED VIEW mat AS SELECT c FROM indexed;
CREATE INDEX ON mat (c varchar_pattern_ops);
CREATE INDEX ON parted (k varchar_pattern_ops);
CREATE TABLE parted_like (LIKE parted INCLUDING ALL);
SELECT indexdef FROM pg_indexes WHERE tablename IN ('mat', 'parted_0', 'parted_like') ORDER BY 1;
-- Test a domain.
CREATE DOMAIN short AS compact_text(20);
CREATE TABLE of_domain (s short COLLATE not_c);
CREATE INDEX ON of_domain (s varchar_pattern_ops);
\d of_domain

DROP MATERIALIZED VIEW mat;
DROP TABLE kinds, conditions, composite, parted, of_parted, parted_like, v, vc, words, of_domain, indexed;
DROP DOMAIN short;
DROP FUNCTION plan_has;
DROP COLLATION not_c;
DROP EXTENSION btree_gist, pg_trgm, compact_char8, compact_char10;
