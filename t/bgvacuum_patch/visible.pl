# Check the pages that bgwriter freezes and sets all-visible.
#
# - bgwriter leaves a page alone while a snapshot, a prepared transaction or a replication slot may
#   not see all rows of the page, and sets the page all-visible afterwards.
# - After a table was truncated, its visibility map has no bits of old pages.
# - bgwriter tries few pages of a table if pages that it has set all-visible change again.
# - A table without a visibility map gets one.
# - The map is right after a crash, beside VACUUM, and on a standby.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Bgvacuum;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

needs_patch('bgvacuum_patch', 'bgvacuum');

# All pages stay in memory and stay dirty, while checks read other pages.
my $node = bgvacuum_node(
	'visible',
	init => [ allows_streaming => 1 ],
	shared_buffers => '64MB',
	conf => "wal_consistency_checking = all\nmax_wal_size = 4GB\n");

# visible(NODE, TABLE) - return "PAGES VISIBLE FROZEN": the number of pages, of all-visible pages
# and of all-frozen pages
sub visible
{
	my ($on, $table) = @_;

	return $on->safe_psql('postgres',
		"SELECT count(*) || ' ' || count(*) FILTER (WHERE all_visible) || ' ' || count(*) FILTER (WHERE all_frozen) FROM pg_visibility_map('$table')"
	);
}

# index_only(NODE, TABLE) - return the number of rows that an index-only scan finds
sub index_only
{
	my ($on, $table) = @_;

	return $on->safe_psql('postgres',
		"SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(i) FROM $table WHERE i >= 0"
	);
}

$node->safe_psql('postgres', 'CREATE TABLE wake (i int)');

## An insert creates the map, without a vacuum.
$node->safe_psql('postgres',
	'CREATE TABLE grown (i int PRIMARY KEY, t text); INSERT INTO grown SELECT i, i FROM generate_series(1, 2000) i'
);
ok(wait_for_rounds($node), 'bgwriter makes rounds');
$node->safe_psql('postgres', "INSERT INTO grown VALUES (2001, 'x')");
$node->safe_psql('postgres', 'INSERT INTO grown SELECT i, i FROM generate_series(2002, 6000) i');
ok(wait_for_stat($node, 'pages_frozen', 1, { pages_frozen => 0 }), 'pages are frozen');
cmp_ok($node->safe_psql('postgres', "SELECT pg_relation_size('grown', 'vm')"),
	'>', 0, 'the map exists');
check_heaps($node, 'without a vacuum');

## Pages whose rows a snapshot or a prepared transaction must not see
my %keeps = (
	snapshot => [ sub { $node->{holder} = hold_horizon($node) }, sub { $node->{holder}->quit } ],
	prepared => [
		sub {
			$node->safe_psql('postgres',
				"BEGIN; INSERT INTO wake VALUES (2); PREPARE TRANSACTION 'held'");
		},
		sub { $node->safe_psql('postgres', "COMMIT PREPARED 'held'") }
	]);
for my $kind (sort keys %keeps)
{
	my ($hold, $release) = @{ $keeps{$kind} };
	my $t = "kept_by_$kind";

	# Create the page of the visibility map first.
	$node->safe_psql('postgres', "CREATE TABLE $t (i int PRIMARY KEY, t text)");
	$node->safe_psql('postgres', "INSERT INTO $t VALUES (0, 'first'); VACUUM $t");
	$hold->();
	$node->safe_psql('postgres',
		"INSERT INTO $t SELECT i, repeat('k', 50) FROM generate_series(1, 2000) i");
	ok(wait_for_rounds($node, 10), "$kind: bgwriter makes rounds");
	my ($pages, $visible) = split / /, visible($node, $t);
	cmp_ok($pages, '>', 10, "$kind: the table has several pages");
	is($visible, 0, "$kind: no page is set all-visible");
	check_heaps($node, "$kind: while it holds");
	my $stats = bgvacuum_stats($node);
	$release->();
	ok(wait_for_stat($node, 'pages_frozen', $pages - 1, $stats),
		"$kind: pages are frozen after it has ended");
	(undef, $visible) = split / /, visible($node, $t);
	cmp_ok($visible, '>=', $pages - 1, "$kind: all pages except the last are all-visible");
	is(index_only($node, $t), 2001, "$kind: an index-only scan finds all rows");
}

