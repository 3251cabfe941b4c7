# Check compact_types.auto.  If the library is preloaded, columns char(n) of new tables become
# compact_charN, columns varchar(n) become compact_text(n), and nothing else changes.  Without
# preloading, the setting is refused.
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
CREATE TABLE refd_compact (k compact_char24 PRIMARY KEY);
CREATE EXTENSION file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
SQL

# run(SQL, DATABASE, SETTING...) - run the SQL with compact_types.auto on; return the messages
# without the prefix of psql
sub run
{
	my ($sql, $db, @settings) = @_;
	my ($ret, $stdout, $stderr) = $node->psql($db // 'app',
		join('', map { "SET $_;\n" } 'compact_types.auto = on', @settings) . $sql);
	$stderr =~ s/^psql:<stdin>:\d+: //mg;
	return $stderr eq '' ? '' : "$stderr\n";
}

# types(TABLE) - return the columns of the table with their types
sub types
{
	my ($table, $db) = @_;
	return $node->safe_psql(
		$db // 'app',
		"SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)"
		  . " FROM pg_attribute WHERE attrelid = '$table'::regclass AND attnum > 0 AND NOT attisdropped"
	);
}

#
# Columns that change, and the notices
#
is( run('CREATE TABLE t (i int, c char(24) NOT NULL, d types.compact_char8, e character(8) DEFAULT \'none\', f char)'
	),
	<<'EOT',
NOTICE:  column "c" of table "t" gets type compact_char24 instead of character(24)
DETAIL:  The length is in bytes.  A character outside of ASCII has more than one byte.
NOTICE:  column "e" of table "t" gets type types.compact_char8 instead of character(8)
NOTICE:  column "f" of table "t" gets type compact_char1 instead of character(1)
EOT
	'CREATE TABLE gives a notice for each column');
is( types('t'),
	'i integer, c compact_char24, d types.compact_char8, e types.compact_char8, f compact_char1',
	'CREATE TABLE changes the types');
is($node->safe_psql('app', q{INSERT INTO t (c) VALUES ('x'); SELECT c || '|', e || '|' FROM t}),
	'x||none|', 'the default of a changed column works');
like(
	run(q{INSERT INTO t (c) VALUES (NULL)}),
	qr/violates not-null constraint/,
	'NOT NULL of a changed column works');

is( run('ALTER TABLE t ADD g char(24), ADD COLUMN h int, ADD COLUMN IF NOT EXISTS c char(24)'),
	<<'EOT',
NOTICE:  column "g" of table "t" gets type compact_char24 instead of character(24)
DETAIL:  The length is in bytes.  A character outside of ASCII has more than one byte.
NOTICE:  column "c" of relation "t" already exists, skipping
EOT
	'ALTER TABLE ... ADD COLUMN gives a notice for each column');
is( run('CREATE TABLE IF NOT EXISTS t (c char(24))'),
	qq(NOTICE:  relation "t" already exists, skipping\n),
	'CREATE TABLE IF NOT EXISTS of an existing table gives no notice of types');
like(
	run('SET search_path = types, public; CREATE TABLE IF NOT EXISTS t (c char(24))'),
	qr/^NOTICE:  column "c" of table "t" gets type (public\.)?compact_char24/,
	'CREATE TABLE IF NOT EXISTS gives a notice if the table exists only in a later schema');
is( types('types.t'),
	'c compact_char24',
	'CREATE TABLE IF NOT EXISTS creates the table in the first schema of the search_path');
is( run('ALTER TABLE IF EXISTS nowhere ADD c char(24)'),
	qq(NOTICE:  relation "nowhere" does not exist, skipping\n),
	'ALTER TABLE IF EXISTS without a table gives no notice of types');
is( $node->safe_psql('app', q{SET compact_types.auto = off; CREATE TABLE off (c char(24))})
	  . types('off'),
	'c character(24)',
	'compact_types.auto = off changes no type');

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
is(types('s.of_schema'), 'c compact_char24', 'CREATE SCHEMA with a table changes the types');
run(<<'SQL');
CREATE SCHEMA keyed
	CREATE TABLE first (k char(24) PRIMARY KEY)
	CREATE TABLE second (c char(24) REFERENCES public.refd, d char(24) REFERENCES public.refd_compact, e char(24) REFERENCES first,
		f char(24), g char(24), FOREIGN KEY (f) REFERENCES public.refd);
SQL
is( types('keyed.second'),
	'c character(24), d compact_char24, e compact_char24, f character(24), g compact_char24',
	'foreign keys in CREATE SCHEMA, which 19 executes as separate commands');
is(types('unlogged'), 'c compact_char24', 'an unlogged table gets compact types');
is(types('"Odd ""name"'), 'C c compact_char24', 'quoted names work');
is(types($_), 'c compact_char24, i integer, d types.compact_char8', "$_ gets compact types")
  for ('by_list', 'by_list_1', 'by_list_2');
