# Test vertical_partition.advise() for the whole database, while other sessions lock and drop tables,
# and with many tables.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Partition;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

# The server has room for only some hundred locks.
my $node = partition_node('advise', "max_locks_per_transaction = 10\nmax_connections = 10");
my $tables = $ENV{PGDENSE_SOAK} ? 10000 : 400;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION vertical_partition;
CREATE ROLE reader LOGIN;
CREATE TABLE a (id int PRIMARY KEY, n int, wide text);
CREATE TABLE b (LIKE a INCLUDING ALL);
CREATE TABLE c (LIKE a INCLUDING ALL);
INSERT INTO a SELECT i, i, repeat('w', 300) FROM generate_series(1, 100) i;
INSERT INTO b TABLE a;
INSERT INTO c TABLE a;
ANALYZE;
GRANT SELECT ON a, b TO reader;
SQL
my $advise =
  q{SELECT string_agg(relation::text, ' ' ORDER BY relation::text) FROM vertical_partition.advise(min_bytes => 0, min_updates => 0)};
is($node->safe_psql('postgres', $advise), 'a b c', 'all tables');
is($node->safe_psql('postgres', $advise, extra_params => [ '-U', 'reader' ]),
	'a b', 'a role gets the tables that it may read');

# A table that is locked is left out when lock_timeout ends the wait.
my $other = $node->background_psql('postgres');
$other->query_safe('BEGIN; LOCK TABLE b IN ACCESS EXCLUSIVE MODE');
is($node->safe_psql('postgres', "SET lock_timeout = '100ms'; $advise"),
	'a c', 'a locked table is left out');
my ($rc, $stdout, $stderr) =
  $node->psql('postgres',
	q{SET lock_timeout = '100ms'; SELECT * FROM vertical_partition.advise('b')});
like($stderr, qr/canceling statement due to lock timeout/, 'but not if it was asked for');
($rc, $stdout, $stderr) = $node->psql('postgres', "SET statement_timeout = '500ms'; $advise");
like($stderr, qr/canceling statement due to statement timeout/, 'advise() can be cancelled');

# A table that another session drops meanwhile is left out.
my $waiting = $node->background_psql('postgres');
$waiting->query_until(qr/begins/, "\\echo begins\n$advise;\n\\echo ends\n");
$node->poll_query_until('postgres', 'SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)')
  or die 'advise() does not wait';
$other->query_safe('DROP TABLE b; COMMIT');
like($waiting->query_until(qr/^ends$/m, ''), qr/^a c$/m, 'a dropped table is left out');
$_->quit foreach $waiting, $other;

# Many tables.  If advise() kept a lock on each of them, it would need more locks than the server has.
$node->safe_psql('postgres',
	q{DO $$ BEGIN FOR i IN 1 .. $tables LOOP EXECUTE format('CREATE TABLE many%s (id int PRIMARY KEY, n int, wide text)', i); COMMIT; END LOOP; END $$}
	  =~ s/\$tables/$tables/r);
my $begin = time;
is($node->safe_psql('postgres', $advise), 'a c', 'many tables without rows');
note sprintf '%d tables, each examined: %.1f s', $tables, time - $begin;
$begin = time;
is($node->safe_psql('postgres', 'SELECT count(*) FROM vertical_partition.advise()'),
	'0', 'many tables, all of them small');
note sprintf '%d tables, each too small: %.1f s', $tables, time - $begin;
$node->stop;

done_testing();
