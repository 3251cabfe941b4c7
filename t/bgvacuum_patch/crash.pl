# Kill the postmaster and all its children at random moments, while clients change rows and
# bgwriter prunes their pages.  Check after each crash that
#
# - the tables have the changes of all acknowledged transactions, and of no others;
# - recovery finds no page that differs from its full-page image in WAL (if WAL has such images);
# - heaps, indexes and checksums are valid.
#
# In each round, bgwriter prunes 2,000 pages (5,000 with PGDENSE_SOAK) before the kill.  Without
# debug_bgvacuum it prunes a tenth of this number, because it leaves pages alone that are not
# worth a prune.  Some crashes happen during recovery.  There are six rounds, or 100 with
# PGDENSE_SOAK.  PGDENSE_FUZZ_SEED is the random seed, which the test prints.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Bgvacuum;
use PgDense::Crash;
use PgDense::Ledger;
use PgDense::Patch;
use PgDense::Wal qw(unexpected_log);    # it lets killed processes end at once
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

needs_patch('bgvacuum_patch', 'bgvacuum');

my $seed = ($ENV{PGDENSE_FUZZ_SEED} || int(time())) % 1_000_000;
my ($rounds, $pages) = $ENV{PGDENSE_SOAK} ? (100, 5_000) : (6, 2_000);
my %count = map { $_ => 0 } qw(killed in_recovery pages_pruned tuples_removed pages_reused);
note "PGDENSE_FUZZ_SEED=$seed";
srand($seed);

my $node = bgvacuum_node('crash', autovacuum => 1, conf => <<'CONF');
max_connections = 30
autovacuum_naptime = 1s
max_wal_size = 1GB
CONF
my $ledger = PgDense::Ledger->new($node);
my $checksums = $node->safe_psql('postgres', 'SHOW data_checksums') eq 'on' ? 1 : 0;

for my $round (1 .. $rounds)
{
	# Switch data checksums, page images and debug_bgvacuum on and off in turn.
	my $want_checksums = $round % 4 >= 2;
	my $images = $round % 2 ? 'on' : 'off';
	my $forced = $round % 3 ? 'on' : 'off';
	# Without debug_bgvacuum, bgwriter looks only at pages that are soon evicted.
	my $buffers =
	  $forced eq 'on'
	  ? ('4MB', '16MB', '64MB')[ int(rand(3)) ]
	  : ('1MB', '2MB', '4MB')[ int(rand(3)) ];
	# Without page images, recovery finds no contents for pages of a table that is dropped later.
	# The consistency check reports such a page as damaged, on a stock server as well.
	my $compare = $images eq 'on' ? 'all' : '';
	my $again = rand() < 0.5 ? rand(0.1) : undef;
	my $longer = rand(0.5);
	my $what =
		"round $round (checksums "
	  . ($want_checksums ? 'on' : 'off')
	  . ", full_page_writes $images, forced $forced, $buffers)";

	if ($want_checksums != $checksums)
	{
		$node->stop;
		command_ok(
			[
				'pg_checksums', '--no-sync',
				$want_checksums ? '--enable' : '--disable', '-D',
				$node->data_dir
			],
			"$what: pg_checksums succeeds");
		$checksums = $want_checksums;
	}
	else
	{
		$node->stop(rand() < 0.5 ? 'fast' : 'immediate');
	}
	$node->append_conf('postgresql.conf', <<"CONF");
full_page_writes = $images
wal_consistency_checking = '$compare'
debug_bgvacuum = $forced
shared_buffers = $buffers
CONF
	$node->start;

	my $from = bgvacuum_stats($node);
	my $begin = time();
	my $wanted = $forced eq 'on' ? $pages : $pages / 10;
	$ledger->start;
	# Each round waits for a number of pruned pages.  If few pages are evicted and there are many
	# page images, this takes long, and even longer on a busy machine.
	local $PostgreSQL::Test::Utils::timeout_default =
	  20 * $PostgreSQL::Test::Utils::timeout_default;
	wait_for_prunes($node, $wanted, $from);
	usleep(1_000_000 * $longer);
	my $now = bgvacuum_stats($node);
	my $seconds = time() - $begin;
	# Without page images, recovery cannot repair a page that was only written in part.
	my @way = (whole_writes => $images eq 'off');
	$count{killed} += kill_all($node, @way);
	$ledger->finish;

	my $pruned = $now->{pages_pruned} - $from->{pages_pruned};
	cmp_ok($pruned, '>=', $wanted,
		sprintf('%s: bgwriter pruned %d pages in %.1f s', $what, $pruned, $seconds));
	$count{$_} += $now->{$_} - $from->{$_} for qw(pages_pruned tuples_removed pages_reused);

	$count{in_recovery}++ if defined $again && crash_in_recovery($node, $again, @way);
	$node->start(fail_ok => 1) or die "seed $seed: $what: recovery failed";
	$ledger->check($what) or die "seed $seed: nothing can be said of later rounds";

	if ($checksums)
	{
		$node->stop;
		command_ok(
			[ 'pg_checksums', '--check', '-D', $node->data_dir ],
			"$what: the checksums of all pages are right");
		$node->start;
	}
}
note join ', ', (map { "$count{$_} $_" } sort keys %count), "$ledger->{transactions} transactions";
cmp_ok($count{in_recovery}, '>', 0, 'some crashes were in recovery') if $ENV{PGDENSE_SOAK};
cmp_ok($count{pages_reused}, '>', 0, 'inserts used freed space');
$node->stop;
is(unexpected_log($node), '', 'nothing unexpected in the log');
done_testing();
