--
-- Test DDL on the name of a split table that must be refused, or that could be misused.
--
\set VERBOSITY terse
\set SHOW_CONTEXT always
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS vertical_partition;
LOAD 'vertical_partition';
CREATE ROLE regress_alter_a;
CREATE ROLE regress_alter_b;
CREATE SCHEMA alter_a AUTHORIZATION regress_alter_a;
CREATE SCHEMA alter_b AUTHORIZATION regress_alter_b;

SET ROLE regress_alter_a;
CREATE TABLE alter_a.t (id int PRIMARY KEY, x int, big text);
INSERT INTO alter_a.t VALUES (1, 2, 'three');
SELECT vertical_partition.split('alter_a.t', '{big}', force => true);

-- In subqueries and whole rows, there are no column names to look up.
CREATE INDEX ON alter_a.t (((SELECT * FROM (VALUES (1)) v)));
CREATE STATISTICS alter_a.s ON x, ((SELECT count(*) FROM (SELECT * FROM pg_class) c)) FROM alter_a.t;
CREATE INDEX ON alter_a.t ((t.*::text));
CREATE INDEX ON alter_a.t ((t::text));
CREATE INDEX ON alter_a.t (nothing);
ALTER TABLE alter_a.t ADD CHECK ((SELECT true));

-- Names in the modifiers of a type are not columns.
RESET ROLE;
CREATE TYPE alter_a.word;
CREATE FUNCTION alter_a.word_in(cstring, oid, int) RETURNS alter_a.word LANGUAGE internal IMMUTABLE STRICT AS 'varcharin';
CREATE FUNCTION alter_a.word_out(alter_a.word) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'varcharout';
CREATE FUNCTION alter_a.word_modifier(cstring[]) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT 20';
CREATE TYPE alter_a.word (INPUT = alter_a.word_in, OUTPUT = alter_a.word_out, TYPMOD_IN = alter_a.word_modifier, LIKE = text);
SET ROLE regress_alter_a;
ALTER TABLE alter_a.t ADD w alter_a.word GENERATED ALWAYS AS ('w'::alter_a.word(short)) STORED;
SELECT id, x, w, big FROM alter_a.t;

-- While the parts are altered, changes by the owner's code are refused, or undone with the command.
-- Otherwise the view would read the values of one type as values of another type.
CREATE TABLE alter_a.l_hot (id text PRIMARY KEY, x int);
CREATE TABLE alter_a.l_cold (id text PRIMARY KEY, big text);
INSERT INTO alter_a.l_hot VALUES ('1', 1);
INSERT INTO alter_a.l_cold VALUES ('1', 'b');
CREATE FUNCTION alter_a.tf() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE VIEW alter_a.l AS SELECT h.x, c.big FROM alter_a.l_hot h LEFT JOIN alter_a.l_cold c ON h.id = c.id
    WHERE vertical_partition.linked('shared_key', h.tableoid, c.id);
CREATE TRIGGER vertical_partition_write INSTEAD OF INSERT ON alter_a.l FOR EACH ROW EXECUTE FUNCTION alter_a.tf();
CREATE FUNCTION alter_a.type_cold(int) RETURNS bigint LANGUAGE plpgsql
AS $$ BEGIN ALTER TABLE alter_a.l_cold ALTER id TYPE bigint USING 4242424242; RETURN $1; END $$;
CREATE FUNCTION alter_a.type_hot(text) RETURNS varchar LANGUAGE plpgsql
AS $$ BEGIN ALTER TABLE alter_a.l_hot ALTER id TYPE bigint USING 4242424243; RETURN $1; END $$;
ALTER TABLE alter_a.l ALTER x TYPE bigint USING alter_a.type_cold(x), ALTER big TYPE varchar USING alter_a.type_hot(big);
CREATE FUNCTION alter_a.other_view(int) RETURNS bigint LANGUAGE plpgsql
AS $$ BEGIN
    CREATE OR REPLACE VIEW alter_a.vertical_partition_l_view AS SELECT h.x, h.id AS big FROM alter_a.l_cold c RIGHT JOIN alter_a.l h ON h.id = c.id
        WHERE vertical_partition.linked('shared_key', h.tableoid, c.id);
    RETURN $1;
