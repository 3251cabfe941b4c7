# Test tools/soak.  It runs every part once, and runs failed and interrupted parts again.  Results
# do not count if the sources have changed since.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $dir = checkout();
my @git = (
	'git', '-c', 'safe.directory=*', '-c',
	'user.name=Ada Example', '-c', 'user.email=ada@example.org', '-C',
	$dir);
write_file("$dir/tools/pg-versions", "17 17.1 a b c\n18 18.1 a b c\n");
write_file("$dir/tools/feature-list", "alpha\nbeta\n");
write_file("$dir/alpha/Makefile", "EXTENSION = alpha\n");
write_file("$dir/beta/Makefile", "patched := yes\nEXTENSION = beta\n");
write_file("$dir/beta/17/0001-a.patch", '');
write_file("$dir/.gitignore", "/build/\n");
# A script replaces tools/check.  This script records its arguments, and files in build/ tell it
# how to end.
write_file("$dir/tools/check", <<'SH');
#!/bin/bash
echo "$*" >> build/asked
case $* in *"$(cat build/fails 2> /dev/null || echo none)"*) printf '== failed\nsome test\n'; seq 100000; echo '3 passed, 1 failed, 0 skipped'; exit 1 ;; esac
case $* in *"$(cat build/skips 2> /dev/null || echo none)"*) echo '3 passed, 0 failed, 2 skipped'; exit 1 ;; esac
case $* in *"$(cat build/dies 2> /dev/null || echo none)"*) echo 'no such thing'; exit 1 ;; esac
case $* in *"$(cat build/waits 2> /dev/null || echo none)"*) sleep 60 & child=$!; trap 'kill $child; exit 130' TERM; touch build/waiting; wait $child ;; esac
echo '3 passed, 0 failed, 0 skipped'
SH
# Scripts replace the tools of packages.  The first one has nothing to test.
write_file("$dir/tools/check-packages", <<'SH');
#!/bin/bash
echo "packages $*" >> build/asked
echo 'tools/check-packages: no packages' >&2
echo '0 passed, 0 failed, 1 skipped'
SH
write_file("$dir/tools/debs", <<'SH');
#!/bin/bash
echo "${0##*/} $*" >> build/asked
echo '2 passed, 0 failed, 0 skipped'
SH
system_ok('cp', "$dir/tools/debs", "$dir/tools/debs-server");
system_ok('mkdir', '-p', "$dir/build");
system_ok(@git, 'init', '-q');
system_ok(@git, 'add', '-A');
system_ok(@git, 'commit', '-q', '-m', 'All');

