# Check when sessions prune the pages of a table whose free space is offered to inserts.  Sessions
# prune these pages later than on a stock server, because these pages are nearly full.  But sessions
# keep free the space that fillfactor asks for, and room for the rows of a page that are updated
# together.
#
# Also check that bgwriter continues to offer pages as long as inserts take most of them, however
# many pages it offers at a time.
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

my $node = bgvacuum_node('offers',
	conf =>
	  "debug_bgvacuum = off\nbgwriter_lru_maxpages = 100\nmax_logical_replication_workers = 0\n");
my $rows = 100_000;

# make_table(TABLE, FILLFACTOR) - make a table with rows of 136 bytes (140 with the line pointer).
# The pages after the first 10,000 rows have free space for all changes of change_pages(), so that
# no row moves to the pages of the first 10,000 rows.
sub make_table
{
	my ($table, $fillfactor) = @_;

	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (id int PRIMARY KEY, n int NOT NULL, pad text) WITH (fillfactor = $fillfactor, autovacuum_enabled = off);
INSERT INTO $table SELECT i, 0, repeat('o', 100) FROM generate_series(1, 10000) i;
ALTER TABLE $table SET (fillfactor = 70);
INSERT INTO $table SELECT i, 0, repeat('o', 100) FROM generate_series(10001, $rows) i;
ALTER TABLE $table SET (fillfactor = @{[$fillfactor < 90 ? $fillfactor : 100]});
SQL
	return;
}

# change_pages(TABLE, NUMBER) - of each 50 rows, delete one row and update NUMBER rows; leave out
# the first 10,000 rows
sub change_pages
{
	my ($table, $number) = @_;

	$node->safe_psql('postgres', <<"SQL");
DO 'BEGIN
  FOR k IN 200 .. $rows / 50 - 1 LOOP
    DELETE FROM $table WHERE id = k * 50 + 1;
    COMMIT;
    UPDATE $table SET n = n + 1 WHERE id BETWEEN k * 50 + 2 AND k * 50 + 1 + $number;
    COMMIT;
  END LOOP;
END';
SQL
	return;
}

# tuples_after(TABLE, ID[, SQL]) - run the SQL, then update row ID twice, in a session that reads
# the page after each update.  Return two numbers: how many more tuples the page has after the first
# update than before it, and how many more after the second update.
sub tuples_after
{
	my ($table, $id, $before) = @_;
	$before //= '';
	my $count =
	  "SELECT count(*) FROM heap_page_items(get_raw_page('$table', (SELECT (ctid::text::point)[0]::int FROM $table WHERE id = $id))) WHERE lp_flags = 1";
	my $out = $node->safe_psql('postgres', <<"SQL");
$before;
$count;
UPDATE $table SET n = n + 1 WHERE id = $id;
SELECT FROM $table WHERE id = $id + 1;
$count;
UPDATE $table SET n = n + 1 WHERE id = $id;
SELECT FROM $table WHERE id = $id + 1;
$count;
SQL
	my @counts = grep { /\d/ } split /\n/, $out;

	return [ map { $_ - $counts[0] } @counts[ 1, 2 ] ];
}

sub table_stats
{
	my ($column, $table) = @_;
	return $node->safe_psql('postgres',
		"SELECT $column FROM pg_stat_bgvacuum_tables t WHERE relname = '$table'");
}

# Fillfactor 95 leaves room for three rows on each page.  A tenth of a page is room for five rows.
# Fillfactor 80 leaves room for eleven rows, and makes sessions keep this room free.
make_table($_, 95) for 'tight', 'grouped';
make_table('roomy', 80);    # it keeps its fillfactor, the others get 100
is_deeply(
	tuples_after('tight', 1001),
	[ 0, 0 ],
	'space is not offered: a page is pruned if less than a tenth of it is free');
for my $table ('tight', 'grouped', 'roomy')
{
	change_pages($table, $table eq 'grouped' ? 5 : 1);
	ok( $node->poll_query_until(
			'postgres', "SELECT publishing FROM pg_stat_bgvacuum_tables WHERE relname = '$table'"),
		"$table: space is offered");
}
is_deeply(
	tuples_after('tight', 2001),
	[ 1, 0 ],
	'space is offered: a page is pruned if it has room for fewer than two rows');
