# report() for roles that may read a part of the tables, with locks, drops and errors of others in
# its way, cancelled, and on a standby: a row tells why, and the report never fails as a whole.
# A role learns nothing of values that it may not read, and no function that another role put in
# the place of an advisor is called.
use strict;
use warnings FATAL => 'all';

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($major) = `pg_config --version` =~ /(\d+)/;
my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\n");
$node->start;

sub rows
{
	my ($where, $sql, @more) = @_;
	return $where->safe_psql('shop', $sql, @more);
}

$node->safe_psql('postgres', 'CREATE ROLE reader; CREATE ROLE owner; CREATE DATABASE shop');
$node->safe_psql('shop', <<'SQL');
CREATE SCHEMA app AUTHORIZATION owner;
GRANT USAGE ON SCHEMA app TO reader;
CREATE SCHEMA hidden;
CREATE FUNCTION fill(name text, owner name) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE TABLE %s (id int PRIMARY KEY, t text)', name);
  EXECUTE format('INSERT INTO %s SELECT i, ''some words of a text '' || i FROM generate_series(1, 20000) i', name);
  EXECUTE format('CREATE INDEX ON %s (t)', name);
  EXECUTE format('ALTER TABLE %s OWNER TO %I', name, owner);
END $$;
SELECT fill('app.' || n, 'owner') FROM unnest(ARRAY['readable', 'denied', 'partly', 'secured', 'locked', 'indexed', 'broken', 'later', '"Käse ""x"" y"']) n;
SELECT fill('hidden.table', current_user);
GRANT SELECT ON app.readable, app.secured, app.locked, app.indexed, app.broken, app.later, app."Käse ""x"" y" TO reader;
GRANT SELECT (id) ON app.partly TO reader;
GRANT SELECT ON hidden.table TO reader;
ALTER TABLE app.secured ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON app.secured USING (id < 10);
CREATE UNLOGGED TABLE app.unlogged AS SELECT * FROM app.readable;
CREATE TABLE app.empty (t text);
CREATE TABLE app.narrow ();
CREATE EXTENSION file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE app.far (t text) SERVER files OPTIONS (filename '/dev/null');
GRANT SELECT ON app.far, app.unlogged TO reader;
ANALYZE;
CREATE EXTENSION pg_dense;
SQL

# without any of the other extensions, and with functions of another role in their place
is( rows(
		$node,
		"SELECT feature, statement FROM dense.report() WHERE kind = 'skipped' AND feature IS NOT NULL"
	),
	"compact_types|CREATE EXTENSION compact_types\ntoast_policy|CREATE EXTENSION toast_policy\nvertical_partition|CREATE EXTENSION vertical_partition",
	'the report names the extensions that are not installed');
$node->safe_psql('shop', <<'SQL');
GRANT CREATE ON DATABASE shop TO reader;
SET ROLE reader;
CREATE SCHEMA compact_types;
-- numbers are not taken back
CREATE SEQUENCE compact_types.victims;
CREATE FUNCTION compact_types.advise(relation regclass, columns name[] DEFAULT NULL, narrow bool DEFAULT false, sample_pages int DEFAULT 0,
  OUT relation regclass, OUT column_name name, OUT proposed_type text, OUT value_bytes_now float8, OUT value_bytes_after float8, OUT reason text,
  OUT risk text, OUT blockers text[]) RETURNS SETOF record LANGUAGE sql
AS $$ SELECT $1, 't'::name, CASE WHEN nextval('compact_types.victims') > 0 THEN 'compact_text' END, 1, 1, '', NULL, '{}'::text[] $$;
CREATE FUNCTION compact_types.advise_table(relation regclass, columns name[] DEFAULT NULL, narrow bool DEFAULT false, sample_pages int DEFAULT 0,
  OUT rows int8, OUT heap_pages int8, OUT heap_pages_now int8, OUT heap_pages_after int8, OUT row_bytes_now float8, OUT row_bytes_after float8,
  OUT statement text, OUT undo text) LANGUAGE sql
AS $$ SELECT nextval('compact_types.victims'), 1, 1, 1, 1, 1, '', '' $$;
SQL
rows($node, 'SELECT count(*) FROM dense.report(min_bytes => 0)');
is(rows($node, 'SELECT is_called FROM compact_types.victims'),
	'f', 'a function that is no member of the extension is not called');
$node->safe_psql('shop',
	'DROP SCHEMA compact_types CASCADE; CREATE EXTENSION compact_types; CREATE EXTENSION toast_policy; CREATE EXTENSION vertical_partition'
);

# privileges
my $mine =
  "SET ROLE reader; SELECT proposal FROM dense.report(min_bytes => 0) WHERE feature = 'compact_types' AND kind = 'proposal' ORDER BY proposal COLLATE \"C\"";
