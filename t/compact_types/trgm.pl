# Check the operator classes of compact_trgm and compact_char64_trgm.
#
# - For random strings and patterns, an index scan finds the rows that a sequential scan finds, and
#   that pg_trgm's own index on a text column finds.  ORDER BY gives the same distances.
# - Dump and restore keep the indexes.  amcheck finds no damage, where it knows GIN.
# - The build of an index can be cancelled.
# - A session that has not loaded a library uses the settings of pg_trgm.
#
# There is one pattern for each operator in each database per 50 of PGDENSE_FUZZ_CASES (default
# 2000), but at least 40: a third of the patterns find rows, and for each operator, some must.
# PGDENSE_FUZZ_SEED is the random seed, which the test prints.
use strict;
use warnings FATAL => 'all';

use Encode;
use File::Spec;
use List::Util qw(max);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cases = max(40, int(($ENV{PGDENSE_FUZZ_CASES} || 2000) / 50));
my $seed = $ENV{PGDENSE_FUZZ_SEED} || time();
srand($seed);
note "seed $seed, $cases patterns for each operator";

my $node = PostgreSQL::Test::Cluster->new('trgm');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
autovacuum = off
session_preload_libraries = 'compact_types'
CONF
$node->start;
my $dir = File::Spec->rel2abs($node->basedir);
my $major = int($node->safe_psql('postgres', 'SHOW server_version_num') / 10000);

my @words = qw(the of and to in is that for with PostgreSQL library package support http://www.
  example.org address street customer слово текст сервер данные для 日本語 文字列 東京都 単語 中文);
my @letters = (
	'a' .. 'e',
	'A' .. 'C',
	'0' .. '3',
	' ', ' ', '-', '_', '%', '\\', '.', "'", "\t", map { chr } 0xe4,
	0xdf, 0x130, 0x430 .. 0x433,
	0x410, 0x65e5, 0x672c, 0x8a9e, 0x1f600);
@words = map { decode('UTF-8', $_) } @words;

sub pick { return $_[ int(rand(@_)) ]; }

sub some
{
	my ($n, @set) = @_;
	return join '', map { pick(@set) } 1 .. $n;
}

# Strings for each form in which a value is stored: empty, of 1 to 3 characters, packed, with a
# dictionary, raw, and too long for a dictionary
sub random_string
{
	my $kind = int(rand(8));
	return
		$kind == 0 ? some(int(rand(4)), @letters)
	  : $kind == 1 ? some(int(rand(30)), '0' .. '9', '-', ':')
	  : $kind == 2 ? some(int(rand(40)), '0' .. '9', 'a' .. 'f')
	  : $kind == 3 ? join('-', map { some($_, '0' .. '9', 'a' .. 'f') } 8, 4, 4, 4, 12)
	  : $kind == 4 ? some(int(rand(60)), @letters)
	  : $kind == 5 ? "\x01" . some(5, @letters)
	  :              join(pick(' ', '', '_', '/'), map { pick(@words) } 0 .. rand(8));
}

# Patterns for an operator, made from a part of a string, so that there are rows to find
sub random_pattern
{
	my ($operator, $string) = @_;
	my $from = int(rand(length($string) + 1));
	my $part = rand() < 0.1 ? '' : substr($string, $from, int(rand(rand() < 0.5 ? 5 : 25)));

	if ($operator =~ /^~~/)
	{
		$part = uc $part if $operator eq '~~*' && rand() < 0.5;
		$part =~ s/([%_\\])/rand() < 0.8 ? "\\$1" : $1 eq '\\' ? '\\\\' : $1/ge;
		$part =~ s/^(\w+)\w/$1_/ if rand() < 0.3;
		return pick('%', '%', '') . $part . pick('%', '%', '%%', '');
	}
	if ($operator =~ /^~/)
	{
		$part = lc $part if $operator eq '~*' && rand() < 0.5;
		$part =~ s/([^\w\s])/ord($1) < 128 ? "\\$1" : $1/ge;
		$part =~ s/^(\w+)(\w)/$1\[$2x]/ if rand() < 0.3;
		$part .= pick('', '.*', '?', '(a|b)*', 'x|' . $part) if $part ne '';
		return pick('', '^', '') . $part . pick('', '', '$');
	}
	$part = $string if $operator eq '=' && rand() < 0.9;
	return rand() < 0.3 ? $part . pick(@letters) : $part;
}

