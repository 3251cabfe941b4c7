# All that nbtree logs, for indexes of alignment 2, 4 and 8: counted with
# pg_waldump, replayed by a standby that compares every page with an image of the
# primary's, and by the primary itself after a crash.
#
# Each opcode must have been there at least once for each alignment, with
# PGDENSE_SOAK 50 times, and what is special about some records at least once or
# 10 times.  PGDENSE_FUZZ_SEED is the random seed, which is printed.
use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";
use PgDense::Crash;
use PgDense::Nbtree;
use PgDense::Patch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

needs_patch('index_align', 'default_index_item_alignment');

my $seed = ($ENV{PGDENSE_FUZZ_SEED} || time()) % 1_000_000;
my %at_least = ((map { $_ => $ENV{PGDENSE_SOAK} ? 50 : 1 } @opcodes), (map { $_ => $ENV{PGDENSE_SOAK} ? 10 : 1 } @special));
note "PGDENSE_FUZZ_SEED=$seed";

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
# The images are large; they stay until they are counted.
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

# With images of pages after a checkpoint, and without, so that everything is
# replayed record by record.
my $round = 0;
while (1)
{
	my $images = $round % 2 ? 'off' : 'on';
	set_page_images($images);

	my $from = $primary->lsn('insert');
	work_through($primary, 'postgres', $seed + $round);
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	push @counts, btree_records($primary, 'postgres', $from, $primary->lsn('flush'));

	check_structure($_, 'postgres', $_->name . " after round $round, full_page_writes = $images") for $primary, $standby;
	is(check_contents($primary, 'postgres', 'primary'), check_contents($standby, 'postgres', 'standby'), 'and both hold the same');
	$primary->safe_psql('postgres', 'CHECKPOINT');

	last if ++$round >= 2 && !too_few(\@counts, 2, 4, 8) || $round > 40;
}

sub set_page_images
{
	my ($images) = @_;

	$primary->safe_psql('postgres', "ALTER SYSTEM SET full_page_writes = $images");
	$primary->reload;
	$primary->poll_query_until('postgres', "SELECT current_setting('full_page_writes') = '$images'");
}

# which kinds of records there have not been enough of, for some alignments
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
	is_deeply([ too_few(\@counts, $align) ], [], "all kinds of records at alignment $align");
	is(scalar(grep { $_->{$align}{wrong} } @counts), 0, "none of another alignment than $align");
}
ok(!(grep { grep { !/^(2|4|8)$/ } keys %$_ } @counts), 'no other alignment');
is(scalar(grep { $_->{2}{elsewhere} || $_->{4}{elsewhere} } @counts), 0, 'none of an index of the catalogs');

# pages are what their index is, and pivots that had to keep a TID are among them
for my $node ($primary, $standby)
{
	my %expected = map { ("$_->{name}_k" => $_->{align}, "$_->{name}_v" => $_->{align}) } @shapes;
	is_deeply(page_alignments($node, 'postgres', keys %expected), \%expected, $node->name . ': alignments of all pages');
}
for my $shape (grep { $_->{name} =~ /dups/ } @shapes)
{
	$primary->safe_psql('postgres', put($shape, 'generate_series(1, 6000) i'));
	ok( $primary->safe_psql('postgres', <<"SQL") > 0, "$shape->{name} has pivots with a TID");
SELECT count(*) FROM bt_metap('$shape->{name}_k') m, bt_page_items('$shape->{name}_k', m.root::int8) i WHERE m.level > 0 AND i.htid IS NOT NULL
SQL
}

# Crashes of the primary in the middle of it.  Pages are compared with their images
# in recovery, too.  That needs images of pages: the process may be killed when it
# has written half a page, and a page of a file that is gone could not be compared.
set_page_images('on');
$primary->safe_psql('postgres', 'CHECKPOINT');
srand($seed);
for my $crash (1 .. 3)
{
	my $file = $primary->basedir . '/work.sql';
	my $out = '';
	unlink $file;
	append_to_file($file, work_sql($seed + $crash));
	my $work = IPC::Run::start([ 'psql', '-X', '-q', '-d', $primary->connstr('postgres'), '-f', $file ], '>', \$out, '2>', \$out);
	my $seconds = 0.2 + rand(3);
	usleep(1_000_000 * $seconds);
	kill_all($primary);
	$work->finish;
	$primary->start;
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	check_structure($_, 'postgres', sprintf('%s after a crash after %.1f s', $_->name, $seconds), 'public') for $primary, $standby;
	is(check_contents($primary, 'postgres', 'primary'), check_contents($standby, 'postgres', 'standby'), 'and both hold the same');
}

# the standby as a primary
$standby->promote;
check_structure($standby, 'postgres', 'promoted standby', 'public');
check_contents($standby, 'postgres', 'promoted standby');
work_through($standby, 'postgres', $seed + 4);
check_structure($standby, 'postgres', 'promoted standby, written to');
check_contents($standby, 'postgres', 'promoted standby, written to');

$_->stop for $standby, $primary;
is(unexpected_log($_), '', 'log of the ' . $_->name) for $primary, $standby;
done_testing();
