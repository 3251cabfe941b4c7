#
# index.pl - the study of item alignment measures what it says
#
# Proves that the indexes of index-size have the alignment that they are measured
# for whatever the server's default is; that the sizes are exact, the same in
# every run, smaller where a key allows for it and larger nowhere; that an index
# built at max is as large as that of the release as it is; that the results have
# the names that others rely on; and that a server without index_align is refused
# in one line.  Times are not judged here.
#
use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use IPC::Run ();
use JSON::PP ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = $ENV{PGDENSE_TOP} || abs_path(dirname(__FILE__) . '/../..');
my $bench = "$top/bench/run";
my $work = PostgreSQL::Test::Utils::tempdir();
my $results = "$work/results";
my ($major) = slurp_file("$top/tools/pg-versions") =~ /^(\d+) /m;
my $stock = "$top/build/$major/stock";
my @small = ('--quick', '--lite', '--rows', '20000', '--rounds', '1');

$ENV{PGDENSE_BENCH_DIR} = "$work/bench";

my $missing = `$bench --help 2>&1 >/dev/null`;
plan skip_all => $missing =~ s/\s+$//r if $missing =~ /Python module/;
plan skip_all => 'the server is without index_align' if `postgres --describe-config` !~ /^default_index_item_alignment\t/m;

# Run the study; returns what it wrote to --json, and what it printed.
sub result_of
{
	my ($name, @arguments) = @_;
	my ($out, $err) = ('', '');
	my $file = "$results/$name.json";

	IPC::Run::run([ $bench, 'index-size', @small, @arguments, '--json', $file ], '<', \undef, '>', \$out, '2>', \$err);
	is($?, 0, "bench/run index-size @arguments") or BAIL_OUT("$out\n$err");
	my $result = JSON::PP::decode_json(slurp_file($file));
	is($result->{study}, 'index-size', 'the result names its study');
	ok($result->{quick}, 'a smoke run says so');
	is_deeply([ grep { ref $_ || $_ !~ /^[-+\d.eE]+$/ } values %{ $result->{metrics} } ], [], 'metrics are numbers');
	return ($result, $out);
}

# Bytes of all indexes of a result, by name.
sub sizes
{
	my ($result, @kinds) = @_;
	my %bytes;

	foreach my $sample (@{ $result->{samples} })
	{
		next unless ($sample->{test} eq 'size' || $sample->{test} eq 'tpcc') && grep { $_ eq $sample->{kind} } @kinds;
		my $name = $sample->{test} eq 'size' ? "$sample->{key} $sample->{way}" : "$sample->{stage} $sample->{index}";
		$bytes{"$name $sample->{kind}"} = $sample->{bytes};
	}
	return \%bytes;
}

mkdir $results;

