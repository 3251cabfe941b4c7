# Test index_align against a hostile owner of a table, and against a role that owns nothing.  Code
# of the owner must never run as another role.  One role must not use all worker processes.  If
# something changes between a check and the action that relies on the check, nobody must get more
# rights.
use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";

use PgDense::Patch;
use PgDense::Security;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_patch('index_align', 'default_index_item_alignment');

my $timeout = $PostgreSQL::Test::Utils::timeout_default;
my $node = security_node('main', "max_prepared_transactions = 10\nmax_worker_processes = 8\n");
security_database($node, 'postgres', 'index_align');
security_database($node, 'other', 'index_align');
$node->safe_psql('postgres', 'CREATE ROLE role_d LOGIN');
my $workers = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'index_align worker'};

my $superuser = $node->safe_psql('postgres', 'SELECT current_user');

# start_call(ROLE, SQL, WORKERS) - start a call in the background; return when WORKERS
# worker processes wait for a lock
sub start_call
{
	my ($role, $sql, $count) = @_;
	my %call = (out => '', err => '');

	$call{run} = IPC::Run::start(
		[
			'psql', '-XAtq', '-d',
			$node->connstr('postgres') . " user=$role application_name=caller_$role",
			'-c', $sql
		],
		'<',
		\undef,
		'>',
		\$call{out},
		'2>',
		\$call{err},
		IPC::Run::timeout($timeout));
	$node->poll_query_until('postgres',
		"SELECT count(*) = $count FROM pg_stat_activity WHERE backend_type = 'index_align worker' AND wait_event_type = 'Lock'"
	) or die 'the worker does not wait';
	return \%call;
}

sub end_call
{
	my ($call) = @_;

	$call->{run}->finish;
	return $call->{err};
}

#
# All kinds of code of the owner
#
as_role($node, 'postgres', 'role_a', <<'SQL');
SET search_path = role_a;
SET default_index_item_alignment = auto;
CREATE DOMAIN d AS int CHECK (trap('domain check', VALUE) IS NOT NULL);
CREATE TYPE r AS (a int, b text);
CREATE FUNCTION r_text(r) RETURNS text LANGUAGE sql AS $$SELECT trap('cast', $1.b)$$;
CREATE CAST (r AS text) WITH FUNCTION r_text(r) AS IMPLICIT;
CREATE FUNCTION oid_equals(oid, oid) RETURNS boolean LANGUAGE sql AS $$SELECT trap('operator')$$;
CREATE OPERATOR = (FUNCTION = oid_equals, LEFTARG = oid, RIGHTARG = oid);
CREATE FUNCTION char_equals("char", "char") RETURNS boolean LANGUAGE sql AS $$SELECT trap('operator')$$;
CREATE OPERATOR = (FUNCTION = char_equals, LEFTARG = "char", RIGHTARG = "char");
CREATE FUNCTION pg_relation_size(regclass) RETURNS bigint LANGUAGE sql AS $$SELECT trap('function', 1::bigint)$$;
CREATE FUNCTION reset_item_alignment(regclass) RETURNS void LANGUAGE sql AS $$SELECT act('function')$$;
CREATE TABLE hostile (
	id int DEFAULT trap('default', 1) PRIMARY KEY WITH (item_alignment = auto),
	body int CHECK (trap('check', body) IS NOT NULL),
	other d DEFAULT trap('domain default', 1),
	composite r,
	made int GENERATED ALWAYS AS (trap('generated', body)) STORED);
