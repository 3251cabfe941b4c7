# compact_types.auto: char(n) columns of new tables become compact_charN where
# the library is preloaded, and nothing else changes; without preloading the
# setting is refused.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('auto');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
autovacuum = off
session_preload_libraries = 'compact_types'
CONF
$node->start;
$node->safe_psql('postgres', "CREATE DATABASE $_") for ('app', 'bare', 'impostor');
$node->safe_psql('app', <<'SQL');
CREATE EXTENSION compact_char24 CASCADE;
CREATE SCHEMA types;
CREATE EXTENSION compact_char8 SCHEMA types;
CREATE EXTENSION compact_char1;
SELECT compact_types.create_char(100);
CREATE TABLE parent (c char(24));
CREATE TABLE partitioned (c char(24), i int) PARTITION BY LIST (c);
CREATE TYPE composite AS (c char(24));
CREATE TABLE refd (k char(24) PRIMARY KEY);
CREATE EXTENSION file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
SQL

# run(SQL, DATABASE, SETTING...) - run it with the setting on, and return the
# messages without psql's prefix
sub run
{
	my ($sql, $db, @settings) = @_;
	my ($ret, $stdout, $stderr) =
	  $node->psql($db // 'app', join('', map { "SET $_;\n" } 'compact_types.auto = on', @settings) . $sql);
	$stderr =~ s/^psql:<stdin>:\d+: //mg;
	return $stderr eq '' ? '' : "$stderr\n";
}

# types(TABLE) - the columns of the table with their types
sub types
{
	my ($table, $db) = @_;
	return $node->safe_psql($db // 'app',
		"SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)"
		  . " FROM pg_attribute WHERE attrelid = '$table'::regclass AND attnum > 0 AND NOT attisdropped");
}

#
# What is changed, and what is said
#
is(run('CREATE TABLE t (i int, c char(24) NOT NULL, d types.compact_char8, e character(8) DEFAULT \'none\', f char)'), <<'EOT',
NOTICE:  column "c" of table "t" gets type compact_char24 instead of character(24)
DETAIL:  The length is in bytes, of which a character outside of ASCII has more than one.
NOTICE:  column "e" of table "t" gets type types.compact_char8 instead of character(8)
NOTICE:  column "f" of table "t" gets type compact_char1 instead of character(1)
EOT
	'a notice for each column');
is(types('t'),
	'i integer, c compact_char24, d types.compact_char8, e types.compact_char8, f compact_char1',
	'CREATE TABLE');
is($node->safe_psql('app', q{INSERT INTO t (c) VALUES ('x'); SELECT c || '|', e || '|' FROM t}),
	'x||none|', 'default');
like(run(q{INSERT INTO t (c) VALUES (NULL)}), qr/violates not-null constraint/, 'NOT NULL');

is(run('ALTER TABLE t ADD g char(24), ADD COLUMN h int, ADD COLUMN IF NOT EXISTS c char(24)'), <<'EOT',
NOTICE:  column "g" of table "t" gets type compact_char24 instead of character(24)
DETAIL:  The length is in bytes, of which a character outside of ASCII has more than one.
NOTICE:  column "c" of relation "t" already exists, skipping
EOT
	'ALTER TABLE ... ADD COLUMN');
is(run('CREATE TABLE IF NOT EXISTS t (c char(24))'),
	qq(NOTICE:  relation "t" already exists, skipping\n), 'CREATE TABLE IF NOT EXISTS');
like(run('SET search_path = types, public; CREATE TABLE IF NOT EXISTS t (c char(24))'),
	qr/^NOTICE:  column "c" of table "t" gets type (public\.)?compact_char24/, 'a table of that name elsewhere in the search_path');
is(types('types.t'), 'c compact_char24', 'CREATE TABLE IF NOT EXISTS in the first schema of the search_path');
is(run('ALTER TABLE IF EXISTS nowhere ADD c char(24)'),
	qq(NOTICE:  relation "nowhere" does not exist, skipping\n), 'ALTER TABLE IF EXISTS');
is($node->safe_psql('app', q{SET compact_types.auto = off; CREATE TABLE off (c char(24))}) . types('off'),
	'c character(24)', 'off');

# quoted names, schemas, temporary, unlogged and partitioned tables
run(<<'SQL');
CREATE SCHEMA s CREATE TABLE of_schema (c char(24));
CREATE UNLOGGED TABLE unlogged (c char(24));
CREATE TABLE "Odd ""name" ("C c" char(24));
CREATE TABLE by_list (c char(24), i int) PARTITION BY LIST (c);
CREATE TABLE by_list_1 PARTITION OF by_list FOR VALUES IN ('a', 'b');
CREATE TABLE by_list_2 (c char(24), i int);
ALTER TABLE by_list ATTACH PARTITION by_list_2 DEFAULT;
ALTER TABLE by_list ADD d char(8);
CREATE TABLE keys (k char(24) PRIMARY KEY, u char(8) UNIQUE, CHECK (k <> u::text), CHECK (u IN ('a', 'b')));
CREATE TABLE gen (c char(24), g text GENERATED ALWAYS AS (upper(c)) STORED);
SQL
is(types('s.of_schema'), 'c compact_char24', 'CREATE SCHEMA with a table');
is(types('unlogged'), 'c compact_char24', 'unlogged table');
is(types('"Odd ""name"'), 'C c compact_char24', 'quoted names');
is(types($_), 'c compact_char24, i integer, d types.compact_char8', $_) for ('by_list', 'by_list_1', 'by_list_2');
is($node->safe_psql('app', <<'SQL'), 'by_list_1', 'partition pruning');
INSERT INTO by_list VALUES ('a'), ('z');
SELECT tableoid::regclass FROM by_list WHERE c = 'a';
SQL
is(types('keys'), 'k compact_char24, u types.compact_char8', 'constraints');
like(run(q{INSERT INTO keys VALUES ('x', 'c')}), qr/violates check constraint/, 'CHECK works');
is($node->safe_psql('app', q{INSERT INTO gen VALUES ('x'); SELECT g || '|' FROM gen}), 'X|', 'base of a generated column');
is(run(q{CREATE TEMP TABLE temporary (c char(24));
		DO $$ BEGIN IF (SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = 'temporary'::regclass AND attname = 'c')
		<> 'compact_char24'::regtype THEN RAISE 'not so'; END IF; END $$}) =~ s/DETAIL.*\n//r,
	qq(NOTICE:  column "c" of table "temporary" gets type compact_char24 instead of character(24)\n),
	'temporary table');

#
# What keeps its type
#
my %kept = (
	'array' => 'c char(24)[]',
	'array of ARRAY' => 'c char(24) ARRAY[4]',
	'collation' => 'c char(24) COLLATE "C"',
	'varchar' => 'c varchar(24)',
	'text and "char"' => 'c text, d "char", e bpchar',
	'generated column' => 'i text, c char(24) GENERATED ALWAYS AS (upper(i)) STORED',
	'foreign key' => 'c char(24) REFERENCES refd',
	'foreign key of the table' => 'c char(24), i int, FOREIGN KEY (c) REFERENCES refd',
	'compression' => 'c char(24) COMPRESSION pglz',
	'exclusion constraint' => 'c char(24), EXCLUDE (c WITH =)',
	'LIKE' => 'LIKE parent',
	'length without an extension' => 'c char(100)',
	'length that is too long' => 'c char(40000)');
$kept{'storage'} = 'c char(24) STORAGE PLAIN' if $node->pg_version >= 16;
for my $name (sort keys %kept)
{
	is(run("CREATE TABLE kept ($kept{$name})"), '', "$name: no notice");
	unlike(types('kept'), qr/compact/, "$name: type kept");
	$node->safe_psql('app', 'DROP TABLE kept');
}
my %kept_statements = (
	'OF' => 'CREATE TABLE kept OF composite',
	'PARTITION OF' => q{CREATE TABLE kept PARTITION OF partitioned (c DEFAULT 'x') FOR VALUES IN ('x')},
	'INHERITS' => 'CREATE TABLE kept (c char(24)) INHERITS (parent)',
	'CREATE TABLE AS' => 'CREATE TABLE kept AS SELECT \'x\'::char(24) AS c',
	'SELECT INTO' => 'SELECT \'x\'::char(24) AS c INTO kept',
	'partition key with an operator class' =>
	  'CREATE TABLE kept (c char(24)) PARTITION BY LIST (c bpchar_ops)',
	'ADD COLUMN with FOREIGN KEY' => 'CREATE TABLE kept (); ALTER TABLE kept ADD c char(24), ADD FOREIGN KEY (c) REFERENCES refd',
	'ALTER COLUMN TYPE' => 'CREATE TABLE kept (c text); ALTER TABLE kept ALTER c TYPE char(24)');
for my $name (sort keys %kept_statements)
{
	is(run($kept_statements{$name}) =~ s/^NOTICE:  merging .*\n//r, '', "$name: no notice");
	unlike(types('kept'), qr/compact/, "$name: type kept");
	$node->safe_psql('app', 'DROP TABLE kept');
}
is(run(q{CREATE FOREIGN TABLE kept_foreign (c char(24)) SERVER files OPTIONS (filename '/dev/null');
		ALTER FOREIGN TABLE kept_foreign ADD d char(24);
		ALTER TABLE kept_foreign ADD e char(24);
		CREATE TYPE kept_type AS (c char(24)); ALTER TYPE kept_type ADD ATTRIBUTE d char(24)}),
	'', 'foreign table and composite type: no notice');
unlike(types('kept_foreign'), qr/compact/, 'foreign table');
unlike(types('kept_type'), qr/compact/, 'composite type');
# a column that a child has already
run('CREATE TABLE child (d char(24)) INHERITS (parent); SET compact_types.auto = off; ALTER TABLE child ADD e char(24)');
like(run('ALTER TABLE parent ADD e char(24)'), qr/^NOTICE:  merging definition of column "e" for child "child"\n$/,
	'column that a child has');
is(types('parent'), 'c character(24), e character(24)', 'it keeps the type');

# errors are the server's
like(run('CREATE TABLE bad (c char(0))'), qr/^ERROR:  length for type char must be at least 1\nLINE 1/, 'char(0)');
like(run('CREATE TABLE bad (c bpchar(1,2))'), qr/^ERROR:  invalid type modifier\nLINE 1/, 'bpchar(1,2)');
like(run('CREATE TABLE bad (c no.bpchar(24))'), qr/^ERROR:  schema "no" does not exist\nLINE 1/, 'unknown schema');
like(run('CREATE TABLE no.bad (c char(24))'), qr/^ERROR:  schema "no" does not exist\nLINE 1/m, 'table in an unknown schema');
like(run('ALTER TABLE s.nowhere ADD c char(24)'), qr/^ERROR:  relation "s.nowhere" does not exist/, 'unknown table');
like(run('ALTER TABLE t ADD c char(24)'), qr/^ERROR:  column "c" of relation "t" already exists/, 'column that is there');
like(run('BEGIN READ ONLY; CREATE TABLE bad (c char(24)); COMMIT'), qr/^ERROR:  cannot execute CREATE TABLE in a read-only transaction/m,
	'read-only transaction');

#
# varchar(n)
#
is(run('CREATE TABLE v (c varchar(24), d character varying(8), e varchar)', 'app', 'compact_types.auto_varchar = on') =~ s/DETAIL.*\n//r, <<'EOT',
NOTICE:  column "c" of table "v" gets type compact_char24 instead of character varying(24)
HINT:  Trailing blanks are not kept, and output is padded with blanks as that of character(24) is.
NOTICE:  column "d" of table "v" gets type types.compact_char8 instead of character varying(8)
HINT:  Trailing blanks are not kept, and output is padded with blanks as that of character(8) is.
EOT
	'varchar, when asked for');
is(types('v'), 'c compact_char24, d types.compact_char8, e character varying', 'varchar(n) alone');
run('SET compact_types.auto = off; CREATE TABLE v_off (c varchar(24), d char(24))', 'app', 'compact_types.auto_varchar = on');
unlike(types('v_off'), qr/compact/, 'auto_varchar alone does nothing');

#
# Extensions that are not there
#
is(run('CREATE TABLE missing (a char(2), b char(3), c char(2), d char(200))'), <<'EOT',
NOTICE:  some columns of table "missing" get no compact type
DETAIL:  Extensions that are not in this database: compact_char2, compact_char3.
HINT:  Use CREATE EXTENSION before creating the table.
EOT
	'one notice for all lengths that are missing');
is(types('missing'), 'a character(2), b character(3), c character(2), d character(200)', 'their types are kept');
is(run('CREATE TABLE t (c char(24))', 'bare'), '', 'database without the extension: no notice');
is(types('t', 'bare'), 'c character(24)', 'database without the extension');

# a type that anybody made is not taken
$node->safe_psql('impostor', <<'SQL');
CREATE DOMAIN compact_char24 AS text CHECK (false);
CREATE EXTENSION compact_types;
CREATE SCHEMA other;
CREATE TYPE other.compact_char8;
CREATE FUNCTION other.char8_in(cstring) RETURNS other.compact_char8 IMMUTABLE STRICT LANGUAGE internal AS 'int8in';
CREATE FUNCTION other.char8_out(other.compact_char8) RETURNS cstring IMMUTABLE STRICT LANGUAGE internal AS 'int8out';
CREATE TYPE other.compact_char8 (INPUT = other.char8_in, OUTPUT = other.char8_out, LIKE = int8);
CREATE SCHEMA later;
CREATE EXTENSION compact_char8 SCHEMA later;
SQL
like(run('CREATE TABLE t (c char(24), d char(8))', 'impostor'), qr/that is not in this database: compact_char24\./, 'a type of that name');
is(types('t', 'impostor'), 'c character(24), d later.compact_char8', 'is not taken, and does not hide the right one');

# nor one that the user may not use
$node->safe_psql('app', <<'SQL');
CREATE ROLE alice;
GRANT CREATE ON SCHEMA s TO alice;
GRANT USAGE ON SCHEMA s TO alice;
REVOKE USAGE ON TYPE compact_char24 FROM public;
SQL
is(run('SET ROLE alice; CREATE TABLE s.unprivileged (c char(24), d char(8))'), '', 'no privilege: no notice');
is(types('s.unprivileged'), 'c character(24), d character(8)', 'no privilege on the type, or on its schema');
$node->safe_psql('app', 'GRANT USAGE ON TYPE compact_char24 TO public; GRANT USAGE ON SCHEMA types TO alice');
run('SET ROLE alice; CREATE TABLE s.privileged (c char(24), d char(8))');
is(types('s.privileged'), 'c compact_char24, d types.compact_char8', 'with the privileges');
# a search_path that leads elsewhere
run('CREATE SCHEMA evil; CREATE DOMAIN evil.compact_char24 AS text; SET search_path = evil; CREATE TABLE evil.t (c char(24))');
is(types('evil.t'), 'c compact_char24', 'search_path');

#
# A cached plan is not changed
#
$node->safe_psql('app', <<'SQL');
CREATE FUNCTION make_table() RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
  CREATE TABLE cached (c char(24));
  ALTER TABLE cached ADD d char(24);
  SELECT string_agg(atttypid::regtype::text, ',') INTO result FROM pg_attribute
  WHERE attrelid = 'cached'::regclass AND attnum > 0;
  DROP TABLE cached;
  RETURN result;
END $$;
SQL
my $switch = join '', map { "SET compact_types.auto = $_; SELECT make_table();\n" } 'on', 'off', 'on', 'off';
is($node->safe_psql('app', "SET client_min_messages = warning;\n$switch"),
	join("\n", ('compact_char24,compact_char24', 'character,character') x 2), 'function called again and again');

# an event trigger sees what was created
is($node->safe_psql('app', <<'SQL'), 'CREATE TABLE s.seen compact_char24', 'event trigger');
SET client_min_messages = warning;
SET compact_types.auto = on;
CREATE TABLE log (line text);
CREATE FUNCTION logger() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO log SELECT command_tag || ' ' || object_identity || ' ' || atttypid::regtype
  FROM pg_event_trigger_ddl_commands() JOIN pg_attribute ON attrelid = objid AND attnum > 0;
END $$;
CREATE EVENT TRIGGER logger ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION logger();
CREATE TABLE s.seen (c char(24));
DROP EVENT TRIGGER logger;
SELECT * FROM log;
SQL

# the script of an extension means the types that it names; an event trigger
# is a part of it
$node->safe_psql('app', <<'SQL');
SET client_min_messages = warning;
SET compact_types.auto = on;
CREATE FUNCTION in_script() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
  CREATE TABLE IF NOT EXISTS of_extension (c char(24));
END $$;
CREATE EVENT TRIGGER in_script ON ddl_command_end WHEN TAG IN ('CREATE FUNCTION') EXECUTE FUNCTION in_script();
CREATE EXTENSION pg_stat_statements;
DROP EVENT TRIGGER in_script;
SQL
is(types('of_extension'), 'c character(24)', 'table of an extension');

# a dump is restored as it is with the setting off
my $dump = $node->basedir . '/auto.sql';
$node->command_ok([ 'pg_dump', '--file', $dump, '--table', 'off', '--table', 't', $node->connstr('app') ], 'pg_dump');
$node->safe_psql('app', 'DROP TABLE off, t');
{
	local $ENV{PGOPTIONS} = '-c compact_types.auto=off';
	$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('app') ], 'restore');
}
is(types('off'), 'c character(24)', 'restored as it was dumped, with the setting off');
like(types('t'), qr/^i integer, c compact_char24,/, 'compact types are dumped by name');

