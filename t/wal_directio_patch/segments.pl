# Test segments of all sizes, zero-filled or not, recycled or not, in each mode of
# wal_directio_patch to write WAL.  No committed row may be lost in a crash, and directly written
# segments must not be in the page cache. wal_cache_relief must drop finished segments from the page
# cache, but not before the archiver and the walsenders have read them.
#
# With PGDENSE_SOAK, the test tries all combinations.  Otherwise it tries only enough of them to
# combine each value of a parameter with each value of every other parameter.
use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";

use PgDense::Crash;
use PgDense::Patch;
use PgDense::Wal qw(set_parameters unexpected_log effective_mode log_position);
use PgDense::WalFiles;
use PgDense::WalSegments qw(segment_files);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

needs_patch('wal_directio_patch', 'wal_directio');
my $can = can_write_directly($PostgreSQL::Test::Utils::tmp_check);
my $direct = $can ? 'on' : 'try';
note 'no direct I/O in the folder of the test, all falls back' if !$can;

my @modes =
  ([ $direct, 512 ], [ $direct, 4096 ], [ $direct, 8192 ], [ 'off', 512 ], [ 'off', 8192 ]);
my @pairs = ([ 'on', 'on' ], [ 'on', 'off' ], [ 'off', 'on' ], [ 'off', 'off' ]);

# segments(NODE) - return the paths of the server's segments
sub segments
{
	my ($node) = @_;
	my $dir = $node->data_dir . '/pg_wal';

	return map { "$dir/$_" } segment_files($dir);
}

# resident(PATH...) - like resident_bytes(), without files that were removed meanwhile
sub resident
{
	return resident_bytes(grep { -s } @_);
}

# fill(NODE, MB) - write MB megabytes of WAL in a hundred commits; table ledger numbers
# the rows
my $rows = 0;

sub fill
{
	my ($node, $mb) = @_;
	my $bytes = int($mb * 10_000);

	$node->safe_psql('postgres', <<"SQL");
DO \$\$ BEGIN FOR i IN 1 .. 100 LOOP
	INSERT INTO ledger SELECT coalesce(max(id), 0) + 1, md5(i::text) FROM ledger;
	PERFORM pg_logical_emit_message(i % 2 = 0, 'm', repeat('0123456789', $bytes / 10 + i));
	COMMIT;
END LOOP; END \$\$;
SQL
	$rows += 100;
	return;
}

