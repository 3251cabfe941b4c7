#
# vertical.pl - check that bench/run vertical-partition measures what it claims to measure
#
# Run the study of vertical partition once, as a smoke run.  Check that
#
# - a plain table and the split tables have the same contents after the same updates;
# - the number of bytes that an update writes is the size of the tuples on the pages;
# - with the rewrite, a statement on hot columns touches as many pages through the view
#   as it does on the hot part itself;
# - a missing update, an update that is made twice, wrong contents and a plan that reads the cold
#   part end the study with an error;
# - the result has the metrics that the report and the documents name;
# - the study refuses a server without the extension and wrong arguments, with an error of one line,
#   and leaves no instance.
#
# Times are not checked, because other processes disturb them.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Bench;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @methods = qw(shared_key surrogate_key row_pointer);
my @split = map { ("$_.off", "$_.on") } @methods;
my @tables = qw(customer stock);
my @statements = map {
	my $what = $_;
	map { "$what.$_" } qw(hot cold both)
} qw(read update);

needs_python();

my ($code, $out, $err) = bench($top, 'vertical-partition', '--quick', '--calls', '20', '--json',
	"$work/results/vertical-partition.json");
is($code, 0, 'bench/run vertical-partition') or BAIL_OUT("$out\n$err");
no_instances($top, 'vertical-partition');

my $result = read_result("$work/results/vertical-partition.json");
my @each = map {
	my $table = $_;
	map { "$table.$_" } @methods
} @tables;
is_sound(
	$result,
	'vertical-partition',
	[
		qw(read.hot update.hot simple.read.hot tracked.read tracked.update bytes_per_update.customer bytes_per_update.stock),
		(   map {
				(   "read.hot.$_", "update.hot.$_",
					"bytes_per_update.$_", "pages_per_update.$_",
					"wal_per_update.$_", "size.$_")
			} @each),
		(map { "bytes_per_update.$_.off" } @each),
		map {
			my $of = $_;
			map { ("plain.$of.$_") } @split
		} map {
			my $table = $_;
			map { "$table.$_" } @statements
		} @tables
	],
	[
		'read.hot',
		'update.hot',
		'read.hot.stock.row_pointer',
		'plain.customer.read.hot.shared_key.off'
	],
	'settings of all',
	'settings of variants');

# Rows, bytes and pages that updates write
my %updates = map { ("$_->{table} $_->{variant}" => $_) }
  grep { $_->{test} eq 'update' } @{ $result->{samples} };
is_deeply(
	[ sort keys %updates ],
	[
		sort map {
			my $table = $_;
			map { "$table $_" } 'plain', @split
		} @tables
	],
	'every variant was updated');
foreach my $table (@tables)
{
	my $plain = $updates{"$table plain"};

	is_deeply(
		$plain->{versions},
		[ $plain->{updates} ],
		"$table, plain: a new row version for each update");
	foreach my $variant (@split)
	{
		my $sample = $updates{"$table $variant"};

		is($sample->{digest}, $plain->{digest},
			"$table, $variant: the split table has the contents of the plain one");
		is($sample->{versions}[0],
			$plain->{updates}, "$table, $variant: a new version of the hot row for each update");
		cmp_ok($sample->{bytes}, '<', $plain->{bytes},
			"$table, $variant: updates write fewer bytes than in the plain table");
		cmp_ok($sample->{wal_bytes}, '>', 0, "$table, $variant: updates write WAL");
		cmp_ok($sample->{dirty_pages}, '>', 0, "$table, $variant: updates leave dirty pages");
	}
}
# A tuple has a header, six integers and the link.  The tuple is aligned, and has a line
# pointer.
my %stock =
  (shared_key => 24 + 24 + 4, surrogate_key => 24 + 24 + 8 + 4, row_pointer => 24 + 24 + 8 + 4);
