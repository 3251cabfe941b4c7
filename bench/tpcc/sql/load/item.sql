INSERT INTO item (i_id, i_im_id, i_name, i_price, i_data)
SELECT i,
    pg_temp.uniform(i, 1, 1, 10000),
    left(random_text, pg_temp.uniform(i, 2, 14, 24)),
    pg_temp.uniform(i, 3, 100, 10000),
    pg_temp.item_data(i, substr(random_text, 30))
FROM (SELECT i, pg_temp.letters(i, 4) AS random_text FROM generate_series(1, {{ scale.items }}) AS i OFFSET 0) AS source
