# Check that make all, install, installcheck and clean leave no untracked file in a checkout.  Check
# that installcheck tests all extensions, even if the tests of one extension fail.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $pg_config = "$top/build/17/dense/bin/pg_config";

# extensions whose Makefiles only print lines
my $stub = checkout();
write_file("$stub/tools/feature-list", "# the order\none\ntwo\nthree\n");
write_file("$stub/$_/Makefile",
	"all:\n\t\@echo all $_\ninstallcheck:\n\t\@echo tests of $_\n\t\@test $_ != one -a $_ != two\n")
  for 'one', 'two', 'three';
my ($code, $out, $err) = run_tool($stub, 'make', 'installcheck', "PG_CONFIG=$pg_config");
isnt($code, 0, 'installcheck fails if two of three fail');
is($out, "tests of one\ntests of two\ntests of three\n", 'all extensions are tested');
like(
	$err,
	qr/^make installcheck: error: failed: one two$/m,
	'the error names the failed extensions');
write_file("$stub/one/Makefile", "all:\n\t\@false\ninstallcheck:\n\t\@true\n");
write_file("$stub/two/Makefile", "all installcheck:\n\t\@echo two\n");
($code, $out, $err) = run_tool($stub, 'make', 'all', "PG_CONFIG=$pg_config");
isnt($code, 0, 'installcheck fails if an extension cannot be built');
is($out, '', 'no extension is tested after a failed build');
($code, $out, $err) = run_tool($stub, 'make', 'installcheck', "PG_CONFIG=$pg_config");
is("$code $err", '0 ', 'installcheck succeeds if all pass');

# tools/extensions builds only changed extensions.  The test uses plpgsql as an extension that is
# installed.
my %makefile = (
	one => "EXTENSION = plpgsql\nall install:\n",
	two => "EXTENSION = nosuch\nall install:\n",
	three => "all install:\n\t\@echo 'three: skipped, no patch'\n");
write_file("$stub/$_/Makefile", $makefile{$_}) foreach keys %makefile;
write_file("$stub/$_", '') foreach 'bundle.mk', 'bundle_compat.h';

sub extensions
{
	my ($code, $out, $err) = run_tool($stub, 'tools/extensions', $pg_config, 'build/extensions');
	return join ' ', $code, $err =~ /: (\w+) \.\.\./g;
}
is(extensions(), '0 one two three', 'all extensions are built');
is(extensions(), '0 two', 'an extension that is not installed is built again');
write_file("$stub/three/three.sql", '');
is(extensions(), '0 two three', 'an extension whose sources have changed is built again');
write_file("$stub/one/Makefile", "EXTENSION = plpgsql\nall install:\n\tfalse\n");
like(extensions(), qr/^1 one/, 'a failed build is an error');
write_file("$stub/one/Makefile", $makefile{one});
is(extensions(), '0 one two', 'a failed build is repeated');
write_file("$stub/bundle.mk", "# changed\n");
is(extensions(), '0 one two three', 'a change of a shared Makefile builds all again');
write_file("$stub/bundle_compat.h", "/* changed */\n");
is(extensions(), '0 one two three', 'a change of a shared header builds all again');

# a copy of all files that belong to this checkout
my $dir = checkout();
system_ok(
	'sh',
	'-c',
	'cd "$1" && git -c safe.directory="*" ls-files -z --cached --others --exclude-standard --deduplicate | tar -c --null -T - --ignore-failed-read 2> /dev/null | tar -x --no-same-owner -C "$2"',
	'sh',
	$top,
	$dir);
my @git = (
	'git', '-c', 'safe.directory=*', '-c',
	'user.name=Ada Example', '-c', 'user.email=ada@example.org');
system_ok('sh', '-c', 'cd "$1"; shift; "$@" init -q && "$@" add -A && "$@" commit -q -m All',
	'sh', $dir, @git);

# Return the untracked files.  With --ignored, also return those that .gitignore lists.
sub untracked
{
	my ($code, $out, $err) =
	  run_tool($dir, @git, 'status', '--porcelain', '--untracked-files=all', @_);
	return $code ? $err : join ' ', map { s/^\S+ //r } split /\n/, $out;
}

is(untracked(), '', 'the copy has no untracked file');
is((run_tool($dir, 'make', '-j2', 'all', "PG_CONFIG=$pg_config"))[0], 0, 'make all');
is(untracked(), '', 'make all leaves no untracked file');
like(untracked('--ignored'), qr/compact_types\.so/, 'make all leaves ignored files');
is( (run_tool($dir, 'make', 'install', "PG_CONFIG=$pg_config", "DESTDIR=$dir/build/installed"))[0],
	0,
	'make install');
is(untracked(), '', 'make install leaves no untracked file');

# Run the tests of one extension, on an instance whose superuser does not have the usual name.
my $name = "install-$$";
($code, $out, $err) =
  run_tool($top, 'tools/cluster', 'start', $name, '--superuser', 'Some-One', '--set', 'fsync=off');
is($code, 0, 'an instance starts') or diag $err;
my ($env) = (run_tool($top, 'tools/cluster', 'env', $name))[1];
like($env, qr/^PGUSER=Some-One$/m, 'the instance has the other superuser');
($code, $out, $err) = run_tool($dir, 'env', split(/\n/, $env),
	'make', '-C', 'wal_directio_patch', 'installcheck', "PG_CONFIG=$pg_config");
is($code, 0, 'make installcheck') or diag $out . $err;
like($out, qr/^ok 1 +[-+] wal_directio/m, 'make installcheck ran tests');
is(untracked(), '', 'make installcheck leaves no untracked file');
run_tool($top, 'tools/cluster', 'remove', $name);

is((run_tool($dir, 'make', 'clean', "PG_CONFIG=$pg_config"))[0], 0, 'make clean');
is(untracked('--ignored') =~ s{\bbuild/\S+ ?}{}gr, '', 'make clean leaves nothing outside build/');

# In a folder other than the feature's, make has to make the folders of the objects.
system_ok('mkdir', '-p', "$dir/build/other");
($code, $out, $err) = run_tool(
	"$dir/build/other", 'make',
	'-f', "$dir/toast_policy/Makefile",
	"VPATH=$dir/toast_policy", "PG_CONFIG=$pg_config",
	'import/heapam_copy.o');
is($code, 0, 'an object in a folder of the feature is built in another folder') or diag $err;

done_testing();
