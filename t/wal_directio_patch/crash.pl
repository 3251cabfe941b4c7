# Crash a server in each mode of writing WAL.  Kill the postmaster and all its children
# with SIGKILL at random moments.  Meanwhile clients commit, some asynchronously, and
# others switch segments, write much WAL at once and make checkpoints.  Each round
# writes WAL in another mode.
#
# Check after each crash that the rows of every acknowledged transaction are there.  The last
# asynchronous commits of a client may be lost.  But if a commit is there, all earlier commits of
# the same client must be there, too.  Recovery compares all pages with their images in WAL.
# Sometimes the server is killed in recovery, too.
#
# There are eight rounds, or 100 with PGDENSE_SOAK.  PGDENSE_FUZZ_SEED is the random seed.  The test
# prints it.
use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";
use PgDense::Crash;
use PgDense::Patch;
use PgDense::Wal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

needs_patch('wal_directio_patch', 'wal_directio');

my $seed = ($ENV{PGDENSE_FUZZ_SEED} || int(time())) % 1_000_000;
my $rounds = $ENV{PGDENSE_SOAK} ? 100 : 8;
my ($synchronous, $asynchronous) = (8, 4);
my $clients = $synchronous + $asynchronous;
note "PGDENSE_FUZZ_SEED=$seed";

# If only the server crashes, no written data are lost.  So turn fsync off.
my $node = wal_node(
	'crash', 1,
	fsync => 'off',
	max_connections => 50,
	wal_consistency_checking => 'all',
	max_wal_size => '8MB',
	min_wal_size => '4MB',
	checkpoint_timeout => '30s',
	wal_writer_delay => '10ms');
my $dir = $node->basedir;
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE ledger (c int, n int, v text, PRIMARY KEY (c, n));
CREATE TABLE totals (c int PRIMARY KEY, n int) WITH (fillfactor = 50);
INSERT INTO totals SELECT c, 0 FROM generate_series(0, 49) c;
CREATE TABLE bulk (i int, v text);
SQL

# Transaction n of a client inserts its row n, and updates its total to n.  The contents
# of a row depend on its number; its length gives records of all sizes.
for (([ 'sync', 0, 'on' ], [ 'async', $synchronous, 'off' ]))
{
	my ($name, $first, $commit) = @$_;
	append_to_file("$dir/$name.sql", <<"SQL");
\\set c :client_id + $first
SET synchronous_commit = $commit;
BEGIN;
UPDATE totals SET n = n + 1 WHERE c = :c RETURNING n \\gset
INSERT INTO ledger VALUES (:c, :n, repeat(chr(65 + :n % 26), :n * 37 % 2000));
COMMIT;
SQL
}
append_to_file("$dir/bulk.sql", <<'SQL');
SET synchronous_commit = off;
INSERT INTO bulk SELECT i, repeat('b', i * 7 % 3000) FROM generate_series(1, 400) i;
\sleep 100 ms
TRUNCATE bulk;
SQL
append_to_file("$dir/switch.sql", "\\sleep 150 ms\nSELECT pg_switch_wal();\n");
append_to_file("$dir/checkpoint.sql", "\\sleep 250 ms\nCHECKPOINT;\n");

my @before = (0) x $clients;
my %count = map { $_ => 0 } qw(killed acknowledged recoveries_killed lost_async);
srand($seed);

