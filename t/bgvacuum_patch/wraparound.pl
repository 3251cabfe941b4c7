# Check transactions in progress whose xids are far from 3, the first normal xid, with which
# TransactionXmin starts in each process.  These are xids around 2^31, after 2^31, and around 2^32.
#
# A process treats all xids before its TransactionXmin as completed, and xids are compared modulo
# 2^32.  With a TransactionXmin of 3, these would be all xids from 2^31 + 3 to 2^32.  If bgwriter
# left its TransactionXmin at 3, it would remove rows of transactions in progress.
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

my $node = bgvacuum_node(
	'wraparound',
	shared_buffers => '4MB',
	conf => "max_logical_replication_workers = 0\nautovacuum_freeze_max_age = 2000000000\n");
$node->safe_psql('postgres', 'ALTER DATABASE template0 ALLOW_CONNECTIONS true');

# Freeze all databases.  Each is frozen up to the oldest running transaction.
sub freeze_all
{
	$node->command_ok([ 'vacuumdb', '--all', '--freeze', '--quiet' ],
		'vacuumdb freezes all databases');
	return;
}

# go_to(XID) - give the next transaction this xid, which must be at most 2^31 after the oldest
# unfrozen xid
sub go_to
{
	my ($xid) = @_;
	my $file = sprintf '%s/pg_xact/%04X', $node->data_dir, ($xid & 0xFFFFFFFF) >> 20;

	freeze_all();
	$node->stop;
	$node->command_ok([ 'pg_resetwal', '-e', $xid >> 32, '-x', $xid & 0xFFFFFFFF, $node->data_dir ],
		"pg_resetwal goes to $xid");
	# The segment with the commit status of the next xid must exist.
	append_to_file($file, "\0" x (262144 - (-s $file // 0)));
	chmod 0600, $file;
	$node->start;
	return;
}

my $number = 0;

# Let transactions insert, delete, update and lock rows while bgwriter prunes the rows beside them.
# Two of these transactions have their subtransactions only in pg_subtrans.
sub try_here
{
	my ($name) = @_;
	my @tables = map { $number++; "t$number" } 0 .. 5;
	my $first = $node->safe_psql('postgres', 'SELECT pg_current_xact_id()');

	$node->safe_psql(
		'postgres',
		join '',
		map {
			"CREATE TABLE $_ (id int PRIMARY KEY, v text); INSERT INTO $_ SELECT i, '-' FROM generate_series(1, 30) i;\n"
		} @tables);
	my $holder = hold_horizon($node);
	$node->safe_psql('postgres', join '', map { "DELETE FROM $_ WHERE id > 20;\n" } @tables);
	my @sessions = map { $node->background_psql('postgres') } @tables;
	for my $i (0 .. $#tables)
	{
		my $t = $tables[$i];
		$sessions[$i]->query_safe(
			"BEGIN; INSERT INTO $t SELECT i, 'new' FROM generate_series(41, 45) i; DELETE FROM $t WHERE id IN (1, 2); UPDATE $t SET v = 'changed' WHERE id IN (3, 4);"
		);
		$sessions[$i]->query_safe(
			"DO \$\$ BEGIN FOR i IN 101 .. 180 LOOP BEGIN INSERT INTO $t VALUES (i, 'sub'); EXCEPTION WHEN OTHERS THEN RAISE; END; END LOOP; END \$\$"
		) if $i % 3 == 1;
		$sessions[$i]->query_safe("PREPARE TRANSACTION '$t'") if $i % 3 == 2;
	}
	# This transaction completes after the transactions of the sessions have begun.
	my $last = $node->safe_psql('postgres', 'SELECT pg_current_xact_id()');
	note "$name: transactions $first to $last";

	my $stats = bgvacuum_stats($node);
	$holder->quit;
	$sessions[ $_ % 3 == 2 ? $_ - 2 : $_ ]->query_safe("INSERT INTO $tables[$_] VALUES (46, 'new')")
	  for 0 .. $#tables;
	is( scalar(
			grep { !wait_for_tuples($node, $tables[$_], 28 + ($_ % 3 == 1 ? 80 : 0)) }
			  0 .. $#tables),
		0,
		"$name: dead rows are pruned");
	cmp_ok(
		bgvacuum_stats($node)->{tuples_removed} - $stats->{tuples_removed},
		'>=',
		10 * @tables,
		"$name: bgwriter prunes the dead rows");

	my $all = "SELECT string_agg(id || ':' || v, ' ' ORDER BY id) FROM %s";
	my $before = join ' ', map { "$_:-" } 1 .. 20;
	is( join("\n", map { $node->safe_psql('postgres', sprintf $all, $_) } @tables),
		join("\n", ($before) x @tables),
		"$name: no change is visible before the commit");
	for my $i (0 .. $#tables)
	{
		my $end = $i < 3 ? 'COMMIT' : 'ROLLBACK';
		$sessions[$i]->query_safe($i % 3 == 2 ? "$end PREPARED '$tables[$i]'" : $end)
		  if $i % 3 == 2;
		$sessions[$i]->query_safe($end) if $i % 3 != 2;
	}
	my $new = join ' ', '3:changed', '4:changed', (map { "$_:-" } 5 .. 20),
	  (map { "$_:new" } 41 .. 46);
	my @expected = ($new, "$new " . join(' ', map { "$_:sub" } 101 .. 180), $new);
	is( join("\n", map { $node->safe_psql('postgres', sprintf $all, $_) } @tables),
		join("\n", @expected, ($before) x 3),
		"$name: changes are committed and rolled back as they should");
	wait_for_rounds($node);
	is( join("\n",
			map { $node->safe_psql('postgres', 'SET enable_seqscan = off; ' . sprintf $all, $_) }
			  @tables),
		join("\n", @expected, ($before) x 3),
		"$name: an index finds the same rows");
	$_->quit for @sessions;
	return $last;
}

my $half = 1 << 31;
my $whole = 1 << 32;

try_here('the first transactions');
go_to(1_200_000_000);
go_to($half - 300);
try_here('before 2^31');
# Advance to 2^31.
$node->safe_psql('postgres',
	"DO \$\$ BEGIN FOR i IN 1 .. 300 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END \$\$"
);
cmp_ok(try_here('at 2^31'), '>', $half, 'the xids pass 2^31');
go_to($half + 1_000_000);
try_here('after 2^31');
go_to(3_200_000_000);
try_here('at 3.2 * 10^9');
go_to($whole - 100);
cmp_ok(try_here('at the end of the epoch'), '>', $whole, 'the xids pass 2^32');
try_here('in the next epoch');
check_heaps($node, 'in the next epoch');
check_indexes($node, 'in the next epoch');
check_log($node, 'at the end');
$node->stop;

done_testing();
