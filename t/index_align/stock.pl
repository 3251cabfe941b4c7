# Open data of a stock server with a server that has the patch of index_align, and the other way
# round.  The patched server uses stock indexes as they are.  A stock server must not read indexes
# with an alignment below its own.  The stock server reports the pages of such indexes as invalid.
# In recovery, also on a standby, it ends with a PANIC at the first record of such an index.  No
# row is lost on the stock server, and REINDEX on either server repairs the index.
use strict;
use warnings FATAL => 'all';

use File::Basename;
use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::IndexAlign;
use PgDense::Patch;
use PgDense::Installation;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('index_align', 'default_index_item_alignment');
my $stock_path = stock_path();
my $tmp = $PostgreSQL::Test::Utils::tmp_check;
my $panic = qr/PANIC:  btree_redo: unknown op code 240$/m;
# Version 18 reads several blocks at once, and its message covers all invalid blocks.
my $invalid =
  qr/ERROR:  XX001: (?:invalid page in block \d+|\d+ invalid pages among blocks \S+) of relation \S+$/m;
my $conf =
  "fsync = off\nautovacuum = off\nmax_connections = 20\ncheckpoint_timeout = 1d\nwal_level = replica\nmax_wal_senders = 5\n"
  . "allow_in_place_tablespaces = on\nlog_error_verbosity = default\n";

