# Check dump and restore of the compact types.
#
# - If a type compact_charN is an extension of its own, the dump has one line for it.  If
#   create_char() made the type, the dump has all its objects.
# - Data are the same after COPY in text format and in binary format.
# - The restored database has the same objects as the first database, and works in the same way.
use strict;
use warnings FATAL => 'all';

use File::Spec;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('dump');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\n");
$node->start;
my $dir = File::Spec->rel2abs($node->basedir);

$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql('source', <<'SQL');
CREATE EXTENSION compact_char24 CASCADE;
CREATE SCHEMA app;
CREATE EXTENSION compact_char9 SCHEMA app;
SELECT compact_types.create_char(100);
CREATE TABLE app.t (
  id int PRIMARY KEY, c compact_char24 COLLATE "C" DEFAULT 'none' CHECK (c <> 'bad'),
  zip app.compact_char9, wide compact_char100, a compact_char24[]);
CREATE INDEX t_c ON app.t (c);
CREATE INDEX t_wide ON app.t (wide);
CREATE INDEX t_hash ON app.t USING hash (zip);
CREATE INDEX t_part ON app.t (id) WHERE c = 'x'::text;
CREATE INDEX t_like ON app.t (id) WHERE c LIKE 'x%' AND wide ~ '^x';
CREATE INDEX t_brin ON app.t USING brin (c, wide, zip compact_types.compact_char9_bloom_ops);
INSERT INTO app.t
  SELECT i, 'name ' || i % 100, to_char(i, 'FM000000000'), repeat('w', i % 100), ARRAY['a', 'b'  || i]
  FROM generate_series(1, 1000) i;
INSERT INTO app.t VALUES (0, E'\\ "quoted" \t' , '', 'äöü', '{NULL," x "}'), (-1, NULL, NULL, NULL, NULL);
CREATE TABLE app.c (
  id int PRIMARY KEY, name compact_text(40) COLLATE "C" DEFAULT 'none' CHECK (name <> 'bad'),
  memo compact_text, tags compact_text[]);
CREATE INDEX c_memo ON app.c (memo);
CREATE INDEX c_hash ON app.c USING hash (name);
CREATE INDEX c_part ON app.c (id) WHERE memo = 'x'::text;
INSERT INTO app.c SELECT i, 'name ' || i % 100, repeat(md5(i::text) || ' the quick ', i % 100), ARRAY['a', i::text]
  FROM generate_series(1, 1000) i;
INSERT INTO app.c VALUES (0, E'\\ "quoted" \t' , E'\x01', '{}'), (-1, NULL, NULL, NULL), (-2, 'äöü', '日本語の文字列', '{NULL," x "}');
INSERT INTO app.c VALUES (-3);
CREATE VIEW app.w AS SELECT name, count(*) FROM app.c WHERE 'name 1'::text <= name AND memo > 'a'::char(3) GROUP BY name;
CREATE EXTENSION compact_decimal8_2 SCHEMA app;
SELECT compact_types.create_decimal(4, 7);
CREATE TABLE app.s (
  id int, i int1, u uint1, w uint2 DEFAULT 7 CHECK (w <> 8), t uint3 DEFAULT 70000, q uint4 DEFAULT 4294967295 CHECK (q > -1), s seconds4 CHECK (s >= date '1999-01-01'), z seconds4tz,
  d app.compact_decimal8_2 DEFAULT 0.5, e compact_decimal4_7);
CREATE INDEX s_all ON app.s (w, t, q, u, i, s, z, d, e);
CREATE INDEX s_part ON app.s USING brin (w) WHERE d > 1;
INSERT INTO app.s SELECT i, i % 100, i % 256, i, i * 10000, i * 4000000::int8, timestamp '2000-01-01' + i * interval '1 h', timestamptz '2000-01-01' + i * interval '1 h',
  i / 7.0, i / 7.0 FROM generate_series(10, 1000) i;
INSERT INTO app.s DEFAULT VALUES;
CREATE VIEW app.vs AS SELECT u, sum(w), avg(d), max(s) FROM app.s WHERE w + u > 20 AND d < 100 AND e >= 0.5 GROUP BY u;
CREATE VIEW app.v AS SELECT c, count(*) FROM app.t WHERE 'name 1'::text <= c AND zip > 'a'::char(3) GROUP BY c;
CREATE VIEW app.extremes AS SELECT min(c) AS first, compact_types.max(wide) AS last FROM app.t WHERE c NOT LIKE 'name 9%';
CREATE FUNCTION app.f(compact_char24) RETURNS bool LANGUAGE sql RETURN $1 = 'name 7'::text;
SQL

