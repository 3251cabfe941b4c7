# Use aligned B-tree indexes in every way, beside indexes with the stock alignment on the same
# tables: scans of all kinds, also over pages with as many entries as possible; builds of all kinds;
# constraints; deletion; and DDL that sets the storage parameter or the default.  The results must
# be the same as with the stock alignment or without an index.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::IndexAlign;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('index_align', 'default_index_item_alignment');
my $node = PostgreSQL::Test::Cluster->new('scan');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
autovacuum = off
default_index_item_alignment = auto
max_worker_processes = 8
max_parallel_workers = 8
shared_buffers = 64MB
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION amcheck;
CREATE EXTENSION pageinspect;
CREATE FUNCTION alignment(i regclass) RETURNS int LANGUAGE sql AS $$ SELECT 8 >> ((flags & 768) / 256) FROM page_header(get_raw_page(i::text, 0)) $$;
CREATE FUNCTION sound(i regclass) RETURNS bool LANGUAGE sql AS $$ SELECT bt_index_parent_check(i, true, true) IS NOT NULL $$;
SQL
my $index_on =
  "SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off; SET enable_incremental_sort = off;\n";
my $index_off =
  "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;\n";

sub sql { return $node->safe_psql('postgres', join ";\n", @_); }

# same(NAME, QUERY, PATTERN) - check that QUERY has the same result with an index as without an
# index, and that its plan matches PATTERN
sub same
{
	my ($name, $query, $pattern) = @_;

	like(sql($index_on . "EXPLAIN (COSTS OFF) $query"), $pattern, "$name: plan");
	my $found = sql($index_on . $query);
	ok($found ne '', "$name: the query returns rows");
	is( $found,
		sql($index_off . $query),
		"$name: the index gives the same rows as a sequential scan");
	return;
}

# A page holds the most entries if they are aligned to 2 bytes and have a key of two
# bytes.  Index-only scans copy the entries out of the page.
sql('CREATE TABLE full_pages (k int2)',
	'INSERT INTO full_pages SELECT i - 20000 FROM generate_series(1, 40000) i',
	'CREATE UNIQUE INDEX full_pages_k ON full_pages (k) WITH (fillfactor = 100)',
	'VACUUM ANALYZE full_pages');
is(sql(q{SELECT alignment('full_pages_k')}), '2', 'an index of smallint is aligned to 2 bytes');
cmp_ok(sql('SELECT max(live_items) FROM bt_multi_page_stats(\'full_pages_k\', 1, -1)'),
	'>', 580, 'CREATE INDEX fills pages');
# An entry takes 10 bytes and a line pointer.  Inserts fill one page without a high key
# to the last byte.
sql('CREATE TABLE one_page (k int2 UNIQUE)',
	'INSERT INTO one_page SELECT i * 7919 % 32749 FROM generate_series(1, 582) i',
	'VACUUM ANALYZE one_page');
is( sql(q{SELECT blkno, live_items, free_size, btpo_level FROM bt_page_stats('one_page_k_key', 1)}),
	'1|582|0|0', 'one page holds as many entries as fit');
for my $order ('k', 'k DESC')
{
	same(
		"a full page, ORDER BY $order",
		"SELECT md5(string_agg(k::text, ',')), count(*) FROM (SELECT k FROM one_page ORDER BY $order) o",
		qr/Index Only Scan/);
}
cmp_ok(
	sql(q{SELECT max(live_items) FROM bt_multi_page_stats('full_pages_k', 1, -1) WHERE type = 'l' AND btpo_next <> 0}
	),
	'>=', 581,
	'inserts fill all leaf pages');
same(
	'index-only scan forward',
	"SELECT md5(string_agg(k::text, ',')), count(*) FROM (SELECT k FROM full_pages ORDER BY k) o",
	qr/Index Only Scan using/);
same(
	'index-only scan backward',
	"SELECT md5(string_agg(k::text, ',')), count(*) FROM (SELECT k FROM full_pages ORDER BY k DESC) o",
	qr/Index Only Scan Backward using/);
same(
	'index-only scan of a range',
	'SELECT count(*), min(k), max(k) FROM full_pages WHERE k BETWEEN -500 AND 700',
	qr/Index Only Scan using/);
same(
	'index-only scan of an array',
	'SELECT count(*), sum(k) FROM full_pages WHERE k = ANY (ARRAY(SELECT (i * 7)::int2 FROM generate_series(-1000, 1000) i))',
	qr/Index Only Scan using/);
