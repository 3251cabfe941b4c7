--
-- Test the declared primary key of a split table, which GROUP BY and ON CONFLICT use.
--
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET client_min_messages = warning;
\set database :DBNAME
CREATE DATABASE regress_vertical_partition_primary TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
ALTER DATABASE regress_vertical_partition_primary SET session_preload_libraries = 'vertical_partition';
\c regress_vertical_partition_primary
SET client_min_messages = warning;
CREATE EXTENSION vertical_partition;
-- The key is declared only if somebody asks for it.
CREATE TABLE unasked (id int PRIMARY KEY, a int, b text);
SELECT vertical_partition.split('unasked', '{b}');
SELECT id, a, b, count(*) FROM unasked GROUP BY id;
SELECT vertical_partition.declare_key('unasked');
SELECT id, a, b, count(*) FROM unasked GROUP BY id;
DROP TABLE unasked_hot, unasked_cold CASCADE;
ALTER DATABASE regress_vertical_partition_primary SET vertical_partition.declare_keys = on;
SET vertical_partition.declare_keys = on;
CREATE TABLE o (id int PRIMARY KEY, t int);
INSERT INTO o SELECT i, i % 3 FROM generate_series(1, 10) i;
CREATE TABLE shared_key (id int PRIMARY KEY, a int, b text UNIQUE, c text);
INSERT INTO shared_key SELECT i, i, 'b' || i, 'c' || i FROM generate_series(0, 3) i;
CREATE TABLE surrogate_key (LIKE shared_key INCLUDING ALL);
INSERT INTO surrogate_key TABLE shared_key;
CREATE TABLE row_pointer (LIKE shared_key INCLUDING ALL);
INSERT INTO row_pointer TABLE shared_key;
CREATE TABLE pair (c text, y int, h int, x text COLLATE "C", CONSTRAINT pair_key PRIMARY KEY (x, y));
INSERT INTO pair SELECT 'c' || i, i, i, 'x' FROM generate_series(1, 3) i;
SELECT vertical_partition.split(name::regclass, '{b,c}', name) FROM unnest('{shared_key,surrogate_key,row_pointer}'::text[]) name;
SELECT vertical_partition.split('pair', '{c}');

-- Django's annotate(Count()) makes such queries.
SELECT t.id, t.a, t.b, t.c, count(o.id) AS n FROM shared_key t LEFT JOIN o ON o.t = t.id GROUP BY t.id ORDER BY t.id;
SELECT t.*, count(o.id) AS n FROM surrogate_key t LEFT JOIN o ON o.t = t.id GROUP BY t.id ORDER BY t.id;
SELECT t.a, t.c, count(o.id) AS n FROM o LEFT JOIN row_pointer t ON o.t = t.id GROUP BY t.id HAVING t.b IS DISTINCT FROM 'b0' ORDER BY t.b;
SELECT t.a, count(o.id) AS n FROM row_pointer t LEFT JOIN o ON o.t = t.id GROUP BY t.id ORDER BY t.id;
SELECT t.c, t.h, t, count(*) FROM pair t GROUP BY y, x ORDER BY 1;
SELECT t.id, t.b, (SELECT count(*) FROM o WHERE o.t = t.id AND o.id > t.a) FROM shared_key t GROUP BY t.id ORDER BY 1;
PREPARE p(int) AS SELECT t.*, count(o.id) AS n FROM shared_key t LEFT JOIN o ON o.t = t.id WHERE t.id > $1 GROUP BY t.id ORDER BY t.id;
SET plan_cache_mode = force_generic_plan;
EXECUTE p(1);
EXECUTE p(2);
-- These queries do not group by the key.
SELECT t.*, count(*) FROM pair t GROUP BY y;
SELECT t.*, count(*) FROM shared_key t GROUP BY b;
SELECT t.*, count(*) FROM shared_key t GROUP BY GROUPING SETS ((id), ());

-- Use a session without the library.
ALTER DATABASE regress_vertical_partition_primary RESET session_preload_libraries;
\c
SET client_min_messages = warning;
SELECT t.*, count(o.id) AS n FROM shared_key t LEFT JOIN o ON o.t = t.id GROUP BY t.id ORDER BY t.id;
ALTER DATABASE regress_vertical_partition_primary SET session_preload_libraries = 'vertical_partition';
\c
SET client_min_messages = warning;

-- ON CONFLICT names the constraint.
INSERT INTO shared_key VALUES (1, 10, 'again', 'again') ON CONFLICT ON CONSTRAINT shared_key_pkey DO UPDATE SET a = excluded.a, c = 'conflict' RETURNING *;
INSERT INTO row_pointer VALUES (1, 10, 'again', 'again') ON CONFLICT ON CONSTRAINT row_pointer_pkey DO NOTHING;
INSERT INTO pair VALUES ('again', 2, 20, 'x') ON CONFLICT ON CONSTRAINT pair_key DO UPDATE SET h = excluded.h RETURNING *;
INSERT INTO surrogate_key VALUES (9, 10, 'b1', 'again') ON CONFLICT ON CONSTRAINT surrogate_key_pkey DO NOTHING;
INSERT INTO surrogate_key VALUES (9, 10, 'b9', 'again') ON CONFLICT ON CONSTRAINT surrogate_key_b_key DO NOTHING;

