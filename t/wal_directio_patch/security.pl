# Test the file with which the server probes direct I/O in pg_wal.  If a file or a symbolic link of
# that name exists already, the server neither follows the link nor overwrites the file.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('wal_directio_patch', 'wal_directio');

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "wal_directio = try\n");
my $wal = $node->data_dir . '/pg_wal';
my $victim = $node->basedir . '/victim';
append_to_file($victim, 'mine');

# The name contains the process ID of the server, which is one of the next IDs of the machine.
my $max = slurp_file('/proc/sys/kernel/pid_max');
my @links = map { "$wal/xlogtemp." . (($$ + $_ - 1) % ($max - 1) + 1) } 1 .. 3000;
symlink $victim, $_ or die "symlink: $!" for @links;
$node->start;
my @met = grep { !-l $_ } @links;
cmp_ok(scalar @met, '>', 0, 'the server has met a symbolic link');
ok(!-e $_, 'the server has removed the symbolic link') for @met;
$node->safe_psql('postgres', 'SELECT pg_switch_wal()') for 1 .. 3;
is(slurp_file($victim), 'mine', 'the target of the link is unchanged');
is($node->safe_psql('postgres', q{SELECT current_setting('wal_directio')}),
	'try', 'the server runs');
$node->stop;

# A file that cannot be removed does not prevent the start.
unlink @links;
mkdir $_ or die "mkdir: $!" for @links;
$node->start;
is($node->safe_psql('postgres', 'SELECT 1'), '1',
	'the server starts with a directory of that name');
is(scalar(grep { -d $_ } @links), scalar @links, 'the directory remains');
$node->stop;

done_testing();
