-- The consistency conditions of clause 3.3.2.  Each view holds what violates
-- one of them and is empty on a sound database.
CREATE VIEW violation_01 AS
SELECT w_id, w_ytd, total
FROM warehouse
    FULL JOIN (SELECT d_w_id, sum(d_ytd) AS total FROM district GROUP BY d_w_id) AS d ON d_w_id = w_id
WHERE w_ytd IS DISTINCT FROM total;
COMMENT ON VIEW violation_01 IS 'w_ytd = sum(d_ytd)';

CREATE VIEW violation_02 AS
SELECT d_w_id, d_id, d_next_o_id, last_order, last_new
FROM district
    LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last_order FROM orders GROUP BY o_w_id, o_d_id) AS o
        ON o_w_id = d_w_id AND o_d_id = d_id
    LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last_new FROM new_order GROUP BY no_w_id, no_d_id) AS n
        ON no_w_id = d_w_id AND no_d_id = d_id
-- A district without outstanding orders has no last one.
WHERE d_next_o_id - 1 IS DISTINCT FROM last_order OR d_next_o_id - 1 <> last_new;
COMMENT ON VIEW violation_02 IS 'd_next_o_id - 1 = max(o_id) = max(no_o_id)';

CREATE VIEW violation_03 AS
SELECT no_w_id, no_d_id, min(no_o_id) AS first_new, max(no_o_id) AS last_new, count(*) AS outstanding
FROM new_order
GROUP BY no_w_id, no_d_id
HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*);
COMMENT ON VIEW violation_03 IS 'max(no_o_id) - min(no_o_id) + 1 = number of new orders';

CREATE VIEW violation_04 AS
SELECT coalesce(o_w_id, ol_w_id) AS w_id, coalesce(o_d_id, ol_d_id) AS d_id, announced, lines
FROM (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS announced FROM orders GROUP BY o_w_id, o_d_id) AS o
    FULL JOIN (SELECT ol_w_id, ol_d_id, count(*) AS lines FROM order_line GROUP BY ol_w_id, ol_d_id) AS l
        ON ol_w_id = o_w_id AND ol_d_id = o_d_id
WHERE announced IS DISTINCT FROM lines;
COMMENT ON VIEW violation_04 IS 'sum(o_ol_cnt) = number of order lines of the district';

CREATE VIEW violation_05 AS
SELECT coalesce(o_w_id, no_w_id) AS w_id, coalesce(o_d_id, no_d_id) AS d_id, coalesce(o_id, no_o_id) AS o_id, o_carrier_id
FROM orders
    FULL JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE o_id IS NULL OR (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL);
COMMENT ON VIEW violation_05 IS 'o_carrier_id is null just where there is a new order';

CREATE VIEW violation_06 AS
SELECT coalesce(o_w_id, ol_w_id) AS w_id, coalesce(o_d_id, ol_d_id) AS d_id, coalesce(o_id, ol_o_id) AS o_id, o_ol_cnt, lines
FROM orders
    FULL JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS lines
               FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l
        ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE o_ol_cnt IS DISTINCT FROM lines;
COMMENT ON VIEW violation_06 IS 'o_ol_cnt = number of order lines of the order';

-- A variant of the schema says "not delivered" by 1970-01-01 instead of null.
CREATE VIEW violation_07 AS
SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_carrier_id
FROM order_line
    LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE (nullif(ol_delivery_d, '1970-01-01') IS NULL) <> (o_carrier_id IS NULL);
COMMENT ON VIEW violation_07 IS 'ol_delivery_d is null just where o_carrier_id is';

CREATE VIEW violation_08 AS
SELECT coalesce(w_id, h_w_id) AS w_id, w_ytd, paid
FROM warehouse
    FULL JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id) AS h ON h_w_id = w_id
WHERE w_ytd IS DISTINCT FROM paid;
COMMENT ON VIEW violation_08 IS 'w_ytd = sum(h_amount)';

CREATE VIEW violation_09 AS
SELECT coalesce(d_w_id, h_w_id) AS w_id, coalesce(d_id, h_d_id) AS d_id, d_ytd, paid
FROM district
    FULL JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) AS h
        ON h_w_id = d_w_id AND h_d_id = d_id
WHERE d_ytd IS DISTINCT FROM paid;
COMMENT ON VIEW violation_09 IS 'd_ytd = sum(h_amount)';

CREATE VIEW customer_delivered AS
SELECT o_w_id, o_d_id, o_c_id, sum(lines_total) AS delivered
FROM orders
    JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, sum(ol_amount) AS lines_total
          FROM order_line WHERE nullif(ol_delivery_d, '1970-01-01') IS NOT NULL
          GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l
        ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
GROUP BY o_w_id, o_d_id, o_c_id;

CREATE VIEW violation_10 AS
SELECT c_w_id, c_d_id, c_id, c_balance, delivered, paid
FROM customer
    LEFT JOIN customer_delivered ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
    LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid
               FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h
        ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
WHERE c_balance <> coalesce(delivered, 0) - coalesce(paid, 0);
COMMENT ON VIEW violation_10 IS 'c_balance = sum(delivered ol_amount) - sum(h_amount)';

-- As written, the condition says 2100 and holds until the first Delivery.
CREATE VIEW violation_11 AS
SELECT d_w_id, d_id, orders_made, outstanding, deliveries
FROM district
    LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS orders_made FROM orders GROUP BY o_w_id, o_d_id) AS o
        ON o_w_id = d_w_id AND o_d_id = d_id
    LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS outstanding FROM new_order GROUP BY no_w_id, no_d_id) AS n
        ON no_w_id = d_w_id AND no_d_id = d_id
    LEFT JOIN (SELECT c_w_id, c_d_id, sum(c_delivery_cnt) AS deliveries FROM customer GROUP BY c_w_id, c_d_id) AS c
        ON c_w_id = d_w_id AND c_d_id = d_id
WHERE coalesce(orders_made, 0) - coalesce(outstanding, 0) <> {{ scale.delivered }} + coalesce(deliveries, 0);
COMMENT ON VIEW violation_11 IS 'orders - new orders = {{ scale.delivered }} + deliveries';

CREATE VIEW violation_12 AS
SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, delivered
FROM customer
    LEFT JOIN customer_delivered ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
WHERE c_balance + c_ytd_payment <> coalesce(delivered, 0);
COMMENT ON VIEW violation_12 IS 'c_balance + c_ytd_payment = sum(delivered ol_amount)';
