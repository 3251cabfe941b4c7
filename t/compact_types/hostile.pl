# Check that hostile users cannot misuse the extension.  Hostile users create objects with the names
# of objects that statements of the extension use, choose names and comments that look like SQL,
# create types with the names of compact types before the extension does, and send binary input that
# no client sends.  No code of these users may run with the rights of another user, and the server
# must not crash.
use strict;
use warnings FATAL => 'all';

use File::Spec;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Security;

my $node = security_node('hostile');
my $superuser = $node->safe_psql('postgres', 'SELECT current_user');

#
# Types, functions and operators with the names of core's objects, in a schema that is first in the
# search_path
#
security_database($node, 'shadow');
$node->safe_psql('shadow',
	'GRANT CREATE ON SCHEMA public TO PUBLIC; ALTER DATABASE shadow SET search_path = public, pg_catalog'
);
my @types =
  qw(bool bpchar bytea cstring float8 int2 int4 int8 internal name numeric oid regclass regtype text timestamp timestamptz varchar void);
my @functions = (
	'quote_ident(text)', 'format_type(oid, int4)',
	'pg_get_viewdef(oid)', 'pg_describe_object(oid, oid, int4)',
	'obj_description(oid, name)', 'col_description(oid, int4)',
	'pg_get_userbyid(oid)', 'pg_has_role(oid, text)',
	'to_regclass(text)', 'pg_is_other_temp_schema(oid)',
	'length(text)', 'int4eq(int4, int4)',
	'btrim(text)', 'bttextcmp(text, text)',
	'hashtext(text)');
my @operators = (
	[ '=', 'oid', 'oid' ],
	[ '=', 'name', 'name' ],
	[ '=', 'name', 'text' ],
	[ '=', 'text', 'text' ],
	[ '=', 'int4', 'int4' ],
	[ '=', 'int8', 'int4' ],
	[ '=', 'int2', 'int4' ],
	[ '=', '"char"', '"char"' ],
	[ '=', 'bool', 'bool' ],
	[ '<>', 'oid', 'oid' ],
	[ '<>', '"char"', '"char"' ],
	[ '<>', 'name', 'name' ],
	[ '>', 'int4', 'int4' ],
	[ '>', 'int2', 'int4' ],
	[ '>=', 'int4', 'int4' ],
	[ '~', 'name', 'text' ],
	[ '~', 'text', 'text' ],
	[ '||', 'text', 'text' ],
	[ '<', 'bpchar', 'bpchar' ],
	[ '<', 'text', 'text' ],
	[ '+', 'int4', 'int4' ]);
my $shadows = join '', map {
	"CREATE DOMAIN public.$_ AS pg_catalog.int8 CHECK (role_a.trap('type $_'::pg_catalog.text, value) IS NOT NULL);\n"
} @types;
my $count = 0;
foreach my $function (@functions)
{
	my $args = $function =~ s/(?<=[(, ])(\w+)(?=[,)])/pg_catalog.$1/gr;

	$shadows .=
	  "CREATE FUNCTION public.$args RETURNS pg_catalog.text LANGUAGE sql AS \$\$ SELECT role_a.trap('function $function'::pg_catalog.text)::pg_catalog.text \$\$;\n";
}
foreach my $operator (@operators)
{
	my ($name, @args) = @$operator;

	$count++;
	@args = map { "pg_catalog.$_" } @args;
	$shadows .=
	  "CREATE FUNCTION public.shadow_$count($args[0], $args[1]) RETURNS pg_catalog.bool LANGUAGE sql AS \$\$ SELECT role_a.trap('operator $name'::pg_catalog.text) \$\$;\n"
	  . "CREATE OPERATOR public.$name (LEFTARG = $args[0], RIGHTARG = $args[1], FUNCTION = public.shadow_$count);\n";
}
as_role($node, 'shadow', 'role_a', $shadows);
is_deeply(
	[ sprung($node, sub { $node->safe_psql('shadow', q{SELECT 1 OPERATOR(public.=) 1}) }) ],
	["operator = as $superuser"],
	'an operator that shadows one of core runs its code');
