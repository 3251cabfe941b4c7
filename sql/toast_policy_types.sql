--
-- ztext and zbytea: text and bytea that are stored compressed
--
\set VERBOSITY terse
\set SHOW_CONTEXT never

-- Each codec compresses the strings for which this saves space, and decoding returns each string.
SELECT n, toast_policy.codec(s::ztext(none)) AS none, toast_policy.codec(s::ztext(lz4)) AS lz4,
       toast_policy.codec(s::ztext(snappy)) AS snappy, toast_policy.codec(s::ztext(zstd)) AS zstd, toast_policy.codec(s::ztext) AS "default",
       s::ztext(none) = s AND s::ztext(lz4) = s AND s::ztext(snappy) = s AND s::ztext(zstd) = s AS same,
       s::ztext(none)::text = s AND s::ztext(lz4)::text = s AND s::ztext(snappy)::text = s AND s::ztext(zstd)::text = s AS same_text
FROM (SELECT n, repeat('ab ä€', n) || '' AS s FROM (VALUES (0), (1), (7), (8), (30), (1000), (100000)) v (n)) x;
SELECT n, toast_policy.codec(b::zbytea(none)) AS none, toast_policy.codec(b::zbytea(lz4)) AS lz4,
       toast_policy.codec(b::zbytea(snappy)) AS snappy, toast_policy.codec(b::zbytea(zstd)) AS zstd,
       b::zbytea(none)::bytea = b AND b::zbytea(lz4)::bytea = b AND b::zbytea(snappy)::bytea = b AND b::zbytea(zstd)::bytea = b AS same
FROM (SELECT n, decode(repeat('00ff7f80', n), 'hex') AS b FROM (VALUES (0), (1), (16), (17), (1000), (100000)) v (n)) x;
-- A raw value has one byte more than the text.  This byte can also name a codec that saved no
-- space.
SELECT pg_column_size(''::ztext), pg_column_size('abc'::ztext), pg_column_size('abc'::text);
-- The format must never change.
CREATE CAST (ztext AS bytea) WITHOUT FUNCTION;
CREATE CAST (bytea AS ztext) WITHOUT FUNCTION;
SELECT 'abc'::ztext::bytea, ''::ztext::bytea, substr(repeat('x', 1000)::ztext(lz4)::bytea, 1, 5) AS lz4,
       substr(repeat('x', 1000)::ztext(snappy)::bytea, 1, 5) AS snappy, substr(repeat('x', 70000)::ztext(zstd)::bytea, 1, 9) AS zstd,
       substr((SELECT string_agg(md5(i::text), '') FROM generate_series(1, 3) i)::ztext(snappy)::bytea, 1, 5) AS tried,
       substr(repeat('x', 65)::ztext(none)::bytea, 1, 5) AS none;
SELECT '\x00616263'::bytea::ztext AS raw, '\x20616263'::bytea::ztext AS tried, '\x010600000060616263646566'::bytea::ztext AS lz4,
       '\x02060000000614616263646566'::bytea::ztext AS snappy, '\x030600000028b52ffd2006310000616263646566'::bytea::ztext AS zstd;
-- Test corrupt values.
\set VERBOSITY default
SELECT ''::bytea::ztext::text;
SELECT '\x04'::bytea::ztext::text;
SELECT '\x40'::bytea::ztext::text;
SELECT '\x81000000000000'::bytea::ztext::text;
SELECT '\x01'::bytea::ztext::text;
SELECT '\x0206000000'::bytea::ztext::text;
SELECT '\x03ffffffff28b52ffd2006310000616263646566'::bytea::ztext::text;
SELECT '\x030700000028b52ffd2006310000616263646566'::bytea::ztext::text;
SELECT '\x030600000028b52ffd20063100006162636465'::bytea::ztext::text;
SELECT '\x01060000006061626364656600'::bytea::ztext::text;
SELECT '\x010500000060616263646566'::bytea::ztext::text;
SELECT '\x02060000000714616263646566'::bytea::ztext::text;
SELECT '\x02ffffff3fffffff9f0314616263646566'::bytea::ztext::text;
SELECT '\x01ffffff3f60616263646566'::bytea::ztext::text;
SELECT '\x01ffffff3f60616263646566'::bytea::ztext = 'a'::text;
SELECT octet_length('\x01ffffff3f60616263646566'::bytea::ztext);
SELECT toast_policy.codec('\x04'::bytea::ztext);
SELECT substr('\x0206000000'::bytea::ztext, 1, 2);
SELECT '\x0206000000'::bytea::ztext;
\set VERBOSITY terse
DROP CAST (ztext AS bytea);
DROP CAST (bytea AS ztext);

