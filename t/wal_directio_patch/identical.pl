# The switches of wal_directio_patch off: a server writes what stock writes, byte by
# byte and write by write.  The switches on: the WAL is still the same, byte by byte,
# and only the writes differ.
#
# One data directory, made by stock, is copied for each server; the time of day
# stands still.  A single-user server does the same things in the same order, so all
# of pg_wal can be compared, and what was written and synced where and when.
use strict;
use warnings FATAL => 'all';

use Digest::SHA qw(sha1_hex);
use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";

use PgDense::IndexAlign qw(stock_path hand_over);
use PgDense::Patch;
use PgDense::Wal qw(build_library);
use PgDense::WalFiles;
use PgDense::WalSegments qw(segment_files);
use PgDense::WalShim;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('wal_directio_patch', 'wal_direct_io');
my $stock_path = stock_path();
my $clock = build_library('clock.c');
my $can = can_write_directly($PostgreSQL::Test::Utils::tmp_check);
my $direct = 'wal_direct_io=' . ($can ? 'on' : 'try');

# Nothing in the background that would write by the clock
my $conf = <<'CONF';
fsync = on
autovacuum = off
wal_level = replica
checkpoint_timeout = 1d
max_wal_size = 16MB
min_wal_size = 4MB
max_connections = 20
shared_buffers = 16MB
wal_buffers = 128kB
bgwriter_lru_maxpages = 0
wal_writer_delay = 10s
max_parallel_maintenance_workers = 0
max_parallel_workers_per_gather = 0
jit = off
CONF

my $source = PostgreSQL::Test::Cluster->new('source', install_path => $stock_path);
$source->init(extra => [ '--encoding=UTF8', '--locale=C', '--wal-segsize=1', '--no-sync' ]);
$source->append_conf('postgresql.conf', $conf);

# One statement a line, for a single-user server.  Commits of all sizes, records
# that cross pages and segments, more than fits into the buffers, segments that are
# recycled, and switched.  Only inserts: stock does not set all bytes of the records
# of pruned pages.
my @workload = (
	'CREATE TABLE t (id int PRIMARY KEY, v text)',
	'CREATE TABLE w (v bytea STORAGE external)',
	(map { "INSERT INTO t VALUES ($_, repeat('x', " . $_ * 37 % 300 . '))' } 1 .. 200),
	q{INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1000, 9000) i},
	'CHECKPOINT',
	(map { "INSERT INTO w VALUES (repeat('b', " . $_ * 3001 . ')::bytea)' } 1 .. 20),
	(map { "SELECT pg_logical_emit_message(" . ($_ % 2 ? 'true' : 'false') . ", 'm', repeat('z', " . $_ * 997 % 8000 . '))' } 1 .. 100),
	'CREATE INDEX ON t (v)',
	"INSERT INTO w SELECT repeat('c', 100000)::bytea FROM generate_series(1, 40)",
	'CHECKPOINT',
	'SELECT pg_switch_wal()',
	(map { "INSERT INTO t VALUES ($_, 'switched')" } 301 .. 400),
	'SELECT pg_switch_wal()',
	q{INSERT INTO t SELECT i, 'again ' || i FROM generate_series(10000, 60000) i},
	'CHECKPOINT',
	'SET synchronous_commit = off',
	(map { "INSERT INTO t VALUES ($_, 'asynchronously')" } 401 .. 450),
	'SET synchronous_commit = on',
	q{INSERT INTO t SELECT i, 'and again ' || i FROM generate_series(100000, 160000) i},
	'CHECKPOINT',
	(map { "INSERT INTO t VALUES ($_, 'end')" } 200001 .. 200050));

# name => [ server, settings ]
my %servers = (
	'stock' => [ $stock_path ],
	'patched, off' => [ undef ],
	'patched, named defaults' => [ undef, 'wal_direct_io=off', 'wal_write_unit=8192', 'wal_cache_relief=auto' ],
	'direct, 512' => [ undef, $direct, 'wal_write_unit=force_512' ],
	'direct, 8192' => [ undef, $direct, 'wal_write_unit=8192' ],
	'buffered, 4096' => [ undef, 'wal_write_unit=force_4096', 'wal_cache_relief=on' ],
	'buffered, 512' => [ undef, 'wal_write_unit=force_512' ],
	# as the switches find it
	'direct, auto, not zero-filled' => [ undef, $direct, 'wal_write_unit=auto', 'wal_init_zero=off', 'wal_recycle=off' ],
	'stock, not zero-filled' => [ $stock_path, 'wal_init_zero=off', 'wal_recycle=off' ],
	'patched, off, not zero-filled' => [ undef, 'wal_init_zero=off', 'wal_recycle=off' ]);

