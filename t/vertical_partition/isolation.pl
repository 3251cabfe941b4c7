# Run the isolation specs of vertical_partition on a plain table, and on tables split by each
# method.  On all tables, the sessions must wait for each other, read and fail in the same way.
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
my @specs = (
	glob("$top/specs/vertical_partition_*.spec"),
	$major >= 17 ? "$top/t/vertical_partition/merge_statement.spec" : ());
@specs = grep { !/_select\.spec$/ } @specs if $major < 19;

# If another session has changed or deleted the row meanwhile, MERGE on a split table cannot change
# from one kind of action to another, because a trigger has already been called for the first
# action.  The application must retry such a MERGE, also in READ COMMITTED.
my %retried = map { $_ => 1 } 's1_both s2_choose s1_c', 's1_del s2_upsert s1_c',
  's1_move s2_upsert s1_c';

# Append these files to the specs.  The files in specs/ have one permutation for each behaviour,
# with expected output.  These files add many more permutations, without expected output.  For them,
# the output for the plain table is the expected output.
my %rest = map { ("vertical_partition_$_" => "$top/t/vertical_partition/isolation/$_.spec") }
  qw(conflict key update);

# Conflicts with the other session may cause these errors.  Any other error would be a mistake in a
# step.
my $conflict =
  qr/could not (?:serialize access|obtain lock on row)|deadlock detected|duplicate key value|violates foreign key constraint/;

# expand(LINE) - return the lines that LINE abbreviates: "a_{b,c}" means "a_b" and "a_c"
sub expand
{
	my ($before, $choices, $after) = $_[0] =~ /^(.*?)\{(.*?)\}(.*)/s or return $_[0];

	return map { expand("$before$_$after") } split /,/, $choices;
}

# whole_spec(FILE...) - return one spec made of several files, without duplicate
# permutations, and the number of its permutations
sub whole_spec
{
	my ($text, %seen, @permutations) = ('');

	foreach (map { split /^/, slurp_file($_) } @_)
	{
		if (/^permutation /)
		{
			push @permutations, grep { !$seen{$_}++ } expand($_);
		}
		else { $text .= $_ }
	}
	return ($text . join('', @permutations), scalar @permutations);
}

my $node = partition_node('isolation', "max_prepared_transactions = 0\nautovacuum = off\n");
for my $method ('plain', @partition_methods)
{
	$node->safe_psql('postgres', "CREATE DATABASE $method");
	$node->safe_psql($method,
		"CREATE EXTENSION vertical_partition; ALTER DATABASE $method SET test.method = '$method'");
}

for my $spec (@specs)
{
	my $name = basename($spec, '.spec');
	# Version 19 has its own messages.  The alternative expected file has the messages
	# of the other versions.
	my ($file) = grep { -e } ($major < 19 ? "$top/expected/${name}_1.out" : ()),
	  "$top/expected/$name.out";
	my ($whole, $permutations) = whole_spec($spec, $rest{$name} // ());
	my %output;

	for my $method ('plain', @partition_methods)
	{
		local $ENV{PGAPPNAME} = "isolation/$name";
		my $err;

		IPC::Run::run([ $tester, $node->connstr($method) ],
			'<', \$whole, '>', \$output{$method}, '2>', \$err);
		is($?, 0, "$name, $method: runs") or diag $err;
		# Locks on a split table are locks on its parts, so the output names the parts.
		$output{$method} =~ s{"vp_(?:hot|cold)"}{"vp"}g;
		append_to_file("${PostgreSQL::Test::Utils::tmp_check}/$name.$method.out", $output{$method});
		is($err, '', "$name, $method: the tester reports no error");

		# Compare one permutation at a time, because the whole output is long.
		my ($expected, $got) =
		  map { [ split /\n(?=\nstarting permutation)/, $_ ] }
		  $method eq 'plain'
		  ? ($file ? slurp_file($file) =~ s{"vp_(?:hot|cold)"}{"vp"}gr : $output{plain})
		  : $output{plain}, $output{$method};
		# The last permutation ends with an empty line.  From the other permutations, split() has
		# removed this line.
		chomp($_->[-1]) foreach grep { @$_ } $expected, $got;
		my $different = @$got == 1 + $permutations ? 0 : 1;
		for my $i (0 .. $#$expected)
		{
			next if $expected->[$i] eq ($got->[$i] // '');
			next
			  if $name =~ /merge/
			  && $expected->[$i] =~ /^starting permutation: s1_b (.*) s1_see$/m
			  && $retried{$1}
			  && ($got->[$i] // '') =~
			  /ERROR:  could not serialize access due to concurrent update/;
			diag "expected: $expected->[$i]", "\n$method: ", $got->[$i] // 'nothing'
			  if ++$different <= 5;
		}
		is($different, 0,
				"$name, $method: as "
			  . ($method eq 'plain' ? 'expected' : 'the plain table') . ', '
			  . $#$got
			  . ' permutations');
		is(join('', grep { !/$conflict/ } $output{plain} =~ /^(ERROR:.*\n)/mg),
			'', "$name, plain: no error but those of conflicts")
		  if $method eq 'plain';
	}
}
$node->stop;
done_testing();
