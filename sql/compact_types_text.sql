--
-- compact_text: encoded strings of variable length, which mean the same as text
--
\set VERBOSITY terse
\set SHOW_CONTEXT never

CREATE EXTENSION compact_char24;

-- Show for each codec the bytes of the payload, and that decoding returns the string.
CREATE TABLE strings (id serial, s text);
INSERT INTO strings (s) VALUES (''), ('a'), ('42'), ('123'), ('1234'), ('+49 228.1/2:3'), ('2026-11-21T10:15:30.123Z'),
  ('deadbeef'), ('DEADBEEF1'), ('deadBEEF'), ('123e4567-e89b-12d3-a456-426614174000'), ('123E4567-E89B-12D3-A456-426614174000'),
  ('123e4567-e89b-12d3-a456-42661417400g'), ('123e4567e-89b-12d3-a456-426614174000'),
  ('--------------------------------'), ('00000000000000000042'), ('                    '),
  ('Xq7Zt'), ('Xq7Zt9'), ('Xq7Zt9K'), ('Xq7Zt9KV'), ('Xq7Zt9KVw2LpN8sYf3BhJ6mC'), ('~^~^~^~^~^'),
  (E'\t'), (E'\n '), (E'\x01'), (E'\x08 abc'), (E'\x0e123'), (E'\x1f'), (E'\x7f');
SELECT id, s, octet_length(s) AS bytes, pg_column_size(s::compact_text) - 4 AS payload,
       compact_types.codec(s::compact_text), s::compact_text::text = s AS same FROM strings ORDER BY id;
-- The codes of a dictionary make words smaller, in several scripts.
SELECT compact_types.codec(s), octet_length(s), pg_column_size(s) - 4 < octet_length(s) * 0.7 AS smaller, s
FROM (VALUES ('a powerful, open source object-relational database system'::compact_text),
  ('https://www.example.org/index.html?id=42'), ('{"id": 17, "name": "Anna", "active": true}'),
  ('日本語の文字列を短くする'), ('Кодирование строк в базе данных'), ('Größe und Übergröße der Schlüssel')) v (s);
-- Long values are not encoded, so that TOAST can compress them.
SELECT n, compact_types.codec(s), pg_column_size(s) - 4 AS payload, length(s), s::text = repeat('ab cd! ', n) AS same
FROM (SELECT n, repeat('ab cd! ', n)::compact_text AS s FROM generate_series(284, 287) n) x;
CREATE TABLE long (s compact_text);
INSERT INTO long SELECT repeat('ab cd! ', n) FROM generate_series(100, 10000, 990) n;
SELECT count(*), sum(length(s)), bool_and(s = repeat('ab cd! ', length(s) / 7)), sum(pg_column_size(s)) < 20000 AS compressed FROM long;
SELECT md5(string_agg(s::text, '' ORDER BY length(s))) = (SELECT md5(string_agg(repeat('ab cd! ', n), '' ORDER BY n)) FROM generate_series(100, 10000, 990) n)
FROM long;
DROP TABLE long;
-- A stored value of up to 126 bytes has a header of one byte.
CREATE TABLE stored (s compact_text);
INSERT INTO stored SELECT repeat('Xq7Zt9KV', n) FROM (VALUES (1), (20), (21), (22)) v (n);
SELECT octet_length(s::text), pg_column_size(s) FROM stored;
DROP TABLE stored;
-- Sort values that are out of line together with values in the row.
CREATE TABLE mixed (id int, c compact_text, pad text) WITH (toast_tuple_target = 128);
ALTER TABLE mixed ALTER c SET STORAGE EXTERNAL, ALTER pad SET STORAGE PLAIN;
INSERT INTO mixed SELECT i, repeat('value ' || i % 40, 1 + i % 5 * 6) || i, repeat('p', 2100) FROM generate_series(1, 200) i;
SELECT pg_relation_size(reltoastrelid) > 0 AS out_of_line FROM pg_class WHERE oid = 'mixed'::regclass;
SELECT array_agg(id ORDER BY c COLLATE "C") = array_agg(id ORDER BY c::text COLLATE "C") AS c,
       array_agg(id ORDER BY c) = array_agg(id ORDER BY c::text) AS default,
       array_agg(id ORDER BY c DESC) = array_agg(id ORDER BY c::text DESC) AS descending FROM mixed;
DROP TABLE mixed;

