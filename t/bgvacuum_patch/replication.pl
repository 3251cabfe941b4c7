# Check replication from a primary whose bgwriter prunes every page that it can.
#
# - One standby is a stock server.  Another standby follows the stock standby.  A third standby has
#   queries that keep the primary from pruning rows, or are cancelled.  All servers must have the
#   same rows, and queries must never return wrong rows.
# - Logical slots on the primary and on standbys must decode the same changes.
# - Servers take over from each other by promotion and by pg_rewind.  Stock and patched servers
#   also run on each other's data directories.
# - bgwriter must not prune in recovery, and must prune after a promotion.
#
# Standbys compare all pages with full-page images.
use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";

use PgDense::Bgvacuum;
use PgDense::IndexAlign qw(stock_path hand_over);
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

needs_patch('bgvacuum_patch', 'bgvacuum');

my $stock_path = stock_path();
my $tmp = $PostgreSQL::Test::Utils::tmp_check;
my $transactions = $ENV{PGDENSE_SOAK} ? 3000 : 300;

my $conf = <<'CONF';
max_connections = 100
max_wal_senders = 20
max_replication_slots = 20
wal_level = logical
wal_log_hints = on
wal_consistency_checking = all
wal_compression = on
wal_keep_size = 100GB
wal_receiver_status_interval = 1s
wal_retrieve_retry_interval = 200ms
hot_standby_feedback = off
log_replication_commands = off
CONF

my $primary = bgvacuum_node(
	'primary',
	shared_buffers => '4MB',
	conf => $conf,
	init => [ allows_streaming => 'logical', extra => [ '--encoding=UTF8', '--locale=C' ] ]);

# The sum of column n of table "a" is always 0, because each transaction subtracts from one row and
# adds to another.  Rows of "t" are inserted, updated and deleted.  The pages of "held" have so much
# free space that no session prunes them.
$primary->safe_psql('postgres', <<'SQL');
CREATE TABLE a (i int PRIMARY KEY, n int NOT NULL, v text DEFAULT repeat('a', 50)) WITH (fillfactor = 60);
INSERT INTO a SELECT i, 0 FROM generate_series(1, 2000) i;
CREATE TABLE t (id serial PRIMARY KEY, k int, v text);
CREATE INDEX ON t (k);
CREATE TABLE held (i int, n int, v text DEFAULT repeat('h', 50)) WITH (fillfactor = 40);
CREATE TABLE catalog (i int, n int, v text DEFAULT repeat('c', 50)) WITH (fillfactor = 40, user_catalog_table = true);
CREATE FUNCTION by_index(OUT s int8, OUT c int8, OUT m text) LANGUAGE sql STABLE SET enable_seqscan = off AS $$
	SELECT sum(n), count(*), md5(string_agg(i || ' ' || n, ',' ORDER BY i)) FROM a WHERE i > 0
$$;
CREATE FUNCTION by_heap(OUT s int8, OUT c int8, OUT m text) LANGUAGE sql STABLE SET enable_indexscan = off SET enable_bitmapscan = off AS $$
	SELECT sum(n), count(*), md5(string_agg(i || ' ' || n, ',' ORDER BY i)) FROM a
$$;
CREATE FUNCTION read_a() RETURNS int LANGUAGE plpgsql STABLE AS $$
DECLARE
	first record;
	again record;
BEGIN
	SELECT * INTO first FROM by_index();
	PERFORM pg_sleep(0.02);
	SELECT * INTO again FROM by_heap();
	IF first IS DISTINCT FROM again OR first.s <> 0 OR first.c <> 2000 THEN
		RAISE EXCEPTION 'wrong rows: % %', first, again;
	END IF;
	RETURN 0;
