# Test that toast_policy.check() finds what amcheck finds in a heap.  Damage the files of tables
# with access method toast_policy: line pointers, tuple headers, attributes, TOAST pointers and
# chunks, page headers, indexes, and random single bytes.  Compare the reports of check() with those
# of the functions of amcheck, which read the same files after the tables are heap again.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant { BLOCK => 8192, HEADER => 24, NORMAL => 1, REDIRECT => 2 };

my $node = PostgreSQL::Test::Cluster->new('check');
my ($major) = `$ENV{PG_CONFIG} --version` =~ /(\d+)/;
$node->init(
	extra => [ '--encoding=UTF8', '--locale=C', $major >= 18 ? '--no-data-checksums' : () ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION toast_policy;
CREATE EXTENSION amcheck;
-- Return the errors that amcheck finds in a heap table, in the format of check().
CREATE FUNCTION amcheck_of(rel regclass) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	detail text;
BEGIN
	FOR r IN SELECT oid::regclass AS object FROM pg_class WHERE oid = rel OR oid = (SELECT reltoastrelid FROM pg_class WHERE oid = rel) LOOP
		BEGIN
			RETURN QUERY SELECT concat_ws(' ', r.object, blkno, offnum, attnum, msg) FROM verify_heapam(r.object, check_toast => true);
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
			RETURN NEXT r.object || ' ' || sqlerrm || CASE WHEN detail <> '' THEN ': ' || detail ELSE '' END;
		END;
	END LOOP;
	FOR r IN SELECT indexrelid::regclass AS object FROM pg_index JOIN pg_class c ON c.oid = indrelid
		WHERE c.oid = rel OR c.oid = (SELECT reltoastrelid FROM pg_class WHERE oid = rel) LOOP
		BEGIN
			PERFORM bt_index_check(r.object, false);
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
			RETURN NEXT r.object || ' ' || sqlerrm || CASE WHEN detail <> '' THEN ': ' || detail ELSE '' END;
		END;
	END LOOP;
END $$;
-- Create a table with values of all kinds.  One row was updated in its page, so the page also has
-- the dead version of this row.
CREATE FUNCTION make(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %I (id int PRIMARY KEY, v text COMPRESSION pglz, w text)', name);
	PERFORM toast_policy.enable(name::regclass, 'v', 'w');
	EXECUTE format($q$INSERT INTO %I SELECT i, CASE i %% 3 WHEN 0 THEN 'short ' || i WHEN 1 THEN (SELECT string_agg(md5(i * 1000 + j || ''), '') FROM generate_series(1, 200) j)
		ELSE repeat('compressible ' || i, 20000) END, 'w' FROM generate_series(1, 20) i$q$, name);
	EXECUTE format('UPDATE %I SET w = ''x'' WHERE id = 5', name);
END $$;
SQL

#
# Kinds of damage.  Each function gets a reference to the file, the line pointer, and the offset of
# its tuple.
#
sub get
{
	my ($file, $place, $format) = @_;
	return unpack($format, substr($$file, $place, length pack($format, 0)));
}

sub put
{
	my ($file, $place, $format, $value) = @_;
	my $bytes = pack($format, $value);
	substr($$file, $place, length $bytes) = $bytes;
	return;
}
# Return the offset of a line pointer, or its content.
sub pointer { return HEADER + 4 * ($_[0] - 1); }

sub item
{
	my $bits = get($_[0], pointer($_[1]), 'V');
	return ($bits & 0x7fff, $bits >> 15 & 3, $bits >> 17);
}

sub set_item
{
	my ($file, $n, $off, $flags, $len) = @_;
	put($file, pointer($n), 'V', $off | $flags << 15 | $len << 17);
	return;
}
sub tuple { return (item(@_))[0]; }
# Return the offset of a tuple's data.
sub data
{
	my ($file, $n) = @_;
	my $tuple = tuple($file, $n);
	return $tuple + get($file, $tuple + 22, 'C');
}

# Row 1 has an uncompressed value in the TOAST table, row 2 a compressed value, and row
# 3 a short value.
my %damage = (
	pointer_outside => [ 'table', sub { set_item($_[0], 4, 8160, NORMAL, 200) } ],
	pointer_odd => [
		'table',
		sub { my ($off, $flags, $len) = item($_[0], 4); set_item($_[0], 4, $off + 1, $flags, $len) }
	],
	pointer_short => [
		'table',
		sub { my ($off, $flags, $len) = item($_[0], 4); set_item($_[0], 4, $off, $flags, 10) }
	],
	redirect_nowhere => [ 'table', sub { set_item($_[0], 4, 250, REDIRECT, 0) } ],
	redirect_zero => [ 'table', sub { set_item($_[0], 4, 0, REDIRECT, 0) } ],
	xmin_future => [ 'table', sub { put($_[0], tuple($_[0], 2), 'V', 0x7fff0000) } ],
	xmin_past => [ 'table', sub { put($_[0], tuple($_[0], 2), 'V', 3) } ],
	xmax_future => [
		'table',
		sub {
			put($_[0], tuple($_[0], 2) + 4, 'V', 0x7fff0000);
			put($_[0], tuple($_[0], 2) + 20, 'v', get($_[0], tuple($_[0], 2) + 20, 'v') & ~0x0800);
		}
	],
	xmax_multi => [
		'table',
		sub {
			put($_[0], tuple($_[0], 2) + 4, 'V', 1000000);
			put($_[0], tuple($_[0], 2) + 20,
				'v', get($_[0], tuple($_[0], 2) + 20, 'v') & ~0x0800 | 0x1000);
		}
	],
	header_size => [ 'table', sub { put($_[0], tuple($_[0], 2) + 22, 'C', 120) } ],
	attributes => [ 'table', sub { put($_[0], tuple($_[0], 2) + 18, 'v', 1600) } ],
	length_short => [ 'table', sub { put($_[0], data($_[0], 3) + 4, 'C', 0xff) } ],
	length_long => [ 'table', sub { put($_[0], data($_[0], 3) + 4, 'V', 0x00fffffc) } ],
	toast_tag => [ 'table', sub { put($_[0], data($_[0], 1) + 5, 'C', 99) } ],
	toast_rawsize => [ 'table', sub { put($_[0], data($_[0], 2) + 6, 'V', 0x7fffffff) } ],
	toast_method => [
		'table',
		sub { put($_[0], data($_[0], 2) + 13, 'C', 0xc0 | get($_[0], data($_[0], 2) + 13, 'C')) }
	],
	toast_size => [ 'table', sub { put($_[0], data($_[0], 1) + 10, 'V', 9999) } ],
	toast_value => [ 'table', sub { put($_[0], data($_[0], 1) + 14, 'V', 1) } ],
	page_header => [ 'table', sub { put($_[0], 14, 'v', 9000) } ],
	file_missing => [ 'table', sub { ${ $_[0] } = undef } ],
	chunk_sequence => [ 'toast', sub { put($_[0], data($_[0], 1) + 4, 'V', 77) } ],
	chunk_length => [ 'toast', sub { put($_[0], data($_[0], 1) + 8, 'V', 500 << 2) } ],
	chunk_attributes => [ 'toast', sub { put($_[0], tuple($_[0], 1) + 18, 'v', 1000) } ],
	chunk_gone => [ 'toast', sub { set_item($_[0], 1, 0, 0, 0) } ],
	chunk_xmin => [ 'toast', sub { put($_[0], tuple($_[0], 1), 'V', 0x7fff0000) } ],
	chunk_page => [ 'toast', sub { put($_[0], 14, 'v', 9000) } ],
	index_order => [
		'index',
		sub {
			my @a = item_of($_[0], 1, 3);
			my @b = item_of($_[0], 1, 7);
			set_item_of($_[0], 1, 3, @b);
			set_item_of($_[0], 1, 7, @a);
		}
	],
	index_page => [ 'index', sub { put($_[0], BLOCK + 14, 'v', 9000) } ],
	index_magic => [ 'index', sub { put($_[0], HEADER, 'V', 1) } ],
	index_level => [ 'index', sub { put($_[0], 2 * BLOCK - 16 + 8, 'V', 5) } ],
	toast_index_order => [
		'toast_index',
		sub {
			my @a = item_of($_[0], 1, 3);
			my @b = item_of($_[0], 1, 9);
			set_item_of($_[0], 1, 3, @b);
			set_item_of($_[0], 1, 9, @a);
		}
	],
	toast_index_page => [ 'toast_index', sub { put($_[0], BLOCK + 14, 'v', 9000) } ],);
# Return the content of line pointer N of page BLOCK.
sub item_of
{
	my ($file, $block, $n) = @_;
	my $page = substr($$file, $block * BLOCK, BLOCK);
	return item(\$page, $n);
}

sub set_item_of
{
	my ($file, $block, $n, @item) = @_;
	my $page = substr($$file, $block * BLOCK, BLOCK);
	set_item(\$page, $n, @item);
	substr($$file, $block * BLOCK, BLOCK) = $page;
	return;
}

# Also damage single bytes of line pointers and of tuples.  With assertions, some of these bytes end
# core's amcheck.
my $asserts = $node->safe_psql('postgres', 'SHOW debug_assertions') eq 'on';
srand(20261123);
for my $n (1 .. ($asserts ? 0 : $ENV{PGDENSE_SOAK} ? 300 : 30))
{
	my $fork = $n % 3 ? 'table' : 'toast';
	my $place = $n % 2 ? HEADER + int(rand(80)) : 4000 + int(rand(4192));
	my $value = int(rand(256));
	$damage{"byte_$n"} = [ $fork, sub { put($_[0], $place, 'C', $value) }, 'maybe' ];
}

my @names = sort keys %damage;
$node->safe_psql('postgres', join '', map { "SELECT make('$_');" } 'sound', @names);
is($node->safe_psql('postgres', 'SELECT count(*) FROM toast_policy.check_all(true)'),
	'0', 'check_all() reports nothing for sound tables');
my %path;
for my $line (split /\n/, $node->safe_psql('postgres', <<'SQL'))
SELECT c.relname, pg_relation_filepath(c.oid), pg_relation_filepath(c.reltoastrelid), pg_relation_filepath(i.indexrelid), pg_relation_filepath(t.indexrelid)
FROM pg_class c JOIN pg_am a ON a.oid = c.relam JOIN pg_index i ON i.indrelid = c.oid JOIN pg_index t ON t.indrelid = c.reltoastrelid
WHERE amname = 'toast_policy'
SQL
{
	my ($name, @paths) = split /\|/, $line;
	@{ $path{$name} }{qw(table toast index toast_index)} = @paths;
}
$node->stop;
for my $name (@names)
{
	my ($which, $damage) = @{ $damage{$name} };
	my $file = $node->data_dir . '/' . $path{$name}{$which};
	open my $handle, '+<:raw', $file or die "could not open $file: $!";
	my $content = do { local $/; <$handle> };
	$damage->(\$content);
	seek $handle, 0, 0;
	print $handle $content if defined $content;
	close $handle;
	unlink $file unless defined $content;
}
$node->start;

# Leave out the next transaction ID, because it differs each time.
my $lines =
  q{SELECT regexp_replace(concat_ws(' ', object, blkno, offnum, attnum, msg), 'next valid transaction ID \S+', 'next', 'g') FROM};
my $check = "$lines toast_policy.check('%s') ORDER BY 1";
my (%found, $silent);
for my $name (@names)
{
	$found{$name} = $node->safe_psql('postgres', sprintf $check, $name);
}
my $all = $node->safe_psql('postgres', "$lines toast_policy.check_all() ORDER BY 1");
is($node->safe_psql('postgres', sprintf $check, 'sound'),
	'', 'check() reports nothing for the sound table');
is( $all,
	$node->safe_psql(
		'postgres',
		join(' UNION ALL ', map { "$lines toast_policy.check('$_')" } @names) . ' ORDER BY 1'),
	'check_all() reports what check() reports for each table');
# After errors, the relation cache of the session must be as before.
is( $node->safe_psql('postgres',
		<<'SQL'), "t\ntoast_policy", 'the session that ran check() still uses the access method');
SELECT count(*) > 30 AS any FROM toast_policy.check_all();
INSERT INTO sound SELECT 100, repeat('compressible ', 20000);
SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE relname = 'sound' AND (SELECT pg_column_compression(v) FROM sound WHERE id = 100) = 'pglz';
SQL
my ($ret, $stdout, $stderr) = $node->psql('postgres',
	q{SELECT count(*) >= 0 FROM toast_policy.check('xmin_future'); SELECT count(*) FROM verify_heapam('xmin_future')}
);
like($stderr, qr/only heap AM is supported/, 'amcheck still refuses a table of the access method');
# pg_amcheck skips all of these tables.
$node->command_checks_all([ "pg_amcheck", "-d", "postgres", "--heapallindexed" ],
	0, [qr/^$/], [qr/^$/], "pg_amcheck skips all tables of the access method");
for my $name (@names)
{
	my ($which, $damage, $maybe) = @{ $damage{$name} };
	my $plain = $node->safe_psql('postgres',
		"SET client_min_messages = error; SELECT toast_policy.disable('$name'); SELECT regexp_replace(f, 'next valid transaction ID \\S+', 'next', 'g') FROM amcheck_of('$name') f ORDER BY 1"
	);
	$plain =~ s/^\n//;
	$silent++ if $maybe && $plain eq '';
	isnt($plain, '', "$name: amcheck reports the damage in a heap") unless $maybe;
	is($found{$name}, $plain, "$name: check() gives the same report");
}
note(($silent // 0) . ' single bytes that amcheck does not report');

# check() skips an index that is dropped while check() runs.  DROP INDEX CONCURRENTLY has made this
# index invalid, and waits for the session that runs check().  The latter waits for a lock on
# another index of the table.
$node->safe_psql('postgres', 'CREATE INDEX kept ON sound (id); CREATE INDEX dropped ON sound (id)');
my ($holder, $checker, $dropper) = map { $node->background_psql('postgres') } 1 .. 3;
$holder->query_safe('BEGIN; ALTER INDEX kept SET TABLESPACE pg_default');
$checker->query_until(qr/checks/,
	"\\echo checks\nSELECT 'found ' || count(*) FROM toast_policy.check('sound');\n");
$node->poll_query_until('postgres',
	"SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'kept'::regclass AND NOT granted)")
  or die 'the check does not come to the index';
$dropper->query_until(qr/drops/, "\\echo drops\nDROP INDEX CONCURRENTLY dropped;\n");
$node->poll_query_until('postgres',
	"SELECT NOT indisvalid FROM pg_index WHERE indexrelid = 'dropped'::regclass")
  or die 'the index is not being dropped';
$holder->query_safe('COMMIT');
is( $checker->query_safe("SELECT 'next'"),
	"found 0\nnext",
	'check() skips an index that is being dropped');
$_->quit foreach $holder, $checker, $dropper;
is($node->safe_psql('postgres', "SELECT to_regclass('dropped') IS NULL"),
	't', 'the index is dropped afterwards');

$node->stop;
done_testing();