#
# In a session that did not preload the library
#
$node->append_conf('postgresql.conf', "session_preload_libraries = ''");
$node->reload;
$node->poll_query_until('app', q{SELECT current_setting('session_preload_libraries') = ''});
my $load = q{SELECT 'x'::compact_char24 = 'x'::text;};

# error(SQL) - stderr of a session, with error codes
sub error
{
	my ($sql) = @_;
	my ($ret, $stdout, $stderr) = $node->psql('app', "\\set VERBOSITY verbose\n$sql");
	$stderr =~ s/^psql:<stdin>:\d+: //mg;
	return $stderr =~ s/^LINE 1:.*\n +\^\n//mgr;
}
my $refusal = 'compact types cannot be chosen automatically in a session that did not preload the library "compact_types"';

like(error("$load SET compact_types.auto = on"),
	qr/^ERROR:  55000: $refusal\nHINT:  Add compact_types to session_preload_libraries or shared_preload_libraries\./,
	'SET is refused');
like(error("$load SET compact_types.auto_varchar = on"), qr/^ERROR:  55000: $refusal/, 'so is auto_varchar');
unlike(error("$load SET compact_types.auto = off; RESET compact_types.auto"), qr/ERROR/, 'off is not');
like(error("$load SET compact_types.automatic = on"), qr/ERROR:  42602: invalid configuration parameter name/, 'a misspelled setting');
# set before the library is loaded, it is nobody's setting yet
like(error("SET compact_types.auto = on; $load"), qr/^WARNING:  55000: $refusal\nHINT/, 'loading the library warns');
is($node->safe_psql('app', "SET client_min_messages = error; SET compact_types.auto = on; $load SHOW compact_types.auto"),
	"t\noff", 'and resets it');
