SELECT tpcc_new_order(1, 1, 1, 5, ARRAY[5, 4, 3, 2, 1], ARRAY[1, 1, 1, 1, 1], ARRAY[1, 1, 1, 1, 1])
FROM generate_series(1, 5);
