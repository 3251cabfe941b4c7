# PgDense::Crash - kill a server as a crash does, or wait until a server ends
package PgDense::Crash;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use POSIX ':sys_wait_h';
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);

our @EXPORT = qw(kill_all crash_in_recovery wait_for_end);

# kill_all(NODE[, whole_writes => 1]) - kill the postmaster and all its children, at one moment
#
# The postmaster is stopped first, so that it can neither start other children nor clean up after
# children that die.  If a process is killed while it writes a page, only half of the page may be
# written.  With whole_writes => 1, the children are stopped before they are killed, so that each
# finishes the page that it writes.  Return the number of children.
sub kill_all
{
	my ($node, %options) = @_;
	my $postmaster = $node->{_pid};

	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $stop = sub {
		kill 'STOP', @_;
		for my $pid (@_)
		{
			while ((eval { slurp_file("/proc/$pid/stat") } // 'gone') =~ /^\d+ \(.*\) [RSD] /)
			{
				die "process $pid does not stop" if time() > $deadline;
				usleep(1_000);
			}
		}
	};

	# List the children only after the postmaster has stopped, because then it starts no more.
	$stop->($postmaster);
	my @children = map { m{/proc/(\d+)/} } grep {
		(eval { slurp_file($_) } // '') =~ /^\d+ \(.*\) \S $postmaster /s
	} glob('/proc/[0-9]*/stat');
	$stop->(@children) if $options{whole_writes};
	kill 'KILL', @children, $postmaster;
	$node->{_pid} = undef;

	# A server does not start while one of these processes exists, even as a zombie.
	for my $pid (@children, $postmaster)
	{
		while (-e "/proc/$pid")
		{
			die "process $pid does not end" if time() > $deadline;
			waitpid($pid, WNOHANG);
			usleep(2_000) if -e "/proc/$pid";
		}
	}
	return scalar @children;
}

# crash_in_recovery(NODE, SECONDS[, OPTION => VALUE]) - start the server, and kill it after SECONDS,
# as kill_all() does; return true if the server was still in recovery
#
# Wait until the postmaster has made all its lock files.  If it is killed between the creation of a
# lock file and the write to it, no server starts until somebody removes the empty file.
sub crash_in_recovery
{
	my ($node, $seconds, %options) = @_;
	my $pid_file = $node->data_dir . '/postmaster.pid';
	my ($old) = slurp_file($pid_file) =~ /^(\d+)/;
	my $pid = $old;

	system_or_bail('pg_ctl', '-W', '-D', $node->data_dir, '-l', $node->logfile, 'start');
	usleep(1_000_000 * $seconds);
	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		# The last line is the status of the postmaster.
		($pid) = (eval { slurp_file($pid_file) } // '') =~ /^(\d+)\n(?:.*\n){6}\w/ ? $1 : $old;
		last if $pid != $old;
		usleep(10_000);
	}
	my $recovering = slurp_file($pid_file) !~ /^ready/m;
	$node->{_pid} = $pid;
	kill_all($node, %options);
	return $recovering;
}

# wait_for_end(NODE) - wait for a server that ends by itself
sub wait_for_end
{
	my ($node) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		last if !-e $node->data_dir . '/postmaster.pid';
		usleep(100_000);
	}
	$node->_update_pid(0);
}

1;
