--
-- Test what the policy refuses, and that a refused call changes nothing.
--
\set SHOW_CONTEXT never
\set VERBOSITY terse
-- Use a separate database, because the test drops and creates the extension.
\set database :DBNAME
CREATE DATABASE regress_toast_policy_errors TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
\c regress_toast_policy_errors
CREATE EXTENSION toast_policy;
CREATE SCHEMA errors;
SET search_path = errors, public;
SET default_toast_compression = pglz;
CREATE ROLE regress_toast_policy_alice;
CREATE ROLE regress_toast_policy_bob;
GRANT ALL ON SCHEMA errors TO regress_toast_policy_alice, regress_toast_policy_bob;

CREATE TABLE plain (id int, v text, n numeric, c "char", p point, nm name, b bytea, j jsonb, gone text, m text, a int[]);
ALTER TABLE plain DROP COLUMN gone;
ALTER TABLE plain ALTER m SET STORAGE MAIN;
-- Return the tables that use the access method, and the columns that it governs.
CREATE FUNCTION governed() RETURNS TABLE (relation regclass, columns text) LANGUAGE sql AS $$
  SELECT c.oid::regclass, string_agg(attname, ' ' ORDER BY attnum) FILTER (WHERE attstorage = 'e')
  FROM pg_class c JOIN pg_am a ON a.oid = relam JOIN pg_attribute ON attrelid = c.oid
  WHERE amname = 'toast_policy' AND NOT attisdropped GROUP BY c.oid ORDER BY c.oid::regclass::text
$$;

-- Test columns.
SELECT toast_policy.enable('plain', 'id');
SELECT toast_policy.enable('plain', 'c');
SELECT toast_policy.enable('plain', 'p');
SELECT toast_policy.enable('plain', 'nm');
SELECT toast_policy.enable('plain', 'v', 'id');
SELECT toast_policy.enable('plain', 'nothing');
SELECT toast_policy.enable('plain', 'V');
SELECT toast_policy.enable('plain', 'gone');
SELECT toast_policy.enable('plain', '........pg.dropped.9........');
SELECT toast_policy.enable('plain', 'ctid');
SELECT toast_policy.enable('plain', 'xmin', 'v');
SELECT toast_policy.enable('plain', '');
SELECT toast_policy.enable('plain', NULL);
SELECT toast_policy.enable('plain', 'v', NULL);
SELECT toast_policy.enable('plain', VARIADIC ARRAY[['v', 'b'], ['j', 'm']]::name[]);
SELECT toast_policy.enable(NULL, 'v') IS NULL AS strict;
SELECT toast_policy.enable('plain', VARIADIC NULL) IS NULL AS strict;
CREATE TABLE nothing_to_govern (id int, c "char");
SELECT toast_policy.enable('nothing_to_govern');
CREATE TABLE no_columns ();
SELECT toast_policy.enable('no_columns');
SELECT toast_policy.disable('plain');
SELECT toast_policy.recompress('no_columns');
SELECT * FROM governed();
-- It is no error to name a column twice, or to give an array whose subscripts do not begin with 1.
SELECT toast_policy.enable('plain', 'v', 'v', 'n');
SELECT toast_policy.enable('plain', VARIADIC '[5:6]={b,m}'::name[]);
SELECT toast_policy.enable('plain', VARIADIC '{}');
SELECT * FROM governed();
SELECT toast_policy.disable('plain');
SELECT attname, attstorage FROM pg_attribute WHERE attrelid = 'plain'::regclass AND attnum > 0 AND NOT attisdropped AND attlen = -1 ORDER BY attnum;
SELECT toast_policy.disable('plain');

