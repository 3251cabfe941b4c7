# Run pgbench on tables that are split by each method and stored with access method
# toast_policy.  No transaction may fail or be lost.  merge() and
# toast_policy.disable_all() must restore the original tables.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Partition;
use PostgreSQL::Test::Utils;
use Test::More;

my $transactions = $ENV{PGDENSE_SOAK} ? 5000 : 150;
my $clients = 4;
# pgbench_history has no primary key.
my %methods = (accounts => 'shared_key', branches => 'surrogate_key', tellers => 'row_pointer');
my $node = partition_node('pgbench');
my $dir = $node->basedir;
my $history = 0;

# a transaction like TPC-B that also changes cold columns
append_to_file("$dir/cold.sql", <<'SQL');
\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta, filler = 'by ' || :tid::int WHERE aid = :aid;
SELECT abalance, filler FROM pgbench_accounts WHERE aid = :aid FOR UPDATE;
UPDATE pgbench_tellers t SET tbalance = tbalance + :delta FROM pgbench_branches b WHERE tid = :tid AND b.bid = t.bid AND coalesce(b.filler, 'x') <> 'nothing';
UPDATE pgbench_branches SET bbalance = bbalance + :delta, filler = coalesce(left(filler, 9), '') || :tid::int WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime, filler) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP, 'cold');
END;
SQL

# run_pgbench(NAME, OPTIONS...) - run pgbench, and check that nothing fails
sub run_pgbench
{
	my ($name, @options) = @_;
	my ($out, $err) = run_command(
		[ 'pgbench', '-c', $clients, '-t', $transactions, @options, $node->connstr('postgres') ]);

	$history += $clients * $transactions;
	like(
		$out,
		qr{^number of transactions actually processed: (\d+)/\1$}m,
		"$name: all transactions are processed");
	like($out, qr/^number of failed transactions: 0 /m, "$name: no transaction failed");
	unlike($err, qr/error|aborted|warning/i, "$name: no error");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pgbench_history'),
		$history, "$name: the history has all transactions");
	is( $node->safe_psql('postgres',
			<<'SQL'), '', "$name: each balance is the sum of its transactions");
SELECT 'account', aid, abalance, sum FROM pgbench_accounts LEFT JOIN (SELECT aid, sum(delta) FROM pgbench_history GROUP BY aid) h USING (aid) WHERE abalance <> coalesce(sum, 0)
UNION ALL
SELECT 'teller', tid, tbalance, sum FROM pgbench_tellers LEFT JOIN (SELECT tid, sum(delta) FROM pgbench_history GROUP BY tid) h USING (tid) WHERE tbalance <> coalesce(sum, 0)
UNION ALL
SELECT 'branch', bid, bbalance, sum FROM pgbench_branches LEFT JOIN (SELECT bid, sum(delta) FROM pgbench_history GROUP BY bid) h USING (bid) WHERE bbalance <> coalesce(sum, 0)
SQL
	return;
}

sub schema
{
	my ($out, $err) = run_command([ 'pg_dump', '--schema-only', $node->connstr('postgres') ]);

	die "pg_dump: $err" if $err ne '';
	return $out =~ s/^\\(?:un)?restrict .*\n//mgr;
}

$node->safe_psql('postgres',
	'CREATE EXTENSION vertical_partition; CREATE EXTENSION toast_policy;'
	  . partition_helpers('plain'));
$node->command_ok(
	[ 'pgbench', '-q', '-i', '-s', '1', '--foreign-keys', $node->connstr('postgres') ],
	'pgbench -i');
my $before = schema();

# For one table, call toast_policy.enable() before split(), which then gives both parts the access
# method.  For the other tables, call it after split().
$node->safe_psql('postgres', "SELECT toast_policy.enable('pgbench_tellers', 'filler')");
$node->safe_psql('postgres',
	"SELECT vertical_partition.split('pgbench_$_', '{filler}', '$methods{$_}')")
  foreach sort keys %methods;
$node->safe_psql('postgres', "SELECT toast_policy.enable('$_', 'filler')")
  foreach qw(pgbench_accounts_cold pgbench_branches_cold pgbench_history);
is( $node->safe_psql(
		'postgres', 'SELECT relation, method FROM vertical_partition.status ORDER BY 1'),
	join("\n", map { "pgbench_$_|$methods{$_}" } sort keys %methods),
	'the tables are split');
is( $node->safe_psql(
		'postgres',
		"SELECT c.relname FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE amname = 'toast_policy' ORDER BY 1"
	),
	join("\n",
		qw(pgbench_accounts_cold pgbench_branches_cold pgbench_history pgbench_tellers_cold pgbench_tellers_hot)
	),
	'the parts are governed by toast_policy');

# With option -v, pgbench first runs VACUUM on all tables, and TRUNCATE on the empty history.
run_pgbench('with vacuum', '-v', '-b', 'tpcb-like');
foreach my $mode (qw(simple extended prepared))
{
	run_pgbench("-M $mode", '-n', '-M', $mode, '-b', 'tpcb-like@2', '-f', "$dir/cold.sql\@2");
}
$node->command_ok(
	[
		'pgbench', '-n', '-S', '-M', 'prepared', '-c', $clients, '-t', $transactions,
		$node->connstr('postgres')
	],
	'reads only');
parts_in_order($node, 'postgres', 'after all');

my @tables = map { "pgbench_$_" } sort(keys %methods), 'history';
my $contents = join ';',
  map { "SELECT md5(string_agg(t::text, E'\\n' ORDER BY t::text)) FROM $_ t" } @tables;
my $rows = $node->safe_psql('postgres', $contents);
$node->safe_psql('postgres', "SELECT vertical_partition.merge('pgbench_tellers')");
# merge() refuses parts with different access methods.  Otherwise the merged table would have access
# method heap, and the column would stay uncompressed.
my ($code, $out, $err) =
  $node->psql('postgres', "SELECT vertical_partition.merge('pgbench_accounts')");
like(
	$err,
	qr/^DETAIL:  The access method of public\.pgbench_accounts_hot is heap, that of public\.pgbench_accounts_cold is toast_policy\.$/m,
	'merge() refuses parts if only one is governed');
$err =~ /^HINT:  Use (.*)\.$/m or die "no hint: $err";
$node->safe_psql('postgres', "$1; SELECT vertical_partition.merge('pgbench_accounts')");
$node->safe_psql('postgres', 'SELECT toast_policy.disable_all()');
$node->safe_psql('postgres', "SELECT vertical_partition.merge('pgbench_branches')");
is($node->safe_psql('postgres', $contents), $rows, 'merge() and disable_all() keep the rows');
is($node->safe_psql('postgres', 'SELECT toast_policy.disable_all()'),
	'0', 'no table is governed any more');
is(schema(), $before, 'the schema is the original one');
# pgbench still works.
run_pgbench('plain again', '-n', '-M', 'prepared', '-f', "$dir/cold.sql");

$node->stop;
done_testing();
