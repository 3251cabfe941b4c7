--
-- Run queries on a converted table, and on the original table.  The output has only the queries
-- whose results differ.
--
CREATE EXTENSION compact_char8;
CREATE EXTENSION compact_decimal4_2;
CREATE EXTENSION compact_decimal8_4;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
CREATE TABLE tw (id int PRIMARY KEY, c char(8), t text, v varchar(20), u int, u2 int, i int, d numeric(7,2), e numeric(10,4),
  s timestamp(0), z timestamptz(0));
INSERT INTO tw SELECT g, 'c' || g % 10, 't' || g % 10, 'v' || g % 10, g % 200, g * 7 % 250 + 1, g % 100 - 50, g / 100.0, g / 50.0,
  timestamp '2000-01-01' + g * interval '1 s', timestamptz '2000-01-01' + g * interval '1 s' FROM generate_series(1, 200) g;
CREATE TABLE tn (id int PRIMARY KEY, c compact_char8, t compact_text, v compact_text, u uint1, u2 uint2, i int1, d compact_decimal4_2,
  e compact_decimal8_4, s seconds4, z seconds4tz);
INSERT INTO tn SELECT * FROM tw;
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  EXECUTE query INTO result;
  RETURN result;
EXCEPTION WHEN OTHERS THEN
  RETURN 'error ' || sqlstate;
