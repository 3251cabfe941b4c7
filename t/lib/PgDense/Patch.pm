# PgDense::Patch - tell if the tested server has a feature's patches, and if it is built here
package PgDense::Patch;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Spec;
use FindBin;
use Test::More;

our @EXPORT = qw(needs_patch core_tests built_here divided);

# built_here() - return four values: the name of the tested server (dense or another variant) if it
# is built here with the patches of this tree, else undef; the folder build/MAJOR; the checkout; and
# MAJOR
sub built_here
{
	my $top = $ENV{PGDENSE_TOP} // File::Spec->rel2abs("$FindBin::RealBin/../..");
	my ($major) = `pg_config --version` =~ /(\d+)/;
	my ($bindir) = `pg_config --bindir` =~ /(.*)/;
	my ($variant) = $bindir =~ m{^\Q$top\E/build/$major/(dense|cassert|ubsan)/bin$};

	return ($variant, "$top/build/$major", $top, $major);
}

# needs_patch(FEATURE, PARAMETER) - skip the whole test on a server without PARAMETER, which the
# patches of FEATURE add.  A server that is built here must have the parameter if any feature has a
# patch series for its major version, because a version has the series of all features, or of none.
sub needs_patch
{
	my ($feature, $parameter) = @_;
	return if `postgres --describe-config` =~ /^$parameter\t/m;

	my ($variant, undef, $top, $major) = built_here();
	my @series = glob("$top/*/$major/*.patch");

	if (defined $variant && @series)
	{
		fail("the server that is built here has $parameter of $feature");
		done_testing();
		exit;
	}
	plan skip_all => "this server is without the patches of $feature";
}

# divided(ITEM...) - return half of the variants of a test, to save time: the first, the third and so
# on for an odd major version, the others for an even one.  With PGDENSE_SOAK, return all.  Die if
# there is only one, because an even version would test nothing.
sub divided
{
	my (undef, undef, undef, $major) = built_here();

	die 'one variant cannot be divided' if @_ < 2;
	return $ENV{PGDENSE_SOAK} ? @_ : @_[ grep { $_ % 2 != $major % 2 } 0 .. $#_ ];
}

# core_tests() - return the folder of core's regression tests.  They are not part of an
# installation.  The tests of a server that is built here are in its build tree.  PGDENSE_CORE_TESTS
# names another folder of such tests.  Skip the whole test if neither folder has the tests.
sub core_tests
{
	my ($variant, $base) = built_here();

	plan skip_all => 'not a server that is built here: its tests are not at hand'
	  if !defined $variant && !$ENV{PGDENSE_CORE_TESTS};
	# If no feature has patches for a version, "dense" is installed from the build tree of "stock".
	my ($regress) = grep { -x "$_/regress.so" } $ENV{PGDENSE_CORE_TESTS}
	  // map { "$base/obj/$_/src/test/regress" } $variant, 'stock';
	return $regress if ok($regress, 'core\'s tests are in the build tree');
	done_testing();
	exit;
}

1;
