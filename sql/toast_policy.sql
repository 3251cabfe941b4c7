--
-- Check how the policy stores values around each of its limits, compared with EXTENDED columns of a
-- heap table.
--
CREATE SCHEMA policy_rule;
SET search_path = policy_rule, public;
\set SHOW_CONTEXT never
SET default_toast_compression = pglz;

-- Return noise as text and as bytea.  No codec saves a whole chunk of it.
CREATE FUNCTION noise(n int, seed text DEFAULT '') RETURNS text LANGUAGE sql IMMUTABLE AS
$$SELECT left(string_agg(translate(encode(sha256((seed || i)::bytea), 'base64'), E'\n', ''), ''), n) FROM generate_series(1, n / 40 + 1) i$$;
CREATE FUNCTION noise_bytes(n int, seed text DEFAULT '') RETURNS bytea LANGUAGE sql IMMUTABLE AS
$$SELECT substr(string_agg(sha256((seed || i)::bytea), ''), 1, n) FROM generate_series(1, n / 32 + 1) i$$;

-- Return the number and the size of the chunks of values in a TOAST table.
CREATE FUNCTION chunks(relation regclass, value_id oid) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    result bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM pg_toast.%I WHERE chunk_id = $1',
                   (SELECT t.relname FROM pg_class c JOIN pg_class t ON t.oid = c.reltoastrelid WHERE c.oid = relation))
    INTO result USING value_id;
    RETURN result;
END $$;
CREATE FUNCTION toast_chunks(relation regclass) RETURNS TABLE (number bigint, chunks bigint, bytes bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT row_number() OVER (ORDER BY chunk_id), count(*), sum(octet_length(chunk_data)) FROM pg_toast.%I GROUP BY chunk_id',
                                (SELECT t.relname FROM pg_class c JOIN pg_class t ON t.oid = c.reltoastrelid WHERE c.oid = relation));
END $$;

-- Store one value, in a table under the policy and in an EXTENDED heap table.
CREATE TABLE policy (id int, v text);
CREATE TABLE extended (id int, v text);
SELECT toast_policy.enable('policy', 'v');
SELECT amname, attstorage FROM pg_class c JOIN pg_am a ON a.oid = relam JOIN pg_attribute ON attrelid = c.oid
WHERE c.oid = 'policy'::regclass AND attname = 'v';

