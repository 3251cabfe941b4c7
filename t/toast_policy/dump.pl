# Dump and restore tables of toast_policy in each format.  Rows, columns, access methods and stored
# forms must be the same.  If they are restored without access methods, or if the extension is
# missing, the tables are heap tables with the same rows.
use strict;
use warnings FATAL => 'all';

use File::Spec;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($major) = `pg_config --version` =~ /(\d+)/;
my $node = PostgreSQL::Test::Cluster->new('dump');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\n");
$node->start;
my $dir = File::Spec->rel2abs($node->basedir);

$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql('source', <<'SQL');
CREATE EXTENSION toast_policy;
CREATE SCHEMA "An App";
SET search_path = "An App";
CREATE FUNCTION sample(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
SELECT CASE i % 5 WHEN 0 THEN 'short ' || i WHEN 1 THEN repeat('many ' || i, 3000)
  WHEN 2 THEN left(string_agg(md5(i || '-' || j), ''), 10000)
  WHEN 3 THEN left(string_agg(md5(i || '-' || j), ''), 10000) || repeat('tail ', 2000) END FROM generate_series(1, 320) j $$;
CREATE TABLE t (id int PRIMARY KEY, "A Doc" text, l text COMPRESSION lz4, j jsonb, plain text);
SELECT toast_policy.enable('t', 'A Doc', 'l', 'j');
CREATE INDEX t_doc ON t ("A Doc" text_pattern_ops) WHERE length("A Doc") < 20;
CREATE INDEX t_hash ON t USING hash (l);
INSERT INTO t SELECT i, sample(i), sample(i + 1), to_jsonb(sample(i + 2)), sample(i + 3) FROM generate_series(1, 200) i;
-- Also create a heap table with EXTERNAL columns, and a table that has the access method but no
-- EXTERNAL column.
CREATE TABLE h (id int, "A Doc" text, l text, j jsonb, plain text);
ALTER TABLE h ALTER "A Doc" SET STORAGE EXTERNAL, ALTER l SET STORAGE EXTERNAL;
INSERT INTO h SELECT i, sample(i), sample(i + 1), to_jsonb(sample(i + 2)), sample(i + 3) FROM generate_series(1, 200) i;
CREATE TABLE n (id int, "A Doc" text, l text, j jsonb, plain text) USING toast_policy;
INSERT INTO n SELECT i, sample(i), sample(i + 1), to_jsonb(sample(i + 2)), sample(i + 3) FROM generate_series(1, 200) i;
CREATE TABLE p (id int, "A Doc" text, l text, j jsonb, plain text) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (1000);
SELECT toast_policy.enable('p', 'A Doc', 'j');
INSERT INTO p SELECT i, sample(i), sample(i + 1), to_jsonb(sample(i + 2)), sample(i + 3) FROM generate_series(1, 200) i;
CREATE MATERIALIZED VIEW mv USING toast_policy AS SELECT id, sample(id) AS "A Doc", NULL::text AS l, NULL::jsonb AS j, NULL::text AS plain FROM t WITH NO DATA;
SELECT toast_policy.enable('mv', 'A Doc');
REFRESH MATERIALIZED VIEW mv;
CREATE UNLOGGED TABLE u (LIKE t INCLUDING ALL) USING toast_policy;
INSERT INTO u SELECT i, sample(i), sample(i + 1), to_jsonb(sample(i + 2)), sample(i + 3) FROM generate_series(1, 20) i;
SQL

my @tables = qw(t h n p1 p2 mv u);

# Run the query for each table of the database.
sub ask
{
	my ($where, $db, $query) = @_;
	return $where->safe_psql($db, join '',
		map { "SELECT '$_';\n" . $query =~ s/\@/"An App".$_/gr . ";\n" } @tables);
}
my $contents = 'SELECT count(*), md5(string_agg(x::text, chr(10) ORDER BY id)) FROM @ x';
my $stored =
  q{SELECT md5(string_agg(concat_ws(' ', id, pg_column_size("A Doc"), pg_column_compression("A Doc"), pg_column_size(l), pg_column_compression(l),
  pg_column_size(j), pg_column_compression(j), pg_column_size(plain), pg_column_compression(plain)), ',' ORDER BY id)) FROM @};
my $state = <<'SQL';
SELECT relname, amname, relkind, relpersistence, string_agg(format('%s=%s%s', attname, attstorage, attcompression), ' ' ORDER BY attnum)
FROM pg_attribute JOIN pg_class c ON c.oid = attrelid LEFT JOIN pg_am a ON a.oid = relam
WHERE attnum > 0 AND c.oid IN (SELECT '@'::regclass UNION ALL SELECT indexrelid FROM pg_index WHERE indrelid = '@'::regclass) GROUP BY 1, 2, 3, 4 ORDER BY 1
SQL

my %source = (
	contents => ask($node, 'source', $contents),
	stored => ask($node, 'source', $stored),
	state => ask($node, 'source', $state));

like(
	$source{state},
	qr/^t\|toast_policy\|r\|p\|id=p A Doc=e l=el j=e plain=x$/m,
	'the source database has the expected storage');

sub same
{
	my ($where, $db, $what) = @_;
	is(ask($where, $db, $contents), $source{contents}, "$what: the rows are the same");
	is(ask($where, $db, $state),
		$source{state}, "$what: access methods, storage and compression are the same");
	is(ask($where, $db, $stored), $source{stored}, "$what: values are stored in the same form");
	is( $where->safe_psql(
			$db,
			q{SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_am'::regclass AND classid = 'pg_class'::regclass
		AND refobjid = (SELECT oid FROM pg_am WHERE amname = 'toast_policy')}),
		$major >= 17 ? '7' : '6',
		"$what: tables depend on the access method");
	is($where->safe_psql($db, q{SELECT count(*) FROM pg_event_trigger}),
		'1', "$what: the event trigger exists once");
}

for my $format ('plain', 'custom', $major >= 17 ? 'directory' : ())
{
	my $target = "target_$format";
	my $file = "$dir/$format.dump";

	$node->command_ok(
		[
			'pg_dump', "--format=$format", ($format eq 'directory' ? ('-j', '2') : ()),
			'--file', $file, $node->connstr('source')
		],
		"pg_dump in $format format");
	$node->safe_psql('postgres', "CREATE DATABASE $target TEMPLATE template0");
	if ($format eq 'plain')
	{
		my $dump = slurp_file($file);
		unlike(
			$dump,
			qr/EVENT TRIGGER|CREATE ACCESS METHOD/,
			'the dump has no object of the extension');
		$node->command_ok(
			[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, $node->connstr($target) ],
			"$format: restored");
	}
	else
	{
		$node->command_ok(
			[ 'pg_restore', '--exit-on-error', '-j', '2', '-d', $node->connstr($target), $file ],
			"$format: pg_restore in parallel");
	}
	same($node, $target, $format);
}

# A new partition gets the access method of the parent on releases where a partitioned table can
# have one.
is( $node->safe_psql('target_custom',
		<<'SQL'), ($major >= 17 ? 'toast_policy' : 'heap') . '|e|x', 'access method and storage of a new partition');
CREATE TABLE "An App".p3 PARTITION OF "An App".p FOR VALUES FROM (1000) TO (2000);
SELECT amname, (SELECT attstorage FROM pg_attribute WHERE attrelid = c.oid AND attname = 'A Doc'),
  (SELECT attstorage FROM pg_attribute WHERE attrelid = c.oid AND attname = 'l')
FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE relname = 'p3'
SQL

# Without the access method, the tables are heap tables with EXTERNAL columns.
$node->safe_psql('postgres',
	"CREATE DATABASE target_heap TEMPLATE template0; CREATE DATABASE target_none TEMPLATE template0"
);
if ($major >= 15)
{
	$node->command_ok(
		[
			'pg_restore', '--exit-on-error',
			'--no-table-access-method', '-d',
			$node->connstr('target_heap'), "$dir/custom.dump"
		],
		'pg_restore without access methods');
	is(ask($node, 'target_heap', $contents), $source{contents}, 'heap: same rows');
	is( $node->safe_psql(
			'target_heap',
			q{SELECT count(*) FROM pg_class JOIN pg_am a ON relam = a.oid WHERE amname = 'toast_policy'}
		),
		'0',
		'heap: no table has the access method');
	$node->safe_psql(
		'target_heap',
		q{SELECT toast_policy.enable('"An App".t', 'A Doc'), toast_policy.enable('"An App".p', 'A Doc'), toast_policy.enable('"An App".mv', 'A Doc'), toast_policy.enable('"An App".u', 'A Doc');
		ALTER TABLE "An App".n SET ACCESS METHOD toast_policy;
		SELECT toast_policy.recompress('"An App".' || x) FROM unnest(ARRAY['t', 'p', 'mv', 'u']) x;});
	is(ask($node, 'target_heap', $contents),
		$source{contents}, 'heap: same rows after enable() and recompress()');
	is(ask($node, 'target_heap', $state),
		$source{state}, 'heap: the columns are governed as before');
	is(ask($node, 'target_heap', $stored),
		$source{stored}, 'heap: values are stored in the same form as before');
}

# Dump the whole cluster.  The extension may be missing in the new cluster.
$node->command_ok(
	[ 'pg_dumpall', '-f', "$dir/all.sql", '--no-sync', '-d', $node->connstr('postgres') ],
	'pg_dumpall');
my $other = PostgreSQL::Test::Cluster->new('other');
$other->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$other->append_conf('postgresql.conf', "fsync = off\n");
$other->start;
$other->command_ok([ 'psql', '-X', '-q', '-f', "$dir/all.sql", $other->connstr('postgres') ],
	'pg_dumpall is restored');
same($other, 'source', 'pg_dumpall');

# A dump also has the default access method of a database.  After disable_all(), the tables are
# ordinary heap tables.
$other->safe_psql('source', q{SELECT toast_policy.disable_all(); DROP EXTENSION toast_policy;});
$other->command_ok([ 'pg_dump', '-f', "$dir/back.sql", $other->connstr('source') ],
	'dump after DROP EXTENSION');
unlike(slurp_file("$dir/back.sql"), qr/toast_policy/, 'the dump has no trace of the extension');
is(ask($other, 'source', $contents), $source{contents}, 'same rows after DROP EXTENSION');

$_->stop for $node, $other;
done_testing();
