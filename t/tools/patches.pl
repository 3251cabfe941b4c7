# Test tools/patches.  The tool turns the files of a series into a branch, and the branch into files
# again.  No byte may change, with any git configuration.  "check" must fail for everything that a
# series must not have: an edited byte, a patch that needs fuzz or an offset, features that
# conflict, wrong white space, a feature without a place in the stacking order, and a fix-up commit.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $dir = checkout();
my $release = join '', map { "line $_\n" } 1 .. 60;
my $sha256 = release_tarball(
	"$dir/sources/postgresql-17.11.tar.bz2",
	'17.11',
	{
		'src/a.c' => $release,
		'src/b.c' => $release,
		'.gitattributes' => "*.c whitespace=space-before-tab,trailing-space\n"
	});
pin_release($dir, '17.11', $sha256);
$ENV{PG_SOURCES} = "$dir/sources";

sub order
{
	write_file("$dir/tools/feature-list", join '', "# the order\n", map { "$_\n" } @_);
}
sub patches { return run_tool($dir, 'tools/patches', @_); }

sub series
{
	my ($feature) = @_;
	return join '', map { read_file($_) } sort glob "$dir/$feature/17/*.patch";
}

# Replace a line of a file in the source tree, and commit.
sub commit_change
{
	my ($file, $line, $new, $message) = @_;
	my $path = "$dir/build/17/src/$file";
	my $content = read_file($path);
	$content =~ s/^line $line\n/$new\n/m or die "no line $line";
	write_file($path, $content);
	git_src($dir, 'commit', '-q', '-a', '--date=2026-01-01T00:00:00Z', '-m', $message);
}

sub check_is_red
{
	my ($pattern, $name) = @_;
	is_clear_error([ patches('check', '17') ], $pattern, "$name turns check red");
}

# Edit the first patch of a feature, check that "check" fails, and restore the patch.
sub edited_is_red
{
	my ($feature, $edit, $pattern, $name) = @_;
	my ($path) = sort glob "$dir/$feature/17/*.patch";
	my $before = my $patch = read_file($path);
	$edit->() for $patch;
	isnt($patch, $before, "$name: edited");
	write_file($path, $patch);
	check_is_red($pattern, $name);
	write_file($path, $before);
}

order();
my ($code, $out, $err) = patches('check', '17');
is($code, 0, 'check succeeds without patches');
is($out, "17: no feature has server patches\n", 'check reports that there are no patches');

# Make a first series, and then a second series.
order('alpha', 'beta');
mkdir "$dir/$_" foreach 'alpha', 'beta';
($code, $out, $err) = patches('tree', '17', 'alpha');
is($code, 0, 'a feature without patches starts at the release') or diag $err;
commit_change('src/a.c', 20, 'twenty', "Spell the twentieth line\n\nBecause.");
commit_change('src/a.c', 30, 'thirty', 'Spell the thirtieth line');
($code, $out, $err) = patches('export', '17', 'alpha');
is($code, 0, 'export') or diag $err;
is(scalar(my @files = glob "$dir/alpha/17/*.patch"), 2, 'a file for each commit');
like(series('alpha'), qr/^From 0{40} /, 'no commit id in the files');

patches('tree', '17', 'beta');
commit_change('src/b.c', 10, 'ten', 'Spell the tenth line');
patches('export', '17', 'beta');
($code, $out, $err) = patches('check', '17');
is($code, 0, 'two clean series pass check') or diag $err;
is( $out,
	"17: the series of alpha beta apply alone and together, without fuzz\n",
	'check names the series');

# Make the tree of both series.
($code, $out, $err) = patches('tree', '17');
is($code, 0, 'tree of all features') or diag $err;
is(git_src($dir, 'rev-parse', '--abbrev-ref', 'HEAD'),
	"bundle\n", 'the branch bundle is checked out');
