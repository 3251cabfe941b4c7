--
-- Fixed-length strings.  Values mean the same as values of char(n), with two differences: the limit
-- is in bytes, and values that are too long are never truncated.
--
CREATE EXTENSION compact_char24;
CREATE EXTENSION compact_char8;
CREATE EXTENSION compact_char1;

SELECT typname, typlen, typbyval, typalign, typstorage, typcategory,
       typispreferred, typcollation::regcollation
FROM pg_type WHERE typname ~ '^compact_char' ORDER BY typlen;

-- A value takes exactly the length of its type in a row, without a header and without alignment
-- padding.
SELECT pg_column_size('a'::compact_char1) AS c1,
       pg_column_size('a'::compact_char8) AS c8,
       pg_column_size('a'::compact_char24) AS c24,
       pg_column_size(ROW('a'::compact_char1, 'b'::compact_char8, 'c'::compact_char1))
       - pg_column_size(ROW()) AS in_row;

--
-- Input: trailing blanks do not count, all other blanks do
--
CREATE TABLE words (id int, c compact_char8, b char(8));
INSERT INTO words VALUES
  (1, '', ''), (2, ' ', ' '), (3, 'abc', 'abc'), (4, 'abc   ', 'abc   '),
  (5, ' abc', ' abc'), (6, 'abcdefgh', 'abcdefgh'),
  (7, 'abcdefgh       ', 'abcdefgh       '), (8, NULL, NULL),
  (9, E'a\tb', E'a\tb'), (10, E'abc\n', E'abc\n'), (11, 'äöü', 'äöü'),
  (12, '€uro', '€uro');
SELECT id, '[' || format('%s', c) || ']' AS compact,
       format('%s', c) IS NOT DISTINCT FROM format('%s', b) AS same
FROM words WHERE id NOT IN (9, 10) ORDER BY id;
SELECT count(*) AS different FROM words
WHERE format('%s', c) IS DISTINCT FROM format('%s', b);

-- The limit is in bytes.
SELECT 'äöüß'::compact_char8;
SELECT 'abcdefghi'::compact_char8;
\set VERBOSITY sqlstate
SELECT 'abcdefghi'::compact_char8;
SELECT 'abcdefghi'::text::compact_char8;
SELECT compact_types.create_char(0);
SELECT 'a'::compact_char8 < min(s) FROM (VALUES ('a'::text COLLATE "C"), ('b' COLLATE "POSIX")) v (s);
\set VERBOSITY default
SELECT 'äöüßä'::compact_char8;
SELECT 'abcdefghi'::text::compact_char8;
SELECT 'abcdefghi'::varchar::compact_char8;
SELECT 'abcdefghi'::char(9)::compact_char8;
INSERT INTO words VALUES (13, 'abcdefghi');
INSERT INTO words SELECT 13, repeat('x', 9);
UPDATE words SET c = c || '123456789' WHERE id = 3;
COPY words (id, c) FROM stdin;
13	abcdefghi
\.
-- In a comparison as well, a constant of unknown type gets the type of the column.
SELECT count(*) FROM words WHERE c = 'abcdefghi';
SELECT count(*) FROM words WHERE c = 'abcdefghi'::text;
SELECT count(*) FROM words;
-- An invalid byte sequence is refused.
SELECT convert_from('\xe4'::bytea, 'UTF8')::compact_char8;

--
-- Casts
--
SELECT id, '[' || c::text || ']' AS text, '[' || c::varchar || ']' AS varchar,
       octet_length(c::char(10)) AS char10, octet_length(c::bpchar) AS bpchar,
       c::text IS NOT DISTINCT FROM b::text AS text_same,
       octet_length(c::bpchar) IS NOT DISTINCT FROM octet_length(b) AS bpchar_same
FROM words WHERE id NOT IN (9, 10) ORDER BY id;
-- JSON functions show the trailing blanks, as they do for char(n).
SELECT to_jsonb(c) AS jsonb, to_jsonb(c) IS NOT DISTINCT FROM to_jsonb(b) AS same,
       to_json(c)::text = to_json(b)::text AND json_build_array(c)::text = json_build_array(b)::text AS json_same