sub contents
{
	my ($db) = @_;
	return $node->safe_psql($db,
			'SELECT * FROM app.t ORDER BY id; SELECT * FROM app.v ORDER BY c;'
		  . 'SELECT * FROM app.c ORDER BY id; SELECT * FROM app.w ORDER BY name;'
		  . 'SELECT * FROM app.extremes;'
		  . 'SELECT * FROM app.s ORDER BY id; SELECT * FROM app.vs ORDER BY u;'
		  . q{SELECT count(*) FROM app.t WHERE app.f(c);});
}

# This query returns the objects of the types in a database: names, signatures and properties.
my $objects = <<'SQL';
SELECT oprname, oprleft::regtype, oprright::regtype, oprcode::regprocedure, oprcom::regoperator,
       oprnegate::regoperator, oprrest, oprjoin, oprcanhash, oprcanmerge
FROM pg_operator WHERE oprcode::regproc::text ~ 'compact' ORDER BY oprcode::regprocedure::text, oprname;
SELECT oid::regprocedure, prosrc, provolatile, proisstrict, proleakproof, proparallel, prosupport
FROM pg_proc WHERE oid::regprocedure::text ~ 'compact' ORDER BY oid::regprocedure::text;
SELECT aggfnoid::regprocedure, aggtransfn, aggcombinefn, aggsortop::regoperator, aggtranstype::regtype
FROM pg_aggregate WHERE aggtransfn::text ~ 'compact' ORDER BY aggfnoid::regprocedure::text;
SELECT f.opfmethod, f.opfname, a.amopstrategy, a.amopopr::regoperator FROM pg_opfamily f
JOIN pg_amop a ON amopfamily = f.oid WHERE f.opfname ~ 'compact' ORDER BY 1, 2, 3, amopopr::regoperator::text;
SELECT f.opfmethod, f.opfname, a.amprocnum, a.amproc::regprocedure, a.amproclefttype::regtype FROM pg_opfamily f
JOIN pg_amproc a ON amprocfamily = f.oid WHERE f.opfname ~ 'compact'
ORDER BY 1, 2, 3, a.amproc::regprocedure::text, a.amproclefttype::regtype::text;
SELECT opcname, opcmethod, opcdefault, amvalidate(oid) FROM pg_opclass WHERE opcname ~ 'compact' ORDER BY 1, 2;
SELECT castsource::regtype, casttarget::regtype, castcontext, castfunc::regprocedure FROM pg_cast
WHERE castfunc::regprocedure::text ~ 'compact' ORDER BY castsource::regtype::text, casttarget::regtype::text;
SELECT extname, extversion, extnamespace::regnamespace FROM pg_extension ORDER BY 1;
SELECT oid::regtype, typlen, typalign, typstorage, typcategory, typcollation, obj_description(oid)
FROM pg_type WHERE typname ~ '^compact_' ORDER BY oid::regtype::text;
SQL

