# PgDense::Bgvacuum - functions that the tests of bgvacuum_patch share
#
# The functions start servers whose bgwriter prunes as much and as soon as it can, read the counters
# of background vacuum, and check that no row is lost and that no deleted row comes back.
#
# bgwriter prunes a dirty page and then writes the page.  If a snapshot can still see a deleted row
# at that time, bgwriter can prune the row only after the page has become dirty again.
package PgDense::Bgvacuum;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Spec;
use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

our @EXPORT =
  qw(bgvacuum_conf bgvacuum_node server_library bgvacuum_stats wait_for_stat wait_for_prunes wait_for_rounds
  hold_horizon line_pointers wait_for_tuples check_heaps check_indexes check_rows bad_log_lines check_log set_parameters
  ledger_tables ledger_load ledger_finish check_ledger normalize_core tests_without_force
  tests_without_bgvacuum);

# tests_without_force() - return core's TAP tests that cannot run while bgwriter prunes every page that
# it can: one expects that a standby's cursor conflicts with VACUUM and not with an earlier freeze, and
# the others that pages are not pruned, or are not all-visible
sub tests_without_force
{
	return (
		'src/test/recovery/t/031_recovery_conflict.pl',
		'src/bin/pg_amcheck/t/004_verify_heapam.pl',
		'src/bin/pg_combinebackup/t/012_vm_consistency.pl',
		'contrib/amcheck/t/001_verify_heapam.pl');
}

# tests_without_bgvacuum() - return core's TAP test that expects that no WAL is written between two
# statements, however long the machine takes to run them
sub tests_without_bgvacuum
{
	return ('src/test/recovery/t/026_overwrite_contrecord.pl');
}

