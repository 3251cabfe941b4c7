#
# bgvacuum.pl - check that bench/run bgvacuum measures what it claims to measure
#
# Run the study of background vacuum once, as a smoke run.  Check that
#
# - all variants do the same operations;
# - growth, reads, writes and WAL agree with the statistics of the server;
# - the background writer prunes in the variants that switch this on, and in no other variant;
# - a missing row or a missing update ends the study with an error;
# - the result has the metrics that the report and the documents name;
# - the study refuses a server without bgvacuum_patch and wrong arguments, with an error of one
#   line, and leaves no instance.
#
# Times are not checked, because other processes disturb them.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Bench;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $stock = "$top/build/$major/stock";
my $has_stock = -x "$stock/bin/postgres";

needs_python();
needs_patch('bgvacuum_patch', 'bgvacuum');

my ($code, $out, $err) =
  bench($top, 'bgvacuum', '--quick', '--json', "$work/results/bgvacuum.json");
is($code, 0, 'bench/run bgvacuum') or BAIL_OUT("$out\n$err");
no_instances($top, 'bgvacuum');

my $result = read_result("$work/results/bgvacuum.json");
my ($metrics, $samples) = @$result{qw(metrics samples)};
my @workloads = qw(mixed uniform indexed groups insert_only append_only tpcc);
my @updating = qw(mixed uniform indexed groups tpcc);
my @compared = qw(reads wal backend_writes writes tps cpu);
is_sound(
	$result,
	'bgvacuum',
	[
		'tps',
		'mixed.growth',
		'uniform.growth',
		'indexed.growth',
		'groups.growth',
		$has_stock ? 'tps.off' : (),
		(   map {
				my $workload = $_;
				map { "$workload.$_" } @compared, 'bgwriter_share'
			} @workloads),
		(map { ("$_.hot_lost", "$_.newpage") } @updating),
		(map { "$_.tps.switched" } qw(mixed uniform indexed groups insert_only)),
		'append_only.frozen',
		'append_only.freeze_writes',
		'append_only.heap_fetches',
		'temporary.drop',
		'temporary.drop.switched',
		$has_stock ? 'mixed.growth.eager' : ()
	],
	[ 'tps', 'mixed.tps', 'mixed.reads' ],
	'settings of all',
	'settings of variants');

my ($base, @off) = $has_stock ? qw(stock off) : qw(off);
is_deeply(
	[ map { "$_->{workload} $_->{variant}" } @$samples ],
	[
		(map { "mixed $_" } $base, $has_stock ? 'eager' : (), 'on'),
		('mixed.switched on') x 2,
		(map { "uniform $_" } $base, @off, 'on'),
		('uniform.switched on') x 2,
		(map { ("$_ $base", "$_ on", ("$_.switched on") x 2) } qw(indexed groups insert_only)),
		(map { ("$_ $base", "$_ on") } qw(append_only tpcc temporary)),
		'temporary.switched on'
	],
	'every workload ran with its variants');

# Samples of the runs in which bgvacuum is switched on and off in turn
my ($drops, $switched, $rest) = ([], [], []);
push @{
	  $_->{workload} =~ /^temporary/ ? $drops
	: $_->{workload} =~ /switched/   ? $switched
	:                                  $rest
  },
  $_
  foreach @$samples;
$samples = $rest;
foreach my $sample (@$switched)
{
	cmp_ok($sample->{tps}{$_},
		'>', 0, "$sample->{workload}, round $sample->{round}: operations ran while bgvacuum was $_")
	  foreach qw(on off);
}

