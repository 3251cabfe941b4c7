# Check META.json and make dist.  META.json must have the fields that its specification demands, and
# name exactly the extensions of the checkout, with the version and the comment of their control
# files.  The archive must have all files of HEAD and no other.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use PgDense::Tools;
use Test::More;

my $meta = decode_json(read_file("$top/META.json"));
is_deeply(
	[
		grep { !defined $meta->{$_} }
		  qw(name abstract version maintainer license provides meta-spec)
	],
	[],
	'META.json has all fields');
is($meta->{'meta-spec'}{version}, '1.0.0', 'of the specification 1.0.0');
my $number = qr/(?:0|[1-9]\d*)/;
like($meta->{version}, qr/\A$number\.$number\.$number\z/, 'the version is semantic');
is($meta->{license}, 'postgresql', 'the license');
like(read_file("$top/LICENSE"), qr/PostgreSQL License/, 'is that of LICENSE');

my %provides;
foreach my $feature (split /\n/, `cd $top && grep -v '^#' tools/feature-list`)
{
	foreach my $control (grep { !/compact_(?:char|decimal)\d/ } glob "$top/$feature/*.control")
	{
		my %has = read_file($control) =~ /^(comment|default_version) = '(.*)'$/mg;
		my ($extension) = $control =~ /(\w+)\.control$/;

		$provides{$extension} = {
			file => "$feature/$extension--$has{default_version}.sql",
			docfile => "$feature/README.md",
			version => "$has{default_version}.0",
			abstract => $has{comment} =~ s/''/'/gr
		};
	}
}
is(scalar(keys %provides), 9, 'the control files are found');
is_deeply($meta->{provides}, \%provides,
	'META.json names the extensions as their control files do');
ok(-f "$top/$_", $_) foreach map { @$_{qw(file docfile)} } values %provides;

SKIP:
{
	my $dir = File::Temp::tempdir(CLEANUP => 1) . '/clone';
	skip 'this is no git checkout', 3
	  if system("git -c safe.directory='*' clone -q --no-hardlinks $top $dir 2> /dev/null") != 0;
	# The Makefile may have changes that are not committed.
	system_ok('cp', "$top/Makefile", "$top/META.json", $dir);
	write_file("$dir/stray", '');
	my ($code, $out, $err) = run_tool($dir, 'make', 'dist');
	is($code, 0, 'make dist') or diag $err;
	my ($file) = $out =~ m{^(build/dist/pg_dense-\Q$meta->{version}\E\.zip): } or diag $out;
	my $names = `cd $dir && /usr/bin/python3 -c 'import sys, zipfile
print(*sorted(name for name in zipfile.ZipFile(sys.argv[1]).namelist() if name[-1] != "/"), sep="\\n")' $file`;
	my $expected = join '', map { "pg_dense-$meta->{version}/$_" } sort `cd $dir && git ls-files`;
	is($names, $expected, 'the archive has the files of HEAD');
	like($expected, qr{^pg_dense-[\d.]+/META\.json$}m, 'with META.json at its top');
}

done_testing();
