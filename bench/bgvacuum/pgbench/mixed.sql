\set k random(1, :rows)
\set first :k * 2
\set second :k * 2 + 1
WITH gone AS (DELETE FROM bench_rows WHERE id IN (:first, :second) RETURNING id) SELECT coalesce(max(id), 0) AS gone FROM gone \gset
\set other :first + :second - :gone
INSERT INTO bench_rows SELECT :other::integer, 0, repeat('x', 73) WHERE :gone::integer > 0;
\set k random(1, :rows)
\set first :k * 2
\set second :k * 2 + 1
UPDATE bench_rows SET counter = counter + 1 WHERE id IN (:first, :second);
