# Check that with all switches of wal_directio_patch off, a server writes the same WAL as the stock
# server, with the same bytes in the same writes.  With the switches on, the WAL must have the same
# bytes, and only the writes may differ.
#
# The stock server makes one data directory, which is copied for each server.  The clock stands
# still.  On each copy, a single-user server runs the same statements in the same order.  So the
# test can compare all of pg_wal, and every write and sync.
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

needs_patch('wal_directio_patch', 'wal_directio');
my $stock_path = stock_path();
my $clock = build_library('clock.c');
my $can = can_write_directly($PostgreSQL::Test::Utils::tmp_check);
my $direct = 'wal_directio=' . ($can ? 'on' : 'try');

# Start no background process that writes WAL at regular times.
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

# The statements for the single-user server, one in each line.  The statements make commits of all
# sizes, records that cross pages and segments, more WAL than the buffers hold, and segments that
# are recycled and switched.  The statements only insert, because the stock server does not set
# all bytes of the records of pruned pages.
my @workload = (
	'CREATE TABLE t (id int PRIMARY KEY, v text)',
	'CREATE TABLE w (v bytea STORAGE external)',
	(map { "INSERT INTO t VALUES ($_, repeat('x', " . $_ * 37 % 300 . '))' } 1 .. 200),
	q{INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1000, 9000) i},
	'CHECKPOINT',
	(map { "INSERT INTO w VALUES (repeat('b', " . $_ * 3001 . ')::bytea)' } 1 .. 20),
	(   map {
				"SELECT pg_logical_emit_message("
			  . ($_ % 2 ? 'true' : 'false')
			  . ", 'm', repeat('z', "
			  . $_ * 997 % 8000 . '))'
		} 1 .. 100),
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
	'stock' => [$stock_path],
	'patched, off' => [undef],
	'patched, named defaults' =>
	  [ undef, 'wal_directio=off', 'wal_write_unit=8192', 'wal_cache_relief=auto' ],
	'direct, 512' => [ undef, $direct, 'wal_write_unit=force_512' ],
	'direct, 8192' => [ undef, $direct, 'wal_write_unit=8192' ],
	'buffered, 4096' => [ undef, 'wal_write_unit=force_4096', 'wal_cache_relief=on' ],
	'buffered, 512' => [ undef, 'wal_write_unit=force_512' ],
	# The switches are on, and segments are neither zero-filled nor recycled.
	'direct, auto, not zero-filled' =>
	  [ undef, $direct, 'wal_write_unit=auto', 'wal_init_zero=off', 'wal_recycle=off' ],
	'stock, not zero-filled' => [ $stock_path, 'wal_init_zero=off', 'wal_recycle=off' ],
	'patched, off, not zero-filled' => [ undef, 'wal_init_zero=off', 'wal_recycle=off' ]);

# Return the bytes of a segment.  In each record of running transactions, omit three bytes that the
# stock server does not set, and the CRC of the record.
sub content
{
	my ($path) = @_;
	my $bytes = slurp_file($path);

	$bytes =~ s/(\x32\0{7}.{8}\x10\x08\0\0).{4}(\xff\x18\0{8}[\0\1]).{3}/$1....$2.../sg;
	return $bytes;
}

# the stock servers, those with all switches off, and half of the others
my $always = qr/^(?:stock|patched)/;
my @names =
  ((grep { /$always/ } sort keys %servers), divided(grep { !/$always/ } sort keys %servers));
my (%wal, %calls);
for my $name (@names)
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
			IPC::Run::run(
				[
					$postgres, '--single',
					'-D', $node->data_dir,
					(map { ('-c', $_) } @settings), 'postgres'
				],
				'<',
				\join('', map { "$_\n" } @workload),
				'>',
				\$out,
				'2>',
				"$log.err");
		});
	is($?, 0, "$name: the single-user server exits with 0");
	is(join(' ', slurp_file("$log.err") =~ /\b(?:ERROR|FATAL|PANIC|WARNING): .*/g),
		'', "$name: the single-user server logs no error");
	my $dir = $node->data_dir . '/pg_wal';
	$wal{$name} = { map { $_ => sha1_hex(content("$dir/$_")) } segment_files($dir) };
	my @log = shim_log($log);
	$calls{$name} = [
		map {
			join ' ', $_->{call}, $_->{file} =~ s/^(xlogtemp)\.\d+/$1/r, $_->{offset}, $_->{length},
			  $_->{result}
		} @log
	];
	# The writes that make segments in advance count, too.
	my %modes = map { $_->{mode} => 1 } grep { $_->{call} eq 'write' } @log;
	is( join(' ', sort keys %modes),
		$name =~ /^direct/ && $can ? 'direct' : 'buffered',
		"$name: all WAL is written in the expected mode");
	system_or_bail('rm', '-rf', $node->data_dir);
}

# the number of bytes written to segments
sub written
{
	my $sum = 0;
	$sum += $_ for map { /^write [0-9A-F]{24} \d+ (\d+)/ } @{ $calls{ $_[0] } };
	return $sum;
}

cmp_ok(scalar(grep { /^write/ } @{ $calls{stock} }), '>', 500,
	'stock: there are writes to compare');
cmp_ok(scalar(grep { /^sync/ } @{ $calls{stock} }), '>', 300, 'stock: there are syncs to compare');
cmp_ok(scalar(keys %{ $wal{stock} }), '>', 4, 'stock: there are segments to compare');
for my $name (grep { !/^stock/ } @names)
{
	my $stock = $name =~ /not zero-filled/ ? 'stock, not zero-filled' : 'stock';

	is_deeply($wal{$name}, $wal{$stock},
		"$name: segments have the same names and bytes as those of stock");
	if ($name =~ /^patched/)
	{
		my ($first) =
		  grep { ($calls{$name}[$_] // '') ne $calls{$stock}[$_] } 0 .. $#{ $calls{$stock} };
		is( scalar(@{ $calls{$name} }),
			scalar(@{ $calls{$stock} }),
			"$name: the server makes as many calls as stock");
		is( defined $first ? $calls{$name}[$first]  : '',
			defined $first ? $calls{$stock}[$first] : '',
			"$name: the server makes the same calls in the same order");
	}
	elsif ($name =~ /8192/)
	{
		cmp_ok(written($name), '<=', written($stock),
			"$name: the server writes no more bytes than stock");
	}
	else
	{
		cmp_ok(written($name), '<', written($stock),
			"$name: the server writes fewer bytes than stock");
	}
}
done_testing();
