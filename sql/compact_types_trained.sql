-- Strings encoded with a dictionary of the column.  The sample is the whole
-- table, and training uses integers only, so all sizes are exact.
\set VERBOSITY terse
SET default_toast_compression = pglz;
CREATE TABLE visits (id int PRIMARY KEY, url text, agent varchar(80) COLLATE "C", note text);
INSERT INTO visits
  SELECT i, 'https://www.example.org/catalog/' || (ARRAY['garden', 'kitchen', 'office'])[1 + i % 3] || '/item-' || i * 7919 % 100003 || '.html',
    'Mozilla/5.0 (' || (ARRAY['X11; Linux x86_64', 'Windows NT 10.0; Win64; x64', 'Macintosh; Intel Mac OS X 10_15_7'])[1 + i % 3] || ') rv:' || i % 40,
    CASE WHEN i % 10 = 0 THEN NULL ELSE 'Καλημέρα κόσμε ' || i % 50 END
  FROM generate_series(1, 5000) i;
ANALYZE visits;
CREATE TABLE plain AS TABLE visits;

-- bad arguments
SELECT compact_types.train('visits', 'id');
SELECT compact_types.train('visits', 'missing');
SELECT compact_types.train('visits_pkey', 'id');
SELECT compact_types.train('visits', 'url', max_symbols => 0);
SELECT compact_types.train('visits', 'url', max_symbols => 16385);
SELECT compact_types.train('visits', 'url', sample_rows => 0);
SELECT compact_types.train('visits', 'url', sample_rows => 1000001);
SELECT compact_types.create_trained(1);
CREATE ROLE regress_trained_other;
SET ROLE regress_trained_other;
SELECT compact_types.train('visits', 'url');
CREATE TEXT SEARCH DICTIONARY compact_dictionaries.other (TEMPLATE = simple);
RESET ROLE;
DROP ROLE regress_trained_other;

-- nothing to gain
CREATE TABLE digits AS SELECT i::text AS n FROM generate_series(1, 300) i;
SELECT type, symbols, sampled_values, statement FROM compact_types.train('digits', 'n');
DROP TABLE digits;
CREATE TABLE nothing (n text);
SELECT type, sampled_values, round(value_bytes_now) AS value_bytes_now, statement FROM compact_types.train('nothing', 'n');
DROP TABLE nothing;

-- what a dictionary would save
SELECT type, sampled_values, round(value_bytes_now) AS value_bytes_now, statement FROM compact_types.train('visits', 'url', estimate_only => true);
SELECT count(*) FROM pg_ts_dict WHERE dictnamespace = 'compact_dictionaries'::regnamespace;

-- a type for each column; the statement keeps length and collation
SELECT type, sampled_values, round(value_bytes_now) AS value_bytes_now, value_bytes_after < value_bytes_compact_text * 0.7 AS smaller, statement
FROM compact_types.train('visits', 'url');
SELECT type, sampled_values, round(value_bytes_now) AS value_bytes_now, value_bytes_after < value_bytes_compact_text * 0.7 AS smaller, statement
FROM compact_types.train('visits', 'agent', max_symbols => 255);
SELECT type, sampled_values, round(value_bytes_now) AS value_bytes_now, value_bytes_after < value_bytes_compact_text * 0.7 AS smaller, statement
FROM compact_types.train('visits', 'note');
SELECT dictname FROM pg_ts_dict WHERE dictnamespace = 'compact_dictionaries'::regnamespace ORDER BY 1;
ALTER TABLE visits ALTER COLUMN url TYPE trained_text1;
ALTER TABLE visits ALTER COLUMN agent TYPE trained_text2(80) COLLATE "C";
ALTER TABLE visits ALTER COLUMN note TYPE trained_text3;
\d visits
SELECT compact_types.codec(url) AS url, compact_types.codec(agent) AS agent, compact_types.codec(note) AS note, count(*)
FROM visits GROUP BY 1, 2, 3 ORDER BY 4;
SELECT sum(pg_column_size(v.url)) < sum(pg_column_size(p.url)) / 3 AS url, sum(pg_column_size(v.agent)) < sum(pg_column_size(p.agent)) / 3 AS agent,
  sum(pg_column_size(v.note)) < sum(pg_column_size(p.note)) / 3 AS note
FROM visits v JOIN plain p USING (id);
SELECT count(*) AS differences FROM visits v FULL JOIN plain p USING (id)
WHERE (v.url::text, v.agent::text, v.note::text) IS DISTINCT FROM (p.url, p.agent, p.note);

-- forms of special strings
INSERT INTO visits (id, url) VALUES (-1, ''), (-2, ' '), (-3, E'\x01'), (-4, E'\x14\x15'), (-5, '12345678'), (-6, 'https://'),
  (-7, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), (-8, repeat('x', 2000)), (-9, repeat('x', 2001)), (-10, '日本'), (-11, 'the quick brown fox jumps over the lazy dog');
SELECT id, octet_length(url) AS text, pg_column_size(url) AS stored, compact_types.codec(url) FROM visits WHERE id < 0 ORDER BY id DESC;
SELECT id, url FROM visits WHERE id BETWEEN -7 AND -1 OR id < -9 ORDER BY id DESC;
SELECT url = repeat('x', 2001) AS eight, url = repeat('x', 2001)::trained_text1 AS nine FROM visits WHERE id IN (-8, -9) ORDER BY id DESC;
DELETE FROM visits WHERE id < 0;

