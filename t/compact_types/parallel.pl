# Check that compact types give the same results as their wide types in parallel plans, after
# parallel index builds and under JIT, and that amcheck finds no error in their tables and indexes.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::CompactTypesSamples;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('parallel');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
autovacuum = off
max_worker_processes = 16
max_parallel_workers = 16
log_min_messages = debug1
CONF
$node->start;

my $rows = 8000;
my $columns = join ', ', map { "c_$_->{type} $_->{type}, w_$_->{type} $_->{wide}" } @samples;
my $values = join ', ', map { "$_->{expr}, $_->{expr}" } @samples;
# Every tenth row has only NULLs.  The rows are not in the order of any column.
$node->safe_psql('postgres', join('', map { "CREATE EXTENSION $_;\n" } @extensions) . <<"SQL");
CREATE EXTENSION amcheck;
CREATE TABLE big (id int, $columns);
INSERT INTO big SELECT i, $values FROM (SELECT n * 7919 % $rows AS i FROM generate_series(1, $rows) n) s WHERE i % 10 <> 0;
INSERT INTO big (id) SELECT i FROM generate_series(0, $rows - 1, 10) i;
CREATE TABLE few AS SELECT * FROM big WHERE id % 7 = 0;
VACUUM ANALYZE big, few;
SQL

my %modes = (
	serial => 'SET max_parallel_workers_per_gather = 0;',
	parallel => <<'SQL',
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SQL
);
my $jit = $node->safe_psql('postgres', 'SELECT pg_jit_available()') eq 't';
note 'JIT is ', $jit ? '' : 'not ', 'available';
$modes{jit} = <<'SQL' if $jit;
SET max_parallel_workers_per_gather = 0;
SET jit = on;
SET jit_above_cost = 0;
SET jit_inline_above_cost = 0;
SET jit_optimize_above_cost = 0;
SQL

# Each query has a name, settings, a pattern of the parallel plan, and its text.  In the text,
# COLUMN is the compact or the wide column, and VALUE is a value of the wide type.
my %queries = (
	'scan' => [
		'SET enable_indexscan = off; SET enable_bitmapscan = off;', qr/Parallel Seq Scan/,
		<<'SQL' ],
SELECT count(*), sum(id) FROM big WHERE COLUMN = VALUE OR COLUMN > VALUE AND id > 100
SQL
	'index scan' =>
	  [ 'SET enable_seqscan = off; SET enable_bitmapscan = off;', qr/Parallel Index/, <<'SQL' ],
SELECT count(*), sum(id) FROM big WHERE COLUMN >= VALUE
SQL
	'sort' =>
	  [ 'SET enable_indexscan = off; SET enable_hashagg = off;', qr/Gather Merge/, <<'SQL' ],
SELECT md5(string_agg(n::text, ',')) FROM (SELECT count(*) OVER (PARTITION BY COLUMN) + id AS n FROM big ORDER BY COLUMN, id) s
SQL
	'min and max' => [
		'SET enable_indexscan = off; SET enable_indexonlyscan = off;',
		qr/Partial Aggregate/, <<'SQL' ],
SELECT count(COLUMN), min(COLUMN)::text, max(COLUMN)::text FROM big
SQL
	'aggregate' => [ '', qr/Group Key/, <<'SQL' ],
SELECT count(*), md5(string_agg(n::text, ',' ORDER BY n)) FROM (SELECT count(*) * 1000000000 + sum(id) AS n FROM big GROUP BY COLUMN) s
SQL
	'hash join' =>
	  [ 'SET enable_mergejoin = off; SET enable_nestloop = off;', qr/Parallel Hash/, <<'SQL' ],
SELECT count(*), sum(big.id), sum(few.id) FROM big JOIN few USING (COLUMN)
SQL
	'merge join' =>
	  [ 'SET enable_hashjoin = off; SET enable_nestloop = off;', qr/Merge Join/, <<'SQL' ],
SELECT count(*), sum(big.id), sum(few.id) FROM big JOIN few USING (COLUMN)
SQL
	'join of both types' =>
	  [ 'SET enable_mergejoin = off; SET enable_nestloop = off;', qr/Hash Join/, <<'SQL' ],
SELECT count(*), sum(big.id), sum(few.id) FROM big JOIN few ON big.COLUMN = few.WIDE
SQL
	'anti join' => [ '', qr/Anti Join/, <<'SQL' ],
SELECT count(*), sum(id) FROM big WHERE NOT EXISTS (SELECT FROM few WHERE few.COLUMN = big.COLUMN)
SQL
);

