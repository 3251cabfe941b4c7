# Check aligned B-trees if WAL does not have all their changes row by row, or if their files are
# restored.  These cases are: a crash with wal_level = minimal; a checkpoint during the work and
# then a crash; unlogged tables after a crash and after a shutdown; and a base backup taken while
# indexes change, with recovery to a restore point and to the end of the archive.  All rows must be
# there, and each index must have its alignment.
#
# PGDENSE_FUZZ_SEED is the random seed.  The test prints it.
use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";
use PgDense::Crash;
use PgDense::Nbtree;
use PgDense::Patch;
use PgDense::Wal qw(unexpected_log);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

needs_patch('index_align', 'default_index_item_alignment');

my $seed = ($ENV{PGDENSE_FUZZ_SEED} || time()) % 1_000_000;
note "PGDENSE_FUZZ_SEED=$seed";

my %aligned = map { ("$_->{name}_k" => $_->{align}, "$_->{name}_v" => $_->{align}) } @shapes;
my $settings = <<'CONF';
fsync = off
autovacuum = off
default_index_item_alignment = auto
max_wal_size = 2GB
checkpoint_timeout = 1h
shared_buffers = 16MB
CONF

sub check_all
{
	my ($node, $dbname, $what) = @_;

	check_structure($node, $dbname, $what, 'public');
	is_deeply(page_alignments($node, $dbname, keys %aligned), \%aligned, "$what: alignments");
	return check_contents($node, $dbname, $what);
}

sub count_all
{
	my ($node, $dbname) = @_;

	return $node->safe_psql($dbname,
		join("\n", map { "SELECT '$_->{name}', count(*) FROM $_->{name};" } @shapes));
}

# With wal_level = minimal, a table created and filled in one transaction is not logged.  Its files
# are synced at commit, or logged as whole pages if they are smaller than wal_skip_threshold.
my $minimal = PostgreSQL::Test::Cluster->new('minimal');
$minimal->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$minimal->append_conf('postgresql.conf', "$settings\nwal_level = minimal\nmax_wal_senders = 0\n");
$minimal->start;
$minimal->safe_psql('postgres', 'CREATE EXTENSION amcheck; CREATE EXTENSION pageinspect');
create_shapes($minimal, 'postgres');

for my $threshold ('0', '2GB')
{
	# Insert rows into empty indexes.
	my $fill = '';
	for my $shape (@shapes)
	{
		$fill .=
			"BEGIN;\nTRUNCATE $shape->{name};\n"
		  . put($shape, "generate_series(1, $shape->{rows}) i ORDER BY hashint4(i + $seed)")
		  . "COMMIT;\n";
	}
	$minimal->safe_psql('postgres', "SET wal_skip_threshold = '$threshold';\n$fill");
	my $before = count_all($minimal, 'postgres');
	kill_all($minimal);
	$minimal->start;
	is(count_all($minimal, 'postgres'),
		$before, "wal_level = minimal, wal_skip_threshold = $threshold: rows after a crash");
	check_all($minimal, 'postgres', 'filled in one transaction');

	# Build indexes on existing rows.  Also leave the files of a transaction that the crash aborts.
	my $build = "SET wal_skip_threshold = '$threshold';\n";
	for my $shape (@shapes)
	{
		my $t = $shape->{name};
		$build .=
			"REINDEX TABLE $t;\nBEGIN;\nALTER TABLE $t ALTER id TYPE int8;\n"
		  . put($shape, "generate_series(1, $shape->{more}) i")
		  . "COMMIT;\n"
		  . "ALTER TABLE $t ALTER id TYPE int4;\n"
		  . put($shape, "generate_series(1, $shape->{more}) i");
	}
	$build .= join '', map {
			"VACUUM FULL $_->{name};\nBEGIN;\nTRUNCATE $_->{name};\n"
		  . put($_, 'generate_series(1, 10) i')
		  . "ROLLBACK;\n"
	} @shapes;
	$minimal->safe_psql('postgres', $build);
	$before = count_all($minimal, 'postgres');
	my $session = $minimal->background_psql('postgres');
	$session->query_safe(
		"BEGIN;\nTRUNCATE $shapes[0]{name};\n" . put($shapes[0], 'generate_series(1, 10) i'));
	kill_all($minimal);
	eval { $session->quit };
	$minimal->start;
	is(count_all($minimal, 'postgres'), $before, 'rebuilt: rows after a crash');
	check_all($minimal, 'postgres', 'rebuilt');
}
work_through($minimal, 'postgres', $seed);
kill_all($minimal);
$minimal->start;
check_all($minimal, 'postgres', 'wal_level = minimal, all that nbtree does');
$minimal->stop;
is(unexpected_log($minimal), '', 'log');

