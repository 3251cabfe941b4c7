# apply() and undo(): types, TOAST, a split and indexes of one table together, with constraints,
# comments, privileges, statistics targets and STORAGE settings.  undo() gives exactly the schema
# dump from before, also in a restored copy.  What other roles note is never run, and nobody can
# note or take back anything on tables of others.
use strict;
use warnings FATAL => 'all';

use File::Spec;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('apply');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
autovacuum = off
session_preload_libraries = 'vertical_partition'
vertical_partition.track_updates = on
shared_preload_libraries = 'vertical_partition'
CONF
$node->start;
my $dir = File::Spec->rel2abs($node->basedir);
my $patched = $node->safe_psql('postgres',
	q{SELECT current_setting('default_index_item_alignment', true) IS NOT NULL}) eq 't';

sub sql
{
	my ($db, $query) = @_;
	return $node->safe_psql($db, $query);
}

# refused(DATABASE, STATEMENT, PATTERN, NAME)
sub refused
{
	my ($db, $statement, $pattern, $name) = @_;
	my ($code, $out, $err) = $node->psql($db, $statement);
	like($err, $pattern, $name);
	return;
}

sub dump_of
{
	my ($db) = @_;
	my ($out, $err) = run_command(
		[ 'pg_dump', '-s', '-n', 'app', '-n', 'public', '-p', $node->port, '-h', $node->host, $db ]
	);
	return $out =~ s/^\\(?:un)?restrict .*\n//gmr;
}

sql('postgres', 'CREATE ROLE owner; CREATE ROLE mallory; CREATE ROLE reader; CREATE DATABASE shop');
sql('shop', <<'SQL');
CREATE EXTENSION compact_types; CREATE EXTENSION toast_policy; CREATE EXTENSION vertical_partition; CREATE EXTENSION pg_dense;
CREATE SCHEMA app AUTHORIZATION owner;
GRANT USAGE ON SCHEMA app TO PUBLIC;
SET ROLE owner;
CREATE TABLE app.kinds (id int PRIMARY KEY, kind varchar(20) NOT NULL);
INSERT INTO app.kinds SELECT i, 'kind number ' || i FROM generate_series(1, 9) i;
CREATE TABLE app."Stock Items" (id int CONSTRAINT "the Key" PRIMARY KEY, kind int NOT NULL CONSTRAINT "its kind" REFERENCES app.kinds,
  qty int NOT NULL DEFAULT 0 CONSTRAINT enough CHECK (qty >= 0), note text, "Long Name" varchar(200) DEFAULT 'nothing',
  code char(12) NOT NULL, price numeric(8,2), filler text) WITH (fillfactor = 90);
COMMENT ON TABLE app."Stock Items" IS 'what is in stock';
COMMENT ON COLUMN app."Stock Items".note IS 'a note';
COMMENT ON CONSTRAINT enough ON app."Stock Items" IS 'no debts';
ALTER TABLE app."Stock Items" ALTER note SET STATISTICS 500, ALTER "Long Name" SET STORAGE MAIN, ALTER note SET COMPRESSION lz4, ALTER filler SET STORAGE MAIN;
CREATE INDEX "by Note" ON app."Stock Items" (note);
CREATE INDEX by_kind ON app."Stock Items" (kind, qty) WHERE qty > 0;
CREATE UNIQUE INDEX by_code ON app."Stock Items" (code, id);
GRANT SELECT ON app."Stock Items" TO reader;
GRANT UPDATE (qty) ON app."Stock Items" TO reader;
INSERT INTO app."Stock Items" SELECT i, 1 + i % 9, i % 50, 'some words of a note ' || i, 'the long name of an item, number ' || i, 'c' || i, i / 100.0, repeat('some filler ' || i || ' ', 20)
FROM generate_series(1, 40000) i;
CREATE VIEW app.short AS SELECT id, kind FROM app.kinds WHERE kind LIKE 'kind%';
CREATE TABLE app.docs (id int PRIMARY KEY, doc text COMPRESSION lz4, "Raw Doc" text);
ALTER TABLE app.docs ALTER "Raw Doc" SET STORAGE MAIN;
INSERT INTO app.docs SELECT i, (SELECT string_agg(md5(i || '-' || g), '') FROM generate_series(1, 990) g), 'x' FROM generate_series(1, 400) i;
ANALYZE app."Stock Items", app.docs, app.kinds;
RESET ROLE;
SQL
sql('shop', 'CREATE EXTENSION index_align') if $patched;
my $before = dump_of('shop');

