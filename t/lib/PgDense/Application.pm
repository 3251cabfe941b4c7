# PgDense::Application - a web shop on plain tables, and on tables that an extension has changed
#
# The shop (t/python/shop) uses Django, SQLAlchemy and psycopg 3.  The shop does the same steps on
# plain tables and on changed tables.  The shop writes the result of each step, the rows of each
# statement, and exceptions to a transcript.  The transcripts must be equal except for the
# differences that doc/compatibility.md names.  At the end the test reverts the change, and
# compares the schema with the schema of the plain tables.
package PgDense::Application;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use FindBin;
use IPC::Run ();
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(test_application $shop_tables $json);

our $json = JSON::PP->new->ascii->canonical->allow_nonref;
# all tables of the shop, as a table with the column "rel"
our $shop_tables =
  q{(SELECT format('%I.%I', schemaname, tablename)::regclass AS rel FROM pg_tables WHERE schemaname = 'public' ORDER BY 1)};

my $top = $ENV{PGDENSE_TOP} // "$FindBin::RealBin/../..";
my $python = "$top/build/venv/bin/python";
my $node;

# start_part(DATABASE, PART, CLIENT) - start a part of the program; return its handle
sub start_part
{
	my ($database, $part, $client) = @_;
	my %run = (name => "$database, $part", out => '', err => '');
	local %ENV = (
		%ENV,
		PGHOST => $node->host,
		PGPORT => $node->port,
		PGDATABASE => $database,
		PYTHONPATH => "$FindBin::RealBin/../python:$top/clients/python/src",
		PYTHONDONTWRITEBYTECODE => 1,
		PYTHONHASHSEED => 0);

	$run{handle} = IPC::Run::start([ $python, '-m', 'shop.application', $part, $client // 'none' ],
		'<', \undef, '>', \$run{out}, '2>', \$run{err},
		IPC::Run::timeout(5 * $PostgreSQL::Test::Utils::timeout_default));
	return \%run;
}

# finish_part(HANDLE) - wait for a part; return its transcript as a list of steps
sub finish_part
{
	my ($run) = @_;

	ok(IPC::Run::finish($run->{handle}), "$run->{name}: the program ends well") or diag $run->{err};
	return [ map { $json->decode($_) } split /\n/, $run->{out} ];
}

# dump_of(DATABASE, OPTION...) - return a dump without the lines that differ from dump to dump
sub dump_of
{
	my ($database, @options) = @_;
	my ($out, $err) = run_command([ 'pg_dump', @options, $node->connstr($database) ]);

	die "pg_dump of $database: $err" if $err ne '';
	# Leave out the extensions of the types that convert() has created.
	$out =~
	  s/^--\n-- Name: (?:EXTENSION )?compact_decimal\w+;.*\n--\n+(?:CREATE|COMMENT ON) EXTENSION .*\n+//mg;
	return $out =~ s/^\\(?:un)?restrict .*\n//mgr;
}

# sorted_dump_of(DATABASE, OPTION...) - return a dump like dump_of(), but sort the rows of each
# table
sub sorted_dump_of
{
	return dump_of(@_) =~
	  s/(^COPY [^\n]* FROM stdin;\n)(.*?)(?=^\\\.\n)/$1 . join '', sort split m{^}m, $2/msger;
}

# restored_schema(DATABASE) - return a dump of the schema, after a dump and a restore
sub restored_schema
{
	my ($database) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE restored_$database");
	$node->safe_psql("restored_$database", dump_of($database, '--schema-only'));
	return dump_of("restored_$database", '--schema-only');
}

# difference(DATABASE, DATABASE) - return the first lines that only one of their dumps has
sub difference
{
	my @dumps = map { [ split /\n/, dump_of($_) ] } @_;
	my @lines = map {
		my %other = map { $_ => 1 } @{ $dumps[ 1 - $_ ] };
		[ grep { !$other{$_} } @{ $dumps[$_] } ]
	} 0, 1;
	return map {
		"$_[$_]: " . join("\n", grep { defined } @{ $lines[$_] }[ 0 .. 19 ])
	} 0, 1;
}

# make_database(NAME, TEMPLATE, MODE) - make a copy of database TEMPLATE, with the mode's settings
sub make_database
{
	my ($database, $template, $mode) = @_;

	$node->safe_psql(
		'postgres', join ";\n",
		"CREATE DATABASE $database TEMPLATE $template",
		map { "ALTER DATABASE $database SET $_" } @{ $mode->{settings} // [] });
	return;
}

# back(DATABASE, MODE) - change the tables back, by the statements that the mode has for this
sub back
{
	my ($database, $mode) = @_;
	my ($code, $out, $err) = $node->psql($database, $mode->{back}[0]);

	return is($code, 0, "$database: $mode->{back}[1]") || diag $err;
}

# test_application(EXTENSION, MODES, DIFFERENCES) - run all tests, up to done_testing()
#
# MODES are the ways to change the tables, by the names of their databases:
# sql		statements that change the tables, run after the first part has written its data
# back		statements that change the tables back, and a name for these statements
# rebuilt	true if "back" rewrites tables: rows may be reordered, expressions are parsed anew
# changed	patterns of lines that "sql" prints, and the least number of each
# still		a query that runs at the end; it returns true if the tables are still changed
# settings	settings for ALTER DATABASE ... SET, made before "sql" runs
# client	"package" if the program uses the package of clients/python
#
# DIFFERENCES are the differences that are allowed:
# step		pattern of the steps' names
# seen		pattern of the step's result on changed tables, as JSON; or
# same		a function of a result; it must return the same for both results
# only		the only mode that may have the difference
# catalogs	true if the row counts of statements on catalogs may differ, too
# hash		true if "same" takes dictionaries, not only lists
# doc		words that doc/compatibility.md must contain
sub test_application
{
	my ($extension, $modes, $differences) = @_;
	my @modes = sort keys %$modes;
	my %modes = (%$modes, plain => {});

	if (!-x $python)
	{
		fail('Python packages are installed');
		diag("\"$python\" was not found, run \"tools/venv\"");
		done_testing();
		return;
	}

	$node = PostgreSQL::Test::Cluster->new('application');
	# A shop sorts text by the rules of a language, so use such a collation.
	$node->init(
		extra => [ '--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US' ]
	);
	$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\n");
	$node->start;

	# Run the first part once for all modes.
	$node->safe_psql('postgres', 'CREATE DATABASE plain');
	$node->safe_psql('plain', "CREATE EXTENSION $extension");
	my $begin = finish_part(start_part('plain', 'begin'));
	cmp_ok(scalar(@$begin), '>', 200, 'the first data are written');
	foreach my $name (@modes)
	{
		my $mode = $modes{$name};

		make_database($name, 'plain', $mode);
		my ($code, $out, $err) = $node->psql($name, $mode->{sql});
		is($code, 0, "$name: the tables are changed") or diag $err;
		foreach my $pattern (sort keys %{ $mode->{changed} })
		{
			cmp_ok(
				scalar(() = $out =~ /$pattern/mg),
				'>=',
				$mode->{changed}{$pattern},
				"$name: there is $pattern") or diag $out;
		}

		# Change the tables back at once, and test that schema and rows are those of the plain
		# tables.
		make_database("reverted_$name", $name, $mode);
		isnt(dump_of("reverted_$name"), dump_of('plain'), "$name: the change shows in a dump");
		back("reverted_$name", $mode);
		my ($dumped, $expected) =
		  map { $mode->{rebuilt} ? sorted_dump_of($_) : dump_of($_) } "reverted_$name", 'plain';
		ok($dumped eq $expected, "$name: $mode->{back}[1] gives the dump from before")
		  or diag difference('plain', "reverted_$name");
	}

	# Run the program on all databases at the same time.
	my %seen;
	foreach my $part ('go-on', 'migrate')
	{
		my %running = map { $_ => start_part($_, $part, $modes{$_}{client}) } sort keys %modes;
		push @{ $seen{$_} }, @{ finish_part($running{$_}) } foreach sort keys %modes;
	}
	cmp_ok(scalar(@{ $seen{plain} }), '>', 1200, 'there are steps');

	my $document = slurp_file("$top/doc/compatibility.md") =~ s/\s+/ /gr;
	foreach my $mode (@modes)
	{
		my %documented = compare($mode, $seen{plain}, $seen{$mode}, $differences);

		# Check this after the program and its migrations have run.
		is($node->safe_psql($mode, $modes{$mode}{still}),
			't', "$mode: the tables are still changed")
		  if defined $modes{$mode}{still};
		back($mode, $modes{$mode});
		my ($dumped, $expected) =
		  map { $modes{$mode}{rebuilt} ? restored_schema($_) : dump_of($_, '--schema-only') } $mode,
		  'plain';
		ok($dumped eq $expected,
			"$mode: $modes{$mode}{back}[1] at the end gives the schema of plain tables")
		  or diag difference('plain', $mode);
		foreach my $difference (@$differences)
		{
			next if ($difference->{only} // $mode) ne $mode;
			ok($documented{$difference},
				"$mode: there is still the difference: $difference->{doc}");
		}
	}
	foreach my $difference (@$differences)
	{
		cmp_ok(index($document, $difference->{doc}), '>=', 0, "documented: $difference->{doc}");
	}

	$node->stop;
	done_testing();
	return;
}

# is_known(ONE, TWO, MODE, DIFFERENCE) - return true if two steps differ only as DIFFERENCE allows
sub is_known
{
	my ($one, $two, $mode, $difference) = @_;
	my @results = ($one->{result}, $two->{result});
	my ($plain, $seen) = map { $json->encode($_) } @results;

	return 0 if $one->{step} !~ $difference->{step} || ($difference->{only} // $mode) ne $mode;
	# An error ends a step early, so the numbers of rows need not agree.
	if (!grep { /^\{"error"/ } $plain, $seen)
	{
		return 0 if $json->encode($one->{rows}) ne $json->encode($two->{rows});
		return 0
		  if $json->encode($one->{catalogs}) ne $json->encode($two->{catalogs})
		  && !$difference->{catalogs};
	}
	return $seen =~ $difference->{seen} if $difference->{seen};
	return 0
	  if ref $results[0] ne ref $results[1] || ref $results[0] eq 'HASH' && !$difference->{hash};
	return $seen eq $plain if !ref $results[0] || !$difference->{same};
	return $json->encode($difference->{same}->($results[0])) eq
	  $json->encode($difference->{same}->($results[1]));
}

# compare(MODE, PLAIN, OTHER, DIFFERENCES) - compare two transcripts; return the known differences
sub compare
{
	my ($mode, $plain, $other, $differences) = @_;
	my %documented;

	is_deeply(
		[ map { $_->{step} } @$other ],
		[ map { $_->{step} } @$plain ],
		"$mode: the same steps");
	my %steps;
	push @{ $steps{ $_->{step} } }, $_ foreach @$other;
	foreach my $one (@$plain)
	{
		my $two = shift @{ $steps{ $one->{step} } } or next;
		my ($expected, $got) = map { $json->encode([ @$_{ 'result', 'rows', 'catalogs' } ]) } $one,
		  $two;
		next if $expected eq $got;

		my ($known) = grep { is_known($one, $two, $mode, $_) } @$differences;
		if ($known)
		{
			$documented{$known}++;
			next;
		}
		# Show a few characters before the first difference, and the text after it.
		($expected ^ $got) =~ /^(\0*)/;
		my $from = length($1) > 60 ? length($1) - 60 : 0;
		fail("$mode: $one->{step}");
		diag("plain: " . substr($expected, $from, 400));
		diag("$mode: " . substr($got, $from, 400));
		diag("message: $_") foreach @{ $two->{messages} };
		diag("statement: " . substr($_, 0, 400)) foreach @{ $two->{statements} };
	}
	return %documented;
}

1;