-- Test relations.
CREATE VIEW a_view AS SELECT 'x'::text AS v;
CREATE SEQUENCE a_sequence;
CREATE TYPE a_type AS (v text);
CREATE INDEX an_index ON plain (v);
CREATE FOREIGN DATA WRAPPER errors_wrapper;
CREATE SERVER errors_server FOREIGN DATA WRAPPER errors_wrapper;
CREATE FOREIGN TABLE a_foreign_table (v text) SERVER errors_server;
CREATE TABLE partitioned (id int, v text) PARTITION BY RANGE (id);
CREATE INDEX a_partitioned_index ON partitioned (id);
SELECT toast_policy.enable('a_view');
SELECT toast_policy.enable('a_sequence');
SELECT toast_policy.enable('a_type');
SELECT toast_policy.enable('an_index');
SELECT toast_policy.enable('a_partitioned_index');
SELECT toast_policy.enable('a_foreign_table');
SELECT toast_policy.enable('pg_class');
SELECT toast_policy.enable('pg_catalog.pg_proc', 'prosrc');
SELECT toast_policy.enable('information_schema.sql_features');
SELECT toast_policy.enable('pg_toast.pg_toast_1255');
SELECT toast_policy.enable('nothing_there');
SELECT toast_policy.enable(4294967295::oid::regclass);
SELECT toast_policy.enable(0::oid::regclass);
SELECT toast_policy.disable('a_view');
SELECT toast_policy.disable('pg_class');
SELECT toast_policy.disable(4294967295::oid::regclass);
SELECT toast_policy.recompress('a_view');
SELECT toast_policy.recompress('pg_class');
SELECT toast_policy.recompress(4294967295::oid::regclass);
DO $$
BEGIN
    PERFORM toast_policy.enable((SELECT reltoastrelid FROM pg_class WHERE oid = 'errors.plain'::regclass));
EXCEPTION WHEN wrong_object_type THEN
    RAISE NOTICE 'a toast table is refused';
END $$;
CREATE ACCESS METHOD errors_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE other_method (v text) USING errors_heap;
SELECT toast_policy.enable('other_method');
SELECT toast_policy.disable('other_method');
SELECT toast_policy.recompress('other_method');
SELECT * FROM governed();

-- These relations are accepted.
CREATE UNLOGGED TABLE unlogged (v text);
CREATE TEMP TABLE temporary (v text) ON COMMIT DELETE ROWS;
CREATE MATERIALIZED VIEW materialized AS SELECT repeat('x', 10000) AS v;
CREATE TABLE partition PARTITION OF partitioned FOR VALUES FROM (0) TO (10);
CREATE FOREIGN TABLE foreign_partition PARTITION OF partitioned FOR VALUES FROM (10) TO (20) SERVER errors_server;
CREATE TABLE parent (v text);
CREATE TABLE child () INHERITS (parent);
SELECT toast_policy.enable('unlogged'), toast_policy.enable('temporary'), toast_policy.enable('materialized'), toast_policy.enable('parent');
DROP INDEX a_partitioned_index;
SELECT toast_policy.enable('partitioned');
SELECT relation, columns FROM governed() WHERE relation <> 'partitioned'::regclass;
INSERT INTO unlogged VALUES (repeat('x', 10000));
BEGIN;
INSERT INTO temporary VALUES (repeat('x', 10000));
SELECT pg_column_compression(v) FROM temporary;
COMMIT;
SELECT count(*) FROM temporary;
INSERT INTO partitioned VALUES (1, repeat('x', 10000));
REFRESH MATERIALIZED VIEW materialized;
SELECT pg_column_size(v) < 200 AS small FROM materialized UNION ALL SELECT pg_column_size(v) < 200 FROM unlogged
UNION ALL SELECT pg_column_size(v) < 200 FROM partition;
SELECT toast_policy.recompress('unlogged'), toast_policy.recompress('temporary'), toast_policy.recompress('materialized'), toast_policy.recompress('partitioned');
-- If one partition cannot be changed, all partitions stay as they were.
CREATE TABLE other_partition PARTITION OF partitioned FOR VALUES FROM (20) TO (30) USING errors_heap;
SELECT toast_policy.disable('partitioned');
SELECT toast_policy.recompress('partitioned');
SELECT relation, columns FROM governed() WHERE relation::text ~ 'partition$';
DROP TABLE other_partition;
CREATE TABLE bobs_partition PARTITION OF partitioned FOR VALUES FROM (30) TO (40) USING toast_policy;
ALTER TABLE bobs_partition ALTER v SET STORAGE EXTERNAL;
ALTER TABLE bobs_partition OWNER TO regress_toast_policy_bob;
ALTER TABLE partitioned OWNER TO regress_toast_policy_alice;
SET ROLE regress_toast_policy_alice;
SELECT toast_policy.disable('partitioned');
SELECT toast_policy.enable('partitioned', 'v');
RESET ROLE;
SELECT relation, columns FROM governed() WHERE relation::text ~ 'partition$';

