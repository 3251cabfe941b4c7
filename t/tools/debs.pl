# Test tools/debs with stubs in the place of the chroots.  If packages are not available, it must
# name the reason in one line, and count as skipped.  It must count lintian's errors, files that
# only one of the packages and "make install" has, and the results of the tests in the chroot.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $dir = checkout();
system_ok('cp', '-a', "$top/debian", $dir);

local $ENV{PATH} = "$dir/bin:$ENV{PATH}";
my ($code, $out, $err) = run_tool($dir, 'tools/run-unprivileged', 'tools/debs');
is($code, 0, 'without root it does not fail');
is($out, "0 passed, 0 failed, 1 skipped\n", 'counts');
is($err, "tools/debs: skipped: it takes root to make a chroot\n", 'why');

SKIP:
{
	skip 'it takes root, namespaces and a keyring of Debian', 4
	  if !can_mount() || !-f '/usr/share/keyrings/debian-archive-keyring.gpg';
	write_program("$dir/bin/apt-get", <<'SH');
case "$*" in *indextargets*) printf 'http://localhost:9/debian/ Debian\n' ;; esac
SH
	write_program("$dir/bin/debootstrap",
		"echo 'E: Failed getting release file http://localhost:9/debian'\nexit 1\n");
	($code, $out, $err) = run_tool($dir, 'tools/debs', 'bookworm');
	is($code, 0, 'it does not fail if packages are not available');
	is($out, "0 passed, 0 failed, 1 skipped\n", 'counts');
	like($err, qr/^tools\/debs: skipped: packages are not to be had: Failed getting release file /m,
		'why');
	ok(-e "$dir/build/debs/chroot/bookworm.base.unfinished", 'the chroot counts as unfinished');

	# From now on, commands in the chroot do what the tests need of them.  Files in $dir say how
	# lintian and the tests end.
	my $chroots = "$dir/build/debs/chroot";
	write_program("$dir/bin/unshare", <<"SH");
case "\$*" in
	*debootstrap*)
		cd '$chroots' && mkdir bookworm.base && cd bookworm.base &&
			mkdir -p etc/apt/apt.conf.d etc/apt/sources.list.d etc/apt/preferences.d etc/dpkg/dpkg.cfg.d usr/sbin srv var/lib/apt/lists ;;
	*supported-versions*) echo 15 ;;
	*dpkg-buildpackage*) touch '$chroots/bookworm.build/srv/build/postgresql-15-pg-dense-types_1_all.deb' ;;
	*'lintian --'*) exit \$(cat '$dir/lintian') ;;
	*' install') mkdir -p '$chroots/bookworm.build/srv/build/pg-dense-0.9.0/debian/installed/usr' &&
		touch '$chroots/bookworm.build/srv/build/pg-dense-0.9.0/debian/installed/usr/one' ;;
	*dense.report*) exit \$(cat '$dir/image') ;;
	*pg_createcluster*) cat '$dir/said' ;;
esac
SH
	write_program("$dir/bin/dpkg-deb", "cat '$dir/package.tar'\n");
	write_file("$dir/$_", '')
	  foreach 'bundle.mk', 'bundle_compat.h', 'sql/a', 'expected/a', 'specs/a',
	  map { "$_/Makefile" } qw(compact_types toast_policy vertical_partition row_heat pg_dense);
	write_file("$dir/image", 0);
	write_file("$dir/package/usr/$_", '') foreach qw(one two share/doc/three);

	# make_package(FILE...) - make a package of these files
	sub make_package
	{
		system_ok('tar', '-c', '-f', "$dir/package.tar", '-C', "$dir/package", @_);
	}
	my $regress = "== 15: alpha\nok 1         - alpha    9 ms\ntest beta ... ok    9 ms\n";
	my $said =
	  "ok install\nok 15: CREATE EXTENSION alpha\n${regress}ok purge\nok no file is left\n";
	my @files = ('./usr/one', './usr/share/doc/three');
	foreach my $case (
		[ 'all pass', 0, \@files, $said, 0, '9 passed, 0 failed' ],
		[ 'lintian fails', 1, \@files, $said, 1, '7 passed, 1 failed' ],
		[ 'a file too much', 0, [ @files, './usr/two' ], $said, 1, '7 passed, 1 failed' ],
		[ 'a file is missing', 0, ['./usr/share/doc/three'], $said, 1, '7 passed, 1 failed' ],
		[
			'a test fails', 0, \@files, $said =~ s/beta \.\.\. ok/beta ... FAILED/r,
			1, '7 passed, 1 failed'
		],
		[
			'an extension fails',
			0, \@files, $said =~ s/^ok 15: CREATE/not ok 15: CREATE/mr,
			1, '7 passed, 1 failed'
		],
		[ 'the tests end early', 0, \@files, $said =~ s/^ok no.*//mr, 1, '7 passed, 1 failed' ])
	{
		my ($name, $lintian, $packaged, $tests, $expected, $counts) = @$case;
		write_file("$dir/lintian", $lintian);
		write_file("$dir/said", $tests);
		make_package(@$packaged);
		($code, $out, $err) = run_tool($dir, 'tools/debs', 'bookworm');
		is($code, $expected, "$name: exit code") or diag $err;
		like($out, qr/^$counts, 0 skipped\n\z/m, "$name: counts") or diag $out, $err;
	}
	is((stat($chroots))[2] & 07777, 0700, 'other accounts cannot reach the chroots');
	ok(-f "$dir/build/debs/bookworm/postgresql-15-pg-dense-types_1_all.deb",
		'the package is in build/debs');

	write_file("$dir/said", $said);
	make_package(@files);
	write_file("$dir/lintian", 0);
	write_file("$dir/image", 1);
	($code, $out, $err) = run_tool($dir, 'tools/debs', 'bookworm');
	like($out, qr/^8 passed, 1 failed, 0 skipped\n\z/m, 'the steps of Dockerfile fail: counts')
	  or diag $err;

	($code, $out, $err) = run_tool($dir, 'tools/debs', '--build', 'bookworm');
	like($out, qr/^2 passed, 0 failed, 0 skipped\n\z/m, '--build runs only the first two tests')
	  or diag $err;
}

done_testing();