CREATE INDEX hostile_expression ON hostile (trap('index expression', body));
CREATE INDEX hostile_constant ON hostile ((body + trap('constant of an index expression', 0)));
CREATE INDEX hostile_predicate ON hostile (id) WHERE trap('index predicate', id) > 0;
CREATE INDEX hostile_constant_predicate ON hostile (other) WHERE trap('constant of an index predicate') AND other > 0;
CREATE STATISTICS hostile_statistics ON (trap('statistics expression', id)), (id + 1) FROM hostile;
INSERT INTO hostile SELECT i, i, i, ROW(i, 'x')::r FROM generate_series(1, 300) i;
CREATE RULE hostile_insert AS ON INSERT TO hostile DO ALSO SELECT trap('insert rule');
CREATE RULE hostile_update AS ON UPDATE TO hostile DO ALSO SELECT trap('update rule');
CREATE POLICY hostile_policy ON hostile USING (trap('policy')) WITH CHECK (trap('policy check'));
CREATE VIEW hostile_view AS SELECT trap('view', body) AS body FROM hostile;
CREATE MATERIALIZED VIEW hostile_matview AS SELECT trap('materialized view', id) AS id FROM hostile;
CREATE UNIQUE INDEX hostile_matview_id ON hostile_matview (trap('index of a materialized view', id)) WITH (item_alignment = auto);
CREATE TABLE hostile_parted (id int, body int CHECK (trap('check of a partition', body) IS NOT NULL))
	PARTITION BY LIST ((trap('partition key', id) + trap('constant of a partition key', 0)));
CREATE TABLE hostile_part PARTITION OF hostile_parted FOR VALUES IN (1, 2);
CREATE TABLE hostile_rest PARTITION OF hostile_parted DEFAULT;
CREATE INDEX hostile_parted_body ON hostile_parted (trap('index expression of a partition', body)) WITH (item_alignment = auto);
INSERT INTO hostile_parted SELECT i, i FROM generate_series(1, 4) i;
SQL
as_role(
	$node,
	'postgres',
	'role_a',
	join '',
	map {
		my ($when, $what) = split / /;

		map {
			"CREATE TRIGGER ${when}_${what}_$_ $when $what ON role_a.hostile FOR EACH $_ EXECUTE FUNCTION role_a.trap_trigger('$when $what $_');\n"
		} $what eq 'TRUNCATE' ? 'STATEMENT' : ('ROW', 'STATEMENT');
	} map {
		my $what = $_;
		map { "$_ $what" } 'BEFORE', 'AFTER'
	} qw(INSERT UPDATE DELETE TRUNCATE));
as_role($node, 'postgres', 'role_a',
	'ALTER TABLE role_a.hostile ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY; ANALYZE role_a.hostile'
);

# Check that REINDEX of the stock server evaluates all this code as the owner.  Otherwise the test
# would prove nothing.
my @rebuilt = (
	'index expression',
	'constant of an index expression',
	'index predicate',
	'constant of an index predicate');
my @rebuilt_part = ('index expression of a partition');
my @rebuilt_matview = ('index of a materialized view');

sub superuser
{
	my (@sql) = @_;

	return sub {
		$node->safe_psql('postgres', join ";\n", @sql);
		$node->safe_psql('postgres', join ";\n", 'SET search_path = role_a, pg_catalog, public',
			@sql);
	};
}

# align() - align all indexes of role_a again
sub align
{
	as_role($node, 'postgres', 'role_a', <<'SQL');
SET search_path = role_a;
SET default_index_item_alignment = auto;
REINDEX SCHEMA role_a;
ALTER INDEX hostile_pkey SET (item_alignment = auto);
SQL
	return;
}

