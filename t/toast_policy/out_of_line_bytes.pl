# Compute the bytes that a value takes in its row or out of line, and compare them with the pages of
# the table, of its TOAST table and of the index of that.  Also compare the WAL records of
# statements on a small row, whose value is out of line, with those in a table of heap with a large
# value: an UPDATE of other columns must not touch the TOAST table.
use strict;
use warnings FATAL => 'all';

use POSIX qw(ceil floor);
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::OutOfLine;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant {
	BLOCK => 8192,
	PAGE_HEADER => 24,
	LINE_POINTER => 4,
	TUPLE_HEADER => 24,    # aligned
	POINTER => 18,
	CHUNK => 1996,
	BTREE_SPECIAL => 16,
	INDEX_TUPLE => 16,     # header, chunk_id and chunk_seq
	ROWS => 450
};

my $node = PostgreSQL::Test::Cluster->new('bytes');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf',
	"fsync = off\nautovacuum = off\nfull_page_writes = off\nclient_min_messages = warning\n");
$node->start;
$node->safe_psql('postgres', $functions);
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION toast_policy;
CREATE EXTENSION pageinspect;
CREATE EXTENSION pg_walinspect;
-- Return the lengths of the rows of a table, each with the number of rows that have it.
CREATE FUNCTION rows_of(rel regclass) RETURNS text LANGUAGE sql AS $$
SELECT string_agg(n || ' of ' || lp_len, ', ' ORDER BY lp_len) FROM (SELECT lp_len, count(*) AS n FROM generate_series(0, pg_relation_size(rel) / 8192 - 1) b,
	heap_page_items(get_raw_page(rel::text, b::int)) WHERE lp_flags = 1 GROUP BY lp_len) x $$;
-- Return the number of entries on the leaf pages of an index, without high keys, the lengths of
-- the entries, and whether the free space of each leaf page is what other pages leave.
CREATE FUNCTION entries_of(index regclass) RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(' ', sum(live_items - CASE WHEN btpo_next = 0 THEN 0 ELSE 1 END),
	(SELECT string_agg(DISTINCT itemlen::text, ',') FROM generate_series(1, pg_relation_size(index) / 8192 - 1) b, bt_page_items(index::text, b::int)
		WHERE (SELECT type FROM bt_page_stats(index::text, b::int)) = 'l'),
	string_agg(DISTINCT (free_size + (live_items + dead_items) * 20)::text, ','))
FROM generate_series(1, pg_relation_size(index) / 8192 - 1) b, bt_page_stats(index::text, b::int) WHERE type = 'l' $$;
-- Return the names of a table's TOAST table and of the index of that.
CREATE FUNCTION toast_of(rel regclass) RETURNS SETOF regclass LANGUAGE sql AS
$$ SELECT indrelid::regclass FROM pg_index WHERE indrelid = (SELECT reltoastrelid FROM pg_class WHERE oid = rel) UNION ALL
SELECT indexrelid FROM pg_index WHERE indrelid = (SELECT reltoastrelid FROM pg_class WHERE oid = rel) $$;
SQL

sub maxalign { return 8 * ceil($_[0] / 8); }

# Return the size of the file that has that many rows of a length.
sub file_size
{
	my ($rows, $length) = @_;
	my $in_page = floor((BLOCK - PAGE_HEADER) / (maxalign($length) + LINE_POINTER));

	return BLOCK * ceil($rows / $in_page);
}

# Check the sizes of a table whose rows have two integers, a text of 79 bytes and a value of SIZE
# bytes, which goes out of line from LIMIT bytes on.
sub sizes_are
{
	my ($table, $size, $limit, $what) = @_;
	# A value of up to 126 bytes has a short header.  Longer values are aligned.
	my $before = TUPLE_HEADER + 4 + 4 + 1 + 79;
	my $stored = $size <= 126 ? 1 + $size : 4 + $size;
	my $out = $stored >= $limit;
	my $row =
	  $out ? $before + POINTER : $size <= 126 ? $before + $stored : 4 * ceil($before / 4) + $stored;
	my ($toast, $index) =
	  split /\n/, $node->safe_psql('postgres', "SELECT toast_of('$table')");

	is( $node->safe_psql('postgres', "SELECT rows_of('$table')"),
		ROWS . " of $row",
		"$what: the length of the rows");
	is( $node->safe_psql('postgres', "SELECT pg_relation_size('$table')"),
		file_size(ROWS, $row),
		"$what: the size of the table");
	if (!$out)
	{
		is( $node->safe_psql(
				'postgres', "SELECT pg_relation_size('$toast'), pg_relation_size('$index')"),
			'0|' . BLOCK,
			"$what: no value is out of line");
		return;
	}

	# Chunks have an integer each for the value and the number, and a header that is aligned.
	my %chunks;
	for (my $left = $size; $left > 0; $left -= CHUNK)
	{
		$chunks{ TUPLE_HEADER + 4 + 4 + 4 + ($left > CHUNK ? CHUNK : $left) } += ROWS;
	}
	is( $node->safe_psql('postgres', "SELECT rows_of('$toast')"),
		join(', ', map { "$chunks{$_} of $_" } sort { $a <=> $b } keys %chunks),
		"$what: the length of the chunks");
	is( $node->safe_psql('postgres', "SELECT pg_relation_size('$toast')"),
		file_size(ROWS, keys %chunks),
		"$what: the size of the TOAST table") if keys %chunks == 1;
	my $entries = 0;
	$entries += $_ for values %chunks;
	is( $node->safe_psql('postgres', "SELECT entries_of('$index')"),
		"$entries " . INDEX_TUPLE . ' ' . (BLOCK - PAGE_HEADER - BTREE_SPECIAL - LINE_POINTER),
		"$what: the entries of its index");
	return;
}

