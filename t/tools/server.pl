# Test tools/server on a "release" of three files.  The tool must compile the changed files
# and no others.  After a build that failed, was killed or was interrupted, the next run
# must work.  On a full disk, the tool must print a message that says so.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $dir = checkout();
my %release = (
	'configure' => <<'SCRIPT',
#!/bin/sh
for arg in "$@"; do case $arg in --prefix=*) echo "prefix = ${arg#*=}" > config.mk ;; esac; done
echo "configure $@" >> ../calls
SCRIPT
	'Makefile' => <<'MAKEFILE',
include config.mk
world-bin: one.o two.o
%.o: %.c
	@echo "compile $<" >> ../calls
	@while [ -e ../slow ]; do echo started > ../started; sleep 0.2; done
	@if [ -e ../full ]; then echo "$@: No space left on device"; exit 1; fi
	gcc -c -o $@ $<
install-world-bin:
	mkdir -p $(DESTDIR)$(prefix)/bin
	cp one.o two.o $(DESTDIR)$(prefix)/bin
MAKEFILE
	'one.c' => "int\tone = 1;\n",
	'two.c' => "int\ttwo = 2;\n",);
pin_release($dir, '17.11',
	release_tarball("$dir/sources/postgresql-17.11.tar.bz2", '17.11', \%release));
$ENV{PG_SOURCES} = "$dir/sources";
write_file("$dir/tools/feature-list", "alpha\n");
my $calls = "$dir/build/17/obj/calls";

sub server { return run_tool($dir, 'tools/server', '17', @_); }