-- The limit is in characters, as that of varchar.
CREATE TABLE limited (c compact_text(5), v varchar(5));
INSERT INTO limited VALUES ('äöüßé', 'äöüßé'), ('abc  ', 'abc  '), ('abcde   ', 'abcde   '), (NULL, NULL), ('', '');
INSERT INTO limited (c) VALUES ('abcdef');
INSERT INTO limited (c) SELECT 'abcdef'::text;
INSERT INTO limited (c) SELECT 'abcdef'::compact_text;
INSERT INTO limited (c) SELECT 'abcdef'::varchar;
INSERT INTO limited (c) SELECT 'abcde     '::compact_text;
INSERT INTO limited (c) SELECT 'abc       '::char(10);
SELECT '[' || c || ']' AS c, '[' || v || ']' AS v, c = v AS same FROM limited;
SELECT 'abcdefgh'::compact_text(3), 'abcdefgh'::text::compact_text(3), 'äöüß'::compact_text::compact_text(3),
       'abcdefgh'::char(20)::compact_text(3), 'abcdefgh'::compact_text::varchar(3), 'abcdefgh'::compact_text::char(3);
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'limited'::regclass AND attname = 'c';
SELECT 'x'::compact_text(0);
SELECT 'x'::compact_text(-1);
SELECT 'x'::compact_text(1, 2);
SELECT 'x'::compact_text(2000000000);
ALTER TABLE limited ALTER c TYPE compact_text(3);
ALTER TABLE limited ALTER c TYPE compact_text(3) USING c::compact_text(3);
ALTER TABLE limited ALTER c TYPE text, ALTER v TYPE compact_text(6);
ALTER TABLE limited ALTER c TYPE compact_text, ALTER v TYPE varchar(7);
SELECT * FROM limited ORDER BY c;
-- A change to a larger limit needs no rewrite of the table, but a change to a smaller limit does.
CREATE FUNCTION rewrites(type text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
  before oid := pg_relation_filenode('limited');
BEGIN
  EXECUTE 'ALTER TABLE limited ALTER c TYPE ' || type;
  RETURN before <> pg_relation_filenode('limited');
END $$;
SELECT rewrites('compact_text(8)');
SELECT rewrites('compact_text(80)'), rewrites('compact_text'), rewrites('compact_text(20)');
DROP FUNCTION rewrites;
DROP TABLE limited;

-- Functions of text get the decoded string.
SELECT length(s), upper(s), s || '!', '!' || s, s || s, substr(s, 2, 3), position('l' IN s), replace(s, 'l', 'L'),
       trim(s), left(s, 2), s LIKE 'he%', s ~ 'l+o', split_part(s, 'l', 1), starts_with(s, 'hel'), concat(s, 1),
       quote_literal(s), md5(s), to_tsvector('simple', s), ascii(s), lpad(s, 8, '*')
FROM (SELECT 'hello'::compact_text AS s) x;
SELECT pg_typeof(s || 'x'), pg_typeof(coalesce(s, 'x')), pg_typeof(lower(s)), pg_typeof(CASE WHEN true THEN s ELSE 'x' END),
       pg_typeof(CASE WHEN true THEN s ELSE 'x'::text END), pg_typeof(min(s)), pg_typeof(string_agg(s, ',')), pg_typeof(array_agg(s))
FROM (SELECT 'hello'::compact_text AS s) x GROUP BY s;
SELECT s FROM (SELECT 'x'::compact_text AS s UNION SELECT 'y'::text UNION ALL SELECT 'z'::varchar) x ORDER BY 1;
-- In expressions with both types, compact_charN has no trailing blanks.
SELECT '[' || s || ']' FROM (SELECT 'x'::compact_char24 AS s UNION SELECT 'y'::compact_text) x ORDER BY 1;
SELECT '[' || coalesce('x'::compact_char24, 'y'::compact_text) || ']', '[' || 'x'::compact_char24::compact_text || ']', '[' || 'xyz'::compact_char24::compact_text(2) || ']',
       'x'::compact_char24::text = 'x'::compact_text;
SELECT 'x'::compact_char24 = 'x'::compact_text;
SELECT '5'::compact_text::int, 5::compact_text, '2026-01-01'::compact_text::date, 'x'::compact_text::name, 'x'::name::compact_text,
       '{"a": 1}'::compact_text::jsonb;
SELECT ARRAY['b', 'a', NULL]::compact_text[], 'a' = ANY (ARRAY['b', 'a']::compact_text[]),
       ARRAY['a', 'b']::compact_text[] < ARRAY['b']::compact_text[], ('a'::compact_text, 1) < ('b'::compact_text, 0);

-- Trailing blanks count, except those of a char.
SELECT s = 'a', s = 'a '::text, s = 'a '::varchar, s = 'a '::char(3), 'a '::char(3) = s, s < 'b'::text, 'a'::text < s, s <> 'a '::char(3)
FROM (SELECT 'a'::compact_text AS s) x;
SELECT 'a '::compact_text = 'a'::compact_text, 'a '::compact_text = 'a '::char(3), 'a '::compact_text = 'a '::text;

-- Keys, indexes and joins work with any search_path.
CREATE TABLE keys (k compact_text PRIMARY KEY, n int, t text, b char(12));
INSERT INTO keys SELECT 'key ' || i, i, 'key ' || i, 'key ' || i FROM generate_series(1, 2000) i;
CREATE INDEX keys_hash ON keys USING hash (k);
ANALYZE keys;
\getenv folder PG_ABS_SRCDIR
\set file :folder '/sql/include/plan_has.sql'
\i :file
CREATE TABLE conditions (id serial, condition text);
INSERT INTO conditions (condition) VALUES ($$k = 'key 7'$$), ($$'key 7' = k$$), ($$k = 'key 7'::text$$), ($$'key 7'::text = k$$),
  ($$k = 'key 7'::varchar$$), ($$'key 7'::varchar = k$$), ($$k = 'key 7'::bpchar$$), ($$'key 7'::bpchar = k$$),
  ($$k IN ('key 7', 'key 8')$$), ($$k = ANY (ARRAY['key 7', 'key 8']::text[])$$), ($$k > 'key 998' AND k < 'key 9999'::text$$),
  ($$k LIKE 'key 77%'$$), ($$k LIKE 'key 77%'::text$$), ($$k LIKE 'key 7'::varchar$$), ($$k ~ '^key 77'$$), ($$k ^@ 'key 77'$$);
SET enable_seqscan = off;
SELECT id, plan_has('SELECT n FROM keys WHERE ' || condition, 'Index Cond: .*k') FROM conditions ORDER BY id;
SET search_path = '';
SELECT id, public.plan_has('SELECT n FROM public.keys WHERE ' || condition, 'Index Cond: .*k') FROM public.conditions ORDER BY id;
RESET search_path;
CREATE FUNCTION found(condition text) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
  r int[];
BEGIN
  EXECUTE 'SELECT array_agg(n ORDER BY n) FROM keys WHERE ' || condition INTO r;
  RETURN r;
END $$;
CREATE TABLE by_index AS SELECT id, found(condition) AS rows FROM conditions;
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SELECT id, c.rows, found(condition) IS NOT DISTINCT FROM c.rows AS same FROM conditions JOIN by_index c USING (id) ORDER BY id;
RESET enable_seqscan;
RESET enable_indexscan;
RESET enable_indexonlyscan;
RESET enable_bitmapscan;
SELECT count(*) FROM keys x JOIN keys y ON x.k = y.k;
SELECT count(*) FROM keys x JOIN keys y ON x.k = y.t;
SELECT count(*) FROM keys x JOIN keys y ON x.b = y.k;
SET enable_hashjoin = off;
SELECT count(*) FROM keys x FULL JOIN keys y ON x.k = y.t;
SELECT count(*) FROM keys x FULL JOIN keys y ON x.b = y.k;
RESET enable_hashjoin;
INSERT INTO keys VALUES ('key 7');
INSERT INTO keys VALUES ('key 7', 0) ON CONFLICT (k) DO UPDATE SET n = 0 RETURNING k, n;
CREATE TABLE refers (r compact_text REFERENCES keys, t text REFERENCES keys);
INSERT INTO refers VALUES ('key 1', 'key 2'), ('key 1', NULL);
INSERT INTO refers VALUES ('none', NULL);
INSERT INTO refers VALUES (NULL, 'none');
DELETE FROM keys WHERE k = 'key 2';
SELECT min(k), max(k), count(DISTINCT k) FROM keys;
SELECT plan_has('SELECT max(k) FROM keys', 'Index Only Scan Backward');
CREATE INDEX ON keys USING brin (k);
DROP TABLE refers;

-- A partition key has the same hash values as text.
CREATE TABLE parted (k compact_text, n int) PARTITION BY HASH (k);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT k, n FROM keys;
SELECT count(*) > 500 FROM parted_0;
SELECT plan_has($$SELECT * FROM parted WHERE k = 'key 7'$$, 'parted_0.*parted_1|parted_1.*parted_0', false);
DROP TABLE parted;

-- Statistics are those of text.
CREATE TABLE estimates AS SELECT k, t FROM (SELECT ('value ' || (i % 100) * (i % 7))::text AS t FROM generate_series(1, 10000) i) x,
  LATERAL (SELECT t::compact_text AS k) y;
ANALYZE estimates;
SELECT x.n_distinct = y.n_distinct, x.most_common_vals::text = y.most_common_vals::text, x.most_common_freqs = y.most_common_freqs,
       x.histogram_bounds::text IS NOT DISTINCT FROM y.histogram_bounds::text
FROM pg_stats x JOIN pg_stats y USING (tablename) WHERE tablename = 'estimates' AND x.attname = 'k' AND y.attname = 't';
DROP TABLE estimates;

-- The encoding of a string must never change.  These are the bytes of stored values.
CREATE CAST (compact_text AS bytea) WITHOUT FUNCTION;
SELECT s, s::compact_text::bytea FROM (VALUES ('2026'), ('deadbeef'), ('123e4567-e89b-12d3-a456-426614174000'), ('Xq7Zt9KVw2LpN8sYf3BhJ6mC'),
  ('the quick brown fox'), ('----------------'), ('日本語の文字列'), ('Кодирование'), (E'\x01~^'), ('~^')) v (s);
SELECT kind, md5(string_agg(s::compact_text::bytea, ',' ORDER BY i)), sum(octet_length(s)) AS text, sum(octet_length(s::compact_text::bytea)) AS compact
FROM generate_series(1, 500) i, LATERAL (VALUES
  ('digits', repeat(i::text, i % 20 + 1)), ('hex', md5(i::text)), ('uuid', md5(i::text)::uuid::text), ('alphanumeric', encode(sha256(i::text::bytea), 'base64')),
  ('english', 'the order number ' || i || ' of customer ' || i * 7 || ' was sent to the address of the company'),
  ('url', 'https://www.example.org/products/' || i || '/index.html?page=' || i % 7),
  ('json', '{"id": ' || i || ', "name": "user ' || i || '", "active": ' || (i % 2 = 0) || '}'),
  ('german', 'Die Bestellung ' || i || ' wurde über Größe und Straße geändert'),
  ('japanese', i || '番目の注文は東京都の会社に送られました。'), ('russian', 'Заказ номер ' || i || ' отправлен в город'),
  ('mixed', 'x' || chr(200 + i) || repeat('=-', i % 30) || chr(i % 31 + 1)), ('long', repeat('line ' || i || ' of a long text. ', i % 110))) v (kind, s)
GROUP BY kind ORDER BY kind COLLATE "C";
DROP CAST (compact_text AS bytea);

-- A damaged value raises an error wherever it is read.
CREATE CAST (bytea AS compact_text) WITHOUT FUNCTION;
CREATE FUNCTION outcome(value bytea) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN 'value: ' || value::compact_text::text;
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT value, outcome(value) FROM unnest(ARRAY['\x', '\x00', '\x01', '\x0112', '\x0212', '\x0210', '\x09', '\x0e', '\x0e00', '\x0e01', '\x0f00',
  '\x0f000000', '\x0fffffff', '\x10', '\x1000', '\x10123e4567e89b12d3a456426614174000', '\x11', '\x11ff', '\x11fe', '\x11fd', '\x14', '\x1f41']::bytea[]) value;
SELECT outcome('\x01' || convert_to(repeat('1', 1001), 'UTF8'));
SELECT outcome('\x0e' || convert_to(repeat('1', 1503), 'UTF8'));
SELECT DISTINCT outcome('\x11' || convert_to(repeat(chr(n), 3000), 'UTF8')) FROM generate_series(1, 127) n;
CREATE TABLE damaged AS SELECT '\x1f41'::bytea::compact_text AS s, 1 AS n;
SELECT s FROM damaged;
SELECT n FROM damaged WHERE s = 'x';
SELECT n FROM damaged WHERE s < 'x'::text;
SELECT s FROM damaged ORDER BY s;
SELECT s FROM damaged UNION ALL SELECT 'x' ORDER BY s;
SELECT count(*) FROM damaged GROUP BY s;
CREATE INDEX ON damaged USING hash (s);
UPDATE damaged SET s = 'healthy' RETURNING s;
DROP TABLE damaged;
DROP CAST (bytea AS compact_text);
DROP TABLE strings, keys, conditions, by_index;
DROP FUNCTION plan_has, found, outcome;
DROP EXTENSION compact_char24;
