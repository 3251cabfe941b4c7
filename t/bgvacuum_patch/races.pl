# Others that do away with a visibility map, or copy it, while bgwriter is in the middle of a page.
#
# What a moment takes is stretched here: sessions hold pages, locks and the way to pages
# (hold.c) until both sides are where they get into each other's way.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::Bgvacuum;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

needs_patch('bgvacuum_patch', 'bgwriter_vacuum');

my ($main_fork, $map_fork) = (0, 2);
my $tmp = PostgreSQL::Test::Utils::tempdir();
my $timeout = $PostgreSQL::Test::Utils::timeout_default;
my $library = server_library('hold.c');
my $node = bgvacuum_node('races', shared_buffers => '32MB', conf => "allow_in_place_tablespaces = on\nmax_wal_size = 1GB\n");

$node->safe_psql('postgres', <<"SQL");
CREATE TABLESPACE elsewhere LOCATION '';
CREATE FUNCTION hold_page(spc oid, db oid, file oid, fork int, block int, locked bool, until text) RETURNS void AS '$library' LANGUAGE C;
CREATE FUNCTION hold_lookup(spc oid, db oid, file oid, fork int, block int, until text) RETURNS void AS '$library' LANGUAGE C;
CREATE FUNCTION page_buffer(spc oid, db oid, file oid, fork int, block int) RETURNS int AS '$library' LANGUAGE C;
CREATE FUNCTION request_map(spc oid, db oid, file oid, fork int, block int, heap_block int) RETURNS void AS '$library' LANGUAGE C;
SQL
my $bgwriter = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'});
# What it runs reads no page, so that it never waits for one.
my $watcher = $node->background_psql('postgres');

sub wait_until
{
	my ($condition, $name) = @_;
	my $deadline = time() + $timeout;

	while (time() < $deadline)
	{
		my $reached = $condition->();
		return $reached if $reached;
		usleep(5_000);
	}
	# whoever holds something lets go
	unlink glob("$tmp/*");
	die "$name: not in time";
}

sub wait_event
{
	my ($pid) = @_;

	return $watcher->query_safe("SELECT coalesce(wait_event, '') FROM pg_stat_get_activity($pid)");
}

# wait_for_event(PID, EVENT...) - wait until that process waits for one of these; for which?
sub wait_for_event
{
	my ($pid, @events) = @_;
	my $event;

	wait_until(
		sub {
			$event = wait_event($pid);
			return grep { $event eq $_ } @events;
		},
		"process $pid waits for " . join ' or ', @events);
	return $event;
}

# hold(NAME, QUERY) - a session that runs the query, whose function ends with release(NAME)
my %holders;

sub hold
{
	my ($name, $query) = @_;
	my $file = "$tmp/$name";

	append_to_file($file, 'x');
	unlink "$file.held";
	$holders{$name} = $node->background_psql('postgres');
	$holders{$name}->query_until(qr/begins/, "\\echo begins\nSELECT " . ($query =~ s/FILE/'$file'/r) . ";\n");
	wait_until(sub { -e "$file.held" }, "$name is held");
	return;
}

sub release
{
	my ($name) = @_;

	unlink "$tmp/$name" or die "$name is not held";
	(delete $holders{$name})->quit;
	return;
}

# start(STATEMENT) - a session that runs the statement, and its process id
sub start
{
	my ($statement) = @_;
	my $session = $node->background_psql('postgres');
	my $pid = $session->query_safe('SELECT pg_backend_pid()');

	$session->query_until(qr/begins/, "\\echo begins\n$statement;\n");
	return ($session, $pid);
}

# file_of(TABLE[, DATABASE]) - the first arguments of hold_page() and others
sub file_of
{
	my ($table, $database) = @_;

	return $node->safe_psql($database // 'postgres',
		qq{SELECT concat_ws(', ', d.dattablespace, d.oid, c.relfilenode) FROM pg_database d, pg_class c WHERE d.datname = current_database() AND c.oid = '$table'::regclass});
}

