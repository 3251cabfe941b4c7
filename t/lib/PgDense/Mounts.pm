# PgDense::Mounts - the file systems that tools/mounts makes, for tests of how WAL is written there
#
# The file systems are in the folder PGDENSE_MOUNTS.  If a file system is missing, a test skips the
# cases that need it, with the reason that no_mount() returns.  tools/check does not count such a
# skipped case as a failure.
package PgDense::Mounts;

use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use Exporter 'import';
use File::Basename;
use File::Path qw(remove_tree);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(no_mount mount_folder move_wal);

my @folders;
my $number = 0;

# no_mount(NAME) - return the reason for skipping, or undef if the file system is there
sub no_mount
{
	my ($name) = @_;
	my $mounts = $ENV{PGDENSE_MOUNTS};

	return "no mount $name: PGDENSE_MOUNTS is not set" if !defined $mounts;
	my $reason = eval { slurp_file("$mounts/$name.missing") };
	return "no mount $name: $reason" =~ s/\n//r if defined $reason;
	return "no mount $name: tools/mounts has not made it" if !-d "$mounts/$name";
	return undef;
}

# mount_folder(NAME) - make a new folder on that file system, which is deleted at the end of the
# test
sub mount_folder
{
	my ($name) = @_;
	my $folder = sprintf '%s/%s/%s.%d.%d', $ENV{PGDENSE_MOUNTS}, $name, basename($0, '.pl'), $$,
	  ++$number;

	mkdir $folder or die "could not create directory \"$folder\": $!";
	push @folders, $folder;
	return $folder;
}

# move_wal(NODE, FOLDER[, AS]) - move the files of a stopped node's pg_wal to FOLDER, and replace
# pg_wal by a link to it; AS is the path in the link, if it is not FOLDER
sub move_wal
{
	my ($node, $to, $as) = @_;
	my $wal = $node->data_dir . '/pg_wal';
	my $from = abs_path($wal);

	system_or_bail('cp', '-a', "$from/.", $to);
	if (-l $wal)
	{
		unlink $wal or die "could not remove \"$wal\": $!";
		remove_tree($from, { keep_root => 1 });
	}
	else
	{
		remove_tree($from);
	}
	symlink $as // $to, $wal or die "could not create symbolic link \"$wal\": $!";
}

END
{
	my $status = $?;
	remove_tree(@folders) if @folders;
	$? = $status;
}

1;
