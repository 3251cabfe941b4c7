--
-- Show the privileges of every user on the extension, one of its string types, one of its decimal
-- types, one of its trained types and compact_trgm.  A new object on which PUBLIC has a privilege changes the output.
--
CREATE EXTENSION compact_char8;
CREATE EXTENSION compact_decimal4_2;
CREATE EXTENSION trained_text1;
SET client_min_messages = warning;
CREATE EXTENSION compact_trgm CASCADE;
RESET client_min_messages;
SET search_path = pg_catalog;
CREATE TEMP VIEW members AS
SELECT e.extname, d.classid, d.objid
FROM pg_extension e JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
WHERE e.extname IN ('compact_types', 'compact_char8', 'compact_decimal4_2', 'trained_text1', 'compact_trgm');
CREATE TEMP VIEW granted AS
SELECT m.extname, m.classid, m.objid, a.kind, a.name, x.grantee, x.privilege_type, x.is_grantable
FROM members m
JOIN (SELECT 'pg_class'::regclass, oid, CASE relkind WHEN 'v' THEN 'view' WHEN 'S' THEN 'sequence' ELSE 'table' END, oid::regclass::text,
             COALESCE(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner))
      FROM pg_class
      UNION ALL SELECT 'pg_class'::regclass, attrelid, 'column', format('%s.%I', attrelid::regclass, attname), attacl FROM pg_attribute
      UNION ALL SELECT 'pg_type'::regclass, oid, 'type', replace(typname, 'public.', ''), COALESCE(typacl, acldefault('T', typowner)) FROM pg_type
      -- Array and row types are members only in some releases, with the element's privileges.
      WHERE typcategory <> 'A' AND typrelid = 0
      UNION ALL SELECT 'pg_proc'::regclass, oid, CASE prokind WHEN 'a' THEN 'aggregate' ELSE 'function' END, replace(oid::regprocedure::text, 'public.', ''), COALESCE(proacl, acldefault('f', proowner)) FROM pg_proc
      UNION ALL SELECT 'pg_namespace'::regclass, oid, 'schema', nspname, COALESCE(nspacl, acldefault('n', nspowner)) FROM pg_namespace
     ) a (classid, objid, kind, name, acl) ON (a.classid, a.objid) = (m.classid, m.objid),
  aclexplode(a.acl) x;

-- The other kinds of objects have no privileges.
SELECT DISTINCT classid::regclass::text COLLATE "C" AS catalog FROM members
WHERE classid NOT IN ('pg_class'::regclass, 'pg_type'::regclass, 'pg_proc'::regclass, 'pg_namespace'::regclass) ORDER BY 1;
-- Only PUBLIC and the owner, a superuser, have privileges.  The database owner may create dictionaries,
-- to restore a dump.
SELECT kind, privilege_type, count(*) FROM granted WHERE grantee = 0 GROUP BY 1, 2 ORDER BY 1, 2;
SELECT grantee::regrole, kind, name, privilege_type FROM granted WHERE grantee <> 0 AND grantee <> 10;
SELECT count(*) FROM granted WHERE grantee = 0 AND is_grantable;
SELECT kind, name, privilege_type FROM granted WHERE grantee = 0 AND kind NOT IN ('function', 'aggregate') ORDER BY kind, name COLLATE "C", privilege_type;
-- Group the functions by the object that calls them, and list functions that only users call by
-- name.
CREATE TEMP VIEW callers AS
SELECT g.objid, g.name, p.provolatile, CASE
  WHEN g.kind = 'aggregate' THEN 'aggregate'
  WHEN EXISTS (SELECT FROM pg_type t WHERE g.objid IN (t.typinput, t.typoutput, t.typreceive, t.typsend, t.typmodin, t.typmodout, t.typanalyze)) THEN 'input and output'
  WHEN EXISTS (SELECT FROM pg_cast c WHERE c.castfunc = g.objid) THEN 'cast'
  WHEN EXISTS (SELECT FROM pg_operator o WHERE o.oprcode = g.objid) THEN 'operator'
  WHEN EXISTS (SELECT FROM pg_operator o WHERE g.objid IN (o.oprrest, o.oprjoin)) THEN 'selectivity'
  WHEN EXISTS (SELECT FROM pg_proc s WHERE s.prosupport = g.objid) THEN 'planner support'
  WHEN EXISTS (SELECT FROM pg_amproc a WHERE a.amproc = g.objid) THEN 'index support'
  WHEN EXISTS (SELECT FROM pg_aggregate a WHERE g.objid IN (a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn))
    THEN 'part of an aggregate'
  END AS caller
FROM granted g JOIN pg_proc p ON p.oid = g.objid WHERE g.grantee = 0 AND g.classid = 'pg_proc'::regclass;
SELECT caller, provolatile, count(*) FROM callers WHERE caller IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2;
SELECT name, provolatile FROM callers WHERE caller IS NULL ORDER BY name COLLATE "C";
-- No function runs as its owner.
SELECT objid::regprocedure FROM members JOIN pg_proc p ON p.oid = objid WHERE classid = 'pg_proc'::regclass AND prosecdef;
SELECT count(*) FROM members JOIN pg_proc p ON p.oid = objid WHERE classid = 'pg_proc'::regclass AND (proowner <> 10 OR prolang NOT IN (SELECT oid FROM pg_language WHERE lanname IN ('c', 'internal')) AND prosqlbody IS NULL AND prokind <> 'a');
SELECT count(*) FROM members JOIN pg_type t ON t.oid = objid WHERE classid = 'pg_type'::regclass AND typowner <> 10;
DROP VIEW callers, granted, members;
RESET search_path;
DROP EXTENSION compact_char8, compact_decimal4_2, trained_text1, compact_trgm, pg_trgm;
