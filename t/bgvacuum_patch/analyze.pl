# Check ANALYZE with a limit of blocks, analyze_max_blocks.
#
# - ANALYZE and autovacuum read at most this many blocks of a table, of an inheritance tree or of a
#   materialized view.  The storage parameter takes precedence over the setting.  Foreign tables are
#   not affected.
# - Without a limit that reduces the blocks, the statistics are those of a stock server.
# - With a limit, the estimates are near the true numbers, also if equal values are on the same
#   block.  The bounds are wide, because ANALYZE selects the blocks at random.
# - The storage parameter accepts only values that make sense, and moves with pg_dump.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::IndexAlign qw(hand_over);
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('bgvacuum_patch', 'analyze_max_blocks');

my $settings = "autovacuum = off\nshared_buffers = 32MB\nfsync = off\nmax_wal_size = 1GB\n";
my $node = PostgreSQL::Test::Cluster->new('analyze');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', $settings);
$node->start;

# Return what ANALYZE reports: [table, blocks read, blocks of the table, limit or undef] for each
# table that it reads.
sub analyze
{
	my ($tables, @before) = @_;
	my ($rc, undef, $messages) =
	  $node->psql('postgres', join(';', @before, "ANALYZE VERBOSE $tables"));
	my @tables;

	is($rc, 0, "ANALYZE $tables works");
	for my $message (split /\n/, $messages)
	{
		push @tables, [ $1, $2, $3, undef ]
		  if $message =~ /"(\w+)": scanned (\d+) of (\d+) pages/;
		$tables[-1][3] = $1
		  if @tables
		  && $message =~ /"$tables[-1][0]": analyze_max_blocks limited the sample to (\d+) pages/;
	}
	return @tables;
}

# Return the statistics of the columns of a table.
sub column_stats
{
	my ($server, $table) = @_;

	return $server->safe_psql('postgres', <<"SQL");
SELECT tablename, attname, inherited, null_frac, avg_width, n_distinct, most_common_vals, most_common_freqs, histogram_bounds,
  correlation, most_common_elems, most_common_elem_freqs, elem_count_histogram, range_bounds_histogram
FROM pg_stats WHERE tablename ~ '^$table' ORDER BY 1, 2, 3;
SELECT statistics_name, n_distinct, dependencies, most_common_vals, most_common_freqs FROM pg_stats_ext
WHERE tablename ~ '^$table' ORDER BY 1;
SELECT statistics_name, expr, n_distinct, most_common_vals FROM pg_stats_ext_exprs WHERE tablename ~ '^$table' ORDER BY 1, 2;
SELECT relname, relpages, reltuples FROM pg_class WHERE relname ~ '^$table' ORDER BY 1;
SQL
}

# h(N) is a pseudo-random number from 0 to 1 that is the same on all servers.
my $h = <<'SQL';
CREATE FUNCTION h(n int) RETURNS float8 IMMUTABLE STRICT LANGUAGE sql
AS 'SELECT (pg_catalog.hashint4(n)::float8 + 2147483648) / 4294967296';
SQL

# Tables with statistics of all kinds, which ANALYZE reads completely.
my $small = <<'SQL';
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE small AS SELECT i AS id, (h(i) * 50)::int AS n, i / 30 AS clustered, NULLIF(i % 3, 0) AS third,
  NULL::int AS nothing, repeat('w', i % 2000) AS wide, (i / 20)::text::xid AS x,
  (ARRAY['sad', 'ok', 'happy'])[1 + i % 3]::mood AS mood, ARRAY[i % 7, i % 11] AS list,
  int4range(i % 100, i % 100 + 10) AS span, to_tsvector('simple', 'w' || i % 13) AS words,
  CASE WHEN i % 100 = 0 THEN (SELECT string_agg(md5((i * 1000 + j)::text), '') FROM generate_series(1, 200) j) END AS toasted,
  point(i, i) AS p, jsonb_build_object('k', i % 9) AS j
