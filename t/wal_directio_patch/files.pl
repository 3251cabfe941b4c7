# Test WAL on many kinds of file systems, with each setting.  Check whether the server writes WAL
# directly, and in which unit, or the reason why it writes through the page cache.  Crash with each
# setting.  Check the page cache after the writes.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Mounts;
use PgDense::Patch;
use PgDense::Wal      qw(unit_setting wal_counters);
use PgDense::WalFiles qw(resident_bytes);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('wal_directio_patch', 'wal_directio');

# Since Linux 6.1, the kernel reports the alignment that direct I/O needs.
my ($major, $minor) = `uname -r` =~ /^(\d+)\.(\d+)/;
my $tells = $major > 6 || ($major == 6 && $minor >= 1);

my $no_answer = qr/^The file system %s does not tell the alignment that direct I\/O needs\.$/;
my $cached = qr/^Writes to the file system %s with direct I\/O stay in the page cache\.$/;
my $unsupported = qr/^The file system %s does not support direct I\/O for this file\.$/;

# unit: the smallest unit, or undef if direct I/O is not possible even with "on".  With "try", the
# server uses direct I/O only if the kernel also reports the alignment.
my %expected = (
	'ext4' => { filesystem => 'ext4', unit => 512, try => $tells ? undef : $no_answer },
	'ext4-4k' => { filesystem => 'ext4', unit => 4096, try => $tells ? undef : $no_answer },
	'ext4-journal' => {
		filesystem => 'ext4',
		try => $tells ? $unsupported : $no_answer,
		on => $tells ? $unsupported : $cached
	},
	'xfs' => { filesystem => 'xfs', unit => 512, try => $tells ? undef : $no_answer },
	# btrfs reports no alignment, but direct I/O works.
	'btrfs' => { filesystem => 'btrfs', unit => 512, silent => 1, try => $no_answer },
	'tmpfs' => { filesystem => 'tmpfs', try => $no_answer, on => $cached },);

my $node = PostgreSQL::Test::Cluster->new('files');
my $rows = 0;
$node->init(extra => ['--wal-segsize=1']);
# Make new segments each time.  With direct I/O they do not get into the page cache.
$node->append_conf('postgresql.conf', <<'CONF');
wal_level = replica
autovacuum = off
checkpoint_timeout = 1h
min_wal_size = 2MB
max_wal_size = 1GB
wal_recycle = off
wal_cache_relief = off
wal_consistency_checking = all
log_statement = none
CONF
$node->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION wal_directio; CREATE TABLE ledger (n int, filler text)');
$node->stop;

for my $name (sort keys %expected)
{
  SKIP:
	{
		my $reason = no_mount($name);
		skip $reason, 1 if $reason;
		check_file_system($name, $expected{$name});
	}
}
unlike(
	slurp_file($node->logfile),
	qr/PANIC|TRAP|inconsistent page|given up/,
	'nothing unexpected in the log');
done_testing();

# Try every setting, one after the other, with a crash in between.
sub check_file_system
{
	my ($name, $expected) = @_;

	move_wal($node, mount_folder($name));
	for my $setting (qw(try on))
	{
		for my $unit (qw(auto 512 4096 8192))
		{
			check_setting($name, $expected, $setting, $unit);
		}
	}

	# back to the stock behaviour
	$node->append_conf('postgresql.conf',
		"wal_directio = off\nwal_write_unit = 8192\nfsync = off\n");
	$node->start;
	is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT n) FROM ledger'),
		"$rows|$rows", "$name, off: all rows are there");
	is( $node->safe_psql(
			'postgres', 'SELECT mode, fallback_reason IS NULL, write_unit FROM pg_stat_wal_direct'),
		'buffered|t|8192',
		"$name, off: the view shows buffered writes of pages");
	$node->stop;
}

