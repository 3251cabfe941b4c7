# Tables whose rows are stored in a special way: compact types, split tables, the access method
# toast_policy, partitions, tables of a publication, and tables of a standby.  Move their hot rows,
# and check that nothing else changes.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 'logical', extra => [ '--encoding=UTF8', '--locale=C' ]);
$primary->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'row_heat, toast_policy, vertical_partition, compact_types'
row_heat.sample_rate = 1
autovacuum = off
enable_seqscan = off
wal_consistency_checking = 'heap, heap2, btree'
CONF
$primary->start;
$primary->safe_psql('postgres', "CREATE EXTENSION $_")
  for qw(row_heat toast_policy vertical_partition compact_types amcheck);

my $rows = 3000;
my $columns = 'id int PRIMARY KEY, n int NOT NULL, name text NOT NULL, doc text';
my $values =
  "SELECT i, 0, 'name ' || i, CASE WHEN i % 7 = 0 THEN repeat('doc ' || i, 1000) ELSE repeat('d', 200) END FROM generate_series(1, $rows) i";

# heat(NODE, TABLE) - use 30 rows of the table, 20 times each
sub heat
{
	my ($node, $table) = @_;
	$node->safe_psql('postgres',
		join('', map { "SELECT doc FROM $table WHERE id = $_ * 100;" } 1 .. $rows / 100) x 20);
	return;
}

# heat_of(NODE, TABLE) - return 't' if the view shows that the rows of TABLE are unevenly hot
sub heat_of
{
	my ($node, $table) = @_;
	return $node->safe_psql('postgres',
		"SET row_heat.sample_rate = 0; SELECT packed_pages < hot_pages / 2 FROM row_heat.relations WHERE relation = '$table'::regclass"
	);
}

# contents(NODE, TABLE) - return what a client sees of the table
sub contents
{
	my ($node, $table) = @_;
	return $node->safe_psql('postgres',
		"SET row_heat.sample_rate = 0; SELECT count(*), md5(string_agg(t::text, ',' ORDER BY id)) FROM $table t"
	);
}

# pack(TABLE[, OPTIONS]) - call row_heat.pack(); return its messages
sub pack_table
{
	my ($table, $options) = @_;
	my ($rc, $out, $err) = $primary->psql('postgres',
		"CALL row_heat.pack('$table', 100000" . (defined $options ? ", $options" : '') . ')');
	return $err;
}

# packs(WHAT, TABLE[, STORED]) - heat TABLE, move the hot rows of the table STORED, which is TABLE or
# a part of it, and test that TABLE stays the same
sub packs
{
	my ($what, $table, $stored) = @_;
	$stored //= $table;
	heat($primary, $table);
	my $before = contents($primary, $table);
	is(heat_of($primary, $stored), 't', "$what: heat is recorded");
	like(pack_table($stored), qr/(2\d|30) of (2\d|30) rows are moved/, "$what: rows are moved");
	is(contents($primary, $table), $before, "$what: the rows are the same");
	# verify_heapam() refuses other access methods than heap.
	is($primary->safe_psql('postgres', "SELECT * FROM verify_heapam('$stored')"),
		'', "$what: the heap is valid")
	  if $what ne 'toast_policy';
	is( $primary->safe_psql(
			'postgres',
			"SELECT bt_index_check(indexrelid, true) FROM pg_index WHERE indrelid = '$stored'::regclass AND indisprimary"
		),
		'',
		"$what: the primary key is valid");
	return $before;
}

$primary->safe_psql('postgres', <<"SQL");
CREATE TABLE plain ($columns);
INSERT INTO plain $values;
CREATE TABLE compact ($columns);
INSERT INTO compact $values;
SELECT compact_types.convert('compact');
CREATE TABLE policy ($columns);
INSERT INTO policy $values;
SELECT toast_policy.enable('policy');
CREATE TABLE split ($columns);
INSERT INTO split $values;
SELECT vertical_partition.split('split', '{doc}', 'row_pointer', force => true);
CREATE TABLE parted ($columns) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO ($rows);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM ($rows) TO (1000000);
INSERT INTO parted $values;
VACUUM ANALYZE;
SQL
heat($primary, 'plain');
my ($now, $after) =
  $primary->safe_psql('postgres', q{SELECT risks FROM row_heat.advise('plain')}) =~
  /A scan of public.plain_pkey that returns 1000 neighbouring rows reads about (\d+) pages instead of (\d+)/
  ? ($2, $1)
  : (0, 0);
