--
-- Test what split() copies to the parts and the view, and what merge() copies back.
--
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET client_min_messages = warning;
-- Use a separate database, because the test creates publications.
\set database :DBNAME
CREATE DATABASE regress_vertical_partition_split TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
ALTER DATABASE regress_vertical_partition_split SET session_preload_libraries = 'vertical_partition';
\c regress_vertical_partition_split
SET client_min_messages = warning;
CREATE EXTENSION vertical_partition;
CREATE ROLE regress_vp_owner;
CREATE ROLE regress_vp_alice;
CREATE ROLE regress_vp_bob;
CREATE SCHEMA s AUTHORIZATION regress_vp_owner;
CREATE SCHEMA "t; DROP";
GRANT ALL ON SCHEMA "t; DROP" TO regress_vp_owner;
SET search_path = s;
\pset format unaligned
\pset tuples_only on

-- Return all properties of a relation, except those that servers show in different ways.
CREATE FUNCTION public.describe(rel regclass) RETURNS TABLE (kind text, definition text) LANGUAGE sql SET search_path = pg_catalog AS $$
  SELECT 'relation', concat_ws(' ', c.oid::regclass, c.relkind, c.relpersistence, 'owner ' || coalesce(nullif(pg_get_userbyid(relowner), session_user), 'session_user'), 'options ' || reloptions::text,
    'toast options ' || (SELECT t.reloptions::text FROM pg_class t WHERE t.oid = c.reltoastrelid),
    'privileges ' || (SELECT string_agg(privilege_type || ' ' || grantee::regrole || CASE WHEN is_grantable THEN '*' ELSE '' END, ', ' ORDER BY grantee::regrole::text, privilege_type)
      FROM aclexplode(relacl) WHERE grantee <> relowner),
    'replica identity ' || nullif(relreplident::text, 'd'), 'comment ' || obj_description(c.oid, 'pg_class'))
  FROM pg_class c WHERE oid = rel
  UNION ALL
  (SELECT 'column', concat_ws(' ', attname, format_type(atttypid, atttypmod), 'collation ' || nullif(attcollation, typcollation)::regcollation,
    CASE WHEN attnotnull THEN 'not null' END, 'identity ' || nullif(attidentity::text, ''), 'generated ' || nullif(attgenerated::text, ''),
    'default ' || pg_get_expr(adbin, adrelid), 'statistics ' || nullif(attstattarget, -1), 'storage ' || nullif(attstorage::text, typstorage::text),
    'compression ' || nullif(attcompression::text, ''), (SELECT o FROM unnest(attoptions) o WHERE o LIKE 'n_distinct=%'),
    'privileges ' || (SELECT string_agg(privilege_type || ' ' || grantee::regrole, ', ' ORDER BY grantee::regrole::text, privilege_type) FROM aclexplode(attacl)),
    'comment ' || col_description(attrelid, attnum))
  FROM pg_attribute JOIN pg_type t ON t.oid = atttypid LEFT JOIN pg_attrdef d ON adrelid = attrelid AND adnum = attnum
  WHERE attrelid = rel AND attnum > 0 AND NOT attisdropped ORDER BY attnum)
  UNION ALL
  (SELECT 'index', concat_ws(' ', pg_get_indexdef(indexrelid), CASE WHEN indisclustered THEN 'clustered' END, CASE WHEN indisreplident THEN 'replica identity' END,
    'statistics ' || (SELECT max(nullif(attstattarget, -1)) FROM pg_attribute WHERE attrelid = indexrelid), 'comment ' || obj_description(indexrelid, 'pg_class'))
  FROM pg_index WHERE indrelid = rel ORDER BY indexrelid::regclass::text COLLATE "C")
  UNION ALL
  (SELECT 'constraint', concat_ws(' ', conname, pg_get_constraintdef(oid), 'comment ' || obj_description(oid, 'pg_constraint'))
  FROM pg_constraint WHERE conrelid = rel AND contype IN ('p', 'u', 'x', 'f', 'c') ORDER BY conname)
  UNION ALL
  (SELECT 'referenced by', concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid), 'comment ' || obj_description(oid, 'pg_constraint'))
  FROM pg_constraint WHERE confrelid = rel AND contype = 'f' ORDER BY conrelid::regclass::text COLLATE "C", conname)
  UNION ALL
  (SELECT 'statistics', concat_ws(' ', pg_get_statisticsobjdef(oid), nullif(stxstattarget, -1), pg_get_userbyid(stxowner), obj_description(oid, 'pg_statistic_ext'))
  FROM pg_statistic_ext WHERE stxrelid = rel ORDER BY stxname)
  UNION ALL
  (SELECT 'sequence', concat_ws(' ', objid::regclass, deptype, attname, pg_sequence_last_value(objid), 'owner ' || pg_get_userbyid(c.relowner), 'comment ' || obj_description(objid, 'pg_class'))
  FROM pg_depend JOIN pg_sequence ON seqrelid = objid JOIN pg_class c ON c.oid = objid JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
  WHERE refobjid = rel AND deptype IN ('a', 'i') ORDER BY attnum)
  UNION ALL
  (SELECT 'trigger', concat_ws(' ', pg_get_triggerdef(oid), obj_description(oid, 'pg_trigger')) FROM pg_trigger WHERE tgrelid = rel AND NOT tgisinternal ORDER BY tgname)
  UNION ALL
  (SELECT 'publication', pubname FROM pg_publication p JOIN pg_publication_rel ON prpubid = p.oid WHERE prrelid = rel ORDER BY pubname)
