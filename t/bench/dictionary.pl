#
# dictionary.pl - check that bench/run dictionary measures what it claims to measure
#
# Run the study of trained dictionaries once, as a smoke run on a running server.  Check that
#
# - the held-out columns are the same on all machines, and no value is on both sides;
# - every column was judged by values that did not train its dictionary;
# - sizes and means of the result fit together;
# - the result has the metrics and the bars that the report and the documents name;
# - a value that comes back changed, and a column whose values are all on one side, end the study
#   with an error;
# - the study drops its database and its types.
#
# Times are not checked, because other processes disturb them.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use List::Util qw(sum);
use PgDense::Bench;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_python();

# Held-out columns
is(python(<<'PYTHON'), <<'LINES' =~ s/\n\z//r, 'the held-out columns');
import hashlib
from bench.text_mix import digest_of_column, held

made = [column for column in held.columns() if column.kind == "made"]
print(len(held.columns()), "columns,", len(made), "made")
print(hashlib.sha256("".join(digest_of_column(column.values) for column in made).encode()).hexdigest()[:16])
for column in held.columns():
    sides = [{value for value in column.values if held.is_for_training(value) == side} for side in (True, False)]
    if sides[0] & sides[1] or not 0.4 < len(sides[0]) / len(sides[0] | sides[1]) < 0.6:
        print(column.name, "is not divided into halves")
    if max(len(value.encode()) for value in column.values) > 2000:
        print(column.name, "has values that are too long for a dictionary")
PYTHON
27 columns, 23 made
6d8c7a250edf69d4
LINES

my $node = PostgreSQL::Test::Cluster->new('bench');
$node->init;
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\n");
$node->start;
local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
delete local $ENV{PGUSER};

my ($code, $out, $err) =
  bench($top, 'dictionary', '--running', '--quick', '--rows', '1000', '--rounds', '1', '--json',
	"$work/results/dictionary.json");
is($code, 0, 'bench/run dictionary') or BAIL_OUT("$out\n$err");
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_database WHERE datname LIKE 'bench%'"),
	'0', 'the database of the study is dropped');

my $result = read_result("$work/results/dictionary.json");
my ($metrics, $samples) = @$result{qw(metrics samples)};
my @promised = qw(json log user_agent arabic greek hindi ipv6 status);
my @sizes = ('mean.34', @promised, 'tables.mean');
my @times = qw(copy.text like sort sort.statement distinct hash_index);
my @absolute = qw(decode_gbs.100 decode_ns.24 encode_ns_byte train.seconds);
is_sound(
	$result,
	'dictionary',
	[
		@sizes,
		@times,
		qw(mean.held mean.real compact_text.mean.34 compact_text.mean.held tables.mean.with_dictionaries),
		@absolute,
		qw(compact_text.decode_gbs.100 compact_text.encode_ns_byte),
		qw(copy.text.compact_text sort.compact_text train.cpu_seconds)
	],
	\@times);
my %said = bars_said($result);
is_deeply(
	[ sort keys %said ],
	[ sort @sizes, @times, @absolute ],
	'the result has a verdict on every bar');

# Columns
my %columns = map { ("$_->{group} $_->{name}" => $_) } grep { $_->{test} eq 'column' } @$samples;
my %mix = map { ($_ => $columns{$_}) } grep { /^mix / } keys %columns;
my %held = map { ($_ => $columns{$_}) } grep { /^held / } keys %columns;
is(scalar(keys %held), 27, 'the held-out columns were measured');
is_deeply([ grep { $columns{$_}{values} < 200 || $columns{$_}{values} > 800 } keys %columns ],
	[], 'about a half of the 1,000 values was judged');
