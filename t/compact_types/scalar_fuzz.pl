# Differential fuzzing of the narrow scalars against their wide types: the narrow integers against
# int4 or, if they have four bytes, against int8; seconds4 and seconds4tz against timestamp(0) and
# timestamptz(0), and decimals and uint8 against numeric(p, s).  No result may differ: order, operators with
# all types of the family, hash values, casts, arithmetic, aggregates, text and binary format, and
# index scans.  If one type raises an error, the other must raise an error with the same SQLSTATE.
#
# PGDENSE_FUZZ_CASES is the number of values of each type (default 2000).  PGDENSE_FUZZ_SEED is the
# random seed, which the test prints.
use strict;
use warnings FATAL => 'all';

use File::Spec;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::CompactTypesSamples;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cases = $ENV{PGDENSE_FUZZ_CASES} || 2000;
my $seed = $ENV{PGDENSE_FUZZ_SEED} || time();
srand($seed);
note "seed $seed, $cases values a type";

my $node = PostgreSQL::Test::Cluster->new('scalar_fuzz');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf',
	"fsync = off\ntimezone = 'Europe/Berlin'\ndatestyle = 'ISO, YMD'\n");
$node->start;
my @decimals = ('4_0', '4_2', '4_6', '4_9', '8_0', '8_2', '8_4', '8_8', '8_18');
$node->safe_psql('postgres', 'CREATE EXTENSION compact_types');
# Operators of types without an extension are in the schema compact_types.
$node->safe_psql('postgres', 'ALTER DATABASE postgres SET search_path = public, compact_types');
$node->safe_psql('postgres', "SELECT compact_types.create_decimal($_)")
  for map { tr/_/,/r } @decimals;
# Return the outcome of an expression: its value, or "!" and the SQLSTATE of the error.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION outcome(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  EXECUTE 'SELECT (' || expression || ')::text' INTO result;
  RETURN result;
EXCEPTION WHEN data_exception OR feature_not_supported THEN
  RETURN '!' || SQLSTATE;
END $$;
SQL

sub pick { return $_[ int(rand(@_)) ]; }

# Return an integer in or near the range.  Often it is small or near an end of the range.
sub random_integer
{
	my ($min, $max) = @_;
	my $r = rand();

	return pick($min, $max, $min + 1, $max - 1, 0, 1, -1) if $r < 0.1;
	return pick($min - 1, $max + 1, 2 * $max + 1, 2 * $min - 1, 70000, -70000) if $r < 0.15;
	return int(rand(20)) - ($min < 0 ? 10 : 0) if $r < 0.4;
	return $min + int(rand($max - $min + 1));
}

sub random_timestamp
{
	my $r = rand();
	my $fraction =
	  $r < 0.5 ? '' : sprintf('.%06d', pick(500000, 499999, 500001, int(rand(1000000))));

	return pick(
		'1969-12-31 23:59:59.6',
		'1969-12-31 23:59:59',
		'2106-02-07 06:28:15.4',
		'2106-02-07 06:28:16',
		'infinity',
		'1970-01-01 00:00:00',
		'2106-02-07 06:28:15',
		'1999-12-31 23:59:59.5',
		'2000-01-01 00:00:00.5') if $r < 0.03;
	return sprintf(
		'%04d-%02d-%02d %02d:%02d:%02d%s',
		($r < 0.1 ? 2000 : 1970 + int(rand(137))),
		1 + int(rand(12)),
		1 + int(rand(28)),
		int(rand(24)), int(rand(60)), int(rand(60)), $fraction);
}

# Return a number with about as many digits as the type has, sometimes in another notation.
sub random_decimal
{
	my ($width, $scale) = @_;
	my $ndigits = int(rand($width == 4 ? 11 : 20)) + 1;
	my $digits = join '', map { int(rand(10)) } 1 .. $ndigits;
	my $r = rand();

	$digits =~ s/.{3}$/pick('000', '500', '499', '999', '005')/e if $r < 0.3 && $ndigits > 3;
	return (rand() < 0.4 ? '-' : '') . $digits . 'e' . (int(rand(12)) - 6 - int($scale / 2))
	  if $r > 0.9;
	return pick('NaN', 'Infinity', '-Infinity', '1e40', '-1e40', '1e-40', '0', '-0.0') if $r > 0.88;
	my $point = int(rand($scale + 3));
	$point = $ndigits if $point > $ndigits;
	$digits = substr($digits, 0, $ndigits - $point) . '.' . substr($digits, $ndigits - $point)
	  if $point;
	return (rand() < 0.4 ? '-' : '') . $digits;
}

