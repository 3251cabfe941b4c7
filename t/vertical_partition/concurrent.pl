# Many clients change the same rows of split tables, in READ COMMITTED and REPEATABLE READ, with
# each method, and with and without the rewriting of statements.  Meanwhile, other clients vacuum
# and read.
#
# Each transaction writes its additions into a table, the ledger.  In any snapshot, on the primary
# and on a standby, the sums of the tables must equal the sums of the ledger.  Then no update is
# lost or done twice.  At the end, each hot row must have its cold row, and each cold row its hot
# row.  The same must be true after the server was killed, and then all acknowledged transactions
# must be there.
use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";
use PgDense::Crash;
use PgDense::Partition;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my @tables = ('plain', @partition_methods);
my ($seconds, $crashes) = $ENV{PGDENSE_SOAK} ? (60, 20) : (5, 2);
my ($accounts, $rows) = (12, 200);

my $node = partition_node('concurrent', <<'CONF');
autovacuum = off
max_connections = 60
deadlock_timeout = 50ms
CONF
my $dir = $node->basedir;

$node->safe_psql('postgres',
		"CREATE EXTENSION vertical_partition; CREATE EXTENSION amcheck;\n"
	  . partition_helpers('plain')
	  . <<"SQL");
CREATE TABLE ledger (t text, n bigint DEFAULT 0, c bigint DEFAULT 0, lines int DEFAULT 0, line_c bigint DEFAULT 0);
CREATE TABLE keys (t text, id int);
CREATE SEQUENCE ids START 1000;
DO \$\$
DECLARE
	t text;
BEGIN
	FOREACH t IN ARRAY '{@{[ join ',', @tables ]}}'::text[] LOOP
		EXECUTE format('CREATE TABLE account_%s (id int PRIMARY KEY, n bigint DEFAULT 0, c bigint DEFAULT 0, note text, doc text)', t);
		EXECUTE format('INSERT INTO account_%s SELECT i FROM generate_series(1, $accounts) i', t);
		EXECUTE format('CREATE TABLE line_%s (id int, part text, n int DEFAULT 0, c int DEFAULT 0, doc text, PRIMARY KEY (part, id))', t);
		EXECUTE format('INSERT INTO line_%s (id, part) SELECT i, ''p'' FROM generate_series(1, $rows) i', t);
		INSERT INTO ledger (t, lines) VALUES (t, $rows);
		IF t <> 'plain' THEN
			PERFORM vertical_partition.split(('account_' || t)::regclass, '{c,doc}', t), vertical_partition.split(('line_' || t)::regclass, '{c,doc}', t);
		END IF;
	END LOOP;
END \$\$;

-- Return the tables whose sums differ from the sums of the ledger.
CREATE FUNCTION wrong() RETURNS SETOF text LANGUAGE plpgsql STABLE AS \$\$
DECLARE
	name text;
	expected text;
	got text;
BEGIN
	FOREACH name IN ARRAY '{@{[ join ',', @tables ]}}'::text[] LOOP
		SELECT format('%s %s %s %s', sum(l.n), sum(l.c), sum(l.lines), sum(l.line_c)) INTO expected FROM ledger l WHERE l.t = name;
		EXECUTE format('SELECT format(''%%s %%s %%s %%s'', (SELECT sum(n) FROM account_%1\$s), (SELECT sum(c) FROM account_%1\$s), count(*), coalesce(sum(c), 0)) FROM line_%1\$s', name) INTO got;
		IF got <> expected THEN RETURN NEXT format('%s: %s instead of %s', name, got, expected); END IF;
		EXECUTE format('SELECT count(*) FROM account_%1\$s WHERE length(doc) IS DISTINCT FROM length(note)', name) INTO got;
		IF got <> '0' THEN RETURN NEXT format('%s: columns of %s rows do not match', name, got); END IF;
	END LOOP;
	RETURN;
END \$\$;
SQL

