# PgDense::Nbtree - functions that the tests of index_align's B-trees share
#
# The module has tables with B-trees of every alignment, and statements that make nbtree write all
# its types of WAL records.  Its functions count these records, and check that an index has the same
# rows as its table.
package PgDense::Nbtree;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(@shapes @opcodes @special create_shapes put work_sql work_through
  page_alignments btree_records find_records print_census check_contents check_structure);

# A "shape" describes a table, which has the name of the shape.  The table has the column id, the
# columns that are given here, and the column v.  The indexes NAME_k on the key and NAME_v on v have
# the same alignment.
#
#	values	the columns of row i; the keys of a unique shape ascend with i
#	rows	number of rows: enough for more than one level, and for several leaf pages
# more	number of further rows: enough to split a page that is alone on its level
our @shapes = (
	{
		name => 'short2',
		align => 2,
		columns => 'k int2',
		values => 'i',
		key => 'k',
		v => 'int2',
		rows => 1300,
		more => 620
	},
	{
		name => 'dups2',
		align => 2,
		columns => 'k int2',
		values => 'i % 2',
		key => 'k',
		v => 'int2',
		rows => 2400,
		more => 1500
	},
	# The length of column e differs from row to row.  No pivot tuple needs column e, because column
	# k before it is different in each row.
	{
		name => 'wide2',
		align => 2,
		columns => 'a name, b name, c name, d name, k int2, e name',
		values =>
		  q{repeat('a', 61), repeat('b', 60), repeat('c', 59), repeat('d', 58), i, repeat('e', i % 57)},
		key => 'a, b, c, d, k, e',
		v => 'bool',
		rows => 900,
		more => 80
	},
	{
		name => 'include2',
		align => 2,
		columns => 'k int2, u uuid, c "char"',
		values => q{i, md5(i::text)::uuid, chr(64 + i % 50)::"char"},
		key => 'k',
		include => 'u, c',
		v => '"char"',
		rows => 1500,
		more => 300
	},
	{
		name => 'nulls2',
		align => 2,
		columns => 'k int2, c "char", n name',
		values =>
		  q{nullif(i, i / 3 * 3), CASE WHEN i % 5 > 0 THEN chr(64 + i % 50)::"char" END, CASE WHEN i % 7 > 0 THEN repeat('n', i % 60) END},
		key => 'k, c, n',
		v => 'int2',
		rows => 1300,
		more => 600
	},
	{
		name => 'int4',
		align => 4,
		columns => 'k int4',
		values => 'i',
		key => 'k',
		v => 'int4',
		rows => 1300,
		more => 600
	},
	{
		name => 'dups4',
		align => 4,
		columns => 'k text',
		values => q{repeat('t', i % 2) || i % 2},
		key => 'k',
		v => 'int4',
		rows => 2400,
		more => 1500
	},
	{
		name => 'wide4',
		align => 4,
		columns => 'a text, k int4, e text',
		values => q{repeat('a', 310), i, repeat('e', i % 57)},
		key => 'a, k, e',
		v => 'text',
		rows => 900,
		more => 80
	},
	{
		name => 'include4',
		align => 4,
		columns => 'k int4, t text, n numeric',
		values => q{i, repeat('t', i % 41), i * 1.01},
		key => 'k',
		include => 't, n',
		v => 'int4',
		rows => 1500,
		more => 300
	},
	{
		name => 'nulls4',
		align => 4,
		columns => 'k int4, t text, s int2',
		values =>
		  q{nullif(i, i / 3 * 3), CASE WHEN i % 5 > 0 THEN repeat('t', i % 41) END, nullif(i % 7, 0)},
		key => 'k, t, s',
		v => 'int4',
		rows => 1300,
		more => 600
	},
	{
		name => 'int8',
		align => 8,
		columns => 'k int8',
		values => 'i',
		key => 'k',
		v => 'int8',
		rows => 1200,
		more => 450
	},
	{
		name => 'dups8',
		align => 8,
		columns => 'k int8',
		values => 'i % 2',
		key => 'k',
		v => 'int8',
		rows => 2400,
		more => 1500
	},
	{
		name => 'wide8',
		align => 8,
		columns => 'a text, k int8, e text',
		values => q{repeat('a', 310), i, repeat('e', i % 57)},
		key => 'a, k, e',
		v => 'float8',
		rows => 900,
		more => 80
	},
	{
		name => 'nulls8',
		align => 8,
		columns => 'k timestamptz, t text',
		values =>
		  q{to_timestamp(nullif(i, i / 3 * 3)), CASE WHEN i % 5 > 0 THEN repeat('t', i % 41) END},
		key => 'k, t',
		v => 'int8',
		rows => 1200,
		more => 450
	},
	# An index as a stock server builds it
	{
		name => 'max8',
		align => 8,
		columns => 'k int2',
		values => 'i',
		key => 'k',
		v => 'int2',
		with => 'WITH (item_alignment = max)',
		rows => 1300,
		more => 480
	},);

