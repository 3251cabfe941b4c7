/* index_align/index_align--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION index_align" to load this file. \quit

CREATE SCHEMA index_align;
COMMENT ON SCHEMA index_align IS 'views and functions about the alignment of B-tree indexes, and the way back';
GRANT USAGE ON SCHEMA index_align TO public;

--
-- Views and functions that show the alignment
--
CREATE FUNCTION index_align.item_alignment(index regclass)
RETURNS int
AS 'MODULE_PATHNAME', 'ia_item_alignment'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

CREATE FUNCTION index_align.auto_alignment(index regclass)
RETURNS int
AS 'MODULE_PATHNAME', 'ia_auto_alignment'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE FUNCTION index_align.index_layout(OUT indexrelid oid, OUT item_alignment int,
	OUT storage_parameter text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ia_index_layout'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

CREATE FUNCTION index_align.estimated_ratio(index regclass, alignment int, pages bigint, tuples float8)
RETURNS float8
AS 'MODULE_PATHNAME', 'ia_estimated_ratio'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE VIEW index_align.indexes AS
SELECT l.indexrelid::pg_catalog.regclass AS index, i.indrelid::pg_catalog.regclass AS table_name,
	l.item_alignment, l.storage_parameter,
	CASE c.relkind WHEN 'i' THEN pg_catalog.pg_relation_size(c.oid) END AS size,
	(SELECT k.conname FROM pg_catalog.pg_constraint k
	 WHERE k.conindid OPERATOR(pg_catalog.=) c.oid AND k.conrelid OPERATOR(pg_catalog.=) i.indrelid
		AND k.contype OPERATOR(pg_catalog.=) ANY ('{p,u,x}'::pg_catalog."char"[])) AS constraint_name,
	i.indisvalid AS is_valid
FROM index_align.index_layout() l
	JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) l.indexrelid
	JOIN pg_catalog.pg_index i ON i.indexrelid OPERATOR(pg_catalog.=) l.indexrelid;
GRANT SELECT ON index_align.indexes TO public;

CREATE VIEW index_align.candidates AS
SELECT s.index, s.table_name, s.auto_alignment, s.size,
	(s.size::pg_catalog.float8 OPERATOR(pg_catalog.*)
	 (1::pg_catalog.float8 OPERATOR(pg_catalog.-) s.ratio))::pg_catalog.int8 AS estimated_saving
FROM (
	SELECT c.oid::pg_catalog.regclass AS index, i.indrelid::pg_catalog.regclass AS table_name, a.auto_alignment,
		pg_catalog.pg_relation_size(c.oid) AS size,
		index_align.estimated_ratio(c.oid::pg_catalog.regclass, a.auto_alignment, c.relpages::pg_catalog.int8,
			c.reltuples::pg_catalog.float8) AS ratio
	FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_index i ON i.indexrelid OPERATOR(pg_catalog.=) c.oid
		JOIN pg_catalog.pg_am am ON am.oid OPERATOR(pg_catalog.=) c.relam,
		LATERAL (SELECT CASE WHEN am.amname OPERATOR(pg_catalog.=) 'btree'
			THEN index_align.auto_alignment(c.oid::pg_catalog.regclass) END) a (auto_alignment)
	WHERE c.relkind OPERATOR(pg_catalog.=) 'i'
		AND am.amname OPERATOR(pg_catalog.=) 'btree'
		AND NOT pg_catalog.pg_is_other_temp_schema(c.relnamespace)
		AND a.auto_alignment OPERATOR(pg_catalog.<) 8
		AND NOT EXISTS (SELECT FROM index_align.index_layout() l
			WHERE l.indexrelid OPERATOR(pg_catalog.=) c.oid AND COALESCE(l.item_alignment, 0) OPERATOR(pg_catalog.<) 8)
) s
WHERE s.ratio OPERATOR(pg_catalog.<) 1::pg_catalog.float8
	-- an index of up to five pages cannot become a page smaller
	AND s.size OPERATOR(pg_catalog.>)
		(5::pg_catalog.int8 OPERATOR(pg_catalog.*) pg_catalog.current_setting('block_size')::pg_catalog.int8);
GRANT SELECT ON index_align.candidates TO public;

COMMENT ON FUNCTION index_align.item_alignment(regclass) IS
	'bytes that the tuples of a B-tree index are aligned to: 8 as on a stock server, 4 or 2';
COMMENT ON FUNCTION index_align.auto_alignment(regclass) IS
	'bytes that item_alignment = auto aligns the tuples of a B-tree index to';
COMMENT ON FUNCTION index_align.index_layout() IS
	'what the view index_align.indexes reads from the indexes themselves';
COMMENT ON FUNCTION index_align.estimated_ratio(regclass, int, bigint, float8) IS
	'estimated size of an index at an alignment, as part of its size at maximal alignment';
COMMENT ON VIEW index_align.indexes IS
	'the B-tree indexes of this database that a stock server could not read, or could not restore from a dump';
COMMENT ON VIEW index_align.candidates IS
	'the B-tree indexes of this database that item_alignment = auto would make smaller, and by how many bytes';

COMMENT ON COLUMN index_align.indexes.index IS 'the index';
COMMENT ON COLUMN index_align.indexes.table_name IS 'the table of the index';
COMMENT ON COLUMN index_align.indexes.item_alignment IS
	'bytes that its tuples are aligned to; null if this session cannot tell';
COMMENT ON COLUMN index_align.indexes.storage_parameter IS
	'its storage parameter item_alignment; null if it is not set';
COMMENT ON COLUMN index_align.indexes.size IS 'bytes of the index; null if it is partitioned';
COMMENT ON COLUMN index_align.indexes.constraint_name IS 'the constraint that the index belongs to';
COMMENT ON COLUMN index_align.indexes.is_valid IS 'whether queries may use the index';

COMMENT ON COLUMN index_align.candidates.index IS 'the index';
COMMENT ON COLUMN index_align.candidates.table_name IS 'the table of the index';
COMMENT ON COLUMN index_align.candidates.auto_alignment IS
	'bytes that item_alignment = auto would align its tuples to';
COMMENT ON COLUMN index_align.candidates.size IS 'bytes of the index';
COMMENT ON COLUMN index_align.candidates.estimated_saving IS
	'estimated bytes by which the index would be smaller';

--
-- The way back
--
CREATE FUNCTION index_align.reset_item_alignment(index regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'ia_reset_item_alignment'
LANGUAGE C VOLATILE STRICT;

CREATE PROCEDURE index_align.restore_stock(relation regclass DEFAULT NULL, concurrently boolean DEFAULT true)
AS 'MODULE_PATHNAME', 'ia_restore_stock'
LANGUAGE C;

CREATE FUNCTION index_align.restore_stock_commands(relation regclass DEFAULT NULL, concurrently boolean DEFAULT true)
RETURNS SETOF text
AS 'MODULE_PATHNAME', 'ia_restore_stock_commands'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION index_align.reset_item_alignment(regclass) IS
	'take the storage parameter item_alignment of a partitioned index away';
COMMENT ON PROCEDURE index_align.restore_stock(regclass, boolean) IS
	'give indexes back the layout of a stock server: those of a table, one index, or all of the database';
COMMENT ON FUNCTION index_align.restore_stock_commands(regclass, boolean) IS
	'the commands that restore_stock() would run, for \gexec of psql';
