# Check which tables bgwriter prunes, and that it does not change any other table: tables that are
# not WAL-logged, tables with another access method, and catalogs.  User catalog tables count as
# catalogs, because logical decoding reads them as such.
#
# A snapshot keeps the dead rows of every table until the test has prepared all tables.  When the
# snapshot has ended, the test makes the pages dirty again.  Either bgwriter removes the dead rows,
# or VACUUM removes them afterwards, which shows that there was something to remove.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Bgvacuum;
use PgDense::Crash;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

needs_patch('bgvacuum_patch', 'bgvacuum');

my $node = bgvacuum_node(
	'company',
	shared_buffers => '8MB',
	init => [ allows_streaming => 'logical' ],
	conf => "max_connections = 30\nmax_logical_replication_workers = 0\n");

# Each element has the name of a table, 1 if bgwriter prunes the table, and statements that create
# the table with the rows 1 to 30 (columns id, v).  Some have statements that run after 10 rows were
# deleted and before the snapshot ends.
my $rows = q{SELECT i AS id, '-'::text AS v FROM generate_series(1, 30) i};
my @tables = (
	[ 'plain', 1, "CREATE TABLE plain AS $rows" ],
	[
		'with_indexes',
		1,
		"CREATE TABLE with_indexes AS $rows; ALTER TABLE with_indexes ADD PRIMARY KEY (id); CREATE INDEX ON with_indexes (v)"
	],
	[
		'part1',
		1,
		"CREATE TABLE parts (id int, v text) PARTITION BY LIST (v); CREATE TABLE part1 PARTITION OF parts FOR VALUES IN ('-', 'late'); INSERT INTO parts $rows"
	],
	[
		'child',
		1,
		"CREATE TABLE ancestor (id int, v text); CREATE TABLE child () INHERITS (ancestor); INSERT INTO child $rows"
	],
	[
		'once_unlogged', 1,
		"CREATE UNLOGGED TABLE once_unlogged AS $rows; ALTER TABLE once_unlogged SET LOGGED"
	],
	[
		'once_catalog',
		1,
		"CREATE TABLE once_catalog (id int, v text) WITH (user_catalog_table); INSERT INTO once_catalog $rows; ALTER TABLE once_catalog RESET (user_catalog_table)"
	],
	[
		'once_other',
		1,
		"CREATE TABLE once_other (id int, v text) USING wrapper; INSERT INTO once_other $rows; ALTER TABLE once_other SET ACCESS METHOD heap"
	],
	[
		'moved',
		1,
		"CREATE TABLE moved AS $rows; ALTER TABLE moved SET SCHEMA elsewhere; ALTER TABLE elsewhere.moved RENAME TO there; ALTER TABLE elsewhere.there SET SCHEMA public; ALTER TABLE there RENAME TO moved"
	],
	[ 'unlogged', 0, "CREATE UNLOGGED TABLE unlogged AS $rows" ],
	[ 'other', 0, "CREATE TABLE other (id int, v text) USING wrapper; INSERT INTO other $rows" ],
	[
		'catalog',
		0,
		"CREATE TABLE catalog (id int, v text) WITH (user_catalog_table); INSERT INTO catalog $rows"
	],
	# bgwriter knows of dead rows in the pages before the table becomes a user catalog table.
	[
		'later_catalog', 0,
		"CREATE TABLE later_catalog AS $rows",
		'ALTER TABLE later_catalog SET (user_catalog_table = true)'
	],);

$node->safe_psql('postgres',
	'CREATE ACCESS METHOD wrapper TYPE TABLE HANDLER heap_tableam_handler; CREATE SCHEMA elsewhere'
);
$node->safe_psql('postgres', $_->[2]) for @tables;
$node->safe_psql('postgres',
	'CREATE TABLE base AS SELECT i AS id, 0 AS v FROM generate_series(1, 30) i; ALTER TABLE base ADD PRIMARY KEY (id);'
	  . ' CREATE MATERIALIZED VIEW view AS SELECT * FROM base; CREATE UNIQUE INDEX ON view (id);'
	  . ' CREATE MATERIALIZED VIEW catalog_view AS SELECT * FROM base; CREATE UNIQUE INDEX ON catalog_view (id); CREATE ROLE configured'
);

my $holder = hold_horizon($node);
my $temporary = $node->background_psql('postgres');
my $temporary_state =
  q{SELECT count(*) FROM heap_page_items(get_raw_page('temporary', 0)) WHERE lp_flags = 1};