cmp_ok($now, '>', 0, 'advise() names the index whose order will be lost');
cmp_ok($after, '>=', $now, 'with the pages that a scan reads');
packs('plain', 'plain');
packs('compact types', 'compact');
packs('toast_policy', 'policy');
packs('partition', 'parted', 'parted_1');
packs('hot part', 'split', 'split_hot');

# The cold part of a split table stays as it is.
like(pack_table('split_cold'), qr/cold part of a split table/, 'the cold part is refused');
$primary->safe_psql('postgres', <<"SQL");
CREATE TABLE split_by_key ($columns);
INSERT INTO split_by_key $values;
SELECT vertical_partition.split('split_by_key', '{doc}', 'shared_key', force => true);
VACUUM ANALYZE split_by_key_hot, split_by_key_cold;
SQL
packs('hot part with a key', 'split_by_key', 'split_by_key_hot');
like(pack_table('split_by_key_cold'), qr/cold part of a split table/, 'the same with a key');

# The rewrite of each of them
for my $table (qw(plain compact policy parted_1 split_hot split_by_key_hot split_by_key_cold))
{
	my $seen = $table =~ s/_(1|hot|cold)$//r;
	heat($primary, $seen);
	my $before = contents($primary, $seen);
	is($primary->safe_psql('postgres', "SELECT row_heat.cluster_by_heat('$table', true)"),
		't', "$table is rewritten");
	is(contents($primary, $seen), $before, "$table: the rows are the same");
}

# A standby records what it reads, and can read what is moved on the primary server.
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
$primary->safe_psql('postgres', <<"SQL");
CREATE TABLE published ($columns);
INSERT INTO published $values;
CREATE TABLE replicated ($columns);
INSERT INTO replicated $values;
VACUUM ANALYZE;
SQL
my $before = packs('with a standby', 'replicated');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
is(contents($standby, 'replicated'), $before, 'the standby has the same rows');
is( $standby->safe_psql(
		'postgres', 'SELECT count(*) FROM replicated WHERE id % 100 = 0 AND doc IS NOT NULL'),
	$rows / 100,
	'and finds them');
heat($standby, 'published');
is(heat_of($standby, 'published'), 't', 'the standby records what it reads');
my ($rc, $out, $err) = $standby->psql('postgres', q{CALL row_heat.pack('published')});
like($err, qr/cannot execute row_heat.pack\(\) during recovery/, 'it moves no rows');
($rc, $out, $err) = $standby->psql('postgres', q{SELECT row_heat.cluster_by_heat('published')});
like($err, qr/during recovery/, 'and rewrites no table');
$standby->stop;

# Subscribers of a table that is published
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$subscriber->start;
$subscriber->safe_psql('postgres', <<"SQL");
CREATE TABLE published ($columns);
CREATE TABLE updates (id int);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN INSERT INTO public.updates VALUES (NEW.id); RETURN NEW; END \$\$;
CREATE TRIGGER note AFTER UPDATE ON published FOR EACH ROW EXECUTE FUNCTION note();
ALTER TABLE published ENABLE REPLICA TRIGGER note;
SQL
$primary->safe_psql('postgres', 'CREATE PUBLICATION p FOR TABLE published');
my $connstr = $primary->connstr . " dbname=postgres";
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$connstr' PUBLICATION p");
$subscriber->wait_for_subscription_sync($primary, 's', 'postgres');
heat($primary, 'published');
$before = contents($primary, 'published');
like(
	pack_table('published'),
	qr/is not moved|are not moved, because it is published/,
	'a published table is refused');
like(
	pack_table('published', 'published => true'),
	qr/(2\d|30) of \1 rows are moved/,
	'unless its owner wants it');
$primary->safe_psql('postgres', q{UPDATE published SET n = 1 WHERE id = 1});
$primary->wait_for_catchup('s');
is( contents($subscriber, 'published'),
	contents($primary, 'published'),
	'the subscriber has the same rows');
cmp_ok($subscriber->safe_psql('postgres', 'SELECT count(*) FROM updates WHERE id % 100 = 0'),
	'>=', 20, 'it received an update of each row that was moved');
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION s');
$_->stop for $subscriber, $primary;
done_testing();
