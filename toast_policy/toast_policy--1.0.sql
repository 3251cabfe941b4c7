/* toast_policy/toast_policy--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION toast_policy" to load this file. \quit

CREATE SCHEMA toast_policy;
COMMENT ON SCHEMA toast_policy IS 'functions and views of the access method toast_policy, and functions of the types ztext and zbytea';
GRANT USAGE ON SCHEMA toast_policy TO public;

--
-- The access method, and functions on its tables
--
CREATE FUNCTION toast_policy.handler(internal)
RETURNS table_am_handler
AS 'MODULE_PATHNAME', 'tp_handler'
LANGUAGE C STRICT;

-- only the server calls this function, without a check of privileges
REVOKE ALL ON FUNCTION toast_policy.handler(internal) FROM public;
COMMENT ON FUNCTION toast_policy.handler(internal) IS 'handler of the access method toast_policy';

CREATE ACCESS METHOD toast_policy TYPE TABLE HANDLER toast_policy.handler;
COMMENT ON ACCESS METHOD toast_policy IS 'heap that compresses large values only if this saves space';

CREATE FUNCTION toast_policy.enable(relation regclass, VARIADIC columns name[] DEFAULT '{}')
RETURNS void
AS 'MODULE_PATHNAME', 'tp_enable'
LANGUAGE C VOLATILE STRICT;

CREATE FUNCTION toast_policy.enable_out_of_line(relation regclass, min_bytes integer DEFAULT 128,
	VARIADIC columns name[] DEFAULT '{}')
RETURNS void
AS 'MODULE_PATHNAME', 'tp_enable_out_of_line'
LANGUAGE C VOLATILE STRICT;

CREATE FUNCTION toast_policy.disable(relation regclass, VARIADIC columns name[] DEFAULT '{}')
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
	'let toast_policy govern columns (default: all compressible columns)';
COMMENT ON FUNCTION toast_policy.enable_out_of_line(regclass, integer, name[]) IS
	'let toast_policy govern columns (default: the governed columns), and store their values of min_bytes or more out of line, even in small rows';
COMMENT ON FUNCTION toast_policy.disable(regclass, name[]) IS
	'give columns their default storage (default: all governed columns), and give a table without governed columns back to heap';
COMMENT ON FUNCTION toast_policy.disable_all() IS
	'disable() for each table of the database; returns their number';
COMMENT ON FUNCTION toast_policy.recompress(regclass) IS
	'rewrite a table, and store each value anew; returns the number of rows';

-- Only in the progress of recompress(), the last parameter has this value.  In
-- 19, CLUSTER became REPACK, and got one more phase and more parameters.
CREATE VIEW toast_policy.progress AS
SELECT p.pid, p.datid, d.datname, p.relid, 'recompress'::text AS command,
	CASE WHEN p.param2 OPERATOR(pg_catalog.<=) 4 THEN
		CASE p.param2 WHEN 0 THEN 'initializing' WHEN 1 THEN 'seq scanning heap'
			WHEN 2 THEN 'index scanning heap' WHEN 3 THEN 'sorting tuples' WHEN 4 THEN 'writing new heap' END
	ELSE
		CASE p.param2 OPERATOR(pg_catalog.-) v.is_repack::pg_catalog.int4 WHEN 5 THEN 'swapping relation files'
			WHEN 6 THEN 'rebuilding index' WHEN 7 THEN 'performing final cleanup' END
	END AS phase,
	p.param19 AS tuples_done, p.param18 AS tuples_total,
	CASE WHEN v.is_repack THEN p.param10 ELSE p.param8 END AS indexes_done
FROM (SELECT pg_catalog.current_setting('server_version_num')::pg_catalog.int4 OPERATOR(pg_catalog.>=) 190000) AS v (is_repack)
	CROSS JOIN LATERAL pg_catalog.pg_stat_get_progress_info(CASE WHEN v.is_repack THEN 'REPACK' ELSE 'CLUSTER' END) AS p
	LEFT JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) p.datid
WHERE p.param20 OPERATOR(pg_catalog.=) 1953456499;
GRANT SELECT ON toast_policy.progress TO public;

COMMENT ON VIEW toast_policy.progress IS 'tables that recompress() rewrites now';
COMMENT ON COLUMN toast_policy.progress.pid IS 'process ID of the session';
COMMENT ON COLUMN toast_policy.progress.datid IS 'OID of its database';
COMMENT ON COLUMN toast_policy.progress.datname IS 'name of its database';
COMMENT ON COLUMN toast_policy.progress.relid IS 'OID of the table';
COMMENT ON COLUMN toast_policy.progress.command IS 'function that the session runs';
COMMENT ON COLUMN toast_policy.progress.phase IS 'current phase, as in pg_stat_progress_cluster';
COMMENT ON COLUMN toast_policy.progress.tuples_done IS 'rows that have been written';
COMMENT ON COLUMN toast_policy.progress.tuples_total IS 'rows of the table, estimated until all are written';
COMMENT ON COLUMN toast_policy.progress.indexes_done IS 'indexes that have been built anew';

--
-- Functions that call amcheck, which itself refuses tables of other access
-- methods than heap
--
CREATE FUNCTION toast_policy.check(relation regclass, heapallindexed boolean DEFAULT false,
	OUT object regclass, OUT blkno bigint, OUT offnum integer, OUT attnum integer, OUT msg text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'tp_check'
LANGUAGE C VOLATILE STRICT;

CREATE FUNCTION toast_policy.check_all(heapallindexed boolean DEFAULT false,
	OUT object regclass, OUT blkno bigint, OUT offnum integer, OUT attnum integer, OUT msg text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'tp_check_all'
LANGUAGE C VOLATILE STRICT;

-- as for amcheck's own functions, public may not call these
REVOKE ALL ON FUNCTION toast_policy.check(regclass, boolean) FROM public;
REVOKE ALL ON FUNCTION toast_policy.check_all(boolean) FROM public;

COMMENT ON FUNCTION toast_policy.check(regclass, boolean) IS
	'damage that amcheck finds in a table, its TOAST table and their B-trees; no row if there is none';
COMMENT ON FUNCTION toast_policy.check_all(boolean) IS
	'check() for each table of the access method in the database';

-- Without this event trigger, DROP EXTENSION ... CASCADE would drop the tables
-- of the access method, and the columns of the types.
CREATE FUNCTION toast_policy.guard_drop()
RETURNS event_trigger
AS 'MODULE_PATHNAME', 'tp_guard_drop'
LANGUAGE C;

REVOKE ALL ON FUNCTION toast_policy.guard_drop() FROM public;
COMMENT ON FUNCTION toast_policy.guard_drop() IS 'function of the event trigger toast_policy_guard';

CREATE EVENT TRIGGER toast_policy_guard ON ddl_command_start
WHEN TAG IN ('DROP EXTENSION', 'DROP ACCESS METHOD', 'DROP SCHEMA', 'DROP OWNED', 'DROP TYPE')
EXECUTE FUNCTION toast_policy.guard_drop();
ALTER EVENT TRIGGER toast_policy_guard ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER toast_policy_guard IS
	'refuses DROP ... CASCADE that would drop tables of the access method, or columns of its types';

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

CREATE FUNCTION toast_policy.reset_stats()
RETURNS void
AS 'MODULE_PATHNAME', 'tp_reset_stats'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION toast_policy.reset_stats() FROM public;

COMMENT ON FUNCTION toast_policy.stats_rows() IS 'counters in shared memory, for the view toast_policy.stats';
COMMENT ON FUNCTION toast_policy.reset_stats() IS 'set the counters of toast_policy.stats to zero';
COMMENT ON VIEW toast_policy.stats IS 'counts and bytes of the values that the policy has examined, for each table of this database';
COMMENT ON COLUMN toast_policy.stats.relid IS 'OID of the table; null in the row for all tables without counters of their own';
COMMENT ON COLUMN toast_policy.stats.schemaname IS 'schema of the table';
COMMENT ON COLUMN toast_policy.stats.relname IS 'name of the table';
COMMENT ON COLUMN toast_policy.stats.values_seen IS 'values that the policy has examined';
COMMENT ON COLUMN toast_policy.stats.compressed IS 'values that were stored compressed';
COMMENT ON COLUMN toast_policy.stats.kept_raw IS 'values that were stored uncompressed';
COMMENT ON COLUMN toast_policy.stats.aborted IS 'values that were stored uncompressed because of the probe';
COMMENT ON COLUMN toast_policy.stats.bytes_in IS 'bytes of the values before';
COMMENT ON COLUMN toast_policy.stats.bytes_out IS 'bytes of the values after';
COMMENT ON COLUMN toast_policy.stats.stats_reset IS 'time at which the counters were last set to zero';
/*-------------------------------------------------------------------------
 * The types ztext and zbytea
 *
 * The operators are in pg_catalog.  Otherwise, with some values of
 * search_path, a comparison would use an operator of text, and no index.
 * pg_dump does not have to dump these operators, because they are members of
 * an extension.  There are operators with text, name and bytea, but none with
 * varchar.  Core has no operators of two varchars, so every comparison of a
 * varchar with a literal would use ours.
 *
 * An operator family must have operators for all pairs of its types.  For two
 * texts, the family has operators of this extension, toast_policy.#=# and so
 * on.  If core's operators were members of the family, the planner would no
 * longer combine core's equalities with the same operators as before.
 *-------------------------------------------------------------------------
 */