same(
	'bitmap scan',
	'SELECT count(*), sum(k) FROM full_pages WHERE k < 100 OR k > 19000',
	qr/Index Only Scan|Bitmap/);
is( sql("BEGIN; $index_on DECLARE c SCROLL CURSOR FOR SELECT k FROM full_pages ORDER BY k; MOVE 1500 IN c; FETCH 2 FROM c; MOVE BACKWARD 1000 IN c; FETCH BACKWARD 2 FROM c; MOVE LAST IN c; FETCH PRIOR FROM c; MOVE ABSOLUTE 600 IN c; FETCH FROM c; COMMIT"
	),
	"-18499\n-18498\n-19499\n-19500\n19999\n-19399",
	'a cursor fetches forward and backward');
# First roll back an insert.  Then insert rows that split pages, which are full to the last byte.
sql("INSERT INTO full_pages SELECT i FROM generate_series(20001, 32767) i");
is(sql(q{SELECT sound('full_pages_k')}), 't', 'full pages are sound');
$node->psql('postgres',
	'INSERT INTO full_pages VALUES (-32768), (-32767); INSERT INTO full_pages SELECT k FROM full_pages WHERE k = 5'
);
is(sql(q{SELECT sound('full_pages_k')}, 'SELECT count(*) FROM full_pages'),
	"t\n52769", 'full pages are sound after inserts');

# A merge join returns to a marked position in the inner index.
sql('CREATE TABLE outer_side (k int2)',
	'CREATE TABLE inner_side (k int2, v text)',
	'INSERT INTO outer_side SELECT i / 4 FROM generate_series(1, 8000) i',
	q{INSERT INTO inner_side SELECT i / 30, 'v' || i FROM generate_series(1, 40000) i},
	'CREATE INDEX ON outer_side (k)',
	'CREATE INDEX ON inner_side (k)',
	'VACUUM ANALYZE');
is(sql(q{SELECT alignment('inner_side_k_idx')}),
	'2', 'the inner index of the merge join is aligned to 2 bytes');
my $join =
  "SET enable_hashjoin = off; SET enable_nestloop = off; SET enable_material = off; SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off;\n";
like(
	sql("$join EXPLAIN (COSTS OFF) SELECT count(*), sum(o.k::int8 * i.k) FROM outer_side o JOIN inner_side i USING (k)"
	),
	qr/Merge Join.*Index Only Scan.*Index Only Scan/s,
	'the plan is a merge join of two index-only scans');
is( sql("$join SELECT count(*), sum(o.k::int8 * i.k) FROM outer_side o JOIN inner_side i USING (k)"
	),
	sql("SET enable_indexonlyscan = off; SET enable_indexscan = off; SET enable_mergejoin = off; SELECT count(*), sum(o.k::int8 * i.k) FROM outer_side o JOIN inner_side i USING (k)"
	),
	'merge join of two index-only scans: same as a hash join');

# Run the same scans on tables with an aligned and a stock index on the same keys.
my @shapes = (
	[ 'int2', 'int2', 'i % 30000', 2 ],
	[ 'int4', 'int4', 'i * 7919 % 100003', 4 ],
	[ 'int8', 'int8', 'i * 7919 % 100003', 8 ],
	[ 'duplicates of int2', 'int2', 'i % 50', 2 ],
	[ 'duplicates of int4', 'int4', 'i % 50', 4 ],
	[ 'bool', 'bool', 'i % 2 = 0', 2 ],
	[ 'char', '"char"', 'chr(65 + i % 26)::"char"', 2 ],
	[ 'name', 'name', q{'name ' || i % 5000}, 2 ],
	[ 'text', 'text', q{'text ' || i % 5000}, 4 ],
	[ 'duplicates of text', 'text', q{repeat('t', i % 40)}, 4 ],
	[ 'uuid', 'uuid', q{md5(i::text)::uuid}, 2 ],
	[ 'numeric', 'numeric', 'i / 7.0', 4 ],
	[ 'float4', 'float4', 'i / 7.0', 4 ],
	[ 'float8', 'float8', 'i / 7.0', 8 ],
	[ 'date', 'date', q{'2000-01-01'::date + i % 3000}, 4 ],
	[ 'timestamptz', 'timestamptz', q{'2000-01-01'::timestamptz + i * interval '1 min'}, 8 ],
	[ 'interval', 'interval', q{i * interval '1 min'}, 8 ],
	[ 'macaddr', 'macaddr', q{(lpad(to_hex(i), 12, '0'))::macaddr}, 4 ],
	[ 'inet', 'inet', q{'10.0.0.0'::inet + i}, 4 ],
	[ 'NULLs', 'int4', 'CASE WHEN i % 3 > 0 THEN i END', 4 ],
	[ 'NULLs of int2', 'int2', 'CASE WHEN i % 5 = 0 THEN i % 1000 END', 2 ],
	[ 'int[]', 'int[]', 'ARRAY[i % 100, i]', 4 ],
	[ 'int8[]', 'int8[]', 'ARRAY[i % 100, i]', 8 ],
	[ 'bpchar', 'char(7)', q{(i % 5000)::text}, 4 ]);
