/* index_align/index_align--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION index_align" to load this file. \quit

CREATE SCHEMA index_align;
COMMENT ON SCHEMA index_align IS 'the alignment of B-tree indexes, advice about it, and the way back';
GRANT USAGE ON SCHEMA index_align TO public;

--
-- Functions and a view that show the alignment
--
CREATE FUNCTION index_align.item_alignment(relation regclass)
RETURNS int
AS 'MODULE_PATHNAME', 'ia_item_alignment'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

CREATE FUNCTION index_align.auto_alignment(relation regclass)
RETURNS int
AS 'MODULE_PATHNAME', 'ia_auto_alignment'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE FUNCTION index_align.index_layout(OUT indexrelid oid, OUT item_alignment int,
	OUT storage_parameter text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ia_index_layout'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

CREATE FUNCTION index_align.estimated_ratio(relation regclass, alignment int, pages bigint,
	tuples float8)
RETURNS float8
AS 'MODULE_PATHNAME', 'ia_estimated_ratio'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE VIEW index_align.status AS
SELECT i.indrelid::pg_catalog.regclass AS relation, l.indexrelid::pg_catalog.regclass AS index,
	l.item_alignment, l.storage_parameter,
	CASE c.relkind WHEN 'i' THEN pg_catalog.pg_relation_size(c.oid) END AS bytes_now,
	(SELECT k.conname FROM pg_catalog.pg_constraint k
	 WHERE k.conindid OPERATOR(pg_catalog.=) c.oid AND k.conrelid OPERATOR(pg_catalog.=) i.indrelid
		AND k.contype OPERATOR(pg_catalog.=) ANY ('{p,u,x}'::pg_catalog."char"[])) AS constraint_name,
	i.indisvalid AS is_valid
FROM index_align.index_layout() l
	JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) l.indexrelid
	JOIN pg_catalog.pg_index i ON i.indexrelid OPERATOR(pg_catalog.=) l.indexrelid;
GRANT SELECT ON index_align.status TO public;

CREATE FUNCTION index_align.advise(relation regclass DEFAULT NULL, concurrently boolean DEFAULT true,
	OUT relation regclass, OUT index regclass, OUT alignment int, OUT bytes_now bigint,
	OUT bytes_after bigint, OUT reason text, OUT blockers text[], OUT statement text, OUT undo text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ia_advise'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION index_align.item_alignment(regclass) IS
	'bytes that the tuples of a B-tree index are aligned to: 8 as on a stock server, 4 or 2';
COMMENT ON FUNCTION index_align.auto_alignment(regclass) IS
	'bytes that item_alignment = auto aligns the tuples of a B-tree index to';
COMMENT ON FUNCTION index_align.index_layout() IS
	'alignment of the B-tree indexes of this database, for the view index_align.status';
COMMENT ON FUNCTION index_align.estimated_ratio(regclass, int, bigint, float8) IS
	'estimated size of an index at an alignment, as part of its size at maximal alignment';
COMMENT ON VIEW index_align.status IS
	'the B-tree indexes of this database that a stock server could not read, or could not restore from a dump';
COMMENT ON FUNCTION index_align.advise(regclass, boolean) IS
	'the B-tree indexes that item_alignment = auto would make smaller: those of a table, one index, or all of the database';

COMMENT ON COLUMN index_align.status.relation IS 'the table of the index';
COMMENT ON COLUMN index_align.status.index IS 'the index';
COMMENT ON COLUMN index_align.status.item_alignment IS
	'bytes that its tuples are aligned to; null if this session cannot read the index';
COMMENT ON COLUMN index_align.status.storage_parameter IS
	'its storage parameter item_alignment; null if it is not set';
COMMENT ON COLUMN index_align.status.bytes_now IS 'bytes of the index; null if it is partitioned';
COMMENT ON COLUMN index_align.status.constraint_name IS 'the constraint that the index belongs to';
COMMENT ON COLUMN index_align.status.is_valid IS 'whether queries may use the index';

--
-- The way back
--
CREATE FUNCTION index_align.reset_item_alignment(relation regclass)
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
	'remove the storage parameter item_alignment of a partitioned index';
COMMENT ON PROCEDURE index_align.restore_stock(regclass, boolean) IS
	'give indexes back the layout of a stock server: those of a table, one index, or all of the database';
COMMENT ON FUNCTION index_align.restore_stock_commands(regclass, boolean) IS
	'the commands that restore_stock() would run, for \gexec of psql';
