-- Check what the extension reports about indexes: their present alignment, the alignment that
-- "auto" would choose, which indexes are listed, which are left out, and how good the estimate of
-- the size after a rebuild is.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET client_min_messages = warning;

CREATE SCHEMA ia;
SET search_path = ia, public;
CREATE TABLE keys (i2 int2, i4 int4, i8 int8, b bool, c "char", t text, n numeric, u uuid, f8 float8,
  ts timestamptz, d date, nm name, arr int2[], rng int4range, bits bit(3));
INSERT INTO keys SELECT i % 1000, i, i, true, 'x', 'text ' || i, i, md5(i::text)::uuid, i, '2026-01-01', '2026-01-01', 'name ' || i
  FROM generate_series(1, 2000) i;

-- Build indexes on every kind of key, with the setting "auto" and without it.
SET default_index_item_alignment = auto;
CREATE INDEX a_i2 ON keys (i2);
CREATE INDEX a_i4 ON keys (i4);
CREATE INDEX a_i8 ON keys (i8);
CREATE INDEX a_b ON keys (b);
CREATE INDEX a_c ON keys (c);
CREATE INDEX a_t ON keys (t);
CREATE INDEX a_n ON keys (n);
CREATE INDEX a_u ON keys (u);
CREATE INDEX a_f8 ON keys (f8);
CREATE INDEX a_ts ON keys (ts);
CREATE INDEX a_d ON keys (d);
CREATE INDEX a_nm ON keys (nm);
CREATE INDEX a_arr ON keys (arr);
CREATE INDEX a_rng ON keys (rng);
CREATE INDEX a_bits ON keys (bits);
CREATE INDEX a_i2_i4 ON keys (i2, i4);
CREATE INDEX a_i2_i8 ON keys (i2, i8);
CREATE INDEX a_i2_incl_i8 ON keys (i2) INCLUDE (i8);
CREATE INDEX a_i2_incl_i4 ON keys (i2) INCLUDE (i4);
CREATE INDEX a_expr ON keys ((i8::int2)) WHERE i8 < 1000;
CREATE INDEX a_max ON keys (i4) WITH (item_alignment = max);
CREATE UNIQUE INDEX a_empty ON keys (i4) WHERE false;
SET default_index_item_alignment = max;
CREATE INDEX m_i4 ON keys (i4);
CREATE UNIQUE INDEX m_auto ON keys (i4) WITH (item_alignment = 'auto');
CREATE INDEX m_i8_auto ON keys (i8) WITH (item_alignment = auto, fillfactor = 80);
RESET default_index_item_alignment;
CREATE INDEX m_t ON keys (t);

SELECT indexrelid::regclass AS index, index_align.item_alignment(indexrelid), index_align.auto_alignment(indexrelid)
FROM pg_index WHERE indrelid = 'keys'::regclass ORDER BY indexrelid::regclass::text COLLATE "C";

-- The view lists every aligned index, and every index that has the storage parameter.
ALTER TABLE keys ADD CONSTRAINT keys_unique UNIQUE USING INDEX m_auto;
SELECT index, relation, item_alignment, storage_parameter, bytes_now > 0 AS bytes, constraint_name, is_valid
FROM index_align.status WHERE relation = 'keys'::regclass ORDER BY index::text COLLATE "C";

-- The storage parameter takes effect when the index is built.
ALTER INDEX m_i4 SET (item_alignment = auto);
SELECT index, item_alignment, storage_parameter FROM index_align.status WHERE index = 'm_i4'::regclass;
REINDEX INDEX m_i4;
SELECT index, item_alignment, storage_parameter FROM index_align.status WHERE index = 'm_i4'::regclass;
ALTER INDEX m_i4 RESET (item_alignment);
SELECT index, item_alignment, storage_parameter FROM index_align.status WHERE index = 'm_i4'::regclass;
REINDEX INDEX m_i4;
SELECT count(*) FROM index_align.status WHERE index = 'm_i4'::regclass;

