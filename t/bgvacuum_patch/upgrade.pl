# Check that bgvacuum_patch leaves nothing on disk that a stock server does not know.
#
# - Stock and patched servers take turns on one data directory, some after a crash of the other.
# - pg_upgrade goes from a stock server to a patched one, and back.
# - Base backups, pg_verifybackup and data checksums are right while bgwriter prunes all that it
#   can.
use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";

use PgDense::Bgvacuum;
use PgDense::Crash;
use PgDense::IndexAlign qw(stock_path hand_over);
use PgDense::Patch;
use PgDense::Upgrade;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

needs_patch('bgvacuum_patch', 'bgvacuum');

my $stock_path = stock_path();
my $tmp = $PostgreSQL::Test::Utils::tmp_check;
my ($bindir) = `pg_config --bindir` =~ /(.*)/;
my $seconds = $ENV{PGDENSE_SOAK} ? 60 : 4;
my $parameters = qr/^(?:bgvacuum|debug_bgvacuum) .*\n/m;

# The two rows of each pair of "a" have the sum 0 after each transaction.  "log" has a row for each
# transaction.
my $tables = <<'SQL';
CREATE TABLE a (i int PRIMARY KEY, n int NOT NULL, v text DEFAULT repeat('a', 50)) WITH (fillfactor = 60);
INSERT INTO a SELECT i, 0 FROM generate_series(1, 2000) i;
CREATE TABLE log (id bigserial PRIMARY KEY, i int);
CREATE TABLE t (id serial PRIMARY KEY, k int, v text);
CREATE INDEX ON t (k);
SQL
my $script = "$tmp/bgvacuum_load.sql";
append_to_file($script, <<'SQL');
\set i random(1, 1000)
\set k random(1, 300)
BEGIN;
UPDATE a SET n = n + 1 WHERE i = :i;
UPDATE a SET n = n - 1 WHERE i = 2001 - :i;
INSERT INTO log (i) VALUES (:i);
COMMIT;
INSERT INTO t (k, v) SELECT :k, repeat('t', :k) FROM generate_series(1, 3);
UPDATE t SET k = :k + 1 WHERE k = :k AND id % 2 = 0;
DELETE FROM t WHERE k = :k + 1 OR k = :k - 1;
SQL

sub start_load
{
	my ($node) = @_;

	return IPC::Run::start(
		[
			'pgbench', '-n', '-c', 3, '-T', 3600, '--max-tries', 1000, '-f', $script, '-d',
			$node->connstr('app')
		],
		'<',
		\undef,
		'>',
		\my $out,
		'2>',
		\my $err);
}

sub check_rows_of
{
	my ($node, $name) = @_;

	is( $node->safe_psql(
			'app',
			q{SELECT count(*), sum(n), sum(n) FILTER (WHERE i <= 1000) - (SELECT count(*) FROM log) FROM a}
		),
		'2000|0|0',
		"$name: all committed rows are there, and no others");
	is( $node->safe_psql(
			'app', 'SET enable_seqscan = off; SELECT count(*), sum(n) FROM a WHERE i > 0'),
		'2000|0',
		"$name: an index finds the same rows");
	check_heaps($node, $name, 'app');
	check_indexes($node, $name, 'app');
	return;
}

sub digest
{
	my ($node) = @_;

	return join ' ', map {
		$node->safe_psql('app',
			"SELECT '$_', count(*), md5(string_agg(x::text, ',' ORDER BY x::text)) FROM $_ x")
	} qw(a log t);
}

# Check the log, but allow messages of a server that was killed or stopped while clients were at
# work.
sub clean_log
{
	my ($node, $name) = @_;
	my @lines =
	  grep { !/invalid record length at .* got 0$|exited with exit code 1$/ } bad_log_lines($node);

	is(join("\n", @lines), '', "$name: nothing bad in the log");
	return;
}

# Check that the cluster was shut down, and that its last record is the shutdown checkpoint.
sub check_shutdown
{
	my ($node, $name) = @_;
	my $control = `pg_controldata '@{[ $node->data_dir ]}'`;
	my ($checkpoint) = $control =~ m{^Latest checkpoint location: +(\S+)}m;

	like($control, qr/^Database cluster state: +shut down$/m, "$name: the cluster was shut down");
	my @records = grep { /^rmgr/ }
	  `pg_waldump -p '@{[ $node->data_dir ]}/pg_wal' -s '$checkpoint' 2> /dev/null`;
	is(scalar(@records), 1, "$name: no record follows the last checkpoint");
	return;
}

# Stock and patched servers take turns on one data directory, with data checksums.
my $node = init_cluster('turn0',
	settings => bgvacuum_conf('4MB') . "autovacuum = off\nwal_consistency_checking = 'heap2'\n");
