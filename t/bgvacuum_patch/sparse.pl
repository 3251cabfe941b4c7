# Where background vacuum wins nothing, few pages get a stamp and the background writer's rounds come
# as on a stock server; and that ends when there is something to win.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Bgvacuum;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

needs_patch('bgvacuum_patch', 'bgwriter_vacuum');

# 256 buffers, and a table of 2,000 pages with 50 rows each
my $rows = 100_000;
my $node = bgvacuum_node('sparse', conf => "debug_bgwriter_vacuum = off\nbgwriter_lru_maxpages = 100\nmax_parallel_workers_per_gather = 0\nmax_logical_replication_workers = 0\n");
make_table('single');
$node->safe_psql('postgres', <<"SQL");
CREATE PROCEDURE delete_most(begin_id int, end_id int) LANGUAGE plpgsql AS \$\$
BEGIN
  FOR k IN begin_id / 50 .. end_id / 50 - 1 LOOP
    DELETE FROM single WHERE id BETWEEN k * 50 + 1 AND k * 50 + 30;
    COMMIT;
  END LOOP;
END \$\$;
SQL

# make_table(TABLE[, FILLFACTOR]) - that has 100,000 rows on some 2,000 pages, frozen
sub make_table
{
	my ($table, $fillfactor) = @_;
	$fillfactor //= 90;
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (id int PRIMARY KEY, n int NOT NULL, pad text) WITH (fillfactor = $fillfactor, autovacuum_enabled = off);
INSERT INTO $table SELECT i, 0, repeat('s', 100) FROM generate_series(1, $rows) i;
VACUUM (FREEZE, ANALYZE) $table;
SQL
	return;
}

# each_page(SQL[, PAGES]) - the SQL that runs this one, and commits, for each page, or the first ones: it has rows
# k * 50 + 1 to k * 50 + 50.  All are so many pages that none stays in memory.
sub each_page
{
	my ($sql, $pages) = @_;
	$pages //= $rows / 50;
	return "DO 'BEGIN FOR k IN 0 .. $pages - 1 LOOP $sql; COMMIT; END LOOP; END'";
}

# update_pages(TABLE) - the SQL that updates one row of each page
sub update_pages
{
	my ($table) = @_;
	return each_page("UPDATE $table SET n = n + 1 WHERE id = k * 50 + 1 + (k % 50)");
}

# update_many(TABLE) - the SQL that updates eight rows of each page, which is worth a prune
sub update_many
{
	my ($table) = @_;
	return each_page("UPDATE $table SET n = n + 1 WHERE id BETWEEN k * 50 + 1 AND k * 50 + 8");
}

# purge(TABLE, FROM) - the SQL that deletes 20 of the 50 rows of each page, from the one with this number
sub purge
{
	my ($table, $from) = @_;
	return each_page("DELETE FROM $table WHERE id BETWEEN k * 50 + $from + 1 AND k * 50 + $from + 20");
}

# table_stats(COLUMN[, TABLE]) - of pg_stat_bgvacuum_tables; empty if it has no stamp
sub table_stats
{
	my ($column, $table) = @_;
	$table //= 'single';
	return $node->safe_psql('postgres', "SELECT $column FROM pg_stat_bgvacuum_tables t WHERE relname = '$table'");
}

# run_until(WHAT, CONDITION, SQL) - run the SQL, 100 times at most, until the condition holds
sub run_until
{
	my ($what, $condition, $sql) = @_;

	for (1 .. 100)
	{
		$node->safe_psql('postgres', $sql->());
		return pass($what) if $condition->();
	}
	diag table_stats('to_json(t)');
	return fail($what);
}

my $updated = 0;

sub update_all
{
	$updated++;
	return update_pages('single');
}

$node->safe_psql('postgres', 'UPDATE single SET n = n WHERE id = 1');
is(table_stats('stamping'), 't', 'a table begins with all pages stamped');

# It backs off by what is seen of the pages that leave memory.
run_until('updates of single rows: pages get no stamps any more', sub { table_stats('stamping') eq 'f' }, \&update_all);
cmp_ok(table_stats('worth_share'), '<', 1 / 64, 'which is so since few of them are worth it');
$node->safe_psql('postgres', update_all()) for 1 .. 2;

# At the end, the last of 2,000 changed pages are in 256 buffers: nearly all of these, less the index's.
cmp_ok(table_stats('stamped_pages'), '<', 30, 'one page in 32 has a stamp');
$node->safe_psql('postgres', "UPDATE single SET n = n WHERE id IN (SELECT k * 1600 + 1 FROM generate_series(0, 40) k)");
cmp_ok(table_stats('stamped_pages'), '>', 0, 'but some have, so that it can be noticed that this changes');