CREATE TYPE @extschema@.ztext;

CREATE FUNCTION toast_policy.ztext_in(cstring, oid, int4) RETURNS @extschema@.ztext
AS 'MODULE_PATHNAME', 'tp_ztext_in' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.ztext_out(@extschema@.ztext) RETURNS cstring
AS 'MODULE_PATHNAME', 'tp_ztext_out' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.ztext_recv(internal, oid, int4) RETURNS @extschema@.ztext
AS 'MODULE_PATHNAME', 'tp_ztext_recv' LANGUAGE c STABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.ztext_send(@extschema@.ztext) RETURNS bytea
AS 'MODULE_PATHNAME', 'tp_ztext_send' LANGUAGE c STABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.ztext_typmod_in(cstring[]) RETURNS int4
AS 'MODULE_PATHNAME', 'tp_type_typmod_in' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.ztext_typmod_out(int4) RETURNS cstring
AS 'MODULE_PATHNAME', 'tp_type_typmod_out' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE @extschema@.ztext (
  INPUT = toast_policy.ztext_in, OUTPUT = toast_policy.ztext_out,
  RECEIVE = toast_policy.ztext_recv, SEND = toast_policy.ztext_send,
  TYPMOD_IN = toast_policy.ztext_typmod_in, TYPMOD_OUT = toast_policy.ztext_typmod_out,
  INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = external,
  CATEGORY = 'S', COLLATABLE = true);
COMMENT ON TYPE @extschema@.ztext IS 'text that is compressed by lz4, snappy or zstd if this saves space';

-- casts

CREATE FUNCTION toast_policy.ztext_text(@extschema@.ztext) RETURNS text
AS 'MODULE_PATHNAME', 'tp_type_to_raw' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.text_ztext(text, int4, bool) RETURNS @extschema@.ztext
AS 'MODULE_PATHNAME', 'tp_type_from_raw' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.ztext_recode(@extschema@.ztext, int4, bool) RETURNS @extschema@.ztext
AS 'MODULE_PATHNAME', 'tp_type_recode' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.bpchar_ztext(bpchar, int4, bool) RETURNS @extschema@.ztext
AS 'MODULE_PATHNAME', 'tp_bpchar_ztext' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE CAST (@extschema@.ztext AS text) WITH FUNCTION toast_policy.ztext_text(@extschema@.ztext) AS IMPLICIT;
CREATE CAST (@extschema@.ztext AS varchar) WITH FUNCTION toast_policy.ztext_text(@extschema@.ztext) AS IMPLICIT;
CREATE CAST (@extschema@.ztext AS bpchar) WITH FUNCTION toast_policy.ztext_text(@extschema@.ztext) AS IMPLICIT;
CREATE CAST (text AS @extschema@.ztext) WITH FUNCTION toast_policy.text_ztext(text, int4, bool) AS ASSIGNMENT;
CREATE CAST (varchar AS @extschema@.ztext) WITH FUNCTION toast_policy.text_ztext(text, int4, bool) AS ASSIGNMENT;
CREATE CAST (bpchar AS @extschema@.ztext) WITH FUNCTION toast_policy.bpchar_ztext(bpchar, int4, bool) AS ASSIGNMENT;
CREATE CAST (@extschema@.ztext AS @extschema@.ztext) WITH FUNCTION toast_policy.ztext_recode(@extschema@.ztext, int4, bool) AS IMPLICIT;

-- comparison

CREATE FUNCTION toast_policy.ztext_lt(@extschema@.ztext, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_lt' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_le(@extschema@.ztext, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_le' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_eq(@extschema@.ztext, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_eq' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_ge(@extschema@.ztext, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_ge' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_gt(@extschema@.ztext, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_gt' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_ne(@extschema@.ztext, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_ne' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_cmp(@extschema@.ztext, @extschema@.ztext) RETURNS int4
AS 'MODULE_PATHNAME', 'tp_ztext_cmp' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;

CREATE OPERATOR pg_catalog.< (FUNCTION = toast_policy.ztext_lt, LEFTARG = @extschema@.ztext, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=),
  RESTRICT = pg_catalog.scalarltsel, JOIN = pg_catalog.scalarltjoinsel);
CREATE OPERATOR pg_catalog.<= (FUNCTION = toast_policy.ztext_le, LEFTARG = @extschema@.ztext, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>),
  RESTRICT = pg_catalog.scalarlesel, JOIN = pg_catalog.scalarlejoinsel);
CREATE OPERATOR pg_catalog.= (FUNCTION = toast_policy.ztext_eq, LEFTARG = @extschema@.ztext, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
  RESTRICT = pg_catalog.eqsel, JOIN = pg_catalog.eqjoinsel, HASHES, MERGES);
CREATE OPERATOR pg_catalog.>= (FUNCTION = toast_policy.ztext_ge, LEFTARG = @extschema@.ztext, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<),
  RESTRICT = pg_catalog.scalargesel, JOIN = pg_catalog.scalargejoinsel);
CREATE OPERATOR pg_catalog.> (FUNCTION = toast_policy.ztext_gt, LEFTARG = @extschema@.ztext, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=),
  RESTRICT = pg_catalog.scalargtsel, JOIN = pg_catalog.scalargtjoinsel);
CREATE OPERATOR pg_catalog.<> (FUNCTION = toast_policy.ztext_ne, LEFTARG = @extschema@.ztext, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
  RESTRICT = pg_catalog.neqsel, JOIN = pg_catalog.neqjoinsel);

CREATE FUNCTION toast_policy.ztext_text_lt(@extschema@.ztext, text) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_text_lt' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_text_le(@extschema@.ztext, text) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_text_le' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_text_eq(@extschema@.ztext, text) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_text_eq' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_text_ge(@extschema@.ztext, text) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_text_ge' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_text_gt(@extschema@.ztext, text) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_text_gt' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_text_ne(@extschema@.ztext, text) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_text_ne' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_text_cmp(@extschema@.ztext, text) RETURNS int4
AS 'MODULE_PATHNAME', 'tp_ztext_text_cmp' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;