sub literal
{
	my ($string) = @_;
	return 'NULL' if !defined $string;
	$string =~ s/'/''/g;
	return encode('UTF-8', "'$string'");
}

# Return the longest start of the string that compact_char64 stores unchanged.
sub shortened
{
	my ($string) = @_;
	chop $string while length(encode('UTF-8', $string)) > 64;
	$string =~ s/ +$//;
	return $string;
}

# A pattern for the operator and the type.  "=" converts the pattern to compact_char64.
sub pattern_for
{
	my ($operator, $type, @strings) = @_;
	my $pattern = random_pattern($operator, pick(@strings));

	return $operator eq '=' && $type ne 'compact_text' ? shortened($pattern) : $pattern;
}

# Create the extension, and fill columns of the type and of text with the same strings.
sub prepare
{
	my ($db, $type, $extension) = @_;
	my @strings = map { random_string() } 1 .. 800;
	# The operators of words take long for long strings, so there are only a few.
	my @long = map {
		join ' ',
		  map { pick(@words) }
		  1 .. 400
	} 1 .. 4;
	my $class = $extension =~ s/_trgm$//r . '_trgm_ops';

	if ($type ne 'compact_text')
	{
		@strings = map { shortened($_) } @strings;
		@long = map { shortened($_) } @long;
	}
	my @values = (undef, undef, '', @strings, @long);

	$node->safe_psql($db, <<SQL);
CREATE SCHEMA tri;
CREATE EXTENSION pg_trgm SCHEMA tri;
CREATE EXTENSION $extension CASCADE;
CREATE TABLE s (id int GENERATED ALWAYS AS IDENTITY, c $type, g $type, t text, u text);
CREATE TABLE p (id int GENERATED ALWAYS AS IDENTITY, op text, pattern text);
SQL
	my $sql =
	  'INSERT INTO s (c) VALUES ' . join(', ', map { '(' . literal($_) . ')' } @values) . ";\n";
	foreach my $op ('~~', '~~*', '~', '~*', '%', '%>', '%>>', '=', '<->', '<->>', '<->>>')
	{
		$sql .= 'INSERT INTO p (op, pattern) VALUES '
		  . join(', ',
			map { "('$op', " . literal(pattern_for($op, $type, @strings)) . ')' } 1 .. $cases)
		  . ";\n";
	}
	$node->safe_psql($db, $sql);
	# Half of the rows come into the indexes after the build, by the list of pending entries.
	$node->safe_psql($db, <<SQL);
UPDATE s SET g = c, t = c, u = c;
CREATE TEMP TABLE later AS SELECT * FROM s WHERE id % 2 = 0;
DELETE FROM s WHERE id % 2 = 0;
CREATE INDEX s_c ON s USING gin (c gin_$class);
CREATE INDEX s_g ON s USING gist (g gist_$class);
CREATE INDEX s_t ON s USING gin (t tri.gin_trgm_ops);
CREATE INDEX s_u ON s USING gist (u tri.gist_trgm_ops);
INSERT INTO s OVERRIDING SYSTEM VALUE SELECT * FROM later;
ANALYZE s;
SQL
	$node->safe_psql($db, <<'SQL');
-- Return the result of a pattern on a column, by the index of that name or by a sequential scan.
CREATE FUNCTION found(op text, pattern text, col text, index text) RETURNS text LANGUAGE plpgsql
SET search_path = public, tri AS $$
DECLARE
  query text := CASE WHEN op ~ '<' THEN format('SELECT string_agg(d::text, '' '') FROM (SELECT %I %s %L AS d FROM s WHERE %1$I IS NOT NULL ORDER BY %1$I %2$s %3$L LIMIT 20) x', col, op, pattern)
    ELSE format('SELECT string_agg(id::text, '' '' ORDER BY id) FROM s WHERE %I %s %L', col, op, pattern) END;
  line text;
  plan text := '';
  result text;
BEGIN
  PERFORM set_config('enable_seqscan', (index IS NULL)::text, true), set_config('enable_sort', (index IS NULL)::text, true),
    set_config('enable_bitmapscan', (index IS NOT NULL)::text, true), set_config('enable_indexscan', (index IS NOT NULL)::text, true);
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    plan := plan || line || E'\n';
  END LOOP;
  -- GIN scans the whole index for a pattern without trigrams, which the planner may not want.
  IF plan !~ COALESCE('Scan (using|on) ' || index || E'\\M', 'Seq Scan on s') THEN
    RETURN 'plan: ' || plan;
  END IF;
  EXECUTE query INTO result;
  RETURN COALESCE(result, 'none');
END $$;
CREATE TABLE results AS
SELECT id, op, pattern, found(op, pattern, 'c', NULL) AS seq, found(op, pattern, 't', NULL) AS seq_text,
  CASE WHEN op !~ '<' THEN found(op, pattern, 'c', 's_c') END AS gin, CASE WHEN op !~ '<' THEN found(op, pattern, 't', 's_t') END AS gin_text,
  found(op, pattern, 'g', 's_g') AS gist, found(op, pattern, 'u', 's_u') AS gist_text
FROM p ORDER BY id;
-- The shape of a GiST tree depends on random choices of the server.  In some trees, pg_trgm misses a
-- row whose similarity of words is the threshold, on text as well.  So ask other trees, too.
DO $$
BEGIN
  FOR i IN 1 .. 4 LOOP
    REINDEX INDEX s_g;
    REINDEX INDEX s_u;
    UPDATE results SET gist = found(op, pattern, 'g', 's_g') WHERE gist IS DISTINCT FROM seq AND op ~ '%>';
    UPDATE results SET gist_text = found(op, pattern, 'u', 's_u') WHERE gist_text IS DISTINCT FROM seq AND op ~ '%>';
  END LOOP;
END $$;
SQL
	return;
}

