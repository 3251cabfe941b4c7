# Test a server that is built without lz4.  Columns under the policy are compressed by pglz.  A row
# that needs lz4 is refused, and no data is lost.  The extension itself is linked with liblz4.
#
# PGDENSE_NOLZ4_BINDIR is the bin directory of such a server, with the extension installed
# (tools/check --soak builds such a server).  This server opens a data directory of the server under
# test.  Without the variable, the test builds only the extension as for such a server, and a copy
# of the server under test loads it.
use strict;
use warnings FATAL => 'all';

use File::Basename;
use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Installation;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = $ENV{PGDENSE_TOP} || dirname(__FILE__) . '/../..';
my $tmp = $PostgreSQL::Test::Utils::tmp_check;
my ($major) = `pg_config --version` =~ /(\d+)/;
my $real = $ENV{PGDENSE_NOLZ4_BINDIR};
$real = undef if $real && `$real/pg_config --version` !~ /\b$major\./;
my $path;

if ($real)
{
	$path = dirname($real);
}
else
{
	($path, my $pkglibdir) = copy_installation('nolz4_installation');

	# Build the extension with the headers of the server, but without their macro for
	# lz4.
	make_path("$tmp/build");
	system_or_bail(
		'sh',
		'-c',
		'cp "$1"/bundle.mk "$1"/bundle_compat.h "$2" && cp -R "$1"/toast_policy "$2" && rm -f "$2"/toast_policy/*.o "$2"/toast_policy/*/*.o "$2"/toast_policy/*.so',
		'sh',
		$top,
		"$tmp/build");
	append_to_file("$tmp/build/nolz4.h", "#include \"postgres.h\"\n#undef USE_LZ4\n");
	system_or_bail(
		'sh',
		'-c',
		'make -s -C "$1"/toast_policy PG_CONFIG=pg_config PG_CFLAGS="-include $1/nolz4.h" with_llvm=no all > "$1"/log 2>&1 || { cat "$1"/log; exit 1; }',
		'sh',
		"$tmp/build");
	unlike(slurp_file("$tmp/build/log"), qr/warning:/, 'the extension builds without warnings');
	system_or_bail('cp', "$tmp/build/toast_policy/toast_policy.so", $pkglibdir);
}

# Create a database on a server with lz4.
my $with = PostgreSQL::Test::Cluster->new('with');
$with->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$with->append_conf('postgresql.conf', "fsync = off\n");
$with->start;
$with->safe_psql('postgres', <<'SQL');
CREATE EXTENSION toast_policy;
CREATE TABLE by_lz4 (id int PRIMARY KEY, v text COMPRESSION lz4, n int);
SELECT toast_policy.enable('by_lz4');
INSERT INTO by_lz4 SELECT i, repeat(i || ' ', 5000) FROM generate_series(1, 10) i;
INSERT INTO by_lz4 VALUES (11, 'small'), (12, NULL);
CREATE TABLE by_default (id int, v text);
SELECT toast_policy.enable('by_default');
INSERT INTO by_default SELECT i, repeat(i || ' ', 5000) FROM generate_series(1, 10) i;
SQL
my $sum = 'SELECT count(*), md5(string_agg(v, \',\' ORDER BY id)) FROM ';
my %expected = map { $_ => $with->safe_psql('postgres', $sum . $_) } 'by_lz4', 'by_default';
$with->stop;

my $without = PostgreSQL::Test::Cluster->new('without', install_path => $path);
system_or_bail('rm', '-rf', $without->data_dir);
make_path(dirname($without->data_dir));
system_or_bail('cp', '-a', $with->data_dir, $without->data_dir);
# The copied configuration has the port and the socket directory of the other node, so set the port
# and the socket directory of this node.
$without->append_conf('postgresql.conf',
	"port = @{[ $without->port ]}\nunix_socket_directories = '@{[ $without->host ]}'\n");
$without->start;

sub fails
{
	my ($sql, $pattern, $name) = @_;
	my ($ret, $stdout, $stderr) = $without->psql('postgres', "\\set VERBOSITY verbose\n$sql");

	like($stderr, $pattern, $name);
}

