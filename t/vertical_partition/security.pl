# Let a superuser split, merge and relink tables of a hostile owner.  The owner's code must run only
# as the owner.  No role may read, change or lock split tables of another role without privileges.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Security;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @methods = qw(shared_key surrogate_key row_pointer);
my $node = security_node('primary', "session_preload_libraries = 'vertical_partition'\n");
my $major = int($node->safe_psql('postgres', 'SHOW server_version_num') / 10000);

# attempt(ROLE, SQL[, SETTINGS]) - run SQL, and return its error or "ok"; ROLE undef is
# the superuser
sub attempt
{
	my ($role, $sql, $settings) = @_;
	my ($rc, $stdout, $stderr) = $node->psql(
		'postgres',
		($settings // '') . "\n$sql",
		$role ? (extra_params => [ '-U', $role ]) : (),
		on_error_stop => 1);

	return 'ok' if $rc == 0;
	my ($error) = $stderr =~ /ERROR:  (.*)/;
	return $error // $stderr;
}

# superuser(SQL) - return code that runs SQL as the superuser
sub superuser
{
	my ($sql) = @_;
	return sub { $node->safe_psql('postgres', $sql) };
}

# hold(ROLE, SQL) - return a session with an open transaction that has run SQL
sub hold
{
	my ($role, $sql) = @_;
	my $session = $node->background_psql('postgres', extra_params => [ '-U', $role ]);

	$session->query_safe("BEGIN; $sql");
	return $session;
}

security_database($node, 'postgres', 'vertical_partition');
as_role($node, 'postgres', 'role_a', <<'SQL');
CREATE DOMAIN role_a.positive AS int CHECK (role_a.trap('domain') AND value > 0);
CREATE DOMAIN role_a.parsed AS int CHECK (role_a.trap('parse'));
SQL

# Create a table of role_a with code of the owner in every place that split() accepts.
sub hostile_table
{
	my ($table) = @_;
	as_role($node, 'postgres', 'role_a', <<"SQL");
CREATE TABLE role_a.$table (
	id int PRIMARY KEY,
	checked int CHECK (role_a.trap('check') AND checked > 0),
	limited role_a.positive DEFAULT role_a.trap('default', 7),
	arrayed int DEFAULT cardinality('{1}'::role_a.parsed[]),
	generated int GENERATED ALWAYS AS (role_a.trap('generated', id)) STORED,
	up int,
	note text DEFAULT role_a.trap('default', 'x'::text),
	long text CHECK (role_a.trap('cold check')));
INSERT INTO role_a.$table (id, checked, up, note, long) SELECT i, i, 1, 'n' || i, repeat('x', 50) FROM generate_series(1, 20) i;
CREATE INDEX ${table}_const ON role_a.$table ((role_a.trap('constant in index', 1)), id);
CREATE INDEX ${table}_expr ON role_a.$table ((role_a.trap('index', checked)));
CREATE INDEX ${table}_pred ON role_a.$table (up) WHERE role_a.trap('predicate', up) > 0;
CREATE INDEX ${table}_wide ON role_a.$table ((role_a.trap('cold index', long)));
CREATE STATISTICS role_a.${table}_stat ON id, (role_a.trap('statistics', checked)) FROM role_a.$table;
ALTER TABLE role_a.$table ADD CONSTRAINT ${table}_up FOREIGN KEY (up) REFERENCES role_a.$table;
CREATE TRIGGER a BEFORE INSERT ON role_a.$table FOR EACH STATEMENT EXECUTE FUNCTION role_a.trap_trigger('insert trigger');
CREATE TRIGGER b AFTER UPDATE ON role_a.$table FOR EACH STATEMENT EXECUTE FUNCTION role_a.trap_trigger('update trigger');
SQL
	return;
}

# These are the kinds of code that split() and merge() evaluate when they copy rows, build indexes,
# and parse definitions again.
my @all = (
	'check', 'cold check', 'cold index', 'constant in index',
	'generated', 'index', 'parse', 'predicate',
	'statistics');
for my $method (@methods)
{
	my $table = "t_$method";

	hostile_table($table);
	# Run this query as the owner, because its planning runs code in the index.
	my $contents = "SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM role_a.$table t";
	my $before = as_role($node, 'postgres', 'role_a', $contents);
	is_harmless($node,
		superuser("SELECT vertical_partition.split('role_a.$table', '{note,long}', '$method')"),
		\@all, "split by $method");
	is( $node->safe_psql(
			'postgres',
			"SELECT string_agg(DISTINCT relowner::regrole::text, ' ') FROM pg_class WHERE relname LIKE '$table%'"
		),
		'role_a',
		"split by $method: the owner owns all new objects");
	is_harmless($node, superuser("SELECT * FROM vertical_partition.advise('role_a.$table')"),
		[], "advise, $method");
	is_harmless($node,
		superuser('TABLE vertical_partition.status; TABLE vertical_partition.column_updates'),
		[], "views, $method");

	# Create triggers on the parts.
	as_role($node, 'postgres', 'role_a', <<"SQL");
CREATE TRIGGER c BEFORE UPDATE ON role_a.${table}_hot FOR EACH STATEMENT EXECUTE FUNCTION role_a.trap_trigger('before hot');
CREATE TRIGGER d AFTER UPDATE ON role_a.${table}_hot FOR EACH STATEMENT EXECUTE FUNCTION role_a.trap_trigger('after hot');
CREATE TRIGGER e AFTER UPDATE ON role_a.${table}_hot FOR EACH ROW EXECUTE FUNCTION role_a.trap_trigger('row hot');
SQL
	if ($method eq 'row_pointer')
	{
		# Move rows, so that the pointers become wrong.
		as_role($node, 'postgres', 'role_a', "DELETE FROM role_a.$table WHERE id BETWEEN 2 AND 5");
		$before = as_role($node, 'postgres', 'role_a', $contents);
		as_role($node, 'postgres', 'role_a',
			"SELECT vertical_partition.forget_row_pointers('role_a.${table}_cold'); VACUUM FULL role_a.${table}_cold;"
		  )
		  if $node->safe_psql(
			'postgres',
			q{SELECT to_regprocedure('vertical_partition.forget_row_pointers(regclass)') IS NOT NULL}
		  ) eq 't';
		is_harmless($node, superuser("SELECT vertical_partition.relink('role_a.$table')"),
			['constant in index'], 'relink');
	}
	as_role($node, 'postgres', 'role_a', join ' ',
		map { "DROP TRIGGER $_ ON role_a.${table}_hot;" } qw(c d e));
	is_harmless($node, superuser("SELECT vertical_partition.merge('role_a.$table')"),
		\@all, "merge of $method");
	is(as_role($node, 'postgres', 'role_a', $contents),
		$before, "merge of $method: the rows are the same");
}

# split() refuses a table before it runs any of its code.  Only a superuser can create
# operator classes, base types with output functions, and event triggers.
as_role($node, 'postgres', 'role_a', <<'SQL');
CREATE TABLE role_a.ruled (id int PRIMARY KEY, n int, c text);
CREATE RULE r AS ON UPDATE TO role_a.ruled DO ALSO SELECT role_a.trap('rule');
CREATE TABLE role_a.policed (id int PRIMARY KEY, n int, c text);
ALTER TABLE role_a.policed ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON role_a.policed USING (role_a.trap('policy')) WITH CHECK (role_a.trap('policy'));
CREATE TABLE role_a.triggered (id int PRIMARY KEY, n int, c text);
CREATE TRIGGER t BEFORE INSERT OR UPDATE OR DELETE ON role_a.triggered FOR EACH ROW EXECUTE FUNCTION role_a.trap_trigger('row trigger');
CREATE TABLE role_a.truncated (id int PRIMARY KEY, n int, c text);
CREATE TRIGGER t BEFORE TRUNCATE ON role_a.truncated FOR EACH STATEMENT EXECUTE FUNCTION role_a.trap_trigger('truncate trigger');
CREATE TABLE role_a.viewed (id int PRIMARY KEY, n int, c text);
CREATE VIEW role_a.view AS SELECT id, role_a.trap('view'), '{1}'::role_a.parsed[] FROM role_a.viewed;
CREATE TABLE role_a.materialized (id int PRIMARY KEY, n int, c text);
CREATE MATERIALIZED VIEW role_a.matview AS SELECT id, role_a.trap('matview', n) FROM role_a.materialized;
INSERT INTO role_a.ruled VALUES (1, 1, 'c');
INSERT INTO role_a.triggered VALUES (1, 1, 'c');
SQL
for my $table (qw(ruled policed triggered truncated viewed materialized))
{
	my $refusal;
	is_harmless(
		$node,
		sub { $refusal = attempt(undef, "SELECT vertical_partition.split('role_a.$table', '{c}')") }
		,
		[],
		"refused, $table");
	is($refusal, "cannot split role_a.$table", "the table $table is refused");
	is_harmless($node, superuser("SELECT vertical_partition.advise('role_a.$table')"),
		[], "advise, $table");
}

# After relink(), no deferred code of the owner must be left.  Such code would run at the end
# of the transaction, as the role that ends the transaction.
as_role($node, 'postgres', 'role_a', <<'SQL');
CREATE TABLE role_a.late (id int PRIMARY KEY, n int, c text);
INSERT INTO role_a.late SELECT i, i, 'c' FROM generate_series(1, 10) i;
SELECT vertical_partition.split('role_a.late', '{c}', 'row_pointer');
SELECT vertical_partition.forget_row_pointers('role_a.late_cold');
DELETE FROM role_a.late WHERE id < 5;
VACUUM FULL role_a.late_cold;
CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON role_a.late_hot DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION role_a.trap_trigger('deferred');
SQL
my $error;
is_harmless($node,
	sub { $error = attempt(undef, q{SELECT vertical_partition.relink('role_a.late')}) },
	[], 'relink fires no deferred trigger');
is($error, 'ok', 'relink succeeds');
is($node->safe_psql('postgres', 'SELECT count(c) FROM role_a.late'), '6', 'the rows are relinked');

# Foreign keys connect tables of different owners.  A split by the superuser keeps these foreign
# keys.  The foreign keys are checked as the owner of the referencing table.
as_role($node, 'postgres', 'role_b', <<'SQL');
CREATE TABLE role_b.parent (id int PRIMARY KEY);
INSERT INTO role_b.parent VALUES (1), (2);
GRANT REFERENCES ON role_b.parent TO role_a;
SQL
as_role($node, 'postgres', 'role_a', <<'SQL');
CREATE TABLE role_a.shop (id int PRIMARY KEY, parent int REFERENCES role_b.parent, n int, c text);
CREATE INDEX ON role_a.shop ((role_a.trap('index of a', 1)), id);
INSERT INTO role_a.shop VALUES (1, 1, 1, 'one'), (2, 2, 2, 'two');
GRANT REFERENCES, SELECT ON role_a.shop TO role_b;
SQL
as_role($node, 'postgres', 'role_b', <<'SQL');
CREATE TABLE role_b.sale (shop int CONSTRAINT sale_shop REFERENCES role_a.shop ON DELETE CASCADE);
CREATE INDEX ON role_b.sale ((role_a.trap('index of b', 1)), shop);
ALTER TABLE role_b.sale ADD CONSTRAINT sale_late FOREIGN KEY (shop) REFERENCES role_a.shop NOT VALID;
INSERT INTO role_b.sale VALUES (1);
SQL
# A role that can read everything and the superuser have tables that reference each other.
$node->safe_psql('postgres', <<'SQL');
REVOKE REFERENCES, SELECT ON role_a.shop FROM role_b;
GRANT pg_read_all_data TO role_b;
CREATE TABLE public.sale_of_all (shop int CONSTRAINT sale_of_all REFERENCES role_a.shop);
INSERT INTO public.sale_of_all VALUES (2);
SQL
as_role($node, 'postgres', 'role_b',
	q{CREATE INDEX ON role_b.parent ((role_a.trap('index of parent', 1)), id)});
as_role($node, 'postgres', 'role_a',
	q{CREATE STATISTICS role_a.shop_stat ON id, (n + role_a.trap('statistics of a', 1)) FROM role_a.shop}
);
my $keys =
  q{SELECT string_agg(concat_ws(' ', conrelid::regclass, conname, convalidated, pg_get_constraintdef(oid)), E'\n' ORDER BY conrelid::regclass::text, conname)
	FROM pg_constraint WHERE contype = 'f' AND conname ~ 'sale|shop' AND conparentid = 0};
my $keys_before = $node->safe_psql('postgres', $keys);
like(
	attempt('role_a', q{SELECT vertical_partition.split('role_a.shop', '{c}')}),
	qr/^cannot split role_a.shop$/,
	'the owner alone cannot change what refers to his table');
is_harmless(
	$node,
	superuser(q{SELECT vertical_partition.split('role_a.shop', '{c}')}),
	[ 'index of a', 'statistics of a', 'index of parent as role_b' ],
	'foreign keys, split');
is( $node->safe_psql('postgres', $keys),
	$keys_before =~ s/role_a\.shop\(/role_a.shop_hot(/gr =~
	  s/role_a\.shop shop/role_a.shop_hot shop/r,
	'foreign keys reference the hot part, and are as valid as before');
is( attempt('role_b', 'INSERT INTO role_b.sale VALUES (3)'),
	'insert or update on table "sale" violates foreign key constraint "sale_shop"',
	'the foreign keys are enforced');
is( $node->safe_psql(
		'postgres',
		q{SELECT string_agg(DISTINCT x.grantee::regrole::text, ' ') FROM pg_class c, aclexplode(c.relacl) x
	WHERE c.relname ~ '^shop' AND c.relnamespace = 'role_a'::regnamespace}),
	'role_a',
	'nobody keeps a privilege for it');
is_harmless(
	$node,
	superuser(q{SELECT vertical_partition.merge('role_a.shop')}),
	[ 'index of a', 'statistics of a', 'index of parent as role_b' ],
	'foreign keys, merge');
is($node->safe_psql('postgres', $keys), $keys_before, 'foreign keys are the same after merge()');

$node->safe_psql('postgres',
	'SET session_replication_role = replica; INSERT INTO role_b.sale VALUES (77)');
like(
	attempt(undef, q{SELECT vertical_partition.split('role_a.shop', '{c}')}),
	qr/^insert or update on table "sale" violates foreign key constraint "vertical_partition_/,
	'a row that violates the foreign key is found');
$node->safe_psql('postgres',
	'SET session_replication_role = replica; DELETE FROM role_b.sale WHERE shop = 77; DROP TABLE public.sale_of_all'
);
# A superuser's own statements on the table run the owner's code, as on every table.
$node->safe_psql('postgres', 'ALTER ROLE role_a NOSUPERUSER; REVOKE pg_read_all_data FROM role_b');
as_role($node, 'postgres', 'role_b', 'REVOKE REFERENCES ON role_b.parent FROM role_a');
like(
	$node->safe_psql('postgres', q{SELECT blockers FROM vertical_partition.advise('role_a.shop')}),
	qr/constraint shop_parent_fkey, whose table role_b\.parent the owner may not refer to/,
	'the owner has to be allowed to refer to the other table');
as_role($node, 'postgres', 'role_b', 'GRANT REFERENCES ON role_b.parent TO role_a');

# Partitioned tables evaluate their partition keys when a foreign key is added.
as_role($node, 'postgres', 'role_a', <<'SQL');
CREATE TABLE role_a.orders (id int PRIMARY KEY, n int, c text);
CREATE TABLE role_a.lines (orders int, kind int) PARTITION BY LIST ((kind + role_a.trap('partition key', 0)));
CREATE TABLE role_a.lines_1 PARTITION OF role_a.lines FOR VALUES IN (1);
ALTER TABLE role_a.lines ADD CONSTRAINT lines_orders FOREIGN KEY (orders) REFERENCES role_a.orders;
INSERT INTO role_a.orders VALUES (1, 1, 'c');
INSERT INTO role_a.lines VALUES (1, 1);
GRANT REFERENCES ON role_a.orders TO role_b;
SQL
my @variants = ('');
push @variants, ' NOT VALID', ' NOT ENFORCED' if $major >= 18;
for my $variant (@variants)
{
	as_role($node, 'postgres', 'role_a',
			'ALTER TABLE role_a.lines DROP CONSTRAINT lines_orders;'
		  . " ALTER TABLE role_a.lines ADD CONSTRAINT lines_orders FOREIGN KEY (orders) REFERENCES role_a.orders$variant"
	);
	for my $call ("split('role_a.orders', '{c}')", "merge('role_a.orders')")
	{
		is_harmless($node, superuser("SELECT vertical_partition.$call"),
			['partition key'], "partitioned table$variant, $call");
	}
}
as_role($node, 'postgres', 'role_b',
	'CREATE TABLE role_b.lines (orders int REFERENCES role_a.orders, kind int) PARTITION BY LIST (kind)'
);
like(
	($node->psql('postgres', q{SELECT vertical_partition.split('role_a.orders', '{c}')}))[2],
	qr/constraint lines_orders_fkey on table role_b\.lines, a partitioned table that has another owner, or partitions of others/,
	'a partitioned table of another owner is refused');

# If one partition belongs to another owner, the table is refused, on either side of the foreign
# key.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE public.referenced (id int PRIMARY KEY, n int, c text);
INSERT INTO public.referenced VALUES (1, 1, 'c');
CREATE TABLE public.referencing (id int, r int CONSTRAINT to_referenced REFERENCES public.referenced) PARTITION BY LIST (id);
CREATE TABLE role_a.referencing_1 PARTITION OF public.referencing FOR VALUES IN (1);
ALTER TABLE role_a.referencing_1 OWNER TO role_a;
INSERT INTO public.referencing VALUES (1, 1);
CREATE TABLE public.parts (id int PRIMARY KEY) PARTITION BY LIST (id);
CREATE TABLE role_a.parts_1 PARTITION OF public.parts FOR VALUES IN (1);
ALTER TABLE role_a.parts_1 OWNER TO role_a;
INSERT INTO public.parts VALUES (1);
CREATE TABLE public.of_parts (id int PRIMARY KEY, p int CONSTRAINT to_parts REFERENCES public.parts, c text);
INSERT INTO public.of_parts VALUES (1, 1, 'c');
GRANT REFERENCES ON public.referenced TO role_a;
GRANT USAGE ON SCHEMA public TO role_a;
SQL
as_role($node, 'postgres', 'role_a', <<'SQL');
CREATE INDEX ON role_a.referencing_1 ((role_a.trap('index of a partition', 1)), r);
CREATE INDEX ON role_a.parts_1 ((role_a.trap('index of a partition', 1)), id);
CREATE TYPE role_a.number AS ENUM ('1');
CREATE FUNCTION role_a.to_int(role_a.number) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM role_a.act('cast'); RETURN 1; END $$;
CREATE CAST (role_a.number AS int) WITH FUNCTION role_a.to_int(role_a.number) AS IMPLICIT;
CREATE TABLE role_a.by_cast (id int PRIMARY KEY, r role_a.number CONSTRAINT by_cast REFERENCES public.referenced, c text);
SQL
for my $case (
	[
		'public.referenced',
		'constraint to_referenced on table public.referencing, a partitioned table that has another owner, or partitions of others'
	],
	[
		'public.of_parts',
		'constraint to_parts, whose table public.parts has partitions of other owners'
	],
	[
		'role_a.by_cast',
		'constraint by_cast on table role_a.by_cast, which compares after a cast that a user has made'
	])
{
	my ($table, $reason) = @$case;
	my $stderr;
	is_harmless(
		$node,
		sub {
			$stderr =
			  ($node->psql('postgres', "SELECT vertical_partition.split('$table', '{c}')"))[2];
		},
		[],
		"split of $table");
	like($stderr, qr/\Q$reason\E/, "split of $table is refused");
	my ($constraint) = $reason =~ /^(constraint \w+)/;
	like($node->safe_psql('postgres', "SELECT blockers FROM vertical_partition.advise('$table')"),
		qr/\Q$constraint\E/, "advise() names the reason for $table");
}

# When the owner's code ends, the settings that this code has changed are reset.
as_role($node, 'postgres', 'role_a', <<'SQL');
CREATE FUNCTION role_a.takes_path(n int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_catalog.set_config('search_path', 'role_a, pg_catalog', false);
	RETURN true;
END $$;
CREATE FUNCTION role_a.differs(a text, b text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM role_a.act('operator');
	RETURN pg_catalog.textne(a, b);
END $$;
CREATE OPERATOR role_a.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = role_a.differs);
CREATE TABLE role_a.path (id int PRIMARY KEY, n int CHECK (role_a.takes_path(n)), c text);
INSERT INTO role_a.path VALUES (1, 1, 'c');
SQL
my $path;
is_harmless($node, sub { $path = $node->safe_psql('postgres', <<'SQL') }, [], 'search_path');
SET search_path = public;
SELECT vertical_partition.split('role_a.path', '{c}', 'row_pointer');
SELECT vertical_partition.merge('role_a.path');
SHOW search_path;
SQL
is((split /\n/, $path)[-1], 'public', "search_path is the caller's again");

# If a member of a role cannot SET ROLE to the role, the member does not have the rights of the
# role.
SKIP:
{
	skip 'every member can SET ROLE before 16', 2 if $major < 16;
	$node->safe_psql('postgres', <<'SQL');
CREATE ROLE boss SUPERUSER;
CREATE ROLE role_d LOGIN;
GRANT boss TO role_d WITH INHERIT TRUE, SET FALSE;
CREATE TABLE public.of_boss (id int PRIMARY KEY, n int, c text);
ALTER TABLE public.of_boss OWNER TO boss;
SQL
	is( attempt(
			'role_d',
			q{SELECT vertical_partition_internal.execute_as('boss'::regrole, 'ALTER ROLE role_d SUPERUSER')}
		),
		'must be able to SET ROLE "boss"',
		'a member that only inherits privileges is refused');
	is( attempt('role_d', q{SELECT vertical_partition.split('public.of_boss', '{c}')}),
		'must be able to SET ROLE "boss"',
		'split() refuses a member that only inherits privileges');
}

# The owner of a schema cannot rename the schema while a table of another owner in this schema is
# being split.
$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA named AUTHORIZATION role_a;
GRANT ALL ON SCHEMA named TO role_b;
GRANT CREATE ON DATABASE postgres TO role_a;
SQL
as_role($node, 'postgres', 'role_b',
	q{CREATE TABLE named.t (id int PRIMARY KEY, n int, c text); INSERT INTO named.t VALUES (1, 1, 'c')}
);
for my $call (q{split('named.t', '{c}', 'row_pointer')}, q{relink('named.t')}, q{merge('named.t')})
{
	my $session = $node->background_psql('postgres');
	$session->query_safe("BEGIN; SELECT vertical_partition.$call");
	is( attempt('role_a', 'ALTER SCHEMA named RENAME TO renamed', 'SET lock_timeout = 100;'),
		'canceling statement due to lock timeout',
		"$call blocks renaming of the schema");
	is(attempt('role_a', 'GRANT USAGE ON SCHEMA named TO role_c', 'SET lock_timeout = 2000;'),
		'ok', "$call does not block GRANT on the schema");
	$session->query_safe('COMMIT');
	$session->quit;
}
is(attempt('role_a', 'ALTER SCHEMA named RENAME TO renamed', 'SET lock_timeout = 2000;'),
	'ok', 'the schema can be renamed afterwards');
$node->safe_psql('postgres', 'REVOKE CREATE ON DATABASE postgres FROM role_a');

# Two schemas of role_a swap their names during a split.
security_database($node, 'swap', 'vertical_partition');
$node->safe_psql('swap', <<'SQL');
GRANT CREATE ON DATABASE swap TO role_a;
CREATE SCHEMA s1 AUTHORIZATION role_a;
CREATE SCHEMA s2 AUTHORIZATION role_a;
CREATE TABLE s2.t_hot (id int PRIMARY KEY, secret int);
GRANT SELECT, INSERT ON s2.t_hot TO role_c;
SQL
as_role($node, 'swap', 'role_a', <<'SQL');
CREATE FUNCTION role_a.swap() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF to_regclass('s1.t_hot') IS NOT NULL AND to_regclass('s1.t_cold') IS NOT NULL AND to_regclass('s3.t') IS NULL
		AND to_regclass('s2.t_hot') IS NOT NULL AND NOT (SELECT relhasindex FROM pg_class WHERE oid = to_regclass('s1.t_hot')) THEN
		RAISE LOG 'trap swap sprung as %', current_user;
		ALTER SCHEMA s1 RENAME TO s3;
		ALTER SCHEMA s2 RENAME TO s1;
	END IF;
	RETURN true;
END $$;
CREATE FUNCTION role_a.back() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF to_regclass('s3.t') IS NOT NULL THEN
		ALTER SCHEMA s1 RENAME TO s2;
		ALTER SCHEMA s3 RENAME TO s1;
	END IF;
	RETURN NULL;
END $$;
CREATE DOMAIN role_a.parsed AS int CHECK (role_a.swap());
CREATE TABLE s1.t (id int PRIMARY KEY, n int, c text, k int GENERATED ALWAYS AS (cardinality('{1}'::role_a.parsed[])) STORED);
INSERT INTO s1.t VALUES (1, 1, 'c');
CREATE TABLE s2.t (id int, n int, c text);
CREATE TABLE s2.t_cold (id int, c text);
CREATE TRIGGER b BEFORE INSERT ON s2.t_cold FOR EACH STATEMENT EXECUTE FUNCTION role_a.back();
SQL
my @swapped = sprung(
	$node,
	sub {
		(undef, undef, $error) =
		  $node->psql('swap', q{SELECT vertical_partition.split('s1.t', '{c,k}')});
	});
is("@swapped", 'swap as role_a', 'the schemas are swapped during the split');
is( $node->safe_psql(
		'swap',
		q{SELECT has_table_privilege('role_c', oid, 'SELECT') FROM pg_class WHERE relname = 't_hot' AND relowner <> 'role_a'::regrole}
	),
	't',
	"another owner's table keeps its privileges");
is( $node->safe_psql(
		'swap',
		q{SELECT count(*) FROM pg_class WHERE relname IN ('t_hot', 't_cold') AND relowner = 'role_a'::regrole}
	),
	$error =~ /ERROR/ ? 1 : 3,
	'the split is complete or not done') or diag $error;

# If the owner may not create tables in the schema, split() fails before it changes anything.
$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA closed;
GRANT USAGE ON SCHEMA closed TO PUBLIC;
CREATE TABLE closed.t (id int PRIMARY KEY, n int, c text);
ALTER TABLE closed.t OWNER TO role_a;
INSERT INTO closed.t VALUES (1, 1, 'c');
SQL
for my $role (undef, 'role_a')
{
	my $who = $role // 'the superuser';
	my ($rc, $stdout, $stderr) = $node->psql(
		'postgres',
		q{SELECT vertical_partition.split('closed.t', '{c}')},
		$role ? (extra_params => [ '-U', $role ]) : ());

	like(
		$stderr,
		qr/ERROR:  cannot split closed\.t\n.*DETAIL:  Its owner, role "role_a", has no CREATE privilege on schema "closed"/,
		"no CREATE on the schema: $who is refused");
	like(
		$stderr,
		qr/HINT:  GRANT CREATE ON SCHEMA closed TO role_a;/,
		"the error for $who has a hint");
}
is( $node->safe_psql('postgres', q{SELECT blockers[1] FROM vertical_partition.advise('closed.t')}),
	'its owner has no CREATE privilege on schema "closed"',
	'advise() names the reason');
$node->safe_psql('postgres',
	q{GRANT CREATE ON SCHEMA closed TO role_a; SELECT vertical_partition.split('closed.t', '{c}'); REVOKE CREATE ON SCHEMA closed FROM role_a}
);
like(
	attempt(undef, q{SELECT vertical_partition.merge('closed.t')}),
	qr/^cannot merge closed\.t/,
	'merge is refused as well');

# Default privileges of the owner give no other role access to the parts, and take no access from
# the owner.
as_role($node, 'postgres', 'role_a', <<'SQL');
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO role_c;
ALTER DEFAULT PRIVILEGES REVOKE SELECT, INSERT ON TABLES FROM role_a;
SQL
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE role_a.defaults (id int PRIMARY KEY, n int, c text);
ALTER TABLE role_a.defaults OWNER TO role_a;
SELECT vertical_partition.split('role_a.defaults', '{c}');
SQL
is( attempt('role_c', 'SELECT n FROM role_a.defaults_hot'),
	'permission denied for table defaults_hot',
	'default privileges give nobody access to the parts');
is(attempt('role_a', q{INSERT INTO role_a.defaults VALUES (1, 1, 'c')}),
	'ok', 'default privileges take no access from the owner');
$node->safe_psql('postgres', q{SELECT vertical_partition.merge('role_a.defaults')});
as_role($node, 'postgres', 'role_a',
	'ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM role_c; ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO role_a'
);

# The call of a role that owns nothing is refused before it waits for a lock.
as_role($node, 'postgres', 'role_a', <<'SQL');
CREATE TABLE role_a.own (id int PRIMARY KEY, n int, c text);
CREATE TABLE role_a.two (id int PRIMARY KEY, n int, c text);
SELECT vertical_partition.split('role_a.two', '{c}', 'row_pointer');
CREATE TABLE role_a.granted (n int);
ALTER TABLE role_a.granted ADD FOREIGN KEY (n) REFERENCES role_a.own NOT VALID;
GRANT SELECT ON role_a.granted TO role_c;
SQL
my $locks =
  hold('role_a', 'LOCK TABLE role_a.own, role_a.two_hot, role_a.two_cold IN ACCESS EXCLUSIVE MODE');
my %refused = (
	q{split('role_a.own', '{c}')} => 'must be owner of relation own',
	q{merge('role_a.two')} => 'must be owner of relation two',
	q{relink('role_a.two')} => 'must be owner of relation two',
	q{advise('role_a.own')} => 'permission denied for table role_a.own',
	q{advise_one('role_a.own', true)} => 'permission denied for table role_a.own',
	q{set_row_pointers('role_a.two_cold')} => 'must be owner of table two_cold',
	q{forget_row_pointers('role_a.two_cold')} => 'must be owner of table two_cold',
	q{lock('role_a.own'::regclass, NULL, true, NULL)} => 'must be owner of table own',
	q{lock('role_a.own'::regclass, 'role_a.granted'::regclass, true, NULL)} =>
	  'must be owner of table granted',
	q{lock_all(ARRAY['role_a.own'::regclass::oid], '{t}', true)} => 'must be owner of table own',
	q{execute_as('role_a'::regrole, 'SELECT 1')} => 'must be able to SET ROLE "role_a"',
	q{execute_as(1, 'SELECT 1')} => 'role with OID 1 does not exist',
	q{run('role_a'::regrole, '{SELECT 1}')} => 'must be able to SET ROLE "role_a"',
	q{define('role_a'::regrole, ARRAY[row(10, '', '{}', false, NULL, NULL, NULL, 'SELECT 1', NULL, NULL, NULL, NULL, NULL)::vertical_partition_internal.definition], 0, '{}', 0)}
	  => 'must be able to SET ROLE "role_a"',
	q{copy_rows('role_a'::regrole, 'role_a.own'::regclass, 'id', 'SELECT 1', '')} =>
	  'must be able to SET ROLE "role_a"',
	q{own('role_a.own'::regclass, 'role_a'::regrole)} => 'ok',    # has nothing to do
	q{own('role_a.granted'::regclass, 'role_a'::regrole)} => 'must be able to SET ROLE "role_a"',
	q{free_names('role_a.own'::regclass)} => 'must be able to SET ROLE "role_a"',
	q{check_not_in_use('role_a.own'::regclass)} => 'must be able to SET ROLE "role_a"',
	q{replace_foreign_key((SELECT oid FROM pg_constraint WHERE conname = 'granted_n_fkey'), '', 'role_a.own'::regclass, '')}
	  => 'must be owner of table granted',
	q{swap_foreign_key((SELECT oid FROM pg_constraint WHERE conname = 'granted_n_fkey'), 0)} =>
	  'must be able to SET ROLE "role_a"',
	q{declare_key('role_a.two')} => 'must be owner of view two',
	q{let_cascade('role_a.two'::regclass)} => 'must be able to SET ROLE "role_a"',
	q{hold_schema_name('role_a.own')} => 'must be owner of table own',
	q{validate_foreign_key((SELECT oid FROM pg_constraint WHERE conname = 'granted_n_fkey'))} =>
	  'must be owner of table granted',
	q{rename_columns('role_a.two')} => 'ok',    # nothing to rename
	q{check_parts('role_a.two', 'role_a.two_hot', 'role_a.two_cold')} =>
	  'must be owner of the parts of role_a.two',
	q{lock_relation('role_a.own', 'x', true)} => 'must be owner of relation own',
	q{reset_column_updates()} => 'permission denied for function reset_column_updates');
for my $call (sort keys %refused)
{
	my $for_users =
	  qr/^(split|merge|relink|advise|declare_key|forget_row_pointers|reset_column_updates)\(/;
	my $schema = $call =~ $for_users ? 'vertical_partition' : 'vertical_partition_internal';
	is(attempt('role_c', "SELECT $schema.$call", 'SET lock_timeout = 2000;'),
		$refused{$call}, "role_c: $call");
}
$locks->quit;

# Create a view of another owner that looks like the split view.
as_role($node, 'postgres', 'role_b', <<'SQL');
CREATE TABLE role_b.par (id int PRIMARY KEY);
CREATE TABLE role_b.ch (id int PRIMARY KEY, par int REFERENCES role_b.par ON DELETE CASCADE, c text);
INSERT INTO role_b.par SELECT generate_series(1, 9);
INSERT INTO role_b.ch SELECT i, i, 'c' FROM generate_series(1, 9) i;
SQL
# Create the split view before the view of role_a.
as_role($node, 'postgres', 'role_b', q{SELECT vertical_partition.split('role_b.ch', '{c}')});
my $definition = $node->safe_psql('postgres', q{SELECT pg_get_viewdef('role_b.ch')});
as_role($node, 'postgres', 'role_a', "CREATE VIEW role_a.ch AS $definition");
is( $node->safe_psql(
		'postgres', q{SELECT hot::text FROM vertical_partition_internal.layout('role_a.ch')}),
	'role_b.ch_hot',
	'the view looks like it');
# Entries of the split view come last in pg_depend.
as_role($node, 'postgres', 'role_b', "CREATE OR REPLACE VIEW role_b.ch AS $definition");
is(attempt('role_b', 'DELETE FROM role_b.par WHERE id = 1'),
	'ok', "foreign-key actions do not use another owner's view");
is($node->safe_psql('postgres', 'SELECT count(*) FROM role_b.ch_cold'),
	'8', 'foreign-key actions delete the cold row');
my $altering = hold('role_a', 'ALTER VIEW role_a.ch ALTER id SET DEFAULT 1');
is(attempt('role_b', 'DELETE FROM role_b.par WHERE id = 2', 'SET lock_timeout = 2000;'),
	'ok', "foreign-key actions do not wait for a lock on another owner's view");
is(attempt('role_b', 'TRUNCATE role_b.par CASCADE', 'SET lock_timeout = 2000;'),
	'ok', "TRUNCATE CASCADE does not wait for a lock on another owner's view");
$altering->quit;
as_role($node, 'postgres', 'role_b',
	q{INSERT INTO role_b.par VALUES (1); INSERT INTO role_b.ch VALUES (1, 1, 'c')});
is(attempt('role_b', 'DELETE FROM role_b.par'), 'ok', 'foreign-key actions use the split view');
# merge() and relink() on the view of role_a must not lock or use the parts of role_b.
my $using = hold('role_b', 'LOCK TABLE role_b.ch_hot IN ACCESS EXCLUSIVE MODE');
for my $function (qw(merge relink))
{
	like(
		attempt(
			undef,
			"SELECT vertical_partition.$function('role_a.ch')",
			'SET lock_timeout = 2000;'),
		qr/^split table role_a\.ch and its parts have different owners/,
		"$function by the superuser: parts of another owner are left alone");
}
$using->quit;

# No role can lock the table row_pointers, which all sessions read, or insert rows into it.
is( attempt(
		'role_c',
		'BEGIN; LOCK TABLE vertical_partition_internal.row_pointers IN ACCESS EXCLUSIVE MODE'),
	'permission denied for table row_pointers',
	'row_pointers cannot be locked');
is( attempt(
		'role_a',
		q{INSERT INTO vertical_partition_internal.row_pointers VALUES ('role_a.late_cold'::regclass, 1)}
	),
	'permission denied for table row_pointers',
	'row_pointers cannot be filled');
is( attempt('role_a', 'SELECT FROM vertical_partition_internal.row_pointers FOR UPDATE'),
	'permission denied for table row_pointers',
	'rows of row_pointers cannot be locked');

# CLUSTER of the whole database skips tables with pointers to their rows.
as_role($node, 'postgres', 'role_a', <<'SQL');
CREATE TABLE role_a.clustered (id int PRIMARY KEY);
CREATE INDEX late_clustering ON role_a.late_cold (c);
CLUSTER role_a.clustered USING clustered_pkey;
ALTER TABLE role_a.late_cold CLUSTER ON late_clustering;
INSERT INTO role_a.clustered VALUES (2), (1);
SQL
my $files =
  q{SELECT string_agg(pg_relation_filenode(oid)::text, ' ' ORDER BY relname) FROM pg_class WHERE relname IN ('clustered', 'late_cold')};
my @files_before = split / /, $node->safe_psql('postgres', $files);
for my $role (undef, 'role_a')
{
	my ($rc, $stdout, $stderr) =
	  $node->psql('postgres', 'CLUSTER VERBOSE', $role ? (extra_params => [ '-U', $role ]) : ());
	my @files_now = split / /, $node->safe_psql('postgres', $files);
	my $who = $role // 'the superuser';

	is($rc, 0, "CLUSTER by $who succeeds");
	like(
		$stderr,
		qr/WARNING:  skipping CLUSTER of "late_cold" --- a split table has pointers to its rows/,
		"CLUSTER by $who names the table that it skips");
	unlike(
		$stderr,
		qr/clustering "role_a.late_cold"/,
		"CLUSTER by $who skips a table with row pointers");
	isnt($files_now[0], $files_before[0], "CLUSTER by $who clusters other tables");
	is($files_now[1], $files_before[1],
		"CLUSTER by $who does not rewrite a table with row pointers");
	@files_before = @files_now;
}
is(attempt('role_c', 'CLUSTER'), 'ok', 'CLUSTER by a role that owns nothing succeeds');
is( attempt(undef, 'BEGIN; CLUSTER'),
	'CLUSTER cannot run inside a transaction block',
	'CLUSTER is refused in a transaction block, as always');

# Test names with quotes and backslashes, with both values of standard_conforming_strings.
for my $setting (qw(on off))
{
	my $name = q{role_a."t'\\ } . $setting . q{"};
	my $literal = "'" . $name =~ s/'/''/gr =~ s/\\/\\\\/gr . "'";

	as_role($node, 'postgres', 'role_a', <<"SQL");
CREATE TABLE $name ("i'\\d" int PRIMARY KEY, "n'" int DEFAULT 1, "c\\'" text DEFAULT E'\\\\''x' CHECK ("c\\'" <> E'\\\\'));
INSERT INTO $name VALUES (1), (2);
COMMENT ON COLUMN $name."c\\'" IS E'it''s \\\\ x';
SQL
	my $before = $node->safe_psql('postgres', "SELECT t FROM $name t");
	for my $method (@methods)
	{
		is( attempt(
				undef,
				"SELECT vertical_partition.split(E$literal, E'{\"c\\\\\\\\''\"}', '$method'); SELECT vertical_partition.merge(E$literal)",
				"SET standard_conforming_strings = $setting; SET escape_string_warning = off; SET client_min_messages = warning;"
			),
			'ok',
			"$method: names with quotes and backslashes, standard_conforming_strings $setting");
	}
	is($node->safe_psql('postgres', "SELECT t FROM $name t"), $before, 'the rows are the same');
	is($node->safe_psql('postgres', "SELECT col_description(E$literal\::regclass, 3)"),
		q{it's \\ x}, 'the comments are the same');
}

# An ordinary user who created the extension can drop it, with the views that depend on it.
$node->safe_psql('postgres',
	'CREATE DATABASE shared; GRANT CREATE ON DATABASE shared TO role_a, role_b');
as_role($node, 'shared', 'role_a', 'CREATE EXTENSION vertical_partition');
for my $role (qw(role_a role_b))
{
	as_role($node, 'shared', $role,
		"CREATE SCHEMA $role; CREATE TABLE $role.t (id int PRIMARY KEY, n int, c text); INSERT INTO $role.t VALUES (1, 1, 'c')"
	);
}
for my $role (undef, 'role_b')
{
	my $who = $role // 'the superuser';
	my ($rc, $stdout, $stderr) = $node->psql(
		'shared',
		q{SELECT vertical_partition.split('role_b.t', '{c}')},
		$role ? (extra_params => [ '-U', $role ]) : ());

	like(
		$stderr,
		qr/ERROR:  cannot split role_b\.t\nDETAIL:  Extension "vertical_partition" belongs to role "role_a", who could drop it/,
		"the extension belongs to an ordinary user: $who is refused");
}
is( $node->safe_psql('shared', q{SELECT blockers[1] FROM vertical_partition.advise('role_b.t')}),
	'extension "vertical_partition" belongs to role "role_a", who could drop the view',
	'advise() names the reason');
is(as_role($node, 'shared', 'role_a', q{SELECT vertical_partition.split('role_a.t', '{c}')}),
	't', 'the owner of the extension may split own tables');
$node->safe_psql('postgres', 'ALTER DATABASE shared OWNER TO role_a');
is(as_role($node, 'shared', 'role_b', q{SELECT vertical_partition.split('role_b.t', '{c}')}),
	't', 'an extension of the database owner can be used by all');

done_testing();
