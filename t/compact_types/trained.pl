# Check the types trained_textN, whose values are encoded with a dictionary of a column.
#
# A value cannot be read without its dictionary, and another dictionary of the same number would give
# another string.  So the tests do what could separate values from their dictionary: dump and
# restore, copies of a database, replication, crashes, aborted transactions, concurrent sessions, and
# statements that drop or change dictionaries.  After each of these, a column must either have the
# strings of a plain text column, or the server must refuse the step.
use strict;
use warnings FATAL => 'all';

use File::Spec;
use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Crash;
use PgDense::Security;
use PgDense::Upgrade;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('trained');
$node->init(allows_streaming => 'logical', extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
wal_keep_size = 2GB
max_worker_processes = 16
max_locks_per_transaction = 512
max_logical_replication_workers = 8
wal_retrieve_retry_interval = 100ms
CONF
$node->start;
my $dir = File::Spec->rel2abs($node->basedir);
$node->backup('base');

# SQL for the string of the row i.  The two kinds of strings have nothing in common.
my $url =
  q{'https://www.example.' || (ARRAY['com', 'org', 'net'])[1 + i % 3] || '/catalogue/department-' || i % 17 || '/article-' || i || '?session=' || i * 7919 % 1000};
my $letter =
  q{'Auftragsbestätigung Nr. ' || i || ' für Kundennummer ' || i * 31 || ', Versandart: ' || (ARRAY['Luftfracht', 'Schienenverkehr', 'Seefracht'])[1 + i % 3] || ', Zwischenlager Q' || i % 13};
my $rows = 3000;
my ($ret, $stdout, $stderr);

# These two strings are encoded with the dictionary of $url.  The first begins the string of row 1.
my $first = 'https://www.example.org/catalogue/department-1/article-1';
my $last = 'https://www.example.org/catalogue/department-16/article-999';

# plain(TABLE, EXPRESSION) - return SQL that creates a table with a column c of type text.  It has
# rows of that expression, and rows that test the limits of the encoding.
sub plain
{
	my ($table, $expression) = @_;

	return <<"SQL";
CREATE TABLE $table (id int PRIMARY KEY, c text);
INSERT INTO $table SELECT i, $expression FROM generate_series(1, $rows) i ORDER BY md5(i::text);
INSERT INTO $table VALUES (0, NULL), (-1, ''), (-2, 'x'), (-3, E'\\t\\n\\\\'), (-4, '東京都 äöü'), (-5, '12345678901234567890'), (-6, E'\\x7f\\x01');
INSERT INTO $table SELECT -10 - n, string_agg($expression, ' ' ORDER BY i) FROM generate_series(1, 30) n, generate_series(1, n) i GROUP BY n;
ANALYZE $table;
SQL
}

# database(NAME, EXPRESSION[, NUMBER]) - create a database with the table plain of that expression,
# and train on it.  The type must be the one of the number.
sub database
{
	my ($name, $expression, $number) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, 'CREATE EXTENSION compact_types; ' . plain('plain', $expression));
	train($name, 'plain', $number // 1);
	return;
}

# train(DATABASE, TABLE, NUMBER) - train on the column c; the type must be the one of the number
sub train
{
	my ($db, $table, $number) = @_;
	my $type = $node->safe_psql($db, "SELECT type FROM compact_types.train('$table', 'c')");

	die "train() has made $type" if $type ne "trained_text$number";
	return;
}

# dictionary(FROM) - return the statement that creates the dictionary of the existing type
# trained_text1, with the symbols that the database FROM has
sub dictionary
{
	my ($from) = @_;
	my $options = $node->safe_psql($from,
		q{SELECT dictinitoption FROM pg_ts_dict WHERE dictname = 'trained_text1'});

	return
	  "CREATE TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1 (TEMPLATE = compact_types.trained_text1, $options)";
}

# digest(NODE, DATABASE, TABLE, COLUMN) - return a checksum of the column's strings
sub digest
{
	my ($on, $db, $table, $column) = @_;
	return $on->safe_psql($db,
		qq{SELECT count(*), md5(string_agg(concat_ws('|', id, ($column)::text), chr(10) ORDER BY id)) FROM $table}
	);
}

# same(NODE, DATABASE, TABLE, NAME) - check that the column c of the table has the strings of the
# column c of the table plain, and that most of them are encoded with the dictionary
sub same
{
	my ($on, $db, $table, $name, $plain) = @_;
	$plain //= 'plain';

	is(digest($on, $db, $table, 'c'), digest($on, $db, $plain, 'c'),
		"$name: the strings are right");
	is( $on->safe_psql(
			$db,
			"SELECT (SELECT 2 * sum(pg_column_size(c)) FROM $table WHERE id > 0) < (SELECT sum(pg_column_size(c)) FROM $plain WHERE id > 0), "
			  . "(SELECT count(*) > $rows * 0.9 FROM $table WHERE compact_types.codec(c) = 'trained')"
		),
		't|t',
		"$name: the values are encoded");
	return;
}

# fails(DATABASE, SQL, PATTERN, NAME[, ROLE]) - check that the SQL fails with an error like PATTERN
sub fails
{
	my ($db, $sql, $pattern, $name, $role) = @_;
	my ($ret, $stdout, $stderr) = $node->psql(
		$db, $sql,
		on_error_stop => 1,
		$role ? (extra_params => [ '-U', $role ]) : ());

	isnt($ret, 0, "$name: fails");
	like($stderr, $pattern, $name);
	return;
}

#
# A database with all kinds of objects of a trained type
#
database('source', $url);
$node->safe_psql('source', <<"SQL");
CREATE DOMAIN link AS trained_text1;
CREATE TYPE pair AS (x trained_text1, y int);
CREATE TABLE t (
  id int PRIMARY KEY, c trained_text1 DEFAULT '$first' CHECK (c <> '$first/forbidden'),
  u trained_text1, d link, a trained_text1[], p pair, v trained_text1(100) COLLATE "C",
  g trained_text1 GENERATED ALWAYS AS (c) STORED, o text DEFAULT '$last'::trained_text1::text);
INSERT INTO t (id, c, u, d, a, p, v)
  SELECT id, c, c || '#' || id, c, ARRAY[c, NULL, 'x'], ROW(c, id)::pair, left(c, 100) FROM plain;
CREATE TABLE simple (id int PRIMARY KEY, c trained_text1);
INSERT INTO simple TABLE plain;
CREATE INDEX t_btree ON t (c);
CREATE INDEX t_hash ON t USING hash (c);
CREATE UNIQUE INDEX t_unique ON t (u);
CREATE INDEX t_partial ON t (id) WHERE c < '$last'::trained_text1;
CREATE INDEX t_expression ON plain ((c::trained_text1));
CREATE INDEX t_array ON t (a);
CREATE VIEW w AS SELECT id, c FROM t WHERE c >= '$first'::trained_text1 AND c <> '$last'::trained_text1;
CREATE MATERIALIZED VIEW m AS SELECT id, c FROM t;
CREATE TABLE parts (id int, c trained_text1) PARTITION BY RANGE (c);
CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO ('$last');
CREATE TABLE part2 PARTITION OF parts FOR VALUES FROM ('$last') TO (MAXVALUE);
INSERT INTO parts SELECT id, c FROM plain WHERE c IS NOT NULL;
ANALYZE t;
SQL

# These queries have the same results on the trained columns and on the text columns of the table
# plain.  C is the column, T the table, and V the type.
my @queries = (
	"SELECT id FROM T WHERE C = '$first?session=919'::V ORDER BY id",
	"SELECT id FROM T WHERE C = (SELECT c FROM plain WHERE id = 77) ORDER BY id",
	"SELECT count(*) FROM T WHERE C > '$last'::V",
	"SELECT id FROM T WHERE C BETWEEN '$first'::V AND '$first~'::V ORDER BY C, id",
	"SELECT id FROM T WHERE C LIKE 'https://www.example.net/catalogue/department-2/article-10%' ORDER BY id",
	"SELECT id FROM T ORDER BY C DESC NULLS LAST, id LIMIT 20",
	"SELECT count(*) FROM T a JOIN plain b ON a.C = b.c",
	"SELECT count(DISTINCT C), min(C), max(C) FROM T WHERE id > 0");

# answers(NODE, DATABASE, SETTINGS, TABLE, COLUMN, TYPE) - return the results of the queries
sub answers
{
	my ($on, $db, $settings, $table, $column, $type) = @_;
	return $on->safe_psql($db, join ";\n", $settings,
		map { s/\bC\b/$column/gr =~ s/\bT\b/$table/gr =~ s/\bV\b/$type/gr } @queries);
}

# everything(NODE, DATABASE, NAME) - check all objects of the database that was described above
sub everything
{
	my ($on, $db, $name) = @_;
	my $plain = digest($on, $db, 'plain', 'c');

	same($on, $db, 't', $name);
	same($on, $db, 'm', "$name, materialized view");
	is(digest($on, $db, 't', $_), $plain, "$name: the strings of $_ are right")
	  for 'd', 'g', 'a[1]', '(p).x';
	is( digest($on, $db, 't', 'v'),
		digest($on, $db, 'plain', 'left(c, 100)'),
		"$name: the strings of v are right");
	is( digest($on, $db, 't', 'u'),
		digest($on, $db, 'plain', q{c || '#' || id}),
		"$name: the strings of u are right");
	is( digest($on, $db, 'parts', 'c'),
		digest($on, $db, '(SELECT * FROM plain WHERE c IS NOT NULL) s', 'c'),
		"$name: the strings of the partitions are right");
	is( $on->safe_psql($db, 'SELECT count(*), min(c), max(c) FROM w'),
		$on->safe_psql(
			$db,
			"SELECT count(*), min(c), max(c) FROM (SELECT c FROM plain WHERE c >= '$first' AND c <> '$last') s"
		),
		"$name: the view has the rows of the table");
	my $expected = answers($on, $db, 'SET enable_indexscan = off; SET enable_bitmapscan = off',
		'plain', 'c', 'text');
	is(answers($on, $db, 'SET enable_indexscan = on', 't', 'c', 'trained_text1'),
		$expected, "$name: queries have the right results");

	for my $table ('t', 'm', 'plain')
	{
		is( answers(
				$on, $db,
				'SET enable_seqscan = off; SET enable_sort = off', $table,
				$table eq 'plain' ? 'c::trained_text1' : 'c', 'trained_text1'),
			$expected,
			"$name: queries of $table with indexes have the right results");
	}
	return if $on->safe_psql($db, 'SELECT pg_is_in_recovery()') eq 't';

	# Constants of the type are stored in their encoded form, in the catalogs.
	my $result = $on->safe_psql($db, <<"SQL");
BEGIN;
INSERT INTO t (id) VALUES (100000) RETURNING c, g, o;
INSERT INTO parts VALUES (1, '$last'), (2, '$first') RETURNING tableoid::regclass;
ROLLBACK;
SQL
	is($result, "$first|$first|$last\npart2\npart1", "$name: constants are right");
	my ($ret, $stdout, $stderr) =
	  $on->psql($db, "INSERT INTO t (id, c) VALUES (100000, '$first/forbidden')");
	like($stderr, qr/violates check constraint/, "$name: the CHECK constraint has its constant");
	($ret, $stdout, $stderr) =
	  $on->psql($db, q{INSERT INTO t (id, u) SELECT 100000, u FROM t WHERE id = 1500});
	like($stderr, qr/duplicate key/, "$name: the unique index finds duplicates");
	return;
}
everything($node, 'source', 'before the dump');
like(
	$node->safe_psql(
		'source', "SET enable_seqscan = off; EXPLAIN SELECT id FROM t WHERE c > '$last'::text"),
	qr/Scan (using|on) t_btree\b/,
	'a B-tree index serves a search for text');

#
# Dump and restore
#
$node->safe_psql('postgres', 'CREATE ROLE landlord LOGIN CREATEDB');
my $connstr = sub { $node->connstr($_[0]) . ($_[1] ? " user=$_[1]" : '') };

# dump(DATABASE, NAME, OPTION...) - dump the database to a file; return the path of the file
sub dump_database
{
	my ($db, $name, @options) = @_;

	$node->command_ok([ 'pg_dump', '--file', "$dir/$name", @options, $node->connstr($db) ],
		"pg_dump @options");
	return "$dir/$name";
}
my $sql = dump_database('source', 'sql');
my $custom = dump_database('source', 'custom', '--format=custom');
my @psql = ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $sql, '-d');
my @restore = ('pg_restore', '--exit-on-error', $custom, '-d');
my %restores = (
	plain => [ [@psql] ],
	plain_single => [ [ @psql, '-1' ] ],
	parallel => [ [ @restore, '-j2' ] ],
	single => [ [ @restore, '--single-transaction' ] ],
	schema_data => [ [ @restore, '--schema-only' ], [ @restore, '--data-only' ] ],
	sections => [ map { [ @restore, "--section=$_" ] } 'pre-data', 'data', 'post-data' ],
	landlord => [ [ @restore, '--no-owner', '-j2' ] ]);

