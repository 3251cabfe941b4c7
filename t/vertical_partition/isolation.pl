# Run the isolation specs of vertical_partition on a plain table, and on one split by
# each method.  The sessions must wait for each other, read and fail in the same way.
use strict;
use warnings FATAL => 'all';

use FindBin;
use File::Basename;
use IPC::Run ();
use lib "$FindBin::RealBin/../lib";
use PgDense::Partition;
use PostgreSQL::Test::Utils;
use Test::More;

my ($major) = `pg_config --version` =~ /(\d+)/;
my $tester = dirname(dirname($ENV{PG_REGRESS})) . '/isolation/isolationtester';
my $top = dirname(dirname($FindBin::RealBin));
my @specs = (glob("$top/specs/vertical_partition_*.spec"), $major >= 17 ? "$top/t/vertical_partition/merge_statement.spec" : ());
@specs = grep { !/_select\.spec$/ } @specs if $major < 19;

# A MERGE cannot change from one kind of action to another when the row was changed or
# deleted meanwhile, because a trigger has already been called for the first action.
# The application must retry it, in READ COMMITTED, too.
my %retried = map { $_ => 1 } 's1_both s2_choose s1_c', 's1_del s2_upsert s1_c', 's1_move s2_upsert s1_c';

my $node = partition_node('isolation', "max_prepared_transactions = 0\nautovacuum = off\n");
for my $method ('plain', @partition_methods)
{
	$node->safe_psql('postgres', "CREATE DATABASE $method");
	$node->safe_psql($method, "CREATE EXTENSION vertical_partition; ALTER DATABASE $method SET test.method = '$method'");
}

for my $spec (@specs)
{
	my $name = basename($spec, '.spec');
	# Version 19 has its own messages.  The alternative expected file has those of the
	# others.
	my ($file) = grep { -e } ($major < 19 ? "$top/expected/${name}_1.out" : ()), "$top/expected/$name.out";
	my %output;

	for my $method ('plain', @partition_methods)
	{
		local $ENV{PGAPPNAME} = "isolation/$name";
		my $err;

		IPC::Run::run([ $tester, $node->connstr($method) ], '<', $spec, '>', \$output{$method}, '2>', \$err);
		is($?, 0, "$name, $method: runs") or diag $err;
		# Locks are those of the parts.
		$output{$method} =~ s{"vp_(?:hot|cold)"}{"vp"}g;
		append_to_file("${PostgreSQL::Test::Utils::tmp_check}/$name.$method.out", $output{$method});
		is($err, '', "$name, $method: the tester reports no error");

		# Compare one permutation at a time, because the whole output is long.
		my ($expected, $got) = map { [ split /\n(?=\nstarting permutation)/, $_ ] } $method eq 'plain' ? ($file ? slurp_file($file) =~ s{"vp_(?:hot|cold)"}{"vp"}gr : $output{plain}) : $output{plain}, $output{$method};
		my $different = @$expected == @$got ? 0 : 1;
		for my $i (0 .. $#$expected)
		{
			next if $expected->[$i] eq ($got->[$i] // '');
			next if $name =~ /merge/ && $expected->[$i] =~ /^starting permutation: s1_b (.*) s1_see$/m && $retried{$1}
			  && ($got->[$i] // '') =~ /ERROR:  could not serialize access due to concurrent update/;
			diag "expected: $expected->[$i]", "\n$method: ", $got->[$i] // 'nothing' if ++$different <= 5;
		}
		is($different, 0, "$name, $method: as " . ($method eq 'plain' ? 'expected' : 'the plain table') . ', ' . @$got . ' permutations');
	}
}
$node->stop;
done_testing();
