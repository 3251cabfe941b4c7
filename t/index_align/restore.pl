# Test index_align.restore_stock() on a busy server.  The calling session blocks no other session
# while it waits.  Its worker process ends when the caller ends, for whatever reason.  Every failure
# is reported.  After the call, a stock server opens the data directory, and amcheck finds no error
# in any index.  Before the call, a stock server refuses to read the aligned indexes.
use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";

use PgDense::IndexAlign;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('index_align', 'default_index_item_alignment');

my $stock_path = stock_path();

my $timeout = $PostgreSQL::Test::Utils::timeout_default;
my $node = PostgreSQL::Test::Cluster->new('main');
# Version 18 enables checksums by default.  Checksums would report any damage, so disable them.
$node->init(
	allows_streaming => 1,
	extra => [
		'--encoding=UTF8', '--locale=C',
		$node->pg_version->major >= 18 ? '--no-data-checksums' : ()
	]);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
max_connections = 30
max_worker_processes = 4
default_index_item_alignment = auto
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION index_align; CREATE EXTENSION amcheck');

my $aligned = 'SELECT count(*) FROM index_align.status';
my $workers = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'index_align worker'};
my $invalid = 'SELECT count(*) FROM pg_index WHERE NOT indisvalid';

# Compare every index of user tables with its heap, and search each entry from the root.
my $check = <<'SQL';
SELECT count(*), count(bt_index_parent_check(c.oid, heapallindexed => true, rootdescend => true))
FROM pg_class c JOIN pg_am am ON am.oid = relam WHERE relkind = 'i' AND amname = 'btree' AND c.oid >= 16384 AND relpersistence <> 't'
SQL

