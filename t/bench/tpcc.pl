#
# tpcc.pl - check that bench/run tpcc and related studies measure what they claim to measure
#
# Check that
#
# - each of the twelve consistency conditions of TPC-C can fail, on a fresh database
#   and after load, with stock types and with compact types;
# - the results have the metrics that the report and the documents name;
# - an interrupted study continues where it stopped, and a result can be extended;
# - if a server is killed because memory runs out, a study ends, but a sweep (a series of
#   runs with several memory sizes) continues;
# - after wrong arguments, after a crash of the server and after an interrupt, stderr has one line,
#   and no instance is left.
#
use strict;
use warnings FATAL => 'all';

use Cwd            qw(abs_path);
use File::Basename qw(dirname);
use FindBin;
use IPC::Run ();
use JSON::PP ();
use lib "$FindBin::RealBin/../lib";
use PgDense::Bench qw(python);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $top = $ENV{PGDENSE_TOP} || abs_path(dirname(__FILE__) . '/../..');
my $bench = "$top/bench/run";
my $cluster = "$top/tools/cluster";
my $work = PostgreSQL::Test::Utils::tempdir();

$ENV{PGDENSE_BENCH_DIR} = "$work/bench";

my ($missing) = `$bench --help` =~ /(Python module .* is not installed)/;
plan skip_all => $missing if $missing;

# Run bench/run.  Return its exit code, stdout and stderr.
sub bench
{
	my ($out, $err) = ('', '');
	IPC::Run::run([ $bench, @_ ], '<', \undef, '>', \$out, '2>', \$err);
	return ($? & 127 ? 128 + ($? & 127) : $? >> 8, $out, $err);
}

# Run bench/run, and check that it fails with this exit code and one line that matches.
sub fails_like
{
	my ($arguments, $code, $pattern, $title) = @_;
	my ($got, $out, $err) = bench(@$arguments);

	is($got, $code, "$title: exit code");
	like($err, qr/\Abench\/run: error: $pattern[^\n]*\n\z/, "$title: one line");
	return;
}

# Run bench/run, and check that it succeeds.  Return the result that it wrote to --json.
sub result_of
{
	my (@arguments) = @_;
	my ($code, $out, $err) = bench(@arguments, '--json', "$work/$arguments[0].json");

	is($code, 0, "bench/run @arguments") or diag("$out\n$err");
	my $result = JSON::PP::decode_json(slurp_file("$work/$arguments[0].json"));
	is($result->{study}, $arguments[0], 'the result names its study');
	foreach my $name (qw(host kernel server settings seed date command))
	{
		ok(defined $result->{environment}{$name}, "$arguments[0]: the environment has $name");
	}
	cmp_ok(scalar(@{ $result->{samples} }), '>', 0, "$arguments[0]: the result has samples");
	is_deeply([ grep { ref $_ || $_ !~ /^[-+\d.eE]+$/ } values %{ $result->{metrics} } ],
		[], "$arguments[0]: metrics are numbers");
	return $result;
}

sub has_metrics
{
	my ($result, @names) = @_;
	my @lacking = grep { !exists $result->{metrics}{$_} } @names;

	is("@lacking", '', "$result->{study}: the result has all metrics");
	return;
}

