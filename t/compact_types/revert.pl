# Check that revert() undoes a conversion.
#
# - A dump of the schema after convert() and revert() is the dump from before.
# - The notes on conversions, which revert() reads, stay valid after renaming, and after dump and
#   restore.
# - Code of a table's owner runs only with the rights of this owner.
use strict;
use warnings FATAL => 'all';

use File::Spec;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Security;

my $node = security_node('revert', "session_preload_libraries = 'compact_types'\n");
my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
my $dir = File::Spec->rel2abs($node->basedir);
my $major = int($node->safe_psql('postgres', 'SHOW server_version_num') / 10000);

# schema(DATABASE) - return a dump of the schema of a database
sub schema
{
	my ($database) = @_;
	my $file = "$dir/schema.sql";

	$node->command_ok([ 'pg_dump', '--schema-only', '--file', $file, $node->connstr($database) ],
		"dump of the schema of $database");
	return slurp_file($file) =~ s/^\\(un)?restrict .*$//mgr;
}

# differ(BEFORE, AFTER) - return the lines that only one of the two dumps has
sub differ
{
	my ($before, $after) = @_;
	my %count;

	$count{$_}++ for split /\n/, $before;
	$count{$_}-- for split /\n/, $after;
	return join "\n",
	  map { ($count{$_} > 0 ? '- ' : '+ ') . $_ } sort grep { $count{$_} } keys %count;
}

my $types =
  q{SELECT string_agg(attrelid::regclass || '.' || attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attrelid::regclass::text, attnum)
	FROM pg_attribute WHERE attrelid IN (SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = ANY ('{app,moved}'::regnamespace[])) AND attnum > 0 AND NOT attisdropped
	AND atttypid IN (SELECT t.oid FROM pg_type t JOIN pg_proc p ON p.oid = typinput WHERE pronamespace = 'compact_types'::regnamespace OR prosrc LIKE 'compact%')};

#
# A table with everything that a table can have
#
security_database($node, 'shop', 'compact_types', map({ "compact_char$_" } 5, 9),
	'compact_decimal4_2', 'compact_decimal8_4');
