#
# fk_restore.pl - check that bench/run fk-restore measures what it claims to measure
#
# Run the study of restores with a foreign key once, as a smoke run.  Check that
#
# - a foreign key that exists before the rows is looked up once for each row: at the end of the
#   statement if it is immediate, at COMMIT if it is deferred;
# - a foreign key that is added after the rows is never looked up for a single row;
# - a missing row, another foreign key and a program that fails end the study with an error;
# - the result has the metrics that the report and the documents name;
# - the study refuses wrong arguments with an error of one line, and leaves no instance.
#
# Times are not checked, because other processes disturb them.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Bench;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = 5000;
my @variants = qw(none key immediate deferred after after_j2);
my @kinds = qw(none immediate deferred after);

needs_python();

my ($code, $out, $err) =
  bench($top, 'fk-restore', '--quick', '--json', "$work/results/fk-restore.json");
is($code, 0, 'bench/run fk-restore') or BAIL_OUT("$out\n$err");
no_instances($top, 'fk-restore');
ok(!-e "$ENV{PGDENSE_BENCH_DIR}/fk-restore", 'no dump is left');

my $result = read_result("$work/results/fk-restore.json");
my $samples = $result->{samples};
is_sound(
	$result,
	'fk-restore',
	[
		qw(key immediate deferred after after_j2 deferred.to_immediate trigger_share),
		map { "insert.$_" } qw(immediate deferred after)
	],
	[qw(key immediate deferred after after_j2 deferred.to_immediate)],
	'settings of all');

my %of;
$of{ $_->{test} }{ $_->{variant} } = $_ foreach @$samples;

# Restores
is_deeply([ sort keys %{ $of{restore} } ], [ sort @variants ], 'every variant was restored');
foreach my $variant (@variants)
{
	my $sample = $of{restore}{$variant};

	is( $sample->{lookups},
		$variant =~ /immediate|deferred/ ? $rows : 0,
		"$variant: number of lookups in the referenced key");
	cmp_ok($sample->{wal_bytes}, '>', 400 * $rows, "$variant: WAL has the rows");
}
is($result->{metrics}{$_}, $of{restore}{$_}{seconds} / $of{restore}{none}{seconds}, "metric of $_")
  foreach qw(immediate after_j2);

# Calls, blocks and locks of one INSERT
is_deeply(
	[ sort keys %{ $of{insert} } ],
	[ sort @kinds ],
	'the INSERT ran with every kind of foreign key');
my %calls = (none => 0, immediate => $rows, deferred => 0, after => 0);
foreach my $kind (@kinds)
{
	my ($insert, $explain) = ($of{insert}{$kind}, $of{explain}{$kind});
	my $each = $kind =~ /immediate|deferred/;

	is($insert->{lookups}, $each ? $rows : 0, "$kind: number of lookups in the referenced key");
	is($explain->{calls}, $calls{$kind}, "$kind: calls of the trigger within the statement");
	cmp_ok($insert->{key_blocks}, $each ? '>=' : '<', $rows, "$kind: blocks of the referenced key");
	cmp_ok($insert->{locks}, $each      ? '>'  : '==', 0, "$kind: row locks in WAL");
}
is( $of{insert}{deferred}{locks},
	$of{insert}{immediate}{locks},
	'a deferred foreign key locks as many rows as an immediate one');
cmp_ok(
	$of{insert}{deferred}{queue_bytes},
	'>',
	$of{insert}{immediate}{queue_bytes},
	'the calls of a deferred foreign key wait in memory');
cmp_ok(
	$of{explain}{immediate}{trigger_ms} + $of{explain}{immediate}{rows_ms},
	'<=',
	$of{explain}{immediate}{statement_ms},
	'the calls of an immediate foreign key come after the rows');

# Report
($code, $out, $err) =
  bench($top, 'report', '--results', "$work/results", '--html', "$work/report.html", '--markdown',
	"$work/benchmarks.md");
is($code, 0, 'bench/run report succeeds') or diag($out, $err);
my @charts = slurp_file("$work/report.html") =~ /<figure class=/g;
is(scalar(@charts), 1, 'the page has the chart of the study');
my $markdown = slurp_file("$work/benchmarks.md");
like($markdown, qr/^## fk-restore$/m, 'the tables have a section of the study');
like($markdown, qr/^\| foreign key before the rows, DEFERRED \|/m, 'the section has rows');

# Errors that end the study
my $node = PostgreSQL::Test::Cluster->new('rows');
$node->init;
$node->start;
my $check = <<'PYTHON';
import psycopg
from bench.lib.console import BenchError
from bench.restore import tables
host, port, user, statements, *wanted = sys.argv[2:]
with psycopg.connect(host=host, port=port, dbname="postgres", user=user, autocommit=True) as connection:
    connection.execute("DROP TABLE IF EXISTS bench_accounts, bench_entries")
    connection.execute(tables.CREATE + tables.FILL.format(rows=50, accounts=5, seed=1) + tables.ADD_KEY)
    connection.execute(statements)
    try:
        tables.require_restored(connection, "test", int(wanted[0]), wanted[1])
        print("sound")
    except BenchError as error:
        print(error.format_message())
PYTHON
my @server = ($node->host, $node->port, (getpwuid($>))[0]);
my $reference = 'ALTER TABLE bench_entries ADD FOREIGN KEY (account) REFERENCES bench_accounts';
is(python($check, @server, 'SELECT', 50, ''), 'sound', 'rows without a foreign key are accepted');
is(python($check, @server, $reference, 50, 'immediate'),
	'sound', 'rows with an immediate foreign key are accepted');
is(python($check, @server, "$reference DEFERRABLE INITIALLY DEFERRED", 50, 'deferred'),
	'sound', 'rows with a deferred foreign key are accepted');
is( python($check, @server, 'DELETE FROM bench_entries WHERE id = 7', 50, ''),
	'test: 49 rows were restored, not 50',
	'a missing row is an error');
is( python($check, @server, $reference, 50, 'deferred'),
	'test: the foreign key is "immediate", not "deferred"',
	'another foreign key is an error');
is( python($check, @server, "$reference NOT VALID", 50, 'immediate'),
	'test: the foreign key is "immediate, not valid", not "immediate"',
	'a foreign key that is not validated is an error');
is( python(
		<<'PYTHON', @server, $node->config_data('--bindir')), 'pg_restore failed: could not open input file "/nowhere": No such file or directory (server log: the log)', 'a program that fails is an error');
from types import SimpleNamespace
from pathlib import Path
from bench.lib.console import BenchError
from bench.restore import tables
host, port, user, bindir = sys.argv[2:]
server = SimpleNamespace(environment={"PGHOST": host, "PGPORT": port, "PGUSER": user}, bindir=Path(bindir), log="the log")
try:
    tables.program(server, "pg_restore", ["-d", "postgres", "/nowhere"])
except BenchError as error:
    print(error.format_message())
PYTHON
$node->stop;

# Bad input
fails_like($top, [ 'fk-restore', '--rows', '4999' ], qr/--rows/, 'too few rows', 2);
fails_like($top, [ 'fk-restore', '--rounds', '0' ], qr/--rounds/, 'no rounds', 2);

done_testing();
