# PgDense::WalShim - start a server with the library that makes calls on WAL files
# fail, records them, and watches the memory of direct writes
#
# The comment at the top of t/wal_directio_patch/shim.c describes the library.
package PgDense::WalShim;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Spec;
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(with_shim shim_log);

my $library;

# with_shim(\%settings, SUB) - call SUB; the programs that SUB starts get the library, and an
# environment variable WAL_SHIM_KEY for each key of the settings (STATX, OPEN, WRITE, LOG, WATCH,
# DELAY)
sub with_shim
{
	my ($settings, $sub) = @_;

	$library //= build();
	local %ENV =
	  (%ENV, LD_PRELOAD => $library, map { ("WAL_SHIM_$_" => $settings->{$_}) } keys %$settings);
	return $sub->();
}

# shim_log(FILE) - return the lines of the library's log, as hashes
sub shim_log
{
	my ($file) = @_;
	my @names = qw(pid call file offset length mode result zeros);

	return () unless -e $file;
	return map { my %line; @line{@names} = split /\t/; \%line } split /\n/, slurp_file($file);
}

sub build
{
	my $top = $ENV{PGDENSE_TOP} // File::Spec->rel2abs("$FindBin::RealBin/../..");
	my $file = PostgreSQL::Test::Utils::tempdir() . '/wal_shim.so';
	my ($cc) = `pg_config --cc` =~ /(.+)/;

	# Use the compiler of the server, but without ccache.
	$cc =~ s/^\S*ccache\s+//;
	system_or_bail(
		split(/ /, $cc),
		qw(-std=gnu11 -O2 -Wall -Wextra -Werror -shared -fPIC -o),
		$file, "$top/t/wal_directio_patch/shim.c", '-ldl');
	return $file;
}

1;