# rounds(SECONDS, SQL...) - rounds of the background writer while the SQL is run for so long, and what a stock
# server would do at most
sub rounds
{
	my ($seconds, @sql) = @_;
	my $begin = time();
	my $rounds = bgvacuum_stats($node)->{rounds};

	do { $node->safe_psql('postgres', join(';', map { $_->() } @sql)) } while (time() - $begin < $seconds);
	$rounds = bgvacuum_stats($node)->{rounds} - $rounds;
	my $stock = 5 + (time() - $begin) / 0.2;
	note "$rounds rounds in $seconds seconds, at most $stock of a stock server";
	return ($rounds, $stock);
}

# The background writer does no more than on a stock server: a round each 200 ms, not one for each 16 buffers.
set_parameters($node, bgwriter_delay => '200ms');
{
	rounds(3, \&update_all);
	my ($rounds, $stock) = rounds(4, \&update_all);
	cmp_ok($rounds, '<=', $stock, 'rounds come after bgwriter_delay');

	# ... also if each sweep of 2,000 pages inserts five pages elsewhere.
	my $insert = sub { "INSERT INTO history SELECT i, repeat('h', 100) FROM generate_series(1, 300) i" };
	$node->safe_psql('postgres', 'CREATE TABLE history (id int, pad text)');
	rounds(3, \&update_all, $insert);
	($rounds, $stock) = rounds(4, \&update_all, $insert);
	cmp_ok($rounds, '<=', $stock, 'some inserts do not change that');

	# It ends with many inserts.
	$insert = sub { "DO 'BEGIN FOR k IN 1 .. 1000 LOOP INSERT INTO history SELECT i, repeat(''h'', 100) FROM generate_series(1, 20) i; COMMIT; END LOOP; END'" };
	($rounds, $stock) = rounds(4, $insert);
	cmp_ok($rounds, '>', $stock * 1.5, 'rounds come sooner when pages are inserted into');
}
set_parameters($node, bgwriter_delay => '10ms');

# What is inserted can be frozen, and gets stamps.
$node->safe_psql('postgres', "INSERT INTO single SELECT i, 0, repeat('i', 100) FROM generate_series($rows + 1, $rows + 5000) i");
cmp_ok(table_stats('stamped_pages'), '>', 60, 'pages with new rows are stamped all the same');

# Where many rows are deleted, pages are worth a prune again.
my $pruned = bgvacuum_stats($node)->{pages_pruned};
my ($from, $deleted) = (0, 0);
run_until(
	'rows are deleted: all pages get stamps again',
	sub { table_stats('stamping') eq 't' && bgvacuum_stats($node)->{pages_pruned} > $pruned },
	sub {
		my $to = $from + $rows / 10;
		BAIL_OUT('all rows are deleted, and it was not noticed') if $to > $rows;
		my $sql = "CALL delete_most($from, $to)";
		$deleted += $rows / 10 / 50 * 30;
		$from = $to;
		return $sql;
	});
check_rows(
	$node, 'in the end', 'postgres',
	'SELECT count(*) FROM single WHERE id > 0' => $rows + 5000 - $deleted,
	"SELECT sum(n) FROM single WHERE id > $from" => $updated * ($rows - $from) / 50);

# make_sparse(TABLE) - make a table of 2,000 pages that gets few stamps
sub make_sparse
{
	my ($table) = @_;
	make_table($table);
	return run_until(
		"$table: pages get no stamps any more",
		sub { table_stats('stamping', $table) eq 'f' },
		sub { update_pages($table) });
}

# What is deleted is seen in one page of 32 then, and what is inserted on all pages; still, the deleted rows' space
# is offered.
make_sparse('queue');
$node->safe_psql('postgres', <<"SQL");
DO 'BEGIN
  FOR k IN 0 .. $rows / 50 - 1 LOOP
    DELETE FROM queue WHERE id BETWEEN k * 50 + 1 AND k * 50 + 12;
    INSERT INTO queue SELECT $rows + k * 12 + i, 0, repeat(''q'', 100) FROM generate_series(1, 12) i;
    COMMIT;
    PERFORM pg_sleep(0.001);
  END LOOP;
END'
SQL
is(table_stats('publishing', 'queue'), 't', 'queue: its free space is offered');
is(table_stats('stamping', 'queue'), 't', 'queue: and all pages have stamps for that');
cmp_ok(table_stats('pages_reused', 'queue'), '>', 100, 'queue: inserts take it');

