/* toast_policy/without_library.sql */

--
-- Use this script if the library toast_policy is lost and cannot be installed
-- again.  The script gives all tables of the access method back to heap, which
-- can read them.  Run it as superuser, in each database that has the
-- extension:
--
--	psql -X -v ON_ERROR_STOP=1 -1 -f without_library.sql DATABASE
--
-- If the library exists, toast_policy.disable_all() does the same, with locks
-- and checks.  This script needs no locks and checks, since nobody can open
-- the tables without the library.  But restart the server before, so that no
-- session still has the library in memory.
--
-- After the script, DROP EXTENSION toast_policy works, unless columns of the
-- types ztext and zbytea exist.  If they exist, do not use CASCADE: it would
-- drop these columns, and only the library can read them.
--

-- this trigger calls the library for each DROP EXTENSION, DROP ACCESS METHOD,
-- DROP SCHEMA, DROP OWNED and DROP TYPE
ALTER EVENT TRIGGER toast_policy_guard DISABLE;

-- governed columns, and the columns of their partitioned tables, get their
-- type's default storage
UPDATE pg_catalog.pg_attribute a
SET attstorage = t.typstorage
FROM pg_catalog.pg_class c
	JOIN pg_catalog.pg_am m ON m.oid OPERATOR(pg_catalog.=) c.relam,
	pg_catalog.pg_type t
WHERE m.amname OPERATOR(pg_catalog.=) 'toast_policy'
	AND (a.attrelid OPERATOR(pg_catalog.=) c.oid
		OR a.attrelid OPERATOR(pg_catalog.=) ANY
			(SELECT p.relid FROM pg_catalog.pg_partition_ancestors(c.oid) p))
	AND t.oid OPERATOR(pg_catalog.=) a.atttypid
	AND a.attnum OPERATOR(pg_catalog.>) 0
	AND NOT a.attisdropped
	AND a.attlen OPERATOR(pg_catalog.=) (-1)
	AND a.attstorage OPERATOR(pg_catalog.=) 'e'
	AND t.typstorage OPERATOR(pg_catalog.<>) 'e';

-- heap would also compress and move other values of a table with a low
-- toast_tuple_target, which toast_policy.enable_out_of_line() sets
UPDATE pg_catalog.pg_class c
SET reloptions = (SELECT pg_catalog.array_agg(o) FROM pg_catalog.unnest(c.reloptions) o
	WHERE o OPERATOR(pg_catalog.!~) '^toast_tuple_target=')
FROM pg_catalog.pg_am m
WHERE m.amname OPERATOR(pg_catalog.=) 'toast_policy'
	AND c.relam OPERATOR(pg_catalog.=) m.oid
	AND EXISTS (SELECT FROM pg_catalog.unnest(c.reloptions) o
		WHERE pg_catalog."substring"(o, '^toast_tuple_target=(\d+)$')::pg_catalog.int4 OPERATOR(pg_catalog.<) 2032);

-- the tables no longer depend on the access method (no dependency on heap is
-- recorded)
DELETE FROM pg_catalog.pg_depend d
USING pg_catalog.pg_am m
WHERE m.amname OPERATOR(pg_catalog.=) 'toast_policy'
	AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_am'::pg_catalog.regclass
	AND d.refobjid OPERATOR(pg_catalog.=) m.oid
	AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
	AND d.deptype OPERATOR(pg_catalog.=) 'n';

-- the tables get access method heap; a partitioned table gets none
UPDATE pg_catalog.pg_class c
SET relam = CASE WHEN c.relkind OPERATOR(pg_catalog.=) 'p' THEN 0 ELSE h.oid END
FROM pg_catalog.pg_am m, pg_catalog.pg_am h
WHERE m.amname OPERATOR(pg_catalog.=) 'toast_policy'
	AND h.amname OPERATOR(pg_catalog.=) 'heap'
	AND c.relam OPERATOR(pg_catalog.=) m.oid;
