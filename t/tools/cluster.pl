# Test tools/cluster and tools/run-unprivileged: a private instance from start to removal, in a
# checkout that only root can enter, if that is possible.  Test settings, copies of an instance, a
# port in use, a socket path that is too long, a full disk, an unknown account, the leftovers of a
# killed server or initdb, and who can connect.
use strict;
use warnings FATAL => 'all';

use File::Path qw(make_path);
use File::Spec;
use File::Temp;
use FindBin;
use IO::Socket::INET;
use IO::Socket::UNIX;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $can_mount = can_mount();

# The parent of this checkout has mode 0700.
my $base = $ENV{TESTDIR} || "$top/build/check/tools";
make_path($base);
my $private = File::Temp::tempdir('XXXXXX', DIR => $base, CLEANUP => 1);
chmod 0755, $private if !$can_mount;
my $dir = checkout("$private/checkout");
system_ok('mkdir', '-p', "$dir/build/17");
system_ok('cp', '-al', "$top/build/17/dense", "$dir/build/17/dense");

sub cluster { return run_tool($dir, 'tools/cluster', @_); }

sub settings
{
	my ($code, $out, $err) = cluster('env', @_);
	return { map { split /=/, $_, 2 } split /\n/, $out };
}

sub sql
{
	my ($name, $sql) = @_;
	my $env = settings($name);
	local @ENV{ keys %$env } = values %$env;
	my ($code, $out, $err) =
	  run_tool($dir, "$dir/build/17/dense/bin/psql", '-XAtc', $sql, 'postgres');
	chomp $out;
	return $code == 0 ? $out : "error: $err";
}

# an account that is neither root nor the account of the servers; this account need not
# exist
my $stranger = 65533;

# Connect to a socket as an account, and return the outcome.
sub connect_as
{
	my ($uid, $socket) = @_;
	my ($code, $out, $err) =
	  run_tool('/', 'setpriv', '--reuid', $uid, '--regid', $uid,
		'--clear-groups', $^X, '-MIO::Socket::UNIX', '-e',
		'print IO::Socket::UNIX->new(Peer => $ARGV[0]) ? "connected" : $!', $socket);
	return $out;
}

# The server accepts every connection without a password, as a superuser.  So only the account of
# the server and root may reach the socket.
sub is_private
{
	my ($checkout, $name, $title) = @_;
	my ($socket_dir) = (run_tool($checkout, 'tools/cluster', 'env', $name))[1] =~ /^PGHOST=(.*)$/m;
	my ($socket) = glob "$socket_dir/.s.PGSQL.*[0-9]";
	my $owner = (stat "$checkout/build/cluster/$name/data")[4];

	foreach my $path ($socket_dir, $socket, "$checkout/build/cluster/$name/data")
	{
		my ($mode, $uid) = (stat $path)[ 2, 4 ];
		is(sprintf('%04o %d', $mode & 07777, $uid),
			"0700 $owner", "$title: mode and owner of " . ($path =~ s{.*/}{}r));
	}
	return if $> != 0;
	is(connect_as($owner, $socket), 'connected', "$title: the account of the server can connect");
	is( connect_as($stranger, $socket),
		'Permission denied',
		"$title: another account cannot connect");
}

my @checkouts = ($dir);

END
{
	my $rc = $?;
	foreach my $checkout (@checkouts)
	{
		run_tool($checkout, 'tools/cluster', 'remove', $_)
		  foreach map { m{([^/]+)$} } glob "$checkout/build/cluster/*";
	}
	$? = $rc;
}

is_clear_error(
	[ cluster('env', 'a') ],
	qr/there is no instance "a"/,
	'env of a missing instance fails');
is((cluster('stop', 'a'))[0], 0, 'stop of a missing instance is no error');

my ($code, $out, $err) = cluster(
	'start', 'a', '--set', 'shared_buffers=16MB',
	'--set', "cluster_name=it's", '--initdb-arg', '--data-checksums');
is($code, 0, 'start') or diag $err;
is((cluster('status', 'a'))[0], 0, 'status of a running instance is 0');
my $env = settings('a');
is($env->{PGHOST}, "$dir/build/cluster/a", 'the socket is below build/')
  or diag explain $env;
is($env->{PGUSER}, 'postgres', 'the superuser is postgres');
is(sql('a', 'SHOW listen_addresses'), '', 'no TCP');
is(sql('a', 'SHOW shared_buffers'), '16MB', 'a setting is applied');
is(sql('a', 'SHOW cluster_name'), "it's", 'a setting with a quote is applied');
is(sql('a', 'SHOW data_checksums'), 'on', 'an argument of initdb is applied');
is( sql('a', 'SHOW server_encoding')
	  . sql('a', 'SELECT datcollate FROM pg_database WHERE datname = current_database()'),
	'UTF8C',
	'encoding and locale have their defaults');
