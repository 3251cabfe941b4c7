# Check what bgwriter does with bad input and failures while it prunes: settings that are out of
# range or change under load, signals, another number of buffers, a missing segment of pg_xact,
# damaged pages, and failed writes of data and WAL.
#
# In each case bgwriter must continue with other pages, and must not try the same page for ever.  No
# transaction may be lost.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Bgvacuum;
use PgDense::Crash;
use PgDense::Ledger;
use PgDense::Mounts;
use PgDense::Patch;
use PgDense::Wal qw(build_library);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

needs_patch('bgvacuum_patch', 'bgvacuum');

my $seed = ($ENV{PGDENSE_FUZZ_SEED} || int(time())) % 1_000_000;
my $seconds = $ENV{PGDENSE_SOAK} ? 120 : 6;
# Clients may see these errors when writes fail.  pgbench also executes statements that it could not
# prepare.
my $write_errors =
  qr/could not (?:write|extend)|No space left|write error might be permanent|prepared statement "\w+" does not exist/;
note "PGDENSE_FUZZ_SEED=$seed";
srand($seed);

# Run initdb only once for all servers.
my $template = PostgreSQL::Test::Utils::tempdir() . '/template';
system_or_bail('initdb', '-D', $template, '--auth=trust', '--no-sync', '--encoding=UTF8',
	'--locale=C');
$ENV{INITDB_TEMPLATE} = $template;

check_defaults();
check_values();
check_load();
check_missing_status();
check_damaged_pages();
check_failed_writes();
check_full_disk();
done_testing();

# Return true if the server answers, and is out of recovery.  If a server refuses a connection, psql
# may have ended before it gets its query, and then psql() dies.
sub usable
{
	my ($node) = @_;
	my ($code, $out) = eval { $node->psql('postgres', 'SELECT pg_is_in_recovery()') };

	return defined $code && $code == 0 && $out eq 'f';
}

sub wait_until_usable
{
	my ($node) = @_;
	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;

	until (usable($node))
	{
		return 0 if time() > $deadline;
		usleep(100_000);
	}
	return 1;
}

sub log_since
{
	my ($node, $from) = @_;

	return substr(slurp_file($node->logfile), $from);
}