## A table is truncated and filled again.
for my $how ('VACUUM', 'TRUNCATE')
{
	my $t = lc "cut_by_$how";
	my $stats = bgvacuum_stats($node);

	$node->safe_psql('postgres',
		"CREATE TABLE $t (i int PRIMARY KEY, t text); INSERT INTO $t VALUES (0, 'first'); VACUUM $t"
	);
	$node->safe_psql('postgres',
		"INSERT INTO $t SELECT i, repeat('c', 50) FROM generate_series(1, 2000) i");
	ok(wait_for_stat($node, 'pages_frozen', 10, $stats), "$how: pages are frozen");
	$node->safe_psql('postgres',
		$how eq 'VACUUM'
		? "DELETE FROM $t WHERE i > 0; VACUUM $t"
		: "TRUNCATE $t; INSERT INTO $t VALUES (0, 'first')");
	is($node->safe_psql('postgres', "SELECT pg_relation_size('$t') / 8192"),
		1, "$how: the table is truncated to one page");
	my $holder = hold_horizon($node);
	$node->safe_psql('postgres',
		"INSERT INTO $t SELECT i, repeat('d', 50) FROM generate_series(1, 2000) i");
	my ($pages, $visible) = split / /, visible($node, $t);
	cmp_ok($pages, '>', 10, "$how: the table has grown again");
	cmp_ok($visible, '<=', 1, "$how: no new page has an old bit");
	is( $holder->query_safe(
			"SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(i) FROM $t WHERE i > 0"
		),
		0,
		"$how: an old snapshot does not find the new rows") if $how eq 'VACUUM';
	$holder->quit;
	is(index_only($node, $t), 2001, "$how: an index-only scan finds all rows");
	check_heaps($node, $how);
}

## Check the map beside VACUUM and clients that write, and after a crash.
$node->safe_psql('postgres',
	'CREATE TABLE busy (i bigserial PRIMARY KEY, n int NOT NULL DEFAULT 0, t text)');
for my $end ('immediate', 'fast')
{
	my $folder = PostgreSQL::Test::Utils::tempdir();
	my $out = '';

	append_to_file("$folder/insert.sql",
		"INSERT INTO busy (t) SELECT repeat('b', 60) FROM generate_series(1, 20);\n");
	append_to_file("$folder/change.sql",
		"\\set i random(1, 5000)\nUPDATE busy SET n = n + 1 WHERE i = :i;\nDELETE FROM busy WHERE i = :i + 7;\n"
	);
	append_to_file("$folder/vacuum.sql", "VACUUM busy;\n\\sleep 100 ms\n");
	my $load = IPC::Run::start(
		[
			'pgbench', '--no-vacuum',
			'--host=' . $node->host, '--port=' . $node->port,
			'--time=4', '--client=4',
			"--file=$folder/insert.sql\@5", "--file=$folder/change.sql\@5",
			"--file=$folder/vacuum.sql\@1", 'postgres'
		],
		'<',
		\undef,
		'>',
		\$out,
		'2>&1');
	if ($end eq 'immediate')
	{
		usleep(3_000_000);
		$node->stop('immediate');
		$load->finish;
		$node->start;
	}
	else
	{
		ok($load->finish, 'beside VACUUM: no transaction fails') or diag $out;
	}
	check_heaps($node, $end eq 'fast'   ? 'beside VACUUM' : 'after a crash');
	check_indexes($node, $end eq 'fast' ? 'beside VACUUM' : 'after a crash');
	is( $node->safe_psql(
			'postgres',
			'SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(i) FROM busy WHERE i > 0'
		),
		$node->safe_psql(
			'postgres',
			'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SELECT count(i) FROM busy'
		),
		"$end: an index-only scan finds as many rows as a sequential scan");
}