-- Test the type modifier.
SELECT '(' || a::regtype || ')' AS a, format_type(a, 0), format_type(a, 1), format_type(a, 2), format_type(a, 3), format_type(a, -1)
FROM (VALUES ('ztext'::regtype), ('zbytea')) v (a);
SELECT toast_policy.codec(repeat('x', 100)::ztext(LZ4)), toast_policy.codec(repeat('x', 100)::ztext('Snappy'));
SELECT 'x'::ztext(gzip);
SELECT 'x'::zbytea(pglz);
SELECT 'x'::ztext(lz4, zstd);
SELECT 'x'::ztext(3);
SELECT 'x'::ztext('');
SELECT toast_policy.ztext_typmod_in('{}');
SELECT toast_policy.ztext_typmod_in('{lz4,NULL}');
SELECT toast_policy.ztext_typmod_in('{{lz4,zstd}}');
SELECT toast_policy.ztext_typmod_out(4);
SELECT toast_policy.ztext_in('x', 0, 17);
SELECT toast_policy.text_ztext('x', 4, true);
SELECT toast_policy.ztext_recode('x', 5, true);
\set VERBOSITY default
SELECT 'x'::ztext(gzip);
\set VERBOSITY terse
SET toast_policy.type_codec = gzip;
SET toast_policy.type_codec = lz4;
SELECT toast_policy.codec(repeat('x', 100)::ztext), toast_policy.codec(repeat('x', 100)::ztext(zstd));
SET toast_policy.type_codec = none;
SELECT toast_policy.codec(repeat('x', 100)::ztext), toast_policy.codec(repeat('x', 100)::ztext(zstd));
RESET toast_policy.type_codec;
-- The compression level does not change the value that is read.
SET toast_policy.lz4_level = 12;
SET toast_policy.zstd_level = -50;
SELECT toast_policy.codec(s::ztext(lz4)), toast_policy.codec(s::ztext(zstd)), s::ztext(lz4) = s, s::ztext(zstd) = s FROM (SELECT repeat('abcdefgh', 5000) AS s) x;
-- lz4hc cannot be interrupted, so its slowest levels are used only for values of up to 1 MB.
SET toast_policy.lz4_level = 9;
SELECT pg_column_size(left(t, 1048576)::ztext(lz4)) AS mb, pg_column_size(t::ztext(lz4)) AS more FROM (SELECT string_agg(i::text, ' ') AS t FROM generate_series(1, 200000) i) x \gset
SET toast_policy.lz4_level = 12;
SELECT pg_column_size(left(t, 1048576)::ztext(lz4)) < :mb AS mb, pg_column_size(t::ztext(lz4)) = :more AS more FROM (SELECT string_agg(i::text, ' ') AS t FROM generate_series(1, 200000) i) x;
RESET toast_policy.lz4_level;
RESET toast_policy.zstd_level;

-- Values that are stored in a column get the codec of the column, whatever command stores them.
CREATE TABLE docs (id int, d ztext, l ztext(lz4), s ztext(snappy), z ztext(zstd) DEFAULT repeat('default ', 20), n ztext(none), b zbytea(lz4));
SELECT attname, attstorage, attcompression = '' AS core_codec, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'docs'::regclass AND attnum > 1;
INSERT INTO docs (id, d, l, s, n, b) VALUES (1, repeat('x', 100), repeat('x', 100), repeat('x', 100), repeat('x', 100), repeat('x', 100)::bytea);
INSERT INTO docs SELECT 2, t, t, t, t, t, t::bytea FROM (SELECT repeat('y', 3000) AS t) x;
INSERT INTO docs SELECT 3, t, t, t, t, t, t::bytea FROM (SELECT repeat('varchar ', 30)::varchar AS t) x;
INSERT INTO docs SELECT 4, t, t, t, t, t FROM (SELECT repeat('char ', 30)::char(200) AS t) x;
INSERT INTO docs SELECT 5, t, t, t, t, t FROM (SELECT repeat('ztext ', 30)::ztext(snappy) AS t) x;
COPY docs FROM stdin;
6	copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy	copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy	copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy	copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy	copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy copy	\\x00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
\.
PREPARE ins AS INSERT INTO docs (id, l, s) VALUES (7, $1, $1);
EXECUTE ins (repeat('prepared', 20));
DEALLOCATE ins;
INSERT INTO docs VALUES (8, NULL, '', 'short', 'ä');
SELECT id, toast_policy.codec(d) AS d, toast_policy.codec(l) AS l, toast_policy.codec(s) AS s, toast_policy.codec(z) AS z, toast_policy.codec(n) AS n, toast_policy.codec(b) AS b FROM docs ORDER BY id;
SELECT id, count(DISTINCT v::text), length(min(v)), right(min(v), 5) || '|' AS tail FROM docs, LATERAL (VALUES (d), (l), (s), (n)) x (v) WHERE id < 7 GROUP BY id ORDER BY id;
UPDATE docs SET n = l, l = s WHERE id = 2;
SELECT toast_policy.codec(l) AS l, toast_policy.codec(n) AS n, l = n AS same FROM docs WHERE id = 2;
-- A value for which compression was not worth it is not tried again.  A value that has the codec
-- already is not changed.
SELECT toast_policy.codec(v), record_image_eq(ROW(v::ztext(snappy)), ROW(v)) AS passes FROM
  (SELECT string_agg(md5(i::text), '')::ztext(snappy) FROM generate_series(1, 500) i UNION ALL
   SELECT string_agg(md5(i::text), '')::ztext(zstd) FROM generate_series(1, 500) i UNION ALL
   SELECT repeat('x', 500)::ztext(snappy) UNION ALL SELECT repeat('x', 500)::ztext(none) UNION ALL SELECT ''::ztext(lz4)) x (v);
