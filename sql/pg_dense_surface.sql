-- What the extension gives to users, and that each such object has a comment
\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/surface.sql'
\set extensions pg_dense
\i :file
