/* pg_dense/pg_dense--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pg_dense" to load this file. \quit

CREATE SCHEMA dense;
COMMENT ON SCHEMA dense IS 'a report of the savings that the features of pg_dense propose, and procedures to apply and undo proposals';
GRANT USAGE ON SCHEMA dense TO PUBLIC;

-- What the functions of the schema dense call, with the privileges of their caller.
CREATE SCHEMA dense_internal;
COMMENT ON SCHEMA dense_internal IS 'internal functions of the schema dense';
GRANT USAGE ON SCHEMA dense_internal TO PUBLIC;

--
-- What PL/pgSQL has not got: pg_dense_lock.c and pg_dense.c
--

CREATE FUNCTION dense_internal.try_lock(rel oid)
RETURNS boolean LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME',
    'pg_dense_try_lock';

CREATE FUNCTION dense_internal.lock_owned(rel oid)
RETURNS text LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME',
    'pg_dense_lock_owned';

CREATE FUNCTION dense_internal.split_parts(view oid, OUT hot oid, OUT cold oid,
    OUT cold_columns name[], OUT locked boolean)
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pg_dense_split_parts';

CREATE FUNCTION dense_internal.item_alignment(index oid)
RETURNS int4 LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME',
    'pg_dense_item_alignment';

-- Raise an error.  Do not use RAISE for what a user has done wrong: its context has the lines of
-- our functions.
CREATE FUNCTION dense_internal.refuse(state text, message text, detail text DEFAULT NULL,
    hint text DEFAULT NULL)
RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pg_dense_refuse';

CREATE FUNCTION dense_internal.check_arguments(budget_seconds int4, relation oid, min_bytes bigint,
    with_risk boolean)
RETURNS int4 LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pg_dense_check_arguments';

CREATE FUNCTION dense_internal.file_bytes(rel oid)
RETURNS bigint LANGUAGE C VOLATILE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pg_dense_file_bytes';

CREATE FUNCTION dense_internal.set_progress(rel oid, tables_done bigint, tables_total bigint,
    bytes_done bigint, bytes_total bigint)
RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pg_dense_set_progress';

CREATE FUNCTION dense_internal.in_transaction_block()
RETURNS boolean LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'pg_dense_in_transaction_block';

-- Bytes of a B-tree index that is built anew: pg_dense_index.c
CREATE FUNCTION dense_internal.btree_bytes(lengths int4[], alignments int4[], widths float8[],
    spreads float8[], nulls float8[], alignment int4, fillfactor int4, rows float8,
        key_rows float8[],
    key_counts float8[])
RETURNS bigint LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'pg_dense_btree_bytes';

-- The mark in the last parameter distinguishes report() from ANALYZE.
CREATE VIEW dense.report_progress AS
SELECT p.pid, p.datid, d.datname, p.relid, p.param16 AS tables_done, p.param17 AS tables_total,
    p.param18 AS bytes_done, p.param19 AS bytes_total
FROM pg_catalog.pg_stat_get_progress_info('ANALYZE') AS p
    LEFT JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) p.datid
WHERE p.param20 OPERATOR(pg_catalog.=) 1919250543;
GRANT SELECT ON dense.report_progress TO PUBLIC;
COMMENT ON VIEW dense.report_progress IS 'tables that report() examines now';
COMMENT ON COLUMN dense.report_progress.pid IS 'process ID of the session';
COMMENT ON COLUMN dense.report_progress.datid IS 'OID of its database';
COMMENT ON COLUMN dense.report_progress.datname IS 'name of its database';
COMMENT ON COLUMN dense.report_progress.relid IS 'OID of the table';
COMMENT ON COLUMN dense.report_progress.tables_done IS 'tables that have been examined';
COMMENT ON COLUMN dense.report_progress.tables_total IS 'tables that report() examines in total';
COMMENT ON COLUMN dense.report_progress.bytes_done IS 'bytes of the tables that have been examined, with their indexes';
COMMENT ON COLUMN dense.report_progress.bytes_total IS 'bytes of all tables that report() examines';

--
-- Which features can be asked
--

-- Return true if the functions of that name belong to the extension and to a superuser.  Then no
-- other role can have put a function of its own in their place.
CREATE FUNCTION dense_internal.is_trusted(schema name, function name, extension name DEFAULT NULL)
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(bool_and(r.rolsuper AND EXISTS (
            SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
            WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
                AND d.refclassid = 'pg_extension'::regclass AND e.extname = coalesce($3, $1))),
                    false)
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_roles r
        ON r.oid = p.proowner
    WHERE n.nspname = $1 AND p.proname = $2
$$;

-- Return true if the server aligns B-tree entries to what their columns need.
CREATE FUNCTION dense_internal.is_patched()
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT current_setting('default_index_item_alignment', true) IS NOT NULL $$;

-- The features: the extension, and whether it can be asked in this database.
CREATE FUNCTION dense_internal.features(OUT feature text, OUT usable boolean, OUT available boolean)
RETURNS SETOF record LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT f.feature, dense_internal.is_trusted(f.feature::name, f.function::name),
        EXISTS (SELECT FROM pg_available_extensions a WHERE a.name = f.feature)
    FROM (VALUES ('compact_types', 'advise_table'), ('toast_policy', 'advise'),
        ('vertical_partition', 'advise')) f (feature, function)
$$;

-- The qualified name of a relation.
CREATE FUNCTION dense_internal.qualified_name(rel oid)
RETURNS text LANGUAGE sql STABLE STRICT
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('%I.%I', n.nspname, c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = rel
$$;

--
-- The model of sizes
--

-- Sizes of a column's values, now and with the proposed type.
CREATE TYPE dense_internal.column_size AS (
    attnum int2, width float8, new_type text, new_length int4, new_alignment int4,
        new_width float8);

-- Length and alignment of a compact type.  The type may not exist yet.
CREATE FUNCTION dense_internal.compact_layout(type text, OUT length int4, OUT alignment int4)
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN t.name ~ '^compact_char[0-9]+$' THEN substr(t.name, 13)::int4
            WHEN t.name ~ '^u?int[0-9]$' THEN right(t.name, 1)::int4
            WHEN t.name ~ '^seconds4' THEN 4
            WHEN t.name ~ '^compact_decimal[48]_' THEN substr(t.name, 16, 1)::int4
            ELSE -1 END,
        CASE WHEN t.name = 'uint2' THEN 2
            WHEN t.name = 'uint4' THEN 4
            WHEN t.name = 'uint8' THEN 8
            WHEN t.name ~ '^(compact_char|u?int[0-9])' THEN 1
            WHEN t.name ~ '^compact_decimal8_' THEN 8
            ELSE 4 END
    FROM (SELECT regexp_replace(regexp_replace(type, '^.*\.', ''), '\(.*$', '')) t (name)
$$;

-- Standard deviation of the widths of strings, from the bounds of their histogram.
CREATE FUNCTION dense_internal.width_spread(bounds text, type oid)
RETURNS float8 LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN bounds IS NOT NULL AND (SELECT t.typcategory = 'S' FROM pg_type t
        WHERE t.oid = type) THEN (
        SELECT stddev_pop(octet_length(x)) FROM unnest(bounds::text[]) x) END::float8
$$;

-- Model the size of a B-tree index that is built anew: with today's types, with the proposed ones,
-- and with these aligned to what they need.  "known" is false if a width is a guess.
CREATE FUNCTION dense_internal.index_model(index oid, table_rows float8,
    sizes dense_internal.column_size[], OUT bytes_now bigint, OUT bytes_after bigint,
    OUT bytes_aligned bigint, OUT alignment int4, OUT known boolean)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    i record;
    k record;
    rows float8;
    lengths int4[]; alignments int4[]; widths float8[]; spreads float8[]; nulls float8[];
    new_lengths int4[]; new_alignments int4[]; new_widths float8[]; new_spreads float8[];
    equal_now boolean := true;      -- can equal keys share a tuple?
    equal_after boolean := true;
    keys float8 := 1;
    key_rows float8[] := '{}';
    key_counts float8[] := '{}';
    rest float8;
    item_alignment int4 := 8;
BEGIN
    SELECT x.*, c.reltuples, c.reloptions, tn.nspname AS table_schema, t.relname AS table_name,
        n.nspname, c.relname
    INTO i FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_namespace n
        ON n.oid = c.relnamespace
        JOIN pg_class t ON t.oid = x.indrelid JOIN pg_namespace tn ON tn.oid = t.relnamespace
    WHERE x.indexrelid = index;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    rows := CASE WHEN i.indpred IS NOT NULL AND i.reltuples >= 0 THEN i.reltuples
        ELSE table_rows END;
    known := true;
    alignment := 2;
    FOR k IN
        SELECT a.attnum AS position, b.attnum AS heap_attnum, a.attlen, a.attalign, s.null_frac,
            s.n_distinct,
            s.most_common_freqs AS freqs, z.new_type, z.new_length, z.new_alignment, z.new_width,
            -- statistics cut the fraction off, and count a long header for an expression
            coalesce(z.width, s.avg_width + 0.5 - CASE WHEN b.attnum = 0 AND s.avg_width BETWEEN 5
                AND 129 THEN 3 ELSE 0 END) AS width,
            dense_internal.width_spread(s.histogram_bounds::text, a.atttypid) AS spread,
            EXISTS (SELECT FROM pg_opclass o JOIN pg_amproc p ON p.amprocfamily = o.opcfamily
                    AND p.amproclefttype = o.opcintype AND p.amprocrighttype = o.opcintype
                        AND p.amprocnum = 4
                WHERE o.oid = x.opclass)
                AND coalesce((SELECT l.collisdeterministic FROM pg_collation l
                    WHERE l.oid = x.collation), true) AS equal,
            z.new_type IS NULL OR to_regtype(z.new_type) IS NULL OR EXISTS (
                SELECT FROM pg_amproc p WHERE p.amproclefttype = to_regtype(z.new_type)
                    AND p.amprocrighttype = p.amproclefttype AND p.amprocnum = 4) AS new_equal
        FROM pg_attribute a
            CROSS JOIN LATERAL (SELECT (i.indkey::int2[])[a.attnum - 1] AS attnum) b
            CROSS JOIN LATERAL (SELECT (i.indclass::oid[])[a.attnum - 1] AS opclass,
                (i.indcollation::oid[])[a.attnum - 1] AS collation) x
            LEFT JOIN pg_attribute h ON h.attrelid = i.indrelid AND h.attnum = b.attnum
                AND b.attnum > 0
            LEFT JOIN pg_stats s ON NOT s.inherited
                AND CASE WHEN b.attnum > 0 THEN s.schemaname = i.table_schema
                    AND s.tablename = i.table_name AND s.attname = h.attname
                    ELSE s.schemaname = i.nspname AND s.tablename = i.relname
                        AND s.attname = a.attname END
            LEFT JOIN unnest(sizes) z ON z.attnum = b.attnum AND b.attnum > 0
        WHERE a.attrelid = index AND a.attnum > 0
        ORDER BY a.attnum
    LOOP
        IF k.width IS NULL AND k.attlen < 0 THEN
            known := false;
        END IF;
        lengths := lengths || k.attlen::int4;
        alignments := alignments || CASE k.attalign WHEN 'c' THEN 1 WHEN 's' THEN 2 WHEN 'i' THEN 4
            ELSE 8 END;
        widths := widths || CASE WHEN k.attlen > 0 THEN k.attlen ELSE coalesce(k.width,
            16) END::float8;
        spreads := spreads || CASE WHEN k.attlen > 0 THEN 0
            ELSE coalesce(k.spread, least(0.1 * widths[k.position], 2)) END::float8;
        nulls := nulls || CASE WHEN i.indpred IS NULL THEN coalesce(k.null_frac, 0)
            ELSE 0 END::float8;
        new_lengths := new_lengths || coalesce(k.new_length, lengths[k.position]);
        new_alignments := new_alignments || coalesce(k.new_alignment, alignments[k.position]);
        new_widths := new_widths || CASE WHEN k.new_length > 0 THEN k.new_length
            ELSE coalesce(k.new_width, widths[k.position]) END;
        new_spreads := new_spreads || CASE WHEN new_lengths[k.position] > 0 THEN 0
            ELSE spreads[k.position] * new_widths[k.position] / greatest(widths[k.position], 1) END;
        alignment := greatest(alignment, new_alignments[k.position]);
        IF k.position <= i.indnkeyatts THEN
            equal_now := equal_now AND k.equal;
            equal_after := equal_after AND k.new_equal AND (k.equal OR k.new_type IS NOT NULL);
            IF NOT i.indisunique THEN
                IF k.n_distinct IS NULL THEN
                    known := false;
                END IF;
                -- without statistics, assume that no key is equal to another
                rest := CASE WHEN k.n_distinct > 0 THEN k.n_distinct
                    ELSE coalesce(- k.n_distinct, 1) * greatest(table_rows, 1) END;
                IF i.indnkeyatts = 1 AND i.indpred IS NULL THEN
                    key_rows := ARRAY(SELECT f * rows FROM unnest(k.freqs) f);
                    key_counts := array_fill(1::float8, ARRAY[cardinality(key_rows)]);
                    rest := greatest(rest - cardinality(key_rows), 0);
                    IF rest >= 0.5 THEN
                        key_rows := key_rows || greatest(rows * (1 - nulls[1]
                            - coalesce((SELECT sum(f) FROM unnest(k.freqs) f), 0)), rest) / rest;
                        key_counts := key_counts || rest;
                    END IF;
                    IF nulls[1] * rows >= 1 THEN
                        key_rows := key_rows || nulls[1] * rows;
                        key_counts := key_counts || 1::float8;
                    END IF;
                ELSE
                    keys := least(keys * greatest(rest + CASE WHEN nulls[k.position] > 0 THEN 1
                        ELSE 0 END, 1),
                        greatest(rows, 1));
                END IF;
            END IF;
        END IF;
    END LOOP;
    IF i.indisunique OR i.indnatts > i.indnkeyatts
        OR NOT coalesce(dense_internal.storage_parameter(i.reloptions,
            'deduplicate_items')::boolean, true) THEN
        equal_now := false;
        equal_after := false;
    ELSIF cardinality(key_rows) = 0 THEN
        key_rows := ARRAY[greatest(rows, 1) / keys];
        key_counts := ARRAY[keys];
    END IF;
    IF dense_internal.is_patched() AND lower(coalesce(
            dense_internal.storage_parameter(i.reloptions, 'item_alignment'),
            current_setting('default_index_item_alignment', true))) = 'auto' THEN
        item_alignment := alignment;
    END IF;
    rest := coalesce(substring(dense_internal.storage_parameter(i.reloptions, 'fillfactor')
        FROM '^[1-9][0-9]{1,2}$')::int4, 90);
    bytes_now := dense_internal.btree_bytes(lengths, alignments, widths, spreads, nulls, 8,
        rest::int4, rows,
        CASE WHEN equal_now THEN key_rows ELSE '{}' END, CASE WHEN equal_now THEN key_counts
            ELSE '{}' END);
    bytes_after := dense_internal.btree_bytes(new_lengths, new_alignments, new_widths, new_spreads,
        nulls, item_alignment, rest::int4, rows,
        CASE WHEN equal_after THEN key_rows ELSE '{}' END, CASE WHEN equal_after THEN key_counts
            ELSE '{}' END);
    bytes_aligned := dense_internal.btree_bytes(new_lengths, new_alignments, new_widths,
        new_spreads, nulls, alignment, rest::int4, rows,
        CASE WHEN equal_after THEN key_rows ELSE '{}' END, CASE WHEN equal_after THEN key_counts
            ELSE '{}' END);
END
$$;

-- The value of a storage parameter, as it was written, or null.
CREATE FUNCTION dense_internal.storage_parameter(options text[], parameter text)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT o.option_value FROM pg_options_to_table(options) o WHERE o.option_name = parameter $$;

-- Bytes of the file that ALTER TABLE fills with so many pages.  Since 16, it extends the file by
-- 1, 1, 2, 4 and so on, at most by 64 pages.
CREATE FUNCTION dense_internal.heap_file_bytes(pages float8)
RETURNS bigint LANGUAGE sql STABLE STRICT
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT (CASE WHEN pages <= 1 OR current_setting('server_version_num')::int4 < 160000
        THEN ceil(pages)
            WHEN pages <= 64 THEN 2 ^ ceil(log(2, pages::numeric))
            ELSE ceil(pages / 64) * 64 END * current_setting('block_size')::int4)::bigint
$$;

--
-- Proposals
--

CREATE TYPE dense_internal.proposal AS (
    kind text, proposal text, relation regclass, feature text, action text, columns name[],
    bytes_now bigint, bytes_after bigint, confidence text, risk text, lock_mode text,
        seconds float8,
    server text, reason text, blockers text[], statement text, undo text);

-- Bytes of a TOAST table with its index.
CREATE FUNCTION dense_internal.toast_bytes(toast oid)
RETURNS bigint LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(sum(dense_internal.file_bytes(x.oid)), 0)::bigint
    FROM (SELECT toast AS oid UNION ALL SELECT i.indexrelid FROM pg_index i
        WHERE i.indrelid = toast) x
    WHERE x.oid <> 0
$$;

-- Bytes of a table with its TOAST table and indexes, and those of each index.
CREATE FUNCTION dense_internal.table_bytes(rel oid, OUT heap bigint, OUT toast bigint,
    OUT total bigint, OUT indexes jsonb)
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT h.heap, h.toast, (h.heap + h.toast + coalesce(x.bytes, 0))::bigint, coalesce(x.indexes,
        '{}')
    FROM (SELECT coalesce(dense_internal.file_bytes(c.oid), 0) AS heap,
            dense_internal.toast_bytes(c.reltoastrelid) AS toast FROM pg_class c
                WHERE c.oid = rel) h,
        (SELECT sum(b.bytes) AS bytes, jsonb_object_agg(i.indexrelid, b.bytes) AS indexes
        FROM pg_index i, LATERAL (SELECT coalesce(dense_internal.file_bytes(i.indexrelid),
            0)) b (bytes)
        WHERE i.indrelid = rel) x
$$;

-- Model the indexes of a table after a rewrite: the bytes of each, with today's alignment and
-- aligned to what its columns need.  An index may be denser than the model's, because more of its
-- keys are equal than the statistics tell.  It then stays so.
CREATE FUNCTION dense_internal.index_models(rel oid, rows float8,
    sizes dense_internal.column_size[], OUT index oid, OUT bytes_now bigint,
    OUT bytes_after bigint, OUT bytes_aligned bigint, OUT alignment int4, OUT known boolean)
RETURNS SETOF record LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT i.indexrelid, b.bytes, CASE WHEN k.modelled THEN round(m.bytes_after * k.factor)::bigint
        ELSE b.bytes END,
        CASE WHEN k.modelled THEN round(m.bytes_aligned * k.factor)::bigint ELSE b.bytes END,
        m.alignment, k.modelled AND m.known
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
        CROSS JOIN LATERAL (SELECT coalesce(dense_internal.file_bytes(i.indexrelid), 0)) b (bytes)
        -- an index of two pages has no page to save
        LEFT JOIN LATERAL (SELECT x.* FROM dense_internal.index_model(i.indexrelid, rows, sizes) x
            WHERE a.amname = 'btree' AND i.indisvalid AND i.indisready AND rows IS NOT NULL
                AND b.bytes > 2 * current_setting('block_size')::int4) m ON true
        CROSS JOIN LATERAL (SELECT coalesce(m.bytes_after, 0) > 0,
            CASE WHEN m.bytes_now > 0 THEN least(1,
                b.bytes / m.bytes_now::float8) END) k (modelled, factor)
    WHERE i.indrelid = rel
$$;

-- Bytes of the indexes of a table that any rewrite returns.
CREATE FUNCTION dense_internal.index_spare(rel oid, rows float8)
RETURNS bigint LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(sum(m.bytes_now - m.bytes_after), 0)::bigint
    FROM dense_internal.index_models(rel, rows, '{}') m
$$;

-- What compact_types.advise() proposes for a table: columns without and with a risk, and those that
-- something blocks.
CREATE TYPE dense_internal.types_advice AS (
    names name[], safe_names name[], blocked_names name[], types text[], safe_types text[],
        blocked_types text[],
    risk text, sizes dense_internal.column_size[], safe_sizes dense_internal.column_size[],
        blockers text[], missing text);

CREATE FUNCTION dense_internal.ask_compact_types(rel oid, sample_pages int4, narrow boolean)
RETURNS dense_internal.types_advice LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    result dense_internal.types_advice;
BEGIN
    EXECUTE $q$
        SELECT array_agg(a.column_name ORDER BY b.attnum) FILTER (WHERE k.free) AS names,
            array_agg(a.column_name ORDER BY b.attnum) FILTER (WHERE k.free
                AND a.risk IS NULL) AS safe_names,
            array_agg(a.column_name ORDER BY b.attnum) FILTER (WHERE k.blocked) AS blocked_names,
            array_agg(format('%I to %s', a.column_name, a.proposed_type) ORDER BY b.attnum)
                FILTER (WHERE k.free) AS types,
            array_agg(format('%I to %s', a.column_name, a.proposed_type) ORDER BY b.attnum)
                FILTER (WHERE k.free AND a.risk IS NULL) AS safe_types,
            array_agg(format('%I to %s', a.column_name, a.proposed_type) ORDER BY b.attnum)
                FILTER (WHERE k.blocked) AS blocked_types,
            string_agg(format('%I: %s', a.column_name, a.risk), '; ' ORDER BY b.attnum)
                FILTER (WHERE k.free AND a.risk IS NOT NULL) AS risk,
            array_agg(ROW(b.attnum, a.value_bytes_now, a.proposed_type, l.length, l.alignment,
                a.value_bytes_after)::dense_internal.column_size ORDER BY b.attnum)
                    FILTER (WHERE k.free) AS sizes,
            array_agg(ROW(b.attnum, a.value_bytes_now, a.proposed_type, l.length, l.alignment,
                a.value_bytes_after)::dense_internal.column_size ORDER BY b.attnum)
                FILTER (WHERE k.free AND a.risk IS NULL) AS safe_sizes,
            array_agg(a.blockers::text) FILTER (WHERE k.blocked) AS blockers,
            string_agg(format('%I: %s', a.column_name, a.reason), '; ' ORDER BY b.attnum)
                FILTER (WHERE a.proposed_type IS NULL AND a.reason LIKE '%"make %') AS missing
        FROM compact_types.advise($1, narrow => $3, sample_pages => $2) a
            JOIN pg_attribute b ON b.attrelid = a.relation AND b.attname = a.column_name,
            LATERAL (SELECT a.proposed_type IS NOT NULL AND cardinality(a.blockers) = 0 AS free,
                a.proposed_type IS NOT NULL AND cardinality(a.blockers) > 0 AS blocked) k,
            LATERAL dense_internal.compact_layout(a.proposed_type) l
        WHERE a.proposed_type IS NOT NULL OR a.reason LIKE '%"make %' $q$
        INTO result USING rel::regclass, sample_pages, narrow;
    RETURN result;
END
$$;

-- Bytes that any rewrite of a table returns, of its heap and its TOAST table.  "advice" is a row of
-- toast_policy.advise().  It has the size of the files now, and that of a rewritten table in which
-- the column is stored in another way.  compare() tells how much smaller that way is.  Return null
-- if it does not tell, for example because the values of the column are stored in several ways.
CREATE FUNCTION dense_internal.toast_spare(rel oid, advice record, sample_rows int4)
RETURNS bigint LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    pages bigint;
BEGIN
    EXECUTE $q$
        SELECT max(c.table_pages) FILTER (WHERE (c.strategy, c.codec) = ($4, $5)
                AND c.level IS NOT DISTINCT FROM $6)
            - max(c.table_pages) FILTER (WHERE (c.strategy, c.codec) = ($7, $8)
                AND c.level IS NOT DISTINCT FROM $9)
        FROM toast_policy.compare($1, $2, $3) c $q$
        INTO pages USING rel::regclass, advice.column_name, sample_rows, advice.strategy_now,
            advice.codec_now, advice.level_now, advice.strategy_after, advice.codec_after,
            advice.level_after;
    RETURN advice.bytes_now - advice.bytes_after
        - pages * current_setting('block_size')::int4;
END
$$;

-- What the features propose for one table, in the order in which they are applied.  The caller
-- holds a lock on the table.  sample_pages limits what compact_types reads, and toast_pages what
-- toast_policy reads.  with_risk takes the types with a risk.
--
-- bytes_now of a proposal is the size when its turn comes, after the proposals before it, so that
-- no byte is saved twice.  Rows of the kinds "option" and "blocked" are outside of this chain.
CREATE FUNCTION dense_internal.propose(rel oid, sample_pages int4, toast_pages int4,
    with_risk boolean)
RETURNS SETOF dense_internal.proposal LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    block constant int4 := current_setting('block_size')::int4;
    heap_rate constant float8 := 60e6;      -- bytes of heap and of indexes that a rewrite writes in
    index_rate constant float8 := 25e6;     -- a second
    name constant text := dense_internal.qualified_name(rel);
    is_patched constant boolean := dense_internal.is_patched();
    class pg_class;
    p dense_internal.proposal;
    none constant dense_internal.proposal := NULL;
    b record;                       -- bytes now
    t record;
    r record;
    i record;
    v record;
    risky dense_internal.types_advice;
    sizes dense_internal.column_size[] := '{}';
    rows float8;
    pages bigint;
    total bigint;                   -- bytes after what was proposed so far
    heap bigint;                    -- likewise, of the heap alone
    index_bytes bigint;
    known boolean;
    converts boolean := false;      -- is there a proposal for types?
    -- A conversion extends the file of the heap by many pages at once.  These are the unused bytes at
    -- its end, which later rewrites return.
    unused bigint := 0;
    rebuilt boolean := false;       -- do the proposals so far rewrite the table and its indexes?
    started timestamptz;
    took float8 := 0;
    names name[];
    statements text[];
    undos text[];
    reasons text[];
    risk text;
    recompress text;
    saved bigint;
    largest bigint;
    spare bigint;
    bytes bigint;
    aligned int4;
    outside boolean;                -- do values go out of line, instead of a split?
BEGIN
    SELECT * INTO class FROM pg_class c WHERE c.oid = rel;
    b := dense_internal.table_bytes(rel);
    heap := b.heap;
    total := b.total;
    pages := b.heap / block;
    rows := CASE WHEN class.reltuples > 0 AND class.relpages > 0
        THEN class.reltuples / class.relpages * pages END;

    --
    -- Types.  advise_table() predicts the table with these columns converted.
    --
    IF class.relkind = 'r' AND class.relam = 2 AND b.heap > block
        AND dense_internal.is_trusted('compact_types', 'advise_table')
        AND dense_internal.is_trusted('compact_types', 'advise') THEN
        started := clock_timestamp();
        r := dense_internal.ask_compact_types(rel, sample_pages, with_risk);
        IF r.safe_names IS NOT NULL OR with_risk AND r.names IS NOT NULL OR rows IS NULL THEN
            EXECUTE 'SELECT a.* FROM compact_types.advise_table($1, $4, narrow => $3, sample_pages => $2) a'
                INTO t USING rel::regclass, sample_pages, with_risk,
                    coalesce(CASE WHEN with_risk THEN r.names ELSE r.safe_names END, '{}');
            rows := coalesce(nullif(t.rows, 0), rows);
        END IF;
        took := extract(epoch FROM clock_timestamp() - started);
        IF r.safe_names IS NOT NULL OR with_risk AND r.names IS NOT NULL THEN
            p := none;
            p.kind := 'proposal';
            p.proposal := CASE WHEN with_risk AND r.risk IS NOT NULL
                THEN 'compact_types_with_risk ' ELSE 'compact_types ' END || name;
            p.relation := rel;
            p.feature := 'compact_types';
            p.columns := CASE WHEN with_risk THEN r.names ELSE r.safe_names END;
            p.action := 'change ' || array_to_string(CASE WHEN with_risk THEN r.types
                ELSE r.safe_types END, ', ');
            p.risk := CASE WHEN with_risk THEN r.risk END;
            p.lock_mode := 'ACCESS EXCLUSIVE';
            p.server := 'stock';
            p.statement := t.statement;
            p.undo := t.undo;
            sizes := CASE WHEN with_risk THEN r.sizes ELSE r.safe_sizes END;
            SELECT sum(m.bytes_after), bool_and(m.known) INTO index_bytes, known
            FROM dense_internal.index_models(rel, rows, sizes) m;
            heap := dense_internal.heap_file_bytes(t.heap_pages_after);
            p.bytes_now := total;
            p.bytes_after := heap + b.toast + coalesce(index_bytes, 0);
            p.confidence := CASE WHEN known IS FALSE THEN 'low' WHEN pages <= sample_pages
                THEN 'high' ELSE 'medium' END;
            p.seconds := took * pages / greatest(least(pages, sample_pages), 1) / 2
                + (p.bytes_after - coalesce(index_bytes, 0)) / heap_rate + coalesce(index_bytes,
                    0) / index_rate;
            p.reason := format('a row takes %s bytes of the table instead of %s',
                round(t.row_bytes_after::numeric, 1),
                    round(t.row_bytes_now::numeric, 1))
                || CASE WHEN index_bytes < b.total - b.heap - b.toast AND pg_size_pretty(index_bytes)
                        <> pg_size_pretty(b.total - b.heap - b.toast)
                    THEN format('; the indexes shrink from %s to %s',
                        pg_size_pretty(b.total - b.heap - b.toast), pg_size_pretty(index_bytes))
                    ELSE '' END
                || CASE WHEN t.heap_pages - t.heap_pages_now > 0.02 * t.heap_pages
                    THEN format('; %s of the saving are free space, which any rewrite returns',
                        pg_size_pretty((t.heap_pages - t.heap_pages_now) * block)) ELSE '' END
                || CASE WHEN pages > sample_pages THEN format('; %s of %s pages were read',
                    sample_pages, pages) ELSE '' END;
            -- alignment, or the file's growth by many pages at once, can leave nothing to save
            IF p.bytes_after < p.bytes_now THEN
                total := p.bytes_after;
                converts := true;
                unused := heap - t.heap_pages_after * block;
                rebuilt := true;
                RETURN NEXT p;
            ELSE
                heap := b.heap;
                sizes := '{}';
            END IF;
        END IF;
        IF NOT with_risk AND r.risk IS NOT NULL THEN
            p := none;
            p.kind := 'option';
            p.proposal := 'compact_types_with_risk ' || name;
            p.relation := rel;
            p.feature := 'compact_types';
            started := clock_timestamp();
            risky := dense_internal.ask_compact_types(rel, sample_pages, true);
            p.columns := risky.names;
            p.action := 'change ' || array_to_string(risky.types, ', ');
            p.risk := risky.risk;
            p.lock_mode := 'ACCESS EXCLUSIVE';
            p.server := 'stock';
            EXECUTE 'SELECT a.* FROM compact_types.advise_table($1, $3, narrow => true, sample_pages => $2) a'
                INTO v USING rel::regclass, sample_pages, coalesce(risky.names, '{}');
            p.statement := v.statement;
            p.undo := v.undo;
            SELECT sum(m.bytes_after), bool_and(m.known) INTO index_bytes, known
            FROM dense_internal.index_models(rel, rows, risky.sizes) m;
            p.bytes_now := b.total;
            p.bytes_after := dense_internal.heap_file_bytes(v.heap_pages_after) + b.toast
                + coalesce(index_bytes, 0);
            p.confidence := CASE WHEN known IS FALSE THEN 'low' WHEN pages <= sample_pages
                THEN 'high' ELSE 'medium' END;
            p.seconds := took * pages / greatest(least(pages, sample_pages), 1) / 2
                + (p.bytes_after - coalesce(index_bytes, 0)) / heap_rate + coalesce(index_bytes,
                    0) / index_rate;
            p.reason := format('with the columns that have a risk, a row takes %s bytes of the table instead of %s',
                round(v.row_bytes_after::numeric, 1), round(v.row_bytes_now::numeric, 1));
            took := took + extract(epoch FROM clock_timestamp() - started);
            -- alignment can make all of them worthless
            IF risky.risk IS NOT NULL AND p.bytes_after < p.bytes_now THEN
                RETURN NEXT p;
            END IF;
        END IF;
        IF r.blocked_names IS NOT NULL THEN
            p := none;
            p.kind := 'blocked';
            p.proposal := 'compact_types ' || name;
            p.relation := rel;
            p.feature := 'compact_types';
            p.columns := r.blocked_names;
            p.action := 'change ' || array_to_string(r.blocked_types, ', ');
            p.bytes_now := b.total;
            p.server := 'stock';
            p.reason := 'an object of the database prevents it';
            p.blockers := dense_internal.distinct_elements(r.blockers);
            RETURN NEXT p;
        END IF;
        IF r.missing IS NOT NULL THEN
            p := none;
            p.kind := 'skipped';
            p.relation := rel;
            p.feature := 'compact_types';
            p.reason := r.missing;
            RETURN NEXT p;
        END IF;
    END IF;

    --
    -- TOAST.  advise() proposes what costs least to read and write, which need not be smaller.  It
    -- measures each column with large values, so that many columns get a smaller sample each.
    --
    IF class.relkind IN ('r', 'm') AND class.relam = 2 AND b.toast > 8 * block
        AND b.toast > 0.02 * b.heap
        AND dense_internal.is_trusted('toast_policy', 'advise') THEN
        names := '{}';
        statements := '{}';
        undos := '{}';
        reasons := '{}';
        risk := NULL;
        saved := 0;
        largest := NULL;
        spare := NULL;
        recompress := format('; SELECT toast_policy.recompress(%L)', name);
        FOR v IN EXECUTE 'SELECT a.* FROM toast_policy.advise($1, NULL, $2) WITH ORDINALITY a
                WHERE a.statement IS NOT NULL ORDER BY a.level_after NULLS FIRST, a.ordinality'
            USING rel::regclass, least(toast_pages, greatest(20, 4 * toast_pages / (
                SELECT greatest(count(*), 1) FROM pg_attribute a WHERE a.attrelid = rel
                    AND a.attnum > 0 AND NOT a.attisdropped AND a.attlen = -1
                    AND a.attstorage <> 'p')))::int4
        LOOP
            CONTINUE WHEN EXISTS (SELECT FROM unnest(sizes) z JOIN pg_attribute a
                ON a.attrelid = rel AND a.attnum = z.attnum
                WHERE a.attname = v.column_name AND z.new_length > 0);
            IF v.strategy_after = 'toast_policy' THEN
                names := names || v.column_name;
                statements := statements || v.statement;
                undos := undos || v.undo;
                reasons := reasons || format('%I: %s', v.column_name, v.reason);
                risk := coalesce(risk, v.risk);
                saved := saved + v.bytes_now - v.bytes_after;
                largest := greatest(largest, v.bytes_now - v.bytes_after);
                IF cardinality(names) = 2
                    AND dense_internal.is_trusted('toast_policy', 'compare') THEN
                    spare := dense_internal.toast_spare(rel, v, toast_pages);
                END IF;
            ELSE
                -- apply() does not do this, so that it has no name
                p := none;
                p.kind := 'option';
                p.relation := rel;
                p.feature := 'toast_policy';
                p.columns := ARRAY[v.column_name];
                p.action := CASE WHEN v.strategy_after IN ('ztext', 'zbytea')
                    THEN format('change %I to %s(%s)', v.column_name, v.strategy_after,
                        v.codec_after)
                    ELSE format('store %I as %s', v.column_name, concat_ws(' ',
                        upper(v.strategy_after), nullif(v.codec_after, 'none'))) END;
                p.bytes_now := b.total;
                p.bytes_after := greatest(b.total - v.bytes_now + v.bytes_after, 0);
                p.confidence := 'medium';
                p.risk := v.risk;
                p.lock_mode := 'ACCESS EXCLUSIVE';
                p.seconds := heap / heap_rate + (b.total - b.heap) / index_rate;
                p.server := 'stock';
                p.reason := v.reason;
                p.statement := v.statement;
                p.undo := v.undo;
                RETURN NEXT p;
            END IF;
        END LOOP;
        IF cardinality(names) > 0 THEN
            -- The free space that any rewrite returns is part of the saving of each column.  Count
            -- it once, and not again after a proposal for types, which counts that of the heap.
            IF cardinality(names) > 1 THEN
                saved := coalesce(saved - (cardinality(names) - 1) * spare, largest);
            END IF;
            IF converts THEN
                saved := saved - greatest(t.heap_pages - t.heap_pages_now, 0) * block + unused;
            ELSE
                saved := saved + dense_internal.index_spare(rel, rows);
            END IF;
            p := none;
            p.kind := 'proposal';
            p.proposal := 'toast_policy ' || name;
            p.relation := rel;
            p.feature := 'toast_policy';
            p.columns := names;
            p.action := 'compress ' || (SELECT string_agg(format('%I', n), ', ')
                FROM unnest(names) n) || ' only where it saves chunks';
            p.bytes_now := total;
            total := greatest(total - saved, 0);
            rebuilt := true;
            p.bytes_after := total;
            p.confidence := 'medium';
            p.risk := risk;
            p.lock_mode := 'ACCESS EXCLUSIVE';
            p.server := 'stock';
            p.seconds := heap / heap_rate + greatest(total - heap, 0) / index_rate;
            p.reason := array_to_string(reasons, '; ');
            -- rewrite the table once, after the last column
            p.statement := (SELECT string_agg(CASE
                    WHEN x.ord < cardinality(statements) AND right(x.s, length(recompress)) = recompress
                    THEN left(x.s, - length(recompress)) ELSE x.s END, '; ' ORDER BY x.ord)
                FROM unnest(statements) WITH ORDINALITY x (s, ord));
            p.undo := array_to_string(undos, '; ');
            RETURN NEXT p;
        END IF;
    END IF;

    --
    -- Splits, or values out of line, if the advisor finds that enough.  They make the table larger;
    -- their gain is what statements write and read.
    --
    IF class.relkind = 'r' AND class.relpersistence <> 't' AND b.heap >= 8388608
        AND dense_internal.is_trusted('vertical_partition', 'advise') THEN
        EXECUTE 'SELECT a.* FROM vertical_partition.advise($1) a' INTO v USING rel::regclass;
        IF v.columns IS NOT NULL THEN
            p := none;
            outside := v.method = 'out_of_line';
            p.kind := CASE WHEN v.updates > 0 THEN 'proposal' ELSE 'option' END;
            p.proposal := CASE WHEN outside THEN 'toast_policy_out_of_line '
                ELSE 'vertical_partition ' END || name;
            p.relation := rel;
            p.feature := CASE WHEN outside THEN 'toast_policy' ELSE 'vertical_partition' END;
            p.columns := v.columns;
            p.action := 'move ' || (SELECT string_agg(format('%I', n), ', ')
                FROM unnest(v.columns) n)
                || CASE WHEN outside THEN ' out of line' ELSE ' to a cold part, by ' || v.method END;
            -- One row of dense.applied stands for the access method of a table.  And the values were
            -- measured with the present types.
            IF outside AND (class.relam <> 2 OR cardinality(names) > 0 OR EXISTS (
                    SELECT FROM unnest(sizes) z JOIN pg_attribute a ON a.attrelid = rel
                        AND a.attnum = z.attnum WHERE a.attname = ANY (v.columns))) THEN
                p.kind := 'option';
                p.proposal := NULL;
                v.reason := v.reason || CASE WHEN class.relam = 2
                    THEN '; ask again after the proposals for this table' ELSE '' END;
            END IF;
            p.bytes_now := CASE WHEN p.kind = 'proposal' THEN total ELSE b.total END;
            -- header and key once more, and the index of the cold part; an earlier proposal has
            -- already returned the free space that advise() counts, and that of the indexes
            p.bytes_after := CASE WHEN NOT rebuilt
                    THEN p.bytes_now + v.bytes_after - v.bytes_now
                        - dense_internal.index_spare(rel, rows)
                -- and the unused end of the file
                WHEN outside THEN p.bytes_now + v.bytes_after - v.bytes_now
                    + b.heap - v.hot_bytes_now
                    - unused
                ELSE p.bytes_now + coalesce(rows, 0) * greatest(v.hot_row_bytes
                + v.cold_row_bytes - v.row_bytes_now, 0)
                + CASE v.method WHEN 'row_pointer' THEN 0
                    WHEN 'surrogate_key' THEN coalesce(rows, 0) * 22
                    ELSE coalesce((SELECT m.bytes_after FROM dense_internal.index_models(rel, rows,
                        sizes) m
                        JOIN pg_index d ON d.indexrelid = m.index AND d.indisprimary), 0) END END;
            p.confidence := CASE WHEN v.updates > 0 THEN 'medium' ELSE 'low' END;
            p.risk := CASE WHEN outside
                THEN 'modules that accept only tables of heap refuse the table'
                ELSE 'the table becomes a view; sessions must preload the library' END;
            p.lock_mode := 'ACCESS EXCLUSIVE';
            p.server := 'stock';
            p.seconds := CASE WHEN outside THEN 1 ELSE 2 END * (heap + b.toast) / heap_rate
                + (b.total - b.heap - b.toast) / index_rate;
            p.reason := format('an update writes %s bytes instead of %s, and the hot rows take %s %% of the memory; %s',
                round(v.written_split::numeric), round(v.written_now::numeric),
                    round(100 * v.hot_share::numeric), v.reason);
            p.statement := v.statement;
            p.undo := v.undo;
            p.blockers := coalesce(v.blockers, '{}');
            BEGIN
                IF NOT outside THEN
                    EXECUTE 'SELECT vertical_partition_internal.check_preload($1, false)'
                        USING name;
                END IF;
            EXCEPTION WHEN object_not_in_prerequisite_state OR feature_not_supported THEN
                p.blockers := p.blockers
                    || 'new sessions of the database do not load the library, see session_preload_libraries'::text;
            END;
            IF p.kind = 'proposal' AND cardinality(p.blockers) > 0 THEN
                p.kind := 'blocked';
            ELSIF p.kind = 'proposal' THEN
                total := p.bytes_after;
                rebuilt := true;
            END IF;
            RETURN NEXT p;
        END IF;
    END IF;

    --
    -- Indexes
    --
    IF rows IS NULL AND b.total - b.heap - b.toast > 5 * block THEN
        RETURN NEXT dense_internal.skipped(rel, 'index_align', b.total - b.heap - b.toast,
            'the table has no statistics', 'ANALYZE ' || name);
    ELSIF EXISTS (SELECT FROM jsonb_each_text(b.indexes) x WHERE x.value::bigint > 5 * block) THEN
        FOR i IN
            SELECT m.*, c.reloptions, c.relname, dense_internal.qualified_name(m.index) AS name,
                c.relpersistence <> 't' AND NOT x.indisexclusion AS concurrently
            FROM dense_internal.index_models(rel, rows, sizes) m JOIN pg_class c ON c.oid = m.index
                JOIN pg_index x ON x.indexrelid = m.index
            WHERE m.alignment < 8
                AND dense_internal.storage_parameter(c.reloptions, 'item_alignment') IS NULL
            ORDER BY c.relname
        LOOP
            bytes := CASE WHEN rebuilt THEN i.bytes_after ELSE i.bytes_now END;
            CONTINUE WHEN bytes <= 5 * block OR i.bytes_aligned > 0.98 * bytes
                OR i.bytes_aligned > 0.98 * i.bytes_after;
            p := none;
            p.blockers := '{}';
            IF NOT is_patched THEN
                p.blockers := ARRAY['the server is not patched'];
            ELSIF dense_internal.is_trusted('index_align', 'item_alignment')
                AND dense_internal.is_trusted('index_align', 'advise') THEN
                EXECUTE 'SELECT index_align.item_alignment($1)' INTO aligned
                    USING i.index::regclass;
                CONTINUE WHEN aligned < 8;
                -- advise() knows the present types only, and proposes nothing where they prevent it
                EXECUTE 'SELECT a.* FROM index_align.advise($1) a' INTO v USING i.index::regclass;
                p.blockers := coalesce(v.blockers, '{}');
                p.statement := v.statement;
                p.undo := v.undo;
            END IF;
            p.kind := CASE WHEN is_patched AND cardinality(p.blockers) > 0 THEN 'blocked'
                ELSE 'proposal' END;
            p.proposal := 'index_align ' || i.name;
            p.relation := i.index;
            p.feature := 'index_align';
            p.action := format('align the entries to %s bytes', i.alignment);
            p.bytes_now := bytes;
            p.bytes_after := i.bytes_aligned;
            p.confidence := CASE WHEN i.known THEN 'high' ELSE 'medium' END;
            p.risk := 'a stock server cannot read the index until it is rebuilt';
            p.lock_mode := 'SHARE';
            p.seconds := bytes / index_rate;
            p.server := 'patched';
            p.reason := 'entries are rounded up to 8 bytes'
                || CASE WHEN NOT rebuilt AND i.bytes_after < 0.9 * i.bytes_now
                    THEN format('; %s of the saving are free space, which any rebuild returns',
                        pg_size_pretty(i.bytes_now - i.bytes_after))
                    ELSE '' END;
            IF p.statement IS NULL THEN
                p.statement := format('ALTER INDEX %1$s SET (item_alignment = auto); REINDEX INDEX %2$s%1$s',
                    i.name, CASE WHEN i.concurrently THEN 'CONCURRENTLY ' ELSE '' END);
                p.undo := format('ALTER INDEX %1$s SET (item_alignment = max); REINDEX INDEX %2$s%1$s; ALTER INDEX %1$s RESET (item_alignment)',
                    i.name, CASE WHEN i.concurrently THEN 'CONCURRENTLY ' ELSE '' END);
            END IF;
            RETURN NEXT p;
        END LOOP;
    END IF;
END
$$;

-- The elements of arrays that are printed one after the other, each once.
CREATE FUNCTION dense_internal.distinct_elements(arrays text[])
RETURNS text[] LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(array_agg(DISTINCT x.e ORDER BY x.e), '{}')
    FROM unnest(arrays) a (a), unnest(a.a::text[]) x (e)
$$;

--
-- The report
--

CREATE FUNCTION dense_internal.skipped(relation oid, feature text, bytes bigint, reason text,
    statement text DEFAULT NULL)
RETURNS dense_internal.proposal LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ROW('skipped', NULL, relation, feature, NULL, NULL, bytes, NULL, NULL, NULL, NULL, NULL,
        NULL,
        reason, NULL, statement, NULL)::dense_internal.proposal
$$;

-- Return a number and its noun, as in "1 table" and "2 tables".
CREATE FUNCTION dense_internal.counted(number bigint, noun text)
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
RETURN format('%s %s%s', number, noun, CASE number WHEN 1 THEN '' ELSE 's' END);

-- Divide the tables of the report by what can be done with them: "status" is null for those that
-- are looked at.
CREATE FUNCTION dense_internal.tables(wanted oid, OUT relid oid, OUT bytes bigint, OUT status text)
RETURNS SETOF record LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH indexes AS MATERIALIZED (
        SELECT i.indrelid, sum(dense_internal.file_bytes(i.indexrelid)) AS bytes
            FROM pg_index i GROUP BY i.indrelid)
    SELECT c.oid, (coalesce(dense_internal.file_bytes(c.oid), 0) + coalesce(x.bytes, 0)
            + CASE WHEN c.reltoastrelid <> 0
                THEN coalesce(dense_internal.file_bytes(c.reltoastrelid), 0) ELSE 0 END
            + coalesce(t.bytes, 0))::bigint,
        CASE WHEN c.relkind = 'f' THEN 'foreign'
            WHEN pg_is_other_temp_schema(c.relnamespace) THEN 'temporary'
            WHEN NOT has_schema_privilege(c.relnamespace, 'USAGE') THEN 'denied'
            WHEN NOT has_table_privilege(c.oid, 'SELECT') AND (
                    SELECT bool_and(has_column_privilege(c.oid, a.attnum, 'SELECT')) IS NOT TRUE
                    FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
                        AND NOT a.attisdropped)
                THEN CASE WHEN has_any_column_privilege(c.oid, 'SELECT') THEN 'denied in part'
                    ELSE 'denied' END
            WHEN row_security_active(c.oid) THEN 'row security'
            WHEN c.relpersistence = 'u' AND pg_is_in_recovery() THEN 'unlogged' END
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN indexes x ON x.indrelid = c.oid
        LEFT JOIN indexes t ON t.indrelid = c.reltoastrelid AND c.reltoastrelid <> 0
    WHERE c.relkind IN ('r', 'm', 'f') AND c.oid >= 16384 AND n.nspname <> 'information_schema'
        AND (wanted IS NULL OR c.oid = wanted OR c.oid IN (SELECT p.relid
            FROM pg_partition_tree(wanted) p))
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
            AND d.objid = c.oid AND d.deptype = 'e')
$$;

CREATE FUNCTION dense_internal.report(budget_seconds int4, wanted oid, min_bytes bigint,
    with_risk boolean)
RETURNS SETOF dense_internal.proposal LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
-- try_lock() does not wait.  This is for what advisors lock besides, for example a view on a table.
SET lock_timeout = '1s'
AS $$
DECLARE
    began constant timestamptz := clock_timestamp();
    noticed timestamptz := began;
    block constant int4 := current_setting('block_size')::int4;
    is_patched constant boolean := dense_internal.is_patched();
    f record;
    g record;
    p dense_internal.proposal;
    found dense_internal.proposal[];
    none constant dense_internal.proposal := NULL;
    relids oid[];
    sizes bigint[];
    statuses text[];
    total bigint := 0;
    done bigint := 0;
    looked_at bigint := 0;          -- bytes of the tables that could be looked at
    looked int4 := 0;               -- how many they are
    elapsed float8;
    share float8;
    rate float8 := 3000;            -- pages that compact_types reads in a second, measured below
    pages float8;
    before timestamptz;
    state text;
    message text;
    locked boolean;
    proposals int4 := 0;            -- those for this server
    here bigint := 0;               -- bytes that they save
    others int4 := 0;               -- those for a patched server, if this one is not
    elsewhere bigint := 0;          -- bytes that they save
    seconds float8 := 0;
BEGIN
    -- what is not installed
    FOR f IN SELECT * FROM dense_internal.features() WHERE NOT usable LOOP
        RETURN NEXT dense_internal.skipped(NULL, f.feature, NULL,
            CASE WHEN EXISTS (SELECT FROM pg_extension e WHERE e.extname = f.feature)
                THEN format('functions of the schema %I belong to another role than a superuser, or to no extension', f.feature)
            WHEN f.available THEN format('extension %I is not installed in this database',
                f.feature)
            ELSE format('extension %I is not available on this server', f.feature) END,
            CASE WHEN f.available THEN format('CREATE EXTENSION %I', f.feature) END);
    END LOOP;

    -- the tables, largest first
    SELECT array_agg(t.relid ORDER BY t.bytes DESC, t.relid), array_agg(t.bytes
        ORDER BY t.bytes DESC, t.relid),
        array_agg(CASE WHEN t.status IS NULL AND t.bytes < min_bytes AND wanted IS NULL
            THEN 'small' ELSE t.status END
            ORDER BY t.bytes DESC, t.relid)
    INTO relids, sizes, statuses
    FROM dense_internal.tables(wanted) t;
    FOR g IN
        SELECT t.status, count(*) AS tables, sum(t.bytes)::bigint AS bytes, (array_agg(t.relid
            ORDER BY t.bytes DESC))[1] AS largest
        FROM unnest(relids, sizes, statuses) t (relid, bytes, status) WHERE t.status IS NOT NULL
        GROUP BY t.status ORDER BY t.status
    LOOP
        RETURN NEXT dense_internal.skipped(CASE WHEN g.tables = 1 THEN g.largest END, NULL, g.bytes,
            format(CASE g.status
                WHEN 'small' THEN '%s smaller than min_bytes, %s'
                WHEN 'denied' THEN '%s that you may not read'
                WHEN 'denied in part' THEN '%s of which you may read some columns only'
                WHEN 'row security' THEN '%s whose rows row-level security hides from you'
                WHEN 'foreign' THEN '%s whose rows are not stored here: foreign tables'
                WHEN 'temporary' THEN '%s of other sessions: temporary tables'
                WHEN 'unlogged' THEN '%s without rows on a standby: unlogged tables' END,
                dense_internal.counted(g.tables, 'table'), min_bytes));
    END LOOP;
    SELECT array_agg(t.relid ORDER BY t.ord), array_agg(t.bytes ORDER BY t.ord),
        coalesce(sum(t.bytes), 0)::bigint
    INTO relids, sizes, total
    FROM unnest(relids, sizes, statuses) WITH ORDINALITY t (relid, bytes, status, ord)
        WHERE t.status IS NULL;

    FOR n IN 1 .. coalesce(cardinality(relids), 0) LOOP
        elapsed := extract(epoch FROM clock_timestamp() - began);
        IF elapsed >= budget_seconds THEN
            RETURN NEXT dense_internal.skipped(NULL, NULL, total - done,
                format('budget_seconds are used up before %s of %s', cardinality(relids) - n + 1,
                    dense_internal.counted(cardinality(relids), 'table')));
            EXIT;
        END IF;
        IF clock_timestamp() - noticed > interval '5 seconds' THEN
            RAISE NOTICE 'examined % of % and % of %', n - 1,
                dense_internal.counted(cardinality(relids), 'table'), pg_size_pretty(done),
                pg_size_pretty(total);
            noticed := clock_timestamp();
        END IF;
        PERFORM dense_internal.set_progress(relids[n], n - 1, cardinality(relids), done, total);
        -- two functions read the sample, and a third call may follow
        share := (budget_seconds - elapsed) * sizes[n] / greatest(total - done, 1);
        pages := least(greatest(share * rate, 100), 10000);
        before := clock_timestamp();

        -- The subtransaction never commits: that releases the locks, of which there is no room for
        -- thousands, and makes sure that nothing is written.
        found := '{}';
        BEGIN
            locked := dense_internal.try_lock(relids[n]);
            IF locked THEN
                found := ARRAY(SELECT x FROM dense_internal.propose(relids[n], pages::int4,
                    least(greatest(share * 300, 50), 1000)::int4, with_risk) x);
                looked_at := looked_at + sizes[n];
                looked := looked + 1;
            ELSIF locked IS NULL THEN
                found := ARRAY[dense_internal.skipped(relids[n], NULL, sizes[n],
                    'the table was dropped meanwhile')];
            ELSE
                found := ARRAY[dense_internal.skipped(relids[n], NULL, sizes[n],
                    'another session has locked the table or an index of it')];
            END IF;
            RAISE EXCEPTION 'rolls back' USING ERRCODE = 'PD000';
        EXCEPTION
            WHEN SQLSTATE 'PD000' THEN
                NULL;
            WHEN OTHERS THEN
                GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
                IF left(state, 2) IN ('53', '57', '58') AND state <> '58P01' THEN
                    RAISE;
                END IF;
                found := ARRAY[dense_internal.skipped(relids[n], NULL, sizes[n],
                    CASE WHEN state = '42P01' THEN 'the table was dropped meanwhile'
                        WHEN state = '55P03' THEN 'another session has locked the table or an index of it'
                        ELSE message END)];
        END;
        elapsed := extract(epoch FROM clock_timestamp() - before);
        share := least(pages, sizes[n] / block);
        IF share >= 100 AND elapsed > 0.01 THEN
            rate := (rate + share / elapsed) / 2;
        END IF;
        FOREACH p IN ARRAY found LOOP
            IF p.kind = 'proposal' THEN
                IF p.server = 'stock' OR is_patched THEN
                    proposals := proposals + 1;
                    here := here + p.bytes_now - p.bytes_after;
                    seconds := seconds + coalesce(p.seconds, 0);
                ELSE
                    others := others + 1;
                    elsewhere := elsewhere + p.bytes_now - p.bytes_after;
                END IF;
            END IF;
            RETURN NEXT p;
        END LOOP;
        done := done + sizes[n];
    END LOOP;
    PERFORM dense_internal.set_progress(NULL, 0, 0, 0, 0);

    p := none;
    p.kind := 'total';
    p.server := 'stock';
    p.action := 'all proposals';
    IF is_patched THEN
        p.server := 'patched';
    END IF;
    p.bytes_now := looked_at;
    p.bytes_after := looked_at - here;
    p.seconds := seconds;
    p.reason := format('%s for %s; %s examined', dense_internal.counted(proposals, 'proposal'),
        current_database(),
        dense_internal.counted(looked, 'table') || CASE looked WHEN 1 THEN ' was' ELSE ' were' END);
    RETURN NEXT p;
    IF elsewhere > 0 THEN
        p.server := 'patched';
        p.bytes_after := looked_at - here - elsewhere;
        p.seconds := NULL;
        p.reason := format('with %s more that %s the patched server',
            dense_internal.counted(others, 'proposal'), CASE others WHEN 1 THEN 'needs' ELSE 'need' END);
        RETURN NEXT p;
    END IF;
END
$$;

-- An SQL function, because in PL/pgSQL an argument and a column of the result cannot both have
-- the name "relation".
CREATE FUNCTION dense.report(budget_seconds int4 DEFAULT 60, relation regclass DEFAULT NULL,
    min_bytes bigint DEFAULT 1048576, with_risk boolean DEFAULT false)
RETURNS TABLE (kind text, proposal text, relation regclass, feature text, action text,
    columns name[],
    bytes_now bigint, bytes_after bigint, percent numeric, confidence text, risk text,
        lock_mode text,
    seconds numeric, server text, reason text, blockers text[], statement text, undo text)
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT p.kind, p.proposal, p.relation, p.feature, p.action, p.columns, p.bytes_now,
        p.bytes_after,
        round(100 * (p.bytes_now - p.bytes_after)::numeric / nullif(p.bytes_now, 0), 1),
            p.confidence, p.risk,
        p.lock_mode, round(p.seconds::numeric, 1), p.server, p.reason, nullif(p.blockers, '{}'),
        CASE WHEN coalesce(cardinality(p.blockers), 0) = 0 THEN p.statement END,
        CASE WHEN coalesce(cardinality(p.blockers), 0) = 0 THEN p.undo END
    FROM dense_internal.report(dense_internal.check_arguments($1, $2, $3, $4), $2, $3, $4) p
$$;
COMMENT ON FUNCTION dense.report(int4, regclass, bigint, boolean) IS
'proposals of the features of pg_dense for this database, a row for each, and the total saving';

--
-- What was applied
--

-- A reference to a relation, which follows a rename: pg_dense_reference.c
CREATE TYPE dense_internal.relation_reference;
CREATE FUNCTION dense_internal.relation_reference_in(cstring) RETURNS dense_internal.relation_reference
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pg_dense_reference_in';
CREATE FUNCTION dense_internal.relation_reference_out(dense_internal.relation_reference) RETURNS cstring
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pg_dense_reference_out';
CREATE TYPE dense_internal.relation_reference (
    INPUT = dense_internal.relation_reference_in, OUTPUT = dense_internal.relation_reference_out,
    INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = plain);
CREATE FUNCTION dense_internal.reference(rel oid) RETURNS dense_internal.relation_reference
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pg_dense_reference';
CREATE FUNCTION dense_internal.pending(reference dense_internal.relation_reference)
RETURNS dense_internal.relation_reference
LANGUAGE C VOLATILE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pg_dense_pending';
CREATE FUNCTION dense_internal.referenced(reference dense_internal.relation_reference) RETURNS oid
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pg_dense_referenced';

-- The rows hold facts and no statements: undo() derives what it does from them, and a superuser who
-- calls it runs no text of another role.  A row says nothing about a relation of another role: the
-- trigger sees to it.  So every role may write rows, as it has to for apply() and to restore a dump.
CREATE SEQUENCE dense.applied_id;
COMMENT ON SEQUENCE dense.applied_id IS 'numbers of the rows of dense.applied';
CREATE TABLE dense.applied (
    id bigint PRIMARY KEY,
    applied_at timestamptz NOT NULL,
    applied_by name NOT NULL,
    feature text NOT NULL CHECK (feature IN ('compact_types', 'toast_policy', 'vertical_partition',
        'index_align')),
    relation dense_internal.relation_reference NOT NULL,
    columns name[] NOT NULL,
    old_types text[] NOT NULL,
    new_types text[] NOT NULL,
    old_storage "char"[] NOT NULL,
    old_compression "char"[] NOT NULL,
    bytes_before bigint NOT NULL,
    bytes_after bigint NOT NULL,
    -- Name the schema, because these functions and the operator have arguments of type anyarray.  A
    -- function for the very type, in the schema that CREATE EXTENSION names, would be preferred.
    CHECK (pg_catalog.cardinality(old_types) IN (0, pg_catalog.cardinality(columns))
        AND pg_catalog.cardinality(new_types) = pg_catalog.cardinality(old_types)),
    CHECK (pg_catalog.cardinality(old_storage) IN (0, pg_catalog.cardinality(columns))
        AND pg_catalog.cardinality(old_compression) = pg_catalog.cardinality(old_storage)),
    CHECK (old_storage OPERATOR(pg_catalog.<@) '{p,e,x,m}'::"char"[]
        AND old_compression OPERATOR(pg_catalog.<@) '{p,l,""}'::"char"[]));
COMMENT ON TABLE dense.applied IS 'changes that apply() has made, for undo() and status';
GRANT SELECT, INSERT, DELETE ON dense.applied TO PUBLIC;
GRANT SELECT, USAGE ON SEQUENCE dense.applied_id TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('dense.applied', 'WHERE relation::text <> ''-''');

-- Return true if the current role has the privileges of the owner of the relation.
CREATE FUNCTION dense_internal.owns(rel oid)
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT coalesce((SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c WHERE c.oid = rel),
    false) $$;

-- Leave out rows on relations of other roles, as in the restore of a dump, and keep others from
-- deleting the rows of the owner.  A restore creates indexes after the rows that name them.
CREATE FUNCTION dense_internal.guard_applied()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    is_superuser constant boolean := (SELECT r.rolsuper FROM pg_roles r
        WHERE r.rolname = current_user);
    rel oid;
BEGIN
    IF TG_OP = 'DELETE' THEN
        rel := dense_internal.referenced(OLD.relation);
        IF is_superuser OR rel IS NULL OR dense_internal.owns(rel) THEN
            RETURN OLD;
        END IF;
        RETURN NULL;
    END IF;
    rel := dense_internal.referenced(NEW.relation);
    IF NOT is_superuser AND (rel IS NOT NULL AND NOT dense_internal.owns(rel)
        OR rel IS NULL AND NEW.relation::text = '-') THEN
        RETURN NULL;
    END IF;
    -- a later relation of that name must not get the row, unless its author may own it
    IF rel IS NOT NULL THEN
        NEW.relation := dense_internal.reference(rel);
    ELSIF NOT is_superuser THEN
        NEW.relation := dense_internal.pending(NEW.relation);
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION dense_internal.guard_applied() FROM PUBLIC;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON dense.applied
FOR EACH ROW EXECUTE FUNCTION dense_internal.guard_applied();
ALTER TABLE dense.applied ENABLE ALWAYS TRIGGER guard;

-- Return the next number for a row of dense.applied.  A dump does not set the sequence, because
-- ordinary roles could not restore that.  So leave out the numbers of restored rows.
CREATE FUNCTION dense_internal.next_number()
RETURNS bigint LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n bigint;
BEGIN
    LOOP
        n := nextval('dense.applied_id');
        IF NOT EXISTS (SELECT FROM dense.applied a WHERE a.id = n) THEN
            RETURN n;
        END IF;
    END LOOP;
END
$$;

-- Lock dense.applied before a relation is locked.  Every role can lock it, and nobody shall wait for
-- that while others wait for the relation.  Later functions have the same limit.
CREATE FUNCTION dense_internal.lock_notes()
RETURNS void LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '10s'
AS $$
BEGIN
    LOCK TABLE dense.applied IN ROW EXCLUSIVE MODE;
END
$$;

-- Note what is about to be done to a relation.
CREATE FUNCTION dense_internal.remember(feature text, rel oid, columns name[], before bigint)
RETURNS bigint LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '10s'
AS $$
    INSERT INTO dense.applied
    SELECT dense_internal.next_number(), now(), current_user, feature,
        dense_internal.reference(rel), coalesce(columns, '{}'),
        coalesce(array_agg(format_type(a.atttypid, a.atttypmod) ORDER BY c.ord)
            FILTER (WHERE feature = 'compact_types'), '{}'),
        coalesce(array_agg(''::text ORDER BY c.ord) FILTER (WHERE feature = 'compact_types'), '{}'),
        coalesce(array_agg(a.attstorage ORDER BY c.ord) FILTER (WHERE feature IN ('compact_types',
            'toast_policy')), '{}'),
        coalesce(array_agg(a.attcompression ORDER BY c.ord)
            FILTER (WHERE feature IN ('compact_types', 'toast_policy')), '{}'),
        before, before
    FROM unnest(columns) WITH ORDINALITY c (name, ord)
        JOIN pg_attribute a ON a.attrelid = rel AND a.attname = c.name AND a.attnum > 0
            AND NOT a.attisdropped
    RETURNING id
$$;

-- Replace a row of dense.applied: nobody has the privilege to update it.
CREATE FUNCTION dense_internal.change_note(which bigint, rel oid, after bigint,
    types text[] DEFAULT NULL)
RETURNS void LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '10s'
AS $$
    WITH was AS (DELETE FROM dense.applied a WHERE a.id = which RETURNING *)
    INSERT INTO dense.applied
    SELECT w.id, w.applied_at, w.applied_by, w.feature, dense_internal.reference(rel), w.columns,
        w.old_types,
        coalesce(types, w.new_types), w.old_storage, w.old_compression, w.bytes_before,
            coalesce(after, w.bytes_after)
    FROM was w
$$;

-- Delete a row of dense.applied.
CREATE FUNCTION dense_internal.forget(which bigint)
RETURNS void LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '10s'
AS $$ DELETE FROM dense.applied a WHERE a.id = which $$;

-- The rows of dense.applied on a table and its indexes, with the names of the indexes.  A split or
-- a merge makes new relations, and a change of types new indexes.
CREATE FUNCTION dense_internal.notes_of(rel oid, OUT id bigint, OUT index text)
RETURNS SETOF record LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT a.id, CASE WHEN r.oid <> rel THEN dense_internal.qualified_name(r.oid) END
    FROM dense.applied a, LATERAL (SELECT dense_internal.referenced(a.relation)) r (oid)
    WHERE r.oid IN (SELECT rel UNION ALL
        SELECT i.indexrelid FROM pg_index i WHERE i.indrelid = rel
            OR i.indrelid IN (SELECT x FROM dense_internal.parts(rel) x))
$$;

-- The parts of a split view.
CREATE FUNCTION dense_internal.parts(view oid)
RETURNS SETOF oid LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF dense_internal.is_trusted('vertical_partition_internal', 'layout', 'vertical_partition') THEN
        RETURN QUERY EXECUTE 'SELECT u FROM vertical_partition_internal.layout($1) l,
            LATERAL unnest(ARRAY[l.hot::oid, l.cold::oid]) u
                WHERE l.hot IS NOT NULL' USING view::regclass;
    END IF;
END
$$;

-- Give the notes to the relations that have taken the place of others.
CREATE FUNCTION dense_internal.move_notes(ids bigint[], indexes text[], rel oid)
RETURNS void LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT dense_internal.change_note(n.id, CASE WHEN n.index IS NULL THEN rel
        ELSE to_regclass(n.index) END, NULL)
    FROM unnest(ids, indexes) n (id, index) WHERE n.index IS NULL
        OR to_regclass(n.index) IS NOT NULL
$$;

-- Raise an error unless the functions belong to the extension and to a superuser.
CREATE FUNCTION dense_internal.check_trusted(extension name, VARIADIC functions name[])
RETURNS void LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension e WHERE e.extname = extension) THEN
        PERFORM dense_internal.refuse('42704', format('extension "%s" does not exist', extension),
            hint => format('CREATE EXTENSION %I creates it.', extension));
    ELSIF EXISTS (SELECT FROM unnest(functions) f WHERE NOT dense_internal.is_trusted(extension,
        f)) THEN
        PERFORM dense_internal.refuse('55000',
            format('functions of extension "%s" do not belong to a superuser', extension));
    END IF;
END
$$;

CREATE FUNCTION dense_internal.check_owner(rel oid)
RETURNS void LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT dense_internal.owns(rel) THEN
        PERFORM dense_internal.refuse('42501', format('must be owner of relation %s',
            dense_internal.qualified_name(rel)));
    END IF;
END
$$;

-- Raise an error if apply() or undo() cannot commit.
CREATE FUNCTION dense_internal.check_top_level(procedure text)
RETURNS void LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF pg_is_in_recovery() THEN
        PERFORM dense_internal.refuse('25006', format('cannot execute %s() during recovery',
            procedure), hint => 'Call it on the primary.');
    ELSIF dense_internal.in_transaction_block() THEN
        PERFORM dense_internal.refuse('25001', format('%s() cannot run inside a transaction block',
            procedure), 'Each step runs in a transaction of its own.');
    END IF;
END
$$;

-- Look up the proposals, and return them in the order in which they run.  Refuse all if one cannot
-- be run.
CREATE FUNCTION dense_internal.choose(keys text[])
RETURNS dense_internal.proposal[] LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    their_names constant text := 'The column "proposal" of dense.report() has their names.';
    key text;
    rel oid;
    t record;
    p dense_internal.proposal;
    blocked dense_internal.proposal;
    result dense_internal.proposal[] := '{}';
    keys_of jsonb := '{}';
BEGIN
    IF coalesce(cardinality(keys), 0) = 0 THEN
        PERFORM dense_internal.refuse('22023', 'no proposal was given', hint => their_names);
    END IF;
    FOREACH key IN ARRAY keys LOOP
        IF key IS NULL THEN
            PERFORM dense_internal.refuse('22004', 'the name of a proposal must not be null');
        END IF;
        BEGIN
            rel := to_regclass(substr(key, strpos(key, ' ') + 1));
        EXCEPTION WHEN syntax_error OR invalid_name THEN
            rel := NULL;
        END;
        IF rel IS NULL OR strpos(key, ' ') = 0 THEN
            PERFORM dense_internal.refuse('42704', format('proposal "%s" does not exist', key),
                hint => their_names);
        END IF;
        PERFORM dense_internal.check_owner(rel);
        rel := coalesce((SELECT i.indrelid FROM pg_index i WHERE i.indexrelid = rel), rel);
        PERFORM dense_internal.check_owner(rel);
        keys_of := keys_of || jsonb_build_object(rel::text, coalesce(keys_of -> rel::text, '[]')
            || to_jsonb(key));
    END LOOP;
    FOR t IN SELECT j.key::oid AS rel,
        ARRAY(SELECT DISTINCT jsonb_array_elements_text(j.value)) AS keys
        FROM jsonb_each(keys_of) j ORDER BY j.key::oid LOOP
        IF EXISTS (SELECT FROM unnest(t.keys) k WHERE k LIKE 'compact\_types %')
            AND EXISTS (SELECT FROM unnest(t.keys) k
                WHERE k LIKE 'compact\_types\_with\_risk %') THEN
            PERFORM dense_internal.refuse('22023',
                format('proposals "compact_types" and "compact_types_with_risk" for table %s exclude each other', t.rel::regclass),
                'The latter contains the former.');
        END IF;
        FOR p IN SELECT * FROM dense_internal.propose(t.rel, 10000, 1000,
                EXISTS (SELECT FROM unnest(t.keys) k
                    WHERE k LIKE 'compact\_types\_with\_risk %')) LOOP
            -- some columns of a table can be blocked, and others not
            IF p.proposal = ANY (t.keys) AND p.kind IN ('proposal', 'option')
                AND coalesce(cardinality(p.blockers), 0) = 0 THEN
                t.keys := array_remove(t.keys, p.proposal);
                result := result || p;
            ELSIF p.proposal = ANY (t.keys) AND cardinality(p.blockers) > 0 THEN
                blocked := p;
            END IF;
        END LOOP;
        IF blocked.proposal = ANY (t.keys) THEN
            PERFORM dense_internal.refuse('55000', format('cannot apply proposal "%s"',
                blocked.proposal), (SELECT string_agg(upper(left(b, 1)) || substr(b, 2) || '.', ' ')
                FROM unnest(blocked.blockers) b));
        END IF;
        IF cardinality(t.keys) > 0 THEN
            PERFORM dense_internal.refuse('42704', format('proposal "%s" does not exist',
                t.keys[1]), 'dense.apply() takes a new sample of the table, which gives no such proposal.',
                their_names);
        END IF;
    END LOOP;
    RETURN ARRAY(SELECT result[n] FROM generate_subscripts(result, 1) n
        ORDER BY array_position('{compact_types,toast_policy,vertical_partition,index_align}',
            (result[n]).feature), n);
END
$$;

-- Run one proposal, and note it.  Return the later proposals, with the new OIDs of indexes that this
-- one has made again.
CREATE FUNCTION dense_internal.run(p dense_internal.proposal,
    INOUT later dense_internal.proposal[] DEFAULT '{}')
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    rel oid := p.relation;
    name constant text := substr(p.proposal, strpos(p.proposal, ' ') + 1);
    prefix constant text := format('SELECT vertical_partition.split(%L', name);
    note bigint;
    bytes bigint;
    after bigint;
    ids bigint[];
    indexes text[];
    had oid[];
    had_names text[];
    level text;
BEGIN
    PERFORM dense_internal.lock_notes();
    -- split() takes locks in an order of its own.  It gets the OID, and checks the name as well.
    IF (CASE WHEN p.feature = 'vertical_partition' THEN dense_internal.qualified_name(rel)
            ELSE dense_internal.lock_owned(rel) END) IS DISTINCT FROM name THEN
        PERFORM dense_internal.refuse('55000', format('relation %s was changed by another session',
            name));
    END IF;
    PERFORM dense_internal.check_owner(rel);
    bytes := CASE WHEN p.feature = 'index_align' THEN dense_internal.file_bytes(rel)
        ELSE (dense_internal.table_bytes(rel)).total END;
    note := dense_internal.remember(p.feature, rel, p.columns, bytes);
    SELECT coalesce(array_agg(n.id), '{}'), coalesce(array_agg(n.index), '{}') INTO ids, indexes
    FROM dense_internal.notes_of(rel) n;
    SELECT array_agg(i.indexrelid), array_agg(dense_internal.qualified_name(i.indexrelid))
    INTO had, had_names FROM pg_index i WHERE i.indrelid = rel;
    CASE p.feature
        WHEN 'compact_types' THEN
            PERFORM dense_internal.check_trusted('compact_types', 'convert');
            EXECUTE p.statement;
        WHEN 'toast_policy' THEN
            PERFORM dense_internal.check_trusted('toast_policy', 'enable', 'enable_out_of_line',
                'recompress');
            level := current_setting('toast_policy.lz4_level', true);
            EXECUTE p.statement;
            -- the statement may have set it for the session
            IF level IS DISTINCT FROM current_setting('toast_policy.lz4_level', true) THEN
                PERFORM set_config('toast_policy.lz4_level', level, false);
            END IF;
        WHEN 'vertical_partition' THEN
            PERFORM dense_internal.check_trusted('vertical_partition', 'split');
            IF left(p.statement, length(prefix)) <> prefix THEN
                RAISE EXCEPTION 'unexpected statement: %', p.statement;
            END IF;
            EXECUTE 'SELECT vertical_partition.split($1' || substr(p.statement, length(prefix) + 1)
                INTO rel USING rel::regclass;
        WHEN 'index_align' THEN
            EXECUTE format('ALTER INDEX %s SET (item_alignment = auto)', name);
            EXECUTE format('REINDEX INDEX %s', name);
    END CASE;
    -- the locks prevent this, but for another name of the schema
    IF dense_internal.qualified_name(rel) IS DISTINCT FROM name THEN
        PERFORM dense_internal.refuse('55000', format('relation %s was changed by another session',
            name));
    END IF;
    IF p.feature IN ('compact_types', 'vertical_partition') THEN
        PERFORM dense_internal.move_notes(ids, indexes, rel);
        FOR n IN 1 .. cardinality(later) LOOP
            IF later[n].relation::oid = ANY (had) THEN
                later[n].relation := to_regclass(had_names[array_position(had,
                    later[n].relation::oid)]);
            END IF;
        END LOOP;
    END IF;
    after := CASE p.feature WHEN 'index_align' THEN dense_internal.file_bytes(rel)
        WHEN 'vertical_partition' THEN (SELECT sum((dense_internal.table_bytes(x)).total)
            FROM dense_internal.parts(rel) x)
        ELSE (dense_internal.table_bytes(rel)).total END;
    PERFORM dense_internal.change_note(note, rel, after, CASE WHEN p.feature = 'compact_types'
        THEN ARRAY(
        SELECT format_type(a.atttypid, a.atttypmod) FROM unnest(p.columns) WITH ORDINALITY c (name,
            ord)
            JOIN pg_attribute a ON a.attrelid = rel AND a.attname = c.name ORDER BY c.ord) END);
    RAISE NOTICE '%: % before, % after', p.proposal, pg_size_pretty(bytes), pg_size_pretty(after);
END
$$;

CREATE PROCEDURE dense.apply(VARIADIC proposals text[])
LANGUAGE plpgsql
AS $$
-- A procedure that commits can have no SET clause.  So nothing here is looked up by the search path.
DECLARE
    steps dense_internal.proposal[];
BEGIN
    PERFORM dense_internal.check_top_level('apply');
    COMMIT;
    steps := dense_internal.choose(proposals);
    COMMIT;
    FOR n IN 1 .. pg_catalog.cardinality(steps) LOOP
        steps := dense_internal.run(steps[n], steps);
        COMMIT;
    END LOOP;
END
$$;
COMMENT ON PROCEDURE dense.apply(text[]) IS
'carry out proposals of report(), each in a transaction of its own';

--
-- The way back
--

-- Choose the rows of dense.applied that are taken back, newest first.
CREATE FUNCTION dense_internal.choose_undo(ids bigint[])
RETURNS bigint[] LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    r record;
    chosen bigint[];
BEGIN
    PERFORM dense_internal.lock_notes();
    FOR r IN SELECT i.id, a.id IS NOT NULL AS found, dense_internal.referenced(a.relation) AS rel
        FROM unnest(ids) i (id) LEFT JOIN dense.applied a ON a.id = i.id LOOP
        IF NOT r.found THEN
            PERFORM dense_internal.refuse('42704', format('there is no row %s in dense.applied',
                r.id));
        ELSIF r.rel IS NOT NULL THEN
            PERFORM dense_internal.check_owner(r.rel);
        END IF;
    END LOOP;
    chosen := ARRAY(SELECT a.id FROM dense.applied a,
        LATERAL (SELECT dense_internal.referenced(a.relation)) x (rel)
        WHERE CASE WHEN ids IS NOT NULL THEN a.id = ANY (ids) ELSE x.rel IS NOT NULL
            AND dense_internal.owns(x.rel) END
        ORDER BY a.id DESC);
    IF chosen = '{}' THEN
        RAISE NOTICE 'dense.applied has no row of a relation that you own, there is nothing to take back';
    END IF;
    RETURN chosen;
END
$$;

-- Return true if the table has the storage parameter toast_tuple_target.
CREATE FUNCTION dense_internal.has_toast_target(rel oid)
RETURNS boolean LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT dense_internal.storage_parameter(c.reloptions, 'toast_tuple_target') IS NOT NULL
    FROM pg_class c WHERE c.oid = rel
$$;

-- Take back one row of dense.applied.  Its texts are compared, and are parsed as names of types by
-- compact_types; none becomes part of a statement.
CREATE FUNCTION dense_internal.undo_one(which bigint)
RETURNS void LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    a dense.applied;
    rel oid;
    name text;
    table_oid oid;
    columns name[];
    ids bigint[];
    indexes text[];
    outside boolean := false;       -- were values of small rows out of line?
    c record;
BEGIN
    PERFORM dense_internal.lock_notes();
    LOOP
        SELECT * INTO a FROM dense.applied x WHERE x.id = which;
        IF NOT FOUND THEN
            RETURN;                     -- another session was faster
        END IF;
        rel := dense_internal.referenced(a.relation);
        -- merge() takes locks in an order of its own, and gets the OID
        name := CASE WHEN a.feature = 'vertical_partition' THEN dense_internal.qualified_name(rel)
            ELSE dense_internal.lock_owned(rel) END;
        -- Another session may have given the row to a new relation while this one waited.
        EXIT WHEN rel IS NOT DISTINCT FROM (SELECT dense_internal.referenced(x.relation)
            FROM dense.applied x WHERE x.id = which);
    END LOOP;
    IF name IS NULL THEN
        RAISE NOTICE 'deleting row % of dense.applied, which names a relation that does not exist',
            which;
        PERFORM dense_internal.forget(which);
        RETURN;
    END IF;
    PERFORM dense_internal.check_owner(rel);
    IF NOT EXISTS (SELECT FROM dense.applied x WHERE x.id = which) THEN
        RETURN;                         -- likewise, while this one waited for the lock
    END IF;
    SELECT coalesce(array_agg(n.id), '{}'), coalesce(array_agg(n.index), '{}') INTO ids, indexes
    FROM dense_internal.notes_of(rel) n WHERE n.id <> which;
    CASE a.feature
        WHEN 'compact_types' THEN
            PERFORM dense_internal.check_trusted('compact_types', 'revert', 'column_reference',
                'referenced_table', 'referenced_attnum');
            SELECT array_agg(t.attname ORDER BY x.ord) INTO columns
            FROM unnest(a.columns, a.new_types) WITH ORDINALITY x (name, type, ord)
                JOIN pg_attribute t ON t.attrelid = rel AND t.attname = x.name AND t.attnum > 0
                    AND NOT t.attisdropped
                    AND format_type(t.atttypid, t.atttypmod) = x.type;
            FOR c IN SELECT x.name FROM unnest(a.columns) x (name)
                WHERE x.name <> ALL (coalesce(columns, '{}')) LOOP
                RAISE NOTICE 'column "%" of table % has another type than apply() gave it, skipping it', c.name, name;
            END LOOP;
            IF columns IS NOT NULL THEN
                -- a split has made new columns, which have no notes of compact_types
                EXECUTE $q$
                    INSERT INTO compact_types.conversions (converted, old_type, old_storage,
                        old_compression, new_type, new_typmod)
                    SELECT compact_types.column_reference(t.attrelid, t.attnum), x.type, x.storage,
                        x.compression, y.typname, t.atttypmod
                    FROM unnest($2, $3, $4, $5) x (name, type, storage, compression)
                        JOIN pg_attribute t ON t.attrelid = $1 AND t.attname = x.name
                            JOIN pg_type y ON y.oid = t.atttypid
                    WHERE x.name = ANY ($6) AND NOT EXISTS (SELECT FROM compact_types.conversions v
                        WHERE compact_types.referenced_table(v.converted) = t.attrelid
                            AND compact_types.referenced_attnum(v.converted) = t.attnum) $q$
                    USING rel, a.columns, a.old_types, a.old_storage, a.old_compression, columns;
                EXECUTE 'SELECT count(*) FROM compact_types.revert($1, $2)' USING rel::regclass,
                    columns;
                PERFORM dense_internal.move_notes(ids, indexes, rel);
            END IF;
        WHEN 'toast_policy' THEN
            IF EXISTS (SELECT FROM pg_class k JOIN pg_am m ON m.oid = k.relam WHERE k.oid = rel
                AND m.amname = 'toast_policy') THEN
                PERFORM dense_internal.check_trusted('toast_policy', 'disable', 'recompress');
                outside := dense_internal.has_toast_target(rel);
                EXECUTE 'SELECT toast_policy.disable($1)' USING rel::regclass;
                -- disable() resets the limit of enable_out_of_line(), and leaves the values where
                -- they are
                outside := outside AND NOT dense_internal.has_toast_target(rel);
            END IF;
            FOR c IN SELECT t.attname, x.storage, x.compression, t.attstorage, t.attcompression
                FROM unnest(a.columns, a.old_storage, a.old_compression) x (name, storage,
                    compression)
                    JOIN pg_attribute t ON t.attrelid = rel AND t.attname = x.name AND t.attnum > 0
                        AND NOT t.attisdropped
                WHERE t.attlen = -1 LOOP
                IF c.attstorage <> c.storage THEN
                    EXECUTE format('ALTER TABLE ONLY %s ALTER %I SET STORAGE %s', name, c.attname,
                        CASE c.storage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL'
                            WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END);
                END IF;
                IF c.attcompression <> c.compression THEN
                    EXECUTE format('ALTER TABLE ONLY %s ALTER %I SET COMPRESSION %s', name, c.attname,
                        CASE c.compression WHEN 'p' THEN 'pglz' WHEN 'l' THEN 'lz4'
                            ELSE 'default' END);
                END IF;
            END LOOP;
            IF outside THEN
                EXECUTE 'SELECT toast_policy.recompress($1)' USING rel::regclass;
            END IF;
        WHEN 'vertical_partition' THEN
            PERFORM dense_internal.check_trusted('vertical_partition', 'merge');
            IF EXISTS (SELECT FROM dense_internal.parts(rel)) THEN
                EXECUTE 'SELECT vertical_partition.merge($1)' INTO table_oid USING rel::regclass;
                PERFORM dense_internal.move_notes(ids, indexes, table_oid);
            ELSE
                RAISE NOTICE 'relation % is not split', name;
            END IF;
        WHEN 'index_align' THEN
            EXECUTE format('ALTER INDEX %s RESET (item_alignment)', name);
            IF dense_internal.is_patched() THEN
                PERFORM set_config('default_index_item_alignment', 'max', true);
                EXECUTE format('REINDEX INDEX %s', name);
            END IF;
    END CASE;
    -- the locks prevent this, but for another name of the schema
    IF dense_internal.qualified_name(coalesce(table_oid, rel)) IS DISTINCT FROM name THEN
        PERFORM dense_internal.refuse('55000', format('relation %s was changed by another session',
            name));
    END IF;
    PERFORM dense_internal.forget(which);
    RAISE NOTICE '% of relation % was taken back', a.feature, name;
END
$$;

-- Take back one row, and return its error as a warning.  A row that fails, perhaps because of its
-- owner, must not keep the others.
CREATE FUNCTION dense_internal.try_undo(which bigint)
RETURNS boolean LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    state text;
    message text;
    detail text;
BEGIN
    PERFORM dense_internal.undo_one(which);
    RETURN true;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
        detail = PG_EXCEPTION_DETAIL;
    IF left(state, 2) IN ('53', '57', '58') THEN
        RAISE;
    END IF;
    RAISE WARNING 'could not take back row % of dense.applied: %', which, message
        USING ERRCODE = state, DETAIL = detail;
    RETURN false;
END
$$;

CREATE FUNCTION dense_internal.report_failures(failures int4)
RETURNS void LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF failures > 0 THEN
        PERFORM dense_internal.refuse('55000',
            format('could not take back %s of the rows of dense.applied', failures),
            hint => 'The warnings above tell why.');
    END IF;
END
$$;

-- Without numbers, ids is null.  An empty array takes nothing back.
CREATE PROCEDURE dense.undo(VARIADIC ids bigint[] DEFAULT NULL)
LANGUAGE plpgsql
AS $$
-- As in apply(), nothing here is looked up by the search path.
DECLARE
    chosen bigint[];
    id bigint;
    done boolean;
    failed bigint[] := '{}';
BEGIN
    PERFORM dense_internal.check_top_level('undo');
    COMMIT;
    chosen := dense_internal.choose_undo(ids);
    COMMIT;
    FOREACH id IN ARRAY chosen LOOP
        done := dense_internal.try_undo(id);
        COMMIT;
        CONTINUE WHEN done;
        failed := pg_catalog.array_append(failed, id);
    END LOOP;
    PERFORM dense_internal.report_failures(pg_catalog.cardinality(failed));
END
$$;
COMMENT ON PROCEDURE dense.undo(bigint[]) IS
'take back changes of apply(), newest first: all changes of relations that you own, or the rows of dense.applied with these numbers';

--
-- What is in place
--

-- Ask about split views and indexes without waiting for locks: each of them could be locked by its
-- owner, and this is for everybody.
CREATE FUNCTION dense_internal.in_place(OUT feature text, OUT relation oid, OUT columns name[],
    OUT bytes bigint, OUT reason text)
RETURNS SETOF record LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v record;
    parts oid[] := '{}';
    views oid[] := '{}';
BEGIN
    IF dense_internal.is_trusted('vertical_partition_internal', 'layout', 'vertical_partition') THEN
        -- anybody can create a view of any tables that looks like a split view, and such a trigger
        FOR v IN
            SELECT c.oid AS view, l.* FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid,
                LATERAL dense_internal.split_parts(c.oid) l
            WHERE t.tgname = 'vertical_partition_write' AND c.relkind = 'v'
                AND EXISTS (SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
                    WHERE d.classid = 'pg_proc'::regclass AND d.objid = t.tgfoid
                        AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
                        AND e.extname = 'vertical_partition')
                AND (l.locked OR 2 = (SELECT count(*) FROM pg_class p
                    WHERE p.oid IN (l.hot, l.cold) AND p.relowner = c.relowner))
        LOOP
            feature := 'vertical_partition';
            relation := v.view;
            columns := v.cold_columns;
            bytes := (dense_internal.table_bytes(v.hot)).total
                + (dense_internal.table_bytes(v.cold)).total;
            reason := CASE WHEN v.locked THEN 'another session has locked the view' END;
            RETURN NEXT;
            IF NOT v.locked THEN
                parts := parts || v.hot || v.cold;
                views := views || v.view || v.view;
            END IF;
        END LOOP;
    END IF;
    -- columns whose type has its input function in the extension's schema; those of the parts of a
    -- split view are the view's
    RETURN QUERY
    SELECT x.feature, x.view, array_agg(x.attname ORDER BY x.relid, x.attnum),
        (SELECT sum((dense_internal.table_bytes(y)).total)::bigint
            FROM unnest(array_agg(DISTINCT x.relid)) y), NULL::text
    FROM (
        SELECT n.nspname::text AS feature, c.oid AS relid, coalesce(views[array_position(parts,
            c.oid)], c.oid) AS view, a.attname, a.attnum
        FROM pg_namespace n JOIN pg_proc p ON p.pronamespace = n.oid JOIN pg_type t
            ON t.typinput = p.oid
            JOIN pg_attribute a ON a.atttypid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
            JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'm', 'p')
            JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
                AND d.deptype = 'e'
        WHERE n.nspname IN ('compact_types', 'toast_policy')
            AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = 'pg_class'::regclass
                AND e.objid = c.oid AND e.deptype = 'e')) x
    GROUP BY x.feature, x.view;
    RETURN QUERY
    SELECT 'toast_policy'::text, c.oid, array_agg(a.attname ORDER BY a.attnum),
        (dense_internal.table_bytes(c.oid)).total, NULL::text
    FROM pg_am m JOIN pg_class c ON c.relam = m.oid JOIN pg_attribute a ON a.attrelid = c.oid
        AND a.attnum > 0
        AND NOT a.attisdropped AND a.attstorage = 'e'
    WHERE m.amname = 'toast_policy' AND c.relkind IN ('r', 'm') GROUP BY c.oid;
    IF dense_internal.is_patched() AND dense_internal.is_trusted('index_align',
        'item_alignment') THEN
        RETURN QUERY
        SELECT 'index_align'::text, c.oid, NULL::name[], dense_internal.file_bytes(c.oid),
            NULL::text
        FROM pg_class c
        WHERE c.relkind = 'i' AND c.relam = 403 AND c.oid >= 16384
            AND c.relnamespace <> 'pg_toast'::regnamespace
            AND NOT pg_is_other_temp_schema(c.relnamespace)
            AND (dense_internal.item_alignment(c.oid) < 8
                OR lower(dense_internal.storage_parameter(c.reloptions, 'item_alignment'))
                    = 'auto');
    ELSE
        RETURN QUERY
        SELECT 'index_align'::text, c.oid, NULL::name[], dense_internal.file_bytes(c.oid),
            NULL::text
        FROM pg_class c
        WHERE c.relkind = 'i' AND lower(dense_internal.storage_parameter(c.reloptions,
            'item_alignment')) = 'auto';
    END IF;
END
$$;

CREATE VIEW dense.status AS
SELECT s.relation::pg_catalog.regclass AS relation, s.columns, s.feature, a.id, a.applied_at,
    a.applied_by, s.bytes AS bytes_now,
    CASE WHEN a.bytes_after OPERATOR(pg_catalog.>) 0 THEN
        -- the numbers of a row are those that a role has written
        LEAST(GREATEST(s.bytes::pg_catalog.float8 OPERATOR(pg_catalog.*)
         (a.bytes_before::pg_catalog.float8 OPERATOR(pg_catalog./) a.bytes_after::pg_catalog.float8
          OPERATOR(pg_catalog.-) 1::pg_catalog.float8), -9e18), 9e18)::pg_catalog.int8 END AS bytes_saved,
    COALESCE(s.reason, CASE WHEN a.id IS NULL
        THEN 'apply() did not make this change, so the size before is not known' END) AS reason
FROM dense_internal.in_place() s
    LEFT JOIN dense.applied a ON a.feature OPERATOR(pg_catalog.=) s.feature
        AND dense_internal.referenced(a.relation) OPERATOR(pg_catalog.=) s.relation;
GRANT SELECT ON dense.status TO PUBLIC;
COMMENT ON VIEW dense.status IS 'the features that are in place, and the bytes that they save now';
COMMENT ON COLUMN dense.status.relation IS 'the table, index or split view';
COMMENT ON COLUMN dense.status.columns IS 'columns that the feature has changed: columns of compact types, governed columns, or cold columns';
COMMENT ON COLUMN dense.status.feature IS 'the feature';
COMMENT ON COLUMN dense.status.id IS 'number of the change, for undo(); null if apply() did not make the change';
COMMENT ON COLUMN dense.status.applied_at IS 'time when apply() made the change';
COMMENT ON COLUMN dense.status.applied_by IS 'role that called apply()';
COMMENT ON COLUMN dense.status.bytes_now IS 'bytes of the relation, with TOAST and indexes';
COMMENT ON COLUMN dense.status.bytes_saved IS
'estimate of the saved bytes, by the sizes before and after apply(); negative if the relation is larger';
COMMENT ON COLUMN dense.status.reason IS 'why bytes_saved is null';
