# Run PostgreSQL's own regression tests with default_index_item_alignment = auto.  The results must
# be those of the stock server.  A soak run also runs the isolation tests, and the tests of those
# contrib modules that concern B-tree indexes or have types with B-tree operator classes.
use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use File::Spec;
use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Core;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('index_align', 'default_index_item_alignment');

my $regress = core_tests();
my $tree = abs_path("$regress/../../..");
my $tmp = File::Spec->rel2abs($PostgreSQL::Test::Utils::tmp_check);

my $node = PostgreSQL::Test::Cluster->new('core');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
max_connections = 50
max_prepared_transactions = 10
wal_level = logical
log_statement = none
default_index_item_alignment = auto
CONF
$node->start;

cmp_ok(
	core_suite(
		$node, 'core', "$tmp/index_align_core", $regress, "$regress/pg_regress",
		"--dlpath=$regress", "--schedule=$regress/parallel_schedule",
		'--max-concurrent-tests=20'),
	'>', 200,
	'core: the tests ran');

# Check the indexes that the tests leave behind.  The indexes of the catalogs have the stock
# alignment.  Among the other indexes, all three alignments occur.  All indexes are sound: amcheck
# finds no error in them.
$node->safe_psql('regression', 'CREATE EXTENSION amcheck; CREATE EXTENSION pageinspect');
my $alignments = <<'SQL';
SELECT string_agg(is_catalog || ' ' || alignment || ': ' || (n > least), ', ' ORDER BY is_catalog, alignment) FROM
  (SELECT CASE WHEN relnamespace IN ('pg_catalog'::regnamespace, 'pg_toast'::regnamespace) THEN 'catalogs' ELSE 'others' END AS is_catalog,
	8 >> ((flags & 768) / 256) AS alignment, count(*) AS n, 1 AS least
   FROM pg_class c, page_header(get_raw_page(c.oid::regclass::text, 0))
   WHERE relkind = 'i' AND relam = 403 AND relpersistence <> 't' GROUP BY 1, 2) a
SQL
is( $node->safe_psql('regression', $alignments),
	'catalogs 8: true, others 2: true, others 4: true, others 8: true',
	'indexes of user tables have all alignments, those of catalogs only the stock one');
cmp_ok($node->safe_psql('regression', <<'SQL'), '>', 300, 'amcheck finds all of them sound');
SELECT count(*) FROM (SELECT bt_index_parent_check(c.oid, true, true) FROM pg_class c JOIN pg_index i ON indexrelid = c.oid
WHERE relkind = 'i' AND relam = 403 AND relpersistence = 'p' AND indisvalid AND indisready) c
SQL

# Ignore the test that the patch adds to the suite, because this test sets the parameter itself.
# The names of its tables contain "ialign".
my $file = "$PostgreSQL::Test::Utils::tmp_check/index_align_core.sql";
$node->command_ok([ 'pg_dump', '-d', $node->connstr('regression'), '--no-sync', '-f', $file ],
	'pg_dump of the database');
is(join("\n", grep { /item_alignment/ && !/ialign/ } split /\n/, slurp_file($file)),
	'', 'the dump has no item_alignment that nobody wrote');

if ($ENV{PGDENSE_SOAK})
{
	core_isolation($node, "$tmp/index_align_isolation", $regress);
	for my $module (
		'amcheck', 'btree_gin', 'citext', 'cube',
		'hstore', 'isn', 'ltree', 'pgstattuple',
		'seg', 'pg_trgm', 'pg_visibility', 'postgres_fdw')
	{
		my $dir = "$tree/contrib/$module";
		my $makefile = -e "$dir/Makefile" ? slurp_file("$dir/Makefile") =~ s/\\\n//gr : '';
		my @tests = map { split } $makefile =~ /^REGRESS *= *(.*)/m;

		ok(scalar(@tests), "$module has tests") or next;
		cmp_ok(
			core_suite(
				$node, $module, "$tmp/index_align_$module", $dir, "$regress/pg_regress",
				"--dbname=contrib_$module", @tests),
			'>=',
			scalar(@tests),
			"$module: the tests ran");
	}
}
unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal|TRAP/, 'nothing crashed');
$node->stop;

done_testing();