CREATE FUNCTION stored(relation regclass, value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE format('TRUNCATE %s', relation);
    EXECUTE format('INSERT INTO %s (id, v) VALUES (1, $1)', relation) USING value;
    EXECUTE format('SELECT concat_ws('' '', coalesce(pg_column_compression(v), ''raw''), pg_column_size(v)) FROM %s', relation) INTO result;
    RETURN result || coalesce((SELECT ', chunks ' || chunks || ', bytes ' || bytes FROM toast_chunks(relation)), ', inline');
END $$;

-- TOAST_TUPLE_THRESHOLD is 2032.  The row header takes 24 bytes of it, and the columns before v
-- take 4 or 8 bytes.
SELECT n, stored('policy', repeat('x', n)) AS policy, stored('extended', repeat('x', n)) AS extended
FROM unnest(ARRAY[0, 1, 126, 127, 1999, 2000, 2001, 2002, 2100]) n;
SELECT n, stored('policy', noise(n)) AS policy, stored('extended', noise(n)) AS extended
FROM unnest(ARRAY[1999, 2000, 2001, 2002]) n;

-- Four fifths of these values are noise, and their sizes are around min_size.  A larger value saves
-- no chunk, and is stored raw.
SET default_toast_compression = lz4;
CREATE FUNCTION mixed(n int, random_part float8, seed text DEFAULT '') RETURNS text LANGUAGE sql IMMUTABLE AS
$$SELECT noise((n * random_part)::int, seed) || repeat('x', n - (n * random_part)::int)$$;
SELECT n, stored('policy', mixed(n, 0.8)) AS policy, stored('extended', mixed(n, 0.8)) AS extended
FROM unnest(ARRAY[4095, 4096, 4097, 4500]) n;
SELECT n, stored('policy', mixed(n, 0.98)) AS policy, stored('extended', mixed(n, 0.98)) AS extended
FROM unnest(ARRAY[4095, 4096, 4097]) n;
SET toast_policy.min_size = 5000;
SELECT n, stored('policy', mixed(n, 0.8)) AS policy FROM unnest(ARRAY[4999, 5000, 5001]) n;
SET toast_policy.min_size = 0;
SELECT n, stored('policy', mixed(n, 0.9)) AS policy FROM unnest(ARRAY[2100, 3000]) n;
SET toast_policy.min_size = 2147483647;
SELECT n, stored('policy', mixed(n, 0.9)) AS policy, stored('extended', mixed(n, 0.9)) AS extended
FROM unnest(ARRAY[5000, 20000]) n;
RESET toast_policy.min_size;

-- A chunk holds 1996 bytes.  The first 4 bytes of a compressed value, its raw size, are stored as
-- well.  The size of noise after compression by lz4 can be predicted exactly.
CREATE FUNCTION size_of(value text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    RETURN substring(stored('extended', value) FROM 'bytes (\d+)');
END $$;
-- Return the length of the longest noise that fits in n chunks, if 2000 other bytes follow.
CREATE FUNCTION fit(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    l int := n * 1996 - 40 - 12 * n;
BEGIN
    WHILE size_of(noise(l + 1, 'fit') || repeat('x', 2000)) <= n * 1996 LOOP
        l := l + 1;
    END LOOP;
    RETURN l;
END $$;
SELECT n, size_of(noise(fit(n), 'fit') || repeat('x', 2000)) AS compressed,
       stored('policy', noise(fit(n), 'fit') || repeat('x', 2000)) AS fits,
       stored('policy', noise(fit(n) + 1, 'fit') || repeat('x', 2000)) AS one_more,
       stored('extended', noise(fit(n) + 1, 'fit') || repeat('x', 2000)) AS extended
FROM unnest(ARRAY[2, 3, 7]) n;
-- Test raw sizes near the end of a chunk.
SELECT n, stored('policy', noise(n - 1000, 'edge') || repeat('x', 1000)) AS policy
FROM unnest(ARRAY[3 * 1996, 3 * 1996 + 1, 3 * 1996 + 900, 3 * 1996 + 940, 4 * 1996, 4 * 1996 + 1]) n;

-- Test min_saved_chunks with 10 chunks of raw data, of which compression saves 0, 1, 2, 4, 5 and 6.
CREATE TABLE saved (k int, v text);
ALTER TABLE saved ALTER v SET STORAGE EXTERNAL;
INSERT INTO saved SELECT k, noise(19900 - 1996 * k - CASE k WHEN 0 THEN 200 ELSE 100 END, 'saved') || repeat('x', 1996 * k + CASE k WHEN 0 THEN 200 ELSE 100 END)
FROM unnest(ARRAY[0, 1, 2, 4, 5, 6]) k;
CREATE FUNCTION kept() RETURNS TABLE (k int, stored text) LANGUAGE sql AS
$$SELECT k, stored('policy', v) FROM saved ORDER BY 1$$;
SET toast_policy.early_abort = off;
SET toast_policy.min_saved_chunks = 0;
SELECT * FROM kept();
SET toast_policy.min_saved_chunks = 2;
SELECT * FROM kept();
SET toast_policy.min_saved_chunks = 5;
SELECT * FROM kept();
-- Ask for more saved chunks than the value has.
SET toast_policy.min_saved_chunks = 1000;
SELECT * FROM kept();
SELECT stored('policy', repeat('x', 100000)) AS "still fits into its row", stored('policy', repeat('x', 500000)) AS does_not;
RESET toast_policy.min_saved_chunks;
SELECT * FROM kept();

-- min_saving is a further condition.
SET toast_policy.min_saving = 0.3;
SELECT * FROM kept();
SET toast_policy.min_saving = 1;
SELECT * FROM kept();
SELECT stored('policy', repeat('x', 4096)) AS "not above min_size", stored('policy', repeat('x', 100000)) AS "fits into its row";
RESET toast_policy.min_saving;

-- With early_abort, the middle of the value and then the whole value decide.
SET toast_policy.early_abort = on;
SELECT toast_policy.reset_stats();
CREATE FUNCTION outcome() RETURNS text LANGUAGE sql VOLATILE AS
$$SELECT CASE WHEN compressed > 0 THEN 'compressed' WHEN aborted > 0 THEN 'aborted' WHEN kept_raw > 0 THEN 'kept raw' ELSE 'no' END
  FROM toast_policy.stats WHERE relid = 'policy'::regclass$$;
CREATE PROCEDURE look(value text) LANGUAGE plpgsql AS $$
DECLARE
    s text;
BEGIN
    PERFORM toast_policy.reset_stats();
    s := stored('policy', value);
    RAISE NOTICE '%: %', outcome(), s;
END $$;
CALL look(noise(31000));
CALL look(noise(19900));
CALL look(repeat('x', 10000) || noise(10000) || repeat('x', 10000));
CALL look(noise(14000) || noise(14000));
CALL look(noise(70000) || noise(70000));
CALL look(mixed(19900, 0.98));
CALL look(mixed(4096, 0.99));
SET toast_policy.early_abort = off;
CALL look(noise(31000));
CALL look(mixed(19900, 0.98));
RESET toast_policy.early_abort;

-- lz4hc has the same compression method as lz4, and makes values smaller.
CREATE FUNCTION json_text(n int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$SELECT string_agg(format('{"id": %s, "name": "user %s", "mail": "%s@example.org", "tags": ["%s"], "active": %s}',
                    i, i * 7919 % 1000, substr(md5(i::text), 1, 6), (ARRAY['red', 'green', 'blue'])[i % 3 + 1], i % 2 = 0), ',') FROM generate_series(1, n) i$$;
CREATE TEMP TABLE levels (level int, stored text, size int);
DO $$
BEGIN
    FOR l IN 0 .. 12 LOOP
        PERFORM set_config('toast_policy.lz4_level', l::text, true);
        INSERT INTO levels SELECT l, s, split_part(replace(s, ',', ''), ' ', 2)::int FROM stored('policy', json_text(300)) s;
        IF (SELECT v <> json_text(300) FROM policy) THEN
            RAISE 'level % changed the value', l;
        END IF;
    END LOOP;
END $$;
SELECT level, split_part(stored, ' ', 1) AS method, size < first_value(size) OVER (ORDER BY level) AS smaller,
       (size <= lag(size) OVER (ORDER BY level)) AS no_larger FROM levels ORDER BY level;
SELECT size = (SELECT substring(stored('extended', json_text(300)) FROM 'lz4 (\d+)'))::int AS "level 0 is core's" FROM levels WHERE level = 0;
-- The level has no effect on pglz.  The compression method of the column counts.
SET toast_policy.lz4_level = 9;
ALTER TABLE policy ALTER v SET COMPRESSION pglz;
ALTER TABLE extended ALTER v SET COMPRESSION pglz;
SELECT stored('policy', json_text(300)) = stored('extended', json_text(300)) AS same, stored('policy', json_text(300)) ~ '^pglz' AS pglz;
ALTER TABLE policy ALTER v SET COMPRESSION default;
ALTER TABLE extended ALTER v SET COMPRESSION default;
RESET toast_policy.lz4_level;
SET default_toast_compression = pglz;
SELECT stored('policy', json_text(300)) = stored('extended', json_text(300)) AS same, stored('policy', json_text(300)) ~ '^pglz' AS pglz;
SET default_toast_compression = lz4;

-- Test toast_tuple_target, with the meaning that it has in heap.
SET toast_policy.out_of_line = off;
ALTER TABLE policy SET (toast_tuple_target = 128);
ALTER TABLE extended SET (toast_tuple_target = 128);
SELECT n, stored('policy', repeat('x', n)) AS policy, stored('extended', repeat('x', n)) AS extended FROM unnest(ARRAY[100, 2000, 2010, 4000, 30000]) n;
ALTER TABLE policy SET (toast_tuple_target = 8160);
ALTER TABLE extended SET (toast_tuple_target = 8160);
SELECT n, stored('policy', mixed(n, 0.8)) AS policy, stored('extended', mixed(n, 0.8)) AS extended FROM unnest(ARRAY[2010, 4097, 8000, 8120, 8200, 9000, 10200, 11000]) n;
-- Test values that save no chunk, but fit in their row only if compressed.
SELECT n, stored('policy', mixed(n, 0.9)) AS policy, stored('extended', mixed(n, 0.9)) AS extended FROM unnest(ARRAY[8150, 8200, 8500, 9500]) n;
ALTER TABLE policy RESET (toast_tuple_target);
ALTER TABLE extended RESET (toast_tuple_target);

-- An expanded array is not a value out of line, and does not make a small row large.
CREATE TABLE arrays (v int[]);
CREATE TABLE arrays_extended (v int[]);
ALTER TABLE arrays SET (toast_tuple_target = 128);
ALTER TABLE arrays_extended SET (toast_tuple_target = 128);
SELECT toast_policy.enable('arrays');
DO $$
DECLARE
    a int[];
BEGIN
    FOREACH a SLICE 1 IN ARRAY ARRAY[ARRAY[100], ARRAY[450], ARRAY[3000]] LOOP
        a := array_fill(1, a);
        a[1] := 2;
        INSERT INTO arrays VALUES (a);
        INSERT INTO arrays_extended VALUES (a);
    END LOOP;
END $$;
SELECT cardinality(a.v), a.v = e.v AS same, pg_column_size(a.v), pg_column_size(e.v) AS extended
FROM arrays a JOIN arrays_extended e ON a.v = e.v ORDER BY 1;
-- The executor flattens expanded values for INSERT, but not for a materialized view.
CREATE FUNCTION expanded(n int) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
    a int[] := array_fill(1, ARRAY[n]);
BEGIN
    a[1] := 2;
    RETURN a;
END $$;
CREATE MATERIALIZED VIEW arrays_view AS SELECT n, expanded(n) AS v FROM unnest(ARRAY[100, 450, 3000]) n WITH NO DATA;
CREATE MATERIALIZED VIEW arrays_view_extended AS SELECT n, expanded(n) AS v FROM unnest(ARRAY[100, 450, 3000]) n WITH NO DATA;
ALTER MATERIALIZED VIEW arrays_view SET (toast_tuple_target = 128);
ALTER MATERIALIZED VIEW arrays_view_extended SET (toast_tuple_target = 128);
SELECT toast_policy.enable('arrays_view');
REFRESH MATERIALIZED VIEW arrays_view;
REFRESH MATERIALIZED VIEW arrays_view_extended;
SELECT n, a.v = e.v AS same, pg_column_size(a.v), pg_column_size(e.v) AS extended
FROM arrays_view a JOIN arrays_view_extended e USING (n) ORDER BY 1;
RESET toast_policy.out_of_line;
-- The size of an expanded array counts for the other values of the row.
CREATE TABLE beside (a int[], v text);
CREATE TABLE beside_extended (a int[], v text);
SELECT toast_policy.enable('beside', 'v');
SET toast_policy.min_saved_chunks = 0;
DO $$
DECLARE
    a int[];
BEGIN
    FOR n IN 1 .. 12 LOOP
        a := array_fill(0, ARRAY[n * 50]);
        FOR i IN 1 .. n * 50 LOOP
            a[i] := hashint4(i);
        END LOOP;
        INSERT INTO beside VALUES (a, mixed(2000 + n * 300, 0.3));
        INSERT INTO beside_extended VALUES (a, mixed(2000 + n * 300, 0.3));
    END LOOP;
END $$;
SELECT count(*) FILTER (WHERE (pg_column_size(b.a), pg_column_size(b.v), b.v) = (pg_column_size(e.a), pg_column_size(e.v), e.v)) AS same, count(*)
FROM beside b JOIN beside_extended e ON e.ctid = b.ctid;
-- The size of values out of line counts, too, if they come from another table and heap fetches them.
CREATE TABLE source (id serial, a text, v text);
ALTER TABLE source ALTER a SET STORAGE EXTERNAL, ALTER v SET STORAGE EXTERNAL;
INSERT INTO source (a, v) SELECT mixed(700 + 300 * i, 0.2 * (i % 4), 'a'), mixed(1300 + 400 * j, 0.25 * (j % 5), 'v')
FROM generate_series(1, 9) i, generate_series(1, 9) j;
CREATE TABLE fetched (id int, a text, v text);
CREATE TABLE fetched_extended (id int, a text, v text);
SELECT toast_policy.enable('fetched', 'v');
INSERT INTO fetched SELECT * FROM source;
INSERT INTO fetched_extended SELECT * FROM source;
SELECT count(*) FILTER (WHERE (pg_column_size(b.v), b.a, b.v) = (pg_column_size(e.v), e.a, e.v)) AS same, count(*)
FROM fetched b JOIN fetched_extended e USING (id);
RESET toast_policy.min_saved_chunks;

--
-- With min_saved_chunks = 0, the policy stores rows with many columns as the server does
--
SET toast_policy.min_saved_chunks = 0;
SET toast_policy.early_abort = off;
CREATE TABLE several (id int, a text, b bytea, c jsonb, d text, m text, x text);
ALTER TABLE several ALTER m SET STORAGE MAIN;
CREATE TABLE several_extended (LIKE several INCLUDING STORAGE);
-- Columns d and x stay EXTENDED.
SELECT toast_policy.enable('several', 'a', 'b', 'c');
CREATE TEMP TABLE rows_wanted AS
  SELECT i AS id, CASE WHEN i % 7 <> 0 THEN mixed(i * 37 % 5000, 0.1 * (i % 11), 'a') END AS a,
         CASE WHEN i % 5 <> 0 THEN noise_bytes(i * 53 % 3000) || convert_to(repeat('y', i * 59 % 4000), 'UTF8') END AS b,
         CASE WHEN i % 3 <> 0 THEN jsonb_build_object('k', mixed(i * 71 % 7000, 0.1 * (i % 9), 'c')) END AS c,
         CASE WHEN i % 2 <> 0 THEN mixed(i * 101 % 6000, 0.3, 'd') ELSE '' END AS d,
         CASE WHEN i % 11 <> 0 THEN mixed(i * 13 % 3000, 0.5, 'm') END AS m, '' AS x
  FROM generate_series(1, 400) i;
ALTER TABLE rows_wanted ALTER a SET STORAGE EXTERNAL;
INSERT INTO several SELECT * FROM rows_wanted;
INSERT INTO several_extended SELECT * FROM rows_wanted;
CREATE FUNCTION differences() RETURNS TABLE (rows bigint, other_values bigint, other_sizes bigint, other_toast_size bigint) LANGUAGE sql AS $$
  SELECT count(*), count(*) FILTER (WHERE p.* IS DISTINCT FROM e.*),
         count(*) FILTER (WHERE (pg_column_size(p.a), pg_column_size(p.b), pg_column_size(p.c), pg_column_size(p.d), pg_column_size(p.m), pg_column_size(p.x)) IS DISTINCT FROM
                                (pg_column_size(e.a), pg_column_size(e.b), pg_column_size(e.c), pg_column_size(e.d), pg_column_size(e.m), pg_column_size(e.x))),
         (SELECT sum(bytes) FROM toast_chunks('several')) - (SELECT sum(bytes) FROM toast_chunks('several_extended'))
  FROM several p FULL JOIN several_extended e USING (id)
$$;
SELECT * FROM differences();
-- Update another column, and then some of the governed columns.
UPDATE several SET x = 'changed';
UPDATE several_extended SET x = 'changed';
UPDATE several SET a = a || b::text WHERE id % 4 = 0;
UPDATE several_extended SET a = a || b::text WHERE id % 4 = 0;
UPDATE several SET c = jsonb_set(c, '{k}', to_jsonb(repeat('z', 30000))), d = NULL WHERE id % 6 = 0;
UPDATE several_extended SET c = jsonb_set(c, '{k}', to_jsonb(repeat('z', 30000))), d = NULL WHERE id % 6 = 0;
SELECT * FROM differences();
RESET toast_policy.min_saved_chunks;
RESET toast_policy.early_abort;

-- An update of another column keeps the value in its place, and does not apply the rule to it
-- again.
CREATE TABLE pointers (id int, x int, v text);
SELECT toast_policy.enable('pointers');
INSERT INTO pointers SELECT i, 0, noise(3000 * i) FROM generate_series(1, 3) i;
CREATE FUNCTION chunk_ids() RETURNS oid[] LANGUAGE plpgsql AS $$
DECLARE
    result oid[];
BEGIN
    EXECUTE format('SELECT array_agg(DISTINCT chunk_id) FROM pg_toast.pg_toast_%s', 'pointers'::regclass::oid) INTO result;
    RETURN result;
END $$;
SELECT chunk_ids() AS ids, pg_relation_size('pg_toast.pg_toast_' || 'pointers'::regclass::oid) AS size
\gset
SELECT toast_policy.reset_stats();
UPDATE pointers SET x = 1;
UPDATE pointers SET x = 2, v = v;
SELECT chunk_ids() = :'ids' AS same_chunks, pg_relation_size('pg_toast.pg_toast_' || 'pointers'::regclass::oid) = :size AS same_size,
       (SELECT count(*) FROM toast_policy.stats) AS judged;
UPDATE pointers SET v = v || 'x';
SELECT chunk_ids() && :'ids' AS same_chunks, (SELECT values_seen FROM toast_policy.stats) AS judged;
-- Copy values between rows of the same table.
INSERT INTO pointers SELECT id + 10, x, v FROM pointers;
UPDATE pointers SET v = (SELECT v FROM pointers p WHERE p.id = 3) WHERE id = 1;
SELECT id, octet_length(v), md5(v) = md5(noise(CASE WHEN id = 1 THEN 9000 ELSE 3000 * (id % 10) END) || 'x') AS same FROM pointers ORDER BY id;

-- Test a table of 1600 columns.
DO $$
BEGIN
    EXECUTE (SELECT format('CREATE TABLE wide (%s)', string_agg(format('c%s text', i), ', ')) FROM generate_series(1, 1600) i);
    CREATE TABLE wide_extended (LIKE wide);
END $$;
SELECT toast_policy.enable('wide');
SELECT attstorage, count(*) FROM pg_attribute WHERE attrelid = 'wide'::regclass AND attnum > 0 GROUP BY 1;
SET toast_policy.min_saved_chunks = 0;
DO $$
DECLARE
    row_values text := (SELECT string_agg(CASE WHEN i % 3 = 0 THEN 'NULL' WHEN i % 100 = 1 THEN format('repeat(%L, %s)', 'x', 100 * i) ELSE '''v''' END, ', ' ORDER BY i)
                        FROM generate_series(1, 1600) i);
BEGIN
    EXECUTE 'INSERT INTO wide SELECT ' || row_values;
    EXECUTE 'INSERT INTO wide_extended SELECT ' || row_values;
END $$;
SELECT (SELECT md5(w::text) FROM wide w) = (SELECT md5(e::text) FROM wide_extended e) AS same;
SELECT (SELECT array_agg(chunks || ':' || bytes ORDER BY number) FROM toast_chunks('wide')) IS NOT DISTINCT FROM
       (SELECT array_agg(chunks || ':' || bytes ORDER BY number) FROM toast_chunks('wide_extended')) AS same_chunks;
SELECT pg_relation_size('wide') = pg_relation_size('wide_extended') AS same_size;
RESET toast_policy.min_saved_chunks;
DROP TABLE wide, wide_extended;

-- Test recompress_source: a value that arrives compressed keeps its codec, or gets the codec of the
-- column.
CREATE TABLE from_pglz (id int, v text COMPRESSION pglz);
INSERT INTO from_pglz SELECT i, CASE i WHEN 1 THEN repeat('x', 3000) WHEN 2 THEN mixed(19900, 0.6) WHEN 3 THEN mixed(5000, 0.7) WHEN 4 THEN noise(9000) ELSE 'small' END
FROM generate_series(1, 5) i;
CREATE TABLE from_external (LIKE from_pglz);
ALTER TABLE from_external ALTER v SET STORAGE EXTERNAL;
INSERT INTO from_external SELECT id, v || '' FROM from_pglz;
CREATE TABLE copied (id int, v text COMPRESSION lz4);
SELECT toast_policy.enable('copied');
CREATE VIEW as_stored AS SELECT id, coalesce(pg_column_compression(v), 'raw') AS codec, pg_column_size(v) AS size FROM copied;
INSERT INTO copied SELECT * FROM from_pglz;
SELECT * FROM as_stored ORDER BY 1;
TRUNCATE copied;
SET toast_policy.recompress_source = on;
INSERT INTO copied SELECT * FROM from_pglz;
SELECT * FROM as_stored ORDER BY 1;
SELECT count(*) FROM copied JOIN from_pglz USING (id, v);
TRUNCATE copied;
RESET toast_policy.recompress_source;
INSERT INTO copied SELECT * FROM from_external;
SELECT * FROM as_stored ORDER BY 1;
-- Copy a value into a small row.
TRUNCATE copied;
INSERT INTO copied SELECT 1, v FROM from_external WHERE id = 1;
SELECT * FROM as_stored ORDER BY 1;

-- recompress() applies the rule again, whatever the settings were when the value was stored.
TRUNCATE copied;
SET toast_policy.min_saved_chunks = 1000;
INSERT INTO copied SELECT id, v || '' FROM from_pglz;
SELECT * FROM as_stored ORDER BY 1;
RESET toast_policy.min_saved_chunks;
SELECT toast_policy.recompress('copied');
SELECT * FROM as_stored ORDER BY 1;
ALTER TABLE copied ALTER v SET COMPRESSION pglz;
SET toast_policy.min_size = 100000;
SELECT toast_policy.recompress('copied');
SELECT * FROM as_stored ORDER BY 1;
RESET toast_policy.min_size;
SELECT toast_policy.recompress('copied');
SELECT * FROM as_stored ORDER BY 1;
SELECT count(*) FROM copied JOIN from_pglz USING (id, v);

-- disable() keeps the stored values.  The server stores later rows in its own way.
SELECT toast_policy.disable('copied');
SELECT relam = 2 AS heap, attstorage FROM pg_class c JOIN pg_attribute ON attrelid = c.oid WHERE c.oid = 'copied'::regclass AND attname = 'v';
SELECT * FROM as_stored ORDER BY 1;
SELECT count(*) FROM copied JOIN from_pglz USING (id, v);

-- RETURNING shows the stored row, although heap got another tuple.
CREATE TABLE returned (id int PRIMARY KEY, v text);
SELECT toast_policy.enable('returned');
INSERT INTO returned VALUES (1, repeat('x', 100000)), (2, 'small')
RETURNING id, ctid, xmin = pg_current_xact_id()::xid AS own, cmin, xmax, tableoid::regclass, octet_length(v);
UPDATE returned SET v = repeat('y', 100000) RETURNING id, ctid, xmin = pg_current_xact_id()::xid AS own, cmin, tableoid::regclass, octet_length(v);
INSERT INTO returned VALUES (1, repeat('z', 100000)) ON CONFLICT (id) DO UPDATE SET v = excluded.v || returned.v
RETURNING id, ctid, xmin = pg_current_xact_id()::xid AS own, cmin, octet_length(v);
INSERT INTO returned VALUES (3, repeat('z', 100000)) ON CONFLICT (id) DO UPDATE SET v = excluded.v
RETURNING id, ctid, xmin = pg_current_xact_id()::xid AS own, cmin, xmax, octet_length(v);

--
-- Statistics
--
SET default_toast_compression = lz4;
CREATE TABLE counted (id int, v text);
SELECT toast_policy.enable('counted');
SELECT toast_policy.reset_stats();
CREATE VIEW counts AS SELECT relname, values_seen AS seen, compressed, kept_raw AS raw, aborted, bytes_in, bytes_out FROM toast_policy.stats;
SELECT * FROM counts;
INSERT INTO counted VALUES (1, 'not looked at'), (2, NULL), (4, noise(10000)), (3, repeat('x', 10000)), (5, mixed(7000, 0.9));
SELECT * FROM counts;
SELECT sum(octet_length(v)), sum(pg_column_size(v)) - 4 AS stored FROM counted WHERE id > 2;
-- Values are counted even if the transaction is rolled back.
BEGIN;
INSERT INTO counted VALUES (6, repeat('x', 10000));
SELECT * FROM counts;
SAVEPOINT s;
INSERT INTO counted VALUES (6, repeat('x', 10000));
ROLLBACK TO s;
SELECT seen FROM counts;
ROLLBACK;
SELECT * FROM counts;
-- A row is counted even if it fails in the end.
ALTER TABLE counted ADD UNIQUE (id);
INSERT INTO counted VALUES (3, repeat('x', 10000));
SELECT seen, compressed FROM counts;
SELECT toast_policy.recompress('counted');
SELECT seen, compressed FROM counts;
SELECT toast_policy.reset_stats();
SELECT count(*) FROM counts;
COPY counted FROM PROGRAM 'i=10; while [ $i -lt 20 ]; do printf "$i\t"; head -c 10000 /dev/zero | tr "\0" x; echo; i=$((i + 1)); done';
SELECT * FROM counts;
SELECT count(DISTINCT stats_reset), max(stats_reset) <= now(), max(stats_reset) > now() - interval '1 hour' FROM toast_policy.stats;
DROP TABLE counted CASCADE;
SELECT count(*) FROM toast_policy.stats WHERE relname = 'counted';