END $$;
CREATE FUNCTION four(query text) RETURNS text LANGUAGE sql AS $$ SELECT regexp_replace(query, '\mu(2?)\M', 'b\1', 'g') $$;
CREATE TABLE ex (n serial, x text, tail text DEFAULT 'FROM T WHERE id = 5');
COPY ex (x) FROM stdin;
coalesce(d, 0)
coalesce(d, 0.5)
coalesce(d, 1.5::float8)
coalesce(d, '0')
greatest(d, 0)
greatest(d, 0, 1.5)
least(d, 10000000000)
nullif(d, 0)
nullif(0, d)
CASE WHEN id = 1 THEN d ELSE 0 END
CASE WHEN id = 5 THEN d ELSE 0 END
CASE WHEN id = 1 THEN d ELSE 0.005 END
CASE WHEN id = 1 THEN d ELSE e END
coalesce(d, e)
greatest(d, e)
greatest(d, e, 5)
greatest(d, u)
coalesce(d, u)
coalesce(u, d)
d * 1.5::float8
d * 1.5
d * 2
d * u
d + u
u + d
d / u2
d + e
d - 1
-d
+d
@d
abs(d)
d % 2
d ^ 2
d ^ 0.5
mod(d, 2)
mod(d, e)
div(d, 2)
sign(d)
power(d, 2)
sqrt(d)
exp(d)
ln(d)
log(d)
log(2, d)
radians(d)
degrees(d)
sin(d)
point(d, e)
round(d, 1)
round(d)
trunc(d)
trunc(d, 1)
ceil(d)
ceiling(d)
floor(d)
width_bucket(d, 0, 10, 5)
width_bucket(d, e, 10, 5)
to_char(d, '999.99')
to_char(u, '999')
to_char(z, 'YYYY')
to_char(s, 'YYYY')
to_char(u2, '999')
pg_size_pretty(u)
money '9.99' / u
scale(d)
min_scale(d)
trim_scale(d)
gcd(u, u2)
gcd(u, 10)
lcm(u, u2)
d::text
d::int
d::float8
d::bigint
cast(d AS numeric(5,1))
d::varchar(3)
to_json(d)
to_jsonb(d)
jsonb_build_object('d', d, 'u', u, 's', s, 'c', c, 't', t)
row_to_json(ROW(d,u,s,c,t))
format('%s %s %s', d, u, t)
format('%L', t)
concat(d, u, t, c, z)
concat_ws(',', d, u, t)
d || 'x'
u || 'x'
'x' || d
t || u
t || d
t || 1
c || 1
c || 'x'
c || t
t || c
t || v
1 || t
t || NULL
t || 'x'::varchar
t || s
quote_literal(t)
quote_literal(d)
quote_literal(u)
quote_nullable(d)
extract(epoch from z)
extract(epoch from s)
extract(year from z)
date_part('year', z)
date_part('hour', s)
date_trunc('hour', z)
date_trunc('hour', s)
date_trunc('hour', z, 'UTC')
date_bin('15 minutes', s, '2000-01-01')
date_bin('15 minutes', z, '2000-01-01')
z + interval '1 day'
interval '1 day' + z
z - interval '1 day'
s + interval '1 day'
z - z
s - s
z - s
s - z
z - now() < '0'
now() - z > '0'
now() > z
z < now()
current_timestamp > z
localtimestamp > s
s < localtimestamp
current_date > s::date
z < current_date
current_date > z
age(z)
age(s)
age(s, s)
age(now(), z) > '0'
age(z, '1999-01-01')
z::date
s::date
z::time
s::time
z::timetz
z AT TIME ZONE 'UTC'
s AT TIME ZONE 'UTC'
timezone('UTC', z)
z::text
s::text
coalesce(z, now())
coalesce(s, '2000-01-01')
coalesce(z, s)
greatest(z, '2000-01-01')
greatest(z, now()) > '2020-01-01'
least(s, localtimestamp)
isfinite(z)
isfinite(s)
(z, z) OVERLAPS (z, z)
(z, interval '1 day') OVERLAPS (now(), now())
(s, s) OVERLAPS (s, s)
tstzrange(z, z, '[]')
tsrange(s, s, '[]')
tstzrange(z, now()) @> z
z <@ tstzrange('1999-01-01', now())
tstzrange('1999-01-01', now()) @> z
s <@ tsrange('1999-01-01', '2030-01-01')
numrange(0, 10) @> d
d <@ numrange(0, 10)
int4range(0, 10) @> u
u <@ int4range(0, 10)
int8range(0, 10) @> u2
int4range(u, u2)
int4range(u, u2 + 1)
numrange(d, e)
numrange(d, 10)
justify_interval(z - z)
make_interval(days => u)
make_interval(secs => u)
make_interval(secs => d)
make_date(2000, u::int, 1)
make_date(2000, i+50, 1)
make_timestamp(2000, 1, u2, 1, 1, d)
to_timestamp(u)
to_timestamp(u2)
to_timestamp(d)
u * interval '1 day'
interval '1 day' * u
interval '1 day' * d
d * interval '1 day'
u2 * interval '1 day'
interval '1 day' / u
interval '1 day' / d
date '2000-01-01' + u
date '2000-01-01' + u2
date '2000-01-01' - u
u + date '2000-01-01'
\.
COPY ex (x) FROM stdin;
u + u2
u * 1.5
u * 1.5::float8
u / 2
u + 1::int2
u + 1::int8
u + 1::numeric
u & 1
u & u2
u & '3'
u & '300'
'300' & u
u & 300
u & 1::int8
u & 1::int2
300 & u
u | u2
u | 1
u | i
u | 1::int8
u # u2
u # 1
u # 1::int8
~u
~u2
u << 2
u << u2
u << u
u >> 1
u2 << 1
1 << u
1::int8 << u
2 << u2
1000 >> u
u ^ 2
2 ^ u
u % 2
u % u2
mod(u, 2)
mod(u, u2)
mod(100, u)
mod(u, 3::int8)
mod(u, '300')
div(u, 2)
abs(i)
sign(i)
-u
-i
@ i
|/ u
power(u, 2)
power(u, 2.5)
sqrt(u)
round(u)
round(u, 1)
round(u / 2.0, 2)
ceil(u)
ln(u)
sin(u)
pi() * u
least(u, u2)
least(u, u2, 3)
least(u, 3::int8)
least(u, 3.5)
least(u, 3.5::float8)
least(u, 3::int2)
greatest(u, u2, i)
greatest(u, '300')
ARRAY[u, u2]
ARRAY[u, 300]
ARRAY[u, 300::int8]
ARRAY[u, 2.5]
ARRAY[u, 2.5::float8]
ARRAY[u, 2::int2]
ARRAY[d, e]
ARRAY[d, 5]
ARRAY[d, 5.555]
ARRAY[t, v]
ARRAY[t, 'x']
ARRAY[c, t]
ARRAY[c, 'x']
ARRAY[t, 'x'::text]
ARRAY[s, z]
ARRAY[z, now()] IS NOT NULL
CASE WHEN id = 5 THEN u ELSE u2 END
CASE WHEN id = 1 THEN u ELSE u2 END
CASE WHEN id = 1 THEN u ELSE 300 END
CASE WHEN id = 1 THEN u ELSE 300::int8 END
CASE WHEN id = 1 THEN u ELSE 3.5 END
CASE WHEN id = 1 THEN u ELSE NULL END
CASE WHEN id = 1 THEN u ELSE i END
CASE WHEN id = 1 THEN u ELSE 2::int2 END
coalesce(u, u2)
coalesce(u, 300)
coalesce(u, 0)
coalesce(u, 2::int2)
coalesce(u, 300::int8)
coalesce(u, 3.5)
coalesce(NULL, u, u2, i)
nullif(u, u2)
nullif(u, 300)
nullif(u, 5)
nullif(u, 5::int8)
nullif(u, 5.0)
nullif(u, i)
nullif(t, '')
nullif(t, v)
nullif(c, '')
nullif(c, t)
coalesce(t, 'x')
coalesce(t, 'x'::text)
coalesce(t, v)
coalesce(c, 'x')
coalesce(c, 'x'::text)
coalesce(c, t)
coalesce(c, 'much longer than eight')
coalesce(nullif(c, 'c5'), 'much longer than eight')
coalesce(nullif(t, 't5'), c)
greatest(t, 'x')
greatest(t, v)
greatest(c, t)
CASE WHEN id=1 THEN t ELSE 'x' END
CASE WHEN id=1 THEN c ELSE 'longer than eight' END
CASE WHEN id=1 THEN t ELSE v END
CASE WHEN id=1 THEN c ELSE t END
CASE t WHEN 't5' THEN 1 END
CASE c WHEN 'c5' THEN 1 WHEN 'longer than eight' THEN 2 END
CASE u WHEN 5 THEN 1 END
CASE d WHEN 0.05 THEN 1 END
CASE u WHEN u2 THEN 1 ELSE 2 END
substr(t, 1, 1)
substr(t, u - 4, 1)
substr(t, u, 1)
substr('abcdefghij', u)
substring(t from 1 for 1)
substring('abcdefghij' from u for u2)
substring(t from '[0-9]')
substring(c from '[0-9]')
substring(t similar '%#"[0-9]#"' escape '#')
left(t, u - 4)
left('abcdef', u)
right('abcdef', u)
left(t, 1)
left(c, 1)
lpad(u::text, 5, '0')
lpad(t, 5, '0')
lpad(t, u)
lpad(c, u2, 'x')
repeat('x', u)
repeat(t, u)
chr(u + 60)
chr(u2)
to_hex(u)
to_hex(u2)
upper(t)
lower(c)
initcap(t)
length(t)
length(c)
char_length(t)
octet_length(t)
octet_length(c)
bit_length(t)
pg_column_size(t) > 0
trim(t)
trim(both 't' from t)
btrim(t, 't')
ltrim(c, 'c')
rtrim(c)
replace(t, 't', 'x')
translate(t, 't', 'x')
reverse(t)
split_part(t, 't', 2)
split_part(t, 't', u - 3)
position('5' in t)
strpos(t, '5')
strpos(c, '5')
overlay(t placing 'x' from 1)
ascii(t)
md5(t)
md5(c)
encode(t::bytea, 'hex')
convert_to(t, 'UTF8')
starts_with(t, 't')
t ^@ 't'
t LIKE 't%'
t LIKE v
c LIKE 'c%'
t ILIKE 'T%'
t NOT LIKE 'x%'
t LIKE ANY (ARRAY['t%','x%'])
t LIKE ANY ('{t%,x%}')
t LIKE ALL (ARRAY['t%','x%'])
c LIKE ANY (ARRAY['c%','x%'])
t ILIKE ANY (ARRAY['T%','x%'])
t ~ ANY (ARRAY['^t','^x'])
t SIMILAR TO 't_'
c SIMILAR TO 'c_'
t ~ '^t'
c ~* '^C'
t !~ 'x'
'abc' LIKE t
'abc' ~ t
regexp_replace(t, '[0-9]', 'x')
regexp_match(t, '[0-9]')
regexp_matches(t, '[0-9]')
regexp_split_to_array(t, '')
regexp_count(t, '[0-9]')
regexp_like(t, '[0-9]')
regexp_substr(c, '[0-9]')
string_to_array(t, 't')
string_to_table(t, 't')
t = 't5'
t = 't5'::text
t = 't5'::varchar
t = 't5'::bpchar
t = 't5'::name
t IN ('t5', 'x')
t IN ('t5'::text, 'x')
t IN ('t5'::varchar, 'x')
c IN ('c5', 'x')
c IN ('c5', 'longer than eight')
c = 'longer than eight'
c = ANY ('{c5,longer than eight}')
c = ANY (ARRAY['c5','longer than eight'])
c = ANY (ARRAY['c5','longer than eight']::varchar[])
c = ANY (ARRAY['c5','longer than eight']::bpchar[])
t = ANY (ARRAY['t5','x'])
t = ANY (ARRAY['t5','x']::varchar[])
t = ANY (ARRAY['t5','x']::text[])
t = ANY ('{t5,x}')
t <> ALL (ARRAY['t5','x']::varchar[])
u = ANY (ARRAY[5,300])
u = ANY (ARRAY[5,300]::int8[])
u = ANY (ARRAY[5,300]::int2[])
u = ANY (ARRAY[5,300]::numeric[])
u = ANY (ARRAY[5,300]::float8[])
d = ANY (ARRAY[0.05,300])
d = ANY (ARRAY[5,300])
d = ANY (ARRAY[5,300]::int8[])
d = ANY (ARRAY[0.05]::float8[])
s = ANY (ARRAY['2000-01-01 00:00:05']::timestamp[])
z = ANY (ARRAY['2000-01-01 00:00:05']::timestamptz[])
s = ANY (ARRAY['2000-01-01']::date[])
z = ANY (ARRAY['2000-01-01 00:00:05']::timestamp[])
u = 5.0
u = 5::float8
u = 5::int2
u = 5::numeric
u < 5.5
d = 0.05::float8
d < 1::float8
d < 1::float4
d < 1::int8
d = 5::int2
1 > d
1.5::float8 > d
d < u
u > d
u = d
d = e
i < d
s = date '2000-01-01'
z > date '1999-01-01'
s < z
s < now()
s > '1999-01-01'::timestamptz
z > '1999-01-01'::timestamp
z = '2000-01-01 00:00:05'::timestamptz
'2000-01-01 00:00:05'::timestamptz = z
z BETWEEN now() - interval '100 years' AND now()
s BETWEEN '1999-01-01' AND now()
z > now() - interval '100 years'
s > current_date - 100
z > current_date - interval '100 years'
d::text = '0.05'
u::text = '5'
u::bool
u::bit(8)
u::"char"
u::float4
u::real
u::oid
u::regclass
u2::int2
i::int2
u::char(2)
t::varchar(1)
t::char(1)
t::"char"
t::name
c::text
c::varchar
c::varchar(1)
c::compact_text
cast(u AS varchar)
cast(d AS text)
d IS NULL
t COLLATE "C" < 'x'
t < 'x' COLLATE "C"
c COLLATE "C" < 'x'
(t, u) = ('t5', 5)
(t, u) < ('t6', 300)
(u, d) IN ((5, 0.05), (300, 1))
ROW(u, d, t) = ROW(5, 0.05, 't5')
ROW(u, d, t) IS NOT DISTINCT FROM ROW(5, 0.05, 't5')
t IS DISTINCT FROM 't5'
t IS DISTINCT FROM v
u IS DISTINCT FROM u2
num_nonnulls(u, d, t)
pg_typeof(u + u2) IS NOT NULL
t IN (SELECT 't5'::text)
t IN (SELECT v FROM tw)
c IN (SELECT c::text FROM tw)
c IN (SELECT 'c5'::varchar)
u IN (SELECT 5)
u IN (SELECT 5::int8)
d IN (SELECT 0.05)
d IN (SELECT 5)
u IN (1, 5, 300)
u IN (1, 5, 300::int8)
d IN (0.05, 1)
d IN (5, 1)
d IN (1, '0.05')
d NOT IN (0.005, 1)
u BETWEEN 1 AND 300
d BETWEEN 0 AND 1
d BETWEEN 0 AND 1.5::float8
u2 = u
u = i
i = u2 - 10
int4(u)
numeric(d)
text(t)
varchar(t)
float8(d)
float8(u)
int8(u)
date(z)
date(s)
"time"(s)
timestamptz(s)
"timestamp"(z)
array_fill(u, ARRAY[2])
array_fill(d, ARRAY[u2 - 34])
ARRAY[u] || u
ARRAY[1, 2] || u
u || ARRAY[1, 2]
ARRAY[1.5] || d
ARRAY['x'] || t
t || ARRAY['x']
ARRAY['x'] || c
array_append(ARRAY[1], u)
array_append(ARRAY['x'], t)
array_prepend(t, ARRAY['x'])
array_position(ARRAY[1,5], u)
array_position(ARRAY['t5'], t)
array_position(ARRAY['t5']::varchar[], t)
array_remove(ARRAY['t5'], t)
array_remove(ARRAY[5,6], u)
array_replace(ARRAY[5,6], u, 7)
u = ANY (string_to_array('1,5', ',')::int[])
t = ANY (string_to_array('x,t5', ','))
(ARRAY[10,20,30,40,50,60])[u]
(ARRAY[10,20,30,40,50,60])[u:u2]
trim_array(ARRAY[1,2,3,4,5,6,7], u)
array_upper(ARRAY[1], u - 4)
generate_series(1, u)
generate_series(u, u2)
generate_series(1, u2, u)
generate_series(d, e)
generate_series(d, 5, 1)
generate_series(z, z + interval '2 day', interval '1 day')
generate_series(z, z, '1 day')
generate_series(s, s, '1 day')
generate_subscripts(ARRAY[1], u - 4)
jsonb '[1,2,3,4,5,6]' -> u
jsonb '{"t5":1}' -> t
jsonb '{"t5":1}' ->> t
json '{"t5":1}' ->> t
jsonb '{"t5":1}' ? t
jsonb '{"t5":1}' - t
jsonb '[1,2,3,4,5,6]' ->> (u - 4)
jsonb_extract_path(jsonb '{"t5":1}', t)
jsonb_set('{"t5":1}', ARRAY[t], '2')
json_build_object(t, u)
json_build_array(t, u, d)
jsonb_object(ARRAY[t, 'x'])
substring(bytea '\\x0011223344556677', u, 2)
B'1010' << u
B'10101010' >> u
lower(t) = 't5'
lower(t) = lower('T5')
upper(c) LIKE 'C%'
coalesce(t, '') || ' ' || coalesce(c, '')
trim(coalesce(t, ''))
t > 'a' AND t < 'z'
t || '%' LIKE 't5%'
width_bucket(u, ARRAY[1,5,10])
width_bucket(d, ARRAY[0.01,0.04,1.5])
cbrt(d)
cos(u)
atan2(d, e)
circle(point(0,0), d)
point(0,0) <-> point(d, e)
ntile(u) OVER ()
lag(u, 1) OVER ()
lag(u, 1, 0) OVER ()
lag(d, 1, 0) OVER ()
lag(d, 1, 0.0) OVER ()
lag(t, 1, '') OVER ()
lag(t, 1, 'x'::text) OVER ()
lag(u, 1, 300) OVER ()
lag(u, u, 300) OVER ()
lead(z, 1, now()) OVER () IS NOT NULL
first_value(u) OVER ()
nth_value(u, u - 4) OVER ()
\.
COPY ex (x, tail) FROM stdin;
array_agg(t) && ARRAY['t5']	FROM T
array_agg(t) @> ARRAY['t5']	FROM T
array_agg(t) <@ ARRAY['t5']	FROM T
ARRAY['t5'] <@ array_agg(t)	FROM T
array_agg(t) && '{t5}'	FROM T
array_agg(t) && ARRAY['t5']::text[]	FROM T
array_agg(t) && ARRAY['t5']::varchar[]	FROM T
array_agg(v) && ARRAY['t5']::varchar[]	FROM T
array_agg(t) = ARRAY['t5']	FROM T
array_agg(t) || ARRAY['x']	FROM T
array_agg(t) || 'x'	FROM T
array_agg(t) || 'x'::text	FROM T
array_cat(array_agg(t), ARRAY['x'])	FROM T
array_append(array_agg(t), 'x')	FROM T
array_append(array_agg(t), 'x'::text)	FROM T
array_prepend('x', array_agg(t))	FROM T
array_position(array_agg(t ORDER BY id), 't5')	FROM T
array_position(array_agg(t ORDER BY id), 't5'::text)	FROM T
array_positions(array_agg(t ORDER BY id), 't5')	FROM T
array_remove(array_agg(t ORDER BY id), 't5')	FROM T
array_remove(array_agg(t ORDER BY id), 't5'::text)	FROM T
array_replace(array_agg(t ORDER BY id), 't5', 'x')	FROM T
array_to_string(array_agg(t ORDER BY id), ',')	FROM T
array_to_string(array_agg(c ORDER BY id), ',')	FROM T
array_to_string(array_agg(u ORDER BY id), ',')	FROM T
array_to_string(array_agg(d ORDER BY id), ',', 'x')	FROM T
string_agg(t, ',' ORDER BY id)	FROM T
string_agg(c, ',' ORDER BY id)	FROM T
string_agg(DISTINCT t, ',' ORDER BY t)	FROM T
string_agg(u::text, ',' ORDER BY id)	FROM T
string_agg(t, c ORDER BY id)	FROM T
array_agg(DISTINCT t ORDER BY t)	FROM T
array_length(array_agg(t), 1)	FROM T
cardinality(array_agg(u))	FROM T
(array_agg(u ORDER BY id))[1]	FROM T
(array_agg(d ORDER BY id))[1:2]	FROM T
array_agg(u) && ARRAY[5]	FROM T
array_agg(u) @> ARRAY[5]	FROM T
array_agg(u) @> '{5}'	FROM T
array_agg(u) @> '{300}'	FROM T
array_agg(u) && ARRAY[5]::int8[]	FROM T
array_agg(u) || ARRAY[5]	FROM T
array_agg(u ORDER BY id) || 5	FROM T
array_append(array_agg(u ORDER BY id), 5)	FROM T
array_position(array_agg(u ORDER BY id), 5)	FROM T
array_remove(array_agg(u ORDER BY id), 5)	FROM T
array_agg(d) && ARRAY[0.05]	FROM T
array_agg(d ORDER BY id) || 5	FROM T
array_agg(d ORDER BY id) || 5.5	FROM T
array_position(array_agg(d ORDER BY id), 0.05)	FROM T
array_agg(z) && ARRAY[now()]	FROM T
array_agg(s) @> ARRAY['2000-01-01 00:00:05']::timestamp[]	FROM T
5 = ANY (array_agg(u))	FROM T
'5' = ANY (array_agg(u))	FROM T
300 = ANY (array_agg(u))	FROM T
't5' = ANY (array_agg(t))	FROM T
't5'::text = ANY (array_agg(t))	FROM T
't5'::varchar = ANY (array_agg(t))	FROM T
0.05 = ANY (array_agg(d))	FROM T
now() = ANY (array_agg(z))	FROM T
'2000-01-01 00:00:05'::timestamptz = ANY (array_agg(z))	FROM T
array_agg(t)::text[] && ARRAY['t5']	FROM T
array_agg(u)::int[] @> ARRAY[5]	FROM T
sum(x) FROM (SELECT unnest(array_agg(u)) x	FROM T) q
count(*) FROM (SELECT unnest(array_agg(t)) x	FROM T) q WHERE x = 't5'
sum(u)	FROM T
sum(u) / count(*)	FROM T
sum(d)	FROM T
sum(d) / 3	FROM T
avg(d)	FROM T
avg(u)	FROM T
avg(u2)	FROM T
round(avg(d), 2)	FROM T
sum(d * 1.5)	FROM T
sum(d * u)	FROM T
sum(u * u2)	FROM T
sum(d) FILTER (WHERE u > 5)	FROM T
sum(CASE WHEN u > 5 THEN d ELSE 0 END)	FROM T
sum(coalesce(d, 0))	FROM T
coalesce(sum(d), 0)	FROM T
coalesce(sum(u), 0)	FROM T
sum(DISTINCT u)	FROM T
min(d)	FROM T
max(z)	FROM T
min(t)	FROM T
max(c)	FROM T
max(u) + 1	FROM T
max(u) + max(u2)	FROM T
coalesce(max(u), 0)	FROM T
coalesce(max(u), 0) + 1	FROM T
coalesce(max(d), 0)	FROM T
coalesce(max(t), '')	FROM T
coalesce(max(z), now())	FROM T
stddev(d)	FROM T
stddev(u)	FROM T
stddev_pop(u2)	FROM T
variance(d)	FROM T
variance(u)	FROM T
var_pop(u)	FROM T
corr(u, u2)	FROM T
corr(d, e)	FROM T
regr_slope(d, e)	FROM T
covar_pop(u, d)	FROM T
bit_and(u)	FROM T
bit_or(u2)	FROM T
bool_and(u > 0)	FROM T
every(d > 0)	FROM T
percentile_cont(0.5) WITHIN GROUP (ORDER BY d)	FROM T
percentile_cont(0.5) WITHIN GROUP (ORDER BY u)	FROM T
percentile_cont(ARRAY[0.5,0.9]) WITHIN GROUP (ORDER BY d)	FROM T
percentile_disc(0.5) WITHIN GROUP (ORDER BY d)	FROM T
percentile_disc(0.5) WITHIN GROUP (ORDER BY t)	FROM T
mode() WITHIN GROUP (ORDER BY u)	FROM T
rank(5) WITHIN GROUP (ORDER BY u)	FROM T
rank('5') WITHIN GROUP (ORDER BY u)	FROM T
rank(300) WITHIN GROUP (ORDER BY u)	FROM T
rank('t5') WITHIN GROUP (ORDER BY t)	FROM T
json_agg(d ORDER BY id)	FROM T
jsonb_agg(t ORDER BY id)	FROM T
json_object_agg(id, d)	FROM T
json_object_agg(id::text||t, d)	FROM T
json_object_agg(t, id)	FROM T
jsonb_object_agg(t, d ORDER BY id)	FROM T
range_agg(int4range(u, u + 1))	FROM T
count(DISTINCT t)	FROM T
count(DISTINCT (u, d))	FROM T
sum(u) OVER (ORDER BY id)	FROM T ORDER BY id DESC LIMIT 1
sum(d) OVER (ORDER BY d RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)	FROM T ORDER BY id DESC LIMIT 1
sum(d) OVER (ORDER BY d RANGE BETWEEN 0.5 PRECEDING AND CURRENT ROW)	FROM T ORDER BY id DESC LIMIT 1
sum(d) OVER (ORDER BY d RANGE BETWEEN '0.005' PRECEDING AND CURRENT ROW)	FROM T ORDER BY id DESC LIMIT 1
sum(d) OVER (ORDER BY u RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)	FROM T ORDER BY id DESC LIMIT 1
sum(d) OVER (ORDER BY u RANGE BETWEEN '300' PRECEDING AND CURRENT ROW)	FROM T ORDER BY id DESC LIMIT 1
sum(d) OVER (ORDER BY z RANGE BETWEEN '1 s' PRECEDING AND CURRENT ROW)	FROM T ORDER BY id DESC LIMIT 1
sum(d) OVER (ORDER BY s RANGE BETWEEN interval '1.5 s' PRECEDING AND CURRENT ROW)	FROM T ORDER BY id DESC LIMIT 1
count(*) FROM (SELECT t	FROM T UNION SELECT 'x'::text) q
count(*) FROM (SELECT t	FROM T UNION SELECT 'x') q
count(*) FROM (SELECT c	FROM T UNION SELECT 'x') q
count(*) FROM (SELECT c	FROM T UNION SELECT 'longer than eight') q
count(*) FROM (SELECT c	FROM T UNION SELECT 'longer than eight'::text) q
count(*) FROM (SELECT t	FROM T UNION SELECT v FROM tw) q
count(*) FROM (SELECT v FROM tw UNION SELECT t	FROM T) q
count(*) FROM (SELECT t	FROM T UNION SELECT c FROM tn) q
count(*) FROM (SELECT t	FROM T EXCEPT SELECT 't5') q
count(*) FROM (SELECT t	FROM T INTERSECT SELECT v FROM tw) q
count(*) FROM (SELECT u	FROM T UNION SELECT 300) q
count(*) FROM (SELECT u	FROM T UNION SELECT 300::int8) q
count(*) FROM (SELECT u	FROM T UNION SELECT 3.5) q
count(*) FROM (SELECT u	FROM T UNION SELECT 3::int2) q
count(*) FROM (SELECT u	FROM T UNION SELECT u2 FROM tn) q
count(*) FROM (SELECT u2	FROM T UNION SELECT u FROM tn) q
count(*) FROM (SELECT u	FROM T UNION SELECT i FROM tn) q
count(*) FROM (SELECT u	FROM T UNION SELECT '300') q
count(*) FROM (SELECT d	FROM T UNION SELECT 5) q
count(*) FROM (SELECT d	FROM T UNION SELECT 0.005) q
count(*) FROM (SELECT d	FROM T UNION SELECT '0.005') q
count(*) FROM (SELECT d	FROM T UNION SELECT e FROM tn) q
count(*) FROM (SELECT d	FROM T UNION SELECT 5::float8) q
count(*) FROM (SELECT d	FROM T UNION SELECT u FROM tn) q
count(*) FROM (SELECT z	FROM T UNION SELECT now()) q
count(*) FROM (SELECT s	FROM T UNION SELECT z FROM tn) q
count(*) FROM (SELECT s	FROM T UNION SELECT localtimestamp) q
count(*) FROM (SELECT s	FROM T UNION SELECT '2000-01-01 00:00:01.5') q
count(*) FROM (SELECT NULL UNION SELECT d	FROM T) q
sum(a.id) FROM tn a JOIN T b ON a.t = b.v	
sum(a.id) FROM tn a JOIN T b ON a.u = b.u2	
sum(a.id) FROM tn a JOIN T b ON a.u = b.id	
sum(a.id) FROM tn a JOIN T b USING (t)	
sum(a.id) FROM tn a JOIN T b USING (u, d, s, z, c)	
sum(a.id) FROM tn a JOIN T b ON a.z = b.z AND a.s = b.s	
sum(a.id) FROM tw a JOIN T b ON a.z = b.z AND a.s = b.s	
sum(a.id) FROM tw a JOIN T b USING (t, u, d, s, z, c)	
sum(a.id) FROM tn a NATURAL JOIN T b	
sum(a.id) FROM tw a NATURAL JOIN T b	
sum(a.id) FROM tw a FULL JOIN T b USING (u2)	
\.
-- Print the queries whose results differ.
SELECT x || CASE WHEN tail LIKE '%id = 5' THEN '' ELSE ' ' || tail END AS query, narrow, wide FROM (
  SELECT n, x, tail, left(outcome(replace(replace(q, 'FROM T', 'FROM tn'), 'JOIN T', 'JOIN tn')), 30) AS narrow,
         left(outcome(replace(replace(q, 'FROM T', 'FROM tw'), 'JOIN T', 'JOIN tw')), 30) AS wide
  FROM (SELECT *, format('SELECT %s %s', x, tail) AS q FROM ex) s OFFSET 0) s