# On private instances, with all that the study does
my ($result, $printed) = result_of('index-size');
my $metrics = $result->{metrics};
my @pairs = -x "$stock/bin/postgres" ? qw(auto_vs_max max_vs_stock auto_vs_stock) : qw(auto_vs_max);
my @tests = qw(build lookup index_only scan insert_random insert_ascending);
my @timed = map { my $test = $_; map { "$test.$_" } @pairs } @tests;
my @lacking = grep { !exists $metrics->{$_} } qw(int4 int4x3 int2 worst worst.inserted tpcc.total tpcc.all), @timed;
is("@lacking", '', 'metrics');
@lacking = grep { !exists $result->{intervals}{$_} } @timed;
is("@lacking", '', 'times have an interval');
my ($bars) = grep { $_->{name} eq 'bars' } @{ $result->{tables} };
my %said = map { ($_->[1] => $_->[4]) } @{ $bars->{rows} };
is_deeply([ grep { ($said{$_} // '') !~ /^(?:met|missed)$/ } qw(int4 int4x3 int2 worst tpcc.total), @timed ], [], 'bars');
like($printed, qr/What the project promises/, 'which are printed');

my %align = map { ($_->{key} => $_->{align}) } grep { $_->{test} eq 'size' && $_->{kind} eq 'auto' } @{ $result->{samples} };
is_deeply(
	{ map { $_ => $align{$_} } qw(int2 uint2 uint3 uint2_uint1_uint3 uuid int4 text numeric int4x3 int4_int2_int4 uuid_int4 int8 timestamptz int4.include_int8) },
	{
		(map { $_ => 2 } qw(int2 uint2 uint3 uint2_uint1_uint3 uuid)),
		(map { $_ => 4 } qw(int4 text numeric int4x3 int4_int2_int4 uuid_int4)),
		(map { $_ => 8 } qw(int8 timestamptz int4.include_int8))
	},
	'alignments by the key');
my @keys = sort keys %align;
is(scalar(@keys), 33, 'shapes of keys');
is_deeply([ grep { $metrics->{$_} > 1 } @keys ], [], 'no index that is built at auto is larger');
is_deeply([ grep { $align{$_} == 8 && ($metrics->{$_} != 1 || $metrics->{"$_.inserted"} != 1) } @keys ],
	[], 'and none changes whose key needs all of the alignment');
# Few pages are a coarse measure; the bars are for more rows.
foreach my $most ([ int4 => 0.82 ], [ int4x3 => 0.88 ], [ int2 => 0.72 ], [ uint2 => 0.72 ], [ date => 0.82 ], [ text => 0.96 ],
	[ uuid_int4 => 0.91 ], [ 'int4.duplicates' => 0.88 ], [ 'int2.duplicates' => 0.93 ], [ 'tpcc.total' => 0.99 ])
{
	my ($name, $ratio) = @$most;
	cmp_ok($metrics->{$name}, '<=', $ratio, "$name got smaller");
	cmp_ok($metrics->{"$name.inserted"}, '<', 1, 'and so did the index that was inserted into') if exists $metrics->{"$name.inserted"};
}
cmp_ok($metrics->{'tpcc.all'}, '<', $metrics->{'tpcc.plain'}, 'TPC-C gains more with compact types');

# Each ratio comes near to what arithmetic says.
my ($table) = grep { $_->{name} eq 'keys' } @{ $result->{tables} };
my @off = grep { abs($_->[5] - $_->[6]) > 0.05 } @{ $table->{rows} };
is_deeply([ map { "$_->[0]: $_->[5], not $_->[6]" } @off ], [], 'the bound of each key is near');

SKIP:
{
	skip "no build/$major/stock to compare with", 3 unless -x "$stock/bin/postgres";
	my $max = sizes($result, 'max');
	my %of_stock = map { s/ stock$/ max/r => sizes($result, 'stock')->{$_} } keys %{ sizes($result, 'stock') };

	is($metrics->{max_vs_stock}, 1, 'max is as large as stock');
	cmp_ok(scalar(keys %of_stock), '>=', 2 * 20, 'of each type of core');
	is_deeply([ grep { $max->{$_} != $of_stock{$_} } keys %of_stock ], [], 'to the byte');
}
is_deeply([ map { s/.*\///r } glob("$top/build/cluster/bench-*") ], [], 'no instance is left');

# On a server that runs, and has another default
my $node = PostgreSQL::Test::Cluster->new('bench');
$node->init;
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\ndefault_index_item_alignment = auto\n");
$node->start;
{
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	delete local $ENV{PGUSER};

	my ($again) = result_of('running', '--running', '--exact');
	is_deeply(sizes($again, qw(max auto)), sizes($result, qw(max auto)), 'sizes are exact, and do not depend on the default');
	is_deeply([ grep { exists $again->{metrics}{$_} } @timed ], [], 'there are no times if they are not asked for');
}
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_database WHERE datname LIKE 'bench%'"), '0', 'the databases are gone');
$node->stop;
unlink "$results/running.json";

# Report
is(system($bench, 'report', '--results', $results, '--html', "$work/report.html", '--markdown', "$work/benchmarks.md"),
	0, 'report');
like(slurp_file("$work/report.html"), qr/<svg/, 'the page holds a chart');
my $markdown = slurp_file("$work/benchmarks.md");
like($markdown, qr/^## index-size$/m, 'the tables have a section');
like($markdown, qr/^\| int2, unique \| 20,000 \| 2 \|/m, 'with a row for each key');
like($markdown, qr/^\| pk_stock_dbt2 \(s_w_id, s_i_id, s_quantity\) \|/m, 'and each index of TPC-C');

# A server that cannot do it
SKIP:
{
	skip "no build/$major/stock to be refused", 2 unless -x "$stock/bin/postgres";
	my ($out, $err) = ('', '');
	my $plain = PostgreSQL::Test::Cluster->new('stock', install_path => $stock);

	$plain->init;
	$plain->start;
	local $ENV{PGHOST} = $plain->host;
	local $ENV{PGPORT} = $plain->port;
	delete local $ENV{PGUSER};
	IPC::Run::run([ $bench, 'index-size', @small, '--running' ], '<', \undef, '>', \$out, '2>', \$err);
	is($?, 1 << 8, 'a server without index_align: exit code');
	like($err, qr/\Abench\/run: error: the server has no setting "default_index_item_alignment"[^\n]*\n\z/, 'one line');
	$plain->stop;
}

done_testing();
