# Differential fuzzing of compact_text, and of a type trained_textN whose dictionary was trained on the
# strings, against text.  Strings fit each of the codecs, or none.  The
# databases have every kind of collation, and four encodings.  No result may differ: operators with
# every string type on either side, LIKE, order, hash values, output, casts, binary format,
# grouping, joins, and index scans.  No value may be larger than the same value as text, except for
# one byte that is added before a string that starts with a control character.
#
# PGDENSE_FUZZ_CASES is the number of pairs in each database (default 2000).  PGDENSE_FUZZ_SEED is
# the random seed, which the test prints.
use strict;
use warnings FATAL => 'all';

use Encode;
use File::Spec;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cases = $ENV{PGDENSE_FUZZ_CASES} || 2000;
my $seed = $ENV{PGDENSE_FUZZ_SEED} || time();
srand($seed);
note "seed $seed, $cases pairs a database";

my $node = PostgreSQL::Test::Cluster->new('text_fuzz');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\n");
$node->start;

my @words = qw(the of and to in is that for with as on are this by be at from or have an it not you
  The This An PostgreSQL library package support file system data server error version development
  http://www.example.org/ https:// .com user name="id" {"id": "value"} address street customer);
my @digits = split //, '0123456789 -.:+/';
my @time = split //, '0123456789-:TZ.+';
my @alnum = ('A' .. 'Z', 'a' .. 'z', '0' .. '9', ' ', '-');
my @punctuation = split //, q{!"#$%&'()*,;<=>?@[\\]^_`{|}~};
my @control = map { chr } (1 .. 8, 0x0e .. 0x1f);
my %letters = (
	'latin1' => [ map { chr } 0xa1 .. 0xff ],
	'euc-jp' =>
	  [ map { chr } 0x3041 .. 0x3093, 0x30a1 .. 0x30f3, 0x65e5, 0x672c, 0x8a9e, 0x6771, 0x4eac ],
	'cp866' => [ map { chr } 0x410 .. 0x44f ],
	'utf8' => [
		map { chr } 0xe4,
		0xf6, 0xfc, 0xdf, 0xe9, 0x20ac, 0x301, 0x3042 .. 0x3060,
		0x65e5, 0x672c, 0x8a9e, 0x410 .. 0x44f,
		0x1f600, 0x10fffd, 0xac00, 0xff21
	]);

sub pick { return $_[ int(rand(@_)) ]; }

sub some
{
	my ($n, @set) = @_;
	return join '', map { pick(@set) } 1 .. $n;
}

# One string in four begins like the string before it, so that both have a common prefix.
my $last = '';

sub random_string
{
	my (@foreign) = @_;
	my $kind = int(rand(14));
	my $n = int(rand(rand() < 0.7 ? 12 : rand() < 0.9 ? 140 : 900));
	my $s =
		$kind == 0  ? some($n, @digits)
	  : $kind == 1  ? some($n, @time)
	  : $kind == 2  ? some($n, '0' .. '9', 'a' .. 'f')
	  : $kind == 3  ? some($n, '0' .. '9', 'A' .. 'F')
	  : $kind == 4  ? join('-', map { some($_, '0' .. '9', 'a' .. 'f') } 8, 4, 4, 4, 12)
	  : $kind == 5  ? some($n, @alnum)
	  : $kind == 6  ? join(' ', map { pick(@words) } 0 .. $n / 5)
	  : $kind == 7  ? join('', map { rand() < 0.8 ? pick(@words) : pick(@punctuation) } 0 .. $n / 4)
	  : $kind == 8  ? some($n, @foreign)
	  : $kind == 9  ? some($n, @foreign, @alnum, @punctuation)
	  : $kind == 10 ? pick(@control) . some($n, @alnum, @control, "\t", "\n")
	  : $kind == 11 ? some($n, 'a' .. 'c', ' ')
	  : $kind == 12 ? some(1, @alnum) x (rand() < 0.05 ? 1990 + int(rand(20)) : $n)
	  : join(' ', map { pick(@words) } 0 .. (rand() < 0.05 ? 500 : 3)) . ' ' x int(rand(3));

	$s = substr($last, 0, int(rand(length($last) + 1))) . substr($s, 0, int(rand(4)))
	  if rand() < 0.25;
	return $last = $s;
}

sub copy_escape
{
	my ($s) = @_;
	$s =~ s/\\/\\\\/g;
	$s =~ s/\t/\\t/g;
	$s =~ s/\n/\\n/g;
	$s =~ s/\r/\\r/g;
	return $s;
}

# These expressions compare a pair of samples x and y, where c is compact_text, s is its text and b
# its char.  Each expression is true if compact_text gives another result.  For a trained type,
# of_type() replaces the name of the type.
my %pair_checks;
for my $op ('=', '<>', '<', '<=', '>', '>=')
{
	$pair_checks{"compact $op compact"} = "(x.c $op y.c) <> (x.s $op y.s)";
	$pair_checks{"compact $op text"} = "(x.c $op y.s) <> (x.s $op y.s)";
	$pair_checks{"text $op compact"} = "(x.s $op y.c) <> (x.s $op y.s)";
	$pair_checks{"compact $op varchar"} = "(x.c $op y.s::varchar) <> (x.s $op y.s)";
	$pair_checks{"varchar $op compact"} = "(x.s::varchar $op y.c) <> (x.s $op y.s)";
	$pair_checks{"compact $op bpchar"} = "(x.c $op y.b) <> (x.s $op y.b::text)";
	$pair_checks{"bpchar $op compact"} = "(x.b $op y.c) <> (x.b::text $op y.s)";
}
$pair_checks{'equal to its own text'} = 'NOT x.c = x.s OR NOT x.s = x.c OR NOT x.c = x.c';
$pair_checks{'compared with its own text'} =
  'compact_types.compact_text_text_cmp(x.c, x.s) <> 0 OR compact_types.text_compact_text_cmp(x.s, x.c) <> 0';
for my $op ('LIKE', 'NOT LIKE', 'ILIKE')
{
	$pair_checks{"$op prefix"} = "(x.c $op left(y.p, 3) || '%') <> (x.s $op left(y.p, 3) || '%')";
	$pair_checks{"$op own prefix"} =
	  "(x.c $op left(x.p, 3) || '%') <> (x.s $op left(x.p, 3) || '%')";
	$pair_checks{"$op middle"} =
	  "(x.c $op '%' || substr(y.p, 2, 2) || '_%') <> (x.s $op '%' || substr(y.p, 2, 2) || '_%')";
	$pair_checks{"$op contains"} =
	  "(x.c $op '%' || substr(y.p, 2, 1) || '%') <> (x.s $op '%' || substr(y.p, 2, 1) || '%')";
	$pair_checks{"$op contains its own end"} =
	  "(x.c $op '%' || substr(x.p, 2) || '%') <> (x.s $op '%' || substr(x.p, 2) || '%')";
}
$pair_checks{'regular expression'} = "(x.c ~ '^[a-c]+[0-9]*') <> (x.s ~ '^[a-c]+[0-9]*')";
$pair_checks{'starts_with'} = 'starts_with(x.c, left(y.s, 2)) <> starts_with(x.s, left(y.s, 2))';
$pair_checks{'concatenation'} = 'x.c || y.c <> x.s || y.s OR x.c || y.s <> x.s || y.s';
my %single_checks = (
	'output' => q{format('%s', c) <> s COLLATE "C"},
	'cast to text' => q{c::text <> s COLLATE "C"},
	'cast to varchar' => q{c::varchar::text <> s COLLATE "C"},
	'cast to bpchar' => q{format('%s', c::bpchar) <> s COLLATE "C"},
	'cast from text' => 's::compact_text <> c',
	'cast from bpchar' => 'b::compact_text <> b::text',
	'cast with a limit' => q{s::compact_text(10)::text <> s::varchar(10)::text COLLATE "C"},
	'limit of a value' => q{c::compact_text(10)::text <> s::varchar(10)::text COLLATE "C"},
	'input of output' => q{format('%s', c)::cstring::text::compact_text <> c},
	'binary output' => 'compact_types.compact_text_send(c) <> textsend(s)',
	'hash' => 'compact_types.compact_text_hash(c) <> hashtext(s)',
	'extended hash' => 'compact_types.compact_text_hash_extended(c, id) <> hashtextextended(s, id)',
	'length' => 'length(c) <> length(s) OR octet_length(c) <> octet_length(s)',
	'text functions' =>
	  q{lower(c) <> lower(s) OR substr(c, 2, 3) <> substr(s, 2, 3) OR md5(c) <> md5(s) OR reverse(c) <> reverse(s)},
	'size' =>
	  q{pg_column_size(c::text::compact_text) > pg_column_size(s || '') + CASE WHEN s ~ '^[\x01-\x08\x0e-\x1f]' THEN 1 ELSE 0 END},
	'same bytes again' => 'NOT record_image_eq(ROW(c), ROW(c::text::compact_text))',);

sub fuzz_database
{
	my ($db, $create, $server_encoding, $encoding, $foreign) = @_;
	my $file = File::Spec->rel2abs($node->basedir . "/$db.txt");
	$last = '';

	$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE template0 $create");
	open my $out, '>:raw', $file or die "could not open $file: $!";
	for my $id (1 .. $cases)
	{
		print $out $id, "\t",
		  encode($encoding, copy_escape(random_string(@$foreign)), Encode::FB_CROAK), "\n";
	}
	close $out;

	$node->safe_psql($db, <<"SQL");
CREATE EXTENSION compact_types;
CREATE TABLE input (id int, s text);
COPY input FROM '$file' (ENCODING '$server_encoding');
CREATE TABLE repeated AS SELECT s FROM input, generate_series(1, 5);
ANALYZE repeated;
SQL
	is($node->safe_psql($db, q{SELECT type FROM compact_types.train('repeated', 's', 2000)}),
		'trained_text1', "$db: a dictionary is trained");
	check_type($db, 'compact_text');
	check_type($db, 'trained_text1');
	isnt(
		$node->safe_psql(
			$db, q{SELECT count(*) FROM samples WHERE compact_types.codec(c) = 'trained'}),
		0,
		"$db: strings are encoded with the dictionary");
	return;
}

sub of_type
{
	my ($sql, $type) = @_;
	return $sql =~ s/compact_text/$type/gr;
}

# Compare the type with text, in a database with the strings in the table input.
sub check_type
{
	my ($db, $type) = @_;
	my $name = "$db, $type";

	$node->safe_psql($db, <<"SQL");
DROP TABLE IF EXISTS samples CASCADE;
CREATE TABLE samples (id int, s text, c $type, b bpchar, p text, other int);
INSERT INTO samples
  SELECT id, s, s, s, replace(replace(replace(s, '\\', ''), '%', ''), '_', ''), id::int8 * 7919 % $cases + 1 FROM input;
CREATE INDEX ON samples (other);
ANALYZE samples;
SQL

	my $columns = join ",\n",
	  map { "count(*) FILTER (WHERE " . of_type($pair_checks{$_}, $type) . ")" }
	  sort keys %pair_checks;
	my @counts = split /\|/,
	  $node->safe_psql($db, "SELECT $columns FROM samples x JOIN samples y ON y.id = x.other");
	my @wrong = grep { shift @counts } sort keys %pair_checks;
	is("@wrong", '', "$name: comparisons give the same results as with text");

	$columns = join ",\n",
	  map { "count(*) FILTER (WHERE " . of_type($single_checks{$_}, $type) . ")" }
	  sort keys %single_checks;
	@counts = split /\|/, $node->safe_psql($db, "SELECT $columns FROM samples");
	@wrong = grep { shift @counts } sort keys %single_checks;
	is("@wrong", '', "$name: output, casts, hash values and sizes are as with text");

	is($node->safe_psql($db, <<'SQL'), '0|0|0', "$name: sorts give the same order as with text");
SELECT count(*) FILTER (WHERE by_c <> by_s), count(*) FILTER (WHERE by_c_desc <> by_s_desc),
       count(*) FILTER (WHERE rank_c <> rank_s)
FROM (SELECT row_number() OVER (ORDER BY c, id) AS by_c, row_number() OVER (ORDER BY s, id) AS by_s,
             row_number() OVER (ORDER BY c DESC, id) AS by_c_desc,
             row_number() OVER (ORDER BY s DESC, id) AS by_s_desc,
             rank() OVER (ORDER BY c) AS rank_c, rank() OVER (ORDER BY s) AS rank_s
      FROM samples) x
SQL
	is( $node->safe_psql($db,
			<<'SQL'), 't|t|t|t', "$name: grouping and joins give the same results as with text");
CREATE TEMP TABLE few AS SELECT * FROM samples WHERE id <= 1000;
ANALYZE few;
SELECT (SELECT count(DISTINCT c) FROM samples) = (SELECT count(DISTINCT s) FROM samples),
       (SELECT count(*) FROM (SELECT c FROM samples GROUP BY c) x) = (SELECT count(*) FROM (SELECT s FROM samples GROUP BY s) x),
       (SELECT count(*) FROM few x JOIN few y ON x.c = y.c) = (SELECT count(*) FROM few x JOIN few y ON x.s = y.s),
       (SELECT count(*) FROM few x JOIN few y ON x.c = y.s) = (SELECT count(*) FROM few x JOIN few y ON x.s = y.s)
SQL

	# Search each of 300 values by each kind of index, with values of each string type.
	$node->safe_psql($db,
		'CREATE INDEX samples_c ON samples (c); CREATE INDEX samples_hash ON samples USING hash (c)'
	);
	is( $node->safe_psql($db,
			<<'SQL'), '0|0|0|0', "$name: an index finds the rows that a scan finds");
SET enable_seqscan = off;
SELECT count(*) FILTER (WHERE (SELECT count(*) FROM samples y WHERE y.c = x.s) <> n),
       count(*) FILTER (WHERE (SELECT count(*) FROM samples y WHERE y.c = x.c) <> n),
       count(*) FILTER (WHERE (SELECT count(*) FROM samples y WHERE x.s::varchar = y.c) <> n),
       count(*) FILTER (WHERE (SELECT count(*) FROM samples y WHERE y.c < x.s) <> before)
FROM (SELECT s, c, count(*) AS n, (sum(count(*)) OVER (ORDER BY s)) - count(*) AS before
      FROM samples GROUP BY s, c ORDER BY min(id) LIMIT 300) x
SQL

	# Search values and prefixes by an SP-GiST index.  An index-only scan returns the values.
	is( $node->safe_psql($db,
			<<'SQL'), '0|0|0|0|0|0|t|', "$name: an SP-GiST index finds the rows that a scan finds");
DROP INDEX samples_c, samples_hash;
CREATE INDEX samples_spgist ON samples USING spgist (c);
CREATE OR REPLACE FUNCTION like_quote(text) RETURNS text LANGUAGE sql RETURN regexp_replace($1, '([\\%_])', '\\\1', 'g');
CREATE OR REPLACE FUNCTION conditions() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT format(f, like_quote(left(s, 1 + id % 6)), like_quote(right(s, 1)), like_quote(s), left(s, 1 + id % 6))
  FROM samples, unnest(ARRAY['LIKE ''%1$s%%''', 'LIKE ''%1$s%%%2$s''', 'LIKE ''%3$s''', '^@ ''%4$s''']) f
  WHERE id <= 20 AND s !~ '''' AND s <> ''
  UNION ALL SELECT format('~ %L', '^' || s) FROM samples WHERE id <= 400 AND s ~ '^[a-z0-9]{2,}$'
$$;
-- Return the conditions that find other rows by the index than a scan of the texts finds, or that do
-- not use the index.
CREATE OR REPLACE FUNCTION wrong_conditions(OUT wrong text) LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  condition text;
  plan text;
  line text;
  found text;
  expected text;
BEGIN
  FOR condition IN SELECT conditions() LOOP
    plan := '';
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT FROM samples WHERE c ' || condition LOOP
      plan := plan || line;
    END LOOP;
    EXECUTE 'SELECT count(*) || '':'' || coalesce(sum(id), 0) FROM samples WHERE c ' || condition INTO found;
    EXECUTE 'SELECT count(*) || '':'' || coalesce(sum(id), 0) FROM samples WHERE s ' || condition INTO expected;
    IF found <> expected OR plan !~ 'samples_spgist.*Index Cond: \(c (\^@|=) ' THEN
      wrong := concat_ws(E'\n', wrong, format('%s: %s, not %s, %s', condition, found, expected, plan));
    END IF;
  END LOOP;
END $$;
SET enable_seqscan = off;
SELECT count(*) FILTER (WHERE (SELECT count(*) FROM samples y WHERE y.c = x.s) <> n),
       count(*) FILTER (WHERE (SELECT count(*) FROM samples y WHERE y.c = x.c) <> n),
       count(*) FILTER (WHERE (SELECT count(*) FROM samples y WHERE y.c < x.s) <> before),
       count(*) FILTER (WHERE (SELECT count(*) FROM samples y WHERE y.c <= x.c) <> before + n),
       count(*) FILTER (WHERE (SELECT count(*) FROM samples y WHERE x.c < y.c) <> total - before - n),
       count(*) FILTER (WHERE (SELECT count(*) FROM samples y WHERE y.c >= x.s) <> total - before),
       (SELECT array_agg(y.c::text ORDER BY y.c::text COLLATE "C") FROM (SELECT c FROM samples WHERE c >= '') y)
       = (SELECT array_agg(s ORDER BY s COLLATE "C") FROM samples),
       wrong_conditions()
FROM (SELECT s, c, count(*) AS n, (sum(count(*)) OVER (ORDER BY s)) - count(*) AS before,
             (SELECT count(*) FROM samples) AS total
      FROM samples GROUP BY s, c ORDER BY min(id) LIMIT 100) x
SQL
	return;
}

fuzz_database('utf8_c', q{ENCODING 'UTF8' LOCALE 'C'}, 'UTF8', 'UTF-8', $letters{'utf8'});
fuzz_database('latin1_c', q{ENCODING 'LATIN1' LOCALE 'C'},
	'LATIN1', 'iso-8859-1', $letters{'latin1'});
fuzz_database('euc_jp_c', q{ENCODING 'EUC_JP' LOCALE 'C'}, 'EUC_JP', 'euc-jp', $letters{'euc-jp'});
fuzz_database('win866_c', q{ENCODING 'WIN866' LOCALE 'C'}, 'WIN866', 'cp866', $letters{'cp866'});

# The server is always built with ICU.  The test also needs a UTF-8 locale of the C library.
my ($libc) = `locale -a` =~ /^(C\.utf-?8|en_US\.utf-?8)$/im;
fuzz_database('utf8_libc', "ENCODING 'UTF8' LOCALE '$libc'", 'UTF8', 'UTF-8', $letters{'utf8'});
fuzz_database('utf8_icu', q{ENCODING 'UTF8' LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'en'},
	'UTF8', 'UTF-8', $letters{'utf8'});

$node->stop;
done_testing();
