--
-- Indexes on governed columns compress long keys, as indexes on EXTENDED columns do, however the
-- index is created.
--
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET search_path = public, toast_policy;
SET default_toast_compression = pglz;

CREATE FUNCTION key_storage(regclass) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(attstorage::text, '' ORDER BY c.oid, attnum)
	FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_attribute a ON attrelid = indexrelid
	WHERE indrelid = $1 AND atttypid = 'text'::regtype
$$;

-- Create indexes before and after enable().
CREATE TABLE ti (id int, doc text);
CREATE INDEX ti_before ON ti (doc);
SELECT enable('ti', 'doc');
SELECT key_storage('ti');
INSERT INTO ti SELECT i, repeat('x', 10000 + i) FROM generate_series(1, 50) i;
CREATE INDEX ti_plain ON ti (doc);
CREATE UNIQUE INDEX ti_unique ON ti (id, doc);
CREATE INDEX CONCURRENTLY ti_concurrently ON ti (doc DESC) INCLUDE (id);
CREATE INDEX ti_include ON ti (id) INCLUDE (doc);
CREATE INDEX ti_expression ON ti ((doc || 'x'), doc);
ALTER TABLE ti ADD CONSTRAINT ti_pkey PRIMARY KEY (doc, id);
ALTER TABLE ti ADD CONSTRAINT ti_excl EXCLUDE USING btree (doc WITH =, id WITH =);
SELECT key_storage('ti');
REINDEX TABLE ti;
REINDEX TABLE CONCURRENTLY ti;
VACUUM FULL ti;
SELECT key_storage('ti');
INSERT INTO ti SELECT 100 + i, repeat('y', 10000 + i) FROM generate_series(1, 50) i;
SET enable_seqscan = off;
SELECT id, length(doc) FROM ti WHERE doc = repeat('y', 10007);
RESET enable_seqscan;

-- Keys of governed columns have the same size limit as keys of EXTENDED columns.
INSERT INTO ti SELECT 1000, string_agg(md5(i::text), '') FROM generate_series(1, 300) i;

-- Create an index in the transaction that creates the table.
BEGIN;
CREATE TABLE ti2 (doc text) USING toast_policy;
ALTER TABLE ti2 ALTER doc SET STORAGE EXTERNAL;
CREATE INDEX ON ti2 (doc);
INSERT INTO ti2 VALUES (repeat('x', 2700)), (repeat('y', 20000));
COMMIT;
SELECT key_storage('ti2');
ALTER TABLE ti2 ALTER doc TYPE text COLLATE "C";
SELECT key_storage('ti2'), length(min(doc)) FROM ti2;

-- A user runs SET STORAGE.
CREATE TABLE ti3 (doc text) USING toast_policy;
CREATE INDEX ON ti3 (doc);
ALTER TABLE ti3 ALTER doc SET STORAGE EXTERNAL;
SELECT key_storage('ti3');
SELECT enable('ti3', 'doc');
SELECT key_storage('ti3');
INSERT INTO ti3 VALUES (repeat('x', 20000));

-- Test partitioned tables and their indexes.
CREATE TABLE tp (id int, doc text) PARTITION BY RANGE (id);
CREATE TABLE tp1 PARTITION OF tp FOR VALUES FROM (0) TO (100);
CREATE INDEX tp_before ON tp (doc);
SELECT enable('tp');
CREATE TABLE tp2 (id int, doc text);
ALTER TABLE tp ATTACH PARTITION tp2 FOR VALUES FROM (100) TO (200);
CREATE INDEX tp_after ON tp (id, doc);
INSERT INTO tp1 VALUES (1, repeat('x', 20000));
INSERT INTO tp2 VALUES (101, repeat('x', 20000));
SELECT key_storage('tp1'), key_storage('tp2');
-- enable() also changes a partition that was attached with another storage.
SELECT enable('tp', 'doc');
SELECT c.relname, amname, attstorage, key_storage(c.oid) FROM pg_class c JOIN pg_am am ON am.oid = relam JOIN pg_attribute a ON attrelid = c.oid
WHERE relname IN ('tp1', 'tp2') AND attname = 'doc' ORDER BY 1;
SELECT disable('tp');
SELECT c.relname, amname, attstorage, key_storage(c.oid) FROM pg_class c JOIN pg_am am ON am.oid = relam JOIN pg_attribute a ON attrelid = c.oid
WHERE relname IN ('tp1', 'tp2') AND attname = 'doc' ORDER BY 1;
SELECT enable('tp'), disable_all() > 2;
SELECT attstorage FROM pg_attribute WHERE attrelid = 'tp'::regclass AND attname = 'doc';

-- Neither session_replication_role nor a call for another event disables the guard.
CREATE TABLE guarded (doc text);
SELECT enable('guarded');
SET session_replication_role = replica;
DROP EXTENSION toast_policy CASCADE;
RESET session_replication_role;
CREATE EVENT TRIGGER other_event ON sql_drop EXECUTE FUNCTION toast_policy.guard_drop();
CREATE TABLE dropped ();
DROP TABLE dropped;
DROP EVENT TRIGGER other_event;

DROP TABLE ti, ti2, ti3, tp, guarded;
DROP FUNCTION key_storage;