isnt((stat "$dir/build/cluster/a/data")[4], 0, 'root does not own the data');
is_clear_error(
	[ cluster('start', 'a') ],
	qr/instance "a" is already running/,
	'a second start fails');
is_clear_error(
	[ cluster('copy', 'a', 'b') ],
	qr/instance "a" is running/,
	'a running instance cannot be copied');
is_clear_error(
	[ cluster('start', 'b', '--port', $env->{PGPORT}) ],
	qr/port $env->{PGPORT} is in use/,
	'the port of another instance is refused');

my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1);
my $taken = $listener->sockport;
is_clear_error(
	[ cluster('start', 'b', '--port', $taken) ],
	qr/port $taken is in use/,
	'a port in use is refused');
close $listener;
is((cluster('start', 'b', '--port', $taken))[0], 0, 'the next start succeeds');
is(settings('b')->{PGPORT}, $taken, 'the instance uses the requested port');

sql('a', 'CREATE TABLE t AS SELECT 42 AS x');
is((cluster('stop', 'a'))[0], 0, 'stop');
is((cluster('status', 'a'))[0], 3, 'status of a stopped instance is 3');
is_clear_error(
	[ cluster('copy', 'a', 'b') ],
	qr/instance "b" is running/,
	'a running instance cannot be replaced by a copy');
is((cluster('stop', 'b', '--immediate'))[0], 0, 'an immediate stop succeeds');
is((cluster('copy', 'a', 'b'))[0], 0, 'a stopped instance can be copied');
is((cluster('start', 'b'))[0], 0, 'starts');
is(sql('b', 'SELECT x FROM t'), '42', 'the copy has the data');
isnt(sql('b', 'SHOW shared_buffers'), '16MB', 'settings last for one start');

# Kill the instance, and start it again.
my ($pid) = split /\n/, read_file("$dir/build/cluster/b/data/postmaster.pid");
kill 'KILL', $pid;
select undef, undef, undef, 0.5;
is((cluster('status', 'b'))[0], 3, 'status of a killed instance is 3');
is((cluster('start', 'b'))[0], 0, 'a killed instance starts again');
is(sql('b', 'SELECT x FROM t'), '42', 'a killed instance keeps its data');

# a wrong setting, and the leftovers of a killed initdb
is_clear_error(
	[ cluster('start', 'c', '--set', 'shared_buffers=lots') ],
	qr/could not start instance "c": invalid value for parameter "shared_buffers": "lots"/,
	'a wrong setting is refused');
is((cluster('start', 'c'))[0], 0, 'the next start succeeds');
is_clear_error(
	[ cluster('start', 'd', '--initdb-arg', '--encoding=NONSENSE') ],
	qr/initdb failed: .*NONSENSE/,
	'a wrong argument of initdb is refused');
run_tool($dir, 'tools/run-unprivileged', 'mkdir', '-p', "$dir/build/cluster/d/data.new/base");
is((cluster('start', 'd'))[0], 0, 'the leftovers of a killed initdb are no hindrance');
is_clear_error(
	[ cluster('start', 'e', '--bin', '/nowhere') ],
	qr{there is no server in "/nowhere"},
	'a missing server is an error');
is((cluster('remove', $_))[0], 0, "removal of $_") foreach 'a', 'b', 'c', 'd';
is_deeply([ grep { !m{/e$} } glob "$dir/build/cluster/*" ], [], 'leaves nothing');

# a path that is too long for a socket
my $long = checkout("$private/" . 'long' x 25);
system_ok('mkdir', '-p', "$long/build/17");
system_ok('cp', '-al', "$top/build/17/dense", "$long/build/17/dense");
($code, $out, $err) = run_tool($long, 'tools/cluster', 'start', 'a');
is($code, 0, 'an instance in a long path starts') or diag $err;
my ($socket_dir) =
  (run_tool($long, 'tools/cluster', 'env', 'a'))[1] =~ /^PGHOST=(.*)$/m;
ok(-S glob("$socket_dir/.s.PGSQL.*"), 'the socket of a long path is in another directory');
is_private($long, 'a', 'a socket elsewhere');
run_tool($long, 'tools/cluster', 'remove', 'a');
ok(!-e $socket_dir, 'the other directory is removed');

# Check who can connect, in a checkout that every account can enter.
my $barred = $> == 0
  && system("setpriv --reuid $stranger --regid $stranger --clear-groups test -x '$base'") != 0;
my $passable = checkout(
	File::Temp::tempdir(
		'pg_dense.XXXXXX',
		DIR => $barred ? File::Spec->tmpdir : $base,
		CLEANUP => 1));
push @checkouts, $passable;
my @start = ('tools/cluster', 'start', '--bin', "$top/build/17/dense/bin");
my $open = IO::Socket::UNIX->new(Local => "$passable/socket", Listen => 1);
chmod 0777, "$passable/socket";
is(connect_as($stranger, "$passable/socket"), 'connected', 'every account can enter this checkout')
  if $> == 0;

