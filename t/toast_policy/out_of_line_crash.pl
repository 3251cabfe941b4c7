# Kill a server while values of small rows go out of line: between the TOAST table and the commit,
# during enable_out_of_line(), during recompress(), and while sessions write and change the settings
# all the time.  Then damage values out of line, and compare each statement with the same one on a
# table of heap that has the same damage.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use IPC::Run ();
use PgDense::Crash;
use PgDense::OutOfLine;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my ($major) = `pg_config --version` =~ /(\d+)/;
my $node = PostgreSQL::Test::Cluster->new('crash');
$node->init(
	extra => [ '--encoding=UTF8', '--locale=C', $major >= 18 ? '--no-data-checksums' : () ]);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
autovacuum = off
client_min_messages = warning
max_prepared_transactions = 5
CONF
$node->start;
$node->safe_psql('postgres', $functions);
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION toast_policy;
CREATE EXTENSION amcheck;
CREATE FUNCTION settings(t regclass) RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(' ', amname, reloptions, (SELECT string_agg(attname || '=' || attstorage::text, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = t AND attnum > 0 AND attlen = -1),
	CASE WHEN reltoastrelid <> 0 THEN 'toast' END, (SELECT count(*) FROM pg_depend WHERE objid = t AND refclassid = 'pg_am'::regclass))
FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE c.oid = t $$;
-- An index calls this function, so recompress() waits here, after it has copied the rows.
CREATE FUNCTION wait(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
$$ BEGIN IF i = 1 THEN PERFORM pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1); END IF; RETURN i; END $$;

CREATE TABLE t (id int PRIMARY KEY, n int, c text);
CREATE TABLE in_two_steps (LIKE t INCLUDING ALL);
CREATE TABLE waiting (LIKE t);
CREATE INDEX ON waiting (wait(id));
CREATE TABLE enabled (LIKE t INCLUDING ALL);
CREATE TABLE given_up (id int PRIMARY KEY, n int, c varchar(200));
CREATE TABLE fresh (id int PRIMARY KEY, n int, c varchar(200));
CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY, n int, c varchar(200));
SELECT toast_policy.enable_out_of_line(x, 128, 'c') FROM unnest(ARRAY['t', 'in_two_steps', 'unlogged']::regclass[]) x;
INSERT INTO t SELECT i, 0, noise(200, i) FROM generate_series(1, 50) i;
INSERT INTO in_two_steps TABLE t;
INSERT INTO waiting TABLE t;
INSERT INTO given_up SELECT id, n, left(c, 190) FROM t;
INSERT INTO unlogged SELECT id, n, left(c, 190) FROM t;
INSERT INTO enabled TABLE t;
SQL

my $digest = q{SELECT count(*), md5(string_agg(x::text, ',' ORDER BY id)) FROM %s x};
my $sound = q{SELECT * FROM toast_policy.check_all(true)};
my %before = map { $_ => $node->safe_psql('postgres', sprintf $digest, $_) } qw(t given_up waiting);
my $waiting = $node->safe_psql('postgres', q{SELECT pg_relation_filenode('waiting')});
is( $node->safe_psql('postgres', q{SELECT settings('given_up'), settings('fresh')}),
	'heap c=x 0|heap c=x 0',
	'tables that need no TOAST table');

# Each session keeps its transaction open.
my ($writes, $enables, $holds, $recompresses) = map { $node->background_psql('postgres') } 1 .. 4;
$writes->query_safe(<<'SQL');
BEGIN;
INSERT INTO t SELECT i, 0, noise(200, i) FROM generate_series(51, 100) i;
UPDATE t SET c = noise(300, id), n = 1 WHERE id <= 20;
SAVEPOINT a;
DELETE FROM t WHERE id > 40;
INSERT INTO t VALUES (200, 0, noise(5000, 200));
SQL
$enables->query_safe(<<'SQL');
BEGIN;
SELECT toast_policy.enable_out_of_line('given_up', 128, 'c');
INSERT INTO given_up VALUES (51, 0, noise(190, 51));
UPDATE given_up SET n = 1;
SELECT toast_policy.recompress('given_up');
SQL
$node->safe_psql('postgres', <<'SQL');
BEGIN;
UPDATE in_two_steps SET c = noise(210, id) WHERE id <= 25;
INSERT INTO in_two_steps SELECT i, 0, noise(200, i) FROM generate_series(51, 60) i;
PREPARE TRANSACTION 'second';
SELECT toast_policy.enable_out_of_line('waiting', 128, 'c');
CHECKPOINT;
SQL
$holds->query_safe('SELECT pg_advisory_lock(1)');
$recompresses->query_until(qr/begins/,
	"\\echo begins\nBEGIN; SELECT toast_policy.recompress('waiting'); COMMIT;\n");
