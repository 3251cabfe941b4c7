--
-- Test views that look like split tables, and statements in which a part occurs more than once.
--
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = ''vertical_partition''', current_database()); END $$;
\c
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS vertical_partition;
CREATE ROLE regress_vp_forger;
CREATE SCHEMA vp_forged;
GRANT ALL ON SCHEMA vp_forged TO regress_vp_forger;
SET search_path = vp_forged;

-- The statement itself names the parts, so they come before the view in the planner's list of
-- tables.
CREATE TABLE named (k text PRIMARY KEY, a text, c text);
INSERT INTO named VALUES ('k1', 'a1', 'c1'), ('k2', 'a2', 'c2');
SELECT vertical_partition.split('named', '{c}');
UPDATE named n SET c = 'new'
WHERE k = 'k1' AND EXISTS (
    SELECT FROM named_hot h, named_cold c WHERE h.k = 'k2' AND c.c = 'c2' AND h.a > n.a);
SELECT * FROM named ORDER BY k;

-- The definition of the view does more with the cold part than look up its row.
DO $$ BEGIN
    EXECUTE 'CREATE VIEW first AS ' || rtrim(pg_get_viewdef('named'), ';') || ' ORDER BY c LIMIT 1';
    EXECUTE 'CREATE VIEW each AS ' || regexp_replace(rtrim(pg_get_viewdef('named'), ';'), 'SELECT', 'SELECT DISTINCT ON (c.c IS NULL)') || ' ORDER BY c.c IS NULL, c.c';
    EXECUTE 'CREATE VIEW sampled AS ' || regexp_replace(rtrim(pg_get_viewdef('named'), ';'), 'named_cold c', 'named_cold c TABLESAMPLE system (0)');
END $$;
CREATE TRIGGER vertical_partition_write INSTEAD OF INSERT OR UPDATE OR DELETE ON first
FOR EACH ROW EXECUTE FUNCTION vertical_partition.write_row();
SELECT k FROM named ORDER BY c LIMIT 1;
SELECT k FROM first;
SELECT k FROM each;
SELECT k, c FROM sampled ORDER BY k;
UPDATE first SET a = 'lost';
SELECT count(*) FROM vertical_partition.status WHERE relation::text <> 'named';

-- Test a security barrier view over the split view.  PostgreSQL would lose its barrier.
CREATE VIEW barrier WITH (security_barrier) AS SELECT k, a, c FROM named WHERE a < 'a2';
SELECT * FROM barrier;
UPDATE barrier SET c = 'seen' WHERE k = 'k2';
UPDATE barrier SET a = 'seen' WHERE k = 'k2';
DELETE FROM barrier WHERE k = 'k2';
SELECT * FROM named ORDER BY k;

-- With this setting, the triggers would not fire.
SET session_replication_role = replica;
INSERT INTO named VALUES ('k3', 'a3', 'c3');
UPDATE named SET c = 'lost';
DELETE FROM named;
COPY named FROM stdin;
k3	a3	c3
\.
RESET session_replication_role;
SELECT count(*) FROM named;

-- The two columns of the link have different types.
SET ROLE regress_vp_forger;
CREATE TABLE name_hot (k name PRIMARY KEY, a int);
CREATE TABLE name_cold (k text PRIMARY KEY, c int);
CREATE VIEW name_view AS SELECT h.k, h.a, c.c FROM name_hot h LEFT JOIN name_cold c ON h.k = c.k
WHERE vertical_partition.linked('shared_key', h.tableoid, c.k);
CREATE TRIGGER vertical_partition_write INSTEAD OF INSERT OR UPDATE OR DELETE ON name_view
FOR EACH ROW EXECUTE FUNCTION vertical_partition.write_row();
INSERT INTO name_view VALUES ('name', 1, 2);

CREATE TABLE id_hot (k int PRIMARY KEY, a int, cold_id text);
CREATE TABLE id_cold (cold_id bigint PRIMARY KEY DEFAULT 4711, c int);
CREATE FUNCTION same(text, bigint) RETURNS boolean IMMUTABLE LANGUAGE sql RETURN $1 = $2::text;
CREATE OPERATOR = (LEFTARG = text, RIGHTARG = bigint, FUNCTION = same);
CREATE VIEW id_view AS SELECT h.k, h.a, c.c FROM id_hot h LEFT JOIN id_cold c ON h.cold_id OPERATOR(vp_forged.=) c.cold_id
WHERE vertical_partition.linked('surrogate_key', h.tableoid, c.cold_id);
CREATE TRIGGER vertical_partition_write INSTEAD OF INSERT OR UPDATE OR DELETE ON id_view
FOR EACH ROW EXECUTE FUNCTION vertical_partition.write_row();
INSERT INTO id_view VALUES (1, 1, 2);

-- The link uses a system column.
CREATE VIEW system_view AS SELECT h.k, h.a, c.c FROM name_hot h LEFT JOIN id_cold c ON h.tableoid = c.tableoid
WHERE vertical_partition.linked('shared_key', h.tableoid, c.c);
CREATE TRIGGER vertical_partition_write INSTEAD OF INSERT OR UPDATE OR DELETE ON system_view
FOR EACH ROW EXECUTE FUNCTION vertical_partition.write_row();
INSERT INTO system_view VALUES ('name', 1, 2);
RESET ROLE;

-- One part is a table of another owner, on which the role has privileges.  Its statement triggers
-- would not fire.
CREATE TABLE others (k int PRIMARY KEY, a int);
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
CREATE TRIGGER refuse BEFORE INSERT ON others FOR EACH STATEMENT EXECUTE FUNCTION refuse();
GRANT ALL ON others TO regress_vp_forger;
SET ROLE regress_vp_forger;
CREATE TABLE own (k int PRIMARY KEY, c int);
CREATE VIEW others_view AS SELECT h.k, h.a, c.c FROM others h LEFT JOIN own c ON h.k = c.k
WHERE vertical_partition.linked('shared_key', h.tableoid, c.k);
CREATE TRIGGER vertical_partition_write INSTEAD OF INSERT OR UPDATE OR DELETE ON others_view
FOR EACH ROW EXECUTE FUNCTION vertical_partition.write_row();
INSERT INTO others VALUES (1, 1);
INSERT INTO others_view VALUES (1, 1, 1);
RESET ROLE;

DROP SCHEMA vp_forged CASCADE;
DROP ROLE regress_vp_forger;
