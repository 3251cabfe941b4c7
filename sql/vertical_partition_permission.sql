--
-- Test who may do what with a split table.  The result must be the same with and without the
-- rewriting of statements.
--
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = ''vertical_partition''', current_database()); END $$;
\c
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE ROLE regress_vp_owner;
CREATE ROLE regress_vp_other;
CREATE ROLE regress_vp_user;
CREATE SCHEMA vp_permission;
GRANT ALL ON SCHEMA vp_permission TO PUBLIC;
SET search_path = vp_permission;
SET ROLE regress_vp_owner;
CREATE TABLE t (id int PRIMARY KEY, h1 int, c1 text, h2 text);
INSERT INTO t VALUES (1, 10, 'cold 1', 'hot 1'), (2, 20, 'cold 2', 'hot 2');
SELECT vertical_partition.split('t', '{c1}', 'row_pointer');
RESET ROLE;
LOAD 'vertical_partition';

-- Return the result of a statement, and undo its changes.
CREATE FUNCTION attempt(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RAISE SQLSTATE 'VP000';
EXCEPTION
	WHEN SQLSTATE 'VP000' THEN RETURN 'ok';
	WHEN OTHERS THEN RETURN SQLERRM;
END $$;
CREATE TABLE statements (n serial, statement text);
INSERT INTO statements (statement) VALUES
('SELECT h1 FROM t'),
('SELECT id, h1 FROM t WHERE id = 1'),
('SELECT c1 FROM t'),
('SELECT count(*) FROM t'),
('SELECT id FROM t FOR UPDATE'),
('SELECT id FROM t FOR KEY SHARE'),
('UPDATE t SET h1 = 1'),
('UPDATE t SET h1 = 1 WHERE id = 1'),
('UPDATE t SET h1 = 1 RETURNING id'),
('UPDATE t SET h1 = 1 RETURNING h1'),
('UPDATE t SET h1 = h1 + 1'),
('UPDATE t SET h2 = ''x'''),
('UPDATE t SET c1 = ''x'''),
('UPDATE t SET h1 = 1 FROM t u WHERE u.id = 1'),
('WITH w AS (UPDATE t SET h1 = 1) SELECT'),
('DELETE FROM t'),
('TRUNCATE t');
GRANT SELECT ON statements TO PUBLIC;
CREATE FUNCTION attempts(role regrole, OUT n int, OUT "with" text, OUT without text, OUT statement text) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	FOR n, statement IN SELECT s.n, s.statement FROM vp_permission.statements s ORDER BY s.n LOOP
		EXECUTE format('SET LOCAL ROLE %s', role);
		SET LOCAL vertical_partition.enable_rewrite = on;
		"with" := vp_permission.attempt(statement);
		SET LOCAL vertical_partition.enable_rewrite = off;
		without := vp_permission.attempt(statement);
		IF without = "with" THEN without := 'same'; END IF;
		RESET ROLE;
		RETURN NEXT;
	END LOOP;
	RESET vertical_partition.enable_rewrite;
END $$;
\pset format unaligned
\pset tuples_only on

-- Test the owner.
SELECT * FROM attempts('regress_vp_owner');
-- Test a role without any privilege.
SELECT * FROM attempts('regress_vp_user');
-- Test privileges on columns.
GRANT UPDATE (h1) ON t TO regress_vp_user;
SELECT * FROM attempts('regress_vp_user');
GRANT SELECT (id) ON t TO regress_vp_user;
SELECT * FROM attempts('regress_vp_user');
SET ROLE regress_vp_user;
COPY t TO stdout;
COPY t (id) TO stdout;
RESET ROLE;
REVOKE UPDATE (h1) ON t FROM regress_vp_user;
SELECT * FROM attempts('regress_vp_user');
-- Test privileges on the table.
GRANT SELECT, UPDATE, DELETE ON t TO regress_vp_user;
SELECT * FROM attempts('regress_vp_user');
-- A saved plan that does not read the cold part is invalidated by changes of the cold part.
SELECT relacl IS NULL FROM pg_class WHERE oid = 't_cold'::regclass;
SET plan_cache_mode = force_generic_plan;
PREPARE hot AS SELECT h1 FROM t WHERE id = 1;
SET ROLE regress_vp_user;
EXECUTE hot;
RESET ROLE;
-- Change the owner of a part, as is possible in a session without the library.
UPDATE pg_class SET relowner = 'regress_vp_other'::regrole WHERE oid = 't_cold'::regclass;
SET ROLE regress_vp_user;
EXECUTE hot;
RESET ROLE;
ALTER TABLE t_cold OWNER TO regress_vp_owner;
SET ROLE regress_vp_user;
EXECUTE hot;
RESET ROLE;
REVOKE SELECT (c1) ON t_cold FROM regress_vp_owner;
SET ROLE regress_vp_user;
EXECUTE hot;
RESET ROLE;
REVOKE SELECT ON t_cold FROM regress_vp_owner;
SET ROLE regress_vp_user;
EXECUTE hot;
RESET ROLE;
GRANT SELECT ON t_cold TO regress_vp_owner;
SET ROLE regress_vp_user;
EXECUTE hot;
RESET ROLE;
DEALLOCATE hot;
RESET plan_cache_mode;
-- If the owner lacks a privilege on the parts, nobody has this privilege through the view.
REVOKE UPDATE ON t_hot FROM regress_vp_owner;
SELECT * FROM attempts('regress_vp_user') WHERE statement ~ '^UPDATE|FOR';
REVOKE SELECT ON t_cold FROM regress_vp_owner;
SELECT * FROM attempts('regress_vp_user') WHERE statement ~ '^SELECT';
GRANT ALL ON t_hot, t_cold TO regress_vp_owner;

