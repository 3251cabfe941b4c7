-- 3 integers, ten strings of 24 characters, 2 integers; "source" has them as text.
CREATE TABLE source AS
SELECT i AS a, i % 1000 AS b, i % 7 AS c,
    left(t1, 24) AS s1, substr(t1, 25, 24) AS s2, substr(t1, 49, 24) AS s3,
    left(t2, 24) AS s4, substr(t2, 25, 24) AS s5, substr(t2, 49, 24) AS s6,
    left(t3, 24) AS s7, substr(t3, 25, 24) AS s8, substr(t3, 49, 24) AS s9,
    left(t4, 24) AS s10,
    i % 13 AS y, i AS z
FROM (SELECT i, texts[1] AS t1, texts[2] AS t2, texts[3] AS t3, texts[4] AS t4
      FROM generate_series(1, {{ rows }}) AS i,
          LATERAL (SELECT array_agg(translate(encode(sha512(convert_to(format('{{ seed }} %s %s', i, n), 'UTF8')), 'base64'), E'+/=\n', 'Zz')
                                    ORDER BY n) AS texts
                   FROM generate_series(1, 4) AS n) AS random
      OFFSET 0) AS lines;
{% for name, type in types %}
CREATE TABLE speed_{{ name }} (
    a integer, b integer, c integer,
    {% for n in range(1, 11) %}s{{ n }} {{ type }} COLLATE "{{ collation }}", {% endfor %}

    y integer, z integer);
CREATE TABLE target_{{ name }} (LIKE speed_{{ name }});
INSERT INTO speed_{{ name }} SELECT * FROM source;
CREATE TABLE joined_{{ name }} (s {{ type }} COLLATE "{{ collation }}", id integer);
INSERT INTO joined_{{ name }} SELECT s1, a FROM source ORDER BY s2;
CREATE TABLE lookup_{{ name }} (k {{ type }} COLLATE "{{ collation }}" PRIMARY KEY, v integer);
INSERT INTO lookup_{{ name }} SELECT (1000000000000000000 + i * 7919::bigint)::text, i FROM generate_series(1, {{ rows }}) AS i ORDER BY hashint4(i);
{% endfor %}
