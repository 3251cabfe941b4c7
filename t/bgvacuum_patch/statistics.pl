# Check what background vacuum reports about its work.
#
# - n_dead_tup counts no rows that were removed completely, but still counts dead line pointers.  So
#   autovacuum runs for dead line pointers, and not for rows that were removed completely.
# - Free space is offered where rows are deleted, and not where they are only updated.
# - The counters are zero after the server starts.
# - bgwriter tells the kernel to write out the pages that it has written, as bgwriter_flush_after
#   says.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Bgvacuum;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

needs_patch('bgvacuum_patch', 'bgvacuum');

# Each table is small compared with shared buffers.  So bgwriter visits its pages only with
# debug_bgvacuum, which is off at first.
my $node = bgvacuum_node('statistics', shared_buffers => '32MB', conf => <<'CONF');
debug_bgvacuum = off
max_logical_replication_workers = 0
autovacuum_naptime = 1s
autovacuum_vacuum_threshold = 50
autovacuum_vacuum_scale_factor = 0.2
autovacuum_vacuum_insert_threshold = -1
CONF

# Return a column of pg_stat_user_tables for each table, by name.
sub statistics
{
	my ($column) = @_;
	my $rows = $node->safe_psql('postgres',
		"SELECT relname || ' ' || $column FROM pg_stat_user_tables ORDER BY relname");

	return join ', ', split /\n/, $rows;
}

# Run statements in one session, and let the session report its counts before it ends.  Otherwise it
# reports them at exit, and psql does not wait for that report.  Report inserts before deletes,
# because a count below zero becomes zero.
sub run_and_report
{
	my ($statements) = @_;

	$node->safe_psql('postgres', "${statements}SELECT pg_stat_force_next_flush();");
}

# Make HOT updates, deletes, and HOT updates of an unlogged table, which bgwriter does not prune.
run_and_report(<<'SQL');
CREATE TABLE updated (i int PRIMARY KEY, t text) WITH (fillfactor = 40);
CREATE UNLOGGED TABLE control (i int PRIMARY KEY, t text) WITH (fillfactor = 40);
CREATE TABLE deleted (i int PRIMARY KEY, t text);
INSERT INTO updated SELECT i, repeat('x', 100) FROM generate_series(1, 2000) i;
INSERT INTO control TABLE updated;
INSERT INTO deleted TABLE updated;
SQL
run_and_report(<<'SQL');
UPDATE updated SET t = repeat('y', 100);
UPDATE control SET t = repeat('y', 100);
DELETE FROM deleted WHERE i <= 800;
SQL
is(statistics('n_tup_hot_upd'), 'control 2000, deleted 0, updated 2000', 'the updates are HOT');
is( statistics('n_dead_tup'),
	'control 2000, deleted 800, updated 2000',
	'sessions report the dead rows');

my $stats = bgvacuum_stats($node);
set_parameters($node, debug_bgvacuum => 'on');
ok(wait_for_stat($node, 'tuples_removed', 2800, $stats), 'bgwriter removes the dead rows');
is( statistics('n_dead_tup'),
	'control 2000, deleted 800, updated 0',
	'rows that are removed completely do not count as dead, dead line pointers do');
is(statistics('n_live_tup'), 'control 2000, deleted 1200, updated 2000', 'live rows are counted');
is(line_pointers($node, 'deleted')->{dead}, 800, 'deleted rows leave dead line pointers');
is(line_pointers($node, 'updated')->{dead}, 0, 'HOT updates leave no dead line pointers');

# Autovacuum runs on tables whose rows count as dead.
set_parameters($node, autovacuum => 'on');
ok( $node->poll_query_until(
		'postgres',
		"SELECT count(*) = 2 FROM pg_stat_user_tables WHERE relname IN ('control', 'deleted') AND autovacuum_count > 0"
	),
	'autovacuum vacuums the tables with dead rows or dead line pointers');
