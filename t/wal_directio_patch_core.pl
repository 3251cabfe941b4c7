# PostgreSQL's own regression tests with wal_direct_io and wal_write_unit = 512, ended
# by kill -9 and recovery.  In a soak run its isolation tests as well, other units and
# WAL through the page cache, and the TAP tests of recovery and of the programs
# that read and copy WAL.
use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use File::Spec;
use FindBin;
use IPC::Run ();
use lib $FindBin::RealBin;

use PgDenseCore;
use PgDenseCrash;
use PgDensePatch;
use PgDenseWal qw(set_parameters unexpected_log effective_mode);
use PgDenseWalFiles;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('wal_directio_patch', 'wal_direct_io');

my $regress = core_tests();
my $tree = abs_path("$regress/../../..");
my $tmp = File::Spec->rel2abs($PostgreSQL::Test::Utils::tmp_check);
my $direct = can_write_directly($tmp) ? 'on' : 'try';

# [name, parameters]; small segments and small buffers in one of them
my @rounds = ([ 'direct_512', 1, wal_direct_io => $direct, wal_write_unit => 512, fsync => 'off' ]);
push @rounds,
  [ 'direct_4096', 16, wal_direct_io => $direct, wal_write_unit => 4096, wal_sync_method => 'open_datasync', wal_init_zero => 'off', wal_recycle => 'off' ],
  [ 'direct_8192', 1, wal_direct_io => $direct, wal_write_unit => 8192, fsync => 'off', wal_buffers => '64kB' ],
  [ 'buffered_512', 1, wal_write_unit => 512, fsync => 'off', wal_cache_relief => 'on' ]
  if $ENV{PGDENSE_SOAK};

for my $round (@rounds)
{
	my ($name, $mb, @parameters) = @$round;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(extra => [ '--encoding=UTF8', '--locale=C', "--wal-segsize=$mb" ]);
	set_parameters($node, max_connections => 50, max_prepared_transactions => 10, wal_level => 'logical', log_statement => 'none',
		max_wal_size => '64MB', min_wal_size => 5 * $mb . 'MB', checkpoint_timeout => '30s', @parameters);
	$node->start;
	is(effective_mode($node)->{mode}, 'direct', "$name: it is direct") if $name =~ /direct/ && $direct eq 'on';
	cmp_ok(core_suite($node, $name, "$tmp/$name", $regress, "$regress/pg_regress", "--dlpath=$regress", "--schedule=$regress/parallel_schedule", '--max-concurrent-tests=20'),
		'>', 200, "$name: the tests ran");
	if ($ENV{PGDENSE_SOAK} && $name eq 'direct_512')
	{
		my $isolation = "$tree/src/test/isolation";

	  SKIP:
		{
			skip 'no isolation tests in the build tree', 2 if !-x "$isolation/pg_isolation_regress" || !-x "$isolation/isolationtester";
			cmp_ok(core_suite($node, 'isolation', "$tmp/isolation", $isolation, "$isolation/pg_isolation_regress", "--schedule=$isolation/isolation_schedule"), '>', 80, 'isolation: the tests ran');
		}
	}

	# The last of it is redone.
	my @dump = ('pg_dump', '-d', $node->connstr('regression'), '--no-sync', '-f');
	$node->command_ok([ @dump, "$tmp/$name.before" ], "$name: a dump");
	$node->safe_psql('regression', 'CREATE TABLE last_rows AS SELECT generate_series(1, 1000) i');
	kill_all($node);
	$node->start;
	is($node->safe_psql('regression', 'SELECT count(*) FROM last_rows; DROP TABLE last_rows'), '1000', "$name: recovery");
	$node->command_ok([ @dump, "$tmp/$name.after" ], "$name: a dump after it");
	# Of unlogged tables and of the values of sequences that were cached nothing is expected.
	my ($before, $after) = map { my $dump = slurp_file($_); $dump =~ s/^\\(?:un)?restrict .*//mg; $dump =~ s/^SELECT pg_catalog.setval.*//mg; $dump } "$tmp/$name.before", "$tmp/$name.after";
	my @unlogged = $before =~ /^CREATE UNLOGGED TABLE (\S+)/mg;
	for my $dump ($before, $after)
	{
		$dump =~ s/^COPY \Q$_\E \(.*?^\\\.$//smg for @unlogged;
	}
	ok($before eq $after, "$name: all is as it was");
	is(unexpected_log($node), '', "$name: nothing unexpected in the log");
	$node->stop;
	system_or_bail('rm', '-rf', $node->data_dir);
}

# Core's TAP tests, in copies of their folders
if ($ENV{PGDENSE_SOAK})
{
	my $conf = "$tmp/switches.conf";
	append_to_file($conf, "wal_direct_io = $direct\nwal_write_unit = 512\n");
	my $copy = "$tmp/tree";
	mkdir $copy;
	system_or_bail('cp', '-a', $regress, "$copy/regress");
	for my $suite ('test/recovery', 'bin/pg_basebackup', 'bin/pg_rewind', 'bin/pg_waldump', 'bin/pg_combinebackup', 'bin/pg_archivecleanup', 'bin/pg_walsummary')
	{
		my $name = $suite =~ s{.*/}{}r;
		my $dir = "$copy/$name";
		my $output = '';

		if (!-d "$tree/src/$suite/t")
		{
			fail("$name has tests");
			next;
		}
		system_or_bail('cp', '-a', "$tree/src/$suite", $dir);
		local %ENV = (
			%ENV,
			TEMP_CONFIG => $conf,
			PG_REGRESS => "$regress/pg_regress",
			REGRESS_SHLIB => "$regress/regress.so",
			PERL5LIB => "$dir/t:$ENV{PERL5LIB}",
			TESTDIR => $dir,
			TESTDATADIR => "$dir/tmp_check",
			TESTLOGDIR => "$dir/tmp_check/log",
			enable_injection_points => 'no',
			share_contrib_dir => `pg_config --sharedir` =~ s/\n//r . '/contrib');
		IPC::Run::run([ 'prove', '--timer', '--ext=.pl', 't/' ], '>', \$output, '2>&1', init => sub { chdir $dir or die "could not change to $dir: $!" });
		like($output, qr/^Result: PASS$/m, "$name: core's TAP tests pass") or diag substr($output, -5000);
		like($output, qr/^Files=[1-9]\d*, Tests=[1-9]\d*/m, "$name: the tests ran");
		system_or_bail('rm', '-rf', $dir);
	}
}

done_testing();
