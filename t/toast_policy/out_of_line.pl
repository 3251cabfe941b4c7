# Test tables whose governed values go out of line in small rows.  Random statements must have the
# same results as in a heap table, and after each command that writes rows, exactly the values of the
# given size must be out of line.  The same must hold on a standby, after a crash, in a dump that is
# restored, and on a subscriber.
#
# PGDENSE_FUZZ_CASES sets the number of statements (one for each two cases).  PGDENSE_FUZZ_SEED is
# the random seed, which repeats a run.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $statements = int(($ENV{PGDENSE_FUZZ_CASES} // 2000) / 2);
my $seed = $ENV{PGDENSE_FUZZ_SEED} // int(rand(1_000_000));
my ($major) = `pg_config --version` =~ /(\d+)/;

my $node = PostgreSQL::Test::Cluster->new('cold');
$node->init(allows_streaming => 'logical', extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
client_min_messages = warning
wal_consistency_checking = 'heap, heap2, btree'
autovacuum = off
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION toast_policy;
CREATE EXTENSION amcheck;
CREATE FUNCTION pick(n int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT floor(random() * n)::int';
-- Return text that compresses well, not at all, or in between.
CREATE FUNCTION some_text(size int) RETURNS text LANGUAGE sql VOLATILE AS $$
SELECT left(CASE pick(3) WHEN 0 THEN repeat('abcdefgh', size / 8 + 1)
  WHEN 1 THEN (SELECT string_agg(md5(random()::text), '') FROM generate_series(0, size / 32))
  ELSE (SELECT string_agg(left(md5(random()::text), 4) || 'zzzz', '') FROM generate_series(0, size / 8)) END, size) $$;
CREATE FUNCTION cold() RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT CASE WHEN pick(8) > 0 THEN some_text((ARRAY[10, 100, 124, 130, 200, 400, 1500, 2100, 9000])[1 + pick(9)] + pick(10)) END $$;
CREATE FUNCTION hot() RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT CASE WHEN pick(8) > 0 THEN some_text(pick(20) * pick(20)) END $$;

CREATE TABLE d (id int PRIMARY KEY, n int, c1 text, h1 text, c2 text COMPRESSION pglz, h2 jsonb, f float8) WITH (fillfactor = 70);
CREATE TABLE h (LIKE d INCLUDING ALL);
ALTER TABLE d ALTER h2 SET STORAGE MAIN;
CREATE INDEX ON d (n);
CREATE INDEX ON d (c1 text_pattern_ops) WHERE length(c1) < 500;
SELECT toast_policy.enable_out_of_line('d', 130, 'c1', 'c2');

-- Run random statements on both tables.  Return what is different.
CREATE FUNCTION run(count int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	statement text;
	one text;
	error text[];
	moves bool;
BEGIN
	FOR i IN 1 .. count LOOP
		-- A value that arrives compressed from a heap table would stay compressed.
		CREATE TEMP TABLE new (LIKE h) ON COMMIT DROP;
		ALTER TABLE new ALTER h1 SET STORAGE EXTERNAL, ALTER h2 SET STORAGE EXTERNAL;
		INSERT INTO new
			SELECT pick(200) AS id, pick(100) AS n, cold() AS c1, hot() AS h1, cold() AS c2, to_jsonb(hot()) AS h2, random() AS f FROM generate_series(1, 1 + pick(4));
		DELETE FROM new a USING new b WHERE a.id = b.id AND a.ctid < b.ctid;
		statement := (ARRAY['INSERT INTO @ TABLE new ON CONFLICT (id) DO NOTHING',
			'INSERT INTO @ TABLE new ON CONFLICT ON CONSTRAINT @_pkey DO UPDATE SET n = excluded.n, c1 = excluded.c1',
			'INSERT INTO @ TABLE new',
			'UPDATE @ SET n = @.n + 1 FROM new WHERE @.id BETWEEN new.id AND new.id + 10',
			'UPDATE @ SET h1 = new.h1, h2 = new.h2 FROM new WHERE @.id = new.id',
			'UPDATE @ SET c2 = new.c2 FROM new WHERE @.id = new.id',
			'UPDATE @ SET c1 = o.c2, c2 = @.c1 FROM h o, new WHERE @.id = new.id AND o.id = @.id',
			'UPDATE @ SET c1 = @.c2, n = 0 FROM new WHERE @.id = new.id',
			'UPDATE @ SET c1 = left(@.c1, 100) FROM new WHERE @.id = new.id',
			'DELETE FROM @ USING new WHERE @.id = new.id AND @.id % 3 = 0',
			'MERGE INTO @ t USING new ON t.id = new.id WHEN MATCHED AND t.n % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET c1 = new.c1 WHEN NOT MATCHED THEN INSERT VALUES (new.id, new.n, new.c1, new.h1, new.c2, new.h2, new.f)',
			'INSERT INTO @ SELECT id + 1000, n, c2, h1, c1, h2, f FROM @ WHERE id IN (SELECT id FROM new) ON CONFLICT DO NOTHING',
			'DELETE FROM @ WHERE id >= 1000'])[1 + pick(13)];
		error := '{}';
		FOREACH one IN ARRAY ARRAY['h', 'd'] LOOP
			BEGIN
				-- The tables must not read each other.
				EXECUTE replace(replace(statement, 'FROM h o', 'FROM ' || one || ' o'), '@', one);
				error := error || 'none'::text;
			EXCEPTION WHEN unique_violation THEN
				error := error || 'unique_violation'::text;
			END;
		END LOOP;
		DROP TABLE new;
		IF error[1] <> error[2] THEN RETURN NEXT format('%s: %s', error, statement); END IF;
		IF i % 20 = 0 AND EXISTS ((TABLE h EXCEPT ALL TABLE d) UNION ALL (TABLE d EXCEPT ALL TABLE h)) THEN
			RETURN NEXT 'the rows differ after ' || statement;
			RETURN;
		END IF;
	END LOOP;
END $$;
SQL

# Count the rows that differ, values that are wrongly in or out of their row, and hot values that
# are compressed or out of line.  Releases before 17 cannot tell whether a value is out of line, so
# compare the number of values in the TOAST table there.
sub wrong
{
	my ($where, $db, $table) = @_;
	# pg_column_size() does not count the header of a value that is out of line.
	my $outside = $major >= 17
	  ? "SELECT count(*) FROM $table WHERE " . join(
		' OR ',
		map {
			"CASE WHEN pg_column_toast_chunk_id($_) IS NOT NULL THEN pg_column_size($_) < 126 ELSE pg_column_size($_) >= 130 END"
		} qw(c1 c2))
	  . ' OR pg_column_toast_chunk_id(h1) IS NOT NULL OR pg_column_toast_chunk_id(h2) IS NOT NULL'
	  : do
	{
		my $toast = $where->safe_psql($db,
			"SELECT reltoastrelid::regclass FROM pg_class WHERE oid = '$table'::regclass");
		sprintf
		  "SELECT CASE WHEN (SELECT count(DISTINCT chunk_id) FROM $toast) NOT BETWEEN (%s) AND (%s) THEN 1 ELSE 0 END",
		  map {
			"SELECT count(*) FILTER (WHERE pg_column_size(c1) >= $_) + count(*) FILTER (WHERE pg_column_size(c2) >= $_) FROM $table"
		  } 130, 126;
	};

	return $where->safe_psql($db,
		"$outside; SELECT count(*) FROM $table WHERE pg_column_compression(h1) IS NOT NULL OR pg_column_compression(h2) IS NOT NULL"
	);
}

my $digest = 'SELECT count(*), md5(string_agg(x::text, E\'\n\' ORDER BY id)) FROM %s x';
my $good = "0\n0";

note "PGDENSE_FUZZ_SEED=$seed";
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;

# Each statement creates a temporary table, which stays locked until the transaction ends.
my $batch = 200;
my $left = int($statements / 10);
my $run = '';
for (; $left > 0; $left -= $batch)
{
	$run .= sprintf "SELECT run(%d);\n", $left < $batch ? $left : $batch;
}
my $steps = 0;
for my $between (
	'VACUUM d',
	'VACUUM FULL d',
	'CLUSTER d USING d_pkey',
	'SET enable_indexscan = off; CLUSTER d',
	'ALTER TABLE d ALTER f TYPE float4; ALTER TABLE h ALTER f TYPE float4',
	"SELECT toast_policy.recompress('d')",
	'REINDEX TABLE d',
	'SET toast_policy.lz4_level = 9; VACUUM FULL d',
	'DELETE FROM d WHERE id % 7 = 0; DELETE FROM h WHERE id % 7 = 0',
	'VACUUM (FREEZE) d')
{
	my $script =
	  sprintf("SELECT setseed(%.6f);\n", ($seed + $steps++) % 1_000_000 / 1_000_000) . $run;

	is($node->safe_psql('postgres', $script) =~ s/^\n//r, '', "statements $steps, seed $seed");
	is(wrong($node, 'postgres', 'd'), $good, "statements $steps: where the values are");
	$node->safe_psql('postgres', $between);
	is( $node->safe_psql('postgres', sprintf($digest, 'd')),
		$node->safe_psql('postgres', sprintf($digest, 'h')),
		"$between: the rows");
	is(wrong($node, 'postgres', 'd'), $good, "$between: where the values are");
	is($node->safe_psql('postgres', "SELECT * FROM toast_policy.check('d', true)"),
		'', "$between: amcheck");
}
my $rows = $node->safe_psql('postgres', sprintf($digest, 'h'));
cmp_ok((split /\|/, $rows)[0], '>', 50, 'rows are left');

# Other sessions invalidate the cache entry of the table while rows are written: each transaction
# reads the invalidations when heap opens the TOAST table.  The entry must be changed again, and
# restored.
my $invalidator = $node->background_psql('postgres');
$invalidator->query_until(
	qr/begun/, q{\echo begun
DO $$ BEGIN
	FOR i IN 1 .. 3000 LOOP
		EXECUTE format('ALTER TABLE d SET (autovacuum_vacuum_threshold = %s)', i);
		COMMIT;
	END LOOP;
END $$;
});
$node->safe_psql('postgres', <<'SQL');
DO $$
BEGIN
	FOR i IN 1 .. 500 LOOP
		INSERT INTO d VALUES (20000 + i, 0, some_text(500), repeat('h', 300), some_text(50 + i), '"h"', 1);
		COMMIT;
		UPDATE d SET c1 = some_text(500), h1 = repeat('u', 300) WHERE id = 20000 + i;
		COMMIT;
		UPDATE d SET n = 1 WHERE id = 20000 + i;
		COMMIT;
	END LOOP;
	DELETE FROM d WHERE id > 20000 AND id % 10 > 0;
END $$;
SQL
$invalidator->quit;
$node->safe_psql('postgres', 'VACUUM d');
is(wrong($node, 'postgres', 'd'), $good, 'invalidations: where the values are');
$node->safe_psql('postgres', 'DELETE FROM d WHERE id > 20000');

# an update of other columns writes nothing to the TOAST table, and is HOT
my $toast = $node->safe_psql('postgres',
	"SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'd'::regclass");
my $chunks =
  "SELECT md5(string_agg(concat_ws(' ', ctid, xmin, chunk_id, chunk_seq), ',' ORDER BY ctid)) FROM $toast";
$node->safe_psql('postgres', 'VACUUM FULL d');
my $before = $node->safe_psql('postgres', $chunks);
my $hot = $node->safe_psql('postgres', <<'SQL');
BEGIN;
UPDATE d SET f = f + 1 WHERE id % 10 = 0;
SELECT pg_stat_get_xact_tuples_updated('d'::regclass) > 0, pg_stat_get_xact_tuples_updated('d'::regclass) = pg_stat_get_xact_tuples_hot_updated('d'::regclass);
COMMIT;
UPDATE d SET f = f - 1 WHERE id % 10 = 0;
SQL
is($hot, 't|t', 'updates of other columns are HOT');
is($node->safe_psql('postgres', $chunks), $before, 'they do not write to the TOAST table');
$node->safe_psql('postgres', 'UPDATE d SET f = h.f FROM h WHERE h.id = d.id');

# A command that rewrites the table keeps the row versions that an old snapshot sees.  heap writes
# them together with the newest version, whose values go out of line in another way.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE v (id int PRIMARY KEY, n int, c text, h text, m text);
ALTER TABLE v ALTER m SET STORAGE MAIN;
SELECT toast_policy.enable_out_of_line('v', 130, 'c');
INSERT INTO v SELECT i, 0, some_text((ARRAY[50, 150, 300, 3000])[1 + i % 4]), some_text(CASE i % 5 WHEN 0 THEN 5000 ELSE 90 END),
	some_text(CASE i % 7 WHEN 0 THEN 4000 ELSE 60 END) FROM generate_series(1, 200) i;
SQL
my $reader = $node->background_psql('postgres');
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
my $old = $node->safe_psql('postgres', sprintf($digest, 'v'));
$node->safe_psql('postgres', <<'SQL');
UPDATE v SET n = 1 WHERE id % 2 = 0;
UPDATE v SET c = some_text(4000), h = 'small' WHERE id % 3 = 0;
UPDATE v SET c = 'tiny', h = some_text(6000), m = some_text(5000) WHERE id % 4 = 0;
UPDATE v SET h = 'back', m = 'back' WHERE id % 8 = 0;
DELETE FROM v WHERE id % 9 = 0;
BEGIN;
UPDATE v SET c = some_text(700), h = some_text(6000), m = some_text(5000) WHERE id % 5 = 1;
ROLLBACK;
SQL
my $new = $node->safe_psql('postgres', sprintf($digest, 'v'));
for my $command (
	'VACUUM FULL v',
	'CLUSTER v USING v_pkey',
	'SET enable_indexscan = off; CLUSTER v',
	"SELECT toast_policy.recompress('v')")
{
	$node->safe_psql('postgres', $command);
	is($node->safe_psql('postgres', sprintf($digest, 'v')), $new, "$command: the new rows");
}
is($reader->query_safe(sprintf($digest, 'v')), $old, 'an old snapshot sees the old rows');
$reader->quit;
is($node->safe_psql('postgres', "SELECT * FROM toast_policy.check('v', true)"),
	'', 'row versions: amcheck');

# Versions of a row that share a value must store it in the same form, because the TOAST table has
# it only once.  The value of the oldest version is raw, although it could be compressed.
my $raw = q{SELECT string_agg(md5(i::text) || repeat('z', 32), '') FROM generate_series(1, 3072) i};
my $noise = q{SELECT string_agg(md5(i::text), '') FROM generate_series(1, 8) i};
for
  my $command ('CLUSTER %s USING %1$s_n', 'VACUUM FULL %s', q{SELECT toast_policy.recompress('%s')})
{
	my $table = 'shared_' . lc((split /\W/, $command)[0]);

	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (id int PRIMARY KEY, n int, c text, d text);
CREATE INDEX ${table}_n ON $table (n);
ALTER TABLE $table ALTER c SET STORAGE EXTERNAL;
INSERT INTO $table VALUES (1, 3, ($raw));
SELECT toast_policy.enable_out_of_line('$table', 128, 'c', 'd');
SQL
	my $snapshot = $node->background_psql('postgres', on_error_stop => 0);
	$snapshot->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	$node->safe_psql('postgres', <<"SQL");
UPDATE $table SET n = 1;
UPDATE $table SET n = 2, c = 'tiny', d = ($noise);
SQL
	$node->safe_psql('postgres', 'SET enable_sort = off; ' . sprintf($command, $table));
	is(($snapshot->query("SELECT n, c = ($raw), d IS NULL FROM $table"))[0],
		'3|t|t', sprintf("$command: an old snapshot reads a shared value", $table));
	is($node->safe_psql('postgres', "SELECT n, c, d = ($noise) FROM $table"),
		'2|tiny|t', sprintf("$command: the newest version", $table));
	$snapshot->quit;
}

# Outdated row versions must not get values of their own in the TOAST table: nothing deletes these.
# The newest version of a row follows heap's rule while an older version exists.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE outdated (id int PRIMARY KEY, n int, c text);
INSERT INTO outdated SELECT i, 0, (SELECT string_agg(md5(i || '-' || j), '') FROM generate_series(1, 12) j) FROM generate_series(1, 100) i;
SQL
my $outside = sprintf 'SELECT count(DISTINCT chunk_id) FROM %s',
  $node->safe_psql('postgres',
	q{SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'outdated'::regclass});
my $snapshot = $node->background_psql('postgres');
$snapshot->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$node->safe_psql('postgres', 'UPDATE outdated SET n = n + 1') for 1 .. 5;
$node->safe_psql('postgres', q{SELECT toast_policy.enable_out_of_line('outdated', 128, 'c')});
$node->safe_psql('postgres', 'DELETE FROM outdated WHERE id > 90');
$node->safe_psql('postgres', 'VACUUM FULL outdated');
is($snapshot->query_safe('SELECT count(*), sum(n), sum(length(c)) FROM outdated'),
	'100|0|38400', 'an old snapshot sees the outdated versions');
$snapshot->quit;
$node->safe_psql('postgres', 'VACUUM outdated');
is($node->safe_psql('postgres', $outside), 0, 'outdated versions have left no values');
$node->safe_psql('postgres', 'UPDATE outdated SET n = n + 1 WHERE id <= 40');
is($node->safe_psql('postgres', $outside), 40, 'the next UPDATE moves values out of line');
$node->safe_psql('postgres', 'VACUUM FULL outdated');
is($node->safe_psql('postgres', $outside), 90, 'the next VACUUM FULL, too');

# LOCK TABLE in a session that has not loaded the library
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE locked (id int, c varchar(100));
SELECT toast_policy.enable('locked', 'c');
ALTER TABLE locked SET (toast_tuple_target = 128);
SQL
$node->safe_psql('postgres',
	'BEGIN; LOCK TABLE locked; ALTER TABLE locked SET (fillfactor = 50); COMMIT');
is( $node->safe_psql(
		'postgres', q{SELECT reltoastrelid <> 0 FROM pg_class WHERE oid = 'locked'::regclass}),
	't',
	'ALTER TABLE adds a TOAST table if the table is locked');

# The statement that creates the table loads the library.
if ($major >= 16)
{
	$node->safe_psql('postgres',
		'CREATE TABLE at_once (id int, c varchar(100) STORAGE EXTERNAL) USING toast_policy WITH (toast_tuple_target = 128)'
	);
	is( $node->safe_psql(
			'postgres', q{SELECT reltoastrelid <> 0 FROM pg_class WHERE oid = 'at_once'::regclass}),
		't',
		'CREATE TABLE adds a TOAST table');
}

# A virtual generated column has no stored values.
if ($major >= 18)
{
	$node->safe_psql('postgres',
		'CREATE TABLE computed (id int, c text GENERATED ALWAYS AS (repeat(id::text, 200)) VIRTUAL, d text)'
	);
	my ($ret, $out, $err) =
	  $node->psql('postgres', q{SELECT toast_policy.enable_out_of_line('computed', 128, 'd', 'c')});
	like(
		$err,
		qr/column "c" cannot be governed by toast_policy\nDETAIL:  Values of a virtual generated column are not stored/,
		'a virtual generated column is refused');
	$node->safe_psql('postgres', q{SELECT toast_policy.enable('computed')});
	is( $node->safe_psql(
			'postgres',
			q{SELECT attname, attstorage FROM pg_attribute WHERE attrelid = 'computed'::regclass AND attnum > 1 ORDER BY 1}
		),
		"c|x\nd|e",
		'enable() leaves it out');
}

# standby and crash
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is($standby->safe_psql('postgres', sprintf($digest, 'd')), $rows, 'standby: the rows');
is(wrong($standby, 'postgres', 'd'), $good, 'standby: where the values are');
my $open = $node->background_psql('postgres');
$open->query_safe(
	q{BEGIN; UPDATE d SET c1 = some_text(500), c2 = some_text(3000); INSERT INTO d SELECT id + 5000, n, c1, h1, c2, h2, f FROM d;}
);
$node->safe_psql('postgres', 'CHECKPOINT');
$node->stop('immediate');
$node->start;
eval { $open->quit };
is($node->safe_psql('postgres', sprintf($digest, 'd')), $rows, 'crash: the rows');
is(wrong($node, 'postgres', 'd'), $good, 'crash: where the values are') if $major >= 17;
is($node->safe_psql('postgres', "SELECT * FROM toast_policy.check('d', true)"),
	'', 'crash: amcheck');
$node->safe_psql('postgres', 'VACUUM FULL d');
is(wrong($node, 'postgres', 'd'), $good, 'crash, VACUUM FULL: where the values are');

# dump and restore
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok(
	[
		'pg_dump', '-Fc', '-f',
		"${PostgreSQL::Test::Utils::tmp_check}/cold.dump",
		$node->connstr('postgres')
	],
	'pg_dump');
$node->command_ok(
	[
		'pg_restore', '-e', '-j2', '-d',
		$node->connstr('restored'),
		"${PostgreSQL::Test::Utils::tmp_check}/cold.dump"
	],
	'pg_restore');
my $settings =
  q{SELECT relation, column_name, access_method, storage, compression, out_of_line FROM toast_policy.status ORDER BY relation::text, 2};
is( $node->safe_psql('restored', $settings),
	$node->safe_psql('postgres', $settings),
	'restored: the settings');
is($node->safe_psql('restored', sprintf($digest, 'd')), $rows, 'restored: the rows');
is(wrong($node, 'restored', 'd'), $good, 'restored: where the values are');

# logical replication, to a table with values out of line and to a heap table, with each replica
# identity
$node->safe_psql('postgres', "CREATE DATABASE $_") for qw(subscriber plain_subscriber);
for my $db (qw(subscriber plain_subscriber))
{
	$node->safe_psql($db,
		'CREATE EXTENSION toast_policy; CREATE EXTENSION amcheck; CREATE TABLE d (id int PRIMARY KEY, n int, c1 text, h1 text, c2 text, h2 jsonb, f float4)'
	);
	$node->safe_psql($db, "SELECT toast_policy.enable_out_of_line('d', 130, 'c1', 'c2')")
	  if $db eq 'subscriber';
}
$node->safe_psql('postgres', 'CREATE PUBLICATION p FOR TABLE d');
for my $db (qw(subscriber plain_subscriber))
{
	my $connection = $node->connstr . ' dbname=postgres';

	# A subscription in the same cluster needs its slot beforehand.
	$node->safe_psql('postgres', "SELECT pg_create_logical_replication_slot('$db', 'pgoutput')");
	$node->safe_psql($db,
		"CREATE SUBSCRIPTION $db CONNECTION '$connection' PUBLICATION p WITH (create_slot = false, slot_name = '$db')"
	);
	$node->wait_for_subscription_sync($node, $db, $db);
}
for my $identity ('DEFAULT', 'FULL')
{
	$node->safe_psql('postgres', <<"SQL");
ALTER TABLE d REPLICA IDENTITY $identity;
UPDATE d SET n = n + 1;
UPDATE d SET h1 = hot() WHERE id % 3 = 0;
UPDATE d SET c1 = cold(), h2 = NULL WHERE id % 5 = 0;
UPDATE d SET id = id + 300 WHERE id % 7 = 0 AND id < 200;
DELETE FROM d WHERE id % 11 = 0;
INSERT INTO d SELECT i, i, cold(), hot(), cold(), NULL, 1 FROM generate_series(10000, 10010) i ON CONFLICT (id) DO UPDATE SET n = -1;
SQL
	for my $db (qw(subscriber plain_subscriber))
	{
		$node->wait_for_catchup($db);
		is( $node->safe_psql($db, sprintf($digest, 'd')),
			$node->safe_psql('postgres', sprintf($digest, 'd')),
			"$db, REPLICA IDENTITY $identity: the rows");
	}
}
is($node->safe_psql('subscriber', "SELECT * FROM toast_policy.check('d', true)"),
	'', 'subscriber: amcheck');
is(wrong($node, 'subscriber', 'd'), $good, 'subscriber: where the values are') if $major >= 17;
$node->safe_psql($_, "DROP SUBSCRIPTION $_") for qw(subscriber plain_subscriber);
$standby->stop;

$node->stop;
done_testing();