#
# Random strings and patterns
#
foreach my $kind (
	[ 'c', 'C', 'compact_text', 'compact_trgm' ],
	[ 'utf', 'C.UTF-8', 'compact_text', 'compact_trgm' ],
	[ 'char', 'C.UTF-8', 'compact_char64', 'compact_char64_trgm' ])
{
	my ($db, $locale, $type, $extension) = @$kind;
	my $name = "$type, $locale";

	$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE template0 LOCALE '$locale'");
	prepare($db, $type, $extension);
	is( $node->safe_psql(
			$db,
			q{SELECT op, pattern, seq, seq_text, gin, gin_text, gist, gist_text FROM results
			WHERE seq IS DISTINCT FROM seq_text OR seq IS DISTINCT FROM gist OR seq IS DISTINCT FROM gist_text
			OR (op !~ '<' AND (seq IS DISTINCT FROM gin OR seq IS DISTINCT FROM gin_text)) LIMIT 5}
		),
		'',
		"$name: index scans and sequential scans agree, with text as well");
	is( $node->safe_psql(
			$db,
			q{SELECT count(DISTINCT op), count(DISTINCT op) FILTER (WHERE seq ~ '^[0-9]') FROM results}
		),
		'11|11',
		"$name: some patterns of each operator find rows");
	my $forms =
	  $type eq 'compact_text'
	  ? 'count(DISTINCT compact_types.codec(c)) >= 6, bool_or(length(c) > 2000)'
	  : 'bool_or(octet_length(t) = 64), bool_or(octet_length(t) < 8)';
	is($node->safe_psql($db, "SELECT $forms, bool_or(c = ''), bool_or(c IS NULL) FROM s"),
		't|t|t|t', "$name: the values have many forms");
	# The entries are the same, so the sizes of new indexes are, too.
	$node->safe_psql($db, 'REINDEX TABLE s');
	is($node->safe_psql($db, q{SELECT pg_relation_size('s_c') = pg_relation_size('s_t')}),
		't', "$name: the GIN index has the size of one on text");
}

like(
	$node->safe_psql(
		'c', q{SET enable_seqscan = off; EXPLAIN SELECT * FROM s WHERE c LIKE '%xyz%'}),
	qr/Index Scan on s_c .*Index Cond: \(c ~~ '%xyz%'::text\)/s,
	'an index serves LIKE without pg_trgm in the search_path');

