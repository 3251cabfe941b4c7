# PgDense::CompactTypesSamples - the list of compact types for the tests of replication, foreign
# tables, parallel query and clients
#
# Each of these tests covers every type in this list.
package PgDense::CompactTypesSamples;

use strict;
use warnings FATAL => 'all';

use Cwd      qw(abs_path);
use Exporter qw(import);
use File::Basename;
use JSON::PP;

our @EXPORT = qw(@samples @extensions samples_json narrow_integers);

# integer_range(NAME) - return the smallest and the greatest value of type intN or uintN, which has
# N bytes
sub integer_range
{
	my ($unsigned, $bytes) = $_[0] =~ /^(u?)int(\d)$/;
	my $count = 2**(8 * $bytes);

	return $unsigned ? (0, $count - 1) : (-$count / 2, $count / 2 - 1);
}

# narrow_integers(NODE) - return the integers of one to four bytes in schema public of database
# postgres, each with its range: [ NAME, MIN, MAX ]
sub narrow_integers
{
	my ($node) = @_;

	return map { [ $_, integer_range($_) ] } split /\n/,
	  $node->safe_psql('postgres',
		q{SELECT typname FROM pg_type WHERE typname ~ '^u?int[1-4]$' AND typnamespace = 'public'::regnamespace ORDER BY typname}
	  );
}

# integers() - return the samples of the narrow integers, which are listed in
# compact_types/compact_scalar_list.h
sub integers
{
	my $top = $ENV{PGDENSE_TOP} // abs_path(dirname(__FILE__) . '/../../..');
	my @result;

	open my $file, '<', "$top/compact_types/compact_scalar_list.h"
	  or die "could not open the list of types: $!";
	while (<$file>)
	{
		my ($type, $unsigned, $bytes, $wide) = /^\tM\(((u?)int(\d)), \3, .*, (int\d), \\$/ or next;
		my $count = 2**(8 * $bytes);
		my ($min, $max) = integer_range($type);
		my $step = int($count / 10485) || 1;

		push @result,
		  {
			type => $type,
			wide => $wide,
			extension => 'compact_types',
			expr => "((i)::int8 * $step % $count + $min)::$wide",
			binary => 1,
			kind => 'int',
			literals => [
				($unsigned ? () : $min + 0),
				0,
				(map { 2**(8 * $_) } 0 .. $bytes - 1),
				($max + 1) / 2,
				$max + 0
			],
			bad => $unsigned && $bytes == 1 ? '-1' : '' . ($max + 1),
			sqlstate => '22003',
		  };
	}
	die 'there is no narrow integer in the list of types' unless @result;
	return @result;
}

# type		the compact type
# wide		the type that it replaces
# extension	the extension that it belongs to
# expr		SQL expression that makes a value of the wide type from a number i; the values are
#			different at least for 0 <= i < 200
# binary	true if both types have the same binary format
# kind		the kind of value in a client: string, int, numeric, timestamp or timestamptz
# literals	values as a client's program would write them
# bad		a value that the type refuses, if any; sqlstate is the code of the error
our @samples = (
	{
		type => 'compact_char24',
		wide => 'char(24)',
		extension => 'compact_char24',
		expr => q{('key ' || i)::char(24)},
		binary => 1,
		kind => 'string',
		literals => [ '', "a 'quoted' \\ value", 'district', "\x{e4}\x{f6}\x{20ac}\x{65e5}" ],
		bad => 'a string of 26 characters!',
		sqlstate => '22001',
	},
	{
		type => 'compact_char3',
		wide => 'char(3)',
		extension => 'compact_char3',
		expr => q{to_hex(i % 1000)::char(3)},
		binary => 1,
		kind => 'string',
		literals => [ 'a', 'abc', 'b' ],
		bad => 'abcd',
		sqlstate => '22001',
	},
	{
		type => 'compact_text',
		wide => 'text',
		extension => 'compact_types',
		expr => q{('the notes of number ' || i)},
		binary => 1,
		kind => 'string',
		literals => [
			'', "a 'quoted' \\ value",
			"\x{e4}\x{f6}\x{20ac}\x{65e5}\x{672c}\x{8a9e}", '0123456789',
			'6f1b2c3d-0000-4000-8000-0123456789ab', 'x' x 3000
		],
	},
	integers(),
	{
		type => 'uint8',
		wide => 'numeric(20)',
		extension => 'compact_types',
		expr => q{(18446744073709551615 - (i) % 1000 * 9000000000000000::numeric)::numeric(20)},
		binary => 1,
		kind => 'numeric',
		literals => [ '0', '1', '9223372036854775808', '18446744073709551615' ],
		bad => '18446744073709551616',
		sqlstate => '22003',
	},
	{
		type => 'seconds4',
		wide => 'timestamp',
		extension => 'compact_types',
		expr => q{('2020-01-01 00:00:00'::timestamp + (i) * '1 hour'::interval)},
		binary => 1,
		kind => 'timestamp',
		literals => [ '1970-01-01 00:00:00', '2024-02-29 12:34:56', '2106-02-07 06:28:15' ],
		bad => '1969-12-31 23:59:59',
		sqlstate => '22008',
	},
	{
		type => 'seconds4tz',
		wide => 'timestamptz',
		extension => 'compact_types',
		expr => q{('2020-01-01 00:00:00+00'::timestamptz + (i) * '1 hour'::interval)},
		binary => 1,
		kind => 'timestamptz',
		literals => [ '1970-01-01 00:00:00', '2024-02-29 12:34:56', '2106-02-07 06:28:15' ],
		bad => '2106-02-07 06:28:16+00',
		sqlstate => '22008',
	},
	{
		type => 'compact_decimal4_2',
		wide => 'numeric(10,2)',
		extension => 'compact_decimal4_2',
		expr => q{((i) * 1.25 - 100)::numeric(10,2)},
		binary => 1,
		kind => 'numeric',
		literals => [ '-12345.67', '0.00', '0.01', '21474836.47' ],
		bad => '21474836.48',
		sqlstate => '22003',
	},
	{
		type => 'compact_decimal8_2',
		wide => 'numeric(19,2)',
		extension => 'compact_decimal8_2',
		expr => q{((i) * 10000000.01)::numeric(19,2)},
		binary => 1,
		kind => 'numeric',
		literals => [ '-123456789012.34', '0.00', '0.01', '92233720368547758.07' ],
		bad => '92233720368547758.08',
		sqlstate => '22003',
	});

# The extensions to create, in this order
our @extensions;
{
	my %seen;
	@extensions = grep { !$seen{$_}++ } 'compact_types', map { $_->{extension} } @samples;
}


# samples_json() - return the samples, for the client programs of the tests
sub samples_json
{
	return JSON::PP->new->ascii->canonical->encode(\@samples);
}

1;