is($node->safe_psql('app', <<'SQL'), 'by_list_1', 'partition pruning works');
INSERT INTO by_list VALUES ('a'), ('z');
SELECT tableoid::regclass FROM by_list WHERE c = 'a';
SQL
is( types('keys'),
	'k compact_char24, u types.compact_char8',
	'columns with constraints get compact types');
like(
	run(q{INSERT INTO keys VALUES ('x', 'c')}),
	qr/violates check constraint/,
	'a CHECK constraint of a changed column works');
is($node->safe_psql('app', q{INSERT INTO gen VALUES ('x'); SELECT g || '|' FROM gen}),
	'X|', 'a generated column can be computed from a changed column');
is( run(q{CREATE TEMP TABLE temporary (c char(24));
		DO $$ BEGIN IF (SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = 'temporary'::regclass AND attname = 'c')
		<> 'compact_char24'::regtype THEN RAISE 'not so'; END IF; END $$}) =~ s/DETAIL.*\n//r,
	qq(NOTICE:  column "c" of table "temporary" gets type compact_char24 instead of character(24)\n),
	'a temporary table gets compact types');

#
# Columns that keep their types
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
	'two foreign keys' => 'c char(24) REFERENCES refd REFERENCES refd_compact',
	'compression' => 'c char(24) COMPRESSION pglz',
	'exclusion constraint' => 'c char(24), EXCLUDE (c WITH =)',
	'LIKE' => 'LIKE parent',
	'length without an extension' => 'c char(100)',
	'length that is too long' => 'c char(40000)');
$kept{'storage'} = 'c char(24) STORAGE PLAIN' if $node->pg_version >= 16;
for my $name (sort keys %kept)
{
	is(run("CREATE TABLE kept ($kept{$name})"), '', "$name: no notice");
	unlike(types('kept'), qr/compact/, "$name: the type is kept");
	$node->safe_psql('app', 'DROP TABLE kept');
}
my %kept_statements = (
	'OF' => 'CREATE TABLE kept OF composite',
	'PARTITION OF' =>
	  q{CREATE TABLE kept PARTITION OF partitioned (c DEFAULT 'x') FOR VALUES IN ('x')},
	'INHERITS' => 'CREATE TABLE kept (c char(24)) INHERITS (parent)',
	'CREATE TABLE AS' => 'CREATE TABLE kept AS SELECT \'x\'::char(24) AS c',
	'SELECT INTO' => 'SELECT \'x\'::char(24) AS c INTO kept',
	'partition key with an operator class' =>
	  'CREATE TABLE kept (c char(24)) PARTITION BY LIST (c bpchar_ops)',
	'ADD COLUMN with FOREIGN KEY' =>
	  'CREATE TABLE kept (); ALTER TABLE kept ADD c char(24), ADD FOREIGN KEY (c) REFERENCES refd',
	'ALTER COLUMN TYPE' => 'CREATE TABLE kept (c text); ALTER TABLE kept ALTER c TYPE char(24)');
