# Test a primary that writes its WAL directly and in units of less than a page.  Standbys with other
# switches, a cascade, stock standbys, pg_receivewal, the archive, recovery to a named point,
# promotion, pg_rewind and logical decoding must all see the WAL that a stock server would have
# written.  A stock primary also gets a patched standby.
#
# Replay compares all pages with their full-page images.
use strict;
use warnings FATAL => 'all';

use Digest::SHA qw(sha1_hex);
use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";

use PgDense::Crash;
use PgDense::IndexAlign qw(stock_path);
use PgDense::Patch;
use PgDense::Wal qw(unit_setting);
use PgDense::WalFiles;
use PgDense::WalSegments qw(segment_files lsn_number segment_name);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('wal_directio_patch', 'wal_directio');
my $stock_path = stock_path();
my $can = can_write_directly($PostgreSQL::Test::Utils::tmp_check);
my $direct = $can ? 'on' : 'try';
my $segment_size = 1024 * 1024;
note 'no direct I/O in the folder of the test, all falls back' if !$can;

# small segments, of which many are recycled
my $conf = <<'CONF';
fsync = off
wal_consistency_checking = all
wal_log_hints = on
wal_level = logical
max_wal_size = 24MB
min_wal_size = 20MB
wal_buffers = 256kB
wal_keep_size = 80MB
shared_buffers = 16MB
checkpoint_timeout = 1h
hot_standby_feedback = on
wal_receiver_status_interval = 1s
max_wal_senders = 20
max_replication_slots = 20
log_statement = none
log_replication_commands = off
wal_retrieve_retry_interval = 200ms
CONF

# switches(NODE, NAME => VALUE...) - write the settings to their own file, which is not
# there for a stock server
sub switches
{
	my ($node, %switches) = @_;
	my $file = $node->data_dir . '/switches.conf';

	$switches{wal_write_unit} = unit_setting($switches{wal_write_unit})
	  if defined $switches{wal_write_unit};
	unlink $file;
	append_to_file($file, join '', map { "$_ = $switches{$_}\n" } sort keys %switches);
	chmod 0640, $file;
	return;
}

# Return a standby that is not started yet.  The standby has a replication slot, so that the
# primary can recycle the segments that the standby has received.
sub standby
{
	my ($name, $from, $path, %switches) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, install_path => $path);

	$from->safe_psql('postgres', "SELECT pg_create_physical_replication_slot('$name', true)");
	$node->init_from_backup($from, "for_$name", has_streaming => 1);
	$node->append_conf('postgresql.conf', "primary_slot_name = '$name'\n");
	switches($node, %switches);
	return $node;
}

# Commit single rows in several sessions, synchronously and asynchronously.  Also roll back, insert
# large rows, and switch segments before they are full.
my $work = 0;

sub work
{
	my ($node) = @_;
	my $script = $node->basedir . '/work.sql';

	$work++;
	unlink $script;
	append_to_file($script, <<'SQL');
\set k random(1, 1000)
INSERT INTO t (k, v) VALUES (:k, repeat('v', :k));
UPDATE u SET n = n + 1, v = left(v || :k, 200) WHERE k = :k % 100;
SQL
	$node->command_ok(
		[ 'pgbench', '-n', '-c', 4, '-t', 50, '-f', $script, $node->connstr('postgres') ],
		'clients worked')
	  if $node->{_pid};
	$node->safe_psql('postgres', <<"SQL");
SET synchronous_commit = off;
INSERT INTO t (k, v) SELECT i, repeat(md5(i::text), i % 10) FROM generate_series(1, 500) i;
SELECT pg_logical_emit_message(false, 'm', repeat('x', 3000 * i)) FROM generate_series(1, 10) i;
BEGIN; INSERT INTO t (k, v) SELECT i, 'rolled back' FROM generate_series(1, 500) i; ROLLBACK;
SELECT pg_switch_wal();
SET synchronous_commit = on;
INSERT INTO big (v) SELECT string_agg(md5((i * j * $work)::text), '') FROM generate_series(1, 10) i, generate_series(1, 500) j GROUP BY i;
DELETE FROM t WHERE k % 7 = $work % 7;
VACUUM t;
CHECKPOINT;
UPDATE u SET n = n - 1 WHERE k % 2 = 0;
DO \$\$ BEGIN FOR i IN 1 .. 100 LOOP INSERT INTO t (k, v) VALUES (-i, 'single'); COMMIT; END LOOP; END \$\$;
SQL
	return;
}

