# PgDenseBgvacuum.pm - what the tests of bgvacuum_patch share
#
# Servers whose bgwriter prunes as much and as soon as it can, its counters, and
# the checks that no row was lost and none came back.
#
# A page is pruned while it is dirty, and written as the next thing.  What could not be
# pruned then, because somebody may still see it, is pruned when the page is
# dirty again.
package PgDenseBgvacuum;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

our @EXPORT = qw(bgvacuum_conf bgvacuum_node bgvacuum_stats wait_for_stat wait_for_prunes wait_for_rounds
  line_pointers wait_for_tuples check_heaps check_indexes check_rows bad_log_lines check_log set_parameters);

# bgvacuum_conf([SHARED_BUFFERS]) - settings with which bgwriter prunes every page that
# it safely can, within some ten milliseconds
sub bgvacuum_conf
{
	my ($shared_buffers) = @_;

	$shared_buffers //= '2MB';
	return <<"CONF";
fsync = off
shared_buffers = $shared_buffers
bgwriter_delay = 10ms
bgwriter_lru_maxpages = -1
bgwriter_vacuum = on
debug_bgwriter_vacuum = on
max_prepared_transactions = 20
checkpoint_timeout = 1h
log_statement = none
log_lock_waits = off
log_checkpoints = off
restart_after_crash = off
CONF
}

# bgvacuum_node(NAME, OPTION => VALUE...) - a node on which bgwriter prunes all it can, with
# the extensions that this module needs in database postgres and in template1
#
#	shared_buffers	2MB if not given
#	autovacuum		true: leave it on
#	conf			more settings, after those of bgvacuum_conf()
#	init			a list of arguments of init()
#	prepare			a function that is called with the node before it is started
#	path			an installation that is not the one that is tested
sub bgvacuum_node
{
	my ($name, %options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, $options{path} ? (install_path => $options{path}) : ());

	$node->init(@{ $options{init} // [] });
	$node->append_conf('postgresql.conf', bgvacuum_conf($options{shared_buffers}));
	$node->append_conf('postgresql.conf', "autovacuum = off\n") if !$options{autovacuum};
	$node->append_conf('postgresql.conf', $options{conf}) if defined $options{conf};
	$options{prepare}->($node) if $options{prepare};
	$node->start;
	for my $database ('template1', 'postgres')
	{
		$node->safe_psql($database, 'CREATE EXTENSION bgvacuum; CREATE EXTENSION amcheck; CREATE EXTENSION pageinspect');
	}
	return $node;
}

# set_parameters(NODE, NAME => VALUE...) - set and reload; returns when bgwriter has seen it,
# as far as that shows: it has gone through two rounds, or its process is idle
sub set_parameters
{
	my ($node, %parameters) = @_;

	$node->safe_psql('postgres', join '', map { "ALTER SYSTEM SET $_ = '$parameters{$_}';\n" } sort keys %parameters);
	$node->reload;
	usleep(100_000);
	return;
}

# bgvacuum_stats(NODE) - the row of pg_stat_bgvacuum as a hash
sub bgvacuum_stats
{
	my ($node) = @_;
	my @names = qw(rounds candidates pages_pruned tuples_removed items_dead bytes_freed pages_published pages_reused pages_lost
	  skipped_unstamped skipped_clean skipped_recent skipped_locked skipped_image skipped_multixact);
	my @values = split /\|/, $node->safe_psql('postgres', 'SELECT ' . join(', ', @names) . ' FROM pg_stat_bgvacuum');

	return { map { $names[$_] => $values[$_] } 0 .. $#names };
}

# wait_for_stat(NODE, NAME, MORE[, STATS]) - wait until that counter has grown by MORE, from
# that in STATS or from now on; did it, in time?
sub wait_for_stat
{
	my ($node, $name, $more, $from) = @_;
	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;

	$from //= bgvacuum_stats($node);
	while (time() < $deadline)
	{
		my $now = bgvacuum_stats($node);
		return 1 if $now->{$name} - $from->{$name} >= $more;
		usleep(20_000);
	}
	diag "no $more more $name than $from->{$name} in time: " . join ', ', map { "$_ " . bgvacuum_stats($node)->{$_} } $name;
	return 0;
}

# ... until so many more pages were pruned
sub wait_for_prunes
{
	my ($node, $more, $from) = @_;

	return wait_for_stat($node, 'pages_pruned', $more, $from);
}

# ... until bgwriter had as many chances more to prune; three rounds are enough for
# all that was done before
sub wait_for_rounds
{
	my ($node, $more, $from) = @_;

	return wait_for_stat($node, 'rounds', $more // 3, $from);
}

# line_pointers(NODE, RELATION[, DATABASE]) - how many there are of each kind, as a hash:
# normal, redirect, dead, unused.  Looks at the pages only, and prunes nothing.
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

# wait_for_tuples(NODE, RELATION, NUMBER[, DATABASE]) - wait until only so many tuples are on
# the relation's pages, dead or alive; are they, in time?
sub wait_for_tuples
{
	my ($node, $relation, $number, $database) = @_;
	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $found;

	while (time() < $deadline)
	{
		$found = line_pointers($node, $relation, $database)->{normal};
		return 1 if $found <= $number;
		usleep(50_000);
	}
	diag "$relation still has $found tuples, not $number; " . join ', ', map { defined $_ ? $_ : '' } %{ bgvacuum_stats($node) };
	return 0;
}

# check_heaps(NODE, NAME[, DATABASE]) - is verify_heapam content with every heap?
sub check_heaps
{
	my ($node, $name, $database) = @_;
	my ($code, $out, $err) = $node->psql($database // 'postgres', <<'SQL');
SELECT c.oid::pg_catalog.regclass, v.*
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_am a ON a.oid = c.relam,
  verify_heapam(c.oid, check_toast => true) v
WHERE a.amhandler = 'heap_tableam_handler'::pg_catalog.regproc AND c.relkind IN ('r', 'm', 't') AND c.relpersistence <> 't'
  AND (c.relpersistence = 'p' OR NOT pg_catalog.pg_is_in_recovery())
SQL
	return is("$code $err$out", '0 ', "$name: verify_heapam is content");
}

# check_indexes(NODE, NAME[, DATABASE]) - does every valid B-tree have an entry for each row
# of its table, and no wrong ones?
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

# check_rows(NODE, NAME, DATABASE, QUERY => RESULT...) - also with scans of one kind only, so
# that an index that misses a row shows
sub check_rows
{
	my ($node, $name, $database, %expected) = @_;

	subtest "$name: rows" => sub {
		for my $query (sort keys %expected)
		{
			for my $off ('enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off', 'enable_seqscan = off')
			{
				is($node->safe_psql($database, "SET $off; $query"), $expected{$query}, "$query, SET $off");
			}
		}
	};
	return;
}

# bad_log_lines(NODE[, OFFSET]) - what should never be in a log, however hard the load
sub bad_log_lines
{
	my ($node, $offset) = @_;

	return grep {
		/PANIC|TRAP:|invalid page|inconsistent page found|could not (?:read|write|open|access|find)|unexpected zero page|terminated by signal|terminated by exception|LOG: .*(?:exited with|crash)|WARNING|invalid (?:memory|record|magic)|incorrect/
		  && !/terminating connection due to|there is (?:no|already a|already no) transaction/
	} split /\n/, substr(slurp_file($node->logfile), $offset // 0);
}

sub check_log
{
	my ($node, $name, $offset) = @_;

	return is(join("\n", bad_log_lines($node, $offset)), '', "$name: nothing bad in the log");
}

1;