for my $turn (0 .. 5)
{
	my $patched = $turn % 2 == 0;
	my $name = ($patched ? 'patched' : 'stock') . ", turn $turn";

	if ($turn > 0)
	{
		$node = hand_over($node, "turn$turn", $patched ? undef : $stock_path, 1);
		if ($turn == 1)
		{
			is($node->start(fail_ok => 1),
				0, "$name: the server does not start with the parameters");
			like(
				slurp_file($node->logfile),
				qr/unrecognized configuration parameter "(?:debug_)?bgvacuum" in file/,
				"$name: the log names the unknown parameter");
		}
		my $conf = $node->data_dir . '/postgresql.conf';
		my $text = slurp_file($conf) =~ s/$parameters//gr;
		unlink $conf;
		append_to_file($conf,
			$text . (!$patched ? '' : join '', bgvacuum_conf() =~ /($parameters)/g));
	}
	$node->start;
	if ($turn == 0)
	{
		$node->safe_psql('postgres', 'CREATE DATABASE app');
		$node->safe_psql('app',
			"CREATE EXTENSION bgvacuum; CREATE EXTENSION amcheck; CREATE EXTENSION pg_visibility; $tables"
		);
		$node->safe_psql('postgres', 'CREATE EXTENSION bgvacuum');
	}
	check_rows_of($node, $name);
	my $load = start_load($node);
	if ($patched)
	{
		ok(wait_for_prunes($node, 50 * $seconds, { pages_pruned => 0 }), "$name: bgwriter prunes");
	}
	else
	{
		sleep $seconds / 2;
	}
	# Turns 1 to 3 end by a crash, and the other turns by a shutdown.  Clients are at work at the
	# end of each turn.
	if ($turn == 0 || $turn > 3)
	{
		$node->stop('fast');
		$load->finish;
		check_shutdown($node, $name);
		command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ],
			"$name: checksums are right");
	}
	else
	{
		kill_all($node);
		$load->finish;
	}
	clean_log($node, $name);
}

# Run pg_upgrade from a stock server to a patched one, and back to a stock server.
my $old = hand_over($node, 'old', $stock_path, 1);
my $conf = slurp_file($old->data_dir . '/postgresql.conf') =~ s/$parameters//gr;
unlink $old->data_dir . '/postgresql.conf';
append_to_file($old->data_dir . '/postgresql.conf', $conf);
$old->start;
$old->safe_psql($_, 'DROP EXTENSION bgvacuum') for 'app', 'postgres';
my $before = digest($old);
$old->stop;
my $new = init_cluster('new',
	settings => bgvacuum_conf('4MB') . "wal_level = replica\nmax_wal_senders = 5\n");
command_ok(pg_upgrade_command($bindir, $old, "$stock_path/bin", $new, $bindir),
	'pg_upgrade from a stock server succeeds');
$new->start;
is(digest($new), $before, 'pg_upgrade from a stock server: all rows are the same');
$new->safe_psql('app', 'CREATE EXTENSION bgvacuum');
$new->safe_psql('postgres', 'CREATE EXTENSION bgvacuum');

# Make base backups beside clients that write.  One backup is so slow that most of its pages change
# while it runs.
my $load = start_load($new);
for my $options (['--checkpoint=fast'], [ '--checkpoint=spread', '--max-rate=4M' ])
{
	my $name = "backup with @$options";
	my $number = ++$new->{backups};
	my $dir = $new->backup_dir . "/backup$number";
	my $stats = bgvacuum_stats($new);

	mkdir $new->backup_dir;
	$new->safe_psql('postgres',
		"ALTER SYSTEM SET checkpoint_timeout = '30s'; ALTER SYSTEM SET checkpoint_completion_target = 0.1; SELECT pg_reload_conf()"
	);
	command_ok(
		[
			'pg_basebackup', '-D', $dir, '-d', $new->connstr, '--no-sync', '-X', 'stream',
			@$options
		],
		$name);
	cmp_ok(
		bgvacuum_stats($new)->{pages_pruned},
		'>',
		$stats->{pages_pruned},
		"$name: bgwriter has pruned meanwhile");
	command_ok([ 'pg_verifybackup', $dir ], "$name: pg_verifybackup succeeds");
	my $restored = PostgreSQL::Test::Cluster->new("restored$number",
		$number == 2 ? (install_path => $stock_path) : ());
	$restored->init_from_backup($new, "backup$number");

	if ($number == 2)
	{
		my $file = $restored->data_dir . '/postgresql.conf';
		my $text = slurp_file($file) =~ s/$parameters//gr;

		unlink $file;
		append_to_file($file, $text);
	}
	$restored->start;
	check_rows_of($restored, "$name, restored");
	$restored->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $restored->data_dir ],
		"$name, restored: checksums are right");
	clean_log($restored, "$name, restored");
}
$new->stop('fast');
$load->finish;
check_shutdown($new, 'after the backups');
command_ok([ 'pg_checksums', '--check', '-D', $new->data_dir ],
	'after the backups: checksums are right');
$new->start;
check_rows_of($new, 'after the backups');
$new->safe_psql($_, 'DROP EXTENSION bgvacuum') for 'app', 'postgres';
$before = digest($new);
$new->stop;
clean_log($new, 'after the backups');

my $last = init_cluster('last', install_path => $stock_path);
command_ok(pg_upgrade_command($bindir, $new, $bindir, $last, "$stock_path/bin"),
	'pg_upgrade to a stock server succeeds');
$last->start;
is(digest($last), $before, 'pg_upgrade to a stock server: all rows are the same');
check_rows_of($last, 'pg_upgrade to a stock server');
$last->stop;

done_testing();
