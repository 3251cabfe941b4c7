# Check that every tool and every make target refuses a wrong argument.  The error is
# one line that names the argument.  The usage follows, and the exit code is 2.
# Check that every program in tools/, and bench/run, prints its manual for --help and -h.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::Bin/../lib";
use PgDense::Tools;
use Test::More;

my $dir = checkout();

# [pattern, command...]
my @wrong = (
	[ qr/unknown argument "nonsense"/, 'tools/deps', 'nonsense' ],
	[ qr/unknown argument "--nonsense"/, 'tools/deps', '--list', '--nonsense' ],
	[ qr/no major version given/, 'tools/source' ],
	[ qr/unknown argument "18"/, 'tools/source', '17', '18' ],
	[ qr/unknown argument "--nonsense"/, 'tools/source', '--nonsense' ],
	[ qr/no major version given/, 'tools/server' ],
	[ qr/unknown argument "debug"/, 'tools/server', '17', 'debug' ],
	[ qr/unknown argument "--nonsense"/, 'tools/server', '17', '--nonsense' ],
	[ qr/no command given/, 'tools/patches' ],
	[ qr/unknown argument "nonsense"/, 'tools/patches', 'nonsense' ],
	[ qr/unknown argument "--nonsense"/, 'tools/patches', 'check', '--nonsense', '17' ],
	[ qr/unknown argument "alpha"/, 'tools/patches', 'check', '17', 'alpha' ],
	[ qr/unknown argument "alpha"/, 'tools/patches', 'compile', '17', 'alpha' ],
	[ qr/export needs one feature/, 'tools/patches', 'export', '17' ],
	[ qr/option --leg needs a value/, 'tools/check', '--leg' ],
	[ qr/unknown leg "17-nonsense"/, 'tools/check', '--leg', '17-nonsense' ],
	[ qr/unknown feature "nonsense"/, 'tools/check', 'nonsense' ],
	[ qr{"t/nonsense.pl" is no test in t, sql or specs}, 'tools/check', 't/nonsense.pl' ],
	[ qr/no major version given/, 'tools/check-packages' ],
	[ qr/unknown argument "--nonsense"/, 'tools/check-packages', '--nonsense' ],
	[ qr/unknown argument "20"/, 'tools/check-packages', '19', '20' ],
	[ qr/unknown argument "--nonsense"/, 'tools/debs', '--nonsense' ],
	[ qr/unknown argument "bookworm"/, 'tools/debs', 'trixie', 'bookworm' ],
	[ qr/unknown argument "--nonsense"/, 'tools/debs-server', '--nonsense' ],
	[ qr/option --major needs a value/, 'tools/debs-server', '--major' ],
	[ qr/no extension given/, 'tools/check-third-party' ],
	[ qr/option --major needs a value/, 'tools/check-third-party', '--major' ],
	[ qr/unknown argument "pgvector"/, 'tools/check-third-party', 'pgvector' ],
	[ qr/no command given/, 'tools/cluster' ],
	[ qr/unknown argument "nonsense"/, 'tools/cluster', 'nonsense' ],
	[ qr/no instance name given/, 'tools/cluster', 'start' ],
	[ qr/unknown argument "--nonsense"/, 'tools/cluster', 'start', 'a', '--nonsense' ],
	[ qr/option --bin needs a value/, 'tools/cluster', 'start', 'a', '--bin' ],
	[ qr/copy needs the name/, 'tools/cluster', 'copy', 'a' ],
	[ qr/PG_CONFIG and OUTDIR are needed/, 'tools/extensions', 'pg_config' ],
	[ qr/unknown argument "more"/, 'tools/extensions', 'pg_config', 'out', 'more' ],
	[ qr/unknown argument "16"/, 'tools/distribution-15', '16' ],
	[ qr/unknown argument "--nonsense"/, 'tools/indent', '--nonsense' ],
	[ qr/unknown argument "--nonsense"/, 'tools/venv', '--nonsense' ],
	[ qr/no command given/, 'tools/mounts' ],
	[ qr/unknown argument "nonsense"/, 'tools/mounts', 'nonsense' ],
	[ qr/unknown argument "now"/, 'tools/mounts', 'create', 'now' ],
	[ qr/no command given/, 'tools/run-unprivileged' ],
	[ qr/names of test files are needed/, 'tools/tap-count', '--nonsense' ],);

foreach my $case (@wrong)
{
	my ($pattern, @command) = @$case;
	my @result = run_tool($dir, @command);
	is_clear_error(\@result, $pattern, "@command");
	is($result[0], 2, "@command: exit code");
	like(
		$result[2],
		qr{; (?:usage: $command[0]|for its usage see $command[0] --help$)}m,
		"@command: the usage follows");
}

