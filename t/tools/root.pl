# Test what the tools and bench/run do as root in directories of the account that runs
# the servers.  A process of that account may have put links there.  No file behind a
# link may be given to the account, read by root for the account, overwritten or
# removed.
use strict;
use warnings FATAL => 'all';

use Fcntl qw(S_ISDIR);
use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

plan skip_all => 'only root has anything to lose here' if $> != 0;

my $dir = checkout();
my $account = getpwnam('nobody');
my $other = getpwnam('daemon');
my $secret = 'what only root may read';

# At the end, unmount the file systems that a tool may have mounted by mistake.
END
{
	my $rc = $?;
	system("awk '\$5 ~ \"^$dir/\" { print \$5 }' /proc/self/mountinfo | tac | xargs -r -n 1 umount")
	  if defined $dir;
	$? = $rc;
}

# files of root: one that no other account can read, and a directory that no other
# account can enter
my $victim = "$dir/victim";
my $folder = "$dir/folder";

sub make_victims
{
	unlink $victim;
	system_ok('rm', '-rf', $folder);
	write_file($victim, $secret);
	chmod 0600, $victim;
	write_file("$folder/image", $secret);
	chmod 0700, $folder;
}

sub are_unharmed
{
	my ($title) = @_;
	my @all;

	foreach my $path ($victim, $folder, "$folder/image")
	{
		my ($mode, $links, $uid) = (lstat $path)[ 2 .. 4 ];
		my $content = defined $mode && !S_ISDIR($mode) ? ' ' . read_file($path) : '';
		push @all, defined $mode ? sprintf('%04o %d%s', $mode & 07777, $uid, $content) : 'gone';
	}
	is_deeply(
		\@all,
		[ "0600 0 $secret", '0700 0', "0644 0 $secret" ],
		"$title: files of root are unchanged") or diag explain \@all;
	is_deeply([ glob "$folder/*" ],
		["$folder/image"], "$title: no file is added to directories of root");
}

# as_account(COMMAND...) - run COMMAND like another process of the account that runs the
# servers
sub as_account
{
	my ($code, $out, $err) =
	  run_tool($dir, 'setpriv', '--reuid', $account, '--regid', $account, '--clear-groups', @_);
	die "@_: $err" if $code != 0;
}

# their_folder(PATH[, UID]) - make an empty directory of the account
sub their_folder
{
	my ($path, $uid) = @_;
	system_ok('rm', '-rf', $path);
	system_ok('mkdir', '-p', $path);
	chown $uid // $account, -1, $path;
}

make_victims();

## directories that are given to the account

their_folder("$dir/build/cluster", $other);
# A kernel with fs.protected_hardlinks = 0 lets any account make such a hard link.
link $victim, "$dir/build/cluster/link" or die $!;
is_clear_error(
	[ run_tool($dir, 'tools/cluster', 'remove', 'a') ],
	qr{"\Q$dir\E/build/cluster" belongs to account "daemon", not to "nobody"},
	'instances of a third account are refused');
are_unharmed('a link in its directory');
{
	local $ENV{PGDENSE_ACCOUNT} = 'daemon';
	is((run_tool($dir, 'tools/cluster', 'remove', 'a'))[0],
		0, 'an instance can be removed if the account is named');
}

system_ok('rm', '-rf', "$dir/build/cluster", "$dir/build/home");
system_ok('mkdir', '-p', "$dir/build/cluster/mine");
is((run_tool($dir, 'tools/cluster', 'remove', 'a'))[0],
	0, 'remove succeeds in a directory made by root');
is((stat "$dir/build/cluster")[4], $account, 'the directory is given to the account');
is((stat "$dir/build/cluster/mine")[4], 0, 'files in the directory stay with root');

system_ok('rm', '-rf', "$dir/build/home");
symlink $folder, "$dir/build/home";
is_clear_error(
	[ run_tool($dir, 'tools/run-unprivileged', 'true') ],
	qr{"\Q$dir\E/build/home" belongs to account "root", not to "nobody"},
	'a link in place of build/home is refused');
