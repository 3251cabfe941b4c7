# Run pg_upgrade from the distribution's server to this one.  What apply() has done can be undone
# there, and the schema is then what it was before.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Upgrade;
use PostgreSQL::Test::Utils;
use Test::More;

# columns_of(NODE) - the columns of the tables, which pg_dump of each version writes differently
sub columns_of
{
	my ($node) = @_;
	return $node->safe_psql('app', <<'SQL');
SELECT attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull, attstorage, attcompression
FROM pg_attribute WHERE attrelid IN ('orders'::regclass, '"My Docs"'::regclass) AND attnum > 0 AND NOT attisdropped
ORDER BY attrelid::regclass::text, attname
SQL
}

my $old = start_old();
$old->safe_psql('app', <<'SQL');
CREATE EXTENSION compact_types;
CREATE EXTENSION toast_policy;
CREATE EXTENSION pg_dense;
CREATE TABLE orders (id int PRIMARY KEY, note text NOT NULL, street varchar(100));
INSERT INTO orders SELECT i, 'some words of a note ' || i, 'a street ' || i FROM generate_series(1, 20000) i;
CREATE TABLE "My Docs" (id int PRIMARY KEY, doc text);
ALTER TABLE "My Docs" ALTER doc SET STORAGE MAIN;
INSERT INTO "My Docs" SELECT i, repeat(md5(i::text), 500) FROM generate_series(1, 100) i;
ANALYZE;
SQL
my $before = columns_of($old);
$old->safe_psql('app', <<'SQL');
CALL dense.apply('compact_types public.orders');
SELECT dense_internal.run(ROW('proposal', 'toast_policy public."My Docs"', '"My Docs"'::regclass, 'toast_policy', '', '{doc}',
  1, 1, '', '', '', 1, '', '', NULL, 'SELECT toast_policy.enable(''public."My Docs"'', ''doc''); SELECT toast_policy.recompress(''public."My Docs"'')',
  NULL)::dense_internal.proposal);
ALTER TABLE orders RENAME TO "All Orders";
SQL
my $notes = $old->safe_psql('app', 'SELECT a::text FROM dense.applied a ORDER BY id');
like($notes, qr/All Orders.*My Docs/s, 'two changes are noted');

my $new = upgrade($old);
is($new->safe_psql('app', 'SELECT a::text FROM dense.applied a ORDER BY id'),
	$notes, 'the notes are the same');
is($new->safe_psql('app', "SELECT nextval('dense.applied_id')"), '3', 'and the next number');
is($new->safe_psql('app', 'SELECT count(*) FROM dense.status WHERE id IS NOT NULL'),
	'2', 'status knows them');
$new->safe_psql('app', 'CALL dense.undo(); ALTER TABLE "All Orders" RENAME TO orders');
is(columns_of($new), $before, 'undo() restores the columns');
is($new->safe_psql('app', 'SELECT count(*) FROM dense.applied'), '0', 'no note is left');
$new->stop;
done_testing();