is($node->safe_psql('app', "SET client_min_messages = error; SET compact_types.auto = on; CREATE TABLE no_preload (c char(24))") . types('no_preload'),
	'c character(24)', 'without effect before');
# stored for other sessions
is(error("$load ALTER ROLE alice SET compact_types.auto = on"), '', 'ALTER ROLE is allowed');

# A parallel worker loads the library in another way than its leader, which
# must not make it refuse the leader's setting.
for my $setting ('session_preload_libraries', 'shared_preload_libraries')
{
	$node->append_conf('postgresql.conf', <<"CONF");
session_preload_libraries = ''
$setting = 'compact_types'
compact_types.auto = on
autovacuum = off
CONF
	$node->restart;
	my $forced = $node->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
	is(error("SET $forced = on; SELECT 'a'::compact_char24 = 'a'::text, current_setting('compact_types.auto')"),
		'', "$setting: parallel worker");
	$node->safe_psql('app',
		'SET client_min_messages = warning; DROP TABLE IF EXISTS w; CREATE TABLE w (c char(24))');
	is(types('w'), 'c compact_char24', "$setting: value of the configuration file");

	# a background process that loads the library has no say in it either
	my $offset = -s $node->logfile;
	$node->safe_psql('app', q{INSERT INTO w SELECT i FROM generate_series(1, 1000) i});
	$node->append_conf('postgresql.conf', "autovacuum = on\nautovacuum_naptime = 1\n");
	$node->reload;
	ok($node->poll_query_until('app', <<'SQL'), "$setting: autovacuum analyzes");
SELECT last_autoanalyze IS NOT NULL FROM pg_stat_user_tables WHERE relname = 'w'
SQL
	unlike(slurp_file($node->logfile, $offset), qr/WARNING|ERROR|cannot be chosen/,
		"$setting: nothing in the log");
}

# A standby has the settings, and nothing to change by them.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
is($standby->safe_psql('app', q{SELECT count(*) FROM w WHERE c = '7'}), 1, 'standby');
my ($ret, $stdout, $stderr) = $standby->psql('app', 'CREATE TABLE on_standby (c char(24))');
like($stderr, qr/ERROR:  cannot execute CREATE TABLE in a read-only transaction/, 'CREATE TABLE on it');
$standby->stop;

$node->stop;
done_testing();
