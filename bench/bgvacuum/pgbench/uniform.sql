\set id random(1, :rows) * 2
UPDATE bench_rows SET counter = counter + 1 WHERE id = :id;