sub no_instances
{
	my ($title) = @_;

	is_deeply([ map { s/.*\///r } glob("$top/build/cluster/bench-*") ],
		[], "$title: no instance is left");
	return;
}

my $node = PostgreSQL::Test::Cluster->new('bench');
$node->init;
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\n");
$node->start;
local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
delete local $ENV{PGUSER};

# Each of the twelve conditions must fail for wrong data.
my @cases = (
	[ '--stage', 'vertical-partition' ],
	[ '--stage', 'compact-types', '--variant', 'sentinel', '--variant', 'wide-customers' ]);
push @cases, [ '--stage', 'split' ], [ '--stage', 'compact-text' ],
  [
	'--stage', 'stock', '--variant', 'sentinel',
	'--variant', 'numeric-money', '--variant', 'dbt2-key'
  ]
  if $ENV{PGDENSE_SOAK};
foreach my $arguments (@cases)
{
	my ($code, $out, $err) = bench('tpcc-selftest', '--running', @$arguments);
	my @red = $out =~ /^ok \d+ - condition (\d+) on a (?:loaded|used) database/mg;

	is($code, 0, "tpcc-selftest @$arguments") or diag($out, $err);
	is_deeply(
		[ sort { $a <=> $b } @red ],
		[ map { ($_, $_) } 1 .. 12 ],
		'each condition failed for wrong data, before and after load');
	like(
		$out,
		qr/^ok \d+ - the index is used: pk_order_line by integer, integer, integer, integer$/m,
		'lookups were explained');
	unlike($out, qr/^not ok/m, 'no test of tpcc-selftest failed');
	# Count the indexes of the nine tables.  With vertical partition, the cold part of customer has
	# an index, too.
	my @aligned = $out =~ /^ok \d+ - (\w+) was built with item alignment [24]$/mg;
	is( scalar(@aligned),
		$arguments->[1] eq 'vertical-partition' ? 11 : 0,
		'only the stage vertical-partition has aligned indexes');
}

# The studies, and the names of their metrics
my @tables = qw(warehouse district customer history new_order orders order_line item stock);
my $sizes = result_of('row-size', '--running', '--lite', '--warehouses', '2');
has_metrics(
	$sizes,
	(   map {
			my $table = $_;
			map { ("$table.$_") } qw(strings scalars text all)
		} 'heap',
		'indexes',
		@tables),
	(map { ("numeric-money.$_.strings", "numeric-money.$_.all") } @tables),
	(map { ("$_.text", "$_.all", "$_.indexes.all") } qw(users packages weblog events notes_ja)),
	qw(mix.mean mix.description mix.japanese_note));
cmp_ok($sizes->{metrics}{'order_line.strings'},
	'<=', 0.93, 'compact strings make an order line smaller');
cmp_ok($sizes->{metrics}{'stock.strings'}, '<=', 0.98, 'compact strings make a stock row smaller');
cmp_ok(
	$sizes->{metrics}{'order_line.all'},
	'<',
	$sizes->{metrics}{'order_line.strings'},
	'all compact types make an order line smaller than compact strings alone');
cmp_ok($sizes->{metrics}{'orders.all'}, '<=', 0.85, 'all compact types make an order smaller');
cmp_ok($sizes->{metrics}{'stock.text'}, '<=', 0.85, 'compact_text makes a stock row smaller');
cmp_ok($sizes->{metrics}{'mix.mean'},
	'<', 0.8, 'compact_text makes the columns of the frozen mix smaller');
is(scalar(grep { /^mix\./ } keys %{ $sizes->{metrics} }), 35, 'the frozen mix has 34 columns');
is($sizes->{metrics}{'item.strings'}, 1, 'an item has no fixed-length string, and keeps its size');

has_metrics(
	result_of('types-speed', '--running', '--quick', '--rows', '1000', '--rounds', '1'),
	qw(filter_late insert copy sort hash_join lookup create_extension_ms create_extension_cascade_ms),
	(   map { "compact_text.$_" }
		  qw(filter like sort hash_join lookup copy.tpcc copy.text copy_out.tpcc copy_out.text)),
	(map { ("compact_text.$_.description") } qw(encode_ns encode_ns_byte decode_ns decode_gbs)),
	(   map { ("$_.filter", "$_.sort", "$_.heap") }
		  qw(uint1 int1 uint2 uint3 seconds4 decimal4_2 decimal8_2)),
	qw(uint2.sum uint2.lookup uint3.sum uint3.lookup seconds4.max decimal4_2.sum decimal4_2.index));
# CPU time includes the work of a process after it has sent its answer and before it sleeps.
is(python(<<'PYTHON'), '0', 'CPU time is complete when it is read');
import os
import socket
import time
from types import SimpleNamespace
from bench.lib.timing import Clock

here, there = socket.socketpair()
worker = os.fork()
if worker == 0:
    here.close()
    while there.recv(1):
        there.send(b"x")
        until = time.process_time() + 0.05
        while time.process_time() < until:
            pass
    os._exit(0)
there.close()
clock = Clock(SimpleNamespace(info=SimpleNamespace(backend_pid=worker)))
times = []
for _ in range(5):
    time.sleep(0.2)
    times.append(clock.measure(lambda: (here.send(b"x"), here.recv(1))))
here.close()
os.waitpid(worker, 0)
print(sum(taken < 0.045 for taken in times) if clock.kind == "CPU" else 0)
PYTHON

# If a measured time is zero, the result omits the ratio.
is(python(<<'PYTHON'), <<'LINES' =~ s/\n\z//r, 'a time of zero is no metric');
from bench.lib.result import Result
from bench.lib.timing import Comparison, Test

result = Result("test", 1)
comparison = Comparison(result, None, ("a", "b", "c"), 1, None, "part.")
for name, times in {"none": (0, 0, 1), "base": (1, 0, 1), "other": (2, 1, 0), "all": (3, 1, 2)}.items():
    for kind, seconds in zip("abc", times):
        comparison.record(Test(name, name, 1.05), kind, seconds, "CPU")
rows = comparison.rows()
print([[str(cell) for cell in row[4:]] for row in rows])
print(sorted(result.metrics.items()), sorted(result.intervals))
print([(bar["metric"], bar["value"], bar["kept"]) for bar in result.bars])
PYTHON
"part.none" is left out: a time of zero was measured, more rows are needed
"part.none.c" is left out: a time of zero was measured, more rows are needed
"part.base" is left out: a time of zero was measured, more rows are needed
"part.other.c" is left out: a time of zero was measured, more rows are needed
[['not measured', 'not measured', '1.050 not measured'], ['not measured', '1.000 (1.000 to 1.000)', '1.050 not measured'], ['2.000 (2.000 to 2.000)', 'not measured', '1.050 missed'], ['3.000 (3.000 to 3.000)', '1.500 (1.500 to 1.500)', '1.050 missed']]
[('part.all', 3.0), ('part.all.c', 1.5), ('part.base.c', 1.0), ('part.other', 2.0)] ['part.all', 'part.all.c', 'part.base.c', 'part.other']
[('part.none', None, None), ('part.base', None, None), ('part.other', 2.0, False), ('part.all', 3.0, False)]
LINES
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_database WHERE datname LIKE 'bench%'"),
	'0', 'the databases of the studies are dropped');
$node->stop;

# To save time, these stages run only in a soak run.
my %soaked = map { $_ => 1 }
  qw(split-customer wal-direct out-of-line-customer background-vacuum-out-of-line vertical-partition-customer);
my @stages =
  grep { $ENV{PGDENSE_SOAK} || !$soaked{$_} }
  qw(stock off split split-customer wal-direct compact-types index-alignment vertical-partition background-vacuum
  out-of-line-customer background-vacuum-out-of-line vertical-partition-customer background-vacuum-customer);
my $tpcc =
  result_of('tpcc', '--quick', '--lite', '--warmup', '0', '--seconds', '2', '--clients', '2',
	map { ('--stage', $_) } @stages);
has_metrics(
	$tpcc,
	qw(tpmc.off tpmc.compact-types tpmc.index-alignment tpmc.vertical-partition tpmc.background-vacuum tpmc.all),
	qw(tpmc.split.stock tpmc.split.compact),
	$ENV{PGDENSE_SOAK}
	? qw(tpmc.wal-direct tpmc.out-of-line-customer tpmc.background-vacuum-out-of-line tpmc.split-customer.stock tpmc.split-customer.compact)
	: (),
	qw(wal_bytes written_bytes wal_bytes.split written_bytes.background-vacuum-customer),
	qw(size.database size.indexes size.indexes.compact-types size.indexes.index-alignment size.order_line size.orders)
);
cmp_ok(
	$tpcc->{metrics}{'size.indexes.index-alignment'},
	'<=',
	$tpcc->{metrics}{'size.indexes.compact-types'},
	'no index is larger because of its alignment');
ok($tpcc->{quick}, 'the result says that it is of a smoke run');
is_deeply([ map { $_->{stage} } @{ $tpcc->{samples} } ], \@stages, 'all stages ran');
is_deeply(
	[
		map {
			join(' ', sort grep { /^(?:orders|stock)/ } keys %{ $_->{table_reads} })
		} @{ $tpcc->{samples} }
	],
	[
		map {
				/^(?:split|vertical-partition|background-vacuum)$/
			  ? 'orders stock_cold stock_hot'
			  : 'orders stock'
		} @stages
	],
	'blocks are counted by table, and for a split table by part');
my ($by_table) = grep { $_->{name} eq 'reads' } @{ $tpcc->{tables} };
is( scalar(
		grep {
				 $_->[0] =~ /^(?:stock|customer)_(?:hot|cold)$/
			  && $_->[1] eq ''
			  && $_->[3] =~ /^\d+\.\d\d \+ \d+\.\d\d$/
		} @{ $by_table->{rows} }),
	4,
	'the tables show blocks by part');
no_instances('tpcc');

# Report
my ($code, $out, $err) =
  bench('report', '--results', $work, '--html', "$work/report.html", '--markdown',
	"$work/benchmarks.md");
is($code, 0, 'bench/run report succeeds') or diag($out, $err);
my $html = slurp_file("$work/report.html");
my @charts = $html =~ /<figure class=/g;
is(scalar(@charts), 8, 'the page has the charts of the study');
unlike($html, qr/(?:src|href)="(?!#)/, 'the page refers to no other file');
like(
	slurp_file("$work/benchmarks.md"),
	qr/^\| order_line \|/m,
	'the tables have the rows of the study');

# Bad input
fails_like(['nosuch'], 2, qr/no such command 'nosuch'/, 'unknown study');
fails_like([ 'tpcc', '--bogus' ], 2, qr/no such option: --bogus/, 'unknown option');
fails_like(
	[ 'tpcc', '--stage', 'nosuch' ],
	1,
	qr/unknown stage "nosuch", known: stock/,
	'unknown stage');
fails_like([ 'tpcc', '--variant', 'nosuch' ], 1, qr/unknown variant "nosuch"/, 'unknown variant');
fails_like(
	[ 'row-size', '--json', '/dev/null/x.json' ],
	1,
	qr/could not create directory/,
	'unwritable result');
fails_like([ 'row-size', '--running' ], 1, qr/lost the server/, 'no server');
mkdir "$work/empty";
fails_like(
	[ 'report', '--results', "$work/empty" ],
	1,
	qr/there are no results/,
	'report without results');
append_to_file("$work/empty/broken.json", '{"study"');
fails_like(
	[ 'report', '--results', "$work/empty" ],
	1,
	qr/"[^"]*broken.json" is not a result/,
	'report of a broken file');

# Disturb a run while it does its load, and check how the run ends.
sub disturbed
{
	my ($title, $code, $pattern, $disturb) = @_;
	my ($output, $errors) = ('', '');
	my $run = IPC::Run::start(
		[
			$bench, 'tpcc', '--quick', '--lite', '--stage', 'stock',
			'--warmup', '0', '--seconds', '60', '--clients', '2'
		],
		'<',
		\undef,
		'>',
		\$output,
		'2>',
		\$errors);
	my $until = time() + 60;
	my @log;
	sleep 0.1
	  until (@log = glob("$ENV{PGDENSE_BENCH_DIR}/tpcc/transactions.*")) && -s $log[0]
	  || time() > $until;

	$disturb->($run);
	$run->finish;
	is($run->result(0) // 0, $code, "$title: exit code");
	like($errors, qr/\A\n?bench\/run: error: $pattern[^\n]*\n\z/, "$title: one line");
	no_instances($title);
	unlink @log;
	return;
}

# If a study is interrupted in its second run, the same command continues with this run.
my @two = (
	'tpcc', '--quick', '--lite', '--stage',
	'stock', '--stage', 'off', '--warmup',
	'0', '--clients', '2', '--json',
	"$work/tpcc.json");
my $unfinished = "$ENV{PGDENSE_BENCH_DIR}/tpcc/unfinished.json";

# Run the study to its end.  Return its output and its samples.
sub resumed
{
	my ($title, @options) = @_;
	my ($code, $out, $err) = bench(@two, @options);

	is($code, 0, $title) or diag("$out\n$err");
	ok(!-e $unfinished, "$title: no unfinished study is left");
	my $result = JSON::PP::decode_json(slurp_file("$work/tpcc.json"));
	is_deeply(
		[ map { $_->{stage} } @{ $result->{samples} } ],
		[ 'stock', 'off' ],
		"$title: the result has both runs");
	# The output may break lines anywhere.
	return ($out =~ s/\s+/ /gr, @{ $result->{samples} });
}

my ($output, $errors) = ('', '');
my $run =
  IPC::Run::start([ $bench, @two, '--seconds', '3' ], '<', \undef, '>', \$output, '2>', \$errors);
my $until = time() + 120;
sleep 0.02 until -e $unfinished || time() > $until;
$run->signal('TERM');
$run->finish;
is($run->result(0) // 0, 130, 'an interrupt after the first run ends the study')
  or diag("$output\n$errors");
my $kept = slurp_file($unfinished);
my ($first) = @{ JSON::PP::decode_json($kept)->{samples} };
my ($said, @samples) = resumed('the same study again', '--seconds', '3');
like(
	$said,
	qr/1 runs of an interrupted study are there, and not repeated/,
	'the study goes on after the first run');
is($samples[0]{new_orders}, $first->{new_orders}, 'the first run is not repeated');

foreach my $other (
	[ 'another study', qr/differs in seconds, all runs are made anew/, $kept, '--seconds', '2' ],
	[ 'a broken file', qr/cannot be read, all runs are made anew/, '{"key"', '--seconds', '2' ])
{
	my ($title, $pattern, $content, @options) = @$other;

	append_to_file($unfinished, $content);
	($said, @samples) = resumed($title, @options);
	like($said, $pattern, "$title: the output says why all runs are repeated");
}
append_to_file($unfinished, $kept);
($said, @samples) = resumed('--fresh', '--seconds', '3', '--fresh');
unlike($said, qr/interrupted/, '--fresh ignores the interrupted study');

# Extend a result.
my @before = @samples;
rename("$work/tpcc.json", "$work/before.json") or die "could not rename: $!";
foreach my $bad (
	[
		'other options',
		qr/"[^"]*before\.json" differs in warmup, measured, and cannot/,
		'--warmup', '1', '--seconds', '2', '--extend', "$work/before.json"
	],
	[
		'with page cache',
		qr/"[^"]*before\.json" differs in direct, and cannot/,
		'--seconds', '3', '--direct', '--extend', "$work/before.json"
	],
	[
		'another study',
		qr/"[^"]*row-size\.json" is a result of row-size, not of tpcc/,
		'--seconds', '3', '--extend', "$work/row-size.json"
	],
	[
		'no file', qr/"[^"]*nosuch\.json" could not be read: No such file/,
		'--seconds', '3', '--extend', "$work/nosuch.json"
	])
{
	my ($title, $pattern, @options) = @$bad;
	fails_like([ @two, @options ], 1, $pattern, "--extend, $title");
}
# The stages of the result need not be named again.
my @its_own = grep { $_ !~ /^(?:--stage|stock|off)$/ } @two;
my ($exit, $extended, $complaint) =
  bench(@its_own, '--seconds', '3', '--pairs', '2', '--curve', '0.1', '--sweep', '--sweep-pairs',
	'1', '--extend', "$work/before.json");
