# Run the test suites of SQLAlchemy and Django with compact_types.auto.  Some tests pass
# without this setting and fail with it.  These must be exactly the tests in
# t/soak/compact_types_orm.txt.  The file also lists the tests that fail without this setting.
#
# Only tools/check --soak runs this test.  tools/orm-suites downloads the suites.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $orm = "$ENV{PGDENSE_TOP}/build/orm";
my $python = "$orm/venv/bin/python";
my $logs = $PostgreSQL::Test::Utils::log_path;

# the test applications of Django that store strings, or check types, indexes and constraints; the
# other applications, such as cache and gis, test other subjects
my @applications = qw(basic model_fields schema migrations introspection inspectdb
  queries lookup expressions aggregation annotations bulk_create get_or_create
  select_for_update postgres_tests constraints indexes foreign_object many_to_one
  many_to_many db_functions transactions backends auth_tests model_inheritance
  custom_lookups custom_pk composite_pk distinct_on_fields update delete ordering
  raw_query one_to_one m2m_through expressions_case expressions_window
  filtered_relation contenttypes_tests sessions_tests nested_foreign_keys
  generic_relations field_defaults migrate_signals validation from_db_value
  select_related null_fk db_utils);
# the tests of SQLAlchemy's dialect, without the many tests of range types
my @files = (
	'test/dialect/test_suite.py',
	map { "test/dialect/postgresql/test_$_.py" } qw(dialect on_conflict query reflection types));
my $selection = 'not Range and not _multiple_host_';

my $node = PostgreSQL::Test::Cluster->new('orm');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
max_connections = 50
max_prepared_transactions = 10
session_preload_libraries = 'compact_types'
CONF
$node->start;

my %settings = (
	plain => '',
	auto => 'compact_types.auto',
	auto_varchar => 'compact_types.auto compact_types.auto_varchar');
$node->safe_psql('postgres', 'CREATE DATABASE template_plain; CREATE DATABASE template_compact');
$node->safe_psql(
	'template_compact', join "\n",
	'CREATE EXTENSION compact_types;',
	map { "CREATE EXTENSION compact_char$_;" } 1 .. 64);

for my $mode (sort keys %settings)
{
	my $template = $mode eq 'plain' ? 'template_plain' : 'template_compact';
	$node->safe_psql('postgres',
		"CREATE ROLE django_$mode SUPERUSER LOGIN; CREATE DATABASE sqlalchemy_$mode TEMPLATE $template"
	);
	$node->safe_psql('postgres',
		"ALTER ROLE django_$mode SET $_ = on; ALTER DATABASE sqlalchemy_$mode SET $_ = on")
	  for split / /, $settings{$mode};
	# the settings of SQLAlchemy's README
	$node->safe_psql("sqlalchemy_$mode", <<"SQL");
CREATE SCHEMA test_schema;
CREATE SCHEMA test_schema_2;
CREATE EXTENSION hstore;
CREATE EXTENSION citext;
ALTER DATABASE sqlalchemy_$mode SET default_text_search_config = 'pg_catalog.english';
SQL
}

# Run the command in the directory, and return its output.
sub output_of
{
	my ($name, $directory, @command) = @_;
	my $log = "$logs/orm_$name.log";

	IPC::Run::run([@command], '<', '/dev/null', '>', $log, '2>&1',
		init => sub { chdir $directory or die $! });
	return slurp_file($log);
}

# Each of these functions runs a suite, and returns the number of tests that ran, and the failed
# tests.
my %suites = (
	sqlalchemy => sub {
		my ($mode) = @_;
		local $ENV{PYTHONPATH} = "$FindBin::RealBin/../python:$orm/sqlalchemy/lib";
		my $output = output_of(
			"sqlalchemy_$mode",
			"$orm/sqlalchemy",
			$python,
			'-m',
			'pytest',
			'-q',
			'-p',
			'no:cacheprovider',
			'-p',
			'compact_types_sqlalchemy',
			'--maxfail=100000',
			'--tb=short',
			'-rfE',
			'-k',
			$selection,
			'--dburi',
			'postgresql+psycopg://@/sqlalchemy_'
			  . $mode
			  . '?host='
			  . $node->host
			  . '&port='
			  . $node->port,
			@files);
		my $count = 0;
		my ($last) = $output =~ /^=+ (.*) in [\d.]+s.*=+$/m;
		$count += $1 while ($last // '') =~ /(\d+) (?:passed|failed|skipped|errors?|xfailed)/g;
		my %failed;
		# The name of the class contains driver and server.
		while ($output =~ /^(?:FAILED|ERROR) (\S+?)_postgresql\+psycopg[\d_]+(::\S+)/mg)
		{
			$failed{"$1$2"} = 1;
		}
		return ($count, \%failed);
	},
	django => sub {
		my ($mode) = @_;
		local $ENV{PYTHONPATH} = "$orm/django:$FindBin::RealBin/../python";
		local $ENV{PGHOST} = $node->host;
		local $ENV{PGPORT} = $node->port;
		local $ENV{PGDENSE_ROLE} = "django_$mode";
		local $ENV{PGDENSE_TEMPLATE} = $mode eq 'plain' ? 'template_plain' : 'template_compact';
		my $output =
		  output_of("django_$mode", "$orm/django/tests", $python, '-W', 'ignore', 'runtests.py',
			'--settings=compact_types_django',
			'--parallel=1', '--noinput', @applications);
		my ($count) = $output =~ /^Ran (\d+) tests? in/m;
		my %failed;
		$failed{$1} = 1 while $output =~ /^(?:FAIL|ERROR): \S+ \(([^()\s]+)\)/mg;
		return ($count // 0, \%failed);
	});

local $ENV{PYTHONDONTWRITEBYTECODE} = 1;
local $ENV{TMPDIR} = PostgreSQL::Test::Utils::tempdir;

# Read the expected failures.  Each line names the suite, the modes and the test.  Mode plain18 is
# for plain types on PostgreSQL 18.  Comments above the lines give the reason.
my %listed;
for (split /\n/, slurp_file("$FindBin::RealBin/compact_types_orm.txt"))
{
	next if /^\s*(#|$)/;
	my ($suite, $modes, $test) = split ' ', $_, 3;
	$listed{$suite}{$_}{$test} = 1 for split /,/, $modes;
}

my %least = (sqlalchemy => 3000, django => 7000);
for my $suite (sort keys %suites)
{
	my ($plain_count, $plain) = $suites{$suite}->('plain');
	cmp_ok($plain_count, '>=', $least{$suite}, "$suite: enough tests ran with plain types");
	my %known = map { %{ $listed{$suite}{$_} // {} } } 'plain', 'plain' . $node->pg_version->major;
	is(join("\n", grep { !$known{$_} } sort keys %$plain),
		'', "$suite: no test but the listed ones fails with plain types");
	for my $mode ('auto', 'auto_varchar')
	{
		my ($count, $failed) = $suites{$suite}->($mode);
		is($count, $plain_count, "$suite, $mode: the same number of tests ran");
		is( join("\n", grep { !$plain->{$_} } sort keys %$failed),
			join("\n", sort keys %{ $listed{$suite}{$mode} }),
			"$suite, $mode: exactly the listed tests fail");
	}
}

$node->stop;
done_testing();
