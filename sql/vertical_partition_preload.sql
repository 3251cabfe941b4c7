--
-- split() requires that new sessions preload the library.
--
\set SHOW_CONTEXT never
SET client_min_messages = warning;
\set database :DBNAME
CREATE DATABASE "regress_vertical partition" TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
\c "regress_vertical partition"
SET client_min_messages = warning;
CREATE EXTENSION vertical_partition;
CREATE ROLE regress_vp_alice LOGIN;
CREATE ROLE "regress vp bob" LOGIN;
CREATE ROLE regress_vp_group;
GRANT CREATE ON SCHEMA public TO regress_vp_alice;
CREATE TABLE t (id int PRIMARY KEY, a int, b text);
ALTER TABLE t OWNER TO regress_vp_alice;
CREATE TABLE plain (id int PRIMARY KEY, b text);

-- New sessions do not preload the library, whatever this session has loaded.
SELECT vertical_partition.split('t', '{b}');
LOAD 'vertical_partition';
SET session_preload_libraries = 'vertical_partition';
SELECT vertical_partition.split('t', '{b}');
SET ROLE regress_vp_alice;
SELECT vertical_partition.split('t', '{b}');
SELECT vertical_partition.split('t', '{b}', 'row_pointer', NULL);
RESET ROLE;
-- Wrong arguments are reported first.
SELECT vertical_partition.split('pg_locks', '{b}');
SELECT vertical_partition.split(NULL, '{b}');
SELECT vertical_partition.split('t', '{b}', 'magic');

-- The hint keeps other libraries.  A name with a comma is also one library.
ALTER DATABASE "regress_vertical partition" SET session_preload_libraries = 'plpgsql', '$libdir/vertical''s, partition';
SELECT vertical_partition.split('t', '{b}');
-- A list in quotes is one library with a long name.
ALTER DATABASE "regress_vertical partition" SET session_preload_libraries = 'plpgsql, vertical_partition';
SELECT vertical_partition.split('t', '{b}');
ALTER DATABASE "regress_vertical partition" SET session_preload_libraries = 'plpgsql', 'vertical_partition_other';
SELECT vertical_partition.split('t', '{b}');

-- Some roles have another setting.
ALTER DATABASE "regress_vertical partition" SET session_preload_libraries = 'plpgsql', 'vertical_partition';
ALTER ROLE regress_vp_alice SET session_preload_libraries = 'plpgsql';
ALTER ROLE "regress vp bob" IN DATABASE "regress_vertical partition" SET session_preload_libraries = '';
ALTER ROLE regress_vp_group SET session_preload_libraries = 'plpgsql';
SELECT vertical_partition.split('t', '{b}');
ALTER ROLE regress_vp_alice IN DATABASE "regress_vertical partition" SET session_preload_libraries = '$libdir/vertical_partition';
ALTER ROLE "regress vp bob" IN DATABASE "regress_vertical partition" SET session_preload_libraries = 'plpgsql', 'vertical_partition';
ALTER ROLE "regress vp bob" SET session_preload_libraries = 'plpgsql';
SELECT vertical_partition.split('t', '{b}');
SELECT vertical_partition.merge('t');

-- All roles have another setting.
ALTER DATABASE "regress_vertical partition" RESET session_preload_libraries;
ALTER ROLE ALL SET session_preload_libraries = 'plpgsql';
SELECT vertical_partition.split('t', '{b}');
ALTER ROLE ALL SET session_preload_libraries = 'vertical_partition';
SELECT vertical_partition.split('t', '{b}');
SELECT vertical_partition.merge('t');
ALTER DATABASE "regress_vertical partition" SET session_preload_libraries = 'plpgsql';
ALTER ROLE regress_vp_alice RESET session_preload_libraries;
SELECT vertical_partition.split('t', '{b}');
ALTER ROLE ALL RESET session_preload_libraries;

-- With force => true, split() only prints a notice.
SET client_min_messages = notice;
SELECT vertical_partition.split('t', '{b}', force => true);
SET client_min_messages = warning;
INSERT INTO t SELECT i, i, 'b' || i FROM generate_series(1, 3) i;

-- In a session that has not loaded the library yet, each statement is right or raises an error.
\c
INSERT INTO t VALUES (4, 4, 'b4');
\c
INSERT INTO t VALUES (4, 5, 'b5') ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (4, 5, 'b5') ON CONFLICT DO NOTHING;
\c
INSERT INTO t VALUES (4, 5, 'b5') ON CONFLICT (id) DO NOTHING;
\c
PREPARE p AS INSERT INTO t VALUES (5, 5, 'b5');
EXECUTE p;
EXECUTE p;
\c
PREPARE p AS INSERT INTO t VALUES (5, 5, 'b5') ON CONFLICT DO NOTHING;
EXECUTE p;
EXECUTE p;
\c
DO $$ BEGIN INSERT INTO t VALUES (6, 6, 'b6'); END $$;
DO $$ BEGIN INSERT INTO t VALUES (6, 6, 'b6'); END $$;
\c
WITH i AS (INSERT INTO t VALUES (4, 5, 'b5') ON CONFLICT DO NOTHING RETURNING id) SELECT count(*) FROM i;
WITH i AS (INSERT INTO t VALUES (4, 5, 'b5') ON CONFLICT DO NOTHING RETURNING id) SELECT count(*) FROM i;
\c
INSERT INTO t VALUES (7, 7, 'b7') RETURNING id;
\c
COPY t FROM stdin;
8	8	b8
\.
\c
INSERT INTO t SELECT 9, 9, 'b9';
DO $$ BEGIN COPY t FROM '/dev/null'; END $$;
\c
SELECT * FROM t ORDER BY id;

\c :database
DROP DATABASE "regress_vertical partition";
DROP ROLE regress_vp_alice, "regress vp bob", regress_vp_group;
