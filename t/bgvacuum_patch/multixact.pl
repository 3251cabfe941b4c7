# bgwriter cannot look up the members of a multixact, so it must leave a page with a multixact to
# other processes.  Check that no lock and no update is lost if several transactions lock a row, or
# if one updates a row that others have locked.  bgwriter must also leave a page alone if it has
# rows that VACUUM FULL moved before 9.0.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Bgvacuum;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('bgvacuum_patch', 'bgvacuum');

my $node = bgvacuum_node(
	'multixact',
	no_checksums => 1,
	shared_buffers => '4MB',
	conf => "max_logical_replication_workers = 0\n");
my $all = "SELECT string_agg(id || ':' || v, ' ' ORDER BY id) FROM %s";
my $number = 0;

# try_case(NAME, MULTI, STATEMENTS, END, RESULT) - start a session with each of STATEMENTS, which
# lock or update row 1 of a page that also has dead rows; then run END in these sessions, in order.
# Check that the page has MULTI multixacts, that bgwriter skips the page if it has multixacts and
# prunes it otherwise, that row 1 is locked, and that column v of row 1 is RESULT at the end.
sub try_case
{
	my ($name, $multi, $statements, $end, $result) = @_;
	my $t = 't' . ++$number;

	$node->safe_psql('postgres',
		"CREATE TABLE $t (id int PRIMARY KEY, v text); INSERT INTO $t SELECT i, '-' FROM generate_series(1, 30) i"
	);
	my $holder = hold_horizon($node);
	$node->safe_psql('postgres', "DELETE FROM $t WHERE id > 20");
	my @sessions = map { $node->background_psql('postgres') } @$statements;
	$sessions[$_]->query_safe('BEGIN; ' . sprintf($statements->[$_], $t)) for 0 .. $#sessions;
	my $versions = line_pointers($node, $t)->{normal};
	my $infomask = $node->safe_psql('postgres',
		"SELECT count(*) FROM heap_page_items(get_raw_page('$t', 0)) WHERE t_infomask & 4096 <> 0 AND t_infomask & 2048 = 0"
	);
	is($infomask, $multi, "$name: number of multixacts on the page");
	$holder->quit;

	my $stats = bgvacuum_stats($node);
	$node->safe_psql('postgres', "INSERT INTO $t VALUES (41, 'late')");
	if ($multi)
	{
		ok(wait_for_stat($node, 'skipped_multixact', 1, $stats), "$name: the page is skipped");
		wait_for_rounds($node, 5);
		is(line_pointers($node, $t)->{normal}, $versions + 1, "$name: nothing is pruned");
	}
	else
	{
		ok(wait_for_tuples($node, $t, $versions - 10 + 1), "$name: the page is pruned");
	}
	for my $strength ('FOR UPDATE', 'FOR NO KEY UPDATE')
	{
		my ($code, undef, $err) =
		  $node->psql('postgres', "SELECT FROM $t WHERE id = 1 $strength NOWAIT");
		next if $strength eq 'FOR NO KEY UPDATE' && !grep { /UPDATE|FOR SHARE/ } @$statements;
		like($err, qr/could not obtain lock/, "$name: the row is locked against $strength");
	}
	$sessions[$_]->query_safe($end->[$_]) for 0 .. $#sessions;
	is( $node->safe_psql('postgres', sprintf $all, $t),
		join(' ', "1:$result", (map { "$_:-" } 2 .. 20), '41:late'),
		"$name: all rows are there");

	# The multixact is still there, but its transactions have ended.
	$node->safe_psql('postgres', "UPDATE $t SET v = 'later' WHERE id = 41");
	wait_for_rounds($node, 5);
	is( $node->safe_psql('postgres', 'SET enable_seqscan = off; ' . sprintf $all, $t),
		join(' ', "1:$result", (map { "$_:-" } 2 .. 20), '41:later'),
		"$name: all rows are found by the index later");
	$_->quit for @sessions;

	# VACUUM removes the multixact, and then bgwriter may prune the page.
	$node->safe_psql('postgres', "VACUUM (FREEZE) $t");
	is(line_pointers($node, $t)->{normal}, 21, "$name: VACUUM removes the dead rows");
	$node->safe_psql('postgres', "DELETE FROM $t WHERE id BETWEEN 11 AND 20");
	ok(wait_for_tuples($node, $t, 11), "$name: afterwards the page is pruned");
	is( $node->safe_psql('postgres', sprintf $all, $t),
		join(' ', "1:$result", (map { "$_:-" } 2 .. 10), '41:later'),
		"$name: all rows are there at the end");
	return;
}

my ($share, $key_share) =
  map { "SELECT count(*) FROM (SELECT FROM %s WHERE id = 1 $_) x" } 'FOR SHARE', 'FOR KEY SHARE';
my $update = "UPDATE %s SET v = 'changed' WHERE id = 1";

