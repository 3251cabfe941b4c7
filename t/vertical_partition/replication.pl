# Test split tables on a standby, and in logical replication.  Logical replication copies the parts
# as ordinary tables, and the view of the subscriber must return the rows of the publisher.  Row
# pointers are not replicated.  relink() sets them anew.  Before relink(), reads that need row
# pointers fail, and return no wrong row.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Partition;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = partition_node('primary');
my $definition = 'id int PRIMARY KEY, n int DEFAULT 0, doc text, c int DEFAULT 0';
my $rows = join ' UNION ALL ',
  map { "SELECT '$_' AS t, x::text AS r FROM $_ x" } @partition_methods;
my $read = "SELECT * FROM ($rows) x ORDER BY 1, 2";

$primary->safe_psql('postgres',
	"CREATE EXTENSION vertical_partition;\n" . partition_helpers('plain'));
$primary->safe_psql('postgres', <<"SQL") for @partition_methods;
CREATE TABLE $_ ($definition);
INSERT INTO $_ SELECT i, i, CASE WHEN i % 5 = 0 THEN repeat('long ' || i, 1000) ELSE 'doc ' || i END FROM generate_series(1, 100) i;
SELECT vertical_partition.split('$_', '{doc,c}', '$_');
SQL
$primary->backup('base');

sub changes
{
	my ($table, $from) = @_;

	return <<"SQL";
INSERT INTO $table SELECT i, 0, 'new ' || i FROM generate_series($from, $from + 20) i;
UPDATE $table SET n = n + 1 WHERE id % 3 = 0;
UPDATE $table SET doc = doc || '!', c = c + 1 WHERE id % 4 = 0;
UPDATE $table SET c = c + 1, n = n + 1 WHERE id % 5 = 0;
UPDATE $table SET id = -id WHERE id % 11 = 0 AND id > 0;
DELETE FROM $table WHERE id % 13 = 0;
BEGIN;
UPDATE $table SET n = -1, c = -1;
ROLLBACK;
SQL
}

#
# Standby
#
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

sub compare_standby
{
	my ($what) = @_;

	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	ok($standby->safe_psql('postgres', $read) eq $primary->safe_psql('postgres', $read),
		"standby: $what");
	is($standby->safe_psql('postgres', 'SELECT * FROM parts_wrong()'),
		'', "standby: $what, hot and cold rows match");
}
compare_standby('rows');
$primary->safe_psql('postgres', changes($_, 1000) . "VACUUM;\n") for @partition_methods;
compare_standby('changes');
for my $method (@partition_methods)
{
	for (
		"UPDATE $method SET n = 1",
		"UPDATE $method SET c = 1 WHERE id = 1",
		"INSERT INTO $method (id) VALUES (-1)",
		"DELETE FROM $method",
		"SELECT n FROM $method FOR UPDATE",
		"SELECT c FROM $method FOR UPDATE",
		"SELECT vertical_partition.merge('$method')")
	{
		my ($rc, $out, $err) = $standby->psql('postgres', $_);
		like($err, qr/ERROR:  cannot execute .* in a read-only transaction|recovery is in progress/,
			"standby: $_");
	}
	is( $standby->safe_psql('postgres',
			"SELECT count(*), count(doc), sum(n) IS NOT NULL FROM $method") =~ s/\|.*//r,
		$primary->safe_psql('postgres', "SELECT count(*) FROM $method"),
		"standby: $method");
}
my ($rc, $out, $err) =
  $standby->psql('postgres', q{SELECT vertical_partition.relink('row_pointer')});
like($err, qr/read-only transaction|recovery is in progress/, 'standby: relink() is refused');

#
# Logical replication
#
my $subscriber = partition_node('subscriber');
$subscriber->safe_psql('postgres',
	"CREATE EXTENSION vertical_partition;\n" . partition_helpers('plain'));
$subscriber->safe_psql('postgres',
	"CREATE TABLE $_ ($definition); SELECT vertical_partition.split('$_', '{doc,c}', '$_');")
  for @partition_methods;
