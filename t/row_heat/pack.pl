# Move rows together by row_heat.pack(), beside clients that change them, with crashes in between.
#
# Check after each crash that the tables have the changes of all acknowledged transactions, and that
# heaps and indexes are valid.  There are three rounds, or 50 with PGDENSE_SOAK.
# PGDENSE_FUZZ_SEED is the random seed, which the test prints.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use IPC::Run ();
use PgDense::Crash;
use PgDense::Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $seed = ($ENV{PGDENSE_FUZZ_SEED} || int(time())) % 1_000_000;
my $rounds = $ENV{PGDENSE_SOAK} ? 50 : 3;
note "PGDENSE_FUZZ_SEED=$seed";
srand($seed);

my $node = PostgreSQL::Test::Cluster->new('pack');
$node->init(extra => [ '--encoding=UTF8', '--locale=C', '--data-checksums' ]);
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'row_heat'
row_heat.sample_rate = 0
autovacuum = on
autovacuum_naptime = 1s
max_connections = 40
fsync = on
wal_consistency_checking = 'heap, btree'
CONF
$node->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION row_heat; CREATE EXTENSION amcheck; CREATE EXTENSION pg_visibility');

# A table with an index of each kind, and its twin
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION btree_gist;
CREATE SCHEMA app;
CREATE TABLE app.items (id int PRIMARY KEY, name text NOT NULL UNIQUE, n int NOT NULL,
  upper_name text GENERATED ALWAYS AS (upper(name)) STORED, tags text[], span int4range, big text,
  EXCLUDE USING gist (n WITH =, span WITH &&)) WITH (fillfactor = 90);
CREATE INDEX ON app.items (lower(name)) WHERE id % 2 = 0;
CREATE INDEX ON app.items USING gin (tags);
CREATE INDEX ON app.items USING brin (n);
CREATE INDEX ON app.items USING hash (name);
ALTER TABLE app.items ALTER big SET STORAGE EXTERNAL;
INSERT INTO app.items (id, name, n, tags, span, big) SELECT i, 'name ' || i, i, ARRAY['a', 'b' || i % 7], int4range(i, i + 1),
  CASE WHEN i % 500 = 0 THEN repeat('big', 2000) ELSE repeat('x', 100 + i % 60) END FROM generate_series(1, 10000) i;
CREATE FUNCTION app.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'a trigger was fired'; END $$;
CREATE TABLE app.refers (id int REFERENCES app.items);
INSERT INTO app.refers SELECT i FROM generate_series(1, 10000, 50) i;
CREATE TABLE twin AS TABLE app.items;
CREATE TRIGGER refuse BEFORE UPDATE OR DELETE ON app.items FOR EACH ROW EXECUTE FUNCTION app.refuse();
ALTER TABLE app.items ENABLE ALWAYS TRIGGER refuse;
VACUUM ANALYZE app.items, twin;
CREATE PROCEDURE app.use_items(times int) LANGUAGE plpgsql AS $$
BEGIN
  FOR j IN 1 .. times LOOP
    FOR i IN 1 .. 100 LOOP
      PERFORM big FROM app.items WHERE id = i * 100;
    END LOOP;
    COMMIT;
  END LOOP;
END $$;
SET enable_seqscan = off;
SET row_heat.sample_rate = 1;
CALL app.use_items(20);
SQL
my $places = q{SELECT count(DISTINCT (ctid::text::point)[0]) FROM app.items WHERE id % 100 = 0};
my $before = $node->safe_psql('postgres', $places);
my ($rc, $out, $err) = $node->psql('postgres', q{CALL row_heat.pack('app.items', max_rows => 5)});
like($err, qr/5 of \d+ rows are moved/, 'max_rows');

# Further calls fill the page that the first one has begun, and move no row twice.
my $new_pages =
  q{SELECT string_agg(DISTINCT ctid::text, ' ') FROM app.items WHERE (ctid::text::point)[0] = }
  . $node->safe_psql('postgres', q{SELECT max((ctid::text::point)[0]) FROM app.items});