#
# A type without an extension has no classes, and the hint does not name any.
#
$node->safe_psql('char', q{SELECT compact_types.create_char(100)});
$node->safe_psql('char', 'CREATE TABLE wide (c compact_char100, v varchar(100))');
my ($status, $out, $err) =
  $node->psql('char', 'CREATE INDEX wide_c ON wide USING gin (c tri.gin_trgm_ops)');
like(
	$err,
	qr/HINT:  The index serves conditions on c::text\.$/m,
	'compact_char100: the index is built on the value as text');
$node->safe_psql('char',
	q{INSERT INTO wide SELECT NULL, repeat('x', 100) FROM generate_series(1, 100)});
$node->safe_psql('char', 'CREATE INDEX wide_v ON wide USING gin (v tri.gin_trgm_ops)');
is( $node->safe_psql(
		'char',
		q{SELECT proposed_type, blockers FROM compact_types.advise('wide', fixed_varchar => true) WHERE column_name = 'v'}
	),
	'compact_char100|{"operator class of index wide_v is not the default one"}',
	'compact_char100: no extension is proposed');
$node->safe_psql('char', 'DROP TABLE wide');

#
# amcheck
#
if ($major >= 18)
{
	foreach my $db ('c', 'char')
	{
		$node->safe_psql($db, 'CREATE EXTENSION amcheck');
		is($node->safe_psql($db, q{SELECT gin_index_check('s_c')}),
			'', "amcheck finds no damage in the GIN index of database $db");
	}
}

#
# Dump and restore
#
my $indexes =
  q{SELECT indexdef FROM pg_indexes WHERE tablename = 's' ORDER BY 1; SELECT count(*) FROM s};
foreach my $db ('c', 'char')
{
	my $file = "$dir/$db.dump";
	$node->command_ok([ 'pg_dump', '--format=custom', '--file', $file, $node->connstr($db) ],
		"$db: dump");
	my $locale = $db eq 'c' ? 'C' : 'C.UTF-8';
	$node->safe_psql('postgres',
		"CREATE DATABASE restored_$db TEMPLATE template0 LOCALE '$locale'");
	$node->command_ok(
		[ 'pg_restore', '--exit-on-error', '-d', $node->connstr("restored_$db"), $file ],
		"$db: restore");
	is( $node->safe_psql("restored_$db", $indexes),
		$node->safe_psql($db, $indexes),
		"$db: the restored indexes are the same");
	is( $node->safe_psql(
			"restored_$db",
			q{SELECT count(*) FROM results WHERE op !~ '[<>]' AND (found(op, pattern, 'c', 's_c') <> seq OR found(op, pattern, 'g', 's_g') <> seq)}
		),
		'0',
		"$db: the restored indexes find the same rows");
}

#
# Cancel: building these indexes takes much longer than the timeout.
#
$node->safe_psql('c', <<'SQL');
CREATE TABLE big AS SELECT i, (SELECT string_agg(md5((i * 100 + j)::text), ' ') FROM generate_series(1, 50) j)::compact_text AS c FROM generate_series(1, 20000) i;
SQL
foreach my $method ('gin', 'gist')
{
	my ($ret, $stdout, $stderr) = $node->psql('c', <<SQL);
SET statement_timeout = 100;
CREATE INDEX big_$method ON big USING $method (c ${method}_compact_trgm_ops);
SQL
	like(
		$stderr,
		qr/canceling statement due to statement timeout/,
		"the build of a $method index is cancelled");
}
is($node->safe_psql('c', q{SELECT count(*) FROM pg_index WHERE indrelid = 'big'::regclass}),
	'0', 'no index is left');

#
# A new session: the operator loads pg_trgm, and its settings count
#
$node->append_conf('postgresql.conf', "session_preload_libraries = ''\n");
$node->restart;
$node->safe_psql('c', q{INSERT INTO s (c) VALUES ('a threshold of similarity')});
foreach my $threshold (0.1, 0.9)
{
	local $ENV{PGOPTIONS} = "-c pg_trgm.similarity_threshold=$threshold";
	is( $node->safe_psql(
			'c',
			q{SELECT count(*) FROM s WHERE c = 'a threshold of similarity' AND c % 'a threshold'}),
		$threshold < 0.5 ? '1' : '0',
		"threshold $threshold is used");
}

$node->stop;
done_testing();
