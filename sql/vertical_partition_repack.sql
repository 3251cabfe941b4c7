--
-- Test REPACK, which is new in 19, on split tables.
--
SELECT current_setting('server_version_num')::int < 190000 AS has_no_repack \gset
\if :has_no_repack
\quit
\endif
\set VERBOSITY terse
\set SHOW_CONTEXT never
\set database :DBNAME
-- Use a separate database, because some of these commands process all tables of a database.
CREATE DATABASE regress_vertical_partition_repack TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
ALTER DATABASE regress_vertical_partition_repack SET session_preload_libraries = 'vertical_partition';
\c regress_vertical_partition_repack
SET client_min_messages = warning;
CREATE EXTENSION vertical_partition;
CREATE SCHEMA u;
SET search_path = u;
CREATE TABLE shared_key (id int PRIMARY KEY, h1 int, c1 text, h2 text, c2 int);
CREATE TABLE surrogate_key (id int PRIMARY KEY, h1 int, c1 text, h2 text, c2 int);
CREATE TABLE row_pointer (id int PRIMARY KEY, h1 int, c1 text, h2 text, c2 int);
INSERT INTO shared_key SELECT i, i * 10, 'cold ' || i, 'hot ' || i, i % 5 FROM generate_series(1, 50) i;
INSERT INTO surrogate_key TABLE shared_key;
INSERT INTO row_pointer TABLE shared_key;
CREATE TABLE plain (id int PRIMARY KEY);
INSERT INTO plain VALUES (1);
SELECT vertical_partition.split('shared_key', '{c1,c2}', 'shared_key');
SELECT vertical_partition.split('surrogate_key', '{c1,c2}', 'surrogate_key');
SELECT vertical_partition.split('row_pointer', '{c1,c2}', 'row_pointer');
\pset format unaligned
\pset tuples_only on
CREATE TABLE files AS SELECT oid::regclass AS rel, pg_relation_filenode(oid) AS file FROM pg_class
WHERE relnamespace = 'u'::regnamespace AND relname ~ '_(hot|cold)$|^plain$';
CREATE FUNCTION rewritten() RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	SELECT string_agg(rel::text, ' ' ORDER BY rel::text) INTO result FROM u.files WHERE file <> pg_relation_filenode(rel);
	UPDATE u.files SET file = pg_relation_filenode(rel) WHERE file <> pg_relation_filenode(rel);
	RETURN result;
END $$;

-- REPACK of the view rewrites both parts.
REPACK shared_key;
SELECT rewritten();
BEGIN;
REPACK u.surrogate_key;
SELECT rewritten();
ROLLBACK;
SELECT rewritten();
-- With ANALYZE, the named columns get statistics.
CREATE FUNCTION analyzed() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(tablename || '.' || attname, ' ' ORDER BY tablename, attname) FROM pg_stats WHERE schemaname = 'u' AND tablename ~ '^surrogate_key' $$;
DELETE FROM pg_statistic WHERE starelid IN ('surrogate_key_hot'::regclass, 'surrogate_key_cold'::regclass);
REPACK (ANALYZE) surrogate_key (h1, c2);
SELECT rewritten(), analyzed();
REPACK (ANALYZE) surrogate_key;
SELECT rewritten(), analyzed();
REPACK (ANALYZE) surrogate_key (nothing);
REPACK surrogate_key (h1);
REPACK (NONSENSE) surrogate_key;
SELECT rewritten();

-- These commands have to name a part.
REPACK shared_key USING INDEX shared_key_pkey;
REPACK shared_key USING INDEX;
REPACK (CONCURRENTLY) shared_key;
CLUSTER shared_key USING shared_key_pkey;
SELECT rewritten();
REPACK shared_key_hot USING INDEX shared_key_pkey;
REPACK (CONCURRENTLY) shared_key_hot;
REPACK (CONCURRENTLY) shared_key_cold;
REPACK (CONCURRENTLY) row_pointer_hot;
SELECT rewritten();
SELECT count(*), sum(h1), count(DISTINCT c1) FROM shared_key;
INSERT INTO shared_key VALUES (51, 510, 'cold 51', 'hot 51', 1);
UPDATE shared_key SET h1 = 0, c2 = 7 WHERE id IN (1, 51);
SELECT * FROM shared_key WHERE id IN (1, 51) ORDER BY id;

-- Test row pointers.
REPACK row_pointer;
REPACK row_pointer_cold;
REPACK (CONCURRENTLY) row_pointer_cold;
CREATE UNIQUE INDEX clustering ON row_pointer_cold (id);
REPACK row_pointer_cold USING INDEX clustering;
CLUSTER row_pointer_cold USING clustering;
SELECT rewritten();
-- Test the whole database: only tables that were clustered, or all tables.
REPACK USING INDEX;
SELECT rewritten();
ALTER TABLE row_pointer_cold CLUSTER ON clustering;
REPACK USING INDEX;
SELECT rewritten();
CLUSTER;
SELECT rewritten();
REPACK;
SELECT rewritten();
REPACK (VERBOSE off, ANALYZE off);
SELECT rewritten();
REPACK (ANALYZE);
REPACK (CONCURRENTLY);
REPACK (NONSENSE);
BEGIN;
REPACK;
ROLLBACK;
SELECT rewritten();
SELECT * FROM row_pointer WHERE id = 3;
SELECT c1 FROM row_pointer WHERE id = 3 FOR UPDATE;
-- REPACK leaves out tables on which the user has no privilege, with a warning.
CREATE ROLE regress_vertical_partition_repack;
GRANT USAGE ON SCHEMA u TO regress_vertical_partition_repack;
GRANT MAINTAIN ON plain, row_pointer_cold TO regress_vertical_partition_repack;
SET ROLE regress_vertical_partition_repack;
REPACK USING INDEX;
REPACK shared_key;
REPACK row_pointer;
REPACK row_pointer_cold;
RESET ROLE;
SELECT rewritten();
-- Test again after forget_row_pointers().
SELECT vertical_partition.forget_row_pointers('row_pointer_cold');
REPACK;
SELECT rewritten();
SELECT c1 FROM row_pointer WHERE id = 3 FOR UPDATE;
SELECT vertical_partition.relink('row_pointer');
SELECT c1 FROM row_pointer WHERE id = 3 FOR UPDATE;
SELECT vertical_partition.forget_row_pointers('row_pointer_cold');
ALTER TABLE row_pointer_cold REPLICA IDENTITY USING INDEX clustering;
REPACK (CONCURRENTLY) row_pointer_cold;
SELECT rewritten();
SELECT vertical_partition.relink('row_pointer');
SELECT * FROM row_pointer WHERE id = 3;

-- A publication of all tables except one would publish the parts of this one after a split.
CREATE TABLE published (id int PRIMARY KEY, h1 int, c1 text);
CREATE TABLE halves (id int PRIMARY KEY, h1 int, c1 text);
SELECT vertical_partition.split('halves', '{c1}');
SET client_min_messages = error;
CREATE PUBLICATION regress_vp_except FOR ALL TABLES EXCEPT (TABLE u.published, u.halves_hot);
RESET client_min_messages;
SELECT vertical_partition.split('published', '{c1}');
SELECT vertical_partition.merge('halves');
DROP PUBLICATION regress_vp_except;

\c :database
DROP DATABASE regress_vertical_partition_repack;
DROP ROLE regress_vertical_partition_repack;
