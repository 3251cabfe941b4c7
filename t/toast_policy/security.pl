# Test toast_policy against a hostile owner of a table, and against a role that owns nothing.  Code
# of the owner must never run as another role.  A role without a privilege on a table must not wait
# for a lock on the table.  A value must not cost more time or memory than the limits allow.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Security;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $timeout = $PostgreSQL::Test::Utils::timeout_default;
my $node = security_node('main', "max_prepared_transactions = 10\nlock_timeout = 0\n");
security_database($node, 'postgres', 'toast_policy');
my ($major) = $node->safe_psql('postgres', 'SHOW server_version_num') =~ /^(\d\d)/;

#
# All kinds of code of the owner
#
as_role($node, 'postgres', 'role_a', <<'SQL');
SET search_path = role_a;
CREATE DOMAIN d AS text CHECK (trap('domain check', VALUE) IS NOT NULL);
CREATE TYPE r AS (a int, b text);
CREATE FUNCTION r_text(r) RETURNS text LANGUAGE sql AS $$SELECT trap('cast', $1.b)$$;
CREATE CAST (r AS text) WITH FUNCTION r_text(r) AS IMPLICIT;
CREATE FUNCTION text_equals(text, text) RETURNS boolean LANGUAGE sql AS $$SELECT trap('operator')$$;
CREATE OPERATOR = (FUNCTION = text_equals, LEFTARG = text, RIGHTARG = text);
CREATE FUNCTION diff(text, text) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$SELECT trap('range difference', 1::float8)$$;
CREATE TYPE texts AS RANGE (subtype = text, subtype_diff = diff);
CREATE TABLE hostile (
	id int DEFAULT trap('default', 1) PRIMARY KEY,
	body text CHECK (trap('check', body) IS NOT NULL),
	other d DEFAULT trap('domain default', 'other'::text),
	composite r,
	span texts,
	made text GENERATED ALWAYS AS (trap('generated', body)) STORED);
CREATE INDEX ON hostile (length(trap('index expression', body)));
CREATE INDEX ON hostile (left(body || trap('constant of an index expression', 'x'::text), 10));
CREATE INDEX ON hostile (id) WHERE trap('index predicate', id) > 0;
CREATE INDEX ON hostile (id) WHERE trap('constant of an index predicate');
CREATE INDEX ON hostile USING gist (span);
CREATE STATISTICS hostile_statistics ON (trap('statistics expression', id)), (id + 1) FROM hostile;
INSERT INTO hostile SELECT i, repeat(md5(i::text), 500), 'other', ROW(i, repeat('x', 5000))::r, texts('a', 'b') FROM generate_series(1, 100) i;
CREATE RULE hostile_insert AS ON INSERT TO hostile DO ALSO SELECT trap('insert rule');
CREATE RULE hostile_update AS ON UPDATE TO hostile DO ALSO SELECT trap('update rule');
CREATE POLICY hostile_policy ON hostile USING (trap('policy')) WITH CHECK (trap('policy check'));
CREATE VIEW hostile_view AS SELECT trap('view', body) AS body FROM hostile;
CREATE MATERIALIZED VIEW hostile_matview AS SELECT trap('materialized view', id) AS id, body FROM hostile;
CREATE UNIQUE INDEX ON hostile_matview (trap('index of a materialized view', id));
CREATE TABLE hostile_parted (id int, body text CHECK (trap('check of a partition', body) IS NOT NULL))
	PARTITION BY LIST ((trap('partition key', id) + trap('constant of a partition key', 0)));
CREATE TABLE hostile_part PARTITION OF hostile_parted FOR VALUES IN (1, 2);
CREATE TABLE hostile_rest PARTITION OF hostile_parted DEFAULT;
CREATE INDEX ON hostile_parted (length(trap('index expression of a partition', body)));
INSERT INTO hostile_parted SELECT i, repeat(md5(i::text), 500) FROM generate_series(1, 4) i;
SQL
for my $table ('hostile', 'hostile_part')
{
	as_role(
		$node,
		'postgres',
		'role_a',
		join '',
		map {
			my ($when, $what) = split / /;

			map {
				"CREATE TRIGGER ${when}_${what}_$_ $when $what ON role_a.$table FOR EACH $_ EXECUTE FUNCTION role_a.trap_trigger('$when $what $_');\n"
			} $what eq 'TRUNCATE' ? 'STATEMENT' : ('ROW', 'STATEMENT');
		} map {
			my $what = $_;
			map { "$_ $what" } 'BEFORE', 'AFTER'
		} qw(INSERT UPDATE DELETE TRUNCATE));
}
as_role($node, 'postgres', 'role_a',
	'ALTER TABLE role_a.hostile ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY');