for my $shape (@shapes)
{
	my ($name, $type, $value, $alignment) = @$shape;

	sql('DROP TABLE IF EXISTS a, m',
		map {
			(   "CREATE TABLE $_->[0] (id int, k $type)",
				"CREATE INDEX $_->[0]_k ON $_->[0] (k) WITH (item_alignment = $_->[1])",
				"INSERT INTO $_->[0] SELECT i, $value FROM generate_series(1, 5000) i",
				"UPDATE $_->[0] SET k = (SELECT k FROM $_->[0] WHERE id = 1) WHERE id % 50 = 0",
				"DELETE FROM $_->[0] WHERE id % 11 = 0 OR id BETWEEN 3000 AND 3500",
				"VACUUM $_->[0]",
				"INSERT INTO $_->[0] SELECT i, $value FROM generate_series(3200, 6000) i",
				"CREATE INDEX $_->[0]_built ON $_->[0] (k) WITH (item_alignment = $_->[1])")
		}[ 'a', 'auto' ],
		[ 'm', 'max' ]);
	is( sql(q{SELECT alignment('a_k'), alignment('a_built'), alignment('m_k'), alignment('m_built')}
		),
		"$alignment|$alignment|8|8",
		"$name: alignments");
	is(sql(q{SELECT sound('a_k'), sound('a_built'), sound('m_k'), sound('m_built')}),
		't|t|t|t', "$name: sound");
	is( sql(q{SELECT pg_relation_size('a_built') <= pg_relation_size('m_built'), pg_relation_size('a_k') <= pg_relation_size('m_k') * 1.05}
		),
		't|t',
		"$name: no larger");
	sql('VACUUM ANALYZE a', 'VACUUM ANALYZE m');
	for my $order ('k', 'k DESC')
	{
		my @found = map {
			sql($index_on
				  . "SELECT count(*), count(k), md5(string_agg(k::text, ',')) FROM (SELECT k FROM $_ ORDER BY $order) o"
			)
		} 'a', 'm';
		is($found[0], $found[1], "$name: ORDER BY $order: same as with max");
	}
	my $lookup =
	  "SELECT count(*), md5(string_agg(id::text, ',' ORDER BY id)) FROM a JOIN (SELECT DISTINCT k FROM a) k USING (k)";
	is( sql("$index_on SET enable_hashjoin = off; SET enable_mergejoin = off; $lookup"),
		sql("$index_off $lookup"),
		"$name: lookups of all keys");
	sql('DROP INDEX a_built, m_built');
}

# Test INCLUDE, many columns, expressions, predicates and wide keys.
sql(<<'SQL');
CREATE TABLE wide (id int, s int2, t text, b int8, f bool, v text STORAGE PLAIN);
INSERT INTO wide SELECT i, i % 100, 'text ' || i, i, i % 3 = 0, lpad(i::text, 10 + i * 37 % 2650, 'v') FROM generate_series(1, 3000) i;
CREATE INDEX wide_include ON wide (s) INCLUDE (id, f);
CREATE INDEX wide_include_8 ON wide (s) INCLUDE (b);
CREATE INDEX wide_include_2 ON wide (f) INCLUDE (s);
CREATE UNIQUE INDEX wide_include_u ON wide (id) INCLUDE (t);
CREATE INDEX wide_expression ON wide ((id::int2), (s + 1)) ;
CREATE INDEX wide_expression_2 ON wide ((id::int2)) WHERE f;
CREATE INDEX wide_lower ON wide (lower(t)) WHERE s < 50;
CREATE INDEX wide_v ON wide (v);
CREATE INDEX wide_desc ON wide (s DESC NULLS FIRST, f, id DESC);
VACUUM ANALYZE wide;
SQL
is( sql(q{SELECT string_agg(c || ' ' || alignment(c::regclass), ', ' ORDER BY c) FROM (VALUES ('wide_include'), ('wide_include_8'), ('wide_include_2'), ('wide_include_u'), ('wide_expression'), ('wide_expression_2'), ('wide_lower'), ('wide_v'), ('wide_desc')) i (c)}
	),
	'wide_desc 4, wide_expression 4, wide_expression_2 2, wide_include 4, wide_include_2 2, wide_include_8 8, wide_include_u 4, wide_lower 4, wide_v 4',
	'alignments of all columns');
