# Test DDL on the name of a split table.  The DDL waits for another session, which gives the name to
# another definition or relation.  The DDL must act on the new definition or be refused.  The DDL
# must never act on tables of other owners.  Also test DDL in the script of an extension.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Partition;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = partition_node('alter_race');
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION vertical_partition;
CREATE ROLE owner LOGIN;
CREATE ROLE other LOGIN;
SQL

# Create a.t anew.  The first session runs a statement in a transaction, and commits when the second
# session waits for a lock.  Return the output of the second session.
sub race
{
	my ($first, $second, %options) = @_;

	$node->safe_psql('postgres', <<"SQL");
SET client_min_messages = error;
DROP SCHEMA IF EXISTS a, b CASCADE;
CREATE SCHEMA a AUTHORIZATION owner;
CREATE SCHEMA b AUTHORIZATION other;
GRANT USAGE ON SCHEMA b TO owner;
SET ROLE other;
CREATE TABLE b.x (id int PRIMARY KEY, x int);
CREATE TABLE b.y (id int PRIMARY KEY, big text);
INSERT INTO b.y VALUES (1, 'precious');
RESET ROLE;
SET ROLE owner;
CREATE TABLE a.t (id int PRIMARY KEY, x int, gone int, big text);
INSERT INTO a.t SELECT i, i, i, 'big ' || i FROM generate_series(1, 20) i;
SELECT vertical_partition.split('a.t', '{big}');
SQL
	my $one = $node->background_psql('postgres', extra_params => [ '-U', 'owner' ]);
	my $two = $node->background_psql('postgres', on_error_stop => 0);
	$one->query_safe("SET client_min_messages = error; BEGIN; LOCK TABLE a.t IN ACCESS SHARE MODE");
	$one->query_safe($first) if $options{before};
	$two->query_until(qr/begins/,
			"\\set VERBOSITY terse\n"
		  . ($options{path} // '')
		  . "\n\\echo begins\n$second;\n\\echo ends\n");
	$node->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
	  or die 'nobody waits';
	$one->query_safe($first) unless $options{before};
	$one->query_safe('COMMIT');
	my $out = $two->query_until(qr/^ends$/m, '');
	my $err = $two->{stderr};
	$_->quit foreach $one, $two;
	return "$out$err";
}

# The owner replaces the view that DDL will drop with a view that reads tables of another owner.
my $replace =
  q{CREATE OR REPLACE VIEW a.t AS SELECT h.id, h.x, h.x AS gone, c.big FROM b.x h LEFT JOIN b.y c ON h.id = c.id WHERE vertical_partition.linked('shared_key', h.tableoid, c.id)};
like(
	race($replace, 'DROP TABLE a.t'),
	qr/relation "t" was changed by another session/,
	'DROP TABLE of a view that was replaced is refused');
is($node->safe_psql('postgres', 'SELECT big FROM b.y'),
	'precious', 'the tables of others are unchanged');
like(
	race($replace, 'ALTER TABLE a.t ADD COLUMN y int'),
	qr/relation "t" was changed by another session/,
	'ALTER TABLE of a view that was replaced is refused');
is( $node->safe_psql(
		'postgres',
		q{SELECT count(*) FROM pg_attribute WHERE attrelid IN ('b.x'::regclass, 'b.y'::regclass) AND attnum > 0}
	),
	'4',
	'the columns of the other tables are unchanged');

# Another table gets the name.
$node->safe_psql('postgres', 'CREATE VIEW public.t AS SELECT 1 AS not_mine');
like(
	race(
		'ALTER VIEW a.t RENAME TO t9',
		'DROP TABLE t CASCADE',
		path => 'SET search_path = a, public;'),
	qr/relation "t" was changed by another session/,
	'DROP TABLE is refused if another table took over the name');
is($node->safe_psql('postgres', 'SELECT not_mine FROM public.t'),
	'1', 'the other table is unchanged');

# DROP COLUMN creates the view anew.  A command that waits for this DROP COLUMN acts on
# the new view.
my %after = (
	'ALTER TABLE a.t ADD COLUMN y int' => q{SELECT count(y) || ' ' || count(big) FROM a.t},
	'CREATE INDEX made ON a.t (x)' => q{SELECT to_regclass('a.made') || ' ' || count(big) FROM a.t},
	q{COMMENT ON TABLE a.t IS 'ours'} => q{SELECT obj_description('a.t'::regclass)},
	'TRUNCATE a.t' => 'SELECT count(*) FROM a.t',
	'ALTER TABLE a.t RENAME x TO xx' =>
	  q{SELECT string_agg(attrelid::regclass::text, ' ' ORDER BY 1) FROM (SELECT attrelid FROM pg_attribute WHERE attname = 'xx' ORDER BY attrelid::regclass::text) s},
	'DROP TABLE a.t' =>
	  q{SELECT count(*) FROM pg_class WHERE relname IN ('t', 't_hot', 't_cold') AND relnamespace = 'a'::regnamespace},
	'COPY a.t TO STDOUT' => 'SELECT count(*) FROM a.t',
	'ALTER TABLE a.t SET SCHEMA b' =>
	  q{SELECT to_regclass('b.t') || ' ' || to_regclass('b.t_hot') || ' ' || to_regclass('b.t_cold')}
);
my %expected = (
	'ALTER TABLE a.t ADD COLUMN y int' => '0 20',
	'CREATE INDEX made ON a.t (x)' => 'a.made 20',
	q{COMMENT ON TABLE a.t IS 'ours'} => 'ours',
	'TRUNCATE a.t' => '0',
	'ALTER TABLE a.t RENAME x TO xx' => 'a.t a.t_hot',
	'DROP TABLE a.t' => '0',
	'COPY a.t TO STDOUT' => '20',
	'ALTER TABLE a.t SET SCHEMA b' => 'b.t b.t_hot b.t_cold');
foreach my $statement (sort keys %after)
{
	my $said = race('ALTER TABLE a.t DROP COLUMN gone', $statement, before => 1);
	unlike($said, qr/ERROR/, "$statement waits for DROP COLUMN and succeeds") or next;
	is($node->safe_psql('postgres', $after{$statement}),
		$expected{$statement}, "$statement acts on the new definition");
	like($said, qr/^1\t1\tbig 1$/m, 'COPY has no dropped column') if $statement =~ /^COPY/;
}

# A transaction with an old snapshot must not undo changes that other sessions have made to the
# table after this snapshot.  So the extension refuses commands that read the catalogs by SQL,
# because they would read with this snapshot.
sub stale
{
	my ($isolation, $first, $second) = @_;
	my $split = q{SELECT vertical_partition.split('a.t', '{big,also}')};
	my $before = $first eq $split ? '' : $split;

	$node->safe_psql('postgres', <<"SQL");
SET client_min_messages = error;
DROP SCHEMA IF EXISTS a, b CASCADE;
CREATE SCHEMA a AUTHORIZATION owner;
SET ROLE owner;
CREATE TABLE a.u (id int PRIMARY KEY);
CREATE TABLE a.t (id int PRIMARY KEY, x int, y int, gone int, big text, also text);
INSERT INTO a.t SELECT i, i, i, i, 'big ' || i, 'also ' || i FROM generate_series(1, 20) i;
CREATE FUNCTION a.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
GRANT SELECT ON a.t TO other;
$before;
SQL
	my $one =
	  $node->background_psql('postgres', extra_params => [ '-U', 'owner' ], on_error_stop => 0);
	$one->query_until(qr/^begun$/m,
		"\\set VERBOSITY verbose\nBEGIN ISOLATION LEVEL $isolation; SELECT 1;\n\\echo begun\n");
	$node->safe_psql('postgres', "SET ROLE owner; $first");
	$one->query_until(qr/^done$/m, "$second;\nCOMMIT;\n\\echo done\n");
	$one->quit;
	return $one->{stderr};
}

my $state =
  q{SELECT has_table_privilege('other', 'a.t', 'SELECT') || ' ' || (SELECT count(*) FROM pg_trigger WHERE tgrelid = 'a.t'::regclass AND tgname = 'theirs')
	|| ' ' || coalesce((SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum WHERE adrelid = 'a.t'::regclass AND attname = 'x'), 'none')};
my $theirs =
  'REVOKE SELECT ON a.t FROM other; ALTER TABLE a.t ALTER x SET DEFAULT 7; CREATE TRIGGER theirs AFTER INSERT ON a.t FOR EACH STATEMENT EXECUTE FUNCTION a.f()';
my $refused =
  qr/ERROR:  0A000: cannot execute this command on split table "t" in a (REPEATABLE READ|SERIALIZABLE) transaction\n.*HINT:  Use READ COMMITTED\./s;
foreach my $isolation ('REPEATABLE READ', 'SERIALIZABLE')
{
	like(stale($isolation, $theirs, 'ALTER TABLE a.t DROP COLUMN gone'),
		$refused, "$isolation: DROP COLUMN is refused");
	is($node->safe_psql('postgres', $state), 'false 1 7', "$isolation: the changes of others stay");
}
# Another session has swapped the names of two columns.
my $swap =
  'ALTER VIEW a.t RENAME x TO z; ALTER VIEW a.t RENAME y TO x; ALTER VIEW a.t RENAME z TO y';
like(stale('REPEATABLE READ', $swap, 'ALTER TABLE a.t ALTER x TYPE bigint'),
	$refused, 'ALTER of columns that were renamed is refused');
is( $node->safe_psql(
		'postgres',
		q{SELECT string_agg(attname || ' ' || atttypid::regtype, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'a.t_hot'::regclass AND attname IN ('x', 'y')}
	),
	'x integer, y integer',
	'no other column was altered');
like(stale('REPEATABLE READ', $swap, 'ALTER TABLE a.t RENAME x TO v'),
	$refused, 'RENAME COLUMN, too');
like(stale('REPEATABLE READ', 'ALTER TABLE a.t ADD k int', 'ALTER TABLE a.t ALTER id TYPE bigint'),
	$refused, 'ALTER TYPE of a key that was changed is refused');
like(
	stale(
		'REPEATABLE READ',
		'ALTER TABLE a.t ADD k int',
		'ALTER TABLE a.t ADD l int GENERATED BY DEFAULT AS IDENTITY'),
	$refused,
	'ADD of an identity column is refused');
# Another session has split the table after the snapshot was taken.
my $split = q{SELECT vertical_partition.split('a.t', '{big,also}')};
like(
	stale(
		'REPEATABLE READ',
		$split, 'ALTER TABLE a.t ADD FOREIGN KEY (x) REFERENCES a.u ON DELETE CASCADE NOT VALID'),
	$refused,
	'ON DELETE CASCADE of a table that was split is refused');
like(stale('REPEATABLE READ', $split, 'ALTER TABLE a.t ALTER id TYPE bigint'),
	$refused, 'ALTER TYPE of the key of a table that was split is refused');
# Commands that do not read the catalogs by SQL succeed.
is( stale(
		'REPEATABLE READ',
		$theirs,
		'ALTER TABLE a.t ADD n int DEFAULT 3, ALTER gone TYPE text, ALTER big SET NOT NULL, ADD UNIQUE (y)'
	),
	'',
	'other commands are not refused');
is($node->safe_psql('postgres', $state), 'false 1 7', 'other commands keep the changes of others');
is($node->safe_psql('postgres', 'SELECT count(n) || pg_typeof(min(gone))::text FROM a.t'),
	'20text', 'other commands take effect');

# Another session changes privileges while the view is created anew, and after the extension has
# read the privileges.  GRANT takes no lock on the view.  An event trigger makes the session wait at
# this place.
foreach my $change ('REVOKE SELECT ON a.t FROM other', 'REVOKE SELECT (x) ON a.t FROM other')
{
	$node->safe_psql('postgres', <<"SQL");
SET client_min_messages = error;
DROP SCHEMA IF EXISTS a CASCADE;
CREATE SCHEMA a AUTHORIZATION owner;
SET ROLE owner;
CREATE TABLE a.t (id int PRIMARY KEY, x int, gone int, big text);
SELECT vertical_partition.split('a.t', '{big}');
@{[ $change =~ s/REVOKE/GRANT/r =~ s/FROM/TO/r ]};
RESET ROLE;
CREATE FUNCTION public.wait() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); END';
CREATE EVENT TRIGGER wait ON ddl_command_start WHEN TAG IN ('DROP VIEW') EXECUTE FUNCTION public.wait();
SQL
	my $keeper = $node->background_psql('postgres');
	my $one =
	  $node->background_psql('postgres', extra_params => [ '-U', 'owner' ], on_error_stop => 0);
	my $two =
	  $node->background_psql('postgres', extra_params => [ '-U', 'owner' ], on_error_stop => 0);
	$keeper->query_safe('SELECT pg_advisory_lock(1)');
	$one->query_until(qr/^begun$/m,
		"\\echo begun\nALTER TABLE a.t DROP COLUMN gone;\n\\echo done\n");
	$node->poll_query_until('postgres',
		q{SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND locktype = 'advisory')})
	  or die 'nobody waits';
	$two->query_until(qr/^begun$/m, "\\echo begun\n$change;\n\\echo done\n");
	$node->poll_query_until('postgres',
		q{SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query ~ '^REVOKE' AND (state <> 'active' OR wait_event_type = 'Lock'))}
	) or die 'REVOKE neither waits nor ends';
	$keeper->query_safe('SELECT pg_advisory_unlock(1)');
	$_->query_until(qr/^done$/m, '') foreach $one, $two;
	$_->quit foreach $keeper, $one, $two;
	is($one->{stderr}, '', 'DROP COLUMN succeeds');
	my $has =
	  $node->safe_psql('postgres', q{SELECT has_column_privilege('other', 'a.t', 'x', 'SELECT')});
	my $failed = $two->{stderr} =~ /ERROR/ ? 't' : 'f';
	is($has, $failed, "$change meanwhile takes effect or fails with an error");
	$node->safe_psql('postgres', 'DROP EVENT TRIGGER wait; DROP FUNCTION public.wait');
}

