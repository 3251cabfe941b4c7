# Run PostgreSQL's own regression tests with every index aligned as its key allows, on a
# server that ends a process at the first access to memory with a wrong alignment.
# x86-64 tolerates such an access, other processors do not.
#
# "tools/server MAJOR ubsan" builds this server.  tools/check --soak runs that command for the major
# version of the leg, as in --leg 18-dense.
use strict;
use warnings FATAL => 'all';

use File::Spec;
use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Core;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('index_align', 'default_index_item_alignment');

my $top = $ENV{PGDENSE_TOP} // File::Spec->rel2abs("$FindBin::RealBin/../..");
my ($major) = `pg_config --version` =~ /(\d+)/;
my $path = "$top/build/$major/ubsan";
my $regress = "$top/build/$major/obj/ubsan/src/test/regress";
ok(-x "$path/bin/postgres" && -x "$regress/regress.so", 'the server with the sanitizer exists')
  or die "no $path, run tools/server $major ubsan";

# Check that the server was built with the sanitizer: the functions that read index
# entries call it.
like(
	`nm -D --undefined-only '$path/bin/postgres'`,
	qr/__ubsan_handle_type_mismatch/,
	'the server calls the sanitizer');

my $tmp = File::Spec->rel2abs($PostgreSQL::Test::Utils::tmp_check);
my $node = PostgreSQL::Test::Cluster->new('ubsan', install_path => $path);
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
max_connections = 50
max_prepared_transactions = 10
wal_level = logical
wal_consistency_checking = 'btree'
log_statement = none
default_index_item_alignment = auto
CONF
$node->start;
cmp_ok(
	core_suite(
		$node, 'core', "$tmp/index_align_ubsan", $regress, "$regress/pg_regress",
		"--dlpath=$regress", "--schedule=$regress/parallel_schedule",
		'--max-concurrent-tests=20'),
	'>', 200,
	'core: the tests ran');
$node->safe_psql('regression', 'CREATE EXTENSION amcheck; CREATE EXTENSION pageinspect');
cmp_ok($node->safe_psql('regression', <<'SQL'), '>', 300, 'amcheck reads all indexes');
SELECT count(*) FROM (SELECT bt_index_parent_check(c.oid, true, true) FROM pg_class c JOIN pg_index i ON indexrelid = c.oid
WHERE relkind = 'i' AND relam = 403 AND relpersistence = 'p' AND indisvalid AND indisready) c
SQL
cmp_ok($node->safe_psql('regression', <<'SQL'), '>', 1000, 'pageinspect reads all indexes');
SELECT count(*) FROM pg_class c, generate_series(1, pg_relation_size(c.oid) / 8192 - 1) blk, bt_page_items(c.oid::regclass::text, blk)
WHERE relkind = 'i' AND relam = 403 AND relpersistence = 'p' AND relnamespace = 'public'::regnamespace
SQL
# Replay the WAL of all tests.
$node->stop('immediate');
$node->start;
is($node->safe_psql('regression', 'SELECT 1'), '1', 'recovery');
$node->stop;
my $log = slurp_file($node->logfile);
is(join("\n", grep { /runtime error|PANIC|TRAP|terminated by signal/ } split /\n/, $log),
	'', 'no process made a misaligned access');

done_testing();