END $$;
ALTER TABLE alter_a.l ALTER x TYPE bigint USING alter_a.other_view(x);
CREATE FUNCTION alter_a.other_parts(int) RETURNS bigint LANGUAGE plpgsql
AS $$ BEGIN
    CREATE OR REPLACE VIEW alter_a.vertical_partition_l_view AS SELECT 0 AS x, 'b'::text AS big;
    RETURN $1;
END $$;
ALTER TABLE alter_a.l ALTER x TYPE bigint USING alter_a.other_parts(x);
CREATE FUNCTION alter_a.again(int) RETURNS bigint LANGUAGE plpgsql
AS $$ BEGIN ALTER TABLE alter_a.vertical_partition_l_view ADD COLUMN y int; RETURN $1; END $$;
ALTER TABLE alter_a.l ALTER x TYPE bigint USING alter_a.again(x);
-- Rows and views that this code makes of the view are refused or undone as well.
CREATE FUNCTION alter_a.make_row(bigint) RETURNS text LANGUAGE plpgsql
AS $$ BEGIN
    CREATE TABLE alter_a.rows (v alter_a.vertical_partition_n_view);
    INSERT INTO alter_a.rows VALUES (ROW(1, 123456789012, 'q')::alter_a.vertical_partition_n_view);
    RETURN $1;
END $$;
CREATE FUNCTION alter_a.make_view(bigint) RETURNS text LANGUAGE plpgsql
AS $$ BEGIN CREATE VIEW alter_a.dependent AS SELECT x + 1 AS y FROM alter_a.vertical_partition_n_view; RETURN $1; END $$;
CREATE TABLE alter_a.n (id int PRIMARY KEY, x bigint, big text);
INSERT INTO alter_a.n VALUES (1, 5, 'b');
SELECT vertical_partition.split('alter_a.n', '{big}', force => true);
ALTER TABLE alter_a.n ALTER x TYPE text USING alter_a.make_row(x);
ALTER TABLE alter_a.n ALTER x TYPE text USING alter_a.make_view(x);
-- Constraints and defaults of other tables that use the row type of the view are not those of the
-- view.
CREATE TABLE alter_a.uses (d bigint, CHECK ((ROW(d::int, d, 'b')::alter_a.n).x < 1000));
ALTER TABLE alter_a.n ALTER x TYPE text;
DROP TABLE alter_a.uses;
CREATE TABLE alter_a.uses (d bigint DEFAULT (ROW(1, 2, 'b')::alter_a.n).x + 1);
ALTER TABLE alter_a.n ALTER x TYPE text;
DROP TABLE alter_a.uses;
-- A table is not altered while the session writes to it.
CREATE FUNCTION alter_a.alter_n(text) RETURNS bigint LANGUAGE plpgsql
AS $$ BEGIN EXECUTE 'ALTER TABLE alter_a.n ' || $1; RETURN 424242424242; END $$;
INSERT INTO alter_a.n SELECT g, CASE WHEN g = 3 THEN alter_a.alter_n('ALTER x TYPE text') ELSE 4242424242 END, 3 FROM generate_series(2, 4) g;
INSERT INTO alter_a.n VALUES (5, 5, 'five') RETURNING alter_a.alter_n('ALTER big TYPE varchar');
SELECT * FROM alter_a.n;
-- A table is not altered while the same session alters it, even if another table is altered
-- meanwhile.
CREATE TABLE alter_a.m (id int PRIMARY KEY, x bigint, big text);
SELECT vertical_partition.split('alter_a.m', '{big}', force => true);
CREATE FUNCTION alter_a.alter_both() RETURNS int LANGUAGE plpgsql
AS $$ BEGIN
    ALTER TABLE alter_a.m ALTER x TYPE numeric;
    ALTER TABLE alter_a.vertical_partition_n_view ALTER big TYPE varchar;
    RETURN 1;
