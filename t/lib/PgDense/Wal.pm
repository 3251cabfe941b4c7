# PgDense::Wal - functions that the tests of wal_directio_patch share
#
# The functions make nodes with parameters for how WAL is written, copy their data directories, read
# their logs, list the transactions that were acknowledged to clients, and start a node after a
# crash.  PgDense::WalSegments reads the bytes and the records of segments.  PgDense::WalFiles looks
# at the page cache.  PgDense::WalRecorder records the writes of a server.  PgDense::WalDisk models
# what may be on a disk after the machine has failed.
package PgDense::Wal;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Copy;
use File::Find;
use FindBin;
use PgDense::WalSegments qw(lsn_number $page);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT =
  qw(unit_setting wal_counters wal_node set_parameters log_position effective_mode unexpected_log
  redo_of control_data copy_data move_to crash_and_start acknowledged build_library);

# wal_node(NAME, SEGMENT MB, PARAMETERS...) - return a new node, not yet started, with as little
# activity of its own as possible.  All nodes of a test with segments of the same size are copies of
# the same node, so they have the same system identifier.
my %templates;

sub wal_node
{
	my ($name, $mb, @parameters) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	if (!$templates{$mb})
	{
		$templates{$mb} = PostgreSQL::Test::Utils::tempdir . '/data';
		system_or_bail('initdb', '-D', $templates{$mb}, '--auth=trust', '--no-sync',
			"--wal-segsize=$mb", '--encoding=UTF8', '--locale=C');
	}
	local $ENV{INITDB_TEMPLATE} = $templates{$mb};
	$node->init;
	set_parameters(
		$node,
		wal_level => 'replica',
		max_wal_senders => 10,
		log_statement => 'none',
		autovacuum => 'off',
		checkpoint_timeout => '1h',
		shared_buffers => '16MB',
		@parameters);
	return $node;
}

# wal_counters(NODE, SQL, OPTION => VALUE...) - run a query of pg_stat_wal_direct, and return its
# result.  The query is for a database with the extension, "postgres" or the option "database".
#
# From 18 on, the counters are those of pg_stat_io, and only the column "mode" tells if writes are
# direct.  A session adds its writes to the counters at its end, which may come after psql has ended.
# walwriter adds its writes after one of its next rounds.  So wait until all other sessions have
# ended.  With the option "expected", also wait until the result is the expected one.
sub wal_counters
{
	my ($node, $sql, %options) = @_;
	my $database = $options{database} // 'postgres';
	my ($major) = `pg_config --version` =~ /(\d+)/;
	my %column = (writes => 'writes', bytes => 'write_bytes', inits => 'inits');

	$sql =~
	  s/\b(direct|buffered)_(writes|bytes|inits)\b/(CASE mode WHEN '$1' THEN $column{$2} ELSE 0 END)/g
	  if $major >= 18;
	$node->poll_query_until('postgres',
		q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()}
	) or die 'other sessions do not end';
	$node->poll_query_until($database, $sql, $options{expected}) if defined $options{expected};
	return $node->safe_psql($database, $sql);
}

# unit_setting(UNIT) - return the value of wal_write_unit that sets this unit for any size of the
# device's physical sectors
sub unit_setting
{
	my ($unit) = @_;

	return $unit =~ /^(?:512|4096)$/ ? "force_$unit" : $unit;
}

# set_parameters(NODE, NAME => VALUE...) - set parameters, which take effect at the next start
sub set_parameters
{
	my ($node, @parameters) = @_;

	while (my ($parameter, $value) = splice(@parameters, 0, 2))
	{
		$value = unit_setting($value) if $parameter eq 'wal_write_unit';
		$node->append_conf('postgresql.conf', "$parameter = '$value'");
	}
}

sub log_position
{
	my ($node) = @_;

	return -s $node->logfile // 0;
}