$$;

-- Create a table with everything that a split table can have.
CREATE FUNCTION public.noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
SET ROLE regress_vp_owner;
CREATE TABLE parent (id int PRIMARY KEY, x text UNIQUE);
INSERT INTO parent SELECT i, 'x' || i FROM generate_series(1, 10) i;
CREATE TABLE t (
  gone int,
  a serial,
  note text COLLATE "POSIX" DEFAULT 'O''Brien\',
  b int NOT NULL DEFAULT 7 CHECK (b > 0),
  "Q ""x""" varchar(30) DEFAULT 'q',
  k text,
  parent_id int REFERENCES parent ON DELETE SET NULL,
  parent_x text CONSTRAINT "fk x" REFERENCES parent (x) DEFERRABLE INITIALLY DEFERRED,
  c numeric(10, 2) DEFAULT 1.5,
  doubled numeric GENERATED ALWAYS AS (c * 2) STORED,
  n int GENERATED BY DEFAULT AS IDENTITY (START 100 INCREMENT 5),
  d date DEFAULT '2001-02-03',
  f float8 DEFAULT 0.1 + 0.2,
  up int,
  CONSTRAINT t_k UNIQUE (k) INCLUDE (b),
  CONSTRAINT t_q UNIQUE (a, "Q ""x""") DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT t_id PRIMARY KEY (a) WITH (fillfactor = 80),
  CONSTRAINT t_up FOREIGN KEY (up) REFERENCES t (a),
  CONSTRAINT t_c CHECK (c > 0) NO INHERIT,
  CONSTRAINT "t ON x" CHECK (note <> ' FROM s.t ON s.t USING '),
  EXCLUDE USING btree (d WITH =) WHERE (d < '2000-01-01')
) WITH (fillfactor = 75, autovacuum_vacuum_threshold = 77, toast.autovacuum_enabled = off);
ALTER TABLE t DROP gone;
ALTER TABLE t ADD CONSTRAINT t_later CHECK (b < 1000) NOT VALID;
CREATE INDEX t_b ON t (b DESC NULLS LAST) WHERE b % 2 = 0;
CREATE INDEX t_expr ON t ((b + n), lower(k) text_pattern_ops) WITH (fillfactor = 60);
ALTER INDEX t_expr ALTER COLUMN 1 SET STATISTICS 33;
CREATE INDEX "t ON s.t USING" ON t USING hash (note);
CREATE UNIQUE INDEX t_uc ON t (a, c) NULLS NOT DISTINCT;
CREATE STATISTICS t_stat (ndistinct, mcv) ON b, k FROM t;
CREATE STATISTICS "t_stat FROM" ON (c * 3), d FROM t;
ALTER STATISTICS t_stat SET STATISTICS 44;
ALTER TABLE t ALTER note SET STORAGE EXTERNAL, ALTER k SET STATISTICS 55, ALTER c SET (n_distinct = 9), ALTER "Q ""x""" SET COMPRESSION pglz;
ALTER TABLE t CLUSTER ON t_id;
CREATE UNIQUE INDEX t_ident ON t (b, n);
ALTER TABLE t ALTER n SET NOT NULL, REPLICA IDENTITY USING INDEX t_ident;
COMMENT ON TABLE t IS 'the ''table''';
COMMENT ON COLUMN t.note IS 'a note';
COMMENT ON COLUMN t.b IS 'be';
COMMENT ON INDEX t_b IS 'an index';
COMMENT ON CONSTRAINT t_id ON t IS 'the key';
COMMENT ON CONSTRAINT "fk x" ON t IS 'out';
COMMENT ON CONSTRAINT t_c ON t IS 'a check';
COMMENT ON STATISTICS t_stat IS 'statistics';
COMMENT ON SEQUENCE t_n_seq IS 'numbers';
GRANT SELECT, INSERT ON t TO regress_vp_alice WITH GRANT OPTION;
GRANT SELECT (a, note), UPDATE (b) ON t TO regress_vp_bob;
GRANT DELETE ON t TO PUBLIC;
GRANT USAGE ON SCHEMA s TO regress_vp_alice;
GRANT SELECT ON SEQUENCE t_n_seq TO regress_vp_bob;
CREATE TRIGGER before_all BEFORE INSERT OR UPDATE OF b OR DELETE ON t FOR EACH STATEMENT EXECUTE FUNCTION public.noted('x y');
COMMENT ON TRIGGER before_all ON t IS 'statements';
CREATE TABLE child (id int PRIMARY KEY, t_a int CONSTRAINT c_fk REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE DEFERRABLE, t_k text REFERENCES t (k));
COMMENT ON CONSTRAINT c_fk ON child IS 'in';
INSERT INTO t (note, b, "Q ""x""", k, parent_id, parent_x, c, up, d)
  SELECT CASE WHEN i % 3 > 0 THEN repeat('note ' || i, i) END, i, 'q' || i, 'k' || i, i % 10 + 1, 'x' || i % 10 + 1, i, nullif(i - 1, 0), '2020-01-01'::date + i
  FROM generate_series(1, 200) i;