END $$;
ALTER TABLE alter_a.n ADD COLUMN y int DEFAULT alter_a.alter_both();
-- The session cannot write to a table while it alters the table.
CREATE FUNCTION alter_a.write_n(text) RETURNS varchar LANGUAGE plpgsql
AS $$ BEGIN INSERT INTO alter_a.vertical_partition_n_view VALUES (9, 4242424242, 'q'); RETURN 'q'; END $$;
ALTER TABLE alter_a.n ALTER x TYPE text, ALTER big TYPE varchar USING alter_a.write_n(big);
CREATE FUNCTION alter_a.delete_hot(text) RETURNS varchar LANGUAGE plpgsql
AS $$ BEGIN DELETE FROM alter_a.d_hot WHERE x = 1; RETURN 'q'; END $$;
CREATE TABLE alter_a.d_hot (id text PRIMARY KEY, x int);
CREATE TABLE alter_a.d_cold (id text, big text);
INSERT INTO alter_a.d_hot VALUES ('1', 1);
INSERT INTO alter_a.d_cold VALUES ('1', '1');
CREATE VIEW alter_a.d AS SELECT h.id, h.x, c.big FROM alter_a.d_hot h LEFT JOIN alter_a.d_cold c ON h.id = c.id
    WHERE vertical_partition.linked('shared_key', h.tableoid, c.id);
CREATE TRIGGER vertical_partition_write INSTEAD OF INSERT ON alter_a.d FOR EACH ROW EXECUTE FUNCTION alter_a.tf();
CREATE TRIGGER vertical_partition_delete AFTER DELETE ON alter_a.d_hot FOR EACH ROW EXECUTE FUNCTION vertical_partition.delete_cold();
ALTER TABLE alter_a.d ALTER id TYPE bigint USING 4242424242 + id::bigint, ALTER big TYPE varchar USING alter_a.delete_hot(big);
DROP VIEW alter_a.d;
DROP TABLE alter_a.d_hot, alter_a.d_cold;
-- One table cannot be both parts.
CREATE TABLE alter_a.one (id text PRIMARY KEY, id2 text, x int);
INSERT INTO alter_a.one VALUES ('1', '1', 1);
CREATE VIEW alter_a.o AS SELECT h.x, c.id, c.id2 FROM alter_a.one h LEFT JOIN alter_a.one c ON h.id = c.id2
    WHERE vertical_partition.linked('shared_key', h.tableoid, c.id);
