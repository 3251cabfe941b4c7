--
-- Test utility commands on split tables.
--
\set VERBOSITY terse
\set SHOW_CONTEXT never
\set database :DBNAME
-- Use a separate database, because some of these commands process all tables of a database.
CREATE DATABASE regress_vertical_partition_utility TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
ALTER DATABASE regress_vertical_partition_utility SET session_preload_libraries = 'vertical_partition';
\c regress_vertical_partition_utility
SET client_min_messages = warning;
CREATE EXTENSION vertical_partition;
CREATE SCHEMA u;
SET search_path = u;
CREATE TABLE shared_key (id serial PRIMARY KEY, h1 int, c1 text, h2 text, c2 int);
CREATE TABLE surrogate_key (id int PRIMARY KEY, h1 int, c1 text, h2 text, c2 int);
CREATE TABLE row_pointer (id int PRIMARY KEY, h1 int, c1 text, h2 text, c2 int);
INSERT INTO shared_key SELECT i, i * 10, 'cold ' || i, 'hot ' || i, i % 5 FROM generate_series(1, 50) i;
INSERT INTO surrogate_key TABLE shared_key;
INSERT INTO row_pointer TABLE shared_key;
CREATE TABLE plain (id int);
INSERT INTO plain VALUES (1);
SELECT vertical_partition.split('shared_key', '{c1,c2}', 'shared_key');
SELECT vertical_partition.split('surrogate_key', '{c1,c2}', 'surrogate_key');
SELECT vertical_partition.split('row_pointer', '{c1,c2}', 'row_pointer');
-- Split this table before it has rows and statistics.
CREATE TABLE bare (id int PRIMARY KEY, h1 int, c1 text, h2 text, c2 int);
SELECT vertical_partition.split('bare', '{c1,c2}', 'surrogate_key');
INSERT INTO bare TABLE row_pointer;
CREATE VIEW view AS SELECT * FROM shared_key;
\pset format unaligned
\pset tuples_only on