SET toast_policy.early_abort = on;
CREATE TABLE tried AS SELECT toast_policy.text_ztext(string_agg(md5(i::text), ''), 1, true) AS v FROM generate_series(1, 1000) i;
SET toast_policy.early_abort = off;
SELECT toast_policy.codec(v) AS stored, toast_policy.codec(v::ztext(lz4)) AS tried, toast_policy.codec(v::text::ztext(lz4)) AS again FROM tried;
RESET toast_policy.early_abort;
DROP TABLE tried;

-- A change to another codec rewrites the column.  A change to the type without a codec keeps the
-- values.
ALTER TABLE docs ALTER l TYPE ztext(zstd), ALTER z TYPE ztext, ALTER b TYPE zbytea(snappy);
SELECT id, toast_policy.codec(l) AS l, toast_policy.codec(z) AS z, toast_policy.codec(b) AS b FROM docs WHERE id IN (1, 2, 6) ORDER BY id;
ALTER TABLE docs ALTER l TYPE text, ALTER d TYPE varchar, ALTER b TYPE bytea;
SELECT id, md5(l), md5(d), length(b) FROM docs ORDER BY id;
ALTER TABLE docs ALTER l TYPE ztext(lz4), ALTER d TYPE ztext USING d::ztext, ALTER b TYPE zbytea;
SELECT id, toast_policy.codec(l), toast_policy.codec(b), pg_column_compression(l) FROM docs WHERE id IN (1, 2) ORDER BY id;
DROP TABLE docs;

