# Run PostgreSQL's own tests with the switches of all features on at once: the
# regression and isolation tests, then a crash and recovery, and the TAP tests of
# recovery, pg_upgrade, pg_rewind, pg_basebackup, amcheck and replication.  From 18 on,
# use each method of asynchronous I/O.
#
# normalize_core() lists the allowed differences from a stock server.
use strict;
use warnings FATAL => 'all';

use File::Spec;
use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Bgvacuum;
use PgDense::Core;
use PgDense::Patch;
use PgDense::Wal qw(unexpected_log effective_mode);
use PgDense::WalFiles;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('bgvacuum_patch', 'bgvacuum');
needs_patch('index_align', 'default_index_item_alignment');
needs_patch('wal_directio_patch', 'wal_directio');
needs_patch('toast_policy', 'toast_min_saved_chunks');

$PgDense::Core::any_order = 1;
$PgDense::Core::normalize = \&normalize_core;
# The first of these tests runs the regression tests, and expects rows in a certain order.  The
# others are tests of the patches, which set the switches themselves, and expect that the switches
# are off at first, and a test of amcheck, which finds a WAL record by the name of its type.  The
# records of aligned indexes have another type.
my @own = (
	'src/test/recovery/t/011_background_vacuum.pl',
	'src/bin/pg_upgrade/t/007_item_alignment.pl',
	'contrib/amcheck/t/005_pitr.pl');
@PgDense::Core::leave_out = (
	'027_stream_regress.pl', map { s{.*/}{}r } @own,
	tests_without_force(), tests_without_bgvacuum());

my $regress = core_tests();
my $tmp = File::Spec->rel2abs($PostgreSQL::Test::Utils::tmp_check);
my ($major) = `pg_config --version` =~ /(\d+)/;
# If the directory does not support direct I/O, the tests run with the fallback to buffered WAL.
my $direct = can_write_directly($tmp);
my @methods = $major >= 18 ? qw(worker io_uring sync) : ('');
my $forced = "debug_bgvacuum = on\nbgwriter_delay = 10ms\n";
my $switches = <<'CONF';
bgvacuum = on
default_index_item_alignment = auto
toast_min_saved_chunks = 1
wal_directio = try
wal_write_unit = auto
CONF

for my $method (@methods)
{
	my $name = $method || 'core';
	my $io = $method ? "io_method = $method\n" : '';
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf', <<"CONF");
max_connections = 50
max_prepared_transactions = 10
wal_level = logical
fsync = off
log_statement = none
max_wal_size = 1GB
shared_buffers = 32MB
$forced$switches$io
CONF
	# If a machine does not allow io_uring, go on with the other methods.
	if (!$node->start(fail_ok => 1))
	{
		fail("$name: the server starts");
		diag substr(slurp_file($node->logfile), -1000);
		next;
	}
	is($node->safe_psql('postgres', 'SHOW io_method'),
		$method, "$name: the I/O method is in effect")
	  if $method;
	is( effective_mode($node)->{mode},
		$direct ? 'direct' : 'buffered',
		"$name: WAL is written with direct I/O if the directory allows");
	$node->safe_psql('postgres', 'CREATE EXTENSION bgvacuum');
	cmp_ok(
		core_suite(
			$node, $name, "$tmp/$name", $regress, "$regress/pg_regress", "--dlpath=$regress",
			"--schedule=$regress/parallel_schedule",
			'--max-concurrent-tests=20'),
		'>', 200,
		"$name: the tests ran");
	core_isolation($node, "$tmp/isolation_$name", $regress);
	my $stats = bgvacuum_stats($node);
	cmp_ok($stats->{$_}, '>', 0, "$name: $_: $stats->{$_}") foreach qw(pages_pruned pages_visible);

	core_crash($node, $name, $tmp);
	$node->safe_psql('regression',
		'CREATE SCHEMA check_heaps; CREATE EXTENSION amcheck SCHEMA check_heaps; CREATE EXTENSION pg_visibility SCHEMA check_heaps; ALTER DATABASE regression SET search_path = public, check_heaps'
	);
	check_heaps($node, $name, 'regression');
	cmp_ok($node->safe_psql('regression', <<'SQL'), '>', 300, "$name: amcheck reads all indexes");
SELECT count(*) FROM (SELECT bt_index_parent_check(c.oid, true, true) FROM pg_class c JOIN pg_index i ON indexrelid = c.oid
WHERE relkind = 'i' AND relam = 403 AND relpersistence = 'p' AND indisvalid AND indisready) c
SQL
	is(unexpected_log($node), '', "$name: nothing unexpected in the log");
	$node->stop;
	system_or_bail('rm', '-rf', $node->data_dir);
	core_tap(
		$regress,
		"$tmp/tap_$name",
		"$forced$switches$io",
		'src/test/recovery',
		'contrib/amcheck',
		$method eq $methods[0]
		? ( 'src/test/subscription', 'src/bin/pg_amcheck',
			'src/bin/pg_rewind', 'src/bin/pg_basebackup',
			'src/bin/pg_combinebackup')
		: ());

	if ($method eq $methods[0])
	{
		core_tap($regress, "$tmp/unforced", "$switches$io", tests_without_force());
		core_tap($regress, "$tmp/without", "${switches}bgvacuum = off\n$io",
			tests_without_bgvacuum());
	}
	# The tests of pg_upgrade run the regression tests, and expect rows in a certain
	# order.
	core_tap($regress, "$tmp/upgrade_$name", "$switches$io", 'src/bin/pg_upgrade');
	core_tap($regress, "$tmp/own_$name", $io, @own);
}

done_testing();