sql('DROP INDEX wide_desc');
same(
	'INCLUDE columns',
	q{SELECT count(*), sum(s), sum(id), sum(id) FILTER (WHERE f) FROM wide WHERE s BETWEEN 10 AND 20},
	qr/Index Only Scan using wide_include/);
same(
	'expression',
	'SELECT count(*), sum(b) FROM wide WHERE id::int2 BETWEEN 5::int2 AND 500::int2 AND s + 1 > 20',
	qr/wide_expression/);
same(
	'partial index',
	'SELECT count(*), sum(b) FROM wide WHERE id::int2 BETWEEN 5::int2 AND 500::int2 AND f',
	qr/wide_expression_2|wide_expression/);
same(
	'partial index on an expression',
	q{SELECT count(*), sum(s) FROM wide WHERE lower(t) >= 'text 5' AND s < 50},
	qr/wide_lower/);
same('keys of a third of a page',
	q{SELECT md5(string_agg(v, ',')), count(*) FROM (SELECT v FROM wide ORDER BY v) o}, qr/wide_v/);
is(sql(q{SELECT bool_and(sound(indexrelid)) FROM pg_index WHERE indrelid = 'wide'::regclass}),
	't', 'all are sound');

# The largest allowed key must be the same as on the stock server.
for my $case ([ 'text', q{repeat('x', %d)} ], [ '"char", v text', q{'c', repeat('x', %d)} ])
{
	my ($columns, $value) = @$case;
	my %largest;
	for my $alignment ('max', 'auto')
	{
		sql('DROP TABLE IF EXISTS large',
			"CREATE TABLE large (k $columns)",
			'ALTER TABLE large ALTER ' . ($columns =~ /v text/ ? 'v' : 'k') . ' SET STORAGE PLAIN',
			'CREATE INDEX large_k ON large (k'
			  . ($columns =~ /v text/ ? ', v' : '')
			  . ") WITH (item_alignment = $alignment)");
		for my $size (2640 .. 2720)
		{
			my ($code, $out, $err) =
			  run_sql($node, 'INSERT INTO large VALUES (' . sprintf($value, $size) . ')');
			$largest{$alignment} = $size if $err eq '';
			like(
				$err,
				qr/^ERROR:  54000: index row size \d+ exceeds btree version 4 maximum 2704 for index "large_k"|^psql:.*ERROR:  54000: index row size/,
				"$columns, $alignment: a key of $size bytes is refused"),
			  last
			  if $err ne '';
		}
		is(sql(q{SELECT sound('large_k'), count(*) > 10 FROM large}),
			't|t', "$columns, $alignment: largest keys are sound");
	}
	cmp_ok($largest{auto}, '>=', $largest{max},
		"$columns: a key that fits with max fits with auto");
	note "$columns: largest $largest{auto}, with max $largest{max}";
}

# Test an index of 32 columns.
my @names = map { "c$_" } 1 .. 32;
sql('CREATE TABLE columns ('
	  . join(', ', map { "$_ " . ($_ =~ /[048]$/ ? 'int4' : 'int2') } @names) . ')',
	'INSERT INTO columns SELECT '
	  . join(', ', map { "i % (5 + $_)" } 1 .. 32)
	  . ' FROM generate_series(1, 3000) i',
	'INSERT INTO columns (c1, c5, c32) SELECT i % 5, i, i FROM generate_series(1, 1000) i',
	'CREATE INDEX columns_k ON columns (' . join(', ', @names) . ')',
	'VACUUM ANALYZE columns');
is(sql(q{SELECT alignment('columns_k'), sound('columns_k')}), '4|t', '32 columns');
same(
	'32 columns',
	'SELECT md5(string_agg(c::text, \',\')), count(*) FROM (SELECT '
	  . join(', ', @names)
	  . ' FROM columns ORDER BY '
	  . join(', ', @names) . ') c',
	qr/Index Only Scan using columns_k/);

