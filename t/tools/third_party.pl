# Test tools/check-third-party with stubs in the place of the chroots.  It must refuse what it cannot
# test, give the chroot the packages and the sources, count the tests that ran there, and keep their
# results.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $dir = checkout();
my $tool = 'tools/check-third-party';
system_ok('cp', '-a', "$top/debian", $dir);

# refused(NAME, PATTERN, ARG...) - test that the tool fails with an error like the pattern
sub refused
{
	my ($name, $pattern, @args) = @_;
	my ($code, undef, $err) = run_tool($dir, $tool, @args);
	isnt($code, 0, "$name: exit code");
	like($err, qr/^\Q$tool\E: error: $pattern/m, $name);
}
write_file("$dir/src/pgtap/Makefile", 'all:');
refused('no patches', qr/there are no patches for PostgreSQL 17$/m, "pgtap=$dir/src/pgtap");
write_file("$dir/index_align/17/0001-a.patch", 'a');
refused('no extension', qr/no extension given/);
refused('an unknown extension', qr/unknown extension "postgis"/, "postgis=$dir/src/pgtap");
refused('no sources', qr/could not read "$dir\/nothing"$/m, "pgtap=$dir/nothing");
refused('pg_partman alone', qr/the tests of pg_partman need pgtap/, "pg_partman=$dir/src/pgtap");
my ($code, $out, $err) = run_tool($dir, 'tools/run-unprivileged', $tool, "pgtap=$dir/src/pgtap");
is($code, 0, 'without root it does not fail');
is($out, "0 passed, 0 failed, 1 skipped\n", 'counts');

SKIP:
{
	skip 'it takes root, namespaces and a keyring of Debian', 1
	  if !can_mount() || !-f '/usr/share/keyrings/debian-archive-keyring.gpg';

	local $ENV{PATH} = "$dir/bin:$ENV{PATH}";
	write_program("$dir/bin/apt-get", <<'SH');
case "$*" in *indextargets*) printf 'http://localhost:9/debian/ Debian\n' ;; esac
SH
	write_program("$dir/bin/debootstrap", '');
	refused('no packages',
		qr/".*stable-patched" was not found, run tools\/debs-server --build --major 17$/m,
		"pgtap=$dir/src/pgtap");

	my $chroots = "$dir/build/debs/chroot";
	my $test = "$chroots/stable.test";
	write_file("$dir/build/debs/stable-patched/Packages", 'Package: postgresql-17');
	write_program("$dir/bin/unshare", <<"SH");
case "\$*" in
	*debootstrap*)
		cd '$chroots' && mkdir stable.base && cd stable.base &&
			mkdir -p etc/apt/apt.conf.d etc/apt/sources.list.d etc/apt/preferences.d etc/dpkg/dpkg.cfg.d usr/sbin srv var/lib/apt/lists ;;
	*run_suite*)
		for last; do echo "\$last"; done | sed '1,/^third-party\$/d' > '$dir/arguments'
		(cd '$test/srv' && find repository third -type f) | sort > '$dir/found'
		mkdir '$test/srv/results' && echo 'a ok' > '$test/srv/results/on.pgtap'
		cat '$dir/said' ;;
esac
SH
	write_file("$dir/src/archive/src/vector.c", 'int vector;');
	system_ok('tar', '-C', "$dir/src", '-czf', "$dir/pgvector.tar.gz", 'archive');
	foreach my $case (
		[ 'all pass', "ok pgtap: on\nok the end\n", 0, '2 passed, 0 failed, 0 skipped' ],
		[ 'a test fails', "not ok pgtap: on\nok the end\n", 1, '1 passed, 1 failed, 0 skipped' ],
		[ 'the tests end early', "ok pgtap: on\n", 1, '1 passed, 1 failed, 0 skipped' ])
	{
		my ($name, $said, $expected, $counts) = @$case;
		write_file("$dir/said", $said);
		system_ok('rm', '-rf', $test);
		($code, $out, $err) =
		  run_tool($dir, $tool, "pgvector=$dir/pgvector.tar.gz", "pgtap=$dir/src/pgtap");
		is($code, $expected, "$name: exit code") or diag $err;
		like($out, qr/^$counts\n\z/m, "$name: counts") or diag $out;
		is(-d $test ? 1 : 0, $expected, "$name: the chroot stays only after a failure");
		is(read_file("$dir/build/debs/log/stable.third-party.on.pgtap"),
			"a ok\n", "$name: the results are kept");
	}
	is(read_file("$dir/arguments"),
		"17\npgtap\npgvector\n", 'the version, and the extensions in order');
	is( read_file("$dir/found"),
		"repository/Packages\nthird/pgtap/Makefile\nthird/pgvector/src/vector.c\n",
		'the chroot has the packages, and the sources from a folder and from an archive');
}

done_testing();
