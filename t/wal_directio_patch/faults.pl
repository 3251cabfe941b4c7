# Test direct I/O for WAL under faults: a file system that refuses it at the start or
# later, short writes, a full disk, a read-only directory, pg_wal on another file system
# at each start, and settings that exclude each other.
#
# shim.c causes most of the faults.  A fault may end the server only if the same fault ends a server
# without direct I/O.  No acknowledged transaction may be lost.
use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";
use PgDense::Crash;
use PgDense::Mounts;
use PgDense::Patch;
use PgDense::Wal qw(unit_setting);    # also reaps killed processes at once
use PgDense::WalShim;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

needs_patch('wal_directio_patch', 'wal_directio');

my $given_up = qr/LOG:  direct I\/O for WAL is given up\n.*DETAIL:  (.*)\n/;
my $fallback =
  qr/LOG:  WAL is written through the page cache, because direct I\/O is not possible in "pg_wal"\n.*DETAIL:  (.*)\n/;
my $refused =
  qr/FATAL:  direct I\/O for WAL is not possible in "pg_wal"\n.*DETAIL:  (.*)\n.*HINT:  Set "wal_directio" to "try"/;

my $not_tested =
  qr/LOG:  direct I\/O for WAL could not be tested in "pg_wal"\n.*DETAIL:  Could not write file "pg_wal\/xlogtemp\.\d+" with direct I\/O: No space left on device\.\n/;

my $node = PostgreSQL::Test::Cluster->new('faults');
$node->init(extra => ['--wal-segsize=1']);
$node->append_conf('postgresql.conf', <<'CONF');
wal_level = replica
fsync = off
autovacuum = off
checkpoint_timeout = 1h
min_wal_size = 2MB
max_wal_size = 4GB
wal_recycle = off
log_statement = none
include = 'wal.conf'
CONF
set_wal($node);
# If an ext4 file system is mounted, use it for pg_wal.  Then the file system of this test's folder
# does not matter.
my $home = no_mount('ext4') ? undef : mount_folder('ext4');
move_wal($node, $home) if defined $home;
$node->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION wal_directio; CREATE TABLE ledger (c int, filler text); CREATE TABLE other (n int, filler text)'
);
$node->stop;
my %rows;

set_wal($node, wal_directio => 'try');
$node->start;
my $direct_here = status($node) =~ /^direct/;
$node->stop;

SKIP:
{
	skip no_mount('ext4') // 'direct I/O is not possible on a file system of our own', 1
	  if !$direct_here;
	check_start();
	check_load();
}
check_conflicts();
check_values();
check_moves();
check_readonly();
check_full();

done_testing();

# Replace the settings of WAL.
sub set_wal
{
	my ($node, %settings) = @_;
	my $file = $node->data_dir . '/wal.conf';

	$settings{wal_write_unit} = unit_setting($settings{wal_write_unit})
	  if defined $settings{wal_write_unit};
	unlink $file;
	append_to_file($file, join('', map { "$_ = '$settings{$_}'\n" } sort keys %settings));
}

sub log_since
{
	my ($node, $from) = @_;

	return substr(slurp_file($node->logfile), $from);
}

# Return the mode and the unit of WAL writes.
sub status
{
	my ($node) = @_;

	return $node->safe_psql('postgres',
		q{SELECT concat_ws(' ', mode, write_unit) FROM pg_stat_wal_direct});
}

sub reason
{
	my ($node) = @_;

	return $node->safe_psql('postgres', 'SELECT fallback_reason FROM pg_stat_wal_direct');
}

# Return the first error in the log that ended the server, without the parts that differ between
# starts.
sub death
{
	my ($log) = @_;
	# A background worker may start during the shutdown, and sometimes logs the message that is
	# excluded here.
	my ($message) =
	  $log =~ /((?:FATAL|PANIC):  (?!terminating \w.*due to administrator command).*)/;

	$message //= 'none';
	$message =~ s/[0-9A-F]{24}/SEGMENT/g;
	$message =~ s/\d+/N/g;
	return $message;
}

