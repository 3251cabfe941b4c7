# A web shop, with Django, SQLAlchemy and psycopg 3 (t/python/shop), does the same on
# plain tables and on converted ones: it writes what each step returned, the rows of
# each statement, and exceptions, to a transcript, and the two are equal but for the
# differences that doc/compatibility.md names.
#
# To add another way to change the tables: a line in %modes.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run ();
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = $ENV{PGDENSE_TOP} // "$FindBin::RealBin/..";
my $python = "$top/build/venv/bin/python";
my $json = JSON::PP->new->ascii->canonical->allow_nonref;

# sql		statements that change the tables after the first data are there
# loaders	what of t/python/shop/loaders.py the program registers then
# types		pattern of types that columns have then, and how many at least
my $tables = q{(SELECT format('%I.%I', schemaname, tablename)::regclass AS rel FROM pg_tables WHERE schemaname = 'public' ORDER BY 1)};
my $strings = "SELECT c.* FROM $tables t, compact_types.convert(rel, skip_blocked => true) c";
my %modes = (
	plain => { loaders => 'none' },
	# by default, which is strings
	converted => { loaders => 'none', sql => $strings, types => { compact_text => 25 } },
	# and numbers, by name
	numbers => {
		loaders => 'compact_types',
		sql => "$strings; " . qq{
			SELECT c.* FROM $tables t,
			  LATERAL (SELECT array_agg(column_name) AS columns FROM compact_types.advise(rel)
					   WHERE proposed_type ~ '^compact_decimal' OR column_name = 'rating' AND proposed_type = 'uint1') a,
			  LATERAL compact_types.convert(rel, columns, skip_blocked => true) c
			WHERE columns IS NOT NULL},
		types => { compact_text => 25, compact_decimal4 => 6, compact_decimal8 => 1, uint1 => 1 }
	},);

