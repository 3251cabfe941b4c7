# Crash a server with aligned indexes.  Kill the postmaster and all its children with SIGKILL at
# random moments.  Meanwhile, clients insert, update and delete rows, and other sessions vacuum,
# build and rebuild B-trees.  There are tables with B-trees of alignment 2, 4 and 8, a table with
# B-trees of mixed alignments, and an unlogged table.
#
# Check after each crash that the tables hold exactly the rows of the acknowledged transactions of
# each client, that amcheck finds no damage, and that each index has kept its alignment.  There are
# ten rounds, or 100 with PGDENSE_SOAK.
#
# PGDENSE_FUZZ_SEED is the random seed.  The test prints it.
use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";
use PgDense::Crash;
use PgDense::Nbtree;
use PgDense::Patch;
use PgDense::Wal qw(unexpected_log);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

needs_patch('index_align', 'default_index_item_alignment');

my $seed = ($ENV{PGDENSE_FUZZ_SEED} || int(time())) % 1_000_000;
my $rounds = $ENV{PGDENSE_SOAK} ? 100 : 10;
my $clients = 4;
note "PGDENSE_FUZZ_SEED=$seed";

my $node = PostgreSQL::Test::Cluster->new('crash');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
# A crash of the server alone loses no written data, so turn fsync off.  Full-page images must stay
# on, because a killed process can leave a page of 8 kB half written.
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
default_index_item_alignment = auto
wal_compression = lz4
max_wal_size = 8GB
checkpoint_timeout = 1h
autovacuum_naptime = 1s
shared_buffers = 16MB
CONF
$node->start;

# Each client has its own rows, 20 for each of its transactions.  Transaction n inserts its rows,
# transaction n + 2 gives these rows other keys, and transaction n + 15 deletes them.  The rows of
# the last two of each 20 transactions stay.  So pages become empty, and the expected rows are known
# after any transaction.
my %columns = (
	align2 => { g => 'int2', w => 'name' },
	align4 => { g => 'int4', w => 'text' },
	align8 => { g => 'int8', w => 'text' },
	unlogged => { g => 'int2', w => 'text' },
	mixed => { g => 'int2', w => 'text' });
my @tables = sort keys %columns;

# the indexes of each table, and their alignment
my %indexes;
my $schema =
  'CREATE EXTENSION amcheck; CREATE EXTENSION pageinspect; CREATE TABLE ledger (c int2, n int4, PRIMARY KEY (c, n));';
$indexes{ledger_pkey} = 4;
for my $table (@tables)
{
	my ($g, $w) = @{ $columns{$table} }{qw(g w)};
	my ($align) = $table =~ /(\d)/ ? $1 : 4;
	my $unlogged = $table eq 'unlogged' ? 'UNLOGGED' : '';

	# Column s is ascending, g has many duplicates, and w is wide and in random order.
	$schema .= <<"SQL";
CREATE $unlogged TABLE $table (c int2, n int4, j int2, s $g, g $g, w $w, padding text);
CREATE INDEX ${table}_s ON $table (s, c);
CREATE INDEX ${table}_g ON $table (g);
CREATE INDEX ${table}_w ON $table (w, g, c);
SQL
	$indexes{"${table}_$_"} = $align for qw(s g w);
	@indexes{ "${table}_s", "${table}_g" } = (2, 2) if $table =~ /unlogged|mixed/;
}
$schema .= <<'SQL';
CREATE INDEX mixed_i8 ON mixed ((n::int8), g) INCLUDE (w);
CREATE INDEX mixed_max ON mixed (g, n) WITH (item_alignment = max);
CREATE INDEX mixed_u ON mixed (n, c) WHERE j % 3 = 0;
-- column w of row j of transaction n of client c, before and after its update
CREATE FUNCTION wide(c int, n int, j int, updated bool) RETURNS text LANGUAGE sql IMMUTABLE AS
$$SELECT left(md5(concat_ws('/', n, c, j)), 3 + j % 5) || repeat(CASE WHEN updated THEN 'u' ELSE 'i' END, (n + j) % 47)$$;
SQL
$indexes{mixed_i8} = 8;
$indexes{mixed_max} = 8;
$indexes{mixed_u} = 4;
$node->safe_psql('postgres', $schema);