# split() and merge() wait for such changes of privileges, and keep them.
$node->safe_psql('postgres',
	'SET client_min_messages = error; DROP SCHEMA IF EXISTS a CASCADE; CREATE SCHEMA a; CREATE TABLE a.t (id int PRIMARY KEY, x int, big text)'
);
foreach my $call (q{split('a.t', '{big}')}, q{merge('a.t')})
{
	my $grant =
	  $call =~ /split/
	  ? 'GRANT SELECT (x) ON a.t TO other'
	  : 'GRANT SELECT (id), UPDATE (x) ON a.t TO other';
	my $one = $node->background_psql('postgres');
	my $two = $node->background_psql('postgres', on_error_stop => 0);
	$one->query_safe("BEGIN; $grant");
	$two->query_until(qr/^begun$/m,
		"SET client_min_messages = error;\n\\echo begun\nSELECT vertical_partition.$call;\n\\echo done\n"
	);
	$node->poll_query_until('postgres', 'SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)')
	  or die 'nobody waits';
	$one->query_safe('COMMIT');
	$two->query_until(qr/^done$/m, '');
	$_->quit foreach $one, $two;
	is($two->{stderr}, '', "$call waits for GRANT");
}
is( $node->safe_psql('postgres',
		q{SELECT string_agg(attname || attacl::text, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'a.t'::regclass}
	) =~ s/[^ ]*\{([^}]*)\}/$1/gr =~ s{/\w+}{}gr,
	'other=r other=rw',
	'split() and merge() keep the privileges');