-- The rule of the policy applies: a large value must save whole chunks.
CREATE FUNCTION half(size int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT left(string_agg(sha512(i::text::bytea)::text, ''), size / 2) || repeat('x', size - size / 2) FROM generate_series(1, size / 100) i $$;
SELECT size, toast_policy.codec(half(size)::ztext(lz4)) AS codec FROM (VALUES (3000), (4096), (6000), (20000)) v (size);
SET toast_policy.min_saving = 0.7;
SELECT size, toast_policy.codec(half(size)::ztext(lz4)) AS codec FROM (VALUES (3000), (4096), (6000), (20000)) v (size);
RESET toast_policy.min_saving;
SET toast_policy.min_saved_chunks = 3;
SELECT size, toast_policy.codec(half(size)::ztext(lz4)) AS codec FROM (VALUES (3000), (4096), (6000), (20000)) v (size);
RESET toast_policy.min_saved_chunks;
-- Of hexadecimal digits, only zstd saves space.
SELECT early_abort, toast_policy.codec(s::ztext(lz4)) AS lz4, toast_policy.codec(s::ztext(snappy)) AS snappy, toast_policy.codec(s::ztext(zstd)) AS zstd
FROM (SELECT set_config('toast_policy.early_abort', v, true) AS early_abort, string_agg(md5(i::text), '') AS s
      FROM (VALUES ('on'), ('off')) x (v), generate_series(1, 1000) i GROUP BY v) x ORDER BY 1 DESC;

-- Read parts of values that are stored raw and out of line, stored compressed, and in memory.
CREATE TABLE parts (id int, z ztext, t text, y zbytea, b bytea);
INSERT INTO parts SELECT id, CASE id WHEN 1 THEN t::ztext(none) ELSE t::ztext(zstd) END, t, CASE id WHEN 1 THEN t::bytea::zbytea(none) ELSE t::bytea::zbytea(zstd) END, t::bytea
FROM (SELECT id, string_agg('ä' || i || '€日', '') AS t FROM generate_series(1, 2) id, generate_series(1, 10000) i GROUP BY id) x;
INSERT INTO parts VALUES (3, 'äöü', 'äöü', '\x010203', '\x010203'), (4, '', '', '', '');
SELECT id, toast_policy.codec(z), toast_policy.codec(y), length(z) = length(t) AS length, octet_length(z) = octet_length(t) AS octet_length,
       char_length(z) = char_length(t) AS char_length, length(y) = length(b) AS length, octet_length(y) = octet_length(b) AS octet_length, bit_length(z) = bit_length(t) AS bit_length
FROM parts ORDER BY id;
SELECT id, count(*) FILTER (WHERE substr(z, s, l) IS DISTINCT FROM substr(t, s, l)) AS text, count(*) FILTER (WHERE substring(z FROM s FOR l) IS DISTINCT FROM substring(t FROM s FOR l)) AS text_for,
       count(*) FILTER (WHERE substr(z, s) IS DISTINCT FROM substr(t, s)) AS text_all, count(*) FILTER (WHERE substring(z FROM s) IS DISTINCT FROM substring(t FROM s)) AS text_from,
       count(*) FILTER (WHERE substr(y, s, l) IS DISTINCT FROM substr(b, s, l)) AS bytea, count(*) FILTER (WHERE substring(y FROM s FOR l) IS DISTINCT FROM substring(b FROM s FOR l)) AS bytea_for,
       count(*) FILTER (WHERE substr(y, s) IS DISTINCT FROM substr(b, s)) AS bytea_all
FROM parts, (VALUES (-2147483648), (-5), (0), (1), (2), (3), (100), (1990), (1995), (1996), (1997), (39000), (58893), (58894), (58895), (88895), (88896), (2147483647)) v (s),
  (VALUES (0), (1), (2), (7), (500), (1996), (20000), (100000), (536870912), (2147483647)) w (l) GROUP BY id ORDER BY id;
SELECT substr(z, 1, -1) FROM parts WHERE id = 1;
SELECT substr(y, 3, -1) FROM parts WHERE id = 1;
SELECT substr(z, 1, -1) FROM parts WHERE id = 3;
SELECT substring(z FROM 'ü|9.99') AS re, substring(z SIMILAR '%#"ö#"_' ESCAPE '#') AS sim, substring(z, 2), substr(y, 2, 1), pg_typeof(substr(z, 1)), pg_typeof(substr(y, 1)) FROM parts WHERE id = 3;
DROP TABLE parts;

-- A call of a core function with a literal still calls the function of core.  The same is true for
-- operators.
SELECT substr('abc', 1, 2), length('abc'), length(E'\\x'), octet_length('abc'), substring('abc', 2), substring('abc', 'b.'), substring('abc' FROM 2 FOR 1), pg_typeof('a' || 'b'), pg_typeof(min('a')), 'a' = 'a', 'a' < 'b';
CREATE TABLE core (t text, v varchar(5), c char(5), n name, b bytea);
EXPLAIN (VERBOSE, COSTS OFF) SELECT length(v), length(c), octet_length(b), substr(v, 1), substring(t, '1'), t || 'x', v || 'x', b || 'x' FROM core
WHERE t = 'x' AND v = 'x' AND c = 'x' AND n = 'x' AND b = 'x' AND t = v AND v = c AND c = t AND n = v AND n = t AND v < 'y' AND 'z' > v AND v IN ('a', 'b') AND v LIKE 'a%';
EXPLAIN (VERBOSE, COSTS OFF) SELECT min(v), max(c), min(t) FROM core;
DROP TABLE core;

-- Functions and operators of text get the decoded string.
SELECT z || 'x', 'x' || z, z || z, z || 1, upper(z), position('l' IN z), replace(z, 'l', 'L'), trim(z), left(z, 2), z LIKE 'he%', z ILIKE 'HE%', z ~ 'l+o', z SIMILAR TO 'h%',
       split_part(z, 'l', 1), starts_with(z, 'hel'), concat(z, 1), concat_ws('-', z, z), format('%s %L %I', z, z, z), md5(z), to_tsvector('simple', z), ascii(z), lpad(z, 8, '*'), overlay(z PLACING 'x' FROM 2),
       translate(z, 'l', 'r'), regexp_replace(z, 'l+', 'L'), reverse(z), initcap(z), quote_literal(z), string_to_array(z, 'l'), convert_to(z, 'UTF8'), to_json(z), to_jsonb(z),
       json_build_object(z, z), row_to_json(ROW(z)) FROM (SELECT 'hello'::ztext AS z) x;
SELECT '[1, 2]'::ztext::json -> 1, '42'::ztext::int, 42::ztext, '{a,b}'::ztext[], ARRAY['a', 'b']::ztext[] || 'c'::ztext, 'abc'::ztext::varchar(2), 'abc'::ztext::char(2), 'abc'::ztext::name, '2026-01-01'::ztext::date;
SELECT pg_typeof(coalesce(z, 'x')), pg_typeof(coalesce(z, 'x'::text)), pg_typeof(CASE WHEN true THEN z ELSE 'x'::text END), pg_typeof(greatest(z, 'x')), pg_typeof(min(z)), pg_typeof(string_agg(z, ',')), pg_typeof(array_agg(z)), pg_typeof(z || 'x')
FROM (SELECT 'hello'::ztext AS z) x GROUP BY z;
SELECT y || 'x', y || '\x00'::bytea, '\x01'::bytea || y, y || y, pg_typeof(y || 'x'), md5(y), sha256(y), encode(y, 'hex'), get_byte(y, 1), position('\x62'::bytea IN y), trim('\x61'::bytea FROM y), overlay(y PLACING 'x'::bytea FROM 2),
       y LIKE 'a%', convert_from(y, 'UTF8'), pg_typeof(coalesce(y, 'x'::bytea)), string_agg(y, '-'), min(y), max(y) FROM (SELECT 'abc'::zbytea AS y) x GROUP BY y;
SET bytea_output = escape;
SELECT 'a\\b\001'::zbytea, E'\\x6162'::zbytea;
RESET bytea_output;
SELECT 'a\b'::zbytea;
SELECT '\x0'::zbytea;

-- Compare with all types that are like strings.
SELECT op, count(*) FILTER (WHERE zz IS DISTINCT FROM tt) AS zz, count(*) FILTER (WHERE zt IS DISTINCT FROM tt) AS zt, count(*) FILTER (WHERE tz IS DISTINCT FROM tt) AS tz,
       count(*) FILTER (WHERE zv IS DISTINCT FROM tt) AS zv, count(*) FILTER (WHERE zn IS DISTINCT FROM tt) AS zn, count(*) FILTER (WHERE nz IS DISTINCT FROM tt) AS nz, count(*) FILTER (WHERE yy IS DISTINCT FROM bb) AS yy,
       count(*) FILTER (WHERE yb IS DISTINCT FROM bb) AS yb, count(*) FILTER (WHERE q_by IS DISTINCT FROM bb) AS by
FROM (VALUES (''), ('a'), ('ab'), ('b'), (' a'), (repeat('a', 60)), (repeat('a', 63)), (repeat('a', 3000)), (repeat('a', 3001)), (repeat('ab', 50000)), (NULL)) a (a),
     (VALUES (''), ('a'), ('ab'), ('b'), ('a '), (repeat('a', 60)), (repeat('a', 63)), (repeat('a', 3000)), (repeat('b', 3000)), (repeat('ab', 50000)), (NULL)) b (b),
     (VALUES ('none'), ('lz4'), ('snappy'), ('zstd')) c (codec),
     LATERAL (SELECT a::ztext AS az, toast_policy.text_ztext(b, CASE codec WHEN 'none' THEN 0 WHEN 'lz4' THEN 1 WHEN 'snappy' THEN 2 ELSE 3 END, true) AS bz, a::bytea::zbytea(lz4) AS ay, b::bytea::zbytea AS by,
              CASE WHEN octet_length(a) < 64 THEN a::name END AS an, CASE WHEN octet_length(b) < 64 THEN b::name END AS bn) x,
     LATERAL (VALUES ('=', az = bz, az = b, a = bz, az = b::varchar, coalesce(az = bn, a = b), coalesce(an = bz, a = b), a = b, ay = by, ay = b::bytea, a::bytea = by, a::bytea = b::bytea),
       ('<>', az <> bz, az <> b, a <> bz, az <> b::varchar, coalesce(az <> bn, a <> b), coalesce(an <> bz, a <> b), a <> b, ay <> by, ay <> b::bytea, a::bytea <> by, a::bytea <> b::bytea),
       ('<', az < bz, az < b, a < bz, az < b::varchar, coalesce(az < bn, a < b), coalesce(an < bz, a < b), a < b, ay < by, ay < b::bytea, a::bytea < by, a::bytea < b::bytea),
       ('<=', az <= bz, az <= b, a <= bz, az <= b::varchar, coalesce(az <= bn, a <= b), coalesce(an <= bz, a <= b), a <= b, ay <= by, ay <= b::bytea, a::bytea <= by, a::bytea <= b::bytea),
       ('>', az > bz, az > b, a > bz, az > b::varchar, coalesce(az > bn, a > b), coalesce(an > bz, a > b), a > b, ay > by, ay > b::bytea, a::bytea > by, a::bytea > b::bytea),
       ('>=', az >= bz, az >= b, a >= bz, az >= b::varchar, coalesce(az >= bn, a >= b), coalesce(an >= bz, a >= b), a >= b, ay >= by, ay >= b::bytea, a::bytea >= by, a::bytea >= b::bytea)) o (op, zz, zt, tz, zv, zn, nz, tt, yy, yb, q_by, bb)
GROUP BY op ORDER BY op;
SELECT 'a '::ztext = 'a'::char(3), 'a'::ztext = 'a'::char(3), 'a'::char(3) = 'a'::ztext;

-- Equal values with different codecs have the same hash value, and are grouped, sorted and joined
-- as equal.
CREATE TABLE same (id int, z ztext, y zbytea);
INSERT INTO same SELECT id, toast_policy.text_ztext(t, id % 4, true), toast_policy.bytea_zbytea(t::bytea, id % 4, true)
FROM (SELECT id, repeat('value ' || id / 8 || ' ', 40) AS t FROM generate_series(0, 799) id) x;
ANALYZE same;
SELECT count(*), count(DISTINCT z), count(DISTINCT y), count(DISTINCT toast_policy.codec(z)) AS codecs FROM same;
SELECT DISTINCT count(*) FROM same GROUP BY z;
SELECT count(*) FROM same WHERE toast_policy.ztext_hash(z) <> hashtext(z::text) OR toast_policy.ztext_hash_extended(z, 7) <> hashtextextended(z::text, 7)
  OR toast_policy.zbytea_hash(y) <> toast_policy.bytea_hash(y::bytea) OR toast_policy.zbytea_hash_extended(y, 7) <> toast_policy.bytea_hash_extended(y::bytea, 7);
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    -- 19 names InitPlans, and shows what a Result node replaces.
    CONTINUE WHEN line ~ '^ *Replaces: ';
    RETURN NEXT left(regexp_replace(line, '^( *InitPlan )(\w*?)(\d+).*', '\1\3'), 160);
  END LOOP;
END $$;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT plan('SELECT count(*) FROM same a JOIN same b ON a.z = b.z');
SELECT count(*) FROM same a JOIN same b ON a.z = b.z;
SELECT count(*) FROM same a JOIN (SELECT y::bytea AS b FROM same) b ON a.y = b.b;
SELECT count(*) FROM same a JOIN (SELECT z::text AS t FROM same) b ON b.t = a.z;
SET enable_mergejoin = on;
SET enable_hashjoin = off;
SELECT count(*) FROM same a JOIN same b ON a.z = b.z;
SELECT count(*) FROM same a JOIN (SELECT y::bytea AS b FROM same) b ON a.y = b.b;
SELECT count(*) FROM same a JOIN (SELECT z::text AS t FROM same) b ON b.t = a.z;
RESET enable_mergejoin;
RESET enable_nestloop;
RESET enable_hashjoin;
SET work_mem = '64kB';
SET enable_sort = off;
SELECT count(*), sum(n) FROM (SELECT z, count(*) AS n FROM same GROUP BY z) x;
SET enable_sort = on;
SET enable_hashagg = off;
SELECT count(*), sum(n) FROM (SELECT z, count(*) AS n FROM same GROUP BY z) x;
RESET enable_hashagg;
RESET work_mem;
SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY z, id) AS a, row_number() OVER (ORDER BY z::text, id) AS b, row_number() OVER (ORDER BY y DESC, id) AS c, row_number() OVER (ORDER BY y::bytea DESC, id) AS d FROM same) x WHERE a <> b OR c <> d;
SELECT min(z)::text = min(z::text), max(z)::text = max(z::text), min(y)::bytea::text = min(y::bytea::text), max(y)::bytea::text = max(y::bytea::text) FROM same;
CREATE STATISTICS same_z (ndistinct) ON z, y FROM same;
ANALYZE same;
SELECT n_distinct, cardinality(most_common_freqs) > 0 OR cardinality(histogram_bounds::text::text[]) > 0 AS stats FROM pg_stats WHERE tablename = 'same' AND attname = 'z';

