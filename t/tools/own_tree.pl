# Test tools/patches apply, remove and export --quilt, which change a source tree of the user.  The
# commands must apply all patches or none, also to another minor release whose lines have moved,
# but never with fuzz.  "remove" must restore each byte and leave no file.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $dir = checkout();
my $lines = join '', map { "line $_\n" } 1 .. 60;
my $configure = "#!/bin/sh\nPACKAGE_STRING='PostgreSQL 17.11'\n";
my %files = (
	'configure' => $configure,
	'src/a.c' => $lines,
	'src/b.c' => $lines,
	'src/untouched.c' => $lines);
my $sha256 = release_tarball("$dir/sources/postgresql-17.11.tar.bz2", '17.11', \%files);
pin_release($dir, '17.11', $sha256);
$ENV{PG_SOURCES} = "$dir/sources";
# No patch of the tests needs this git configuration, and it must not matter.
write_file("$dir/home/.gitconfig", "[apply]\n\twhitespace = error\n");
$ENV{HOME} = "$dir/home";

sub patches { return run_tool($dir, 'tools/patches', @_); }

# Commit a change of files of the release as a patch of a series.
sub commit
{
	my ($message, %edits) = @_;

	foreach my $file (sort keys %edits)
	{
		my $path = "$dir/build/17/src/$file";
		my ($line, $new) = @{ $edits{$file} };
		my $content = -e $path ? read_file($path) : '';

		$content =~ s/^$line\n/$new\n/m or $content .= "$new\n";
		write_file($path, $content);
		git_src($dir, 'add', '-f', $file);
	}
	git_src($dir, 'commit', '-q', '--date=2026-01-01T00:00:00Z', '-m', $message);
}

write_file("$dir/tools/feature-list", "# the order\nalpha\nbeta\ngamma\n");
mkdir "$dir/$_" foreach qw(alpha beta gamma);
patches('tree', '17', 'alpha');
commit('Spell the twentieth line', 'src/a.c' => [ 'line 20', 'twenty ' ]);
commit(
	'Add a file',
	'src/a.c' => [ 'line 30', 'thirty' ],
	'src/new/n.c' => [ 'none', 'new' ]);
patches('export', '17', 'alpha');
patches('tree', '17', 'beta');
commit('Spell the tenth line', 'src/b.c' => [ 'line 10', 'ten' ]);
patches('export', '17', 'beta');

my $count = 0;

# Unpack a tree, with changed files.
sub tree
{
	my (%changed) = @_;
	my $tree = "$dir/home/tree" . ++$count;
	my %content = (%files, %changed);

	write_file("$tree/$_", $content{$_}) foreach keys %content;
	chmod 0755, "$tree/configure";
	return $tree;
}

# contents(TREE) - return names, modes and contents of all files
sub contents
{
	my ($tree) = @_;

	return join '', map { "$_\n" . read_file("$tree/$_") } split /\n/,
	  `cd $tree && find . -type f | sort`;
}

sub modes
{
	my ($tree) = @_;
	return scalar `cd $tree && find . -printf '%p %m\n' | sort`;
}

my $tree = tree();
my ($plain, $modes) = (contents($tree), modes($tree));
my ($code, $out, $err) = patches('apply', $tree);
is($code, 0, 'apply') or diag $err;
like($err, qr/patched PostgreSQL 17\.11 in "\Q$tree\E": alpha beta\n/, 'apply names the features');
like($err, qr/--with-extra-version=' \(pg_dense: alpha beta\)'/, 'apply names the version');
is( read_file("$tree/src/a.c"),
	$lines =~ s/^line 20$/twenty /mr =~ s/^line 30$/thirty/mr,
	'both patches of alpha are applied');
is(read_file("$tree/src/b.c"), $lines =~ s/^line 10$/ten/mr, 'the patch of beta is applied');
is(read_file("$tree/src/new/n.c"), "new\n", 'the new file is there');
is( `cd $tree && ls -d .pg_dense/* src/*`,
	".pg_dense/alpha\n.pg_dense/beta\nsrc/a.c\nsrc/b.c\nsrc/new\nsrc/untouched.c\n",
	'no other file is left');
