# Check that a test that does not fit its server is skipped, and that on a server with patches, a
# skipped test makes tools/check fail.  A server that is built in this checkout must have the
# patches of every existing series.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $dir = checkout();
my $base = "$dir/build";

# server(MAJOR, VARIANT, HAS THE PARAMETER) - make programs that look to the tests like those of a
# server, and return their directory
sub server
{
	my ($major, $variant, $has) = @_;
	my $bin = "$base/$major/$variant/bin";

	write_file("$bin/pg_config",
		"#!/bin/sh\ncase \$1 in --version) echo PostgreSQL $major.1;; *) echo $bin;; esac\n");
	write_file("$bin/postgres",
		"#!/bin/sh\necho 'other\ta'\n" . ($has ? "echo 'the_switch\tb'\n" : ''));
	chmod 0755, "$bin/pg_config", "$bin/postgres";
	return $bin;
}

sub counts
{
	my ($bin, $script) = @_;
	local $ENV{PATH} = "$bin:$ENV{PATH}";
	local $ENV{PGDENSE_TOP} = $dir;
	local $ENV{PERL5LIB} = "$top/t/lib";

	write_file("$dir/t/alpha/a.pl",
		"use strict; use warnings; use PgDense::Patch; use Test::More;\n$script\ndone_testing();\n"
	);
	my ($code, $out, $err) = run_tool($dir, 'tools/tap-count', 't/alpha/a.pl');
	return $out =~ /^# passed (\d+) failed (\d+) skipped (\d+) excused (\d+)$/m
	  ? "$1 $2 $3 $4"
	  : "$out$err";
}

delete @ENV{qw(PGDENSE_CORE_TESTS TESTDIR)};
write_file("$dir/alpha/17/0001-a.patch", '');
my $needs = "needs_patch('alpha', 'the_switch'); ok(1);";
my $core = 'my $dir = core_tests(); like($dir, qr/regress/);';
my %bin =
  map { my ($major, $variant, $has) = @$_; ("$major $variant" => server(@$_)) }[ 17, 'dense', 1 ],
  [ 17, 'cassert', 0 ], [ 17, 'stock', 0 ], [ 19, 'dense', 0 ], [ 17, 'far/away', 1 ];

# Compare the counts of passed, failed, skipped and excused tests.
is(counts($bin{'17 dense'}, $needs), '1 0 0 0', 'a test runs on a server with the patch');
is(counts($bin{'17 far/away'}, $needs),
	'1 0 0 0', 'a test runs on a server elsewhere with the patch');
is(counts($bin{'17 stock'}, $needs), '0 0 1 0', 'a test is skipped on a stock server');
is(counts($bin{'17 cassert'}, $needs),
	'0 1 0 0', 'a test fails on a server built here that lacks the patch');
is(counts($bin{'19 dense'}, $needs),
	'0 0 1 0', 'a test is skipped on a major version without a series');
write_file("$dir/beta/19/0001-a.patch", '');
is(counts($bin{'19 dense'}, $needs),
	'0 1 0 0', 'a test fails on a major version with a series of another feature only');
unlink "$dir/beta/19/0001-a.patch";

write_file("$base/$_/src/test/regress/regress.so", '') for '17/obj/dense', '19/obj/stock';
chmod 0755, map { "$base/$_/src/test/regress/regress.so" } '17/obj/dense', '19/obj/stock';
is(counts($bin{'17 dense'}, $core),
	'2 0 0 0', 'the regression tests of a server built here are found');
is(counts($bin{'19 dense'}, $core), '2 0 0 0', 'the regression tests of stock serve for dense');
is(counts($bin{'17 cassert'}, $core),
	'0 1 0 0', 'a build tree without the regression tests is a failure');
is(counts($bin{'17 stock'}, $core), '0 0 1 0',
	'the regression tests are skipped on a stock server');
