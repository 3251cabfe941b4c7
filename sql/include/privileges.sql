-- This file shows the privileges of every user on the objects of the extension in the psql variable
-- "extension", and the functions that run as their owner.  A new or a missing privilege changes the
-- output.  The view "objects" stays, for queries that only one extension needs.
CREATE TEMP VIEW objects AS
SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = :'extension';

CREATE TEMP VIEW granted AS
SELECT 'schema' AS kind, nspname::text AS name, nspacl AS acl, acldefault('n', nspowner) AS usual
FROM pg_namespace JOIN objects ON classid = 'pg_namespace'::regclass AND objid = oid
UNION ALL
SELECT CASE relkind WHEN 'v' THEN 'view' WHEN 'S' THEN 'sequence' ELSE 'table' END,
  oid::regclass::text, relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner)
FROM pg_class JOIN objects ON classid = 'pg_class'::regclass AND objid = oid AND relkind <> 'c'
UNION ALL
SELECT 'column', attrelid::regclass || '.' || attname, attacl, NULL
FROM pg_attribute JOIN objects ON classid = 'pg_class'::regclass AND objid = attrelid
UNION ALL
SELECT 'type', format_type(oid, NULL), typacl, acldefault('T', typowner)
FROM pg_type JOIN objects ON classid = 'pg_type'::regclass AND objid = oid
WHERE typtype <> 'c' AND typcategory <> 'A'
UNION ALL
SELECT CASE prokind WHEN 'p' THEN 'procedure' ELSE 'function' END,
  oid::regprocedure::text, proacl, acldefault('f', proowner)
FROM pg_proc JOIN objects ON classid = 'pg_proc'::regclass AND objid = oid;

SELECT DISTINCT kind, privilege_type, name COLLATE "C" AS name
FROM (SELECT kind, name, (aclexplode(coalesce(acl, usual))).* FROM granted) g
WHERE grantee = 0
ORDER BY 1, 2, 3;

-- These are the objects that only the owner may use.
SELECT kind, name COLLATE "C" AS name FROM granted
WHERE kind <> 'column'
  AND NOT EXISTS (SELECT FROM aclexplode(coalesce(acl, usual)) WHERE grantee = 0)
ORDER BY 1, 2;

-- Show the access methods, which have no privileges, and the functions that run as their owner.
SELECT amname FROM pg_am JOIN objects ON classid = 'pg_am'::regclass AND objid = oid;
SELECT oid::regprocedure AS security_definer FROM pg_proc JOIN objects ON classid = 'pg_proc'::regclass AND objid = oid WHERE prosecdef;

-- No other role has any privilege.
SELECT kind, name, grantee::regrole
FROM (SELECT kind, name, (aclexplode(acl)).grantee FROM granted) g
WHERE grantee NOT IN (0, (SELECT extowner FROM pg_extension WHERE extname = :'extension'));