# count updates, so that a split is a proposal
sql('shop',
	'UPDATE app."Stock Items" SET qty = qty + 1 WHERE id % 2 = 0; VACUUM ANALYZE app."Stock Items"'
);
my %kinds = map { my ($proposal, $kind) = split /\|/; ($proposal => $kind) } split /\n/,
  sql('shop',
	'SELECT proposal, kind FROM dense.report(min_bytes => 0) WHERE proposal IS NOT NULL ORDER BY kind = \'proposal\''
  );
my @all = grep { $kinds{$_} eq 'proposal' } sort keys %kinds;
is($kinds{'compact_types app."Stock Items"'}, 'proposal', 'types are proposed');
is($kinds{'vertical_partition app."Stock Items"'}, 'proposal', 'a split is proposed');
diag(join ', ', map { "$_: $kinds{$_}" } sort keys %kinds);

my $contents = 'SELECT count(*), md5(string_agg(x::text, chr(10) ORDER BY id)) FROM app.@ x';

sub contents
{
	return join ' ', map { sql('shop', $contents =~ s/\@/$_/r) } '"Stock Items"', 'docs', 'short';
}
my $rows = contents();
@all = grep { !/^index_align/ } @all if !$patched;

# who may
my $call = 'CALL dense.apply(' . join(', ', map { "'$_'" } @all) . ')';
refused(
	'shop',
	"SET ROLE mallory; $call",
	qr/must be owner of relation app\./,
	'apply() is for the owner');
refused('shop', "SET ROLE reader; $call", qr/must be owner of relation app\./, 'not for a reader');
is(sql('shop', 'SELECT count(*) FROM dense.applied'), '0', 'nothing was applied');

sql('shop', "SET ROLE owner; $call");
is(contents(), $rows, 'the rows are the same');
isnt(dump_of('shop'), $before, 'the schema has changed');
is(sql('shop', q{SELECT feature FROM dense.applied ORDER BY id LIMIT 1}),
	'compact_types', 'types come first');
is( sql('shop',
		q{SELECT bool_and(CASE feature WHEN 'vertical_partition' THEN relation = 'app."Stock Items"'::regclass ELSE id IS NOT NULL END) FROM dense.status WHERE feature IN ('compact_types', 'vertical_partition')}
	),
	$patched ? 't' : 't',
	'status knows all') or diag(sql('shop', 'SELECT * FROM dense.status'));
diag(
	sql('shop',
		'SELECT id, feature, relation, columns, old_types, new_types, bytes_before, bytes_after FROM dense.applied ORDER BY id'
	));

# a copy of the database
my $copy = "$dir/shop.dump";
$node->command_ok([ 'pg_dump', '-Fc', '-f', $copy, '-p', $node->port, '-h', $node->host, 'shop' ],
	'dump');
sql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ 'pg_restore', '-d', 'copy', '-p', $node->port, '-h', $node->host, $copy ],
	'restore');
is( sql('copy', 'SELECT * FROM dense.applied ORDER BY id'),
	sql('shop', 'SELECT * FROM dense.applied ORDER BY id'),
	'a dump has the notes');
is( sql('copy',
		'SELECT count(*) FROM dense.applied WHERE id = (SELECT dense_internal.next_number())'),
	'0',
	'a new row gets a number of its own after a restore');

# what others may do with the notes
is( sql('shop',
		'SET ROLE mallory; DELETE FROM dense.applied; SELECT count(*) > 0 FROM dense.applied'),
	't',
	'nobody deletes the notes of others');
refused(
	'shop',
	"SET ROLE mallory; UPDATE dense.applied SET feature = 'toast_policy'",
	qr/permission denied/,
	'nobody changes notes');
sql('shop',
	q{SET ROLE mallory; INSERT INTO dense.applied SELECT id, now(), 'postgres', 'toast_policy', 'app.docs', '{doc}', '{}', '{}', '{p}', '{p}', 1, 1 FROM generate_series(1001, 1002) id}
);
is(sql('shop', 'SELECT count(*) FROM dense.applied WHERE id > 1000'),
	'0', 'nobody notes anything on tables of others');