is($without->safe_psql('postgres', $sum . 'by_default'),
	$expected{by_default}, 'values compressed by pglz are readable');
is( $without->safe_psql('postgres',
		<<'SQL'), "11|pglz\n11|pglz", 'the policy works with pglz, whatever toast_policy.lz4_level is');
INSERT INTO by_default VALUES (11, repeat('x', 100000));
SELECT count(*), max(pg_column_compression(v)) FROM by_default;
SET toast_policy.lz4_level = 9;
UPDATE by_default SET v = v || 'y';
DO 'BEGIN PERFORM toast_policy.recompress(''by_default''); END';
SELECT count(*), max(pg_column_compression(v)) FROM by_default;
SQL

my $refused =
  qr/ERROR:  0A000: compression method lz4 not supported\nDETAIL:  This functionality requires the server to be built with lz4 support\./;
fails(
	q{INSERT INTO by_lz4 VALUES (20, repeat('x', 100000))},
	qr/$refused\nHINT:  .*SET COMPRESSION pglz/,
	'a row that needs lz4 is refused');
fails(q{INSERT INTO by_lz4 SELECT i, repeat('x', 100000) FROM generate_series(20, 30) i},
	$refused, 'an INSERT of several rows that need lz4 is refused');
fails(q{UPDATE by_lz4 SET v = repeat('x', 100000) WHERE id = 11},
	$refused, 'an UPDATE that needs lz4 is refused');
is($without->safe_psql('postgres', 'SELECT count(*), count(v) FROM by_lz4'),
	'12|11', 'the refused statements lose no row');
$without->safe_psql('postgres', <<'SQL');
UPDATE by_lz4 SET n = id;
INSERT INTO by_lz4 VALUES (21, 'small');
DELETE FROM by_lz4 WHERE id = 21;
VACUUM FULL by_lz4;
SQL
pass('small rows, and rows whose large values do not change, can be written');
$without->safe_psql('postgres', q{ALTER TABLE by_lz4 ALTER v SET COMPRESSION pglz});
$without->safe_psql('postgres',
	q{INSERT INTO by_lz4 VALUES (22, repeat('x', 100000)); DELETE FROM by_lz4 WHERE id = 22});
pass('after SET COMPRESSION pglz, all rows can be written');

if ($real)
{
	# Test a server that really is built without lz4.
	fails('SELECT md5(v) FROM by_lz4 WHERE id = 1',
		$refused, 'values compressed by lz4 cannot be read');
	fails(q{SELECT toast_policy.recompress('by_lz4')},
		$refused, 'values compressed by lz4 cannot be recompressed');
	fails(
		'ALTER TABLE by_lz4 ALTER v SET COMPRESSION lz4',
		qr/0A000: compression method lz4 not supported/,
		'COMPRESSION lz4 is refused');
	fails(
		'SET default_toast_compression = lz4',
		qr/22023: invalid value for parameter "default_toast_compression": "lz4"/,
		'default_toast_compression = lz4 is refused');
	fails(
		'CREATE TABLE t (v text COMPRESSION lz4)',
		qr/0A000: compression method lz4 not supported/,
		'a table with COMPRESSION lz4 is refused');
}
$without->stop;

# Open the data directory on the server with lz4 again.
system_or_bail('rm', '-rf', $with->data_dir);
system_or_bail('cp', '-a', $without->data_dir, $with->data_dir);
$with->append_conf('postgresql.conf',
	"port = @{[ $with->port ]}\nunix_socket_directories = '@{[ $with->host ]}'\n");
$with->start;
is($with->safe_psql('postgres', $sum . 'by_lz4'),
	$expected{by_lz4}, 'on a server with lz4, all values of lz4 are readable');
is($with->safe_psql('postgres', 'SELECT count(*) FROM by_default WHERE v LIKE \'%y\''),
	'11', 'on a server with lz4, all values of pglz are readable');
$with->stop;

done_testing();
