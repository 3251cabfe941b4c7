# Check that a Python program with psycopg 3 reads and writes compact types: see
# t/python/compact_types_psycopg.py.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgDense::CompactTypesSamples;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('psycopg');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\n");
$node->start;
$node->safe_psql('postgres', join '', map { "CREATE EXTENSION $_;\n" } @extensions);

my ($stdout, $stderr) = ('', '');
my $samples = samples_json();
my $result = IPC::Run::run(
	[
		'/usr/bin/python3', "$FindBin::RealBin/../python/compact_types_psycopg.py",
		$node->connstr('postgres')
	],
	'<',
	\$samples,
	'>',
	\$stdout,
	'2>',
	\$stderr);

for (split /\n/, $stdout)
{
	/^ok - (.*)/ ? pass($1) : fail($_);
}
cmp_ok(scalar(() = $stdout =~ /^/mg), '>=', 10 * @samples, 'the program checked all types');
is($stderr, '', 'nothing on stderr');
ok($result, 'the program succeeds');

$node->stop;
done_testing();