$node->safe_psql('postgres', 'ALTER ROLE role_a NOSUPERUSER');
is_harmless(
	$node,
	sub {
		$node->safe_psql('shadow', <<'SQL');
CREATE EXTENSION compact_types;
CREATE EXTENSION compact_char9;
CREATE EXTENSION compact_decimal4_2;
SQL
	},
	[],
	'CREATE EXTENSION, with shadows');
as_role($node, 'shadow', 'role_a', <<'SQL');
SET search_path = pg_catalog;
CREATE TABLE role_a.t (id int PRIMARY KEY, c char(9) DEFAULT 'none' CHECK (c <> 'x'), n numeric(6,2), i int8, s varchar(20), at timestamp(0) DEFAULT '2026-01-01', v char(7));
INSERT INTO role_a.t SELECT g, 'c' || g, g, g, 'some text ' || g, timestamp '2026-01-01' + g * interval '1 s', 'v' FROM generate_series(1, 100) g;
CREATE INDEX ON role_a.t (c, i);
CREATE VIEW role_a.v AS SELECT c, n, i, length(s) AS len FROM role_a.t WHERE c <> 'x' AND i > 0;
CREATE VIEW role_a.w AS SELECT c || '!' AS c, n FROM role_a.v;
COMMENT ON VIEW role_a.v IS 'first';
GRANT SELECT ON role_a.v TO role_b;
SQL
is_harmless(
	$node,
	sub {
		$node->safe_psql('shadow', <<'SQL');
SELECT pid FROM compact_types.progress;
SELECT column_name FROM compact_types.advise('role_a.t'::pg_catalog.regclass, narrow => true);
SELECT relation FROM compact_types.advise();
SELECT proposed_type FROM compact_types.advise('role_a.t'::pg_catalog.regclass, train => true);
SELECT create_statement FROM compact_types.advise_table('role_a.t'::pg_catalog.regclass, narrow => true);
SELECT column_name FROM compact_types.convert('role_a.t'::pg_catalog.regclass, narrow => true);
SELECT * FROM compact_types.status;
SELECT compact_types.create_char(10);
SELECT compact_types.create_char(3000);
SQL
	},
	[],
	'functions of the extension, with shadows');