# two_pages(TABLE) - make a table of several pages, with the page of the map in a buffer before those of
# two heap pages, which are changed and pinned (names "first" and "second"); returns file_of(TABLE) and
# the two blocks.  Buffers that were never used come in their order, so nothing is dropped before.
sub two_pages
{
	my ($table) = @_;

	$node->safe_psql('postgres', "CREATE TABLE $table (i int, pad text) WITH (fillfactor = 50); INSERT INTO $table VALUES (0); VACUUM $table");
	$node->safe_psql('postgres', "INSERT INTO $table SELECT i, repeat('p', 200) FROM generate_series(1, 200) i; VACUUM $table");
	my $file = file_of($table);
	my $blocks = $node->safe_psql('postgres', "SELECT pg_relation_size('$table') / 8192");
	my $map = $node->safe_psql('postgres', "SELECT page_buffer($file, $map_fork, 0)");
	my %buffers = map { $_ => $node->safe_psql('postgres', "SELECT page_buffer($file, $main_fork, $_)") } 0 .. $blocks - 1;
	my ($first, $second) = (sort { $buffers{$a} <=> $buffers{$b} } keys %buffers)[ -2, -1 ];

	cmp_ok($map, '<', $buffers{$first}, "$table: the map is in a buffer before those of two pages of the heap");
	hold('first before', "hold_page($file, $main_fork, $first, false, FILE)");
	hold('second before', "hold_page($file, $main_fork, $second, false, FILE)");
	$node->safe_psql('postgres', "UPDATE $table SET pad = repeat('q', 200) WHERE ctid IN ('($first,1)', '($second,1)')");
	# Those who hold the pages from now on do not see the old rows.
	hold('first', "hold_page($file, $main_fork, $first, false, FILE)");
	hold('second', "hold_page($file, $main_fork, $second, false, FILE)");
	release('first before');
	release('second before');
	ok(wait_for_rounds($node), "$table: rounds go by");
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_visibility('$table') WHERE NOT all_visible AND NOT pd_all_visible AND blkno IN ($first, $second)"), 2, "$table: the two are not all-visible");
	return ($file, $first, $second);
}

## Two databases from one template at a time: the first CREATE DATABASE invalidates the stamps, and
## waits for the page at work.  So does the second, although there are no stamps any more.
{
	$node->safe_psql('postgres', 'CREATE DATABASE template');
	$node->safe_psql('template', 'CREATE TABLE t (i int, pad text); INSERT INTO t VALUES (0); VACUUM t');
	my $file = file_of('t', 'template');

	# Bgwriter cannot set the first page all-visible yet.
	hold('first', "hold_page($file, $main_fork, 0, false, FILE)");
	$node->safe_psql('template', "INSERT INTO t SELECT i, repeat('t', 200) FROM generate_series(1, 50) i");
	is($node->safe_psql('template', "SELECT pg_relation_size('t') / 8192"), 2, 'template: the table has two pages');
	# Whoever copies the table stops here, behind its first page and before its map.
	hold('second', "hold_page($file, $main_fork, 1, true, FILE)");
	ok(wait_for_rounds($node), 'template: rounds go by');
	my $stats = bgvacuum_stats($node);

	# Bgwriter takes the first page's stamp, and stops where it looks for the page of the map; then it is
	# stopped, as many processes need that lock.
	wait_event($bgwriter);
	hold('lookup', "hold_lookup($file, $map_fork, 0, FILE)");
	release('first');
	wait_for_event($bgwriter, 'BufferMapping');
	kill 'STOP', $bgwriter;
	release('lookup');

	my ($one, $one_pid) = start('CREATE DATABASE one TEMPLATE template STRATEGY wal_log');
	is(wait_for_event($one_pid, 'BgVacuum', 'BufferContent'), 'BgVacuum', 'the first CREATE DATABASE waits for the page at work');
	my ($two, $two_pid) = start('CREATE DATABASE two TEMPLATE template STRATEGY wal_log');
	is(wait_for_event($two_pid, 'BgVacuum', 'BufferContent'), 'BgVacuum', 'the second CREATE DATABASE waits for the page at work');

	kill 'CONT', $bgwriter;
	ok(wait_for_stat($node, 'pages_visible', 1, $stats), 'template: bgwriter sets the page all-visible');
	release('second');
	for my $session ($one, $two)
	{
		$session->query_safe('SELECT 1');
		$session->quit;
	}
	check_heaps($node, "database $_", $_) for qw(template one two);
}

## SET TABLESPACE writes all pages, and copies the files then: no page is changed in between.
{
	my ($file, $first, $second) = two_pages('moved');

	# The command stops at the one page, when it has written the map and not yet the other one.
	hold('lock', "hold_page($file, $main_fork, $first, true, FILE)");
	my $stats = bgvacuum_stats($node);
	my ($session, $pid) = start('ALTER TABLE moved SET TABLESPACE elsewhere');
	wait_for_event($pid, 'BufferContent');
	release('second');
	ok(wait_for_rounds($node, 5), 'SET TABLESPACE: rounds go by');
	is(bgvacuum_stats($node)->{pages_visible} - $stats->{pages_visible}, 0, 'SET TABLESPACE: no page is set all-visible while the table is copied');
	release('lock');
	release('first');
	$session->query_safe('SELECT 1');
	$session->quit;
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_visibility('moved') WHERE all_visible <> pd_all_visible"), 0, 'SET TABLESPACE: the copy of the map has the bits of its pages');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM moved'), 201, 'SET TABLESPACE: the rows');
	check_heaps($node, 'SET TABLESPACE');
}