# call(ARGUMENTS, SETTINGS) - call restore_stock(), and return (exit code, stderr)
sub call
{
	my ($arguments, %params) = @_;
	my ($ret, $stdout, $stderr) = $node->psql(
		$params{db} // 'postgres',
		($params{before} // '') . "\nCALL index_align.restore_stock($arguments)",
		timeout => $timeout);

	return ($ret, $stderr);
}

# start_call(ARGUMENTS, VERBOSITY) - start a call in the background, and wait until it waits for a
# lock on its table
sub start_call
{
	my ($arguments, $verbosity) = @_;
	my %call = (out => '', err => '');

	$call{run} = IPC::Run::start(
		[
			'psql', '-XAtq',
			'-v', 'VERBOSITY=' . ($verbosity // 'default'),
			'-d', $node->connstr('postgres') . ' application_name=caller',
			'-c', "CALL index_align.restore_stock($arguments)"
		],
		'<',
		\undef,
		'>',
		\$call{out},
		'2>',
		\$call{err},
		IPC::Run::timeout($timeout));
	$node->poll_query_until('postgres', <<'SQL') or die 'the worker does not wait';
SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'index_align worker' AND wait_event_type = 'Lock'
SQL
	return \%call;
}

sub end_call
{
	my ($call) = @_;

	$call->{run}->finish;
	return $call->{err};
}

sub no_worker
{
	my ($name) = @_;

	ok($node->poll_query_until('postgres', $workers, '0'), "$name: no worker is left");
	is( $node->safe_psql(
			'postgres', q{SELECT count(*) FROM pg_locks WHERE mode = 'ShareUpdateExclusiveLock'}),
		'0',
		"$name: no lock of REINDEX is left");
	return;
}

#
# Calls while clients write
#
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE accounts (id int PRIMARY KEY, branch int2 NOT NULL, balance int NOT NULL, filler text);
INSERT INTO accounts SELECT i, i % 100, i, 'filler ' || i FROM generate_series(1, 50000) i;
CREATE INDEX accounts_branch ON accounts (branch);
CREATE INDEX accounts_balance ON accounts (balance, id);
CREATE INDEX accounts_filler ON accounts (filler) WITH (item_alignment = auto);
CREATE SEQUENCE new_id START 50001;
SQL
append_to_file($node->basedir . '/write.sql', <<'SQL');
\set id random(1, 50000)
\set delta random(-5000, 5000)
BEGIN;
UPDATE accounts SET balance = balance + :delta, filler = 'filler ' || :delta WHERE id = :id;
INSERT INTO accounts VALUES (nextval('new_id'), :id % 100, :delta, 'new');
DELETE FROM accounts WHERE id = :id - 1;
END;
SQL
is($node->safe_psql('postgres', $aligned), '4', 'aligned indexes');
my $pgbench = IPC::Run::start(
	[
		'pgbench', '-n', '-c', 3, '-T', 600, '-f', $node->basedir . '/write.sql',
		'-d', $node->connstr('postgres')
	],
	'>',
	\my $pgbench_out,
	'2>',
	\my $pgbench_err);
$node->poll_query_until('postgres', 'SELECT last_value > 50500 FROM new_id') or die 'no writes';
for my $round (1 .. 3)
{
	my $before = $node->safe_psql('postgres', 'SELECT last_value FROM new_id');
	my ($ret, $stderr) = call('');

	is($ret, 0, "round $round under writes: the call succeeds") or diag $stderr;
	is(() = $stderr =~ /NOTICE:  restored index/g, 4, "round $round: notices") or diag $stderr;
	is($node->safe_psql('postgres', $aligned), '0', "round $round: no aligned index is left");
	cmp_ok($node->safe_psql('postgres', 'SELECT last_value FROM new_id'),
		'>', $before, "round $round: clients wrote meanwhile");
	$node->safe_psql('postgres', 'REINDEX (CONCURRENTLY) TABLE accounts') if $round < 3;
}
$pgbench->signal('INT');
IPC::Run::finish($pgbench);
unlike($pgbench_err, qr/ERROR|error:/, 'no write failed');
is($node->safe_psql('postgres', $check),
	'5|5', 'the indexes are sound, also that of the TOAST table');

#
# Locks and snapshots that the caller holds while it waits
#
$node->safe_psql('postgres',
	'CREATE ROLE restorer; GRANT MAINTAIN ON accounts TO restorer; REINDEX TABLE accounts');
my $blocker = $node->background_psql('postgres');
$blocker->query_safe('BEGIN; LOCK TABLE accounts IN SHARE MODE');
my $call = start_call(q{'accounts_branch'});
is( $node->safe_psql('postgres',
		<<'SQL'), 'active|t|t|0', 'the caller has no snapshot, no transaction id, and no lock but those that count calls');
SELECT state, backend_xmin IS NULL, backend_xid IS NULL,
  (SELECT count(*) FROM pg_locks l WHERE l.pid = a.pid AND NOT (locktype = 'virtualxid' AND virtualxid = virtualtransaction)
    AND NOT (locktype = 'advisory' AND database = 0))
FROM pg_stat_activity a WHERE application_name = 'caller'
SQL
is( $node->safe_psql(
		'postgres',
		q{SELECT application_name, query FROM pg_stat_activity WHERE backend_type = 'index_align worker'}
	),
	'index_align.restore_stock|REINDEX INDEX CONCURRENTLY public.accounts_branch',
	'the worker shows its command');
$blocker->query_safe('COMMIT');
like(
	end_call($call),
	qr/^NOTICE:  restored index "public.accounts_branch"$/,
	'the worker continues when the lock is released');
no_worker('after a lock');

#
# The caller ends before the worker
#
for my $end ('cancel', 'terminate', 'timeout')
{
	$blocker->query_safe('BEGIN; LOCK TABLE accounts IN SHARE MODE');
	my $call = start_call(q{'accounts'});
	$node->safe_psql('postgres',
		"SELECT pg_${end}_backend(pid) FROM pg_stat_activity WHERE application_name = 'caller'")
	  if $end ne 'timeout';
	if ($end eq 'timeout')
	{
		my ($ret, $stderr) =
		  call(q{'accounts_filler'}, before => 'SET ROLE restorer; SET statement_timeout = 300;');

		like(
			$stderr,
			qr/canceling statement due to statement timeout/,
			'a second caller, of another role, meets its statement_timeout');
		is($node->safe_psql('postgres', $workers),
			'1', 'only the worker of the second caller has ended');
		$node->safe_psql('postgres',
			q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'caller'}
		);
	}
	like(
		end_call($call),
		$end eq 'terminate'
		? qr/terminating connection due to administrator command/
		: qr/WARNING:  interrupted while index "public.accounts_balance" was being restored\nHINT:.*_ccnew.*\nERROR:  canceling statement due to user request/,
		"$end: the caller reports the error");
	no_worker($end) if $end ne 'timeout';
	$blocker->query_safe('COMMIT');
}
no_worker('timeout');

#
# The worker process, or only its command, ends before the caller
#
$blocker->query_safe('BEGIN; LOCK TABLE accounts IN SHARE MODE');
$call = start_call(q{'accounts'}, 'verbose');
$node->safe_psql('postgres',
	q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'index_align worker'}
);
like(
	end_call($call),
	qr/WARNING:  \w+: interrupted while index "public.accounts_balance".*\nERROR:  55000: background worker of index_align.restore_stock\(\) ended\nDETAIL:  terminating (background worker "index_align worker"|connection) due to administrator command/s,
	'the caller reports that its worker was terminated');