my $last = $node->safe_psql('postgres', $new_pages);
for my $call (2 .. 4)
{
	($rc, $out, $err) = $node->psql('postgres', q{CALL row_heat.pack('app.items', max_rows => 5)});
	like($err, qr/5 of \d+ rows are moved/, "max_rows, call $call");
	my $now = $node->safe_psql('postgres', $new_pages);
	is(scalar(grep { index(" $now ", " $_ ") < 0 } split(' ', $last)),
		0, 'rows that were moved before stay where they are');
	is(scalar(split(' ', $now)), 5 * $call, 'the others are in the same page');
	$last = $now;
}
($rc, $out, $err) = $node->psql('postgres', q{CALL row_heat.pack('app.items', 1000000)});
like($err, qr/(\d\d) of \1 rows are moved/, 'all other rows are moved');
# The hot rows take 90 % of the accesses, here 90 of 100 rows.
cmp_ok($node->safe_psql('postgres', $places), '<', $before / 5, 'the hot rows are in few pages');
my $packed = $node->safe_psql('postgres', $places);

# The next call looks at the pages that are not packed yet: it moves hot rows that are left.
($rc, $out, $err) = $node->psql('postgres', q{CALL row_heat.pack('app.items', 1000000)});
like($err, qr/\b(\d) of \1 rows are moved/, 'the next call moves hot rows that are left');
cmp_ok($node->safe_psql('postgres', $places), '<', $packed, 'these rows are in few pages, too');
($rc, $out, $err) = $node->psql('postgres', q{CALL row_heat.pack('app.items', 1000000)});
like($err, qr/hardly take fewer pages/, 'then a call does nothing');

# Ten rows become hot, beside those that are packed.  They are moved as soon as they take more than
# 1 % of the accesses.
my $use = 'SET row_heat.sample_rate = 1; SET enable_seqscan = off;';
my $heat_ten =
  'SELECT count(big) FROM app.items WHERE id = ANY (ARRAY(SELECT i * 900 + 7 FROM generate_series(1, 10) i));';
my $ten_places = q{SELECT count(DISTINCT (ctid::text::point)[0]) FROM app.items WHERE id % 900 = 7};
my $ids = $node->safe_psql('postgres', <<'SQL');
SELECT string_agg(id::text, ',')
  FROM (SELECT id, count(*) OVER (PARTITION BY (ctid::text::point)[0]) AS hot FROM app.items WHERE id % 100 = 0) i
  WHERE hot > 1
SQL
$node->safe_psql('postgres',
	$use . "SELECT count(big) FROM app.items WHERE id = ANY ('{$ids}');" x 100);
$node->safe_psql('postgres', $use . $heat_ten x 4);
($rc, $out, $err) = $node->psql('postgres', q{CALL row_heat.pack('app.items', 1000000)});
like($err, qr/hardly take fewer pages/, 'ten rows with 0.3 % of the accesses stay');
$node->safe_psql('postgres', $use . $heat_ten x 40);
($rc, $out, $err) = $node->psql('postgres', q{CALL row_heat.pack('app.items', 1000000)});
like($err, qr/\b(\d+) of \1 rows are moved/, 'ten rows with 3 % of the accesses are moved');
cmp_ok($node->safe_psql('postgres', $ten_places), '<=', 4, 'they are in few pages now');

# With cached_only, only rows that are in shared buffers are moved: here those of ten pages that are
# read after a restart.  The call itself reads the page of the last row.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE cold (id int PRIMARY KEY, pad text);
INSERT INTO cold SELECT i, repeat('x', 100) FROM generate_series(1, 10000) i;
VACUUM ANALYZE cold;
SQL
my $heat_hundred =
  'SELECT count(pad) FROM cold WHERE id = ANY (ARRAY(SELECT i * 100 FROM generate_series(1, 100) i));';