my $patched = contents($tree);
($code, $out, $err) = patches('apply', $tree);
is($code, 0, 'apply again') or diag $err;
like($err, qr/alpha is in "\Q$tree\E" already\n.*beta is in /, 'both are there already');
is(contents($tree), $patched, 'nothing is changed');
($code, $out, $err) = patches('remove', $tree);
is($code, 0, 'remove') or diag $err;
is(contents($tree), $plain, 'each byte is as before');
is(modes($tree), $modes, 'each file and each mode is as before');
is_clear_error(
	[ patches('remove', $tree) ],
	qr/error: "\Q$tree\E" has no patches of alpha beta$/,
	'nothing to remove');

# Some of the features, in any order
($code, $out, $err) = patches('apply', $tree, 'beta');
is($code, 0, 'one feature') or diag $err;
is(read_file("$tree/src/a.c"), $lines, 'the other one is not applied');
append_file("$tree/config.status", '');
($code, $out, $err) = patches('apply', $tree, 'alpha');
is($code, 0, 'the other feature later') or diag $err;
like($err, qr/pg_dense: alpha beta\)/, 'the version names both');
like($err, qr/run "make distclean"/, 'a tree that was built must be cleaned');
unlink "$tree/config.status";
is(contents($tree), $patched, 'the same tree');
($code, $out, $err) = patches('remove', $tree, 'alpha');
is($code, 0, 'one feature is removed') or diag $err;
is(read_file("$tree/src/b.c"), $lines =~ s/^line 10$/ten/mr, 'the other one stays');
patches('remove', $tree);
is(contents($tree), $plain, 'both are removed');

# Patches that were applied by hand
system_ok("cd $tree && cat $dir/alpha/17/*.patch | patch -s -p1");
($code, $out, $err) = patches('apply', $tree, 'alpha');
is($code, 0, 'applied by hand') or diag $err;
like($err, qr/alpha is in "\Q$tree\E" already$/, 'is found');
($code, $out, $err) = patches('remove', $tree, 'alpha');
is($code, 0, 'and removed') or diag $err;
is(contents($tree), $plain, 'without a trace');
system_ok("cd $tree && cat $dir/alpha/17/0001-*.patch | patch -s -p1");
my $part = contents($tree);
is_clear_error(
	[ patches('apply', $tree) ],
	qr/error: 1 of 2 patches of alpha are in "\Q$tree\E"/,
	'applied in part');
is(contents($tree), $part, 'nothing is changed');

# A series that changes after it was applied
$tree = tree();
patches('apply', $tree);
my ($first) = glob "$dir/alpha/17/0001-*.patch";
my $series = read_file($first);
write_file($first, $series =~ s/twenty/TWENTY/r);
is_clear_error(
	[ patches('apply', $tree) ],
	qr/has another version of alpha, run tools\/patches remove /,
	'another version');
($code, $out, $err) = patches('remove', $tree);
is($code, 0, 'the version that was applied is removed') or diag $err;
is(contents($tree), $plain, 'without a trace');
write_file($first, $series);

# Other minor releases
my $moved = "line 0\n$lines";
$tree = tree('configure' => $configure =~ s/17\.11/17.12/r, 'src/a.c' => $moved);
($code, $out, $err) = patches('apply', $tree);
is($code, 0, 'a minor release with moved lines') or diag $err;
like($err, qr/made for PostgreSQL 17\.11, "\Q$tree\E" is 17\.12;/, 'the release is named');
is( read_file("$tree/src/a.c"),
	$moved =~ s/^line 20$/twenty /mr =~ s/^line 30$/thirty/mr,
	'the patches are applied where the lines are now');
patches('remove', $tree);
is(read_file("$tree/src/a.c"), $moved, 'and removed from there');
# patch -p1 would apply this one with fuzz.
foreach my $file ('src/a.c', 'src/b.c')
{
	my $line = $file eq 'src/a.c' ? 33 : 8;

	$tree = tree($file => $lines =~ s/^line $line$/other/mr);
	my $before = contents($tree);
	is_clear_error(
		[ patches('apply', $tree) ],
		qr{error: (alpha|beta)/17/[^ ]*\.patch does not apply to PostgreSQL 17\.11: \Q$file\E, line \d+; nothing was changed},
		"$file: no fuzz");
	is(contents($tree), $before, "$file: nothing is changed");
}

