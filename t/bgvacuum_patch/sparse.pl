# Check that background vacuum costs little where it wins nothing.  Few pages then get a stamp (the
# mark of a page that bgwriter may prune), and bgwriter makes as many rounds as on a stock server.
# Check also that bgwriter does more again when there is something to win.
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

needs_patch('bgvacuum_patch', 'bgvacuum');

# 256 buffers, and a table of 2,000 pages with 50 rows each
my $rows = 100_000;
my $node = bgvacuum_node('sparse',
	conf =>
	  "debug_bgvacuum = off\nbgwriter_lru_maxpages = 100\nmax_parallel_workers_per_gather = 0\nmax_logical_replication_workers = 0\n"
);
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

# make_table(TABLE[, FILLFACTOR]) - make a table of 100,000 rows on some 2,000 pages, frozen
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

# each_page(SQL[, PAGES]) - return SQL that runs the statement for each page, or for the first PAGES
# pages, and commits after each.  Page k has rows k * 50 + 1 to k * 50 + 50.  SQL that visits all
# pages evicts each page.
sub each_page
{
	my ($sql, $pages) = @_;
	$pages //= $rows / 50;
	return "DO 'BEGIN FOR k IN 0 .. $pages - 1 LOOP $sql; COMMIT; END LOOP; END'";
}

# update_pages(TABLE) - return SQL that updates one row of each page
sub update_pages
{
	my ($table) = @_;
	return each_page("UPDATE $table SET n = n + 1 WHERE id = k * 50 + 1 + (k % 50)");
}

# update_many(TABLE) - return SQL that updates eight rows of each page, which is worth a prune
sub update_many
{
	my ($table) = @_;
	return each_page("UPDATE $table SET n = n + 1 WHERE id BETWEEN k * 50 + 1 AND k * 50 + 8");
}

# purge(TABLE, FROM) - return SQL that deletes 20 of the 50 rows of each page, from row FROM + 1 on
sub purge
{
	my ($table, $from) = @_;
	return each_page(
		"DELETE FROM $table WHERE id BETWEEN k * 50 + $from + 1 AND k * 50 + $from + 20");
}

# table_stats(COLUMN[, TABLE]) - return a column of pg_stat_bgvacuum_tables; the result is empty if
# the table has had no stamp
sub table_stats
{
	my ($column, $table) = @_;
	$table //= 'single';
	return $node->safe_psql('postgres',
		"SELECT $column FROM pg_stat_bgvacuum_tables t WHERE relname = '$table'");
}

# run_until(WHAT, CONDITION, SQL) - run the SQL until the condition holds, at most 100 times
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
is(table_stats('stamping'), 't', 'at first, all pages of a table get stamps');

# Pages that leave shared buffers show whether stamps are worth their cost.
run_until(
	'updates of single rows: few pages get stamps',
	sub { table_stats('stamping') eq 'f' },
	\&update_all);
cmp_ok(table_stats('worth_share'), '<', 1 / 64, 'fewer than one in 64 pages is worth a change');
$node->safe_psql('postgres', update_all()) for 1 .. 2;

# At the end, nearly all of the 256 buffers have the last of the 2,000 changed pages.  The other
# buffers have pages of the index.
cmp_ok(table_stats('stamped_pages'), '<', 30, 'at most one page in 32 has a stamp');
$node->safe_psql('postgres',
	"UPDATE single SET n = n WHERE id IN (SELECT k * 1600 + 1 FROM generate_series(0, 40) k)");
cmp_ok(table_stats('stamped_pages'),
	'>', 0, 'some pages have a stamp, so that a change of the load is noticed');