# Return a number of up to 21 digits, often near an end of the range of uint8.
sub random_uint8
{
	my $r = rand();

	return pick(
		'18446744073709551615', '18446744073709551616',
		'18446744073709551614.5', '18446744073709551615.4999',
		'9223372036854775807', '9223372036854775808',
		'9223372036854775807.5', '-1',
		'-0.5', '-0.4',
		'0.5') if $r < 0.2;
	return random_decimal(8, 0) if $r < 0.3;
	return join '', map { int(rand(10)) } 0 .. int(rand($r < 0.5 ? 5 : 20));
}

# Test one type.  %t has the narrow type, its wide type with the same rounding, a function that
# returns a random value, SQL that says whether the value w fits, and more.
sub fuzz_type
{
	my (%t) = @_;
	my ($type, $name, $wide, $others) = @t{qw(type name wide others)};
	my $file = File::Spec->rel2abs($node->basedir . "/$name.txt");

	open my $out, '>', $file or die "could not open $file: $!";
	print $out "$_\t" . $t{random}->() . "\n" for 1 .. $cases;
	close $out;

	# Test input, and casts from the wide type.  Both types must give the same value, or an error.
	is($node->safe_psql('postgres', <<"SQL"), '', "$type accepts the input that $wide accepts");
CREATE TABLE input_$name (id int, s text);
COPY input_$name FROM '$file';
CREATE TABLE result_$name AS
  SELECT id, s, outcome(quote_literal(s) || '::$wide') AS wide, outcome(quote_literal(s) || '::text::$type') AS narrow,
         outcome(quote_literal(s) || '::$t{exact}::$type') AS cast
  FROM input_$name;
CREATE TABLE judged_$name AS
  SELECT *, CASE WHEN wide LIKE '!%' THEN false ELSE $t{fits} END AS fits FROM result_$name;
SELECT s, wide, narrow, "cast" FROM judged_$name
WHERE CASE WHEN fits THEN narrow IS DISTINCT FROM $t{shown} OR "cast" IS DISTINCT FROM narrow
      ELSE narrow NOT IN ('!22003', '!22008', '!0A000') OR "cast" NOT IN ('!22003', '!22008', '!0A000') END
LIMIT 5
SQL

	# Compare pairs of values that fit.
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE samples_$name AS
  SELECT row_number() OVER (ORDER BY id) AS id, narrow::$type AS n, narrow::$wide AS w FROM judged_$name WHERE fits;
ALTER TABLE samples_$name ADD other int;
UPDATE samples_$name SET other = 1 + id * 7919 % (SELECT count(*) FROM samples_$name);
CREATE INDEX ON samples_$name (other);
ANALYZE samples_$name;
SQL
	cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM samples_$name"),
		'>', $cases / 3, "$type: more than a third of the values fit");

	my (%checks, @wrong, @counts, $columns);
	for my $op ('=', '<>', '<', '<=', '>', '>=')
	{
		$checks{"$type $op $type"} = "(x.n $op y.n) <> (x.w $op y.w)";
		for my $other (@$others)
		{
			my $fits = $t{other_fits}->{$other} // 'true';
			$checks{"$type $op $other"} =
			  "CASE WHEN $fits THEN (x.n $op y.w::$other) <> (x.w $op y.w::$other) END";
			$checks{"$other $op $type"} =
			  "CASE WHEN $fits THEN (y.w::$other $op x.n) <> (y.w::$other $op x.w) END";
		}
	}
	# Test operators with columns.  The planner uses other functions for columns than for the
	# constants below.
	if ($t{arithmetic})
	{
		$checks{"$type $_ $type"} = "(x.n $_ y.n) <> (x.w $_ y.w)" for ('+', '-');
		$checks{"$type * $type"} =
		  "CASE WHEN x.w::numeric * y.w BETWEEN $t{least} AND $t{greatest} THEN (x.n * y.n) <> (x.w * y.w) END";
		$checks{"$type $_ $type"} = "CASE WHEN y.w <> 0 THEN (x.n $_ y.n) <> (x.w $_ y.w) END"
		  for ('/', '%');
	}
	$columns = join ",\n", map { "count(*) FILTER (WHERE $checks{$_})" } sort keys %checks;
	@counts = split /\|/, $node->safe_psql('postgres', <<"SQL");