-- Test indexes with constants of the type, of text and without a type.
CREATE INDEX same_btree ON same (z);
CREATE INDEX same_hash ON same USING hash (z);
CREATE INDEX same_y ON same (y);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
DROP INDEX same_hash;
SELECT plan('SELECT id FROM same WHERE z = ''abc''');
SELECT plan('SELECT id FROM same WHERE z = ''abc''::text');
SELECT plan('SELECT id FROM same WHERE ''abc''::varchar = z');
SELECT plan('SELECT id FROM same WHERE z IN (''abc'', ''def'')');
SELECT plan('SELECT id FROM same WHERE z >= ''abc''::text AND z < ''b''');
SELECT plan('SELECT id FROM same ORDER BY z LIMIT 1');
SELECT plan('SELECT max(z) FROM same');
SELECT plan('SELECT id FROM same WHERE y > ''\x00'' AND y < ''\x01''::bytea');
SELECT array_agg(id ORDER BY id) FROM same WHERE z = repeat('value 7 ', 40);
SELECT array_agg(id ORDER BY id) FROM same WHERE z = repeat('value 7 ', 40)::ztext;
SELECT array_agg(id ORDER BY id) FROM same WHERE y = repeat('value 7 ', 40)::bytea;
SELECT count(*) FROM same WHERE z > repeat('value 7 ', 40) AND z <= repeat('value 8 ', 40)::ztext;
DROP INDEX same_btree;
CREATE INDEX same_hash ON same USING hash (z);
SELECT plan('SELECT id FROM same WHERE z = ''abc''::text');
SELECT array_agg(id ORDER BY id) FROM same WHERE z = repeat('value 7 ', 40);
RESET enable_seqscan;
RESET enable_bitmapscan;
-- Test keys that are stored in any form.
CREATE INDEX same_btree ON same (z);
INSERT INTO same SELECT 1000, string_agg(md5(i::text), ''), '' FROM generate_series(1, 100) i;
INSERT INTO same SELECT 1000, repeat('x', 100000), '';
DELETE FROM same WHERE id = 1000;
ALTER TABLE same ALTER z SET STORAGE extended;
INSERT INTO same SELECT 1000, repeat('x', 6000)::ztext(none), '';
ALTER TABLE same ALTER z SET STORAGE external;
SELECT id, octet_length(z), length(z), substr(z, 5999), z = repeat('x', 6000) AS same FROM same WHERE id = 1000;
DROP TABLE same;
DROP FUNCTION plan;

