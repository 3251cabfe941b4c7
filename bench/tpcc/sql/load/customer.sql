INSERT INTO customer (c_id, c_d_id, c_w_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip,
    c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data)
SELECT c, d, {{ w }},
    left(random_text, pg_temp.uniform(k, 301, 8, 16)),
    'OE',
    -- The first thousand customers have one name each, the others NURand(255, 0, 999).
    tpcc_last_name(CASE WHEN c <= {{ scale.names }} THEN c - 1
        ELSE ((pg_temp.uniform(k, 302, 0, 255) | pg_temp.uniform(k, 303, 0, {{ scale.names - 1 }})) + {{ c_last_load }}) % {{ scale.names }} END),
    substr(random_text, 17, pg_temp.uniform(k, 304, 10, 20)),
    substr(random_text, 37, pg_temp.uniform(k, 305, 10, 20)),
    substr(random_text, 57, pg_temp.uniform(k, 306, 10, 20)),
    upper(substr(random_text, 77, 2)),
    pg_temp.digits(k, 307, 4) || '11111',
    pg_temp.digits(k, 308, 16),
    timestamp '2025-01-01' + c * interval '1 second',
    CASE WHEN pg_temp.uniform(k, 309, 1, 10) = 1 THEN 'BC' ELSE 'GC' END,
    5000000,
    pg_temp.uniform(k, 310, 0, 5000) / 10000.0,
    -1000, 1000, 1, 0,
    substr(random_text, 87, pg_temp.uniform(k, 311, 300, 500))
FROM (SELECT d, c, k, pg_temp.letters(k, 320) || pg_temp.letters(k, 321) || pg_temp.letters(k, 322) || pg_temp.letters(k, 323)
             || pg_temp.letters(k, 324) || pg_temp.letters(k, 325) || pg_temp.letters(k, 326) AS random_text
      FROM generate_series(1, 10) AS d, generate_series(1, {{ scale.customers }}) AS c, pg_temp.order_key({{ w }}, d, c) AS k
      OFFSET 0) AS source