-- the same results as those of text
CREATE INDEX visits_url ON visits (url);
CREATE INDEX visits_agent ON visits USING hash (agent);
CREATE INDEX visits_note ON visits USING spgist (note);
CREATE INDEX visits_brin ON visits USING brin (url);
ANALYZE visits;
EXPLAIN (COSTS off) SELECT id FROM visits WHERE url = 'https://www.example.org/catalog/office/item-23757.html';
SELECT id FROM visits WHERE url = 'https://www.example.org/catalog/office/item-15838.html';
EXPLAIN (COSTS off) SELECT id FROM visits WHERE url COLLATE "C" LIKE 'https://www.example.org/catalog/office/item-1583%';
SELECT id FROM visits WHERE url LIKE 'https://www.example.org/catalog/office/item-1583%' ORDER BY url;
SELECT count(*) FROM visits v JOIN plain p ON v.url = p.url;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT count(*) FROM visits v JOIN plain p ON v.url = p.url;
RESET enable_hashjoin;
RESET enable_nestloop;
SELECT count(DISTINCT url), count(DISTINCT agent), count(DISTINCT note), min(url), max(url) FROM visits;
SELECT count(DISTINCT url), count(DISTINCT agent), count(DISTINCT note), min(url), max(url) FROM plain;
SELECT (SELECT array_agg(id ORDER BY agent, url DESC, id) FROM visits) = (SELECT array_agg(id ORDER BY agent, url DESC, id) FROM plain) AS same_order;
SELECT (SELECT array_agg(id ORDER BY url COLLATE "C", id) FROM visits) = (SELECT array_agg(id ORDER BY url COLLATE "C", id) FROM plain) AS same_order;
-- sort strings with the same key, few strings with different keys, and both
CREATE TABLE alike AS
SELECT i AS id, s, s::trained_text1 COLLATE "C" AS v
FROM generate_series(1, 6000) i,
     LATERAL (SELECT CASE WHEN i <= 2000 THEN repeat('https://www.example.org/catalog/', 12)
                          WHEN i <= 4000 THEN i % 3 || 'https://www.example.org/catalog/' || i % 7
                          ELSE md5(i::text) || 'https://www.example.org/catalog/' END
                     || CASE WHEN i % 2000 < 1500 THEN '' ELSE i * 7919 % 6007 || '.html' END COLLATE "C" AS s) x;
INSERT INTO alike SELECT 1999 + n, s, s FROM unnest(ARRAY['', ' ', E'\x01', E'\x14', '12345678', 'b5c0a3f2-8d1e-4f60-9a7b-2c3d4e5f6071',
  'A0', 'the and of', repeat('x', 2001), repeat('https://www.example.org/catalog/', 80), NULL]) WITH ORDINALITY x (s, n);
SELECT n, (SELECT array_agg(id ORDER BY v, id) FROM alike WHERE id BETWEEN low AND high)
          = (SELECT array_agg(id ORDER BY s, id) FROM alike WHERE id BETWEEN low AND high) AS same_order,
       (SELECT array_agg(id ORDER BY v DESC NULLS FIRST, id) FROM alike WHERE id BETWEEN low AND high)
          = (SELECT array_agg(id ORDER BY s DESC NULLS FIRST, id) FROM alike WHERE id BETWEEN low AND high) AS same_reverse
FROM (VALUES (1, 1, 1999), (2, 1501, 1999), (3, 2001, 4000), (4, 4001, 6000), (5, 1, 6000), (6, 1990, 2020)) x (n, low, high);
SELECT id FROM alike ORDER BY v, id LIMIT 12;
SELECT id FROM alike ORDER BY s, id LIMIT 12;
DROP TABLE alike;
-- some of the values out of line
CREATE TABLE moved (id int, s text COLLATE "C", v trained_text1 COLLATE "C") WITH (toast_tuple_target = 128);
ALTER TABLE moved ALTER s SET STORAGE PLAIN, ALTER v SET STORAGE EXTERNAL;
INSERT INTO moved SELECT i, s, s FROM generate_series(1, 600) i,
  LATERAL (SELECT repeat('https://www.example.org/catalog/', 4) || string_agg(url, '' ORDER BY id) AS s FROM plain
    WHERE id BETWEEN i % 40 AND i % 40 + CASE WHEN i % 3 = 0 THEN 1 ELSE 30 END) x;
SELECT compact_types.codec(v), count(*), count(DISTINCT v), min(length(v)), max(length(v)) FROM moved GROUP BY 1;
SELECT pg_relation_size(reltoastrelid) > 0 AS out_of_line FROM pg_class WHERE oid = 'moved'::regclass;
SELECT (SELECT array_agg(id ORDER BY v, id) FROM moved) = (SELECT array_agg(id ORDER BY s, id) FROM moved) AS same_order;
DROP TABLE moved;
SELECT note, count(*) FROM visits WHERE note ^@ 'Καλημέρα κόσμε 1' GROUP BY note ORDER BY note LIMIT 3;
SET enable_seqscan = off;
SELECT note, count(*) FROM visits WHERE note ^@ 'Καλημέρα κόσμε 1' GROUP BY note ORDER BY note LIMIT 3;
SELECT count(*) FROM visits WHERE agent = 'Mozilla/5.0 (X11; Linux x86_64) rv:3';
RESET enable_seqscan;
SELECT count(*) FROM plain WHERE agent = 'Mozilla/5.0 (X11; Linux x86_64) rv:3';
SELECT length(url), upper(agent), url || '#1', substr(note, 1, 4) FROM visits WHERE id = 1;
SELECT count(*) FROM (SELECT url FROM visits EXCEPT SELECT url FROM plain) x;
SELECT coalesce(note, 'none'::text), CASE WHEN id = 10 THEN note ELSE 'other' END FROM visits WHERE id = 10;

-- the limit of a length
INSERT INTO visits (id, agent) VALUES (-1, repeat('x', 81));
INSERT INTO visits (id, agent) VALUES (-1, 'short' || repeat(' ', 90));
SELECT length(agent) FROM visits WHERE id = -1;
DELETE FROM visits WHERE id = -1;
SELECT repeat('ä', 10)::trained_text2(3);
SELECT 'x'::trained_text2(0);
SELECT 'x'::trained_text2(1, 2);
ALTER TABLE visits ALTER agent TYPE trained_text2(90) COLLATE "C";