is( rows($node, $mine),
	join("\n",
		map { "compact_types app.$_" } '"Käse ""x"" y"',
		qw(broken indexed later locked readable unlogged)),
	'proposals for the tables that a role may read');
is( rows(
		$node,
		"SET ROLE reader; SELECT reason FROM dense.report(min_bytes => 0) WHERE kind = 'skipped' ORDER BY reason"
	),
	join("\n",
		'1 table of which you may read some columns only',
		'1 table whose rows are not stored here: foreign tables',
		'1 table whose rows row-level security hides from you',
		'4 tables that you may not read'),
	'a row for what it may not read, with the number of tables');
like(
	rows(
		$node,
		"SET ROLE reader; SELECT bytes_now > 0, reason FROM dense.report(relation => 'app.denied') WHERE kind = 'skipped'"
	),
	qr/^t\|1 table that you may not read$/,
	'a single table that it may not read');
unlike(rows($node, "SET ROLE reader; SELECT r FROM dense.report(min_bytes => 0) r"),
	qr/app\.denied|hidden\.table/, 'no proposal for those');

# tables without statistics
$node->safe_psql('shop',
	'CREATE TABLE app.fresh AS SELECT * FROM app.readable; CREATE INDEX ON app.fresh (t)');
is( rows(
		$node,
		"SELECT kind, feature, confidence FROM dense.report(relation => 'app.fresh') WHERE feature = 'compact_types'"
	),
	"proposal|compact_types|low",
	'the confidence without statistics is low');
$node->safe_psql('shop', 'DROP TABLE app.fresh');

# locks of other sessions are not waited for
my $other = $node->background_psql('shop', on_error_stop => 1);
$other->query_safe('BEGIN; LOCK TABLE app.locked IN ACCESS EXCLUSIVE MODE');
my $begin = time;
is( rows(
		$node,
		"SELECT reason FROM dense.report(min_bytes => 0) WHERE kind = 'skipped' AND relation = 'app.locked'::regclass"
	),
	'another session has locked the table or an index of it',
	'a locked table');
cmp_ok(time - $begin, '<', 30, 'the lock was not waited for');

# which is not in the total
my $total =
  "SELECT bytes_now, reason FROM dense.report(min_bytes => 0) WHERE kind = 'total' LIMIT 1";
my ($bytes, $looked) = rows($node, $total) =~ /^(\d+)\|.*; (\d+) tables were examined$/
  or die;
$other->query_safe('ROLLBACK');
is( rows($node, $total) =~ s/\|.*; (\d+) tables.*/|$1/r,
	$bytes + rows($node, "SELECT total FROM dense_internal.table_bytes('app.locked'::regclass)")
	  . '|'
	  . ($looked + 1),
	'the total has only the tables that were looked at');

# an error of one table, and an index that another session has locked
$other->query_safe('BEGIN; REINDEX INDEX app.indexed_pkey');
my $log = -s $node->logfile;
is( rows(
		$node,
		"SET deadlock_timeout = '10ms'; SET log_lock_waits = on; SELECT reason FROM dense.report(min_bytes => 0) WHERE kind = 'skipped' AND relation = 'app.indexed'::regclass"
	),
	'another session has locked the table or an index of it',
	'an index that is built anew does no harm');
ok(!$node->log_contains('still waiting for', $log), 'and is not waited for');
$other->query_safe('ROLLBACK');
$other->quit;
my $file =
  $node->data_dir . '/' . rows($node, "CHECKPOINT; SELECT pg_relation_filepath('app.broken')");
$node->stop;
my $page = slurp_file($file);
open my $damage, '+<:raw', $file or die;
seek $damage, 8192 * 3, 0;
print $damage "\377" x 8192;
close $damage;
$node->start;
like(
	rows(
		$node,
		"SELECT reason FROM dense.report(min_bytes => 0) WHERE kind = 'skipped' AND relation = 'app.broken'::regclass"
	),
	qr/^invalid page in block 3/,
	'a damaged table');
like(rows($node, $mine), qr/app\.readable/, 'the others are looked at');
$node->safe_psql('shop', 'TRUNCATE app.broken');

# concurrent DROP TABLE: in a loop, tables come and go while reports run
{
	local $ENV{PGOPTIONS} = '';
	my $loop = IPC::Run::start(
		[ 'psql', '-X', '-q', '-d', $node->connstr('shop') ],
		'<',
		\(  "SELECT fill('app.come_and_go', 'owner') \\g (format=unaligned) /dev/null\nDROP TABLE app.come_and_go;\n"
			  x 20),
		'>',
		\my $out,
		'2>',
		\my $err);
	my ($runs, $failed) = (0, 0);
	while ($loop->pumpable && $runs < 25)
	{
		my ($code) = $node->psql('shop', 'SELECT count(*) FROM dense.report(min_bytes => 0)');
		$failed++ if $code;
		$runs++;
		$loop->pump_nb;
	}
	$loop->finish;
	is($failed, 0, "no report of $runs failed while tables were dropped");
}