-- Show the declared keys, and change what they depend on.
SELECT conrelid::regclass, conname, pg_get_constraintdef(oid), conindid::regclass FROM pg_constraint
WHERE contype = 'p' AND connamespace = 'public'::regnamespace ORDER BY 1, 2;
CREATE VIEW uses_key AS SELECT t.id, t.b, count(o.id) AS n FROM shared_key t LEFT JOIN o ON o.t = t.id GROUP BY t.id;
SELECT vertical_partition.merge('shared_key');
DROP VIEW uses_key;
REINDEX TABLE CONCURRENTLY shared_key_hot;
SELECT pg_get_constraintdef(oid), conindid::regclass FROM pg_constraint WHERE conrelid = 'shared_key'::regclass;
ALTER VIEW shared_key RENAME id TO "the id";
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'shared_key'::regclass;
SELECT t.*, count(*) FROM shared_key t GROUP BY "the id" ORDER BY 1 LIMIT 1;
ALTER TABLE shared_key_hot DROP CONSTRAINT shared_key_pkey;
ALTER TABLE shared_key_hot DROP CONSTRAINT shared_key_pkey CASCADE;
SELECT t.*, count(*) FROM shared_key t GROUP BY "the id";
SELECT vertical_partition.declare_key('shared_key');
ALTER TABLE shared_key_hot ADD CONSTRAINT new_key PRIMARY KEY (id);
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'shared_key'::regclass;
SELECT vertical_partition.merge('shared_key');
\d shared_key
CREATE OR REPLACE VIEW pair AS SELECT c.c, h.h AS y, h.y AS h, h.x FROM pair_hot h LEFT JOIN pair_cold c ON c.x = h.x AND c.y = h.y
  WHERE vertical_partition.linked('shared_key', h.tableoid, c.x);
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'pair'::regclass;
SELECT t.*, count(*) FROM pair t GROUP BY x, y;
BEGIN;
CREATE OR REPLACE VIEW pair AS SELECT c AS c, y AS y, h AS h, x AS x FROM pair_cold LEFT JOIN (SELECT 1 AS h) v ON true;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'pair'::regclass;
SELECT t.*, count(*) FROM pair t GROUP BY x, h;
ROLLBACK;
-- DDL that does not concern the key does not drop it, because a view may need the key.
CREATE TABLE needed (id int, a int, b varchar(20), c text, CONSTRAINT needed_pkey PRIMARY KEY (id) INCLUDE (a));
SELECT vertical_partition.split('needed', '{b,c}', 'surrogate_key');
CREATE VIEW uses_key AS SELECT n.id, n.c FROM needed n GROUP BY n.id;
ALTER TABLE needed ALTER b TYPE varchar(100), ADD d int;
ALTER TABLE needed RENAME CONSTRAINT needed_pkey TO renamed;
ALTER INDEX renamed RENAME TO "renamed again";
SELECT conname, pg_get_constraintdef(oid), conindid::regclass FROM pg_constraint WHERE conrelid = 'needed'::regclass;
ALTER TABLE needed ALTER id TYPE bigint;
ALTER TABLE needed ALTER a TYPE bigint;
DROP VIEW uses_key;
ALTER TABLE needed ALTER id TYPE bigint;
ALTER TABLE needed ALTER a TYPE bigint, DROP b;
SELECT conname, pg_get_constraintdef(oid), conindid::regclass FROM pg_constraint WHERE conrelid = 'needed'::regclass;
-- DROP of a column that the index of the key includes would also drop the key.
ALTER TABLE needed DROP a;
DROP TABLE needed;
-- The declared key is wrong, as after a session without the library.
UPDATE pg_constraint SET conkey = '{4}' WHERE conrelid = 'pair'::regclass;
SELECT vertical_partition.declare_key('pair');
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'pair'::regclass;
SELECT vertical_partition.declare_key('o');
SELECT vertical_partition.declare_key('pg_locks');
SELECT vertical_partition.declare_key(1);
CREATE ROLE regress_vp_alice;
SET ROLE regress_vp_alice;
SELECT vertical_partition.declare_key('pair');
RESET ROLE;
-- Test a view of another owner that looks like the split view.
CREATE VIEW like_it AS TABLE pair;
CREATE OR REPLACE VIEW like_it AS SELECT c.c, h.y, h.h, h.x FROM pair_hot h LEFT JOIN pair_cold c ON c.x = h.x AND c.y = h.y
  WHERE vertical_partition.linked('shared_key', h.tableoid, c.x);
ALTER VIEW like_it OWNER TO regress_vp_alice;
SET ROLE regress_vp_alice;
SELECT vertical_partition.declare_key('like_it');
CREATE TRIGGER vertical_partition_write INSTEAD OF INSERT ON like_it FOR EACH ROW EXECUTE FUNCTION vertical_partition.write_row();
RESET ROLE;
SELECT count(*) FROM pg_constraint WHERE conrelid = 'like_it'::regclass;
DROP VIEW pair CASCADE;
DROP VIEW like_it;
DROP TABLE pair_hot;

\c :database
DROP DATABASE regress_vertical_partition_primary;
DROP ROLE regress_vp_alice;
