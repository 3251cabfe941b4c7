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

# The name contains the process ID.  A script that becomes a stand-alone backend knows this ID before.
my $script = $node->basedir . '/backend';
append_to_file($script, <<"SH");
#!/bin/sh
\$PREPARE "$wal/xlogtemp.\$\$"
echo "pid=\$\$"
exec postgres --single -c log_min_messages=notice -D "@{[ $node->data_dir ]}" postgres
SH
chmod 0755, $script or die "chmod: $!";

# backend_after(COMMAND) - run a command with the name of the file, then a backend that writes WAL,
# and return the name and what the backend says
sub backend_after
{
	local $ENV{PREPARE} = shift;
	my ($out, $err) = ('', '');

	ok( IPC::Run::run(
			[$script],
			'<' => \
			  "SELECT pg_switch_wal();\nCREATE TABLE t ();\nDROP TABLE t;\nSELECT 'the end' AS reached;\n",
			'>' => \$out,
			'2>' => \$err),
		"a backend runs after $ENV{PREPARE}") or diag($err);
	like($out, qr/reached = "the end"/, 'it executes the statements');
	my ($pid) = $out =~ /^pid=(\d+)$/m;
	return ("$wal/xlogtemp.$pid", $err);
}

my ($link, $said) = backend_after("ln -s $victim");
unlike($said, qr/Could not create file/, 'the backend has created its own file');
ok(!-l $link, 'the backend has removed the symbolic link');
ok(!-e $link, 'the backend has removed its own file');
is(slurp_file($victim), 'mine', 'the target of the link is unchanged');

# A file that cannot be removed does not prevent the start.
(my $directory, $said) = backend_after('mkdir');
like($said, qr/Could not create file/, 'the backend cannot create its own file');
ok(-d $directory, 'the directory remains');

$node->start;
is($node->safe_psql('postgres', q{SELECT current_setting('wal_directio')}),
	'try', 'the server starts');
$node->stop;

done_testing();