# soak(ARG...) - return the exit code, and the calls of tools/check
sub soak
{
	unlink "$dir/build/asked";
	my ($code, $out, $err) = run_tool($dir, 'tools/soak', @_);
	my @asked =
	  -e "$dir/build/asked"
	  ? map { s/--soak //r } split /\n/, read_file("$dir/build/asked")
	  : ();
	return (join(', ', $code, @asked), $out, $err);
}

my $all =
  'tools, --leg 17-dense alpha, --leg 17-dense beta, --leg 17 alpha, --leg 15 alpha, --leg 17-dense bench, --leg 17-dense soak, packages 19, debs trixie, debs-server --major 17';
write_file("$dir/build/fails", '17-dense beta');
my ($done, $out, $err) = soak();
is($done, "1, $all", 'all parts run, also after a failed one');
like(
	$out,
	qr/^17-dense:beta: 3 passed, 1 failed, 0 skipped, 0:00:0\d\n== failed\nsome test\n(\d+\n){38}17:alpha: /m,
	'the output of a failed part names the failed tests');
like($err, qr/^tools\/soak: error: failed: 17-dense:beta$/m, 'the failed part is named at the end');
like(
	$out,
	qr/^packages:19: 0 passed, 0 failed, 1 skipped, 0:00:0\d\ntools\/check-packages: no packages$/m,
	'a part without tests names the reason');
write_file("$dir/build/fails", 'none');
write_file("$dir/build/skips", 'beta');
is( (soak())[0],
	'1, --leg 17-dense beta',
	'only the failed part runs again, and a skipped test that makes tools/check fail is a failure');
write_file("$dir/build/skips", 'none');
write_file("$dir/build/dies", 'beta');
($done, $out) = soak();
is($done, '1, --leg 17-dense beta', 'a failed part runs again until it passes');
like($out, qr/^17-dense:beta: no counts, /m, 'a run without counts is a failure');
write_file("$dir/build/dies", 'none');
is((soak())[0], '0, --leg 17-dense beta', 'it passes');
is((soak())[0], '0', 'nothing is left to run');

# an interrupted run
write_file("$dir/build/waits", '17 alpha');
unlink "$dir/build/asked";
my $pid = start_tool($dir, "$dir/build", 'tools/soak', '--fresh');
for (1 .. 600)
{
	last if -e "$dir/build/waiting";
	select undef, undef, undef, 0.1;
}
kill 'INT', $pid;
waitpid $pid, 0;
is($? >> 8, 130, 'an interrupt gives exit code 130');
like(
	read_file("$dir/build/err"),
	qr/^tools\/soak: error: interrupted; /m,
	'an interrupt is reported');
write_file("$dir/build/waits", 'none');
is( (soak())[0],
	'0, --leg 17 alpha, --leg 15 alpha, --leg 17-dense bench, --leg 17-dense soak, packages 19, debs trixie, debs-server --major 17',
	'the next run continues with the interrupted part');

# another major version, single parts, the summary
($done, $out, $err) = soak('--major', '18', '18:alpha');
is($done, '1, --leg 18 alpha', 'a part of another major version runs');
like($err, qr/not all parts of 18 have passed/,
	'the other parts of that version are still missing');
is( (soak('--major', '18'))[0],
	'0, --leg 18 beta',
	'the other parts run; a feature without a series has no second leg');
soak('--summary', 'build/summary.md');
my $summary = read_file("$dir/build/summary.md");
like(
	$summary,
	qr/^\| 15:alpha \| 3 \| 0 \| 0 \| 0:00:0\d \| 20\d\d-\d\d-\d\d \| [0-9a-f]{10} \|$/m,
	'the summary has a row for a part');
like(
	$summary,
	qr/^\| packages:19 \| 0 \| 0 \| 1 \| /m,
	'the summary has the version of the packages');
like($summary, qr/^\| debs(-server)?:\S+ \| 2 \| 0 \| 0 \| /m, 'the summary has our own packages');
is(scalar(my @rows = $summary =~ /^\| [^|]+:/mg), 10, 'the summary has all parts');

# A part that was not run in this checkout keeps its row in the summary.
write_file("$dir/build/summary.md",
	$summary =~ s/^(\| 15:alpha \| 3 .*) [0-9a-f]{10} \|$/$1 0123456789 |/mr);
unlink "$dir/build/soak/17/15:alpha.result" or die "no result: $!";
soak('--summary', 'build/summary.md');
is( read_file("$dir/build/summary.md") =~ s/ 0123456789 / HEAD /r,
	$summary =~ s/^(\| 15:alpha .*) [0-9a-f]{10} \|$/$1 HEAD |/mr,
	'a part that was not run here keeps its row');
is((soak())[0], '0, --leg 15 alpha', 'a part that was not run here has to run');

# a commit that changes only documents and results of benchmarks
write_file("$dir/doc/soak-17.md", $summary);
write_file("$dir/alpha/README.md", "Alpha\n");
write_file("$dir/bench/results/alpha.json", "{}\n");
system_ok(@git, 'add', '-A');
system_ok(@git, 'commit', '-q', '-m', 'Documents');
is((soak())[0], '0', 'after a commit of documents nothing is run again');

# other sources
write_file("$dir/alpha/alpha.c", "int alpha;\n");
system_ok(@git, 'add', '-A');
system_ok(@git, 'commit', '-q', '-m', 'More');
is((soak())[0], "0, $all", 'after another commit all is run again');
write_file("$dir/alpha/alpha.c", "int beta;\n");
like((soak('15:alpha'))[2], qr/changes that are not committed/, 'uncommitted changes are refused');
is((run_tool($dir, 'tools/soak', '16:alpha'))[0], 2, 'an unknown part is refused');

done_testing();