my @matrix = (
	[
		'status and advise()',
		superuser(
			'SELECT * FROM index_align.status',
			'SELECT * FROM index_align.advise()',
			map { "SELECT * FROM index_align.advise('role_a.$_')" }
			  qw(hostile hostile_expression hostile_matview hostile_parted)),
		[]
	],
	[
		'looks at one index',
		superuser(
			map {
				my $index = $_;
				map { "SELECT index_align.$_" } "item_alignment('role_a.$index')",
				  "auto_alignment('role_a.$index')", "estimated_ratio('role_a.$index', 4, 10, 1000)"
			} qw(hostile_pkey hostile_expression hostile_constant hostile_predicate hostile_constant_predicate hostile_matview_id hostile_parted_body)
		),
		[]
	],
	[
		'restore_stock_commands()',
		superuser(
			'SELECT * FROM index_align.restore_stock_commands()',
			q{SELECT * FROM index_align.restore_stock_commands('role_a.hostile', false)}),
		[]
	],
	[
		'restore_stock() of a table',
		superuser(q{CALL index_align.restore_stock('role_a.hostile')}),
		\@rebuilt
	],
	[
		'restore_stock() of a table, not concurrently',
		superuser(q{CALL index_align.restore_stock('role_a.hostile', false)}),
		\@rebuilt
	],
	[
		'restore_stock() of an index',
		superuser(q{CALL index_align.restore_stock('role_a.hostile_expression')}),
		['index expression']
	],
	[
		'restore_stock() of a materialized view',
		superuser(q{CALL index_align.restore_stock('role_a.hostile_matview')}),
		\@rebuilt_matview
	],
	[
		'restore_stock() of partitions',
		superuser(q{CALL index_align.restore_stock('role_a.hostile_parted')}),
		\@rebuilt_part
	],
	[
		'restore_stock() of the database',
		superuser(q{CALL index_align.restore_stock()}),
		[ @rebuilt, @rebuilt_part, @rebuilt_matview ]
	],
	[
		'restore_stock() of a view',
		sub { $node->psql('postgres', q{CALL index_align.restore_stock('role_a.hostile_view')}) },
		[]
	]);
for (@matrix)
{
	align();
	is_harmless($node, $_->[1], $_->[2], $_->[0]);
}
as_role($node, 'postgres', 'role_a', <<'SQL');
CREATE INDEX hostile_parted_id ON role_a.hostile_parted (id) WITH (item_alignment = auto);
SQL
is_harmless($node,
	superuser(q{SELECT index_align.reset_item_alignment('role_a.hostile_parted_id')}),
	[], 'reset_item_alignment()');

#
# The call of a role that owns nothing is refused before it waits for a lock
#
align();
$node->safe_psql('postgres', <<'SQL');
ALTER INDEX role_a.hostile_pkey SET (item_alignment = auto);
BEGIN;
LOCK TABLE role_a.hostile_parted;
REINDEX TABLE role_a.hostile;
REINDEX TABLE role_a.hostile_part;
REINDEX TABLE role_a.hostile_rest;
REINDEX TABLE role_a.hostile_matview;
SELECT index_align.reset_item_alignment('role_a.hostile_parted_id');
PREPARE TRANSACTION 'locks';
SQL
for my $role (qw(role_b role_c))
{
	for my $call (
		(   map { "CALL index_align.restore_stock('role_a.$_')" }
			qw(hostile hostile_pkey hostile_expression hostile_parted hostile_parted_id)),
		q{CALL index_align.restore_stock('role_a.hostile', false)},
		q{SELECT index_align.reset_item_alignment('role_a.hostile_parted_id')})
	{
		my ($ret, $stdout, $stderr) = $node->psql('postgres', "SET lock_timeout = '5s'; $call",
			extra_params => [ '-U', $role ]);

		like($stderr, qr/ERROR:  (permission denied for|must be owner of) /, "$role: $call");
	}
}
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'locks'});

# Statistics reveal values, so estimates respect the privileges on columns.
as_role($node, 'postgres', 'role_b', <<'SQL');
CREATE TABLE role_b.secret (id int, word text);
INSERT INTO role_b.secret SELECT i, repeat('x', 100) FROM generate_series(1, 1000) i;
CREATE INDEX secret_word ON role_b.secret (word, id);
CREATE INDEX secret_expression ON role_b.secret (left(word, 90), id);
ANALYZE role_b.secret;
SQL
my $ratios =
  q{SELECT round(index_align.estimated_ratio('role_b.secret_word', 4, 100, 1000)::numeric, 4), round(index_align.estimated_ratio('role_b.secret_expression', 4, 100, 1000)::numeric, 4)};