-- Test constraints, domains, arrays, composite types and partitions.
CREATE TABLE pk (z ztext(zstd) PRIMARY KEY);
CREATE TABLE fk (z ztext(lz4) REFERENCES pk, t ztext(none));
INSERT INTO pk VALUES ('a'), (repeat('long ', 50));
INSERT INTO fk VALUES ('a'), (repeat('long ', 50));
INSERT INTO fk VALUES ('b');
INSERT INTO pk VALUES (repeat('long ', 50)::ztext(snappy));
INSERT INTO pk VALUES (repeat('long ', 50)::ztext(snappy)) ON CONFLICT DO NOTHING;
DELETE FROM pk WHERE z = 'a';
CREATE TABLE text_pk (t text PRIMARY KEY);
INSERT INTO text_pk VALUES ('a');
ALTER TABLE fk ADD FOREIGN KEY (t) REFERENCES text_pk;
INSERT INTO fk VALUES (NULL, 'a');
INSERT INTO fk VALUES (NULL, 'b');
DROP TABLE fk, pk, text_pk;
CREATE DOMAIN short_doc AS ztext(lz4) CHECK (octet_length(VALUE) < 1000);
SELECT toast_policy.codec(repeat('x', 500)::short_doc), repeat('x', 100)::short_doc = repeat('x', 100), 'a'::short_doc || 'b', length('abc'::short_doc), substr('abc'::short_doc, 2);
SELECT repeat('x', 5000)::short_doc;
DROP DOMAIN short_doc;
CREATE TABLE arrays (a ztext(lz4)[], c zbytea[]);
INSERT INTO arrays VALUES (ARRAY[repeat('x', 100), 'b'], '{"\\x00",abc}'), (ARRAY['c'::text, NULL], '{}');
SELECT toast_policy.codec(a[1]), octet_length(a[1]), a[2], c, a @> ARRAY['b']::ztext[] AS contains FROM arrays;
DROP TABLE arrays;
CREATE TABLE parted (z ztext) PARTITION BY HASH (z);
CREATE TABLE parted0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT toast_policy.text_ztext(repeat('part ' || i / 4, 20), i % 4, true) FROM generate_series(0, 399) i;
SELECT count(DISTINCT z), count(DISTINCT tableoid) FROM parted;
SELECT DISTINCT count(DISTINCT tableoid) FROM parted GROUP BY z;
DROP TABLE parted;
CREATE TABLE ranged (z ztext) PARTITION BY RANGE (z);
CREATE TABLE ranged_a PARTITION OF ranged FOR VALUES FROM ('a') TO ('m');
CREATE TABLE ranged_m PARTITION OF ranged FOR VALUES FROM ('m') TO (MAXVALUE);
INSERT INTO ranged VALUES ('abc'), (repeat('x', 100));
SELECT tableoid::regclass, left(z, 3) FROM ranged ORDER BY z;
DROP TABLE ranged;
CREATE TABLE generated (t text, z ztext(zstd) GENERATED ALWAYS AS (upper(t)::ztext) STORED);
INSERT INTO generated VALUES (repeat('abc ', 50));
SELECT toast_policy.codec(z), left(z, 5) FROM generated;
DROP TABLE generated;

