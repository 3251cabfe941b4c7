-- What anybody may do with the objects of the extension, and which of its functions
-- run as their owner.  A privilege that comes or goes shows here.
CREATE TEMP VIEW objects AS
SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'pg_dense';

CREATE TEMP VIEW granted AS
SELECT 'schema' AS kind, nspname::text AS name, nspacl AS acl, acldefault('n', nspowner) AS usual
FROM pg_namespace JOIN objects ON classid = 'pg_namespace'::regclass AND objid = oid
UNION ALL
SELECT CASE relkind WHEN 'v' THEN 'view' WHEN 'S' THEN 'sequence' ELSE 'table' END,
  oid::regclass::text, relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner)
FROM pg_class JOIN objects ON classid = 'pg_class'::regclass AND objid = oid AND relkind <> 'c'
UNION ALL
SELECT 'type', format_type(oid, NULL), typacl, acldefault('T', typowner)
FROM pg_type JOIN objects ON classid = 'pg_type'::regclass AND objid = oid
WHERE typtype <> 'c' AND typcategory <> 'A'
UNION ALL
SELECT 'function', oid::regprocedure::text, proacl, acldefault('f', proowner)
FROM pg_proc JOIN objects ON classid = 'pg_proc'::regclass AND objid = oid;

SELECT DISTINCT kind, privilege_type, name COLLATE "C" AS name
FROM (SELECT kind, name, (aclexplode(coalesce(acl, usual))).* FROM granted) g
WHERE grantee = 0
ORDER BY 1, 2, 3;

-- what is nobody's but the owner's
SELECT kind, name COLLATE "C" AS name FROM granted
WHERE NOT EXISTS (SELECT FROM aclexplode(coalesce(acl, usual)) WHERE grantee = 0)
ORDER BY 1, 2;

-- No function runs as its owner.  Each one in SQL or PL/pgSQL has a search path of its own, except
-- the procedures, which commit and look up nothing.
SELECT oid::regprocedure FROM pg_proc JOIN objects ON classid = 'pg_proc'::regclass AND objid = oid WHERE prosecdef;
SELECT p.oid::regprocedure FROM pg_proc p JOIN objects ON classid = 'pg_proc'::regclass AND objid = p.oid
  JOIN pg_language l ON l.oid = prolang
WHERE lanname <> 'c' AND NOT coalesce(proconfig @> ARRAY['search_path=pg_catalog, pg_temp'], false) ORDER BY 1;
