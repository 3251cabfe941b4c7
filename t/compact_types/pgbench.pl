# Check that pgbench runs on tables that convert() has converted by default.  pgbench would fail if
# columns were only wide enough for the present values, as with narrow => true.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION compact_types');

my $seconds = $ENV{PGDENSE_SOAK} ? 30 : 5;
my @tables = map { "pgbench_$_" } qw(accounts branches history tellers);

sub initialize
{
	$node->command_ok([ 'pgbench', '-q', '-i', '-s', '1', 'postgres' ], 'pgbench -i succeeds');
	return;
}

sub convert
{
	my ($options) = @_;
	return $node->safe_psql(
		'postgres',
		join '',
		map { "SELECT column_name, new_type FROM compact_types.convert('$_'$options);\n" } @tables);
}

for my $mode (qw(simple prepared))
{
	initialize();
	convert('');
	$node->command_ok([ 'pgbench', '-n', '-M', $mode, '-c', '4', '-T', $seconds, 'postgres' ],
		"pgbench -M $mode runs on converted tables");
	# Convert again, with values in the columns, and after updates.
	convert('');
	$node->command_ok(
		[ 'pgbench', '-n', '-M', $mode, '-c', '4', '-T', $seconds, 'postgres' ],
		"pgbench -M $mode runs on tables that were converted again");
}
is( $node->safe_psql(
		'postgres', q{
	SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history)
		AND (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(bbalance) FROM pgbench_branches)}),
	't',
	'the balances agree');

# With narrow => true, later values may not fit, and advise() reports this risk.
my $risks = $node->safe_psql(
	'postgres',
	join "\nUNION ALL\n",
	map {
		"SELECT count(*) FROM compact_types.advise('$_', narrow => true) WHERE proposed_type ~ 'int' AND risk IS NULL"
	} @tables);
is($risks, "0\n0\n0\n0", 'no integer is proposed without a risk');

done_testing();
