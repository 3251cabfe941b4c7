#
# toast.pl - check that the studies of large values measure what they claim to measure
#
# Run bench/run toast-strategies, toast-chunks and toast-codecs once, as smoke runs.
# Check that
#
# - every variant stores values as its name says, which exact sizes, the catalogs and the TOAST
#   chunks show;
# - a value that is too large for PLAIN is shown as an error;
# - the result has the metrics that the report and the documents name, and the report
#   draws them.
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

$ENV{PGDENSE_BENCH_DIR} = "$work/bench";

my ($missing) = `$bench --help` =~ /(Python module .* is not installed)/;
plan skip_all => $missing if $missing;

# Run a study on the running server.  Return the result that it wrote to --json, and its output.
sub result_of
{
	my ($study, @arguments) = @_;
	my ($out, $err) = ('', '');
	my @command =
	  ($bench, $study, '--running', '--quick', @arguments, '--json', "$results/$study.json");

	IPC::Run::run(\@command, '<', \undef, '>', \$out, '2>', \$err);
	is($?, 0, "bench/run $study") or diag("$out\n$err");
	my $result = JSON::PP::decode_json(slurp_file("$results/$study.json"));
	is($result->{study}, $study, 'the result names its study');
	ok($result->{quick}, 'the result says that it is of a smoke run');
	is_deeply([ grep { ref $_ || $_ !~ /^[-+\d.eE]+$/ } values %{ $result->{metrics} } ],
		[], "$study: metrics are numbers");
	return ($result, $out);
}

sub has_metrics
{
	my ($result, @names) = @_;
	my @lacking = grep { !exists $result->{metrics}{$_} } @names;

	is("@lacking", '', "$result->{study}: the result has all metrics");
	return;
}

# Return the exact sizes of a variant, from the one sample of a group and panel.
sub size
{
	my ($result, $group, $panel, $type) = @_;
	my @found =
	  grep {
			 $_->{test} eq 'size'
		  && $_->{group} eq $group
		  && $_->{panel} eq $panel
		  && $_->{type} eq $type
	  } @{ $result->{samples} };

	is(scalar(@found), 1, "$result->{study}: one sample has the size of $group $panel $type");
	return $found[0] // { map { $_ => 0 } qw(heap toast raw stored rows) };
}

sub total
{
	my $size = size(@_);
	return $size->{heap} + $size->{toast};
}

sub table
{
	my ($result, $name) = @_;
	my ($found) = grep { $_->{name} eq $name } @{ $result->{tables} };

	ok($found, "$result->{study}: the result has the table $name");
	return { map { my ($title, @cells) = @$_; ($title => \@cells) } @{ $found->{rows} } };
}

