# Check pg_upgrade from the distribution's server to this one, with compact types in tables, arrays
# and indexes: types that are extensions, and a compact_charN that create_char() made.  All values
# must be the same, and indexes, operators and functions must work as before.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Upgrade;
use Test::More;

my $old = start_old();
$old->safe_psql('app', <<'SQL');
CREATE EXTENSION compact_char24 CASCADE;
CREATE SCHEMA other;
CREATE EXTENSION compact_char8 SCHEMA other;
SELECT compact_types.create_char(100);
CREATE EXTENSION amcheck;
CREATE EXTENSION pg_trgm SCHEMA other;
CREATE EXTENSION compact_trgm SCHEMA other;
CREATE EXTENSION compact_char24_trgm;
CREATE EXTENSION compact_char8_trgm SCHEMA other;
CREATE TABLE t (k compact_char24 PRIMARY KEY, c other.compact_char8, w compact_char100, a compact_char24[], b char(24));
CREATE INDEX t_hash ON t USING hash (k);
CREATE INDEX t_w ON t (w);
CREATE INDEX t_gin ON t USING gin (k gin_compact_char24_trgm_ops);
CREATE INDEX t_gist ON t USING gist (c other.gist_compact_char8_trgm_ops(siglen = 32));
INSERT INTO t SELECT 'key ' || i, i % 1000, 'wide ' || i % 77, ARRAY['x', 'y' || i], 'key ' || i
FROM generate_series(1, 20000) i;
CREATE TABLE s (k compact_text PRIMARY KEY, t text, m compact_text(60), a compact_text[]);
CREATE INDEX s_hash ON s USING hash (m);
CREATE INDEX s_gin ON s USING gin (k other.gin_compact_trgm_ops);
CREATE INDEX s_gist ON s USING gist (m other.gist_compact_trgm_ops(siglen = 32));
INSERT INTO s SELECT x, x, left(x, 60), ARRAY[x] FROM (SELECT DISTINCT CASE i % 6 WHEN 0 THEN md5(i::text) WHEN 1 THEN 'the name of user ' || i
  WHEN 2 THEN i::text WHEN 3 THEN md5(i::text)::uuid::text WHEN 4 THEN repeat('server ' || i || ' ', i % 50) ELSE '東京都' || i END AS x
  FROM generate_series(1, 6000) i) y;
CREATE TABLE r (k text REFERENCES t);
INSERT INTO r VALUES ('key 1');
CREATE EXTENSION compact_decimal4_2;
SELECT compact_types.create_decimal(8, 12);
CREATE TABLE scalars (id int PRIMARY KEY, i int1, u uint1, w uint2, t uint3, q uint4, s seconds4, z seconds4tz, d compact_decimal4_2, e compact_decimal8_12);
INSERT INTO scalars SELECT g, g % 256 - 128, g % 256, g % 65536, g * 800, g * 200000::int8, timestamp '2000-01-01' + g * interval '1 h',
  timestamptz '2000-01-01' + g * interval '1 h', g / 7.0, g / 7.0 FROM generate_series(1, 20000) g;
CREATE INDEX scalars_btree ON scalars (i, u, w, t, q, s, z, d, e);
CREATE INDEX scalars_q ON scalars (q);
CREATE INDEX scalars_hash ON scalars USING hash (z);
CREATE INDEX scalars_brin ON scalars USING brin (w, t, q, s, z, d, e);
CREATE TABLE noted (gone int, c char(8), "the name" varchar(60), qty int8 CHECK (qty BETWEEN 0 AND 99));
ALTER TABLE noted DROP gone;
ALTER TABLE noted ALTER c SET STORAGE MAIN;
INSERT INTO noted SELECT 'c' || i % 100, repeat('a long name ', 3) || i, i % 99 FROM generate_series(1, 500) i;
SELECT compact_types.convert('noted', narrow => true);
SQL

my $contents = q{SELECT md5(string_agg(t::text, ',' ORDER BY k)), count(*) FROM t;
	SELECT md5(string_agg(s::text, ',' ORDER BY k)), count(*), sum(pg_column_size(k)) FROM s};
my $before = $old->safe_psql('app', $contents);
my $scalars =
  q{SELECT md5(string_agg(x::text, ',' ORDER BY id)), sum(w), sum(t), sum(q), max(q), avg(d), sum(e), max(s) FROM scalars x};
my $scalars_before = $old->safe_psql('app', $scalars);
# compact_types.auto must not change types during the upgrade.
my $new = upgrade($old, <<'CONF');
session_preload_libraries = 'compact_types'
compact_types.auto = on
CONF
is($new->safe_psql('app', $contents), $before, 'the contents are the same');
is( $new->safe_psql(
		'app',
		q{SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'b'}
	),
	'character(24)',
	'the type is the same in spite of compact_types.auto');