is($exit, 0, '--extend') or diag("$extended\n$complaint");
my $result = JSON::PP::decode_json(slurp_file("$work/tpcc.json"));
is_deeply(
	[
		map { join(' ', @$_{qw(setting memory shared_buffers stage round)}) }
		  @{ $result->{samples} }
	],
	[
		' 400 270MB stock 0',
		' 400 270MB off 0',
		' 400 270MB off 1',
		' 400 270MB stock 1',
		'curve 400 270MB stock 0',
		'curve 400 270MB off 0',
		map { ("$_ stock 0", "$_ off 0") } 'sb128 400 128MB',
		'memory250 250 166MB',
		'memory400 400 266MB',
		'memory550 550 366MB',
		'memory700 700 466MB'
	],
	'--extend adds the second pair and the sweep');
# Tests do not run as root, so there are no limits.
like(
	$extended =~ s/\s+/ /gr,
	qr/no writable cgroup, as not started by root: running without memory and I\/O limits/,
	'the output says that the runs have no limits');
is_deeply([ grep { $_->{limited} } @{ $result->{samples} } ],
	[], 'the samples say that the runs have no limits');
has_metrics($result,
	qw(tpmc.off tpmc.sb128 tpmc.memory250 tpmc.memory700 tpmc.best memory.equal tpmc.curve));
