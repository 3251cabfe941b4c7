# Test tools/tap-count, and how tools/check counts.  The last line of output must count every test
# once, and must not count a failed test as passed.
use strict;
use warnings FATAL => 'all';

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $dir = checkout();
delete $ENV{TESTDIR};

# [name, test script, passed, failed, skipped, how many of the skipped are excused, what failed]
foreach my $case (
	[ 'passing', 'use Test::More tests => 2; ok 1; ok 1;', 2, 0, 0 ],
	[
		'failing', 'use Test::More tests => 2; ok 1; ok 0, "of two";', 1, 1, 0, 0,
		'test 2 - of two'
	],
	[ 'skipping', 'use Test::More tests => 3; ok 1; SKIP: { skip "why", 2; }', 1, 0, 2 ],
	[ 'skipping all', 'use Test::More skip_all => "why";', 0, 0, 1 ],
	[
		'skipping for want of a mount',
		'use Test::More tests => 4; ok 1; SKIP: { skip "no mount xfs: why", 2; } SKIP: { skip "why, no mount", 1; }',
		1,
		0,
		3,
		2
	],
	[
		'skipping all for want of a mount',
		'use Test::More skip_all => "no mount xfs: why";',
		0, 0, 1, 1
	],
	[
		'planned more', 'use Test::More tests => 2; ok 1;',
		1, 1, 0, 0, 'exit status 255, 1 tests run'
	],
	[ 'dying at once', 'die "at once";', 0, 1, 0, 0, 'exit status 255, 0 tests run' ],
	[
		'that bails out',
		'use Test::More tests => 2; ok 1; BAIL_OUT("no space");',
		1, 1, 0, 0, 'bailed out: no space'
	],
	[ 'dying at the end', 'use Test::More; ok 1; done_testing; exit 3;', 1, 1, 0 ],
	[ 'without output', '', 0, 1, 0 ],
	[
		'known to fail',
		'use Test::More tests => 1; TODO: { local $TODO = "later"; ok 0; }',
		1, 0, 0
	],)
{
	my ($name, $script, @counts) = @$case;
	write_file("$dir/t/a.pl", $script);
	my ($code, $out, $err) = run_tool($dir, 'tools/tap-count', 't/a.pl');
	like(
		$out,
		qr/^# passed $counts[0] failed $counts[1] skipped $counts[2] excused @{[ $counts[3] \/\/ 0 ]}\n\z/m,
		"a test file $name");
	is($code, $counts[1] ? 1 : 0, 'exit code');
	like($out, qr/^# t\/a.pl skipped: no mount xfs: why$/m, 'the reason of the skip')
	  if $counts[3];
	is(join("\n", $out =~ /^# t\/a.pl failed: (.*)$/mg),
		$counts[4], 'the names of the failed tests')
	  if $counts[4];
	unlike($out, qr/ failed: /, 'no failure is named') if !$counts[1];
}

# A test that bails out does not end the tests that run beside it, whose servers nobody would stop.
write_file("$dir/t/a.pl", 'use Test::More; BAIL_OUT("at once");');
write_file("$dir/t/b.pl", 'use Test::More; sleep 2; ok 1; done_testing;');
my ($beside) = (run_tool($dir, 'tools/tap-count', 't/a.pl', 't/b.pl'))[1];
like($beside, qr/^# passed 1 failed 1 skipped 0 excused 0\n\z/m,
	'a test beside one that bails out');
unlink "$dir/t/b.pl";

# If a server does not start, the end of its log is shown.
write_file("$dir/server.log", join('', map { "line $_\n" } 1 .. 30));
write_file(
	"$dir/t/a.pl", q{
	use Test::More;
	open my $log, '>', "$ENV{TESTLOGDIR}/regress_log_a";
	print $log "# pg_ctl start failed; see logfile for details: } . $dir . q{/server.log\n";
	close $log;
	BAIL_OUT("pg_ctl start failed")});
is( join("\n",
		(run_tool($dir, 'env', 'TESTDIR=start', 'tools/tap-count', 't/a.pl'))[1] =~
		  /^# t\/a.pl failed: (.*)$/mg),
	join("\n", 'bailed out: pg_ctl start failed', map { "log: line $_" } 11 .. 30),
	'the log of a server that does not start');

# If a test file dies, the end of its own log is shown.
write_file(
	"$dir/t/a.pl", q{
	use Test::More;
	open my $log, '>', "$ENV{TESTLOGDIR}/regress_log_a";
	print $log map { "line $_\n" } 1 .. 30;
	close $log;
	ok 1;
	exit 29});
is( join("\n",
		(run_tool($dir, 'env', 'TESTDIR=start', 'tools/tap-count', 't/a.pl'))[1] =~
		  /^# t\/a.pl failed: (.*)$/mg),
	join("\n", 'exit status 29, 1 tests run', map { "log: line $_" } 11 .. 30),
	'the log of a test file that dies');

# A process whose parent has ended gets a parent that reaps it at once.
write_file(
	"$dir/t/a.pl", q{
	use POSIX; use Test::More tests => 1;
	pipe my $in, my $out;
	if (!fork)
	{
		my $parent = $$;
		POSIX::_exit(0) if fork;
		1 while getppid == $parent;
		open my $name, '<', '/proc/' . getppid . '/comm';
		syswrite $out, <$name>;
		POSIX::_exit(0);
	}
	close $out;
	is(scalar <$in>, "tini\n", 'parent of an orphan')});
like(
	(run_tool($dir, 'env', '-u', 'PGDENSE_REAPER', 'tools/tap-count', 't/a.pl'))[1],
	qr/^# passed 1 failed 0 /m,
	'orphans have a parent that reaps them');

# Tests in a folder with a file SERIAL get processors before the tests beside them.
write_file("$dir/t/$_/a.pl",
	'use Test::More tests => 1; ok 1; print STDERR "# $0 has priority ", getpriority(0, 0), "\n";')
  foreach qw(alpha bench);
write_file("$dir/t/bench/SERIAL", '');
my $own = getpriority(0, 0);
my ($priorities) =
  (run_tool($dir, 'env', 'TESTDIR=serial', 'tools/tap-count', map { "t/$_/a.pl" } qw(alpha bench)))
  [2];
is( join(' ', sort $priorities =~ /^# (t\/\w+\/a\.pl has priority -?\d+)$/mg),
	join(' ', "t/alpha/a.pl has priority @{[ $own + 5 ]}", "t/bench/a.pl has priority $own"),
	'tests that run one after the other have a higher priority');

# Data directories of tests are in memory, if the machine has a file system in memory.  Tests in a
# folder with a file ON_DISK use the disk.
write_file("$dir/t/$_/a.pl",
	'use Test::More tests => 1; ok 1; print STDERR "# $0 in $ENV{TESTDATADIR}\n";')
  foreach qw(alpha bench wal_directio_patch);
system_ok('cp', "$top/t/$_/ON_DISK", "$dir/t/$_") foreach qw(bench wal_directio_patch);
my @tap = (
	"PGDENSE_MOUNTS=$dir/mounts", 'TESTDIR=disk', 'tools/tap-count',
	map { "t/$_/a.pl" } qw(alpha bench wal_directio_patch));
my ($said) = (run_tool($dir, 'env', @tap))[2];
is( join("\n", sort $said =~ /(t\/.* in .*)/g),
	join("\n", map { "t/$_/a.pl in $dir/disk/$_/tmp_check/a" } qw(alpha bench wal_directio_patch)),
	'without a mount in memory, data directories are on disk');
system_ok('mkdir', '-p', "$dir/mounts/memory");
$said = (run_tool($dir, 'env', @tap))[2];
like(
	join("\n", sort $said =~ /(t\/.* in .*)/g),
	qr{^t/alpha/a.pl in \Q$dir\E/mounts/memory/\w+/alpha/a\nt/bench/a.pl in \Q$dir\E/disk/bench/tmp_check/a\nt/wal_directio_patch/a.pl in \Q$dir\E/disk/wal_directio_patch/tmp_check/a$},
	'with a mount in memory, data directories are there');
is_deeply([ glob("$dir/mounts/memory/*") ], [], 'the mount in memory is empty afterwards');
# A soak run needs more space than there is in memory.
$said = (run_tool($dir, 'env', 'PGDENSE_SOAK=1', @tap))[2];
like(
	$said,
	qr{^# t/alpha/a.pl in \Q$dir\E/disk/alpha/tmp_check/a$}m,
	'data directories of a soak run are on disk');
ok(-d "$dir/disk/alpha/tmp_check/log", 'there is a directory for logs');

# Test the functions that count, on both formats of pg_regress's output (before 16, and since).
my ($functions) = read_file("$top/tools/common.sh") =~ /^(count_regress\(\)\n\{\n.*?^\}\n)/ms;
foreach my $case (
	[
		'15', 0,
		"test one                          ... ok           12 ms\ntest two     ... ok  3 ms\n",
		'2 0'
	],
	[
		'15, failed', 1, "test one      ... ok   12 ms\ntest two     ... FAILED        3 ms\n",
		'1 1'
	],
	[
		'15, parallel', 0,
		"parallel group (2 tests):  a b\n     a    ... ok    1 ms\n     b   ... ok     2 ms\n",
		'2 0'
	],
	[
		'17',
		0,
		"# +++ regress install-check +++\nok 1         - one   12 ms\nok 2         + two   3 ms\n1..2\n",
		'2 0'
	],
	[ '17, failed', 1, "ok 1         - one   12 ms\nnot ok 2     - two   3 ms\n1..2\n", '1 1' ],
	[ 'no server', 2, "psql: error: connection to server failed\n", '0 1' ],)
{
	my ($name, $rc, $log, $counts) = @$case;
	write_file("$dir/regress.log", $log);
	my ($code, $out, $err) = run_tool($dir, 'bash', '-c',
		"set -euo pipefail; passed=0 failed=0\n${functions}count_regress regress.log $rc; echo \$passed \$failed"
	);
	is($out, "$counts\n", "pg_regress $name") or diag $err;
}

# tools/check repeats the failures of a TAP test at the end.
($functions) = read_file("$top/tools/check") =~ /^(failures_of_tap\(\)\n\{\n.*?^\}\n)/ms;
write_file("$dir/tap.log",
	"a.pl ... ok\n\n#   Failed test 'one'\n#     '0'\nb.pl ... ok\n# a.pl skipped: why\n# b.pl failed: test 1 - one\n# passed 0 failed 1 skipped 0 excused 0\n"
);
(my $status, $said) =
  run_tool($dir, 'bash', '-c', "set -euo pipefail\n${functions}failures_of_tap 15 tap.log");
is( $said,
	"15: b.pl failed: test 1 - one\n#   Failed test 'one'\n#     '0'\n",
	'failures of TAP tests are repeated');

# Tests that a file ONE_LEG names run on the first leg, or on the last leg.  They run on other legs
# only if they are named, or in a soak run.
($functions) = read_file("$top/tools/check") =~ /^(for_leg\(\)\n\{\n.*?^\}\n)/ms;
write_file("$dir/t/alpha/ONE_LEG", "why\na.pl\nc.pl last\n");
foreach my $case (
	[ 'the first leg', '17-dense', 'no', '', 'a.pl b.pl ba.pl' ],
	[ 'another leg', '15', 'no', '', 'b.pl ba.pl' ],
	[ 'the last leg', '18-dense', 'no', '', 'b.pl ba.pl c.pl' ],
	[ 'another leg of a soak run', '15', 'yes', '', 'a.pl b.pl ba.pl c.pl' ],
	[ 'another leg and a named test', '15', 'no', 'alpha', 'a.pl b.pl ba.pl c.pl' ])
{
	my ($name, $leg, $soak, $names, $tests) = @$case;
	my ($code, $out, $err) = run_tool($dir, 'bash', '-c',
		"set -euo pipefail; all_legs=(17-dense 15 18-dense) last_leg=18-dense soak=$soak names=($names)\n${functions}printf '%s\\n' t/alpha/{a,b,ba,c}.pl t/beta/a.pl | for_leg $leg"
	);
	is( $out,
		join('', map { "t/alpha/$_\n" } split(/ /, $tests)) . "t/beta/a.pl\n",
		"tests of $name") or diag $err;
}
foreach my $list (glob("$top/t/*/ONE_LEG"))
{
	my ($reason, @names) = split(/\n/, read_file($list));
	is_deeply([ grep { !-f dirname($list) . '/' . s/ last$//r } @names ], [], "$list names tests");
	is_deeply([ grep { read_file(dirname($list) . '/' . s/ last$//r) =~ /\bdivided\(/ } @names ],
		[], "$list names no test whose other half runs on another leg");
}

# An interrupt ends all processes of the tests that run beside others.
($functions) = read_file("$top/tools/check") =~ /^(end_groups\(\)\n\{\n.*?^\}\n)/ms;
($status, $said) = run_tool($dir, 'bash', '-c',
	"$functions setsid sh -c 'sleep 100 & sleep 100' & group=\$!\nsleep 1; end_groups '' \$group\npgrep -r R,S -g \$group; echo ended"
);
is($said, "ended\n", 'an interrupt ends a process group');

# The tests of the benchmarks and of the tools run beside others, one after the other, and are
# counted.
($functions) = read_file("$top/tools/check") =~ /^(# find_tools_tests .*?^\}\n.*?^\}\n.*?^\}\n)/ms;
write_file("$dir/here/tools/tap-count", "#!/bin/sh\necho tap-count \"\$VARIABLE\" \"\$@\"\n");
chmod 0755, "$dir/here/tools/tap-count";
($status, $said) = run_tool($dir, 'bash', '-c', <<"SCRIPT");
set -euo pipefail
beside='' ran_beside=no top=here checks=checks logs=. test_environment=(VARIABLE='two words')
tests_of() { echo "\$1/one test.pl"; }
prepare_checks() { :; }
make_dir() { :; }
set_harness() { harness=(sh -c 'sleep 1; echo "\$@"; exit 1' sh harness "\$1"); }
count_tap() { echo "count \$1: \$(cat "\$2")"; }
$functions
begin_beside 17-dense config
echo started
end_beside 17-dense
echo "\$ran_beside \${#beside}"
SCRIPT
is($said, <<'OUTPUT', 'tests beside others');
== 17-dense-bench, tools: TAP, beside the other tests
started
== 17-dense-bench: TAP
harness 17-dense-bench t/bench/one test.pl
count 17-dense-bench: harness 17-dense-bench t/bench/one test.pl
== tools: TAP
tap-count two words t/tools/one test.pl
count tools: tap-count two words t/tools/one test.pl
yes 0
OUTPUT

# A run that ends before its first test counts as failed, and its last line shows a
# failure.
write_file("$dir/tools/deps", "#!/bin/sh\nexit 1\n");
my ($code, $out, $err) = run_tool($dir, 'tools/check');
isnt($code, 0, 'a run without packages fails');
is($out, "0 passed, 1 failed, 0 skipped\n", 'the failed run is counted');

done_testing();