for my $name (sort keys %restores)
{
	my $role = $name eq 'landlord' ? $name : undef;
	my $db = "restored_$name";

	as_role(
		$node, 'postgres',
		$role // $node->safe_psql('postgres', 'SELECT current_user'),
		"CREATE DATABASE $db TEMPLATE template0");
	for my $command (@{ $restores{$name} })
	{
		my @command = @$command;
		my ($at) = grep { $command[$_] eq '-d' } 0 .. $#command;

		splice @command, $at + 1, 0, $connstr->($db, $role);
		$node->command_ok(\@command, "restore, $name: " . join ' ', grep { /^-/ } @command);
	}
	# A restore of the data only does not fill a materialized view.
	$node->safe_psql($db, 'REFRESH MATERIALIZED VIEW m') if $name eq 'schema_data';
	everything($node, $db, "restore, $name");
	is( $node->safe_psql($db, 'SELECT sum(pg_column_size(c)) FROM t'),
		$node->safe_psql('source', 'SELECT sum(pg_column_size(c)) FROM t'),
		"restore, $name: the values have the sizes that they had");
}
is( $node->safe_psql(
		'restored_landlord',
		q{SELECT dictowner::regrole FROM pg_ts_dict WHERE dictname = 'trained_text1'}),
	'landlord',
	'a dictionary that the owner of the database has restored belongs to that owner');