are_unharmed('build/home');
unlink "$dir/build/home";

foreach my $account ('no-such-account', 'root', "--reference=$victim", 'daemon:root')
{
	local $ENV{PGDENSE_ACCOUNT} = $account;
	foreach my $command (
		[ 'tools/cluster', 'start', 'a', '--bin', '/bin' ],
		[ 'tools/cluster', 'env', 'a' ],
		[ 'tools/mounts', 'create' ],
		['tools/check'], [ 'tools/run-unprivileged', 'true' ])
	{
		# Make a program and a data directory that the tool takes for a server.
		my @command = map { $_ eq '/bin' ? "$dir/bin" : $_ } @$command;
		write_file("$dir/bin/postgres", '');
		chmod 0755, "$dir/bin/postgres";
		their_folder("$dir/build/cluster/a");
		is_clear_error(
			[ run_tool($dir, @command) ],
			qr/error: account "\Q$account\E" (?:does not exist|has root's user id)/,
			"PGDENSE_ACCOUNT=$account " . join(' ', grep { !m{^/} } @$command));
	}
}

## files that are read for the account

their_folder("$dir/build/cluster");
their_folder("$dir/build/cluster/a");
as_account('ln', '-s', $victim, "$dir/build/cluster/a/env");
my ($code, $out, $err) = run_tool($dir, 'tools/cluster', 'env', 'a');
isnt($code, 0, 'a link in place of the settings of an instance is refused');
unlike($out . $err, qr/\Q$secret\E/, 'the file behind the link is not read');

## copies of sources that another account owns

write_file("$dir/alpha/Makefile", "all install:\n");
write_file("$dir/alpha/alpha.c", '');
system_ok('chmod', '-R', 'a+w', "$dir/alpha");
system_ok('chown', '-R', $other, "$dir/alpha");
write_file("$dir/tools/feature-list", "alpha\n");
write_file("$dir/$_", '') foreach 'bundle.mk', 'bundle_compat.h';
write_file("$dir/bin/pg_config", "#!/bin/sh\necho '$dir/bundle.mk'\n");
chmod 0755, "$dir/bin/pg_config";
($code, $out, $err) = run_tool($dir, 'tools/extensions', 'bin/pg_config', 'build/extensions');
is($code, 0, 'the build of an extension succeeds') or diag $err;
ok(-e "$dir/build/extensions/alpha/alpha.c", 'the extension is built from a copy');
is(`find '$dir/build/extensions' ! -user 0 -o -perm /0022`, '', 'only root can change the copy');

## tools/check, whose tests run as that account

foreach my $stub ('deps', 'server', 'distribution-15', 'patches', 'extensions', 'mounts')
{
	write_file("$dir/tools/$stub", "#!/bin/sh\n");
}
write_file("$dir/tools/cluster", <<"SCRIPT");
#!/bin/sh
case \$1 in
	env) echo PGHOST=nowhere ;;
	start)
		leg=\${2#check-}
		cd '$dir/build/check'
		for log in \$leg/alpha.regress.log \$leg/tap.log log/\$leg.alpha.regress.log log/\$leg.tap.log; do
			setpriv --reuid $account --regid $account --clear-groups ln -s '$victim' \$log 2> /dev/null
		done ;;
esac
exit 0
SCRIPT
write_file("$dir/tools/feature-list", "alpha\nbeta\n");
# Makefiles whose test fails: one makes a link in place of the file of differences, and the other
# makes a real file of differences
write_file("$dir/alpha/Makefile", <<"MAKEFILE");
EXTENSION = alpha
installcheck:
	\@ln -s '$folder/image' regression.diffs
	\@echo 'not ok 1         - alpha   1 ms'; exit 1
MAKEFILE
write_file("$dir/beta/Makefile", <<'MAKEFILE');
EXTENSION = beta
installcheck:
	@echo 'what differs' > regression.diffs
	@echo 'not ok 1         - beta   1 ms'; exit 1
MAKEFILE
mkdir "$dir/specs";
write_file("$dir/$_", '') foreach 'alpha/17/0001-a.patch', 'sql/alpha.sql', 'sql/beta.sql';
write_file("$dir/t/alpha/a.pl", "use Test::More tests => 1;\nok 1;\n");
foreach my $bin ("$dir/build/17/dense/bin", "$dir/build/18/stock/bin",
	"$dir/build/15/stock/lib/postgresql/15/bin")
{
	write_file("$bin/pg_config", "#!/bin/sh\necho '$bin'\n");
	chmod 0755, "$bin/pg_config";
}
($code, $out, $err) = run_tool($dir, 'tools/check');
like(
	$out,
	qr/^\d passed, [1-9] failed, \d skipped\n\z/m,
	'tools/check fails with links in place of logs') or diag $err;
like($out, qr/^ok 1 - |t\/alpha\/a\.pl \.* *ok/m, 'tools/check runs the tests') or diag $out;
like($out, qr/^what differs$/m, 'tools/check shows the differences of a failed test');
unlike($out . $err, qr/\Q$secret\E/, 'tools/check shows no file behind a link');
are_unharmed('tools/check');

## bench/run

SKIP:
{
	my ($missing) =
	  (run_tool($top, 'bench/run', '--help'))[1] =~ /(Python module .* is not installed)/;
	skip "bench/run cannot run: $missing", 1 if $missing;

	system_ok('cp', '-a', "$top/bench", $dir);
	my $python = sub {
		my ($code, @arguments) = @_;
		return run_tool($dir, 'timeout', '20', '/usr/bin/python3', '-B', '-c',
			"import sys\nfrom pathlib import Path\nsys.path.insert(0, '.')\n$code", @arguments);
	};

	# the loop device of "bench/run wal"
	my $device = 'from bench.lib import loopdevice
try:
    device = loopdevice.create(Path(sys.argv[1]), 8)
    print(device.directory.stat().st_uid)
    device.remove()
except loopdevice.NoDevice as reason:
    print(f"none: {reason}")';
	foreach my $planted (['device'], [ 'device/image', 'device' ])
	{
		my ($link, $made) = @$planted;

		make_victims();
		their_folder("$dir/build/cluster");
		as_account('mkdir', "$dir/build/cluster/$made") if $made;
		as_account('ln', '-s', $made ? $victim : $folder, "$dir/build/cluster/$link");
		($code, $out, $err) = $python->($device, "$dir/build/cluster/device");
		like(
			$out,
			qr/^none: another account can write to/,
			"no loop device is made where an account has put $link") or diag $err;
		are_unharmed($link);
	}
	($code, $out, $err) = $python->($device, "$dir/build/device");
	like(
		$out,
		qr/^(?:$account|none: (?:losetup|mount|could not).*)$/,
		'a loop device is made in a private directory') or diag $err;
	ok(!-e "$dir/build/device", 'the loop device is removed');
	($code, $out, $err) = $python->(
		'from bench.lib.paths import CLUSTERS, DEVICE; print(DEVICE.is_relative_to(CLUSTERS))');
	is($out, "False\n", 'the loop device of "bench/run wal" is outside the instances');

	# the files that bench/run reads in a data directory
	their_folder("$dir/build/cluster");
	as_account('mkdir', "$dir/build/cluster/sub");
	as_account('sh', '-c',
		'yes | head -c 20000 > "$1/sub/file"; mkfifo "$1/pipe"; ln -s "$2" "$1/link"',
		'sh', "$dir/build/cluster", "$folder/image");
	($code, $out, $err) = $python->(
		'from bench.lib import cgroup, pagecache
where = Path(sys.argv[1])
cgroup.evict(where)
print(pagecache.size_below(where), pagecache.resident_below(where) in range(0, 24577), pagecache.size_below(where / "none"))',
		"$dir/build/cluster");
	is( "$code $out",
		"0 20000 True 0\n",
		'a pipe and a link among the files of an instance are not read') or diag $err;
	($code, $out, $err) = $python->(
		'from bench.wal.variants import written_unit
for name in ("pipe", "link"):
    try:
        print(written_unit(Path(sys.argv[1]) / name))
    except OSError:
        print("not read")', "$dir/build/cluster");
	is("$code $out", "0 not read\nnot read\n", 'a pipe and a link in place of a log are not read')
	  or diag $err;

	# The read-ahead of the device must be restored, even if a study is killed or interrupted.  At
	# the latest, the next study restores it.
	my $ahead = sub {
		my ($code) = @_;
		my (undef, $out, $err) = $python->(
			"import os
from bench.lib import cgroup, device
from bench.lib.session import session
disk = device.block_device(Path('.'))
now = lambda: print(device.read_ahead(disk))
$code");
		return $out . ($err =~ s/.*\n(?=.)//sr);
	};
	my $before = $ahead->('now()') =~ s/\n//r;
	my $can = $ahead->("device._set_read_ahead(disk, 256)\nnow()") eq "256\n";
	diag "no read-ahead can be set here: $before" if !$can;
	my ($reduced, $restored) = $can ? ("128\n", "256\n") : ("$before\n", "$before\n");
	is( $ahead->("print(device.reduce_read_ahead(disk))\nnow()"),
		($can ? 'True' : $before eq '128' ? 'True' : 'False') . "\n$reduced",
		'the study reduces the read-ahead');
	is($ahead->('now()'), $reduced, 'the read-ahead stays reduced when the study is killed');
	is($ahead->("device.reduce_read_ahead(disk)\nnow()"),
		$reduced, 'it stays reduced when the next study is killed, too');
	is($ahead->("with session():\n    now()"), $restored, 'the next study restores the read-ahead');
	ok(!-e "$dir/build/read-ahead.json", 'the saved read-ahead is removed');
	is( $ahead->(
			"with session():\n    device.reduce_read_ahead(disk)\n    now()\n    raise KeyboardInterrupt"
		),
		"${reduced}KeyboardInterrupt\n",
		'the read-ahead is reduced until a study is interrupted');
	is($ahead->('now()'), $restored, 'an interrupted study restores the read-ahead');
	like(
		$ahead->(
			'group = cgroup.create(64, 0, Path("."))
if group:
    print(group.describe().rpartition(", ")[2])
    group.remove()
now()'),
		qr/^(?:read-ahead \Q${\($reduced =~ s!\n!!r)}\E kB|no writable cgroup\b.*)\n\Q$restored\E\z/,
		'a memory limit comes with it');
	$ahead->("device._set_read_ahead(disk, $before)") if $can;
	write_file("$dir/build/read-ahead.json", '{"../../x": 1, "9999:9999": "x"}');
	is($ahead->("with session():\n    now()"),
		"$before\n", 'a read-ahead that was not saved is not restored');

	# the files that bench/run writes
	make_victims();
	system_ok('mkdir', "$dir/tmp");
	chmod 01777, "$dir/tmp";
	as_account('ln', '-s', $victim, "$dir/tmp/$_") foreach 'a.json', 'a.json.new', 'a.html';
	($code, $out, $err) = $python->(
		'from bench.lib.result import Result
from bench import report
Result("a", 1, True).save(Path(sys.argv[1]) / "a.json")
report.write(Path(sys.argv[1]) / "a.html", "page")', "$dir/tmp");
	is($code, 0, 'results can be written where links are in their place') or diag $err;
	ok(-f "$dir/tmp/$_" && !-l "$dir/tmp/$_" && -s "$dir/tmp/$_", "$_ is written as a new file")
	  foreach 'a.json', 'a.html';
	are_unharmed('results');
	local $ENV{PGDENSE_BENCH_DIR} = "$dir/tmp";
	($code, $out, $err) = $python->('from bench.lib.paths import work; print(work())');
	like(
		$err,
		qr/anybody can write to directory "\Q$dir\E\/tmp"/,
		'scripts and logs are not written to a public directory');
}

done_testing();