INSERT INTO child SELECT i, i, 'k' || i FROM generate_series(1, 20) i;
RESET ROLE;
SET client_min_messages = error;  -- of wal_level
CREATE PUBLICATION regress_vp_pub FOR TABLE s.t;
SET client_min_messages = warning;
ALTER DEFAULT PRIVILEGES FOR ROLE regress_vp_owner GRANT ALL ON TABLES TO regress_vp_bob;
ALTER DEFAULT PRIVILEGES FOR ROLE regress_vp_owner GRANT ALL ON SEQUENCES TO regress_vp_bob;

CREATE TABLE public.contents AS TABLE s.t;
CREATE TABLE public.before AS SELECT row_number() OVER () AS n, * FROM public.describe('s.t');
SELECT kind, definition FROM public.before ORDER BY n;

-- Change settings of the session, which must not have any effect.
SET quote_all_identifiers = on;
SET extra_float_digits = -10;
SET datestyle = 'SQL, DMY';
SET default_tablespace = 'pg_default';
\set cold '\'{note,"Q \\"x\\"",c,doubled,d}\''
SELECT vertical_partition.split('s.t', :cold);
RESET default_tablespace;
RESET datestyle;
RESET extra_float_digits;
RESET quote_all_identifiers;
-- Show the view and the parts.
SELECT * FROM public.describe('s.t');
SELECT * FROM public.describe('s.t_hot');
SELECT * FROM public.describe('s.t_cold');
SELECT relation, hot, cold, method, key_columns, columns, hot_bytes > 0, cold_bytes > 0, pointers_valid FROM vertical_partition.status;
SELECT * FROM vertical_partition_internal.layout('s.t');
SELECT * FROM vertical_partition_internal.layout('s.t_hot');
(TABLE public.contents EXCEPT TABLE s.t) UNION ALL (TABLE s.t EXCEPT TABLE public.contents);