my $own = as_role($node, 'postgres', 'role_b', $ratios);
my $foreign = as_role($node, 'postgres', 'role_c', $ratios);
isnt($foreign, $own, 'an estimate does not reveal the width of values');
$node->safe_psql('postgres', 'GRANT SELECT (word) ON role_b.secret TO role_c');
is( as_role($node, 'postgres', 'role_c', $ratios),
	(split /\|/, $own)[0] . '|' . (split /\|/, $foreign)[1],
	'a role that may read the column gets its estimate');
$node->safe_psql('postgres', 'GRANT SELECT ON role_b.secret TO role_c');
is(as_role($node, 'postgres', 'role_c', $ratios),
	$own, 'a role that may read the table gets the estimate of an expression');
$node->safe_psql('postgres', 'ALTER TABLE role_b.secret ENABLE ROW LEVEL SECURITY');
is(as_role($node, 'postgres', 'role_c', $ratios),
	$foreign, 'row-level security hides the width of values');

#
# Worker processes
#
for my $role (qw(a b d))
{
	$node->safe_psql($_, "CREATE SCHEMA IF NOT EXISTS role_$role AUTHORIZATION role_$role")
	  for 'postgres', 'other';
	as_role($node, 'postgres', "role_$role",
		"CREATE TABLE role_$role.slow (id int PRIMARY KEY WITH (item_alignment = auto))");
}
as_role($node, 'other', 'role_d',
	'CREATE TABLE role_d.slow (id int PRIMARY KEY WITH (item_alignment = auto))');
$node->safe_psql('postgres', 'CREATE TABLE slow (id int PRIMARY KEY WITH (item_alignment = auto))');

$node->safe_psql('postgres',
	"BEGIN; LOCK TABLE role_a.slow, role_b.slow, role_d.slow, slow IN SHARE MODE; PREPARE TRANSACTION 'locks'"
);
my @calls = (start_call('role_a', q{CALL index_align.restore_stock('role_a.slow')}, 1));
my ($ret, $stdout, $stderr);
for my $call (1 .. 8)
{
	($ret, $stdout, $stderr) = $node->psql(
		'postgres',
		q{SET lock_timeout = '5s'; CALL index_align.restore_stock('role_a.slow')},
		extra_params => [ '-U', 'role_a' ]);
	last if $stderr !~ /already running/;
}
like(
	$stderr,
	qr/ERROR:  index_align.restore_stock\(\) is already running for role "role_a"/,
	'a role can have only one call');
like($stderr, qr/HINT:  .*restore_stock_commands/, 'the error has a hint');
is($node->safe_psql('postgres', $workers), '1', 'the role has one worker');
push @calls, start_call('role_b', q{CALL index_align.restore_stock('role_b.slow')}, 2);
for my $database ('postgres', 'other')
{
	($ret, $stdout, $stderr) = $node->psql(
		$database, q{\set VERBOSITY verbose
SET lock_timeout = '5s'; CALL index_align.restore_stock('role_d.slow')},
		extra_params => [ '-U', 'role_d' ]);
	like(
		$stderr,
		qr/ERROR:  53400: too many calls of index_align.restore_stock\(\) are running/,
		"a call of a third role is refused in database $database");
}
push @calls, start_call($superuser, q{CALL index_align.restore_stock('slow')}, 3);
($ret, $stdout, $stderr) =
  $node->psql('postgres', q{SET lock_timeout = '5s'; CALL index_align.restore_stock('slow')});
like($stderr, qr/already running for role/, 'a superuser can have only one call');
is($node->safe_psql('postgres', $workers),
	'3', 'a superuser has a worker beside those of two roles');

