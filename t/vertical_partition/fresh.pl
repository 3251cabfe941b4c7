# Run each statement of t/vertical_partition/same.sql in its own connection, where nothing has
# loaded the library before.  If the library is preloaded, as split() recommends, the result must be
# that of the plain table.  Without preloading, the result must be the same, or an error.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Partition;
use PostgreSQL::Test::Utils;
use Test::More;

# errors of a statement that needs the library and runs without it
my ($unloaded) = map { qr/$_/ } join '|',
  'ERROR:  55000: library "vertical_partition" was not loaded when the statement began',
  'ERROR:  42P10: there is no unique or exclusion constraint matching the ON CONFLICT specification',
  'ERROR:  42809: cannot copy from view',
  'ERROR:  42809: "\w+" is not a table',
  'WARNING:  01000: skipping "\w+" --- cannot (?:vacuum|analyze) non-tables',
  # in a transaction that failed in this way
  'ERROR:  25P02: ';

# Statements that need one session together: transactions, prepared statements,
# settings, held cursors.  A group has a first and a last statement.
my @regions = (
	[ qr/^DECLARE .* WITH HOLD/, qr/^CLOSE/ ],
	[ qr/^(?:BEGIN|START)\b/, qr/^(?:COMMIT|ROLLBACK|PREPARE TRANSACTION)\b(?! TO)/ ],
	[ qr/^PREPARE (?!TRANSACTION)/, qr/^DEALLOCATE/ ],
	[ qr/^SET (?!CONSTRAINTS)/, qr/^RESET/ ]);

sub sessions
{
	my (@sessions, @open);
	my @statements = same_statements();

	for my $i (0 .. $#statements)
	{
		my ($before, $text) = ($i > 0 ? $statements[ $i - 1 ][1] : '', $statements[$i][1]);

		push @sessions, [] if !@open && !($before =~ /^RESET/ && $text =~ /^RESET/);
		push @{ $sessions[-1] }, $statements[$i];
		for (@regions)
		{
			if    (@open && $open[-1] == $_->[1] && $text =~ $_->[1]) { pop @open }
			elsif ($text =~ $_->[0] && !grep({ $_ == $regions[3][1] } @open))
			{
				push @open, $_->[1];
			}
		}
	}
	return @sessions;
}

# script(DATABASE[, EXPECTED]) - return a script for psql.  EXPECTED is the output of the plain
# table.  If it is given, the script repeats statements that fail only on the split table, with the
# library preloaded.
sub script
{
	my ($database, $expected) = @_;
	my $script = "\\set VERBOSITY verbose\n\\set SHOW_CONTEXT never\n";

	for my $session (sessions())
	{
		my @lines = map { "\\echo \@\@ $_->[0]\n$_->[1]" } @$session;
		# If COPY fails, psql would run its input as commands, so do not repeat sessions with COPY.
		my $fails = !$expected
		  || grep { /ERROR:/ }
		  map { $_->[1] =~ /FROM stdin/ ? 'ERROR:' : @{ $expected->{ $_->[0] } } } @$session;

		$script .= "\\c -reuse-previous=on \"dbname=$database options=''\"\n\\set failed false\n";
		$script .= $_ . ($fails ? '' : "\\if :ERROR\n\\set failed true\n\\endif\n") for @lines;
		next if $fails;
		$script .=
		  "\\if :failed\n\\c -reuse-previous=on \"dbname=$database options='-c session_preload_libraries=vertical_partition'\"\n";
		$script .= "\\echo \@\@ again $session->[0][0]\n" . join('', @lines) . "\\endif\n";
	}
	return $script;
}

my $node = partition_node('fresh');
my @known = map { @$_ } sessions();

# run_script(DATABASE, SCRIPT) - return two hashes: {LINE => [output...]} of all statements, and
# {LINE => first output} of the statements that were repeated
sub run_script
{
	my ($database, $script) = @_;
	my ($raw, $line, %last, %first) = (psql_output($node, $database, $script));

	append_to_file("${PostgreSQL::Test::Utils::tmp_check}/$database.out", $raw);
	for (split /^/, $raw)
	{
		next if /^You are now connected / || /^\@\@ again /;
		if (/^\@\@ (\d+)$/)
		{
			$line = $1;
			$first{$line} = $last{$line} if defined $last{$line};
			$last{$line} = '';
		}
		elsif (defined $line) { $last{$line} .= $_ }
	}
	return (same_outputs(join '', map { "\@\@ $_\n$last{$_}" } keys %last), \%first);
}

partition_database($node, 'plain', 'plain');
my ($plain) = run_script('plain', script('plain'));
is(scalar(keys %$plain), scalar(@known), 'plain: all statements ran');
my $errors = grep {
	grep { /ERROR/ }
	  @$_
} values %$plain;
cmp_ok($errors, '<', @known / 2, "plain: $errors of " . @known . ' statements fail');

# comparable(STATEMENT, OUTPUT) - return the part of the output to compare
sub comparable
{
	my ($statement, $rows) = @_;
	my @rows = @{ $rows // ['no output'] };

	return join "\n",
	  $statement =~ /\bORDER BY\b/ && $statement !~ /RETURNING [^)]*$/ ? @rows : sort @rows;
}

for my $method (@partition_methods)
{
	for my $mode (qw(preloaded alone))
	{
		my ($database, $what) = ("${method}_$mode", "$method, $mode");
		my ($different, $silent, $refused) = (0, 0, 0);

		partition_database($node, $database, $method, $mode);
		my ($split, $first) =
		  run_script($database, script($database, $mode eq 'alone' ? $plain : undef));
		for (@known)
		{
			my ($line, $statement) = @$_;
			my ($known) = grep { $statement =~ $_->[0] } @same_differences;
			my ($expected, $got) = map { comparable($statement, $_->{$line}) } $plain, $split;

			if (defined $first->{$line} && $first->{$line} =~ /ERROR|WARNING/)
			{
				$refused++;
				next
				  if $first->{$line} =~ /$unloaded/
				  || grep { $statement =~ $_->[0] } @same_differences;
				diag sprintf "%s, line %d: %.300s\nsaid %.500s\n", $what, $line, $statement,
				  $first->{$line}
				  if ++$silent <= 5;
			}
			next if $known ? $got =~ $known->[1] : $got eq $expected;
			next if $mode eq 'alone' && $got =~ $unloaded;
			diag sprintf "%s, line %d: %.500s\nplain: %.1000s\nsplit: %.1000s\n", $what, $line,
			  $statement, $expected, $got
			  if ++$different <= 5;
		}
		is($different, 0,
			"$what: the answers are those of the plain table"
			  . ($mode eq 'alone' ? ', or an error' : ''));
		is($silent, 0, "$what: each failure is about the missing library, $refused of " . @known);
		parts_in_order($node, $database, $what);
	}
}
$node->stop;
done_testing();
