# Check that every tool and every make target refuses a wrong argument.  The error is
# one line that names the argument.  The usage follows, and the exit code is 2.
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
	like($result[2], qr/usage/, "@command: the usage follows");
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
	qr/unknown PostgreSQL major version "99", known: 17 18$/,
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
like($out, qr/^make $_ /m, "names $_")
  foreach
  qw(demo check soak server bench check-patches indent-check all install installcheck uninstall clean);

# The tools refuse at once a checkout whose path make cannot handle.
my $blank = checkout("$dir/with blank");
is_clear_error(
	[ run_tool($blank, 'tools/server', '17') ],
	qr/path of the checkout may not contain blanks/,
	'a checkout path with a blank is refused');

done_testing();