CREATE OPERATOR pg_catalog.< (FUNCTION = toast_policy.ztext_text_lt, LEFTARG = @extschema@.ztext, RIGHTARG = text,
  COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=),
  RESTRICT = pg_catalog.scalarltsel, JOIN = pg_catalog.scalarltjoinsel);
CREATE OPERATOR pg_catalog.<= (FUNCTION = toast_policy.ztext_text_le, LEFTARG = @extschema@.ztext, RIGHTARG = text,
  COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>),
  RESTRICT = pg_catalog.scalarlesel, JOIN = pg_catalog.scalarlejoinsel);
CREATE OPERATOR pg_catalog.= (FUNCTION = toast_policy.ztext_text_eq, LEFTARG = @extschema@.ztext, RIGHTARG = text,
  COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
  RESTRICT = pg_catalog.eqsel, JOIN = pg_catalog.eqjoinsel, HASHES, MERGES);
CREATE OPERATOR pg_catalog.>= (FUNCTION = toast_policy.ztext_text_ge, LEFTARG = @extschema@.ztext, RIGHTARG = text,
  COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<),
  RESTRICT = pg_catalog.scalargesel, JOIN = pg_catalog.scalargejoinsel);
CREATE OPERATOR pg_catalog.> (FUNCTION = toast_policy.ztext_text_gt, LEFTARG = @extschema@.ztext, RIGHTARG = text,
  COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=),
  RESTRICT = pg_catalog.scalargtsel, JOIN = pg_catalog.scalargtjoinsel);
CREATE OPERATOR pg_catalog.<> (FUNCTION = toast_policy.ztext_text_ne, LEFTARG = @extschema@.ztext, RIGHTARG = text,
  COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
  RESTRICT = pg_catalog.neqsel, JOIN = pg_catalog.neqjoinsel);

CREATE FUNCTION toast_policy.text_ztext_lt(text, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_text_ztext_lt' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.text_ztext_le(text, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_text_ztext_le' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.text_ztext_eq(text, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_text_ztext_eq' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.text_ztext_ge(text, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_text_ztext_ge' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.text_ztext_gt(text, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_text_ztext_gt' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.text_ztext_ne(text, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_text_ztext_ne' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.text_ztext_cmp(text, @extschema@.ztext) RETURNS int4
AS 'MODULE_PATHNAME', 'tp_text_ztext_cmp' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;

CREATE OPERATOR pg_catalog.< (FUNCTION = toast_policy.text_ztext_lt, LEFTARG = text, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=),
  RESTRICT = pg_catalog.scalarltsel, JOIN = pg_catalog.scalarltjoinsel);
CREATE OPERATOR pg_catalog.<= (FUNCTION = toast_policy.text_ztext_le, LEFTARG = text, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>),
  RESTRICT = pg_catalog.scalarlesel, JOIN = pg_catalog.scalarlejoinsel);
CREATE OPERATOR pg_catalog.= (FUNCTION = toast_policy.text_ztext_eq, LEFTARG = text, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
  RESTRICT = pg_catalog.eqsel, JOIN = pg_catalog.eqjoinsel, HASHES, MERGES);
CREATE OPERATOR pg_catalog.>= (FUNCTION = toast_policy.text_ztext_ge, LEFTARG = text, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<),
  RESTRICT = pg_catalog.scalargesel, JOIN = pg_catalog.scalargejoinsel);
CREATE OPERATOR pg_catalog.> (FUNCTION = toast_policy.text_ztext_gt, LEFTARG = text, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=),
  RESTRICT = pg_catalog.scalargtsel, JOIN = pg_catalog.scalargtjoinsel);
CREATE OPERATOR pg_catalog.<> (FUNCTION = toast_policy.text_ztext_ne, LEFTARG = text, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
  RESTRICT = pg_catalog.neqsel, JOIN = pg_catalog.neqjoinsel);

-- Comparison with name.  Without these operators, the comparison would be
-- ambiguous, because core has operators of name with text.  These operators
-- are in no family.
CREATE FUNCTION toast_policy.ztext_name_lt(@extschema@.ztext, name) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_name_lt' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_name_le(@extschema@.ztext, name) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_name_le' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_name_eq(@extschema@.ztext, name) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_name_eq' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_name_ge(@extschema@.ztext, name) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_name_ge' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_name_gt(@extschema@.ztext, name) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_name_gt' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.ztext_name_ne(@extschema@.ztext, name) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_ztext_name_ne' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;

CREATE OPERATOR pg_catalog.< (FUNCTION = toast_policy.ztext_name_lt, LEFTARG = @extschema@.ztext, RIGHTARG = name,
  COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=),
  RESTRICT = pg_catalog.scalarltsel, JOIN = pg_catalog.scalarltjoinsel);
CREATE OPERATOR pg_catalog.<= (FUNCTION = toast_policy.ztext_name_le, LEFTARG = @extschema@.ztext, RIGHTARG = name,
  COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>),
  RESTRICT = pg_catalog.scalarlesel, JOIN = pg_catalog.scalarlejoinsel);
CREATE OPERATOR pg_catalog.= (FUNCTION = toast_policy.ztext_name_eq, LEFTARG = @extschema@.ztext, RIGHTARG = name,
  COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
  RESTRICT = pg_catalog.eqsel, JOIN = pg_catalog.eqjoinsel);
CREATE OPERATOR pg_catalog.>= (FUNCTION = toast_policy.ztext_name_ge, LEFTARG = @extschema@.ztext, RIGHTARG = name,
  COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<),
  RESTRICT = pg_catalog.scalargesel, JOIN = pg_catalog.scalargejoinsel);
CREATE OPERATOR pg_catalog.> (FUNCTION = toast_policy.ztext_name_gt, LEFTARG = @extschema@.ztext, RIGHTARG = name,
  COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=),
  RESTRICT = pg_catalog.scalargtsel, JOIN = pg_catalog.scalargtjoinsel);
CREATE OPERATOR pg_catalog.<> (FUNCTION = toast_policy.ztext_name_ne, LEFTARG = @extschema@.ztext, RIGHTARG = name,
  COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
  RESTRICT = pg_catalog.neqsel, JOIN = pg_catalog.neqjoinsel);

CREATE FUNCTION toast_policy.name_ztext_lt(name, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_name_ztext_lt' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.name_ztext_le(name, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_name_ztext_le' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.name_ztext_eq(name, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_name_ztext_eq' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.name_ztext_ge(name, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_name_ztext_ge' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.name_ztext_gt(name, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_name_ztext_gt' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.name_ztext_ne(name, @extschema@.ztext) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_name_ztext_ne' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;

CREATE OPERATOR pg_catalog.< (FUNCTION = toast_policy.name_ztext_lt, LEFTARG = name, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=),
  RESTRICT = pg_catalog.scalarltsel, JOIN = pg_catalog.scalarltjoinsel);
CREATE OPERATOR pg_catalog.<= (FUNCTION = toast_policy.name_ztext_le, LEFTARG = name, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>),
  RESTRICT = pg_catalog.scalarlesel, JOIN = pg_catalog.scalarlejoinsel);
CREATE OPERATOR pg_catalog.= (FUNCTION = toast_policy.name_ztext_eq, LEFTARG = name, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
  RESTRICT = pg_catalog.eqsel, JOIN = pg_catalog.eqjoinsel);
CREATE OPERATOR pg_catalog.>= (FUNCTION = toast_policy.name_ztext_ge, LEFTARG = name, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<),
  RESTRICT = pg_catalog.scalargesel, JOIN = pg_catalog.scalargejoinsel);
