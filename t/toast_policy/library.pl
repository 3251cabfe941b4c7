# Test a server whose toast_policy library is missing: the error if the library is configured to be
# preloaded, which tables still work, and the repair by toast_policy/without_library.sql.  Also test
# the benefit of preloading: before 17, sessions share statistics only with preloading.
#
# The test removes the library from a copy of the installation.
use strict;
use warnings FATAL => 'all';

use File::Basename;
use File::Spec;
use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Installation;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = $ENV{PGDENSE_TOP} || dirname(__FILE__) . '/../..';
my ($copy, $pkglibdir) = copy_installation('library_installation');
my $library = "$pkglibdir/toast_policy.so";
ok(-e $library, 'the copied installation has the library');

sub hide    { rename $library, "$library.hidden" or die "could not rename $library: $!"; }
sub restore { rename "$library.hidden", $library or die "could not rename $library: $!"; }

my $node = PostgreSQL::Test::Cluster->new('library', install_path => $copy);
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf',
	"fsync = off\nautovacuum_naptime = 1s\nautovacuum_vacuum_insert_threshold = 0\nautovacuum_analyze_threshold = 0\n"
);
$node->start;
my $major = int($node->safe_psql('postgres', 'SHOW server_version_num') / 10000);
like(
	$node->safe_psql('postgres', 'SHOW dynamic_library_path')
	  . `ls -l /proc/@{[ slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/ ]}/exe`,
	qr/\Q$copy\E/,
	'the server runs from the copied installation');

# Sessions share statistics from 17 on, or if the library is preloaded.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION toast_policy;
CREATE TABLE governed (id int PRIMARY KEY, v text, w text COMPRESSION pglz);
SELECT toast_policy.enable('governed');
CREATE INDEX ON governed (md5(v));
CREATE TABLE parted (id int, v text) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (100);
SELECT toast_policy.enable('parted');
CREATE MATERIALIZED VIEW matview AS SELECT repeat('m', 30000) AS v;
SELECT toast_policy.enable('matview');
CREATE TABLE cold (id int, v text) WITH (fillfactor = 90);
SELECT toast_policy.enable_out_of_line('cold', 200, 'v');
INSERT INTO cold SELECT i, (SELECT string_agg(md5(i || '-' || j), '') FROM generate_series(1, 10) j) FROM generate_series(1, 10) i;
CREATE TABLE plain AS SELECT i AS id, repeat('x', 10000) AS v FROM generate_series(1, 10) i;
CREATE SCHEMA unrelated;
CREATE TABLE external (v text);
ALTER TABLE external ALTER v SET STORAGE EXTERNAL;
SQL
my $rows =
  q{SELECT i, repeat(i || ' ', 20000), string_agg(md5(i * 1000 + j || ''), '') FROM generate_series(1, 20) i, generate_series(1, 300) j GROUP BY i};
$node->safe_psql('postgres',
	"INSERT INTO governed $rows; INSERT INTO parted SELECT id, v FROM governed; REFRESH MATERIALIZED VIEW matview"
);
my $seen = q{SELECT values_seen FROM toast_policy.stats WHERE relname = 'governed'};
is( $node->safe_psql('postgres', $seen),
	$major >= 17 ? '40' : '',
	'without preloading, statistics are shared from 17 on');
my $contents =
  q{SELECT md5(string_agg(g::text, ',' ORDER BY id)) FROM governed g; SELECT md5(string_agg(g::text, ',' ORDER BY id)) FROM parted g; SELECT md5(v) FROM matview};
my $expected = $node->safe_psql('postgres', $contents);

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'toast_policy'\n");
$node->restart;
is($node->safe_psql('postgres', $seen), '', 'statistics are empty after a restart');
$node->safe_psql('postgres', "UPDATE governed SET v = v || 'x'");
is($node->safe_psql('postgres', $seen), '20', 'with preloading, statistics are shared');
$node->safe_psql('postgres', "CREATE DATABASE other");
$node->safe_psql('other', 'CREATE EXTENSION toast_policy');
is($node->safe_psql('other', 'SELECT count(*) FROM toast_policy.stats'),
	'0', 'statistics show tables of their own database only');
$node->safe_psql('postgres', 'SELECT toast_policy.reset_stats()');
is($node->safe_psql('postgres', $seen), '', 'a reset affects all sessions');
my ($ret, $stdout, $stderr) = $node->psql('postgres', 'SET toast_policy.nothing = 1');
like(
	$stderr,
	qr/invalid configuration parameter name "toast_policy.nothing"/,
	'with preloading, a misspelled setting is refused at once');
$expected = $node->safe_psql('postgres', $contents);
$node->stop;

# If the library is preloaded but missing, the server names the library in its error and
# does not start.
hide();
is($node->start(fail_ok => 1), 0, 'the server does not start if a preloaded library is missing');
like(
	slurp_file($node->logfile),
	qr/FATAL:  could not access file "toast_policy": No such file or directory/,
	'the error names the library');
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', undef);
$node->start;

