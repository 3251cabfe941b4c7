# Test tables of toast_policy on a standby, before and after promotion.  Test these tables as source
# and as target of logical replication, also with values that an update did not change.  Test a
# crash of the server during COPY, UPDATE and recompress().  No committed value may be lost or
# changed.
use strict;
use warnings FATAL => 'all';

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my ($major) = `pg_config --version` =~ /(\d+)/;
my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 'logical', extra => [ '--encoding=UTF8', '--locale=C' ]);
# Let replay compare each page with an image of the primary's page.
$primary->append_conf('postgresql.conf', <<'CONF');
fsync = off
wal_consistency_checking = 'heap, heap2, btree'
logical_decoding_work_mem = 64kB
autovacuum_naptime = 1s
CONF
# Releases before 17 share statistics only if the library is preloaded.
$primary->append_conf('postgresql.conf', "shared_preload_libraries = 'toast_policy'")
  if $major < 17;
$primary->start;
$primary->safe_psql('postgres', <<'SQL');
CREATE EXTENSION toast_policy;
CREATE EXTENSION amcheck;
CREATE FUNCTION sample(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
SELECT CASE i % 5 WHEN 0 THEN 'short ' || i WHEN 1 THEN repeat('many ' || i, 3000)
  WHEN 2 THEN left(string_agg(md5(i || '-' || j), ''), 10000)
  WHEN 3 THEN left(string_agg(md5(i || '-' || j), ''), 10000) || repeat('tail ', 2000) END FROM generate_series(1, 320) j $$;
SQL
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my $stored =
  q{SELECT count(*), md5(string_agg(concat_ws(' ', id, md5(doc), pg_column_size(doc), pg_column_compression(doc)), ',' ORDER BY id)) FROM @};

sub catch_up
{
	my ($what) = @_;
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	for my $table (@_[ 1 .. $#_ ])
	{
		my $query = $stored =~ s/\@/$table/r;
		is( $standby->safe_psql('postgres', $query),
			$primary->safe_psql('postgres', $query),
			"standby: $what, $table");
	}
}

$primary->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id int PRIMARY KEY, n int DEFAULT 0, doc text);
INSERT INTO t SELECT i, 0, sample(i) FROM generate_series(1, 100) i;
SELECT toast_policy.enable('t');
INSERT INTO t SELECT i, 0, sample(i) FROM generate_series(101, 200) i;
CREATE INDEX t_doc ON t (md5(doc));
SQL
catch_up('rows', 't');
$primary->safe_psql('postgres', <<'SQL');
UPDATE t SET doc = sample(id + 1) WHERE id % 3 = 0;
UPDATE t SET n = n + 1;
DELETE FROM t WHERE id % 10 = 0;
INSERT INTO t SELECT i, 0, sample(i) FROM generate_series(1, 20) i ON CONFLICT (id) DO UPDATE SET doc = t.doc || excluded.doc;
BEGIN;
UPDATE t SET doc = repeat('rolled back', 10000);
SELECT toast_policy.recompress('t');
ROLLBACK;
SQL
catch_up('changes', 't');
$primary->safe_psql('postgres',
	q{SELECT toast_policy.recompress('t'); CREATE TABLE u (LIKE t) USING toast_policy; ALTER TABLE u ALTER doc SET STORAGE EXTERNAL; INSERT INTO u TABLE t; VACUUM FULL t;}
);
catch_up('recompressed', 't', 'u');
is( $standby->safe_psql(
		'postgres',
		q{SET enable_seqscan = off; SELECT count(*) > 0 FROM t WHERE md5(doc) = md5(sample(103))}),
	't',
	'standby: an index finds rows');
my ($ret, $out, $err) = $standby->psql('postgres', q{SELECT toast_policy.recompress('t')});
like($err, qr/read-only transaction/, 'standby: recompress() is refused');
($ret, $out, $err) = $standby->psql('postgres', q{SELECT toast_policy.enable('t')});
like($err, qr/read-only transaction/, 'standby: enable() is refused');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM toast_policy.stats'),
	'0', 'standby: statistics are empty');
ok( $standby->safe_psql(
		'postgres',
		q{SELECT bt_index_check('t_pkey', true) IS NOT NULL, bt_index_check('t_doc', true) IS NOT NULL}
	),
	'standby: indexes');
ok(slurp_file($standby->logfile) !~ /FATAL|PANIC|inconsistent page/,
	'standby: replayed pages match the primary');

#
# Logical replication, from tables of toast_policy to heap tables and the other way
# round
#
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$subscriber->append_conf('postgresql.conf', "fsync = off\n");
$subscriber->start;
$subscriber->safe_psql('postgres', 'CREATE EXTENSION toast_policy');
my %tables = (l_policy => 1, l_heap => 0, full_policy => 1, full_heap => 0);
for my $table (sort keys %tables)
{
	my $key = $table =~ /^full/ ? '' : 'PRIMARY KEY';
	my $create = "CREATE TABLE $table (id int $key, n int, doc text, more text);";
	my $enable = "SELECT toast_policy.enable('$table', 'doc', 'more');";
	my $full = $key ? '' : "ALTER TABLE $table REPLICA IDENTITY FULL;";

	$primary->safe_psql('postgres', $create . ($tables{$table} ? $enable : '') . $full . <<"SQL");
INSERT INTO $table SELECT i, 0, sample(i), sample(i + 1) FROM generate_series(1, 50) i;
SQL
	$subscriber->safe_psql('postgres', $create . ($tables{$table} ? '' : $enable) . $full);
}
my $list = join ', ', sort keys %tables;
my $connstr = $primary->connstr . ' dbname=postgres';
$primary->safe_psql('postgres', "CREATE PUBLICATION pub FOR TABLE $list");
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION sub CONNECTION '$connstr' PUBLICATION pub WITH (streaming = on)");
$subscriber->wait_for_subscription_sync($primary, 'sub');

sub compare
{
	my ($what) = @_;
	$primary->wait_for_catchup('sub');
	for my $table (sort keys %tables)
	{
		my $query = "SELECT count(*), md5(string_agg(x::text, ',' ORDER BY id)) FROM $table x";
		is( $subscriber->safe_psql('postgres', $query),
			$primary->safe_psql('postgres', $query),
			"logical: $what, $table");
	}
}
compare('first copy');
for my $table (sort keys %tables)
{
	$primary->safe_psql('postgres', <<"SQL");
UPDATE $table SET n = n + 1;
UPDATE $table SET doc = sample(id + 2) WHERE id % 4 = 0;
UPDATE $table SET more = doc WHERE id % 5 = 0;
DELETE FROM $table WHERE id % 7 = 0;
BEGIN;
INSERT INTO $table SELECT i, 1, sample(i), sample(i + 1) FROM generate_series(51, 120) i;
SAVEPOINT a;
UPDATE $table SET doc = 'no';
ROLLBACK TO a;
UPDATE $table SET n = n + 1 WHERE id > 40;
COMMIT;
UPDATE $table SET id = -id WHERE id % 6 = 0;
SQL
}
compare('changes');
$primary->safe_psql('postgres',
	"SELECT toast_policy.recompress('$_'); UPDATE $_ SET n = n + 1; UPDATE $_ SET doc = doc || 'x' WHERE id % 2 = 0"
) for grep { $tables{$_} } sort keys %tables;
compare('after recompress()');
is( $subscriber->safe_psql(
		'postgres',
		q{SELECT count(*) FILTER (WHERE pg_column_compression(doc) = 'pglz') > 0, count(*) FILTER (WHERE pg_column_size(doc) > 5000 AND pg_column_compression(doc) IS NULL) > 0 FROM l_heap}
	),
	't|t',
	'logical: the subscriber applies the policy');
unlike(slurp_file($subscriber->logfile), qr/ERROR/, 'logical: no error on the subscriber');
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION sub');
$subscriber->stop;

#
# Promotion
#
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
$standby->promote;
$standby->safe_psql('postgres', <<'SQL');
INSERT INTO t SELECT i, 0, sample(i) FROM generate_series(1001, 1020) i;
UPDATE t SET doc = sample(id + 1) WHERE id <= 50;
SQL
is($standby->safe_psql('postgres', <<'SQL'), "t|t\nt", 'promoted: writes follow the policy');
SELECT bool_or(pg_column_compression(doc) = 'pglz') , bool_or(pg_column_size(doc) > 5000 AND pg_column_compression(doc) IS NULL) FROM t WHERE id > 1000;
SELECT compressed > 0 AND kept_raw + aborted > 0 FROM toast_policy.stats WHERE relname = 't';
SQL
$standby->safe_psql('postgres', q{SELECT toast_policy.recompress('t')});
is( $standby->safe_psql(
		'postgres',
		q{SELECT count(*), bool_and(doc IS NOT DISTINCT FROM sample(id)) FROM t WHERE id > 1000}),
	'20|t',
	'promoted: recompress()');
$standby->stop;

#
# Crash
#
$primary->safe_psql('postgres', <<'SQL');
CREATE TABLE c (id int PRIMARY KEY, version int NOT NULL, doc text);
SELECT toast_policy.enable('c');
CREATE INDEX c_doc ON c (md5(doc));
INSERT INTO c SELECT -i, 0, sample(i) FROM generate_series(1, 200) i;
SQL
# The id and the version of a row determine its doc.  After each commit that succeeds, a client
# prints the rows.
my $value = 'sample(abs(id) + version)';
my %scripts = (
	insert => join(
		'',
		map {
			my $from = $_ * 10;
			my $to = $from + 9;
			"INSERT INTO c SELECT id, 0, sample(id) FROM generate_series($from, $to) id;\n\\echo $from $to 0\n"
		} 1 .. 3000),
	copy => join(
		'',
		map {
			my $from = 100000 + $_ * 5;
			my $lines = join '', map {
				my $id = $from + $_;
				"$id\t0\t"
				  . ($id % 5 == 0 ? "short $id" : $id % 5 == 1 ? "many $id" x 3000 : '\N') . "\n"
			} 0, 1, 4;
			"COPY c FROM STDIN;\n$lines\\.\n\\echo $from $from 0\n"
		} 1 .. 2000),
	update => join(
		'',
		map {
			my $v = $_;
			map {
				"UPDATE c SET version = $v, doc = sample(abs(id) + $v) WHERE id = -$_;\n\\echo -$_ -$_ $v\n"
			} 1 .. 100
		} 1 .. 100),
	touch => join(
		'',
		map {
			"BEGIN; UPDATE c SET version = version + 5 WHERE id = -(100 + $_ % 100) AND false; UPDATE c SET doc = 'never' WHERE id < -150; ROLLBACK;\n"
		} 1 .. 5000),
	recompress => "SELECT toast_policy.recompress('c');\nSELECT pg_sleep(0.05);\n" x 1000);

for my $round (1 .. ($ENV{PGDENSE_SOAK} ? 10 : $major >= 17 ? 3 : 1))
{
	my (%logs, @clients);

	$primary->safe_psql('postgres',
		'DELETE FROM c WHERE id > 0; UPDATE c SET version = 0, doc = sample(-id)');
	for my $name (sort keys %scripts)
	{
		my $file = "${PostgreSQL::Test::Utils::tmp_check}/crash_$name.sql";

		PostgreSQL::Test::Utils::append_to_file($file, $scripts{$name}) if !-e $file;
		push @clients,
		  IPC::Run::start(
			[
				'psql', '-X', '-q', '-At', '-v', 'ON_ERROR_STOP=1', '-f', $file,
				$primary->connstr('postgres')
			],
			'<',
			\undef,
			'>',
			\$logs{$name},
			'2>',
			\$logs{"$name.err"});
	}
	usleep(1_500_000 + 700_000 * $round);
	$primary->kill9;
	$_->finish for @clients;

	# The server can start only after the children of the dead postmaster have noticed its death and
	# ended.
	my $started = 0;
	for (1 .. 100)
	{
		last if $started = $primary->start(fail_ok => 1);
		# The pid file may still be that of the dead server.
		$primary->{_pid} = undef;
		usleep(200_000);
	}
	ok($started, "crash $round: the server recovers") or BAIL_OUT('server does not start');

	my %version;
	for my $line (map { split /\n/ } @logs{ 'insert', 'copy', 'update' })
	{
		my ($from, $to, $version) = $line =~ /^(-?\d+) (-?\d+) (\d+)$/ or next;
		$version{$_} = $version for $from .. $to;
	}
	my %rows = map { split /\|/ } split /\n/,
	  $primary->safe_psql('postgres', 'SELECT id, version FROM c');
	my @lost =
	  grep { !exists $rows{$_} || $rows{$_} < $version{$_} } sort { $a <=> $b } keys %version;

	cmp_ok(scalar(keys %version), '>', 20, "crash $round: transactions committed");
	like($logs{recompress}, qr/\d/, "crash $round: recompress() committed")
	  or diag $logs{'recompress.err'};
	is("@lost", '', "crash $round: no committed row is lost");
	is( $primary->safe_psql(
			'postgres',
			q{SELECT count(*) FROM c WHERE doc IS DISTINCT FROM CASE WHEN id < 100000 THEN }
			  . $value . q{
			WHEN id % 5 = 0 THEN 'short ' || id WHEN id % 5 = 1 THEN repeat('many ' || id, 3000) END}),
		'0',
		"crash $round: every value belongs to its row");
	is( $primary->safe_psql(
			'postgres',
			q{SELECT bt_index_check('c_pkey', true), bt_index_check('c_doc', true); SELECT count(*) FROM c WHERE id BETWEEN -200 AND -1}
		),
		"|\n200",
		"crash $round: indexes are complete");
	is( $primary->safe_psql(
			'postgres',
			q{SELECT toast_policy.disable('c'); SELECT count(*) FROM verify_heapam('c', check_toast := true); SELECT toast_policy.enable('c', 'doc')}
		),
		"\n0\n",
		"crash $round: verify_heapam() finds no damage");
}
$primary->stop;
done_testing();
