#
# heat.pl - check that bench/run heat measures what it claims to measure
#
# Run the study of row_heat once, as a smoke run.  Check that
#
# - heat was recorded and the table was rewritten if its rows are unevenly hot;
# - a table whose rows are equally hot was not rewritten;
# - both variants had the same limits, and the packed one has all rows;
# - maintenance ran while the hot rows changed;
# - recording was off, on, and of every statement by turns, and rows were moved while others were updated;
# - the result has the metrics and the bars that the report and the documents name.
#
# Times are not checked, because other processes disturb them.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Bench;
use PostgreSQL::Test::Utils;
use Test::More;

needs_python();

# Heat is recorded in other transactions than those that are measured, and on the same hot rows.
my $loads = <<'PYTHON';
from types import SimpleNamespace
from bench.studies import heat
from bench.tpcc import workload
common = SimpleNamespace(warehouses=2, scale=SimpleNamespace(items=100, customers=30, names=10), clients=8, seed=5)
options = SimpleNamespace(learn=7, tpcc_warmup=1, tpcc_seconds=2)
learning, measuring = heat.tpcc_loads(common, options)
print(
    learning.seed != measuring.seed,
    workload.script_variables(learning) == workload.script_variables(measuring),
    learning.warmup, learning.seconds, measuring.warmup, measuring.seconds, measuring.seed,
)
PYTHON
is(python($loads), "True True 7 1 1 2 5", 'TPC-C: two loads with the same hot rows');

# --direct applies to both variants.
my $direct = <<'PYTHON';
from dataclasses import fields
from bench.studies import heat
for direct in (False, True):
    options = heat.Options(**{field.name: 0 for field in fields(heat.Options)} | {"direct": direct})
    print(*(options.measured(variant).get("debug_io_direct") for variant in heat.VARIANTS))
PYTHON
is(python($direct), "None None\ndata data", '--direct sets direct I/O for both variants');

my ($code, $out, $err) = bench($top, 'heat', '--only', 'zipf');
is($code, 2, 'keys that do not exist');
like($err, qr/'zipf' is not one of 'zipf.080'/, 'the error names the ones that exist');

($code, $out, $err) =
  bench($top, 'heat', '--quick', '--memory', '32', '--json', "$work/results/heat.json");
is($code, 0, 'bench/run heat') or BAIL_OUT("$out\n$err");

my $result = read_result("$work/results/heat.json");
my ($metrics, $samples) = @$result{qw(metrics samples)};
my @ratios = (
	qw(zipf.080 zipf.099 zipf.120 drift uniform recording recording.every_statement tpcc.all),
	'tpcc.reads');
is_sound($result, 'heat', [ @ratios, 'move.p99_ms' ], \@ratios);
is_deeply(
	[ sort keys %{ { bars_said($result) } } ],
	[ sort qw(tpcc.all zipf.099 drift uniform recording move.p99_ms) ],
	'the result has a verdict on every bar');

my $environment = $result->{environment};
like($environment->{memory}, qr/^\d{4,} MB$/, 'the result has the memory of the machine');
is($environment->{memory_limit}, 32, 'and the limit');
like($environment->{$_}, qr/^(none|cgroup .*)$/, "the result has the $_")
  foreach 'limits', 'limits of TPC-C';

my %heat = map { ($_->{keys} => $_->{heat}) } grep { $_->{heat} } @$samples;
for my $keys (qw(zipf.099 zipf.120 drift))
{
	cmp_ok($heat{$keys}{accesses}, '>', 1000, "$keys: accesses were recorded");
	cmp_ok(
		$heat{$keys}{packed_pages},
		'<',
		0.8 * $heat{$keys}{hot_pages},
		"$keys: hot rows fit into fewer pages");
	ok($heat{$keys}{rewritten}, "$keys: the table was rewritten");
}
ok(!$heat{uniform}{rewritten}, 'a table with equally hot rows was not rewritten');
ok((grep { $_->{relation} =~ /stock/ && $_->{rewritten} } @{ $heat{tpcc} }),
	'TPC-C: stock was rewritten');

for my $keys (keys %heat)
{
	my @runs = grep { $_->{keys} && $_->{keys} eq $keys && $_->{variant} } @$samples;
	is(join(' ', sort map { $_->{variant} } @runs), 'loaded packed', "$keys: both variants ran");
}
is( join(' ', sort map { $_->{rate} } grep { defined $_->{rate} } @$samples),
	'0 0 0.1 0.1 1 1',
	'recording was off, at the default rate, and of every statement by turns');
my ($maintained) = grep { defined $_->{calls} } @$samples;
is( "$maintained->{keys} $maintained->{variant}",
	'drift packed',
	'maintenance ran where the hot rows change');
cmp_ok($maintained->{calls}, '>=', 3, 'it ran several times');
like($maintained->{moved}, qr/^\d+$/, 'the sample has the number of rows that it moved');
my ($move) = grep { defined $_->{p99_before_ms} } @$samples;
cmp_ok($move->{pages}, '>', $move->{pages_before}, 'rows were moved to new pages');
done_testing();