for my $case (
	(map { [ $_, 128 ] } 32, 64, 100, 123, 124, 126, 127, 128, 130, 200, 256, 400, 500, 777, 1000),
	(map { [ $_, 500 ] } 126, 200, 495, 496, 500, 1000),
	[ 1996, 128 ],
	[ 1997, 128 ])
{
	my ($size, $limit) = @$case;
	my $table = "t_${size}_$limit";

	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (id int, n int, h text, v text);
SELECT toast_policy.enable_out_of_line('$table', $limit, 'v');
INSERT INTO $table SELECT i, 0, noise(79, i), noise($size, -i) FROM generate_series(1, @{[ROWS]}) i;
SQL
	sizes_are($table, $size, $limit, "$size bytes, limit $limit");

	# Rows that were there before get the same sizes by a rewrite.
	next if $size != 127 && $size != 400;
	my ($command) = $size == 127 ? "SELECT toast_policy.recompress('%s')" : 'VACUUM FULL %s';
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE again_$table AS SELECT * FROM $table;
SELECT toast_policy.enable_out_of_line('again_$table', $limit, 'v');
SQL
	$node->safe_psql('postgres', sprintf $command, "again_$table");
	sizes_are("again_$table", $size, $limit, "$size bytes, limit $limit, " . lc substr $command,
		0, 6);
}

#
# WAL
#

# Both tables have the same rows except for the size of v.  The value of the first is out of line
# because of the access method, and that of the second because it is large.
for my $table ('small', 'large')
{
	my $size = $table eq 'small' ? 300 : 3000;

	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (id int PRIMARY KEY, n int, m int, h text, v text) WITH (fillfactor = 50);
CREATE INDEX ON $table (m);
ALTER TABLE $table ALTER v SET STORAGE EXTERNAL;
INSERT INTO $table SELECT i, 0, 0, noise(79, i), 'short' FROM generate_series(1, 40) i;
SQL
	$node->safe_psql('postgres', "SELECT toast_policy.enable_out_of_line('small', 128, 'v')")
	  if $table eq 'small';
	$node->safe_psql('postgres', "UPDATE $table SET v = noise($size, id); VACUUM $table");
}

