# Test values of small rows that go out of line while other sessions are at work: the settings change
# while sessions write, an UPDATE waits for another one, two sessions insert the same key, and a
# session decodes the changes.  Rows and decoded changes must be those of a table of heap.
use strict;
use warnings FATAL => 'all';

use IPC::Run ();
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::OutOfLine;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('sessions');
$node->init(allows_streaming => 'logical', extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf',
	"fsync = off\nautovacuum = off\nclient_min_messages = warning\n");
$node->start;
$node->safe_psql('postgres', $functions);
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION toast_policy;
CREATE EXTENSION amcheck;
SQL
my $rows = 'SELECT count(*), md5(string_agg(x::text, \',\' ORDER BY id)) FROM %s x';

#
# The settings change while sessions write.
#
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE busy (id int PRIMARY KEY, version int, n int DEFAULT 0, c text, d text);
CREATE INDEX ON busy (md5(c));
INSERT INTO busy SELECT i, 0, 0, noise(50 + i * 37 % 400, i), noise(150, i) FROM generate_series(1, 60) i;
CREATE TABLE rounds ();
SQL
my $value = 'noise(50 + id * 37 % 400, id + version)';
my %scripts = (
	update => join(
		'',
		"PREPARE u(int, int) AS UPDATE busy SET version = \$2, c = noise(50 + id * 37 % 400, id + \$2) WHERE id = \$1;\n",
		"PREPARE n(int) AS UPDATE busy SET n = n + 1 WHERE id = \$1;\n",
		map {
			my $version = $_;
			map { "EXECUTE u($_, $version); EXECUTE n($_);\n" } 1 .. 60
		} 1 .. 12),
	insert => join(
		'',
		map {
			my $id = 1000 + 3 * $_;
			"INSERT INTO busy SELECT id, 0, 0, $value, 'd' FROM (SELECT id, 0 AS version FROM generate_series($id, $id + 2) id) x;\n"
			  . "INSERT INTO busy VALUES ($id, 1, 0, NULL, NULL) ON CONFLICT (id) DO UPDATE SET n = 5, d = noise(140, 3);\n"
			  . ($_ % 3 ? '' : "DELETE FROM busy WHERE id = $id + 1;\n")
		} 1 .. 250),
	copy => join(
		'',
		map {
			my $id = 10000 + 2 * $_;
			"COPY busy (id, c) FROM stdin;\n$id\t"
			  . 'abcdefgh' x ($_ % 90) . "\n"
			  . ($id + 1)
			  . "\tshort\n\\.\n"
		} 1 .. 250),
	transactions => join(
		'',
		map {
			"BEGIN; SAVEPOINT a; UPDATE busy SET c = noise(333, id) WHERE id BETWEEN 20 AND 22; ROLLBACK TO a; UPDATE busy SET n = n + 1 WHERE id BETWEEN 23 AND 25; COMMIT;\n"
		} 1 .. 250));

# A quick session waits after half of its writes, so that settings change between its writes.
my $wait =
  'DO $$ BEGIN WHILE (SELECT count(*) FROM rounds) < 2 LOOP PERFORM pg_sleep(0.05); END LOOP; END $$;';