my ($before, $after) = map { slurp_file($_) =~ s/^\\(un)?restrict .*$//mgr } $sql,
  dump_database('restored_parallel', 'second');
ok($before eq $after, 'the dump of a restored database is the same');

# Constants of the type in objects that a dump creates early need the dictionary before them.
database('early', $url);
$node->safe_psql('early', <<"SQL");
CREATE TABLE t (id int PRIMARY KEY, c trained_text1 DEFAULT '$first' CHECK (c <> '$last'));
INSERT INTO t SELECT * FROM plain;
CREATE FUNCTION host(t) RETURNS text LANGUAGE sql AS \$\$ SELECT split_part(\$1.c::text, '/', 3) \$\$;
CREATE VIEW w AS SELECT id, c FROM t WHERE c > '$first'::trained_text1;
CREATE FUNCTION host(w) RETURNS text LANGUAGE sql AS \$\$ SELECT split_part(\$1.c::text, '/', 3) \$\$;
CREATE DOMAIN link AS trained_text1 CHECK (VALUE <> '$last'::trained_text1);
CREATE DOMAIN page AS trained_text1 DEFAULT '$last';
CREATE FUNCTION with_default(x trained_text1 DEFAULT '$last') RETURNS text LANGUAGE sql AS 'SELECT x::text';
CREATE FUNCTION atomic() RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT '$last'::trained_text1::text; END;
CREATE TABLE u (id int PRIMARY KEY, c link, d page);
INSERT INTO u (id, c) SELECT * FROM plain;
SQL
my $early = dump_database('early', 'early');
$node->safe_psql('postgres', 'CREATE DATABASE early_restored TEMPLATE template0');
($ret, $stdout, $stderr) = $node->psql('early_restored', slurp_file($early), on_error_stop => 0);
unlike($stderr, qr/ERROR/,
	'constants in domains, functions, and tables that functions take: the dump is restored without an error'
);
for my $table ('t', 'u')
{
	my $there = $node->safe_psql('early_restored', "SELECT to_regclass('$table') IS NOT NULL");

	is($there, 't', "constants: the restored table $table exists");
	same($node, 'early_restored', $table, "constants: restored table $table") if $there eq 't';
}

# Restore into a database whose dictionary of that number is another one.
database('other', $letter);
$node->safe_psql('other',
	'ALTER TABLE plain RENAME TO letters; ALTER INDEX plain_pkey RENAME TO letters_pkey; CREATE TABLE letters2 (id int, c trained_text1); INSERT INTO letters2 SELECT * FROM letters'
);
($ret, $stdout, $stderr) = $node->psql('other', slurp_file($sql), on_error_stop => 0);
like(
	$stderr,
	qr/text search dictionary .*trained_text1" (already exists|cannot be changed)/,
	'restore into a database with another dictionary: the dictionary is refused');
is(() = $stderr =~ /ERROR/g, 1, 'that is the only error');
is( digest($node, 'other', 't', $_),
	digest($node, 'other', 'plain', 'c'),
	"with another dictionary, the strings of $_ are right") for 'c', 'd', 'g', 'a[1]', '(p).x';
is( $node->safe_psql(
		'other',
		"SELECT o, u FROM (INSERT INTO t (id, u) VALUES (100000, 'new') RETURNING o, u) s" =~
		  s/SELECT o, u FROM \((.*)\) s/$1/r),
	"$last|new",
	'with another dictionary, constants are right');
same($node, 'other', 'letters2', 'the values of the other dictionary', 'letters');

# A dump of a table or a schema does not have the dictionary.
for my $options ([ '-t', 'simple', '-t', 'plain' ], [ '-n', 'public' ])
{
	my $name = "dump @$options";
	my $db = $options->[0] eq '-t' ? 'part_table' : 'part_schema';
	my $file = dump_database('source', $db, @$options, '--format=custom');
	my ($statement) = slurp_file($sql) =~ /^(CREATE TEXT SEARCH DICTIONARY.*?;)/ms;
	my $again = sub {
		$node->safe_psql('postgres', "DROP DATABASE IF EXISTS $db");
		$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE template0");
		$node->safe_psql($db, $_) for @_;
		my ($ok, $out, $err) = run_restore($db, $file);
		return $err;
	};

	like(
		$again->(),
		qr/type "public.trained_text1" does not exist/,
		"$name, without the type: a clear error");
	like(
		$again->('CREATE EXTENSION trained_text1 CASCADE'),
		qr/text search dictionary "compact_dictionaries.trained_text1" does not exist/,
		"$name, without the dictionary: a clear error");
	is($node->safe_psql($db, 'SELECT count(*) FROM simple'),
		'0', "$name, without the dictionary: nothing is stored");
	# A part of a restore may come later.
	$node->safe_psql($db, $statement);
	my ($ok, $out, $err) = run_restore($db, $file, '--data-only', '-t', 'simple');
	is($err, '', "$name, the dictionary comes later: no error");
	same($node, $db, 'simple', "$name, the dictionary comes later");
	is( $again->('CREATE EXTENSION trained_text1 CASCADE', $statement) =~
		  s/^.*schema "public" already exists\nCommand was: CREATE SCHEMA public;\n+.*warning: errors ignored.*\n//mr,
		'',
		"$name, with the dictionary: no error");
	same($node, $db, 'simple', "$name, with the dictionary");
}

# run_restore(DATABASE, FILE, OPTION...) - run pg_restore, which may fail; return its exit code and output
sub run_restore
{
	my ($db, $file, @options) = @_;
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run([ 'pg_restore', @options, '-d', $node->connstr($db), $file ],
		'>', \$out, '2>', \$err);

	return ($ok, $out, $err);
}

#
# Copies of a database
#
for my $strategy ('wal_log', 'file_copy')
{
	my $db = "copy_$strategy";

	$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE source STRATEGY $strategy");
	same($node, $db, 't', "copy of a database, $strategy");
	everything($node, $db, "copy of a database, $strategy") if $strategy eq 'wal_log';
	$node->safe_psql($db, plain('letters', $letter));
	train($db, 'letters', 2);
	$node->safe_psql($db, 'CREATE TABLE l (id int, c trained_text2); INSERT INTO l TABLE letters');
	same($node, $db, 'l', "second type in the copy, $strategy", 'letters');
	is( $node->safe_psql($db, 'SELECT count(*) FROM l JOIN letters USING (c)'),
		$node->safe_psql($db, 'SELECT count(*) FROM letters a JOIN letters b USING (c)'),
		'the second type is joined with text');
	$node->safe_psql($db, 'CREATE TABLE mix (id int, c trained_text1); INSERT INTO mix TABLE l');
	is( digest($node, $db, 'mix', 'c'),
		digest($node, $db, 'letters', 'c'),
		"values of the second type are assigned to the first, $strategy");
	is( $node->safe_psql($db, 'SELECT count(*) FROM l JOIN mix ON l.c::text = mix.c'),
		$node->safe_psql($db, 'SELECT count(*) FROM letters a JOIN letters b USING (c)'),
		'both types are joined');
}
is( $node->safe_psql(
		'source', q{SELECT string_agg(dictname, ' ') FROM pg_ts_dict WHERE dictname ~ '^trained'}),
	'trained_text1',
	'the copied database has no new dictionary');
$node->safe_psql('copy_wal_log',
	'DROP TABLE t, simple, mix, parts CASCADE; DROP INDEX t_expression; DROP EXTENSION trained_text1 CASCADE'
);
train('copy_wal_log', 'letters', 1);
$node->safe_psql('copy_wal_log',
	'CREATE TABLE again (id int, c trained_text1); INSERT INTO again TABLE letters');
same($node, 'copy_wal_log', 'again', 'a dropped type is made again', 'letters');
everything($node, 'source', 'after a type in the copy was made again');

#
# Standby
#
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby = on\nmax_worker_processes = 16\n");
$standby->start;
$node->safe_psql('postgres', 'CREATE DATABASE streamed');
$node->safe_psql('streamed', 'CREATE EXTENSION trained_text1 CASCADE; ' . plain('plain', $url));
$node->wait_for_catchup($standby);
my $reader = $standby->background_psql('streamed', on_error_stop => 0);
(undef) = $reader->query("SELECT 'x'::trained_text1");
like(
	$reader->{stderr},
	qr/text search dictionary "compact_dictionaries.trained_text1" does not exist/,
	'standby: there is no dictionary yet');
$reader->{stderr} = '';
$node->safe_psql('streamed', dictionary('source'));
$node->safe_psql('streamed',
	'CREATE TABLE t (id int PRIMARY KEY, c trained_text1); CREATE INDEX t_c ON t (c); CREATE INDEX t_hash ON t USING hash (c); INSERT INTO t TABLE plain; VACUUM ANALYZE t'
);
$node->wait_for_catchup($standby);
is( $reader->query(
		"SELECT count(*) FROM t JOIN plain USING (id) WHERE t.c = plain.c OR (t.c IS NULL AND plain.c IS NULL)"
	),
	$node->safe_psql('streamed', 'SELECT count(*) FROM plain'),
	'standby: a session that had found no dictionary finds it');
is( $reader->query(
		"SET enable_seqscan = off; SELECT id FROM t WHERE c = (SELECT c FROM plain WHERE id = 77)"),
	'77',
	'standby: an index scan finds a row');
$reader->quit;
same($standby, 'streamed', 't', 'standby');
is( answers(
		$standby, 'streamed', 'SET enable_seqscan = off; SET enable_sort = off',
		't', 'c', 'trained_text1'),
	answers($node, 'streamed', 'SET enable_indexscan = off', 'plain', 'c', 'text'),
	'standby: index scans have the right results');
everything($standby, 'source', 'standby');
my $measure =
  q{SELECT column_name, proposed_type, bytes_after, reason FROM compact_types.advise('plain', train => true)};
my $measured_there = $standby->safe_psql('streamed', $measure);
like(
	$measured_there,
	qr/^c\|trained_textN\|.*\|a dictionary of/m,
	'standby: advise() measures a dictionary');
is( $measured_there,
	$node->safe_psql('streamed', $measure),
	'standby: advise() has the result of the primary');
$standby->promote;
everything($standby, 'source', 'promoted standby');
$standby->safe_psql('streamed', plain('letters', $letter));
is($standby->safe_psql('streamed', q{SELECT type FROM compact_types.train('letters', 'c')}),
	'trained_text2', 'promoted standby: train() makes the next type');
$standby->stop;

#
# Logical replication, between databases of one server
#
database('pub', $url);
database('sub', $letter);
$node->safe_psql('sub', 'ALTER TABLE plain RENAME TO letters');
$node->safe_psql('pub',
	'CREATE TABLE to_text (id int PRIMARY KEY, c trained_text1); CREATE TABLE to_own (id int PRIMARY KEY, c trained_text1); ALTER TABLE to_own REPLICA IDENTITY FULL; CREATE TABLE from_text (id int PRIMARY KEY, c text);'
	  . 'INSERT INTO to_text TABLE plain; INSERT INTO to_own TABLE plain; INSERT INTO from_text TABLE plain'
);
$node->safe_psql('sub',
	'CREATE TABLE to_text (id int PRIMARY KEY, c text); CREATE TABLE to_own (id int, c trained_text1); CREATE INDEX ON to_own (c); CREATE TABLE from_text (id int PRIMARY KEY, c trained_text1);'
	  . 'CREATE TABLE later (id int PRIMARY KEY, c text); CREATE TABLE binary_text (id int PRIMARY KEY, c text); CREATE TABLE binary_own (id int PRIMARY KEY, c trained_text1)'
);
$node->safe_psql('pub',
	'CREATE TABLE binary_text (id int PRIMARY KEY, c trained_text1); CREATE TABLE binary_own (id int PRIMARY KEY, c trained_text1); INSERT INTO binary_text TABLE plain; INSERT INTO binary_own TABLE plain;'
	  . 'CREATE TABLE later (id int PRIMARY KEY, c text)');
my %published = (text => 'to_text, to_own, from_text, later', binary => 'binary_text, binary_own');

for my $format (sort keys %published)
{
	$node->safe_psql('pub', "CREATE PUBLICATION pub_$format FOR TABLE $published{$format}");
	$node->safe_psql('pub', "SELECT pg_create_logical_replication_slot('sub_$format', 'pgoutput')");
	$node->safe_psql('sub',
			"CREATE SUBSCRIPTION sub_$format CONNECTION '"
		  . $node->connstr
		  . " dbname=pub' PUBLICATION pub_$format WITH (create_slot = false, binary = ${\($format eq 'binary' ? 'true' : 'false')})"
	);
	$node->wait_for_subscription_sync($node, "sub_$format", 'sub');
}
my @replicated = ('to_text', 'to_own', 'from_text', 'binary_text', 'binary_own');
my $replicated = sub {
	my ($when) = @_;
	$node->wait_for_catchup("sub_$_") for sort keys %published;
	is( digest($node, 'sub', $_, 'c'),
		digest($node, 'pub', $_, 'c'),
		"logical replication, $when: $_ has the same strings") for @replicated;
};
$replicated->('first copy');
is( $node->safe_psql(
		'pub', "SELECT count(*) > $rows * 0.9 FROM to_own WHERE compact_types.codec(c) = 'trained'"
	),
	't',
	'the published values are encoded');
$node->safe_psql('pub',
	"INSERT INTO $_ SELECT id + 10000, c FROM plain; UPDATE $_ SET c = c || '/changed' WHERE id % 5 = 0; DELETE FROM $_ WHERE id % 7 = 0;"
) for @replicated;
$replicated->('changes');
# The walsender runs, and gets values of a type that does not exist yet.
$node->safe_psql('pub', plain('letters', $letter));
$node->safe_psql('pub', "BEGIN; $_; COMMIT")
  for
  q{SELECT compact_types.train('letters', 'c'); ALTER TABLE later ALTER c TYPE trained_text2; INSERT INTO later TABLE letters};
push @replicated, 'later';
$replicated->('a dictionary that is new to the walsender');
# The type gets another dictionary, and the walsender first sees the old one.
$node->safe_psql('sub', 'ALTER SUBSCRIPTION sub_text DISABLE');
$node->poll_query_until('pub',
	q{SELECT NOT active FROM pg_replication_slots WHERE slot_name = 'sub_text'});
$node->safe_psql('pub',
	q{INSERT INTO later SELECT id + 10000, c FROM letters; ALTER TABLE later ALTER c TYPE text; DROP EXTENSION trained_text2 CASCADE}
);
$node->safe_psql('pub',
	q{SELECT compact_types.train('plain', 'c'); ALTER TABLE later ALTER c TYPE trained_text2; INSERT INTO later SELECT id + 20000, c FROM plain; UPDATE later SET c = c || '/x' WHERE id % 3 = 0}
);
$node->safe_psql('sub', 'ALTER SUBSCRIPTION sub_text ENABLE');
$replicated->('another dictionary of the same number');
$node->safe_psql('sub', "DROP SUBSCRIPTION sub_$_") for sort keys %published;

#
# Parallel query
#
my $forced = $node->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
my $parallel =
  'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET min_parallel_index_scan_size = 0; SET max_parallel_workers_per_gather = 2; SET max_parallel_maintenance_workers = 2; ';
my $counted = q{SELECT count(*), min(n), max(n) FROM (SELECT C, count(*) AS n FROM T GROUP BY C) s;
SELECT count(*), count(DISTINCT a.C) FROM T a JOIN T b USING (C);
SELECT md5(string_agg(s, ',')) FROM (SELECT C::text AS s FROM T ORDER BY C) x;
SELECT count(*) FROM T WHERE C > 'https://www.example.net';
};
my $counted_text = $node->safe_psql('source',
	'SET max_parallel_workers_per_gather = 0; ' . $counted =~ s/\bT\b/plain/gr =~ s/\bC\b/c/gr);
my $counted_t = $counted =~ s/\bT\b/t/gr =~ s/\bC\b/c/gr;
$node->safe_psql('source',
	'ALTER TABLE t SET (parallel_workers = 2); ALTER TABLE plain SET (parallel_workers = 2)');
like(
	$node->safe_psql('source', "$parallel EXPLAIN SELECT c, count(*) FROM t GROUP BY c"),
	qr/Workers Planned: 2/,
	'the plan is parallel');
is($node->safe_psql('source', "$parallel $counted_t"),
	$counted_text, 'parallel queries have the right results');
is( $node->safe_psql(
		'source',
		"$parallel SET enable_nestloop = off; SET enable_mergejoin = off; SET enable_hashagg = off; $counted_t"
	),
	$counted_text,
	'parallel queries with hash joins have the right results');
is($node->safe_psql('source', "SET $forced = on; $counted_t"),
	$counted_text, 'queries of a worker have the right results');
is( $node->safe_psql(
		'source',
		"$parallel SET max_parallel_workers_per_gather = 2; BEGIN; DROP INDEX t_btree; CREATE INDEX t_btree ON t (c); $counted_t SET enable_seqscan = off; SELECT id FROM t WHERE c = (SELECT c FROM plain WHERE id = 77); ROLLBACK"
	),
	"$counted_text\n77",
	'a parallel build of an index makes a right index');
database('within', $url);
$node->safe_psql('within',
	plain('letters', $letter) . 'ALTER TABLE letters SET (parallel_workers = 2)');
my $within =
	"SET $forced = DEBUG; $parallel BEGIN; "
  . q{DO $$ DECLARE s text; BEGIN s := (SELECT statement FROM compact_types.train('letters', 'c')); CREATE TABLE copied AS TABLE letters; ALTER TABLE copied SET (parallel_workers = 2); EXECUTE replace(s, 'letters', 'copied'); END $$;}
  . 'CREATE INDEX ON copied (c); '
  . $counted =~ s/\bT\b/copied/gr =~ s/\bC\b/c/gr
  . 'COMMIT';
$counted_text = $node->safe_psql('within', $counted =~ s/\bT\b/letters/gr =~ s/\bC\b/c/gr);

for my $debug ('off', 'on')
{
	is($node->safe_psql('within', $within =~ s/DEBUG/$debug/r =~ s/COMMIT/ROLLBACK/r),
		$counted_text, "parallel queries in the transaction that trains, $forced = $debug");
}
$node->safe_psql('within', $within =~ s/DEBUG/off/r);
same($node, 'within', 'copied', 'after the transaction that trains', 'letters');

#
# Cached dictionaries, plans and constants: another session lets the same type have another
# dictionary.
#
my %cached = (
	'prepared statement on the table' => 'EXECUTE p_table',
	'generic plan on the table' => 'EXECUTE p_generic',
	'prepared statement with a constant' => 'EXECUTE p_constant',
	'prepared statement that was never run' => 'EXECUTE p_new',
	'plpgsql function with a constant' => 'SELECT f_constant()',
	'plpgsql function on the table' => 'SELECT f_table()',
	'cursor WITH HOLD' => 'MOVE ABSOLUTE 0 IN held; FETCH held');
my $session;
my $ask = sub {
	my ($query) = @_;
	my $out = $session->query($query);
	my $err = $session->{stderr};

	$session->{stderr} = '';
	return $err =~ /ERROR/ ? "ERROR: $err" : $out;
};
for my $how ('DROP EXTENSION trained_text1 CASCADE',
	"DROP TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1")
{
	my $db = 'cached_' . lc +(split ' ', $how)[1];

	database($db, $url);
	$node->safe_psql($db, plain('letters', $letter) . <<"SQL");
CREATE TABLE t (id int, c trained_text1);
CREATE INDEX ON t (c);
INSERT INTO t TABLE plain;
CREATE FUNCTION f_constant() RETURNS text LANGUAGE plpgsql AS \$\$ DECLARE v trained_text1 := '$first'; BEGIN RETURN v::text; END \$\$;
CREATE FUNCTION f_table() RETURNS text LANGUAGE plpgsql AS \$\$ BEGIN RETURN (SELECT count(*) FROM t WHERE c >= '$first'::trained_text1); END \$\$;
SQL
	$session = $node->background_psql($db, on_error_stop => 0);
	$ask->(<<"SQL");
PREPARE p_table AS SELECT count(*) FROM t WHERE c = '$first?session=919';
PREPARE p_generic AS SELECT count(*) FROM t WHERE c >= '$first'::trained_text1;
PREPARE p_constant AS SELECT '$first'::trained_text1;
PREPARE p_new AS SELECT '$first'::trained_text1::text;
SET plan_cache_mode = force_generic_plan;
EXECUTE p_generic;
RESET plan_cache_mode;
BEGIN;
DECLARE held SCROLL CURSOR WITH HOLD FOR SELECT c FROM t WHERE id = 1;
COMMIT;
SQL
	my %right = map { $_ => $ask->($cached{$_}) } grep { !/never/ } sort keys %cached;
	$right{'prepared statement that was never run'} = $first;
	is($right{'prepared statement with a constant'},
		$first, 'a prepared statement returns its constant');
	is($right{'prepared statement on the table'}, '2', 'a prepared statement finds the rows');
	is($right{'cursor WITH HOLD'}, "$first?session=919", 'a cursor returns the row');

	# With the extension, the next training creates the same type anew.  Without it, the training takes
	# another type.
	my $type = $node->safe_psql($db,
		"DROP TABLE t; $how; SELECT type FROM compact_types.train('letters', 'c')");
	is($type, $how =~ /EXTENSION/ ? 'trained_text1' : 'trained_text2', "$how: the next type");
	$node->safe_psql($db,
		"CREATE TABLE t (id int, c $type); CREATE INDEX ON t (c); INSERT INTO t TABLE plain; INSERT INTO t SELECT id + 100000, c FROM letters"
	);
	is( $ask->(
			'SELECT count(*) FROM t JOIN (SELECT * FROM plain UNION ALL SELECT id + 100000, c FROM letters) p USING (id) WHERE t.c::text = p.c'
		),
		$node->safe_psql($db, 'SELECT count(c) FROM t'),
		"$how: another session reads the new values");
	delete $right{$_} for 'generic plan on the table', 'plpgsql function on the table';
	my $counted = $node->safe_psql($db, "SELECT count(*) FROM t WHERE c >= '$first'::$type");
	for my $what (sort keys %cached)
	{
		my $got = $ask->($cached{$what});

		ok( $got eq ($right{$what} // $counted) || $got =~ /^ERROR/,
			"$how: $what has the right result or an error") or diag "got: $got";
	}
	$session->quit;
}

#
# Values that are no columns of tables: constants in the catalogs, and indexes on expressions
#
database('constants', $url);
$node->safe_psql('constants', plain('letters', $letter) . <<"SQL");
CREATE TABLE defaults (id int, o text DEFAULT '$last'::trained_text1::text);
CREATE VIEW v AS SELECT '$last'::trained_text1::text AS o;
CREATE FUNCTION f(x trained_text1 DEFAULT '$last') RETURNS text LANGUAGE sql AS 'SELECT x::text';
CREATE TABLE indexed (id int, c text);
CREATE INDEX indexed_c ON indexed ((c::trained_text1));
INSERT INTO indexed TABLE plain;
SQL
my $constants =
	'BEGIN; INSERT INTO defaults VALUES (1) RETURNING o; ROLLBACK; SELECT o FROM v; SELECT f();'
  . 'SET enable_seqscan = off; SELECT id FROM indexed WHERE c::trained_text1 = (SELECT c FROM plain WHERE id = 77)::trained_text1';
is( $node->safe_psql('constants', $constants),
	"$last\n$last\n$last\n77",
	'constants and an index on an expression');
# If the dictionary can be dropped, these must not be read with the next one.
($ret, $stdout, $stderr) = $node->psql(
	'constants',
	q{DROP TEXT SEARCH DICTIONARY compact_dictionaries.trained_text1; SELECT type FROM compact_types.train('letters', 'c')},
	on_error_stop => 1);
note "DROP TEXT SEARCH DICTIONARY with constants of the type: $stdout $stderr";
for my $query ('INSERT INTO defaults VALUES (1) RETURNING o', 'SELECT o FROM v', 'SELECT f()')
{
	($ret, $stdout, $stderr) = $node->psql('constants', $query);
	ok($ret != 0 || $stdout eq $last,
		"constants after DROP TEXT SEARCH DICTIONARY: $query is right or fails")
	  or diag "got: $stdout";
}
($ret, $stdout, $stderr) = $node->psql('constants',
	'SET enable_seqscan = off; SELECT id FROM indexed WHERE c::trained_text1 = (SELECT c FROM plain WHERE id = 77)::trained_text1'
);
ok($ret != 0 || $stdout eq '77',
	'an index on an expression after DROP TEXT SEARCH DICTIONARY: finds the row or fails')
  or diag "got: '$stdout'";

#
# Drop, rename and change of a dictionary
#
database('guarded', $url);
$node->safe_psql('guarded',
	'CREATE TABLE t (id int PRIMARY KEY, c trained_text1); INSERT INTO t TABLE plain');
my $symbols = $node->safe_psql('other',
	q{SELECT dictinitoption FROM pg_ts_dict WHERE dictname = 'trained_text1'});
my $own_symbols = $node->safe_psql('guarded',
	q{SELECT dictinitoption FROM pg_ts_dict WHERE dictname = 'trained_text1'});
my $dictionary = 'compact_dictionaries.trained_text1';
my @refused = (
	"DROP TEXT SEARCH DICTIONARY $dictionary",
	"DROP TEXT SEARCH DICTIONARY $dictionary CASCADE",
	"ALTER TEXT SEARCH DICTIONARY $dictionary RENAME TO trained_text2",
	"ALTER TEXT SEARCH DICTIONARY $dictionary SET SCHEMA public",
	"ALTER TEXT SEARCH DICTIONARY $dictionary ($symbols)",
	"ALTER TEXT SEARCH DICTIONARY $dictionary (symbols)",
	'ALTER SCHEMA compact_dictionaries RENAME TO others',
	'DROP SCHEMA compact_dictionaries CASCADE',
	'DROP EXTENSION trained_text1 CASCADE',
	'DROP EXTENSION compact_types CASCADE',
	'DROP TYPE trained_text1 CASCADE');
fails('guarded', $_, qr/ERROR/, (substr $_, 0, 80) =~ s/symbols.*/.../r) for @refused;
same($node, 'guarded', 't', 'after statements that are refused');
$node->safe_psql('guarded', "ALTER TEXT SEARCH DICTIONARY $dictionary ($own_symbols)");
same($node, 'guarded', 't', 'after a change to the same symbols');
$node->safe_psql('guarded', 'CREATE EXTENSION trained_text2; CREATE EXTENSION trained_text3');
fails(
	'guarded',
	"CREATE TEXT SEARCH DICTIONARY compact_dictionaries.trained_text2 (TEMPLATE = compact_types.trained_text3, $own_symbols)",
	qr/must have the name "compact_dictionaries.trained_text3"/,
	'a dictionary with the template of another type');
# The owner of a database may own a dictionary of an extension that a superuser has created.
as_role($node, 'postgres', 'landlord', 'CREATE DATABASE tenant');
$node->safe_psql('tenant', 'CREATE EXTENSION trained_text1 CASCADE');
as_role($node, 'tenant', 'landlord',
	"CREATE TEXT SEARCH DICTIONARY $dictionary (TEMPLATE = compact_types.trained_text1, $own_symbols)"
);
$node->safe_psql('tenant',
	plain('plain', $url)
	  . 'CREATE TABLE t (id int PRIMARY KEY, c trained_text1); INSERT INTO t TABLE plain');
for my $behavior ('', ' CASCADE')
{
	$node->psql('tenant', "DROP OWNED BY landlord$behavior", extra_params => [ '-U', 'landlord' ]);
	is( eval { digest($node, 'tenant', 't', 'c') } // 'error',
		digest($node, 'tenant', 'plain', 'c'),
		"DROP OWNED$behavior by the owner of a dictionary: the table of another owner can be read");
}
# A column that another session has not committed yet uses the dictionary, too.
$node->safe_psql('guarded', 'DROP TABLE t');
$session = $node->background_psql('guarded');
$session->query_safe(
	'BEGIN; CREATE TABLE t (id int PRIMARY KEY, c trained_text1); INSERT INTO t TABLE plain');
$node->psql('guarded', "SET lock_timeout = '1s'; DROP TEXT SEARCH DICTIONARY $dictionary");
$session->query_safe('COMMIT');
$session->quit;
is( eval { digest($node, 'guarded', 't', 'c') } // 'error',
	digest($node, 'guarded', 'plain', 'c'),
	'DROP TEXT SEARCH DICTIONARY beside a transaction that makes a table: the table can be read');

# A kept plan contains a value that was made before the transaction.
$node->safe_psql('guarded', 'DROP TABLE t');
$session = $node->background_psql('guarded');
$session->query_safe(
	"PREPARE q AS SELECT '$first'::trained_text1 AS c; EXECUTE q; EXECUTE q; BEGIN; CREATE TABLE t AS EXECUTE q"
);
($ret, $stdout, $stderr) =
  $node->psql('guarded', "SET lock_timeout = '1s'; DROP TEXT SEARCH DICTIONARY $dictionary");
like(
	$stderr,
	qr/lock timeout/,
	'DROP TEXT SEARCH DICTIONARY waits for a table made from a kept plan');
$session->query_safe('COMMIT');
$session->quit;
is($node->safe_psql('guarded', 'SELECT c FROM t'),
	$first, 'the table made from a kept plan can be read');
# The dictionary is dropped and created again while another session waits for it.
$node->safe_psql('guarded', 'DROP TABLE t');
my ($first_session, $second_session) = map { $node->background_psql('guarded') } 1 .. 2;
$first_session->query_safe(
	"BEGIN; DROP TEXT SEARCH DICTIONARY $dictionary; CREATE TEXT SEARCH DICTIONARY $dictionary (TEMPLATE = compact_types.trained_text1, $own_symbols)"
);
$second_session->query_until(qr/started/,
	"\\echo started\nBEGIN; CREATE TABLE t (id int PRIMARY KEY, c trained_text1); INSERT INTO t TABLE plain;\n"
);
$node->poll_query_until('guarded', q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted})
  or die 'the second session does not wait';
$first_session->query_safe('COMMIT');
$second_session->query_safe('SELECT 1');
is( $node->safe_psql(
		'guarded',
		q{SELECT count(*) FROM pg_locks WHERE classid = 'pg_ts_dict'::regclass AND objid IN (SELECT oid FROM pg_ts_dict WHERE dictname = 'trained_text1')}
	),
	'1',
	'a session that waited for a dictionary has locked the next one');
($ret, $stdout, $stderr) = $node->psql('guarded',
	"SET lock_timeout = '1s'; DROP TEXT SEARCH DICTIONARY $dictionary CASCADE");
like($stderr, qr/lock timeout/, 'DROP TEXT SEARCH DICTIONARY waits for it');
$second_session->query_safe('COMMIT');
$_->quit for $first_session, $second_session;
is( digest($node, 'guarded', 't', 'c'),
	digest($node, 'guarded', 'plain', 'c'),
	'the table of the session that waited can be read');

#
# A transaction that creates a dictionary is aborted: no entry of an older index may need it.
#
my $with_symbols = sub {
	"CREATE TEXT SEARCH DICTIONARY $dictionary (TEMPLATE = compact_types.trained_text1, $own_symbols)";
};
my %aborted = (
	'an insert' => "BEGIN; DICT; INSERT INTO old TABLE plain; ROLLBACK",
	'a changed column' =>
	  "BEGIN; DICT; ALTER TABLE old ALTER c SET STATISTICS 50; INSERT INTO old TABLE plain; ROLLBACK",
	'a renamed column' =>
	  "BEGIN; DICT; ALTER TABLE old RENAME c TO d; INSERT INTO old TABLE plain; ROLLBACK",
	'a savepoint' =>
	  "BEGIN; DROP TABLE old; CREATE TABLE old (id int, c trained_text1); CREATE INDEX old_c ON old (c); SAVEPOINT s; DICT; INSERT INTO old TABLE plain; ROLLBACK TO s; COMMIT",
	'a table that is dropped for a while' =>
	  "BEGIN; DICT; SAVEPOINT s; DROP TABLE old; SELECT 'x'::trained_text1; ROLLBACK TO s; INSERT INTO old TABLE plain; ROLLBACK",
	'an index on an expression' =>
	  "DROP TABLE old; CREATE TABLE old (id int, c text); CREATE INDEX old_c ON old ((c::trained_text1)); BEGIN; DICT; INSERT INTO old TABLE plain; ROLLBACK",
	'a temporary table' =>
	  "DROP TABLE old; CREATE TEMP TABLE old (id int, c trained_text1); CREATE INDEX old_c ON old (c); BEGIN; DICT; INSERT INTO old TABLE plain; ROLLBACK"
);
my $n = 0;
my $other = dictionary('other');
for my $what (sort keys %aborted)
{
	my $db = 'aborted' . $n++;

	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db,
			'CREATE EXTENSION trained_text1 CASCADE; CREATE EXTENSION amcheck; '
		  . plain('plain', $url)
		  . plain('letters', $letter)
		  . 'CREATE TABLE old (id int, c trained_text1); CREATE INDEX old_c ON old (c)');
	(my $statements = $aborted{$what}) =~ s/DICT/$with_symbols->()/e;
	($ret, $stdout, $stderr) = $node->psql($db, <<"SQL", on_error_stop => 0);
\\set ON_ERROR_ROLLBACK off
$statements;
$other;
INSERT INTO old TABLE letters;
SET enable_seqscan = off;
SELECT 'missing: ' || count(*) FROM letters l WHERE c IS NOT NULL AND NOT EXISTS (SELECT FROM old o WHERE o.c::trained_text1 = l.c::trained_text1);
SELECT 'checked ' || coalesce(bt_index_check('old_c', true)::text, '');
SQL
	note $stderr;
	like($stdout, qr/missing: 0\nchecked/, "aborted transaction with $what: the index is right");
}

