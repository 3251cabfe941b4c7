# PgDense::Wal - functions that the tests of wal_directio_patch share
#
# Nodes with parameters for how WAL is written, the bytes and the records of their segments, the
# transactions that were acknowledged to clients, the start after a crash, the contents of the
# page cache, and a model of a disk with what may be on it after the machine has failed.
package PgDense::Wal;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Copy;
use File::Find;
use FindBin;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(unit_setting wal_counters wal_node set_parameters log_position effective_mode unexpected_log
  lsn_number lsn_text segment_name segment_files segment_contents read_wal write_wal wal_records record_end redo_of control_data
  copy_data move_to crash_and_start resident_bytes acknowledged
  build_library with_recorder recorded_events disk_of disk_apply disk_crash disk_contents put_contents check_writes);

my $page = 8192;

# Make the processes of a killed server children of this process, which can reap them at once.
# Otherwise process 1 has to, which may take a second or two.  The number of the system call
# prctl(PR_SET_CHILD_SUBREAPER) is known for these machines only.
{
	my $machine = (POSIX::uname())[4];
	my %prctl = (x86_64 => 157, aarch64 => 167);

	syscall($prctl{$machine}, 36, 1, 0, 0, 0) if $^O eq 'linux' && $prctl{$machine};
}

# wal_node(NAME, SEGMENT MB, PARAMETERS...) - return a new node, not yet started, with as little
# activity of its own as possible.  All nodes of a test with segments of the same size are copies
# of one, and have its system identifier.
my %templates;

sub wal_node
{
	my ($name, $mb, @parameters) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	if (!$templates{$mb})
	{
		$templates{$mb} = PostgreSQL::Test::Utils::tempdir . '/data';
		system_or_bail('initdb', '-D', $templates{$mb}, '--auth=trust', '--no-sync', "--wal-segsize=$mb", '--encoding=UTF8', '--locale=C');
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
		shared_buffers => '16MB', @parameters);
	return $node;
}

# wal_counters(SQL) - return a query of pg_stat_wal_direct for this major version.  From 18 on, the
# counters are those of pg_stat_io, and only the mode tells if writes are direct.
sub wal_counters
{
	my ($sql) = @_;
	my ($major) = `pg_config --version` =~ /(\d+)/;
	my %column = (writes => 'writes', bytes => 'write_bytes', inits => 'inits');

	$sql =~ s/\b(direct|buffered)_(writes|bytes|inits)\b/(CASE mode WHEN '$1' THEN $column{$2} ELSE 0 END)/g if $major >= 18;
	return $sql;
}

# unit_setting(UNIT) - return the value of wal_write_unit that means this unit for any size of the
# device's physical sectors
sub unit_setting
{
	my ($unit) = @_;

	return $unit =~ /^(?:512|4096)$/ ? "force_$unit" : $unit;
}

# set_parameters(NODE, NAME => VALUE...) - set parameters from the next start on
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

