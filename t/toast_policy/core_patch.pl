# Test the server patch of toast_policy.  By default the patch is off, and the server stores every
# value as the stock server does.  When the patch is on, the server stores each value by the rule of
# the patch.  The test computes the expected form from the values that the stock server stored.  The
# compressed sizes of these values increase byte by byte, from below to above the limit of a row and
# the sizes of chunks.  Only the form of EXTENDED values that are stored out of line may change.
use strict;
use warnings FATAL => 'all';

use File::Spec;
use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = $ENV{PGDENSE_TOP} // File::Spec->rel2abs("$FindBin::RealBin/../..");
my ($major) = `pg_config --version` =~ /(\d+)/;

needs_patch('toast_policy', 'toast_min_saved_chunks');
my @methods = ('pglz', `pg_config --configure` =~ /--with-lz4/ ? 'lz4' : ());
my $chunk = 1996;

sub start
{
	my ($name, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, %params);

	$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\nmax_connections = 20\n");
	$node->start;
	$node->safe_psql('postgres', <<'SQL');
-- Return "total" bytes, of which the last "part" bytes do not compress.  The bytes before them are
-- zeros.
CREATE FUNCTION bytes(part int, total int) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT decode(repeat('00', total - part), 'hex') || substr(string_agg(sha256(int8send(total * 1000000::int8 + i)), ''), 1, part)
  FROM generate_series(0, part / 32) i
$$;
CREATE TABLE source (id int PRIMARY KEY, part int, total int, v bytea STORAGE EXTERNAL);
-- Use sizes from below to above the size that fits in a row, for three values of
-- toast_tuple_target.
INSERT INTO source SELECT row_number() OVER (), part, total, bytes(part, total)
FROM (VALUES (790, 980), (1710, 2000), (4350, 4960)) s (low, high), (VALUES (5990), (8000)) t (total),
  generate_series(low, high) part;
-- Use sizes from below to above those of one, two and three chunks.
INSERT INTO source SELECT 10000 + row_number() OVER (), part, total, bytes(part, total)
FROM (VALUES (3500, 4010), (5270, 6000)) s (low, high), (VALUES (7984), (7985)) t (total),
  generate_series(low, high) part;
-- Use sizes around the least size to which the rule applies, with and without a saved chunk.
INSERT INTO source SELECT 20000 + row_number() OVER (), part, total, bytes(part, total)
FROM generate_series(3990, 4100) total, LATERAL (VALUES (2500), (total - 60), (3900)) s (part);
-- Use values that are much larger, and values that do not compress.
INSERT INTO source SELECT 30000 + row_number() OVER (), part, total, bytes(part, total)
FROM (VALUES (100, 3000000), (700000, 3000000), (31685, 31685), (4090, 4100), (2040, 2050)) s (part, total);
SQL
	return $node;
}

# fill(NODE, METHOD, TARGET, SETTING...) - store the values again, in table "stored"
sub fill
{
	my ($node, $method, $target, @settings) = @_;
	my $set = join '', map { "SET $_;\n" } @settings, 'client_min_messages = warning';

	$node->safe_psql('postgres', $set . <<SQL);
DROP TABLE IF EXISTS stored;
CREATE TABLE stored (id int PRIMARY KEY, v bytea COMPRESSION $method) WITH (toast_tuple_target = $target);
INSERT INTO stored SELECT id, v FROM source ORDER BY id
SQL
	return;
}

# Return the stored form of each value: ID|METHOD|STORED BYTES|CHUNKS|DIGEST OF ALL CHUNKS.
sub storage
{
	my ($node) = @_;
	my $toast = $node->safe_psql('postgres',
		q{SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'stored'::regclass});

	return $node->safe_psql('postgres', <<SQL);
SELECT id, pg_column_compression(v), pg_column_size(v), chunks, digest FROM stored LEFT JOIN
  (SELECT chunk_id, count(*) AS chunks, md5(string_agg(chunk_data, '' ORDER BY chunk_seq)) AS digest
   FROM $toast GROUP BY chunk_id) c ON chunk_id = pg_column_toast_chunk_id(v)
ORDER BY id
SQL
}

my $reads_same =
  q{SELECT count(*), count(*) FILTER (WHERE stored.v = source.v) FROM stored RIGHT JOIN source USING (id)};
my $stock_path = "$top/build/$major/stock";
ok(-x "$stock_path/bin/postgres", 'a stock server to compare with') or BAIL_OUT("no $stock_path");
my $stock = start('stock', install_path => $stock_path);
my $node = start('patched');

is($node->safe_psql('postgres', 'SHOW toast_min_saved_chunks'), '0', 'the patch is off by default');
is($node->safe_psql('postgres', 'SHOW toast_chunk_aware_min_size'),
	'4kB', 'the default of the minimum size');
my ($values) = $node->safe_psql('postgres', 'SELECT count(*) FROM source');
my %raw_size = map { split /\|/ } split /\n/,
  $node->safe_psql('postgres', 'SELECT id, total FROM source');