## A standby
{
	$node->safe_psql('postgres', "SELECT pg_create_physical_replication_slot('standby')");
	$node->backup('backup');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'backup', has_streaming => 1);
	$standby->append_conf('postgresql.conf',
		"primary_slot_name = 'standby'\nmax_standby_streaming_delay = -1\nhot_standby_feedback = on\n"
	);
	$standby->start;
	$node->safe_psql('postgres',
		"CREATE TABLE followed (i int PRIMARY KEY, t text); INSERT INTO followed VALUES (0, 'first'); VACUUM followed"
	);
	$node->safe_psql('postgres',
		"INSERT INTO followed SELECT i, repeat('f', 50) FROM generate_series(1, 1000) i");
	$node->wait_for_replay_catchup($standby);

	# The slot has the xmin of this snapshot, by feedback.
	my $reader = $standby->background_psql('postgres');
	is( $reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM followed'),
		1001, 'a snapshot on the standby sees all rows');
	$node->poll_query_until('postgres',
		"SELECT xmin IS NOT NULL FROM pg_replication_slots WHERE slot_name = 'standby'")
	  or die 'no feedback';
	$node->safe_psql('postgres',
		"INSERT INTO followed SELECT i, repeat('g', 50) FROM generate_series(1001, 3000) i");
	ok(wait_for_rounds($node, 10), 'slot: bgwriter makes rounds');
	my ($pages, $visible) = split / /, visible($node, 'followed');
	cmp_ok($visible, '<', $pages - 15, 'slot: pages with new rows are not set all-visible');
	$node->wait_for_replay_catchup($standby);
	is( $reader->query_safe(
			'SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(i) FROM followed WHERE i >= 0'
		),
		1001,
		'slot: the snapshot of the standby sees no new row');
	my $stats = bgvacuum_stats($node);
	$reader->quit;
	ok( wait_for_stat($node, 'pages_frozen', 15, $stats),
		'slot: the pages are frozen after the snapshot has ended');
	# The next commit sends the WAL of bgwriter.
	$node->safe_psql('postgres', 'INSERT INTO wake VALUES (3)');
	$node->wait_for_replay_catchup($standby);
	is( visible($standby, 'followed'),
		visible($node, 'followed'),
		'the standby has the map of the primary');
	is(index_only($standby, 'followed'), 3001, 'the standby: an index-only scan finds all rows');

	# A cursor on the standby sees all rows and pins a page.  The primary freezes this page.  The
	# standby replays this, and does not cancel the cursor.
	set_parameters($standby, max_standby_streaming_delay => '100ms');
	my $holder = hold_horizon($node);
	$node->safe_psql('postgres',
		"CREATE TABLE pinned (i int); INSERT INTO pinned SELECT i FROM generate_series(1, 1000) i");
	$node->wait_for_replay_catchup($standby);
	my $cursor = $standby->background_psql('postgres', on_error_stop => 0);
	is($cursor->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT i FROM pinned; FETCH 1 FROM c'),
		1, 'pinned: a cursor on the standby reads the first row');
	$stats = bgvacuum_stats($node);
	$holder->quit;
	ok( wait_for_stat(
			$node, 'pages_frozen', 3, $stats,
			sub { $node->safe_psql('postgres', 'INSERT INTO pinned VALUES (0)') }),
		'pinned: the pages are frozen');
	$node->safe_psql('postgres', 'INSERT INTO wake VALUES (3)');
	$node->wait_for_replay_catchup($standby);
	is( visible($standby, 'pinned'),
		visible($node, 'pinned'),
		'pinned: the standby has the map of the primary');
	my @others = split /\n/, eval { $cursor->query('FETCH ALL FROM c') } // '';
	is(scalar @others, 999, 'pinned: the cursor reads the other rows');
	eval { $cursor->quit };
	check_heaps($standby, 'the standby');
	check_log($standby, 'the standby');
	$standby->stop;
	$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('standby')");
}

## bgwriter sets fewer pages all-visible if such pages change again.
$node->safe_psql('postgres',
	'CREATE TABLE changed (i int PRIMARY KEY, n int NOT NULL, t text) WITH (fillfactor = 40); CREATE TABLE unchanged (i int PRIMARY KEY, n int NOT NULL, t text)'
);
{
	# VACUUM these tables while they have only one row, so that the background writer sets the later
	# pages all-visible, and not VACUUM.
	$node->safe_psql('postgres', "INSERT INTO $_ VALUES (0, 0); VACUUM $_")
	  for qw(changed unchanged);
	my $stats = bgvacuum_stats($node);
	$node->safe_psql('postgres',
		"INSERT INTO $_ SELECT i, 0, repeat('c', 100) FROM generate_series(1, 20000) i")
	  for qw(changed unchanged);
	ok(wait_for_stat($node, 'pages_visible', 1000, $stats),
		'backing off: pages are set all-visible');
}
{
	# While this snapshot exists, no page is set all-visible again.  Such a page would count as a
	# success.
	my $holder = hold_horizon($node);
	$node->safe_psql('postgres', 'UPDATE changed SET n = n + 1');
	$node->safe_psql('postgres',
		"INSERT INTO unchanged SELECT i, 0, repeat('u', 100) FROM generate_series(20001, 22000) i");
	ok(wait_for_rounds($node, 5), 'backing off: bgwriter makes rounds');
	is( $node->safe_psql(
			'postgres',
			q{SELECT string_agg(relname || ' ' || marking, ', ' ORDER BY relname) FROM pg_stat_bgvacuum_tables WHERE relname IN ('changed', 'unchanged')}
		),
		'changed false, unchanged true',
		'bgwriter backs off from a table whose pages change again, and not from one with inserts');
	$holder->quit;
}