is_deeply([ @{ $result->{samples} }[ 0, 1 ] ], \@before, '--extend does not change earlier runs');
is_deeply([ grep { !($_->{counters}{wal_fpi} > 0) } @{ $result->{samples} } ],
	[], 'full-page images are counted');
# The course of a long run
my ($curve) = grep { $_->{setting} eq 'curve' } @{ $result->{samples} };
my @series = @{ $curve->{series} };
cmp_ok($curve->{seconds}, '>=', 6, 'a long run takes its time');
cmp_ok(scalar(@series), '>=', 8, 'a long run is counted in intervals');
is_deeply(
	[ map { $_->{begin} } @series[ 1 .. $#series ] ],
	[ map { $_->{end} } @series[ 0 .. $#series - 1 ] ],
	'there is no gap between intervals');
my %sum;
foreach my $part (@series)
{
	$sum{$_} += $part->{$_}              foreach qw(new_orders wal_bytes newpage_updates);
	$sum{$_} += $part->{table_reads}{$_} foreach keys %{ $part->{table_reads} };
}
cmp_ok($sum{new_orders}, '>=', $curve->{new_orders}, 'the intervals have all New-Orders');
cmp_ok($sum{wal_bytes}, '>=', 0.99 * $curve->{counters}{wal_bytes}, 'the intervals have all WAL');
cmp_ok($sum{newpage_updates}, '>', 0, 'the intervals count updates that move to another page');
cmp_ok(
	$sum{stock}, '>=',
	$curve->{table_reads}{stock}{heap},
	'the intervals have the blocks of each table');
is_deeply(
	[ sort keys %{ $curve->{maintenance} } ],
	[qw(autoanalyze autovacuum checkpoints)],
	'a long run counts autovacuum and checkpoints');
my ($paces) = grep { $_->{name} eq 'curve' } @{ $result->{tables} };
is_deeply(
	$paces->{columns},
	[ 'minutes', 'stock types', 'patched server, all off', 'ratio' ],
	'the result has a table of the long run');
cmp_ok(scalar(@{ $paces->{rows} }), '>=', 4, 'the table of the long run has a row for each time');
like(
	$paces->{rows}[0][1],
	qr/^[\d,]+, \d+\.\d\d, \d+, \d+\.\d\z/,
	'a row has pace, reads, vacuums and growth');
cmp_ok(scalar(grep { $_->{name} eq 'curve_reads' } @{ $result->{tables} }),
	'==', 2, 'the result has tables of the reads of each table');
like($result->{environment}{device}, qr/^\S.*, file system \w+$/, 'the device is described');
like(
	$result->{environment}{extended},
	qr/^2 runs are of 20\d\d-\S+, revision \S+$/,
	'the result says which runs are from before');
is($result->{intervals}{'tpmc.off'}{pairs}, 2, 'the interval is of both pairs');
fails_like(
	[ @two, '--seconds', '3', '--extend', "$work/tpcc.json" ],
	1,
	qr/"[^"]*tpcc\.json" has 14 runs that this command would leave out/,
	'--extend leaves out no run');

# Take long runs from the result of a study with another measured time.
my $long = $result;
fails_like(
	[ @two, '--seconds', '3', '--curve-of', "$work/before.json" ],
	1,
	qr/"[^"]*before\.json" has no long runs/,
	'--curve-of, no long runs');
$long->{environment}{measured} = 99;
append_to_file("$work/long.json", JSON::PP::encode_json($long));
fails_like(
	[ @two, '--seconds', '3', '--clients', '7', '--curve-of', "$work/long.json" ],
	1,
	qr/"[^"]*long\.json" differs in clients, and cannot/,
	'--curve-of, other options');
fails_like(
	[ @two, '--stage', 'split', '--seconds', '3', '--curve-of', "$work/long.json" ],
	1,
	qr/"[^"]*long\.json" has no long run of stock or of split/,
	'--curve-of, other stages');