ok( $node->poll_query_until(
		'postgres',
		q{SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)}),
	'recompress() has copied the rows, and builds an index');
# These two commits write the WAL of all transactions.
$node->safe_psql('postgres', <<'SQL');
SELECT toast_policy.enable_out_of_line('fresh', 128, 'c');
INSERT INTO fresh SELECT i, 0, noise(190, i) FROM generate_series(1, 30) i;
BEGIN;
SELECT toast_policy.enable_out_of_line('enabled', 128, 'c');
UPDATE enabled SET n = 1 WHERE id <= 5;
COMMIT;
SQL
kill_all($node);
eval { $_->quit } for $writes, $enables, $holds, $recompresses;
$node->start;

is($node->safe_psql('postgres', sprintf $digest, $_), $before{$_}, "$_: the rows")
  for sort keys %before;
is($node->safe_psql('postgres', $sound), '', 'amcheck');
is( $node->safe_psql(
		'postgres',
		q{SELECT values_outside('t'), settings('given_up'), settings('fresh'), values_outside('fresh'), settings('enabled'), values_outside('enabled')}
	),
	'50|heap c=x 0|toast_policy {toast_tuple_target=128} c=e toast 1|30|toast_policy {toast_tuple_target=128} c=e toast 1|5',
	'what was committed is there, and nothing else');
is( $node->safe_psql(
		'postgres',
		qq{SELECT pg_relation_filenode('waiting') = $waiting, values_outside('waiting'), settings('waiting')}
	),
	't|0|toast_policy {toast_tuple_target=128} c=e toast 1',
	'recompress() has left nothing');
is( $node->safe_psql(
		'postgres',
		q{SELECT count(*) FROM unlogged; INSERT INTO unlogged VALUES (1, 0, noise(190, 1)); UPDATE unlogged SET n = 1; SELECT c = noise(190, 1), values_outside('unlogged') FROM unlogged}
	),
	"0\nt|1",
	'an unlogged table is empty, and can be written');
is( $node->safe_psql(
		'postgres',
		q{COMMIT PREPARED 'second'; SELECT count(*), bool_and(c = noise(CASE WHEN id <= 25 THEN 210 ELSE 200 END, id)), values_outside('in_two_steps') FROM in_two_steps}
	),
	'60|t|60',
	'a prepared transaction has its values');
$node->safe_psql('postgres',
	q{SELECT toast_policy.enable_out_of_line('given_up', 128, 'c'); SELECT toast_policy.recompress(x) FROM unnest(ARRAY['given_up', 'waiting', 'enabled']::regclass[]) x}
);
is( $node->safe_psql(
		'postgres',
		q{SELECT values_outside('given_up'), values_outside('waiting'), values_outside('enabled')}),
	'50|50|50',
	'the commands work afterwards');
# VACUUM removes the values of the lost transactions, and the next values take their place.
my $toast = $node->safe_psql('postgres',
	q{SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 't'::regclass});
is( $node->safe_psql(
		'postgres',
		qq{VACUUM t; SELECT pg_relation_size('$toast') AS size \\gset\nUPDATE t SET c = noise(200, -id); VACUUM t; UPDATE t SET c = noise(200, id); VACUUM t; SELECT pg_relation_size('$toast') <= :size + 2 * 8192}
	),
	't',
	'VACUUM removes the values of lost transactions');
is($node->safe_psql('postgres', sprintf $digest, 't'), $before{t}, 'the rows are still the same');
is($node->safe_psql('postgres', $sound), '', 'amcheck after the repair');

