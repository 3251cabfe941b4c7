-- List the objects that the extension offers to users, and check that each one has a comment.
\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/surface.sql'
\set extensions vertical_partition
\i :file

-- A role that may not use the internal schema can use split tables, but cannot split or alter
-- tables.
CREATE ROLE regress_vp_reader;
CREATE SCHEMA regress_vp_own AUTHORIZATION regress_vp_reader;
SET ROLE regress_vp_reader;
CREATE TABLE regress_vp_own.t (id int PRIMARY KEY, n int, c text);
CREATE TABLE regress_vp_own.u (id int PRIMARY KEY, n int, c text);
INSERT INTO regress_vp_own.t SELECT i, i, 'c' || i FROM generate_series(1, 3) i;
SET client_min_messages = warning;
SELECT vertical_partition.split('regress_vp_own.t', '{c}', 'row_pointer', force => true);
RESET ROLE;
\set VERBOSITY sqlstate
BEGIN;
REVOKE USAGE ON SCHEMA vertical_partition_internal FROM PUBLIC;
SET ROLE regress_vp_reader;
SELECT * FROM regress_vp_own.t ORDER BY id;
UPDATE regress_vp_own.t SET n = 0, c = c || '!' WHERE id = 1;
DELETE FROM regress_vp_own.t WHERE id = 2;
INSERT INTO regress_vp_own.t VALUES (4, 4, 'c4') RETURNING *;
SELECT * FROM regress_vp_own.t ORDER BY id FOR UPDATE;
SELECT relation, columns, pointers_valid FROM vertical_partition.status WHERE relation = 'regress_vp_own.t'::regclass;
SAVEPOINT s;
SELECT vertical_partition.split('regress_vp_own.u', '{c}', force => true);
ROLLBACK TO s;
SELECT vertical_partition.merge('regress_vp_own.t');
ROLLBACK TO s;
ALTER TABLE regress_vp_own.t ADD d int;
ROLLBACK TO s;
DROP TABLE regress_vp_own.t;
ROLLBACK;
-- A REVOKE of the EXECUTE privilege on a function for users is effective: the role cannot call the
-- internal function of the same name either.  A split table works on, and so do DDL and what calls
-- these functions for other functions.
BEGIN;
REVOKE EXECUTE ON FUNCTION vertical_partition.split, vertical_partition.merge, vertical_partition.relink, vertical_partition.advise,
    vertical_partition.forget_row_pointers FROM PUBLIC;
CREATE TABLE regress_vp_own.unreadable (id int PRIMARY KEY, n int, c text);
SET ROLE regress_vp_reader;
SAVEPOINT s;
SELECT vertical_partition.split('regress_vp_own.u', '{c}', force => true);
ROLLBACK TO s;
SELECT vertical_partition_internal.split('regress_vp_own.u', '{c}', 'shared_key', true);
ROLLBACK TO s;
SELECT vertical_partition_internal.merge('regress_vp_own.t');
ROLLBACK TO s;
SELECT vertical_partition_internal.relink('regress_vp_own.t');
ROLLBACK TO s;
SELECT vertical_partition_internal.advise('regress_vp_own.t', 0, 0);
ROLLBACK TO s;
SELECT vertical_partition_internal.advise_one('regress_vp_own.unreadable', true);
ROLLBACK TO s;
SELECT reason IS NOT NULL AS advised FROM vertical_partition_internal.advise_one('regress_vp_own.t', true);
ALTER TABLE regress_vp_own.t ADD d int;
ALTER TABLE regress_vp_own.t ALTER c TYPE varchar(5);
SELECT pointers_valid FROM vertical_partition.status WHERE relation = 'regress_vp_own.t'::regclass;
ALTER TABLE regress_vp_own.t_cold SET UNLOGGED;
SELECT pointers_valid FROM vertical_partition.status WHERE relation = 'regress_vp_own.t'::regclass;
SELECT * FROM regress_vp_own.t ORDER BY id FOR UPDATE;
DROP TABLE regress_vp_own.t;
ROLLBACK;
BEGIN;
REVOKE EXECUTE ON FUNCTION vertical_partition.forget_row_pointers, vertical_partition.declare_key FROM PUBLIC;
SET ROLE regress_vp_reader;
SELECT vertical_partition.merge('regress_vp_own.t');
ALTER TABLE regress_vp_own.u ADD d int;
SET vertical_partition.declare_keys = on;
SELECT vertical_partition.split('regress_vp_own.u', '{c}', force => true);
RESET vertical_partition.declare_keys;
SELECT conname FROM pg_constraint WHERE conrelid = 'regress_vp_own.u'::regclass AND contype = 'p';
ALTER TABLE regress_vp_own.u DROP COLUMN d;
SELECT conname FROM pg_constraint WHERE conrelid = 'regress_vp_own.u'::regclass AND contype = 'p';
ROLLBACK;
DROP SCHEMA regress_vp_own CASCADE;
DROP ROLE regress_vp_reader;
