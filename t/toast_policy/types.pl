# Differential fuzzing of ztext and zbytea against text and bytea, with every codec, every kind of
# collation, and three encodings.  No result may differ: operators of all pairs, order, hash values,
# output, casts, binary format, substrings, grouping, joins, index scans.  No stored value may be
# larger than the raw value.
#
# First check that expressions on stock types mean the same with ztext and zbytea as without.  Also
# check how pg_dump writes columns of these types.
#
# PGDENSE_FUZZ_CASES is the number of pairs in each database (default 2000).  PGDENSE_FUZZ_SEED is
# the random seed.  The test prints it.  With PGDENSE_SOAK, the test also tries values of nearly 1
# GB.
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

my $node = PostgreSQL::Test::Cluster->new('types');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\n");
$node->start;

# With and without ztext and zbytea, expressions on stock types must resolve to the same operators
# and functions, or fail with the same message.
my @types =
  qw(text varchar bpchar name "char" bytea int4 json jsonb regclass xml text[] varchar[] tsvector inet d_text d_varchar);
my @expressions;
for my $left (@types, 'unknown')
{
	my $x = $left eq 'unknown' ? "'x'" : "(NULL::core).\"$left\"";
	$x =~ s/""/"/g;
	for my $right (@types, 'unknown')
	{
		my $y = $right eq 'unknown' ? "'y'" : "(NULL::core).\"$right\"";
		$y =~ s/""/"/g;
		push @expressions, map { "$x $_ $y" } '=', '<>', '<', '>=', '||', '~~';
		push @expressions, "coalesce($x, $y)", "ARRAY[$x, $y]", "substring($x, $y)",
		  "substr($x, $y)";
	}
	push @expressions, "$x IN ('a', 'b')",
	  map { "$_($x)" } qw(length octet_length min max upper md5 substr);
	push @expressions, "substr($x, 1)", "substr($x, 1, 2)", "substring($x FROM 1 FOR 2)",
	  "substring($x, 'a', 'b')", "length($x, 'utf8')";
}

# The casts of the arguments in the plan show which function was chosen.
sub resolutions
{
	my $sql = join '', map {
		my $quoted = s/'/''/gr;
		"SELECT resolve('$quoted');\n"
	} @expressions;
	return $node->safe_psql('resolution', $sql);
}
$node->safe_psql('postgres', 'CREATE DATABASE resolution');
$node->safe_psql('resolution',
		'CREATE DOMAIN d_text AS text; CREATE DOMAIN d_varchar AS varchar(10); CREATE TABLE core ('
	  . join(', ', map { my $name = $_; $name =~ s/"//g; "\"$name\" $_" } @types)
	  . ')');
$node->safe_psql('resolution', <<'SQL');
CREATE FUNCTION resolve(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  plan text;
BEGIN
  EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) SELECT ' || replace(expression, '(NULL::core)', 'core') || ' FROM core' INTO plan;
  RETURN (plan::json -> 0 -> 'Plan' -> 'Output')::text;
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SQL
my $before = resolutions();
$node->safe_psql('resolution', 'CREATE EXTENSION toast_policy');
my $after = resolutions();
my @before = split /\n/, $before;
my @after = split /\n/, $after;
my @changed = grep { $before[$_] ne $after[$_] } 0 .. $#before;
is(scalar(@after), scalar(@expressions),
	scalar(@expressions) . ' expressions of core types are resolved');
is(join('', map { "$expressions[$_]: $before[$_] -> $after[$_]\n" } @changed),
	'', 'no expression of core types changes');
cmp_ok(scalar(grep { !/^[0-9A-Z]{5} / } @before), '>', 500, 'most of the expressions are valid');