$new->safe_psql('app',
	q{SELECT bt_index_check('t_pkey', true), bt_index_check('t_w', true), bt_index_check('s_pkey', true), bt_index_check('scalars_btree', true), bt_index_check('scalars_q', true)}
);
is($new->safe_psql('app', $scalars), $scalars_before, 'the contents of scalars are the same');
is($new->safe_psql('app', <<'SQL'), '1|1|480|1', 'indexes on narrow types serve the wide types');
SET enable_seqscan = off;
SELECT (SELECT count(*) FROM scalars WHERE z = timestamptz '2000-01-05 00:00'),
       (SELECT count(*) FROM scalars WHERE i = -27 AND u = 101 AND w = 101),
       (SELECT count(*) FROM scalars WHERE s > date '2000-01-11' AND s <= timestamp '2000-01-31'),
       (SELECT count(*) FROM scalars WHERE q = 4000000000);
SQL
# Leave out the stand-ins (the internal types that literals and operands of scalars get), as
# sql/compact_types_scalar.sql does.
is($new->safe_psql('app', <<'SQL'), '0', 'all other operator classes are complete');
SELECT count(*) FROM pg_opclass c
WHERE (opcname ~ 'compact' OR opcnamespace = 'compact_types'::regnamespace)
  AND NOT EXISTS (SELECT FROM pg_amop WHERE amopfamily = opcfamily AND amoprighttype::regtype::text ~ '_literal$' AND amopmethod IN (403, 405))
  AND NOT amvalidate(c.oid)
SQL
is($new->safe_psql('app', <<'SQL'), '0', 'an index finds every row by its key');
SET enable_seqscan = off;
SELECT count(*) FROM t x WHERE NOT EXISTS (SELECT FROM t y WHERE y.k = x.b)
SQL
is($new->safe_psql('app', 'SELECT count(*) FROM t WHERE k <> b'), '0', 'every value is the same');
is( $new->safe_psql('app',
		<<'SQL'), '0|0', 'compact_text: every value is the same, and would be stored the same');
SET enable_seqscan = off;
SELECT count(*) FILTER (WHERE k <> t OR NOT record_image_eq(ROW(k), ROW(t::compact_text))),
       count(*) FILTER (WHERE NOT EXISTS (SELECT FROM s y WHERE y.k = x.t)) FROM s x
SQL
foreach my $index (
	[ 's', 'k', 's_gin', '%user 12%', 19 ],
	[ 's', 'm', 's_gist', '%user 12%', 19 ],
	[ 't', 'k', 't_gin', '%key 12%', 1111 ],
	[ 't', 'c', 't_gist', '%123%', 20 ])
{
	my ($table, $column, $name, $pattern, $rows) = @$index;

	like(
		$new->safe_psql(
			'app',
			qq{SET enable_seqscan = off; SET enable_indexscan = off; EXPLAIN SELECT * FROM $table WHERE $column LIKE '$pattern'}
		),
		qr/Bitmap Index Scan on $name\b/,
		"$name: an index of trigrams serves LIKE");
	is( $new->safe_psql(
			'app',
			qq{SET enable_seqscan = off; SELECT count(*) FROM $table WHERE $column LIKE '$pattern'; SET enable_seqscan = on;
			SELECT count(*) FROM $table WHERE $column\::text LIKE '$pattern'}
		),
		"$rows\n$rows",
		"$name: the index finds the rows");
}
like(
	$new->safe_psql(
		'app', q{SET enable_seqscan = off; EXPLAIN SELECT * FROM t WHERE k = 'key 7'::text}),
	qr/Index Cond/,
	'an index serves text');
is( $new->safe_psql(
		'app', q{SELECT extname FROM pg_extension WHERE extname ~ 'compact' ORDER BY 1}),
	"compact_char24\ncompact_char24_trgm\ncompact_char8\ncompact_char8_trgm\ncompact_decimal4_2\ncompact_trgm\ncompact_types",
	'the extensions are the same');
is($new->safe_psql('app', <<'SQL'), 'f', 'objects still belong to their extension');
SELECT EXISTS (SELECT FROM pg_operator o WHERE oprleft = 'compact_char24'::regtype
  AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_operator'::regclass AND objid = o.oid AND deptype = 'e'));
SQL

# Revert a conversion that was made before the upgrade.
is( $new->safe_psql(
		'app',
		q{SELECT column_name, new_type FROM compact_types.revert('noted'); SELECT attstorage FROM pg_attribute WHERE attrelid = 'noted'::regclass AND attname = 'c'}
	),
	"c|character(8)\nthe name|character varying(60)\nqty|bigint\nm",
	'revert() restores the types of the converted columns');

# Types can be created and dropped as on a server that was never upgraded.
$new->safe_psql('app', <<'SQL');
INSERT INTO t (k, c) VALUES ('new', 'x');
CREATE EXTENSION compact_char16;
SELECT 'a'::compact_char16 = 'a'::text;
DROP TABLE r, t;
DROP EXTENSION compact_char24_trgm, compact_char24;
CREATE EXTENSION compact_char24;
SQL
my ($ret, $stdout, $stderr) = $new->psql('app', q{INSERT INTO t VALUES ('x')});
isnt($ret, 0, 'a dropped table is gone');
$new->command_ok([ 'pg_dump', '-f', File::Spec->devnull, $new->connstr('app') ],
	'pg_dump succeeds');
$new->stop;
done_testing();
