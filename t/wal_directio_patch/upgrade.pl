# Check that wal_directio_patch leaves nothing on disk that a stock server does not know.  Run
# pg_upgrade from a stock server, and to stock servers of the same and of the next major release,
# with pg_wal as a symbolic link.  Then let a stock and a patched server take turns on one data
# directory.  Each of them starts after a crash of the other.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use IPC::Run;
use PgDense::Crash;
use PgDense::IndexAlign qw(stock_path hand_over);
use PgDense::Patch;
use PgDense::Upgrade;
use PgDense::Wal qw(wal_counters);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('wal_directio_patch', 'wal_directio');
my $stock_path = stock_path();
my ($major) = `pg_config --version` =~ /(\d+)/;
my ($bindir) = `pg_config --bindir` =~ /(.*)/;
my $next_path = $stock_path =~ s{/\d+/stock$}{'/' . ($major + 1) . '/stock'}er;
my $tmp = $PostgreSQL::Test::Utils::tmp_check;

my $switches = "wal_directio = try\nwal_write_unit = force_512\nwal_cache_relief = on\n";

# a cluster whose pg_wal is a symbolic link
sub linked_cluster
{
	my ($name, %options) = @_;
	my $node = init_cluster($name, %options);
	my $wal = "$tmp/wal_of_$name";

	system_or_bail('mv', $node->data_dir . '/pg_wal', $wal);
	symlink $wal, $node->data_dir . '/pg_wal' or die "could not create a symbolic link: $!";
	return $node;
}

# a digest of all rows
sub contents
{
	my ($node) = @_;
	return $node->safe_psql('app',
		q{SELECT count(*), md5(string_agg(t::text, ',' ORDER BY i)) FROM t});
}

sub add_rows
{
	my ($node, $rows) = @_;
	$node->safe_psql('app',
		"INSERT INTO t SELECT m + i, md5(i::text) FROM generate_series(1, $rows) i, (SELECT coalesce(max(i), 0) AS m FROM t) s"
	);
	return;
}

# From a stock server
my $old = linked_cluster('old', install_path => $stock_path);
$old->start;
$old->safe_psql('postgres', 'CREATE DATABASE app');
$old->safe_psql('app', 'CREATE TABLE t (i int PRIMARY KEY, v text)');
add_rows($old, 10000);
my $before = contents($old);
$old->stop;
my $dense = linked_cluster('dense', settings => $switches);
command_ok(pg_upgrade_command($bindir, $old, "$stock_path/bin", $dense, $bindir),
	'pg_upgrade from a stock server');
$dense->start;
like(
	slurp_file($dense->logfile),
	qr/WAL is written (?:with direct I\/O in units of|through the page cache, because)/,
	'the upgraded server logs the mode of WAL');
is(contents($dense), $before, 'same rows');
add_rows($dense, 10000);
$dense->safe_psql('app', 'CREATE EXTENSION wal_directio; SELECT pg_switch_wal()');
is( wal_counters(
		$dense,
		'SELECT direct_writes + buffered_writes > 0 FROM pg_stat_wal_direct',
		database => 'app'),
	't',
	'the upgraded server writes WAL');
$before = contents($dense);
$dense->stop;

# To a stock server of the same release, and to a stock server of the next release,
# which does not have the library
for my $path ($stock_path, $next_path)
{
	if (!-x "$path/bin/pg_upgrade")
	{
		note "no server at $path";
		next;
	}
	my $to = $path eq $stock_path ? $major : $major + 1;
	my $new = linked_cluster("stock$to", install_path => $path);
	my $upgrade_bindir = $to == $major ? $bindir : "$path/bin";

	if ($to == $major)
	{
		command_checks_all(
			pg_upgrade_command($upgrade_bindir, $dense, $bindir, $new, "$path/bin", '--check'),
			1,
			[qr/^Your installation references loadable libraries that are missing from the$/m],
			[qr/^$/],
			"stock $to: the installed extension blocks the upgrade");
		system_or_bail('rm', '-rf', $new->data_dir . '/pg_upgrade_output.d');
		$dense->start;
		$dense->safe_psql('app', 'DROP EXTENSION wal_directio');
		$dense->stop;
	}
	command_ok(pg_upgrade_command($upgrade_bindir, $dense, $bindir, $new, "$path/bin"),
		"pg_upgrade to stock $to");
	$new->start;
	is(contents($new), $before, "stock $to: same rows");
	add_rows($new, 1000);
	ok(-l $new->data_dir . '/pg_wal', "stock $to: pg_wal is a symbolic link");
	$new->stop;
}