FROM words WHERE id NOT IN (9, 10) ORDER BY id;
SELECT castsource::regtype, casttarget::regtype, castcontext, castmethod
FROM pg_cast
WHERE castsource = 'compact_char8'::regtype OR casttarget = 'compact_char8'::regtype
ORDER BY castsource::regtype::text, casttarget::regtype::text;
SELECT 42::text::compact_char8, 'abc'::varchar(3)::compact_char8, 'abc '::char(5)::compact_char8;
-- A cast from one length to another goes through text.
SELECT 'abc'::compact_char8::text::compact_char24;
-- Functions of text get the value without its trailing blanks.
SELECT length(c), upper(c), c || '|', substr(c, 2, 2), c LIKE 'abc', md5(c) = md5('abc')
FROM words WHERE id = 4;
SELECT max(c), min(c) FROM words WHERE id BETWEEN 3 AND 7;

--
-- Comparison
--
CREATE TABLE samples (id int, s text);
INSERT INTO samples VALUES
  (1, ''), (2, 'a'), (3, 'a '), (4, 'A'), (5, 'b'), (6, 'ab'), (7, 'aB'),
  (8, E'a\x01'), (9, E'a\t'), (10, 'a b'), (11, 'ä'), (12, 'z'), (13, 'é'),
  (14, 'abcdefgh'), (15, 'abcdefg'), (16, ' a'), (17, '~'), (18, 'abcdefgz');
-- Compare the result of every operator with the result for char(n), for all pairs.
SELECT count(*) AS pairs,
       count(*) FILTER (WHERE (x.c = y.c) <> (x.b = y.b)) AS eq,
       count(*) FILTER (WHERE (x.c <> y.c) <> (x.b <> y.b)) AS ne,
       count(*) FILTER (WHERE (x.c < y.c) <> (x.b < y.b)) AS lt,
       count(*) FILTER (WHERE (x.c <= y.c) <> (x.b <= y.b)) AS le,
       count(*) FILTER (WHERE (x.c > y.c) <> (x.b > y.b)) AS gt,
       count(*) FILTER (WHERE (x.c >= y.c) <> (x.b >= y.b)) AS ge
FROM (SELECT s::compact_char8 AS c, s::char(8) AS b FROM samples) x,
     (SELECT s::compact_char8 AS c, s::char(8) AS b FROM samples) y;
-- Do the same with bpchar on either side.
SELECT count(*) FILTER (WHERE (x.c = y.b) <> (x.b = y.b) OR (x.b = y.c) <> (x.b = y.b)) AS eq,
       count(*) FILTER (WHERE (x.c <> y.b) <> (x.b <> y.b) OR (x.b <> y.c) <> (x.b <> y.b)) AS ne,
       count(*) FILTER (WHERE (x.c < y.b) <> (x.b < y.b) OR (x.b < y.c) <> (x.b < y.b)) AS lt,
       count(*) FILTER (WHERE (x.c <= y.b) <> (x.b <= y.b) OR (x.b <= y.c) <> (x.b <= y.b)) AS le,
       count(*) FILTER (WHERE (x.c > y.b) <> (x.b > y.b) OR (x.b > y.c) <> (x.b > y.b)) AS gt,
       count(*) FILTER (WHERE (x.c >= y.b) <> (x.b >= y.b) OR (x.b >= y.c) <> (x.b >= y.b)) AS ge
FROM (SELECT s::compact_char8 AS c, s::char(8) AS b FROM samples) x,
     (SELECT s::compact_char8 AS c, s::char(8) AS b FROM samples) y;