SELECT $columns FROM samples_$name x JOIN samples_$name y ON y.id = x.other
SQL
	@wrong = grep { shift @counts } sort keys %checks;
	is("@wrong", '', "$type: comparisons give the same results as with $wide");

	%checks = (
		output => "n::text <> $t{output}",
		cast => "n::$t{exact} <> w",
		hash => "compact_types.${name}_hash(n) <> $t{hash}(w)",
		'extended hash' => "compact_types.${name}_hash_extended(n, id) <> $t{hash}extended(w, id)",
		'binary output' => "compact_types.${name}_send(n) <> $t{send}",
		%{ $t{checks} });
	$columns = join ",\n", map { "count(*) FILTER (WHERE $checks{$_})" } sort keys %checks;
	@counts = split /\|/, $node->safe_psql('postgres', "SELECT $columns FROM samples_$name");
	@wrong = grep { shift @counts } sort keys %checks;
	is("@wrong", '', "$type: output, casts and hash values are the same as of $wide");

	# Test arithmetic of some pairs.  Both types must give the same result, or the same error.
	if ($t{arithmetic})
	{
		my $some = $cases < 4000 ? $cases : 4000;
		for my $op (@{ $t{arithmetic} })
		{
			is( $node->safe_psql('postgres',
					<<"SQL"), '', "$type $op $type: the same results as of the wide type");
SELECT a, b, narrow, wide FROM (
  SELECT x.n AS a, y.n AS b, outcome(quote_literal(x.n) || '::$type $op ' || quote_literal(y.n) || '::$type') AS narrow,
               outcome(quote_literal(x.n) || '::$t{exact} $op ' || quote_literal(y.n) || '::$t{exact}') AS wide
        FROM samples_$name x JOIN samples_$name y ON y.id = x.other LIMIT $some) s
WHERE narrow <> wide
LIMIT 5
SQL
		}
	}

	# Test order, aggregates and window functions.
	my $sums =
	  $t{arithmetic}
	  ? 'count(*) > 0, sum(n) = sum(w), avg(n)::text = avg(w)::text'
	  : 'count(*) > 0, true, true';
	is( $node->safe_psql('postgres',
			<<"SQL"), '(t,t,t)|t|t|0', "$type: sorts and aggregates give the same results as with $wide");
SELECT (SELECT ROW($sums)::text FROM samples_$name),
       (SELECT min(n)::$wide = min(w) AND max(n)::$wide = max(w) FROM samples_$name),
       (SELECT count(DISTINCT n) = count(DISTINCT w) FROM samples_$name),
       (SELECT count(*) FILTER (WHERE up <> up_wide OR down <> down_wide OR rank <> rank_wide)
        FROM (SELECT row_number() OVER (ORDER BY n, id) AS up, row_number() OVER (ORDER BY w, id) AS up_wide,
                     row_number() OVER (ORDER BY n DESC, id) AS down, row_number() OVER (ORDER BY w DESC, id) AS down_wide,
                     rank() OVER (ORDER BY n) AS rank, rank() OVER (ORDER BY w) AS rank_wide FROM samples_$name) s)
SQL

	# Test hash joins, merge joins, and nested loops with an index, also with the wide type on one
	# side.
	my $join =
	  "SELECT count(*), sum(x.id + 31 * y.id) FROM (SELECT * FROM samples_$name WHERE id <= 500) x JOIN samples_$name y ON";
	my $expected = $node->safe_psql('postgres', "$join x.w = y.w");
	for my $other ($type, $t{exact})
	{
		my $side = $other eq $type ? 'x.n' : 'x.w';
		my %methods = (
			hash => 'SET enable_mergejoin = off; SET enable_nestloop = off',
			merge => 'SET enable_hashjoin = off; SET enable_nestloop = off',
			index =>
			  'SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off');

		$node->safe_psql('postgres',
			"CREATE INDEX IF NOT EXISTS samples_${name}_n ON samples_$name (n)");
		my %results = map { $_ => $node->safe_psql('postgres', "$methods{$_}; $join $side = y.n") }
		  keys %methods;
		is( join("\n", map { "$_ $results{$_}" } sort keys %results),
			join("\n", map { "$_ $expected" } sort keys %results),
			"$type: joins with $other give the same results");
	}

	# Scans by every access method
	for my $method ('btree', 'hash', 'brin')
	{
		my @ops = $method eq 'hash' ? ('=') : ('=', '<', '>=');
		my $counts = join ' + ', map {
			"count(*) FILTER (WHERE (SELECT count(*) FROM samples_$name y WHERE y.n $_ x.n)
			<> (SELECT count(*) FROM judged y WHERE y.w $_ x.w) OR (SELECT count(*) FROM samples_$name y WHERE y.n $_ x.w)
			<> (SELECT count(*) FROM judged y WHERE y.w $_ x.w))"
		} @ops;

		is( $node->safe_psql('postgres',
				<<"SQL"), '0', "$type: a $method index finds the rows that a scan finds");
