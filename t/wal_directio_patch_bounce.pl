# What is written to WAL while others insert into it: with direct I/O or with units
# of less than a page the memory under a write does not change, and behind the end of
# the request there are zeros, and nothing of a record that is being inserted.
#
# Each write takes a millisecond more than usual, and eight clients insert meanwhile.
# A server with all switches off shows that the test would see a change.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use PgDensePatch;
use PgDenseWal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('wal_directio_patch', 'wal_direct_io');

my $mb = 1;
my $size = $mb * 1024 * 1024;
my $transactions = $ENV{PGDENSE_SOAK} ? 2000 : 100;
my $library = build_library('wal_directio_patch_record.c');

my $node = wal_node('bounce', $mb, fsync => 'on', max_wal_size => '4GB', wal_keep_size => '4GB', full_page_writes => 'off', wal_writer_delay => '1ms');
my $dir = $node->data_dir;
$node->start;
$node->safe_psql('postgres', 'CREATE TABLE t (c int, n int, v text)');
$node->stop;

# rows that fill a part of a page, and some that span pages
append_to_file($node->basedir . '/insert.sql', <<'SQL');
\set bytes random(0, 700)
\set more random(0, 20) / 20 * 9000
INSERT INTO t VALUES (:client_id, :bytes, repeat(md5(:bytes::text), (:bytes + :more) / 32));
SQL

for my $setting ([ 'off', 8192 ], [ 'off', 512 ], [ 'off', 4096 ], [ 'try', 512 ], [ 'try', 4096 ], [ 'try', 8192 ], [ 'try', 'auto' ])
{
	my ($direct, $unit) = @$setting;
	my $what = "wal_direct_io = $direct, wal_write_unit = $unit";
	my $file = $node->basedir . "/events.$direct.$unit";

	set_parameters($node, wal_direct_io => $direct, wal_write_unit => $unit);
	my $redo = redo_of($dir);
	my $from = log_position($node);
	with_recorder($library, $file, 1000, sub { $node->start });
	$node->command_ok(
		[
			'pgbench', '--no-vacuum', '--client=8', '--jobs=2', "--transactions=$transactions", '--file', $node->basedir . '/insert.sql',
			$node->connstr('postgres')
		],
		"$what: clients insert");
	$node->stop;

	my $events = recorded_events($file);
	my $expected = $direct eq 'off' ? 'buffered' : effective_mode($node, $from)->{mode};
	my @segments = grep { $_->{type} eq 'W' && $_->{name} !~ /xlogtemp/ } @$events;
	is(scalar(grep { $_->{direct} != ($expected eq 'direct') } @segments), 0, "$what: all writes are $expected");

	my ($records) = wal_records("$dir/pg_wal", $redo, $size);
	my $changes;
	if ($expected eq 'buffered' && $unit eq '8192')
	{
		# like a stock server: the control
		$changes = grep { $_->{type} eq 'C' } @$events;
		cmp_ok($changes, '>', 0, "$what: $changes changes of memory that is written");
	}
	else
	{
		my $bytes = $unit eq 'auto' ? 4096 : $unit;
		(undef, my $small, undef, $changes) = check_writes($events, segment_contents("$dir/pg_wal"), $records, $bytes, $size, $what);
		is($changes, 0, "$what: no change of memory that is written");
		cmp_ok($small, '>', 100, "$what: writes of less than a page") if $bytes < 8192;
	}
	unlink $file;
}
is(unexpected_log($node), '', 'log');
done_testing();
