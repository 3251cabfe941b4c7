CALL bench_insert(:cycles);