# One session adds a trigger, and another session adds a foreign key that would keep the trigger
# from firing.
foreach my $order (0, 1)
{
	$node->safe_psql('postgres', <<"SQL");
SET client_min_messages = error;
DROP SCHEMA IF EXISTS a CASCADE;
CREATE SCHEMA a AUTHORIZATION owner;
SET ROLE owner;
CREATE TABLE a.u (id int PRIMARY KEY);
CREATE TABLE a.t (id int PRIMARY KEY, x int, big text);
CREATE FUNCTION a.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
SELECT vertical_partition.split('a.t', '{big}');
SQL
	my @do = (
		'CREATE TRIGGER deletes AFTER DELETE ON a.t FOR EACH STATEMENT EXECUTE FUNCTION a.f()',
		'ALTER TABLE a.t ADD CONSTRAINT cascades FOREIGN KEY (x) REFERENCES a.u ON DELETE CASCADE');
	@do = reverse @do if $order;
	my $one = $node->background_psql('postgres', extra_params => [ '-U', 'owner' ]);
	my $two =
	  $node->background_psql('postgres', extra_params => [ '-U', 'owner' ], on_error_stop => 0);
	$one->query_safe("BEGIN; $do[0]");
	$two->query_until(qr/^begun$/m, "\\echo begun\n$do[1];\n\\echo done\n");
	$node->poll_query_until('postgres', 'SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)')
	  or die 'nobody waits';
	$one->query_safe('COMMIT');
	$two->query_until(qr/^done$/m, '');
	$_->quit foreach $one, $two;
	like(
		$two->{stderr},
		qr/cannot have both trigger "deletes" and foreign key "cascades" with ON DELETE CASCADE/,
		"the second session is refused: $do[1]");
}

