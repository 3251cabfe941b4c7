--
-- Test the context of errors and messages: it has the lines of the user's own functions, but none of
-- the extension's.
--
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = ''vertical_partition''', current_database()); END $$;
\c
\set SHOW_CONTEXT always
CREATE EXTENSION IF NOT EXISTS vertical_partition;
CREATE SCHEMA vp_context;
SET search_path = vp_context;

-- Messages of a split, and refusals
CREATE TABLE t (id int PRIMARY KEY, n int, c text);
INSERT INTO t SELECT i, i, 'c' || i FROM generate_series(1, 3) i;
SELECT vertical_partition.split('t', '{missing}');
SELECT vertical_partition.split(relation => 't', columns => NULL);
SELECT vertical_partition.split('t', '{c}', 'row_pointer');
SELECT vertical_partition.split('t', '{c}');
SELECT vertical_partition.merge('t_hot');
SELECT vertical_partition.relink(0);
SELECT vertical_partition.advise(0);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT vertical_partition.merge('t');
ROLLBACK;

-- DDL
CREATE VIEW v AS SELECT c FROM t;
ALTER TABLE t DROP COLUMN c;
ALTER TABLE t DROP COLUMN n;
DROP TABLE t;
BEGIN READ ONLY;
ALTER TABLE t ADD x int;
ROLLBACK;
DROP VIEW v;
SELECT vertical_partition.merge('t');
SELECT vertical_partition.split('t', '{c}');
ALTER TABLE t ALTER id TYPE bigint USING id / 2;
SELECT vertical_partition.merge('t');

-- The user's functions below ours.  A setting says what the function of a constraint does.
CREATE FUNCTION fails(x int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    IF x = 2 THEN
        RAISE 'failed' USING ERRCODE = 'check_violation', DETAIL = 'the detail', HINT = 'the hint', SCHEMA = 's', TABLE = 't', COLUMN = 'c',
            CONSTRAINT = 'k', DATATYPE = 'd';
    END IF;
    RETURN true;
END $$;
CREATE FUNCTION does(x int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    CASE current_setting('vp_context.mode')
        WHEN 'fails' THEN
            RETURN (SELECT vp_context.fails(x));
        WHEN 'catches' THEN
            BEGIN
                RETURN vp_context.fails(x);
            EXCEPTION WHEN check_violation THEN
                RETURN true;
            END;
        WHEN 'nests' THEN
            BEGIN
                PERFORM vertical_partition.advise(0);
            EXCEPTION WHEN undefined_table THEN
                RETURN vp_context.fails(x);
            END;
        WHEN 'nests and fails' THEN
            PERFORM vertical_partition.advise(0);
        WHEN 'runs nothing' THEN
            BEGIN
                PERFORM vertical_partition_internal.point_rows('vp_context.pointing', 'p', '');
            EXCEPTION WHEN OTHERS THEN
                RETURN vp_context.fails(x);
            END;
        WHEN 'sleeps' THEN
            PERFORM pg_sleep(3);
        ELSE
            RETURN true;
    END CASE;
END $$;
SET vp_context.mode = 'nothing';
ALTER TABLE t ADD CONSTRAINT calling CHECK (does(n));
SET vp_context.mode = 'fails';
SELECT vertical_partition.split('t', '{c}');
SET vp_context.mode = 'nests';
SELECT vertical_partition.split('t', '{c}');
SET vp_context.mode = 'nests and fails';
SELECT vertical_partition.split('t', '{c}');
-- The user's function runs an empty statement by a function of ours.
CREATE TABLE pointing (p tid);
SET vp_context.mode = 'runs nothing';
SELECT vertical_partition.split('t', '{c}');
SET vp_context.mode = 'sleeps';
SET statement_timeout = '1s';
SELECT vertical_partition.split('t', '{c}');
RESET statement_timeout;
-- After an error that the user's function catches, an error of ours has no line of it.
SET vp_context.mode = 'catches';
CREATE TABLE other (id int REFERENCES t);
CREATE FUNCTION refuses() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not in working hours'; END $$;
CREATE EVENT TRIGGER refuses ON ddl_command_start WHEN TAG IN ('CREATE VIEW') EXECUTE FUNCTION refuses();
SELECT vertical_partition.split('t', '{c}');
DROP EVENT TRIGGER refuses;
-- The user's functions above ours
CREATE FUNCTION splits(relation regclass) RETURNS regclass LANGUAGE plpgsql AS $$
BEGIN
    RETURN vertical_partition.split(relation, '{c}');
END $$;
SET vp_context.mode = 'fails';
SELECT splits('t');
DO $$
DECLARE
    a text; b text; c text; d text; e text; f text; g text; h text; i text; j text;
BEGIN
    PERFORM vp_context.splits('t');
EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS a = RETURNED_SQLSTATE, b = MESSAGE_TEXT, c = PG_EXCEPTION_DETAIL, d = PG_EXCEPTION_HINT,
        e = SCHEMA_NAME, f = TABLE_NAME, g = COLUMN_NAME, h = CONSTRAINT_NAME, i = PG_DATATYPE_NAME, j = PG_EXCEPTION_CONTEXT;
    RAISE NOTICE '%', concat_ws(E'\n', a, b, c, d, e, f, g, h, i, j);
END $$;
SELECT splits(NULL);
SET vp_context.mode = 'nothing';
SELECT splits('t');
SELECT splits('t');
-- A statement of ours that fails without a function of the user
SELECT vertical_partition.merge('t');
SET vp_context.least = 0;
ALTER TABLE t ADD CONSTRAINT least CHECK (n > current_setting('vp_context.least')::int);
SET vp_context.least = 2;
SELECT vertical_partition.split('t', '{c}');
SET vp_context.least = 0;
SELECT vertical_partition.split('t', '{c}');
-- DDL whose statements of ours call the user's functions
CREATE EVENT TRIGGER refuses ON ddl_command_start WHEN TAG IN ('CREATE VIEW') EXECUTE FUNCTION refuses();
ALTER TABLE t ADD y int;
ALTER TABLE t DROP COLUMN y;
DROP EVENT TRIGGER refuses;
-- relink() after a command that has moved the cold rows
SET vp_context.mode = 'nothing';
CREATE TABLE moved (id int PRIMARY KEY, n int, c text);
INSERT INTO moved SELECT i, i, 'c' || i FROM generate_series(1, 3) i;
SELECT vertical_partition.split('moved', '{c}', 'row_pointer');
DELETE FROM moved WHERE id = 1;
CREATE INDEX ON moved_hot (does(n), cold_tid);
SET vp_context.mode = 'fails';
ALTER TABLE moved_cold SET UNLOGGED;
ALTER TABLE moved ALTER c TYPE varchar(5);
BEGIN ISOLATION LEVEL SERIALIZABLE;
ALTER TABLE moved_cold SET UNLOGGED;
ROLLBACK;
CREATE ROLE regress_vp_context;
GRANT ALL ON SCHEMA vp_context TO regress_vp_context;
ALTER TABLE t OWNER TO regress_vp_context;
BEGIN;
REVOKE USAGE ON SCHEMA vertical_partition_internal FROM PUBLIC;
SET ROLE regress_vp_context;
SELECT vertical_partition.split('t', '{c}');
ROLLBACK;

SET client_min_messages = warning;
DROP SCHEMA vp_context CASCADE;
DROP ROLE regress_vp_context;