-- Test collations.
CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT 'ABC'::ztext COLLATE ignore_case = 'abc'::ztext, 'ABC'::ztext COLLATE ignore_case = 'abc'::text, 'abc'::text = 'ABC'::ztext COLLATE ignore_case, 'ABC'::ztext COLLATE ignore_case <> 'abcd', 'ABC'::ztext = 'abc'::ztext,
       toast_policy.ztext_hash('ABC' COLLATE ignore_case) = toast_policy.ztext_hash('abc' COLLATE ignore_case) AS hash;
CREATE TABLE cased (z ztext COLLATE ignore_case UNIQUE);
INSERT INTO cased VALUES ('a'), (repeat('Long ', 50)), ('b');
INSERT INTO cased VALUES ('A');
INSERT INTO cased VALUES (repeat('lONG ', 50)::ztext(lz4));
SELECT left(z, 4) FROM cased WHERE z = repeat('LONG ', 50);
SELECT left(z, 4) FROM cased ORDER BY z DESC;
SELECT count(*) FROM cased a JOIN (VALUES ('A'), ('a'), (repeat('LONG ', 50))) b (t) ON a.z = b.t;
DROP TABLE cased;
SELECT string_agg(z, ' ' ORDER BY z COLLATE "en-x-icu") AS icu, string_agg(z, ' ' ORDER BY z COLLATE "C") AS c FROM (VALUES ('b'::ztext), ('a'), ('B'), ('ä'), ('A')) v (z);
SELECT z1 = z2 FROM (SELECT 'a'::ztext COLLATE "C", 'a'::ztext COLLATE "en-x-icu") x (z1, z2);
SELECT z1 < z2 FROM (SELECT 'a'::ztext COLLATE "C", 'a'::ztext COLLATE "en-x-icu") x (z1, z2);