# rounds(SECONDS, SQL...) - run the SQL for SECONDS; return how many rounds the background writer
# made, and how many a stock server would make at most
sub rounds
{
	my ($seconds, @sql) = @_;
	my $begin = time();
	my $rounds = bgvacuum_stats($node)->{rounds};

	do
	{
		$node->safe_psql('postgres', join(';', map { $_->() } @sql));
	} while (time() - $begin < $seconds);
	$rounds = bgvacuum_stats($node)->{rounds} - $rounds;
	my $stock = 5 + (time() - $begin) / 0.2;
	note "$rounds rounds in $seconds seconds, at most $stock of a stock server";
	return ($rounds, $stock);
}

# compare_rounds(WHAT, OPERATOR, FACTOR, SQL...) - compare the number of rounds that the background
# writer makes while the SQL runs with FACTOR times that of a stock server.  One of five measurements
# is enough: if several pages with new rows come one after another, the writer's average exceeds the
# limit for some rounds, and on a busy machine there may be few inserts for some seconds.
sub compare_rounds
{
	my ($what, $operator, $factor, @sql) = @_;
	my ($rounds, $limit);

	rounds(3, @sql);
	for (1 .. 5)
	{
		($rounds, my $stock) = rounds(4, @sql);
		$limit = $factor * $stock;
		last if $operator eq '<=' ? $rounds <= $limit : $rounds > $limit;
	}
	return cmp_ok($rounds, $operator, $limit, $what);
}

# The background writer makes no more rounds than on a stock server: one round in 200 ms, and not
# one round for each 16 buffers.
set_parameters($node, bgwriter_delay => '200ms');
{
	compare_rounds('rounds come once in bgwriter_delay', '<=', 1, \&update_all);

	# The background writer also makes no more rounds if rows of about five pages are inserted into
	# another table after each pass over the 2,000 pages.
	my $insert =
	  sub { "INSERT INTO history SELECT i, repeat('h', 100) FROM generate_series(1, 300) i" };
	$node->safe_psql('postgres', 'CREATE TABLE history (id int, pad text)');
	compare_rounds('a few inserts do not change that', '<=', 1, \&update_all, $insert);

	# With many inserts, the background writer makes more rounds than on a stock server again.
	$insert = sub {
		"DO 'BEGIN FOR k IN 1 .. 1000 LOOP INSERT INTO history SELECT i, repeat(''h'', 100) FROM generate_series(1, 20) i; COMMIT; END LOOP; END'";
	};
	compare_rounds('rounds come sooner if there are many inserts', '>', 1.5, $insert);
}
set_parameters($node, bgwriter_delay => '10ms');

# Pages with inserted rows can be frozen, so they get stamps.
$node->safe_psql('postgres',
	"INSERT INTO single SELECT i, 0, repeat('i', 100) FROM generate_series($rows + 1, $rows + 5000) i"
);
cmp_ok(table_stats('stamped_pages'), '>', 60, 'pages with new rows get stamps even then');

# If many rows are deleted, pages are worth a prune again.
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
		"$table: few pages get stamps",
		sub { table_stats('stamping', $table) eq 'f' },
		sub { update_pages($table) });
}

# In a table with few stamps, deletes leave a stamp on one page in 32, but inserts leave one on each
# page.  The space of deleted rows must still be offered.
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
is(table_stats('publishing', 'queue'), 't', 'queue: free space is offered');
is(table_stats('stamping', 'queue'), 't', 'queue: all pages get stamps again');
cmp_ok(table_stats('pages_reused', 'queue'), '>', 100, 'queue: inserts take the offered pages');

# Each page is filled, leaves shared buffers, and is changed once more.  So it is not worth the cost
# to set the page all-visible.  The background writer learns this from the first half of the pages.
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
	is(table_stats('marking', 'orders'), 'f', 'orders: few pages are set all-visible');
	$pages = table_stats('pages_visible', 'orders') - $pages;
	cmp_ok($pages, '>', 0, 'orders: some pages are set all-visible');
}
cmp_ok($pages, '<', 3000 / 8, 'orders: these are fewer than one in eight');