my (%logs, @clients);
for my $name (sort keys %scripts)
{
	my $file = $node->basedir . "/$name.sql";
	my @lines = split /^(?=EXECUTE u|INSERT INTO busy SELECT|COPY|BEGIN)/m, $scripts{$name};

	append_to_file($file,
		join('', @lines[ 0 .. $#lines / 2 ], "$wait\n", @lines[ $#lines / 2 + 1 .. $#lines ]));
	push @clients,
	  IPC::Run::start(
		[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, $node->connstr('postgres') ],
		'<', \undef, '>&', \$logs{$name});
}
while (grep { $_->pumpable } @clients)
{
	$node->safe_psql('postgres', $_)
	  for "SELECT toast_policy.enable_out_of_line('busy', 128, 'c')",
	  'ALTER TABLE busy SET (toast_tuple_target = 300)',
	  "SELECT toast_policy.recompress('busy')",
	  "SELECT toast_policy.enable_out_of_line('busy', 128, 'd')",
	  'ALTER TABLE busy RESET (toast_tuple_target)',
	  'VACUUM busy', 'VACUUM FULL busy', "SELECT toast_policy.disable('busy')",
	  'INSERT INTO rounds DEFAULT VALUES';
	$_->pump_nb for grep { $_->pumpable } @clients;
}
$_->finish for @clients;
is(substr(join('', map { $logs{$_} // '' } sort keys %scripts), 0, 2000),
	'', 'writes fail in no session');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM rounds'),
	'>', 1, 'the settings have changed meanwhile');
is( $node->safe_psql(
		'postgres',
		"SELECT count(*), count(*) FILTER (WHERE c IS DISTINCT FROM $value), sum(n) FROM busy WHERE id < 10000"
	),
	join('|', 60 + 750 - 83, 0, 12 * 60 + 5 * 250 + 3 * 250),
	'every value belongs to its row');
is( $node->safe_psql(
		'postgres',
		q{SELECT count(*), count(*) FILTER (WHERE c IS DISTINCT FROM CASE WHEN id % 2 = 1 THEN 'short' ELSE repeat('abcdefgh', (id - 10000) / 2 % 90) END) FROM busy WHERE id >= 10000}
	),
	'500|0',
	'every copied value belongs to its row');
$node->safe_psql('postgres',
	q{SELECT toast_policy.enable_out_of_line('busy', 128, 'c'); SELECT toast_policy.recompress('busy')}
);
is( $node->safe_psql(
		'postgres',
		q{SELECT values_outside('busy') - count(*) FILTER (WHERE octet_length(c) >= 127 AND c !~ '^abcd') FROM busy}
	),
	'0',
	'where the values are');
is($node->safe_psql('postgres', q{SELECT * FROM toast_policy.check('busy', true)}), '', 'amcheck');

# Another session changes the limit between two statements of a transaction.
$node->safe_psql('postgres',
	q{CREATE TABLE changed (id int, c text); SELECT toast_policy.enable_out_of_line('changed', 128, 'c')}
);
my $writer = $node->background_psql('postgres');
my @seen;
$writer->query_safe(q{BEGIN; INSERT INTO changed VALUES (1, noise(200, 1)), (2, noise(600, 1))});
for my $change (
	'SET (toast_tuple_target = 500)',
	'RESET (toast_tuple_target)',
	'SET (toast_tuple_target = 128)')
{
	$node->safe_psql('postgres', "ALTER TABLE changed $change");
	# The lock on another table makes the session notice the change.
	$writer->query_safe(
		q{SELECT pg_relation_size('pg_am'); INSERT INTO changed VALUES (1, noise(200, 1)), (2, noise(600, 1))}
	);
	push @seen, $writer->query_safe(q{SELECT values_outside('changed')});
}
$writer->query_safe('COMMIT');
is("@seen", '3 3 5', 'a new limit applies to the next statement of a transaction');

#
# A statement waits for another session.  "h" is a table of heap, and "d" has values out of line.
#
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE h (id int PRIMARY KEY, n int DEFAULT 0, c text, e text DEFAULT 'e');
CREATE TABLE d (LIKE h INCLUDING ALL);
SELECT toast_policy.enable_out_of_line('d', 128, 'c');
SQL
my $waiter = $node->background_psql('postgres', on_error_stop => 0);
for my $case (
	[ 'SET n = 10', 'UPDATE @ SET n = n + 1 WHERE id = 1 RETURNING *' ],
	[ 'SET c = noise(210, 2)', 'UPDATE @ SET n = n + 1 WHERE id = 1 RETURNING *' ],
	[ "SET c = 'short'", "UPDATE \@ SET c = c || 'x' WHERE id = 1 RETURNING *" ],
	[ 'SET c = noise(210, 2)', "UPDATE \@ SET e = c WHERE id = 1 RETURNING *" ],
	[
		'SET c = noise(210, 2)',
		"UPDATE \@ SET c = o.c FROM \@ o WHERE \@.id = 1 AND o.id = 2 RETURNING \@.*"
	],
	[
		'SET c = noise(210, 2)',
		'UPDATE @ SET n = length(c) WHERE id = 1 AND c <> noise(210, 2) RETURNING *'
	],
	[ 'SET id = 3', 'UPDATE @ SET n = n + 1 WHERE id = 1 RETURNING *' ],
	[ 'SET c = noise(210, 2)', 'DELETE FROM @ WHERE id = 1 RETURNING *' ],
	[ 'SET c = noise(210, 2)', 'SELECT * FROM @ WHERE id = 1 FOR UPDATE' ],
	[
		'SET c = noise(210, 2)',
		"INSERT INTO \@ VALUES (1, 5, noise(220, 3)) ON CONFLICT (id) DO UPDATE SET n = \@.n + 1, e = left(excluded.c || \@.c, 500) RETURNING *"
	],
	[
		'SET c = noise(210, 2)',
		'MERGE INTO @ USING (VALUES (1, noise(230, 4))) s (id, c) ON @.id = s.id WHEN MATCHED AND @.c = noise(210, 2) THEN UPDATE SET c = s.c, e = @.c WHEN MATCHED THEN DELETE'
	])
{
	my ($first, $second) = @$case;
	my %result;

	for my $table (qw(h d))
	{
		for my $end ('COMMIT', 'ROLLBACK')
		{
			$node->safe_psql('postgres',
				"TRUNCATE $table; INSERT INTO $table VALUES (1, 0, noise(200, 1)), (2, 0, noise(200, 22))"
			);
			$writer->query_safe("BEGIN; UPDATE $table $first WHERE id = 1");
			my $sql = $second =~ s/\@/$table/gr;
			$waiter->query_until(qr/waits/, "\\echo waits\nBEGIN; $sql;\n");
			$node->poll_query_until('postgres',
				q{SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)})
			  or die "the statement does not wait: $sql";
			$writer->query_safe($end);
			push @{ $result{$table} }, $waiter->query('SELECT NULL'),
			  $waiter->query_safe($end eq 'COMMIT' ? 'ROLLBACK' : 'COMMIT'),
			  $node->safe_psql('postgres', "SELECT * FROM $table ORDER BY id");
		}
	}
	is_deeply($result{d}, $result{h}, "$first, then $second");
	like("@{ $result{h} }", qr/[\w+\/=]{100}/, 'a value was read');
}
$node->safe_psql('postgres', 'VACUUM d');
is($node->safe_psql('postgres', q{SELECT * FROM toast_policy.check('d', true)}), '', 'amcheck');

# Two sessions insert the same key, and neither sees the other one before its own row is in the
# table.  The row of the second session, with its value, is taken back.  The locks are those of
# PostgreSQL's own test insert-conflict-specconflict: lock 2 lets a session go on after it has looked
# for a conflict, and lock 3 after it has written the row.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION wait(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
	session int := current_setting('test.session')::int;
BEGIN
	IF pg_try_advisory_xact_lock(session, 1) THEN PERFORM pg_advisory_xact_lock(session, 2);
	ELSE PERFORM pg_advisory_xact_lock(session, 3);
	END IF;
	RETURN $1;
END $$;
SQL
for my $table (qw(races_h races_d))
{
	$node->safe_psql(
		'postgres',
		"CREATE TABLE $table (id int, key text, c text); CREATE UNIQUE INDEX ON $table (wait(key));"
		  . (
			$table eq 'races_d'
			? "SELECT toast_policy.enable_out_of_line('races_d', 128, 'c')"
			: ''));
	my ($control, @sessions) = map { $node->background_psql('postgres') } 0 .. 2;
	my $waiting = sub {
		my ($count) = @_;
		$node->poll_query_until('postgres',
			"SELECT count(*) = $count FROM pg_locks WHERE locktype IN ('advisory', 'transactionid', 'speculative token') AND NOT granted"
		) or die "$count sessions do not wait";
	};

	$control->query_safe(
		'SELECT pg_advisory_lock(s, l) FROM generate_series(1, 2) s, generate_series(1, 3) l');
	for my $session (1, 2)
	{
		$sessions[ $session - 1 ]->query_safe("SET test.session = $session");
		$sessions[ $session - 1 ]->query_until(qr/inserts/,
			"\\echo inserts\nINSERT INTO $table VALUES ($session, 'key', noise(200, $session)) ON CONFLICT (wait(key)) DO UPDATE SET id = $table.id + 10, c = $table.c || excluded.c;\n"
		);
	}
	# Both sessions look for a conflict first, and wait on lock 3.
	$waiting->(2);
	$control->query_safe('SELECT pg_advisory_unlock(s, 1) FROM generate_series(1, 2) s');
	$control->query_safe('SELECT pg_advisory_unlock(s, 3) FROM generate_series(1, 2) s');
	# Both have written a row, and wait on lock 2 before they write the index entry.
	$node->poll_query_until('postgres',
		q{SELECT count(*) = 2 FROM pg_locks WHERE locktype = 'advisory' AND objid = 2 AND NOT granted}
	) or die 'the sessions do not come to the index';
	$control->query_safe('SELECT pg_advisory_unlock(1, 2)');
	$sessions[0]->query_safe('SELECT 1');
	$control->query_safe('SELECT pg_advisory_unlock(2, 2)');
	$sessions[1]->query_safe('SELECT 1');
	$_->quit for $control, @sessions;
}
is( $node->safe_psql(
		'postgres',
		'SET test.session = 9; SELECT id, c = noise(200, 1) || noise(200, 2) FROM races_d; SELECT id, c = noise(200, 1) || noise(200, 2) FROM races_h'
	),
	"11|t\n11|t",
	'both sessions insert a key');
is($node->safe_psql('postgres', q{SELECT values_outside('races_d')}),
	'1', 'the value of the row that was taken back is gone');
my $toast = $node->safe_psql('postgres',
	q{SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'races_d'::regclass});
$node->safe_psql('postgres', 'CREATE EXTENSION pageinspect');
# Count the rows of all pages: sessions that write at the same time may write to different pages.
is( $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM generate_series(1, pg_relation_size('$toast') / 8192) n, heap_page_items(get_raw_page('$toast', n::int - 1)) WHERE lp_flags = 1"
	),
	'3',
	'it was in the TOAST table');
$_->quit for $writer, $waiter;

#
# Logical decoding
#
$node->safe_psql('postgres', <<'SQL');
DROP TABLE h, d;
CREATE TABLE h (id int PRIMARY KEY, n int DEFAULT 0, c text, e text DEFAULT 'e');
CREATE TABLE d (LIKE h INCLUDING ALL);
SELECT toast_policy.enable_out_of_line('d', 128, 'c');
SELECT FROM pg_create_logical_replication_slot('slot', 'test_decoding');
SQL
my $copy = join '', map {
	"$_\t0\t"
	  . ($_ % 3 ? "${_}Abcdefghi" x 4 : join('', 'A' .. 'Z', 'a' .. 'z', 1 .. 60)) . "\te\n"
} 101 .. 120;
my $changes = <<"SQL";
INSERT INTO \@ SELECT i, 0, noise(100 * i, i) FROM generate_series(1, 6) i;
COPY \@ FROM stdin;
$copy\\.
BEGIN;
UPDATE \@ SET c = noise(170, id) WHERE id = 1;
SAVEPOINT a;
UPDATE \@ SET c = noise(180, id) WHERE id = 2;
ROLLBACK TO a;
UPDATE \@ SET c = c || 'x' WHERE id = 3;
COMMIT;
DELETE FROM \@ WHERE id = 4;
INSERT INTO \@ VALUES (5, 7, noise(190, 5)) ON CONFLICT (id) DO UPDATE SET c = excluded.c, n = excluded.n;
INSERT INTO \@ VALUES (200, 7, noise(190, 5)) ON CONFLICT DO NOTHING;
MERGE INTO \@ USING (SELECT i, noise(195, i) FROM generate_series(6, 7) i) s (id, c) ON \@.id = s.id WHEN MATCHED THEN UPDATE SET c = s.c WHEN NOT MATCHED THEN INSERT (id, c) VALUES (s.id, s.c);
UPDATE \@ SET id = 300, c = noise(165, 1) WHERE id = 2;
SQL
# These change other columns.
my $others = <<'SQL';
UPDATE @ SET n = n + 1;
UPDATE @ SET e = 'other' WHERE id > 100;
UPDATE @ SET id = id + 1000 WHERE id IN (5, 300);
SQL

# Run statements on both tables; return the decoded changes of each.
sub decoded
{
	my ($statements) = @_;
	my %decoded;

	for my $table (qw(h d))
	{
		$node->safe_psql('postgres', $statements =~ s/\@/$table/gr);
		my $data = $node->safe_psql('postgres',
			q{SELECT data FROM pg_logical_slot_get_changes('slot', NULL, NULL, 'include-xids', '0', 'skip-empty-xacts', '1')}
		) =~ s/table public\.$table:/table:/gr;
		# The tables have their rows in another order.
		$decoded{$table} = join "\n", sort split /\n/, $data;
	}
	return @decoded{qw(h d)};
}
my ($h, $d) = decoded($changes);
is($d, $h, 'decoded: changes of the values');
like($d, qr/INSERT.*\n.*INSERT/, 'decoded: there are changes');
($h, $d) = decoded($others);
my $unchanged = () = $d =~ /c\[text\]:unchanged-toast-datum/g;
my $out = $node->safe_psql('postgres', q{SELECT values_outside('d')});
cmp_ok($unchanged, '>=', $out, 'decoded: an unchanged value out of line is not in the change');
isnt($d, $h, 'decoded: it is in the change of a table of heap');
is( $d,
	$h =~ s/(?<=c\[text\]:)'(?:[^']{127,})'/unchanged-toast-datum/gr,
	'decoded: everything else is as in a table of heap');
# With the whole old row, the value is in the change.
$node->safe_psql('postgres', "ALTER TABLE $_ REPLICA IDENTITY FULL") for qw(h d);
($h, $d) =
  decoded($others =~ s/1000/2000/r =~ s/5, 300/1005, 1300/r . 'DELETE FROM @ WHERE id = 6;');
# test_decoding prints the old row, then the new one.
is( $d,
	$h =~ s/(?<=new-tuple: )(.*?c\[text\]:)'[^']{127,}'/$1unchanged-toast-datum/gr,
	'decoded: REPLICA IDENTITY FULL');
