-- Show the privileges of every user on the objects of the extension.
\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/privileges.sql'
\set extension pg_dense
\i :file

-- Each function in SQL or PL/pgSQL has a search path of its own, except
-- the procedures, which commit and look up nothing.
SELECT p.oid::regprocedure FROM pg_proc p JOIN objects ON classid = 'pg_proc'::regclass AND objid = p.oid
  JOIN pg_language l ON l.oid = prolang
WHERE lanname <> 'c' AND NOT coalesce(proconfig @> ARRAY['search_path=pg_catalog, pg_temp'], false) ORDER BY 1;
