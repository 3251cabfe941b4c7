# With default_index_item_alignment = max, the default, the server patch of index_align changes
# nothing on disk.  Run the same statements on a stock server and on the patched one.  Check that
# every index and every WAL record of nbtree has the same bytes on both servers.  Even if the
# setting is auto, indexes of the catalogs are the same as on the stock server.
use strict;
use warnings FATAL => 'all';

use Digest::SHA qw(sha1_hex);
use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::IndexAlign;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('index_align', 'default_index_item_alignment');
my $stock_path = stock_path();

# Use one session, and no background process that writes or sees rows.
my $conf = <<'CONF';
fsync = off
autovacuum = off
wal_level = logical
max_wal_senders = 0
checkpoint_timeout = 1d
max_wal_size = 4GB
wal_keep_size = 2GB
max_connections = 20
shared_buffers = 64MB
bgwriter_lru_maxpages = 0
wal_writer_delay = 10s
max_parallel_maintenance_workers = 0
max_parallel_workers_per_gather = 0
jit = off
CONF

sub init
{
	my ($name, $path, @options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, install_path => $path);

	$node->init(extra => [ '--encoding=UTF8', '--locale=C', '--wal-segsize=16', @options ]);
	$node->append_conf('postgresql.conf', $conf);
	$node->start;
	return $node;
}

