# Check .github/workflows and Dockerfile.  The workflows run the commands that the README and
# doc/hacking.md name: make targets and tools of this checkout, with arguments that the tools know.
# What a job uploads is what its commands write.
use strict;
use warnings FATAL => 'all';

use CPAN::Meta::YAML;
use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my (%commands, %suites);
foreach my $file (glob "$top/.github/workflows/*.yml")
{
	my ($name) = $file =~ m{([^/]+)$};
	my $workflow = CPAN::Meta::YAML->read_string(read_file($file))->[0];

	is_deeply(
		[ sort grep { $_ ne 'on' } keys %$workflow ],
		[qw(jobs name permissions)],
		"$name: the keys of a workflow");
	is_deeply(
		$workflow->{permissions},
		{ contents => 'read' },
		"$name: a run cannot change anything");
	ok($workflow->{on}, "$name: what starts a run");
	foreach my $job_name (sort keys %{ $workflow->{jobs} })
	{
		my $job = $workflow->{jobs}{$job_name};
		my ($first, @steps) = @{ $job->{steps} };
		my $what = "$name, job $job_name";

		like($job->{'timeout-minutes'}, qr/^\d+$/, "$what: it has an end");
		# a bare Debian, with what the README's two commands need, and more only where it is said
		like(
			$first->{run},
			qr/^apt-get update && apt-get install --yes gcc make git ca-certificates\b/,
			"$what: the packages");
		is((shift @steps)->{uses}, 'actions/checkout@v4', "$what: the checkout");
		foreach my $step (@steps)
		{
			is_deeply([ grep { !/^(?:name|run|uses|with)$/ } keys %$step ],
				[], "$what: the keys of a step");
			push @{ $commands{$name}{$job_name} }, $step->{run} if defined $step->{run};
			is_deeply([ problems_of($step->{run}) ], [], "$what: $step->{run}")
			  if defined $step->{run};
			$suites{$_}++ foreach @{ $job->{strategy}{matrix}{suite} // [] };
		}
	}
}
is_deeply(
	\%commands,
	{
		'check.yml' => { check => ['make check'], layout => ['make indent-check'] },
		'release.yml' => {
			sources => [
				'make dist', 'python3 -m pip wheel --no-deps --wheel-dir build/dist clients/python'
			],
			debs => [ 'tools/deps test', 'tools/debs ${{ matrix.suite }}' ]
		}
	},
	'the commands of all jobs');

# the suites whose packages the README and the image are about
my $readme = read_file("$top/README.md");
ok($readme =~ /\b$_\b/, "README.md names the suite $_") foreach sort keys %suites;
my ($suite) = read_file("$top/Dockerfile") =~ /^ARG SUITE=(\w+)$/m;
ok($suites{$suite}, "the packages of the image's suite, $suite, are built");
my ($major) = read_file("$top/Dockerfile") =~ /^ARG MAJOR=(\d+)$/m;
ok((grep { $_ eq $major } split /\n/, read_file("$top/debian/pgversions")),
	"there are packages for the image's version, $major");
# What the image copies is all that the build gets to see.
is(read_file("$top/.dockerignore"), "*\n!build/debs/*/*.deb\n", '.dockerignore');

# problems_of(COMMAND) - return what would keep a command from running
sub problems_of
{
	my ($command) = @_;
	my @words = split ' ', $command;

	if ($words[0] eq 'python3')
	{
		return -f "$top/$words[-1]/pyproject.toml" ? () : "$words[-1] is not a package";
	}
	if ($words[0] eq 'make')
	{
		# With -q, make starts nothing, and exits with 2 if there is no such target.
		system("cd '$top' && make -q $words[1] > /dev/null 2>&1");
		return $? >> 8 == 2 ? "there is no target $words[1]" : ();
	}
	return -x "$top/$words[0]" ? () : "$words[0] is not a program";
}

done_testing();
