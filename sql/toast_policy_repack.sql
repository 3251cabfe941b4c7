--
-- REPACK, which is new in 19, does not change how values are stored, whatever the settings are at
-- that time.
--
SELECT current_setting('server_version_num')::int < 190000 AS has_no_repack \gset
\if :has_no_repack
\quit
\endif
\set VERBOSITY terse
CREATE SCHEMA policy_repack;
SET search_path = policy_repack, public;
SET client_min_messages = warning;
SET default_toast_compression = lz4;
CREATE FUNCTION noise(n int, seed text) RETURNS text LANGUAGE sql IMMUTABLE AS
$$SELECT left(string_agg(translate(encode(sha256((seed || i)::bytea), 'base64'), E'\n', ''), ''), n) FROM generate_series(1, n / 40 + 1) i$$;
CREATE TABLE r (id int PRIMARY KEY, v text, w text);
SELECT toast_policy.enable('r', 'v');
-- In turn, v is compressed, raw because no chunk would be saved, raw noise, and small.  The policy
-- does not govern w.
INSERT INTO r SELECT i, CASE i % 4 WHEN 0 THEN repeat('x' || i, 5000) WHEN 1 THEN noise(8500, i::text) || repeat('x', 500)
	WHEN 2 THEN noise(10000, i::text) ELSE 'small' END, repeat('w' || i, 1000) FROM generate_series(1, 40) i;
CREATE FUNCTION stored(rel regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	EXECUTE format('SELECT md5(string_agg(concat_ws('' '', id, md5(v), pg_column_compression(v), pg_column_size(v), pg_column_compression(w), pg_column_size(w)), '','' ORDER BY id)) FROM %s', rel) INTO result;
	RETURN result;
END $$;
SELECT id % 4 AS kind, pg_column_compression(v), count(*) FROM r GROUP BY 1, 2 ORDER BY 1, 2;
SELECT stored('r') AS before \gset

-- With these settings, new values would be stored in other ways.
SET toast_policy.min_saved_chunks = 0;
SET toast_policy.min_saving = 0;
SET toast_policy.early_abort = off;
SET default_toast_compression = pglz;
SET toast_policy.recompress_source = on;
SELECT toast_policy.reset_stats();
CREATE FUNCTION moved() RETURNS bool LANGUAGE plpgsql AS $$
DECLARE result bool;
BEGIN
	result := pg_relation_filenode('r') <> coalesce(nullif(current_setting('test.file', true), '')::oid, 0);
	PERFORM set_config('test.file', pg_relation_filenode('r')::text, false);
	RETURN result;
END $$;
SELECT moved();
REPACK r;
SELECT moved(), stored('r') = :'before' AS same, amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE c.oid = 'r'::regclass;
REPACK (ANALYZE) r USING INDEX r_pkey;
SELECT moved(), stored('r') = :'before' AS same;
-- Only heap tables allow this.
REPACK (CONCURRENTLY) r;
SELECT moved(), stored('r') = :'before' AS same;
-- The policy has not counted any of these values.
SELECT count(*) FROM toast_policy.stats;
-- An index on a governed column has compressed keys, also after REPACK.
CREATE INDEX ON r (md5(v), w);
CREATE TABLE k (id int PRIMARY KEY, v text);
SELECT toast_policy.enable('k', 'v');
CREATE INDEX ON k (v);
INSERT INTO k SELECT i, repeat('k' || i, 2000) FROM generate_series(1, 10) i;
REPACK k;
SELECT attstorage FROM pg_attribute WHERE attrelid = 'k_v_idx'::regclass;
INSERT INTO k SELECT i, repeat('k' || i, 2000) FROM generate_series(11, 20) i;
SET enable_seqscan = off;
SELECT count(*) FROM k WHERE v = repeat('k15', 2000) OR v = repeat('k5', 2000);
RESET enable_seqscan;

-- recompress() applies the rule again.
SELECT toast_policy.recompress('r');
SELECT moved(), stored('r') = :'before' AS same;
SELECT id % 4 AS kind, pg_column_compression(v), count(*) FROM r GROUP BY 1, 2 ORDER BY 1, 2;

-- Test partitions.
CREATE TABLE p (id int, v text) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20);
SELECT toast_policy.enable('p', 'v');
INSERT INTO p SELECT i, repeat('p' || i, 5000) FROM generate_series(0, 19) i;
REPACK p;
SELECT relname, amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE relname ~ '^p[12]?$' AND relnamespace = 'policy_repack'::regnamespace ORDER BY 1;
SELECT pg_column_compression(v), count(*), count(DISTINCT v) FROM p GROUP BY 1;

DROP SCHEMA policy_repack CASCADE;
