--
-- Test what split(), merge() and relink() refuse, and that a refused call changes nothing.
--
\set SHOW_CONTEXT always
SET client_min_messages = warning;
\set database :DBNAME
CREATE DATABASE regress_vertical_partition_refuse TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
ALTER DATABASE regress_vertical_partition_refuse SET session_preload_libraries = 'vertical_partition';
\c regress_vertical_partition_refuse
SET client_min_messages = warning;
CREATE EXTENSION vertical_partition;
CREATE ROLE regress_vp_alice;
CREATE ROLE regress_vp_bob;
CREATE SCHEMA s;
GRANT ALL ON SCHEMA s TO regress_vp_alice, regress_vp_bob;
SET search_path = s;

-- Test arguments.
CREATE TABLE t (id int PRIMARY KEY, a int, b text, c text, gone int);
ALTER TABLE t DROP gone;
INSERT INTO t SELECT i, i, 'b' || i, 'c' || i FROM generate_series(1, 10) i;
SELECT vertical_partition.split(NULL, '{b}');
SELECT vertical_partition.split(0, '{b}');
SELECT vertical_partition.split(4294967295::oid, '{b}');
SELECT vertical_partition.split('t', NULL);
SELECT vertical_partition.split('t', '{}');
SELECT vertical_partition.split('t', '{b}', NULL);
SELECT vertical_partition.split('t', '{b}', 'Shared_Key');
SELECT vertical_partition.split('t', '{b}', '''; DROP TABLE s.t; --');
SELECT vertical_partition.split('t', '{nothing}');
SELECT vertical_partition.split('t', '{B}');
SELECT vertical_partition.split('t', '{gone}');
SELECT vertical_partition.split('t', '{........pg.dropped.5........}');
SELECT vertical_partition.split('t', '{ctid}');
SELECT vertical_partition.split('t', '{""}');
SELECT vertical_partition.split('t', '{b,NULL}');
SELECT vertical_partition.split('t', '{b,c,b}');
SELECT vertical_partition.split('t', '{id}');
SELECT vertical_partition.split('t', '{b,id}');
SELECT vertical_partition.split('t', '{a,b,c}');
SELECT vertical_partition.split('t', '{"b; DROP TABLE s.t"}');
SELECT vertical_partition.merge(NULL);
SELECT vertical_partition.merge(0);
SELECT vertical_partition.merge('t');
SELECT vertical_partition.relink(NULL);
SELECT vertical_partition.relink('t');
-- An array of two dimensions, or with other subscripts, is not an error.
BEGIN;
SELECT vertical_partition.split('t', '[5:6]={b,c}');
SELECT columns FROM vertical_partition.status;
ROLLBACK;
BEGIN;
SELECT vertical_partition.split('t', '{{b},{c}}');
SELECT columns FROM vertical_partition.status;
ROLLBACK;

-- Test kinds of relations.
CREATE TABLE no_key (id int UNIQUE NOT NULL, a int, b text);
SELECT vertical_partition.split('no_key', '{b}');
CREATE TABLE later (id int PRIMARY KEY DEFERRABLE, a int, b text);
SELECT vertical_partition.split('later', '{b}');
CREATE TABLE part (id int PRIMARY KEY, a int, b text) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (1) TO (10);
SELECT vertical_partition.split('part', '{b}');
SELECT vertical_partition.split('part_1', '{b}');
CREATE TABLE parent (id int PRIMARY KEY, a int, b text);
CREATE TABLE child (PRIMARY KEY (id)) INHERITS (parent);
SELECT vertical_partition.split('parent', '{b}');
SELECT vertical_partition.split('child', '{b}');
CREATE TYPE composite AS (id int, a int, b text);
CREATE TABLE typed OF composite (PRIMARY KEY (id));
SELECT vertical_partition.split('typed', '{b}');
SELECT vertical_partition.split('composite', '{b}');
CREATE VIEW v AS SELECT * FROM no_key;
SELECT vertical_partition.split('v', '{b}');
SELECT vertical_partition.merge('v');
SELECT vertical_partition.relink('v');
CREATE MATERIALIZED VIEW m AS SELECT * FROM no_key;
SELECT vertical_partition.split('m', '{b}');
SELECT vertical_partition.merge('m');
CREATE FOREIGN DATA WRAPPER regress_vp_wrapper;
CREATE SERVER regress_vp_server FOREIGN DATA WRAPPER regress_vp_wrapper;
CREATE FOREIGN TABLE f (id int, a int, b text) SERVER regress_vp_server;
SELECT vertical_partition.split('f', '{b}');
CREATE SEQUENCE q;
SELECT vertical_partition.split('q', '{b}');
SELECT vertical_partition.split('t_pkey', '{b}');
CREATE TEMPORARY TABLE temp (id int PRIMARY KEY, a int, b text);
\set VERBOSITY sqlstate
SELECT vertical_partition.split('temp', '{b}');
\set VERBOSITY default
SELECT vertical_partition.split('pg_class', '{relname}');
SELECT vertical_partition.split('vertical_partition_internal.row_pointers', '{filenode}');
SELECT vertical_partition.split('information_schema.sql_features', '{comments}');

-- Test a table that is split already, and its parts.
SELECT vertical_partition.split('t', '{b}', 'row_pointer');
SELECT vertical_partition.split('t', '{b}');
SELECT vertical_partition.split('t_hot', '{a}');
SELECT vertical_partition.split('t_cold', '{b}');
SELECT vertical_partition.merge('t_hot');
SELECT vertical_partition.merge('t');

-- Test names that are in use.
CREATE TABLE t_hot ();
SELECT vertical_partition.split('t', '{b}');
DROP TABLE t_hot;
CREATE TYPE t_cold AS ENUM ();
SELECT vertical_partition.split('t', '{b}');
DROP TYPE t_cold;
CREATE INDEX t_cold ON t (a);
SELECT vertical_partition.split('t', '{b}');
DROP INDEX t_cold;

-- Test who owns the table.
SET ROLE regress_vp_alice;
SELECT vertical_partition.split('t', '{b}');
SELECT vertical_partition.merge('t');
RESET ROLE;
BEGIN;
LOCK TABLE t IN ACCESS SHARE MODE;
\set VERBOSITY terse
-- The owner may not create tables in the schema.
REVOKE CREATE ON SCHEMA s FROM regress_vp_alice;
ALTER TABLE t OWNER TO regress_vp_alice;
SET ROLE regress_vp_alice;
SAVEPOINT a;
SELECT vertical_partition.split('t', '{b}');
ROLLBACK;
-- A table of another owner refers to the table.
CREATE TABLE refs (id int REFERENCES t);
ALTER TABLE t OWNER TO regress_vp_alice;
SET ROLE regress_vp_alice;
\set VERBOSITY default
SELECT vertical_partition.split('t', '{b}');
SELECT count(*) FROM t;
RESET ROLE;
ALTER TABLE refs OWNER TO regress_vp_alice;
SET ROLE regress_vp_alice;
SELECT vertical_partition.split('t', '{b}', 'row_pointer');
-- Other roles cannot change the rows of row_pointers.
SET ROLE regress_vp_bob;
SELECT count(*) FROM vertical_partition_internal.row_pointers;
DELETE FROM vertical_partition_internal.row_pointers;
UPDATE vertical_partition_internal.row_pointers SET filenode = 1;
INSERT INTO vertical_partition_internal.row_pointers SELECT 's.t_hot'::regclass, 1;
-- Other roles cannot insert rows for a table that may exist later.
INSERT INTO vertical_partition_internal.row_pointers VALUES (4294967295, 4294967295);
SELECT vertical_partition_internal.set_row_pointers('s.t_cold');
SELECT vertical_partition.forget_row_pointers('s.t_cold');
SELECT vertical_partition_internal.set_row_pointers(0);
SELECT vertical_partition.relink('t');
SELECT vertical_partition.merge('t');
SELECT relation, pointers_valid FROM vertical_partition.status;
RESET ROLE;
ALTER TABLE refs OWNER TO regress_vp_bob;
SET ROLE regress_vp_alice;
SELECT vertical_partition.merge('t');
RESET ROLE;
DROP TABLE refs;
-- A superuser may merge the table as well.
SELECT vertical_partition.merge('t');
SELECT relname, relowner::regrole FROM pg_class WHERE relname = 't';
ALTER TABLE t OWNER TO CURRENT_USER;

-- Test transactions.
BEGIN READ ONLY;
SELECT vertical_partition.split('t', '{b}');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT vertical_partition.split('t', '{b}');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT vertical_partition.split('t', '{b}');
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t;
FETCH c;
SELECT vertical_partition.split('t', '{b}');
ROLLBACK;
-- A deferred check still has to process rows.
CREATE TABLE waits (id int PRIMARY KEY, a int REFERENCES t DEFERRABLE INITIALLY DEFERRED, b text);
BEGIN;
INSERT INTO waits VALUES (1, 100);
SELECT vertical_partition.split('waits', '{b}');
ROLLBACK;
DROP TABLE waits;
-- Split and merge after changes in the same transaction.
BEGIN;
UPDATE t SET b = 'new' WHERE id = 1;
DELETE FROM t WHERE id = 2;
SAVEPOINT a;
SELECT vertical_partition.split('t', '{b}', 'surrogate_key');
ROLLBACK TO a;
SELECT vertical_partition.split('t', '{b}', 'row_pointer');
UPDATE t SET c = 'newer' WHERE id = 1;
SELECT vertical_partition.merge('t');
SELECT * FROM t WHERE id < 4 ORDER BY id;
ROLLBACK;

-- split() reports at once all objects that it cannot keep.
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TABLE o (id int PRIMARY KEY, x text);
CREATE TABLE many (id int GENERATED ALWAYS AS IDENTITY, a int, b text, c text, k int, CONSTRAINT many_id PRIMARY KEY (id) INCLUDE (c),
  g text GENERATED ALWAYS AS (b || c) STORED, o int REFERENCES o ON UPDATE CASCADE,
  CONSTRAINT many_u UNIQUE (a, b), CHECK (a > length(b)), CONSTRAINT many_whole CHECK (many IS NOT NULL), CONSTRAINT many_table CHECK (tableoid > 0),
  EXCLUDE USING btree (a WITH =) WHERE (b > ''));
CREATE INDEX many_i ON many (a, b);
CREATE INDEX many_e ON many ((a || b));
CREATE INDEX many_p ON many (a) WHERE b > '';
CREATE INDEX many_w ON many ((many IS NULL));
CREATE STATISTICS many_s ON a, b FROM many;
CREATE TRIGGER row_trigger BEFORE INSERT ON many FOR EACH ROW EXECUTE FUNCTION f();
CREATE TRIGGER transition AFTER INSERT ON many REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION f();
CREATE TRIGGER truncates AFTER TRUNCATE ON many FOR EACH STATEMENT EXECUTE FUNCTION f();
CREATE TRIGGER disabled AFTER INSERT ON many FOR EACH STATEMENT EXECUTE FUNCTION f();
ALTER TABLE many DISABLE TRIGGER disabled;
CREATE CONSTRAINT TRIGGER constrains AFTER INSERT ON many FOR EACH ROW EXECUTE FUNCTION f();
CREATE RULE a_rule AS ON INSERT TO many DO ALSO NOTIFY x;
CREATE POLICY a_policy ON many USING (true);
ALTER TABLE many ENABLE ROW LEVEL SECURITY;
CREATE VIEW a_view AS SELECT a FROM many;
CREATE MATERIALIZED VIEW a_matview AS SELECT a FROM many;
CREATE FUNCTION body() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM many; END;
CREATE FUNCTION takes(many) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE TABLE has (m many, n many[]);
CREATE TYPE holds AS (m many);
CREATE DOMAIN d AS many;
GRANT SELECT ON many TO regress_vp_alice WITH GRANT OPTION;
SET ROLE regress_vp_alice;
GRANT SELECT ON s.many TO regress_vp_bob;
RESET ROLE;
SET client_min_messages = error;
CREATE PUBLICATION regress_vp_columns FOR TABLE many (id, a);
CREATE PUBLICATION regress_vp_all FOR ALL TABLES;
SET client_min_messages = warning;
SELECT vertical_partition.split('many', '{b,k,o}', 'row_pointer');
SELECT count(*) FROM pg_class WHERE relname IN ('many_hot', 'many_cold');
DROP PUBLICATION regress_vp_all, regress_vp_columns;
DROP TABLE has;
DROP TABLE many CASCADE;
CREATE TABLE gone (id int PRIMARY KEY, a int, g int GENERATED ALWAYS AS (a + 1) STORED, b text, key_g int GENERATED ALWAYS AS (1) STORED UNIQUE);
SELECT vertical_partition.split('gone', '{g}');
SELECT vertical_partition.split('gone', '{a,g}', 'surrogate_key');
SELECT vertical_partition.merge('gone');
ALTER TABLE gone DROP CONSTRAINT gone_pkey, ADD PRIMARY KEY (key_g);
SELECT vertical_partition.split('gone', '{b}');
DROP TABLE gone;
-- Test a table that is a member of the extension.
CREATE TABLE member (id int PRIMARY KEY, a int, b text);
ALTER EXTENSION vertical_partition ADD TABLE member;
SELECT vertical_partition.split('member', '{b}');
ALTER EXTENSION vertical_partition DROP TABLE member;

-- Test objects that merge() cannot keep.
SELECT vertical_partition.split('t', '{b}');
CREATE TRIGGER row_trigger AFTER INSERT ON t_hot FOR EACH ROW EXECUTE FUNCTION f();
CREATE VIEW on_view AS SELECT a FROM t;
CREATE VIEW on_part AS SELECT b FROM t_cold;
CREATE RULE a_rule AS ON DELETE TO t DO ALSO NOTIFY x;
SET client_min_messages = error;
CREATE PUBLICATION regress_vp_half FOR TABLE t_hot;
SET client_min_messages = warning;
SELECT vertical_partition.merge('t');
DROP PUBLICATION regress_vp_half;
DROP VIEW on_view, on_part;
DROP RULE a_rule ON t;
DROP TRIGGER row_trigger ON t_hot;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t;
FETCH c;
SELECT vertical_partition.merge('t');
ROLLBACK;
SELECT vertical_partition.merge('t');
SELECT sum(id), sum(a), count(b), count(c) FROM t;

\c :database
DROP DATABASE regress_vertical_partition_refuse;
DROP ROLE regress_vp_alice, regress_vp_bob;