foreach my $variant (@split)
{
	my $sample = $updates{"stock $variant"};

	is( $sample->{bytes} / $sample->{updates},
		$stock{ $variant =~ s/\..*//r },
		"stock, $variant: bytes of an update");
	is($sample->{versions}[1], 0, "stock, $variant: no cold row is written");
	my ($cold, $hot) = @{ $updates{"customer $variant"}{versions} }[ 1, 0 ];
	cmp_ok($cold, '>', 0, "customer, $variant: cold rows of bad credit are written");
	cmp_ok($cold, '<', $hot / 2, "customer, $variant: cold rows of good credit are not written");
}
is( $result->{metrics}{"bytes_per_update.$_->[0]"},
	$updates{"$_->[0] $_->[1].on"}{bytes} / $updates{"$_->[0] plain"}{bytes},
	"metric of $_->[0]") foreach [ 'customer', 'shared_key' ], [ 'stock', 'row_pointer' ];

# Sizes
my %rows;
push @{ $rows{"$_->{table} $_->{variant}"} }, $_->{rows}
  foreach grep { $_->{test} eq 'size' } @{ $result->{samples} };
is_deeply(
	[
		grep {
			my ($first, @others) = @{ $rows{$_} };
			grep { $_ != $first } @others
		} sort keys %rows
	],
	[],
	'both parts have all rows');
is(scalar(map { @$_ } values %rows), 2 * (1 + 2 * @methods),
	'the sizes of all parts were measured');

# Buffers
my %buffers = map {
	("$_->{statement} $_->{variant}" => (sort { $a <=> $b } @{ $_->{buffers} })[10])
} grep { $_->{test} eq 'buffers' } @{ $result->{samples} };
foreach my $method (@methods)
{
	foreach my $table (@tables)
	{
		is($buffers{"$table.read.hot $method.on"}, $buffers{"$table.read.hot $method.hot"},
			"$table, $method: a hot read of the view touches as many pages as one of the hot part");
		is($buffers{"$table.update.hot $method.on"}, $buffers{"$table.update.hot $method.hot"},
			"$table, $method: a hot update of the view touches as many pages as one of the hot part"
		);
		cmp_ok(
			$buffers{"$table.read.cold $method.on"},
			'>',
			$buffers{"$table.read.hot $method.on"},
			"$table, $method: a cold read touches more pages than a hot one");
	}
}

# Times
my %timed;
$timed{"$_->{test} $_->{type}"}++ foreach grep { exists $_->{seconds} } @{ $result->{samples} };
is_deeply(
	[ sort keys %timed ],
	[
		sort map {
			my $table = $_;
			(map { ($table . ".read.hot.simple $_.on", $table . ".read.hot.simple $_.hot") }
				  @methods), map {
				my $of = "$table.$_";
				map { "$of $_" } 'plain', 'plain.tracked', @split,
				  $of =~ /hot$/
				  ? map { "$_.hot" } @methods
				  : ()
				  } @statements
		} @tables
	],
	'every statement ran on every variant');

my %said = bars_said($result);
is_deeply(
	[
		grep { !exists $said{$_} }
		  qw(read.hot update.hot bytes_per_update.customer bytes_per_update.stock read.hot.stock.row_pointer)
	],
	[],
	'the result has all bars');
is($said{"bytes_per_update.$_"}, 'met', "the bar is met: bytes of an update of $_") foreach @tables;

# Report
($code, $out, $err) =
  bench($top, 'report', '--results', "$work/results", '--html', "$work/report.html", '--markdown',
	"$work/benchmarks.md");
is($code, 0, 'bench/run report succeeds') or diag($out, $err);
my @charts = slurp_file("$work/report.html") =~ /<figure class=/g;
is(scalar(@charts), 3, 'the page has the charts of the study');
my $markdown = slurp_file("$work/benchmarks.md");
like($markdown, qr/^## vertical-partition$/m, 'the tables have a section of the study');
like($markdown, qr/^\| New-Order, stock: row_pointer, rewrite on \|/m, 'the section has rows');

# Errors that end the study
my $node = PostgreSQL::Test::Cluster->new('rows');
$node->init;
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION vertical_partition;
	CREATE EXTENSION pageinspect;
	CREATE EXTENSION pg_buffercache;
	CREATE EXTENSION pg_walinspect;
	CREATE TABLE plain AS SELECT k AS id, 0 AS counter, 'cold' || k AS filler FROM generate_series(1, 100) AS k;
	ALTER TABLE plain ADD PRIMARY KEY (id);
	CREATE TABLE split (LIKE plain INCLUDING ALL);
	INSERT INTO split SELECT * FROM plain;
	SELECT vertical_partition.split('split', '{filler}', 'row_pointer', force => true);
});
my @server = ($node->host, $node->port, (getpwuid($>))[0]);
my $check = <<'PYTHON';
import psycopg
from bench.lib.console import BenchError
from bench.vertical.exact import measure, require_same, Work
from bench.vertical.partition import stored
from bench.vertical.variants import Variant
host, port, user, table, statement, other = sys.argv[2:]
with psycopg.connect(host=host, port=port, dbname="postgres", user=user, autocommit=True) as connection:
    print(*stored(connection, [table])[table])
    work = Work(table, "", 10, statement, "id")
    try:
        sample = measure(connection, work, Variant("v", "test"))
        print(*sample["versions"], sample["bytes"])
        digest = connection.execute(f"SELECT md5(string_agg(md5(t::text), '' ORDER BY id)) FROM {other} AS t").fetchone()[0]
        require_same(work, Variant("v", "test"), sample, {"digest": digest})
        print("same")
    except BenchError as error:
        print(error.format_message())
