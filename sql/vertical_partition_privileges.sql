--
-- Show the privileges of every user on the objects of the extension, and the functions that run as
-- their owner.
--
-- PUBLIC may execute many functions.  Without this privilege, owners could not split their own
-- tables.  Each function checks who owns the table that it gets.
SELECT 'schema' AS kind, n.nspname::text AS name, string_agg(x.privilege_type, ', ' ORDER BY x.privilege_type) AS public
FROM pg_depend d JOIN pg_namespace n ON n.oid = d.objid,
    aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) x
WHERE d.classid = 'pg_namespace'::regclass AND d.deptype = 'e' AND x.grantee = 0
    AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'vertical_partition')
GROUP BY n.nspname
UNION ALL
SELECT CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'S' THEN 'sequence' ELSE c.relkind::text END, c.oid::regclass::text,
    string_agg(x.privilege_type, ', ' ORDER BY x.privilege_type)
FROM pg_depend d JOIN pg_class c ON c.oid = d.objid,
    aclexplode(coalesce(c.relacl, acldefault((CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END)::"char", c.relowner))) x
WHERE d.classid = 'pg_class'::regclass AND d.deptype = 'e' AND x.grantee = 0
    AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'vertical_partition')
GROUP BY c.relkind, c.oid
UNION ALL
SELECT 'type', t.oid::regtype::text, string_agg(x.privilege_type, ', ' ORDER BY x.privilege_type)
FROM pg_depend d JOIN pg_type t ON t.oid = d.objid, aclexplode(coalesce(t.typacl, acldefault('T', t.typowner))) x
WHERE d.classid = 'pg_type'::regclass AND d.deptype = 'e' AND x.grantee = 0 AND t.typelem = 0
    AND NOT EXISTS (SELECT FROM pg_class c WHERE c.reltype = t.oid AND c.relkind <> 'c')
    AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'vertical_partition')
GROUP BY t.oid
ORDER BY 1, 2;
SELECT p.oid::regprocedure AS function, CASE WHEN p.prosecdef THEN 'as its owner' ELSE 'as the caller' END AS runs,
    EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x WHERE x.grantee = 0) AS public
FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
    AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'vertical_partition')
ORDER BY p.proname COLLATE "C", p.oid::regprocedure::text COLLATE "C";
-- Functions in SQL or PL/pgSQL have a search_path with only the built-in names.
SELECT p.oid::regprocedure AS function, p.proconfig
FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid JOIN pg_language l ON l.oid = p.prolang
WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e' AND l.lanname <> 'c'
    AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'vertical_partition')
    AND NOT coalesce(p.proconfig, '{}') @> '{"search_path=pg_catalog, pg_temp"}';