-- Test who may call the functions.
CREATE TABLE alices (v text);
ALTER TABLE alices OWNER TO regress_toast_policy_alice;
GRANT ALL ON alices TO regress_toast_policy_bob;
SELECT toast_policy.enable('alices');
SET ROLE regress_toast_policy_bob;
SELECT toast_policy.enable('alices');
SELECT toast_policy.disable('alices');
SELECT toast_policy.recompress('alices');
\set VERBOSITY sqlstate
SELECT toast_policy.disable_all();
\set VERBOSITY terse
SELECT toast_policy.enable('pg_class');
SELECT toast_policy.reset_stats();
INSERT INTO alices VALUES (repeat('x', 10000));
SELECT pg_column_size(v) < 200 AS small FROM alices;
SELECT count(*) > 0 AS may_read FROM toast_policy.stats;
SET ROLE regress_toast_policy_alice;
SELECT toast_policy.recompress('alices');
SELECT toast_policy.disable('alices');
SELECT toast_policy.enable('alices');
RESET ROLE;

-- Test tables that are in use.
CREATE TABLE in_use (id int, v text);
INSERT INTO in_use SELECT i, repeat('x', 10000) FROM generate_series(1, 3) i;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM in_use;
MOVE c;
SAVEPOINT s;
SELECT toast_policy.enable('in_use');
ROLLBACK TO s;
MOVE c;
COMMIT;
SELECT toast_policy.enable('in_use') FROM in_use;
SELECT toast_policy.enable('in_use');
SELECT toast_policy.recompress('in_use') FROM in_use;
SELECT toast_policy.disable(tableoid) FROM in_use LIMIT 1;
CREATE FUNCTION in_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT toast_policy.%I(%L)', tg_argv[0], tg_relid::regclass);
    RETURN new;
END $$;
CREATE TRIGGER t BEFORE INSERT ON in_use FOR EACH ROW EXECUTE FUNCTION in_trigger('recompress');
INSERT INTO in_use VALUES (4, 'x');
DROP TRIGGER t ON in_use;
CREATE TRIGGER t AFTER UPDATE ON in_use FOR EACH ROW EXECUTE FUNCTION in_trigger('disable');
UPDATE in_use SET id = 1;
CREATE CONSTRAINT TRIGGER d AFTER INSERT ON in_use DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION in_trigger('recompress');
BEGIN;
INSERT INTO in_use VALUES (4, 'x');
SELECT toast_policy.disable('in_use');
ROLLBACK;
DROP TRIGGER t ON in_use;
DROP TRIGGER d ON in_use;
SELECT count(*), sum(octet_length(v)) FROM in_use;

-- Call the functions in a function and in a transaction, and roll them back.
DO $$
BEGIN
    PERFORM toast_policy.disable('in_use');
    INSERT INTO errors.in_use VALUES (4, repeat('y', 10000));
    PERFORM toast_policy.enable('in_use', 'v');
    INSERT INTO errors.in_use VALUES (5, repeat('z', 10000));
    PERFORM toast_policy.recompress('in_use');
END $$;
SELECT count(*), sum(octet_length(v)), sum(pg_column_size(v)) FROM in_use;
BEGIN;
SELECT toast_policy.disable('in_use');
SELECT count(*) FROM governed() WHERE relation = 'in_use'::regclass;
ROLLBACK;
SELECT * FROM governed() WHERE relation = 'in_use'::regclass;
BEGIN;
SAVEPOINT s;
DELETE FROM in_use WHERE id = 5;
SELECT toast_policy.recompress('in_use');
SELECT toast_policy.disable('in_use');
ROLLBACK TO s;
SELECT count(*), sum(octet_length(v)) FROM in_use;
INSERT INTO in_use VALUES (6, repeat('x', 20000));
SELECT toast_policy.recompress('in_use');
COMMIT;
SELECT count(*), sum(octet_length(v)), sum(pg_column_size(v)) FROM in_use;
BEGIN;
CREATE TABLE new_table (v text);
SELECT toast_policy.enable('new_table');
INSERT INTO new_table VALUES (repeat('x', 10000));
SELECT toast_policy.recompress('new_table');
SELECT pg_column_size(v) FROM new_table;
COMMIT;

-- Test a read-only transaction.
BEGIN READ ONLY;
SELECT toast_policy.enable('in_use');
ROLLBACK;
BEGIN READ ONLY;
SELECT toast_policy.disable('in_use');
ROLLBACK;
BEGIN READ ONLY;
SELECT toast_policy.disable_all();
ROLLBACK;
BEGIN READ ONLY;
SELECT toast_policy.recompress('in_use');
ROLLBACK;
SELECT * FROM governed() WHERE relation = 'in_use'::regclass;