for my $format ('plain', 'custom')
{
	my $target = "target_$format";
	my $file = "$dir/$format.dump";

	$node->command_ok([ 'pg_dump', "--format=$format", '--file', $file, $node->connstr('source') ],
		"pg_dump in $format format");
	if ($format eq 'plain')
	{
		my $dump = slurp_file($file);

		is(() = $dump =~ /^CREATE EXTENSION.*compact_char/mg,
			2, 'plain dump: one line for each extension');
		unlike(
			$dump,
			qr/^CREATE (FUNCTION compact_types|OPERATOR|TYPE)\b.*compact_char(24|9)\b/m,
			'plain dump: no object of an extension is dumped');
		$node->safe_psql('postgres', "CREATE DATABASE $target TEMPLATE template0");
		$node->command_ok(
			[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, $node->connstr($target) ],
			"$format dump is restored");
	}
	else
	{
		$node->safe_psql('postgres', "CREATE DATABASE $target TEMPLATE template0");
		$node->command_ok(
			[ 'pg_restore', '--exit-on-error', '-j', '2', '-d', $node->connstr($target), $file ],
			"$format dump is restored in parallel");
	}
	is(contents($target), contents('source'), "$format: the contents are the same");
	is( $node->safe_psql($target, $objects),
		$node->safe_psql('source', $objects),
		"$format: the objects are the same");

	# A dump of the restored database must be the same.
	$node->command_ok([ 'pg_dump', '--file', "$dir/second.dump", $node->connstr($target) ],
		'second dump succeeds');
	my ($first, $second) = map { slurp_file($_) =~ s/^\\(un)?restrict .*$//mgr } "$dir/plain.dump",
	  "$dir/second.dump";
	ok($first eq $second, "$format: the dump of the restored database is the same");

	# If a type has no extension, an index on its column is used if the schema of the type is in the
	# search_path.
	my $explain =
	  'SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN (COSTS OFF) SELECT id FROM app.t WHERE';
	like($node->safe_psql($target, "$explain c = 'y'::text"),
		qr/Index Cond/, "$format: the index serves text");
	like(
		$node->safe_psql($target, "$explain c LIKE 'y%'"),
		qr/Index Cond: .*>=/,
		"$format: the index serves a prefix");
	like(
		$node->safe_psql(
			$target, "SET search_path = public, compact_types; $explain wide = 'x'::text"),
		qr/Index Cond/,
		"$format: the index of the length without an extension serves text");
	like(
		$node->safe_psql(
			$target,
			"SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT id FROM app.c WHERE memo = 'y'::varchar"
		),
		qr/Index Cond/,
		"$format: the index on compact_text serves varchar");
	like(
		$node->safe_psql(
			$target, "SET search_path = public, compact_types; $explain wide LIKE 'x%'"),
		qr/Index Cond: .*>=/,
		"$format: the index of the length without an extension serves a prefix");
}

# Test binary COPY, also with a conversion of the encoding.
$node->safe_psql('source', "COPY app.$_ TO '$dir/$_.bin' (FORMAT binary)") for 'c', 's', 't';
$node->safe_psql('target_plain', "TRUNCATE app.$_; COPY app.$_ FROM '$dir/$_.bin' (FORMAT binary)")
  for 'c', 's', 't';
is(contents('target_plain'), contents('source'), 'binary COPY keeps the contents');
$node->safe_psql('postgres', q{CREATE DATABASE latin1 TEMPLATE template0 ENCODING 'LATIN1'});
$node->safe_psql('latin1',
	'CREATE EXTENSION compact_char24 CASCADE; CREATE TABLE t (c compact_char24)');
$node->safe_psql('source',
	qq{COPY (SELECT U&'\\00e4\\00f6\\00fc'::compact_char24 AS c) TO '$dir/c.bin' (FORMAT binary)});
$node->safe_psql('latin1',
	qq{SET client_encoding = 'UTF8'; COPY t FROM '$dir/c.bin' (FORMAT binary)});
is( $node->safe_psql(
		'latin1',
		q{SELECT octet_length(c), format('%s', c) = format('%s', U&'\00e4\00f6\00fc'::char(24)) FROM t}
	),
	'3|t',
	'binary COPY converts the encoding');

# Wrong binary input must be an error.
sub binary_error
{
	my ($bytes, $pattern, $name, $type) = @_;
	$type ||= 'compact_char24';
	my $file = "$dir/bad.bin";

	open my $out, '>:raw', $file or die "could not open $file: $!";
	print $out "PGCOPY\n\xff\r\n\0", pack('NNnN', 0, 0, 1, length($bytes)), $bytes,
	  pack('n', 0xffff);
	close $out;
	my ($ret, $stdout, $stderr) =
	  $node->psql('source', "CREATE TEMP TABLE b (c $type); COPY b FROM '$file' (FORMAT binary)");
	like($stderr, $pattern, $name);
}
binary_error(
	'x' x 25,
	qr/value too long for type (public\.)?compact_char24/,
	'a binary value that is too long is an error');
binary_error(
	"\xe4\xf6",
	qr/invalid byte sequence for encoding "UTF8"/,
	'a binary value of an invalid encoding is an error');
binary_error(
	"a\0b",
	qr/invalid byte sequence for encoding "UTF8": 0x00/,
	'a binary value with a NUL byte is an error');
binary_error(
	'xxxx',
	qr/value too long for type compact_text\(3\)/,
	'a binary compact_text that is too long is an error',
	'compact_text(3)');
binary_error(
	"\x01\xe4",
	qr/invalid byte sequence for encoding "UTF8"/,
	'a binary compact_text must be the string, not its encoded form',
	'compact_text');

# A value that is too long is a soft error on servers that have soft errors.
if ($node->pg_version >= 17)
{
	is( $node->safe_psql(
			'source', q{SELECT pg_input_is_valid(repeat('x', 25), 'compact_char24'),
		pg_input_is_valid(repeat('x', 24) || '  ', 'compact_char24'),
		(pg_input_error_info(repeat('x', 25), 'compact_char24')).sql_error_code}),
		'f|t|22001',
		'a value of compact_char24 that is too long is a soft error');
	is( $node->safe_psql(
			'source',
			q{SELECT pg_input_is_valid('abcd', 'compact_text(3)'), pg_input_is_valid('abc ', 'compact_text(3)'),
		(pg_input_error_info('abcd', 'compact_text(3)')).sql_error_code}),
		'f|t|22001',
		'a value of compact_text that is too long is a soft error');
	append_to_file("$dir/lines.txt", join("\n", 'good', 'x' x 25, 'good too', ''));
	is($node->safe_psql('source', <<"SQL"), 2, 'COPY skips a value that is too long');
CREATE TABLE lines (c compact_char24);
COPY lines FROM '$dir/lines.txt' (ON_ERROR ignore);
SELECT count(*) FROM lines;
SQL
}

$node->stop;
done_testing();