# Write every kind of nbtree record: splits to both sides, also splits of posting lists; new roots;
# deduplication; deletion by scans, by VACUUM and bottom-up; deletion of whole pages, and their
# reuse.  Do this before and after a checkpoint, because WAL has page images after a checkpoint.
my $workload = <<'SQL';
CREATE TABLE t (id int PRIMARY KEY, s int2, c "char", u uuid, n numeric, v text, b int8, d float8, o int, f bool) WITH (fillfactor = 70);
CREATE INDEX t_s ON t (s);
CREATE INDEX t_c ON t (c);
CREATE INDEX t_u ON t (u);
CREATE INDEX t_v ON t (v);
CREATE INDEX t_n ON t (n, s) WITH (fillfactor = 50);
CREATE INDEX t_b ON t (b) WITH (deduplicate_items = off);
CREATE INDEX t_three ON t (o, s, id);
CREATE INDEX t_include ON t (o) INCLUDE (s, v);
CREATE INDEX t_expression ON t ((id % 7), lower(v));
CREATE INDEX t_partial ON t (d) WHERE f;
CREATE FUNCTION fill(low int, high int) RETURNS void LANGUAGE sql AS $$
INSERT INTO t SELECT i, i % 500, chr(65 + i % 26)::"char", md5(i::text)::uuid, i * 1.5, CASE WHEN i % 9 > 0 THEN 'text ' || md5(i::text) END, -i, i / 3.0, i % 100, i % 3 = 0
FROM generate_series(low, high) i $$;
SELECT fill(1, 1500);
SELECT fill(-1000, 0);
CHECKPOINT;
SELECT fill(5000, 8000);
-- Insert keys in no order.
INSERT INTO t SELECT 200000 + i * 7919 % 10007, i % 10, 'x', md5('u' || i)::uuid, i * 7919 % 101, 'word ' || i * 7919 % 10007, i * 7919 % 1009, 0.5, i % 3, true FROM generate_series(1, 1500) i;
CHECKPOINT;
UPDATE t SET o = o + 1 WHERE id % 5 = 0;
UPDATE t SET f = NOT f, s = s + 1;
UPDATE t SET v = v || '.' WHERE id < 1000;
DELETE FROM t WHERE id BETWEEN 5500 AND 7500;
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE id BETWEEN 5000 AND 7800;
SELECT count(*) FROM t WHERE s BETWEEN 10 AND 300;
VACUUM t;
SELECT fill(30000, 31000);
VACUUM t;
DELETE FROM t WHERE id % 2 = 0 AND id < 5000;
VACUUM (INDEX_CLEANUP on) t;
CHECKPOINT;
SELECT fill(40000, 41500);
DELETE FROM t WHERE id > 10000;
VACUUM t;
SELECT fill(50000, 52000);
BEGIN;
SELECT fill(70000, 70500);
ROLLBACK;
-- Write row versions whose index entries are deleted as pages fill up.
CREATE TABLE churn (id int PRIMARY KEY, a int, b int2) WITH (fillfactor = 100);
CREATE INDEX churn_a ON churn (a);
CREATE INDEX churn_b ON churn (b);
INSERT INTO churn SELECT i, i, i FROM generate_series(1, 300) i;
DO $$ BEGIN FOR i IN 1 .. 30 LOOP UPDATE churn SET a = a + 1; COMMIT; END LOOP; END $$;
DO $$ BEGIN FOR i IN 1 .. 30 LOOP UPDATE churn SET b = -b; COMMIT; END LOOP; END $$;
INSERT INTO churn SELECT i, i, i FROM generate_series(200, 400) i ON CONFLICT (id) DO UPDATE SET a = excluded.a + 1000;
-- Make an index of three levels, with keys of up to a third of a page.
CREATE TABLE wide (v text, e text);
ALTER TABLE wide ALTER v SET STORAGE PLAIN;
CREATE INDEX wide_v ON wide (v);
INSERT INTO wide SELECT lpad(i::text, 200 + i % 2400, 'w') FROM generate_series(1, 400) i;
INSERT INTO wide SELECT lpad((i * 7919 % 1009)::text, 500, 'v') FROM generate_series(1, 400) i;
-- builds
CREATE INDEX t_built ON t (v, o);
CREATE INDEX t_built_dups ON t (s);
CREATE UNIQUE INDEX t_built_unique ON t (b, id) INCLUDE (u);
REINDEX INDEX t_three;
REINDEX INDEX CONCURRENTLY t_s;
CREATE INDEX CONCURRENTLY t_concurrent ON t (c, s);
CLUSTER churn USING churn_a;
TRUNCATE wide;
INSERT INTO wide SELECT 'again';
ALTER TABLE churn ALTER b TYPE int8;
VACUUM FULL t;
CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY, v text);
INSERT INTO unlogged SELECT i, 'row ' || i FROM generate_series(1, 2000) i;
CREATE TABLE parts (id int, v text) PARTITION BY HASH (id);
CREATE INDEX parts_id ON parts (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT i, 'row ' || i FROM generate_series(1, 3000) i;
CREATE TABLE hashed (id int, p point, a int[]);
CREATE INDEX hashed_id ON hashed USING hash (id);
CREATE INDEX hashed_p ON hashed USING gist (p);
CREATE INDEX hashed_q ON hashed USING spgist (p);
CREATE INDEX hashed_a ON hashed USING gin (a);
CREATE INDEX hashed_b ON hashed USING brin (id);
INSERT INTO hashed SELECT i, point(i, -i), ARRAY[i % 10, i] FROM generate_series(1, 3000) i;
DELETE FROM hashed WHERE id % 3 = 0;
VACUUM hashed;
SQL

# numbers of the resource managers
my ($btree, $xlog, $standby) = (11, 0, 8);

# Return all WAL between two LSNs, without page headers.
sub wal_between
{
	my ($node, $from, $to) = @_;
	my $segment_size = 16 * 1024 * 1024;
	my ($begin, $end) =
	  map { my ($high, $low) = split m{/}, $_; (hex($high) << 32) + hex $low } $from, $to;
	my $wal = '';
	my $skip = 0;

	for (my $page = $begin - $begin % 8192; $page < $end; $page += 8192)
	{
		my $number = int($page / $segment_size);
		my $path = sprintf '%s/pg_wal/%08X%08X%08X', $node->data_dir, 1, int($number / 256),
		  $number % 256;
		open my $file, '<:raw', $path or die "could not open $path: $!";
		seek $file, $page % $segment_size, 0 or die "could not seek in $path: $!";
		read($file, my $bytes, 8192) == 8192 or die "could not read $path";
		my $header = unpack('S', substr($bytes, 2, 2)) & 2 ? 40 : 24;
		my $first = $page < $begin ? $begin - $page : 0;
		$first = $header if $first < $header;
		my $last = $page + 8192 > $end ? $end - $page : 8192;
		$wal .= substr($bytes, $first, $last - $first) if $last > $first;
	}
	return $wal;
}

# Return the records in this WAL: [manager, info, relations, main data, the rest].  Leave out the
# fields that differ in any case: the LSN and checksum of page images, the link to the previous
# record, and the CRC.
sub records
{
	my ($wal) = @_;
	my @records;
	my $at = 0;

	while ($at + 24 <= length $wal)
	{
		my ($total, $xid, $prev, $info, $manager) = unpack 'L L Q C C', substr($wal, $at, 18);
		die "no record at $at" if $total < 24 || $at + $total > length $wal;
		my $record = substr $wal, $at, $total;
		my ($offset, $main, @blocks) = (24, 0);
		my $data = $total;
		my $headers = '';
		my $sum = 0;

		while ($offset < $total && $offset < $data)
		{
			my $id = unpack 'C', substr($record, $offset++, 1);
			if    ($id == 255) { $main = unpack 'C', substr($record, $offset++, 1); $sum += $main; }
			elsif ($id == 254)
			{
				$main = unpack 'L', substr($record, $offset, 4);
				$offset += 4;
				$sum    += $main;
			}
			elsif ($id == 253) { $offset += 2; }
			elsif ($id == 252) { $offset += 4; }
			else
			{
				my ($fork, $length) = unpack 'C S', substr($record, $offset, 3);
				my ($image, $hole, $image_info) = (0, 0, 0);
				$offset += 3;
				if ($fork & 0x10)
				{
					($image, $hole, $image_info) = unpack 'S S C', substr($record, $offset, 5);
					$offset += 5;
					die 'compressed' if $image_info & 0x1c;
				}
				my $locator = '';
				if (!($fork & 0x80)) { $locator = substr $record, $offset, 12; $offset += 12; }
				my $block = unpack 'L', substr($record, $offset, 4);
				$offset += 4;
				push @blocks,
				  {
					image => $image,
					length => $length,
					head =>
					  join(',', $id, $fork, $hole, $image_info, unpack('H*', $locator), $block)
				  };
				$sum += $image + $length;
			}
			$data = $total - $sum;
		}
		my @parts;
		for my $block (@blocks)
		{
			my $image = substr $record, $offset, $block->{image};
			$offset += $block->{image};
			substr($image, 0, 10) = '' if $image ne '';
			my $bytes = substr $record, $offset, $block->{length};
			$offset += $block->{length};
			# The server does not set the last bytes of xl_btree_metadata.
			substr($bytes, 25, 3) = "\0" x 3
			  if $manager == $btree
			  && length $bytes == 28
			  && ($info & 0xf0) =~ /^(32|144|160|224)$/;
			push @parts,
				$block->{head} . ' '
			  . length($image) . ' '
			  . sha1_hex($image) . ' '
			  . unpack('H*', $bytes);
		}
		push @records,
		  {
			manager => $manager,
			info => $info,
			total => $total,
			xid => $xid,
			main => unpack('H*', substr($record, $offset)),
			blocks => \@parts,
			text => join(' ',
				$manager, $info, $xid, $total, unpack('H*', substr($record, $offset)), @parts)
		  };
		$at += ($total + 7) & ~7;
	}
	return @records;
}

my (%files, %wal, %waldump, %kinds, %rows);
my $nodes = { stock => init('stock', $stock_path), patched => init('patched') };

# Run the workload on both servers.  The two servers differ only in their programs.
for my $server ('stock', 'patched')
{
	my $node = $nodes->{$server};
	my ($from, $to);

	$from = $node->safe_psql('postgres', 'SELECT pg_switch_wal()')
	  && $node->safe_psql('postgres', 'SELECT pg_current_wal_lsn()');
	$rows{$server} = $node->safe_psql('postgres', $workload);
	# CHECKPOINT writes another record after the last record of the workload.
	$to = $node->safe_psql('postgres', 'CHECKPOINT; SELECT pg_current_wal_insert_lsn()');
	$wal{$server} = [ records(wal_between($node, $from, $to)) ];
	my ($out, $err) = run_command(
		[
			"$stock_path/bin/pg_waldump", '-p', $node->data_dir . '/pg_wal', '-s',
			$from, '-e', $to, '-r',
			'Btree'
		]);
	is($err, '', "$server: the stock pg_waldump reads the WAL");
	$out =~ s/, lsn: \S+, prev \S+,//g;
	$waldump{$server} = [ split /\n/, $out ];
	for my $line (
		split /\n/,
		$node->safe_psql(
			'postgres',
			q{SELECT oid::regclass, pg_relation_filepath(oid) FROM pg_class WHERE relkind = 'i' ORDER BY oid::regclass::text COLLATE "C"}
		))
	{
		my ($index, $path) = split /\|/, $line;
		$files{$server}{$index} = $path;
	}
	$node->stop;
	for my $index (keys %{ $files{$server} })
	{
		my $content = slurp_file($node->data_dir . "/$files{$server}{$index}");

		# Leave out LSN and checksum.
		substr($content, $_ * 8192, 10) = "\0" x 10 for 0 .. length($content) / 8192 - 1;
		# A GiST page also has a node sequence number, which is an LSN.  Leave this number out as
		# well.
		if ($index eq 'hashed_p')
		{
			substr($content, $_ * 8192 - 16, 8) = "\0" x 8 for 1 .. length($content) / 8192;
		}
		$files{$server}{$index} .= ' ' . length($content) . ' ' . sha1_hex($content);
	}
}
is($rows{patched}, $rows{stock}, 'both servers give the same answers');

# Compare the files.
my @ours = grep { !/^pg_/ } sort keys %{ $files{stock} };
cmp_ok(scalar(@ours), '>', 25, 'there are indexes to compare');
is_deeply(
	[ sort keys %{ $files{patched} } ],
	[ sort keys %{ $files{stock} } ],
	'both servers have the same indexes');
my @different = grep { ($files{patched}{$_} // '') ne $files{stock}{$_} } @ours;
is("@different", '', 'indexes have the same bytes in files of the same names');
my @catalogs =
  grep { /^pg_/ && ($files{patched}{$_} // '') ne $files{stock}{$_} } sort keys %{ $files{stock} };
note 'catalogs whose indexes differ: ' . (@catalogs ? "@catalogs" : 'none');

# Compare the records.
for my $case (
	[ 'nbtree', sub { $_[0]{manager} == $btree } ],
	[ 'pages of builds', sub { $_[0]{manager} == $xlog && ($_[0]{info} & 0xf0) == 0xb0 } ],
	# Records of other access methods contain LSNs, and bytes that the server does not set.  Compare
	# only the lengths of these records.
	[ 'other index access methods', sub { $_[0]{manager} =~ /^(12|13|14|16|17)$/ } ])
{
	my ($what, $filter) = @$case;
	my %these = map {
		my $server = $_;
		$server => [
			map  { $what =~ /other/ ? "$_->{manager} $_->{info} $_->{total}" : $_->{text} }
			grep { $filter->($_) } @{ $wal{$server} }
		]
	} keys %wal;

	cmp_ok(
		scalar(@{ $these{stock} }),
		'>',
		$what eq 'nbtree' ? 10000 : 50,
		"$what: there are records to compare");
	is( scalar(@{ $these{patched} }),
		scalar(@{ $these{stock} }),
		"$what: both servers wrote as many records");
	my ($first) =
	  grep { ($these{patched}[$_] // '') ne $these{stock}[$_] } 0 .. $#{ $these{stock} };
	is( defined $first ? $these{patched}[$first] : '',
		defined $first ? $these{stock}[$first]   : '',
		"$what: records have the same lengths and bytes");
}
# The background writer logs snapshots for standbys at regular times, so the number of these records
# differs.
my %all = map {
	my $server = $_;
	$server => scalar(grep { $_->{manager} != $standby } @{ $wal{$server} })
} keys %wal;
is($all{patched}, $all{stock}, 'both servers wrote as many records of each kind');
is( scalar(@{ $waldump{patched} }),
	scalar(@{ $waldump{stock} }),
	'pg_waldump prints as many lines for both');
my ($first) =
  grep { ($waldump{patched}[$_] // '') ne $waldump{stock}[$_] } 0 .. $#{ $waldump{stock} };
is( defined $first ? $waldump{patched}[$first] : '',
	defined $first ? $waldump{stock}[$first]   : '',
	'pg_waldump prints the same lines for both');

# Check that the workload wrote all kinds of records.
my %opcode = (
	0x00 => 'INSERT_LEAF',
	0x10 => 'INSERT_UPPER',
	0x20 => 'INSERT_META',
	0x30 => 'SPLIT_L',
	0x40 => 'SPLIT_R',
	0x50 => 'INSERT_POST',
	0x60 => 'DEDUP',
	0x70 => 'DELETE',
	0x80 => 'UNLINK_PAGE',
	0x90 => 'UNLINK_PAGE_META',
	0xA0 => 'NEWROOT',
	0xB0 => 'MARK_PAGE_HALFDEAD',
	0xC0 => 'VACUUM',
	0xD0 => 'REUSE_PAGE',
	0xE0 => 'META_CLEANUP');
my %seen;
$seen{ $opcode{ $_->{info} & 0xf0 } // 'unknown' }++
  for grep { $_->{manager} == $btree } @{ $wal{patched} };
note join ', ', map { "$_ $seen{$_}" } sort keys %seen;
for my $opcode (grep { !/INSERT_META|UNLINK_PAGE_META|META_CLEANUP/ } sort values %opcode)
{
	cmp_ok($seen{$opcode} // 0, '>', 0, "the workload wrote records $opcode");
}
is($seen{unknown}, undef, 'the workload wrote no unknown records');

# Check that indexes of catalogs and of TOAST tables have the stock alignment when auto is the
# default.  The default is set by initdb, or later in postgresql.conf.  Check again after rebuilds
# of all kinds.
for my $how ('initdb -c', 'postgresql.conf')
{
	my $node =
	  $how eq 'initdb -c'
	  ? init('initdb', undef, '-c', 'default_index_item_alignment=auto')
	  : init('conf');

	if ($how eq 'postgresql.conf')
	{
		$node->append_conf('postgresql.conf', "default_index_item_alignment = auto\n");
		$node->restart;
	}
	is($node->safe_psql('postgres', 'SHOW default_index_item_alignment'),
		'auto', "$how: auto is the default");
	$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION amcheck;
CREATE EXTENSION pageinspect;
CREATE TABLE t (id int PRIMARY KEY, v text);
INSERT INTO t SELECT i, (SELECT string_agg(md5(i * j::text::int || 'x'), '') FROM generate_series(1, 200) j) FROM generate_series(1, 50) i;
CREATE TEMP TABLE temporary (id int PRIMARY KEY, v text);
VACUUM FULL pg_class;
VACUUM FULL pg_attribute;
CLUSTER pg_depend USING pg_depend_depender_index;
REINDEX SYSTEM postgres;
REINDEX TABLE t;
VACUUM FULL t;
CREATE DATABASE other;
SQL
	my $flags = <<'SQL';
SELECT string_agg(DISTINCT (flags & 768)::text, ','), count(*) > 100 FROM pg_class c, page_header(get_raw_page(c.oid::regclass::text, 0))
WHERE relam = 403 AND relkind = 'i' AND (relnamespace IN ('pg_catalog'::regnamespace, 'pg_toast'::regnamespace))
SQL
	is($node->safe_psql('postgres', $flags),
		'0|t', "$how: no index of a catalog or of a TOAST table is aligned");
	is( $node->safe_psql(
			'postgres', q{SELECT flags & 768 FROM page_header(get_raw_page('t_pkey', 0))}),
		'256',
		"$how: an index of a user table is aligned");
	is( $node->safe_psql(
			'postgres',
			q{SELECT count(*) > 100 FROM (SELECT bt_index_check(oid) FROM pg_class WHERE relam = 403 AND relkind = 'i' AND relpersistence <> 't') c}
		),
		't',
		"$how: all indexes are sound");
	$node->safe_psql('postgres', 'ALTER SYSTEM RESET ALL; DROP TABLE t');
	$node->stop;
	# A stock server does not start with a setting that it does not know.  So remove the setting.
	my $stock = hand_over($node, $how =~ /initdb/ ? 'initdb_stock' : 'conf_stock', $stock_path);
	my $file = $stock->data_dir . '/postgresql.conf';
	my $content = slurp_file($file);
	is($stock->start(fail_ok => 1), 0, "$how: a stock server does not start with the setting");
	like(
		slurp_file($stock->logfile),
		qr/unrecognized configuration parameter "default_index_item_alignment"/,
		"$how: the stock server names the unknown setting");
	$content =~ s/^default_index_item_alignment.*\n//mg;
	unlink $file;
	append_to_file($file, $content);
	chmod 0600, $file;
	$stock->start;
	is( $stock->safe_psql(
			'postgres',
			q{SELECT count(*) > 100 FROM (SELECT bt_index_parent_check(oid, true, true) FROM pg_class WHERE relam = 403 AND relkind = 'i' AND relpersistence <> 't') c}
		),
		't',
		"$how: a stock server finds all catalogs sound");
	is($stock->safe_psql('other', 'SELECT count(*) FROM pg_class WHERE relname = \'pg_class\''),
		'1', "$how: the stock server reads the other database");
	$stock->stop;
}

done_testing();
