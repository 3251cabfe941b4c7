--
-- Run the same DDL on the name of a split table and on a plain table.
--
\set VERBOSITY default
\set SHOW_CONTEXT never
SET client_min_messages = warning;
\set database :DBNAME
CREATE DATABASE regress_vertical_partition_alter TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
ALTER DATABASE regress_vertical_partition_alter SET session_preload_libraries = 'vertical_partition';
\c regress_vertical_partition_alter
SET client_min_messages = warning;
CREATE EXTENSION vertical_partition;
CREATE ROLE regress_vp_alice;
CREATE ROLE regress_vp_bob;

-- Each table exists in four schemas: as a plain table, and split by each method.
CREATE SCHEMA plain;
CREATE SCHEMA shared_key;
CREATE SCHEMA surrogate_key;
CREATE SCHEMA row_pointer;
CREATE SCHEMA tool;
CREATE TABLE tool.schemas (name text PRIMARY KEY);
INSERT INTO tool.schemas VALUES ('plain'), ('shared_key'), ('surrogate_key'), ('row_pointer');
SET search_path = tool;

-- Execute a statement in each schema, and return its result or its error.
CREATE FUNCTION tool.run(statement text, plain_too boolean DEFAULT true) RETURNS TABLE (schemas text, result text) LANGUAGE plpgsql AS $$
DECLARE
  s text;
  results jsonb := '{}';
  message text;
  detail text;
  hint text;
BEGIN
  FOR s IN SELECT name FROM tool.schemas WHERE plain_too OR name <> 'plain' LOOP
    PERFORM set_config('search_path', s || ', tool', true);
    BEGIN
      EXECUTE statement;
      message := 'done';
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
      -- Since 19, this detail is a sentence.
      detail := regexp_replace(detail, '( depends on column ".*")\.$', '\1');
      message := SQLSTATE || ' ' || replace(message, s || '.', '') || coalesce(E'\n  ' || nullif(replace(detail, s || '.', ''), ''), '')
        || coalesce(E'\n  ' || nullif(replace(hint, s || '.', ''), ''), '');
    END;
    results := results || jsonb_build_object(s, message);
  END LOOP;
  PERFORM set_config('search_path', 'tool', true);
  RETURN QUERY SELECT string_agg(key, ', ' ORDER BY key COLLATE "C"), value FROM jsonb_each_text(results) GROUP BY value ORDER BY 1;
END
$$;

-- Return the rows of a table in each schema.
CREATE FUNCTION tool.rows(tab text) RETURNS TABLE (schemas text, r jsonb) LANGUAGE plpgsql AS $$
DECLARE
  s text;
  rows jsonb;
  results jsonb := '{}';
BEGIN
  FOR s IN SELECT name FROM tool.schemas LOOP
    EXECUTE format('SELECT jsonb_agg(t ORDER BY t::text) FROM %I.%I t', s, tab) INTO rows;
    results := results || jsonb_build_object(s, rows);
  END LOOP;
  RETURN QUERY SELECT x.k, e FROM (SELECT string_agg(key, ', ' ORDER BY key COLLATE "C") AS k, value AS v FROM jsonb_each(results) GROUP BY value) x,
    LATERAL jsonb_array_elements(x.v) WITH ORDINALITY a (e, o) ORDER BY x.k, a.o;
END
$$;

-- Return the definition of a table from the catalogs, without the name of its schema.
CREATE FUNCTION tool.describe(schema text, tab text) RETURNS TABLE (line text) LANGUAGE plpgsql AS $$
DECLARE
  rel oid := format('%I.%I', schema, tab)::regclass;
BEGIN
  PERFORM set_config('search_path', schema || ', tool', true);
  RETURN QUERY
  SELECT replace(l, schema || '.', '') FROM (
    SELECT format('column %s %s %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod), a.attcollation::regcollation,
        CASE WHEN a.attnotnull THEN ' not null' END,
        coalesce(' ' || CASE WHEN a.attgenerated <> '' THEN 'generated ' WHEN a.attidentity <> '' THEN 'identity ' ELSE 'default ' END
            || coalesce(pg_get_expr(d.adbin, d.adrelid), ''), CASE WHEN a.attidentity <> '' THEN ' identity' END))
        || format(' storage %s compression %s statistics %s options %s comment %s acl %s', a.attstorage, a.attcompression,
            coalesce(a.attstattarget, -1), ARRAY(SELECT o FROM unnest(a.attoptions) o WHERE o ~ '^n_distinct'), col_description(rel, a.attnum), a.attacl) AS l
    FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = rel AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT format('order %s', string_agg(a.attname, ',' ORDER BY a.attnum)) FROM pg_attribute a WHERE a.attrelid = rel AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT format('constraint %s %s comment %s', c.conname, pg_get_constraintdef(c.oid), obj_description(c.oid, 'pg_constraint'))
    FROM pg_constraint c WHERE c.conrelid = rel
    UNION ALL
    SELECT format('referenced by %s %s', c.conname, pg_get_constraintdef(c.oid)) FROM pg_constraint c WHERE c.confrelid = rel
    UNION ALL
    SELECT format('index %s', pg_get_indexdef(i.indexrelid)) FROM pg_index i WHERE i.indrelid = rel
    UNION ALL
    SELECT format('statistics %s', pg_get_statisticsobjdef(s.oid)) FROM pg_statistic_ext s WHERE s.stxrelid = rel
    UNION ALL
    SELECT format('sequence %s of %s at %s', d.objid::regclass, a.attname, pg_sequence_last_value(d.objid))
    FROM pg_depend d JOIN pg_class c ON c.oid = d.objid AND c.relkind = 'S' JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
    WHERE d.refobjid = rel AND d.deptype IN ('a', 'i')
    UNION ALL
    SELECT format('trigger %s', pg_get_triggerdef(t.oid)) FROM pg_trigger t WHERE t.tgrelid = rel AND NOT t.tgisinternal
    UNION ALL
    SELECT format('comment %s acl %s', obj_description(rel, 'pg_class'), relacl) FROM pg_class WHERE oid = rel) x (l);
  PERFORM set_config('search_path', 'tool', true);
END
$$;

