# PgDenseCore.pm - run PostgreSQL's own tests against the server that is tested
package PgDenseCore;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Spec;
use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(core_tests core_suite);

# core_tests() - the folder of core's regression tests.  They are not part of an
# installation; those of the server that is built here are in its build tree.
# PGDENSE_CORE_TESTS names another such folder.  With another server, whose tests are
# not at hand, the test ends here.
sub core_tests
{
	my ($major) = `pg_config --version` =~ /(\d+)/;
	my ($bindir) = `pg_config --bindir` =~ /(.*)/;
	my $top = $ENV{PGDENSE_TOP} // File::Spec->rel2abs("$FindBin::RealBin/..");
	my ($regress) = grep { -x "$_/regress.so" } ($ENV{PGDENSE_CORE_TESTS} // "$top/build/$major/obj/dense/src/test/regress");

	if ($bindir ne "$top/build/$major/dense/bin" && !$ENV{PGDENSE_CORE_TESTS})
	{
		ok(1, 'not the server that is built here: its tests are not at hand');
		done_testing();
		exit;
	}
	ok($regress, 'core\'s tests are in the build tree') or BAIL_OUT('no tests');
	return $regress;
}

# core_suite(NODE, NAME, OUTPUT FOLDER, FOLDER, PROGRAM, ARGUMENT...) - run pg_regress or
# its like in FOLDER; the number of tests that ran
sub core_suite
{
	my ($node, $name, $out, $folder, $program, @arguments) = @_;
	my ($bindir) = `pg_config --bindir` =~ /(.*)/;
	my $output = '';

	mkdir $out or die "could not create $out: $!";
	# regression.out is only there if a test failed.
	IPC::Run::run([ $program, "--inputdir=$folder", "--outputdir=$out", "--bindir=$bindir", '--host=' . $node->host, '--port=' . $node->port, @arguments ],
		'>', \$output, '2>&1', init => sub { chdir $folder or die "could not change to $folder: $!" });
	my @ran = $output =~ /^(?:not )?ok +\d+ +[-+] (\S+)/mg;
	my @failed = $output =~ /^not ok +\d+ +[-+] (\S+)/mg;
	diag substr(slurp_file("$out/regression.diffs"), 0, 10000) if @failed && -e "$out/regression.diffs";
	is("@failed", '', "$name: all tests pass") or diag substr($output, -1000);
	return scalar @ran;
}

1;