refused(
	'shop',
	'SET ROLE mallory; CALL dense.undo(' . sql('shop', 'SELECT min(id) FROM dense.applied') . ')',
	qr/must be owner of relation/,
	'nobody takes back what others did');
sql('shop', 'SET ROLE mallory; CALL dense.undo()');

# hostile notes on one's own table do no harm, and keep nobody from the others
sql('shop', <<'SQL');
CREATE SCHEMA lair AUTHORIZATION mallory;
SET ROLE mallory;
CREATE TABLE lair.t (id int PRIMARY KEY, "x; DROP TABLE app.docs" text);
INSERT INTO dense.applied VALUES (2001, now(), 'postgres', 'compact_types', 'lair.t', '{"x; DROP TABLE app.docs"}', '{"text; DROP TABLE app.docs"}', '{text}', '{x}', '{""}', 1, 1),
  (2002, now(), 'postgres', 'toast_policy', 'lair.t', '{"x; DROP TABLE app.docs"}', '{}', '{}', '{e}', '{p}', 1, 1),
  (2003, now(), 'postgres', 'vertical_partition', 'lair.t', '{}', '{}', '{}', '{}', '{}', 1, 1);
SQL
refused(
	'shop',
	q{SET ROLE mallory; INSERT INTO dense.applied VALUES (2004, now(), 'p', 'other', 'lair.t', '{}', '{}', '{}', '{}', '{}', 1, 1)},
	qr/violates check constraint/,
	'no unknown feature');
refused(
	'shop',
	q{SET ROLE mallory; INSERT INTO dense.applied VALUES (2004, now(), 'p', 'toast_policy', 'lair.t', '{a}', '{}', '{}', '{z}', '{""}', 1, 1)},
	qr/violates check constraint/,
	'no unknown storage');
refused(
	'shop',
	'CALL dense.undo()',
	qr/could not take back row 2001 of dense\.applied.*could not take back 1 of the rows/s,
	'undo() warns of what fails, and goes on');
is( dump_of('shop') =~ s/^.*?(?=CREATE SCHEMA app)//sr,
	$before =~ s/^.*?(?=CREATE SCHEMA app)//sr,
	'undo() restores the schema, called by a superuser');
is(contents(), $rows, 'and the rows');
is(sql('shop', 'SELECT id FROM dense.applied'), '2001', 'only the note that failed is left');

# the copy
sql('copy', 'SET ROLE owner; CALL dense.undo()');
is(dump_of('copy'), $before, 'undo() by the owner restores the schema of the restored copy');
is(sql('copy', 'SELECT count(*) FROM dense.applied'), '0', 'no note is left there');

# A restore creates indexes after the notes that name them.  So a note may come first, if its author
# then owns the index.
sql('shop', <<'SQL');
SET ROLE owner;
INSERT INTO dense.applied VALUES (3001, now(), 'owner', 'index_align', 'app.later', '{}', '{}', '{}', '{}', '{}', 2, 1);
RESET ROLE;
SET ROLE mallory;
INSERT INTO dense.applied VALUES (3002, now(), 'owner', 'index_align', 'app.later', '{}', '{}', '{}', '{}', '{}', 2, 1);
SQL
sql('shop', <<'SQL');
SET ROLE mallory;
INSERT INTO dense.applied VALUES (3003, now(), 'owner', 'index_align',
  dense_internal.pending(dense_internal.reference((SELECT min(oid) FROM pg_class WHERE relnamespace = 'app'::regnamespace))),
  '{}', '{}', '{}', '{}', '{}', 2, 1);
SQL
is(sql('shop', 'SELECT count(*) FROM dense.applied WHERE id = 3003'),
	'0', 'no note on a relation of another role, by way of its OID');
my $notes = 'SELECT id, relation FROM dense.applied WHERE id > 3000 ORDER BY id';
is(sql('shop', $notes), "3001|-\n3002|-", 'notes on an index that does not exist');
sql('shop', <<'SQL');
SET ROLE owner;
CREATE TABLE app.labels (id int, label varchar(60) NOT NULL);
INSERT INTO app.labels SELECT i, 'the label of a thing ' || i FROM generate_series(1, 20000) i;
ANALYZE app.labels;
CREATE INDEX later ON app.labels (label, id);
SQL
is(sql('shop', $notes), "3001|app.later\n3002|-", 'the note of its owner is valid later');