no_worker('terminated worker');

$call = start_call(q{'accounts'});
$node->safe_psql('postgres',
	q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE backend_type = 'index_align worker'}
);
$node->poll_query_until(
	'postgres',
	q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'index_align worker' AND wait_event_type = 'Lock'
  AND query !~ 'accounts_balance'}) or die 'the worker does not go on';
$blocker->query_safe('COMMIT');
my $stderr = end_call($call);
like(
	$stderr,
	qr/WARNING:  could not restore index "public.accounts_balance"\nDETAIL:  canceling statement due to user request/,
	'the caller reports the cancelled command');
is(() = $stderr =~ /NOTICE:  restored/g, 2, 'the other indexes are restored');
like(
	$stderr,
	qr/ERROR:  1 index still does not have the layout of a stock server\nHINT:  See the warnings above/,
	'the call fails and counts what is left');
no_worker('cancelled command');

# The worker gets the settings of the calling session.  Here lock_timeout cancels the command of the
# worker, which leaves an invalid index behind.
$node->safe_psql('postgres', 'SET default_index_item_alignment = auto; REINDEX TABLE accounts');
$blocker->query_safe('BEGIN; INSERT INTO accounts VALUES (-1, 1, 1)');
(my $ret, $stderr) = call(q{'accounts_branch'}, before => 'SET lock_timeout = 500;');
like(
	$stderr,
	qr/WARNING:  could not restore index "public.accounts_branch"\nDETAIL:  canceling statement due to lock timeout\n(DETAIL.*\n)?HINT:  Drop the invalid index "public.accounts_branch_ccnew"/,
	'a warning names the invalid index that a failed command leaves');
isnt($ret, 0, 'the call fails after a lock timeout');
$blocker->query_safe('ROLLBACK');
is($node->safe_psql('postgres', $invalid), '1', 'the invalid index exists');
$node->safe_psql('postgres', 'DROP INDEX CONCURRENTLY accounts_branch_ccnew');

# Another REINDEX CONCURRENTLY may have left behind an invalid index that is aligned and complete.
# restore_stock() must not build a second index for it.
$blocker->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM accounts');
$node->psql('postgres', "SET lock_timeout = 500;\nREINDEX INDEX CONCURRENTLY accounts_branch");
$blocker->query_safe('ROLLBACK');
($ret, $stderr) = call(q{'accounts_branch_ccnew'});
like(
	$stderr,
	qr/WARNING:  skipping invalid index "public.accounts_branch_ccnew"\nDETAIL:.*\nHINT:  Use DROP INDEX.*\n.*ERROR:  1 index still does not/,
	'the call skips an invalid aligned index');
is( $node->safe_psql(
		'postgres',
		q{SELECT item_alignment, is_valid FROM index_align.status WHERE index::text ~ '_ccnew$'}),
	'2|f',
	'the invalid index is unchanged');