# Check that REINDEX of the stock server evaluates all this code as the owner.  Otherwise the test
# would prove nothing.
my @rebuilt = (
	'index expression',
	'constant of an index expression',
	'index predicate',
	'constant of an index predicate');
my @rebuilt_part = ('index expression of a partition');
my @rebuilt_matview = ('index of a materialized view');

# superuser(SQL) - return code that runs SQL as superuser, once as usual, and once with a search
# path that finds functions and operators of the owner first
sub superuser
{
	my ($sql) = @_;

	return sub {
		$node->safe_psql('postgres', $sql);
		$node->safe_psql('postgres', "SET search_path = role_a, pg_catalog, public; $sql");
	};
}

# refused(SQL) - return code that runs SQL as superuser; the SQL may fail, if no code of the owner
# runs
sub refused
{
	my ($sql) = @_;

	return sub { $node->psql('postgres', $sql) };
}

my @matrix = (
	[ 'enable()', superuser(q{SELECT toast_policy.enable('role_a.hostile')}), [] ],
	[
		'enable() with columns',
		superuser(
			q{SELECT toast_policy.enable('role_a.hostile', 'body', 'other', 'composite', 'span', 'made')}
		),
		[]
	],
	[
		'compare()',
		superuser(
			join ';',
			map { "SELECT count(*) FROM toast_policy.compare('role_a.hostile', '$_')" }
			  qw(body other composite span made)),
		[]
	],
	[
		'advise()',
		superuser(
			q{SELECT count(*) FROM toast_policy.advise('role_a.hostile', '{body,other,composite,span,made}'); SELECT count(*) FROM toast_policy.advise('role_a.hostile')}
		),
		[]
	],
	[ 'advise() about all tables', superuser(q{SELECT count(*) FROM toast_policy.advise()}), [] ],
	[ 'views', superuser(q{TABLE toast_policy.status; TABLE toast_policy.progress}), [] ],
	[ 'recompress()', superuser(q{SELECT toast_policy.recompress('role_a.hostile')}), \@rebuilt ],
	[
		'recompress() of all values',
		superuser(
			q{SET toast_policy.lz4_level = 9; SET toast_policy.min_saved_chunks = 0; SELECT toast_policy.recompress('role_a.hostile')}
		),
		\@rebuilt
	],
	[
		'stats',
		superuser(q{SELECT count(*) FROM toast_policy.stats; SELECT toast_policy.reset_stats()}), []
	],
	[
		'disable()',
		superuser(
			q{SELECT toast_policy.enable('role_a.hostile'); SELECT toast_policy.disable('role_a.hostile')}
		),
		[]
	],
	[
		'enable() of partitions',
		superuser(q{SELECT toast_policy.enable('role_a.hostile_parted')}), []
	],
	[
		'compare() of partitions',
		superuser(q{SELECT count(*) FROM toast_policy.compare('role_a.hostile_parted', 'body')}), []
	],
	[
		'advise() about partitions',
		superuser(q{SELECT count(*) FROM toast_policy.advise('role_a.hostile_parted', '{body}')}),
		[]
	],
	[
		'recompress() of partitions',
		superuser(q{SELECT toast_policy.recompress('role_a.hostile_parted')}),
		\@rebuilt_part
	],
	[
		'enable() of a materialized view',
		superuser(q{SELECT toast_policy.enable('role_a.hostile_matview')}), []
	],
	[
		'recompress() of a materialized view',
		superuser(q{SELECT toast_policy.recompress('role_a.hostile_matview')}),
		\@rebuilt_matview
	],
	[
		'disable_all()',
		superuser(
			q{SELECT toast_policy.enable('role_a.hostile'); SELECT toast_policy.disable_all()}),
		[]
	],
	(   map   { my $call = $_; [ "$call of a view", refused("SELECT $call"), [] ] }
		  map { "toast_policy.$_" } q{enable('role_a.hostile_view')},
		q{disable('role_a.hostile_view')},
		q{recompress('role_a.hostile_view')},
		q{advise('role_a.hostile_view')}));
