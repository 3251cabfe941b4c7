# Test cases that need a second session, a standby or a memory limit: tables of other sessions and
# owners, locks, shared statistics, too little memory for the state of lz4hc, and use of memory that
# stays constant over 100,000 rows.  If PGDENSE_SOAK is set, also test values of 1 GB.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
# A session under a memory limit cannot map more memory for statistics, so let the
# server reserve this memory at its start.
$node->append_conf('postgresql.conf',
	"fsync = off\nautovacuum = off\nmax_wal_size = 4GB\nmax_locks_per_transaction = 1000\nmin_dynamic_shared_memory = 64MB\n"
);
$node->start;
my $major = int($node->safe_psql('postgres', 'SHOW server_version_num') / 10000);
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION toast_policy;
CREATE ROLE regress_toast_policy_alice LOGIN;
CREATE ROLE regress_toast_policy_bob LOGIN;
GRANT ALL ON SCHEMA public TO regress_toast_policy_alice, regress_toast_policy_bob;
CREATE TABLE held (id int, v text);
SELECT toast_policy.enable('held');
CREATE TABLE bobs (id int, v text);
SELECT toast_policy.enable('bobs');
ALTER TABLE bobs OWNER TO regress_toast_policy_bob;
CREATE FUNCTION noise(n int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$SELECT left(string_agg(translate(encode(sha256(i::text::bytea), 'base64'), E'\n', ''), ''), n) FROM generate_series(1, n / 40 + 1) i$$;
SQL

# Return a psql command that runs another script in its own session.
my $connection = $node->connstr('postgres');
my $others = 0;

sub other
{
	my ($sql, $user) = @_;
	my $file = $node->basedir . '/other' . $others++ . '.sql';

	append_to_file($file, "\\set VERBOSITY terse\nSET lock_timeout = '2s';\n$sql\n");
	return
		"\\! psql -X -A -t -q -d \"$connection user="
	  . ($user // getpwuid($<))
	  . "\" -f $file 2>&1";
}

# Test a temporary table of another session.
my ($ret, $stdout, $stderr) = $node->psql('postgres', <<"SQL");
CREATE TEMP TABLE mine (v text);
SELECT toast_policy.enable('mine');
INSERT INTO mine VALUES (repeat('x', 10000));
@{[ other(q{SELECT toast_policy.disable(c.oid) FROM pg_class c WHERE relname = 'mine';
SELECT toast_policy.recompress(c.oid) FROM pg_class c WHERE relname = 'mine';
SELECT toast_policy.enable(c.oid) FROM pg_class c WHERE relname = 'mine';
SELECT toast_policy.disable_all();
SELECT count(*) FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE amname = 'toast_policy';
DROP EXTENSION toast_policy CASCADE;}) ]}
INSERT INTO mine VALUES (repeat('y', 10000));
SELECT pg_column_compression(v), octet_length(v) FROM mine;
SQL
is(() = $stdout =~ /ERROR:  cannot alter temporary tables of other sessions/g,
	4, "another session's temporary table is refused")
  or diag $stdout;
like($stdout, qr/^3$/m, 'disable_all() has changed nothing');
like(
	$stdout,
	qr/cannot drop extension "toast_policy" while tables use its access method/,
	'the extension cannot be dropped');
like($stdout, qr/pglz\|10000\npglz\|10000/, 'the other session still works');

# Test tables of other owners.
($ret, $stdout, $stderr) = $node->psql(
	'postgres',
	'SELECT toast_policy.disable_all()',
	extra_params => [ '-U', 'regress_toast_policy_alice' ]);
like($stderr, qr/must be owner of table (held|bobs)/, "disable_all() refuses other owners' tables");
is( $node->safe_psql(
		'postgres',
		q{SELECT count(*) FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE amname = 'toast_policy'}
	),
	'2',
	'and changes nothing');

# A role that may not lock a table does not wait for the lock.  A role that may lock the
# table waits.
($ret, $stdout, $stderr) = $node->psql('postgres', <<"SQL");
BEGIN;
SELECT count(*) FROM held;
@{[ other(q{SELECT toast_policy.enable('held'); SELECT toast_policy.disable('held'); SELECT toast_policy.recompress('held'); SELECT toast_policy.disable_all();}, 'regress_toast_policy_alice') ]}
SQL
is(() = $stdout =~ /must be owner of table/g,
	4, 'a role without privileges does not wait for a lock')
  or diag $stdout;
($ret, $stdout, $stderr) = $node->psql('postgres', <<"SQL");
BEGIN;
SELECT count(*) FROM held;
@{[ other(q{SELECT toast_policy.disable('held'); SELECT toast_policy.recompress('held');}) ]}
SQL
is(() = $stdout =~ /canceling statement due to lock timeout/g, 2, 'the owner waits for the lock')
  or diag $stdout;

# Statistics of other sessions are counted when their transactions end.
if ($major >= 17)
{
	my $seen =
	  q{SELECT coalesce(sum(values_seen), 0) FROM toast_policy.stats WHERE relname = 'held'};
	($ret, $stdout, $stderr) = $node->psql('postgres', <<"SQL");
BEGIN;
INSERT INTO held SELECT i, repeat('x', 10000) FROM generate_series(1, 10) i;
@{[ other($seen) ]}
ROLLBACK;
@{[ other($seen) ]}
INSERT INTO held SELECT i, repeat('x', 10000) FROM generate_series(1, 10) i;
@{[ other("$seen;\nSELECT toast_policy.reset_stats();\nSELECT 'reset';") ]}
$seen;
SQL
	is($stdout, "0\n10\n20\n\nreset\n0", 'statistics are shared');
}
else
{
	$node->safe_psql('postgres',
		q{INSERT INTO held SELECT i, repeat('x', 10000) FROM generate_series(1, 10) i});
	is($node->safe_psql('postgres', 'SELECT count(*) FROM toast_policy.stats'),
		'0', 'without preloading, statistics are local to the session');
}

# Use more tables than the statistics have entries for.
$node->safe_psql('postgres', <<'SQL');
SELECT toast_policy.reset_stats();
DO $$
BEGIN
	FOR i IN 1 .. 1100 LOOP
		EXECUTE format('CREATE TEMP TABLE t%s (v text) USING toast_policy', i);
		EXECUTE format('ALTER TABLE t%s ALTER v SET STORAGE EXTERNAL', i);
		EXECUTE format('INSERT INTO t%s VALUES (repeat(''x'', 5000))', i);
		IF i % 100 = 0 THEN
			COMMIT;
		END IF;
	END LOOP;
END $$;
DO $$
BEGIN
	IF (SELECT sum(values_seen) FROM toast_policy.stats) <> 1100 THEN
		RAISE 'lost %', (SELECT 1100 - sum(values_seen) FROM toast_policy.stats);
	END IF;
END $$;
SQL
pass('tables beyond the number of places are counted together');
$node->safe_psql('postgres', 'SELECT toast_policy.reset_stats()');

# Limit memory, so that there is too little for the state of lz4hc, which takes 256 kB.
SKIP:
{
	skip 'the server has no lz4',
	  5
	  if $node->safe_psql('postgres',
		q{SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression'})
	  ne 't';
	my $limit = $node->basedir . '/limit';
	append_to_file($limit, <<'SH');
size=$(awk '/^VmSize/ { print $2 }' /proc/$BACKEND/status)
case $1 in
	tight) exec prlimit --pid $BACKEND --as=$(((size + 100) * 1024)): ;;
	free) exec prlimit --pid $BACKEND --as=unlimited: ;;
esac
SH
	($ret, $stdout, $stderr) = $node->psql('postgres', <<"SQL", on_error_stop => 0);
SET default_toast_compression = lz4;
INSERT INTO held VALUES (100, repeat('abc', 3000));
UPDATE held SET v = v || 'x' WHERE id = 100;
SELECT count(*), sum(octet_length(v)) FROM held;
SELECT pg_backend_pid() AS pid
\\gset
\\setenv BACKEND :pid
\\! sh $limit tight
SET toast_policy.lz4_level = 9;
INSERT INTO held VALUES (101, repeat('abc', 3000));
UPDATE held SET v = v || 'x' WHERE id = 100;
SELECT toast_policy.recompress('held');
SELECT count(*), sum(octet_length(v)) FROM held;
SET toast_policy.lz4_level = 0;
INSERT INTO held VALUES (102, repeat('abc', 3000));
SET toast_policy.lz4_level = 9;
\\! sh $limit free
INSERT INTO held VALUES (103, repeat('abc', 3000));
SELECT toast_policy.recompress('held');
SELECT count(*), sum(octet_length(v)) FROM held;
SQL
	my @sums = $stdout =~ /^(\d+\|\d+)$/mg;
	is(() = $stderr =~ /ERROR:  out of memory/g, 3, 'too little memory for lz4hc is an error')
	  or diag $stderr;
	like(
		$stderr,
		qr/Failed on request of size 2\d{5} in memory context "TopMemoryContext"/,
		'the error is about the state of lz4hc');
	is($sums[1], $sums[0], 'the failed statements lose no row');
	my ($count, $bytes) = split /\|/, $sums[0];
	is($sums[2], ($count + 2) . '|' . ($bytes + 18000), 'the session still works');
	is( $node->safe_psql(
			'postgres',
			q{SELECT count(*) FROM held WHERE v <> repeat('x', 10000) AND v NOT LIKE 'abcabc%'}),
		'0',
		'all values are right');
}

# Compare the memory that the backend uses near the last of 100,000 rows with its memory at row
# 2,000.
like(
	$node->safe_psql('postgres',
		<<'SQL'), qr/^t\|t\|t$/m, 'memory does not grow with the number of rows');
CREATE TABLE wide (id int, v text, w text, a int[], used numeric);
SELECT toast_policy.enable('wide');
CREATE FUNCTION used() RETURNS numeric LANGUAGE sql VOLATILE AS 'SELECT sum(total_bytes) FROM pg_backend_memory_contexts';
INSERT INTO wide SELECT i, CASE WHEN i % 50 = 0 THEN n ELSE repeat('x', 5000) END, left(n, i % 3000), ARRAY[i], CASE WHEN i IN (2000, 99999) THEN used() END
FROM generate_series(1, 100000) i, noise(8000) n;
CREATE TABLE after_insert AS SELECT (SELECT used FROM wide WHERE id = 99999) - (SELECT used FROM wide WHERE id = 2000) AS growth;
CREATE TABLE seen (id int, used numeric);
CREATE FUNCTION see(int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES ($1, used()); RETURN $1; END $$;
UPDATE wide SET v = v || 'y', id = CASE WHEN id IN (2000, 20000) THEN see(id) ELSE id END WHERE id <= 20001;
CREATE TABLE after_update AS SELECT (SELECT max(used) FROM seen WHERE id = 20000) - (SELECT max(used) FROM seen WHERE id = 2000) AS growth;
DO $$
DECLARE
	before numeric := used();
BEGIN
	PERFORM toast_policy.recompress('wide');
	CREATE TABLE after_recompress AS SELECT used() - before AS growth;
END $$;
SELECT (SELECT growth FROM after_insert) < 100000, (SELECT growth FROM after_update) < 100000, (SELECT growth FROM after_recompress) < 1000000;
SQL
note $node->safe_psql('postgres',
	'SELECT (SELECT growth FROM after_insert), (SELECT growth FROM after_update), (SELECT growth FROM after_recompress)'
);

$node->safe_psql('postgres', 'DROP TABLE wide');

# A standby can read the tables, and refuses every change.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->safe_psql('postgres',
	q{INSERT INTO bobs SELECT i, repeat('z', 10000) || i FROM generate_series(1, 10) i});
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
my $sum =
  'SELECT count(*), md5(string_agg(v, \',\' ORDER BY id)), sum(pg_column_size(v)) FROM bobs';
is( $standby->safe_psql('postgres', $sum),
	$node->safe_psql('postgres', $sum),
	'a standby reads the same');

for my $function (q{enable('bobs')}, q{disable('bobs')}, q{recompress('bobs')}, 'disable_all()')
{
	my ($name) = $function =~ /(\w+)/;
	($ret, $stdout, $stderr) = $standby->psql('postgres', "SELECT toast_policy.$function");
	like(
		$stderr,
		qr/ERROR:  cannot execute toast_policy\.$name\(\) in a read-only transaction/,
		"a standby refuses $name()");
}
is($standby->safe_psql('postgres', 'SELECT count(*) FROM toast_policy.stats'),
	'0', 'statistics of a standby are empty');
$standby->stop;

# Test values of 1 GB.
if ($ENV{PGDENSE_SOAK})
{
	for my $codec ('pglz', 'lz4', 'lz4 with toast_policy.lz4_level = 9')
	{
		my ($method) = $codec =~ /^(\w+)/;
		my $level = $codec =~ /(\d+)$/ ? $1 : 0;
		like($node->safe_psql('postgres', <<"SQL"), qr/^t\|t\|t$/m, "values of 1 GB, $codec");
SET toast_policy.lz4_level = $level;
DROP TABLE IF EXISTS huge;
CREATE TABLE huge (id int, v text COMPRESSION $method);
SELECT toast_policy.enable('huge');
INSERT INTO huge SELECT 1, repeat('0123456789', 107300000);
INSERT INTO huge SELECT 2, repeat(noise(1000000), 1073);
SELECT toast_policy.recompress('huge');
SELECT (SELECT md5(v) FROM huge WHERE id = 1) = md5(repeat('0123456789', 107300000)),
       (SELECT md5(v) FROM huge WHERE id = 2) = md5(repeat(noise(1000000), 1073)),
       (SELECT pg_column_size(v) < 20000000 FROM huge WHERE id = 1)
SQL
	}
	($ret, $stdout, $stderr) =
	  $node->psql('postgres', q{INSERT INTO huge SELECT 3, repeat('x', 1073741815)});
	like(
		$stderr,
		qr/ERROR:  invalid memory alloc request size|^$/,
		'a value that is too large for a row of heap is an error');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM huge WHERE id < 3'),
		'2', 'changes nothing');
}

$node->stop;
done_testing();