#
# train() in several sessions, aborted, and in a crash
#
$node->safe_psql('postgres', 'CREATE DATABASE concurrent');
$node->safe_psql('concurrent',
		'CREATE EXTENSION compact_types; CREATE EXTENSION amcheck;'
	  . plain('plain', $url)
	  . plain('letters', $letter));
my $objects =
  q{SELECT (SELECT count(*) FROM pg_extension), (SELECT count(*) FROM pg_ts_dict), (SELECT count(*) FROM pg_ts_template), (SELECT count(*) FROM pg_type), (SELECT count(*) FROM pg_proc), (SELECT count(*) FROM pg_depend)};
my $no_objects = $node->safe_psql('concurrent', $objects);
$node->safe_psql('concurrent', q{BEGIN; SELECT compact_types.train('plain', 'c'); ROLLBACK});
is($node->safe_psql('concurrent', $objects), $no_objects, 'an aborted train() leaves nothing');
my ($x, $y) = map { $node->background_psql('concurrent') } 1 .. 2;
# The notice of a second type is no failure.
$_->query_safe('SET client_min_messages = warning') for $x, $y;

for my $end ('ROLLBACK', 'COMMIT')
{
	my $expected = $end eq 'COMMIT' ? 'trained_text2' : 'trained_text1';

	is($x->query_safe("BEGIN; SELECT type FROM compact_types.train('plain', 'c')"),
		'trained_text1', 'the first session gets the first type');
	$y->query_until(qr/started/,
		"\\echo started\nBEGIN; SELECT 'got ' || type FROM compact_types.train('letters', 'c');\n");
	$node->poll_query_until('concurrent', q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted})
	  or die 'the second session does not wait';
	$x->query_safe($end);
	like($y->query_safe('SELECT 1'), qr/got $expected\b/,
		"$end: the second session gets $expected");
	$y->query_safe($end);
}
$_->quit for $x, $y;
$node->safe_psql('concurrent',
	'CREATE TABLE t (id int PRIMARY KEY, c trained_text1); INSERT INTO t TABLE plain; CREATE INDEX t_c ON t (c)'
);
same($node, 'concurrent', 't', 'after train() in two sessions');