$node->safe_psql('postgres', $use . $heat_hundred x 20);
$node->restart;
my $call = q{CALL row_heat.pack('cold', 1000000, cached_only => true)};
($rc, $out, $err) = $node->psql('postgres', $call);
like($err, qr/\b[01] of \d\d rows are moved/, 'cached_only: rows that are not in memory stay');
$node->safe_psql('postgres',
	'SET enable_seqscan = off; SELECT pad FROM cold WHERE id = ANY (ARRAY(SELECT i * 500 FROM generate_series(1, 10) i))'
);
($rc, $out, $err) = $node->psql('postgres', $call);
my ($cached) = $err =~ /\b(\d+) of \d\d rows are moved/;
cmp_ok($cached // 0, '>=', 5, 'cached_only: rows that are in memory are moved');
cmp_ok($cached // 0, '<=', 12, 'cached_only: and no others');
($rc, $out, $err) = $node->psql('postgres', q{CALL row_heat.pack('cold', 1000000)});
like($err, qr/\b[78]\d of \d\d rows are moved/, 'without cached_only, the others are moved');

# same(WHAT) - test that the table is as its twin, by all its indexes
sub same
{
	my ($what) = @_;
	is( $node->safe_psql(
			'postgres',
			'(TABLE app.items EXCEPT ALL TABLE twin) UNION ALL (TABLE twin EXCEPT ALL TABLE app.items)'
		),
		'',
		"$what: the rows are the same");
	for my $by (
		'id = id.id',
		'name = id.name',
		'lower(name) = lower(id.name) AND items.id % 2 = 0',
		'n = id.n AND span && id.span')
	{
		is( $node->safe_psql(
				'postgres',
				"SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;"
				  . "SELECT count(*) FROM twin id JOIN LATERAL (SELECT FROM app.items WHERE $by) i ON true"
				  . ($by =~ /% 2/ ? ' WHERE id.id % 2 = 0' : '')),
			$by =~ /% 2/ ? 5000 : 10000,
			"$what: each row is found by $by");
	}
	is( $node->safe_psql(
			'postgres',
			q{SET enable_seqscan = off; SELECT count(*) FROM app.items WHERE tags @> '{a}'}),
		10000,
		"$what: each row is found by its tags");
	is( $node->safe_psql(
			'postgres',
			q{SET enable_seqscan = off; SELECT count(*) FROM app.items WHERE n BETWEEN 1 AND 10000}
		),
		10000,
		"$what: each row is found by the BRIN index");
	is( $node->safe_psql(
			'postgres',
			q{SELECT bt_index_check(indexrelid, true) FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam WHERE indrelid = 'app.items'::regclass AND amname = 'btree'; SELECT * FROM verify_heapam('app.items')}
		),
		"\n\n",
		"$what: heap and indexes are valid");
}
same('moved');
$node->safe_psql('postgres', 'VACUUM app.items');
same('vacuumed');

# Calls that are refused
for (
	[ 'BEGIN; %s', qr/cannot run inside a transaction block/, 'in a transaction block' ],
	[ 'SET default_transaction_read_only = on; %s', qr/read-only transaction/, 'read-only' ],
	[
		'CREATE ROLE other; GRANT SELECT ON app.items TO other; GRANT USAGE ON SCHEMA app TO other; SET ROLE other; %s',
		qr/must be owner of table items/,
		'another role'
	],
	[
		q{ALTER TABLE app.items REPLICA IDENTITY NOTHING; CREATE PUBLICATION all_tables FOR ALL TABLES; %s},
		qr/cannot update table "items" because it does not have a replica identity/,
		'published without a replica identity'
	],
	[
		q{ALTER TABLE app.items REPLICA IDENTITY DEFAULT; %s},
		qr/hardly take fewer pages/,
		'published, but wal_level is not logical'
	])
{
	my ($sql, $pattern, $what) = @$_;
	($rc, $out, $err) =
	  $node->psql('postgres', sprintf($sql, q{CALL row_heat.pack('app.items')}));
	like($err, $pattern, $what);
}
$node->safe_psql('postgres', 'DROP PUBLICATION all_tables');
for (
	[ 'CREATE TABLE plain (a int)', 'plain', qr/has no primary key/ ],
	[
		'CREATE TEMP TABLE temporary (a int PRIMARY KEY)', 'temporary',
		qr/is not a permanent table/
	],
	[
		'CREATE TABLE parted (a int PRIMARY KEY) PARTITION BY RANGE (a)',
		'parted', qr/is not a permanent table/
	],
	[ 'CREATE TABLE unused (a int PRIMARY KEY)', 'unused', qr/no heat is recorded/ ],
	[ '', 'pg_class', qr/is not a permanent table/ ],
	[ '', '1', qr/relation with OID 1 does not exist/ ])
{
	my ($sql, $table, $pattern) = @$_;
	($rc, $out, $err) = $node->psql('postgres', "$sql;\nCALL row_heat.pack('$table')");
	like($err, $pattern, "table $table");
}
for (
	[ 'NULL', qr/must not be null/ ],
	[ q{'app.items', 0}, qr/"rows_per_second" must be at least 1/ ],
	[ q{'app.items', NULL}, qr/"rows_per_second" must be at least 1/ ])
{
	my ($arguments, $pattern) = @$_;
	($rc, $out, $err) = $node->psql('postgres', "CALL row_heat.pack($arguments)");
	like($err, $pattern, "pack($arguments)");
}

# A row that another session has locked stays, and nobody waits.
$node->safe_psql('postgres',
	'SET enable_seqscan = off; SET row_heat.sample_rate = 1; SELECT row_heat.reset(); CALL app.use_items(20); CLUSTER app.items USING items_pkey; CALL app.use_items(1);'
	  . 'SELECT big FROM app.items WHERE id IN (100, 200, 300);' x 20);
my $locker = $node->background_psql('postgres');
$locker->query_safe(
	'BEGIN; SELECT FROM app.items WHERE id IN (100, 200) FOR UPDATE; SELECT FROM app.items WHERE id = 300 FOR KEY SHARE'
);
($rc, $out, $err) = $node->psql('postgres', q{CALL row_heat.pack('app.items', 1000000)});
my ($moved, $all) = $err =~ /(\d+) of (\d+) rows are moved/;
is(($all // 0) - ($moved // 0), 2, 'two rows are locked') || diag $err;
$locker->query_safe('COMMIT');
$locker->quit;
same('beside a lock');

# heat(TABLE, ID...) - read these rows of the table by their key, 20 times each
sub heat
{
	my ($table, @ids) = @_;
	$node->safe_psql('postgres',
		'SET enable_seqscan = off; SET row_heat.sample_rate = 1;'
		  . join('', map { "SELECT pad FROM $table WHERE id = $_;" } @ids))
	  for 1 .. 20;
	return;
}

# Serializable transactions find their conflicts: T1 reads a row, pack() moves it, T2 changes it, and
# T1 changes a row that T2 has read and that is not moved.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE balance (id int PRIMARY KEY, amount int NOT NULL, pad text);
INSERT INTO balance SELECT i, 100, repeat('x', 700) FROM generate_series(1, 200) i;
VACUUM ANALYZE balance;
SQL
heat('balance', 50, 150);
my @session = map { $node->background_psql('postgres', on_error_stop => 0) } 0 .. 1;
$_->query('SET enable_seqscan = off') for @session;
$session[0]->query(
	'BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT sum(amount) FROM balance WHERE id IN (51, 150)');
($rc, $out, $err) = $node->psql('postgres', q{CALL row_heat.pack('balance', 1000000)});
like($err, qr/2 of 2 rows are moved/, 'both rows are moved');
$session[1]->query(
	'BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT sum(amount) FROM balance WHERE id IN (51, 150); UPDATE balance SET amount = amount - 150 WHERE id = 150; COMMIT'
);
$session[0]->query('UPDATE balance SET amount = amount - 150 WHERE id = 51; COMMIT');
like(
	$session[0]{stderr} . $session[1]{stderr},
	qr/could not serialize access/,
	'one of two transactions fails');
is($node->safe_psql('postgres', 'SELECT sum(amount) > 0 FROM balance WHERE id IN (51, 150)'),
	't', 'so both have not taken the money');
$_->quit for @session;

# A call that fails keeps the places of the rows, so that the next call finds them.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION fails(id int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF id = 20 AND current_setting('app.fail', true) = 'on' THEN RAISE 'the index refuses row 20'; END IF;
  RETURN id;
END $$;
CREATE TABLE fragile (id int PRIMARY KEY, pad text);
INSERT INTO fragile SELECT i, repeat('x', 700) FROM generate_series(1, 200) i;
CREATE INDEX ON fragile (fails(id));
VACUUM ANALYZE fragile;
SQL
heat('fragile', 100, 100, 140, 140, 180, 180, 20);
($rc, $out, $err) =
  $node->psql('postgres', q{SET app.fail = on; CALL row_heat.pack('fragile', 1000000)});
like($err, qr/the index refuses row 20/, 'the last row fails');
($rc, $out, $err) = $node->psql('postgres', q{CALL row_heat.pack('fragile', 1000000)});
like($err, qr/4 of 4 rows are moved/, 'the next call moves all rows');

# READ COMMITTED follows a row that was moved, and REPEATABLE READ does not.
for my $case (
	[ 'READ COMMITTED', qr/^$/, 'changes' ],
	[ 'REPEATABLE READ', qr/could not serialize access due to concurrent update/, 'cannot change' ])
{
	my ($level, $pattern, $what) = @$case;
	# Rows of a new table, since those of packed pages stay.
	$node->safe_psql('postgres', <<'SQL');
DROP TABLE IF EXISTS level;
CREATE TABLE level (id int PRIMARY KEY, n int NOT NULL, pad text);
INSERT INTO level SELECT i, 0, repeat('x', 700) FROM generate_series(1, 200) i;
VACUUM ANALYZE level;
SQL
	heat('level', 50, 150);
	my $client = $node->background_psql('postgres', on_error_stop => 0);
	$client->query("BEGIN ISOLATION LEVEL $level; SELECT n FROM level WHERE id = 50");
	($rc, $out, $err) = $node->psql('postgres', q{CALL row_heat.pack('level', 1000000)});
	like($err, qr/2 of 2 rows are moved/, "$level: rows are moved");
	is($client->query('SELECT n FROM level WHERE id = 50'),
		'0', "$level: a client reads a row that was moved");
	$client->query('UPDATE level SET n = n + 1 WHERE id = 50');
	like($client->{stderr}, $pattern, "$level: it $what the row");
	$client->quit;
}

# Clients change rows, others read few of them often, and rows are moved without end.  In each round,
# other rows are hot, or later rounds would have nothing to move.
my $ledger = PgDense::Ledger->new($node);
my $hot_rows = $node->basedir . '/hot_rows.sql';
append_to_file($hot_rows, <<'SQL');
\set r random(1, 60) + 60 * :round
\set k (:r * 7919) % 2000 + 1
\set c random(0, 3)
SELECT v FROM scattered WHERE c = :c AND k = :k;
SELECT v FROM hot WHERE c = :c AND k = :k;
SQL
my $all_moved = 0;
for my $round (1 .. $rounds)
{
	my $errors = '';
	my $moves = '';
	my @read = (
		'pgbench', '--no-vacuum', '--protocol=prepared', "--file=$hot_rows",
		"--define=round=$round",
		$node->connstr('postgres') . " options='-c row_heat.sample_rate=1'");
	command_ok([ @read, '--transactions=4000' ], "round $round: rows get hot");
	$ledger->start;
	my $reader = IPC::Run::start([ @read, '--time=36000' ], '>', '/dev/null', '2>', \$errors);
	# Call the procedure again and again, so that the server is killed during a call.
	my $mover;
	my $until = time() + 2 + rand(2);
	while (time() < $until || !$mover->pumpable)
	{
		if (!$mover || !$mover->pumpable)
		{
			$mover->finish if $mover;
			my $table = rand() < 0.5 ? 'scattered' : 'hot';
			$mover = IPC::Run::start(
				[
					'psql', '-X', '-c',
					"CALL row_heat.pack('$table', 20000)",
					$node->connstr('postgres')
				],
				'>',
				'/dev/null',
				'2>>',
				\$moves);
		}
		$_->pump_nb for $reader, $mover;
		usleep(5_000);
	}
	kill_all($node);
	$ledger->finish;
	$_->finish for $reader, $mover;
	$all_moved += $_ for $moves =~ /(\d+) of \d+ rows are moved/g;
	note $moves;
	crash_in_recovery($node, rand(0.1)) if rand() < 0.5;
	$node->start(fail_ok => 1) or die "seed $seed: round $round: recovery failed";
	$ledger->check("round $round") or die "seed $seed: nothing can be said of later rounds";
}
cmp_ok($all_moved, '>', 50 * $rounds, 'rows were moved') || diag $all_moved;
same('after crashes');
$node->stop;
done_testing();