for my $name (sort keys %kept_statements)
{
	is(run($kept_statements{$name}) =~ s/^NOTICE:  merging .*\n//r, '', "$name: no notice");
	unlike(types('kept'), qr/compact/, "$name: the type is kept");
	$node->safe_psql('app', 'DROP TABLE kept');
}
is( run(q{CREATE FOREIGN TABLE kept_foreign (c char(24)) SERVER files OPTIONS (filename '/dev/null');
		ALTER FOREIGN TABLE kept_foreign ADD d char(24);
		ALTER TABLE kept_foreign ADD e char(24);
		CREATE TYPE kept_type AS (c char(24)); ALTER TYPE kept_type ADD ATTRIBUTE d char(24)}),
	'',
	'foreign table and composite type: no notice');
unlike(types('kept_foreign'), qr/compact/, 'a foreign table keeps its types');
unlike(types('kept_type'), qr/compact/, 'a composite type keeps its types');
# The child already has the column that is added to the parent.
run('CREATE TABLE child (d char(24)) INHERITS (parent); SET compact_types.auto = off; ALTER TABLE child ADD e char(24)'
);
like(
	run('ALTER TABLE parent ADD e char(24)'),
	qr/^NOTICE:  merging definition of column "e" for child "child"\n$/,
	'a column that a child already has gives no notice');
is( types('parent'),
	'c character(24), e character(24)',
	'a column that a child already has keeps its type');

# Errors are those of the server.
like(
	run('CREATE TABLE bad (c char(0))'),
	qr/^ERROR:  length for type char must be at least 1\nLINE 1/,
	'char(0): error of the server');
like(
	run('CREATE TABLE bad (c bpchar(1,2))'),
	qr/^ERROR:  invalid type modifier\nLINE 1/,
	'bpchar(1,2): error of the server');
like(
	run('CREATE TABLE bad (c no.bpchar(24))'),
	qr/^ERROR:  schema "no" does not exist\nLINE 1/,
	'unknown schema of a type: error of the server');
like(
	run('CREATE TABLE no.bad (c char(24))'),
	qr/^ERROR:  schema "no" does not exist\nLINE 1/m,
	'unknown schema of a table: error of the server');
like(
	run('ALTER TABLE s.nowhere ADD c char(24)'),
	qr/^ERROR:  relation "s.nowhere" does not exist/,
	'unknown table: error of the server');
like(
	run('ALTER TABLE t ADD c char(24)'),
	qr/^ERROR:  column "c" of relation "t" already exists/,
	'existing column: error of the server');
like(
	run('BEGIN READ ONLY; CREATE TABLE bad (c char(24)); COMMIT'),
	qr/^ERROR:  cannot execute CREATE TABLE in a read-only transaction/m,
	'read-only transaction: error of the server');

#
# varchar(n)
#
is( run('CREATE TABLE v (c varchar(24), d character varying(8) NOT NULL, e varchar, f varchar(10485760), g varchar(8)[], h char(8))',
		'app',
		'compact_types.auto_varchar = on'),
	<<'EOT',
NOTICE:  column "c" of table "v" gets type compact_text(24) instead of character varying(24)
NOTICE:  column "d" of table "v" gets type compact_text(8) instead of character varying(8)
NOTICE:  column "f" of table "v" gets type compact_text(10485760) instead of character varying(10485760)
NOTICE:  column "h" of table "v" gets type types.compact_char8 instead of character(8)
DETAIL:  The length is in bytes.  A character outside of ASCII has more than one byte.
EOT
	'CREATE TABLE gives a notice for each varchar(n)');
is( types('v'),
	'c compact_text(24), d compact_text(8), e character varying, f compact_text(10485760), g character varying(8)[], h types.compact_char8',
	'varchar(n) becomes compact_text(n), varchar and varchar(n)[] are kept');
is( run('ALTER TABLE v ADD i varchar(24)', 'app', 'compact_types.auto_varchar = on'),
	qq(NOTICE:  column "i" of table "v" gets type compact_text(24) instead of character varying(24)\n),
	'ALTER TABLE ... ADD COLUMN gives a notice for varchar(n)');
like(
	run('CREATE TABLE v_bad (c varchar(0))', 'app', 'compact_types.auto_varchar = on'),
	qr/^ERROR:  length for type varchar must be at least 1\nLINE 1/,
	'varchar(0): error of the server');
like(
	run('CREATE TABLE v_bad (c varchar(10485761))', 'app', 'compact_types.auto_varchar = on'),
	qr/^ERROR:  length for type varchar cannot exceed 10485760\nLINE 1/,
	'varchar that is too long: error of the server');

# Two tables are created by the same definition, with the settings on and off.  Both tables must
# give the same results, except where a result names the type.
my $varchar_table =
  'c varchar(6), d varchar(6) DEFAULT \'none  \', n int, s serial, CHECK (length(c) < 6 OR d <> \'check\')';
run("CREATE TABLE same_on ($varchar_table); CREATE UNLOGGED TABLE same_unlogged ($varchar_table)",
	'app', 'compact_types.auto_varchar = on');
like(types($_), qr/^c compact_text\(6\), d compact_text\(6\)/, "$_ has compact types")
  for ('same_on', 'same_unlogged');
$node->safe_psql('app', "CREATE TABLE same_off ($varchar_table)");
my @same = (
	q{INSERT INTO %s (c) VALUES ('日本語六文字'), ('a  '), ('a'), (''), (NULL), ('123456    ')},
	q{INSERT INTO %s (c) VALUES ('日本語六文字七')},
	q{INSERT INTO %s (c) VALUES ('1234567')},
	q{INSERT INTO %s (c) VALUES ('1234567'::text)},
	q{INSERT INTO %s (c) VALUES ('1234567'::char(7))},
	q{INSERT INTO %s (c) VALUES ('1234567'::varchar(6))},
	q{INSERT INTO %s (c, d) VALUES ('123456', 'check')},
	q{INSERT INTO %s (c) VALUES (123456::int), (now()::date)},
	q{INSERT INTO %s (c) VALUES (12345::int), (true::text)},
	q{UPDATE %s SET n = 1 WHERE c = 'a  ' RETURNING c || '|', d || '|'},
	q{UPDATE %s SET d = c WHERE c = 'a'::name},
	q{SELECT quote_literal(c), length(c), octet_length(c), d || '|', upper(c), c::varchar(2), c::char(8) || '|', c::text FROM %s ORDER BY c, s},
	q{SELECT c, count(*) FROM %s GROUP BY c HAVING count(*) >= 1 ORDER BY c NULLS FIRST},
	q{SELECT count(*) FROM %s WHERE c = 'none'::char(9) OR d = 'true'::char(4)},
	q{SELECT count(*) FROM %s WHERE c = 'a  '::varchar OR c IN ('', '12345') OR c = ANY ('{true,x}'::varchar[])},
	q{SELECT count(*) FROM %s WHERE c > 'a' AND c < 'b'::text AND c <> 'a'::name},
	q{SELECT count(*) FROM %s WHERE c LIKE 'a%%' OR c ILIKE 'T_UE' OR c ~ '^日' OR c SIMILAR TO '[0-9]+'},
	q{SELECT coalesce(c, 'x'::varchar), CASE WHEN n = 1 THEN c ELSE 'y'::text END, greatest(c, d), concat(c, n), nullif(c, 'a') FROM %s ORDER BY s},
	q{SELECT c FROM %s UNION SELECT 'u'::varchar(5) ORDER BY 1},
	q{SELECT string_agg(c, ',' ORDER BY s), min(c), max(c), array_agg(c ORDER BY s), to_json(array_agg(c ORDER BY s)) FROM %s},
	q{SELECT row_to_json(t) FROM (SELECT c, d FROM %s ORDER BY s) t},
	q{SELECT s FROM %s WHERE c = (VALUES ('true'::varchar))},
	q{SELECT c::date FROM %s WHERE c = '12345'},
	q{SELECT c::int + 1, md5(c), left(c, 2), substring(c from 2), position('3' in c), c || 1, format('%%s', c) FROM %s WHERE c = '12345'},
	q{COPY (SELECT c, d FROM %s ORDER BY s) TO STDOUT},
	q{PREPARE p (varchar) AS SELECT s FROM %s WHERE c = $1; EXECUTE p('true'); EXECUTE p('true ')},
	q{PREPARE q AS INSERT INTO %s (c) VALUES ($1) RETURNING c; EXECUTE q('param'); EXECUTE q('too long')},
	q{DO 'DECLARE v varchar(3); BEGIN SELECT c INTO v FROM %s WHERE c = ''true''; EXCEPTION WHEN string_data_right_truncation THEN RAISE NOTICE ''%%'', SQLSTATE; END'},
	q{CREATE VIEW v_%1$s AS SELECT c, d || 'x' AS dx FROM %1$s WHERE c LIKE 'a%%'; SELECT * FROM v_%1$s ORDER BY 1; DROP VIEW v_%1$s},
	q{ALTER TABLE %s ADD g text GENERATED ALWAYS AS (lower(c) || d) STORED; SELECT g FROM %1$s ORDER BY s},
	q{SELECT column_name, is_nullable, column_default, ordinal_position FROM information_schema.columns WHERE table_name = '%s' AND column_name = 'c'}
);
for my $sql (@same)
{
	my %answer;
	for my $table ('same_on', 'same_off')
	{
		my ($ret, $stdout, $stderr) =
		  $node->psql('app', "\\set VERBOSITY sqlstate\n" . sprintf($sql, $table));
		$answer{$table} = ("$stdout\n$stderr" =~ s/\Q$table\E/TABLE/gr);
	}
	is($answer{same_on}, $answer{same_off}, sprintf($sql, 'TABLE'));
}

#
# Foreign keys: the columns of both sides get a compact type, or both keep their types.
#
my %references = (
	'parent made without' =>
	  [ 'p_off', 'c varchar(30) REFERENCES p_off', 'c character varying(30)' ],
	'parent made with' => [ 'p_on', 'c varchar(20) REFERENCES p_on', 'c compact_text(20)' ],
	'named column' => [ 'p_on', 'c varchar(30) REFERENCES p_on (u)', 'c compact_text(30)' ],
	'other kind' => [ 'p_on', 'c char(8) REFERENCES p_on', 'c character(8)' ],
	'other length of char' => [
		'p_on',
		'c char(8) REFERENCES p_on (x), d char(24) REFERENCES p_on (x)',
		'c character(8), d compact_char24'
	],
	'varchar to char' => [ 'p_on', 'c varchar(24) REFERENCES p_on (x)', 'c character varying(24)' ],
	'text' => [ 'p_on', 'c varchar(30) REFERENCES p_on (t)', 'c character varying(30)' ],
	'composite key' => [
		'p_on',
		'a varchar(30), b varchar(9), c varchar(30), FOREIGN KEY (b, a) REFERENCES p_two',
		'a compact_text(30), b character varying(9), c compact_text(30)'
	],
	'composite key by names' => [
		'p_on',
		'a varchar(30), b varchar(9), FOREIGN KEY (a, b) REFERENCES p_two (c, k)',
		'a compact_text(30), b character varying(9)'
	],
	'self-reference' => [
		'p_on',
		'c varchar(30) PRIMARY KEY, up varchar(20) REFERENCES r',
		'c compact_text(30), up compact_text(20)'
	],
	'self-reference of the table' => [
		'p_on',
		'up varchar(20), c varchar(30), PRIMARY KEY (c), FOREIGN KEY (up) REFERENCES public.r (c)',
		'up compact_text(20), c compact_text(30)'
	],
	'self-reference to another kind' => [
		'p_on',
		'c char(24) PRIMARY KEY, up char(8) REFERENCES r',
		'c compact_char24, up character(8)'
	],
	'reference of a key' => [
		'p_on',
		'c varchar(30) PRIMARY KEY REFERENCES p_off, up varchar(30) REFERENCES r',
		'c character varying(30), up character varying(30)'
	],
	'reference of a compact key' => [
		'p_on',
		'c varchar(30) PRIMARY KEY REFERENCES p_on, up varchar(30) REFERENCES r',
		'c compact_text(30), up compact_text(30)'
	],
	'LIKE' => [
		'p_on',
		'LIKE p_off, c varchar(30) REFERENCES p_on',
		'k character varying(30), c compact_text(30)'
	]);
$node->safe_psql('app', 'CREATE TABLE p_off (k varchar(30) PRIMARY KEY)');
run(<<'SQL', 'app', 'compact_types.auto_varchar = on');
CREATE TABLE p_on (k varchar(30) PRIMARY KEY, u varchar(30) UNIQUE, x char(24) UNIQUE, t text UNIQUE, n int);
CREATE TABLE p_two (c varchar(30), n int, k varchar(9));
SET compact_types.auto = off;
ALTER TABLE p_two ALTER k TYPE varchar(9), ADD PRIMARY KEY (k, c), ADD UNIQUE (c, k);
SQL
for my $name (sort keys %references)
{
	my ($parent, $columns, $types) = @{ $references{$name} };
	unlike(run("CREATE TABLE r ($columns)", 'app', 'compact_types.auto_varchar = on'),
		qr/ERROR/, "$name: no error");
	is(types('r'), $types, "foreign key: $name");
	$node->safe_psql('app', 'DROP TABLE IF EXISTS r');
}
# Foreign keys that ALTER TABLE adds, with its subcommands in every order
my %later = (
	'ADD COLUMN' => [
		'CREATE TABLE r (i int); ALTER TABLE r ADD c varchar(30) REFERENCES p_on, ADD d varchar(30) REFERENCES p_off',
		'i integer, c compact_text(30), d character varying(30)'
	],
	'ADD COLUMN and CONSTRAINT' => [
		'CREATE TABLE r (i int); ALTER TABLE r ADD c varchar(30), ADD d varchar(30), ADD FOREIGN KEY (c) REFERENCES p_on, ADD FOREIGN KEY (d) REFERENCES p_off',
		'i integer, c compact_text(30), d character varying(30)'
	],
	'ADD COLUMN of the same table' => [
		'CREATE TABLE r (c varchar(30) PRIMARY KEY); ALTER TABLE r ADD up varchar(30) REFERENCES r',
		'c compact_text(30), up compact_text(30)'
	],
	'ADD CONSTRAINT' => [
		'CREATE TABLE r (c varchar(30), d varchar(30)); ALTER TABLE r ADD FOREIGN KEY (c) REFERENCES p_on, ADD FOREIGN KEY (d) REFERENCES p_off',
		'c compact_text(30), d compact_text(30)'
	],
	'ADD CONSTRAINT to a table made without' => [
		'SET compact_types.auto = off; CREATE TABLE r (c varchar(30)); RESET compact_types.auto; ALTER TABLE r ADD FOREIGN KEY (c) REFERENCES p_on',
		'c character varying(30)'
	],
	'CREATE TABLE AS' => [
		'CREATE TABLE r AS SELECT k, u, \'x\'::varchar(30) AS c FROM p_on; ALTER TABLE r ADD FOREIGN KEY (c) REFERENCES p_on, ADD FOREIGN KEY (k) REFERENCES p_off',
		'k compact_text(30), u compact_text(30), c character varying(30)'
	],
	'partitions' => [
		'CREATE TABLE r (c varchar(30) REFERENCES p_on, d varchar(30) REFERENCES p_off) PARTITION BY LIST (c); CREATE TABLE r1 PARTITION OF r DEFAULT;'
		  . 'CREATE TABLE r2 (c varchar(30), d varchar(30) REFERENCES p_off); ALTER TABLE r ATTACH PARTITION r2 FOR VALUES IN (\'x\')',
		'c compact_text(30), d character varying(30)'
	],
	'INHERITS' => [
		'CREATE TABLE r (c varchar(30) REFERENCES p_on) INHERITS (p_off)',
		'k character varying(30), c character varying(30)'
	]);
for my $name (sort keys %later)
{
	unlike(run($later{$name}[0], 'app', 'compact_types.auto_varchar = on'),
		qr/ERROR/, "$name: no error");
	is(types('r'), $later{$name}[1], "foreign key: $name");
	$node->safe_psql('app', 'DROP TABLE r');
}
like(
	run('CREATE TABLE r (c varchar(30) REFERENCES nowhere)',
		'app', 'compact_types.auto_varchar = on'),
	qr/^ERROR:  relation "nowhere" does not exist/m,
	'foreign key to an unknown table: error of the server');
like(
	run('CREATE TABLE r (c varchar(30) REFERENCES p_on (nothing))',
		'app', 'compact_types.auto_varchar = on'),
	qr/^ERROR:  column "nothing" referenced in foreign key constraint does not exist/m,
	'foreign key to an unknown column: error of the server');
like(
	run('CREATE TABLE r (c varchar(30), d int, FOREIGN KEY (c, d) REFERENCES p_on)',
		'app', 'compact_types.auto_varchar = on'),
	qr/^ERROR:  number of referencing and referenced columns for foreign key disagree/m,
	'foreign key with a wrong number of columns: error of the server');
like(
	run('CREATE TABLE r (c varchar(30) REFERENCES r)', 'app', 'compact_types.auto_varchar = on'),
	qr/^ERROR:  there is no primary key for referenced table "r"/m,
	'foreign key to a table without a primary key: error of the server');

#
# ALTER COLUMN ... TYPE
#
$node->safe_psql('app', <<'SQL');
CREATE TABLE altered (c compact_text(10) DEFAULT 'x', v varchar(10), d compact_char24, t text, e compact_char24 REFERENCES refd_compact);
INSERT INTO altered SELECT i, i, i, i FROM generate_series(1, 100) i;
CREATE INDEX altered_c ON altered (c);
SQL
my $altered = q{SELECT pg_relation_filenode('altered'), pg_relation_filenode('altered_c')};
my $filenodes = $node->safe_psql('app', $altered);
is( run('ALTER TABLE altered ALTER c TYPE varchar(20) USING "c"::varchar(20)',
		'app', 'compact_types.auto_varchar = on'),
	qq(NOTICE:  column "c" of table "altered" gets type compact_text(20) instead of character varying(20)\n),
	'a longer varchar gives a notice, in the form that Django uses');
is($node->safe_psql('app', $altered),
	$filenodes, 'a longer varchar rewrites neither table nor index');
is( run('ALTER TABLE altered ALTER COLUMN c SET DATA TYPE varchar(30)',
		'app', 'compact_types.auto_varchar = on'),
	qq(NOTICE:  column "c" of table "altered" gets type compact_text(30) instead of character varying(30)\n),
	'a longer varchar gives a notice, without USING');
is($node->safe_psql('app', $altered),
	$filenodes, 'a longer varchar without USING rewrites neither table nor index');
like(
	run(q{ALTER TABLE altered ALTER c TYPE varchar(2)}, 'app', 'compact_types.auto_varchar = on'),
	qr/^ERROR:  value too long for type compact_text\(2\)/m,
	'a shorter varchar is refused if a value is too long');
is( run(q{ALTER TABLE altered ALTER c TYPE varchar(2) USING c::varchar(2)},
		'app', 'compact_types.auto_varchar = on') =~ s/^NOTICE.*\n//r,
	'',
	'a shorter varchar with a cast in USING succeeds');
is($node->safe_psql('app', q{SELECT max(length(c)) FROM altered}),
	2, 'the cast truncates longer values');
unlike(
	run(q{ALTER TABLE altered ALTER c TYPE varchar(9) USING t || 'x'},
		'app', 'compact_types.auto_varchar = on'),
	qr/ERROR/,
	'USING with another expression succeeds');
is($node->safe_psql('app', q{SELECT c FROM altered WHERE t = '7'}),
	'7x', 'the other expression is evaluated');
run('ALTER TABLE altered ALTER v TYPE varchar(20), ALTER d TYPE char(8), ALTER t TYPE varchar(20), ALTER e TYPE char(8)',
	'app',
	'compact_types.auto_varchar = on');
is( types('altered'),
	'c compact_text(9), v character varying(20), d types.compact_char8, t character varying(20), e character(8)',
	'a plain column keeps a plain type, and a foreign key keeps the type of its column');
run('ALTER TABLE altered ALTER c TYPE varchar(20) COLLATE "C"',
	'app', 'compact_types.auto_varchar = on');
run('SET compact_types.auto = off; ALTER TABLE altered ALTER d TYPE char(8)',
	'app', 'compact_types.auto_varchar = on');
is( types('altered'),
	'c character varying(20), v character varying(20), d character(8), t character varying(20), e character(8)',
	'columns get plain types by a COLLATE clause, or with the setting off');
like(
	run('ALTER TABLE altered ALTER nothing TYPE varchar(20)',
		'app', 'compact_types.auto_varchar = on'),
	qr/^ERROR:  column "nothing" of relation "altered" does not exist/,
	'unknown column: error of the server');

# revert() restores the types that it names, whatever the setting is.
$node->safe_psql('app', <<'SQL');
CREATE TABLE reverted (c varchar(60), d varchar(60));
INSERT INTO reverted SELECT repeat('the words of the language ', 2), 'd' FROM generate_series(1, 300);
SELECT * FROM compact_types.convert('reverted', ARRAY['c']);
SQL
is(types('reverted'), 'c compact_text(60), d character varying(60)',
	'convert() changes the column');
run(q{SELECT * FROM compact_types.revert('reverted')}, 'app', 'compact_types.auto_varchar = on');
is( types('reverted'),
	'c character varying(60), d character varying(60)',
	'revert() restores the type with the setting on');

# operator classes of varchar and text
is( run('CREATE TABLE patterned (c varchar(24)); CREATE INDEX ON patterned (c varchar_pattern_ops)',
		'app',
		'compact_types.auto_varchar = on'),
	<<'EOT',
NOTICE:  column "c" of table "patterned" gets type compact_text(24) instead of character varying(24)
NOTICE:  index on column "c" of table "patterned" gets the operator class of type compact_text instead of "varchar_pattern_ops"
EOT
	'CREATE INDEX replaces an operator class of varchar');
is( run('SET compact_types.auto = off; CREATE INDEX ON patterned (c text_pattern_ops)'),
	qq(NOTICE:  index on column "c" of table "patterned" gets the operator class of type compact_text instead of "text_pattern_ops"\n),
	'CREATE INDEX replaces an operator class with the setting off, too');
is($node->safe_psql('app', <<'SQL'), "t\nt", 'the index serves LIKE and =');
INSERT INTO patterned SELECT 'key ' || i FROM generate_series(1, 5000) i;
ANALYZE patterned;
CREATE FUNCTION uses_index(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE line text; found bool := false;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN ' || query LOOP found := found OR line ~ 'Index Cond'; END LOOP;
  RETURN found;
END $$;
SELECT uses_index($$SELECT * FROM patterned WHERE c LIKE 'key 19%'$$);
SELECT uses_index($$SELECT * FROM patterned WHERE c = 'key 19'$$);
SQL

run('SET compact_types.auto = off; CREATE TABLE v_off (c varchar(24), d char(24))',
	'app', 'compact_types.auto_varchar = on');
unlike(types('v_off'), qr/compact/, 'auto_varchar without auto does nothing');

#
# Extensions that are not installed
#
is( run('CREATE TABLE missing (a char(2), b char(3), c char(2), d char(200))'), <<'EOT',
NOTICE:  some columns of table "missing" get no compact type
DETAIL:  Missing extensions: compact_char2, compact_char3.
HINT:  Use CREATE EXTENSION before creating the table.
EOT
	'one notice names all missing extensions');
is( types('missing'),
	'a character(2), b character(3), c character(2), d character(200)',
	'columns without an extension keep their types');
is(run('CREATE TABLE t (c char(24))', 'bare'),
	'', 'a database without the extension gives no notice');
is(types('t', 'bare'), 'c character(24)', 'a database without the extension keeps the types');

# compact_types.auto does not use a type of the same name that is not a member of the extension.
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
like(
	run('CREATE TABLE t (c char(24), d char(8))', 'impostor'),
	qr/Missing extension: compact_char24\./,
	'a domain with the name of a compact type does not count as the extension');
is( types('t', 'impostor'),
	'c character(24), d later.compact_char8',
	'types of other schemas with that name are not used, and do not hide the right one');

# compact_types.auto does not use a type on which the user has no privileges.
$node->safe_psql('app', <<'SQL');
CREATE ROLE alice;
GRANT CREATE ON SCHEMA s TO alice;
GRANT USAGE ON SCHEMA s TO alice;
REVOKE USAGE ON TYPE compact_char24 FROM public;
SQL
is(run('SET ROLE alice; CREATE TABLE s.unprivileged (c char(24), d char(8))'),
	'', 'without privileges there is no notice');
is( types('s.unprivileged'),
	'c character(24), d character(8)',
	'without privileges on a type or its schema, the types are kept');
$node->safe_psql('app',
	'GRANT USAGE ON TYPE compact_char24 TO public; GRANT USAGE ON SCHEMA types TO alice');
run('SET ROLE alice; CREATE TABLE s.privileged (c char(24), d char(8))');
is( types('s.privileged'),
	'c compact_char24, d types.compact_char8',
	'with the privileges, the types change');
# a search_path that starts with a schema with a type of the same name
run('CREATE SCHEMA evil; CREATE DOMAIN evil.compact_char24 AS text; SET search_path = evil; CREATE TABLE evil.t (c char(24))'
);
is(types('evil.t'), 'c compact_char24', 'the search_path does not choose the type');

#
# A statement in a cached plan is not changed.
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
my $switch = join '', map { "SET compact_types.auto = $_; SELECT make_table();\n" } 'on', 'off',
  'on', 'off';
is( $node->safe_psql('app', "SET client_min_messages = warning;\n$switch"),
	join("\n", ('compact_char24,compact_char24', 'character,character') x 2),
	'a function that is called again follows the present setting');

# An event trigger sees the compact type.
is( $node->safe_psql('app',
		<<'SQL'), 'CREATE TABLE s.seen compact_char24', 'an event trigger sees the compact type');
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

# The script of an extension gets the types that it names.  The same is true for commands of event
# triggers that fire during the script.
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
is(types('of_extension'), 'c character(24)', 'a table of an extension keeps its types');

# A dump is restored unchanged if the setting is off.
my $dump = $node->basedir . '/auto.sql';
$node->command_ok(
	[ 'pg_dump', '--file', $dump, '--table', 'off', '--table', 't', $node->connstr('app') ],
	'pg_dump succeeds');
$node->safe_psql('app', 'DROP TABLE off, t');
{
	local $ENV{PGOPTIONS} = '-c compact_types.auto=off';
	$node->command_ok(
		[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('app') ],
		'the restore succeeds');
}
is(types('off'), 'c character(24)',
	'the restored table has the dumped types, with the setting off');
like(types('t'), qr/^i integer, c compact_char24,/, 'a dump names compact types');

#
# Sessions that have not preloaded the library
#
$node->append_conf('postgresql.conf', "session_preload_libraries = ''");
$node->reload;
$node->poll_query_until('app', q{SELECT current_setting('session_preload_libraries') = ''});
my $load = q{SELECT 'x'::compact_char24 = 'x'::text;};

# error(SQL) - return stderr of a session, with error codes
sub error
{
	my ($sql) = @_;
	my ($ret, $stdout, $stderr) = $node->psql('app', "\\set VERBOSITY verbose\n$sql");
	$stderr =~ s/^psql:<stdin>:\d+: //mg;
	return $stderr =~ s/^LINE 1:.*\n +\^\n//mgr;
}
my $refusal =
  'compact types cannot be chosen automatically in a session that did not preload the library "compact_types"';

like(
	error("$load SET compact_types.auto = on"),
	qr/^ERROR:  55000: $refusal\nHINT:  Add compact_types to session_preload_libraries or shared_preload_libraries\./,
	'SET compact_types.auto = on is refused');
like(
	error("$load SET compact_types.auto_varchar = on"),
	qr/^ERROR:  55000: $refusal/,
	'SET compact_types.auto_varchar = on is refused');
unlike(error("$load SET compact_types.auto = off; RESET compact_types.auto"),
	qr/ERROR/, 'SET compact_types.auto = off is accepted');
like(
	error("$load SET compact_types.automatic = on"),
	qr/ERROR:  42602: invalid configuration parameter name/,
	'a misspelled setting is refused');
# After the library is loaded, CREATE INDEX accepts the operator classes of core.
like(
	error('CREATE INDEX ON patterned (c varchar_pattern_ops)'),
	qr/^ERROR:  42804: operator class "varchar_pattern_ops" does not accept data type compact_text/,
	'CREATE INDEX refuses an operator class of varchar before the library is loaded');
is( error("$load CREATE INDEX ON patterned (c varchar_pattern_ops)") =~ s/\nLOCATION.*//gr,
	qq(NOTICE:  00000: index on column "c" of table "patterned" gets the operator class of type compact_text instead of "varchar_pattern_ops"),
	'CREATE INDEX replaces an operator class of varchar after the library is loaded');
# The setting can be set before the library is loaded, because the server does not know it yet.
like(
	error("SET compact_types.auto = on; $load"),
	qr/^WARNING:  55000: $refusal\nHINT/,
	'loading the library gives a warning if the setting was on before');
is( $node->safe_psql(
		'app',
		"SET client_min_messages = error; SET compact_types.auto = on; $load SHOW compact_types.auto"
	),
	"t\noff",
	'loading the library resets the setting');
is( $node->safe_psql('app',
		"SET client_min_messages = error; SET compact_types.auto = on; CREATE TABLE no_preload (c char(24))"
	  )
	  . types('no_preload'),
	'c character(24)',
	'the setting has no effect before the library is loaded');
# Set compact_types.auto for later sessions of a role.
is(error("$load ALTER ROLE alice SET compact_types.auto = on"),
	'', 'ALTER ROLE ... SET compact_types.auto is accepted');

# A parallel worker does not load the library in the same way as its leader.  The worker must not
# refuse the leader's setting.
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
	is( error(
			"SET $forced = on; SELECT 'a'::compact_char24 = 'a'::text, current_setting('compact_types.auto')"
		),
		'',
		"$setting: a parallel worker accepts the leader's setting");
	$node->safe_psql('app',
		'SET client_min_messages = warning; DROP TABLE IF EXISTS w; CREATE TABLE w (c char(24))');
	is(types('w'), 'c compact_char24', "$setting: the value of the configuration file is used");

	# Also a background process that loads the library must not refuse the setting.
	my $offset = -s $node->logfile;
	$node->safe_psql('app', q{INSERT INTO w SELECT i FROM generate_series(1, 1000) i});
	$node->append_conf('postgresql.conf', "autovacuum = on\nautovacuum_naptime = 1\n");
	$node->reload;
	ok($node->poll_query_until('app', <<'SQL'), "$setting: autovacuum analyzes the table");
SELECT last_autoanalyze IS NOT NULL FROM pg_stat_user_tables WHERE relname = 'w'
SQL
	unlike(
		slurp_file($node->logfile, $offset),
		qr/WARNING|ERROR|cannot be chosen/,
		"$setting: the log has no warning and no error");
}

# A standby has the settings, but they change nothing there.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
is($standby->safe_psql('app', q{SELECT count(*) FROM w WHERE c = '7'}),
	1, 'a standby finds a row by a compact column');
my ($ret, $stdout, $stderr) = $standby->psql('app', 'CREATE TABLE on_standby (c char(24))');
like(
	$stderr,
	qr/ERROR:  cannot execute CREATE TABLE in a read-only transaction/,
	'CREATE TABLE on a standby: error of the server');
$standby->stop;

$node->stop;
done_testing();
