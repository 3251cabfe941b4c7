# Make split(), merge() and ALTER TABLE fail at each of the commands that they run, and while they
# process rows.  Cancel them, run two at a time, and interrupt them by timeouts, deadlocks, limits,
# and a crash of the server.  Afterwards the database must be in the old state or in the complete
# new state, never in a state between.
#
# PGDENSE_FUZZ_SEED is the random seed.  The test prints it.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use IPC::Run ();
use PgDense::Crash;
use PgDense::Partition;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $seed = ($ENV{PGDENSE_FUZZ_SEED} || int(time())) % 1_000_000;
note "PGDENSE_FUZZ_SEED=$seed";
srand($seed);

my $node = partition_node('ddl_crash', "log_statement = none\nrestart_after_crash = off\n");
my ($tables, $split) = partition_tables();

# fresh(DATABASE) - create a database with the tables, which are not split yet
sub fresh
{
	my ($database) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database,
		"CREATE EXTENSION vertical_partition;\n$tables" . partition_helpers('plain'));
}

# These queries return the state of the database, with the positions of sequences, and with OIDs.  A
# relation that was created anew would have another OID.
my $everything = <<'SQL';
SELECT oid, relname, relkind, relowner, relacl, reloptions, relhastriggers FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY oid;
SELECT attrelid, attnum, attname, attacl, attnotnull, attidentity FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
WHERE relnamespace = 'public'::regnamespace ORDER BY 1, 2;
SELECT oid, conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY oid;
SELECT oid, stxname FROM pg_statistic_ext ORDER BY oid;
SELECT oid, tgname, tgrelid, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY oid;
SELECT oid, schemaname, sequencename, last_value FROM pg_sequences JOIN pg_class ON relname = sequencename WHERE relname <> 'commands' ORDER BY oid;
SELECT classid, objid, objsubid, refclassid, refobjid, refobjsubid, deptype FROM pg_depend WHERE objid >= 16384 ORDER BY 1, 2, 3, 4, 5, 6, 7;
SELECT objoid, objsubid, description FROM pg_description WHERE objoid >= 16384 ORDER BY 1, 2;
SELECT cold FROM vertical_partition_internal.row_pointers ORDER BY 1;
SQL
$everything .= partition_contents($_) . ';' foreach @partition_methods;

# unchanged(DATABASE, BEFORE, WHAT) - check that the state is still BEFORE
sub unchanged
{
	my ($database, $before, $what) = @_;
	my $now = $node->safe_psql($database, $everything);
	return ok($now eq $before, "$what: the database is unchanged")
	  || diag "before:\n$before\nnow:\n$now";
}

# An event trigger counts commands with a sequence, and fails at the requested command.  A setting
# cannot count commands.  If a command runs as the owner of the table, its changes of settings are
# reset.
fresh('fails');
$node->safe_psql('fails', <<'SQL');
CREATE SEQUENCE public.commands;
CREATE FUNCTION public.fail() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	IF nextval('public.commands') = current_setting('test.fails_at')::int THEN
		RAISE EXCEPTION 'failed at % %', tg_event, tg_tag;
	END IF;
END $$;
CREATE EVENT TRIGGER fail_start ON ddl_command_start EXECUTE FUNCTION public.fail();
CREATE EVENT TRIGGER fail_end ON ddl_command_end EXECUTE FUNCTION public.fail();
ALTER DATABASE fails SET test.fails_at = '0';
SQL

# fails_everywhere(STATEMENT, NAME, EVERY) - run the statement in one session, so that it fails at
# every EVERY-th of its commands in turn; then run it so that it succeeds
sub fails_everywhere
{
	my ($statement, $name, $every) = @_;
	my $before = $node->safe_psql('fails', $everything);
	my ($steps) = $node->safe_psql('fails',
		"BEGIN; SELECT setval('public.commands', 1, false); $statement; SELECT last_value FROM public.commands; ROLLBACK"
	) =~ /(\d+)\z/;
	my @at = grep { ($_ + $seed) % $every == 0 } 1 .. $steps;
	my $script = join '',
	  map { "SELECT setval('public.commands', 1, false); SET test.fails_at = '$_'; $statement;\n" }
	  @at;

	cmp_ok($steps, '>', 3, "$name: the statement has $steps places to fail");
	my ($ret, $out, $err) = $node->psql('fails', $script, on_error_stop => 0);
	is(() = $err =~ /ERROR:  failed at/g, scalar @at, "$name: it failed at " . @at . ' of them');
	is(() = $err =~ /ERROR:/g, scalar @at, "$name: it raised no other error") || diag $err;
	unchanged('fails', $before, $name);
	$node->safe_psql('fails', $statement);
	parts_in_order($node, 'fails', $name);
}
# Let row_pointer fail at each command, and the other methods at every sixth command.  With
# PGDENSE_SOAK, let all methods fail at each command.
my %every = map { $_ => $_ eq 'row_pointer' || $ENV{PGDENSE_SOAK} ? 1 : 6 } @partition_methods;
my %rows = map { $_ => $node->safe_psql('fails', partition_contents($_)) } @partition_methods;
for my $method (@partition_methods)
{
	fails_everywhere(
		"SELECT vertical_partition.split('$method', '{note,wide}', '$method')",
		"split, $method",
		$every{$method});
	is($node->safe_psql('fails', partition_contents($method)),
		$rows{$method}, "$method: rows after split()");
}