$node->safe_psql('concurrent',
	"CREATE TABLE large AS SELECT i AS id, $url AS c FROM generate_series(1, 200000) i; ANALYZE large"
);
$no_objects = $node->safe_psql('concurrent', $objects);
for my $moment ('during train()', 'after train(), before COMMIT', 'after COMMIT')
{
	$x = $node->background_psql('concurrent', on_error_die => 0, on_error_stop => 0);
	if ($moment =~ /during/)
	{
		$x->query_until(qr/started/,
			"\\echo started\nSELECT compact_types.train('large', 'c', sample_rows => 1000000);\n");
		$node->poll_query_until('concurrent',
			q{SELECT count(*) > 0 FROM pg_stat_activity WHERE state = 'active' AND query ~ '^SELECT compact_types.train' AND pid <> pg_backend_pid()}
		) or die;
	}
	else
	{
		$x->query(
			q{BEGIN; SELECT compact_types.train('letters', 'c'); CREATE TABLE crashed (id int PRIMARY KEY, c trained_text3); INSERT INTO crashed TABLE letters; CREATE INDEX crashed_c ON crashed (c);}
			  . ($moment =~ /after COMMIT/ ? 'COMMIT;' : ''));
		$node->safe_psql('postgres', 'CHECKPOINT') if $moment =~ /before/;
	}
	kill_all($node, whole_writes => 1);
	eval { $x->{run}->kill_kill };
	$node->start;
	if ($moment =~ /after COMMIT/)
	{
		same($node, 'concurrent', 'crashed', "crash $moment", 'letters');
		$node->safe_psql('concurrent',
			q{SELECT bt_index_check('crashed_c', true), bt_index_check('crashed_pkey', true)});
	}
	else
	{
		is($node->safe_psql('concurrent', $objects), $no_objects, "crash $moment: nothing is left");
	}
	same($node, 'concurrent', 't', "crash $moment");
}
everything($node, 'source', 'after crashes');