$temporary->query_safe(
	"CREATE TEMP TABLE temporary AS $rows; DELETE FROM temporary WHERE id > 20;");
$node->safe_psql('postgres', "DELETE FROM $_->[0] WHERE id > 20") for @tables;
$node->safe_psql('postgres',
		'UPDATE base SET v = 1 WHERE id <= 20; REFRESH MATERIALIZED VIEW CONCURRENTLY view;'
	  . ' REFRESH MATERIALIZED VIEW CONCURRENTLY catalog_view; ALTER MATERIALIZED VIEW catalog_view SET (user_catalog_table = true)'
);
$node->safe_psql('postgres', "ALTER ROLE configured SET work_mem = '${_}MB'") for 1 .. 20;
$node->safe_psql('postgres',
	'UPDATE information_schema.sql_sizing SET supported_value = 1 WHERE sizing_id = 34');
$node->safe_psql('postgres', $_->[3]) for grep { defined $_->[3] } @tables;
my %before = map { $_ => line_pointers($node, $_)->{normal} } map({ $_->[0] } @tables), 'view',
  'catalog_view', 'pg_db_role_setting', 'information_schema.sql_sizing';
is( join(' ', map { $before{ $_->[0] } } @tables),
	join(' ', (30) x @tables),
	'a snapshot keeps the rows of all tables');
cmp_ok($before{view}, '>=', 50, 'a snapshot keeps the rows of a materialized view');
$holder->quit;

for my $i (1 .. 3)
{
	$node->safe_psql('postgres', "INSERT INTO $_->[0] VALUES (40 + $i, 'late')") for @tables;
	$node->safe_psql('postgres',
		"INSERT INTO base VALUES (40 + $i, 0); REFRESH MATERIALIZED VIEW CONCURRENTLY view; REFRESH MATERIALIZED VIEW CONCURRENTLY catalog_view"
	);
	$node->safe_psql('postgres', "ALTER ROLE configured SET work_mem = '10${i}MB'");
	$node->safe_psql('postgres',
		"UPDATE information_schema.sql_sizing SET supported_value = $i + 1 WHERE sizing_id = 34");
	$temporary->query_safe("INSERT INTO temporary VALUES (40 + $i, 'late')");
	wait_for_rounds($node, 4);
}
for my $table (@tables)
{
	my ($name, $pruned) = @$table;

	ok($pruned ? wait_for_tuples($node, $name, 23) : line_pointers($node, $name)->{normal} == 33,
		$pruned ? "$name is pruned" : "$name is left alone");
}
ok(wait_for_tuples($node, 'view', 33), 'a materialized view is pruned');
is( line_pointers($node, 'catalog_view')->{normal},
	$before{catalog_view} + 3,
	'a materialized view that has become a user catalog table is left alone');
is($temporary->query_safe($temporary_state), 33, 'a temporary table is left alone');
is( line_pointers($node, 'pg_db_role_setting')->{normal},
	$before{pg_db_role_setting} + 3,
	'a shared catalog is left alone');
is( line_pointers($node, 'information_schema.sql_sizing')->{normal},
	$before{'information_schema.sql_sizing'} + 3,
	'a table that initdb has created is left alone');

$node->safe_psql('postgres', "VACUUM $_->[0]") for @tables;
$node->safe_psql('postgres', 'VACUUM pg_db_role_setting');
$temporary->query_safe('VACUUM temporary');
for my $table (@tables)
{
	is(line_pointers($node, $table->[0])->{normal}, 23,
		"$table->[0]: VACUUM removes the dead rows");
	is( $node->safe_psql(
			'postgres', "SELECT count(*), count(DISTINCT id), sum(id) FROM $table->[0]"),
		'23|23|336',
		"$table->[0]: all rows are there");
}
is($temporary->query_safe($temporary_state),
	23, 'VACUUM removes the dead rows of a temporary table');
cmp_ok(line_pointers($node, 'pg_db_role_setting')->{normal},
	'<', 5, 'VACUUM removes the dead rows of a shared catalog');
is($node->safe_psql('postgres', 'SELECT count(*), sum(v) FROM view'),
	'33|20', 'the materialized view has all rows');
$temporary->quit;

## A table becomes a user catalog table while bgwriter visits its pages, and then an ordinary table
## again.

