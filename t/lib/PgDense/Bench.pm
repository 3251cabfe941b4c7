# PgDense::Bench - functions that the tests of bench/run share
#
# The functions run a study, in this checkout or in a checkout where another server replaces the
# patched server.  The functions check that a run that fails prints one line and leaves nothing
# behind.  They also check that a result contains all mandatory parts.
package PgDense::Bench;

use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use Exporter 'import';
use File::Basename qw(dirname);
use IPC::Run       ();
use JSON::PP       ();
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT =
  qw($top $work $major needs_python bench python fails_like checkout read_result is_sound bars_said no_instances);

our $top = $ENV{PGDENSE_TOP} || abs_path(dirname(__FILE__) . '/../../..');
our $work;
# The major version that a study measures by default
our ($major) = slurp_file("$top/tools/pg-versions") =~ /^(\d+) /m;

# PostgreSQL::Test::Utils makes the directory for tempdir() in an INIT block.  So use an INIT block
# here too, which runs later.
INIT
{
	$work = PostgreSQL::Test::Utils::tempdir();
	$ENV{PGDENSE_BENCH_DIR} = "$work/bench";
}

# Skip all tests if a Python module of bench/run is missing.
sub needs_python
{
	my ($missing) = `$top/bench/run --help` =~ /(Python module .* is not installed)/;

	plan skip_all => $missing if $missing;
	return;
}

# Run bench/run of a checkout, and return its exit code, stdout and stderr.
sub bench
{
	my ($checkout, @arguments) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run([ "$checkout/bench/run", @arguments ], '<', \undef, '>', \$out, '2>', \$err);
	return ($? & 127 ? 128 + ($? & 127) : $? >> 8, $out, $err);
}

# Run Python code with the modules of bench/run, and return its output without the line's end.
sub python
{
	my ($code, @arguments) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run(
		[
			'/usr/bin/python3', '-B', '-c', "import sys\nsys.path.insert(0, sys.argv[1])\n$code",
			$top, @arguments
		],
		'>',
		\$out,
		'2>',
		\$err);
	diag($err) if $err;
	return $out =~ s/\s+\z//r;
}

sub no_instances
{
	my ($checkout, $title) = @_;

	is_deeply([ map { s/.*\///r } glob("$checkout/build/cluster/bench-*") ],
		[], "$title: no instance is left");
	return;
}

# Run bench/run, and check that it fails with one line that matches PATTERN, and leaves no instance
# running.
sub fails_like
{
	my ($checkout, $arguments, $pattern, $title, $expected) = @_;
	my ($code, $out, $err) = bench($checkout, @$arguments);

	is($code, $expected // 1, "$title: exit code");
	like($err, qr/\A\n?bench\/run: error: [^\n]*$pattern[^\n]*\n\z/, "$title: one line")
	  or diag($out);
	no_instances($checkout, $title);
	return;
}

# Make a checkout in which another server takes the place of the patched one.
sub checkout
{
	my ($dir, $server) = @_;

	foreach my $command (
		[ 'mkdir', '-p', "$dir/build/$major" ],
		[ 'cp', '-R', "$top/bench", "$top/tools", $dir ],
		[ 'ln', '-s', $server, "$dir/build/$major/dense" ])
	{
		system(@$command) == 0 or BAIL_OUT("failed: @$command");
	}
	return $dir;
}

sub read_result
{
	my ($file) = @_;

	return JSON::PP::decode_json(slurp_file($file));
}

# Check that the result of a smoke run has all mandatory parts, the given metrics, and intervals for
# the metrics of time.
sub is_sound
{
	my ($result, $study, $metrics, $timed, @environment) = @_;

	is($result->{study}, $study, 'the result names its study');
	ok($result->{quick}, 'a smoke run says so');
	foreach my $name (qw(host kernel server settings seed date command), @environment)
	{
		ok(defined $result->{environment}{$name}, "the environment has $name");
	}
	is($result->{environment}{major}, $major, 'and names the major version');
	is_deeply([ grep { !exists $result->{metrics}{$_} } @$metrics ], [], 'metrics');
	is_deeply([ grep { ref $_ || $_ !~ /^[-+\d.eE]+$/ } values %{ $result->{metrics} } ],
		[], 'metrics are numbers');
	is_deeply([ grep { !exists $result->{intervals}{$_} } @$timed ], [], 'times have an interval');
	return;
}

# Return the verdict for each metric that has a bar (a promised value), and check that the table of
# bars has the same verdicts.
sub bars_said
{
	my ($result) = @_;
	my ($shown) = grep { $_->{name} eq 'bars' } @{ $result->{tables} };
	my @said =
	  map { ($_->{metric} => $_->{kept} ? 'met' : $_->{goal} ? 'missed (a goal)' : 'missed') }
	  @{ $result->{bars} };

	is_deeply([ map { @$_[ 1, 4 ] } @{ $shown->{rows} } ],
		\@said, "$result->{study}: the table of bars");
	return @said;
}

1;
