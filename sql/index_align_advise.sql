-- Check what advise() proposes, for which indexes, and that its statements do what they say.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET client_min_messages = warning;

CREATE SCHEMA ia_advise;
SET search_path = ia_advise, public;
CREATE VIEW shown AS SELECT NULL::regclass AS relation, NULL::regclass AS index;
CREATE FUNCTION show(relation regclass DEFAULT NULL, concurrently boolean DEFAULT true)
RETURNS TABLE (index text, alignment int, smaller boolean, reason text, blockers text[], statement text, undo text)
LANGUAGE sql AS $$
  SELECT a.index::text COLLATE "C", a.alignment, a.bytes_after < a.bytes_now, a.reason, a.blockers, a.statement, a.undo
  FROM index_align.advise($1, $2) a JOIN pg_class c ON c.oid = a.index
  WHERE c.relnamespace IN ('ia_advise'::regnamespace, pg_my_temp_schema()) ORDER BY 1
$$;

-- The arguments and the columns have the names that they have in all extensions.
SELECT unnest(string_to_array(pg_get_function_arguments('index_align.advise'::regproc), ', ')) AS arguments;

-- A table with indexes of all kinds.  Without a relation, advise() shows only what can be smaller.
CREATE TABLE t (id int NOT NULL, small int2 NOT NULL, large int8 NOT NULL, word text NOT NULL, free int);
INSERT INTO t SELECT i, i % 1000, i, 'word ' || i, i FROM generate_series(1, 20000) i;
CREATE UNIQUE INDEX t_id ON t (id);
CREATE INDEX t_small ON t (small, id);
CREATE INDEX t_large ON t (large);
CREATE INDEX t_id_large ON t (id, large);
CREATE INDEX t_two ON t (id, id);
CREATE INDEX t_max ON t (id) WITH (item_alignment = max);
CREATE INDEX t_waits ON t (id);
ALTER INDEX t_waits SET (item_alignment = auto);
CREATE INDEX t_auto ON t (id) WITH (item_alignment = auto);
CREATE INDEX t_few ON t (id) WHERE id < 100;
CREATE INDEX t_none ON t (id) WHERE false;
CREATE INDEX t_hash ON t USING hash (id);
CREATE INDEX "t ""quoted""" ON t (id);
CREATE TABLE excluded (a int NOT NULL, EXCLUDE (a WITH =));
INSERT INTO excluded SELECT generate_series(1, 20000);
CREATE TEMP TABLE mine (a int NOT NULL);
INSERT INTO mine SELECT generate_series(1, 20000);
CREATE INDEX mine_a ON mine (a);
VACUUM ANALYZE t, excluded, mine;
SELECT relation, index, alignment, bytes_now = pg_relation_size(index) AS now,
  round(bytes_after::numeric / bytes_now, 1) AS after
FROM index_align.advise() WHERE relation IN ('t'::regclass, 'excluded'::regclass, 'mine'::regclass)
ORDER BY index::text COLLATE "C";
SELECT index, statement, undo FROM show();
SELECT index, statement, undo FROM show(concurrently => false);

-- With a relation, it shows each B-tree of the table, and says why nothing is proposed.
SELECT index, alignment, smaller, reason FROM show('t');
SELECT count(*) FROM index_align.advise('t') WHERE (alignment IS NULL) <> (statement IS NULL)
  OR (alignment IS NULL) <> (undo IS NULL) OR blockers <> '{}' OR (alignment IS NULL) <> (bytes_after = bytes_now);
SELECT * FROM show('t_id');
SELECT * FROM show('t_large');

-- Arguments that are no table or B-tree.
SELECT * FROM index_align.advise('t_hash');
SELECT * FROM index_align.advise('shown');
SELECT * FROM index_align.advise(4294967295::oid);
SELECT * FROM index_align.advise(concurrently => NULL);
SELECT count(*) FROM index_align.advise('pg_class');

