# PgDense::Ledger - clients that change rows, and the check of these rows afterwards
#
# Each client works on rows of its own, and the changes of its transaction n depend on n alone.  So
# the number of the client's last transaction determines which rows all tables must have.  The check
# finds a lost row, and a deleted row that comes back.  Other sessions vacuum, make checkpoints,
# create and drop tables, and read.
package PgDense::Ledger;

use strict;
use warnings FATAL => 'all';

use IPC::Run ();
use PgDense::Bgvacuum;
use PostgreSQL::Test::Utils;
use Test::More;

# Number of rows of each client in a table.  These rows have $parts parts, and each transaction
# updates one part.
my %rows = (scattered => 5000, hot => 2000);
my $parts = 50;
my $clients = 4;

# The value that transaction n writes into a row.  The length varies, so that a new row does not
# always fit into the space of an old row.
my $value = 'repeat(chr(65 + (%s) %% 26), 150 + (%s) * 37 %% 200)';

sub value
{
	my ($n) = @_;

	return sprintf $value, $n, $n;
}

# Updates of "scattered" and "passing" change an indexed column, those of the other tables do not.
my $schema = <<"SQL";
CREATE TABLE totals (c int PRIMARY KEY, n int) WITH (fillfactor = 50);
CREATE TABLE scattered (c int, k int, part int, n int, v text, PRIMARY KEY (c, k));
CREATE INDEX ON scattered (c, part);
CREATE INDEX ON scattered (n);
CREATE TABLE hot (c int, k int, part int, n int, v text, PRIMARY KEY (c, k)) WITH (fillfactor = 60);
CREATE INDEX ON hot (c, part);
CREATE TABLE passing (c int, n int, j int, v text);
CREATE INDEX ON passing (c, n);
CREATE INDEX ON passing (v);
CREATE TABLE toasted (c int, k int, n int, v text, PRIMARY KEY (c, k));
ALTER TABLE toasted ALTER v SET STORAGE EXTERNAL;
INSERT INTO totals SELECT c, 0 FROM generate_series(0, $clients - 1) c;
INSERT INTO scattered SELECT c, k, k % $parts, 0, @{[ value(0) ]} FROM generate_series(0, $clients - 1) c, generate_series(1, $rows{scattered}) k;
INSERT INTO hot SELECT c, k, k % $parts, 0, @{[ value(0) ]} FROM generate_series(0, $clients - 1) c, generate_series(1, $rows{hot}) k;
INSERT INTO toasted SELECT c, k, 0, repeat('t', 6000) FROM generate_series(0, $clients - 1) c, generate_series(0, 19) k;
SQL

# One transaction in four makes many changes, and then undoes them by ROLLBACK TO SAVEPOINT.  A
# transaction deletes the rows that the client's 15th transaction before it inserted into "passing",
# but never the rows of every 20th transaction.
my $stays = 'n % 20 = 19';
my $transaction = <<"SQL";
BEGIN;
UPDATE totals SET n = n + 1 WHERE c = :client_id RETURNING n \\gset
UPDATE scattered SET n = :n, v = @{[ value(':n') ]} WHERE c = :client_id AND part = :n % $parts;
UPDATE hot SET n = :n, v = @{[ value(':n') ]} WHERE c = :client_id AND part = :n % $parts;
\\if :n % 4 = 0
SAVEPOINT s;
UPDATE scattered SET n = -1, v = 'undone' WHERE c = :client_id AND part = (:n + 25) % $parts;
INSERT INTO passing SELECT :client_id::int, -1, j, 'undone' FROM generate_series(1, 20) j;
DELETE FROM hot WHERE c = :client_id AND part = (:n + 10) % $parts;
ROLLBACK TO s;
\\endif
INSERT INTO passing SELECT :client_id::int, :n::int, j, @{[ value(':n + j') ]} FROM generate_series(1, 20) j;
UPDATE passing SET v = @{[ value('n + j + 1') ]} WHERE c = :client_id AND n = :n - 3;
DELETE FROM passing WHERE c = :client_id AND n = :n - 15 AND NOT ($stays);
UPDATE toasted SET n = :n, v = repeat(chr(65 + :n % 26), 4000 + :n * 37 % 4000) WHERE c = :client_id AND k = :n % 20;
COMMIT;
SQL

# Every query must see the same number of rows, also the second query of a transaction.
my $see = join '', map { <<"SQL" } sort keys %rows;
SELECT 1 / (count(*) = $rows{$_} * $clients AND min(n) >= 0 AND count(v) = count(*))::int FROM $_;
SQL
my %others = (
	vacuum =>
	  join('', map { "VACUUM $_;\n\\sleep 150 ms\n" } qw(scattered totals passing hot toasted)),
	checkpoint => "\\sleep 300 ms\nCHECKPOINT;\n",
	come_and_go => <<"SQL",
CREATE TABLE gone AS SELECT i, @{[ value('i') ]} AS v FROM generate_series(1, 1000) i;
DELETE FROM gone WHERE i % 2 = 0;
\\sleep 15 ms
TRUNCATE gone;
INSERT INTO gone SELECT i, 'again' FROM generate_series(1, 500) i;
UPDATE gone SET i = i + 1;
\\sleep 15 ms
DROP TABLE gone;
SQL
	read =>
	  "BEGIN ISOLATION LEVEL REPEATABLE READ;\n$see\\sleep 30 ms\n${see}COMMIT;\n\\sleep 30 ms\n",);

