# Dump tables whose values go out of line in small rows, and restore them: single tables, only the
# schema, only the rows, as INSERT, with and without the extension.  Rows must be the same, and with
# the extension also where the values are.  Upgrade such tables from each older server.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Upgrade;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

chomp(my $bindir = `pg_config --bindir`);
my ($major) = `pg_config --version` =~ /(\d+)/;
my $top = $ENV{PGDENSE_TOP} // "$FindBin::RealBin/../..";

my $tables = <<'SQL';
CREATE EXTENSION toast_policy;
CREATE EXTENSION amcheck;
CREATE TABLE t (id int PRIMARY KEY, n int DEFAULT 0, c text, hot text, more text COMPRESSION pglz) WITH (fillfactor = 60);
CREATE TABLE narrow (id int PRIMARY KEY, n int DEFAULT 0, c varchar(200));
CREATE TABLE part (id int PRIMARY KEY, n int DEFAULT 0, c text) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (20);
CREATE TABLE part2 PARTITION OF part FOR VALUES FROM (20) TO (1000);
CREATE TABLE heap (id int PRIMARY KEY, n int DEFAULT 0, c text);
CREATE MATERIALIZED VIEW mat AS SELECT id, n, noise(200, id) AS c FROM heap WITH NO DATA;
SELECT toast_policy.enable_out_of_line('t', 200, 'c', 'more');
SELECT toast_policy.enable_out_of_line('narrow', 128, 'c');
SELECT toast_policy.enable_out_of_line('part', 150, 'c');
SELECT toast_policy.enable_out_of_line('mat', 128, 'c');
INSERT INTO heap SELECT i, 0, noise(90 + i * 7, i) FROM generate_series(1, 40) i;
INSERT INTO t SELECT id, 0, c, noise(300, id), repeat('abcd' || id, 400) || c FROM heap;
INSERT INTO narrow SELECT id, 0, noise(100 + 2 * id, id) FROM heap;
INSERT INTO part SELECT id, 0, c FROM heap;
REFRESH MATERIALIZED VIEW mat;
CREATE INDEX ON t (c);
SQL
my $noise = <<'SQL';
CREATE FUNCTION noise(size int, seed int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT left(string_agg(translate(encode(sha256((seed || '-' || i)::bytea), 'base64'), E'\n', ''), ''), size) FROM generate_series(1, size / 40 + 1) i $$;
SQL
my @names = qw(t narrow part1 part2 mat);

# Return the rows, and where the values are.
sub rows_of
{
	my ($where, $db, @of) = @_;

	return $where->safe_psql(
		$db,
		join ' UNION ALL ',
		map { "SELECT '$_', count(*), md5(string_agg(x::text, ',' ORDER BY id)) FROM $_ x" } @of);
}

sub places_of
{
	my ($where, $db, @of) = @_;

	# pg_column_size() does not tell where a value is, so count the values in the TOAST table, too.
	return join "\n", map {
		my $toast = $where->safe_psql($db,
			"SELECT reltoastrelid::regclass FROM pg_class WHERE oid = '$_'::regclass");
		"$_: "
		  . (
			$toast eq '-'
			? 'none'
			: $where->safe_psql(
				$db,
				"SELECT count(DISTINCT chunk_id), count(*), sum(length(chunk_data)) FROM $toast"))
	} @of;
}

sub settings_of
{
	my ($where, $db, @of) = @_;

	return $where->safe_psql(
		$db,
		join ' UNION ALL ',
		map {
			"SELECT '$_', amname, reloptions, (SELECT string_agg(attstorage::text, '' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE c.oid = '$_'::regclass"
		} @of);
}

# Check that the restored tables work on: an UPDATE of another column keeps the pointers, and a new
# value goes out of line.
sub writes_follow
{
	my ($where, $db, $what) = @_;
	my ($toast) = $where->safe_psql($db,
		q{SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 't'::regclass});
	my $chunks =
	  "SELECT count(*), md5(string_agg(concat_ws(' ', ctid, xmin, chunk_id), ',' ORDER BY ctid)) FROM $toast";
	my $before = $where->safe_psql($db, $chunks);

	is($where->safe_psql($db, 'UPDATE t SET n = n + 1;' . $chunks),
		$before, "$what: an UPDATE of other columns keeps the pointers");
	is( $where->safe_psql(
			$db,
			"BEGIN; INSERT INTO t VALUES (100, 0, noise(195, 1), 'x', noise(196, 1)); INSERT INTO narrow VALUES (100, 0, noise(130, 1)); SELECT count(*) FROM $toast WHERE xmin = pg_current_xact_id()::xid; ROLLBACK; UPDATE t SET n = n - 1"
		),
		'1',
		"$what: new values follow the limit");
	is($where->safe_psql($db, 'SELECT * FROM toast_policy.check_all(true)'), '', "$what: amcheck");
	return;
}

my $node = PostgreSQL::Test::Cluster->new('dump');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nclient_min_messages = warning\n");
$node->start;
my $dir = $node->basedir;
$node->safe_psql('postgres', "CREATE DATABASE $_")
  for qw(source single single_plain schema_rows plain_rows inserts no_method);
$node->safe_psql('source', $noise . $tables);
my %source = (
	rows => rows_of($node, 'source', @names),
	places => places_of($node, 'source', @names),
	settings => settings_of($node, 'source', @names));
like($source{places}, qr/^t: (\d\d)\|/m, 'values are out of line');
like($source{settings}, qr/^t\|toast_policy\|\{fillfactor=60,toast_tuple_target=200\}\|ppexe$/m,
	'the settings');

# dump(NAME, OPTION...) - dump the source database; return the file
sub dump_to
{
	my ($name, @options) = @_;
	my $file = "$dir/$name.sql";

	$node->command_ok([ 'pg_dump', @options, '-f', $file, $node->connstr('source') ],
		"pg_dump @options");
	return $file;
}

sub restore
{
	my ($db, $file, @options) = @_;

	return $node->command_ok(
		[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', @options, '-f', $file, $node->connstr($db) ],
		"$db: restored");
}

# single tables
my $single = dump_to('single', map { ('-t', $_) } qw(t narrow part part1 part2));
my @tables = grep { $_ ne 'mat' } @names;
my %expected = map {
	$_ => join "\n",
	  grep { !/^mat\b/ } split /\n/, $source{$_}
} keys %source;
$node->safe_psql('single', $noise . 'CREATE EXTENSION toast_policy; CREATE EXTENSION amcheck');
restore('single', $single);
is(settings_of($node, 'single', @tables), $expected{settings}, 'pg_dump -t: the settings');
is(rows_of($node, 'single', @tables), $expected{rows}, 'pg_dump -t: the rows');
is(places_of($node, 'single', @tables), $expected{places}, 'pg_dump -t: where the values are');
writes_follow($node, 'single', 'pg_dump -t');

# The database has no extension.  Then psql prints an error, and creates tables of heap.
$node->safe_psql('single_plain', $noise);
my ($stdout, $stderr) =
  run_command([ 'psql', '-X', '-q', '-f', $single, $node->connstr('single_plain') ]);
like($stderr, qr/"toast_policy"/, 'without the extension: an error names it');
is(join("\n", grep { /ERROR/ && !/"toast_policy"/ } split /\n/, $stderr),
	'', 'without the extension: there is no other error');
is( settings_of($node, 'single_plain', @tables),
	$expected{settings} =~ s/\|toast_policy\|/|heap|/gr,
	'without the extension: the tables use heap');
is(rows_of($node, 'single_plain', @tables),
	$expected{rows}, 'without the extension: the rows are the same');
is( $node->safe_psql('single_plain',
		'UPDATE t SET n = n + 1; ALTER TABLE t RESET (toast_tuple_target); VACUUM FULL t; UPDATE t SET n = n - 1'
	  )
	  . rows_of($node, 'single_plain', @tables),
	$expected{rows},
	'without the extension: the tables can be written');

# the schema, then the rows
my $schema = dump_to('schema', '--schema-only');
my $rows = dump_to('rows', '--data-only');
restore('schema_rows', $schema);
is(settings_of($node, 'schema_rows', @names), $source{settings}, 'schema only: the settings');
restore('schema_rows', $rows);
$node->safe_psql('schema_rows', 'REFRESH MATERIALIZED VIEW mat');
is(rows_of($node, 'schema_rows', @names), $source{rows}, 'schema, then rows: the rows');
is(places_of($node, 'schema_rows', @names),
	$source{places}, 'schema, then rows: where the values are');
writes_follow($node, 'schema_rows', 'schema, then rows');

# rows into tables of heap, and rows of these back
$node->safe_psql('plain_rows',
	$noise . $tables =~ s/^(?:CREATE EXTENSION|SELECT toast_policy|INSERT|REFRESH)\b.*\n//mgr);
my $only_rows = dump_to('only_rows', '--data-only', map { ('-t', $_) } qw(t narrow part1 part2));
restore('plain_rows', $only_rows);
is(rows_of($node, 'plain_rows', @tables), $expected{rows}, 'rows into tables of heap');
$node->command_ok(
	[
		'pg_dump', '--data-only', '-t', 't', '-t', 'narrow', '-t', 'part1', '-t', 'part2', '-f',
		"$dir/back.sql", $node->connstr('plain_rows')
	],
	'pg_dump of tables of heap');
$node->safe_psql('single', 'TRUNCATE t, narrow, part');
restore('single', "$dir/back.sql");
is(rows_of($node, 'single', @tables), $expected{rows}, 'rows from tables of heap: the rows');
is(places_of($node, 'single', @tables),
	$expected{places}, 'rows from tables of heap: where the values are');

# INSERT, and a restore without access methods
restore('inserts', dump_to('inserts', '--rows-per-insert=7'));
is(rows_of($node, 'inserts', @names), $source{rows}, 'INSERT: the rows');
is(places_of($node, 'inserts', @names), $source{places}, 'INSERT: where the values are');
restore('no_method', dump_to('no_method', '--no-table-access-method'));
is(rows_of($node, 'no_method', @names), $source{rows}, 'without access methods: the rows');
is( settings_of($node, 'no_method', @names),
	$source{settings} =~ s/\|toast_policy\|/|heap|/gr,
	'without access methods: the tables use heap');
$node->safe_psql(
	'no_method', q{
	SELECT toast_policy.enable_out_of_line('t', 200, 'c', 'more'), toast_policy.enable_out_of_line('narrow', 128, 'c');
	SELECT toast_policy.enable_out_of_line('part', 150, 'c'), toast_policy.enable_out_of_line('mat', 128, 'c');
	SELECT toast_policy.recompress(x) FROM unnest(ARRAY['t', 'narrow', 'part', 'mat']::regclass[]) x});
is(settings_of($node, 'no_method', @names),
	$source{settings}, 'without access methods, then enabled: the settings');
is(rows_of($node, 'no_method', @names),
	$source{rows}, 'without access methods, then enabled: the rows');
is(places_of($node, 'no_method', @names),
	$source{places}, 'without access methods, then enabled: where the values are');
$node->stop;

#
# pg_upgrade, from each older server that is here
#
my %old = (
	15 => $ENV{PGDENSE_OLD_BINDIR} // '',
	map { $_ => "$top/build/$_/dense/bin" } grep { -d "$top/toast_policy/$_" } 16 .. $major - 1);
for my $from (grep { $_ < $major && $old{$_} ne '' } sort keys %old)
{
	my $old = init_cluster("old_$from", install_path => File::Spec->rel2abs("$old{$from}/.."));

	ok(-x "$old{$from}/pg_upgrade", "a server $from") or next;
	$old->start;
	$old->safe_psql('postgres', 'CREATE DATABASE app');
	$old->safe_psql('app',
		"SET client_min_messages = warning; $noise $tables ALTER TABLE t DROP hot; UPDATE t SET n = 0 WHERE id % 2 = 0;"
	);
	my %before = (
		rows => rows_of($old, 'app', @names),
		places => places_of($old, 'app', @names),
		settings => settings_of($old, 'app', @names));
	my $new = upgrade_from($from, $old);
	is(rows_of($new, 'app', @names), $before{rows}, "from $from: the rows");
	is(places_of($new, 'app', @names), $before{places}, "from $from: where the values are");
	is(settings_of($new, 'app', @names), $before{settings}, "from $from: the settings");
	$new->safe_psql('app', 'ALTER TABLE t ADD hot text');
	is( $new->safe_psql(
			'app', 'UPDATE t SET n = n + 1; SELECT * FROM toast_policy.check_all(true)'),
		'',
		"from $from: amcheck");
	is(places_of($new, 'app', @names),
		$before{places}, "from $from: an UPDATE of other columns keeps the values");
	$new->safe_psql('app', 'VACUUM FULL; UPDATE t SET n = n - 1');
	is(places_of($new, 'app', @names), $before{places}, "from $from: VACUUM FULL keeps the values");
	is($new->safe_psql('app', 'ALTER TABLE t DROP hot') . rows_of($new, 'app', @names),
		$before{rows}, "from $from: the rows at the end");
	$new->stop;
}

# Stop the old server's instance, upgrade it, and start the new instance.
sub upgrade_from
{
	my ($from, $old) = @_;
	my $marked = q{attoptions::text ~ 'pg_attver'};

	# See PgDense::Upgrade.
	if ($old->safe_psql('app', "SELECT count(*) FROM pg_attribute WHERE $marked") > 0
		&& slurp_file("$bindir/postgres") !~ /pg_attver/)
	{
		$old->safe_psql($_, "UPDATE pg_attribute SET attoptions = NULL WHERE $marked")
		  for ('app', 'postgres', 'template1');
	}
	$old->stop;
	my $new = init_cluster("from_$from");
	command_ok(pg_upgrade_command($bindir, $old, $old{$from}, $new, $bindir),
		"pg_upgrade from $from");
	$new->start;
	return $new;
}

done_testing();