# pg_dump writes the type with its codec, and the values as text.
$node->safe_psql('postgres', 'CREATE DATABASE dumped');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->safe_psql('dumped', <<'SQL');
CREATE SCHEMA ext;
CREATE EXTENSION toast_policy SCHEMA ext;
CREATE TABLE docs (id int PRIMARY KEY, z ext.ztext(snappy) DEFAULT 'none'::text, y ext.zbytea(lz4), u ext.ztext UNIQUE, CHECK (ext.ztext 'a' < u));
CREATE INDEX ON docs USING hash (z);
INSERT INTO docs SELECT i, repeat('doc ' || i, i), decode(repeat('0042', i), 'hex'), 'u' || i FROM generate_series(1, 300) i;
CREATE VIEW v AS SELECT id, length(z), substr(z, 1, 3) AS part, z = 'x' AS same, y || '\x00' AS cat FROM docs;
SQL
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '--file', $dump, '--dbname', $node->connstr('dumped') ], 'pg_dump');
like(slurp_file($dump), qr/z ext\.ztext\(snappy\)/, 'the dump has the codec');
$node->command_ok(
	[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '--file', $dump, $node->connstr('restored') ],
	'the dump is restored');
my $digest =
  q{SELECT md5(string_agg(d::text, '' ORDER BY id)), string_agg(DISTINCT toast_policy.codec(z) || toast_policy.codec(y), ','), (SELECT md5(string_agg(v::text, '' ORDER BY id)) FROM v) FROM docs d};
is( $node->safe_psql('restored', $digest),
	$node->safe_psql('dumped', $digest),
	'restored values and codecs are the same');

# Copy the rows through a file in binary format.
$node->safe_psql('restored', <<"SQL");
COPY docs TO '${\ $node->basedir}/docs.bin' (FORMAT binary);
TRUNCATE docs;
COPY docs FROM '${\ $node->basedir}/docs.bin' (FORMAT binary);
SQL
is( $node->safe_psql('restored', $digest),
	$node->safe_psql('dumped', $digest),
	'values and codecs are the same after COPY in binary format');

