# tools/advise: the estimate before anything is installed.  All three sources, the statistics close
# to dense.report(), for a role that may read some tables and may write nothing, with names that
# try to become HTML or escape codes, with locks in its way, interrupted, and on a standby.  The
# tool writes nothing in the target, and leaves no object in the scratch database.
use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $tool = "$FindBin::RealBin/../../tools/advise";
my $node = PostgreSQL::Test::Cluster->new('target');

# advise(ARGUMENT...) - run the tool; return exit code, stdout and stderr
sub advise
{
	my ($out, $err) = ('', '');
	IPC::Run::run([ $tool, @_ ], '<', \undef, '>', \$out, '2>', \$err);
	return ($? & 127 ? 128 + ($? & 127) : $? >> 8, $out, $err);
}

# section(REPORT, TABLE) - return what a report says about a table, with blanks for line breaks
sub section
{
	my ($report, $table) = @_;
	my ($found) = $report =~ /^(\Q$table\E\n.*?)\n(?:\n|\z)/ms;
	return ($found // '') =~ s/\s+/ /gr;
}

# fails(PATTERN, CODE, ARGUMENT...) - check that it ends with one line of error
sub fails
{
	my ($pattern, $code, @arguments) = @_;
	my @result = advise(@arguments);
	is($result[0], $code, "exit code of: @arguments");
	is($result[1], '', 'no report');
	like($result[2], qr/\Atools\/advise: error: [^\n]*$pattern[^\n]*\n\z/, 'one line of error');
	return;
}

my ($first, undef, $missing) = advise('--help');
plan skip_all => $missing =~ s/\s+$//r if $missing =~ /Python module/;
is($first, 0, '--help');

# storage parameters, in all spellings that the server accepts
my ($python) = slurp_file($tool) =~ /\A#!(\S+)/;
my $import = "import sys; sys.path.insert(0, '$FindBin::RealBin/../../tools')";
my ($spellings, $complaints) = run_command([ $python, '-B', '-c', <<"PYTHON" ]);
$import
from advisor.target import boolean, fillfactor
print(*(fillfactor({"fillfactor": text}, 100) for text in
    ("90", "90.0", "9e1", ".9E2", "0x5A", "0X5a.0", "0132", " +90 ", "90.5", "89.5001")))
print(*(fillfactor({"fillfactor": text}, 100) for text in ("", "x", "9_0", "9", "101", "9e99", "1e999", "nan")), fillfactor({}, 70))
print(*(boolean(text, True) for text in ("f", "FAL", "n", "no", "of", "off", "0")))
print(*(boolean(text, False) for text in ("t", "tr", "Y", "yes", "on", "1")))
print(*(boolean(text, default) for default in (True, False) for text in (None, "", "o", "00", "offf")))
PYTHON
is("$spellings\n$complaints", <<'SEEN', 'spellings of integers and booleans');
90 90 90 90 90 90 90 90 90 90
100 100 100 100 100 100 100 100 70
False False False False False False False
True True True True True True
True True True True True False False False False False
SEEN

# wrong arguments, without a server
fails(qr/missing argument 'DATABASE'; usage: /, 2);
fails(qr/no such option: --nonsense/, 2, '--nonsense', 'shop');
fails(qr/DATABASE is empty; usage: /, 2, '');
fails(qr/--budget/, 2, '--budget', 'soon', 'shop');
fails(qr/"1X" is no size/, 2, '--min-size', '1X', 'shop');
fails(qr/--top/, 2, '--top', '0', 'shop');
fails(qr/exclude each other/, 2, '--scratch', 'x', '--statistics', 'shop');
fails(qr/names "db.example.org", only an instance of this machine/,
	1, '--scratch', 'host=db.example.org', 'shop');
fails(qr/names "192.0.2.1", only/, 1, '--scratch', 'host=localhost hostaddr=192.0.2.1', 'shop');
fails(qr/invalid connection string for --scratch/, 1, '--scratch', 'a=b', 'shop');
fails(qr/could not write "\/nowhere\/x\.html": there is no such directory/,
	1, '--html', '/nowhere/x.html', 'shop');
my ($code, $out, $err) = advise('postgresql://u:hidden@/x?bad=1');
is( "$code $err",
	"1 tools/advise: error: invalid connection string for the database\n",
	'a wrong URI, whose password is not repeated');
{
	my $broken = PostgreSQL::Test::Utils::tempdir();
	append_to_file("$broken/click.py", "raise ModuleNotFoundError('no', name='click')\n");
	local $ENV{PYTHONPATH} = $broken;
	fails(qr/Python module "click" is not installed, run "tools\/deps advise" or install /,
		1, 'shop');
}
{
	local $ENV{PGHOST} = $node->data_dir;
	fails(qr/could not connect to the database: /, 1, 'shop');
}

$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\n");
$node->start;
local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
fails(qr/could not connect to the database: socket ".*": database "nowhere" does not exist/,
	1, 'nowhere');
fails(qr/role "nobody_here" does not exist; connect as another role: su postgres /,
	1, 'user=nobody_here dbname=postgres');
($code, $out, $err) = advise('postgres');
is("$code $err", '0 ', 'a database without tables');

my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
my $columns = <<'SQL';
(amount int NOT NULL, stock bigint NOT NULL, kind smallint, price numeric(8,2) NOT NULL, made timestamp(0), code char(6), note text)
SQL
my $rows = <<'SQL';
SELECT i % 90, i % 20000, i % 5, 1000 + (i % 90000) / 100.0, timestamp '2026-01-01' + i * interval '1 minute', 'code' || i % 10, 'some words of a note ' || i FROM generate_series(1, 40000) i
SQL
$node->safe_psql('postgres', 'CREATE ROLE reader LOGIN; CREATE DATABASE shop TEMPLATE template0');
$node->safe_psql('shop', <<"SQL");
REVOKE ALL ON DATABASE shop FROM PUBLIC;
GRANT CONNECT ON DATABASE shop TO reader;
ALTER ROLE reader SET default_transaction_read_only = on;
CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO reader;
CREATE TABLE app.article $columns;
INSERT INTO app.article $rows;
CREATE INDEX ON app.article (stock, kind);
CREATE TABLE app."<script>alert(1)</script>" $columns;
INSERT INTO app."<script>alert(1)</script>" $rows;
CREATE TABLE app.denied $columns;
INSERT INTO app.denied $rows;
CREATE TABLE app.partly AS SELECT * FROM app.denied;
CREATE TABLE app.small AS SELECT 1 AS i;
CREATE TYPE app.mood AS ENUM ('good', 'bad');
CREATE TABLE app.typed (m app.mood, a bigint, t timestamptz, u timestamptz, total bigint GENERATED ALWAYS AS (a * 2) STORED);
INSERT INTO app.typed SELECT CASE WHEN i % 3 > 0 THEN 'good'::app.mood ELSE 'bad' END, i % 100, timestamptz '2026-01-01' + i * interval '1 second', '2026-01-01' FROM generate_series(1, 40000) i;
CREATE TABLE app.keyed (article_id bigint, n bigint PRIMARY KEY, m bigint, k bigint);
INSERT INTO app.keyed SELECT i % 100, i, i % 100, i % 50 FROM generate_series(1, 80000) i;
CREATE TABLE app.sparse (m app.mood, a bigint, b bigint) WITH (fillfactor = 90.0);
INSERT INTO app.sparse SELECT CASE WHEN i = 1 THEN 'good'::app.mood END, i % 100, i % 100 FROM generate_series(1, 100000) i;
CREATE INDEX ON app.sparse (a) WITH (fillfactor = '0x5A', deduplicate_items = 'f');
CREATE TABLE app.large (b text);
INSERT INTO app.large SELECT (SELECT string_agg(md5((i * j)::text), '') FROM generate_series(1, 100) j) FROM generate_series(1, 1000) i;
ANALYZE;
CREATE TABLE app."fresh \e[2J" $columns;
INSERT INTO app."fresh \e[2J" $rows;
GRANT SELECT ON ALL TABLES IN SCHEMA app TO reader;
REVOKE SELECT ON app.denied, app.partly FROM reader;
GRANT SELECT (note) ON app.partly TO reader;
CHECKPOINT;
SQL

sub dump_of
{
	my ($dump) = run_command([ 'pg_dump', '-d', $node->connstr('shop') ]);
	return $dump =~ s/^\\(?:un)?restrict .*\n//gmr;
}
my $before = dump_of();

# the statistics
my @reader = ("user=reader dbname=shop");
my $html = PostgreSQL::Test::Utils::tempdir() . '/report.html';
($code, $out, $err) = advise(@reader, '--html', $html);
is("$code $err", '0 ', 'a report of a role that may write nothing') or BAIL_OUT($err);
like(
	$out,
	qr/\AWhat pg_dense would save in database shop\n.*\nSource: plain statistics/,
	'the first lines name the source');
like($out, qr/No row was read, and nothing was installed/, 'and what it is worth');
my $article = section($out, 'app.article');
like(
	$article,
	qr/ proposal: change stock to uint2, price to compact_decimal4_2, made to seconds4, code to compact_char6 saves /,
	'types are proposed');
like(
	$article,
	qr/ assumption: .* stock: values in the statistics are \d+ to 1\d{4};/,
	'the assumption');
like($out, qr/^- The tool reads no CHECK constraints\./m, 'and what it does not read');
like($article, qr/ risk: stock: values outside of 0 to 65535 will be refused;/, 'the risk');
like(
	$article,
	qr/ option, not counted: store note as compact_text saves .* confidence low assumption: a value takes 0\.575 /,
	'text is an option with a constant');
like(
	$out,
	qr/^app\.keyed\n  proposal: change m to uint1, k to uint1$/m,
	'keys and references keep their type');
like(
	$out,
	qr/^app\.typed\n  proposal: change a to uint1\n(?!.*\btotal to).*?option, not counted: round t, u to whole seconds/ms,
	'types of users and generated columns keep their type');
like(
	$out,
	qr/^app\.large\n  option, not counted: compress large values in another way: .* are in the\s+TOAST table$/m,
	'large values are named');
like($out, qr/^- 1 table that the role may not read \(/m, 'unreadable tables are counted');
like($out, qr/^- 1 table of which the role may read some columns only \(/m, 'and columns');
like($out, qr/^- 1 table smaller than 1\.0 MB \(/m, 'and small tables');
unlike($out, qr/app\.denied|app\.partly|app\.small/, 'none of them is named');
like(
	$out,
	qr/^app\."fresh \\x1b\[2J"\n  remark: no estimate: never analyzed; run ANALYZE$/m,
	'a table without statistics, and control characters made visible');
like(
	$out,
	qr/^Without an estimate, counted as if nothing is saved: 1 table \(/m,
	'the total says how many there are');
unlike($out, qr/[^\n -~]/, 'no control character, and nothing but ASCII');
my ($report) = $out =~ /\A(.*)^Next commands$/ms;
is_deeply([ grep { length > 80 } split /\n/, $report ], [], 'the report has 80 columns');
my ($now, $after, $saved) = $out =~ /^In bytes: (\d+) now, (\d+) after, (\d+) saved$/m;
is($now - $after, $saved, 'the total adds up');
cmp_ok($saved, '>', 0, 'there is something to save');
my %unit = (bytes => 1, kB => 1024, MB => 1024 * 1024);
my @saved;
push @saved, $1 * $unit{$2} while $report =~ /^\|\S.*\|[ #]+\| [ \d.]+ \w+ \| +([\d.]+) (\w+)\|$/mg;
cmp_ok(scalar(@saved), '>=', 6, 'a row for each table');
is_deeply(\@saved, [ sort { $b <=> $a } @saved ], 'the largest savings come first');
like($out, qr/^tools\/advise CONNINFO --scratch scratch$/m,
	'the next step, without the connection');
like($out, qr/CREATE EXTENSION pg_dense/, 'and what to install');
like($out, qr/^wrote "\Q$html\E"$/m, 'the page is named');

my $page = slurp_file($html);
like($page, qr/app\.&#34;&lt;script&gt;alert\(1\)&lt;\/script&gt;&#34;/, 'names are escaped');
unlike($page, qr/<script|\e/, 'none becomes a script');
unlike($page, qr/\b(?:src|href)=|url\(|\@import|<link/, 'the page refers to no other file');
like($page, qr/Source: plain statistics/, 'it names the source');
like($page, qr/In bytes: $now before, $after after, $saved saved/, 'it has the total');
like($page, qr/<meta name="viewport"/, 'it fits a telephone');
like(
	$page,
	qr/<pre>createdb [^<]* scratch<br>tools\/advise CONNINFO --scratch scratch<\/pre>/,
	'each command has a line');
unlike($page, qr/\\x0a/, 'no line break is shown as a control character');

($code, $out) = advise(@reader, '--without-risk');
like(
	$out,
	qr/^In bytes: $now now, $now after, 0 saved$/m,
	'nothing is left without the changes that have a risk');
($code, $out) = advise(@reader, '--top', 1, '--min-size', '0');
is(scalar(() = $out =~ /^app\./mg), 1, '--top limits the list');
like(
	$out,
	qr/^\d+ more tables \(.*\), of which .* would be\s+saved, see --top$/m,
	'the others are counted');
unlike($out, qr/smaller than/, '--min-size');

# Another session holds a lock.
my $other = $node->background_psql('shop', on_error_stop => 1);
$other->query_safe('BEGIN; LOCK TABLE app.article IN ACCESS EXCLUSIVE MODE');
($code, $out, $err) = advise(@reader);
is($code, 0, 'a locked table') or diag $err;
like($out, qr/^app\.article\n  proposal/m, 'the lock is not waited for');

# A sample.  Roles that may not create extensions, other encodings, and interrupts
$node->safe_psql('postgres',
	"CREATE DATABASE scratch TEMPLATE template0; CREATE DATABASE latin TEMPLATE template0 ENCODING latin1"
);
my @scratch = ('--scratch', "user=$superuser dbname=scratch");
my $left = q{SELECT (SELECT count(*) FROM pg_namespace WHERE nspname !~ '^pg_(toast|catalog|temp)'),
	(SELECT count(*) FROM pg_extension), (SELECT count(*) FROM pg_class WHERE oid >= 16384)};
my $was = $node->safe_psql('scratch', $left);
($code, $out, $err) = advise(@reader, @scratch);
is("$code $err", '0 ', 'a report with a sample');
like($out, qr/^Source: a sample of rows/m, 'the source');
like(
	section($out, 'app.article'),
	qr/ because no sample could be taken: canceling statement due to lock timeout/,
	'a locked table is estimated by its statistics');
$other->query_safe('ROLLBACK');
($code, $out, $err) = advise(@reader, @scratch);
is("$code $err", '0 ', 'without the lock');
$article = section($out, 'app.article');
like($article, qr/ note to compact_text/, 'compact_text was measured');
unlike($article, qr/CREATE TYPE|dense_advise/, 'no statement names the scratch schema');
like($article, qr/ in a sample of \d+ rows/, 'by a sample');
unlike($article, qr/because no sample/, 'which could be taken');
like(
	$out,
	qr/^app\.keyed\n  proposal: change m to uint1, k to uint1$/m,
	'keys and references keep their type');
like($out, qr/^app\.typed\n  proposal: change a to uint1$/m, 'types of users go as text');
my ($row_bytes) = section($out, 'app.sparse') =~ / bytes of the table instead of ([\d.]+), in a/;
cmp_ok($row_bytes // 9999, '<', 55, 'a null of such a type stays null');
is($node->safe_psql('scratch', $left), $was, 'no object is left in the scratch database');

fails(qr/scratch database has encoding LATIN1, UTF8 is needed: createdb /,
	1, @reader, '--scratch', "user=$superuser dbname=latin");
fails(qr/option --scratch must name another database than DATABASE/,
	1, @reader, '--scratch', "user=$superuser dbname=shop");
fails(qr/could not prepare the scratch database: permission denied/,
	1, @reader, '--scratch',
	'user=reader dbname=scratch options=-cdefault_transaction_read_only=off');

$other->quit;
$other = $node->background_psql('scratch', on_error_stop => 1);
$other->query_safe('BEGIN; CREATE SCHEMA dense_advise');
my ($run_out, $run_err) = ('', '');
my $run =
  IPC::Run::start([ $tool, @reader, @scratch ], '<', \undef, '>', \$run_out, '2>', \$run_err);
ok( $node->poll_query_until(
		'postgres',
		q{SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'tools/advise' AND datname = 'scratch' AND wait_event_type = 'Lock'}
	),
	'it waits in the scratch database');
$run->signal('TERM');
$run->finish;
is($? >> 8, 130, 'an interrupt ends it');
is($run_err, "tools/advise: error: interrupted\n", 'with one line');
$other->query_safe('ROLLBACK');
$other->quit;
ok( $node->poll_query_until(
		'postgres',
		q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'tools/advise'}),
	'its sessions are gone');
is($node->safe_psql('scratch', $left), $was, 'nothing is left after an interrupt');
ok(dump_of() eq $before, 'nothing was written in the target');

# An error about one table is a line of the report.
my $surprise = <<"PYTHON";
$import
from advisor import estimate, main
original = estimate.estimate
def fail(table, *rest):
    if table.relation == "article":
        raise ValueError("a surprise")
    return original(table, *rest)
estimate.estimate = fail
main.main()
PYTHON
for my $source ([], \@scratch)
{
	($out, $err) = run_command([ $python, '-B', '-c', $surprise, @reader, @$source ]);
	is($err, '', 'an error about one table');
	is( section($out, 'app.article'),
		'app.article remark: nothing: the estimate failed reason: ValueError: a surprise',
		'is a line with the reason');
	like($out, qr/^app\.typed\n  proposal/m, 'the other tables have theirs');
}

# Functions of the owners of tables: the planner runs them, or a view that has taken the name of a
# table while the tool runs.
$node->safe_psql('postgres', 'CREATE DATABASE trap TEMPLATE template0');
$node->safe_psql('trap', <<'SQL');
ALTER DATABASE trap SET constraint_exclusion = on;
CREATE FUNCTION one(what text) RETURNS int IMMUTABLE LANGUAGE plpgsql
AS $$ BEGIN RAISE LOG 'the owner''s code has run: %', what; RETURN 1; END $$;
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TABLE swapped AS SELECT i % 90::bigint AS a, i % 90::bigint AS b FROM generate_series(1, 90000) i;
CREATE TABLE predicate AS TABLE swapped;
CREATE INDEX ON predicate (a) WHERE one('predicate') = 1;
CREATE TABLE expression AS TABLE swapped;
CREATE INDEX ON expression ((a + one('expression')));
CREATE TABLE computed AS TABLE swapped;
CREATE STATISTICS computed_s ON (a + one('statistics')), b FROM computed;
CREATE TABLE checked AS TABLE swapped;
ALTER TABLE checked ADD CHECK (a < 1000 AND one('constraint') = 1);
CREATE TABLE labelled AS SELECT i % 90::bigint AS a, i % 90::bigint AS b, 'good'::mood AS m FROM generate_series(1, 90000) i;
CREATE INDEX ON labelled (a) WHERE m = 'good';
ANALYZE;
SQL
$other = $node->background_psql('trap', on_error_stop => 1);
$other->query_safe(
	q{BEGIN; ALTER TABLE swapped RENAME TO former; CREATE VIEW swapped AS SELECT a, b FROM former WHERE one('view') = 1}
);
my $log = -s $node->logfile;
($run_out, $run_err) = ('', '');
$run = IPC::Run::start([ $tool, 'trap', '--min-size', 0, @scratch ],
	'<', \undef, '>', \$run_out, '2>', \$run_err);
ok( $node->poll_query_until(
		'postgres',
		q{SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'tools/advise' AND datname = 'trap' AND wait_event_type = 'Lock'}
	),
	'it waits for a table');
$other->query_safe('COMMIT');
$other->quit;
$run->finish;
is($run_err, '', 'tables with functions of their owners');
is_deeply([ slurp_file($node->logfile, $log) =~ /the owner's code has run: (\w+)/g ],
	[], 'no function of an owner is run');
# TABLESAMPLE refuses the view, if the lock did not come too late
like(
	section($run_out, 'public.swapped'),
	qr/ because no sample could be taken: (?:TABLESAMPLE|canceling statement due to lock)/,
	'a view in the place of a table is not read');
for my $table (qw(predicate expression computed))
{
	like(
		section($run_out, "public.$table"),
		qr/ because no sample could be taken: an index or a statistics object calls a function/,
		"$table: the reason");
}
for my $table (qw(checked labelled))
{
	like(section($run_out, "public.$table"), qr/ in a sample of \d+ rows/, "$table: a sample");
}

# The statistics and the sample against dense.report(): tables without text, freshly written
$node->safe_psql('postgres', 'CREATE DATABASE small TEMPLATE template0');
$node->safe_psql('small', <<'SQL');
CREATE TABLE account (number int PRIMARY KEY, branch int, balance int, filler char(20));
INSERT INTO account SELECT i, i % 10, i % 900, 'x' FROM generate_series(1, 60000) i;
CREATE TABLE item (amount int, price numeric(8,2), level bigint, weight bigint, opened timestamp(0), closed timestamp(0), mark char(8));
INSERT INTO item SELECT i % 100, 10 + (i % 9000) / 100.0, i % 30, CASE WHEN i % 4 > 0 THEN i % 20000 END, timestamp '2026-01-01' + i * interval '1 minute',
  CASE WHEN i % 2 = 0 THEN timestamp '2026-02-01' + i * interval '1 minute' END, 'abcdefgh' FROM generate_series(1, 80000) i;
CREATE INDEX ON item (level, amount);
CREATE INDEX ON item (opened);
CREATE INDEX ON item (weight);
CREATE TABLE wide (a float8, b bool, c float8, d bool, e int);
INSERT INTO wide SELECT i, true, i, false, i % 90 FROM generate_series(1, 50000) i;
VACUUM ANALYZE;
SQL
my ($statistics, $sample);
($code, $statistics, $err) = advise('small', '--min-size', 0);
is("$code $err", '0 ', 'statistics of the small schema');
($code, $sample, $err) = advise('small', '--min-size', 0, @scratch);
is("$code $err", '0 ', 'a sample of it');
$node->safe_psql('small',
	'CREATE EXTENSION compact_types; CREATE EXTENSION toast_policy; CREATE EXTENSION vertical_partition; CREATE EXTENSION pg_dense'
);
my ($extension, $total);
($code, $extension, $err) = advise('small', '--min-size', 0);
is("$code $err", '0 ', 'the extension');
like($extension, qr/^Source: the extension pg_dense, by dense\.report\(\)/m, 'the source');
like(
	$extension,
	qr/^psql .* -c "CALL dense\.apply\('compact_types_with_risk public\.item'\)"$/m,
	'what to type next');
$total = $node->safe_psql('small',
	"SELECT bytes_now, bytes_after, bytes_now - bytes_after FROM dense.report(min_bytes => 0, with_risk => true) WHERE kind = 'total' ORDER BY bytes_after DESC LIMIT 1"
);
my @measured = split /\|/, $total;
my %totals;

for ([ extension => $extension ], [ statistics => $statistics ], [ sample => $sample ])
{
	my ($name, $text) = @$_;
	$totals{$name} = [ $text =~ /^In bytes: (\d+) now, (\d+) after, (\d+) saved$/m ];
	diag("$name: @{ $totals{$name} }; dense.report(): @measured");
}
is_deeply($totals{extension}, \@measured, 'the total of the extension is that of dense.report()');
for my $name (qw(statistics sample))
{
	is($totals{$name}[0], $measured[0], "$name: the same tables");
	cmp_ok(abs($totals{$name}[1] / $measured[1] - 1),
		'<=', 0.05, "$name: the predicted size is within 5 % of that of dense.report()");
	cmp_ok(abs($totals{$name}[2] / $measured[2] - 1),
		'<=', 0.10, "$name: the predicted saving is within 10 % of that of dense.report()");
}
($code, $out) = advise('small', '--min-size', 0, '--statistics');
like($out, qr/^Source: plain statistics/m, '--statistics');

# Partitions have a reason, tables without a proposal are counted
$node->safe_psql('postgres', 'CREATE DATABASE parts TEMPLATE template0');
$node->safe_psql('parts', <<'SQL');
CREATE TABLE parent (a bigint, b bigint) PARTITION BY RANGE (b);
CREATE TABLE part PARTITION OF parent FOR VALUES FROM (0) TO (1000000);
INSERT INTO parent SELECT i % 90, i % 90 FROM generate_series(1, 60000) i;
CREATE TABLE plain AS SELECT i::float8 AS f FROM generate_series(1, 60000) i;
CREATE TABLE talk AS SELECT (i % 90)::bigint AS a, i * 10 AS b, i % 5 AS c, 'some words of a text ' || i AS t FROM generate_series(1, 60000) i;
CREATE INDEX talk_b ON talk (b);
VACUUM ANALYZE;
SQL
for my $source ([], \@scratch)
{
	($code, $out, $err) = advise('parts', @$source);
	is("$code $err", '0 ', 'partitions');
	is( section($out, 'public.part'),
		'public.part prevented: change a to uint1, b to uint1 prevented by: the table is a partition',
		'a partition has a reason');
	like($out, qr/^1 table without a proposal \([\d.]+ MB\)$/m, 'and the rest is counted');
}


# What the extension has measured is no assumption, and indexes have their names.
$node->safe_psql('parts',
	'CREATE EXTENSION compact_types; CREATE EXTENSION toast_policy; CREATE EXTENSION vertical_partition; CREATE EXTENSION pg_dense'
);
($code, $out, $err) = advise('parts');
is("$code $err", '0 ', 'partitions, with the extension');
like(
	section($out, 'public.part'),
	qr/ prevented: change .* prevented by: the table is a partition$/,
	'a partition has its reason in a line of its own');
my $talk = section($out, 'public.talk');
like(
	$talk,
	qr/ align the entries of index public\.talk_b to \d bytes /,
	'the index of a proposal is named');
like($talk, qr/ reason: a row takes /, 'what was measured is a reason');
unlike($out, qr/ assumption: /, 'and no assumption');
like(
	$out,
	qr/^# apply a proposal[^\n]*runs\n[^\n]*'compact_types public\.talk'\)"\n# or [^']* risk, see\n# above\n[^\n]*'compact_types_with_risk public\.talk'\)"$/m,
	'the change without a risk comes first');

# All tables are small, or there is no library.
$node->safe_psql('postgres', 'CREATE DATABASE tiny TEMPLATE template0');
$node->safe_psql('tiny', 'CREATE TABLE t AS SELECT 1 AS a');
($code, $out, $err) = advise('tiny');
like($out, qr/^- 1 table smaller than .*; use --min-size 0 to examine\s+them$/m, 'small tables');
$node->safe_psql('tiny',
	q{CREATE TABLE u AS SELECT i FROM generate_series(1, 60000) i; CREATE EXTENSION pg_dense});
($code, $out, $err) = advise('tiny', '--statistics');
like(
	$out,
	qr/^Total: [\d.]+ MB now, no estimate\n.*^  remark: no estimate: never analyzed; run ANALYZE$/ms,
	'a database that was never analyzed');
unlike($out, qr/0 bytes/, 'about which nothing is known');
$node->safe_psql('tiny',
	q{UPDATE pg_proc SET probin = '$libdir/nowhere' WHERE probin LIKE '%pg\_dense'});
fails(qr/the library of pg_dense is not installed on the server; use --statistics$/, 1, 'tiny');

# An extension's schema without the extension: no function of another role is called.
$node->safe_psql('shop', <<'SQL');
CREATE SCHEMA dense;
CREATE SEQUENCE dense.victims;
GRANT USAGE ON SCHEMA dense TO PUBLIC;
GRANT ALL ON SEQUENCE dense.victims TO PUBLIC;
CREATE FUNCTION dense.report(budget_seconds int4, relation regclass, min_bytes bigint, with_risk boolean) RETURNS SETOF int LANGUAGE sql
AS $$ SELECT nextval('dense.victims')::int $$;
SQL
($code, $out, $err) = advise(@reader);
like($out, qr/^Source: plain statistics/m, 'a schema dense that is no extension');
is($node->safe_psql('shop', 'SELECT is_called FROM dense.victims'), 'f', 'is not called');

# a standby
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
{
	local $ENV{PGHOST} = $standby->host;
	local $ENV{PGPORT} = $standby->port;
	($code, $out, $err) = advise(@reader);
	is("$code $err", '0 ', 'a standby');
	like($out, qr/^Server: PostgreSQL .*, a standby$/m, 'which the report names');
	like($out, qr/^app\.article\n  proposal/m, 'with proposals');
	($code, $out, $err) = advise('small', '--min-size', 0);
	is("$code $err", '0 ', 'the extension on a standby');
	fails(qr/scratch database is on a standby/, 1, @reader, @scratch);
}

done_testing();