-- Do the same with text on either side.  Trailing blanks of text count.
SELECT count(*) FILTER (WHERE (x.c = y.s) <> (x.b::text = y.s) OR (y.s = x.c) <> (x.b::text = y.s)) AS eq,
       count(*) FILTER (WHERE (x.c <> y.s) <> (x.b::text <> y.s) OR (y.s <> x.c) <> (x.b::text <> y.s)) AS ne,
       count(*) FILTER (WHERE (x.c < y.s) <> (x.b::text < y.s) OR (y.s > x.c) <> (x.b::text < y.s)) AS lt,
       count(*) FILTER (WHERE (x.c <= y.s) <> (x.b::text <= y.s) OR (y.s >= x.c) <> (x.b::text <= y.s)) AS le,
       count(*) FILTER (WHERE (x.c > y.s) <> (x.b::text > y.s) OR (y.s < x.c) <> (x.b::text > y.s)) AS gt,
       count(*) FILTER (WHERE (x.c >= y.s) <> (x.b::text >= y.s) OR (y.s <= x.c) <> (x.b::text >= y.s)) AS ge
FROM (SELECT s::compact_char8 AS c, s::char(8) AS b FROM samples) x, samples y;
-- varchar is compared with this type as text is, and not as varchar is with char(n).  If there were
-- operators with varchar, the parser would consider them in every comparison of a varchar.
SELECT 'a'::compact_char8 = 'a  '::varchar AS varchar, 'a'::compact_char8 = 'a  '::bpchar AS bpchar,
       'a'::compact_char8 = 'a  '::text AS text;