# Build indexes serially, in parallel, concurrently, and by inserts.
sql('CREATE TABLE built (id int, s int2, v text)',
	q{INSERT INTO built SELECT i, i % 3000, 'text ' || i % 9000 FROM generate_series(1, 60000) i});
for my $columns ('id', 's', 'v', 's, id')
{
	my %size;
	my ($parallel, $concurrent) = (
		'SET max_parallel_maintenance_workers = 2; SET min_parallel_table_scan_size = 0; SET maintenance_work_mem = \'64MB\'',
		'CONCURRENTLY');
	sql('SET max_parallel_maintenance_workers = 0',
		"CREATE INDEX built_serial ON built ($columns)");
	my (undef, undef, $debug) = $node->psql('postgres',
		"SET client_min_messages = debug1; $parallel; CREATE INDEX built_parallel ON built ($columns)"
	);
	like(
		$debug,
		qr/building index "built_parallel" on table "built" with request for [12] parallel workers/,
		"$columns: a parallel build");
	sql("CREATE INDEX CONCURRENTLY built_concurrent ON built ($columns)");
	sql("CREATE INDEX built_again ON built ($columns)");
	sql('REINDEX INDEX CONCURRENTLY built_again');
	$size{$_} = sql("SELECT pg_relation_size('built_$_'), alignment('built_$_'), sound('built_$_')")
	  for 'serial', 'parallel', 'concurrent', 'again';
	is($size{$_}, $size{serial}, "$columns: $_ as serial") for 'parallel', 'concurrent', 'again';
	like($size{serial}, $columns eq 's' ? qr/\|2\|t$/ : qr/\|4\|t$/, "$columns: alignment");
	# Check that the entries of the indexes are the same as well.
	my $entries =
	  q{SELECT md5(string_agg(data, ',' ORDER BY blkno, itemoffset)) FROM (SELECT generate_series(1, pg_relation_size('%1$s')::int / 8192 - 1) AS blkno) b, LATERAL bt_page_items('%1$s', blkno)};
	is( sql(sprintf $entries, 'built_parallel'),
		sql(sprintf $entries, 'built_serial'),
		"$columns: the same entries, built in parallel");
	sql('DROP INDEX built_serial, built_parallel, built_concurrent, built_again');
}
my (undef, undef, $err) =
  run_sql($node, 'CREATE UNIQUE INDEX CONCURRENTLY built_failed ON built (s)');
like(
	$err,
	qr/23505: could not create unique index/,
	'CREATE UNIQUE INDEX CONCURRENTLY of duplicates');
is(sql(q{SELECT indisvalid FROM pg_index WHERE indexrelid = 'built_failed'::regclass}),
	'f', 'leaves an invalid index');
sql('DELETE FROM built WHERE id > 2999', 'REINDEX INDEX CONCURRENTLY built_failed');
is( sql(q{SELECT indisvalid, alignment('built_failed'), sound('built_failed') FROM pg_index WHERE indexrelid = 'built_failed'::regclass}
	),
	't|2|t',
	'REINDEX CONCURRENTLY repairs the invalid index');

# constraints
sql(<<'SQL');
CREATE TABLE keys (id int PRIMARY KEY, s int2 UNIQUE NULLS NOT DISTINCT, d int UNIQUE, v text);
CREATE TABLE deferred (d int UNIQUE DEFERRABLE INITIALLY DEFERRED);
INSERT INTO deferred SELECT generate_series(1, 1000);
INSERT INTO keys SELECT i, i, i, 'row ' || i FROM generate_series(1, 2000) i;
CREATE TABLE refers (id int2 REFERENCES keys ON DELETE CASCADE);
INSERT INTO refers SELECT i FROM generate_series(1, 2000) i;
CREATE TABLE excludes (id int, EXCLUDE USING btree (id WITH =));
INSERT INTO excludes SELECT i FROM generate_series(1, 1000) i;
SQL
is( sql(q{SELECT string_agg(indexrelid::regclass || ' ' || alignment(indexrelid), ', ' ORDER BY indexrelid::regclass::text) FROM pg_index WHERE indrelid IN ('keys'::regclass, 'excludes'::regclass)}
	),
	'excludes_id_excl 4, keys_d_key 4, keys_pkey 4, keys_s_key 2',
	'indexes of constraints');