CREATE OPERATOR pg_catalog.> (FUNCTION = toast_policy.name_ztext_gt, LEFTARG = name, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=),
  RESTRICT = pg_catalog.scalargtsel, JOIN = pg_catalog.scalargtjoinsel);
CREATE OPERATOR pg_catalog.<> (FUNCTION = toast_policy.name_ztext_ne, LEFTARG = name, RIGHTARG = @extschema@.ztext,
  COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
  RESTRICT = pg_catalog.neqsel, JOIN = pg_catalog.neqjoinsel);
CREATE OPERATOR toast_policy.#<# (FUNCTION = pg_catalog.text_lt, LEFTARG = text, RIGHTARG = text,
  COMMUTATOR = OPERATOR(toast_policy.#>#), NEGATOR = OPERATOR(toast_policy.#>=#),
  RESTRICT = pg_catalog.scalarltsel, JOIN = pg_catalog.scalarltjoinsel);
CREATE OPERATOR toast_policy.#<=# (FUNCTION = pg_catalog.text_le, LEFTARG = text, RIGHTARG = text,
  COMMUTATOR = OPERATOR(toast_policy.#>=#), NEGATOR = OPERATOR(toast_policy.#>#),
  RESTRICT = pg_catalog.scalarlesel, JOIN = pg_catalog.scalarlejoinsel);
CREATE OPERATOR toast_policy.#=# (FUNCTION = pg_catalog.texteq, LEFTARG = text, RIGHTARG = text,
  COMMUTATOR = OPERATOR(toast_policy.#=#), NEGATOR = OPERATOR(toast_policy.#<>#),
  RESTRICT = pg_catalog.eqsel, JOIN = pg_catalog.eqjoinsel, HASHES, MERGES);
CREATE OPERATOR toast_policy.#>=# (FUNCTION = pg_catalog.text_ge, LEFTARG = text, RIGHTARG = text,
  COMMUTATOR = OPERATOR(toast_policy.#<=#), NEGATOR = OPERATOR(toast_policy.#<#),
  RESTRICT = pg_catalog.scalargesel, JOIN = pg_catalog.scalargejoinsel);
CREATE OPERATOR toast_policy.#># (FUNCTION = pg_catalog.text_gt, LEFTARG = text, RIGHTARG = text,
  COMMUTATOR = OPERATOR(toast_policy.#<#), NEGATOR = OPERATOR(toast_policy.#<=#),
  RESTRICT = pg_catalog.scalargtsel, JOIN = pg_catalog.scalargtjoinsel);
CREATE OPERATOR toast_policy.#<># (FUNCTION = pg_catalog.textne, LEFTARG = text, RIGHTARG = text,
  COMMUTATOR = OPERATOR(toast_policy.#<>#), NEGATOR = OPERATOR(toast_policy.#=#),
  RESTRICT = pg_catalog.neqsel, JOIN = pg_catalog.neqjoinsel);

-- Equal values can have different bytes.  So there is no btree support function
-- 4.  Without this function, the server does not deduplicate an index.
CREATE FUNCTION toast_policy.ztext_sortsupport(internal) RETURNS void
AS 'MODULE_PATHNAME', 'tp_ztext_sortsupport' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE OPERATOR FAMILY toast_policy.ztext_ops USING btree;
CREATE OPERATOR CLASS toast_policy.ztext_ops DEFAULT FOR TYPE @extschema@.ztext USING btree FAMILY toast_policy.ztext_ops AS
  OPERATOR 1 pg_catalog.<, OPERATOR 2 pg_catalog.<=, OPERATOR 3 pg_catalog.=,
  OPERATOR 4 pg_catalog.>=, OPERATOR 5 pg_catalog.>,
  FUNCTION 1 toast_policy.ztext_cmp(@extschema@.ztext, @extschema@.ztext),
  FUNCTION 2 toast_policy.ztext_sortsupport(internal);
ALTER OPERATOR FAMILY toast_policy.ztext_ops USING btree ADD
  OPERATOR 1 pg_catalog.< (@extschema@.ztext, text),
  OPERATOR 2 pg_catalog.<= (@extschema@.ztext, text),
  OPERATOR 3 pg_catalog.= (@extschema@.ztext, text),
  OPERATOR 4 pg_catalog.>= (@extschema@.ztext, text),
  OPERATOR 5 pg_catalog.> (@extschema@.ztext, text),
  FUNCTION 1 (@extschema@.ztext, text) toast_policy.ztext_text_cmp(@extschema@.ztext, text),
  OPERATOR 1 pg_catalog.< (text, @extschema@.ztext),
  OPERATOR 2 pg_catalog.<= (text, @extschema@.ztext),
  OPERATOR 3 pg_catalog.= (text, @extschema@.ztext),
  OPERATOR 4 pg_catalog.>= (text, @extschema@.ztext),
  OPERATOR 5 pg_catalog.> (text, @extschema@.ztext),
  FUNCTION 1 (text, @extschema@.ztext) toast_policy.text_ztext_cmp(text, @extschema@.ztext),
  OPERATOR 1 toast_policy.#<# (text, text),
  OPERATOR 2 toast_policy.#<=# (text, text),
  OPERATOR 3 toast_policy.#=# (text, text),
  OPERATOR 4 toast_policy.#>=# (text, text),
  OPERATOR 5 toast_policy.#># (text, text),
  FUNCTION 1 (text, text) pg_catalog.bttextcmp(text, text),
  FUNCTION 2 (text, text) pg_catalog.bttextsortsupport(internal);

CREATE FUNCTION toast_policy.ztext_hash(@extschema@.ztext) RETURNS int4
AS 'MODULE_PATHNAME', 'tp_ztext_hash' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.ztext_hash_extended(@extschema@.ztext, int8) RETURNS int8
AS 'MODULE_PATHNAME', 'tp_ztext_hash_extended' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE OPERATOR FAMILY toast_policy.ztext_ops USING hash;
CREATE OPERATOR CLASS toast_policy.ztext_ops DEFAULT FOR TYPE @extschema@.ztext USING hash FAMILY toast_policy.ztext_ops AS
  OPERATOR 1 pg_catalog.=,
  FUNCTION 1 toast_policy.ztext_hash(@extschema@.ztext), FUNCTION 2 toast_policy.ztext_hash_extended(@extschema@.ztext, int8);
ALTER OPERATOR FAMILY toast_policy.ztext_ops USING hash ADD
  OPERATOR 1 pg_catalog.= (@extschema@.ztext, text),
  OPERATOR 1 pg_catalog.= (text, @extschema@.ztext),
  OPERATOR 1 toast_policy.#=# (text, text),
  FUNCTION 1 (text, text) pg_catalog.hashtext(text), FUNCTION 2 (text, text) pg_catalog.hashtextextended(text, int8);

CREATE FUNCTION toast_policy.ztext_smaller(@extschema@.ztext, @extschema@.ztext) RETURNS @extschema@.ztext
AS 'MODULE_PATHNAME', 'tp_ztext_smaller' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE AGGREGATE pg_catalog.min(@extschema@.ztext) (SFUNC = toast_policy.ztext_smaller, STYPE = @extschema@.ztext,
  COMBINEFUNC = toast_policy.ztext_smaller, SORTOP = OPERATOR(pg_catalog.<), PARALLEL = SAFE);
COMMENT ON AGGREGATE pg_catalog.min(@extschema@.ztext) IS 'smallest value';

