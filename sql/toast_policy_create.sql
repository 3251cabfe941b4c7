--
-- Test tables and columns that could be left out of the policy by mistake: those that are created
-- LIKE a governed table, attached to it, or added to it.  Also test tables and columns that nobody
-- asked to govern.
--
\set SHOW_CONTEXT never
\set VERBOSITY terse
SET default_toast_compression = pglz;
CREATE SCHEMA creates;
SET search_path = creates, public;
CREATE FUNCTION method(rel regclass) RETURNS text LANGUAGE sql STABLE AS $$
SELECT concat_ws(' ', amname, string_agg(attname || '=' || attstorage::text, ' ' ORDER BY attnum)) FROM pg_class c JOIN pg_attribute ON attrelid = c.oid LEFT JOIN pg_am a ON a.oid = relam
WHERE c.oid = rel AND attnum > 0 AND NOT attisdropped AND attlen = -1 GROUP BY amname $$;
CREATE FUNCTION noise(seed int, size int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT left(string_agg(md5(seed || '-' || i), ''), size) FROM generate_series(0, size / 32) i $$;

--
-- enable() of a table that has nothing to compress
--
CREATE TABLE short (id int, v text, w varchar(100));
-- The table has no rows yet.
BEGIN;
SELECT toast_policy.enable('short');
ROLLBACK;
INSERT INTO short SELECT i, 'value ' || i FROM generate_series(1, 5000) i;
\set VERBOSITY default
SELECT toast_policy.enable('short');
\set VERBOSITY terse
SELECT method('short');
-- The hint of the error works.
SELECT toast_policy.enable('creates.short', 'v');
SELECT method('short');
-- The table already has the access method, so enable() does not refuse it.
SELECT toast_policy.enable('short');
SELECT method('short');
SELECT toast_policy.disable('short');
SELECT toast_policy.enable('short');
-- Test a value that is compressed in its row, a value out of line, and a table whose value out of
-- line is gone.
INSERT INTO short VALUES (0, repeat('x', 3000));
BEGIN;
SELECT toast_policy.enable('short');
ROLLBACK;
DELETE FROM short WHERE id = 0;
INSERT INTO short VALUES (0, noise(1, 3000));
BEGIN;
SELECT toast_policy.enable('short');
ROLLBACK;
TRUNCATE short;
BEGIN;
SELECT toast_policy.enable('short');
ROLLBACK;
-- Test rows that cannot be large, in tables with and without rows.
CREATE TABLE "Narrow" (id int, "Code" varchar(20), c char(84));
SELECT toast_policy.enable('"Narrow"');
INSERT INTO "Narrow" VALUES (1, 'x', 'x');
\set VERBOSITY default
SELECT toast_policy.enable('"Narrow"');
\set VERBOSITY terse
SELECT toast_policy.enable('creates."Narrow"', 'Code');
SELECT method('"Narrow"');
CREATE MATERIALIZED VIEW materialized AS SELECT 'short'::text AS v;
SELECT toast_policy.enable('materialized');
-- enable() accepts a partitioned table if one partition has large values, or if it has no rows at
-- all.
CREATE TABLE p (id int, doc text) PARTITION BY RANGE (id);
BEGIN;
SELECT toast_policy.enable('p');
ROLLBACK;
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (200);
INSERT INTO p VALUES (1, 'short'), (2, 'short');
SELECT toast_policy.enable('p');
INSERT INTO p VALUES (101, repeat('x', 100000));
SELECT toast_policy.enable('p');
SELECT method('p1'), method('p2');

--
-- Columns that somebody made EXTERNAL for another reason
--
CREATE TABLE pictures (id int, note text, raw bytea, other text);
ALTER TABLE pictures ALTER raw SET STORAGE EXTERNAL;
\set VERBOSITY default
SELECT toast_policy.enable('pictures', 'note');
\set VERBOSITY terse
SELECT toast_policy.enable('pictures', 'other');
SELECT toast_policy.disable('pictures');
ALTER TABLE pictures ALTER raw SET STORAGE EXTERNAL;
SELECT toast_policy.enable('pictures', 'raw');
SELECT toast_policy.disable('pictures');
-- If the access method is the default, these columns cannot be distinguished from governed ones.
SET default_table_access_method = toast_policy;
CREATE TABLE by_default (raw text);
ALTER TABLE by_default ALTER raw SET STORAGE EXTERNAL;
RESET default_table_access_method;
INSERT INTO by_default VALUES (repeat('x', 100000));
SELECT pg_column_compression(raw) FROM by_default;
-- There, a type whose values are stored raw can be used.
CREATE TABLE raw_by_type (raw zbytea(none)) USING toast_policy;
INSERT INTO raw_by_type VALUES (convert_to(repeat('x', 100000), 'UTF8'));
SELECT pg_column_size(raw) > 100000 AS raw, toast_policy.codec(raw), substr(raw, 50000, 3) FROM raw_by_type;

--
-- LIKE
--
CREATE TABLE plain (id int, doc text);
ALTER TABLE plain ALTER doc SET STORAGE EXTERNAL;
CREATE TABLE of_plain (LIKE plain INCLUDING ALL);
\set VERBOSITY default
CREATE TABLE of_p1 (LIKE p1 INCLUDING ALL);
\set VERBOSITY terse
CREATE TABLE of_p1_storage (LIKE p1 INCLUDING STORAGE);
CREATE TABLE of_p1_columns (LIKE p1);
CREATE TABLE of_p1_no_storage (LIKE p1 INCLUDING ALL EXCLUDING STORAGE);
CREATE TABLE of_two (LIKE plain INCLUDING ALL, more text, LIKE p1 INCLUDING INDEXES INCLUDING STORAGE);
CREATE TABLE of_two (LIKE plain INCLUDING ALL, more text);
CREATE TABLE of_p (LIKE p INCLUDING ALL);
CREATE TABLE IF NOT EXISTS of_p (LIKE p INCLUDING ALL);
-- A table of the same name in another schema is another table.
CREATE SCHEMA creates_first;
SET search_path = creates_first, creates, public;
CREATE TABLE of_p (LIKE p1 INCLUDING ALL);
SELECT method('creates_first.of_p');
RESET search_path;
DROP SCHEMA creates_first CASCADE;
SET search_path = creates, public;
\set VERBOSITY default
CREATE TABLE of_p1_heap (LIKE p1 INCLUDING ALL) USING heap;
\set VERBOSITY terse
CREATE TABLE of_p1_own (LIKE p1 INCLUDING ALL) USING toast_policy;
CREATE TEMP TABLE of_p1_temp (LIKE p1 INCLUDING ALL) ON COMMIT DROP;
CREATE UNLOGGED TABLE of_p1_unlogged (LIKE p1 INCLUDING ALL);
SELECT relname, method(oid) FROM pg_class WHERE relname ~ '^of_' AND relkind = 'r' ORDER BY relname;
-- The catalogs are right, and the table works.
SELECT count(*) FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = 'of_p1'::regclass AND refclassid = 'pg_am'::regclass;
INSERT INTO of_p1 VALUES (1, repeat('x', 100000));
SELECT pg_column_compression(doc) FROM of_p1;
TRUNCATE of_p1;
-- Use LIKE in a function, with a cached plan, and in CREATE SCHEMA.
DO $$ BEGIN CREATE TABLE creates.of_do (LIKE creates.p1 INCLUDING ALL); END $$;
CREATE FUNCTION make_like() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS creates.of_function;
	CREATE TABLE creates.of_function (LIKE creates.p1 INCLUDING ALL);
	RETURN creates.method('creates.of_function');
END $$;
SELECT make_like();
SELECT make_like();
CREATE SCHEMA creates_more CREATE TABLE of_schema (LIKE creates.p1 INCLUDING ALL);
SELECT method('of_do'), method('creates_more.of_schema');
-- If another access method is the default, this choice is kept.
CREATE ACCESS METHOD creates_heap TYPE TABLE HANDLER heap_tableam_handler;
SET default_table_access_method = creates_heap;
CREATE TABLE of_other (LIKE p1 INCLUDING ALL);
RESET default_table_access_method;
SELECT method('of_other');
-- Statements that fail on a stock server fail with the same errors.
CREATE TABLE of_nothing (LIKE nothing INCLUDING ALL);
CREATE TABLE nowhere.of_p1 (LIKE p1 INCLUDING ALL);
CREATE TABLE of_nothing (LIKE nowhere.nothing INCLUDING ALL);
CREATE TABLE of_p1 (LIKE p1 INCLUDING ALL);

--
-- Partitions and children
--
ALTER TABLE p ATTACH PARTITION of_p1 FOR VALUES FROM (200) TO (300);
\set VERBOSITY default
ALTER TABLE p ATTACH PARTITION of_p1_heap FOR VALUES FROM (300) TO (400);
ALTER TABLE p ATTACH PARTITION of_p1_no_storage FOR VALUES FROM (400) TO (500);
\set VERBOSITY terse
CREATE TABLE sub (id int, doc text) PARTITION BY RANGE (id);
CREATE TABLE sub1 PARTITION OF sub FOR VALUES FROM (500) TO (550) USING heap;
CREATE TABLE sub2 PARTITION OF sub FOR VALUES FROM (550) TO (600) USING toast_policy;
ALTER TABLE p ATTACH PARTITION sub FOR VALUES FROM (500) TO (600);
-- Before 17, the server would not give the access method to a new partition.  The extension does,
-- and a notice says so.  Hide this notice.
SET client_min_messages = warning;
CREATE TABLE p7 PARTITION OF p FOR VALUES FROM (700) TO (800);
RESET client_min_messages;
CREATE TABLE p8 PARTITION OF p FOR VALUES FROM (800) TO (900) USING heap;
SELECT method('p7'), method('p8');
CREATE TABLE child () INHERITS (p7);
CREATE TABLE parent (id int, doc text) USING toast_policy;
ALTER TABLE parent ALTER doc SET STORAGE EXTERNAL;
CREATE TABLE child () INHERITS (parent);
ALTER TABLE child NO INHERIT parent;
ALTER TABLE child INHERIT parent;
SELECT toast_policy.enable('child');
ALTER TABLE child NO INHERIT parent;
ALTER TABLE child INHERIT parent;
-- Other tables are not affected.
CREATE TABLE other_parent (doc text) PARTITION BY LIST (doc);
CREATE TABLE other_child (doc text);
ALTER TABLE other_child ALTER doc SET STORAGE EXTERNAL;
ALTER TABLE other_parent ATTACH PARTITION other_child DEFAULT;

--
-- Columns that are added, and columns that lose their storage
--
CREATE TABLE c (id int, doc text);
SELECT toast_policy.enable('c', 'doc');
\set VERBOSITY default
ALTER TABLE c ADD COLUMN more text;
\set VERBOSITY terse
ALTER TABLE c ADD COLUMN more2 text, ADD more3 jsonb, ADD number int, ADD n numeric, ADD code varchar(100), ADD z ztext, ADD wide varchar(10000);
ALTER TABLE c ALTER more SET STORAGE MAIN;
ALTER TABLE c ALTER more SET STORAGE EXTERNAL;
ALTER TABLE c ALTER more SET STORAGE EXTENDED;
ALTER TABLE c ALTER doc TYPE varchar(10000);
ALTER TABLE c ALTER more2 TYPE varchar(10000);
SELECT method('c');
ALTER TABLE p ADD COLUMN more text;
ALTER TABLE plain ADD COLUMN more text;
BEGIN;
SELECT toast_policy.disable('c');
ALTER TABLE c ADD COLUMN more4 text;
ROLLBACK;

--
-- Sessions in which the statement itself loads the library
--
\c
SET search_path = creates, public;
CREATE TABLE fresh1 (LIKE p1 INCLUDING ALL);
\c
SET search_path = creates, public;
SELECT 1 \; CREATE TABLE fresh2 (LIKE p1 INCLUDING ALL) \; CREATE TABLE fresh3 (id int);
\c
SET search_path = creates, public;
CREATE TABLE fresh4 (LIKE p1 INCLUDING ALL) USING heap;
\c
SET search_path = creates, public;
CREATE TABLE fresh5 (raw text, LIKE p1 INCLUDING INDEXES);
ALTER TABLE fresh5 ALTER raw SET STORAGE EXTERNAL;
\c
SET search_path = creates, public;
DO $$ BEGIN CREATE TABLE creates.fresh6 (LIKE creates.p1 INCLUDING ALL); END $$;
\c
SET search_path = creates, public;
CREATE TABLE fresh7 () INHERITS (parent);
\c
SET search_path = creates, public;
ALTER TABLE c ADD COLUMN more5 text;
\c
SET search_path = creates, public;
ALTER TABLE c ALTER more5 TYPE varchar(5000);
SELECT relname, method(oid) FROM pg_class WHERE relname ~ '^fresh' ORDER BY relname;
-- A statement that has nothing to do with the policy does not need the library.
\c
SET search_path = creates, public;
CREATE TABLE fresh8 (LIKE plain INCLUDING ALL);
SELECT method('fresh8');

SET client_min_messages = warning;
DROP SCHEMA creates CASCADE;
DROP SCHEMA creates_more CASCADE;
DROP ACCESS METHOD creates_heap;
