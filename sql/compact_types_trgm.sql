--
-- Indexes for trigrams on compact_text and compact_charN.  The objects of pg_trgm are in a schema
-- that is not in the search_path.
--
CREATE SCHEMA other;
CREATE EXTENSION pg_trgm SCHEMA other VERSION '1.4';
\set SHOW_CONTEXT never
CREATE EXTENSION compact_trgm;
\set SHOW_CONTEXT errors
ALTER EXTENSION pg_trgm UPDATE;
CREATE EXTENSION compact_char8;
CREATE EXTENSION compact_char32;

\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/plan_has.sql'
\i :file

CREATE TABLE words (n int, c compact_text, l compact_text(40), e compact_char8, f compact_char32, g compact_char32, t text, v varchar(40));
INSERT INTO words SELECT i, s, s, i, s, s, s, s
FROM (SELECT i, CASE i % 4 WHEN 0 THEN md5(i::text) WHEN 1 THEN 'the word ' || i WHEN 2 THEN 'слово ' || i ELSE '単語と' || i END AS s
      FROM generate_series(1, 4000) i) x;
INSERT INTO words VALUES (-1, '', '', '', '', '', '', '');
INSERT INTO words VALUES (-2);

--
-- CREATE INDEX without and with the extensions.  Only a class of pg_trgm gives the second half of the
-- hint.
--
CREATE INDEX w_before ON words USING gin (c other.gin_trgm_ops, e other.gin_trgm_ops);
DROP INDEX w_before;
CREATE EXTENSION compact_trgm;
CREATE INDEX w_gin ON words USING gin (c other.gin_trgm_ops);
CREATE INDEX w_gist ON words USING gist (l other.gist_trgm_ops(siglen = 32));
CREATE INDEX w_mixed ON words USING gin (l other.gin_trgm_ops, v other.gin_trgm_ops, e other.gin_trgm_ops) WHERE n < 0;
CREATE INDEX w_char ON words USING gist (e other.gist_trgm_ops);
CREATE EXTENSION compact_char8_trgm;
CREATE EXTENSION compact_char32_trgm SCHEMA other;
CREATE INDEX w_char_gin ON words USING gin (f other.gin_trgm_ops, e other.gin_trgm_ops);
CREATE INDEX w_char_gist ON words USING gist (e other.gist_trgm_ops, g other.gist_trgm_ops(siglen = 32));
CREATE INDEX w_length ON words USING gist (e other.gist_compact_char32_trgm_ops);
CREATE INDEX w_direct ON words USING gist (c gist_compact_trgm_ops);
CREATE INDEX w_text ON words USING gin (t gin_compact_trgm_ops);
-- A class of another extension is not replaced, whatever its name.
CREATE OPERATOR CLASS gin_trgm_ops FOR TYPE text USING gin AS
  FUNCTION 1 btint4cmp(int4, int4), FUNCTION 2 other.gin_extract_value_trgm(text, internal),
  FUNCTION 3 other.gin_extract_query_trgm(text, internal, int2, internal, internal, internal, internal),
  FUNCTION 4 other.gin_trgm_consistent(internal, int2, text, int4, internal, internal, internal, internal), STORAGE int4;
CREATE INDEX w_foreign ON words USING gin (l gin_trgm_ops);
DROP INDEX w_foreign;
DROP OPERATOR FAMILY gin_trgm_ops USING gin;
-- These statements fail as they do for text.
CREATE UNIQUE INDEX ON words USING gin (c other.gin_trgm_ops);
CREATE INDEX ON words USING gin (n gin_compact_trgm_ops);
CREATE INDEX ON words USING gist (c other.gist_trgm_ops(siglen = 0));
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'words' ORDER BY 1;
DROP INDEX w_mixed, w_char, w_direct;

