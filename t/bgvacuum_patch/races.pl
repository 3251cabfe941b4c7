# Other processes remove or copy a visibility map while bgwriter is in the middle of a page.  A
# mistake leaves a bit in the map for a page that is not all-visible.
#
# Such a race is possible only for a moment.  So in this test, sessions hold pages and locks, and
# block the lookup of pages (see hold.c), until both processes are at the places where they can
# disturb each other.
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

needs_patch('bgvacuum_patch', 'bgvacuum');

my ($main_fork, $map_fork) = (0, 2);
my $tmp = PostgreSQL::Test::Utils::tempdir();
my $timeout = $PostgreSQL::Test::Utils::timeout_default;
my $library = server_library('hold.c');
my $node = bgvacuum_node(
	'races',
	shared_buffers => '32MB',
	conf => "allow_in_place_tablespaces = on\nmax_wal_size = 1GB\n");

$node->safe_psql('postgres', <<"SQL");
CREATE TABLESPACE elsewhere LOCATION '';
CREATE FUNCTION hold_page(spc oid, db oid, file oid, fork int, block int, locked bool, until text) RETURNS void AS '$library' LANGUAGE C;
CREATE FUNCTION hold_lookup(spc oid, db oid, file oid, fork int, block int, until text) RETURNS void AS '$library' LANGUAGE C;
CREATE FUNCTION page_buffer(spc oid, db oid, file oid, fork int, block int) RETURNS int AS '$library' LANGUAGE C;
CREATE FUNCTION request_map(spc oid, db oid, file oid, fork int, block int, heap_block int) RETURNS void AS '$library' LANGUAGE C;
SQL
my $bgwriter = $node->safe_psql('postgres',
	q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'});
# The statements of this session read no page, so the session never waits for a page that is held.
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
	# Release all sessions that hold something.
	unlink glob("$tmp/*");
	die "$name: not in time";
}

sub wait_event
{
	my ($pid) = @_;

	return $watcher->query_safe("SELECT coalesce(wait_event, '') FROM pg_stat_get_activity($pid)");
}

# wait_for_event(PID, EVENT...) - wait until that process waits for one of these events; return the
# name of this event
sub wait_for_event
{
	my ($pid, @events) = @_;
	my $event;

	wait_until(
		sub {
			$event = wait_event($pid);
			return grep { $event eq $_ } @events;
		},
		"process $pid waits for " . join ' or ',
		@events);
	return $event;
}

# hold(NAME, QUERY) - start a session that runs the query, whose function returns after
# release(NAME)
my %holders;