sub bgwriter_pid
{
	my ($node) = @_;

	return $node->safe_psql('postgres',
		q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'});
}

# Check that a page of another table is pruned.
sub still_prunes
{
	my ($node, $what) = @_;

	$node->safe_psql('postgres',
		'CREATE TABLE still AS SELECT i FROM generate_series(1, 1000) i; DELETE FROM still WHERE i <= 900'
	);
	ok(wait_for_tuples($node, 'still', 100), "$what: other pages are pruned");
	$node->safe_psql('postgres', 'DROP TABLE still');
}

# Check the settings of a server whose configuration does not name them.
sub check_defaults
{
	my $node = PostgreSQL::Test::Cluster->new('defaults');
	my %expected = (bgvacuum => 'off', bgwriter_lru_maxpages => '100', debug_bgvacuum => 'off');

	$node->init;
	$node->start;
	for my $name (sort keys %expected)
	{
		is( $node->safe_psql(
				'postgres', "SELECT setting, source, context FROM pg_settings WHERE name = '$name'"
			),
			"$expected{$name}|default|sighup",
			"$name: default, source and context");
		my ($code, $out, $err) = $node->psql('postgres', "SET $name = DEFAULT");
		like(
			$err,
			qr/ERROR:  parameter "$name" cannot be changed now/,
			"$name: cannot be set in a session");
	}

	# bgwriter does not prune pages that change while bgvacuum is off, or while background
	# writing is off.
	my @lines;
	for my $settings ('debug_bgvacuum = on',
		'bgvacuum = on; bgwriter_lru_maxpages = 0; debug_bgvacuum = on')
	{
		$node->append_conf(
			'postgresql.conf',
			"autovacuum = off\nbgwriter_delay = 10ms\n" . join '',
			map { "$_\n" } split /; /, $settings);
		$node->restart;
		$node->safe_psql('postgres',
			'CREATE EXTENSION IF NOT EXISTS bgvacuum; CREATE TABLE left_alone AS SELECT i FROM generate_series(1, 1000) i; DELETE FROM left_alone WHERE i <= 900'
		);
		usleep(500_000);
		is(bgvacuum_stats($node)->{pages_pruned}, 0, "$settings: nothing is pruned");
		$node->safe_psql('postgres', 'DROP TABLE left_alone');
	}
	$node->stop;
}

sub check_values
{
	my $node = bgvacuum_node('values');
	my $range = sub {
		my ($name, $from, $to) = @_;
		return
		  qr/ERROR:  \S+(?: B)? is outside the valid range for parameter "$name" \($from(?: B)? \.\. $to(?: B)?\)/;
	};
	my $boolean = sub { return qr/ERROR:  parameter "$_[0]" requires a Boolean value/ };
	my $invalid = sub { return qr/ERROR:  invalid value for parameter "$_[0]": / };
	# name, value, and the error message or the new value
	my @cases = (
		[ 'bgvacuum', 'maybe', $boolean ],
		[ 'bgvacuum', '2', $boolean ],
		[ 'bgvacuum', '', $boolean ],
		[ 'debug_bgvacuum', 'force', $boolean ],
		[ 'bgwriter_lru_maxpages', '-1', $range, 0, 1073741823 ],
		[ 'bgwriter_lru_maxpages', '1073741824', $range, 0, 1073741823 ],
		[ 'bgwriter_lru_maxpages', 'auto', $invalid ],
		[ 'bgwriter_lru_maxpages', '0', '0' ],
		[ 'bgwriter_lru_maxpages', '1073741823', '1073741823' ]);

	for my $case (@cases)
	{
		my ($name, $value, $expected, @more) = @$case;
		my ($code, $out, $err) = $node->psql('postgres', "ALTER SYSTEM SET $name = '$value'");

		if (ref $expected)
		{
			like($err, $expected->($name, @more), "$name = '$value': refused");
		}
		else
		{
			is($err, '', "$name = '$value': accepted");
			$node->reload;
			ok( $node->poll_query_until(
					'postgres', "SELECT current_setting('$name') = '$expected'"),
				"$name = '$value': the new value is $expected");
		}
	}
	still_prunes($node, 'after wrong values');

	# Reload a configuration file with wrong values.
	$node->safe_psql('postgres', 'ALTER SYSTEM RESET ALL');
	my $from = -s $node->logfile;
	$node->append_conf('postgresql.conf', "bgvacuum = perhaps\nbgwriter_lru_maxpages = -3\n");
	$node->reload;
	for my $name (qw(bgvacuum bgwriter_lru_maxpages))
	{
		ok( $node->wait_for_log(
				qr/LOG:  (?:parameter "$name" requires a Boolean value|-3 is outside the valid range for parameter "$name")/,
				$from),
			"$name: the log reports the wrong value in the file");
	}
	is($node->safe_psql('postgres', 'SHOW bgvacuum'),
		'on', 'a wrong value in the file does not change the setting');
	still_prunes($node, 'with wrong values in the file');

	my ($code, $out, $err) = $node->psql('postgres',
		'CREATE ROLE somebody; SET ROLE somebody; ALTER SYSTEM SET bgvacuum = off');
	like(
		$err,
		qr/ERROR:  permission denied to set parameter "bgvacuum"/,
		'an ordinary user cannot set bgvacuum');
	$node->stop;
}

# Check settings, signals and restarts while clients change rows.
sub check_load
{
	my $node = bgvacuum_node(
		'load',
		shared_buffers => '4MB',
		autovacuum => 1,
		conf => "autovacuum_naptime = 1s\nmax_connections = 40\nrestart_after_crash = on\n");
	my $ledger = PgDense::Ledger->new($node);
	my $log = -s $node->logfile;
	my ($before, $pid);

	# settings
	my %values = (
		bgvacuum => [qw(on off)],
		debug_bgvacuum => [qw(on off)],
		bgwriter_lru_maxpages => [qw(0 1 100 1073741823)],
		bgwriter_delay => [qw(10 20 100)],
		bgwriter_lru_multiplier => [qw(0 2 10)],
		full_page_writes => [qw(on off)],
		wal_consistency_checking => [ '', 'all' ]);
	$pid = bgwriter_pid($node);
	$before = bgvacuum_stats($node);
	my $switches = 0;
	$ledger->start;
	for (my $end = time() + $seconds; time() < $end; $switches++)
	{
		my @names = grep { rand() < 0.3 } sort keys %values;
		$node->safe_psql('postgres', join '',
			map { "ALTER SYSTEM SET $_ = '$values{$_}[ rand(@{ $values{$_} }) ]';\n" } @names)
		  if @names;
		$node->reload;
		usleep(50_000);
	}
	$node->safe_psql('postgres', 'ALTER SYSTEM RESET ALL');
	$node->reload;
	ok(wait_for_prunes($node, 100, $before),
		"settings switched $switches times: bgwriter prunes pages");
	$ledger->stop;
	$ledger->check('settings switched') or return;
	is(bgwriter_pid($node), $pid, 'settings switched: bgwriter has not restarted');

	# Send signals that end bgwriter, but not the server.
	$ledger->start;
	for my $n (1 .. 5)
	{
		my $old = bgwriter_pid($node);
		wait_for_prunes($node, 50);
		kill 'TERM', $old;
		ok( $node->poll_query_until(
				'postgres',
				"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'background writer' AND pid <> $old"
			),
			"SIGTERM $n: a new bgwriter starts");
	}
	# Stop bgwriter for a while, at any point of its work.  Processes that wait for bgwriter
	# continue when it continues.
	for my $n (1 .. 5)
	{
		my $stopped = bgwriter_pid($node);
		wait_for_prunes($node, 20);
		usleep(int(rand(20_000)));
		kill 'STOP', $stopped;
		usleep(300_000);
		kill 'CONT', $stopped;
	}
	ok(wait_for_prunes($node, 100), 'SIGSTOP and SIGCONT: bgwriter prunes again');
	$ledger->stop;
	$ledger->check('SIGTERM and SIGSTOP') or return;
	is(join("\n", bad_log_lines($node, $log)), '', 'up to here: nothing bad in the log');

	# Send signals after which all processes of the server restart.
	for my $signal (qw(QUIT KILL ABRT))
	{
		my $from = -s $node->logfile;
		$ledger->start;
		wait_for_prunes($node, 200);
		kill $signal, bgwriter_pid($node);
		$ledger->finish;
		ok($node->wait_for_log(qr/database system is ready to accept connections/, $from),
			"SIG$signal: the server restarts");
		unlike(
			log_since($node, $from),
			qr/PANIC|TRAP:|inconsistent|invalid page/,
			"SIG$signal: nothing else in the log");
		ok(wait_until_usable($node), "SIG$signal: the server answers");
		$ledger->check("SIG$signal") or return;
		still_prunes($node, "SIG$signal");
	}

	# Start with other numbers of buffers, after each kind of shutdown.
	my $kind = 0;
	for my $buffers ('512kB', '128MB', '1MB', '16MB')
	{
		$node->stop(qw(immediate fast) [ $kind++ % 2 ]);
		$node->append_conf('postgresql.conf', "shared_buffers = $buffers\n");
		$node->start;
		$before = bgvacuum_stats($node);
		$ledger->start;
		ok(wait_for_prunes($node, 300, $before), "shared_buffers = $buffers: pages are pruned");
		$ledger->stop;
		$ledger->check("shared_buffers = $buffers") or return;
	}
	$node->stop;
}

# The status of a transaction cannot be read.  bgwriter must report an error each time it tries a
# page that needs the status, and at no other time.
sub check_missing_status
{
	my $node = bgvacuum_node('status', shared_buffers => '16MB');
	my $segment = $node->data_dir . '/pg_xact/0000';
	my $pages = 5;

	# Five rows leave free space on a page, so that sessions do not prune it.
	set_parameters($node, bgvacuum => 'off');
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE status (i int, v text) WITH (autovacuum_enabled = off);
ALTER TABLE status ALTER v SET STORAGE PLAIN;
INSERT INTO status SELECT i, repeat('s', 1380) FROM generate_series(1, 5 * $pages) i;
SQL
	$node->command_ok([ 'vacuumdb', '--quiet', '--all', '--freeze' ],
		'missing status: all rows are frozen');
	is($node->safe_psql('postgres', q{SELECT pg_relation_size('status') / 8192}),
		$pages, 'missing status: number of pages');
	# This is the last transaction that needs this segment.  No session reads its rows, or sets
	# hint bits.
	$node->safe_psql('postgres',
		q{DELETE FROM status WHERE ctid = ANY (ARRAY(SELECT format('(%s,1)', p)::tid FROM generate_series(0, 4) p))}
	);
	$node->stop;
	command_ok([ 'pg_resetwal', '--next-transaction-id=3000000', '-D', $node->data_dir ],
		'missing status: pg_resetwal goes on in another segment');
	append_to_file($node->data_dir . '/pg_xact/0002', "\0" x 262144);
	rename $segment, "$segment.moved" or die "could not rename $segment: $!";
	my $from = -s $node->logfile;
	$node->start;
	set_parameters($node, bgvacuum => 'on');

	my $pid = bgwriter_pid($node);
	my $unreadable = qr/ERROR:  could not access status of transaction/;
	my $touch = sub {
		my ($row) = @_;
		$node->safe_psql('postgres',
			"DELETE FROM status WHERE ctid = '($_,$row)'; SELECT txid_current()")
		  for 0 .. $pages - 1;
	};
	my $errors = sub { return scalar(() = log_since($node, $from) =~ /$unreadable/g) };
	my $wait = sub {
		my ($number) = @_;
		my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;
		usleep(100_000) while $errors->() < $number && time() < $deadline;
		# Wait as long as bgwriter stops pruning after an error.  Then count the errors again.
		usleep(3_000_000);
		return $errors->();
	};
	$touch->(2);
	is($wait->($pages), $pages, 'missing status: one error for each page');
	is(bgwriter_pid($node), $pid, 'missing status: bgwriter has not restarted');
	still_prunes($node, 'missing status');
	$node->safe_psql('postgres', 'CHECKPOINT');
	$touch->(3);
	is($wait->(2 * $pages),
		2 * $pages, 'missing status: one more error for each page that was changed again');
	is( $node->safe_psql(
			'postgres',
			q{SELECT count(*) FROM heap_page_items(get_raw_page('status', 0)) WHERE lp_flags = 1}),
		5,
		'missing status: the page is not changed');

	# bgwriter released its locks at the error, so other sessions get them.
	$node->safe_psql('postgres',
		'SET lock_timeout = 10000; SET statement_timeout = 10000; CREATE TABLE more (i int); INSERT INTO more VALUES (1); TRUNCATE more; DROP TABLE more; CHECKPOINT'
	);
	rename "$segment.moved", $segment or die "could not rename $segment.moved: $!";
	$touch->(4);
	ok(wait_for_tuples($node, 'status', $pages), 'status is there again: all pages are pruned');
	is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT v) FROM status'),
		"$pages|1", 'status is there again: all rows are there');
	check_heaps($node, 'status is there again');
	unlike(log_since($node, $from) =~ s/.*$unreadable.*\n//gr,
		qr/ERROR|PANIC|TRAP:/, 'missing status: no other errors');
	$node->stop;
}

