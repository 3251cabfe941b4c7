# Differential fuzz of what has no type in a comparison with a narrow scalar, and of
# comparisons of such columns: literals, parameters without and with a type, on either
# side, joins.  The answer is the wide twin's: the same count, or an error on both
# sides.  The twins are int8, numeric, timestamp and timestamptz.
#
# PGDENSE_FUZZ_CASES is the number of literals (default 2000), PGDENSE_FUZZ_SEED the
# random seed, which is printed.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cases = $ENV{PGDENSE_FUZZ_CASES} || 2000;
my $seed = $ENV{PGDENSE_FUZZ_SEED} || time();
srand($seed);
note "seed $seed, $cases literals";

my $node = PostgreSQL::Test::Cluster->new('literal');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\njit = off\ntimezone = 'Europe/Berlin'\ndatestyle = 'ISO, YMD'\n");
$node->start;
# 8_9 has no extension: its operators are in the schema
my @decimals = ('4_0', '4_2', '8_2', '8_9');
$node->safe_psql('postgres', 'CREATE EXTENSION compact_types');
$node->safe_psql('postgres', 'ALTER DATABASE postgres SET search_path = public, compact_types');
$node->safe_psql('postgres', "SELECT compact_types.create_decimal($_)") for map { tr/_/,/r } @decimals;
# The outcomes of queries: their counts, or "!" for an error.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  EXECUTE query INTO result;
  RETURN result;
EXCEPTION WHEN OTHERS THEN
  RETURN '!';
