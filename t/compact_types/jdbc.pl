# Check that a Java program with the PostgreSQL JDBC driver reads and writes compact types: see
# t/compact_types/CompactTypes.java.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::CompactTypesSamples;
use Encode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The path is that of Debian's package.
my $driver = '/usr/share/java/postgresql.jar';

# The driver connects by TCP only.  Any user of the machine can connect to a TCP port, but not to
# the socket in the private directory.  So TCP connections need a password.
my $node = PostgreSQL::Test::Cluster->new('jdbc');
my $dir = PostgreSQL::Test::Utils::tempdir;
open my $random, '<:raw', '/dev/urandom' or die "could not open /dev/urandom: $!";
read $random, my $bytes, 16;
close $random;
my $password = unpack 'H*', $bytes;
for my $file ("$dir/password", "$dir/pgpass")
{
	append_to_file($file, '');
	chmod 0600, $file;
}
append_to_file("$dir/password", "$password\n");
append_to_file("$dir/pgpass", "*:*:*:*:$password\n");
$node->init(extra =>
	  [ '--encoding=UTF8', '--locale=C', '--auth-host=scram-sha-256', "--pwfile=$dir/password" ]);
$node->append_conf('postgresql.conf', "fsync = off\nlisten_addresses = '127.0.0.1'\n");
$node->start;
$node->command_fails_like(
	[ 'psql', '-w', '-h', '127.0.0.1', '-p', $node->port, '-c', '', 'postgres' ],
	qr/no password supplied/,
	'a TCP connection without the password is refused');
$node->safe_psql('postgres', join '', map { "CREATE EXTENSION $_;\n" } @extensions);

my ($stdout, $stderr) = ('', '');
# An int of Java has four bytes.
$_->{kind} = 'long' for grep { $_->{wide} eq 'int8' } @samples;
my $samples = join '', map {
	encode(
		'UTF-8',
		join("\t",
			(map { $_ // '' } @$_{ 'type', 'wide', 'kind', 'bad', 'sqlstate' }),
			@{ $_->{literals} })
		  . "\n")
} @samples;
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$ENV{PGPASSFILE} = "$dir/pgpass";
my $result = IPC::Run::run(
	[
		'java',
		'-Xshare:auto',
		'-XX:TieredStopAtLevel=1',
		'-Duser.timezone=UTC',
		"-Duser.name=$user",
		'-cp',
		$driver,
		"$FindBin::RealBin/CompactTypes.java",
		'jdbc:postgresql://127.0.0.1:' . $node->port . '/postgres'
	],
	'<',
	\$samples,
	'>',
	\$stdout,
	'2>',
	\$stderr);

# Count the lines that report a success, for each type and mode.
my %good;
for (split /\n/, $stdout)
{
	if    (/^ok - (\w+: \w+): /) { $good{$1}++ }
	elsif (!/^# done/)           { fail($_) }
}
for my $mode ('unprepared', 'prepared', 'binary', 'simple')
{
	for my $sample (@samples)
	{
		my $name = "$mode: $sample->{type}";

		cmp_ok($good{$name} // 0, '>=', 20, $name);
	}
}
like($stdout, qr/^# done$/m, 'the program ran to its end');
is($stderr, '', 'nothing on stderr');
ok($result, 'the program succeeds');

$node->stop;
done_testing();
