/* row_heat/row_heat--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION row_heat" to load this file. \quit

CREATE SCHEMA row_heat;
COMMENT ON SCHEMA row_heat IS 'functions that show which rows are hot, and store them together';
GRANT USAGE ON SCHEMA row_heat TO public;

CREATE SCHEMA row_heat_internal;
COMMENT ON SCHEMA row_heat_internal IS 'what the functions of row_heat call';
GRANT USAGE ON SCHEMA row_heat_internal TO public;

CREATE FUNCTION row_heat_internal.relations(of_table regclass,
	OUT relation regclass, OUT accesses bigint, OUT rows bigint, OUT pages bigint,
	OUT share_1 float8, OUT share_5 float8, OUT share_10 float8, OUT share_30 float8,
	OUT hot_share float8, OUT hot_pages bigint, OUT packed_pages bigint, OUT gain boolean)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'rh_relations'
LANGUAGE C VOLATILE;

CREATE FUNCTION row_heat_internal.rank(relation oid, VARIADIC key "any")
RETURNS smallint
AS 'MODULE_PATHNAME', 'rh_rank'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION row_heat_internal.refresh_places(relation regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'rh_refresh_places'
LANGUAGE C VOLATILE STRICT;

CREATE FUNCTION row_heat_internal.key_columns(relation regclass)
RETURNS smallint[]
AS 'MODULE_PATHNAME', 'rh_key_columns'
LANGUAGE C VOLATILE STRICT;

CREATE FUNCTION row_heat.reset()
RETURNS void
AS 'MODULE_PATHNAME', 'rh_reset'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION row_heat.reset() FROM public;

CREATE VIEW row_heat.relations AS
	SELECT * FROM row_heat_internal.relations(NULL);

COMMENT ON VIEW row_heat.relations IS
	'distribution of the recorded accesses to the rows of each table';
GRANT SELECT ON row_heat.relations TO public;
COMMENT ON COLUMN row_heat.relations.relation IS 'table or partition';
COMMENT ON COLUMN row_heat.relations.accesses IS 'recorded accesses to its rows, decayed';
COMMENT ON COLUMN row_heat.relations.rows IS 'estimated number of rows';
COMMENT ON COLUMN row_heat.relations.pages IS 'pages of the table';
COMMENT ON COLUMN row_heat.relations.share_1 IS 'share of the accesses of the hottest 1 % of the rows';
COMMENT ON COLUMN row_heat.relations.share_5 IS 'share of the accesses of the hottest 5 % of the rows';
COMMENT ON COLUMN row_heat.relations.share_10 IS 'share of the accesses of the hottest 10 % of the rows';
COMMENT ON COLUMN row_heat.relations.share_30 IS 'share of the accesses of the hottest 30 % of the rows';
COMMENT ON COLUMN row_heat.relations.hot_share IS 'share of the accesses that the hot rows take: the one of 50 to 90 % that saves most pages';
COMMENT ON COLUMN row_heat.relations.hot_pages IS 'pages that take the hot share of the accesses now';
COMMENT ON COLUMN row_heat.relations.packed_pages IS 'pages that the hot rows would fill';
COMMENT ON COLUMN row_heat.relations.gain IS 'whether it pays to store the hot rows together';

-- For the table, or for each table with recorded accesses that the user may
-- read, say how much memory its hot rows take now and would take together, how
-- certain this is, and which statement moves them.  The statement is null if
-- there is too little to gain.  Sizes are in bytes.
CREATE FUNCTION row_heat.advise(of_table regclass DEFAULT NULL,
	OUT relation regclass, OUT hot_bytes_now bigint, OUT hot_bytes_after bigint,
	OUT certainty text, OUT reason text, OUT risks text[], OUT statement text)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	t record;
	page bigint := current_setting('block_size');
	hot_rows float8;
	rows_in_page float8;
	neighbours CONSTANT integer := 1000;
BEGIN
	FOR t IN
		SELECT h.* FROM row_heat_internal.relations(of_table) h
		ORDER BY h.hot_pages - h.packed_pages DESC NULLS LAST, h.relation
	LOOP
		relation := t.relation;
		hot_bytes_now := t.hot_pages * page;
		hot_bytes_after := t.packed_pages * page;
		certainty := NULL;
		risks := NULL;
		statement := NULL;
		IF t.hot_pages IS NULL THEN
			reason := 'no heat is recorded: load row_heat, and run the application for a while';
			RETURN NEXT;
			CONTINUE;
		END IF;
		hot_rows := t.packed_pages::float8 / t.pages * t.rows;
		rows_in_page := t.rows::float8 / t.pages;
		-- From few accesses, the order of heat is a guess, and the gain looks too small.
		certainty := CASE WHEN t.accesses < 5 * hot_rows THEN 'low' ELSE 'high' END;
		reason := format('%s %% of %s recorded accesses go to %s of %s pages; their rows fit into %s',
			round(100 * t.hot_share), t.accesses, t.hot_pages, t.pages, t.packed_pages);
		IF NOT t.gain THEN
			reason := reason || ', which is too small a gain';
			IF certainty = 'low' THEN
				reason := reason || '; record for longer, because few accesses hide a gain';
			END IF;
		ELSE
			statement := format('CALL row_heat.pack(%L)', t.relation);
			SELECT array_agg(format('A scan of %s that returns %s neighbouring rows reads about %s pages instead of %s',
					i.indexrelid::regclass, neighbours, ceil(scan.after), ceil(scan.before))
				ORDER BY i.indexrelid::regclass::text)
			INTO risks
			FROM pg_index i
			JOIN pg_class c ON c.oid = i.indexrelid
			JOIN pg_am am ON am.oid = c.relam AND am.amname = 'btree'
			JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
			JOIN pg_class heap ON heap.oid = i.indrelid
			JOIN pg_namespace n ON n.oid = heap.relnamespace
			JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = heap.relname
				AND s.attname = a.attname AND NOT s.inherited,
			LATERAL (SELECT neighbours / rows_in_page AS before,
				least(neighbours * hot_rows / t.rows, t.packed_pages)
				+ neighbours * (1 - hot_rows / t.rows) / rows_in_page AS after) scan
			WHERE i.indrelid = t.relation AND i.indisvalid AND abs(s.correlation) > 0.9;
			IF pg_stat_get_tuples_updated(t.relation) > 0.1 * hot_rows AND NOT EXISTS (
				SELECT FROM pg_class c, pg_options_to_table(c.reloptions) o
				WHERE c.oid = t.relation AND o.option_name = 'fillfactor')
			THEN
				risks := risks || format('If the application updates these rows, an update moves a row out of a full page, so first: ALTER TABLE %s SET (fillfactor = 90)',
					t.relation);
			END IF;
		END IF;
		RETURN NEXT;
	END LOOP;
END $$;

-- Rewrite a table so that its hot rows come first.  Return true if the table
-- was rewritten.  Unless "force" is true, do not rewrite it if the hot rows
-- would not fill less than 80 % of the pages that they take now.
CREATE FUNCTION row_heat.cluster_by_heat(relation regclass, force boolean DEFAULT false)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	t record;
	heat record;
	key text;
	index_name text := 'row_heat_' || relation::oid;
	marked name;
BEGIN
	SELECT c.relkind, c.relpersistence, c.relowner INTO t FROM pg_class c WHERE c.oid = relation;
	IF NOT FOUND THEN
		RAISE undefined_table USING MESSAGE = format('relation with OID %s does not exist', relation::oid);
	END IF;
	IF NOT pg_has_role(current_user, t.relowner, 'USAGE') THEN
		RAISE insufficient_privilege USING MESSAGE = format('must be owner of table %s', relation);
	END IF;
	IF t.relkind <> 'r' OR t.relpersistence = 't' THEN
		RAISE wrong_object_type USING MESSAGE = format('%s is not a permanent table', relation);
	END IF;
	EXECUTE format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE', relation);

	-- While the statement waited for the lock, another table may have got the name.
	SELECT n.nspname, c.relname INTO t FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	JOIN pg_locks l ON l.relation = c.oid
	WHERE c.oid = cluster_by_heat.relation AND l.locktype = 'relation' AND l.pid = pg_backend_pid()
		AND l.mode = 'AccessExclusiveLock' AND l.granted
		AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database());
	IF NOT FOUND THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('table %s was changed by another session', relation);
	END IF;

	SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY k.position) INTO key
	FROM unnest(row_heat_internal.key_columns(relation)) WITH ORDINALITY k (attnum, position)
	JOIN pg_attribute a ON a.attrelid = relation AND a.attnum = k.attnum;
	IF key IS NULL THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('table %s has no primary key', relation),
			DETAIL = 'The heat of a row is recorded under its primary key.';
	END IF;

	SELECT * INTO heat FROM row_heat_internal.relations(relation);
	IF NOT FOUND OR heat.hot_pages IS NULL THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('no heat is recorded for table %s', relation),
			HINT = 'Load row_heat by session_preload_libraries, and run the application for a while.';
	END IF;
	IF NOT heat.gain AND NOT force THEN
		RAISE NOTICE 'table % is not rewritten, because its hot rows would hardly take fewer pages', relation
			USING DETAIL = format('%s %% of the accesses go to %s pages now, and to %s pages afterwards, as far as the %s recorded accesses show.',
				round(100 * heat.hot_share), heat.hot_pages, heat.packed_pages, heat.accesses);
		RETURN false;
	END IF;

	SELECT c.relname INTO marked FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
	WHERE i.indrelid = relation AND i.indisclustered;
	EXECUTE format('CREATE INDEX %I ON %s (row_heat_internal.rank(%s, %s), %s)',
		index_name, relation, relation::oid, key, key);
	EXECUTE format('CLUSTER %s USING %I', relation, index_name);
	EXECUTE format('DROP INDEX %I.%I', t.nspname, index_name);
	IF marked IS NOT NULL THEN
		EXECUTE format('ALTER TABLE %s CLUSTER ON %I', relation, marked);
	END IF;
	PERFORM row_heat_internal.refresh_places(relation);
	EXECUTE format('ANALYZE %s', relation);
	RETURN true;
END $$;

CREATE PROCEDURE row_heat.pack(relation regclass, rows_per_second integer DEFAULT 1000,
	max_rows bigint DEFAULT NULL, published boolean DEFAULT false,
	cached_only boolean DEFAULT false)
AS 'MODULE_PATHNAME', 'rh_pack'
LANGUAGE C;

COMMENT ON FUNCTION row_heat.advise(regclass) IS
	'say for which tables it pays to store hot rows together, and how';
COMMENT ON FUNCTION row_heat.reset() IS 'forget the heat of all rows, in all databases';
COMMENT ON FUNCTION row_heat.cluster_by_heat(regclass, boolean) IS
	'rewrite a table so that its hot rows come first, under an exclusive lock';
COMMENT ON PROCEDURE row_heat.pack(regclass, integer, bigint, boolean, boolean) IS
	'move hot rows of a table to pages of their own while the table is in use';
