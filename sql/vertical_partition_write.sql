--
-- Test effects of writes through a split view that can be seen in the parts.
--
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = ''vertical_partition''', current_database()); END $$;
\c
CREATE SCHEMA vertical_partition_write;
SET search_path = vertical_partition_write;
SET client_min_messages = warning;
\set VERBOSITY terse
LOAD 'vertical_partition';

-- ON CONFLICT DO NOTHING without a target also applies to unique columns of the cold part.  With a
-- target, and without ON CONFLICT, a duplicate in these columns is an error.
CREATE TABLE shared (k int PRIMARY KEY, c int UNIQUE, x text);
CREATE TABLE surrogate (LIKE shared INCLUDING ALL);
CREATE TABLE pointer (LIKE shared INCLUDING ALL);
SELECT vertical_partition.split('shared', '{c}', 'shared_key'), vertical_partition.split('surrogate', '{c}', 'surrogate_key'),
    vertical_partition.split('pointer', '{c}', 'row_pointer');
INSERT INTO shared VALUES (1, 7, 'a');
INSERT INTO shared VALUES (2, 7, 'b') ON CONFLICT DO NOTHING;
INSERT INTO shared VALUES (2, 7, 'b') ON CONFLICT (k) DO NOTHING;
INSERT INTO shared VALUES (2, 7, 'b');
INSERT INTO shared VALUES (2, 8, 'b'), (3, 8, 'c'), (2, 9, 'd'), (4, 10, 'e') ON CONFLICT DO NOTHING RETURNING *;
INSERT INTO surrogate VALUES (1, 7, 'a');
INSERT INTO surrogate VALUES (2, 7, 'b') ON CONFLICT DO NOTHING;
INSERT INTO surrogate VALUES (2, 7, 'b') ON CONFLICT (k) DO NOTHING;
INSERT INTO surrogate VALUES (2, 7, 'b');
INSERT INTO surrogate VALUES (2, 8, 'b'), (3, 8, 'c'), (2, 9, 'd'), (4, 10, 'e') ON CONFLICT DO NOTHING RETURNING *;
INSERT INTO pointer VALUES (1, 7, 'a');
INSERT INTO pointer VALUES (2, 7, 'b') ON CONFLICT DO NOTHING;
INSERT INTO pointer VALUES (2, 7, 'b') ON CONFLICT (k) DO NOTHING;
INSERT INTO pointer VALUES (2, 7, 'b');
INSERT INTO pointer VALUES (2, 8, 'b'), (3, 8, 'c'), (2, 9, 'd'), (4, 10, 'e') ON CONFLICT DO NOTHING RETURNING *;
SELECT (SELECT count(*) FROM shared_hot), (SELECT count(*) FROM shared_cold), (SELECT count(*) FROM surrogate_hot),
    (SELECT count(*) FROM surrogate_cold), (SELECT count(*) FROM pointer_hot), (SELECT count(*) FROM pointer_cold);

-- A change of cold columns makes a new version of the hot row.  A change of hot columns does not
-- change the cold row.
CREATE TABLE seen AS SELECT h.ctid AS hot, c.ctid AS cold FROM shared_hot h JOIN shared_cold c USING (k) WHERE k = 1;
UPDATE shared SET x = 'hot' WHERE k = 1 AND c = 7;
SELECT h.ctid = hot AS hot, c.ctid = cold AS cold FROM shared_hot h JOIN shared_cold c USING (k), seen WHERE k = 1;
UPDATE seen SET hot = h.ctid FROM shared_hot h WHERE k = 1;
UPDATE shared SET c = 70 WHERE k = 1;
SELECT h.ctid = hot AS hot, c.ctid = cold AS cold FROM shared_hot h JOIN shared_cold c USING (k), seen WHERE k = 1;

-- If a foreign key deletes a hot row, the cold row is deleted as well.
CREATE TABLE parent (p int PRIMARY KEY);
INSERT INTO parent VALUES (1), (2);
CREATE TABLE child (k int PRIMARY KEY, p int REFERENCES parent ON DELETE CASCADE, t text);
INSERT INTO child VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 1, 'c');
SELECT vertical_partition.split('child', '{t}', 'row_pointer');
DELETE FROM parent WHERE p = 1;
SELECT * FROM child;
SELECT count(*) FROM child_cold;
DELETE FROM child RETURNING *;
SELECT count(*) FROM child_cold;

SET client_min_messages = error;
DROP SCHEMA vertical_partition_write CASCADE;