# If the library is missing and not preloaded, statements on tables of the access method fail.
# Statements on several tables also fail if one of these tables has the access method, and so do
# statements that fire the event trigger of the extension.  Everything else works.
my $gone = qr/ERROR:  could not access file "(\$libdir\/)?toast_policy": No such file or directory/;
for my $statement (
	'SELECT count(*) FROM governed',
	q{INSERT INTO governed VALUES (100, 'x')},
	'VACUUM governed',
	'ANALYZE governed',
	# Statements on the whole database fail at the first table of the access method.
	'VACUUM',
	'ANALYZE',
	'DROP TABLE governed',
	'TRUNCATE governed',
	'SELECT * FROM parted',
	'REFRESH MATERIALIZED VIEW matview',
	q{SELECT toast_policy.disable('governed')},
	'SELECT toast_policy.disable_all()',
	'CREATE TABLE more (v text) USING toast_policy',
	'CREATE TABLE like_governed (LIKE governed INCLUDING ALL)',
	# These have values out of line in small rows.  The statements do not read the values.
	'SELECT id FROM cold',
	'UPDATE cold SET id = id + 1',
	'ALTER TABLE cold RESET (toast_tuple_target)',
	'ALTER TABLE cold SET ACCESS METHOD heap',
	# The function of the extension's event trigger is in the library.
	'DROP SCHEMA unrelated',
	'DROP SCHEMA unrelated CASCADE',
	'DROP EXTENSION unrelated',
	'DROP EXTENSION toast_policy',
	'DROP EXTENSION toast_policy CASCADE',
	'DROP OWNED BY CURRENT_USER')
{
	($ret, $stdout, $stderr) = $node->psql('postgres', $statement);
	like($stderr, $gone, "without the library: $statement");
}
is($node->safe_psql('postgres', <<'SQL'), "11|110000\n1", 'without the library: other tables work');
INSERT INTO plain SELECT 11, repeat('y', 10000);
ANALYZE plain;
VACUUM FULL plain;
CREATE INDEX ON plain (id);
SELECT count(*), sum(octet_length(v)) FROM plain;
SELECT count(*) FROM pg_stats WHERE tablename = 'plain' AND attname = 'id';
CREATE TABLE new_table (v text);
DROP TABLE new_table;
SQL
$node->safe_psql('postgres', 'INSERT INTO plain SELECT i, i FROM generate_series(100, 2000) i');
ok( $node->poll_query_until(
		'postgres',
		q{SELECT last_autoanalyze IS NOT NULL FROM pg_stat_user_tables WHERE relname = 'plain'}),
	'autovacuum processes other tables');
$node->command_ok(
	[
		'pg_dump', '-f', File::Spec->devnull, '-T', 'governed', '-T', 'part*', '-T', 'matview',
		'-T', 'cold', $node->connstr('postgres')
	],
	'pg_dump of other tables works');
$node->command_fails_like(
	[ 'pg_dump', '-f', File::Spec->devnull, $node->connstr('postgres') ],
	qr/could not access file "(\$libdir\/)?toast_policy"/,
	'pg_dump of the database names the missing library');
$node->command_fails_like(
	[ 'vacuumdb', '-d', $node->connstr('postgres') ],
	qr/could not access file "(\$libdir\/)?toast_policy"/,
	'vacuumdb names the missing library');
# The library can also be preloaded for a role or a database.
$node->safe_psql('postgres',
	q{ALTER DATABASE other SET session_preload_libraries = 'toast_policy'});
# Pass the statement on the command line, because psql may lose its connection before it
# reads a statement from its input.
$node->command_fails_like(
	[ 'psql', '-X', '-c', 'SELECT 1', $node->connstr('other') ],
	qr/(FATAL|ERROR):  could not access file "toast_policy": No such file or directory/,
	'a session that preloads the missing library fails');
$node->safe_psql('postgres', 'ALTER DATABASE other RESET session_preload_libraries');
is($node->safe_psql('other', 'SELECT 1'), '1', 'sessions work without the setting');

# Put the library back.  The tables work again.
restore();
is($node->safe_psql('postgres', $contents),
	$expected, 'with the library all values are readable again');
hide();

# Repair without the library.
is($node->safe_psql('postgres', 'SELECT count(*) FROM external'), '0', 'before');
$node->command_ok(
	[
		'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-1', '-f',
		"$top/toast_policy/without_library.sql",
		$node->connstr('postgres')
	],
	'without_library.sql');
is($node->safe_psql('postgres', $contents), $expected, 'heap reads all values');
is( $node->safe_psql('postgres',
		<<'SQL'), "0|0|x x\nx\ne", 'the script leaves the catalogs as disable() does');