# faults during the probe at the start
sub check_start
{
	# A case has a name, the settings of the shim, the result for unit 512 with "try" and with "on",
	# the reason to write through the page cache, and whether the probe tried a write whose result
	# says nothing about direct I/O.
	my @cases = (
		[
			'no answer', { STATX => 'none' },
			'buffered 512', 'direct 512',
			qr/^The file system \w+ does not tell the alignment that direct I\/O needs\.$/
		],
		[
			'the answer "no"',
			{ STATX => '0/0' },
			'buffered 512', undef,
			qr/^The file system \w+ does not support direct I\/O for this file\.$/
		],
		[ 'sectors of 4096 bytes', { STATX => '512/4096' }, 'direct 4096', 'direct 4096' ],
		[ 'memory alignment 4096', { STATX => '4096/512' }, 'direct 4096', 'direct 4096' ],
		[
			'memory alignment 8192',
			{ STATX => '8192/512' },
			'buffered 512', undef,
			qr/needs an alignment of 8192 bytes in memory and 512 bytes in the file/
		],
		[
			'sectors of two pages',
			{ STATX => '512/16384' },
			'buffered 512', undef,
			qr/needs an alignment of 512 bytes in memory and 16384 bytes in the file/
		],
		[
			'open refused',
			{ OPEN => 'EINVAL,file=temp' },
			'buffered 512',
			undef,
			qr/^Could not open file "pg_wal\/xlogtemp\.\d+" with direct I\/O: Invalid argument\.$/
		],
		[
			'write refused',
			{ WRITE => 'EINVAL,file=temp' },
			'buffered 512',
			undef,
			qr/^Could not write file "pg_wal\/xlogtemp\.\d+" with direct I\/O: Invalid argument\.$/
		],
		[
			'write not supported',
			{ WRITE => 'EOPNOTSUPP,file=temp' },
			'buffered 512', undef, qr/^Could not write .*: Operation not supported\.$/
		],
		[
			'write failed', { WRITE => 'EIO,file=temp' },
			'buffered 512', undef, qr/^Could not write .*: Input\/output error\.$/
		],
		# A full disk does not show whether direct I/O works.
		[
			'no space', { WRITE => 'ENOSPC,file=temp,times=1' },
			'direct 512', 'direct 512', undef, 1
		],
		[
			'short write', { WRITE => 'short=512,file=temp,times=1' },
			'direct 512', 'direct 512', undef, 1
		],
		[
			'no space, sectors of 4096 bytes',
			{ STATX => '512/4096', WRITE => 'ENOSPC,file=temp,times=1' },
			'direct 4096', 'direct 4096', undef, 1
		],
		[
			'no space, no answer',
			{ STATX => 'none', WRITE => 'ENOSPC,file=temp,times=1' },
			'buffered 512', 'direct 8192', qr/does not tell/, 1
		],
		[ 'interrupts', { WRITE => 'EINTR,file=temp,times=3' }, 'direct 512', 'direct 512' ],
		[
			'wrong answer', { STATX => '512/512', WRITE => 'EINVAL,file=temp,unaligned=4096' },
			'direct 4096', 'direct 4096'
		],
		[
			'no answer, sectors of 4096 bytes',
			{ STATX => 'none', WRITE => 'EINVAL,file=temp,unaligned=4096' },
			'buffered 512', 'direct 4096', qr/does not tell/
		],
		[
			'whole pages only',
			{ WRITE => 'EINVAL,file=temp,below=8192' },
			'direct 8192', 'direct 8192'
		],);

	for my $case (@cases)
	{
		my ($name, $shim, $try, $on, $reason, $untested) = @$case;

		for my $setting ([ try => $try ], [ on => $on ])
		{
			my ($value, $want) = @$setting;
			my $what = "$name, $value";
			my $from = -s $node->logfile;
			my $started;

			set_wal($node, wal_directio => $value, wal_write_unit => 512);
			with_shim($shim, sub { $started = $node->start(fail_ok => 1) });
			my $log = log_since($node, $from);
			if (!defined $want)
			{
				ok(!$started, "$what: the server does not start");
				like($log, $refused, "$what: the error has a hint");
				like($log =~ $refused ? $1 : '', $reason, "$what: reason");
				ok( !-e $node->data_dir . '/postmaster.pid',
					"$what: the server removes its pid file");
			}
			else
			{
				ok($started, "$what: the server starts") or BAIL_OUT("$what: $log");
				is(status($node), $want, "$what: mode and unit");
				$node->safe_psql('postgres',
					"INSERT INTO other SELECT i, repeat('z', 900) FROM generate_series(1, 2000) i; TRUNCATE other"
				);
				$node->stop;
				$log = log_since($node, $from);
				my @told = $log =~ /$fallback/g;
				is(scalar @told, $want =~ /buffered/ ? 1 : 0, "$what: fallback is logged once");
				like($told[0], $reason, "$what: reason") if @told;
				my ($unit) = $want =~ /direct (\d+)/;
				is( scalar(
						() = $log =~ /LOG:  "wal_write_unit" is raised from 512 to $unit bytes\n/g),
					$unit > 512 ? 1 : 0,
					"$what: raised unit is logged once") if defined $unit;
				is( scalar(() = $log =~ /$not_tested/g),
					$untested && $want =~ /direct/ ? 1 : 0,
					"$what: a probe that proves nothing is logged once");
				unlike($log, $given_up, "$what: direct I/O is not given up later");
			}
			is(join(' ', glob($node->data_dir . '/pg_wal/xlogtemp*')),
				'', "$what: the probe leaves no file");
		}
	}
}

