INSERT INTO district (d_id, d_w_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, d_ytd, d_next_o_id)
SELECT d, {{ w }},
    left(random_text, pg_temp.uniform(k, 201, 6, 10)),
    substr(random_text, 11, pg_temp.uniform(k, 202, 10, 20)),
    substr(random_text, 31, pg_temp.uniform(k, 203, 10, 20)),
    substr(random_text, 51, pg_temp.uniform(k, 204, 10, 20)),
    upper(substr(random_text, 71, 2)),
    pg_temp.digits(k, 205, 4) || '11111',
    pg_temp.uniform(k, 206, 0, 2000) / 10000.0,
    1000 * {{ scale.customers }},
    {{ scale.orders + 1 }}
FROM (SELECT d, {{ w }} * 100 + d AS k, pg_temp.letters({{ w }} * 100 + d, 200) AS random_text
      FROM generate_series(1, 10) AS d OFFSET 0) AS source