# Run a statement on a table.  Return the WAL records of its transaction, each with its length and
# the relations that it changes.
sub records
{
	my ($table, $statement) = @_;
	my $size = $table eq 'small' ? 300 : 3000;

	my $sql = $statement =~ s/\@/$table/gr =~ s/SIZE/$size/gr;
	my ($xid, $from, $to) = split /\|/, $node->safe_psql('postgres', <<"SQL");
SELECT pg_current_wal_insert_lsn() AS before \\gset
BEGIN;
SELECT pg_current_xact_id() AS xid \\gset
$sql;
COMMIT;
SELECT :'xid', :'before', pg_current_wal_flush_lsn();
SQL
	my %names = map { split /\|/ } split /\n/, $node->safe_psql('postgres', <<"SQL");
SELECT pg_relation_filenode(oid), replace(oid::regclass::text, '$table', 't') FROM pg_class WHERE relname ~ '^$table' AND relkind IN ('r', 'i')
UNION ALL SELECT pg_relation_filenode(t), CASE WHEN t::text ~ 'index' THEN 'toast index' ELSE 'toast' END FROM toast_of('$table') t
SQL
	return map {
		my ($record, $blocks) = split /\|/, $_, 2;
		join ' ', $record, map { $names{$_} // 'other' } $blocks =~ m{rel \d+/\d+/(\d+)}g
	} split /\n/, $node->safe_psql('postgres', <<"SQL");
SELECT resource_manager || ' ' || record_type || ' ' || record_length, block_ref FROM pg_get_wal_records_info('$from', '$to') WHERE xid = '$xid' ORDER BY start_lsn
SQL
}

my %sum;
for my $case (
	[ 'UPDATE @ SET n = n + 1 WHERE id = 1', 'LOCK HOT_UPDATE' ],
	[ 'UPDATE @ SET n = n + 1 WHERE id = 1', 'LOCK HOT_UPDATE' ],
	[ "UPDATE \@ SET h = noise(70, 1) WHERE id = 2", 'LOCK HOT_UPDATE' ],
	[ 'UPDATE @ SET v = v, n = 1 WHERE id = 3', 'LOCK HOT_UPDATE' ],
	[
		"INSERT INTO \@ VALUES (4, 0, 0, 'x', noise(SIZE, 99)) ON CONFLICT (id) DO UPDATE SET n = excluded.n + 1",
		'LOCK LOCK HOT_UPDATE'
	],
	[
		'MERGE INTO @ USING (VALUES (5)) s (id) ON @.id = s.id WHEN MATCHED THEN UPDATE SET n = 9',
		'LOCK HOT_UPDATE'
	],
	# another version of an indexed column: no HOT, but no chunk either
	[ 'UPDATE @ SET m = 5 WHERE id = 6', 'LOCK UPDATE' ],
	[ 'UPDATE @ SET v = noise(SIZE, 77) WHERE id = 7', 'LOCK toast HOT_UPDATE' ],
	[ "UPDATE \@ SET v = 'short' WHERE id = 8", 'LOCK toast HOT_UPDATE' ],
	[ 'DELETE FROM @ WHERE id = 9', 'DELETE toast' ],
	[ 'INSERT INTO @ VALUES (100, 0, 0, noise(79, 1), noise(SIZE, 1))', 'toast INSERT' ])
{
	my ($statement, $expected) = @$case;
	my %records = map { $_ => [ records($_, $statement) ] } 'small', 'large';
	my @small = @{ $records{small} };
	# Leave out the removal of dead versions from the page.
	my @table = grep { /^Heap .* t(?: |$)/ } @small;
	my @toast = grep { /toast/ } @small;

	cmp_ok(scalar(@small), '>=', 2, "$statement: there are records");
	# The chunks of the large value are longer.
	is( join("\n", grep { !/toast/ } @small),
		join("\n", grep { !/toast/ } @{ $records{large} }),
		"$statement: the records are those of heap") if $expected !~ /INSERT/;
	is( join(' ', map { /^Heap (\w+)/ } @table),
		$expected =~ s/(?:^| )toast//r =~ s/^ //r,
		"$statement: the records of the table");
	if ($expected =~ /toast/)
	{
		cmp_ok(scalar(@toast), '>', 0, "$statement: changes the TOAST table");
	}
	else
	{
		is(join("\n", @toast), '', "$statement: changes nothing in the TOAST table");
	}
	$sum{$statement} = 0;
	$sum{$statement} += $_ for map { /^Heap \w+ (\d+)/ } @table;
}
note "$_: $sum{$_} bytes of WAL for the row" for sort keys %sum;

# Many updates of other columns
my ($toast) = split /\n/, $node->safe_psql('postgres', "SELECT toast_of('small')");
my $chunks =
  qq{SELECT pg_total_relation_size('$toast'), md5(string_agg(concat_ws(' ', ctid, xmin, xmax, chunk_id, chunk_seq), ',' ORDER BY ctid)) FROM $toast};
my $before = $node->safe_psql('postgres', $chunks);
my $updates = <<'SQL';
SELECT pg_stat_force_next_flush() \g /dev/null
SELECT pg_stat_get_tuples_updated('small'::regclass), pg_stat_get_tuples_hot_updated('small'::regclass);
SQL
my ($all, $hot) = split /\|/, $node->safe_psql('postgres', $updates);
my ($all_after, $hot_after) = split /\|/, $node->safe_psql('postgres', <<'SQL' . $updates);
DO $$ BEGIN
	FOR i IN 1 .. 40 LOOP
		UPDATE small SET n = n + 1 WHERE id BETWEEN 11 AND 20;
		COMMIT;
	END LOOP;
END $$;
SQL
is(join(' ', $all_after - $all, $hot_after - $hot), '400 400', '400 updates are HOT');
is($node->safe_psql('postgres', $chunks), $before, 'and change nothing in the TOAST table');

$node->stop;
done_testing();
