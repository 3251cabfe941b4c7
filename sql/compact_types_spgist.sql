--
-- SP-GiST indexes on compact_text
--
\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/plan_has.sql'
\i :file

CREATE TABLE words (n int, c compact_text, l compact_text(40) COLLATE "C", t text);
INSERT INTO words SELECT i, s, s, s
FROM (SELECT i, CASE i % 4 WHEN 0 THEN md5(i::text) WHEN 1 THEN 'the word ' || i WHEN 2 THEN 'слово ' || i ELSE '単語と' || i END AS s
      FROM generate_series(1, 4000) i) x;
INSERT INTO words VALUES (-1, '', '', ''), (-2, NULL, NULL, NULL), (-3, '  ', '  ', '  ');
-- Values that are compressed or out of line, with common beginnings
INSERT INTO words SELECT -i, s, NULL, s FROM (SELECT i, repeat('long ', 1000 * (i - 3)) || i FROM generate_series(4, 6) i) x (i, s);

-- The class is complete.  Core's class also has the operators ~<~, ~<=~, ~>=~ and ~>~ of text.
SELECT opcname, opcdefault, opckeytype::regtype, amvalidate(oid) FROM pg_opclass
WHERE opcintype = 'compact_text'::regtype AND opcmethod = (SELECT oid FROM pg_am WHERE amname = 'spgist');
SELECT amopstrategy, amopopr::regoperator FROM pg_amop
WHERE amopfamily = (SELECT oid FROM pg_opfamily WHERE opfname = 'compact_text_spgist_ops') ORDER BY 1, 2;

-- The classes of core are replaced.
CREATE INDEX w_c ON words USING spgist (c text_ops);
CREATE INDEX w_l ON words USING spgist (l);
CREATE UNIQUE INDEX ON words USING spgist (c);
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'words' ORDER BY 1;
ANALYZE words;

CREATE TABLE conditions (id int, condition text);
INSERT INTO conditions VALUES
  (1, $$X = 'the word 1001'$$), (2, $$X = 'the word 1001'::text$$), (3, $$'the word 1001'::varchar = X$$), (4, $$X = ''$$),
  (5, $$X LIKE 'the word 10%'$$), (6, $$X LIKE 'слово 1%4'$$), (7, $$X LIKE 'the word 1001'$$), (8, $$X ^@ '単語と12'$$),
  (9, $$X ~ '^the word 12[3-5]'$$), (10, $$X < 'b'$$), (11, $$X >= 'слово 3' AND X < 'слово 4'::text$$), (12, $$X > '単語'::text$$),
  (13, $$X <= ''$$), (14, $$X LIKE 'long long long%5'$$), (15, $$X LIKE ' %'$$), (16, $$X LIKE 'the\_word%'$$), (17, $$X ^@ ''$$), (18, $$X ^@ NULL$$),
  (19, $$X = repeat('long ', 2000) || 5$$), (20, $$X = '  '::text$$), (21, $$X IS NULL$$), (22, $$X COLLATE "C" = 'the word 1001'$$), (23, $$X ~* '^12[34]5?$'$$);
-- Return the number of rows that the condition finds, and a checksum of them.
CREATE FUNCTION found(condition text, col text, minimum int DEFAULT -6) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  EXECUTE format('SELECT count(*) || '' '' || md5(string_agg(n::text, '','' ORDER BY n)) FROM words WHERE n >= %s AND (%s)',
                 minimum, replace(condition, 'X', col)) INTO result;
  RETURN result;
END $$;
CREATE TABLE expected AS SELECT id, condition, found(condition, 't') AS found, found(condition, 't', -3) AS short FROM conditions;
SET enable_seqscan = off;
SELECT * FROM expected WHERE found IS DISTINCT FROM found(condition, 'c') OR short IS DISTINCT FROM found(condition, 'l', -3);
SELECT count(*), count(*) FILTER (WHERE found ~ '^0 ' OR found IS NULL) AS empty FROM expected;
SET search_path = '';
SELECT id, public.plan_has('SELECT n FROM public.words WHERE ' || replace(condition, 'X', 'c'), 'w_c.*Index Cond') AS c,
       public.plan_has('SELECT n FROM public.words WHERE ' || replace(condition, 'X', 'l'), 'w_l.*Index Cond') AS l
