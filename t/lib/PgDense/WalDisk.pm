# PgDense::WalDisk - a model of a disk, with what may be on it after the machine has failed
#
# The model has the durable contents of the files of WAL, and the writes since the last sync: each
# physical sector of these writes may be on disk or not.  A sector is written as a whole or not at
# all.  But if only a part of a sector is written, the disk reads the sector and writes the whole
# sector again, and may lose all of it, with its durable contents.
package PgDense::WalDisk;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use PgDense::WalSegments qw(segment_contents put_contents);

our @EXPORT = qw(disk_of disk_apply disk_crash disk_contents);

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

# disk_apply(DISK, EVENT) - apply an event to the disk; a new or changed name of a file is durable
# at once
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
		put_bytes(\$data->{$name}, $_->{offset}, $_->{data})
		  for @{ delete $pending->{$name} // [] };
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
# and the position in it) is true.  If FIRST is given, leave out the segments whose names sort
# before it.  Return the number of lost sectors.
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
					put_bytes(\$contents, $from,
						substr($event->{data}, $from - $begin, $to - $from));
					next;
				}
				put_bytes(\$contents, $at, "\xDB" x $sector)
				  if $to - $from < $sector && $sector > 512;
				$lost++;
			}
		}
		$image{$name} = $contents;
	}
	put_contents(\%image, $dir);
	return $lost;
}

1;