-- constraints, and foreign keys in both directions
CREATE TABLE names (name trained_text2 PRIMARY KEY);
INSERT INTO names VALUES ('Mozilla/5.0 (X11; Linux x86_64) rv:1'), ('other');
INSERT INTO names VALUES ('Mozilla/5.0 (X11; Linux x86_64) rv:1');
CREATE TABLE uses (name text REFERENCES names);
INSERT INTO uses VALUES ('Mozilla/5.0 (X11; Linux x86_64) rv:1');
INSERT INTO uses VALUES ('missing');
CREATE TABLE text_names (name text PRIMARY KEY);
INSERT INTO text_names VALUES ('Mozilla/5.0 (X11; Linux x86_64) rv:1');
CREATE TABLE trained_uses (name trained_text2 REFERENCES text_names);
INSERT INTO trained_uses VALUES ('Mozilla/5.0 (X11; Linux x86_64) rv:1');
INSERT INTO trained_uses VALUES ('missing');
DROP TABLE uses, names, trained_uses, text_names;

-- a trained type and compact_text
CREATE TABLE pairs AS SELECT s, s::trained_text1 AS t, s::compact_text AS c
FROM (SELECT url FROM plain WHERE id % 50 = 0 UNION ALL SELECT agent FROM plain WHERE id < 20
  UNION ALL SELECT unnest(ARRAY['', ' ', E'\x01', E'\x14\x15', '12345678', '日本', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'https://', 'https:// ',
    'the quick brown fox jumps over the lazy dog', repeat('https://www.example.org/catalog/', 100), repeat('x', 2001), NULL])) x (s);
INSERT INTO pairs SELECT upper(s), upper(s)::trained_text1, upper(s)::compact_text FROM pairs;
SELECT compact_types.codec(t) AS t, compact_types.codec(c) AS c, count(*) FROM pairs GROUP BY 1, 2 ORDER BY 1, 2;
SELECT count(*) AS pairs, count(*) FILTER (WHERE (a.t = b.c, a.t <> b.c, a.t < b.c, a.t <= b.c, a.t > b.c, a.t >= b.c)
    IS DISTINCT FROM (a.s = b.s, a.s <> b.s, a.s < b.s, a.s <= b.s, a.s > b.s, a.s >= b.s)) AS trained_left,
  count(*) FILTER (WHERE (a.c = b.t, a.c <> b.t, a.c < b.t, a.c <= b.t, a.c > b.t, a.c >= b.t)
    IS DISTINCT FROM (a.s = b.s, a.s <> b.s, a.s < b.s, a.s <= b.s, a.s > b.s, a.s >= b.s)) AS trained_right,
  count(*) FILTER (WHERE (a.t COLLATE "C" = b.c, a.t COLLATE "C" < b.c, a.t COLLATE "C" <= b.c, a.c COLLATE "C" > b.t, a.c COLLATE "C" >= b.t)
    IS DISTINCT FROM (a.s = b.s, a.s COLLATE "C" < b.s, a.s COLLATE "C" <= b.s, a.s COLLATE "C" > b.s, a.s COLLATE "C" >= b.s)) AS in_c
FROM pairs a, pairs b;
CREATE TABLE addresses AS SELECT id, url::compact_text AS url FROM plain WHERE id % 10 < 7;
INSERT INTO addresses SELECT -id, url || '#' || id FROM plain WHERE id % 10 = 9;
ALTER TABLE addresses ADD PRIMARY KEY (id);
ANALYZE addresses;
SELECT count(*) FROM visits v JOIN addresses a ON v.url = a.url;
SELECT count(*), count(v.id), count(a.id) FROM visits v FULL JOIN addresses a ON a.url = v.url;
SELECT count(*) FROM visits v JOIN addresses a USING (url);
SELECT count(*) FROM visits WHERE url IN (SELECT url FROM addresses);
SELECT count(*) FROM visits WHERE url NOT IN (SELECT url FROM addresses);
SELECT count(*) FROM visits v WHERE NOT EXISTS (SELECT FROM addresses a WHERE a.url = v.url);
SELECT count(*) FROM visits v JOIN addresses a USING (id) WHERE v.url IS DISTINCT FROM a.url OR nullif(a.url, v.url) IS NOT NULL;
SELECT count(*) FROM visits v JOIN addresses a ON (v.url, v.id) = (a.url, a.id) WHERE (v.url, v.id) <= (a.url, a.id);
SELECT count(*) FROM visits WHERE url = ANY (ARRAY(SELECT url FROM addresses WHERE id < 100));
SELECT count(*), min(pg_typeof(url)::text) FROM (SELECT url FROM visits UNION SELECT url FROM addresses) x;
SELECT count(*) FROM (SELECT url FROM addresses EXCEPT SELECT url FROM visits) x;
SELECT pg_typeof(coalesce(v.url, a.url)), pg_typeof(coalesce(a.url, v.url)), pg_typeof(CASE WHEN v.id = 1 THEN v.url ELSE a.url END),
  greatest(a.url, v.url), ARRAY[v.url, a.url] FROM visits v JOIN addresses a USING (id) WHERE id = 1;