# An advisory lock of a user does not count as a call, whatever key it has.
is( as_role(
		$node, 'postgres',
		'role_c', q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = 0}),
	'5',
	'an advisory lock of a user does not count as a call');

# When a call ends, for any reason, the next call can start.
$node->safe_psql('postgres',
	q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'caller_role_a'}
);
like(end_call(shift @calls), qr/canceling statement due to user request/,
	'a call can be cancelled');
push @calls, start_call('role_d', q{CALL index_align.restore_stock('role_d.slow')}, 3);
$node->safe_psql('postgres',
	q{SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'caller_role_b'}
);
end_call(shift @calls);
$node->poll_query_until('postgres', $workers, '2') or die 'the worker does not end';
push @calls, start_call('role_a', q{CALL index_align.restore_stock('role_a.slow')}, 3);
$node->safe_psql('postgres', q{COMMIT PREPARED 'locks'});
is(end_call($_), '', 'a waiting call finishes without a message') for @calls;
as_role($node, 'postgres', 'role_b', q{CALL index_align.restore_stock('role_b.slow')});
is( $node->safe_psql(
		'postgres', q{SELECT count(*) FROM index_align.status WHERE relation::text ~ 'slow'}),
	'0',
	'no aligned index is left');

#
# Changes between the check and the action
#
# race(SCOPE, CHANGE) - run CHANGE in a prepared transaction, start a superuser's call whose worker
# waits for the locks of CHANGE, and commit CHANGE.  Return the messages of the call.
sub race
{
	my ($scope, $change) = @_;

	$node->safe_psql('postgres', "BEGIN; $change; PREPARE TRANSACTION 'race'");
	my $call = start_call($superuser, "CALL index_align.restore_stock('$scope')", 1);
	$node->safe_psql('postgres', q{COMMIT PREPARED 'race'});
	return end_call($call);
}

$node->safe_psql('postgres',
	'CREATE SCHEMA common; GRANT CREATE, USAGE ON SCHEMA common TO role_a, role_b');
as_role($node, 'postgres', "role_$_", <<"SQL") for qw(a b);
CREATE TABLE common.table_$_ (id int, value int);
CREATE INDEX index_$_ ON common.table_$_ (id) WITH (item_alignment = auto);
CREATE INDEX drop_$_ ON common.table_$_ (value);
SQL
my $state =
  q{SELECT string_agg(indexrelid::regclass || ' ' || coalesce(reloptions::text, '-'), ', ' ORDER BY relname) FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = 'common.table_b'::regclass};

$stderr = race('common.index_a', 'ALTER INDEX common.index_a RENAME TO elsewhere');
like(
	$stderr,
	qr/WARNING:  could not restore index "common.index_a"/,
	'an index that was renamed is not restored');
$node->safe_psql('postgres', 'ALTER INDEX common.elsewhere RENAME TO index_a');

$stderr = race('common.index_a',
	'ALTER INDEX common.index_a RENAME TO elsewhere; ALTER INDEX common.index_b RENAME TO index_a');
like(
	$stderr,
	qr/WARNING:  could not restore index "common.index_a"/,
	'an index whose name another index took over is not restored');
is( $node->safe_psql('postgres', $state),
	'common.drop_b -, common.index_a {item_alignment=auto}',
	'the other index keeps its storage parameter');
$node->safe_psql('postgres',
	'ALTER INDEX common.index_a RENAME TO index_b; ALTER INDEX common.elsewhere RENAME TO index_a');

$node->safe_psql(
	'postgres',
	q{UPDATE pg_index SET indislive = false, indisready = false, indisvalid = false WHERE indexrelid = 'common.drop_a'::regclass;
ALTER INDEX common.drop_a SET (item_alignment = auto)});
$stderr = race('common.drop_a',
	'ALTER INDEX common.drop_a RENAME TO elsewhere; ALTER INDEX common.drop_b RENAME TO drop_a');