# An ALTER TABLE that rewrites the cold part also sets the row pointers anew.  An index on the
# pointer calls a function, which fails while the rows are updated.
$node->safe_psql('fails', <<'SQL');
UPDATE row_pointer SET wide = 'other' WHERE id < 10;
CREATE FUNCTION public.fail_at_row(tid) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF nextval('public.commands') = current_setting('test.fails_at')::int THEN
		RAISE EXCEPTION 'failed at a row';
	END IF;
	RETURN 0;
END $$;
CREATE INDEX fails ON row_pointer_hot (public.fail_at_row(cold_tid));
SQL
my %updated =
  (%rows, row_pointer => scalar $node->safe_psql('fails', partition_contents('row_pointer')));
fails_everywhere(q{ALTER TABLE row_pointer ALTER wide TYPE text USING wide || ''},
	'relink', $ENV{PGDENSE_SOAK} ? 1 : 20);
$node->safe_psql('fails', 'DROP INDEX fails');

for my $method (@partition_methods)
{
	fails_everywhere(
		"SELECT vertical_partition.merge('$method')",
		"merge, $method",
		$every{$method});
	is($node->safe_psql('fails', partition_contents($method)),
		$updated{$method}, "$method: rows after merge()");
}

# Make a call fail in the middle: at a row, by limits, and by locks that other sessions hold.
fresh('errors');
my $before = $node->safe_psql('errors', $everything);

# error_in(SQL, PATTERN, WHAT[, AGAIN]) - test that SQL fails with a message like PATTERN, and changes
# nothing.  If the message is like AGAIN, run SQL again, up to 20 times.
sub error_in
{
	my ($sql, $pattern, $what, $again) = @_;
	my $err;
	for (1 .. 20)
	{
		(undef, undef, $err) = $node->psql('errors', $sql);
		last if !$again || $err !~ $again;
	}
	like($err, $pattern, $what);
	unchanged('errors', $before, $what);
}
my $call = q{SELECT vertical_partition.split('row_pointer', '{note,wide}', 'row_pointer')};
error_in(
	"BEGIN; $call; SELECT 1 / 0; COMMIT",
	qr/division by zero/,
	'an error of the same transaction');
error_in(
	"SET temp_file_limit = 0; SET work_mem = 64; SET hash_mem_multiplier = 1; BEGIN;"
	  . "INSERT INTO row_pointer (k, wide) SELECT i, '' FROM generate_series(1, 20000) i; $call",
	qr/temporary file size exceeds/,
	'no space for a sort');
error_in(
	"SET statement_timeout = '30ms'; SELECT vertical_partition.split('shared_key', '{note,wide}'), pg_sleep(1)",
	qr/statement timeout/,
	'statement_timeout');
# The server starts the timer before it parses a query string, and starts it anew for each
# statement.  A timer that fires in between cancels the statement, with a message that does not
# name the timeout.
error_in(
	"SET statement_timeout = '1ms'; $call",
	qr/statement timeout/,
	'statement_timeout at once',
	qr/due to user request/);

my $other = $node->background_psql('errors');
$other->query_safe('BEGIN; SELECT count(*) FROM row_pointer');
error_in("SET lock_timeout = '1500ms'; $call", qr/lock timeout/,
	'lock_timeout because of a reader');
$other->query_safe('ROLLBACK; BEGIN; LOCK row_pointer IN ROW EXCLUSIVE MODE');
error_in("SET lock_timeout = '100ms'; $call", qr/lock timeout/, 'lock_timeout because of a writer');
$other->query_safe('ROLLBACK');

# split() holds no lock on its table while it waits for a lock on a table that
# references it.  The table can be read and written.
$other->query_safe('BEGIN; LOCK refers_to_row_pointer IN ROW EXCLUSIVE MODE');
my $splitter = $node->background_psql('errors', on_error_stop => 0);
$splitter->query_until(qr/started/, "\\echo started\n$call;\n");
$node->poll_query_until('errors',
	q{SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation = 'refers_to_row_pointer'::regclass}
) or die 'split() does not wait';
is($node->safe_psql('errors', partition_contents('row_pointer')),
	$rows{row_pointer}, 'rows can be read while split() waits');
my ($ret, $out, $err) =
  $node->psql('errors', q{SET lock_timeout = '100ms'; UPDATE row_pointer SET a = a});
