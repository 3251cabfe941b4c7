--
-- DDL on split views and their parts
--
\set VERBOSITY default
\set SHOW_CONTEXT never
SET client_min_messages = warning;
\set database :DBNAME
CREATE DATABASE regress_vertical_partition_ddl TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
ALTER DATABASE regress_vertical_partition_ddl SET session_preload_libraries = 'vertical_partition';
\c regress_vertical_partition_ddl
SET client_min_messages = warning;
CREATE EXTENSION vertical_partition;
CREATE ROLE regress_vp_alice;
CREATE ROLE regress_vp_bob;
CREATE SCHEMA s;
GRANT ALL ON SCHEMA s TO regress_vp_alice, regress_vp_bob;
SET search_path = s;
-- Show "superuser" for the superuser, who may have any name.
CREATE FUNCTION owners(name text) RETURNS TABLE (relation text, owner name) LANGUAGE sql AS $$
  SELECT relname::text, CASE pg_get_userbyid(relowner) WHEN session_user THEN 'superuser' ELSE pg_get_userbyid(relowner) END FROM pg_class
  WHERE relnamespace = 's'::regnamespace AND relname ~ ('^' || name) AND relkind IN ('r', 'v', 'S') ORDER BY relname
$$;

-- If the view gets another owner, its parts get the same owner.
CREATE TABLE t (id serial PRIMARY KEY, a int, b text);
INSERT INTO t (a, b) SELECT i, 'b' || i FROM generate_series(1, 3) i;
SELECT vertical_partition.split('t', '{b}', 'surrogate_key');
ALTER TABLE t OWNER TO regress_vp_alice;
SELECT * FROM owners('t');
SET ROLE regress_vp_alice;
UPDATE t SET b = 'alice' WHERE id = 1;
SELECT * FROM t ORDER BY id;
\set VERBOSITY sqlstate
ALTER VIEW t OWNER TO regress_vp_bob;
\set VERBOSITY default
RESET ROLE;
GRANT regress_vp_bob TO regress_vp_alice;
SET ROLE regress_vp_alice;
ALTER VIEW t OWNER TO regress_vp_bob;
SELECT * FROM owners('t');
SELECT count(b) FROM t;
RESET ROLE;
REVOKE regress_vp_bob FROM regress_vp_alice;
SET ROLE regress_vp_alice;
SELECT count(b) FROM t;
ALTER VIEW t OWNER TO regress_vp_alice;
RESET ROLE;
ALTER VIEW t ALTER a SET DEFAULT 5, OWNER TO regress_vp_alice;
REASSIGN OWNED BY regress_vp_alice TO regress_vp_bob;
SELECT * FROM owners('t');
SELECT count(b) FROM t;
ALTER TABLE IF EXISTS t OWNER TO CURRENT_USER;
ALTER TABLE IF EXISTS nothing OWNER TO CURRENT_USER;
SELECT * FROM owners('t');

-- A part cannot get another owner than the view, but it can get the owner of the view.
ALTER TABLE t_hot OWNER TO regress_vp_bob;
ALTER TABLE t_cold OWNER TO regress_vp_bob;
ALTER TABLE t_cold OWNER TO CURRENT_USER;
ALTER VIEW t OWNER TO regress_vp_bob;

-- If another view reads the parts, a change of its owner does not change the owner of the parts.
CREATE VIEW t2 AS SELECT h.id, h.a, c.b FROM t_hot h LEFT JOIN t_cold c ON c.cold_id = h.cold_id
  WHERE vertical_partition.linked('surrogate_key', h.tableoid, c.cold_id);
ALTER VIEW t2 OWNER TO regress_vp_alice;
SELECT * FROM owners('t');
DROP VIEW t2;
ALTER VIEW t OWNER TO CURRENT_USER;
-- The same is true for another view of the same owner.
CREATE VIEW t2 AS SELECT h.id, h.a, c.b FROM t_hot h LEFT JOIN t_cold c ON c.cold_id = h.cold_id
  WHERE vertical_partition.linked('surrogate_key', h.tableoid, c.cold_id);
ALTER VIEW t2 OWNER TO regress_vp_alice;
SELECT * FROM owners('t');
DROP VIEW t2;