$node->safe_psql('postgres', 'DROP INDEX CONCURRENTLY accounts_branch_ccnew');

#
# No worker process is available
#
$node->safe_psql('postgres', 'ALTER SYSTEM SET max_worker_processes = 0');
$blocker->quit;
$node->restart;
($ret, $stderr) = call('');
like(
	$stderr,
	qr/ERROR:  could not register background worker of index_align.restore_stock\(\)\nHINT:  You may need to increase "max_worker_processes"/,
	'the call fails if no worker process is free');
is($node->safe_psql('postgres', $aligned), '4', 'no index is changed without a worker');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET max_worker_processes');
$node->restart;

#
# On a standby, which has no pages of unlogged tables
#
$node->safe_psql('postgres', 'CREATE UNLOGGED TABLE unlogged (a int PRIMARY KEY)');
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->wait_for_replay_catchup($standby);
is($standby->safe_psql('postgres', $aligned),
	'4', 'a standby lists the aligned indexes that it can read');
is( $standby->safe_psql('postgres', q{SELECT index_align.item_alignment('unlogged_pkey') IS NULL}),
	't',
	'a standby gives NULL for an unlogged index');
($ret, my $stdout, $stderr) = $standby->psql('postgres', 'CALL index_align.restore_stock()');
like(
	$stderr,
	qr/ERROR:  cannot execute index_align.restore_stock\(\) during recovery/,
	'a standby refuses to restore');
$standby->stop;
$node->safe_psql('postgres', 'DROP TABLE unlogged');

#
# A role that cannot log in, in a database with its own settings
#
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE other LOGIN;
ALTER ROLE restorer SET default_transaction_read_only = on;
ALTER DATABASE postgres SET default_index_item_alignment = auto;
ALTER DATABASE postgres SET client_encoding = 'LATIN1';
ALTER INDEX accounts_filler RESET (item_alignment);
SQL
($ret, $stderr) = call('', before => 'SET ROLE other;');
is(() = $stderr =~ /WARNING:  permission denied to restore index "[^"]*", skipping it/g,
	4, 'a role without privileges gets a warning for each index');
like($stderr, qr/ERROR:  4 indexes still do not/, 'the call of that role fails');
($ret, $stderr) = call('', before => 'SET ROLE restorer;');
is($ret, 0, 'the call of a role that may maintain the table succeeds') or diag $stderr;
is($node->safe_psql('postgres', $aligned), '0', 'all indexes of that table are restored');

