CALL bench_uniform(:cycles, :rows);