# More runs of a single stage
fails_like(
	[ @two, '--seconds', '3', '--pairs-of', 'split' ],
	1,
	qr/--pairs-of names "split", which is none of the stages that are run/,
	'--pairs-of, another stage');
($exit, $extended, $complaint) = bench(
	@two, '--seconds', '3', '--pairs',
	'2', '--pairs-of', 'off', '--extend',
	"$work/before.json", '--curve-of', "$work/long.json");
is($exit, 0, '--pairs-of') or diag("$extended\n$complaint");
$result = JSON::PP::decode_json(slurp_file("$work/tpcc.json"));
is_deeply(
	[ map { "$_->{setting} $_->{stage} $_->{round}" } @{ $result->{samples} } ],
	[ ' stock 0', ' off 0', 'curve stock 0', 'curve off 0', ' off 1' ],
	'--pairs-of adds runs of that stage only, and --curve-of takes over the long runs');
is_deeply($result->{samples}[2], $curve, '--curve-of does not change a long run');
is($result->{environment}{curve}, 0.1, 'the long runs keep their length');
like(
	$result->{environment}{'long runs'},
	qr/^2 runs are of 20\d\d-\S+, revision \S+, of which 2 runs are of /,
	'the result says where the long runs are from');
has_metrics($result, 'tpmc.curve');
is($result->{intervals}{'tpmc.off'}{pairs}, 1, 'a run without a partner is no pair');