# The worker passes errors on to the caller unchanged, in any encoding.
$node->safe_psql('postgres', <<"SQL");
SET client_encoding = 'UTF8';
CREATE FUNCTION fails(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS \$\$
BEGIN
  IF current_setting('application_name') = 'index_align.restore_stock' THEN
    RAISE division_by_zero USING MESSAGE = repeat('\xc3\xa4', 30000), DETAIL = 'the detail', HINT = 'the hint';
  END IF;
  RETURN \$1;
END \$\$;
CREATE TABLE "\xc3\xa4 '" (a int);
INSERT INTO "\xc3\xa4 '" VALUES (1);
CREATE INDEX "\xc3\xa4_i" ON "\xc3\xa4 '" (fails(a));
SQL
($ret, $stderr) = call('concurrently => false',
	before => "SET client_encoding = 'UTF8';\n\\set VERBOSITY verbose\n");
like(
	$stderr,
	qr/WARNING:  22012: could not restore index "public.\xc3\xa4_i"\nDETAIL:  (\xc3\xa4){30000}\nthe detail\nHINT:  the hint\n/,
	'a long error is passed on');
$node->safe_psql('postgres', "SET client_encoding = 'UTF8'; DROP TABLE \"\xc3\xa4 '\"");

#
# Damaged metapages: each metapage that cannot be read is reported, and the other indexes are still
# listed and restored.
#
my %damage = (
	header => sub { write_bytes($_[0], 10, pack('S', 0x0300)) },
	magic => sub { write_bytes($_[0], 24, pack('L', 1)) },
	alignment => sub { write_bytes($_[0], 24 + 41, pack('C', 2)) },
	missing => sub { unlink $_[0] or die "$_[0]: $!" },);
my %reason = (
	header => qr/invalid page in block 0 of relation/,
	magic => qr/index "damaged_magic" is not a btree/,
	alignment => qr/index "damaged_alignment" has an invalid item alignment in its metapage/,
	missing => qr/could not open file/,);

$node->safe_psql('postgres', <<'SQL');
SET default_index_item_alignment = auto;
CREATE TABLE damaged AS SELECT a, a % 7 AS b FROM generate_series(1, 5000) a;
CREATE INDEX damaged_a_sound ON damaged (b);
CREATE INDEX damaged_header ON damaged (a);
CREATE INDEX damaged_magic ON damaged (a) WITH (item_alignment = auto);
CREATE INDEX damaged_alignment ON damaged (a);
CREATE INDEX damaged_missing ON damaged (a);
CREATE INDEX damaged_z_sound ON damaged (a, b);
SQL
my %file = map {
		$_ => $node->data_dir . '/'
	  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('damaged_$_')")
} keys %damage;
$node->stop;
$damage{$_}->($file{$_}) for keys %damage;
$node->start;
($ret, $stdout, $stderr) = $node->psql('postgres',
	'SELECT index, item_alignment FROM index_align.status ORDER BY index::text');
is( $stdout,
	"damaged_a_sound|4\ndamaged_alignment|\ndamaged_header|\ndamaged_magic|\ndamaged_missing|\ndamaged_z_sound|4",
	'damaged indexes are listed with the others');
for my $kind (sort keys %damage)
{
	like(
		$stderr,
		qr/WARNING:  could not read the item alignment of index "public.damaged_$kind"\nDETAIL:  $reason{$kind}.*\nHINT:  Please REINDEX it./,
		"$kind: a warning reports the metapage");
}
($ret, $stdout, $stderr) =
  $node->psql('postgres', q{SELECT index_align.item_alignment('damaged_magic')});
like(
	$stderr,
	qr/ERROR:  index "damaged_magic" is not a btree/,
	'the function for one index raises an error');
is( $node->safe_psql(
		'postgres',
		q{SELECT index, bytes_after IS NULL, blockers, statement FROM index_align.advise('damaged') WHERE blockers <> '{}' ORDER BY index::text}
	),
	join("\n",
		map { qq(damaged_$_|t|{"the metapage of the index is damaged; REINDEX the index"}|) }
		sort keys %damage),
	'advise() says which indexes are damaged');
is( $node->safe_psql(
		'postgres', q{SELECT count(*) > 0 FROM index_align.advise() WHERE statement IS NULL}),
	't',
	'damaged indexes do not keep advise() from looking at the whole database');
($ret, $stderr) = call('');
is($ret, 0, 'the call restores damaged indexes') or diag $stderr;
is(() = $stderr =~ /NOTICE:  restored index "public.damaged_/g,
	6, 'a notice names each restored index');
is(() = $stderr =~ /WARNING:  could not read the item alignment/g,
	4, 'a warning names each unreadable metapage')
  or diag $stderr;
is($node->safe_psql('postgres', $aligned), '0', 'none is left');
my ($count, $checked) = split /\|/, $node->safe_psql('postgres', $check);
is($checked, $count, "all $count indexes are sound");
$node->safe_psql('postgres', 'INSERT INTO damaged VALUES (1, 1); DROP TABLE damaged');

#
# Back to a stock server
#
$node->safe_psql('postgres',
	'ALTER DATABASE postgres RESET client_encoding; CREATE DATABASE second');
$node->safe_psql('second', 'CREATE EXTENSION index_align');
for my $db ('postgres', 'second')
{
	$node->safe_psql($db, <<'SQL');
SET default_index_item_alignment = auto;
CREATE TABLE numbers (a int PRIMARY KEY, b int2, c text, d int, e int, EXCLUDE USING btree (d WITH =));
INSERT INTO numbers SELECT i, i % 3000, 'text ' || i, i, i FROM generate_series(1, 20000) i;
CREATE INDEX numbers_b ON numbers (b) WITH (item_alignment = auto);
CREATE INDEX numbers_c ON numbers (c, a);
CREATE INDEX numbers_e ON numbers (e, d, a);
CREATE TABLE parts (a int PRIMARY KEY) PARTITION BY RANGE (a);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100000);
CREATE INDEX parts_a ON parts (a) WITH (item_alignment = auto);
INSERT INTO parts SELECT a FROM numbers;
SQL
}
my $read = <<'SQL';
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(a), sum(a) FROM numbers WHERE a > 0;
SELECT count(b), sum(b) FROM numbers WHERE b > 0;
SELECT count(c), md5(string_agg(c, ',' ORDER BY c)) FROM numbers WHERE c > '';
SELECT count(e), sum(e) FROM numbers WHERE e > 0;
SELECT count(d), sum(d) FROM numbers WHERE d > 0;
SELECT count(a), sum(a) FROM parts WHERE a > 0;
SQL
my %expected = map { $_ => $node->safe_psql($_, $read) } 'postgres', 'second';
my ($library) = `pg_config --pkglibdir` =~ /(.*)/;
my $installation = $node->{_install_path};