sub init
{
	my ($name, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, install_path => $params{path});

	$node->init(
		extra => [ '--encoding=UTF8', '--locale=C', '--wal-segsize=1' ],
		allows_streaming => $params{streaming} // 0);
	$node->append_conf('postgresql.conf', $conf);
	$node->start;
	return $node;
}

# Create tables for each alignment that auto chooses.  The text of a row repeats its key.
my $schema = <<'SQL';
CREATE EXTENSION amcheck;
CREATE EXTENSION pageinspect;
CREATE TABLE four (id int PRIMARY KEY, v text);
INSERT INTO four SELECT i, 'row ' || i FROM generate_series(1, 3000) i;
CREATE TABLE two (id int2, v text);
INSERT INTO two SELECT i, 'row ' || i FROM generate_series(1, 3000) i;
CREATE INDEX two_id ON two (id);
CREATE TABLE words (v text, id int);
INSERT INTO words SELECT 'row ' || i, i FROM generate_series(1, 3000) i;
CREATE INDEX words_v ON words (v);
CREATE TABLE many (id int, v text);
INSERT INTO many SELECT i / 20, 'row ' || i / 20 FROM generate_series(20, 30000) i;
CREATE INDEX many_id ON many (id) WITH (deduplicate_items = on);
CREATE TABLE eight (id int8 PRIMARY KEY, v text);
INSERT INTO eight SELECT i, 'row ' || i FROM generate_series(1, 3000) i;
SQL
my %index_of = (
	four => 'four_pkey',
	two => 'two_id',
	words => 'words_v',
	many => 'many_id',
	eight => 'eight_pkey');
my @tables = sort keys %index_of;
my @aligned = grep { $_ ne 'eight' } @tables;

# Return the alignment of each of those indexes, and of all other indexes.
my $alignments = <<'SQL';
SELECT relname || ' ' || (8 >> (flags & 768) / 256) FROM pg_class, page_header(get_raw_page(oid::regclass::text, 0))
WHERE relname IN ('four_pkey', 'two_id', 'words_v', 'many_id', 'eight_pkey') ORDER BY relname COLLATE "C";
SELECT 'others ' || coalesce(string_agg(DISTINCT (8 >> (flags & 768) / 256)::text, ','), '-')
FROM pg_class c, page_header(get_raw_page(c.oid::regclass::text, 0))
WHERE relkind = 'i' AND relam = 403 AND relname NOT IN ('four_pkey', 'two_id', 'words_v', 'many_id', 'eight_pkey')
SQL
my $all_max = "eight_pkey 8\nfour_pkey 8\nmany_id 8\ntwo_id 8\nwords_v 8\nothers 8";
my $all_auto = "eight_pkey 8\nfour_pkey 4\nmany_id 4\ntwo_id 2\nwords_v 4\nothers 8";

# Return a query that reads every row by the index, and a query that reads every row without the
# index.  Each query returns the number of rows, the number of rows whose text does not match the
# key, and a digest.
sub by_index
{
	my ($table) = @_;
	my $key = $table eq 'words' ? 'v' : 'id';

	return <<SQL;
SELECT '$table', count(*), count(*) FILTER (WHERE v IS DISTINCT FROM 'row ' || id), md5(string_agg(id || v, ',' ORDER BY id, v)) FROM
  (SELECT * FROM $table ORDER BY $key) o;
SELECT '$table', count(*), md5(string_agg($key\::text, ',' ORDER BY $key)) FROM (SELECT $key FROM $table WHERE $key > @{[ $key eq 'v' ? "''" : 0 ]}) o;
SQL
}
my $index_on = "SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off;\n";
my $index_off =
  "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;\n";
my $all_by_index = $index_on . join('', map { by_index($_) } @tables);
my $all_by_seqscan = $index_off . join('', map { by_index($_) } @tables);
my $check_all = <<'SQL';
SELECT count(*) > 100 FROM (SELECT bt_index_parent_check(c.oid, true, relpersistence = 'p') FROM pg_class c JOIN pg_index ON indexrelid = c.oid
WHERE relam = 403 AND indisvalid AND relpersistence <> 't' AND relkind = 'i') c
SQL

# whole(NODE, NAME) - check that all indexes return all rows, and that amcheck finds no error in
# them
sub whole
{
	my ($node, $name) = @_;
	my $rows = $node->safe_psql('postgres', $all_by_index);

	is( $rows,
		$node->safe_psql('postgres', $all_by_seqscan),
		"$name: index scans and sequential scans give the same rows");
	unlike($rows, qr/^\w+\|\d+\|[1-9]\d*\|/m, "$name: the text of every row matches its key");
	is($node->safe_psql('postgres', $check_all), 't', "$name: amcheck finds all indexes sound");
	return $rows;
}

# Write to every index: splits, deletions, deduplication, VACUUM.
sub write_to_all
{
	my ($node) = @_;

	$node->safe_psql('postgres', <<'SQL');
INSERT INTO four SELECT i, 'row ' || i FROM generate_series(3001, 6000) i;
INSERT INTO two SELECT i, 'row ' || i FROM generate_series(3001, 6000) i;
INSERT INTO words SELECT 'row ' || i, i FROM generate_series(3001, 6000) i;
INSERT INTO many SELECT i / 20, 'row ' || i / 20 FROM generate_series(20, 30000, 7) i;
INSERT INTO eight SELECT i, 'row ' || i FROM generate_series(3001, 6000) i;
DELETE FROM four WHERE id % 3 = 0 OR id BETWEEN 1000 AND 2000;
DELETE FROM two WHERE id % 3 = 0 OR id BETWEEN 1000 AND 2000;
DELETE FROM words WHERE id % 3 = 0 OR id BETWEEN 1000 AND 2000;
DELETE FROM many WHERE id % 3 = 0 OR id BETWEEN 500 AND 1000;
DELETE FROM eight WHERE id % 3 = 0 OR id BETWEEN 1000 AND 2000;
VACUUM;
SQL
	return;
}

# 1. The patched server opens a data directory of a stock server.
my $old = init('old', path => $stock_path);
$old->safe_psql('postgres', $schema);
my $rows = whole($old, 'stock');
$old->stop;
my $node = hand_over($old, 'from_stock');
$node->append_conf('postgresql.conf', "default_index_item_alignment = auto\n");
$node->start;
is(whole($node, 'data of a stock server'), $rows, 'data of a stock server: the same rows');
write_to_all($node);
whole($node, 'data of a stock server, written to');
is($node->safe_psql('postgres', $alignments),
	$all_max, 'indexes of a stock server keep their alignment');
$node->safe_psql('postgres', 'REINDEX DATABASE postgres');
is($node->safe_psql('postgres', $alignments),
	$all_auto, 'REINDEX aligns the indexes of a stock server');
whole($node, 'data of a stock server, after REINDEX');
$node->stop;

# The stock server crashes, and the patched server replays its records.
$old->start;
write_to_all($old);
$rows = whole($old, 'stock, written to');
$old->stop('immediate');
$node = hand_over($old, 'from_crashed_stock');
$node->start;
is(whole($node, 'crashed stock server'),
	$rows, 'data of a stock server that crashed: the same rows');
is($node->safe_psql('postgres', $alignments),
	$all_max, 'data of a stock server that crashed: indexes keep their alignment');
$node->stop;

# 2. A stock server opens aligned indexes after a clean shutdown of the patched server.
$node = init('patched');
$node->append_conf('postgresql.conf', "wal_log_hints = on\nwal_level = replica\n");
$node->restart;
$node->safe_psql('postgres', "SET default_index_item_alignment = auto;\n$schema");
is($node->safe_psql('postgres', $alignments), $all_auto, 'auto gives each of the alignments');
$rows = whole($node, 'aligned indexes');
# Only VACUUM can remove these dead rows from the indexes.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE plain (id int PRIMARY KEY, v text);
INSERT INTO plain SELECT i, 'row ' || i FROM generate_series(1, 1000) i;
CREATE TABLE small (id int, n int);
INSERT INTO small SELECT i, 1 FROM generate_series(1, 200) i;
CREATE TABLE dead (id int PRIMARY KEY, v text) WITH (autovacuum_enabled = off);
SET default_index_item_alignment = auto;
REINDEX TABLE dead;
CREATE INDEX small_id ON small (id);
INSERT INTO dead SELECT i, 'row ' || i FROM generate_series(1, 1000) i;
DELETE FROM dead WHERE id % 2 = 0;
CREATE TABLE stored (id int PRIMARY KEY WITH (item_alignment = auto), v text);
INSERT INTO stored SELECT i, 'row ' || i FROM generate_series(1, 1000) i;
CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY WITH (item_alignment = auto), v text);
INSERT INTO unlogged SELECT i, 'row ' || i FROM generate_series(1, 1000) i;
CREATE MATERIALIZED VIEW view AS TABLE four;
CREATE UNIQUE INDEX view_id ON view (id);
SQL
my $dumped =
  $node->safe_psql('postgres', 'SELECT md5(string_agg(t::text, \',\' ORDER BY id)) FROM four t');