# All types of WAL records of nbtree
our @opcodes =
  qw(INSERT_LEAF INSERT_UPPER INSERT_META SPLIT_L SPLIT_R INSERT_POST DEDUP DELETE UNLINK_PAGE UNLINK_PAGE_META
  NEWROOT MARK_PAGE_HALFDEAD VACUUM REUSE_PAGE META_CLEANUP);

# Special cases of WAL records, which btree_records() counts, too
our @special = (
	'split of a posting list and a page',
	'split of an internal page',
	'deletion of an internal page',
	'posting lists shortened by VACUUM',
	'posting lists shortened by DELETE');

# Value of v in the N-th version of a row; @ stands for N
my %version = (
	bool => '(@ % 2 = 1)',
	'"char"' => '(chr(65 + @ % 26)::"char")',
	text => q{(repeat('v', @ % 9) || @)},
	map { $_ => "(@)::$_" } qw(int2 int4 int8 float8));

# create_shapes(NODE, DBNAME[, "UNLOGGED"]) - create the tables and indexes of all shapes
sub create_shapes
{
	my ($node, $dbname, $persistence) = @_;
	my $sql = '';
	$persistence //= '';

	for my $shape (@shapes)
	{
		my ($name, $with) = ($shape->{name}, $shape->{with} // '');
		my $include = $shape->{include} ? "INCLUDE ($shape->{include})" : '';
		$sql .= <<"SQL";
CREATE $persistence TABLE $name (id int, $shape->{columns}, v $shape->{v}) WITH (autovacuum_enabled = off);
CREATE INDEX ${name}_k ON $name ($shape->{key}) $include $with;
CREATE INDEX ${name}_v ON $name (v) $with;
SQL
	}
	$node->safe_psql($dbname, $sql);
}

# put(SHAPE, ROWS) - return the statement that inserts a row for each number i that the FROM clause
# ROWS returns
sub put
{
	my ($shape, $rows) = @_;
	my $v = $version{ $shape->{v} } =~ s/\@/0/gr;

	return "INSERT INTO $shape->{name} SELECT i, $shape->{values}, $v FROM $rows;\n";
}

# work_on(SHAPE, SEED) - return statements that make nbtree write all its types of WAL records for
# the indexes of a shape.  The same seed always gives the same statements.  Their effects are the
# same as well, unless snapshots of other sessions change these effects.
sub work_on
{
	my ($shape, $seed) = @_;
	my ($t, $rows, $more) = @$shape{qw(name rows more)};
	my $scan = "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;\n"
	  . "SELECT count(*) FROM (SELECT * FROM $t ORDER BY $shape->{key}) t;\nRESET ALL;\n";
	my $put = sub { return put($shape, @_) };
	# If a transaction ID is assigned between two VACUUMs, the second VACUUM can recycle the pages
	# that the first VACUUM deleted.
	my $vacuum = "VACUUM (INDEX_CLEANUP on, TRUNCATE off) $t;\n";
	my $recycle = "$vacuum SELECT txid_current();\n$vacuum";
	my $sql = "TRUNCATE $t;\n";

	# Insert ascending keys, then the keys between them in a random order.
	$sql .= $put->("generate_series(2, $rows, 2) i");
	$sql .= $put->("generate_series(1, $rows, 2) i ORDER BY hashint4(i + $seed)");
	$sql .= 'CHECKPOINT;' if $seed % 2;

	# Update column v.  The index on the unchanged key gets an entry for each new row version, too.
	# This causes bottom-up deletion.
	for my $version (1 .. 3)
	{
		$sql .=
			"UPDATE $t SET v = "
		  . ($version{ $shape->{v} } =~ s/\@/$version/gr)
		  . " WHERE id % 4 > 0 AND id < $rows / 2;\n";
	}
	$sql .= $vacuum;

	# A scan marks the entries of deleted rows as dead.  When their page is full, an insert removes
	# these entries (simple deletion).
	$sql .= "DELETE FROM $t WHERE id % 3 = 0;\n$scan";
	$sql .= $put->("generate_series(3, $rows, 3) i ORDER BY hashint4(i - $seed)");

	# Use TIDs again for rows with the same keys, so that the TIDs of the new rows fall within
	# posting lists.
	for my $i (1 .. 2)
	{
		$sql .= "DELETE FROM $t WHERE id % 5 = $i;\n$vacuum";
		$sql .= $put->("generate_series($i, $rows, 5) i ORDER BY hashint4(i # $seed)");
	}

	# Use TIDs again without deduplication.  There are more entries than the pages have room for.
	$sql .= "DELETE FROM $t WHERE id % 2 = 0 AND id < $rows / 2;\n$vacuum";
	$sql .=
	  "ALTER INDEX ${t}_k SET (deduplicate_items = off);\nALTER INDEX ${t}_v SET (deduplicate_items = off);\n";
	$sql .= $put->("generate_series(1, $rows / 2, 2) i");
	$sql .=
	  "ALTER INDEX ${t}_k RESET (deduplicate_items);\nALTER INDEX ${t}_v RESET (deduplicate_items);\n";

	# Delete all rows but one, so that pages become empty.  Mostly only the root and one leaf page
	# remain.  Then insert rows that split this page, and use the deleted pages again.
	for my $i (1 .. ($t =~ /wide/ ? 6 : 3))
	{
		my $last = $rows + ($i - 1) * $more;
		$sql .= "DELETE FROM $t WHERE id <> $last;\n$recycle";
		$sql .= $put->("generate_series($last + 1, $last + $more) i");
	}
	return $sql;
}

# work_sql(SEED) - return the statements of work_on() for all shapes
sub work_sql
{
	my ($seed) = @_;

	return join('', map { work_on($_, $seed) } @shapes);
}

sub work_through
{
	my ($node, $dbname, $seed) = @_;

	return $node->safe_psql($dbname, work_sql($seed));
}

# files(NODE, DBNAME) - return a hash from each file to the index of a shape that the file belongs
# to now
sub files
{
	my ($node, $dbname) = @_;
	my %indexes = map { ("$_->{name}_k" => 1, "$_->{name}_v" => 1) } @shapes;
	my %files = map { reverse split /\|/ } split /\n/, $node->safe_psql($dbname, <<'SQL');
SELECT c.relname, concat_ws('/', CASE reltablespace WHEN 0 THEN dattablespace ELSE reltablespace END, d.oid, pg_relation_filenode(c.oid))
FROM pg_class c JOIN pg_am a ON a.oid = relam, pg_database d WHERE amname = 'btree' AND datname = current_database()
SQL
	return { map { $_ => $files{$_} } grep { $indexes{ $files{$_} } } keys %files };
}

# dump_btree(NODE, DBNAME, FROM, TO, FUNCTION) - call the function with each record of nbtree
# between the LSNs FROM and TO: a hash with index (if it is an index of a shape and still has the
# same file), op, align as the record has it, and line
sub dump_btree
{
	my ($node, $dbname, $from, $to, $function) = @_;
	my $files = files($node, $dbname);

	open my $dump, '-|', 'pg_waldump', '--rmgr=Btree', '--path=' . $node->data_dir . '/pg_wal',
	  "--start=$from", "--end=$to"
	  or die "pg_waldump: $!";
	while (<$dump>)
	{
		my ($desc) = /desc: (.*)/ or next;
		my ($file) = $desc =~ m{rel:? (\d+/\d+/\d+)} or next;
		my ($op, $align) =
			$desc =~ /^ALIGNED op: (\w+), align: (\d)/ ? ($1, $2)
		  : $desc =~ /^(\w+)/                          ? ($1, 8)
		  :                                              ('unknown', 8);
		$function->({ index => $files->{$file}, op => $op, align => $align, line => $_ });
	}
	close $dump or die "pg_waldump failed: $?";
}

# find_records(NODE, DBNAME, FROM, TO, INDEX, OP, PATTERN) - return the LSNs of the matching records
# of an index
sub find_records
{
	my ($node, $dbname, $from, $to, $index, $op, $pattern) = @_;
	my @found;

	dump_btree(
		$node, $dbname, $from, $to,
		sub {
			my ($record) = @_;
			push @found, $record->{line} =~ /lsn: ([0-9A-F\/]+)/
			  if ($record->{index} // '') eq $index
			  && $record->{op} =~ $op
			  && $record->{line} =~ $pattern;
		});
	return @found;
}

# btree_records(NODE, DBNAME, FROM, TO) - count the WAL records between the LSNs FROM and TO for the
# indexes of the shapes; return a hash from alignment and opcode to the number.  Count special cases
# as well, and records with a wrong alignment under "wrong".
sub btree_records
{
	my ($node, $dbname, $from, $to) = @_;
	my %align = map { ("$_->{name}_k" => $_->{align}, "$_->{name}_v" => $_->{align}) } @shapes;
	my %count;

	dump_btree(
		$node, $dbname, $from, $to,
		sub {
			my ($record) = @_;
			my ($op, $line) = @$record{qw(op line)};

			# Skip other relations: catalogs, and relations that have another file now.
			if (!defined $record->{index})
			{
				$count{ $record->{align} }{elsewhere}++;
				return;
			}
			my $align = $align{ $record->{index} };
			# REUSE_PAGE changes no page: it only makes a standby cancel old snapshots.
			if ($record->{align} != $align && $op ne 'REUSE_PAGE')
			{
				$count{$align}{wrong}++;
				diag "an index of alignment $align: $line" if $count{$align}{wrong} < 5;
			}
			$count{$align}{$op}++;
			$count{$align}{'split of a posting list and a page'}++
			  if $op =~ /^SPLIT/ && $line =~ /postingoff: [1-9]/;
			$count{$align}{'split of an internal page'}++
			  if $op =~ /^SPLIT/ && $line =~ /level: [1-9]/;
			$count{$align}{"posting lists shortened by $op"}++
			  if $op =~ /^(VACUUM|DELETE)$/ && $line =~ /nupdated: [1-9]/;
			$count{$align}{'deletion of an internal page'}++
			  if $op =~ /^UNLINK/ && $line =~ /level: [1-9]/;
			$count{$align}{'page image applied'}++ if $line =~ /\bFPW\b(?! for WAL verification)/;
		});
	return \%count;
}

# print_census(TITLE, COUNT...) - add up the results of btree_records(), and show the sums
sub print_census
{
	my ($title, @counts) = @_;
	my (%sum, %names);

	for my $count (@counts)
	{
		for my $align (2, 4, 8)
		{
			for my $op (keys %{ $count->{$align} // {} })
			{
				$sum{$align}{$op} += $count->{$align}{$op};
				$names{$op} = 1;
			}
		}
	}
	delete @names{ @opcodes, @special };
	note sprintf('%-42s %8s %8s %8s', $title, map { "align $_" } 2, 4, 8);
	for my $op (@opcodes, @special, sort keys %names)
	{
		note sprintf('%-42s %8d %8d %8d', $op, map { $sum{$_}{$op} // 0 } 2, 4, 8);
	}
}

# contents(NODE, DBNAME) - read the table of each shape by a sequential scan and by each kind of
# index scan; return the number and a checksum of the rows that each scan finds
sub contents
{
	my ($node, $dbname) = @_;
	my $sum = 'count(*), sum(hashtextextended(x::text, 0)::numeric)';
	my $sql = '';

	for my $shape (@shapes)
	{
		my ($t, $key) = @$shape{qw(name key)};
		my $all = join(', ', $key, $shape->{include} // ());
		$sql .= <<"SQL";
SET enable_seqscan = on; SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SET enable_sort = on;
SELECT '$t rows seq', $sum FROM $t x;
SELECT '$t keys seq', $sum FROM (SELECT $all FROM $t OFFSET 0) x;
SET enable_seqscan = off; SET enable_indexscan = on; SET enable_sort = off;
EXPLAIN (COSTS off) SELECT $sum FROM (SELECT * FROM $t ORDER BY $key OFFSET 0) x;
SELECT '$t rows ${t}_k', $sum FROM (SELECT * FROM $t ORDER BY $key OFFSET 0) x;
SELECT '$t rows ${t}_v', $sum FROM (SELECT * FROM $t ORDER BY v OFFSET 0) x;
SELECT '$t rows ${t}_k', $sum FROM (SELECT * FROM $t ORDER BY @{[ join ', ', map { "$_ DESC" } split /, /, $key ]} OFFSET 0) x;
SET enable_indexonlyscan = on;
SELECT '$t keys ${t}_k', $sum FROM (SELECT $all FROM $t ORDER BY $key OFFSET 0) x;
SQL
	}
	return $node->safe_psql($dbname, $sql);
}

# check_contents(NODE, DBNAME, WHAT) - test that index scans find the same rows as sequential scans
sub check_contents
{
	my ($node, $dbname, $what) = @_;
	my $contents = contents($node, $dbname);
	my (%seq, @bad);

	for (split /\n/, $contents)
	{
		my ($t, $part, $by, $found) = /^(\w+) (rows|keys) (\w+)\|(.*)/ or next;
		$seq{"$t $part"} = $found if $by eq 'seq';
		push @bad, "$by: $found instead of " . $seq{"$t $part"} if $found ne $seq{"$t $part"};
	}
	push @bad, map { "no scan of $_->{name}_k" }
	  grep { $contents !~ /Index Scan (Backward )?using $_->{name}_k / } @shapes;
	is_deeply(\@bad, [], "$what: indexes hold what the tables hold");
	return $contents;
}

# check_structure(NODE, DBNAME, WHAT[, SCHEMA]) - check every valid B-tree of the database, or of
# the schema, with amcheck.  On a standby, amcheck cannot take the locks for all its checks.
sub check_structure
{
	my ($node, $dbname, $what, $schema) = @_;
	my $where = $schema ? "relnamespace = '$schema'::regnamespace" : 'true';
	my $standby = $node->safe_psql($dbname, 'SELECT pg_is_in_recovery()') eq 't';
	my $check =
	  $standby ? 'bt_index_check(c.oid, true)' : 'bt_index_parent_check(c.oid, true, true)';
	my ($ret, $stdout, $stderr) = $node->psql($dbname, <<"SQL");
SET client_min_messages = warning;
SELECT c.relname, $check FROM pg_class c JOIN pg_index ON indexrelid = c.oid JOIN pg_am a ON a.oid = c.relam
WHERE amname = 'btree' AND indisvalid AND $where AND c.relkind = 'i' AND c.relpersistence <> 't'
  AND NOT (c.relpersistence = 'u' AND pg_is_in_recovery());
SQL
	my $n = split /\n/, $stdout;
	is("$ret " . ($n > 0 ? '' : 'no index ') . $stderr, '0 ', "$what: structure of $n indexes");
}

# page_alignments(NODE, DBNAME, INDEX...) - return a hash from each index to the alignments of its
# pages, except those that an interrupted split left empty
sub page_alignments
{
	my ($node, $dbname, @indexes) = @_;
	my $list = join(',', map { "'$_'" } @indexes);

	return { map { split /\|/, $_, 2 } split /\n/, $node->safe_psql($dbname, <<"SQL") };
SELECT index, string_agg(DISTINCT (8 >> ((flags & 768) >> 8))::text, ' ')
FROM unnest(ARRAY[$list]) index, generate_series(0, pg_relation_size(index::regclass) / 8192 - 1) blk,
  page_header(get_raw_page(index, blk))
WHERE upper > 0 AND NOT (lower = 24 AND flags & 768 = 0) GROUP BY index
SQL
}

1;
