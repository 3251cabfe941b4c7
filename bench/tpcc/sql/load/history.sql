INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
SELECT c, d, {{ w }}, d, {{ w }},
    timestamp '2025-01-01' + c * interval '1 second',
    1000,
    left(pg_temp.letters(k, 400), pg_temp.uniform(k, 401, 12, 24))
FROM generate_series(1, 10) AS d, generate_series(1, {{ scale.customers }}) AS c, pg_temp.order_key({{ w }}, d, c) AS k