# Check that every bar has a row with its verdict.
sub has_bars
{
	my ($result, @names) = @_;
	my ($found) = grep { $_->{name} eq 'bars' } @{ $result->{tables} };
	my %said = map { ($_->[1] => $_->[4]) } @{ $found->{rows} };

	is_deeply([ grep { ($said{$_} // '') !~ /^(?:met|missed)$/ } @names ],
		[], "$result->{study}: the result has a verdict on every bar");
	return;
}

my $node = PostgreSQL::Test::Cluster->new('bench');
$node->init;
# The studies must not depend on the server's settings.
$node->append_conf('postgresql.conf',
	"fsync = off\nautovacuum = off\ndefault_toast_compression = lz4\n");
$node->start;
local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
delete local $ENV{PGUSER};
mkdir $results;

# Strategies
my ($strategies, $printed) = result_of('toast-strategies', '--rows', '60', '--rounds', '1');
my @strategies =
  qw(random.insert_vs_external repeated.size_vs_extended repeated.insert_vs_extended);
has_metrics($strategies, @strategies,
	qw(random.size_vs_extended random.read_vs_extended repeated.read_vs_extended));
has_bars($strategies, @strategies);
foreach my $kind (qw(random repeated))
{
	foreach my $test (qw(size insert read))
	{
		my $rows = table($strategies, "$kind.$test");

		is(scalar(keys %$rows), 13, "$kind.$test: the table has every variant");
		is_deeply(
			[ @{ $rows->{PLAIN} }[ 3, 4 ] ],
			[ ('error 54000') x 2 ],
			'PLAIN refuses values that do not fit on a page');
		unlike(join(' ', map { "@{$rows->{$_}}" } grep { $_ ne 'PLAIN' } keys %$rows),
			qr/error/, 'no other variant has an error');
	}
}
like($printed, qr/error 54000/, 'the error is printed');
my @refused = grep { $_->{error} } @{ $strategies->{samples} };
is_deeply([ map { $_->{type} } @refused ], [ ('plain') x 4 ], 'the samples have the errors');
is(size($strategies, 'random', '31,000 bytes', 'external')->{stored},
	60 * 31000, 'EXTERNAL does not compress values');
is(size($strategies, 'random', '7,000 bytes', 'plain')->{toast},
	0, 'PLAIN stores nothing in the TOAST table');
is(size($strategies, 'random', '7,000 bytes', 'main.lz4')->{toast},
	0, 'MAIN stores nothing in the TOAST table if the page has room');
is(size($strategies, 'random', '31,000 bytes', 'policy.lz4')->{stored},
	60 * 31000, 'the policy does not compress random values');
is(size($strategies, 'random', '31,000 bytes', 'own.none')->{raw},
	60 * 31000, 'ztext without compression holds the same bytes');
cmp_ok(size($strategies, 'repeated', '31,000 bytes', 'extended.lz4')->{stored},
	'<', 60 * 1000, 'lz4 compresses repetition');
cmp_ok(size($strategies, 'repeated', '31,000 bytes', "policy.$_")->{stored},
	'<', 60 * 1000, "the policy with $_ compresses repetition")
  foreach qw(pglz lz4 lz4hc);
cmp_ok(size($strategies, 'repeated', '31,000 bytes', "own.$_")->{stored},
	'<', 60 * 2000, "ztext with $_ compresses repetition")
  foreach qw(lz4 snappy zstd);
cmp_ok(size($strategies, 'repeated', '31,000 bytes', "own.none")->{stored},
	'>=', 60 * 31000, 'ztext with none does not compress');
is( total($strategies, 'repeated', '31,000 bytes', 'policy.lz4'),
	total($strategies, 'repeated', '31,000 bytes', 'extended.lz4'),
	'the policy and EXTENDED take the same pages for repetition');

# Chunks
my ($chunks) = result_of('toast-chunks', '--rows', '60', '--rounds', '1');
my @tests = qw(31685 16505 7925 3885 3966);
has_metrics(
	$chunks,
	(map { ("read_cpu.$_", "insert_cpu.$_", "size.$_") } @tests),
	qw(size.max growth_chunks.max narrow.copy narrow.update));
has_bars($chunks,
	qw(read_cpu.31685 read_cpu.16505 read_cpu.7925 size.max growth_chunks.max narrow.copy narrow.update)
);
is(scalar(keys %{ table($chunks, 'chunks') }) % 5, 0, 'every test has every variant');
foreach my $test (@tests)
{
	my $raw = 60 * $test;
	my ($core, $policy) =
	  map { size($chunks, '', "$test bytes", $_)->{stored} } qw(extended.lz4 policy.lz4);

	is(size($chunks, '', "$test bytes", 'external')->{stored},
		$raw, "$test: EXTERNAL does not compress values");
	cmp_ok($core, '<=', $raw, "$test: EXTENDED does not store more");
	cmp_ok($core, '<', $raw, "$test: lz4 saves something") if $test > 3885;
	# The policy still compresses a value if that saves a chunk.
	cmp_ok($policy, '>', $core, "$test: the policy stores values uncompressed") if $test > 4096;
	cmp_ok($policy, '<', $raw * 0.6, "$test: the policy compresses small values as core does")
	  if $test == 3966;
}
cmp_ok($chunks->{metrics}{'size.max'}, '<=', 1.05, 'no test takes more room than promised');
cmp_ok($chunks->{metrics}{'growth_chunks.max'}, '<', 1, 'no value grows by a chunk');

# Codecs
SKIP:
{
	skip 'no source tree in build/17/src', 1 unless -e "$top/build/17/src/.git";

	my ($codecs) = result_of('toast-codecs', '--rows', '60', '--rounds', '1');
	my @json;
	foreach my $kind (qw(json records))
	{
		push @json, map { "$kind.lz4hc.$_" } qw(size_vs_lz4 read_vs_lz4 size_vs_pglz read_vs_pglz);
	}
	has_metrics($codecs, @json,
		map { "$_.lz4hc.stored_vs_lz4" } qw(json records sgml md5 random repeated));
	has_bars($codecs, @json);
	foreach my $kind (qw(json records sgml md5 random repeated))
	{
		is(scalar(keys %{ table($codecs, $kind) }), 11, "$kind: the table has every variant");
	}
	# The properties of values that compare() finds, and its estimate of pages, do not depend on the
	# machine.
	has_bars($codecs, map { "$_.compare.estimate" } qw(json records sgml md5 random repeated));
	# The recommended variant depends on times.  The recommended variant may be one that a
	# smoke run does not measure.
	is(scalar(keys %{ table($codecs, 'compare.picks') }),
		6, 'each kind of data has a recommendation');
	foreach my $kind (qw(json records sgml md5 random repeated))
	{
		cmp_ok($codecs->{metrics}{"$kind.compare.estimate"},
			'<=', 1.10, "$kind: the estimate of compare() is right");
	}
	foreach my $panel (
		'JSON, orders of a shop',
		'JSON, measurements of a device',
		"PostgreSQL's manual, SGML")
	{
		my %stored = map { $_ => size($codecs, '', $panel, $_)->{stored} }
		  qw(external extended.lz4 policy.lz4 policy.lz4hc own.zstd own.snappy);

		cmp_ok($stored{'extended.lz4'}, '<', $stored{external} * 0.6, "$panel: lz4 compresses");
		cmp_ok(
			$stored{'policy.lz4hc'}, '<',
			$stored{'policy.lz4'} * 0.97,
			"$panel: lz4hc compresses better");
		cmp_ok($stored{'own.zstd'}, '<', $stored{'policy.lz4hc'},
			"$panel: zstd compresses better still");
		cmp_ok($stored{'own.snappy'}, '<', $stored{external} * 0.6, "$panel: snappy compresses");
	}
}
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_database WHERE datname LIKE 'bench%'"),
	'0', 'the databases of the studies are dropped');

# Report
is( system($bench, 'report', '--results', $results,
		'--html', "$work/report.html", '--markdown', "$work/benchmarks.md"),
	0,
	'bench/run report succeeds');
my $html = slurp_file("$work/report.html");
my @charts = $html =~ /<figure class=/g;
cmp_ok(scalar(@charts), '>=', 5, 'the page has charts of each study');
like($html, qr/policy\.lz4hc/, 'the charts name the variants');
like($html, qr/> error</, 'a chart shows an error');
like(
	slurp_file("$work/benchmarks.md"),
	qr/^\| PLAIN \|.*\| error 54000 \| error 54000 \|$/m,
	'the tables show an error');

# No server
my ($out, $err) = ('', '');
$node->stop;
IPC::Run::run([ $bench, 'toast-chunks', '--running', '--quick' ],
	'<', \undef, '>', \$out, '2>', \$err);
is($?, 1 << 8, 'no server: exit code');
like($err, qr/\Abench\/run: error: lost the server[^\n]*\n\z/, 'no server: one line');

done_testing();