-- The operators that complete the operator families have the same meaning.  The parser does not
-- choose them by itself, even if their schema is in the search_path.
SELECT count(*) FILTER (WHERE (x.s OPERATOR(compact_types.#=#) y.b) <> (x.s = y.b::text)) AS eq,
       count(*) FILTER (WHERE (y.b OPERATOR(compact_types.#<>#) x.s) <> (x.s <> y.b::text)) AS ne,
       count(*) FILTER (WHERE (x.s OPERATOR(compact_types.#<#) y.b) <> (x.s < y.b::text)) AS lt,
       count(*) FILTER (WHERE (y.b OPERATOR(compact_types.#<=#) x.s) <> (x.s >= y.b::text)) AS le,
       count(*) FILTER (WHERE (x.s OPERATOR(compact_types.#>#) y.b) <> (x.s > y.b::text)) AS gt,
       count(*) FILTER (WHERE (y.b OPERATOR(compact_types.#>=#) x.s) <> (x.s <= y.b::text)) AS ge
FROM samples x, (SELECT s, s::char(8) AS b FROM samples) y;
SET search_path = public, compact_types;
SELECT 'a'::char(3) = 'a '::varchar AS as_in_core, 'a'::char(3) = 'a '::text AS as_in_core_too;
SELECT count(*) FROM samples x JOIN samples y ON x.s = y.s::char(8);
SELECT count(*) FROM samples x WHERE s IN (SELECT s::char(8) FROM samples);
RESET search_path;
SELECT count(*) FROM samples x FULL JOIN samples y ON x.s OPERATOR(compact_types.#=#) y.s::char(8);
-- Compare the order of sorted values.
SELECT array_agg(id ORDER BY s::compact_char8, id) = array_agg(id ORDER BY s::char(8), id) AS ascending,
       array_agg(id ORDER BY s::compact_char8 DESC, id) = array_agg(id ORDER BY s::char(8) DESC, id) AS descending
FROM samples;
-- Hash values are the same as those of the equal text and bpchar.
SELECT count(*) FILTER (WHERE compact_types.compact_char8_hash(s::compact_char8) <> hashbpchar(s::char(8))) AS bpchar,
       count(*) FILTER (WHERE compact_types.compact_char8_hash(s::compact_char8) <> hashtext(s::char(8)::text)) AS text,
       count(*) FILTER (WHERE compact_types.compact_char8_hash_extended(s::compact_char8, 42) <> hashtextextended(s::char(8)::text, 42)) AS extended
FROM samples;
-- A comparison of two lengths needs a cast.
\set VERBOSITY terse
SELECT 'a'::compact_char8 = 'a'::compact_char24;
\set VERBOSITY default
SELECT 'a'::compact_char8 = 'a'::compact_char24::text AS equal;
-- Test collations.
SELECT 'a'::compact_char8 COLLATE "C" < 'b'::compact_char8 COLLATE "POSIX";
SELECT (SELECT string_agg(s::compact_char8::text, ' ' ORDER BY s::compact_char8 COLLATE "C")
        FROM samples WHERE id IN (2, 4, 5, 6, 7)) AS c_order;

--
-- Arrays, composites, domains, set operations, windows
--
SELECT '{a,"b c",NULL}'::compact_char8[], ARRAY['b', 'a']::compact_char8[] < ARRAY['b', 'b']::compact_char8[],
       ARRAY['x', 'y']::compact_char8[] @> ARRAY['y']::compact_char8[];
SELECT ROW('a'::compact_char8, 1) < ROW('b'::compact_char8, 0) AS row_lt;
CREATE DOMAIN zip AS compact_char8 CHECK (VALUE::text ~ '^[0-9]*$');
SELECT '12345'::zip, '12345'::zip = '12345'::text AS equal;
SELECT 'x'::zip;
SELECT DISTINCT s::compact_char8 FROM samples WHERE id IN (2, 3, 5) ORDER BY 1;
SELECT s::compact_char8 FROM samples WHERE id = 2 UNION SELECT s::compact_char8 FROM samples WHERE id IN (3, 5) ORDER BY 1;
SELECT s::compact_char8, rank() OVER (ORDER BY s::compact_char8) FROM samples WHERE id IN (2, 3, 5) ORDER BY 2, 1;
SELECT CASE WHEN true THEN 'a'::compact_char8 ELSE 'b' END, coalesce(NULL::compact_char8, 'c');

--
-- Binary format
--
SELECT count(*) AS different FROM samples
WHERE compact_types.compact_char8_send(s::compact_char8) <> bpcharsend(s::char(8));

--
-- Creation
--
SELECT compact_types.create_char(0);
SELECT compact_types.create_char(-1);
SELECT compact_types.create_char(32768);
SELECT compact_types.create_char(NULL) IS NULL AS null_for_null;
SELECT compact_types.create_char(8);
SELECT compact_types.create_char(3);
SELECT 'abc'::compact_char3, extname FROM pg_extension WHERE extname = 'compact_char3';
-- Test a length without an extension of its own.
SELECT compact_types.create_char(100);
\set VERBOSITY terse
DROP TYPE compact_char100;
DROP TYPE compact_char100 CASCADE;
\set VERBOSITY default
SELECT compact_types.create_char(100);
SELECT opfname FROM pg_opfamily WHERE opfname ~ 'char100' ORDER BY 1;
SELECT compact_types.create_char(32767);
SELECT octet_length(repeat('x', 32767)::text::compact_char32767::text);
SELECT compact_types.create_char(32767);
CREATE SCHEMA other;
SET search_path = other;
SELECT compact_types.create_char(32767);
SELECT compact_types.create_char(4);
SELECT 'abcd'::other.compact_char4;
SET search_path = pg_temp;
SELECT compact_types.create_char(5);
SET search_path = '';
SELECT compact_types.create_char(5);
RESET search_path;
-- The creation of a type does not need a superuser if the extension is installed.
CREATE ROLE regress_compact_types_user;
SET ROLE regress_compact_types_user;
SELECT compact_types.create_char(1000);
CREATE EXTENSION compact_char5;
RESET ROLE;
DO $$ BEGIN
  EXECUTE format('GRANT CREATE ON DATABASE %I TO regress_compact_types_user', current_database());
END $$;
CREATE SCHEMA mine AUTHORIZATION regress_compact_types_user;
SET ROLE regress_compact_types_user;
SET search_path = mine;
CREATE EXTENSION compact_char5;
SELECT compact_types.create_char(6);
SELECT 'abcde'::compact_char5, 'abcdef'::compact_char6;
RESET ROLE;
RESET search_path;
DROP EXTENSION compact_char5, compact_char6;
-- If another user has made one of the objects of an extension, the creation of the extension fails.
\set SHOW_CONTEXT never
CREATE FUNCTION compact_types.compact_char9_in(cstring) RETURNS text LANGUAGE internal AS 'textin';
CREATE EXTENSION compact_char9;
\set SHOW_CONTEXT errors
DROP FUNCTION compact_types.compact_char9_in(cstring);
CREATE EXTENSION compact_char9;
-- All operator classes are complete.
SELECT amname, opcname FROM pg_opclass JOIN pg_am a ON a.oid = opcmethod
WHERE opcname ~ '^compact_' AND NOT amvalidate(pg_opclass.oid) ORDER BY 1, 2;
-- No operator lacks its commutator or negator, and no operator is only declared.  As in core,
-- operators of patterns have no commutator, and ^@ has no negator.  compact_types_scalar.sql tests
-- the stand-ins (internal types that literals and operands of scalars get).
SELECT oprname, oprleft::regtype, oprright::regtype FROM pg_operator
WHERE (oprcode = 0 OR (oprcom = 0 AND oprname !~ '[~@]') OR (oprnegate = 0 AND oprname <> '^@'))
  AND (oprleft::regtype::text ~ 'compact' OR oprright::regtype::text ~ 'compact')
  AND (oprcode = 0 OR (oprleft::regtype::text || oprright::regtype::text) !~ 'compact_types\.')
ORDER BY 1, 2, 3;

--
-- Dropping
--
DROP DOMAIN zip;
DROP EXTENSION compact_char8;
DROP TABLE words;
DROP EXTENSION compact_char8;
\set VERBOSITY terse
DROP EXTENSION compact_types;
DROP EXTENSION compact_types CASCADE;
\set VERBOSITY default
SELECT typname FROM pg_type WHERE typname ~ 'compact_char';
SELECT count(*) AS left_over FROM pg_operator o
WHERE NOT EXISTS (SELECT FROM pg_type WHERE oid = oprright);
DROP TABLE samples;
DROP SCHEMA other;
SELECT nspname FROM pg_namespace WHERE nspname = 'compact_types';

--
-- If an ordinary user creates the extension, this user gets no access to objects of the superuser,
-- and owns neither the schema of the extension nor the functions that its scripts call
--
SET ROLE regress_compact_types_user;
SET search_path = mine;
CREATE EXTENSION compact_types;
ALTER SCHEMA compact_types RENAME TO gone;
DROP SCHEMA compact_types CASCADE;
CREATE FUNCTION compact_types.create_char(int2) RETURNS regtype LANGUAGE sql RETURN 'int4'::regtype;
CREATE OR REPLACE FUNCTION compact_types.create_char(length int4) RETURNS regtype LANGUAGE sql RETURN 'int4'::regtype;
DROP FUNCTION compact_types.create_char(int4);
ALTER EXTENSION compact_types DROP FUNCTION compact_types.create_char(int4);
ALTER EXTENSION compact_types DROP SCHEMA compact_types;
CREATE EXTENSION compact_char8;
DROP OPERATOR pg_catalog.< (compact_char8, compact_char8) CASCADE;
DROP FUNCTION compact_types.compact_char8_in(cstring) CASCADE;
ALTER EXTENSION compact_char8 DROP TYPE compact_char8;
SELECT compact_types.create_char(1000);
RESET ROLE;
-- A superuser does not create objects in this extension that the user could drop.
\set VERBOSITY terse
SELECT compact_types.create_char(200);
RESET search_path;
-- If a schema of the same name exists already, CREATE EXTENSION fails and does not use it.
DROP EXTENSION compact_types CASCADE;
CREATE SCHEMA compact_types;
CREATE EXTENSION compact_types;
\set VERBOSITY default
DROP SCHEMA compact_types, mine CASCADE;
DO $$ BEGIN
  EXECUTE format('REVOKE CREATE ON DATABASE %I FROM regress_compact_types_user', current_database());
END $$;
DROP ROLE regress_compact_types_user;
CREATE EXTENSION compact_types;
