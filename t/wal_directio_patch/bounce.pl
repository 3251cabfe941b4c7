# What is written to WAL while others insert into it: with direct I/O or with units
# of less than a page the memory under a write does not change, and behind the end of
# the request there are zeros, and nothing of a record that is being inserted.
#
# The same after direct I/O was refused in the middle, for as long as some backends still
# have files open with it.
#
# Each write takes a millisecond more than usual, and eight clients insert meanwhile.
# A server with all switches off shows that the test would see a change.
use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";
use PgDense::Patch;
use PgDense::Wal;
use PgDense::WalRecorder;
use PgDense::WalSegments;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

needs_patch('wal_directio_patch', 'wal_direct_io');

my $mb = 1;
my $size = $mb * 1024 * 1024;
my $transactions = $ENV{PGDENSE_SOAK} ? 2000 : 100;
my $library = build_library('record.c');

my $node = wal_node('bounce', $mb, fsync => 'on', max_wal_size => '4GB', wal_keep_size => '4GB', full_page_writes => 'off', wal_writer_delay => '1ms');
my $dir = $node->data_dir;
$node->start;
$node->safe_psql('postgres', 'CREATE TABLE t (c int, n int, v text)');
$node->stop;

# rows that fill a part of a page, and some records that span pages and take their time
append_to_file($node->basedir . '/insert.sql', <<'SQL');
\set bytes random(0, 700)
\set more random(0, 10) / 10 * 60000
INSERT INTO t VALUES (:client_id, :bytes, repeat(md5(:bytes::text), :bytes / 32));
SELECT pg_logical_emit_message(false, '', repeat('m', :more));
SQL

for my $setting ([ 'off', 8192 ], [ 'off', 512 ], [ 'off', 4096 ], [ 'try', 512 ], [ 'try', 4096 ], [ 'try', 8192 ], [ 'try', 'auto' ], [ 'try', 512, 'refused' ],
	[ 'try', 8192, 'refused' ])
{
	my ($direct, $unit, $refused) = @$setting;
	my $what = "wal_direct_io = $direct, wal_write_unit = $unit" . ($refused ? ', refused' : '');
	my $file = $node->basedir . '/events';
	my $refuse = $node->basedir . '/refuse';

	set_parameters($node, wal_direct_io => $direct, wal_write_unit => $unit);
	my $redo = redo_of($dir);
	my $from = log_position($node);
	{
		local $ENV{PGDENSE_WAL_REFUSE} = $refused ? $refuse : '';
		with_recorder($library, $file, 1000, sub { $node->start });
	}
	my $mode = effective_mode($node, $from)->{mode};
	my $pgbench = IPC::Run::start(
		[
			'pgbench', '--no-vacuum', '--client=8', '--jobs=2', "--transactions=$transactions", '--file', $node->basedir . '/insert.sql',
			$node->connstr('postgres')
		],
		'>', '/dev/null', '2>', \my $errors);
	if ($refused)
	{
		# as soon as all have files open
		usleep(200_000);
		append_to_file($refuse, '');
	}
	$pgbench->finish or diag $errors;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t; TRUNCATE t;'), 8 * $transactions, "$what: clients insert");
	$node->stop;

	my $events = recorded_events($file);
	my @segments = grep { $_->{type} eq 'W' && $_->{name} !~ /xlogtemp/ } @$events;
	unlink $file;
	if ($refused)
	{
		SKIP:
		{
			skip 'no direct I/O here', 2 if $mode ne 'direct';
			is(effective_mode($node, $from)->{mode}, 'buffered', "$what: direct I/O is given up");
			is(scalar(grep { $_->{type} eq 'C' && $_->{direct} } @$events), 0, "$what: no change of memory that is written directly");
		}
		next;
	}
	is(scalar(grep { $_->{direct} != ($mode eq 'direct') } @segments), 0, "$what: all writes are $mode");

	my ($records) = wal_records("$dir/pg_wal", $redo, $size);
	if ($mode eq 'buffered' && $unit eq '8192')
	{
		# like a stock server: the control
		my $changes = grep { $_->{type} eq 'C' } @$events;
		cmp_ok($changes, '>', 0, "$what: $changes changes of memory that is written");
	}
	else
	{
		my $bytes = $unit eq 'auto' ? 4096 : $unit;
		my (undef, $small, undef, $changes) = check_writes($events, segment_contents("$dir/pg_wal"), $records, $bytes, $size, $what);
		is($changes, 0, "$what: no change of memory that is written");
		cmp_ok($small, '>', 10, "$what: writes of less than a page") if $bytes < 8192;
	}
}
is(join("\n", grep { !/given up/ } split /\n/, unexpected_log($node)), '', 'log');
done_testing();