-- values move between the columns without the other column's encoding
INSERT INTO addresses SELECT 10000 + id, url FROM visits WHERE id < 3;
INSERT INTO visits (id, url) SELECT 10000 + id, url FROM addresses WHERE id BETWEEN 10000 AND 10003;
SELECT id, compact_types.codec(url) FROM addresses WHERE id > 10000 ORDER BY id;
SELECT id, compact_types.codec(url) FROM visits WHERE id > 10000 ORDER BY id;
DELETE FROM addresses WHERE id > 10000;
DELETE FROM visits WHERE id > 10000;
SELECT 'https://www.example.org/'::trained_text1::compact_text(5);
-- indexes on either column serve the comparison
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS off) SELECT count(*) FROM visits v JOIN addresses a ON v.url = a.url WHERE a.id = 5;
SELECT count(*) FROM visits v JOIN addresses a ON v.url = a.url;
CREATE INDEX addresses_url ON addresses (url);
DROP INDEX visits_url;
EXPLAIN (COSTS off) SELECT count(*) FROM visits v JOIN addresses a ON v.url = a.url WHERE v.id = 5;
SELECT count(*) FROM visits v JOIN addresses a ON a.url = v.url;
EXPLAIN (COSTS off) SELECT count(*) FROM visits v JOIN addresses a ON v.url > a.url WHERE v.id = 5;
SELECT count(*) FROM visits v JOIN addresses a ON v.url > a.url WHERE v.id = 5;
SELECT count(*) FROM plain v JOIN addresses a ON v.url > a.url WHERE v.id = 5;
DROP INDEX addresses_url;
CREATE INDEX addresses_url ON addresses (url COLLATE "C");
EXPLAIN (COSTS off) SELECT count(*) FROM visits v JOIN addresses a ON v.url > a.url WHERE v.id = 5;
EXPLAIN (COSTS off) SELECT count(*) FROM visits v JOIN addresses a ON v.url = a.url WHERE v.id = 5;
SELECT count(*) FROM visits v JOIN addresses a ON v.url = a.url WHERE v.id BETWEEN 1 AND 10;
CREATE INDEX plain_url ON plain (url);
EXPLAIN (COSTS off) SELECT count(*) FROM plain p JOIN addresses a ON p.url > a.url WHERE a.id = 5;
SELECT count(*) FROM plain p JOIN addresses a ON p.url > a.url WHERE a.id = 5;
SELECT count(*) FROM plain p JOIN plain a ON p.url > a.url WHERE a.id = 5;
DROP INDEX plain_url;
DROP INDEX addresses_url;
CREATE INDEX addresses_url ON addresses USING hash (url);
EXPLAIN (COSTS off) SELECT count(*) FROM visits v JOIN addresses a ON v.url = a.url WHERE v.id = 5;
SELECT count(*) FROM visits v JOIN addresses a ON v.url = a.url;
DROP INDEX addresses_url;
CREATE INDEX visits_url ON visits USING hash (url);
EXPLAIN (COSTS off) SELECT count(*) FROM visits v JOIN addresses a ON v.url = a.url WHERE a.id = 5;
SELECT count(*) FROM visits v JOIN addresses a ON v.url = a.url;
DROP INDEX visits_url;
CREATE INDEX visits_url ON visits USING spgist (url);
EXPLAIN (COSTS off) SELECT count(*) FROM visits v JOIN addresses a ON a.url = v.url WHERE a.id = 5;
SELECT count(*) FROM visits v JOIN addresses a ON v.url = a.url WHERE a.id BETWEEN 1 AND 100;
DROP INDEX visits_url;
CREATE INDEX visits_url ON visits (url COLLATE "C");
EXPLAIN (COSTS off) SELECT count(*) FROM visits v JOIN addresses a ON a.url COLLATE "C" < v.url WHERE a.id = 5;
DROP INDEX visits_url;
CREATE INDEX visits_url ON visits (url);
-- A nondeterministic collation is refused, as by a scan of the table.
CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE names (name text COLLATE folded PRIMARY KEY);
INSERT INTO names VALUES ('Abc');
SELECT * FROM names WHERE name = 'abc'::compact_text;
SELECT * FROM names WHERE name = 'abc'::trained_text1;
DROP TABLE names;
DROP COLLATION folded;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT opcname, amname, amvalidate(c.oid) FROM pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod
WHERE opcname ~ '^(trained_text1|compact_text)_' ORDER BY 1, 2;
-- foreign keys
ALTER TABLE addresses ADD UNIQUE (url, id);
CREATE TABLE trained_uses (id int, url trained_text1, FOREIGN KEY (url, id) REFERENCES addresses (url, id) ON UPDATE CASCADE);
INSERT INTO trained_uses SELECT id, url FROM addresses WHERE id IN (1, 2);
INSERT INTO trained_uses VALUES (1, 'missing');
UPDATE addresses SET url = url || '#new' WHERE id = 1;
DELETE FROM addresses WHERE id = 2;
SELECT id, url, compact_types.codec(url) FROM trained_uses ORDER BY id;
ALTER TABLE visits ADD UNIQUE (url, id);
CREATE TABLE compact_uses (id int, url compact_text, FOREIGN KEY (url, id) REFERENCES visits (url, id) ON UPDATE CASCADE);
INSERT INTO compact_uses SELECT id, url FROM visits WHERE id IN (1, 2);
INSERT INTO compact_uses VALUES (1, 'missing');
UPDATE visits SET url = url || '#new' WHERE id = 1;
DELETE FROM visits WHERE id = 2;
SELECT id, url, compact_types.codec(url) FROM compact_uses ORDER BY id;
UPDATE visits SET url = replace(url, '#new', '') WHERE id = 1;
DROP TABLE trained_uses, compact_uses, addresses, pairs;
ALTER TABLE visits DROP CONSTRAINT visits_url_id_key;

-- two trained types have no common operators
SELECT count(*) FROM visits WHERE url = agent;
SELECT count(*) FROM visits WHERE url = agent::text;

-- The values need the dictionary.
DROP TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1;
\set VERBOSITY default
DROP TEXT SEARCH DICTIONARY IF EXISTS compact_dictionaries.trained_text1, compact_dictionaries.missing CASCADE;
ALTER TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 RENAME TO other;
\set VERBOSITY terse
ALTER TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 SET SCHEMA public;
ALTER TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 (symbols = 'AAAA');
ALTER TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 (symbols = 'no base64');
ALTER TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 (symbols);
ALTER TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 (symbols = '', rules = 'x');
DO $$ DECLARE symbols text;
BEGIN
  -- the symbol table of another dictionary is valid, but another one
  SELECT substring(dictinitoption FROM '''(.*)''') INTO symbols FROM pg_ts_dict WHERE dictname = 'trained_text2';
  EXECUTE format('ALTER TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 (symbols = %L)', symbols);