# a change of types makes the index anew, and a rename does no harm
sql('shop', q{SET ROLE owner; CALL dense.apply('compact_types app.labels')});
is(sql('shop', $notes), "3001|app.later\n3002|-", 'apply() keeps the note on an index');
sql('shop', 'SET ROLE owner; ALTER INDEX app.later RENAME TO renamed');
is(sql('shop', $notes), "3001|app.renamed\n3002|-", 'it follows a rename');
sql('shop',
	q{SET ROLE owner; SELECT dense_internal.undo_one(id) FROM dense.applied WHERE feature = 'compact_types' AND relation::text = 'app.labels'}
);
is(sql('shop', $notes), "3001|app.renamed\n3002|-", 'undo() keeps the note on an index');
is(sql('shop', 'SELECT count(*) FROM dense.applied WHERE relation::text = \'app.labels\''),
	'0', 'undo() has taken back the change of types');
sql('shop', 'DROP TABLE app.labels; DELETE FROM dense.applied WHERE id > 3000');

# Functions that every role may call do not trust the functions of a feature that is not installed.
sql('postgres', 'CREATE DATABASE plain');
sql('plain', 'CREATE EXTENSION pg_dense; GRANT CREATE ON DATABASE plain TO mallory');
is(sql('plain', <<'SQL'), "|||f\n", 'functions of others that return other types');
SET ROLE mallory;
CREATE SCHEMA vertical_partition_internal;
CREATE FUNCTION vertical_partition_internal.layout(v regclass, OUT hot oid, OUT cold oid, OUT cold_columns int8)
LANGUAGE sql AS 'SELECT 1::oid, 1::oid, 64::int8';
CREATE SCHEMA index_align;
CREATE FUNCTION index_align.item_alignment(regclass) RETURNS text LANGUAGE sql AS 'SELECT ''eight''::text';
SELECT * FROM dense_internal.split_parts('pg_class'::regclass);
SELECT dense_internal.item_alignment('pg_class_oid_index'::regclass);
SQL

# Another table that takes the place of the table is not changed.
sql('shop', <<'SQL');
SET ROLE owner;
CREATE TABLE app.swapped (id int, t text COMPRESSION lz4);
SQL
my $renames = $node->background_psql('shop', on_error_stop => 1);
$renames->query_safe(<<'SQL');
SET ROLE owner;
BEGIN;
ALTER TABLE app.swapped RENAME TO aside;
CREATE TABLE app.swapped (id int, t text COMPRESSION lz4);
SQL
my $runs = $node->background_psql('shop', on_error_stop => 0);
$runs->query_until(qr/started/, <<'SQL');
\echo started
SET ROLE owner;
SELECT dense_internal.run(ROW('proposal', 'toast_policy app.swapped', 'app.swapped'::regclass, 'toast_policy', '', '{t}', 1, 1, '', '', '', 1, '', '', NULL,
  'ALTER TABLE app.swapped ALTER COLUMN t SET COMPRESSION pglz', NULL)::dense_internal.proposal);
SQL
ok( $node->poll_query_until(
		'shop',
		"SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation = 'app.swapped'::regclass"
	),
	'apply() waits for the table');
$renames->query_safe('COMMIT');
$renames->quit;
$runs->quit;
is( sql('shop',
		q{SELECT c.relname, a.attcompression FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE a.attname = 't' AND c.relname IN ('aside', 'swapped') ORDER BY 1}
	),
	"aside|l\nswapped|l",
	'another table of that name is not changed');
sql('shop', 'DROP TABLE app.aside, app.swapped');

# status waits for nobody, and believes no view that looks like a split view
sql('shop', <<'SQL');
SET ROLE owner;
CREATE TABLE app.halves (id int PRIMARY KEY, hot int, cold text);
INSERT INTO app.halves SELECT i, i, 'cold' FROM generate_series(1, 1000) i;
CREATE INDEX halves_by_value ON app.halves (hot, id);
SELECT vertical_partition.split('app.halves', '{cold}', 'shared_key');
SQL
my $status = 'SELECT feature, relation, columns, bytes_now > 0, reason FROM dense.status';
my $row =
  'vertical_partition|app.halves|{cold}|t|apply() did not make this change, so the size before is not known';