PYTHON
my $update = 'UPDATE %s SET counter = counter + 1 WHERE id <= %d';
is( python($check, @server, 'plain', sprintf($update, 'plain', 10), 'plain'),
	"plain\n10 440\nsame",
	'ten updates of a plain table are counted');
is( python($check, @server, 'split', sprintf($update, 'split', 10), 'plain'),
	"split_hot split_cold\n10 0 440\nsame",
	'ten updates of a split table are counted');
is( python($check, @server, 'split', sprintf($update, 'split', 9), 'plain'),
	"split_hot split_cold\ntest: 10 updates of split left 9 new row versions",
	'a missing update is an error');
is( python($check, @server, 'split', sprintf($update, 'split', 10), 'plain'),
	"split_hot split_cold\n10 0 440\ntest: split does not hold what the same updates left in the plain table",
	'other contents are an error');
is( python(
		$check, @server, 'split', q{UPDATE split SET filler = filler || '!' WHERE id <= 10},
		'split'),
	"split_hot split_cold\n10 10 880\nsame",
	'updates that move cold rows also update the pointers of the hot rows');

my $plans = <<'PYTHON';
import psycopg
from bench.lib.console import BenchError
from bench.vertical.exact import require_plan
from bench.vertical.statements import Statement
from bench.vertical.variants import Variant
host, port, user, settings, text = sys.argv[2:]
with psycopg.connect(host=host, port=port, dbname="postgres", user=user, autocommit=True) as connection:
    connection.execute(settings)
    try:
        require_plan(connection, Statement("split", "test.hot", text), Variant("v", "test"), {"id": 1})
        print("hot")
    except BenchError as error:
        print(error.format_message().partition(" alone")[0])
PYTHON
my ($read, $write) =
  ('SELECT counter FROM TABLE WHERE id = :id', 'UPDATE TABLE SET counter = 0 WHERE id = :id');
my $refused = 'test: split.test.hot is not a statement on the hot part';
is(python($plans, @server, q{LOAD 'vertical_partition'}, $_),
	'hot', "with the rewrite, a plan touches the hot part only: $_")
  foreach $read, $write;
is(python($plans, @server, 'SET vertical_partition.enable_rewrite = off', $_),
	$refused, "without the rewrite, the plan is an error: $_")
  foreach $read, $write;
$node->stop;

# Bad input
SKIP:
{
	skip "no build/$major/stock to be refused", 3 if !-x "$top/build/$major/stock/bin/postgres";
	my $plain = checkout("$work/plain", "$top/build/$major/stock");

	fails_like(
		$plain,
		[ 'vertical-partition', '--quick' ],
		qr/extension "vertical_partition" is not installed in the server/,
		'a server without the extension');
}
fails_like($top, [ 'vertical-partition', '--rounds', '0' ], qr/--rounds/, 'no rounds', 2);
fails_like($top, [ 'vertical-partition', '--updates', '1' ], qr/--updates/, 'too few updates', 2);

done_testing();
