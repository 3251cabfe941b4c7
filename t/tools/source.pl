# Test tools/source: where it takes a release tarball from, what it verifies, and its messages if it
# finds no tarball.  Scripts replace apt-get and curl, so the test uses no network.
use strict;
use warnings FATAL => 'all';

use Digest::SHA;
use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $dir = checkout();
my $name = 'postgresql-17.11.tar.bz2';
my $sha256 = release_tarball("$dir/sources/$name", '17.11', { README => "a release\n" });
pin_release($dir, '17.11', $sha256);

# The scripts are $bin/apt-get and $bin/curl.  There is no network unless a test replaces them.
my $bin = "$dir/bin";
$ENV{PATH} = "$bin:$ENV{PATH}";

write_program("$bin/apt-get", 'exit 100');
write_program("$bin/apt-cache", 'exit 100');
write_program("$bin/curl", 'exit 6');

sub source { return run_tool($dir, 'tools/source', '17'); }

# the directory PG_SOURCES
{
	local $ENV{PG_SOURCES} = "$dir/sources";
	my ($code, $out, $err) = source();
	is($code, 0, 'a tarball in the directory PG_SOURCES is found') or diag $err;
	is($out, "$dir/build/sources/$name\n", 'the output is the path of a copy');
	is($err, '', 'nothing is printed on stderr');

	# The owner replaces the tarball right after it has been read.
	write_program("$bin/sha256sum", "/usr/bin/sha256sum; echo replaced > '$dir/sources/$name'");
	system_ok('cp', '-p', "$dir/sources/$name", "$dir/kept");
	($code, $out, $err) = source();
	is($code, 0, 'a tarball that is replaced meanwhile is no error') or diag $err;
	chomp $out;
	is(Digest::SHA->new(256)->addfile($out)->hexdigest,
		$sha256, 'the copy has the verified content');
	is(read_file("$dir/sources/$name"), "replaced\n", 'the original was replaced');
	unlink "$bin/sha256sum";
	system_ok('mv', "$dir/kept", "$dir/sources/$name");
	system_ok('rm', '-r', "$dir/build");

	append_file("$dir/sources/$name", 'x');
	my $got = Digest::SHA->new(256)->addfile("$dir/sources/$name")->hexdigest;
	is_clear_error(
		[ source() ],
		qr{wrong checksum of "\Q$dir\E/sources/$name": expected $sha256, got $got},
		'a wrong checksum is refused');
	is_deeply([ glob "$dir/build/sources/*" ], [], 'a tarball with a wrong checksum is not kept');
	unlink "$dir/sources/$name";
	is_clear_error(
		[ source() ],
		qr{could not get $name, tried: \Q$dir\E/sources; \Q$dir\E/build/sources; apt .*; https://\S+/v17\.11/$name$},
		'no tarball and no network is an error');

	local $ENV{PG_SOURCES} = "$dir/nowhere";
	is_clear_error(
		[ source() ],
		qr{PG_SOURCES "\Q$dir\E/nowhere" is not a directory},
		'a missing directory is an error');
}

# the download site, and the copy that is kept
$sha256 = release_tarball("$dir/site/$name", '17.11', { README => "a release\n" });
pin_release($dir, '17.11', $sha256);
write_program("$bin/curl", "while [ \"\$1\" != -o ]; do shift; done; cp '$dir/site/$name' \"\$2\"");
my ($code, $out, $err) = source();
is($code, 0, 'a download succeeds') or diag $err;
is($out, "$dir/build/sources/$name\n", 'the download is kept below build/');
write_program("$bin/curl", 'exit 6');
is((source())[0], 0, 'the kept copy is used without a network');

append_file("$dir/build/sources/$name", 'x');
is((source())[0], 1, 'a damaged copy without a network is an error');
write_program("$bin/curl", "while [ \"\$1\" != -o ]; do shift; done; cp '$dir/site/$name' \"\$2\"");
($code, $out, $err) = source();
is($code, 0, 'a damaged copy is fetched again') or diag $err;

unlink "$dir/build/sources/$name";
append_file("$dir/site/$name", 'x');
($code, $out, $err) = source();
isnt($code, 0, 'a download with a wrong checksum is an error');
like(
	$err,
	qr/wrong checksum of .*: expected $sha256, got [0-9a-f]{64}/,
	'the error shows the wrong checksum');
is_deeply([ glob "$dir/build/sources/*.bz2" ], [], 'a download with a wrong checksum is not kept');
write_program("$bin/curl", 'exit 6');

# a newer minor release, with a checksum beside it
my $newer = release_tarball("$dir/sources/postgresql-17.13.tar.bz2",
	'17.13', { README => "a newer release\n" });
release_tarball("$dir/sources/postgresql-17.9.tar.bz2", '17.9', { README => "an older release\n" });
{
	local $ENV{PG_SOURCES} = "$dir/sources";
	isnt((source())[0], 0, 'a newer release without a checksum is not taken');
	write_file("$dir/sources/postgresql-17.13.tar.bz2.sha256",
		"$newer  postgresql-17.13.tar.bz2\n");
	write_file("$dir/sources/postgresql-17.9.tar.bz2.sha256", "$newer  postgresql-17.9.tar.bz2\n");
	($code, $out, $err) = source();
	is($code, 0, 'a newer release with a checksum is taken') or diag $err;
	is($out, "$dir/build/sources/postgresql-17.13.tar.bz2\n", 'the newest release is taken');
	like(
		$err,
		qr/taking postgresql-17\.13 instead of the pinned 17\.11/,
		'a notice names the newer release');
	write_file("$dir/sources/postgresql-17.13.tar.bz2.sha256", ('0' x 64) . "\n");
	is_clear_error(
		[ source() ],
		qr/wrong checksum .* expected 0{64}/,
		'a newer release with a wrong checksum is refused');
}
isnt((source())[0], 0, 'PG_SOURCES is not used when it is not set');

# Test the distribution's source packages. tools/source tries versions, the newest first, until a
# download succeeds.  The tool uses only the archive of the base system, and its own apt
# configuration.
system_ok('rm', '-rf', "$dir/sources", "$dir/build");
my $good = release_tarball("$dir/site/postgresql-17_17.12.orig.tar.bz2",
	'17.12', { README => "a packaged release\n" });
write_program("$bin/apt-get", <<"SCRIPT");
echo "\$APT_CONFIG \$*" >> '$dir/calls'
case "\$*" in
	indextargets*)
		. /etc/os-release
		echo "http://third.example.org/debian/|\$VERSION_CODENAME|main|Third|\$VERSION_CODENAME|Packages"
		echo "http://archive.example.org/debian/|\$VERSION_CODENAME|main|Debian|\$VERSION_CODENAME|Packages" ;;
	update*) ;;
	*17.13*) echo '404 Not Found'; exit 100 ;;
	*17.12*)
		cp '$dir/site/postgresql-17_17.12.orig.tar.bz2' .
		printf '%s\\n' 'Checksums-Sha256:' ' $good 12345 postgresql-17_17.12.orig.tar.bz2' 'Files:' > postgresql-17_17.12-0+deb13u1.dsc ;;
esac
SCRIPT
write_program("$bin/apt-cache",
	"printf '%s\\n' 'Version: 17.12-0+deb13u1' 'Version: 17.9-1' 'Version: 17.13-0+deb13u1'");
($code, $out, $err) = source();
is($code, 0, 'a source package is taken') or diag $err;
is( $out,
	"$dir/build/sources/postgresql-17.12.tar.bz2\n",
	'the newest one that downloads gets the name of its release');
like(
	$err,
	qr/taking postgresql-17\.12 instead of the pinned 17\.11/,
	'a notice says that it is not the pinned release');
my $calls = read_file("$dir/calls");
like($calls, qr/17\.13.*17\.12/s, 'the newest versions are tried first');
unlike($calls, qr/17\.9/, 'older versions are not tried');
like($calls, qr{^\Q$dir\E/build/apt/apt\.conf update}m, 'apt gets a private configuration');
my $sources = read_file("$dir/build/apt/sources.list");
like(
	$sources,
	qr{^deb-src \[signed-by=\S+\] http://archive\.example\.org/debian/ stable main$}m,
	"the archive of the base system is used");
unlike($sources, qr/third/, 'no other archive is used');

done_testing();