is((run_tool($passable, @start[ 0, 1 ], 'a', @start[ 2, 3 ]))[0],
	0, 'an instance starts in this checkout');
is_private($passable, 'a', 'an instance');
run_tool($passable, 'tools/cluster', 'stop', 'a');
is((run_tool($passable, 'tools/cluster', 'copy', 'a', 'b'))[0], 0, 'the instance can be copied');
# the permissions that an earlier version of tools/cluster used
system_ok('chmod', '755', "$passable/build/cluster/b");
is( (   run_tool(
			$passable, @start[ 0, 1 ], 'b', @start[ 2, 3 ],
			'--set', 'unix_socket_permissions=0777'))[0],
	0,
	'the copy starts with a setting that opens the socket to others');
is((stat "$passable/build/cluster/b")[2] & 07777, 0700, 'the directory of the instance is private');
is( connect_as($stranger, glob "$passable/build/cluster/b/.s.PGSQL.*[0-9]"),
	'Permission denied',
	'another account cannot connect') if $> == 0;
run_tool($passable, @start[ 0, 1 ], 'a', @start[ 2, 3 ]);
is(`find '$passable/build/cluster' -perm /0022 ! -type l ! -path '*/b/.s.PGSQL*'`,
	'', 'no file is writable for others');

SKIP:
{
	skip 'only root can be another account', 3 if $> != 0;
	foreach my $command ('status', 'env', 'stop')
	{
		is_clear_error(
			[
				run_tool(
					$passable, 'setpriv', '--reuid', $stranger,
					'--regid', $stranger, '--clear-groups', 'tools/cluster',
					$command, 'a')
			],
			qr/instance "a" belongs to account "nobody"/,
			"$command of an instance of another account is refused");
	}
}

# The servers of TAP tests accept all connections without a password, too.
my ($pgxs) = map { s/\s+//gr . '/pgxs/src/test' } `$top/build/17/dense/bin/pg_config --pkglibdir`;
($code, $out, $err) = run_tool(
	$passable,
	'tools/run-unprivileged',
	'sh',
	'-c',
	'cd "$(mktemp -d)" && PATH=$1:$PATH PG_REGRESS=$3/regress/pg_regress TESTDATADIR=$PWD TESTLOGDIR=$PWD "$2" -I "$3/perl" -MPostgreSQL::Test::Cluster -e "$4"; rm -rf "$PWD"',
	'sh',
	"$top/build/17/dense/bin",
	$^X,
	$pgxs,
	<<'PERL');
use strict;
my $node = PostgreSQL::Test::Cluster->new('a');
$node->init;
$node->start;
Test::More::note(join(" ", $node->safe_psql('postgres', 'SHOW listen_addresses') || 'no TCP',
	map { sprintf '%04o', (stat $_)[2] & 07777 } $node->host, $node->data_dir));
$node->stop;
Test::More::done_testing();
PERL
like($out, qr/^# no TCP 0700 0700$/m, 'the nodes of TAP tests have private directories')
  or diag $err;

SKIP:
{
	skip 'only root drops privileges', 4 if $> != 0;
	my ($code, $out, $err) = run_tool($dir, 'tools/run-unprivileged', 'sh', '-c',
		'id -un; id -Gn; pwd; [ -r tools/cluster ] && echo readable; ls -d "$HOME"');
	is( $out,
		"nobody\nnogroup\n$dir\nreadable\n$dir/build/home\n",
		'a command of root runs as nobody, in a checkout that only root can reach') or diag $err;
	is((run_tool($dir, 'tools/run-unprivileged', 'sh', '-c', 'exit 7'))[0],
		7, 'the exit code of the command is passed on');
	{
		local $ENV{PGDENSE_ACCOUNT} = 'no-such-account';
		is_clear_error(
			[ run_tool($dir, 'tools/run-unprivileged', 'true') ],
			qr/account "no-such-account" does not exist/,
			'an unknown account is refused');
		$ENV{PGDENSE_ACCOUNT} = 'root';
		is_clear_error(
			[ run_tool($dir, 'tools/run-unprivileged', 'true') ],
			qr/account "root" has root's user id/,
			'root as the account is refused');
	}
}

SKIP:
{
	skip 'no mounts can be made here', 2 if !$can_mount;
	is((stat $private)[2] & 07777, 0700, 'the private directory stays private');
	is_clear_error(
		[
			run_tool(
				$dir,
				'unshare',
				'-m',
				'sh',
				'-c',
				'mkdir -p "$1" && mount -t tmpfs -o size=4m,mode=1777 tmpfs "$1" && exec tools/cluster start f',
				'sh',
				"$dir/build/cluster")
		],
		qr/initdb failed: .*No space left on device/,
		'a full disk is reported');
}

done_testing();