CREATE FUNCTION toast_policy.ztext_larger(@extschema@.ztext, @extschema@.ztext) RETURNS @extschema@.ztext
AS 'MODULE_PATHNAME', 'tp_ztext_larger' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE AGGREGATE pg_catalog.max(@extschema@.ztext) (SFUNC = toast_policy.ztext_larger, STYPE = @extschema@.ztext,
  COMBINEFUNC = toast_policy.ztext_larger, SORTOP = OPERATOR(pg_catalog.>), PARALLEL = SAFE);
COMMENT ON AGGREGATE pg_catalog.max(@extschema@.ztext) IS 'largest value';

-- These functions need not read the whole value.  They are in pg_catalog, where
-- an unqualified call finds them.  A call uses them only if its argument has the
-- type itself.
CREATE FUNCTION pg_catalog.length(@extschema@.ztext) RETURNS int4
AS 'MODULE_PATHNAME', 'tp_ztext_length' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_catalog.length(@extschema@.ztext) IS 'number of characters';

CREATE FUNCTION pg_catalog.octet_length(@extschema@.ztext) RETURNS int4
AS 'MODULE_PATHNAME', 'tp_type_octet_length' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_catalog.octet_length(@extschema@.ztext) IS 'number of bytes';

CREATE FUNCTION pg_catalog.substr(@extschema@.ztext, int4) RETURNS text
AS 'MODULE_PATHNAME', 'tp_ztext_substr' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_catalog.substr(@extschema@.ztext, int4) IS 'part of the value that begins at a position';

CREATE FUNCTION pg_catalog.substr(@extschema@.ztext, int4, int4) RETURNS text
AS 'MODULE_PATHNAME', 'tp_ztext_substr' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_catalog.substr(@extschema@.ztext, int4, int4) IS 'part of the value that begins at a position, of a given length';

CREATE FUNCTION pg_catalog.substring(@extschema@.ztext, int4) RETURNS text
AS 'MODULE_PATHNAME', 'tp_ztext_substr' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_catalog.substring(@extschema@.ztext, int4) IS 'part of the value that begins at a position';

CREATE FUNCTION pg_catalog.substring(@extschema@.ztext, int4, int4) RETURNS text
AS 'MODULE_PATHNAME', 'tp_ztext_substr' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_catalog.substring(@extschema@.ztext, int4, int4) IS 'part of the value that begins at a position, of a given length';

-- substring() with a pattern.  Without these functions, a literal pattern
-- would be taken as the integer argument of the functions above.
CREATE FUNCTION pg_catalog.substring(@extschema@.ztext, text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN pg_catalog.substring($1::text, $2);
COMMENT ON FUNCTION pg_catalog.substring(@extschema@.ztext, text) IS 'part of the value that matches a POSIX regular expression';

CREATE FUNCTION pg_catalog.substring(@extschema@.ztext, text, text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN pg_catalog.substring($1::text, $2, $3);
COMMENT ON FUNCTION pg_catalog.substring(@extschema@.ztext, text, text) IS 'part of the value that matches an SQL regular expression';

-- name of the codec that the value is stored with, "none" if raw
CREATE FUNCTION toast_policy.codec(@extschema@.ztext) RETURNS text
AS 'MODULE_PATHNAME', 'tp_type_codec_name' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION toast_policy.codec(@extschema@.ztext) IS 'codec of a stored value; none if the value is not compressed';

CREATE TYPE @extschema@.zbytea;

CREATE FUNCTION toast_policy.zbytea_in(cstring, oid, int4) RETURNS @extschema@.zbytea
AS 'MODULE_PATHNAME', 'tp_zbytea_in' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.zbytea_out(@extschema@.zbytea) RETURNS cstring
AS 'MODULE_PATHNAME', 'tp_zbytea_out' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.zbytea_recv(internal, oid, int4) RETURNS @extschema@.zbytea
AS 'MODULE_PATHNAME', 'tp_zbytea_recv' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.zbytea_send(@extschema@.zbytea) RETURNS bytea
AS 'MODULE_PATHNAME', 'tp_type_to_raw' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.zbytea_typmod_in(cstring[]) RETURNS int4
AS 'MODULE_PATHNAME', 'tp_type_typmod_in' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.zbytea_typmod_out(int4) RETURNS cstring
AS 'MODULE_PATHNAME', 'tp_type_typmod_out' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE @extschema@.zbytea (
  INPUT = toast_policy.zbytea_in, OUTPUT = toast_policy.zbytea_out,
  RECEIVE = toast_policy.zbytea_recv, SEND = toast_policy.zbytea_send,
  TYPMOD_IN = toast_policy.zbytea_typmod_in, TYPMOD_OUT = toast_policy.zbytea_typmod_out,
  INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = external,
  CATEGORY = 'U');
COMMENT ON TYPE @extschema@.zbytea IS 'bytea that is compressed by lz4, snappy or zstd if this saves space';

-- casts

CREATE FUNCTION toast_policy.zbytea_bytea(@extschema@.zbytea) RETURNS bytea
AS 'MODULE_PATHNAME', 'tp_type_to_raw' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.bytea_zbytea(bytea, int4, bool) RETURNS @extschema@.zbytea
AS 'MODULE_PATHNAME', 'tp_type_from_raw' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.zbytea_recode(@extschema@.zbytea, int4, bool) RETURNS @extschema@.zbytea
AS 'MODULE_PATHNAME', 'tp_type_recode' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE CAST (@extschema@.zbytea AS bytea) WITH FUNCTION toast_policy.zbytea_bytea(@extschema@.zbytea) AS IMPLICIT;
CREATE CAST (bytea AS @extschema@.zbytea) WITH FUNCTION toast_policy.bytea_zbytea(bytea, int4, bool) AS ASSIGNMENT;
CREATE CAST (@extschema@.zbytea AS @extschema@.zbytea) WITH FUNCTION toast_policy.zbytea_recode(@extschema@.zbytea, int4, bool) AS IMPLICIT;

-- comparison

CREATE FUNCTION toast_policy.zbytea_lt(@extschema@.zbytea, @extschema@.zbytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_zbytea_lt' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.zbytea_le(@extschema@.zbytea, @extschema@.zbytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_zbytea_le' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.zbytea_eq(@extschema@.zbytea, @extschema@.zbytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_zbytea_eq' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.zbytea_ge(@extschema@.zbytea, @extschema@.zbytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_zbytea_ge' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.zbytea_gt(@extschema@.zbytea, @extschema@.zbytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_zbytea_gt' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.zbytea_ne(@extschema@.zbytea, @extschema@.zbytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_zbytea_ne' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.zbytea_cmp(@extschema@.zbytea, @extschema@.zbytea) RETURNS int4
AS 'MODULE_PATHNAME', 'tp_zbytea_cmp' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;

CREATE OPERATOR pg_catalog.< (FUNCTION = toast_policy.zbytea_lt, LEFTARG = @extschema@.zbytea, RIGHTARG = @extschema@.zbytea,
  COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=),
  RESTRICT = pg_catalog.scalarltsel, JOIN = pg_catalog.scalarltjoinsel);
CREATE OPERATOR pg_catalog.<= (FUNCTION = toast_policy.zbytea_le, LEFTARG = @extschema@.zbytea, RIGHTARG = @extschema@.zbytea,
  COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>),
  RESTRICT = pg_catalog.scalarlesel, JOIN = pg_catalog.scalarlejoinsel);
CREATE OPERATOR pg_catalog.= (FUNCTION = toast_policy.zbytea_eq, LEFTARG = @extschema@.zbytea, RIGHTARG = @extschema@.zbytea,
  COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
  RESTRICT = pg_catalog.eqsel, JOIN = pg_catalog.eqjoinsel, HASHES, MERGES);
CREATE OPERATOR pg_catalog.>= (FUNCTION = toast_policy.zbytea_ge, LEFTARG = @extschema@.zbytea, RIGHTARG = @extschema@.zbytea,
  COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<),
  RESTRICT = pg_catalog.scalargesel, JOIN = pg_catalog.scalargejoinsel);
CREATE OPERATOR pg_catalog.> (FUNCTION = toast_policy.zbytea_gt, LEFTARG = @extschema@.zbytea, RIGHTARG = @extschema@.zbytea,
  COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=),
  RESTRICT = pg_catalog.scalargtsel, JOIN = pg_catalog.scalargtjoinsel);
CREATE OPERATOR pg_catalog.<> (FUNCTION = toast_policy.zbytea_ne, LEFTARG = @extschema@.zbytea, RIGHTARG = @extschema@.zbytea,
  COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
  RESTRICT = pg_catalog.neqsel, JOIN = pg_catalog.neqjoinsel);

CREATE FUNCTION toast_policy.zbytea_bytea_lt(@extschema@.zbytea, bytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_zbytea_bytea_lt' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.zbytea_bytea_le(@extschema@.zbytea, bytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_zbytea_bytea_le' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.zbytea_bytea_eq(@extschema@.zbytea, bytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_zbytea_bytea_eq' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.zbytea_bytea_ge(@extschema@.zbytea, bytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_zbytea_bytea_ge' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.zbytea_bytea_gt(@extschema@.zbytea, bytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_zbytea_bytea_gt' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.zbytea_bytea_ne(@extschema@.zbytea, bytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_zbytea_bytea_ne' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.zbytea_bytea_cmp(@extschema@.zbytea, bytea) RETURNS int4
AS 'MODULE_PATHNAME', 'tp_zbytea_bytea_cmp' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;

CREATE OPERATOR pg_catalog.< (FUNCTION = toast_policy.zbytea_bytea_lt, LEFTARG = @extschema@.zbytea, RIGHTARG = bytea,
  COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=),
  RESTRICT = pg_catalog.scalarltsel, JOIN = pg_catalog.scalarltjoinsel);
CREATE OPERATOR pg_catalog.<= (FUNCTION = toast_policy.zbytea_bytea_le, LEFTARG = @extschema@.zbytea, RIGHTARG = bytea,
  COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>),
  RESTRICT = pg_catalog.scalarlesel, JOIN = pg_catalog.scalarlejoinsel);
CREATE OPERATOR pg_catalog.= (FUNCTION = toast_policy.zbytea_bytea_eq, LEFTARG = @extschema@.zbytea, RIGHTARG = bytea,
  COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
  RESTRICT = pg_catalog.eqsel, JOIN = pg_catalog.eqjoinsel, HASHES, MERGES);
CREATE OPERATOR pg_catalog.>= (FUNCTION = toast_policy.zbytea_bytea_ge, LEFTARG = @extschema@.zbytea, RIGHTARG = bytea,
  COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<),
  RESTRICT = pg_catalog.scalargesel, JOIN = pg_catalog.scalargejoinsel);
CREATE OPERATOR pg_catalog.> (FUNCTION = toast_policy.zbytea_bytea_gt, LEFTARG = @extschema@.zbytea, RIGHTARG = bytea,
  COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=),
  RESTRICT = pg_catalog.scalargtsel, JOIN = pg_catalog.scalargtjoinsel);
