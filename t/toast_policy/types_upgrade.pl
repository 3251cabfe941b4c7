# Run pg_upgrade from the distribution's server to this one.  Values of ztext and
# zbytea, their indexes, and the objects of the types must stay the same.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Upgrade;
use Test::More;

my $old = start_old();
$old->safe_psql('app', <<'SQL');
CREATE SCHEMA "Other Schema";
CREATE EXTENSION toast_policy SCHEMA "Other Schema";
CREATE EXTENSION amcheck;
SET search_path = "Other Schema", public;
CREATE TABLE public.docs (id int PRIMARY KEY, z ztext(zstd), u ztext, y zbytea(lz4), a ztext[], t text);
INSERT INTO docs SELECT i, t, toast_policy.text_ztext(t, i % 4, true), t::bytea, ARRAY[t]::ztext(snappy)[], t
FROM (SELECT i, repeat('document ' || i || ' ', i % 300) || i AS t FROM generate_series(1, 3000) i) x;
CREATE INDEX docs_z ON docs (z) WHERE id % 300 < 100;
CREATE INDEX docs_u ON docs USING hash (u);
CREATE INDEX docs_part ON docs (substr(u, 1, 20), length(y));
CREATE VIEW public.v AS SELECT substr(z, 1, 9) AS part, substring(u FROM '[0-9]+') AS number, length(y), z = t AS same, y || '\x00' AS cat FROM docs;
SQL

my $contents =
  q{SELECT md5(string_agg(d::text, ',' ORDER BY id)), count(*), sum(pg_column_size(z)), string_agg(DISTINCT toast_policy.codec(u), ','),
	(SELECT md5(string_agg(v::text, ',' ORDER BY v::text)) FROM v), bool_and(z = t AND u = t AND y = t::bytea AND a[1] = t) FROM docs d};
my $before = $old->safe_psql('app', $contents);
my $new = upgrade($old);
is($new->safe_psql('app', $contents), $before, 'same contents in the same codecs');
$new->safe_psql('app', q{SELECT bt_index_check('docs_z', true), bt_index_check('docs_part', true)});
is($new->safe_psql('app', <<'SQL'), '0', 'every row is found by its key');
SET enable_seqscan = off;
SELECT count(*) FROM docs x WHERE NOT EXISTS (SELECT FROM docs y WHERE y.u = x.t)
SQL
is( $new->safe_psql(
		'app',
		q{SELECT count(*) FROM pg_opclass WHERE opcnamespace = 'toast_policy'::regnamespace AND NOT amvalidate(oid)}
	),
	'0',
	'operator classes are complete');
is($new->safe_psql('app', q{SELECT length('abc'), substr('abc', 2), 'a' || 'b'}),
	'3|bc|ab', 'functions of stock types work as before');
is($new->safe_psql('app', <<'SQL'), 'f', 'objects still belong to the extension');
SELECT EXISTS (SELECT FROM pg_operator o WHERE oprcode::text ~ 'toast_policy'
  AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_operator'::regclass AND objid = o.oid AND deptype = 'e'))
SQL
$new->safe_psql('app',
	'DROP VIEW v; DROP TABLE docs; DROP EXTENSION toast_policy; CREATE EXTENSION toast_policy');
$new->stop;
done_testing();