sub check_setting
{
	my ($name, $expected, $setting, $unit) = @_;
	my $what = "$name, $setting, $unit";
	my $pattern = $expected->{$setting} && sprintf $expected->{$setting}, $expected->{filesystem};
	my $direct = !$pattern;
	my $asked = $unit eq 'auto' ? 4096 : $unit;
	my $effective = $direct && $asked < $expected->{unit} ? $expected->{unit} : $asked;

	# fsync takes long.  It changes only the work of the device, not the data that the server
	# writes.  So use fsync for one unit only.
	my $fsync = $unit eq '512' ? 'on' : 'off';
	$node->append_conf('postgresql.conf',
		"wal_directio = $setting\nwal_write_unit = @{[ unit_setting($unit) ]}\nfsync = $fsync\n");
	my $from = -s $node->logfile;
	if (!$direct && $setting eq 'on')
	{
		ok(!$node->start(fail_ok => 1), "$what: the server does not start");
		my $log = substr(slurp_file($node->logfile), $from);
		like(
			$log,
			qr/FATAL:  direct I\/O for WAL is not possible in "pg_wal"\n.*DETAIL:  (.*)\n.*HINT:  Set "wal_directio" to "try"/,
			"$what: the error has a hint");
		my ($detail) = $log =~ /DETAIL:  (.*)/;
		like($detail, qr/$pattern/, "$what: reason");
		is(join(' ', glob($node->data_dir . '/pg_wal/xlogtemp*')),
			'', "$what: the probe leaves no file");
		return;
	}

	$node->start;
	is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT n) FROM ledger'),
		"$rows|$rows", "$what: all earlier rows are there");
	my ($mode, $reason, $filesystem, $write_unit, $minimum) =
	  split /\|/,
	  $node->safe_psql(
		'postgres',
		'SELECT mode, fallback_reason, filesystem, write_unit, minimum_unit FROM pg_stat_wal_direct'
	  );
	is( "$mode, $filesystem, $write_unit",
		($direct ? 'direct' : 'buffered') . ", $expected->{filesystem}, $effective",
		"$what: effective");
	is( $minimum,
		$tells && !$expected->{silent} ? $expected->{unit} // '' : '',
		"$what: the view shows the minimum unit");
	$direct ? is($reason, '', "$what: no fallback") : like($reason, qr/$pattern/, "$what: reason");

	# Expect one message, and another message before it if the unit is larger than the
	# requested unit.
	my $log = substr(slurp_file($node->logfile), $from);
	my @messages =
	  $log =~ /LOG:  (.*(?:WAL is written|wal_write_unit|direct I\/O).*\n.*DETAIL:  .*)\n/g;
	my @want;
	push @want, qr/^"wal_write_unit" is raised from $asked to $effective bytes\n/
	  if $effective != $asked;
	push @want,
	  $direct
	  ? qr/^WAL is written with direct I\/O in units of $effective bytes\n.*DETAIL:  The file system of "pg_wal" is $expected->{filesystem}\.$/
	  : qr/^WAL is written through the page cache, because direct I\/O is not possible in "pg_wal"\n.*DETAIL:  \Q$reason\E$/;
	is(scalar @messages, scalar @want, "$what: number of messages") or diag $log;
	like($messages[$_] // '', $want[$_], "$what: message") for 0 .. $#want;

	# many small commits, and whole segments at a time
	my $begin = $node->safe_psql('postgres', 'SELECT pg_walfile_name(pg_current_wal_lsn())');
	$node->safe_psql(
		'postgres',
		join('',
			map { "INSERT INTO ledger VALUES (@{[ $rows + $_ ]}, repeat('x', 37 * $_));\n" }
			  1 .. 20));
	$rows += 20;
	$node->safe_psql('postgres',
		"SELECT pg_switch_wal(); INSERT INTO ledger SELECT $rows + i, repeat('y', 800) FROM generate_series(1, 4000) i; SELECT pg_switch_wal(); INSERT INTO ledger VALUES ($rows + 4001)"
	);
	$rows += 4001;
	my $end = $node->safe_psql('postgres', 'SELECT pg_walfile_name(pg_current_wal_lsn())');

	# the segments finished since then, which recovery has not read
	my @finished = grep { my $file = basename_of($_); $file gt $begin && $file lt $end }
	  glob($node->data_dir . '/pg_wal/[0-9A-F]*');
	my $resident = resident_bytes(@finished);
	cmp_ok(scalar @finished, '>=', 4, "$what: there are finished segments");
	if ($direct)
	{
		# btrfs drops the pages of direct writes from the page cache, except pages that
		# are in use.
		cmp_ok(
			$resident, '<=',
			$expected->{silent} ? @finished * 10_000 : 0,
			"$what: finished segments are not in the page cache");
	}
	else
	{
		cmp_ok($resident, '>', 0, "$what: finished segments are in the page cache");
	}
	my $expect = $direct ? 't|t|f|f' : 'f|f|t|t';
	is( wal_counters(
			$node,
			'SELECT direct_writes > 0, direct_inits >= 4, buffered_writes > 0, buffered_inits >= 4 FROM pg_stat_wal_direct',
			expected => $expect),
		$expect,
		"$what: the counters show how WAL and new segments were written");
	$node->stop('immediate');
}

sub basename_of
{
	return $_[0] =~ s{.*/}{}r;
}