#
# An application changes the length of a column, and makes an index, as it would for varchar.
#
database('auto', $url);
$node->safe_psql('auto',
	'CREATE TABLE t (id int PRIMARY KEY, c trained_text1(80)); INSERT INTO t SELECT * FROM plain WHERE id > 0;'
	  . "ALTER DATABASE auto SET session_preload_libraries = 'compact_types';"
	  . 'ALTER DATABASE auto SET compact_types.auto = on; ALTER DATABASE auto SET compact_types.auto_varchar = on'
);
$node->safe_psql('auto',
	'ALTER TABLE t ALTER c TYPE varchar(200); CREATE INDEX t_like ON t (c varchar_pattern_ops)');
is( $node->safe_psql(
		'auto',
		q{SELECT format_type(atttypid, atttypmod), pg_get_indexdef('t_like'::regclass) FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'c'}
	),
	'trained_text1(200)|CREATE INDEX t_like ON public.t USING btree (c)',
	'compact_types.auto: a column keeps its trained type');

#
# What train() reports
#
database('reported', $url);
($ret, $stdout, $stderr) = $node->psql('reported',
	"CREATE TABLE tiny AS SELECT * FROM plain WHERE id BETWEEN 1 AND 5; SELECT type IS NULL FROM compact_types.train('tiny', 'c')"
);
is($stdout, 't', 'train() on few rows makes no type');
like(
	$stderr,
	qr/NOTICE:  no dictionary was created for column "c" of relation "tiny"/,
	'train() on few rows says so');
