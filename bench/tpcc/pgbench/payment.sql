\set w random(1, :warehouses)
\set d random(1, 10)
\set remote case when :warehouses > 1 and random(1, 100) <= 15 then 1 else 0 end
\set cw case when :remote = 1 then (:w - 1 + random(1, greatest(:warehouses - 1, 1))) % :warehouses + 1 else :w end
\set cd case when :remote = 1 then random(1, 10) else :d end
\set by_name case when random(1, 100) <= 60 then 1 else 0 end
\set c case when :by_name = 1 then 0 else ((random(0, 1023) | random(1, :customers)) + :c_customer) % :customers + 1 end
\set name ((random(0, 255) | random(0, :names - 1)) + :c_last) % :names
\set amount random(100, 500000)
SELECT tpcc_payment(:w, :d, :cw, :cd, :c, :name, :amount);
