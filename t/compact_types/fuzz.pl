# Differential fuzzing of fixed-length strings: compact_charN must give the same results as char(N).
# The strings are random and fit into N bytes.  The databases have every kind of collation, and a
# single-byte or a multibyte encoding.  The test compares operators with every string type on either
# side, order, hash values, output, casts, binary format, uniqueness and index scans.
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

my $node = PostgreSQL::Test::Cluster->new('fuzz');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\n");
$node->start;

my @common =
  ('a' .. 'e', 'A' .. 'C', '0' .. '2', ' ', ' ', '-', '_', '%', '\\', '.', "\t", "\x01", '~');
my @latin1 = map { chr } (0xe4, 0xf6, 0xfc, 0xc4, 0xdf, 0xe9, 0xe8, 0xa0, 0xff);
my @utf8 = (@latin1, map { chr } (0x20ac, 0x3042, 0x65e5, 0x0301, 0x2009, 0x1f600, 0x10ffff));

# Return a string of at most $n bytes in the encoding, apart from trailing blanks.  One string in
# three begins like the string before it, so that both have a common prefix.
my $last = '';

sub random_string
{
	my ($n, $encoding, @alphabet) = @_;
	my $s = rand() < 0.33 ? substr($last, 0, int(rand(length($last) + 1))) : '';
	my $more = int(rand(rand() < 0.5 ? 4 : $n + 1));

	$s .= $alphabet[ int(rand(@alphabet)) ] for 1 .. $more;
	chop $s while length(encode($encoding, $s =~ s/ +$//r)) > $n;
	$last = $s;
	$s .= ' ' x int(rand(3)) if rand() < 0.2;
	return $s;
}

sub copy_escape
{
	my ($s) = @_;
	$s =~ s/\\/\\\\/g;
	$s =~ s/\t/\\t/g;
	return $s;
}

# These expressions compare a pair of samples x and y, where c is compact_charN, b is char(N) and t
# is the text of b.  Each expression is true if compact_charN gives another result.
my @operators = ('=', '<>', '<', '<=', '>', '>=');
my @pattern_operators = ('LIKE', 'NOT LIKE', 'ILIKE', 'NOT ILIKE', '~', '!~', '~*', '!~*', '^@');
my %pair_checks;
for my $op (@operators)
{
	$pair_checks{"compact $op compact"} = "(x.c $op y.c) <> (x.b $op y.b)";
	$pair_checks{"compact $op bpchar"} = "(x.c $op y.b) <> (x.b $op y.b)";
	$pair_checks{"bpchar $op compact"} = "(x.b $op y.c) <> (x.b $op y.b)";
	$pair_checks{"compact $op text"} = "(x.c $op y.s) <> (x.t $op y.s)";
	$pair_checks{"text $op compact"} = "(x.s $op y.c) <> (x.s $op y.t)";
	$pair_checks{"compact $op varchar"} = "(x.c $op y.s::varchar) <> (x.t $op y.s)";
	$pair_checks{"varchar $op compact"} = "(x.s::varchar $op y.c) <> (x.s $op y.t)";
	$pair_checks{"text $op bpchar of the family"} =
	  "(x.s OPERATOR(compact_types.#$op#) y.b) <> (x.s $op y.t)";
	$pair_checks{"bpchar $op text of the family"} =
	  "(x.b OPERATOR(compact_types.#$op#) y.s) <> (x.t $op y.s)";
}
my %single_checks = (
	'output' => q{format('%s', c) <> format('%s', b)},
	'cast to text' => q{c::text <> t COLLATE "C"},
	'cast to varchar' => q{c::varchar::text <> t COLLATE "C"},
	'cast to bpchar' => q{format('%s', c::bpchar) <> format('%s', b)},
	'cast from text' => q{s::compact_charN <> c},
	'cast from bpchar' => q{b::compact_charN <> c},
	'input of output' => q{format('%s', c)::cstring::text::compact_charN <> c},
	'binary output' => q{compact_types.compact_charN_send(c) <> bpcharsend(b)},
	'hash of bpchar' => q{compact_types.compact_charN_hash(c) <> hashbpchar(b)},
	'hash of text' => q{compact_types.compact_charN_hash(c) <> hashtext(t)},
	'extended hash' =>
	  q{compact_types.compact_charN_hash_extended(c, id) <> hashbpcharextended(b, id)},
	'length' => q{length(c) <> length(b)},
	'stored size' => q{pg_column_size(c) <> N},);

# Make patterns from a sample: LIKE patterns and regular expressions that match the sample, or
# almost match it.  The patterns have a fixed prefix of any length.
my $pattern_functions = <<'SQL';
CREATE FUNCTION like_quote(text) RETURNS text LANGUAGE sql IMMUTABLE
  AS $$SELECT regexp_replace($1, '([\\%_])', '\\\1', 'g')$$;
CREATE FUNCTION regex_quote(text) RETURNS text LANGUAGE sql IMMUTABLE
  AS $$SELECT regexp_replace($1, '([].\\?*+(){}|^$[])', '\\\1', 'g')$$;
CREATE FUNCTION patterns_of(t text, n int) RETURNS TABLE (operator text, pattern text) LANGUAGE sql IMMUTABLE AS $$
  SELECT o, p FROM unnest(ARRAY['LIKE', 'NOT LIKE', 'ILIKE', 'NOT ILIKE']) o,
    unnest(ARRAY[like_quote(t), like_quote(left(t, n)) || '%', rtrim(left(t, n), '\') || '%',
                 like_quote(left(t, n)) || '_' || like_quote(substr(t, n + 2)), '%' || like_quote(substr(t, n)),
                 like_quote(left(t, n)) || '%' || like_quote(right(t, 1)), like_quote(t) || ' ']) p
  UNION ALL
  SELECT o, p FROM unnest(ARRAY['~', '!~', '~*', '!~*']) o,
    unnest(ARRAY['^' || regex_quote(t) || '$', '^' || regex_quote(left(t, n)), '^' || regex_quote(left(t, n)) || '.*' || regex_quote(right(t, 1)),
                 regex_quote(substr(t, n)), '^(' || regex_quote(left(t, n)) || '|' || regex_quote(right(t, 2)) || ')']) p
  UNION ALL
  SELECT '^@', p FROM unnest(ARRAY[t, left(t, n), left(t, n) || ' ']) p
$$;
-- Check that an index scan finds the same of the first 2000 values as a scan of the texts.
CREATE FUNCTION check_patterns(samples regclass, rounds int, OUT wrong text, OUT indexed int, OUT prefixes int) LANGUAGE plpgsql
  SET enable_seqscan = off SET jit = off AS $$
DECLARE
  operator text;
  pattern text;
  query CONSTANT text := 'SELECT count(*) || '':'' || coalesce(sum(id), 0) FROM %s WHERE id <= 2000 AND %I %s %L';
  found text;
  expected text;
  line text;
BEGIN
  indexed := 0;
  prefixes := 0;
  FOR operator, pattern IN
    EXECUTE format('SELECT operator, pattern FROM %s, patterns_of(t, id %% 7) WHERE id <= %s', samples, rounds)
  LOOP
    EXECUTE format(query, samples, 'c', operator, pattern) INTO found;
    EXECUTE format(query, samples, 't', operator, pattern) INTO expected;
    IF found <> expected THEN
      wrong := concat_ws(', ', wrong, format('%s %L: %s, not %s', operator, pattern, found, expected));
    END IF;
    CONTINUE WHEN operator <> 'LIKE' OR pattern !~ '^[[:alnum:]]';
    prefixes := prefixes + 1;
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || format(query, samples, 'c', operator, pattern) LOOP
      IF line ~ 'Index Cond: .*\mc (>=|=) ' THEN
        indexed := indexed + 1;
        EXIT;
      END IF;
    END LOOP;
  END LOOP;
END $$;
SQL

my $all_prefixes = 0;

sub fuzz_database
{
	my ($db, $create, $encoding, $alphabet, @lengths) = @_;

	# Forget the last string of the previous database, because it may not be valid in this encoding.
	$last = '';
	$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE template0 $create");
	$node->safe_psql($db, $pattern_functions);
	for my $n (@lengths)
	{
		my $type = "compact_char$n";
		my $file = File::Spec->rel2abs($node->basedir . "/$db-$n.txt");

		open my $out, '>:raw', $file or die "could not open $file: $!";
		for my $id (1 .. $cases)
		{
			my $s = random_string($n, $encoding, @$alphabet);
			print $out $id, "\t", encode($encoding, copy_escape($s)), "\n";
		}
		close $out;

		my $server_encoding = $encoding eq 'iso-8859-1' ? 'LATIN1' : 'UTF8';
		$node->safe_psql($db, <<"SQL");
CREATE EXTENSION $type CASCADE;
CREATE TABLE input_$n (id int, s text);
COPY input_$n FROM '$file' (ENCODING '$server_encoding');
CREATE TABLE samples_$n AS
  SELECT id, s, s::$type AS c, s::char($n) AS b, s::char($n)::text AS t,
         id * 7919 % $cases + 1 AS other FROM input_$n;
CREATE INDEX ON samples_$n (other);
ANALYZE samples_$n;
SQL

		my $columns = join ",\n", map { "count(*) FILTER (WHERE $pair_checks{$_})" }
		  sort keys %pair_checks;
		my @counts = split /\|/, $node->safe_psql($db, <<"SQL");
SELECT $columns FROM samples_$n x JOIN samples_$n y ON y.id = x.other
SQL
		my @wrong = grep { shift @counts } sort keys %pair_checks;
		is("@wrong", '', "$db: $type compares as char($n) does");

		$columns = join ",\n", map { "count(*) FILTER (WHERE $single_checks{$_})" }
		  sort keys %single_checks;
		$columns =~ s/charN/char$n/g;
		$columns =~ s/\bN\b/$n/g;
		@counts = split /\|/, $node->safe_psql($db, "SELECT $columns FROM samples_$n");
		@wrong = grep { shift @counts } sort keys %single_checks;
		is("@wrong", '', "$db: $type is written, cast and hashed as char($n) is");

		# Compare the order, by a sort with and without abbreviated keys, and by the index.
		is($node->safe_psql($db, <<"SQL"), '0|0|0', "$db: $type sorts as char($n) does");
SELECT count(*) FILTER (WHERE by_c <> by_b), count(*) FILTER (WHERE by_c_desc <> by_b_desc),
       count(*) FILTER (WHERE rank_c <> rank_b)
FROM (SELECT row_number() OVER (ORDER BY c, id) AS by_c, row_number() OVER (ORDER BY b, id) AS by_b,
             row_number() OVER (ORDER BY c DESC, id) AS by_c_desc,
             row_number() OVER (ORDER BY b DESC, id) AS by_b_desc,
             rank() OVER (ORDER BY c) AS rank_c, rank() OVER (ORDER BY b) AS rank_b
      FROM samples_$n) s
SQL
		# Join the first 1000 rows only, because many short strings are equal.
		is( $node->safe_psql($db,
				<<"SQL"), 't|t|t', "$db: $type is grouped and joined as char($n) is");
CREATE TEMP TABLE few AS SELECT * FROM samples_$n WHERE id <= 1000;
SELECT (SELECT count(DISTINCT c) = count(DISTINCT b) FROM samples_$n),
       (SELECT count(*) FROM few x JOIN few y ON x.c = y.c)
       = (SELECT count(*) FROM few x JOIN few y ON x.b = y.b),
       (SELECT count(*) FROM few x FULL JOIN few y ON x.c = y.s)
       = (SELECT count(*) FROM few x FULL JOIN few y ON x.t = y.s)
SQL
		is( $node->safe_psql($db,
				<<"SQL"), '0|0|0|t', "$db: an index on $type finds what a scan finds");
CREATE EXTENSION IF NOT EXISTS amcheck;
CREATE INDEX samples_${n}_c ON samples_$n (c);
SELECT FROM bt_index_check('samples_${n}_c', true);
SET enable_seqscan = off;
SET enable_sort = off;
SELECT count(*) FILTER (WHERE (SELECT count(*) FROM samples_$n y WHERE y.c = x.c) <> x.n),
       count(*) FILTER (WHERE (SELECT count(*) FROM samples_$n y WHERE y.c = x.t) <> x.n),
       count(*) FILTER (WHERE (SELECT count(*) FROM samples_$n y WHERE x.b = y.c) <> x.n),
       (SELECT array_agg(c::text) FROM (SELECT c FROM samples_$n ORDER BY c) s)
       = (SELECT array_agg(b::text) FROM (SELECT b FROM samples_$n ORDER BY b) s)
FROM (SELECT c, b, t, count(*) AS n FROM samples_$n GROUP BY c, b, t ORDER BY min(id) LIMIT 500) x
SQL

		# Match patterns against every other sample.  Then match constant patterns with an index,
		# first with the collation of the database, and then with C.
		$columns = join ",\n", map {
			"count(*) FILTER (WHERE operator = '$_' AND (y.c $_ pattern) IS DISTINCT FROM (y.t $_ pattern))"
		} @pattern_operators;
		@counts = split /\|/, $node->safe_psql($db, <<"SQL");
SELECT $columns FROM samples_$n x CROSS JOIN patterns_of(x.t, x.id % 7)
JOIN samples_$n y ON y.id IN (x.id, x.other) WHERE x.id <= 500
SQL
		@wrong = grep { shift @counts } @pattern_operators;
		is("@wrong", '', "$db: $type matches patterns as text does");
		my ($mismatches, $indexed, $prefixes) = split /\|/, $node->safe_psql($db, <<"SQL");
CREATE TEMP TABLE by_default AS SELECT * FROM check_patterns('samples_$n', 5);
DROP INDEX samples_${n}_c;
CREATE INDEX ON samples_$n (c COLLATE "C");
SELECT concat_ws(', ', d.wrong, c.wrong), c.indexed, c.prefixes FROM by_default d, check_patterns('samples_$n', 10) c
SQL
		is($mismatches, '', "$db: an index on $type finds the rows that match a pattern");
		is($indexed, $prefixes, "$db: the index on $type serves a fixed prefix");
		$all_prefixes += $prefixes;

		# The table is sorted, so the index excludes most block ranges.
		is( $node->safe_psql($db,
				<<"SQL"), '0|0|0|0|t|t', "$db: BRIN, min and max of $type find what a scan finds");
CREATE TABLE ordered_$n AS SELECT id, c, b, t FROM samples_$n WHERE id <= 2000 ORDER BY c;
CREATE INDEX ON ordered_$n USING brin (c) WITH (pages_per_range = 1);
SET enable_seqscan = off;
SELECT count(*) FILTER (WHERE (SELECT count(*) FROM ordered_$n y WHERE y.c = x.c) <> eq),
       count(*) FILTER (WHERE (SELECT count(*) FROM ordered_$n y WHERE y.c <= x.t) <> le),
       count(*) FILTER (WHERE (SELECT count(*) FROM ordered_$n y WHERE x.b < y.c) <> gt),
       count(*) FILTER (WHERE (SELECT count(*) FROM ordered_$n y WHERE y.c >= x.t::varchar) <> ge),
       (SELECT (min(c)::text, max(c)::text) = (min(b)::text, max(b)::text) FROM samples_$n),
       (SELECT (min(c)::text, max(c)::text) = (min(b)::text, max(b)::text) FROM samples_$n WHERE id % 3 = 0)
FROM (SELECT x.c, x.b, x.t, count(*) FILTER (WHERE y.b = x.b) AS eq, count(*) FILTER (WHERE y.b <= x.b) AS le,
             count(*) FILTER (WHERE y.b > x.b) AS gt, count(*) FILTER (WHERE y.b >= x.b) AS ge
      FROM (SELECT DISTINCT c, b, t FROM ordered_$n WHERE id <= 200) x CROSS JOIN ordered_$n y GROUP BY x.c, x.b, x.t) x
SQL
	}
}

my @lengths = (1, 3, 8, 9, 24, 64);
fuzz_database('utf8_c', q{ENCODING 'UTF8' LOCALE 'C'}, 'UTF-8', [ @common, @utf8 ], @lengths);
fuzz_database(
	'latin1_c', q{ENCODING 'LATIN1' LOCALE 'C'},
	'iso-8859-1', [ @common, @latin1 ],
	8, 24);

my $locales = `locale -a` // '';
SKIP:
{
	skip 'no UTF-8 locale of the C library', 18 unless $locales =~ /^(C\.utf-?8|en_US\.utf-?8)$/im;
	fuzz_database('utf8_libc', "ENCODING 'UTF8' LOCALE '$1'", 'UTF-8', [ @common, @utf8 ], 8, 24);
}
SKIP:
{
	skip 'the server is built without ICU', 46
	  if $node->safe_psql('postgres', q{SELECT count(*) FROM pg_collation WHERE collprovider = 'i'})
	  == 0;
	fuzz_database(
		'utf8_icu', q{ENCODING 'UTF8' LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'en'},
		'UTF-8',
		[ @common, @utf8 ],
		@lengths[ 1 .. 4 ]);

	# The histogram is so coarse that the planner has to estimate the range of strings with a
	# prefix.  In collation C, all strings that begin with '9' are less than ':', the next
	# character.  In this ICU collation, ':' is not such an upper bound.
	is( $node->safe_psql('utf8_icu',
			<<'SQL'), 't', 'the estimate for a prefix is close to the one for text');
CREATE TABLE estimated (c compact_char24, t text);
ALTER TABLE estimated ALTER c SET STATISTICS 40, ALTER t SET STATISTICS 40;
INSERT INTO estimated SELECT v, v FROM (SELECT 'v ' || i * 7919 % 10007 AS v FROM generate_series(1, 10000) i) s;
ANALYZE estimated;
CREATE FUNCTION estimate(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
  RETURN (plan -> 0 -> 'Plan' ->> 'Plan Rows')::float8;
END $$;
SELECT estimate($$SELECT 1 FROM estimated WHERE c LIKE 'v 9%'$$) / estimate($$SELECT 1 FROM estimated WHERE t LIKE 'v 9%'$$) BETWEEN 0.8 AND 1.25
SQL

	# A nondeterministic collation is refused wherever it would change a result.
	$node->safe_psql('utf8_icu', <<'SQL');
CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE nondeterministic (c compact_char24 COLLATE folded);
INSERT INTO nondeterministic VALUES ('a'), ('A'), (NULL);
SQL
	$node->safe_psql('utf8_icu', 'ANALYZE nondeterministic');
	is( $node->safe_psql(
			'utf8_icu', q{SELECT count(*) FROM pg_stats WHERE tablename = 'nondeterministic'}),
		'0',
		'ANALYZE skips a column that cannot be compared');
	for my $query (
		q{SELECT * FROM nondeterministic WHERE c = 'a'},
		q{SELECT * FROM nondeterministic WHERE c < 'b'::text},
		q{SELECT * FROM nondeterministic WHERE 'b'::char(3) = c},
		q{SELECT c FROM nondeterministic ORDER BY c},
		q{SELECT DISTINCT c FROM nondeterministic},
		q{CREATE INDEX ON nondeterministic (c)},
		q{CREATE INDEX ON nondeterministic USING hash (c)})
	{
		my ($ret, $stdout, $stderr) = $node->psql('utf8_icu', "\\set VERBOSITY verbose\n$query");
		like(
			$stderr,
			qr/ERROR:  0A000: nondeterministic collations are not supported for type (public\.)?compact_char24\nHINT/,
			"a nondeterministic collation is refused: $query");
	}
	is( $node->safe_psql('utf8_icu', 'SELECT count(*) FROM nondeterministic WHERE c::text = \'a\''),
		'2',
		'after a cast to text, a nondeterministic collation works');
}

cmp_ok($all_prefixes, '>', 50, 'more than 50 patterns had a fixed prefix');

$node->stop;
done_testing();