is(counts($bin{'17 far/away'}, $core),
	'0 0 1 0', 'the regression tests are skipped on a server built elsewhere');
{
	local $ENV{PGDENSE_CORE_TESTS} = "$base/17/obj/dense/src/test/regress";
	is(counts($bin{'17 far/away'}, $core),
		'2 0 0 0', 'the regression tests of a server elsewhere are found by their variable');
	local $ENV{PGDENSE_CORE_TESTS} = $base;
	is(counts($bin{'17 dense'}, $core),
		'0 1 0 0', 'a wrong path of the regression tests is a failure');
}

# the legs (the servers to test with), as tools/check lists them
my ($legs) = read_file("$top/tools/check") =~ /^(leg_of\(\)\n\{\n.*?^all_legs=[^\n]*\n)/ms;
my $fields = join ' ', ('a', 'b', 'c', 'd');
write_file("$dir/tools/pg-versions", "# MAJOR\n17 $fields\n18 $fields\n19 $fields\n");
write_file("$dir/tools/feature-list", "# order\nbeta\nalpha\n");

sub legs
{
	my ($code, $out, $err) = run_tool($dir, 'bash', '-c',
		"set -euo pipefail; . tools/common.sh; names=()\n$legs echo \${all_legs[*]}; patched_features 18; config_of \${all_legs[2]}"
	);
	return $out . $err;
}
is( legs(),
	"17-dense 15 18 19\n$dir/build/18/stock/bin/pg_config\n",
	'a leg for each major version, by its series');
write_file("$dir/alpha/18/0001-a.patch", '');
write_file("$dir/beta/18/0001-a.patch", '');
is( legs(),
	"17-dense 15 18-dense 19\nbeta\nalpha\n$dir/build/18/dense/bin/pg_config\n",
	'an added series changes a leg to a patched one');

# Check which tests tools/check selects.
write_file("$dir/$_", '')
  foreach
  qw(t/alpha/a.pl t/alpha/b.pl t/beta/a.pl t/tools/a.pl sql/alpha.sql sql/alpha_c.sql specs/beta.spec);

sub tests
{
	my (@names) = @_;
	my $find = join '; ', map { "tests_of $_" } 't/alpha *.pl alpha', 't/beta *.pl beta',
	  't/tools *.pl tools', 'sql alpha*.sql alpha', 'specs beta*.spec beta', 't/none *.pl none';
	my ($code, $out, $err) = run_tool($dir, 'bash', '-c',
		"set -euo pipefail; . tools/common.sh; names=(@names)\n$legs $find; chosen patches && echo patches; needs_legs && echo legs || true"
	);
	return join(' ', map { s/^\Q$dir\E\///r } split /\n/, $out) . $err;
}
is( tests(),
	't/alpha/a.pl t/alpha/b.pl t/beta/a.pl t/tools/a.pl sql/alpha.sql sql/alpha_c.sql specs/beta.spec patches legs',
	'without arguments, all tests are selected');
is( tests('alpha'),
	't/alpha/a.pl t/alpha/b.pl sql/alpha.sql sql/alpha_c.sql legs',
	'the tests of a feature are selected');
is( tests('t/alpha/b.pl', './specs/beta.spec', "$dir/sql/alpha.sql"),
	't/alpha/b.pl sql/alpha.sql specs/beta.spec legs',
	'single tests are selected');
is(tests('tools', 'patches'), 't/tools/a.pl patches', 'tests that need no server are selected');
is(tests('t/tools/a.pl'), 't/tools/a.pl', 'a single test of the tools is selected');

# the legs that may skip tests
my ($function) = read_file("$top/tools/check") =~ /^(may_skip\(\)\n\{\n.*?^\}\n)/ms;
for my $leg ([ '17-dense', 1 ], [ '18-dense', 1 ], [ 15, 0 ], [ 18, 0 ], [ '17-ubsan', 1 ])
{
	is((run_tool($dir, 'bash', '-c', "${function}may_skip $leg->[0]"))[0],
		$leg->[1], "leg $leg->[0] may " . ($leg->[1] ? 'not skip' : 'skip'));
}

done_testing();
