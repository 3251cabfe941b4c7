# Check that no code runs with the rights of another user.
#
# - If a superuser calls advise() or convert() on a hostile owner's table, code on the table runs
#   only with the rights of that owner.
# - advise() and convert() do nothing before they have checked the privileges of the caller.
# - The owner of an extension could drop a column by dropping the extension of its type.  So a
#   column does not get a type if the owner of the type's extension may not drop the column anyway.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Security;

my $node = security_node('security', "session_preload_libraries = 'compact_types'\n");
my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
my $major = int($node->safe_psql('postgres', 'SHOW server_version_num') / 10000);

security_database($node, 'app', 'compact_types', 'compact_char9');
as_role($node, 'app', 'role_a', <<'SQL');
CREATE DOMAIN role_a.checked AS int CHECK (role_a.trap('domain', value) IS NOT NULL);
CREATE TYPE role_a.pair AS (a role_a.checked, b int);
SQL

# table(NAME, SQL) - make table role_a.NAME with a column c, for which advise() proposes
# compact_char9; then run the SQL, where T is the name of the table
sub table
{
	my ($name, $sql) = @_;

	$sql =~ s/\bT\b/role_a.$name/g;
	as_role($node, 'app', 'role_a', <<"SQL");
CREATE TABLE role_a.$name (id int PRIMARY KEY, c char(9));
INSERT INTO role_a.$name SELECT i, 'c' || i FROM generate_series(1, 20) i;
GRANT SELECT ON role_a.$name TO role_c;
$sql
SQL
	return;
}

