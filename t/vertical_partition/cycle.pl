# Run split(), relink() and merge() beside transactions that first read and then write
# the table.  No transaction may fail, and no deadlock may occur.
#
# A transaction that has read the table holds a lock on it, and with this lock it may wait for the
# session that blocks writers.  So split() must not ask for a stronger lock later.  Other
# transactions reach the table in any order, through a table with a foreign key or through its
# sequence.  Statements that were planned for the table run on the view, and the other way round.
use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";
use PgDense::Partition;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $cycles = $ENV{PGDENSE_SOAK} ? 50 : 6;
my ($clients, $accounts) = (1, 20);
my $node = partition_node('cycle', <<'CONF');
deadlock_timeout = 100ms
max_connections = 60
CONF
my $dir = $node->basedir;

$node->safe_psql('postgres', <<"SQL" . partition_helpers('plain'));
CREATE EXTENSION vertical_partition;
CREATE TABLE holder (id int PRIMARY KEY, n int DEFAULT 0);
CREATE TABLE account (id serial PRIMARY KEY, n int DEFAULT 0, c int DEFAULT 0, holder int REFERENCES holder, note text DEFAULT 'note', doc text DEFAULT 'doc');
CREATE TABLE entry (id bigserial PRIMARY KEY, account int REFERENCES account, x int);
CREATE TABLE ledger (n int, c int, rows int, entries int);
INSERT INTO holder SELECT generate_series(1, 5);
INSERT INTO account (holder, doc) SELECT 1 + i % 5, repeat('doc' || i, 100) FROM generate_series(1, $accounts) i;
INSERT INTO ledger VALUES (0, 0, $accounts, 0);

-- Return the sums if those of the ledger and of the tables differ.
CREATE FUNCTION wrong() RETURNS SETOF text LANGUAGE sql AS \$\$
	SELECT format('ledger: %s, tables: %s', l, a)
	FROM (SELECT format('%s %s %s %s', sum(n), sum(c), sum(rows), sum(entries)) FROM ledger) x (l),
		(SELECT format('%s %s %s %s', sum(n), sum(c), count(*), (SELECT count(*) FROM entry)) FROM account) y (a)
	WHERE l <> a
\$\$;
SQL

