# Run PostgreSQL's own regression tests while bgwriter prunes every page that it can.  Then kill the
# server, and let it recover.  A wrong prune changes the output of a test, or leaves a heap in which
# amcheck finds an error.
#
# A soak run repeats the tests with few buffers, and without debug_bgvacuum.  A soak run also runs
# the isolation tests, and the TAP tests of recovery and of other features that depend on pruning.
use strict;
use warnings FATAL => 'all';

use File::Spec;
use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Bgvacuum;
use PgDense::Core;
use PgDense::Patch;
use PgDense::Wal qw(unexpected_log);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('bgvacuum_patch', 'bgvacuum');

$PgDense::Core::any_order = 1;
$PgDense::Core::normalize = \&normalize_core;
# The TAP test 027_stream_regress.pl is left out, because it runs the regression tests itself, and
# compares the order of rows.  011_background_vacuum.pl expects that background vacuum is off at
# first.  Others run below, without debug_bgvacuum.
@PgDense::Core::leave_out = (
	'027_stream_regress.pl', '011_background_vacuum.pl',
	map { s{.*/}{}r } tests_without_force(), tests_without_bgvacuum());

my $regress = core_tests();
my $tmp = File::Spec->rel2abs($PostgreSQL::Test::Utils::tmp_check);

# [name, settings, least number of pruned pages]
my @rounds = (
	[
		'forced',
		"shared_buffers = 32MB\nbgvacuum = on\ndebug_bgvacuum = on\nbgwriter_delay = 10ms\n", 300
	]);
push @rounds,
  [
	'few_buffers',
	"shared_buffers = 2MB\nbgvacuum = on\ndebug_bgvacuum = on\nbgwriter_delay = 10ms\nwal_consistency_checking = all\n",
	300
  ],
  [ 'demand', "shared_buffers = 2MB\nbgvacuum = on\nbgwriter_delay = 10ms\n", 0 ]
  if $ENV{PGDENSE_SOAK};

for my $round (@rounds)
{
	my ($name, $settings, $least) = @$round;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf', <<"CONF");
max_connections = 50
max_prepared_transactions = 10
wal_level = logical
fsync = off
log_statement = none
max_wal_size = 1GB
$settings
CONF
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION bgvacuum');
	cmp_ok(
		core_suite(
			$node, $name, "$tmp/$name", $regress, "$regress/pg_regress", "--dlpath=$regress",
			"--schedule=$regress/parallel_schedule",
			'--max-concurrent-tests=20'),
		'>', 200,
		"$name: more than 200 tests ran");
	core_isolation($node, "$tmp/bgvacuum_isolation", $regress)
	  if $ENV{PGDENSE_SOAK} && $name eq 'forced';
	my $stats = bgvacuum_stats($node);
	note "$name: ", join ', ', map { "$stats->{$_} $_" } sort keys %$stats;
	cmp_ok($stats->{pages_pruned}, '>=', $least, "$name: $stats->{pages_pruned} pages were pruned");

	core_crash($node, $name, $tmp);
	$node->safe_psql('regression',
		'CREATE SCHEMA check_heaps; CREATE EXTENSION amcheck SCHEMA check_heaps; CREATE EXTENSION pg_visibility SCHEMA check_heaps; ALTER DATABASE regression SET search_path = public, check_heaps'
	);
	check_heaps($node, $name, 'regression');
	is(unexpected_log($node), '', "$name: nothing unexpected in the log");
	$node->stop;
	system_or_bail('rm', '-rf', $node->data_dir);
}

if ($ENV{PGDENSE_SOAK})
{
	core_tap($regress, "$tmp/unforced", "bgvacuum = on\n", tests_without_force());
	core_tap($regress, "$tmp/without", "bgvacuum = off\n", tests_without_bgvacuum());
}
core_tap(
	$regress, $tmp,
	"bgvacuum = on\ndebug_bgvacuum = on\nbgwriter_delay = 10ms\n", 'src/test/recovery',
	'src/test/subscription', 'src/bin/pg_amcheck',
	'src/bin/pg_rewind', 'src/bin/pg_basebackup',
	'src/bin/pg_combinebackup', 'src/bin/scripts',
	'contrib/amcheck', 'contrib/pg_visibility') if $ENV{PGDENSE_SOAK};

done_testing();