# What may differ in the modes "converted" and "numbers", or in one of them.
#
# step		pattern of the steps' names
# seen		pattern of what is seen there, as JSON; or
# same		a function of what both see, that returns what has to be equal
# doc		words of doc/compatibility.md
my @differences = (
	{
		doc => 'A converted column has a type name and an OID of its own',
		step => qr/: types$/,
		seen => qr/"str compact_text"/
	},
	{
		doc => 'SQLAlchemy warns of each type that it does not know',
		step => qr/^catalogs: warnings of /,
		seen => qr/^\[(?:"str Did not recognize type '(?:compact_\w+|uint1)' of column '\w+'",?)+\]$/
	},
	{
		doc => 'gives its columns no type',
		# name, type, nullable, default
		step => qr/^catalogs: columns of /,
		same => sub { [ map { [ @$_[ 0, 2 ], ($_->[3] // '') =~ s/::.*//r ] } @{ $_[0] } ] }
	},
	{
		doc => 'gives its columns no type',
		# name, null_ok, default, display size, precision, scale, field
		step => qr/^Django's catalogs: columns of /,
		same => sub { [ map { [ @$_[ 0, 1 ], ($_->[2] // '') =~ s/::.*//r ] } @{ $_[0] } ] }
	},
	{
		doc => 'A converted column has a type name and an OID of its own',
		step => qr/^driver: descriptions of /,
		same => sub { [ map { $_->[0] } @{ $_[0] } ] }
	},
	{
		doc => 'an array of a converted type is a `str`',
		only => 'converted',
		step => qr/(?:: array_agg|^declared: aggregates)$/,
		seen => qr/"str \{/
	},
	{
		doc => 'in binary format the result is `bytes`',
		only => 'converted',
		step => qr/^driver: binary results of /,
		seen => qr/"bytes /
	},
	{
		doc => 'the result of a decimal or a narrow integer is a `str`',
		only => 'numbers',
		step => qr/^driver: without loaders$/,
		same => sub { $json->decode($json->encode($_[0]) =~ s/"Decimal /"str /gr =~ s/,(\d+)\]/,"str $1"]/gr) }
	},
	{
		doc => '`Unknown PG numeric type`',
		only => 'numbers',
		step => qr/^Numeric: result/,
		seen => qr/^\{"error":"InvalidRequestError","text":"Unknown PG numeric type: \d+"\}$/
	},
	{
		doc => 'makes `+` of two of them an addition',
		step => qr/^reflected: concatenation$/,
		seen => qr/"sqlstate":"42883"/
	},
	{
		doc => 'returns `0.00` where a `numeric` returns `0`',
		only => 'numbers',
		step =>
		  qr/(?:revenue, discount|aggregate, default|function (?:coalesce (?:credit|weight.*)|greatest credit, integer|case credit|lag price, default)|raw, (?:coalesce|case)|columns (?:coalesce|case)|reflected: coalesce|tried: trigger)$/,
		hash => 1,
		same => sub { $json->decode($json->encode($_[0]) =~ s/("Decimal -?\d+)\.0+(?=")/$1/gr) }
	},
	{
		doc => '`coalesce`, `CASE`, `greatest` and `least` of two decimals of different types are refused',
		only => 'numbers',
		step => qr/(?:revenue, discount|function coalesce weight.*|raw, coalesce|columns coalesce|reflected: coalesce)$/,
		seen => qr/^\{"error":"ProgrammingError","sqlstate":"42846"\}$/
	},
	{
		doc => 'So are `UNION`, `INTERSECT` and `EXCEPT` of two decimal types',
		only => 'numbers',
		step => qr/: union of prices$/,
		seen => qr/^\{"error":"ProgrammingError","sqlstate":"42846"\}$/
	},
	{
		doc => 'A comparison of a decimal with a `float8`',
		only => 'numbers',
		step => qr/^driver: (?:server|raw), prepare=\w+: float$/,
		seen => qr/^\{"error":"UndefinedFunction","sqlstate":"42883"\}$/
	},
	{
		doc => 'A literal or an untyped parameter in a list that has more digits than the column',
		only => 'numbers',
		step => qr/^driver: \w+, prepare=\w+: texts in, of decimals$/,
		seen => qr/^\{"error":"NumericValueOutOfRange","sqlstate":"22003"\}$/
	},
	{
		doc => 'A decimal does not check the precision of the `numeric(p,s)` that it replaces',
		only => 'numbers',
		step => qr/(?:price too large\.|price too large when rounded\.|discount 10\.|COPY FROM, too large|declared: too large)$/,
		seen => qr/^(?!\{"error")/
	},
	{
		doc => 'A value that a CHECK constraint would refuse may be out of the type\'s range before',
		only => 'numbers',
		step => qr/^writes, \w+: rating (?:300|too large)\.$/,
		seen => qr/^\{"error":"DataError","sqlstate":"22003"\}$/
	},
	{
		doc => '`RETURN QUERY`',
		step => qr/^tried: function that returns rows$/,
		seen => qr/^\{"error":"ProgrammingError","sqlstate":"42804"\}$/
	},);

if (!-x $python)
{
	fail('Python packages are installed');
	diag("\"$python\" was not found, run \"tools/venv\"");
	done_testing();
	exit;
}

my $node = PostgreSQL::Test::Cluster->new('application');
# The collation of a language, as a shop has it.
$node->init(extra => [ '--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US' ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\n");
$node->start;

# start_part(DATABASE, PART, LOADERS) - let the program do a part; its handle
sub start_part
{
	my ($database, $part, $loaders) = @_;
	my %run = (name => "$database, $part", out => '', err => '');
	local %ENV = (
		%ENV,
		PGHOST => $node->host,
		PGPORT => $node->port,
		PGDATABASE => $database,
		PYTHONPATH => "$FindBin::RealBin/python",
		PYTHONDONTWRITEBYTECODE => 1,
		PYTHONHASHSEED => 0);

	$run{handle} = IPC::Run::start(
		[ $python, '-m', 'shop.application', $part, $loaders ],
		'<', \undef, '>', \$run{out}, '2>', \$run{err}, IPC::Run::timeout(5 * $PostgreSQL::Test::Utils::timeout_default));
	return \%run;
}

# Its transcript, as a list of steps.
sub finish_part
{
	my ($run) = @_;

	ok(IPC::Run::finish($run->{handle}), "$run->{name}: the program ends well") or diag $run->{err};
	return [ map { $json->decode($_) } split /\n/, $run->{out} ];
}

# The dump of a database, but for what is different each time.
sub dump_of
{
	my ($database, @options) = @_;
	my ($out, $err) = run_command([ 'pg_dump', @options, $node->connstr($database) ]);

	die "pg_dump of $database: $err" if $err ne '';
	# Nor do the extensions of the types that convert() has created count.
	$out =~ s/^--\n-- Name: (?:EXTENSION )?compact_decimal\w+;.*\n--\n+(?:CREATE|COMMENT ON) EXTENSION .*\n+//mg;
	return $out =~ s/^\\(?:un)?restrict .*\n//mgr;
}

# The first lines that differ in two dumps.
sub difference
{
	my @dumps = map { [ split /\n/, dump_of($_, '--schema-only') ] } @_;
	my @lines = map { my %other = map { $_ => 1 } @{ $dumps[ 1 - $_ ] }; [ grep { !$other{$_} } @{ $dumps[$_] } ] } 0, 1;
	return map { "$_[$_]: " . join("\n", grep { defined } @{ $lines[$_] }[ 0 .. 19 ]) } 0, 1;
}

# The first part, once for all.
$node->safe_psql('postgres', 'CREATE DATABASE plain');
$node->safe_psql('plain', 'CREATE EXTENSION compact_types');
my $begin = finish_part(start_part('plain', 'begin', 'none'));
cmp_ok(scalar(@$begin), '>', 200, 'the first data are written');
foreach my $mode (grep { $_ ne 'plain' } sort keys %modes)
{
	$node->safe_psql('postgres', "CREATE DATABASE $mode TEMPLATE plain");
	my ($code, $out, $err) = $node->psql($mode, $modes{$mode}{sql});
	is($code, 0, "$mode: the tables are changed") or diag $err;
	foreach my $type (sort keys %{ $modes{$mode}{types} })
	{
		cmp_ok(scalar(() = $out =~ /\|\Q$type\E/g), '>=', $modes{$mode}{types}{$type}, "$mode: columns of $type");
	}

	# The way back, at once: the same schema and the same rows.
	$node->safe_psql('postgres', "CREATE DATABASE reverted_$mode TEMPLATE $mode");
	isnt(dump_of("reverted_$mode"), dump_of('plain'), "$mode: the change shows in a dump");
	$node->safe_psql("reverted_$mode", 'SELECT * FROM compact_types.revert_all()');
	ok(dump_of("reverted_$mode") eq dump_of('plain'), "$mode: revert_all() gives the dump from before")
	  or diag difference('plain', "reverted_$mode");
}

# All modes side by side.
my %seen;
foreach my $part ('go-on', 'migrate')
{
	my %running = map { $_ => start_part($_, $part, $modes{$_}{loaders}) } sort keys %modes;
	push @{ $seen{$_} }, @{ finish_part($running{$_}) } foreach sort keys %modes;
}
cmp_ok(scalar(@{ $seen{plain} }), '>', 1200, 'there are steps');

my %documented;
my $document = slurp_file("$top/doc/compatibility.md") =~ s/\s+/ /gr;
foreach my $mode (grep { $_ ne 'plain' } sort keys %modes)
{
	my ($plain, $other) = ($seen{plain}, $seen{$mode});

	is_deeply([ map { $_->{step} } @$other ], [ map { $_->{step} } @$plain ], "$mode: the same steps");
	foreach my $i (0 .. $#$plain)
	{
		my ($one, $two) = ($plain->[$i], $other->[$i] // {});
		my ($expected, $got) = map { $json->encode([ @$_{ 'result', 'rows' } ]) } $one, $two;
		next if $expected eq $got;

		my $result = $json->encode($two->{result});
		my ($known) = grep {
			my $d = $_;
			$one->{step} =~ $d->{step}
			  && ($d->{only} // $mode) eq $mode
			  && ($d->{seen}
				? $result =~ $d->{seen}
				: ref $two->{result} eq ($d->{hash} && ref $one->{result} eq 'HASH' ? 'HASH' : 'ARRAY') && $json->encode($d->{same}->($one->{result})) eq $json->encode($d->{same}->($two->{result})))
		} @differences;
		if ($known)
		{
			$documented{$mode}{$known}++;
			next;
		}
		# a few characters before the first difference, and what follows
		($expected ^ $got) =~ /^(\0*)/;
		my $from = length($1) > 60 ? length($1) - 60 : 0;
		fail("$mode: $one->{step}");
		diag("plain: " . substr($expected, $from, 400));
		diag("$mode: " . substr($got, $from, 400));
		diag("message: $_") foreach @{ $two->{messages} };
		diag("statement: " . substr($_, 0, 400)) foreach @{ $two->{statements} };
	}
	# after all that the program and its migrations have done
	$node->safe_psql($mode, 'SELECT * FROM compact_types.revert_all()');
	ok(dump_of($mode, '--schema-only') eq dump_of('plain', '--schema-only'), "$mode: revert_all() at the end gives the schema of plain tables")
	  or diag difference('plain', $mode);
	foreach my $difference (@differences)
	{
		next if ($difference->{only} // $mode) ne $mode;
		ok($documented{$mode}{$difference}, "$mode: there is still the difference: $difference->{doc}");
	}
}
foreach my $difference (@differences)
{
	cmp_ok(index($document, $difference->{doc}), '>=', 0, "documented: $difference->{doc}");
}

$node->stop;
done_testing();