for my $sample (@samples)
{
	my ($type, $expr) = @$sample{ 'type', 'expr' };
	my ($c, $w) = ("c_$type", "w_$type");
	my $value = $expr =~ s/\bi\b/42/gr;

	# Create indexes.  Parallel workers help to build the first two.
	$node->safe_psql('postgres', <<"SQL");
$modes{parallel}
SET max_parallel_maintenance_workers = 2;
CREATE INDEX b_$c ON big (${c});
CREATE UNIQUE INDEX u_$c ON big ($c, id);
CREATE INDEX h_$c ON big USING hash ($c);
CREATE INDEX b_$w ON big ($w);
CREATE INDEX b_few_$c ON few ($c);
SQL
	like(
		slurp_file($node->logfile),
		qr/building index "b_$c" on table "big" with request for [12] parallel worker/,
		"$type: the index is built in parallel");

	# results(MODE, COLUMN, PREFIX) - return the results of the queries, by name
	my $results = sub {
		my ($mode, $column, $prefix) = @_;
		my $sql = $modes{$mode};

		# JIT compilation takes a quarter of a second for each query, so run only two of them.
		for my $name ($mode eq 'jit' ? ('scan', 'aggregate') : sort keys %queries)
		{
			my ($settings, undef, $query) = @{ $queries{$name} };
			my $reset = join ' ', map { "RESET $_;" } $settings =~ /SET (\w+)/g;
			$query =~ s/COLUMN/$column/g;
			$query =~ s/WIDE/$w/g;
			$query =~ s/VALUE/$value/g;
			$sql .= "\\echo <$name>\n$settings $prefix $query; $reset\n";
		}
		my (undef, %result) = split /^<([a-z ]+)>\n/m, $node->safe_psql('postgres', $sql);
		s/\n*$// for values %result;
		return %result;
	};
	my %expected = $results->('serial', $w, '');
	my %plan = $results->('parallel', $c, 'EXPLAIN (COSTS OFF)');
	for my $name (sort keys %queries)
	{
		like($plan{$name}, qr/Gather/, "$type: $name: the plan is parallel");
		like($plan{$name}, $queries{$name}[1], "$type: $name: the plan has the expected node");
		like(
			$expected{$name},
			$name =~ /sort/ ? qr/^\w{32}$/ : qr/^[1-9]\d*\|-?\w/,
			"$type: $name: the wide type gives an answer");
	}
	for my $mode (sort keys %modes)
	{
		my %got = $results->($mode, $c, '');
		my @wrong = grep { $got{$_} ne $expected{$_} } sort keys %got;

		is("@wrong", '', "$type: $mode: the answers are those of the wide type");
	}
}
if ($jit)
{
	like(
		$node->safe_psql(
			'postgres',
			"$modes{jit} EXPLAIN (ANALYZE) SELECT count(*) FROM big WHERE c_$samples[0]{type} = w_$samples[0]{type}"
		),
		qr/^JIT:/m,
		'JIT was used');
}
elsif (`pg_config --configure` =~ /--with-llvm/)
{
  SKIP:
	{
		skip 'the library for JIT is not installed', 1;
	}
}

# Change rows after the indexes were built, and then check tables and indexes with amcheck.
my $changes = join ', ', map { "c_$_->{type} = " . ($_->{expr} =~ s/\bi\b/(id + 1)/gr) } @samples;
$node->safe_psql('postgres', <<"SQL");
UPDATE big SET $changes WHERE id % 5 = 1;
DELETE FROM big WHERE id % 501 = 1;
SQL
is( $node->safe_psql('postgres', q{SELECT count(*) FROM pg_indexes WHERE tablename = 'big'}),
	4 * @samples,
	'each type has four indexes');
is($node->safe_psql('postgres', q{SELECT count(*) FROM verify_heapam('big')}),
	0, 'verify_heapam finds no error');
my $checked = $node->safe_psql('postgres', <<'SQL');
SELECT i.relname, bt_index_parent_check(indexrelid, true, true) FROM pg_index
JOIN pg_class i ON i.oid = indexrelid JOIN pg_am a ON a.oid = relam
WHERE indrelid IN ('big'::regclass, 'few'::regclass) AND amname = 'btree'
SQL
is(scalar(split /\n/, $checked), 4 * @samples, 'bt_index_parent_check finds no error');
$node->safe_psql('postgres', 'VACUUM FREEZE big; REINDEX TABLE big');
is( $node->safe_psql(
		'postgres',
		q{SELECT count(*) FROM verify_heapam('big', on_error_stop := false, check_toast := true)}),
	0,
	'verify_heapam finds no error after VACUUM FREEZE and REINDEX');
unlike(
	slurp_file($node->logfile),
	qr/PANIC|TRAP|terminated by signal/,
	'the server has not crashed');

$node->stop;
done_testing();