# the budget
$node->safe_psql('shop', <<'SQL');
CREATE FUNCTION slow(n int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..n LOOP PERFORM fill('app.slow' || i, 'owner'); END LOOP; END $$;
SELECT slow(40);
SQL
$begin = time;
my $rows = rows($node,
	"SELECT reason, bytes_now > 0 FROM dense.report(1, min_bytes => 0) WHERE reason LIKE 'budget%'"
);
cmp_ok(time - $begin, '<=', 4, 'the report ends after its budget');
like(
	$rows,
	qr/^budget_seconds are used up before \d+ of \d+ tables\|t$/,
	'one row tells what was not reached');
$rows = rows($node,
	"SELECT reason FROM dense.report(1, min_bytes => 0) WHERE reason ~ 'budget|examined' ORDER BY kind"
);
my ($left, $of, $reached) =
  $rows =~ /before (\d+) of (\d+) tables\n.*; (\d+) tables? (?:was|were) examined/;
is($reached, $of - $left, 'the total has only the others');

# cancel
my ($code, $stdout, $stderr) = $node->psql('shop',
	"SET statement_timeout = '300ms'; SELECT count(*) FROM dense.report(min_bytes => 0)");
is($code, 3, 'a timeout ends the report');
like($stderr, qr/canceling statement due to statement timeout/, 'with its own error');
is(rows($node, 'SELECT count(*) FROM dense.report_progress'), '0', 'no progress is left behind');
my $asks = IPC::Run::start(
	[
		'psql', '-X', '-d', $node->connstr('shop'),
		'-c', 'SELECT count(*) FROM dense.report(20, min_bytes => 0)'
	],
	'>',
	\my $result,
	'2>',
	\my $error);
ok( $node->poll_query_until(
		'shop',
		"SELECT count(*) > 0 FROM dense.report_progress WHERE datname = 'shop' AND bytes_total >= bytes_done AND tables_total > 40"
	),
	'the progress is visible');
$node->safe_psql('shop',
	'SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE \'%dense.report(20%\' AND pid <> pg_backend_pid()'
);
$asks->finish;
like($error, qr/canceling statement due to user request/, 'it can be cancelled');

# The schema that CREATE EXTENSION names may have functions of another role.
$node->safe_psql('postgres', 'CREATE DATABASE hostile');
$node->safe_psql('hostile', <<'SQL');
CREATE SCHEMA planted;
CREATE FUNCTION planted.cardinality(name[]) RETURNS int LANGUAGE sql AS 'SELECT 1 / 0';
CREATE FUNCTION planted.cardinality(text[]) RETURNS int LANGUAGE sql AS 'SELECT 1 / 0';
CREATE FUNCTION planted.contained("char"[], "char"[]) RETURNS bool LANGUAGE sql AS 'SELECT 1 / 0 = 1';
CREATE OPERATOR planted.<@ (leftarg = "char"[], rightarg = "char"[], function = planted.contained);
CREATE EXTENSION pg_dense SCHEMA planted;
SQL
is( $node->safe_psql(
		'hostile',
		q{SELECT count(*) FROM pg_depend d JOIN pg_constraint c ON d.classid = 'pg_constraint'::regclass AND d.objid = c.oid
	WHERE c.conrelid = 'dense.applied'::regclass AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)}
	),
	'0',
	'the constraints of dense.applied call only functions of pg_catalog');

# a standby
$node->safe_psql('shop',
	q{SELECT format('DROP TABLE app.slow%s', i) FROM generate_series(1, 38) i \gexec});
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
my $query =
  "SELECT proposal, bytes_now, bytes_after FROM dense.report(min_bytes => 0) WHERE feature = 'compact_types' AND relation <> 'app.unlogged'::regclass ORDER BY proposal";
is(rows($standby, $query), rows($node, $query), 'a standby gives the same advice');
is( rows($standby, "SELECT reason FROM dense.report(min_bytes => 0) WHERE reason LIKE '%standby%'"),
	'1 table without rows on a standby: unlogged tables',
	'but for unlogged tables');
($code, $stdout, $stderr) =
  $standby->psql('shop', q{CALL dense.apply('compact_types app.readable')});
like($stderr, qr/cannot execute apply\(\) during recovery/, 'apply() on a standby');

done_testing();
