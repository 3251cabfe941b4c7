# report() must tell what apply() then saves: on pgbench, on tables as those of TPC-C with two
# warehouses, on the tables of a web shop, on documents out of line, and on a table to be split.
# The last two have free space, which must count once.  The predicted total must be within 5 % of
# the measured one, and so must the saving.  Afterwards undo() gives the schema dump back.
use strict;
use warnings FATAL => 'all';

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($major) = `pg_config --version` =~ /(\d+)/;
my $node = PostgreSQL::Test::Cluster->new('accuracy');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
autovacuum = off
shared_buffers = 256MB
maintenance_work_mem = 128MB
max_wal_size = 8GB
shared_preload_libraries = 'vertical_partition'
session_preload_libraries = 'vertical_partition'
vertical_partition.track_updates = on
CONF
$node->start;
my $patched = $node->safe_psql('postgres',
	q{SELECT current_setting('default_index_item_alignment', true) IS NOT NULL}) eq 't';

# A soak run loads all rows.
my $scale = $ENV{PGDENSE_ACCURACY_SCALE} // ($ENV{PGDENSE_SOAK} ? 1 : 0.2);

my $words = <<'SQL';
CREATE FUNCTION pick(i bigint, n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
SELECT string_agg((string_to_array('the quick brown fox jumps over a lazy dog while every customer of this shop looks for good quality and a fair price with free delivery in all regions', ' '))
  [1 + (hashint8extended(i * 131 + w, 7) & 2147483647) % 28], ' ') FROM generate_series(1, n) w $$;
CREATE FUNCTION letters(i bigint, low int, high int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
SELECT left(translate(md5(i::text) || md5((i + 1000000007)::text) || CASE WHEN high <= 64 THEN '' ELSE md5((i * 3)::text) || md5((i * 5)::text)
    || md5((i * 7)::text) || md5((i * 11)::text) || md5((i * 13)::text) || md5((i * 17)::text) || md5((i * 19)::text) || md5((i * 23)::text)
    || md5((i * 29)::text) || md5((i * 31)::text) || md5((i * 37)::text) || md5((i * 41)::text) || md5((i * 43)::text) || md5((i * 47)::text) END,
  '0123456789', 'ghijklmnop'), low + ((hashint8extended(i, 11) & 2147483647) % (high - low + 1))::int) $$;
SQL

my $warehouses = 2;
my $customers = int(3000 * $scale);
my $items = int(100000 * $scale);
(my $tpcc = slurp_file("$FindBin::RealBin/../../bench/tpcc/sql/tables.sql")) =~ s/^--.*\n//gm;
$tpcc = $words . $tpcc . <<"SQL";
INSERT INTO warehouse SELECT w, letters(w, 6, 10), letters(w + 1, 10, 20), letters(w + 2, 10, 20), letters(w + 3, 10, 20), 'ab', '123411111', 0.1234, 30000000
FROM generate_series(1, $warehouses) w;
INSERT INTO district SELECT d, w, letters(d, 6, 10), letters(d + 1, 10, 20), letters(d + 2, 10, 20), letters(d + 3, 10, 20), 'ab', '123411111', 0.1234, 3000000, $customers + 1
FROM generate_series(1, $warehouses) w, generate_series(1, 10) d;
INSERT INTO item SELECT i, i * 7 % 10000 + 1, letters(i, 14, 24), 100 + i * 13 % 9901, letters(i + 5, 26, 50) FROM generate_series(1, $items) i;
INSERT INTO stock SELECT i, w, 10 + (i * 7 % 91), letters(i * w, 24, 24), letters(i * w + 1, 24, 24), letters(i * w + 2, 24, 24), letters(i * w + 3, 24, 24),
  letters(i * w + 4, 24, 24), letters(i * w + 5, 24, 24), letters(i * w + 6, 24, 24), letters(i * w + 7, 24, 24), letters(i * w + 8, 24, 24), letters(i * w + 9, 24, 24),
  0, 0, 0, letters(i * w + 10, 26, 50) FROM generate_series(1, $warehouses) w, generate_series(1, $items) i;
INSERT INTO customer SELECT c, d, w, letters(c * d * w, 8, 16), 'OE',
  (ARRAY['BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION','EING'])[1 + n.n / 100]
  || (ARRAY['BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION','EING'])[1 + n.n / 10 % 10]
  || (ARRAY['BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION','EING'])[1 + n.n % 10],
  letters(c + 1, 10, 20), letters(c + 2, 10, 20), letters(c + 3, 10, 20), 'ab', '123411111', '1234567890123456',
  timestamp '2026-01-01', CASE WHEN c % 10 = 0 THEN 'BC' ELSE 'GC' END, 5000000, 0.1, -1000, 1000, 1, 0, letters(c * d, 300, 500)
FROM generate_series(1, $warehouses) w, generate_series(1, 10) d, generate_series(1, $customers) c,
  LATERAL (SELECT CASE WHEN c <= 1000 THEN c - 1 ELSE (hashint8extended(c * d + w, 3) & 2147483647) % 1000 END::int AS n) n;
INSERT INTO history SELECT c, d, w, d, w, timestamp '2026-01-01', 1000, letters(c * d, 12, 24)
FROM generate_series(1, $warehouses) w, generate_series(1, 10) d, generate_series(1, $customers) c;
INSERT INTO orders SELECT o, d, w, (o * 7919) % $customers + 1, timestamp '2026-01-01', CASE WHEN o <= $customers * 7 / 10 THEN 1 + o % 10 END, 5 + (o * 31 + d) % 11, 1
FROM generate_series(1, $warehouses) w, generate_series(1, 10) d, generate_series(1, $customers) o;
INSERT INTO new_order SELECT o, w, d FROM generate_series(1, $warehouses) w, generate_series(1, 10) d, generate_series($customers * 7 / 10 + 1, $customers) o;
INSERT INTO order_line SELECT o_id, o_d_id, o_w_id, l, 1 + (o_id * 31 + l * 977 + o_d_id) % $items, o_w_id,
  CASE WHEN o_carrier_id IS NOT NULL THEN o_entry_d END, 5, CASE WHEN o_carrier_id IS NOT NULL THEN 0 ELSE 1 + (o_id * l) % 999999 END, letters(o_id * l + o_d_id, 24, 24)
FROM orders, generate_series(1, o_ol_cnt) l;
SQL
$tpcc .= slurp_file("$FindBin::RealBin/../../bench/tpcc/sql/keys.sql") =~ s/^--.*\n//gmr;

my $people = int(60000 * $scale);
my $shop = $words . <<"SQL";
CREATE TABLE country (code varchar(2) PRIMARY KEY, name varchar(60) NOT NULL, vat numeric(5,3));
INSERT INTO country VALUES ('de', 'Germany', 0.190), ('fr', 'France', 0.200), ('us', 'United States', NULL), ('is', 'Ísland', 0.240);
CREATE TABLE customer (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, email varchar(254) NOT NULL UNIQUE, name varchar(60) NOT NULL CONSTRAINT customer_has_name CHECK (name <> ''),
  nickname varchar(40), phone varchar(30) NOT NULL, status varchar(10) NOT NULL, public_id uuid NOT NULL UNIQUE, token varchar(64) NOT NULL,
  joined timestamptz NOT NULL, seen timestamptz NOT NULL, birthday date, newsletter bool NOT NULL, points int NOT NULL CHECK (points >= 0),
  credit numeric(9,2) NOT NULL, notes text NOT NULL, preferences jsonb NOT NULL, tags varchar(20)[] NOT NULL, country_id varchar(2) REFERENCES country);
CREATE INDEX customer_nickname ON customer (nickname);
CREATE INDEX customer_nickname_like ON customer (nickname varchar_pattern_ops);
CREATE INDEX customer_country ON customer (country_id);
CREATE INDEX customer_status ON customer (status, joined);
COMMENT ON COLUMN customer.token IS 'as many applications keep them';
INSERT INTO customer SELECT i, 'customer.' || i || '\@shop' || i % 7 || '.example.org',
  (ARRAY['Anna Bauer', 'Jürgen Groß', 'Zoë Ångström', 'O''Brien, Pat', 'İbrahim Çelik', '李雷', 'Мария Иванова', 'john smith', '  two  blanks', '100% wool_mill'])[1 + i % 10] || ' ' || i,
  CASE WHEN i % 3 > 0 THEN 'nick_' || i % 50 END, CASE WHEN i % 4 > 0 THEN '+49 30 ' || 1000000 + i * 77 ELSE '' END, (ARRAY['new', 'active', 'blocked'])[1 + i % 3],
  md5('p' || i)::uuid, md5(i::text), timestamptz '2026-01-01' + i * interval '1 minute', timestamptz '2026-01-02' + i * interval '71 s', date '1950-01-01' + (i * 37 % 20000)::int, i % 2 = 0,
  i % 90, (i * 7919 % 100000) / 100.0, coalesce(pick(i, CASE WHEN i % 40 = 11 THEN 600 ELSE i % 12 END), ''),
  jsonb_build_object('theme', CASE WHEN i % 2 = 0 THEN 'light' ELSE 'dark' END, 'size', i % 9), (ARRAY['the', 'quick', 'brown', 'fox'])[1:i % 4], (ARRAY['de', 'fr', 'us', NULL])[1 + i % 4]
FROM generate_series(1, $people) i;
CREATE TABLE product (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, sku varchar(20) NOT NULL CONSTRAINT product_sku UNIQUE, title varchar(120) NOT NULL, subtitle varchar(120),
  description text NOT NULL, maker varchar(80) NOT NULL, price numeric(8,2) NOT NULL CONSTRAINT product_price CHECK (price >= 0), cost numeric(12,4), weight numeric(7,3),
  stock int NOT NULL, reserved bigint NOT NULL, rating smallint CONSTRAINT product_rating CHECK (rating BETWEEN 1 AND 5), active bool NOT NULL, attributes jsonb NOT NULL, created timestamptz NOT NULL);
CREATE INDEX product_by_price ON product (active, price DESC);
CREATE INDEX product_by_maker ON product (maker, title);
INSERT INTO product SELECT i, 'SKU-' || lpad(i::text, 6, '0'), initcap(pick(i, 3 + i % 5)), CASE WHEN i % 4 = 0 THEN pick(i + 9, 4) END, pick(i, CASE WHEN i % 50 = 3 THEN 2000 ELSE 10 + i % 40 END),
  pick(i % 20, 1) || ' & sons', (i * 7919 % 90000) / 100.0, CASE WHEN i % 6 > 0 THEN (i * 31 % 50000) / 100.0 END, CASE WHEN i % 3 > 0 THEN (i % 7000) / 8.0 END, i % 60, i % 5,
  CASE WHEN i % 2 = 1 THEN 1 + i % 5 END, i % 9 > 0, jsonb_build_object('color', (ARRAY['red', 'green', NULL])[1 + i % 3], 'sizes', jsonb_build_array(i % 4, i % 5)), timestamptz '2026-01-01' + i * interval '1 hour'
FROM generate_series(1, $people / 3) i;
CREATE TABLE orders (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, customer_id bigint NOT NULL REFERENCES customer, number varchar(24) NOT NULL UNIQUE, state varchar(12) NOT NULL, currency varchar(3) NOT NULL,
  street varchar(100) NOT NULL, city varchar(60) NOT NULL, ip inet, placed timestamptz NOT NULL, shipped timestamptz, due date, total numeric(12,2) NOT NULL);
CREATE INDEX order_customer ON orders (customer_id);
CREATE INDEX order_open ON orders (state) WHERE state = 'open';
INSERT INTO orders SELECT i, 1 + (i * 7919) % $people, '2026-' || lpad(i::text, 8, '0'), (ARRAY['open', 'paid', 'shipped', 'shipped'])[1 + i % 4], 'EUR', initcap(pick(i, 2)) || ' Street ' || i % 90,
  (ARRAY['Berlin', 'Köln', 'Paris', 'New York'])[1 + i % 4], ('10.0.' || i % 250 || '.' || i % 99)::inet, timestamptz '2026-01-01' + i * interval '1 minute', NULL, date '2026-02-01' + (i % 300)::int, (i * 31 % 500000) / 100.0
FROM generate_series(1, $people * 2) i;
CREATE TABLE order_line (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, order_id bigint NOT NULL REFERENCES orders, position smallint NOT NULL CONSTRAINT line_position_range CHECK (position BETWEEN 1 AND 200),
  product_id bigint REFERENCES product, quantity int NOT NULL CONSTRAINT line_quantity CHECK (quantity BETWEEN 1 AND 5000), price numeric(8,2) NOT NULL, discount numeric(4,3), text varchar(150) NOT NULL,
  CONSTRAINT line_position UNIQUE (order_id, position));
CREATE INDEX line_product ON order_line (product_id);
INSERT INTO order_line (order_id, position, product_id, quantity, price, discount, text) SELECT o.id, p, 1 + (o.id * 31 + p * 7) % ($people / 3), 1 + (o.id * p) % 9, ((o.id * 13 + p) % 90000) / 100.0, CASE WHEN p = 2 THEN 0.125 END, initcap(pick(o.id + p, 3 + p))
FROM orders o, generate_series(1, 3) p;
CREATE TABLE review (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, product_id bigint NOT NULL REFERENCES product, customer_id bigint NOT NULL REFERENCES customer, stars smallint NOT NULL, title varchar(100) NOT NULL,
  body text NOT NULL, created timestamptz NOT NULL, UNIQUE (product_id, customer_id));
CREATE INDEX review_customer ON review (customer_id);
INSERT INTO review (product_id, customer_id, stars, title, body, created) SELECT 1 + i % ($people / 3), 1 + i * 7 % $people, 1 + i % 5, CASE WHEN i % 3 > 0 THEN pick(i, 3) ELSE '' END, pick(i, CASE WHEN i % 100 = 1 THEN 900 ELSE 5 + i % 60 END), timestamptz '2026-01-01' + i * interval '1 minute'
FROM generate_series(1, $people - 1) i;
CREATE VIEW open_orders AS SELECT o.number, c.email FROM orders o JOIN customer c ON c.id = o.customer_id WHERE o.state = 'open';
SQL

# Half of the values cannot be compressed, so that the access method is best for both columns.
my $documents = <<"SQL" . <<'SQL';
CREATE FUNCTION hex(i bigint, n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS \$\$
SELECT string_agg(md5(i || ' ' || j), '' ORDER BY j) FROM generate_series(1, n) j \$\$;
CREATE FUNCTION lines(i bigint, n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS \$\$
SELECT string_agg('{"id": ' || i * 100 + j || ', "customer": "customer ' || abs(hashint8(i * 31 + j)) % 5000 || '", "state": "' || (ARRAY['new', 'paid', 'sent'])[1 + (i + j) % 3] || '"}', ', ')
FROM generate_series(1, n) j \$\$;
CREATE TABLE document (id bigint PRIMARY KEY, title varchar(80) NOT NULL, body text COMPRESSION pglz, original text COMPRESSION pglz, views int NOT NULL);
CREATE INDEX document_title ON document (title);
INSERT INTO document SELECT i, 'title of document ' || i, CASE WHEN i % 2 = 0 THEN lines(i, 60 + i % 50) ELSE hex(i, 100 + i % 300) END,
  CASE WHEN i % 2 = 1 THEN lines(i, 70 + i % 40) ELSE hex(-i, 100 + i % 300) END, i % 1000 FROM generate_series(1, @{[int(10000 * $scale)]}) i;
SQL
DELETE FROM document WHERE id % 5 < 2;
SQL

my $hot = <<"SQL" . <<'SQL';
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL, changes int NOT NULL, name varchar(60) NOT NULL, street varchar(100) NOT NULL, city varchar(60) NOT NULL,
  notes text NOT NULL, opened date NOT NULL, CONSTRAINT account_changes CHECK (changes >= 0));
CREATE INDEX account_name ON account (name);
COMMENT ON COLUMN account.notes IS 'what a clerk has written';
INSERT INTO account SELECT i, i % 7919, 0, 'customer number ' || i, 'Street of the Customers ' || i % 900, (ARRAY['Berlin', 'Köln', 'Paris', 'New York'])[1 + i % 4],
  'some notes on the customer, of about the length that clerks write, number ' || i || repeat(', and more', 20), date '2026-01-01' + i % 300
FROM generate_series(1, @{[int(200000 * $scale)]}) i;
SQL
UPDATE account SET balance = balance + 1, changes = changes + 1 WHERE id % 2 = 0;
SELECT pg_stat_force_next_flush();
SQL

my $size = <<'SQL';
SELECT coalesce(sum(pg_relation_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'i', 't', 'm') AND c.oid >= 16384 AND (n.nspname = 'public' OR EXISTS (
  SELECT FROM pg_class t JOIN pg_namespace p ON p.oid = t.relnamespace WHERE p.nspname = 'public'
    AND (c.oid = t.reltoastrelid OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = t.reltoastrelid))))
SQL
my $each = <<'SQL';
SELECT c.relname, t.bytes
FROM pg_class c, LATERAL (SELECT sum((dense_internal.table_bytes(p)).total) FROM (
  SELECT c.oid WHERE c.relkind = 'r' UNION ALL SELECT dense_internal.parts(c.oid) WHERE c.relkind = 'v') x (p)) t (bytes)
WHERE c.relkind IN ('r', 'v') AND relnamespace = 'public'::regnamespace AND t.bytes IS NOT NULL ORDER BY 1
SQL

my %loaded;

# check(NAME, LOAD, WITH_RISK, WANTED) - compare the report with what apply() saves.  There must be
# proposals that match the pattern WANTED.
sub check
{
	my ($name, $load, $with_risk, $wanted) = @_;
	my $db = $name =~ s/\W/_/gr;

	# Load tables that two checks use only once.
	if ($loaded{$load})
	{
		$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE $loaded{$load}");
	}
	else
	{
		$node->safe_psql('postgres', "CREATE DATABASE $db");
		$node->safe_psql($db, 'CREATE EXTENSION vertical_partition');
		if (ref $load)
		{
			$node->command_ok(
				[ 'pgbench', '-q', '-i', @$load, '-p', $node->port, '-h', $node->host, $db ],
				"$name: load");
		}
		else { $node->safe_psql($db, $load) }
		$loaded{$load} = "loaded_$db";
		$node->safe_psql('postgres', "CREATE DATABASE $loaded{$load} TEMPLATE $db");
	}
	$node->safe_psql($db, 'VACUUM ANALYZE');
	$node->safe_psql($db,
		"CREATE EXTENSION compact_types; CREATE EXTENSION toast_policy; CREATE EXTENSION pg_dense");
	$node->safe_psql($db, 'CREATE EXTENSION index_align') if $patched;
	# no extension of these lengths is installed
	$node->safe_psql($db, "SELECT compact_types.create_char(n) FROM unnest(ARRAY[84, 88]) n")
	  if $name eq 'pgbench';
	my $before_dump = dump_of($db);
	my $before = $node->safe_psql($db, $size);
	my %before = map { split /\|/ } split /\n/, $node->safe_psql($db, $each);
	my $begin = time;
	$node->safe_psql($db,
		"SELECT count(*) FROM dense.report(min_bytes => 0, with_risk => $with_risk)");
	cmp_ok(time - $begin, '<=', 62, "$name: the report keeps to its budget");
	# On a busy machine, 60 seconds are too short for the large samples that apply() takes.
	my @rows = map { [ split /\|/, $_, -1 ] } split /\n/,
	  $node->safe_psql($db,
		"SELECT kind, proposal, coalesce((SELECT indrelid::regclass FROM pg_index WHERE indexrelid = relation), relation), bytes_now, bytes_after, server FROM dense.report(budget_seconds => 240, min_bytes => 0, with_risk => $with_risk)"
	  );
	my @apply = grep { $_->[0] eq 'proposal' && ($patched || $_->[5] eq 'stock') } @rows;
	my ($total) = grep { $_->[0] eq 'total' } @rows;
	my %predicted = %before;
	$predicted{ $_->[2] } -= $_->[3] - $_->[4] for @apply;
	is($total->[3], $before, "$name: the total is that of all tables");
	like(join(' ', map { $_->[1] } @apply), $wanted // qr/./, "$name: there are proposals")
	  or diag(join "\n", map { join '|', @$_ } @rows);
	$node->safe_psql($db,
		'CALL dense.apply(' . join(', ', map { "'" . ($_->[1] =~ s/'/''/gr) . "'" } @apply) . ')');
	my $after = $node->safe_psql($db, $size);
	my %after = map { split /\|/ } split /\n/, $node->safe_psql($db, $each);

	for (sort keys %before)
	{
		diag(sprintf '%-24s %12d before, %12d predicted, %12d measured, %+.1f %%',
			"$name.$_", $before{$_}, $predicted{$_}, $after{$_},
			100 * ($predicted{$_} / $after{$_} - 1))
		  if $before{$_} > 1e6;
	}
	my $saved = $before - $after;
	my $foretold = $total->[3] - $total->[4];
	diag(
		sprintf
		  '%s: %d before, %d predicted, %d measured, %+.2f %%; saving %d predicted, %d measured, %+.2f %%',
		$name,
		$before,
		$total->[4],
		$after,
		100 * ($total->[4] / $after - 1),
		$foretold,
		$saved,
		100 * ($foretold / $saved - 1));
	cmp_ok(abs($total->[4] / $after - 1),
		'<=', 0.05, "$name: the predicted total is within 5 % of the measured one");
	cmp_ok(abs($foretold / $saved - 1),
		'<=', 0.05, "$name: the predicted saving is within 5 % of the measured one");
	isnt(dump_of($db), $before_dump, "$name: apply() has changed the schema");
	$node->safe_psql($db, 'CALL dense.undo()');
	is(dump_of($db), $before_dump, "$name: undo() restores the schema");
	is($node->safe_psql($db, 'SELECT count(*) FROM dense.applied'),
		'0', "$name: undo() leaves nothing behind");
	$node->safe_psql('postgres', "DROP DATABASE $db");
}

# dump_of(DATABASE) - its schema, without extensions
sub dump_of
{
	my ($db) = @_;
	my ($out, $err) =
	  run_command([ 'pg_dump', '-s', '-n', 'public', '-p', $node->port, '-h', $node->host, $db ]);
	return $out =~ s/^\\(?:un)?restrict .*\n//gmr;
}

check('pgbench', [ '-s', int(10 * $scale) || 1, '--fillfactor', 100 ], 'true');
check('tpcc', $tpcc, 'false');
check('tpcc with risk', $tpcc, 'true');
check('shop', $shop, 'false');
check('shop with risk', $shop, 'true');
check('documents', $documents, 'false', qr/compact_types.*toast_policy/);
check('split', $hot, 'false', qr/compact_types.*vertical_partition/);

done_testing();
