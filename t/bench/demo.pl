#
# demo.pl - check that bench/run demo shows what it promises, and leaves what it says
#
# Check that
#
# - the demo begins with what it does and how long it takes, and ends with the commands for the
#   reader's own database;
# - it names its limits, also where the machine has none;
# - its table, its plot and its picture have the same figures for both databases;
# - it says what each feature did;
# - it removes its server, also after an error, and with --keep it leaves one with both databases.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Bench;
use PostgreSQL::Test::Utils;
use Test::More;

needs_python();

my @short = qw(--lite --warehouses 1 --warmup 0 --seconds 2 --clients 2 --shared-buffers 16MB);

# Return the names of the demo's instances.
sub instances
{
	return map { s/.*\///r } glob("$top/build/cluster/demo*");
}

my ($code, $out, $err) = bench($top, 'demo', @short, '--pairs', '1', '--unlimited');
is($code, 0, 'a demo without limits succeeds') or BAIL_OUT("$out\n$err");
is($err, '', 'nothing is on stderr');
like(
	$out,
	qr/\Apg_dense demo: [^\n]* takes about \d+ minutes?\n\n1\. Load 1 warehouse into/,
	'the demo begins with what it does and how long it takes');
like(
	$out,
	qr/^--unlimited: memory and reads a second are not limited\..*\bNew-Orders\s+a\s+minute.*^Limits/ms,
	'the demo names the missing limits and their effect');
like(
	$out,
	qr/^Limits of the server: shared_buffers 16MB, (?:direct I\/O for tables|memory not limited)\.$/m,
	'the demo names its limits');

# The rows of the table
my %row;
foreach (split(/\n/, $out))
{
	my @cells = map { s/^\s+|\s+$//gr } split(/│/, $_ =~ s/^│|│$//gr);

	$row{ $cells[0] } = \@cells if @cells == 4;
}
# The catalogs of a database with extensions are larger than these few rows.
foreach my $name ('its tables', 'its indexes')
{
	my ($stock, $dense) = map { s/ MB$//r } @{ $row{$name} // [] }[ 1, 2 ];

	ok($stock && $dense && $dense < $stock, "$name: pg_dense is smaller")
	  or diag($out);
}
like($row{"$_"}[1], qr/^[1-9][\d,.]*(?: kB)?$/, "$_: the table has the figure")
  foreach 'WAL per New-Order', 'New-Orders a minute';
like($row{'New-Orders a minute'}[3], qr/^\d+\.\d\d times$/, 'the gain is a factor');
is_deeply(
	[ @{ $row{'consistency conditions met'} }[ 1, 2 ] ],
	[ '12 of 12', '12 of 12' ],
	'both databases meet all conditions');

# The plot, and the same in a file
my ($plot) = $out =~ /^New-Orders a minute +stock tables[^\n]*\n(.*?)\n\n/ms;
like($plot, qr/^ +pg_dense +█[^\n]*\d\.\d\d times *$/m, 'the plot has bars');
my ($picture) = $out =~ /^The same plot as a picture: (\S+)$/m;
my $svg = slurp_file($picture =~ /^\// ? $picture : "$top/$picture");
foreach my $name ('New-Orders a minute', 'database, freshly loaded', 'its indexes')
{
	like($svg, qr/>\Q$name\E<\/text>/, "the picture has the group: $name");
	like($svg, qr/>\Q$row{$name}[1]\E<\/text>/,
		"the picture has the figure of stock tables: $name");
	like(
		$svg,
		qr/>\Q$row{$name}[2]  $row{$name}[3]\E<\/text>/,
		"the picture has the figure of pg_dense: $name");
}
is(python(<<'PYTHON'), 'same', 'the same bars give the same picture');
from bench import picture
drawn = [picture.svg("a & b", [picture.Group("g", [picture.Bar("n", 1.0, "1", below="<" * 200, low=0.5, high=1.5)])]) for _ in range(2)]
print("same" if drawn[0] == drawn[1] and "a &amp; b" in drawn[0] and "<<" not in drawn[0] else drawn)
PYTHON

my ($features) = $out =~ /^What each feature did\n(.*?)\n\n/ms;
like($features, qr/^  \Q$_\E  /m, "the demo says what the feature did: $_")
  foreach qw(compact_types index_align vertical_partition wal_directio_patch), 'not used';
my ($aligned, $unaligned, $stock) =
  $features =~
  /All indexes take ([\d.]+) MB\..* would\s+take\s+([\d.]+)\s+MB,\s+and\s+with\s+stock\s+types\s+([\d.]+)\s+MB/s;
ok(defined $stock && $aligned <= $unaligned && $unaligned < $stock,
	'alignment and types make the indexes smaller');
like(
	$out,
	qr/^now on your database: tools\/advise DBNAME\n(?:[^\n]+\n)*  =# CREATE EXTENSION pg_dense;\n(?:[^\n]+\n)*\z/m,
	'the demo ends with the commands for the database of the reader');
is_deeply([ instances() ], [], 'no instance is left');

# Without a control group and without direct I/O, the demo still says what that means.
is(python(<<'PYTHON'), <<'LINES' =~ s/\n\z//r, 'no limit is possible');
from types import SimpleNamespace
from bench.studies import demo

said = []
demo.note = said.append
demo._direct_io = lambda: False
options = SimpleNamespace(unlimited=True, shared_buffers="8MB")
found = demo.limits(options)
print(said[0].split(".")[1].split(",")[0].strip(), found.settings)
PYTHON

Limits of the server: shared_buffers 8MB, memory not limited.

All data stay in memory {}
LINES

# After an error, everything is removed, also a copy that is not complete, and a second interrupt
# does not stop that.
is(python(<<'PYTHON'), <<'LINES' =~ s/\n\z//r, 'an error leaves nothing');
import signal
from bench.lib.console import BenchError
from bench.studies import demo

def fails(cluster, name):
    print("copy to", name)
    raise BenchError("no space")

def remove(cluster):
    print("remove", cluster.name, signal.getsignal(signal.SIGTERM) == signal.SIG_IGN)

demo.introduce = demo.tpcc.require_settings = demo.Demo.load_all = lambda *_: None
demo.limits = lambda _: demo.Limits(False, False)
demo.Cluster.copy_to, demo.Cluster.remove = fails, remove
try:
    demo.command.main(["--lite"], standalone_mode=False)
except BenchError as error:
    print(error)
PYTHON
remove demo False
remove demo-run False
copy to demo-run
remove demo-run True
remove demo True
no space
LINES

# Repeats, with the limits of the machine if it has any, and a server to look around in
($code, $out, $err) = bench($top, 'demo', @short, '--pairs', '2', '--memory', '400', '--keep');
is($code, 0, 'a demo that keeps its server succeeds') or diag("$out\n$err");
like(
	$out,
	qr/│ New-Orders a minute +│ +[\d,]+ \([\d,]+ to [\d,]+\) │ +[\d,]+ \([\d,]+ to [\d,]+\) │ +\d\.\d\d times \(\d\.\d\d to \d\.\d\d\) │/,
	'repeats give a range');
my ($psql) = $out =~ /^  (\S+psql -h \S+ -p \d+ -U \S+) tpcc_dense$/m;
ok($psql, 'the demo says how to connect') or diag($out);
foreach my $database ('tpcc_stock', 'tpcc_dense')
{
	is( `$psql -XAtc 'SELECT count(*) FROM customer' $database`,
		"300\n",
		"the kept server has the database $database");
}
is_deeply([ instances() ], ['demo'], 'only the kept server is left');
is(system("$top/tools/cluster", 'remove', 'demo'), 0, 'the command that removes it works');
is_deeply([ instances() ], [], 'it is removed');

done_testing();
