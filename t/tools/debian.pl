# Check the folder debian/.  It packages exactly the extensions that need no server patch, for the
# major versions on which they are tested.  debian/control is up to date, and all versions agree.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

# Return the lines of a file that are not empty and no comments.
sub lines
{
	return grep { /^[^#]/ } split /\n/, read_file("$top/$_[0]");
}

# Return the value of a field, such as default_version of a control file.
sub field
{
	my ($text, $name) = @_;
	return $text =~ /^$name = '([^']*)'$/m ? $1 : undef;
}

## extensions and packages

my @features =
  grep { read_file("$top/$_/Makefile") !~ /^patched :=/m } lines('tools/feature-list');
my %package = map { split ' ' } lines('debian/extensions');
is_deeply([ map { (split ' ')[0] } lines('debian/extensions') ],
	\@features, 'debian/extensions lists the extensions that need no server patch, in build order');

my $template = read_file("$top/debian/control.in");
is_deeply(
	[ $template =~ /^Package: (.*)$/mg ],
	[ map { "postgresql-PGVERSION-$package{$_}" } @features ],
	'debian/control.in has a package for each of them');
my ($recommends) =
  $template =~ /^Package: postgresql-PGVERSION-pg-dense\n.*?^Recommends:\n(( .*\n)+)/ms;
is_deeply(
	[ $recommends =~ /^ postgresql-PGVERSION-(.*),$/mg ],
	[ sort grep { $_ ne 'pg-dense' } values %package ],
	'the package of pg_dense recommends the others');

my $control = read_file("$top/debian/control");
my @paragraphs = split /\n\n/, $template =~ s/\n\z//r;
my @majors = $control =~ /^Package: postgresql-(\d+)-pg-dense$/mg;
cmp_ok(scalar(@majors), '>=', 1, 'debian/control has a major version');
is( $control,
	join(
		"\n\n",
		map {
			my $paragraph = $_;
			/^Package: /
			  ? map { $paragraph =~ s/PGVERSION/$_/gr } @majors
			  : $paragraph
		} @paragraphs)
	  . "\n",
	'debian/control is what pg_buildext makes from debian/control.in');

my @supported = lines('debian/pgversions');
my %supported = map { $_ => 1 } @supported;
ok($supported{$_}, "debian/pgversions has $_") foreach @majors;
my $readme = read_file("$top/README.md");
my ($heads) = $readme =~ /^\| feature \|([ \d|]+)\|$/m;
foreach my $feature (@features)
{
	my ($cells) = $readme =~ /^\| `$feature`[^|]*\|(.*)\|$/m;
	my @cells = map { s/^ +| +$//gr } split /\|/, $cells;
	is_deeply(
		[ map { $_->[0] } grep { $_->[1] eq 'yes' } map { [ $_, shift @cells ] } $heads =~ /\d+/g ],
		\@supported,
		"README.md promises $feature for the versions of debian/pgversions");
}

## versions

my %versions;
foreach my $feature (lines('tools/feature-list'))
{
	my $makefile = read_file("$top/$feature/Makefile");
	foreach my $extension ($makefile =~ /^(?:EXTENSION = |FURTHER_DATA = )(\w+)/mg)
	{
		my $version = field(read_file("$top/$feature/$extension.control"), 'default_version');

		ok( -f "$top/$feature/$extension--$version.sql",
			"$extension has a script of version $version") or next;
		push @{ $versions{$version} }, $extension;
	}
}
my @generated = read_file("$top/compact_types/Makefile") =~ /default_version = '([^']+)'/g;
is(scalar(@generated), 4, 'the generated control files are found');
push @{ $versions{$_} }, 'a generated extension' foreach @generated;
is(scalar(keys %versions), 1, 'all extensions have the same version') or diag explain \%versions;

my ($source, $upstream, $distribution) =
  read_file("$top/debian/changelog") =~
  /\A([a-z-]+) \((\d+\.\d+\.\d+)-\d+\) (UNRELEASED|unstable); urgency=medium\n/;
is( $source,
	$control =~ /^Source: (.*)$/m ? $1 : undef,
	'debian/changelog and debian/control name the same source package');
my ($released) = read_file("$top/CHANGELOG.md") =~ /^## (\d[\d.]*)/m;
my ($version) = keys %versions;

if (defined $released)
{
	is($upstream, $released, 'the packages have the version of the newest release');
	is($upstream =~ s/\.\d+$//r, $version, 'the extensions have it, too');
}
else
{
	is($distribution, 'UNRELEASED', 'there is no release yet');
	cmp_ok($upstream =~ s/\.\d+$//r,
		'<', $version, 'until the first release, the version of the packages is lower');
}

done_testing();