-- Test COPY in both formats.  The binary format is that of text.
CREATE TABLE copied (id int, z ztext(zstd), y zbytea(zstd));
INSERT INTO copied VALUES (1, 'a	\b', '\x00ff'), (2, repeat('ä', 100), repeat('x', 100)::bytea), (3, NULL, NULL);
COPY (SELECT id, left(z, 10), substr(y, 1, 10) FROM copied ORDER BY id) TO stdout;
COPY (SELECT z FROM copied WHERE id = 1) TO stdout (FORMAT csv);
SELECT toast_policy.ztext_send(z) = textsend(z::text), toast_policy.zbytea_send(y) = byteasend(y::bytea) FROM copied ORDER BY id;
DROP TABLE copied;

-- Show the entries of the catalogs.
SELECT amname, opcname, opcdefault, amvalidate(c.oid) FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE opcname IN ('ztext_ops', 'zbytea_ops') ORDER BY 2, 1;
SELECT castsource::regtype, casttarget::regtype, castcontext, castmethod FROM pg_cast WHERE castsource IN ('ztext'::regtype, 'zbytea'::regtype) OR casttarget IN ('ztext'::regtype, 'zbytea'::regtype)
ORDER BY castsource::regtype::text, casttarget::regtype::text;
SELECT typname, typcategory, typispreferred, typstorage, typalign, typcollation <> 0 AS collatable FROM pg_type WHERE typname IN ('ztext', 'zbytea');
DROP FUNCTION half;

-- DROP EXTENSION does not drop columns of the types.
\set VERBOSITY default
CREATE DOMAIN guarded_domain AS ztext;
CREATE TYPE guarded_row AS (i int, b zbytea);
CREATE TABLE guarded (a ztext, b zbytea[], c guarded_domain, d guarded_row[]);
DROP EXTENSION toast_policy CASCADE;
DROP TYPE ztext CASCADE;
DROP SCHEMA toast_policy CASCADE;
ALTER TABLE guarded DROP b, DROP c, DROP d;
DROP EXTENSION toast_policy CASCADE;
DROP TABLE guarded;
DROP TYPE guarded_row;
DROP DOMAIN guarded_domain;