END
$$;
SQL
my $writer = "$tmp/writer.sql";
append_to_file($writer, <<'SQL');
\set i random(1, 1000)
\set j random(1001, 2000)
\set k random(1, 300)
BEGIN;
UPDATE a SET n = n + :k WHERE i = :i;
UPDATE a SET n = n - :k WHERE i = :j;
COMMIT;
INSERT INTO t (k, v) SELECT :k, repeat('t', :k) FROM generate_series(1, 3);
UPDATE t SET k = :k + 1 WHERE k = :k AND id % 2 = 0;
DELETE FROM t WHERE k = :k + 1 OR k = :k - 1;
SQL
my $reader = "$tmp/reader.sql";
# Use one statement, because a conflict would terminate a session that is idle in a transaction.
append_to_file($reader, "SELECT read_a();\n");
# A session can also be cancelled while it starts.  pgbench does not retry that.
my $patient = <<'SH';
for try in 1 2 3 4 5 6 7 8 9 10; do
	errors=$(pgbench "$@" 2>&1 >/dev/null) && exit 0
	case $errors in
	*'could not create connection'*) ;;
	*) break ;;
	esac
done
echo "$errors" >&2
exit 1
SH

# Remove the parameters of the patches, because a stock server cannot start with them.
sub without_parameters
{
	my ($node) = @_;
	my $file = $node->data_dir . '/postgresql.conf';
	my $text = slurp_file($file);

	$text =~ s/^(?:bgvacuum|debug_bgvacuum) .*\n//mg;
	unlink $file;
	append_to_file($file, $text);
	return;
}

# Make a standby with a slot, and do not start it.
sub standby
{
	my ($name, $from, $path) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, $path ? (install_path => $path) : ());

	$from->safe_psql('postgres', "SELECT pg_create_physical_replication_slot('$name', true)");
	$from->backup("for_$name");
	$node->init_from_backup($from, "for_$name", has_streaming => 1);
	without_parameters($node) if $path;
	$node->append_conf('postgresql.conf', "primary_slot_name = '$name'\n");
	return $node;
}