for my $case (
	[ "INSERT INTO keys VALUES (1000, 3000, 3000)", '23505: .*"keys_pkey"' ],
	[ "INSERT INTO keys VALUES (3000, 1000, 3000)", '23505: .*"keys_s_key"' ],
	[ "INSERT INTO keys VALUES (3000, 3000, 1000)", '23505: .*"keys_d_key"' ],
	[ 'INSERT INTO excludes VALUES (77)', '23P01: .*"excludes_id_excl"' ],
	[ 'INSERT INTO refers VALUES (5000)', '23503: ' ],
	[ 'INSERT INTO keys VALUES (4000, NULL, 4000), (4001, NULL, 4001)', '23505: .*"keys_s_key"' ])
{
	my (undef, undef, $err) = run_sql($node, $case->[0]);
	like($err, qr/ERROR:  $case->[1]/, "refused: $case->[0]");
}
sql('BEGIN; UPDATE deferred SET d = d + 1; COMMIT');
my (undef, undef, $deferred) = run_sql($node, 'BEGIN; INSERT INTO deferred VALUES (500); COMMIT');
like(
	$deferred,
	qr/ERROR:  23505: .*"deferred_d_key"/,
	'refused: a duplicate at the end of its transaction');
is( sql(q{SELECT alignment('deferred_d_key'), sound('deferred_d_key'), count(DISTINCT d) FROM deferred}
	),
	'4|t|1000',
	'a deferred constraint');
is( sql(q{INSERT INTO keys SELECT i, i, i, 'new' FROM generate_series(1001, 3000) i ON CONFLICT DO NOTHING},
		q{INSERT INTO keys SELECT i, i + 5000, i + 5000, 'new' FROM generate_series(2501, 3500) i ON CONFLICT (id) DO UPDATE SET v = 'conflict'},
		'DELETE FROM keys WHERE id <= 300',
		q{SELECT count(*), count(*) FILTER (WHERE v = 'conflict'), (SELECT count(*) FROM refers) FROM keys}
	),
	'3200|500|1700',
	'ON CONFLICT and cascades');
is( sql(q{SELECT bool_and(sound(indexrelid)) FROM pg_index WHERE indrelid IN ('keys'::regclass, 'excludes'::regclass)}
	),
	't', 'sound');

# Bottom-up deletion keeps the indexes small when rows are updated again and again.
sql('CREATE TABLE churn (id int PRIMARY KEY, a int2, b int) WITH (fillfactor = 90)',
	'CREATE INDEX churn_a ON churn (a)',
	'CREATE INDEX churn_b ON churn (b)',
	'INSERT INTO churn SELECT i, i, i FROM generate_series(1, 1000) i');
my $before = sql(q{SELECT pg_relation_size('churn_pkey') + pg_relation_size('churn_b')});
sql('DO $$ BEGIN FOR i IN 1 .. 60 LOOP UPDATE churn SET a = a + 1; COMMIT; END LOOP; END $$');
cmp_ok(
	sql(q{SELECT pg_relation_size('churn_pkey') + pg_relation_size('churn_b')}),
	'<=',
	5 * $before,
	'versions are deleted bottom-up');
same('after updates',
	'SELECT count(*), sum(id), sum(a) FROM churn WHERE a BETWEEN 100 AND 500', qr/churn_a/);
is(sql(q{SELECT sound('churn_pkey'), sound('churn_a'), sound('churn_b')}),
	't|t|t', 'after updates: sound');
sql('DELETE FROM churn WHERE id > 200');
sql("$index_on SELECT count(*) FROM churn WHERE id BETWEEN 100 AND 1000") for 1 .. 3;
sql('INSERT INTO churn SELECT i, i, i FROM generate_series(201, 1000) i', 'VACUUM churn');
same('after deletion',
	'SELECT count(*), sum(id), sum(a) FROM churn WHERE b BETWEEN 100 AND 500', qr/churn_b/);
is(sql(q{SELECT sound('churn_pkey'), sound('churn_a'), sound('churn_b')}),
	't|t|t', 'after deletion: sound');

