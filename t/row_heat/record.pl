# Which rows row_heat records, in which statements, and what happens to the heat: its table in
# shared memory, a restart, a crash, decay, and a session without shared memory.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('record');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
shared_preload_libraries = 'row_heat'
row_heat.sample_rate = 1
row_heat.memory = 1MB
enable_seqscan = off
max_parallel_workers_per_gather = 0
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION row_heat;
CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL, pad text) WITH (fillfactor = 50);
INSERT INTO t SELECT i, i, repeat('x', 50) FROM generate_series(1, 1000) i;
CREATE INDEX ON t (v);
CREATE TABLE parted (id int, fk int, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (50);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (50) TO (1000);
INSERT INTO parted SELECT i, i FROM generate_series(1, 99) i;
VACUUM ANALYZE;
SQL

# accesses(TABLE) - return the accesses that are recorded for the table, 0 if none are
sub accesses
{
	my ($table) = @_;
	return $node->safe_psql('postgres',
		"SET row_heat.sample_rate = 0; SELECT coalesce(sum(accesses), 0) FROM row_heat.relations WHERE relation = '$table'::regclass"
	);
}

# records(SQL, NUMBER, WHAT[, TABLE]) - test how many accesses a statement records
sub records
{
	my ($sql, $number, $what, $table) = @_;
	my $before = accesses($table // 't');
	my ($rc, $out, $err) = $node->psql('postgres', $sql);
	my $after = accesses($table // 't');
	is($after - $before, $number, $what) || diag "$sql: $out $err";
	return $err;
}

# is_even(TABLE, NUMBER, SCRIPT, WHAT) - run the script so often.  Test that no row is moved, although
# some rows happen to have more recorded accesses than others.
sub is_even
{
	my ($table, $number, $script, $what) = @_;
	my $file = $node->basedir . "/$table.sql";
	append_to_file($file, $script);
	$node->command_ok(
		[
			'pgbench', '--no-vacuum',
			'--protocol=prepared', "--file=$file",
			'--random-seed=1', "--transactions=$number",
			'postgres'
		],
		"$what: $number accesses");
	is( $node->safe_psql(
			'postgres',
			"SELECT accesses, gain FROM row_heat.relations WHERE relation = '$table'::regclass"),
		"$number|f",
		"$what: no gain");
	my ($rc, $out, $err) = $node->psql('postgres', "CALL row_heat.pack('$table')");
	like($err, qr/no row of table "$table" is moved/, "$what: no row is moved");
	return;
}

records('SELECT pad FROM t WHERE id = 1', 1, 'an index scan');
records('SELECT count(pad) FROM t WHERE v BETWEEN 1 AND 10', 10, 'a range of an index');
records('SET enable_indexscan = off; SELECT pad FROM t WHERE id = 1', 1, 'a bitmap scan');
records(q{SELECT pad FROM t WHERE ctid = '(0,1)'}, 1, 'a TID scan');
records(q{SELECT count(pad) FROM t WHERE ctid < '(0,4)'}, 3, 'a scan of a range of TIDs');
records('SET enable_seqscan = on; SELECT count(pad) FROM t', 0, 'a sequential scan');
records('SELECT id FROM t WHERE id = 1', 0, 'an index-only scan');
records('SELECT pad FROM t WHERE id = 1 AND v = 2', 0, 'a row that a filter removes');
records('EXPLAIN SELECT pad FROM t WHERE id = 1', 0, 'EXPLAIN');
records('EXPLAIN ANALYZE SELECT pad FROM t WHERE id = 1', 1, 'EXPLAIN ANALYZE');
records('UPDATE t SET v = v WHERE id = 5', 1, 'UPDATE');
records('DELETE FROM t WHERE id = 999', 1, 'DELETE');
records('SELECT FROM t WHERE id = 7 FOR UPDATE', 1, 'SELECT FOR UPDATE');
records(q{INSERT INTO t VALUES (1, 1, '') ON CONFLICT (id) DO UPDATE SET pad = ''},
	0, 'ON CONFLICT, which has no scan');
records('SELECT 1 / (id - 3) FROM t WHERE id BETWEEN 1 AND 5 AND pad IS NOT NULL',
	2, 'the rows before an error');
records('SET row_heat.sample_rate = 0; SELECT pad FROM t WHERE id = 1', 0, 'no rate');
# The rate is the probability of each statement.  20,000 statements at a rate of 0.1: the standard
# deviation is 42.
my $loop = <<'SQL';
DO $$ BEGIN FOR i IN 1 .. 20000 LOOP PERFORM pad FROM t WHERE id = 1; END LOOP; END $$;
SQL
my $before = accesses('t');
$node->safe_psql('postgres', "SET row_heat.sample_rate = 0.1; $loop");
my $sampled = accesses('t') - $before;
cmp_ok($sampled, '>', 1750, "a rate of 0.1: enough of 20,000 statements are recorded");
cmp_ok($sampled, '<', 2250, "a rate of 0.1: not too many of 20,000 statements are recorded");

# The same for the first statement of a session: 600 sessions at a rate of 0.25, deviation 11
my $script = $node->basedir . '/first.sql';
append_to_file($script, "SELECT pad FROM t WHERE id = 1;\n");
$before = accesses('t');
{
	local $ENV{PGOPTIONS} = '-c row_heat.sample_rate=0.25';
	$node->command_ok([ qw(pgbench -n --connect -t 600 -f), $script, 'postgres' ],
		'600 sessions of one statement');
}
$sampled = accesses('t') - $before;
cmp_ok($sampled, '>', 90, 'first statements of sessions are recorded');
cmp_ok($sampled, '<', 210, 'but not too many of them');
records(<<'SQL', 1, 'a new rate counts from the next statement on');
SET row_heat.sample_rate = 0.000000001;
SELECT pad FROM t WHERE id = 1;
SET row_heat.sample_rate = 1;
SELECT pad FROM t WHERE id = 1;
SQL

records(<<'SQL', 2, 'a cursor that is read in part, and closed by an error');
BEGIN;
DECLARE c CURSOR FOR SELECT pad FROM t ORDER BY id;
FETCH 2 FROM c;
SELECT 1 / 0;
ROLLBACK;
SQL
# COMMIT reads the rows once more, from the beginning.
records(<<'SQL', 4, 'a cursor that outlives its transaction');
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT pad FROM t WHERE id < 4 ORDER BY id;
FETCH 1 FROM c;
COMMIT;
FETCH 1 FROM c;
SQL
records('SELECT (SELECT pad FROM t WHERE t.id = i) FROM generate_series(1, 20) i',
	20, 'a correlated subquery');
records(
	'SELECT a.pad, b.pad FROM t a JOIN LATERAL (SELECT pad FROM t b WHERE b.id = a.v) b ON true WHERE a.id <= 6',
	12,
	'both sides of a nested loop');
records('DO $$ BEGIN FOR i IN 1 .. 5 LOOP PERFORM pad FROM t WHERE id = i; END LOOP; END $$',
	5, 'statements of a function');

# The children of a partitioned table share the state of a subquery.
is( records(
		'SELECT count(*) FROM parted p WHERE p.fk > (SELECT t.v - 1 FROM t WHERE t.id = p.fk AND pad IS NOT NULL)',
		99,
		'a subquery that two partitions share'),
	'',
	'which does not fail');
is( records(
		'UPDATE parted SET fk = fk WHERE id IN (1, 60) RETURNING (SELECT pad FROM t WHERE t.id = parted.fk)',
		2,
		'a subquery of RETURNING'),
	'',
	'which does not fail');
is(accesses('parted_1') > 0 && accesses('parted_2') > 0 ? 'both' : '',
	'both', 'partitions are recorded');

# Parallel workers belong to the transaction of their leader.  If one transaction has used a row
# three times, nothing is known of the next one, so there is no hot share.
my $parallel =
  'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET cpu_tuple_cost = 1; SET min_parallel_index_scan_size = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off';
my $range = 'SELECT count(pad) FROM t WHERE v BETWEEN 100 AND 299';
like(
	$node->safe_psql('postgres', "$parallel; EXPLAIN $range"),
	qr/Gather.*Workers Planned: 2.*Parallel/s,
	'a plan has parallel workers');
records("$parallel; $range", 200, 'parallel workers');
for my $transaction (1 .. 8)
{
	is( $node->safe_psql(
			'postgres',
			"SELECT row_heat.reset(); BEGIN; $range; $parallel; $range; $range; COMMIT; SET row_heat.sample_rate = 0;"
			  . q{SELECT accesses, hot_share FROM row_heat.relations WHERE relation = 't'::regclass}
		),
		"\n200\n200\n200\n600|",
		"the workers of transaction $transaction belong to it");
}

# The accesses of a long statement count before it ends, after each 1000 rows.
is( $node->safe_psql('postgres', <<'SQL'),
SELECT row_heat.reset();
BEGIN;
DECLARE c CURSOR FOR SELECT (SELECT pad FROM t WHERE t.id = i % 900 + 1) FROM generate_series(1, 2000) i;
MOVE 999 FROM c;
SELECT count(*) FROM row_heat.relations WHERE relation = 't'::regclass AND accesses > 0;
MOVE 1 FROM c;
SELECT accesses FROM row_heat.relations WHERE relation = 't'::regclass;
SQL
	"\n0\n1000",
	'a cursor that is still open counts');

# A row keeps its heat when its place changes.
$node->safe_psql('postgres', <<'SQL');
SELECT row_heat.reset();
CREATE TABLE moved (id int PRIMARY KEY, n int, pad text);
INSERT INTO moved SELECT i, 0, repeat('x', 500) FROM generate_series(1, 500) i;
SQL
$node->safe_psql('postgres', 'UPDATE moved SET n = n + 1 WHERE id = 77') for 1 .. 30;
is( $node->safe_psql(
		'postgres',
		q{SELECT accesses, share_1, packed_pages FROM row_heat.relations WHERE relation = 'moved'::regclass}
	),
	'30|1|1',
	'30 updates of one row');
$node->safe_psql('postgres', 'VACUUM FULL moved');
is( $node->safe_psql(
		'postgres',
		q{SELECT accesses, share_1, packed_pages FROM row_heat.relations WHERE relation = 'moved'::regclass}
	),
	'30|1|1',
	'the same after VACUUM FULL');

# The table survives a shutdown, and is lost in a crash.
$node->restart;
is(accesses('moved'), 30, 'a restart keeps the heat');

# The file has the time that is left of the present period.  Let it be 0.
$node->stop;
my $heat_file = $node->data_dir . '/pg_stat/row_heat.stat';
open(my $heat, '+<:raw', $heat_file) or die "$heat_file: $!";
seek($heat, 32, 0);
print $heat "\0" x 8;
close($heat) or die "$heat_file: $!";
$node->start;
is(accesses('moved'), 15, 'one period ends, however long the server has not run');
$node->stop('immediate');
$node->start;
like(accesses('moved'), qr/^(0|15)$/, 'a server that was shut down immediately starts');
$node->safe_psql('postgres', 'UPDATE moved SET n = n + 1 WHERE id = 77') for 1 .. 4;
$node->append_conf('postgresql.conf', 'row_heat.memory = 2MB');
$node->restart;
is(accesses('moved'), 0, 'another size of the table begins anew');

# Heat decays.
$node->safe_psql('postgres', 'UPDATE moved SET n = n + 1 WHERE id = 77') for 1 .. 16;
is(accesses('moved'), 16, '16 accesses');
$node->append_conf('postgresql.conf', 'row_heat.half_life = 1s');
$node->reload;
ok( $node->poll_query_until(
		'postgres',
		q{SELECT coalesce(sum(accesses), 0) BETWEEN 1 AND 8 FROM row_heat.relations WHERE relation = 'moved'::regclass}
	),
	'half of them after a while');
ok( $node->poll_query_until(
		'postgres',
		q{SELECT count(*) = 0 FROM row_heat.relations WHERE relation = 'moved'::regclass}),
	'none at the end');

# Many more rows than entries, all of them equally hot: some rows happen to keep their entries.
$node->append_conf('postgresql.conf', "row_heat.memory = 64kB\nrow_heat.half_life = 1d");
$node->restart;
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE even (id int PRIMARY KEY, pad text);
INSERT INTO even SELECT i, repeat('x', 100) FROM generate_series(1, 20000) i;
VACUUM ANALYZE even;
SQL
is_even(
	'even', 40000,
	"\\set id random(1, 20000)\nSELECT pad FROM even WHERE id = :id;\n",
	'a table with more rows than entries');

# The same, with a row for each entry, but beside many rows that are used once.  A row that happened
# to get its entry early has more heat than one that got it late.
$node->safe_psql('postgres', <<'SQL');
SELECT row_heat.reset();
CREATE TABLE crowded (id int PRIMARY KEY, pad text);
INSERT INTO crowded SELECT i, repeat('x', 50) FROM generate_series(1, 4000) i;
CREATE TABLE others (id int PRIMARY KEY, pad text);
INSERT INTO others SELECT i, '' FROM generate_series(1, 500000) i;
VACUUM ANALYZE crowded, others;
SQL
is_even('crowded', 60000, <<'SQL', 'a table beside rows that are used once');
\set id random(1, 4000)
\set other random(1, 499992)
SELECT pad FROM crowded WHERE id = :id;
SELECT count(pad) FROM others WHERE id BETWEEN :other AND :other + 7;
SQL

# Few accesses: by chance, some pages have a row that looks hot among its neighbours.
$node->append_conf('postgresql.conf', 'row_heat.memory = 1MB');
$node->restart;
for my $few (
	[ 'ten_a_page', 700, 10000, 10000 ],
	[ 'four_a_page', 1900, 4000, 4000 ],
	[ 'rarely', 700, 10000, 1000 ])
{
	my ($table, $width, $rows, $number) = @$few;
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (id int PRIMARY KEY, pad text);
ALTER TABLE $table ALTER pad SET STORAGE EXTERNAL;
INSERT INTO $table SELECT i, repeat('x', $width) FROM generate_series(1, $rows) i;
VACUUM ANALYZE $table;
SQL
	is_even(
		$table, $number,
		"\\set id random(1, $rows)\nSELECT pad FROM $table WHERE id = :id;\n",
		"table $table, with as many accesses as rows or fewer");
}

# A session that preloads the library itself; before 17, there is no memory then.
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = ''
session_preload_libraries = 'row_heat'
row_heat.half_life = 1h
CONF
$node->restart;
my ($rc, $out, $err) = $node->psql('postgres', 'UPDATE moved SET n = n + 1 WHERE id = 77');
is($err, '', 'a session with session_preload_libraries sees no warning');
if ($node->pg_version >= 17)
{
	is(accesses('moved'), 1, 'and records');
}
else
{
	($rc, $out, $err) = $node->psql('postgres', 'TABLE row_heat.relations');
	like(
		$err,
		qr/row_heat has no shared memory.*HINT:  Add row_heat to shared_preload_libraries/s,
		'and the view says why it has no heat');
}
done_testing();