-- Without the library, the commands behave as on any view.
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET session_preload_libraries', current_database()); END $$;
\c
SET search_path = u;
SET client_min_messages = warning;
COPY shared_key TO '/dev/null';
TRUNCATE shared_key;
REINDEX TABLE shared_key;
ANALYZE shared_key;
LOAD 'vertical_partition';
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = ''vertical_partition''', current_database()); END $$;

-- Test COPY.
COPY shared_key (id, c1, h2) TO '/dev/null';
COPY row_pointer TO '/dev/null' (FORMAT binary);
\copy (SELECT * FROM row_pointer WHERE id < 3) TO stdout
DELETE FROM row_pointer WHERE id > 5;
COPY row_pointer TO stdout;
COPY row_pointer (c2, "id") TO stdout (FORMAT csv, HEADER, FORCE_QUOTE (id));
COPY row_pointer (c2, nothing) TO stdout;
COPY view TO stdout;
COPY row_pointer (id, c1) FROM stdin;
60	copied
61	\N
\.
SELECT * FROM row_pointer WHERE id >= 60 ORDER BY id;

-- Test VACUUM and ANALYZE.  In the parts, the named columns get statistics.
CREATE FUNCTION analyzed() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(tablename || '.' || attname, ' ' ORDER BY tablename, attname) FROM pg_stats WHERE schemaname = 'u' AND tablename ~ '^bare' $$;
ANALYZE bare (h1, c2);
SELECT analyzed();
ANALYZE bare (c1);
SELECT analyzed();
VACUUM ANALYZE plain, bare;
SELECT analyzed();
ANALYZE shared_key (nothing);
ANALYZE shared_key (h1, h1);
ANALYZE view;
DROP VIEW bare;
DROP TABLE bare_hot, bare_cold;
BEGIN;
VACUUM shared_key;
ROLLBACK;

-- Test VACUUM FULL and CLUSTER.
CREATE TABLE files AS SELECT oid::regclass AS rel, pg_relation_filenode(oid) AS file FROM pg_class
WHERE relnamespace = 'u'::regnamespace AND relname ~ '_(hot|cold)$';
CREATE FUNCTION rewritten() RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	SELECT string_agg(rel::text, ' ' ORDER BY rel::text) INTO result FROM u.files WHERE file <> pg_relation_filenode(rel);
	UPDATE u.files SET file = pg_relation_filenode(rel);
	RETURN result;
END $$;
VACUUM (FULL) shared_key;
VACUUM FULL surrogate_key;
VACUUM (FULL off) row_pointer;
SELECT rewritten();
VACUUM FULL row_pointer;
VACUUM FULL plain, row_pointer_cold;
VACUUM FULL row_pointer_hot;
SELECT rewritten();
VACUUM FULL;
SELECT rewritten();
CREATE INDEX clustering ON row_pointer_cold (id);
CLUSTER row_pointer_cold USING clustering;
CLUSTER shared_key_hot USING shared_key_pkey;
CLUSTER;
ALTER TABLE row_pointer_cold CLUSTER ON clustering;
CLUSTER;
DROP INDEX clustering;
SELECT rewritten();
SELECT * FROM row_pointer WHERE id = 3;
-- Test again after forget_row_pointers().
SELECT vertical_partition.forget_row_pointers('row_pointer_cold');
TABLE vertical_partition_internal.row_pointers;
VACUUM FULL row_pointer;
SELECT rewritten();
SELECT vertical_partition.relink('row_pointer');
SELECT * FROM row_pointer WHERE id = 3;

-- Test REINDEX.
CREATE FUNCTION rebuilt() RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	IF to_regclass('u.index_files') IS NULL THEN
		CREATE TABLE u.index_files (rel name, file oid);
	END IF;
	SELECT string_agg(relname, ' ' ORDER BY relname) INTO result FROM pg_class c JOIN u.index_files ON rel = relname
	WHERE relnamespace = 'u'::regnamespace AND relkind = 'i' AND file <> relfilenode;
	DELETE FROM u.index_files;
	INSERT INTO u.index_files SELECT relname, relfilenode FROM pg_class WHERE relnamespace = 'u'::regnamespace AND relkind = 'i';
	RETURN result;
END $$;
SELECT rebuilt();
REINDEX TABLE shared_key;
SELECT rebuilt();
REINDEX TABLE CONCURRENTLY surrogate_key;
REINDEX (VERBOSE off) TABLE row_pointer;
SELECT rebuilt();
REINDEX TABLE CONCURRENTLY row_pointer;
SELECT rebuilt();
BEGIN;
REINDEX TABLE CONCURRENTLY shared_key;
ROLLBACK;
REINDEX TABLE view;

-- Test LOCK.
BEGIN;
LOCK TABLE row_pointer IN SHARE MODE;
SELECT relation::regclass, mode FROM pg_locks WHERE relation::regclass::text ~ '^row_pointer' ORDER BY relation::regclass::text;
ROLLBACK;

-- Test TRUNCATE.
SELECT nextval('shared_key_id_seq') > 50;
BEGIN;
TRUNCATE shared_key, plain, surrogate_key;
SELECT (SELECT count(*) FROM shared_key), (SELECT count(*) FROM shared_key_cold), (SELECT count(*) FROM plain), (SELECT count(*) FROM surrogate_key_cold);
ROLLBACK;
SELECT (SELECT count(*) FROM shared_key), (SELECT count(*) FROM shared_key_cold), (SELECT count(*) FROM plain), (SELECT count(*) FROM surrogate_key_cold);
TRUNCATE shared_key_hot;
TRUNCATE plain, shared_key_cold;
TRUNCATE view;
TRUNCATE nothing, shared_key;
TRUNCATE shared_key, pg_class;
TRUNCATE shared_key, view;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM shared_key;
FETCH c;
TRUNCATE shared_key;
ROLLBACK;
BEGIN READ ONLY;
TRUNCATE shared_key;
ROLLBACK;
SELECT count(*) FROM shared_key;
-- Truncate tables that refer to split tables, and tables to which they refer.
CREATE TABLE master (id int PRIMARY KEY);
CREATE TABLE detail (id int REFERENCES shared_key_hot, s int REFERENCES surrogate_key_hot);
ALTER TABLE row_pointer_cold ADD FOREIGN KEY (c2) REFERENCES master NOT VALID;
INSERT INTO detail VALUES (3, 3);
TRUNCATE shared_key;
BEGIN;
TRUNCATE shared_key, detail RESTART IDENTITY;
SELECT nextval('shared_key_id_seq');
ROLLBACK;
SET client_min_messages = notice;
TRUNCATE shared_key CASCADE;
TRUNCATE master;
TRUNCATE master CASCADE;
SET client_min_messages = warning;
SELECT (SELECT count(*) FROM detail), (SELECT count(*) FROM row_pointer), (SELECT count(*) FROM row_pointer_cold);
ALTER TABLE row_pointer_cold DROP CONSTRAINT row_pointer_cold_c2_fkey;
-- After TRUNCATE, new pointers are valid.
INSERT INTO row_pointer VALUES (1, 2, 'three', 'four', 5);
SELECT c1 FROM row_pointer WHERE id = 1 FOR UPDATE;
SELECT filenode = pg_relation_filenode(cold) FROM vertical_partition_internal.row_pointers;
-- Triggers fire, and have no additional rights on the parts.
CREATE FUNCTION truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING '% %', TG_OP, TG_TABLE_NAME;
	DELETE FROM u.row_pointer_cold;
	RETURN NULL;
END $$;
CREATE TRIGGER truncated AFTER TRUNCATE ON row_pointer_hot FOR EACH STATEMENT EXECUTE FUNCTION truncated();
TRUNCATE row_pointer;
SELECT count(*) FROM row_pointer;
DROP TRIGGER truncated ON row_pointer_hot;
-- Run the commands in a DO block.
DO $$ BEGIN TRUNCATE u.row_pointer; EXECUTE 'ANALYZE u.row_pointer'; END $$;
SELECT count(*) FROM row_pointer;
-- In a database without the extension, the library changes nothing.
\c postgres
LOAD 'vertical_partition';
DROP DATABASE regress_vertical_partition_utility;
CREATE TEMP TABLE t (i int);
CREATE TEMP VIEW v AS SELECT * FROM t;
TRUNCATE t;
TRUNCATE v;
COPY t TO stdout;
COPY v TO stdout;
\c :database