{
	$node->safe_psql('postgres', "CREATE TABLE turns AS $rows");
	my $lost = 0;
	for my $i (1 .. 10)
	{
		my $before_hold = hold_horizon($node);
		$node->safe_psql('postgres',
			"UPDATE turns SET v = '$i' WHERE id <= 3; ALTER TABLE turns SET (user_catalog_table = true)"
		);
		my $normal = line_pointers($node, 'turns')->{normal};
		$before_hold->quit;
		$node->safe_psql('postgres', "UPDATE turns SET v = 'x' WHERE id = 4");
		wait_for_rounds($node, 4);
		$lost++ if line_pointers($node, 'turns')->{normal} < $normal;
		$node->safe_psql('postgres',
			"ALTER TABLE turns RESET (user_catalog_table); UPDATE turns SET v = '$i' WHERE id = 5");
		wait_for_tuples($node, 'turns', 30);
	}
	is($lost, 0, 'a table that has become a user catalog table is not pruned');
}

# The table stops being a user catalog table only for a moment, because the change is rolled back.
for my $case (
	[
		'rolled_back',
		"CREATE TABLE rolled_back (id int, v text) WITH (user_catalog_table); INSERT INTO rolled_back $rows",
		'BEGIN',
		'ROLLBACK'
	],
	[
		'rolled_back_to',
		"CREATE TABLE rolled_back_to (id int, v text) WITH (user_catalog_table); INSERT INTO rolled_back_to $rows",
		'BEGIN; SAVEPOINT s',
		'ROLLBACK TO s; COMMIT'
	],
	[
		'new_one',
		'',
		"BEGIN; CREATE TABLE new_one (id int, v text) WITH (user_catalog_table); INSERT INTO new_one $rows; SAVEPOINT s",
		'ROLLBACK TO s; COMMIT'
	])
{
	my ($t, $before, $begin, $end) = @$case;

	$node->safe_psql('postgres', $before) if $before;
	$node->safe_psql('postgres',
		"$begin; ALTER TABLE $t RESET (user_catalog_table); UPDATE $t SET v = 'y' WHERE id <= 3; $end"
	);
	wait_for_rounds($node, 4);
	is( line_pointers($node, $t)->{normal},
		33,
		"$t: a user catalog table is not pruned if the change to an ordinary table was rolled back"
	);
}

## TOAST tables of an ordinary table, and of tables that bgwriter does not prune

for my $case (
	[ 'toasted', '', '', 1 ],
	[ 'toasted_unlogged', 'UNLOGGED', '', 0 ],
	[ 'toasted_other', '', 'USING wrapper', 0 ])
{
	my ($t, $kind, $using, $pruned) = @$case;

	$node->safe_psql('postgres',
		"CREATE $kind TABLE $t (id int, v text) $using; ALTER TABLE $t ALTER v SET STORAGE EXTERNAL"
	);
	my $toast = $node->safe_psql('postgres',
		"SELECT reltoastrelid::regclass FROM pg_class WHERE oid = '$t'::regclass");
	for my $i (1 .. 10)
	{
		$node->safe_psql('postgres',
			"INSERT INTO $t SELECT j, repeat('x', 5000) FROM generate_series(1, 10) j");
		$node->safe_psql('postgres', "DELETE FROM $t WHERE id > 2");
		wait_for_rounds($node);
	}
	# Each value has three chunks.
	my $normal = line_pointers($node, $toast)->{normal};
	cmp_ok(
		$normal,
		$pruned ? '<'                               : '==',
		$pruned ? 200                               : 300,
		$pruned ? "the TOAST table of $t is pruned" : "the TOAST table of $t is left alone");
	is( $node->safe_psql(
			'postgres', "SELECT count(*), sum(length(v)), count(DISTINCT md5(v)) FROM $t"),
		'20|100000|1',
		"$t: all values are there");
	$node->safe_psql('postgres', "VACUUM $t");
	is(line_pointers($node, $toast)->{normal},
		60, "$t: VACUUM removes the dead rows of the TOAST table");
}

## Two serializable transactions have write skew.  One of them must fail, even if the rows that they
## have read are pruned in between.