# effective_mode(NODE[, FROM]) - return how the server writes WAL, by its messages in the log from a
# place on: a hash with mode (direct or buffered, by the last message), unit, and reason
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
sub unexpected_log
{
	my ($node, $from) = @_;
	my @lines = grep { /PANIC|TRAP:|inconsistent page found|invalid page|unexpected zero page|could not read block|terminated by signal|given up/ }
	  split /\n/, substr(slurp_file($node->logfile), $from // 0);

	return join "\n", @lines;
}

sub lsn_number
{
	my ($high, $low) = split /\//, $_[0];

	return hex($high) * 2**32 + hex($low);
}

sub lsn_text
{
	return sprintf '%X/%X', $_[0] / 2**32, $_[0] % 2**32;
}

# segment_name(TIMELINE, LSN, SEGMENT BYTES) - return the name of the file with the byte at LSN
sub segment_name
{
	my ($timeline, $lsn, $size) = @_;
	my $segno = int($lsn / $size);
	my $per_id = 2**32 / $size;

	return sprintf '%08X%08X%08X', $timeline, $segno / $per_id, $segno % $per_id;
}

# segment_files(DIRECTORY) - return the names of the segments in a directory, in order
sub segment_files
{
	my ($dir) = @_;

	opendir my $handle, $dir or die "could not open directory $dir: $!";
	return sort grep { /^[0-9A-F]{24}$/ } readdir $handle;
}

# segment_contents(DIRECTORY) - return a reference to a hash from segment name to contents
sub segment_contents
{
	my ($dir) = @_;

	return { map { $_ => slurp_file("$dir/$_") } segment_files($dir) };
}

# read_wal(DIRECTORY, TIMELINE, LSN, LENGTH, SEGMENT BYTES) - return the bytes there
sub read_wal
{
	my ($dir, $timeline, $lsn, $length, $size) = @_;
	my $data = '';

	while ($length > 0)
	{
		my $offset = $lsn % $size;
		my $n = $length < $size - $offset ? $length : $size - $offset;
		my $name = segment_name($timeline, $lsn, $size);

		open my $file, '<:raw', "$dir/$name" or die "could not open $dir/$name: $!";
		sysseek $file, $offset, 0 or die $!;
		sysread($file, my $part, $n) == $n or die "could not read $dir/$name";
		$data .= $part;
		$lsn += $n;
		$length -= $n;
	}
	return $data;
}

# write_wal(DIRECTORY, TIMELINE, LSN, BYTES, SEGMENT BYTES) - write bytes, all in one segment
sub write_wal
{
	my ($dir, $timeline, $lsn, $data, $size) = @_;
	my $name = segment_name($timeline, $lsn, $size);

	open my $file, '+<:raw', "$dir/$name" or die "could not open $dir/$name: $!";
	sysseek $file, $lsn % $size, 0 or die $!;
	syswrite($file, $data) == length $data or die "could not write $dir/$name: $!";
	close $file or die $!;
}

# wal_records(DIRECTORY, START, SEGMENT BYTES[, TIMELINE]) - return the records from that place on,
# up to the first invalid one: a reference to an array of hashes with lsn, end, length, xid and
# text, and the message with which pg_waldump ends
sub wal_records
{
	my ($dir, $start, $size, $timeline) = @_;
	my @records;
	my ($stdout, $stderr) = ('', '');
	my $first = segment_name($timeline // 1, $start, $size);
	my ($last) = grep { substr($_, 0, 8) eq substr($first, 0, 8) } reverse segment_files($dir);

	# Name the files.  Else pg_waldump takes the segment size from any file, which may be all zeros.
	IPC::Run::run [ 'pg_waldump', '--path', $dir, '--start', lsn_text($start), $first, $last ], '>', \$stdout, '2>', \$stderr;
	while ($stdout =~ /^(rmgr: .* len \(rec\/tot\): +\d+\/ *(\d+), tx: +(\d+), lsn: (\S+), .*)$/mg)
	{
		push @records, { text => $1, length => $2, xid => $3, lsn => lsn_number($4), end => record_end(lsn_number($4), $2, $size) };
	}
	return (\@records, $stderr);
}

# record_end(LSN, LENGTH, SEGMENT BYTES) - return the end of a record that begins at LSN; the end of
# a whole page is not yet the start of the next one
sub record_end
{
	my ($lsn, $length, $size) = @_;

	while (1)
	{
		my $room = $page - $lsn % $page;
		if ($length <= $room)
		{
			return ($lsn + $length + 7) & ~7;
		}
		$length -= $room;
		$lsn += $room;
		$lsn += $lsn % $size == 0 ? 40 : 24;
	}
}

sub control_data
{
	my ($dir, $item) = @_;
	my ($stdout, $stderr) = run_command([ 'pg_controldata', $dir ]);

	return $stdout =~ /^\Q$item\E:\s+(.*)$/m ? $1 : die "no $item in what pg_controldata says: $stdout $stderr";
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
		find({ no_chdir => 1, wanted => sub {
			return if $_ eq $dir;
			my $path = substr($_, length($dir) + 1);
			return if $path =~ m{(^|/)[0-9A-F]{24}$};
			my @stat = Time::HiRes::lstat($_);
			$function->($path, -d $_ ? 'directory' : "@stat[7, 9]");
		} }, $dir);
	};

	mkdir $to;
	chmod 0700, $to;
	$list->($to, sub { $there{ $_[0] } = $_[1] });
	$list->($from, sub { push @copy, $_[0] if ($there{ $_[0] } // '') ne $_[1]; delete $there{ $_[0] } });
	# delete the contents of a directory first
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

# move_to(NODE, LSN, SEGMENT BYTES) - fill WAL with messages, each flushed, so that the next
# record starts at LSN, which must be far enough from the start of a page
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
		-- headers of the pages between
		gap := target - here - (target / $page - here / $page) * 24 - (target / $size - here / $size) * 16;
		EXIT WHEN gap = 0;
		IF gap < 0 OR gap % 8 <> 0 THEN
			RAISE 'cannot move from % to %', here, target;
		END IF;
		-- 51 bytes without content, from 231 bytes of content on 54
		PERFORM pg_logical_emit_message(false, '', repeat('f', (CASE WHEN gap > 4200 THEN 4000 WHEN gap > 600 THEN 400 WHEN gap > 280 THEN gap - 200 - 51
		  ELSE gap - 51 END)::int), true);
	END LOOP;
END \$\$
SQL
}

# crash_and_start(NODE) - start a node after a crash; return the log's position before
sub crash_and_start
{
	my ($node) = @_;
	my $from = log_position($node);

	$node->start;
	return $from;
}

# resident_bytes(FILE...) - return the bytes of these files that the page cache holds
sub resident_bytes
{
	my (@files) = @_;
	my $sum = 0;

	return 0 if !@files;
	my ($stdout, $stderr) = run_command([ 'fincore', '--bytes', '--noheadings', '--output', 'RES', @files ]);
	$sum += $_ for split ' ', $stdout;
	return $sum;
}

# acknowledged(PREFIX) - return the transactions acknowledged to "pgbench --log
# --log-prefix=PREFIX": for each client an array of their times, in microseconds since 1970
sub acknowledged
{
	my ($prefix) = @_;
	my %acknowledged;

	for my $file (glob("$prefix.*"))
	{
		/^(\d+) \d+ \d+ \d+ (\d+) (\d+)/ and push @{ $acknowledged{$1} }, $2 * 1_000_000 + $3 for split /\n/, slurp_file($file);
	}
	return \%acknowledged;
}

# build_library(SOURCE) - build a library for LD_PRELOAD
sub build_library
{
	my ($source) = @_;
	my $library = PostgreSQL::Test::Utils::tempdir . '/' . ($source =~ s/\.c$/.so/r);
	my ($cc) = `pg_config --cc` =~ /(.*)/;

	system_or_bail(split(' ', $cc), '-Wall', '-Wextra', '-Werror', '-O2', '-shared', '-fPIC', '-o', $library, "$FindBin::RealBin/$source", '-ldl');
	return $library;
}

# with_recorder(LIBRARY, FILE, DELAY, FUNCTION) - call FUNCTION; the processes that it starts record
# into FILE how they write WAL (see t/wal_directio_patch/record.c)
sub with_recorder
{
	my ($library, $file, $delay, $function) = @_;
	local $ENV{LD_PRELOAD} = $library;
	local $ENV{PGDENSE_WAL_RECORD} = $file;
	local $ENV{PGDENSE_WAL_DELAY} = $delay;

	return $function->();
}

# recorded_events(FILE) - return the recorded events: a reference to an array of hashes
sub recorded_events
{
	my ($file) = @_;
	my @events;

	open my $handle, '<:raw', $file or die "could not open $file: $!";
	while (read $handle, my $header, 80)
	{
		my %event;
		my $length;
		last if length $header < 80;
		(@event{qw(time offset length)}, $length, @event{qw(flags pid)}, my $type, $event{name}) = unpack 'q<Q<Q<L<L<L<L<Z40', $header;
		$event{type} = chr $type;
		$event{direct} = $event{flags} & 1;
		$event{data} = '';
		# the process was killed while it wrote
		last if $length > 0 && (read($handle, $event{data}, $length) // 0) != $length;
		$event{data} = "\0" x $event{length} if $event{flags} & 4;
		push @events, \%event;
	}
	return \@events;
}

# A model of the disk, for the files of WAL.  It has the durable contents, and the writes since the
# last sync: each physical sector of these may be on disk or not.  A sector is written as a whole or
# not at all.  But if only a part of a sector is written, the disk reads it and writes it anew, and
# may lose it as a whole, with its durable contents.
#
# disk_of(DIRECTORY[, SECTOR]) - return a disk on which all segments of a directory are durable;
# SECTOR is the size of a physical sector, 512 bytes by default
sub disk_of
{
	my ($dir, $sector) = @_;

	return { data => segment_contents($dir), pending => {}, sector => $sector // 512 };
}

sub put_bytes
{
	my ($contents, $offset, $data) = @_;
	my $missing = $offset + length($data) - length $$contents;

	$$contents .= "\0" x $missing if $missing > 0;
	substr($$contents, $offset, length $data) = $data;
}

# disk_apply(DISK, EVENT) - apply an event; names are durable at once
sub disk_apply
{
	my ($disk, $event) = @_;
	my ($data, $pending) = @$disk{qw(data pending)};
	my ($type, $name) = @$event{qw(type name)};

	if ($type eq 'W')
	{
		$data->{$name} //= '';
		push @{ $pending->{$name} }, $event;
	}
	elsif ($type eq 'S')
	{
		put_bytes(\$data->{$name}, $_->{offset}, $_->{data}) for @{ delete $pending->{$name} // [] };
	}
	elsif ($type eq 'R')
	{
		my $new = $event->{data};
		$data->{$new} = delete $data->{$name} // '';
		delete $pending->{$new};
		$pending->{$new} = delete $pending->{$name} if $pending->{$name};
	}
	elsif ($type eq 'U')
	{
		delete $data->{$name};
		delete $pending->{$name};
	}
}

# disk_contents(DISK) - return all contents as the server wrote them: a hash from name to contents
sub disk_contents
{
	my ($disk) = @_;
	my %contents = %{ $disk->{data} };

	for my $name (keys %{ $disk->{pending} })
	{
		put_bytes(\$contents{$name}, $_->{offset}, $_->{data}) for @{ $disk->{pending}{$name} };
	}
	return \%contents;
}

# disk_crash(DISK, DIRECTORY, KEEP[, FIRST]) - replace the segments in a directory by what may be on
# disk now: the durable contents, and those sectors of later writes for which KEEP (given the event,
# and the position in it) is true.  Leave out the segments whose names are before FIRST, if given.
# Return the number of lost sectors.
sub disk_crash
{
	my ($disk, $dir, $keep, $first) = @_;
	my $sector = $disk->{sector};
	my $lost = 0;
	my %image;

	for my $name (grep { !/xlogtemp/ } keys %{ $disk->{data} })
	{
		next if defined $first && $name lt $first;
		my $contents = $disk->{data}{$name};
		for my $event (@{ $disk->{pending}{$name} // [] })
		{
			my ($begin, $end) = ($event->{offset}, $event->{offset} + $event->{length});
			for (my $at = $begin - $begin % $sector; $at < $end; $at += $sector)
			{
				my $from = $at < $begin ? $begin : $at;
				my $to = $at + $sector > $end ? $end : $at + $sector;
				if ($keep->($event, $from - $begin))
				{
					put_bytes(\$contents, $from, substr($event->{data}, $from - $begin, $to - $from));
					next;
				}
				put_bytes(\$contents, $at, "\xDB" x $sector) if $to - $from < $sector && $sector > 512;
				$lost++;
			}
		}
		$image{$name} = $contents;
	}
	put_contents(\%image, $dir);
	return $lost;
}

# put_contents(CONTENTS, DIRECTORY) - replace the segments in a directory by these contents
sub put_contents
{
	my ($contents, $dir) = @_;

	unlink map { "$dir/$_" } segment_files($dir);
	for my $name (grep { !/xlogtemp/ } keys %$contents)
	{
		open my $file, '>:raw', "$dir/$name" or die "could not open $dir/$name: $!";
		print $file $contents->{$name};
		close $file or die "could not write $dir/$name: $!";
	}
}

# check_writes(EVENTS, CONTENTS, RECORDS, UNIT, SEGMENT BYTES, WHAT) - test that all writes to
# segments, from the start of a server on, keep these rules.  CONTENTS is the contents after the
# last write, RECORDS are the records read from it.
#
# - Offset and length of a write are multiples of the unit.  A write that is neither a whole page
#   nor the first one of its page ends with the unit in which the request ends.
# - The first write of each page covers all of it.
# - A write begins no later than the end of the one before it, and does not end earlier.
# - A write has the final contents up to the end of a record (that of the request), and after that
#   only zeros: no part of records that are being inserted.
# - When a file is synced, all files before it are synced.
#
# Return the number of writes, of writes of less than a page, of bytes, and of changes of memory
# during a write.
sub check_writes
{
	my ($events, $contents, $records, $unit, $size, $what) = @_;
	my @ends = map { $_->{end} } @$records;
	# after a switch, the rest of the segment may not be written yet
	push @ends, $ends[-1] + (-$ends[-1]) % $size if $records->[-1]{text} =~ /desc: SWITCH/;
	my (%begun, %unsynced, @wrong, $written);
	my ($writes, $small, $bytes, $changes) = (0, 0, 0, 0);
	my $bad = sub {
		my ($event, $text) = @_;
		push @wrong, sprintf('%s offset %d length %d: %s', @$event{qw(name offset length)}, $text);
	};

	for my $event (@$events)
	{
		my ($type, $name) = @$event{qw(type name)};
		next if $name !~ /^[0-9A-F]{8}([0-9A-F]{8})([0-9A-F]{8})$/;
		my $start = hex($1) * 2**32 + hex($2) * $size;

		if ($type eq 'S')
		{
			delete $unsynced{$name};
			my @before = grep { substr($_, 8) lt substr($name, 8) } keys %unsynced;
			$bad->($event, "synced before @before") if @before;
		}
		if ($type eq 'C')
		{
			$changes++;
			next;
		}
		next if $type ne 'W';

		my ($offset, $length, $data) = @$event{qw(offset length data)};
		my $lsn = $start + $offset;
		$unsynced{$name} = 1;
		$writes++;
		$small++ if $length < $page;
		$bytes += $length;

		$bad->($event, 'not in units') if $offset % $unit || $length % $unit;
		# has the last page been written before?
		my $last = $offset + $length - 1;
		my $partial = $begun{ "$name " . ($last - $last % $page) };
		my $begin_partial = $begun{ "$name " . ($offset - $offset % $page) };
		for (my $at = $offset - $offset % $page; $at < $offset + $length; $at += $page)
		{
			my $whole = $at >= $offset && $at + $page <= $offset + $length;
			$bad->($event, 'first write of a page, but not all of it') if !$whole && !$begun{"$name $at"};
			$begun{"$name $at"} = 1 if $whole;
		}
		$bad->($event, 'begins after the end of the one before, ' . lsn_text($written)) if defined $written && $lsn > $written;

		# The request ends with the last record whose bytes are final in the write, or with the
		# page.
		my $final = substr($contents->{$name} // '', $offset, $length);
		$final .= "\0" x ($length - length $final);
		my $end = $lsn + $length;
		if ($data ne $final || $end % $page)
		{
			my $same = ($data ^ $final) =~ /^(\0*)/s ? length $1 : 0;
			my ($low, $high) = (0, scalar @ends);
			while ($low < $high)
			{
				my $middle = int(($low + $high) / 2);
				if ($ends[$middle] <= $lsn + $same) { $low = $middle + 1 }
				else { $high = $middle }
			}
			$end = $low > 0 ? $ends[ $low - 1 ] : 0;
			if ($end < $lsn)
			{
				$bad->($event, 'no record ends in what is there in the end');
				$end = $lsn;
			}
			elsif (substr($data, $end - $lsn) =~ /[^\0]/)
			{
				$bad->($event, 'not only zeros after ' . lsn_text($end));
			}
		}
		elsif ($end > $ends[-1])
		{
			$end = $ends[-1] > $lsn ? $ends[-1] : $lsn;
		}
		if (defined $written)
		{
			my $from = $written - $written % ($begin_partial ? $unit : $page);
			my $to = $partial ? ($end + $unit - 1) - ($end + $unit - 1) % $unit : $end + (-$end) % $page;
			$bad->($event, 'begins before ' . lsn_text($from)) if $lsn < $from;
			$bad->($event, 'ends after ' . lsn_text($to)) if $lsn + $length > $to;
		}
		$bad->($event, 'ends before ' . lsn_text($written) . ', where the one before it ended') if defined $written && $end < $written;
		$written = $end;
	}
	diag join "\n", @wrong[ 0 .. (@wrong < 9 ? $#wrong : 9) ] if @wrong;
	is(scalar @wrong, 0, "$what: $writes writes, $small of less than a page, are right");
	return ($writes, $small, $bytes, $changes);
}

1;