END $$;
ALTER SCHEMA compact_dictionaries RENAME TO other;
DROP EXTENSION trained_text1;
DROP EXTENSION trained_text1 CASCADE;
CREATE TEXT SEARCH DICTIONARY other (TEMPLATE = simple);
ALTER TEXT SEARCH DICTIONARY other RENAME TO another;
DROP TEXT SEARCH DICTIONARY another;
-- No setting and no other statement gets around that.
SET compact_types.guard_drop = off;
DROP TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1;
ALTER TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 RENAME TO other;
RESET compact_types.guard_drop;
ALTER EVENT TRIGGER compact_types_guard DISABLE;
DROP TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1;
ALTER EVENT TRIGGER compact_types_guard ENABLE ALWAYS;
ALTER TYPE trained_text1 SET (STORAGE = main);
ALTER EXTENSION trained_text2 ADD TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1;
CREATE ROLE regress_trained_owner;
GRANT CREATE ON SCHEMA compact_dictionaries TO regress_trained_owner;
ALTER TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 OWNER TO regress_trained_owner;
DROP OWNED BY regress_trained_owner;
DROP OWNED BY regress_trained_owner CASCADE;
REASSIGN OWNED BY regress_trained_owner TO CURRENT_USER;
DROP OWNED BY regress_trained_owner;
DROP ROLE regress_trained_owner;
CREATE ROLE regress_trained_schema;
ALTER SCHEMA compact_dictionaries OWNER TO regress_trained_schema;
SET ROLE regress_trained_schema;
DROP TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 CASCADE;
RESET ROLE;
ALTER SCHEMA compact_dictionaries OWNER TO CURRENT_USER;
DROP ROLE regress_trained_schema;
-- A parallel worker must not make values: its lock on the dictionary would end with it.
SELECT proname FROM pg_proc WHERE proparallel = 'r' AND pronamespace = 'compact_types'::regnamespace AND proname ~ 'trained_text1' ORDER BY 1;
DO $$ DECLARE symbols text;
BEGIN
  SELECT substring(dictinitoption FROM '''(.*)''') INTO symbols FROM pg_ts_dict WHERE dictname = 'trained_text1';
  EXECUTE format('CREATE TEXT SEARCH DICTIONARY compact_dictionaries.another (TEMPLATE = compact_types.trained_text1, symbols = %L)', symbols);
END $$;
DO $$ DECLARE symbols text;
BEGIN
  SELECT substring(dictinitoption FROM '''(.*)''') INTO symbols FROM pg_ts_dict WHERE dictname = 'trained_text1';
  EXECUTE format('CREATE TEXT SEARCH DICTIONARY compact_dictionaries.trained_text9 (TEMPLATE = compact_types.trained_text2, symbols = %L)', symbols);
END $$;

-- The next training gives another type, if that saves more.
SELECT type FROM compact_types.train('visits', 'url');
INSERT INTO visits SELECT i, 'ftp://mirror.example.net/debian/pool/main/p/postgresql-17/postgresql-17_17.' || i % 20 || '_amd64.deb' FROM generate_series(5001, 10000) i;
ANALYZE visits;
SELECT type FROM compact_types.train('visits', 'url');
DELETE FROM visits WHERE id > 5000;
ALTER TABLE visits ALTER COLUMN url TYPE trained_text4;
SELECT count(*) AS differences FROM visits v FULL JOIN plain p USING (id) WHERE v.url IS DISTINCT FROM p.url;
SELECT id FROM visits WHERE url = 'https://www.example.org/catalog/office/item-15838.html';
CREATE VIEW constant AS SELECT 'x'::trained_text1;
CREATE INDEX plain_expression ON plain ((url::trained_text1));
CREATE FUNCTION constant() RETURNS text BEGIN ATOMIC SELECT 'x'::trained_text1::text; END;
\set VERBOSITY default
DROP TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1;
\set VERBOSITY terse
DROP VIEW constant;
DROP INDEX plain_expression;
DROP FUNCTION constant();
DROP TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1;
SELECT 'x'::trained_text1;
CREATE TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 (TEMPLATE = simple);
SELECT 'x'::trained_text1;
DROP TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1;
DROP EXTENSION trained_text1;

-- the way back
SELECT relation, column_name, type, old_type FROM compact_types.status ORDER BY column_name;
SELECT * FROM compact_types.revert('visits', unrecorded => true);
\d visits
SELECT count(*) AS differences FROM visits v FULL JOIN plain p USING (id) WHERE ROW(v.*) IS DISTINCT FROM ROW(p.*);
DROP EXTENSION trained_text2 CASCADE;
DROP EXTENSION trained_text3 CASCADE;
DROP EXTENSION trained_text4 CASCADE;

-- the transaction that trains
BEGIN;
SELECT type FROM compact_types.train('visits', 'url');
ALTER TABLE visits ALTER COLUMN url TYPE trained_text1;
INSERT INTO visits (id, url) VALUES (-1, 'new');
SELECT id FROM visits WHERE url = 'new';
ROLLBACK;
-- It makes no values for an index that would stay after it aborts.
SELECT type FROM compact_types.train('visits', 'url');
SELECT substring(dictinitoption FROM '''(.*)''') AS symbols FROM pg_ts_dict WHERE dictname = 'trained_text1' \gset
DROP TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1;
CREATE TABLE older (url trained_text1);
INSERT INTO older VALUES ('x');
BEGIN;
CREATE TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 (TEMPLATE = compact_types.trained_text1, symbols = :'symbols');
SAVEPOINT s;
\set VERBOSITY default
INSERT INTO older VALUES ('x');
\set VERBOSITY terse
ROLLBACK TO s;
ALTER TABLE older ALTER url SET STATISTICS 10;
SAVEPOINT s;
INSERT INTO older VALUES ('x');
ROLLBACK TO s;
DROP TABLE older;
SELECT 'x'::trained_text1;
ROLLBACK TO s;
INSERT INTO older VALUES ('x');
ROLLBACK;
DROP TABLE older;
CREATE TABLE older (url text);
CREATE INDEX ON older ((url::trained_text1));
BEGIN;
CREATE TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 (TEMPLATE = compact_types.trained_text1, symbols = :'symbols');
INSERT INTO older VALUES ('x');
ROLLBACK;
DROP TABLE older;
-- A longer limit keeps the file of the index.
CREATE TABLE older (url trained_text1(10));
CREATE INDEX ON older (url);
BEGIN;
CREATE TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 (TEMPLATE = compact_types.trained_text1, symbols = :'symbols');
ALTER TABLE older ALTER url TYPE trained_text1(20);
INSERT INTO older VALUES ('x');
ROLLBACK;
DROP TABLE older;
CREATE TYPE pair AS (a trained_text1[], b int);
CREATE DOMAIN pairs AS pair[];
CREATE TABLE older (p pairs);
BEGIN;
CREATE TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 (TEMPLATE = compact_types.trained_text1, symbols = :'symbols');
INSERT INTO older VALUES (ARRAY[ROW(ARRAY['x'], 1)::pair]);
ROLLBACK;
DROP TABLE older;
DROP DOMAIN pairs;
DROP TYPE pair;
BEGIN;
CREATE TABLE newer (url trained_text1);
SAVEPOINT s;
CREATE TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 (TEMPLATE = compact_types.trained_text1, symbols = :'symbols');
\set VERBOSITY default
INSERT INTO newer VALUES ('x');
\set VERBOSITY terse
ROLLBACK;
CREATE TABLE older (url trained_text1);
CREATE TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 (TEMPLATE = compact_types.trained_text1, symbols = :'symbols');
INSERT INTO older VALUES ('x');
BEGIN;
ALTER TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 OWNER TO CURRENT_USER;
INSERT INTO older VALUES ('y');
COMMIT;
TABLE older;

