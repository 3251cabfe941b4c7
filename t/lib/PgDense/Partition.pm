# PgDense::Partition - databases with the same tables: plain tables in one, tables split by one
# method in each other
package PgDense::Partition;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Basename;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT =
  qw(@partition_methods partition_node partition_database partition_helpers psql_output parts_in_order
  partition_tables partition_contents @same_differences same_statements same_outputs);

our @partition_methods = qw(shared_key surrogate_key row_pointer);

# Modes of sessions, as settings of their database
my %modes = (
	preloaded => "session_preload_libraries = 'vertical_partition'",
	off => 'vertical_partition.enable_rewrite = off',
	alone => "session_preload_libraries = 'plpgsql'");

# partition_node(NAME[, CONF]) - start a server for tests of split tables, with the library in all
# sessions
sub partition_node
{
	my ($name, $conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(allows_streaming => 'logical', extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf',
		"fsync = off\nclient_min_messages = warning\nsession_preload_libraries = 'vertical_partition'\nvertical_partition.declare_keys = on\n"
		  . ($conf // ''));
	$node->start;
	return $node;
}

# partition_helpers(METHOD) - return SQL that creates functions for the tests.  split_here() splits
# a table by that method, or does nothing for "plain", so that the same script works for all
# methods. parts_wrong() checks the parts: each hot row must have one cold row, and each cold row a
# hot row.
sub partition_helpers
{
	my ($method) = @_;
	my $split =
	  $method eq 'plain'
	  ? ''
	  : "PERFORM vertical_partition.split(t, cold, '$method', force => true);";

	return <<"SQL";
CREATE FUNCTION split_here(t regclass, cold name[]) RETURNS void LANGUAGE plpgsql AS \$\$ BEGIN $split END \$\$;
CREATE FUNCTION parts_wrong() RETURNS SETOF text LANGUAGE plpgsql AS \$\$
DECLARE
	p record;
	link text;
	hot bigint;
	cold bigint;
	pairs bigint;
BEGIN
	IF to_regclass('vertical_partition.status') IS NULL THEN RETURN; END IF;
	-- Use EXECUTE, which plans the query anew at each call, because the split tables change.
	FOR p IN EXECUTE 'SELECT * FROM vertical_partition.status' LOOP
		SELECT string_agg(format('h.%I = c.%1\$I', k), ' AND ') INTO link FROM unnest(p.key_columns) k;
		link := CASE p.method WHEN 'surrogate_key' THEN 'h.cold_id = c.cold_id'
			WHEN 'row_pointer' THEN 'h.cold_tid = c.ctid AND ' || link ELSE link END;
		EXECUTE format('SELECT (SELECT count(*) FROM %1\$s), (SELECT count(*) FROM %2\$s), (SELECT count(*) FROM %1\$s h JOIN %2\$s c ON %3\$s)',
			p.hot, p.cold, link) INTO hot, cold, pairs;
		IF hot <> cold OR hot <> pairs THEN
			RETURN NEXT format('%s: %s hot rows, %s cold rows, %s pairs', p.relation, hot, cold, pairs);
		END IF;
		IF NOT p.pointers_valid THEN RETURN NEXT p.relation || ': pointers need relink()'; END IF;
	END LOOP;
END \$\$;
SQL
}

# partition_database(NODE, NAME, METHOD[, MODE]) - create a database whose tables are split by
# METHOD, or are plain tables for "plain"
sub partition_database
{
	my ($node, $name, $method, $mode) = @_;
	my $setting = $modes{ $mode // 'preloaded' };

	$node->safe_psql('postgres', "CREATE DATABASE $name");
	if ($method ne 'plain')
	{
		$node->safe_psql($name, 'CREATE EXTENSION vertical_partition');
		# If a library is not loaded, the server accepts any value for its settings.
		$node->safe_psql('postgres', "ALTER DATABASE $name SET $_")
		  for ($mode // '') eq 'off' ? ($modes{preloaded}, $setting) : $setting;
	}
	$node->safe_psql($name, partition_helpers($method));
}

# psql_output(NODE, DATABASE, SCRIPT) - return the output of psql, with messages and results in the
# order of the statements
sub psql_output
{
	my ($node, $database, $script) = @_;
	my $output = '';

	IPC::Run::run([ 'psql', '-X', '-A', '-t', '-d', $node->connstr($database) ],
		'<', \$script, '>&', \$output);
	return $output;
}

# Known differences between a view and a table: patterns of the statement and of its output
our @same_differences = (
	[ qr/WHERE ctid/, qr/ERROR:  42703: column "ctid" does not exist/ ],
	[ qr/TABLESAMPLE/, qr/ERROR:  0A000: TABLESAMPLE clause can only be applied to tables/ ],
	# INSERT may write the cold part first, and an error of TRUNCATE may name another table.
	[
		qr/^INSERT INTO stock DEFAULT VALUES/,
		qr/ERROR:  23502: null value in column "[iw]" of relation "stock"/
	],
	[
		qr/^TRUNCATE tree;/,
		qr/ERROR:  0A000: cannot truncate a table referenced in a foreign key constraint/
	],);

# same_statements([FILE]) - return [LINE, STATEMENT, TAG...] for each statement of a file that this
# server knows; the file has the format of t/vertical_partition/same.sql, which is the default
sub same_statements
{
	my $path = $_[0] // dirname(__FILE__) . '/../../vertical_partition/same.sql';
	my ($major) = `pg_config --version` =~ /(\d+)/;
	my ($line, $begin, $text, @tags, @statements) = (0, 0, '');

	open my $file, '<', $path or die "could not open the statements: $!";
	while (my $read = <$file>)
	{
		$line++;
		if ($text eq '')
		{
			@tags = () if $read eq "\n";
			push @tags, $1 if $read =~ /^-- (\d+|conflict|utility)$/;
			next if $read =~ /^(--.*)?$/;
			$begin = $line;
		}
		$text .= $read;
		next
		  if $text =~ /^COPY [^;]* FROM stdin/i ? $read ne "\\.\n" : $read !~ /;$/
		  || (() = $text =~ /\$\$/g) % 2;
		push @statements, [ $begin, $text, @tags ] if !grep { /^\d+$/ && $_ > $major } @tags;
		$text = '';
	}
	die "statement at line $begin does not end" if $text ne '';
	return @statements;
}

# same_outputs(OUTPUT) - return a hash from a line of same.sql to the output of the statement that
# begins there
sub same_outputs
{
	my ($output) = @_;
	my (%outputs, $line);

	for (split /\n/, $output)
	{
		if (/^\@\@ (\d+)$/)
		{
			$line = $1;
			$outputs{$line} = [];
			next;
		}
		s/^psql:<stdin>:\d+: //;
		# The parts have other names than the table, and a row of a part has only some of the
		# columns.
		next if /^LOCATION:/ || /^DETAIL:  Failing row contains/;
		s{(\w)_(?:hot|cold)\b}{$1}g;
		s{permission denied for view}{permission denied for table};
		push @{ $outputs{$line} }, $_;
	}
	return \%outputs;
}

# parts_in_order(NODE, DATABASE, WHAT) - test that each hot row has its cold row, and each cold row
# its hot row
sub parts_in_order
{
	my ($node, $database, $what) = @_;

	return is($node->safe_psql($database, 'SELECT * FROM parts_wrong()'),
		'', "$what: the parts belong together");
}

# partition_tables([METHOD...]) - return SQL that creates a table for each method, and SQL that
# splits these tables.  Each table has the name of its method, and constraints, sequences and
# foreign keys of all kinds.
sub partition_tables
{
	my @methods = @_ ? @_ : @partition_methods;
	my $tables =
	  "CREATE TABLE owners (id int PRIMARY KEY);\nINSERT INTO owners SELECT generate_series(0, 9);\n";

	$tables .= <<"SQL" foreach @methods;
CREATE TABLE $_ (
	id serial, k text COLLATE "C", a int NOT NULL DEFAULT 1 CHECK (a >= 0), n int GENERATED BY DEFAULT AS IDENTITY,
	owner int REFERENCES owners, note text DEFAULT 'none' CHECK (note <> 'bad'), wide text, doubled int GENERATED ALWAYS AS (a * 2) STORED,
	PRIMARY KEY (id, k), UNIQUE (n));
INSERT INTO $_ (k, a, owner, note, wide)
SELECT 'k' || i, i, i % 10, nullif('note ' || i, 'note 7'), repeat('wide ' || i, i) FROM generate_series(1, 500) i;
CREATE INDEX ${_}_a ON $_ (a) WHERE a > 3;
CREATE INDEX ${_}_note ON $_ (note, md5(wide));
CREATE TABLE refers_to_$_ (n int REFERENCES $_ (n) ON DELETE CASCADE);
INSERT INTO refers_to_$_ SELECT n FROM $_ WHERE n <= 10;
CREATE STATISTICS ${_}_stats ON a, owner FROM $_;
COMMENT ON TABLE $_ IS 'table of $_';
COMMENT ON COLUMN $_.wide IS 'wide';
GRANT SELECT (id, note), INSERT ON $_ TO PUBLIC;
SQL
	return ($tables, join '',
		map { "SELECT vertical_partition.split('$_', '{note,wide}', '$_');\n" } @methods);
}

# partition_contents(METHOD) - return a query for the number and a digest of the rows of the
# method's table
sub partition_contents
{
	my ($method) = @_;

	return "SELECT count(*), md5(string_agg(x::text, ',' ORDER BY id)) FROM $method x";
}

1;