is_deeply(
	tuples_after('grouped', 2001),
	[ 0, 0 ],
	'space is offered: a page is pruned if it has less room than updates take at a time');
is_deeply(
	tuples_after('roomy', 2001),
	[ 0, 0 ],
	'space is offered: a page is pruned if it has less room than fillfactor asks for');
is_deeply(
	tuples_after(
		'tight',
		3001,
		"UPDATE tight SET n = n WHERE id = 1;\nALTER SYSTEM SET bgvacuum = off;\nDO 'BEGIN PERFORM pg_reload_conf(); PERFORM pg_sleep(0.5); END'"
	),
	[ 0, 0 ],
	'bgvacuum = off: a page is pruned as on a stock server');
set_parameters($node, bgvacuum => 'on');

check_heaps($node, 'in the end');
check_indexes($node, 'in the end');
check_log($node, 'in the end');
$node->stop;

# Make the rounds of bgwriter so rare that it offers some 60 pages in each.  A sample of reuse_share
# has 32 pages.  If pages that are still on offer counted as not taken, reuse_share would fall here,
# and bgwriter would stop to offer pages.
$node = bgvacuum_node(
	'busy',
	shared_buffers => '32MB',
	conf => "debug_bgvacuum = off\nbgwriter_delay = 2s\nmax_logical_replication_workers = 0\n");
$rows = 300_000;
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE busy (id int PRIMARY KEY, n int NOT NULL, pad text) WITH (autovacuum_enabled = off);
INSERT INTO busy SELECT 2 * i, 0, repeat('o', 100) FROM generate_series(1, $rows) i;
VACUUM (FREEZE, ANALYZE) busy;
CREATE PROCEDURE replace_rows(seconds int) LANGUAGE plpgsql AS \$\$
DECLARE
  until timestamptz := clock_timestamp() + make_interval(secs => seconds);
  k int;
  gone int;
BEGIN
  WHILE clock_timestamp() < until LOOP
    k := 2 * (1 + floor(random() * $rows)::int);
    DELETE FROM busy WHERE id IN (k, k + 1) RETURNING id INTO gone;
    COMMIT;
    INSERT INTO busy VALUES (k + k + 1 - gone, 0, repeat('o', 100));
    COMMIT;
  END LOOP;
END \$\$;
SQL
$node->safe_psql('postgres', 'CALL replace_rows(5)');
is(table_stats('publishing', 'busy'), 't', 'rows are replaced: space is offered');
my $before = bgvacuum_stats($node);
my $size = $node->safe_psql('postgres', "SELECT pg_relation_size('busy')");
my $load = $node->background_psql('postgres');
$load->query_until(qr/begun/, "\\echo begun\nCALL replace_rows(8);\n");
my %publishing = (f => 0, t => 0);

for (1 .. 70)
{
	$publishing{ table_stats('publishing', 'busy') }++;
	usleep(100_000);
}
$load->quit;
my $now = bgvacuum_stats($node);
my ($published, $reused, $lost, $rounds) =
  map { $now->{$_} - $before->{$_} } qw(pages_published pages_reused pages_lost rounds);
my $numbers =
  "$published pages offered, $reused taken, $lost lost in $rounds rounds; table grew by "
  . ($node->safe_psql('postgres', "SELECT pg_relation_size('busy')") - $size) / 8192;
note $numbers;
cmp_ok($published, '>', 8 * $rounds, 'many pages are offered in a round') or diag $numbers;
cmp_ok($reused, '>', 2 * $lost, 'most offered pages are taken') or diag $numbers;
is($publishing{f}, 0, 'bgwriter goes on to offer pages')
  or diag $numbers, table_stats('to_json(t)', 'busy');
cmp_ok(abs(table_stats('reuse_share', 'busy') - $reused / ($reused + $lost || 1)),
	'<', 0.2, 'the view shows the share of pages that are taken')
  or diag $numbers, table_stats('to_json(t)', 'busy');
is($node->safe_psql('postgres', 'SELECT count(*) FROM busy'), $rows, 'no row is lost');

check_heaps($node, 'in the end');
check_indexes($node, 'in the end');
check_log($node, 'in the end');
$node->stop;
done_testing();
