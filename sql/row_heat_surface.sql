-- List the objects that the extension offers to users, and check that each one has a comment.
\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/surface.sql'
\set extensions row_heat
\i :file
