# Damage the fields that store the alignment of an index: each byte of pd_flags, on each kind of
# page, and btm_itemalign in the metapage.  Set each of these fields to all other values.  Then run
# index scans, inserts that split pages, VACUUM, amcheck and REINDEX.  Each command must raise a
# proper error or return the right rows.  The test fails if the server crashes, or if a command
# hangs or returns a wrong row.
#
# The damaged file replaces the file of the index while no page of the index is in shared buffers.
# In a soak run, every use of the index is tested with every value.  Otherwise only a lookup and
# amcheck are tested with every value, on an index of alignment 2, and the other uses with fewer
# values.
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
my $soak = $ENV{PGDENSE_SOAK};
my $node = PostgreSQL::Test::Cluster->new('corrupt');
# Version 18 enables checksums by default.  Checksums would report any damage, so disable them.
$node->init(
	extra => [
		'--encoding=UTF8', '--locale=C',
		$node->pg_version->major >= 18 ? '--no-data-checksums' : ()
	]);
# Keep shared_buffers small: evict() searches all of them.
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
autovacuum = off
shared_buffers = 4MB
checkpoint_timeout = 1d
max_wal_size = 4GB
statement_timeout = 60s
log_statement = none
log_min_messages = fatal
log_min_error_statement = panic
client_min_messages = error
jit = off
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION amcheck;
CREATE EXTENSION pageinspect;
CREATE EXTENSION pg_buffercache;

-- The undamaged files of a relation
CREATE TABLE image (relation regclass, suffix text, lo oid);
CREATE FUNCTION take_image(rel regclass) RETURNS void LANGUAGE sql AS $$
INSERT INTO image SELECT rel, suffix, lo_import(pg_relation_filepath(rel) || suffix)
FROM (VALUES (''), ('_fsm'), ('_vm')) s (suffix) WHERE (pg_stat_file(pg_relation_filepath(rel) || suffix, true)).size > 0 $$;

CREATE FUNCTION evict(rel regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 1000 LOOP
		PERFORM pg_buffercache_evict(bufferid) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode(rel)
			AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database());
		IF NOT FOUND THEN RETURN; END IF;
	END LOOP;
	RAISE 'pages of % stay in memory', rel;
END $$;

