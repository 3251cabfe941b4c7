INSERT INTO stock (s_i_id, s_w_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07,
    s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, s_remote_cnt, s_data)
SELECT i, {{ w }},
    pg_temp.uniform(k, 700, 10, 100),
    left(a, 24), substr(a, 25, 24), substr(a, 49, 24),
    left(b, 24), substr(b, 25, 24), substr(b, 49, 24),
    left(c, 24), substr(c, 25, 24), substr(c, 49, 24),
    left(e, 24),
    0, 0, 0,
    pg_temp.item_data(k, substr(e, 25))
FROM (SELECT i, k, pg_temp.letters(k, 701) AS a, pg_temp.letters(k, 702) AS b, pg_temp.letters(k, 703) AS c, pg_temp.letters(k, 704) AS e
      FROM generate_series(1, {{ scale.items }}) AS i, pg_temp.order_key({{ w }}, 99, i) AS k
      OFFSET 0) AS source