WHERE narrow IS DISTINCT FROM wide ORDER BY n;
SELECT count(*) > 700 AS many FROM ex;
-- Run the queries on u and u2 again, with uint4 instead of uint1 and uint2, and with int8 as the
-- original type.
ALTER TABLE tw ADD b int8, ADD b2 int8;
ALTER TABLE tn ADD b uint4, ADD b2 uint4;
UPDATE tw SET b = u, b2 = u2;
UPDATE tn SET b = u, b2 = u2;
SELECT x || CASE WHEN tail LIKE '%id = 5' THEN '' ELSE ' ' || tail END AS query, narrow, wide FROM (
  SELECT n, x, tail, left(outcome(replace(replace(q, 'FROM T', 'FROM tn'), 'JOIN T', 'JOIN tn')), 30) AS narrow,
         left(outcome(replace(replace(q, 'FROM T', 'FROM tw'), 'JOIN T', 'JOIN tw')), 30) AS wide
  FROM (SELECT n, four(x) AS x, four(tail) AS tail, format('SELECT %s %s', four(x), four(tail)) AS q FROM ex WHERE x || tail ~ '\mu2?\M') s OFFSET 0) s
WHERE narrow IS DISTINCT FROM wide ORDER BY n;
SELECT count(*) > 200 AS many FROM ex WHERE x || tail ~ '\mu2?\M';