# normalize_core(TEXT) - return output of core's tests without the parts that background vacuum may
# change
#
# Updated rows may move to space that a stock server would not have found.  Queries then return the
# rows in another order: see $PgDense::Core::any_order.  n_dead_tup of the isolation test "stats"
# may be lower.  Tables may be all-visible before a vacuum, so that the planner chooses index-only
# scans.  So remove the plans, and compare only the results of the queries.  For the same reason,
# index-only scans of the isolation test "horizons" may fetch fewer rows from the heap before the
# test deletes rows.  What they fetch afterwards must be the same: it shows which rows are kept.
sub normalize_core
{
	my ($text) = @_;

	$text =~ s/^((?: *\d+\|){6}) *\d+(\| *\d+)$/$1-$2/mg;
	$text = join '', map {
		my ($before, $after) = /^(.*?)(^step pruner_delete: .*)?\z/ms;
		$before =~ s/('Heap Fetches';\n\n\?column\?\n-+\n) *\d+\n/$1-\n/g;
		$before . ($after // '')
	} split /^(?=starting permutation: )/m, $text;
	$text =~ s/^ +QUERY PLAN *\n-+\n.*?^\(\d+ rows?\)\n/PLAN\n/msg;
	return $text;
}

# bgvacuum_conf([SHARED_BUFFERS]) - return settings with which bgwriter prunes every page that it
# safely can, within about ten milliseconds
sub bgvacuum_conf
{
	my ($shared_buffers) = @_;

	$shared_buffers //= '2MB';
	return <<"CONF";
fsync = off
shared_buffers = $shared_buffers
bgwriter_delay = 10ms
bgwriter_lru_maxpages = 1000
bgvacuum = on
debug_bgvacuum = on
max_prepared_transactions = 20
checkpoint_timeout = 1h
log_statement = none
log_lock_waits = off
log_checkpoints = off
restart_after_crash = off
CONF
}

# bgvacuum_node(NAME, OPTION => VALUE...) - start a node on which bgwriter prunes all that it can,
# with the extensions that this module needs in database postgres and in template1
#
#	shared_buffers	2MB if not given
#	autovacuum		true: leave autovacuum on
#	conf			more settings, after those of bgvacuum_conf()
#	init			a list of arguments of init()
#	no_checksums	true: no data checksums, because the test changes pages in the files
#	prepare			a function that is called with the node before it is started
#	path			another installation than the tested one
sub bgvacuum_node
{
	my ($name, %options) = @_;
	my $node =
	  PostgreSQL::Test::Cluster->new($name, $options{path} ? (install_path => $options{path}) : ());

	# From 18 on, initdb enables checksums by default.
	my @init = $options{no_checksums}
	  && $node->pg_version->major >= 18 ? (extra => ['--no-data-checksums']) : ();
	$node->init(@{ $options{init} // [] }, @init);
	$node->append_conf('postgresql.conf', bgvacuum_conf($options{shared_buffers}));
	$node->append_conf('postgresql.conf', "autovacuum = off\n") if !$options{autovacuum};
	$node->append_conf('postgresql.conf', $options{conf}) if defined $options{conf};
	$options{prepare}->($node) if $options{prepare};
	$node->start;

	for my $database ('template1', 'postgres')
	{
		$node->safe_psql($database,
			'CREATE EXTENSION bgvacuum; CREATE EXTENSION amcheck; CREATE EXTENSION pageinspect; CREATE EXTENSION pg_visibility'
		);
	}
	return $node;
}

# server_library(SOURCE) - compile a file of t/bgvacuum_patch into a library for sessions to load
sub server_library
{
	my ($source) = @_;
	my $library = PostgreSQL::Test::Utils::tempdir() . '/' . ($source =~ s/\.c$/.so/r);
	my $top = $ENV{PGDENSE_TOP} // File::Spec->rel2abs("$FindBin::RealBin/../..");
	my ($cc) = `pg_config --cc` =~ /(.+)/;
	my ($include) = `pg_config --includedir-server` =~ /(.+)/;

	# Use the compiler of the server, but without ccache.
	$cc =~ s/^\S*ccache\s+//;
	system_or_bail(
		split(/ /, $cc),
		qw(-std=gnu11 -O2 -Wall -Wextra -Wno-unused-parameter -Werror -shared -fPIC),
		"-I$include", '-o', $library, "$top/t/bgvacuum_patch/$source");
	return $library;
}

# set_parameters(NODE, NAME => VALUE...) - set parameters, reload them, and give all processes time
# to read them
sub set_parameters
{
	my ($node, %parameters) = @_;

	$node->safe_psql('postgres', join '',
		map { "ALTER SYSTEM SET $_ = '$parameters{$_}';\n" } sort keys %parameters);
	$node->reload;
	usleep(100_000);
	return;
}

# bgvacuum_stats(NODE) - return the row of pg_stat_bgvacuum as a hash
sub bgvacuum_stats
{
	my ($node) = @_;
	my @names =
	  qw(rounds candidates pages_pruned tuples_removed items_dead bytes_freed pages_visible pages_frozen
	  pages_published pages_reused pages_lost skipped_unstamped skipped_little skipped_clean skipped_recent skipped_locked skipped_image skipped_multixact);
	my @values = split /\|/,
	  $node->safe_psql('postgres', 'SELECT ' . join(', ', @names) . ' FROM pg_stat_bgvacuum');

	return { map { $names[$_] => $values[$_] } 0 .. $#names };
}

# wait_for_stat(NODE, NAME, MORE[, STATS[, EACH]]) - wait until a counter has grown by MORE since
# STATS or since now, and call EACH meanwhile; return false after a timeout
sub wait_for_stat
{
	my ($node, $name, $more, $from, $each) = @_;
	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;

	$from //= bgvacuum_stats($node);
	while (time() < $deadline)
	{
		$each->() if $each;
		my $now = bgvacuum_stats($node);
		return 1 if $now->{$name} - $from->{$name} >= $more;
		usleep(20_000);
	}
	diag "no $more more $name than $from->{$name} in time: " . bgvacuum_stats($node)->{$name};
	return 0;
}

# wait_for_prunes(NODE, MORE[, STATS]) - wait until MORE more pages were pruned
sub wait_for_prunes
{
	my ($node, $more, $from) = @_;

	return wait_for_stat($node, 'pages_pruned', $more, $from);
}

# wait_for_rounds(NODE[, MORE[, STATS]]) - wait for MORE more rounds of bgwriter, three by default;
# after three rounds bgwriter has seen all earlier changes
sub wait_for_rounds
{
	my ($node, $more, $from) = @_;

	return wait_for_stat($node, 'rounds', $more // 3, $from);
}

# hold_horizon(NODE[, DATABASE]) - return a session with a snapshot; until the session ends, rows
# that are deleted from now on are not pruned
sub hold_horizon
{
	my ($node, $database) = @_;
	my $session = $node->background_psql($database // 'postgres');

	$session->query_safe(
		'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_catalog.pg_current_snapshot()');
	return $session;
}

# line_pointers(NODE, RELATION[, DATABASE]) - return the number of line pointers of each kind, as a
# hash: normal, redirect, dead, unused.  The function only reads the pages, and prunes nothing.
sub line_pointers
{
	my ($node, $relation, $database) = @_;
	my %count = (unused => 0, normal => 0, redirect => 0, dead => 0);

	for (split /\n/, $node->safe_psql($database // 'postgres', <<"SQL"))
SELECT lp_flags, count(*)
FROM generate_series(0, pg_relation_size('$relation') / 8192 - 1) block, heap_page_items(get_raw_page('$relation', block::int))
GROUP BY 1
SQL
	{
		my ($flags, $number) = split /\|/;
		$count{ (qw(unused normal redirect dead))[$flags] } = $number;
	}
	return \%count;
}

# wait_for_tuples(NODE, RELATION, NUMBER[, DATABASE]) - wait until the relation's pages have only
# NUMBER tuples, dead or alive; return false after a timeout, or if there are fewer tuples
sub wait_for_tuples
{
	my ($node, $relation, $number, $database) = @_;
	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $found;

	while (time() < $deadline)
	{
		$found = line_pointers($node, $relation, $database)->{normal};
		return 1 if $found == $number;
		last if $found < $number;
		usleep(50_000);
	}
	my $stats = bgvacuum_stats($node);
	diag "$relation has $found tuples, not $number: " . join ', ',
	  map { "$_ $stats->{$_}" } sort keys %$stats;
	return 0;
}

# check_heaps(NODE, NAME[, DATABASE]) - test that verify_heapam finds nothing in any heap, and that
# the visibility map is right
sub check_heaps
{
	my ($node, $name, $database) = @_;
	my ($code, $out, $err) = $node->psql($database // 'postgres', <<'SQL');
SELECT c.oid::pg_catalog.regclass, v.*
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_am a ON a.oid = c.relam, verify_heapam(c.oid, check_toast => true) v
WHERE a.amname = 'heap' AND c.relkind IN ('r', 'm', 't') AND c.relpersistence <> 't'
  AND (c.relpersistence = 'p' OR NOT pg_catalog.pg_is_in_recovery())
SQL
	is("$code $err$out", '0 ', "$name: verify_heapam is content");

	# A standby does not know which transactions are running.
	my $visible = <<'SQL';
SELECT c.oid::pg_catalog.regclass, 'not visible', t FROM pg_catalog.pg_class c, pg_check_visible(c.oid) t
WHERE c.relam = 2 AND c.relkind IN ('r', 'm', 't') AND c.relpersistence <> 't'
UNION ALL
SQL
	$visible = '' if $node->safe_psql($database // 'postgres', 'SELECT pg_is_in_recovery()') eq 't';
	($code, $out, $err) = $node->psql($database // 'postgres', $visible . <<'SQL');
SELECT c.oid::pg_catalog.regclass, 'not frozen', t FROM pg_catalog.pg_class c, pg_check_frozen(c.oid) t
WHERE c.relam = 2 AND c.relkind IN ('r', 'm', 't') AND c.relpersistence <> 't'
  AND (c.relpersistence = 'p' OR NOT pg_catalog.pg_is_in_recovery())
UNION ALL
SELECT c.oid::pg_catalog.regclass, 'map, but not the page', NULL
FROM pg_catalog.pg_class c, pg_visibility(c.oid) v
WHERE c.relam = 2 AND c.relkind IN ('r', 'm', 't') AND c.relpersistence <> 't'
  AND (c.relpersistence = 'p' OR NOT pg_catalog.pg_is_in_recovery())
  AND (v.all_visible AND NOT v.pd_all_visible OR v.all_frozen AND NOT v.all_visible)
SQL
	return is("$code $err$out", '0 ', "$name: the visibility map is right");
}

# check_indexes(NODE, NAME[, DATABASE]) - test that every valid B-tree has an entry for each row of
# its table, and no entry that does not belong there
sub check_indexes
{
	my ($node, $name, $database) = @_;
	my ($code, $out, $err) = $node->psql($database // 'postgres', <<'SQL');
SELECT bt_index_check(c.oid, true)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid JOIN pg_catalog.pg_am a ON a.oid = c.relam
WHERE a.amname = 'btree' AND c.relkind = 'i' AND i.indisvalid AND i.indisready AND c.relpersistence <> 't'
  AND (c.relpersistence = 'p' OR NOT pg_catalog.pg_is_in_recovery())
SQL
	return is("$code $err", '0 ', "$name: the indexes hold what their tables hold");
}

# check_rows(NODE, NAME, DATABASE, QUERY => RESULT...) - test the results of each query twice: once
# without index scans, and once without sequential scans.  So a row without an entry in an index
# makes the test fail.
sub check_rows
{
	my ($node, $name, $database, %expected) = @_;

	subtest "$name: rows" => sub {
		for my $query (sort keys %expected)
		{
			for my $off (
				'enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off',
				'enable_seqscan = off')
			{
				is($node->safe_psql($database, "SET $off; $query"),
					$expected{$query}, "$query, SET $off");
			}
		}
	};
	return;
}

# bad_log_lines(NODE[, OFFSET]) - return lines that should never be in a log, under any load.  After
# a crash, recovery ends at the first record that was not written completely, and the log says why.
sub bad_log_lines
{
	my ($node, $offset) = @_;

	return grep {
		/PANIC|TRAP:|invalid page|inconsistent page found|could not (?:read|write|open|access|find)|unexpected zero page|terminated by signal|terminated by exception|LOG: .*(?:exited with|crash)|WARNING|invalid memory alloc|incorrect/
		  && !/terminating connection due to|there is (?:no|already a|already no) transaction/
		  && !
		  /LOG:  incorrect resource manager data checksum in record at |LOG:  record with incorrect prev-link /
	} split /\n/, substr(slurp_file($node->logfile), $offset // 0);
}

sub check_log
{
	my ($node, $name, $offset) = @_;

	return is(join("\n", bad_log_lines($node, $offset)), '', "$name: nothing bad in the log");
}

## Clients change rows and record each change.  The check finds in these records which rows must
## be there.

# ledger_tables(NODE) - create the tables of the load.  Table "parent" has rows that clients update,
# also while children refer to the rows.  Clients insert and delete rows of table "child".  Three
# tables only grow: "journal" gets a row for each committed change of a parent, "come" for each
# inserted child, and "gone" for each deleted child.
sub ledger_tables
{
	my ($node) = @_;

	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE parent (id int PRIMARY KEY, v int NOT NULL, n int NOT NULL, pad text);
INSERT INTO parent SELECT i, 0, 0, repeat('p', i % 50) FROM generate_series(1, 300) i;
CREATE TABLE child (id bigserial PRIMARY KEY, parent int NOT NULL REFERENCES parent, pad text);
CREATE INDEX child_parent ON child (parent);
CREATE TABLE journal (parent int NOT NULL, d int NOT NULL);
CREATE TABLE come (child bigint NOT NULL);
CREATE TABLE gone (child bigint NOT NULL);
SQL
	return;
}

my @ledger = (
	[ 5, <<'SQL' ],
BEGIN;
INSERT INTO journal VALUES (:p, :d);
UPDATE parent SET v = v + :d, n = n + 1 WHERE id = :p;
END;
SQL
	[ 5, <<'SQL' ],
WITH c AS (INSERT INTO child (parent, pad) SELECT :p, repeat('c', :d) FROM generate_series(1, 3) RETURNING id)
INSERT INTO come SELECT id FROM c;
SQL
	[ 4, <<'SQL' ],
WITH c AS (DELETE FROM child WHERE id IN (SELECT id FROM child WHERE parent = :p ORDER BY id LIMIT 4 FOR UPDATE SKIP LOCKED) RETURNING id)
INSERT INTO gone SELECT id FROM c;
SQL
	[ 2, <<'SQL' ],
UPDATE child SET pad = repeat('d', :d) WHERE id = (SELECT id FROM child WHERE parent = :p ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED);
SQL
	# Make changes, and roll back a part of them, or all.
	[ 2, <<'SQL' ],
BEGIN;
INSERT INTO journal VALUES (:p, :d);
UPDATE parent SET v = v + :d, n = n + 1 WHERE id = :p;
SAVEPOINT s;
DELETE FROM child WHERE id IN (SELECT id FROM child WHERE parent = :p ORDER BY id LIMIT 4 FOR UPDATE SKIP LOCKED);
INSERT INTO child (parent, pad) VALUES (:p, 'savepoint');
ROLLBACK TO s;
INSERT INTO journal VALUES (:p, 1);
UPDATE parent SET v = v + 1, n = n + 1 WHERE id = :p;
END;
SQL
	[ 2, <<'SQL' ],
BEGIN;
INSERT INTO child (parent, pad) VALUES (:p, 'rollback');
UPDATE parent SET v = v + :d, n = n + 1 WHERE id = :p;
DELETE FROM child WHERE id IN (SELECT id FROM child WHERE parent = :p ORDER BY id LIMIT 4 FOR UPDATE SKIP LOCKED);
ROLLBACK;
SQL
	[ 2, <<'SQL' ],
BEGIN;
SELECT count(*) FROM (SELECT FROM parent WHERE id BETWEEN :p AND :p + 5 ORDER BY id FOR KEY SHARE) x;
\sleep 5 ms
END;
SQL
	# Two queries of one snapshot must return the same, also if pages are pruned in between.
	[ 1, <<'SQL' ],
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT sum(v) AS v, sum(n) AS n FROM parent \gset one_
\sleep 30 ms
SELECT 1 / (sum(v) = :one_v AND sum(n) = :one_n)::int, 1 / ((SELECT sum(d) FROM journal) = :one_v)::int FROM parent;
END;
SQL
);

# ledger_load(NODE, SECONDS[, CLIENTS]) - start the load; return it for ledger_finish()
sub ledger_load
{
	my ($node, $seconds, $clients) = @_;
	my $folder = PostgreSQL::Test::Utils::tempdir();
	my %load = (out => '');
	my @scripts;

	for my $i (0 .. $#ledger)
	{
		append_to_file("$folder/$i.sql",
			"\\set p random_exponential(1, 295, 3)\n\\set d random(1, 60)\n$ledger[$i][1]");
		push @scripts, "--file=$folder/$i.sql\@$ledger[$i][0]";
	}
	# Insert a first row, because a sum over no rows is NULL.
	$node->safe_psql('postgres',
		'INSERT INTO journal VALUES (1, 1); UPDATE parent SET v = v + 1, n = n + 1 WHERE id = 1');
	$load{run} = IPC::Run::start(
		[
			'pgbench', '--no-vacuum',
			'--host=' . $node->host, '--port=' . $node->port,
			"--time=$seconds", '--client=' . ($clients // 6),
			@scripts, 'postgres'
		],
		'<',
		\undef,
		'>',
		\$load{out},
		'2>&1');
	return \%load;
}

# ledger_finish(LOAD, NAME) - wait for the load; return the number of its transactions
sub ledger_finish
{
	my ($load, $name) = @_;
	my $ok = $load->{run}->finish;
	my ($number) = $load->{out} =~ /number of transactions actually processed: (\d+)/;

	ok($ok && $load->{out} !~ /ERROR|FATAL/, "$name: no transaction fails")
	  or diag substr($load->{out}, 0, 3000);
	note "$name: " . ($number // 'no') . ' transactions';
	return $number // 0;
}

# check_ledger(NODE, NAME) - test that the tables have each row once, and no deleted row
sub check_ledger
{
	my ($node, $name) = @_;

	for my $off (
		'enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off',
		'enable_seqscan = off')
	{
		is( $node->safe_psql('postgres',
				<<"SQL"), "300|0|0|0|0|0", "$name: every row is accounted for, SET $off");
SET $off;
SELECT
	(SELECT count(*) FROM parent),
	(SELECT count(*) FROM parent p LEFT JOIN (SELECT parent, sum(d) AS v, count(*) AS n FROM journal GROUP BY 1) j ON j.parent = p.id
		WHERE (p.v, p.n) IS DISTINCT FROM (coalesce(j.v, 0), coalesce(j.n, 0))) AS wrong_parents,
	(SELECT count(*) FROM (SELECT child FROM come EXCEPT ALL SELECT child FROM gone EXCEPT ALL SELECT id FROM child) x) AS lost,
	(SELECT count(*) FROM (SELECT id FROM child EXCEPT ALL (SELECT child FROM come EXCEPT ALL SELECT child FROM gone)) x) AS resurrected,
	(SELECT count(*) FROM (SELECT child FROM gone EXCEPT ALL SELECT child FROM come) x) AS gone_twice,
	(SELECT count(*) FROM child c LEFT JOIN parent p ON p.id = c.parent WHERE p.id IS NULL) AS orphans
SQL
	}
	check_heaps($node, $name);
	check_indexes($node, $name);
	return;
}

1;
