# Test the parameters of wal_directio_patch and the view pg_stat_wal_direct: defaults, values and
# contexts, refused values, ALTER SYSTEM, and postgresql.conf.sample.  The view must show the
# current parameters, and show everything to an ordinary user, also on a standby.  Its counters must
# match the unit, and start at zero with each start of the server.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Patch;
use PgDense::Wal qw(build_library wal_counters);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('wal_directio_patch', 'wal_directio');

my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\nmax_connections = 20\n");
my $data = $node->data_dir;

# value_of(PARAMETER, SETTING...) - return the output and the errors of "postgres -C"
sub value_of
{
	my ($parameter, @settings) = @_;
	my ($out, $err);

	run_log([ 'postgres', '-D', $data, '-C', $parameter, map { ('-c', $_) } @settings ],
		'>', \$out, '2>', \$err);
	chomp $out;
	return ($out, $err);
}

# Return the SQLSTATE of the statement, 00000 if it succeeds.
sub state_of
{
	my ($sql, %options) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate\n$sql", %options);

	return $err =~ /(?:ERROR|FATAL):  (\w{5})/ ? $1 : $ret == 0 ? '00000' : "failed: $err";
}

# view(COLUMN...) - return columns of the view, as psql shows them
sub view
{
	my (@columns) = @_;

	return wal_counters($node, 'SELECT ' . join(', ', @columns) . ' FROM pg_stat_wal_direct');
}

# restart(SETTING...) - restart with only these settings and the settings of init, and
# return the new part of the log
my $conf = slurp_file("$data/postgresql.conf");
# From 18 on, pg_stat_io counts the written bytes.
my $of_pg_stat_io = $node->pg_version->major >= 18;

sub restart
{
	my (@settings) = @_;
	my $offset = -e $node->logfile ? -s $node->logfile : 0;

	$node->stop if defined $node->{_pid};
	unlink "$data/postgresql.conf";
	append_to_file("$data/postgresql.conf", $conf . join('', map { "$_\n" } @settings));
	$node->start;
	# The counters of pg_stat_io survive a restart, so reset them.
	$node->safe_psql('postgres', "SELECT pg_stat_reset_shared('io')") if $of_pg_stat_io;
	return substr(slurp_file($node->logfile), $offset);
}