-- Expressions of core's types have the same results as without the extension.
SELECT 5 = 5.0 AS a, 5.0 = 5 AS b, 5::int2 < 5.5 AS c, 5::int8 >= 4.5 AS d, 5.5 > 5::float8 AS e, 5::float4 < 5.5 AS f, 1::int8 = 1::oid AS g,
       pg_typeof(coalesce(5, 5.5)) AS h, pg_typeof(greatest(5::int8, 1.5)) AS i, pg_typeof(5 + 5.5) AS j, pg_typeof(ARRAY[1, 2.5]) AS k,
       pg_typeof(coalesce(1::int2, 5)) AS l, pg_typeof(5.5 * '2') AS m, sum(5::int2) AS n, max(5::int8) AS o;
EXPLAIN (COSTS OFF, VERBOSE) SELECT u = d, d = u FROM tw;

-- The planner uses indexes of narrow columns for typed values on either side, and for joins.
CREATE INDEX tn_d ON tn (d);
CREATE INDEX tn_u ON tn (u);
CREATE INDEX tn_u2 ON tn (u2);
CREATE INDEX tn_s ON tn (s);
CREATE INDEX tn_z ON tn (z);
ANALYZE tn, tw;
CREATE FUNCTION condition(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ 'Index Cond' AND line !~ '\((b.)?id = 5\)' THEN
      RETURN btrim(line);
    END IF;
  END LOOP;
  RETURN 'no index';
END $$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT q AS query, condition('SELECT 1 FROM tn WHERE ' || q) FROM unnest(ARRAY['d = 5', '5 > d', '5.5 > d', 'd < 5::int8', 'd = uint2 ''5''', 'uint1 ''5'' >= d',
  'd BETWEEN 0 AND 0.55', 'd IN (5, 1)', 'd IN (5, 1.5)', 'd IN (''5'', ''1'')', 'd = ANY (ARRAY[1, 5])', 'd = ANY (ARRAY[1, 5.5])', '(d, id) > (1, 5)', '(d, id) > (''1'', 5)',
  'u = 5', '5 = u', 'u = 5::int8', 'u = 5::int2', 'u = 300', 'u = ''5''', 'u IN (5, 1)', 'u IN (5, 300::int8)', 'u = ANY (ARRAY[1, 5])', 'u2 > 70000',
  's > timestamp ''2000-01-01 00:00:01.5''', 'timestamp ''2000-01-01'' = s', 'z > timestamptz ''2000-01-01 00:00:01.5''', 'z >= ''2000-01-01''',
  'timestamptz ''2000-01-01'' = z']) q;
SELECT q AS query, condition('SELECT 1 FROM tn a JOIN tw b ON ' || q || ' WHERE b.id = 5') FROM unnest(ARRAY['a.d = b.d', 'b.d = a.d', 'b.u = a.d', 'a.d = b.u', 'a.u = b.u',
  'b.u = a.u', 'a.u2 = b.u2::int8', 'b.u2::int8 = a.u2', 'a.s = b.s', 'b.s = a.s', 'a.z = b.z', 'b.z = a.z']) q;
SELECT q AS query, condition('SELECT 1 FROM tn a JOIN tn b ON ' || q || ' WHERE b.id = 5') FROM unnest(ARRAY['a.d = b.d', 'a.d = b.e', 'a.d = b.u', 'b.u = a.d', 'a.u2 = b.u', 'a.z = b.z']) q;

DROP TABLE tn, tw, ex;
DROP FUNCTION outcome(text), condition(text), four(text);
DROP EXTENSION compact_char8, compact_decimal4_2, compact_decimal8_4;