# Only long runs are added to the runs of the earlier result.
my $server = $result->{environment}{server};
($exit, $extended, $complaint) =
  bench(@two, '--seconds', '3', '--extend', "$work/before.json", '--curve-of', "$work/long.json");
is($exit, 0, '--extend with --curve-of, without a run') or diag("$extended\n$complaint");
$result = JSON::PP::decode_json(slurp_file("$work/tpcc.json"));
is($result->{environment}{server}, $server, 'the result keeps the server of its runs');
ok(defined $result->{environment}{$_}, "the result keeps the $_ of its runs")
  foreach qw(settings limits);

# If a server is killed because memory runs out, a study ends, but a sweep of memory sizes
# continues.  An object that needs no root privileges replaces the control group.  The figures come
# from earlier runs.
my $starved = <<'PYTHON';
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
import json
from bench import charts
from bench.lib.console import BenchError
from bench.studies import tpcc
from bench.tpcc.sizes import DatabaseSize, TableSize

class Group:
    def __init__(self, memory): self.memory, self.killed = memory, 0
    def join_prefix(self): return ()
    def describe(self): return "none"
    def counters(self): return {}
    def memory_peak(self): return 0
    def file_cache(self): return 2**40
    def kills(self): return self.killed
    def lift(self): pass
    def remove(self): pass

class Copy:
    """In the place of a cluster whose tables and runs are known."""
    data = Path("/nonexistent")
    log = "/nonexistent"
    def copy_to(self, name): return self
    def start(self, configuration, *arguments): Copy.buffers = configuration["shared_buffers"]
    def stop(self): pass
    def remove(self): pass
    def connect(self, database): return nullcontext()

target, earlier, *small = sys.argv[2:]
best, best_only = "best" in small or "best-only" in small, "best-only" in small
late, made = "late" in small, []
small = [line.split() for line in small]
stages = ["stock", "off"]
samples = {sample["stage"]: sample for sample in json.loads(Path(earlier).read_text())["samples"]}
tpcc.SWEEP_MEMORY = (250, 400, 700)
tpcc.cgroup.create = lambda memory, iops, data: Group(memory)
tpcc.start_loaded = lambda *arguments: Copy()
tables = "warehouse district customer history new_order orders order_line item stock".split()
tpcc.database_size = lambda connection: DatabaseSize(dict.fromkeys(tables, TableSize(1000, 81920, 16384, 80.0)), 8192000)
tpcc.check.check = lambda *arguments: 12
tpcc.Study.describe = lambda self, *arguments: self.result.environment.update(server="known", limits="none", settings={})
added = ("setting", "memory", "shared_buffers", "limited", "stage", "round")

def run(*arguments):
    group, stage = arguments[-1], stages[runs.pop(0)]
    made.append((stage, Copy.buffers))
    # The server is killed in a long run with the size that was best in a short run.
    if late and made.count(("off", "300MB")) > 1 and made[-1] == ("off", "300MB"):
        group.killed = 1
        raise BenchError("pgbench failed: late")
    if [str(group.memory), stage] in small:
        group.killed = 1
    if [str(group.memory), stage] in small or ["lost", stage] in small:
        raise BenchError("pgbench failed: lost")
    sample = {name: value for name, value in samples[stage].items() if name not in added}
    value = group.memory * {"stock": 10, "off": 20}[stage]
    # Each stage is best with another size, which is neither the first nor the last.
    if best and Copy.buffers == {"stock": "200MB", "off": "300MB"}[stage]:
        value *= {"stock": 2, "off": 5}[stage]
    return sample | {"notpm": value}

tpcc.workload.run = run
# the main setting, shared_buffers of 128 MB, and the three of SWEEP_MEMORY; or the main setting,
# five sizes of shared_buffers, and two pairs with the best
runs = [0, 1, 1, 0] * (not best_only) + [0, 1] * 5 + [0] + [1] * late + [1, 1, 0] if best else [0, 1] * 5
options = tpcc.Options(
    quick=True, seed=1, lite=True, warehouses=1, clients=2, pairs=2 if best else 1, warmup=0, seconds=1, memory=600, iops=0, unlimited=False,
    shared_buffers="128MB", sweep=not best, sweep_pairs=1, best=best, best_only=best_only, curve=0, pairs_of=(), stage_names=("stock", "off"), variants=(), think=False, fresh=True, extend=None, curve_of=None,
    direct=False,
)
try:
    tpcc.run(options, Path(target))
