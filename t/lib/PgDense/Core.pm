# PgDense::Core - run PostgreSQL's own tests against the server that is tested
package PgDense::Core;

use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use Exporter 'import';
use File::Basename qw(dirname);
use File::Path     qw(make_path);
use IPC::Run       ();
use PgDense::Crash;
use PgDense::Patch;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(core_tests core_suite core_isolation core_crash core_tap);

# If true, the lines of a result may have another order than expected, because rows move when space
# is reused.
our $any_order = 0;
# Applied to results and to expected output before in_any_order() compares them
our $normalize = sub { return $_[0] };
# TAP tests that are left out, by the names of their files
our @leave_out;

# in_any_order(OUTPUT FOLDER, FOLDER, TEST) - return true if the output of the test is one of its
# expected outputs, except for the order of lines
sub in_any_order
{
	my ($out, $folder, $test) = @_;
	my ($found, @expected) =
	  map { join "\n", sort split /\n/, $normalize->(slurp_file($_)) } "$out/results/$test.out",
	  glob("$folder/expected/${test}{,_[0-9]}.out");

	return scalar grep { $_ eq $found } @expected;
}

# core_suite(NODE, NAME, OUTPUT FOLDER, FOLDER, PROGRAM, ARGUMENT...) - run pg_regress or
# pg_isolation_regress in FOLDER; return the number of tests that ran
sub core_suite
{
	my ($node, $name, $out, $folder, $program, @arguments) = @_;
	my ($bindir) = `pg_config --bindir` =~ /(.*)/;
	my $output = '';

	mkdir $out or die "could not create $out: $!";
	# Read the output of the program, because it keeps regression.out only if a test failed.
	IPC::Run::run(
		[
			$program, "--inputdir=$folder",
			"--outputdir=$out", "--bindir=$bindir",
			'--host=' . $node->host, '--port=' . $node->port,
			@arguments
		],
		'>',
		\$output,
		'2>&1',
		init => sub { chdir $folder or die "could not change to $folder: $!" });
	my @ran = $output =~ /^(?:not )?ok +\d+ +[-+] (\S+)/mg;
	my @failed = $output =~ /^not ok +\d+ +[-+] (\S+)/mg;
	if ($any_order)
	{
		my @moved = grep { in_any_order($out, $folder, $_) } @failed;
		note "$name: in another order: @moved" if @moved;
		@failed = grep { !in_any_order($out, $folder, $_) } @failed;
	}
	diag substr(slurp_file("$out/regression.diffs"), 0, 10000)
	  if @failed && -e "$out/regression.diffs";
	is("@failed", '', "$name: all tests pass") or diag substr($output, -1000);
	return scalar @ran;
}

# core_isolation(NODE, OUTPUT FOLDER, REGRESS FOLDER) - run core's isolation tests, if they are
# built
sub core_isolation
{
	my ($node, $out, $regress) = @_;
	my $isolation = abs_path("$regress/../isolation");

  SKIP:
	{
		skip 'no isolation tests in the build tree', 2
		  if !-x "$isolation/pg_isolation_regress" || !-x "$isolation/isolationtester";
		cmp_ok(
			core_suite(
				$node, 'isolation', $out, $isolation,
				"$isolation/pg_isolation_regress",
				"--schedule=$isolation/isolation_schedule"),
			'>', 80,
			'isolation: the tests ran');
	}
}