# This is transaction n of a client, and the condition for rows that stay.
my $stays = 'n % 20 >= 18';
my $transaction =
  "SELECT coalesce(max(n), 0) + 1 AS n FROM ledger WHERE c = :client_id \\gset\nBEGIN;\nINSERT INTO ledger VALUES (:client_id, :n);\n";
for my $table (@tables)
{
	my ($g, $w) = @{ $columns{$table} }{qw(g w)};
	my $of = sub {
		my ($n) = @_;
		return
		  "s BETWEEN ($n) * 20 % 32000 AND ($n) * 20 % 32000 + 19 AND n = $n AND c = :client_id";
	};
	$transaction .= <<"SQL";
INSERT INTO $table SELECT :client_id, :n, j, :n * 20 % 32000 + j, :n % 7, wide(:client_id, :n, j, false)::$w, repeat('p', j) FROM generate_series(0, 19) j;
UPDATE $table SET g = g + 100, w = wide(c, n, j, true)::$w WHERE @{[ $of->(':n - 2') ]};
UPDATE $table SET padding = padding || 'x' WHERE @{[ $of->(':n - 3') ]};
DELETE FROM $table WHERE @{[ $of->(':n - 15') ]} AND NOT ($stays);
SQL
}
$transaction .= "COMMIT;\n";

sub expected
{
	my ($table, @last) = @_;
	my ($g, $w) = @{ $columns{$table} }{qw(g w)};

	return join ' UNION ALL ', map { <<"SQL" } 0 .. $#last;
SELECT $_\::int2 AS c, n, j::int2, (n * 20 % 32000 + j)::$g AS s, (n % 7 + CASE WHEN n <= $last[$_] - 2 THEN 100 ELSE 0 END)::$g AS g,
  wide($_, n, j, n <= $last[$_] - 2)::$w AS w, repeat('p', j) || CASE WHEN n <= $last[$_] - 3 THEN 'x' ELSE '' END AS padding
FROM generate_series(1, $last[$_]) n, generate_series(0, 19) j WHERE n > $last[$_] - 15 OR $stays
SQL
}

# These are the scripts that run at the same time.  Indexes are built while the clients write.
my %scripts = (
	transactions => $transaction,
	vacuum => join('', map { "VACUUM (INDEX_CLEANUP on) $_;\n\\sleep 30 ms\n" } @tables),
	reindex => join('',
		map       { "REINDEX INDEX CONCURRENTLY $_;\n\\sleep 50 ms\n" }
		sort grep { !/ledger/ } keys %indexes),
	create =>
	  "CREATE INDEX CONCURRENTLY more_2 ON align2 (g, c, w);\nDROP INDEX CONCURRENTLY more_2;\n"
	  . "CREATE INDEX CONCURRENTLY more_4 ON align4 (w) INCLUDE (g);\nDROP INDEX CONCURRENTLY more_4;\n"
	  . "CREATE INDEX CONCURRENTLY more_8 ON align8 (s, g, c);\nDROP INDEX CONCURRENTLY more_8;\n"
	  . "CREATE INDEX CONCURRENTLY more_m ON mixed (padding, g);\nDROP INDEX CONCURRENTLY more_m;\n",
	scan => "SET enable_seqscan = off;\nSET enable_bitmapscan = off;\n" . join(
		'',
		map {
			"SELECT count(*) FROM $_ WHERE g >= 0;\nSELECT count(*) FROM $_ WHERE s > 0;\n\\sleep 20 ms\n"
		} @tables),
	checkpoint => "\\sleep 400 ms\nCHECKPOINT;\n",);
my $dir = $node->basedir;
append_to_file("$dir/$_.sql", $scripts{$_}) for keys %scripts;

my @before = (0) x $clients;
my ($killed, $transactions, $invalid, $in_recovery) = (0, 0, 0, 0);
srand($seed);