-- train() takes only a type that does not exist, and creates it as the caller.
CREATE EXTENSION trained_text2;
CREATE ROLE regress_trained_low;
SET ROLE regress_trained_low;
CREATE TEMP TABLE low AS SELECT 'a string that occurs often: ' || i % 10 AS t FROM generate_series(1, 20000) i;
\set VERBOSITY sqlstate
SELECT type FROM compact_types.train('low', 't');
\set VERBOSITY terse
DROP TABLE low;
RESET ROLE;
DROP ROLE regress_trained_low;
SELECT type FROM compact_types.train('plain', 'url');

-- The dictionary has to pay for the values that are there, and not for NULL.  Policies of the table do not hide rows from
-- the training.
CREATE ROLE regress_trained_owner;
CREATE TABLE sparse AS SELECT CASE WHEN i % 2000 = 0 THEN 'one of few long strings, number ' || i END AS t FROM generate_series(1, 20000) i;
ALTER TABLE sparse OWNER TO regress_trained_owner;
ALTER TABLE sparse ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ANALYZE sparse;
SELECT type, sampled_values FROM compact_types.train('sparse', 't');
DROP TABLE sparse;
DROP ROLE regress_trained_owner;

-- convert() trains dictionaries, and revert() knows the former types.
CREATE TABLE shop (id int PRIMARY KEY, url text NOT NULL DEFAULT '/none', agent varchar(80) COLLATE "C" CHECK (agent <> ''), greek text, short text, word text, random text);
INSERT INTO shop
  SELECT i, 'https://www.example.org/catalog/' || (ARRAY['garden', 'kitchen', 'office'])[1 + i % 3] || '/item-' || i * 7919 % 100003 || '.html',
    'Mozilla/5.0 (' || (ARRAY['X11; Linux x86_64', 'Windows NT 10.0; Win64; x64', 'Macintosh; Intel Mac OS X 10_15_7'])[1 + i % 3] || ') rv:' || i % 40,
    'Καλημέρα κόσμε ' || i % 50, i % 10, 'a word', encode(sha256(i::text::bytea), 'base64')
  FROM generate_series(1, 5000) i;
CREATE INDEX shop_url ON shop (url text_pattern_ops);
CREATE VIEW seen AS SELECT url, length(agent) AS length FROM shop WHERE agent LIKE 'Moz%';
CREATE TABLE before AS TABLE shop;
SELECT column_name, proposed_type, reason FROM compact_types.advise('shop') WHERE column_name <> 'id';
ANALYZE shop;
CREATE TEMP TABLE advice AS SELECT * FROM compact_types.advise('shop', train => true);
SELECT column_name, proposed_type, regexp_replace(reason, '[0-9][0-9.]*', 'N', 'g') AS reason, risk, statement FROM advice;
SELECT compact_types.advise('shop', train => NULL);
SELECT column_name, proposed_type FROM compact_types.advise('shop', '{short}', train => true);
SELECT compact_types.convert('shop', '{greek}');
SELECT compact_types.convert('shop', train => true);
SELECT compact_types.convert('shop', '{url}', train => true, skip_blocked => true);
BEGIN;
SAVEPOINT s;
SELECT compact_types.convert('shop', '{url}', train => true);
ROLLBACK;
\set VERBOSITY default
SELECT compact_types.convert('shop', '{short}', train => true);
CREATE EXTENSION pg_trgm;
CREATE INDEX shop_word ON shop USING gin (word gin_trgm_ops);
SELECT compact_types.convert('shop', '{word}', train => true);
SET client_min_messages = warning;
DROP EXTENSION pg_trgm CASCADE;
RESET client_min_messages;
ALTER TABLE shop ADD CHECK (url <> greek);
\set VERBOSITY terse
SELECT compact_types.convert('shop', '{url,greek}', train => true);
ALTER TABLE shop DROP CONSTRAINT shop_check;
SELECT count(*) FROM pg_type WHERE typname ~ '^trained_text[4-9]$';
SELECT * FROM compact_types.convert('shop', '{url,agent,greek,word,random}', train => true);
-- The prediction includes the dictionaries.
SELECT column_name, value_bytes_now = (SELECT avg(pg_column_size(url)) FROM before) AS value_now, value_bytes_after BETWEEN 0.98 * bytes / 5000 AND 1.02 * bytes / 5000 AS value,
  bytes_after BETWEEN 0.98 * bytes AND 1.02 * bytes AS without_dictionary, bytes_after BETWEEN 0.98 * (bytes + dictionary) AND 1.02 * (bytes + dictionary) AS with_dictionary
