# Test the counts of the view vertical_partition.column_updates, which are in shared memory.  The
# counts of sessions and parallel workers are added up.  Counts are sampled, reset, limited in
# number, separate for each database, and lost at a restart.  Without preloading, sessions share the
# counts from 17 on.  Before 17, each session then has its own counts.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
autovacuum = off
shared_preload_libraries = 'vertical_partition'
vertical_partition.track_updates = on
CONF
$node->start;
my $major = int($node->safe_psql('postgres', 'SHOW server_version_num') / 10000);

my $columns = join ', ', map { "c$_ int" } 1 .. 12;
for my $database ('postgres', 'other')
{
	$node->safe_psql('postgres', 'CREATE DATABASE other') if $database eq 'other';
	$node->safe_psql($database, <<"SQL");
CREATE EXTENSION vertical_partition;
CREATE TABLE t (k int PRIMARY KEY, n int, v text);
INSERT INTO t SELECT i, 0, 'v' FROM generate_series(1, 1000) i;
CREATE TABLE wide (k int PRIMARY KEY, $columns);
INSERT INTO wide VALUES (1);
SELECT vertical_partition.reset_column_updates();
SQL
}

sub counted
{
	my ($column, $database) = @_;
	return $node->safe_psql(
		$database // 'postgres',
		qq{SELECT updates || ' ' || rows_set || ' ' || rows_read FROM vertical_partition.column_updates WHERE relation = 't'::regclass AND column_name = '$column'}
	);
}

sub reset_counts
{
	$node->safe_psql($_[0] // 'postgres', 'SELECT vertical_partition.reset_column_updates()');
	return;
}

# Count updates of several sessions at the same time.
my $script = $node->basedir . '/update.sql';
append_to_file($script, "\\set k random(1, 1000)\nUPDATE t SET n = n + 1 WHERE k = :k;\n");
$node->command_ok(
	[ 'pgbench', '-n', '-c', '4', '-t', '250', '-M', 'prepared', '-f', $script, 'postgres' ],
	'four sessions update');
is(counted('n'), '1000 1000 1000', 'each updated row is counted once');
is(counted('v'), '1000 0 0', 'other columns are not counted');
is(counted('n', 'other'), '', 'another database has no counts');

# A reset affects only one database.
$node->safe_psql('other', 'UPDATE t SET v = v WHERE k <= 5');
reset_counts();
is(counted('n'), '', 'another session resets the counts');
is(counted('v', 'other'), '5 5 5', "a reset keeps the counts of another database");

# Count rows that parallel workers read.
is($node->safe_psql('postgres', <<'SQL'), '1000', 'parallel workers read the rows');
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_indexonlyscan = off;
SELECT count(*) FROM t WHERE v = 'v';
SQL
is(counted('v'), '0 0 1000', 'rows of parallel workers are counted once');
reset_counts();

# The counts are scaled up from the sample to all updates.
$node->safe_psql('postgres', <<'SQL');
SET vertical_partition.track_sample_rate = 0.25;
DO $$ BEGIN FOR i IN 1 .. 4000 LOOP UPDATE t SET n = 0 WHERE k = 1 + i % 1000; END LOOP; END $$;
SQL
my ($sampled) = split / /, counted('n');
cmp_ok(abs($sampled - 4000), '<', 700, 'the sample stands for all statements') or diag $sampled;
cmp_ok($sampled % 4, '==', 0, 'each sampled statement counts as four');
reset_counts();

# The statements use more sets of columns than the table of counts has entries.  A set of columns
# that is still in use keeps its count.
$node->safe_psql('postgres', <<'SQL');
DO $$
DECLARE
	list text;
BEGIN
	FOR i IN 1 .. 4095 LOOP
		SELECT string_agg(format('c%s = %s', c, i), ', ') INTO list FROM generate_series(1, 12) c WHERE i >> (c - 1) & 1 = 1;
		EXECUTE 'UPDATE wide SET ' || list || ' WHERE k = 1';
		IF i % 16 = 0 THEN
			UPDATE t SET n = i WHERE k = 1;
		END IF;
	END LOOP;
END $$;
SQL
is(counted('n'), '255 255 0', 'sets in use keep their counts');
my ($sets, $newest) = split /\|/,
  $node->safe_psql('postgres',
	q{SELECT count(*), bool_or(cardinality(columns) = 12) FROM vertical_partition_internal.counted_shapes() WHERE NOT is_read AND relid = 'wide'::regclass}
  );
cmp_ok($sets, '<=', 2048, 'the number of sets is bounded');
cmp_ok($sets, '>=', 1800, 'nearly all entries are used') or diag $sets;
is($newest, 't', 'the newest set is counted');
is( $node->safe_psql(
		'postgres',
		q{SELECT bool_and(rows = 1) FROM vertical_partition_internal.counted_shapes() WHERE NOT is_read AND relid = 'wide'::regclass}
	),
	't',
	'a new set does not inherit the count of an old one');
is(counted('v', 'other'), '', 'sets that are not used are dropped, of any database');

# Drop a table that has counts.
reset_counts();
$node->safe_psql('postgres',
	'CREATE TABLE dropped (k int); INSERT INTO dropped VALUES (1); UPDATE dropped SET k = 2; DROP TABLE dropped'
);
is($node->safe_psql('postgres', 'SELECT count(*) FROM vertical_partition.column_updates'),
	'0', 'a dropped table is not shown');

# Restart the server.
for my $mode ('fast', 'immediate')
{
	$node->safe_psql('postgres', 'UPDATE t SET n = 1 WHERE k <= 2');
	is(counted('n'), '2 2 0', 'counted');
	$node->stop($mode);
	$node->start;
	is(counted('n'), '', "counts are lost at a restart, $mode");
}

# Test without shared_preload_libraries.
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->append_conf('postgresql.conf', "session_preload_libraries = 'vertical_partition'");
$node->restart;
is( $node->safe_psql(
		'postgres',
		q{UPDATE t SET n = 1 WHERE k <= 3; SELECT updates FROM vertical_partition.column_updates WHERE column_name = 'n'}
	),
	'3',
	'without preloading a session sees what it has counted');
is( counted('n'),
	$major >= 17 ? '3 3 0' : '',
	'without preloading other sessions see the counts from 17 on');

$node->stop;
done_testing();
