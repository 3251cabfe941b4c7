# Is the server that is tested one with a feature's patches?
package PgDensePatch;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Spec;
use FindBin;
use Test::More;

our @EXPORT = qw(needs_patch);

# needs_patch(FEATURE, PARAMETER) - end the test on a server without the parameter that
# the patches of FEATURE add, which is right for stock servers and wrong for the one
# that is built here with the patches of this tree
sub needs_patch
{
	my ($feature, $parameter) = @_;
	return if `postgres --describe-config` =~ /^$parameter\t/m;

	my $top = $ENV{PGDENSE_TOP} // File::Spec->rel2abs("$FindBin::RealBin/..");
	my ($major) = `pg_config --version` =~ /(\d+)/;
	my ($bindir) = `pg_config --bindir` =~ /(.*)/;
	my $ours = $bindir eq "$top/build/$major/dense/bin" && glob("$top/$feature/$major/*.patch");

	ok(!$ours, 'a server without the patch');
	note "this server has no $parameter, nothing else to test";
	done_testing();
	exit;
}

1;
