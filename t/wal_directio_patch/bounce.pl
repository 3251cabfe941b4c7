# Check the memory that a WAL write reads, while other backends insert records.  With direct I/O, or
# with units of less than a page, this memory must not change during the write.  Behind the end of
# the WAL to be written, it must contain only zeros, and no part of a record that is being inserted.
#
# Check the same after the server gave up direct I/O, while some backends still have
# files open for direct I/O.
#
# Each write takes one millisecond longer than usual, and eight clients insert meanwhile.  A server
# with all switches off is the control: in its memory, the test must see changes.
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

needs_patch('wal_directio_patch', 'wal_directio');

my $mb = 1;
my $size = $mb * 1024 * 1024;
my $transactions = $ENV{PGDENSE_SOAK} ? 2000 : 100;
my $library = build_library('record.c');

my $node = wal_node(
	'bounce', $mb,
	fsync => 'on',
	max_wal_size => '4GB',
	wal_keep_size => '4GB',
	full_page_writes => 'off',
	wal_writer_delay => '1ms');
my $dir = $node->data_dir;
$node->start;
$node->safe_psql('postgres', 'CREATE TABLE t (c int, n int, v text)');
$node->stop;

# rows that fill a part of a page, and records that span pages and take longer to insert
append_to_file($node->basedir . '/insert.sql', <<'SQL');
\set bytes random(0, 700)
\set more random(0, 10) / 10 * 60000
INSERT INTO t VALUES (:client_id, :bytes, repeat(md5(:bytes::text), :bytes / 32));
SELECT pg_logical_emit_message(false, '', repeat('m', :more));
SQL

for my $setting (
	[ 'off', 8192 ],
	[ 'off', 512 ],
	[ 'off', 4096 ],
	[ 'try', 512 ],
	[ 'try', 4096 ],
	[ 'try', 8192 ],
	[ 'try', 'auto' ],
	[ 'try', 512, 'refused' ],
	[ 'try', 8192, 'refused' ])
{
	my ($direct, $unit, $refused) = @$setting;
	my $what = "wal_directio = $direct, wal_write_unit = $unit" . ($refused ? ', refused' : '');
	my $file = $node->basedir . '/events';
	my $refuse = $node->basedir . '/refuse';

	set_parameters($node, wal_directio => $direct, wal_write_unit => $unit);
	my $redo = redo_of($dir);
	my $from = log_position($node);
	{
		local $ENV{PGDENSE_WAL_REFUSE} = $refused ? $refuse : '';
		with_recorder($library, $file, 1000, sub { $node->start });
	}
	my $mode = effective_mode($node, $from)->{mode};
	my $pgbench = IPC::Run::start(
		[
			'pgbench', '--no-vacuum',
			'--client=8', '--jobs=2',
			"--transactions=$transactions", '--file',
			$node->basedir . '/insert.sql', $node->connstr('postgres')
		],
		'>',
		'/dev/null',
		'2>',
		\my $errors);
	if ($refused)
	{
		# Refuse direct I/O as soon as all backends have files open.
		usleep(200_000);
		append_to_file($refuse, '');
	}
	$pgbench->finish or diag $errors;
	is( $node->safe_psql('postgres', 'SELECT count(*) FROM t; TRUNCATE t;'),
		8 * $transactions,
		"$what: the clients inserted all rows");
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
			is(scalar(grep { $_->{type} eq 'C' && $_->{direct} } @$events),
				0, "$what: memory does not change during a direct write");
		}
		next;
	}
	is(scalar(grep { $_->{direct} != ($mode eq 'direct') } @segments),
		0, "$what: all writes are $mode");

	my ($records) = wal_records("$dir/pg_wal", $redo, $size);
	if ($mode eq 'buffered' && $unit eq '8192')
	{
		# The control, the server with all switches off, behaves like a stock server.
		my $changes = grep { $_->{type} eq 'C' } @$events;
		cmp_ok($changes, '>', 0,
			"$what: memory changes during writes of the control, $changes times");
	}
	else
	{
		my $bytes = $unit eq 'auto' ? 4096 : $unit;
		my (undef, $small, undef, $changes) =
		  check_writes($events, segment_contents("$dir/pg_wal"), $records, $bytes, $size, $what);
		is($changes, 0, "$what: memory does not change during a write");
		cmp_ok($small, '>', 10, "$what: some writes are less than a page") if $bytes < 8192;
	}
}
is(join("\n", grep { !/given up/ } split /\n/, unexpected_log($node)),
	'', 'nothing unexpected in the log');
done_testing();
