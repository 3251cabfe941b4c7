-- List the objects that the extension, one of its string types and one of its decimal types offer
-- to users, and check that each one has a comment.
SET client_min_messages = warning;
CREATE EXTENSION compact_char8;
CREATE EXTENSION compact_decimal4_2;
\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/surface.sql'
\set extensions 'compact_types compact_char8 compact_decimal4_2'
\i :file
DROP EXTENSION compact_char8, compact_decimal4_2;
