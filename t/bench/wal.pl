#
# wal.pl - check that bench/run wal measures what it claims to measure
#
# Run the study of WAL with direct I/O once, as a smoke run.  Check that
#
# - the number of bytes that a commit writes to the device depends on the unit of WAL writes, and
#   direct I/O alone does not change it;
# - the study sees WAL in the page cache: all of it if WAL is buffered, none of it with
#   direct I/O;
# - the result has the metrics that the report and the documents name;
# - without root privileges, the study says which measurements it omits;
# - the study refuses a server without wal_directio_patch and a file system without direct I/O, with
#   an error of one line, and leaves no instance.
#
# Times are not checked, because other processes disturb them.
#
use strict;
use warnings FATAL => 'all';

use File::Basename qw(dirname);
use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";
use PgDense::Bench;
use PgDense::Patch;
use PostgreSQL::Test::Utils;
use Test::More;

my $stock = "$top/build/$major/stock";

needs_python();
needs_patch('wal_directio_patch', 'wal_directio');

my @small = ('--quick', '--seconds', '0.5', '--memory', '96');
my ($code, $out, $err) =
  bench($top, 'wal', @small, '--clients', '1', '--method', 'fdatasync', '--json',
	"$work/results/wal.json");
SKIP:
{
	skip "no direct I/O here: $err", 1
	  if $code && $err =~ /WAL is not written with direct I\/O: The file system/;
	is($code, 0, 'bench/run wal') or BAIL_OUT("$out\n$err");

	my $result = read_result("$work/results/wal.json");
	my ($metrics, $samples) = @$result{qw(metrics samples)};
	my @bases = -x "$stock/bin/postgres" ? ('off') : ();
	my @buffered = $> == 0 ? qw(buffered_4096 buffered_512) : ();
	my @units = (@bases, @buffered, qw(direct_8192 direct_4096 direct_512));
	my @tps = ('tps.direct.fdatasync.1', @bases ? 'tps.off.fdatasync.1' : ());
	my @names = (
		(map { "bytes.$_.1" } @units),
		(map { "bytes_images.$_.1" } @bases, qw(direct_4096 direct_512)),
		(map { ("resident.$_", "resident.${_}_archived") } qw(off relieved direct)), @tps);

	is_sound($result, 'wal', \@names, \@tps, 'device bytes', 'settings of all');

	# Bytes: each commit writes one unit.  New pages and segments add few bytes.
	cmp_ok($metrics->{'bytes.direct_4096.1'},
		'<=', 0.60, 'units of 4096 bytes write at most 60 % of the bytes');
	cmp_ok($metrics->{'bytes.direct_512.1'},
		'<=', 0.20, 'units of 512 bytes write at most 20 % of the bytes');
	cmp_ok($metrics->{"bytes.$_.1"}, '<=', 0.60, "units save bytes through the page cache, too: $_")
	  foreach @buffered;
	foreach my $name (@bases, 'direct_8192')
	{
		cmp_ok(abs($metrics->{"bytes.$name.1"} - 1),
			'<', 0.1, "the variant writes as many bytes as before: $name");
	}
	foreach
	  my $sample (grep { $_->{test} eq 'bytes' && $_->{clients} == 1 && !$_->{full_page_writes} }
		@$samples)
	{
		my $unit = $sample->{variant} =~ /_(\d+)$/ ? $1 : 8192;
		my ($column) = grep { exists $sample->{$_} } qw(device_write_bytes process_write_bytes);

		# A write through the page cache writes at least one page of the file system.
		$unit = 4096 if $unit < 4096 && $sample->{variant} =~ /^buffered/;
		cmp_ok(
			$sample->{$column} / $sample->{commits},
			'>=',
			$unit * 0.9,
			"$sample->{variant}: each commit writes at least one unit");
	}

	# Page cache
	cmp_ok($metrics->{'resident.off'}, '>', 0.9, 'buffered WAL is in the page cache');
	cmp_ok($metrics->{'resident.direct'},
		'<=', 0.01, 'WAL with direct I/O is not in the page cache');
	cmp_ok($metrics->{'resident.direct_archived'},
		'<=', 0.01, 'WAL with direct I/O is not in the page cache after archiving, either');
	cmp_ok(
		$metrics->{'resident.relieved'},
		'<',
		$metrics->{'resident.off'},
		'relief without direct I/O leaves less WAL in the page cache');
	is_deeply([ grep { $_->{test} eq 'resident' && $_->{new_segments} < 1 } @$samples ],
		[], 'each run has new segments');

	# The output names the measurements that this account cannot make, and the result omits them.
	if ($> != 0)
	{
		like(
			$out,
			qr/^no loop device for pg_wal \(not started by root\)/m,
			'without root, the output says that there is no loop device');
		like(
			$out,
			qr/^no writable cgroup, as not started by root: data residency/m,
			'without root, the output says that there is no cgroup');
		ok(!exists $metrics->{'memory.data'},
			'without a cgroup, the metrics of memory are left out');
	}
	else
	{
		like(
			$result->{environment}{'device bytes'},
			qr/loop device|\/dev\/loop|processes/,
			'the result says which bytes are counted');
	}

	my %said = bars_said($result);
	is_deeply(
		[
			grep { ($said{$_} // '') ne 'met' }
			  qw(bytes.direct_4096.1 bytes.direct_512.1 resident.direct)
		],
		[],
		'the bars are met');
	like($out, qr/What the project promises/, 'the bars are printed');

	# Report
	($code, $out, $err) =
	  bench($top, 'report', '--results', "$work/results", '--html', "$work/report.html",
		'--markdown', "$work/benchmarks.md");
	is($code, 0, 'bench/run report succeeds') or diag($out, $err);
	like(slurp_file("$work/report.html"), qr/<svg/, 'the page has a chart');
	my $markdown = slurp_file("$work/benchmarks.md");
	like($markdown, qr/^## wal$/m, 'the tables have a section of the study');
	like($markdown, qr/^\| direct, 512 \| 1 \|/m, 'the section has rows');
}
no_instances($top, 'wal');
ok(!-e "$top/build/device", 'no device is left');

# Check that the study finds the reason and the unit in a server log.
my $asked = <<'PYTHON';
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from bench.wal.variants import reason_of_fallback, written_unit
print(reason_of_fallback(Path(sys.argv[2])), written_unit(Path(sys.argv[2])))
PYTHON
my $direct =
  "[1] LOG:  WAL is written with direct I/O in units of 4096 bytes\n[1] DETAIL:  The file system of \"pg_wal\" is ext4.\n";
foreach my $case (
	[ $direct, 'None 4096', 'direct' ],
	[
		"$direct\[2] LOG:  direct I/O for WAL is given up\n[2] DETAIL:  Why not.\n",
		'Why not. 4096',
		'given up'
	],
	[
		"LOG:  WAL is written through the page cache, because direct I/O is not possible in \"pg_wal\"\nDETAIL:  No way.\n",
		'No way. 0',
		'refused'
	],
	[ "LOG:  database system is ready\n", 'the server does not say so 0', 'silent' ])
{
	my ($log, $expected, $title) = @$case;

	append_to_file("$work/$title.log", $log);
	IPC::Run::run([ '/usr/bin/python3', '-B', '-c', $asked, $top, "$work/$title.log" ],
		'>', \$out, '2>', \$err);
	is($out, "$expected\n", "reason and unit in a server log: $title") or diag($err);
}

# Data of the server's files that another process has read into the page cache are not under the
# memory limit.  The study must notice such data.  Objects that need no root privileges replace the
# server and its control group.
is(python(<<'PYTHON', $work), <<'LINES' =~ s/\n\z//r, 'files that another process read');
from contextlib import ExitStack, nullcontext
from pathlib import Path
from types import SimpleNamespace
from bench.lib.console import BenchError
from bench.lib.result import Result
from bench.wal import memory
from bench.wal.variants import OFF

data = Path(sys.argv[2]) / "memory"
(data / "base").mkdir(parents=True)
(data / "pg_wal").mkdir()
(data / "base" / "1").write_bytes(b"x" * (40 * 2**20))
connection = SimpleNamespace(execute=lambda statement: None)
cluster = SimpleNamespace(data=data, connect=lambda database: nullcontext(connection), stop=lambda immediate: None)
instance = SimpleNamespace(
    cluster=cluster, wal=data / "pg_wal", evict=lambda: None, start=lambda *arguments, **more: cluster, stop=lambda *arguments: None
)
memory.load.run = lambda *arguments: {"commits": 1}
for charged in (40, 0):
    memory.cgroup.create = lambda *arguments: SimpleNamespace(
        file_cache=lambda: charged * 2**20, join_prefix=lambda: (), memory_peak=lambda: 1, describe=lambda: "a limit",
        lift=lambda: None, remove=lambda: print("removed"))
    result = Result("wal", 1)
    try:
        memory.Memory(result, ExitStack(), 64).run(instance, OFF, 0, 0, 1)
        print(result.samples[0]["data_resident"] // 2**20)
    except BenchError as error:
        print(str(error).partition(";")[0], len(result.samples))
PYTHON
removed
40
removed
another process has read files of the server: the page cache holds 40 MB of them beyond the memory limit 0
LINES

# Servers and file systems without direct I/O for WAL
SKIP:
{
	skip "no build/$major/stock to be refused", 6 unless -x "$stock/bin/postgres";
	my $plain = checkout("$work/plain", $stock);
	my $says = qr/the server has no setting "wal_directio"[^\n]*run "make server"/;

	fails_like($plain, [ 'wal', '--quick' ], $says, 'a server without wal_directio_patch');
	fails_like(
		$plain, [ 'tpcc', '--quick', '--lite', '--stage', 'wal-direct' ],
		$says, 'a server without wal_directio_patch, stage of TPC-C');
}
SKIP:
{
	my ($kind, $free) =
	  map { split } grep { !/Type/ } `df -m --output=fstype,avail /dev/shm 2>/dev/null`;
	skip 'no tmpfs with room', 3 unless ($kind // '') eq 'tmpfs' && $free > 256 && -w '/dev/shm';
	my $dir = File::Temp->newdir('pg_dense.XXXXXX', DIR => '/dev/shm');

	chmod 0755, "$dir";
	fails_like(
		checkout("$dir/top", dirname(dirname(`which postgres`))),
		[ 'wal', '--quick' ],
		qr/as WAL is not written with direct I\/O: The file system tmpfs/,
		'a tmpfs');
}
fails_like($top, [ 'wal', '--method', 'fsync' ], qr/'fsync'/, 'a method that is not compared', 2);

done_testing();