SELECT (SELECT count(*) FROM pg_class JOIN pg_am a ON a.oid = relam WHERE amname = 'toast_policy'),
       (SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_am'::regclass AND deptype = 'n'),
       (SELECT string_agg(attstorage::text, ' ') FROM pg_attribute WHERE attrelid = 'governed'::regclass AND attlen = -1 AND attnum > 0);
SELECT attstorage FROM pg_attribute WHERE attrelid = 'parted'::regclass AND attname = 'v';
SELECT attstorage FROM pg_attribute WHERE attrelid = 'external'::regclass AND attname = 'v';
SQL
is( $node->safe_psql(
		'postgres',
		q{SELECT reloptions FROM pg_class WHERE oid = 'cold'::regclass; SELECT count(*) FROM cold WHERE v = (SELECT string_agg(md5(id || '-' || j), '') FROM generate_series(1, 10) j)}
	),
	"{fillfactor=90}\n10",
	'values of small rows can be read, and the option that moves them is gone');
my $chunks =
  sprintf
  q{SELECT count(*), md5(string_agg(concat_ws(' ', ctid, xmin), ',' ORDER BY ctid)) FROM %s},
  $node->safe_psql('postgres',
	q{SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'cold'::regclass});
my $before = $node->safe_psql('postgres', $chunks);
like($before, qr/^10\|/, 'they are still out of line');
is( $node->safe_psql(
		'postgres', "UPDATE cold SET id = id + 1; UPDATE cold SET id = id - 1; $chunks"),
	$before,
	'an UPDATE of other columns keeps them there');
# After the repair, the statements that failed without the library work.
$node->safe_psql('postgres', $_)
  for 'VACUUM', 'ANALYZE', 'CREATE TABLE like_governed (LIKE governed INCLUDING ALL)',
  'CREATE SCHEMA s', 'DROP SCHEMA s', 'DROP SCHEMA unrelated CASCADE',
  'CREATE EXTENSION pgstattuple', 'DROP EXTENSION pgstattuple', 'CREATE ROLE library_role',
  'DROP OWNED BY library_role', 'DROP TABLE like_governed';
is( $node->safe_psql(
		'postgres',
		q{SELECT count(*) FROM pg_stat_user_tables WHERE relname IN ('governed', 'part', 'matview') AND last_vacuum IS NOT NULL AND last_analyze IS NOT NULL}
	),
	'3',
	'VACUUM and ANALYZE of the database process all tables');
$node->command_ok([ 'vacuumdb', '-q', '-d', $node->connstr('postgres') ], 'vacuumdb works');
$node->command_ok([ 'pg_dump', '-f', File::Spec->devnull, $node->connstr('postgres') ],
	'pg_dump works');
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION amcheck;
SELECT bt_index_check('governed_pkey', true), bt_index_check('governed_md5_idx', true);
SELECT count(*) FROM verify_heapam('governed');
UPDATE governed SET v = v || 'y' WHERE id = 1;
UPDATE governed SET v = left(v, -1) WHERE id = 1;
VACUUM (FULL, ANALYZE) governed;
ALTER TABLE parted ADD COLUMN more int;
ALTER TABLE parted DROP COLUMN more;
REINDEX TABLE governed;
CREATE TABLE part2 PARTITION OF parted FOR VALUES FROM (100) TO (200);
REFRESH MATERIALIZED VIEW matview;
VACUUM FULL cold;
SQL
is( $node->safe_psql(
		'postgres',
		q{SELECT count(*), pg_relation_size((SELECT reltoastrelid FROM pg_class WHERE oid = 'cold'::regclass)) FROM cold WHERE v = (SELECT string_agg(md5(id || '-' || j), '') FROM generate_series(1, 10) j)}
	),
	'10|0',
	'VACUUM FULL brings values of small rows back');
is($node->safe_psql('postgres', $contents),
	$expected, 'with the library, all values are still the same');
is($node->safe_psql('postgres', 'SELECT count(*) FROM verify_heapam(\'governed\')'),
	'0', 'amcheck finds no damage');
$node->safe_psql('postgres', 'DROP EXTENSION toast_policy');
is($node->safe_psql('postgres', $contents),
	$expected, 'the extension can be dropped, and the tables stay');
my $dump = "$PostgreSQL::Test::Utils::tmp_check/dump.sql";
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'pg_dump works');
unlike(slurp_file($dump), qr/toast_policy/, 'the dump has no trace of toast_policy');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok(
	[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ],
	'the dump is restored');
is($node->safe_psql('restored', $contents), $expected, 'the restored values are the same');

# A second run of the repair is harmless.  In a database without the extension, the repair gives an
# error and changes nothing.
$node->command_fails_like(
	[
		'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-1', '-f',
		"$top/toast_policy/without_library.sql",
		$node->connstr('postgres')
	],
	qr/event trigger "toast_policy_guard" does not exist/,
	'in a database without the extension, the script stops at once');

$node->stop;
done_testing();
