CALL bench_mixed(:cycles, :rows);