CREATE OPERATOR pg_catalog.<> (FUNCTION = toast_policy.zbytea_bytea_ne, LEFTARG = @extschema@.zbytea, RIGHTARG = bytea,
  COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
  RESTRICT = pg_catalog.neqsel, JOIN = pg_catalog.neqjoinsel);

CREATE FUNCTION toast_policy.bytea_zbytea_lt(bytea, @extschema@.zbytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_bytea_zbytea_lt' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.bytea_zbytea_le(bytea, @extschema@.zbytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_bytea_zbytea_le' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.bytea_zbytea_eq(bytea, @extschema@.zbytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_bytea_zbytea_eq' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.bytea_zbytea_ge(bytea, @extschema@.zbytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_bytea_zbytea_ge' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.bytea_zbytea_gt(bytea, @extschema@.zbytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_bytea_zbytea_gt' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.bytea_zbytea_ne(bytea, @extschema@.zbytea) RETURNS bool
AS 'MODULE_PATHNAME', 'tp_bytea_zbytea_ne' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;
CREATE FUNCTION toast_policy.bytea_zbytea_cmp(bytea, @extschema@.zbytea) RETURNS int4
AS 'MODULE_PATHNAME', 'tp_bytea_zbytea_cmp' LANGUAGE c IMMUTABLE LEAKPROOF STRICT PARALLEL SAFE;

CREATE OPERATOR pg_catalog.< (FUNCTION = toast_policy.bytea_zbytea_lt, LEFTARG = bytea, RIGHTARG = @extschema@.zbytea,
  COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=),
  RESTRICT = pg_catalog.scalarltsel, JOIN = pg_catalog.scalarltjoinsel);
CREATE OPERATOR pg_catalog.<= (FUNCTION = toast_policy.bytea_zbytea_le, LEFTARG = bytea, RIGHTARG = @extschema@.zbytea,
  COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>),
  RESTRICT = pg_catalog.scalarlesel, JOIN = pg_catalog.scalarlejoinsel);
CREATE OPERATOR pg_catalog.= (FUNCTION = toast_policy.bytea_zbytea_eq, LEFTARG = bytea, RIGHTARG = @extschema@.zbytea,
  COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
  RESTRICT = pg_catalog.eqsel, JOIN = pg_catalog.eqjoinsel, HASHES, MERGES);
CREATE OPERATOR pg_catalog.>= (FUNCTION = toast_policy.bytea_zbytea_ge, LEFTARG = bytea, RIGHTARG = @extschema@.zbytea,
  COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<),
  RESTRICT = pg_catalog.scalargesel, JOIN = pg_catalog.scalargejoinsel);
CREATE OPERATOR pg_catalog.> (FUNCTION = toast_policy.bytea_zbytea_gt, LEFTARG = bytea, RIGHTARG = @extschema@.zbytea,
  COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=),
  RESTRICT = pg_catalog.scalargtsel, JOIN = pg_catalog.scalargtjoinsel);
CREATE OPERATOR pg_catalog.<> (FUNCTION = toast_policy.bytea_zbytea_ne, LEFTARG = bytea, RIGHTARG = @extschema@.zbytea,
  COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
  RESTRICT = pg_catalog.neqsel, JOIN = pg_catalog.neqjoinsel);

CREATE OPERATOR toast_policy.#<# (FUNCTION = pg_catalog.bytealt, LEFTARG = bytea, RIGHTARG = bytea,
  COMMUTATOR = OPERATOR(toast_policy.#>#), NEGATOR = OPERATOR(toast_policy.#>=#),
  RESTRICT = pg_catalog.scalarltsel, JOIN = pg_catalog.scalarltjoinsel);
CREATE OPERATOR toast_policy.#<=# (FUNCTION = pg_catalog.byteale, LEFTARG = bytea, RIGHTARG = bytea,
  COMMUTATOR = OPERATOR(toast_policy.#>=#), NEGATOR = OPERATOR(toast_policy.#>#),
  RESTRICT = pg_catalog.scalarlesel, JOIN = pg_catalog.scalarlejoinsel);
CREATE OPERATOR toast_policy.#=# (FUNCTION = pg_catalog.byteaeq, LEFTARG = bytea, RIGHTARG = bytea,
  COMMUTATOR = OPERATOR(toast_policy.#=#), NEGATOR = OPERATOR(toast_policy.#<>#),
  RESTRICT = pg_catalog.eqsel, JOIN = pg_catalog.eqjoinsel, HASHES, MERGES);
