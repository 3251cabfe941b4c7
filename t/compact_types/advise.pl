# Check compact_types.advise() and convert() on tables with rows.
#
# - The predicted number of pages is right: a table that is built as proposed has this number of
#   pages.
# - Another session sees the progress of a conversion, also of one that runs within another one.
# - Advice on all tables does not wait for a lock.
# - No row is lost, whether a session writes it before a conversion or waits for the conversion
#   first.
# - A conversion that fails or is cancelled leaves everything as it was.
use strict;
use warnings FATAL => 'all';

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('advise');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION compact_types');

sub query { return $node->safe_psql('postgres', $_[0]); }

# Start a session that runs the statements.  Keep its output.
sub session
{
	my @statements = map { ('-c', $_) } @_;
	my %self = (out => '');

	$self{handle} = IPC::Run::start(
		[
			'psql', '-X', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'),
			@statements
		],
		'<',
		\undef,
		'>&',
		\$self{out},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return \%self;
}

sub finish_session
{
	my ($self) = @_;

	IPC::Run::finish($self->{handle});
	return $self->{out};
}

#
# Prediction
#
my %tables = (
	# NULLs, columns of mixed widths and alignments
	mixed => [
		'id int NOT NULL, flag bool, code char(24), n8 bigint, small int, v varchar(40), f float8, c1 char(1), d date',
		q{
		SELECT i, i % 3 = 0, nullif('code ' || i, 'code 7'), CASE WHEN i % 4 > 0 THEN i % 1000 END, nullif(i % 100, 7),
		  CASE WHEN i % 5 > 0 THEN repeat('item ', i % 8) || i END, CASE WHEN i % 2 = 0 THEN i END, 'a', DATE '2026-01-01' + i % 900
		FROM generate_series(1, 30000) i}
	],
	# text of different lengths in bytes and characters
	multibyte => [
		'a text, n int, b varchar(80), c char(10), k bigint NOT NULL', q{
		SELECT repeat(U&'\3053\3093\306B\3061\306F', i % 9), i % 50, 'Grüße aus Köln, Straße ' || i, CASE WHEN i % 2 = 0 THEN 'äöü' ELSE 'abc' END, i
		FROM generate_series(1, 20000) i}
	],
	# values that are compressed or moved out of line
	wide => [
		'id int, body text, note varchar(3000), s char(16)', q{
		SELECT i, CASE i % 4 WHEN 0 THEN repeat(md5(i::text), 30) WHEN 1 THEN (SELECT string_agg(md5((i * j)::text), '') FROM generate_series(1, 60 + i % 40) j)
		  WHEN 2 THEN 'short ' || i END, repeat('the quick brown fox ', i % 120), 'key ' || i
		FROM generate_series(1, 4000) i},
		'ALTER TABLE %s ADD PRIMARY KEY (id); CLUSTER wide USING wide_pkey'
	],
	# rows that have a NULL bitmap only because of a dropped column, and pages that are not filled
	dropped => [
		'x int, a smallint, gone text, b bigint, c char(8), d smallint, e bigint, f bool, g bool',
		q{
		SELECT i, i % 100, repeat('g', 30), i, 'c' || i % 1000, i % 7, 100000000000 + i, true, false FROM generate_series(1, 20000) i},
		'ALTER TABLE %s DROP COLUMN gone, SET (fillfactor = 70)'
	],
	# only narrow columns: a page holds as many rows as possible
	narrow => [
		'a int, b int, c int',
		'SELECT i % 50, nullif(i % 60, 0), i % 70 FROM generate_series(1, 60000) i'
	]);

sub within
{
	my ($predicted, $actual, $name) = @_;
	my $ok = abs($predicted - $actual) <= 0.01 * $actual;

	ok($ok, $name) or diag("predicted $predicted pages, there are $actual");
}

for my $table (sort keys %tables)
{
	my ($columns, $select, $then) = @{ $tables{$table} };

	query("CREATE TABLE $table ($columns); INSERT INTO $table $select");
	query(sprintf($then, $table)) if $then;

	my $advice =
	  sub { query("SELECT $_[0] FROM compact_types.advise_table('$table'$_[1], narrow => true)") };
	my ($now, $after, $reordered, $order) = split /\|/,
	  $advice->(
		q{heap_pages_now, heap_pages_after, heap_pages_reordered, array_to_string(column_order, ', ')},
		'');
	my $part = $advice->('heap_pages_after', ', sample_pages => ' . int($now / 3));
	# Compare the values as text, because the types of the columns differ between the tables.
	my $fields = join(", '|', ", map { 'rtrim(' . $_ . '::text)' } split(/, /, $order));
	my $contents = sub {
		query(
			"SELECT md5(string_agg(c, '|' ORDER BY c)) FROM (SELECT concat($fields) AS c FROM $_[0]) s"
		);
	};
	my $before = $contents->($table);

	# Build the new table as proposed, and let INSERT fill it.
	query($advice->('create_statement', ''));
	query("INSERT INTO ${table}_compact ($order) SELECT $order FROM $table");
	# If rows differ much in size, INSERT puts small rows on earlier pages.  CLUSTER puts the rows
	# back in order.
	query("CREATE INDEX wide_id ON wide_compact (id); CLUSTER wide_compact USING wide_id")
	  if $table eq 'wide';
	within(
		$reordered,
		query("SELECT pg_relation_size('${table}_compact') / 8192"),
		"$table: pages of the new table");
	is($contents->("${table}_compact"), $before, "$table: contents of the new table");

	# Check the number of pages with the present types, after free space has been removed.
	query("VACUUM FULL $table");
	within(
		$now,
		query("SELECT pg_relation_size('$table') / 8192"),
		"$table: pages of the table with its present types");

	# The rewrite may extend the file by more pages than it fills.
	query("SELECT * FROM compact_types.convert('$table', narrow => true)");
	my $pages = query("SELECT max((ctid::text::point)[0]) + 1 FROM $table");
	within($after, $pages, "$table: pages of the converted table");
	is($contents->($table), $before, "$table: contents of the converted table");
	cmp_ok(
		abs($part - $pages),
		'<=',
		0.03 * $pages,
		"$table: a sample of the pages gives a similar number");
	cmp_ok($after, '<=', $now, "$table: the converted table is not larger");
	cmp_ok($reordered, '<=', $after, "$table: the best order of columns is not larger");
	is(query("SELECT count(*) FROM compact_types.convert('$table', narrow => true)"),
		0, "$table: no column is left to convert");
}

SKIP:
{
	skip 'no ICU', 1 if query(q{SELECT count(*) FROM pg_collation WHERE collprovider = 'i'}) == 0;
	query(<<'SQL');
CREATE COLLATION nondeterministic (provider = icu, locale = 'und', deterministic = false);
CREATE TABLE folded (t text COLLATE nondeterministic, c char(9) COLLATE nondeterministic);
INSERT INTO folded VALUES ('some text', 'chars');
SQL
	is( query(
			q{SELECT string_agg(format('%s: %s %s', column_name, proposed_type, blockers), ', ') FROM compact_types.advise('folded', narrow => true)}
		),
		't:  {"nondeterministic collation"}, c:  {"nondeterministic collation"}',
		'columns with a nondeterministic collation get no proposal');
}

#
# Progress: A conversion evaluates the CHECK constraint again for each row.  The function of the
# constraint waits at a row that the test chooses.
#
query(<<'SQL');
CREATE FUNCTION hold(c text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
  IF c = current_setting('test.hold', true) THEN
    PERFORM pg_advisory_xact_lock_shared(1);
  ELSIF c = current_setting('test.fail', true) THEN
    RAISE 'row % is refused', c;
  ELSIF c = current_setting('test.nest', true) THEN
    PERFORM compact_types.convert('public.small', narrow => true);
  ELSIF c = current_setting('test.catch', true) THEN
    BEGIN
      PERFORM compact_types.revert('public.small');
      RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
      NULL;
    END;
  END IF;
  RETURN true;
END $$;
CREATE TABLE big (id int PRIMARY KEY, c char(33) CHECK (hold(c)), n int);
INSERT INTO big SELECT i, 'row ' || i, i % 10 FROM generate_series(1, 1000) i;
CREATE INDEX big_c ON big (c);
CREATE VIEW big_view AS SELECT c, n FROM big;
SQL

my $state = q{SELECT relfilenode, (SELECT md5(string_agg(big::text, '|' ORDER BY id)) FROM big),
  (SELECT string_agg(indexrelid::text || pg_relation_filenode(indexrelid), ',' ORDER BY 1) FROM pg_index WHERE indrelid = 'big'::regclass),
  (SELECT array_agg(attname || format_type(atttypid, atttypmod) ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'big'::regclass),
  'big_view'::regclass::oid, pg_get_viewdef('big_view'::regclass), (SELECT array_agg(extname ORDER BY 1) FROM pg_extension)
  FROM pg_class WHERE oid = 'big'::regclass};
my $state_before = query($state);

# A conversion that fails in the middle changes nothing.
my ($ret, $stdout, $stderr) = $node->psql(
	'postgres',
	q{SET test.fail = 'row 800'; SELECT * FROM compact_types.convert('big', narrow => true); SELECT 'not reached'},
	on_error_stop => 0);
like($stderr, qr/row row 800 is refused/, 'the conversion fails in the middle');
is(query($state), $state_before, 'a failed conversion changes nothing');

# A conversion that is cancelled changes nothing.
my $lock = session(q{SELECT pg_advisory_lock(1), pg_sleep(3600)});
$node->poll_query_until('postgres',
	q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND granted})
  or die 'the lock was not taken';
my $converting = session(q{SET test.hold = 'row 500'},
	q{SELECT column_name, new_type FROM compact_types.convert('big', narrow => true)});
my $rows =
  q{SELECT format('%s %s %s of %s: %s', command, relid::regclass, tuples_done, tuples_total, phase) FROM compact_types.progress};
ok( $node->poll_query_until(
		'postgres', "SELECT ($rows) = 'convert big 500 of 1000: rewriting rows'"),
	'progress shows the progress to another session');
is(query(q{SELECT count(*) FROM pg_stat_progress_cluster WHERE relid = 'big'::regclass}),
	1, 'pg_stat_progress_cluster shows the conversion, too');
query(q{SELECT pg_cancel_backend(pid) FROM compact_types.progress});
like(
	finish_session($converting),
	qr/canceling statement due to user request/,
	'the conversion is cancelled');
is(query($state), $state_before, 'a cancelled conversion changes nothing');
is(query('SELECT count(*) FROM compact_types.progress'),
	0, 'progress is empty after the cancellation');

# A conversion succeeds although one session has written to the table and has not committed yet, and
# another session waits for the conversion.
my $first = session(
	q{SET application_name = 'first'},
	q{BEGIN},
	q{INSERT INTO big VALUES (1001, 'before', 1)},
	q{SELECT pg_sleep(2)}, q{COMMIT});
$node->poll_query_until('postgres',
	q{SELECT query ~ 'pg_sleep' FROM pg_stat_activity WHERE application_name = 'first'})
  or die 'the first writer did not write';
$converting = session(q{SET test.hold = 'row 500'},
	q{SELECT column_name, new_type FROM compact_types.convert('big', narrow => true)});
ok( $node->poll_query_until(
		'postgres', "SELECT ($rows) ~ 'convert big 500 of 1001: rewriting rows'"),
	'progress shows the progress of the second conversion');
my $second =
  session(q{SET application_name = 'second'}, q{INSERT INTO big VALUES (1002, 'behind', 1)});
ok( $node->poll_query_until(
		'postgres',
		q{SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE application_name = 'second'}),
	'a session that writes waits for the conversion');
query(
	q{SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND granted}
);
eval { finish_session($lock) };
like(finish_session($converting), qr/c\|compact_char33\nn\|/, 'the conversion succeeds');
finish_session($_) for $first, $second;
is(query(q{SELECT count(*), count(*) FILTER (WHERE c IN ('before', 'behind')) FROM big}),
	'1002|2', 'no row is lost');
is(query(q{SELECT count(*) FROM big_view WHERE c = 'behind'::text}), 1, 'the view exists again');
is(query('SELECT count(*) FROM compact_types.progress'),
	0, 'progress is empty after the conversion');

# The view shows revert(), too, with the number of rows that the last ANALYZE has found.  A role
# without the privilege to see the statistics of others does not see the row.
query('CREATE ROLE stranger');
$lock = session(q{SELECT pg_advisory_lock(1), pg_sleep(3600)});
$node->poll_query_until('postgres',
	q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND granted})
  or die 'the lock was not taken';
my $reverting = session(q{SET test.hold = 'row 500'},
	q{SELECT column_name, new_type FROM compact_types.revert('big')});
ok( $node->poll_query_until(
		'postgres', "SELECT ($rows) = 'revert big 500 of 1001: rewriting rows'"),
	'progress shows the progress of revert()');
is(query('SET ROLE stranger; SELECT count(*) FROM compact_types.progress'),
	0, 'progress does not show the details to another role');
query(
	q{SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND granted}
);
eval { finish_session($lock) };
is(finish_session($reverting), "SET\nc|character(33)\nn|integer\n|\n", 'revert() succeeds');

# Within a conversion, the function of a constraint converts another table, or catches an error.  The
# report of the outer conversion comes back, with all rows.
query(<<'SQL');
CREATE TABLE small (c char(33));
INSERT INTO small SELECT i FROM generate_series(1, 100) i;
CREATE INDEX ON small (c);
CREATE TABLE outside (id int PRIMARY KEY, c char(33) CHECK (hold(c)));
INSERT INTO outside SELECT i, 'row ' || i FROM generate_series(1, 1000) i;
SQL
my $holder = $node->background_psql('postgres');
for my $within (qw(nest catch))
{
	$holder->query_safe('SELECT pg_advisory_lock(1)');
	$converting = session(
		q{SET test.hold = 'row 500'},
		"SET test.$within = 'row 300'",
		q{SELECT column_name, new_type FROM compact_types.convert('outside', narrow => true)});
	ok( $node->poll_query_until(
			'postgres', "SELECT ($rows) = 'convert outside 500 of 1000: rewriting rows'"),
		"progress shows the outer conversion after an inner one ($within)");
	$holder->query_safe('SELECT pg_advisory_unlock(1)');
	like(finish_session($converting),
		qr/c\|compact_char33/, "the outer conversion succeeds ($within)");
	is(query('SELECT count(*) FROM compact_types.progress'), 0, "progress is empty ($within)");
	is( query(
			q{SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'small'::regclass AND attname = 'c'}
		),
		'compact_char33',
		"the inner conversion was done, and not reverted ($within)");
	query(q{SELECT compact_types.revert('outside')});
}

# Advice on all tables says which tables it has left out because of a lock.
$holder->query_safe('BEGIN; LOCK TABLE outside');
for my $function (qw(advise advise_table))
{
	my $left_out =
	  "SET statement_timeout = '100s'; SELECT count(*), min(reason) FROM compact_types.$function() WHERE relation = 'outside'::regclass";

	is( query($left_out),
		'1|another session has locked the table',
		"$function(): the table is locked");
}
$holder->query_safe('ROLLBACK; BEGIN; REINDEX INDEX outside_pkey');
is( query(
		q{SET statement_timeout = '100s'; SELECT count(*), min(reason) FROM compact_types.advise() WHERE relation = 'outside'::regclass}
	),
	'1|another session has locked an index or a view of the table',
	'advise(): an index is locked');
is( query(
		q{SET lock_timeout = '7s'; SELECT count(*) > 1 FROM compact_types.advise(); SHOW lock_timeout}
	),
	"t\n7s",
	'lock_timeout is as before');
$holder->quit;

# A policy is dropped while an older snapshot still sees it.
query(
	q{CREATE TABLE watched (c char(8)); INSERT INTO watched VALUES ('c'); CREATE POLICY going ON watched USING (c <> '')}
);
my $connstr = $node->connstr('postgres');
($ret, $stdout, $stderr) = $node->psql('postgres', <<"SQL");
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 1;
\\! psql -X -q -d "$connstr" -c "DROP POLICY going ON watched"
SELECT proposed_type, blockers FROM compact_types.advise('watched', narrow => true);
SQL
is($stdout, "1\ncompact_char8|{}",
	'advise() works in a transaction that still sees a dropped policy');
is($stderr, '', 'advise() has no error there');

# A standby gives advice, but cannot convert.
query(q{CREATE UNLOGGED TABLE unlogged (c char(8))});
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('advise_standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
my $advice =
  q{SELECT heap_pages_after FROM compact_types.advise_table('mixed_compact', narrow => true)};
is($standby->safe_psql('postgres', $advice),
	query($advice), 'advise_table() on a standby gives the same advice');
($ret, $stdout, $stderr) =
  $standby->psql('postgres', q{SELECT compact_types.convert('mixed_compact', narrow => true)});
like(
	$stderr,
	qr/cannot execute compact_types\.convert\(\) (during recovery|in a read-only transaction)/,
	'convert() fails on a standby');
($ret, $stdout, $stderr) =
  $standby->psql('postgres', q{SELECT compact_types.advise('unlogged', narrow => true)});
like(
	$stderr,
	qr/cannot access temporary or unlogged relations during recovery/,
	'advise() on an unlogged table fails on a standby');
$standby->stop;

$node->stop;
done_testing();