-- Use a view of another owner.
CREATE VIEW w AS SELECT id, h1, c1 FROM t;
ALTER VIEW w OWNER TO regress_vp_other;
GRANT SELECT (id), UPDATE (h1) ON w TO regress_vp_user;
UPDATE statements SET statement = regexp_replace(statement, '\mt\M', 'w') WHERE n <> 14;
SELECT * FROM attempts('regress_vp_user') WHERE n < 12;
GRANT SELECT, UPDATE (h1) ON t TO regress_vp_other;
REVOKE ALL ON t FROM regress_vp_user;
SELECT * FROM attempts('regress_vp_user') WHERE n < 12;
GRANT SELECT ON w TO regress_vp_user;
SELECT * FROM attempts('regress_vp_user') WHERE n < 12;
UPDATE statements SET statement = regexp_replace(statement, '\mw\M', 't') WHERE n <> 14 AND n <> 15;

-- With security_invoker, the user's own privileges on the parts count.
GRANT SELECT, UPDATE ON t TO regress_vp_user;
ALTER VIEW t SET (security_invoker);
SELECT * FROM attempts('regress_vp_user') WHERE n < 12;
GRANT SELECT ON t_hot, t_cold TO regress_vp_user;
SELECT * FROM attempts('regress_vp_user') WHERE n < 12;
GRANT UPDATE (h1) ON t_hot TO regress_vp_user;
SELECT * FROM attempts('regress_vp_user') WHERE n < 13;
ALTER VIEW t RESET (security_invoker);
REVOKE ALL ON t_hot, t_cold FROM regress_vp_user;

-- Test row-level security of the hot part, which also applies to the owner.
ALTER TABLE t_hot ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY mine ON t_hot USING (id = 1);
CREATE FUNCTION target(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || statement INTO plan;
	RETURN plan->0->'Plan'->>'Relation Name';
END $$;
SELECT target('UPDATE t SET h1 = 1');
SET ROLE regress_vp_user;
SELECT h1 FROM t;
SELECT target('UPDATE t SET h1 = 1');
UPDATE t SET h1 = 1;
RESET ROLE;
ALTER TABLE t_hot DISABLE ROW LEVEL SECURITY;

-- TRUNCATE needs the TRUNCATE privilege on the view, also on a view to which it cascades.
CREATE TABLE referencing (id int REFERENCES t_hot);
ALTER TABLE referencing OWNER TO regress_vp_owner;
INSERT INTO referencing VALUES (1);
SET ROLE regress_vp_user;
TRUNCATE t;
RESET ROLE;
GRANT TRUNCATE ON t TO regress_vp_user;
SET ROLE regress_vp_user;
TRUNCATE t_hot;
TRUNCATE t_cold;
TRUNCATE t;
TRUNCATE t CASCADE;
TRUNCATE t, referencing;
RESET ROLE;
GRANT TRUNCATE ON referencing TO regress_vp_user;
CREATE TABLE unrelated (i int);
SET ROLE regress_vp_user;
TRUNCATE t, referencing, unrelated;
SELECT count(*) FROM t;
-- A role cannot use a view of its own for this.
RESET ROLE;
SET ROLE regress_vp_other;
CREATE VIEW own AS SELECT h.id, h.h1, c.c1 FROM t_hot h LEFT JOIN t_cold c ON c.ctid = h.cold_tid AND h.id = c.id
	WHERE vertical_partition.linked('row_pointer', h.tableoid, c.id);
CREATE TRIGGER own INSTEAD OF INSERT OR UPDATE OR DELETE ON own FOR EACH ROW EXECUTE FUNCTION vertical_partition.write_row();
SELECT (vertical_partition_internal.layout('own')).method;
SELECT h1 FROM own;
UPDATE own SET h1 = 1;
UPDATE own SET c1 = '';
INSERT INTO own VALUES (4) ON CONFLICT (id) DO NOTHING;
DELETE FROM own;
COPY own TO stdout;
TRUNCATE own, referencing;
TRUNCATE own;
ALTER VIEW own SET (security_invoker);
TRUNCATE own;
RESET ROLE;
-- CASCADE does not use that view, whether it is found first or last.
DO $$ BEGIN EXECUTE 'CREATE OR REPLACE VIEW t AS ' || pg_get_viewdef('t'); END $$;
CREATE TABLE master (h1 int PRIMARY KEY);
GRANT TRUNCATE ON master TO regress_vp_user;
ALTER TABLE t_hot ADD FOREIGN KEY (h1) REFERENCES master NOT VALID;
SET ROLE regress_vp_user;
SET client_min_messages = notice;
BEGIN;
TRUNCATE master CASCADE;
ROLLBACK;
SET client_min_messages = warning;
TRUNCATE t, referencing;
SELECT count(*) FROM t;
-- The pointers are marked as valid again, which only the owner could do directly.
RESET ROLE;
SELECT filenode = pg_relation_filenode(cold) FROM vertical_partition_internal.row_pointers WHERE cold = 't_cold'::regclass;
SET ROLE regress_vp_user;
SELECT vertical_partition.forget_row_pointers('t_cold');
RESET ROLE;
SELECT filenode = pg_relation_filenode(cold) FROM vertical_partition_internal.row_pointers WHERE cold = 't_cold'::regclass;
DROP SCHEMA vp_permission CASCADE;
DROP ROLE regress_vp_owner, regress_vp_other, regress_vp_user;