# Statements that transactions run on a table.  Each transaction adds one row to the ledger.
my $ledger = "INSERT INTO ledger (t, n, c, lines, line_c)";
my %transactions = (
	hot => "UPDATE account_T SET n = n + :d WHERE id = :a;\n$ledger VALUES ('T', :d, 0, 0, 0);\n",
	cold => "UPDATE account_T SET c = c + :d WHERE id = :a;\n$ledger VALUES ('T', 0, :d, 0, 0);\n",
	both =>
	  "UPDATE account_T SET n = n + :d, c = c + 1, note = left('x' || coalesce(note, ''), 100), doc = left('y' || coalesce(doc, ''), 100) WHERE id = :a;\n$ledger VALUES ('T', :d, 1, 0, 0);\n",
	cross =>
	  "UPDATE account_T SET n = n + :d, c = c + :d WHERE id = :a AND n IS NOT NULL AND c IS NOT NULL AND doc IS NOT DISTINCT FROM doc;\n$ledger VALUES ('T', :d, :d, 0, 0);\n",
	all => "UPDATE account_T SET c = c + 1;\n$ledger VALUES ('T', 0, $accounts, 0, 0);\n",
	transfer =>
	  "UPDATE account_T SET c = c - :d WHERE id = :a;\nUPDATE account_T SET c = c + :d WHERE id = :b;\nUPDATE account_T SET n = n - :d WHERE id = :b;\n$ledger VALUES ('T', -:d, 0, 0, 0);\n",
	lock =>
	  "SELECT n, c FROM account_T WHERE id = :a FOR UPDATE \\gset\nUPDATE account_T SET n = :n + :d WHERE id = :a;\nUPDATE account_T SET c = :c + :d WHERE id = :a;\n$ledger VALUES ('T', :d, :d, 0, 0);\n",
	lock_hot =>
	  "SELECT n FROM account_T WHERE id = :a FOR NO KEY UPDATE \\gset\nUPDATE account_T SET n = :n + :d, c = c + 1 WHERE id = :a;\n$ledger VALUES ('T', :d, 1, 0, 0);\n",
	undo =>
	  "SAVEPOINT s;\nUPDATE account_T SET n = n + 1000, c = c + 1000 WHERE id = :a;\nDELETE FROM line_T WHERE id = :l;\nROLLBACK TO s;\nUPDATE account_T SET c = c + :d WHERE id = :a;\n$ledger VALUES ('T', 0, :d, 0, 0);\n",
	upsert =>
	  "INSERT INTO account_T AS x (id, n, c) VALUES (:a, :d, :d) ON CONFLICT (id) DO UPDATE SET n = x.n + excluded.n, c = x.c + excluded.c;\n$ledger VALUES ('T', :d, :d, 0, 0);\n",
	insert =>
	  "INSERT INTO line_T (id, part, c, doc) VALUES (nextval('ids'), 'p', :d, repeat('doc', :d * 300));\n$ledger VALUES ('T', 0, 0, 1, :d);\n",
	race =>
	  "WITH i AS (INSERT INTO line_T (id, part, c) VALUES (:l, 'p', :d) ON CONFLICT DO NOTHING RETURNING c) $ledger SELECT 'T', 0, 0, count(*), coalesce(sum(c), 0) FROM i;\n",
	delete =>
	  "WITH d AS (DELETE FROM line_T WHERE id = :l RETURNING c) $ledger SELECT 'T', 0, 0, -count(*), -coalesce(sum(c), 0) FROM d;\n",
	move =>
	  "WITH u AS (UPDATE line_T SET id = nextval('ids'), c = c + 1 WHERE id = :l RETURNING id) $ledger SELECT 'T', 0, 0, 0, count(*) FROM u;\n",
	change =>
	  "WITH u AS (UPDATE line_T SET c = c + :d WHERE id = :l RETURNING id) $ledger SELECT 'T', 0, 0, 0, count(*) * :d FROM u;\n",
	touch =>
	  "WITH u AS (UPDATE line_T SET n = n + 1 WHERE id = :l RETURNING id) $ledger SELECT 'T', 0, 0, 0, 0 FROM (SELECT count(*) FROM u) x;\n"
);
my @weights = map { [ $_, $_ =~ /^(all|undo)$/ ? 1 : 3 ] } sort keys %transactions;
for my $table (@tables)
{
	for (keys %transactions)
	{
		my $text =
		  "\\set a random(1, $accounts)\n\\set b random(1, $accounts)\n\\set d random(1, 9)\n\\set l random(1, $rows)\nBEGIN;\n$transactions{$_}COMMIT;\n";
		# Parameters of prepared statements need types.
		$text =~ s/(?<=[ (,-]):([abcdln])\b(?!::)/:$1::int/g;
		append_to_file("$dir/$table.$_.sql",
			$text =~ s/account_T/account_$table/gr =~ s/line_T/line_$table/gr =~ s/'T'/'$table'/gr);
	}
}
append_to_file("$dir/vacuum.sql", "VACUUM;\n\\sleep 50 ms\n");
append_to_file("$dir/read.sql",
	"SELECT 1 / (NOT EXISTS (SELECT FROM wrong()))::int;\n\\sleep 20 ms\n");

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf',
	"hot_standby_feedback = on\nmax_standby_streaming_delay = -1\n");
$standby->start;