sub hold
{
	my ($name, $query) = @_;
	my $file = "$tmp/$name";

	append_to_file($file, 'x');
	unlink "$file.held";
	$holders{$name} = $node->background_psql('postgres');
	$holders{$name}
	  ->query_until(qr/begins/, "\\echo begins\nSELECT " . ($query =~ s/FILE/'$file'/r) . ";\n");
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

# start(STATEMENT) - start a session that runs the statement; return it and its process ID
sub start
{
	my ($statement) = @_;
	my $session = $node->background_psql('postgres');
	my $pid = $session->query_safe('SELECT pg_backend_pid()');

	$session->query_until(qr/begins/, "\\echo begins\n$statement;\n");
	return ($session, $pid);
}

# file_of(TABLE[, DATABASE]) - return the first arguments of hold_page() and the other functions
sub file_of
{
	my ($table, $database) = @_;

	return $node->safe_psql(
		$database // 'postgres',
		qq{SELECT concat_ws(', ', d.dattablespace, d.oid, c.relfilenode) FROM pg_database d, pg_class c WHERE d.datname = current_database() AND c.oid = '$table'::regclass}
	);
}

# two_pages(TABLE) - make a table of several pages, change two of the pages, and keep them pinned
# until release("first") and release("second"); return file_of(TABLE) and the two block numbers.
# The buffer of the visibility map's page has a lower number than the buffers of the two pages.
# Unused buffers are used in the order of their numbers, so no page is evicted.
sub two_pages
{
	my ($table) = @_;

	$node->safe_psql('postgres',
		"CREATE TABLE $table (i int, pad text) WITH (fillfactor = 50); INSERT INTO $table VALUES (0); VACUUM $table"
	);
	$node->safe_psql('postgres',
		"INSERT INTO $table SELECT i, repeat('p', 200) FROM generate_series(1, 200) i; VACUUM $table"
	);
	my $file = file_of($table);
	my $blocks = $node->safe_psql('postgres', "SELECT pg_relation_size('$table') / 8192");
	my $map = $node->safe_psql('postgres', "SELECT page_buffer($file, $map_fork, 0)");
	my %buffers =
	  map { $_ => $node->safe_psql('postgres', "SELECT page_buffer($file, $main_fork, $_)") }
	  0 .. $blocks - 1;
	my ($first, $second) = (sort { $buffers{$a} <=> $buffers{$b} } keys %buffers)[ -2, -1 ];

	cmp_ok($map, '<', $buffers{$first},
		"$table: the map is in a buffer before those of two pages of the heap");
	hold('first before', "hold_page($file, $main_fork, $first, false, FILE)");
	hold('second before', "hold_page($file, $main_fork, $second, false, FILE)");
	$node->safe_psql('postgres',
		"UPDATE $table SET pad = repeat('q', 200) WHERE ctid IN ('($first,1)', '($second,1)')");
	# Sessions that pin the pages from now on do not see the old rows.
	hold('first', "hold_page($file, $main_fork, $first, false, FILE)");
	hold('second', "hold_page($file, $main_fork, $second, false, FILE)");
	release('first before');
	release('second before');
	ok(wait_for_rounds($node), "$table: bgwriter makes rounds");
	is( $node->safe_psql(
			'postgres',
			"SELECT count(*) FROM pg_visibility('$table') WHERE NOT all_visible AND NOT pd_all_visible AND blkno IN ($first, $second)"
		),
		2,
		"$table: the two pages are not all-visible");
	return ($file, $first, $second);
}

## Two CREATE DATABASE copy one template at the same time.  The first one invalidates the stamps,
## and waits until bgwriter has finished its page.  The second one finds no stamps, but must wait
## as well.
{
	$node->safe_psql('postgres', 'CREATE DATABASE template');
	$node->safe_psql('template',
		'CREATE TABLE t (i int, pad text); INSERT INTO t VALUES (0); VACUUM t');
	my $file = file_of('t', 'template');

	# bgwriter cannot set the first page all-visible yet.
	hold('first', "hold_page($file, $main_fork, 0, false, FILE)");
	$node->safe_psql('template',
		"INSERT INTO t SELECT i, repeat('t', 200) FROM generate_series(1, 50) i");
	is($node->safe_psql('template', "SELECT pg_relation_size('t') / 8192"),
		2, 'template: the table has two pages');
	# A process that copies the table stops here, after the first page and before the map.
	hold('second', "hold_page($file, $main_fork, 1, true, FILE)");
	ok(wait_for_rounds($node), 'template: bgwriter makes rounds');
	my $stats = bgvacuum_stats($node);

	# bgwriter takes the stamp of the first page, and waits when it looks up the page of the map.
	# Then stop bgwriter, and release the lock on the lookup, because many processes need this lock.
	wait_event($bgwriter);
	hold('lookup', "hold_lookup($file, $map_fork, 0, FILE)");
	release('first');
	wait_for_event($bgwriter, 'BufferMapping');
	kill 'STOP', $bgwriter;
	release('lookup');

	my ($one, $one_pid) = start('CREATE DATABASE one TEMPLATE template STRATEGY wal_log');
	is(wait_for_event($one_pid, 'BgVacuum', 'BufferContent'),
		'BgVacuum', 'the first CREATE DATABASE waits until bgwriter has finished its page');
	my ($two, $two_pid) = start('CREATE DATABASE two TEMPLATE template STRATEGY wal_log');
	is(wait_for_event($two_pid, 'BgVacuum', 'BufferContent'),
		'BgVacuum', 'the second CREATE DATABASE waits until bgwriter has finished its page');

	kill 'CONT', $bgwriter;
	ok( wait_for_stat($node, 'pages_visible', 1, $stats),
		'template: bgwriter sets the page all-visible');
	release('second');
	for my $session ($one, $two)
	{
		$session->query_safe('SELECT 1');
		$session->quit;
	}
	check_heaps($node, "database $_", $_) for qw(template one two);
}

## SET TABLESPACE writes all pages, and then copies the files.  No page may change in between.
{
	my ($file, $first, $second) = two_pages('moved');

	# The command has written the map, and waits before it writes the first of the two pages.
	hold('lock', "hold_page($file, $main_fork, $first, true, FILE)");
	my $stats = bgvacuum_stats($node);
	my ($session, $pid) = start('ALTER TABLE moved SET TABLESPACE elsewhere');
	wait_for_event($pid, 'BufferContent');
	release('second');
	ok(wait_for_rounds($node, 5), 'SET TABLESPACE: bgwriter makes rounds');
	is(bgvacuum_stats($node)->{pages_visible} - $stats->{pages_visible},
		0, 'SET TABLESPACE: no page is set all-visible while the table is copied');
	release('lock');
	release('first');
	$session->query_safe('SELECT 1');
	$session->quit;
	is( $node->safe_psql(
			'postgres',
			"SELECT count(*) FROM pg_visibility('moved') WHERE all_visible <> pd_all_visible"),
		0,
		'SET TABLESPACE: the copy of the map has the bits of its pages');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM moved'),
		201, 'SET TABLESPACE: all rows are there');
	check_heaps($node, 'SET TABLESPACE');
}