# Each page is filled, leaves memory, and is changed once more: to set it all-visible is in vain.  The first half of
# the pages shows it.
make_sparse('orders');
my $pages;
foreach my $half (0, 1)
{
	$pages = table_stats('pages_visible', 'orders');
	$node->safe_psql('postgres', <<"SQL");
DO 'BEGIN
  FOR k IN $half * 3000 .. $half * 3000 + 2999 LOOP
    INSERT INTO orders SELECT $rows + k * 50 + i, 0, repeat(''o'', 100) FROM generate_series(1, 50) i;
    COMMIT;
    UPDATE orders SET n = n + 1 WHERE id = $rows + (k - 600) * 50 + 25;
    COMMIT;
    PERFORM pg_sleep(0.001);
  END LOOP;
END'
SQL
	is(table_stats('marking', 'orders'), 'f', 'orders: no more than some pages are set all-visible');
	$pages = table_stats('pages_visible', 'orders') - $pages;
	cmp_ok($pages, '>', 0, 'orders: but some are tried');
}
cmp_ok($pages, '<', 3000 / 8, 'orders: these are few');

# What VACUUM has set all-visible, and an update clears, says nothing about what the background writer sets.
make_table('vacuumed', 70);
$node->safe_psql('postgres', update_many('vacuumed'));
is(table_stats('marking', 'vacuumed'), 't', 'updates after VACUUM: pages are set all-visible');
is(table_stats('pruning', 'vacuumed'), 't', 'updates after VACUUM: and pruned for that');
cmp_ok(table_stats('pages_visible', 'vacuumed'), '>', 1000, 'updates after VACUUM: most of them');

# Once more: now it was the background writer who has set them.
$node->safe_psql('postgres', update_many('vacuumed'));
cmp_ok(table_stats('visible_loss', 'vacuumed'), '>', 0.25, 'more updates: what the background writer has set counts');
is(table_stats('marking', 'vacuumed'), 'f', 'more updates: few pages are set all-visible');
is(table_stats('pruning', 'vacuumed'), 'f', 'more updates: and few are pruned');

# Updates alone bring the visibility map into memory.
make_table('unmapped', 70);
set_parameters($node, bgwriter_vacuum => 'off');
$node->safe_psql('postgres', update_many('unmapped'));
set_parameters($node, bgwriter_vacuum => 'on');
$node->restart;
$node->safe_psql('postgres', update_many('unmapped'));
cmp_ok(table_stats('pages_visible', 'unmapped'), '>', 500, 'no map in memory: pages are set all-visible');

# It is not made for that.
$node->safe_psql('postgres', 'CREATE TABLE unvacuumed (LIKE single INCLUDING ALL) WITH (fillfactor = 70, autovacuum_enabled = off)');
set_parameters($node, bgwriter_vacuum => 'off');
$node->safe_psql('postgres', "INSERT INTO unvacuumed SELECT i, 0, repeat('s', 100) FROM generate_series(1, $rows) i");
set_parameters($node, bgwriter_vacuum => 'on');
$node->safe_psql('postgres', update_many('unvacuumed'));
is($node->safe_psql('postgres', "SELECT pg_relation_size('unvacuumed', 'vm')"), 0, 'no map: updates do not make one');
is(table_stats('settled_share', 'unvacuumed'), 1, 'no map: pages whose mark was not tried do not count');

# Deleted rows that nobody follows: their space is not worth a prune.
make_table('purged');
$node->safe_psql('postgres', purge('purged', 0));
$pruned = table_stats('pages_pruned', 'purged');
$node->safe_psql('postgres', purge('purged', 25));
cmp_ok(table_stats('delete_share', 'purged'), '>', 0.5, 'deletes only: many pages');
is(table_stats('pages_reused', 'purged'), 0, 'deletes only: nobody takes the space');
cmp_ok(table_stats('pages_pruned', 'purged') - $pruned, '<', 2000 / 8, 'deletes only: few pages are pruned');
check_rows(
	$node, 'in the end', 'postgres',
	'SELECT count(*) FROM purged WHERE id > 0' => $rows * 10 / 50,
	'SELECT sum(n) FROM vacuumed WHERE id > 0' => 2 * $rows / 50 * 8,
	'SELECT sum(n) FROM unmapped WHERE id > 0' => 2 * $rows / 50 * 8,
	'SELECT sum(n) FROM unvacuumed WHERE id > 0' => $rows / 50 * 8);

# evict() - read 800 pages by an index, one by one, so that none of another table stays in 256 buffers
make_table('other');
sub evict
{
	$node->safe_psql('postgres', each_page('PERFORM n FROM other WHERE id = k * 50 + 1; PERFORM pg_sleep(0.0005)', 800));
	return;
}