# start_as(PATH) - stop the server, and start the server in PATH on the data directory
sub start_as
{
	my ($path) = @_;

	$node->stop;
	$node->{_install_path} = $path;
	$node->start;
	return;
}

$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET default_index_item_alignment');
$node->adjust_conf('postgresql.conf', 'default_index_item_alignment', undef);
start_as($stock_path);
($ret, $stdout, $stderr) =
  $node->psql('postgres', 'SET enable_seqscan = off; SELECT count(a) FROM numbers WHERE a > 0');
like(
	$stderr,
	qr/ERROR:  invalid page in block \d+ of relation/,
	'before the call, the stock server refuses to read an index');
($ret, $stdout, $stderr) = $node->psql('postgres', "LOAD '$library/index_align.so'");
# The dynamic linker may report a missing symbol before the server checks the library.
like(
	$stderr,
	qr/ERROR:  (could not load library ".*index_align.so": .*: undefined symbol|incompatible library ".*index_align.so")/,
	'before the call, the stock server refuses to load the library');

start_as($installation);
for my $db ('postgres', 'second')
{
	($ret, $stderr) = call('', db => $db);
	is($ret, 0, "$db: restored") or diag $stderr;
	is($node->safe_psql($db, $aligned), '0', "$db: no aligned index is left");
	is($node->safe_psql($db, $read), $expected{$db}, "$db: index scans give the same rows");
}
$node->command_ok(
	[
		'pg_dumpall', '-f', $node->basedir . '/dump.sql',
		'--no-sync', '-d', $node->connstr('postgres')
	],
	'pg_dumpall');
unlike(slurp_file($node->basedir . '/dump.sql'),
	qr/item_alignment/, 'the dump has no item_alignment');
$node->safe_psql($_, 'DROP EXTENSION index_align') for 'postgres', 'second';
start_as($stock_path);
for my $db ('postgres', 'second')
{
	$node->safe_psql($db, 'CREATE EXTENSION IF NOT EXISTS amcheck');
	my ($count, $checked) = split /\|/, $node->safe_psql($db, $check);
	is($checked, $count, "$db: the stock server finds all $count indexes sound");
	cmp_ok($count, '>=', 7, "$db: no index is missing");
	is($node->safe_psql($db, $read),
		$expected{$db}, "$db: index scans of the stock server give the same rows");
	$node->safe_psql($db,
		'UPDATE numbers SET b = b + 1; INSERT INTO numbers SELECT a + 20000, b, c, d + 20000, e FROM numbers; VACUUM numbers'
	);
	($count, $checked) = split /\|/, $node->safe_psql($db, $check);
	is($checked, $count, "$db: the indexes are sound after writes by the stock server");
}
$node->stop;
my $log = slurp_file($node->logfile);
unlike(
	$log,
	qr/PANIC|TRAP|signal 11|resource was not closed|leaked|reference leak/i,
	'nothing unexpected in the log');
done_testing();