# Test partitions, temporary and unlogged tables, and materialized views.  A statement that rebuilds
# an index uses the current default alignment, unless the storage parameter is set.
sql(<<'SQL');
CREATE TABLE parts (id int, s int2) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE INDEX parts_s ON parts (s);
CREATE INDEX parts_m ON parts (s, id) WITH (item_alignment = max);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (1000) TO (2000);
CREATE TABLE attached (id int NOT NULL, s int2);
CREATE INDEX attached_s ON attached (s) WITH (item_alignment = max);
ALTER TABLE parts ATTACH PARTITION attached FOR VALUES FROM (2000) TO (3000);
INSERT INTO parts SELECT i, i % 100 FROM generate_series(0, 2999) i;
CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY);
INSERT INTO unlogged SELECT generate_series(1, 1000);
CREATE MATERIALIZED VIEW view AS SELECT * FROM unlogged;
CREATE UNIQUE INDEX view_id ON view (id);
REFRESH MATERIALIZED VIEW CONCURRENTLY view;
CREATE TABLE rewritten (id int PRIMARY KEY, s int2);
INSERT INTO rewritten SELECT i, i FROM generate_series(1, 1000) i;
CREATE INDEX rewritten_s ON rewritten (s);
CREATE INDEX rewritten_m ON rewritten (s) WITH (item_alignment = max);
CREATE INDEX rewritten_a ON rewritten (s) WITH (item_alignment = auto);
SQL
is( sql(q{SELECT string_agg(indexrelid::regclass || ' ' || alignment(indexrelid), ', ' ORDER BY indexrelid::regclass::text) FROM pg_index JOIN pg_class c ON c.oid = indexrelid
	WHERE indrelid IN ('parts_1'::regclass, 'parts_2'::regclass, 'attached'::regclass, 'unlogged'::regclass, 'view'::regclass)}
	),
	'attached_s 8, attached_s_id_idx 8, parts_1_s_id_idx 8, parts_1_s_idx 2, parts_2_s_id_idx 8, parts_2_s_idx 2, unlogged_pkey 4, view_id 4',
	'partitions, unlogged tables and views');
is( sql('CREATE TEMP TABLE temporary (id int PRIMARY KEY, s int2)',
		'CREATE INDEX temporary_s ON temporary (s)',
		'INSERT INTO temporary SELECT i, i % 50 FROM generate_series(1, 20000) i',
		"SELECT alignment('temporary_pkey'), alignment('temporary_s'), sound('temporary_pkey'), sound('temporary_s')",
		"$index_on SELECT count(*) FROM temporary WHERE s = 7"),
	"4|2|t|t\n400",
	'temporary tables');
sql('DELETE FROM parts WHERE id % 3 = 0', 'VACUUM parts');
same('partitions', 'SELECT count(*), sum(id) FROM parts WHERE s BETWEEN 10 AND 20', qr/parts_1_s/);
my $now =
  q{SELECT alignment('rewritten_pkey'), alignment('rewritten_s'), alignment('rewritten_m'), alignment('rewritten_a')};
is(sql($now), '4|2|8|2', 'indexes have the alignment of their build');
for my $case (
	['TRUNCATE rewritten'],
	['VACUUM FULL rewritten'],
	['CLUSTER rewritten USING rewritten_s'],
	['REINDEX TABLE rewritten'],
	['REINDEX TABLE CONCURRENTLY rewritten'],
	['ALTER TABLE rewritten ADD COLUMN c1 int DEFAULT random()'],
	['ALTER TABLE rewritten SET UNLOGGED'])
{
	my ($statement) = @$case;

	sql('INSERT INTO rewritten (id, s) SELECT i, i FROM generate_series(1, 1000) i ON CONFLICT DO NOTHING'
	);
	sql('SET default_index_item_alignment = max', $statement);
	is(sql($now), '8|8|8|2', "$statement with max");
	sql('SET default_index_item_alignment = auto',
		$statement =~ s/ADD COLUMN c/ADD COLUMN d/r =~ s/UNLOGGED/LOGGED/r);
	is(sql($now), '4|2|8|2', "$statement with auto");
	is( sql(q{SELECT bool_and(sound(indexrelid)) FROM pg_index WHERE indrelid = 'rewritten'::regclass}
		),
		't',
		"$statement: sound");
}
sql('ALTER TABLE rewritten ALTER s TYPE int8');
is(sql($now), '4|8|8|8', 'ALTER TYPE: the alignment of the new type');
sql('ALTER TABLE rewritten ALTER s TYPE int2');
is(sql($now), '4|2|8|2', 'ALTER TYPE: the alignment of the old type again');
is( sql(q{SELECT count(*), string_agg(array_to_string(reloptions, ','), ' ' ORDER BY relname) FROM pg_class WHERE relname LIKE 'rewritten%' AND reloptions IS NOT NULL}
	),
	'2|item_alignment=auto item_alignment=max',
	'the parameter stays where it was written, and only there');