my $connstr = $primary->connstr . ' dbname=postgres';
# Without an index, rows of the cold part are identified by all columns.  It does not matter which
# pointers the subscriber has before relink().  Column lists exist since 15.
$primary->safe_psql('postgres', <<'SQL');
ALTER TABLE row_pointer_cold REPLICA IDENTITY FULL;
CREATE PUBLICATION pub FOR TABLE shared_key_hot, shared_key_cold, surrogate_key_hot, surrogate_key_cold, row_pointer_cold, row_pointer_hot (id, n);
SQL
$subscriber->safe_psql('postgres', <<"SQL");
ALTER TABLE row_pointer_hot ALTER cold_tid SET DEFAULT '(0,0)';
CREATE SUBSCRIPTION sub CONNECTION '$connstr' PUBLICATION pub;
SQL
$subscriber->wait_for_subscription_sync($primary, 'sub');

sub compare_subscriber
{
	my ($what, @methods) = @_;

	$primary->wait_for_catchup('sub');
	for my $method (@methods)
	{
		my $query = "SELECT x FROM $method x ORDER BY id";
		ok($subscriber->safe_psql('postgres', $query) eq $primary->safe_psql('postgres', $query),
			"logical: $what, $method");
	}
}

# The subscriber must read the right rows in the hot part.  Reads that need the cold
# part must fail with a hint.
sub compare_pointers
{
	my ($what) = @_;
	my ($hot, $cold, $lock) = (
		'SELECT id, n FROM row_pointer ORDER BY id',
		'SELECT id, doc, c FROM row_pointer ORDER BY id',
		'PREPARE locked AS SELECT id, doc, c FROM row_pointer ORDER BY id FOR UPDATE');

	$primary->wait_for_catchup('sub');
	is( $subscriber->safe_psql('postgres', $hot),
		$primary->safe_psql('postgres', $hot),
		"logical: $what, row_pointer, hot columns");
	my ($rc, $out, $err) = $subscriber->psql('postgres', $cold);
	like(
		$err,
		qr/ERROR: .*\n(.*\n)*HINT:.*relink/,
		"logical: $what, row_pointer, cold columns need relink()");
	# SELECT FOR UPDATE would omit the rows whose pointers are wrong, so it must fail.
	($rc, $out, $err) = $subscriber->psql('postgres', "$lock; EXECUTE locked");
	is($out, '', "logical: $what, row_pointer, SELECT FOR UPDATE before relink() shows no row");
	like(
		$err,
		qr/ERROR: .*\n(.*\n)*HINT:.*relink/,
		"logical: $what, row_pointer, SELECT FOR UPDATE before relink() fails");
	is($subscriber->safe_psql('postgres', "SELECT vertical_partition.relink('row_pointer') > 0"),
		't', "logical: $what, relink()");
	is( $subscriber->safe_psql('postgres', $cold),
		$primary->safe_psql('postgres', $cold),
		"logical: $what, row_pointer after relink()");
	# SELECT FOR UPDATE fails also after relink(), because the subscription can make
	# pointers wrong at any time.
	($rc, $out, $err) = $subscriber->psql('postgres', "$lock; EXECUTE locked");
	is($out, '', "logical: $what, row_pointer, SELECT FOR UPDATE shows no row");
	like(
		$err,
		qr/ERROR: .*\n(.*\n)*DETAIL:.*subscription.*\nHINT:.*relink/,
		"logical: $what, row_pointer, SELECT FOR UPDATE fails");
	is( $subscriber->safe_psql(
			'postgres',
			"SELECT pointers_valid FROM vertical_partition.status WHERE relation = 'row_pointer'::regclass"
		),
		'f',
		"logical: $what, row_pointer, the pointers do not count as valid");
}
compare_subscriber('first copy', qw(shared_key surrogate_key));
compare_pointers('first copy');
$primary->safe_psql('postgres', changes($_, 2000)) for @partition_methods;
compare_subscriber('changes', qw(shared_key surrogate_key));
compare_pointers('changes');
$primary->safe_psql('postgres', "UPDATE $_ SET n = n + 1") for @partition_methods;
compare_subscriber('hot columns', @partition_methods);
$primary->safe_psql(
	'postgres',
	'TRUNCATE '
	  . join(', ', @partition_methods) . '; '
	  . join(' ',
		map { "INSERT INTO $_ (id, doc) VALUES (1, 'one'), (2, 'two');" } @partition_methods));
compare_subscriber('TRUNCATE', qw(shared_key surrogate_key));
compare_pointers('TRUNCATE');
is( $subscriber->safe_psql('postgres', 'SELECT * FROM parts_wrong()'),
	'row_pointer: pointers need relink()',
	'logical: hot and cold rows match');

