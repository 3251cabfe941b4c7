# Where background vacuum wins nothing, few pages get a stamp and the background writer's rounds come
# as on a stock server; and that ends when there is something to win.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;

use PgDenseBgvacuum;
use PgDensePatch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

needs_patch('bgvacuum_patch', 'bgwriter_vacuum');

# 256 buffers, and a table of 2,000 pages with 50 rows each
my $rows = 100_000;
my $node = bgvacuum_node('sparse', conf => "debug_bgwriter_vacuum = off\nbgwriter_lru_maxpages = 100\nmax_parallel_workers_per_gather = 0\n");
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE single (id int PRIMARY KEY, n int NOT NULL, pad text) WITH (fillfactor = 90);
INSERT INTO single SELECT i, 0, repeat('s', 100) FROM generate_series(1, $rows) i;
VACUUM (FREEZE, ANALYZE) single;
-- one row of each page, pages in an order that leaves none of them in memory
CREATE PROCEDURE update_single() LANGUAGE plpgsql AS \$\$
BEGIN
  FOR k IN 0 .. $rows / 50 - 1 LOOP
    UPDATE single SET n = n + 1 WHERE id = k * 50 + 1 + (k % 50);
    COMMIT;
  END LOOP;
END \$\$;
CREATE PROCEDURE delete_most(begin_id int, end_id int) LANGUAGE plpgsql AS \$\$
BEGIN
  FOR k IN begin_id / 50 .. end_id / 50 - 1 LOOP
    DELETE FROM single WHERE id BETWEEN k * 50 + 1 AND k * 50 + 30;
    COMMIT;
  END LOOP;
END \$\$;
SQL

# table_stats(COLUMN) - of pg_stat_bgvacuum_tables; empty if it has no stamp
sub table_stats
{
	my ($column) = @_;
	return $node->safe_psql('postgres', "SELECT $column FROM pg_stat_bgvacuum_tables t WHERE relname = 'single'");
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
	return 'CALL update_single()';
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

# The background writer does no more than on a stock server: a round each 200 ms, not one for each 16 buffers.
# The load lasts for so long that the last rounds before are no part of it that counts.
set_parameters($node, bgwriter_delay => '200ms');
$node->safe_psql('postgres', update_all()) for 1 .. 5;
{
	my $begin = time();
	my $stats = bgvacuum_stats($node);
	do { $node->safe_psql('postgres', update_all()) } while (time() - $begin < 4);
	my $now = bgvacuum_stats($node);
	my $elapsed = time() - $begin;
	note "rounds: ", $now->{rounds} - $stats->{rounds}, " in $elapsed s";
	cmp_ok($now->{rounds} - $stats->{rounds}, '<=', 5 + $elapsed / 0.2, 'rounds come after bgwriter_delay');
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
check_heaps($node, 'in the end');
check_indexes($node, 'in the end');
check_log($node, 'in the end');
$node->stop;

done_testing();
