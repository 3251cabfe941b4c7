# A private copy of the installation that is tested, for tests that take a file
# away from it or put another one there.
package PgDenseInstallation;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Basename;
use File::Path 'make_path';
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(copy_installation);

# Copy the installation into a folder of that name below tmp_check.  Returns the
# copy's prefix, as install_path of an instance, and its folder of libraries.
sub copy_installation
{
	my ($name) = @_;
	my %dirs;

	for my $dir ('bindir', 'sharedir', 'pkglibdir')
	{
		chomp($dirs{$dir} = `pg_config --$dir`);
	}

	# The folder above all of them, without which the server does not find them
	my $root = $dirs{bindir};
	$root = dirname($root) while grep { index($_, "$root/") != 0 } @dirs{'sharedir', 'pkglibdir'};
	BAIL_OUT("no installation of its own at $dirs{bindir}") if $root eq '/' || $root eq '/usr';
	my $copy = "$PostgreSQL::Test::Utils::tmp_check/$name";
	make_path($copy);
	for my $dir (values %dirs)
	{
		my $to = $copy . substr($dir, length($root));
		next if -e $to;
		make_path(dirname($to));
		system_or_bail('cp', '-a', $dir, $to);
	}
	# libpq and its like are beside
	system_or_bail('sh', '-c', 'cp -a "$1"/lib/lib*.so* "$2"/lib/ 2> /dev/null || true', 'sh', $root, $copy);

	my ($bindir, $pkglibdir) = map { $copy . substr($dirs{$_}, length($root)) } 'bindir', 'pkglibdir';
	return (dirname($bindir), $pkglibdir);
}

1;
