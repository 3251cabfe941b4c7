# Run pg_upgrade from the distribution's server to this one.  Tables of toast_policy
# keep their rows, their storage and the stored form of values.  Later writes follow the
# policy.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Upgrade;
use Test::More;

my $old = start_old();
$old->safe_psql('app', <<'SQL');
CREATE EXTENSION toast_policy;
CREATE EXTENSION amcheck;
CREATE FUNCTION sample(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
SELECT CASE i % 5 WHEN 0 THEN 'short ' || i WHEN 1 THEN repeat('many ' || i, 3000)
  WHEN 2 THEN left(string_agg(md5(i || '-' || j), ''), 10000)
  WHEN 3 THEN left(string_agg(md5(i || '-' || j), ''), 10000) || repeat('tail ', 2000) END FROM generate_series(1, 320) j $$;
CREATE TABLE t (id int PRIMARY KEY, doc text, l text COMPRESSION lz4, extra text);
-- Insert rows before enable(), after it, and with settings that store values in a form that no
-- other settings make.
INSERT INTO t SELECT i, sample(i), sample(i + 1), sample(i + 2) FROM generate_series(1, 100) i;
SELECT toast_policy.enable('t', 'doc', 'l');
CREATE INDEX t_doc ON t (md5(doc));
CREATE INDEX t_hash ON t USING hash (doc);
INSERT INTO t SELECT i, sample(i), sample(i + 1), sample(i + 2) FROM generate_series(101, 200) i;
SET toast_policy.lz4_level = 12;
SET toast_policy.min_saving = 0.9;
INSERT INTO t SELECT i, sample(i), sample(i + 1), sample(i + 2) FROM generate_series(201, 300) i;
CREATE TABLE p (id int, doc text) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (1000);
SELECT toast_policy.enable('p');
INSERT INTO p SELECT id, doc FROM t;
CREATE MATERIALIZED VIEW mv USING toast_policy AS SELECT id, sample(id + 3) AS doc FROM t WITH NO DATA;
SELECT toast_policy.enable('mv');
REFRESH MATERIALIZED VIEW mv;
SQL

my $contents = join ";\n",
  map { "SELECT count(*), md5(string_agg(x::text, ',' ORDER BY id)) FROM $_ x" } 't', 'p1', 'mv';
my $stored =
  q{SELECT md5(string_agg(concat_ws(' ', id, pg_column_size(doc), pg_column_compression(doc), pg_column_size(l), pg_column_compression(l)), ',' ORDER BY id)) FROM t;
	SELECT md5(string_agg(concat_ws(' ', id, pg_column_size(doc), pg_column_compression(doc)), ',' ORDER BY id)) FROM p1;
	SELECT md5(string_agg(concat_ws(' ', id, pg_column_size(doc), pg_column_compression(doc)), ',' ORDER BY id)) FROM mv;
	SELECT pg_relation_size(reltoastrelid), pg_relation_size(oid) FROM pg_class WHERE relname IN ('t', 'p1', 'mv') ORDER BY relname};
my $state = <<'SQL';
SELECT relname, amname, string_agg(format('%s=%s%s', attname, attstorage, attcompression), ' ' ORDER BY attnum)
FROM pg_attribute JOIN pg_class c ON c.oid = attrelid LEFT JOIN pg_am a ON a.oid = relam
WHERE attnum > 0 AND relname IN ('t', 'p', 'p1', 'mv', 't_doc', 't_pkey') GROUP BY 1, 2 ORDER BY 1
SQL
my %before = map { $_->[0] => $old->safe_psql('app', $_->[1]) }[ contents => $contents ],
  [ stored => $stored ], [ state => $state ];
like($before{state}, qr/^t\|toast_policy\|id=p doc=e l=el extra=x$/m,
	'the old tables are governed');
my $new = upgrade($old);
is($new->safe_psql('app', $contents), $before{contents}, 'same rows');
is($new->safe_psql('app', $stored), $before{stored}, 'stored in the same form');
is($new->safe_psql('app', $state), $before{state}, 'same access methods and storage');
$new->safe_psql('app', q{SELECT bt_index_check('t_pkey', true), bt_index_check('t_doc', true)});
is( $new->safe_psql(
		'app',
		q{SELECT count(*) FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
	WHERE extname = 'toast_policy' AND classid IN ('pg_am'::regclass, 'pg_event_trigger'::regclass)}),
	'2',
	'access method and event trigger belong to the extension');
is( $new->safe_psql('app', q{SELECT evtenabled, evttags FROM pg_event_trigger}),
	q{A|{"DROP EXTENSION","DROP ACCESS METHOD","DROP SCHEMA","DROP OWNED","DROP TYPE"}},
	'event trigger');
my ($ret, $out, $err) = $new->psql('app', 'DROP EXTENSION toast_policy CASCADE');
like(
	$err,
	qr/cannot drop extension "toast_policy" while tables use its access method/,
	'the tables are guarded');

# Write to the upgraded tables.
is($new->safe_psql('app', <<'SQL'), "t|t\n400|f|f|f|f|t\npglz|", 'writes follow the policy');
INSERT INTO t SELECT i, sample(i), sample(i + 1), sample(i + 2) FROM generate_series(301, 400) i;
SELECT pg_column_compression(doc) = 'pglz', pg_column_compression(l) IS NULL FROM t WHERE id = 301;
UPDATE t SET extra = doc, doc = extra WHERE id < 50;
SELECT toast_policy.recompress('t') AS rows \gset
SELECT :rows, bool_or(doc IS DISTINCT FROM sample(id)) FILTER (WHERE id >= 50) , bool_or(doc IS DISTINCT FROM sample(id + 2)) FILTER (WHERE id < 50),
  bool_or(l IS DISTINCT FROM sample(id + 1)), bool_or(extra IS DISTINCT FROM sample(id + 2)) FILTER (WHERE id >= 50), bt_index_check('t_doc', true) IS NOT NULL FROM t;
INSERT INTO p VALUES (900, repeat('p', 30000)), (901, sample(2));
SELECT string_agg(pg_column_compression(doc), ',') || '|' FROM p WHERE id >= 900;
SQL
$new->safe_psql('app', q{SELECT toast_policy.disable_all(); DROP EXTENSION toast_policy});
is( $new->safe_psql(
		'app', q{SELECT count(*), bool_or(doc IS DISTINCT FROM sample(id)) FROM t WHERE id >= 50}),
	'351|f',
	'the rows are the same as in a heap table');
$new->stop;
done_testing();
