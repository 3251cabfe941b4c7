# Differential fuzzing of comparisons between a narrow scalar column and literals or parameters
# (with and without a type) on either side, and of joins of such columns.  A query must give the
# same result with the narrow type and with its wide type: the same count, or an error for both
# types.  The wide types are int8, numeric, timestamp and timestamptz.
#
# If no operator determines the type of a literal, as in an IN list, CASE or UNION, the query with
# the narrow type may give an error although the query with the wide type gives none.  The query
# must never give another count.
#
# PGDENSE_FUZZ_CASES is the number of literals (default 2000).  PGDENSE_FUZZ_SEED is the random
# seed, which the test prints.
use strict;
use warnings FATAL => 'all';

use FindBin;
use JSON::PP;
use lib "$FindBin::RealBin/../lib";

use PgDense::CompactTypesSamples;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cases = $ENV{PGDENSE_FUZZ_CASES} || 2000;
my $seed = $ENV{PGDENSE_FUZZ_SEED} || time();
srand($seed);
note "seed $seed, $cases literals";

my $node = PostgreSQL::Test::Cluster->new('literal');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf',
	"fsync = off\njit = off\ntimezone = 'Europe/Berlin'\ndatestyle = 'ISO, YMD'\n");
$node->start;
# compact_decimal8_9 has no extension, so its operators are in the schema compact_types.
my @decimals = ('4_0', '4_2', '8_2', '8_9');
$node->safe_psql('postgres', 'CREATE EXTENSION compact_types');
$node->safe_psql('postgres', 'ALTER DATABASE postgres SET search_path = public, compact_types');
$node->safe_psql('postgres', "SELECT compact_types.create_decimal($_)")
  for map { tr/_/,/r } @decimals;
# Return the outcome of a query: its count, or "!" for an error.
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
  BEGIN
    EXECUTE 'PREPARE parameter_query' || types || ' AS ' || query;
  EXCEPTION WHEN OTHERS THEN
    RETURN '!';
  END;
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

	return pick($min, $max, $min - 1, $max + 1, 300, -1, 70000, '99999999', '-9223372036854775808',
		'9223372036854775807')
	  if $r < 0.3;
	return pick('9223372036854775808', '1.5', '', 'x', 'infinity', '1e3') if $r < 0.4;
	return $min + int(rand($max - $min + 1));
}

sub random_timestamp
{
	my ($zone) = @_;
	my $r = rand();

	return pick(
		'infinity', '-infinity',
		'9999-12-31', '1900-01-01',
		'1969-12-31 23:59:59.9' . $zone, '2106-02-07 06:28:15.000001' . $zone,
		'2106-02-07 06:28:16' . $zone, '1970-01-01' . $zone) if $r < 0.3;
	return pick('foo', '', '2000-13-01', '294277-01-01') if $r < 0.4;
	return sprintf(
		'2000-01-%02d %02d:00:%02d%s%s',
		1 + int(rand(20)),
		int(rand(24)), int(rand(2)), pick('', '', '.5', '.499999', '.7', '.000001'), $zone);
}

sub random_decimal
{
	my ($scale) = @_;
	my $r = rand();
	my $value = sprintf('%.' . $scale . 'f', (rand(400) - 200) / 10**($scale > 2 ? 0 : $scale));

	return pick(
		'NaN', 'infinity', '-infinity', '1e40', '-1e40', '1e-400',
		'99999999', '-99999999', '1e5000') if $r < 0.25;
	return pick('x', '', '1e', '1e1000000', '--1') if $r < 0.35;
	$value .= '.' if $scale == 0 && $r < 0.75;
	$value .= pick('5', '4999', '001', '995', '0') if $r < 0.75;
	return $value;
}

my @ops = ('=', '<>', '<', '<=', '>', '>=');

# Conditions on column C with literals A and B.  %s is the operator.
my @conditions = (
	'C %s A',
	'A %s C',
	'C BETWEEN A AND B',
	'C NOT BETWEEN SYMMETRIC B AND A',
	'C IS DISTINCT FROM A',
	'NULLIF(C, A) IS NULL',
	'CASE C WHEN A THEN 1 WHEN B THEN 2 END > 0',
	'(C, id) %s (A, 50)',
	'C IN (A)',
	'(A, 50) %s (C, id)',
	'A IS DISTINCT FROM C',
	'NULLIF(A, C) IS NULL',
	'NOT C %s A',
	'C %s A OR C = B',
	'C = A AND C %s B');

