# Test "tools/patches compile", on a "release" of three files.  Each patch of a series must compile
# on top of the earlier patches without a warning.  All series together must compile, too.  The tool
# compiles a combination that has passed again only if it has changed, also in another checkout.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $dir = checkout();
unlink "$dir/tools/patches-compiled";
my %release = (
	'configure' => "#!/bin/sh\necho configure >> ../calls\n",
	'src/backend/Makefile' => "generated-headers:\n\techo '#define TEN 10' > ten.h\n",
	'src/Makefile' => <<'MAKEFILE',
%.o: %.c
	@echo "$<" >> ../../calls
	gcc -O2 -Wall -Ibackend $(COPT) -c -o $@ $<
MAKEFILE
	'src/a.h' => "extern int\ta(int i);\n",
	'src/a.c' => "#include \"ten.h\"\n#include \"a.h\"\nint\na(int i)\n{\n\treturn i + TEN;\n}\n",
	'src/b.c' => "#include \"a.h\"\nint\t\tb(void);\nint\nb(void)\n{\n\treturn a(1);\n}\n");
pin_release($dir, '17.11',
	release_tarball("$dir/sources/postgresql-17.11.tar.bz2", '17.11', \%release));
$ENV{PG_SOURCES} = "$dir/sources";
write_file("$dir/tools/feature-list", "alpha\nbeta\n");
system_ok('mkdir', "$dir/alpha", "$dir/beta");

sub compile { return run_tool($dir, 'tools/patches', 'compile', '17'); }

# Return the files that were compiled since the last call.
sub calls
{
	my $file = "$dir/build/17/obj/calls";
	my $content = -e $file ? read_file($file) : '';
	unlink $file;
	return join ' ', split /\n/, $content;
}

# series(FEATURE, {FILE => CONTENT}...) - make a series with one patch for each hash
sub series
{
	my ($feature, @commits) = @_;
	my $number = 0;

	system_ok('mkdir', '-p', "$dir/$feature");
	my ($code, $out, $err) = run_tool($dir, 'tools/patches', 'tree', '--force', '17', $feature);
	die $err if $code != 0;
	git_src($dir, 'reset', '-q', '--hard', 'pristine');
	for my $files (@commits)
	{
		$number++;
		write_file("$dir/build/17/src/$_", $files->{$_}) for keys %$files;
		git_src($dir, 'add', '-A');
		git_src($dir, 'commit', '-q', '-m', "Change number $number");
	}
	($code, $out, $err) = run_tool($dir, 'tools/patches', 'export', '17', $feature);
	is($code, 0, "$feature: the series is exported") or diag $err;
}

# Return a.c with a variable, with the given statements, and with a return statement that uses the
# variable.
sub with_variable
{
	my (@statements) = @_;
	return $release{'src/a.c'} =~
	  s/\treturn.*/join "\n", map { "\t$_;" } 'int k', @statements, 'return i + k'/re;
}

my ($code, $out, $err) = compile();
is($code, 0, 'without a series, the command succeeds') or diag $err;
is($out, "17: no feature has server patches\n", 'without a series, the output says so');

# The third patch repairs an error of the second patch.  The tool must report this error anyway.
series(
	'alpha',
	{ 'src/a.c' => $release{'src/a.c'} =~ s/TEN/TEN + 1/r },
	{ 'src/a.c' => with_variable() },
	{ 'src/a.c' => with_variable('k = TEN') },
	{ 'doc/a.sgml' => "a\n", 'src/README' => "a\n" });
($code, $out, $err) = run_tool($dir, 'tools/patches', 'check', '17');
is($code, 0, 'the series applies') or diag $err;
($code, $out, $err) = compile();
isnt($code, 0, 'a patch that reads a variable which a later one sets is an error');
like(
	$err,
	qr{error: "17: compiling alpha/17/0002-Change-number-2\.patch" failed, full log in "\Q$dir\E/build/17/log/prefixes\.alpha\.log"$}m,
	'the error names the patch');
