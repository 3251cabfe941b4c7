# tools/mounts: file systems of many kinds where the machine allows, each that it
# does not allow is named, and nothing of them is left behind.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my @names = qw(ext4 ext4-4k ext4-journal xfs btrfs small tmpfs readonly memory);
my $dir = checkout();
my $mounts = "$dir/build/mounts";

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
is($out, '', 'without output');
my @missing = map { m{/([^/]+)\.missing$} } glob("$mounts/*.missing");
is(scalar(() = $err =~ /^tools\/mounts: no mount "/mg), scalar(@missing), 'each that is missing is named')
  or diag $err;
foreach my $name (@missing)
{
	my $reason = read_file("$mounts/$name.missing");
	like($reason, qr/^\S.*\n\z/, "$name: one line of reason");
	like($err, qr/^tools\/mounts: no mount "\Q$name\E": \Q$reason\E/m, "$name: the one that was told");
}
is_deeply([ sort(mounted()) ], [ map { "$mounts/$_" } sort grep { my $n = $_; !grep { $_ eq $n } @missing } @names ],
	'all others are mounted');

SKIP:
{
	skip "no mount here: $err", 1 if @missing;

	write_file("$mounts/ext4/file", 'content');
	is(read_file("$mounts/readonly/file"), 'content', 'what is in ext4 is in readonly');
	ok(!open(my $file, '>', "$mounts/readonly/file"), 'where nothing can be written');
	is((stat("$mounts/$_"))[4], scalar getpwnam('nobody'), "$_ belongs to the account of the servers") for @names;
	is(devices(), 6, 'the loop devices');

	# a foreign one stays, even if its name is alike
	write_file("$dir/build/mounts-image", '');
	truncate("$dir/build/mounts-image", 1024 * 1024);
	chomp(my $foreign = `losetup --find --show $dir/build/mounts-image`);

	# what is in use goes when it is left
	my $user = fork() // die "could not fork: $!";
	if ($user == 0)
	{
		chdir "$mounts/xfs";
		exec 'sleep', '60';
	}
	select(undef, undef, undef, 0.2);
	($code, $out, $err) = run_tool($dir, 'tools/mounts', 'create');
	is($code, 0, 'create again');
	is($err, qq{tools/mounts: "$mounts/xfs" is still in use, it is detached\n}, 'one that is in use is named');
	is(mounted(), scalar(@names), 'and mounted again');
	ok(!-e "$mounts/ext4/file", 'they are new');
	kill 'KILL', $user;
	waitpid $user, 0;

	# a run that was killed before it mounted its device
	system_ok("truncate -s 1M $mounts/images/left; losetup --find $mounts/images/left");
	($code, $out, $err) = run_tool($dir, 'tools/mounts', 'remove');
	is("$code$err", '0', 'remove');
	is_deeply([ mounted(), devices() ], [], 'no mount and no device is left');
	ok(!-e $mounts, 'and no file');
	is(`losetup --noheadings --output NAME $foreign | xargs`, "$foreign\n", 'a device of others is');
	system_ok('losetup', '--detach', $foreign);

	# without mkfs, each file system on its own
	mkdir "$dir/bin";
	symlink("/bin/false", "$dir/bin/mkfs.btrfs");
	($code, $out, $err) = run_tool($dir, 'env', "PATH=$dir/bin:$ENV{PATH}", 'tools/mounts', 'create');
	is("$code$err", qq{0tools/mounts: no mount "btrfs": mkfs.btrfs failed\n}, 'a mkfs that fails');
	is(mounted(), @names - 1, 'all but that one are there');
	is(devices(), 5, 'and it has no device');
}

SKIP:
{
	skip 'not root, which is tested above', 1 if $> != 0;

	system("$dir/tools/mounts remove");
	system_ok('chown', '-R', 'nobody', "$dir/build");
	($code, $out, $err) = run_tool($dir, 'tools/run-unprivileged', 'tools/mounts', 'create');
	is($code, 0, 'create without root');
	is($err, join('', map { qq{tools/mounts: no mount "$_": only root can mount\n} } @names), 'names all of them');
	($code, $out, $err) = run_tool($dir, 'tools/run-unprivileged', 'tools/mounts', 'remove');
	is("$code$err", '0', 'remove without root');
}

done_testing();
