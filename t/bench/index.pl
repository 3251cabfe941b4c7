#
# index.pl - check that bench/run index-size measures what it claims to measure
#
# Run the study of item alignment as a smoke run, on instances of its own and on a
# running server.  Check that
#
# - each index has the alignment that the study names for it, whatever the default of the server is;
# - sizes are exact and the same in every run; with alignment auto, they are smaller for keys with
#   alignment gaps, and not larger for any key;
# - an index with alignment max is as large as an index of the stock server;
# - the result has the metrics that the report and the documents name;
# - the study refuses a server without index_align, with an error of one line.
#
# Times are not checked, because other processes disturb them.
#
use strict;
use warnings FATAL => 'all';

use Cwd            qw(abs_path);
use File::Basename qw(dirname);
use IPC::Run       ();
use JSON::PP       ();
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

my ($missing) = `$bench --help` =~ /(Python module .* is not installed)/;
plan skip_all => $missing if $missing;
plan skip_all => 'the server is without index_align'
  if `postgres --describe-config` !~ /^default_index_item_alignment\t/m;

# Run the study.  Return the result that it wrote to --json, and its output.
sub result_of
{
	my ($name, @arguments) = @_;
	my ($out, $err) = ('', '');
	my $file = "$results/$name.json";

	IPC::Run::run([ $bench, 'index-size', @small, @arguments, '--json', $file ],
		'<', \undef, '>', \$out, '2>', \$err);
	is($?, 0, "bench/run index-size @arguments") or BAIL_OUT("$out\n$err");
	my $result = JSON::PP::decode_json(slurp_file($file));
	is($result->{study}, 'index-size', 'the result names its study');
	ok($result->{quick}, 'the result says that it is of a smoke run');
	is_deeply([ grep { ref $_ || $_ !~ /^[-+\d.eE]+$/ } values %{ $result->{metrics} } ],
		[], 'metrics are numbers');
	return ($result, $out);
}

# Return the bytes of all indexes of a result, by name.
sub sizes
{
	my ($result, @kinds) = @_;
	my %bytes;

	foreach my $sample (@{ $result->{samples} })
	{
		next
		  unless ($sample->{test} eq 'size' || $sample->{test} eq 'tpcc')
		  && grep { $_ eq $sample->{kind} } @kinds;
		my $name =
		  $sample->{test} eq 'size'
		  ? "$sample->{key} $sample->{way}"
		  : "$sample->{stage} $sample->{index}";
		$bytes{"$name $sample->{kind}"} = $sample->{bytes};
	}
	return \%bytes;
}

mkdir $results;

# Run the study on instances that it starts, with all of its tests.
my ($result, $printed) = result_of('index-size');
my $metrics = $result->{metrics};
my @pairs = -x "$stock/bin/postgres" ? qw(auto_vs_max max_vs_stock auto_vs_stock) : qw(auto_vs_max);
my @tests = qw(build lookup index_only scan insert_random insert_ascending);
my @timed = map {
	my $test = $_;
	map { "$test.$_" } @pairs
} @tests;
my @lacking =
  grep { !exists $metrics->{$_} } qw(int4 int4x3 int2 worst worst.inserted tpcc.total tpcc.all),
  @timed;