my @words =
  qw(the of and to in is that for with PostgreSQL library {"id": "value"} http://www.example.org/ address);
my @alnum = ('A' .. 'Z', 'a' .. 'z', '0' .. '9', ' ', '-');
my @any = map { chr } 1 .. 0x7e;
my %letters = (
	'latin1' => [ map { chr } 0xa1 .. 0xff ],
	'euc-jp' =>
	  [ map { chr } 0x3041 .. 0x3093, 0x30a1 .. 0x30f3, 0x65e5, 0x672c, 0x8a9e, 0x6771, 0x4eac ],
	'utf8' => [
		map { chr } 0xe4,
		0xf6, 0xfc, 0xdf, 0xe9, 0x20ac, 0x301, 0x3042 .. 0x3060,
		0x65e5, 0x410 .. 0x44f,
		0x1f600, 0x10fffd, 0xac00
	]);

sub pick { return $_[ int(rand(@_)) ]; }

sub some
{
	my ($n, @set) = @_;
	return join '', map { pick(@set) } 1 .. $n;
}

# One value in four begins like the value before it, so that both have a common prefix.
my $last = '';

sub random_string
{
	my (@foreign) = @_;
	my $kind = int(rand(8));
	my $n = int(rand(rand() < 0.4 ? 12 : rand() < 0.8 ? 150 : rand() < 0.9 ? 900 : 6000));
	my $s =
		$kind == 0 ? some($n, '0' .. '9', 'a' .. 'f')
	  : $kind == 1 ? join(' ', map { pick(@words) } 0 .. $n / 5)
	  : $kind == 2 ? some($n, @foreign)
	  : $kind == 3 ? some($n, @foreign, @alnum)
	  : $kind == 4 ? some($n, @any)
	  : $kind == 5 ? some(1 + int(rand(8)), @alnum, @foreign) x $n
	  : $kind == 6 ? some($n / 2, @alnum) . 'x' x ($n / 2)
	  :              some($n, 'a' .. 'c', ' ');

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

# These expressions compare a pair of samples u and v, where z is a ztext, s is its text, y is a
# zbytea, and b is its bytea.  Each expression is true if a result differs.
my %pair_checks;
for my $op ('=', '<>', '<', '<=', '>', '>=')
{
	$pair_checks{"ztext $op ztext"} = "(u.z $op v.z) <> (u.s $op v.s)";
	$pair_checks{"ztext $op text"} = "(u.z $op v.s) <> (u.s $op v.s)";
	$pair_checks{"text $op ztext"} = "(u.s $op v.z) <> (u.s $op v.s)";
	$pair_checks{"ztext $op varchar"} = "(u.z $op v.s::varchar) <> (u.s $op v.s)";
	$pair_checks{"bpchar $op ztext"} = "(u.s::bpchar $op v.z) <> (u.s::bpchar $op v.s)";
	$pair_checks{"ztext $op name"} = "(u.z $op v.n) <> (u.s $op v.n)";
	$pair_checks{"name $op ztext"} = "(u.n $op v.z) <> (u.n $op v.s)";
	$pair_checks{"zbytea $op zbytea"} = "(u.y $op v.y) <> (u.b $op v.b)";
	$pair_checks{"zbytea $op bytea"} = "(u.y $op v.b) <> (u.b $op v.b)";
	$pair_checks{"bytea $op zbytea"} = "(u.b $op v.y) <> (u.b $op v.b)";
}
$pair_checks{'concatenation'} =
  'u.z || v.z <> u.s || v.s OR u.z || v.s <> u.s || v.s OR u.y || v.y <> u.b || v.b OR u.y || v.b <> u.b || v.b';
$pair_checks{'LIKE'} = "(u.z LIKE left(v.p, 3) || '%') <> (u.s LIKE left(v.p, 3) || '%')";
my %single_checks = (
	'equal to itself' =>
	  'NOT z = s OR NOT s = z OR NOT z = z OR NOT z = w OR w <> z OR NOT y = b OR NOT b = y OR NOT y = y',
	'order of itself' =>
	  'toast_policy.ztext_cmp(z, w) <> 0 OR toast_policy.ztext_text_cmp(w, s) <> 0 OR toast_policy.text_ztext_cmp(s, z) <> 0',
	'output' => q{format('%s', z) <> s COLLATE "C" OR format('%s', y) <> b::text COLLATE "C"},
	'cast from the type' =>
	  q{z::text <> s COLLATE "C" OR z::varchar <> s COLLATE "C" OR y::bytea <> b},
	'cast to the type' =>
	  's::ztext <> z OR s::varchar::ztext <> z OR s::bpchar::ztext <> s::bpchar::text OR b::zbytea <> b',
	'input of output' =>
	  q{format('%s', z)::cstring::text::ztext <> z OR format('%s', y)::zbytea <> y},
	'other codecs' =>
	  'z::ztext(none) <> s OR z::ztext(lz4) <> s OR z::ztext(snappy) <> s OR z::ztext(zstd) <> s OR y::zbytea(snappy) <> b OR y::zbytea(none) <> b',
	'binary output' =>
	  'toast_policy.ztext_send(z) <> textsend(s) OR toast_policy.zbytea_send(y) <> b',
	'hash' =>
	  'toast_policy.ztext_hash(z) <> hashtext(s) OR toast_policy.ztext_hash(w) <> hashtext(s) OR toast_policy.zbytea_hash(y) <> hashtext(s) OR toast_policy.bytea_hash(b) <> hashtext(s)',
	'extended hash' =>
	  'toast_policy.ztext_hash_extended(z, id) <> hashtextextended(s, id) OR toast_policy.zbytea_hash_extended(y, id) <> hashtextextended(s, id) OR toast_policy.bytea_hash_extended(b, id) <> hashtextextended(s, id)',
	'length' =>
	  'length(z) <> length(s) OR octet_length(z) <> octet_length(s) OR length(y) <> length(b) OR octet_length(y) <> octet_length(b)',
	'part' =>
	  'substr(z, k, l) <> substr(s, k, l) OR substring(z FROM k) <> substring(s FROM k) OR substr(y, k, l) <> substr(b, k, l) OR substring(y FROM k) <> substring(b FROM k)',
	'first bytes' =>
	  'substr(z, 1, 10) <> substr(s, 1, 10) OR substring(y FROM 1 FOR 10) <> substring(b FROM 1 FOR 10)',
	'text functions' =>
	  'upper(z) <> upper(s) OR md5(z) <> md5(s) OR reverse(z) <> reverse(s) OR left(z, -3) <> left(s, -3)',
	'size' =>
	  'pg_column_size(z::text::ztext(lz4)) > octet_length(s) + 5 OR pg_column_size(y::bytea::zbytea(zstd)) > octet_length(b) + 5',
);

sub fuzz_database
{
	my ($db, $create, $server_encoding, $encoding, $foreign) = @_;
	my $file = File::Spec->rel2abs($node->basedir . "/$db.txt");
	$last = '';

	$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE template0 $create");
	open my $out, '>:raw', $file or die "could not open $file: $!";
	for my $id (1 .. $cases)
	{
		print $out join("\t",
			$id,
			int(rand(4)),
			int(rand(4)),
			int(rand(rand() < 0.5 ? 20 : 3000)) - 5,
			int(rand(rand() < 0.5 ? 20 : 3000)),
			encode($encoding, copy_escape(random_string(@$foreign)), Encode::FB_CROAK)),
		  "\n";
	}
	close $out;

	$node->safe_psql($db, <<"SQL");
CREATE EXTENSION toast_policy;
CREATE TABLE input (id int, codec int, codec2 int, k int, l int, s text);
COPY input FROM '$file' (ENCODING '$server_encoding');
CREATE TABLE samples (id int, k int, l int, s text, z ztext, w ztext, y zbytea, b bytea, n name, p text, other int);
INSERT INTO samples
  SELECT id, k, l, s, toast_policy.text_ztext(s, codec, true), toast_policy.text_ztext(s, codec2, true), toast_policy.bytea_zbytea(b, codec2, true), b, left(s, 10),
    replace(replace(replace(s, '\\', ''), '%', ''), '_', ''), id::int8 * 7919 % $cases + 1
  FROM (SELECT *, convert_to(s, '$server_encoding') AS b FROM input) x;
CREATE INDEX ON samples (other);
ANALYZE samples;
SQL
	is( $node->safe_psql(
			$db,
			q{SELECT string_agg(DISTINCT toast_policy.codec(z), ',' ORDER BY toast_policy.codec(z)) FROM samples}
		),
		'lz4,none,snappy,zstd',
		"$db: the samples have every codec");

	my $columns = join ",\n",
	  map { "count(*) FILTER (WHERE $pair_checks{$_})" } sort keys %pair_checks;
	my @counts = split /\|/,
	  $node->safe_psql($db, "SELECT $columns FROM samples u JOIN samples v ON v.id = u.other");
	my @wrong = grep { shift @counts } sort keys %pair_checks;
	is("@wrong", '', "$db: comparisons are those of text and bytea");

	$columns = join ",\n",
	  map { "count(*) FILTER (WHERE $single_checks{$_})" } sort keys %single_checks;
	@counts = split /\|/, $node->safe_psql($db, "SELECT $columns FROM samples");
	@wrong = grep { shift @counts } sort keys %single_checks;
	is("@wrong", '',
		"$db: output, casts, hashes, storage and substrings are those of text and bytea");

	is($node->safe_psql($db, <<'SQL'), '0|0|0|0', "$db: the order is that of text and bytea");
SELECT count(*) FILTER (WHERE by_z <> by_s), count(*) FILTER (WHERE by_z_desc <> by_s_desc),
       count(*) FILTER (WHERE rank_z <> rank_s), count(*) FILTER (WHERE by_y <> by_b)
FROM (SELECT row_number() OVER (ORDER BY z, id) AS by_z, row_number() OVER (ORDER BY s, id) AS by_s,
             row_number() OVER (ORDER BY w DESC, id) AS by_z_desc, row_number() OVER (ORDER BY s DESC, id) AS by_s_desc,
             rank() OVER (ORDER BY z) AS rank_z, rank() OVER (ORDER BY s) AS rank_s,
             row_number() OVER (ORDER BY y, id) AS by_y, row_number() OVER (ORDER BY b, id) AS by_b
      FROM samples) x
SQL
	is( $node->safe_psql($db,
			<<'SQL'), 't|t|t|t|t|t', "$db: grouping and joins are those of text and bytea");
CREATE TEMP TABLE few AS SELECT * FROM samples WHERE id <= 1000;
ANALYZE few;
SELECT (SELECT count(DISTINCT z) FROM samples) = (SELECT count(DISTINCT s) FROM samples),
       (SELECT count(*) FROM (SELECT z FROM samples UNION SELECT w FROM samples) x) = (SELECT count(*) FROM (SELECT s FROM samples GROUP BY s) x),
       (SELECT count(*) FROM few u JOIN few v ON u.z = v.w) = (SELECT count(*) FROM few u JOIN few v ON u.s = v.s),
       (SELECT count(*) FROM few u JOIN few v ON u.z = v.s) = (SELECT count(*) FROM few u JOIN few v ON u.s = v.s),
       (SELECT count(*) FROM few u JOIN few v ON u.y = v.b) = (SELECT count(*) FROM few u JOIN few v ON u.b = v.b),
       (SELECT (min(z)::text, max(w)::text, min(y)::bytea::text) IS NOT DISTINCT FROM (min(s), max(s), (min(b::text::zbytea))::bytea::text) FROM samples)
SQL

	# Find every row by each kind of index, with constants of each type.
	$node->safe_psql($db, <<'SQL');
DELETE FROM samples WHERE octet_length(s) > 2000;
CREATE INDEX samples_z ON samples (z);
CREATE INDEX samples_hash ON samples USING hash (w);
CREATE INDEX samples_y ON samples (y);
SQL
	is( $node->safe_psql($db,
			<<'SQL'), '0|0|0|0|0|0', "$db: an index finds the rows that a scan finds");
SET enable_seqscan = off;
SELECT count(*) FILTER (WHERE (SELECT count(*) FROM samples v WHERE v.z = u.s) <> n),
       count(*) FILTER (WHERE (SELECT count(*) FROM samples v WHERE v.z = u.w) <> n),
       count(*) FILTER (WHERE (SELECT count(*) FROM samples v WHERE u.s::varchar = v.w) <> n),
       count(*) FILTER (WHERE (SELECT count(*) FROM samples v WHERE v.w = u.z) <> n),
       count(*) FILTER (WHERE (SELECT count(*) FROM samples v WHERE v.z < u.s) <> before),
       count(*) FILTER (WHERE (SELECT count(*) FROM samples v WHERE v.y = convert_to(u.s, getdatabaseencoding())) <> n)
FROM (SELECT s, min(z) AS z, max(w) AS w, count(*) AS n, (sum(count(*)) OVER (ORDER BY s)) - count(*) AS before
      FROM samples GROUP BY s ORDER BY min(id) LIMIT 300) u
SQL
	return;
}

fuzz_database('utf8_c', q{ENCODING 'UTF8' LOCALE 'C'}, 'UTF8', 'UTF-8', $letters{'utf8'});
fuzz_database('latin1_c', q{ENCODING 'LATIN1' LOCALE 'C'},
	'LATIN1', 'iso-8859-1', $letters{'latin1'});
fuzz_database('euc_jp_c', q{ENCODING 'EUC_JP' LOCALE 'C'}, 'EUC_JP', 'euc-jp', $letters{'euc-jp'});

# The server needs a locale of the C library, and ICU.  Both are build requirements.
my ($libc) = `locale -a` =~ /^(C\.utf-?8|en_US\.utf-?8)$/im;
fuzz_database('utf8_libc', "ENCODING 'UTF8' LOCALE '$libc'", 'UTF8', 'UTF-8', $letters{'utf8'});
fuzz_database('utf8_icu', q{ENCODING 'UTF8' LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'en'},
	'UTF8', 'UTF-8', $letters{'utf8'});

# The test of values of nearly 1 GB needs several times that much memory.
if ($ENV{PGDENSE_SOAK})
{
	$node->safe_psql('utf8_c', 'CREATE TABLE huge (z ztext, codec int)');
	for my $codec ('none', 'lz4', 'snappy', 'zstd')
	{
		is( $node->safe_psql('utf8_c',
				<<"SQL"), "$codec|900000000|900000000|t|xx|1073741800", "a value of 900 MB, $codec");
INSERT INTO huge SELECT repeat('x', 900000000)::ztext($codec);
SELECT toast_policy.codec(z), octet_length(z), length(z), z = repeat('x', 900000000), substr(z, 899999999), octet_length(repeat('x', 1073741800)::ztext(zstd)) FROM huge;
TRUNCATE huge;
SQL
	}
	my ($result, $out, $err) =
	  $node->psql('utf8_c', q{SELECT octet_length(repeat('x', 1073741819)::ztext(none))});
	like(
		$err,
		qr/value of 1073741819 bytes is too large for types ztext and zbytea/,
		'a value too large for the type is an error');
}

$node->stop;
done_testing();
