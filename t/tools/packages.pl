# Test tools/check-packages.  If it cannot work on a machine, it must name the reason in one line,
# and count as skipped.  An interrupt must leave nothing behind, and the next run must make the
# chroot again.  The tool must count the results of the tests in the chroot.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $dir = checkout();
write_file("$dir/tools/pg-versions", "17 17.1 a b c\n");
write_file("$dir/tools/feature-list", "alpha\n");
write_file("$dir/alpha/Makefile", "EXTENSION = alpha\n");

# is_skipped([CODE, STDOUT, STDERR], PATTERN, NAME)
sub is_skipped
{
	my ($result, $pattern, $name) = @_;
	my ($code, $out, $err) = @$result;
	subtest $name => sub {
		is($code, 0, 'exit code');
		is($out, "0 passed, 0 failed, 1 skipped\n", 'counts');
		my @reasons = $err =~ /^tools\/check-packages: skipped: (.*)$/mg;
		is(scalar(@reasons), 1, 'the reason is one line') or diag $err;
		like($reasons[0] // '', $pattern, 'why');
	};
}

local $ENV{PATH} = "$dir/bin:$ENV{PATH}";

is_skipped(
	[ run_tool($dir, 'tools/run-unprivileged', 'tools/check-packages', '19') ],
	qr/^it takes root to make a chroot$/,
	'without root');
SKIP:
{
	skip 'it takes root', 7 if $> != 0;

	# Provide only the programs that tools/check-packages needs before it looks for the other
	# programs.
	foreach my $name (qw(bash awk basename cat dirname id sed wc))
	{
		my ($path) = grep { -x } map { "$_/$name" } split(/:/, $ENV{PATH});
		mkdir "$dir/few";
		symlink $path, "$dir/few/$name";
	}
	write_program("$dir/bin/apt-get", '');
	write_program("$dir/bin/apt-cache", '');
	symlink "$dir/bin/$_", "$dir/few/$_" for qw(apt-get apt-cache);
	{
		local $ENV{PATH} = "$dir/few";
		is_skipped(
			[ run_tool($dir, 'tools/check-packages', '19') ],
			qr/^"debootstrap" was not found, run tools\/deps test$/,
			'without debootstrap');
	}

	write_program("$dir/bin/debootstrap", 'exit 1');
	write_program("$dir/bin/unshare", 'exit 1');
	is_skipped(
		[ run_tool($dir, 'tools/check-packages', '19') ],
		qr/^no namespaces of mounts and of processes can be made here$/,
		'without namespaces');
	unlink "$dir/bin/unshare";

	skip 'no namespaces here', 5 if !can_mount();
	is_skipped(
		[ run_tool($dir, 'tools/check-packages', '19') ],
		qr/^apt has no lists of a mirror of Debian/,
		'without a mirror');

	skip 'no keyring of Debian here', 4 if !-f '/usr/share/keyrings/debian-archive-keyring.gpg';
	my $indextargets = <<'SH';
case "$*" in
	*indextargets*) printf 'http://localhost:9/%s\n' 'other/ Other' 'backports/ Debian Backports' 'debian/ Debian' 'more/ Debian'; exit ;;
esac
SH
	write_program("$dir/bin/apt-get",
		"${indextargets}echo 'E: Failed to fetch http://localhost:9/debian'\nexit 100\n");
	is_skipped(
		[ run_tool($dir, 'tools/check-packages', '19') ],
		qr/^no package lists of unstable and experimental: Failed to fetch http:\/\/localhost:9\/debian$/,
		'it is skipped without a network');
	like(
		read_file("$dir/build/packages/apt/19/sources.list"),
		qr/^deb \[signed-by=\S+\] http:\/\/localhost:9\/debian\/ unstable main\ndeb \[signed-by=\S+\] http:\/\/localhost:9\/debian\/ experimental main$/,
		"the mirror is the one of the machine's apt");

	write_program("$dir/bin/apt-get", $indextargets);
	write_program("$dir/bin/apt-cache",
		"printf 'postgresql-19:\\n  Installed: (none)\\n  Candidate: (none)\\n'");
	is_skipped(
		[ run_tool($dir, 'tools/check-packages', '19') ],
		qr/^neither unstable nor experimental has a package postgresql-19$/,
		'without packages');

	write_program("$dir/bin/apt-cache",
		"printf 'postgresql-19:\\n  Installed: (none)\\n  Candidate: 19~rc1-1\\n'");
	write_program("$dir/bin/debootstrap",
		"echo 'E: Failed getting release file http://localhost:9/debian'\nexit 1\n");
	my ($code, $out, $err) = run_tool($dir, 'tools/check-packages', '19');
	is($code, 0, 'it fails if packages are not available');
	is($out, "0 passed, 0 failed, 1 skipped\n", 'counts');
	like(
		$err,
		qr/^tools\/check-packages: skipped: packages are not to be had: Failed getting release file /m,
		'why');

	# Interrupt a run that has mounted a file system, and that has started a process in a new
	# session.
	write_program("$dir/bin/debootstrap", <<'SH');
for target; do case $target in /*/build/packages/19) break ;; esac; done
test ! -e "$target" || echo again > "$target.again"
mkdir -p "$target/proc"
mount -t proc proc "$target/proc"
setsid sleep 271828 &
echo $$ > "$target/pid"
touch "$target/waiting"
wait
SH
	foreach my $run (1, 2)
	{
		unlink "$dir/build/packages/19/waiting";
		my $pid = start_tool($dir, $dir, 'tools/check-packages', '19');
		wait_until(sub { -e "$dir/build/packages/19/waiting" && sleepers() });
		ok(-e "$dir/build/packages/19/waiting", "run $run: the chroot is being built");
		is(scalar(sleepers()), 1, "run $run: debootstrap has a process in its own session");
		kill $run == 1 ? 'INT' : 'TERM', $pid;
		waitpid $pid, 0;
		is($? >> 8, 130, 'an interrupt gives exit code 130');
		like(
			read_file("$dir/err"),
			qr/^tools\/check-packages: error: interrupted$/m,
			'an interrupt is reported');
		is(read_file("$dir/out"), "0 passed, 1 failed, 0 skipped\n", 'counts');
		# When the first process of a namespace has ended, the kernel ends the other processes soon
		# after.
		wait_until(sub { !sleepers() });
		is(scalar(sleepers()), 0, 'no process is left');
		is( scalar(grep { index($_, "$dir/") >= 0 } split /\n/, read_file('/proc/self/mountinfo')),
			0,
			'no mount is left');
	}
	ok(!-e "$dir/build/packages/19.again", 'the next run deletes the unfinished chroot');
	is((stat("$dir/build/packages"))[2] & 07777, 0700, 'other accounts cannot reach the chroot');

	# From now on, the tests in the chroot print the file "said".
	my $root = "$dir/build/packages/19";
	write_program("$dir/bin/unshare", <<"SH");
case "\$*" in
	*debootstrap*) mkdir -p '$root' && cd '$root' && mkdir -p etc/apt/apt.conf.d etc/apt/preferences.d etc/dpkg/dpkg.cfg.d usr/sbin srv && touch etc/passwd ;;
	*initdb*) cat '$dir/said' ;;
esac
SH
	write_file("$dir/$_", '')
	  foreach 'bundle.mk', 'bundle_compat.h', 'sql/alpha.sql', 'expected/alpha.out',
	  'specs/alpha.spec';
	my $regress =
	  "== alpha, regress\nok 1         - alpha    9 ms\nok 2         - alpha_b    9 ms\n== status 0\n";
	my $isolation = "== alpha, isolation\nok 1         - alpha    9 ms\n== status 0\n";
	foreach my $case (
		[ 'all pass', $regress . $isolation, 0, '3 passed, 0 failed' ],
		[
			'one fails', ($regress =~ s/ok 2/not ok 2/r =~ s/status 0/status 1/r) . $isolation,
			1, '2 passed, 1 failed'
		],
		[
			'one kind ends early',
			$regress . ($isolation =~ s/status 0/status 1/r),
			1, '3 passed, 1 failed'
		],
		[
			'one kind has no end',
			$regress . ($isolation =~ s/== status 0\n//r),
			1, '3 passed, 1 failed'
		],
		[ 'one kind is missing', $regress, 1, '2 passed, 1 failed' ],
		[ 'nothing is said', '', 1, '0 passed, 2 failed' ])
	{
		my ($name, $said, $expected, $counts) = @$case;
		write_file("$dir/said", $said);
		($code, $out, $err) = run_tool($dir, 'tools/check-packages', '19');
		is($code, $expected, "$name: exit code") or diag $err;
		like($out, qr/^$counts, 0 skipped\n\z/m, 'counts') or diag $out;
	}
}

# Wait until a condition is true, at most for a minute.
sub wait_until
{
	my ($code) = @_;

	for (1 .. 600)
	{
		return if $code->();
		select undef, undef, undef, 0.1;
	}
}

# Return the processes that debootstrap has left running.
sub sleepers
{
	my @found;

	foreach my $process (glob('/proc/[0-9]*'))
	{
		open my $file, '<', "$process/cmdline" or next;
		push @found, $process if (readline($file) // '') eq "sleep\x{0}271828\x{0}";
	}
	return @found;
}

done_testing();