like($err, qr/a\.c:\d+:\d+: error: .*uninitialized/, 'the warning is shown');
unlike($err, qr/0003/, 'later patches are not compiled');
calls();
($code, $out, $err) = compile();
isnt($code, 0, 'the next run fails, too');
unlike(calls(), qr/configure/, 'the next run does not run configure again');

series(
	'alpha',
	{ 'src/a.c' => $release{'src/a.c'} =~ s/TEN/TEN + 1/r },
	{ 'src/a.c' => with_variable('k = TEN') },
	{ 'doc/a.sgml' => "a\n", 'src/README' => "a\n" });
calls();
($code, $out, $err) = compile();
is($code, 0, 'mended') or diag $err;
is($out, "17: each patch of alpha compiles without a warning\n", 'the output confirms each patch');
is(calls(), 'a.c a.c a.c',
	'the file is compiled after each patch but the documentation, and with all series');
($code, $out, $err) = compile();
is( "$code $out $err",
	"0 17: each patch of alpha compiles without a warning\n ",
	'the same series passes again');
is(calls(), '', 'the same series is not compiled again');

# A fresh checkout has only the file that --record writes.
my $record = "$dir/tools/patches-compiled";
ok(!-e $record, 'nothing is recorded without --record');
($code, $out, $err) = run_tool($dir, 'tools/patches', 'compile', '--record', '17');
is($code, 0, 'the result is recorded') or diag $err;
like(
	read_file($record),
	qr/\A17 alpha [0-9a-f]{64}\n17 bundle [0-9a-f]{64}\n\z/,
	'the record has a line for each combination');
system_ok('rm', '-r', "$dir/build/17/compiled");
is((compile())[0], 0, 'a recorded series passes');
is(calls(), '', 'a recorded series is not compiled');
series('alpha', { 'src/a.c' => $release{'src/a.c'} =~ s/TEN/TEN + 2/r });
calls();
is((compile())[0], 0, 'another series passes');
is(calls(), 'a.c a.c', 'another series than the recorded one is compiled');

# One patch changes a function in a file, and a later patch changes the caller of this
# function in another file.
my $wide = "extern int\ta(int i, int j);\n";
my %wide = ('src/a.h' => $wide, 'src/a.c' => $release{'src/a.c'} =~ s/int i/int i, int j/r);
my %caller = ('src/b.c' => $release{'src/b.c'} =~ s/a\(1\)/a(1, 2)/r);
series('alpha', \%wide, \%caller);
($code, $out, $err) = compile();
isnt($code, 0, 'a caller that is changed by a later patch than its function is an error');
like(
	$err,
	qr{"17: compiling alpha/17/0001-.*too few arguments|too few arguments.*"17: compiling alpha/17/0001-}s,
	'the error names the first patch');

# Each series compiles alone, but not together.
series('alpha', { %wide, %caller });
series('beta', { 'src/c.c' => $release{'src/b.c'} =~ s/\bb\b/c/gr });
is((run_tool($dir, 'tools/patches', 'check', '17'))[0], 0, 'two series apply');
($code, $out, $err) = compile();
isnt($code, 0, 'a call of a function that another series changes is an error');
like(
	$err,
	qr{error: "17: compiling all series together" failed},
	'the error is found with both series');
calls();
series('beta', { 'src/c.c' => "extern int\tc;\nint\t\t\tc = 1;\n" });
($code, $out, $err) = compile();
is($code, 0, 'mended') or diag $err;
is( join(' ', sort split / /, calls()),
	'a.c b.c c.c c.c',
	'only combinations that had not passed are compiled');

# The next run does not use the results of an interrupted run.
write_file("$dir/build/17/obj/prefixes.building", '');
write_file("$dir/build/17/obj/prefixes/src/a.c", "half a file\n");
unlink "$dir/build/17/compiled/alpha";
($code, $out, $err) = compile();
is($code, 0, 'the run after a killed one succeeds') or diag $err;
is( join(' ', sort split / /, calls()),
	'a.c b.c configure',
	'the run after a killed one makes the tree anew');

done_testing();
