# Test all WAL records of nbtree for indexes of alignment 2, 4 and 8.  The test counts the records
# that pg_waldump prints.  A standby replays them, and compares every page with the page image of
# the primary.  The primary replays them after crashes.
#
# Each opcode must occur at least once for each alignment, or 50 times with PGDENSE_SOAK.  Special
# cases of some records must occur at least once, or 10 times with PGDENSE_SOAK.  PGDENSE_FUZZ_SEED
# is the random seed.  The test prints it.
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
my %at_least = (
	(map { $_ => $ENV{PGDENSE_SOAK} ? 50 : 1 } @opcodes),
	(map { $_ => $ENV{PGDENSE_SOAK} ? 10 : 1 } @special));
note "PGDENSE_FUZZ_SEED=$seed";

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
# The images are large.  Keep WAL until its records are counted.
$primary->append_conf('postgresql.conf', <<'CONF');
fsync = off
autovacuum = off
default_index_item_alignment = auto
wal_consistency_checking = btree
wal_compression = lz4
wal_log_hints = on
max_wal_size = 3GB
checkpoint_timeout = 1h
wal_keep_size = 2GB
shared_buffers = 64MB
CONF
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION amcheck; CREATE EXTENSION pageinspect');
create_shapes($primary, 'postgres');
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my @counts;

# Run with page images after a checkpoint, and also without page images, so that every
# change is also replayed record by record.
my $round = 0;
while (1)
{
	my $images = $round % 2 ? 'off' : 'on';
	set_page_images($images);

	my $from = $primary->lsn('insert');
	work_through($primary, 'postgres', $seed + $round);
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	push @counts, btree_records($primary, 'postgres', $from, $primary->lsn('flush'));

	check_structure($_, 'postgres', $_->name . " after round $round, full_page_writes = $images")
	  for $primary, $standby;
	is( check_contents($primary, 'postgres', 'primary'),
		check_contents($standby, 'postgres', 'standby'),
		'primary and standby hold the same rows');
	$primary->safe_psql('postgres', 'CHECKPOINT');

	last if ++$round >= 2 && !too_few(\@counts, 2, 4, 8) || $round > 40;
}

sub set_page_images
{
	my ($images) = @_;

	$primary->safe_psql('postgres', "ALTER SYSTEM SET full_page_writes = $images");
	$primary->reload;
	$primary->poll_query_until('postgres',
		"SELECT current_setting('full_page_writes') = '$images'");
}

# Return the kinds of records that are too few for one of the given alignments.
sub too_few
{
	my ($counts, @aligns) = @_;
	my @few;

	for my $align (@aligns)
	{
		for my $kind (sort keys %at_least)
		{
			my $sum = 0;
			$sum += $_->{$align}{$kind} // 0 for @$counts;
			push @few, "$kind: $sum" if $sum < $at_least{$kind};
		}
	}
	return @few;
}

print_census("records, $round rounds", @counts);
for my $align (2, 4, 8)
{
	is_deeply([ too_few(\@counts, $align) ],
		[], "alignment $align has enough records of every kind");
	is(scalar(grep { $_->{$align}{wrong} } @counts),
		0, "no record for alignment $align has another one");
}
ok( !(  grep {
			grep { !/^(2|4|8)$/ }
			  keys %$_
		} @counts),
	'no record has an unknown alignment');
is(scalar(grep { $_->{2}{elsewhere} || $_->{4}{elsewhere} } @counts),
	0, 'no record of a catalog index is aligned');

# Check that pages have the alignment of their index.  Some pivot tuples have kept a
# TID.
for my $node ($primary, $standby)
{
	my %expected = map { ("$_->{name}_k" => $_->{align}, "$_->{name}_v" => $_->{align}) } @shapes;
	is_deeply(page_alignments($node, 'postgres', keys %expected),
		\%expected, $node->name . ': alignments of all pages');
}
for my $shape (grep { $_->{name} =~ /dups/ } @shapes)
{
	$primary->safe_psql('postgres', put($shape, 'generate_series(1, 6000) i'));
	ok($primary->safe_psql('postgres', <<"SQL") > 0, "$shape->{name} has pivot tuples with a TID");
SELECT count(*) FROM bt_metap('$shape->{name}_k') m, bt_page_items('$shape->{name}_k', m.root::int8) i WHERE m.level > 0 AND i.htid IS NOT NULL
SQL
}

# Crash the primary during the work.  Recovery also compares pages with their images.  Full-page
# images must be on for two reasons.  A killed process may have written half a page.  And without an
# image, recovery has nothing to compare for a page whose file was removed.
set_page_images('on');
$primary->safe_psql('postgres', 'CHECKPOINT');
srand($seed);
for my $crash (1 .. 3)
{
	my $file = $primary->basedir . '/work.sql';
	my $out = '';
	unlink $file;
	append_to_file($file, work_sql($seed + $crash));
	my $work =
	  IPC::Run::start([ 'psql', '-X', '-q', '-d', $primary->connstr('postgres'), '-f', $file ],
		'>', \$out, '2>', \$out);
	my $seconds = 0.2 + rand(3);
	usleep(1_000_000 * $seconds);
	kill_all($primary);
	$work->finish;
	$primary->start;
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	check_structure($_, 'postgres', sprintf('%s after a crash after %.1f s', $_->name, $seconds),
		'public')
	  for $primary, $standby;
	is( check_contents($primary, 'postgres', 'primary'),
		check_contents($standby, 'postgres', 'standby'),
		'primary and standby hold the same rows');
}

# Promote the standby.
$standby->promote;
check_structure($standby, 'postgres', 'promoted standby', 'public');
check_contents($standby, 'postgres', 'promoted standby');
work_through($standby, 'postgres', $seed + 4);
check_structure($standby, 'postgres', 'promoted standby, written to');
check_contents($standby, 'postgres', 'promoted standby, written to');

$_->stop for $standby, $primary;
is(unexpected_log($_), '', 'nothing unexpected in the log of the ' . $_->name)
  for $primary, $standby;
done_testing();
