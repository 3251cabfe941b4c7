# What background vacuum tells others of its work: n_dead_tup loses what is gone without a
# trace, and keeps what vacuum has to see to, so that autovacuum comes for the one and not for
# the other; space is offered where rows are deleted; the
# counters begin anew with the server; and the kernel is told to write out at once what bgwriter
# writes, or not, as it is for those whose writes these are.
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

needs_patch('bgvacuum_patch', 'bgwriter_vacuum');

# No table is larger than a small part of shared buffers, so that only
# debug_bgwriter_vacuum, which is off at first, makes bgwriter look at its pages.
my $node = bgvacuum_node('statistics', shared_buffers => '32MB', conf => <<'CONF');
debug_bgwriter_vacuum = off
max_logical_replication_workers = 0
autovacuum_naptime = 1s
autovacuum_vacuum_threshold = 50
autovacuum_vacuum_scale_factor = 0.2
autovacuum_vacuum_insert_threshold = -1
CONF

# A column of pg_stat_user_tables for each table, by name
sub statistics
{
	my ($column) = @_;
	my $rows = $node->safe_psql('postgres', "SELECT relname || ' ' || $column FROM pg_stat_user_tables ORDER BY relname");

	return join ', ', split /\n/, $rows;
}

# Run statements in one session, and have it report what it counted before it is gone:
# psql ends before its server process does, which reports at exit otherwise.  What is
# inserted must be known before what is deleted, as a count below zero becomes zero.
sub run_and_report
{
	my ($statements) = @_;

	$node->safe_psql('postgres', "${statements}SELECT pg_stat_force_next_flush();");
}

# Updates within the page and deletions, and the former in a table that it leaves alone
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
is(statistics('n_dead_tup'), 'control 2000, deleted 800, updated 2000', 'sessions report what is dead');

my $stats = bgvacuum_stats($node);
set_parameters($node, debug_bgwriter_vacuum => 'on');
ok(wait_for_stat($node, 'tuples_removed', 2800, $stats), 'it is pruned');
is(statistics('n_dead_tup'), 'control 2000, deleted 800, updated 0', 'what is gone is not counted as dead, line pointers are');
is(statistics('n_live_tup'), 'control 2000, deleted 1200, updated 2000', 'what lives is');
is(line_pointers($node, 'deleted')->{dead}, 800, 'so many line pointers are dead');
is(line_pointers($node, 'updated')->{dead}, 0, 'and none where only HOT chains were cut');

# Autovacuum comes for what counts as dead.
set_parameters($node, autovacuum => 'on');
ok($node->poll_query_until(
		'postgres',
		"SELECT count(*) = 2 FROM pg_stat_user_tables WHERE relname IN ('control', 'deleted') AND autovacuum_count > 0"),
	'autovacuum vacuums where something is left to be done');
set_parameters($node, autovacuum => 'off');
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'"), 'it ends');
like(statistics('autovacuum_count'), qr/updated 0$/, 'and it does not come for what is gone already');
is(statistics('n_dead_tup'), 'control 0, deleted 0, updated 0', 'nothing is counted as dead now');
is(line_pointers($node, 'deleted')->{dead}, 0, 'and no line pointer is left');

# Offered space: where rows are deleted, and not where updates leave it
for my $case ([ 'UPDATE', 0 ], [ 'DELETE', 1 ])
{
	my ($command, $offered) = @$case;
	my $table = "offered_$offered";
	my $what = $offered ? 'rows are deleted' : 'rows are updated';

	set_parameters($node, debug_bgwriter_vacuum => 'off');
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (i int, t text);
INSERT INTO $table SELECT i, repeat('x', 100) FROM generate_series(1, 2000) i;
SQL
	# an index on what is updated, so that each row leaves a dead one where it was
	$node->safe_psql('postgres', "CREATE INDEX ON $table (t)");
	$node->safe_psql('postgres', $offered ? "DELETE FROM $table WHERE i % 2 = 0" : "UPDATE $table SET t = repeat('y', 100) WHERE i % 2 = 0");
	$stats = bgvacuum_stats($node);
	set_parameters($node, debug_bgwriter_vacuum => 'on');
	ok(wait_for_stat($node, 'items_dead', 1000, $stats), "$what: pages are pruned");

	my ($before, $after) = split /\n/, $node->safe_psql('postgres', <<"SQL");
SELECT pg_relation_size('$table');
-- not at once, as few pages are offered before some are taken
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
	is($now->{pages_published} - $stats->{pages_published} > 0 ? 1 : 0, $offered, "$what: whether pages are offered");
	is($now->{pages_reused} - $stats->{pages_reused} > 0 ? 1 : 0, $offered, "$what: whether they are taken");
	is($after - $before > 0 ? 0 : 1, $offered, "$what: whether new rows fit in there") or diag "$before to $after";
	is($node->safe_psql('postgres', "SELECT count(*), sum(i) FROM $table"), $offered ? '1500|1125250' : '2500|2126250', "$what: the rows");
	is($node->safe_psql('postgres', "SELECT delete_share >= 0.25, publishing FROM pg_stat_bgvacuum_tables WHERE relname = '$table'"),
		$offered ? 't|t' : 'f|f', "$what: the view says so");
}

