# PgDense::WalFiles - examine segments from outside of a server: how its processes have opened them,
# and how much of them is in the page cache
package PgDense::WalFiles;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use Fcntl qw(O_DIRECT);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(can_write_directly resident_bytes evict open_wal writes_directly poll_for);

# can_write_directly(DIRECTORY) - return true if the file system takes direct writes
sub can_write_directly
{
	my ($dir) = @_;
	my $path = "$dir/can_write_directly.$$";
	my ($out, $err) = run_command(
		[ 'dd', 'if=/dev/zero', "of=$path", 'bs=8192', 'count=4', 'oflag=direct', 'status=none' ]);
	my $can = -e $path && -s $path == 32768 && resident_bytes($path) == 0;

	unlink $path;
	return $can;
}

# resident_bytes(FILE...) - return the bytes of these files that the page cache holds
sub resident_bytes
{
	my (@files) = @_;
	my $sum = 0;

	return 0 if !@files;
	my ($stdout, $stderr) =
	  run_command([ 'fincore', '--bytes', '--noheadings', '--output', 'RES', @files ]);
	$sum += $_ for split ' ', $stdout;
	return $sum;
}

# evict(PATH...) - remove the files from the page cache
sub evict
{
	for my $path (@_)
	{
		run_command(
			[
				'dd', "of=$path",
				'oflag=nocache', 'conv=notrunc,fdatasync',
				'count=0', 'status=none'
			]);
	}
	return;
}

# open_wal(PID) - return [name, true if opened for direct I/O] for each segment that the process has
# open
sub open_wal
{
	my ($pid) = @_;
	my @open;

	for my $link (glob("/proc/$pid/fd/*"))
	{
		my $path = readlink $link;
		next if !defined $path || $path !~ m{/pg_wal/([0-9A-F]{24})$};
		my $name = $1;
		my $info = eval { slurp_file($link =~ s{/fd/}{/fdinfo/}r) } // next;
		my ($flags) = $info =~ /^flags:\s+([0-7]+)/m;
		push @open, [ $name, oct($flags) & O_DIRECT ? 1 : 0 ];
	}
	return @open;
}

# writes_directly(NODE) - return true if the server writes WAL with direct I/O.  The checkpointer
# keeps open the segment to which it wrote the record of a checkpoint.
sub writes_directly
{
	my ($node) = @_;

	$node->safe_psql('postgres', 'CHECKPOINT');
	my @open = open_wal(
		$node->safe_psql(
			'postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'}));
	die 'the checkpointer has no segment open' if !@open;
	return $open[-1][1];
}

# poll_for(CONDITION, [SECONDS]) - wait until CONDITION returns true; return false after a timeout
sub poll_for
{
	my ($condition, $seconds) = @_;
	my $deadline = time() + ($seconds // $PostgreSQL::Test::Utils::timeout_default);

	while (!$condition->())
	{
		return 0 if time() > $deadline;
		usleep(50_000);
	}
	return 1;
}

1;