-- merge() restores everything as it was.
SELECT vertical_partition.merge('s.t');
(TABLE public.contents EXCEPT TABLE s.t) UNION ALL (TABLE s.t EXCEPT TABLE public.contents);
CREATE FUNCTION public.differences() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT '- ' || definition FROM (SELECT kind, definition FROM public.before EXCEPT SELECT * FROM public.describe('s.t')) x
  UNION ALL SELECT '+ ' || definition FROM (SELECT * FROM public.describe('s.t') EXCEPT SELECT kind, definition FROM public.before) x
$$;
SELECT * FROM public.differences();
SELECT relname FROM pg_class WHERE relnamespace = 's'::regnamespace AND relkind IN ('r', 'v', 'S') ORDER BY relname COLLATE "C";
TABLE vertical_partition_internal.row_pointers;

-- Test the other methods.  One cannot have constraints on key and cold columns together, and the
-- other cannot be in a publication.
ALTER TABLE t DROP CONSTRAINT t_q;
DROP INDEX t_uc;
DROP TABLE public.before;
CREATE TABLE public.before AS SELECT row_number() OVER () AS n, * FROM public.describe('s.t');
SELECT vertical_partition.split('s.t', :cold, 'surrogate_key');
SELECT * FROM public.describe('s.t_hot') WHERE kind IN ('column', 'trigger');
SELECT * FROM public.describe('s.t_cold') WHERE kind IN ('column', 'index', 'constraint', 'trigger');
SELECT regexp_replace(pg_get_viewdef('s.t'), '\s+', ' ', 'g');
SELECT relation, hot, cold, method, key_columns, columns, pointers_valid FROM vertical_partition.status;
(TABLE public.contents EXCEPT TABLE s.t) UNION ALL (TABLE s.t EXCEPT TABLE public.contents);
SELECT vertical_partition.merge('s.t');
(TABLE public.contents EXCEPT TABLE s.t) UNION ALL (TABLE s.t EXCEPT TABLE public.contents);
SELECT * FROM public.differences();
DROP PUBLICATION regress_vp_pub;
DELETE FROM public.before WHERE kind = 'publication';
SELECT vertical_partition.split('s.t', :cold, 'row_pointer');
SELECT * FROM public.describe('s.t_hot') WHERE kind IN ('column', 'trigger');
SELECT * FROM public.describe('s.t_cold') WHERE kind IN ('column', 'index', 'constraint', 'trigger');
SELECT regexp_replace(pg_get_viewdef('s.t'), '\s+', ' ', 'g');
SELECT relation, hot, cold, method, key_columns, columns, pointers_valid FROM vertical_partition.status;
(TABLE public.contents EXCEPT TABLE s.t) UNION ALL (TABLE s.t EXCEPT TABLE public.contents);
SELECT count(*) FROM vertical_partition_internal.row_pointers;
SELECT vertical_partition.merge('s.t');
(TABLE public.contents EXCEPT TABLE s.t) UNION ALL (TABLE s.t EXCEPT TABLE public.contents);
SELECT * FROM public.differences();
TABLE vertical_partition_internal.row_pointers;

-- Show the notices about progress.
SET client_min_messages = notice;
CREATE TABLE small (id int PRIMARY KEY, a int UNIQUE, b text);
INSERT INTO small SELECT i, i, repeat('x', 100) FROM generate_series(1, 10) i;
SELECT vertical_partition.split('small', '{b}');
SELECT vertical_partition.merge('small');
DROP TABLE small;
SET client_min_messages = warning;