# A publication of all tables also has the table row_pointers.  The replicating role may copy this
# table, but the subscriber gets no row of it.
$_->safe_psql('postgres', 'CREATE DATABASE everything') for $primary, $subscriber;
$_->safe_psql('everything', <<'SQL') for $primary, $subscriber;
CREATE EXTENSION vertical_partition;
CREATE TABLE t (id int PRIMARY KEY, n int, c text);
SELECT vertical_partition.split('t', '{c}', 'shared_key');
CREATE TABLE p (id int PRIMARY KEY, n int, c text);
SELECT vertical_partition.split('p', '{c}', 'row_pointer');
SQL
$primary->safe_psql('everything', <<'SQL');
CREATE ROLE copier LOGIN REPLICATION;
GRANT SELECT ON t_hot, t_cold, p_hot, p_cold TO copier;
INSERT INTO t VALUES (1, 1, 'c');
CREATE PUBLICATION everything FOR ALL TABLES;
SQL
$subscriber->safe_psql('everything',
		"CREATE SUBSCRIPTION everything CONNECTION '"
	  . $primary->connstr
	  . " dbname=everything user=copier' PUBLICATION everything");
$subscriber->wait_for_subscription_sync($primary, 'everything', 'everything');
$primary->safe_psql('everything', <<'SQL');
INSERT INTO t VALUES (2, 2, 'd');
SELECT vertical_partition.forget_row_pointers('p_cold'), vertical_partition.relink('p');
SQL
$primary->wait_for_catchup('everything');
my $pointers = 'SELECT count(*) FROM vertical_partition_internal.row_pointers';
is($primary->safe_psql('everything', $pointers), '1',
	'all tables: the publisher has a row pointer');
is($subscriber->safe_psql('everything', $pointers),
	'0', 'all tables: the subscriber takes over no row pointers');
is($subscriber->safe_psql('everything', 'SELECT * FROM t ORDER BY id'),
	"1|1|c\n2|2|d", 'all tables: the subscriber has the rows');
$subscriber->safe_psql('everything', 'DROP SUBSCRIPTION everything');

# A subscription of only the hot part also makes pointers wrong.  A plan from before the
# subscription is not used any more, and the pointers stay wrong after DROP SUBSCRIPTION.
my $valid = q{SELECT pointers_valid FROM vertical_partition.status WHERE relation = 'p'::regclass};
my $lock_p = 'SELECT id, c FROM p FOR UPDATE';
$primary->safe_psql('everything', 'CREATE PUBLICATION hot_part FOR TABLE p_hot');
is($subscriber->safe_psql('everything', "SELECT vertical_partition.relink('p'); $valid"),
	"0\nt", 'hot part: relink() without a subscription');
my $old_plan = $subscriber->background_psql('everything', on_error_stop => 0);
$old_plan->query("PREPARE locked AS $lock_p; EXECUTE locked; EXECUTE locked");
my $old_snapshot = $subscriber->background_psql('everything', on_error_stop => 0);
$subscriber->safe_psql('everything',
		"CREATE SUBSCRIPTION hot_part CONNECTION '"
	  . $primary->connstr
	  . " dbname=everything' PUBLICATION hot_part");
$subscriber->wait_for_subscription_sync($primary, 'hot_part', 'everything');
is($subscriber->safe_psql('everything', $valid), 'f', 'hot part: the pointers are not valid');
$old_plan->query('EXECUTE locked');
like(
	$old_plan->{stderr},
	qr/ERROR: .*\n(.*\n)*DETAIL:.*subscription/,
	'hot part: a plan from before the subscription is not used');
$old_plan->quit;
$subscriber->safe_psql('everything', "SELECT vertical_partition.relink('p')");
is($subscriber->safe_psql('everything', $valid),
	'f', 'hot part: relink() does not make the pointers valid');
$old_snapshot->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
$subscriber->safe_psql('everything', 'DROP SUBSCRIPTION hot_part');
is($subscriber->safe_psql('everything', $valid),
	'f', 'hot part: the pointers are not valid after DROP SUBSCRIPTION');
