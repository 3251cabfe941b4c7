# Check postgres_fdw if its option "extensions" names the extensions of the compact types.
# Conditions, joins, sorts and aggregates of compact types must run on the remote server, and must
# give the same results there.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::CompactTypesSamples;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('fdw');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\n");
$node->start;

# The foreign server is the same database.  On the remote side, the tables and the types are in
# different schemas, so postgres_fdw has to qualify the types.
my ($host, $port) = ($node->host, $node->port);
my $shippable = join ', ', @extensions;
$node->safe_psql(
	'postgres', join '',
	"CREATE SCHEMA types;\n",
	map { "CREATE EXTENSION $_ SCHEMA types;\n" } @extensions);
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION postgres_fdw;
CREATE SCHEMA away;
CREATE SCHEMA here;
CREATE SCHEMA unshipped;
CREATE SERVER loopback FOREIGN DATA WRAPPER postgres_fdw
  OPTIONS (host '$host', port '$port', dbname 'postgres', extensions '$shippable', use_remote_estimate 'true');
CREATE SERVER plain FOREIGN DATA WRAPPER postgres_fdw
  OPTIONS (host '$host', port '$port', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER loopback;
CREATE USER MAPPING FOR CURRENT_USER SERVER plain;
SQL
for my $sample (@samples)
{
	my ($type, $wide, $expr) = @$sample{ 'type', 'wide', 'expr' };
	$node->safe_psql('postgres', <<"SQL");
SET search_path = types, public;
CREATE TABLE away.t_$type AS SELECT i AS id, v::$type AS v, v AS w FROM (SELECT i, $expr AS v FROM generate_series(1, 200) i) s;
CREATE TABLE away.u_$type AS SELECT id + 1000 AS id, v FROM away.t_$type WHERE id % 3 = 0;
CREATE INDEX ON away.t_$type (v);
CREATE INDEX ON away.u_$type (v);
ANALYZE away.t_$type, away.u_$type;
SQL
}
$node->safe_psql('postgres', <<'SQL');
IMPORT FOREIGN SCHEMA away FROM SERVER loopback INTO here;
IMPORT FOREIGN SCHEMA away FROM SERVER plain INTO unshipped;
SQL

# answers(SCHEMA, QUERY...) - return the results of the queries on the tables of this schema
sub answers
{
	my ($schema, @queries) = @_;
	my $output = $node->safe_psql(
		'postgres',
		"SET search_path = $schema, types, public;\n" . join '',
		map { "\\echo <query>\n$_;\n" } @queries);
	return map { s/\n*$//r } (split /^<query>\n?/m, $output, -1)[ 1 .. @queries ];
}

# Before 17, the array type of an extension's type does not count as a member of the extension, so
# postgres_fdw does not send an IN list to the remote server.  For seconds4tz it does, because the
# list is an array of timestamptz.
my $ships_arrays = $node->pg_version >= 17;

for my $sample (@samples)
{
	my ($type, $wide, $expr) = @$sample{ 'type', 'wide', 'expr' };
	my ($t, $u) = ("t_$type", "u_$type");
	my $value = $expr =~ s/\bi\b/42/gr;
	my $literal = $node->safe_psql('postgres', "SELECT quote_literal(format('%s', $value))");
	# name, pattern of the remote query, and the query
	my @queries = (
		[ 'constant', qr/WHERE \(\(v #?=#? /, "SELECT id FROM $t WHERE v = $literal" ],
		[ 'wide constant', qr/WHERE \(\(v #?=#? /, "SELECT id FROM $t WHERE v = $literal\::$wide" ],
		[
			'wide constant on the left',
			qr/WHERE \(\(.* #?<=#? v\)\)/,
			"SELECT count(*) FROM $t WHERE $literal\::$wide <= v"
		],
		[
			'range',
			qr/WHERE \(\(v #?>#? .* AND \(\(v #?<>#? /,
			"SELECT count(*) FROM $t WHERE v > $literal AND v <> $literal"
		],
		[
			'list',
			$ships_arrays || $type eq 'seconds4tz' ? qr/WHERE \(\(v = ANY / : qr/^(?!.* WHERE )/,
			"SELECT id FROM $t WHERE v IN ($literal, $literal) ORDER BY id"
		],
		[ 'wide column', qr/WHERE \(\(v #?=#? w\)\)/, "SELECT count(*) FROM $t WHERE v = w" ],
		[
			'IS DISTINCT FROM',
			qr/WHERE \(\(v IS DISTINCT FROM /,
			"SELECT count(*) FROM $t WHERE v IS DISTINCT FROM $literal"
		],
		[ 'cast', qr/WHERE /, "SELECT id FROM $t WHERE v::$wide = $literal\::$wide" ],
		[ 'sort', qr/ORDER BY v ASC/, "SELECT v FROM $t ORDER BY v LIMIT 20" ],
		[
			'group',
			qr/GROUP BY 1 HAVING/,
			"SELECT v, count(*) FROM $t GROUP BY v HAVING min(id) > 190 ORDER BY v"
		],
		[
			'join',
			qr/INNER JOIN .* ON \(\(.*\.v #?=#? .*\.v\)\)/,
			"SELECT t.id, u.id FROM $t t JOIN $u u ON t.v = u.v ORDER BY 1, 2"
		],
		[
			'join with the wide type',
			qr/INNER JOIN .* ON \(\(.*\.v #?=#? .*\.w\)\)|ON \(\(.*\.w #?=#? .*\.v\)\)/,
			"SELECT t.id, u.id FROM $u u JOIN $t t ON t.w = u.v ORDER BY 1, 2"
		],
		[
			'semi-join or join',
			qr/v/, "SELECT count(*) FROM $t t WHERE EXISTS (SELECT FROM $u u WHERE u.v = t.v)"
		]);

	my @plans = answers('here', map { "EXPLAIN (VERBOSE, COSTS OFF) $_->[2]" } @queries);
	my %results;
	for my $schema ('here', 'away', 'unshipped')
	{
		$results{$schema} = [ answers($schema, map { $_->[2] } @queries) ];
	}
	for my $i (0 .. $#queries)
	{
		my ($name, $remote, $query) = @{ $queries[$i] };
		my ($sql) = $plans[$i] =~ /Remote SQL: (.*)/;

		like($sql, $remote, "$type: $name: shipped") or diag $plans[$i];
		unlike($plans[$i], qr/^\s*Filter:/m, "$type: $name: there is no local filter")
		  or diag $plans[$i]
		  if $name ne 'list' || $ships_arrays;
		isnt($results{away}[$i], '', "$type: $name: the result is not empty");
		is( $results{here}[$i],
			$results{away}[$i],
			"$type: $name: the foreign table gives the same result");
		is( $results{unshipped}[$i],
			$results{away}[$i],
			"$type: $name: the foreign table without shipping gives the same result");
	}
	my ($plan) = answers('unshipped', "EXPLAIN (VERBOSE, COSTS OFF) $queries[0][2]");
	unlike($plan, qr/Remote SQL: .*WHERE/, "$type: without the option, no condition is shipped");

	# Test parameters, which are sent in text format.
	is( (   answers(
				'here',
				"PREPARE p($type, $wide) AS SELECT id FROM $t WHERE v = \$1 OR v = \$2",
				'SET plan_cache_mode = force_generic_plan',
				"EXECUTE p($literal, $literal)"))[2],
		42,
		"$type: parameters work");

	# Test INSERT, UPDATE and DELETE.
	my $changed = $expr =~ s/\bi\b/(id + 300)/gr;
	($plan) = answers(
		'here',
		"EXPLAIN (VERBOSE, COSTS OFF) UPDATE $t SET w = NULL WHERE v = $literal",
		"UPDATE $t SET w = NULL WHERE v = $literal",
		"UPDATE $t SET v = $changed WHERE id BETWEEN 50 AND 60",
		"DELETE FROM $t WHERE v = (SELECT v FROM $t WHERE id = 7)",
		"INSERT INTO $t SELECT id + 500, v, w FROM $t WHERE id <= 10");
	like(
		$plan,
		qr/Foreign Update.*\n.*Remote SQL: UPDATE .*WHERE \(\(v #?=#? /,
		"$type: UPDATE runs on the remote server");
	is( join(' ',
			answers('away', "SELECT count(*), count(w), count(*) FILTER (WHERE v <> w) FROM $t")),
		'208|207|11',
		"$type: changes reach the remote table");
}

$node->stop;
done_testing();
