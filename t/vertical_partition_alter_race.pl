# DDL on the name of a split table that waits for another session, which changes what the
# name means, and DDL in the script of an extension.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use PgDensePartition;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = partition_node('alter_race');
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION vertical_partition;
CREATE ROLE owner LOGIN;
CREATE ROLE other LOGIN;
SQL

# Make a.t anew, let the first session do something with it in a transaction that it ends
# when the second one waits for a lock; what the second one said.
sub race
{
	my ($first, $second, %options) = @_;

	$node->safe_psql('postgres', <<"SQL");
SET client_min_messages = error;
DROP SCHEMA IF EXISTS a, b CASCADE;
CREATE SCHEMA a AUTHORIZATION owner;
CREATE SCHEMA b AUTHORIZATION other;
GRANT USAGE ON SCHEMA b TO owner;
SET ROLE other;
CREATE TABLE b.x (id int PRIMARY KEY, x int);
CREATE TABLE b.y (id int PRIMARY KEY, big text);
INSERT INTO b.y VALUES (1, 'precious');
RESET ROLE;
SET ROLE owner;
CREATE TABLE a.t (id int PRIMARY KEY, x int, gone int, big text);
INSERT INTO a.t SELECT i, i, i, 'big ' || i FROM generate_series(1, 20) i;
SELECT vertical_partition.split('a.t', '{big}');
SQL
	my $one = $node->background_psql('postgres', extra_params => [ '-U', 'owner' ]);
	my $two = $node->background_psql('postgres', on_error_stop => 0);
	$one->query_safe("SET client_min_messages = error; BEGIN; LOCK TABLE a.t IN ACCESS SHARE MODE");
	$one->query_safe($first) if $options{before};
	$two->query_until(qr/begins/, "\\set VERBOSITY terse\n" . ($options{path} // '') . "\n\\echo begins\n$second;\n\\echo ends\n");
	$node->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)") or die 'nobody waits';
	$one->query_safe($first) unless $options{before};
	$one->query_safe('COMMIT');
	my $out = $two->query_until(qr/^ends$/m, '');
	my $err = $two->{stderr};
	$_->quit foreach $one, $two;
	return "$out$err";
}

# The owner puts a view of others' tables in the place of what is to be dropped.
my $replace = q{CREATE OR REPLACE VIEW a.t AS SELECT h.id, h.x, h.x AS gone, c.big FROM b.x h LEFT JOIN b.y c ON h.id = c.id WHERE vertical_partition.linked('shared_key', h.tableoid, c.id)};
like(race($replace, 'DROP TABLE a.t'), qr/relation "t" was changed by another session/, 'DROP TABLE of a view that was replaced is refused');
is($node->safe_psql('postgres', 'SELECT big FROM b.y'), 'precious', 'the tables of others are there');
like(race($replace, 'ALTER TABLE a.t ADD COLUMN y int'), qr/relation "t" was changed by another session/, 'ALTER TABLE of it, too');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_attribute WHERE attrelid IN ('b.x'::regclass, 'b.y'::regclass) AND attnum > 0}), '4', 'those are as they were');

# Another table gets the name.
$node->safe_psql('postgres', 'CREATE VIEW public.t AS SELECT 1 AS not_mine');
like(race('ALTER VIEW a.t RENAME TO t9', 'DROP TABLE t CASCADE', path => 'SET search_path = a, public;'),
	qr/relation "t" was changed by another session/, 'DROP TABLE of a name that was given to another one is refused');
is($node->safe_psql('postgres', 'SELECT not_mine FROM public.t'), '1', 'the other one is there');

# DROP COLUMN makes a view anew: whoever waits for it goes on with that.
my %after = (
	'ALTER TABLE a.t ADD COLUMN y int' => q{SELECT count(y) || ' ' || count(big) FROM a.t},
	'CREATE INDEX made ON a.t (x)' => q{SELECT to_regclass('a.made') || ' ' || count(big) FROM a.t},
	q{COMMENT ON TABLE a.t IS 'ours'} => q{SELECT obj_description('a.t'::regclass)},
	'TRUNCATE a.t' => 'SELECT count(*) FROM a.t',
	'ALTER TABLE a.t RENAME x TO xx' => q{SELECT string_agg(attrelid::regclass::text, ' ' ORDER BY 1) FROM (SELECT attrelid FROM pg_attribute WHERE attname = 'xx' ORDER BY attrelid::regclass::text) s},
	'DROP TABLE a.t' => q{SELECT count(*) FROM pg_class WHERE relname IN ('t', 't_hot', 't_cold') AND relnamespace = 'a'::regnamespace},
	'COPY a.t TO STDOUT' => 'SELECT count(*) FROM a.t',
	'ALTER TABLE a.t SET SCHEMA b' => q{SELECT to_regclass('b.t') || ' ' || to_regclass('b.t_hot') || ' ' || to_regclass('b.t_cold')});
my %expected = (
	'ALTER TABLE a.t ADD COLUMN y int' => '0 20',
	'CREATE INDEX made ON a.t (x)' => 'a.made 20',
	q{COMMENT ON TABLE a.t IS 'ours'} => 'ours',
	'TRUNCATE a.t' => '0',
	'ALTER TABLE a.t RENAME x TO xx' => 'a.t a.t_hot',
	'DROP TABLE a.t' => '0',
	'COPY a.t TO STDOUT' => '20',
	'ALTER TABLE a.t SET SCHEMA b' => 'b.t b.t_hot b.t_cold');
foreach my $statement (sort keys %after)
{
	my $said = race('ALTER TABLE a.t DROP COLUMN gone', $statement, before => 1);
	unlike($said, qr/ERROR/, "$statement waits for DROP COLUMN and goes on") or next;
	is($node->safe_psql('postgres', $after{$statement}), $expected{$statement}, 'on the table as it is then');
	like($said, qr/^1\t1\tbig 1$/m, 'without the dropped column') if $statement =~ /^COPY/;
}

# A table that an extension's script changes is no member of the extension.
$node->safe_psql('postgres', 'CREATE TABLE s (id int PRIMARY KEY, a int, c text)');
$node->safe_psql('postgres', q{SELECT vertical_partition.split('s', '{c}')});
# The server finds extensions elsewhere than among its own since 18.
if ($node->safe_psql('postgres', 'SHOW server_version_num') >= 180000)
{
	my $dir = $node->basedir . '/share/extension';
	system("mkdir -p $dir") == 0 or die;
	append_to_file("$dir/changes.control", "default_version = '1'\nrelocatable = false\nschema = public\n");
	append_to_file("$dir/changes--1.sql", "ALTER TABLE public.s DROP COLUMN a;\n");
	$node->append_conf('postgresql.conf', "extension_control_path = '" . $node->basedir . "/share:\$system'");
	$node->reload;
	$node->safe_psql('postgres', 'CREATE EXTENSION changes');
	is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_depend WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'changes')}), '0', 'nothing is its member');
	$node->safe_psql('postgres', 'DROP EXTENSION changes');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM s'), '0', 'the split table outlives it');
}

$node->stop;
done_testing();