{
	my $failed = 0;
	$node->safe_psql('postgres',
		"CREATE TABLE skew (id int PRIMARY KEY, v int); INSERT INTO skew SELECT i, 0 FROM generate_series(1, 20) i"
	);
	for my $i (1 .. 5)
	{
		$node->safe_psql('postgres',
			'UPDATE skew SET v = 0; DELETE FROM skew WHERE id > 10; INSERT INTO skew SELECT i, 0 FROM generate_series(11, 20) i'
		);
		my @sessions = map { $node->background_psql('postgres', on_error_stop => 0) } 0 .. 1;
		$_->query_safe('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT sum(v) FROM skew WHERE id <= 2')
		  for @sessions;
		wait_for_rounds($node);
		$sessions[0]->query_safe('UPDATE skew SET v = 1 WHERE id = 1');
		$sessions[1]->query_safe('UPDATE skew SET v = 1 WHERE id = 2');
		wait_for_rounds($node);
		$sessions[0]->query_safe('COMMIT');
		$node->safe_psql('postgres', "UPDATE skew SET v = $i WHERE id = 15");
		wait_for_rounds($node);
		$sessions[1]->query('COMMIT');
		$failed++
		  if $sessions[1]->{stderr} =~ /could not serialize access/
		  && $node->safe_psql('postgres', 'SELECT sum(v) FROM skew WHERE id <= 2') == 1;
		$_->quit for @sessions;
	}
	is($failed, 5, 'of two serializable transactions with write skew, one fails');
}

check_heaps($node, 'all tables');
check_indexes($node, 'all tables');
$node->safe_psql('postgres', 'CHECKPOINT');
kill_all($node);
$node->start;
check_heaps($node, 'all tables after a crash');
check_indexes($node, 'all tables after a crash');
check_log($node, 'at the end');
$node->stop;

## With wal_level = minimal, the first rows of a table are not in WAL.

{
	my $minimal = bgvacuum_node(
		'minimal',
		shared_buffers => '2MB',
		conf => "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\n");
	my %expected;

	for my $i (1 .. 4)
	{
		$minimal->safe_psql('postgres',
			"CREATE TABLE old$i (id int PRIMARY KEY, v text); INSERT INTO old$i SELECT i, '-' FROM generate_series(1, 50) i"
		);
		# Tables are created, truncated and rewritten.  The same transaction updates and deletes
		# their rows.
		$minimal->safe_psql('postgres', <<"SQL");
BEGIN;
CREATE TABLE new$i (id int PRIMARY KEY, v text);
INSERT INTO new$i SELECT i, '-' FROM generate_series(1, 400) i;
SAVEPOINT s;
UPDATE new$i SET v = 'x' WHERE id <= 50;
ROLLBACK TO s;
DELETE FROM new$i WHERE id > 40;
UPDATE new$i SET v = 'y' WHERE id <= 5;
SELECT pg_sleep(0.1);
UPDATE new$i SET v = 'z' WHERE id <= 3;
TRUNCATE old$i;
INSERT INTO old$i SELECT i, 'again' FROM generate_series(1, 60) i;
DELETE FROM old$i WHERE id > 30;
SELECT pg_sleep(0.1);
COMMIT;
BEGIN;
CREATE TABLE never$i (id int PRIMARY KEY, v text);
INSERT INTO never$i SELECT i, '-' FROM generate_series(1, 400) i;
DELETE FROM never$i WHERE id > 40;
ALTER TABLE old$i ALTER id TYPE bigint;
DELETE FROM old$i WHERE id > 10;
SELECT pg_sleep(0.1);
ROLLBACK;
INSERT INTO new$i VALUES (501, 'late');
DELETE FROM new$i WHERE id = 20;
INSERT INTO old$i VALUES (501, 'late');
SQL
		wait_for_rounds($minimal);
		if ($i == 2)
		{
			kill_all($minimal);
			$minimal->start;
		}
	}
	my $sums = sub {
		$minimal->safe_psql(
			'postgres',
			join ' UNION ALL ',
			map {
				"SELECT 'new$_', count(*), sum(id), md5(string_agg(id || v, ' ' ORDER BY id)) FROM new$_ UNION ALL SELECT 'old$_', count(*), sum(id), md5(string_agg(id || v, ' ' ORDER BY id)) FROM old$_"
			} 1 .. 4);
	};
	my $before = $sums->();
	like(
		$before,
		qr/^new1\|40\|1301\|\w+\nold1\|31\|966\|/,
		'wal_level = minimal: all rows are there');
	is(scalar(keys %{ { map { (split /\|/, $_, 2)[1] => 1 } split /\n/, $before } }),
		2, 'wal_level = minimal: all tables of a kind have the same rows');
	cmp_ok(bgvacuum_stats($minimal)->{pages_pruned},
		'>', 0, 'wal_level = minimal: pages were pruned');
	kill_all($minimal);
	$minimal->start;
	is($sums->(), $before, 'wal_level = minimal: all rows are there after a crash');
	check_heaps($minimal, 'wal_level = minimal');
	check_indexes($minimal, 'wal_level = minimal');
	check_log($minimal, 'wal_level = minimal');
	$minimal->stop;
}

done_testing();