# Return the commands that the builds have run since the last call.
sub calls
{
	my $content = -e $calls ? read_file($calls) : '';
	unlink $calls;
	return join ' ',
	  sort map { s/^compile //r =~ s/^configure .*/configure/r } split /\n/,
	  $content;
}

sub patch_one
{
	my ($new) = @_;
	system_ok('mkdir', '-p', "$dir/alpha");
	run_tool($dir, 'tools/patches', 'tree', '--force', '17', 'alpha');
	git_src($dir, 'reset', '-q', '--hard', 'pristine');
	write_file("$dir/build/17/src/one.c", $new);
	git_src($dir, 'commit', '-q', '-a', '-m', 'Change one');
	my ($code, $out, $err) = run_tool($dir, 'tools/patches', 'export', '17', 'alpha');
	is($code, 0, 'a patch is exported') or diag $err;
}

my ($code, $out, $err) = server();
is($code, 0, 'the first build succeeds') or diag $err;
is(calls(), 'configure one.c two.c', 'one build serves stock and dense while there is no patch');
ok(-e "$dir/build/17/$_/bin/one.o", "$_ is installed") foreach 'stock', 'dense';
is(scalar(split /\n/, $err), 5, 'the output has one line for each step') or diag $err;
is( `find '$dir/build' ! -type l '(' ! -user '$>' -o -perm /0022 ')'`,
	'',
	'no other account owns or can change the built files');

($code, $out, $err) = server();
is($code, 0, 'the second call succeeds');
is(calls() . $err, '', 'an up-to-date tree is not built again');

patch_one("int\tone = 11;\n");
is((server())[0], 0, 'the build with a patch succeeds');
is(calls(), 'configure one.c two.c', 'dense gets its own build, and stock is not rebuilt');
isnt(
	read_file("$dir/build/17/stock/bin/one.o"),
	read_file("$dir/build/17/dense/bin/one.o"),
	'only dense has the patch');

patch_one("int\tone = 111;\n");
is((server())[0], 0, 'the build with a changed patch succeeds');
is(calls(), 'one.c', 'only the changed file is compiled');

($code, $out, $err) = server('--cassert');
is($code, 0, 'the build with assertions succeeds');
is(calls(), 'configure one.c two.c', 'assertions need a third build');
like(read_file("$dir/build/17/cassert/.pgdense"),
	qr/--enable-cassert/, 'the build has assertions enabled');

# a patch that does not compile
patch_one("int\tone = ;\n");
($code, $out, $err) = server();
is($code, 1, 'a compiler error ends the build');
like($err, qr/one\.c:1.*error: expected expression/, 'the error shows the end of the log');
like(
	$err,
	qr{error: "17 dense: compiling" failed, full log in "\Q$dir\E/build/17/log/dense\.make\.log"\n\z},
	'the error names the log');
calls();
patch_one("int\tone = 3;\n");
is((server())[0], 0, 'the next run succeeds');
is(calls(), 'one.c', 'the next run continues where the failed one ended');

# a patch that does not apply
my ($patch) = glob "$dir/alpha/17/*.patch";
my $content = read_file($patch);
write_file($patch, $content =~ s/^-int\tone = 1;/-int\tone = 7;/mr);
is_clear_error(
	[ server() ],
	qr{alpha/17/0001-Change-one\.patch does not apply},
	'a patch that does not apply is an error');
write_file($patch, $content);
is((server())[0], 0, 'the next run succeeds');
is(calls(), '', 'the next run has nothing to compile');

# Interrupt a compilation with TERM and with KILL.
foreach my $signal ('TERM', 'KILL')
{
	patch_one("int\tone = " . ord($signal) . ";\n");
	write_file("$dir/build/17/obj/slow", '');
	unlink "$dir/build/17/obj/started";
	my $pid = fork() // die;
	if ($pid == 0)
	{
		open STDERR, '>', "$dir/interrupted.log";
		chdir $dir;
		exec 'tools/server', '17';
	}
	for (1 .. 300)
	{
		last if -s "$dir/build/17/obj/started";
		select undef, undef, undef, 0.1;
	}
	# KILL ends all processes at once, like a power failure.
	my ($step) = split ' ', read_file("/proc/$pid/task/$pid/children");
	kill $signal, $pid, $signal eq 'KILL' ? -$step : ();
	waitpid $pid, 0;
	isnt($?, 0, "SIG$signal ends the build");
	like(read_file("$dir/interrupted.log"), qr/error: interrupted\n\z/, 'SIGTERM is reported')
	  if $signal eq 'TERM';
	unlink "$dir/build/17/obj/slow";
	write_file("$dir/build/17/obj/dense/one.o", "half an object\n");
	calls();
	is((server())[0], 0, 'the next run succeeds');
	is(calls(), 'configure one.c two.c', 'the next run builds everything again');
}

# a missing installation
system_ok('rm', '-r', "$dir/build/17/dense");
is((server())[0], 0, 'a run with a missing installation succeeds');
ok(-e "$dir/build/17/dense/bin/one.o", 'the installation is made again');
is(calls(), '', 'the installation is made without compiling');

# a disk that becomes full during the compilation
patch_one("int\tone = 5;\n");
write_file("$dir/build/17/obj/full", '');
($code, $out, $err) = server();
is($code, 1, 'a full disk ends the build');
like(
	$err,
	qr/ failed\ntools\/server: error: disk full: one\.o: No space left on device\n\z/,
	'a full disk is reported in one line');
unlink "$dir/build/17/obj/full";
is((server())[0], 0, 'the next run succeeds');

# a disk that is full from the start
SKIP:
{
	skip 'no mounts can be made here', 7 if !can_mount();
	my $mount = 'mount -t tmpfs -o size=1m tmpfs "$1" && shift && exec "$@"';
	system_ok('mkdir', '-p', "$dir/tmp");
	{
		local $ENV{TMPDIR} = "$dir/tmp";
		foreach my $command (
			[ 'tools/server', '17' ],
			[ 'tools/patches', 'check', '17' ],
			[ 'tools/indent', '--check' ])
		{
			is_clear_error(
				[
					run_tool(
						$dir, 'unshare', '-m', 'sh', '-c', $mount, 'sh', "$dir/tmp", @$command)
				],
				qr{not enough disk space in "\Q$dir\E/tmp": \d MB free, 32 MB needed},
				"@$command reports a full TMPDIR");
		}
		local $ENV{TMPDIR} = "$dir/nowhere";
		is_clear_error(
			[ server() ],
			qr{TMPDIR "\Q$dir\E/nowhere" is not a writable directory},
			'a missing TMPDIR is reported');
	}
	patch_one("int\tone = 6;\n");
	is_clear_error(
		[
			run_tool(
				$dir, 'unshare', '-m', 'sh', '-c', $mount, 'sh', "$dir/build", 'tools/server', '17')
		],
		qr{not enough disk space in "\Q$dir\E/build},
		'a full build/ is reported');
	is((server())[0], 0, 'the next run succeeds');
}

# The variant production, in a directory of the user
my $prefix = "$dir/opt/production";
calls();
($code, $out, $err) = server('production', '--prefix', $prefix);
is($code, 0, 'production is built') or diag $err;
my $configured = read_file($calls);
ok(-e "$prefix/bin/one.o", 'and installed in the directory');
ok(!-e "$dir/build/17/production", 'and nowhere else');
like($configured, qr/ --prefix=\Q$prefix\E /, 'configure gets the directory');
like($configured, qr/ --with-extra-version= \(pg_dense\) /, 'version() names the patches');
is( read_file("$prefix/bin/one.o"),
	read_file("$dir/build/17/dense/bin/one.o"),
	'the patches are in it');
calls();
is((server('production', '--prefix', $prefix))[0], 0, 'the second call succeeds');
is(calls(), '', 'an up-to-date installation is not built again');
write_file("$dir/opt/other/precious", '');
is_clear_error(
	[ server('production', '--prefix', "$dir/opt/other") ],
	qr{directory "\Q$dir\E/opt/other" has other files},
	'a directory with other files');
ok(-e "$dir/opt/other/precious", 'keeps them');
is_clear_error(
	[ server('production', '--prefix', 'opt') ],
	qr/--prefix "opt" is not an absolute path/,
	'a relative path');
is_clear_error(
	[ server('dense', '--prefix', "$dir/opt/dense") ],
	qr/--prefix belongs to the variant production alone/,
	'--prefix of another variant');

# Each library and each compiler option of Debian's package is in production.
SKIP:
{
	my $pg_config = '/usr/lib/postgresql/15/bin/pg_config';
	skip 'the package postgresql-server-dev-15 is not installed', 3 if !-x $pg_config;
	my @debian = `$pg_config --configure` =~ /'([^']*)'/g;
	my %missing = map { ($_ => 1) }
	  grep { /^--(?:with|enable)-|^(?:LDFLAGS|CPPFLAGS)=/ && index($configured, " $_") < 0 }
	  @debian;
	cmp_ok(scalar(@debian), '>', 40, 'the options of the package are found');
	# 17 has no option for threads, and only tests need the TAP tests.
	is_deeply(
		[ sort grep { !/^--with-extra-version=/ } keys %missing ],
		[ '--enable-tap-tests', '--enable-thread-safety' ],
		'all of them are in production');
	my ($flags) = grep { s/^CFLAGS=-g // } @debian;
	like($configured, qr/ CFLAGS=\S+ \Q$flags\E/, 'the compiler options are the same');
}

# A new minor release replaces the old one.  The patches stay.
$release{'two.c'} = "int\ttwo = 22;\n";
pin_release($dir, '17.12',
	release_tarball("$dir/sources/postgresql-17.12.tar.bz2", '17.12', \%release));
calls();
is((server())[0], 0, 'the build of a new minor release succeeds');
is(calls(), 'two.c two.c', 'the changed file is compiled in stock and in dense');
like(
	git_src($dir, 'log', '-1', '--format=%s', 'pristine'),
	qr/^PostgreSQL 17\.12$/,
	'the patches are based on the new release');

done_testing();