-- Test settings.
\set VERBOSITY sqlstate
SET toast_policy.min_size = -1;
\set VERBOSITY terse
SET toast_policy.min_size = '4096.5kBytes';
SET toast_policy.min_size = '1TB';
SET toast_policy.min_size = 'much';
SET toast_policy.min_saved_chunks = -1;
SET toast_policy.min_saved_chunks = 1001;
SET toast_policy.min_saving = 1.01;
SET toast_policy.min_saving = -0.1;
SET toast_policy.min_saving = 'NaN';
SET toast_policy.min_saving = 'Infinity';
SET toast_policy.lz4_level = 13;
SET toast_policy.lz4_level = -1;
SET toast_policy.lz4_level = 'best';
SET toast_policy.zstd_level = 23;
SET toast_policy.zstd_level = -101;
SET toast_policy.type_codec = 'pglz';
SET toast_policy.type_codec = 'gzip';
SET toast_policy.type_codec = '';
SET toast_policy.early_abort = 'perhaps';
SET toast_policy.recompress_source = 2;
SET toast_policy.foo = 1;
SET toast_policy.min_sizes = 1;
SELECT name, setting, unit, context FROM pg_settings WHERE name LIKE 'toast\_policy.%' ORDER BY name;

-- Test names that contain SQL.
CREATE SCHEMA "Errors; DROP TABLE plain; --";
CREATE TABLE "Errors; DROP TABLE plain; --"."t"" ALTER COLUMN v SET STORAGE PLAIN; --" (id int, "v"", x" text, "Ünïcödé 表" text, "select" text, " " text);
SELECT toast_policy.enable('"Errors; DROP TABLE plain; --"."t"" ALTER COLUMN v SET STORAGE PLAIN; --"', 'v", x', 'Ünïcödé 表', 'select', ' ');
SELECT * FROM governed() WHERE relation::text ~ 'Errors';
SELECT toast_policy.enable('"Errors; DROP TABLE plain; --"."t"" ALTER COLUMN v SET STORAGE PLAIN; --"', 'v", x; DROP TABLE plain');
SELECT toast_policy.recompress('"Errors; DROP TABLE plain; --"."t"" ALTER COLUMN v SET STORAGE PLAIN; --"');
SELECT toast_policy.disable('"Errors; DROP TABLE plain; --"."t"" ALTER COLUMN v SET STORAGE PLAIN; --"');
SELECT attname, attstorage FROM pg_attribute WHERE attrelid = '"Errors; DROP TABLE plain; --"."t"" ALTER COLUMN v SET STORAGE PLAIN; --"'::regclass AND attlen = -1;
DROP SCHEMA "Errors; DROP TABLE plain; --" CASCADE;
CREATE TABLE abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnop (abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnop text);
SELECT toast_policy.enable('abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk', 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnop');
DROP TABLE abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk;

-- Test a search_path with objects that have the names of objects in the catalogs.
CREATE SCHEMA trap;
CREATE FUNCTION trap.trap(oid, oid) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE OPERATOR trap.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = trap.trap);
CREATE TABLE trap.pg_class (LIKE pg_catalog.pg_class);
CREATE TABLE trap.pg_namespace (LIKE pg_catalog.pg_namespace);
CREATE TABLE trap.pg_am (LIKE pg_catalog.pg_am);
CREATE TABLE trap.in_use (id int, v text);
SET search_path = trap, pg_catalog;
SELECT toast_policy.disable('errors.in_use');
SELECT toast_policy.enable('errors.in_use');
SELECT toast_policy.recompress('errors.in_use');
SELECT relname, values_seen > 0 AS seen FROM toast_policy.stats WHERE relname = 'in_use';
SET search_path = errors, public;
SELECT * FROM governed() WHERE relation::text ~ 'in_use';
DROP SCHEMA trap CASCADE;

-- Test an event trigger that interferes with the statements of the functions.
CREATE FUNCTION interfere() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE '% %', tg_event, tg_tag;
    IF current_setting('errors.interfere', true) = 'raise' THEN
        RAISE 'not now';
    ELSIF current_setting('errors.interfere', true) = 'drop' AND tg_event = 'ddl_command_end' THEN
        PERFORM set_config('errors.interfere', '', false);
        DROP TABLE errors.in_use;
    ELSIF current_setting('errors.interfere', true) = 'disable' AND tg_event = 'ddl_command_end' THEN
        PERFORM set_config('errors.interfere', '', false);
        PERFORM toast_policy.disable('errors.in_use');
    END IF;