for my $size (1, 16, 64)
{
	my $node = PostgreSQL::Test::Cluster->new("size_$size");
	my $turn = $size;
	$node->init(extra => [ '--encoding=UTF8', '--locale=C', "--wal-segsize=$size" ]);
	# Keep all WAL, or much less WAL than a load writes.
	set_parameters(
		$node,
		autovacuum => 'off',
		checkpoint_timeout => '1h',
		shared_buffers => '32MB',
		max_wal_size => 4 * $size . 'MB',
		min_wal_size => 2 * $size . 'MB');
	$node->start;
	$node->safe_psql('postgres', 'CREATE TABLE ledger (id int PRIMARY KEY, v text)');
	$rows = 0;
	$node->stop;

	for my $mode (divided(@modes))
	{
		for my $sync ('fdatasync', 'open_datasync')
		{
			for my $pair (@pairs)
			{
				# Test only one of the eight combinations for each mode.  The test takes another
				# combination for the next mode and for the next size.
				my $number =
				  ($sync eq 'fdatasync' ? 0 : 4) +
				  ($pair->[0] eq 'on'   ? 0 : 2) +
				  ($pair->[1] eq 'on'   ? 0 : 1);
				next if !$ENV{PGDENSE_SOAK} && $number != $turn % 8;

				my ($zero, $recycle) = @$pair;
				my $buffers = $number % 2 ? '64kB' : '16MB';
				my $level = $mode->[1] == 4096 && $number % 3 == 0 ? 'minimal' : 'replica';
				my $fsync = $mode->[1] == 512 && $size < 64
				  || $ENV{PGDENSE_SOAK} && $number % 3 == 1 ? 'on' : 'off';
				my $what =
				  "$size MB, wal_directio=$mode->[0], wal_write_unit=$mode->[1], wal_init_zero=$zero, wal_recycle=$recycle, wal_sync_method=$sync, wal_buffers=$buffers, wal_level=$level, fsync=$fsync";
				my $from = log_position($node);

				set_parameters(
					$node,
					wal_directio => $mode->[0],
					wal_write_unit => $mode->[1],
					wal_init_zero => $zero,
					wal_recycle => $recycle,
					wal_sync_method => $sync,
					wal_buffers => $buffers,
					wal_level => $level,
					max_wal_senders => $level eq 'minimal' ? 0 : 10,
					fsync => $fsync);
				$node->start;

				if ($mode->[0] ne 'off' && $can)
				{
					is(effective_mode($node, $from)->{mode},
						'direct', "$what: WAL is written directly");
				}
				$node->safe_psql('postgres', 'CHECKPOINT');
				evict(segments($node));

				my $start = $node->lsn('insert');
				my $mb = $size == 1 ? 6 : 1.3 * $size;
				fill($node, $mb);
				# The server writes some of the following WAL to segments that already exist.
				$node->safe_psql('postgres', 'CHECKPOINT; SELECT pg_switch_wal()');
				fill($node, $mb);
				# With wal_level = minimal, the rows of this COPY are not in WAL.
				$node->safe_psql('postgres',
					q{BEGIN; DROP TABLE IF EXISTS made; CREATE TABLE made (v text); COPY made FROM PROGRAM 'seq 1000'; COMMIT}
				);
				my $written = $node->safe_psql('postgres',
					"SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '$start')");
				my $resident = resident(segments($node));
				if ($mode->[0] ne 'off' && $can)
				{
					cmp_ok(
						$resident, '<=',
						$written / 100,
						"$what: nothing of $written bytes is cached");
				}
				elsif ($level ne 'minimal')
				{
					cmp_ok($resident, '>', $written / 25, "$what: much of the WAL is cached");
				}

				# The server crashes, and has to read all this WAL.
				kill_all($node);
				$node->start;
				is($node->safe_psql('postgres', 'SELECT count(*), max(id) FROM ledger'),
					"$rows|$rows", "$what: all rows are there after a crash");
				is($node->safe_psql('postgres', 'SELECT count(*) FROM made'),
					'1000', "$what: that, too");
				fill($node, $size == 1  ? 2      : 0.2 * $size);
				$node->stop($number % 2 ? 'fast' : 'immediate');
				is(unexpected_log($node, $from), '', "$what: nothing unexpected in the log");
			}
		}
		$turn += 3;
	}
	$node->start;
	is($node->safe_psql('postgres', 'SELECT count(*), max(id) FROM ledger'),
		"$rows|$rows", "$size MB: all rows are there at the end");
	$node->stop;
	system_or_bail('rm', '-rf', $node->data_dir);
}

#
# Test wal_cache_relief on a server that writes through the page cache.  The kernel can drop only
# data that are on disk, so fsync is on.
#
my $node = PostgreSQL::Test::Cluster->new('relief');
my $hold = $node->basedir . '/hold';
my $archive = $node->basedir . '/archive';
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C', '--wal-segsize=1' ]);
mkdir $archive;
set_parameters(
	$node,
	autovacuum => 'off',
	checkpoint_timeout => '1h',
	max_wal_size => '1GB',
	wal_keep_size => '1GB',
	fsync => 'on',
	archive_mode => 'on',
	archive_command => qq{test ! -e "$hold" && cp "%p" "$archive/%f"},
	wal_writer_delay => '50ms',
	wal_cache_relief => 'on');
$node->start;
$node->safe_psql('postgres', 'CREATE TABLE ledger (id int PRIMARY KEY, v text)');