# fails(ROLE, SQL, PATTERN, NAME[, DATABASE]) - check that the SQL fails for this role, with an
# error like PATTERN
sub fails
{
	my ($role, $sql, $pattern, $name, $database) = @_;
	my ($ret, $stdout, $stderr) =
	  $node->psql($database // 'app', $sql, extra_params => [ '-U', $role ]);

	isnt($ret, 0, "$name: fails");
	like($stderr, $pattern, $name);
	return;
}

# column_type(TABLE[, DATABASE]) - return the type of column c
sub column_type
{
	my ($table, $database) = @_;
	return $node->safe_psql(
		$database // 'app',
		"SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = '$table'::regclass AND attname = 'c'"
	);
}

#
# Every kind of code on the table, and the traps (functions of role_a that report the role that they
# run as) that advise() and convert() run:
#
#	KIND => [SQL, traps of advise(), traps of convert()]
#
my %triggers = map {
	my ($when, $level) = @$_;
	my $kind = lc "${when}_$level";
	$kind =~ s/ /_/g;
	$kind => [
		"CREATE TRIGGER trap $when INSERT OR UPDATE OR DELETE ON T FOR EACH $level EXECUTE FUNCTION role_a.trap_trigger('$kind')",
		[], []
	];
} ([ 'BEFORE', 'ROW' ], [ 'AFTER', 'ROW' ], [ 'BEFORE', 'STATEMENT' ], [ 'AFTER', 'STATEMENT' ]);
my %kinds = (
	%triggers,
	constraint_trigger => [
		q{CREATE CONSTRAINT TRIGGER trap AFTER INSERT OR UPDATE ON T DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
		EXECUTE FUNCTION role_a.trap_trigger('constraint_trigger')}, [], []
	],
	truncate_trigger => [
		q{CREATE TRIGGER trap AFTER TRUNCATE ON T EXECUTE FUNCTION role_a.trap_trigger('truncate')},
		[],
		[]
	],
	check => [ q{ALTER TABLE T ADD CHECK (role_a.trap('check', c::text) <> '')}, [], ['check'] ],
	check_constant => [
		q{ALTER TABLE T ADD CHECK (role_a.trap('check_constant') OR c = '')}, [],
		['check_constant']
	],
	check_domain =>
	  [ q{ALTER TABLE T ADD CHECK (c <> 'x' OR '{1}'::role_a.checked[] IS NULL)}, [], ['domain'] ],
	domain_column =>
	  [ q{ALTER TABLE T ADD x role_a.checked DEFAULT 1; UPDATE T SET x = 2}, [], [] ],
	default => [ q{ALTER TABLE T ADD x text DEFAULT role_a.trap('default', 'x'::text)}, [], [] ],
	default_domain => [ q{ALTER TABLE T ADD x role_a.checked[] DEFAULT '{1}'}, [], [] ],
	# These expressions call only built-in functions, one of which checks a domain.
	$major >= 17
	? ( default_json => [
			q{ALTER TABLE T ADD n int DEFAULT JSON_VALUE(jsonb '1', '$' RETURNING role_a.checked)},
			['domain'],
			['domain']
		])
	: (),
	generated => [
		q{ALTER TABLE T ADD g int GENERATED ALWAYS AS (role_a.trap('generated', id)) STORED},
		[], []
	],
	index => [ q{CREATE INDEX ON T ((role_a.trap('index', id)))}, [], ['index'] ],
	index_constant => [
		q{CREATE INDEX ON T ((role_a.trap('index', id)), (role_a.trap('constant', 1)))},
		[], [ 'constant', 'index' ]
	],
	index_unique => [
		q{CREATE UNIQUE INDEX ON T ((role_a.trap('unique', id)), (role_a.trap('constant', 1)))},
		[], [ 'constant', 'unique' ]
	],
	predicate =>
	  [ q{CREATE INDEX ON T (c) WHERE role_a.trap('predicate', id) > 0}, [], ['predicate'] ],
	predicate_constant => [
		q{CREATE INDEX ON T (c) WHERE role_a.trap('predicate_constant')}, [],
		['predicate_constant']
	],
	statistics => [
		q{CREATE STATISTICS role_a.stat ON (role_a.trap('statistics', c::text)), (role_a.trap('constant', 1)) FROM T; ANALYZE T},
		[],
		[ 'constant', 'statistics' ]
	],
	statistics_domain => [
		q{CREATE STATISTICS role_a.stat_domain ON (c::text || ('{1}'::role_a.checked[])::text), id FROM T},
		[],
		['domain']
	],
	rule => [ q{CREATE RULE trap AS ON UPDATE TO T DO ALSO SELECT role_a.trap('rule')}, [], [] ],
	policy => [
		q{CREATE POLICY trap ON T USING (role_a.trap('policy', id) > 0); ALTER TABLE T ENABLE ROW LEVEL SECURITY},
		[],
		[]
	],
	materialized_view => [
		q{CREATE MATERIALIZED VIEW role_a.mat AS SELECT role_a.trap('materialized', id) FROM T},
		[], []
	],
	view_column => [
		q{CREATE VIEW T_view AS SELECT id, c, role_a.trap('view', 1) FROM T WHERE role_a.trap('view')},
		[],
		[]
	],
	view => [
		q{CREATE VIEW T_view AS SELECT id, c, '{1}'::role_a.checked[] AS x FROM T}, [], ['domain']
	],
	view_row =>
	  [ q{CREATE VIEW T_view AS SELECT id, c, '(1,2)'::role_a.pair AS x FROM T}, [], ['domain'] ],
	view_chain => [
		q{CREATE VIEW T_view AS SELECT id, c FROM T; CREATE VIEW T_view2 AS SELECT c FROM T_view WHERE '{2}'::role_a.checked[] IS NOT NULL},
		[],
		['domain']
	],
	view_join => [
		q{CREATE VIEW T_view WITH (security_barrier) AS SELECT c, (SELECT '{3}'::role_a.checked[]) FROM T JOIN T o USING (c) GROUP BY c;
		COMMENT ON VIEW T_view IS 'joined'; GRANT SELECT ON T_view TO role_b; GRANT SELECT (c) ON T_view TO role_c},
		[], ['domain']
	],
	# convert() refuses these.
	refused_default =>
	  [ q{ALTER TABLE T ALTER c SET DEFAULT role_a.trap('default', 'x'::text)}, [], undef ],
	refused_generated => [
		q{ALTER TABLE T ADD g text GENERATED ALWAYS AS (role_a.trap('generated', c::text)) STORED},
		[],
		undef
	],
	refused_index => [
		q{CREATE INDEX ON T ((role_a.trap('index', c::text)), (role_a.trap('constant', 1)))},
		[], undef
	],
	refused_trigger => [
		q{CREATE TRIGGER trap BEFORE UPDATE OF c ON T FOR EACH ROW EXECUTE FUNCTION role_a.trap_trigger('of_column')},
		[],
		undef
	],
	refused_rule => [
		q{CREATE RULE trap AS ON UPDATE TO T WHERE new.c = 'x' DO ALSO SELECT role_a.trap('rule')},
		[],
		undef
	],
	refused_policy =>
	  [ q{CREATE POLICY trap ON T USING (role_a.trap('policy', c::text) <> '')}, [], undef ],
	refused_view => [
		q{CREATE VIEW T_view AS SELECT id, c, '{1}'::role_a.checked[] AS x FROM T;
		CREATE TRIGGER trap INSTEAD OF UPDATE ON T_view FOR EACH ROW EXECUTE FUNCTION role_a.trap_trigger('instead')},
		[], undef
	]);

foreach my $kind (sort keys %kinds)
{
	my ($sql, $advise, $convert) = @{ $kinds{$kind} };

	table("t_$kind", $sql =~ s/\bT_(view\d*)\b/role_a.${kind}_$1/gr);
	foreach my $function ('advise', 'advise_table')
	{
		is_harmless(
			$node,
			sub {
				$node->safe_psql('app',
					"SELECT count(*) FROM compact_types.$function('role_a.t_$kind')");
			},
			$advise,
			"$kind, $function() by a superuser");
		is_harmless(
			$node,
			sub {
				as_role($node, 'app', 'role_c',
					"SELECT count(*) FROM compact_types.$function('role_a.t_$kind')");
			},
			$advise,
			"$kind, $function() by a user who may read") unless $kind =~ /policy/;
	}
	if ($convert)
	{
		is_harmless(
			$node,
			sub {
				$node->psql('app',
					"SELECT count(*) FROM compact_types.convert('role_a.t_$kind', '{c}', narrow => true)"
				);
			},
			$convert,
			"$kind, convert() by a superuser");
		is(column_type("role_a.t_$kind"), 'compact_char9', "$kind: the column is converted");
	}
	else
	{
		is_harmless(
			$node,
			sub {
				$node->psql('app',
					"SELECT count(*) FROM compact_types.convert('role_a.t_$kind', '{c}', narrow => true)"
				);
			},
			[],
			"$kind, convert() by a superuser");
		is(column_type("role_a.t_$kind"), 'character', "$kind: the conversion is refused");
	}
}
is( $node->safe_psql(
		'app',
		q{SELECT relowner::regrole, obj_description(oid), reloptions, relacl IS NOT NULL FROM pg_class WHERE relname = 'view_join_view'}
	),
	'role_a|joined|{security_barrier=true}|t',
	'a view keeps owner, comment, options and privileges');
fails(
	'role_a',
	'CREATE EVENT TRIGGER trap ON ddl_command_end EXECUTE FUNCTION role_a.trap_trigger()',
	qr/permission denied|must be superuser|must return type event_trigger/,
	'CREATE EVENT TRIGGER by a table owner');

# Test functions that take no relation.
is_harmless(
	$node,
	sub {
		$node->safe_psql('app',
			q{SELECT compact_types.create_char(10); SELECT compact_types.create_decimal(4, 2); SELECT compact_types.convert_row(1)}
		);
	},
	[],
	'functions that create types');

#
# Code that changes the session of a superuser
#
as_role($node, 'app', 'role_a', <<'SQL');
CREATE FUNCTION role_a.sets(text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', 'role_a', false), set_config('compact_types.auto', 'on', false), set_config('datestyle', 'SQL, DMY', true);
	RETURN true;
END $$;
CREATE DOMAIN role_a.sets_domain AS text CHECK (role_a.sets(value));
CREATE FUNCTION role_a.equal(name, text) RETURNS boolean LANGUAGE sql AS $$ SELECT role_a.trap('operator') AND $1::text OPERATOR(pg_catalog.=) $2 $$;
CREATE OPERATOR role_a.= (LEFTARG = name, RIGHTARG = text, FUNCTION = role_a.equal);
CREATE FUNCTION role_a.escapes(text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	command text;
BEGIN
	FOREACH command IN ARRAY ARRAY['RESET ROLE', 'SET ROLE ' || quote_ident((SELECT rolname FROM pg_roles WHERE oid = 10)), 'SET SESSION AUTHORIZATION DEFAULT', 'CREATE TEMP TABLE left_behind (c char(9))',
		'DECLARE left_behind CURSOR WITH HOLD FOR SELECT 1', 'INSERT INTO role_a.deferred VALUES (1)'] LOOP
		BEGIN
			EXECUTE command;
			PERFORM role_a.act(command);
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
	END LOOP;
	RETURN true;
END $$;
CREATE DOMAIN role_a.escapes_domain AS text CHECK (role_a.escapes(value));
CREATE TABLE role_a.deferred (i int);
CREATE CONSTRAINT TRIGGER trap AFTER INSERT ON role_a.deferred DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION role_a.trap_trigger('deferred');
SQL
my $settings =
  q{SELECT current_user, current_setting('search_path'), current_setting('compact_types.auto'), current_setting('datestyle')};
table('sets_check', q{ALTER TABLE T ADD CHECK (role_a.sets(c::text))});
table('sets_view',
	q{CREATE VIEW role_a.sets_v AS SELECT c, '{x}'::role_a.sets_domain[] AS x FROM T; CREATE VIEW role_a.sets_w AS SELECT c FROM role_a.sets_v}
);
foreach my $table ('sets_check', 'sets_view')
{
	my $got;
	is_harmless(
		$node,
		sub {
			$got = (
				(   $node->psql(
						'app',
						"BEGIN; SELECT count(*) FROM compact_types.convert('role_a.$table', '{c}', narrow => true); $settings; COMMIT; $settings"
					))[1]) =~ s/^\d+\n//r;
		},
		[],
		"$table: settings that the code changes");
	is( $got,
		join("\n", (qq($superuser|"\$user", public|off|ISO, MDY)) x 2),
		"$table: the settings of the session are as before");
}
table('escapes_check', q{ALTER TABLE T ADD CHECK (role_a.escapes(c::text))});
table('escapes_view',
	q{CREATE VIEW role_a.escapes_v AS SELECT c, '{x}'::role_a.escapes_domain[] AS x FROM T});
foreach my $table ('escapes_check', 'escapes_view')
{
	is_harmless(
		$node,
		sub {
			$node->safe_psql('app',
				"SELECT count(*) FROM compact_types.convert('role_a.$table', '{c}', narrow => true)"
			);
		},
		[],
		"$table: objects that the code leaves in the session");
}

#
# Views of other owners
#
as_role($node, 'app', 'role_b', <<'SQL');
CREATE DOMAIN role_b.checked AS int CHECK (role_a.trap('domain_b', value) IS NOT NULL);
SQL
table('others', 'GRANT SELECT ON T TO role_b');
as_role($node, 'app', 'role_b',
	q{CREATE VIEW role_b.others AS SELECT c, '{1}'::role_b.checked[] AS x FROM role_a.others});
fails(
	'role_a',
	q{SELECT compact_types.convert('role_a.others', '{c}', narrow => true)},
	qr/DETAIL:  view role_b.others belongs to another user/,
	'convert() with a view of another owner');
my @got = sprung(
	$node,
	sub {
		$node->safe_psql('app',
			q{SELECT count(*) FROM compact_types.convert('role_a.others', '{c}', narrow => true)});
	});
is_deeply(\@got, ['domain_b as role_b'],
	'a view of another owner is created with the rights of that owner');
is( $node->safe_psql(
		'app', q{SELECT relowner::regrole FROM pg_class WHERE oid = 'role_b.others'::regclass}),
	'role_b',
	'the view still belongs to its owner');

# A view or a table stores a constant as a value.  convert() parses the text of the constant again.
# Then the type of the constant may call other code than when the owner of the view or the table
# wrote the constant.
table('constants', 'GRANT SELECT ON T TO role_b');
as_role($node, 'app', 'role_a', q{CREATE TYPE role_a.span AS RANGE (subtype = int4)});
foreach my $constant (
	q{'{4}'::role_a.checked[]}, q{'(4,1)'::role_a.pair},
	q{'{"(4,1)"}'::role_a.pair[]}, q{'[1,2)'::role_a.span},
	q{'{[1,2)}'::role_a.span_multirange})
{
	foreach my $owner ($superuser, 'role_b')
	{
		my ($type) = $constant =~ /::role_a\.(?:pair)?(\w*)/;

		$type = 'checked' if $type eq '';
		$type =~ s/_multirange//;
		my $view = $owner eq 'role_b' ? 'role_b.constants' : 'public.constants';
		as_role($node, 'app', $owner,
			"CREATE VIEW $view AS SELECT c FROM role_a.constants WHERE (SELECT $constant) IS NOT NULL"
		);
		$node->safe_psql('postgres', 'ALTER ROLE role_a NOSUPERUSER');
		is_harmless(
			$node,
			sub {
				fails(
					$superuser,
					q{SELECT compact_types.convert('role_a.constants', '{c}', narrow => true)},
					qr/DETAIL:  view $view has a constant of type role_a\.$type, which another user made/,
					"$owner\'s view with $constant");
			},
			[],
			"$owner\'s view with $constant");
		as_role($node, 'app', $owner, "DROP VIEW $view");
	}
}
$node->safe_psql('app', <<'SQL');
CREATE TABLE constants (id int PRIMARY KEY, c char(9) CHECK (c <> 'x' OR '{1}'::role_a.checked[] IS NULL));
INSERT INTO constants VALUES (1, 'c');
SQL
$node->safe_psql('postgres', 'ALTER ROLE role_a NOSUPERUSER');
is_harmless(
	$node,
	sub {
		fails(
			$superuser,
			q{SELECT compact_types.convert('public.constants', '{c}', narrow => true)},
			qr/DETAIL:  constraint constants_c_check on table public.constants has a constant of type role_a\.checked, which another user made/,
			'a constraint with a constant of a type of another user');
	},
	[],
	'a constraint with a constant of a type of another user');

# If the owner of a view could not create it any more, convert() fails before it rewrites rows.
$node->safe_psql('app',
	'CREATE SCHEMA shared; GRANT CREATE, USAGE ON SCHEMA shared TO role_a, role_b');
foreach my $privilege ('CREATE', 'USAGE')
{
	my $view = lc "lost_$privilege";
	table($view,
			q{ALTER TABLE T ADD CHECK (role_a.trap('check', c::text) <> '')}
		  . "; CREATE VIEW shared.$view AS SELECT c FROM T");
	$node->safe_psql('app', "REVOKE $privilege ON SCHEMA shared FROM role_a");
	is_harmless(
		$node,
		sub {
			fails(
				$superuser,
				"SELECT compact_types.convert('role_a.$view', '{c}', narrow => true)",
				qr/ERROR:  view shared\.$view cannot be created again by its owner\n.*DETAIL:  Role "role_a" has no $privilege privilege on schema "shared"\.\n.*HINT:  GRANT $privilege ON SCHEMA shared TO role_a;/s,
				"the owner of a view without $privilege");
		},
		[],
		"the owner of a view without $privilege");
	$node->safe_psql('app', "GRANT $privilege ON SCHEMA shared TO role_a");
	is_harmless(
		$node,
		sub {
			$node->psql('app',
				"SELECT count(*) FROM compact_types.convert('role_a.$view', '{c}', narrow => true)"
			);
		},
		['check'],
		"convert() succeeds with $privilege");
}
# Other missing privileges are found only when the view is created again.
table('lost', 'GRANT SELECT ON T TO role_b');
as_role($node, 'app', 'role_b', 'CREATE VIEW shared.lost AS SELECT c FROM role_a.lost');
$node->safe_psql('app', 'REVOKE USAGE ON SCHEMA role_a FROM PUBLIC');
fails(
	$superuser,
	q{SELECT compact_types.convert('role_a.lost', '{c}', narrow => true)},
	qr/ERROR:  view shared\.lost cannot be created again by its owner\n.*DETAIL:  permission denied for schema role_a\n.*HINT:  Grant role "role_b" the missing privilege/s,
	'a view on a schema that its owner cannot use any more');
$node->safe_psql('app', 'GRANT USAGE ON SCHEMA role_a TO PUBLIC');

# Names change during the conversion.  Then role_a can give the name of the table to another
# relation.  The view of role_b would show this other relation, with the privileges of role_b.
as_role($node, 'app', 'role_b',
	q{CREATE TABLE role_b.secret AS SELECT 1 AS id, 'secret'::char(9) AS c; GRANT USAGE ON SCHEMA role_b TO role_a}
);
table('swapped', <<'SQL');
GRANT SELECT ON T TO role_b;
CREATE FUNCTION role_a.swap(text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('application_name') = 'swap' THEN
		ALTER TABLE role_a.swapped RENAME TO swapped_away;
		CREATE VIEW role_a.swapped WITH (security_invoker) AS SELECT id, c FROM role_b.secret;
		GRANT SELECT ON role_a.swapped TO role_b;
	END IF;
	RETURN true;
END $$;
CREATE DOMAIN role_a.swaps AS text CHECK (role_a.swap(value));
CREATE VIEW role_a.swap_view AS SELECT c, '{x}'::role_a.swaps[] AS x FROM T;
SQL
$node->safe_psql('app', 'GRANT SELECT ON role_b.secret TO role_a');
as_role($node, 'app', 'role_b',
	'CREATE VIEW role_b.swapped AS SELECT c FROM role_a.swapped; GRANT SELECT ON role_b.swapped TO role_a'
);
fails(
	$superuser,
	q{SET application_name = 'swap'; SELECT compact_types.convert('role_a.swapped', '{c}', narrow => true)},
	qr/ERROR:  view role_b\.swapped would refer to other relations than before/,
	'convert() with a view that would refer to another relation');
is(column_type('role_a.swapped'), 'character', 'a failed conversion does not change the column');

# A view must not call a function that another user made for the new type.
$node->safe_psql('app', 'GRANT USAGE, CREATE ON SCHEMA shared TO role_a, role_b');
table('overloaded', 'GRANT SELECT ON T TO role_b');
as_role($node, 'app', 'role_b', <<'SQL');
CREATE FUNCTION shared.same(char) RETURNS text LANGUAGE sql RETURN $1::text;
CREATE FUNCTION shared.is_same(char, char) RETURNS boolean LANGUAGE sql RETURN $1 = $2;
CREATE OPERATOR shared.=== (LEFTARG = char, RIGHTARG = char, FUNCTION = shared.is_same);
CREATE VIEW role_b.overloaded AS SELECT c, shared.same(c) AS s FROM role_a.overloaded WHERE c OPERATOR(shared.===) c;
SQL
as_role($node, 'app', 'role_a',
	q{CREATE FUNCTION shared.same(compact_char9) RETURNS text LANGUAGE sql RETURN role_a.trap('overload', $1::text)}
);
fails(
	$superuser,
	q{SELECT compact_types.convert('role_a.overloaded', '{c}', narrow => true)},
	qr/ERROR:  view role_b\.overloaded would call other functions than before.*DETAIL:  The view would call shared\.same\(public\.compact_char9\)/s,
	'convert() with a view that would call a function for the new type');
as_role($node, 'app', 'role_a', <<'SQL');
DROP FUNCTION shared.same(compact_char9);
CREATE FUNCTION shared.is_same(compact_char9, compact_char9) RETURNS boolean LANGUAGE sql RETURN role_a.trap('overload');
CREATE OPERATOR shared.=== (LEFTARG = compact_char9, RIGHTARG = compact_char9, FUNCTION = shared.is_same);
SQL
fails(
	$superuser,
	q{SELECT compact_types.convert('role_a.overloaded', '{c}', narrow => true)},
	qr/ERROR:  view role_b\.overloaded would call other functions than before.*DETAIL:  The view would call shared\.is_same\(/s,
	'convert() with a view that would call an operator for the new type');
as_role($node, 'app', 'role_a', 'DROP OPERATOR shared.=== (compact_char9, compact_char9)');
$node->safe_psql('app',
	q{SELECT compact_types.convert('role_a.overloaded', '{c}', narrow => true)});
is($node->safe_psql('app', 'SELECT count(s) FROM role_b.overloaded'),
	'20', 'without these, the view calls its own functions');

# Names of a table can change as well, because convert() does not lock the schema of the table.
# When ALTER TABLE runs, the name that the caller gave to convert() is the name of another table.
$node->safe_psql('app', <<'SQL');
CREATE SCHEMA first;
CREATE TABLE first.renamed AS SELECT i AS id, 'c'::char(9) AS c FROM generate_series(1, 20) i;
CREATE VIEW first.renamed_view AS SELECT c FROM first.renamed;
CREATE SCHEMA second;
CREATE TABLE second.renamed AS SELECT i AS id, 'c'::char(9) AS c FROM generate_series(1, 20) i;
CREATE FUNCTION rename_schemas() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	ALTER SCHEMA first RENAME TO third;
	ALTER SCHEMA second RENAME TO first;
END $$;
CREATE EVENT TRIGGER rename ON ddl_command_end WHEN TAG IN ('DROP VIEW') EXECUTE FUNCTION rename_schemas();
SQL
fails(
	$superuser,
	q{SELECT compact_types.convert('first.renamed', '{c}', narrow => true)},
	qr/ERROR:  table first\.renamed was renamed at the same time/,
	'convert() of a table that was renamed');
$node->safe_psql('app', 'DROP EVENT TRIGGER rename');

# convert() cannot create a temporary view again as another user, because a security-restricted
# operation cannot create one.
table('fleeting', '');
is( $node->safe_psql(
		'app',
		q{SET client_min_messages = warning; CREATE TEMP VIEW fleeting AS SELECT c FROM role_a.fleeting;
	SELECT count(*) FROM compact_types.convert('role_a.fleeting', '{c}', narrow => true); SELECT count(*) FROM fleeting}
	),
	"2\n20",
	'convert() works with a temporary view of the caller');
table('fleeting_a', '');
fails(
	$superuser,
	q{SET ROLE role_a; CREATE TEMP VIEW fleeting AS SELECT c, '{1}'::role_a.checked[] AS x FROM role_a.fleeting_a; RESET ROLE;
	SELECT count(*) FROM compact_types.convert('role_a.fleeting_a', '{c}', narrow => true)},
	qr/DETAIL:  view fleeting is a temporary view of another user/,
	'convert() with a temporary view of another user');

#
# If a member of a role cannot SET ROLE to the role, the member does not have the attributes of the
# role, such as SUPERUSER, because attributes are not inherited.
#
SKIP:
{
	skip 'every member can SET ROLE before 16', 10 if $major < 16;
	$node->safe_psql('app', <<'SQL');
CREATE ROLE boss SUPERUSER;
CREATE ROLE role_d LOGIN;
GRANT boss TO role_d WITH INHERIT TRUE, SET FALSE;
CREATE SCHEMA role_d AUTHORIZATION role_d;
GRANT CREATE ON SCHEMA public TO role_d;
CREATE TABLE public.of_boss AS SELECT i AS id, 'c'::char(9) AS c FROM generate_series(1, 20) i;
ALTER TABLE public.of_boss OWNER TO boss;
SQL
	as_role($node, 'app', 'role_d', <<'SQL');
CREATE FUNCTION role_d.climb(text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RAISE LOG 'trap climb sprung as %', current_user;
	ALTER ROLE role_d SUPERUSER;
	RETURN true;
EXCEPTION WHEN insufficient_privilege THEN
	RETURN true;
END $$;
CREATE DOMAIN role_d.climbs AS text CHECK (role_d.climb(value));
ALTER TABLE public.of_boss ADD CHECK (role_d.climb(c::text));
CREATE TABLE role_d.t AS SELECT i AS id, 'c'::char(9) AS c FROM generate_series(1, 20) i;
GRANT USAGE ON SCHEMA role_d TO boss;
GRANT SELECT ON role_d.t TO boss;
SQL
	$node->safe_psql('app',
		'CREATE VIEW public.boss_view AS SELECT c, NULL::text[] AS x FROM role_d.t; ALTER VIEW public.boss_view OWNER TO boss'
	);
	as_role($node, 'app', 'role_d',
		q{CREATE OR REPLACE VIEW public.boss_view AS SELECT c, '{x}'::role_d.climbs[]::text[] AS x FROM role_d.t}
	);
	is_harmless(
		$node,
		sub {
			fails(
				'role_d',
				q{SELECT compact_types.convert('public.of_boss', '{c}', narrow => true)},
				qr/ERROR:  must be able to SET ROLE "boss"/,
				'convert() of a table of a role that is only inherited');
		},
		[],
		'convert() of a table of a role that is only inherited');
	is_harmless(
		$node,
		sub {
			fails(
				'role_d',
				q{SELECT compact_types.convert('role_d.t', '{c}', narrow => true)},
				qr/DETAIL:  view public\.boss_view belongs to role boss, which needs SET ROLE/,
				'convert() of a table with a view of a role that is only inherited');
		},
		[],
		'convert() of a table with a view of a role that is only inherited');
	$node->safe_psql('app', 'GRANT boss TO role_d WITH SET TRUE');
	is( as_role(
			$node,
			'app',
			'role_d',
			q{CREATE OR REPLACE VIEW public.boss_view AS SELECT c, NULL::text[] AS x FROM role_d.t; SELECT coalesce(column_name, relation::text) FROM compact_types.convert('role_d.t', '{c}', narrow => true)}
		),
		"c\nboss_view",
		'with SET ROLE, convert() of the table with the view succeeds');
	is( as_role(
			$node,
			'app',
			'role_d',
			q{ALTER TABLE public.of_boss DROP CONSTRAINT of_boss_c_check; SELECT column_name FROM compact_types.convert('public.of_boss', '{c}', narrow => true)}
		),
		'c',
		'with SET ROLE, convert() of the table succeeds');
}

#
# A user without privileges on a table gets an error, and takes no lock.
#
table('locked', 'REVOKE ALL ON T FROM role_c');
my $locker = $node->background_psql('app');
$locker->query_safe('BEGIN; LOCK TABLE role_a.locked');
foreach my $call (
	q{convert('role_a.locked')}, q{convert('role_a.locked', '{c}')},
	q{advise('role_a.locked')}, q{advise('role_a.locked', sample_pages => 0)},
	q{advise_table('role_a.locked')})
{
	fails(
		'role_c',
		"SET lock_timeout = '1s'; SELECT compact_types.$call",
		qr/ERROR:  (permission denied for table locked|must be owner of table locked)/,
		"$call without privileges, while the table is locked");
}
fails(
	$superuser,
	q{SET lock_timeout = '100ms'; SELECT compact_types.advise('role_a.locked', narrow => true)},
	qr/ERROR:  canceling statement due to lock timeout/,
	'advise() with privileges, which waits for the lock');
$locker->query_safe('ROLLBACK');
$locker->quit;
fails(
	'role_c',
	q{SELECT compact_types.create_char(11)},
	qr/ERROR:  permission denied/,
	'create_char() without privileges');
fails(
	'role_c',
	q{SELECT compact_types.create_decimal(4, 1)},
	qr/ERROR:  permission denied/,
	'create_decimal() without privileges');
fails(
	'role_c',
	q{SELECT compact_types.create_char(3000)},
	qr/ERROR:  must be superuser/,
	'create_char() with a length that is not installed, by an ordinary user');

#
# A user who can drop a type can drop its columns.  The extensions are trusted, so each role with
# the CREATE privilege on the database can own them.
#
# database(NAME, OWNER) - create a database where all roles may create extensions
sub database
{
	my ($name, $owner) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name OWNER $owner");
	$node->safe_psql($name, "GRANT CREATE ON DATABASE $name TO role_a, role_b");
	foreach my $role ('role_a', 'role_b')
	{
		as_role($node, $name, $role, <<"SQL");
CREATE SCHEMA $role;
GRANT USAGE ON SCHEMA $role TO PUBLIC;
CREATE TABLE $role.t (c char(9));
INSERT INTO $role.t VALUES ('c');
SQL
	}
	$node->safe_psql($name, q{CREATE TABLE t (c char(9)); INSERT INTO t VALUES ('c')});
	return;
}

# auto(DATABASE, ROLE, SQL) - run the SQL with compact_types.auto on; return the messages
sub auto
{
	my ($database, $role, $sql) = @_;
	return (
		$node->psql(
			$database, "SET compact_types.auto = on; $sql", extra_params => [ '-U', $role ]))[2];
}

my $extension_of_a =
  qr/DETAIL:  Extension "(compact_types|compact_char9)" belongs to role "role_a", who could drop it with all columns of its types\.\n.*HINT:  Let a superuser or the database owner/s;

# All extensions belong to role_a.
database('all_of_a', $superuser);
as_role($node, 'all_of_a', 'role_a', 'CREATE EXTENSION compact_char9 SCHEMA role_a CASCADE');
fails(
	'role_b',
	q{SELECT compact_types.convert('role_b.t', narrow => true)},
	qr/ERROR:  type role_a\.compact_char9 is not safe for a column of table "t".*$extension_of_a/s,
	'convert() to a type of another user',
	'all_of_a');
fails($superuser, q{SELECT compact_types.convert('role_b.t', narrow => true)},
	$extension_of_a, 'convert() by a superuser', 'all_of_a');
fails($superuser, q{SELECT compact_types.convert('public.t', narrow => true)},
	$extension_of_a, q{convert() of a superuser's table}, 'all_of_a');
foreach my $role ('role_b', $superuser)
{
	fails(
		$role,
		'SET search_path = role_b; SELECT compact_types.create_char(10)',
		qr/ERROR:  cannot create type "compact_char10" that depends on an extension of another role.*$extension_of_a/s,
		"$role: create_char()",
		'all_of_a');
	fails($role, 'SELECT compact_types.create_decimal(4, 2)',
		$extension_of_a, "$role: create_decimal()", 'all_of_a')
	  if $role eq $superuser;
	fails($role, 'CREATE EXTENSION compact_char10 SCHEMA role_b',
		$extension_of_a, "$role: CREATE EXTENSION", 'all_of_a');
}
fails($superuser, 'SELECT compact_types.create_char(3000)',
	$extension_of_a, 'create_char() with a length that is not installed', 'all_of_a');
my $notice =
  qr/^.*NOTICE:  column "c" of table "\w+" gets no compact type\nDETAIL:  Extension "compact_types" belongs to role "role_a".*HINT:  Let a superuser/s;
like(
	auto(
		'all_of_a', 'role_b',
		'SET client_min_messages = notice; CREATE TABLE role_b.auto (c char(9))'),
	$notice,
	'compact_types.auto gives a notice with the reason');
is(column_type('role_b.auto', 'all_of_a'),
	'character', 'compact_types.auto keeps the type of the column');
like(
	auto(
		'all_of_a',
		$superuser,
		'SET client_min_messages = notice; ALTER TABLE role_b.auto DROP c; ALTER TABLE role_b.auto ADD c char(9)'
	),
	$notice,
	'ALTER TABLE by another user gives the notice, too');
is(column_type('role_b.auto', 'all_of_a'),
	'character', 'ALTER TABLE by another user keeps the type of the column');
as_role($node, 'all_of_a', 'role_a',
	q{SELECT compact_types.convert('role_a.t', narrow => true); SELECT compact_types.create_char(11); SET compact_types.auto = on; CREATE TABLE role_a.auto (c char(9))}
);
is( column_type('role_a.t', 'all_of_a') . column_type('role_a.auto', 'all_of_a'),
	'role_a.compact_char9' x 2,
	q{the owner of an extension may use its types});
$node->safe_psql('all_of_a',
	'ALTER TABLE role_a.auto DROP c; SET compact_types.auto = on; ALTER TABLE role_a.auto ADD c char(9)'
);
is(column_type('role_a.auto', 'all_of_a'),
	'role_a.compact_char9', q{a superuser may use a type in a table of the extension's owner});
fails(
	'role_a',
	'DROP EXTENSION compact_types CASCADE',
	qr/ERROR:  cannot drop types of compact_types while columns use them.*DETAIL:  2 columns .*: role_a\.auto\.c, role_a\.t\.c\./s,
	'DROP EXTENSION while columns use its types',
	'all_of_a');
as_role($node, 'all_of_a', 'role_a',
	'SET compact_types.guard_drop = off; DROP EXTENSION compact_types CASCADE');
is( column_type('role_b.t', 'all_of_a')
	  . column_type('public.t', 'all_of_a')
	  . column_type('role_b.auto', 'all_of_a'),
	'character' x 3,
	'the owner may drop the extension, but no other user loses a column');

# compact_types belongs to a superuser, and one type belongs to role_a.
database('one_of_a', $superuser);
$node->safe_psql('one_of_a', 'CREATE EXTENSION compact_types');
as_role($node, 'one_of_a', 'role_a', 'CREATE EXTENSION compact_char9 SCHEMA role_a');
fails('role_b', q{SELECT compact_types.convert('role_b.t', narrow => true)},
	$extension_of_a, 'convert() to a type whose extension another user owns', 'one_of_a');
like(
	auto(
		'one_of_a', 'role_b',
		'SET client_min_messages = notice; CREATE TABLE role_b.auto (c char(9))'),
	qr/NOTICE:  column "c" of table "auto" gets no compact type/,
	'compact_types.auto keeps the type of the column and gives a notice');
as_role($node, 'one_of_a', 'role_b',
	'CREATE SCHEMA types; SET search_path = types; SELECT compact_types.create_char(10); SELECT compact_types.create_decimal(4, 2)'
);
# A member of a role may have a type in the role's tables, because the member could drop these
# tables as well.
$node->safe_psql('one_of_a', 'GRANT role_b TO role_a');
as_role($node, 'one_of_a', 'role_b', q{SELECT compact_types.convert('role_b.t', narrow => true)});
is(column_type('role_b.t', 'one_of_a'),
	'role_a.compact_char9', 'convert() succeeds if a member of the owning role owns the extension');
$node->safe_psql('one_of_a', 'REVOKE role_b FROM role_a');

# While convert() creates a view again, the owner of its schema cannot rename the schema.
$node->safe_psql('app', <<'SQL');
CREATE SCHEMA named AUTHORIZATION role_a;
CREATE SCHEMA named_view AUTHORIZATION role_a;
GRANT ALL ON SCHEMA named, named_view TO role_b;
GRANT CREATE ON DATABASE app TO role_a;
SQL
as_role($node, 'app', 'role_b', <<'SQL');
CREATE TABLE named.t (id int, c char(9));
INSERT INTO named.t VALUES (1, 'c');
CREATE VIEW named_view.v AS SELECT c FROM named.t;
SQL
my $naming = $node->background_psql('app');
$naming->query_safe(
	q{BEGIN; SELECT count(*) FROM compact_types.convert('named.t', narrow => true)});
for my $schema (qw(named named_view))
{
	like(
		(   (   $node->psql(
					'app',
					"SET lock_timeout = 100; ALTER SCHEMA $schema RENAME TO renamed",
					extra_params => [ '-U', 'role_a' ]))[2]),
		qr/canceling statement due to lock timeout/,
		"convert() locks the name of the schema $schema");
}
$naming->query_safe('COMMIT');
$naming->quit;
is( as_role(
		$node, 'app', 'role_a', q{SET lock_timeout = 2000; ALTER SCHEMA named RENAME TO renamed}),
	'',
	'the name can be changed after the conversion');

# The extension belongs to a superuser, but its schema, and later the type, belong to role_a.
database('in_a', $superuser);
$node->safe_psql('in_a',
	'CREATE EXTENSION compact_types; CREATE EXTENSION compact_char9 SCHEMA role_a');
fails(
	'role_b',
	q{SELECT compact_types.convert('role_b.t', narrow => true)},
	qr/DETAIL:  Schema "role_a" belongs to role "role_a", who could drop it with all columns of the types in it\./,
	'convert() to a type in a schema of another user',
	'in_a');
$node->safe_psql('in_a',
	'CREATE SCHEMA types; DROP EXTENSION compact_char9; CREATE EXTENSION compact_char9 SCHEMA types; ALTER TYPE types.compact_char9 OWNER TO role_a; GRANT USAGE ON SCHEMA types TO PUBLIC'
);
fails(
	'role_b',
	q{SELECT compact_types.convert('role_b.t', narrow => true)},
	qr/DETAIL:  Type types\.compact_char9 belongs to role "role_a", who could drop it with all columns of it\./,
	'convert() to a type that belongs to another user',
	'in_a');
$node->safe_psql('in_a', "ALTER TYPE types.compact_char9 OWNER TO \"$superuser\"");
as_role($node, 'in_a', 'role_b', q{SELECT compact_types.convert('role_b.t', narrow => true)});
is(column_type('role_b.t', 'in_a'),
	'types.compact_char9', 'convert() succeeds if a superuser owns the schema and the type');

# The schema of compact_types belongs to role_a.
$node->safe_psql('in_a',
	'SET compact_types.guard_drop = off; DROP EXTENSION compact_types CASCADE; CREATE EXTENSION compact_types SCHEMA role_a'
);
fails(
	$superuser,
	q{CREATE EXTENSION compact_char9},
	qr/DETAIL:  Schema "role_a" belongs to role "role_a"/,
	'CREATE EXTENSION with compact_types in a schema of another user', 'in_a');

# All extensions belong to the owner of the database, who could also drop the database.
database('of_owner', 'role_a');
as_role($node, 'of_owner', 'role_a', 'CREATE EXTENSION compact_char9 SCHEMA public CASCADE');
as_role($node, 'of_owner', 'role_b',
	q{SELECT compact_types.convert('role_b.t', narrow => true); CREATE SCHEMA types; SET search_path = types; SELECT compact_types.create_char(10)}
);
$node->safe_psql('of_owner', q{SELECT compact_types.convert('public.t', narrow => true)});
is( column_type('role_b.t', 'of_owner') . column_type('public.t', 'of_owner'),
	'compact_char9' x 2,
	q{all users may use types of extensions that belong to the database owner});

done_testing();