# Cause faults while the server runs.  The existence of a file switches the faults on.
sub check_load
{
	my ($now, $watch) = map { $node->basedir . "/$_" } qw(now watch);
	# A case has a name, the settings of the shim, the unit, whether the server gives up direct I/O,
	# and other settings.
	my @cases = (
		[ 'open refused', { OPEN => 'EINVAL,file=segment' }, 512, 1 ],
		[ 'write refused', { WRITE => 'EINVAL,file=segment' }, 512, 1 ],
		[ 'write refused', { WRITE => 'EINVAL,file=segment' }, 8192, 1 ],
		[ 'one write refused', { WRITE => 'EINVAL,file=segment,times=1' }, 8192, 1 ],
		[ 'write not supported', { WRITE => 'EOPNOTSUPP,file=segment' }, 4096, 1 ],
		[ 'small writes refused', { WRITE => 'EINVAL,file=segment,below=8192' }, 512, 1 ],
		[ 'new segment refused', { OPEN => 'EINVAL,file=temp' }, 4096, 1 ],
		[ 'zeros refused', { WRITE => 'EINVAL,file=temp' }, 4096, 1 ],
		[
			'zeros refused, without zero-fill',
			{ WRITE => 'EINVAL,file=temp' },
			512, 1, wal_init_zero => 'off'
		],
		[
			'write refused, open_datasync',
			{ WRITE => 'EINVAL,file=segment' },
			512,
			1,
			wal_sync_method => 'open_datasync'
		],
		[
			'write that ends inside of its first sector',
			{ WRITE => 'short=100,file=segment' },
			512, 1
		],
		[
			'write that ends inside of its first sector of 4096 bytes',
			{ STATX => '512/4096', WRITE => 'short=1024,file=segment' },
			8192, 1
		],
		[
			'write that ends inside of a later sector',
			{ WRITE => 'short=1111,file=segment' },
			512, 0
		],
		[
			'write that ends after a sector, inside of a unit',
			{ WRITE => 'short=1024,file=segment' },
			4096, 1
		],
		[
			'write that ends after a sector, inside of a page',
			{ WRITE => 'short=1024,file=segment' },
			8192, 1
		],
		[ 'write that ends after a unit', { WRITE => 'short=4096,file=segment' }, 4096, 0 ],
		[ 'zeros end early', { WRITE => 'short=100,file=temp,times=1' }, 4096, undef ],
		[ 'interrupts', { WRITE => 'EINTR,file=segment,times=50' }, 512, 0 ],);
	my ($commits, $cases) = (0, 0);

	for my $case (@cases)
	{
		my ($name, $shim, $unit, $gives_up, %settings) = @$case;
		my $setting = $cases++ % 2 ? 'on' : 'try';
		my $what = "under load: $name, $setting, $unit";
		my $from = -s $node->logfile;

		$_ .= ",when=$now" for grep { defined } @$shim{qw(OPEN WRITE)};
		unlink $now;
		set_wal($node, wal_directio => $setting, wal_write_unit => $unit, %settings);
		unlink $watch;
		with_shim({ %$shim, WATCH => $watch, DELAY => 1000 }, sub { $node->start });
		is(status($node), "direct $unit", "$what: WAL is written directly before the fault");

		my $load = begin_load();
		usleep(150_000);
		append_to_file($now, '');
		usleep(250_000);
		if ($gives_up)
		{
			# The next new segment may take a while.
			ok( $node->poll_query_until(
					'postgres',
					"SELECT mode = 'buffered' AND write_unit = $unit FROM pg_stat_wal_direct"),
				"$what: WAL is buffered after the fault");
			my $file = qr/"pg_wal\/(?:xlogtemp\.\d+|[0-9A-F]{24})"/;
			my $reason =
			  ($shim->{WRITE} // '') =~ /^short/
			  ? qr/^A direct write of file $file ended at an unaligned position\.$/
			  : qr/^Could not access file $file with direct I\/O: .*\.$/;
			like(reason($node), $reason, "$what: reason");
		}
		elsif (defined $gives_up)
		{
			is(status($node), "direct $unit",
				"$what: WAL is still written directly after the fault");
		}
		$cases % 2 ? kill_all($node) : $node->stop('immediate');
		$commits += end_load($load, $what);

		my $log = log_since($node, $from);
		my @told = $log =~ /$given_up/g;
		is( scalar @told,
			$gives_up ? 1 : 0,
			"$what: giving up is logged once, or not at all if direct I/O works"
		) if defined $gives_up;
		unlike($log, qr/PANIC|TRAP|ERROR/, "$what: no session got an error");
		# After other backends gave up direct I/O, a backend that has the file open for direct I/O
		# still writes with direct I/O.
		ok(!-s $watch, "$what: memory does not change during a write")
		  or diag slurp_file($watch) =~ s/(?<=\n).*//sr;

		unlink $now;
		$node->start;
		is(status($node), "direct $unit", "$what: WAL is written directly after the next start");
		check_ledger($what);
		$node->stop;
	}
	cmp_ok($commits, '>', 100 * @cases, 'load: the clients committed');
}

# Start clients that commit all the time, and record each acknowledged transaction.
sub begin_load
{
	my $prefix = $node->basedir . '/load';
	my $script = "$prefix.sql";

	unlink glob("$prefix.*");
	append_to_file($script,
		"INSERT INTO ledger VALUES (:client_id, repeat('l', 40 * (:client_id + 1) * (:client_id + 1)));\n"
	);
	my %load = (prefix => $prefix, out => '', err => '');
	$load{run} = IPC::Run::start(
		[
			qw(pgbench --no-vacuum --client=12 --time=600 --log --protocol=prepared),
			"--log-prefix=$prefix", "--file=$script", $node->connstr('postgres')
		],
		'>',
		\$load{out},
		'2>',
		\$load{err});
	return \%load;
}

sub end_load
{
	my ($load, $what) = @_;
	my $n = 0;

	$load->{run}->finish;
	for my $file (glob("$load->{prefix}.*"))
	{
		for (split /\n/, slurp_file($file))
		{
			next if !/^(\d+) \d+ /;
			$rows{$1}++;
			$n++;
		}
	}
	cmp_ok($n, '>', 0, "$what: transactions") or diag $load->{err};
	return $n;
}

# Check that all acknowledged transactions are there, and at most one more of each client.
sub check_ledger
{
	my ($what) = @_;
	my %found = map { split /\|/ } split /\n/,
	  $node->safe_psql('postgres', 'SELECT c, count(*) FROM ledger GROUP BY 1');
	my @lost = grep { ($found{$_} // 0) < $rows{$_} || $found{$_} > $rows{$_} + 1 } sort keys %rows;

	is("@lost", '', "$what: no acknowledged transaction is lost")
	  or diag map { "client $_: acknowledged $rows{$_}, found " . ($found{$_} // 0) . "\n" } @lost;
	%rows = %found;
}

# Test settings that exclude each other, with a postmaster and with a stand-alone server.  Each case
# has the error, or the mode of writing WAL if there is no error.
sub check_conflicts
{
	my $with_direct =
	  qr/FATAL: +"wal_directio" cannot be used together with "debug_io_direct=wal"\n.*HINT: /;
	my $with_unit =
	  qr/FATAL: +"wal_write_unit" cannot be used together with "debug_io_direct=wal"\n.*HINT: /;
	my @cases = (
		[ [qw(debug_io_direct=wal wal_directio=try)], $with_direct ],
		[ [qw(debug_io_direct=wal wal_directio=on)], $with_direct ],
		[ [ 'debug_io_direct=data,wal', 'wal_directio=on', 'wal_write_unit=512' ], $with_direct ],
		[ [qw(debug_io_direct=wal wal_write_unit=4096)], $with_unit ],
		[ [qw(debug_io_direct=wal wal_write_unit=auto)], $with_unit ],
		[ [qw(debug_io_direct=wal)] ],
		[ [qw(debug_io_direct=wal_init wal_directio=try wal_write_unit=512)] ],
		[ [qw(debug_io_direct=wal_init wal_directio=off wal_write_unit=512)] ],
		[ [qw(debug_io_direct=data wal_directio=try wal_write_unit=auto)] ],);

	set_wal($node);
	for my $case (@cases)
	{
		my ($settings, $message) = @$case;
		my $what = "@$settings";

		if ($message)
		{
			my $from = -s $node->logfile;
			set_wal($node, map { split /=/, $_, 2 } @$settings);
			my $started = $node->start(fail_ok => 1);
			ok(!$started, "$what: refused");
			like(log_since($node, $from), $message, "$what: the error is clear");
			$node->stop if $started;
			set_wal($node);
			my ($out, $err) = ('', '');
			IPC::Run::run(
				[
					'postgres', '--single',
					'-D', $node->data_dir,
					(map { ('-c', $_) } @$settings), 'postgres'
				],
				'<',
				\'',
				'>',
				\$out,
				'2>',
				\$err);
			like($err, $message, "$what: refused by a stand-alone server");
			ok(!-e $node->data_dir . '/postmaster.pid', "$what: no server is left running");
		}
		else
		{
			my ($out, $err) = ('', '');
			my $sql =
			  "INSERT INTO other SELECT i, repeat('z', 900) FROM generate_series(1, 2000) i\nTRUNCATE other\nSELECT mode FROM pg_stat_wal_direct\n";
			my $ok = IPC::Run::run(
				[
					'postgres', '--single',
					'-D', $node->data_dir,
					(map { ('-c', $_) } @$settings), 'postgres'
				],
				'<',
				\$sql,
				'>',
				\$out,
				'2>',
				\$err);
			ok($ok, "$what: accepted by a stand-alone server");
			unlike($err, qr/FATAL|PANIC|ERROR/, "$what: the stand-alone server logs no error");
			my ($mode) = $out =~ /mode = "(\w+)"/;
			is( $mode,
				$what =~ /try/ && $direct_here ? 'direct' : 'buffered',
				"$what: the stand-alone server writes in the expected mode");

			set_wal($node, map { split /=/, $_, 2 } @$settings);
			$node->start;
			$node->safe_psql('postgres',
				"INSERT INTO other SELECT i, repeat('z', 900) FROM generate_series(1, 2000) i; TRUNCATE other"
			);
			my $unit =
			  $what =~ /wal_write_unit=512/ ? 512 : $what =~ /wal_write_unit=auto/ ? 4096 : 8192;
			is( status($node),
				($what =~ /try/ && $direct_here ? 'direct' : 'buffered') . " $unit",
				"$what: accepted") if $direct_here;
			$node->stop;
			set_wal($node);
		}
	}
}

# unknown values
sub check_values
{
	for my $setting (
		qw(wal_write_unit=16384 wal_write_unit=1024 wal_write_unit=0 wal_write_unit=-1 wal_write_unit=4kB wal_directio=maybe wal_cache_relief=try)
	  )
	{
		my ($name, $value) = split /=/, $setting;
		my ($out, $err) =
		  run_command([ 'postgres', '-D', $node->data_dir, '-c', $setting, '-C', $name ]);

		like($err, qr/invalid value for parameter "$name": "\Q$value\E"/, "$setting is refused");
		like($err, qr/HINT: +Available values: /, "$setting: the hint lists the available values");
	}
}

# Move pg_wal to another file system before each start.  Try every change from one kind of file
# system to another.
sub check_moves
{
	my %kinds = (
		'ext4' => $direct_here ? 'direct 512' : undef,
		'ext4-4k' => $direct_here ? 'direct 4096' : undef,
		'tmpfs' => 'buffered 512',
		'btrfs' => 'buffered 512');
	my @missing = grep { no_mount($_) } sort keys %kinds;
	my @there = grep { !no_mount($_) } sort keys %kinds;
	my %folders = map { $_ => mount_folder($_) } @there;
	my @way;

	# Make a sequence of file systems that contains each change from one to another once.
	for my $i (0 .. $#there)
	{
		push @way, $there[$i];
		push @way, $there[$_], $there[$i] for $i + 1 .. $#there;
	}
  SKIP:
	{
		skip join('; ', map { no_mount($_) } @missing), scalar @missing if @missing;
	}

	my $n = 0;
	$node->start;
	$node->safe_psql('postgres', 'TRUNCATE other');
	$node->stop;
	for my $to (@way)
	{
		my $what = "moved to $to";
		# Every second change follows a crash.
		my $crash = $n % 2 ? ' after a crash' : '';

		move_wal($node, $folders{$to});
		if ($to eq 'tmpfs')
		{
			my $from = -s $node->logfile;
			set_wal($node, wal_directio => 'on');
			ok(!$node->start(fail_ok => 1),
				"$what$crash: the server does not start with wal_directio = on");
			like(log_since($node, $from), $refused, "$what$crash: the error has a hint");
		}
		set_wal($node, wal_directio => 'try', wal_write_unit => 512);
		$node->start;
		is(status($node), $kinds{$to}, "$what$crash: mode and unit") if defined $kinds{$to};
		is( $node->safe_psql('postgres', 'SELECT count(*), sum(n) FROM other'),
			$n ? "$n|" . $n * ($n + 1) / 2 : '0|',
			"$what$crash: all earlier rows are there");
		$n++;
		$node->safe_psql('postgres', "INSERT INTO other VALUES ($n, repeat('m', 3000))");
		$node->stop($n % 2 ? 'immediate' : 'fast');
	}
	$node->start;
	$node->stop;
	move_wal($node, $home) if defined $home;
}

# Leave WAL near the beginning of a segment after a clean shutdown, so that the next
# start does not depend on earlier starts.
sub settle
{
	set_wal($node);
	$node->start;
	$node->safe_psql('postgres',
		'SELECT pg_switch_wal(); INSERT INTO other VALUES (0); CHECKPOINT');
	$node->stop;
}

sub link_wal
{
	my ($folder) = @_;
	my $wal = $node->data_dir . '/pg_wal';

	unlink $wal or die "could not remove \"$wal\": $!";
	symlink $folder, $wal or die "could not create symbolic link \"$wal\": $!";
}

# Start the server with a pg_wal that cannot be written, try to write WAL, and return the outcome.
sub start_and_write
{
	my ($what, $setting, $reason) = @_;
	my $from = -s $node->logfile;
	my $outcome = 'not started';

	set_wal($node, wal_directio => $setting);
	if ($node->start(fail_ok => 1))
	{
		$outcome =
		  $node->psql('postgres', 'INSERT INTO other VALUES (0)') == 0 ? 'works' : 'started';
		if ($outcome eq 'works')
		{
			$node->stop('fast', fail_ok => 1);
		}
		wait_for_end($node);
	}
	my $log = log_since($node, $from);
	if ($setting ne 'off')
	{
		my $message = $setting eq 'try' ? $fallback : $refused;
		like($log, $message, "$what: message");
		like($log =~ $message ? $1 : '', $reason, "$what: reason");
	}
	return "$outcome, " . death($log);
}

# Test a pg_wal that cannot be written.  The outcome must be the same as without direct I/O.  Only
# with "on" the server does not start, and names the reason.
sub check_readonly
{
	my $reason = no_mount('readonly');
	my $wal = abs_path($node->data_dir . '/pg_wal');
	my %outcome;

	# New files cannot be created, but existing ones can be written.
	for my $setting (qw(off try on))
	{
		settle();
		chmod 0500, $wal or die $!;
		$outcome{$setting} = start_and_write("no new file in pg_wal, $setting",
			$setting, qr/^Could not create file "pg_wal\/xlogtemp\.\d+": Permission denied\.$/);
		chmod 0700, $wal or die $!;
	}
	is($outcome{try}, $outcome{off}, 'no new file in pg_wal: the same as without direct I/O');
	note "the outcome is: $outcome{off}";

  SKIP:
	{
		skip $reason, 1 if $reason;
		my $folder = mount_folder('ext4');
		my $readonly = $folder =~ s{/ext4/}{/readonly/}r;
		move_wal($node, $folder, $readonly);
		for my $setting (qw(off try on))
		{
			link_wal($folder);
			settle();
			link_wal($readonly);
			$outcome{$setting} = start_and_write("read-only pg_wal, $setting",
				$setting,
				qr/^Could not create file "pg_wal\/xlogtemp\.\d+": Read-only file system\.$/);
		}
		is($outcome{try}, $outcome{off}, 'read-only pg_wal: the same as without direct I/O');
		note "the outcome is: $outcome{off}";

		link_wal($folder);
		$node->start;
		is( $node->safe_psql('postgres', 'SELECT count(*) > 0 FROM ledger'),
			$direct_here ? 't' : 'f',
			'read-only pg_wal: the server works when pg_wal is writable again');
		$node->stop;
	}
}

# Test a disk that becomes full.  The server must end in the same way as without direct I/O, and
# must recover when there is room again.
sub check_full
{
  SKIP:
	{
		my $reason = no_mount('small');
		skip $reason, 1 if $reason;

		my $full = PostgreSQL::Test::Cluster->new('full');
		$full->init(extra => ['--wal-segsize=16']);
		$full->append_conf('postgresql.conf', <<'CONF');
wal_level = replica
fsync = off
autovacuum = off
checkpoint_timeout = 1h
max_wal_size = 4GB
wal_recycle = off
include = 'wal.conf'
CONF
		set_wal($full);
		$full->start;
		$full->safe_psql('postgres',
			'CREATE EXTENSION wal_directio; CREATE TABLE filled (n serial, filler text); ALTER TABLE filled ALTER filler SET STORAGE EXTERNAL'
		);
		$full->stop;

		my $rows = 0;
		my $room = $full->basedir . '/room';
		for my $init_zero (qw(on off))
		{
			my %outcome;
			for my $mode ([ 'off', 8192 ], [ 'try', 512 ], [ 'on', 4096 ])
			{
				my ($setting, $unit) = @$mode;
				next if $setting eq 'on' && !$direct_here;
				my $what = "full disk, wal_init_zero = $init_zero, $setting, $unit";

				set_wal(
					$full,
					wal_directio => $setting,
					wal_write_unit => $unit,
					wal_init_zero => $init_zero);
				move_wal($full, mount_folder('small'));
				my $from = -s $full->logfile;
				$full->start;
				is(status($full),
					($setting eq 'off' || !$direct_here ? 'buffered' : 'direct') . " $unit",
					"$what: mode");

				# Insert one row in each transaction until there is no room.
				my ($out, $err) = ('', '');
				my $sql =
				  "INSERT INTO filled (filler) VALUES (repeat('f', 100000)) RETURNING n;\n" x 600;
				$full->psql('postgres', $sql, stdout => \$out, stderr => \$err, on_error_stop => 1);
				my @acknowledged = split /\n/, $out;
				cmp_ok(scalar @acknowledged, '>', 10, "$what: some rows were acknowledged");
				cmp_ok(scalar @acknowledged, '<', 600, "$what: the disk became full");
				wait_for_end($full);
				$outcome{"$setting $unit"} = 'at first: ' . death(log_since($full, $from));

				# once more without room
				$from = -s $full->logfile;
				my $started = $full->start(fail_ok => 1);
				$outcome{"$setting $unit"} .=
					'; then: '
				  . ($started ? 'started, ' : 'not started, ')
				  . death(log_since($full, $from));
				$full->stop('immediate', fail_ok => 1);
				unlike(
					log_since($full, $from),
					$direct_here ? qr/$given_up|$fallback/ : $given_up,
					"$what: a full disk does not make the server give up direct I/O");

				# with room
				mkdir $room;
				move_wal($full, $room);
				set_wal($full, wal_directio => 'try', wal_write_unit => 512);
				$full->start;
				my $lost = $full->safe_psql('postgres',
						'SELECT count(*) FROM unnest(ARRAY['
					  . join(',', @acknowledged)
					  . ']) a WHERE a NOT IN (SELECT n FROM filled WHERE length(filler) = 100000)');
				is($lost, 0, "$what: no acknowledged row is lost");
				$full->safe_psql('postgres', 'TRUNCATE filled');
				$full->stop;
			}
			for my $mode (sort keys %outcome)
			{
				is($outcome{$mode}, $outcome{'off 8192'},
					"full disk, wal_init_zero = $init_zero, $mode: the same as without direct I/O");
			}
			note $outcome{'off 8192'};
		}
	}
}