# core_crash(NODE, NAME, FOLDER) - kill the server after core_suite(), and test that recovery
# restores the whole database "regression"
sub core_crash
{
	my ($node, $name, $tmp) = @_;
	my @dump = ('pg_dump', '-d', $node->connstr('regression'), '--no-sync', '-f');

	$node->command_ok([ @dump, "$tmp/$name.before" ], "$name: a dump");
	# Give recovery something to redo.
	$node->safe_psql('regression', 'CREATE TABLE last_rows AS SELECT generate_series(1, 1000) i');
	kill_all($node);
	$node->start;
	is($node->safe_psql('regression', 'SELECT count(*) FROM last_rows; DROP TABLE last_rows'),
		'1000', "$name: recovery");
	$node->command_ok([ @dump, "$tmp/$name.after" ], "$name: a dump after it");
	# Ignore unlogged tables, and values of sequences, because some were cached.
	my ($before, $after) = map {
		my $dump = slurp_file($_);
		$dump =~ s/^\\(?:un)?restrict .*//mg;
		$dump =~ s/^SELECT pg_catalog.setval.*//mg;
		$dump
	} "$tmp/$name.before", "$tmp/$name.after";
	my @unlogged = $before =~ /^CREATE UNLOGGED TABLE (\S+)/mg;
	for my $dump ($before, $after)
	{
		$dump =~ s/^COPY \Q$_\E \(.*?^\\\.$//smg for @unlogged;
	}
	ok($before eq $after, "$name: all is as it was");
}

# core_tap(REGRESS FOLDER, FOLDER, SETTINGS, SUITE...) - run core's TAP tests, in copies of their
# folders below FOLDER, with SETTINGS for all servers; a suite is a folder of the build tree, like
# src/test/recovery, or one of the tests in it, like src/test/recovery/t/017_shm.pl
#
# The copy of a suite that fails is kept, with its logs.
#
# The copies have the same paths as in the build tree, because some tests run the regression tests,
# and find them by a relative path: ../regress, or src/test/regress below ../../..
sub core_tap
{
	my ($regress, $tmp, $settings, @suites) = @_;
	my $tree = abs_path("$regress/../../..");
	my $conf = "$tmp/switches.conf";
	my $copy = "$tmp/tree";

	# Some tests need clusters with different system identifiers.  The program that copies data
	# directories gives all of them the same.
	my @path = grep { !m{/t/lib/bin$} } split /:/, $ENV{PATH};

	make_path("$copy/src/test");
	append_to_file($conf, $settings);
	system_or_bail('cp', '-a', $regress, "$copy/src/test/regress");
	for my $wanted (@suites)
	{
		my ($suite, $test) = $wanted =~ m{^(.*?)(?:/(t/[^/]+\.pl))?$};
		my $name = $suite =~ s{.*/}{}r . (defined $test ? ", $test" : '');
		my $dir = "$copy/$suite";
		my $output = '';

		if (!-d "$tree/$suite/t")
		{
			fail("$name has tests");
			next;
		}
		make_path(dirname($dir));
		system_or_bail('cp', '-a', "$tree/$suite", $dir);
		unlink map { "$dir/t/$_" } @leave_out if !defined $test;
		local %ENV = (
			%ENV,
			PATH => join(':', @path),
			TEMP_CONFIG => $conf,
			PG_REGRESS => "$regress/pg_regress",
			REGRESS_SHLIB => "$regress/regress.so",
			PERL5LIB => "$dir/t:$ENV{PERL5LIB}",
			TESTDIR => $dir,
			TESTDATADIR => "$dir/tmp_check",
			TESTLOGDIR => "$dir/tmp_check/log",
			enable_injection_points => 'no',
			with_icu => `pg_config --configure` =~ /without-icu/ ? 'no' : 'yes',
			share_contrib_dir => `pg_config --sharedir` =~ s/\n//r . '/contrib');
		IPC::Run::run([ 'prove', '--timer', '--ext=.pl', $test // 't/' ],
			'>', \$output, '2>&1',
			init => sub { chdir $dir or die "could not change to $dir: $!" });
		my $passed = like($output, qr/^Result: PASS$/m, "$name: core's TAP tests pass")
		  or diag substr($output, -5000);
		like($output, qr/^Files=[1-9]\d*, Tests=[1-9]\d*/m, "$name: the tests ran");
		note "$name: $1" if $output =~ /^(Files=.*)/m;
		# Keep the logs of a failure.
		system_or_bail('rm', '-rf', $dir) if $passed;
	}
}

1;