($rc, $out, $err) = $subscriber->psql('everything', $lock_p);
like(
	$err,
	qr/ERROR: .*\nHINT:.*relink/,
	'hot part: SELECT FOR UPDATE fails after DROP SUBSCRIPTION');
is( $subscriber->safe_psql('everything', "SELECT vertical_partition.relink('p'); $valid; $lock_p"),
	"0\nt",
	'hot part: relink() after DROP SUBSCRIPTION');
$old_snapshot->query($lock_p);
like(
	$old_snapshot->{stderr},
	qr/ERROR: .*could not serialize access due to a concurrent relink/,
	'hot part: a snapshot from before relink() cannot lock rows');
$old_snapshot->quit;

# A database that is made from a template has no subscription.
$subscriber->safe_psql('everything',
		"CREATE SUBSCRIPTION hot_part CONNECTION '"
	  . $primary->connstr
	  . " dbname=everything' PUBLICATION hot_part WITH (create_slot = false, slot_name = NONE, enabled = false, connect = false)"
);
$subscriber->safe_psql('everything', <<'SQL');
INSERT INTO pg_subscription_rel (srsubid, srrelid, srsubstate) SELECT oid, 'p_hot'::regclass, 'r' FROM pg_subscription WHERE subname = 'hot_part';
SQL
$subscriber->safe_psql('postgres', 'CREATE DATABASE copied TEMPLATE everything');
($rc, $out, $err) = $subscriber->psql('everything', $lock_p);
like($err, qr/DETAIL:.*subscription/, 'copied database: the template has a subscription');
is($subscriber->safe_psql('copied', "SELECT vertical_partition.relink('p'); $lock_p"),
	'0', 'copied database: relink(), and SELECT FOR UPDATE');
$subscriber->safe_psql('everything', 'DROP SUBSCRIPTION hot_part');

# The subscriber takes over from the publisher.
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION sub');
my $locked = 'SELECT * FROM row_pointer ORDER BY id FOR UPDATE';
($rc, $out, $err) = $subscriber->psql('postgres', $locked);
like($err, qr/ERROR: .*\nHINT:.*relink/, 'former subscriber: SELECT FOR UPDATE needs relink()');
$subscriber->safe_psql('postgres', q{SELECT vertical_partition.relink('row_pointer')});
is( $subscriber->safe_psql('postgres', $locked),
	$primary->safe_psql('postgres', $locked),
	'former subscriber: SELECT FOR UPDATE after relink()');
$subscriber->safe_psql('postgres', <<'SQL');
SELECT setval(pg_get_serial_sequence('surrogate_key_cold', 'cold_id'), max(cold_id)) FROM surrogate_key_cold;
SQL
$subscriber->safe_psql('postgres', changes($_, 3000)) for @partition_methods;
$primary->safe_psql('postgres', changes($_, 3000))    for @partition_methods;
is( $subscriber->safe_psql('postgres', $read),
	$primary->safe_psql('postgres', $read),
	'the former subscriber can be written to');
is($subscriber->safe_psql('postgres', 'SELECT * FROM parts_wrong()'),
	'', 'former subscriber: hot and cold rows match');
unlike(
	slurp_file($subscriber->logfile),
	qr/logical replication.*ERROR|PANIC|terminated by signal/,
	'no error on the subscriber');
$subscriber->stop;

#
# Promotion
#
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
$standby->promote;
my $before = $standby->safe_psql('postgres', $read);
is($before, $primary->safe_psql('postgres', $read), 'promoted: the rows are the same');
$_->safe_psql('postgres', join '', map { changes($_, 4000) } @partition_methods)
  for $primary, $standby;
is( $standby->safe_psql('postgres', $read),
	$primary->safe_psql('postgres', $read),
	'promoted: changes have the same result');
parts_in_order($standby, 'postgres', 'promoted');
($rc, $out, $err) = $standby->psql('postgres', q{SELECT vertical_partition.merge('row_pointer')});
like(
	$err,
	qr/publication pub, which has a column list/,
	'promoted: merge() refuses to lose a publication');
$standby->safe_psql('postgres', "DROP PUBLICATION pub");
$standby->safe_psql('postgres', "SELECT vertical_partition.merge('$_')") for @partition_methods;
is( $standby->safe_psql('postgres', $read),
	$primary->safe_psql('postgres', $read),
	'promoted: merge()');
$standby->stop;
$primary->stop;
done_testing();