# Queries of table S whose literals get the type of the column, because no operator determines their
# type
my @lists = (
	'SELECT count(*) FROM S WHERE C IN (A, B)',
	'SELECT count(*) FROM S WHERE C NOT IN (A, B)',
	'SELECT count(*) FROM S WHERE A IN (C, B)',
	'SELECT count(*) FROM S WHERE (C, id) IN ((A, 50), (B, 60))',
	'SELECT count(*) FROM S WHERE coalesce(C, A) %s B',
	'SELECT count(*) FROM S WHERE coalesce(nullif(C, A), A) %s B',
	'SELECT count(*) FROM S WHERE CASE WHEN id < 60 THEN C ELSE A END %s B',
	'SELECT count(*) FROM S WHERE greatest(C, A) %s B',
	'SELECT count(*) FROM S WHERE least(C, A, B) %s C',
	'SELECT count(*) FROM S WHERE A = ANY (ARRAY[C, B])',
	'SELECT count(*) FROM S WHERE array_position(ARRAY[C, B], A) IS NULL',
	'SELECT count(*) FROM (SELECT C FROM S UNION SELECT A) s',
	'SELECT count(*) FROM (SELECT A UNION SELECT C FROM S) s',
	'SELECT count(*) FROM (SELECT C FROM S EXCEPT SELECT A) s',
	'SELECT count(*) FROM (SELECT C FROM S INTERSECT SELECT A) s',
	'SELECT count(*) FROM (SELECT C AS x FROM S UNION ALL SELECT A) s WHERE x %s B',
	'SELECT count(*) FROM S, LATERAL (VALUES (C), (A)) v (x) WHERE x %s B',
	'SELECT count(*) FROM S, LATERAL (VALUES (coalesce(C, A))) v (x) WHERE x %s B',
	'SELECT sum((SELECT count(DISTINCT x) FROM (SELECT C UNION ALL SELECT A) s (x))) FROM S');

sub condition
{
	my ($pattern, $column, $a, $b) = @_;

	$pattern =~ s/\bC\b/$column/g;
	$pattern =~ s/\bA\b/$a/g;
	$pattern =~ s/\bB\b/$b/g;
	return $pattern;
}