# A file that cannot be written, after another one was
$tree = tree();
mkdir "$tree/src/b.c.pg_dense";
my $before = contents($tree);
($code, $out, $err) = patches('apply', $tree);
like(
	$err,
	qr{error: could not write "\Q$tree\E/src/b\.c", nothing was changed: Is a directory\n\z},
	'a file that cannot be written');
system_ok('rm', '-r', "$tree/src/b.c.pg_dense");
is(contents($tree), $before, 'the other file is as before');

# A line of a patch that somebody has edited since
$tree = tree();
patches('apply', $tree);
write_file("$tree/src/b.c", read_file("$tree/src/b.c") =~ s/^ten$/10/mr);
my $edited = contents($tree);
is_clear_error(
	[ patches('remove', $tree) ],
	qr{error: beta cannot be taken back, .*src/b\.c, line \d+, 0001-.*nothing was changed},
	'an edited line');
is(contents($tree), $edited, 'nothing is changed');

# A git checkout, and a tree inside another git checkout
$tree = tree();
system_ok("cd $tree && git init -q . && git add -A");
($code, $out, $err) = patches('apply', $tree);
is($code, 0, 'a git checkout') or diag $err;
is( `cd $tree && git diff --name-only && git ls-files --others --directory`,
	"src/a.c\nsrc/b.c\n.pg_dense/\nsrc/new/\n",
	'git shows the changed files');
system_ok("cd $dir/home && git init -q .");
$ENV{TMPDIR} = "$dir/home";
$tree = tree();
($code, $out, $err) = patches('apply', $tree);
is($code, 0, 'a tree inside a git checkout') or diag $err;
is(contents($tree), $patched, 'is patched');

# A source package of Debian
$tree = tree('debian/patches/series' => "one.patch\n", 'debian/patches/one.patch' => '');
foreach my $run (1, 2)
{
	($code, $out, $err) = patches('export', '--quilt', $tree);
	is($code, 0, "export --quilt, run $run") or diag $err;
	like(
		read_file("$tree/debian/patches/series"),
		qr{\Aone\.patch\n(pg_dense/alpha-0001-\S+\n)(pg_dense/alpha-0002-\S+\n)(pg_dense/beta-0001-\S+\n)\z},
		"the entries follow those of Debian, run $run");
}
is(read_file("$tree/src/a.c"), $lines, 'the sources are not changed');
my @entries = grep { /^pg_dense/ } split /\n/, read_file("$tree/debian/patches/series");
system_ok(
	"cd $tree && cat " . join(' ', map { "debian/patches/$_" } @entries) . ' | patch -s -F0 -p1');
is(read_file("$tree/src/b.c"), $lines =~ s/^line 10$/ten/mr,
	'the entries are patches without fuzz');
is_clear_error(
	[ patches('export', '--quilt', tree()) ],
	qr/has no folder "debian"/,
	'no source package');

# Wrong arguments
is_clear_error(
	[ patches('apply', '/nonexistent') ],
	qr/directory "\/nonexistent" does not exist/,
	'no directory');
is_clear_error([ patches('apply', $dir) ],
	qr/is not a source tree of PostgreSQL/, 'no source tree');
is_clear_error(
	[ patches('apply', tree('configure' => $configure =~ s/17\.11/16.4/r)) ],
	qr/is PostgreSQL 16\.4, there are patches for 17$/,
	'a major version without patches');
is_clear_error(
	[ patches('apply', $tree, 'delta') ],
	qr/feature "delta" is not in tools\/feature-list/,
	'unknown feature');
is_clear_error(
	[ patches('apply', $tree, 'gamma') ],
	qr/feature "gamma" has no patches for PostgreSQL 17/,
	'a feature without patches');
is_clear_error([ patches('apply') ], qr/no directory given/, 'no argument');
is_clear_error([ patches('remove', '--all') ], qr/unknown argument "--all"/, 'unknown option');

done_testing();
