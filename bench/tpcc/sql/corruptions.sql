-- Damage to a sound database, one for each consistency condition.  A heading
-- names the conditions that must notice it, and no others may: the first is the
-- one to be proven, others follow where they compare the same value.

-- 1, 9: a district's year-to-date total
UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = 1 AND d_id = 1;

-- 2: a district's next order number
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 1;

-- 3: a gap in the new orders, where all that a delivery leaves behind is there
CREATE TEMPORARY TABLE middle ON COMMIT DROP AS
SELECT min(no_o_id) + 1 AS order_no FROM new_order WHERE no_w_id = 1 AND no_d_id = 1;
UPDATE orders SET o_carrier_id = 1 FROM middle WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = order_no;
UPDATE order_line SET ol_delivery_d = localtimestamp, ol_amount = 0 FROM middle
WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = order_no;
UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1;
DELETE FROM new_order USING middle WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = order_no;

-- 4, 6: a lost order line
DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1;

-- 5: an undelivered order without its row in new_order, the counts of its district made good
DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1
    AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = 1 AND no_d_id = 1);
UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1;

-- 6: line counts of two orders of a district, with the right sum
UPDATE orders SET o_ol_cnt = o_ol_cnt + CASE o_id WHEN 1 THEN 1 ELSE -1 END
WHERE o_w_id = 1 AND o_d_id = 1 AND o_id IN (1, 2);

-- 7: an order line whose delivery date is gone
UPDATE order_line SET ol_delivery_d = '1970-01-01' WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1;

-- 8, 1: a warehouse's year-to-date total
UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1;

-- 9: totals of two districts, with the right sum
UPDATE district SET d_ytd = d_ytd + CASE d_id WHEN 1 THEN 1 ELSE -1 END WHERE d_w_id = 1 AND d_id IN (1, 2);

-- 10: a customer's balance, made good by what the customer has paid
UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1
WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1;

-- 11: a customer's number of deliveries
UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1;

-- 12: what a customer has paid
UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1;