# In this table, every tenth row has a number that ends in 0.
$node->safe_psql('reported',
	"CREATE TABLE periodic AS SELECT i AS id, 'Auftragsnummer ' || i || ' Kundennummer ' || i * 31 || ', Versandart: Schienenverkehr, Zwischenlager Q' || i % 13 AS c FROM generate_series(1, 3000) i"
);
(my $type, my $predicted) = split /\|/,
  $node->safe_psql('reported',
	"SELECT type, value_bytes_after FROM compact_types.train('periodic', 'c')");
my $measured = $node->safe_psql('reported',
	"CREATE TABLE measured AS SELECT id, c::$type AS c FROM periodic; SELECT avg(pg_column_size(c)) FROM measured"
);
ok($predicted < 1.5 * $measured && $predicted > $measured / 1.5,
	'train() predicts the size of periodic values')
  or diag "predicted $predicted, measured $measured";

#
# Privileges
#
$node->safe_psql('postgres', "CREATE ROLE role_$_ LOGIN") for qw(a b c);
security_database($node, 'rights', 'compact_types');
as_role($node, 'rights', 'role_a',
	'SET search_path = role_a;' . plain('plain', $url) . 'GRANT ALL ON plain TO PUBLIC');
$session = $node->background_psql('rights');
$session->query_safe('BEGIN; LOCK TABLE role_a.plain IN ACCESS EXCLUSIVE MODE');
fails(
	'rights',
	q{SET lock_timeout = '2s'; SELECT compact_types.train('role_a.plain', 'c')},
	qr/must be owner of table plain/,
	'train() by another role, while the table is locked', 'role_b');
fails(
	'rights',
	q{SET lock_timeout = '100ms'; SELECT compact_types.train('role_a.plain', 'c')},
	qr/lock timeout/,
	'train() by the owner, while the table is locked', 'role_a');
$session->query_safe('COMMIT');
$session->quit;
fails(
	'rights',
	q{SELECT compact_types.train('role_a.plain', 'c')},
	qr/permission denied to create extension "trained_text1"/,
	'train() by an owner without CREATE on the database',
	'role_a');
$node->safe_psql('rights', 'GRANT CREATE ON DATABASE rights TO role_a');
is( as_role(
		$node, 'rights', 'role_a', q{SELECT type FROM compact_types.train('role_a.plain', 'c')}),
	'trained_text1',
	'train() by an owner with CREATE on the database');
as_role($node, 'rights', 'role_a',
	'CREATE TABLE role_a.t (id int, c trained_text1); INSERT INTO role_a.t TABLE role_a.plain');
same($node, 'rights', 'role_a.t', 'train() by an owner', 'role_a.plain');

for my $role ('role_a', 'role_c')
{
	fails(
		'rights', $_,
		qr/permission denied|must be owner|cannot/,
		$_ =~ s/symbols.*/.../r . " by $role", $role)
	  for
	  "CREATE TEXT SEARCH DICTIONARY compact_dictionaries.trained_text9 (TEMPLATE = pg_catalog.simple)",
	  "ALTER TEXT SEARCH DICTIONARY $dictionary ($own_symbols)",
	  "ALTER TEXT SEARCH DICTIONARY $dictionary OWNER TO $role",
	  "DROP TEXT SEARCH DICTIONARY $dictionary";
}
fails(
	'rights',
	q{SELECT compact_types.create_trained(5)},
	qr/permission denied for function create_trained/,
	'create_trained()', 'role_a');
