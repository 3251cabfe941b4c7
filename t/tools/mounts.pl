# Test tools/mounts.  It mounts as many kinds of file systems as the machine allows,
# names each one that it cannot mount, and leaves nothing behind.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my @names = qw(ext4 ext4-4k ext4-journal xfs btrfs small tmpfs readonly memory);
my $dir = checkout();
my $mounts = "$dir/build/mounts";

# Other tests use the memory of this machine at the same time, so the tool reads how much is
# available from a file of this test.
my $tool = read_file("$dir/tools/mounts");
write_file("$dir/tools/mounts", $tool =~ s{/proc/meminfo}{$dir/meminfo}gr);
set_available(16384);

# set_available(MEGABYTES) - set how much memory the tool sees as available
sub set_available
{
	my ($megabytes) = @_;
	write_file("$dir/meminfo",
		"MemTotal: 33554432 kB\nMemFree: 1048576 kB\nMemAvailable: " . $megabytes * 1024 . " kB\n");
}

sub mounted
{
	return grep { index($_, "$mounts/") == 0 }
	  map { (split / /)[4] } split /\n/, read_file('/proc/self/mountinfo');
}

sub devices
{
	my $list = `losetup --list --noheadings --output NAME,BACK-FILE 2> /dev/null`;
	return grep { index($_, "$mounts/") >= 0 } split /\n/, $list;
}

END
{
	my $status = $?;
	system("$dir/tools/mounts remove 2> /dev/null") if defined $dir;
	$? = $status;
}

my ($code, $out, $err) = run_tool($dir, 'tools/mounts', 'create');
is($code, 0, 'create succeeds, whatever the machine allows');
is($out, '', 'create prints nothing');
my @missing = map { m{/([^/]+)\.missing$} } glob("$mounts/*.missing");
is(scalar(() = $err =~ /^tools\/mounts: no mount "/mg),
	scalar(@missing), 'each missing mount is named')
  or diag $err;
foreach my $name (@missing)
{
	my $reason = read_file("$mounts/$name.missing");
	like($reason, qr/^\S.*\n\z/, "$name: the reason is one line");
	like(
		$err,
		qr/^tools\/mounts: no mount "\Q$name\E": \Q$reason\E/m,
		"$name: the reason is the printed one");
}
is_deeply(
	[ sort(mounted()) ],
	[
		map { "$mounts/$_" } sort grep {
			my $n = $_;
			!grep { $_ eq $n } @missing
		} @names
	],
	'all other file systems are mounted');

SKIP:
{
	skip "no mount here: $err", 1 if @missing;

	write_file("$mounts/ext4/file", 'content');
	is(read_file("$mounts/readonly/file"), 'content', 'readonly has the files of ext4');
	ok(!open(my $file, '>', "$mounts/readonly/file"), 'readonly cannot be written to');
	is( (stat("$mounts/$_"))[4],
		scalar getpwnam('nobody'),
		"$_ belongs to the account of the servers") for @names;
	is(devices(), 6, 'create makes six loop devices');

	# The tool must not detach a loop device that it did not make, even if the path of
	# its file also begins with build/mounts.
	write_file("$dir/build/mounts-image", '');
	truncate("$dir/build/mounts-image", 1024 * 1024);
	chomp(my $foreign = `losetup --find --show $dir/build/mounts-image`);

	# The tool detaches a mount that is in use.  The mount disappears when no process uses it any
	# more.
	my $user = fork() // die "could not fork: $!";
	if ($user == 0)
	{
		chdir "$mounts/xfs";
		exec 'sleep', '60';
	}
	select(undef, undef, undef, 0.2);
	($code, $out, $err) = run_tool($dir, 'tools/mounts', 'create');
	is($code, 0, 'create succeeds again');
	is( $err,
		qq{tools/mounts: "$mounts/xfs" is still in use, it is detached\n},
		'a mount that is in use is named');
	is(mounted(), scalar(@names), 'all file systems are mounted again');
	ok(!-e "$mounts/ext4/file", 'the file systems are new');
	kill 'KILL', $user;
	waitpid $user, 0;

	# leftovers of a run that was killed before it mounted its device
	system_ok("truncate -s 1M $mounts/images/left; losetup --find $mounts/images/left");
	($code, $out, $err) = run_tool($dir, 'tools/mounts', 'remove');
	is("$code$err", '0', 'remove');
	is_deeply([ mounted(), devices() ], [], 'no mount and no device is left');
	ok(!-e $mounts, 'no file is left');
	is( `losetup --noheadings --output NAME $foreign | xargs`,
		"$foreign\n",
		'a loop device of others stays');
	system_ok('losetup', '--detach', $foreign);

	# Each file system is independent: a file system without a working mkfs does not affect the
	# others.
	mkdir "$dir/bin";
	symlink("/bin/false", "$dir/bin/mkfs.btrfs");
	($code, $out, $err) =
	  run_tool($dir, 'env', "PATH=$dir/bin:$ENV{PATH}", 'tools/mounts', 'create');
	is( "$code$err",
		qq{0tools/mounts: no mount "btrfs": mkfs.btrfs failed\n},
		'a failed mkfs is named');
	is(mounted(), @names - 1, 'all other file systems are mounted after a failed mkfs');
	is(devices(), 5, 'the failed file system has no device');

	set_available(16383);
	($code, $out, $err) = run_tool($dir, 'tools/mounts', 'create');
	is( "$code$err",
		qq{0tools/mounts: no mount "memory": less than 16 GB of memory are available\n},
		'the large file system in memory needs memory');
	is(mounted(), @names - 1, 'all other file systems are mounted without much memory');
}

SKIP:
{
	skip 'not root, which is tested above', 1 if $> != 0;

	system("$dir/tools/mounts remove");
	system_ok('chown', '-R', 'nobody', "$dir/build");
	($code, $out, $err) = run_tool($dir, 'tools/run-unprivileged', 'tools/mounts', 'create');
	is($code, 0, 'create without root succeeds');
	is( $err,
		join('', map { qq{tools/mounts: no mount "$_": only root can mount\n} } @names),
		'create without root names all mounts');
	($code, $out, $err) = run_tool($dir, 'tools/run-unprivileged', 'tools/mounts', 'remove');
	is("$code$err", '0', 'remove without root succeeds');
}

done_testing();