# all ways to write WAL, in random order
my @ways;
for my $round (1 .. $rounds)
{
	@ways = sort { $a->[2] <=> $b->[2] } map { [ @$_, rand() ] }[ 'try', 512 ], [ 'try', 4096 ],
	  [ 'try', 8192 ], [ 'try', 'auto' ], [ 'off', 512 ], [ 'off', 4096 ], [ 'off', 'auto' ],
	  [ 'off', 8192 ]
	  if !@ways;
	my ($direct, $unit) = @{ shift @ways };
	my $seconds = 0.3 + rand(1.2);
	my $again = rand() < 0.5 ? rand(0.08) : undef;
	my $buffers = ('32kB', '64kB', '256kB', '4MB')[ int(rand(4)) ];
	my $method = rand() < 0.5 ? 'fdatasync' : 'open_datasync';
	my $recycle = rand() < 0.7 ? 'on' : 'off';
	my $zero = rand() < 0.7 ? 'on' : 'off';
	my $what =
	  "round $round (wal_directio = $direct, wal_write_unit = $unit, wal_buffers = $buffers, $method)";

	$node->stop('immediate');
	set_parameters(
		$node,
		wal_directio => $direct,
		wal_write_unit => $unit,
		wal_buffers => $buffers,
		wal_sync_method => $method,
		wal_recycle => $recycle,
		wal_init_zero => $zero);
	my $from = crash_and_start($node);
	my $mode = effective_mode($node, $from);
	is( ($mode->{mode} eq 'direct' || defined $mode->{reason}) ? 'told'   : 'silent',
		$direct eq 'off'                                       ? 'silent' : 'told',
		"$what: the log names the mode unless it is off");

	my @scripts = (
		[ 'sync', "--client=$synchronous", '--jobs=2', '--log', "--log-prefix=$dir/ack.sync" ],
		[ 'async', "--client=$asynchronous", '--log', "--log-prefix=$dir/ack.async" ],
		['bulk'],
		['switch'],
		['checkpoint']);
	my @errors = ('') x @scripts;
	my @running;
	for my $i (0 .. $#scripts)
	{
		my ($script, @options) = @{ $scripts[$i] };
		push @running,
		  IPC::Run::start(
			[
				'pgbench', '--no-vacuum',
				'--time=600', @options,
				"--file=$dir/$script.sql", $node->connstr('postgres')
			],
			'>',
			'/dev/null',
			'2>',
			\$errors[$i]);
	}
	usleep(1_000_000 * $seconds);
	$count{killed} += kill_all($node);
	$_->finish for @running;
	# Report a script that ended early for another reason than the crash.
	note $_
	  for grep { /error/i && !/terminat|closed|connection|aborted/ } map { split /\n/ } @errors;

	if (defined $again && crash_in_recovery($node, $again))
	{
		$count{recoveries_killed}++;
	}
	$node->start;

	my $sync = acknowledged("$dir/ack.sync");
	my $async = acknowledged("$dir/ack.async");
	unlink glob("$dir/ack.*");
	my (@wrong, @last);
	for my $c (0 .. $clients - 1)
	{
		my $times = $c < $synchronous ? $sync->{$c} : $async->{ $c - $synchronous };
		my $told = $times ? @$times : 0;
		my $least = $before[$c] + ($c < $synchronous ? $told : 0);
		my $most = $before[$c] + $told + 1;
		$last[$c] = $node->safe_psql('postgres', "SELECT n FROM totals WHERE c = $c");
		push @wrong, "client $c has $last[$c] of $least to $most"
		  if $last[$c] < $least || $last[$c] > $most;
		$count{acknowledged} += $told;
		$count{lost_async}   += $before[$c] + $told - $last[$c]
		  if $c >= $synchronous && $last[$c] < $before[$c] + $told;
	}
	is(join(', ', @wrong),
		'',
		sprintf('%s: killed after %.2f s, no acknowledged transaction is lost', $what, $seconds));
	is($node->safe_psql('postgres', <<'SQL'), '0', "$what: rows and totals agree");
SELECT count(*) FROM totals FULL JOIN
  (SELECT c, count(*) AS n, max(n) AS last, bool_and(v = repeat(chr(65 + n % 26), n * 37 % 2000)) AS good FROM ledger GROUP BY c) l USING (c)
WHERE totals.n IS DISTINCT FROM coalesce(l.n, 0) OR l.n <> last OR NOT good
SQL
	die "seed $seed: nothing can be said of later rounds" if @wrong;
	@before = @last;
}
note join ', ', map { "$count{$_} $_" } sort keys %count;
cmp_ok($count{acknowledged}, '>', $clients * $rounds, 'each round had acknowledged transactions');
$node->stop;
is(unexpected_log($node), '', 'log');
done_testing();
