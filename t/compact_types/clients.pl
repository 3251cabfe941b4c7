# Build and install the Python package of clients/python, and test it with the drivers and the
# object-relational mappers that it serves: see t/python/clients.
use strict;
use warnings FATAL => 'all';

use File::Copy;
use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::CompactTypesSamples;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = $ENV{PGDENSE_TOP};
my $packages = "$top/build/venv";
my $dir = "$PostgreSQL::Test::Utils::tmp_check/clients";
my $python = "$dir/venv/bin/python";

if (!-x "$packages/bin/python")
{
	fail('Python packages are installed');
	diag("\"$packages\" was not found, run \"tools/venv\"");
	done_testing();
	exit;
}

# Build a wheel, and install it into an environment that also has the packages of tools/venv.  No
# step may use the network.
mkdir $dir or die "could not create directory \"$dir\": $!";
PostgreSQL::Test::RecursiveCopy::copypath("$top/clients/python", "$dir/source");
local $ENV{PIP_NO_INDEX} = 1;
local $ENV{PIP_DISABLE_PIP_VERSION_CHECK} = 1;
local $ENV{PYTHONDONTWRITEBYTECODE} = 1;
my @pip = ("$packages/bin/python", '-m', 'pip', '--no-cache-dir', '--quiet');
command_ok(
	[
		@pip, 'wheel', '--no-deps', '--no-build-isolation',
		'--wheel-dir', "$dir/wheel", "$dir/source"
	],
	'the package builds as a wheel');
my ($wheel) = glob "$dir/wheel/*.whl";
command_ok([ "$packages/bin/python", '-m', 'venv', '--without-pip', "$dir/venv" ],
	'there is an environment');
command_ok([ @pip, '--python', $python, 'install', '--no-deps', $wheel ], 'the wheel installs');
my ($site) = glob "$dir/venv/lib/python*/site-packages";
append_to_file("$site/packages.pth", join "\n", glob "$packages/lib/python*/site-packages");
ok(-e "$site/pg_dense/py.typed", 'the package has type hints');

my $node = PostgreSQL::Test::Cluster->new('clients');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf',
	"fsync = off\nsession_preload_libraries = 'vertical_partition'\n");
$node->start;
$node->safe_psql('postgres', "CREATE DATABASE $_") foreach qw(compact other plain late schema);
$node->safe_psql('compact', join '', map { "CREATE EXTENSION $_;\n" } @extensions);
# A dictionary of a column.  Programs use its type for the samples of compact_text.
my $trained = $node->safe_psql('compact', <<'SQL');
CREATE TABLE notes AS SELECT 'the notes of number ' || i AS note FROM generate_series(1, 3000) i;
ANALYZE notes;
SELECT type FROM compact_types.train('notes', 'note');
SQL
$node->safe_psql('compact', 'DROP TABLE notes');
push @samples, { %$_, type => $trained } for grep { $_->{type} eq 'compact_text' } @samples;

# a type with the name of a compact type, which is found first in the search_path
$node->safe_psql('other', <<'SQL');
CREATE SCHEMA "My types";
CREATE EXTENSION compact_types SCHEMA "My types";
CREATE EXTENSION compact_char24 SCHEMA "My types";
CREATE EXTENSION compact_decimal4_2 SCHEMA "My types";
SET client_min_messages = error;
CREATE TYPE uint1;
CREATE FUNCTION uint1_in(cstring) RETURNS uint1 LANGUAGE internal STRICT AS 'int4in';
CREATE FUNCTION uint1_out(uint1) RETURNS cstring LANGUAGE internal STRICT AS 'int4out';
CREATE TYPE uint1 (INPUT = uint1_in, OUTPUT = uint1_out, LIKE = int4);
SQL

$node->safe_psql('schema', <<'SQL');
CREATE SCHEMA types;
CREATE EXTENSION compact_types SCHEMA types;
CREATE EXTENSION compact_char24 SCHEMA types;
CREATE EXTENSION compact_decimal4_2 SCHEMA types;
SQL

# Split tables, each with a table that refers to it.  The keys are not in pg_constraint, because
# vertical_partition.declare_keys is off.
$node->safe_psql(
	'compact', join '',
	'CREATE EXTENSION vertical_partition; CREATE VIEW plain_view AS SELECT 1 AS a;',
	map { <<"SQL" } qw(shared_key surrogate_key row_pointer));
CREATE TABLE split_$_ (a int, b int, note compact_text(60) UNIQUE, wide text,
	parent compact_text(60) REFERENCES split_$_ (note), PRIMARY KEY (b, a));
CREATE TABLE child_$_ (id int PRIMARY KEY, a int, b int, FOREIGN KEY (b, a) REFERENCES split_$_);
SELECT vertical_partition.split('split_$_', '{wide}', '$_');
SQL

# A split table of the same name in another schema has another key, and a table that looks like a
# part is none.
$node->safe_psql('compact', <<'SQL');
CREATE SCHEMA hidden;
CREATE TABLE hidden.split_shared_key (c int PRIMARY KEY, d int, wide text);
SELECT vertical_partition.split('hidden.split_shared_key', '{wide}');
CREATE TABLE hidden.child (c int REFERENCES hidden.split_shared_key);
CREATE TABLE hidden.split_row_pointer_hot (c int PRIMARY KEY);
CREATE TABLE hidden.other_child (c int REFERENCES hidden.split_row_pointer_hot);
SQL

# Run a program of t/python/clients, and count what it has checked.
sub run_program
{
	my ($name, $least, @arguments) = @_;
	my ($stdout, $stderr) = ('', '');
	my $samples = samples_json();
	local $ENV{PYTHONPATH} = "$FindBin::RealBin/../python";
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	local $ENV{PGUSER} = $node->safe_psql('postgres', 'SELECT current_user');

	my $result = IPC::Run::run([ $python, '-W', 'error', '-m', "clients.$name", @arguments ],
		'<', \$samples, '>', \$stdout, '2>', \$stderr);
	for (split /\n/, $stdout)
	{
		/^ok - (.*)/ ? pass("$name: $1") : fail("$name: $_");
	}
	cmp_ok(scalar(() = $stdout =~ /^/mg), '>=', $least, "$name: all checks ran");
	is($stderr, '', "$name: nothing on stderr");
	ok($result, "$name: the program succeeds");
	return;
}

run_program('with_psycopg', 280, map { $node->connstr($_) } 'compact', 'other', 'plain');
run_program('with_sqlalchemy', 90, $_, 'compact', 'schema', 'plain')
  foreach 'psycopg', 'psycopg_async', 'asyncpg';
run_program('with_django', 88, 'compact', 'late', 'plain');
run_program('with_asyncpg', 50, 'compact', 'other', 'plain');

$node->stop;
done_testing();