CREATE OPERATOR toast_policy.#>=# (FUNCTION = pg_catalog.byteage, LEFTARG = bytea, RIGHTARG = bytea,
  COMMUTATOR = OPERATOR(toast_policy.#<=#), NEGATOR = OPERATOR(toast_policy.#<#),
  RESTRICT = pg_catalog.scalargesel, JOIN = pg_catalog.scalargejoinsel);
CREATE OPERATOR toast_policy.#># (FUNCTION = pg_catalog.byteagt, LEFTARG = bytea, RIGHTARG = bytea,
  COMMUTATOR = OPERATOR(toast_policy.#<#), NEGATOR = OPERATOR(toast_policy.#<=#),
  RESTRICT = pg_catalog.scalargtsel, JOIN = pg_catalog.scalargtjoinsel);
CREATE OPERATOR toast_policy.#<># (FUNCTION = pg_catalog.byteane, LEFTARG = bytea, RIGHTARG = bytea,
  COMMUTATOR = OPERATOR(toast_policy.#<>#), NEGATOR = OPERATOR(toast_policy.#=#),
  RESTRICT = pg_catalog.neqsel, JOIN = pg_catalog.neqjoinsel);

-- Equal values can have different bytes.  So there is no btree support function
-- 4.  Without this function, the server does not deduplicate an index.
CREATE FUNCTION toast_policy.zbytea_sortsupport(internal) RETURNS void
AS 'MODULE_PATHNAME', 'tp_zbytea_sortsupport' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE OPERATOR FAMILY toast_policy.zbytea_ops USING btree;
CREATE OPERATOR CLASS toast_policy.zbytea_ops DEFAULT FOR TYPE @extschema@.zbytea USING btree FAMILY toast_policy.zbytea_ops AS
  OPERATOR 1 pg_catalog.<, OPERATOR 2 pg_catalog.<=, OPERATOR 3 pg_catalog.=,
  OPERATOR 4 pg_catalog.>=, OPERATOR 5 pg_catalog.>,
  FUNCTION 1 toast_policy.zbytea_cmp(@extschema@.zbytea, @extschema@.zbytea),
  FUNCTION 2 toast_policy.zbytea_sortsupport(internal);
ALTER OPERATOR FAMILY toast_policy.zbytea_ops USING btree ADD
  OPERATOR 1 pg_catalog.< (@extschema@.zbytea, bytea),
  OPERATOR 2 pg_catalog.<= (@extschema@.zbytea, bytea),
  OPERATOR 3 pg_catalog.= (@extschema@.zbytea, bytea),
  OPERATOR 4 pg_catalog.>= (@extschema@.zbytea, bytea),
  OPERATOR 5 pg_catalog.> (@extschema@.zbytea, bytea),
  FUNCTION 1 (@extschema@.zbytea, bytea) toast_policy.zbytea_bytea_cmp(@extschema@.zbytea, bytea),
  OPERATOR 1 pg_catalog.< (bytea, @extschema@.zbytea),
  OPERATOR 2 pg_catalog.<= (bytea, @extschema@.zbytea),
  OPERATOR 3 pg_catalog.= (bytea, @extschema@.zbytea),
  OPERATOR 4 pg_catalog.>= (bytea, @extschema@.zbytea),
  OPERATOR 5 pg_catalog.> (bytea, @extschema@.zbytea),
  FUNCTION 1 (bytea, @extschema@.zbytea) toast_policy.bytea_zbytea_cmp(bytea, @extschema@.zbytea),
  OPERATOR 1 toast_policy.#<# (bytea, bytea),
  OPERATOR 2 toast_policy.#<=# (bytea, bytea),
  OPERATOR 3 toast_policy.#=# (bytea, bytea),
  OPERATOR 4 toast_policy.#>=# (bytea, bytea),
  OPERATOR 5 toast_policy.#># (bytea, bytea),
  FUNCTION 1 (bytea, bytea) pg_catalog.byteacmp(bytea, bytea),
  FUNCTION 2 (bytea, bytea) pg_catalog.bytea_sortsupport(internal);

CREATE FUNCTION toast_policy.zbytea_hash(@extschema@.zbytea) RETURNS int4
AS 'MODULE_PATHNAME', 'tp_zbytea_hash' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.zbytea_hash_extended(@extschema@.zbytea, int8) RETURNS int8
AS 'MODULE_PATHNAME', 'tp_zbytea_hash_extended' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.bytea_hash(bytea) RETURNS int4
AS 'MODULE_PATHNAME', 'tp_bytea_hash' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION toast_policy.bytea_hash_extended(bytea, int8) RETURNS int8
AS 'MODULE_PATHNAME', 'tp_bytea_hash_extended' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE OPERATOR FAMILY toast_policy.zbytea_ops USING hash;
CREATE OPERATOR CLASS toast_policy.zbytea_ops DEFAULT FOR TYPE @extschema@.zbytea USING hash FAMILY toast_policy.zbytea_ops AS
  OPERATOR 1 pg_catalog.=,
  FUNCTION 1 toast_policy.zbytea_hash(@extschema@.zbytea), FUNCTION 2 toast_policy.zbytea_hash_extended(@extschema@.zbytea, int8);
ALTER OPERATOR FAMILY toast_policy.zbytea_ops USING hash ADD
  OPERATOR 1 pg_catalog.= (@extschema@.zbytea, bytea),
  OPERATOR 1 pg_catalog.= (bytea, @extschema@.zbytea),
  OPERATOR 1 toast_policy.#=# (bytea, bytea),
  FUNCTION 1 (bytea, bytea) toast_policy.bytea_hash(bytea), FUNCTION 2 (bytea, bytea) toast_policy.bytea_hash_extended(bytea, int8);

CREATE FUNCTION toast_policy.zbytea_smaller(@extschema@.zbytea, @extschema@.zbytea) RETURNS @extschema@.zbytea
AS 'MODULE_PATHNAME', 'tp_zbytea_smaller' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE AGGREGATE pg_catalog.min(@extschema@.zbytea) (SFUNC = toast_policy.zbytea_smaller, STYPE = @extschema@.zbytea,
  COMBINEFUNC = toast_policy.zbytea_smaller, SORTOP = OPERATOR(pg_catalog.<), PARALLEL = SAFE);
COMMENT ON AGGREGATE pg_catalog.min(@extschema@.zbytea) IS 'smallest value';

CREATE FUNCTION toast_policy.zbytea_larger(@extschema@.zbytea, @extschema@.zbytea) RETURNS @extschema@.zbytea
AS 'MODULE_PATHNAME', 'tp_zbytea_larger' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;

CREATE AGGREGATE pg_catalog.max(@extschema@.zbytea) (SFUNC = toast_policy.zbytea_larger, STYPE = @extschema@.zbytea,
  COMBINEFUNC = toast_policy.zbytea_larger, SORTOP = OPERATOR(pg_catalog.>), PARALLEL = SAFE);
COMMENT ON AGGREGATE pg_catalog.max(@extschema@.zbytea) IS 'largest value';

-- Without this operator, "||" with a literal would be the operator of text,
-- applied to the text representation of the value.
CREATE FUNCTION toast_policy.zbytea_cat(@extschema@.zbytea, @extschema@.zbytea) RETURNS bytea
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN pg_catalog.byteacat($1::bytea, $2::bytea);
CREATE OPERATOR pg_catalog.|| (FUNCTION = toast_policy.zbytea_cat,
  LEFTARG = @extschema@.zbytea, RIGHTARG = @extschema@.zbytea);

