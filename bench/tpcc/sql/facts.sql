-- Further truths of a database under load, each a query that returns true: what
-- the mix must contain, and what DBT-2 gets wrong.  Loaded orders are of early
-- 2025, so o_entry_d tells which ones the load made.

-- fact: every payment is booked on its customer
SELECT (SELECT count(*) FROM history) = (SELECT sum(c_payment_cnt) FROM customer);

-- fact: s_ytd and s_order_cnt are those of the new order lines
SELECT (SELECT sum(s_ytd) FROM stock) = sum(ol_quantity) AND (SELECT sum(s_order_cnt) FROM stock) = count(*)
FROM order_line JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE o_entry_d > '2025-02-01';

-- fact: there are remote lines, and s_remote_cnt counts them
SELECT count(*) > 0 AND count(*) = (SELECT sum(s_remote_cnt) FROM stock)
FROM order_line WHERE ol_supply_w_id <> ol_w_id;

-- fact: o_all_local is 0 just for orders with remote lines
SELECT bool_and((o_all_local = 0) = remote)
FROM orders
    JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, bool_or(ol_supply_w_id <> ol_w_id) AS remote
          FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS lines
        ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id;

-- fact: some payments come from customers of other warehouses
SELECT count(*) > 0 FROM history WHERE h_w_id <> h_c_w_id;

-- fact: orders have 5 to 15 lines
SELECT min(o_ol_cnt) >= 5 AND max(o_ol_cnt) <= 15 FROM orders;

-- fact: the lines of an order are numbered from 1
SELECT bool_and(first = 1 AND last = lines)
FROM (SELECT min(ol_number) AS first, max(ol_number) AS last, count(*) AS lines
      FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS numbered;

-- fact: amounts are price times quantity
SELECT bool_and(ol_amount = ol_quantity * i_price)
FROM order_line
    JOIN item ON i_id = ol_i_id
    JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE o_entry_d > '2025-02-01';

-- fact: a line carries its stock row's text for the district
SELECT bool_and(ol_dist_info = CASE ol_d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
        WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07
        WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END)
FROM order_line
    JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
    JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE o_entry_d > '2025-02-01';

-- fact: a payment by last name is booked on the middle customer, in the order of first names
UPDATE customer SET c_last = tpcc_last_name(0) WHERE c_w_id = 1 AND c_d_id = 1 AND c_id IN (1, 2, 3, 4);
CREATE TEMPORARY TABLE balances ON COMMIT DROP AS
SELECT c_id, c_balance AS old_balance FROM customer WHERE c_w_id = 1 AND c_d_id = 1;
SELECT tpcc_payment(1, 1, 1, 1, 0, 0, 4321);
SELECT array_agg(c_id) FILTER (WHERE old_balance - c_balance = 4321)
    = ARRAY[(array_agg(c_id ORDER BY c_first, c_id) FILTER (WHERE c_last = tpcc_last_name(0)))
            [(count(*) FILTER (WHERE c_last = tpcc_last_name(0)) + 1) / 2]]
FROM customer JOIN balances USING (c_id)
WHERE c_w_id = 1 AND c_d_id = 1;

-- fact: an order with an unknown item asks to be rolled back
SELECT complete = 0
FROM tpcc_new_order(1, 1, 1, 5, ARRAY[5, 4, 3, 2, 1000000], ARRAY[1, 1, 1, 1, 1], ARRAY[1, 1, 1, 1, 1]);
