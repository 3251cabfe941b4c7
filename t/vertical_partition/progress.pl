# Test the view vertical_partition.progress.  Functions in generated columns and in an index wait for
# locks that another session holds, so that split(), merge() and relink() stop in each phase.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Partition;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = partition_node('progress');
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION vertical_partition;
CREATE ROLE other LOGIN;
CREATE ROLE monitor LOGIN IN ROLE pg_read_all_stats;
CREATE FUNCTION hold(n int, key int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN IF n = 500 THEN PERFORM pg_advisory_xact_lock_shared(key); END IF; RETURN n; END $$;
CREATE TABLE t (id int PRIMARY KEY, n int, c text,
	cold int GENERATED ALWAYS AS (hold(id, 1)) STORED, hot int GENERATED ALWAYS AS (hold(n, 2)) STORED);
INSERT INTO t SELECT i, i, repeat('c', 100) FROM generate_series(1, 1000) i;
CREATE INDEX later ON t (hold(n, 3));
CREATE INDEX ON t (n);
ANALYZE t;
SQL
my $brake = $node->background_psql('postgres');
my $worker = $node->background_psql('postgres');
my $report =
  'SELECT command, phase, tuples_done, tuples_total, indexes_done FROM vertical_partition.progress';

# Run the statement, and stop it at each of these locks in turn.  An entry has a statement that takes
# the lock, a statement that releases it, and the expected report.
sub stops_at
{
	my ($statement, @stops) = @_;

	$brake->query_safe($_->[0]) foreach @stops;
	$worker->query_until(qr/begins/, "\\echo begins\n$statement;\n\\echo ends\n");
	foreach my $stop (@stops)
	{
		my ($take, $release, $expected, $name) = @$stop;
		$node->poll_query_until('postgres',
				q{SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted) AND EXISTS }
			  . qq{(SELECT FROM vertical_partition.progress WHERE phase LIKE '$name%')})
		  or diag($node->safe_psql('postgres', $report));
		like($node->safe_psql('postgres', $report), $expected, "$statement: $name");
		$brake->query_safe($release);
	}
	$worker->query_until(qr/^ends$/m, '');
	is($node->safe_psql('postgres', $report), '', "$statement: the report ends");
}

sub advisory
{
	my ($key, $expected, $name) = @_;
	return [ "SELECT pg_advisory_lock($key)", "SELECT pg_advisory_unlock($key)", $expected, $name ];
}
my $relation = [
	'BEGIN; LOCK TABLE t IN ROW EXCLUSIVE MODE',
	'COMMIT',
	qr/^\w+\|waiting for locks\|0\|0\|0$/,
	'waiting for locks'
];

stops_at(
	q{SELECT vertical_partition.split('t', '{c,cold}', 'row_pointer')},
	$relation,
	advisory(
		1,
		qr/^split\|copying rows to the cold part\|500\|1000\|0$/,
		'copying rows to the cold'),
	advisory(2, qr/^split\|copying rows to the hot part\|500\|1000\|0$/, 'copying rows to the hot'),
	advisory(3, qr/^split\|building indexes and constraints\|\d+\|\d+\|[01]$/, 'building'));
# Move the cold rows, in another order.
$node->safe_psql('postgres', <<'SQL');
CREATE INDEX backwards ON t_cold ((- id));
SELECT vertical_partition.forget_row_pointers('t_cold');
CLUSTER t_cold USING backwards;
SQL
$brake->query_safe('SELECT pg_advisory_lock(3)');
$worker->query_until(qr/begins/,
	"\\echo begins\nBEGIN; SELECT vertical_partition.relink('t');\n\\echo ends\n");
$node->poll_query_until('postgres', 'SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)')
  or die 'relink() does not wait';
like(
	$node->safe_psql('postgres', $report),
	qr/^relink\|setting pointers\|\d+\|1000\|0$/,
	'relink(): setting pointers');

# Who sees the report
my $who = q{SELECT count(*), bool_and(relid = 't'::regclass AND datname = 'postgres' AND pid IN
	(SELECT pid FROM pg_stat_activity WHERE query LIKE '%relink%')) FROM vertical_partition.progress};
is($node->safe_psql('postgres', $who, extra_params => [ '-U', 'monitor' ]),
	'1|t', 'pg_read_all_stats sees the report');
is($node->safe_psql('postgres', $who, extra_params => [ '-U', 'other' ]),
	'0|', 'another role does not see it');
$brake->query_safe('SELECT pg_advisory_unlock(3)');
$worker->query_until(qr/^ends$/m, '');
is($node->safe_psql('postgres', $report),
	'', 'relink(): the report ends, although the transaction goes on');

# CREATE INDEX has no mark, also in a session that has split a table.
$worker->query_until(qr/committed/, "COMMIT;\n\\echo committed\n");
$brake->query_safe('SELECT pg_advisory_lock(3)');
$worker->query_until(qr/begins/,
	"\\echo begins\nCREATE INDEX again ON t_hot (hold(n, 3));\n\\echo ends\n");
$node->poll_query_until('postgres', 'SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)')
  or die 'CREATE INDEX does not wait';
is( $node->safe_psql(
		'postgres',
		"SELECT count(*), (SELECT count(*) FROM vertical_partition.progress) FROM pg_stat_progress_create_index"
	),
	'1|0',
	'CREATE INDEX is not in the view');
$brake->query_safe('SELECT pg_advisory_unlock(3)');
$worker->query_until(qr/^ends$/m, '');

