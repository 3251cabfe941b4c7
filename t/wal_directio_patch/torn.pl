# Test recovery from WAL of which only some sectors reached the disk.
#
# A recorder saves each write of a server to its WAL, and each sync.  From these events, the test
# builds images of what may be on disk when the machine fails at a random event.  An image has all
# sectors that were synced.  A sector that was written after the last sync has its new or its old
# contents.  The old contents are an older state of the page, or what a recycled segment had there.
#
# - Check each write (see check_writes() in PgDense::WalRecorder).
# - In many images, the records up to the end of WAL must be the records that the server
#   wrote.  These records must include all transactions whose commit was reported to a
#   client.
# - Let a server recover from some of these images.  The server must replay exactly these records.
#   Its tables must have all rows whose commit was reported, and no rows that no client inserted.
#   Then the server writes more WAL and fails again, several times.
#
# Also test three cases byte by byte, for all ways to write WAL.  In the first case, the beginning
# of old WAL is overwritten after a crash, and the rest of the old WAL (a stale tail) fits directly
# behind the new records.  The second case is the same after a promotion, in a segment of the old
# timeline that is used again.  In the third case, the continuation of a record is lost.
#
# There are four crashes with 25 images each.  With PGDENSE_SOAK, there are 60 crashes with 100
# images each.  PGDENSE_FUZZ_SEED is the random seed.  The test prints it.
use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";
use PgDense::Crash;
use PgDense::Patch;
use PgDense::Wal;
use PgDense::WalDisk;
use PgDense::WalRecorder;
use PgDense::WalSegments;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(CLOCK_MONOTONIC clock_gettime time usleep);

needs_patch('wal_directio_patch', 'wal_directio');

my $seed = ($ENV{PGDENSE_FUZZ_SEED} || int(time())) % 1_000_000;
my $crashes = $ENV{PGDENSE_SOAK} ? 60 : 4;
my $images = $ENV{PGDENSE_SOAK} ? 100 : 25;
my $size = 1024 * 1024;
my $library = build_library('record.c');
note "PGDENSE_FUZZ_SEED=$seed";

# the ways to write WAL; "off" with 8192 is how a stock server writes
my @ways = divided(
	[ 'try', 512 ],
	[ 'try', 4096 ],
	[ 'try', 8192 ],
	[ 'off', 512 ],
	[ 'off', 4096 ],
	[ 'off', 8192 ]);

# a server that writes nothing on its own
my $quiet = wal_node(
	'quiet', 1,
	fsync => 'off',
	wal_keep_size => '1GB',
	wal_level => 'minimal',
	max_wal_senders => 0);
stale_tail($quiet, @$_)        for @ways;
lost_continuation($quiet, @$_) for @ways;

my $promoted = wal_node('promoted', 1, fsync => 'on', wal_keep_size => '1GB');
promoted($promoted, $_ + 1, @{ $ways[$_] }) for 0 .. $#ways;

torn();
done_testing();