## VACUUM FULL and CREATE INDEX read the values of rows that some transactions could still see when
## the command began.
for my $case ([ 'VACUUM FULL', 'rewritten', 'VACUUM FULL rewritten' ],
	[ 'CREATE INDEX', 'indexed', 'CREATE INDEX ON indexed ((length(v)))' ])
{
	my ($what, $t, $statement) = @$case;

	$node->safe_psql('postgres',
		"CREATE TABLE $t (i int, v text); ALTER TABLE $t ALTER v SET STORAGE EXTERNAL; INSERT INTO $t SELECT i, repeat('v', 6000) FROM generate_series(1, 6) i"
	);
	my $file = file_of($t);
	my $horizon = hold_horizon($node);
	$node->safe_psql('postgres', "DELETE FROM $t WHERE i <= 4");
	ok(wait_for_rounds($node), "$what: bgwriter makes rounds");
	# The command waits at its first page.
	hold('lock', "hold_page($file, $main_fork, 0, true, FILE)");
	my ($session, $pid) = start("$statement; SELECT 'done'");
	wait_for_event($pid, 'BufferContent');
	my $stats = bgvacuum_stats($node);
	$horizon->quit;
	ok(wait_for_rounds($node, 5),
		"$what: bgwriter makes rounds after the last snapshot that sees the rows has ended");
	is(bgvacuum_stats($node)->{tuples_removed} - $stats->{tuples_removed},
		0, "$what: the values of the rows are left alone");
	release('lock');
	ok(eval { $session->query_safe('SELECT 1'); 1 }, "$what: the command reads the values")
	  or diag $@;
	eval { $session->quit };
	is($node->safe_psql('postgres', "SELECT count(*), sum(length(v)) FROM $t"),
		'2|12000', "$what: all rows are there");
	check_heaps($node, $what);
}

## pg_truncate_visibility_map() removes all bits of the map, also in recovery.
{
	my ($file, $first, $second) = two_pages('emptied');

	release('first');
	$node->safe_psql('postgres', 'CHECKPOINT');
	# The page is dirty again.  The next change of the map page is its first change since the
	# checkpoint, so the change is logged with a full-page image.
	$node->safe_psql('postgres',
		"UPDATE emptied SET pad = repeat('r', 200) WHERE i = (SELECT min(i) FROM emptied WHERE (ctid::text::point)[0] = $second)"
	);
	ok(wait_for_rounds($node), 'truncated map: bgwriter makes rounds');

	# bgwriter waits before it sets the bit.
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
	is($first_one, 'bgwriter',
		'truncated map: bgwriter finishes its page before the truncation is logged');
	release('lock');
	$session->query_safe('SELECT 1');
	$session->quit;
	is($node->safe_psql('postgres', q{SELECT pg_relation_size('emptied', 'vm')}),
		0, 'truncated map: the map is empty');
	# After this commit, all WAL so far is on disk.
	ok(wait_for_rounds($node), 'truncated map: bgwriter makes rounds');
	$node->safe_psql('postgres', 'CREATE TABLE flushed ()');
	$watcher->quit;
	$node->stop('immediate');
	$node->start;
	$watcher = $node->background_psql('postgres');
	is($node->safe_psql('postgres', q{SELECT pg_relation_size('emptied', 'vm')}),
		0, 'truncated map: the map is empty after a crash');
	is( $node->safe_psql(
			'postgres',
			q{SELECT count(*) FROM pg_visibility_map('emptied') WHERE all_visible OR all_frozen}),
		0,
		'truncated map: no bit has come back');
	check_heaps($node, 'truncated map');
}

## An insert reads which page of the visibility map bgwriter requests for a table.  Meanwhile the
## slot of the table may be given to another table.  The test cannot make this moment longer, but
## it can make a request like the one that the insert would find at this moment.
{
	$node->safe_psql('postgres',
		'CREATE TABLE asked (i int); INSERT INTO asked VALUES (0); VACUUM asked; INSERT INTO asked VALUES (1)'
	);
	my $file = file_of('asked');
	my $horizon = hold_horizon($node);

	$node->safe_psql('postgres', 'INSERT INTO asked VALUES (2)');
	ok(wait_for_rounds($node), 'request: bgwriter makes rounds');
	$node->safe_psql('postgres', "SELECT request_map($file, $main_fork, 0, 100000)");
	$node->safe_psql('postgres', 'INSERT INTO asked VALUES (3)');
	is($node->safe_psql('postgres', q{SELECT pg_relation_size('asked', 'vm') / 8192}),
		1, 'request: the map is not extended for a page that the table does not have');
	$horizon->quit;
	check_heaps($node, 'request');
}

check_log($node, 'in the end');
$watcher->quit;
$node->stop;
done_testing();
