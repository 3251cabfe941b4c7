INSERT INTO new_order (no_o_id, no_w_id, no_d_id)
SELECT o, {{ w }}, d
FROM generate_series(1, 10) AS d, generate_series({{ scale.delivered + 1 }}, {{ scale.orders }}) AS o