# tools/check prints its counts even if it runs no test.
my ($code, $out, $err) = run_tool($dir, 'tools/check', '--nonsense');
is($code, 2, 'tools/check --nonsense');
like($err, qr/^tools\/check: error: unknown argument "--nonsense"/, 'the error names the argument');

is_clear_error(
	[ run_tool($dir, 'tools/check', '--leg', '9-dense') ],
	qr/unknown PostgreSQL major version "9"/,
	'a leg of an unknown release');
is_clear_error(
	[ run_tool($dir, 'tools/source', '99') ],
	qr/unknown PostgreSQL major version "99", known: 17( \d+)*$/,
	'a release that is not pinned is refused');
is_clear_error(
	[ run_tool($dir, 'tools/check-packages', '17') ],
	qr/PostgreSQL 17 is built here, run tools\/check --leg 17$/,
	'packages of a pinned release are refused');
is_clear_error(
	[ run_tool($dir, 'tools/cluster', 'start', '../a') ],
	qr/invalid instance name "..\/a"/,
	'a path as an instance name is refused');
is_clear_error(
	[ run_tool($dir, 'tools/extensions', '/nowhere', 'out') ],
	qr/"\/nowhere" is not a working pg_config/,
	'a missing pg_config is refused');

# make adds its own line to the error of the tool.
foreach my $case (
	[ qr/error: unknown PostgreSQL major version "99"/, 'server', 'MAJOR=99' ],
	[ qr/error: "\/nowhere" is not a working pg_config/, 'install', 'PG_CONFIG=/nowhere' ],
	[ qr/No rule to make target 'nonsense'/, 'nonsense' ],)
{
	my ($pattern, @args) = @$case;
	($code, $out, $err) = run_tool($dir, 'make', '-s', @args);
	isnt($code, 0, "make @args fails");
	like($err, $pattern, 'make names the reason');
	cmp_ok(scalar(split /\n/, $err), '<=', 2, 'briefly');
}

($code, $out, $err) = run_tool($dir, 'make', '-s');
is($code, 0, 'make without a target succeeds');
is((run_tool($dir, 'make', '-s', 'help'))[1], $out, 'so does make help, with the same text');
my ($targets) = read_file("$dir/Makefile") =~ /^\.PHONY: help (.*)/m;
like($out, qr/^make $_ /m, "names $_") foreach split ' ', $targets;
like($out, qr{tools/check --help}, 'says how to get help on a tool');

# The tools refuse at once a checkout whose path make cannot handle.
my $blank = checkout("$dir/with blank");
is_clear_error(
	[ run_tool($blank, 'tools/server', '17') ],
	qr/path of the checkout may not contain blanks/,
	'a checkout path with a blank is refused');
is((run_tool($blank, 'tools/server', '--help'))[0], 0, 'there, --help works');

## --help

# options_of(SOURCE) - return the options that the case statements of a shell script accept
sub options_of
{
	my ($source) = @_;
	my @labels = $source =~ /^\s+([-\w:]+(?:\s*\|\s*[-\w:]+)*)\)/mg;
	my %options = map { $_ => 1 }
	  grep { /^--?[a-z]/ } map { s/^\w+://r } map { split /\s*\|\s*/ } @labels;

	return sort keys %options;
}

# click_options_of(SOURCE) - return the options that a Python program declares with click.option()
sub click_options_of
{
	my ($source) = @_;
	my @declared = $source =~ /click\.option\(\s*((?:["'][^"']*["'],?\s*)+)/g;

	return grep { /^-/ } map { split m{/} } map { /["']([^"']*)["']/g } @declared;
}

# commands_of(SOURCE) - return the commands that a shell script accepts as its first argument
sub commands_of
{
	my ($source) = @_;
	my ($label) = $source =~ /^case \$command in\n\t([^()]+)\) ;;\n/m;

	return split /\s*\|\s*/, $label // '';
}

# help_of(DIR, COMMAND...) - test that the command prints a help, and does no more.  Return the
# help.
sub help_of
{
	my ($in, @command) = @_;
	# without HOME, accounts, proxies and administrators' programs
	my ($status, $help, $errors) = run_tool($in, 'env', '-i', 'PATH=/usr/bin:/bin',
		'PGDENSE_ACCOUNT=missing', 'PG_SOURCES=/nowhere', 'TMPDIR=/nowhere', @command);

	is($status, 0, "@command: exit code");
	is($errors, '', "@command: stderr is empty");
	is_deeply([ grep { length > 100 } split /\n/, $help ], [], "@command: no line is too long");
	unlike($help, qr/[^\n -~]/, "@command: plain characters");
	return $help;
}