# the parameters, and their defaults
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION wal_directio');
is($node->safe_psql('postgres', <<'SQL'), <<'EXPECTED' =~ s/\n\z//r, 'parameters');
SELECT name, setting, boot_val, context, vartype, enumvals, category, unit IS NULL FROM pg_settings
WHERE name IN ('wal_directio', 'wal_write_unit', 'wal_cache_relief') ORDER BY name
SQL
wal_cache_relief|auto|auto|sighup|enum|{auto,off,on}|Write-Ahead Log / Settings|t
wal_directio|off|off|postmaster|enum|{off,try,on}|Write-Ahead Log / Settings|t
wal_write_unit|8192|8192|postmaster|enum|{auto,512,force_512,4096,force_4096,8192}|Write-Ahead Log / Settings|t
EXPECTED

chomp(my $sharedir = `pg_config --sharedir`);
my $sample = slurp_file("$sharedir/postgresql.conf.sample");
like($sample, qr/^#wal_directio = off\b/m, 'sample: wal_directio');
like($sample, qr/^#wal_write_unit = 8192\b/m, 'sample: wal_write_unit');
like($sample, qr/^#wal_cache_relief = auto\b/m, 'sample: wal_cache_relief');
for my $parameter ('wal_directio', 'wal_write_unit')
{
	like(
		$sample,
		qr/^#$parameter = .*(?:\n\t+#.*)*\(change requires restart\)/m,
		"sample: $parameter needs a restart");
}

# all valid values, in upper and lower case
my %values = (
	wal_directio => [qw(off try on OFF Try)],
	wal_write_unit => [qw(auto 512 4096 8192 AUTO force_512 Force_4096)],
	wal_cache_relief => [qw(auto off on On)]);
my %invalid = (
	wal_directio => [ 'auto', 'direct', '2', '' ],
	wal_write_unit => [
		'0', '1', '256', '1000', '16384', '-1',
		'4kB', '4096.0', 'off', '', 'force', 'force_8192',
		'-512'
	],
	wal_cache_relief => [ 'try', 'always', '2', '' ]);
my %hints = (
	wal_directio => 'off, try, on',
	wal_write_unit => 'auto, 512, force_512, 4096, force_4096, 8192',
	wal_cache_relief => 'auto, off, on');
for my $parameter (sort keys %values)
{
	is_deeply(
		[ map { join '', value_of($parameter, "$parameter=$_") } @{ $values{$parameter} } ],
		[ map { lc } @{ $values{$parameter} } ],
		"values of $parameter");
	is_deeply(
		[ map { state_of("ALTER SYSTEM SET $parameter = '$_'") } @{ $values{$parameter} } ],
		[ ('00000') x @{ $values{$parameter} } ],
		"values of $parameter, ALTER SYSTEM");
	$node->safe_psql('postgres', "ALTER SYSTEM RESET $parameter");
	for my $value (@{ $invalid{$parameter} })
	{
		my ($out, $err) = value_of($parameter, "$parameter=$value");
		like(
			$err,
			qr/FATAL:  invalid value for parameter "$parameter": "$value"\n.*HINT:  Available values: $hints{$parameter}\.$/m,
			"$parameter cannot be \"$value\"");
		is(state_of("ALTER SYSTEM SET $parameter = '$value'"),
			'22023', "$parameter cannot be \"$value\" by ALTER SYSTEM");
	}
}
my $auto = slurp_file("$data/postgresql.auto.conf");
unlike(
	$auto,
	qr/wal_(?:directio|write_unit|cache_relief)/,
	'postgresql.auto.conf has none of the refused values');

# Changes need a restart or a reload, and a privilege.
for my $parameter (sort keys %values)
{
	my $value = $values{$parameter}[1];
	is(state_of("SET $parameter = '$value'"), '55P02', "no SET $parameter");
	is(state_of("ALTER DATABASE postgres SET $parameter = '$value'"),
		'55P02', "no ALTER DATABASE SET $parameter");
}
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE regress_wd_user LOGIN;
CREATE ROLE regress_wd_manager LOGIN;
GRANT ALTER SYSTEM ON PARAMETER wal_directio TO regress_wd_manager;
SQL
is( state_of(q{ALTER SYSTEM SET wal_directio = 'try'}, extra_params => [ '-U', 'regress_wd_user' ]),
	'42501',
	'ALTER SYSTEM needs a privilege');
is( state_of(
		q{ALTER SYSTEM SET wal_directio = 'try'},
		extra_params => [ '-U', 'regress_wd_manager' ]),
	'00000',
	'the privilege for ALTER SYSTEM can be granted');
$node->reload;
ok( $node->poll_query_until(
		'postgres', q{SELECT pending_restart FROM pg_settings WHERE name = 'wal_directio'}),
	'a restart is pending');
is($node->safe_psql('postgres', 'SHOW wal_directio'),
	'off', 'wal_directio does not change before the restart');
is(view('mode'), 'buffered', 'the view shows the mode before the restart');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET wal_directio');

# By default, the server behaves like a stock server.
my $log = restart();
unlike($log, qr/WAL is written|wal_write_unit|direct I\/O/, 'by default nothing is logged');
is(view('mode', 'fallback_reason', 'filesystem', 'write_unit', 'minimum_unit', 'cache_relief'),
	'buffered|||8192||f', 'by default the view shows the stock behaviour');
is(view('direct_writes', 'direct_bytes', 'direct_inits', 'relieved_segments'),
	'0|0|0|0', 'by default nothing is written directly');
is(view('buffered_bytes = 8192 * trunc(buffered_bytes / 8192)'),
	't', 'by default WAL is written in whole pages');

# Every user can read the view.  Only a superuser can install it.
my ($ret, $out, $err) = $node->psql(
	'postgres',
	'SELECT count(*), min(mode) FROM pg_stat_wal_direct',
	extra_params => [ '-U', 'regress_wd_user' ]);
is("$ret $out $err", '0 1|buffered ', 'an ordinary user sees the view');
is( $node->safe_psql(
		'postgres',
		q{SELECT has_table_privilege('regress_wd_user', 'pg_stat_wal_direct', 'SELECT') = has_table_privilege('regress_wd_user', 'pg_stat_wal', 'SELECT')
	AND has_function_privilege('regress_wd_user', 'pg_stat_get_wal_direct()', 'EXECUTE') = has_function_privilege('regress_wd_user', 'pg_stat_get_wal()', 'EXECUTE')}
	),
	't',
	'an ordinary user has the same privilege as on pg_stat_wal');
$node->safe_psql('postgres', 'CREATE DATABASE other OWNER regress_wd_user');
($ret, $out, $err) = $node->psql(
	'other',
	"\\set VERBOSITY sqlstate\nCREATE EXTENSION wal_directio",
	extra_params => [ '-U', 'regress_wd_user' ]);
like($err, qr/ERROR:  42501/, 'an ordinary user cannot install the extension');

# wal_cache_relief takes effect at the next reload.
for my $case ([ 'on', 't' ], [ 'off', 'f' ], [ 'auto', 'f' ])
{
	my ($value, $relief) = @$case;
	$node->safe_psql('postgres', "ALTER SYSTEM SET wal_cache_relief = $value");
	$node->reload;
	ok( $node->poll_query_until(
			'postgres', "SELECT current_setting('wal_cache_relief') = '$value'"),
		"wal_cache_relief $value after a reload");
	is(view('cache_relief'), $relief, "wal_cache_relief $value in the view");
}
$node->safe_psql('postgres', 'ALTER SYSTEM RESET wal_cache_relief');

# Try every unit, with writes through the page cache and, where possible, with direct writes.
# Commits of one session write whole units: the smaller the unit, the fewer bytes.
my $commits = 100;
my $session_start = view('stats_since');

# Return the number of bytes that small transactions write for each commit.
sub bytes_per_commit
{
	$node->safe_psql('postgres',
		'CREATE TABLE IF NOT EXISTS t (i int); CREATE TABLE IF NOT EXISTS seen (bytes numeric); DELETE FROM seen; CHECKPOINT; INSERT INTO t VALUES (0)'
	);
	wal_counters($node,
		'INSERT INTO seen SELECT direct_bytes + buffered_bytes FROM pg_stat_wal_direct');
	$node->safe_psql('postgres', join ";\n", map { "INSERT INTO t VALUES ($_)" } 1 .. $commits);
	return wal_counters($node,
		"SELECT round((direct_bytes + buffered_bytes - bytes) / $commits) FROM pg_stat_wal_direct, seen"
	);
}

$log = restart('wal_directio = try');
my $mode = view('mode');
my $minimum = view('minimum_unit') || 512;
note "pg_wal of this test: $mode, " . view('filesystem') . ', ' . view('fallback_reason');
my @modes = ('off', $mode eq 'direct' ? ('try', 'on') : 'try');
for my $directio (@modes)
{
	my %bytes;
	my $expected_mode = $directio eq 'off' ? 'buffered' : $mode;

	for my $setting ('8192', 'force_4096', 'force_512', 'auto')
	{
		my $name = "wal_directio $directio, wal_write_unit $setting";
		my $unit = $setting eq 'auto' ? 4096 : $setting =~ s/force_//r;
		my $asked = $unit;

		$unit = $minimum if $expected_mode eq 'direct' && $unit < $minimum;
		$log = restart("wal_directio = $directio", "wal_write_unit = $setting");
		is( view('mode', 'write_unit', 'cache_relief'),
			"$expected_mode|$unit|" . ($directio eq 'off' ? 'f' : 't'),
			"$name: mode and unit");
		is($node->safe_psql('postgres', 'SHOW wal_write_unit'),
			$setting, "$name: the parameter keeps its value");
		is( scalar(
				() =
				  $log =~
				  /LOG:  WAL is written with direct I\/O in units of $unit bytes\n.*DETAIL:  The file system of "pg_wal" is \S+\.\n/g
			),
			$expected_mode eq 'direct' ? 1 : 0,
			"$name: logged once");
		is( scalar(
				() =
				  $log =~
				  /LOG:  WAL is written through the page cache, because direct I\/O is not possible in "pg_wal"\n.*DETAIL:  \S/g
			),
			$directio ne 'off' && $mode eq 'buffered' ? 1 : 0,
			"$name: fallback logged once");
		is( scalar(() = $log =~ /LOG:  "wal_write_unit" is raised from $asked to $unit bytes\n/g),
			$unit == $asked ? 0 : 1,
			"$name: a raised unit is logged");
		$bytes{$setting} = bytes_per_commit();
		my ($direct, $buffered) = split /\|/, view('direct_writes', 'buffered_writes');
		ok(   $expected_mode eq 'direct'
			? $direct > $commits && $buffered == 0
			: $buffered > $commits && $direct == 0,
			"$name: writes ($direct, $buffered)");
		is(view("direct_bytes % $unit + buffered_bytes % $unit"), '0', "$name: units");
	}
	note "$directio, bytes a commit: @bytes{'8192', 'force_4096', 'force_512', 'auto'}";
	cmp_ok($bytes{8192}, '>=', 8192, "wal_directio $directio: a commit writes a page");
	cmp_ok(
		$bytes{force_4096}, '<',
		0.75 * $bytes{8192},
		"wal_directio $directio: a commit with a unit of 4096 writes about half");
	cmp_ok(
		$bytes{auto}, '<',
		0.75 * $bytes{8192},
		"wal_directio $directio: a commit with auto writes about half");
	cmp_ok(
		$bytes{force_512}, '<',
		0.3 * $bytes{8192},
		"wal_directio $directio: a commit with a unit of 512 writes less still"
	) if $expected_mode eq 'buffered' || $minimum == 512;
}

# The sector size of the device overrides the setting, unless the setting begins with "force_".  The
# server then writes no part of a physical sector.  A case has the sector size, the setting, the
# unit in use, and the text of the warning.
{
	my $library = build_library('record.c');
	my $known = 'The device of "pg_wal" has physical sectors of %d bytes\.';
	for my $case (
		[ 512, '512', 512 ],
		[ 512, 'auto', 4096 ],
		[ 512, '8192', 8192 ],
		[ 4096, '512', 4096, sprintf $known, 4096 ],
		[ 4096, '4096', 4096 ],
		[ 4096, 'auto', 4096 ],
		[ 4096, 'force_512', 512 ],
		[ 4096, '8192', 8192 ],
		[ 1024, '512', 1024, sprintf $known, 1024 ],
		[ 8192, '4096', 8192, sprintf $known, 8192 ],
		[ 8192, 'auto', 8192 ],
		[ 16384, '512', 8192, sprintf $known, 16384 ],
		[ 16384, 'auto', 8192 ],
		[ 16384, 'force_4096', 4096 ],
		[ 520, '512', 8192, sprintf $known, 520 ],
		[
			'none',
			'512',
			4096,
			'The size of the physical sectors of the device of "pg_wal" is not known, 4096 bytes are assumed\.'
		],
		[ 'none', 'auto', 4096 ],
		[ 'none', 'force_512', 512 ],
		[
			0,
			'512',
			4096,
			'The size of the physical sectors of the device of "pg_wal" is not known, 4096 bytes are assumed\\.'
		],
		[
			'x',
			'512',
			4096,
			'The size of the physical sectors of the device of "pg_wal" is not known, 4096 bytes are assumed\\.'
		])
	{
		my ($sector, $setting, $unit, $says) = @$case;
		local $ENV{LD_PRELOAD} = $library;
		local $ENV{PGDENSE_WAL_SECTOR} = $sector;
		$log = restart('wal_directio = off', "wal_write_unit = $setting");

		is(view('write_unit'), $unit, "sectors of $sector, wal_write_unit $setting: unit");
		my @warnings =
		  $log =~ /WARNING:  ("wal_write_unit" is raised from .*\n.*DETAIL:  .*\n.*HINT:  .*)/g;
		is( scalar(@warnings),
			defined $says ? 1 : 0,
			"sectors of $sector, wal_write_unit $setting: warnings") or diag $log;
		like(
			$warnings[0],
			qr/from $setting to $unit bytes\n.*$says .*\n.*"force_$setting"\.$/,
			'the warning names the reason') if defined $says;
	}
	if ($mode eq 'direct')
	{
		local $ENV{LD_PRELOAD} = $library;
		local $ENV{PGDENSE_WAL_SECTOR} = 4096;
		$log = restart('wal_directio = on', 'wal_write_unit = 512');
		is(view('mode', 'write_unit'),
			'direct|4096', 'sectors of the device raise the unit with direct I/O, too');
		like(
			$log,
			qr/WARNING:  "wal_write_unit" is raised from 512 to 4096 bytes/,
			'the raised unit is a warning with direct I/O, too');
	}
}

# New segments are counted by the way in which they were filled with zeros.
my $column = $mode eq 'direct' ? 'direct_inits' : 'buffered_inits';
my $inits = view($column);
$node->safe_psql('postgres',
	'SELECT pg_logical_emit_message(true, $$$$, $$x$$); SELECT pg_switch_wal()')
  for 1 .. 3;
cmp_ok(view($column), '>', $inits, "$column counts new segments");

# Counters and their start time are reset at each start, also after a crash.
my $since = view('stats_since');
cmp_ok($since, 'gt', $session_start, 'stats_since is the last start')
  or diag "$since, $session_start";
is( $node->safe_psql(
		'postgres',
		'SELECT abs(extract(epoch FROM stats_since - pg_postmaster_start_time())) < 60 FROM pg_stat_wal_direct'
	),
	't',
	'stats_since is near the start of the server');
bytes_per_commit();
my $before = view('direct_writes + buffered_writes');
restart("wal_directio = $modes[-1]", 'wal_write_unit = force_512', 'restart_after_crash = on');
cmp_ok(view('direct_writes + buffered_writes'), '<', $before, 'counters are reset at a start');
cmp_ok(view('stats_since'), 'gt', $since, 'stats_since changes at a start');
$since = view('stats_since');
bytes_per_commit();
my $offset = -s $node->logfile;
my $pid = $node->safe_psql('postgres',
	q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'});
kill 'KILL', $pid;
# psql may end before it reads a query while the server does not accept connections, and then writing
# the query fails.
ok($node->wait_for_log(qr/database system is ready to accept connections/, $offset),
	'the server restarts after a crash');
ok($node->poll_query_until('postgres', "SELECT stats_since > '$since' FROM pg_stat_wal_direct"),
	'stats_since changes after a crash');
is(view('mode', 'write_unit < 8192'), "$mode|t", 'mode and unit are the same after a crash');
is( scalar(
		() =
		  substr(slurp_file($node->logfile), $offset) =~ /LOG:  WAL is written (?:with|through)/g),
	1,
	'the mode is logged again after a crash');
is($node->safe_psql('postgres', 'SELECT max(i) FROM t'),
	$commits, 'all rows are there after a crash');

# A standby has the view.  Its counters stay at zero.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->safe_psql('postgres', 'INSERT INTO t VALUES (1000)');
$node->wait_for_catchup($standby);
is( wal_counters(
		$standby,
		'SELECT mode, direct_writes, buffered_writes, direct_inits FROM pg_stat_wal_direct'),
	"$mode|0|0|0",
	'the counters of a standby are zero');
$standby->promote;
$standby->safe_psql('postgres', 'INSERT INTO t VALUES (1001)');
is( wal_counters(
		$standby, 'SELECT mode, direct_writes > 0, buffered_writes > 0 FROM pg_stat_wal_direct'),
	$mode eq 'direct' ? 'direct|t|f' : 'buffered|f|t',
	'the view after promotion');
$standby->stop;

# a stand-alone backend
$node->stop;
my $stdin =
  "SELECT mode || '/' || write_unit FROM pg_stat_wal_direct\nINSERT INTO t VALUES (2000)\n";
my $result = run_log([ 'postgres', '--single', '-D', $data, 'postgres' ],
	'<', \$stdin, '>', \$out, '2>', \$err);
ok($result, 'a stand-alone backend');
like($out, qr/"$mode\/(?:512|$minimum|4096)"/, 'a stand-alone backend has the same mode');
$node->start;
is($node->safe_psql('postgres', 'SELECT max(i) FROM t'),
	'2000', 'a stand-alone backend has written its rows');

# A dump has the CREATE EXTENSION command, and no objects of the extension.
my $dump = "$PostgreSQL::Test::Utils::tmp_check/wal_directio.sql";
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ], 'pg_dump');
is( scalar(
		() =
		  slurp_file($dump) =~ /^CREATE EXTENSION IF NOT EXISTS wal_directio WITH SCHEMA public;$/mg
	),
	1,
	'the dump creates the extension');
unlike(
	slurp_file($dump),
	qr/CREATE (?:VIEW|FUNCTION)|GRANT SELECT|pg_stat_wal_direct/,
	'the dump has no objects of the extension');
$node->stop;

done_testing();