is(sql('shop', $status), $row, 'status shows a split');
my $locks = $node->background_psql('shop', on_error_stop => 1);
$locks->query_safe(
	'SET ROLE owner; BEGIN; LOCK TABLE app.halves IN ACCESS EXCLUSIVE MODE; REINDEX INDEX app.halves_by_value'
);
is( sql('shop', "SET statement_timeout = '180s'; SET ROLE mallory; $status"),
	'vertical_partition|app.halves|||another session has locked the view',
	'status does not wait for a lock');
$locks->query_safe('ROLLBACK');
$locks->quit;
sql('shop',
	q{SET ROLE owner; SELECT vertical_partition.merge('app.halves'); DROP TABLE app.halves});

# a role that locks the notes keeps nobody waiting for long
sql('shop', q{ALTER FUNCTION dense_internal.lock_notes() SET lock_timeout = '10ms'});
$locks = $node->background_psql('shop', on_error_stop => 1);
$locks->query_safe('SET ROLE mallory; BEGIN; LOCK TABLE dense.applied IN EXCLUSIVE MODE');
refused(
	'shop',
	q{SET statement_timeout = '180s'; SET ROLE owner; CALL dense.apply('compact_types app."Stock Items"')},
	qr/canceling statement due to lock timeout/,
	'apply() does not wait for long for a role that has locked the notes');
$locks->query_safe('ROLLBACK');
$locks->quit;

# the access method
sql('shop', <<'SQL');
SET ROLE owner;
SELECT dense_internal.run(ROW('proposal', 'toast_policy app.docs', 'app.docs'::regclass, 'toast_policy', '', '{doc,"Raw Doc"}', 1, 1, '', '', '', 1, '', '', NULL,
  'ALTER TABLE app.docs ALTER COLUMN "Raw Doc" SET COMPRESSION pglz; SELECT toast_policy.enable(''app.docs'', ''doc'', ''Raw Doc''); '
  'SET toast_policy.lz4_level = 9; SELECT toast_policy.recompress(''app.docs'')', NULL)::dense_internal.proposal)
WHERE NOT EXISTS (SELECT FROM pg_settings WHERE name = 'toast_policy.lz4_level' AND setting = '9');
DO $$ BEGIN ASSERT current_setting('toast_policy.lz4_level') = '0', 'the level stays in the session'; END $$;
SQL
is( sql('shop', q{SELECT feature, relation, columns FROM dense.status}),
	'toast_policy|app.docs|{doc,"Raw Doc"}',
	'the access method is in place');
sql('shop', 'SET ROLE owner; CALL dense.undo()');
is( dump_of('shop') =~ s/^.*?(?=CREATE SCHEMA app)//sr,
	$before =~ s/^.*?(?=CREATE SCHEMA app)//sr,
	'STORAGE and COMPRESSION are those of before');

# undo() changes a table, but not the tables that inherit from it
sql('shop', <<'SQL');
SET ROLE owner;
CREATE TABLE app.parent (id int, doc text);
CREATE TABLE app.child () INHERITS (app.parent);
ALTER TABLE ONLY app.parent ALTER doc SET STORAGE MAIN, ALTER doc SET COMPRESSION lz4;
ALTER TABLE app.child ALTER doc SET COMPRESSION pglz;
SELECT dense_internal.run(ROW('proposal', 'toast_policy app.parent', 'app.parent'::regclass, 'toast_policy', '', '{doc}', 1, 1, '', '', '', 1, '', '', NULL,
  'ALTER TABLE ONLY app.parent ALTER COLUMN doc SET COMPRESSION pglz; SELECT toast_policy.enable(''app.parent'', ''doc'')', NULL)::dense_internal.proposal);
CALL dense.undo();
SQL
is( sql('shop',
		q{SELECT attrelid::regclass, attstorage, attcompression FROM pg_attribute WHERE attname = 'doc' AND attrelid IN ('app.parent'::regclass, 'app.child'::regclass) ORDER BY attrelid}
	),
	"app.parent|m|l\napp.child|x|p",
	'undo() leaves the children as they are');

done_testing();
