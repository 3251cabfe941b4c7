--
-- Test actions of foreign keys that must not write to a part, or that would keep triggers from
-- firing.
--
\set VERBOSITY default
\set SHOW_CONTEXT never
SET client_min_messages = warning;
\set database :DBNAME
CREATE DATABASE regress_vertical_partition_action TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
ALTER DATABASE regress_vertical_partition_action SET session_preload_libraries = 'vertical_partition';
\c regress_vertical_partition_action
SET client_min_messages = warning;
CREATE EXTENSION vertical_partition;
CREATE ROLE regress_vp_alice;
CREATE TABLE par (id int PRIMARY KEY);
INSERT INTO par SELECT generate_series(1, 9);

-- SET DEFAULT is refused, because only the view has the defaults, and the part would get NULL.
CREATE TABLE t (id int PRIMARY KEY, x int DEFAULT 9 REFERENCES par ON DELETE SET DEFAULT, y int DEFAULT 8, big text);
INSERT INTO t VALUES (1, 1, 2, 'a');
SELECT vertical_partition.split('t', '{big}');
SELECT blockers FROM vertical_partition.advise('t');
ALTER TABLE t DROP CONSTRAINT t_x_fkey, ADD FOREIGN KEY (y) REFERENCES par ON UPDATE SET DEFAULT;
SELECT vertical_partition.split('t', '{big}');
ALTER TABLE t DROP CONSTRAINT t_y_fkey;
SELECT vertical_partition.split('t', '{big}');
ALTER TABLE t ADD FOREIGN KEY (y) REFERENCES par ON UPDATE SET DEFAULT;
ALTER TABLE t ADD CONSTRAINT fk FOREIGN KEY (x) REFERENCES par ON DELETE SET DEFAULT;
ALTER TABLE t ADD CONSTRAINT fk FOREIGN KEY (x) REFERENCES par ON DELETE SET DEFAULT NOT VALID;
ALTER TABLE t ADD z int REFERENCES par ON DELETE SET DEFAULT;
ALTER TABLE t_hot ADD CONSTRAINT fk FOREIGN KEY (x) REFERENCES par ON DELETE SET DEFAULT;
ALTER TABLE t_hot ADD z int REFERENCES par ON UPDATE SET DEFAULT;
ALTER TABLE t_cold ADD z int REFERENCES par ON UPDATE SET DEFAULT;
DELETE FROM par WHERE id = 1;
UPDATE par SET id = 20 WHERE id = 2;
SELECT x, y FROM t;
ALTER TABLE t ADD FOREIGN KEY (x) REFERENCES par ON DELETE SET NULL ON UPDATE CASCADE NOT VALID;
SELECT vertical_partition.merge('t');
\d t
DROP TABLE t;
-- SET DEFAULT of another column is also refused.
CREATE TABLE pair (a int, b int, PRIMARY KEY (a, b));
CREATE TABLE t (id int PRIMARY KEY, a int, b int DEFAULT 8, big text, FOREIGN KEY (a, b) REFERENCES pair ON DELETE SET DEFAULT (b));
SELECT vertical_partition.split('t', '{big}');
DROP TABLE t;

-- Statement triggers are on the view, but an action writes to the hot part, and does not fire them.
CREATE TABLE fired (what text);
CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO fired VALUES (TG_WHEN || ' ' || TG_OP); RETURN NULL; END $$;
CREATE TABLE t (id int PRIMARY KEY, del int CONSTRAINT del REFERENCES par ON DELETE CASCADE, nul int CONSTRAINT nul REFERENCES par ON DELETE SET NULL,
  upd int CONSTRAINT upd REFERENCES par ON UPDATE CASCADE, other int, big text);