except BenchError as error:
    print("error:", error)
    sys.exit()
result = json.loads(Path(target).read_text())
killed = [f"{sample['memory']} {sample['stage']}" for sample in result["samples"] if sample.get("killed")]
metrics = {name: round(value, 3) for name, value in result["metrics"].items() if name.startswith(("tpmc.memory", "tpmc.best", "memory"))}
rows = [row for table in result["tables"] for row in table["rows"] if row[0] == "runs killed because memory ran out"]
if best:
    chosen = [(sample["stage"], sample["shared_buffers"]) for sample in result["samples"] if sample["setting"] == "best"]
    titles = [table["title"] for table in result["tables"] if "(best:" in table["title"]]
    windows = [
        (setting.warmup, setting.seconds) for setting in tpcc.settings(replace(options, warmup=300, seconds=600))
    ]
    print("best:", len(result["samples"]), chosen, round(result["metrics"]["tpmc.best_settings"], 3), "reads.best_settings" in result["metrics"], titles, windows, sep="\n")
    rows = {table["name"]: len(table["rows"]) for table in result["tables"]}
    print("tpmc.all" in result["metrics"], rows["reads"], rows["latency"], len(charts.tpcc_charts(result)))
    sys.exit()
print("killed:", killed, len(result["samples"]), metrics, rows, len(charts.tpcc_charts(result)))
PYTHON
foreach my $case (
	[
		'stock at 250 MB',
		"killed: ['250 stock'] 10 {'tpmc.memory400': 2.0, 'tpmc.memory700': 2.0, 'tpmc.best': 2.0, 'memory.equal': 0.5} [['runs killed because memory ran out', '1', '0']] 4",
		'250 stock'
	],
	[
		'both at 250 MB',
		"killed: ['250 stock', '250 off'] 10 {'tpmc.memory400': 2.0, 'tpmc.memory700': 2.0, 'tpmc.best': 2.0, 'memory.equal': 0.571} [['runs killed because memory ran out', '1', '1']] 4",
		'250 stock',
		'250 off'
	],
	[
		'the run to be equalled',
		"killed: ['700 stock'] 10 {'tpmc.memory250': 2.0, 'tpmc.memory400': 2.0, 'tpmc.best': 2.0} [['runs killed because memory ran out', '1', '0']] 4",
		'700 stock'
	],
	[
		'a run outside of the sweep',
		'error: 600 MB are too few for shared_buffers 128MB: a process of the server was killed, see --memory and --shared-buffers',
		'600 off'
	],
	[ 'a run that fails for another reason', 'error: pgbench failed: lost', 'lost stock' ])
{
	my ($title, $expected, @small) = @$case;
	my ($told) = python($starved, "$work/starved.json", "$work/before.json", @small) =~
	  /^((?:killed|error): .*)\z/m;

	is($told, $expected, "killed for want of memory: $title");
}

