-- List the objects that the extension, one of its string types, one of its decimal types and
-- compact_trgm offer to users, and check that each one has a comment.
SET client_min_messages = warning;
CREATE EXTENSION compact_char8;
CREATE EXTENSION compact_decimal4_2;
CREATE EXTENSION compact_trgm CASCADE;
\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/surface.sql'
\set extensions 'compact_types compact_char8 compact_decimal4_2 compact_trgm'
\i :file
DROP EXTENSION compact_char8, compact_decimal4_2, compact_trgm, pg_trgm;
