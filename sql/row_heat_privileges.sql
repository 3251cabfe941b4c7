-- Show the privileges of every user on the objects of the extension.
\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/privileges.sql'
\set extension row_heat
\i :file
