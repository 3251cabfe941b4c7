# Test tools/debs-server with stubs in the place of the chroots.  It must add the patches and the
# suffix of the version to Debian's sources, and only to the server's paragraph of debian/control
# what the packages of the extensions depend on.  It must build the server again only if the patches
# or Debian's version change.  It must count the tests in the chroot, and tests that cannot run.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $dir = checkout();
system_ok('cp', '-a', "$top/debian", $dir);

local $ENV{PATH} = "$dir/bin:$ENV{PATH}";
my ($code, $out, $err) = run_tool($dir, 'tools/debs-server');
is($code, 1, 'without patches it fails');
like(
	$err,
	qr/^tools\/debs-server: error: there are no patches for PostgreSQL 17$/m,
	'the error names the version');
write_file("$dir/index_align/17/0001-a.patch", 'a');
($code, $out, $err) = run_tool($dir, 'tools/run-unprivileged', 'tools/debs-server');
is($code, 0, 'without root it does not fail');
is($out, "0 passed, 0 failed, 1 skipped\n", 'counts');

SKIP:
{
	skip 'it takes root, namespaces and a keyring of Debian', 1
	  if !can_mount() || !-f '/usr/share/keyrings/debian-archive-keyring.gpg';

	my $chroots = "$dir/build/debs/chroot";
	my $server = "$chroots/stable.server";
	my $sources = "$server/srv/server/postgresql-17-17.11";
	write_program("$dir/bin/apt-get", <<'SH');
case "$*" in *indextargets*) printf 'http://localhost:9/debian/ Debian\n' ;; esac
SH
	write_program("$dir/bin/debootstrap", '');
	write_program("$dir/tools/patches", "echo \"\$*\" >> '$dir/patches'\n");
	# Commands in the chroot do what the tests need of them.  The arguments end with those of the
	# script that the shell in the chroot runs.
	write_program("$dir/bin/unshare", <<"SH");