-- Only the owner has privileges on the parts.
SET ROLE regress_vp_owner;
SELECT vertical_partition.split('t', :cold, 'surrogate_key');
SELECT has_table_privilege('regress_vp_bob', c.oid, 'SELECT, INSERT, UPDATE, DELETE') AS bob, c.oid::regclass
FROM pg_class c WHERE relname IN ('t', 't_hot', 't_cold') ORDER BY relname;
SELECT has_sequence_privilege('regress_vp_bob', pg_get_serial_sequence('t_cold', 'cold_id'), 'USAGE') AS bob;
SET ROLE regress_vp_alice;
SELECT count(note) FROM s.t;
SELECT count(*) FROM s.t_hot;
INSERT INTO s.t (a, note, b, n) VALUES (1000, 'alice''s', 1, DEFAULT) RETURNING a, note, b, "Q ""x""", c, doubled, d, n;
RESET ROLE;
SELECT vertical_partition.merge('t');
DROP TABLE t, child, parent;

-- Test names with any characters.
CREATE TABLE "t; DROP"."%s \ ""$$'; --"  (
  "%I \ ""$$'; --" text COLLATE "POSIX", "%1$s" int DEFAULT '1', "h" int CHECK ("h" > 0), "c" text DEFAULT 'c', cold_id int, cold_tid text,
  PRIMARY KEY ("%1$s", "%I \ ""$$'; --"));
CREATE INDEX "%s' \" ON "t; DROP"."%s \ ""$$'; --" (c, "%I \ ""$$'; --") WHERE c <> '%I \ "$$''; --';
COMMENT ON COLUMN "t; DROP"."%s \ ""$$'; --".c IS '%I \ "$$''; --';
INSERT INTO "t; DROP"."%s \ ""$$'; --" VALUES ('%s', 1, 1, 'cold', 2, 'tid'), ('', 1, 2, '', 3, NULL);
SET search_path = "t; DROP";
SELECT vertical_partition.split('"%s \ ""$$''; --"', '{c}', 'shared_key');
SELECT * FROM "%s \ ""$$'; --" ORDER BY cold_id;
SELECT vertical_partition.merge('"%s \ ""$$''; --"');
SELECT vertical_partition.split('"%s \ ""$$''; --"', '{c}', 'row_pointer');
SELECT * FROM "%s \ ""$$'; --" ORDER BY cold_id;
SELECT link_column FROM vertical_partition_internal.layout('"%s \ ""$$''; --"');
SELECT vertical_partition.merge('"%s \ ""$$''; --"');
DROP INDEX "%s' \";
SELECT vertical_partition.split('"%s \ ""$$''; --"', '{c}', 'surrogate_key');
SELECT * FROM "%s \ ""$$'; --" ORDER BY cold_id;
SELECT link_column FROM vertical_partition_internal.layout('"%s \ ""$$''; --"');
SELECT vertical_partition.merge('"%s \ ""$$''; --"');
SELECT * FROM public.describe('"%s \ ""$$''; --"');

-- Long names are truncated between characters.
CREATE TABLE aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa (id int PRIMARY KEY, a int, b text);
CREATE TABLE aäöüäöüäöüäöüäöüäöüäöüäöüäöüäöü (id int PRIMARY KEY, a int, b text);
SELECT vertical_partition.split(c.oid, '{b}', 'surrogate_key')
FROM pg_class c WHERE relname LIKE 'a_____________%' AND relkind = 'r' AND relnamespace = '"t; DROP"'::regnamespace ORDER BY relname;
SELECT hot, cold, pg_get_serial_sequence(cold::text, 'cold_id') FROM vertical_partition.status ORDER BY hot::text COLLATE "C";
SELECT vertical_partition.merge(relation) FROM vertical_partition.status ORDER BY relation::text COLLATE "C";
SET search_path = s;

