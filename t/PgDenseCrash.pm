# PgDenseCrash.pm - end a server as a crash does
package PgDenseCrash;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use POSIX ':sys_wait_h';
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);

our @EXPORT = qw(kill_all crash_in_recovery);

# Kill the postmaster and all its children, at one moment: it is stopped first, so
# that it can neither start others nor clean up after those that die.
sub kill_all
{
	my ($node) = @_;
	my $postmaster = $node->{_pid};

	kill 'STOP', $postmaster;
	my @children = map { m{/proc/(\d+)/} } grep { (eval { slurp_file($_) } // '') =~ /^\d+ \(.*\) \S $postmaster /s } glob('/proc/[0-9]*/stat');
	kill 'KILL', @children, $postmaster;
	$node->{_pid} = undef;

	# A server does not start while one of them is there, if only as a zombie.
	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;
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

# crash_in_recovery(NODE, SECONDS) - start the server, and kill it that many seconds later, in
# recovery if it is still at it; was it?
sub crash_in_recovery
{
	my ($node, $seconds) = @_;
	my $pid_file = $node->data_dir . '/postmaster.pid';
	my ($old) = slurp_file($pid_file) =~ /^(\d+)/;
	my $pid = $old;

	system_or_bail('pg_ctl', '-W', '-D', $node->data_dir, '-l', $node->logfile, 'start');
	usleep(1_000_000 * $seconds);
	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		($pid) = (eval { slurp_file($pid_file) } // '') =~ /^(\d+)\n.*\n/ ? $1 : $old;
		last if $pid != $old;
		usleep(10_000);
	}
	my $recovering = slurp_file($pid_file) !~ /^ready/m;
	$node->{_pid} = $pid;
	kill_all($node);
	return $recovering;
}

1;