# start_pgbench(NODE, OPTIONS, CLIENTS, TABLE => [NAME, WEIGHT]...) - start pgbench in
# the background, and return the handle to wait for its result
sub start_pgbench
{
	my ($on, $options, @command) = @_;
	my %run = (out => '', err => '');
	local $ENV{PGOPTIONS} = $options;

	$run{handle} = IPC::Run::start(
		[
			'pgbench', '-n',
			'-M', $options =~ /rewrite/ ? 'prepared' : 'simple',
			@command, $on->connstr('postgres')
		],
		'<',
		\undef,
		'>',
		\$run{out},
		'2>',
		\$run{err},
		IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
	return \%run;
}

my @isolations = ('read committed', 'repeatable read');

# clients(SECONDS, ISOLATION) - start clients that write, clients that vacuum, and clients that read
# on the primary and on the standby
sub clients
{
	my ($seconds, $isolation) = @_;
	my @runs;
	my $level = '-c default_transaction_isolation=' . ($isolation =~ s/ /\\ /gr);

	for my $table (@tables)
	{
		for my $rewrite ('on', 'off')
		{
			my @files = map { ('-f', "$dir/$table.$_->[0].sql\@$_->[1]") }
			  grep { $rewrite eq 'on' || $_->[0] !~ /^upsert/ } @weights;
			push @runs,
			  start_pgbench($node, "$level -c vertical_partition.enable_rewrite=$rewrite",
				'-c', 4, '-T', $seconds, '--max-tries=10000', @files);
		}
	}
	return \@runs,
	  [
		start_pgbench($node, '', '-c', 1, '-T', $seconds, '-f', "$dir/vacuum.sql"),
		map { start_pgbench($_, $level, '-c', 1, '-T', $seconds, '-f', "$dir/read.sql") } $node,
		$standby
	  ];
}

sub in_order
{
	my ($what) = @_;

	is($node->safe_psql('postgres', 'SELECT * FROM wrong()'),
		'', "$what: the sums equal those of the ledger");
	parts_in_order($node, 'postgres', $what);
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	is($standby->safe_psql('postgres', 'SELECT * FROM wrong(); SELECT * FROM parts_wrong()'),
		'', "$what: on the standby, too, the sums are equal and the parts match");
	is($node->safe_psql('postgres', <<'SQL'), '', "$what: amcheck finds no damage");
SELECT c.oid::regclass, v.msg FROM pg_class c, LATERAL verify_heapam(c.oid::regclass) v WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace;
SELECT FROM (SELECT bt_index_check(i.indexrelid::regclass, true) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid AND c.relnamespace = 'public'::regnamespace OFFSET 0) x WHERE false;
SQL
}

sub acknowledged
{
	my $sum = 0;

	$sum += $_->{out} =~ /^number of transactions actually processed: (\d+)/m ? $1 : 0 for @_;
	return $sum;
}

in_order('begin');
for my $isolation (@isolations)
{
	my $before = $node->safe_psql('postgres', 'SELECT count(*) FROM ledger');
	my ($writers, $others) = clients($seconds, $isolation);

	$_->{handle}->finish for @$writers, @$others;
	my @failed =
	  grep { $_->{err} =~ /error|aborted/i || $_->{out} !~ /^number of failed transactions: 0/m }
	  @$writers;
	is(scalar(@failed), 0, "$isolation: no transaction failed")
	  or diag map { substr($_->{out}, 0, 600) . "\n" . substr($_->{err}, 0, 600) }
	  @failed[ 0 .. (@failed > 2 ? 2 : $#failed) ];
	is(join('', map { $_->{err} =~ /^(.*error.*)$/mi } @$others),
		'', "$isolation: vacuum and readers had no error");
	my $acknowledged = acknowledged(@$writers);
	cmp_ok($acknowledged, '>', 200, "$isolation: $acknowledged transactions");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM ledger') - $before,
		$acknowledged, "$isolation: the ledger has each transaction")
	  if !@failed;
	in_order($isolation);
}

for my $crash (1 .. $crashes)
{
	my $isolation = $isolations[ $crash % 2 ];
	my $before = $node->safe_psql('postgres', 'SELECT count(*) FROM ledger');
	my ($writers, $others) = clients(3600, $isolation);

	usleep(2_500_000 + rand(1_500_000));
	kill_all($node);
	$_->{handle}->finish         for @$writers;
	$_->{handle}->signal('TERM') for @$others;
	$_->{handle}->finish         for @$others;
	$node->start;
	my $acknowledged = acknowledged(@$writers);
	my $there = $node->safe_psql('postgres', 'SELECT count(*) FROM ledger') - $before;
	cmp_ok($acknowledged, '>', 100, "crash $crash: $acknowledged transactions");
	ok( $there >= $acknowledged && $there <= $acknowledged + 4 * @$writers,
		"crash $crash: no acknowledged transaction is lost, $there are there");
	in_order("crash $crash");
}
$standby->stop;
$node->stop;
done_testing();
