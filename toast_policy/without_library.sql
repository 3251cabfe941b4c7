/* toast_policy/without_library.sql */

--
-- The way out when the library toast_policy is gone and cannot be installed again:
-- gives all tables of the access method back to heap, which reads what they hold.
-- For a superuser, in each database that has the extension:
--
--	psql -X -v ON_ERROR_STOP=1 -1 -f without_library.sql DATABASE
--
-- Where the library is there, toast_policy.disable_all() does the same, with locks
-- and checks.  This script needs none, since nobody can open the tables without the
-- library; but restart the server before, lest a session still has it in memory.
--
-- DROP EXTENSION toast_policy works afterwards, and is refused as long as columns
-- of the types ztext and zbytea exist.  Do not say CASCADE then, which would drop
-- these columns: only the library can read them.
--

-- calls the library at each DROP EXTENSION, DROP SCHEMA and DROP OWNED
ALTER EVENT TRIGGER toast_policy_guard DISABLE;

-- the governed columns, and those that they were partitioned from, get their type's
-- default storage
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

-- the tables no longer depend on the access method (on heap nothing does)
DELETE FROM pg_catalog.pg_depend d
USING pg_catalog.pg_am m
WHERE m.amname OPERATOR(pg_catalog.=) 'toast_policy'
	AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_am'::pg_catalog.regclass
	AND d.refobjid OPERATOR(pg_catalog.=) m.oid
	AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
	AND d.deptype OPERATOR(pg_catalog.=) 'n';

-- and are heap's; a partitioned table has no access method of its own
UPDATE pg_catalog.pg_class c
SET relam = CASE WHEN c.relkind OPERATOR(pg_catalog.=) 'p' THEN 0 ELSE h.oid END
FROM pg_catalog.pg_am m, pg_catalog.pg_am h
WHERE m.amname OPERATOR(pg_catalog.=) 'toast_policy'
	AND h.amname OPERATOR(pg_catalog.=) 'heap'
	AND c.relam OPERATOR(pg_catalog.=) m.oid;