is_harmless($node, $_->[1], $_->[2], $_->[0]) for @matrix;
is( $node->safe_psql(
		'postgres',
		q{SELECT count(*) FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE amname = 'toast_policy'}
	),
	'0',
	'all tables became governed and were given back');



#
# The call of a role that owns nothing is refused before it waits for a lock
#
as_role($node, 'postgres', 'role_a', "SELECT toast_policy.enable('role_a.hostile')");
as_role($node, 'postgres', 'role_b', <<'SQL');
CREATE TABLE role_b.part (id int, body text);
GRANT ALL ON SCHEMA role_b TO role_a;
SQL
as_role($node, 'postgres', 'role_a',
	'CREATE TABLE role_a.mixed (id int, body text) PARTITION BY LIST (id)');
$node->safe_psql('postgres',
	'ALTER TABLE role_a.mixed ATTACH PARTITION role_b.part FOR VALUES IN (1)');
# One role may read another column, and row-level security hides rows from another role.
$node->safe_psql('postgres',
	q{CREATE ROLE role_d LOGIN; GRANT SELECT (id) ON role_a.hostile TO role_d; CREATE ROLE role_e LOGIN; GRANT SELECT ON role_a.hostile TO role_e}
);
$node->safe_psql('postgres',
	"BEGIN; LOCK TABLE role_a.hostile, role_a.hostile_parted, role_b.part; PREPARE TRANSACTION 'locks'"
);

# denied(ROLE, SQL...) - check that each statement is refused at once
sub denied
{
	my ($role, @sql) = @_;

	for my $sql (@sql)
	{
		my ($ret, $stdout, $stderr) =
		  $node->psql('postgres', "SET lock_timeout = '5s'; $sql", extra_params => [ '-U', $role ]);

		like($stderr, qr/ERROR:  (permission denied for|must be owner of) /, "$role: $sql");
	}
	return;
}

my @all = map {
	my $table = $_;
	map { "SELECT toast_policy.$_" } "enable('role_a.$table')", "enable('role_a.$table', 'body')",
	  "disable('role_a.$table')", "recompress('role_a.$table')", "compare('role_a.$table', 'body')",
	  "advise('role_a.$table')", "advise('role_a.$table', '{nothing}')"
} qw(hostile hostile_parted);
denied($_, @all, 'SELECT toast_policy.disable_all()', 'SELECT toast_policy.reset_stats()')
  for qw(role_b role_c);
denied('role_a', map { "SELECT toast_policy.$_('role_a.mixed')" } qw(enable disable recompress));
denied(
	'role_d',
	q{SELECT toast_policy.compare('role_a.hostile', 'body')},
	q{SELECT toast_policy.advise('role_a.hostile', '{body}')});
my ($ret, $stdout, $stderr) = $node->psql(
	'postgres',
	q{SET lock_timeout = '5s'; SELECT toast_policy.compare('role_a.hostile', 'body')},
	extra_params => [ '-U', 'role_e' ]);
like(
	$stderr,
	qr/ERROR:  row-level security hides rows/,
	'a role from which row-level security hides rows is refused');
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'locks'});

#
# Another table gets the name before the name is looked up
#
$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA a_swap AUTHORIZATION role_a;
CREATE SCHEMA b_swap AUTHORIZATION role_a;
CREATE TABLE a_swap.t (id int, body text);
CREATE TABLE b_swap.t (id int, body text);
ALTER TABLE a_swap.t OWNER TO role_a;
ALTER TABLE b_swap.t OWNER TO role_b;
CREATE FUNCTION swap() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('test.swap', true) = 'on' THEN
		PERFORM set_config('test.swap', 'off', false);
		ALTER SCHEMA a_swap RENAME TO c_swap;
		ALTER SCHEMA b_swap RENAME TO a_swap;
	END IF;