for my $round (1 .. $rounds)
{
	# Draw all random numbers of a round here, so that the round depends only on the
	# seed and the number of the round.
	my $seconds = 0.3 + rand($round % 5 == 0 ? 4 : 1.5);
	my $random = int(rand(1_000_000));
	my $again = rand() < 0.5 ? rand(0.2) : undef;
	my @pgbench = (
		'pgbench', '--no-vacuum', "--random-seed=$random", '--time=600', $node->connstr('postgres')
	);
	# In every other round, recovery compares pages with page images, whose writing costs the
	# clients much time.
	my $check = $round % 2 ? 'btree' : '';
	my $hints = $round % 4 < 2 ? 'on' : 'off';
	$node->safe_psql('postgres', "ALTER SYSTEM SET wal_consistency_checking = '$check'");
	# The setting takes effect at the next start.
	$node->safe_psql('postgres', "ALTER SYSTEM SET wal_log_hints = $hints");
	$node->reload;

	my $log = "$dir/round$round";
	my @errors = ('') x keys %scripts;

	my @running = IPC::Run::start(
		[
			@pgbench, "--client=$clients",
			'--jobs=2', '--log',
			"--log-prefix=$log", "--file=$dir/transactions.sql"
		],
		'>',
		'/dev/null',
		'2>',
		\$errors[0]);
	for my $script (grep { $_ ne 'transactions' } sort keys %scripts)
	{
		push @running,
		  IPC::Run::start([ @pgbench, "--file=$dir/$script.sql" ],
			'>', '/dev/null', '2>', \$errors[@running]);
	}
	usleep(1_000_000 * $seconds);
	$killed += kill_all($node);
	$_->finish for @running;
	# Report each script that ended early for another reason than the crash.
	note $_
	  for grep { /error/i && !/terminat|closed|connection|aborted/ } map { split /\n/ } @errors;

	# Sometimes crash once more, during recovery.
	if (defined $again)
	{
		$in_recovery++ if crash_in_recovery($node, $again);
	}
	$node->start;

	# Count the transactions that pgbench knows to be committed.
	my @acknowledged = (0) x $clients;
	for my $file (glob("$log.*"))
	{
		/^(\d+) / and $acknowledged[$1]++ for split /\n/, slurp_file($file);
		unlink $file;
	}
	my @last =
	  map { $node->safe_psql('postgres', "SELECT coalesce(max(n), 0) FROM ledger WHERE c = $_") }
	  0 .. $clients - 1;
	my @lost = grep {
			 $last[$_] < $before[$_] + $acknowledged[$_]
		  || $last[$_] > $before[$_] + $acknowledged[$_] + 1
	} 0 .. $clients - 1;
	$transactions += $_ for @acknowledged;

	my $what = sprintf('round %d, killed after %.2f s', $round, $seconds);
	is("@lost", '', "$what, @acknowledged transactions: no acknowledged transaction is lost")
	  or diag "before @before, acknowledged @acknowledged, found @last, $errors[0]";

	# Drop the indexes whose build did not finish.
	my @unfinished = split /\n/,
	  $node->safe_psql('postgres',
		"SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid AND indrelid >= 16384");
	$invalid += @unfinished;
	$node->safe_psql('postgres',
		join('', map { "DROP INDEX IF EXISTS $_;" } @unfinished)
		  . 'DROP INDEX IF EXISTS more_2, more_4, more_8, more_m;');

	my @wrong;
	for my $table ('ledger', @tables)
	{
		my $expected =
		  $table eq 'ledger' ? join(' UNION ALL ',
			map { "SELECT $_\::int2, n FROM generate_series(1, $last[$_]) n" } 0 .. $#last)
		  : $table eq 'unlogged' ? 'SELECT * FROM unlogged WHERE false'
		  :                        expected($table, @last);
		my $differences = $node->safe_psql('postgres', <<"SQL");
SELECT count(*) FROM ((TABLE $table EXCEPT ALL ($expected)) UNION ALL (($expected) EXCEPT ALL TABLE $table)) d
SQL
		push @wrong, "$differences in $table" if $differences ne '0';
	}
	is("@wrong", '', "$what: the tables hold exactly the expected rows");
	check_structure($node, 'postgres', $what, $round < $rounds ? 'public' : undef);

	is_deeply(page_alignments($node, 'postgres', keys %indexes),
		\%indexes, "$what: all indexes have their alignment");
	die "seed $seed: nothing can be said of later rounds" if @lost || @wrong;
	@before = @last;
}
note "$rounds rounds: $killed processes killed, $transactions transactions acknowledged, "
  . "$invalid unfinished indexes, $in_recovery crashes in recovery";
cmp_ok($transactions, '>', $clients * $rounds, 'each round had committed transactions');
$node->stop;
is(unexpected_log($node), '', 'nothing unexpected in the log');
done_testing();