CREATE TRIGGER inserts AFTER INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION fire();
CREATE TRIGGER deletes BEFORE DELETE ON t FOR EACH STATEMENT EXECUTE FUNCTION fire();
CREATE TRIGGER updates AFTER UPDATE ON t FOR EACH STATEMENT EXECUTE FUNCTION fire();
CREATE TRIGGER partly AFTER INSERT OR UPDATE OF id, nul ON t FOR EACH STATEMENT EXECUTE FUNCTION fire();
CREATE TRIGGER others AFTER UPDATE OF other, big ON t FOR EACH STATEMENT EXECUTE FUNCTION fire();
SELECT vertical_partition.split('t', '{big}');
SELECT blockers FROM vertical_partition.advise('t');
ALTER TABLE t DROP CONSTRAINT del;
DROP TRIGGER updates ON t;
SELECT vertical_partition.split('t', '{big}');
DROP TRIGGER partly ON t;
SELECT vertical_partition.split('t', '{big}');
-- Add a foreign key to the split table.
ALTER TABLE t ADD CONSTRAINT del FOREIGN KEY (del) REFERENCES par ON DELETE CASCADE;
ALTER TABLE t ADD col int REFERENCES par ON DELETE CASCADE;
ALTER TABLE t_hot ADD CONSTRAINT del FOREIGN KEY (del) REFERENCES par ON DELETE CASCADE NOT VALID;
ALTER TABLE t ADD CONSTRAINT other FOREIGN KEY (other) REFERENCES par ON DELETE SET NULL;
ALTER TABLE t ADD CONSTRAINT other FOREIGN KEY (other) REFERENCES par ON UPDATE CASCADE;
ALTER TABLE t ADD CONSTRAINT del FOREIGN KEY (del) REFERENCES par ON DELETE SET NULL ON UPDATE CASCADE;
ALTER TABLE t DROP CONSTRAINT del, ADD CONSTRAINT other FOREIGN KEY (other) REFERENCES t ON DELETE RESTRICT;
-- Add a trigger to the split table.
CREATE TRIGGER updates AFTER UPDATE ON t FOR EACH STATEMENT EXECUTE FUNCTION fire();
CREATE TRIGGER updates BEFORE UPDATE OF other, upd ON t FOR EACH STATEMENT EXECUTE FUNCTION fire();
CREATE OR REPLACE TRIGGER others AFTER UPDATE OF nul ON t FOR EACH STATEMENT EXECUTE FUNCTION fire();
CREATE TRIGGER updates AFTER UPDATE OF other, big OR INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION fire();
CREATE TRIGGER nothing AFTER UPDATE OF nothing ON t FOR EACH STATEMENT EXECUTE FUNCTION fire();
-- A role that does not own the table adds a trigger.
GRANT TRIGGER ON t TO regress_vp_alice;
SET ROLE regress_vp_alice;
CREATE TRIGGER hers AFTER UPDATE ON t FOR EACH STATEMENT EXECUTE FUNCTION fire();
RESET ROLE;
REVOKE TRIGGER ON t FROM regress_vp_alice;
SET ROLE regress_vp_alice;
CREATE TRIGGER hers AFTER UPDATE ON t FOR EACH STATEMENT EXECUTE FUNCTION fire();
RESET ROLE;
DROP TRIGGER deletes ON t;
ALTER TABLE t ADD CONSTRAINT del FOREIGN KEY (del) REFERENCES par ON DELETE CASCADE;
CREATE TRIGGER deletes BEFORE DELETE ON t FOR EACH STATEMENT EXECUTE FUNCTION fire();
-- The triggers that fire are those that would fire on a plain table.
INSERT INTO t VALUES (1, 3, 4, 5, 1, 'a'), (2, 3, 4, 5, 1, 'b');
DELETE FROM par WHERE id = 4;
UPDATE par SET id = 50 WHERE id = 5;
UPDATE t SET other = 2, big = 'c' WHERE id = 1;
SELECT * FROM fired;
SELECT * FROM t ORDER BY id;
-- A split table to which other tables refer may have any trigger.
CREATE TABLE child (t int REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE);
ALTER TABLE t DROP CONSTRAINT nul, DROP CONSTRAINT upd, DROP CONSTRAINT del;
CREATE TRIGGER deletes BEFORE DELETE OR UPDATE ON t FOR EACH STATEMENT EXECUTE FUNCTION fire();
SELECT vertical_partition.merge('t');

\c :database
DROP DATABASE regress_vertical_partition_action;
DROP ROLE regress_vp_alice;
