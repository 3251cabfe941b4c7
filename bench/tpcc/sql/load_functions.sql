-- Every value is a hash of seed, row and column ("salt"), so that the same seed
-- gives the same database, in whatever order the tables are loaded.
CREATE FUNCTION pg_temp.uniform(row_key bigint, salt bigint, low integer, high integer) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (low + (hashint8extended(row_key, salt + {{ seed * 1000 }}) & 9223372036854775807) % (high - low + 1))::integer;

-- 86 random letters and digits.
CREATE FUNCTION pg_temp.letters(row_key bigint, salt bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN translate(encode(sha512(int8send(hashint8extended(row_key, salt + {{ seed * 1000 }}))), 'base64'), E'+/=\n', 'Zz');

CREATE FUNCTION pg_temp.digits(row_key bigint, salt bigint, width integer) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN lpad(((hashint8extended(row_key, salt + {{ seed * 1000 }}) & 9223372036854775807) % (10::numeric ^ width)::bigint)::text, width, '0');

-- i_data and s_data: 26 to 50 letters, one in ten with ORIGINAL somewhere.
CREATE FUNCTION pg_temp.item_data(row_key bigint, random_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN pg_temp.uniform(row_key, 90, 1, 10) = 1
    THEN overlay(left(random_text, pg_temp.uniform(row_key, 91, 26, 50)) PLACING 'ORIGINAL' FROM pg_temp.uniform(row_key, 92, 1, 19))
    ELSE left(random_text, pg_temp.uniform(row_key, 91, 26, 50)) END;

CREATE FUNCTION pg_temp.order_key(w bigint, d bigint, o bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (w * 100 + d) * 10000000 + o;
