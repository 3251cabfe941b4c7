# Run pg_upgrade from the distribution's server to this one.  Split tables must stay the same.
# pg_upgrade copies or links files unchanged, so row pointers stay right.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Partition;
use PgDense::Upgrade;
use Test::More;

my $old = start_old();
my ($tables, $split) = partition_tables();

$old->safe_psql('app',
	"ALTER DATABASE app SET session_preload_libraries = 'vertical_partition'; ALTER DATABASE app SET vertical_partition.declare_keys = on; CREATE EXTENSION vertical_partition;\n$tables$split"
);
$old->safe_psql('app',
	"UPDATE $_ SET wide = wide || 'x' WHERE id % 3 = 0; DELETE FROM $_ WHERE id % 11 = 0")
  foreach @partition_methods;
# Rewrite a cold part, so that its file is not the first one.
$old->safe_psql('app',
	q{ALTER TABLE row_pointer_cold SET UNLOGGED; ALTER TABLE row_pointer_cold SET LOGGED; SELECT vertical_partition.relink('row_pointer')}
);
my %contents = map { $_ => $old->safe_psql('app', partition_contents($_)) } @partition_methods;
my $parts =
  'SELECT relation, hot, cold, method, key_columns, columns, pointers_valid FROM vertical_partition.status ORDER BY relation::text';
my $parts_before = $old->safe_psql('app', $parts);

my $new = upgrade($old);
is($new->safe_psql('app', $parts), $parts_before, 'the same tables are split');
like($parts_before, qr/^row_pointer\|.*\|t$/m, 'the row pointers are valid');
for my $method (@partition_methods)
{
	is($new->safe_psql('app', partition_contents($method)),
		$contents{$method}, "$method: same rows");
	like(
		$new->safe_psql(
			'app', "SELECT t.*, count(*) FROM $method t GROUP BY t.id, t.k ORDER BY t.id LIMIT 1"),
		qr/^1\|k1\|/,
		"$method: GROUP BY of the key");
	is( $new->safe_psql(
			'app', "INSERT INTO $method (k, a) VALUES ('new', 5) RETURNING id, n, note, doubled"),
		'501|501|none|10',
		"$method: INSERT");
	$new->safe_psql('app',
		"UPDATE $method SET note = note || '!' WHERE id = 501; DELETE FROM $method WHERE id = 501");
	$new->safe_psql('app', "SELECT vertical_partition.merge('$method')");
	is($new->safe_psql('app', partition_contents($method)), $contents{$method}, "$method: merge()");
}
is( $new->safe_psql(
		'app',
		q{SELECT vertical_partition.split('row_pointer', '{note,wide}', 'row_pointer'); SELECT vertical_partition.relink('row_pointer')}
	),
	"row_pointer\n0",
	'a table can be merged and split again');

$new->stop;
done_testing();