# Statements of the transactions.  Most transactions begin to use the table in different ways.
my %transactions = (
	read =>
	  "SELECT n, c, doc FROM account WHERE id = :a;\nUPDATE account SET n = n + 1, c = c + 1 WHERE id = :a;\n"
	  . "INSERT INTO account (n, holder) VALUES (5, :h) RETURNING id AS new \\gset\nDELETE FROM account WHERE id = :new;\nINSERT INTO ledger VALUES (1, 1, 0, 0);\n",
	hot =>
	  "SELECT n FROM account WHERE id = :a;\nUPDATE account SET n = n + 1 WHERE id = :a;\nINSERT INTO account (n, doc) VALUES (0, 'new');\nINSERT INTO ledger VALUES (1, 0, 1, 0);\n",
	lock =>
	  "SELECT n FROM account WHERE id = :a FOR UPDATE;\nUPDATE account SET c = c + 1 WHERE id = :a;\nINSERT INTO ledger VALUES (0, 1, 0, 0);\n",
	lock_hot =>
	  "SELECT n FROM account WHERE id = :a FOR NO KEY UPDATE;\nUPDATE account SET n = n + 1 WHERE id = :a;\nINSERT INTO ledger VALUES (1, 0, 0, 0);\n",
	child =>
	  "INSERT INTO entry (account, x) VALUES (:a, 1);\nSELECT count(*) FROM account WHERE id = :a;\nUPDATE account SET n = n + 1 WHERE id = :a;\nINSERT INTO ledger VALUES (1, 0, 0, 1);\n",
	to_child =>
	  "SELECT doc FROM account WHERE id = :a;\nINSERT INTO entry (account, x) VALUES (:a, 1);\nUPDATE account SET doc = doc WHERE id = :a;\nINSERT INTO ledger VALUES (0, 0, 0, 1);\n",
	parent =>
	  "SELECT n FROM holder WHERE id = :h;\nSELECT n FROM account WHERE id = :a;\nUPDATE account SET holder = :h WHERE id = :a;\n",
	to_parent =>
	  "SELECT c FROM account WHERE id = :a;\nSELECT n FROM holder WHERE id = :h FOR KEY SHARE;\nUPDATE account SET c = c + 1, n = n + 1 WHERE id = :a;\nINSERT INTO ledger VALUES (1, 1, 0, 0);\n",
	sequence =>
	  "SELECT nextval('account_id_seq') AS new \\gset\nSELECT n FROM account WHERE id = :a;\nINSERT INTO account (id, holder) VALUES (:new, :h);\nINSERT INTO ledger VALUES (0, 0, 1, 0);\n"
);
for (keys %transactions)
{
	my $text =
	  "\\set a random(1, $accounts)\n\\set h random(1, 5)\nBEGIN;\n$transactions{$_}COMMIT;\n";
	# Parameters of prepared statements need types.
	$text =~ s/(?<=[ (]):(a|h|new)\b/:$1::int/g;
	append_to_file("$dir/$_.sql", $text);
}

my @runs;
for my $mode (qw(simple extended prepared))
{
	my %run = (mode => $mode, out => '', err => '');

	$run{handle} = IPC::Run::start(
		[
			'pgbench',
			'-n', '-M', $mode, '-c', $clients, '-j', 1, '-T',
			36000,
			'--verbose-errors',
			(   map { ('-f', "$dir/$_.sql\@" . (/^(?:read|hot|lock)/ ? 3 : 1)) }
				sort keys %transactions),
			$node->connstr('postgres')
		],
		'<',
		\undef,
		'>',
		\$run{out},
		'2>',
		\$run{err},
		IPC::Run::timeout(20 * $PostgreSQL::Test::Utils::timeout_default));
	push @runs, \%run;
}
$node->poll_query_until('postgres', 'SELECT count(*) > 100 FROM ledger');

my ($failed, $idle) = (0, 0);
for my $cycle (1 .. $cycles)
{
	my $method = $partition_methods[ $cycle % @partition_methods ];

	for my $call (
		"split('account', '{c,doc}', '$method')",
		$method eq 'row_pointer' ? "relink('account')" : (),
		"merge('account')")
	{
		my ($before) = $node->safe_psql('postgres', 'SELECT count(*) FROM ledger');
		my ($rc, $out, $err) = $node->psql('postgres', "SELECT vertical_partition.$call IS NULL");

		$failed++ if $err ne '';
		diag "cycle $cycle, $call: $err" if $err ne '';
		# Transactions must go on, whether the name belongs to the view or to the table.
		$node->poll_query_until('postgres', "SELECT count(*) > $before + 20 FROM ledger")
		  or $idle++;
	}
}
is($failed, 0, "$cycles cycles of split() and merge() succeed");
is($idle, 0, 'transactions continue after each cycle');
for my $run (@runs)
{
	$run->{handle}->pump_nb;
	ok($run->{handle}->pumpable, "pgbench -M $run->{mode} runs until the end");
	# Background processes of a shell ignore INT, so send TERM.
	$run->{handle}->signal('TERM');
	$run->{handle}->finish;
	unlike(
		$run->{err},
		qr/error|failed|aborted|deadlock/i,
		"pgbench -M $run->{mode}: no transaction failed");
}
my $log = slurp_file($node->logfile);
my @errors = grep {
	!/canceling statement due to user request|terminating connection|canceling autovacuum|connection to client lost/
} $log =~ /(?:ERROR|FATAL|PANIC):  .*/g;
is(join("\n", @errors > 5 ? @errors[ 0 .. 4 ] : @errors), '', 'no error in the log of the server');
is($node->safe_psql('postgres', 'SELECT * FROM wrong()'), '', 'the ledger has each transaction');
parts_in_order($node, 'postgres', 'end');

# relink() changes rows.  It waits for sessions that have locked rows, before relink() itself takes
# a lock.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE moved (id int PRIMARY KEY, n int, c text);
INSERT INTO moved SELECT i, 0, 'c' || i FROM generate_series(1, 20) i;
SELECT vertical_partition.split('moved', '{c}', 'row_pointer');
DELETE FROM moved WHERE id < 10;
SELECT vertical_partition.forget_row_pointers('moved_cold');
SQL
$node->safe_psql('postgres', 'VACUUM FULL moved_cold');
my ($locker, $linker) = map { $node->background_psql('postgres', on_error_stop => 0) } 1, 2;
$locker->query_safe('BEGIN; SELECT n FROM moved WHERE id = 20 FOR UPDATE');
$linker->query_until(qr/started/,
	"\\echo started\nSELECT vertical_partition.relink('moved');\n\\echo done\n");
$node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM pg_locks WHERE NOT granted')
  or die 'relink() does not wait';
$locker->query('UPDATE moved SET n = n + 1 WHERE id = 20');
$locker->query('COMMIT');
$linker->query_until(qr/done/, "\n");
is( "$locker->{stderr}$linker->{stderr}" =~ s/background_psql: \S+( \d+:)?\n//gr,
	'',
	'relink() and a transaction that locks and changes a row do not deadlock');
is($node->safe_psql('postgres', 'SELECT n, c FROM moved WHERE id = 20'),
	'1|c20', 'both take effect');
$_->quit foreach $locker, $linker;
$node->stop;
done_testing();