# After a rollback, the index is as it was before the command.
sql('BEGIN; SET LOCAL default_index_item_alignment = max; REINDEX TABLE rewritten; ROLLBACK');
is(sql($now), '4|2|8|2', 'REINDEX rolled back');

# the storage parameter
my $notice = sub {
	my ($sql) = @_;
	my ($code, $out, $err) = $node->psql('postgres', $sql);
	return "$code $err";
};
like(
	$notice->('ALTER INDEX rewritten_s SET (item_alignment = max)'),
	qr/^0 .*NOTICE:  .*(REINDEX|rebuil)/s,
	'SET says when it takes effect');
is(sql($now), '4|2|8|2', 'SET does not touch the index');
sql('INSERT INTO rewritten (id, s) SELECT i, i % 100 FROM generate_series(2000, 4000) i');
is(sql(q{SELECT alignment('rewritten_s'), sound('rewritten_s')}),
	'2|t', 'an index keeps its alignment after SET until REINDEX');
sql('REINDEX INDEX rewritten_s');
is(sql($now), '4|8|8|2', 'REINDEX gives what was SET');
unlike($notice->('ALTER INDEX rewritten_s SET (item_alignment = max)'),
	qr/NOTICE/, 'no notice where nothing is to be done');
unlike($notice->('ALTER INDEX rewritten_s SET (fillfactor = 80)'),
	qr/NOTICE/, 'SET of another parameter gives no notice');
like(
	$notice->('ALTER INDEX rewritten_s RESET (item_alignment)'),
	qr/^0 .*NOTICE/s,
	'RESET says when it takes effect');
sql('REINDEX INDEX rewritten_s');
is(sql($now), '4|2|8|2', 'REINDEX gives the default after RESET');

for my $case (
	[ 'CREATE INDEX ON rewritten (s) WITH (item_alignment = 4)', '22023' ],
	[ 'CREATE INDEX ON rewritten (s) WITH (item_alignment)', '22023' ],
	[ q{CREATE INDEX ON rewritten (s) WITH (item_alignment = '')}, '22023' ],
	[ 'CREATE INDEX ON rewritten USING hash (s) WITH (item_alignment = auto)', '22023' ],
	[ 'CREATE TABLE no (id int) WITH (item_alignment = auto)', '22023' ],
	[ 'SET default_index_item_alignment = 2', '22023' ],
	[ 'CREATE INDEX ON rewritten (s) WITH (item_alignment = auto, item_alignment = max)', '22023' ])
{
	my ($code, $out, $err) = run_sql($node, $case->[0]);
	like($err, qr/ERROR:  $case->[1]: /, "refused: $case->[0]");
}

# A dump has the storage parameter of each index for which a command has set the parameter.  A dump
# does not have the default alignment.
my $file = "$PostgreSQL::Test::Utils::tmp_check/index_align_scan.sql";
$node->command_ok(
	[
		'pg_dump', '-d', $node->connstr('postgres'),
		'-t', 'rewritten', '-t', 'keys', '-t', 'wide', '-f', $file
	],
	'dump');
my @lines = grep { /item_alignment/ } split /\n/, slurp_file($file);
is(scalar(@lines), 2, 'the parameter is dumped where it was written, and only there');
like(
	join("\n", sort @lines),
	qr/rewritten_a .*WITH \(item_alignment='?auto'?\);\n.*rewritten_m .*WITH \(item_alignment='?max'?\);/s,
	'the dump has the parameter as it was written');
sql('CREATE DATABASE restored');
$node->command_ok(
	[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $file ],
	'restored');
is( $node->safe_psql(
		'restored',
		q{CREATE EXTENSION pageinspect; SELECT string_agg(c || ' ' || (8 >> ((flags & 768) / 256)), ', ' ORDER BY c) FROM (VALUES ('rewritten_a'), ('rewritten_m'), ('rewritten_s')) i (c), page_header(get_raw_page(c, 0))}
	),
	'rewritten_a 2, rewritten_m 8, rewritten_s 2',
	'the restored indexes have the alignment of the parameter');
is( sql('CREATE TABLE liked (LIKE rewritten INCLUDING INDEXES)',
		q{SELECT count(*) FROM pg_class WHERE relname LIKE 'liked%' AND array_to_string(reloptions, ',') ~ 'item_alignment=(auto|max)'}
	),
	'2',
	'LIKE INCLUDING INDEXES');

unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal|TRAP/, 'nothing crashed');
$node->stop;
done_testing();