-- Test foreign keys of the hot part that delete its rows.
CREATE TABLE p (id int PRIMARY KEY);
INSERT INTO p SELECT generate_series(1, 9);
SELECT vertical_partition.split(vertical_partition.merge('t'), '{b}', 'shared_key');
UPDATE t SET a = id;
ALTER TABLE t_hot ADD CONSTRAINT fk FOREIGN KEY (a) REFERENCES p ON DELETE CASCADE;
DELETE FROM p WHERE id = 2;
SELECT * FROM t ORDER BY id;
SELECT * FROM t_cold ORDER BY id;
DELETE FROM t_cold;
UPDATE t_hot SET id = 7;
INSERT INTO t_hot VALUES (7, 7);
TRUNCATE t_hot;
SELECT vertical_partition.merge('t');
\d t
SELECT vertical_partition.split('t', '{b}', 'row_pointer');
ALTER TABLE t_hot DROP CONSTRAINT fk;
ALTER TABLE t_hot ADD q int REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE;
UPDATE t_hot SET q = id;
DELETE FROM p WHERE id = 3;
UPDATE p SET id = 11 WHERE id = 4;
SELECT * FROM t ORDER BY id;
SELECT count(*) FROM t_cold;
ALTER TABLE t_hot DROP q;

-- Other foreign keys are refused.
ALTER TABLE t_hot ADD CONSTRAINT fk FOREIGN KEY (id) REFERENCES p ON UPDATE CASCADE NOT VALID;
ALTER TABLE t_hot ADD CONSTRAINT fk FOREIGN KEY (id) REFERENCES p ON DELETE SET DEFAULT NOT VALID;
ALTER TABLE t_hot ADD CONSTRAINT fk FOREIGN KEY (a) REFERENCES p ON UPDATE CASCADE ON DELETE SET NULL NOT VALID;
CREATE TABLE pp (id int, a int, PRIMARY KEY (id, a));
ALTER TABLE t_hot ADD CONSTRAINT fk2 FOREIGN KEY (id, a) REFERENCES pp ON DELETE SET NULL (id) NOT VALID;
ALTER TABLE t_hot ADD CONSTRAINT fk2 FOREIGN KEY (id, a) REFERENCES pp ON DELETE SET NULL (a) NOT VALID;
ALTER TABLE t_cold ADD x int REFERENCES p ON DELETE CASCADE;
ALTER TABLE t_cold ADD x int REFERENCES p ON DELETE SET NULL;
ALTER TABLE t_cold ADD x int REFERENCES p ON UPDATE CASCADE;
ALTER TABLE t_cold ADD x int REFERENCES p ON DELETE RESTRICT;
\d t_hot
\d t_cold

-- COPY leaves generated columns out, as it does for a table.
CREATE TABLE g (id int PRIMARY KEY, a int, twice int GENERATED ALWAYS AS (a * 2) STORED, b text, shout text GENERATED ALWAYS AS (upper(b)) STORED);
COPY g FROM stdin;
1	1	b1
\.
COPY g TO stdout;
COPY g (id, twice) FROM '/dev/null';
COPY g (shout) TO stdout;
SELECT vertical_partition.split('g', '{b,shout}');
COPY g TO stdout;
COPY g FROM stdin;
2	2	b2
\.
COPY g FROM stdin (FORMAT csv, HEADER match, NULL 'none');
id,a,b
3,none,b3
\.
COPY g (id, b) FROM stdin;
4	b4
\.
COPY g (b, id) TO stdout;
COPY g TO stdout (FORMAT csv, HEADER);
SELECT * FROM g ORDER BY id;
COPY g (id, twice) FROM '/dev/null';
COPY g (shout) TO stdout;
COPY g (nothing) TO stdout;

-- If the trigger does not fire, writes to the view raise an error.
SET session_replication_role = replica;
INSERT INTO g (id) VALUES (9);
COPY g (id) FROM '/dev/null';
SELECT count(*) FROM g;
RESET session_replication_role;

\c :database
DROP DATABASE regress_vertical_partition_ddl;
DROP ROLE regress_vp_alice, regress_vp_bob;