my %seen;

sub chunks { return int(($_[0] + $chunk - 1) / $chunk); }

for my $method (@methods)
{
	for my $target (1000, 2032, 5000)
	{
		fill($stock, $method, $target);
		my $expected = storage($stock);
		fill($node, $method, $target);
		is(storage($node), $expected, "$method, target $target: off is stock");
		fill($node, $method, $target, 'toast_chunk_aware_min_size = 0');
		is(storage($node), $expected,
			"$method, target $target: off is stock, whatever the least size");

		my %stock = map { /^(\d+)\|(.*)/ ? ($1, $2) : () } split /\n/, $expected;
		my @settings = ([ 1, 0 ], [ 2147483647, 4096 ]);
		push @settings, [ 1, 4096 ], [ 2, 4050 ], [ 3, 4096 ], [ 1, 2147483647 ] if $target == 2032;
		for my $setting (@settings)
		{
			my ($min_saved, $min_size) = @$setting;
			my $name = "$method, target $target, min_saved_chunks $min_saved, min_size $min_size";
			my (@wrong, $raw);

			fill(
				$node, $method, $target,
				"toast_min_saved_chunks = $min_saved",
				"toast_chunk_aware_min_size = $min_size");
			for my $line (split /\n/, storage($node))
			{
				my ($id, $is) = $line =~ /^(\d+)\|(.*)/;
				my ($compression, $size, $chunks) = split /\|/, $stock{$id};

				# The stock server compressed this value, and could not keep it in the row, because
				# the value with its length word is larger than the target size of a row minus the
				# row header.
				if ($compression ne '' && $chunks && $size + 4 > $target - 24)
				{
					my $saved = chunks($raw_size{$id}) - chunks($size);

					$seen{"$method $target fits not"}++ if $size + 4 == $target - 24 + 1;
					$seen{"$method just saved"}++ if $saved == $min_saved;
					$seen{"$method just not saved"}++ if $saved == $min_saved - 1;
					$seen{"$method just exempt"}++
					  if $saved < $min_saved && $raw_size{$id} == $min_size;
					$seen{"$method just not exempt"}++
					  if $saved < $min_saved && $raw_size{$id} == $min_size + 1;
					if ($raw_size{$id} > $min_size && $saved < $min_saved)
					{
						$is =~ s/\|[0-9a-f]{32}$//;
						$stock{$id} !~ /^\|/ and $raw++;
						push @wrong, $line if $is ne "|$raw_size{$id}|" . chunks($raw_size{$id});
						next;
					}
				}
				else
				{
					$seen{"$method $target fits"}++
					  if $compression ne '' && $size + 4 == $target - 24;
				}
				push @wrong, $line if $is ne $stock{$id};
			}
			is(join("\n", @wrong), '', "$name: stored as the rule says");
			is(!!$raw, $min_size != 2147483647, "$name: some values are stored uncompressed");
			is($node->safe_psql('postgres', $reads_same),
				"$values|$values", "$name: the values read the same");
		}
	}
}
for my $method (@methods)
{
	for my $case (
		(map { ("$_ fits", "$_ fits not") } 1000, 2032, 5000),
		'just saved', 'just not saved',
		'just exempt', 'just not exempt')
	{
		cmp_ok($seen{"$method $case"} // 0, '>', 0, "$method, $case: the case occurred");
	}
}

# In rows of several columns, the patch must not change which values stay in the row, nor the form
# of these values.  Try each order of sizes, NULLs, and each storage strategy.
my $of_row = <<'SQL';
SELECT md5(string_agg(concat_ws(' ', id, pg_column_compression(b), pg_column_size(b), pg_column_compression(d), pg_column_size(d),
    CASE WHEN pg_column_toast_chunk_id(a) IS NULL THEN concat_ws(' ', pg_column_compression(a), pg_column_size(a)) END,
    CASE WHEN pg_column_toast_chunk_id(c) IS NULL THEN concat_ws(' ', pg_column_compression(c), pg_column_size(c)) END,
    pg_column_toast_chunk_id(a) IS NULL, pg_column_toast_chunk_id(b) IS NULL,
    pg_column_toast_chunk_id(c) IS NULL, pg_column_toast_chunk_id(d) IS NULL), ',' ORDER BY id)),
  md5(string_agg(concat_ws(' ', id, md5(a), md5(b), md5(c), md5(d)), ',' ORDER BY id)) FROM mixed;
SELECT count(*) FILTER (WHERE pg_column_compression(a) IS NULL AND pg_column_toast_chunk_id(a) IS NOT NULL) FROM mixed
SQL
my @result;
for my $case ([ $stock, '' ], [ $node, '' ], [ $node, 'SET toast_min_saved_chunks = 2' ])
{
	$case->[0]->safe_psql('postgres', <<SQL);
$case->[1];
DROP TABLE IF EXISTS mixed;
CREATE TABLE mixed (id int, a bytea, b bytea STORAGE MAIN, c bytea, d bytea STORAGE EXTERNAL);
SELECT setseed(0.5);
INSERT INTO mixed SELECT i, a.v, b.v, c.v, d.v FROM
  (SELECT i, random() AS r1, random() AS r2, random() AS r3, random() AS r4 FROM generate_series(1, 1500) i) s
  LEFT JOIN source a ON a.id = CASE WHEN r1 < 0.9 THEN 10001 + (r1 * 2000)::int END
  LEFT JOIN source b ON b.id = CASE WHEN r2 < 0.4 THEN 10001 + (r2 * 2000)::int END
  LEFT JOIN source c ON c.id = CASE WHEN r3 < 0.9 THEN 1 + (r3 * 2000)::int END
  LEFT JOIN source d ON d.id = CASE WHEN r4 < 0.4 THEN 1 + (r4 * 1000)::int END;
SQL
	push @result, [ split /\n/, $case->[0]->safe_psql('postgres', $of_row) ];
}
is("@{$result[1]}", "@{$result[0]}", 'rows of several columns: off is stock');
is($result[2][0], $result[0][0], 'rows of several columns: on changes only what is out of line');
cmp_ok(
	$result[2][1], '>',
	$result[0][1] + 100,
	'rows of several columns: on changes values out of line');

# The server must compress values of a catalog without a TOAST table that would not fit on a page.
$node->safe_psql('postgres', <<'SQL');
SET toast_min_saved_chunks = 2147483647;
CREATE TABLE granted ();
DO $$ BEGIN
  FOR i IN 1 .. 900 LOOP EXECUTE format('CREATE ROLE regress_toast_%s', i); END LOOP;
  EXECUTE (SELECT 'GRANT SELECT ON granted TO ' || string_agg(rolname, ',') FROM pg_roles WHERE rolname ~ '^regress_toast_');
END $$;
SQL
is( $node->safe_psql('postgres',
		<<'SQL'), 'pglz|t|t', 'values of a table without a TOAST table are compressed');
SELECT pg_column_compression(relacl), pg_column_size(relacl) > 2032, cardinality(relacl) > 900 FROM pg_class WHERE relname = 'granted'
SQL

# A rewrite, an update and a copy keep the stored form if the setting is the same.
$node->safe_psql('postgres', 'ALTER SYSTEM SET toast_min_saved_chunks = 3');
$node->reload;
$node->poll_query_until('postgres', q{SELECT current_setting('toast_min_saved_chunks') = '3'})
  or die 'no reload';
fill($node, 'pglz', 2032);
my $before = storage($node);
for my $statement (
	'VACUUM FULL stored',
	'CLUSTER stored USING stored_pkey',
	'UPDATE stored SET id = -id; UPDATE stored SET id = -id',
	'CREATE TABLE copy (LIKE stored INCLUDING ALL); INSERT INTO copy SELECT * FROM stored; DROP TABLE stored; ALTER TABLE copy RENAME TO stored'
  )
{
	$node->safe_psql('postgres', $statement);
	is(storage($node), $before, "the stored form is kept by $statement");
}
is($node->safe_psql('postgres', $reads_same),
	"$values|$values", 'values read the same after these statements');

# A standby has the same bytes, and reads them with any setting.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "toast_min_saved_chunks = 0\n");
$standby->start;
$node->safe_psql('postgres', 'UPDATE stored SET v = v || int4send(id)');
$node->wait_for_replay_catchup($standby);
is(storage($standby), storage($node), 'a standby has the same stored form');
my $digest = q{SELECT md5(string_agg(md5(v), ',' ORDER BY id)) FROM stored};
is( $standby->safe_psql('postgres', $digest),
	$node->safe_psql('postgres', $digest),
	'a standby reads the same values');
$standby->stop;

# A dump has none of the settings, so any server can restore it.
my $file = "$PostgreSQL::Test::Utils::tmp_check/toast_policy_core_patch.sql";
$node->command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-t', 'stored', '-f', $file ],
	'dump');
unlike(
	slurp_file($file),
	qr/toast_min_saved|toast_chunk_aware/,
	'the dump names no setting of the patch');
$stock->safe_psql('postgres', 'DROP TABLE stored');
$stock->command_ok(
	[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $stock->connstr('postgres'), '-f', $file ],
	'a stock server restores the dump');
is( $stock->safe_psql('postgres', $digest),
	$node->safe_psql('postgres', $digest),
	'restored values read the same');

# A stock server reads the data directory.
my $data = $node->safe_psql('postgres', $digest);
$node->safe_psql('postgres', 'ALTER SYSTEM RESET toast_min_saved_chunks');
$node->stop;
command_ok([ "$stock_path/bin/pg_ctl", '-w', '-D', $node->data_dir, '-l', $node->logfile, 'start' ],
	'a stock server starts on the same data directory');
is($node->safe_psql('postgres', $digest), $data, 'a stock server reads the same values');
command_ok([ "$stock_path/bin/pg_ctl", '-w', '-D', $node->data_dir, 'stop' ],
	'the stock server stops');

$stock->stop;
done_testing();