# PgDense::Ledger->new(NODE) - create and fill the tables, in database postgres
sub new
{
	my ($class, $node) = @_;
	my $self = bless {
		node => $node,
		dir => $node->basedir,
		last => [ (0) x $clients ],
		transactions => 0,
		runs => 0
	}, $class;

	$node->safe_psql('postgres', $schema);
	append_to_file("$self->{dir}/transactions.sql", $transaction);
	append_to_file("$self->{dir}/$_.sql", $others{$_}) for keys %others;
	return $self;
}

# start([NAME...]) - start the clients, and the other sessions: those that are named, or all of them
sub start
{
	my ($self, @names) = @_;
	my ($node, $dir) = @$self{qw(node dir)};
	my @pgbench = (
		'pgbench', '--no-vacuum', '--protocol=prepared', '--time=36000', $node->connstr('postgres')
	);
	my $log = "$dir/acknowledged." . ++$self->{runs};
	my @runs = (
		[ 'transactions', "--client=$clients", '--jobs=2', '--log', "--log-prefix=$log" ],
		map { [$_] } @names ? @names : sort keys %others);

	# Drop the table that a killed run may have left.
	$node->safe_psql('postgres', 'SET client_min_messages = warning; DROP TABLE IF EXISTS gone');
	$self->{log} = $log;
	$self->{errors} = {};
	$self->{running} = [];
	for my $run (@runs)
	{
		my ($name, @options) = @$run;
		$self->{errors}{$name} = '';
		push @{ $self->{running} },
		  IPC::Run::start([ @pgbench, @options, "--file=$dir/$name.sql" ],
			'>', '/dev/null', '2>', \$self->{errors}{$name});
	}
}

# stop() - end each client after its transaction, as pgbench does when its time is over
sub stop
{
	my ($self) = @_;

	$_->signal('ALRM') for @{ $self->{running} };
	$self->finish;
}

# finish() - wait for the clients after their server has stopped
sub finish
{
	my ($self) = @_;

	$_->finish for @{ $self->{running} };
	$self->{running} = [];
}

# errors() - return the errors of the clients, except those about the lost server
sub errors
{
	my ($self) = @_;
	my @errors;

	for my $name (sort keys %{ $self->{errors} })
	{
		push @errors, map { "$name: $_" } grep {
			/error|fatal|panic/i
			  && !/terminat|closed|connection|backend died|send failed|Run was aborted/i
		} split /\n/, $self->{errors}{$name};
	}
	return @errors;
}

# check(WHAT[, ERRORS]) - test that the tables have all acknowledged changes and no others, and that
# the clients saw no errors except those that match ERRORS.  Return false if the tables are not as
# expected, because later checks then have no meaning.
sub check
{
	my ($self, $what, $expected_errors) = @_;
	my $node = $self->{node};
	my (@told, @wrong);

	is(join("\n", grep { !defined $expected_errors || !/$expected_errors/ } $self->errors),
		'', "$what: the clients saw no errors");
	@told = (0) x $clients;
	for my $file (glob("$self->{log}.*"))
	{
		/^(\d+) / and $told[$1]++ for split /\n/, slurp_file($file);
		unlink $file;
	}
	$self->{transactions} += $_ for @told;
	my @last = split /\n/, $node->safe_psql('postgres', 'SELECT n FROM totals ORDER BY c');
	for my $c (0 .. $clients - 1)
	{
		my $least = $self->{last}[$c] + $told[$c];
		push @wrong, "client $c has " . ($last[$c] // 'nothing') . " of $least or one more"
		  if !defined $last[$c] || $last[$c] < $least || $last[$c] > $least + 1;
	}
	my $total = 0;
	$total += $_ for @told;
	is("@wrong", '', "$what: each client's last transaction of $total is there");
	return 0 if @wrong;

	my %expected;
	for my $c (0 .. $clients - 1)
	{
		my $n = $last[$c];
		# Return SQL for the number of the last transaction that changed row k.
		my $of = sub {
			my ($modulus, $k) = @_;
			return "greatest($n - (($n - $k) % $modulus + $modulus) % $modulus, 0)";
		};

		for my $table (keys %rows)
		{
			$expected{$table}[$c] =
			  "SELECT $c, k, k % $parts, n, @{[ value('n') ]} FROM generate_series(1, $rows{$table}) k, LATERAL (SELECT @{[ $of->($parts, 'k') ]} AS n) t";
		}
		$expected{passing}[$c] =
		  "SELECT $c, n, j, @{[ value(qq{n + j + (n <= $n - 3)::int}) ]} FROM generate_series(1, $n) n, generate_series(1, 20) j WHERE n > $n - 15 OR $stays";
		$expected{toasted}[$c] =
		  "SELECT $c, k, n, CASE WHEN n = 0 THEN repeat('t', 6000) ELSE repeat(chr(65 + n % 26), 4000 + n * 37 % 4000) END"
		  . " FROM generate_series(0, 19) k, LATERAL (SELECT @{[ $of->(20, 'k') ]} AS n) t";
	}
	for my $table (sort keys %expected)
	{
		my $rows = join ' UNION ALL ', @{ $expected{$table} };
		my ($missing, $more) = split /\|/, $node->safe_psql('postgres', <<"SQL");
SET enable_indexscan = off; SET enable_bitmapscan = off;
SELECT (SELECT count(*) FROM ($rows EXCEPT ALL TABLE $table) m), (SELECT count(*) FROM (TABLE $table EXCEPT ALL ($rows)) m)
SQL
		push @wrong, "$table: $missing missing, $more that should not be there"
		  if "$missing $more" ne '0 0';
	}
	is("@wrong", '', "$what: all rows, and no others");
	check_heaps($node, $what);
	check_indexes($node, $what);
	$self->{last} = \@last;
	return !@wrong;
}

1;