as_role($node, 'rights', 'role_c', 'SELECT c FROM role_a.plain LIMIT 1');
# A hostile owner
as_role($node, 'rights', 'role_a', <<"SQL");
CREATE TABLE role_a.hostile (id int PRIMARY KEY, c text);
INSERT INTO role_a.hostile SELECT * FROM role_a.plain;
ALTER TABLE role_a.hostile ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY trap ON role_a.hostile USING (role_a.trap('policy', id) IS NOT NULL);
CREATE TRIGGER trap BEFORE INSERT OR UPDATE ON role_a.hostile FOR EACH ROW EXECUTE FUNCTION role_a.trap_trigger('trigger');
CREATE INDEX ON role_a.hostile ((role_a.trap('index', id)));
CREATE VIEW role_a.view AS SELECT c FROM role_a.hostile WHERE role_a.trap('view');
CREATE TABLE role_a.parent (id int, c text) PARTITION BY LIST (id);
CREATE TABLE role_a.child PARTITION OF role_a.parent DEFAULT;
INSERT INTO role_a.parent TABLE role_a.plain;
ALTER TABLE role_a.parent ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY trap ON role_a.parent USING (role_a.trap('parent', id) IS NOT NULL);
SQL
$node->safe_psql('postgres', 'ALTER ROLE role_a NOSUPERUSER');
# Training calls no code of the owner: it reads one column, and policies do not apply to it.
for my $table ('hostile', 'parent', 'view')
{
	is_harmless(
		$node,
		sub {
			($ret, $stdout, $stderr) = $node->psql('rights',
				"SET client_min_messages = warning; SELECT type FROM compact_types.train('role_a.$table', 'c')"
			);
		},
		[],
		"train() of $table by a superuser");
	like(
		$stdout . $stderr,
		$table eq 'view' ? qr/"view" is not a table/ : qr/^trained_text\d+$/,
		"train() of $table: result");
}
is_harmless(
	$node,
	sub {
		$stdout = $node->safe_psql('rights',
			q{SELECT relation, proposed_type FROM compact_types.advise(columns => '{c}', train => true) WHERE relation IN ('role_a.hostile'::regclass, 'role_a.child'::regclass) ORDER BY 1}
		);
	},
	[],
	'advise() with train by a superuser');
is( $stdout,
	"role_a.hostile|trained_textN\nrole_a.child|trained_textN",
	'advise() with train: proposals');
fails(
	'rights',
	q{SELECT compact_types.advise('role_a.hostile', train => true)},
	qr/permission denied for table hostile/,
	'advise() with train by a role that may not read', 'role_c');
as_role($node, 'rights', 'role_a', 'GRANT SELECT ON role_a.hostile TO role_c');
fails(
	'rights',
	q{SELECT compact_types.advise('role_a.hostile', train => true)},
	qr/row-level security hides rows of table "hostile"/,
	'advise() with train by a role with a policy', 'role_c');
is( as_role(
		$node, 'rights', 'role_c',
		q{SELECT proposed_type FROM compact_types.advise('role_a.plain', '{c}', train => true)}),
	'trained_textN',
	'advise() with train by a role that may read');

#
# The statements of the documents that remove everything
#
for my $document ('README.md', 'doc/tuning.md')
{
	my ($statement) =
	  slurp_file("$FindBin::RealBin/../../$document") =~
	  /^(SELECT format\('DROP EXTENSION.*?\\gexec)/ms;

	ok(defined $statement, "$document: the statement that drops all extensions") or next;
	database('removed', $url);
	$node->safe_psql('removed',
		q{SELECT count(*) FROM compact_types.convert('plain', '{c}', train => true); SELECT count(*) FROM compact_types.revert_all(unrecorded => true)}
	);
	$node->safe_psql('removed', $statement);
	is( $node->safe_psql(
			'removed',
			q{SELECT extname FROM pg_extension WHERE extname <> 'plpgsql' UNION ALL SELECT dictname FROM pg_ts_dict WHERE dictname ~ 'trained'}
		),
		'',
		"$document: no extension is left");
	$node->safe_psql('postgres', 'DROP DATABASE removed');
}

#
# B-tree indexes after many changes
#
database('changed', $url);
$node->safe_psql('changed',
	'CREATE EXTENSION amcheck; CREATE TABLE t (id int PRIMARY KEY, c trained_text1) WITH (autovacuum_enabled = off); CREATE INDEX t_c ON t (c); CREATE INDEX t_c_id ON t (c COLLATE "C", id); CREATE TABLE model (id int PRIMARY KEY, c text)'
);
for my $round (1 .. 3)
{
	for my $table ('t', 'model')
	{
		$node->safe_psql('changed', <<"SQL");
INSERT INTO $table SELECT id + $round * 100000, c FROM plain;
UPDATE $table SET c = c || '/round-$round' WHERE id % 4 = $round;
UPDATE $table SET c = (SELECT c FROM plain WHERE plain.id = 5) WHERE id % 11 = $round;
DELETE FROM $table WHERE id % 6 = $round;
SQL
	}
	$node->safe_psql('changed', 'VACUUM t') if $round < 3;
	is( digest($node, 'changed', 't', 'c'),
		digest($node, 'changed', 'model', 'c'),
		"round $round: the strings are right");
	is( $node->safe_psql(
			'changed',
			q{SELECT bt_index_check('t_c', true), bt_index_check('t_c_id', true), bt_index_parent_check('t_c', true)}
		),
		'||',
		"round $round: amcheck finds nothing");
}
$node->safe_psql('changed',
	'CREATE TABLE few (c trained_text1, n text COLLATE "C"); INSERT INTO few SELECT p.c, p.c FROM plain p, generate_series(1, 1000) WHERE id BETWEEN 1 AND 20; CREATE INDEX few_c ON few (c); CREATE INDEX few_n ON few (n); CREATE INDEX few_off ON few (c) WITH (deduplicate_items = off)'
);
is( $node->safe_psql(
		'changed',
		q{SELECT bt_index_check('few_c', true), pg_relation_size('few_c') * 2 < pg_relation_size('few_off'), pg_relation_size('few_c') <= pg_relation_size('few_n')}
	),
	'|t|t',
	'duplicates are stored once in an index');

#
# pg_upgrade to the same version
#
{
	my $old = init_cluster('old_trained');
	my $new = init_cluster('new_trained');
	chomp(my $bindir = `pg_config --bindir`);

	$old->start;
	$old->safe_psql('postgres', 'CREATE DATABASE app');
	$old->safe_psql('app',
			'CREATE EXTENSION compact_types; CREATE EXTENSION amcheck; '
		  . plain('plain', $url)
		  . q{SELECT compact_types.train('plain', 'c'); CREATE TABLE t (id int PRIMARY KEY, c trained_text1 DEFAULT '}
		  . $first
		  . q{'); INSERT INTO t TABLE plain; CREATE INDEX t_c ON t (c); CREATE INDEX t_hash ON t USING hash (c);}
	);
	my $sizes = $old->safe_psql('app', 'SELECT sum(pg_column_size(c)) FROM t');
	$old->stop;
	command_ok(pg_upgrade_command($bindir, $old, $bindir, $new, $bindir), 'pg_upgrade');
	$new->start;
	same($new, 'app', 't', 'after pg_upgrade');
	is($new->safe_psql('app', 'SELECT sum(pg_column_size(c)) FROM t'),
		$sizes, 'after pg_upgrade: the values have the sizes that they had');
	is( $new->safe_psql(
			'app',
			q{SELECT bt_index_check('t_c', true); SET enable_seqscan = off; SELECT id FROM t WHERE c = (SELECT c FROM plain WHERE id = 77); INSERT INTO t (id) VALUES (100000) RETURNING c}
		),
		"\n77\n$first",
		'after pg_upgrade: indexes and constants');
	$new->stop;
}

$node->stop;
done_testing();
