# Space that is offered to inserters: sessions prune the pages of such a table later, as they are
# nearly full, but not when the fillfactor asks for room, or when many rows of a page are updated at a
# time; and offering goes on as long as most of what is offered is taken, however many pages are offered
# at a time.
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

needs_patch('bgvacuum_patch', 'bgwriter_vacuum');

my $node = bgvacuum_node('offers', conf => "debug_bgwriter_vacuum = off\nbgwriter_lru_maxpages = 100\nmax_logical_replication_workers = 0\n");
my $rows = 100_000;

# make_table(TABLE, FILLFACTOR) - rows of 136 bytes, which are 140 with their line pointer; behind the first 10,000 there is
# room for all that change_pages() does, so that no row comes to the pages of the first ones
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

# change_pages(TABLE, NUMBER) - delete a row and update so many, every 50 rows but for the first 10,000
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

# tuples_after(TABLE, ID[, SQL]) - of the page with this row, updated twice in turn by a session that looks at the page after
# each update: how many tuples there are more than before, after each of the two; the session runs the SQL first
sub tuples_after
{
	my ($table, $id, $before) = @_;
	$before //= '';
	my $count = "SELECT count(*) FROM heap_page_items(get_raw_page('$table', (SELECT (ctid::text::point)[0]::int FROM $table WHERE id = $id))) WHERE lp_flags = 1";
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
	return $node->safe_psql('postgres', "SELECT $column FROM pg_stat_bgvacuum_tables t WHERE relname = '$table'");
}

# With a fillfactor of 95, room for three rows is left on each page, where a tenth of a page is room for five. With one of
# 80, there is room for eleven, and that is asked for.
make_table($_, 95) for 'tight', 'grouped';
make_table('roomy', 80);	# which it keeps, the others get 100
is_deeply(tuples_after('tight', 1001), [ 0, 0 ], 'a table whose space is not offered: the page is pruned when there is less room than a tenth');
for my $table ('tight', 'grouped', 'roomy')
{
	change_pages($table, $table eq 'grouped' ? 5 : 1);
	ok($node->poll_query_until('postgres', "SELECT publishing FROM pg_stat_bgvacuum_tables WHERE relname = '$table'"), "$table: space is offered");
}
is_deeply(tuples_after('tight', 2001), [ 1, 0 ], 'a table whose space is offered: it is when there is room for fewer than two rows');
is_deeply(tuples_after('grouped', 2001), [ 0, 0 ], 'or for fewer than are updated at a time');
is_deeply(tuples_after('roomy', 2001), [ 0, 0 ], 'but the room that the fillfactor asks for is kept');
is_deeply(
	tuples_after('tight', 3001, "UPDATE tight SET n = n WHERE id = 1;\nALTER SYSTEM SET bgwriter_vacuum = off;\nDO 'BEGIN PERFORM pg_reload_conf(); PERFORM pg_sleep(0.5); END'"),
	[ 0, 0 ], 'with the switch off, as on a stock server');
set_parameters($node, bgwriter_vacuum => 'on');

check_heaps($node, 'in the end');
check_indexes($node, 'in the end');
check_log($node, 'in the end');
$node->stop;

# Of 2,048 buffers, 128 are replaced between two rounds of the background writer, and some ten pages taken.
$node = bgvacuum_node('busy', shared_buffers => '16MB', conf => "debug_bgwriter_vacuum = off\nbgwriter_delay = 200ms\nmax_logical_replication_workers = 0\n");
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
my ($published, $reused, $lost, $rounds) = map { $now->{$_} - $before->{$_} } qw(pages_published pages_reused pages_lost rounds);
my $numbers = "$published pages offered, $reused taken, $lost lost in $rounds rounds; table grew by " . ($node->safe_psql('postgres', "SELECT pg_relation_size('busy')") - $size) / 8192;
note $numbers;
cmp_ok($published, '>', 8 * $rounds, 'many are offered in a round') or diag $numbers;
cmp_ok($reused, '>', 2 * $lost, 'most of them are taken') or diag $numbers;
is($publishing{f}, 0, 'so that offering goes on') or diag $numbers, table_stats('to_json(t)', 'busy');
cmp_ok(abs(table_stats('reuse_share', 'busy') - $reused / ($reused + $lost || 1)), '<', 0.2, 'the view has this share') or diag $numbers, table_stats('to_json(t)', 'busy');
is($node->safe_psql('postgres', 'SELECT count(*) FROM busy'), $rows, 'no row is lost');

check_heaps($node, 'in the end');
check_indexes($node, 'in the end');
check_log($node, 'in the end');
$node->stop;
done_testing();