FROM advice, substring(reason FROM 'a dictionary of (\d+) bytes') d (d), LATERAL (SELECT d::int AS dictionary, sum(pg_column_size(url)) AS bytes FROM shop) x
WHERE column_name = 'url';
DROP TABLE advice;
-- A dictionary does not encode long values.
CREATE TABLE half_long AS SELECT CASE WHEN id % 2 = 0 THEN repeat(url, 50) ELSE url END AS url FROM before;
ANALYZE half_long;
SELECT value_bytes_now AS now, value_bytes_after AS predicted FROM compact_types.advise('half_long', train => true) \gset
SELECT * FROM compact_types.convert('half_long', '{url}', train => true);
SELECT :predicted BETWEEN 0.98 * after AND 1.02 * after AS predicted, after < :now - 10 AS smaller FROM (SELECT avg(pg_column_size(url)) AS after FROM half_long) x;
ALTER TABLE half_long ALTER url TYPE text;
DROP EXTENSION trained_text9 CASCADE;
-- Without a right of the owner or of the caller, or without another type, the ordinary advice stays.
CREATE ROLE regress_trained_owner;
CREATE ROLE regress_trained_reader;
GRANT SELECT ON half_long TO regress_trained_reader;
SET ROLE regress_trained_reader;
SELECT column_name, proposed_type, blockers, statement FROM compact_types.advise('half_long', train => true);
RESET ROLE;
ALTER TABLE half_long OWNER TO regress_trained_owner;
REVOKE SELECT ON half_long FROM regress_trained_owner;
SELECT column_name, proposed_type, reason FROM compact_types.advise('half_long', train => true);
GRANT SELECT ON half_long TO regress_trained_owner;
BEGIN;
DO $$ DECLARE missing text; BEGIN
  FOR missing IN SELECT name FROM pg_available_extensions WHERE name ~ '^trained_text' AND installed_version IS NULL LOOP EXECUTE 'CREATE EXTENSION ' || missing; END LOOP; END $$;
SELECT column_name, proposed_type, blockers, statement FROM compact_types.advise('half_long', train => true);
ROLLBACK;
DROP TABLE half_long;
DROP ROLE regress_trained_owner, regress_trained_reader;
\d shop
SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 'seen'::regclass ORDER BY attnum;
SELECT compact_types.codec(url) AS url, compact_types.codec(agent) AS agent, compact_types.codec(greek) AS greek, compact_types.codec(word) AS word, count(*)
FROM shop GROUP BY 1, 2, 3, 4 ORDER BY 5;
SELECT count(*) AS differences FROM shop s FULL JOIN before b USING (id)
WHERE (s.url::text, s.agent::text, s.greek::text, s.short::text, s.word::text, s.random::text) IS DISTINCT FROM (b.url, b.agent, b.greek, b.short, b.word, b.random);
INSERT INTO shop (id, agent) VALUES (0, '');
INSERT INTO shop (id, agent) VALUES (0, 'Mozilla/5.0') RETURNING url;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM shop WHERE url LIKE 'https://www.example.org/catalog/garden/item-1%';
RESET enable_seqscan;
-- train again, with other values
UPDATE shop SET url = 'ftp://files.example.net/pub/' || id || '.tar.gz', random = url WHERE id > 0;
CREATE TABLE after AS SELECT id, url::text AS url, random::text AS random FROM shop;
ALTER TABLE shop ADD CONSTRAINT named CHECK (url <> 'it''s' AND random NOT IN ('a', 'b'));
CREATE VIEW named AS SELECT id, coalesce(random, '-') AS random FROM shop WHERE url <> 'x';
CREATE VIEW showing AS SELECT random, (SELECT max(url) FROM shop) AS max, ARRAY[random] AS list, random::text AS text, nullif(random, 'q'::compact_text) AS packed FROM named;
SELECT attrelid::regclass, attname, atttypid::regtype FROM pg_attribute WHERE attrelid IN ('named'::regclass, 'showing'::regclass) ORDER BY 1, attnum;
ANALYZE shop;
SELECT column_name, proposed_type, regexp_replace(reason, '[0-9][0-9.]*', 'N', 'g') AS reason, blockers, statement FROM compact_types.advise('shop', '{url,agent,random}', train => true);
-- the obstacles of a conversion
CREATE INDEX obstacle ON shop (random) WHERE random <> 'x';
CREATE FUNCTION obstacle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER obstacle INSTEAD OF INSERT ON named FOR EACH ROW EXECUTE FUNCTION obstacle();
SELECT column_name, proposed_type, blockers, statement FROM compact_types.advise('shop', '{random}', train => true);
SELECT compact_types.convert('shop', '{random}', train => true);
DROP INDEX obstacle;
DROP FUNCTION obstacle() CASCADE;
SELECT column_name, type, old_type FROM compact_types.status WHERE relation = 'shop'::regclass AND column_name IN ('url', 'random') ORDER BY 1;
SELECT * FROM compact_types.convert('shop', '{url,random}', train => true);
SELECT column_name, type, old_type FROM compact_types.status WHERE relation = 'shop'::regclass AND column_name IN ('url', 'random') ORDER BY 1;
SELECT compact_types.codec(url) AS url, compact_types.codec(random) AS random, count(*) FROM shop GROUP BY 1, 2 ORDER BY 3;
SELECT count(*) AS differences FROM shop s FULL JOIN after a USING (id) WHERE (s.url::text, s.random::text) IS DISTINCT FROM (a.url, a.random);
SELECT count(url), max(length) FROM seen;
SELECT pg_get_constraintdef(oid), regexp_replace(pg_get_viewdef('named'), 'shop\.', '', 'g') FROM pg_constraint WHERE conname = 'named';
SELECT attrelid::regclass, attname, atttypid::regtype FROM pg_attribute WHERE attrelid IN ('named'::regclass, 'showing'::regclass) ORDER BY 1, attnum;
DROP VIEW named CASCADE;
SELECT compact_types.convert('shop', '{url}', train => true);
DROP EXTENSION trained_text4 CASCADE;
SELECT compact_types.convert('shop', '{nothing}', train => true);
DROP TABLE after;
CREATE TABLE made (url compact_text(100));
INSERT INTO made SELECT url FROM before;
SELECT * FROM compact_types.convert('made', '{url}', train => true);
CREATE VIEW constant AS SELECT 'x'::trained_text4 AS c;
SELECT * FROM compact_types.revert('made');
DROP TABLE made;
DROP VIEW constant;
DROP EXTENSION trained_text4 CASCADE;
-- A view of a column that is trained again, of one that is trained for the first time, and of columns
-- that have had a type in common
ALTER TABLE shop ADD COLUMN another text, ADD COLUMN same trained_text9;
UPDATE shop SET another = 'https://www.example.net/another/' || id, same = url;
CREATE VIEW mixed AS SELECT url, another, url::text AS text, coalesce(url, '-') AS co FROM shop WHERE url <> 'x';
UPDATE shop SET url = 'gopher://gopher.example.info/1/phlog/' || id || '.txt';
ANALYZE shop;
SELECT column_name, old_type, new_type FROM compact_types.convert('shop', '{url,another}', train => true) WHERE column_name IS NOT NULL;
SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 'mixed'::regclass ORDER BY attnum;
DROP VIEW mixed;
CREATE TABLE common AS SELECT id, url AS a, url AS b, url AS c FROM before;
SET client_min_messages = warning;
SELECT new_type AS common FROM compact_types.convert('common', '{a}', train => true) \gset
ALTER TABLE common ALTER b TYPE :common, ALTER c TYPE :common;
CREATE VIEW mixed AS SELECT id, coalesce(a, '-') AS co, b FROM common WHERE a <> 'x' AND b <> 'y';
UPDATE common SET a = 'gopher://gopher.example.info/1/phlog/' || id || '.txt', b = 'news://nntp.example.info/archive/' || id || '/more';
SELECT column_name FROM compact_types.convert('common', '{a,b}', train => true) WHERE column_name IS NOT NULL;
RESET client_min_messages;
SELECT count(*), count(b) FROM mixed WHERE co LIKE 'gopher%' OR co = '-';
SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 'mixed'::regclass ORDER BY attnum;
SET client_min_messages = warning;
DROP TABLE common CASCADE;
DROP EXTENSION trained_text12 CASCADE;
DROP EXTENSION trained_text13 CASCADE;
DROP EXTENSION trained_text14 CASCADE;
RESET client_min_messages;
ALTER TABLE shop DROP COLUMN another, DROP COLUMN same;
DROP EXTENSION trained_text9 CASCADE;
DROP EXTENSION trained_text11 CASCADE;
SELECT extname FROM pg_extension WHERE extname ~ '^trained_text' ORDER BY length(extname), extname;
UPDATE shop s SET url = b.url, random = b.random FROM before b WHERE s.id = b.id;
CREATE VIEW named AS SELECT id, coalesce(random, '-') AS random, ARRAY[random] AS list, CASE id WHEN 1 THEN url ELSE '' END AS url FROM shop;
CREATE VIEW showing AS SELECT n.*, max(random) OVER () AS max FROM named n;
SELECT * FROM compact_types.revert('shop');
SELECT attrelid::regclass, attname, atttypid::regtype FROM pg_attribute WHERE attrelid IN ('named'::regclass, 'showing'::regclass) ORDER BY 1, attnum;
DROP VIEW named CASCADE;
\d shop
SELECT count(*) AS differences FROM shop s JOIN before b USING (id) WHERE s IS DISTINCT FROM b;
ALTER TABLE shop ADD COLUMN few text;
UPDATE shop SET few = 'ab' || id WHERE id < 200;
SELECT * FROM compact_types.convert('shop', '{few}', train => true);
DROP TABLE shop, before CASCADE;
DROP EXTENSION trained_text4, trained_text5, trained_text6, trained_text7, trained_text8, trained_text10 CASCADE;

