/* wal_directio_patch/wal_directio--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION wal_directio" to load this file. \quit

-- From 18 on, pg_stat_io counts the WAL that has been written, and the view
-- combines these counts with those of the server patch.  The columns of
-- pg_stat_io that the view reads do not exist in 17, so its definition must
-- not even be parsed in 17.
DO $script$
BEGIN
	IF current_setting('server_version_num')::int4 >= 180000 THEN
		CREATE FUNCTION pg_stat_get_wal_direct(OUT mode text, OUT fallback_reason text, OUT filesystem text,
			OUT write_unit int4, OUT minimum_unit int4, OUT cache_relief bool,
			OUT relieved_segments int8, OUT stats_since timestamptz)
		RETURNS record
		AS 'MODULE_PATHNAME', 'pg_stat_get_wal_direct'
		LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

		-- Leave the walreceiver out: it writes the received WAL itself, not by
		-- XLogWrite().
		CREATE VIEW pg_stat_wal_direct AS
		SELECT w.mode, w.fallback_reason, w.filesystem, w.write_unit, w.minimum_unit, w.cache_relief,
			i.writes, i.write_bytes, i.inits, i.init_bytes, i.stats_reset,
			w.relieved_segments, w.stats_since
		FROM pg_stat_get_wal_direct() w,
			(SELECT coalesce(sum(writes) FILTER (WHERE context = 'normal'), 0)::int8 AS writes,
				coalesce(sum(write_bytes) FILTER (WHERE context = 'normal'), 0) AS write_bytes,
				coalesce(sum(writes) FILTER (WHERE context = 'init'), 0)::int8 AS inits,
				coalesce(sum(write_bytes) FILTER (WHERE context = 'init'), 0) AS init_bytes,
				max(stats_reset) AS stats_reset
			FROM pg_catalog.pg_stat_io
			WHERE object = 'wal' AND backend_type <> 'walreceiver') i;

		COMMENT ON COLUMN pg_stat_wal_direct.writes IS 'write calls, of pg_stat_io';
		COMMENT ON COLUMN pg_stat_wal_direct.write_bytes IS 'bytes of these write calls';
		COMMENT ON COLUMN pg_stat_wal_direct.inits IS 'calls that filled new segments, of pg_stat_io';
		COMMENT ON COLUMN pg_stat_wal_direct.init_bytes IS 'bytes of these calls';
		COMMENT ON COLUMN pg_stat_wal_direct.stats_reset IS 'when pg_stat_io was reset';
		COMMENT ON COLUMN pg_stat_wal_direct.stats_since IS 'when relieved_segments began';
	ELSE
		CREATE FUNCTION pg_stat_get_wal_direct(OUT mode text, OUT fallback_reason text, OUT filesystem text,
			OUT write_unit int4, OUT minimum_unit int4, OUT cache_relief bool,
			OUT direct_writes int8, OUT direct_bytes numeric, OUT buffered_writes int8, OUT buffered_bytes numeric,
			OUT direct_inits int8, OUT buffered_inits int8, OUT relieved_segments int8, OUT stats_since timestamptz)
		RETURNS record
		AS 'MODULE_PATHNAME', 'pg_stat_get_wal_direct'
		LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

		CREATE VIEW pg_stat_wal_direct AS
		SELECT w.mode, w.fallback_reason, w.filesystem, w.write_unit, w.minimum_unit, w.cache_relief,
			w.direct_writes, w.direct_bytes, w.buffered_writes, w.buffered_bytes,
			w.direct_inits, w.buffered_inits, w.relieved_segments, w.stats_since
		FROM pg_stat_get_wal_direct() w;

		COMMENT ON COLUMN pg_stat_wal_direct.direct_writes IS 'write calls with direct I/O';
		COMMENT ON COLUMN pg_stat_wal_direct.direct_bytes IS 'bytes of these write calls';
		COMMENT ON COLUMN pg_stat_wal_direct.buffered_writes IS 'write calls through the page cache';
		COMMENT ON COLUMN pg_stat_wal_direct.buffered_bytes IS 'bytes of these write calls';
		COMMENT ON COLUMN pg_stat_wal_direct.direct_inits IS 'new segments filled with zeroes by direct I/O';
		COMMENT ON COLUMN pg_stat_wal_direct.buffered_inits IS
			'new segments filled with zeroes through the page cache';
		COMMENT ON COLUMN pg_stat_wal_direct.stats_since IS 'time at which the counters were last set to zero';
	END IF;
END
$script$;

-- everybody may read pg_stat_wal and pg_stat_io, too
GRANT SELECT ON pg_stat_wal_direct TO public;

COMMENT ON FUNCTION pg_stat_get_wal_direct() IS
	'state and counters in shared memory, for the view pg_stat_wal_direct';
COMMENT ON VIEW pg_stat_wal_direct IS
	'how this server writes WAL, and how much it has written';
COMMENT ON COLUMN pg_stat_wal_direct.mode IS 'direct or buffered';
COMMENT ON COLUMN pg_stat_wal_direct.fallback_reason IS
	'reason why the mode is buffered although direct I/O was requested';
COMMENT ON COLUMN pg_stat_wal_direct.filesystem IS
	'file system of pg_wal; null unless direct I/O was requested';
COMMENT ON COLUMN pg_stat_wal_direct.write_unit IS 'unit in effect, in bytes';
COMMENT ON COLUMN pg_stat_wal_direct.minimum_unit IS
	'smallest unit that the file system accepts for direct I/O; null if it is not known';
COMMENT ON COLUMN pg_stat_wal_direct.cache_relief IS
	'whether finished segments are dropped from the page cache';
COMMENT ON COLUMN pg_stat_wal_direct.relieved_segments IS 'segments dropped from the page cache';
