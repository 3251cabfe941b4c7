# tools/patches: a series goes from files to branches and back without a
# changed byte, whoever's git configuration is in effect; and everything that
# must not be in a series turns check red: an edited byte, a patch that needs
# fuzz or an offset, features that conflict, white space, a feature without a
# place in the stacking order, a fix-up commit.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::Bin;
use PgDenseTools;
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
	write_file(
		"$dir/tools/patch-order", join '',
		"# the order\n",
		map { "$_\n" } @_);
}
sub patches { return run_tool($dir, 'tools/patches', @_); }

sub series
{
	my ($feature) = @_;
	return join '',
	  map { read_file($_) } sort glob "$dir/$feature/17/*.patch";
}

# Replace a line of a file in the source tree and commit.
sub commit_change
{
	my ($file, $line, $new, $message) = @_;
	my $path = "$dir/build/17/src/$file";
	my $content = read_file($path);
	$content =~ s/^line $line\n/$new\n/m or die "no line $line";
	write_file($path, $content);
	git_src($dir, 'commit', '-q', '-a', '--date=2026-01-01T00:00:00Z', '-m',
		$message);
}

sub check_is_red
{
	my ($pattern, $name) = @_;
	is_clear_error([ patches('check', '17') ],
		$pattern, "$name turns check red");
}

# Edit the first patch of a feature, check that check is red, and put it back.
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
is($code, 0, 'no feature with patches is fine');
is($out, "17: no feature has server patches\n", 'and is said');

# From nothing to two series.
order('alpha', 'beta');
mkdir "$dir/$_" foreach 'alpha', 'beta';
($code, $out, $err) = patches('tree', '17', 'alpha');
is($code, 0, 'a feature without patches starts at the release') or diag $err;
commit_change('src/a.c', 20, 'twenty',
	"Spell the twentieth line\n\nBecause.");
commit_change('src/a.c', 30, 'thirty', 'Spell the thirtieth line');
($code, $out, $err) = patches('export', '17', 'alpha');
is($code, 0, 'export') or diag $err;
is(scalar(my @files = glob "$dir/alpha/17/*.patch"),
	2, 'a file for each commit');
like(series('alpha'), qr/^From 0{40} /, 'no commit id in the files');

patches('tree', '17', 'beta');
commit_change('src/b.c', 10, 'ten', 'Spell the tenth line');
patches('export', '17', 'beta');
($code, $out, $err) = patches('check', '17');
is($code, 0, 'two clean series pass check') or diag $err;
is( $out,
	"17: the series of alpha beta apply alone and together, without fuzz\n",
	'and are named');

# The tree of both.
($code, $out, $err) = patches('tree', '17');
is($code, 0, 'tree of all features') or diag $err;
is(git_src($dir, 'rev-parse', '--abbrev-ref', 'HEAD'),
	"bundle\n", 'bundle is checked out');
is( git_src($dir, 'log', '--format=%s', 'pristine..'),
	"Spell the tenth line\nSpell the thirtieth line\nSpell the twentieth line\n",
	'stacked in order');
my $bundle = git_src($dir, 'rev-parse', 'bundle');
patches('tree', '--force', '17');
is(git_src($dir, 'rev-parse', 'bundle'),
	$bundle, 'the same files give the same commits');

# A user's git configuration does not show in the files.
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
	is(series('alpha'), $before,
		'export is the same bytes under a hostile git configuration');
	is((patches('check', '17'))[0], 0, 'check passes under it');
	is(git_src($dir, 'rev-parse', 'bundle'),
		$bundle, 'the commits are the same under it');
}

# check leaves the developer's branch and uncommitted work alone.
patches('tree', '17', 'alpha');
write_file("$dir/build/17/src/src/b.c", "work in progress\n");
is((patches('check', '17'))[0], 0, 'check passes beside uncommitted work');
is( read_file("$dir/build/17/src/src/b.c"),
	"work in progress\n",
	'which stays');
is(git_src($dir, 'rev-parse', '--abbrev-ref', 'HEAD'),
	"alpha\n", 'on its branch');

# Nothing that is not exported is thrown away.
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
is((patches('tree', '--force', '17'))[0], 0, 'unless forced');
is(series('alpha'), $before, 'the files never changed');

# Red: what the files may not be.
edited_is_red(
	'alpha',
	sub { s/^\+twenty$/+Twenty/m },
	qr{alpha/17 is not what its branch exports},
	'an edited byte');
edited_is_red(
	'alpha',
	sub { s/^ line 17$/ line 17!/m },
	qr{alpha/17/0001-\S+ does not apply},
	'a patch that needs fuzz');
edited_is_red(
	'alpha',
	sub { s/^\@\@ -17,7 \+17,7/\@\@ -14,7 +14,7/m },
	qr{alpha/17 is not what its branch exports},
	'a patch that needs an offset');
edited_is_red(
	'alpha',
	sub { s/^\+twenty$/+twenty /m },
	qr{alpha/17/0001-\S+ does not apply.*whitespace},
	'a white space error');
edited_is_red(
	'alpha',
	sub { s/^-- \n.*//ms; $_ .= "-- \n2.39\n" },
	qr{alpha/17 is not what its branch exports},
	'a signature');
edited_is_red(
	'alpha',
	sub { $_ = substr $_, 0, 400 },
	qr{alpha/17/0001-\S+ does not apply},
	'a truncated file');
is((patches('check', '17'))[0], 0, 'and is green again without the edits');

write_file("$dir/alpha/17/notes.txt", "stray\n");
check_is_red(qr{alpha/17 is not what its branch exports.*notes\.txt},
	'a stray file');
unlink "$dir/alpha/17/notes.txt";

# Red: features that do not go together, or that are not listed.
order('alpha', 'beta', 'gamma');
mkdir "$dir/gamma";
patches('tree', '17', 'gamma');
commit_change('src/a.c', 21, 'twenty-one', 'Spell the twenty-first line');
patches('export', '17', 'gamma');
check_is_red(qr{gamma/17/0001-\S+ does not apply to bundle},
	'a conflict of two features');
order('alpha', 'beta');
check_is_red(
	qr{tools/patch-order does not list "gamma"},
	'a feature without a place in the order');
system_ok('rm', '-r', "$dir/gamma");
order('alpha', 'beta', 'delta');
check_is_red(
	qr{lists "delta", which is not a folder},
	'a place in the order without a feature');
order('alpha', 'beta');

patches('tree', '17', 'beta');
commit_change('src/b.c', 11, 'eleven', 'fixup! Spell the tenth line');
patches('export', '17', 'beta');
check_is_red(qr{beta/17 holds a commit that belongs folded},
	'a fix-up commit');

# Wrong use.
is_clear_error(
	[ patches('export', '17', 'nobody') ],
	qr/feature "nobody" is not in tools\/patch-order/,
	'export of an unknown feature');
is_clear_error(
	[ patches('check', '99') ],
	qr/unknown PostgreSQL major version "99"/,
	'an unknown major version');
git_src($dir, 'checkout', '-q', '-B', 'beta', 'pristine');
is_clear_error(
	[ patches('export', '17', 'beta') ],
	qr/no commits to export/,
	'export of an empty branch');
is(scalar(@files = glob "$dir/build/17/apply.*"),
	0, 'no temporary clone is left');

done_testing();
