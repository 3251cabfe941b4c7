#
# instructions.pl - check that bench/run instructions counts the instructions of the processes
#
# Run the study once, as a smoke run.  Check that
#
# - each workload is run with all variants, and its ratios come from the counts of the sessions;
# - the start of a session is not counted;
# - a lost update ends the study with an error;
# - without valgrind, and with wrong arguments, the study ends with an error of one line.
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

my $has_stock = -x "$top/build/$major/stock/bin/postgres";

needs_python();
needs_patch('bgvacuum_patch', 'bgvacuum');

my @run = ('instructions', '--quick', '--workload', 'uniform', '--workload', 'insert_only');
my ($code, $out, $err) = bench($top, @run, '--json', "$work/results/instructions.json");
is($code, 0, 'bench/run instructions') or BAIL_OUT("$out\n$err");
no_instances($top, 'instructions');

my $result = read_result("$work/results/instructions.json");
my ($metrics, $samples) = @$result{qw(metrics samples)};
my @variants = ($has_stock ? 'stock' : (), 'off', 'on');
my @ratios =
  $has_stock
  ? map { ("$_.instructions", "$_.instructions.off") } qw(uniform insert_only)
  : ();
is_sound($result, 'instructions', \@ratios, \@ratios, 'settings of all', 'settings of variants');
is_deeply(
	[ map { "$_->{workload} $_->{variant} $_->{cycles}" } @$samples ],
	[
		map {
			my $workload = $_;
			map { "$workload $_ 30" } @variants
		} qw(uniform insert_only)
	],
	'each workload is run with all variants');
my %session = map { ("$_->{workload} $_->{variant}" => $_->{session}) } @$samples;
foreach my $metric (@ratios)
{
	my ($workload, undef, $off) = split /\./, $metric;

	is( sprintf('%.9f', $metrics->{$metric}),
		sprintf('%.9f', $session{ "$workload " . ($off // 'on') } / $session{"$workload stock"}),
		"$metric is the ratio of the counts of the sessions");
}

# The start of a session takes several million instructions.
foreach my $sample (grep { $_->{workload} eq 'uniform' } @$samples)
{
	my $update = $sample->{session} / $sample->{cycles};

	cmp_ok($update, '>', 10_000, "$sample->{variant}: instructions of an update");
	cmp_ok($update, '<', 150_000, "$sample->{variant}: the start of a session does not count");
}

# Errors
my $elsewhere = checkout("$work/elsewhere", "$top/build/$major/dense");
my $procedures = "$elsewhere/bench/bgvacuum/sql/procedures.sql";
my $lost = slurp_file($procedures) =~ s/FOR i IN 1 \.\. cycles/FOR i IN 2 .. cycles/gr;
open(my $file, '>', $procedures) or die "could not write $procedures: $!";
print $file $lost;
close($file) or die;
fails_like(
	$elsewhere,
	[ 'instructions', '--quick', '--workload', 'uniform' ],
	qr/patched, off, uniform: 54 updates are there, not 60/,
	'lost updates');
is( python(
		q{import os; from bench.lib import cachegrind; os.environ["PATH"] = "/nonexistent"
try: cachegrind.require()
except Exception as error: print(error.message)}),
	'valgrind was not found, run "tools/deps bench" first',
	'without valgrind');
fails_like($top, [ 'instructions', '--workload', 'tpcc' ], qr/--workload/, 'unknown workload', 2);
fails_like($top, [ 'instructions', '--calls', '0' ], qr/--calls/, 'no calls', 2);

done_testing();
