\set seed random(1, 2000000000)
CALL bench_groups(:cycles, :rows, :seed);