sub quote   { return "'" . ($_[0] =~ s/'/''/gr) . "'"; }
sub literal { return 'quote_literal(' . quote($_[0]) . ')'; }

sub fuzz_type
{
	my (%t) = @_;
	my ($type, $name, $wide) = @t{qw(type name wide)};
	my (@rows, @bound, @protocol);

	# a plain table, and partitioned tables of each method
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

		push @rows,
		  [
			$id, 'literal', '',
			$query . condition($pattern, 'n', quote($a), quote($b)),
			$query . condition($pattern, 'w', quote($a), quote($b)), ''
		  ];
		push @rows,
		  [
			$id, 'unknown', '',
			$query . condition($pattern, 'n', '$1', '$2'),
			$query . condition($pattern, 'w', '$1', '$2'), $arguments
		  ];
		push @rows,
		  [
			$id, 'typed', $types,
			$query . condition($pattern, 'n', '$1', '$2'),
			$query . condition($pattern, 'w', '$1', '$2'), $arguments
		  ];
		my $array = '{' . join(',', map { $_ eq '' || /[ :+]/ ? "\"$_\"" : $_ } ($a, $b)) . '}';
		push @rows,
		  [
			$id, 'any', '',
			"${query}n $op ANY (" . quote($array) . ')',
			"${query}w $op ANY (" . quote($array) . ')', ''
		  ];
		push @rows,
		  [
			$id, 'any parameter',
			'',
			"${query}n $op ALL (\$1)",
			"${query}w $op ALL (\$1)",
			quote($array)
		  ];
		my $list = pick(@lists) =~ s/\bS\b/$source/gr;
		$list = sprintf($list, $op) if $list =~ /%s/;
		push @rows,
		  [
			$id, 'list', '',
			condition($list, 'n', quote($a), quote($b)),
			condition($list, 'w', quote($a), quote($b)), ''
		  ];
		push @rows,
		  [
			$id, 'list parameter',
			'',
			condition($list, 'n', '$1', '$2'),
			condition($list, 'w', '$1', '$2'),
			$list =~ /\bB\b/ ? quote($a) . ', ' . quote($b) : quote($a)
		  ];
		push @protocol, { map { $_ => condition($list, $_, '%(a)s', '%(b)s') } ('n', 'w') };
		$protocol[-1]->{parameters} = { a => "$a", $list =~ /\bB\b/ ? (b => "$b") : () };
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

	for my $plan (
		'SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off',
		'SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan')
	{
		is($node->safe_psql('postgres', <<"SQL"), '', "$type counts as $wide does: $plan");
SET client_min_messages = error;
$plan;
SELECT * FROM (
  SELECT form, CASE WHEN arguments = '' THEN outcome(narrow) ELSE parameter_outcome(types, narrow, arguments) END AS n,
         CASE WHEN arguments = '' THEN outcome(wide) ELSE parameter_outcome(types, wide, arguments) END AS w, narrow, arguments
  FROM cases_$name) s
WHERE n <> w AND NOT (form LIKE 'list%' AND n = '!')
LIMIT 5
SQL
	}

	# Test parameters without a type, which a driver binds in text format.
	my ($stdout, $stderr);
	my $stdin = encode_json(\@protocol);
	IPC::Run::run(
		[
			'/usr/bin/python3', "$FindBin::RealBin/../python/compact_types_literal.py",
			$node->connstr('postgres')
		],
		'<',
		\$stdin,
		'>',
		\$stdout,
		'2>',
		\$stderr);
	like(
		$stdout,
		qr/^[1-9]\d* equal, \d+ refused\n\z/,
		"$type: lists of parameters in the extended protocol");
	note $stdout;
	is($stderr, '', "$type: nothing on stderr");

	# Test parameters without a type in the extended protocol, as a driver sends them.
	my @sent = grep { $_->[3] !~ /^['\s]*$/ && $_->[4] !~ /^['\s]*$/ } @bound;
	splice @sent, 40;
	my (@script, @variables);
	for my $case (@sent)
	{
		my ($id, $query, $pattern, $a, $b) = @$case;

		next
		  if $node->safe_psql('postgres',
				"SELECT outcome("
			  . quote($query . condition($pattern, 'w', quote($a), quote($b)))
			  . ')') eq '!';
		my $values = $query =~ s/count\(\*\)/'$name', $id, BOOL, count(*)/r;
		push @script,
			'INSERT INTO got '
		  . ($values =~ s/BOOL/true/r)
		  . condition($pattern, 'n', ":a$id", ":b$id") . ";\n";
		push @script,
			'INSERT INTO got '
		  . ($values =~ s/BOOL/false/r)
		  . condition($pattern, 'w', quote($a), quote($b)) . ";\n";
		push @variables, '-D', "a$id=$a", '-D', "b$id=$b";
	}
	my $script = $node->basedir . "/$name.sql";
	append_to_file($script, join '', @script);
	for my $mode ('extended', 'prepared')
	{
		$node->command_ok(
			[ 'pgbench', '-n', '-t', '1', '-M', $mode, '-f', $script, @variables, 'postgres' ],
			"$type: pgbench -M $mode succeeds");
	}
	is( $node->safe_psql('postgres',
			<<"SQL"), scalar(@script) / 2 . '|0', "$type: parameters of the extended protocol give the same counts");
SELECT count(DISTINCT id), count(*) FILTER (WHERE least <> greatest)
FROM (SELECT id, min(n) AS least, max(n) AS greatest FROM got WHERE type = '$name' GROUP BY id) s
SQL

	# Join the column with itself and with the wide column, by each join method.
	for my $op ('=', '<', '>=')
	{
		my %methods = (
			nestloop => 'SET enable_hashjoin = off; SET enable_mergejoin = off',
			index =>
			  'SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off',
			merge => 'SET enable_hashjoin = off; SET enable_nestloop = off',
			hash => 'SET enable_mergejoin = off; SET enable_nestloop = off');
		my @expected = split /\n/,
		  $node->safe_psql('postgres',
			"SELECT count(*), sum(a.id + 31 * b.id) FROM plain_$name a JOIN plain_$name b ON a.w $op b.w"
		  );
		my %results = map {
			$_ => $node->safe_psql('postgres', <<"SQL")
$methods{$_};
SELECT count(*), sum(a.id + 31 * b.id) FROM plain_$name a JOIN plain_$name b ON a.n $op b.n;
SELECT count(*), sum(a.id + 31 * b.id) FROM hash_$name a JOIN range_$name b ON a.n $op b.n;
SELECT count(*), sum(a.id + 31 * b.id) FROM plain_$name a JOIN plain_$name b ON a.n $op b.w;
SELECT count(*), sum(a.id + 31 * b.id) FROM plain_$name a JOIN plain_$name b ON a.w $op b.n;
SQL
		} keys %methods;
		is( join("\n", map { "$_ $results{$_}" } sort keys %results),
			join("\n", map { "$_ " . join("\n", (@expected) x 4) } sort keys %results),
			"$type $op $type: joins give the same counts");
	}
	is( $node->safe_psql('postgres',
			<<"SQL"), "1\n1\n1\n1\n1", "$type: other clauses give the same counts");
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

# the narrow integers of the extension, with their ranges
my @integers = narrow_integers($node);
cmp_ok(scalar(@integers), '>=', 4, 'there are narrow integers');
my $share = @integers + 2 + @decimals;
for my $integer (@integers)
{
	my ($type, $min, $max) = @$integer;

	fuzz_type(
		type => $type,
		name => $type,
		wide => 'int8',
		share => $share,
		middle => int(($min + $max) / 2),
		values => "$min + (g * 37 % 100) * (($max - $min) / 99)",
		random => sub { random_integer($min, $max) });
}
for my $seconds ([ 'seconds4', 'timestamp', '' ], [ 'seconds4tz', 'timestamptz', '+00' ])
{
	my ($type, $wide, $zone) = @$seconds;

	fuzz_type(
		type => $type,
		name => $type,
		wide => $wide,
		share => $share,
		middle => "2000-01-10$zone",
		values => "CASE WHEN g = 1 THEN '1970-01-01$zone' WHEN g = 2 THEN '2106-02-07 06:28:15$zone'
			ELSE $wide '2000-01-01$zone' + (g * 37 % 100) * interval '4 h' + (g % 2) * interval '1 s' END",
		random => sub { random_timestamp($zone) });
}
for my $decimal (@decimals)
{
	my ($width, $scale) = split /_/, $decimal;
	my $type = "compact_decimal$decimal";

	fuzz_type(
		type => $type,
		name => $type,
		wide => 'numeric',
		share => $share,
		middle => '0',
		values => "((g * 37 % 100) - 50) * 4 * 1e-" . ($scale > 2 ? 0 : $scale) . ' + 1e-' . $scale,
		random => sub { random_decimal($scale) });
}

# If a statement only stores a value, the value is rounded, as numeric(p,s) and timestamp(0) do.
my @stored = (
	'INSERT INTO S VALUES (1, :d, :s), (2, :d, :s)',
	'INSERT INTO S SELECT 3, :d, :s',
	'INSERT INTO S VALUES (1, 0, NULL) ON CONFLICT (id) DO UPDATE SET d = :e',
	'UPDATE S SET (d, s) = (:e, :s) WHERE id = 2',
	'UPDATE S SET d = coalesce(:d, d), s = CASE WHEN id = 3 THEN :s ELSE s END WHERE id = 3',
	'UPDATE S SET d = :d WHERE id = 1 AND d <> :d',
	'UPDATE S SET d = greatest(d, :e)',
	'MERGE INTO S USING (SELECT 4) v (x) ON id = x WHEN NOT MATCHED THEN INSERT VALUES (x, :d, :s)'
);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE stored (id int PRIMARY KEY, d compact_decimal4_2, s seconds4);
CREATE TABLE stored_wide (id int PRIMARY KEY, d numeric(9,2), s timestamp(0));
SQL
for my $mode ('extended', 'prepared')
{
	my $script = $node->basedir . "/$mode.sql";
	append_to_file(
		$script,
		join '',
		map {
			my $query = $_;
			map { ($query =~ s/\bS\b/$_/gr) . ";\n" } ('stored', 'stored_wide')
		} @stored);
	$node->safe_psql('postgres', 'TRUNCATE stored, stored_wide');
	$node->command_ok(
		[
			'pgbench', '-n', '-t', '1', '-M', $mode, '-f', $script, '-D', 'd=10.995', '-D',
			'e=20.4449', '-D', 's=2000-01-01 00:00:00.7', 'postgres'
		],
		"stored: pgbench -M $mode succeeds");
	is( $node->safe_psql(
			'postgres', 'SELECT id, d, s FROM stored EXCEPT SELECT id, d, s FROM stored_wide'),
		'',
		"stored values are rounded as by the wide type: $mode");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM stored'), 4,
		"all rows are stored: $mode");
}

# A parameter that got the narrow type is cast to another type, or is stored in a column of another
# type.  Such a statement raises an error (undef) unless the type holds the value exactly.
$node->safe_psql('postgres', <<'SQL');
CREATE DOMAIN price AS compact_decimal4_2;
CREATE TYPE pair AS (d compact_decimal4_2, n numeric);
CREATE TABLE p (id int PRIMARY KEY, d compact_decimal4_2, s seconds4, a compact_decimal4_2[], dropped int, n numeric, q price, c pair);
ALTER TABLE p DROP dropped;
INSERT INTO p VALUES (1, 1.23, '2000-01-01 00:00:01');
CREATE TABLE wide (id int, n numeric, d compact_decimal4_2);
INSERT INTO wide VALUES (1);
CREATE VIEW wide_view AS SELECT d, n, id FROM wide;
SQL
my @cast = (
	[
		'INSERT INTO p AS t VALUES (1, A, NULL) ON CONFLICT (id) DO UPDATE SET s = t.s WHERE t.d < A::numeric RETURNING 1',
		undef
	],
	[
		'INSERT INTO p AS t VALUES (1, A, NULL) ON CONFLICT (id) DO UPDATE SET s = t.s WHERE t.d <= A::compact_decimal4_2 RETURNING 1',
		1
	],
	[
		'INSERT INTO p AS t VALUES (1, A, NULL) ON CONFLICT (id) DO UPDATE SET s = t.s WHERE t.d <= A::price RETURNING 1',
		1
	],
	[
		'WITH i AS (INSERT INTO wide (d) VALUES (A)) SELECT count(*) FROM p WHERE d::numeric = A::numeric',
		undef
	],
	[
		'WITH i AS (INSERT INTO wide (d) VALUES (A)) SELECT count(*) FROM p WHERE d::text = A::text',
		undef
	],
	[
		'WITH i AS (INSERT INTO wide (d) VALUES (A)) SELECT count(*) FROM p WHERE d = A::compact_decimal4_2',
		1
	],
	[
		'WITH i AS (INSERT INTO wide (d) VALUES (A)) INSERT INTO wide (n) VALUES (A) RETURNING 1',
		undef
	],
	[ 'SELECT count(*) FROM p WHERE d = A::numeric', 0 ],
	[ 'SELECT count(*) FROM p WHERE d IN (A::numeric, 7)', 0 ],
	[ 'SELECT count(*) FROM p WHERE d IN (A::compact_decimal4_2, B::price)', 1 ],
	[ 'SELECT count(*) FROM p WHERE d IN (A, B::numeric)', 0 ],
	[ 'SELECT count(*) FROM p WHERE d IN (A, B)', undef ],
	[ "SELECT count(*) FROM p WHERE d = ANY (('{' || A::text || '}')::compact_decimal4_2[])", 1 ]);
my @assigned = (
	[ 'UPDATE wide SET n = greatest(p.d, A) FROM p WHERE p.id = 1 RETURNING 1', undef ],
	[ 'UPDATE wide SET (id, n) = (2, coalesce(p.d, A)) FROM p WHERE p.id = 1 RETURNING 1', undef ],
	[ 'UPDATE wide SET (n, d) = (2, coalesce(p.d, A)) FROM p WHERE p.id = 1 RETURNING 1', 1 ],
	[ 'UPDATE wide SET (n, d) = ROW (A, B) RETURNING n::text', '1.2345' ],
	[ 'UPDATE wide_view SET n = CASE WHEN p.id = 1 THEN A ELSE p.d END FROM p RETURNING 1', undef ],
	[ 'UPDATE wide_view SET d = CASE WHEN p.id = 1 THEN A ELSE p.d END FROM p RETURNING 1', 1 ],
	[ 'UPDATE public.wide SET d = greatest(p.d, A) FROM p WHERE p.id = 1 RETURNING 1', 1 ],
	[ 'UPDATE p SET q = greatest(d, A) WHERE id = 1 RETURNING 1', 1 ],
	[ 'UPDATE p SET a[1] = A, c.d = A WHERE id = 1 RETURNING 1', 1 ],
	[ 'UPDATE p SET c = (A, B) WHERE id = 1 RETURNING (c).n::text', '7.2345' ],
	[ 'INSERT INTO wide SELECT 3, d FROM p UNION ALL SELECT 4, A RETURNING 1', undef ],
	[ 'INSERT INTO wide (id, d) SELECT 3, d FROM p UNION ALL SELECT 4, A RETURNING 1', 1 ],
	[ 'INSERT INTO wide (id, n) SELECT id, least(d, A) FROM p RETURNING 1', undef ],
	[ 'INSERT INTO wide (id, d) SELECT id, least(d, A) FROM p RETURNING 1', 1 ],
	[ 'INSERT INTO wide (id, d) SELECT DISTINCT id, least(d, A) FROM p RETURNING 1', undef ],
	[ 'INSERT INTO wide (id, d) SELECT id, least(d, A) FROM p GROUP BY 1, 2 RETURNING 1', undef ],
	[
		'INSERT INTO wide (id, d) SELECT id, least(d, A) AS x FROM p ORDER BY x LIMIT 1 RETURNING 1',
		undef
	],
	[
		'INSERT INTO wide (id, d) SELECT id, least(d, A) FROM p ORDER BY 2 LIMIT 1 RETURNING 1',
		undef
	],
	[
		'INSERT INTO wide (id, d) SELECT id, least(d, A) AS x FROM p ORDER BY id LIMIT 1 RETURNING 1',
		1
	],
	[
		'INSERT INTO wide (id, n) VALUES (2, A), (3, (SELECT coalesce(d, B) FROM p)) RETURNING 1',
		undef
	],
	[
		'INSERT INTO p (id, d, n) VALUES (2, A, B) ON CONFLICT (id) DO UPDATE SET n = coalesce(excluded.d, A) RETURNING 1',
		undef
	],
	[
		'INSERT INTO p (id, d, n) VALUES (1, A, B) ON CONFLICT (id) DO UPDATE SET d = coalesce(excluded.d, A), n = excluded.n RETURNING n::text',
		'7.2345'
	],
	[
		'INSERT INTO p SELECT 5, coalesce(d, A), s, a, coalesce(d, B) FROM p WHERE id = 1 RETURNING 1',
		undef
	],
	[
		'INSERT INTO p SELECT 6, coalesce(d, A), s, a, coalesce(d, 7) FROM p WHERE id = 1 RETURNING 1',
		1
	],
	[ 'INSERT INTO p SELECT 7, d, s, a, 2.5, coalesce(d, A) FROM p WHERE id = 1 RETURNING 1', 1 ],
	[ 'WITH m AS (SELECT 1) INSERT INTO wide (id, d) VALUES (5, A) RETURNING 1', 1 ]);
$node->safe_psql('postgres', 'CREATE TABLE merged (id int, n numeric, d compact_decimal4_2)');
my @merged = (
	[ 'INSERT INTO merged VALUES (1)', 1 ],
	[
		'MERGE INTO merged USING p ON merged.id = p.id WHEN MATCHED THEN UPDATE SET n = coalesce(p.d, A)',
		undef
	],
	[
		'MERGE INTO merged m USING p ON m.id = p.id WHEN MATCHED AND m.d IS NULL THEN UPDATE SET d = coalesce(p.d, A)',
		1
	],
	[
		'MERGE INTO merged USING (SELECT 1, d FROM p WHERE id = 1) p (id, d) ON false WHEN NOT MATCHED THEN INSERT (id, n) VALUES (p.id, coalesce(p.d, A))',
		undef
	],
	[
		'MERGE INTO merged USING (SELECT 1, d FROM p WHERE id = 1) p (id, d) ON false WHEN NOT MATCHED THEN INSERT (d, id) VALUES (coalesce(p.d, A), p.id)',
		1
	],
	[
		'MERGE INTO merged USING (SELECT 1, d FROM p WHERE id = 1) p (id, d) ON false WHEN NOT MATCHED THEN INSERT VALUES (p.id, B, A)',
		1
	]);
my @expected = map {
	{
		n => ($_->[0] =~ s/\b([AB])\b/'%(' . lc($1) . ')s'/gre),
		expected => $_->[1] // '22003',
		parameters =>
		  { $_->[0] =~ /\bA\b/ ? (a => '1.2345') : (), $_->[0] =~ /\bB\b/ ? (b => '7.2345') : () }
	}
} (@cast, @assigned, @merged);
{
	my ($stdin, $stdout, $stderr) = encode_json(\@expected);

	IPC::Run::run(
		[
			'/usr/bin/python3', "$FindBin::RealBin/../python/compact_types_literal.py",
			$node->connstr('postgres')
		],
		'<',
		\$stdin,
		'>',
		\$stdout,
		'2>',
		\$stderr);
	is( $stdout,
		@expected . " equal, 0 refused\n",
		'parameters that are cast or stored as another type give the expected results');
	is($stderr, '', 'nothing on stderr');
}

$node->stop;
done_testing();