# Updates of pages that VACUUM has set all-visible do not show what happens to pages that the
# background writer sets all-visible.
make_table('vacuumed', 70);
$node->safe_psql('postgres', update_many('vacuumed'));
is(table_stats('marking', 'vacuumed'), 't', 'updates after VACUUM: pages are set all-visible');
is(table_stats('pruning', 'vacuumed'), 't', 'updates after VACUUM: pages are pruned for that');
cmp_ok(table_stats('pages_visible', 'vacuumed'),
	'>', 1000, 'updates after VACUUM: most pages are set all-visible');

# Update again.  Now the background writer has set the pages all-visible.
$node->safe_psql('postgres', update_many('vacuumed'));
cmp_ok(table_stats('visible_loss', 'vacuumed'),
	'>', 0.25, 'more updates: pages that the background writer has set all-visible count');
is(table_stats('marking', 'vacuumed'), 'f', 'more updates: few pages are set all-visible');
is(table_stats('pruning', 'vacuumed'), 'f', 'more updates: few pages are pruned');

# Updates bring the visibility map into memory.
make_table('unmapped', 70);
set_parameters($node, bgvacuum => 'off');
$node->safe_psql('postgres', update_many('unmapped'));
set_parameters($node, bgvacuum => 'on');
$node->restart;
$node->safe_psql('postgres', update_many('unmapped'));
cmp_ok(table_stats('pages_visible', 'unmapped'),
	'>', 500, 'no map in memory: pages are set all-visible');

# Updates do not create a visibility map.
$node->safe_psql('postgres',
	'CREATE TABLE unvacuumed (LIKE single INCLUDING ALL) WITH (fillfactor = 70, autovacuum_enabled = off)'
);
set_parameters($node, bgvacuum => 'off');
$node->safe_psql('postgres',
	"INSERT INTO unvacuumed SELECT i, 0, repeat('s', 100) FROM generate_series(1, $rows) i");
set_parameters($node, bgvacuum => 'on');
$node->safe_psql('postgres', update_many('unvacuumed'));
is($node->safe_psql('postgres', "SELECT pg_relation_size('unvacuumed', 'vm')"),
	0, 'no map: updates do not create one');
is(table_stats('settled_share', 'unvacuumed'), 1, 'no map: pages that were not tried do not count');

# Rows are deleted and no rows are inserted: the space is not worth a prune.
make_table('purged');
$node->safe_psql('postgres', purge('purged', 0));
$pruned = table_stats('pages_pruned', 'purged');
$node->safe_psql('postgres', purge('purged', 25));
cmp_ok(table_stats('delete_share', 'purged'),
	'>', 0.5, 'deletes only: many pages have deleted rows');
is(table_stats('pages_reused', 'purged'), 0, 'deletes only: no free space is taken');
cmp_ok(table_stats('pages_pruned', 'purged') - $pruned,
	'<', 2000 / 8, 'deletes only: few pages are pruned');
check_rows(
	$node, 'in the end', 'postgres',
	'SELECT count(*) FROM purged WHERE id > 0' => $rows * 10 / 50,
	'SELECT sum(n) FROM vacuumed WHERE id > 0' => 2 * $rows / 50 * 8,
	'SELECT sum(n) FROM unmapped WHERE id > 0' => 2 * $rows / 50 * 8,
	'SELECT sum(n) FROM unvacuumed WHERE id > 0' => $rows / 50 * 8);

# evict() - read 800 pages by an index, one by one, so that no page of another table stays in the
# 256 buffers
make_table('other');

sub evict
{
	$node->safe_psql('postgres',
		each_page('PERFORM n FROM other WHERE id = k * 50 + 1; PERFORM pg_sleep(0.0005)', 800));
	return;
}