DROP TABLE older, visits, plain;
DROP EXTENSION trained_text1 CASCADE;
DROP EXTENSION trained_text2;
DROP EXTENSION trained_text3 CASCADE;

-- random characters, alone and within strings
CREATE TABLE tokens AS
  SELECT i AS id, 'Bearer ' || rtrim(translate(encode(sha256(i::text::bytea), 'base64'), '+/', '-_'), '=') AS token,
    encode(sha256(('x' || i)::bytea), 'base64') AS hash
  FROM generate_series(1, 3000) i;
CREATE TABLE plain AS TABLE tokens;
ANALYZE tokens;
SELECT type, sampled_values, value_bytes_now, round(value_bytes_after) AS value_bytes_after FROM compact_types.train('tokens', 'token');
SELECT type, sampled_values, value_bytes_now, round(value_bytes_after) AS value_bytes_after FROM compact_types.train('tokens', 'hash');
ALTER TABLE tokens ALTER COLUMN token TYPE trained_text1, ALTER COLUMN hash TYPE trained_text2;
SELECT compact_types.codec(token) AS token, compact_types.codec(hash) AS hash, count(*) FROM tokens GROUP BY 1, 2;
SELECT count(*) AS differences FROM tokens t FULL JOIN plain p USING (id) WHERE (t.token::text, t.hash::text) IS DISTINCT FROM (p.token, p.hash);
INSERT INTO tokens VALUES (-1, 'Bearer ', ''), (-2, 'Bearer none', '===='), (-3, repeat('Ab3_', 300), repeat('Ab3/', 250)), (-4, 'Bearer Καλημέρα', 'Καλημέρα+/');
INSERT INTO plain SELECT id, token, hash FROM tokens WHERE id < 0;
SELECT id, octet_length(token) AS token, pg_column_size(token), octet_length(hash) AS hash, pg_column_size(hash) FROM tokens WHERE id < 0 ORDER BY id DESC;
SELECT (SELECT array_agg(id ORDER BY token COLLATE "C", id) FROM tokens) = (SELECT array_agg(id ORDER BY token COLLATE "C", id) FROM plain) AS token,
  (SELECT array_agg(id ORDER BY hash COLLATE "C", id) FROM tokens) = (SELECT array_agg(id ORDER BY hash COLLATE "C", id) FROM plain) AS hash;
CREATE INDEX tokens_token ON tokens (token COLLATE "C");
CREATE INDEX tokens_hash ON tokens USING hash (hash);
SET enable_seqscan = off;
SELECT count(*) FROM plain p JOIN tokens t ON t.hash = p.hash AND t.id = p.id;
SELECT count(*), (SELECT count(*) FROM plain WHERE token LIKE 'Bearer A%') AS plain FROM tokens WHERE token COLLATE "C" LIKE 'Bearer A%';
RESET enable_seqscan;
DROP TABLE tokens, plain;
DROP EXTENSION trained_text1 CASCADE;
DROP EXTENSION trained_text2 CASCADE;
