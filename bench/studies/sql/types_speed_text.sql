-- Strings of 24 letters and digits, and texts made unique by a number.
{% for name, type in types %}
CREATE TABLE texts_{{ name }} (
    id integer, code {{ type }} COLLATE "{{ collation }}", body {{ type }} COLLATE "{{ collation }}", z integer);
CREATE TABLE text_codes_{{ name }} (code {{ type }} COLLATE "{{ collation }}", id integer);
CREATE TABLE text_keys_{{ name }} (k {{ type }} COLLATE "{{ collation }}" PRIMARY KEY, v integer);
INSERT INTO text_keys_{{ name }}
SELECT 'customer/' || (1000000 + i * 7919::bigint) || '/orders', i
FROM generate_series(1, {{ rows }}) AS i ORDER BY hashint4(i);
INSERT INTO texts_{{ name }}
SELECT i, left(translate(encode(sha512(int8send(i + {{ seed }}::bigint * 10000000)), 'base64'), E'+/=\n', 'Zz'), 24),
    value || ' ' || i, i
FROM mix JOIN generate_series(1, {{ rows }}) AS i ON number = i % {{ bodies }}
WHERE mix.name = '{{ body }}'
ORDER BY i;
INSERT INTO text_codes_{{ name }} SELECT code, id FROM texts_{{ name }} ORDER BY hashint4(id);
{% endfor %}
