# Values out of line in report(), apply(), status and undo(): the predicted size must be within 5 % of
# the measured one, and undo() must give back the schema dump and the size.  While another proposal
# changes the column, it is an option without a name.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('out_of_line');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
autovacuum = off
shared_preload_libraries = 'vertical_partition'
session_preload_libraries = 'vertical_partition'
vertical_partition.track_updates = on
CONF
$node->start;

sub sql
{
	my ($query) = @_;
	return $node->safe_psql('postgres', $query);
}

sub dump_of
{
	my ($out, $err) =
	  run_command(
		[ 'pg_dump', '-s', '-n', 'app', '-p', $node->port, '-h', $node->host, 'postgres' ]);
	return $out =~ s/^\\(?:un)?restrict .*\n//gmr;
}

# The words of the second table can be packed, so that another type is proposed for them.
sql(<<'SQL');
CREATE EXTENSION compact_types; CREATE EXTENSION toast_policy; CREATE EXTENSION vertical_partition; CREATE EXTENSION pg_dense;
CREATE ROLE owner;
CREATE SCHEMA app AUTHORIZATION owner;
SET ROLE owner;
CREATE TABLE app.wide (id int PRIMARY KEY, n int NOT NULL, m int NOT NULL, body bytea);
ALTER TABLE app.wide ALTER body SET STORAGE MAIN;
INSERT INTO app.wide SELECT i, i, i, (SELECT string_agg(sha256((i || '-' || g)::bytea), '') FROM generate_series(1, 13) g) FROM generate_series(1, 25000) i;
CREATE TABLE app.words (id int PRIMARY KEY, n int NOT NULL, body text);
INSERT INTO app.words SELECT i, i, (SELECT string_agg((string_to_array('the quick brown fox jumps over a lazy dog while every customer looks for good quality', ' '))
  [1 + (hashint8extended(i * 131 + w, 7) & 2147483647) % 15], ' ') FROM generate_series(1, 100) w) FROM generate_series(1, 25000) i;
RESET ROLE;
UPDATE app.wide SET n = n + 1 WHERE id <= 500;
UPDATE app.words SET n = n + 1 WHERE id <= 500;
VACUUM FULL ANALYZE app.wide;
VACUUM FULL ANALYZE app.words;
SQL
my $before = dump_of();
my $report =
  q{SELECT kind, proposal, feature, columns, action FROM dense.report(relation => 'app.%s') WHERE feature IN ('toast_policy', 'vertical_partition')};
my $total = q{SELECT (dense_internal.table_bytes('app.wide'::regclass)).total};
my $bytes = sql($total);

is( sql(sprintf $report, 'wide'),
	'proposal|toast_policy_out_of_line app.wide|toast_policy|{body}|move body out of line',
	'values out of line are proposed');
is( sql(sprintf $report, 'words'),
	'option||toast_policy|{body}|move body out of line',
	'an option, if another type is proposed for the column');
like(
	sql(q{SELECT reason FROM dense.report(relation => 'app.words') WHERE feature = 'toast_policy'}),
	qr/; ask again after the proposals for this table$/,
	'the reason says so');

my ($now, $after) = split /\|/,
  sql(
	q{SELECT bytes_now, bytes_after FROM dense.report(relation => 'app.wide') WHERE feature = 'toast_policy'}
  );
is($now, $bytes, 'the size now');
# what the test reads is not counted
my $rows =
  q{SET vertical_partition.track_updates = off; SELECT md5(string_agg(w::text, '' ORDER BY id)) FROM app.wide w};
my $contents = sql($rows);
sql(q{SET ROLE owner; CALL dense.apply('toast_policy_out_of_line app.wide')});
my $measured = sql($total);
cmp_ok(abs($after / $measured - 1), '<=', 0.05, "the size after: $after, measured $measured");
cmp_ok(
	sql(q{SELECT pg_relation_size('app.wide')}),
	'<',
	sql(q{SELECT pg_relation_size(reltoastrelid) / 3 FROM pg_class WHERE oid = 'app.wide'::regclass}
	),
	'the values are out of line');
is($contents, sql($rows), 'the rows are the same');
is( sql(q{SELECT feature, relation, columns, id IS NOT NULL, bytes_saved < 0 FROM dense.status}),
	'toast_policy|app.wide|{body}|t|t',
	'status shows it');
is(sql(sprintf $report, 'wide'), '', 'nothing more is proposed');
isnt(dump_of(), $before, 'the schema has changed');

sql('SET ROLE owner; CALL dense.undo()');
is(dump_of(), $before, 'undo() restores the schema');
is(sql($rows), $contents, 'the rows are the same after undo()');
cmp_ok(abs(sql($total) / $bytes - 1), '<=', 0.01, 'the values are back in their rows');
is(sql('SELECT count(*) FROM dense.applied'), '0', 'no note is left');

$node->stop;

done_testing();
