# PostgreSQL's own regression tests with default_index_item_alignment = auto: the
# answers are core's own.  In a soak run its isolation tests as well, and those of
# contrib that are about B-tree indexes and about types with operator classes for them.
use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use File::Spec;
use FindBin;
use IPC::Run ();
use lib $FindBin::RealBin;

use PgDenseIndexAlign;
use PgDensePatch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('index_align', 'default_index_item_alignment');

# The tests are not part of an installation; those of the server that is built
# here are in its build tree.  PGDENSE_CORE_TESTS names another such folder.
my ($major) = `pg_config --version` =~ /(\d+)/;
my ($bindir) = `pg_config --bindir` =~ /(.*)/;
my $top = $ENV{PGDENSE_TOP} // File::Spec->rel2abs("$FindBin::RealBin/..");
my ($regress) = grep { -x "$_/regress.so" } ($ENV{PGDENSE_CORE_TESTS} // "$top/build/$major/obj/dense/src/test/regress");
if ($bindir ne "$top/build/$major/dense/bin" && !$ENV{PGDENSE_CORE_TESTS})
{
	ok(1, 'not the server that is built here: its tests are not at hand');
	done_testing();
	exit;
}
ok($regress, 'core\'s tests are in the build tree') or BAIL_OUT('no tests');
my $tree = abs_path("$regress/../../..");

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

# suite(NAME, FOLDER, PROGRAM, ARGUMENT...) - run pg_regress or its like in FOLDER; the
# number of tests that ran
sub suite
{
	my ($name, $folder, $program, @arguments) = @_;
	my $out = File::Spec->rel2abs($PostgreSQL::Test::Utils::tmp_check) . "/index_align_$name";
	my $output = '';

	mkdir $out or die "could not create $out: $!";
	# regression.out is only there if a test failed.
	IPC::Run::run([ $program, "--inputdir=$folder", "--outputdir=$out", "--bindir=$bindir", '--host=' . $node->host, '--port=' . $node->port, @arguments ],
		'>', \$output, '2>&1', init => sub { chdir $folder or die "could not change to $folder: $!" });
	my @ran = $output =~ /^(?:not )?ok +\d+ +[-+] (\S+)/mg;
	my @failed = $output =~ /^not ok +\d+ +[-+] (\S+)/mg;
	diag substr(slurp_file("$out/regression.diffs"), 0, 10000) if @failed && -e "$out/regression.diffs";
	is("@failed", '', "$name: all tests pass") or diag substr($output, -1000);
	return scalar @ran;
}

cmp_ok(suite('core', $regress, "$regress/pg_regress", "--dlpath=$regress", "--schedule=$regress/parallel_schedule", '--max-concurrent-tests=20'),
	'>', 200, 'core: the tests ran');

# The indexes that the tests leave behind are aligned, of all tables but the
# catalogs', and sound.
$node->safe_psql('regression', 'CREATE EXTENSION amcheck; CREATE EXTENSION pageinspect');
my $alignments = <<'SQL';
SELECT string_agg(is_catalog || ' ' || alignment || ': ' || (n > least), ', ' ORDER BY is_catalog, alignment) FROM
  (SELECT CASE WHEN relnamespace IN ('pg_catalog'::regnamespace, 'pg_toast'::regnamespace) THEN 'catalogs' ELSE 'others' END AS is_catalog,
	8 >> ((flags & 768) / 256) AS alignment, count(*) AS n, 1 AS least
   FROM pg_class c, page_header(get_raw_page(c.oid::regclass::text, 0))
   WHERE relkind = 'i' AND relam = 403 AND relpersistence <> 't' GROUP BY 1, 2) a
SQL
is($node->safe_psql('regression', $alignments), 'catalogs 8: true, others 2: true, others 4: true, others 8: true', 'indexes of all alignments are left, of catalogs only stock\'s');
cmp_ok($node->safe_psql('regression', <<'SQL'), '>', 300, 'all are sound');
SELECT count(*) FROM (SELECT bt_index_parent_check(c.oid, true, true) FROM pg_class c JOIN pg_index i ON indexrelid = c.oid
WHERE relkind = 'i' AND relam = 403 AND relpersistence = 'p' AND indisvalid AND indisready) c
SQL

# What the patch's own test writes has its name.
my $file = "$PostgreSQL::Test::Utils::tmp_check/index_align_core.sql";
$node->command_ok([ 'pg_dump', '-d', $node->connstr('regression'), '--no-sync', '-f', $file ], 'a dump of it all');
is(join("\n", grep { /item_alignment/ && !/ialign/ } split /\n/, slurp_file($file)), '', 'has nothing of an alignment that nobody wrote');

if ($ENV{PGDENSE_SOAK})
{
	my $isolation = "$tree/src/test/isolation";

	SKIP:
	{
		skip 'no isolation tests in the build tree', 2 if !-x "$isolation/pg_isolation_regress" || !-x "$isolation/isolationtester";
		cmp_ok(suite('isolation', $isolation, "$isolation/pg_isolation_regress", "--schedule=$isolation/isolation_schedule"), '>', 80, 'isolation: the tests ran');
	}
	for my $module ('amcheck', 'btree_gin', 'citext', 'cube', 'hstore', 'isn', 'ltree', 'pgstattuple', 'seg', 'pg_trgm', 'pg_visibility', 'postgres_fdw')
	{
		my $dir = "$tree/contrib/$module";
		my $makefile = -e "$dir/Makefile" ? slurp_file("$dir/Makefile") =~ s/\\\n//gr : '';
		my @tests = map { split } $makefile =~ /^REGRESS *= *(.*)/m;

		ok(scalar(@tests), "$module has tests") or next;
		cmp_ok(suite($module, $dir, "$regress/pg_regress", "--dbname=contrib_$module", @tests), '>=', scalar(@tests), "$module: the tests ran");
	}
}
unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal|TRAP/, 'nothing crashed');
$node->stop;

done_testing();