-- Partitions have rows of their own, and none is the partitioned index's.
CREATE TABLE parts (a int NOT NULL) PARTITION BY RANGE (a);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (20000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (20000) TO (20100);
INSERT INTO parts SELECT generate_series(0, 20099);
CREATE INDEX parts_a ON parts (a);
VACUUM ANALYZE parts;
SELECT index, alignment, reason FROM show('parts');
SELECT index, alignment, reason FROM show('parts_a');
SELECT index, alignment FROM show() WHERE index LIKE 'parts%';

-- An invalid index is shown with what blocks its rebuild.
CREATE TABLE twice (a int NOT NULL);
INSERT INTO twice SELECT i / 2 FROM generate_series(1, 20000) i;
CREATE UNIQUE INDEX CONCURRENTLY twice_a ON twice (a);
SELECT index, alignment, reason, blockers FROM show('twice');
CREATE INDEX t_bad ON t (id);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 't_bad'::regclass;
SELECT * FROM show() WHERE index = 't_bad';
UPDATE pg_index SET indislive = false WHERE indexrelid = 't_bad'::regclass;
SELECT index, blockers, statement FROM show() WHERE index = 't_bad';
DROP INDEX t_bad;

-- The statistics make the estimate better: advise() says if they are missing, or hidden from the
-- role.  Without a relation, it leaves out the tables that the role may not read.
CREATE TABLE fresh (word text NOT NULL, free int);
ALTER TABLE fresh SET (autovacuum_enabled = false);
INSERT INTO fresh SELECT 'word ' || i, i FROM generate_series(1, 20000) i;
CREATE INDEX fresh_word ON fresh (word);
CREATE INDEX fresh_free ON fresh (free);
SELECT index, alignment, reason FROM show('fresh');
ANALYZE fresh;
SELECT index, alignment, reason FROM show('fresh');
CREATE ROLE regress_index_align_reader;
GRANT USAGE ON SCHEMA ia_advise TO regress_index_align_reader;
SET ROLE regress_index_align_reader;
SELECT index FROM show();
SELECT index, alignment, reason FROM show('fresh');
RESET ROLE;
GRANT SELECT (free) ON fresh TO regress_index_align_reader;
SET ROLE regress_index_align_reader;
SELECT index, alignment, reason FROM show();
RESET ROLE;
REVOKE SELECT (free) ON fresh FROM regress_index_align_reader;
GRANT SELECT ON fresh TO regress_index_align_reader;
SET ROLE regress_index_align_reader;
SELECT index, alignment, reason FROM show();
RESET ROLE;

-- Each statement makes its index smaller, and its undo takes it back, with the storage parameter
-- that the index had.  The setting of the session makes no difference.
CREATE VIEW state AS
SELECT c.relname::text COLLATE "C" AS index, index_align.item_alignment(c.oid), reloptions
FROM pg_class c WHERE relname IN ('t_id', 't_max', 't_waits', 't "quoted"', 'excluded_a_excl', 'mine_a') ORDER BY 1;
CREATE TABLE proposed AS SELECT * FROM show()
WHERE index IN ('t_id', 't_max', 't_waits', '"t ""quoted"""', 'excluded_a_excl', 'mine_a');
TABLE state;
SELECT regexp_split_to_table(statement, '; ') FROM proposed \gexec
TABLE state;
SET default_index_item_alignment = auto;
SELECT regexp_split_to_table(undo, '; ') FROM proposed \gexec
RESET default_index_item_alignment;
TABLE state;

-- Without CONCURRENTLY, they run as one query, and in a transaction.
TRUNCATE proposed;
INSERT INTO proposed SELECT * FROM show(concurrently => false) WHERE index IN ('t_id', 't_max', 't_waits');
SELECT statement FROM proposed \gexec
TABLE state;
SET default_index_item_alignment = auto;
BEGIN;
SELECT undo FROM proposed \gexec
COMMIT;
RESET default_index_item_alignment;
TABLE state;

DROP SCHEMA ia_advise CASCADE;
DROP TABLE mine;
DROP ROLE regress_index_align_reader;
