#
# analyze.pl - check that bench/run analyze measures the estimates after ANALYZE with few blocks
#
# Run the study once, as a smoke run.  Check that
#
# - the limit reduces the blocks, and without the limit all blocks are read;
# - the ratios come from the samples;
# - with wrong arguments, the study ends with an error of one line.
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
needs_patch('bgvacuum_patch', 'analyze_max_blocks');

my ($code, $out, $err) = bench($top, 'analyze', '--quick', '--json', "$work/results/analyze.json");
is($code, 0, 'bench/run analyze') or BAIL_OUT("$out\n$err");
no_instances($top, 'analyze');

my $result = read_result("$work/results/analyze.json");
my ($metrics, $samples) = @$result{qw(metrics samples)};
my @measures = qw(distinct.median distinct.worst equal.median equal.worst blocks);
my @ratios = map {
	my $base = $_;
	map { "$_.vs_$base" } @measures
} $has_stock ? 'stock' : (), 'off';
is_sound($result, 'analyze', \@ratios, \@ratios, 'settings of all');

my %sample = map { ($_->{variant} => $_) } @$samples;
foreach my $variant ($has_stock ? 'stock' : (), 'off')
{
	is($sample{$variant}{blocks}, $sample{$variant}{table}, "$variant: all blocks are read");
	is( sprintf('%.9f', $metrics->{"$_.vs_$variant"}),
		sprintf('%.9f', $sample{limit}{$_} / $sample{$variant}{$_}),
		"$_.vs_$variant is the ratio of the samples") foreach @measures;
}
is($sample{limit}{blocks}, int($sample{limit}{table} * 0.15), 'limit: blocks');
cmp_ok($sample{$_}{'distinct.median'}, '<', 1.5, "$_: estimates are near the true numbers")
  foreach keys %sample;

fails_like($top, [ 'analyze', '--rows', '0' ], qr/--rows/, 'no rows', 2);

done_testing();
