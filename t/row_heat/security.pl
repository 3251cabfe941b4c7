# A hostile table owner, and roles that own nothing: whose code runs as whom, and who sees what.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Security;
use PostgreSQL::Test::Utils;
use Test::More;

my $node =
  security_node('security', "shared_preload_libraries = 'row_heat'\nrow_heat.sample_rate = 1\n");
security_database($node, 'postgres', 'row_heat');
as_role($node, 'postgres', 'role_a', <<'SQL');
CREATE TABLE role_a.t (id int PRIMARY KEY, name text, pad text,
  CHECK (role_a.trap('check')), g text GENERATED ALWAYS AS (role_a.trap('generated', name)) STORED);
INSERT INTO role_a.t (id, name, pad) SELECT i, 'n' || i, repeat('x', 400) FROM generate_series(1, 2000) i;
CREATE INDEX ON role_a.t (role_a.trap('expression', name));
CREATE INDEX ON role_a.t (name) WHERE role_a.trap('predicate');
CREATE TRIGGER before BEFORE UPDATE ON role_a.t FOR EACH ROW EXECUTE FUNCTION role_a.trap_trigger('before');
CREATE TRIGGER after AFTER UPDATE ON role_a.t FOR EACH STATEMENT EXECUTE FUNCTION role_a.trap_trigger('after');
GRANT SELECT ON role_a.t TO role_b;
VACUUM ANALYZE role_a.t;
SQL

# heat() - let 20 rows get hot.  The owner runs the statements, because a plan evaluates predicates
# of indexes as the user of the session.
sub heat
{
	for (1 .. 12)
	{
		as_role($node, 'postgres', 'role_a',
				'SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan;'
			  . "PREPARE p AS SELECT pad FROM role_a.t WHERE id = \$1;"
			  . join('', map { 'EXECUTE p(' . $_ * 100 . ');' } 1 .. 20));
	}
	return;
}

heat();
is_harmless(
	$node,
	sub {
		my ($rc, $out, $err) =
		  $node->psql('postgres',
			q{SET client_min_messages = notice; CALL row_heat.pack('role_a.t')});
		like($err, qr/(\d+) of \1 rows are moved/, 'a superuser moves rows');
	},
	[ 'expression', 'predicate' ],
	'pack()');
heat();
is_harmless(
	$node,
	sub {
		is($node->safe_psql('postgres', q{SELECT row_heat.cluster_by_heat('role_a.t', true)}),
			't', 'a superuser rewrites the table');
	},
	[ 'expression', 'predicate' ],
	'cluster_by_heat()');

# Roles that do not own the table
my $rows = q{SELECT count(*) FROM row_heat.relations WHERE relation = 'role_a.t'::regclass};
is(as_role($node, 'postgres', 'role_a', $rows), 1, 'the owner sees the table');
is(as_role($node, 'postgres', 'role_b', $rows), 1, 'so does a role that may read it');
is(as_role($node, 'postgres', 'role_c', $rows), 0, 'another role does not');
for (
	[ q{CALL row_heat.pack('role_a.t')}, qr/must be owner of table t/ ],
	[ q{SELECT row_heat.cluster_by_heat('role_a.t')}, qr/must be owner of table role_a.t/ ],
	[
		q{SELECT row_heat_internal.rank('role_a.t'::regclass::oid, 100)},
		qr/must be owner of the table/
	],
	[ q{SELECT row_heat_internal.rank(1, 100)}, qr/must be owner of the table/ ],
	[ q{SELECT row_heat_internal.rank(NULL, 100)}, qr/must be owner of the table/ ],
	[ q{SELECT row_heat_internal.refresh_places('role_a.t')}, qr/must be owner of the table/ ],
	[ q{SELECT row_heat.reset()}, qr/permission denied for function reset/ ],
	[ q{SET row_heat.sample_rate = 1}, qr/permission denied to set parameter/ ])
{
	my ($sql, $pattern) = @$_;
	for my $role ('role_b', 'role_c')
	{
		my ($rc, $out, $err) = $node->psql('postgres', $sql, extra_params => [ '-U', $role ]);
		like($err, $pattern, "$role: $sql");
	}
}

# Ownership is checked before a lock is taken.
my $blocker = $node->background_psql('postgres');
$blocker->query_safe('BEGIN; LOCK TABLE role_a.t IN ACCESS EXCLUSIVE MODE');
for my $sql (
	q{CALL row_heat.pack('role_a.t')},
	q{SELECT row_heat.cluster_by_heat('role_a.t')},
	q{SELECT row_heat_internal.refresh_places('role_a.t')})
{
	my ($rc, $out, $err) = $node->psql(
		'postgres',
		"SET statement_timeout = '20s'; $sql",
		extra_params => [ '-U', 'role_c' ]);
	like($err, qr/must be owner/, "no lock before the check: $sql");
}
is($node->safe_psql('postgres', "SET statement_timeout = '20s'; $rows"),
	0, 'the view leaves out a table that is locked');
$blocker->query_safe('COMMIT');
$blocker->quit;

# The owner may move and rewrite the table.
heat();
my ($rc, $out, $err) = $node->psql(
	'postgres',
	q{SET client_min_messages = notice; CALL row_heat.pack('role_a.t')},
	extra_params => [ '-U', 'role_a' ]);
like($err, qr/together already|hardly take fewer pages|rows are moved/, 'the owner calls pack()');
is(as_role($node, 'postgres', 'role_a', q{SELECT row_heat.cluster_by_heat('role_a.t', true)}),
	't', 'the owner rewrites the table');

# A role that loses the table during a call moves no further rows.
as_role($node, 'postgres', 'role_a', <<'SQL');
CREATE TABLE role_a.lost (id int PRIMARY KEY, pad text);
INSERT INTO role_a.lost SELECT i, repeat('x', 1000) FROM generate_series(1, 2100) i;
VACUUM ANALYZE role_a.lost;
SQL
as_role($node, 'postgres', 'role_a',
	'SET enable_seqscan = off;'
	  . join('', map { 'SELECT pad FROM role_a.lost WHERE id = ' . $_ * 14 . ';' } 1 .. 150))
  for 1 .. 12;
my $moved =
  q{SELECT count(*) FROM role_a.lost WHERE xmin = (SELECT max(xmin::text::bigint)::text::xid FROM role_a.lost)};
my $call = $node->background_psql(
	'postgres',
	on_error_stop => 0,
	extra_params => [ '-U', 'role_a' ]);
$call->query_until(qr/begun/, "\\echo begun\nCALL row_heat.pack('role_a.lost', 20);\n");
ok($node->poll_query_until('postgres', "$moved HAVING count(*) = 100", '100'),
	'the first 100 rows are moved');
$node->safe_psql('postgres', 'ALTER TABLE role_a.lost OWNER TO role_b');
$call->query('SELECT 1');
like(
	$call->{stderr},
	qr/must be owner of table lost/,
	'the call fails after the table has another owner');
is($node->safe_psql('postgres', $moved), 100, 'the other rows stay');
$call->quit;
done_testing();
