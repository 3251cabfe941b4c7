INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
    ol_amount, ol_dist_info)
SELECT o, d, {{ w }}, n,
    pg_temp.uniform(k, 600, 1, {{ scale.items }}),
    {{ w }},
    CASE WHEN o <= {{ scale.delivered }} THEN timestamp '2025-01-02' + o * interval '1 second' ELSE {{ undelivered }} END,
    5,
    CASE WHEN o <= {{ scale.delivered }} THEN 0 ELSE pg_temp.uniform(k, 601, 1, 999999) END,
    left(pg_temp.letters(k, 602), 24)
FROM (SELECT o, d, n, pg_temp.order_key({{ w }}, d, o) * 16 + n AS k
      FROM generate_series(1, 10) AS d,
          generate_series(1, {{ scale.orders }}) AS o,
          generate_series(1, pg_temp.uniform(pg_temp.order_key({{ w }}, d, o), 502, 5, 15)) AS n
      OFFSET 0) AS source