is("@lacking", '', 'the result has all metrics');
@lacking = grep { !exists $result->{intervals}{$_} } @timed;
is("@lacking", '', 'every time has an interval');
my ($bars) = grep { $_->{name} eq 'bars' } @{ $result->{tables} };
my %said = map { ($_->[1] => $_->[4]) } @{ $bars->{rows} };
is_deeply(
	[
		grep { ($said{$_} // '') !~ /^(?:met|missed)$/ } qw(int4 int4x3 int2 worst tpcc.total),
		@timed
	],
	[],
	'the result has a verdict on every bar');
like($printed, qr/What the project promises/, 'the bars are printed');

my %align = map { ($_->{key} => $_->{align}) }
  grep { $_->{test} eq 'size' && $_->{kind} eq 'auto' } @{ $result->{samples} };
is_deeply(
	{
		map { $_ => $align{$_} }
		  qw(int2 uint2 uint3 uint2_uint1_uint3 uuid int4 text numeric int4x3 int4_int2_int4 uuid_int4 int8 timestamptz int4.include_int8)
	},
	{
		(map { $_ => 2 } qw(int2 uint2 uint3 uint2_uint1_uint3 uuid)),
		(map { $_ => 4 } qw(int4 text numeric int4x3 int4_int2_int4 uuid_int4)),
		(map { $_ => 8 } qw(int8 timestamptz int4.include_int8))
	},
	'each index has the alignment that its key allows');
my @keys = sort keys %align;
is(scalar(@keys), 33, 'the study has 33 shapes of keys');
is_deeply([ grep { $metrics->{$_} > 1 } @keys ], [], 'no index that is built at auto is larger');
is_deeply(
	[ grep { $align{$_} == 8 && ($metrics->{$_} != 1 || $metrics->{"$_.inserted"} != 1) } @keys ],
	[], 'an index whose key needs an alignment of 8 bytes keeps its size');
# This run has few rows, so its sizes are coarse.  The limits here are therefore not the bars of the
# study, which are for more rows.
foreach my $most (
	[ int4 => 0.82 ],
	[ int4x3 => 0.88 ],
	[ int2 => 0.72 ],
	[ uint2 => 0.72 ],
	[ date => 0.82 ],
	[ text => 0.96 ],
	[ uuid_int4 => 0.91 ],
	[ 'int4.duplicates' => 0.88 ],
	[ 'int2.duplicates' => 0.93 ],
	[ 'tpcc.total' => 0.99 ])
{
	my ($name, $ratio) = @$most;
	cmp_ok($metrics->{$name}, '<=', $ratio, "$name: the index is smaller");
	cmp_ok($metrics->{"$name.inserted"}, '<', 1, "$name: the index is smaller after INSERT, too")
	  if exists $metrics->{"$name.inserted"};
}
cmp_ok($metrics->{'tpcc.all'}, '<', $metrics->{'tpcc.plain'},
	'TPC-C gains more with compact types');

# Each ratio must be close to the computed ratio.
my ($table) = grep { $_->{name} eq 'keys' } @{ $result->{tables} };
my @off = grep { abs($_->[5] - $_->[6]) > 0.05 } @{ $table->{rows} };
is_deeply([ map { "$_->[0]: $_->[5], not $_->[6]" } @off ],
	[], 'the ratio of each key is close to the computed one');

SKIP:
{
	skip "no build/$major/stock to compare with", 3 unless -x "$stock/bin/postgres";
	my $max = sizes($result, 'max');
	my %of_stock =
	  map { s/ stock$/ max/r => sizes($result, 'stock')->{$_} } keys %{ sizes($result, 'stock') };

	is($metrics->{max_vs_stock},
		1, 'indexes with alignment max are as large as those of the stock server');
	cmp_ok(scalar(keys %of_stock),
		'>=', 2 * 20, 'at least 20 shapes of keys were compared, built and inserted');
	is_deeply([ grep { $max->{$_} != $of_stock{$_} } keys %of_stock ],
		[], 'each index has the same number of bytes as on the stock server');
}
is_deeply([ map { s/.*\///r } glob("$top/build/cluster/bench-*") ], [], 'no instance is left');

# Run the study on a running server with another default_index_item_alignment.
my $node = PostgreSQL::Test::Cluster->new('bench');
$node->init;
$node->append_conf('postgresql.conf',
	"fsync = off\nautovacuum = off\ndefault_index_item_alignment = auto\n");
$node->start;
{
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	delete local $ENV{PGUSER};

	my ($again) = result_of('running', '--running', '--exact');
	is_deeply(
		sizes($again, qw(max auto)),
		sizes($result, qw(max auto)),
		'sizes are exact, and do not depend on the default');
	is_deeply([ grep { exists $again->{metrics}{$_} } @timed ], [], '--exact measures no times');
}
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_database WHERE datname LIKE 'bench%'"),
	'0', 'the databases of the study are dropped');
$node->stop;
unlink "$results/running.json";

# Report
is( system($bench, 'report', '--results', $results,
		'--html', "$work/report.html", '--markdown', "$work/benchmarks.md"),
	0,
	'bench/run report succeeds');
like(slurp_file("$work/report.html"), qr/<svg/, 'the page has a chart');
my $markdown = slurp_file("$work/benchmarks.md");
like($markdown, qr/^## index-size$/m, 'the tables have a section of the study');
like($markdown, qr/^\| int2, unique \| 20,000 \| 2 \|/m, 'the section has a row for each key');
like(
	$markdown,
	qr/^\| pk_stock_dbt2 \(s_w_id, s_i_id, s_quantity\) \|/m,
	'the section has a row for each index of TPC-C');

# A server without index_align
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
	IPC::Run::run([ $bench, 'index-size', @small, '--running' ],
		'<', \undef, '>', \$out, '2>', \$err);
	is($?, 1 << 8, 'a server without index_align: exit code');
	like(
		$err,
		qr/\Abench\/run: error: the server has no setting "default_index_item_alignment"[^\n]*\n\z/,
		'a server without index_align: one line');
	$plain->stop;
}

done_testing();