END $$;
CREATE EVENT TRIGGER errors_start ON ddl_command_start EXECUTE FUNCTION interfere();
CREATE EVENT TRIGGER errors_end ON ddl_command_end EXECUTE FUNCTION interfere();
SELECT toast_policy.disable('in_use');
SET errors.interfere = 'raise';
SELECT toast_policy.enable('in_use');
SET errors.interfere = 'drop';
\set VERBOSITY sqlstate
SELECT toast_policy.enable('in_use') FROM generate_series(1, 1);
SET errors.interfere = 'disable';
SELECT toast_policy.enable('in_use');
\set VERBOSITY terse
RESET errors.interfere;
DROP EVENT TRIGGER errors_start;
DROP EVENT TRIGGER errors_end;
SELECT count(*), sum(octet_length(v)) FROM in_use;
SELECT toast_policy.enable('in_use');

-- Corrupt data raise an error, and the table stays as before.
CREATE TABLE corrupt (id int PRIMARY KEY, v text COMPRESSION pglz);
SELECT toast_policy.enable('corrupt');
INSERT INTO corrupt SELECT i, string_agg(md5(j::text || i) || repeat('x', 100), '') FROM generate_series(1, 5) i, generate_series(1, 1000) j GROUP BY i;
SELECT toast_policy.reset_stats();
-- The server does not allow changes of a TOAST table, so change its relkind for the moment.
CREATE FUNCTION damage(statement text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    toast regclass := (SELECT reltoastrelid FROM pg_class WHERE oid = 'errors.corrupt'::regclass);
BEGIN
    UPDATE pg_class SET relkind = 'r' WHERE oid = toast;
    EXECUTE format(statement, toast);
    UPDATE pg_class SET relkind = 't' WHERE oid = toast;
END $$;
-- Every reader of a TOAST table still sees a former version of a chunk.  So remove it.  VACUUM can only do that when no
-- other session, such as autovacuum, has an older snapshot.
CREATE FUNCTION wait_for_older_snapshots() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    here xid := pg_current_xact_id()::xid;
BEGIN
    WHILE EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND age(backend_xmin) > age(here)) LOOP
        PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
    END LOOP;