# is_manual(NAME, HELP) - test that the help has all sections.  Return USAGE and OPTIONS.
sub is_manual
{
	my ($name, $help) = @_;
	my %section;
	my @order;

	while ($help =~ /^([A-Z][A-Z ]+)\n((?:(?: .*)?\n)+)/mg)
	{
		push @order, $1;
		$section{$1} = $2;
	}
	is_deeply(
		[ grep { !/^(?:OPTIONS|ENVIRONMENT|FILES|COMMANDS)$/ } @order ],
		[ 'NAME', 'USAGE', 'DESCRIPTION', 'EXIT STATUS', 'EXAMPLE' ],
		"$name: the sections");
	like($section{NAME}, qr/^    \Q$name\E - .+\n\n?\z/, "$name: its purpose in one line");
	is_deeply([ grep { !m{^    (?:    |\Q$name\E(?: |$))} } split /\n/, $section{USAGE} ],
		[], "$name: its usage");
	like($section{$_}, qr/^    \S/, "$name: $_ has a text") foreach @order;
	like($section{EXAMPLE}, qr/\Q$name\E/, "$name: the example calls it");
	return @section{qw(USAGE OPTIONS)};
}

# Check that the functions above find something.
is_deeply(
	[ options_of(read_file("$dir/tools/cluster")) ],
	[qw(--bin --immediate --initdb-arg --port --set --superuser)],
	'the options of tools/cluster');
is_deeply(
	[ options_of(read_file("$dir/tools/patches")) ],
	[ '--force', '--record' ],
	'the options of tools/patches');
is_deeply(
	[ commands_of(read_file("$dir/tools/patches")) ],
	[qw(tree port export check compile apply remove)],
	'the commands of tools/patches');
is_deeply(
	[ click_options_of(qq{\@click.option(\n    "-q/-v", '--quiet/--verbose', "quiet")}) ],
	[qw(-q -v --quiet --verbose)],
	'the options of a Python program');

# A copy or a backup of a tool has a dot in its name.
my @tools = map { "tools/$_" } grep { /^[\w-]+$/ && -f "$dir/tools/$_" && -x _ } map { s{.*/}{}r }
  sort glob("$dir/tools/*");
cmp_ok(scalar(@tools), '>=', 16, 'the tools are found') or diag "@tools";
foreach my $tool (@tools)
{
	my $source = read_file("$dir/$tool");
	my $help = help_of($dir, $tool, '--help');

	is(help_of($dir, $tool, '-h'), $help, "$tool: -h prints the same");
	if ($source =~ /^#!.*python/)
	{
		# The program may be in a folder beside it.
		my ($package) = $source =~ /^\s*from (\w+)[.\w]* import main$/m;
		$source .= read_file($_) foreach glob("$dir/tools/" . ($package // '') . '/*.py');
		like($help, qr/^(?:Usage: |USAGE\n +)\Q$tool\E/m, "$tool: its usage");
		my ($commands) = $help =~ /^Commands:\n((?:  .*\n)+)/m;
		$help .= help_of($dir, $tool, $_, '--help') foreach ($commands // '') =~ /^  ([\w-]+)/mg;
		like($help, qr/^  (?:.*, )?\Q$_\E\b/m, "$tool: option $_")
		  foreach click_options_of($source);
		next;
	}
	my ($usage, $options) = is_manual($tool, $help);
	my @documented = map { /(--?[a-z-]+)/g } $options =~ /^    (-.*)/mg;

	is_deeply(
		[ sort @documented ],
		[ sort '-h', '--help', options_of($source) ],
		"$tool: the options that it accepts are those in its manual");
	like($usage, qr/\[\Q$_\E[] ]|\Q$tool $_\E\b|\] \Q$_\E\b/, "$tool: $_ is in the usage")
	  foreach options_of($source);
	like($usage, qr/^    \Q$tool $_\E\b/m, "$tool: the usage of $_") foreach commands_of($source);
	is((run_tool($dir, $tool, $_, '--help'))[1], $help, "$tool $_ --help prints the same")
	  foreach commands_of($source);
}
ok(!-e "$dir/build", 'a help leaves nothing behind');

($code, $out, $err) = run_tool($top, 'tools/run-unprivileged', 'printf', '%s\n', '--help');
is($out, "--help\n", 'tools/run-unprivileged passes later arguments on to the command')
  or diag $err;

is_manual('bench/run', help_of($top, 'bench/run', '--help'));
is_manual('bench/run', help_of($top, 'bench/run', '-h'));
write_file("$dir/missing/click.py", "raise ModuleNotFoundError('missing', name='click')\n");
$out = help_of($top, 'env', "PYTHONPATH=$dir/missing", 'bench/run', '--help');
is_manual('bench/run', $out);
like(
	$out,
	qr/Python module "click" is not installed, run "tools\/deps bench"/,
	'without its packages, bench/run names what is missing');

done_testing();