is( $node->safe_psql('postgres', sprintf $rows, 'd'),
	$node->safe_psql('postgres', sprintf $rows, 'h'),
	'the rows are the same');

#
# Caches that are discarded at each opportunity, if the server can
#
my ($ret, $stdout, $stderr) = $node->psql('postgres', 'SET debug_discard_caches = 1');
if ($ret == 0)
{
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE discards (id int PRIMARY KEY, n int DEFAULT 0, c text, e text);
SELECT toast_policy.enable_out_of_line('discards', 128, 'c');
SET debug_discard_caches = 1;
INSERT INTO discards SELECT i, 0, noise(100 * i, i), noise(100, i) FROM generate_series(1, 4) i;
UPDATE discards SET n = n + 1;
UPDATE discards SET c = noise(200, 1), e = noise(2500, 1) WHERE id = 1;
COPY discards FROM stdin;
10	0	short	e
11	0	Lorem ipsum dolor sit amet consetetur sadipscing elitr sed diam nonumy eirmod tempor invidunt ut labore et dolore magna aliquyam erat 1234567890	e
\.
VACUUM FULL discards;
SQL
	is( $node->safe_psql(
			'postgres',
			q{SELECT values_outside('discards'), count(*), bool_and(id > 4 OR c = noise(CASE id WHEN 1 THEN 200 ELSE 100 * id END, id)) FROM discards}
		),
		'6|6|t',
		'with debug_discard_caches');
}
else
{
	like($stderr, qr/debug_discard_caches/, 'the server cannot discard caches');
}

$node->stop;
done_testing();