# Pages that inserts leave to VACUUM, and the time of DROP
foreach my $sample (@$drops)
{
	my $seconds = $sample->{drop_seconds};

	cmp_ok($_, '>', 0, "$sample->{workload}, $sample->{variant}: the time of DROP was measured")
	  foreach ref $seconds ? @$seconds{qw(on off)} : $seconds;
}
my %append = map { $_->{variant} => $_ } grep { $_->{workload} eq 'append_only' } @$samples;
is($append{$base}{frozen}, 0, "append_only, $base: no page is frozen without a vacuum");
cmp_ok($append{on}{frozen}, '>', 0, 'append_only, on: pages are frozen without a vacuum');
cmp_ok(
	$append{$base}{heap_fetches},
	'>=',
	$append{$base}{cycles},
	"append_only, $base: an index-only scan visits the table for each row");
cmp_ok(
	$append{on}{heap_fetches},
	'<',
	$append{$base}{heap_fetches},
	'append_only, on: an index-only scan visits the table for fewer rows');
cmp_ok(
	$append{on}{freeze_writes},
	'<',
	$append{$base}{freeze_writes},
	'append_only, on: VACUUM (FREEZE) writes less');

foreach my $sample (@$samples)
{
	my $counters = $sample->{counters};
	my $title = "$sample->{workload}, $sample->{variant}";
	my $sum = 0;

	$sum += $sample->{heap_after}{$_} - $sample->{heap_before}{$_}
	  foreach keys %{ $sample->{heap_before} };
	cmp_ok(abs($sample->{growth_pages} + $sample->{inserted_pages} - $sum / 8192),
		'<', 0.01, "$title: growth agrees with the sizes of the files");
	is(scalar(@{ $sample->{$_} }), 8, "$title: $_ has a value for each slice")
	  foreach qw(growth_pages_by_slice tps_by_slice);
	cmp_ok(abs($sample->{growth_pages_by_slice}[7] - $sample->{growth_pages}),
		'<=', 16, "$title: growth up to the last slice is all of the growth");

	# The server counts blocks by relation and by process.  Only the counts by process include
	# catalogs.
	my $reads = 0;
	$reads += $counters->{$_} foreach grep { /\.reads$/ } keys %$counters;
	cmp_ok(
		$reads, '>=',
		0.9 * ($counters->{heap_blks_read} + $counters->{idx_blks_read}),
		"$title: reads of all processes include those of the relations");
	cmp_ok($counters->{wal_bytes}, '>', 0, "$title: WAL was written");
	is($counters->{checkpoints}, 3, "$title: the operations made three checkpoints");
	like($sample->{autovacuums}, qr/^\d+\z/, "$title: the cycles of autovacuum were counted");
	next if $sample->{workload} eq 'tpcc';

	if ($sample->{workload} =~ /_only\z/)
	{
		is($counters->{n_tup_ins}, $sample->{cycles}, "$title: each operation inserted a row");
		next;
	}

	# Variants make the same changes, except for the few rows that two clients replace at once.
	my %wanted =
	  $sample->{workload} eq 'mixed'
	  ? map { ($_ => 1) } qw(n_tup_del n_tup_ins n_tup_upd)
	  : (n_tup_upd => 1);
	foreach my $name (sort keys %wanted)
	{
		my $each = $sample->{workload} eq 'groups' ? 10 : 1;
		cmp_ok(abs($counters->{$name} - $each * $sample->{cycles}),
			'<=', 20, "$title: $name counts the rows of each operation");
	}
	is($counters->{n_tup_hot_upd}, 0, "$title: no update is HOT")
	  if $sample->{workload} eq 'indexed';
}
my %counters;
foreach my $sample (grep { exists $_->{counters}{'bgvacuum.rounds'} } @$samples)
{
	my ($rounds, $pruned) = @{ $sample->{counters} }{qw(bgvacuum.rounds bgvacuum.pages_pruned)};
	my $title = "$sample->{workload}, $sample->{variant}";

	if ($sample->{variant} eq 'on')
	{
		cmp_ok($rounds, '>', 0, "$title: bgwriter looked for pages");
		$counters{$_} += $sample->{counters}{"bgvacuum.$_"}
		  foreach qw(pages_pruned pages_frozen pages_published);
	}
	else
	{
		is("$rounds $pruned", '0 0', "$title: bgwriter does not prune");
	}
}
cmp_ok($counters{$_}, '>', 0, "bgwriter with bgvacuum = on did some work: $_")
  foreach qw(pages_pruned pages_frozen pages_published);
