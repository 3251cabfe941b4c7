--
-- Test merge() if the parts differ from what the view shows of them.  No column or row is lost.
--
\set SHOW_CONTEXT never
SET client_min_messages = warning;
\set database :DBNAME
CREATE DATABASE regress_vertical_partition_difference TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
ALTER DATABASE regress_vertical_partition_difference SET session_preload_libraries = 'vertical_partition';
\c regress_vertical_partition_difference
SET client_min_messages = warning;
CREATE EXTENSION vertical_partition;

-- The parts have columns that the view does not have.
CREATE TABLE m (id int PRIMARY KEY, a int, b text);
INSERT INTO m SELECT i, i, 'b' || i FROM generate_series(1, 3) i;
SELECT vertical_partition.split('m', '{b}');
ALTER TABLE m_hot ADD phone text NOT NULL DEFAULT 'none', ADD "odd \1 name" int;
ALTER TABLE m_cold ADD fax text;
UPDATE m_hot SET phone = '555' WHERE id = 2;
SELECT vertical_partition.merge('m');
-- Follow the hint.
SELECT help FROM vertical_partition_internal.differences('m') WHERE problem IS NULL \gset
:help
ALTER TABLE m_hot DROP "odd \1 name";
ALTER TABLE m_hot DROP "odd \1 name" CASCADE;
SELECT to_regclass('m') IS NULL AS gone;
\set help 'CREATE VIEW m AS SELECT h.id, h.a, c.b, h.phone, c.fax FROM m_hot h LEFT JOIN m_cold c ON c.id = h.id WHERE vertical_partition.linked(''shared_key'', h.tableoid, c.id)'
:help;
SELECT vertical_partition.merge('m');
\d m
SELECT * FROM m ORDER BY id;

-- Test the other methods.
SELECT vertical_partition.split('m', '{b,fax}', 'surrogate_key');
SELECT * FROM vertical_partition_internal.differences('m');
ALTER TABLE m_cold ADD telex text DEFAULT 'stop';
SELECT vertical_partition.merge('m');
ALTER TABLE m_cold DROP telex;
SELECT vertical_partition.merge('m');
SELECT vertical_partition.split('m', '{b,fax}', 'row_pointer');
SELECT * FROM vertical_partition_internal.differences('m');
ALTER TABLE m_cold ADD telex text DEFAULT 'stop';
SELECT problem, help FROM vertical_partition_internal.differences('m') WHERE problem IS NULL \gset
:help
SELECT vertical_partition.merge('m');
SELECT * FROM m ORDER BY id;

-- The view has one column of a part twice, and does not have another column.
SELECT vertical_partition.split('m', '{b}');
CREATE OR REPLACE VIEW m AS SELECT h.id, h.a, c.b, h.phone, h.phone AS fax, h.telex FROM m_hot h LEFT JOIN m_cold c ON c.id = h.id
  WHERE vertical_partition.linked('shared_key', h.tableoid, c.id);
SELECT vertical_partition.merge('m');
CREATE OR REPLACE VIEW m AS SELECT h.id, h.a, c.b, h.phone, h.fax, h.telex, h.a AS again FROM m_hot h LEFT JOIN m_cold c ON c.id = h.id
  WHERE vertical_partition.linked('shared_key', h.tableoid, c.id);
SELECT vertical_partition.merge('m');
\d m_hot

-- The view has a completely different definition.
CREATE OR REPLACE VIEW m AS SELECT h.id, h.a, c.b, h.phone, h.fax, h.telex, h.a AS again FROM m_hot h LEFT JOIN m_cold c ON c.id = h.id AND c.id > 1
  WHERE vertical_partition.linked('shared_key', h.tableoid, c.id);
SELECT vertical_partition.merge('m');
SELECT vertical_partition.relink('m');
DROP VIEW m;
CREATE VIEW m AS SELECT h.id, h.telex AS a, c.b, h.phone, h.fax, h.a AS telex FROM m_hot h LEFT JOIN m_cold c ON c.id = h.id
  WHERE vertical_partition.linked('shared_key', h.tableoid, c.id);

-- If only names differ, the table gets the names of the view.
SELECT * FROM vertical_partition_internal.differences('m');
SELECT vertical_partition.merge('m');
\d m
SELECT * FROM m ORDER BY id;

-- The type of a column differs.  The server prevents this.
SELECT vertical_partition.split('m', '{b}');
\set VERBOSITY terse
ALTER TABLE m_hot ALTER telex TYPE bigint;
\set VERBOSITY default
UPDATE pg_attribute SET atttypmod = 14 WHERE attrelid = 'm_hot'::regclass AND attname = 'phone';
SELECT vertical_partition.merge('m');
UPDATE pg_attribute SET atttypmod = -1 WHERE attrelid = 'm_hot'::regclass AND attname = 'phone';

-- Parts can have other objects that the table would not have.
CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER of_statements AFTER UPDATE ON m_hot FOR EACH STATEMENT EXECUTE FUNCTION fire();
CREATE TRIGGER of_rows AFTER UPDATE ON m_cold FOR EACH ROW EXECUTE FUNCTION fire();
CREATE TABLE parent (telex int);
ALTER TABLE m_hot INHERIT parent;
CREATE TABLE child () INHERITS (m_cold);
-- Use a session without the library.
ALTER DATABASE regress_vertical_partition_difference RESET session_preload_libraries;
\c regress_vertical_partition_difference
SET client_min_messages = warning;
ALTER TABLE m_hot INHERIT parent;
CREATE TABLE child () INHERITS (m_cold);
ALTER DATABASE regress_vertical_partition_difference SET session_preload_libraries = 'vertical_partition';
\c regress_vertical_partition_difference
SET client_min_messages = warning;
SELECT vertical_partition.merge('m');
DROP TRIGGER of_statements ON m_hot;
DROP TRIGGER of_rows ON m_cold;
ALTER TABLE m_hot NO INHERIT parent;
DROP TABLE child;
SELECT vertical_partition.merge('m');
SELECT * FROM m ORDER BY id;

\c :database
DROP DATABASE regress_vertical_partition_difference;