FROM public.conditions WHERE condition !~ 'NULL' AND id <> 23 ORDER BY id;
RESET search_path;
SELECT plan_has($$SELECT n FROM words WHERE c LIKE 'the word 10%'$$, 'c \^@ ''the word 10''::text');
-- An index-only scan returns values of the type.
VACUUM words;
SELECT plan_has($$SELECT c FROM words WHERE c ^@ 'the word 10'$$, 'Index Only Scan using w_c'), plan_has($$SELECT l FROM words WHERE l < 'b'$$, 'Index Only Scan using w_l');
SELECT c, pg_typeof(c), compact_types.codec(c), pg_column_size(c) FROM words WHERE c ^@ 'the word 100' ORDER BY c;
SELECT count(*), md5(string_agg(c, ',' ORDER BY c COLLATE "C")) = (SELECT md5(string_agg(t, ',' ORDER BY t COLLATE "C")) FROM words) AS same FROM words WHERE c >= '';
SELECT count(*) FROM words WHERE l >= '' AND NOT record_image_eq(ROW(l), ROW(l::text::compact_text));
-- Test parameters without a type, and joins.
SET plan_cache_mode = force_generic_plan;
PREPARE p AS SELECT n FROM words WHERE c LIKE $1;
PREPARE q AS SELECT n FROM words WHERE c = $1;
PREPARE r(text) AS SELECT n FROM words WHERE c ^@ $1;
SELECT plan_has($$EXECUTE q('the word 1001')$$, 'w_c.*Index Cond'), plan_has($$EXECUTE r('the word 1001')$$, 'w_c.*Index Cond');
EXECUTE p('the word 1001%');
EXECUTE q('the word 1001');
EXECUTE r('the word 1001');
RESET plan_cache_mode;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT plan_has('SELECT * FROM (VALUES (''the word 1001''::text), (''x'')) v (x) JOIN words ON c = x', 'w_c'), count(*) FROM (VALUES ('the word 1001'::text), ('x')) v (x) JOIN words ON c = x;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
-- Insert into the index, and vacuum it.
INSERT INTO words SELECT i, 'the word ' || i, NULL, 'the word ' || i FROM generate_series(10000, 12000) i;
DELETE FROM words WHERE n BETWEEN 1000 AND 10999;
VACUUM words;
INSERT INTO words SELECT i, 'another ' || i, NULL, 'another ' || i FROM generate_series(20000, 21000) i;
SELECT (SELECT count(*) FROM words WHERE c ^@ 'the word 1') = (SELECT count(*) FROM words WHERE t ^@ 'the word 1') AS same,
       (SELECT count(*) FROM words WHERE c ^@ 'another 20') AS another, (SELECT count(*) FROM words WHERE c > 'b') = (SELECT count(*) FROM words WHERE t > 'b') AS above;
RESET enable_seqscan;

--
-- convert() and revert() carry the indexes over, and so does ALTER TABLE.
--
CREATE TABLE carried (id int, a text, b varchar(60));
INSERT INTO carried SELECT i, 'a text with some words ' || i, 'another text with words ' || i FROM generate_series(1, 1000) i;
CREATE INDEX carried_a ON carried USING spgist (a);
CREATE INDEX carried_b ON carried USING spgist (b) INCLUDE (id) WHERE id > 7;
SELECT column_name, new_type FROM compact_types.convert('carried', '{a,b}');
SELECT indexdef FROM pg_indexes WHERE tablename = 'carried' ORDER BY 1;
SET enable_seqscan = off;
SELECT plan_has($$SELECT * FROM carried WHERE b LIKE 'another text with words 99%' AND id > 7$$, 'carried_b'), count(*) FROM carried WHERE b LIKE 'another text with words 99%' AND id > 7;
SELECT column_name, new_type FROM compact_types.revert('carried');
SELECT indexdef FROM pg_indexes WHERE tablename = 'carried' ORDER BY 1;
SELECT plan_has($$SELECT * FROM carried WHERE a LIKE 'a text with some words 99%'$$, 'carried_a'), count(*) FROM carried WHERE a LIKE 'a text with some words 99%';
RESET enable_seqscan;
ALTER TABLE carried ALTER a TYPE compact_text;
SELECT indexdef FROM pg_indexes WHERE tablename = 'carried' ORDER BY 1;

-- A nondeterministic collation is refused, as by a scan of the table.
CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE folded (c compact_text COLLATE folded);
CREATE INDEX ON folded USING spgist (c);
INSERT INTO folded VALUES ('a word');
DROP TABLE folded;
DROP COLLATION folded;

DROP TABLE words, conditions, expected, carried;
DROP FUNCTION plan_has, found;
