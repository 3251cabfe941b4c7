#
# fillfactor.pl - check that bench/run fillfactor measures what it claims to measure
#
# Run the study of fillfactor once, as a smoke run.  Check that
#
# - for every update, the rules of free space and pruning predict whether the update is
#   HOT;
# - on full pages, few updates are HOT if nothing can be pruned, because all updates are in one
#   transaction, or because there is an old snapshot;
# - the measured threshold is equal to the computed threshold, and a clustered table loses its order
#   only if its fillfactor is above the threshold;
# - a missing update, or wrong counts, end the study with an error;
# - the result has the metrics that the report and the documents name;
# - the study refuses wrong arguments with an error of one line, and leaves no instance.
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

needs_python();

my @run = ('fillfactor', '--quick', '--updates', '300');
my ($code, $out, $err) = bench($top, @run, '--json', "$work/results/fillfactor.json");
is($code, 0, 'bench/run fillfactor') or BAIL_OUT("$out\n$err");
no_instances($top, 'fillfactor');

my $result = read_result("$work/results/fillfactor.json");
my ($metrics, $samples) = @$result{qw(metrics samples)};
my @fillfactors = (100, 90, 89, 88);
my @modes = qw(each snapshot together);
is_sound(
	$result,
	'fillfactor',
	[
		(   map {
				my $fillfactor = $_;
				map { "hot.$fillfactor$_" } '', '.snapshot', '.together'
			} 100,
			80),
		qw(time.80 wal.80 index_growth.100 index_growth.80 threshold threshold.computed pages.88 pages.88.updated),
		map { "correlation.$_" } @fillfactors
	],
	['time.80'],
	'settings of all');

# HOT
my @hot = grep { $_->{test} eq 'hot' } @$samples;
my %of_mode = map { ("$_->{fillfactor} $_->{mode}" => $_) } reverse @hot;
is_deeply(
	[ sort keys %of_mode ],
	[
		sort map {
			my $mode = $_;
			map { "$_ $mode" } 100, 80
		} @modes
	],
	'every fillfactor was updated in every mode');
foreach my $sample (@hot)
{
	my $title = "$sample->{length} bytes, fillfactor $sample->{fillfactor}, $sample->{mode}";
	my ($stayed, $moved) = (0, 0);

	$stayed += $sample->{fates}{$_} foreach grep { /\.hot$/ } keys %{ $sample->{fates} };
	$moved  += $sample->{fates}{$_} foreach grep { /\.moved$/ } keys %{ $sample->{fates} };
	is($sample->{as_computed}, 300, "$title: the rules predict every update");
	is( "$stayed $moved",
		sprintf('%d %d', $sample->{hot}, 300 - $sample->{hot}),
		"$title: the kinds of updates add up to all updates");
	is( $sample->{after}{pages} > $sample->{before}{pages},
		$sample->{hot} < 300,
		"$title: the table grows if rows move");
}
my $full = $of_mode{'100 each'};
cmp_ok($full->{hot}, '>', 60, 'full pages, a transaction each: some updates are HOT');
is($full->{fates}{'untouched.hot'} + $full->{fates}{'stayed.hot'},
	0, 'full pages, a transaction each: no update is HOT on a page that no row has left');
is($of_mode{"100 $_"}{fates}{'left.hot'},
	0, "full pages, $_: no update is HOT on a page that rows have left")
  foreach qw(snapshot together);
is_deeply(
	$of_mode{'100 snapshot'}{fates},
	$of_mode{'100 together'}{fates},
	'updates beside an old snapshot are like updates in one transaction');
is($metrics->{'hot.80'}, 1, 'if every page has free space, all updates are HOT');
cmp_ok($metrics->{'hot.80.together'},
	'<', 1, 'in one transaction, which prunes nothing, some updates are not HOT');
is($metrics->{'hot.100'}, $full->{hot} / 300, 'the metric is the share of HOT updates');
ok(!exists $of_mode{'80 each'}{wal}{Btree}, 'HOT updates write no WAL for indexes');
cmp_ok($full->{wal}{Btree}, '>', 300, 'other updates write WAL for indexes');
cmp_ok($metrics->{'wal.80'}, '<', 0.5, 'HOT updates write less than half of the WAL');
is($metrics->{'index_growth.80'}, 1, 'HOT updates do not make the indexes larger');

# Threshold
my %threshold = map { ($_->{length} => $_->{fillfactor}) }
  grep { $_->{test} eq 'threshold' && $_->{stays} } @$samples;
my %full_page = map { ($_->{length} => $_->{free}) }
  grep { $_->{test} eq 'threshold' && $_->{fillfactor} == 100 } @$samples;
is(scalar(keys %threshold), 5, 'every length has a threshold');
foreach my $length (sort { $a <=> $b } keys %threshold)
{
	my $free = $full_page{$length};

	is($free, 8168 % ($length + 4), "$length bytes: free space of a full page");
	cmp_ok(int(8192 * (100 - $threshold{$length}) / 100),
		'>', $free, "$length bytes: at the threshold, a page keeps room for one more row");
	cmp_ok(int(8192 * (99 - $threshold{$length}) / 100),
		'<=', $free, "$length bytes: above the threshold, a page has no such room");
}
is( "$metrics->{threshold} $metrics->{'threshold.computed'}",
	'88 88',
	'the metrics have the measured and the computed threshold');