is( git_src($dir, 'log', '--format=%s', 'pristine..'),
	"Spell the tenth line\nSpell the thirtieth line\nSpell the twentieth line\n",
	'the series are stacked in order');
my $bundle = git_src($dir, 'rev-parse', 'bundle');
patches('tree', '--force', '17');
is(git_src($dir, 'rev-parse', 'bundle'), $bundle, 'the same files give the same commits');

# The git configuration of a user must not change the exported files.
my $before = series('alpha');
write_file("$dir/home/.gitconfig", <<'CONFIG');
[core]
	abbrev = 40
[diff]
	noprefix = true
	algorithm = patience
	context = 1
[format]
	signature = mine
	numbered = true
	subjectPrefix = RFC
[user]
	name = Somebody Else
	email = else@example.org
[commit]
	gpgSign = true
CONFIG
{
	local $ENV{HOME} = "$dir/home";
	local $ENV{GIT_COMMITTER_NAME} = 'Somebody Else';
	local $ENV{GIT_DIFF_OPTS} = '-u1';
	patches('tree', '--force', '17');
	patches('export', '17', 'alpha');
	is(series('alpha'), $before, 'export writes the same bytes under a hostile git configuration');
	is((patches('check', '17'))[0], 0, 'check passes under a hostile git configuration');
	is(git_src($dir, 'rev-parse', 'bundle'), $bundle, 'the commits are the same under it');
}

# The name of the user must not appear in a commit that is made in the tree.
{
	local $ENV{HOME} = "$dir/home";
	delete local $ENV{GIT_AUTHOR_NAME};
	delete local $ENV{GIT_AUTHOR_EMAIL};
	delete local $ENV{GIT_CONFIG_GLOBAL};
	delete local $ENV{GIT_CONFIG_NOSYSTEM};
	is( `git -c safe.directory='*' -C '$dir/build/17/src' var GIT_AUTHOR_IDENT` =~ s/ \d+ \S+\n//r,
		'pg_dense <pg_dense@localhost>',
		'commits in the tree have the author of the project');
}

# "check" does not touch the branch and the uncommitted work of a developer.
patches('tree', '17', 'alpha');
write_file("$dir/build/17/src/src/b.c", "work in progress\n");
is((patches('check', '17'))[0], 0, 'check passes beside uncommitted work');
is(read_file("$dir/build/17/src/src/b.c"), "work in progress\n", 'the uncommitted work stays');
is(git_src($dir, 'rev-parse', '--abbrev-ref', 'HEAD'), "alpha\n", 'the branch stays checked out');

# No command throws away work that is not exported.
is_clear_error(
	[ patches('tree', '17') ],
	qr/not committed/,
	'tree refuses to drop uncommitted changes');
git_src($dir, 'checkout', '-q', '.');
commit_change('src/a.c', 40, 'forty', 'Spell the fortieth line');
is_clear_error(
	[ patches('tree', '17') ],
	qr/branch "alpha" .* not exported/,
	'tree refuses to drop commits');
is((patches('tree', '--force', '17'))[0], 0, 'tree --force drops commits');
is(series('alpha'), $before, 'the exported files are unchanged');

# files that "check" must refuse
edited_is_red(
	'alpha',
	sub { s/^\+twenty$/+Twenty/m },
	qr{alpha/17 is not what its branch exports},
	'an edited byte is refused');
edited_is_red(
	'alpha',
	sub { s/^ line 17$/ line 17!/m },
	qr{alpha/17/0001-\S+ does not apply},
	'a patch that needs fuzz is refused');
edited_is_red(
	'alpha',
	sub { s/^\@\@ -17,7 \+17,7/\@\@ -14,7 +14,7/m },
	qr{alpha/17 is not what its branch exports},
	'a patch that needs an offset is refused');
edited_is_red(
	'alpha',
	sub { s/^\+twenty$/+twenty /m },
	qr{alpha/17/0001-\S+ does not apply.*whitespace},
	'a white space error is refused');
