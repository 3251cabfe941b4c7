# PgDense::Installation - a private copy of the tested installation, for tests that remove or
# replace a file in it
package PgDense::Installation;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Basename;
use File::Path 'make_path';
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(copy_installation);

# copy_installation(NAME) - copy the installation into a folder of that name below tmp_check; return
# the prefix of the copy, for install_path of a node, and the folder of its libraries
sub copy_installation
{
	my ($name) = @_;
	my %dirs;

	for my $dir ('bindir', 'sharedir', 'pkglibdir')
	{
		chomp($dirs{$dir} = `pg_config --$dir`);
	}

	# Find the folder that contains all these folders.  The copy must have the same layout, because
	# the server finds these folders relative to its program.
	my $root = $dirs{bindir};
	$root = dirname($root) while grep { index($_, "$root/") != 0 } @dirs{ 'sharedir', 'pkglibdir' };
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
	# Copy libpq and the other shared libraries in its folder.
	system_or_bail('sh', '-c', 'cp -a "$1"/lib/lib*.so* "$2"/lib/ 2> /dev/null || true',
		'sh', $root, $copy);

	my ($bindir, $pkglibdir) = map { $copy . substr($dirs{$_}, length($root)) } 'bindir',
	  'pkglibdir';
	return (dirname($bindir), $pkglibdir);
}

1;