CREATE TEMP TABLE judged AS SELECT w FROM samples_$name;
DROP INDEX IF EXISTS samples_${name}_n;
CREATE INDEX samples_${name}_n ON samples_$name USING $method (n);
SET enable_seqscan = off;
SET enable_indexonlyscan = off;
SELECT $counts FROM (SELECT n, w FROM samples_$name ORDER BY id LIMIT 50) x
SQL
	}
	$node->safe_psql('postgres', "DROP INDEX samples_${name}_n");

	# Test COPY in binary format.  The wide type must be able to read the file as well.
	my $binary = File::Spec->rel2abs($node->basedir . "/$name.bin");
	is( $node->safe_psql('postgres',
			<<"SQL"), '0|0', "$type: COPY in binary format keeps the values");
COPY (SELECT id, n FROM samples_$name) TO '$binary' (FORMAT binary);
CREATE TABLE back_$name (id int8, n $type);
COPY back_$name FROM '$binary' (FORMAT binary);
CREATE TABLE twin_$name (id int8, w $t{wire});
COPY twin_$name FROM '$binary' (FORMAT binary);
SELECT count(*) FILTER (WHERE b.n IS DISTINCT FROM s.n), count(*) FILTER (WHERE t.w IS DISTINCT FROM s.w)
FROM samples_$name s FULL JOIN back_$name b USING (id) FULL JOIN twin_$name t USING (id)
SQL
	# A value that does not fit must also be refused in binary format.
	for my $bad (@{ $t{bad_wire} })
	{
		my ($ret, $stdout, $stderr) = $node->psql('postgres', <<"SQL");
\\set VERBOSITY sqlstate
COPY (SELECT 1::int8, $bad) TO '$binary' (FORMAT binary);
COPY back_$name FROM '$binary' (FORMAT binary);
SQL
		like($stderr, qr/ERROR:  (22003|22008|0A000)/, "$type refuses $bad in binary format");
	}
	$node->safe_psql('postgres',
		"DROP TABLE input_$name, result_$name, judged_$name, samples_$name, back_$name, twin_$name"
	);
}