# A restart, a crash
for my $mode ('fast', 'immediate')
{
	my $reset = $node->safe_psql('postgres', 'SELECT stats_reset FROM pg_stat_bgvacuum');

	set_parameters($node, bgwriter_vacuum => 'off');
	$node->stop($mode);
	$node->start;
	$stats = bgvacuum_stats($node);
	is(join(' ', grep { $stats->{$_} != 0 } sort keys %$stats), '', "a stop ($mode) and a start: nothing is counted");
	is($node->safe_psql('postgres', "SELECT stats_reset > '$reset' FROM pg_stat_bgvacuum"), 't', 'from then on');
}

check_heaps($node, 'in the end');
check_indexes($node, 'in the end');
check_log($node, 'in the end');
$node->stop;

# What bgwriter writes is subject to bgwriter_flush_after, as on stock
$node = bgvacuum_node('writeback', conf => "debug_bgwriter_vacuum = off\nfsync = on\n");
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
	my $io = q{SELECT writes, writebacks FROM pg_stat_io WHERE backend_type = 'background writer' AND object = 'relation' AND context = 'normal'};

	set_parameters(
		$node,
		bgwriter_vacuum => $vacuum,
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
		$told -= $writebacks;
	}
	my $what = "bgwriter_vacuum = $vacuum, $pages pages at most, backend_flush_after = $backend, bgwriter_flush_after = $bgwriter";
	cmp_ok($written, '>=', 200, "$what: bgwriter writes");
	is($told > 0 ? 1 : 0, $expected, "$what: whether the kernel is told to") or diag "$told of $written";
}

# Background vacuum does not write more, nor does it end at the limit of what is written
{
	my $writes = q{SELECT writes FROM pg_stat_io WHERE backend_type = 'background writer' AND object = 'relation' AND context = 'normal'};
	my ($delay, $turn) = (0.2, 0);

	set_parameters($node, bgwriter_vacuum => 'on', bgwriter_lru_maxpages => 1, bgwriter_delay => '200ms');
	my $before = $node->safe_psql('postgres', $writes);
	my $pruned = bgvacuum_stats($node)->{pages_pruned};
	my $rounds = bgvacuum_stats($node)->{rounds};
	my $begin = time();
	my $until = $begin + $PostgreSQL::Test::Utils::timeout_default;
	my $after;

	do
	{
		# a seventh of each page, in transactions that end before the page leaves memory
		$node->safe_psql('postgres', "TRUNCATE large; INSERT INTO large SELECT i, 0, repeat('l', 200) FROM generate_series(1, 30000) i") if $turn % 6 == 0;
		$node->safe_psql('postgres', "DO 'BEGIN FOR k IN 0 .. 59 LOOP DELETE FROM large WHERE id > k * 500 AND id <= k * 500 + 500 AND id % 7 = $turn % 6; COMMIT; END LOOP; END'");
		$turn++;
		$after = bgvacuum_stats($node);
	} while ($after->{pages_pruned} - $pruned < 1000 && time() < $until);
	my $limit = (time() - $begin + 1) / $delay;
	my $written = $node->safe_psql('postgres', $writes) - $before;

	cmp_ok($after->{pages_pruned} - $pruned, '>=', 1000, 'one page a round may be written: more are pruned');
	cmp_ok($written, '<=', $limit + 1, 'no more than one page a round is written') or diag "in $turn turns, ", $after->{rounds} - $rounds, ' rounds';
	cmp_ok($after->{pages_pruned} - $pruned, '>', 3 * $written, 'most of what is pruned is left to others to write');
}
check_heaps($node, 'in the end');
check_log($node, 'in the end');
$node->stop;
done_testing();
