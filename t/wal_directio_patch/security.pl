# The file by which the server finds out what direct I/O to pg_wal needs: whatever
# has its name is neither followed nor overwritten.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('wal_directio_patch', 'wal_direct_io');

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "wal_direct_io = try\n");
my $wal = $node->data_dir . '/pg_wal';
my $victim = $node->basedir . '/victim';
append_to_file($victim, 'mine');

# The name has the process's id in it, which is one of the next.
my $max = slurp_file('/proc/sys/kernel/pid_max');
my @links = map { "$wal/xlogtemp." . (($$ + $_ - 1) % ($max - 1) + 1) } 1 .. 3000;
symlink $victim, $_ or die "symlink: $!" for @links;
$node->start;
my @met = grep { !-l $_ } @links;
cmp_ok(scalar @met, '>', 0, 'the server has met a symbolic link');
ok(!-e $_, 'and has left nothing in its place') for @met;
$node->safe_psql('postgres', 'SELECT pg_switch_wal()') for 1 .. 3;
is(slurp_file($victim), 'mine', 'the file that it points to is as it was');
is($node->safe_psql('postgres', q{SELECT current_setting('wal_direct_io')}), 'try', 'the server runs');
$node->stop;

# What cannot be removed is no reason not to start.
unlink @links;
mkdir $_ or die "mkdir: $!" for @links;
$node->start;
is($node->safe_psql('postgres', 'SELECT 1'), '1', 'nor is a directory in the way');
is(scalar(grep { -d $_ } @links), scalar @links, 'which remains');
$node->stop;

done_testing();
