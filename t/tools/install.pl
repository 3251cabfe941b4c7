# make all, install, installcheck and clean leave nothing in a checkout that git would
# ask about, and installcheck tells of all extensions even if the tests of one fail.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $pg_config = "$top/build/17/dense/bin/pg_config";

# Extensions of a line each
my $stub = checkout();
write_file("$stub/tools/feature-list", "# the order\none\ntwo\nthree\n");
write_file("$stub/$_/Makefile", "all:\n\t\@echo all $_\ninstallcheck:\n\t\@echo tests of $_\n\t\@test $_ != one -a $_ != two\n") for 'one', 'two', 'three';
my ($code, $out, $err) = run_tool($stub, 'make', 'installcheck', "PG_CONFIG=$pg_config");
isnt($code, 0, 'two of three fail: exit code');
is($out, "tests of one\ntests of two\ntests of three\n", 'all of them are tested');
like($err, qr/^make installcheck: error: failed: one two$/m, 'and those that fail are named');
write_file("$stub/one/Makefile", "all:\n\t\@false\ninstallcheck:\n\t\@true\n");
write_file("$stub/two/Makefile", "all installcheck:\n\t\@echo two\n");
($code, $out, $err) = run_tool($stub, 'make', 'all', "PG_CONFIG=$pg_config");
isnt($code, 0, 'an extension that cannot be built');
is($out, '', 'is the last one');
($code, $out, $err) = run_tool($stub, 'make', 'installcheck', "PG_CONFIG=$pg_config");
is("$code $err", '0 ', 'all pass');

# tools/extensions builds what has changed.  plpgsql stands in for what is installed.
my %makefile = (one => "EXTENSION = plpgsql\nall install:\n", two => "EXTENSION = nosuch\nall install:\n", three => "all install:\n\t\@echo 'three: skipped, no patch'\n");
write_file("$stub/$_/Makefile", $makefile{$_}) foreach keys %makefile;
write_file("$stub/$_", '') foreach 'bundle.mk', 'bundle_compat.h';
sub extensions
{
	my ($code, $out, $err) = run_tool($stub, 'tools/extensions', $pg_config, 'build/extensions');
	return join ' ', $code, $err =~ /: (\w+) \.\.\./g;
}
is(extensions(), '0 one two three', 'all extensions are built');
is(extensions(), '0 two', 'then only the one that is not installed');
write_file("$stub/three/three.sql", '');
is(extensions(), '0 two three', 'the one whose sources have changed');
write_file("$stub/one/Makefile", "EXTENSION = plpgsql\nall install:\n\tfalse\n");
like(extensions(), qr/^1 one/, 'a build that fails');
write_file("$stub/one/Makefile", $makefile{one});
is(extensions(), '0 one two', 'is none');
write_file("$stub/bundle.mk", "# changed\n");
is(extensions(), '0 one two three', 'what all of them include');
write_file("$stub/bundle_compat.h", "/* changed */\n");
is(extensions(), '0 one two three', 'in C as well');

# All that belongs to this checkout, in one of its own
my $dir = checkout();
system_ok('sh', '-c', 'cd "$1" && git -c safe.directory="*" ls-files -z --cached --others --exclude-standard --deduplicate | tar -c --null -T - --ignore-failed-read 2> /dev/null | tar -x --no-same-owner -C "$2"', 'sh', $top, $dir);
my @git = ('git', '-c', 'safe.directory=*', '-c', 'user.name=Ada Example', '-c', 'user.email=ada@example.org');
system_ok('sh', '-c', 'cd "$1"; shift; "$@" init -q && "$@" add -A && "$@" commit -q -m All', 'sh', $dir, @git);

# What git does not know, and with --ignored what .gitignore tells it to keep silent about
sub untracked
{
	my ($code, $out, $err) = run_tool($dir, @git, 'status', '--porcelain', '--untracked-files=all', @_);
	return $code ? $err : join ' ', map { s/^\S+ //r } split /\n/, $out;
}

is(untracked(), '', 'nothing untracked at first');
is((run_tool($dir, 'make', '-j2', 'all', "PG_CONFIG=$pg_config"))[0], 0, 'make all');
is(untracked(), '', 'nothing untracked after make all');
like(untracked('--ignored'), qr/compact_types\.so/, 'but what is ignored');
is((run_tool($dir, 'make', 'install', "PG_CONFIG=$pg_config", "DESTDIR=$dir/build/installed"))[0], 0, 'make install');
is(untracked(), '', 'nor after make install');

# The tests of one extension, on an instance whose superuser has a name of his own
my $name = "install-$$";
($code, $out, $err) = run_tool($top, 'tools/cluster', 'start', $name, '--superuser', 'Some-One', '--set', 'fsync=off');
is($code, 0, 'an instance') or diag $err;
my ($env) = (run_tool($top, 'tools/cluster', 'env', $name))[1];
like($env, qr/^PGUSER=Some-One$/m, 'with that superuser');
($code, $out, $err) = run_tool($dir, 'env', split(/\n/, $env), 'make', '-C', 'wal_directio_patch', 'installcheck', "PG_CONFIG=$pg_config");
is($code, 0, 'make installcheck') or diag $out . $err;
like($out, qr/^ok 1 +[-+] wal_directio/m, 'ran tests');
is(untracked(), '', 'nor after make installcheck');
run_tool($top, 'tools/cluster', 'remove', $name);

is((run_tool($dir, 'make', 'clean', "PG_CONFIG=$pg_config"))[0], 0, 'make clean');
is(untracked('--ignored') =~ s{\bbuild/\S+ ?}{}gr, '', 'leaves nothing at all, but for build/');

done_testing();