SKIP:
{
	skip 'the extension bgvacuum is not installed', 1
	  if !-e `pg_config --sharedir` =~ s/\s+\z//r . '/extension/bgvacuum.control';
	my @known = grep { exists $_->{counters}{'bgvacuum.rounds'} } @$samples;
	is( scalar(@known),
		scalar(grep { $_->{variant} !~ /^(?:stock|eager)\z/ } @$samples),
		'samples of all patched servers have the counters of pg_stat_bgvacuum');
}
my %said = bars_said($result);
is_deeply(
	[
		grep { !exists $said{$_} }
		  qw(mixed.growth mixed.reads mixed.wal mixed.backend_writes mixed.newpage mixed.tps.switched insert_only.tps append_only.frozen temporary.drop tps)
	],
	[],
	'the result has all bars');

# Report
($code, $out, $err) =
  bench($top, 'report', '--results', "$work/results", '--html', "$work/report.html", '--markdown',
	"$work/benchmarks.md");
is($code, 0, 'bench/run report succeeds') or diag($out, $err);
my @charts = slurp_file("$work/report.html") =~ /<figure class=/g;
is(scalar(@charts), 3, 'the page has the charts of the study');
my $markdown = slurp_file("$work/benchmarks.md");
like($markdown, qr/^## bgvacuum$/m, 'the tables have a section of the study');
like($markdown, qr/^\| growth of the heap, pages \|/m, 'the section has rows');

# Slices and thirds of a run have equal numbers of calls, even if the calls took different times.
is( python(
		<<'PYTHON'), "[8.0, 8.0, 8.0, 8.0, 16.0, 16.0, 16.0, 16.0] 2.0", 'slices and thirds have equal calls');
import numpy
from bench.bgvacuum import load
from bench.lib.pgbench import Log
ended = numpy.concatenate([1 + numpy.arange(1, 49) / 4, 13 + numpy.arange(1, 49) / 8])
log = Log(numpy.zeros(96, int), ended, numpy.concatenate([[0.25], numpy.zeros(95)]))
print([round(tps, 6) for _, tps in load.slices(log, 2)], round(load.third(log, True) / load.third(log, False), 6))
PYTHON

# pgbench runs until its caller is ready, even if that takes longer than planned.
append_to_file("$work/pgbench", "#!/bin/bash\n" . <<'SH');
while [ "$1" != -T ]; do shift; done
trap 'echo "timer of $2 s"; exit' ALRM
for _ in {1..200}; do sleep 0.05; done
SH
chmod 0755, "$work/pgbench";
is(python(<<'PYTHON', $work), "False\ntimer of 61 s", 'pgbench runs until its caller is ready');
import time
from pathlib import Path
from types import SimpleNamespace
from bench.lib import pgbench

work = Path(sys.argv[2])
names = {"PGHOST": "", "PGPORT": "", "PGUSER": ""}
server = SimpleNamespace(bindir=work, environment=names, log=None)
with pgbench.Background(server, "", [], {}, [], work / "pgbench-run", 0.1) as load:
    time.sleep(1)
    print(load.has_ended())
print(load.output())
PYTHON

# The rate of a setting is the calls in all phases of a round, divided by their seconds.
is(python(<<'PYTHON'), '[(20.0, 10.0), (20.0, 40.0)]', 'operations per second, on and off');
import numpy
from bench.bgvacuum import switched
# Calls a second: 5 until second 2, 10 until second 8, 20 until second 10, 10 until second 14, then
# 20
ended = numpy.concatenate([numpy.arange(0, 2, 0.2), numpy.arange(2, 8, 0.1), numpy.arange(8, 10, 0.05), numpy.arange(10, 14, 0.1), numpy.arange(14, 16, 0.05)]) + 0.01
windows = [("off", 0, 1), ("on", 2, 4), ("on", 5, 6), ("off", 1, 2), ("off", 8, 9), ("on", 10, 12), ("on", 12, 14), ("off", 14, 16)]
print([(tps["on"], tps["off"]) for tps in switched.rates(ended, windows, 2)])
PYTHON

# The study fails if a row or an update was lost.
my $node = PostgreSQL::Test::Cluster->new('rows');
$node->init;
$node->start;
$node->safe_psql(
	'postgres',
	q{CREATE TABLE bench_rows AS SELECT 2 * k AS id, 1 AS counter FROM generate_series(1, 1000) AS k;
	  ALTER TABLE bench_rows ADD PRIMARY KEY (id)});
my $check = <<'PYTHON';
import psycopg
from bench.bgvacuum.workloads import Rows
from bench.lib.console import BenchError
with psycopg.connect(host=sys.argv[2], port=sys.argv[3], dbname="postgres", user=sys.argv[4], autocommit=True) as connection:
    try:
        Rows(sys.argv[5], "", 1000, {}, rows=1000, updates=1 if sys.argv[5] == "uniform" else None).check(connection, 1000, "test")
        print("sound")
    except BenchError as error:
        print(error.format_message())
PYTHON
my @server = ($node->host, $node->port, (getpwuid($>))[0]);
is(python($check, @server, $_), 'sound', "all rows and updates are found: $_")
  foreach qw(mixed uniform);
$node->safe_psql('postgres', 'UPDATE bench_rows SET counter = 0 WHERE id = 500');
is( python($check, @server, 'uniform'),
	'test: 999 updates are there, not 1000 (enable_seqscan)',
	'a missing update is an error');
is(python($check, @server, 'mixed'), 'sound',
	'a workload that deletes rows does not count updates');
$node->safe_psql('postgres', 'DELETE FROM bench_rows WHERE id = 600');
is( python($check, @server, 'mixed'),
	'test: the table has 999 rows, not 1000 (enable_seqscan)',
	'a missing row is an error');
$node->stop;

# Bad input
SKIP:
{
	skip "no build/$major/stock to be refused", 6 if !$has_stock;
	my $plain = checkout("$work/plain", $stock);

	fails_like(
		$plain,
		[ 'bgvacuum', '--quick' ],
		qr/the server has no setting "bgvacuum"[^\n]*run "make server"/,
		'a server without bgvacuum_patch');
	# The stage has the settings of the stages before it, too.
	fails_like(
		$plain,
		[ 'tpcc', '--quick', '--lite', '--stage', 'background-vacuum' ],
		qr/which stage "background-vacuum" needs, run "make server"/,
		'a server without bgvacuum_patch, stage of TPC-C');
}
fails_like($top, [ 'bgvacuum', '--workload', 'nosuch' ], qr/'nosuch'/, 'unknown workload', 2);
fails_like(
	$top,
	[ 'bgvacuum', '--variant', 'on', '--variant', 'on' ],
	qr/variant "on" is given twice/,
	'a variant twice');
fails_like(
	$top,
	[ 'bgvacuum', '--variant', ':stock' ],
	qr/invalid variant ":stock"/,
	'a variant without a name');
fails_like(
	$top,
	[ 'bgvacuum', '--variant', 'a:/nowhere' ],
	qr/there is no server in "\/nowhere\/bin"/,
	'a server that is not there');
fails_like(
	$top,
	[ 'bgvacuum', '--variant', 'a::bgvacuum' ],
	qr/invalid setting "bgvacuum"/,
	'a setting without a value');
fails_like(
	$top,
	[ 'bgvacuum', '--variant', 'a::nosuch=1' ],
	qr/the server has no setting "nosuch"/,
	'an unknown setting');
fails_like(
	$top,
	[ 'bgvacuum', '--set', '=1' ],
	qr/invalid setting "=1"/,
	'a setting without a name');

done_testing();
