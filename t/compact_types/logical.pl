# Check logical replication of columns of compact types, in text and in binary format, with every
# kind of replica identity, and between a compact type and its wide type.  The subscriber must have
# the rows of the publisher.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::CompactTypesSamples;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical', extra => [ '--encoding=UTF8', '--locale=C' ]);
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
for my $node ($publisher, $subscriber)
{
	$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
max_worker_processes = 20
max_logical_replication_workers = 12
wal_retrieve_retry_interval = 100ms
CONF
	$node->start;
}
my $create_extensions = join '', map { "CREATE EXTENSION $_;\n" } @extensions;

# Each sample type has a column in these tables
#	same		which has a primary key of another type,
#	whole		whose rows are identified by all their columns,
#	to_wide		whose columns are of the wide type on the subscriber,
#	from_wide	whose columns are of the wide type on the publisher,
# and a table key_TYPE with the compact column as its key.
sub tables
{
	my ($subscribed) = @_;
	my ($to, $from) = $subscribed ? ('wide', 'type') : ('type', 'wide');
	my $compact = join ', ', map { "$_->{type} $_->{type}" } @samples;
	my $arrays = join ', ', map { "array_$_->{type} $_->{type}\[]" } @samples;
	($to, $from) = map {
		my $side = $_;
		join ', ', map { "$_->{type} $_->{$side}" } @samples
	} $to, $from;
	return
	  <<"SQL" . join '', map { "CREATE TABLE key_$_->{type} (v $_->{type} PRIMARY KEY, n int);\n" } @samples;
CREATE TABLE same (id int PRIMARY KEY, $compact, $arrays);
CREATE TABLE whole (id int, $compact);
ALTER TABLE whole REPLICA IDENTITY FULL;
CREATE TABLE to_wide (id int PRIMARY KEY, $to);
CREATE TABLE from_wide (id int PRIMARY KEY, $from);
SQL
}

# Return SQL that inserts the rows of all tables for a range of numbers.
sub rows
{
	my ($from, $to) = @_;
	my $values = join ', ', map { $_->{expr} } @samples;
	my $arrays = join ', ', map { "ARRAY[$_->{expr}, NULL]::$_->{type}\[]" } @samples;
	my $numbers = "generate_series($from, $to) i";
	return
	  <<"SQL" . join '', map { "INSERT INTO key_$_->{type} SELECT $_->{expr}, i FROM $numbers;\n" } @samples;
INSERT INTO same SELECT i, $values, $arrays FROM $numbers;
INSERT INTO whole SELECT i, $values FROM $numbers;
INSERT INTO to_wide SELECT i, $values FROM $numbers;
INSERT INTO from_wide SELECT i, $values FROM $numbers;
SQL
}

my @tables = ('same', 'whole', 'to_wide', 'from_wide', map { "key_$_->{type}" } @samples);
# In binary format, replicate only columns whose types have the same binary format on both sides.
my $columns = join ', ', 'id', map { $_->{type} } grep { $_->{binary} } @samples;
my %lists = (to_wide => $columns, from_wide => $columns);

$publisher->safe_psql('postgres', $create_extensions . tables(0) . rows(1, 40));
$publisher->safe_psql('postgres',
	'CREATE PUBLICATION pub_text FOR ALL TABLES; CREATE PUBLICATION pub_binary FOR TABLE '
	  . join(', ', map { $lists{$_} ? "$_ ($lists{$_})" : $_ } @tables));

my %subscriptions = (text => 'streaming = off', binary => 'binary = true');
my $connstr = $publisher->connstr . ' dbname=postgres';
for my $format (sort keys %subscriptions)
{
	$subscriber->safe_psql('postgres', "CREATE DATABASE by_$format");
	$subscriber->safe_psql("by_$format", $create_extensions . tables(1));
	$subscriber->safe_psql("by_$format",
		"CREATE SUBSCRIPTION sub_$format CONNECTION '$connstr' PUBLICATION pub_$format WITH ($subscriptions{$format})"
	);
}

sub catch_up
{
	$publisher->wait_for_catchup("sub_$_") for sort keys %subscriptions;
}

# Return the contents of all tables of a database, by table.
sub contents
{
	my ($node, $db, $format) = @_;
	my $output = $node->safe_psql(
		$db,
		join '',
		map {
			my $list = $format eq 'binary' && $lists{$_} || '*';
			"SELECT '=$_'; SELECT t::text FROM (SELECT $list FROM $_) t ORDER BY 1;\n";
		} @tables);
	return $output =~ /^=(\w+)\n([^=]*)/mg;
}

sub compare
{
	my ($what) = @_;
	for my $format (sort keys %subscriptions)
	{
		my %here = contents($subscriber, "by_$format", $format);
		my %there = contents($publisher, 'postgres', $format);

		is($here{$_}, $there{$_}, "$format: $_ has the same rows after $what") for @tables;
	}
}

for my $format (sort keys %subscriptions)
{
	$subscriber->wait_for_subscription_sync($publisher, "sub_$format", "by_$format");
}
compare('the first copy');

# value(SAMPLE, N) - return SQL for the N-th value, where N is an SQL expression
sub value
{
	my ($sample, $n) = @_;
	return $sample->{expr} =~ s/\bi\b/($n)/gr;
}

# assignments(N) - return SQL that assigns the N-th value to the columns of all samples
sub assignments
{
	my ($n) = @_;
	return join ', ', map { "$_->{type} = " . value($_, $n) } @samples;
}
$publisher->safe_psql('postgres', rows(41, 45) . <<"SQL");
INSERT INTO same (id) VALUES (1000);
INSERT INTO whole (id) VALUES (1000);
INSERT INTO to_wide (id) VALUES (1000);
INSERT INTO from_wide (id) VALUES (1000);
UPDATE same SET ${\assignments('id + 50')} WHERE id % 3 = 0;
UPDATE whole SET ${\assignments('id + 50')} WHERE id % 3 = 0;
UPDATE whole SET id = -id WHERE id % 3 = 1;
UPDATE to_wide SET ${\assignments('id + 50')} WHERE id % 3 = 0;
UPDATE from_wide SET ${\assignments('id + 50')} WHERE id % 3 = 0;
DELETE FROM same WHERE id % 5 = 0;
DELETE FROM whole WHERE id % 5 = 0;
DELETE FROM to_wide WHERE id % 5 = 0;
DELETE FROM from_wide WHERE id % 5 = 0;
SQL
for my $sample (@samples)
{
	my $table = "key_$sample->{type}";

	$publisher->safe_psql('postgres', <<"SQL");
UPDATE $table SET v = ${\value($sample, 'n + 50')} WHERE n % 3 = 0;
UPDATE $table SET n = -n WHERE n % 3 = 1;
DELETE FROM $table WHERE v = CAST(${\value($sample, 7)} AS $sample->{type});
SQL
	is($publisher->safe_psql('postgres', "SELECT count(*), sum(n), sum(abs(n)) FROM $table"),
		'44|382|1028', "$table was changed on the publisher");
}
catch_up();
compare('changes');

unlike(slurp_file($subscriber->logfile), qr/ERROR/, 'no error on the subscriber');

$_->stop for $subscriber, $publisher;
done_testing();