# Return a digest of all data.
sub digest
{
	my ($node) = @_;

	return join ' ', map {
		$node->safe_psql('postgres',
			"SELECT '$_', count(*), md5(string_agg(x::text, ',' ORDER BY id)) FROM $_ x")
	} 't', 'u', 'big';
}

sub same_data
{
	my ($from, @nodes) = @_;
	my $lsn = $from->lsn('insert');
	my $expected = digest($from);

	$from->safe_psql('postgres', 'SELECT pg_log_standby_snapshot()');
	for my $node (@nodes)
	{
		$node->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn'")
		  or die $node->name . ' does not catch up';
		is(digest($node), $expected, $node->name . ' has the data of ' . $from->name);
	}
	return;
}

# Return unexpected lines of the log: all lines except those about other servers that
# have stopped.
sub clean_log
{
	my ($node) = @_;
	my @lines =
	  grep { /\b(?:ERROR|FATAL|PANIC|WARNING|TRAP)\b|given up|inconsistent page/ } split /\n/,
	  slurp_file($node->logfile);

	@lines = grep {
		!/terminating (?:connection|walreceiver|logical)|the database system is (?:starting up|shutting down|not yet accepting)|could not (?:connect to|receive data from|send data to|send end-of-streaming message to) |(?:archive|primary) .*is not available|requested WAL segment .* has already been removed/
	} @lines;
	is(join("\n", @lines), '', $node->name . ': nothing unexpected in the log');
	return;
}

# Return the number of segments that the server has recycled, according to its log.
sub recycled
{
	my ($node) = @_;
	my $sum = 0;

	$sum += $_ for slurp_file($node->logfile) =~ / (\d+) recycled/g;
	return $sum;
}

sub is_direct
{
	my ($node, $what) = @_;

	is(writes_directly($node), $can ? 1 : 0, $node->name . ": $what");
	return;
}