-- Test keys of several columns, whose types have their own equality operators.
CREATE DOMAIN code AS char(4) CHECK (value <> 'none');
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE UNLOGGED TABLE keys (cold int[], m mood, hot int, a int[], c code, v varchar(10) COLLATE "POSIX", r int4range, b boolean,
  PRIMARY KEY (v, c, m, a, r) INCLUDE (hot));
INSERT INTO keys SELECT ARRAY[i], 'happy', i, ARRAY[i], 'x', 'V' || i, int4range(i, i + 1) FROM generate_series(1, 50) i;
CREATE TABLE contents AS TABLE keys;
CREATE FUNCTION same() RETURNS TABLE (keys name[], same bigint, relations text) LANGUAGE sql AS $$
  SELECT (SELECT key_columns FROM vertical_partition.status),
    (SELECT count(*) FROM (SELECT cold, m, hot, a, c, v, r, b FROM keys INTERSECT TABLE contents) x),
    (SELECT string_agg(relname || ' ' || relpersistence::text, ', ' ORDER BY relname) FROM pg_class WHERE relname ~ '^keys_' AND relkind IN ('r', 'S'))
$$;
SELECT vertical_partition.split('keys', '{b,cold}');
SELECT * FROM same();
SELECT vertical_partition.merge('keys');
SELECT vertical_partition.split('keys', '{b,cold}', 'surrogate_key');
SELECT * FROM same();
SELECT vertical_partition.merge('keys');
SELECT vertical_partition.split('keys', '{b,cold}', 'row_pointer');
SELECT * FROM same();
SELECT regexp_replace(pg_get_viewdef('s.keys'), '\s+', ' ', 'g');
SELECT vertical_partition.merge('keys');
SELECT * FROM same();
SELECT * FROM public.describe('keys');
SELECT vertical_partition.split('keys', '{b,cold}', 'row_pointer');
DROP FUNCTION same;
DROP TABLE contents;

-- Test tablespaces.
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_vp_space LOCATION '';
CREATE TABLE placed (id int PRIMARY KEY USING INDEX TABLESPACE regress_vp_space, a int, b text UNIQUE USING INDEX TABLESPACE regress_vp_space, c text)
  TABLESPACE regress_vp_space;
CREATE INDEX placed_a ON placed (a);
CREATE INDEX placed_c ON placed (c) TABLESPACE regress_vp_space WHERE c > '';
SET default_tablespace = regress_vp_space;
SELECT vertical_partition.split('placed', '{b,c}');
SELECT relname, spcname FROM pg_class c LEFT JOIN pg_tablespace t ON t.oid = reltablespace WHERE relname ~ '^placed' ORDER BY relname;
SELECT vertical_partition.merge('placed');
RESET default_tablespace;
SELECT relname, spcname FROM pg_class c LEFT JOIN pg_tablespace t ON t.oid = reltablespace WHERE relname ~ '^placed' ORDER BY relname;
DROP TABLE placed;
DROP TABLESPACE regress_vp_space;

-- Test foreign keys of cold columns, in both directions, and from the table to itself.
CREATE TABLE refd (id int PRIMARY KEY);
INSERT INTO refd VALUES (1), (2);
CREATE TABLE r (id int PRIMARY KEY, h int, c int REFERENCES refd, u text UNIQUE, self int REFERENCES r, self_u text REFERENCES r (u));
INSERT INTO r VALUES (1, 1, 1, 'u1', NULL, NULL), (2, 1, 1, 'u2', 1, 'u1'), (3, 1, NULL, 'u3', 3, 'u3');
CREATE TABLE refs (u text CONSTRAINT ru REFERENCES r (u), id int CONSTRAINT ri REFERENCES r);
INSERT INTO refs VALUES ('u2', 2);
CREATE TABLE parts (id int REFERENCES r, n int) PARTITION BY RANGE (n);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
INSERT INTO parts VALUES (1, 1);
SELECT vertical_partition.split('r', '{c,u,self,self_u}');
SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype = 'f' AND conparentid = 0 AND connamespace = 's'::regnamespace ORDER BY conrelid::regclass::text, conname;
DELETE FROM refd WHERE id = 1;
INSERT INTO refs VALUES ('none', 1);
INSERT INTO refs VALUES ('u1', 7);
INSERT INTO parts VALUES (7, 1);
SELECT conname FROM pg_constraint WHERE conrelid = 'parts_1'::regclass;
DELETE FROM r WHERE id = 2;
SELECT vertical_partition.merge('r');
SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype = 'f' AND conparentid = 0 AND connamespace = 's'::regnamespace ORDER BY conrelid::regclass::text, conname;
INSERT INTO refs VALUES ('none', 1);
DROP TABLE refs, parts, r, refd;

