# PgDense::WalRecorder - record how a server writes WAL, and check these writes
package PgDense::WalRecorder;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use PgDense::WalSegments qw(lsn_text $page);
use Test::More;

our @EXPORT = qw(with_recorder recorded_events check_writes);

# with_recorder(LIBRARY, FILE, DELAY, FUNCTION) - call FUNCTION; the processes that FUNCTION starts
# record in FILE how they write WAL (see t/wal_directio_patch/record.c)
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
		(@event{qw(time offset length)}, $length, @event{qw(flags pid)}, my $type, $event{name}) =
		  unpack 'q<Q<Q<L<L<L<L<Z40', $header;
		$event{type} = chr $type;
		$event{direct} = $event{flags} & 1;
		$event{data} = '';
		# The data is incomplete if the process was killed while it wrote.
		last if $length > 0 && (read($handle, $event{data}, $length) // 0) != $length;
		$event{data} = "\0" x $event{length} if $event{flags} & 4;
		push @events, \%event;
	}
	return \@events;
}

# check_writes(EVENTS, CONTENTS, RECORDS, UNIT, SEGMENT BYTES, WHAT) - test that all writes to
# segments, from the start of a server on, keep the rules below.  CONTENTS is the contents of the
# segments after the last write.  RECORDS are the records read from CONTENTS.
#
# - Offset and length of a write are multiples of the unit.  If a write is neither a whole page
#   nor the first write of its page, it ends with the unit in which the request ends.
# - The first write of each page covers all of it.
# - A write begins no later than the end of the one before it, and does not end earlier.
# - A write has the final contents up to the end of the record with which the request ends.  After
#   that it has only zeros, and no part of records that are being inserted.
# - When a segment is synced, all earlier segments have been synced before.
#
# Return the number of writes, of writes of less than a page, of bytes, and of changes of memory
# during a write.
sub check_writes
{
	my ($events, $contents, $records, $unit, $size, $what) = @_;
	my @ends = map { $_->{end} } @$records;
	# After a switch to the next segment, the rest of the old segment may not be written yet.
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
		# Has the last page of this write been written before?
		my $last = $offset + $length - 1;
		my $partial = $begun{ "$name " . ($last - $last % $page) };
		my $begin_partial = $begun{ "$name " . ($offset - $offset % $page) };
		for (my $at = $offset - $offset % $page; $at < $offset + $length; $at += $page)
		{
			my $whole = $at >= $offset && $at + $page <= $offset + $length;
			$bad->($event, 'first write of a page, but not all of it')
			  if !$whole && !$begun{"$name $at"};
			$begun{"$name $at"} = 1 if $whole;
		}
		$bad->($event, 'begins after the end of the one before, ' . lsn_text($written))
		  if defined $written && $lsn > $written;

		# The request ends with the last record of which the write has the final bytes, or with the
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
				if   ($ends[$middle] <= $lsn + $same) { $low = $middle + 1 }
				else                                  { $high = $middle }
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
			my $to =
			  $partial ? ($end + $unit - 1) - ($end + $unit - 1) % $unit : $end + (-$end) % $page;
			$bad->($event, 'begins before ' . lsn_text($from)) if $lsn < $from;
			$bad->($event, 'ends after ' . lsn_text($to)) if $lsn + $length > $to;
		}
		$bad->($event, 'ends before ' . lsn_text($written) . ', where the one before it ended')
		  if defined $written && $end < $written;
		$written = $end;
	}
	diag join "\n", @wrong[ 0 .. (@wrong < 9 ? $#wrong : 9) ] if @wrong;
	is(scalar @wrong, 0, "$what: $writes writes, $small of less than a page, are right");
	return ($writes, $small, $bytes, $changes);
}

1;