# compare_segments(DIRECTORY, NODE, END, WHAT, [CASCADED]) - check that the WAL files in
# the directory have the same bytes as those of NODE, up to END
#
# With CASCADED, ignore zeros at the end: a standby that has replayed a switch to the
# next segment sends the whole segment to its own standbys, even if it has not received
# all zeros at the end.
sub compare_segments
{
	my ($dir, $node, $end, $what, $cascaded) = @_;
	my $pg_wal = $node->data_dir . '/pg_wal';
	my ($compared, @different) = (0);

	for my $path (glob("$dir/*"))
	{
		my ($name, $partial) = $path =~ m{([0-9A-F]{24})(\.partial)?$} or next;
		next if !-e "$pg_wal/$name";
		my $first = hex(substr $name, 16) * $segment_size + hex(substr $name, 8, 8) * 2**32;
		my $length = $end - $first < $segment_size ? $end - $first : $segment_size;
		next if $length <= 0;
		# Skip a segment that the server removes at this moment.
		my $expected = substr(eval { slurp_file("$pg_wal/$name") } // next, 0, $length);
		if ($cascaded)
		{
			$expected =~ s/\0+\z//;
			$length = length $expected;
		}
		my $difference = substr(eval { slurp_file($path) } // next, 0, $length) ^ $expected;
		# the first place that differs, and how much differs
		push @different,
		  "$name: " . ($difference =~ /[^\0]/ && $-[0]) . ' ' . ($difference =~ tr/\0//c)
		  if $difference =~ tr/\0//c;
		$compared++;
	}
	cmp_ok($compared, '>', 5, "$what: there are segments to compare");
	is("@different", '', "$what: segments have the same bytes");
	return;
}

for my $round (divided([ 'a', $direct, 512, 'try', 4096 ], [ 'b', 'try', 4096, $direct, 512 ]))
{
	my ($prefix, $mode, $unit, $other_mode, $other_unit) = @$round;
	note "primary: wal_directio=$mode, wal_write_unit=$unit";
	my $primary = PostgreSQL::Test::Cluster->new("${prefix}_primary");
	$primary->init(
		allows_streaming => 'logical',
		has_archiving => 1,
		extra => [ '--encoding=UTF8', '--locale=C', '--wal-segsize=1' ]);
	$primary->append_conf('postgresql.conf', $conf . "include 'switches.conf'\n");
	switches($primary, wal_directio => $mode, wal_write_unit => $unit);
	$primary->start;
	$primary->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id serial PRIMARY KEY, k int, v text);
CREATE TABLE u (id serial PRIMARY KEY, k int, n int DEFAULT 0, v text DEFAULT '');
CREATE TABLE big (id serial PRIMARY KEY, v text);
ALTER TABLE big ALTER v SET STORAGE EXTERNAL;
CREATE INDEX ON t (k, v);
CREATE INDEX ON t USING hash (v);
CREATE INDEX ON u USING gist (point(k, n));
CREATE INDEX ON big USING gin (to_tsvector('simple', left(v, 100)));
INSERT INTO u (k) SELECT i FROM generate_series(0, 99) i;
SELECT pg_create_physical_replication_slot('receive', true), pg_create_logical_replication_slot('decode', 'test_decoding');
CREATE PUBLICATION pub FOR TABLE t, u, big;
SQL
	is_direct($primary, 'writes as its switches say');

	# Start streaming and decoding before the primary has work.
	my $received = $primary->basedir . '/received';
	my $log = '';
	mkdir $received;
	my $receivewal = IPC::Run::start(
		[
			'pg_receivewal', '-D', $received, '-S',
			'receive', '-d', $primary->connstr, '--no-loop',
			'--synchronous'
		],
		'>',
		\$log,
		'2>&1');
	my @standbys;
	for my $case (
		[
			'standby', undef,
			wal_directio => $other_mode,
			wal_write_unit => $other_unit,
			wal_cache_relief => 'on'
		],
		[ 'stock', $stock_path ])
	{
		my ($name, $path, %switches) = @$case;

		$primary->backup("for_${prefix}_$name");
		push @standbys, standby("${prefix}_$name", $primary, $path, %switches);
		$standbys[-1]->start;
	}
	my ($standby, $stock) = @standbys;
	# Take a backup from the standby.
	$standby->backup("for_${prefix}_cascade");
	my $cascade = standby(
		"${prefix}_cascade", $standby, undef,
		wal_directio => 'try',
		wal_write_unit => 'auto');
	$cascade->start;
	# Take a backup for the recovery from the archive to a named point.
	$primary->backup("for_${prefix}_point");

	my $subscriber = PostgreSQL::Test::Cluster->new("${prefix}_subscriber");
	$subscriber->init(extra => [ '--encoding=UTF8', '--locale=C', '--wal-segsize=1' ]);
	$subscriber->append_conf('postgresql.conf',
		"fsync = off\nwal_directio = try\nwal_write_unit = @{[ unit_setting($other_unit) ]}\n");
	$subscriber->start;
	$subscriber->safe_psql('postgres', <<"SQL");
CREATE TABLE t (id int PRIMARY KEY, k int, v text);
CREATE TABLE u (id int PRIMARY KEY, k int, n int, v text);
CREATE TABLE big (id int PRIMARY KEY, v text);
CREATE SUBSCRIPTION sub CONNECTION '@{[ $primary->connstr ]} dbname=postgres' PUBLICATION pub WITH (streaming = on);
SQL
	$subscriber->wait_for_subscription_sync($primary, 'sub');

	work($primary);
	same_data($primary, $standby, $stock, $cascade);
	my $at_point = digest($primary);
	$primary->safe_psql('postgres', q{SELECT pg_create_restore_point('the_point')});
	work($primary);

	# Kill a server that has written only a part of its last page, and start it again.
	kill_all($primary);
	$receivewal->finish;
	$primary->start;
	is_direct($primary, 'writes as its switches say after a crash');
	$log = '';
	$receivewal = IPC::Run::start(
		[
			'pg_receivewal', '-D', $received, '-S',
			'receive', '-d', $primary->connstr, '--no-loop',
			'--synchronous'
		],
		'>',
		\$log,
		'2>&1');
	work($primary);
	same_data($primary, $standby, $stock, $cascade);

	# Decode segments that are only on disk by now, and let the subscriber catch up.
	my $decoded = $primary->safe_psql('postgres',
		q{SELECT count(*) FILTER (WHERE data LIKE '%INSERT%') > 2000, count(*) FILTER (WHERE data LIKE '%rolled back%') FROM pg_logical_slot_get_changes('decode', NULL, NULL)}
	);
	is($decoded, 't|0', 'logical decoding returns the committed rows');
	$primary->wait_for_catchup('sub');
	is(digest($subscriber), digest($primary), 'the subscriber has the same data');
	$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION sub');
	$subscriber->stop;

	# Compare the segments of pg_receivewal and of the archive.
	my $end = $primary->lsn('flush');
	my $switched = $primary->safe_psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal())');
	$primary->safe_psql('postgres', q{INSERT INTO t (k) VALUES (1)});
	$end = $primary->lsn('flush');
	$primary->poll_query_until('postgres',
		"SELECT flush_lsn >= '$end' FROM pg_stat_replication JOIN pg_replication_slots ON pid = active_pid WHERE slot_name = 'receive'"
	);
	$primary->poll_query_until('postgres',
		"SELECT last_archived_wal >= '$switched' FROM pg_stat_archiver");
	compare_segments($received, $primary, lsn_number($end), 'pg_receivewal');
	compare_segments($primary->archive_dir, $primary, lsn_number($end), 'archive');
	# Physical standbys can differ behind the end of WAL, but not before it.
	for my $node ($standby, $stock, $cascade)
	{
		$node->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$end'");
		compare_segments($node->data_dir . '/pg_wal',
			$primary, lsn_number($end), $node->name, $node eq $cascade);
	}
	$receivewal->signal('INT');
	$receivewal->finish;
	is(join(' ', grep { /error/ } split /\n/, $log), '', 'pg_receivewal: no error');

	# Recover from the archive to the named point.
	my $point = PostgreSQL::Test::Cluster->new("${prefix}_point");
	$point->init_from_backup($primary, "for_${prefix}_point", has_restoring => 1, standby => 0);
	$point->append_conf('postgresql.conf',
		"recovery_target_name = 'the_point'\nrecovery_target_action = promote\narchive_mode = off\n"
	);
	switches($point, wal_directio => $mode, wal_write_unit => $other_unit);
	$point->start;
	$point->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	is(digest($point), $at_point, 'recovery to a point restores the data of that point');
	work($point);
	is_direct($point, 'writes as its switches say on a timeline of its own');
	kill_all($point);
	$point->start;
	my $before = digest($point);
	work($point);
	$point->stop;
	clean_log($point);

	# Promote the standby.  Its own standby follows it to the new timeline.  There are recycled
	# segments of the old timeline.
	$standby->promote;
	$standby->safe_psql('postgres', q{SELECT pg_create_physical_replication_slot('back', true)});
	is_direct($standby, 'writes as its switches say after its promotion');
	work($standby) for 1 .. 2;
	same_data($standby, $cascade);
	cmp_ok(scalar(grep { /^00000002/ } segment_files($standby->data_dir . '/pg_wal')),
		'>', 5, 'there are segments of the new timeline');
	kill_all($standby);
	$standby->start;
	same_data($standby, $cascade);
	work($standby);
	cmp_ok(recycled($standby), '>', 10, $standby->name . ': segments were recycled');
	same_data($standby, $cascade);

	# The old primary has diverged.
	work($primary);
	same_data($primary, $stock);
	# The slot "decode" keeps old segments.  The test has read all changes of this slot, so drop it.
	$primary->safe_psql('postgres', q{SELECT pg_drop_replication_slot('decode'); CHECKPOINT});
	cmp_ok(recycled($primary), '>', 10, $primary->name . ': segments were recycled');
	$primary->stop;
	clean_log($primary);
	$stock->promote;
	work($stock);
	$stock->stop;
	clean_log($stock);
	my $source = $standby->connstr('postgres');
	copy_conf($primary, 'save');
	$standby->safe_psql('postgres', 'CHECKPOINT');
	command_ok(
		[
			'pg_rewind', '--debug', '--source-server', $source, '--target-pgdata',
			$primary->data_dir, '--no-sync', '--config-file',
			$primary->data_dir . '/postgresql.conf'
		],
		'pg_rewind of the old primary');
	copy_conf($primary, 'restore');
	$primary->append_conf('postgresql.conf',
		"archive_mode = off\nprimary_conninfo = '@{[ $standby->connstr ]} application_name=@{[ $primary->name ]}'\nprimary_slot_name = back\n"
	);
	$primary->set_standby_mode;
	$primary->start;
	work($standby);
	same_data($standby, $primary, $cascade);
	# The old primary becomes the primary again.
	$standby->stop;
	clean_log($standby);
	$primary->promote;
	is_direct($primary, 'writes as its switches say after pg_rewind and promotion');
	work($primary);
	$primary->stop;
	$cascade->stop;
	clean_log($_) for $primary, $cascade;

	for my $node ($primary, $standby, $cascade, $stock, $point, $subscriber)
	{
		system_or_bail('rm', '-rf', $node->data_dir, $node->backup_dir);
	}
}

# copy_conf(NODE, save|restore) - save or restore the settings, because pg_rewind copies the
# configuration files of the source
sub copy_conf
{
	my ($node, $what) = @_;
	my ($dir, $copy) = ($node->data_dir, $node->basedir . '/conf');

	mkdir $copy;
	for my $name ('postgresql.conf', 'switches.conf', 'postgresql.auto.conf')
	{
		system_or_bail('cp', '-p',
			$what eq 'save' ? ("$dir/$name", "$copy/$name") : ("$copy/$name", "$dir/$name"));
	}
	return;
}

# Test a stock primary with a patched standby.  The standby is promoted, and the stock server
# becomes its standby.
{
	my $primary = PostgreSQL::Test::Cluster->new('c_primary', install_path => $stock_path);
	$primary->init(
		allows_streaming => 1,
		extra => [ '--encoding=UTF8', '--locale=C', '--wal-segsize=1' ]);
	$primary->append_conf('postgresql.conf', $conf . "include 'switches.conf'\n");
	switches($primary);
	$primary->start;
	$primary->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id serial PRIMARY KEY, k int, v text);
CREATE TABLE u (id serial PRIMARY KEY, k int, n int DEFAULT 0, v text DEFAULT '');
CREATE TABLE big (id serial PRIMARY KEY, v text);
INSERT INTO u (k) SELECT i FROM generate_series(0, 99) i;
SQL
	$primary->backup('for_c_standby');
	my $standby =
	  standby('c_standby', $primary, undef, wal_directio => $direct, wal_write_unit => 512);
	$standby->start;
	work($primary) for 1 .. 2;
	same_data($primary, $standby);
	my $end = $primary->lsn('flush');
	$standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$end'");
	compare_segments($standby->data_dir . '/pg_wal',
		$primary, lsn_number($end), 'patched standby of stock');
	# Shut down cleanly, so that the old primary can follow without pg_rewind.
	$primary->stop;
	clean_log($primary);
	$standby->promote;
	is_direct($standby, 'writes as its switches say after its promotion');
	work($standby);
	$primary->append_conf('postgresql.conf', "primary_conninfo = '@{[ $standby->connstr ]}'\n");
	$primary->set_standby_mode;
	$primary->start;
	work($standby);
	same_data($standby, $primary);
	# Start a stock server on the data directory of the killed standby.
	kill_all($standby);
	switches($standby);
	$primary->promote;
	work($primary);
	$primary->stop;
	my $stock = PostgreSQL::Test::Cluster->new('c_stock', install_path => $stock_path);
	system_or_bail('mkdir', '-p', $stock->basedir);
	system_or_bail('mv', $standby->data_dir, $stock->data_dir);
	unlink $stock->data_dir . '/postmaster.pid';
	$stock->append_conf('postgresql.conf',
		"port = @{[ $stock->port ]}\nunix_socket_directories = '@{[ $stock->host ]}'\n");
	$stock->start;
	work($stock);
	$stock->stop;
	clean_log($_) for $primary, $standby, $stock;
}

done_testing();