# Sessions must not wait for each other.  Create a.t anew, with row pointers.  The sessions run their
# statements one after the other, each as soon as the one before waits.  The first session then runs
# its last statement, and the others go on.  Return the messages of all sessions.
sub together
{
	my ($first, $others, $last, %options) = @_;
	my $settings = $options{settings} // '';

	$node->safe_psql('postgres', <<"SQL");
SET client_min_messages = error;
$settings;
DROP SCHEMA IF EXISTS a CASCADE;
CREATE SCHEMA a AUTHORIZATION owner;
SET ROLE owner;
CREATE TABLE a.u (id int PRIMARY KEY);
CREATE TABLE a.t (id int PRIMARY KEY, x int, y int, big text);
INSERT INTO a.t SELECT i, i, i, 'big ' || i FROM generate_series(1, 20) i;
CREATE FUNCTION a.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION a.wait(int) RETURNS boolean LANGUAGE plpgsql
  AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN true; END';
SELECT vertical_partition.split('a.t', '{big,y}', 'row_pointer');
SQL
	my ($one, @others) =
	  map {
		$node->background_psql('postgres', extra_params => [ '-U', 'owner' ], on_error_stop => 0)
	  } 0 .. @$others;
	$_->query_safe("SET client_min_messages = error; $settings") foreach $one, @others;
	$one->query_safe("BEGIN; $first");
	for my $i (0 .. $#others)
	{
		$others[$i]->query_until(qr/^begun$/m, "\\echo begun\n$others->[$i];\n\\echo done\n");
		$node->poll_query_until('postgres',
			'SELECT count(DISTINCT pid) > ' . $i . ' FROM pg_locks WHERE NOT granted')
		  or die "nobody waits: $others->[$i]";
	}
	$one->query($last);
	$one->query('COMMIT');
	$_->query_until(qr/^done$/m, '') foreach @others;
	my $said = join '', map { $_->{stderr} } $one, @others;
	$_->quit foreach $one, @others;
	return $said;
}

# The view has the key of the hot part, so a new primary key of the hot part changes the view.
foreach my $constraint (
	'ADD CONSTRAINT waits CHECK (a.wait(x))',
	'ADD CONSTRAINT waits CHECK (a.wait(x)), DROP CONSTRAINT t_pkey CASCADE, ADD CONSTRAINT k PRIMARY KEY (id)'
  )
{
	foreach my $other (
		'CREATE TRIGGER t INSTEAD OF DELETE ON a.t FOR EACH ROW EXECUTE FUNCTION a.f()',
		'CREATE TRIGGER t AFTER DELETE ON a.t FOR EACH STATEMENT EXECUTE FUNCTION a.f()',
		'BEGIN; LOCK TABLE a.t IN SHARE MODE; COMMIT')
	{
		is( together(
				'SELECT pg_advisory_xact_lock(1)',
				[ "ALTER TABLE a.t_hot $constraint", $other ],
				'SELECT 1'),
			'',
			"hot part: $constraint, beside $other");
	}
	is( $node->safe_psql(
			'postgres',
			q{SELECT conname FROM pg_constraint WHERE conrelid = 'a.t'::regclass AND contype = 'p'}
		),
		$constraint =~ /PRIMARY/ ? 'k' : 't_pkey',
		"hot part: $constraint: the key of the view");
}
is( together(
		q{COMMENT ON VIEW a.t IS 'locked'},
		['ALTER TABLE a.t_hot RENAME CONSTRAINT t_pkey TO k'],
		'SELECT 1'),
	'',
	'a new name of the primary key waits for a command on the view');
is( $node->safe_psql(
		'postgres',
		q{SELECT conname FROM pg_constraint WHERE conrelid = 'a.t'::regclass AND contype = 'p'}),
	'k',
	'the view gets the name');
is( together(
		'LOCK TABLE a.t_hot IN ACCESS EXCLUSIVE MODE',
		['BEGIN; LOCK TABLE a.t IN SHARE MODE; COMMIT'],
		'ALTER TABLE a.t_hot ADD CONSTRAINT positive CHECK (x > 0)',
		settings => 'SET vertical_partition.declare_keys = off'),
	'',
	'LOCK TABLE beside a constraint of the hot part, while the view has no key');

# relink() follows a command that rewrites the cold part, and locks the whole table.
my $whole =
  q{SELECT (SELECT pointers_valid FROM vertical_partition.status WHERE relation = 'a.t'::regclass), count(*), max(big) FROM a.t};
foreach my $write (
	q{UPDATE a.t SET x = 0, big = 'new' WHERE id = 1},
	q{WITH l AS (SELECT id, big FROM a.t WHERE id = 1 FOR UPDATE) UPDATE a.t SET big = 'new' FROM l WHERE t.id = l.id}
  )
{
	is( together(
			'LOCK TABLE a.t_cold IN ACCESS SHARE MODE',
			[ 'ALTER TABLE a.t_cold SET UNLOGGED', $write ],
			'SELECT 1'),
		'',
		"a rewrite of the cold part beside $write");
	is($node->safe_psql('postgres', $whole), 't|20|new', 'both have taken effect');
}
is( together(
		'ALTER TABLE a.t_cold ADD CONSTRAINT filled CHECK (big IS NOT NULL)',
		['SELECT max(big) FROM a.t'],
		'ALTER TABLE a.t_cold SET UNLOGGED'),
	'',
	'a transaction that changes the cold part twice, beside a reader');
is($node->safe_psql('postgres', $whole), 't|20|big 9', 'the pointers are valid');

# Two sessions give the same name to constraints of different parts.
foreach my $name (
	[ 'ALTER TABLE a.t ADD CONSTRAINT c FOREIGN KEY (y) REFERENCES a.u NOT VALID', '' ],
	[
		'ALTER TABLE a.t RENAME CONSTRAINT d TO c',
		'ALTER TABLE a.t ADD CONSTRAINT d FOREIGN KEY (y) REFERENCES a.u NOT VALID'
	])
{
	my ($statement, $before) = @$name;
	my $add = 'ALTER TABLE a.t ADD CONSTRAINT c FOREIGN KEY (x) REFERENCES a.u NOT VALID';
	like(
		together($before ? "$before; COMMIT; BEGIN; $add" : $add, [$statement], 'SELECT 1'),
		qr/constraint "c" for relation "t" already exists/,
		"the name is refused: $statement");
}

# While a command for a part waits, another table gets the part's name.
is( together(
		'ALTER TABLE a.t_cold RENAME TO other; CREATE TABLE a.t_cold (id int)',
		['ALTER TABLE a.t_cold SET (fillfactor = 80)'],
		'ALTER TABLE a.other SET UNLOGGED'),
	'',
	'a command for the cold part, whose name another table gets');
is( together(
		'ALTER TABLE a.t ADD FOREIGN KEY (x) REFERENCES a.u ON DELETE CASCADE NOT VALID; ALTER TABLE a.t_hot RENAME TO other; CREATE TABLE a.t_hot (id int)',
		['ALTER TABLE a.t_hot SET (fillfactor = 80)'],
		'SELECT 1'),
	'',
	'a command for the hot part, whose name another table gets');

# One session builds an index and then adds a foreign key, while another one adds a foreign key.
is( together(
		'CREATE INDEX ON a.t (x)',
		['ALTER TABLE a.t ADD CONSTRAINT c FOREIGN KEY (x) REFERENCES a.u NOT VALID'],
		'ALTER TABLE a.t ADD CONSTRAINT d FOREIGN KEY (x) REFERENCES a.u NOT VALID'),
	'',
	'an index and a foreign key beside a foreign key');
# One session has read the table before both add a constraint.
is( together(
		'SELECT FROM a.t',
		['ALTER TABLE a.t ADD CONSTRAINT c CHECK (x > 0)'],
		'ALTER TABLE a.t ADD COLUMN z int'),
	'',
	'a transaction that has read the table adds a column beside a constraint');

# If the script of an extension changes a split table, the table does not become a member of the
# extension.
$node->safe_psql('postgres', 'CREATE TABLE s (id int PRIMARY KEY, a int, c text)');
$node->safe_psql('postgres', q{SELECT vertical_partition.split('s', '{c}')});
# Since 18, extensions can be in other directories.
if ($node->safe_psql('postgres', 'SHOW server_version_num') >= 180000)
{
	my $dir = $node->basedir . '/share/extension';
	system("mkdir -p $dir") == 0 or die;
	append_to_file("$dir/changes.control",
		"default_version = '1'\nrelocatable = false\nschema = public\n");
	append_to_file("$dir/changes--1.sql", "ALTER TABLE public.s DROP COLUMN a;\n");
	$node->append_conf('postgresql.conf',
		"extension_control_path = '" . $node->basedir . "/share:\$system'");
	$node->reload;
	$node->safe_psql('postgres', 'CREATE EXTENSION changes');
	is( $node->safe_psql(
			'postgres',
			q{SELECT count(*) FROM pg_depend WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'changes')}
		),
		'0',
		'the extension has no members');
	$node->safe_psql('postgres', 'DROP EXTENSION changes');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM s'),
		'0', 'the split table stays after DROP EXTENSION');
}

$node->stop;
done_testing();
