# Run statements on plain tables, and on tables whose values go out of line in small rows.  Rows,
# command tags and errors must be the same.  The server preloads no library.
#
# The statements are those of t/vertical_partition/same.sql and t/toast_policy/same.sql.  The former
# have short values.  So they get longer ones here, and the limit of these tables is lower than the
# server accepts in a statement.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::OutOfLine;
use PgDense::Partition;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# the least size of a value that heap moves out of line
my $least = 25;

my $node = PostgreSQL::Test::Cluster->new('same');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf',
	"fsync = off\nclient_min_messages = warning\ndefault_toast_compression = pglz\n");
$node->start;
is( $node->safe_psql(
		'postgres',
		q{SELECT current_setting('shared_preload_libraries') || current_setting('session_preload_libraries') || current_setting('local_preload_libraries')}
	),
	'',
	'no library is preloaded');

# Functions of the scripts, on plain tables
my $plain = <<'SQL';
CREATE FUNCTION split_here(t regclass, cold name[], rewrite bool DEFAULT true) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION outside(t regclass, expected bigint) RETURNS bool LANGUAGE sql AS 'SELECT true';
SQL

# The same functions, if values of LIMIT bytes or more go out of line
sub out_of_line
{
	my ($limit) = @_;

	return <<"SQL";
CREATE EXTENSION toast_policy;
CREATE EXTENSION amcheck;
CREATE FUNCTION split_here(t regclass, cold name[], rewrite bool DEFAULT true) RETURNS void LANGUAGE plpgsql AS \$\$
DECLARE
	columns name[] := ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = t AND attname = ANY (cold) AND attlen = -1 AND attstorage <> 'p');
BEGIN
	IF columns <> '{}' THEN
		PERFORM toast_policy.enable_out_of_line(t, 128, VARIADIC columns);
		IF $limit <> 128 THEN
			UPDATE pg_class SET reloptions = array_replace(reloptions, 'toast_tuple_target=128', 'toast_tuple_target=$limit') WHERE oid = t;
		END IF;
		IF rewrite THEN PERFORM toast_policy.recompress(t); END IF;
	END IF;
END \$\$;
${values_outside}CREATE FUNCTION outside(t regclass, expected bigint) RETURNS bool LANGUAGE plpgsql AS \$\$
DECLARE
	damage text;
BEGIN
	IF values_outside(t) <> expected THEN RAISE WARNING '% values are out of line', values_outside(t); END IF;
	IF EXISTS (SELECT FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE c.oid = t AND amname = 'toast_policy') THEN
		FOR damage IN SELECT c::text FROM toast_policy.check(t, true) c LOOP RAISE WARNING '%', damage; END LOOP;
	END IF;
	RETURN true;
END \$\$;
SQL
}

# Return the output of each statement, without what depends on the database.
sub answers
{
	my ($name, $helpers, $script) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, $helpers);
	my $output = psql_output($node, $name, $script);
	append_to_file("${PostgreSQL::Test::Utils::tmp_check}/$name.out", $output);
	$output =~ s/^You are now connected to database .*\n//mg;
	# A table that is copied or attached keeps the access method heap.
	$output =~
	  s/^psql:<stdin>:\d+: WARNING:  01000: table "\w+" uses access method "heap" and has columns .*\nHINT: .*\n(?:LOCATION: .*\n)?//mg;
	return same_outputs($output);
}

my %statements = (
	partition => [ same_statements() ],
	toast => [ same_statements("$FindBin::RealBin/same.sql") ]);
for my $name (sort keys %statements)
{
	my @statements = @{ $statements{$name} };
	my $script = join '', "\\set VERBOSITY verbose\n\\set SHOW_CONTEXT never\n",
	  map { "\\echo \@\@ $_->[0]\n$_->[1]" } @statements;
	my ($limit, $different) = (128, 0);

	if ($name eq 'partition')
	{
		my $long = join '', 'A' .. 'Z', 'a' .. 'z';
		my $words = join '|',
		  qw(doc info kind pair new upsert many merged selected root left right leaf own one two given copied good),
		  qw(changed first second third other cte through loop commit again lost moved sub after refreshed found half);
		cmp_ok(scalar($script =~ s/'($words)\b/'$1$long/g), '>', 60, 'values are longer');
		$limit = $least;
	}
	else
	{
		# The other script expects that the server refuses to prepare a transaction.
		$node->append_conf('postgresql.conf', 'max_prepared_transactions = 5');
		$node->restart;
	}
	my $expected = answers("${name}_plain", $plain, $script);
	my $got = answers("${name}_out_of_line", out_of_line($limit), $script);
	is(scalar(keys %$expected), scalar(@statements), "$name: all statements ran");
	for (@statements)
	{
		my ($line, $statement) = @$_;
		my ($one, $two) = map {
			my @rows = @{ $_->{$line} // ['no output'] };
			join "\n", $statement =~ /\bORDER BY\b/ && $statement !~ /RETURNING [^)]*$/
			  ? @rows
			  : sort @rows
		} $expected, $got;

		next if $one eq $two;
		diag sprintf "line %d: %.500s\nplain: %.1000s\nout of line: %.1000s\n", $line, $statement,
		  $one, $two
		  if ++$different <= 10;
	}
	is($different, 0, "$name: the answers are those of plain tables");
	cmp_ok(
		$node->safe_psql(
			"${name}_out_of_line",
			q{SELECT sum(values_outside(c.oid)) FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE amname = 'toast_policy' AND relkind IN ('r', 'm')}
		),
		'>', 60,
		"$name: values are out of line at the end");
	is($node->safe_psql("${name}_out_of_line", q{SELECT * FROM toast_policy.check_all(true)}),
		'', "$name: amcheck");
}

$node->stop;
done_testing();