-- The classes are complete, and have the numbers of pg_trgm's classes.
SELECT opcname, opcdefault, amvalidate(oid), obj_description(oid, 'pg_opclass') FROM pg_opclass WHERE opcname ~ '_compact_.*trgm_ops' ORDER BY 1;
SELECT f.opfname AS missing_in, x.* FROM pg_opfamily f, LATERAL (
  SELECT o.oprname, a.amopstrategy, a.amoppurpose, a.amopsortfamily FROM pg_opfamily p JOIN pg_amop a ON a.amopfamily = p.oid
    JOIN pg_operator o ON o.oid = a.amopopr WHERE p.opfmethod = f.opfmethod AND p.opfname ~ '^gi(n|st)_trgm_ops'
  EXCEPT SELECT o.oprname, a.amopstrategy, a.amoppurpose, a.amopsortfamily FROM pg_amop a
    JOIN pg_operator o ON o.oid = a.amopopr WHERE a.amopfamily = f.oid) x WHERE f.opfname ~ '_compact_.*trgm_ops';
SELECT f.opfname, count(*) FROM pg_opfamily f JOIN pg_amop a ON a.amopfamily = f.oid WHERE f.opfname ~ '_compact_.*trgm_ops' GROUP BY 1 ORDER BY 1;
SELECT o.oprname, o.oprcode::regproc FROM pg_operator o JOIN pg_operator p USING (oprname)
WHERE o.oprleft = ANY ('{compact_text,compact_char8,compact_char32}'::regtype[]) AND p.oprleft = 'text'::regtype AND p.oprright = 'text'::regtype AND p.oprnamespace = 'other'::regnamespace
  AND (o.oprrest, o.oprjoin, o.oprresult) IS DISTINCT FROM (p.oprrest, p.oprjoin, p.oprresult);

--
-- Conditions and orders
--
ANALYZE words;
CREATE TABLE conditions (id int, kind text, condition text);
INSERT INTO conditions VALUES
  (1, 'where', $$X LIKE '%rd 123%'$$), (2, 'where', $$X ILIKE '%RD 123%'$$),
  (3, 'where', $$X ~ 'word 12[3-5]'$$), (4, 'where', $$X ~* 'WORD 12[3-5]'$$),
  (5, 'where', $$X LIKE '%ово 13%'$$), (6, 'where', $$X LIKE '%語と12%'$$), (7, 'where', $$X ILIKE '%СЛОВО 13%'$$),
  (8, 'where', $$X OPERATOR(other.%) 'the word 123'::text$$), (9, 'where', $$X % 'the word 123'$$), (10, 'where', $$'the word 123' % X$$),
  (11, 'where', $$'the word 123'::text % X$$), (12, 'where', $$X % 'the word 123'::varchar$$),
  (13, 'where', $$'word 123' <% X$$), (14, 'where', $$X %> 'word 123'$$), (15, 'where', $$'word 123'::text <% X$$),
  (16, 'where', $$'word 123' <<% X$$), (17, 'where', $$X %>> 'word 123'$$), (18, 'where', $$'word 123'::text <<% X$$),
  (19, 'where', $$X = 'the word 12345'$$), (20, 'where', $$X = 'the word 1001'$$), (21, 'where', $$'the word 1001'::text = X$$),
  (22, 'where', $$X COLLATE "C" = 'the word 1001'$$), (23, 'where', $$X = ''$$), (24, 'where', $$X LIKE '%'$$), (25, 'where', $$X % NULL$$),
  (26, 'where', $$X LIKE '%a\%' AND n > 0$$), (27, 'where', $$X ~ '^(abc|wor)d?.*9$'$$),
  -- too long for compact_char32
  (28, 'where', $$'123 the word 123 the word 123 the word' <% X$$), (29, 'where', $$X % 'the word 123 or 124 or a word like these'$$),
  (30, 'order', $$X <-> '123 the word 123 the word 123 the word'$$),
  (31, 'order', $$X <-> 'the word 123'$$), (32, 'order', $$'the word 123' <-> X$$), (33, 'order', $$'the word 123'::text <-> X$$),
  (34, 'order', $$X <->> 'word 123'$$), (35, 'order', $$'word 123' <<-> X$$), (36, 'order', $$'word 123'::text <<-> X$$),
  (37, 'order', $$X <->>> 'word 123'$$), (38, 'order', $$'word 123' <<<-> X$$);
CREATE FUNCTION query(kind text, condition text, col text) RETURNS text LANGUAGE sql RETURN
  CASE kind WHEN 'where' THEN 'SELECT n FROM public.words WHERE ' || replace(condition, 'X', col)
  ELSE format('SELECT round((%s)::numeric, 5) FROM public.words WHERE n IS NOT NULL ORDER BY %1$s LIMIT 20', replace(condition, 'X', col)) END;
