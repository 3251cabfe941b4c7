-- Each customer has one order; the customers come in random order.
INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
SELECT o, d, {{ w }}, c,
    timestamp '2025-01-02' + o * interval '1 second',
    CASE WHEN o <= {{ scale.delivered }} THEN pg_temp.uniform(k, 501, 1, 10) END,
    pg_temp.uniform(k, 502, 5, 15),
    1
FROM (SELECT d, c, o, pg_temp.order_key({{ w }}, d, o) AS k
      FROM (SELECT d, c, row_number() OVER (PARTITION BY d ORDER BY pg_temp.uniform(pg_temp.order_key({{ w }}, d, c), 500, 0, 2147483646), c) AS o
            FROM generate_series(1, 10) AS d, generate_series(1, {{ scale.orders }}) AS c) AS shuffled
      ORDER BY d, o) AS source