# For each narrow integer of the extension: its name, its range, and the type that has the same
# binary format
my %wire = (1 => 'int2', 2 => 'int4', 3 => 'int4', 4 => 'int8');
my @integers = map { [ @$_, $wire{ substr($_->[0], -1) } ] } narrow_integers($node);
cmp_ok(scalar(@integers), '>=', 5, 'there are narrow integers');
for my $integer (@integers)
{
	my ($type, $min, $max, $wire) = @$integer;
	my $wide = $wire eq 'int8' ? 'int8' : 'int4';

	fuzz_type(
		type => $type,
		name => $type,
		wide => $wide,
		exact => $wide,
		least => $wide eq 'int8' ? '-9223372036854775808' : '-2147483648',
		greatest => $wide eq 'int8' ? '9223372036854775807' : '2147483647',
		wire => $wire,
		others => [ 'int2', 'int4', 'int8', (map { $_->[0] } @integers), 'numeric', 'float8' ],
		other_fits => {
			int2 => 'y.w BETWEEN -32768 AND 32767',
			int4 => 'y.w BETWEEN -2147483648 AND 2147483647',
			map { $_->[0] => "y.w BETWEEN $_->[1] AND $_->[2]" } @integers
		},
		random => sub { random_integer($min, $max) },
		fits => "wide::int8 BETWEEN $min AND $max",
		shown => 'wide',
		output => 'w::text',
		hash => "hash$wide",
		send => "${wire}send(w::$wire)",
		checks => {
			int8 => 'n::int8 <> w',
			numeric => 'n::numeric <> w',
			float4 => 'n::float4 <> w::float4',
			float8 => 'n::float8 <> w',
			'from int8' => "w::int8::$type <> n",
			'from numeric' => "(w + 0.25)::$type <> n",
			'from float8' => "(w::float8 + 0.25)::$type <> n",
			minus => '-n <> -w',
			bits =>
			  '~n <> ~w OR n << 5 <> w << 5 OR n >> 2 <> w >> 2 OR n & 77 <> w & 77 OR +n <> w',
			absolute => '@n <> @w OR abs(n) <> abs(w)',
			json => 'to_json(n)::text <> to_json(w)::text OR to_jsonb(n) <> to_jsonb(w)',
			'plus int4' => 'n + 1000 <> w + 1000 OR 1000 + n <> w + 1000',
			'minus int2' => 'n - 100::int2 <> w - 100 OR 100::int2 - n <> 100 - w',
			'times int8' =>
			  'n * 2000000000::int8 <> w * 2000000000::int8 OR 2000000000::int8 * n <> w * 2000000000::int8',
			'divided' =>
			  'n / 7 <> w / 7 OR n % 7 <> w % 7 OR (w <> 0 AND (1000 / n <> 1000 / w OR 1000::int8 % n <> 1000 % w))',
			'types of results' => join ' OR ',
			map {
				my $wide_expression = s/\bn\b/w/gr;
				"pg_typeof($_) <> pg_typeof($wide_expression)"
			} split /; /,
			q{n + n; n - 1; 2 * n; n / 7::int8; n % 7; -n; ~n; @n; abs(n); n << 1; n >> 1; n + '5'; '5' - n; mod(n, nullif(n, 0)); n & 77}
		},
		arithmetic => [ '+', '-', '*', '/', '%', '&', '|', '#' ],
		bad_wire => [ "($max + 1)::$wire", "($min - 1)::$wire" ]);
}

for my $seconds ([ 'seconds4', 'timestamp', '' ], [ 'seconds4tz', 'timestamptz', '+00' ])
{
	my ($type, $wide, $zone) = @$seconds;

	fuzz_type(
		type => $type,
		name => $type,
		wide => "$wide(0)",
		exact => $wide,
		wire => $wide,
		others => [ 'timestamp', 'timestamptz', 'date', 'seconds4', 'seconds4tz' ],
		# Local times near the ends of the range do not fit both types.
		other_fits =>
		  { map { $_ => "y.w BETWEEN '1970-01-02' AND '2106-02-06'" } ('seconds4', 'seconds4tz') },
		random => sub { my $s = random_timestamp(); return $s eq 'infinity' ? $s : $s . $zone; },
		fits => "wide::$wide BETWEEN '1970-01-01 00:00:00$zone' AND '2106-02-07 06:28:15$zone'",
		shown => 'wide',
		output => 'w::text',
		hash => 'timestamp_hash',
		send => "${wide}_send(w)",
		checks => {
			hash => "compact_types.${type}_hash(n) <> hashint8((extract(epoch FROM w"
			  . ($zone ? " AT TIME ZONE 'UTC'" : '')
			  . ") * 1000000)::int8 - 946684800000000)",
			'extended hash' =>
			  "compact_types.${type}_hash_extended(n, id) <> hashint8extended((extract(epoch FROM w"
			  . ($zone ? " AT TIME ZONE 'UTC'" : '')
			  . ") * 1000000)::int8 - 946684800000000, id)",
			json => 'to_json(n)::text <> to_json(w)::text OR to_jsonb(n) <> to_jsonb(w)',
			date => 'n::date <> w::date',
			time => 'n::time <> w::time',
			timestamp => 'n::timestamp <> w::timestamp',
			timestamptz => 'n::timestamptz <> w::timestamptz',
			minus => "n - '2000-01-01'::$wide <> w - '2000-01-01'::$wide",
			plus => "n + interval '1 month' <> w + interval '1 month'"
		},
		bad_wire => [
			"'1969-12-31 23:59:59$zone'::$wide",
			"'2106-02-07 06:28:15.5$zone'::$wide",
			"'-infinity'::$wide"
		]);
}