-- These functions need not read the whole value.  They are in pg_catalog, where
-- an unqualified call finds them.  A call uses them only if its argument has the
-- type itself.
CREATE FUNCTION pg_catalog.length(@extschema@.zbytea) RETURNS int4
AS 'MODULE_PATHNAME', 'tp_type_octet_length' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_catalog.length(@extschema@.zbytea) IS 'number of bytes';

CREATE FUNCTION pg_catalog.octet_length(@extschema@.zbytea) RETURNS int4
AS 'MODULE_PATHNAME', 'tp_type_octet_length' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_catalog.octet_length(@extschema@.zbytea) IS 'number of bytes';

CREATE FUNCTION pg_catalog.substr(@extschema@.zbytea, int4) RETURNS bytea
AS 'MODULE_PATHNAME', 'tp_zbytea_substr' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_catalog.substr(@extschema@.zbytea, int4) IS 'part of the value that begins at a position';

CREATE FUNCTION pg_catalog.substr(@extschema@.zbytea, int4, int4) RETURNS bytea
AS 'MODULE_PATHNAME', 'tp_zbytea_substr' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_catalog.substr(@extschema@.zbytea, int4, int4) IS 'part of the value that begins at a position, of a given length';

CREATE FUNCTION pg_catalog.substring(@extschema@.zbytea, int4) RETURNS bytea
AS 'MODULE_PATHNAME', 'tp_zbytea_substr' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_catalog.substring(@extschema@.zbytea, int4) IS 'part of the value that begins at a position';

CREATE FUNCTION pg_catalog.substring(@extschema@.zbytea, int4, int4) RETURNS bytea
AS 'MODULE_PATHNAME', 'tp_zbytea_substr' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_catalog.substring(@extschema@.zbytea, int4, int4) IS 'part of the value that begins at a position, of a given length';

-- name of the codec that the value is stored with, "none" if raw
CREATE FUNCTION toast_policy.codec(@extschema@.zbytea) RETURNS text
AS 'MODULE_PATHNAME', 'tp_type_codec_name' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION toast_policy.codec(@extschema@.zbytea) IS 'codec of a stored value; none if the value is not compressed';

--
-- What is in place
--
CREATE VIEW toast_policy.status AS
SELECT c.oid::pg_catalog.regclass AS relation, a.attname AS column_name,
	pg_catalog.format_type(a.atttypid, a.atttypmod) AS data_type, m.amname AS access_method,
	CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' WHEN 'x' THEN 'EXTENDED' END AS storage,
	CASE WHEN a.atttypid OPERATOR(pg_catalog.=) ANY (t.own)
		THEN COALESCE(pg_catalog."substring"(pg_catalog.format_type(a.atttypid, a.atttypmod), '\(([a-z0-9]+)\)$'), 'default')
		ELSE CASE a.attcompression WHEN 'p' THEN 'pglz' WHEN 'l' THEN 'lz4' WHEN '' THEN 'default' END END AS compression,
	CASE WHEN m.amname OPERATOR(pg_catalog.=) 'toast_policy' AND a.atttypid OPERATOR(pg_catalog.<>) ALL (t.own) THEN
		(SELECT o.bytes
		FROM (SELECT pg_catalog."substring"(option, '^toast_tuple_target=(\d+)$')::pg_catalog.int4 FROM pg_catalog.unnest(c.reloptions) option) o (bytes)
		WHERE o.bytes OPERATOR(pg_catalog.<) t.target) END AS out_of_line
FROM (SELECT ARRAY['@extschema@.ztext'::pg_catalog.regtype::pg_catalog.oid, '@extschema@.zbytea'::pg_catalog.regtype::pg_catalog.oid],
		-- the default of toast_tuple_target, a quarter of the page without its header and line pointers
		(pg_catalog.current_setting('block_size')::pg_catalog.int4 OPERATOR(pg_catalog.-) 40)
			OPERATOR(pg_catalog./) 4 OPERATOR(pg_catalog./) 8 OPERATOR(pg_catalog.*) 8) t (own, target)
	CROSS JOIN pg_catalog.pg_class c
	LEFT JOIN pg_catalog.pg_am m ON m.oid OPERATOR(pg_catalog.=) c.relam
	LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) c.oid
		AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped AND a.attlen OPERATOR(pg_catalog.=) (-1)
		AND (m.amname OPERATOR(pg_catalog.=) 'toast_policy' AND a.attstorage OPERATOR(pg_catalog.=) 'e'
			OR a.atttypid OPERATOR(pg_catalog.=) ANY (t.own))
WHERE c.relkind OPERATOR(pg_catalog.=) ANY ('{r,m,p}'::pg_catalog."char"[])
	AND (m.amname OPERATOR(pg_catalog.=) 'toast_policy' OR a.attnum IS NOT NULL);
GRANT SELECT ON toast_policy.status TO public;

COMMENT ON VIEW toast_policy.status IS 'columns that toast_policy governs, and columns of its types';
COMMENT ON COLUMN toast_policy.status.relation IS 'the table';
COMMENT ON COLUMN toast_policy.status.column_name IS 'name of the column; null for a table of the access method without a governed column';
COMMENT ON COLUMN toast_policy.status.data_type IS 'data type of the column';
COMMENT ON COLUMN toast_policy.status.access_method IS 'access method of the table; null for a partitioned table without one';
COMMENT ON COLUMN toast_policy.status.storage IS 'STORAGE of the column';
COMMENT ON COLUMN toast_policy.status.compression IS
	'COMPRESSION of the column, or codec of its type; default if the setting decides';
COMMENT ON COLUMN toast_policy.status.out_of_line IS
	'minimum bytes of a value of the column to be stored out of line, even in small rows; null if only values of large rows are';

--
-- Advice
--
CREATE FUNCTION toast_policy.advise(relation regclass DEFAULT NULL, columns name[] DEFAULT NULL,
	sample_pages integer DEFAULT 1000,
	OUT relation regclass, OUT column_name name, OUT strategy_now text, OUT codec_now text, OUT level_now integer,
	OUT strategy_after text, OUT codec_after text, OUT level_after integer,
	OUT read_us_now float8, OUT read_us_after float8, OUT bytes_now bigint, OUT bytes_after bigint,
	OUT reason text, OUT risk text, OUT blockers text[], OUT statement text, OUT undo text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'tp_advise'
LANGUAGE C VOLATILE
ROWS 100;

COMMENT ON FUNCTION toast_policy.advise(regclass, name[], integer) IS
	'propose how to store columns with large values (default: of all tables that the caller may read)';

--
-- Comparison of the ways to store a column
--
CREATE FUNCTION toast_policy.compare(relation regclass, column_name name,
	sample_rows integer DEFAULT 1000,
	OUT strategy text, OUT codec text, OUT level integer, OUT sampled bigint,
	OUT raw_bytes bigint, OUT stored_bytes bigint, OUT chunks bigint,
	OUT table_pages bigint, OUT compress_us float8, OUT decompress_us float8,
	OUT read_us float8, OUT recommended boolean, OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'tp_compare'
LANGUAGE C VOLATILE STRICT
ROWS 15;

COMMENT ON FUNCTION toast_policy.compare(regclass, name, integer) IS
	'estimate bytes and times of a column for each way to store it';

CREATE FUNCTION toast_policy.compare_out_of_line(relation regclass, columns name[],
	sample_pages integer DEFAULT 1000,
	OUT min_bytes integer, OUT values_moved bigint[], OUT bytes_saved bigint[],
	OUT rows bigint, OUT row_bytes float8, OUT table_bytes bigint, OUT toast_bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'tp_compare_out_of_line'
LANGUAGE C VOLATILE STRICT
ROWS 6;

COMMENT ON FUNCTION toast_policy.compare_out_of_line(regclass, name[], integer) IS
	'estimate bytes of a table with values of columns out of line, for several values of min_bytes';
