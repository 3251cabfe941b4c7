# Check that bgwriter never treats a row as dead that is still needed:
#
# - rows of transactions in progress, at any place of the ProcArray, also if their subtransactions
#   are only in pg_subtrans, and rows of prepared transactions;
# - rows that a snapshot, a cursor, a slot or a session of another database may still see.
#
# bgwriter must also not move the rows of a page that a session has pinned, and must not change a
# clean page.
#
# bgwriter prunes a page only if it has rows that are dead to everyone.  So each test first deletes
# rows of the page.  A snapshot keeps these rows until the test has prepared everything else.  Then
# the transaction that is tested makes the page dirty again.
#
# The pages stay less than 90 % full, so that no other process prunes them.
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

# No process but the sessions of the test must be connected.  So switch off the logical replication
# launcher, which would be connected as well.
my $node = bgvacuum_node(
	'visibility',
	shared_buffers => '4MB',
	init => [ allows_streaming => 'logical' ],
	conf =>
	  "max_connections = 50\nmax_logical_replication_workers = 0\nwal_receiver_status_interval = 1s\n"
);
$node->safe_psql('postgres', 'CREATE DATABASE other');

# rows_of(TABLE[, SETTING]) - return the rows that are visible to all, each as ID:V
sub rows_of
{
	my ($table, $setting) = @_;

	return $node->safe_psql('postgres',
		($setting // '') . "SELECT string_agg(id || ':' || v, ' ' ORDER BY id) FROM $table");
}

# rows(FROM, TO, [ID...], ID => V...) - return the expected rows FROM to TO with v = '-', but
# without the deleted rows ([ID...]), and with other values of v for some rows (ID => V)
sub rows
{
	my ($from, $to, $deleted, %other) = @_;
	my %v = (map({ $_ => '-' } $from .. $to), %other);

	delete @v{@$deleted};
	return join ' ', map { "$_:$v{$_}" } sort { $a <=> $b } keys %v;
}

# with_dead(TABLE...) - make tables with the rows 1 to 20, and 10 rows that are dead to all sessions
# except one; return that session
sub with_dead
{
	my @tables = @_;

	$node->safe_psql(
		'postgres',
		join '',
		map {
			"CREATE TABLE $_ (id int PRIMARY KEY, v text); INSERT INTO $_ SELECT i, '-' FROM generate_series(1, 30) i;\n"
		} @tables);
	my $holder = hold_horizon($node);
	$node->safe_psql('postgres', join '', map { "DELETE FROM $_ WHERE id > 20;\n" } @tables);
	return $holder;
}

# numbers(SESSION...) - return the positions of these sessions in the list of all backends
sub numbers
{
	my %pids = map { $_->query_safe('SELECT pg_backend_pid()') => 1 } @_;
	my @ids = split /\n/,
	  $node->safe_psql('postgres',
		q{SELECT pg_stat_get_backend_pid(id) FROM pg_stat_get_backend_idset() id WHERE pg_stat_get_backend_pid(id) <> pg_backend_pid() ORDER BY id}
	  );

	return grep { $pids{ $ids[$_] } } 0 .. $#ids;
}

## Transactions in progress at every place of the ProcArray

{
	my @tables = map { "crowd$_" } 0 .. 15;
	my $holder = with_dead(@tables);
	my @sessions = map { $node->background_psql('postgres') } @tables;

	for my $i (0 .. $#tables)
	{
		my $t = $tables[$i];
		$sessions[$i]->query_safe(
			"BEGIN; INSERT INTO $t SELECT i, 'new' FROM generate_series(41, 45) i; DELETE FROM $t WHERE id IN (1, 2);"
			  . " UPDATE $t SET v = 'changed' WHERE id IN (3, 4); SELECT count(*) FROM (SELECT FROM $t WHERE id = 5 FOR UPDATE) x"
		);
	}
	my @numbers = numbers(@sessions);
	note "places of the sessions: @numbers";

	# Let another transaction complete after the inserting transactions have begun.  From then on, a
	# process that does not see an inserting transaction in progress takes it for aborted.
	my $stats = bgvacuum_stats($node);
	$node->safe_psql('postgres', 'SELECT pg_current_xact_id()');
	$holder->quit;
	usleep(100_000);
	for my $id (46 .. 48)
	{
		$sessions[$_]->query_safe("INSERT INTO $tables[$_] VALUES ($id, 'new')") for 0 .. $#tables;
		usleep(50_000);
	}
	is(scalar(grep { !wait_for_tuples($node, $_, 30) } @tables),
		0, 'dead rows are pruned beside transactions in progress');
	cmp_ok(
		bgvacuum_stats($node)->{tuples_removed} - $stats->{tuples_removed},
		'>=',
		10 * @tables,
		'bgwriter prunes the dead rows beside transactions in progress');

	is( join("\n", map { rows_of($_) } @tables),
		join("\n", (rows(1, 20, [])) x @tables),
		'no other session sees changes of transactions in progress');
	for my $what (
		'UPDATE %s SET v = v WHERE id = 3',
		'DELETE FROM %s WHERE id = 1',
		'SELECT FROM %s WHERE id = 5 FOR UPDATE')
	{
		my @free;
		for my $t (@tables)
		{
			my ($code, undef, $err) =
			  $node->psql('postgres', "SET lock_timeout = '10ms'; " . sprintf($what, $t));
			push @free, "$t $err" if !$code || $err !~ /lock timeout/;
		}
		is("@free", '', 'rows stay locked against: ' . sprintf($what, 'TABLE'));
	}
	$sessions[$_]->query_safe($_ % 4 == 3 ? 'ROLLBACK' : 'COMMIT') for 0 .. $#tables;
	my @expected = map {
		$_ % 4 == 3
		  ? rows(1, 20, [])
		  : rows(1, 20, [ 1, 2 ], 3 => 'changed', 4 => 'changed', map { $_ => 'new' } 41 .. 48)
	} 0 .. $#tables;
	is( join("\n", map { rows_of($_) } @tables),
		join("\n", @expected),
		'changes are committed and rolled back as they should');

	# Check again, with new sessions.
	$_->quit for @sessions;
	wait_for_rounds($node);
	is( join("\n", map { rows_of($_, 'SET enable_seqscan = off;') } @tables),
		join("\n", @expected),
		'an index finds the same rows');
}

## Subtransactions: few, and more than a process keeps in shared memory

for my $case ([ 'few', 20 ], [ 'many', 120 ])
{
	my ($t, $count) = @$case;
	my $holder = with_dead($t, "${t}_aborted", "${t}_prepared");
	# Every third subtransaction is rolled back.  Every fifth one also updates a row, and every
	# seventh one deletes a row.
	my $work = <<'SQL';
BEGIN;
DO $do$
BEGIN
	FOR i IN 1 .. %2$d LOOP
		BEGIN
			INSERT INTO %1$s VALUES (100 + i, 'sub');
			IF i %% 5 = 0 AND i <= 50 THEN
				UPDATE %1$s SET v = 'changed' WHERE id = i / 5;
			END IF;
			IF i %% 7 = 0 AND i <= 70 THEN
				DELETE FROM %1$s WHERE id = 10 + i / 7;
			END IF;
			IF i %% 3 = 0 THEN
				RAISE EXCEPTION 'roll back';
			END IF;
		EXCEPTION WHEN raise_exception THEN
			NULL;
		END;
	END LOOP;
END
$do$;
SQL
	my @sessions = map { $node->background_psql('postgres') } 0 .. 2;
	my @tables = ($t, "${t}_aborted", "${t}_prepared");
	$sessions[$_]->query_safe(sprintf($work, $tables[$_], $count)) for 0 .. 2;
	$sessions[2]
	  ->query_safe("INSERT INTO $tables[2] VALUES (500, 'last'); PREPARE TRANSACTION '$t'");
	$node->safe_psql('postgres', 'SELECT pg_current_xact_id()');
	$holder->quit;

	my @done = grep { $_ % 3 != 0 } 1 .. $count;
	my %new = map({ 100 + $_ => 'sub' } @done);
	$new{ $_ / 5 } = 'changed' for grep { $_ % 5 == 0 && $_ <= 50 } @done;
	my @deleted = map { 10 + $_ / 7 } grep { $_ % 7 == 0 && $_ <= 70 } @done;
	my $expected = rows(1, 20, \@deleted, %new, 500 => 'last');
	# all rows, and the new versions of updated rows
	my $tuples = 20 + 1 + keys(%new);

	$sessions[$_]->query_safe("INSERT INTO $tables[$_] VALUES (500, 'last')") for 0 .. 1;
	$node->safe_psql('postgres', "INSERT INTO $tables[2] VALUES (501, 'last')");
	is(scalar(grep { !wait_for_tuples($node, $tables[$_], $tuples + ($_ == 2)) } 0 .. 2),
		0, "$t subtransactions: dead rows are pruned");
	is( rows_of($tables[0]),
		rows(1, 20, []),
		"$t subtransactions: no change is visible before the commit");
	$sessions[0]->query_safe('COMMIT');
	$sessions[1]->query_safe('ROLLBACK');
	is(rows_of($tables[0]),
		$expected, "$t subtransactions: all changes are visible after the commit");
	is( rows_of($tables[1]),
		rows(1, 20, []),
		"$t subtransactions: no change is visible after the rollback");

	$node->restart;
	$node->safe_psql('postgres', "INSERT INTO $tables[2] VALUES (502, 'last')");
	wait_for_rounds($node);
	is( rows_of($tables[2]),
		rows(1, 20, [], 501 => 'last', 502 => 'last'),
		"$t subtransactions prepared: no change is visible before the commit, after a restart");
	$node->safe_psql('postgres', "COMMIT PREPARED '$t'");
	is( rows_of($tables[2]),
		"$expected 501:last 502:last",
		"$t subtransactions prepared: all changes are visible after the commit");
	$_->quit for @sessions;
}

## Prepared transactions, with no other session in the ProcArray

{
	my @tables = map { "prepared$_" } 0 .. 3;
	my $holder = with_dead(@tables);

	for my $t (@tables)
	{
		$node->safe_psql('postgres', <<"SQL");
BEGIN;
INSERT INTO $t VALUES (41, 'new'), (42, 'new');
DELETE FROM $t WHERE id IN (1, 2);
UPDATE $t SET v = 'changed' WHERE id IN (3, 4);
SELECT FROM $t WHERE id = 5 FOR UPDATE;
PREPARE TRANSACTION '$t';
SQL
	}
	# Sessions that make pages dirty must have ended by the next round.
	set_parameters($node, bgwriter_delay => '400ms');
	my $stats = bgvacuum_stats($node);
	$node->safe_psql('postgres', 'SELECT pg_current_xact_id()');
	$holder->quit;
	usleep(700_000);
	for my $i (1 .. 3)
	{
		$node->safe_psql('postgres', join '',
			map { "INSERT INTO $_ VALUES (50 + $i, 'new');\n" } @tables);
		usleep(700_000);
	}
	set_parameters($node, bgwriter_delay => '10ms');
	# 20 rows, 2 inserted and 2 updated by the prepared transaction, and 3 inserted later
	is(scalar(grep { !wait_for_tuples($node, $_, 27) } @tables),
		0, 'dead rows are pruned beside prepared transactions');
	cmp_ok(
		bgvacuum_stats($node)->{tuples_removed} - $stats->{tuples_removed},
		'>=',
		10 * @tables,
		'bgwriter prunes the dead rows beside prepared transactions');

	my %others = map { $_ => 'new' } 51 .. 53;
	for my $restart ('', ' after a restart', ' after a crash')
	{
		if ($restart)
		{
			$node->stop($restart =~ /crash/ ? 'immediate' : 'fast');
			$node->start;
			$node->safe_psql(
				'postgres',
				join '',
				map { "INSERT INTO $_ VALUES (60, 'x'); DELETE FROM $_ WHERE id = 60;\n" } @tables);
			wait_for_rounds($node, 5);
		}
		is( join("\n", map { rows_of($_) } @tables),
			join("\n", (rows(1, 20, [], %others)) x @tables),
			"changes of prepared transactions are not visible$restart");
		for my $t (@tables)
		{
			my ($code, undef, $err) = $node->psql('postgres',
				"SET lock_timeout = '10ms'; UPDATE $t SET v = v WHERE id = 5");
			like($err, qr/lock timeout/, "rows that $t has locked stay locked$restart");
		}
	}
	# One of the prepared transactions was the first in the ProcArray.  Roll back one, and commit
	# the others.
	$node->safe_psql('postgres', join '',
		map { ($_ eq 'prepared1' ? 'ROLLBACK' : 'COMMIT') . " PREPARED '$_';\n" } @tables);
	wait_for_rounds($node);
	my @expected =
	  (rows(1, 20, [ 1, 2 ], %others, 3 => 'changed', 4 => 'changed', 41 => 'new', 42 => 'new')) x
	  @tables;
	$expected[1] = rows(1, 20, [], %others);
	is( join("\n", map { rows_of($_) } @tables),
		join("\n", @expected),
		'prepared transactions are committed and rolled back as they should');
}

## A pinned page is left alone.

# pinned(NAME, OPEN, READ) - check that dead rows of the first page of a table stay while a session
# has this page pinned.  The session pins the page in OPEN, and releases it in READ, which returns
# the rows.
sub pinned
{
	my ($name, $open, $read) = @_;
	my $t = 'pinned_by_' . $name =~ s/\W/_/gr;

	# Rows fill a page from its end.  If the dead rows were removed, the other rows would move to
	# their place.
	$node->safe_psql('postgres',
		"CREATE TABLE $t (id int PRIMARY KEY, v text); INSERT INTO $t SELECT i, i || repeat('-', 40) FROM generate_series(1, 40) i"
	);
	my $holder = hold_horizon($node);
	$node->safe_psql('postgres', "DELETE FROM $t WHERE id <= 20");
	my $session = $node->background_psql('postgres');
	$open->($session, $t);
	$holder->quit;

	# No session needs the dead rows any more, and other sessions make the page dirty.
	my $stats = bgvacuum_stats($node);
	for my $id (41 .. 43)
	{
		$node->safe_psql('postgres', "INSERT INTO $t VALUES ($id, 'late')");
		ok(wait_for_rounds($node), "$name: bgwriter makes rounds");
	}
	cmp_ok(bgvacuum_stats($node)->{skipped_locked} - $stats->{skipped_locked},
		'>', 0, "$name: bgwriter skips the pinned page");
	is(line_pointers($node, $t)->{normal}, 43, "$name: no row is removed");
	is( $read->($session, $t),
		join("\n", map { "$_|$_" . '-' x 40 } 21 .. 40),
		"$name: the session reads the right rows");
	$session->quit;
	$node->safe_psql('postgres', "INSERT INTO $t VALUES (44, 'late')");
	ok(wait_for_tuples($node, $t, 24), "$name: the dead rows are pruned when the pin is gone");
	return;
}

pinned(
	'a cursor',
	sub {
		my ($session, $t) = @_;
		is( $session->query_safe(
				"BEGIN; DECLARE c CURSOR FOR SELECT id, v FROM $t; FETCH 2 FROM c"),
			join("\n", map { "$_|$_" . '-' x 40 } 21, 22),
			'a cursor returns its first rows');
	},
	sub {
		join "\n", (map { "$_|$_" . '-' x 40 } 21, 22), $_[0]->query_safe('FETCH ALL FROM c');
	});

# Here the waiting session has a pointer to a value on the page.
pinned(
	'a row that is being read',
	sub {
		my ($session, $t) = @_;
		$node->{in_the_way} = $node->background_psql('postgres');
		$node->{in_the_way}->query_safe('SELECT pg_advisory_lock(1)');
		# Do not use the index, so that the session waits at the first row of the heap.
		$session->query_until(qr/begin/,
			"SET enable_indexscan = off;\n\\echo begin\nSELECT id || left(pg_advisory_lock_shared(1)::text, 0), v FROM $t;\n"
		);
		$node->poll_query_until('postgres',
			q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted})
		  or die 'no session waits';
	},
	sub {
		$node->{in_the_way}->quit;
		return $_[0]->query_safe('');
	});

## A clean page is left alone.

# A process that writes the dirty pages of a table and then copies its file would miss the change of
# a clean page.
{
	my $holder = with_dead('clean');
	my $written =
	  "SELECT isdirty FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('clean') AND relforknumber = 0 AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())";

	$node->safe_psql('postgres', 'CREATE EXTENSION pg_buffercache; CHECKPOINT');
	is($node->safe_psql('postgres', $written), 'f', 'a checkpoint writes the page');
	my $stats = bgvacuum_stats($node);
	$holder->quit;
	ok(wait_for_rounds($node, 10, $stats), 'bgwriter makes rounds after the snapshot has ended');
	is($node->safe_psql('postgres', $written), 'f', 'the page is still clean');
	is(line_pointers($node, 'clean')->{normal}, 30, 'no row is removed from the clean page');
	$node->safe_psql('postgres', "INSERT INTO clean VALUES (41, 'late')");
	ok(wait_for_tuples($node, 'clean', 21),
		'the dead rows are pruned when the page is dirty again');
}

## Rows are kept as long as any snapshot may see them.

my $number = 0;

# churn(TABLE) - update all rows several times and delete half of them
sub churn
{
	my ($t) = @_;

	$node->safe_psql('postgres', "UPDATE $t SET v = 'x$_'") for 1 .. 3;
	$node->safe_psql('postgres', "DELETE FROM $t WHERE id % 2 = 0");
	wait_for_rounds($node, 4);
	$node->safe_psql('postgres', "INSERT INTO $t VALUES (100, 'late')");
	wait_for_rounds($node, 4);
	return;
}

# kept(NAME, OPEN, READ, CLOSE) - check that all row versions stay between OPEN and CLOSE, that READ
# returns the rows as they were at OPEN, and that the old versions are pruned after CLOSE
sub kept
{
	my ($name, $open, $read, $close) = @_;
	my $t = 'kept' . ++$number;

	$node->safe_psql('postgres',
		"CREATE TABLE $t (id int PRIMARY KEY, v text); INSERT INTO $t SELECT i, '-' FROM generate_series(1, 30) i"
	);
	my $it = $open->($t);
	churn($t);
	is(line_pointers($node, $t)->{normal}, 121, "$name keeps all versions");
	is($read->($it, $t), rows(1, 30, []), "$name: the old rows are visible") if $read;
	$close->($it, $t);
	$node->safe_psql('postgres', "INSERT INTO $t VALUES (101, 'late')");
	ok(wait_for_tuples($node, $t, 17), "$name: the old versions are pruned at its end");
	is( rows_of($t),
		join(' ', (map { "$_:x3" } grep { $_ % 2 } 1 .. 30), '100:late', '101:late'),
		"$name: the new rows are there");
	return;
}

my $all = "SELECT string_agg(id || ':' || v, ' ' ORDER BY id) FROM %s";
my $quit = sub { $_[0]->quit };

for my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	kept(
		"a transaction that is $level",
		sub {
			my $session = $node->background_psql('postgres');
			$session->query_safe("BEGIN ISOLATION LEVEL $level; " . sprintf($all, $_[0]));
			return $session;
		},
		sub {
			my ($session, $t) = @_;
			my $by_index = $session->query_safe(
				'SET enable_seqscan = off; SET enable_bitmapscan = off; ' . sprintf($all, $t));
			my $by_heap = $session->query_safe(
				'SET enable_seqscan = on; SET enable_indexscan = off; SET enable_indexonlyscan = off; '
				  . sprintf($all, $t));
			return $by_index eq $by_heap ? $by_heap : "by index $by_index, by heap $by_heap";
		},
		$quit);
}

for my $level ('REPEATABLE READ', 'READ COMMITTED')
{
	kept(
		"a cursor of a transaction that is $level",
		sub {
			my ($t) = @_;
			my $session = $node->background_psql('postgres');
			$session->query_safe(
				"BEGIN ISOLATION LEVEL $level; DECLARE c SCROLL CURSOR FOR SELECT id || ':' || v FROM $t ORDER BY id;"
			);
			return $session;
		},
		# Fetch the rows forwards and backwards.
		sub {
			my ($session) = @_;
			my @forward = split /\n/, $session->query_safe('FETCH ALL FROM c');
			my @backward = split /\n/, $session->query_safe('FETCH BACKWARD ALL FROM c');
			return "@forward" eq join(' ', reverse @backward)
			  ? "@forward"
			  : "@forward, then @backward";
		},
		$quit);
}

kept(
	'a snapshot that is exported',
	sub {
		my $session = $node->background_psql('postgres');
		return [
			$session,
			$session->query_safe(
				'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot()')
		];
	},
	sub {
		my ($it, $t) = @_;
		return $node->safe_psql('postgres',
			"BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$it->[1]'; "
			  . sprintf($all, $t));
	},
	sub { $_[0][0]->quit });

# This session has no snapshot, and does not see the old rows.  But its xid is older than the xids
# that update and delete these rows.
kept(
	'a session idle in transaction',
	sub {
		my $session = $node->background_psql('postgres');
		$session->query_safe("BEGIN; SELECT pg_current_xact_id()");
		return $session;
	},
	undef,
	$quit);

kept(
	'a prepared transaction',
	sub {
		my ($t) = @_;
		$node->safe_psql('postgres',
			"BEGIN; CREATE TABLE prepared_with_$t (); PREPARE TRANSACTION '$t'");
	},
	undef,
	sub { $node->safe_psql('postgres', "COMMIT PREPARED '$_[1]'") });

# bgwriter has no database, so it must respect the snapshots of all databases.
kept('a snapshot of another database', sub { hold_horizon($node, 'other') }, undef, $quit);

# Wait until the slot has the xmin of the standby's present snapshots.
sub wait_for_feedback
{
	my $now = $node->safe_psql('postgres', 'SELECT clock_timestamp()');

	$node->poll_query_until('postgres', <<"SQL") or die 'no feedback';
SELECT xmin IS NOT NULL AND reply_time > '$now'::timestamptz + '1100 ms'
FROM pg_replication_slots, pg_stat_replication WHERE slot_name = 'reader'
SQL
	return;
}

# With hot_standby_feedback, a standby reports its xmin.  The slot keeps this xmin after the standby
# has stopped.
{
	my $standby = PostgreSQL::Test::Cluster->new('reader');

	$node->safe_psql('postgres', q{SELECT pg_create_physical_replication_slot('reader', true)});
	$node->backup('for_reader');
	$standby->init_from_backup($node, 'for_reader', has_streaming => 1);
	$standby->append_conf('postgresql.conf',
		"primary_slot_name = 'reader'\nhot_standby_feedback = on\nmax_standby_streaming_delay = 0\n"
	);
	$standby->start;

	# Start a session of the standby with a snapshot, and wait until the primary knows of it.
	my $read = sub {
		my ($t) = @_;
		$node->wait_for_catchup($standby);
		my $session = $standby->background_psql('postgres');
		$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; ' . sprintf($all, $t));
		wait_for_feedback();
		return $session;
	};
	kept(
		'a standby that reads',
		$read,
		sub {
			my ($session, $t) = @_;
			$node->wait_for_catchup($standby);
			return $session->query_safe(sprintf($all, $t));
		},
		sub { $_[0]->quit; wait_for_feedback(); });
	kept(
		'the slot of a standby that is gone',
		sub {
			my $session = $read->(@_);
			$standby->stop('immediate');
			eval { $session->quit };
			return;
		},
		undef,
		sub { $node->safe_psql('postgres', q{SELECT pg_drop_replication_slot('reader')}) });
}

check_heaps($node, 'at the end');
check_indexes($node, 'at the end');
check_log($node, 'at the end');
$node->stop;

done_testing();
