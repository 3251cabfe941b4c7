# CREATE DATABASE copies its template page by page, and copies a heap before its visibility map.
# The command relies on the fact that no session is connected to the template and changes it.  But
# bgwriter needs no connection.  So during the copy, bgwriter must not set the bit in the map of a
# page that was already copied.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Bgvacuum;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

needs_patch('bgvacuum_patch', 'bgvacuum');

my $node = bgvacuum_node('template', shared_buffers => '64MB', conf => "max_wal_size = 1GB\n");

for my $strategy ('wal_log', 'file_copy')
{
	$node->safe_psql('postgres', 'CREATE DATABASE template');
	# The map exists and is in memory.  Most pages of the heap cannot be set all-visible yet.
	$node->safe_psql('template',
		'CREATE TABLE t (i int, pad text); INSERT INTO t VALUES (0); VACUUM t');
	my $horizon = hold_horizon($node);
	my $pid = $horizon->query_safe('SELECT pg_backend_pid()');
	$node->safe_psql('template',
		"INSERT INTO t SELECT i, repeat('t', 200) FROM generate_series(1, 100000) i; CREATE INDEX ON t (i)"
	);
	my $file = $node->safe_psql('template', "SELECT relfilenode FROM pg_class WHERE relname = 't'");
	my $source =
	  $node->safe_psql('postgres', "SELECT oid FROM pg_database WHERE datname = 'template'");
	my $stats = bgvacuum_stats($node);

	# The copy of the table has begun when the new file exists.  The pages that are already copied
	# are not all-visible.
	my $create = $node->background_psql('postgres');
	$create->query_until(qr/begins/,
		"\\echo begins\nCREATE DATABASE copy TEMPLATE template STRATEGY $strategy;\n");
	my $base = $node->data_dir . '/base';
	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $begun = 0;
	while (!$begun && time() < $deadline)
	{
		$begun = grep { !m{/$source/} } glob("$base/*/$file");
		usleep(500) if !$begun;
	}
	ok($begun, "$strategy: the table is being copied");
	kill 'TERM', $pid;
	$create->query_safe('SELECT 1');
	$create->quit;
	eval { $horizon->quit };
	wait_for_rounds($node);
	note "$strategy: "
	  . (bgvacuum_stats($node)->{pages_visible} - $stats->{pages_visible})
	  . ' pages were set all-visible';

	# Check before a session can change the copy.
	check_heaps($node, "$strategy: template", 'template');
	check_heaps($node, "$strategy: copy", 'copy');
	check_indexes($node, "$strategy: copy", 'copy');
	$node->safe_psql('copy', 'DELETE FROM t WHERE i > 0');
	check_rows($node, "$strategy: copy", 'copy', 'SELECT count(i) FROM t WHERE i >= 0' => 1);
	is( $node->safe_psql(
			'copy',
			'SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(i) FROM t WHERE i >= 0'
		),
		1,
		"$strategy: copy, an index-only scan finds no deleted row");
	$node->safe_psql('copy', 'VACUUM (FREEZE) t');
	is($node->safe_psql('copy', 'SELECT count(*) FROM t'),
		1, "$strategy: copy, all rows are there after VACUUM");
	check_heaps($node, "$strategy: copy, after VACUUM", 'copy');
	is($node->safe_psql('template', 'SELECT count(*) FROM t'),
		100001, "$strategy: the template has all rows");
	$node->safe_psql('postgres', 'DROP DATABASE copy');
	$node->safe_psql('postgres', 'DROP DATABASE template');
}
check_log($node, 'in the end');
$node->stop;
done_testing();
