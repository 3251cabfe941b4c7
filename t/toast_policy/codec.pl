# Give ztext and zbytea payloads that are corrupt in every way, in memory and out of line.  Each
# payload must raise an error about corrupt data, or give a value on which all functions agree.  The
# test fails after a crash or another error, or if a value has bytes from elsewhere in memory.
#
# PGDENSE_FUZZ_CASES is a quarter of the number of payloads (default 2000).  PGDENSE_FUZZ_SEED is
# the random seed.  The test prints it.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cases = 4 * ($ENV{PGDENSE_FUZZ_CASES} || 2000);
my $seed = $ENV{PGDENSE_FUZZ_SEED} || time();
note "seed $seed, $cases payloads";
srand($seed);
my $sql_seed = rand();

my $node = PostgreSQL::Test::Cluster->new('codec');
$node->init(extra => [ '--encoding=SQL_ASCII', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\n");
$node->start;

# These casts take bytes unchanged.  Only a superuser can create them.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION toast_policy;
CREATE CAST (bytea AS ztext) WITHOUT FUNCTION;
CREATE CAST (ztext AS bytea) WITHOUT FUNCTION;
CREATE CAST (ztext AS zbytea) WITHOUT FUNCTION;

-- Return "corrupt", the codec of the value, or the name of a function that disagrees with the
-- others.
CREATE FUNCTION judge(z ztext, y zbytea, k int, l int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  b bytea;
  result text;
  expression text;
BEGIN
  BEGIN
    b := y::bytea;
  EXCEPTION WHEN data_corrupted THEN
    -- Then every other expression that reads the data must raise an error as well.
    FOREACH expression IN ARRAY ARRAY['z::text', 'format(''%s'', z)', 'z < ''x''', 'z = z::text', 'toast_policy.ztext_hash(z)',
      'toast_policy.zbytea_hash(y)', 'substr(y, 1, 1)', 'substr(z, 2)', 'toast_policy.ztext_send(z)', 'toast_policy.zbytea_send(y)']
    LOOP
      BEGIN
        EXECUTE 'SELECT ' || expression || ' FROM (SELECT $1, $2) x (z, y)' INTO result USING z, y;
        RETURN 'not an error: ' || expression;
      EXCEPTION WHEN data_corrupted THEN
        NULL;
      END;
    END LOOP;
    RETURN 'corrupt';
  END;
  IF octet_length(y) <> length(b) OR octet_length(z) <> length(b) OR length(z) <> length(b) THEN RETURN 'length'; END IF;
  IF substr(y, k, l) <> substr(b, k, l) OR substr(y, k) <> substr(b, k) THEN RETURN 'substr'; END IF;
  IF y <> b OR NOT b = y OR NOT y = y OR y < b OR y > b THEN RETURN 'comparison'; END IF;
  IF toast_policy.zbytea_hash(y) <> toast_policy.bytea_hash(b) THEN RETURN 'hash'; END IF;
  IF y::zbytea(lz4) <> b OR y::zbytea(none) <> b OR y::zbytea(zstd) <> b THEN RETURN 'recode'; END IF;
  IF toast_policy.zbytea_send(y) <> b THEN RETURN 'send'; END IF;
  RETURN toast_policy.codec(y);
END $$;

CREATE FUNCTION random_bytes(n int) RETURNS bytea LANGUAGE sql VOLATILE AS
$$ SELECT coalesce(decode(string_agg(lpad(to_hex((random() * 255)::int), 2, '0'), ''), 'hex'), '') FROM generate_series(1, n) $$;

CREATE FUNCTION mutate(p bytea) RETURNS bytea LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  n int := length(p);
  i int := (random() * (n - 1))::int;
BEGIN
  IF n < 2 THEN RETURN p; END IF;
  RETURN CASE (random() * 9)::int
    WHEN 0 THEN substr(p, 1, i)
    WHEN 1 THEN set_byte(p, i, (random() * 255)::int)
    WHEN 2 THEN set_byte(p, 0, (random() * 255)::int)
    WHEN 3 THEN set_byte(p, 0, (random() * 3)::int)
    WHEN 4 THEN CASE WHEN n > 5 THEN overlay(p PLACING random_bytes(1 + (random() * 3)::int) FROM 2) ELSE p END
    WHEN 5 THEN CASE WHEN n > 5 THEN set_byte(p, 1, (random() * 255)::int) ELSE p END
    WHEN 6 THEN p || random_bytes((random() * 9)::int)
    WHEN 7 THEN overlay(p PLACING random_bytes((random() * 9)::int) FROM i + 1)
    WHEN 8 THEN CASE WHEN n > 12 THEN set_byte(p, 5 + (random() * 7)::int, (random() * 255)::int) ELSE p END
    ELSE substr(p, 1, i) || substr(p, i + 1 + (random() * 5)::int)
  END;
END $$;
SQL

$node->safe_psql('postgres', <<"SQL");
SELECT setseed($sql_seed);
CREATE TABLE garbage (id int, payload bytea, z ztext, y zbytea) WITH (toast_tuple_target = 128);
INSERT INTO garbage (id, payload)
SELECT i, CASE WHEN i % 20 = 0 THEN random_bytes(i % 100) WHEN i % 50 = 1 THEN p WHEN i % 3 = 0 THEN mutate(mutate(p)) ELSE mutate(p) END
FROM (SELECT i, toast_policy.text_ztext(t, i % 4, true)::bytea AS p
      FROM (SELECT i, CASE i % 5 WHEN 0 THEN repeat('abc', i % 3000) WHEN 1 THEN string_agg(md5(j::text), '') WHEN 2 THEN repeat(md5(i::text) || 'x', 1 + i % 90)
                             WHEN 3 THEN string_agg(j || ' words', ',') ELSE repeat('y', 66 + i % 70) END AS t
            FROM generate_series(1, $cases) i, generate_series(1, 1 + i % 300) j GROUP BY i) x) y;
SQL

my %results;
for my $where ('in memory', 'stored')
{
	my $value = $where eq 'stored' ? 'z' : 'payload::ztext';
	$node->safe_psql('postgres',
		'UPDATE garbage SET z = payload::ztext, y = payload::ztext::zbytea')
	  if $where eq 'stored';
	$results{$where} = $node->safe_psql('postgres', <<"SQL");
SELECT result, count(*), min(id) FROM (SELECT id, judge($value, $value\::zbytea, id % 300 - 10, id % 7000) AS result FROM garbage) x GROUP BY result ORDER BY result
SQL
	my %count = map { /^(.*)\|(\d+)\|\d+$/; ($1 => $2) } split /\n/, $results{$where};
	note "$where: $results{$where}";
	is( join(' ', sort keys %count),
		'corrupt lz4 none snappy zstd',
		"$where: each payload is an error or a consistent value");
	cmp_ok($count{corrupt}, '>', $cases / 4, "$where: many payloads are corrupt");
}
is($results{'stored'}, $results{'in memory'},
	'payloads give the same results in memory and out of line');
cmp_ok(
	$node->safe_psql(
		'postgres',
		q{SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE oid = 'garbage'::regclass}),
	'>', 100000,
	'the TOAST table has values');

# An impossible size is refused before memory is allocated for it.
for my $payload (
	'0100000020', '02000000208080808002',
	'030000002028b52ffda000000020', '01ffffff3f',
	'03ffffff7f28b52ffda0ffffff7f')
{
	my (undef, undef, $err) =
	  $node->psql('postgres', "SELECT ('\\x$payload'::bytea || random_bytes(1000))::ztext::text");
	like(
		$err,
		qr/ERROR:  compressed value is corrupt\nDETAIL:  The size that the value claims is impossible/,
		"an impossible size is refused: $payload");
}

$node->stop;
done_testing();