## Each row has a transaction or a subtransaction of its own.  Some of them are rolled back.  No
## session has read the rows before.
{
	$node->safe_psql('postgres', 'CREATE TABLE singly (i int PRIMARY KEY, t text)');
	$node->safe_psql('postgres', "INSERT INTO singly VALUES (0, 'first'); VACUUM singly");
	my $holder = hold_horizon($node);
	$node->safe_psql(
		'postgres', q{
		DO $$
		BEGIN
			FOR n IN 1 .. 4000 LOOP
				INSERT INTO singly VALUES (n, repeat('s', 50));
				IF n % 10 = 0 THEN
					ROLLBACK;
				ELSE
					BEGIN
						INSERT INTO singly VALUES (n + 10000, 'sub');
						IF n % 10 = 1 THEN
							RAISE division_by_zero;
						END IF;
					EXCEPTION WHEN division_by_zero THEN
						NULL;
					END;
					COMMIT;
				END IF;
			END LOOP;
		END
		$$});
	my $stats = bgvacuum_stats($node);
	$holder->quit;
	# Each new transaction advances the horizon.
	my $insert = sub { $node->safe_psql('postgres', 'INSERT INTO wake VALUES (4)') };
	ok(wait_for_stat($node, 'pages_frozen', 40, $stats, $insert), 'singly: pages are frozen');
	# Count the first row, 3600 rows of the loop, and 3200 rows of its subtransactions.
	for my $scan (qw(enable_indexscan enable_seqscan))
	{
		is( $node->safe_psql(
				'postgres',
				"SET $scan = off; SET enable_bitmapscan = off; SELECT count(*), count(*) FILTER (WHERE i % 10 = 0 AND i > 0), count(*) FILTER (WHERE i % 10 = 1 AND i > 10000) FROM singly WHERE i >= 0"
			),
			'6801|0|0',
			"singly: only committed rows are visible, without $scan");
	}
	check_heaps($node, 'singly');

	# VACUUM looks up the xids of the rows that it freezes page by page, not row by row.  Each
	# session reports its lookups before it ends.
	set_parameters($node, bgvacuum => 'off');
	$node->safe_psql('postgres',
		q{CREATE TABLE singly_off (i int); DO $$ BEGIN FOR n IN 1 .. 4000 LOOP INSERT INTO singly_off VALUES (n); COMMIT; END LOOP; END $$; SELECT count(*) FROM singly_off; SELECT pg_stat_force_next_flush()}
	);
	my $hits = "SELECT blks_hit FROM pg_stat_slru WHERE name = 'transaction'";
	my $before = $node->safe_psql('postgres', $hits);
	$node->safe_psql('postgres', 'VACUUM (FREEZE) singly_off; SELECT pg_stat_force_next_flush()');
	my $more = $node->safe_psql('postgres', $hits) - $before;
	cmp_ok($more, '>', 0, 'VACUUM: it looks up xids');
	cmp_ok($more, '<', 1000, 'VACUUM: it looks up fewer xids than there are rows');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM singly_off'),
		4000, 'VACUUM: all rows are there');
	set_parameters($node, bgvacuum => 'on');
}

## While the horizon does not move, bgwriter tries full pages once, and not in each round.
set_parameters($node, debug_bgvacuum => 'off');
{
	my $holder = hold_horizon($node);
	$node->safe_psql('postgres',
		"CREATE TABLE waiting (i int, t text); INSERT INTO waiting SELECT i, repeat('w', 100) FROM generate_series(1, 20000) i"
	);
	my $pages = $node->safe_psql('postgres', "SELECT pg_relation_size('waiting') / 8192");
	ok(wait_for_rounds($node, 20), 'waiting: bgwriter makes rounds');
	my $stats = bgvacuum_stats($node);
	ok(wait_for_rounds($node, 20), 'waiting: bgwriter makes more rounds');
	my $tried = bgvacuum_stats($node)->{skipped_recent} - $stats->{skipped_recent};
	cmp_ok($tried, '<', $pages, "waiting: the $pages pages are not tried in each of 20 rounds");
	$stats = bgvacuum_stats($node);
	$holder->quit;
	# An insert creates the map if bgwriter has missed it.  Each new transaction advances the
	# horizon.
	my $insert = sub { $node->safe_psql('postgres', "INSERT INTO waiting VALUES (0, 'w')") };
	ok( wait_for_stat($node, 'pages_frozen', $pages - 10, $stats, $insert),
		'waiting: the pages are frozen after the snapshot has ended');
	check_heaps($node, 'waiting');
}
set_parameters($node, debug_bgvacuum => 'on');

## Use more tables than there are slots for tables (256).
$node->safe_psql('postgres',
	"CREATE TABLE many_$_ (i int); INSERT INTO many_$_ SELECT i FROM generate_series(1, 300) i; DELETE FROM many_$_ WHERE i % 2 = 0; DROP TABLE many_$_"
) for 1 .. 300;
$node->safe_psql('postgres',
	'CREATE TABLE last (i int); INSERT INTO last SELECT i FROM generate_series(1, 300) i; DELETE FROM last WHERE i % 2 = 0'
);
ok(wait_for_tuples($node, 'last', 150), 'after many tables, the last one is pruned');

check_heaps($node, 'in the end');
check_indexes($node, 'in the end');
check_log($node, 'in the end');
$node->stop;
done_testing();
