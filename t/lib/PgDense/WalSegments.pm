# PgDense::WalSegments - the bytes and the records of WAL segments
package PgDense::WalSegments;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use IPC::Run ();
use PostgreSQL::Test::Utils;

our @EXPORT =
  qw(lsn_number lsn_text segment_name segment_files segment_contents put_contents read_wal write_wal wal_records record_end);
our @EXPORT_OK = qw($page);

our $page = 8192;

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

# read_wal(DIRECTORY, TIMELINE, LSN, LENGTH, SEGMENT BYTES) - return LENGTH bytes of WAL from LSN on
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
		$lsn    += $n;
		$length -= $n;
	}
	return $data;
}

# write_wal(DIRECTORY, TIMELINE, LSN, BYTES, SEGMENT BYTES) - write bytes at LSN, all in one segment
sub write_wal
{
	my ($dir, $timeline, $lsn, $data, $size) = @_;
	my $name = segment_name($timeline, $lsn, $size);

	open my $file, '+<:raw', "$dir/$name" or die "could not open $dir/$name: $!";
	sysseek $file, $lsn % $size, 0 or die $!;
	syswrite($file, $data) == length $data or die "could not write $dir/$name: $!";
	close $file or die $!;
}

# wal_records(DIRECTORY, START, SEGMENT BYTES[, TIMELINE]) - return the records from the LSN START
# on, up to the first invalid one: a reference to an array of hashes with lsn, end, length, xid and
# text.  Return also the message with which pg_waldump ends.
sub wal_records
{
	my ($dir, $start, $size, $timeline) = @_;
	my @records;
	my ($stdout, $stderr) = ('', '');
	my $first = segment_name($timeline // 1, $start, $size);
	my ($last) = grep { substr($_, 0, 8) eq substr($first, 0, 8) } reverse segment_files($dir);

	# Name the files.  Otherwise pg_waldump reads the segment size from any file, and this file may
	# be all zeros.
	IPC::Run::run [ 'pg_waldump', '--path', $dir, '--start', lsn_text($start), $first, $last ],
	  '>', \$stdout, '2>', \$stderr;
	while ($stdout =~ /^(rmgr: .* len \(rec\/tot\): +\d+\/ *(\d+), tx: +(\d+), lsn: (\S+), .*)$/mg)
	{
		push @records,
		  {
			text => $1,
			length => $2,
			xid => $3,
			lsn => lsn_number($4),
			end => record_end(lsn_number($4), $2, $size)
		  };
	}
	return (\@records, $stderr);
}

# record_end(LSN, LENGTH, SEGMENT BYTES) - return the end of a record that begins at LSN; if the
# record ends with a page, return the LSN before the header of the next page
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
		$lsn    += $room;
		$lsn    += $lsn % $size == 0 ? 40 : 24;
	}
}

1;