# The bytes of a segment, but for three in a record of running transactions to which
# stock gives no value, and their record's CRC
sub content
{
	my ($path) = @_;
	my $bytes = slurp_file($path);

	$bytes =~ s/(\x32\0{7}.{8}\x10\x08\0\0).{4}(\xff\x18\0{8}[\0\1]).{3}/$1....$2.../sg;
	return $bytes;
}

my (%wal, %calls);
for my $name (sort keys %servers)
{
	my ($path, @settings) = @{ $servers{$name} };
	my $node = hand_over($source, $name =~ s/\W+/_/gr, $path);
	my $log = $node->basedir . '/writes';
	my $out = '';
	my $postgres = ($path // `pg_config --bindir` =~ s/\/bin\n//r) . '/bin/postgres';

	with_shim(
		{ LOG => $log },
		sub {
			local $ENV{LD_PRELOAD} = "$clock:$ENV{LD_PRELOAD}";
			IPC::Run::run([ $postgres, '--single', '-D', $node->data_dir, (map { ('-c', $_) } @settings), 'postgres' ],
				'<', \join('', map { "$_\n" } @workload), '>', \$out, '2>', "$log.err");
		});
	is($?, 0, "$name: a single-user server ends as it should");
	is(join(' ', slurp_file("$log.err") =~ /\b(?:ERROR|FATAL|PANIC|WARNING): .*/g), '', "$name: without complaints");
	my $dir = $node->data_dir . '/pg_wal';
	$wal{$name} = { map { $_ => sha1_hex(content("$dir/$_")) } segment_files($dir) };
	my @log = shim_log($log);
	$calls{$name} = [ map { join ' ', $_->{call}, $_->{file} =~ s/^(xlogtemp)\.\d+/$1/r, $_->{offset}, $_->{length}, $_->{result} } @log ];
	# the last segments that are made in advance, too
	my %modes = map { $_->{mode} => 1 } grep { $_->{call} eq 'write' } @log;
	is(join(' ', sort keys %modes), $name =~ /^direct/ && $can ? 'direct' : 'buffered', "$name: what way all is written");
	system_or_bail('rm', '-rf', $node->data_dir);
}

# bytes that were written to segments
sub written
{
	my $sum = 0;
	$sum += $_ for map { /^write [0-9A-F]{24} \d+ (\d+)/ } @{ $calls{ $_[0] } };
	return $sum;
}

cmp_ok(scalar(grep { /^write/ } @{ $calls{stock} }), '>', 500, 'stock: there were writes to compare');
cmp_ok(scalar(grep { /^sync/ } @{ $calls{stock} }), '>', 300, 'stock: and syncs');
cmp_ok(scalar(keys %{ $wal{stock} }), '>', 4, 'stock: there are segments to compare');
for my $name (sort grep { !/^stock/ } keys %servers)
{
	my $stock = $name =~ /not zero-filled/ ? 'stock, not zero-filled' : 'stock';

	is_deeply($wal{$name}, $wal{$stock}, "$name: the same segments with the same bytes as those of stock");
	if ($name =~ /^patched/)
	{
		my ($first) = grep { ($calls{$name}[$_] // '') ne $calls{$stock}[$_] } 0 .. $#{ $calls{$stock} };
		is(scalar(@{ $calls{$name} }), scalar(@{ $calls{$stock} }), "$name: as many writes and other calls");
		is(defined $first ? $calls{$name}[$first] : '', defined $first ? $calls{$stock}[$first] : '', "$name: the same calls in the same order");
	}
	elsif ($name =~ /8192/)
	{
		cmp_ok(written($name), '<=', written($stock), "$name: not more bytes were written");
	}
	else
	{
		cmp_ok(written($name), '<', written($stock), "$name: fewer bytes were written");
	}
}
done_testing();
