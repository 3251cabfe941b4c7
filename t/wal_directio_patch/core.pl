# Run PostgreSQL's own regression tests with wal_directio and wal_write_unit = 512.  Then kill the
# server, and recover.  A soak run also runs the isolation tests, uses other units, writes WAL
# through the page cache, and runs the TAP tests of recovery and of the programs that read and copy
# WAL.
use strict;
use warnings FATAL => 'all';

use File::Spec;
use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Core;
use PgDense::Patch;
use PgDense::Wal qw(set_parameters unexpected_log effective_mode);
use PgDense::WalFiles;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('wal_directio_patch', 'wal_directio');

my $regress = core_tests();
my $tmp = File::Spec->rel2abs($PostgreSQL::Test::Utils::tmp_check);
my $no_direct =
  can_write_directly($tmp) ? undef : 'no mount: the folder of the test does not take direct I/O';

# [name, segment size in MB, parameters]
my @rounds = ([ 'direct_512', 1, wal_directio => 'on', wal_write_unit => 512, fsync => 'off' ]);
push @rounds,
  [
	'direct_4096', 16,
	wal_directio => 'on',
	wal_write_unit => 4096,
	wal_sync_method => 'open_datasync',
	wal_init_zero => 'off',
	wal_recycle => 'off'
  ],
  [
	'direct_8192', 1,
	wal_directio => 'on',
	wal_write_unit => 8192,
	fsync => 'off',
	wal_buffers => '64kB'
  ],
  [ 'buffered_512', 1, wal_write_unit => 512, fsync => 'off', wal_cache_relief => 'on' ]
  if $ENV{PGDENSE_SOAK};

# core_round(NAME, SEGMENT SIZE, PARAMETER => VALUE...)
sub core_round
{
	my ($name, $mb, @parameters) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(extra => [ '--encoding=UTF8', '--locale=C', "--wal-segsize=$mb" ]);
	set_parameters(
		$node,
		max_connections => 50,
		max_prepared_transactions => 10,
		wal_level => 'logical',
		log_statement => 'none',
		max_wal_size => '64MB',
		min_wal_size => 5 * $mb . 'MB',
		checkpoint_timeout => '30s',
		@parameters);
	$node->start;
	is( effective_mode($node)->{mode},
		$name =~ /direct/ ? 'direct' : 'buffered',
		"$name: WAL is written in the expected mode");
	cmp_ok(
		core_suite(
			$node, $name, "$tmp/$name", $regress, "$regress/pg_regress", "--dlpath=$regress",
			"--schedule=$regress/parallel_schedule",
			'--max-concurrent-tests=20'),
		'>', 200,
		"$name: the tests ran");
	core_isolation($node, "$tmp/wal_directio_isolation", $regress)
	  if $ENV{PGDENSE_SOAK} && $name eq 'direct_512';

	core_crash($node, $name, $tmp);
	is(unexpected_log($node), '', "$name: nothing unexpected in the log");
	$node->stop;
	system_or_bail('rm', '-rf', $node->data_dir);
}

for my $round (@rounds)
{
  SKIP:
	{
		my ($name, $mb, @parameters) = @$round;

		skip $no_direct, 1 if $name =~ /direct/ && $no_direct;
		core_round($name, $mb, @parameters);
	}
}

SKIP:
{
	last SKIP if !$ENV{PGDENSE_SOAK};
	skip $no_direct, 1 if $no_direct;
	core_tap(
		$regress, $tmp,
		"wal_directio = on\nwal_write_unit = force_512\n", 'src/test/recovery',
		'src/bin/pg_basebackup', 'src/bin/pg_rewind',
		'src/bin/pg_waldump', 'src/bin/pg_combinebackup',
		'src/bin/pg_archivecleanup', 'src/bin/pg_walsummary');
}

done_testing();