is($err, '', 'rows can be written while split() waits');
$node->safe_psql('errors',
	q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%vertical_partition.split%' AND pid <> pg_backend_pid()}
);
$node->poll_query_until('errors', q{SELECT count(*) = 0 FROM pg_locks WHERE NOT granted})
  or die 'split() is not cancelled';
unchanged('errors', $before, 'cancelled');
$other->query_safe('ROLLBACK');

# Run two calls at a time.  The second call waits, and then finds that the table has changed.
$other->query_safe("BEGIN; $call");
$splitter->query_until(qr/started/, "\\echo started\n$call;\n\\echo done\n");
$node->poll_query_until('errors', q{SELECT count(*) > 0 FROM pg_locks WHERE NOT granted})
  or die 'split() does not wait';
$other->query_safe('COMMIT');
$splitter->query_until(qr/done/, "\n");
like(
	$splitter->{stderr},
	qr/ERROR:  relation public\.row_pointer was changed by another session/,
	'the second split() is refused');
parts_in_order($node, 'errors', 'after two split()');
$splitter->{stderr} = '';
$other->query_safe(q{BEGIN; SELECT vertical_partition.merge('row_pointer')});
$splitter->query_until(qr/started/,
	"\\echo started\nSELECT vertical_partition.merge('row_pointer');\n\\echo done\n");
$node->poll_query_until('errors', q{SELECT count(*) > 0 FROM pg_locks WHERE NOT granted})
  or die 'merge() does not wait';
$other->query_safe('COMMIT');
$splitter->query_until(qr/done/, "\n");
like(
	$splitter->{stderr},
	qr/ERROR:  relation public\.row_pointer was changed by another session/,
	'the second merge() is refused');
is($node->safe_psql('errors', partition_contents('row_pointer')),
	$rows{row_pointer}, 'the table has all rows after the refused calls');
$splitter->{stderr} = '';
$other->query_safe("BEGIN; $call; ROLLBACK; BEGIN; $call");
$splitter->query_until(qr/started/, "\\echo started\n$call;\n\\echo done\n");
$node->poll_query_until('errors', q{SELECT count(*) > 0 FROM pg_locks WHERE NOT granted})
  or die 'split() does not wait';
$other->query_safe('ROLLBACK');
$splitter->query_until(qr/done/, "\n");
is($splitter->{stderr}, '', 'the second split() succeeds if the first one is rolled back')
  or diag $splitter->{stderr};
parts_in_order($node, 'errors', 'after a split() that was rolled back');
$_->quit foreach $other, $splitter;

# Kill all processes with SIGKILL at any moment.
fresh('crashes');
$node->safe_psql('crashes',
	"INSERT INTO $_ (k, a, owner, note, wide) SELECT 'more ' || i, i, i % 10, 'note ' || i, repeat('w', i % 100) FROM generate_series(1, 10000) i"
) foreach @partition_methods;
my %big = map { $_ => $node->safe_psql('crashes', partition_contents($_)) } @partition_methods;
my %kinds;
my $rounds = $ENV{PGDENSE_SOAK} ? 60 : 6;
for my $round (1 .. $rounds)
{
	my $method = $partition_methods[ $round % @partition_methods ];
	my $was =
	  $node->safe_psql('crashes', "SELECT relkind FROM pg_class WHERE oid = '$method'::regclass");
	my $sql =
	  $was eq 'r'
	  ? "SELECT vertical_partition.split('$method', '{note,wide}', '$method')"
	  : "SELECT vertical_partition.merge('$method')";
	# Measure the time that a call takes without a crash.
	my $started = time();
	$node->safe_psql('crashes', "BEGIN; $sql; ROLLBACK");
	my $seconds = (time() - $started) * rand();

	my $client = IPC::Run::start(
		[ 'psql', '-X', '-q', '-d', $node->connstr('crashes'), '-c', $sql ],
		'>', \my $client_out,
		'2>', \my $client_err);
	usleep(1_000_000 * $seconds);
	kill_all($node);
	eval { $client->finish };
	$node->start;
	my $is =
	  $node->safe_psql('crashes', "SELECT relkind FROM pg_class WHERE oid = '$method'::regclass");
	$kinds{"$was$is"}++;
	is($node->safe_psql('crashes', partition_contents($method)),
		$big{$method}, "round $round: rows of $method, $was, now $is");
	is( $node->safe_psql(
			'crashes',
			"SELECT count(*) FROM pg_class WHERE relname ~ '^(${method}_(hot|cold)|vertical_partition_[0-9]+)\$'"
		),
		$is eq 'r' ? 0 : 2,
		"round $round: no other relation is left");
	parts_in_order($node, 'crashes', "round $round");
	$node->safe_psql('crashes', $sql) if $is eq $was;
}
note join ' ', map { "$_: $kinds{$_}" } sort keys %kinds;

$node->stop;
done_testing();