edited_is_red(
	'alpha',
	sub { s/^-- \n.*//ms; $_ .= "-- \n2.39\n" },
	qr{alpha/17 is not what its branch exports},
	'a signature is refused');
edited_is_red(
	'alpha',
	sub { $_ = substr $_, 0, 400 },
	qr{alpha/17/0001-\S+ does not apply},
	'a truncated file is refused');
is((patches('check', '17'))[0], 0, 'check passes again without the edits');

write_file("$dir/alpha/17/notes.txt", "stray\n");
check_is_red(qr{alpha/17 is not what its branch exports.*notes\.txt}, 'a stray file is refused');
unlink "$dir/alpha/17/notes.txt";

# features that conflict with each other, or that tools/feature-list does not name
order('alpha', 'beta', 'gamma');
mkdir "$dir/gamma";
patches('tree', '17', 'gamma');
commit_change('src/a.c', 21, 'twenty-one', 'Spell the twenty-first line');
patches('export', '17', 'gamma');
check_is_red(qr{gamma/17/0001-\S+ does not apply to bundle},
	'a conflict of two features is refused');
order('alpha', 'beta');
check_is_red(
	qr{tools/feature-list does not list "gamma"},
	'a feature without a place in the order is refused');
system_ok('rm', '-r', "$dir/gamma");
order('alpha', 'beta', 'delta');
check_is_red(qr{lists "delta", which is not a folder},
	'a place in the order without a feature is refused');
order('alpha', 'beta');

patches('tree', '17', 'beta');
commit_change('src/b.c', 11, 'eleven', 'fixup! Spell the tenth line');
patches('export', '17', 'beta');
check_is_red(qr{beta/17 holds a commit that belongs folded}, 'a fix-up commit is refused');

# wrong use
is_clear_error(
	[ patches('export', '17', 'nobody') ],
	qr/feature "nobody" is not in tools\/feature-list/,
	'export of an unknown feature is refused');
is_clear_error(
	[ patches('check', '99') ],
	qr/unknown PostgreSQL major version "99"/,
	'an unknown major version is refused');
git_src($dir, 'checkout', '-q', '-B', 'beta', 'pristine');
is_clear_error(
	[ patches('export', '17', 'beta') ],
	qr/no commits to export/,
	'export of an empty branch is refused');
is(scalar(@files = glob "$dir/build/17/apply.*"), 0, 'no temporary clone is left');

# Port a series to another major version.  Differences elsewhere in the file do not matter.  If the
# other version also changes a line that the patch changes, that is a conflict.
unlink glob "$dir/beta/17/0002-*";
patches('tree', '--force', '17', 'beta');
commit_change('src/b.c', 40, 'forty', 'Spell the fortieth line');
patches('export', '17', 'beta');
my $other = "line 0\nline 0.5\n" . $release =~ s/^line 25$/fünfundzwanzig/mr;
my $sum = release_tarball(
	"$dir/sources/postgresql-18.1.tar.bz2",
	'18.1',
	{
		'src/a.c' => $other,
		'src/b.c' => $release =~ s/^line 10$/zehn/mr =~ s/^line 40$/vierzig/mr
	});
append_file("$dir/tools/pg-versions", "18 18.1 postgresql-18.1.tar.bz2 $sum unstable\n");
my $theirs = "$dir/build/18/src";
is_clear_error([ patches('port', '18') ], qr/port needs a feature/, 'port without a feature');
is_clear_error(
	[ patches('port', '18', 'alpha') ],
	qr/alpha has no series for 18/,
	'port without a source');
is_clear_error(
	[ patches('port', '17', 'alpha', '18') ],
	qr/alpha has no series for 18/,
	'port of a missing series is refused');
my @before = map { git_src($dir, 'rev-parse', $_) } 'alpha', 'HEAD';
($code, $out, $err) = patches('port', '18', 'alpha', '17');
is($code, 0, 'a port without conflicts succeeds') or diag $err;
like(
	$err,
	qr{build/18/src is at branch "alpha", ported from 17: 2 commits},
	'port prints the next step');
is( read_file("$theirs/src/a.c"),
	$other =~ s/^line 20$/twenty/mr =~ s/^line 30$/thirty/mr,
	'the ported file has the changes of both versions');
is_deeply([ map { git_src($dir, 'rev-parse', $_) } 'alpha', 'HEAD' ],
	\@before, 'the tree of the other version is unchanged');
is((patches('export', '18', 'alpha'))[0], 0, 'the ported series can be exported');
is(scalar(@files = glob "$dir/alpha/18/*.patch"), 2, 'the ported series has as many patches');
like(
	read_file($files[0]),
	qr/^Author: |^From: Ada Example <ada\@example\.org>$/m,
	'the ported patches keep their author');
is((patches('check', '18'))[0], 0, 'the ported patches apply');
write_file("$theirs/src/a.c", "work\n");
is_clear_error(
	[ patches('port', '18', 'alpha', '17') ],
	qr/changes that are not committed/,
	'port over uncommitted work is refused');
($code, $out, $err) = patches('port', '--force', '18', 'beta', '17');
is($code, 1, 'a port with a conflict fails');
like(
	$err,
	qr{error: a patch of beta conflicts in src/b\.c\n.*hint: mend these in build/18/src, git add and git cherry-pick --continue there, then tools/patches export 18 beta},
	'names the file, and how to go on');
# Each conflict shows the lines of the old version, also in a later patch.
my $resolved = $release;
my @git = (
	'git', '-c', 'safe.directory=*', '-c',
	'user.name=A', '-c', 'user.email=a@example.org', '-c',
	'core.editor=true', '-C', $theirs);
foreach my $conflict ([ 10, 'ten' ], [ 40, 'forty' ])
{
	my ($line, $word) = @$conflict;

	like(
		read_file("$theirs/src/b.c"),
		qr/^\|{7} .*\nline $line\n=======\n$word$/m,
		"the conflict in line $line shows the old line");
	$resolved =~ s/^line $line$/$word/m;
	write_file("$theirs/src/b.c", $resolved =~ s/^line 40$/vierzig/mr);
	system_ok(@git, 'add', 'src/b.c');
	system('sh', '-c', '"$@" > /dev/null 2>&1', 'sh', @git, 'cherry-pick', '--continue');
}
is((patches('export', '18', 'beta'))[0], 0, 'the port can be continued as the message says');
($code, $out, $err) = patches('check', '18');
is($code, 0, 'the continued port applies') or diag $err;

# Port a series to two newer releases of the same major version.  In the first one, lines have
# moved.  In the second one, the patched lines have changed.
patches('tree', '17', '--force');
foreach my $minor (
	[ '17.12', $release =~ s/^line 22$/line 22a\nline 22b/mr ],
	[ '17.13', $release =~ s/^line 30$/dreißig/mr ])
{
	my ($version, $content) = @$minor;

	my $sha = release_tarball("$dir/sources/postgresql-$version.tar.bz2",
		$version, { 'src/a.c' => $content, 'src/b.c' => $release });
	pin_release($dir, $version, $sha);
	isnt((patches('check', '17'))[0], 0, "$version: the series does not apply");
	($code, $out, $err) = patches('port', '--force', '17', 'alpha');
	if ($version eq '17.12')
	{
		is($code, 0, "$version: the series is ported") or diag $err;
		is((patches('export', '17', 'alpha'))[0], 0, "$version: the series is exported");
		is((patches('check', '17'))[0], 0, "$version: the ported series applies");
		next;
	}
	like(
		$err,
		qr{error: a patch of alpha conflicts in src/a\.c\n.*git am --continue there},
		'a conflict with the newer release is named');
	isnt((patches('port', '17', 'alpha'))[0], 0, 'port refuses to drop the unfinished work');
}

done_testing();
