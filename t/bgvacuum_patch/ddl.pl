# bgwriter must never prune a page of a relation that is gone.  A transaction that removes a
# relation writes its commit record, releases its locks, and then removes the files.  A record of
# a prune after the commit record would stop recovery and every standby.
#
# First keep sessions in the gap between the commit record and the removal of files (gap.c), while
# bgwriter continues to prune, and kill the server there.  Then run all kinds of DDL beside clients
# that update and delete.  A standby replays all WAL, and compares its pages with full-page images.
use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";

use PgDense::Bgvacuum;
use PgDense::Crash;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

needs_patch('bgvacuum_patch', 'bgvacuum');

my $tmp = $PostgreSQL::Test::Utils::tmp_check;
my $seconds = $ENV{PGDENSE_SOAK} ? 600 : 10;
my $timeout = $PostgreSQL::Test::Utils::timeout_default;

# Keep all WAL, to read it at the end.  Tablespaces are folders of the data directory, so that the
# standby has its own.
my $conf = <<'CONF';
wal_consistency_checking = all
wal_compression = on
wal_keep_size = 100GB
max_wal_size = 1GB
allow_in_place_tablespaces = on
synchronous_commit = local
max_connections = 100
max_wal_senders = 10
fsync = on
CONF

my $primary = bgvacuum_node(
	'primary',
	shared_buffers => '16MB',
	conf => $conf,
	init => [ allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ] ]);
my $start = $primary->lsn('insert');
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
$primary->safe_psql('postgres', q{CREATE TABLESPACE elsewhere LOCATION ''});