-- Create a table in each schema, and split it.
CREATE FUNCTION tool.make(definition text, rows text, cold name[]) RETURNS TABLE (schemas text, result text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tool.run('DROP TABLE IF EXISTS t CASCADE');
  PERFORM tool.run('CREATE TABLE t ' || definition);
  PERFORM tool.run('INSERT INTO t ' || rows);
  RETURN QUERY SELECT * FROM tool.run(format($f$SELECT vertical_partition.split('t', %L, current_schema()) WHERE current_schema() <> 'plain'$f$, cold));
END
$$;

-- Merge all split tables, and return how they differ from the plain table.
CREATE FUNCTION tool.merge() RETURNS TABLE (schema text, difference text) LANGUAGE plpgsql AS $$
DECLARE
  s text;
BEGIN
  FOR s IN SELECT name FROM tool.schemas WHERE name <> 'plain' LOOP
    BEGIN
      PERFORM vertical_partition.merge(format('%I.t', s)::regclass);
    EXCEPTION WHEN OTHERS THEN
      RETURN QUERY VALUES (s, SQLERRM);
      CONTINUE;
    END;
    RETURN QUERY SELECT s, '+ ' || x.l FROM (SELECT d.line FROM tool.describe(s, 't') d EXCEPT SELECT d.line FROM tool.describe('plain', 't') d) x (l);
    RETURN QUERY SELECT s, '- ' || x.l FROM (SELECT d.line FROM tool.describe('plain', 't') d EXCEPT SELECT d.line FROM tool.describe(s, 't') d) x (l);
  END LOOP;
END
$$;

--
-- Columns, indexes and constraints
--
SELECT * FROM run('CREATE TABLE u (id int PRIMARY KEY)');
SELECT * FROM run('INSERT INTO u SELECT generate_series(1, 9)');
SELECT * FROM make('(id serial PRIMARY KEY, a int, b text DEFAULT ''b'', c text, d text)',
  $$(a, b, c, d) SELECT i, 'b' || i, 'c' || i, 'd' || i FROM generate_series(1, 3) i$$, '{c,d}');
SELECT * FROM run('ALTER TABLE t ADD COLUMN n1 int');
SELECT * FROM run('ALTER TABLE t ADD COLUMN n1 int');
SELECT * FROM run('ALTER TABLE t ADD COLUMN IF NOT EXISTS n1 int, ADD IF NOT EXISTS c text');
SELECT * FROM run('ALTER TABLE t ADD c text');
SELECT * FROM run('ALTER TABLE t ADD ctid text');
SELECT * FROM run('ALTER TABLE t ADD n2 varchar(10) COLLATE "POSIX" DEFAULT ''n2'' NOT NULL CHECK (n2 <> a::text)');
SELECT * FROM run('ALTER TABLE t ADD n3 int UNIQUE, ADD n4 int REFERENCES u ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED');
SELECT * FROM run('ALTER TABLE t ADD n5 serial, ADD n6 int GENERATED BY DEFAULT AS IDENTITY (START 10)');
SELECT * FROM run('ALTER TABLE t ADD n7 int GENERATED ALWAYS AS (a * 2) STORED');
SELECT * FROM run('ALTER TABLE t ADD n8 text GENERATED ALWAYS AS (upper(c)) STORED, ADD CHECK (n8 <> c)');
SELECT * FROM run('ALTER TABLE t ADD n9 int NOT NULL');
SELECT * FROM run('ALTER TABLE t ADD n9 int DEFAULT 0 UNIQUE');
SELECT * FROM run('ALTER TABLE t ADD n9 int PRIMARY KEY');
SELECT * FROM run('ALTER TABLE t ADD CONSTRAINT later CHECK (n9 > 0) NOT VALID, ADD n9 int DEFAULT 1, ALTER b SET NOT NULL, ALTER c SET NOT NULL');
SELECT * FROM run('ALTER TABLE t ADD parent int REFERENCES t, ADD n10 float8 DEFAULT random() * 0');
SELECT * FROM run('INSERT INTO t (a, c) VALUES (4, ''c4'')');
SELECT * FROM run('INSERT INTO t (id, a, c, n3, parent) VALUES (5, 5, ''c5'', 5, 4)');
SELECT * FROM run('INSERT INTO t (id, a, c, n3) VALUES (6, 6, ''c6'', 5)');
SELECT * FROM run('INSERT INTO t (id, a, c, parent) VALUES (6, 6, ''c6'', 99)');
SELECT * FROM run('UPDATE t SET n4 = id, n1 = a, d = b WHERE id < 3');
SELECT * FROM run('DELETE FROM u WHERE id = 2');
SELECT * FROM rows('t');
SELECT * FROM run('CREATE INDEX ON t (lower(b), a DESC) INCLUDE (n1) WHERE t.a > 0');
SELECT * FROM run('CREATE INDEX ON t (c, d text_pattern_ops)');
SELECT * FROM run('CREATE INDEX ON t (c, b) WHERE d > ''''', false);
SELECT * FROM run('CREATE INDEX ON t (a)');
SELECT * FROM run('CREATE INDEX ON t (a)');
SELECT * FROM run('CREATE INDEX ON t ((a + 1), (a + 2), (a + 3))');
SELECT * FROM run('CREATE UNIQUE INDEX un ON t (n3, a)');
SELECT * FROM run('CREATE INDEX IF NOT EXISTS un ON t (b)');
SELECT * FROM run('CREATE INDEX ON t (a, c)', false);
SELECT * FROM run('CREATE INDEX ON t (a) WHERE c IS NULL', false);
SELECT * FROM run('CREATE INDEX ON t ((t IS NULL))', false);
SELECT * FROM run('CREATE INDEX ON t (nothing)');
SELECT * FROM run('CREATE STATISTICS st1 ON a, n1 FROM t');
SELECT * FROM run('CREATE STATISTICS st ON c, d FROM t');
SELECT * FROM run('CREATE STATISTICS st2 ON a, d FROM t', false);
SELECT * FROM run('ALTER TABLE t ADD CONSTRAINT un UNIQUE USING INDEX un');
SELECT * FROM run('ALTER TABLE t ADD UNIQUE (c, d), ADD UNIQUE (a, n1), ADD CHECK (c <> d), ADD EXCLUDE USING btree (d WITH =)');
SELECT * FROM run('ALTER TABLE t ADD CONSTRAINT fk FOREIGN KEY (n1) REFERENCES u NOT VALID');
SELECT * FROM run('ALTER TABLE t VALIDATE CONSTRAINT fk');
SELECT * FROM run('DELETE FROM t WHERE id = 2; INSERT INTO u VALUES (2)');
SELECT * FROM run('ALTER TABLE t VALIDATE CONSTRAINT fk, ALTER CONSTRAINT fk DEFERRABLE');
SELECT * FROM run('ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES u');
SELECT * FROM run('SET CONSTRAINTS fk, t_n4_fkey DEFERRED');
SELECT * FROM run('ALTER TABLE t ADD CHECK (a > 0 OR c > '''')', false);
SELECT * FROM run('ALTER TABLE t ADD UNIQUE (a, c)', false);
SELECT * FROM run('ALTER TABLE t ADD PRIMARY KEY (a)');
SELECT * FROM run('ALTER TABLE t DROP CONSTRAINT t_pkey', false);
SELECT * FROM run('ALTER TABLE t DROP CONSTRAINT nothing');
SELECT * FROM run('ALTER TABLE t DROP CONSTRAINT IF EXISTS nothing, DROP CONSTRAINT t_check1');
SELECT * FROM run('CREATE SEQUENCE seq OWNED BY t.a; CREATE SEQUENCE seq2; ALTER SEQUENCE seq2 OWNED BY t.c');
SELECT * FROM run('ALTER SEQUENCE seq2 OWNED BY t.nothing');
SELECT * FROM run('ALTER TABLE t RENAME CONSTRAINT t_c_d_key TO cold_key');
SELECT * FROM run('ALTER TABLE t RENAME CONSTRAINT fk TO foreign_key');
SELECT * FROM run('ALTER TABLE t RENAME CONSTRAINT nothing TO something');
SELECT * FROM run('COMMENT ON CONSTRAINT cold_key ON t IS ''a key''');
SELECT * FROM run('COMMENT ON COLUMN t.c IS ''a column''');
SELECT * FROM run('COMMENT ON TABLE t IS ''a table''');
SELECT * FROM run('DROP INDEX t_a_idx');
SELECT * FROM run('ALTER TABLE t ALTER n10 SET DEFAULT 1');
SELECT * FROM rows('t');
SELECT * FROM merge();
SELECT * FROM describe('plain', 't') WHERE line !~ '^constraint \S+ NOT NULL' ORDER BY line COLLATE "C";

--
-- Names, defaults and the rest of a column
--
SELECT * FROM make('(id serial PRIMARY KEY, a int, b text DEFAULT ''b'', c text, d text, i int GENERATED BY DEFAULT AS IDENTITY, g int GENERATED ALWAYS AS (a + 1) STORED)',
  $$(a, b, c, d) SELECT i, 'b' || i, 'c' || i, 'd' || i FROM generate_series(1, 3) i$$, '{c,d}');
SELECT * FROM run('CREATE INDEX a ON t (a, b)');
SELECT * FROM run('ALTER TABLE t RENAME a TO a2');
SELECT * FROM run('ALTER TABLE t RENAME COLUMN c TO "C"');
SELECT * FROM run('ALTER TABLE t RENAME id TO key');
SELECT * FROM run('ALTER TABLE t RENAME nothing TO something');
SELECT * FROM run('ALTER TABLE t RENAME d TO b');
SELECT * FROM run('ALTER TABLE t RENAME d TO cold_id') WHERE schemas = 'surrogate_key';
SELECT * FROM run('ALTER TABLE t RENAME cold_id TO d') WHERE schemas <> 'surrogate_key';
SELECT * FROM run('CREATE INDEX ON t ("C")');
SELECT * FROM run('ALTER TABLE t ALTER b DROP DEFAULT, ALTER "C" SET DEFAULT ''new'', ALTER d SET DEFAULT ''other''');
SELECT * FROM run('ALTER TABLE t ALTER d DROP DEFAULT');
SELECT * FROM run('ALTER TABLE t ALTER a2 SET DEFAULT ''one''');
SELECT * FROM run('ALTER TABLE t ALTER i SET DEFAULT 5');
SELECT * FROM run('ALTER TABLE t ALTER g DROP DEFAULT');
SELECT * FROM run('ALTER TABLE t ALTER nothing SET DEFAULT 5');
SELECT * FROM run('INSERT INTO t (a2) VALUES (4)');
SELECT * FROM run('ALTER TABLE t ALTER b SET NOT NULL');
SELECT * FROM run('UPDATE t SET b = ''b'' WHERE b IS NULL');
SELECT * FROM run('ALTER TABLE t ALTER b SET NOT NULL, ALTER "C" SET NOT NULL');
SELECT * FROM run('ALTER TABLE t ALTER b DROP NOT NULL');
SELECT * FROM run('ALTER TABLE t ALTER key DROP NOT NULL');
SELECT * FROM run('ALTER TABLE t ALTER a2 SET STATISTICS 100, ALTER "C" SET STORAGE EXTERNAL, ALTER d SET COMPRESSION pglz, ALTER b SET (n_distinct = -0.5)');
SELECT * FROM run('ALTER TABLE t ALTER i DROP IDENTITY, ALTER g DROP EXPRESSION');
SELECT * FROM run('ALTER TABLE t ALTER a2 SET NOT NULL, ALTER a2 ADD GENERATED BY DEFAULT AS IDENTITY (START 50)');
SELECT * FROM run('ALTER TABLE t ALTER "C" ADD GENERATED BY DEFAULT AS IDENTITY');
SELECT * FROM run('ALTER TABLE t ALTER a2 SET INCREMENT 10');
SELECT * FROM run('INSERT INTO t (b, i) VALUES (''b5'', 5)');
SELECT * FROM run('ALTER TABLE t ADD x int, ALTER a2 SET GENERATED ALWAYS', false);
SELECT * FROM run('ALTER TABLE t ADD x int GENERATED ALWAYS AS IDENTITY', false);
SELECT * FROM run('ALTER TABLE t SET (fillfactor = 70), ALTER d SET STATISTICS 5');
SELECT * FROM run('ALTER TABLE ONLY t ADD x int');
SELECT * FROM run('ALTER TABLE IF EXISTS t ADD y int');
SELECT * FROM run('ALTER TABLE t RENAME TO t2; ALTER TABLE t2 ADD CHECK (x > 0), ADD z int UNIQUE');
SELECT * FROM run('ALTER TABLE t2 RENAME TO t');
SELECT * FROM run('ALTER TABLE t ENABLE ROW LEVEL SECURITY', false);
SELECT * FROM run('CREATE TRIGGER tr AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()', false);
SELECT * FROM rows('t');
SELECT * FROM merge();

--
-- Types
--
SELECT * FROM make('(id int PRIMARY KEY, a int DEFAULT 1 CHECK (a > 0), b text DEFAULT ''5'', c text, d int DEFAULT 7, e numeric UNIQUE, f int)',
  $$SELECT i, i, i, i, i, i, i FROM generate_series(1, 3) i$$, '{c,d,e}');
SELECT * FROM run('COMMENT ON COLUMN t.a IS ''a column''; GRANT SELECT (a), UPDATE (c) ON t TO regress_vp_alice; CREATE TABLE v (t int REFERENCES t)');
SELECT 't'::text AS tab, s.name, format('%I.t', s.name)::regclass::oid AS oid INTO oids FROM schemas s;
SELECT * FROM run('ALTER TABLE t ALTER a TYPE bigint');
SELECT * FROM run('ALTER TABLE t ALTER b TYPE int');
SELECT * FROM run('ALTER TABLE t ALTER b DROP DEFAULT, ALTER b TYPE int USING b::int + f, ALTER b SET DEFAULT 10');
SELECT * FROM run('ALTER TABLE t ALTER c TYPE int USING c::int + d, ALTER d SET DATA TYPE text, ALTER f TYPE varchar(5) COLLATE "POSIX"');
SELECT * FROM run('ALTER TABLE t ALTER a TYPE int USING a + c', false);
SELECT * FROM run('ALTER TABLE t ALTER nothing TYPE int');
SELECT * FROM run('ALTER TABLE t ALTER e TYPE numeric(6,2), ALTER id TYPE bigint');
SELECT * FROM run('ALTER TABLE t ALTER d TYPE int');
SELECT * FROM run('ALTER TABLE v DROP CONSTRAINT v_t_fkey');
SELECT * FROM run('ALTER TABLE t ALTER id TYPE text USING ''k'' || id, ALTER e TYPE text');
BEGIN;
SELECT * FROM run('ALTER TABLE t ALTER id TYPE text USING id || f', false);
SELECT * FROM run('ALTER TABLE t ALTER id TYPE text USING ''x'' || id || random()', false);
ROLLBACK;
SELECT * FROM run('ALTER TABLE t ALTER id TYPE varchar(20)');
SELECT * FROM run('INSERT INTO t (id, c) VALUES (''new'', 1)');
SELECT * FROM run('UPDATE t SET d = d || ''d'', a = a + 1 WHERE id = ''k2''');
SELECT * FROM rows('t');
SELECT s.name, format('%I.t', s.name)::regclass::oid = o.oid AS same_oid FROM schemas s JOIN oids o USING (name) ORDER BY 1;
-- In the view, the default of an identity column also has the new type.
SELECT * FROM run('ALTER TABLE t ADD i int GENERATED BY DEFAULT AS IDENTITY');
SELECT * FROM run('ALTER TABLE t ALTER i TYPE bigint');
SELECT * FROM run('ALTER TABLE t ALTER i RESTART WITH 3000000000');
SELECT * FROM run('INSERT INTO t (id, c) VALUES (''large'', 1)');
-- Test objects that use the table.
SELECT * FROM run('CREATE VIEW w AS SELECT a, f FROM t');
SELECT * FROM run('ALTER TABLE t ALTER c TYPE numeric');
SELECT * FROM run('ALTER TABLE t ALTER a TYPE numeric');
SELECT * FROM run('DROP VIEW w; CREATE VIEW w AS SELECT t FROM t');
SELECT * FROM run('ALTER TABLE t ALTER c TYPE text');
SELECT * FROM run('DROP VIEW w');
SELECT * FROM run('GRANT INSERT ON t TO regress_vp_bob');
SELECT * FROM run('ALTER TABLE t ADD CONSTRAINT ck CHECK (f <> ''x'')');
SELECT * FROM run('ALTER TABLE t RENAME id TO "the id"; ALTER TABLE t ALTER "the id" TYPE text');
SELECT * FROM merge();

--
-- DROP COLUMN
--
SELECT * FROM make('(id serial PRIMARY KEY, a int DEFAULT 1, b text DEFAULT ''b'', c text UNIQUE, d text DEFAULT ''d'', s serial, e int)',
  $$(a, b, c, d) SELECT i, 'b' || i, 'c' || i, 'd' || i FROM generate_series(1, 3) i$$, '{c,d}');
SELECT * FROM run('GRANT SELECT (a), INSERT (b), UPDATE (c) ON t TO regress_vp_alice; GRANT DELETE ON t TO regress_vp_bob WITH GRANT OPTION; COMMENT ON COLUMN t.a IS ''going''; COMMENT ON COLUMN t.d IS ''staying''');
SELECT * FROM run('CREATE TRIGGER st AFTER UPDATE ON t FOR EACH STATEMENT EXECUTE FUNCTION suppress_redundant_updates_trigger()');
SELECT * FROM run('CREATE INDEX ON t (a, b)');
SELECT * FROM run('CREATE TABLE w (c text REFERENCES t (c), i int REFERENCES t)');
SELECT * FROM run('ALTER TABLE t DROP COLUMN a');
SELECT * FROM run('ALTER TABLE t DROP COLUMN a');
SELECT * FROM run('ALTER TABLE t DROP COLUMN IF EXISTS a, DROP s CASCADE, ADD a text DEFAULT ''new'', ALTER e SET DEFAULT 5');
SELECT * FROM run('ALTER TABLE t DROP c');
SELECT * FROM run('ALTER TABLE t DROP c CASCADE');
SELECT * FROM run('ALTER TABLE t DROP e, ADD e numeric DEFAULT 5');
SELECT * FROM run('ALTER TABLE t ADD g int GENERATED ALWAYS AS (e * 2) STORED, ADD g2 int GENERATED ALWAYS AS (e * 2) STORED');
SELECT * FROM run('ALTER TABLE t DROP e');
SELECT * FROM run('ALTER TABLE t DROP e CASCADE, ADD e numeric DEFAULT 5');
SELECT * FROM run('ALTER TABLE t ADD g int GENERATED ALWAYS AS (e * 2) STORED');
SELECT * FROM run('ALTER TABLE t DROP e CASCADE, ALTER g DROP EXPRESSION');
SELECT * FROM run('ALTER TABLE t ALTER g DROP EXPRESSION, DROP e CASCADE');
SELECT * FROM rows('t');
SELECT * FROM run('ALTER TABLE t DROP g, ADD e numeric DEFAULT 5');
SELECT * FROM run('ALTER TABLE t ADD new int, ALTER new TYPE text');
SELECT * FROM run('ALTER TABLE t ADD new int, DROP new');
SELECT * FROM run('ALTER TABLE t ADD k int DEFAULT 1, ADD k2 int GENERATED BY DEFAULT AS IDENTITY');
SELECT * FROM run('ALTER TABLE t ALTER k DROP DEFAULT, DROP k, ALTER k2 DROP IDENTITY, DROP k2');
SELECT * FROM run('ALTER TABLE t ADD k int, ALTER k SET DEFAULT 3, ALTER k2 SET DEFAULT 4, ADD k2 int DEFAULT 7, ADD k3 serial, ALTER k3 SET DEFAULT 5');
SELECT * FROM run('ALTER TABLE t ADD k4 serial, ADD k5 int GENERATED ALWAYS AS (k4) STORED');
SELECT * FROM run('ALTER TABLE t ALTER k3 DROP DEFAULT, ALTER k3 ADD GENERATED BY DEFAULT AS IDENTITY (START 100)');
SELECT * FROM run('ALTER TABLE t ADD k5 int, DROP k4 CASCADE');
SELECT * FROM run('INSERT INTO t (b) VALUES (''k'')');
SELECT * FROM rows('t');
SELECT * FROM run('DELETE FROM t WHERE b = ''k''');
SELECT * FROM run('ALTER TABLE t DROP k, DROP k2, DROP k3, DROP k5');
-- Test one name for two constraints.
SELECT * FROM run('ALTER TABLE t ADD CONSTRAINT same CHECK (id > 0)');
SELECT * FROM run('ALTER TABLE t ADD CONSTRAINT same CHECK (d <> '''')');
SELECT * FROM run('ALTER TABLE t ADD x text CONSTRAINT same CHECK (d <> '''')');
SELECT * FROM run('ALTER TABLE t ADD CONSTRAINT twice CHECK (d <> ''''), ADD CONSTRAINT twice CHECK (id > 0)');
SELECT * FROM run('ALTER TABLE t ADD CONSTRAINT other CHECK (d <> '''')');
SELECT * FROM run('ALTER TABLE t RENAME CONSTRAINT other TO same');
SELECT * FROM run('ALTER TABLE t DROP CONSTRAINT same, ADD CONSTRAINT same CHECK (d <> '''')');
SELECT * FROM run('ALTER TABLE t DROP CONSTRAINT same, DROP CONSTRAINT other');
-- Use a name of the cold part again for the hot part in the same command, and the other way round.
SELECT * FROM run('ALTER TABLE t ADD n serial UNIQUE, ADD o text GENERATED ALWAYS AS (d) STORED UNIQUE');
SELECT * FROM run('ALTER TABLE t DROP o, ADD o serial UNIQUE');
SELECT * FROM run('ALTER TABLE t DROP n, ADD n text GENERATED ALWAYS AS (d) STORED UNIQUE');
SELECT * FROM run('ALTER TABLE t DROP n, DROP o, ADD n serial UNIQUE, ADD o text GENERATED ALWAYS AS (d) STORED UNIQUE');
SELECT * FROM run('ALTER TABLE t ADD CONSTRAINT uq UNIQUE (d)');
SELECT * FROM run('ALTER TABLE t DROP CONSTRAINT uq, ADD CONSTRAINT uq UNIQUE (b)');
SELECT * FROM run('ALTER TABLE t ADD CONSTRAINT uq UNIQUE (d), DROP CONSTRAINT uq');
-- The commands run in the given order, because one needs the other.
SELECT * FROM run('ALTER TABLE t ADD p text, ADD CONSTRAINT fk FOREIGN KEY (p) REFERENCES t (d)');
SELECT * FROM run('ALTER TABLE t DROP CONSTRAINT uq, DROP CONSTRAINT fk');
SELECT * FROM run('ALTER TABLE t DROP CONSTRAINT fk, DROP CONSTRAINT uq, ADD CONSTRAINT uq UNIQUE (p)');
SELECT * FROM run('ALTER TABLE t ADD CONSTRAINT fk FOREIGN KEY (d) REFERENCES t (p) NOT VALID');
SELECT * FROM run('ALTER TABLE t DROP CONSTRAINT uq, DROP CONSTRAINT fk');
SELECT * FROM run('ALTER TABLE t DROP CONSTRAINT fk, DROP CONSTRAINT uq, ADD UNIQUE (d)');
SELECT s.name, d.line FROM tool.schemas s, tool.describe(s.name, 't') d WHERE s.name <> 'plain' AND d.line ~ 'sequence|constraint' AND d.line !~ 'not_null|NOT NULL'
  AND NOT EXISTS (SELECT FROM tool.describe('plain', 't') p WHERE p.line = d.line) ORDER BY 1, 2;
SELECT * FROM run('ALTER TABLE t DROP n, DROP o, DROP p, DROP CONSTRAINT t_d_key');
-- A command changes and then drops a column of the cold part, and alters the hot part.
SELECT * FROM run('ALTER TABLE t ADD n text GENERATED ALWAYS AS (d) STORED');
SELECT * FROM run('ALTER TABLE t ALTER n DROP EXPRESSION, DROP n, ALTER b SET STATISTICS 7');
SELECT * FROM run('ALTER TABLE t ADD n text GENERATED ALWAYS AS (d) STORED');
SELECT * FROM run('ALTER TABLE t ALTER n DROP EXPRESSION, ALTER n SET DEFAULT ''n'', ALTER n SET NOT NULL');
SELECT * FROM run('ALTER TABLE t ALTER n SET DEFAULT ''m'', DROP n, ALTER b SET STATISTICS 8');
SELECT * FROM run('ALTER TABLE t ALTER n DROP DEFAULT, DROP n, ALTER b SET STATISTICS 8, ALTER n DROP NOT NULL');
SELECT * FROM run('ALTER TABLE t ALTER n DROP DEFAULT, ALTER n DROP NOT NULL, DROP n, ALTER b SET STATISTICS -1');
-- If the command drops no object of the cold part, PostgreSQL orders the subcommands of each part.
SELECT * FROM run('ALTER TABLE t ADD n int, ADD o int, ADD p text GENERATED ALWAYS AS (d) STORED, ALTER d SET NOT NULL');
SELECT * FROM run('ALTER TABLE t ALTER n TYPE int USING o + 1, DROP o, ALTER d DROP NOT NULL');
SELECT * FROM run('ALTER TABLE t ALTER p DROP EXPRESSION, ALTER p TYPE int USING 3, ALTER b SET STATISTICS 7');
SELECT * FROM run('ALTER TABLE t DROP n, DROP p');
-- Test LIKE.
CREATE FUNCTION tool.describe_like() RETURNS TABLE (schemas text, line text) LANGUAGE sql AS $$
SELECT string_agg(s.name, ', ' ORDER BY s.name), d.line FROM tool.schemas s, tool.describe(s.name, 'l') d GROUP BY d.line
-- Since 18, NOT NULL has a constraint.
HAVING d.line !~ '^constraint' OR count(*) < 4 ORDER BY d.line
$$;
SELECT * FROM run('CREATE TABLE l (LIKE t, more int)');
SELECT * FROM describe_like();
SELECT * FROM run('DROP TABLE l');
SELECT * FROM run('CREATE TABLE l (LIKE t INCLUDING DEFAULTS)');
SELECT * FROM describe_like();
SELECT * FROM run('DROP TABLE l');
SELECT * FROM run('CREATE TEMP TABLE l (LIKE t INCLUDING DEFAULTS); INSERT INTO l DEFAULT VALUES; DROP TABLE l');
SELECT * FROM run('CREATE TABLE l (LIKE t INCLUDING ALL)', false);
SELECT * FROM run('CREATE TABLE l (LIKE t INCLUDING INDEXES)', false);
-- Test tables that exist already.
SELECT * FROM run('CREATE TABLE l (x int)');
SELECT * FROM run('CREATE TABLE IF NOT EXISTS l (LIKE t INCLUDING ALL)');
SELECT * FROM run('CREATE TABLE IF NOT EXISTS l (LIKE t, FOREIGN KEY (b, d) REFERENCES t (b, d))');
SELECT * FROM run('CREATE TABLE l (LIKE t INCLUDING ALL)', false);
SELECT * FROM run('CREATE TEMP TABLE IF NOT EXISTS l (LIKE t INCLUDING ALL)', false);
SELECT * FROM run('CREATE TABLE IF NOT EXISTS nowhere.l (LIKE t INCLUDING ALL)');
SELECT * FROM run('DROP TABLE l');
SELECT * FROM run('ALTER TABLE t ADD new int, ALTER new SET DEFAULT 3, ALTER new SET NOT NULL');
SELECT * FROM run('ALTER TABLE t DROP id', false);
SELECT * FROM run('ALTER TABLE t DROP id CASCADE', false);
SELECT * FROM run('ALTER TABLE t DROP cold_id');
SELECT * FROM run('INSERT INTO t DEFAULT VALUES');
SELECT * FROM run('CREATE VIEW x AS SELECT b FROM t');
SELECT * FROM run('ALTER TABLE t DROP e', false);
SELECT * FROM run('DROP VIEW x');
SELECT * FROM run('ALTER TABLE t DROP d', false);
SELECT * FROM run('ALTER TABLE t DROP d, ADD d2 text GENERATED ALWAYS AS (d) STORED', false);
SELECT * FROM run('ALTER TABLE t VALIDATE CONSTRAINT nothing');
SELECT * FROM run('DELETE FROM t WHERE id = 2');
SELECT * FROM run('ALTER TABLE t DROP COLUMN tableoid', false);
SELECT * FROM rows('t');
SELECT relname, has_column_privilege('regress_vp_alice', oid, 'b', 'INSERT') AS b, has_table_privilege('regress_vp_bob', oid, 'DELETE') AS d
FROM pg_class WHERE relname = 't' AND relkind = 'v';
SELECT * FROM merge();

--
-- Subcommands of one command that concern both parts
--
SELECT * FROM make('(id serial PRIMARY KEY, a int, b int DEFAULT 1 UNIQUE, c int NOT NULL DEFAULT 2, d text, s serial UNIQUE, g text GENERATED ALWAYS AS (upper(d)) STORED,
  i int GENERATED BY DEFAULT AS IDENTITY, ck int CONSTRAINT kc CHECK (ck > 0), fk int)',
  $$(a, b, c, d, ck, fk) SELECT i, i, i + 1, i::text, i, i FROM generate_series(1, 3) i$$, '{c,d,s,g,i,ck,fk}');
-- Execute a statement in each schema, compare the tables, and undo both.
CREATE FUNCTION tool.attempt(statement text) RETURNS TABLE (schemas text, result text) LANGUAGE plpgsql AS $$
DECLARE
  results text[];
BEGIN
  BEGIN
    SELECT array_agg(ARRAY[x.k, x.v] ORDER BY n) INTO results FROM (
      SELECT 1, r.schemas, r.result FROM tool.run(statement) r UNION ALL
      SELECT 2, 'merge ' || m.schema, m.difference FROM tool.merge() m UNION ALL
      SELECT 3, 'rows ' || r.schemas, r.r::text FROM tool.rows('t') r WHERE r.schemas <> 'plain, row_pointer, shared_key, surrogate_key') x (n, k, v);
    RAISE SQLSTATE 'UNDO0';
  EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
    NULL;
  END;
  RETURN QUERY SELECT results[n][1], results[n][2] FROM generate_subscripts(results, 1) n ORDER BY n;
END
$$;
-- The parts cannot have constraints of one name.  PostgreSQL chooses another name for an unnamed
-- constraint of a plain table.
BEGIN;
SELECT * FROM run('ALTER TABLE t ADD CONSTRAINT t_a_check CHECK (c > 0), ADD CHECK (a > 0)');
ROLLBACK;
BEGIN;
SELECT * FROM run('ALTER TABLE t ADD CONSTRAINT t_a_fkey FOREIGN KEY (fk) REFERENCES t (b), ADD FOREIGN KEY (a) REFERENCES t (b)');
ROLLBACK;
SELECT * FROM attempt('ALTER TABLE t ADD CONSTRAINT t_x_check CHECK (c > 0), ADD x int CHECK (x > 0)');
SELECT * FROM attempt('ALTER TABLE t ADD CHECK (c > 0), ADD CONSTRAINT t_c_check CHECK (a > 0)');
SELECT * FROM attempt('ALTER TABLE t ADD CHECK (c > 0), ADD CHECK (a > 0), ADD UNIQUE (c), ADD UNIQUE (a), ALTER ck SET NOT NULL, ALTER a SET NOT NULL');
-- A command can change and drop a column of the cold part, and add a column of that name.
SELECT * FROM attempt('ALTER TABLE t ALTER d DROP DEFAULT, DROP d CASCADE, ADD d int');
SELECT * FROM attempt('ALTER TABLE t ALTER c DROP NOT NULL, DROP c, ADD c int');
SELECT * FROM attempt('ALTER TABLE t ALTER g DROP EXPRESSION, DROP g, ADD g int');
SELECT * FROM attempt('ALTER TABLE t ALTER i DROP IDENTITY, DROP i, ADD i int');
SELECT * FROM attempt('ALTER TABLE t ALTER x DROP NOT NULL, ADD x int NOT NULL DEFAULT 1');
-- After DROP DEFAULT, nothing depends on the sequence.
BEGIN;
SELECT * FROM run('ALTER TABLE t ALTER a SET DEFAULT nextval(''t_s_seq'')');
SELECT * FROM attempt('ALTER TABLE t ALTER a DROP DEFAULT, DROP s');
ROLLBACK;
--
-- Foreign keys that refer to a split table
--
SELECT * FROM make('(id int PRIMARY KEY, a int UNIQUE, c text, d int UNIQUE)', $$SELECT i, i, i, i FROM generate_series(1, 3) i$$, '{c,d}');
SELECT * FROM run('ALTER TABLE t RENAME id TO key');
SELECT * FROM run('CREATE TABLE f (a int REFERENCES t, b int, c int, FOREIGN KEY (b) REFERENCES t (a) ON DELETE SET NULL, d int REFERENCES t (d))');
SELECT * FROM run('ALTER TABLE f ADD FOREIGN KEY (c) REFERENCES t (key) ON DELETE CASCADE, ADD e int REFERENCES t ON UPDATE CASCADE');
SELECT * FROM run('ALTER TABLE f ADD FOREIGN KEY (a, b) REFERENCES t (a, d)');
SELECT * FROM run('ALTER TABLE f ADD FOREIGN KEY (a) REFERENCES t (c)');
SELECT * FROM run('ALTER TABLE f ADD FOREIGN KEY (a) REFERENCES t (nothing)');
SELECT * FROM run('INSERT INTO f VALUES (1, 1), (NULL, 2)');
SELECT * FROM run('INSERT INTO f (a) VALUES (99)');
SELECT * FROM run('DELETE FROM t WHERE key = 2');
SELECT * FROM run('ALTER TABLE t ADD up int REFERENCES t (key), ADD other int, ADD CONSTRAINT o FOREIGN KEY (other) REFERENCES t (d)');
SELECT * FROM rows('f');
SELECT * FROM merge();
SELECT line FROM describe('plain', 'f') WHERE line ~ 'constraint' ORDER BY 1;
-- A table of the same name can be created in an earlier schema of the search_path, and refer to
-- itself.
SELECT * FROM make('(id int PRIMARY KEY, a int, c text)', $$SELECT i, i, i FROM generate_series(1, 3) i$$, '{c}');
CREATE SCHEMA before;
SET search_path = before, shared_key;
CREATE TABLE t (id int PRIMARY KEY, up int REFERENCES t);
SELECT conname, confrelid::regclass FROM pg_constraint WHERE conrelid = 'before.t'::regclass AND contype = 'f';
DROP TABLE t;
SET search_path = shared_key, before;
CREATE TABLE before.t (id int PRIMARY KEY, up int REFERENCES t);
SELECT conname, confrelid::regclass FROM pg_constraint WHERE conrelid = 'before.t'::regclass AND contype = 'f';
DROP TABLE before.t;
SET search_path = tool;

--
-- DROP TABLE, SET SCHEMA
--
SELECT * FROM make('(id int PRIMARY KEY, a int, c text)', $$SELECT i, i, i FROM generate_series(1, 3) i$$, '{c}');
SELECT * FROM run('CREATE TABLE other (t int REFERENCES t)');
SELECT * FROM run('DROP TABLE t');
SELECT * FROM run('DROP TABLE t, f CASCADE');
SELECT * FROM run('DROP TABLE t');
SELECT * FROM run('DROP TABLE IF EXISTS t');
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname ~ '^t_(hot|cold)$';
SELECT * FROM vertical_partition_internal.row_pointers;
CREATE SCHEMA elsewhere;
CREATE TABLE m (id int PRIMARY KEY, a int, c text);
SELECT vertical_partition.split('m', '{c}');
ALTER TABLE m SET SCHEMA elsewhere;
SELECT c.oid::regclass FROM pg_class c WHERE relname ~ '^m(_hot|_cold)?$' ORDER BY 1;
DROP TABLE elsewhere.m;

--
-- The columns of the view may have other names than those of the parts
--
CREATE TABLE n (id int PRIMARY KEY, a int, b int, c text);
INSERT INTO n SELECT i, i, i, i FROM generate_series(1, 3) i;
SELECT vertical_partition.split('n', '{c}');
ALTER VIEW n RENAME a TO x;
ALTER VIEW n RENAME b TO a;
ALTER VIEW n RENAME c TO b;
ALTER VIEW n RENAME id TO c;
CREATE INDEX ON n (c, b);
CREATE INDEX ON n (a) INCLUDE (x) WHERE a + x > 0;
CREATE TABLE refers (n int REFERENCES n (c));
SELECT indexdef FROM pg_indexes WHERE tablename ~ '^n_' ORDER BY indexname;
ALTER TABLE n ALTER a SET NOT NULL, ADD e int;
\d n_hot
\d n_cold
SELECT * FROM n ORDER BY 1;

--
-- The primary key that is declared for the view
--
SET vertical_partition.declare_keys = on;
CREATE TABLE k (id int PRIMARY KEY, a int, c text);
INSERT INTO k SELECT i, i, i FROM generate_series(1, 3) i;
SELECT vertical_partition.split('k', '{c}');
RESET vertical_partition.declare_keys;
ALTER TABLE k RENAME CONSTRAINT k_pkey TO the_key;
SELECT conrelid::regclass, conname FROM pg_constraint WHERE conrelid::regclass::text ~ '^k' AND contype = 'p' ORDER BY 1;
INSERT INTO k VALUES (1, 5, 'five') ON CONFLICT ON CONSTRAINT the_key DO UPDATE SET a = excluded.a, c = excluded.c;
ALTER INDEX the_key RENAME TO k_pkey;
SELECT conrelid::regclass, conname FROM pg_constraint WHERE conrelid::regclass::text ~ '^k' AND contype = 'p' ORDER BY 1;
ALTER TABLE k ALTER id TYPE bigint;
ALTER TABLE k ADD n int DEFAULT 2;
SELECT id, a, c, n, count(*) FROM k GROUP BY id ORDER BY id;
ALTER TABLE k DROP a;
SELECT id, c, n, count(*) FROM k GROUP BY id ORDER BY id;
SELECT conrelid::regclass, conname FROM pg_constraint WHERE conrelid::regclass::text ~ '^k' AND contype = 'p' ORDER BY 1;
SELECT vertical_partition.merge('k');

--
-- Owners of the tables that DDL changes
--
CREATE SCHEMA s;
GRANT ALL ON SCHEMA s TO regress_vp_alice, regress_vp_bob;
SET ROLE regress_vp_alice;
CREATE TABLE s.a (id int PRIMARY KEY, h int, c text);
SELECT vertical_partition.split('s.a', '{c}');
SET ROLE regress_vp_bob;
ALTER TABLE s.a ADD x int;
ALTER TABLE s.a RENAME h TO x;
ALTER TABLE s.a DROP h;
CREATE INDEX ON s.a (h);
DROP TABLE s.a;
COMMENT ON TABLE s.a IS 'mine';
CREATE TABLE s.f (a int REFERENCES s.a);
-- This view looks like a split table with parts of another owner.
RESET ROLE;
GRANT SELECT ON s.a_hot, s.a_cold TO regress_vp_bob;
SET ROLE regress_vp_bob;
CREATE VIEW s.b AS SELECT h.id, h.h, c.c FROM s.a_hot h LEFT JOIN s.a_cold c ON c.id = h.id WHERE vertical_partition.linked('shared_key', h.tableoid, c.id);
CREATE TRIGGER vertical_partition_write INSTEAD OF INSERT OR UPDATE OR DELETE ON s.b FOR EACH ROW EXECUTE FUNCTION vertical_partition.write_row();
RESET ROLE;
ALTER TABLE s.b ADD x int;
ALTER TABLE s.b ALTER h TYPE bigint;
ALTER TABLE s.b ALTER h SET NOT NULL, ALTER c SET DEFAULT 'c';
ALTER TABLE s.b DROP h;
ALTER TABLE s.b RENAME h TO x;
ALTER TABLE s.b RENAME CONSTRAINT a_pkey TO x;
ALTER TABLE s.b SET SCHEMA public;
ALTER TABLE public.b SET SCHEMA s;
CREATE INDEX ON s.b (x);
CREATE STATISTICS st ON id, x FROM s.b;
CREATE TABLE s.f (a int REFERENCES s.b);
COMMENT ON TABLE s.b IS 'mine';
DROP TABLE s.b;
\d s.a_hot
\d s.a_cold
-- A view of the owner without the trigger is not a split table either.
DROP VIEW s.b;
SET ROLE regress_vp_alice;
CREATE VIEW s.b AS SELECT h.id, h.h, c.c FROM s.a_hot h LEFT JOIN s.a_cold c ON c.id = h.id WHERE vertical_partition.linked('shared_key', h.tableoid, c.id);
ALTER TABLE s.b ADD x int;
DROP VIEW s.b;
-- The owner needs no privilege on the schema to add a column, but needs CREATE to drop one.
RESET ROLE;
REVOKE CREATE ON SCHEMA s FROM regress_vp_alice;
SET ROLE regress_vp_alice;
ALTER TABLE s.a ADD x int DEFAULT 1, ALTER h TYPE text;
ALTER TABLE s.a DROP x;
-- A role that refers to the table needs the privilege on the part.
SET ROLE regress_vp_bob;
CREATE TABLE s.f (a int REFERENCES s.a);
RESET ROLE;
GRANT REFERENCES ON s.a TO regress_vp_bob;
SET ROLE regress_vp_bob;
CREATE TABLE s.f (a int REFERENCES s.a);
RESET ROLE;
GRANT REFERENCES ON s.a_hot TO regress_vp_bob;
SET ROLE regress_vp_bob;
CREATE TABLE s.f (a int REFERENCES s.a);
RESET ROLE;

-- An error leaves nothing behind.
CREATE TABLE e (id int PRIMARY KEY, a int, c text);
INSERT INTO e VALUES (1, 1, 'one');
SELECT vertical_partition.split('e', '{c}');
ALTER TABLE e ADD x int, ALTER c TYPE int USING c::int;
ALTER TABLE e ADD x int, ADD CHECK (a > 1);
BEGIN;
ALTER TABLE e ADD x int DEFAULT 3;
ALTER TABLE e ALTER c TYPE varchar(9), DROP a;
SELECT * FROM e;
ROLLBACK;
SELECT * FROM e;
\d e
-- Test a table that is in use.
BEGIN;
DECLARE cur CURSOR FOR SELECT * FROM e;
FETCH cur;
ALTER TABLE e ADD x int;
ROLLBACK;
-- A read-only transaction can do nothing.
BEGIN READ ONLY;
ALTER TABLE e ADD COLUMN IF NOT EXISTS a int;
ROLLBACK;
BEGIN READ ONLY;
ALTER TABLE e ALTER a SET STATISTICS 5;
ROLLBACK;
-- No temporary name of a view or part is left.
SELECT relname FROM pg_class WHERE relname ~ '^vertical_partition_';

\c :database
DROP DATABASE regress_vertical_partition_alter;
DROP ROLE regress_vp_alice, regress_vp_bob;