like(
	$stderr,
	qr/WARNING:  could not restore index "common.drop_a"\nDETAIL:  must be owner of index drop_a/,
	'the worker completes DROP INDEX as the owner');
is( $node->safe_psql('postgres', $state),
	'common.drop_a -, common.index_b {item_alignment=auto}',
	'an index that took over the name is not dropped');
$node->safe_psql('postgres',
	'ALTER INDEX common.drop_a RENAME TO drop_b; ALTER INDEX common.elsewhere RENAME TO drop_a');
$node->safe_psql('postgres', q{CALL index_align.restore_stock('common.drop_a')});
is($node->safe_psql('postgres', q{SELECT to_regclass('common.drop_a') IS NULL}),
	't', 'DROP INDEX is completed if the name is unchanged');

# Take a lock that the call does not need, but its worker does.
for my $change ('ALTER TABLE common.table_a OWNER TO role_b', 'DROP TABLE common.table_a')
{
	my $owner = $change =~ /OWNER/ ? 'role_a' : $superuser;
	my $session = $node->background_psql('postgres');

	$session->query_safe('BEGIN; LOCK TABLE common.table_a IN SHARE MODE');
	my $call = start_call($owner, q{CALL index_align.restore_stock('common.table_a')}, 1);
	$session->query_safe("$change; COMMIT");
	$session->quit;
	$stderr = end_call($call);
	if ($owner eq 'role_a')
	{
		like(
			$stderr,
			qr/WARNING:  could not restore index "common.index_a"\nDETAIL:  permission denied for index index_a/,
			'a role that lost the table while it waited is refused');
	}
	else
	{
		unlike($stderr, qr/ERROR/, 'a table that is dropped meanwhile is no error');
	}
}

#
# Names with quotes and backslashes, which could inject SQL
#
$node->safe_psql('postgres', 'CALL index_align.restore_stock()');
for my $strings ('on', 'off')
{
	my $set =
	  "SET standard_conforming_strings = $strings; SET backslash_quote = on; SET escape_string_warning = off; SET client_min_messages = error;";
	my $schema = qq{"s""'\\'; SELECT role_a.act('quote') --"};

	$node->safe_psql('postgres', "CREATE SCHEMA $schema AUTHORIZATION role_a");
	as_role($node, 'postgres', 'role_a', <<"SQL");
CREATE TABLE $schema."t\\""'; --" (id int PRIMARY KEY WITH (item_alignment = auto), b int);
CREATE TABLE $schema."p\\""'; --" (id int, b int) PARTITION BY LIST (id);
CREATE INDEX "i\\""'; --" ON $schema."p\\""'; --" (b) WITH (item_alignment = auto);
SQL
	is_harmless(
		$node,
		sub {
			$node->safe_psql('postgres',
				"$set\nSELECT * FROM index_align.restore_stock_commands() \\gexec");
		},
		[],
		"quotes in commands, standard_conforming_strings $strings");
	is( $node->safe_psql(
			'postgres', q{SELECT count(*) FROM index_align.status WHERE index::text ~ 'quote'}),
		'0',
		'and they work');
	as_role($node, 'postgres', 'role_a',
		qq{DROP INDEX $schema."i\\""'; --"; CREATE INDEX "i\\""'; --" ON $schema."p\\""'; --" (b) WITH (item_alignment = auto); ALTER TABLE $schema."t\\""'; --" ADD UNIQUE (b) WITH (item_alignment = auto)}
	);
	is_harmless(
		$node, sub { $node->safe_psql('postgres', "$set\nCALL index_align.restore_stock()") },
		[], "quotes in restore_stock(), standard_conforming_strings $strings");
	is( $node->safe_psql(
			'postgres', q{SELECT count(*) FROM index_align.status WHERE index::text ~ 'quote'}),
		'0',
		'and it works');
	$node->safe_psql('postgres', "DROP SCHEMA $schema CASCADE");
}

done_testing();
