# A web shop must get the same results from plain tables and from converted ones: see
# PgDense::Application.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgDense::Application;

my $strings = "SELECT c.* FROM $shop_tables t, compact_types.convert(rel, skip_blocked => true) c";
my @back = ('SELECT * FROM compact_types.revert_all()', 'revert_all()');
my %modes = (
	# By default, convert() converts columns with strings.
	converted => { sql => $strings, back => \@back, changed => { '\|compact_text' => 25 } },
	# Columns with strings are converted by default.  Columns with numbers are converted because the
	# call lists them.
	numbers => {
		client => 'package',
		sql => "$strings; " . qq{
			SELECT c.* FROM $shop_tables t,
			  LATERAL (SELECT array_agg(column_name) AS columns FROM compact_types.advise(rel)
					   WHERE proposed_type ~ '^compact_decimal' OR column_name = 'rating' AND proposed_type = 'uint1') a,
			  LATERAL compact_types.convert(rel, columns, skip_blocked => true) c
			WHERE columns IS NOT NULL},
		back => \@back,
		changed => {
			'\|compact_text' => 25,
			'\|compact_decimal4' => 6,
			'\|compact_decimal8' => 1,
			'\|uint1' => 1
		}
	},);

# Documented differences, in both modes or in one of them
my @differences = (
	{
		doc => 'A converted column has a type name and an OID of its own',
		step => qr/: types$/,
		seen => qr/"str compact_text"/
	},
	{
		doc => 'SQLAlchemy warns of each type that it does not know',
		only => 'converted',
		step => qr/^catalogs: warnings of /,
		seen =>
		  qr/^\[(?:"str Did not recognize type '(?:compact_\w+|uint1)' of column '\w+'",?)+\]$/
	},
	{
		doc => 'give its columns no type of their own',
		only => 'converted',
		# name, type, nullable, default
		step => qr/^catalogs: columns of /,
		catalogs => 1,
		same => sub {
			[ map { [ @$_[ 0, 2 ], ($_->[3] // '') =~ s/::.*//r ] } @{ $_[0] } ]
		}
	},
	{
		doc => 'give its columns no type of their own',
		only => 'converted',
		# name, null_ok, default, display size, precision, scale, field
		step => qr/^Django's catalogs: columns of /,
		same => sub {
			[ map { [ @$_[ 0, 1 ], ($_->[2] // '') =~ s/::.*//r ] } @{ $_[0] } ]
		}
	},
	{
		doc => 'The package asks the catalogs for split tables',
		only => 'numbers',
		step => qr/^(?:tried|migrations|Django's catalogs|catalogs): /,
		hash => 1,
		catalogs => 1
	},
	{
		doc => 'names the compact type',
		only => 'numbers',
		# name, type, nullable, default
		step => qr/^catalogs: columns of /,
		same => sub {
			[
				map {
					[
						@$_[ 0, 2 ],
						($_->[3] // '') =~ s/::.*//r,
						$_->[1] =~ s/^str \Kcompact_text/VARCHAR/r =~
						  s/^str (?:VARCHAR$|TEXT|NUMERIC|compact_|SMALLINT|uint1).*//r
					]
				} @{ $_[0] }
			]
		}
	},
	{
		doc => 'The precision of a decimal is 9 or 18',
		only => 'numbers',
		# name, null_ok, default, display size, precision, scale, field
		step => qr/^Django's catalogs: columns of /,
		catalogs => 1,
		same => sub {
			[
				map {
					[
						@$_[ 0, 1 ],
						($_->[2] // '') =~ s/::.*//r,
						($_->[6] // '') eq 'str CharField' ? $_->[3] : undef,
						@$_[ 5, 6 ]
					]
				} @{ $_[0] }
			]
		}
	},
	{
		doc => 'A converted column has a type name and an OID of its own',
		step => qr/^driver: descriptions of /,
		same => sub {
			[ map { $_->[0] } @{ $_[0] } ]
		}
	},
	{
		doc => 'an array of a converted type is a `str`',
		only => 'converted',
		step => qr/(?:: array_agg|^declared: aggregates|^driver: array of texts)$/,
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
		same => sub {
			$json->decode($json->encode($_[0]) =~ s/"Decimal /"str /gr =~ s/,(\d+)\]/,"str $1"]/gr);
		}
	},
	{
		doc => 'turns `+` of two columns of such types into an addition',
		only => 'converted',
		step => qr/^reflected: (?:concatenation|on_conflict_do_update)$/,
		seen => qr/"sqlstate":"42883"/
	},
	{
		doc => 'returns `0.00` where a `numeric` returns `0`',
		only => 'numbers',
		step =>
		  qr/(?:revenue, discount|aggregate, default|function (?:coalesce (?:credit|weight.*)|greatest credit, integer|case credit|lag price, default)|raw, (?:coalesce|case)|columns (?:coalesce|case)|reflected: coalesce|tried: trigger)$/,
		hash => 1,
		catalogs => 1,
		same => sub { $json->decode($json->encode($_[0]) =~ s/("Decimal -?\d+)\.0+(?=")/$1/gr) }
	},
	{
		doc =>
		  '`coalesce`, `CASE`, `greatest` and `least` of two decimals of different types are refused',
		only => 'numbers',
		step =>
		  qr/(?:revenue, discount|function coalesce weight.*|raw, coalesce|columns coalesce|reflected: coalesce)$/,
		seen => qr/^\{"error":"ProgrammingError","sqlstate":"42846"\}$/
	},
	{
		doc => '`UNION`, `INTERSECT` and `EXCEPT` of two decimal types are refused',
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
		doc =>
		  'A literal or an untyped parameter in a list is an error if it has more digits than the column',
		only => 'numbers',
		step => qr/^driver: \w+, prepare=\w+: texts in, of decimals$/,
		seen => qr/^\{"error":"NumericValueOutOfRange","sqlstate":"22003"\}$/
	},
	{
		doc => 'A decimal does not check the precision of the `numeric(p,s)` that it replaces',
		only => 'numbers',
		step =>
		  qr/(?:price too large\.|price too large when rounded\.|discount 10\.|COPY FROM, too large|declared: too large)$/,
		seen => qr/^(?!\{"error")/
	},
	{
		doc =>
		  'A value that a CHECK constraint would refuse may be out of the type\'s range before',
		only => 'numbers',
		step => qr/^writes, \w+: rating (?:300|too large)\.$/,
		seen => qr/^\{"error":"DataError","sqlstate":"22003"\}$/
	},
	{
		doc => '`RETURN QUERY`',
		step => qr/^tried: function that returns rows$/,
		seen => qr/^\{"error":"ProgrammingError","sqlstate":"42804"\}$/
	},);

test_application('compact_types', \%modes, \@differences);
