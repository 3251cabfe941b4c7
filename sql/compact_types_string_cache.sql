-- A statement that makes many values keeps the last strings with their values.  The values must be
-- the same as those of statements that make too few values for that.
\set VERBOSITY terse
CREATE TABLE strings (id int, t text);
INSERT INTO strings
  -- strings that occur often, of all lengths around the limits, which encode well, badly and not at all
  SELECT i, CASE i % 7
    WHEN 0 THEN repeat('compressible ', 20 + i % 3)
    WHEN 1 THEN left(repeat('an often used string, ', 20), 150 + i % 50)
    WHEN 2 THEN left(repeat(md5((i % 13)::text), 8), i % 200)
    WHEN 3 THEN E'\x01' || i % 10
    WHEN 4 THEN 'GET'
    WHEN 5 THEN (i % 300)::text
    ELSE left(repeat(chr(200 + i % 20), 100), 40 + i % 60) END
  FROM generate_series(1, 3000) i;

-- two strings of the same length that have the same hash value
CREATE TABLE hashed AS SELECT 'collision ' || i AS t, hashtext('collision ' || i) AS h FROM generate_series(100000, 499999) i;
CREATE TABLE collision AS SELECT min(a.t) AS a, max(a.t) AS b FROM hashed a GROUP BY h HAVING count(*) > 1 ORDER BY 1 LIMIT 1;
SELECT count(*), bool_and(hashtext(a) = hashtext(b) AND a <> b) FROM collision;
INSERT INTO strings SELECT 10000 + i, CASE i % 2 WHEN 0 THEN a ELSE b END FROM collision, generate_series(1, 200) i;
DROP TABLE hashed, collision;

INSERT INTO strings
SELECT 3000 + i, CASE i % 3 WHEN 0 THEN '' WHEN 1 THEN NULL ELSE ' ' END FROM generate_series(1, 30) i
-- strings that occur once
UNION ALL SELECT 3100 + i, 'only once: ' || i FROM generate_series(1, 1000) i
-- more strings than there are places, several times
UNION ALL SELECT 5000 + i, 'one of many: ' || i % 700 FROM generate_series(1, 2100) i;

ANALYZE strings;

-- a trained type, and strings that its dictionary does not know
SELECT type FROM compact_types.train('strings', 't');
CREATE TABLE many (id int, c compact_text, l compact_text(100), p compact_text, d trained_text1, dl trained_text1(100));
CREATE TABLE few (LIKE many);
INSERT INTO many SELECT id, t, t::compact_text(100), (left(t, 300) || '  ')::bpchar(300)::compact_text, t, t::trained_text1(100) FROM strings;
DO $$
BEGIN
  FOR n IN 0 .. 10200 / 50 LOOP
    EXECUTE format('INSERT INTO few SELECT id, t, t::compact_text(100), (left(t, 300) || ''  '')::bpchar(300)::compact_text, t, t::trained_text1(100)'
      ' FROM strings WHERE id BETWEEN %s AND %s', n * 50, n * 50 + 49);
  END LOOP;
END $$;
-- Equality compares the bytes of values.
SELECT count(*), count(*) FILTER (WHERE m.c IS DISTINCT FROM f.c) AS c, count(*) FILTER (WHERE m.l IS DISTINCT FROM f.l) AS l,
  count(*) FILTER (WHERE m.p IS DISTINCT FROM f.p) AS p, count(*) FILTER (WHERE m.d IS DISTINCT FROM f.d) AS d,
  count(*) FILTER (WHERE m.dl IS DISTINCT FROM f.dl) AS dl
FROM many m JOIN few f USING (id);
SELECT count(*) AS differences FROM many m FULL JOIN strings s USING (id)
WHERE (m.c::text, m.l::text, m.p::text, m.d::text, m.dl::text)
  IS DISTINCT FROM (s.t, left(s.t, 100), CASE WHEN s.t IS NOT NULL THEN rtrim(s.t) END, s.t, left(s.t, 100));

-- the types' input functions, and a rewrite of the table
CREATE TABLE copied (LIKE many);
INSERT INTO copied SELECT r.* FROM json_populate_recordset(NULL::many, (
  SELECT json_agg(json_build_object('id', id, 'c', t, 'l', left(t, 100), 'p', rtrim(t), 'd', t, 'dl', left(t, 100))) FROM strings)) r;
SELECT count(*) AS differences FROM copied o FULL JOIN many m USING (id) WHERE o IS DISTINCT FROM m;
CREATE TABLE rewritten AS TABLE strings;
ALTER TABLE rewritten ADD COLUMN d text;
UPDATE rewritten SET d = t;
ALTER TABLE rewritten ALTER COLUMN t TYPE compact_text, ALTER COLUMN d TYPE trained_text1;
SELECT count(*) AS differences FROM rewritten r FULL JOIN many m USING (id)
WHERE (r.t, r.d) IS DISTINCT FROM (m.c, m.d);

-- A string that is too long is an error, also if the statement has cut it to a string that it knows.
INSERT INTO few (l) SELECT repeat('x', 100 + i / 500) FROM generate_series(1, 600) i;
SELECT count(DISTINCT x) FROM (SELECT t::compact_text(5) AS x FROM strings WHERE t LIKE 'an often%' OFFSET 0) s;

-- more functions in one statement than there may be caches
SELECT 'SELECT count(*) FROM strings WHERE ' ||
  string_agg(format('(t || %1$L)::compact_text::text IS DISTINCT FROM t || %1$L', i), ' OR ' ORDER BY i) AS statement
FROM generate_series(1, 80) i \gset
:statement;

DROP TABLE strings, many, few, copied, rewritten;
DROP EXTENSION trained_text1 CASCADE;
