# CompactTypesSamples.pm - the compact types as the tests of replication,
# foreign tables, parallel query and clients go through them
#
# A type that is added here is in all of those tests.
package CompactTypesSamples;

use strict;
use warnings FATAL => 'all';

use Exporter qw(import);
use JSON::PP;

our @EXPORT = qw(@samples @extensions samples_json);

# type		the compact type
# wide		the type that it stands for
# extension	the extension that it belongs to
# expr		SQL expression that makes a value of the wide type of a number i; different
#			for 0 <= i < distinct
# binary	do both types have the same binary format?
# kind		what a client has in hand: string, int, numeric, timestamp or timestamptz
# literals	values as a client's program would write them
# bad		a value that the type refuses, and the error's code in sqlstate
our @samples = (
	{
		type => 'compact_char24',
		wide => 'char(24)',
		extension => 'compact_char24',
		expr => q{('key ' || i)::char(24)},
		distinct => 1000000,
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
		distinct => 1000,
		binary => 1,
		kind => 'string',
		literals => [ 'a', 'abc', 'b' ],
		bad => 'abcd',
		sqlstate => '22001',
	});

# What CREATE EXTENSION has to name, in that order.
our @extensions;
{
	my %seen;
	@extensions = grep { !$seen{$_}++ } 'compact_types', map { $_->{extension} } @samples;
}


# samples_json() - what the tests of clients tell their programs
sub samples_json
{
	return JSON::PP->new->ascii->canonical->encode(\@samples);
}

1;