# effective_mode(NODE[, FROM]) - find out how the server writes WAL, from its messages in the log
# from position FROM on; return a hash with mode (direct or buffered, by the last message), unit,
# and reason
sub effective_mode
{
	my ($node, $from) = @_;
	my %found = (mode => 'buffered', unit => undef, reason => undef);
	my $log = substr(slurp_file($node->logfile), $from // 0);

	for (split /\n/, $log)
	{
		if (/WAL is written with direct I\/O in units of (\d+) bytes/)
		{
			@found{qw(mode unit reason)} = ('direct', $1, undef);
		}
		elsif (/WAL is written through the page cache|direct I\/O for WAL is given up/)
		{
			@found{qw(mode unit)} = ('buffered', undef);
			$found{reason} = '';
		}
		elsif (defined $found{reason} && $found{reason} eq '' && /DETAIL:\s+(.*)/)
		{
			$found{reason} = $1;
		}
	}
	return \%found;
}

# unexpected_log(NODE[, FROM]) - return the lines that should never be in a log
#
# A write that SIGKILL interrupts may write a part of a page.  Recovery mends all pages but those of
# a free space map, which has no WAL: the server finds the wrong checksum, and clears the page.
sub unexpected_log
{
	my ($node, $from) = @_;
	my @lines = grep {
		/PANIC|TRAP:|inconsistent page found|invalid page|unexpected zero page|could not read block|terminated by signal|item alignment|given up/
		  && !/invalid page in block \d+ of relation "?base\/\d+\/\d+_fsm"?; zeroing out page/
	  }
	  split /\n/, substr(slurp_file($node->logfile), $from // 0);

	return join "\n", @lines;
}

sub control_data
{
	my ($dir, $item) = @_;
	my ($stdout, $stderr) = run_command([ 'pg_controldata', $dir ]);

	return $stdout =~ /^\Q$item\E:\s+(.*)$/m
	  ? $1
	  : die "no $item in what pg_controldata says: $stdout $stderr";
}

sub redo_of
{
	my ($dir) = @_;

	return lsn_number(control_data($dir, "Latest checkpoint's REDO location"));
}

# copy_data(FROM, TO) - make a data directory a copy of another one, without its segments; copy only
# files that differ
sub copy_data
{
	my ($from, $to) = @_;
	my (%there, @copy);
	my $list = sub {
		my ($dir, $function) = @_;
		return if !-d $dir;
		find(
			{
				no_chdir => 1,
				wanted => sub {
					return if $_ eq $dir;
					my $path = substr($_, length($dir) + 1);
					return if $path =~ m{(^|/)[0-9A-F]{24}$};
					my @stat = Time::HiRes::lstat($_);
					$function->($path, -d $_ ? 'directory' : "@stat[7, 9]");
				}
			},
			$dir);
	};

	mkdir $to;
	chmod 0700, $to;
	$list->($to, sub { $there{ $_[0] } = $_[1] });
	$list->(
		$from, sub { push @copy, $_[0] if ($there{ $_[0] } // '') ne $_[1]; delete $there{ $_[0] } }
	);
	# Delete the contents of a directory before the directory itself.
	for my $path (reverse sort keys %there)
	{
		$there{$path} eq 'directory' ? rmdir "$to/$path" : unlink "$to/$path";
	}
	for my $path (sort @copy)
	{
		if (-d "$from/$path")
		{
			mkdir "$to/$path";
			chmod 0700, "$to/$path";
		}
		else
		{
			my @stat = Time::HiRes::stat("$from/$path");
			copy("$from/$path", "$to/$path") or die "could not copy $from/$path: $!";
			chmod 0600, "$to/$path";
			Time::HiRes::utime($stat[8], $stat[9], "$to/$path");
		}
	}
}

# move_to(NODE, LSN, SEGMENT BYTES) - fill WAL with logical messages, and flush each one, so that
# the next record starts at LSN.  LSN must be far enough from the start of a page.
sub move_to
{
	my ($node, $target, $size) = @_;

	$node->safe_psql('postgres', <<"SQL");
DO \$\$
DECLARE
	target int8 := $target;
	here int8;
	gap int8;
BEGIN
	LOOP
		here := pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0');
		-- Subtract the headers of the pages between here and target.
		gap := target - here - (target / $page - here / $page) * 24 - (target / $size - here / $size) * 16;
		EXIT WHEN gap = 0;
		IF gap < 0 OR gap % 8 <> 0 THEN
			RAISE 'cannot move from % to %', here, target;
		END IF;
		-- The record of a message takes 51 bytes and the content.  From 231 bytes of content on, it
		-- takes 54 bytes and the content.
		PERFORM pg_logical_emit_message(false, '', repeat('f', (CASE WHEN gap > 4200 THEN 4000 WHEN gap > 600 THEN 400 WHEN gap > 280 THEN gap - 200 - 51
		  ELSE gap - 51 END)::int), true);
	END LOOP;
END \$\$
SQL
}

# crash_and_start(NODE) - start a node after a crash; return the position of the log before the
# start
sub crash_and_start
{
	my ($node) = @_;
	my $from = log_position($node);

	$node->start;
	return $from;
}

# acknowledged(PREFIX) - return the transactions acknowledged to "pgbench --log
# --log-prefix=PREFIX": for each client an array of their times, in microseconds since 1970
sub acknowledged
{
	my ($prefix) = @_;
	my %acknowledged;

	for my $file (glob("$prefix.*"))
	{
		/^(\d+) \d+ \d+ \d+ (\d+) (\d+)/ and push @{ $acknowledged{$1} }, $2 * 1_000_000 + $3
		  for split /\n/, slurp_file($file);
	}
	return \%acknowledged;
}

# build_library(SOURCE) - build a library for LD_PRELOAD
sub build_library
{
	my ($source) = @_;
	my $library = PostgreSQL::Test::Utils::tempdir . '/' . ($source =~ s/\.c$/.so/r);
	my ($cc) = `pg_config --cc` =~ /(.*)/;

	system_or_bail(split(' ', $cc),
		'-Wall', '-Wextra', '-Werror', '-O2', '-shared', '-fPIC', '-o', $library,
		"$FindBin::RealBin/$source", '-ldl');
	return $library;
}

1;