$node->stop;

# never_wrong(NODE, TABLE, NAME, PATTERN) - check that every use of the index raises an
# error and changes nothing
sub never_wrong
{
	my ($stock, $table, $name, $pattern) = @_;
	my $key = $table eq 'words' ? 'v' : 'id';
	my $value = $table eq 'words' ? "'row 10'" : 10;
	my $set = '';

	$set = "SET zero_damaged_pages = on;\n" if $name =~ /zero_damaged_pages/;
	for my $case (
		[ 'index scan', "$index_on SELECT * FROM $table WHERE $key = $value" ],
		[ 'index-only scan', "$index_on SELECT $key FROM $table WHERE $key < $value" ],
		[ 'backward scan', "$index_on SELECT $key FROM $table ORDER BY $key DESC LIMIT 1" ],
		[
			'bitmap scan',
			"SET enable_seqscan = off; SET enable_indexscan = off; SELECT count(*) FROM $table WHERE $key = $value"
		],
		# These statements also read the index, because the planner reads the height of every index.
		[ 'sequential scan', "$index_off SELECT * FROM $table" ],
		[ 'EXPLAIN', "EXPLAIN SELECT * FROM $table" ],
		[ 'INSERT', "INSERT INTO $table (id, v) VALUES (7000, 'row 7000')" ],
		[ 'COPY FROM', "COPY $table (id, v) FROM PROGRAM 'printf \"7000\\\\trow 7000\\\\n\"'" ],
		[ 'UPDATE', "UPDATE $table SET id = id + 10000 WHERE $key = $value" ],
		[ 'DELETE', "DELETE FROM $table WHERE $key = $value" ],
		[ 'VACUUM', "VACUUM $table" ],
		[ 'bt_index_check()', "SELECT bt_index_check('$index_of{$table}')" ],
		[
			'bt_index_parent_check()',
			"SELECT bt_index_parent_check('$index_of{$table}', true, true)"
		],
		[ 'pageinspect', "SELECT * FROM bt_metap('$index_of{$table}')", $invalid ])
	{
		my ($what, $sql, $other) = @$case;

		next if $set && $what eq 'pageinspect';
		fails($stock, $set . $sql, $other // $pattern, "$name, $table: $what");
	}
	return;
}

my $stock = hand_over($node, 'stock', $stock_path);
$stock->start;
pass('a stock server starts on a data directory with aligned indexes');
is($stock->safe_psql('postgres', $index_on . by_index('eight')) =~ /^eight\|3000\|0\|/,
	1, 'stock: indexes with the stock alignment are used');
is($stock->safe_psql('postgres', <<'SQL'), 't', 'stock: all indexes of the catalogs are sound');
SELECT count(*) > 100 FROM (SELECT bt_index_parent_check(c.oid, true, true) FROM pg_class c WHERE relam = 403 AND relkind = 'i' AND oid < 16384) c
SQL
never_wrong($stock, $_, 'stock', $invalid) for @aligned;
for my $table (@aligned)
{
	my ($copied) = $stock->safe_psql('postgres', "COPY $table (id, v) TO STDOUT");
	my @wrong = grep { !/^(\d+)\trow \1$/ } split /\n/, $copied;
	is(scalar(@wrong), 0, "stock, $table: COPY TO reads the rows");
	is( scalar(split /\n/, $copied),
		$table eq 'many' ? 29981 : 3000,
		"stock, $table: COPY TO reads all rows");
}
$stock->safe_psql('postgres', 'ANALYZE');
fails($stock, 'VACUUM FREEZE dead', $invalid, 'stock: VACUUM of dead rows');
fails($stock, $index_on . 'SELECT * FROM unlogged WHERE id = 10',
	$invalid, 'stock: an unlogged table');
fails(
	$stock, 'REFRESH MATERIALIZED VIEW CONCURRENTLY view',
	$invalid, 'stock: REFRESH of a table with an aligned index');

# Dump the tables that the stock server can read.  A stock server cannot restore the
# storage parameter.
my $file = "$tmp/stock.sql";
$stock->command_ok(
	[ 'pg_dump', '-d', $stock->connstr('postgres'), '-f', $file, '-t', 'four', '-t', 'many' ],
	'stock: pg_dump');
unlike(slurp_file($file), qr/item_alignment/,
	'stock: pg_dump shows nothing of an alignment that nobody wrote');
$stock->safe_psql('postgres', 'CREATE DATABASE restored');
$stock->command_ok(
	[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $stock->connstr('restored'), '-f', $file ],
	'stock: restored');
is( $stock->safe_psql('restored', 'SELECT md5(string_agg(t::text, \',\' ORDER BY id)) FROM four t'),
	$dumped,
	'stock: the restored table has all rows');
$stock->command_ok([ 'pg_dump', '-d', $stock->connstr('postgres'), '-f', $file, '-t', 'stored' ],
	'stock: pg_dump of the storage parameter');
like(
	slurp_file($file),
	qr/WITH \(item_alignment=.?auto.?\)/,
	'stock: the dump has the storage parameter as it was written');

# The stock server does not know the storage parameter.
my $unknown = qr/ERROR:  22023: unrecognized parameter "item_alignment"/;
fails(
	$stock, 'ALTER INDEX stored_pkey SET (fillfactor = 80)',
	$unknown, 'stock: ALTER INDEX SET where item_alignment is written');
fails($stock, 'CREATE INDEX ON stored (id) WITH (item_alignment = auto)',
	$unknown, 'stock: CREATE INDEX');
fails($stock, 'CREATE TABLE copied (LIKE stored INCLUDING ALL)', $unknown, 'stock: LIKE');
fails($stock, 'ALTER TABLE stored ALTER id TYPE int8', $unknown, 'stock: ALTER TYPE');
$stock->safe_psql('postgres', 'REINDEX INDEX stored_pkey');
is($stock->safe_psql('postgres', "$index_on SELECT v FROM stored WHERE id = 10"),
	'row 10', 'stock: REINDEX where item_alignment is written');
$stock->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY stored_pkey');
$stock->safe_psql('postgres', 'ALTER INDEX stored_pkey RESET (item_alignment)');
is( $stock->safe_psql(
		'postgres', q{SELECT reloptions IS NULL FROM pg_class WHERE relname = 'stored_pkey'}),
	't',
	'stock: RESET');
$stock->safe_psql('postgres',
	'ALTER INDEX stored_pkey SET (fillfactor = 80); ALTER TABLE stored ALTER id TYPE int8');

# On the stock server, REINDEX in all its forms repairs the index, and so does every
# rewrite of the table.
$stock->safe_psql('postgres', $_)
  for (
	'REINDEX TABLE four',
	'REINDEX INDEX CONCURRENTLY two_id',
	'VACUUM FULL words',
	'ALTER TABLE many ALTER id TYPE int8',
	'REINDEX TABLE dead',
	'REINDEX TABLE unlogged',
	'REINDEX TABLE view',
	'REINDEX TABLE small');
is(whole($stock, 'stock, after REINDEX'), $rows, 'stock, after REINDEX: the same rows');
write_to_all($stock);
whole($stock, 'stock, after REINDEX, written to');
$stock->stop;
# The patched server opens the data again.
my $again = hand_over($stock, 'again');
$again->start;
whole($again, 'REINDEXed by stock');
is($again->safe_psql('postgres', $alignments),
	$all_max, 'indexes rebuilt by stock have the stock alignment');
$again->stop;

# If the stock server did not repair an index, the index can be dropped or truncated, or left for
# the patched server.
$stock = hand_over($node, 'stock_left', $stock_path);
$stock->start;
$stock->safe_psql('postgres',
	'ALTER TABLE four DROP CONSTRAINT four_pkey; DROP INDEX two_id; TRUNCATE many');
is($stock->safe_psql('postgres', 'SELECT count(*) FROM four; SELECT count(*) FROM two'),
	"3000\n3000", 'stock: a table is readable after its index is dropped');
$stock->safe_psql('postgres', q{INSERT INTO many VALUES (1, 'row 1')});
is($stock->safe_psql('postgres', "$index_on SELECT v FROM many WHERE id = 1"),
	'row 1', 'stock: an index is usable after TRUNCATE');
$stock->stop;
$again = hand_over($stock, 'again_left');
$again->start;
is( $again->safe_psql(
		'postgres',
		"$index_on SELECT v FROM words WHERE v = 'row 10'; SELECT v FROM many WHERE id = 1"),
	"row 10\nrow 1",
	'back from stock: indexes that stock could not read are unchanged');
$again->safe_psql('postgres', $check_all);
$again->stop;

# 3.  With zero_damaged_pages, a stock server replaces the pages by zeros, only in its memory.
$stock = hand_over($node, 'stock_zero', $stock_path);
$stock->append_conf('postgresql.conf', "zero_damaged_pages = on\n");
$stock->start;
my $zero =
  qr/ERROR:  XX002: index "\w+" contains unexpected zero page at block 0\nHINT:  Please REINDEX it\./;
my %path = map { $_ => path_of($stock, $index_of{$_}) } @aligned;
my %content = map { $_ => slurp_file($path{$_}) } @aligned;
never_wrong($stock, $_, 'stock with zero_damaged_pages', $zero) for @aligned;
# VACUUM scans the index, finds no entry, and removes the dead rows from the table.
fails($stock, 'VACUUM dead', $zero, 'stock with zero_damaged_pages: VACUUM of dead rows');
$stock->stop;
for my $table (@aligned)
{
	ok(slurp_file($path{$table}) eq $content{$table},
		"stock with zero_damaged_pages, $table: the file is unchanged");
}
$again = hand_over($stock, 'again_zero');
$again->start;
is(whole($again, 'back from zero_damaged_pages'),
	$rows, 'back from zero_damaged_pages: the same rows');
$again->safe_psql('postgres', <<'SQL');
REINDEX TABLE dead;
INSERT INTO dead SELECT i, 'row ' || i FROM generate_series(1002, 2000, 2) i;
SQL
is( $again->safe_psql(
		'postgres',
		"$index_on SELECT count(*), count(*) FILTER (WHERE v <> 'row ' || id) FROM dead WHERE id > 0; SELECT count(*) FROM dead WHERE id % 2 = 0 AND id <= 1000"
	),
	"1000|0\n0",
	'back from zero_damaged_pages: REINDEX repairs a table whose dead rows VACUUM removed');
$again->stop;

# 4.  The patched server crashes, and a stock server recovers.  The stock server must stop at the
# first record of an aligned index.  Otherwise its shared buffers could contain an aligned page,
# which the server would not check again.
my $crashes = 0;

sub crash
{
	my ($name, $outcome, $settings, $sql, %more) = @_;
	my $id = 'crash_' . ++$crashes;
	my $server = hand_over($node, $id);

	$server->append_conf('postgresql.conf', $settings);
	$server->start;
	$server->safe_psql('postgres', $_) for @$sql;
	my $expected = $server->safe_psql('postgres', $all_by_seqscan) if !$more{query};
	$server->stop('immediate');

	my $other = hand_over($server, $id . '_stock', $stock_path, 1);
	if ($other->start(fail_ok => 1))
	{
		ok($outcome ne 'stops', "$name: stock starts");
		for my $query ($more{query} ? @{ $more{query} } : map { "SELECT * FROM $_" } @aligned)
		{
			my ($database, $select) = ref $query ? @$query : ('postgres', $query);
			my ($code, $out, $err) = run_sql($other, $index_on . $select, $database);

			like($err, $more{error} // $invalid, "$name: stock gives an error: $select");
			is($out, '', "$name: stock gives no row: $select");
		}
		# A query may have crashed the server, so stop the server only if it still runs.
		if   (-e $other->data_dir . '/postmaster.pid') { $other->stop('fast', fail_ok => 1); }
		else                                           { $other->_update_pid(-1); }
	}
	else
	{
		ok($outcome ne 'starts', "$name: stock does not start");
		like(slurp_file($other->logfile), $panic, "$name: the PANIC names the reason");
	}

	# The patched server recovers the data that the stock server leaves.
	my $recovered = hand_over($other, $id . '_again', undef, 1);
	$recovered->start;
	for my $query ($more{query} ? grep { ref $_ || /^SELECT/ } @{ $more{query} } : ())
	{
		my ($database, $select) = ref $query ? @$query : ('postgres', $query);

		is( $recovered->safe_psql($database, $index_on . $select),
			$recovered->safe_psql($database, $index_off . $select),
			"$name: patched recovers: $select");
	}
	is(whole($recovered, "$name: patched recovers"),
		$expected, "$name: patched recovers: the same rows")
	  if !$more{query};
	$recovered->stop;
	system_or_bail('rm', '-rf', $recovered->data_dir);
	return;
}

# Commit a transaction, which flushes all earlier WAL.
my $flush = 'CREATE TABLE flush ()';
my $auto = 'SET default_index_item_alignment = auto;';
crash('crash after a build', 'stops', '', [ 'CHECKPOINT', "$auto REINDEX TABLE four" ]);
crash('crash after CREATE INDEX',
	'stops', '', [ "CHECKPOINT", "$auto CREATE INDEX ON eight ((id::int))" ]);
crash('crash after CREATE INDEX CONCURRENTLY',
	'stops', '', [ "CHECKPOINT", $auto . "\nCREATE INDEX CONCURRENTLY ON eight ((id::int))" ]);
crash('crash after an aligned index of an empty table',
	'stops', '', [ "CHECKPOINT", "$auto CREATE TABLE empty (id int PRIMARY KEY)" ]);
crash('crash after TRUNCATE', 'stops', '', [ "CHECKPOINT", "$auto TRUNCATE dead" ]);

for my $table ('many', 'two')
{
	crash("crash after an insert into $table",
		'stops', '', [ 'CHECKPOINT', "INSERT INTO $table (id, v) VALUES (7000, 'row 7000')" ]);
}
crash(
	'crash after an insert without full_page_writes',
	'stops',
	"full_page_writes = off\n",
	[ 'CHECKPOINT', q{INSERT INTO two VALUES (7000, 'row 7000')} ]);
crash('crash after VACUUM',
	'stops', '',
	[ 'DELETE FROM four WHERE id BETWEEN 500 AND 2000', 'CHECKPOINT', "VACUUM four; $flush" ]);
crash(
	'crash in the middle of all',
	'stops', '',
	[
		'INSERT INTO eight VALUES (9000, \'row 9000\')',
		'CHECKPOINT',
		'INSERT INTO eight VALUES (9001, \'row 9001\')',
		'INSERT INTO many SELECT i / 20, \'row \' || i / 20 FROM generate_series(20, 30000, 7) i'
	]);
crash('crash after nothing with aligned indexes',
	'starts', '', [ 'CHECKPOINT', 'INSERT INTO eight VALUES (9000, \'row 9000\')' ]);
# When a hint bit is set, the server logs the whole page.  So recovery on the stock server puts this
# page into shared buffers.  The index has only this page and a metapage.  VACUUM does not read the
# metapage first.
crash(
	'crash after a hint in an aligned page',
	'stops',
	"wal_log_hints = on\n",
	[
		'DELETE FROM small WHERE id BETWEEN 50 AND 60',
		'CHECKPOINT',
		"$index_on SELECT * FROM small WHERE id BETWEEN 40 AND 70; SELECT * FROM small WHERE id BETWEEN 40 AND 70; $flush"
	],
	query => [ 'VACUUM small', 'INSERT INTO small VALUES (1000, 1)', 'SELECT * FROM small' ],
	error => qr/ERROR:  XX00[12]: /);
# These commands log whole pages, without a record of the access method.
for my $strategy ('wal_log', 'file_copy')
{
	crash(
		"crash after CREATE DATABASE, $strategy",
		$strategy eq 'wal_log' ? 'stops' : 'either',
		'',
		[ 'CHECKPOINT', "CREATE DATABASE copied TEMPLATE postgres STRATEGY $strategy" ],
		query => [ map { [ 'copied', "SELECT * FROM $_" ] } @aligned ]);
}
crash(
	'crash after SET TABLESPACE',
	'stops', '',
	[
		q{CREATE TABLESPACE other LOCATION ''},
		'CHECKPOINT',
		map { "ALTER INDEX $index_of{$_} SET TABLESPACE other" } @aligned
	],
	query => [ map { "SELECT * FROM $_" } @aligned ]);
for my $threshold (0, 1000000)
{
	my $what = $threshold ? 'logged at commit' : 'synced at commit';
	crash(
		"crash with wal_level minimal, $what",
		'either',
		"wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = $threshold\n",
		[
			'CHECKPOINT',
			"BEGIN; $auto CREATE TABLE fresh (id int PRIMARY KEY, v text); INSERT INTO fresh SELECT i, 'row ' || i FROM generate_series(1, 1000) i; COMMIT"
		],
		query => ['SELECT * FROM fresh']);
	crash(
		"crash with wal_level minimal, CREATE INDEX, $what",
		'either',
		"wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = $threshold\n",
		[ 'CHECKPOINT', "$auto REINDEX TABLE plain" ],
		query => ['SELECT * FROM plain']);
}
crash(
	'crash with an unlogged index',
	'either', '',
	[ "$auto CHECKPOINT", "$auto TRUNCATE unlogged; INSERT INTO unlogged VALUES (1, 'row 1')" ],
	query => ['SELECT * FROM unlogged']);

# 5.  A stock standby of a patched primary stops at the record that builds an aligned
# index.
my $primary = init('primary', streaming => 1);
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('stock_standby', install_path => $stock_path);
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
$primary->safe_psql('postgres',
	q{CREATE TABLE four (id int, v text); INSERT INTO four SELECT i, 'row ' || i FROM generate_series(1, 1000) i; CREATE INDEX four_max ON four (id)}
);
$primary->wait_for_replay_catchup($standby);
is($standby->safe_psql('postgres', "$index_on SELECT v FROM four WHERE id = 10"),
	'row 10', 'a stock standby replays indexes with the stock alignment');
my $start = $primary->safe_psql('postgres', 'SELECT pg_current_wal_lsn()');
$primary->safe_psql('postgres', "$auto CREATE INDEX four_id ON four (id)");
$primary->safe_psql('postgres', 'CREATE TABLE after ()');
my $end = $primary->safe_psql('postgres', 'SELECT pg_current_wal_lsn()');
my $log = wait_for_log_line($standby,
	qr/database system is shut down|shutting down due to startup process failure/);
like($log, $panic, 'a stock standby stops at an aligned index');
my ($stopped_at) = $log =~ /unknown op code 240\n.*CONTEXT:  WAL redo at (\S+) for Btree/;
my ($dump, $dump_err) =
  run_command([ 'pg_waldump', '-p', $primary->data_dir . '/pg_wal', '-s', $start, '-e', $end ]);
my ($first) = grep { /desc: ALIGNED/ } split /\n/, $dump;
like(
	$first,
	qr/rmgr: Btree .* desc: ALIGNED op: IMAGE, align: 4/,
	'a page image of an aligned index has its own kind of record');
my ($first_at) = $first =~ /lsn: ([^,]+),/;
is( join('/', map { hex } split m{/}, $stopped_at // ''),
	join('/', map { hex } split m{/}, $first_at   // ''),
	'the standby stops at that record');
my ($relation) = $first =~ m{blkref #0: rel (\S+)};
unlike($dump =~ s/\Q$first\E.*//sr, qr/rel \Q$relation\E /,
	'no earlier record concerns that index');
$standby->_update_pid(-1);

# A stock standby made from a backup with aligned indexes must neither read them nor
# replay their records.
$primary->backup('aligned');
$standby = PostgreSQL::Test::Cluster->new('stock_standby_2', install_path => $stock_path);
$standby->init_from_backup($primary, 'aligned', has_streaming => 1);
$standby->start;
$primary->safe_psql('postgres', 'CREATE TABLE later ()');
$primary->wait_for_replay_catchup($standby);
fails(
	$standby, "$index_on SELECT v FROM four WHERE id = 10",
	$invalid, 'a stock standby with an aligned index');
$primary->safe_psql('postgres', 'CREATE DATABASE copied TEMPLATE postgres STRATEGY wal_log');
$log = wait_for_log_line($standby,
	qr/database system is shut down|shutting down due to startup process failure/);
like($log, $panic, 'a stock standby with an aligned index stops at the record that copies it');
$standby->_update_pid(-1);
$primary->stop;

# 6.  Each server loads only its own modules.
chomp(my $pkglibdir = `pg_config --pkglibdir`);
chomp(my $stock_pkglibdir = `$stock_path/bin/pg_config --pkglibdir`);
my ($copy_path, $copy_pkglibdir) = copy_installation('patched_copy');
my $refused =
  qr/ERROR:  XX000: incompatible library "\S*\/(amcheck|pageinspect)\.so": ABI mismatch\nDETAIL:  Server has ABI "([^"]*)", library has "([^"]*)"\./;
system_or_bail('cp', "$stock_pkglibdir/$_.so", "$copy_pkglibdir/$_.so")
  for 'amcheck', 'pageinspect';
$again = hand_over($node, 'stock_modules', $copy_path);
$again->start;

for my $sql (
	q{LOAD 'amcheck'},
	q{LOAD 'pageinspect'},
	q{SELECT bt_index_check('four_pkey')},
	q{SELECT bt_metap('four_pkey')})
{
	my $err = fails($again, $sql, $refused, "modules of stock: $sql");
	is( join(' ', $err =~ $refused ? ($2, $3) : ()),
		'PostgreSQL index_align PostgreSQL',
		"modules of stock: the error names both servers: $sql");
}
$again->stop;
{
	local $ENV{PATH} = "$stock_path/bin:$ENV{PATH}";
	($copy_path, $copy_pkglibdir) = copy_installation('stock_copy');
}
system_or_bail('cp', "$pkglibdir/$_.so", "$copy_pkglibdir/$_.so") for 'amcheck', 'pageinspect';
$again = hand_over($node, 'patched_modules', $copy_path);
$again->start;
fails(
	$again,
	q{LOAD 'amcheck'},
	qr/$refused|ERROR:  58P01: could not load library .*: undefined symbol/,
	'modules of the patched server in stock: amcheck');
fails($again, q{LOAD 'pageinspect'},
	$refused, 'modules of the patched server in stock: pageinspect');
$again->stop;

# 7.  To go back to a stock server, the patched server rebuilds all indexes with the stock
# alignment.
$node->start;
is($node->safe_psql('postgres', 'SHOW default_index_item_alignment'),
	'max', 'the default is the stock alignment');
$node->safe_psql('postgres', <<'SQL');
ALTER INDEX stored_pkey RESET (item_alignment);
ALTER INDEX unlogged_pkey RESET (item_alignment);
REINDEX DATABASE postgres;
SQL
is($node->safe_psql('postgres', $alignments), $all_max, 'after REINDEX, no index is aligned');
is( $node->safe_psql(
		'postgres',
		'CREATE TABLE fresh (id int PRIMARY KEY); SELECT flags & 768 FROM page_header(get_raw_page(\'fresh_pkey\', 0))'
	),
	'0',
	'a new index is not aligned');
$node->stop;
$stock = hand_over($node, 'way_back', $stock_path);
$stock->start;
is(whole($stock, 'way back'), $rows, 'way back: the same rows');
write_to_all($stock);
whole($stock, 'way back, written to');
$stock->safe_psql('postgres',
	q{UPDATE dead SET id = -id; UPDATE stored SET id = -id; UPDATE unlogged SET id = -id; VACUUM FULL}
);
$stock->stop;
# After a checkpoint that follows the REINDEX, a crash does no harm either.
$node->start;
$node->safe_psql('postgres', 'CHECKPOINT; INSERT INTO four VALUES (7000, \'row 7000\')');
$rows = $node->safe_psql('postgres', $all_by_seqscan);
$node->stop('immediate');
$stock = hand_over($node, 'way_back_crashed', $stock_path);
$stock->start;
is(whole($stock, 'way back after a crash'), $rows, 'way back after a crash: the same rows');
$stock->stop;

done_testing();
