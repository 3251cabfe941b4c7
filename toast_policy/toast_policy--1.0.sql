/* toast_policy/toast_policy--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION toast_policy" to load this file. \quit

CREATE SCHEMA toast_policy;
GRANT USAGE ON SCHEMA toast_policy TO public;

--
-- The access method and what is done with its tables
--
CREATE FUNCTION toast_policy.handler(internal)
RETURNS table_am_handler
AS 'MODULE_PATHNAME', 'tp_handler'
LANGUAGE C STRICT;

CREATE ACCESS METHOD toast_policy TYPE TABLE HANDLER toast_policy.handler;
COMMENT ON ACCESS METHOD toast_policy IS 'heap with TOAST compression only where it pays';

CREATE FUNCTION toast_policy.enable(relation regclass, VARIADIC columns name[] DEFAULT '{}')
RETURNS void
AS 'MODULE_PATHNAME', 'tp_enable'
LANGUAGE C VOLATILE STRICT;

CREATE FUNCTION toast_policy.disable(relation regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'tp_disable'
LANGUAGE C VOLATILE STRICT;

CREATE FUNCTION toast_policy.disable_all()
RETURNS bigint
AS 'MODULE_PATHNAME', 'tp_disable_all'
LANGUAGE C VOLATILE STRICT;

CREATE FUNCTION toast_policy.recompress(relation regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'tp_recompress'
LANGUAGE C VOLATILE STRICT;

COMMENT ON FUNCTION toast_policy.enable(regclass, name[]) IS
	'let toast_policy decide about the compression of columns (default: all that are compressible)';
COMMENT ON FUNCTION toast_policy.disable(regclass) IS
	'give a table back to heap, and its columns their default storage';
COMMENT ON FUNCTION toast_policy.disable_all() IS
	'disable() for each table of the database; returns their number';
COMMENT ON FUNCTION toast_policy.recompress(regclass) IS
	'rewrite a table, and decide anew about each value; returns the number of rows';

-- DROP EXTENSION ... CASCADE would drop the tables.
CREATE FUNCTION toast_policy.guard_drop()
RETURNS event_trigger
AS 'MODULE_PATHNAME', 'tp_guard_drop'
LANGUAGE C;

CREATE EVENT TRIGGER toast_policy_guard ON ddl_command_start
WHEN TAG IN ('DROP EXTENSION', 'DROP ACCESS METHOD', 'DROP SCHEMA', 'DROP OWNED')
EXECUTE FUNCTION toast_policy.guard_drop();
ALTER EVENT TRIGGER toast_policy_guard ENABLE ALWAYS;

--
-- Statistics
--
CREATE FUNCTION toast_policy.stats_rows(OUT relid oid, OUT values_seen bigint,
	OUT compressed bigint, OUT kept_raw bigint, OUT aborted bigint,
	OUT bytes_in bigint, OUT bytes_out bigint, OUT stats_reset timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'tp_stats_rows'
LANGUAGE C VOLATILE STRICT;

CREATE VIEW toast_policy.stats AS
SELECT s.relid, n.nspname AS schemaname, c.relname, s.values_seen, s.compressed, s.kept_raw, s.aborted,
	s.bytes_in, s.bytes_out, s.stats_reset
FROM toast_policy.stats_rows() s
	LEFT JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) s.relid
	LEFT JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
WHERE s.relid IS NULL OR c.oid IS NOT NULL;
GRANT SELECT ON toast_policy.stats TO public;

CREATE FUNCTION toast_policy.stats_reset()
RETURNS void
AS 'MODULE_PATHNAME', 'tp_stats_reset'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION toast_policy.stats_reset() FROM public;

COMMENT ON VIEW toast_policy.stats IS 'what became of the values that the policy looked at, for each table of this database';
