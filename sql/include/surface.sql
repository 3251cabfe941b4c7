-- This file lists the objects that the extensions in the psql variable "extensions" offer to users.
-- Each sql/EXTENSION_surface.sql includes it.  The output also shows objects without a comment, and
-- functions that PUBLIC may execute.
CREATE TEMP VIEW members AS
SELECT d.classid, d.objid, i.schema LIKE '%\_internal' AS is_internal
FROM pg_extension e
    JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e',
    LATERAL (SELECT coalesce((pg_identify_object(d.classid, d.objid, 0)).schema, '')) i (schema)
WHERE e.extname = ANY (string_to_array(:'extensions', ' '));
-- This view leaves out functions with an argument of type internal, which only the server can call.
-- It leaves out functions that implement types, casts, operators, operator classes and aggregates.
-- It also leaves out aggregates, which do the same as core's aggregates of the same name.
CREATE TEMP VIEW functions AS
SELECT p.oid, p.oid::regprocedure::text COLLATE "C" AS name, p.proname, m.is_internal,
    has_function_privilege('public', p.oid, 'EXECUTE') AS public, obj_description(p.oid, 'pg_proc') AS comment
FROM members m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
WHERE p.prokind <> 'a'
    AND 'internal'::regtype <> ALL (p.proargtypes::oid[])
    AND NOT EXISTS (SELECT FROM pg_type t WHERE p.oid IN (t.typinput, t.typoutput, t.typreceive, t.typsend, t.typmodin, t.typmodout))
    AND NOT EXISTS (SELECT FROM pg_cast c WHERE c.castfunc = p.oid)
    AND NOT EXISTS (SELECT FROM pg_operator o WHERE o.oprcode = p.oid)
    AND NOT EXISTS (SELECT FROM pg_amproc a WHERE a.amproc = p.oid)
    AND NOT EXISTS (SELECT FROM pg_aggregate a WHERE p.oid IN (a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn));
-- List the functions for users, and whether PUBLIC may execute them.  Leave out functions in
-- pg_catalog, which do the same as core's functions of the same name.
SELECT name, public, comment FROM functions f
WHERE NOT is_internal AND NOT EXISTS (SELECT FROM pg_proc p WHERE p.oid = f.oid AND p.pronamespace = 'pg_catalog'::regnamespace)
ORDER BY name;
-- List the internal functions that PUBLIC may execute, because functions for users call them as the
-- user.
SELECT proname FROM functions WHERE is_internal AND public ORDER BY proname COLLATE "C";
-- No user may write to the internal tables.
SELECT c.oid::regclass AS relation FROM members m JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid
WHERE m.is_internal AND has_table_privilege('public', c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER');
-- No object for users is without a comment.
SELECT name FROM functions WHERE NOT is_internal AND comment IS NULL
UNION ALL
SELECT pg_describe_object(m.classid, m.objid, 0) FROM members m
WHERE obj_description(m.objid, m.classid::regclass::text::name) IS NULL AND NOT m.is_internal
    AND CASE m.classid
        WHEN 'pg_class'::regclass THEN true
        WHEN 'pg_type'::regclass THEN EXISTS (SELECT FROM pg_type t WHERE t.oid = m.objid AND t.typrelid = 0 AND t.typcategory <> 'A')
        ELSE m.classid IN ('pg_namespace'::regclass, 'pg_event_trigger'::regclass, 'pg_am'::regclass) END
UNION ALL
SELECT pg_describe_object(m.classid, m.objid, a.attnum)
FROM members m JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid AND c.relkind = 'v'
    JOIN pg_attribute a ON a.attrelid = c.oid
WHERE NOT m.is_internal AND col_description(c.oid, a.attnum) IS NULL
ORDER BY 1;
DROP VIEW functions, members;
