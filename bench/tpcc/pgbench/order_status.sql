\set w random(1, :warehouses)
\set d random(1, 10)
\set by_name case when random(1, 100) <= 60 then 1 else 0 end
\set c case when :by_name = 1 then 0 else ((random(0, 1023) | random(1, :customers)) + :c_customer) % :customers + 1 end
\set name ((random(0, 255) | random(0, :names - 1)) + :c_last) % :names
SELECT * FROM tpcc_order_status(:w, :d, :c, :name);