try_case('one FOR SHARE', 0, [$share], ['COMMIT'], '-');
try_case('two FOR SHARE', 1, [ $share, $share ], [ 'COMMIT', 'COMMIT' ], '-');
try_case('two FOR SHARE, one rolled back', 1, [ $share, $share ], [ 'ROLLBACK', 'COMMIT' ], '-');
try_case('two FOR KEY SHARE', 1, [ $key_share, $key_share ], [ 'COMMIT', 'ROLLBACK' ], '-');
# The old version has a multixact of the transactions that locked the row and of the transaction
# that updated it.  The new version has a multixact of the transactions that locked the row, if
# there are several.
try_case(
	'an update of what one has locked',
	1,
	[ $key_share, $update ],
	[ 'COMMIT', 'COMMIT' ], 'changed');
try_case(
	'an update of what one has locked, rolled back',
	1,
	[ $key_share, $update ],
	[ 'COMMIT', 'ROLLBACK' ], '-');
try_case(
	'an update of what two have locked',
	2,
	[ $key_share, $key_share, $update ],
	[ 'COMMIT', 'ROLLBACK', 'COMMIT' ], 'changed');
try_case(
	'an update of what two have locked, rolled back',
	2,
	[ $key_share, $key_share, $update ],
	[ 'COMMIT', 'COMMIT', 'ROLLBACK' ], '-');
try_case(
	'an update in a subtransaction that is rolled back, and another',
	2,
	[
		$key_share,
		"SAVEPOINT s; UPDATE %1\$s SET v = 'not' WHERE id = 1; ROLLBACK TO s; UPDATE %1\$s SET v = 'changed' WHERE id = 1"
	],
	[ 'COMMIT', 'COMMIT' ],
	'changed');

## Rows moved by VACUUM FULL before 9.0

{
	my $what = 'a row that was moved';

	$node->safe_psql('postgres',
		"CREATE TABLE moved (id int PRIMARY KEY, v text); INSERT INTO moved SELECT i, '-' FROM generate_series(1, 30) i"
	);
	my ($place, $xmin, $file) = split /\|/,
	  $node->safe_psql('postgres',
		"SELECT lp_off, t_xmin, pg_relation_filepath('moved') FROM heap_page_items(get_raw_page('moved', 0)) WHERE lp = 1"
	  );
	$node->stop;
	# Set HEAP_MOVED_IN, as if VACUUM FULL had moved the row in a transaction that is known to have
	# committed.
	open my $page, '+<:raw', $node->data_dir . "/$file" or die "could not open $file: $!";
	seek $page, $place + 20, 0 and read $page, my $infomask, 2 or die "could not read $file: $!";
	seek $page, $place + 8, 0  and print $page pack('L', $xmin) or die "could not write $file: $!";
	seek $page, $place + 20, 0 and print $page pack('S', unpack('S', $infomask) | 0x8000)
	  or die "could not write $file: $!";
	close $page or die "could not write $file: $!";
	$node->start;

	is( $node->safe_psql(
			'postgres',
			q{SELECT count(*) FROM heap_page_items(get_raw_page('moved', 0)) WHERE t_infomask & 32768 <> 0}
		),
		1,
		"$what is on the page");
	my $expected = join ' ', map { "$_:-" } 1 .. 20;
	my $stats = bgvacuum_stats($node);
	$node->safe_psql('postgres', 'DELETE FROM moved WHERE id > 20');
	ok(wait_for_stat($node, 'skipped_multixact', 1, $stats), "$what: the page is skipped");
	wait_for_rounds($node, 5);
	is(line_pointers($node, 'moved')->{normal}, 30, "$what: nothing is pruned");
	is($node->safe_psql('postgres', sprintf $all, 'moved'), $expected, "$what: all rows are there");
	$node->safe_psql('postgres', 'VACUUM (FREEZE) moved');
	is(line_pointers($node, 'moved')->{normal}, 20, "$what: VACUUM removes the dead rows");
	is($node->safe_psql('postgres', sprintf $all, 'moved'),
		$expected, "$what: all rows are there after VACUUM");
}

## Foreign keys: parents are updated while children refer to them.

ledger_tables($node);
my $stats = bgvacuum_stats($node);
my $load = ledger_load($node, 8, 8);
cmp_ok(ledger_finish($load, 'foreign keys'),
	'>', 500, 'foreign keys: clients ran more than 500 transactions');
my $after = bgvacuum_stats($node);
note join ', ', map { "$_ " . ($after->{$_} - $stats->{$_}) } sort keys %$after;
cmp_ok($after->{pages_pruned} - $stats->{pages_pruned}, '>', 100,
	'foreign keys: pages were pruned');
cmp_ok($after->{skipped_multixact} - $stats->{skipped_multixact},
	'>', 0, 'foreign keys: pages with multixacts were skipped');
check_ledger($node, 'foreign keys');
$node->restart;
check_ledger($node, 'foreign keys, after a restart');
check_log($node, 'at the end');
$node->stop;

done_testing();