stops_at(
	q{SELECT vertical_partition.merge('t')},
	[
		'BEGIN; LOCK TABLE t_hot IN ROW EXCLUSIVE MODE',
		'COMMIT',
		qr/^merge\|waiting for locks\|0\|0\|0$/,
		'waiting for locks'
	],
	advisory(1, qr/^merge\|copying rows to the table\|\d+\|1000\|0$/, 'copying rows'),
	advisory(3, qr/^merge\|building indexes and constraints\|\d+\|\d+\|[0123]$/, 'building'));

# A function that fails leaves no report, also if the transaction goes on.
$node->safe_psql('postgres', 'ALTER TABLE t ADD CHECK (id <> 2000)');
is( $node->safe_psql(
		'postgres',
		qq{DO \$\$ BEGIN PERFORM vertical_partition.split('t', '{n}'); EXCEPTION WHEN OTHERS THEN NULL; END \$\$; $report}
	),
	'',
	'no report after an error');

# A function of a generated column may split another table while the rows are copied.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE inside (id int PRIMARY KEY, a int, x text);
INSERT INTO inside SELECT i, i, 'x' FROM generate_series(1, 100) i;
CREATE FUNCTION nests(i int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT i';
CREATE TABLE outside (id int PRIMARY KEY, a text, b text, g int GENERATED ALWAYS AS (nests(id)) STORED);
INSERT INTO outside SELECT i, 'a', 'b' FROM generate_series(1, 10) i;
CREATE OR REPLACE FUNCTION nests(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    IF to_regclass('public.inside_cold') IS NULL THEN
        PERFORM vertical_partition.split('public.inside', '{x}', 'row_pointer', force => true);
    END IF;
    RETURN i;
END
$$;
SQL
my ($code, $out, $errors) =
  $node->psql('postgres', q{SELECT vertical_partition.split('outside', '{a}', force => true)});
is("$code $out", '0 outside', 'a split within the copy of a split does no harm') or diag($errors);
is( $node->safe_psql(
		'postgres',
		'SELECT count(*), sum(g), (SELECT count(*) FROM outside_cold), (SELECT count(*) FROM inside_cold) FROM outside'
	),
	'10|55|10|100',
	'both tables are split');

# Code of the user that runs within a split changes nothing about the report: it calls our functions,
# splits another table, and catches an error, which ends the report of a command of the server.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE noted (n int);
CREATE TABLE nested (id int PRIMARY KEY, a int, x text);
INSERT INTO nested SELECT i, i, 'x' FROM generate_series(1, 100) i;
CREATE FUNCTION meddles(i int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT i';
CREATE TABLE meddled (id int PRIMARY KEY, a text, b text, g int GENERATED ALWAYS AS (meddles(id)) STORED);
INSERT INTO meddled SELECT i, 'a', 'b' FROM generate_series(1, 1000) i;
ANALYZE meddled;
CREATE OR REPLACE FUNCTION meddles(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    IF i = 400 THEN
        PERFORM vertical_partition_internal.report('merge', 0, 'preparing', 5);
        PERFORM vertical_partition_internal.execute('INSERT INTO public.noted SELECT generate_series(1, 3)');
        PERFORM vertical_partition_internal.execute('CREATE INDEX ON public.noted (n)');
        PERFORM vertical_partition.split('public.nested', '{x}', 'row_pointer', force => true);
    ELSIF i = 401 THEN
        BEGIN
            PERFORM vertical_partition.merge('public.nested');
            RAISE division_by_zero;
        EXCEPTION WHEN division_by_zero THEN
            NULL;
        END;
    ELSIF i IN (402, 500) THEN
        PERFORM pg_advisory_xact_lock_shared(i);
    END IF;
    RETURN i;
END
$$;
SQL
stops_at(
	q{SELECT vertical_partition.split('meddled', '{a}')},
	advisory(
		402,
		qr/^split\|copying rows to the hot part\|402\|1000\|0$/,
		'copying rows to the hot'),
	advisory(
		500,
		qr/^split\|copying rows to the hot part\|500\|1000\|0$/,
		'copying rows to the hot'));
is( $node->safe_psql(
		'postgres',
		'SELECT count(*), sum(g), (SELECT count(*) FROM noted), (SELECT count(*) FROM nested_cold) FROM meddled'
	),
	'1000|500500|3|100',
	'what the code of the user does is done');

# DDL on another split table that the code of the user runs while an index is built calls our
# functions, which do not end the index.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE shrunk (id int PRIMARY KEY, a text, b text, c text);
SELECT vertical_partition.split('shrunk', '{b,c}');
CREATE FUNCTION shrinks() RETURNS void LANGUAGE plpgsql AS $$ BEGIN ALTER TABLE public.shrunk DROP COLUMN IF EXISTS c; END $$;
CREATE FUNCTION alters(i int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT i';
CREATE TABLE altering (id int PRIMARY KEY, n int, c text);
INSERT INTO altering SELECT i, i, 'c' FROM generate_series(1, 1000) i;
CREATE INDEX ON altering (alters(n));
CREATE OR REPLACE FUNCTION alters(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    IF i = 600 THEN
        PERFORM public.shrinks();
    ELSIF i IN (599, 601) THEN
        PERFORM pg_advisory_xact_lock_shared(i);
    END IF;
    RETURN i;
END
$$;
SQL
stops_at(
	q{SELECT vertical_partition.split('altering', '{c}')},
	advisory(599, qr/^split\|building indexes and constraints\|\d+\|\d+\|0$/, 'building indexes'),
	advisory(601, qr/^split\|building indexes and constraints\|\d+\|\d+\|0$/, 'building indexes'));
is( $node->safe_psql(
		'postgres',
		q{SELECT count(*) FROM pg_attribute WHERE attrelid = 'shrunk'::regclass AND attname = 'c'}),
	'0',
	'the column is dropped');

$brake->quit;
$worker->quit;
$node->stop;

done_testing();