#
# Kill the server while sessions write, and while another one changes the settings.
#
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE busy (id int PRIMARY KEY, version int NOT NULL, n int DEFAULT 0, c text);
SELECT toast_policy.enable_out_of_line('busy', 128, 'c');
INSERT INTO busy SELECT -i, 0, 0, noise(50 + i * 37 % 400, i) FROM generate_series(1, 100) i;
SQL
# The id and the version determine the value.
my $value = q{noise(50 + (abs(id) * 37 + version * 11) % 400, abs(id) + version)};
my %scripts = (
	insert => join(
		'',
		map {
			my $from = $_ * 10;
			my $to = $from + 9;
			"INSERT INTO busy (id, version, c) SELECT id, version, $value FROM (SELECT id, 0 AS version FROM generate_series($from, $to) id) x;\n\\echo $from $to 0\n"
		} 1 .. 3000),
	update => join(
		'',
		map {
			my $version = $_;
			map {
					"UPDATE busy SET version = $version, c = "
				  . $value =~ s/version/$version/gr
				  . " WHERE id = -$_;\nUPDATE busy SET n = n + 1 WHERE id = -$_;\n\\echo -$_ -$_ $version\n"
			} 1 .. 100
		} 1 .. 100),
	rollback =>
	  "BEGIN; UPDATE busy SET c = noise(300, 0) WHERE id BETWEEN -60 AND -50; INSERT INTO busy SELECT id + 100000, 0, 0, c FROM busy WHERE id < -90; ROLLBACK;\n"
	  x 5000,
	settings => join(
		'',
		"SELECT toast_policy.enable_out_of_line('busy', 128, 'c');\nSELECT toast_policy.recompress('busy');\n",
		"SELECT toast_policy.enable_out_of_line('busy', 400);\nVACUUM FULL busy;\nSELECT toast_policy.disable('busy');\nVACUUM busy;\n\\echo round\n"
	) x 1000);
for my $round (1, 2)
{
	my (%logs, @clients);

	for my $name (sort keys %scripts)
	{
		my $file = $node->basedir . "/$name.sql";

		append_to_file($file, $scripts{$name}) if !-e $file;
		push @clients,
		  IPC::Run::start(
			[
				'psql', '-X', '-q', '-At', '-v', 'ON_ERROR_STOP=1', '-f', $file,
				$node->connstr('postgres')
			],
			'<',
			\undef,
			'>',
			\$logs{$name},
			'2>',
			\$logs{"$name.err"});
	}
	usleep(1_500_000 * $round);
	kill_all($node);
	$_->finish for @clients;
	$node->start;
	unlike($logs{"$_.err"}, qr/ERROR/, "crash $round: $_ had no error") for sort keys %scripts;

	my %version;
	for my $line (map { split /\n/ } @logs{ 'insert', 'update' })
	{
		my ($from, $to, $version) = $line =~ /^(-?\d+) (-?\d+) (\d+)$/ or next;
		$version{$_} = $version for $from .. $to;
	}
	my %rows = map { split /\|/ } split /\n/,
	  $node->safe_psql('postgres', 'SELECT id, version FROM busy');
	my @lost =
	  grep { !exists $rows{$_} || $rows{$_} < $version{$_} } sort { $a <=> $b } keys %version;
	cmp_ok(scalar(keys %version), '>', 20, "crash $round: transactions committed");
	like($logs{settings}, qr/round/, "crash $round: the settings have changed");
	is("@lost", '', "crash $round: no committed row is lost");
	is($node->safe_psql('postgres', "SELECT count(*) FROM busy WHERE c IS DISTINCT FROM $value"),
		'0', "crash $round: every value belongs to its row");
	$node->safe_psql('postgres', q{SELECT toast_policy.enable_out_of_line('busy', 128, 'c')});
	is($node->safe_psql('postgres', q{SELECT * FROM toast_policy.check('busy', true)}),
		'', "crash $round: amcheck");
	$node->safe_psql('postgres', q{VACUUM FULL busy});
	is( $node->safe_psql(
			'postgres',
			q{SELECT values_outside('busy') - count(*) FILTER (WHERE octet_length(c) >= 127) FROM busy}
		),
		'0',
		"crash $round: where the values are");
	$node->safe_psql('postgres',
		'DELETE FROM busy WHERE id > 0; UPDATE busy SET version = 0, c = noise(50 + (abs(id) * 37) % 400, abs(id))'
	);
}

#
# Damage
#

# Each row has two integers and a pointer.  Row I of table KIND_small is damaged like row I of
# KIND_heap, whose values are large.
my %damage = (
	value => [ table => sub { substr($_[0], $_[1] + 8 + 10, 4) = pack 'V', 1 } ],
	raw_size => [ table => sub { substr($_[0], $_[1] + 8 + 2, 4) = pack 'V', 50 } ],
	chunk_gone => [ toast => undef ],
	chunk_number => [ toast => sub { substr($_[0], $_[1] + 4, 4) = pack 'V', 77 } ],
	chunk_length => [ toast => sub { substr($_[0], $_[1] + 8, 4) = pack 'V', 20 << 2 } ]);