set_parameters($node, autovacuum => 'off');
ok( $node->poll_query_until(
		'postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'"),
	'the autovacuum workers end');
like(statistics('autovacuum_count'),
	qr/updated 0$/, 'autovacuum does not vacuum the table without dead rows');
is(statistics('n_dead_tup'), 'control 0, deleted 0, updated 0', 'no table has dead rows any more');
is(line_pointers($node, 'deleted')->{dead}, 0, 'no dead line pointer is left');

# Free space is offered if rows are deleted, and not if they are only updated.
for my $case ([ 'UPDATE', 0 ], [ 'DELETE', 1 ])
{
	my ($command, $offered) = @$case;
	my $table = "offered_$offered";
	my $what = $offered ? 'rows are deleted' : 'rows are updated';

	set_parameters($node, debug_bgvacuum => 'off');
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (i int, t text);
INSERT INTO $table SELECT i, repeat('x', 100) FROM generate_series(1, 2000) i;
SQL
	# Create an index on the updated column, so that each old version leaves a dead line pointer.
	$node->safe_psql('postgres', "CREATE INDEX ON $table (t)");
	$node->safe_psql('postgres',
		$offered
		? "DELETE FROM $table WHERE i % 2 = 0"
		: "UPDATE $table SET t = repeat('y', 100) WHERE i % 2 = 0");
	$stats = bgvacuum_stats($node);
	set_parameters($node, debug_bgvacuum => 'on');
	ok(wait_for_stat($node, 'items_dead', 1000, $stats), "$what: pages are pruned");

	my ($before, $after) = split /\n/, $node->safe_psql('postgres', <<"SQL");
SELECT pg_relation_size('$table');
-- Do not insert all rows at once, because few pages are offered before some are taken.
DO \$\$
BEGIN
  FOR k IN 0 .. 49 LOOP
    INSERT INTO $table SELECT i, repeat('z', 100) FROM generate_series(k * 10 + 1, k * 10 + 10) i;
    COMMIT;
    PERFORM pg_sleep(0.03);
  END LOOP;
END \$\$;
SELECT pg_relation_size('$table');
SQL
	my $now = bgvacuum_stats($node);
	is($now->{pages_published} - $stats->{pages_published} > 0 ? 1 : 0,
		$offered, "$what: whether free space is offered");
	is($now->{pages_reused} - $stats->{pages_reused} > 0 ? 1 : 0,
		$offered, "$what: whether inserts take it");
	is($after - $before > 0 ? 0 : 1, $offered, "$what: whether all new rows fit in there")
	  or diag "$before to $after";
	is( $node->safe_psql('postgres', "SELECT count(*), sum(i) FROM $table"),
		$offered ? '1500|1125250' : '2500|2126250',
		"$what: all rows are there");
	is( $node->safe_psql(
			'postgres',
			"SELECT delete_share >= 0.25, publishing FROM pg_stat_bgvacuum_tables WHERE relname = '$table'"
		),
		$offered ? 't|t' : 'f|f',
		"$what: the view shows whether free space is offered");
}

# Check the counters after a restart and after a crash.
for my $mode ('fast', 'immediate')
{
	my $reset = $node->safe_psql('postgres', 'SELECT stats_reset FROM pg_stat_bgvacuum');

	set_parameters($node, bgvacuum => 'off');
	$node->stop($mode);
	$node->start;
	$stats = bgvacuum_stats($node);
	is(join(' ', grep { $stats->{$_} != 0 } sort keys %$stats),
		'', "a stop ($mode) and a start: all counters are zero");
	is($node->safe_psql('postgres', "SELECT stats_reset > '$reset' FROM pg_stat_bgvacuum"),
		't', "a stop ($mode) and a start: stats_reset is later");
}

check_heaps($node, 'in the end');
check_indexes($node, 'in the end');
check_log($node, 'in the end');
$node->stop;

# bgwriter_flush_after applies to the writes of bgwriter, as on a stock server.
$node = bgvacuum_node('writeback', conf => "debug_bgvacuum = off\nfsync = on\n");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE large (id int PRIMARY KEY, n int NOT NULL, pad text);
INSERT INTO large SELECT i, 0, repeat('l', 200) FROM generate_series(1, 30000) i;
SQL
for my $case (
	[ 'on', 1000, '0', '8kB', 1 ],
	[ 'on', 1000, '8kB', '0', 0 ],
	[ 'off', 1000, '0', '8kB', 1 ],
	[ 'off', 1000, '8kB', '0', 0 ])
{
	my ($vacuum, $pages, $backend, $bgwriter, $expected) = @$case;
	my $io =
	  q{SELECT writes, writebacks FROM pg_stat_io WHERE backend_type = 'background writer' AND object = 'relation' AND context = 'normal'};

	set_parameters(
		$node,
		bgvacuum => $vacuum,
		bgwriter_lru_maxpages => $pages,
		backend_flush_after => $backend,
		bgwriter_flush_after => $bgwriter);
	my ($writes, $writebacks) = split /\|/, $node->safe_psql('postgres', $io);
	my ($written, $told) = (0, 0);
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;

	for (my $turn = 0; $written < 200 && time() < $until; $turn++)
	{
		$node->safe_psql('postgres', "UPDATE large SET n = n + 1 WHERE id % 7 = $turn % 7");
		($written, $told) = split /\|/, $node->safe_psql('postgres', $io);
		$written -= $writes;
		$told    -= $writebacks;
	}
	my $what =
	  "bgvacuum = $vacuum, $pages pages at most, backend_flush_after = $backend, bgwriter_flush_after = $bgwriter";
	cmp_ok($written, '>=', 200, "$what: bgwriter writes pages");
	is($told > 0 ? 1 : 0, $expected, "$what: whether the kernel is told to write them out")
	  or diag "$told of $written";
}

# With background vacuum, bgwriter writes no more than bgwriter_lru_maxpages pages in each
# bgwriter_delay, as without it.  After it has written so many, it still prunes pages.
{
	my $writes =
	  q{SELECT writes FROM pg_stat_io WHERE backend_type = 'background writer' AND object = 'relation' AND context = 'normal'};
	my ($delay, $turn) = (0.2, 0);

	set_parameters(
		$node,
		bgvacuum => 'on',
		bgwriter_lru_maxpages => 1,
		bgwriter_delay => '200ms');
	my $before = $node->safe_psql('postgres', $writes);
	my $pruned = bgvacuum_stats($node)->{pages_pruned};
	my $rounds = bgvacuum_stats($node)->{rounds};
	my $begin = time();
	my $until = $begin + $PostgreSQL::Test::Utils::timeout_default;
	my $after;

	do
	{
		# Delete a seventh of the rows of each page, in transactions that end before the page is
		# evicted.
		$node->safe_psql('postgres',
			"TRUNCATE large; INSERT INTO large SELECT i, 0, repeat('l', 200) FROM generate_series(1, 30000) i"
		) if $turn % 6 == 0;
		$node->safe_psql('postgres',
			"DO 'BEGIN FOR k IN 0 .. 59 LOOP DELETE FROM large WHERE id > k * 500 AND id <= k * 500 + 500 AND id % 7 = $turn % 6; COMMIT; END LOOP; END'"
		);
		$turn++;
		$after = bgvacuum_stats($node);
	} while ($after->{pages_pruned} - $pruned < 1000 && time() < $until);
	my $limit = (time() - $begin + 1) / $delay;
	my $written = $node->safe_psql('postgres', $writes) - $before;

	cmp_ok($after->{pages_pruned} - $pruned,
		'>=', 1000, 'one page may be written in a round: more pages are pruned');
	cmp_ok($written, '<=', $limit + 1, 'one page may be written in a round: no more are written')
	  or diag "in $turn turns, ", $after->{rounds} - $rounds, ' rounds';
	cmp_ok(
		$after->{pages_pruned} - $pruned,
		'>',
		3 * $written,
		'most pruned pages are left to other processes to write');
}
check_heaps($node, 'in the end');
check_log($node, 'in the end');
$node->stop;
done_testing();