$node->safe_psql('shop', <<'SQL');
CREATE SCHEMA app;
CREATE SCHEMA moved;
GRANT USAGE, CREATE ON SCHEMA app TO role_a, role_b;
GRANT USAGE ON SCHEMA moved TO role_b;
CREATE FUNCTION app.is_good(text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT $1 <> 'bad' $$;
CREATE TABLE app.item (
	gone int,
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	serial bigserial,
	code char(9) NOT NULL DEFAULT 'none' CONSTRAINT code_good CHECK (code <> 'bad' AND length(code) < 10 AND octet_length(code) < 9 + length(code)),
	code_c char(5) COLLATE "C" DEFAULT 'a' || 'b' UNIQUE,
	name varchar(200) DEFAULT 'no name',
	memo text DEFAULT repeat('x', 3) COLLATE "POSIX",
	qty int8 DEFAULT 0 NOT NULL CHECK (qty BETWEEN 0 AND 200),
	reserved int4 DEFAULT '7' CHECK (reserved >= 0 AND reserved <= 100),
	kind int2 CHECK (kind IN (1, 2, 3)),
	price numeric(9,2) DEFAULT 9.99 CHECK (price > 0.5),
	rate numeric(12,4) DEFAULT 1::numeric / 3,
	made timestamp(0) DEFAULT '2001-01-01 12:00:00',
	seen timestamp(0) with time zone DEFAULT '2001-01-01 12:00:00+00',
	gen int GENERATED ALWAYS AS (serial::int % 7) STORED,
	CONSTRAINT both_narrow CHECK (reserved <= qty OR kind = qty),
	CONSTRAINT none_narrow CHECK (id > 0 OR app.is_good(name)),
	CONSTRAINT late CHECK (made < seen OR price < rate) NOT VALID,
	CONSTRAINT quoted CHECK (name <> 'a ::compact_types.integer_operand b' AND memo <> '''::compact_types.integer_literal') NO INHERIT);
ALTER TABLE app.item DROP gone;
COMMENT ON CONSTRAINT both_narrow ON app.item IS 'compares narrow with narrow';
COMMENT ON CONSTRAINT code_good ON app.item IS 'a good code';
COMMENT ON COLUMN app.item.code IS 'the code';
COMMENT ON TABLE app.item IS 'what is sold';
ALTER TABLE app.item ALTER code SET STORAGE MAIN, ALTER code SET STATISTICS 77, ALTER name SET STORAGE EXTERNAL, ALTER memo SET COMPRESSION pglz,
	ALTER memo SET (n_distinct = 9), ALTER qty SET STATISTICS 33, ALTER price SET STORAGE PLAIN, ALTER rate SET STORAGE EXTERNAL, ALTER code_c SET COMPRESSION pglz;
CREATE INDEX item_code ON app.item (code) INCLUDE (qty) WITH (fillfactor = 70);
CREATE INDEX item_name ON app.item (name DESC NULLS LAST, qty);
CREATE UNIQUE INDEX item_unique ON app.item (id, price, kind);
CREATE INDEX item_hash ON app.item USING hash (memo COLLATE "C");
CREATE INDEX item_brin ON app.item USING brin (made, seen, qty);
CREATE INDEX item_partial ON app.item (code_c) WHERE id > 10;
CREATE INDEX item_expression ON app.item ((id % 10), lower(serial::text) text_pattern_ops);
COMMENT ON INDEX app.item_code IS 'index of codes';
ALTER TABLE app.item CLUSTER ON item_name;
ALTER TABLE app.item REPLICA IDENTITY USING INDEX item_pkey;
CREATE STATISTICS app.item_statistics (ndistinct, mcv) ON code, qty, kind FROM app.item;
CREATE STATISTICS app.item_expressions ON (qty = reserved), (qty > kind), (id % 10) FROM app.item;
COMMENT ON STATISTICS app.item_expressions IS 'expressions of narrow columns';
GRANT SELECT ON app.item TO role_a;
GRANT SELECT (code, qty), UPDATE (name) ON app.item TO role_b WITH GRANT OPTION;
CREATE FUNCTION app.trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER touch BEFORE UPDATE ON app.item FOR EACH ROW EXECUTE FUNCTION app.trigger();
CREATE RULE ruled AS ON DELETE TO app.item DO ALSO NOTIFY deleted;
CREATE TABLE app.other (id int PRIMARY KEY, item bigint REFERENCES app.item, word char(9), n int8 CHECK (n BETWEEN 0 AND 9));
INSERT INTO app.item (code, code_c, name, memo, qty, reserved, kind, price, rate, made, seen)
	SELECT 'c' || i, i, repeat('a name of an item ', 1 + i % 3) || i, repeat('the memo and the text ', 2) || i, 100 + i % 100, i % 90, 1 + i % 3, 1 + i / 7.0, i / 3.0,
		timestamp '2001-01-01' + i * interval '1 h', timestamptz '2002-01-01 00:00+00' + i * interval '1 h' FROM generate_series(1, 500) i;
INSERT INTO app.other SELECT i, i, 'w' || i, i % 9 FROM generate_series(1, 500) i;
CREATE VIEW app.v_item WITH (security_barrier) AS SELECT id, code, name, qty, price, made FROM app.item WHERE code > 'c' AND qty >= reserved AND name LIKE 'a%' AND price >= 1.5;
CREATE VIEW app.v_counts AS SELECT code, count(*), count(DISTINCT v.qty) AS n, v.price FROM app.v_item v WHERE qty = 7 OR v.price < 5 GROUP BY code, price HAVING count(*) > 0 ORDER BY code;
CREATE VIEW app.v_join AS SELECT i.code, o.word, i.kind, qty::int4 * 2 AS twice FROM app.item i JOIN app.other o ON o.item = i.id AND o.n = i.kind WHERE o.word = ANY ('{w1,w2}') OR i.kind IN (1, 2);
CREATE VIEW app.v_union AS SELECT code FROM app.item UNION SELECT code FROM app.item WHERE seen > now() - interval '1 y' OR made = seen;
CREATE VIEW app.v_lengths AS SELECT item.id, code, octet_length(code), length(word) FROM app.item JOIN app.other ON item.id = other.id WHERE length(code) > 1;
CREATE VIEW app.v_rest AS SELECT max(id) AS last, min(serial) AS first FROM app.item;
CREATE MATERIALIZED VIEW app.mat AS SELECT id, serial FROM app.item;
COMMENT ON VIEW app.v_item IS 'a view';
COMMENT ON COLUMN app.v_item.code IS 'its code';
GRANT SELECT ON app.v_item TO role_a, role_b;
GRANT SELECT (code) ON app.v_counts TO PUBLIC;
ALTER VIEW app.v_join OWNER TO role_b;
GRANT SELECT ON app.item, app.other TO role_b;
SQL
my $before = schema('shop');
my $rows =
  q{SELECT md5(string_agg(i::text, ',' ORDER BY id)) FROM app.item i; SELECT md5(string_agg(o::text, ',' ORDER BY id)) FROM app.other o; SELECT md5(string_agg(v::text, ',' ORDER BY v::text)) FROM app.v_counts v};
my $rows_before = $node->safe_psql('shop', $rows);
$node->safe_psql('shop',
	q{SELECT * FROM compact_types.convert('app.item', narrow => true, narrow_keys => true); SELECT * FROM compact_types.convert('app.other', '{word,n}', narrow => true)}
);
isnt(schema('shop'), $before, 'the conversion changes the dump of the schema');
$node->safe_psql('shop',
	q{SELECT * FROM compact_types.revert('app.item'); SELECT * FROM compact_types.revert('app.other')}
);
is(differ($before, schema('shop')), '', 'convert() and revert(): the dump has the same lines');
ok(schema('shop') eq $before, 'convert() and revert(): the dump is the same');
is($node->safe_psql('shop', $rows), $rows_before, 'convert() and revert(): the rows are the same');
is($node->safe_psql('shop', 'SELECT count(*) FROM compact_types.conversions'),
	'0', 'nothing is left to revert');


#
# Notes and dumps
#
my $convert =
  q{SELECT count(*) FROM compact_types.convert('app.item', narrow => true, narrow_keys => true); SELECT count(*) FROM compact_types.convert('app.other', '{word,n}', narrow => true)};
my $notes =
  q{SELECT string_agg(format('%s %s %s %s %s %s', converted, old_type, old_storage, old_compression, new_type, new_typmod), ', ' ORDER BY converted::text) FROM compact_types.conversions};
$node->safe_psql('shop', $convert);
$node->safe_psql(
	'shop',
	q{ALTER TABLE app.item RENAME code TO "Code.of"; ALTER TABLE app.item RENAME TO item_2; ALTER TABLE app.item_2 SET SCHEMA moved;
	CREATE TABLE app.dropped AS SELECT id, word::char(9) FROM app.other; SELECT compact_types.convert('app.dropped', '{word}', narrow => true);
	CREATE TABLE app.dropped_too (a int, b int8); INSERT INTO app.dropped_too VALUES (1, 2); SELECT compact_types.convert('app.dropped_too', narrow => true); ALTER TABLE app.dropped_too DROP b; DROP TABLE app.dropped}
);
my $notes_before = $node->safe_psql('shop', $notes);
# Notes hold the text of a view or a constraint from before the conversion, with the old names of
# the tables.  So give the tables their old names again.
my $back =
  q{ALTER TABLE moved.item_2 SET SCHEMA app; ALTER TABLE app.item_2 RENAME TO item; ALTER TABLE app.item RENAME "Code.of" TO code};
like(
	$notes_before,
	qr/moved\.item_2\."Code\.of" character\(9\)/,
	'notes follow renamed tables and columns');
$node->safe_psql('shop', $back);
$notes_before = $node->safe_psql('shop', $notes);
my $definitions =
  q{SELECT string_agg(format('%s %s %s %s', used, owner, old_definition, new_definition), ', ' ORDER BY used::text, old_definition) FROM compact_types.definitions};
my $definitions_before = $node->safe_psql('shop', $definitions);
like(
	$definitions_before,
	qr/^app\.item\.code \S+ CHECK .*length\(code\) .*length\(\(code\)::text\)/,
	'the notes on definitions have a constraint');
like(
	$definitions_before,
	qr/, app\.v_join\.code role_b /,
	'the notes on definitions have the owner of a view');
$node->command_ok([ 'pg_dump', '--file', "$dir/plain.sql", $node->connstr('shop') ],
	'pg_dump succeeds');
$node->command_ok(
	[ 'pg_dump', '--format=custom', '--file', "$dir/custom.dump", $node->connstr('shop') ],
	'pg_dump in custom format succeeds');
$node->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE template0")
  for 'plain', 'custom', 'excluded';
$node->command_ok(
	[
		'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain.sql", $node->connstr('plain')
	],
	'the plain dump is restored');
$node->command_ok(
	[
		'pg_restore', '--exit-on-error', '-j', '2', '-d', $node->connstr('custom'),
		"$dir/custom.dump"
	],
	'the custom dump is restored in parallel');
$notes_before = join ', ', grep { !/^-/ } split /, /, $notes_before;

# A table is left out of the dump, and restored later.
$node->command_ok(
	[
		'pg_dump', '--format=custom', '--file', "$dir/excluded.dump", '-T', 'app.other', '-T',
		'app.v_join', '-T', 'app.v_lengths', $node->connstr('shop')
	],
	'pg_dump without a table succeeds');
$node->command_ok(
	[ 'pg_restore', '--exit-on-error', '-d', $node->connstr('excluded'), "$dir/excluded.dump" ],
	'the dump without a table is restored');
is($node->safe_psql('excluded', $notes),
	$notes_before, 'the notes on the missing table are restored');
$node->command_ok(
	[
		'pg_restore', '--exit-on-error', '-t', 'other', '-d', $node->connstr('excluded'),
		"$dir/custom.dump"
	],
	'the table is restored later');
$node->safe_psql('excluded', $_) for 'SELECT count(*) FROM compact_types.revert_all()';
is( $node->safe_psql(
		'excluded',
		q{SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'app.other'::regclass AND attname = 'word'}
	),
	'character(9)',
	'the table is reverted after its restore');

foreach my $database ('plain', 'custom', 'shop')
{
	is($node->safe_psql($database, $notes), $notes_before, "$database: the notes are the same")
	  unless $database eq 'shop';
	is($node->safe_psql($database, $definitions),
		$definitions_before, "$database: the notes on definitions are the same");
	$node->safe_psql($database, 'SELECT count(*) FROM compact_types.revert_all()');
	is($node->safe_psql($database, $types), '', "$database: no compact types are left");
	$node->safe_psql($database, 'DROP TABLE app.dropped_too');
	is(differ($before, schema($database)),
		'', "$database: the schema has the same lines as before the conversion");
	is($node->safe_psql($database, $rows), $rows_before, "$database: the rows are the same");
	$node->safe_psql($database, "DROP EXTENSION $_")
	  for 'compact_char5', 'compact_char9', 'compact_decimal4_2', 'compact_decimal8_4',
	  'compact_types';
}

#
# The owner of a database, who is not a superuser, restores his own dump.
#
$node->safe_psql('postgres', 'CREATE DATABASE hosted OWNER role_a');
as_role($node, 'hosted', 'role_a',
	q{CREATE EXTENSION compact_char9 CASCADE; CREATE SCHEMA app; CREATE TABLE app.t AS SELECT 'c'::char(9) AS c; SELECT count(*) FROM compact_types.convert('app.t', narrow => true)}
);
$node->safe_psql('postgres', 'CREATE DATABASE hosted_2 OWNER role_a TEMPLATE template0');
$node->command_ok(
	[
		'pg_dump', '-U',
		'role_a', '--format=custom',
		'--file', "$dir/hosted.dump",
		$node->connstr('hosted')
	],
	'the owner of a database can dump it');
$node->command_ok(
	[
		'pg_restore', '-U',
		'role_a', '--no-comments',
		'--exit-on-error', '--single-transaction',
		'-d', $node->connstr('hosted_2'),
		"$dir/hosted.dump"
	],
	'the owner of a database can restore it');
is(as_role($node, 'hosted_2', 'role_a', q{SELECT new_type FROM compact_types.revert('app.t')}),
	'character(9)', 'the owner of a database can revert the restored table');

#
# Code of a table's owner must not run with the rights of another user.
#
security_database($node, 'app', 'compact_types', 'compact_char9');
as_role($node, 'app', 'role_a',
	'CREATE DOMAIN role_a.checked AS int CHECK (role_a.trap(\'domain\', value) IS NOT NULL)');

# table(NAME, SQL) - make role_a.NAME with a column c that is converted to compact_char9; then run
# the SQL, where T is the name of the table
sub table
{
	my ($name, $sql) = @_;

	$sql =~ s/\bT\b/role_a.$name/g;
	as_role($node, 'app', 'role_a', <<"SQL");
CREATE TABLE role_a.$name (id int PRIMARY KEY, c char(9));
INSERT INTO role_a.$name SELECT i, 'c' || i FROM generate_series(1, 20) i;
SELECT count(*) FROM compact_types.convert('role_a.$name', '{c}', narrow => true);
$sql
SQL
	return;
}

# reverts(NAME, TRAPS, CALL, TYPE) - check that CALL runs exactly TRAPS (code of role_a that reports
# the role that it runs as), each as role_a, and that column c has TYPE afterwards
sub reverts
{
	my ($name, $traps, $call, $type) = @_;

	is_harmless(
		$node,
		sub {
			$node->psql('app',
				"SET client_min_messages = warning; SELECT count(*) FROM compact_types.$call");
		},
		$traps,
		"$name, $call by a superuser");
	is( $node->safe_psql(
			'app',
			"SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'role_a.$name'::regclass AND attname = 'c'"
		),
		$type,
		"$name: the column has the expected type");
	return;
}

my %kinds = (
	check => [ q{ALTER TABLE T ADD CHECK (role_a.trap('check', c::text) <> '')}, ['check'] ],
	check_constant =>
	  [ q{ALTER TABLE T ADD CHECK (role_a.trap('check_constant') OR c = '')}, ['check_constant'] ],
	check_domain =>
	  [ q{ALTER TABLE T ADD CHECK (c <> 'x' OR '{1}'::role_a.checked[] IS NULL)}, ['domain'] ],
	default => [ q{ALTER TABLE T ALTER c SET DEFAULT role_a.trap('default', 'x'::text)}, [] ],
	index => [ q{CREATE INDEX ON T ((role_a.trap('index', c::text)))}, ['index'] ],
	predicate =>
	  [ q{CREATE INDEX ON T (c) WHERE role_a.trap('predicate', c::text) <> ''}, ['predicate'] ],
	statistics => [
		q{CREATE STATISTICS role_a.stat ON (role_a.trap('statistics', c::text)), (role_a.trap('constant', 1)) FROM T; ANALYZE T},
		[ 'constant', 'statistics' ]
	],
	trigger => [
		q{CREATE TRIGGER trap BEFORE INSERT OR UPDATE ON T FOR EACH ROW EXECUTE FUNCTION role_a.trap_trigger('trigger')},
		[]
	],
	view => [
		q{CREATE VIEW role_a.view_t AS SELECT id, c, '{1}'::role_a.checked[] AS x FROM T},
		['domain']
	],
	foreign_key => [
		q{ALTER TABLE T ADD UNIQUE (c); CREATE TABLE role_a.referencing (c char(9) REFERENCES T (c) CHECK (role_a.trap('check', c::text) <> '')); INSERT INTO role_a.referencing VALUES ('c1')},
		[]
	]);
foreach my $kind (sort keys %kinds)
{
	table($kind, $kinds{$kind}[0]);
	reverts($kind, $kinds{$kind}[1], "revert('role_a.$kind')", 'character(9)');
	is( $node->safe_psql(
			'app', "SELECT relowner::regrole FROM pg_class WHERE oid = 'role_a.view_t'::regclass"),
		'role_a',
		'the view still belongs to its owner') if $kind eq 'view';
}
table($_, q{ALTER TABLE T ADD CHECK (role_a.trap('check', c::text) <> '')}) for 'all_1', 'all_2';
reverts('all_2', ['check'], 'revert_all()', 'character(9)');

table('forged', '');
$node->safe_psql('app', q{CREATE TABLE mine (c compact_char9); INSERT INTO mine VALUES ('c')});
as_role($node, 'app', 'role_a', $_)
  for
  q{INSERT INTO compact_types.conversions VALUES ('public.mine.c', 'text', 'x', '', 'compact_char9', -1), ('public.later.c', 'text', 'x', '', 'compact_char9', -1)};
is( $node->safe_psql(
		'app', q{SELECT string_agg(converted::text, ' ') FROM compact_types.conversions}),
	'role_a.forged.c',
	'notes on tables of other users are ignored');
foreach
  my $type ('role_a.checked', 'text; ALTER ROLE role_a SUPERUSER', 'int4', 'text[]', 'compact_text')
{
	my ($ret, $stdout, $stderr) = $node->psql(
		'app',
		"INSERT INTO compact_types.conversions VALUES ('role_a.forged.c', '$type', 'x', '', 'compact_char9', -1)",
		extra_params => [ '-U', 'role_a' ]);
	like(
		$stderr,
		qr/ERROR:  (type "compact_char9" cannot be the result|syntax error)/,
		"a note with the type $type is refused");
}
as_role($node, 'app', 'role_a',
	q{CREATE TYPE role_a.text AS (a int); SET search_path = role_a, pg_catalog; INSERT INTO compact_types.conversions VALUES ('role_a.forged.c', 'pg_catalog.text', 'x', '', 'compact_char9', -1)}
);
reverts('forged', [], "revert('role_a.forged')", 'text');

# Users can forge notes.  Definitions in forged notes run with the rights of the user who wrote
# them, and only on tables of this user.  A note that names another owner is ignored, and so is a
# definition that is more than one statement.
foreach my $name ('definition', 'given')
{
	table($name, 'ALTER TABLE T ADD CONSTRAINT forged CHECK (length(c) < 10)');
	as_role(
		$node, 'app', 'role_a',
		"INSERT INTO compact_types.definitions VALUES ('role_a.$name.c', 'role_a', \$\$CHECK (role_a.trap('definition'))\$\$,
		(SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'forged' AND conrelid = 'role_a.$name'::regclass)),
		('role_a.$name.c', '$superuser', 'CHECK (true)', 'CHECK (false)'),
		('public.mine.c', '$superuser', 'CHECK (true)', 'CHECK (false)'), ('public.later.c', '$superuser', 'CHECK (true)', 'CHECK (false)')"
	);
}
is( $node->safe_psql(
		'app',
		q{SELECT string_agg(format('%s %s', used, owner), ', ' ORDER BY used::text) FROM compact_types.definitions WHERE old_definition ~ 'trap|true'}
	),
	'role_a.definition.c role_a, role_a.given.c role_a',
	'definitions on tables of other users are ignored, and the owner cannot be forged');
reverts('definition', ['definition'], q{revert('role_a.definition')}, 'character(9)');
$node->safe_psql('app', "ALTER TABLE role_a.given OWNER TO $superuser");
# A restored dump has the note of the former owner.
is( $node->safe_psql(
		'app', q{
		INSERT INTO compact_types.definitions SELECT * FROM compact_types.definitions WHERE used::text = 'role_a.given.c';
		SELECT owner FROM compact_types.definitions WHERE used::text = 'role_a.given.c'}
	),
	'role_a',
	'a restored definition of a former owner does not belong to the present owner');
reverts('given', [], q{revert('role_a.given')}, 'character(9)');

table('several',
	'CREATE INDEX forged_index ON T (c); ALTER TABLE T ADD CONSTRAINT forged CHECK (length(c) < 10)'
);
as_role($node, 'app', 'role_a', <<'SQL');
INSERT INTO compact_types.definitions
SELECT 'role_a.several.c', 'role_a', definition || '; SELECT role_a.trap(''several'')', definition
FROM (SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE conname = 'forged' AND conrelid = 'role_a.several'::regclass
      UNION ALL SELECT 'CREATE INDEX forged_index ON role_a.several USING btree (c)') x;
INSERT INTO compact_types.definitions VALUES ('role_a.several.c', 'role_a', 'no statement', 'CREATE INDEX forged_index ON role_a.several USING btree (c)');
SQL
is( $node->safe_psql(
		'app',
		q{SELECT count(*) FROM compact_types.definitions WHERE used::text = 'role_a.several.c'}),
	'3',
	'definitions of several statements are in the table');
reverts('several', [], q{revert('role_a.several')}, 'character(9)');

# A user without privileges on the table gets an error before a lock is taken.
table('locked', '');
my $locker = $node->background_psql('app');
$locker->query_safe('BEGIN; LOCK TABLE role_a.locked');
foreach my $call (q{revert('role_a.locked')}, q{revert('role_a.locked', unrecorded => true)})
{
	my ($ret, $stdout, $stderr) = $node->psql(
		'app',
		"SET lock_timeout = '1s'; SELECT compact_types.$call",
		extra_params => [ '-U', 'role_c' ]);
	like(
		$stderr,
		qr/ERROR:  must be owner of table locked/,
		"$call by a user without privileges fails");
}
my ($ret, $stdout, $stderr) = $node->psql(
	'app',
	"SET lock_timeout = '1s'; SET client_min_messages = notice; SELECT compact_types.revert_all(true)",
	extra_params => [ '-U', 'role_c' ]);
is($ret, 0, 'revert_all() by a user without privileges succeeds');
like(
	$stderr,
	qr/NOTICE:  skipping table "locked"\nDETAIL:  The table belongs to a role that you cannot become/,
	'revert_all() names the table that it leaves out');
$locker->query_safe('ROLLBACK');

#
# Concurrent sessions, and a transaction that is rolled back
#
$node->safe_psql(
	'app',
	q{CREATE TABLE two AS SELECT i AS id, ('c' || i)::char(9) AS c FROM generate_series(1, 100) i; CREATE TABLE three AS TABLE two;
	BEGIN; SELECT count(*) FROM compact_types.convert('two', '{c}', narrow => true); ROLLBACK});
is( $node->safe_psql(
		'app',
		q{SELECT count(*) FROM compact_types.conversions WHERE converted::text LIKE 'public.t%'}),
	'0',
	'a conversion that is rolled back leaves no note');
$locker->query_safe(
	q{BEGIN; SELECT count(*) FROM compact_types.convert('two', '{c}', narrow => true)});
is( $node->safe_psql(
		'app',
		q{SET lock_timeout = '10s'; SELECT count(*) FROM compact_types.convert('three', '{c}', narrow => true); SELECT count(*) FROM compact_types.revert('three')}
	),
	"1\n1",
	'conversions of other tables do not wait');
my $other = $node->background_psql('app');
$other->query_until(qr/start/, "\\echo start\nSELECT count(*) FROM compact_types.revert('two');\n");
$node->poll_query_until('app', q{SELECT count(*) > 0 FROM pg_locks WHERE NOT granted});
$locker->query_safe('COMMIT');
$locker->quit;
$other->quit;
is( $node->safe_psql(
		'app',
		q{SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'two'::regclass AND attname = 'c'}
	),
	'character(9)',
	'revert() waits for the conversion and reverts it');
is( $node->safe_psql(
		'app',
		q{SELECT count(*) FROM compact_types.conversions WHERE converted::text LIKE 'public.t%'}),
	'0',
	'revert() removes the note');

$node->stop;
done_testing();