# The end of WAL has records R1, R2 and R3.  The machine fails during the write, and the sector with
# R2 is lost, so recovery ends after R1.  The server then writes the end-of-recovery checkpoint.
# The record of this checkpoint is as long as R2 and ends at the end of a unit.  R3 follows it
# directly, is intact, and is valid at its position.  R3 inserts a row, and must not be replayed.
sub stale_tail
{
	my ($node, $direct, $unit) = @_;
	my $what = "stale tail, wal_directio = $direct, wal_write_unit = $unit";
	my $wal = $node->data_dir . '/pg_wal';
	# the length of a checkpoint record
	my $length = 120;

	set_parameters($node, wal_directio => $direct, wal_write_unit => $unit);
	my $begin = log_position($node);
	$node->start;
	$node->safe_psql('postgres',
		'DROP TABLE IF EXISTS t; CREATE TABLE t (v int); INSERT INTO t VALUES (1); CHECKPOINT; INSERT INTO t VALUES (2);'
	);
	my $here = lsn_number($node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()'));
	# Choose the end of a unit that is not the end of a page.  If the unit is a page,
	# choose a place in the page.
	my $boundary = $here - $here % 8192 + 2 * 8192 + ($unit == 8192 ? 512 : $unit);
	move_to($node, $boundary - $length, $size);
	my $before = read_wal($wal, 1, $boundary - 512, 512, $size);
	$node->safe_psql('postgres', <<"SQL");
SET synchronous_commit = off;
SELECT pg_logical_emit_message(false, '', repeat('2', $length - 51));
INSERT INTO t VALUES (3);
SELECT pg_logical_emit_message(false, '', '', true);
SQL
	kill_all($node);

	my $redo = redo_of($node->data_dir);
	my ($all) = wal_records($wal, $redo, $size);
	my ($r2, $r3) = grep { $_->{lsn} >= $boundary - $length } @$all;
	is( "$r2->{lsn} $r2->{end} $r3->{lsn} " . ($r3->{text} =~ /^rmgr: (\w+)/)[0],
		($boundary - $length) . " $boundary $boundary Heap",
		"$what: records are where they should be");
	write_wal($wal, 1, $boundary - 512, $before, $size);
	my ($r1) = wal_records($wal, $redo, $size);
	is($r1->[-1]{end}, $boundary - $length, "$what: WAL ends before the torn record");

	my $log = crash_and_start($node);
	is(redo_end($node, $log), lsn_text($r1->[-1]{lsn}), "$what: recovery ends before it, too");
	kill_all($node);
	my ($written) = wal_records($wal, $redo, $size);
	my ($checkpoint, @more) = grep { $_->{lsn} >= $boundary - $length } @$written;
	is( "$checkpoint->{lsn} $checkpoint->{end}",
		($boundary - $length) . " $boundary",
		"$what: the new record takes the place of the torn one");
	like($checkpoint->{text}, qr/CHECKPOINT_SHUTDOWN/,
		"$what: the new record is a shutdown checkpoint");
	is(join("\n", map { $_->{text} } @more), '', "$what: no record follows the checkpoint");

	$node->start;
	is($node->safe_psql('postgres', 'SELECT string_agg(v::text, $$ $$ ORDER BY v) FROM t'),
		'1 2', "$what: rows");
	# Write more WAL, and let the server recover from it.
	$node->safe_psql('postgres', 'INSERT INTO t SELECT generate_series(10, 1000)');
	kill_all($node);
	$node->start;
	is( $node->safe_psql('postgres', 'SELECT count(*), sum(v) FROM t'),
		'993|' . (3 + 991 * 505),
		"$what: rows written afterwards");
	$node->stop;
	is(unexpected_log($node, $begin), '', "$what: log");
}

# A record continues on the next pages, and this continuation is lost.  After recovery, the server
# begins the next page with a record that marks the loss, and does not change the page before it.
# Then the old contents of the lost pages may follow a later record.
sub lost_continuation
{
	my ($node, $direct, $unit) = @_;
	my $what = "lost continuation, wal_directio = $direct, wal_write_unit = $unit";
	my $wal = $node->data_dir . '/pg_wal';

	set_parameters($node, wal_directio => $direct, wal_write_unit => $unit);
	my $begin = log_position($node);
	$node->start;
	$node->safe_psql('postgres',
		'DROP TABLE IF EXISTS t; CREATE TABLE t (v int); INSERT INTO t VALUES (1); CHECKPOINT; INSERT INTO t VALUES (2);'
	);
	my $here = lsn_number($node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()'));
	my $start = $here - $here % 8192 + 3 * 8192 - 2000;
	move_to($node, $start, $size);
	my $before = read_wal($wal, 1, $start + 2000, 8192, $size);
	$node->safe_psql('postgres', <<"SQL");
SET synchronous_commit = off;
SELECT pg_logical_emit_message(false, '', repeat('2', 12000));
INSERT INTO t VALUES (3);
SELECT pg_logical_emit_message(false, '', '', true);
SQL
	kill_all($node);
	my $redo = redo_of($node->data_dir);
	write_wal($wal, 1, $start + 2000, $before, $size);
	my ($r1) = wal_records($wal, $redo, $size);
	is($r1->[-1]{end}, $start, "$what: WAL ends before the record");

	my $log = crash_and_start($node);
	is(redo_end($node, $log), lsn_text($r1->[-1]{lsn}), "$what: recovery ends before it, too");
	$node->safe_psql('postgres', 'INSERT INTO t VALUES (4)');
	kill_all($node);
	my ($records, $error) = wal_records($wal, $redo, $size);
	my ($next) = grep { $_->{lsn} >= $start } @$records;
	like($next ? $next->{text} : $error,
		qr/OVERWRITE_CONTRECORD/, "$what: the next page begins with a record of the loss");
	$log = crash_and_start($node);
	is( redo_end($node, $log),
		lsn_text($records->[-1]{lsn}),
		"$what: recovery ends at the end of WAL");
	is($node->safe_psql('postgres', 'SELECT string_agg(v::text, $$ $$ ORDER BY v) FROM t'),
		'1 2 4', "$what: rows");
	$node->stop;
	is(unexpected_log($node, $begin), '', "$what: log");
}

# Test a stale tail as above, but in a segment of the old timeline.  A promotion at an earlier place
# in WAL reuses this segment, with its contents, as the segment with the same number on the new
# timeline.
sub promoted
{
	my ($node, $timeline, $direct, $unit) = @_;
	my $what = "promotion, wal_directio = $direct, wal_write_unit = $unit";
	my ($dir, $base) = ($node->data_dir, $node->basedir . '/base');
	my $wal = "$dir/pg_wal";
	my $length = 120;

	local $ENV{LD_PRELOAD} = $library;
	local $ENV{PGDENSE_WAL_RECORD} = $node->basedir . '/events';
	local $ENV{PGDENSE_WAL_DELAY} = 0;
	set_parameters($node, wal_directio => $direct, wal_write_unit => $unit);
	my $begin = log_position($node);
	$node->start;
	$node->safe_psql('postgres',
		'DROP TABLE IF EXISTS t; CREATE TABLE t (v int); INSERT INTO t VALUES (1); SELECT pg_switch_wal();'
	);
	$node->stop;
	copy_data($dir, $base);
	$node->start;
	$node->safe_psql('postgres', <<"SQL");
INSERT INTO t VALUES (2);
SELECT pg_create_restore_point('here$timeline');
SELECT pg_switch_wal();
SQL
	my $start = lsn_number($node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()'));
	my $boundary = $start - $start % 8192 + 5 * 8192 + ($unit == 8192 ? 512 : $unit);
	move_to($node, $boundary - $length, $size);
	$node->safe_psql('postgres', <<"SQL");
SELECT pg_logical_emit_message(false, '', repeat('2', $length - 51), true);
INSERT INTO t VALUES (3);
SQL
	kill_all($node);
	my ($old) = wal_records($wal, redo_of($dir), $size, $timeline);
	is(scalar(grep { $_->{lsn} == $boundary && $_->{text} =~ /^rmgr: Heap/ } @$old),
		1, "$what: records are where they should be");
	my $stale = read_wal($wal, $timeline, $boundary, 64, $size);

	# Recovery to a target starts from older files.  After the segment of the target,
	# keep only the segment with the stale tail, so that the server reuses it under the
	# same number.
	my $contents = segment_contents($wal);
	copy_data($base, $dir);
	put_contents($contents, $wal);
	unlink map { "$wal/$_" }
	  grep { $_ gt segment_name($timeline, $boundary, $size) } segment_files($wal);
	set_parameters(
		$node,
		recovery_target_name => "here$timeline",
		recovery_target_action => 'promote',
		restore_command => 'false');
	append_to_file($node->data_dir . '/recovery.signal', '');
	unlink $ENV{PGDENSE_WAL_RECORD};
	$node->start;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'no promotion';
	$node->safe_psql('postgres', 'CHECKPOINT');
	is(eval { read_wal($wal, $timeline + 1, $boundary, 64, $size) } // $@,
		$stale, "$what: the new timeline has the old contents at the same place");

	move_to($node, $boundary - $length, $size);
	$node->safe_psql('postgres',
		"SELECT pg_logical_emit_message(false, '', repeat('n', $length - 51), true)");
	kill_all($node);
	my ($new) = wal_records($wal, redo_of($base), $size, $timeline + 1);
	$contents = segment_contents($wal);
	is(lsn_text($new->[-1]{end}),
		lsn_text($boundary), "$what: WAL ends at the last record of the new timeline");

	my $events = recorded_events($ENV{PGDENSE_WAL_RECORD});
	my $log = crash_and_start($node);
	is( redo_end($node, $log),
		lsn_text($new->[-1]{lsn}),
		"$what: recovery ends at the last record of the new timeline");
	is($node->safe_psql('postgres', 'SELECT string_agg(v::text, $$ $$ ORDER BY v) FROM t'),
		'1 2', "$what: rows");
	$node->stop;
	is(unexpected_log($node), '', "$what: log");

	# writes of the first server on the new timeline
	my $new_timeline = sprintf('%08X', $timeline + 1);
	check_writes([ grep { $_->{name} =~ /^$new_timeline/ } @$events ],
		$contents, $new, $unit, $size, $what)
	  if "$direct $unit" ne 'off 8192';
}

# Return the start of the last replayed record, or nothing.
sub redo_end
{
	my ($node, $from) = @_;

	return substr(slurp_file($node->logfile), $from) =~ /redo done at (\S+)/ ? $1 : '';
}

sub torn
{
	my $node =
	  wal_node('torn', 1, max_connections => 20, max_wal_size => '4MB', min_wal_size => '4MB');
	my ($dir, $base) = ($node->data_dir, $node->basedir . '/base');
	my $wal = "$dir/pg_wal";
	my $scratch = $node->basedir . '/scratch';
	my @clients = (0 .. 5);
	my $synchronous = 4;
	my %count = map { $_ => 0 } qw(images torn acknowledged told);
	srand($seed);
	mkdir $scratch;

	# the transactions of the clients; the last two clients commit asynchronously
	append_to_file($node->basedir . "/$_->[0].sql",
		<<"SQL") for [ 'sync', 0, 'on' ], [ 'async', $synchronous, 'off' ];
\\set c :client_id + $_->[1]
\\set bytes random(0, 1500)
SET synchronous_commit = $_->[2];
WITH message AS (SELECT pg_logical_emit_message(true, 'client ' || :c, '') AS lsn)
INSERT INTO ledger SELECT :c, coalesce(max(n), 0) + 1, repeat('x', :bytes) FROM ledger WHERE c = :c AND (SELECT lsn FROM message) IS NOT NULL;
SQL
	# much WAL that is not flushed, and half-empty segments
	append_to_file($node->basedir . '/bulk.sql', <<'SQL');
SET synchronous_commit = off;
INSERT INTO bulk SELECT i, repeat('b', i) FROM generate_series(1, 300) i;
\sleep 50 ms
TRUNCATE bulk;
\sleep 250 ms
SELECT pg_switch_wal();
SQL

	# Make segments with old contents, which the server recycles later.
	set_parameters($node, fsync => 'off');
	$node->start;
	$node->safe_psql('postgres',
		'CREATE TABLE ledger (c int, n int, v text, PRIMARY KEY (c, n)); CREATE TABLE bulk (i int, v text);'
	);
	for (1 .. 8)
	{
		$node->safe_psql('postgres',
			"INSERT INTO bulk SELECT i, repeat('a', 100) FROM generate_series(1, 6000) i; TRUNCATE bulk; CHECKPOINT; SELECT pg_switch_wal();"
		);
	}
	# From now on keep all WAL, for images older than the last checkpoint.
	set_parameters(
		$node,
		fsync => 'on',
		max_wal_size => '8GB',
		wal_keep_size => '8GB',
		wal_writer_delay => '20ms');
	$node->stop;
	$node->start;
	kill_all($node);

	my ($log, $expected_end, %must);
	my $start_end = 0;
	for my $crash (1 .. $crashes)
	{
		my ($direct, $asked) = @{ $ways[ int(rand(@ways)) ] };
		# the sector size of the device; the server must not write part of a sector
		my $sector = rand() < 0.5 ? 512 : 4096;
		($direct, $asked, $sector) = ($crash == 1 ? 'try' : 'off', 512, 4096) if $crash <= 2;
		my $unit = $asked < $sector ? $sector : $asked;
		my $method = rand() < 0.3 ? 'open_datasync' : 'fdatasync';
		my $buffers = rand() < 0.5 ? '64kB' : '1MB';
		my $what =
		  "crash $crash (wal_directio = $direct, wal_write_unit = $asked, sectors of $sector bytes, $method, $buffers)";
		# Go on with the data directory as it was at the crash, or as it was at the start.
		my $at_end = rand() < 0.5;
		my $seconds = 0.2 + rand(0.6);
		my $events_file = $node->basedir . '/events';

		set_parameters(
			$node,
			wal_directio => $direct,
			wal_sync_method => $method,
			wal_buffers => $buffers);
		$node->append_conf('postgresql.conf', "wal_write_unit = $asked");
		copy_data($dir, $base);
		my $oldest = redo_of($base);
		# Remove segments that nobody needs any more.
		unlink map { "$wal/$_" } grep { $_ lt segment_name(1, $oldest, $size) } segment_files($wal);
		my $disk = disk_of($wal, $sector);

		# Recover, and check the rows.
		$log = log_position($node);
		with_recorder($library, $events_file, 0,
			sub { local $ENV{PGDENSE_WAL_SECTOR} = $sector; $node->start });
		if (defined $expected_end)
		{
			is(redo_end($node, $log),
				$expected_end, "$what: recovery from the previous crash ends at the end of WAL");
		}
		my %found = map { split /\|/ } split /\n/,
		  $node->safe_psql('postgres', 'SELECT c, max(n) FROM ledger GROUP BY c');
		is( $node->safe_psql(
				'postgres',
				'SELECT count(*) FROM (SELECT c FROM ledger GROUP BY c HAVING min(n) <> 1 OR count(*) <> max(n)) t'
			),
			'0',
			"$what: rows of a client have no gaps");
		for my $client (grep { defined $must{$_} } @clients)
		{
			my ($least, $most) = @{ $must{$client} };
			my $n = $found{$client} // 0;
			ok($n >= $least && $n <= $most, "$what: client $client has $least to $most rows")
			  or diag "it has $n";
		}

		# Write more WAL, and crash.
		my @errors = ('', '', '');
		my $prefix = $node->basedir . '/ack';
		# Let the log of pgbench have the times of the clock that events have.
		my @pgbench = (
			'env', "LD_PRELOAD=$library", 'PGDENSE_WAL_CLOCK=1', 'pgbench', '--no-vacuum',
			'--time=600', $node->connstr('postgres'));
		my @running = (
			IPC::Run::start(
				[
					@pgbench, "--client=$synchronous",
					'--log', "--log-prefix=$prefix.sync",
					'--file', $node->basedir . '/sync.sql'
				],
				'>',
				'/dev/null',
				'2>',
				\$errors[0]),
			IPC::Run::start(
				[
					@pgbench, '--client=' . (@clients - $synchronous),
					'--log', "--log-prefix=$prefix.async",
					'--file', $node->basedir . '/async.sql'
				],
				'>',
				'/dev/null',
				'2>',
				\$errors[1]),
			IPC::Run::start(
				[ @pgbench, '--file', $node->basedir . '/bulk.sql' ],
				'>', '/dev/null', '2>', \$errors[2]));
		usleep(1_000_000 * $seconds);
		kill_all($node);
		$_->finish for @running;
		note $_
		  for grep { /error/i && !/terminat|closed|connection|aborted/ } map { split /\n/ } @errors;

		my $events = recorded_events($events_file);
		my $whole = { data => { %{ $disk->{data} } }, pending => {} };
		disk_apply($whole, $_) for @$events;
		my $contents = disk_contents($whole);
		put_contents($contents, $scratch);
		my ($records, $error) = wal_records($scratch, $oldest, $size);
		note "$what: $error";
		my @ends = map { $_->{end} } @$records;
		check_writes($events, $contents, $records, $unit, $size, $what)
		  if "$direct $unit" ne 'off 8192';

		# Build images at random events.  Continue with the last image.
		my %acknowledged = (%{ acknowledged("$prefix.sync") });
		my $async = acknowledged("$prefix.async");
		die 'pgbench does not log the times of the monotonic clock'
		  if grep { $_ > 1_000_000 * clock_gettime(CLOCK_MONOTONIC) }
		  map { @$_ } values %acknowledged;
		$acknowledged{ $_ + $synchronous } = $async->{$_} for keys %$async;
		unlink glob("$prefix.*"), $events_file;
		# the ends in WAL of the transactions of each client
		my (%client, %commits, %told);
		for my $record (grep { $_->{lsn} >= $start_end } @$records)
		{
			$client{ $record->{xid} } = $1 if $record->{text} =~ /prefix "client (\d+)"/;
			push @{ $commits{ $client{ $record->{xid} } } }, $record->{end}
			  if $record->{text} =~ /desc: COMMIT/ && defined $client{ $record->{xid} };
		}
		my @places = sort { $a <=> $b } map { int(rand(@$events)) } 1 .. $images;
		push @places, $at_end ? $#$events : int(rand(@$events));
		@places = sort { $a <=> $b } @places if !$at_end;
		my ($k, $lost, $durable, @wrong) = (-1, 0, $start_end);
		for my $i (0 .. $#places)
		{
			while ($k < $places[$i])
			{
				disk_apply($disk, $events->[ ++$k ]);

				my $needed = 0;
				for my $client (grep { $_ < $synchronous } keys %acknowledged)
				{
					my $times = $acknowledged{$client};
					$told{$client} //= 0;
					$told{$client}++
					  while $told{$client} < @$times
					  && $times->[ $told{$client} ] < $events->[$k]{time};
					my $end =
						$told{$client}
					  ? $commits{$client}[ $told{$client} - 1 ]
					  // die "no transaction $told{$client} of client $client"
					  : 0;
					$needed = $end if $needed < $end;
				}
				$durable = durable_end($disk, $events, $k, \@ends, $contents, $start_end);
				push @wrong,
					"at event $k: a client was told of "
				  . lsn_text($needed)
				  . ', of what is sure to be there is '
				  . lsn_text($durable)
				  if $durable < $needed;
			}
			my $probability = (0, 0.1, 0.5, 0.5, 0.9)[ int(rand(5)) ];
			# Start reading some way before the end of the durable WAL.  Read all of the
			# last image.
			my $first = $i < $#places ? before(\@ends, $durable) - 200 : 0;
			$first = 0 if $first < 0;
			$lost += disk_crash(
				$disk, $scratch,
				sub { rand() < $probability },
				$i < $#places ? segment_name(1, $records->[$first]{lsn}, $size) : undef);
			my ($image) = wal_records($scratch, $records->[$first]{lsn}, $size);
			my $differs = first_difference($image, $records, $first);
			push @wrong, "at event $k: $differs" if $differs;
			my $end = @$image ? $image->[-1]{end} : 0;
			push @wrong,
			  "at event $k: WAL ends at " . lsn_text($end) . ', before ' . lsn_text($durable)
			  if $end < $durable;
			$count{torn}++ if $disk->{pending} && %{ $disk->{pending} };
			$count{images}++;
		}
		is(join("\n", @wrong[ 0 .. (@wrong < 9 ? $#wrong : 9) ]),
			'', "$what: images hold the written records, $lost sectors lost");

		# Continue with the last image.
		copy_data($base, $dir) if !$at_end;
		put_contents(segment_contents($scratch), $wal);
		my ($image) = wal_records($wal, redo_of($dir), $size);
		$start_end = $image->[-1]{end};
		$expected_end = @$image > 1 ? lsn_text($image->[-1]{lsn}) : '';
		%must = ();
		for my $client (@clients)
		{
			my $had = $found{$client} // 0;
			my $times = $acknowledged{$client} // [];
			my $told = grep { $_ < $events->[$k]{time} } @$times;
			$count{acknowledged} += @$times;
			$count{told}         += $told if $client < $synchronous;
			$must{$client} = [ $client < $synchronous ? $had + $told : 0, $had + @$times + 1 ];
			# An image from before the end of recovery must have the rows of earlier
			# crashes, too.
			$must{$client}[0] = $had if $must{$client}[0] < $had && $client < $synchronous;
		}
	}
	note join ', ', map { "$count{$_} $_" } sort keys %count;
	cmp_ok($count{told}, '>', 0, 'clients were told of commits before the machine failed');
	set_parameters($node, wal_sync_method => 'fdatasync');
	$log = log_position($node);
	$node->start;
	is(redo_end($node, $log), $expected_end, 'recovery from the last crash ends at the end of WAL');
	$node->stop;
	is(unexpected_log($node), '', 'nothing unexpected in the log');
}

# Compare a list of records with the part of another list that begins at record FIRST.  Return the
# first record that differs, or nothing.
sub first_difference
{
	my ($some, $all, $first) = @_;

	for my $i (0 .. $#$some)
	{
		my $expected = $all->[ $i + $first ];
		return "$some->[$i]{text} instead of " . ($expected ? $expected->{text} : 'nothing')
		  if !$expected || $some->[$i]{text} ne $expected->{text};
	}
	return '';
}

# Return how many of the sorted numbers are at most the limit.
sub before
{
	my ($numbers, $limit) = @_;
	my ($low, $high) = (0, scalar @$numbers);

	while ($low < $high)
	{
		my $middle = int(($low + $high) / 2);
		if   ($numbers->[$middle] <= $limit) { $low = $middle + 1 }
		else                                 { $high = $middle }
	}
	return $low;
}

# Return the end of WAL that is durable after event K, or START if there is none. $ends
# has the ends of records, $contents the final contents of the files.
sub durable_end
{
	my ($disk, $events, $k, $ends, $contents, $start) = @_;

	for my $i (reverse 0 .. $k)
	{
		my $event = $events->[$i];
		next if $event->{name} =~ /xlogtemp/ || $event->{type} ne 'W';
		next if grep { $_ == $event } @{ $disk->{pending}{ $event->{name} } // [] };
		# Find the last record whose end is in bytes that do not change later.
		if (!defined $event->{same})
		{
			my ($high, $low) = map { hex } $event->{name} =~ /^.{8}(.{8})(.{8})$/;
			my $final = substr($contents->{ $event->{name} }, $event->{offset}, $event->{length});
			$event->{same} =
			  $high * 2**32 +
			  $low * $size +
			  $event->{offset} +
			  length(($event->{data} ^ $final) =~ /^(\0*)/s ? $1 : '');
		}
		my $n = before($ends, $event->{same});
		return $ends->[ $n - 1 ] if $n;
	}
	return $start;
}