# A page that a checkpoint has written is clean when it leaves shared buffers.  Changes before the
# checkpoint still count.
make_table('checkpointed');
$node->safe_psql('postgres', "UPDATE checkpointed SET n = n WHERE id = 1");
is(table_stats('delete_share', 'checkpointed'), 0, 'checkpoint: no row is deleted yet');
$node->safe_psql('postgres',
	"DELETE FROM checkpointed WHERE id IN (SELECT k * 50 + 25 FROM generate_series(0, 99) k); CHECKPOINT"
);
cmp_ok(table_stats('stamped_pages', 'checkpointed'),
	'>', 50, 'checkpoint: pages that rows were deleted from are in memory');
evict();
cmp_ok(table_stats('delete_share', 'checkpointed'),
	'>', 0.5, 'checkpoint: deletes on clean pages count');

# If rows were deleted from many pages, free space is offered until only few pages have deletes.  If
# the share of pages with deletes is between the two limits, nothing changes.
make_table('half');
$node->safe_psql('postgres',
	"DELETE FROM half WHERE id IN (SELECT k * 50 + 25 FROM generate_series(0, 99) k)");
evict();
is(table_stats('publishing', 'half'), 't', 'many deletes: free space is offered');
my ($lower, $between, $next) = (1, 0, 100);
while ($lower >= 0.125 && $next < 2000)
{
	my ($first, $last) = ($next, $next + 7);
	$next += 8;
	$node->safe_psql('postgres',
		"UPDATE half SET n = n + 1 WHERE id IN (SELECT k * 50 + 25 FROM generate_series($first, $last) k)"
	);
	evict();
	$lower = table_stats('delete_share', 'half');
	next if $lower < 0.125 || $lower >= 0.25;
	$between++;
	is(table_stats('publishing', 'half'),
		't', "fewer deletes, $lower of the pages: free space is still offered");
}
cmp_ok($between, '>', 0, 'fewer deletes: the share was between the limits');
is(table_stats('publishing', 'half'),
	'f', "few deletes, $lower of the pages: free space is not offered");

# In a table with few stamps, all pages with inserts get a stamp.  These pages do not count for the
# share of pages with deleted rows, because they would outnumber the other pages.
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
cmp_ok(table_stats('delete_share', 'sampled'),
	'>', 0.5, 'few stamps: four of five changed pages have deleted rows');

# While a snapshot is older than all inserted rows, no page can be set all-visible.  Meanwhile, the
# background writer tries few pages.  After the snapshot has ended, it tries all pages.
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
cmp_ok(table_stats('mark_share', 'recent'),
	'<', 1 / 16, 'old snapshot: no page can be set all-visible');
is(table_stats('marking', 'recent'), 'f', 'old snapshot: few pages are tried');
my $tried = bgvacuum_stats($node)->{candidates};
insert_recent();
$tried = bgvacuum_stats($node)->{candidates} - $tried;
cmp_ok($tried, '>', 0, 'old snapshot: some pages are tried');
cmp_ok($tried, '<', 2000 / 8, 'old snapshot: these are fewer than one in eight');
$snapshot->quit;
insert_recent();
insert_recent();
is(table_stats('marking', 'recent'), 't', 'no old snapshot: all pages are tried again');
cmp_ok(table_stats('pages_visible', 'recent'),
	'>', 1000, 'no old snapshot: most pages are set all-visible');

# A reset of the counters does not change decisions.
my $columns =
  'pruning, marking, publishing, stamping, prune_yield, settled_share, visible_loss, mark_share, delete_share, reuse_share, worth_share';
my $before = table_stats($columns, 'queue');
$node->safe_psql('postgres', 'SELECT pg_stat_reset_bgvacuum()');
is(table_stats($columns, 'queue'), $before, 'reset: decisions stay the same');
note table_stats('to_json(t)', $_)
  for qw(queue orders vacuumed unmapped unvacuumed purged checkpointed half sampled recent);
check_heaps($node, 'in the end');
check_indexes($node, 'in the end');
check_log($node, 'in the end');
$node->stop;

done_testing();
