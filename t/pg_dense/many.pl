# A database with ten thousand tables: the report takes at most 60 seconds and 200 MB, whether it
# leaves them out as too small or looks at them.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('many');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\nshared_buffers = 256MB\n");
$node->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION compact_types; CREATE EXTENSION toast_policy; CREATE EXTENSION vertical_partition; CREATE EXTENSION pg_dense'
);
for my $n (0 .. 19)
{
	$node->safe_psql('postgres', <<"SQL");
DO \$\$ BEGIN
  FOR i IN $n * 500 + 1 .. $n * 500 + 500 LOOP
    EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY, t text, c char(10))', i);
    EXECUTE format('INSERT INTO t%s SELECT i, ''some words of a text '' || i, ''x'' FROM generate_series(1, 5) i', i);
  END LOOP;
END \$\$;
SQL
}

# try(ARGUMENTS) - the seconds and the megabytes of its own memory that a report takes; pages of
# shared buffers do not count, though the report is the first to touch them
sub try
{
	my ($arguments) = @_;
	my $out = $node->safe_psql('postgres', <<"SQL");
SELECT extract(epoch FROM clock_timestamp()) AS began \\gset
SELECT string_agg(reason, ', ') FROM dense.report($arguments) WHERE kind IN ('skipped', 'total');
SELECT extract(epoch FROM clock_timestamp()) - :began;
SELECT (regexp_match(pg_read_file('/proc/' || pg_backend_pid() || '/status'), 'RssAnon:\\s*([0-9]+)'))[1]::int / 1024;
SQL
	return split /\n/, $out;
}

my ($reasons, $seconds, $megabytes) = try('');
like($reasons, qr/10000 tables smaller than min_bytes/, 'small tables are counted');
note "they take $seconds s";
cmp_ok($megabytes, '>', 0, 'the memory is known');
cmp_ok($megabytes, '<=', 200, "and it is $megabytes MB");
($reasons, $seconds, $megabytes) = try('min_bytes => 0');
like($reasons, qr/; 10000 tables were examined/, 'small tables are looked at');
note "they take $seconds s";
cmp_ok($megabytes, '>', 0, 'the memory is known');
cmp_ok($megabytes, '<=', 200, "and it is $megabytes MB");
diag($reasons);

done_testing();