foreach
  my $case ([ 'best', 18, '(300, 600), ', 'True 9 5 8' ], [ 'best-only', 14, '', 'False 9 5 6' ])
{
	my ($option, $runs, $window, $shown) = @$case;
	my ($best) =
	  python($starved, "$work/starved.json", "$work/before.json", $option) =~ /^(best:.*)\z/ms;

	is($best, <<"LINES" =~ s/\n\z//r, "each stage with its best shared_buffers: --$option");
best:
$runs
[('stock', '200MB'), ('off', '300MB'), ('off', '300MB'), ('stock', '200MB')]
5.0
True
['Throughput and I/O: median (smallest to largest) (best: 600 MB, shared_buffers 200MB (stock types), 300MB (patched server, all off))']
[$window(120, 180), (120, 180), (120, 180), (120, 180), (120, 180), (300, 600)]
$shown
LINES
}

like(
	python($starved, "$work/starved.json", "$work/before.json", 'best', 'late'),
	qr/^\[\('stock', '200MB'\), \('off', '300MB'\), \('off', '128MB'\), \('off', '128MB'\), \('stock', '200MB'\)\]\n1\.0\n/m,
	'each stage with its best shared_buffers: memory runs out in a long run');

# Data of the server's files that another process has read into the page cache are not under the
# memory limit.  The study must notice such data.
is(python(<<'PYTHON', $work), <<'LINES' =~ s/\n\z//r, 'files that another process read');
from pathlib import Path
from types import SimpleNamespace
from bench.lib.cgroup import ControlGroup, require_own_cache
from bench.lib.console import BenchError

work = Path(sys.argv[2])
(work / "cached").mkdir()
(work / "cached" / "1").write_bytes(b"x" * (40 * 2**20))
for charged in (40, 0):
    try:
        require_own_cache(work / "cached", SimpleNamespace(file_cache=lambda: charged * 2**20))
        print("own")
    except BenchError as error:
        print(str(error).partition(";")[0])
(work / "memory.stat").write_text("cache 1\ntotal_cache 100\ntotal_shmem 60\nfile 70\nshmem 20\n")
print([ControlGroup(version, work, work, None, 1, 0).file_cache() for version in (1, 2)])
PYTHON
own
another process has read files of the server: the page cache holds 40 MB of them beyond the memory limit
[40, 50]
LINES

# Background vacuum on and off, with direct I/O for data
$result =
  result_of('tpcc', '--quick', '--lite', '--direct', '--warmup', '0', '--seconds', '2',
	'--clients', '2', map { ('--stage', "$_-customer") } 'vertical-partition',
	'background-vacuum');
is_deeply(
	[ $result->{environment}{direct}, $result->{environment}{settings}{debug_io_direct} ],
	[ JSON::PP::true, 'data' ],
	'--direct: the result has the setting');
is( scalar(
		grep { $_->[0] =~ /, with background vacuum to without\z/ }
		map  { @{ $_->{rows} } } @{ $result->{tables} }),
	4,
	'the tables of the two stages have the bars of background vacuum');
is(scalar(grep { $_->{claim} =~ /, with background vacuum to without\z/ } @{ $result->{bars} }),
	4, 'the result has the bars of background vacuum');

# Background vacuum on and off within one run
my $switched = result_of(
	'tpcc-switched', '--quick', '--lite', '--warmup',
	'1', '--phase', '1.5', '--clients',
	'2', '--unlimited', '--shared-buffers', '16MB');
has_metrics($switched, qw(tpmc.switched wal_bytes.switched cpu.switched));
foreach my $sample (@{ $switched->{samples} })
{
	# Compare numbers of blocks, which are whole.
	my %blocks = map { $_ => sprintf('%.0f', $sample->{per_new_order}{$_} * $sample->{new_orders}) }
	  grep { /_writes\z/ } keys %{ $sample->{per_new_order} };

	cmp_ok(
		$blocks{session_writes} + $blocks{bgwriter_writes} + $blocks{checkpointer_writes},
		'<=',
		$blocks{block_writes},
		'tpcc-switched: sessions, bgwriter and checkpointer wrote no more than all blocks');
}
is_deeply(
	[ map { "$_->{round} $_->{setting}" } @{ $switched->{samples} } ],
	[
		map {
			my $block = $_;
			map { "$block $_" } qw(off on on off)
		} 0 .. 1
	],
	'tpcc-switched: the phases alternate');
is(scalar(grep { $_->{setting} eq 'off' && $_->{wal}{own} != 0 } @{ $switched->{samples} }),
	0, 'tpcc-switched: only background vacuum writes the records that count as its own');
cmp_ok(abs($_->{wal}{all} / $_->{per_new_order}{wal_bytes} / $_->{new_orders} - 1),
	'<', 0.2, 'tpcc-switched: the WAL of a phase is analyzed')
  foreach @{ $switched->{samples} };
cmp_ok($switched->{metrics}{'wal_bytes.own.switched'}, '>=', 1, 'tpcc-switched: own WAL');
cmp_ok($_->{seconds}, '<', 1.2, 'tpcc-switched: a third of a phase is not counted')
  foreach @{ $switched->{samples} };
no_instances('tpcc-switched');
is( python(
		<<'PYTHON'), "([10.0, 4.0], [8.0, 5.0]) ([3.0, 3.0], [2.0, 4.0]) None None", 'tpcc-switched: the sums of each block of phases');
from bench.studies import tpcc_switched as study
samples = [
    {"round": block, "setting": setting, "notpm": notpm, "per_new_order": {"wal": wal, "none": 0}}
    for block, setting, notpm, wal in (
        (0, "off", 3.0, 1.0), (0, "on", 4.0, 1.0), (0, "on", 6.0, 2.0), (0, "off", 5.0, 1.0),
        (1, "off", 2.0, 2.0), (1, "on", 2.0, 1.0), (1, "on", 2.0, 2.0), (1, "off", 3.0, 2.0))
]
print(*(study.sums(samples, pick) for pick in (study.notpm, study.counted("wal"), study.counted("lacking"), study.counted("none"))))
PYTHON
is( python(
		<<'PYTHON'), '1.25', 'tpcc-switched: WAL with and without the records of background vacuum');
from bench.studies import tpcc_switched as study
print(study.own_wal([
    {"setting": "off", "wal": {"all": 500, "own": 0}}, {"setting": "on", "wal": {"all": 600, "own": 150}},
    {"setting": "on", "wal": {"all": 400, "own": 50}}]))
PYTHON

unlink glob("$ENV{PGDENSE_BENCH_DIR}/tpcc/transactions.*");
disturbed(
	'server dies', 1,
	qr/pgbench failed: /,
	sub { system($cluster, 'stop', 'bench-tpcc-run', '--immediate') });
disturbed('interrupt', 130, qr/interrupted/, sub { $_[0]->signal('INT') });

done_testing();