for last; do :; done
echo "\$last" >> '$dir/asked'
case "\$*" in
	*debootstrap*)
		cd '$chroots' && mkdir stable.base && cd stable.base &&
			mkdir -p etc/apt/apt.conf.d etc/apt/sources.list.d etc/apt/preferences.d etc/dpkg/dpkg.cfg.d usr/sbin srv var/lib/apt/lists &&
			touch etc/apt/sources.list.d/a.list ;;
	*showsrc*) echo "Version: \$(cat '$dir/version')" ;;
	*'apt-get -q source'*pgvector)
		[ ! -f '$dir/no_pgvector' ] || { echo 'E: Failed to fetch pgvector'; exit 1; }
		mkdir -p '$server/srv/pgvector/pgvector-1/debian' && printf 'pgvector (1-1) unstable; urgency=low\\n\\n -- A <b\@c>  today\\n' > '$server/srv/pgvector/pgvector-1/debian/changelog' ;;
	*--print-uris*) echo "'http://localhost:9/pool/postgresql-17_17.12-1.dsc' postgresql-17_17.12-1.dsc 1 SHA256:0" ;;
	*--require-valid-signature*)
		while [ \$# -gt 2 ]; do shift; done
		echo "\$*" > '$dir/verified'
		mkdir -p '$sources/debian' && cp '$dir/control' '$dir/changelog' '$sources/debian/' ;;
	*'apt-get -q source'*)
		mkdir -p '$sources/debian' && cp '$dir/control' '$dir/changelog' '$sources/debian/' ;;
	*dpkg-buildpackage*/srv/server/*) echo server >> '$dir/built'; touch '$server/srv/server/postgresql-17_1.deb' ;;
	*dpkg-buildpackage*/srv/build/*) touch '$server/srv/build/postgresql-17-pg-dense_1.deb' ;;
	*dpkg-buildpackage*/srv/pgvector/*) touch '$server/srv/pgvector/postgresql-17-pgvector_1.deb' ;;
	*'lintian --'*) exit \$(cat '$dir/lintian') ;;
	*pg_createcluster*) cat '$dir/said' ;;
esac
SH
	write_file("$dir/control", <<'CONTROL');
Source: postgresql-17

Package: libpq5
Provides:
 other,
Description: a library
 Text

Package: postgresql-17
Provides:
 postgresql-contrib-17,
Description: the server
 Text of the server
XB-Field: x

Package: postgresql-client-17
Description: the client
 Text
CONTROL
	write_file("$dir/changelog",
		"postgresql-17 (17.11-1) unstable; urgency=medium\n\n  * A\n\n -- A <b\@c>  today\n");
	write_file("$dir/version", '17.11-1');
	write_file("$dir/lintian", 0);
	my $said = "ok upgrade\nok 1         - alpha    9 ms\nok no file is left\n";
	write_file("$dir/said", $said);

	($code, $out, $err) = run_tool($dir, 'tools/debs-server');
	is($code, 0, 'all pass: exit code') or diag $err;
	like($out, qr/^4 passed, 0 failed, 0 skipped\n\z/m, 'all pass: counts') or diag $out;
	is( read_file("$dir/patches"),
		"export --quilt $sources\n",
		'the patches are added to the sources of the server');
	like(
		read_file("$sources/debian/changelog"),
		qr/\Apostgresql-17 \(17\.11-1\+dense1\) unstable; urgency=medium\n\n  \* .*\n\n -- .*>  today\n\npostgresql-17 \(17\.11-1\) /,
		'the version has the suffix');
	my $text = read_file("$dir/debian/patched/server-description");
	is( read_file("$sources/debian/control"),
		read_file("$dir/control") =~
		  s/( postgresql-contrib-17,\n)/ postgresql-17-pg-dense-server (= \${binary:Version}),\n$1/r
		  =~ s/( Text of the server\n)/$1$text/r,
		'what the server provides, and its description');
	my $control = read_file("$server/srv/build/pg-dense-0.9.0/debian/control.in");
	my @packages = $control =~ /^Package: (.*)$/mg;
	is( $packages[-1],
		'postgresql-PGVERSION-pg-dense-patched',
		'there is a package of the extensions that need a patch');
	is(scalar(() = $control =~ /^ postgresql-PGVERSION-pg-dense-server,$/mg),
		scalar(@packages), 'each package of an extension depends on the patched server');
	like(
		read_file("$server/srv/build/pg-dense-0.9.0/debian/changelog"),
		qr/\Apg-dense \(\S+\+dense1\) /,
		'the packages of the extensions have the suffix, too');
	is_deeply(
		[ map { s/.*\///r } sort glob("$dir/build/debs/stable-patched/*.deb") ],
		[ 'postgresql-17-pg-dense_1.deb', 'postgresql-17_1.deb' ],
		'the repository has the server and the extensions');
	is((stat($chroots))[2] & 07777, 0700, 'other accounts cannot reach the chroots');

	# builds(NAME, EXPECTED) - run the tool, and test whether it has built the server
	sub builds
	{
		my ($name, $expected) = @_;
		unlink "$dir/built";
		run_tool($dir, 'tools/debs-server', '--build');
		is(-e "$dir/built" ? 'built' : 'not built', $expected, $name);
	}
	builds('nothing has changed', 'not built');
	write_file("$dir/version", '17.11-2');
	builds('a new version of Debian', 'built');
	write_file("$dir/index_align/17/0001-a.patch", 'b');
	builds('another patch', 'built');
	ok(!-e "$dir/verified", 'apt gets the newest version');
	{
		local $ENV{PGDENSE_DEBIAN_VERSION} = '17.10-1';
		builds('a chosen version of Debian', 'built');
		is( read_file("$dir/verified"),
			"http://localhost:9/pool/ postgresql-17_17.10-1.dsc\n",
			'its sources come from where the newest ones are, and their signature is checked');
		builds('the same version', 'not built');
		$ENV{PGDENSE_DEBIAN_VERSION} = '17.10-1; true';
		($code, $out, $err) = run_tool($dir, 'tools/debs-server', '--build');
		is($code, 1, 'a version that cannot be: exit code');
		like($err, qr/invalid value of PGDENSE_DEBIAN_VERSION: "17\.10-1; true"/, 'the error');
	}
	like(
		read_file("$server/etc/apt/preferences.d/pg_dense"),
		qr/^Pin-Priority: 1001$/m,
		'apt prefers our packages to newer ones');

	foreach my $case (
		[ 'lintian fails', 1, $said, 1, '3 passed, 1 failed, 0 skipped' ],
		[
			'a test fails', 0, $said =~ s/ok upgrade/not ok upgrade/r,
			1, '3 passed, 1 failed, 0 skipped'
		],
		[
			'a regression test fails',
			0, $said =~ s/ok 1 /not ok 1 /r,
			1, '3 passed, 1 failed, 0 skipped'
		],
		[ 'the tests end early', 0, $said =~ s/^ok no.*//mr, 1, '3 passed, 1 failed, 0 skipped' ],
		[ 'no sources of pgvector', 0, $said, 0, '4 passed, 0 failed, 1 skipped' ])
	{
		my ($name, $lintian, $tests, $expected, $counts) = @$case;
		write_file("$dir/lintian", $lintian);
		write_file("$dir/said", $tests);
		write_file("$dir/no_pgvector", '') if $name =~ /pgvector/;
		($code, $out, $err) = run_tool($dir, 'tools/debs-server');
		is($code, $expected, "$name: exit code") or diag $err;
		like($out, qr/^$counts\n\z/m, "$name: counts") or diag $out, $err;
	}
	like(
		$err,
		qr/no test of pgvector, its sources are not to be had: Failed to fetch pgvector/,
		'why pgvector is not tested');
}

done_testing();