for my $kind (sort keys %damage)
{
	for my $how (qw(small heap))
	{
		# Both values have one chunk.
		my $size = $how eq 'small' ? 300 : 1950;

		$node->safe_psql('postgres', <<"SQL");
CREATE TABLE ${kind}_$how (id int PRIMARY KEY, n int, c text, rest text);
ALTER TABLE ${kind}_$how ALTER c SET STORAGE EXTERNAL, ALTER rest SET STORAGE MAIN;
@{[ $how eq 'small' ? "SELECT toast_policy.enable_out_of_line('${kind}_small', 128, 'c');" : '' ]}
INSERT INTO ${kind}_$how SELECT i, 0, noise($size, i), noise(100, i) FROM generate_series(1, 3) i;
SQL
		is($node->safe_psql('postgres', "SELECT values_outside('${kind}_$how')"),
			'3', "${kind}_$how: the values are out of line");
	}
}
my %path = map { split /\|/, $_, 2 } split /\n/,
  $node->safe_psql('postgres',
	q{SELECT relname, pg_relation_filepath(oid), pg_relation_filepath(reltoastrelid) FROM pg_class WHERE relname ~ '_(small|heap)$'}
  );
$node->stop;
for my $name (sort keys %path)
{
	my ($kind, $how) = $name =~ /^(.*)_(\w+)$/;
	my ($which, $damage) = @{ $damage{$kind} };
	my ($table, $toast) = split /\|/, $path{$name};
	my $file = $node->data_dir . '/' . ($which eq 'table' ? $table : $toast);
	my $content = slurp_file($file);
	# the second row of the table, or its value
	my $place = 24 + 4;
	my $tuple = unpack('V', substr $content, $place, 4) & 0x7fff;

	if   ($damage) { $damage->($content, $tuple + ord substr $content, $tuple + 22, 1); }
	else           { substr($content, $place, 4) = pack 'V', 0; }
	open my $handle, '+<:raw', $file or die "could not open $file: $!";
	print $handle $content;
	close $handle;
}
$node->start;

# Return the result of a statement, without numbers and the names of the tables.
sub result
{
	my ($name, $statement) = @_;
	my ($ret, $stdout, $stderr) = $node->psql('postgres', $statement =~ s/\@/$name/gr);

	# Replace only the numbers of the error, which are sizes and object identifiers.
	$stderr =~ s/\d+/N/g;
	return "$ret $stdout $stderr" =~ s/\Q$name\E/table/gr =~ s/psql:<stdin>:N: //gr;
}
for my $kind (sort keys %damage)
{
	my $errors = 0;

	for my $statement (
		'SELECT id, n FROM @ ORDER BY id',
		'SELECT left(c, 5) FROM @ ORDER BY id',
		'SELECT c IS NOT NULL, octet_length(c) > 0 FROM @ ORDER BY id',
		'SELECT c = noise(octet_length(c), id) FROM @ WHERE id = 2',
		'COPY (SELECT id, left(c, 10) FROM @) TO stdout',
		'UPDATE @ SET n = n + 1 RETURNING id, n',
		"UPDATE \@ SET c = c || 'x' WHERE id = 2 RETURNING left(c, 5)",
		'CREATE TABLE copy_of_@ AS SELECT id, left(c, 5) FROM @',
		'VACUUM FULL @',
		'VACUUM @',
		'ANALYZE @ (id)',
		'CREATE INDEX ON @ (md5(c))',
		'CREATE INDEX ON @ (n)',
		'BEGIN; DELETE FROM @ WHERE id = 2 RETURNING id; ROLLBACK',
		"UPDATE \@ SET c = 'repaired' WHERE id = 2 RETURNING id, c",
		'SELECT id, n, left(c, 8) FROM @ ORDER BY id')
	{
		my ($small, $heap) = map { result("${kind}_$_", $statement) } qw(small heap);

		$errors++ if $small =~ /ERROR/;
		is($small, $heap, "$kind: $statement");
	}
	cmp_ok($errors, '>', 2, "$kind: statements that read the value fail") if $kind ne 'raw_size';
	is( $node->safe_psql(
			'postgres',
			"VACUUM FULL ${kind}_small; SELECT * FROM toast_policy.check('${kind}_small', true)"),
		'',
		"$kind: repaired");
}

$node->stop;
done_testing();