## VACUUM FULL and CREATE INDEX read the values of rows that were not dead to everybody when they began.
for my $case ([ 'VACUUM FULL', 'rewritten', 'VACUUM FULL rewritten' ], [ 'CREATE INDEX', 'indexed', 'CREATE INDEX ON indexed ((length(v)))' ])
{
	my ($what, $t, $statement) = @$case;

	$node->safe_psql('postgres', "CREATE TABLE $t (i int, v text); ALTER TABLE $t ALTER v SET STORAGE EXTERNAL; INSERT INTO $t SELECT i, repeat('v', 6000) FROM generate_series(1, 6) i");
	my $file = file_of($t);
	my $horizon = hold_horizon($node);
	$node->safe_psql('postgres', "DELETE FROM $t WHERE i <= 4");
	ok(wait_for_rounds($node), "$what: rounds go by");
	# The command stops at its first page.
	hold('lock', "hold_page($file, $main_fork, 0, true, FILE)");
	my ($session, $pid) = start("$statement; SELECT 'done'");
	wait_for_event($pid, 'BufferContent');
	my $stats = bgvacuum_stats($node);
	$horizon->quit;
	ok(wait_for_rounds($node, 5), "$what: rounds go by while nobody sees the rows any more");
	is(bgvacuum_stats($node)->{tuples_removed} - $stats->{tuples_removed}, 0, "$what: the values of the rows are left alone");
	release('lock');
	ok(eval { $session->query_safe('SELECT 1'); 1 }, "$what: it reads them") or diag $@;
	eval { $session->quit };
	is($node->safe_psql('postgres', "SELECT count(*), sum(length(v)) FROM $t"), '2|12000', "$what: the rows");
	check_heaps($node, $what);
}

## pg_truncate_visibility_map() makes an end to all bits of the map, also in recovery.
{
	my ($file, $first, $second) = two_pages('emptied');

	release('first');
	$node->safe_psql('postgres', 'CHECKPOINT');
	# dirty again; what is done to the map is its first change since the checkpoint, and logged with the whole page
	$node->safe_psql('postgres', "UPDATE emptied SET pad = repeat('r', 200) WHERE i = (SELECT min(i) FROM emptied WHERE (ctid::text::point)[0] = $second)");
	ok(wait_for_rounds($node), 'truncated map: rounds go by');

	# Bgwriter stops before it sets the bit.
	hold('lock', "hold_page($file, $map_fork, 0, true, FILE)");
	release('second');
	wait_for_event($bgwriter, 'BufferContent');
	my $lsn = $node->lsn('insert');
	my ($session, $pid) = start(q{SELECT pg_truncate_visibility_map('emptied')});
	my $first_one = wait_until(
		sub {
			return 'bgwriter' if wait_event($pid) eq 'BgVacuum';
			my $wal = `pg_waldump -p '@{[ $node->data_dir ]}/pg_wal' -s '$lsn' 2>&1`;
			return $wal =~ /desc: TRUNCATE/ ? 'the truncation' : '';
		},
		'the map is truncated');
	is($first_one, 'bgwriter', 'truncated map: bgwriter ends its page before the truncation is logged');
	release('lock');
	$session->query_safe('SELECT 1');
	$session->quit;
	is($node->safe_psql('postgres', q{SELECT pg_relation_size('emptied', 'vm')}), 0, 'truncated map: it is empty');
	# all that was logged is on disk
	ok(wait_for_rounds($node), 'truncated map: rounds go by');
	$node->safe_psql('postgres', 'CREATE TABLE flushed ()');
	$watcher->quit;
	$node->stop('immediate');
	$node->start;
	$watcher = $node->background_psql('postgres');
	is($node->safe_psql('postgres', q{SELECT pg_relation_size('emptied', 'vm')}), 0, 'truncated map: it is empty after a crash');
	is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_visibility_map('emptied') WHERE all_visible OR all_frozen}), 0, 'truncated map: no bit has come back');
	check_heaps($node, 'truncated map');
}

## A slot may be given to another table while an inserter takes from it what bgwriter asks for.  That
## moment cannot be stretched, but a request as it would be found then can be made.
{
	$node->safe_psql('postgres', 'CREATE TABLE asked (i int); INSERT INTO asked VALUES (0); VACUUM asked; INSERT INTO asked VALUES (1)');
	my $file = file_of('asked');
	my $horizon = hold_horizon($node);

	$node->safe_psql('postgres', 'INSERT INTO asked VALUES (2)');
	ok(wait_for_rounds($node), 'request: rounds go by');
	$node->safe_psql('postgres', "SELECT request_map($file, $main_fork, 0, 100000)");
	$node->safe_psql('postgres', 'INSERT INTO asked VALUES (3)');
	is($node->safe_psql('postgres', q{SELECT pg_relation_size('asked', 'vm') / 8192}), 1, 'request: the map is not extended for a page that the table has not');
	$horizon->quit;
	check_heaps($node, 'request');
}

check_log($node, 'in the end');
$watcher->quit;
$node->stop;
done_testing();