# work(NODE[, \@READERS]) - run clients that write while bgwriter prunes; check that queries on the
# standbys READERS have right results
sub work
{
	my ($node, $readers) = @_;
	my $before = $node->{bgvacuum} ? bgvacuum_stats($node) : undef;
	my $write = IPC::Run::start(
		[
			'pgbench', '-n', '-c', 3, '-t', $transactions, '--max-tries', 1000, '-f', $writer,
			'-d', $node->connstr('postgres')
		],
		'>',
		'/dev/null',
		'2>',
		\my $err);
	my %read;

	# Queries of readers are cancelled now and then, and the readers try again.  A reader ends after
	# a wrong result.
	for my $standby (@{ $readers // [] })
	{
		my $errors = '';
		$read{ $standby->name } = {
			errors => \$errors,
			session => IPC::Run::start(
				[
					'sh', '-c', $patient, 'sh', '-n', '-c', 2, '-t', 30, '--max-tries', 100000,
					'-f', $reader, '-d', $standby->connstr('postgres')
				],
				'>',
				'/dev/null',
				'2>',
				\$errors)
		};
	}
	ok($write->finish, $node->name . ': clients worked') or diag $err;
	for my $name (sort keys %read)
	{
		ok($read{$name}{session}->finish, "$name: queries have right results meanwhile")
		  or diag ${ $read{$name}{errors} };
	}
	if ($before)
	{
		my $pruned = bgvacuum_stats($node)->{pages_pruned} - $before->{pages_pruned};
		cmp_ok($pruned, '>', $transactions / 5, $node->name . ": bgwriter has pruned ($pruned)");
	}
	return;
}

sub digest
{
	my ($node) = @_;

	return join ' ', map {
		$node->safe_psql('postgres',
			"SELECT '$_', count(*), md5(string_agg(x::text, ',' ORDER BY x::text)) FROM $_ x")
	} qw(a t held catalog);
}

# give_up(NODE) - end the test after a server has failed, because later results would mean nothing
sub give_up
{
	my ($node) = @_;

	check_log($node, $node->name);
	$node->{_pid} = undef if !-e $node->data_dir . '/postmaster.pid';
	done_testing();
	exit 1;
}

sub catch_up
{
	my ($from, @nodes) = @_;
	my $lsn = $from->lsn('insert');

	$from->safe_psql('postgres', 'SELECT pg_log_standby_snapshot()');
	for my $node (@nodes)
	{
		ok( eval {
				$node->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn'");
			},
			$node->name . ' replays all WAL of ' . $from->name) or give_up($node);
	}
	return;
}

sub same_data
{
	my ($from, @nodes) = @_;
	my $expected = digest($from);

	catch_up($from, @nodes);
	is(digest($_), $expected, $_->name . ' has the data of ' . $from->name) for @nodes;
	# In recovery no page is marked as changed, so bgwriter has nothing to prune.  The counter
	# "rounds" counts its attempts.
	is(join(' ', @{ bgvacuum_stats($_) }{qw(rounds pages_pruned)}),
		'0 0', $_->name . ' does not prune in recovery')
	  for grep { $_->{bgvacuum} } @nodes;
	return;
}

# Check the log from the end of the last check.  Allow the messages of standbys that lose their
# primary.
sub clean_log
{
	my ($node) = @_;
	my @lines = grep {
		!/could not (?:connect to the primary|receive data from WAL stream|send end-of-streaming)|background worker "logical replication launcher" .* exited with exit code 1|invalid record length at .* got 0$/
	} bad_log_lines($node, $node->{seen});

	is(join("\n", @lines), '', $node->name . ': nothing bad in the log');
	$node->{seen} = -s $node->logfile;
	return;
}

my $stock = standby('stock', $primary, $stock_path);
$stock->start;
my $cascade = standby('cascade', $stock);
$cascade->start;
my $near = standby('near', $primary);
$near->append_conf('postgresql.conf', "max_standby_streaming_delay = 100ms\n");
$near->start;
$_->{bgvacuum} = 1 for $primary, $cascade, $near;
is($near->safe_psql('postgres', 'SHOW bgvacuum'), 'on', 'bgvacuum is on on the standby');

# Run the clients, with readers on all standbys.
work($primary, [ $stock, $cascade, $near ]);
same_data($primary, $stock, $cascade, $near);

# A query on a standby that still sees rows which the primary has removed must be cancelled.
# The query must not return a wrong result.
my $fill = 'TRUNCATE held; INSERT INTO held SELECT i, 0 FROM generate_series(1, 1000) i';
$primary->safe_psql('postgres', $fill);
catch_up($primary, $near);
{
	my $conflicts =
	  'SELECT confl_snapshot FROM pg_stat_database_conflicts WHERE datname = current_database()';
	my $before = $near->safe_psql('postgres', $conflicts);
	my $session = $near->background_psql('postgres', on_error_stop => 0);

	is($session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM held'),
		1000, 'a snapshot on the standby sees all rows');
	$primary->safe_psql('postgres', 'DELETE FROM held WHERE i % 2 = 0');
	ok(wait_for_tuples($primary, 'held', 500),
		'rows that the snapshot sees are pruned on the primary');
	ok($near->poll_query_until('postgres', "SELECT ($conflicts) > $before"),
		'the conflict is counted');
	catch_up($primary, $near);
	my $found = eval { $session->query('SELECT count(*) FROM held') } // '';
	is($found, '', 'the query is cancelled');
	eval { $session->quit };
}

# With hot_standby_feedback, the primary keeps rows that a standby sees.  The primary also keeps
# these rows after the standby has stopped, as long as the slot has the xmin of the standby.  This
# also holds for a stock standby that has a standby itself.
for my $standby ($near, $stock)
{
	my $name = $standby->name;

	$primary->safe_psql('postgres', $fill);
	$standby->append_conf('postgresql.conf', 'hot_standby_feedback = on');
	$standby->reload;
	catch_up($primary, $standby);
	my $session = $standby->background_psql('postgres', on_error_stop => 0);
	is($session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM held'),
		1000, "$name: a snapshot on the standby sees all rows, with feedback");
	ok( $primary->poll_query_until(
			'postgres',
			"SELECT xmin IS NOT NULL FROM pg_replication_slots WHERE slot_name = '$name'"),
		"$name: the slot has an xmin");
	my $recent = bgvacuum_stats($primary);
	$primary->safe_psql('postgres', 'DELETE FROM held WHERE i % 2 = 0');
	ok(wait_for_rounds($primary, 20), "$name: bgwriter makes rounds");
	is(line_pointers($primary, 'held')->{normal},
		1000, "$name: rows that the standby sees are not pruned");
	cmp_ok(
		bgvacuum_stats($primary)->{skipped_recent},
		'>',
		$recent->{skipped_recent},
		"$name: bgwriter has found rows that are not dead to everyone");
	catch_up($primary, $standby);
	is($session->query_safe('SELECT count(*) FROM held'),
		1000, "$name: the snapshot still sees all rows");
	$standby->stop('immediate');
	eval { $session->quit };
	$primary->safe_psql('postgres', 'UPDATE held SET n = 1 WHERE i % 50 = 1');
	ok(wait_for_rounds($primary, 20), "$name: bgwriter makes rounds without the standby");
	is(line_pointers($primary, 'held')->{normal},
		1020, "$name: rows that the slot holds back are not pruned");
	$standby->append_conf('postgresql.conf', 'hot_standby_feedback = off');
	$standby->start;
	ok( $primary->poll_query_until(
			'postgres', "SELECT xmin IS NULL FROM pg_replication_slots WHERE slot_name = '$name'"),
		"$name: the slot has no xmin any more");
	$primary->safe_psql('postgres', 'UPDATE held SET n = 2 WHERE i % 50 = 3');
	ok(wait_for_tuples($primary, 'held', 500), "$name: the rows are pruned");
}
same_data($primary, $stock, $cascade, $near);

# Logical slots on the primary and on both kinds of standbys decode the same changes.  bgwriter does
# not prune user catalog tables.  Prunes of other tables do not invalidate slots on standbys, even
# without feedback.
{
	my @nodes = ($primary, $stock, $near);

	$primary->safe_psql('postgres',
		q{SELECT pg_create_logical_replication_slot('decode_primary', 'test_decoding')});
	for my $node ($stock, $near)
	{
		my $name = $node->name;
		my $create = IPC::Run::start(
			[
				'psql', '-XAtq', '-d', $node->connstr('postgres'),
				'-c', "SELECT pg_create_logical_replication_slot('decode_$name', 'test_decoding')"
			],
			'<',
			\undef,
			'>',
			'/dev/null',
			'2>',
			\my $err);
		# On a standby, the creation of a slot waits for a WAL record of the running transactions.
		$primary->poll_query_until('postgres', 'SELECT pg_log_standby_snapshot() IS NOT NULL')
		  && usleep(300_000)
		  for 1 .. 5;
		ok($create->finish, "$name: a logical slot is created") or diag $err;
	}
	$primary->safe_psql('postgres',
		'INSERT INTO catalog SELECT i, 0 FROM generate_series(1, 1000) i; UPDATE catalog SET n = 1; DELETE FROM catalog WHERE i % 2 = 0'
	);
	# The slots keep deleted rows of catalogs only, so other tables are pruned.
	work($primary);
	$primary->safe_psql('postgres', 'UPDATE held SET n = 3; DELETE FROM held WHERE i % 5 = 0');
	ok(wait_for_rounds($primary, 10), 'bgwriter makes rounds');
	is(line_pointers($primary, 'catalog')->{normal}, 2000, 'a user catalog table is left alone');
	catch_up($primary, $stock, $near);
	# Nothing is written from here on, so that all slots end with the same change.
	my %changes;
	for my $node (@nodes)
	{
		my $name = $node->name;
		$changes{$name} = $node->safe_psql('postgres',
			qq{SELECT count(*) || ' ' || md5(string_agg(data, ',')) FROM (SELECT data FROM pg_logical_slot_get_changes('decode_$name', NULL, NULL, 'include-xids', '0') WHERE data LIKE 'table %a:%' OR data LIKE 'table public.catalog:%' OR data LIKE 'table public.held:%' OR data LIKE 'table public.t:%') d}
		);
	}
	is($changes{$_}, $changes{primary}, "$_: the slot decodes the same as on the primary")
	  for 'stock', 'near';
	like($changes{primary}, qr/^[1-9]\d{3}/, 'the slots decode more than 1,000 changes');
	is( $_->safe_psql(
			'postgres',
			q{SELECT count(*) FROM pg_replication_slots WHERE slot_type = 'logical' AND (conflicting OR invalidation_reason IS NOT NULL)}
		),
		0,
		$_->name . ': slots are valid') for $stock, $near;
	$_->safe_psql('postgres', "SELECT pg_drop_replication_slot('decode_@{[ $_->name ]}')")
	  for @nodes;
	work($primary);
	check_heaps($primary, 'primary');
	clean_log($_) for @nodes, $cascade;
}

# Promote the standby "near", and run clients on it.
{
	catch_up($primary, $near);
	$near->promote;
	work($near);
	check_heaps($near, 'near');
	check_indexes($near, 'near');
	clean_log($near);
	$near->stop;
}

# The stock server takes over.  The old primary has changes of its own, and comes back as a standby.
{
	same_data($primary, $stock, $cascade);
	$stock->promote;
	work($primary);
	work($stock);
	same_data($stock, $cascade);
	$primary->stop;
	clean_log($primary);
	my $conf_file = $primary->data_dir . '/postgresql.conf';
	my $text = slurp_file($conf_file);
	$stock->safe_psql('postgres',
		q{CHECKPOINT; SELECT pg_create_physical_replication_slot('back', true)});
	command_ok(
		[
			'pg_rewind', '--source-server',
			$stock->connstr('postgres'), '--target-pgdata',
			$primary->data_dir, '--no-sync',
			'--config-file', $conf_file
		],
		'pg_rewind of the old primary succeeds');
	# pg_rewind has copied the settings of the source.
	unlink $conf_file;
	append_to_file($conf_file, $text);
	$primary->append_conf('postgresql.conf',
		"primary_conninfo = '@{[ $stock->connstr ]} application_name=primary'\nprimary_slot_name = back\n"
	);
	$primary->set_standby_mode;
	$primary->start;
	work($stock);
	same_data($stock, $primary, $cascade);
	check_heaps($stock, 'stock');
}

# The old primary is promoted.  A patched server on the data directory of the stock server becomes
# the standby of this primary.  At the end, a stock server runs on the data directory of the
# primary.
{
	$stock->stop;
	clean_log($stock);
	$primary->promote;
	work($primary);
	my $follower = hand_over($stock, 'follower', undef);
	$follower->append_conf('postgresql.conf',
		"primary_conninfo = '@{[ $primary->connstr ]} application_name=follower'\nprimary_slot_name = ''\n"
		  . "bgvacuum = on\ndebug_bgvacuum = on\nbgwriter_lru_maxpages = 1000\n");
	$follower->set_standby_mode;
	$follower->{bgvacuum} = 1;
	$follower->start;
	work($primary, [$follower]);
	same_data($primary, $follower);
	check_heaps($primary, 'primary');
	check_indexes($primary, 'primary');
	$primary->stop;
	clean_log($_) for $primary, $follower;
	my $expected = digest($follower);
	my $under_stock = hand_over($primary, 'under_stock', $stock_path);
	without_parameters($under_stock);
	$under_stock->start;
	is(digest($under_stock), $expected,
		'a stock server has the same data in the directory of the patched one');
	work($under_stock);
	check_heaps($under_stock, 'under_stock');
	clean_log($under_stock);
	$follower->promote;
	work($follower);
	clean_log($follower);
}

done_testing();