-- A partitioned index has no pages.  The view lists it if it has the storage parameter.
CREATE TABLE parts (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
CREATE INDEX parts_a ON parts (a) WITH (item_alignment = auto, fillfactor = 70);
CREATE INDEX parts_b ON parts (b);
SELECT index, relation, item_alignment, storage_parameter, bytes_now IS NULL AS no_bytes
FROM index_align.status WHERE index::text ~ 'parts' ORDER BY index::text COLLATE "C";
SELECT index_align.item_alignment('parts_a') IS NULL AS no_pages, index_align.auto_alignment('parts_a');

-- Test indexes of temporary and unlogged tables and of materialized views, and an invalid index.
SET default_index_item_alignment = auto;
CREATE TEMP TABLE temporary (a int PRIMARY KEY);
CREATE UNLOGGED TABLE unlogged (a int PRIMARY KEY);
CREATE MATERIALIZED VIEW materialized AS SELECT 1 AS a;
CREATE UNIQUE INDEX materialized_a ON materialized (a);
CREATE TABLE twice (a int);
INSERT INTO twice VALUES (1), (1);
CREATE UNIQUE INDEX CONCURRENTLY twice_a ON twice (a);
CREATE INDEX temporary_hash ON temporary USING hash (a);
RESET default_index_item_alignment;
SELECT relname, item_alignment, constraint_name, is_valid FROM index_align.status JOIN pg_class ON oid = index
WHERE relation IN ('temporary'::regclass, 'unlogged'::regclass, 'materialized'::regclass, 'twice'::regclass)
ORDER BY relname COLLATE "C";

-- Indexes of catalogs and of TOAST tables are never aligned.
SELECT count(*) FROM pg_class WHERE relkind = 'i' AND oid < 12000 AND index_align.item_alignment(oid) <> 8;
SELECT count(*) > 0 AS some, count(*) FILTER (WHERE index_align.item_alignment(indexrelid) <> 8
    OR index_align.auto_alignment(indexrelid) <> 8) AS aligned
FROM pg_index JOIN pg_class t ON t.oid = indrelid WHERE relkind = 't';

-- Test arguments that are not an index, not a B-tree, or no relation at all.
SELECT index_align.item_alignment('keys');
SELECT index_align.item_alignment('temporary_hash');
SELECT index_align.item_alignment(4294967295::oid) IS NULL AS gone;
SELECT index_align.item_alignment(NULL) IS NULL AS null;
SELECT index_align.auto_alignment('keys');
SELECT index_align.auto_alignment('temporary_hash');
SELECT index_align.auto_alignment(4294967295::oid) IS NULL AS gone;
SELECT index_align.estimated_ratio('a_i4', 3, 1, 1);
SELECT index_align.estimated_ratio('keys', 4, 1, 1) IS NULL AS no_btree;
SELECT index_align.reset_item_alignment('a_i4');
SELECT index_align.reset_item_alignment('keys');
SELECT index_align.reset_item_alignment(4294967295::oid);

-- Every role may read the view and call advise(), with any search_path.
CREATE ROLE regress_index_align_reader;
SET ROLE regress_index_align_reader;
SET search_path = pg_temp;
SELECT count(*) > 20 AS listed FROM index_align.status;
SELECT count(*) >= 0 AS advised FROM index_align.advise();
SELECT index_align.reset_item_alignment((SELECT index FROM index_align.status WHERE index::text = 'ia.parts_a'));
RESET ROLE;
SET search_path = ia, public;
DROP ROLE regress_index_align_reader;

-- reset_item_alignment() resets the storage parameter of a partitioned index, and of no other
-- index.
SELECT index_align.reset_item_alignment('parts_a');
SELECT relname, reloptions FROM pg_class WHERE relname IN ('parts_a', 'parts_1_a_idx') ORDER BY 1;
SELECT index_align.reset_item_alignment('parts_a');
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (10) TO (20);
SELECT reloptions FROM pg_class WHERE relname = 'parts_2_a_idx';

-- The estimated size differs from the size after a rebuild by less than 4 % of the index.
CREATE TABLE estimate (i2 int2, few int4, i4 int4, i8 int8, t text, u uuid, none int4, half int4);
INSERT INTO estimate SELECT i % 5000, i / 10, i, i, repeat('x', 10 + i % 20) || i, md5(i::text)::uuid, NULL, nullif(i * (i % 2), 0) FROM generate_series(1, 30000) i;
CREATE INDEX e_i2 ON estimate (i2);
CREATE INDEX e_few ON estimate (few);
CREATE UNIQUE INDEX e_i4 ON estimate (i4);
CREATE INDEX e_i4_3 ON estimate (i4, few, i4);
CREATE INDEX e_i4_4 ON estimate (i4, few, i4, few);
CREATE INDEX e_i8 ON estimate (i8);
CREATE INDEX e_t ON estimate (t);
CREATE INDEX e_u_i4 ON estimate (u, i4);
CREATE INDEX e_expr ON estimate ((i4 % 30011));
CREATE INDEX e_half ON estimate (half);
CREATE INDEX e_i4_half ON estimate (i4, half);
CREATE INDEX e_i4_none ON estimate (i4, none);
CREATE INDEX e_i4_i4_none ON estimate (i4, few, none);
CREATE INDEX e_none ON estimate (none);
CREATE INDEX e_partial ON estimate (half) WHERE half IS NOT NULL;
CREATE INDEX e_small ON estimate (i4) WHERE i4 < 500;
VACUUM ANALYZE estimate;
SELECT count(*) FROM index_align.advise() WHERE index = 'e_small'::regclass;
CREATE TABLE estimated AS SELECT index::text AS index, bytes_now, bytes_after FROM index_align.advise()
  WHERE relation = 'estimate'::regclass;
SET default_index_item_alignment = auto;
REINDEX TABLE estimate;
RESET default_index_item_alignment;
SELECT index, abs(bytes_after - pg_relation_size(index::regclass)) < 0.04 * bytes_now AS close,
  (bytes_now - pg_relation_size(index::regclass)) * 100 / bytes_now >= 4 AS saves
FROM estimated ORDER BY index COLLATE "C";
SELECT count(*) FROM index_align.advise() WHERE relation = 'estimate'::regclass;

DROP SCHEMA ia CASCADE;