# The servers take turns on one data directory.  Each server adds rows, with one commit for each
# row, and is killed under another load.  All committed rows must be there.
my $switched = qr/^wal_(?:directio|write_unit|cache_relief) = .*\n/m;
my $script = "$tmp/wal_directio_load.sql";
append_to_file($script, "INSERT INTO load (v) VALUES (repeat('x', (random() * 3000)::int))\n");
my $node = linked_cluster('turn0', settings => $switches);
my $acknowledged = 0;
my $turns = 4;
for my $turn (0 .. $turns)
{
	my $patched = $turn % 2 == 0;
	my $name = ($patched ? 'patched' : 'stock') . ", turn $turn";

	if ($turn > 0)
	{
		$node = hand_over($node, "turn$turn", $patched ? undef : $stock_path, 1);
		if ($turn == 1)
		{
			is($node->start(fail_ok => 1),
				0, "$name: the stock server does not start with the settings");
			like(
				slurp_file($node->logfile),
				qr/unrecognized configuration parameter "wal_directio" in file/,
				"$name: the stock server names the unknown setting");
		}
		my $conf = $node->data_dir . '/postgresql.conf';
		my $text = slurp_file($conf) =~ s/$switched//gr;
		unlink $conf;
		append_to_file($conf,
			$text . (!$patched ? '' : $turn % 4 == 2 ? $switches =~ s/512/4096/r : $switches));
	}
	$node->start;
	if ($turn == 0)
	{
		$node->safe_psql('postgres', 'CREATE DATABASE app');
		$node->safe_psql('app',
			'CREATE TABLE t (i int PRIMARY KEY, v text); CREATE TABLE load (id bigserial PRIMARY KEY, v text)'
		);
	}
	like(
		slurp_file($node->logfile),
		$turn == 0 || $turn == $turns
		? qr/database system was shut down at/
		: qr/database system was not properly shut down/,
		"$name: the server starts after a crash of the other one");
	is($node->safe_psql('app', 'SELECT count(*) FROM t'),
		$acknowledged, "$name: no acknowledged row is lost");
	$node->safe_psql('app',
		'SET enable_seqscan = off; SELECT count(*), sum(length(v)) FROM load WHERE id > 0');

	my $load = IPC::Run::start(
		[ 'pgbench', '-n', '-c', 4, '-T', 60, '-f', $script, '-d', $node->connstr('app') ],
		'>', \my $out, '2>', \my $err);
	$node->safe_psql(
		'app',
		join ";\n",
		map { "INSERT INTO t VALUES ($_, 'turn $turn')" } $acknowledged + 1 .. $acknowledged + 100);
	$acknowledged += 100;
	$node->safe_psql('app', 'CHECKPOINT; SELECT pg_switch_wal()') if $turn == 2 || $turn == 3;
	$node->safe_psql(
		'app',
		join ";\n",
		map { "INSERT INTO t VALUES ($_, 'turn $turn')" } $acknowledged + 1 .. $acknowledged + 100);
	$acknowledged += 100;

	if ($turn < $turns - 1)
	{
		kill_all($node);
	}
	else
	{
		# The last stock server and the patched server after it shut down cleanly.
		$node->stop('fast');
	}
	$load->finish;
	unlike(
		slurp_file($node->logfile),
		qr/PANIC|invalid page|could not (?:read|write) file/,
		"$name: nothing unexpected in the log");
}

done_testing();