END $$;
CREATE FUNCTION parameter_outcome(types text, query text, arguments text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  EXECUTE 'PREPARE parameter_query' || types || ' AS ' || query;
  BEGIN
    EXECUTE 'EXECUTE parameter_query(' || arguments || ')' INTO result;
  EXCEPTION WHEN OTHERS THEN
    result := '!';
  END;
  DEALLOCATE parameter_query;
  RETURN result;
END $$;
CREATE TABLE got (type text, id int, narrow bool, n int8);
SQL

sub pick { return $_[ int(rand(@_)) ]; }

sub random_integer
{
	my ($min, $max) = @_;
	my $r = rand();

	return pick($min, $max, $min - 1, $max + 1, 300, -1, 70000, '99999999', '-9223372036854775808', '9223372036854775807') if $r < 0.3;
	return pick('9223372036854775808', '1.5', '', 'x', 'infinity', '1e3') if $r < 0.4;
	return $min + int(rand($max - $min + 1));
}

sub random_timestamp
{
	my ($zone) = @_;
	my $r = rand();

	return pick('infinity', '-infinity', '9999-12-31', '1900-01-01', '1969-12-31 23:59:59.9' . $zone,
		'2106-02-07 06:28:15.000001' . $zone, '2106-02-07 06:28:16' . $zone, '1970-01-01' . $zone) if $r < 0.3;
	return pick('foo', '', '2000-13-01', '294277-01-01') if $r < 0.4;
	return sprintf('2000-01-%02d %02d:00:%02d%s%s', 1 + int(rand(20)), int(rand(24)), int(rand(2)),
		pick('', '', '.5', '.499999', '.7', '.000001'), $zone);
}

sub random_decimal
{
	my ($scale) = @_;
	my $r = rand();
	my $value = sprintf('%.' . $scale . 'f', (rand(400) - 200) / 10**($scale > 2 ? 0 : $scale));

	return pick('NaN', 'infinity', '-infinity', '1e40', '-1e40', '1e-400', '99999999', '-99999999', '1e5000') if $r < 0.25;
	return pick('x', '', '1e', '1e1000000', '--1') if $r < 0.35;
	$value .= '.' if $scale == 0 && $r < 0.75;
	$value .= pick('5', '4999', '001', '995', '0') if $r < 0.75;
	return $value;
}

my @ops = ('=', '<>', '<', '<=', '>', '>=');

# Conditions on column C with literals A and B; %s is the operator.
my @conditions = (
	'C %s A', 'A %s C', 'C BETWEEN A AND B', 'C NOT BETWEEN SYMMETRIC B AND A', 'C IS DISTINCT FROM A',
	'NULLIF(C, A) IS NULL', 'CASE C WHEN A THEN 1 WHEN B THEN 2 END > 0', '(C, id) %s (A, 50)', 'C IN (A)',
	'(A, 50) %s (C, id)', 'A IS DISTINCT FROM C', 'NULLIF(A, C) IS NULL', 'NOT C %s A', 'C %s A OR C = B', 'C = A AND C %s B');

sub condition
{
	my ($pattern, $column, $a, $b) = @_;

	$pattern =~ s/\bC\b/$column/g;
	$pattern =~ s/\bA\b/$a/g;
	$pattern =~ s/\bB\b/$b/g;
	return $pattern;
}

sub quote { return "'" . ($_[0] =~ s/'/''/gr) . "'"; }
sub literal { return 'quote_literal(' . quote($_[0]) . ')'; }

sub fuzz_type
{
	my (%t) = @_;
	my ($type, $name, $wide) = @t{qw(type name wide)};
	my (@rows, @bound);

	# a plain table, and partitions by each method
	my $columns = "id int, n $type, w $t{wide}";
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE plain_$name ($columns);
INSERT INTO plain_$name SELECT g, v, v FROM generate_series(1, 120) g, LATERAL (SELECT ($t{values})::$type AS v) s;
INSERT INTO plain_$name VALUES (121, NULL, NULL);
CREATE INDEX plain_n_$name ON plain_$name (n);
CREATE TABLE hash_$name (LIKE plain_$name) PARTITION BY HASH (n);
CREATE TABLE hash_0_$name PARTITION OF hash_$name FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE hash_1_$name PARTITION OF hash_$name FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE range_$name (LIKE plain_$name) PARTITION BY RANGE (n);
CREATE TABLE range_0_$name PARTITION OF range_$name FOR VALUES FROM (MINVALUE) TO ('$t{middle}');
CREATE TABLE range_1_$name PARTITION OF range_$name FOR VALUES FROM ('$t{middle}') TO (MAXVALUE);
CREATE TABLE range_2_$name PARTITION OF range_$name DEFAULT;
INSERT INTO hash_$name SELECT * FROM plain_$name;
INSERT INTO range_$name SELECT * FROM plain_$name;
CREATE TABLE brin_$name AS SELECT * FROM plain_$name ORDER BY n;
CREATE INDEX ON brin_$name USING brin (n);
ANALYZE plain_$name;
CREATE TABLE cases_$name (id int, form text, source text, types text, narrow text, wide text, arguments text);
SQL
	my $number = int($cases / $t{share}) || 1;
	for my $id (1 .. $number)
	{
		my ($a, $b) = ($t{random}->(), $t{random}->());
		my $op = pick(@ops);
		my $pattern = pick(@conditions);
		my $source = pick("plain_$name", "plain_$name", "hash_$name", "range_$name", "brin_$name");

		$pattern = sprintf($pattern, $op) if $pattern =~ /%s/;
		my $query = "SELECT count(*) FROM $source WHERE ";
		my $arguments = quote($a) . ($pattern =~ /\bB\b/ ? ', ' . quote($b) : '');
		my $types = $pattern =~ /\bB\b/ ? "($wide, $wide)" : "($wide)";

		push @rows, [ $id, 'literal', '', $query . condition($pattern, 'n', quote($a), quote($b)),
			$query . condition($pattern, 'w', quote($a), quote($b)), '' ];
		push @rows, [ $id, 'unknown', '', $query . condition($pattern, 'n', '$1', '$2'),
			$query . condition($pattern, 'w', '$1', '$2'), $arguments ];
		push @rows, [ $id, 'typed', $types, $query . condition($pattern, 'n', '$1', '$2'),
			$query . condition($pattern, 'w', '$1', '$2'), $arguments ];
		my $array = '{' . join(',', map { $_ eq '' || /[ :+]/ ? "\"$_\"" : $_ } ($a, $b)) . '}';
		push @rows, [ $id, 'any', '', "${query}n $op ANY (" . quote($array) . ')', "${query}w $op ANY (" . quote($array) . ')', '' ];
		push @rows, [ $id, 'any parameter', '', "${query}n $op ALL (\$1)", "${query}w $op ALL (\$1)", quote($array) ];
		# resolved without an operator: the same count, or an error
		push @rows, [ $id, 'list', '', "${query}n IN (" . quote($a) . ', ' . quote($b) . ')', "${query}w IN (" . quote($a) . ', ' . quote($b) . ')', '' ];
		push @rows, [ $id, 'list', '', "${query}coalesce(n, " . quote($a) . ") $op " . quote($b), "${query}coalesce(w, " . quote($a) . ") $op " . quote($b), '' ];
		push @bound, [ $id, $query, $pattern, $a, $b ];
	}
	for my $row (@rows)
	{
		my ($id, $form, $types, $narrow, $wide_query, $arguments) = map { quote($_) } @$row;
		$row = "($id, $form, '', $types, $narrow, $wide_query, $arguments)";
	}
	while (my @some = splice @rows, 0, 500)
	{
		$node->safe_psql('postgres', "INSERT INTO cases_$name VALUES " . join(', ', @some));
	}

	for my $plan ('SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off', 'SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan')
	{
		is($node->safe_psql('postgres', <<"SQL"), '', "$type counts as $wide does: $plan");
SET client_min_messages = error;
$plan;
SELECT * FROM (
  SELECT form, CASE WHEN arguments = '' THEN outcome(narrow) ELSE parameter_outcome(types, narrow, arguments) END AS n,
         CASE WHEN arguments = '' THEN outcome(wide) ELSE parameter_outcome(types, wide, arguments) END AS w, narrow, arguments
  FROM cases_$name) s
WHERE n <> w AND NOT (form = 'list' AND n = '!')
LIMIT 5
SQL
	}

	# parameters without a type in the extended protocol, as a driver sends them
	my @sent = grep { $_->[3] !~ /^['\s]*$/ && $_->[4] !~ /^['\s]*$/ } @bound;
	splice @sent, 40;
	my (@script, @variables);
	for my $case (@sent)
	{
		my ($id, $query, $pattern, $a, $b) = @$case;

		next if $node->safe_psql('postgres', "SELECT outcome(" . quote($query . condition($pattern, 'w', quote($a), quote($b))) . ')') eq '!';
		my $values = $query =~ s/count\(\*\)/'$name', $id, BOOL, count(*)/r;
		push @script, 'INSERT INTO got ' . ($values =~ s/BOOL/true/r) . condition($pattern, 'n', ":a$id", ":b$id") . ";\n";
		push @script, 'INSERT INTO got ' . ($values =~ s/BOOL/false/r) . condition($pattern, 'w', quote($a), quote($b)) . ";\n";
		push @variables, '-D', "a$id=$a", '-D', "b$id=$b";
	}
	my $script = $node->basedir . "/$name.sql";
	append_to_file($script, join '', @script);
	for my $mode ('extended', 'prepared')
	{
		$node->command_ok([ 'pgbench', '-n', '-t', '1', '-M', $mode, '-f', $script, @variables, 'postgres' ],
			"$type: pgbench -M $mode");
	}
	is($node->safe_psql('postgres', <<"SQL"), scalar(@script) / 2 . '|0', "$type: parameters of the extended protocol");
SELECT count(DISTINCT id), count(*) FILTER (WHERE least <> greatest)
FROM (SELECT id, min(n) AS least, max(n) AS greatest FROM got WHERE type = '$name' GROUP BY id) s
SQL

	# joins of the column with itself and with the twin, by each method
	for my $op ('=', '<', '>=')
	{
		my %methods = (
			nestloop => 'SET enable_hashjoin = off; SET enable_mergejoin = off',
			index => 'SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off',
			merge => 'SET enable_hashjoin = off; SET enable_nestloop = off',
			hash => 'SET enable_mergejoin = off; SET enable_nestloop = off');
		my @expected = split /\n/, $node->safe_psql('postgres', "SELECT count(*), sum(a.id + 31 * b.id) FROM plain_$name a JOIN plain_$name b ON a.w $op b.w");
		my %results = map {
			$_ => $node->safe_psql('postgres', <<"SQL")
$methods{$_};
SELECT count(*), sum(a.id + 31 * b.id) FROM plain_$name a JOIN plain_$name b ON a.n $op b.n;
SELECT count(*), sum(a.id + 31 * b.id) FROM hash_$name a JOIN range_$name b ON a.n $op b.n;
SELECT count(*), sum(a.id + 31 * b.id) FROM plain_$name a JOIN plain_$name b ON a.n $op b.w;
SELECT count(*), sum(a.id + 31 * b.id) FROM plain_$name a JOIN plain_$name b ON a.w $op b.n;
SQL
		} keys %methods;
		is(join("\n", map { "$_ $results{$_}" } sort keys %results),
			join("\n", map { "$_ " . join("\n", (@expected) x 4) } sort keys %results), "$type $op $type in joins");
	}
	is($node->safe_psql('postgres', <<"SQL"), "1\n1\n1\n1\n1", "$type $type in other clauses");
SELECT count(DISTINCT s) FROM (
  SELECT (SELECT sum(id) FROM plain_$name a WHERE n IN (SELECT n FROM hash_$name b WHERE b.id % 3 = 0)) UNION
  SELECT (SELECT sum(id) FROM plain_$name a WHERE w IN (SELECT w FROM hash_$name b WHERE b.id % 3 = 0))) q (s);
SELECT count(DISTINCT s) FROM (
  SELECT (SELECT sum(id) FROM plain_$name a WHERE n NOT IN (SELECT n FROM hash_$name b WHERE b.id % 3 = 0 AND n IS NOT NULL)) UNION
  SELECT (SELECT sum(id) FROM plain_$name a WHERE w NOT IN (SELECT w FROM hash_$name b WHERE b.id % 3 = 0 AND n IS NOT NULL))) q (s);
SELECT count(DISTINCT s) FROM (
  SELECT (SELECT count(*) FROM plain_$name a FULL JOIN brin_$name b USING (n)) UNION
  SELECT (SELECT count(*) FROM plain_$name a FULL JOIN brin_$name b USING (w))) q (s);
SELECT count(DISTINCT s) FROM (
  SELECT (SELECT count(*) FROM plain_$name a, brin_$name b WHERE (a.n, a.id) < (b.n, b.id)) UNION
  SELECT (SELECT count(*) FROM plain_$name a, brin_$name b WHERE (a.w, a.id) < (b.w, b.id))) q (s);
SELECT count(DISTINCT s) FROM (
  SELECT (SELECT count(*) FROM plain_$name a, brin_$name b WHERE a.n IS DISTINCT FROM b.n OR a.n = ANY (ARRAY[b.n, a.n])) UNION
  SELECT (SELECT count(*) FROM plain_$name a, brin_$name b WHERE a.w IS DISTINCT FROM b.w OR a.w = ANY (ARRAY[b.w, a.w]))) q (s);
SQL
}

my @integers = ([ 'int1', -128, 127 ], [ 'uint1', 0, 255 ], [ 'uint2', 0, 65535 ], [ 'uint3', 0, 16777215 ]);
my $share = @integers + 2 + @decimals;
for my $integer (@integers)
{
	my ($type, $min, $max) = @$integer;

	fuzz_type(
		type => $type, name => $type, wide => 'int8', share => $share, middle => int(($min + $max) / 2),
		values => "$min + (g * 37 % 100) * (($max - $min) / 99)", random => sub { random_integer($min, $max) });
}
for my $seconds ([ 'seconds4', 'timestamp', '' ], [ 'seconds4tz', 'timestamptz', '+00' ])
{
	my ($type, $wide, $zone) = @$seconds;

	fuzz_type(
		type => $type, name => $type, wide => $wide, share => $share, middle => "2000-01-10$zone",
		values => "CASE WHEN g = 1 THEN '1970-01-01$zone' WHEN g = 2 THEN '2106-02-07 06:28:15$zone'
			ELSE $wide '2000-01-01$zone' + (g * 37 % 100) * interval '4 h' + (g % 2) * interval '1 s' END",
		random => sub { random_timestamp($zone) });
}
for my $decimal (@decimals)
{
	my ($width, $scale) = split /_/, $decimal;
	my $type = "compact_decimal$decimal";

	fuzz_type(
		type => $type, name => $type, wide => 'numeric', share => $share, middle => '0',
		values => "((g * 37 % 100) - 50) * 4 * 1e-" . ($scale > 2 ? 0 : $scale) . ' + 1e-' . $scale, random => sub { random_decimal($scale) });
}

$node->stop;
done_testing();