END $$;
CREATE EVENT TRIGGER swap ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION swap();
SQL
($ret, $stdout, $stderr) =
  $node->psql('postgres', q{SET test.swap = 'on'; SELECT toast_policy.enable('a_swap.t')});
like(
	$stderr,
	qr/ERROR:  relation with OID \d+ was renamed or altered meanwhile/,
	'a schema that is swapped meanwhile is an error');
is( $node->safe_psql(
		'postgres',
		q{SELECT string_agg(attrelid::regclass || ' ' || attstorage::text, ', ' ORDER BY attrelid::regclass::text) FROM pg_attribute WHERE attname = 'body' AND attrelid::regclass::text ~ 'swap'}
	),
	'a_swap.t x, b_swap.t x',
	'no table has changed');
$node->safe_psql('postgres', q{DROP EVENT TRIGGER swap});

#
# Names with quotes and backslashes, which could inject SQL
#
for my $strings ('on', 'off')
{
	my $set =
	  "SET standard_conforming_strings = $strings; SET backslash_quote = on; SET escape_string_warning = off;";
	my $schema = qq{"s""'\\'; SELECT role_a.act('quote') --"};
	my $quoted =
	  $strings eq 'on'
	  ? q{"s""''\''; SELECT role_a.act(''quote'') --"}
	  : q{"s""''\\\\''; SELECT role_a.act(''quote'') --"};
	my $table = $strings eq 'on' ? q{"t\""''; --"} : q{"t\\\\""''; --"};
	my $column = $strings eq 'on' ? q{c\"''; --} : q{c\\\\"''; --};

	$node->safe_psql('postgres', "CREATE SCHEMA $schema AUTHORIZATION role_a");
	as_role($node, 'postgres', 'role_a',
		qq{CREATE TABLE $schema."t\\""'; --" (id int, "c\\""'; --" text, "C d" bytea); INSERT INTO $schema."t\\""'; --" VALUES (1, repeat('x', 9000))}
	);
	is_harmless(
		$node,
		sub {
			$node->safe_psql('postgres', "$set\nSELECT toast_policy.$_")
			  for "enable('$quoted.$table')", "disable('$quoted.$table')",
			  "enable('$quoted.$table', '$column', 'C d')",
			  "compare('$quoted.$table', '$column')", "recompress('$quoted.$table')",
			  'disable_all()';
		},
		[],
		"quotes in names, standard_conforming_strings $strings");
	$node->safe_psql('postgres', "DROP SCHEMA $schema CASCADE");
}

#
# Limits for time and memory of a value
#
as_role($node, 'postgres', 'role_a',
	q{CREATE TABLE role_a.hard AS SELECT string_agg(md5(i::text), '') AS t FROM generate_series(1, 600000) i; CREATE TABLE role_a.scanned AS SELECT generate_series(1, 2)}
);

# level(ROLE, SQL) - run SQL as the role; return output and messages
sub level
{
	my ($role, $sql, @params) = @_;
	my ($ret, $stdout, $stderr) =
	  $node->psql('postgres', $sql, extra_params => [ '-U', $role ], @params);

	return $stdout . ($stderr eq '' ? '' : "\n$stderr");
}

my $load = q{SELECT toast_policy.codec('x'::ztext);};
my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
like(
	level('role_a', "$load SET toast_policy.zstd_level = 20"),
	qr/ERROR:  permission denied to set parameter "toast_policy.zstd_level" to 20/,
	'a user may not set level 20');
like(
	level('role_a', "$load SELECT set_config('toast_policy.zstd_level', '22', false)"),
	qr/ERROR:  permission denied to set parameter/,
	'a user may not set level 22 by set_config()');
like(
	level('role_a', "$load ALTER ROLE role_a SET toast_policy.zstd_level = 22"),
	qr/ERROR:  permission denied to set parameter/,
	'a user may not set level 22 for a role');
like(
	level('role_a', 'ALTER ROLE role_a SET toast_policy.zstd_level = 22'),
	qr/ERROR:  permission denied to set parameter/,
	'a user may not set level 22 for a role before the library is loaded');
like(
	level(
		'role_a',
		"$load CREATE FUNCTION role_a.f() RETURNS void LANGUAGE sql SET toast_policy.zstd_level = 22 AS ''"
	),
	qr/ERROR:  permission denied to set parameter/,
	'a user may not set level 22 for a function');
like(
	level('role_a', "SET toast_policy.zstd_level = 22; $load SHOW toast_policy.zstd_level"),
	qr/^none\n3\n.*WARNING:  permission denied to set parameter/s,
	'a level set before the library is loaded is reset');
like(
	level(
		'role_a',
		"BEGIN; SET LOCAL toast_policy.zstd_level = 22; $load SHOW toast_policy.zstd_level"),
	qr/^none\n3\n/,
	'a level set by SET LOCAL before the library is loaded is reset');
$node->safe_psql('postgres',
	q{CREATE FUNCTION load() RETURNS text LANGUAGE sql SECURITY DEFINER AS $$SELECT toast_policy.codec('x'::ztext)$$}
);
like(
	level(
		'role_a', "SET toast_policy.zstd_level = 22; SELECT load(); SHOW toast_policy.zstd_level"),
	qr/^none\n3\n/,
	'a level is reset if a function of a superuser loads the library');
like(level('role_a', "$load SET toast_policy.zstd_level = 19; SHOW toast_policy.zstd_level"),
	qr/^none\n19$/, 'any user may set level 19');
{
	local $ENV{PGOPTIONS} = '-c toast_policy.zstd_level=22';
	like(level('role_a', "$load SHOW toast_policy.zstd_level"),
		qr/^none\n3\n/, 'connection options of a user cannot set level 22');
	like(level($superuser, "$load SHOW toast_policy.zstd_level"),
		qr/^none\n22$/, 'connection options of a superuser can set level 22');
}
like(
	level(
		$superuser,
		"$load SET toast_policy.zstd_level = 22; SET ROLE role_a; SHOW toast_policy.zstd_level"),
	qr/^none\n22$/,
	'a level set by a superuser stays after SET ROLE');
my $parallel = <<"SQL";
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET @{[ $major >= 16 ? 'debug_parallel_query' : 'force_parallel_mode' ]} = on;
SELECT count(*) FROM role_a.scanned;
SQL
for my $for ('ROLE role_a', 'DATABASE postgres', 'ROLE role_a IN DATABASE postgres')
{
	for my $first ($load, '')
	{
		$node->safe_psql('postgres', "$first ALTER $for SET toast_policy.zstd_level = 21");
		is(level('role_a', "$load SHOW toast_policy.zstd_level"),
			"none\n21", "a level that a superuser sets for $for is in force");
		is( level(
				'role_a',
				"$load SET toast_policy.zstd_level = 1; RESET toast_policy.zstd_level; SHOW toast_policy.zstd_level"
			),
			"none\n21",
			"RESET gives the level set for $for");
	}
	like(
		level('role_a', qq{$load SET toast_policy.zstd_level = 22; }),
		qr/ERROR:  permission denied to set parameter/,
		'a user may not set a higher level than the one set for the role');
	is(level('role_a', "$load $parallel"), "none\n2", 'a parallel worker can use the level');
	$node->safe_psql('postgres', "ALTER $for RESET toast_policy.zstd_level");
}
$node->safe_psql('postgres', "$load GRANT SET ON PARAMETER toast_policy.zstd_level TO role_b");
like(level('role_b', "$load SET toast_policy.zstd_level = 22; SHOW toast_policy.zstd_level"),
	qr/^none\n22$/, 'a role with the privilege may set level 22');

is(level($superuser, "$load SET toast_policy.zstd_level = 22; SET ROLE role_a; $parallel"),
	"none\n2", 'a parallel worker takes over a level of a superuser');

# A statement timeout also takes effect while a value is compressed, and then the memory of zstd is
# freed.  Count the processor time of the process, in hundredths of a second, because other processes
# can delay it.
my $cpu =
  q{(SELECT s[14]::int + s[15]::int FROM string_to_array(pg_read_file('/proc/' || pg_backend_pid() || '/stat'), ' ') s)};
for my $level (19, 22)
{
	my $out = level($superuser, <<"SQL", on_error_stop => 0);
$load
SET toast_policy.early_abort = off;
SET toast_policy.zstd_level = $level;
SELECT $cpu AS begin \\gset
SET statement_timeout = '500ms';
SELECT octet_length(t::ztext(zstd)) FROM role_a.hard;
SET statement_timeout = 0;
SELECT CASE WHEN $cpu - :begin < 300 THEN 'soon' ELSE 'late: ' || ($cpu - :begin) END;
SELECT CASE WHEN kb < 60000 THEN 'lean' ELSE 'fat: ' || kb END
FROM (SELECT (regexp_match(pg_read_file('/proc/' || pg_backend_pid() || '/status'), 'RssAnon:\\s+(\\d+) kB'))[1]::int AS kb) x;
SQL
	like(
		$out,
		qr/canceling statement due to statement timeout/,
		"level $level: statement_timeout cancels compression");
	like($out, qr/^soon$/m, "level $level: the timeout works soon");
	like($out, qr/^lean$/m, "level $level: the memory is freed");
}

# Large values are decompressed in pieces.  Results and errors must be the same as without pieces.
is( $node->safe_psql('postgres',
		<<'SQL'), "t|t|t\nt|t|t", 'large values are decompressed without change');
SET toast_policy.early_abort = off;
SET toast_policy.zstd_level = 1;
CREATE CAST (ztext AS bytea) WITHOUT FUNCTION;
CREATE CAST (bytea AS ztext) WITHOUT FUNCTION;
CREATE TABLE large AS SELECT t, t::ztext(zstd) AS z FROM (SELECT t || reverse(t) AS t FROM role_a.hard UNION ALL SELECT repeat('x', 100000000)) x;
SELECT toast_policy.codec(z) = 'zstd', octet_length(z) > 33554432, z::text = t FROM large;
SQL
is( $node->safe_psql('postgres',
		<<'SQL'), 'compressed value is corrupt|compressed value is corrupt|compressed value is corrupt|38400000', 'large corrupt values raise an error');
CREATE FUNCTION judge(value bytea) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN octet_length((value::ztext)::text);
EXCEPTION WHEN data_corrupted THEN
	RETURN SQLERRM;
END $$;
SELECT judge(substr(b, 1, length(b) - 1)), judge(b || '\x00'), judge(substr(b, 1, length(b) / 2)), judge(b)
FROM (SELECT z::bytea AS b FROM large LIMIT 1) x;
SQL

#
# Binary COPY accepts plain values of ztext and zbytea, but no values that are already encoded
#
srand 1;
my ($file, @values) = ($node->basedir . '/garbage.bin');
push @values, join '', map { chr int rand($_ % 5 ? 256 : 4) } 1 .. int rand 300 for 1 .. 200;
append_to_file($file,
		"PGCOPY\n\377\r\n\0"
	  . pack('N2', 0, 0)
	  . join('', map { pack('n N/a', 1, $_) } @values)
	  . pack('n', 0xffff));
chmod 0644, $file;
$node->safe_psql('postgres',
	"CREATE TABLE bytes (y zbytea(lz4)); CREATE TABLE chars (z ztext); COPY bytes FROM '$file' (FORMAT binary)"
);
is( $node->safe_psql('postgres', q{SELECT string_agg(y::bytea, '' ORDER BY ctid) FROM bytes}),
	'\x' . unpack('H*', join '', @values),
	'binary COPY takes any bytes as zbytea');
($ret, $stdout, $stderr) = $node->psql('postgres', "COPY chars FROM '$file' (FORMAT binary)");
like(
	$stderr,
	qr/ERROR:  invalid byte sequence for encoding "UTF8"/,
	'binary COPY refuses invalid text as ztext');

# The event trigger of the extension works for roles that may not call its function.
$node->safe_psql('postgres', 'DROP TABLE role_a.mixed');
as_role($node, 'postgres', 'role_a', 'DROP OWNED BY role_a CASCADE');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_namespace WHERE nspname = 'role_a'}),
	'0', 'a user can drop own objects');

done_testing();