CREATE TRIGGER vertical_partition_write INSTEAD OF INSERT ON alter_a.o FOR EACH ROW EXECUTE FUNCTION alter_a.tf();
ALTER TABLE alter_a.o ALTER id TYPE bigint USING 4242424242, ALTER id2 TYPE bigint USING 4242424242;
SELECT * FROM alter_a.o;
DROP VIEW alter_a.o;
DROP TABLE alter_a.one;
-- USING must give a key column the same value in both parts.
CREATE SEQUENCE alter_a.q MAXVALUE 3 CYCLE;
INSERT INTO alter_a.m SELECT g, g, g FROM generate_series(1, 3) g;
UPDATE alter_a.m SET x = x WHERE id = 1;
ALTER TABLE alter_a.m ALTER id TYPE bigint USING nextval('alter_a.q');
ALTER TABLE alter_a.m ALTER id TYPE bigint USING m.id + 10;
SELECT * FROM alter_a.m ORDER BY id;
CREATE FUNCTION alter_a.next(bigint) RETURNS int LANGUAGE sql STABLE AS $$ SELECT nextval('alter_a.q')::int $$;
ALTER TABLE alter_a.m ALTER id TYPE int USING alter_a.next(id);
CREATE TYPE alter_a.digit AS ENUM ('1', '2', '3');
CREATE FUNCTION alter_a.to_digit(bigint) RETURNS alter_a.digit LANGUAGE plpgsql
AS $$ BEGIN RETURN nextval('alter_a.q')::text::alter_a.digit; END $$;
CREATE CAST (bigint AS alter_a.digit) WITH FUNCTION alter_a.to_digit AS ASSIGNMENT;
ALTER TABLE alter_a.m ALTER id TYPE alter_a.digit;
ALTER TABLE alter_a.m ALTER id TYPE alter_a.digit USING id;
-- An expression that is immutable when it is planned gives the same value in both parts.  The
-- server's own conversions also give the same value in both parts.
ALTER TABLE alter_a.m ALTER id TYPE text USING id || 'k';
SELECT * FROM alter_a.m ORDER BY id;
CREATE TABLE alter_a.k (id date PRIMARY KEY, x int, big text);
INSERT INTO alter_a.k SELECT date '2026-01-01' + g, g, g FROM generate_series(1, 3) g;
SELECT vertical_partition.split('alter_a.k', '{big}', force => true);
UPDATE alter_a.k SET x = x WHERE id = '2026-01-02';
ALTER TABLE alter_a.k ALTER id TYPE timestamptz;
ALTER TABLE alter_a.k ALTER id TYPE text USING id::date;
SELECT * FROM alter_a.k ORDER BY id;
-- The planner adds default arguments, so these are checked as well.
CREATE FUNCTION alter_a.pick(text, bigint DEFAULT nextval('alter_a.q')) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $2::int';
CREATE FUNCTION alter_a.pick_any(VARIADIC int[] DEFAULT ARRAY[nextval('alter_a.q')::int]) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1[1]';
ALTER TABLE alter_a.k ALTER id TYPE int USING alter_a.pick(id);
ALTER TABLE alter_a.k ALTER id TYPE int USING alter_a.pick_any();
-- Functions of the server may call casts that a user has created.
ALTER TABLE alter_a.k ALTER id TYPE alter_a.digit USING (substr(id, 5, 1)::int - 1)::text::alter_a.digit;
SELECT * FROM alter_a.k ORDER BY id;
CREATE FUNCTION alter_a.digit_text(alter_a.digit) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN nextval('alter_a.q'); END $$;
CREATE FUNCTION alter_a.digit_json(alter_a.digit) RETURNS json LANGUAGE plpgsql AS $$ BEGIN RETURN nextval('alter_a.q'); END $$;
RESET ROLE;
CREATE CAST (alter_a.digit AS text) WITH FUNCTION alter_a.digit_text(alter_a.digit);
CREATE CAST (alter_a.digit AS json) WITH FUNCTION alter_a.digit_json(alter_a.digit);
SET ROLE regress_alter_a;
ALTER TABLE alter_a.k ALTER id TYPE text USING id || 'k';
ALTER TABLE alter_a.k ALTER id TYPE text USING id::text;
ALTER TABLE alter_a.k ALTER id TYPE text USING to_json(id)::text;
ALTER TABLE alter_a.k ALTER id TYPE text USING to_json(ROW(id))::text;
SELECT * FROM alter_a.k ORDER BY id;
-- A part cannot belong to an inheritance or partition tree, because writes to the tree would bypass
-- the guard of the part.
CREATE TABLE alter_a.parent (id alter_a.digit NOT NULL, x int);
ALTER TABLE alter_a.k_hot INHERIT alter_a.parent;
ALTER TABLE alter_a.parent INHERIT alter_a.k_cold;
CREATE TABLE alter_a.child () INHERITS (alter_a.k_cold);
RESET ROLE;
CREATE FOREIGN DATA WRAPPER regress_alter_wrapper;
CREATE SERVER regress_alter_server FOREIGN DATA WRAPPER regress_alter_wrapper;
GRANT USAGE ON FOREIGN SERVER regress_alter_server TO regress_alter_a;
SET ROLE regress_alter_a;
CREATE FOREIGN TABLE alter_a.child () INHERITS (alter_a.k_hot) SERVER regress_alter_server;
CREATE FOREIGN TABLE alter_a.child (x int) SERVER regress_alter_server;
ALTER FOREIGN TABLE alter_a.child INHERIT alter_a.k_hot;
DROP FOREIGN TABLE alter_a.child;
-- Since 18, a foreign table can have LIKE.  Its columns get NOT NULL.
SELECT current_setting('server_version_num')::int >= 180000 AS has_like, 'id' AS not_null \gset
\if :has_like
CREATE FOREIGN TABLE alter_a.child (LIKE alter_a.k INCLUDING DEFAULTS) SERVER regress_alter_server;
SELECT string_agg(attname, ' ') AS not_null FROM pg_attribute WHERE attrelid = 'alter_a.child'::regclass AND attnum > 0 AND attnotnull \gset
DROP FOREIGN TABLE alter_a.child;
\endif
\echo :not_null
RESET ROLE;
DROP FOREIGN DATA WRAPPER regress_alter_wrapper CASCADE;
SET ROLE regress_alter_a;
CREATE TABLE alter_a.whole (id alter_a.digit NOT NULL, x int) PARTITION BY LIST (id);
ALTER TABLE alter_a.whole ATTACH PARTITION alter_a.k_hot DEFAULT;
DROP TABLE alter_a.k, alter_a.parent, alter_a.whole;
DROP FUNCTION alter_a.pick, alter_a.pick_any;
-- A column name that is qualified with another table is not a column of this table.
CREATE INDEX ON alter_a.n ((nothing.x));
CREATE INDEX ON alter_a.n ((n.x + 1)) WHERE n.x > 0;
ALTER TABLE alter_a.n ADD CHECK (nothing.x > 0), ADD CHECK (n.x > 0);
-- If the link of a view is not the equality of an operator class, the view is not a split table.
-- Otherwise the code of the operator would be called.
CREATE TABLE alter_a.e_hot (id int, x int);
CREATE TABLE alter_a.e_cold (id int, y int);
INSERT INTO alter_a.e_hot VALUES (1, 1);
CREATE FUNCTION alter_a.eq(int, int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'eq as %', current_user; RETURN true; END $$;
CREATE OPERATOR alter_a.= (LEFTARG = int, RIGHTARG = int, FUNCTION = alter_a.eq);
CREATE VIEW alter_a.e AS SELECT h.id, h.x, c.y FROM alter_a.e_hot h LEFT JOIN alter_a.e_cold c ON h.id OPERATOR(alter_a.=) c.id
    WHERE vertical_partition.linked('shared_key', h.tableoid, c.id);
COPY alter_a.e TO stdout;
DROP VIEW alter_a.e;
DROP TABLE alter_a.e_hot, alter_a.e_cold;
DROP OPERATOR alter_a.= (int, int);
DROP SEQUENCE alter_a.q;
-- A view in which linked() has an expression is not a split table.
CREATE VIEW alter_a.e AS SELECT h.x, c.big FROM alter_a.l_hot h LEFT JOIN alter_a.l_cold c ON h.id = c.id
    WHERE vertical_partition.linked('shared_key', h.tableoid, c.big || 'q');
CREATE TRIGGER vertical_partition_write INSTEAD OF INSERT ON alter_a.e FOR EACH ROW EXECUTE FUNCTION alter_a.tf();
ALTER TABLE alter_a.e ALTER big TYPE bigint USING 4242424242;
DROP VIEW alter_a.e;
SELECT * FROM alter_a.l;
SELECT relname, relkind FROM pg_class WHERE relnamespace = 'alter_a'::regnamespace AND relkind IN ('r', 'v') ORDER BY relname;
RESET ROLE;

-- If a view only looks like a split table, a superuser's command on it does not change the tables
-- of other owners.
CREATE TABLE alter_b.x (id int PRIMARY KEY, x int);
CREATE TABLE alter_b.y (id int PRIMARY KEY, big text);
ALTER TABLE alter_b.x OWNER TO regress_alter_b;
ALTER TABLE alter_b.y OWNER TO regress_alter_b;
GRANT USAGE ON SCHEMA alter_b TO regress_alter_a;
SET ROLE regress_alter_a;
CREATE VIEW alter_a.fake AS SELECT h.id, h.x, c.big FROM alter_b.x h LEFT JOIN alter_b.y c ON h.id = c.id
    WHERE vertical_partition.linked('shared_key', h.tableoid, c.id);
CREATE TRIGGER vertical_partition_write INSTEAD OF INSERT ON alter_a.fake FOR EACH ROW EXECUTE FUNCTION alter_a.tf();
RESET ROLE;
BEGIN;
ALTER VIEW alter_a.fake OWNER TO regress_alter_a;
SELECT relation::regclass, mode FROM pg_locks WHERE pid = pg_backend_pid() AND relation IN ('alter_b.x'::regclass, 'alter_b.y'::regclass);
ROLLBACK;
ALTER TABLE alter_a.fake ADD COLUMN z int;
ALTER TABLE alter_a.fake ALTER x TYPE bigint;
CREATE INDEX ON alter_a.fake (x);
DROP TABLE alter_a.fake;
ALTER TABLE alter_a.fake RENAME COLUMN x TO xx;
ALTER TABLE alter_a.fake SET SCHEMA public;
SELECT attrelid::regclass, attname, atttypid::regtype FROM pg_attribute
WHERE attrelid IN ('alter_b.x'::regclass, 'alter_b.y'::regclass) AND attnum > 0 ORDER BY 1, attnum;
DROP VIEW public.fake;

-- Event triggers fire once, after view and parts have their names again.
CREATE FUNCTION alter_a.seen() RETURNS event_trigger LANGUAGE plpgsql SET client_min_messages = notice
AS $$
DECLARE
    o text := (SELECT string_agg(DISTINCT object_identity, ', ' ORDER BY object_identity) FROM pg_event_trigger_ddl_commands());
BEGIN
    RAISE NOTICE '% %: %, % of %', tg_event, tg_tag, o, (SELECT count(big) FROM alter_a.t), (SELECT relkind FROM pg_class WHERE oid = 'alter_a.t'::regclass);
END
$$;
CREATE EVENT TRIGGER regress_alter_seen ON ddl_command_end EXECUTE FUNCTION alter_a.seen();
ALTER TABLE alter_a.t ADD COLUMN y int, ALTER big TYPE varchar;
DROP EVENT TRIGGER regress_alter_seen;
-- An event trigger that changes the owner of each altered table cannot change the owner of a single
-- part.
CREATE FUNCTION alter_a.give() RETURNS event_trigger LANGUAGE plpgsql
AS $$
DECLARE
    o text;
BEGIN
    FOR o IN SELECT object_identity FROM pg_event_trigger_ddl_commands() WHERE object_type = 'table' LOOP
        EXECUTE format('ALTER TABLE %s OWNER TO regress_alter_b', o);
    END LOOP;
END
$$;
CREATE EVENT TRIGGER regress_alter_give ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION alter_a.give();
ALTER TABLE alter_a.t ADD COLUMN z int;
DROP EVENT TRIGGER regress_alter_give;
-- An event trigger that protects a table sees that the table is dropped.
CREATE FUNCTION alter_a.keep() RETURNS event_trigger LANGUAGE plpgsql
AS $$ BEGIN
    IF EXISTS (SELECT FROM pg_event_trigger_dropped_objects() WHERE object_identity = 'alter_a.t') THEN RAISE EXCEPTION 'this table is kept'; END IF;
END $$;
CREATE EVENT TRIGGER regress_alter_keep ON sql_drop WHEN TAG IN ('DROP TABLE') EXECUTE FUNCTION alter_a.keep();
DROP TABLE alter_a.t;
DROP EVENT TRIGGER regress_alter_keep;
SELECT relname, relowner::regrole FROM pg_class WHERE relname IN ('t', 't_hot', 't_cold') AND relnamespace = 'alter_a'::regnamespace ORDER BY 1;

-- If merge() refuses an index that could not be built, the error names the index.
INSERT INTO alter_a.t (id, x, big) VALUES (2, 2, 'four');
CREATE UNIQUE INDEX CONCURRENTLY not_unique ON alter_a.t (x);
\set VERBOSITY default
SELECT vertical_partition.merge('alter_a.t');
\set VERBOSITY terse
DROP INDEX alter_a.not_unique;
SELECT vertical_partition.merge('alter_a.t');
\d alter_a.t

DROP SCHEMA alter_a, alter_b CASCADE;
DROP ROLE regress_alter_a, regress_alter_b;