for my $decimal (@decimals, undef)
{
	my ($width, $scale) = defined $decimal ? split(/_/, $decimal) : (8, 0);
	my $type = defined $decimal ? "compact_decimal$decimal" : 'uint8';
	# the range of the type, in units of the last digit, is from -$below to $limit - 1
	my $limit =
		!defined $decimal ? '18446744073709551616'
	  : $width == 4       ? '2147483648'
	  :                     '9223372036854775808';
	my $below = defined $decimal ? $limit : 0;
	# the greatest values of uint8 are out of range as float8, which rounds them up
	my $in_range = defined $decimal ? '' : 'w < 1.8e19 AND ';

	fuzz_type(
		type => $type,
		name => $type,
		wide => "numeric(100,$scale)",
		exact => 'numeric',
		least => -2147483648,
		greatest => 2147483647,
		wire => 'numeric',
		others => ['numeric'],
		random => sub { defined $decimal ? random_decimal($width, $scale) : random_uint8() },
		fits =>
		  "wide !~ 'NaN|Inf' AND wide::numeric BETWEEN -$below * 1e-$scale AND ($limit - 1) * 1e-$scale",
		shown => 'wide',
		output => 'w::text',
		hash => 'hash_numeric',
		send => 'numeric_send(w)',
		checks => {
			'extended hash' =>
			  "compact_types.${type}_hash_extended(n, id) <> hash_numeric_extended(w, id)",
			int8 => 'w < 9223372036854775807 AND n::int8 <> w::int8',
			int4 => 'abs(w) < 2147483647 AND n::int4 <> w::int4',
			float4 => 'n::float4 <> w::float4',
			float8 => 'n::float8 <> w::float8',
			'from int4' =>
			  "abs(w) < least(100000, $limit * 1e-$scale - 1) AND round(w)::int4::$type <> round(w)",
			'from float8' => "${in_range}w::float8::$type <> w::float8::numeric(100,$scale)",
			'comparison near by' =>
			  "(n < w + 1e-30) IS NOT TRUE OR (n > w + 1e-30) IS NOT FALSE OR (n = w + 1e-30) OR (n > w - 1e-30) IS NOT TRUE",
			json => 'to_json(n)::text <> to_json(w)::text OR to_jsonb(n) <> to_jsonb(w)',
			times => 'n * 3 <> w * 3 OR n * n <> w * w',
			minus => '-n <> -w'
		},
		arithmetic => [ '+', '-', '*' ],
		bad_wire => [
			"($limit * 1e-$scale)::numeric", "((-$below - 1) * 1e-$scale)::numeric",
			"'NaN'::numeric", "'-Infinity'::numeric"
		]);
}

# Test soft errors, if the server has them.
if ($node->pg_version >= 16)
{
	is( $node->safe_psql('postgres',
			<<'SQL'), 't|f|f|t|f|t|f|f|t|f|f|f|t|f|f|f|t|f|f', 'input functions report soft errors');
SELECT pg_input_is_valid('0x10', 'uint2'), pg_input_is_valid('70000', 'uint2'), pg_input_is_valid('0x', 'uint1'),
  pg_input_is_valid('0xffffff', 'uint3'), pg_input_is_valid('-1', 'uint3'),
  pg_input_is_valid('4294967295', 'uint4'), pg_input_is_valid('4294967296', 'uint4'), pg_input_is_valid('-1', 'uint4'),
  pg_input_is_valid('2000-01-01', 'seconds4'), pg_input_is_valid('1900-01-01', 'seconds4'),
  pg_input_is_valid('x', 'seconds4tz'), pg_input_is_valid('infinity', 'seconds4tz'),
  pg_input_is_valid('1_000.5', 'compact_decimal4_2'), pg_input_is_valid('NaN', 'compact_decimal4_2'),
  pg_input_is_valid('1e9', 'compact_decimal4_2'), pg_input_is_valid('1__0', 'compact_decimal4_2'),
  pg_input_is_valid('0xffff_ffff_ffff_ffff', 'uint8'), pg_input_is_valid('18446744073709551616', 'uint8'), pg_input_is_valid('-1', 'uint8')
SQL
}
else
{
  SKIP:
	{
		skip 'no soft errors before 16', 1;
	}
}

$node->stop;
done_testing();