# records_of_the_gone(NODE, START) - return the records from START on that change a relation or a
# database after the record that removes it.  Also return the records that prune a page after a
# truncation has removed the page, and before the file has this page again.  Also return the number
# of records of prunes.
sub records_of_the_gone
{
	my ($node, $from) = @_;
	my (%gone, %truncated, %bad);
	my $prunes = 0;

	$node->safe_psql('postgres', 'SELECT pg_switch_wal()');
	open my $wal, '-|', "pg_waldump -p '@{[ $node->data_dir ]}/pg_wal' -s '$from' 2>&1"
	  or die "could not run pg_waldump: $!";
	while (my $line = <$wal>)
	{
		my ($rmgr, $lsn, $what) = $line =~ /^rmgr: (\S+) .* lsn: ([^,]+), .* desc: (\S+)/ or next;

		if ($rmgr eq 'Transaction')
		{
			# The relations that a prepared transaction drops are removed later, when the
			# transaction ends.
			$gone{$_} = "$what at $lsn"
			  for map { relation_of_path($_) } map { split / / } $line =~ /; rels: ([^;]+)/;
		}
		elsif ($rmgr eq 'Storage' && $what eq 'CREATE')
		{
			my $relation = relation_of_path($line =~ /desc: CREATE (\S+)/);

			delete $gone{$relation};
			delete $truncated{$relation};
		}
		elsif ($rmgr eq 'Storage' && $what eq 'TRUNCATE')
		{
			my ($path, $blocks) = $line =~ /desc: TRUNCATE (\S+) to (\d+) blocks/ or die $line;

			$truncated{ relation_of_path($path) } = { blocks => $blocks, name => "$what at $lsn" };
		}
		elsif ($rmgr eq 'Database')
		{
			if ($what eq 'DROP')
			{
				$gone{$_} = "$what at $lsn" for $line =~ m{ (\d+/\d+)}g;
			}
			else
			{
				my ($database) = $line =~ m{(?:create dir| to) (\d+/\d+)} or die $line;
				delete @gone{ grep { m{^$database(?:/|$)} } keys %gone };
			}
		}
		$prunes++ if $what eq 'PRUNE_ON_ACCESS';
		while ($line =~ m{blkref #\d+: rel ((\d+/\d+)/\d+),? (fork \S+ )?blk (\d+)}g)
		{
			my ($relation, $database, $fork, $block) = ($1, $2, $3 // '', $4);
			my $reason = $gone{$relation} // $gone{$database};
			my $truncated = $truncated{$relation};

			if (   $truncated
				&& !$fork
				&& $block >= $truncated->{blocks}
				&& !$truncated->{again}{$block})
			{
				$reason //= $truncated->{name} if $what =~ /^PRUNE/;
				$truncated->{again}{$block} = 1;
			}
			push @{ $bad{$relation} }, "$what of $relation $fork$block at $lsn after $reason"
			  if $reason;
		}
	}
	close $wal;
	note "$prunes records of prunes";
	# Report only the first record of each relation, and the number of records.
	return (join("\n", map { scalar(@{ $bad{$_} }) . ": $bad{$_}[0]" } sort keys %bad), $prunes);
}

# Return the identity of the relation whose file pg_waldump names.
sub relation_of_path
{
	my ($path) = @_;

	chomp $path;
	return "1663/$1/$2" if $path =~ m{^base/(\d+)/(\d+)};
	return "1664/0/$1" if $path =~ m{^global/(\d+)};
	return "$1/$2/$3" if $path =~ m{^pg_tblspc/(\d+)/[^/]+/(\d+)/(\d+)};
	die "what relation is $path?";
}

# Return the contents of a database as text.
sub digest
{
	my ($node, $database) = @_;
	my @tables = split /\n/,
	  $node->safe_psql($database,
		q{SELECT oid::regclass FROM pg_class WHERE relkind IN ('r', 'm') AND relnamespace = 'public'::regnamespace AND relpersistence = 'p' ORDER BY relname}
	  );

	return join '; ', map {
		"$_ "
		  . $node->safe_psql($database,
			"SELECT count(*), md5(string_agg(x::text, ',' ORDER BY x::text)) FROM $_ x")
	} @tables;
}

sub databases
{
	my ($node) = @_;
	return split /\n/,
	  $node->safe_psql('postgres',
		'SELECT datname FROM pg_database WHERE datallowconn ORDER BY datname');
}

# Return whether the standby replays WAL up to this location.  It may take long if it is far behind,
# so stop only if it makes no progress.
sub replays
{
	my ($lsn) = @_;
	my $before = '';

	while (1)
	{
		my $now = $standby->safe_psql('postgres', 'SELECT pg_last_wal_replay_lsn()');
		return 0 if $now eq $before;
		$before = $now;
		return 1
		  if $standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn'");
	}
}

# Check that the standby has replayed all WAL without an error, and has the same rows.
sub same_on_standby
{
	my ($what) = @_;
	my $lsn = $primary->lsn('insert');

	# A server that has died cannot be queried.
	if (!ok(eval { replays($lsn) }, "$what: the standby replays all WAL"))
	{
		log_is_clean($standby, "$what, standby");
		$standby->{_pid} = undef if !-e $standby->data_dir . '/postmaster.pid';
		give_up();
	}
	my @databases = databases($primary);
	is(join(' ', databases($standby)), "@databases", "$what: the standby has the same databases");
	is( digest($standby, $_),
		digest($primary, $_),
		"$what: the standby has the same rows in database $_") for @databases;
	log_is_clean($standby, "$what, standby");
	return;
}

# log_is_clean(NODE, NAME[, OFFSET]) - check the log, but allow messages of recovery at the end of
# WAL, of a database that is dropped a second time, and of sessions that end before the test
# terminates them
sub log_is_clean
{
	my ($node, $name, $offset) = @_;
	my @lines = grep {
		!/invalid record length at .* got 0$|could not open directory "pg_tblspc|some useless files may be left behind in old database|PID \d+ is not a PostgreSQL backend process/
	} bad_log_lines($node, $offset);

	return is(join("\n", @lines), '', "$name: nothing bad in the log");
}

# End the test, because later results would mean nothing.
sub give_up
{
	done_testing();
	exit 1;
}

# Wait until the query returns true.  Return false after a timeout.
sub wait_until
{
	my ($query, $name) = @_;
	my $reached = $primary->poll_query_until('postgres', $query);

	ok($reached, $name);
	return $reached;
}

my $library = server_library('gap.c');
my $gap = "$tmp/gap";
my $bgwriter;

# Stop bgwriter between two rounds.  In the middle of a round, it might go on with an old list of
# running transactions.
sub stop_bgwriter
{
	for (1 .. 1000)
	{
		($bgwriter) = $primary->safe_psql('postgres',
			q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'});
		kill 'STOP', $bgwriter;
		return
		  if $primary->safe_psql('postgres',
			"SELECT wait_event FROM pg_stat_activity WHERE pid = $bgwriter") =~ /^Bgwriter/i;
		kill 'CONT', $bgwriter;
		usleep(5_000);
	}
	die 'bgwriter is never between two rounds';
}

# These are the kinds of transactions that remove files.  Each kind has a table g_KIND of its own,
# with rows that were deleted before.  bgwriter has not yet visited the pages of this table.  Rows
# that the transaction itself deletes can also be pruned after its end.  SET TABLESPACE copies pages
# with their hint (pd_prune_xid) that there is something to prune.
my $copied = 'ALTER TABLE g_KIND SET TABLESPACE elsewhere; DELETE FROM g_KIND WHERE i % 10 = 3;';
my %kinds = (
	drop => 'DROP TABLE g_KIND;',
	drop_own => 'BEGIN; DELETE FROM g_KIND; DROP TABLE g_KIND; COMMIT;',
	drop_many => 'DROP SCHEMA g_KIND CASCADE;',
	drop_toast => 'DROP TABLE g_KIND;',
	truncate => 'TRUNCATE g_KIND;',
	truncate_own =>
	  'BEGIN; DELETE FROM g_KIND; TRUNCATE g_KIND; INSERT INTO g_KIND SELECT 1; COMMIT;',
	cluster => 'CLUSTER g_KIND USING g_KIND_pkey;',
	vacuum_full => 'VACUUM FULL g_KIND;',
	rewrite => 'ALTER TABLE g_KIND ALTER v TYPE varchar(2000) USING v || 1;',
	tablespace => 'ALTER TABLE g_KIND SET TABLESPACE elsewhere;',
	unlogged => 'ALTER TABLE g_KIND SET UNLOGGED;',
	matview => 'REFRESH MATERIALIZED VIEW g_KIND_m;',
	rollback_copied => "BEGIN; $copied ROLLBACK;",
	rollback_created =>
	  "BEGIN; CREATE TABLE g_KIND_new AS SELECT * FROM g_KIND; DELETE FROM g_KIND_new WHERE i % 2 = 0; ROLLBACK;",
	rollback_truncate =>
	  'BEGIN; TRUNCATE g_KIND; INSERT INTO g_KIND SELECT i, 1, repeat(i::text, 20) FROM generate_series(1, 100) i; DELETE FROM g_KIND WHERE i % 2 = 0; ROLLBACK;',
	error => "BEGIN; $copied SELECT 1 / 0;",
	subtransaction =>
	  "BEGIN; SAVEPOINT s; $copied ROLLBACK TO s; INSERT INTO g_KIND VALUES (-1); COMMIT;",
	exception =>
	  "DO \$\$ BEGIN $copied PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN INSERT INTO g_KIND VALUES (-1); END \$\$;",
	release => 'BEGIN; SAVEPOINT s; DELETE FROM g_KIND; DROP TABLE g_KIND; RELEASE s; COMMIT;',
	prepared_drop =>
	  q{BEGIN; DROP TABLE g_KIND; PREPARE TRANSACTION 'g_KIND'; SET synchronous_commit = on; COMMIT PREPARED 'g_KIND';},
	prepared_rollback =>
	  "BEGIN; $copied PREPARE TRANSACTION 'g_KIND'; SET synchronous_commit = on; ROLLBACK PREPARED 'g_KIND';",
	synchronous => 'SET synchronous_commit = on; DROP TABLE g_KIND;',);

# If one transaction drops this many relations, background vacuum also forgets the pages of all
# other relations.  This would hide errors of the other kinds, so this kind runs alone.
my @many = ('drop_many');

# These transactions still count as running in the gap.  So rows that are deleted later are not
# pruned.  Start these transactions only after the others are in the gap.
my @running = grep { /^(?:subtransaction|exception|prepared|synchronous)/ } sort keys %kinds;
my @ended =
  grep { !/^(?:subtransaction|exception|prepared|synchronous|drop_many)/ } sort keys %kinds;

# Make tables whose pages have free space, so that sessions do not prune them.
sub make_tables
{
	my $sql = '';

	for my $kind (sort keys %kinds, 'control')
	{
		$sql .= "CREATE SCHEMA g_$kind;\n" if $kind eq 'drop_many';
		for my $table ($kind eq 'drop_many' ? map { "g_$kind.t$_" } 1 .. 20 : "g_$kind")
		{
			$sql .=
			  "DROP TABLE IF EXISTS $table CASCADE; CREATE TABLE $table (i int PRIMARY KEY, n int DEFAULT 0, v text) WITH (fillfactor = 60);\n";
			$sql .=
			  "INSERT INTO $table SELECT i, 0, repeat(i::text, 20) FROM generate_series(1, 300) i;\n";
		}
	}
	$sql .= <<'SQL';
CREATE MATERIALIZED VIEW g_matview_m AS SELECT * FROM g_matview;
CREATE UNIQUE INDEX ON g_matview_m (i);
ALTER TABLE g_drop_toast ALTER v SET STORAGE EXTERNAL;
UPDATE g_drop_toast SET v = repeat(v, 50);
VACUUM;
CHECKPOINT;
SQL
	$primary->safe_psql('postgres', $sql);
	return;
}

sub delete_rows
{
	my $sql = '';

	for my $kind (sort keys %kinds, 'control')
	{
		$sql .= "DELETE FROM $_ WHERE i % 2 = 1;\n"
		  for $kind eq 'drop_many' ? map { "g_$kind.t$_" } 1 .. 20 : "g_$kind";
	}
	$primary->safe_psql('postgres', $sql . 'REFRESH MATERIALIZED VIEW CONCURRENTLY g_matview_m');
	return;
}

# Start psql with the statements of a kind, and do not wait for it.
sub start_session
{
	my ($kind) = @_;
	my $file = "$tmp/session_$kind.sql";
	my $sql = $kinds{$kind} =~ s/KIND/$kind/gr;

	unlink $file;
	append_to_file($file,
		"SET application_name = 'g_$kind'; LOAD '$library'; SET gap.file = '$gap';\n$sql\n");
	return IPC::Run::start([ 'psql', '-XAtq', '-d', $primary->connstr('postgres'), '-f', $file ],
		'<', \undef, '>', \my $out, '2>', \my $err);
}

# At the end of each run, the sessions in the gap continue, or the server is killed.
for my $run ((([ 'goes on', @ended ], [ 'dies', @ended ], [ 'dies', @many ])) x
	($ENV{PGDENSE_SOAK} ? 10 : 1))
{
	my ($end, @first) = @$run;
	my @second = @first > 1 ? @running : ();
	my $name = @second ? "gap, then the server $end" : "gap of $first[0]";

	make_tables();
	$primary->safe_psql('postgres',
		q{ALTER SYSTEM SET synchronous_standby_names = 'nobody'; SELECT pg_reload_conf()});
	append_to_file($gap, '');
	my $before = bgvacuum_stats($primary);
	stop_bgwriter();
	delete_rows();
	is(line_pointers($primary, 'g_control')->{normal}, 300, "$name: bgwriter has not pruned yet");
	my @sessions;
	my $in_gap = 1;

	for my $kinds (\@first, \@second)
	{
		push @sessions, map { start_session($_) } @$kinds;
		$in_gap &&= wait_until(
			'SELECT count(*) = '
			  . @sessions
			  . q{ FROM pg_stat_activity WHERE application_name LIKE 'g\_%' AND (wait_event_type = 'Extension' OR wait_event = 'SyncRep')},
			"$name: " . @sessions . ' sessions are in the gap') if @$kinds;
	}
	diag $primary->safe_psql('postgres',
		q{SELECT application_name, state, wait_event_type, wait_event, query FROM pg_stat_activity WHERE application_name LIKE 'g\_%'}
	) if !$in_gap;
	kill 'CONT', $bgwriter;
	ok(wait_for_rounds($primary, 5, $before), "$name: bgwriter makes five rounds");
	ok(wait_for_tuples($primary, 'g_control', 150), "$name: bgwriter prunes a table that stays")
	  if @second;
	kill_all($primary) if $end eq 'dies';
	unlink $gap;
	if ($end eq 'dies')
	{
		$_->finish for @sessions;
		# If the server does not start, the log has the reason.
		my $offset = -s $primary->logfile;
		my $started = $primary->start(fail_ok => 1);
		ok($started, "$name: the server recovers");
		if (!$started)
		{
			log_is_clean($primary, $name, $offset);
			give_up();
		}
	}
	$primary->safe_psql('postgres',
		'ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf()');
	$_->finish for @sessions;
	$primary->safe_psql('postgres', q{SELECT gid FROM pg_prepared_xacts}) eq ''
	  or fail("$name: a prepared transaction is left");
	is( $primary->safe_psql(
			'postgres',
			'SELECT count(*) FILTER (WHERE i > 0), sum(i) FILTER (WHERE i > 0) FROM ' . $_),
		'150|22650',
		"$name: $_ has its rows")
	  for map { "g_$_" }
	  qw(cluster vacuum_full rewrite tablespace matview rollback_copied rollback_created rollback_truncate error subtransaction exception prepared_rollback);
	log_is_clean($primary, $name) if $end eq 'goes on';
	my ($bad) = records_of_the_gone($primary, $start);
	is($bad, '', "$name: no record changes a relation that is gone");
	same_on_standby($name);
	# The WAL up to here has been checked.
	$start = $primary->lsn('insert');
	$primary->safe_psql('postgres', 'DROP SCHEMA IF EXISTS g_drop_many CASCADE');
}


# A table that was created or copied in the same transaction is truncated in place.  The record of
# the truncation is flushed before the buffers are dropped.  With commit_delay this flush takes
# long, so that the session is flushing the record of one of the tables when bgwriter continues.
for my $round (1 .. ($ENV{PGDENSE_SOAK} ? 2 : 1))
{
	my $name = "truncation in place, $round";
	my @tables = map { "p_$_" } 1 .. 30;

	$primary->safe_psql(
		'postgres',
		join(
			'',
			map {
				"DROP TABLE IF EXISTS $_; CREATE TABLE $_ (i int, v name) WITH (fillfactor = 60); INSERT INTO $_ SELECT i, i::text FROM generate_series(1, 300) i;\n"
			} @tables)
		  . "CHECKPOINT");
	my $before = bgvacuum_stats($primary);
	stop_bgwriter();
	$primary->safe_psql('postgres', join '', map { "DELETE FROM $_ WHERE i % 2 = 1;\n" } @tables);
	my $file = "$tmp/truncate.sql";
	unlink $file;
	append_to_file(
		$file,
		join "\n",
		"SET application_name = 'g_truncate'; SET commit_siblings = 0; BEGIN;",
		(   map { "ALTER TABLE $_ SET TABLESPACE elsewhere; DELETE FROM $_ WHERE i % 10 = 4;" }
			  @tables),
		"SET commit_delay = 100000; TRUNCATE @{[ join ', ', @tables ]}; COMMIT;");
	my $session = IPC::Run::start(
		[
			'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $primary->connstr('postgres'),
			'-f', $file
		],
		'<',
		\undef,
		'>',
		\my $out,
		'2>',
		\my $err);
	wait_until(
		q{SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'g_truncate' AND query LIKE '%TRUNCATE%'},
		"$name: TRUNCATE has begun");
	usleep(500_000);
	kill 'CONT', $bgwriter;
	ok(wait_for_rounds($primary, 5, $before), "$name: bgwriter makes five rounds");
	$session->finish;
	is($err, '', "$name: the session has no error");
	my ($bad, $prunes) = records_of_the_gone($primary, $start);
	is($bad, '', "$name: no record changes a relation that is gone");
	cmp_ok($prunes, '>', 30, "$name: tables that were not yet truncated were pruned");
	same_on_standby($name);
	$start = $primary->lsn('insert');
}

# Run all kinds of DDL beside clients that update and delete.  Every transaction of a client
# increments a counter in table "counter", and adds a row to table "log".  The DDL drops, creates
# and rewrites the tables c_N.
my @churned = map { "c_$_" } 1 .. 6;

# ddl_script(NUMBER) - write a file of statements for one session, in random order; return its name
sub ddl_script
{
	my ($number) = @_;
	my $file = "$tmp/ddl_$number.sql";
	my $sql =
	  "SET lock_timeout = '2s'; SET deadlock_timeout = '100ms'; SET client_min_messages = error;\n";

	for my $i (1 .. 5000)
	{
		my $t = $churned[ int rand @churned ];
		my $any = rand() < 0.3 ? 'counter' : $t;
		my $space = rand() < 0.5 ? 'elsewhere' : 'pg_default';
		my $end = rand() < 0.5 ? 'COMMIT' : 'ROLLBACK';
		my $prepared = "ddl_${number}_$i";
		my $fill =
		  "INSERT INTO $t SELECT i, 0, repeat(i::text, 20) FROM generate_series(1, 500) i; UPDATE $t SET n = n + 1 WHERE i % 3 = 0; DELETE FROM $t WHERE i % 7 = 0;";
		my $create =
		  "CREATE TABLE $t (i int PRIMARY KEY, n int, v text) WITH (fillfactor = 70); $fill";
		my @transactions = (
			"DROP TABLE IF EXISTS $t; $create",
			"TRUNCATE $t; $fill",
			"ALTER TABLE $t SET TABLESPACE $space; DELETE FROM $t WHERE i % 2 = 0;",
			"ALTER TABLE $t ALTER v TYPE varchar USING left(v || 1, 300); UPDATE $t SET n = n + 1 WHERE i % 2 = 0;",
			"TRUNCATE $t; $fill TRUNCATE $t; $fill",
			"SAVEPOINT s; TRUNCATE $t; $fill ROLLBACK TO s; DELETE FROM $t WHERE i % 5 = 0;",
			"SAVEPOINT s; CREATE TABLE s$number AS SELECT * FROM $t; DELETE FROM s$number WHERE i % 2 = 0; ROLLBACK TO s; UPDATE $t SET n = n + 1;",
			"CREATE TABLE s$number AS SELECT * FROM $t; DELETE FROM s$number WHERE i % 2 = 0; SAVEPOINT s; DROP TABLE s$number; RELEASE s;",
			"REFRESH MATERIALIZED VIEW counted;");
		my @single = (
			"VACUUM FULL $any",
			"CLUSTER $any USING ${any}_pkey",
			"ALTER TABLE $any SET TABLESPACE $space",
			"ALTER TABLE counter ALTER v TYPE text USING v",
			"DELETE FROM $t WHERE i > 200; VACUUM $t",
			"VACUUM $any",
			'CHECKPOINT',
			"ALTER TABLE $t SET UNLOGGED; UPDATE $t SET n = n + 1; ALTER TABLE $t SET LOGGED",
			'REFRESH MATERIALIZED VIEW CONCURRENTLY counted',
			"REINDEX TABLE $any",
			"INSERT INTO $t SELECT i, 0, '' FROM generate_series(1, 500) i ON CONFLICT DO NOTHING");
		my $body = $transactions[ int rand @transactions ];
		my $choice = rand();

		$sql .=
			$choice < 0.4 ? $single[ int rand @single ] . ";\n"
		  : $choice < 0.7 ? "BEGIN; $body $end;\n"
		  :   "BEGIN; $body PREPARE TRANSACTION '$prepared';\n$end PREPARED '$prepared';\n";
	}
	unlink $file;
	append_to_file($file, $sql);
	return $file;
}

my $client = "$tmp/client.sql";
append_to_file($client, <<'SQL');
\set i random(1, 300)
\set t random(1, 6)
BEGIN;
UPDATE counter SET n = n + 1 WHERE i = :i;
INSERT INTO log (i) VALUES (:i);
END;
DO $$
BEGIN
	UPDATE c_:t SET n = n + 1 WHERE i % 50 = :i % 50;
	DELETE FROM c_:t WHERE i = :i;
	INSERT INTO c_:t VALUES (:i + 300, 0, repeat('x', :i)) ON CONFLICT (i) DO UPDATE SET v = excluded.v;
EXCEPTION WHEN undefined_table OR lock_not_available OR deadlock_detected THEN NULL;
END
$$;
SQL

# Start the sessions that run DDL, and the clients.  The clients end with the server, or by a
# signal.
sub start_load
{
	my @commands =
	  map { [ 'psql', '-XAtq', '-d', $primary->connstr('postgres'), '-f', ddl_script($_) ] } 1 .. 2;

	push @commands,
	  [
		'pgbench', '-n', '-c', 3, '-T', 3600, '--max-tries', 1000, '-f', $client, '-d',
		$primary->connstr('postgres')
	  ];
	return map {
		my $err = '';
		+{
			session => IPC::Run::start($_, '<', \undef, '>', '/dev/null', '2>', \$err),
			err => \$err
		}
	} @commands;
}

sub end_load
{
	my (@load) = @_;

	$_->{session}->signal('TERM') for @load;
	$primary->safe_psql('postgres',
		q{SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()}
	) if $primary->{_pid};
	$_->{session}->finish for @load;
	return;
}

# Roll back prepared transactions that no session will end.
sub end_prepared
{
	$primary->safe_psql('postgres', "ROLLBACK PREPARED '$_'")
	  for split /\n/, $primary->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
	return;
}

sub check_counts
{
	my ($node, $name) = @_;

	is( $node->safe_psql(
			'postgres', 'SELECT sum(n) - (SELECT count(*) FROM log), count(*) FROM counter'),
		'0|300',
		"$name: the counter agrees with the log");
	return;
}

# Create, change, move and drop a database.  Its template was changed just before.  The new database
# must have the rows of the template.
my $database_rounds = 0;

sub database_round
{
	my $change =
	  'UPDATE d SET n = n + 1 WHERE i % 3 = 0; DELETE FROM d WHERE i % 7 = 1; INSERT INTO d SELECT i, 0, repeat(i::text, 30) FROM generate_series(1, 1000) i ON CONFLICT DO NOTHING;';
	my $strategy = $database_rounds++ % 2 ? 'wal_log' : 'file_copy';

	$primary->safe_psql('pattern', $change);
	$primary->safe_psql('postgres', "CREATE DATABASE copy TEMPLATE pattern STRATEGY $strategy");
	my $expected = digest($primary, 'pattern');
	my $found = digest($primary, 'copy');
	$primary->safe_psql('copy', $change);
	my $changed = digest($primary, 'copy');
	$primary->safe_psql('postgres', 'ALTER DATABASE copy SET TABLESPACE elsewhere');
	my $moved = digest($primary, 'copy');
	is( "$found; $moved",
		"$expected; $changed",
		"database, $strategy: the copy has the rows of its template, and its own after a move"
	) if $found ne $expected || $moved ne $changed || $database_rounds <= 2;
	$primary->safe_psql('copy', "CREATE INDEX ON d (n); $change");
	$primary->safe_psql('postgres', 'DROP DATABASE copy WITH (FORCE)');
	return;
}

$primary->safe_psql('postgres', join '', 'ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();',
	<<'SQL', map { "CREATE TABLE $_ (i int PRIMARY KEY, n int, v text);\n" } @churned);
CREATE TABLE counter (i int PRIMARY KEY, n int, v text) WITH (fillfactor = 70);
INSERT INTO counter SELECT i, 0, repeat(i::text, 30) FROM generate_series(1, 300) i;
CREATE TABLE log (i int);
CREATE MATERIALIZED VIEW counted AS SELECT i, n FROM counter;
CREATE UNIQUE INDEX ON counted (i);
CREATE DATABASE pattern;
SQL
$primary->safe_psql('pattern', 'CREATE TABLE d (i int PRIMARY KEY, n int, v text)');

for my $end ('stops', 'is killed')
{
	my $name = "DDL, and the server $end";
	my $before = bgvacuum_stats($primary);
	my $deadline = time() + ($end eq 'stops' ? $seconds : $seconds / 4);
	my $offset = -s $primary->logfile;
	my @load = start_load();

	database_round() while time() < $deadline;
	my $pruned = bgvacuum_stats($primary)->{pages_pruned} - $before->{pages_pruned};
	cmp_ok($pruned, '>', 100, "$name: bgwriter has pruned pages ($pruned)");
	if ($end eq 'is killed')
	{
		kill_all($primary);
		end_load(@load);
		log_is_clean($primary, $name, $offset);
		$offset = -s $primary->logfile;
		my $started = $primary->start(fail_ok => 1);
		ok($started, "$name: the server recovers");
		log_is_clean($primary, "$name, recovery", $offset);
		give_up() if !$started;
	}
	else
	{
		end_load(@load);
		log_is_clean($primary, $name, $offset);
	}
	end_prepared();
	my @errors = grep {
		/^psql:.*(?:ERROR|PANIC)/
		  && !
		  /(?:lock timeout|deadlock detected|does not exist|already exists|current transaction is aborted|duplicate key|could not serialize|terminating connection)/
	} map { split /\n/, ${ $_->{err} } } @load;
	is(join("\n", @errors), '', "$name: no other errors in the sessions of DDL");
	check_counts($primary, $name);
	check_heaps($primary, $name);
	check_indexes($primary, $name);
	check_heaps($primary, "$name, template", 'pattern');
	my ($bad) = records_of_the_gone($primary, $start);
	is($bad, '', "$name: no record changes a relation that is gone");
	same_on_standby($name);
	check_counts($standby, "$name, standby");
	$start = $primary->lsn('insert');
}
note "$database_rounds databases were made, moved and dropped";

done_testing();