FROM generate_series(1, 5000) i;
CREATE INDEX small_expression ON small ((n + clustered)) WHERE id > 1000;
CREATE STATISTICS small_stat ON n, clustered, third FROM small;
CREATE STATISTICS small_stat_expr ON (n + 1), clustered FROM small;
CREATE TABLE small_none (a int, b text);
CREATE TABLE small_p (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE small_p1 PARTITION OF small_p FOR VALUES FROM (0) TO (1000);
CREATE TABLE small_p2 (b int, a int);
ALTER TABLE small_p ATTACH PARTITION small_p2 FOR VALUES FROM (1000) TO (9000);
INSERT INTO small_p SELECT i, i / 40 FROM generate_series(0, 4999) i;
SQL
my $analyze_small = 'ANALYZE small; ANALYZE small_none; ANALYZE small_p';

# Without a limit that reduces the blocks, the statistics are the same, and those of a stock server.
{
	$node->safe_psql('postgres', $h . $small . $analyze_small);
	my $expected = column_stats($node, 'small');
	my (undef, $base) = built_here();
	my $stock_path = "$base/stock";

	like($expected, qr/small_expression/, 'off: the index on an expression has statistics');
	for my $limit (1000, 30000, 2147483647)
	{
		$node->safe_psql('postgres', "SET analyze_max_blocks = $limit; $analyze_small");
		is(column_stats($node, 'small'), $expected, "limit of $limit blocks: the same statistics");
	}

  SKIP:
	{
		skip 'no stock server is built here', 4 if !-x "$stock_path/bin/postgres";
		my $stock = PostgreSQL::Test::Cluster->new('stock', install_path => $stock_path);
		$stock->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
		$stock->append_conf('postgresql.conf', $settings);
		$stock->start;
		$stock->safe_psql('postgres', $h . $small . $analyze_small);
		is($expected, column_stats($stock, 'small'), 'off: the statistics of a stock server');

		# A stock server refuses the storage parameter, and accepts the dump after a RESET.
		$node->safe_psql('postgres',
			'CREATE TABLE moving (a int) WITH (analyze_max_blocks = 300, fillfactor = 90)');
		for my $reset ('', 'ALTER TABLE moving RESET (analyze_max_blocks)')
		{
			$node->safe_psql('postgres', $reset);
			my ($dump) =
			  run_command([ 'pg_dump', '-d', $node->connstr('postgres'), '-t', 'moving' ]);
			my (undef, undef, $error) = $stock->psql('postgres', $dump, on_error_stop => 1);
			$reset
			  ? is($error, '', 'a stock server restores a table without the parameter')
			  : like(
				$error,
				qr/ERROR:  unrecognized parameter "analyze_max_blocks"/,
				'a stock server refuses the parameter');
		}
		is( $stock->safe_psql(
				'postgres', "SELECT reloptions FROM pg_class WHERE relname = 'moving'"),
			'{fillfactor=90}',
			'a stock server has the other parameters');
		$stock->stop;
	}
}

# A table of 2,000 blocks, with columns of all distributions.  xid has no order.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE big AS SELECT i AS id, (h(i) * 1000)::int AS uniform, (h(i + 500000) * 15000)::int AS many,
  i % 3 AS few, floor(exp(h(i) * ln(20000)))::int AS zipf, i / 10 AS sorted, i / 10 * 7919 % 12007 AS clustered,
  i / 50 * 7919 % 2411 AS clustered50, i / 50 % 300 AS recurring, (i + (h(i) * 1000)::int) / 25 AS correlated,
  CASE WHEN i % 3 <> 0 THEN i / 10 END AS holes, NULL::int AS nothing,
  (i / 10 * 7919 % 12007)::text::xid AS x, (h(i) * 50)::int::text::xid AS few_x,
  CASE WHEN i % 1000 = 0 THEN repeat(i::text, 300) ELSE (i / 10)::text END AS wide, repeat('p', 16) AS pad
FROM generate_series(0, 119999) i;
CREATE INDEX big_expression ON big ((clustered + 1));
CREATE INDEX big_partial ON big ((uniform + 1)) WHERE few = 0;
CREATE STATISTICS big_stat (ndistinct) ON clustered, clustered50, few FROM big;
CREATE STATISTICS big_near (mcv) ON recurring, clustered50 FROM big;
CREATE STATISTICS big_common (mcv) ON few, zipf FROM big;
SQL
my $blocks = (analyze('big'))[0]->[2];
my $limit = int($blocks * 0.15);
note "$blocks blocks, limit $limit";
cmp_ok($blocks, '>', 1500, 'the table has enough blocks');

# Return the estimates of a table: column => [n_distinct, rows of the most common values, frequency of the first, null_frac, correlation]
sub estimates
{
	my %estimates;

	for my $row (
		split /\n/,
		$node->safe_psql(
			'postgres',
			"SELECT CASE tablename WHEN 'big' THEN attname::text ELSE tablename::text END,
  CASE WHEN n_distinct < 0 THEN -n_distinct * reltuples ELSE n_distinct END,
  coalesce(array_length(most_common_freqs, 1), 0), coalesce(most_common_freqs[1], 0), null_frac, coalesce(correlation, 0)
FROM pg_stats JOIN pg_class ON relname = tablename WHERE tablename ~ '^big'"))
	{
		my ($column, @values) = split /\|/, $row;
		$estimates{$column} = \@values;
	}
	return \%estimates;
}

# Return the number of most common combinations of an object of extended statistics, and the
# frequency of the first.
sub combinations
{
	my ($statistics) = @_;

	return split /\|/, $node->safe_psql(
		'postgres',
		"SELECT coalesce(array_length(most_common_freqs, 1), 0), coalesce(most_common_freqs[1], 0)
FROM pg_stats_ext WHERE statistics_name = '$statistics'");
}

# Check that a value is between two bounds.
sub between
{
	my ($value, $low, $high, $name) = @_;

	ok($value >= $low && $value <= $high, "$name: $value is from $low to $high");
	return;
}

# The true numbers of distinct values.
my %distinct = map { split /\|/ } split /\n/,
  $node->safe_psql(
	'postgres',
	join ' UNION ALL ',
	map { "SELECT '$_', count(DISTINCT $_\::text) FROM big" }
	  qw(id uniform many few zipf sorted clustered clustered50 recurring correlated holes x few_x wide)
  );
$distinct{big_expression} = $distinct{clustered};
$distinct{big_partial} = $distinct{uniform};

for my $kind ([ '', 100 ], [ ', few rows of each block', 15 ])
{
	my ($name, $target) = @$kind;
	my @set = ("SET default_statistics_target = $target", 'SET analyze_max_blocks = 0');
	my ($table) = analyze('big', @set);
	my $plain = estimates();

	is_deeply(
		$table,
		[ 'big', $blocks > 300 * $target ? 300 * $target : $blocks, $blocks, undef ],
		"no limit$name: blocks");
	($table) = analyze('big', @set, "SET analyze_max_blocks = $limit");
	is_deeply($table, [ 'big', $limit, $blocks, $limit ], "limit$name: blocks");
	my $limited = estimates();

	between($limited->{id}[0], 108_000, 132_000, "limit$name: unique values");
	is($limited->{few}[0], 3, "limit$name: few values");
	between($limited->{$_}[0] / $distinct{$_}, 0.55, 1.6, "limit$name: distinct values of $_")
	  for qw(uniform many sorted clustered clustered50 recurring correlated holes x big_expression
	  big_partial);
	between($limited->{zipf}[0] / $plain->{zipf}[0],
		0.6, 1.6, "limit$name: distinct values of zipf, compared with those without limit");
	between($limited->{few_x}[0] / $plain->{few_x}[0],
		0.6, 1.6, "limit$name: distinct values of few_x, compared with those without limit");
	between($limited->{zipf}[3], 0, 0, "limit$name: no NULL");
	between($limited->{holes}[3], 0.28, 0.39, "limit$name: a third is NULL");
	is($limited->{nothing}[3], 1, "limit$name: all is NULL");
	between($limited->{id}[4], 0.999, 1, "limit$name: correlation of a sorted column");
	between($limited->{correlated}[4], 0.99, 1, "limit$name: correlation of nearly sorted columns");
	between($limited->{many}[4], -0.15, 0.15, "limit$name: correlation of random columns");

	# A value that happens to be on a block of the sample is not common.
	between($limited->{$_}[1], 0, 1, "limit$name: common values of $_")
	  for qw(id sorted clustered holes x);
	is($limited->{few}[1], 3, "limit$name: few values are all common");
	between($limited->{zipf}[2] / $plain->{zipf}[2],
		0.7, 1.4, "limit$name: frequency of the most common value of zipf");

	# Rows that the planner expects.
	for my $query (
		[ 'few = 1', 40_000, 1.15 ],
		[ 'uniform = 500', 120, 2.5 ],
		[ 'clustered = 7919', 10, 2.5 ],
		[ 'recurring = 77', 400, 2.5 ],
		[ 'sorted BETWEEN 3000 AND 5999', 30_000, 1.5 ])
	{
		my ($condition, $true, $bound) = @$query;
		my ($rows) =
		  $node->safe_psql('postgres', "EXPLAIN SELECT FROM big WHERE $condition") =~ /rows=(\d+)/;
		between($rows / $true, 1 / $bound, $bound, "limit$name: rows with $condition");
	}

	# Combinations of columns.
	my ($combination) = $node->safe_psql(
		'postgres', "SELECT n_distinct::text::json ->> '7, 8' FROM pg_stats_ext
WHERE statistics_name = 'big_stat'");
	between($combination / 12_000, 0.55, 1.6, "limit$name: distinct values of two columns");

	# The rows of a combination of big_near are on one or two blocks.
	is((combinations('big_near'))[0], 0, "limit$name: no common combinations on neighbouring rows");
	next if $name;
	my ($number, $frequency) = combinations('big_common');
	my $true = $node->safe_psql('postgres',
		'SELECT max(n) / 120000.0 FROM (SELECT count(*) AS n FROM big GROUP BY few, zipf) AS combinations'
	);
	cmp_ok($number, '>=', 3, "limit$name: there are common combinations");
	between($frequency / $true, 0.7, 1.4, "limit$name: frequency of the most common combination");
}

# The number of distinct values has no bias where equal values are neighbours: nine of ten groups of
# ten rows are on one block, and the others on two.
{
	my %sum;
	my $rounds = 8;

	for (1 .. $rounds)
	{
		analyze('big (sorted, holes, x)', "SET analyze_max_blocks = $limit");
		my $estimates = estimates();
		$sum{$_} += $estimates->{$_}[0] / $distinct{$_} for qw(sorted holes x);
	}
	between($sum{$_} / $rounds, 0.97, 1.03, "limit: mean of $rounds estimates for $_")
	  for sort keys %sum;
}

# Samples of one block, and of one row of each block.
analyze('big', 'SET analyze_max_blocks = 1');
is((combinations('big_near'))[0], 0, 'one block: no common combinations');
analyze('big', 'SET default_statistics_target = 1', 'SET analyze_max_blocks = 299');
analyze('big (nothing, x)', 'SET analyze_max_blocks = 2');
is((analyze('small_none', 'SET analyze_max_blocks = 1'))[0]->[1], 0, 'an empty table');
$node->safe_psql('postgres', 'CREATE TABLE hollow AS SELECT i FROM generate_series(1, 100000) i');
$node->safe_psql('postgres', 'DELETE FROM hollow WHERE i % 20000 <> 0');
is((analyze('hollow', 'SET analyze_max_blocks = 3'))[0]->[1], 3, 'blocks without rows');

# The storage parameter takes precedence over the setting.
{
	$node->safe_psql('postgres', 'ALTER TABLE big SET (analyze_max_blocks = 200)');
	is((analyze('big'))[0]->[1], 200, 'storage parameter: blocks');
	is((analyze('big', 'SET analyze_max_blocks = 20'))[0]->[1], 200, 'it beats the setting');
	$node->safe_psql('postgres', 'ALTER TABLE big SET (analyze_max_blocks = 0)');
	is((analyze('big', 'SET analyze_max_blocks = 20'))[0]->[1], $blocks, 'without limit, too');
	$node->safe_psql('postgres', 'ALTER TABLE big RESET (analyze_max_blocks)');
	is((analyze('big', 'SET analyze_max_blocks = 20'))[0]->[1], 20, 'RESET: the setting counts');

	for my $bad (
		[
			'ALTER TABLE big SET (analyze_max_blocks = -1)',
			'value -1 out of bounds for option "analyze_max_blocks"'
		],
		[
			'ALTER TABLE big SET (analyze_max_blocks = 3000000000)',
			'invalid value for integer option "analyze_max_blocks": 3000000000'
		],
		[
			'ALTER TABLE big SET (analyze_max_blocks = many)',
			'invalid value for integer option "analyze_max_blocks": many'
		],
		[
			'ALTER TABLE big SET (toast.analyze_max_blocks = 1)',
			'unrecognized parameter "analyze_max_blocks"'
		],
		[
			'ALTER INDEX big_expression SET (analyze_max_blocks = 1)',
			'unrecognized parameter "analyze_max_blocks"'
		],
		[
			'ALTER TABLE small_p SET (analyze_max_blocks = 1)',
			'cannot specify storage parameters for a partitioned table'
		],
		[
			'SET analyze_max_blocks = -1',
			'-1 is outside the valid range for parameter "analyze_max_blocks" (0 .. 2147483647)'
		],
		[
			"SET analyze_max_blocks = '1MB'",
			'invalid value for parameter "analyze_max_blocks": "1MB"'
		])
	{
		my ($statement, $error) = @$bad;
		my (undef, undef, $messages) = $node->psql('postgres', $statement);
		like($messages, qr/ERROR:  \Q$error\E/, "$statement: error");
	}
}

# Every role may use the setting, and only the owner of a table may set the parameter.
{
	$node->safe_psql('postgres',
		'CREATE ROLE someone; GRANT ALL ON SCHEMA public TO someone; GRANT ALL ON big TO someone');
	$node->safe_psql('postgres',
		'SET ROLE someone; SET analyze_max_blocks = 1; CREATE TABLE theirs () WITH (analyze_max_blocks = 1)'
	);
	my (undef, undef, $error) =
	  $node->psql('postgres', 'SET ROLE someone; ALTER TABLE big SET (analyze_max_blocks = 1)');
	like($error, qr/must be owner of table big/, 'the parameter of a table of another role');
}

# A dump has the parameter.
{
	$node->safe_psql('postgres', 'CREATE MATERIALIZED VIEW seen AS SELECT id, clustered FROM big');
	$node->safe_psql('postgres', 'ALTER MATERIALIZED VIEW seen SET (analyze_max_blocks = 50)');
	$node->safe_psql('postgres', 'CREATE TABLE moved (a int) WITH (analyze_max_blocks = 60)');
	is((analyze('seen'))[0]->[1], 50, 'materialized view: blocks');
	$node->safe_psql('postgres', 'CREATE DATABASE restored');
	my ($dump) = run_command(
		[
			'pg_dump', '-s', '-d', $node->connstr('postgres'),
			'-t', 'moved', '-t', 'seen', '-t', 'big'
		]);
	$node->safe_psql('restored', $h . $dump);
	is( $node->safe_psql(
			'restored', "SELECT relname, reloptions FROM pg_class WHERE reloptions IS NOT NULL
AND relnamespace = 'public'::regnamespace ORDER BY 1"),
		"moved|{analyze_max_blocks=60}\nseen|{analyze_max_blocks=50}",
		'a restored dump has the parameters');
}

# The tables of an inheritance tree share the limit by their size.  A storage parameter limits its
# table also there.  Foreign tables are read as ever.
{
	my $csv = PostgreSQL::Test::Utils::tempdir() . '/foreign.csv';
	append_to_file($csv, join '', map { "$_," . int($_ / 10) . "\n" } 0 .. 99_999);
	$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE TABLE tree (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE tree1 PARTITION OF tree FOR VALUES FROM (0) TO (50000);
CREATE TABLE tree2 (pad text, b int, a int);
ALTER TABLE tree2 DROP COLUMN pad;
ALTER TABLE tree ATTACH PARTITION tree2 FOR VALUES FROM (50000) TO (200000);
CREATE TABLE tree3 PARTITION OF tree FOR VALUES FROM (200000) TO (300000);
INSERT INTO tree SELECT i, i / 10 * 7919 % 20011 FROM generate_series(0, 199999) i;
CREATE FOREIGN TABLE outside (a int, b int) SERVER files OPTIONS (filename '$csv', format 'csv');
SQL
	my %tables = map { $_->[0] => $_ } analyze('tree', 'SET analyze_max_blocks = 0');
	my $all = $tables{tree1}[2] + $tables{tree2}[2];
	my %only = map { $_->[0] => $_ } grep { defined $_->[3] } analyze('tree');
	is_deeply(\%only, {}, 'tree: no limit');

	# The first messages are those of the tree, and the later ones those of each partition.
	my @tree = (analyze('tree', 'SET analyze_max_blocks = 100'));
	my %share;
	$share{ $_->[0] } //= $_->[1] for @tree;
	for my $table (qw(tree1 tree2))
	{
		is($share{$table}, int(100 * ($tables{$table}[2] / $all)), "tree: share of $table");
	}
	is_deeply(
		[ map { $_->[1] } grep { $_->[0] eq 'tree2' } @tree ],
		[ $share{tree2}, 100 ],
		'tree: a partition by itself has the whole limit');
	my ($estimate) = $node->safe_psql(
		'postgres',
		"SELECT abs(n_distinct) * CASE WHEN n_distinct < 0 THEN 200000 ELSE 1 END FROM pg_stats
WHERE tablename = 'tree' AND attname = 'b' AND inherited");
	my $values = $node->safe_psql('postgres', 'SELECT count(DISTINCT b) FROM tree');
	between($estimate / $values, 0.4, 2, 'tree: distinct values');

	# tree1 reads its share of 40 blocks, although there is no limit, and tree2 reads all.
	$node->safe_psql('postgres', 'ALTER TABLE tree1 SET (analyze_max_blocks = 40)');
	%share = ();
	$share{ $_->[0] } //= $_->[1] for analyze('tree');
	is_deeply(
		\%share,
		{ tree1 => int(40 * ($tables{tree1}[2] / $all)), tree2 => $tables{tree2}[2], tree3 => 0 },
		'tree: storage parameter of a partition');
	$node->safe_psql('postgres', 'ALTER TABLE tree1 RESET (analyze_max_blocks)');

	# A foreign table has the same statistics.  file_fdw chooses rows at random, but finds
	# 100,000 unique values.
	$node->safe_psql('postgres', 'SET analyze_max_blocks = 1; ANALYZE outside');
	is( $node->safe_psql(
			'postgres', "SELECT n_distinct, null_frac FROM pg_stats
WHERE tablename = 'outside' AND attname = 'a'"),
		'-1|0',
		'a foreign table: statistics');
	$node->safe_psql('postgres',
		'ALTER TABLE tree ATTACH PARTITION outside FOR VALUES FROM (300000) TO (500000)');
	%share = ();
	$share{ $_->[0] } //= $_->[1] for analyze('tree', 'SET analyze_max_blocks = 100');
	cmp_ok($share{tree1} + $share{tree2}, '<=', 100, 'a foreign partition: the others are limited');
	($estimate) = $node->safe_psql('postgres',
		"SELECT n_distinct FROM pg_stats WHERE tablename = 'tree' AND attname = 'a' AND inherited");
	cmp_ok($estimate, '<', -0.4, 'a foreign partition: distinct values of all partitions');

	# Inheritance without partitions: the parent has rows, too.
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE parent WITH (analyze_max_blocks = 30) AS SELECT i AS a, i / 10 AS b FROM generate_series(1, 60000) i;
CREATE TABLE child () INHERITS (parent);
INSERT INTO child SELECT i, i / 10 FROM generate_series(60001, 120000) i;
SQL
	%tables = map { $_->[0] => $_->[2] } analyze('parent');
	$all = $tables{parent} + $tables{child};
	# From 18 on, the child is analyzed by itself, too.
	my @parent = map { "@$_[0, 1]" } analyze('parent', 'SET analyze_max_blocks = 50');
	is_deeply(
		[ sort grep { $_ ne 'child 50' } @parent ],
		[
			'child ' . int(50 * ($tables{child} / $all)),
			'parent ' . int(30 * ($tables{parent} / $all)),
			'parent 30'
		],
		'inheritance: each table has its share of its limit');
}

# Blocks that ANALYZE reads are in few buffers afterwards, those of its ring.
{
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_buffercache; CHECKPOINT');
	$node->restart;
	analyze('big', "SET analyze_max_blocks = $limit", "SET vacuum_buffer_usage_limit = '256kB'");
	cmp_ok(
		$node->safe_psql(
			'postgres', "SELECT count(*) FROM pg_buffercache
WHERE relfilenode = pg_relation_filenode('big') AND relforknumber = 0"),
		'<=',
		32,
		'blocks in shared buffers after ANALYZE');
}

# Autovacuum obeys the setting and the parameter.
{
	my $read =
	  "SELECT pg_stat_force_next_flush(); SELECT sum(heap_blks_read + heap_blks_hit) FROM pg_statio_all_tables WHERE relname = ";
	$node->append_conf('postgresql.conf',
		"autovacuum = on\nautovacuum_naptime = 1s\nautovacuum_vacuum_threshold = 1000000\nautovacuum_vacuum_insert_threshold = -1\nanalyze_max_blocks = 70\n"
	);
	for my $table ([ 'auto1', '', 70 ], [ 'auto2', ', analyze_max_blocks = 90', 90 ])
	{
		my ($name, $parameter, $expected) = @$table;
		$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $name WITH (autovacuum_enabled = off$parameter) AS SELECT i, repeat('a', 100) AS a FROM generate_series(1, 20000) i;
SQL
	}
	$node->reload;
	for my $table ([ 'auto1', 70 ], [ 'auto2', 90 ])
	{
		my ($name, $expected) = @$table;
		my ($before) = $node->safe_psql('postgres', "$read '$name'") =~ /(\d+)$/;
		$node->safe_psql('postgres', "ALTER TABLE $name SET (autovacuum_enabled = on)");
		$node->poll_query_until('postgres',
			"SELECT autoanalyze_count > 0 FROM pg_stat_user_tables WHERE relname = '$name'")
		  or die "$name was not analyzed";
		my ($after) = $node->safe_psql('postgres', "$read '$name'") =~ /(\d+)$/;
		# The visibility map counts, too.
		between($after - $before, $expected, $expected + 10, "autovacuum: blocks read of $name");
	}
}

# A stock server runs on the data directory.  It ignores the parameter, but refuses to change other
# parameters of the table until it is reset.  The patched server finds the tables by this query.
{
	my (undef, $base) = built_here();
	my $tables =
	  "SELECT format('ALTER TABLE %s RESET (analyze_max_blocks)', oid::regclass) FROM pg_class
WHERE reloptions::text ~ 'analyze_max_blocks' ORDER BY 1";
	my @reset = split /\n/, $node->safe_psql('postgres', $tables);
	ok((grep { /TABLE seen RESET/ } @reset), 'the query finds a materialized view');

	$node->append_conf('postgresql.conf', 'autovacuum = off');
	$node->stop;
  SKIP:
	{
		skip 'no stock server is built here', 4 if !-x "$base/stock/bin/postgres";
		my $conf = slurp_file($node->data_dir . '/postgresql.conf') =~ s/^analyze_max_blocks.*$//mr;
		unlink $node->data_dir . '/postgresql.conf';
		append_to_file($node->data_dir . '/postgresql.conf', $conf);
		my $stock = hand_over($node, 'after', "$base/stock", 1);
		$stock->start;
		is($stock->safe_psql('postgres', 'ANALYZE moved; SELECT count(*) FROM moved'),
			'0', 'a stock server reads a table with the parameter');
		my (undef, undef, $error) =
		  $stock->psql('postgres', 'ALTER TABLE moved SET (fillfactor = 80)');
		like(
			$error,
			qr/unrecognized parameter "analyze_max_blocks"/,
			'it does not change the parameters of this table');
		$stock->safe_psql('postgres', join ';', @reset, 'ALTER TABLE moved SET (fillfactor = 80)');
		is($stock->safe_psql('postgres', $tables), '', 'it resets the parameter');
		$stock->stop;
	}
}

done_testing();