# Damaged pages: bgwriter must leave them alone, or report the error once.
sub check_damaged_pages
{
	my $node =
	  bgvacuum_node('damaged', shared_buffers => '16MB', conf => "restart_after_crash = on\n");
	my $lp = sub {
		my ($number, $off, $flags, $length) = @_;
		return [ 24 + 4 * ($number - 1), pack('L<', $off | $flags << 15 | $length << 17) ];
	};
	my ($normal, $redirect) = (1, 2);
	# Rows 1 to 10 of 40 are deleted.  One row or its line pointer is damaged.  In tables *_dead it
	# is a row that is pruned, and in tables *_live a row that stays.
	my ($row, $place, $length);
	my %damages = (
		none => sub { [ 0, '' ] },
		lp_beyond => sub { $lp->($row, 8184, $normal, 200) },
		lp_in_header => sub { $lp->($row, 8, $normal, $length) },
		lp_in_pointers => sub { $lp->($row, 40, $normal, $length) },
		lp_in_hole => sub { $lp->($row, 1000, $normal, $length) },
		lp_unaligned => sub { $lp->($row, $place + 3, $normal, $length) },
		lp_empty => sub { $lp->($row, $place, $normal, 0) },
		lp_short => sub { $lp->($row, $place, $normal, 12) },
		lp_long => sub { $lp->($row, $place, $normal, 8000) },
		lp_twice => sub { $lp->($row, $place + 200, $normal, $length) },
		lp_redirect_itself => sub { $lp->($row, $row, $redirect, 0) },
		lp_redirect_nowhere => sub { $lp->($row, 0, $redirect, 0) },
		lp_redirect_beyond => sub { $lp->($row, 1000, $redirect, 0) },
		lp_redirect_to_dead => sub { $lp->($row, 6, $redirect, 0) },
		# more line pointers than a page can have; the added ones are zeros
		pd_lower => sub { [ 12, pack('S<', 24 + 4 * 600) ] },
		pd_lower_odd => sub { [ 12, pack('S<', 24 + 4 * 40 + 2) ] },
		pd_special => sub { [ 16, pack('S<', 8176) ] },
		pd_prune_xid => sub { [ 20, pack('L<', 2_000_000_000) ] },
		xmin_future =>
		  sub { [ $place, pack('L<', 1_000_000_000), [ $place + 20, pack('S<', 0) ] ] },
		xmin_zero => sub { [ $place, pack('L<', 0), [ $place + 20, pack('S<', 0) ] ] },
		xmax_future => sub { [ $place + 4, pack('L<', 1_000_000_000) ] },
		xmax_zero => sub { [ $place + 4, pack('L<', 0) ] },
		multixact => sub {
			[ $place + 4, pack('L<', 1_000_000_000), [ $place + 20, pack('S<', 0x1000 | 0x0100) ] ]
		},
		moved =>
		  sub { [ $place + 8, pack('L<', 1_000_000_000), [ $place + 20, pack('S<', 0x4000) ] ] },
		all_ones => sub { [ $place, "\xFF" x 23 ] },
		t_hoff => sub { [ $place + 22, "\xFF" ] },
		hot_to_itself => sub {
			[ $place + 12, pack('S<S<S<', 0, 0, $row), [ $place + 18, pack('S<', 0x4000 | 2) ] ]
		},
		hot_beyond => sub {
			[ $place + 12, pack('S<S<S<', 0, 0, 2000), [ $place + 18, pack('S<', 0x4000 | 2) ] ]
		},
		heap_only => sub { [ $place + 18, pack('S<', 0x8000 | 2) ] },
		zeros => sub { [ $place, "\0" x 23 ] });

	# With assertions, a stock server fails on this damage as well.
	delete $damages{lp_redirect_to_dead}
	  if $node->safe_psql('postgres', 'SHOW debug_assertions') eq 'on';

	my (%file, %cases);
	set_parameters($node, bgvacuum => 'off');
	for my $case (map { ("${_}_dead", "${_}_live") } sort keys %damages)
	{
		$row = $case =~ /_dead$/ ? 5 : 25;
		my $answer = $node->safe_psql('postgres', <<"SQL");
CREATE TABLE $case (i int, v text);
INSERT INTO $case SELECT i, repeat('d', 100) FROM generate_series(1, 40) i;
DELETE FROM $case WHERE i <= 10;
SELECT pg_relation_filepath('$case'), lp_off, lp_len FROM heap_page_items(get_raw_page('$case', 0)) WHERE lp = $row;
SQL
		($file{$case}, $place, $length) = split /\|/, $answer;
		$file{$case} = $node->data_dir . "/$file{$case}";
		$cases{$case} = $damages{ $case =~ s/_(?:dead|live)$//r }->();
	}
	$node->stop;
	for my $case (sort keys %cases)
	{
		open my $file, '+<:raw', $file{$case} or die "could not open $file{$case}: $!";
		for (my $change = $cases{$case}; $change; $change = $change->[2])
		{
			sysseek $file, $change->[0], 0 or die $!;
			syswrite($file, $change->[1]) == length $change->[1] or die $!;
		}
		close $file or die $!;
	}
	$node->start;
	set_parameters($node, bgvacuum => 'on');

	# bgwriter tries a page after a session has changed another row on it.
	for my $case (sort keys %cases)
	{
		my $from = -s $node->logfile;
		my $pid = bgwriter_pid($node);

		my ($code, $out, $err) =
		  $node->psql('postgres', "DELETE FROM $case WHERE ctid = '(0,40)'; SELECT txid_current()");
		# Wait for three rounds, or for an error.
		my $rounds = sub {
			my ($code, $out, $err) = $node->psql('postgres', 'SELECT rounds FROM pg_stat_bgvacuum');
			return $out =~ /^(\d+)$/ ? $1 : 1e9;
		};
		my ($begin, $log) = ($rounds->());
		for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
		{
			usleep(20_000);
			$log = log_since($node, $from);
			last if $rounds->() > $begin + 3 || $log =~ /ERROR|PANIC|signal/;
		}
		my @errors = $log =~ /(?:ERROR|PANIC):  (.*)/g;
		note "$case: $err @errors";
		ok(wait_for_tuples($node, $case, 29), "$case: the page is pruned") if $case =~ /^none_/;
		unlike($log, qr/PANIC|terminated by signal|TRAP:/, "$case: no crash");
		if ($log =~ /terminated by signal|PANIC|TRAP:/)
		{
			wait_until_usable($node) or die 'the server is gone';
		}
		else
		{
			cmp_ok(scalar(() = $log =~ /ERROR: /g), '<=', 1, "$case: at most one error");
			is(bgwriter_pid($node), $pid, "$case: bgwriter has not restarted");
		}
	}
	usleep(1_500_000);
	my $from = -s $node->logfile;
	still_prunes($node, 'damaged pages');
	$node->safe_psql('postgres', 'CHECKPOINT');
	usleep(1_500_000);
	is(join("\n", log_since($node, $from) =~ /(?:ERROR|WARNING|PANIC): .*/g),
		'', 'damaged pages are not tried again');
	$node->safe_psql('postgres', "DROP TABLE $_") for sort keys %cases;
	$node->stop;
}

# Make writes fail for a while, in bgwriter only or in all processes.
sub check_failed_writes
{
	my $library = build_library('shim.c');
	my $control = PostgreSQL::Test::Utils::tempdir() . '/fail';
	my $node;
	{
		local %ENV = (%ENV, LD_PRELOAD => $library, BGVACUUM_SHIM => $control);
		$node = bgvacuum_node('writes', shared_buffers => '2MB', conf => <<'CONF');
max_connections = 40
restart_after_crash = on
wal_buffers = 128kB
CONF
	}
	my $ledger = PgDense::Ledger->new($node);
	my $fail = sub {
		my ($error, $path, $title) = @_;
		unlink $control, "$control.hits";
		append_to_file("$control.new", "$error\t$path\t$title\n");
		rename "$control.new", $control or die $!;
	};
	my $hits = sub { return -s "$control.hits" // 0 };
	my ($eio, $enospc) = (5, 28);
	my ($pid, $from, $before);

	# bgwriter cannot write data, but all other processes can.
	for my $error ($enospc, $eio)
	{
		my $what = "bgwriter cannot write data, error $error";
		$from = -s $node->logfile;
		$pid = bgwriter_pid($node);
		$ledger->start(qw(read checkpoint come_and_go));
		wait_for_prunes($node, 100);
		$fail->($error, '/base/', 'background writer');
		$before = bgvacuum_stats($node);
		usleep(3_500_000);
		cmp_ok($hits->(), '>', 1, "$what: bgwriter tried it more than once");
		$node->safe_psql('postgres', 'CHECKPOINT');
		unlink $control;
		ok(wait_for_prunes($node, 200, $before), "$what: bgwriter prunes when it can write again");
		$ledger->stop;
		is(bgwriter_pid($node), $pid, "$what: bgwriter has not restarted");
		$ledger->check($what) or return;
		my $log = log_since($node, $from);
		like($log, qr/ERROR:  could not write block/, "$what: the log has the error");
		unlike($log, qr/PANIC|TRAP:|FATAL/, "$what: the log has no FATAL or PANIC");
	}

	# No process can write data.  Transactions and checkpoints fail, but no committed transaction is
	# lost.
	$from = -s $node->logfile;
	$pid = bgwriter_pid($node);
	$ledger->start('read');
	wait_for_prunes($node, 100);
	$fail->($enospc, '/base/', '-');
	usleep(2_000_000);
	my ($code, $out, $err) = $node->psql('postgres', 'CHECKPOINT');
	# A client may not even be able to connect.
	like(
		$err,
		qr/(?:ERROR|FATAL):  (?:checkpoint request failed|could not write)/,
		'nobody can write data: the checkpoint fails');
	unlink $control;
	$ledger->stop;
	$node->safe_psql('postgres', 'CHECKPOINT');
	is(bgwriter_pid($node), $pid, 'nobody can write data: bgwriter has not restarted');
	$ledger->check('nobody can write data', $write_errors) or return;
	unlike(log_since($node, $from), qr/PANIC|TRAP:/, 'nobody can write data: the log has no PANIC');
	still_prunes($node, 'nobody could write data');

	# bgwriter cannot write WAL.  Any server, also a stock server, crashes after this error.  After
	# the crash, bgwriter can write again.
	$from = -s $node->logfile;
	$ledger->start;
	wait_for_prunes($node, 100);
	$fail->($enospc, '/pg_wal/', 'background writer');
	$ledger->finish;
	unlink $control;
	ok($node->wait_for_log(qr/database system is ready to accept connections/, $from),
		'bgwriter cannot write WAL: the server restarts');
	ok(wait_until_usable($node), 'bgwriter cannot write WAL: the server answers');
	$ledger->check('bgwriter cannot write WAL', $write_errors) or return;

	# No process can write WAL.  The server may try to start until WAL can be written again, or give
	# up.
	for my $restart (qw(off on))
	{
		my $what = "nobody can write WAL, restart_after_crash = $restart";
		set_parameters($node, restart_after_crash => $restart);
		$ledger->start;
		wait_for_prunes($node, 100);
		$fail->($enospc, '/pg_wal/', '-');
		$ledger->finish;
		usleep(1_000_000);
		unlink $control;

		for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
		{
			last if usable($node) || !-e $node->data_dir . '/postmaster.pid';
			usleep(100_000);
		}
		if (!-e $node->data_dir . '/postmaster.pid')
		{
			local %ENV = (%ENV, LD_PRELOAD => $library, BGVACUUM_SHIM => $control);
			$node->_update_pid(0);
			$node->start;
		}
		$ledger->check($what, $write_errors) or return;
		still_prunes($node, $what);
	}
	unlike(
		slurp_file($node->logfile),
		qr/TRAP:|inconsistent page|invalid page/,
		'failed writes: nothing else in the log');
	$node->stop;
}

# The file system of WAL is full while bgwriter writes WAL.
sub check_full_disk
{
  SKIP:
	{
		my $reason = no_mount('small');
		skip $reason, 1 if $reason;

		my $node = bgvacuum_node(
			'full',
			shared_buffers => '4MB',
			conf => "max_connections = 40\nwal_recycle = off\nmax_wal_size = 4GB\n");
		my $ledger = PgDense::Ledger->new($node);
		my $room = $node->basedir . '/room';

		$node->safe_psql('postgres', 'CHECKPOINT; SELECT pg_switch_wal(); CHECKPOINT');
		$node->stop;
		move_wal($node, mount_folder('small'));
		my $from = -s $node->logfile;
		$node->start;
		# Checkpoints would free space, so do not start the session that makes them.
		$ledger->start(qw(read come_and_go));
		$ledger->finish;
		wait_for_end($node);
		like(
			log_since($node, $from),
			qr/(?:PANIC|FATAL): .*No space left on device/,
			'full disk: the server ends');
		mkdir $room;
		move_wal($node, $room);
		$node->start;
		$ledger->check('full disk', $write_errors);
		still_prunes($node, 'full disk');
		unlike(
			log_since($node, $from),
			qr/TRAP:|inconsistent page|invalid page/,
			'full disk: nothing else in the log');
		$node->stop;
	}
}