foreach my $mean ([ 'mean.34', \%mix ], [ 'mean.held', \%held ])
{
	my ($name, $of) = @$mean;

	is( sprintf('%.9f', $metrics->{$name}),
		sprintf('%.9f', sum(map { $_->{trained} / $_->{text} } values %$of) / keys %$of),
		"$name is the mean of the columns");
	cmp_ok(
		$metrics->{$name}, '<',
		$metrics->{"compact_text.$name"},
		"$name: dictionaries save more than compact_text");
}
is_deeply(
	[
		grep { $columns{$_}{trained} != $columns{$_}{compact} && !$columns{$_}{dictionary} }
		  keys %columns
	],
	[],
	'a column without a dictionary counts as compact_text');
ok($columns{"held $_"}{dictionary}, "$_ has a dictionary") foreach @promised;
ok(!$columns{'mix sha256'}{dictionary}, 'random digests have no dictionary');

# Tables
foreach my $table (grep { $_->{test} eq 'table' } @$samples)
{
	my $name = $table->{table};
	my %total =
	  map { ($_ => $table->{$_}{heap} + $table->{$_}{indexes}) } qw(text compact_text trained);

	cmp_ok(scalar(@{ $table->{converted} }), '>', 0, "$name: columns have a dictionary");
	is(scalar(grep { $table->{$_}{rows} == 1000 } keys %total), 3, "$name: all rows are there");
	cmp_ok($total{compact_text}, '<', $total{text}, "$name: compact_text saves space");
	cmp_ok($total{trained}, '<', $total{compact_text}, "$name: dictionaries save more");
	is( sprintf('%.9f', $metrics->{"tables.$name"}),
		sprintf('%.9f', $total{trained} / $total{compact_text}),
		"$name: the metric is the ratio of heap and indexes");
}

# Report
($code, $out, $err) =
  bench($top, 'report', '--results', "$work/results", '--html', "$work/report.html", '--markdown',
	"$work/benchmarks.md");
is($code, 0, 'bench/run report succeeds') or diag($out, $err);
my $markdown = slurp_file("$work/benchmarks.md");
like($markdown, qr/^## dictionary$/m, 'the tables have a section of the study');
like($markdown, qr/^\| greek \| real \|/m, 'the section has a row for each column');

# Errors that end the study
my $check = <<'PYTHON';
from contextlib import contextmanager
import psycopg
from bench.lib.console import BenchError
from bench.studies import dictionary_sizes, dictionary_train
from bench.text_mix import Column
host, port, user, case = sys.argv[2:]
values = [f"value {number}" for number in range(100)]
with psycopg.connect(host=host, port=port, dbname="postgres", user=user, autocommit=True) as connection:
    connection.execute("CREATE EXTENSION IF NOT EXISTS compact_types")
    if case == "one side":
        values = values[:1]
    elif case == "changed":
        @contextmanager
        def learned(connection, values):
            with dictionary_train.learned(connection, values) as training:
                connection.execute("UPDATE stored SET trained = 'other' WHERE value IN (SELECT min(value) FROM stored)")
                yield training
        dictionary_sizes.learned = learned
    try:
        size = dictionary_sizes.column_size(connection, Column("test", "made", tuple(values)), values)
        print("sound", size.values)
    except BenchError as error:
        print(error.format_message())
PYTHON
my @server = ($node->host, $node->port, (getpwuid($>))[0]);
like(python($check, @server, 'sound'), qr/^sound \d+$/, 'a column that is sound');
is( $node->safe_psql('postgres', "SELECT count(*) FROM pg_extension WHERE extname LIKE 'trained%'"),
	'0',
	'the type is dropped');
is( python($check, @server, 'changed'),
	'trained_textN: 1 values of test came back changed, 0 got larger',
	'a changed value is an error');
is( python($check, @server, 'one side'),
	'all values of a column are on the same side',
	'values on one side are an error');
$node->stop;

fails_like($top, [ 'dictionary', '--running' ], qr/lost the server/, 'no server');
fails_like($top, [ 'dictionary', '--rows', '10' ], qr/--rows/, 'too few rows', 2);
fails_like($top, [ 'dictionary', '--rounds', '0' ], qr/--rounds/, 'no rounds', 2);

done_testing();
