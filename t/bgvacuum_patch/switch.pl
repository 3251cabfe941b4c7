# Check that no row is lost and no deleted row comes back while background vacuum is switched on and
# off, while other parameters change, while indexes are built and rebuilt, and beside autovacuum.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Bgvacuum;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

needs_patch('bgvacuum_patch', 'bgvacuum');

my $node = bgvacuum_node(
	'switch',
	autovacuum => 1,
	conf =>
	  "max_logical_replication_workers = 0\nautovacuum_naptime = 1s\nautovacuum_vacuum_scale_factor = 0.05\nautovacuum_vacuum_cost_delay = 0\n"
);
ledger_tables($node);
my $bgwriter = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'";
my $pid = $node->safe_psql('postgres', $bgwriter);

# Switch background vacuum on and off.

{
	my $load = ledger_load($node, 10);
	my $stats = bgvacuum_stats($node);
	my $until = time() + 10;
	my $turn = 0;

	while (time() < $until)
	{
		$node->append_conf('postgresql.conf', 'bgvacuum = ' . ($turn++ % 2 ? 'on' : 'off'));
		$node->reload;
		usleep(150_000);
	}
	$node->append_conf('postgresql.conf', 'bgvacuum = on');
	$node->reload;
	cmp_ok(ledger_finish($load, 'on and off'),
		'>', 500, 'on and off: clients ran more than 500 transactions');
	cmp_ok($turn, '>', 20, 'on and off: the parameter changed more than 20 times');
	cmp_ok(bgvacuum_stats($node)->{pages_pruned} - $stats->{pages_pruned},
		'>', 100, 'on and off: pages were pruned');
	check_ledger($node, 'on and off');
}

# While background vacuum is off, no page is pruned, and the counters do not change.
{
	set_parameters($node, bgvacuum => 'off');
	# Wait until a round that has begun has ended.
	usleep(500_000);
	my $stats = bgvacuum_stats($node);
	my $load = ledger_load($node, 2);
	ledger_finish($load, 'off');
	is_deeply(bgvacuum_stats($node), $stats, 'off: the counters do not change');

	# Without background writing, no page is pruned, either.
	set_parameters($node, bgvacuum => 'on', bgwriter_lru_maxpages => 0);
	usleep(500_000);
	$stats = bgvacuum_stats($node);
	$load = ledger_load($node, 2);
	ledger_finish($load, 'without background writing');
	is( bgvacuum_stats($node)->{pages_pruned},
		$stats->{pages_pruned},
		'without background writing: no page is pruned');
	$node->safe_psql('postgres', 'ALTER SYSTEM RESET ALL');
	$node->reload;
}

# Run without debug_bgvacuum, as in production.  Only pages that are about to be written are
# pruned.  The table is larger than shared buffers.
{
	set_parameters($node, debug_bgvacuum => 'off');
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE large (id int PRIMARY KEY, n int NOT NULL, pad text) WITH (autovacuum_enabled = off);
INSERT INTO large SELECT i, 0, repeat('l', 200) FROM generate_series(1, 30000) i;
SQL
	my $load = ledger_load($node, 8);
	my $stats = bgvacuum_stats($node);
	my @growing = qw(pages_pruned tuples_removed bytes_freed pages_published skipped_unstamped);
	my $begin = time();
	my $updates = 0;

	my $have_grown = sub {
		my $now = bgvacuum_stats($node);
		return !grep { $now->{$_} <= $stats->{$_} } @growing;
	};

	# On a busy machine, it can take longer until all counters have grown.
	while (time() < $begin + 7 || time() < $begin + 60 && !$have_grown->())
	{
		my $from = 1 + 3000 * ($updates % 10);
		$node->safe_psql('postgres',
			"UPDATE large SET n = n + 1 WHERE id BETWEEN $from AND $from + 2999 AND id % 3 = $updates % 3"
		);
		$updates++;
	}
	ledger_finish($load, 'pages that are written');
	my $after = bgvacuum_stats($node);
	note join ', ', map { "$_ " . ($after->{$_} - $stats->{$_}) } sort keys %$after;
	cmp_ok($after->{$_} - $stats->{$_}, '>', 0, "pages that are written: $_ has grown")
	  for @growing;
	is( $node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT id), sum(n) FROM large'),
		'30000|30000|' . 1000 * $updates,
		'pages that are written: the large table has all rows');
	check_ledger($node, 'pages that are written');
	$node->safe_psql('postgres', 'ALTER SYSTEM RESET ALL');
	$node->reload;
}

# Change all parameters.  Build and drop indexes, and run all kinds of vacuum.
{
	my $load = ledger_load($node, 16);
	my $stats = bgvacuum_stats($node);
	my $until = time() + 15;
	my @values = (
		[ 'bgwriter_lru_maxpages', 100, 0, 1000, 1 ],
		[ 'debug_bgvacuum', 'off', 'on' ],
		[ 'bgwriter_lru_multiplier', 0, 10, 2 ],
		[ 'bgwriter_delay', '50ms', '10ms' ]);
	my @commands = (
		'CREATE INDEX CONCURRENTLY child_pad ON child (pad)',
		'REINDEX TABLE CONCURRENTLY child',
		'CREATE INDEX CONCURRENTLY parent_v ON parent (v)',
		'REINDEX INDEX CONCURRENTLY parent_pkey',
		'VACUUM parent',
		'DROP INDEX CONCURRENTLY child_pad',
		'VACUUM (FREEZE) child',
		'CHECKPOINT',
		'DROP INDEX CONCURRENTLY parent_v',
		'VACUUM (INDEX_CLEANUP off) child',
		'REINDEX TABLE parent',
		'CLUSTER child USING child_pkey',
		'VACUUM FULL gone',
		'ANALYZE');
	my $turn = 0;

	while (time() < $until || $turn < @commands)
	{
		my ($name, @to) = @{ $values[ $turn % @values ] };
		$node->append_conf('postgresql.conf', "$name = $to[($turn / @values) % @to]");
		$node->reload;

		# A command that takes strong locks on both tables may be the victim of a deadlock.
		my $err;
		for (1 .. 20)
		{
			(undef, undef, $err) = $node->psql('postgres', $commands[ $turn % @commands ]);
			last if ($err // '') !~ /deadlock detected/;
		}
		is($err // '', '', $commands[ $turn % @commands ]) if $turn < @commands;
		$turn++;
	}
	cmp_ok(ledger_finish($load, 'all that changes'),
		'>', 500, 'all that changes: clients ran more than 500 transactions');
	cmp_ok(bgvacuum_stats($node)->{pages_pruned} - $stats->{pages_pruned},
		'>', 0, 'all that changes: pages were pruned');
	check_ledger($node, 'all that changes');
}

is($node->safe_psql('postgres', $bgwriter), $pid, 'bgwriter has not restarted');
$node->restart;
check_ledger($node, 'after a restart');
check_log($node, 'at the end');
$node->stop;

done_testing();