# Order of the rows in a clustered table
my %order = map { ($_->{fillfactor} => $_) } grep { $_->{test} eq 'correlation' } @$samples;
is_deeply([ sort { $b <=> $a } keys %order ],
	\@fillfactors, 'the order was measured for every fillfactor');
foreach my $fillfactor (@fillfactors)
{
	my $correlation = $order{$fillfactor}{correlation};

	is( "$correlation->[0] $order{$fillfactor}{updates}[-1]",
		'1 300',
		"fillfactor $fillfactor: the table was sorted, then updated");
	cmp_ok($correlation->[-1], $fillfactor == 88 ? '>' : '<',
		0.99, "fillfactor $fillfactor: the order is kept only at the threshold");
}
is($order{88}{pages}[-1], $order{88}{pages}[0], 'at the threshold the table does not grow');
cmp_ok($metrics->{'pages.88'}, '>', 1, 'at the threshold the table is larger after loading');

# A second run with the same seed
($code, $out, $err) = bench($top, @run, '--exact', '--json', "$work/again.json");
is($code, 0, 'bench/run fillfactor --exact') or diag($out, $err);
my $again = read_result("$work/again.json");
is_deeply(
	$again->{samples},
	[ grep { !exists $_->{seconds} } @$samples ],
	'the same seed gives the same counts, bytes and pages');

# Report
($code, $out, $err) =
  bench($top, 'report', '--results', "$work/results", '--html', "$work/report.html", '--markdown',
	"$work/benchmarks.md");
is($code, 0, 'bench/run report succeeds') or diag($out, $err);
my @charts = slurp_file("$work/report.html") =~ /<figure class=/g;
is(scalar(@charts), 2, 'the page has the charts of the study');
my $markdown = slurp_file("$work/benchmarks.md");
like($markdown, qr/^## fillfactor$/m, 'the tables have a section of the study');
like($markdown, qr/^\| fillfactor 100, a transaction each \|/m, 'the section has rows');

# Errors that end the study
my $node = PostgreSQL::Test::Cluster->new('rows');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
my $check = <<'PYTHON';
import psycopg
from bench.fillfactor import table
from bench.lib.console import BenchError
host, port, user, statement, *wanted = sys.argv[2:]
with psycopg.connect(host=host, port=port, dbname="postgres", user=user, autocommit=True) as connection:
    table.create(connection, 100, 1096, 100)
    connection.execute("DROP PROCEDURE IF EXISTS bench_update; " + table.PROCEDURE)
    before = table.counts(connection)
    pages = table.update(connection, [1, 1, 99])
    connection.execute(statement)
    counted = [now - then for now, then in zip(table.counts(connection), before)]
    try:
        table.require_counts(connection, "test", counted, [int(count) for count in wanted])
        print("sound", *pages)
    except BenchError as error:
        print(error.format_message())
PYTHON
my @server = ($node->host, $node->port, (getpwuid($>))[0]);
is( python($check, @server, 'SELECT', 3, 2, 1),
	'sound 14 14 14',
	'updates are counted, one of which leaves its page');
is( python($check, @server, 'SELECT', 3, 3, 0),
	'test: the server counted [3, 2, 1] updates, HOT ones and moved rows, not [3, 3, 0]',
	'other counts are an error');
is( python($check, @server, 'UPDATE bench_fill SET counter = 0 WHERE id = 99', 4, 3, 1),
	'test: 2 updates are in the table, not 4',
	'a missing update is an error');
$node->stop;

# Bad input
fails_like(
	$top,
	[ 'fillfactor', '--major', '9' ],
	qr/unknown PostgreSQL major version "9", known: $major/,
	'another major version');
my $elsewhere = checkout("$work/elsewhere", "$top/build/$major/dense");
append_to_file("$elsewhere/tools/pg-versions", "99 99.1 postgresql-99.1.tar.bz2 0 unstable\n");
fails_like(
	$elsewhere,
	[ 'fillfactor', '--major', '99' ],
	qr/there are no server patches for PostgreSQL 99/,
	'a major version without patches');
system('mkdir', '-p', "$elsewhere/alpha/99") == 0 or die;
append_to_file("$elsewhere/alpha/99/0001-a.patch", '');
fails_like(
	$elsewhere,
	[ 'fillfactor', '--major', '99', '--quick' ],
	qr{there is no server in "[^"]*/build/99/dense/bin"},
	'a major version that is not built');
fails_like($top, [ 'fillfactor', '--rows', '10' ], qr/--rows/, 'too few rows', 2);
fails_like($top, [ 'fillfactor', '--updates', '1' ], qr/--updates/, 'too few updates', 2);
fails_like($top, [ 'fillfactor', '--rounds', '0' ], qr/--rounds/, 'no rounds', 2);

done_testing();