END $$;
CREATE FUNCTION attempt(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RETURN 'works';
EXCEPTION WHEN OTHERS THEN
    RETURN sqlstate || ' ' || regexp_replace(sqlerrm, '\d{4,}', 'N', 'g');
END $$;
-- Change the data of a chunk.
SELECT damage('UPDATE %s SET chunk_data = decode(repeat(''ff'', 1996), ''hex'') WHERE chunk_id = (SELECT chunk_id FROM %1$s ORDER BY 1 OFFSET 1 LIMIT 1) AND chunk_seq = 1');
SELECT wait_for_older_snapshots();
VACUUM corrupt;
SELECT pg_relation_filenode('corrupt') AS filenode
\gset
SELECT attempt('SELECT octet_length(v), md5(v) FROM corrupt WHERE id = ' || i) FROM generate_series(1, 5) i;
SELECT attempt('SELECT toast_policy.recompress(''corrupt'')');
SELECT pg_relation_filenode('corrupt') = :filenode AS same_file, count(*) FROM corrupt;
SELECT attempt('SELECT octet_length(v), md5(v) FROM corrupt WHERE id = ' || i) FROM generate_series(1, 5) i;
-- Commands that do not read the data still work.
UPDATE corrupt SET id = id + 10;
VACUUM corrupt;
DELETE FROM corrupt WHERE id = 11 AND attempt('SELECT md5(v) FROM corrupt WHERE id = 11') = 'works';
DELETE FROM corrupt WHERE attempt('SELECT md5(v) FROM corrupt WHERE id = ' || id) <> 'works';
SELECT count(*) FROM corrupt;
SELECT toast_policy.recompress('corrupt');
-- Remove a chunk.
SELECT damage('DELETE FROM %s WHERE chunk_id = (SELECT min(chunk_id) FROM %1$s) AND chunk_seq = 1');
SELECT wait_for_older_snapshots();
VACUUM corrupt;
SELECT attempt('SELECT md5(v) FROM corrupt WHERE id = ' || id) FROM corrupt ORDER BY id;
SELECT attempt('SELECT toast_policy.recompress(''corrupt'')');
SELECT attempt('INSERT INTO corrupt SELECT id + 100, v FROM corrupt');
SELECT count(*) FROM corrupt;
SET toast_policy.recompress_source = on;
SELECT attempt('INSERT INTO corrupt SELECT id + 100, v FROM corrupt');
RESET toast_policy.recompress_source;
SELECT toast_policy.disable('corrupt');
SELECT count(*) FROM corrupt;
DROP TABLE corrupt;

-- Test the extension and its tables.
SELECT toast_policy.guard_drop();
SELECT toast_policy.handler(NULL);
SELECT toast_policy.stats_rows() IS NULL AS no_rows LIMIT 0;
DROP ACCESS METHOD toast_policy;
DROP ACCESS METHOD toast_policy CASCADE;
DROP SCHEMA toast_policy;
DROP SCHEMA toast_policy CASCADE;
DROP FUNCTION toast_policy.handler(internal) CASCADE;
DROP EVENT TRIGGER toast_policy_guard;
DROP EXTENSION toast_policy CASCADE;
DROP EXTENSION IF EXISTS no_such_extension, toast_policy CASCADE;
DROP SCHEMA public CASCADE;
DROP EXTENSION toast_policy RESTRICT;
DO $$
BEGIN
    EXECUTE format('DROP OWNED BY %I CASCADE', current_user);
EXCEPTION WHEN dependent_objects_still_exist THEN
    RAISE NOTICE 'refused';
END $$;
-- Drop a schema that has nothing to do with the extension.
CREATE SCHEMA regress_toast_policy_schema;
CREATE TABLE regress_toast_policy_schema.t (id int);
DROP SCHEMA regress_toast_policy_schema CASCADE;
CREATE TABLE bobs (v text);
ALTER TABLE bobs OWNER TO regress_toast_policy_bob;
SELECT toast_policy.enable('bobs');
DROP OWNED BY regress_toast_policy_bob CASCADE;
SELECT count(*) FROM governed() WHERE relation::text ~ 'bob';
-- Do both in one transaction.
BEGIN;
SELECT toast_policy.disable_all() > 0 AS any;
DROP EXTENSION toast_policy CASCADE;
SELECT count(*), sum(octet_length(v)) FROM in_use;
SELECT 1 FROM pg_am WHERE amname = 'toast_policy';
ROLLBACK;
SELECT count(*) > 0 AS any FROM governed();
SELECT count(*) AS number FROM governed()
\gset
SELECT toast_policy.disable_all() = :number AS all;
SELECT * FROM governed();
SELECT toast_policy.disable_all();
SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_am'::regclass AND refobjid = (SELECT oid FROM pg_am WHERE amname = 'toast_policy') AND deptype = 'n';
DROP EXTENSION toast_policy;
SELECT count(*), sum(octet_length(v)) FROM in_use;

-- Create the extension in another schema, whose owner may drop it.
CREATE SCHEMA elsewhere AUTHORIZATION regress_toast_policy_bob;
CREATE EXTENSION toast_policy SCHEMA elsewhere;
SELECT toast_policy.enable('in_use');
ALTER EXTENSION toast_policy SET SCHEMA public;
SET ROLE regress_toast_policy_bob;
DROP SCHEMA elsewhere CASCADE;
DROP OWNED BY CURRENT_USER CASCADE;
DROP OWNED BY regress_toast_policy_bob, CURRENT_USER CASCADE;
DROP OWNED BY CURRENT_USER;
RESET ROLE;
BEGIN;
ALTER EXTENSION plpgsql ADD SCHEMA elsewhere;
DROP EXTENSION plpgsql CASCADE;
ROLLBACK;
SELECT count(*), sum(octet_length(v)) FROM in_use;
SELECT toast_policy.disable_all();
SET ROLE regress_toast_policy_bob;
DROP SCHEMA IF EXISTS elsewhere CASCADE;
RESET ROLE;
DROP EXTENSION IF EXISTS toast_policy;
CREATE EXTENSION toast_policy;
SELECT toast_policy.enable('in_use');
SELECT toast_policy.recompress('in_use');

SELECT toast_policy.disable_all();
\c :database
DROP DATABASE regress_toast_policy_errors;
DROP ROLE regress_toast_policy_alice, regress_toast_policy_bob;