-- Copy the undamaged files back, and change one byte of the main fork.  Also update the row of the
-- index in pg_class, so that sessions drop their cached data of the index.
CREATE FUNCTION put(rel regclass, place int DEFAULT NULL, byte int DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	i record;
	was bytea;
BEGIN
	UPDATE pg_class SET relpages = relpages WHERE oid = rel;
	PERFORM evict(rel);
	FOR i IN SELECT * FROM image WHERE relation = rel LOOP
		IF place IS NOT NULL AND i.suffix = '' THEN
			was := lo_get(i.lo, place, 1);
			PERFORM lo_put(i.lo, place, set_byte('\x00', 0, byte));
		END IF;
		PERFORM lo_export(i.lo, pg_relation_filepath(rel) || i.suffix);
		IF was IS NOT NULL THEN
			PERFORM lo_put(i.lo, place, was);
			was := NULL;
		END IF;
	END LOOP;
END $$;

-- This table has the outcome of each case: "ok", "wrong" or the code of an error.
CREATE TABLE outcome (what text, byte int, use text, is_now text);

CREATE FUNCTION try(statement text, expected text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE statement INTO result;
	RETURN CASE WHEN result IS NOT DISTINCT FROM expected THEN 'ok' ELSE 'wrong' END;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;

-- Run all uses that only read an index.  "expected" has the keys in index order.
CREATE FUNCTION read_all(tab text, what text, byte int, use text, expected text, one text) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
	cols text := (SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = (tab || '_key')::regclass);
BEGIN
	INSERT INTO outcome SELECT what, byte, use || name, try(statement, result) FROM (VALUES
		('index scan', format('SELECT string_agg(v, '','') FROM (SELECT v FROM %s ORDER BY %s) o', tab, cols), expected),
		('index-only scan', format('SELECT string_agg(''row '' || k, '','') FROM (SELECT k FROM %s ORDER BY %s) o', tab, cols), expected),
		('backward scan', format('SELECT string_agg(v, '','' ORDER BY n DESC) FROM (SELECT v, row_number() OVER () AS n FROM (SELECT v FROM %s ORDER BY %s) o) p', tab,
			replace(cols, ',', ' DESC,') || ' DESC'), expected),
		('lookup', format('SELECT v FROM %s WHERE (%s) = (%s%L) LIMIT 1', tab, cols, CASE WHEN cols <> 'k' THEN repeat(quote_literal(repeat('x', 63)) || ',', 7) END, one), 'row ' || one),
		('bt_index_check', format('SELECT bt_index_check(%L, true)', tab || '_key'), ''),
		('bt_index_parent_check', format('SELECT bt_index_parent_check(%L, true, true)', tab || '_key'), '')) c (name, statement, result)
	WHERE use = '' OR name IN ('index scan', 'backward scan', 'bt_index_parent_check') AND use <> 'only ' OR name IN ('lookup', 'bt_index_check') AND use = 'only ';
END $$;

-- Return the rows by a sequential scan, or "unknown" if planning fails.
CREATE FUNCTION in_heap(tab text) RETURNS text LANGUAGE plpgsql
SET enable_indexscan = off SET enable_indexonlyscan = off SET enable_bitmapscan = off AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT string_agg(v, '','' ORDER BY k) FROM %s', tab) INTO result;
	RETURN result;
EXCEPTION WHEN data_corrupted OR index_corrupted THEN
	RETURN 'unknown';
END $$;

-- Insert rows with keys after "one".  The inserts are always rolled back.
CREATE FUNCTION insert_all(tab text, what text, byte int, one text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	state text := 'ok';
BEGIN
	BEGIN
		FOR i IN 1 .. 60 LOOP
			EXECUTE CASE tab WHEN 't2' THEN format('INSERT INTO t2 (k, v) VALUES (%1$L, %2$L)', one || chr(64 + i), 'row ' || one || chr(64 + i))
				ELSE format('INSERT INTO %s (k, v) VALUES (%s, %L)', tab, one::int + i % 8 + 1, 'row ' || one::int + i % 8 + 1) END;
		END LOOP;
		-- Record that all inserts succeeded.
		INSERT INTO image VALUES (0, 'inserted', 0);
	EXCEPTION WHEN OTHERS THEN
		state := SQLSTATE;
	END;
	INSERT INTO outcome VALUES (what, byte, 'insert', state);
	DELETE FROM image WHERE suffix = 'inserted';
END $$;
SQL

# The keys of t2, t4 and t8 are so wide that an index of a few pages has three levels.  The number
# in a table's name is the alignment of its index.  t4d has duplicates.
my $wide = 'x' x 63;
my $columns = join ', ', map { "$_ name DEFAULT '$wide'" } 'a' .. 'g';
for my $table ('t2', 't4', 't8', 't4d')
{
	my ($type, $key) =
		$table eq 't2' ? ('name', q{lpad(i::text, 6, '0')})
	  : $table eq 't8' ? ('int8', 'i * 10')
	  :                  ('int', 'i * 10');
	my $alignment = $table eq 't8' ? 'max' : 'auto';
	my ($rows, $dups) = $table eq 't4d' ? (40, 60) : (340, 1);
	my $index_columns = $table eq 't4d' ? 'k' : 'a, b, c, d, e, f, g, k';

	$node->safe_psql('postgres', <<SQL);
CREATE TABLE $table (@{[ $table eq 't4d' ? '' : "$columns, " ]}k $type, v text);
CREATE INDEX ${table}_key ON $table ($index_columns) WITH (item_alignment = $alignment);
INSERT INTO $table (k, v) SELECT $key, 'row ' || $key FROM generate_series(1, $rows) i, generate_series(1, $dups) j ORDER BY i;
-- Freeze the rows, so that VACUUM accepts them when the files are put back.
VACUUM (FREEZE) $table;
SQL
	# Delete some pages in the middle, and let them become free for reuse.
	if ($table ne 't4d')
	{
		$node->safe_psql('postgres',
			"DELETE FROM $table WHERE (replace(v, 'row ', '')::int / @{[ $table eq 't2' ? 1 : 10 ]}) BETWEEN 220 AND 265"
		);
		$node->safe_psql('postgres', "VACUUM $table");
		$node->safe_psql('postgres', "CREATE TABLE more_$_ (); DROP TABLE more_$_") for 1 .. 3;
		$node->safe_psql('postgres', "VACUUM (FREEZE) $table; VACUUM (FREEZE) $table");
	}
}
$node->safe_psql('postgres', 'CHECKPOINT');
$node->safe_psql('postgres', "SELECT take_image('$_'), take_image('${_}_key')")
  for 't2', 't4', 't8', 't4d';

# places(TABLE) - return the places to damage, each as [name, offset in the file, present value of
# the byte]
my %one;
my %path;

sub places
{
	my ($table) = @_;
	my $path = path_of($node, $table . '_key');
	my (%block, @places);
	my $root = $node->safe_psql('postgres', "SELECT root FROM bt_metap('${table}_key')");

	for my $line (
		split /\n/,
		$node->safe_psql(
			'postgres',
			"SELECT blkno, type, btpo_prev, btpo_next FROM bt_multi_page_stats('${table}_key', 1, -1)"
		))
	{
		my ($blkno, $type, $prev, $next) = split /\|/, $line;
		my $kind =
		  $blkno == $root
		  ? 'root'
		  : { l => 'leaf', i => 'internal page', d => 'deleted page' }->{$type};

		next if !defined $kind;
		# Prefer a leaf that has a page on both sides.
		$block{$kind} = $blkno if !exists $block{$kind} || ($type eq 'l' && $prev && $next);
	}
	$block{metapage} = 0;
	# Remember a key of this leaf page.
	$one{$table} = $node->safe_psql('postgres',
		"SELECT k FROM $table WHERE ctid = (SELECT htid FROM bt_page_items('${table}_key', $block{leaf}) WHERE htid IS NOT NULL ORDER BY itemoffset DESC LIMIT 1)"
	);
	for my $kind (sort keys %block)
	{
		my $page = read_page($path, $block{$kind});
		my $expected = { 2 => 2, 4 => 1, 8 => 0 }->{ substr($table, 1, 1) };

		is(item_code($page), $expected, "$table: $kind: pd_flags has the alignment");
		for my $byte (0, 1)
		{
			# The order of the two bytes depends on the machine.
			push @places,
			  [
				"$kind, pd_flags byte " . ($byte ^ (pack('S', 1) ne "\1\0")),
				$block{$kind} * 8192 + 10 + $byte,
				unpack('C', substr($page, 10 + $byte, 1))
			  ];
		}
	}
	# The field btm_itemalign follows btm_allequalimage, which is the byte after 7 words
	# of 4 bytes and one word of 8 bytes.
	my $meta = read_page($path, 0);
	push @places, [ 'metapage, btm_itemalign', 24 + 41, unpack('C', substr($meta, 24 + 41, 1)) ];
	is( $places[-1][2],
		{ 2 => 2, 4 => 1, 8 => 0 }->{ substr($table, 1, 1) },
		"$table: btm_itemalign has the alignment");
	return @places;
}

# run_script(SCRIPT) - run SCRIPT with psql, which must not lose its connection
sub run_script
{
	my ($name, @script) = @_;
	my $file = "$PostgreSQL::Test::Utils::tmp_check/index_align_corrupt.sql";

	unlink $file;
	append_to_file($file, join('', "\\set VERBOSITY verbose\n\\o /dev/null\n", @script));
	my ($out, $err);
	my $ok = IPC::Run::run([ 'psql', '-X', '-q', '-d', $node->connstr('postgres'), '-f', $file ],
		'>', \$out, '2>', \$err);
	# The functions above record the errors of statements, so only a lost connection
	# fails here.
	ok($ok, "$name: the server does not crash") or diag substr($err, -2000);
	return $err;
}

# some(BYTE, ALL) - return all values except BYTE.  If ALL is false, a few values are enough, except
# in a soak run: those that differ from BYTE by one bit, the codes of alignments, and 255.
sub some
{
	my ($byte, $all) = @_;

	return grep { $_ != $byte } 0 .. 255 if $all || $soak;
	my %value = map { $_ => 1 } 0 .. 3, 255, map { $byte ^ 1 << $_ } 0 .. 7;
	return grep { $_ != $byte } sort { $a <=> $b } keys %value;
}

my $summary =
  q{SELECT what, string_agg(is_now || ' ' || n, ', ' ORDER BY is_now) FROM (SELECT what, is_now, count(*) AS n FROM outcome GROUP BY 1, 2) o GROUP BY 1 ORDER BY 1};
my $plan = $node->safe_psql('postgres',
	'SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off; EXPLAIN (COSTS OFF) SELECT v FROM t2 ORDER BY a, b, c, d, e, f, g, k; EXPLAIN (COSTS OFF) SELECT k FROM t2 ORDER BY a DESC, b DESC, c DESC, d DESC, e DESC, f DESC, g DESC, k DESC'
);
is($plan, "Index Scan using t2_key on t2\nIndex Only Scan Backward using t2_key on t2", 'plans');

for my $table ('t2', 't4', 't8', 't4d')
{
	my @places = places($table);
	my $expected = $node->safe_psql('postgres', "SELECT in_heap('$table')");
	my $count = 0;
	my @script = ("\\set expected '$expected'\n\\set one '$one{$table}'\nTRUNCATE outcome;\n");

	is(scalar(@places), $table eq 't4d' ? 7 : 11, "$table: the index has pages of all kinds");
	for my $place ([ 'nothing', 0, 0 ], @places)
	{
		my ($what, $offset, $byte) = @$place;
		my $here = $what eq 'nothing' ? '' : ", $offset, :byte";

		for my $value ($what eq 'nothing' ? 0 : some($byte, $table eq 't2' && $what !~ /byte 0/))
		{
			my $few = !$soak && $what ne 'nothing' && !grep { $_ == $value } some($byte);
			push @script, "\\set byte $value\nSELECT put('${table}_key'$here);\n",
			  "SELECT read_all('$table', '$what', :byte, '@{[ $few ? 'only ' : '' ]}', :'expected', :'one');\n";
			$count += $few ? 2 : 6;
		}
		for my $value ($what eq 'nothing' ? 0 : some($byte))
		{
			push @script, "\\set byte $value\nSELECT put('${table}_key'$here), put('$table');\n",
			  "SELECT insert_all('$table', '$what', :byte, :'one');\n",
			  "SELECT read_all('$table', '$what', :byte, 'after insert: ', in_heap('$table'), :'one');\n";
			$count += 4;
			push @script, "SELECT put('${table}_key'$here), put('$table');\n",
			  "DELETE FROM $table WHERE k >= :'one' AND ctid < '(1000,0)' OR k < :'one' AND length(v) % 2 = 0;\n",
			  "INSERT INTO outcome VALUES ('$what', :byte, 'delete', replace(:'SQLSTATE', '00000', 'ok'));\n",
			  "VACUUM (INDEX_CLEANUP on) $table;\n",
			  "INSERT INTO outcome VALUES ('$what', :byte, 'vacuum', replace(:'SQLSTATE', '00000', 'ok'));\n",
			  "INSERT INTO $table (k, v) SELECT k, v FROM $table ORDER BY k LIMIT 5;\n",
			  "INSERT INTO outcome VALUES ('$what', :byte, 'insert after vacuum', replace(:'SQLSTATE', '00000', 'ok'));\n",
			  "SELECT read_all('$table', '$what', :byte, 'after vacuum: ', in_heap('$table'), '');\n";
			$count += 6;
			push @script,
			  "SELECT put('${table}_key'$here), put('$table');\nBEGIN;\nREINDEX INDEX ${table}_key;\n",
			  "INSERT INTO outcome VALUES ('$what', :byte, 'reindex', replace(:'SQLSTATE', '00000', 'ok'));\n",
			  "SELECT read_all('$table', '$what', :byte, 'after reindex: ', :'expected', :'one');\n";
			# Roll the transaction back, but keep its outcome.
			push @script,
			  "SELECT string_agg(format('(%L,%s,%L,%L)', what, byte, use, is_now), ',') AS outcomes FROM outcome WHERE use LIKE '%reindex%' AND what = '$what' AND byte = :byte \\gset\n",
			  "ROLLBACK;\nINSERT INTO outcome VALUES :outcomes;\n";
			$count += 4;
		}
	}
	my $err = run_script($table, @script);

	# Each use must return the right rows, or fail with an error code of damaged data.
	is($node->safe_psql('postgres', 'SELECT count(*) FROM outcome'),
		$count, "$table: all cases were tried")
	  or diag substr($err, -1000);
	is( $node->safe_psql(
			'postgres',
			q{SELECT DISTINCT use, is_now FROM outcome WHERE what = 'nothing' AND is_now <> 'ok'}),
		'',
		"$table: every use succeeds on undamaged files");
	is( $node->safe_psql(
			'postgres',
			q{SELECT * FROM outcome WHERE is_now NOT IN ('ok', 'XX001', 'XX002') LIMIT 20}),
		'',
		"$table: every use gives the right rows or a proper error");
	is( $node->safe_psql(
			'postgres',
			q{SELECT * FROM outcome WHERE use LIKE '%reindex%' AND is_now <> 'ok' LIMIT 20}),
		'',
		"$table: REINDEX repairs the index");
	# Check that each use that reads the damaged page reports the damage.
	my $scans =
	  q{use IN ('index scan', 'index-only scan', 'backward scan', 'lookup', 'bt_index_check', 'bt_index_parent_check', 'insert', 'only lookup', 'only bt_index_check')};
	is( $node->safe_psql(
			'postgres',
			"SELECT DISTINCT what, byte, use FROM outcome WHERE is_now = 'ok' AND what ~ '^(metapage|leaf|root).*(byte 1|itemalign)' AND $scans ORDER BY 1, 2, 3 LIMIT 20"
		),
		'',
		"$table: every use reports a damaged alignment");
	is( $node->safe_psql(
			'postgres',
			"SELECT DISTINCT what, byte, use FROM outcome WHERE (is_now = 'ok') <> (byte < 8) AND what ~ '^(metapage|leaf|root).*byte 0' AND $scans ORDER BY 1, 2, 3 LIMIT 20"
		),
		'',
		"$table: other flags are handled as by the stock server");
	is( $node->safe_psql(
			'postgres',
			"SELECT DISTINCT what, byte, use, is_now FROM outcome WHERE (is_now = 'ok') AND what ~ '^(leaf|root).*byte 1' AND use = 'vacuum' ORDER BY 1, 2, 3 LIMIT 20"
		),
		'',
		"$table: VACUUM with dead rows reports a damaged alignment");
	is( $node->safe_psql(
			'postgres',
			"SELECT DISTINCT what, byte, use, is_now FROM outcome WHERE (is_now = 'ok') <> (byte < 8) AND what ~ '^(leaf|root).*byte 0' AND use = 'vacuum' ORDER BY 1, 2, 3 LIMIT 20"
		),
		'',
		"$table: VACUUM accepts other flags");
	note "$table, $_" for split /\n/, $node->safe_psql('postgres', $summary);
	$node->safe_psql('postgres', "SELECT put('${table}_key'), put('$table')");
}

# Damage pages of heaps, sequences and indexes of other access methods.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE heap (k int, v text, p point, a int[], t text) WITH (autovacuum_enabled = off);
INSERT INTO heap SELECT i, 'row ' || i, point(i, i), ARRAY[i, i + 1], 'text ' || i FROM generate_series(1, 400) i;
CREATE INDEX heap_hash ON heap USING hash (k);
CREATE INDEX heap_gist ON heap USING gist (p);
CREATE INDEX heap_spgist ON heap USING spgist (p);
CREATE INDEX heap_gin ON heap USING gin (a);
CREATE INDEX heap_brin ON heap USING brin (k);
CREATE SEQUENCE sequence;
CHECKPOINT;
SELECT take_image('heap'), take_image('heap_hash'), take_image('heap_gist'), take_image('heap_spgist'), take_image('heap_gin'), take_image('heap_brin'), take_image('sequence');
TRUNCATE outcome;

CREATE FUNCTION try_other(rel text, what text, byte int, use text, condition text) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off AS $$
DECLARE
	expected text := (SELECT string_agg(i::text, ',') FROM generate_series(1, 400) i WHERE rel = 'heap' OR i = 7);
BEGIN
	INSERT INTO outcome SELECT what, byte, use, try(CASE WHEN rel = 'sequence' THEN 'SELECT nextval(''sequence'') IS NULL' ELSE
		format('SELECT string_agg(k::text, '','') FROM (SELECT k FROM heap WHERE %s ORDER BY k) o', condition) END, CASE WHEN rel = 'sequence' THEN 'false' ELSE expected END);
END $$;
CREATE FUNCTION change_other(what text, byte int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	state text := 'ok';
BEGIN
	BEGIN
		INSERT INTO heap SELECT 1000 + i, 'row', point(7, 7.1), ARRAY[8, i], 'text' FROM generate_series(1, 600) i;
		RAISE 'no error' USING ERRCODE = 'PX000';
	EXCEPTION WHEN OTHERS THEN
		state := replace(SQLSTATE, 'PX000', 'ok');
	END;
	INSERT INTO outcome VALUES (what, byte, 'insert', state);
END $$;
SQL
my %condition = (
	heap => 'true',
	heap_hash => 'k = 7',
	heap_gist => 'p <@ box(point(7, 7), point(7, 7))',
	heap_spgist => 'p <@ box(point(7, 7), point(7, 7))',
	heap_gin => 'a @> ARRAY[7, 8]',
	heap_brin => 'k = 7',
	sequence => '');
my @script;
my $count = 0;
for my $relation (sort keys %condition)
{
	my $pages = page_count(path_of($node, $relation));
	# Invalidate the other indexes, so that the server uses and changes this index.
	push @script,
	  "UPDATE pg_index SET indisvalid = indexrelid = '$relation'::regclass, indisready = indexrelid = '$relation'::regclass WHERE indrelid = 'heap'::regclass;\n";
	for my $block (0 .. $pages - 1)
	{
		last if $block > 3 && !$soak;
		for my $value (some(0, $block == 0 && $relation eq 'heap'))
		{
			my $offset = $block * 8192 + 10 + (pack('S', 1) eq "\1\0");
			push @script, "SELECT put('$relation', $offset, $value);\n",
			  "SELECT try_other('$relation', '$relation, block $block', $value, 'scan', '$condition{$relation}');\n";
			push @script, "SELECT change_other('$relation, block $block', $value), put('heap');\n"
			  if $relation ne 'sequence';
			$count += 1 + ($relation ne 'sequence');
		}
	}
	push @script, "SELECT put('$relation');\n";
}
my $err = run_script('other pages', @script);
is($node->safe_psql('postgres', 'SELECT count(*) FROM outcome'),
	$count, 'other pages: all cases were tried')
  or diag substr($err, -1000);
is( $node->safe_psql(
		'postgres', q{SELECT * FROM outcome WHERE is_now NOT IN ('ok', 'XX001', 'XX002') LIMIT 20}),
	'',
	'other pages: every use gives the right rows or a proper error');
is( $node->safe_psql(
		'postgres',
		q{SELECT DISTINCT what, byte, use, is_now FROM outcome WHERE what ~ '^heap, ' AND use = 'scan' AND is_now <> 'XX001' LIMIT 20}
	),
	'',
	'a heap page with alignment bits is invalid');
note $_ for split /\n/, $node->safe_psql('postgres', $summary);
my (undef, undef, $message) = run_sql($node,
	"SELECT put('heap', @{[ 10 + (pack('S', 1) eq qq{\1\0}) ]}, 1); SELECT count(*) FROM heap");
like(
	$message,
	qr/ERROR:  XX001: invalid page in block 0 of relation /,
	'the error of a heap page with alignment bits');

# With checksums, every damage is reported as an invalid page.
$node->safe_psql('postgres',
	q{SELECT put('heap'); UPDATE pg_index SET indisvalid = true, indisready = true; REINDEX TABLE heap; DELETE FROM image; CHECKPOINT}
);
$node->stop;
command_ok([ 'pg_checksums', '--enable', '-D', $node->data_dir ], 'checksums enabled');
$node->start;
$node->safe_psql('postgres', "CHECKPOINT; SELECT take_image('$_'), take_image('${_}_key')")
  for 't2', 't8';
for my $table ('t2', 't8')
{
	@script = (
		"TRUNCATE outcome;\n\\set expected '@{[ $node->safe_psql('postgres', qq{SELECT in_heap('$table')}) ]}'\n\\set one '$one{$table}'\n"
	);
	for my $place (places($table))
	{
		push @script, map {
			"SELECT put('${table}_key', $place->[1], $_);\nSELECT read_all('$table', '$place->[0]', $_, '', :'expected', :'one');\n"
		} some($place->[2]);
	}
	run_script("$table with checksums", @script);
	is( $node->safe_psql(
			'postgres', q{SELECT DISTINCT is_now FROM outcome WHERE what !~ '^(deleted|internal)'}),
		'XX001',
		"$table with checksums: all damage is an invalid page");
	is( $node->safe_psql(
			'postgres', q{SELECT DISTINCT is_now FROM outcome WHERE is_now NOT IN ('ok', 'XX001')}),
		'',
		"$table with checksums: every use gives the right rows or a proper error");
	$node->safe_psql('postgres', "SELECT put('${table}_key')");
}
unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal|TRAP/, 'no process crashed');
$node->stop;

done_testing();