# A page that a checkpoint has written is clean when it leaves memory; what was done to it before counts still.
make_table('checkpointed');
$node->safe_psql('postgres', "UPDATE checkpointed SET n = n WHERE id = 1");
is(table_stats('delete_share', 'checkpointed'), 0, 'checkpoint: nothing is deleted yet');
$node->safe_psql('postgres', "DELETE FROM checkpointed WHERE id IN (SELECT k * 50 + 25 FROM generate_series(0, 99) k); CHECKPOINT");
cmp_ok(table_stats('stamped_pages', 'checkpointed'), '>', 50, 'checkpoint: pages that rows were deleted from are in memory');
evict();
cmp_ok(table_stats('delete_share', 'checkpointed'), '>', 0.5, 'checkpoint: deletes on clean pages count');

# Where rows have been deleted from many pages, pages are offered until this is true of few pages; in between,
# nothing changes.
make_table('half');
$node->safe_psql('postgres', "DELETE FROM half WHERE id IN (SELECT k * 50 + 25 FROM generate_series(0, 99) k)");
evict();
is(table_stats('publishing', 'half'), 't', 'many deletes: free space is offered');
my ($lower, $between, $next) = (1, 0, 100);
while ($lower >= 0.125 && $next < 2000)
{
	my ($first, $last) = ($next, $next + 7);
	$next += 8;
	$node->safe_psql('postgres', "UPDATE half SET n = n + 1 WHERE id IN (SELECT k * 50 + 25 FROM generate_series($first, $last) k)");
	evict();
	$lower = table_stats('delete_share', 'half');
	next if $lower < 0.125 || $lower >= 0.25;
	$between++;
	is(table_stats('publishing', 'half'), 't', "fewer deletes, $lower of the pages: still offered");
}
cmp_ok($between, '>', 0, 'fewer deletes: that was tried');
is(table_stats('publishing', 'half'), 'f', "few deletes, $lower of the pages: nothing is offered");

# In a table with few stamps, pages that are inserted into have one. They are not counted, as they would outnumber
# the others.
make_sparse('sampled');
$node->safe_psql('postgres', <<"SQL");
DO 'BEGIN
  FOR k IN 0 .. 499 LOOP
    DELETE FROM sampled WHERE id IN (k * 200 + 25, k * 200 + 75, k * 200 + 125, k * 200 + 175);
    INSERT INTO sampled SELECT $rows + k * 50 + i, 0, repeat(''s'', 100) FROM generate_series(1, 50) i;
    COMMIT;
    PERFORM pg_sleep(0.002);
  END LOOP;
END'
SQL
cmp_ok(table_stats('delete_share', 'sampled'), '>', 0.5, 'few stamps: four of five changed pages have deleted rows');

# As long as a snapshot is older than all rows that are inserted, no page can be set all-visible. Few are tried then,
# and all of them when the snapshot is gone.
make_table('recent');
sub insert_recent
{
	$node->safe_psql('postgres', <<"SQL");
DO 'DECLARE last int := max(id) FROM recent; BEGIN
  FOR k IN 0 .. 1999 LOOP
    INSERT INTO recent SELECT last + k * 50 + i, 0, repeat(''r'', 100) FROM generate_series(1, 50) i;
    COMMIT;
    PERFORM pg_sleep(0.001);
  END LOOP;
END'
SQL
	return;
}
my $snapshot = hold_horizon($node);
insert_recent();
cmp_ok(table_stats('mark_share', 'recent'), '<', 1 / 16, 'old snapshot: no page can be set all-visible');
is(table_stats('marking', 'recent'), 'f', 'old snapshot: few are tried');
my $tried = bgvacuum_stats($node)->{candidates};
insert_recent();
$tried = bgvacuum_stats($node)->{candidates} - $tried;
cmp_ok($tried, '>', 0, 'old snapshot: but some are');
cmp_ok($tried, '<', 2000 / 8, 'old snapshot: these are few');
$snapshot->quit;
insert_recent();
insert_recent();
is(table_stats('marking', 'recent'), 't', 'no old snapshot: all are tried again');
cmp_ok(table_stats('pages_visible', 'recent'), '>', 1000, 'no old snapshot: and most are set all-visible');

# A reset of the counters changes nothing of what is decided.
my $columns = 'pruning, marking, publishing, stamping, prune_yield, settled_share, visible_loss, mark_share, delete_share, reuse_share, worth_share';
my $before = table_stats($columns, 'queue');
$node->safe_psql('postgres', 'SELECT pg_stat_reset_bgvacuum()');
is(table_stats($columns, 'queue'), $before, 'reset: what is decided stays');
note table_stats('to_json(t)', $_) for qw(queue orders vacuumed unmapped unvacuumed purged checkpointed half sampled recent);
check_heaps($node, 'in the end');
check_indexes($node, 'in the end');
check_log($node, 'in the end');
$node->stop;

done_testing();
