-- dense.report(): kinds of rows, order of proposals, arguments, apply() and undo()
SET client_min_messages = warning;
CREATE EXTENSION compact_types;
SET compact_types.auto = off;

-- features that are not installed, and an empty database
SELECT kind, feature, reason, statement FROM dense.report();

CREATE SCHEMA "An App";
CREATE TABLE "An App"."the Orders" (id int PRIMARY KEY, "Note" text NOT NULL, state char(10), n int);
INSERT INTO "An App"."the Orders" SELECT i, 'delivered to the customer on ' || date '2026-01-01' + i % 300, 'open', i % 7 FROM generate_series(1, 20000) i;
CREATE INDEX "by Note" ON "An App"."the Orders" ("Note");
CREATE INDEX "by Note, id" ON "An App"."the Orders" ("Note", id);
CREATE TABLE small (t text);
CREATE TABLE blocked (id int PRIMARY KEY, t text);
INSERT INTO blocked SELECT i, 'some words of a text ' || i FROM generate_series(1, 20000) i;
CREATE MATERIALIZED VIEW uses AS SELECT t FROM blocked;
CREATE TABLE parts (id int, t text) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parts FOR VALUES FROM (1) TO (100000);
INSERT INTO parts SELECT i, 'some words of a text ' || i FROM generate_series(1, 20000) i;
ANALYZE;

SELECT kind, proposal, relation, feature, columns, bytes_after < bytes_now AS smaller, confidence, lock_mode, blockers
FROM dense.report(min_bytes => 0) WHERE kind NOT IN ('skipped', 'total') AND feature <> 'index_align' ORDER BY proposal, kind;
SELECT kind, feature, relation, reason FROM dense.report(min_bytes => 1000000) WHERE kind = 'skipped' ORDER BY feature, reason;
SELECT statement, undo FROM dense.report(relation => '"An App"."the Orders"') WHERE proposal = 'compact_types "An App"."the Orders"';
-- a partitioned table stands for its partitions
SELECT DISTINCT relation FROM dense.report(relation => 'parts') WHERE kind = 'blocked';
-- the size is the measured one
SELECT min(bytes_now) = (SELECT total FROM dense_internal.table_bytes('"An App"."the Orders"'::regclass)) AS size
FROM dense.report(relation => '"An App"."the Orders"') WHERE kind = 'total';

-- an index that shrinks by its types is that much smaller before it is aligned
SELECT bytes_now < pg_relation_size(relation) AS counted_once
FROM dense.report(relation => '"An App"."the Orders"') WHERE proposal = 'index_align "An App"."by Note, id"';

-- a parameter of an index may be written in each way that the server accepts
CREATE INDEX n_on ON "An App"."the Orders" (n);
CREATE INDEX n_off ON "An App"."the Orders" (n) WITH (deduplicate_items = off);
CREATE INDEX n_of ON "An App"."the Orders" (n) WITH (deduplicate_items = of);
CREATE INDEX n_fals ON "An App"."the Orders" (n) WITH (deduplicate_items = 'FALS');
SELECT array_agg(c.relname ORDER BY c.relname) AS equal
FROM pg_class c, LATERAL dense_internal.index_model(c.oid, 20000, '{}') m WHERE c.relname LIKE 'n\_%' AND c.relnamespace = '"An App"'::regnamespace
GROUP BY m.bytes_now ORDER BY m.bytes_now;
DROP INDEX "An App".n_on, "An App".n_off, "An App".n_of, "An App".n_fals;
-- the widths of a row of statistics may be anything
SELECT dense_internal.btree_bytes('{-1}', '{4}', '{1e300}', '{0}', '{0}', 8, 90, 1000, '{500}', '{2}');

-- arguments.  No error of the extension has a context.
SELECT * FROM dense.report(0);
SELECT * FROM dense.report(NULL);
SELECT * FROM dense.report(min_bytes => -1);
SELECT * FROM dense.report(relation => 'pg_stats');
SELECT * FROM dense.report(with_risk => NULL);

-- nothing is written
BEGIN READ ONLY;
SELECT count(*) > 1 AS works FROM dense.report(min_bytes => 0);
COMMIT;
-- no lock stays
BEGIN;
SELECT count(*) > 1 AS works FROM dense.report(min_bytes => 0);
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation IN ('blocked'::regclass, 'part'::regclass, '"An App"."the Orders"'::regclass);
COMMIT;

-- apply() refuses before it runs anything
\set VERBOSITY terse
CALL dense.apply();
\set VERBOSITY default
CALL dense.apply(NULL);
CALL dense.apply('compact_types "An App"."the Orders"', 'compact_types public.nothing');
CALL dense.apply('compact_types "An App"."the Orders"', 'compact_types "An App"."the Orders"; DROP TABLE small');
CALL dense.apply('compact_types "An App"."the Orders"', 'vertical_partition "An App"."the Orders"');
CALL dense.apply('compact_types "An App"."the Orders"', 'compact_types public.blocked');
CALL dense.apply('compact_types "An App"."the Orders"', 'compact_types_with_risk "An App"."the Orders"');
BEGIN;
CALL dense.apply('compact_types "An App"."the Orders"');
ROLLBACK;
SELECT count(*) FROM dense.applied;

CALL dense.apply('compact_types "An App"."the Orders"');
SELECT feature, relation, columns, id, bytes_now > 0 AS bytes_now, bytes_saved > 0 AS bytes_saved, reason FROM dense.status;
SELECT feature, relation, columns, old_types, new_types FROM dense.applied;
-- it is gone
CALL dense.apply('compact_types "An App"."the Orders"');
-- a rename does no harm
ALTER TABLE "An App"."the Orders" RENAME TO orders;
CALL dense.undo(17);
BEGIN;
CALL dense.undo();
ROLLBACK;
CALL dense.undo();
-- nothing is left
SET client_min_messages = notice;
CALL dense.undo();
SET client_min_messages = warning;
\d "An App".orders
SELECT count(*) FROM dense.applied;
SELECT count(*) FROM dense.status;
-- done by hand
SELECT new_type FROM compact_types.convert('"An App".orders');
SELECT feature, relation, columns, id, bytes_saved, reason FROM dense.status;

DROP SCHEMA "An App" CASCADE;
DROP TABLE small, blocked, parts CASCADE;
DROP EXTENSION compact_types;