# After a crash, an unlogged index is a copy of its init fork, whatever the default
# alignment is at that time.
my $node = PostgreSQL::Test::Cluster->new('node');
$node->init(
	has_archiving => 1,
	allows_streaming => 1,
	extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "$settings\nwal_keep_size = 1GB\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION amcheck; CREATE EXTENSION pageinspect');
$node->safe_psql('postgres', 'CREATE DATABASE unlogged TEMPLATE postgres');
create_shapes($node, 'unlogged', 'UNLOGGED');
work_through($node, 'unlogged', $seed);
my $before = check_all($node, 'unlogged', 'unlogged tables');
$node->restart;
is(check_all($node, 'unlogged', 'unlogged tables after a restart'),
	$before, 'unlogged tables hold the same rows after a restart');

$node->safe_psql('unlogged', 'ALTER SYSTEM SET default_index_item_alignment = max');
kill_all($node);
$node->start;
is(count_all($node, 'unlogged') =~ s/\D+\d*\|0\n?//gr,
	'', 'unlogged tables are empty after a crash');
check_all($node, 'unlogged', 'unlogged tables after a crash');
$node->safe_psql('unlogged',
	join('', map { put($_, 'generate_series(1, 3000) i ORDER BY hashint4(i)') } @shapes));
check_all($node, 'unlogged', 'unlogged tables written to after a crash');

# SET LOGGED builds new indexes for a table, with the present default alignment.
$node->safe_psql('unlogged', 'ALTER SYSTEM RESET default_index_item_alignment');
$node->reload;
$node->poll_query_until('unlogged',
	q{SELECT current_setting('default_index_item_alignment') = 'auto'});
$node->safe_psql('unlogged', join('', map { "ALTER TABLE $_->{name} SET LOGGED;" } @shapes));
$before = count_all($node, 'unlogged');
kill_all($node);
$node->start;
is(count_all($node, 'unlogged'), $before,
	'tables that became logged keep their rows after a crash');
check_all($node, 'unlogged', 'tables that became logged');

# Make a checkpoint during the work, and then crash.
create_shapes($node, 'postgres');
for my $shape (@shapes)
{
	$node->safe_psql('postgres', put($shape, "generate_series(2, $shape->{rows}, 2) i"));
}
$node->safe_psql('postgres', 'CHECKPOINT');
for my $shape (@shapes)
{
	$node->safe_psql('postgres',
		put($shape, "generate_series(1, $shape->{rows}, 2) i ORDER BY hashint4(i + $seed)"));
}
$before = count_all($node, 'postgres');
kill_all($node);
$node->start;
is(count_all($node, 'postgres'), $before, 'rows after a checkpoint and a crash');
check_all($node, 'postgres', 'a checkpoint and a crash');

# Take a backup while indexes change, and restore it.
my $file = $node->basedir . '/work.sql';
append_to_file($file, work_sql($seed + 1));
my $work = IPC::Run::start(
	[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', $file ],
	'>', '/dev/null');
usleep(300_000);
$node->backup('base');
ok($work->finish, 'indexes changed while a backup was taken');
my $point = check_contents($node, 'postgres', 'at the restore point');
$node->safe_psql('postgres', q{SELECT pg_create_restore_point('point')});
$node->backup('later');
my $from = $node->lsn('insert');
work_through($node, 'postgres', $seed + 2);
my $to = $node->lsn('insert');
my $end = check_contents($node, 'postgres', 'at the end');
$node->safe_psql('postgres', 'SELECT pg_switch_wal()');
my $segment = $node->safe_psql('postgres', 'SELECT pg_walfile_name(pg_current_wal_lsn())');
$node->poll_query_until('postgres',
	"SELECT last_archived_wal >= (SELECT max(name) FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}\$' AND name < '$segment') FROM pg_stat_archiver"
);

# restore(NAME, BACKUP, SETTINGS) - start a new primary from a backup and the WAL archive
sub restore
{
	my ($name, $backup, $target) = @_;
	my $restored = PostgreSQL::Test::Cluster->new("restored_$name");
	$restored->init_from_backup($node, $backup, has_restoring => 1, standby => 0);
	$restored->append_conf('postgresql.conf',
		"archive_mode = off\nrecovery_target_action = promote\n$target");
	$restored->start;
	$restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	return $restored;
}

for my $target ('point', 'end')
{
	my $restored =
	  restore($target, 'base', $target eq 'point' ? "recovery_target_name = 'point'\n" : '');
	is( check_all($restored, 'postgres', "restored to the $target"),
		$target eq 'point' ? $point : $end,
		"the server restored to the $target holds the expected rows");
	$restored->safe_psql(
		'postgres',
		join('',
			map { put($_, "generate_series(1, $_->{rows}) i ORDER BY hashint4(i + $seed)") }
			  @shapes));
	check_all($restored, 'postgres', "restored to the $target and written to");
	$restored->stop;
	is(unexpected_log($restored), '', 'log');
	$restored->clean_node;
}

# Truncate WAL after the first record of an operation that writes several records.  The next process
# that uses the page finishes the operation.  Do not take a deletion of the leftmost leaf page together
# with its parent page: amcheck expects half-dead pages on the left of a level, and the parent page is
# not marked as such.
my @halves = (
	[ 'split_leaf', qr/^SPLIT/, qr/level: 0/, 128 ],
	[ 'split_internal', qr/^SPLIT/, qr/level: [1-9]/, 128 ],
	[ 'half_dead', qr/^MARK_PAGE_HALFDEAD$/, qr/topparent: 4294967295,|left: [1-9]/, 16 ]);
srand($seed);
for my $case ($ENV{PGDENSE_SOAK} ? (0 .. 8) : map { $_ * 3 + ($seed + $_) % 3 } 0 .. 2)
{
	my ($name, $op, $pattern, $flag) = @{ $halves[ $case / 3 ] };
	my ($shape) = grep { $_->{name} eq 'wide' . (2, 4, 8)[ $case % 3 ] } @shapes;
	my $index = "$shape->{name}_k";
	my @found = find_records($node, 'postgres', $from, $to, $index, $op, $pattern);
	my $lsn = $found[ int(rand(@found)) ];
	my $restored = restore("${name}_$shape->{align}", 'later', "recovery_target_lsn = '$lsn'\n");
	my $flagged = sub {
		return $restored->safe_psql('postgres', <<"SQL");
SELECT count(*) FROM generate_series(1, pg_relation_size('$index') / 8192 - 1) blk, bt_page_stats('$index', blk)
WHERE btpo_flags & $flag <> 0
SQL
	};
	is($flagged->(), 1, "$name, alignment $shape->{align}: the operation is unfinished at $lsn");
	check_all($restored, 'postgres', $name);
	$restored->safe_psql('postgres',
		put($shape, "generate_series(1, $shape->{rows} + 7 * $shape->{more}) i")
		  . "VACUUM (INDEX_CLEANUP on) $shape->{name}");
	is($flagged->(), 0, "$name: finished");
	check_all($restored, 'postgres', "$name, finished");
	$restored->stop;
	is(unexpected_log($restored), '', 'log');
	$restored->clean_node;
}
$node->stop;
is(unexpected_log($node), '', 'log');
done_testing();
