INSERT INTO warehouse (w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd)
SELECT w,
    left(random_text, pg_temp.uniform(w, 101, 6, 10)),
    substr(random_text, 11, pg_temp.uniform(w, 102, 10, 20)),
    substr(random_text, 31, pg_temp.uniform(w, 103, 10, 20)),
    substr(random_text, 51, pg_temp.uniform(w, 104, 10, 20)),
    upper(substr(random_text, 71, 2)),
    pg_temp.digits(w, 105, 4) || '11111',
    pg_temp.uniform(w, 106, 0, 2000) / 10000.0,
    1000 * {{ scale.customers * 10 }}
FROM (SELECT w, pg_temp.letters(w, 100) AS random_text FROM (VALUES ({{ w }})) AS this (w) OFFSET 0) AS source