-- Test foreign keys that delete and change rows of the hot part.
CREATE TABLE master (id int PRIMARY KEY);
INSERT INTO master SELECT generate_series(1, 4);
CREATE TABLE detail (master int REFERENCES master ON DELETE CASCADE, line int,
  other int DEFAULT 4 REFERENCES master ON DELETE SET NULL ON UPDATE CASCADE, note text,
  PRIMARY KEY (master, line));
INSERT INTO detail SELECT i % 2 + 1, i, 3, 'note ' || i FROM generate_series(1, 6) i;
SELECT vertical_partition.split('detail', '{note}', 'row_pointer');
SELECT * FROM public.describe('detail_hot') WHERE kind = 'trigger';
DELETE FROM master WHERE id = 1;
UPDATE master SET id = 33 WHERE id = 3;
SELECT * FROM detail ORDER BY line;
DELETE FROM master WHERE id = 33;
SELECT * FROM detail ORDER BY line;
SELECT count(*) FROM detail_cold;
SELECT vertical_partition.merge('detail');
SELECT * FROM detail ORDER BY line;
SELECT * FROM public.describe('detail') WHERE kind IN ('trigger', 'constraint');
DROP TABLE detail, master;

-- Test an empty table.
CREATE TABLE empty (id serial PRIMARY KEY, a int, b text);
SELECT vertical_partition.split('empty', '{b}', 'surrogate_key');
INSERT INTO empty (a, b) VALUES (1, 'one') RETURNING *;
INSERT INTO empty (a, b) VALUES (2, 'two') RETURNING *;
SELECT vertical_partition.merge('empty');
INSERT INTO empty (a, b) VALUES (3, 'three') RETURNING *;
SELECT vertical_partition.split('empty', '{b}', 'surrogate_key');
INSERT INTO empty (a, b) VALUES (4, 'four') RETURNING *;
SELECT max(cold_id) = currval(pg_get_serial_sequence('empty_cold', 'cold_id')) FROM empty_cold;

-- The parts and the extension cannot be dropped while the view exists.
DROP TABLE empty_hot;
DROP TABLE empty_cold;
DROP EXTENSION vertical_partition;
DROP EXTENSION vertical_partition CASCADE;
DROP EXTENSION IF EXISTS no_such_extension, vertical_partition CASCADE;
DROP SCHEMA vertical_partition CASCADE;
DROP SCHEMA vertical_partition_internal CASCADE;
SELECT vertical_partition_internal.guard_drop();
BEGIN;
CREATE SCHEMA regress_other;
CREATE TABLE regress_other.t (id int);
DROP SCHEMA regress_other CASCADE;
SET LOCAL client_min_messages = warning;
SET LOCAL vertical_partition.guard_drop = off;
DROP EXTENSION vertical_partition CASCADE;
SELECT count(*) FROM empty_hot;
ROLLBACK;
DROP VIEW empty;
DROP TABLE empty_hot, empty_cold;
DROP VIEW keys;
DROP TABLE keys_hot, keys_cold;
DROP EXTENSION vertical_partition;
SELECT nspname FROM pg_namespace WHERE nspname LIKE 'vertical_partition%';
CREATE EXTENSION vertical_partition;

\c :database
DROP DATABASE regress_vertical_partition_split;
DROP ROLE regress_vp_owner, regress_vp_alice, regress_vp_bob;