is( $node->safe_psql(
		'shadow',
		q{SET search_path = pg_catalog; SELECT string_agg(atttypid::regtype::text, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'role_a.t'::regclass AND attnum > 1}
	),
	'public.compact_char9 public.compact_decimal4_2 public.uint1 public.compact_text public.seconds4 public.compact_char7',
	'the columns are converted to the right types');
is_harmless(
	$node,
	sub {
		$node->safe_psql('shadow', <<'SQL');
SET search_path = pg_catalog, public;
INSERT INTO role_a.t (id) VALUES (1000);
SELECT c, n FROM role_a.w WHERE c OPERATOR(pg_catalog.~~) 'c%' ORDER BY c;
ANALYZE role_a.t;
EXPLAIN SELECT c FROM role_a.t WHERE c LIKE 'c1%' AND c = 'c12';
SQL
	},
	[],
	'the types, with shadows');

#
# Objects that exist before the extension
#
security_database($node, 'before');
$node->safe_psql('before',
	'GRANT CREATE ON SCHEMA public TO PUBLIC; GRANT CREATE ON DATABASE before TO role_a');
as_role($node, 'before', 'role_a', 'CREATE SCHEMA compact_types');
like(
	($node->psql('before', 'CREATE EXTENSION compact_types'))[2],
	qr/ERROR:  schema "compact_types" already exists/,
	'CREATE EXTENSION fails if the schema exists');
as_role($node, 'before', 'role_a',
	q{DROP SCHEMA compact_types; CREATE DOMAIN public.uint1 AS int CHECK (role_a.trap('domain'))});
like(
	($node->psql('before', 'CREATE EXTENSION compact_types'))[2],
	qr/ERROR:  type "uint1" already exists/,
	'CREATE EXTENSION fails if a type exists');
as_role($node, 'before', 'role_a', 'DROP DOMAIN public.uint1');
$node->safe_psql('before', 'CREATE EXTENSION compact_types');

foreach my $make (
	'DOMAIN public.compact_char9 AS char(9)',
	'TYPE public.compact_char9 AS (c char(9))',
	q{TYPE public.compact_char9 AS ENUM ('c')})
{
	as_role($node, 'before', 'role_a',
		"CREATE $make; CREATE TABLE role_a.t (c char(9)); INSERT INTO role_a.t VALUES ('c')");
	like(
		($node->psql('before', q{SELECT compact_types.convert('role_a.t', narrow => true)}))[2],
		qr/ERROR:  type "compact_char9" already exists/,
		"CREATE $make: the conversion fails");
	is( $node->safe_psql(
			'before',
			q{SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = 'role_a.t'::regclass AND attname = 'c'}
		),
		'character',
		"CREATE $make: it is not used as the type");
	as_role($node, 'before', 'role_a', 'DROP TABLE role_a.t; DROP ' . ($make =~ /^(\w+ \S+)/)[0]);
}
foreach my $sql (
	q{CREATE FUNCTION compact_types.create_char(text) RETURNS int LANGUAGE sql AS 'SELECT 1'},
	'ALTER SCHEMA compact_types RENAME TO other',
	'DROP SCHEMA compact_types CASCADE',
	'DROP TYPE uint1',
	'ALTER EXTENSION compact_types ADD SCHEMA role_a',
	q{CREATE OR REPLACE FUNCTION compact_types.convert_row(anyelement) RETURNS anyelement LANGUAGE sql AS 'SELECT $1'}
  )
{
	like((($node->psql('before', $sql, extra_params => [ '-U', 'role_a' ]))[2]),
		qr/ERROR:  (permission denied|must be owner)/, $sql);
}
# The owner of the extension is not the owner of its objects.
$node->safe_psql('before', 'DROP EXTENSION compact_types');
as_role($node, 'before', 'role_a', 'CREATE EXTENSION compact_types');
foreach my $sql (
	'ALTER SCHEMA compact_types RENAME TO other',
	'ALTER EXTENSION compact_types SET SCHEMA public',
	'ALTER EXTENSION compact_types DROP FUNCTION compact_types.create_char(int4)',
	'ALTER TYPE uint1 RENAME TO other',
	q{CREATE OR REPLACE FUNCTION compact_types.create_char(length int4) RETURNS regtype LANGUAGE sql AS 'SELECT role_a.trap(1)'}
  )
{
	like(
		(($node->psql('before', $sql, extra_params => [ '-U', 'role_a' ]))[2]),
		qr/ERROR:  (permission denied|must be owner|extension "compact_types" does not support SET SCHEMA)/,
		"the extension's owner: $sql");
}

#
# Names and comments that look like SQL, with both settings of standard_conforming_strings
#
security_database($node, 'names', 'compact_types');
my $odd = q{o'd"d\\};
$node->safe_psql('names',
	q{CREATE ROLE "r'o""le\\"; GRANT CREATE ON DATABASE names TO "r'o""le\\"});
foreach my $setting ('on', 'off')
{
	my $suffix = "$setting; DROP TABLE victim; --";
	my ($schema, $table, $column, $view, $view_column) =
	  map { (my $name = "$odd$_ $suffix") =~ s/"/""/g; qq("$name") } qw(s t c v w);
	my $literal = sub { my $l = shift; $l =~ s/'/''/g; return "'$l'" };
	my $comment = $literal->(qq{it's "\\' $suffix \\});

	$node->safe_psql('names', <<"SQL");
CREATE TABLE IF NOT EXISTS public.victim ();
CREATE SCHEMA $schema AUTHORIZATION "r'o""le\\";
SET ROLE "r'o""le\\";
CREATE TABLE $schema.$table (id int PRIMARY KEY, $column char(9) DEFAULT 'a\\b' CHECK ($column <> 'a\\''b'), n numeric(6,2));
INSERT INTO $schema.$table SELECT i, 'c' || i, i FROM generate_series(1, 20) i;
CREATE INDEX "i'n""dex\\$setting" ON $schema.$table ($column);
CREATE VIEW $schema.$view WITH (security_barrier) AS SELECT $column AS $view_column, 'a\\''b'::text AS x, $column <> 'a\\b' AS y FROM $schema.$table;
CREATE VIEW $schema.second AS SELECT $view_column FROM $schema.$view WHERE x <> E'\\\\''';
COMMENT ON VIEW $schema.$view IS $comment;
COMMENT ON COLUMN $schema.$view.$view_column IS $comment;
COMMENT ON COLUMN $schema.$table.$column IS $comment;
GRANT SELECT ($view_column) ON $schema.$view TO role_a;
GRANT SELECT ON $schema.$view TO role_b;
SQL
	my $describe = <<"SQL";
SELECT relname, relowner::regrole, relacl, reloptions, obj_description(oid), CASE relkind WHEN 'v' THEN regexp_replace(pg_get_viewdef(oid), '::(bpchar|text)\\M', '', 'g') END,
  (SELECT string_agg(concat_ws('|', attname, attacl, col_description(attrelid, attnum)), ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0)
FROM pg_class c WHERE relnamespace = ${\$literal->($schema)}::regnamespace ORDER BY relname;
SQL
	my $before = $node->safe_psql('names', $describe);
	my $call = sub {
		return "SET standard_conforming_strings = $setting; SET escape_string_warning = off; $_[0]";
	};
	my $oid =
	  "(SELECT oid::regclass FROM pg_class WHERE relkind = 'r' AND relnamespace = (SELECT max(relnamespace) FROM pg_class WHERE relname = 'second'))";
	my $advice = $node->safe_psql(
		'names',
		$call->(
			"SELECT count(*) FROM compact_types.advise($oid, narrow => true); SELECT statement IS NOT NULL FROM compact_types.advise_table($oid, narrow => true); SELECT column_name IS NULL, count(*) FROM compact_types.convert($oid, narrow => true) GROUP BY 1 ORDER BY 1"
		));
	is($advice, "3\nt\nf|2\nt|2", "standard_conforming_strings = $setting: the table is converted");
	is( $node->safe_psql('names', $describe) =~ s/::(compact_char9|bpchar|text)\b//gr,
		$before =~ s/::(compact_char9|bpchar|text)\b//gr,
		"standard_conforming_strings = $setting: owners, privileges, options and comments are the same"
	);
	is($node->safe_psql('names', 'SELECT count(*) FROM public.victim'),
		'0', "standard_conforming_strings = $setting: no name is executed as a statement");
	$node->safe_psql('names', "DROP SCHEMA $schema CASCADE");
}

# The schema of the extension may have such a name as well.
$node->safe_psql('postgres', 'CREATE DATABASE odd');
is($node->safe_psql('odd', <<'SQL'), 'name', 'an extension in a schema with a $ in its name');
CREATE SCHEMA app$types;
CREATE EXTENSION compact_types SCHEMA app$types;
SELECT 'name'::app$types.compact_text;
SQL

#
# Binary input: random bytes must give a valid value or an error.
#
security_database($node, 'input', 'compact_types', 'compact_char1', 'compact_char9',
	'compact_char64', 'compact_decimal4_2', 'compact_decimal8_4');
my $cases = 100;
srand(20260101);

sub random_bytes
{
	return join '', map { chr int rand 256 } 1 .. $_[0];
}
my @integers = split /\n/,
  $node->safe_psql('input',
	q{SELECT typname FROM pg_type WHERE typname ~ '^u?int[1-4]$' AND typnamespace <> 'pg_catalog'::regnamespace}
  );
cmp_ok(scalar(@integers), '>=', 4, 'there are narrow integers');
my %valid = (
	(map { $_ => pack({ 1 => 'n', 4 => 'Q>' }->{ substr($_, -1) } // 'N', 5) } @integers),
	'uint8' => pack('nnnn', 1, 0, 0, 0) . pack('n', 5),
	'seconds4' => pack('Q>', 1_000_000),
	'seconds4tz' => pack('Q>', 1_000_000),
	'compact_char1' => 'a',
	'compact_char9' => 'abc',
	'compact_char64' => "d\xc3\xa9j\xc3\xa0 vu",
	'compact_text' => 'the quick brown fox 12345',
	'compact_text(5)' => 'abc',
	'compact_decimal4_2' => pack('nnnn', 1, 0, 0, 2) . pack('n', 12),
	'compact_decimal8_4' => pack('nnnn', 2, 0, 0, 4) . pack('nn', 12, 3400));
my $dir = File::Spec->rel2abs($node->basedir . '/binary');
mkdir $dir;
$node->safe_psql('input', <<'SQL');
CREATE FUNCTION load(tab text, file text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('COPY %I FROM %L (FORMAT binary)', tab, file);
	RETURN '00000';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
SQL
my $log_offset = -s $node->logfile;
my $case = 0;

foreach my $type (sort keys %valid)
{
	my $name = $type =~ s/\W//gr;
	my @payloads = (
		$valid{$type}, '', "\0", "\xff" x 8,
		"\x80" . "\0" x 7, "\x7f" . "\xff" x 7, random_bytes(9000), "\xc0\x80",
		"a\0b", 'x' x 5000);

	while (@payloads < $cases)
	{
		my $payload = $valid{$type};

		if (rand() < 0.3) { $payload = random_bytes(int rand 40) }
		else
		{
			substr($payload, int(rand(length($payload) + 1)), int rand 2, random_bytes(int rand 3))
			  for 0 .. int rand 3;
		}
		push @payloads, $payload;
	}
	my $first = $case;
	foreach my $payload (@payloads)
	{
		append_to_file("$dir/$case",
				"PGCOPY\n\xff\r\n\0"
			  . pack('NN', 0, 0)
			  . pack('nN', 1, length $payload)
			  . $payload
			  . pack('n', 0xffff));
		$case++;
	}
	$node->safe_psql('input', "CREATE TABLE t_$name (v $type)");
	my $states = $node->safe_psql('input',
		"SELECT load('t_$name', '$dir/' || i) FROM generate_series($first, $case - 1) i");
	# The allowed errors are: text in an invalid encoding, a wrong length, a value out of range,
	# wrong binary data, and too little or too much binary data.
	unlike(
		$states,
		qr/^(?!00000|22021|22001|22003|22008|22P03|08P01|54000$)/m,
		"$type: all errors are those of wrong input");
	like($states, qr/^00000$/m, "$type: a valid value is accepted");
	like($states, qr/^[^0]/m, "$type: some values are refused") if $type !~ /^(compact_text)$/;
	is( $node->safe_psql(
			'input',
			"SELECT count(*) FROM t_$name WHERE v::text::$type IS DISTINCT FROM v OR v::text IS NULL OR NOT v = v"
		),
		'0',
		"$type: every accepted value is valid");
	is( $node->safe_psql('input',
			<<"SQL"), '0', "$type: accepted values are the same after binary output and input");
COPY t_$name TO '$dir/$name' (FORMAT binary);
CREATE TABLE u_$name (v $type);
COPY u_$name FROM '$dir/$name' (FORMAT binary);
SELECT count(*) FROM ((TABLE t_$name EXCEPT ALL TABLE u_$name) UNION ALL (TABLE u_$name EXCEPT ALL TABLE t_$name)) d;
SQL
}
unlike(
	substr(slurp_file($node->logfile), $log_offset),
	qr/TRAP|was terminated by signal|PANIC|cache lookup/,
	'the server has not crashed');

done_testing();