-- Return the rows of the query in a fixed order.
CREATE FUNCTION found(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  EXECUTE format('SELECT count(*) || '' '' || md5(string_agg(x::text, '','' ORDER BY x)) FROM (%s) y (x)', query) INTO result;
  RETURN result;
END $$;
-- With the value of c in the text t, pg_trgm gives the expected rows.
CREATE TABLE expected AS SELECT id, kind, condition, NULL::text AS seq, NULL::text AS gin, NULL::text AS gist, NULL::text AS plain,
  NULL::text AS char_seq, NULL::text AS char_gin, NULL::text AS char_gist FROM conditions;
SET search_path = public, other;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
UPDATE expected SET seq = found(query(kind, condition, 'c')), plain = found(query(kind, condition, 't')),
  char_seq = found(query(kind, condition, 'f'));
RESET enable_indexscan;
RESET enable_bitmapscan;
SET enable_seqscan = off;
SET search_path = public;
UPDATE expected SET gist = found(query(kind, replace(condition, 'OPERATOR(other.%)', '%'), 'l')),
  gin = found(query(kind, replace(condition, 'OPERATOR(other.%)', '%'), 'c')),
  char_gin = found(query(kind, replace(condition, 'OPERATOR(other.%)', '%'), 'f')),
  char_gist = found(query(kind, replace(condition, 'OPERATOR(other.%)', '%'), 'g'));
-- Leave out similarity of words with GiST: see t/compact_types/trgm.pl.
SELECT id, seq FROM expected WHERE (seq, seq, seq, seq) IS DISTINCT FROM (gin, plain, char_seq, char_gin)
  OR ((seq, seq) IS DISTINCT FROM (gist, char_gist) AND condition !~ '<%|%>');
SELECT kind, count(*), count(*) FILTER (WHERE seq ~ '^0 ' OR seq IS NULL) AS empty FROM expected GROUP BY 1 ORDER BY 1;
-- The indexes are used, without pg_trgm in the search_path.  With it, the operator of text is not
-- ambiguous.
SET search_path = '';
SELECT id, public.plan_has(public.query(kind, condition, 'c'), 'Bitmap Index Scan on w_gin') AS gin FROM public.conditions
WHERE kind = 'where' AND id <> 8 AND condition !~ 'NULL' ORDER BY id;
SELECT id, public.plan_has(public.query(kind, condition, 'l'), CASE kind WHEN 'where' THEN 'w_gist.*Index Cond' ELSE 'w_gist.*Order By' END) AS gist
FROM public.conditions WHERE id <> 8 AND condition !~ 'NULL' ORDER BY id;
SELECT kind, count(*),
  count(*) FILTER (WHERE public.plan_has(public.query(kind, condition, 'f'), 'Bitmap Index Scan on w_char_gin', kind = 'where')) AS char_gin,
  count(*) FILTER (WHERE public.plan_has(public.query(kind, condition, 'g'), CASE kind WHEN 'where' THEN 'w_char_gist.*Index Cond' ELSE 'w_char_gist.*Order By' END)) AS char_gist
FROM public.conditions WHERE id <> 8 AND condition !~ 'NULL' GROUP BY 1 ORDER BY 1;
SET search_path = public, other;
-- The operator of text has no index on c.
SELECT plan_has(query('where', condition, 'c'), 'w_gin', false) FROM conditions WHERE id = 8;
SELECT id, plan_has(query(kind, condition, 't'), 'Bitmap Index Scan on w_text') AS text FROM conditions
WHERE kind = 'where' AND condition !~ 'NULL|COLLATE' ORDER BY id;
-- Test parameters without a type, and joins.
SET plan_cache_mode = force_generic_plan;
PREPARE p AS SELECT n FROM words WHERE c LIKE $1;
PREPARE q AS SELECT n FROM words WHERE $1 % c;
PREPARE r AS SELECT n FROM words WHERE c = $1;
PREPARE s AS SELECT n FROM words WHERE f LIKE $1 AND $2 <% f;
SELECT plan_has($$EXECUTE p('%rd 123%')$$, 'w_gin'), plan_has($$EXECUTE q('the word 123')$$, 'w_gin'), plan_has($$EXECUTE r('the word 1001')$$, 'w_gin');
EXECUTE p('%rd 123%');
EXECUTE r('the word 1001');
SELECT plan_has($$EXECUTE s('%rd 1001%', 'word 1001')$$, 'w_char_gin');
EXECUTE s('%rd 1001%', 'word 1001');
RESET plan_cache_mode;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT plan_has($$SELECT * FROM (VALUES ('word 1234'::text), ('word 1235')) p (x) JOIN words ON x <% c$$, 'w_gin'),
       plan_has($$SELECT * FROM (VALUES ('%rd 1234%'::text)) p (x) JOIN words ON c LIKE x$$, 'w_gin');
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
-- A constant is on the left side, and is decoded for each row.
SELECT count(*) > 0 AND count(*) = (SELECT count(*) FROM words WHERE t % 'the word 123') AS same
FROM words WHERE 'the word 123'::compact_text % t;
-- The thresholds are those of pg_trgm.
SET pg_trgm.similarity_threshold = 0.9;
SELECT count(*) FROM words WHERE c % 'the word 123';
SET pg_trgm.similarity_threshold = 0.2;
SELECT count(*) > 500 FROM words WHERE c % 'the word 123';
RESET pg_trgm.similarity_threshold;
RESET enable_seqscan;
-- No pair of types is ambiguous, except for two of compact_charN.
CREATE FUNCTION pairs() RETURNS TABLE (l text, r text, op text, result text) LANGUAGE plpgsql AS $$
BEGIN
  FOR l, r, op IN SELECT a, b, o FROM unnest('{''a word''::compact_text,''a word''::compact_text(9),''a word''::text,''a word''::varchar,''a word''::char(6),''a word''::name,''a word''::compact_char8,''a word'',NULL}'::text[]) a,
    unnest('{''a word''::compact_text,''a word''::text,''a word''::varchar,''a word''::char(6),''a word''::name,''a word''::compact_char8,''a word'',NULL}'::text[]) b,
    unnest('{%,<%,%>,<<%,%>>,<->,<<->,<->>,<<<->,<->>>}'::text[]) o LOOP
    BEGIN
      EXECUTE format('SELECT (%s %s %s)::text', l, op, r) INTO result;
    EXCEPTION WHEN OTHERS THEN
      result := SQLERRM;
    END;
    RETURN NEXT;
  END LOOP;
END $$;
SELECT result, count(*) FROM pairs() WHERE 'NULL' NOT IN (l, r) AND NOT (l ~ 'char8' AND r ~ 'char8') GROUP BY 1 ORDER BY 1;
SELECT DISTINCT l, r, result FROM pairs() WHERE 'NULL' IN (l, r) AND result IS NOT NULL;
SELECT DISTINCT regexp_replace(result, ': .*', '') FROM pairs() WHERE l ~ 'char8' AND r ~ 'char8';
SELECT 'a word'::compact_char8 % 'a word'::compact_char32;
SELECT 'a word'::compact_char8 % 'a word'::compact_char32::text, 'a word'::compact_char8::text % 'a word'::compact_char8;
-- The column of an index can have a domain.
CREATE DOMAIN regress_code AS compact_char8;
CREATE TABLE codes (d regress_code);
INSERT INTO codes SELECT e FROM words;
CREATE INDEX codes_gin ON codes USING gin (d other.gin_trgm_ops);
CREATE INDEX codes_gist ON codes USING gist (d other.gist_trgm_ops);
SET enable_seqscan = off;
SELECT plan_has($$SELECT * FROM codes WHERE d LIKE '%123%'$$, 'Index Scan'), count(*) FROM codes WHERE d LIKE '%123%';
DROP INDEX codes_gin;
SELECT plan_has($$SELECT * FROM codes WHERE d LIKE '%123%'$$, 'Index Scan .*codes_gist'), count(*) FROM codes WHERE d LIKE '%123%';
RESET enable_seqscan;
DROP TABLE codes;
DROP DOMAIN regress_code;
-- A view keeps its operators.
CREATE VIEW similar_words AS SELECT n FROM words WHERE 'word 123' <% c ORDER BY c <-> 'word 123';
SELECT regexp_replace(regexp_replace(pg_get_viewdef('similar_words'), 'words\.', '', 'g'), '\s+', ' ', 'g');
DROP VIEW similar_words;

--
-- convert() and revert() carry the indexes over.
--
RESET search_path;
CREATE TABLE carried (id int PRIMARY KEY, a text, b varchar(60), z text);
INSERT INTO carried SELECT i, s, s, s FROM (SELECT i, 'a text with some words ' || i AS s FROM generate_series(1, 1000) i) x;
CREATE INDEX carried_gin ON carried USING gin (a other.gin_trgm_ops, b other.gin_trgm_ops, z other.gin_trgm_ops) WITH (fastupdate = off) WHERE id > 7;
COMMENT ON INDEX carried_gin IS 'it''s an index';
CREATE INDEX carried_gist ON carried USING gist (b other.gist_trgm_ops (siglen = 99));
ALTER TABLE carried CLUSTER ON carried_gist;
CREATE INDEX carried_other ON carried (a text_pattern_ops);
CREATE VIEW indexes AS SELECT indexrelid::regclass AS index, pg_get_indexdef(indexrelid), indisclustered, obj_description(indexrelid, 'pg_class')
FROM pg_index WHERE indrelid = (SELECT oid FROM pg_class WHERE relname = 'carried');
SELECT * FROM indexes ORDER BY 1;
SELECT column_name, blockers FROM compact_types.advise('carried');
SELECT column_name, new_type FROM compact_types.convert('carried', '{a}');
SELECT * FROM indexes ORDER BY 1;
SELECT column_name, new_type FROM compact_types.convert('carried', '{b,z}');
SELECT * FROM indexes ORDER BY 1;
SET enable_seqscan = off;
SELECT plan_has($$SELECT * FROM carried WHERE b LIKE '%rds 999%'$$, 'carried_gist'), count(*) FROM carried WHERE b LIKE '%rds 999%';
SELECT plan_has($$SELECT * FROM carried WHERE a LIKE '%rds 999%' AND id > 7$$, 'carried_gin'), count(*) FROM carried WHERE a LIKE '%rds 999%' AND id > 7;
RESET enable_seqscan;
SELECT column_name, new_type FROM compact_types.revert('carried', '{b}');
SELECT * FROM indexes ORDER BY 1;
SELECT column_name, new_type FROM compact_types.revert('carried');
SELECT * FROM indexes ORDER BY 1;
-- With fixed_varchar, a column of strings with one length becomes compact_charN.
CREATE TABLE carried_char (id int PRIMARY KEY, code varchar(10));
INSERT INTO carried_char SELECT i, 'x-' || to_char(i, 'FM00000000') FROM generate_series(1, 1000) i;
CREATE INDEX carried_char_gin ON carried_char USING gin (code other.gin_trgm_ops);
CREATE INDEX carried_char_gist ON carried_char USING gist (code other.gist_trgm_ops (siglen = 99));
SELECT column_name, proposed_type, blockers FROM compact_types.advise('carried_char', fixed_varchar => true);
CREATE EXTENSION compact_char10_trgm CASCADE;
SELECT column_name, proposed_type, blockers FROM compact_types.advise('carried_char', fixed_varchar => true);
SELECT column_name, new_type FROM compact_types.convert('carried_char', fixed_varchar => true);
SELECT indexdef FROM pg_indexes WHERE tablename = 'carried_char' ORDER BY 1;
SET enable_seqscan = off;
SELECT plan_has($$SELECT * FROM carried_char WHERE code LIKE '%0099%'$$, 'carried_char_gi'), count(*) FROM carried_char WHERE code LIKE '%0099%';
RESET enable_seqscan;
SELECT column_name, new_type FROM compact_types.revert('carried_char');
SELECT indexdef FROM pg_indexes WHERE tablename = 'carried_char' ORDER BY 1;
-- pg_trgm has no class for char(n).
ALTER TABLE carried_char ADD c char(8) NOT NULL DEFAULT 'a code';
SELECT column_name, new_type FROM compact_types.convert('carried_char', '{c}');
CREATE INDEX carried_char_c ON carried_char USING gin (c gin_compact_char8_trgm_ops);
SELECT column_name FROM compact_types.revert('carried_char');
DROP INDEX carried_char_c;
SELECT column_name, new_type FROM compact_types.revert('carried_char');
DROP TABLE carried_char;
DROP EXTENSION compact_char10_trgm, compact_char10;
-- The extension of the former class moves to another schema.
CREATE INDEX carried_single ON carried USING gin (a other.gin_trgm_ops);
SELECT column_name, new_type FROM compact_types.convert('carried', '{a}');
CREATE SCHEMA another;
ALTER EXTENSION pg_trgm SET SCHEMA another;
SELECT column_name, new_type FROM compact_types.revert('carried');
SELECT pg_get_indexdef('carried_gin'::regclass), pg_get_indexdef('carried_single'::regclass);
DROP INDEX carried_single;
ALTER EXTENSION pg_trgm SET SCHEMA other;
DROP SCHEMA another;
-- An index stays in the default tablespace of the database, whatever the setting.
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_trgm LOCATION '';
ALTER INDEX carried_gist SET TABLESPACE regress_trgm;
SET default_tablespace = regress_trgm;
SELECT count(*) FROM compact_types.convert('carried');
RESET default_tablespace;
SELECT relname, spcname FROM pg_class c LEFT JOIN pg_tablespace s ON s.oid = reltablespace WHERE relname ~ '^carried_gi' ORDER BY 1;
ALTER INDEX carried_gist SET TABLESPACE pg_default;
DROP TABLESPACE regress_trgm;
SELECT count(*) FROM compact_types.revert('carried');
-- ALTER TABLE does not change the class.  Without the extension, the index is an obstacle.
ALTER TABLE words ALTER c TYPE text;
DROP EXTENSION compact_trgm;
DROP EXTENSION pg_trgm;
SET client_min_messages = warning;
DROP EXTENSION compact_trgm CASCADE;
RESET client_min_messages;
SELECT count(c), count(l) FROM words;
SELECT column_name, blockers FROM compact_types.advise('carried');
SELECT * FROM compact_types.convert('carried', '{z}');

-- A role with the CREATE privilege on the database can create the extension.
SELECT current_database() AS db \gset
CREATE ROLE regress_trgm;
GRANT CREATE ON DATABASE :"db" TO regress_trgm;
GRANT CREATE ON SCHEMA other TO regress_trgm;
SET ROLE regress_trgm;
CREATE EXTENSION compact_trgm SCHEMA other;
CREATE EXTENSION compact_char8_trgm SCHEMA other;
RESET ROLE;
SELECT extname, extowner::regrole FROM pg_extension WHERE extname ~ '^compact.*_trgm$' ORDER BY 1;
SELECT count(*), count(DISTINCT proowner) FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE d.refobjid IN (SELECT oid FROM pg_extension WHERE extname ~ '^compact.*_trgm$') AND proowner = 10;
-- The owner of a table has to be able to create the index again.
ALTER TABLE carried OWNER TO regress_trgm;
SELECT column_name FROM compact_types.convert('carried', '{z}');
-- A move of pg_trgm does no harm.
CREATE INDEX w_gin ON words USING gin (c other.gin_compact_trgm_ops);
CREATE INDEX w_gist ON words USING gist (l other.gist_compact_trgm_ops);
ALTER EXTENSION pg_trgm SET SCHEMA public;
INSERT INTO words (n, c, l) VALUES (-3, 'a late word', 'a late word');
SET enable_seqscan = off;
SELECT n FROM words WHERE c LIKE '%late w%';
SELECT n FROM words WHERE l LIKE '%late w%';
RESET enable_seqscan;

DROP TABLE words, conditions, expected;
DROP VIEW indexes;
DROP TABLE carried;
DROP FUNCTION plan_has, query, found, pairs;
DROP EXTENSION compact_char8_trgm, compact_trgm, pg_trgm, compact_char8, compact_char32;
DROP SCHEMA other;
REVOKE ALL ON DATABASE :"db" FROM regress_trgm;
DROP ROLE regress_trgm;