# finished([SEGMENT]) - return the paths of the finished segments, beginning with
# SEGMENT
sub finished
{
	my ($from) = @_;
	my ($now) = $node->safe_psql('postgres', 'SELECT pg_walfile_name(pg_current_wal_flush_lsn())');

	return
	  grep { my ($name) = /(\w{24})$/; $name lt $now && $name ge($from // '') } segments($node);
}

# Switch to the next segment, write WAL, and return the name of the first segment of
# this WAL.
sub some_segments
{
	my ($first) = $node->safe_psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal() + 1048576)');

	fill($node, 10);
	return $first;
}

# Test that the segments from FIRST on are dropped from the page cache.  After three failures, the
# archiver waits a minute.  So write another segment, which wakes the archiver.
sub relieved
{
	my ($first, $what) = @_;

	$node->safe_psql('postgres',
		q{SELECT pg_logical_emit_message(true, '', 'x'); SELECT pg_switch_wal(); SELECT pg_logical_emit_message(true, '', 'x')}
	);
	ok(poll_for(sub { resident(finished($first)) == 0 }), "$what: finished segments are dropped")
	  or diag(resident(finished($first)) . ' bytes are cached');
	cmp_ok(scalar(finished($first)), '>=', 8, "$what: there are finished segments");
	return;
}

# Test that the segments from FIRST on stay in the page cache.  Wait long enough for many runs of
# the walwriter.
sub not_relieved
{
	my ($first, $what) = @_;

	sleep 1.5;
	cmp_ok(
		resident(finished($first)),
		'>=',
		8 * 1024 * 1024,
		"$what: finished segments stay in the page cache");
	return;
}

sub reload
{
	my (%settings) = @_;

	$node->safe_psql('postgres', join ';',
		map { "ALTER SYSTEM SET $_ = '$settings{$_}'" } sort keys %settings);
	$node->reload;
	for my $name (keys %settings)
	{
		$node->poll_query_until('postgres', "SELECT current_setting('$name') = '$settings{$name}'");
	}
	return;
}

relieved(some_segments(), 'with an archiver');

append_to_file($hold, '');
my $first = some_segments();
not_relieved($first, 'while the archiver makes no progress');
unlink $hold;
relieved($first, 'after the archiver continues');
cmp_ok(scalar(grep { -s "$archive/$_" } map { /(\w{24})$/ } finished($first)),
	'>=', 8, 'the segments are archived');

# clients that receive WAL
my $received = $node->basedir . '/received';
my $log = '';
mkdir $received;
my $receivewal = IPC::Run::start(
	[ 'pg_receivewal', '-D', $received, '-d', $node->connstr, '--no-loop', '--no-sync' ],
	'>', \$log, '2>&1');
$node->poll_query_until('postgres',
	q{SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'});
relieved(some_segments(), 'with a walsender');
$receivewal->signal('STOP');
$first = some_segments();
not_relieved($first, 'while the client of a walsender is stopped');
$receivewal->signal('CONT');
relieved($first, 'after the client continues');
$receivewal->signal('STOP');
$first = some_segments();
not_relieved($first, 'while the client is stopped again');
$receivewal->signal('KILL');
$receivewal->signal('CONT');
eval { $receivewal->finish };
relieved($first, 'after the client is gone');

# the WAL summarizer
reload(summarize_wal => 'on');
$node->poll_query_until('postgres',
	q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'walsummarizer'});
relieved(some_segments(), 'with the WAL summarizer');
my $summarizer = $node->safe_psql('postgres',
	q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'walsummarizer'});
kill 'STOP', $summarizer;
$first = some_segments();
not_relieved($first, 'while the WAL summarizer is stopped');
kill 'CONT', $summarizer;
relieved($first, 'after the WAL summarizer continues');
reload(summarize_wal => 'off');

# Change the setting at run time.
reload(wal_cache_relief => 'off');
$first = some_segments();
not_relieved($first, 'wal_cache_relief=off');
reload(wal_cache_relief => 'auto');
not_relieved($first, 'wal_cache_relief=auto, WAL through the page cache');
$first = some_segments();
not_relieved($first, 'wal_cache_relief=auto, segments written after the change');
reload(wal_cache_relief => 'on');
relieved(some_segments(), 'wal_cache_relief=on');

# Future segments, recycled or zero-filled, are dropped from the page cache as well.
reload(wal_keep_size => '0', max_wal_size => '8MB', min_wal_size => '4MB');
fill($node, 20);
$node->safe_psql('postgres', 'CHECKPOINT');
fill($node, 20);
$node->safe_psql('postgres', 'CHECKPOINT; SELECT pg_switch_wal(); CHECKPOINT');
# One segment is being written.  Another segment may have been recycled before the server could drop
# it from the page cache.
ok(poll_for(sub { resident(segments($node)) <= 2 * 1024 * 1024 }),
	'at most two segments are cached')
  or diag(join ' ', map { resident($_) } segments($node));
cmp_ok(scalar(segments($node)), '>=', 5, 'there are more segments');

# With direct I/O, the server must drop the segments that the archiver has read.
SKIP:
{
	skip 'no mount: the folder of the test does not take direct I/O', 5 if !$can;
	for my $relief ('off', 'auto')
	{
		$node->stop;
		set_parameters($node, wal_directio => 'on', wal_write_unit => 512);
		$node->start;
		reload(wal_keep_size => '1GB', wal_cache_relief => $relief);
		$first = some_segments();
		$node->poll_query_until('postgres',
			"SELECT last_archived_wal >= '@{[ (finished($first))[-1] =~ /(\w{24})$/ ]}' FROM pg_stat_archiver"
		);
		if ($relief eq 'off')
		{
			not_relieved($first, 'direct, wal_cache_relief=off, what the archiver has read');
		}
		else
		{
			relieved($first, 'direct, wal_cache_relief=auto, what the archiver has read');
		}
	}
}
is(unexpected_log($node), '', 'nothing unexpected in the log');
$node->stop;

done_testing();
